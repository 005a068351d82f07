"""Options of the command line: values below zero, and what is missing."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from cyclopts import UNSET

from transorbit.cli.app import app
from transorbit.cli.parse import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cyclopts import App

    from conftest import Outcome


def commands(of: App, *path: str) -> Iterator[tuple[App, tuple[str, ...]]]:
    for name in of:
        if not name.startswith("-"):
            yield from commands(of[name], *path, name)
    if of.default_command is not None:
        yield of, path


COMMANDS = list(commands(app))


@pytest.mark.parametrize(("of", "path"), COMMANDS, ids=[" ".join(path) for _, path in COMMANDS])
@pytest.mark.parametrize("value", ["-1 s", "-.5 dB", "-36.9,174.8", "-inf s", "-7"])
def test_what_is_below_zero_is_the_value_of_any_option_and_of_no_flag(
    of: App, path: tuple[str, ...], value: str
) -> None:
    for argument in of.assemble_argument_collection():
        for name in (name for name in argument.names if name.startswith("--")):
            taken = [f"{name}={value}"] if argument.match(name)[1] is UNSET else [name, value]
            assert joined(app, [*path, name, value]) == [*path, *taken]


def test_what_another_command_is_given_stays() -> None:
    given = ["emulate", "lab-fixed", "--spin", "-1 s", "--", "ping", "--spin", "-1 s"]
    assert joined(app, given) == ["emulate", "lab-fixed", "--spin=-1 s", *given[4:]]
    for unknown in (["-1 s"], ["--start", "-1 s"], ["emulate", "lab-fixed", "--start", "-1 s"]):
        assert joined(app, unknown) == unknown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("emulate lab-fixed --spin '-1 s' -- true", '--spin: "-1 s" must be 0 s or more'),
        ("access plr --power-spread '-1 dB'", "access.random.power_spread: -1 dB is not between 0 dB and 10 dB"),
        (
            "constellation coverage leo-66 --minimum-elevation '-10 deg'",
            "--minimum-elevation: -10 deg must be between 0 deg and 90 deg",
        ),
        ("channel stats --elevation '-3 deg'", "channel.elevation: -3 deg is out of range: must be between 0 deg and"),
        (
            "channel rain --at '-1,2' --exceeded 0.1% --carrier '-1 GHz'",
            '--carrier: "-1 GHz" is not a frequency above zero: write a number and a unit, as in "20 GHz"',
        ),
        ("sweep leo-snr --seed -1", "--seed: '-1' is not a whole number between 0 and 1000000000"),
        ("sweep leo-snr --seed 1000000001", "--seed: '1000000001' is not a whole number between 0 and 1000000000"),
        ("reproduce --seed 0", "--seed: '0' is not a whole number between 1 and 1000000000"),
        ("run lab-fixed --seed -1", f"--seed: '-1' is not a whole number between 0 and {2**63 - 1}"),
        ("run lab-fixed --seed --json", "--seed: needs a value"),
        ("constellation passes leo-66", "--at: is missing, the command needs it"),
        ("constellation passes leo-66 --at", "--at: needs a value"),
    ],
)
def test_the_option_is_told_with_its_range(command: Callable[..., Outcome], arguments: str, told: str) -> None:
    done = command(*shlex.split(arguments))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"transorbit: {told}")


def test_a_ratio_below_zero_is_computed(command: Callable[..., Outcome]) -> None:
    below = command("channel", "generate", "--reference-snr", "-3 dB", "--duration", "1 s")
    assert (below.code, below.err) == (0, "")
    assert below == command("channel", "generate", "--reference-snr=-3 dB", "--duration", "1 s")
