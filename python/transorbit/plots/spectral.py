"""The spectral efficiency of the last hop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit._core import ScenarioError
from transorbit.plots import marks, style, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EFFICIENCY, _TRANSMISSIONS = "last_hop.spectral_efficiency", "transmissions_per_packet"
_BURSTS, _STARTED = "last_hop.harq.bursts", "last_hop.harq.started"
# The last hop's modulation is QPSK (docs/models/harq.md).
_BITS_PER_SYMBOL = 2


def spectral_efficiency(
    frame: pl.DataFrame,
    *,
    x: str | None,
    by: str | None = None,
    panels: str | None = None,
    labels: Mapping[str, str] | None = None,
    log: str = "",
    title: str | None = None,
    width: float = style.DOUBLE_IN,
) -> Figure:
    """Useful bits for each coded bit over an axis, for each symbol at the right; below it a packet's transmissions.

    Args:
        frame: one row for each run, with the dotted columns of a sweep's `runs`.
        x, by, panels, labels, log, title, width: see `of_table`.

    Raises:
        ScenarioError: no run has a last hop that counts its coded bits.
    """
    metrics = {_EFFICIENCY: "Useful bits per coded bit"}
    if {_BURSTS, _STARTED} <= set(frame.columns) and frame[_STARTED].sum():
        frame = frame.with_columns((pl.col(_BURSTS) / pl.col(_STARTED)).alias(_TRANSMISSIONS))
        metrics[_TRANSMISSIONS] = "Transmissions per packet"
    if _EFFICIENCY not in frame.columns or frame[_EFFICIENCY].drop_nulls().is_empty():
        raise ScenarioError("spectral-efficiency: no run has a last hop that counts its coded bits")
    beside = table.levels(panels, frame) if panels else [None]
    numbers = []
    size = {"width": width, "height": 0.6 + 2.1 * len(metrics)}
    with style.grid(len(metrics), len(beside), title=title, sharex=True, sharey="row", **size) as (fig, rows):
        for (metric, name), axes in zip(metrics.items(), rows, strict=True):
            named = {**(labels or {}), metric: name}
            spec = table.Spec(kind="lines", x=x, y=metric, by=by, panels=panels, labels=named, log=log)
            table.check(spec, frame, None)
            means = table.summary(spec, frame)
            levels = {key: table.levels(key, frame) for key in spec.keys}
            first = metric == _EFFICIENCY
            drawn = marks.Panels(fig, dict(zip(beside, axes, strict=True)), spec, levels, True, has_legend=first)
            marks.lines(drawn, means, None)
            plain = dict(zip(spec.stats, ("mean", "low", "high", "count"), strict=True))
            named_alike = {key: f"{key} (axis)" for key in spec.keys if key in plain.values()}
            numbers.append(means.rename(named_alike).rename(plain).with_columns(pl.lit(name).alias("metric")))
            if first:
                marks.name_panels(drawn)
                _per_symbol(axes[-1])
        fig.numbers = pl.concat(numbers)
    return fig


def _per_symbol(ax: Axes) -> None:
    def times(bits: Any) -> Any:
        return _BITS_PER_SYMBOL * bits

    def over(bits: Any) -> Any:
        return bits / _BITS_PER_SYMBOL

    right = ax.secondary_yaxis("right", functions=(times, over))
    right.set_ylabel("per symbol (QPSK)")
    right.spines["right"].set_visible(False)
