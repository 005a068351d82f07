"""The metrics of each run: SQL over its flows, one number for each run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from transorbit import _columns
from transorbit._core import ScenarioError
from transorbit._values import whole
from transorbit.statistics import mean_interval
from transorbit.sweep.axes import check_name, known_keys, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from transorbit.statistics import Interval


@dataclass(frozen=True)
class Metric:
    """A number of each run.

    Attributes:
        name: its column in the table of runs.
        sql: an expression of DuckDB's SQL: aggregates over columns of the run's flows, columns of the run bare.
        label: what a figure calls it.
        unit: of the number, perhaps empty.
        limits: of its scale; None where it has no end. No interval of the mean leaves it.
    """

    name: str
    sql: str
    label: str
    unit: str
    limits: tuple[float | None, float | None] = (None, None)

    @property
    def title(self) -> str:
        """Label and unit, as on a figure's axis."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


# One aggregate of a column that stays within the scale of its values, perhaps in another unit.
_ON_SCALE = re.compile(
    r"""(?:(?P<times>\d+(?:\.\d+)?)\s*\*\s*)?
    (?:(?P<aggregate>sum|avg|mean|min|max|median|any_value|first|last|quantile(?:_cont|_disc)?)
    \(\s*(?P<column>"[^"]+"|\w+)\s*(?:,\s*[\d.]+\s*)?\)|"(?P<bare>[^"]+)")
    (?:\s*/\s*(?P<by>\d+(?:\.\d+)?(?:e\d+)?))?
    (?P<rate>\s*/\s*simulated_s)?""",
    re.VERBOSE | re.IGNORECASE,
)


def scale_of(sql: str) -> tuple[float | None, float | None]:
    """The ends of the scale of a metric that is an average, or the like, of one column of the record."""
    with_scale = _ON_SCALE.fullmatch(sql)
    if not with_scale or not float(with_scale["by"] or 1):
        return None, None
    factor = float(with_scale["times"] or 1) / float(with_scale["by"] or 1)
    low, high = _columns.limits((with_scale["column"] or with_scale["bare"]).strip('"'))
    if (with_scale["aggregate"] or "").lower() == "sum":
        # A sum of values that are 0 or more is 0 or more, and has no upper limit.
        low, high = (None if low is None or low < 0 else 0.0), None
    elif with_scale["rate"]:
        return None, None
    return None if low is None else low * factor, None if high is None else high * factor


DEFAULT = {
    metric.name: replace(metric, limits=scale_of(metric.sql))
    for metric in (
        # Not the sum of goodputs: a flow's is over its own time, and flows that have ended need not have run together.
        Metric("goodput_mbps", "8 * sum(delivered_bytes) / 1e6 / simulated_s", "Goodput of all flows", "Mbit/s"),
        Metric("rtt_ms", "1000 * avg(rtt_mean_s)", "Mean RTT", "ms"),
        Metric("delay_ms", "1000 * avg(one_way_delay_mean_s)", "Mean one-way delay", "ms"),
        Metric(
            "retransmitted_percent",
            # Of the flows that retransmit: datagrams are not sent again.
            "100 * sum(retransmitted_packets) / nullif(sum(sent_packets) FILTER (congestion IS NOT NULL), 0)",
            "Retransmitted packets",
            "%",
        ),
        Metric("jain", '"users.jain"', "Jain index of the users' goodput", ""),
    )
}


def told_limits(metric: Metric) -> dict[str, list[float | None]]:
    """The limits as a file has them: where they do not follow from the column."""
    return {} if metric.limits == scale_of(metric.sql) else {"limits": list(metric.limits)}


def read(table: object, axes: Mapping[str, str]) -> dict[str, Metric]:
    """The metrics of a sweep; `axes` has the names in lower case that are taken.

    Raises:
        ScenarioError: a metric is not one, or has the name of a column.
    """
    if table is None or table == {}:
        return {name: metric for name, metric in DEFAULT.items() if name not in axes}
    if not isinstance(table, dict):
        raise ScenarioError('metrics: must be a table: name = "SQL"')
    taken = dict(axes)
    metrics = {}
    for name, entry in table.items():
        where = f"metrics.{name}"
        check_name(where, name, taken)
        taken[name.casefold()] = "a metric"
        metrics[name] = _metric(where, name, entry)
    return metrics


@dataclass(frozen=True)
class Precision:
    """When a point has enough replications.

    Attributes:
        metric: whose interval is looked at.
        half_width: half the width that the 95 % interval may have, in the metric's unit or as a share of the mean.
        relative: whether it is a share.
        most: replications at most.
    """

    metric: str
    half_width: float
    relative: bool
    most: int

    def interval(self, values: pl.Series) -> Interval | None:
        """The interval of a point's values, of which some may be missing; None if they are no numbers."""
        import polars as pl

        known = values.drop_nulls()
        if not (known.dtype.is_numeric() or known.dtype == pl.Boolean):
            return None
        return mean_interval(known.cast(pl.Float64))

    def reached(self, interval: Interval) -> bool:
        """Whether an interval of two values or more is narrow enough."""
        return interval.count > 1 and interval.half_width <= self._target(interval.mean)

    def more(self, interval: Interval, count: int) -> int:
        """Returns the replications to look at next: as many as the spread so far asks for, at most twice as many."""
        if not interval.half_width > 0:
            # Fewer than two values: nothing is known of the spread.
            return min(self.most, 2 * count)
        target = self._target(interval.mean)
        needed = count * (interval.half_width / target) ** 2 if target > 0 else float("inf")
        return min(self.most, 2 * count, max(count + 1, int(min(needed, self.most)) + 1))

    def _target(self, mean: float) -> float:
        return self.half_width * (abs(mean) if self.relative else 1)


def read_precision(value: object, metrics: Mapping[str, Metric]) -> Precision | None:
    """The rule that ends the replications of a point.

    Raises:
        ScenarioError: it is none.
    """
    if value is None:
        return None
    table: dict[str, Any] = value if isinstance(value, dict) else {"half_width": value}
    known_keys("precision.", table, ["metric", "half_width", "most"])
    where = "precision.half_width" if isinstance(value, dict) else "precision"
    metric = table.get("metric", next(iter(metrics)))
    if not isinstance(metric, str) or metric not in metrics:
        raise ScenarioError(f"precision.metric: {metric!r} is no metric of the sweep (one of {', '.join(metrics)})")
    width, most = table.get("half_width"), table.get("most", 50)
    half_width = quantity(width)
    relative = bool(half_width and half_width[1] == "%")
    number = float(half_width[0]) / 100 if half_width and relative else width
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < float("inf"):
        raise ScenarioError(f'{where}: {width!r} must be a share of the mean, as in "2 %", or a number more than zero')
    return Precision(metric, float(number), relative, whole("precision.most", most, 2, 1000))


def _metric(where: str, name: str, entry: object) -> Metric:
    table: dict[str, Any] = entry if isinstance(entry, dict) else {"sql": entry}
    known_keys(f"{where}.", table, ["sql", "label", "unit", "limits"])
    if "sql" not in table:
        raise ScenarioError(f"{where}.sql: is missing")
    for key, value in table.items():
        if key != "limits" and not isinstance(value, str):
            raise ScenarioError(f"{where}{'' if table is not entry else f'.{key}'}: must be a text")
    sql = table["sql"].strip()
    if not sql:
        raise ScenarioError(f"{where}: has no SQL")
    limits = _limits(f"{where}.limits", table["limits"]) if "limits" in table else scale_of(sql)
    return Metric(name, sql, table.get("label", name), table.get("unit", ""), limits)


def _limits(where: str, given: object) -> tuple[float | None, float | None]:
    ends = [float(end) for end in given if type(end) in (int, float)] if isinstance(given, list) else []
    if len(ends) != 2 or given != ends or not ends[0] < ends[1]:
        raise ScenarioError(f"{where}: {given!r} must be the two ends of a scale, the lower one first, as in [1, 4.5]")
    return ends[0], ends[1]
