"""Files of the user as text and as TOML: each error is one line that names the file."""

from __future__ import annotations

import itertools
import json
import tomllib
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from transorbit._core import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator

# A scenario of a million flows has some hundred bytes; a device has no end.
_MOST_BYTES = 64 * 2**20
# Keys whose text is for people, or SQL, and never a name of a file.
WORDS = frozenset({"title", "label", "unit", "sql", "metrics"})


def read_text(path: str | Path) -> str:
    """A file in UTF-8.

    Raises:
        ScenarioError: it is no text, or too long for one that people write.
        OSError: it cannot be read.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except ValueError as error:
        # A name with a NUL, which no file has.
        raise ScenarioError(f"{str(path)!r}: is no name of a file: {error}") from None
    except OSError as error:
        if not path.is_dir():
            raise
        raise IsADirectoryError(error.errno, _inside(path), str(path)) from None
    if len(data) > _MOST_BYTES:
        raise ScenarioError(f"{path}: has more than {_MOST_BYTES} bytes")
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{path}: line {line}: not a text file in UTF-8 ({error.reason})") from None


def _inside(folder: Path) -> str:
    """The complaint about a folder where a file is expected: the files that it may stand for."""
    kinds = {"sweep.toml": "sweep", "scenario.toml": "scenario"}
    result_files = [f"its {kind} is {folder / name}" for name, kind in kinds.items() if (folder / name).is_file()]
    return f"is a folder; {', '.join(result_files)}" if result_files else "is a folder, a file is expected"


def toml(text: str) -> dict[str, Any]:
    """The table of a text.

    Raises:
        ScenarioError: it is no TOML, or has what nobody means: thousands of digits, lists in a thousand lists.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"not TOML: {error}") from None
    except RecursionError:
        raise ScenarioError("not TOML: lists or tables are nested too deep") from None
    except ValueError as error:
        # The parser hands on what Python says of a number or a date.
        raise ScenarioError(f"not TOML: {str(error).split(';')[0]}") from None


def confined(table: object, folder: Path, *, but: tuple[str, ...] = ()) -> None:
    """Raise unless all that a stranger's table can name lies in `folder`: no text in it is a path that leads out.

    Args:
        table: what the file has.
        folder: that of the file.
        but: keys at its top that may.

    Raises:
        ScenarioError: the key of the first that leads out.
    """
    for path, text in texts("", table):
        if path.partition(".")[0] not in but and _leads_out(text, folder):
            raise ScenarioError(
                f"{path}: {text!r} leads out of the folder of its file: --outside allows it where you trust the file"
            )


def texts(path: str, value: object) -> Iterator[tuple[str, str]]:
    """Every text that may be a name of a file, with its key."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in WORDS:
                yield from texts(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from texts(f"{path}.{number}" if path else str(number), inner)


def is_outside(text: str) -> bool:
    """Whether a name may lead out of any folder, as it is written."""
    names = (PurePosixPath(text), PureWindowsPath(text))
    return any(name.root or name.drive or ".." in name.parts for name in names)


def _leads_out(text: str, folder: Path) -> bool:
    try:
        named_file = folder / text
        is_absolute = Path(text).is_absolute()
        # A link within the folder can lead out, one before `..` too, and a whole path into it.
        asks = named_file.is_symlink() or is_absolute or ".." in Path(text).parts
        if asks and not named_file.resolve().is_relative_to(folder.resolve()):
            return True
        return not (is_absolute or _stays_within(text))
    except (OSError, ValueError, RuntimeError):
        # Too long for a name, with a NUL, or links in a circle: no file has it.
        return False


def _stays_within(text: str) -> bool:
    """Whether a name leads out at no part of it, as it is written and on no system."""
    for name in (PurePosixPath(text), PureWindowsPath(text)):
        depths = itertools.accumulate(-1 if part == ".." else 1 for part in name.parts)
        if name.root or name.drive or any(depth < 0 for depth in depths):
            return False
    return True


@contextmanager
def naming(folder: Path) -> Iterator[None]:
    """Name the damaged file, where what is read from a folder cannot be.

    Raises:
        ScenarioError: a file cannot be read.
    """
    try:
        yield
    except _unreadable() as error:
        raise ScenarioError(f"{_damaged(folder)}: is damaged: {' '.join(str(error).split())}") from error


def _unreadable() -> tuple[type[Exception], ...]:
    """The errors of damaged files; polars is imported for nothing else."""
    import polars as pl

    return json.JSONDecodeError, UnicodeDecodeError, pl.exceptions.PolarsError


def _damaged(folder: Path) -> Path:
    """The file that cannot be read; the folder if all can be read."""
    import polars as pl

    for file in sorted(folder.rglob("*")):
        try:
            if file.suffix == ".json":
                json.loads(file.read_text(encoding="utf-8"))
            elif file.suffix == ".parquet":
                pl.read_parquet(file)
        except (OSError, ValueError, pl.exceptions.PolarsError):
            return file
    return folder
