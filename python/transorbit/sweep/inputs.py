"""The inputs of a sweep as its folder keeps them: copies below `inputs`, under the names that its scenario has."""

from __future__ import annotations

import tomllib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from transorbit import _files, _hash
from transorbit._inputs import FOLDER, Input

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


def of(tables: Iterable[Any], folder: Path) -> tuple[Input, ...]:
    """The files in a folder that the tables of a sweep name: the base scenario, its changes and the axes."""
    sweep_inputs: dict[str, Input] = {}
    for name in _texts(tables):
        try:
            if name in sweep_inputs or not (folder / name).is_file():
                continue
        except (OSError, ValueError):
            # The text cannot be the name of a file.
            continue
        contents = (folder / name).read_bytes()
        kept = f"{FOLDER}/{_inside(name)}"
        sweep_inputs[name] = Input(name, kept, _hash.sha256(contents), contents)
    return tuple(sweep_inputs.values())


def names(tables: Iterable[Any]) -> dict[str, str]:
    """Returns for each text that leads out of the folder the name of its copy inside."""
    return {text: _inside(text) for text in _texts(tables) if _files.is_outside(text)}


def renamed(value: Any, known: Mapping[str, str]) -> Any:
    """A table with other names of files; what is no such name stays."""
    if isinstance(value, str):
        return known.get(value, value)
    if isinstance(value, list | tuple):
        return [renamed(inner, known) for inner in value]
    if isinstance(value, dict):
        return {key: inner if key in _files.WORDS else renamed(inner, known) for key, inner in value.items()}
    return value


def scenario_text(text: str, known: Mapping[str, str]) -> str:
    """The text of a scenario with other names, as it was written where none is another."""
    if not known:
        return text
    import tomli_w

    table = tomllib.loads(text)
    other = renamed(table, known)
    return text if other == table else tomli_w.dumps(other)


def _texts(tables: Iterable[Any]) -> Iterator[str]:
    for table in tables:
        yield from (text for _, text in _files.texts("", table))


def _inside(name: str) -> str:
    """A name as it is below a folder of copies."""
    if not _files.is_outside(name):
        return PurePosixPath(name).as_posix()
    return f"outside/{_hash.sha256(name)[:8]}-{Path(name.replace(chr(92), '/')).name or 'file'}"
