"""Scenarios: what to simulate, read from TOML, changed by key, run to a result."""

from __future__ import annotations

import dataclasses
import json
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit import _content, _core, _files, _folder, _hash, _inputs, _interrupt, _notebook, _steps, _values, plugins
from transorbit.result import Result, provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# No step is a larger share of the run, also where little happens at first.
_LARGEST_STEP = 0.01


class Interrupted(KeyboardInterrupt):
    """A run was stopped with Ctrl-C; `result` holds what it had until then, marked partial if that is not all."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"stopped at {result.numbers['simulated_s']:g} s of simulated time")
        self.result = result


@dataclasses.dataclass(frozen=True)
class _Written:
    """What a scenario was made from: the arguments of the core's `from_toml`, and those of each change since."""

    text: str
    base_dir: str
    files: Mapping[str, bytes] | None = None
    recorded: Mapping[str, str] | None = None
    changes: tuple[tuple[str, ...], ...] = ()

    def core(self) -> _core.Scenario:
        """Returns the scenario.

        Raises:
            ScenarioError: the text is not TOML.
        """
        core = _core.Scenario.from_toml(self.text, self.base_dir, self.files, self.recorded)
        for change in self.changes:
            core = _changed(core, change)
        return core

    def anywhere(self) -> _Written:
        """Returns the same with a folder that does not depend on where the process is."""
        return dataclasses.replace(self, base_dir=str(Path(self.base_dir).absolute()))


class Scenario:
    """A path, a channel, a last hop and the flows over them.

    A scenario does not change: `replace` and `set` return changed copies. Quantities are text with a unit, as in the
    file.

    Two are equal if they describe the same run: `to_dict` gives the same, but for where the files are, and the files
    have the same contents. Two that are wrong are equal if they were written and changed alike. As the files may
    change, a scenario is not hashable: `identity` has hashes. A pickle has the names of files in a folder, and of files
    in memory the contents.
    """

    # As equal ones would need the same hash while their files change.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, core: _core.Scenario, written: _Written | None = None, plans: _core.Plans | None = None) -> None:
        if not isinstance(core, _core.Scenario) or written is None:
            raise TypeError("a scenario is made by Scenario.load(file or name) or Scenario.from_toml(text)")
        self._core = core
        self._written = written
        # Plans that runs of the same scenario share, whatever their seed; changed copies have them too.
        self._plans = plans or _core.Plans()

    @classmethod
    def load(cls, path: str | Path, *, outside: bool = False) -> Scenario:
        """Read a scenario file. Files that it names are found relative to its folder.

        Args:
            path: the file, or a name of `transorbit scenarios` such as "leo-tcp": what comes with the package.
            outside: whether the file may name files outside of its folder; those that `replace` and `set` name may be.

        In a result folder, a run warns of an input that is not what it was when the result was made.

        Raises:
            ScenarioError: the file is not a scenario, such as a sweep. Keys and values are judged by `check` and `run`.
            OSError: the file cannot be read.
        """
        path = _content.find(path)
        text = _files.read_text(path)
        _check_file(path, text, outside=outside)
        try:
            return cls._of(_Written(text, str(path.parent), None, _inputs.recorded(path.parent)))
        except _core.ScenarioError as error:
            raise _core.ScenarioError(f"{path}: {error}") from None

    @classmethod
    def from_toml(cls, text: str, *, base_dir: str | Path = ".", files: Mapping[str, bytes] | None = None) -> Scenario:
        """Read a scenario from TOML text.

        Args:
            text: the scenario.
            base_dir: the folder that the names of files start from.
            files: contents by name, of all files that the scenario names: nothing is read from a folder then.

        Raises:
            ScenarioError: the text is not TOML, or no scenario.
        """
        return cls._of(_Written(text, str(base_dir), None if files is None else dict(files)))

    @classmethod
    def of(cls, result: Result) -> Scenario:
        """The scenario of a result, with the inputs that the result has: running it gives the same digest.

        A run warns of an input that is not what it was when the result was made.
        """
        files = {each.kept: each.contents for each in result.inputs}
        recorded = {each.kept: each.sha256 for each in result.inputs}
        return cls._of(_Written(result.scenario_toml, ".", files, recorded))

    @classmethod
    def _of(cls, written: _Written) -> Scenario:
        return cls(written.core(), written)

    @property
    def title(self) -> str:
        """The scenario's title."""
        return self._core.title()

    def replace(self, changes: Mapping[str, object]) -> Scenario:
        """A copy with other values: keys are dotted paths (`flows.0.count`), tables replace tables.

        Numbers and arrays of numpy count as Python's own, a `Path` as its name.

        Raises:
            ScenarioError: an entry that a list does not have, or a seed that is none. Other keys and values are judged
                by `check` and `run`: a scenario may be wrong between several changes.
        """
        given: list[tuple[str, ...]] = []
        for path, value in _values.table("changes", changes).items():
            if path == "seed":
                _values.whole(path, value, 0, _values.LARGEST_SEED)
            _values.bounded(path, value)
            try:
                text = json.dumps(value, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise _core.ScenarioError(f"{path}: {value!r} is no value for a scenario: {error}") from None
            given.append((path, text))
        return self._with(given)

    def set(self, *assignments: str) -> Scenario:
        """A copy with other values, given as the command line does: `channel.reference_snr=7 dB`."""
        return self._with((assignment,) for assignment in assignments)

    def _with(self, changes: Iterable[tuple[str, ...]]) -> Scenario:
        core, done = self._core, []
        for change in changes:
            core = _changed(core, change)
            done.append(change)
        written = dataclasses.replace(self._written, changes=(*self._written.changes, *done))
        return Scenario(core, written, self._plans)

    def check(self) -> None:
        """Raise `ScenarioError` where a key, a unit or a value is wrong."""
        self._core.check(plugins.REGISTRY.names())

    def warnings(self) -> list[str]:
        """Returns what to check before trusting a result, as far as it is known without a run."""
        return self._core.warnings(self._plans)

    def to_toml(self) -> str:
        """The scenario with every default filled in: runs the same, whatever later defaults are."""
        return self._core.resolved_toml(self._plans)

    def to_dict(self) -> dict[str, Any]:
        """As `to_toml`, in tables; quantities are text with a unit."""
        return tomllib.loads(self.to_toml())

    def identity(self, seed: int | None = None) -> dict[str, object]:
        """What tells a result of this scenario from others: hashes of scenario and seed, and of the user's code.

        Raises:
            ScenarioError: the scenario is wrong.
        """
        toml, _ = self._core.kept(_values.seed(seed), self._plans)
        own = [each.sha256 for each in plugins.kept(plugins.used(toml))]
        return {"scenario_sha256": _hash.sha256(toml), "plugins": own}

    def run(
        self,
        *,
        seed: int | None = None,
        progress: Callable[[float], None] | None = None,
        scratch: str | Path | None = None,
        watch: tuple[float, float] | None = None,
    ) -> Result:
        """Simulate to the end.

        A scheduler or congestion controller of kind `external` and traffic of kind `script` are what
        `transorbit.scheduler`, `transorbit.controller` and `transorbit.source` have registered under the name; what
        they raise ends the run. The same scenario and seed give the same result on any computer. Other Python threads
        run meanwhile.

        Args:
            seed: replaces the scenario's own.
            progress: called repeatedly with the share of the simulated time that has passed, 0 to 1; by default a
                notebook has a bar.
            scratch: where the packets of a scenario with `record.packets` are written until the result is saved: on the
                disk of the result, ideally. By default the system's folder for temporary files.
            watch: keeps `Result.events`, and as `Result.packets` those that are sent from the first second on and
                before the second one; at most 100,000 events and 200,000 packets, later ones are left out. It changes
                nothing else.

        Raises:
            ScenarioError: the scenario is wrong.
            OSError: the packets cannot be written.
            Interrupted: Ctrl-C; its `result` is what was simulated until then, also where that is all. A second Ctrl-C
                leaves none.
        """
        span = None if watch is None else _span(watch)
        session = Started(self, _values.seed(seed), scratch)
        if span is not None:
            session.watch(*span)
        with _interrupt.held() as interrupted:
            try:
                with plugins.blamed(session._plugins):
                    _advance(session.simulation, progress or _notebook.bar())
            except KeyboardInterrupt:
                if session.simulation.failed:
                    # A second Ctrl-C, within the user's code.
                    raise
                partial = session.simulation.now_s < session.simulation.duration_s
                raise Interrupted(session.result(partial=partial)) from None
            result = session.result()
        if interrupted.is_set():
            raise Interrupted(result)
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        if self is other:
            return True
        mine, others = self._described(), other._described()
        return mine == others if mine or others else self._written.anywhere() == other._written.anywhere()

    def _described(self) -> tuple[str, list[tuple[str, str]]] | None:
        """The scenario as a result keeps it, and the hashes of its files by name; None of one that is wrong."""
        try:
            toml, kept = self._core.kept(None, self._plans)
        except _core.ScenarioError:
            return None
        return toml, [(name, sha256) for _, name, sha256, _ in kept]

    def __copy__(self) -> Scenario:
        return self

    def __deepcopy__(self, memo: object) -> Scenario:
        return self

    def __reduce__(self) -> tuple[Callable[[_Written], Scenario], tuple[_Written]]:
        return Scenario._of, (self._written.anywhere(),)

    def _repr_html_(self) -> str:
        return _notebook.of_scenario(self)

    def __repr__(self) -> str:
        try:
            return f"Scenario({self.title!r})"
        except _core.ScenarioError as error:
            return f"Scenario(<{error}>)"


def _changed(core: _core.Scenario, change: tuple[str, ...]) -> _core.Scenario:
    """A copy with a value of `replace`, as path and JSON, or with an assignment of `set`."""
    return core.replace(*change) if len(change) == 2 else core.set_toml(*change)


def opened(given: Scenario | str | Path) -> Scenario:
    """A scenario as it is, or the one of a file or name.

    Raises:
        ScenarioError: it is neither, or the file is no scenario.
        OSError: the file cannot be read.
    """
    if isinstance(given, Scenario):
        return given
    if not isinstance(given, str | Path):
        raise _core.ScenarioError(f"scenario: {given!r} was given, a scenario or its file is expected")
    return Scenario.load(given)


def _span(watch: object) -> tuple[float, float]:
    """The seconds of the run that are watched.

    Raises:
        ValueError: they are none.
    """
    match _values.plain(watch):
        case [int() | float() as first, int() | float() as last] if 0 <= first <= last:
            return first, last
    raise ValueError(f"watch: {watch!r} was given, two times are expected: seconds from 0 on, and not before them")


def _check_file(path: Path, text: str, *, outside: bool) -> None:
    """Raise `ScenarioError` for the file of a sweep, and, unless `outside`, for names that lead out of its folder."""
    try:
        table = _files.toml(text)
    except _core.ScenarioError:
        # The core says better where it is no TOML.
        return
    if "scenario" in table:
        raise _core.ScenarioError(f"{path}: is a sweep: Sweep.load opens it")
    if outside:
        return
    try:
        _files.confined(table, path.parent)
    except _core.ScenarioError as error:
        raise _core.ScenarioError(f"{path}: {error}") from None


class Started:
    """A run that has begun: its simulation, and its result. The arguments are those of `Scenario.run`."""

    def __init__(self, scenario: Scenario, seed: int | None = None, scratch: str | Path | None = None) -> None:
        self._at = time.perf_counter()
        own = plugins.REGISTRY
        with plugins.blamed(own):
            self.simulation = scenario._core.simulation(seed, own.find, scenario._plans, own.names())
        # As they are when the run begins: a cell may be run again meanwhile.
        self._plugins = plugins.kept(plugins.used(self.simulation.kept()[0]))
        self._packets: _folder.Scratch | None = None
        self._watched = False
        if self.simulation.wants_packets:
            self._packets = _folder.Scratch(Path(scratch) if scratch else None)
            self.simulation.record_packets(self._packets.path)

    def watch(self, from_s: float, until_s: float) -> None:
        """Keep events and sent packets from `from_s` to `until_s`."""
        self.simulation.watch(from_s, until_s)
        self._watched = True

    def result(self, *, partial: bool = False) -> Result:
        """Returns the result of the run."""
        with plugins.blamed(self._plugins):
            record = self.simulation.finish(partial)
        toml, kept = self.simulation.kept()
        inputs = _inputs.of_core(kept)
        origin = provenance(toml, self.simulation.seed, time.perf_counter() - self._at, inputs, self._plugins)
        return Result.from_record(
            record,
            scenario_toml=toml,
            provenance=origin,
            scratch=self._packets,
            inputs=inputs,
            watched=self._watched,
            plugins=self._plugins,
        )


def schema() -> dict[str, Any]:
    """The JSON Schema of a scenario, for editors."""
    schema: dict[str, Any] = json.loads(_core.schema_json())
    return schema


def registries() -> list[dict[str, Any]]:
    """The choices of a scenario: `name`, `key` and `entries` of each extension point."""
    registries: list[dict[str, Any]] = json.loads(_core.registries_json())
    return registries


def _advance(simulation: _core.Simulation, progress: Callable[[float], None] | None) -> None:
    """Step to the end; after each step a progress bar moves and Ctrl-C is answered."""
    with _interrupt.between_steps() as check:
        for share in _steps.taken(simulation, largest=_LARGEST_STEP):
            check()
            if progress:
                progress(share)
