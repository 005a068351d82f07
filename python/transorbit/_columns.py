"""The keys and columns of a run's record, by name: the core's table, as all of Python reads it."""

from __future__ import annotations

import json
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from transorbit import _core

if TYPE_CHECKING:
    from collections.abc import Iterator


class Table(dict[str, Any]):
    """The core's table: `summary`, `series`, `reasons` and `units`."""

    @cached_property
    def labels(self) -> dict[str, str]:
        """See `labels`."""
        of_losses = {f"flows.{column}": f"Packets lost {words}" for column, words in lost().items()}
        lines = [*self["summary"], *self["series"]]
        return {path: line["label"] for path, line in _keys("", lines) if line["label"]} | of_losses

    @cached_property
    def scales(self) -> dict[str, tuple[float | None, float | None]]:
        """The least and the most of a key of the summary, by path; None where it has no end.

        A sweep's averages of the series have those of its columns.
        """
        averages = {f"steady_{line['name']}": tuple(line["scale"]) for line in self["series"]}
        return {path: tuple(line["scale"]) for path, line in _keys("", self["summary"])} | averages


@cache
def table() -> Table:
    """The table, asked for once."""
    return Table(json.loads(_core.columns_json()))


def of(group: str) -> list[dict[str, Any]]:
    """The lines of a group of the summary, or of the `series`."""
    if group == "series":
        return list(table()["series"])
    return list(next(line["below"] for line in table()["summary"] if line["name"] == group))


def names(group: str | None = None) -> list[str]:
    """The keys that hold one value each: of a group of the summary, of the `series`, or of the summary itself."""
    lines = table()["summary"] if group is None else of(group)
    return [line["name"] for line in lines if not line["below"]]


def labels() -> dict[str, str]:
    """The label of a key in figures where it is not its name in words, by path in the summary or name in the series."""
    return table().labels


def label(name: str) -> str:
    """Returns the label of a column of the flows or the series, without its unit."""
    known = labels()
    return known.get(name) or known.get(f"flows.{name}") or in_words(name)[0]


def in_words(name: str) -> tuple[str, str | None]:
    """The name of a column as words without the unit that it ends with, and the unit."""
    text, unit = name.replace(".", "_"), None
    for ending, of_ending in table()["units"]:
        if text.endswith(f"_{ending}"):
            text, unit = text.removesuffix(f"_{ending}"), of_ending
            break
    text = " ".join(_ACRONYMS.get(word, word) for word in text.split("_"))
    return text[:1].upper() + text[1:], unit


def limits(name: str) -> tuple[float | None, float | None]:
    """The ends of the scale of a column of the flows or a key of the summary; None where it has no end."""
    scales = table().scales
    return scales.get(name) or scales.get(f"flows.{name}") or (None, None)


def lost() -> dict[str, str]:
    """Returns the reasons of losses in words, by the column of the flows that counts them."""
    columns = {reason["column"] for reason in table()["reasons"]}
    return {line["name"]: line["label"] for line in of("flows") if line["name"] in columns}


def dropped(group: str) -> dict[str, str]:
    """Returns the drop reasons of a stage in words, by the key of its group of the summary that counts them."""
    words, of_reasons = lost(), {f"dropped_{name}": reason["column"] for name, reason in reasons().items()}
    return {key: words[of_reasons[key]] for key in names(group) if key in of_reasons}


def reasons() -> dict[str, dict[str, str]]:
    """The drop reasons: `words` and `column`, by name."""
    return {reason["name"]: reason for reason in table()["reasons"]}


_ACRONYMS = {name: name.upper() for name in ("arq", "cwnd", "harq", "mos", "plr", "rtt", "rto", "snr", "srtt", "tcp")}


def _keys(path: str, lines: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in lines:
        yield path + line["name"], line
        yield from _keys(f"{path}{line['name']}.", line["below"])
