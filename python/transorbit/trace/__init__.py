"""Measured paths: read other programs' measurements, look at a path over time, fit a model to one."""

from __future__ import annotations

import importlib
import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit._ask import ask_table
from transorbit._core import ScenarioError
from transorbit._frame import write_parquet

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from transorbit.trace.calibrate import Fit, fit
    from transorbit.trace.measurement import Measurement

__all__ = ["Fit", "Measurement", "course", "csv_of_parquet", "fit", "read", "summary", "write"]
_WITHIN = {"Fit": "calibrate", "fit": "calibrate", "Measurement": "measurement"}


def __getattr__(name: str) -> Any:
    """Imports a name whose library takes its time to load, once it is asked for."""
    if name not in _WITHIN:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"transorbit.trace.{_WITHIN[name]}"), name)


def read(
    path: str | Path,
    *,
    up: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    step_s: float | None = None,
) -> Measurement:
    """Read somebody's measurement, whatever program wrote it: its contents show which.

    Known are logs of ping (also as LENS has them), irtt's and iperf3's JSON, mahimahi's packet-delivery traces,
    Hypatia's round trips, the status of a Starlink dish, and tables (CSV, Parquet) whose header names quantities and
    units.

    Args:
        path: the file.
        up: mahimahi's trace of the other direction.
        columns: what the columns of a table are, as `{"rtt_ms": "ping_avg"}`, where its header says it otherwise.
        step_s: the time in which mahimahi's packets are counted, by default 10 ms; and between the probes of a ping
            without timestamps, by default the value in its last lines, or 1 s.

    Raises:
        ScenarioError: the file is none of these, or a line of it is wrong.
        OSError: the file cannot be read.
    """
    from transorbit.trace import mahimahi, readers

    measurement = readers.read(str(path), Path(path).read_bytes(), columns or {}, step_s)
    if up is None:
        return measurement
    other = readers.read(str(up), Path(up).read_bytes(), {}, step_s)
    if [*measurement.table.columns, *other.table.columns] != ["time_s", "rate_down_mbps"] * 2:
        raise ScenarioError(f"{up}: a second direction is read of mahimahi's traces alone")
    return mahimahi.both_directions(measurement, other, str(up))


def write(measurement: Measurement, path: str | Path) -> None:
    """Write a measurement as the file of a path: a table, or Parquet if the name ends so."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        write_parquet(measurement.table, path)
    else:
        path.write_text(measurement.table.write_csv(), encoding="utf-8", newline="")


def csv_of_parquet(contents: bytes) -> bytes:
    """The table of a Parquet file as comma-separated text, which the core reads."""
    import polars as pl

    try:
        table = pl.read_parquet(io.BytesIO(contents))
    except Exception as error:  # polars raises several kinds
        raise ScenarioError(f"no Parquet file: {str(error).splitlines()[0]}") from None
    flat = [name for name, kind in table.schema.items() if not kind.is_nested()]
    return table.select(flat).write_csv().encode()


def course(
    path: Mapping[str, Any],
    *,
    duration_s: float | None = None,
    step_s: float | None = None,
    seed: int = 1,
    base_dir: str | Path = ".",
) -> pl.DataFrame:
    """What packets meet on a path over time, as a run with this seed has it.

    Args:
        path: as a scenario's `path`.
        duration_s: by default to the end of what was measured.
        step_s: time between rows; by default there is one wherever something is known.
        seed: of the run.
        base_dir: the folder that the names of files start from.

    Returns:
        `time_s`, `delay_down_s`, `delay_up_s`, `rate_down_bps`, `rate_up_bps`, `loss_down`, `loss_up`; empty where the
        path has none.

    Raises:
        ScenarioError: names the key of the path that is wrong.
    """
    asked: dict[str, Any] = {"duration_s": duration_s, "step_s": step_s, "seed": seed}
    file = Path(base_dir) / str(path.get("file", ""))
    if not file.is_file() or file.read_bytes()[:4] != b"PAR1":
        return ask_table("path.course", base_dir=base_dir, path=dict(path), **asked).fill_nan(None)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / file.name).write_bytes(csv_of_parquet(file.read_bytes()))
        return ask_table("path.course", base_dir=folder, path={**path, "file": file.name}, **asked).fill_nan(None)


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """The quantities of a course, in order of time: least, 5, 50, 95 % of the time and most, and the share without one.

    As in a run, delays are linear between two rows, and rates and losses hold until the next.
    """
    import polars as pl

    shown = table.select(
        "time_s",
        ((pl.col("delay_down_s") + pl.col("delay_up_s")) * 1e3).alias("round trip (ms)"),
        (pl.col("rate_down_bps") / 1e6).alias("rate down (Mbit/s)"),
        (pl.col("rate_up_bps") / 1e6).alias("rate up (Mbit/s)"),
        (pl.col("loss_down") * 100).alias("loss down (%)"),
        (pl.col("loss_up") * 100).alias("loss up (%)"),
    )
    lasts = shown["time_s"].diff().shift(-1).fill_null(0.0)
    at_instants = shown if shown.is_empty() else _at_instants(shown)
    rows = []
    for name in shown.columns[1:]:
        values, over_time = shown[name], at_instants[name]
        if values.null_count() == len(values):
            continue
        absent = float(lasts.filter(values.is_null()).sum()) / max(float(lasts.sum()), 1e-9)
        quantiles = [over_time.quantile(share, "linear") for share in (0.05, 0.5, 0.95)]
        rows.append((name, values.min(), *quantiles, values.max(), absent))
    names = ["quantity", "least", "p5", "median", "p95", "most", "absent_share"]
    return pl.DataFrame(rows, schema=names, orient="row")


# The instants of a summary: so many that a per mille of the time is told.
_INSTANTS = 20_000


def _at_instants(shown: pl.DataFrame) -> pl.DataFrame:
    """The quantities at instants of equal steps, the round trip linear between two rows."""
    import polars as pl

    first, last = shown["time_s"][0], shown["time_s"][-1]
    steps = pl.int_range(_INSTANTS, eager=True) / (_INSTANTS - 1)
    instants = pl.DataFrame({"at_s": first + (last - first) * steps})
    trip = pl.col("round trip (ms)")
    slope = (trip.shift(-1) - trip) / (pl.col("time_s").shift(-1) - pl.col("time_s"))
    held = instants.join_asof(
        shown.with_columns(slope=slope), left_on="at_s", right_on="time_s", strategy="backward", coalesce=False
    )
    since = pl.col("at_s") - pl.col("time_s")
    return held.with_columns(trip + pl.when(since > 0).then(pl.col("slope").fill_null(0.0) * since).otherwise(0.0))
