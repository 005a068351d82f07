"""Numbers as people read them: the one room that makes a text of a number, for commands, tables and reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NONE = "-"
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
# Powers of ten that are written out.
_LEAST, _MOST = -4, 9
# Digits of a mean at most, however narrow its interval is.
_DIGITS = 7


def number(value: float | None, digits: int = 4, *, most: int = _MOST) -> str:
    """So many significant digits; from 0.0001 to 10^`most` written out. A whole number keeps all of its digits."""
    if value is None or not math.isfinite(value):
        return NONE if value is None or math.isnan(value) else str(value)
    if isinstance(value, int):
        return str(value)
    power = _power(value)
    if not _LEAST <= power < most:
        return f"{value:.{digits}g}"
    return _trimmed(f"{value:.{max(0, digits - 1 - power)}f}")


def on_page(value: float, digits: int = 5) -> str:
    """So many significant digits as a page has them: thousands apart, a true minus. A whole number keeps all."""
    if isinstance(value, int) or abs(value) >= 10**digits:
        return minus(f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}"))
    return minus(f"{value:.{digits}g}".replace("e-0", "e-"))


def minus(text: str) -> str:
    """The text of a number with a true minus."""
    return text.replace("-", "\N{MINUS SIGN}")


def quantity(value: float | None, unit: str, digits: int = 3) -> str:
    """A value in the multiple of its unit that suits it: "1.46 Mbit/s", "81.5 ms", "3 s"."""
    if value is None:
        return NONE
    factor, name = multiple(value, unit, digits)
    return f"{number(value / factor, digits)} {name}".rstrip()


def several(values: Sequence[float], unit: str, digits: int = 3) -> str:
    """Values with slashes between them, in the multiple that suits the one in the middle."""
    if not values:
        return NONE
    factor, name = multiple(sorted(values)[len(values) // 2], unit, digits)
    return f"{' / '.join(number(value / factor, digits) for value in values)} {name}".rstrip()


def rate(bps: float | None) -> str:
    """A bit rate."""
    return quantity(bps, "bit/s")


def delay(seconds: float | None) -> str:
    """A delay in the unit that suits it: "81.5 ms", "2500.0 ms", "12.3 s", "3.00 h"."""
    if seconds is None:
        return NONE
    unit, scale = delay_unit(seconds)
    return f"{seconds / scale:.{2 if unit == 'h' else 1}f} {unit}"


def delay_unit(seconds: float) -> tuple[str, float]:
    """The unit that suits a delay, and how many seconds it is: milliseconds to 10 s, seconds to an hour."""
    return ("ms", 1e-3) if seconds < 9.99995 else ("s", 1.0) if seconds < 3599.95 else ("h", 3600.0)


def percent(share: float | None) -> str:
    """A share in percent, to the hundredth; what is less and not nothing says so."""
    if share is None:
        return NONE
    return "< 0.01 %" if 0 < share < 5e-5 else f"{100 * share:.2f} %"


def decimals(value: float | None, count: int) -> str:
    """Returns a number with so many decimals."""
    return NONE if value is None else f"{value:.{count}f}"


def counted(count: int, one: str, many: str | None = None, *, write: Callable[[int], str] = str) -> str:
    """A count and its noun: "1 handover", "2 handovers"."""
    return f"{write(count)} {one if count == 1 else many or f'{one}s'}"


def duration(seconds: float) -> str:
    """Returns a length of time as text: "4.2 s", "3 min 05 s", "2 h 10 min"."""
    if seconds < 59.5:
        return f"{seconds:.2g} s" if seconds < 9.5 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def interval(mean: float | None, low: float | None, high: float | None, *, signed: bool = False) -> str:
    """A mean and half the width of its interval, both to the second digit of that: "2.98 ± 0.31".

    Where the limits are not equally far, as at the end of a scale, they stand themselves: "4.38 (4.21 to 4.50)".
    """
    if mean is None or math.isnan(mean):
        return NONE
    sign = "+" if signed and mean > 0 else ""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return sign + number(mean)
    below, above = mean - low, high - mean
    half = max(below, above)
    largest = max(abs(mean), half)
    if largest > 0 and not _LEAST <= _power(largest) < _MOST:
        power = _power(largest)
        if not math.isclose(below, above, rel_tol=1e-6):
            digits = _places(mean / 10.0**power, half / 10.0**power) - power
            told, least, most = (_with_exponent(value, digits) for value in (mean, low, high))
            return f"{sign}{told} ({least} to {most})"
        scaled = (value / 10.0**power for value in (mean, low, high))
        return f"({interval(*scaled, signed=signed)})e{power:+03d}"
    places = _places(mean, half)
    if below < 0.5 * 10.0**-places and above < 0.5 * 10.0**-places:
        return f"{sign}{number(mean, _DIGITS)} ± 0"
    told, least, most, spread = (f"{value:.{places}f}" for value in (mean, low, high, half))
    if math.isclose(below, above, rel_tol=1e-6):
        return f"{sign}{_unsigned_zero(told)} ± {spread}"
    return f"{sign}{_unsigned_zero(told)} ({_unsigned_zero(least)} to {_unsigned_zero(most)})"


def multiple(value: float, unit: str, digits: int = 3) -> tuple[float, str]:
    """The factor and name of the multiple of a unit that suits a value, as it is when it is rounded."""
    size = abs(float(f"{value:.{digits}g}")) if math.isfinite(value) else 0.0
    if unit == "s" and 0 < size < 0.1:
        return (1e-3, "ms") if size >= 1e-4 else (1e-6, "µs")
    if unit in ("bit/s", "Hz", "B"):
        return next(((factor, f"{prefix}{unit}") for factor, prefix in _PREFIXES if size >= factor), (1.0, unit))
    return 1.0, unit


def _places(mean: float, half: float) -> int:
    """Decimals: to the second digit of half the width, and no more digits of the mean than people read."""
    if not half > 0:
        return 0
    most = _DIGITS - 1 - (_power(mean) if mean else _power(half))
    return max(0, min(1 - _power(half), most))


def _with_exponent(value: float, places: int) -> str:
    """A value with its own power of ten, to so many places after the point of the value written out."""
    return f"{value:.{max(0, places + _power(value))}e}" if round(value, places) else "0"


def _power(value: float) -> int:
    """The power of ten of the first digit, once it is rounded."""
    return math.floor(math.log10(abs(value))) if value else 0


def _trimmed(text: str) -> str:
    """Without zeros at the end of decimals."""
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return _unsigned_zero(text)


def _unsigned_zero(text: str) -> str:
    """No zero is negative."""
    return text.removeprefix("-") if not text.strip("-0.") else text
