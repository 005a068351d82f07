"""The distance of the model of Starlink's path to measurements: fitted on one half of a set, judged on the other.

    .venv/bin/python validation/starlink/distance.py [--fit]

writes `distance.csv` beside itself; with `--fit` it fits the models anew, into `crates/orbit/measured`. Halves are
every other five minutes: the two halves of an hour, one after the other, differ by more than the model does, which the
table shows too.
"""

from __future__ import annotations

import random
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import transorbit as to
from transorbit.statistics import kolmogorov_smirnov
from transorbit.trace.calibrate import deviations, epochs, fit, levels, runs

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SOURCE = (
    "Zhao and Pan, MMSys 2024, github.com/clarkzjw/mmsys24-starlink-livestreaming-data (bcf33b9), CC BY-SA 4.0; "
    "these parameters have the same licence"
)
SETS = {
    "seattle-2023": ("seattle", "Seattle, bent pipe, September 2023: round trips to the gateway, rate of downloads"),
    "lagos-2023": (
        "lagos",
        "Lagos, links between satellites, September 2023: round trips to the gateway, rate of downloads",
    ),
}
SEEDS = range(1, 4)
# Of downloads: eight epochs each, whose rates differ widely.
DOWNLOADS = range(1, 25)
HOUR_S = 3600.0
# The course is read on this grid; a probe is sent so long after the answer to the one before.
GRID_S, PAUSE_S = 0.02, 0.1


def half(table: pl.DataFrame, number: int, block_s: float) -> pl.DataFrame:
    """Every other stretch of time, which begins with an epoch."""
    return table.filter(((pl.col("unix_time_s") - 12.0) / block_s).floor().cast(pl.Int64) % 2 == number)


def measured(place: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Round trips, and the rate of a download with CUBIC in tenths of a second."""
    rtt, rate = (pl.read_parquet(HERE / "data" / f"{place}-{what}.parquet") for what in ("rtt", "cubic-2min"))
    return rtt, rate


def fit_all() -> None:
    """The parameters that come with the program."""
    for name, (place, summary) in SETS.items():
        rtt, rate = measured(place)
        found = fit(half(rtt, 0, 300.0), rates=half(rate, 0, 15.0), summary=summary, source=SOURCE)
        (ROOT / "crates/orbit/measured" / f"{name}.toml").write_text(found.toml(), encoding="utf-8")
        found.intervals.with_columns(model=pl.lit(name)).write_csv(HERE / f"{name}-intervals.csv", float_precision=4)


def path(name: str) -> dict[str, str]:
    """A model by its file, so that a fit is judged at once."""
    return {"kind": "starlink", "file": str(ROOT / "crates/orbit/measured" / f"{name}.toml")}


def modelled(name: str) -> pl.DataFrame:
    """Probes of the model, an hour for each seed, sent as those of the measurement: 0.1 s after the answer before."""
    sent, rtt = [], []
    for seed in SEEDS:
        table = to.trace.course(path(name), duration_s=HOUR_S, step_s=GRID_S, seed=seed)
        chance = random.Random(seed)
        loss = 1 - (1 - (table["loss_down"][0] or 0.0)) * (1 - (table["loss_up"][0] or 0.0))
        course = ((table["delay_down_s"] + table["delay_up_s"]) * 1e3).to_list()
        now = 0.0
        while now < HOUR_S:
            answer = None if chance.random() < loss else course[round(now / GRID_S)]
            # Hours that lie far apart, so that no epoch has two neighbours from different ones.
            sent.append(now + seed * 2 * HOUR_S)
            rtt.append(answer)
            now += PAUSE_S + (answer or 100.0) / 1e3
    return pl.DataFrame({"time_s": sent, "rtt_ms": rtt})


def distances(model: pl.DataFrame, other: pl.DataFrame) -> dict[str, float]:
    """Kolmogorov-Smirnov distances of what two tables of probes have."""
    pairs: dict[str, list[pl.Series]] = {"rtt": [], "within": [], "levels": [], "jumps": []}
    for table in (model, other):
        rows, _ = epochs(table, 12.0)
        found = levels(rows)
        after = found.with_columns(epoch=pl.col("epoch") - 1)
        jumps = found.join(after, on="epoch", suffix="_after").select(
            (pl.col("level_ms_after") - pl.col("level_ms")).abs()
        )
        pairs["rtt"].append(rows["rtt_ms"].drop_nulls())
        pairs["within"].append(deviations(rows.drop_nulls())["deviation_ms"])
        pairs["levels"].append(found["level_ms"])
        pairs["jumps"].append(jumps.to_series())
    return {name: kolmogorov_smirnov(*both) for name, both in pairs.items()}


def goodput(name: str, controller: str) -> pl.Series:
    """Mbit/s of downloads in tenths of a second."""
    scenario = to.Scenario.load(ROOT / "scenarios/starlink.toml").replace(
        {"path": path(name), "flows.0.transport.congestion": controller, "record.interval": "100 ms"}
    )
    series = [scenario.run(seed=seed).series["goodput_bps"] for seed in DOWNLOADS]
    return pl.concat(series) / 1e6


def judge() -> pl.DataFrame:
    """A row for each set and quantity: what was asked, and what is."""
    rows: list[tuple[str, str, float, float, str]] = []
    for name, (place, _) in SETS.items():
        rtt, rate = measured(place)
        fitted, judged = half(rtt, 0, 300.0), half(rtt, 1, 300.0)
        model = modelled(name)
        for quantity, distance in distances(model, judged).items():
            rows.append((name, f"KS {quantity}", distance, distances(fitted, judged)[quantity], "fitted half"))
        middle = rtt["unix_time_s"].median()
        first, last = rtt.filter(pl.col("unix_time_s") < middle), rtt.filter(pl.col("unix_time_s") >= middle)
        rows.append(
            (
                name,
                "KS rtt, second half of the hour",
                distances(model, last)["rtt"],
                distances(first, last)["rtt"],
                "first half",
            )
        )
        tails: list[tuple[str, Callable[[pl.DataFrame], float]]] = [
            (f"{share:g} % of round trips (ms)", partial(percentile, share=share)) for share in (99.0, 99.9)
        ]
        for quantity, of in (*tails, ("lost %", lost_percent), ("mean run of losses", mean_run)):
            rows.append((name, quantity, of(model), of(judged), "judged half"))
        even, odd = (half(rate, number, 15.0)["rate_down_mbps"] for number in (0, 1))
        rows.append((name, "median rate, fitted half Mbit/s", median(even), median(odd), "judged half"))
        for controller in ("cubic", "bbr"):
            got = goodput(name, controller)
            against = median(odd) if controller == "cubic" else float("nan")
            rows.append((name, f"median goodput {controller} Mbit/s", median(got), against, "judged half"))
            if controller == "cubic":
                rows.append((name, "KS goodput cubic", kolmogorov_smirnov(got, odd), float("nan"), ""))
    rows += others()
    return pl.DataFrame(rows, schema=["model", "quantity", "value", "reference", "reference_is"], orient="row")


def others() -> list[tuple[str, str, float, float, str]]:
    """Sets that nothing was fitted to, against the bent pipe's model."""
    model = modelled("seattle-2023")["rtt_ms"].drop_nulls()
    fjord = pl.read_parquet(HERE / "data-fjord/fjord.parquet")["rtt_ms"].drop_nulls()
    road = pl.read_parquet(HERE / "data/road-ping.parquet")["ping_avg"].drop_nulls()
    said = [("dish on a ship, 2025", fjord), ("mean of 25 s on the road, 2024", road)]
    return [
        ("seattle-2023", f"KS rtt, {name}", kolmogorov_smirnov(model, values), median(values), "its median (ms)")
        for name, values in said
    ]


def median(values: pl.Series) -> float:
    """Of values some of which may be missing."""
    return float(values.median() or 0.0)  # type: ignore[arg-type]


def percentile(table: pl.DataFrame, share: float) -> float:
    """What so many percent of the round trips are no longer than."""
    return float(table["rtt_ms"].quantile(share / 100, "linear") or 0.0)


def lost_percent(table: pl.DataFrame) -> float:
    """Of a hundred probes."""
    return 100.0 * table["rtt_ms"].null_count() / table.height


def mean_run(table: pl.DataFrame) -> float:
    """Probes that are lost in a row."""
    rows, _ = epochs(table, 12.0)
    return float(runs(rows)["length"].mean() or 0.0)  # type: ignore[arg-type]


if __name__ == "__main__":
    if "--fit" in sys.argv:
        fit_all()
    else:
        table = judge()
        table.write_csv(HERE / "distance.csv", float_precision=3)
        with pl.Config(tbl_rows=-1, tbl_width_chars=140, fmt_str_lengths=60):
            print(table)
