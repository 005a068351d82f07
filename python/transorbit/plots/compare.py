"""Plots that set runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from transorbit.plots import heading, style

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from matplotlib.figure import Figure

    from transorbit.plots.given import Result


def compare_goodput(results: Mapping[str, Result], *, bin_s: float = 5.0, **look: Unpack[style.Look]) -> Figure:
    """Goodput of all flows over time, a line for each labelled run, and its mean beside it.

    Args:
        results: label of each run.
        bin_s: seconds averaged into a point.
    """
    until_s = max(result.numbers["simulated_s"] for result in results.values())
    with style.figure(title="Goodput", until_s=until_s, height=3.2, look=look) as (fig, [ax]):
        for (label, result), color in zip(results.items(), style.CYCLE, strict=False):
            # A row tells of the interval before it; the first has none.
            rows = result.series.filter(pl.col("time_s") > 0)
            length = max(bin_s, float(rows["time_s"].min() or 0))  # type: ignore[arg-type]
            total = (
                rows.with_columns(((pl.col("time_s") / length - 1e-9).ceil() - 1) * length)
                .group_by("time_s", "flow", maintain_order=True)
                .agg(pl.col("goodput_bps").mean())
                .group_by("time_s", maintain_order=True)
                .agg(pl.col("goodput_bps").sum() / 1e6)
                .sort("time_s")
            )
            mean = result.goodput_bps / 1e6
            # The last step lasts until the end.
            times = [*total["time_s"], *rows["time_s"].tail(1)]
            rates = [*total["goodput_bps"], *total["goodput_bps"].tail(1)]
            ax.step(times, rates, where="post", color=color, label=f"{label}: {mean:.3g} Mbit/s")
            ax.axhline(mean, color=color, linewidth=0.9, linestyle=(0, (4, 3)))
        ax.set_ylabel("Goodput (Mbit/s)")
        ax.set_ylim(bottom=0)
        heading.above(ax)
    return fig
