"""A path over time: round trips, rates and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transorbit.plots import heading, style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


def course(table: pl.DataFrame, *, title: str = "A path over time", width: float = style.DOUBLE_IN) -> Figure:
    """The table of `transorbit.trace.course`: a row each for round trips, rates and losses; gaps without a route."""
    until = float(table["time_s"].max() or 0.0)  # type: ignore[arg-type]
    has = [name for name in ("delay", "rate", "loss") if _known(table, name)]
    size: Any = {"rows": len(has), "height": 1.2 + 1.7 * len(has)}
    with style.figure(title=title, until_s=max(until, 1e-9), look={"width": width}, **size) as (fig, axes):
        for ax, name in zip(axes, has, strict=True):
            if name == "delay":
                round_trip = (table["delay_down_s"] + table["delay_up_s"]) * 1e3
                ax.plot(table["time_s"], round_trip.fill_null(float("nan")), color=style.BLUE, linewidth=0.8)
                ax.set_ylabel("Round trip (ms)")
                ax.set_ylim(bottom=0)
                continue
            factor, label = (1e-6, "Rate (Mbit/s)") if name == "rate" else (100.0, "Loss (%)")
            for direction, color in (("down", style.BLUE), ("up", style.CYCLE[1])):
                values = table[f"{name}_{direction}_{'bps' if name == 'rate' else ''}".rstrip("_")]
                if values.null_count() < len(values):
                    ax.step(table["time_s"], values * factor, where="post", color=color, label=direction, linewidth=0.8)
            ax.set_ylabel(label)
            ax.set_ylim(bottom=0)
            heading.above(ax)
    return fig


def _known(table: pl.DataFrame, name: str) -> bool:
    columns = [table[column] for column in table.columns if column.startswith(name)]
    return any(column.null_count() < len(column) for column in columns)
