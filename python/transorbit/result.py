"""The result of a run: summary, tables, plots, and the result folder."""

from __future__ import annotations

import io
import json
import platform
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit import _convert, _core, _figures, _files, _folder, _hash, _inputs, _notebook
from transorbit._frame import frame, signed, write_parquet
from transorbit._summary import Summary, json_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    import polars as pl
    from matplotlib.figure import Figure


class Result:
    """The outcome of one run.

    Attributes:
        scenario_toml: the scenario with every default filled in, which names its files as the result folder has them;
            running it again gives the same digest.
        provenance: version, seed, hashes of scenario and inputs, machine and wall time.
        offers: of an emulation, the packets that entered it: nanoseconds, flow, bytes, class, end, mark.
        captures: files with the packets by place ("sender", "satellite", "receiver"), if the scenario records them.
        logs: qlog files of QUIC by flow and end ("flow-0-sender"), if the scenario records them.
    """

    def __init__(
        self,
        *,
        summary: Summary,
        scenario_toml: str,
        provenance: dict[str, Any],
        read_table: Callable[[str], pl.DataFrame],
        captures: dict[str, Path] | None = None,
        logs: dict[str, Path] | None = None,
        read_inputs: Callable[[], tuple[_inputs.Input, ...]] = tuple,
        watched: bool = False,
        read_plugins: Callable[[], tuple[_inputs.Input, ...]] = tuple,
    ) -> None:
        self._summary = summary
        self.scenario_toml = scenario_toml
        self.provenance = provenance
        self.captures = captures or {}
        self.logs = logs or {}
        self._read_inputs = read_inputs
        self._read_plugins = read_plugins
        self.offers: pl.DataFrame | None = None
        self._scratch: _folder.Scratch | None = None
        self._read_table = read_table
        self._watched = watched

    @classmethod
    def from_record(
        cls,
        record: _core.Record,
        *,
        scenario_toml: str,
        provenance: dict[str, Any],
        scratch: _folder.Scratch | None = None,
        inputs: Sequence[_inputs.Input] = (),
        watched: bool = False,
        plugins: Sequence[_inputs.Input] = (),
    ) -> Result:
        """From what the core recorded; `scratch` holds the packets."""
        tables = {"flows": record.flows, "series": record.series}
        if watched:
            tables |= {"events": record.events, "packets": record.packets}
        result = cls(
            summary=Summary.of(record),
            scenario_toml=scenario_toml,
            provenance=provenance,
            read_table=lambda name: frame(tables[name]()),
            watched=watched,
            captures=_captures(scratch.path) if scratch else None,
            logs=_logs(scratch.path) if scratch else None,
            read_inputs=lambda: tuple(inputs),
            read_plugins=lambda: tuple(plugins),
        )
        result._scratch = scratch
        return result

    @classmethod
    def load(cls, directory: str | Path) -> Result:
        """Open a folder that `save` wrote.

        Its tables are read when they are first asked for.

        Raises:
            OSError: it is not there, or not a result folder.
            ScenarioError: a file in it is damaged; also of a table that is asked for.
        """
        directory = Path(directory)
        if not directory.exists():
            _folder.put_back(directory)
        if not (directory / "summary.json").is_file():
            what = "has no summary.json" if directory.is_dir() else "no such folder"
            raise FileNotFoundError(f"{directory}: {what}: the folder of a result is expected")

        def read_table(name: str) -> pl.DataFrame:
            import polars as pl

            with _files.naming(directory):
                return signed(pl.read_parquet(directory / f"{name}.parquet"))

        with _files.naming(directory):
            provenance = json.loads((directory / "provenance.json").read_text(encoding="utf-8"))
            summary = Summary.read(directory / "summary.json")
            scenario_toml = (directory / "scenario.toml").read_text(encoding="utf-8")
        result = cls(
            summary=summary,
            scenario_toml=scenario_toml,
            provenance=provenance,
            read_table=read_table,
            captures=_captures(directory),
            logs=_logs(directory),
            read_inputs=lambda: _inputs.read(provenance, directory),
            read_plugins=lambda: _inputs.read(provenance, directory, "plugins"),
        )
        if (directory / "offers.parquet").is_file():
            result.offers = read_table("offers")
        return result

    @property
    def summary(self) -> dict[str, Any]:
        """The numbers of the run, and a dictionary for each of its `flows`; `docs/definitions.md` has keys and units.

        It is made when it is first asked for; what is changed in it is saved. Of many flows that takes long and much
        memory, where `numbers`, `flows` and `reports` take little.
        """
        return self._summary.whole

    @summary.setter
    def summary(self, summary: dict[str, Any]) -> None:
        self._summary = Summary(summary)

    @property
    def numbers(self) -> dict[str, Any]:
        """The summary without `flows`."""
        return self._summary.numbers

    @property
    def title(self) -> str:
        """The scenario's title."""
        return str(self.numbers["title"])

    @property
    def partial(self) -> bool:
        """Whether the run was stopped before its end."""
        return bool(self.numbers.get("partial", False))

    @property
    def goodput_bps(self) -> float:
        """Bits per second that all flows together delivered to their applications, over the simulated time."""
        simulated_s: float = self.numbers["simulated_s"]
        return 8 * int(self.flows["delivered_bytes"].sum()) / simulated_s if simulated_s else 0.0

    @cached_property
    def inputs(self) -> tuple[_inputs.Input, ...]:
        """The files that the scenario names, with their contents; of a result folder, as they are there now."""
        return self._read_inputs()

    @cached_property
    def plugins(self) -> tuple[_inputs.Input, ...]:
        """The sources of the schedulers, controllers and traffic sources in Python that the run called; only text."""
        return self._read_plugins()

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row for each flow, with the columns of the summary's `flows`."""
        return self._read_table("flows")

    def reports(self, report: str) -> pl.DataFrame:
        """One row for each flow that has a report: `flow`, its number, and the numbers of the report.

        Args:
            report: the key of a report in the flows of the summary, as "voice", "web" or "pep".

        Raises:
            ValueError: there is no such report.
        """
        return self._summary.reports(report)

    @cached_property
    def series(self) -> pl.DataFrame:
        """One row for each flow and interval: window, delays, goodput, queue, channel and HARQ outcome."""
        return self._read_table("series")

    @cached_property
    def events(self) -> pl.DataFrame:
        """Of a run that was watched, handovers, time-outs and losses: `time_s`, `event`, `cause`, `flow`, `number`.

        `cause` is the drop reason of a loss. `flow` and `number` are those of `packets`, null where an event has none.
        At most 100,000; it is not part of the result folder.

        Raises:
            ValueError: the run was not watched.
        """
        return self._of_watch("events")

    @cached_property
    def packets(self) -> pl.DataFrame:
        """Of a run that was watched, the packets that were sent in the span.

        `number` in the run, `flow`, `way`, `sequence` (of the first byte, or the one that is acknowledged), `bytes`,
        `transmission`, `sent_s`, `satellite_s` (at the satellite that serves the users), `ended_s`, and `fate`:
        "delivered", "in flight", or the drop reason. At most 200,000; it is not part of the result folder.

        Raises:
            ValueError: the run was not watched.
        """
        return self._of_watch("packets")

    def _of_watch(self, name: str) -> pl.DataFrame:
        if not self._watched:
            raise ValueError(f"{name} are kept where somebody asks: Scenario.run(watch=(10, 12)), seconds of the run")
        return self._read_table(name)

    def plot(self, name: str = _figures.OVERVIEW, **options: Any) -> Figure:
        """Draw a figure, such as "goodput", "window", "harq", "goodput-by-user" or "timeline"; by default an overview.

        Args:
            name: one of `transorbit.plots.ALL` or `CLOSE`.
            options: `width` in inches, `title` ("" for none), and what `plots.timeline` and `plots.sequence` have.

        Raises:
            KeyError: there is no such plot.
            ScenarioError: the plot has no such option.
            ValueError: the run has nothing to show in it, such as "harq" without a fading channel.
        """
        figure: Figure | None = _figures.plots().draw(name, self, **options)
        if figure is None:
            raise ValueError(f"{name}: {_figures.plots().nothing_to_show(name, self)}")
        return figure

    def to_pandas(self, table: str = "series") -> Any:
        """A table as a `pandas.DataFrame`: "series" or "flows".

        Raises:
            ValueError: there is no such table.
            ImportError: pandas is not installed.
        """
        if table not in {"series", "flows"}:
            raise ValueError(f'table: {table!r} was given, "series" or "flows" is expected')
        return _convert.to_pandas(self.series if table == "series" else self.flows)

    def to_xarray(self) -> Any:
        """The series as an `xarray.Dataset` over `time_s` and `flow`; labels and units are attributes.

        Raises:
            ImportError: xarray is not installed.
        """
        origin = {"title": self.title, "seed": self.numbers["seed"], "digest": self.numbers["digest"]}
        return _convert.to_xarray(self.series, ("time_s", "flow"), origin)

    def save(self, directory: str | Path, *, plots: bool | None = None) -> Path:
        """Write the result folder: scenario, inputs, summary, tables, packets, provenance and plots.

        The folder appears whole or not at all, and replaces an earlier result; the plots follow in the same manner.

        Args:
            directory: the folder.
            plots: True draws every plot, as SVG and PNG; False none, and by default there is one picture, the overview.

        Raises:
            FileExistsError: `directory` holds something that is not a result.
            OSError: it cannot be written.
        """
        directory = Path(directory)
        self._write(directory)
        self._draw(directory, plots=plots)
        return directory

    def _write(self, directory: Path, choose: Callable[[], Path] | None = None) -> None:
        """Write the result folder without plots; `choose` as of `_folder.replacing`."""
        with _folder.replacing(directory, choose=choose) as fresh:
            (fresh / "scenario.toml").write_text(self.scenario_toml, encoding="utf-8")
            with (fresh / "summary.json").open("w", encoding="utf-8") as written:
                self.write_summary(written)
            (fresh / "provenance.json").write_text(json_of(self.provenance), encoding="utf-8")
            _inputs.write((*self.inputs, *self.plugins), fresh)
            write_parquet(self.flows, fresh / "flows.parquet")
            write_parquet(self.series, fresh / "series.parquet")
            if self.offers is not None:
                write_parquet(self.offers, fresh / "offers.parquet")
            for file in self.captures.values():
                _folder.keep(file, fresh)
            if self.logs:
                (fresh / "qlog").mkdir()
            for file in self.logs.values():
                _folder.keep(file, fresh / "qlog")
            if self.partial:
                (fresh / "PARTIAL").write_text(
                    f"Stopped by the user at {self.numbers['simulated_s']:g} s of simulated time.\n", encoding="utf-8"
                )

    def write_summary(self, file: TextIO) -> None:
        """Write the summary as indented JSON; where there are more than 100 flows, each is on a line of its own."""
        self._summary.write(file)

    def _draw(self, directory: Path, *, plots: bool | None) -> None:
        """Put the plots into a result folder that is there."""
        if plots:
            self.save_plots(directory / "plots")
        elif plots is None:
            _save_overview(self, directory / "plots")

    def save_plots(self, directory: str | Path) -> Path:
        """Write every plot that the run has something to show in, as SVG and PNG."""
        plots = _figures.plots()
        figures = {name: figure for name in plots.ALL if (figure := plots.draw(name, self)) is not None}
        directory = Path(directory)
        if figures:
            with _folder.replacing(directory) as fresh:
                for name, figure in figures.items():
                    plots.write(figure, fresh / name)
        return directory

    def __reduce__(self) -> tuple[Callable[..., Result], tuple[Any, ...]]:
        """A pickle has what `save` keeps, and what was watched; of packets in a folder it has the names.

        Raises:
            TypeError: packets or logs are in no folder yet.
        """
        if self._scratch is not None and (self.captures or self.logs):
            raise TypeError("a result whose packets are not saved has no pickle: Result.save and Result.load keep them")
        summary = io.StringIO()
        self.write_summary(summary)
        names = ("flows", "series", "events", "packets") if self._watched else ("flows", "series")
        tables = {name: getattr(self, name) for name in names}
        files = {
            kind: {name: file.absolute() for name, file in there.items()}
            for kind, there in (("captures", self.captures), ("logs", self.logs))
        }
        return _unpickled, (
            summary.getvalue(), self.scenario_toml, self.provenance, tables, files, self.inputs, self.plugins,
            self.offers, self._watched,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        return _notebook.of_result(self)

    def __repr__(self) -> str:
        marks = ", partial" if self.partial else ""
        return f"Result({self.title!r}, seed={self.numbers['seed']}, digest={self.numbers['digest']!r}{marks})"


def _unpickled(
    summary: str,
    scenario_toml: str,
    provenance: dict[str, Any],
    tables: dict[str, pl.DataFrame],
    files: dict[str, dict[str, Path]],
    inputs: tuple[_inputs.Input, ...],
    plugins: tuple[_inputs.Input, ...],
    offers: pl.DataFrame | None,
    watched: bool,
) -> Result:
    """The result of what `Result.__reduce__` gives."""
    result = Result(
        summary=Summary(json.loads(summary)),
        scenario_toml=scenario_toml,
        provenance=provenance,
        read_table=tables.__getitem__,
        read_inputs=lambda: inputs,
        read_plugins=lambda: plugins,
        watched=watched,
        **files,
    )
    result.offers = offers
    return result


def provenance(
    scenario_toml: str,
    seed: int,
    wall_s: float,
    inputs: Sequence[_inputs.Input] = (),
    plugins: Sequence[_inputs.Input] = (),
) -> dict[str, Any]:
    """Where a result comes from."""
    own = {"plugins": _inputs.described(plugins)} if plugins else {}
    return {
        "transorbit": _core.version(),
        "seed": seed,
        "scenario_sha256": _hash.sha256(scenario_toml),
        "inputs": _inputs.described(inputs),
        **own,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "wall_s": round(wall_s, 3),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def _save_overview(result: Result, directory: Path) -> None:
    plots = _figures.plots()
    if (figure := plots.overview(result)) is not None:
        with _folder.replacing(directory) as fresh:
            plots.save(figure, fresh / f"{_figures.OVERVIEW}.png")


def _captures(directory: Path) -> dict[str, Path]:
    files = sorted(directory.glob("packets-*.pcapng"))
    return {file.stem.removeprefix("packets-"): file for file in files}


def _logs(directory: Path) -> dict[str, Path]:
    return {file.stem: file for file in sorted((directory / "qlog").glob("*.sqlog"))}
