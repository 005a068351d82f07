"""Axes from 0, and logarithmic axes with numbers that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import FixedLocator, FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator

from transorbit import _numbers
from transorbit.plots import heading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis

# The gap between the numbers of an axis, in sizes of their text, and the share of a panel's breadth between the first
# value and the last.
_GAP, _BETWEEN_ENDS = 0.7, 0.92


def as_it_is(unit: float = 1.0) -> FuncFormatter:
    """Returns what writes a number as it is, in multiples of a unit, with a true minus."""
    return FuncFormatter(lambda value, _: _written(value, unit))


def from_zero(ax: Axes, highest: float) -> None:
    """Let the values begin at 0, with room above: those that hardly differ would lie on the upper edge."""
    ax.set_ylim(0, 1.08 * highest if highest > 0 else 1.0)


def plain(axis: XAxis | YAxis) -> None:
    """Let a logarithmic axis over less than two decades have plain numbers; over more, powers of ten say more."""
    # Not the view's interval: these settle the limits first.
    low, high = axis.axes.get_xlim() if axis is axis.axes.xaxis else axis.axes.get_ylim()
    if locator := few_decades(low, high):
        _numbered(axis, locator)


def at_values(ax: Axes, values: Sequence[float], unit: float = 1.0) -> None:
    """Let a logarithmic horizontal axis have its ticks at the values, as many of them as can be written side by side.

    Those with the fewest digits come first, of these those that begin with 1, 2 and 5. A value that is not above 0 has
    no place there.
    """
    known = [value for value in values if value > 0]
    size = heading.text_size("xtick.labelsize")
    room_in = _BETWEEN_ENDS * heading.breadth(ax)
    decades = dict(zip(known, ax.xaxis.get_transform().transform(known).tolist(), strict=True))
    first, last = min(decades.values(), default=0.0), max(decades.values(), default=0.0)
    kept: dict[float, tuple[float, float]] = {}
    for value in sorted(known, key=lambda value: _rank(value / unit)):
        middle = room_in * (decades[value] - first) / (last - first or 1.0)
        half = (heading.width_in(_written(value, unit), size) + _GAP * size / heading.POINTS_PER_IN) / 2
        if all(middle + half <= left or middle - half >= right for left, right in kept.values()):
            kept[value] = (middle - half, middle + half)
    _numbered(ax.xaxis, FixedLocator(sorted(kept)), unit)


def few_decades(low: float, high: float) -> Locator | None:
    """The ticks of a logarithmic axis between these; None if they are two decades apart."""
    if high >= 100 * low:
        return None
    return LogLocator(subs=(1, 2, 5)) if high >= 10 * low else MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])


def _numbered(axis: XAxis | YAxis, locator: Locator, unit: float = 1.0) -> None:
    """Let a logarithmic axis have plain numbers at these ticks, and no others."""
    axis.set_major_locator(locator)
    axis.set_major_formatter(as_it_is(unit))
    axis.set_minor_locator(NullLocator())


def _written(value: float, unit: float) -> str:
    return _numbers.minus(f"{value / unit:.6g}")


def _rank(number: float) -> tuple[int, int, float]:
    """Returns the place of a number among those to be written: its digits without the zeros at its ends, the first."""
    digits = f"{number:.5e}".partition("e")[0].rstrip("0")
    return len(digits), "125346789".index(digits[0]), number
