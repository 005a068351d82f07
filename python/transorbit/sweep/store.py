"""Where outcomes of runs are kept: a file of SQLite, which a process that is killed does not corrupt."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING

from transorbit._core import ScenarioError
from transorbit.sweep.work import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_COLUMNS = tuple(field.name for field in fields(Outcome))
_values = attrgetter(*_COLUMNS)
_LAYOUT = 1
_PART = 500
_SCHEMA = """
CREATE TABLE IF NOT EXISTS outcomes (
    key TEXT PRIMARY KEY, scenario_sha256 TEXT NOT NULL, seed INTEGER NOT NULL, status TEXT NOT NULL, error TEXT,
    data BLOB, transorbit TEXT NOT NULL, build TEXT NOT NULL, created TEXT NOT NULL, wall_s REAL NOT NULL,
    host TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS members (
    sweep TEXT NOT NULL, point INTEGER NOT NULL, replication INTEGER NOT NULL, key TEXT NOT NULL,
    PRIMARY KEY (sweep, point, replication)
) WITHOUT ROWID;
"""


class Store:
    """Outcomes by key, and which of them make up which sweep. Only the process that starts a sweep writes here."""

    def __init__(self, path: Path | None, *, reading: bool = False) -> None:
        """Open or create the file; without one the store is in memory and goes with this object.

        With `reading` the file is there already, and may be one that this process must not write.

        Raises:
            ScenarioError: the file is not a store, or one of another layout.
        """
        self._path = path
        if path and reading and not all(os.access(place, os.W_OK) for place in (path, path.parent)):
            self._open_to_read(path)
            return
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(path or ":memory:", timeout=30, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            # A killed process loses nothing with this, and a power cut at most the last moments, never the file.
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._check_layout(0, _LAYOUT)
            self._db.executescript(_SCHEMA)
            self._db.execute(f"PRAGMA user_version = {_LAYOUT}")
        except sqlite3.Error as error:
            raise ScenarioError(f"{path}: cannot be used as a store of runs: {error}") from None

    def finished(self, key: str) -> bool:
        """Whether the run has been computed to its end."""
        with self._told():
            outcome = self._db.execute("SELECT status = 'ok' FROM outcomes WHERE key = ?", (key,)).fetchone()
        return bool(outcome and outcome[0])

    def put(self, outcome: Outcome) -> None:
        """Keep an outcome. One that ended well is never replaced by one that failed."""
        marks = ", ".join("?" * len(_COLUMNS))
        changes = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])
        query = (
            f"INSERT INTO outcomes ({', '.join(_COLUMNS)}) VALUES ({marks}) "  # noqa: S608 - constants
            f"ON CONFLICT (key) DO UPDATE SET {changes} WHERE outcomes.status <> 'ok'"
        )
        with self._told():
            self._db.execute(query, _values(outcome))

    def part(self, sweep: str, members: Iterable[tuple[int, int, str]]) -> None:
        """Part the sweep from these of its runs (point, replication, key), which stay in the store."""
        self._each("DELETE FROM members WHERE sweep = ? AND point = ? AND replication = ? AND key = ?", sweep, members)

    def join(self, sweep: str, members: Iterable[tuple[int, int, str]]) -> None:
        """Note that these runs (point, replication, key) belong to the sweep."""
        self._each("INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?)", sweep, members)

    def _each(self, query: str, sweep: str, members: Iterable[tuple[int, int, str]]) -> None:
        """All of them or none."""
        with self._told():
            self._db.execute("BEGIN")
            try:
                self._db.executemany(query, ((sweep, *member) for member in members))
                self._db.execute("COMMIT")
            except BaseException:
                # Ctrl-C as well: an open transaction would refuse the next.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def members(self, sweep: str) -> list[tuple[int, int, str]]:
        """The runs of a sweep: point, replication and key, in this order."""
        query = "SELECT point, replication, key FROM members WHERE sweep = ? ORDER BY point, replication"
        with self._told():
            return self._db.execute(query, (sweep,)).fetchall()

    def states(self, sweep: str) -> list[tuple[str, str, str | None]]:
        """Key, status and error of the runs of a sweep, in the order of `members`."""
        query = (
            "SELECT key, status, error FROM members JOIN outcomes USING (key) WHERE sweep = ? "
            "ORDER BY point, replication"
        )
        with self._told():
            return self._db.execute(query, (sweep,)).fetchall()

    def read(self, keys: Iterable[str]) -> Iterator[Outcome]:
        """The outcomes of these keys, as far as they are known, in no particular order."""
        run_keys = list(dict.fromkeys(keys))
        for start in range(0, len(run_keys), _PART):
            part = run_keys[start : start + _PART]
            marks = ", ".join("?" * len(part))
            query = f"SELECT {', '.join(_COLUMNS)} FROM outcomes WHERE key IN ({marks})"  # noqa: S608 - marks
            with self._told():
                rows = self._db.execute(query, part).fetchall()
            for row in rows:
                yield Outcome(*row)

    def close(self) -> None:
        """Leave the file."""
        self._db.close()

    def _open_to_read(self, path: Path) -> None:
        try:
            self._db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
            self._check_layout(_LAYOUT)
        except sqlite3.Error as error:
            raise ScenarioError(f"{path}: cannot be read without the right to write there: {error}") from None

    def _check_layout(self, *known: int) -> None:
        if self._db.execute("PRAGMA user_version").fetchone()[0] not in known:
            raise ScenarioError(f"{self._path}: was written by another version of transorbit; choose another folder")

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            told = f"{error}, by another process" if "locked" in str(error) else str(error)
            raise ScenarioError(f"{self._path}: {told}; what was kept stays, and the next start goes on") from None
