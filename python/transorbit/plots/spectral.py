"""The spectral efficiency of the last hop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from transorbit._core import ScenarioError
from transorbit.plots import several, style
from transorbit.plots import spec as columns

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
    named = {**(labels or {}), **metrics}
    limits = {_EFFICIENCY: (0.0, 1.0), _TRANSMISSIONS: (1.0, None)}
    spec = columns.Spec(kind="lines", x=x, y=_EFFICIENCY, by=by, panels=panels, labels=named, log=log, limits=limits)
    figure = several.draw(spec, list(metrics), frame, title=title, width=width)
    first_row = [ax for ax in figure.axes if ax.get_subplotspec().is_first_row()]  # type: ignore[union-attr]
    with style.like(figure):
        _per_symbol(first_row[-1])
    return figure


def _per_symbol(ax: Axes) -> None:
    def times(bits: Any) -> Any:
        return _BITS_PER_SYMBOL * bits

    def over(bits: Any) -> Any:
        return bits / _BITS_PER_SYMBOL

    right = ax.secondary_yaxis("right", functions=(times, over))
    right.set_ylabel("per symbol (QPSK)")
    right.spines["right"].set_visible(False)
