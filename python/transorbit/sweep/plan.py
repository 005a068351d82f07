"""A sweep: a base scenario, what varies, and how often each point is run."""

from __future__ import annotations

import itertools
import json
import os
import reprlib
import tomllib
from dataclasses import dataclass, field
from dataclasses import replace as changed
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transorbit import _content, _files, _inputs, _values
from transorbit._core import ScenarioError
from transorbit._values import plain, whole
from transorbit.scenario import Scenario
from transorbit.sweep import axes, inputs, metrics, sql
from transorbit.sweep.axes import Axis, Group, Value, known_keys, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from transorbit.sweep.metrics import Metric, Precision

_KEYS = (
    "title", "scenario", "files", "seed", "replications", "set", "precision", "warm_up", "axes", "metrics", "only",
)  # fmt: skip
# What only the sweep has: a scenario has a title and a seed too, and `_settings` says why none sets the seed.
_OWN = frozenset(_KEYS) - {"title", "seed"}
LARGEST_SEED = 10**9
# Seeds of replications are MOST_REPLICATIONS * seed + r: those of two roots never meet.
MOST_REPLICATIONS = 1000
_MOST_POINTS = 1_000_000
_LOOKED_AT = 1000


@dataclass(frozen=True)
class Point:
    """One combination of the axes' values.

    Attributes:
        index: its number, from 0 in the order of the grid.
        values: by axis.
        changes: to the base scenario, by dotted key.
    """

    index: int
    values: dict[str, Value]
    changes: dict[str, Any]


@dataclass(frozen=True)
class Base:
    """The scenario that a sweep changes, as it was given, and the folder of the files that it names."""

    text: str | None
    table: dict[str, Any] | None
    folder: str

    def scenario(self) -> Scenario:
        """The scenario, not yet checked."""
        if self.text is not None:
            return Scenario.from_toml(self.text, base_dir=self.folder)
        return Scenario.from_toml("", base_dir=self.folder).replace(self.table or {})


@dataclass(frozen=True)
class SweepPlan:
    """Runs of a scenario over the grid of some axes, each point with the same seeds.

    Attributes:
        title: what the sweep calls itself.
        seed: the root, 0 to 10^9. Replication r of every point runs with seed 1000 * seed + r: common random numbers.
        replications: of each point; with `precision` the number to begin with.
        precision: when a point has enough replications; None if all have the same number.
        warm_up: seconds that the averages of the series leave out, or "auto"; None without such averages.
        metrics: by name.
        settings: changes to the base scenario, by dotted key.
    """

    title: str
    base: Base = field(repr=False)
    seed: int
    replications: int
    precision: Precision | None
    warm_up: float | str | None
    settings: dict[str, Any]
    metrics: dict[str, Metric]
    entries: list[dict[str, Any]] = field(repr=False)
    groups: tuple[Group, ...] = field(repr=False)
    chosen: dict[str, list[Any]]

    @classmethod
    def load(cls, path: str | Path, *, outside: bool = False) -> Self:
        """Read a sweep file. The scenario that it names is found relative to its folder, or comes with the package.

        Args:
            path: the file, or a name of `transorbit scenarios`.
            outside: whether the file, or its scenario, may name files outside of its folder.

        Raises:
            ScenarioError: the file is not a sweep, or its scenario is none.
            OSError: a file cannot be read.
        """
        path = _content.find(path)
        text = _files.read_text(path)
        try:
            return cls.from_dict(_files.toml(text), base_dir=path.parent, confined=not outside)
        except ScenarioError as error:
            raise ScenarioError(f"{path}: {error}") from None

    @classmethod
    def from_toml(cls, text: str, *, base_dir: str | Path = ".") -> Self:
        """Read a sweep from TOML text; `base_dir` is where its scenario's name starts from.

        Raises:
            ScenarioError: the text is not TOML, or no sweep.
            OSError: the scenario cannot be read.
        """
        return cls.from_dict(_files.toml(text), base_dir=base_dir)

    @classmethod
    def from_dict(
        cls, table: Mapping[str, Any], *, base_dir: str | Path = ".", confined: bool = False, files: bool = False
    ) -> Self:
        """A sweep from the same keys as in a file; `scenario` may also be the scenario itself, as a table.

        Args:
            table: the keys.
            base_dir: where names of files start from.
            confined: whether none of them may lead out of there.
            files: whether the folder `files` may, although the others may not.

        Raises:
            ScenarioError: it is no sweep.
            OSError: the scenario cannot be read.
        """
        table = _values.table("sweep", table)
        known_keys("", table, _KEYS)
        if confined:
            _files.confined(table, Path(base_dir), but=("files",) if files else ())
        base = _base(table, Path(base_dir))
        if confined and base.text is not None:
            _files.confined(_files.toml(base.text), Path(base.folder))
        groups = axes.read(table.get("axes", []))
        names = {axis.name.casefold(): "an axis" for group in groups for axis in group.axes}
        measures = metrics.read(table.get("metrics"), names)
        precision = metrics.read_precision(table.get("precision"), measures)
        title = table.get("title", "")
        if not isinstance(title, str):
            raise ScenarioError("title: must be a text")
        return cls(
            title=title or base.scenario().title,
            base=base,
            seed=whole("seed", table.get("seed", 1), 0, LARGEST_SEED),
            replications=_replications(table, precision),
            precision=precision,
            warm_up=_warm_up(table.get("warm_up")),
            settings=_settings(table.get("set", {}), groups),
            metrics=measures,
            entries=list(table.get("axes", [])),
            groups=groups,
            chosen={},
        )._only(table.get("only", {}))

    @cached_property
    def axes(self) -> list[Axis]:
        """The axes in the order of the file, with the values that are run."""
        return [axis for group in self._groups for axis in group.axes]

    @cached_property
    def points(self) -> list[Point]:
        """The grid: all combinations, the last axis fastest."""
        points = []
        for index, levels in enumerate(itertools.product(*(group.levels for group in self._groups))):
            values = {name: value for level in levels for name, value in level.values.items()}
            changes = {key: value for level in levels for key, value in level.changes.items()}
            points.append(Point(index, values, changes))
        return points

    def replace(
        self,
        *,
        seed: int | None = None,
        replications: int | None = None,
        set: Mapping[str, Any] | None = None,  # noqa: A002 - as in the file
        only: Mapping[str, Sequence[Any]] | None = None,
        most: int | None = None,
    ) -> Self:
        """A copy with less or more.

        Args:
            seed: the root seed.
            replications: of each point.
            set: further changes to the base scenario.
            only: values of axes to keep, as the column has them or as the file does.
            most: replications of a point at most, where `precision` asks for more.

        Raises:
            ScenarioError: a value is out of range, or an axis has no such value.
        """
        copy = self
        if seed is not None:
            copy = changed(copy, seed=whole("seed", seed, 0, LARGEST_SEED))
        if replications is not None:
            copy = changed(copy, replications=whole("replications", replications, 1, MOST_REPLICATIONS))
        if most is not None and copy.precision:
            copy = changed(copy, precision=changed(copy.precision, most=whole("most", most, 2, MOST_REPLICATIONS)))
        if copy.precision and copy.replications < 2:
            raise ScenarioError(_too_few(copy.replications))
        if copy.precision and copy.precision.most < copy.replications:
            copy = changed(copy, precision=changed(copy.precision, most=copy.replications))
        if set:
            copy = changed(copy, settings=copy.settings | _settings(plain(set), copy.groups))
        return copy._only(plain(only)) if only else copy

    def scenario(self, point: Point) -> Scenario:
        """Returns the scenario that is run at a point, but for the seed.

        Raises:
            ScenarioError: a key does not exist.
        """
        return self._common.replace(point.changes)

    def check(self) -> None:
        """Raise `ScenarioError` for what would make every run fail, or is misspelt in a case of an axis."""
        for metric in self.metrics.values():
            sql.check(metric.sql, context=f"metrics.{metric.name}")
        first: ScenarioError | None = None
        # If these are wrong, the others are taken to be wrong too.
        for point in self.points[:_LOOKED_AT]:
            try:
                self.scenario(point).check()
            except ScenarioError as error:
                first = first or error
                continue
            return self._check_cases(point)
        if first:
            raise first
        return None

    @cached_property
    def inputs(self) -> tuple[_inputs.Input, ...]:
        """The files that the scenario, its changes and the axes name, as they are when this is first asked for."""
        return inputs.of(self.tables, Path(self.base.folder))

    @property
    def tables(self) -> list[Any]:
        """All that can name a file: the base scenario, its changes and the axes."""
        base = self.base.table if self.base.text is None else tomllib.loads(self.base.text)
        return [base, self.settings, self.entries, self.chosen]

    @cached_property
    def changed_inputs(self) -> list[str]:
        """A line for each input that has changed, if the sweep is that of a folder."""
        folder = Path(self.base.folder)
        return _inputs.changed(folder.parent) if folder.name == _inputs.FOLDER else []

    def to_toml(
        self, *, scenario: str | None = None, files: str | None = None, names: Mapping[str, str] | None = None
    ) -> str:
        """The sweep as a file.

        Args:
            scenario: the name of the base scenario's file; by default it is written inside.
            files: the folder of the files that it names, by default where they are; "" is that of the sweep's file.
            names: other names of files.
        """
        import tomli_w

        table: dict[str, Any] = {"title": self.title, "seed": self.seed, "replications": self.replications}
        table["scenario"] = scenario or self.base.table or tomllib.loads(self.base.text or "")
        if files is None or files:
            table["files"] = files or self.base.folder
        if self.precision:
            width = self.precision.half_width
            share = f"{round(100 * width, 12):.12g} %"
            half = share if self.precision.relative else width
            table["precision"] = {"metric": self.precision.metric, "half_width": half, "most": self.precision.most}
        if self.warm_up is not None:
            table["warm_up"] = self.warm_up if isinstance(self.warm_up, str) else f"{self.warm_up!r} s"
        table |= {"set": self.settings, "only": self.chosen}
        table["metrics"] = {
            name: {"sql": metric.sql, "label": metric.label, "unit": metric.unit} | metrics.told_limits(metric)
            for name, metric in self.metrics.items()
        }
        table["axes"] = self.entries
        try:
            return tomli_w.dumps(
                inputs.renamed({key: value for key, value in table.items() if value != {}}, names or {})
            )
        except TypeError as error:
            raise ScenarioError(f"set, only or axes: no value for a sweep: {error}") from None

    @cached_property
    def _common(self) -> Scenario:
        """The base with what all points have in common: series only where they are averaged, and never packets."""
        averaged = {} if self.warm_up is None else {"record.series": True}
        record = {"record.series": False} | self.settings | averaged | {"record.packets": "none", "seed": 0}
        try:
            return self.base.scenario().replace(record)
        except ScenarioError as error:
            raise ScenarioError(f"set: {error}") from None

    @cached_property
    def _groups(self) -> tuple[Group, ...]:
        return tuple(group.only(self.chosen) for group in self.groups)

    def _only(self, only: object) -> Self:
        if not isinstance(only, dict) or not all(isinstance(values, list) for values in only.values()):
            raise ScenarioError('only: must be a table of lists, as in { snr = ["7 dB"] }')
        names = [axis.name for group in self.groups for axis in group.axes]
        known_keys("only.", only, names)
        sweep = changed(self, chosen=self.chosen | only)
        count = 1
        for group in sweep._groups:
            count *= len(group.levels)
        if count > _MOST_POINTS:
            raise ScenarioError(f"axes: make {count} points, at most {_MOST_POINTS} are allowed")
        return sweep

    def _check_cases(self, good: Point) -> None:
        """A key that no scenario has is a slip of the pen, not a point that fails."""
        for group in self._groups:
            for level in group.levels:
                if level.changes.keys() == group.keys:
                    continue
                others = {key: value for key, value in good.changes.items() if not _of(key, group)}
                try:
                    self._common.replace(others | level.changes).check()
                except ScenarioError as error:
                    if "is an unknown key" in str(error):
                        names = ", ".join(f"{name} = {value}" for name, value in level.values.items())
                        raise ScenarioError(f"axes: {names}: {error}") from None


def _of(key: str, group: Group) -> bool:
    return any(key in level.changes for level in group.levels)


def _base(table: Mapping[str, Any], folder: Path) -> Base:
    given = table.get("scenario")
    files = table.get("files")
    if files is not None and not isinstance(files, str):
        raise ScenarioError("files: must be the name of a folder")
    if isinstance(given, dict):
        base = Base(None, given, _absolute(folder / (files or ".")))
    elif isinstance(given, str):
        path = folder / given
        if not path.exists():
            path = _content.find(given)
        try:
            text = _files.read_text(path)
        except OSError as error:
            raise ScenarioError(f"scenario: {path}: {error.strerror}") from None
        except ScenarioError as error:
            raise ScenarioError(f"scenario: {error}") from None
        base = Base(text, None, _absolute(folder / files if files else path.parent))
    elif given is not None:
        told = f"{reprlib.repr(given)} was given, the name of a file or a table is expected, as Scenario.to_dict gives"
        raise ScenarioError(f"scenario: {told}")
    else:
        raise ScenarioError('scenario: is missing: the file of the base scenario, as in "leo-tcp.toml"')
    try:
        base.scenario()
    except ScenarioError as error:
        raise ScenarioError(f"scenario: {error}") from None
    return base


def _absolute(folder: Path) -> str:
    """Without following links: what lies beside a link is meant to be found there."""
    return os.path.abspath(folder)  # noqa: PTH100 - `resolve` follows them


def _replications(table: Mapping[str, Any], precision: Precision | None) -> int:
    default = min(5, precision.most) if precision else 1
    count = whole("replications", table.get("replications", default), 1, MOST_REPLICATIONS)
    if precision and count < 2:
        raise ScenarioError(_too_few(count))
    if precision and count > precision.most:
        raise ScenarioError(f"replications: {count} must be at most precision.most = {precision.most}")
    return count


def _too_few(count: int) -> str:
    return f"replications: {count} must be at least 2, for the interval that precision looks at"


def _settings(given: object, groups: Sequence[Group]) -> dict[str, Any]:
    settings = axes.flattened("set", given)
    for key in settings:
        if (own := key.partition(".")[0]) in _OWN:
            raise ScenarioError(f"set: {own} is the sweep's own key and stands in its file: set changes the scenario")
    for group in groups:
        if both := settings.keys() & group.keys:
            raise ScenarioError(f"set: {min(both)} is what the axis {group.axes[0].name} varies")
        for key in sorted(group.keys):
            if lost := axes.undone(key, settings):
                axis = group.axes[0].name
                raise ScenarioError(f"set: {lost} is lost, as the axis {axis} replaces {key} as a whole")
    if "seed" in settings:
        raise ScenarioError(f"set: {axes.OWN_SEED}")
    for key, value in settings.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ScenarioError(f"set.{key}: {value!r} is no value for a scenario") from None
    return settings


def _warm_up(value: object) -> float | str | None:
    if value is None or value == "auto":
        return value
    scales = {"s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0}
    found = quantity(value)
    if not found or found[1] not in scales or found[0] < 0:
        raise ScenarioError(f'warm_up: {value!r} must be a time, as in "20 s", or "auto"')
    return float(found[0]) * scales[found[1]]
