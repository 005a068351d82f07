"""A congestion controller of one's own: CUBIC (RFC 9438) that knows when Starlink gives out other satellites.

At :12, :27, :42 and :57 of each minute the path's delay and rate change. Around these instants the window is held: what
is lost then is not taken for congestion, and the cubic's time stands still. Elsewhere it is CUBIC without HyStart.

Try: transorbit run starlink --plugin leo_cubic.py \
         --set flows.0.transport.congestion='{ kind = "external", name = "leo-cubic" }'
"""

from __future__ import annotations

import math

import transorbit as to

EPOCH_S = 15.0
FIRST_S = 12.0
# How long before and after an instant the window is held.
BEFORE_S = 0.1
AFTER_S = 0.5

C = 0.4
BETA = 0.7


def is_held(now: float) -> bool:
    """Whether satellites are being given out."""
    return (now - FIRST_S + BEFORE_S) % EPOCH_S < BEFORE_S + AFTER_S


@to.controller("leo-cubic")
class LeoCubic:
    """CUBIC that holds its window where the path changes."""

    def __init__(self) -> None:
        self.before_loss = 0.0
        # When the curve began, how long it takes to reach the window before the loss, and Reno's window meanwhile.
        self.began: float | None = None
        self.rise_s = 0.0
        self.reno = 0.0
        self.last = 0.0

    def on_ack(self, ack: to.Ack) -> float | None:
        """The window after an acknowledgment."""
        since, self.last = ack.now - self.last, ack.now
        if not ack.may_grow:
            return None
        if is_held(ack.now) or not ack.window_limited:
            if self.began is not None:
                self.began += since
            return None
        if ack.window < ack.threshold:
            return min(ack.window + ack.delivered, ack.threshold)
        if self.began is None:
            self.began, self.reno = ack.now, ack.window
            self.before_loss = max(self.before_loss, ack.window)
            self.rise_s = math.cbrt((self.before_loss - ack.window) / C)
        after = ack.now - self.began + (ack.srtt or 0.0)
        target = self.before_loss + C * (after - self.rise_s) ** 3
        target = min(max(target, ack.window), 1.5 * ack.window)
        self.reno += 3 * (1 - BETA) / (1 + BETA) * ack.delivered / ack.window
        return max(ack.window + (target - ack.window) * ack.delivered / ack.window, self.reno)

    def on_congestion(self, event: to.Event) -> float:
        """Where the window goes at a loss: nowhere, if the path has just changed."""
        window = float(event.reduce_from or 2)
        if is_held(event.now) and event.cause == "loss":
            return window
        # Fast convergence: who has less than before leaves some of it to others.
        self.before_loss = window * (1 + BETA) / 2 if window < self.before_loss else window
        self.began = None
        return window * BETA
