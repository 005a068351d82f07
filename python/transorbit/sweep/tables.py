"""From outcomes to tables: one row for each run, and one for each flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from transorbit._inputs import Input
    from transorbit.sweep.plan import Point
    from transorbit.sweep.store import Store
    from transorbit.sweep.work import Outcome

Member = tuple[int, int, str]

# Outcomes that are unpacked, and rows that are kept as such: a summary of many users is large.
_PART = 500
# Columns of every run, in this order, before those of its summary.
_ORIGIN = ("status", "error", "key", "scenario_sha256", "transorbit", "build", "created", "wall_s", "host")


def build(
    store: Store, members: Sequence[Member], points: Mapping[int, Point], inputs: Iterable[Input] = ()
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `runs`, without metrics, and `flows`, in the order of `members`.

    An input appears under its name in the scenario, not under the path from which it was read.
    """
    file_of = {each.sha256: each.file for each in inputs}
    axes = list(next(iter(points.values())).values) if points else []
    first = ["point", "replication", "seed", *axes]
    runs, flows = _Columns([*first, *_ORIGIN, "digest"]), _Columns(["key", *first, "flow"])
    for start in range(0, len(members), _PART):
        part = members[start : start + _PART]
        outcomes = {outcome.key: outcome for outcome in store.read(key for _, _, key in part)}
        for index, replication, key in part:
            outcome = outcomes[key]
            head = {"point": index, "replication": replication, "seed": outcome.seed, **points[index].values}
            _add(outcome, head, runs, flows, file_of)
    return runs.frame(), flows.frame()


def _add(
    outcome: Outcome, head: Mapping[str, Any], runs: _Columns, flows: _Columns, file_of: Mapping[str, str]
) -> None:
    """One run, and its flows."""
    row = {**head, **{name: getattr(outcome, name) for name in _ORIGIN}, "digest": None}
    if outcome.data is None:
        runs.add(row)
        return
    contents = outcome.contents()
    summary = contents["summary"]
    own = summary.pop("flows")
    summary["inputs"] = [f"{each['sha256']} {file_of.get(each['sha256'], each['file'])}" for each in summary["inputs"]]
    runs.add(row | _flat(summary))
    steady = contents.get("steady") or [{}] * len(own)
    first = {"key": outcome.key, **head}
    for flow, averages in zip(own, steady, strict=True):
        number = flow.pop("id")
        after = {f"steady_{name}": value for name, value in averages.items()}
        flows.add({**first, "flow": number, **_flat(flow), **after})


def _flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Values by dotted key."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{before}{key}.")
        else:
            flat[before + key] = value
    return flat


class _Columns:
    """A table that grows by rows whose keys may differ."""

    def __init__(self, first: Iterable[str]) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in first}
        self._count = 0
        # Added, and not in the columns yet: many rows are spread at once.
        self._rows: list[Mapping[str, Any]] = []

    def add(self, row: Mapping[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) == _PART:
            self._spread()

    def _spread(self) -> None:
        columns = self._columns
        for row in self._rows:
            if not row.keys() <= columns.keys():
                for name in row:
                    if name not in columns:
                        columns[name] = [None] * self._count
        for name, column in columns.items():
            column += [row.get(name) for row in self._rows]
        self._count += len(self._rows)
        self._rows.clear()

    def frame(self) -> pl.DataFrame:
        import polars as pl

        self._spread()
        return pl.DataFrame([_series(name, values) for name, values in self._columns.items()])


def _series(name: str, values: list[Any]) -> pl.Series:
    import polars as pl

    series = pl.Series(name, values, strict=False)
    if series.dtype == pl.Null:
        # A column with nulls only has no type, which other tools refuse; nearly all columns are numbers.
        return series.cast(pl.String if name in _TEXTS else pl.Float64)
    if series.dtype == pl.List(pl.Null):
        return series.cast(pl.List(pl.String))
    return series


# Texts that no run may have.
_TEXTS = frozenset({*_ORIGIN, "digest", "access_kind", "congestion"}) - {"wall_s"}
