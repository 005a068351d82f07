"""The axes of a sweep: from the file's entries to columns, values and the changes of each value."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from transorbit import _columns
from transorbit._core import ScenarioError
from transorbit._names import hint
from transorbit._values import whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Value = bool | int | float | str

# Columns of every table of a sweep: no axis and no metric is called so. Held against runs in `tests/test_sweep.py`.
_OF_A_RUN = (
    *("point", "replication", "status", "error", "key", "scenario_sha256", "transorbit", "build"),
    *("created", "wall_s", "host", "inputs"),
)
RUN_COLUMNS = frozenset((*_OF_A_RUN, *_columns.names()))
FLOW_COLUMNS = frozenset(("flow", *_columns.names("flows")))
OWN_SEED = "seed is the sweep's own key: every replication has a seed of its own"
# The columns of `SweepResult.means` besides the axes; metrics are in a table of their own there.
_MEANS = ("point", "runs", "failed", "metrics")

_MOST_VALUES = 10_000
_MOST_EXPONENT = 300
# A larger number of values is given by its order of magnitude.
_MOST_SHOWN = 10**12
# The values that a message lists.
_SHOWN = 20
_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-zµ%°/][^\s\"]*)\s*")


@dataclass(frozen=True)
class Axis:
    """A parameter that a sweep varies, which is a column of its tables.

    Attributes:
        name: the column.
        values: what the column holds, in the order of the file.
        unit: of the values, where all have the same one; they are numbers then.
        label: its label in figures.
    """

    name: str
    values: tuple[Value, ...]
    unit: str | None
    label: str

    def plain(self, value: Value) -> str:
        """A value as people write it where its unit is named already."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:.12g}" if isinstance(value, float) else str(value)

    def written(self, value: Value) -> str:
        """A value as people write it: with its unit."""
        return f"{self.plain(value)} {self.unit}" if self.unit else self.plain(value)

    def place(self, value: Value) -> str:
        """The name of the axis and a value."""
        return f"{self.name} = {self.written(value)}"

    def find(self, wanted: object) -> Value:
        """The value that is meant: itself, or as text, with or without its unit.

        Raises:
            ScenarioError: the axis has no such value.
        """
        text = " ".join(wanted.split()) if isinstance(wanted, str) else None
        number = None if text is None else self._number(text)
        for value in self.values:
            if isinstance(value, bool) == isinstance(wanted, bool) and value == wanted:
                return value
            if text is not None and text in {str(value), str(value).lower(), self.written(value)}:
                return value
            if number is not None and not isinstance(value, bool) and value == number:
                return value
        known = ", ".join(map(self.written, self.values[:_SHOWN]))
        raise ScenarioError(f"only.{self.name}: {wanted!r} is no value of the axis (it has {known})")

    def _number(self, text: str) -> float | None:
        """The number of a text in the unit of the axis, which may be left out."""
        if (found := quantity(text)) and found[1] == self.unit:
            return float(found[0])
        try:
            return float(text)
        except ValueError:
            return None


@dataclass(frozen=True)
class Level:
    """One step of an entry of `[[axes]]`: what its columns hold, and what changes in the scenario."""

    values: dict[str, Value]
    changes: dict[str, Any]


@dataclass(frozen=True)
class Group:
    """An entry of `[[axes]]`: one axis, or several that advance together."""

    axes: tuple[Axis, ...]
    levels: tuple[Level, ...]

    @property
    def keys(self) -> set[str]:
        """The keys that every level changes."""
        return set.intersection(*(set(level.changes) for level in self.levels))

    def only(self, chosen: Mapping[str, Sequence[object]]) -> Group:
        """The levels whose values are among those chosen, for the axes that are named.

        Raises:
            ScenarioError: an axis has no such value.
        """
        kept = self.levels
        for axis in self.axes:
            if axis.name in chosen:
                wanted = [axis.find(value) for value in chosen[axis.name]]
                kept = tuple(level for level in kept if level.values[axis.name] in wanted)
        if not kept:
            raise ScenarioError(f"only: leaves no value of {', '.join(axis.name for axis in self.axes)}")
        axes = (
            Axis(axis.name, tuple(level.values[axis.name] for level in kept), axis.unit, axis.label)
            for axis in self.axes
        )
        return Group(tuple(axes), kept)


def read(entries: object) -> tuple[Group, ...]:
    """The groups of `[[axes]]`.

    Raises:
        ScenarioError: an entry is not one, names collide, or an axis changes what another changes.
    """
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ScenarioError("axes: must be a list of tables, each begun by [[axes]]")
    groups = tuple(_group(f"axes.{index}", entry) for index, entry in enumerate(entries))
    names = dict.fromkeys(_MEANS, "a key of the means")
    keys: dict[str, str] = {}
    for index, group in enumerate(groups):
        for axis in group.axes:
            check_name(f"axes.{index}", axis.name, names)
            names[axis.name.casefold()] = f"an axis (axes.{index})"
        for key in sorted({key for level in group.levels for key in level.changes}):
            if key == "seed":
                raise ScenarioError(f"axes.{index}: {OWN_SEED}")
            if key in keys:
                raise ScenarioError(f"axes.{index}: changes {key}, which {keys[key]} changes as well")
            if lost := undone(key, keys):
                raise ScenarioError(
                    f"axes.{index}: replaces {key} as a whole, and with it what {keys[lost]} changed there, {lost}: "
                    f"put this axis first"
                )
            keys[key] = f"the axis {group.axes[0].name}"
    return groups


def undone(key: str, changed: Iterable[str]) -> str | None:
    """The first of the changed keys that is lost where the table `key` is replaced as a whole."""
    return next((before for before in changed if before.startswith(f"{key}.")), None)


def check_name(where: str, name: str, taken: Mapping[str, str]) -> None:
    """Raise `ScenarioError` unless a column can be called `name`; `taken` has names in lower case and what has them."""
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ScenarioError(f"{where}: {name!r} is no name of a column: a letter, then letters, digits and _")
    lower = name.casefold()
    of = taken.get(lower)
    if lower in RUN_COLUMNS or lower in FLOW_COLUMNS or lower.startswith("steady_"):
        of = f"a column of the {'runs' if lower in RUN_COLUMNS else 'flows'}"
    if of:
        raise ScenarioError(f'{where}: "{name}" is already {of}: choose another name')


def flattened(where: str, changes: object) -> dict[str, Any]:
    """Changes by dotted key. A table below an unquoted key is set key by key, unless it has a `kind`."""
    if not isinstance(changes, dict):
        raise ScenarioError(f'{where}: must be a table of changes, as in {{ duration = "100 s" }}')

    def below(path: str, value: object) -> dict[str, Any]:
        if not isinstance(value, dict) or "kind" in value or not value:
            return {path: value}
        return {key: item for name, inner in value.items() for key, item in below(f"{path}.{name}", inner).items()}

    flat: dict[str, Any] = {}
    for key, value in changes.items():
        # A quoted dotted key says where the table belongs, as `Scenario.replace` has it.
        flat |= {key: value} if "." in key else below(key, value)
    return flat


def known_keys(where: str, table: Mapping[str, object], allowed: Sequence[str]) -> None:
    """Raise `ScenarioError` for a key that is not allowed, with the nearest that is."""
    for key in table:
        if key not in allowed:
            meant = hint(key, allowed, most=1)
            raise ScenarioError(f"{where}{key}: is an unknown key{meant} (allowed: {', '.join(sorted(allowed))})")


def quantity(value: object) -> tuple[Decimal, str] | None:
    """Number and unit of a text such as "7 dB"."""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if not match:
        return None
    number = Decimal(match[1])
    return (number, match[2]) if _is_common(number) else None


def _is_common(number: Decimal) -> bool:
    """Whether a float holds it, so that columns can, and the arithmetic of ranges stays within bounds."""
    return number == 0 or (number.is_finite() and abs(number.adjusted()) < _MOST_EXPONENT)


def _group(where: str, entry: Mapping[str, Any]) -> Group:
    if "zip" not in entry:
        return _single(where, entry)
    known_keys(f"{where}.", entry, ["zip"])
    members = entry["zip"]
    if not isinstance(members, dict) or not members or not all(isinstance(one, dict) for one in members.values()):
        raise ScenarioError(f"{where}.zip: must be a table of axes by name, each with a key and values")
    singles = [_single(f"{where}.zip.{name}", {"name": name, **member}) for name, member in members.items()]
    first, *rest = singles
    for other in rest:
        if len(other.levels) != len(first.levels):
            raise ScenarioError(
                f"{where}.zip: {other.axes[0].name} has {len(other.levels)} values and "
                f"{first.axes[0].name} has {len(first.levels)}: axes that advance together need as many"
            )
    levels = []
    for step in zip(*(single.levels for single in singles), strict=True):
        changes: dict[str, Any] = {}
        for single, level in zip(singles, step, strict=True):
            if twice := changes.keys() & level.changes.keys():
                raise ScenarioError(f"{where}.zip.{single.axes[0].name}: {min(twice)} is changed twice")
            for key in level.changes:
                if lost := undone(key, changes):
                    told = f"replaces {key} as a whole, and with it {lost}: put it first"
                    raise ScenarioError(f"{where}.zip.{single.axes[0].name}: {told}")
            changes |= level.changes
        levels.append(Level({name: value for level in step for name, value in level.values.items()}, changes))
    return Group(tuple(single.axes[0] for single in singles), tuple(levels))


def _single(where: str, entry: Mapping[str, Any]) -> Group:
    known_keys(f"{where}.", entry, ["name", "key", "values", "range", "cases", "label"])
    given = [kind for kind in ("values", "range", "cases") if kind in entry]
    if len(given) != 1:
        raise ScenarioError(f"{where}: needs one of values, range and cases, and has {' and '.join(given) or 'none'}")
    for name in ("name", "key", "label"):
        if name in entry and not (isinstance(entry[name], str) and entry[name]):
            raise ScenarioError(f"{where}.{name}: must be a text")
    if given == ["cases"]:
        return _cases(where, entry)
    if "key" not in entry:
        raise ScenarioError(f'{where}.key: is missing: what the axis changes, as in "channel.reference_snr"')
    key = entry["key"]
    name = entry.get("name", key.rpartition(".")[2])
    raw = _range(f"{where}.range", entry["range"]) if given == ["range"] else entry["values"]
    if not isinstance(raw, list) or not raw:
        raise ScenarioError(f"{where}.values: must be a list with at least one value")
    column, unit = _column(raw)
    _distinct(f"{where}.{given[0]}", column)
    axis = Axis(name, tuple(column), unit, entry.get("label", name))
    levels = (Level({name: value}, {key: item}) for value, item in zip(column, raw, strict=True))
    return Group((axis,), tuple(levels))


def _cases(where: str, entry: Mapping[str, Any]) -> Group:
    if "key" in entry:
        raise ScenarioError(f"{where}.key: does not go with cases, whose changes have keys of their own")
    if "name" not in entry:
        raise ScenarioError(f"{where}.name: is missing: the column for the cases")
    cases = entry["cases"]
    if not isinstance(cases, dict) or not cases:
        raise ScenarioError(f"{where}.cases: must be a table: label = {{ key = value }}")
    name = entry["name"]
    levels = [Level({name: label}, flattened(f"{where}.cases.{label}", changes)) for label, changes in cases.items()]
    return Group((Axis(name, tuple(cases), None, entry.get("label", name)),), tuple(levels))


def _column(raw: Sequence[object]) -> tuple[list[Value], str | None]:
    """Returns the values of an axis's column, and their unit."""
    quantities = [quantity(value) for value in raw]
    units = {found[1] if found else None for found in quantities}
    if len(units) == 1 and None not in units:
        return [float(found[0]) for found in quantities if found], units.pop()
    if all(isinstance(value, bool) for value in raw) or all(type(value) is int for value in raw):
        return list(raw), None  # type: ignore[arg-type]
    if all(type(value) in (int, float) for value in raw):
        return [float(value) for value in raw], None  # type: ignore[arg-type]
    return [_text(value) for value in raw], None


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and set(value) == {"kind"}:
        return str(value["kind"])
    return json.dumps(value, ensure_ascii=False, default=str)


def _distinct(where: str, column: Sequence[Value]) -> None:
    values_seen: set[Value] = set()
    for value in column:
        if value in values_seen:
            raise ScenarioError(f"{where}: {value!r} is there twice")
        values_seen.add(value)


def _range(where: str, table: object) -> list[Any]:
    """Values from an end to the other: by a step, or so many of them."""
    if not isinstance(table, dict):
        raise ScenarioError(f'{where}: must be a table, as in {{ from = "7 dB", to = "13 dB", step = "1 dB" }}')
    known_keys(f"{where}.", table, ["from", "to", "step", "count", "spacing"])
    for end in ("from", "to"):
        if end not in table:
            raise ScenarioError(f"{where}.{end}: is missing")
    if ("step" in table) == ("count" in table):
        raise ScenarioError(f"{where}: needs one of step and count")
    first, unit = _number(f"{where}.from", table["from"])
    numbers = {}
    for key in ("to", "step"):
        if key in table:
            numbers[key], other = _number(f"{where}.{key}", table[key])
            if other != unit:
                raise ScenarioError(
                    f"{where}.{key}: {table[key]!r} and from = {table['from']!r} must have the same unit"
                )
    if "step" in table:
        if "spacing" in table:
            raise ScenarioError(f"{where}.spacing: goes with count, not with step")
        values = _stepped(where, first, numbers["to"], numbers["step"])
    else:
        values = _counted(where, first, numbers["to"], table["count"], table.get("spacing", "linear"))
    if unit:
        return [f"{_plain(value)} {unit}" for value in values]
    if all(type(table[key]) is int for key in ("from", "to", "step") if key in table):
        # Whole ends, whole values: numbers of users can be spaced logarithmically.
        return list(dict.fromkeys(int(value.to_integral_value()) for value in values))
    return [float(value) for value in values]


def _number(where: str, value: object) -> tuple[Decimal, str | None]:
    if found := quantity(value):
        return found
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
        if _is_common(number):
            return number, None
    raise ScenarioError(f'{where}: {value!r} is no number and no quantity, as in 5 or "7 dB"')


def _stepped(where: str, first: Decimal, last: Decimal, step: Decimal) -> list[Decimal]:
    if step == 0 or (last - first) / step < 0:
        raise ScenarioError(f"{where}.step: {step} does not lead from {first} to {last}")
    steps = (last - first) / step
    if steps >= _MOST_VALUES:
        shown = int(steps) + 1 if steps < _MOST_SHOWN else f"{steps:.3g}"
        raise ScenarioError(f"{where}: has {shown} values, at most {_MOST_VALUES} are allowed")
    count = int(steps) + 1
    return [first + step * index for index in range(count)]


def _counted(where: str, first: Decimal, last: Decimal, count: object, spacing: object) -> list[Decimal]:
    count = whole(f"{where}.count", count, 2, _MOST_VALUES)
    if spacing == "linear":
        return [first + (last - first) * index / (count - 1) for index in range(count)]
    if spacing != "log":
        raise ScenarioError(f'{where}.spacing: {spacing!r} must be "linear" or "log"')
    if first <= 0 or last <= 0:
        raise ScenarioError(f"{where}: values spaced logarithmically must be more than zero")
    inner = (first * (last / first) ** (Decimal(index) / (count - 1)) for index in range(1, count - 1))
    return [first, *inner, last]


def _plain(value: Decimal) -> str:
    """Without an exponent and without zeros at the end; twelve digits are more than any scenario needs."""
    text = f"{Decimal(f'{value:.12g}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
