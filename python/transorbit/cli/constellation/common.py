"""Common parts of the commands of constellations."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import App

import transorbit as to
from transorbit._names import hint
from transorbit.cli import parse
from transorbit.cli.common import examples
from transorbit.cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

constellation = App(
    name="constellation",
    help="Satellite constellations: delays and routes, what they cover, their orbits.",
    help_epilogue=examples(
        "transorbit constellation show leo-66",
        "transorbit constellation delay leo-66 --from 43.6,1.4 --to -36.9,174.8",
    ),
)

Place = tuple[float, float, float]


def choice(name: str) -> str | dict[str, Any]:
    """The preset with this name; or the satellites of a file, if there is one or it can be nothing else."""
    path = Path(name)
    if path.is_file():
        return {"file": name}
    if path.suffix or len(path.parts) > 1:
        known = ", ".join(names())
        raise UsageError(f"constellation: {name}: there is no such file, nor a preset with this name: {known}")
    return name


def names() -> list[str]:
    """The names of the presets."""
    entries = {registry["name"]: registry["entries"] for registry in to.registries()}
    return [entry["name"] for entry in entries["constellations"]]


def elevation(text: str | None) -> float | None:
    """The value of --minimum-elevation."""
    return None if text is None else parse.degrees("--minimum-elevation", text)


def tell_dates(sky: str | dict[str, Any], start_s: float, duration_s: float, *, quiet: bool = False) -> None:
    """For satellites from a file: print their reference instant unless `quiet`, and warn of old elements."""
    if not quiet and (epoch := to.constellation.epoch(sky)):
        print(f"epoch {epoch} UTC: times count from then")
    if warning := to.constellation.age_warning(sky, start_s=start_s, duration_s=duration_s):
        print(f"warning: {warning}", file=sys.stderr)


def known_places(stations: Path | None) -> dict[str, Place]:
    """The places of --stations by their names."""
    if stations is None:
        return {}
    with options():
        return {name: (a, b, c) for name, a, b, c in to.constellation.stations(stations).iter_rows()}


def place(option: str, text: str, known: dict[str, Place]) -> Place:
    """A place by its name, or by latitude and longitude."""
    if text in known:
        return known[text]
    try:
        return (*parse.place(option, text), 0.0)
    except UsageError:
        if not known or "," in text:
            raise
        near = hint(text, known) or f", whose first is {next(iter(known))}"
        raise UsageError(f'{option}: "{text}" is no place of --stations{near}') from None


_OPTIONS = {
    "constellation": "constellation",
    "source": "--from",
    "user": "--to",
    "minimum_elevation": "--minimum-elevation",
    "handover": "--handover",
    "source_handover": "--source-handover",
    "metric": "--metric",
    "format": "--format",
    "access": "--access",
    "start": "--start",
    "duration": "--duration",
    "step": "--step",
    "epoch": "--epoch",
    "threads": "--threads",
    "latitude_step": "--latitude-step",
    "stations": "--stations",
    "tracks": "--tracks",
    "track": "--track-time",
    "at": "--at",
    "out": "--out",
}


@contextmanager
def options() -> Iterator[None]:
    """Errors name the option that they are about."""
    try:
        yield
    except to.ScenarioError as error:
        path, _, message = str(error).partition(": ")
        first = path.partition(".")[0]
        if first in _OPTIONS:
            raise UsageError(f"{_OPTIONS[first]}: {message}") from None
        raise
