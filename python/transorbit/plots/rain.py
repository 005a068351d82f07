"""Attenuation by rain over the elevation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transorbit.plots import style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


def rain(table: pl.DataFrame, *, title: str = "Rain", width: float = style.DOUBLE_IN) -> Figure:
    """The table of `transorbit.rain.attenuation`."""
    with style.plain(title=title, look={"width": width}) as (fig, [axes]):
        marker = "o" if len(table) < 2 else None
        axes.plot(table["elevation_deg"], table["attenuation_db"], color=style.BLUE, marker=marker)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("Attenuation (dB)")
        axes.set_xlabel("Elevation (deg)")
        axes.set_xlim(0, 90)
    return fig
