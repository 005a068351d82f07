"""What is read off each run: SQL over its flows, one number for each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transorbit._core import ScenarioError
from transorbit.sweep.axes import check_name, known_keys, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Metric:
    """A number of each run.

    Attributes:
        name: its column in the table of runs.
        sql: an expression of DuckDB's SQL: aggregates over columns of the run's flows, columns of the run bare.
        label: what a figure calls it.
        unit: of the number, perhaps empty.
    """

    name: str
    sql: str
    label: str
    unit: str

    @property
    def title(self) -> str:
        """Label and unit, as on a figure's axis."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


DEFAULT = {
    metric.name: metric
    for metric in (
        Metric("goodput_mbps", "sum(goodput_bps) / 1e6", "Goodput of all flows", "Mbit/s"),
        Metric("rtt_ms", "1000 * avg(rtt_mean_s)", "Mean RTT", "ms"),
        Metric("delay_ms", "1000 * avg(one_way_delay_mean_s)", "Mean one-way delay", "ms"),
        Metric(
            "retransmitted_percent",
            "100 * sum(retransmitted_packets) / nullif(sum(sent_packets), 0)",
            "Packets sent again",
            "%",
        ),
        Metric("jain", '"users.jain"', "Jain index of the users' goodput", ""),
    )
}


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

    def reached(self, mean: float, half_width: float) -> bool:
        """Whether an interval is narrow enough."""
        return half_width <= self.half_width * (abs(mean) if self.relative else 1)

    def more(self, mean: float, half_width: float, count: int) -> int:
        """How many replications to look at next: what the spread up to now asks for, at most twice as many."""
        if not half_width > 0:
            # Fewer than two values: nothing is known of the spread.
            return min(self.most, 2 * count)
        target = self.half_width * (abs(mean) if self.relative else 1)
        needed = count * (half_width / target) ** 2 if target > 0 else float("inf")
        return min(self.most, 2 * count, max(count + 1, int(min(needed, self.most)) + 1))


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
    found = quantity(width)
    relative = bool(found and found[1] == "%")
    number = float(found[0]) / 100 if found and relative else width
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < float("inf"):
        raise ScenarioError(f'{where}: {width!r} must be a share of the mean, as in "2 %", or a number more than zero')
    if type(most) is not int or not 2 <= most <= 1000:
        raise ScenarioError(f"precision.most: {most!r} must be a whole number from 2 to 1000")
    return Precision(metric, float(number), relative, most)


def _metric(where: str, name: str, entry: object) -> Metric:
    table: dict[str, Any] = entry if isinstance(entry, dict) else {"sql": entry}
    known_keys(f"{where}.", table, ["sql", "label", "unit"])
    if "sql" not in table:
        raise ScenarioError(f"{where}.sql: is missing")
    for key, value in table.items():
        if not isinstance(value, str):
            raise ScenarioError(f"{where}{'' if table is not entry else f'.{key}'}: must be a text")
    sql = table["sql"].strip()
    if not sql:
        raise ScenarioError(f"{where}: has no SQL")
    return Metric(name, sql, table.get("label", name), table.get("unit", ""))
