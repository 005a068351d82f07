"""Routes between all pairs of many stations: found in batches, written as Parquet."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit import _core, _folder, _hash
from transorbit._ask import as_json, given
from transorbit._frame import frame, write_parquet
from transorbit.constellation.about import as_text
from transorbit.constellation.places import as_csv, told
from transorbit.result import provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    import polars as pl

# Rows of a file, at least; the core finds at most 4e9.
_PART_ROWS = 400_000
_MOST_PARTS = 12_000
_LARGEST_IN_MEMORY = 50_000_000
# Columns of whole numbers, which the core returns as floating point.
_NUMBERS = ("hops", "first_satellite", "last_satellite", "node", "next_hop")


def folder() -> _folder.Kind:
    """The folder of routes."""
    tables = ("routes", "forwarding")
    parts = {f"{table}/{_part(number)}" for table in tables for number in range(_MOST_PARTS)}
    return _folder.Kind(
        name="routes",
        has=frozenset({"routes.json", "provenance.json"}),
        may_hold=frozenset({"routes.json", "provenance.json", "pairs.parquet", *tables, *parts}),
    )


def _part(number: int) -> str:
    return f"part-{number:05}.parquet"


class Routes:
    """The routes between all pairs of stations.

    Attributes:
        report: the parameters, the stations with their node numbers, how many rows there are, warnings.
        pairs: a row for each pair: `from`, `to`, `delay_min_s`, `delay_mean_s`, `delay_max_s`, `hops_min`, `hops_max`,
            `route_changes`, `reached_share` (share of the instants with a route).
        provenance: version, hash of the parameters, machine and wall time.
    """

    def __init__(
        self,
        *,
        report: dict[str, Any],
        pairs: pl.DataFrame,
        provenance: dict[str, Any],
        routes: pl.LazyFrame,
        forwarding: pl.LazyFrame | None,
    ) -> None:
        self.report = report
        self.pairs = pairs
        self.provenance = provenance
        self._routes = routes
        self._forwarding = forwarding

    def routes(self) -> pl.LazyFrame:
        """A row for each instant and pair, `from` before `to` in the list of stations; the way back is the same.

        Columns `time_s`, `from`, `to` (names), `one_way_delay_s`, `hops` (links between satellites), `first_satellite`
        and `last_satellite` (which serve `from` and `to`); the last four are null without a route.
        """
        return self._routes

    def forwarding(self) -> pl.LazyFrame:
        """The next hop of every node towards every station: all at the first instant, then what changes.

        Columns `time_s`, `node`, `to` (name) and `next_hop` (a node; null without a route). Satellites are nodes 0, 1,
        ...; the stations follow in their order.

        Raises:
            ValueError: the routes were found without `forwarding`.
        """
        if self._forwarding is None:
            raise ValueError("the next hops of all nodes are kept with forwarding=True only")
        return self._forwarding

    def between(self, one: str, other: str) -> pl.DataFrame:
        """The route of one pair over time, as the rows of `routes` seen from `one`."""
        import polars as pl

        swapped = {"from": "to", "to": "from", "first_satellite": "last_satellite", "last_satellite": "first_satellite"}
        names = [station["name"] for station in self.report["stations"]]
        for name in (one, other):
            if name not in names:
                raise _core.ScenarioError(f"stations: there is no {name!r}")
        first, second = sorted((one, other), key=names.index)
        rows = self._routes.filter((pl.col("from") == first) & (pl.col("to") == second)).collect()
        return rows if first == one else rows.rename(swapped).select(rows.columns)

    @staticmethod
    def load(directory: str | Path) -> Routes:
        """Read a folder that `routes` wrote. The tables stay on disk until they are collected."""
        import polars as pl

        directory = Path(directory)
        report: dict[str, Any] = json.loads((directory / "routes.json").read_text(encoding="utf-8"))
        has_forwarding = report["forwarding_rows"] is not None
        return Routes(
            report=report,
            pairs=pl.read_parquet(directory / "pairs.parquet"),
            provenance=json.loads((directory / "provenance.json").read_text(encoding="utf-8")),
            routes=pl.scan_parquet(directory / "routes" / "*.parquet"),
            forwarding=pl.scan_parquet(directory / "forwarding" / "*.parquet") if has_forwarding else None,
        )

    def __repr__(self) -> str:
        names = f"{self.report['constellation']!r}, {len(self.report['stations'])} stations"
        return f"Routes({names}, {self.report['instants']} instants)"


class _Keeper:
    """Takes the batches of a table: into numbered files of a folder, or into memory."""

    def __init__(self, directory: Path | None, stations: Sequence[str]) -> None:
        import polars as pl

        self._directory = directory
        self._names = pl.Enum(stations)
        self._waiting: list[pl.DataFrame] = []
        self._parts = 0
        if directory is not None:
            directory.mkdir()

    def take(self, core: Any) -> None:
        import polars as pl

        rows = frame(core)
        stations = [pl.col(name).cast(pl.UInt32).cat.to(self._names) for name in rows.columns if name in {"from", "to"}]
        numbers = [pl.col(name).cast(pl.Int64) for name in rows.columns if name in _NUMBERS]
        self._waiting.append(rows.with_columns(*stations, *numbers))
        if self._directory is not None and sum(map(len, self._waiting)) >= _PART_ROWS:
            self._write(self._directory)

    def kept(self) -> pl.LazyFrame:
        """The whole table; the last rows are written first."""
        import polars as pl

        if self._directory is None:
            return pl.concat(self._waiting).lazy()
        if any(map(len, self._waiting)) or not self._parts:
            self._write(self._directory)
        return pl.scan_parquet(self._directory / "*.parquet")

    def _write(self, directory: Path) -> None:
        import polars as pl

        # The delays hardly shrink: a quick compression is as good as a thorough one.
        write_parquet(pl.concat(self._waiting), directory / _part(self._parts), compression="lz4")
        self._waiting.clear()
        self._parts += 1


def routes(
    constellation: str | Mapping[str, Any],
    stations: str | Path | Mapping[str, Sequence[float]],
    *,
    duration_s: float = 200.0,
    step_s: float = 0.1,
    metric: str = "delay",
    access: str = "all",
    minimum_elevation_deg: float | None = None,
    forwarding: bool = False,
    keep_unseen: bool = False,
    threads: int | None = None,
    out: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    base_dir: str | PathLike[str] = ".",
    replace: bool = True,
) -> Routes:
    """The routes between all pairs of stations over a constellation, on a grid of time.

    Args:
        constellation: a name of `transorbit list constellations`, such as "starlink-shell-1", or what a scenario's
            `path.constellation` may be: `{"preset": "leo-66", "j2": True}`, `{"file": "iridium.tle"}`.
        stations: a CSV file with the header `name,latitude_deg,longitude_deg` and perhaps `altitude_m`; or names with
            (latitude, longitude) or (latitude, longitude, altitude) in degrees and metres.
        duration_s: how long, from the constellation's epoch.
        step_s: time between instants; the last one is the end.
        metric: "delay" for the least delay, "hops" for the fewest links between satellites.
        access: "all" if a route may begin and end at any satellite in view, "nearest" if at the nearest only.
        minimum_elevation_deg: elevation below which a satellite does not serve; by default the constellation's.
        forwarding: also find the next hop of every node towards every station, where it changes.
        keep_unseen: leave stations alone that never have a satellite in view, instead of refusing them.
        threads: the number of threads; by default the number of processors. The result is the same.
        out: write into this folder as it goes, so that memory holds a batch only; else all is kept in memory. The
            folder appears whole or not at all, and replaces earlier routes.
        progress: called repeatedly with the number of instants that are done, and of all.
        base_dir: the folder to which the constellation's names of files are relative.
        replace: whether routes of other options that `out` has may be replaced.

    Raises:
        ScenarioError: names the option that is wrong: `constellation`, `stations` (and its file or place), `step`, ...
        FileExistsError: `out` holds something that are not routes, or without `replace` other routes.
        OSError: the stations cannot be read, or the folder cannot be written.
    """
    search_began = time.perf_counter()
    options: dict[str, object] = {
        "constellation": as_text(constellation),
        "stations_csv": as_csv(stations),
        "duration_s": duration_s,
        "step_s": step_s,
        "metric": metric,
        "access": access,
        "minimum_elevation_deg": minimum_elevation_deg,
        "forwarding": forwarding,
        "keep_unseen": keep_unseen,
        "threads": threads,
    }
    search_options = {name: value for name, value in options.items() if name != "threads"}
    identity = {"options_sha256": _hash.sha256(as_json(search_options))}
    if out is not None:
        _folder.check_replaceable(Path(out), folder())
        if not replace and not _folder.is_of(Path(out), identity, "options_sha256"):
            raise FileExistsError(f"{out}: has routes of other options: choose another folder, or --force (`replace`)")
    with told(stations), given(options) as text:
        study = _core.RoutesStudy(text, base_dir)
    rows = study.instants * len(study.stations) * (len(study.stations) - 1) // 2
    if out is None and rows > _LARGEST_IN_MEMORY:
        raise _core.ScenarioError(f"out: {rows} rows are too many to be kept in memory: give a folder")
    with told(stations), _folder.replacing(Path(out), folder()) if out is not None else nullcontext() as fresh:
        keepers = [
            _Keeper(fresh / table if fresh else None, study.stations)
            for table in ("routes", *(["forwarding"] if forwarding else []))
        ]
        while study.done < study.instants:
            for keeper, batch in zip(keepers, study.advance() or (), strict=False):
                keeper.take(batch)
            if progress:
                progress(study.done, study.instants)
        tables = [keeper.kept() for keeper in keepers]
        report: dict[str, Any] = json.loads(study.report_json())
        parameters = json.dumps({key: value for key, value in report.items() if not key.endswith("rows")})
        origin = provenance(parameters, 0, time.perf_counter() - search_began)
        del origin["seed"]
        origin |= identity
        origin["parameters_sha256"] = origin.pop("scenario_sha256")
        pairs = _pairs(study)
        if fresh is None:
            only = tables[1] if forwarding else None
            return Routes(report=report, pairs=pairs, provenance=origin, routes=tables[0], forwarding=only)
        write_parquet(pairs, fresh / "pairs.parquet")
        for name, value in (("routes", report), ("provenance", origin)):
            text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
            (fresh / f"{name}.json").write_text(text, encoding="utf-8")
    return Routes.load(str(out))


def _pairs(study: _core.RoutesStudy) -> pl.DataFrame:
    import polars as pl

    names = pl.Enum(study.stations)
    stations = [pl.col(column).cast(pl.UInt32).cat.to(names) for column in ("from", "to")]
    return frame(study.pairs()).with_columns(*stations, pl.col("hops_min", "hops_max").cast(pl.Int64))
