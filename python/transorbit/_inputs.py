"""The inputs of a run as a result folder keeps them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transorbit import _hash
from transorbit._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


# Where copies of inputs stand in a folder.
FOLDER = "inputs"


@dataclass(frozen=True)
class Input:
    """A file that a run was made from, or the source of a user's code that it called.

    Attributes:
        file: its name in the scenario that was run.
        kept: the name of its copy, relative to the result folder.
        sha256: of its contents, in hexadecimal.
        contents: what it holds.
    """

    file: str
    kept: str
    sha256: str
    contents: bytes


def of_core(inputs: Iterable[tuple[str, str, str, bytes]]) -> tuple[Input, ...]:
    """The inputs as the core hands them out."""
    return tuple(Input(*values) for values in inputs)


def described(inputs: Sequence[Input]) -> list[dict[str, Any]]:
    """The inputs as a provenance lists them."""
    return [
        {"file": each.file, "kept": each.kept, "sha256": each.sha256, "bytes": len(each.contents)} for each in inputs
    ]


def write(inputs: Iterable[Input], folder: Path) -> None:
    """Put the copies into a result folder."""
    for each in inputs:
        target = folder / each.kept
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(each.contents)


def read(provenance: dict[str, Any], folder: Path, key: str = "inputs") -> tuple[Input, ...]:
    """The copies in a result folder, as they are now.

    Raises:
        OSError: one is not there.
        ScenarioError: the provenance names a file that is no copy.
    """
    listed = provenance.get(key, [])
    return tuple(
        Input(each["file"], each["kept"], each["sha256"], (folder / _name(each["kept"], key)).read_bytes())
        for each in listed
    )


def recorded(folder: Path, key: str = "inputs") -> dict[str, str]:
    """The SHA-256 of each copy in a folder when it became a result folder, by name; empty for other folders."""
    try:
        listed = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))[key]
        return {_name(str(each["kept"]), key): str(each["sha256"]) for each in listed}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def changed(folder: Path) -> list[str]:
    """Returns a line for each copy that has changed since the folder was made."""
    told = []
    for kept, sha256 in recorded(folder).items():
        file = folder / kept
        file_hash = _hash.sha256(file.read_bytes()) if file.is_file() else None
        if file_hash is None:
            told.append(f"{file} is gone since the result was made")
        elif file_hash != sha256:
            told.append(f"{file} has changed since the result was made: its SHA-256 is {file_hash}, it was {sha256}")
    return told


def _name(kept: str, key: str = FOLDER) -> str:
    """The name of a copy; another one, that may lead out of the folder, is refused."""
    first, *parts = kept.split("/")
    if first != key or not parts or {*parts} & {"", ".", ".."} or "\\" in kept:
        raise ScenarioError(f"provenance.json: {kept!r} is no copy of an input")
    return kept
