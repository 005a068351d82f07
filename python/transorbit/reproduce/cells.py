"""A claim for each cell of a published table: written once, and filled in from the published values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transorbit._core import ScenarioError
from transorbit._names import hint_or_all
from transorbit.reproduce import database, fields
from transorbit.sweep import sql

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_KEYS = ("value", "of", "where", "names", "within", "rounding")
_DIGITS = 9
#: Keys of a claim that its cells give.
GIVEN = ("statistic", "above", "below", "between", "paper_value", "for_each", "from")


def spread(raw: Mapping[str, Any], published: str | None, folder: Path, path: Path) -> list[dict[str, Any]]:
    """One raw claim for each cell; the claim itself if it has no `cells`.

    The statistic is the mean of the column `value` where the columns `of` are the cell's; the predicate is the cell's
    value, plus or minus the part `within` of it, and at least `rounding`.
    """
    if "cells" not in raw:
        return [dict(raw)]
    at = f'claim "{raw.get("name", "")}": '
    cells = raw["cells"]
    fields.known(cells, _KEYS, path, f"{at}cells.")
    for key in GIVEN:
        if key in raw:
            raise ScenarioError(f"{path}: {at}{key}: the cells give it")
    if published is None:
        raise ScenarioError(f"{path}: {at}cells: the item has no published values")
    value = fields.text(cells, "value", path, at=f"{at}cells.")
    of = fields.names(cells, "of", path, at=f"{at}cells.")
    where = fields.text(cells, "where", path, "", at=f"{at}cells.")
    names = fields.texts(cells, "names", path)
    share, rounding = (_number(cells, key, f"{path}: {at}cells.") for key in ("within", "rounding"))
    frame = database.published(published, folder)
    for column in (value, *of):
        if column not in frame.columns:
            known = hint_or_all(column, frame.columns)
            raise ScenarioError(f"{path}: {at}cells: {column}: no such column of the published values{known}")
    chosen = f"SELECT {database.columns([*of, value])} FROM published{f' WHERE {where}' if where else ''}"  # noqa: S608
    listed = sql.query(chosen, {"published": frame}, context=f"{path}: {at}cells.where").rows()
    claims = []
    for *cell, known in listed:
        rows = " AND ".join(
            f"{database.quoted(column)} = {_literal(is_)}" for column, is_ in zip(of, cell, strict=True)
        )
        rows += f" AND ({where})" if where else ""
        half = max(share * abs(known), rounding)
        words = {column: _word(is_) for column, is_ in zip(of, cell, strict=True)}
        given = {
            "name": "-".join([str(raw.get("name", "")), *words.values()]),
            "says": _filled(raw.get("says", ""), {c: names.get(word, word) for c, word in words.items()}, known),
            "statistic": f"avg({database.quoted(value)}) FILTER ({rows})",
            "between": [round(known - half, _DIGITS), round(known + half, _DIGITS)],
            "paper_value": known,
            "only_where": rows,
        }
        claims.append({key: told for key, told in raw.items() if key != "cells"} | given)
    return claims


def _filled(says: object, words: Mapping[str, str], known: float) -> str:
    text = str(says)
    for column, word in {**words, "published": _word(known)}.items():
        text = text.replace("{" + column + "}", word)
    return text


def _word(given: object) -> str:
    return f"{given:g}" if isinstance(given, float) else str(given)


def _literal(given: object) -> str:
    if isinstance(given, str):
        return database.literal(given)
    return str(given).lower()


def _number(cells: Mapping[str, Any], key: str, at: str) -> float:
    given = cells.get(key, 0)
    if isinstance(given, bool) or not isinstance(given, int | float) or given < 0:
        raise ScenarioError(f"{at}{key}: {given!r} was given, a number from 0 on is expected")
    return float(given)
