"""Plots of the models by themselves: a path's delay, a channel's fading."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from matplotlib.ticker import MaxNLocator

from transorbit.plots import heading, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EVENTS = (
    ("user-handover", style.ORANGE, "user handover"),
    ("gateway-handover", style.GREY, "gateway handover"),
)
# A value that interrupts a line.
_GAP = float("nan")
# More of a kind would hide the delay.
_MOST_MARKED = 50


def constellation_delay(
    delay: pl.DataFrame, *, title: str = "One-way delay of the path", note: str = "", width: float = style.DOUBLE_IN
) -> Figure:
    """The delay of `transorbit.constellation.delay` over time, and its handovers; a gap where there is no route.

    `note` stands below the title.
    """
    with style.figure(2, title=title, until_s=_end(delay), height=4.0, look={"width": width}, height_ratios=[3, 1]) as (
        fig,
        [top, low],
    ):
        top.plot(*unjoined(delay), color=style.BLUE)
        top.set_ylabel("Delay (ms)")
        for event, color, label in _EVENTS:
            times = delay.filter(pl.col("event").str.split("+").list.contains(event))["time_s"]
            for index, time in enumerate(times if len(times) <= _MOST_MARKED else []):
                name = None if index else label
                top.axvline(time, color=color, linewidth=0.9, linestyle=(0, (3, 2)), label=name, zorder=1)
        if top.get_legend_handles_labels()[0]:
            heading.above(top)
        low.step(delay["time_s"], delay["hops"], where="post", color=style.ORANGE)
        low.margins(y=0.3)
        low.set_ylabel("Hops")
        low.yaxis.set_major_locator(MaxNLocator(integer=True))
        fig.note = note if title else ""
    return fig


def unjoined(delay: pl.DataFrame) -> tuple[list[float], list[float]]:
    """Times and delays in milliseconds, with a gap before each row at which the route changed."""
    times: list[float] = []
    values: list[float] = []
    for time, value, event in delay.select("time_s", "one_way_delay_s", "event").iter_rows():
        if event and times:
            times.append(time)
            values.append(_GAP)
        times.append(time)
        values.append(_GAP if value is None else 1e3 * value)
    return times, values


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
