"""Folders that appear whole or not at all, and never replace files of somebody else."""

from __future__ import annotations

import errno
import glob
import json
import re
import shutil
import sys
import tempfile
import weakref
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from transorbit import _figures, _inputs
from transorbit._frame import write_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TextIO

    import polars as pl
    from matplotlib.figure import Figure

# The system's errors when a folder cannot be moved to a name because something is there.
_OCCUPIED = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})
# Entries of the temporary folder beside the target: lock, new folder, old folder.
_PARTS = frozenset({"lock", "new", "old"})


@dataclass(frozen=True)
class Kind:
    """A kind of folder that is written: its name, the files that every one has, and the files that one may have.

    Anything else in it is somebody's work, which a new one must not delete.
    """

    name: str
    has: frozenset[str]
    may_hold: frozenset[str]


RESULT = Kind(
    name="result",
    has=frozenset({"summary.json", "provenance.json"}),
    may_hold=frozenset(
        {
            "scenario.toml",
            "summary.json",
            "provenance.json",
            "flows.parquet",
            "series.parquet",
            "offers.parquet",
            "packets-sender.pcapng",
            "packets-gateway.pcapng",
            "packets-satellite.pcapng",
            "packets-receiver.pcapng",
            "qlog",
            "PARTIAL",
            "plots",
            "report.html",
        }
    ),
)
CAPACITY = Kind(
    name="capacity",
    has=frozenset({"capacity.json", "provenance.json"}),
    may_hold=frozenset(
        {
            "scenario.toml",
            "capacity.json",
            "provenance.json",
            "capacity.parquet",
            "capacity.svg",
            "capacity.png",
        }
    ),
)
_LOG = re.compile(r"qlog/flow-\d+-(sender|receiver)\.sqlog")
# Files of a sweep are replaced one by one, so other files beside them may stay.
SWEEP = Kind(name="sweep", has=frozenset({"sweep.toml"}), may_hold=frozenset())


def check_replaceable(directory: Path, kind: Kind = RESULT) -> None:
    """Raise unless `directory` can be created, or is empty, or an earlier one of its kind, or a folder of plots.

    Raises:
        FileExistsError: it is a file, or holds something that was not written by what is to replace it.
        NotADirectoryError: a file stands where a folder above it would be.
    """
    put_back(directory)
    _check_writable(directory)
    if directory.is_dir():
        names = {entry.name for entry in directory.iterdir() if not _is_left(entry)}
        if not names or (kind is RESULT and directory.name == "plots" and names <= _plots()):
            return
        if not kind.has <= names:
            is_sweep = kind is not SWEEP and SWEEP.has <= names
            what_stands_there = "is the folder of a sweep" if is_sweep else f"exists and is not a {kind.name} folder"
            raise FileExistsError(f"{directory}: {what_stands_there}; choose another folder")
        inside = {
            entry.relative_to(directory).as_posix()
            for top in directory.iterdir()
            if not _is_left(top)
            for entry in (top, *(top.rglob("*") if top.is_dir() else ()))
        }
        plots = {f"plots/{name}" for name in _plots()} if "plots" in kind.may_hold else set()
        copies = {key for kind in ("inputs", "plugins") for key in (kind, *_inputs.recorded(directory, kind))}
        logs = {name for name in inside if kind is RESULT and _LOG.fullmatch(name)}
        if foreign := sorted(inside - kind.may_hold - plots - copies - logs):
            raise FileExistsError(
                f"{directory}: holds {foreign[0]}, which is no part of a {kind.name}; choose another folder"
            )
        return
    if directory.exists() or directory.is_symlink():
        raise FileExistsError(f"{directory}: exists and is not a folder")


def _check_writable(directory: Path) -> None:
    """Raise unless something can be written beside `directory`, where a fresh one is made: now, not after the work.

    Raises:
        NotADirectoryError: a file stands where a folder above it would be.
        OSError: the disk refuses.
    """
    above = next(parent for parent in directory.absolute().parents if parent.exists())
    if not above.is_dir():
        raise NotADirectoryError(f"{directory}: {above} is not a folder")
    try:
        Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=above)).rmdir()
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(directory)) from None


def check_file(file: Path) -> None:
    """Raise unless a file can be written: now, not after the work.

    Raises:
        OSError: it cannot, or is a folder.
    """
    if file.is_dir():
        raise IsADirectoryError(f"{file}: is a folder; a name of a file is expected")
    if file.exists():
        with file.open("ab"):
            return
    _check_writable(file)


_PICTURES: dict[str, bytes | tuple[bytes, ...]] = {".svg": (b"<?xml", b"<svg"), ".png": b"\x89PNG", ".pdf": b"%PDF"}
# Of a file that is there so much is read to tell what it is.
_HEAD = 65536


def check_picture(file: Path) -> None:
    """As `check_file` for a picture; what is there under its name and is no picture stays.

    Raises:
        FileExistsError: it is something else.
        OSError: it cannot be written, or is a folder.
    """
    check_file(file)
    head = _head(file)
    if head and not head.startswith(_PICTURES[file.suffix.lower()]):
        raise FileExistsError(f"{file}: is there and is no {file.suffix} picture; choose another name")


def check_text(file: Path, text: str) -> None:
    """Raise unless what is there under a file's name, if anything, begins as `text` does: it is of the same kind.

    That is the header of a table, the first key of parameters, the beginning of a page or of JSON.

    Raises:
        FileExistsError: it is something else.
    """
    head = _head(file)
    if head and _beginning(head) != _beginning(text.encode()[:_HEAD]):
        raise FileExistsError(f"{file}: is there and holds something else, or has other columns; choose another name")


def _head(file: Path) -> bytes:
    if not file.is_file():
        return b""
    with file.open("rb") as opened:
        return opened.read(_HEAD)


def _beginning(data: bytes) -> bytes:
    # Some formats begin with a number, which is another each time.
    line = re.sub(rb"[0-9.]+", b"0", data.split(b"\n", 1)[0].split(b"=", 1)[0].strip())
    # JSON may be one line.
    return line[:8] if line[:1] in (b"{", b"[") else line


def _is_left(entry: Path) -> bool:
    """Whether a process that was killed while it wrote the plots left it: a folder with nothing of anybody else."""
    if not re.fullmatch(r"\.plots\.\w{8}", entry.name) or not entry.is_dir() or entry.is_symlink():
        return False
    return all(
        one.name in _PARTS if one.parent == entry else one.name in _plots() and one.is_file()
        for one in entry.rglob("*")
    )


def numbered(path: Path, is_free: Callable[[Path], bool], suffix: str = "") -> Path:
    """`path`, or the first of `path`-2, -3, ... that is free; of a file the numbers stand before its `suffix`."""
    candidates = (path.with_name(f"{path.name.removesuffix(suffix)}-{number}{suffix}") for number in count(2))
    return path if is_free(path) else next(one for one in candidates if is_free(one))


def is_of(directory: Path, provenance: Mapping[str, object], key: str = "scenario_sha256") -> bool:
    """Whether what is to be written may take the place of what `directory` has: nothing, or the same made once more."""
    put_back(directory)
    file = directory / "provenance.json"
    if not file.is_file():
        return True
    try:
        there = json.loads(file.read_text(encoding="utf-8"))
        own = [each["sha256"] for each in there.get("plugins", [])]
        return bool(there[key] == provenance[key] and own == provenance.get("plugins", []))
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _plots() -> set[str]:
    return {f"{name}{suffix}" for name in _figures.OF_RUN for suffix in (".svg", ".png", ".pdf", ".csv")}


class Scratch:
    """A folder for files that are written before it is known where they stay; it goes when this object does.

    So do the folders above it that it has made, where nobody has put anything into them.
    """

    def __init__(self, above: Path | None) -> None:
        made = [folder for folder in (above, *above.parents) if not folder.exists()] if above else []
        if above:
            above.mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix=".packets.", dir=above))
        weakref.finalize(self, _remove, self.path, made)


def _remove(folder: Path, above: Iterable[Path]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        for each in above:
            each.rmdir()


def keep(file: Path, directory: Path) -> None:
    """Put `file` into `directory` too, without a second copy of its bytes where the disk allows it."""
    target = directory / file.name
    try:
        target.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, target)


@contextmanager
def replacing(directory: Path, kind: Kind = RESULT, choose: Callable[[], Path] | None = None) -> Iterator[Path]:
    """Give a fresh folder to fill; if that succeeds it becomes `directory`, else nothing has happened.

    Args:
        directory: the folder.
        kind: what it is.
        choose: says once the fresh one is filled which folder beside `directory` it becomes, if not that one: another
            process may have written it meanwhile.

    Raises:
        OSError: see `check_replaceable`, or the disk refuses.
    """
    check_replaceable(directory, kind)
    directory.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target, so that renaming stays within one file system.
    work = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    with (work / "lock").open("w") as lock:
        _locked(lock)
        try:
            fresh, old = work / "new", work / "old"
            fresh.mkdir()
            yield fresh
            _become(fresh, old, kind, choose or (lambda: directory))
        finally:
            shutil.rmtree(work, ignore_errors=True)


def save_study(
    directory: str | Path,
    kind: Kind,
    stem: str,
    *,
    report: Mapping[str, object],
    provenance: Mapping[str, object],
    table: pl.DataFrame,
    draw: Callable[[], Figure] | None,
    scenario_toml: str = "",
    inputs: Iterable[_inputs.Input] = (),
) -> Path:
    """Write the folder of a study: report, provenance, table and plot, which appear whole or not at all.

    Args:
        directory: the folder.
        kind: what it is.
        stem: the name of the files of report, table and plot.
        report: the numbers of the study.
        provenance: how they came about.
        table: the rows.
        draw: makes the plot; None is none.
        scenario_toml: the scenario, where there is one.
        inputs: its files.

    Raises:
        OSError: see `replacing`.
    """
    directory = Path(directory)
    with replacing(directory, kind) as fresh:
        if scenario_toml:
            (fresh / "scenario.toml").write_text(scenario_toml, encoding="utf-8")
        _inputs.write(inputs, fresh)
        for name, value in ((stem, report), ("provenance", provenance)):
            text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
            (fresh / f"{name}.json").write_text(text, encoding="utf-8")
        write_parquet(table, fresh / f"{stem}.parquet")
        if draw:
            _figures.plots().write(draw(), fresh / stem)
    return directory


def _become(fresh: Path, old: Path, kind: Kind, choose: Callable[[], Path]) -> None:
    """Put the fresh folder where `choose` says; what stands there is moved to `old`, if it may be replaced."""
    # Whoever is killed from here on leaves both: `put_back` finds them.
    directory = choose()
    try:
        while True:
            try:
                fresh.rename(directory)
                return
            except OSError as error:
                if error.errno not in _OCCUPIED:
                    raise
            # Another process may have put it there since it was chosen.
            if (again := choose()) == directory:
                check_replaceable(directory, kind)
                if old.exists():
                    shutil.rmtree(old)
                with suppress(FileNotFoundError):
                    directory.rename(old)
            directory = again
    except BaseException:
        if old.exists() and not directory.exists():
            old.rename(directory)
        raise


def put_back(directory: Path) -> None:
    """Tidy up after processes that were killed while they replaced `directory`: it is what it was, or the new one.

    What they had taken away comes back unless the new one is in place; what they had not finished goes.
    """
    for work in sorted(directory.parent.glob(f".{glob.escape(directory.name)}.????????")):
        lock, old, new = (work / name for name in ("lock", "old", "new"))
        names = {entry.name for entry in work.iterdir()} if work.is_dir() and not work.is_symlink() else set()
        # With the lock alone it has just been begun.
        if "lock" not in names or names == {"lock"} or names - _PARTS:
            continue
        with lock.open("r+") as file:
            if not _locked(file, without=False):
                # Somebody is at it, or may be.
                continue
            if old.is_dir() and new.is_dir():
                if directory.exists():
                    print(f"transorbit: {old}: what {directory} was before a run was killed", file=sys.stderr)
                    continue
                old.rename(directory)
                print(f"transorbit: {directory}: put back after a run that was killed", file=sys.stderr)
            shutil.rmtree(work, ignore_errors=True)


def _locked(file: TextIO, *, without: bool = True) -> bool:
    """Whether the lock of a file is ours now; it goes with the process. `without`: the answer without such locks."""
    try:
        import fcntl
    except ImportError:
        return without
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks.
        return without
    return True
