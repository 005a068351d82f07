"""What a user's own Python costs: µs for each call of a controller and a source, steps per second of the environments.

Run: .venv/bin/python benches/own_code.py
"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import transorbit as to

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = {"controller": 0, "source": 0}


@to.controller("bench-aimd")
class Aimd:
    """The ten lines of the documentation."""

    def on_ack(self, ack: to.Ack) -> float | None:
        """One segment more in a round trip."""
        if ack.window_limited:
            return ack.window + (ack.delivered if ack.window < ack.threshold else ack.delivered / ack.window)
        return None

    def on_congestion(self, event: to.Event) -> float:
        """Half of it."""
        return (event.reduce_from or 2) / 2


@to.controller("bench-counted")
class Counted(Aimd):
    """The same, counted."""

    def on_ack(self, ack: to.Ack) -> float | None:
        """One more call."""
        CALLS["controller"] += 1
        return super().on_ack(ack)


@to.source("bench-ticks")
class Ticks:
    """A datagram each 100 µs."""

    def on_timeout(self, app: to.App, now: float) -> float:
        """One more."""
        if now == app.start:
            app.open()
        CALLS["source"] += 1
        app.write(172)
        return now + 100e-6


def least(act: Callable[[], object], times: int = 7) -> float:
    """The least CPU time of several."""
    took = []
    for _ in range(times):
        before = time.process_time()
        act()
        took.append(time.process_time() - before)
    return min(took)


def main() -> None:
    """Measure and print."""
    starlink = to.Scenario.load("starlink").replace({"record.series": False})

    def of(congestion: object) -> to.Scenario:
        return starlink.replace({"flows.0.transport.congestion": congestion})

    of({"kind": "external", "name": "bench-counted"}).run()
    calls = CALLS["controller"]
    own = least(of({"kind": "external", "name": "bench-aimd"}).run)
    core = least(of("newreno").run)
    each = 1e6 * (own - core) / calls
    print(f"controller: {each:.2f} µs each of {calls} acknowledgments; a run {own:.2f} s instead of {core:.2f} s")

    ticks = starlink.replace(
        {
            "duration": "20 s",
            "flows.0.transport": "udp",
            "flows.0.traffic": {"kind": "script", "name": "bench-ticks", "service": "datagrams", "packet": "200 B"},
        }
    )
    took = least(ticks.run, 3)
    print(f"source: {1e6 * took / (CALLS['source'] / 3):.2f} µs each of {CALLS['source'] // 3} calls, with the packet")
    environments()


def environments() -> None:
    """Steps per second with random actions, drawn before."""
    try:
        from transorbit.gym import ControllerEnv, SchedulerEnv
    except ImportError as error:
        print(error, file=sys.stderr)
        return
    voip = to.Scenario.load("voip").replace({"flows.0.count": 10})
    made = {
        "ControllerEnv()": ControllerEnv(),
        "ControllerEnv(steers='rate')": ControllerEnv(steers="rate"),
        "ControllerEnv('starlink')": ControllerEnv("starlink"),
        "SchedulerEnv(ten calls)": SchedulerEnv(voip),
        "SchedulerEnv('voip'), 75 calls": SchedulerEnv(),
    }
    for name, env in made.items():
        env.action_space.seed(1)
        actions = [env.action_space.sample() for _ in range(1000)]

        print(f"{name}: {10_000 / least(partial(play, env, actions), 3):.0f} steps/s")


def play(env: Any, actions: list[Any]) -> None:
    """Make 10,000 steps."""
    over = True
    for number in range(10_000):
        if over:
            env.reset(seed=1)
        over = env.step(actions[number % len(actions)])[3]


if __name__ == "__main__":
    main()
