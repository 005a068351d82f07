"""Plots of the models by themselves: a path's delay, a channel's fading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator

from transorbit.plots import style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


def constellation_delay(
    delay: pl.DataFrame, *, title: str = "One-way delay of the path", width: float = style.DOUBLE_IN
) -> Figure:
    """The delay of `transorbit.constellation.delay` over time; a gap where there is no route."""
    with style.figure(2, title=title, until_s=_end(delay), height=4.0, look={"width": width}, height_ratios=[3, 1]) as (
        fig,
        [top, low],
    ):
        top.plot(delay["time_s"], delay["one_way_delay_s"] * 1e3, color=style.BLUE)
        top.set_ylabel("Delay (ms)")
        low.step(delay["time_s"], delay["hops"], where="post", color=style.ORANGE)
        low.margins(y=0.3)
        low.set_ylabel("Hops")
        low.yaxis.set_major_locator(MaxNLocator(integer=True))
    return fig


def channel(series: pl.DataFrame, *, title: str = "Channel", width: float = style.DOUBLE_IN) -> Figure:
    """The series of `transorbit.channel.generate`: attenuation over time, and its distribution."""
    attenuation = series.drop_nulls("attenuation_db")
    with style.figure(2, title=title, until_s=_end(series), height=5.0, look={"width": width}) as (fig, [top, low]):
        thin = attenuation.gather_every(max(len(attenuation) // 20_000, 1))
        top.plot(thin["time_s"], thin["attenuation_db"], color=style.BLUE, linewidth=0.5)
        top.invert_yaxis()
        top.set_ylabel("Attenuation (dB)")
        information = thin.drop_nulls("mutual_information")
        low.plot(information["time_s"], information["mutual_information"], color=style.GREEN, linewidth=0.5)
        low.set_ylim(0, 1.02)
        low.set_ylabel("Mutual information\n(per coded bit)")
    return fig


def _end(table: pl.DataFrame) -> float:
    return float(table["time_s"].max() or 0.0)  # type: ignore[arg-type]
