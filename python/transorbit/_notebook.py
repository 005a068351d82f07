"""Results and scenarios as notebooks show them, in HTML, and a bar for work that takes a while. Needs no package."""

from __future__ import annotations

import sys
import time
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from transorbit import _numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Rows shown at most.
_ROWS = 10
# Seconds before the bar appears; seconds between redraws.
_PATIENCE_S, _EVERY_S = 0.5, 0.2


def shell() -> Any:
    """The shell of the notebook that this is called in; None in a terminal or a script."""
    ipython = sys.modules.get("IPython")
    running = ipython.get_ipython() if ipython is not None else None
    return running if running is not None and hasattr(running, "kernel") else None


class Bar:
    """A bar in a notebook: it appears if the work takes a while, and goes when all is done."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None
        self._begun = self._drawn = time.monotonic()

    def __call__(self, share: float, text: str = "") -> None:
        """Show which share is done, 0 to 1, and a text."""
        now = time.monotonic()
        if share >= 1.0:
            if self._handle is not None:
                self._handle.update(_Html(""))
            return
        if now - self._begun < _PATIENCE_S or now - self._drawn < _EVERY_S:
            return
        self._drawn = now
        bar = _Html(f'<progress value="{share:.3f}" max="1"></progress> {100 * share:.0f} % {escape(text)}')
        if self._handle is None:
            self._handle = self._display(bar, display_id=True)
        else:
            self._handle.update(bar)

    def of_sweep(self, progress: Any) -> None:
        """Show how many runs of a sweep are there."""
        total = max(progress.total, 1)
        self(progress.done / total, f"{progress.done} of {progress.total} runs")


class _Html:
    """HTML as a notebook shows it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        return self.text


def bar() -> Bar | None:
    """A bar, if this is a notebook."""
    if shell() is None:
        return None
    return Bar(sys.modules["IPython"].display.display)


def of_result(result: Any) -> str:
    """A run at a glance: its key numbers."""
    tiles = import_module("transorbit.report.tiles")
    summary = result.summary
    rows = [(tile.label, f"{tile.value} {tile.unit}".strip(), tile.note) for tile in tiles.of(result)]
    stopped = ", stopped before its end" if result.partial else ""
    head = f"seed {summary['seed']}, {summary['simulated_s']:g} s simulated{stopped}, digest {summary['digest']}"
    warned = "".join(f"<p>Warning: {escape(line)}</p>" for line in summary["warnings"])
    return f"<p><b>{escape(result.title or 'A run')}</b><br>{escape(head)}</p>\n{warned}{_table((), rows)}"


def of_scenario(scenario: Any) -> str:
    """A scenario: its title, and with every default filled in when it is opened."""
    from transorbit._core import ScenarioError

    try:
        title, text = scenario.title, scenario.to_toml()
    except ScenarioError as error:
        return f"<p><b>A scenario that cannot be run</b><br>{escape(str(error))}</p>"
    return f"<details><summary><b>{escape(title or 'A scenario')}</b></summary><pre>{escape(text)}</pre></details>"


def of_sweep(result: Any) -> str:
    """A sweep: the means of its metrics at each point."""
    names = list(result.metrics)
    header = [axis.name for axis in result.axes] + ["runs"] + [metric.title for metric in result.metrics.values()]
    means = result.means()
    rows = []
    for point in means[:_ROWS]:
        values = [point["metrics"].get(name) for name in names]
        rows.append([*(str(point[axis.name]) for axis in result.axes), str(point["runs"]), *map(_interval, values)])
    more = f"<p>The first {_ROWS} of {len(means)} points.</p>" if len(means) > _ROWS else ""
    lacks = f"<p>Warning: {escape(result.incomplete)}</p>" if result.incomplete else ""
    return f"<p><b>{escape(result.title or 'A sweep')}</b></p>\n{lacks}{_table(header, rows)}{more}"


def _interval(one: dict[str, Any] | None) -> str:
    """The mean of a metric with its interval; the mean alone of one run, a dash without any."""
    if one is None or one["mean"] is None:
        return "\N{EN DASH}"
    if one["count"] < 2:
        return _numbers.number(one["mean"])
    return _numbers.interval(one["mean"], one["low"], one["high"])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    head = [f"<thead>{line(header, 'th')}</thead>"] if header else []
    lines = [line(row, "td") for row in rows]
    return "\n".join(["<table>", *head, "<tbody>", *lines, "</tbody>", "</table>"])
