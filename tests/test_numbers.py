"""Texts of numbers: no exponent where people read, nouns that fit their counts, units in a multiple that suits."""

from __future__ import annotations

import math

import pytest

from transorbit import _numbers


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (2620.0, 3, "2620"),
        (999.96, 4, "1000"),
        (0.00012345, 3, "0.000123"),
        (1.5e12, 3, "1.5e+12"),
        (-0.0001, 1, "-0.0001"),
        (0.0, 3, "0"),
        (12345678, 3, "12345678"),
        (math.nan, 3, "-"),
        (None, 3, "-"),
    ],
)
def test_numbers_are_written_out(value: float | None, digits: int, shown: str) -> None:
    assert _numbers.number(value, digits) == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (2.62e6, "bit/s", "2.62 Mbit/s"),
        (999_999.0, "bit/s", "1 Mbit/s"),
        (0.0, "bit/s", "0 bit/s"),
        (0.0815, "s", "81.5 ms"),
        (0.5, "s", "0.5 s"),
        (42e-6, "s", "42 µs"),
        (1500.0, "B", "1.5 kB"),
        (7.0, "dB", "7 dB"),
        (None, "s", "-"),
    ],
)
def test_quantities_are_in_a_multiple_that_suits(value: float | None, unit: str, shown: str) -> None:
    assert _numbers.quantity(value, unit) == shown


def test_values_of_one_line_have_one_unit() -> None:
    assert _numbers.several([1e3, 5e5, 2.62e6], "bit/s") == "1 / 500 / 2620 kbit/s"
    assert _numbers.several([], "s") == "-"


def test_nouns_fit_their_counts() -> None:
    assert [_numbers.counted(count, "handover") for count in (0, 1, 2)] == ["0 handovers", "1 handover", "2 handovers"]
    assert _numbers.counted(2, "is", "are") == "2 are"


def test_shares_that_are_not_nothing_say_so() -> None:
    assert [_numbers.percent(share) for share in (0.0, 1e-6, 0.01176, None)] == ["0.00 %", "< 0.01 %", "1.18 %", "-"]


def test_times_are_told_as_people_do() -> None:
    told = [_numbers.duration(seconds) for seconds in (0.42, 9.6, 59.7, 185, 7800)]
    assert told == ["0.42 s", "10 s", "1 min 00 s", "3 min 05 s", "2 h 10 min"]


def test_an_unknown_interval_leaves_the_mean() -> None:
    assert _numbers.interval(3.0, None, None) == "3"
    assert _numbers.interval(None, None, None) == "-"
    assert _numbers.interval(2.0, 1.0, 3.0, signed=True) == "+2.0 ± 1.0"
    assert _numbers.interval(5.3e-5, 0.0, 14.5e-5) == "5.3e-05 (0 to 1.45e-04)"
    assert _numbers.interval(5.3e-5, -1e-20, 14.5e-5) == "5.3e-05 (0 to 1.45e-04)"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0815, "81.5 ms"),
        (2.5, "2500.0 ms"),
        (9.99999, "10.0 s"),
        (75.0, "75.0 s"),
        (3599.99, "1.00 h"),
        (10_800.0, "3.00 h"),
        (None, "-"),
    ],
)
def test_delays_are_in_a_unit_that_suits(seconds: float | None, shown: str) -> None:
    assert _numbers.delay(seconds) == shown
