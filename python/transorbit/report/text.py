"""Numbers and names as the reports write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transorbit._numbers import delay_unit, multiple
from transorbit._numbers import on_page as number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The digits of rates and delays in a report.
_DIGITS = 4
# A figure's numbers that a page carries: some megabytes.
_MOST_NUMBERS = 100_000
_PROVENANCE = {
    "transorbit": "Transorbit",
    "build": "Build (SHA-256 of the core)",
    "scenario_sha256": "Scenario (SHA-256)",
    "created": "When",
    "wall_s": "Took (s)",
    "python": "Python",
    "platform": "Platform",
    "seed": "Seed",
    "host": "Host",
}


def rate(bps: float) -> tuple[str, str]:
    """A bit rate as text, and the unit that suits it."""
    scale, name = multiple(bps, "bit/s", _DIGITS)
    return number(bps / scale, _DIGITS), name


def delay(seconds: float) -> tuple[str, str]:
    """A delay as text, and the unit that suits it."""
    name, scale = delay_unit(seconds)
    return number(seconds / scale, _DIGITS), name


def provenance(values: dict[str, Any]) -> list[tuple[str, object]]:
    """The provenance of a result as text."""
    labelled = [(label, values[key]) for key, label in _PROVENANCE.items() if key in values]
    return labelled + [(key, value) for key, value in values.items() if key not in _PROVENANCE]


def numbers(figure: Figure) -> str:
    """Returns the numbers of a figure as CSV; nothing of so many that they would make up most of a page."""
    from transorbit import plots

    shown = plots.numbers(figure)
    return shown.write_csv() if len(shown) <= _MOST_NUMBERS else ""


def svg(figure: Figure) -> str:
    """A figure of matplotlib as SVG, which a page carries as text; the same figure gives the same text."""
    import tempfile
    from pathlib import Path

    from transorbit import plots

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.svg"
        plots.save(figure, path)
        return path.read_text(encoding="utf-8")
