"""The charts of a run's time series.

A few flows are drawn each. Of many, the range of most of them and their median, and beside it the one that the reader
chooses. Where there is more than a page can hold, a stretch of instants becomes two: the least and the greatest value
in it, in the order in which they came, so that no peak is lost.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from transorbit import _columns
from transorbit import _jumps as jumps
from transorbit._flow_kinds import named
from transorbit._numbers import delay_unit, multiple
from transorbit.report.page import Chart, Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from transorbit.report.page import Page
    from transorbit.result import Result

# Up to this many flows are drawn each.
EACH = 6
# The most flows that a reader can choose from.
_CHOICES = 100
# The most values of a page: about 2 MB.
_VALUES = 300_000
# Stretches over which rates are averaged, and outcomes of HARQ are counted.
_AVERAGES = 300
_OUTCOMES = 150


@dataclass(frozen=True)
class Quantity:
    """A column of the series as it is drawn: `scale` makes it `unit`."""

    column: str
    unit: str
    scale: float = 1.0
    step: bool = False
    floor: float | None = 0.0
    inverted: bool = False
    averaged: bool = False
    # Whether many flows are shown as their sum, and not as a range: most have none of it most of the time.
    summed: bool = False
    # Where it is not called as the column.
    called: str = ""

    @property
    def title(self) -> str:
        """The title of its chart."""
        return self.called or _columns.label(self.column)


OF_FLOWS = (
    Quantity("goodput_bps", "Mbit/s", 1e-6, averaged=True),
    Quantity("cwnd_packets", "packets"),
    Quantity("srtt_s", "ms", 1e3),
    Quantity("retransmitted_packets", "in an interval", step=True, summed=True),
)
# Quantities of applications with a state: only where the run has the column.
_OF_APPLICATIONS = (
    Quantity("bitrate_bps", "Mbit/s", 1e-6, step=True),
    Quantity("buffer_s", "s"),
    Quantity("latency_s", "s"),
    Quantity("down_delay_s", "ms", 1e3),
    Quantity("up_delay_s", "ms", 1e3),
)
_OF_USERS = (Quantity("attenuation_db", "dB", floor=None, inverted=True),)
# Further curves of one flow, in the chart of another column, and whether they are drawn at first.
_BESIDE = {
    "cwnd_packets": (("ssthresh_packets", True), ("in_flight_packets", False)),
    "srtt_s": (("rto_s", False),),
}
OF_LINK = (
    Quantity("queue_packets", "packets", step=True),
    Quantity("reordering_packets", "packets", step=True),
    Quantity("coded_bps", "Mbit/s", 1e-6, averaged=True),
)
OF_PATH = (
    Quantity("path_delay_s", "ms", 1e3, floor=None),
    Quantity("elevation_deg", "degrees"),
    Quantity("doppler_hz", "kHz", 1e-3, floor=None),
)


def add(page: Page, result: Result) -> None:
    """Add the charts that the run has something to show in."""
    import polars as pl

    series = result.series
    if series.is_empty():
        page.text("The run recorded no time series.", kind="muted")
        return
    flows = result.summary["flows"]
    one = series.filter(pl.col("flow") == pl.col("flow").min()).drop("flow")
    stated = [quantity for quantity in _OF_APPLICATIONS if quantity.column in series.columns]
    quantities = [*OF_FLOWS, *stated, *(_OF_USERS if one["attenuation_db"].n_unique() > 1 else ())]
    quantities = [_suited(quantity, series) for quantity in quantities if _says_something(series, quantity.column)]
    interval_s = _interval_s(one)
    page.text(
        (f"An instant every {interval_s:.4g} s. " if interval_s else "")
        + "Drag over a chart to zoom all of them in, double-click to see the "
        "whole run again, and click on a name in a legend to hide or show its curve. With fingers: two zoom, one "
        "moves, a double tap shows all. SVG, PNG and CSV save a chart as it is shown.",
        kind="muted",
    )
    if len(flows) > EACH:
        total = series.group_by("time_s", maintain_order=True).agg(pl.col("goodput_bps").sum())
        for chart in _shared(total, [replace(OF_FLOWS[0], called="Goodput of all flows")]):
            page.chart(chart)
        charts = _many(page, [_of_one(quantity, flows) for quantity in quantities], series, flows)
    else:
        charts = _few(quantities, series, flows)
    for chart in (
        *charts,
        *_shared(one, [_suited(quantity, one) for quantity in (*OF_LINK, *OF_PATH)]),
        *_outcomes(one),
        *_return_link(one),
    ):
        page.chart(chart)


def _few(quantities: list[Quantity], series: pl.DataFrame, flows: list[dict[str, Any]]) -> Iterator[Chart]:
    """A curve for each flow."""
    wide = {quantity.column: _wide(series, quantity) for quantity in quantities}
    if len(flows) == 1:
        for quantity in quantities:
            for column, _ in _BESIDE.get(quantity.column, ()):
                wide[column] = _wide(series, replace(quantity, column=column))
    kept = _within(wide, _VALUES // max(len(wide) * (len(flows) + 1), 1))
    for quantity in quantities:
        table = kept[quantity.column]
        curves = [
            Series(named(flow), table[str(flow["id"])].to_list(), color=number, step=quantity.step)
            for number, flow in enumerate(flows)
        ]
        if len(flows) == 1:
            for color, (column, shown) in enumerate(_BESIDE.get(quantity.column, ()), start=1):
                values = kept[column]["0"]
                if column == "ssthresh_packets":
                    values = _bounded(values, table["0"])
                label = _columns.label(column).lower()
                curves.append(Series(label, values.to_list(), color=color, shown=shown))
        elif quantity.column == "goodput_bps":
            curves.append(Series("all flows", table["sum"].to_list(), color=None))
        yield _chart(quantity, table, curves, series)


def _many(page: Page, quantities: list[Quantity], series: pl.DataFrame, flows: list[dict[str, Any]]) -> Iterator[Chart]:
    """The range of most flows, and the one that is chosen."""
    chosen = _spread_over(sorted(flows, key=lambda flow: (flow["goodput_bps"], flow["id"])), _CHOICES)
    names = {str(flow["id"]): named(flow) for flow in sorted(chosen, key=lambda flow: flow["id"])}
    first = named(max(chosen, key=lambda flow: int(flow["delivered_bytes"])))
    among = "" if len(chosen) == len(flows) else f" (a choice of {len(chosen)}, from the least to the most goodput)"
    page.selector(f"Flow{among}", list(names.values()), first)
    columns = ["time_s", "low", "middle", "high", "sum", *names]
    wide = {quantity.column: _wide(series, quantity).select(columns) for quantity in quantities}
    kept = _within(wide, _VALUES // max(len(wide) * len(columns), 1))
    for quantity in quantities:
        table = kept[quantity.column]
        total = [Series("all flows", table["sum"].to_list(), step=quantity.step)]
        spread = [
            Series("10 %", table["low"].to_list(), color=0, faint=True),
            Series("90 % of the flows", table["high"].to_list(), color=0, band=True),
            Series("median", table["middle"].to_list(), color=0),
        ]
        curves = total if quantity.summed else spread
        choices = {name: table[flow].to_list() for flow, name in names.items()}
        yield replace(_chart(quantity, table, curves, series), choices=choices)


def _of_one(quantity: Quantity, flows: list[dict[str, Any]]) -> Quantity:
    """The quantity in the unit of a single flow, which gets little where there are many."""
    if quantity.column != "goodput_bps":
        return quantity
    scale, unit = multiple(statistics.fmean(flow["goodput_bps"] for flow in flows), "bit/s")
    return replace(quantity, called="Goodput of a flow", unit=unit, scale=1 / scale)


def _shared(one: pl.DataFrame, quantities: list[Quantity]) -> Iterator[Chart]:
    """The columns that are the same for all flows."""
    for quantity in quantities:
        if quantity.column in one.columns and _says_something(one, quantity.column, varies=quantity in OF_PATH):
            table = one.select("time_s", _scaled(quantity).alias("value"))
            if quantity.column == "path_delay_s":
                table = table.with_columns(value=jumps.unjoined(one, quantity.column, table["value"]))
            if quantity.averaged:
                table = table.with_columns(_averaged("value", len(one)))
            table = _within({"": table}, _VALUES // 20)[""]
            yield _chart(
                quantity, table, [Series(quantity.title.lower(), table["value"].to_list(), step=quantity.step)], one
            )


def _outcomes(one: pl.DataFrame) -> Iterator[Chart]:
    """How many transmissions the packets of each stretch needed, in percent of them, on top of each other."""
    import polars as pl

    names = [name for name in one.columns if name.startswith("decoded_")]
    if len(names) < 2:
        return
    counts = _stretches(one, _OUTCOMES, pl.col([*names, "harq_failed"]).sum())
    share = counts.select("time_s", pl.col([*names, "harq_failed"]) / pl.sum_horizontal([*names, "harq_failed"]) * 100)
    curves = []
    for number, name in enumerate([*names, "harq_failed"]):
        stacked = share.select(pl.sum_horizontal([*names, "harq_failed"][: number + 1]).fill_nan(None)).to_series()
        label = {"harq_failed": "never", "decoded_later": "later"}.get(name, name.removeprefix("decoded_after_"))
        color = 3 if name == "harq_failed" else (0, 5, 2, 1, 4, 6)[number % 6]
        curves.append(Series(label, stacked.to_list(), color=color, step=True, fill=not number, below=bool(number)))
    note = "Of the packets whose fate was decided in a stretch of time: decoded after so many transmissions."
    yield Chart("Transmissions of a packet", "%", share["time_s"].to_list(), curves, note=note)


def _return_link(one: pl.DataFrame) -> Iterator[Chart]:
    """Load and losses of random access, granted and used slots, and waiting datagrams."""
    import polars as pl

    if "waiting_datagrams" not in one.columns:
        return
    counted = ["random_packets", "random_lost", "random_slots", "granted_slots", "used_slots"]
    sums = _stretches(one, _AVERAGES, pl.col(counted).sum(), pl.col("waiting_datagrams").max())
    times = sums["time_s"].to_list()
    # Of the last stretch there may be less.
    lasts_s = sums["time_s"].diff().fill_null(times[0])
    if sums["random_packets"].sum():
        load = sums.select((pl.col("random_packets", "random_lost") / pl.col("random_slots")).fill_nan(0.0))
        curves = [
            Series(label, load[name].to_list(), color=color, step=True)
            for color, name, label in ((0, "random_packets", "sent"), (3, "random_lost", "lost"))
        ]
        yield Chart("Random access", "packets per slot", times, curves)
    if sums["granted_slots"].sum():
        curves = [
            Series(label, (sums[name] * times[0] / lasts_s).to_list(), color=color, step=True)
            for color, name, label in ((5, "granted_slots", "granted"), (0, "used_slots", "used"))
        ]
        yield Chart("Dedicated access", f"slots in {times[0]:.3g} s", times, curves)
    yield Chart(
        "Waiting in the terminals", "datagrams", times, [Series("most", sums["waiting_datagrams"].to_list(), color=2)]
    )


def _chart(quantity: Quantity, table: pl.DataFrame, curves: list[Series], series: pl.DataFrame) -> Chart:
    stretch = _stretch(series["time_s"].n_unique())
    note = ""
    if quantity.averaged and stretch > 1:
        note = f"Averaged over {stretch * _interval_s(series):.3g} s."
    return Chart(
        quantity.title,
        quantity.unit,
        table["time_s"].to_list(),
        curves,
        floor=quantity.floor,
        inverted=quantity.inverted,
        note=note,
        href=f"#definition-{quantity.column}",
    )


def _wide(series: pl.DataFrame, quantity: Quantity) -> pl.DataFrame:
    """A row for each instant: every flow by its number, their sum, and the range of most of them."""
    import polars as pl

    wide = series.select("time_s", "flow", _scaled(quantity).alias("value")).pivot(
        on="flow", index="time_s", values="value", maintain_order=True
    )
    flows = wide.columns[1:]
    if quantity.averaged:
        wide = wide.with_columns(_averaged(name, len(wide)) for name in flows)
    each = pl.concat_list(flows).list.drop_nulls().list.sort()
    known = ~pl.all_horizontal(pl.col(flows).is_null())
    wide = wide.with_columns(each.alias("each"), pl.when(known).then(pl.sum_horizontal(flows)).alias("sum"))
    ranks = {"low": 0.1, "middle": 0.5, "high": 0.9}
    last = pl.col("each").list.len().cast(pl.Int64) - 1
    nearest = [
        pl.col("each").list.get((last * share).round().cast(pl.Int64), null_on_oob=True).alias(name)
        for name, share in ranks.items()
    ]
    return wide.with_columns(nearest).drop("each")


def _within(tables: dict[str, pl.DataFrame], rows: int) -> dict[str, pl.DataFrame]:
    """Tables of the same instants with at most so many of them: each stretch becomes its least and greatest value."""
    import polars as pl

    instants = len(next(iter(tables.values()))) if tables else 0
    if instants <= rows:
        return tables
    length = -(-2 * instants // rows)

    def ends(name: str) -> pl.Expr:
        low, high = pl.col(name).min(), pl.col(name).max()
        rising = pl.col(name).arg_min() <= pl.col(name).arg_max()
        return pl.when(rising).then(pl.concat_list(low, high)).otherwise(pl.concat_list(high, low)).alias(name)

    def shorter(table: pl.DataFrame) -> pl.DataFrame:
        values = [name for name in table.columns if name != "time_s"]
        first, middle = pl.col("time_s").first(), pl.col("time_s").get(pl.len() // 2)
        return (
            table.with_columns((pl.int_range(pl.len()) // length).alias("stretch"))
            # A stretch of a single instant at the end would stand there twice.
            .with_columns(pl.min_horizontal("stretch", pl.lit((instants - 2) // length)))
            .group_by("stretch", maintain_order=True)
            .agg(pl.concat_list(first, middle).alias("time_s"), *(ends(name) for name in values))
            .explode("time_s", *values)
            .drop("stretch")
        )

    return {name: shorter(table) for name, table in tables.items()}


def _stretches(one: pl.DataFrame, most: int, *columns: pl.Expr) -> pl.DataFrame:
    """Counts in at most so many stretches of as many instants; each stands at the end of its stretch."""
    import polars as pl

    length = -(-len(one) // most)
    # The first row is the beginning of the run, before anything was counted.
    number = ((pl.int_range(pl.len()) - 1) // length).clip(lower_bound=0).alias("stretch")
    return (
        one.with_columns(number)
        .group_by("stretch", maintain_order=True)
        .agg(pl.col("time_s").last(), *columns)
        .drop("stretch")
    )


def _spread_over(flows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Returns at most so many flows, evenly over their order, the first and the last among them."""
    if len(flows) <= most:
        return flows
    return [flows[round(index * (len(flows) - 1) / (most - 1))] for index in range(most)]


def _scaled(quantity: Quantity) -> pl.Expr:
    import polars as pl

    return pl.col(quantity.column).cast(pl.Float64) * quantity.scale


def _averaged(name: str, instants: int) -> pl.Expr:
    """The average of the intervals that end at an instant and shortly before; none ends at the first."""
    import polars as pl

    ended = pl.when(pl.int_range(pl.len()) > 0).then(pl.col(name))
    return ended.rolling_mean(_stretch(instants), min_samples=1).alias(name)


def _stretch(instants: int) -> int:
    return max(instants // _AVERAGES, 1)


def _bounded(threshold: pl.Series, window: pl.Series) -> pl.Series:
    """The threshold of slow start without what is as good as unbounded, which would push the window to the floor."""
    most = 3 * float(window.max() or 1.0)  # type: ignore[arg-type]
    return threshold.set(threshold > most, None)


def _suited(quantity: Quantity, series: pl.DataFrame) -> Quantity:
    """The quantity, a delay in the unit that suits the greatest."""
    if quantity.unit != "ms":
        return quantity
    most = series[quantity.column].drop_nans().max() if quantity.column in series.columns else None
    unit, scale = delay_unit(float(most or 0.0))  # type: ignore[arg-type]
    return replace(quantity, unit=unit, scale=1 / scale)


def _says_something(series: pl.DataFrame, column: str, *, varies: bool = False) -> bool:
    """Whether a column has a value other than null and zero or, with `varies`, two different values."""
    values = series[column].drop_nulls()
    return bool(values.n_unique() > 1 if varies else (values != 0).any())


def _interval_s(series: pl.DataFrame) -> float:
    times = series["time_s"].unique().sort()
    return float(times[-1] - times[0]) / max(len(times) - 1, 1)
