"""Axes from 0, and logarithmic axes with numbers that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator

from transorbit import _numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis

#: Writes a number as it is, with a true minus.
AS_IT_IS = FuncFormatter(lambda value, _: _numbers.minus(f"{value:.6g}"))


def from_zero(ax: Axes, highest: float) -> None:
    """Let the values begin at 0, with room above: those that hardly differ would lie on the upper edge."""
    ax.set_ylim(0, 1.08 * highest if highest > 0 else 1.0)


def plain(axis: XAxis | YAxis) -> None:
    """Let a logarithmic axis over less than two decades have plain numbers; over more, powers of ten say more."""
    # Not the view's interval: these settle the limits first.
    low, high = axis.axes.get_xlim() if axis is axis.axes.xaxis else axis.axes.get_ylim()
    if locator := few_decades(low, high):
        axis.set_major_locator(locator)
        axis.set_major_formatter(AS_IT_IS)
        axis.set_minor_locator(NullLocator())


def few_decades(low: float, high: float) -> Locator | None:
    """The ticks of a logarithmic axis between these; None if they are two decades apart."""
    if high >= 100 * low:
        return None
    return LogLocator(subs=(1, 2, 5)) if high >= 10 * low else MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])
