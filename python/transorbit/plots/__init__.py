"""Plots of a result, ready to print: colour-blind safe, units on every axis, the same bytes for the same result.

Of a run: each function returns a matplotlib `Figure`, or None where the run has nothing to show. Of many runs:
`of_sweep`, and `of_table` for any table. `publish` writes a figure and its numbers.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from transorbit import _figures
from transorbit._core import ScenarioError
from transorbit._names import hint
from transorbit._values import above_zero, number, text
from transorbit.plots import access, style, users
from transorbit.plots.access import access_times, plr
from transorbit.plots.application import game, video
from transorbit.plots.capacity import capacity
from transorbit.plots.compare import compare_goodput
from transorbit.plots.constellation import constellation_delays, coverage, passes, world
from transorbit.plots.course import course
from transorbit.plots.models import channel, constellation_delay
from transorbit.plots.numbers import numbers
from transorbit.plots.overview import overview
from transorbit.plots.path import path_delay, return_link, satellite
from transorbit.plots.rain import rain
from transorbit.plots.run import goodput, harq, queue, queue_delay, window
from transorbit.plots.sequence import sequence
from transorbit.plots.style import publish, save, write
from transorbit.plots.sweep import of_sweep
from transorbit.plots.table import of_table
from transorbit.plots.timeline import timeline
from transorbit.plots.users import completion, goodput_by_user, voice

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from transorbit.plots.given import Result

#: The plots of a run's series, by the name of their file.
OF_SERIES = _figures.load(_figures.OF_SERIES)
#: Those of what the users got.
OF_USERS = _figures.load(_figures.OF_USERS)
#: Those of a return link.
OF_ACCESS = _figures.load(_figures.OF_ACCESS)
#: All that `Result.save_plots` draws.
ALL = OF_SERIES | OF_USERS | OF_ACCESS
#: Those that are drawn when asked for: they can be told what to show.
CLOSE = _figures.load(_figures.CLOSE)
# Figures that need a number of something.
_NEEDS = {"access-times": access.TIMES, "goodput-by-user": users.USERS, "completion": users.ENDED}

# The readers of the options of figures.
_GIVEN: dict[str, Callable[[str, object], object]] = {
    "width": above_zero,
    "title": text,
    "from_s": number,
    "until_s": number,
}


def draw(name: str, result: Result, **options: Any) -> Figure | None:
    """Draw one of `ALL` or `CLOSE`; None where the run has nothing to show in it.

    Args:
        name: of the plot.
        result: of the run.
        options: `width` in inches, `title` ("" for none), and those of `timeline` and `sequence`.

    Raises:
        KeyError: there is no such plot.
        ScenarioError: the plot has no such option, or not with such a value; or it is `sequence`, and the run kept no
            packets.
    """
    if name not in ALL | CLOSE:
        raise KeyError(f"{name}: no such plot, one of {', '.join(ALL | CLOSE)} is expected")
    _check_options(name, options)
    return (
        None
        if name in OF_SERIES and name != _figures.OVERVIEW and result.series.is_empty()
        else (ALL | CLOSE)[name](result, **options)
    )


def nothing_to_show(name: str, result: Result) -> str:
    """Why `draw` gives None of a run, in words."""
    off = _figures.not_recorded(name, result.scenario_toml)
    need = None if off else _NEEDS.get(name)
    lack = need.unmet(result) if need else ""
    return lack or f"the run has nothing to show in this plot{off}"


def _check_options(name: str, options: dict[str, Any]) -> None:
    """Refuses an option that the plot does not have, or whose value is none, also where the run has nothing to show."""
    parameters = inspect.signature((ALL | CLOSE)[name]).parameters.values()
    known = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY] or list(style.Look.__annotations__)
    for option, value in options.items():
        if option not in known:
            raise ScenarioError(f"{option}: {name} has no such option ({', '.join(known)}){hint(option, known)}")
        if value is not None and option in _GIVEN:
            _GIVEN[option](option, value)


__all__ = [
    "ALL",
    "CLOSE",
    "OF_ACCESS",
    "OF_SERIES",
    "OF_USERS",
    "access_times",
    "capacity",
    "channel",
    "compare_goodput",
    "completion",
    "constellation_delay",
    "constellation_delays",
    "course",
    "coverage",
    "draw",
    "game",
    "goodput",
    "goodput_by_user",
    "harq",
    "nothing_to_show",
    "numbers",
    "of_sweep",
    "of_table",
    "overview",
    "passes",
    "path_delay",
    "plr",
    "publish",
    "queue",
    "queue_delay",
    "rain",
    "return_link",
    "satellite",
    "save",
    "sequence",
    "timeline",
    "video",
    "voice",
    "window",
    "world",
    "write",
]
