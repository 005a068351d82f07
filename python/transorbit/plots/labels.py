"""Labels of axes and lines: names of columns as words with a unit, values in a suitable multiple of the unit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from transorbit import _columns, _numbers

if TYPE_CHECKING:
    from transorbit.sweep.axes import Axis

_PREFIXED = {"bit/s", "B", "Hz", "s"}
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))


def label(column: str) -> str:
    """Returns the label of a column, with the unit that its name ends with: `goodput_mbps` is "Goodput (Mbit/s)"."""
    parts = [part for part in column.split(".") if part not in {"flows", "runs", "users"}] or [column]
    text, unit = _columns.in_words(".".join(parts[-2:]))
    known = _columns.labels()
    text = known.get(column) or (known.get(f"flows.{parts[0]}") if len(parts) == 1 else None) or text
    return text + (f" ({unit})" if unit and not (unit == "packets" and unit in text.lower()) else "")


def of_axis(axis: Axis) -> str:
    """The label of an axis of a sweep, with its unit; by default its name in words."""
    text = label(axis.name) if axis.label == axis.name else axis.label
    return f"{words(text)} ({axis.unit})" if axis.unit else text


def unit_of(text: str) -> str | None:
    """The unit in the parentheses at the end of a label."""
    unit_in_brackets = re.search(r"\(([^()]+)\)$", text)
    return unit_in_brackets[1] if unit_in_brackets else None


def scaled(text: str, largest: float) -> tuple[str, float]:
    """The label in a multiple of its unit that suits the largest value, and the divisor of values."""
    unit = unit_of(text)
    factor, prefix = _prefix(unit, largest)
    return (text.removesuffix(f"({unit})") + f"({prefix}{unit})" if prefix else text), factor


def value(of: Any, text: str) -> str:
    """A value of the axis with that label: "7 dB", "50 Mbit/s", "yes" or the text itself."""
    if of is None:
        return "none"
    if isinstance(of, bool):
        return "yes" if of else "no"
    if not isinstance(of, (int, float)):
        return str(of)
    unit = unit_of(text)
    factor, prefix = _prefix(unit, abs(of))
    number = f"{of / factor:.6g}"
    return f"{number} {prefix}{unit}" if unit else number


def drawn(of: Any, text: str) -> str:
    """Returns the value as figures write it: with a true minus, as on the axes. A name keeps its hyphens."""
    return value(of, text) if isinstance(of, str) else _numbers.minus(value(of, text))


def words(text: str) -> str:
    """A label without its unit."""
    unit = unit_of(text)
    return text.removesuffix(f"({unit})").strip() if unit else text


def _prefix(unit: str | None, largest: float) -> tuple[float, str]:
    if unit not in _PREFIXED or not largest > 0:
        return 1.0, ""
    # Seconds grow to minutes and not to kiloseconds; nothing but seconds is divided.
    allowed = [(factor, prefix) for factor, prefix in _PREFIXES if (factor <= 1 if unit == "s" else factor >= 1)]
    # Tenths of a second remain seconds.
    least = 0.1 if unit == "s" else 1.0
    return next(((factor, prefix) for factor, prefix in allowed if largest >= least * factor), allowed[-1])
