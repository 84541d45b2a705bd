"""The ledger: `annotations.sqlite`, one row per attempt to get an answer, kept under what decided the answer.

A row is on the disk before its request is sent and again before the answer is used, so that a crash at any point loses
no answer that was received, and sends at most those again that were on their way.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from evalprep.annotate.schema import VERSION, is_ours, migrate, version_of
from evalprep.errors import BadInput, Problem, cannot_write

FILE = "annotations.sqlite"
#: Statuses of an attempt that has a reply to read.
READABLE = ("received", "imported")
INTERRUPTED = "interrupted before an answer was kept"
_ABOVE = 3
_CHUNK = 500  # keys per query; SQLite allows 32,766


@dataclass(frozen=True)
class Attempt:
    """One row: an attempt to get an answer. Absent numbers are unknown, never 0."""

    key: str
    attempt: int
    annotator: str
    version: str
    model: str
    sampling: str
    input_sha256: str
    draw: int
    status: str
    reply: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    sent_at: str | None = None
    received_at: str | None = None
    provider_id: str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Use:
    """Which sample an answer is about."""

    key: str
    run: str
    task: str
    sample_id: str


@dataclass(frozen=True)
class Chosen:
    """Whose answers the scores of a run take for an annotator."""

    run: str
    annotator: str
    model: str
    sampling: str
    settings: str
    signed_at: str


_COLUMNS = [one.name for one in fields(Attempt)]
_PUT = f"INSERT OR REPLACE INTO attempts ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 - our own names


def now() -> str:
    """The time as it stands in the ledger: UTC, to the millisecond."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")


def find_ledger(folders: Iterable[Path]) -> Path | None:
    """The ledger of a run: in one of its folders, or up to three above; the nearest."""
    starts = [folder.resolve() for folder in folders]
    for height in range(_ABOVE + 1):
        for start in starts:
            above = [start, *start.parents]
            # The root of a disk belongs to no run: a file there would be everybody's.
            if height < len(above) and above[height].name and (found := above[height] / FILE).is_file():
                return found
    return None


def ledger_place(folders: Iterable[Path]) -> Path:
    """Where the ledger of a run is, or is to be made: in the folder that all of its folders share.

    Folders that share nothing but the root have it in the first of them.
    """
    several = [folder.resolve() for folder in folders]
    shared = Path(os.path.commonpath(several))
    return find_ledger(several) or (shared if shared.name else several[0]) / FILE


class Ledger:
    """An open ledger. Several processes may read while one writes; who asks holds the lock beside it.

    Args:
        path: The file.
        write: Make it where it is absent, and bring it up to date.

    Raises:
        BadInput: it cannot be opened, is no ledger, is damaged, or was made by a newer evalprep.
    """

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path, self._write = path, write
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError as error:
            raise _unusable(path, error) from error
        except OSError as error:
            raise cannot_write(error, str(path)) from error

    def _open(self) -> sqlite3.Connection:
        mode = "rwc" if self._write else "ro"
        connection = _connect(self.path, f"mode={mode}")
        try:
            self._refuse(connection)
            if self._write:
                # Some network file systems cannot share memory; SQLite then keeps its old journal, which is as safe.
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse(self, connection: sqlite3.Connection) -> None:
        """Raise for a file that is no ledger, or one of the future."""
        where = str(self.path)
        if not is_ours(connection):
            raise BadInput(
                Problem(what="is an SQLite file, but no ledger of evalprep", where=where, fix="move it away")
            )
        if (version := version_of(connection)) > VERSION:
            what = f"was written by a newer evalprep (schema {version})"
            raise BadInput(Problem(what=what, where=where, allowed=f"schema up to {VERSION}", fix="update evalprep"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave one file that can be copied as it is, where nobody else has it open."""
        if self._write:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is written inside is on the disk afterwards, or none of it.

        Raises:
            BadInput: it cannot be written.
        """
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise _unusable(self.path, error) from error

    def put(self, attempts: Iterable[Attempt], uses: Iterable[Use] = ()) -> None:
        """Write rows, over those of the same key and attempt."""
        with self.transaction() as connection:
            self.put_into(connection, attempts, uses)

    @staticmethod
    def put_into(connection: sqlite3.Connection, attempts: Iterable[Attempt], uses: Iterable[Use] = ()) -> None:
        """Write rows inside a transaction."""
        connection.executemany(_PUT, map(astuple, attempts))
        connection.executemany("INSERT OR IGNORE INTO uses VALUES (?, ?, ?, ?)", map(astuple, uses))

    def attempts(self, keys: Iterable[str] | None = None) -> dict[str, list[Attempt]]:
        """Attempts by key, in order; of all keys by default."""

        def marks(chunk: list[str]) -> str:
            return ", ".join("?" * len(chunk))

        found: dict[str, list[Attempt]] = {}
        select = f"SELECT {', '.join(_COLUMNS)} FROM attempts"  # noqa: S608 - our own names
        wanted = None if keys is None else list(dict.fromkeys(keys))
        if wanted is None:
            rows: Iterable[tuple[Any, ...]] = self.query(f"{select} ORDER BY key, attempt")
        else:
            rows = (
                row
                for start in range(0, len(wanted), _CHUNK)
                for chunk in [wanted[start : start + _CHUNK]]
                for row in self.query(f"{select} WHERE key IN ({marks(chunk)}) ORDER BY key, attempt", chunk)
            )
        for row in rows:
            found.setdefault(row[0], []).append(Attempt(*row))
        return found

    def uses(self) -> dict[str, list[Use]]:
        """Samples by key."""
        found: dict[str, list[Use]] = {}
        for row in self.query("SELECT key, run, task, sample_id FROM uses ORDER BY key, run, task, sample_id"):
            found.setdefault(row[0], []).append(Use(*row))
        return found

    def choose(self, chosen: Chosen) -> None:
        """Let the scores of a run take the answers of a model from now on."""
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO chosen VALUES (?, ?, ?, ?, ?, ?)", astuple(chosen))

    def chosen(self, run: str) -> dict[str, Chosen]:
        """By annotator, whose answers the scores of a run take."""
        rows = self.query(
            "SELECT run, annotator, model, sampling, settings, signed_at FROM chosen WHERE run = ? ORDER BY annotator",
            [run],
        )
        return {row[1]: Chosen(*row) for row in rows}

    def judges(self, run: str, annotator: str) -> list[tuple[str, str]]:
        """Models, each with its parameters, that were asked for an annotator about a run, the first one first."""
        query = (
            "SELECT attempts.model, attempts.sampling FROM attempts JOIN uses ON uses.key = attempts.key "
            "WHERE uses.run = ? AND attempts.annotator = ? GROUP BY 1, 2 ORDER BY min(attempts.sent_at)"
        )
        return [(str(model), str(sampling)) for model, sampling in self.query(query, [run, annotator])]

    def close_interrupted(self) -> int:
        """Mark direct requests that a crash left on their way; the lock says that nobody waits for them.

        Returns:
            Their number.
        """
        with self.transaction() as connection:
            done = connection.execute(
                "UPDATE attempts SET status = 'failed', reason = ? WHERE status = 'sent' AND NOT EXISTS (SELECT 1 "
                "FROM batch_rows WHERE batch_rows.key = attempts.key AND batch_rows.attempt = attempts.attempt)",
                [INTERRUPTED],
            )
            return done.rowcount

    def query(self, query: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a query.

        Raises:
            BadInput: the ledger cannot be read.
        """
        try:
            return self._connection.execute(query, list(values)).fetchall()
        except sqlite3.DatabaseError as error:
            raise _unusable(self.path, error) from error


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?{mode}"

    def connect(more: str = "") -> sqlite3.Connection:
        # Autocommit: transactions are begun and ended by name. One thread at a time uses it, not always the same one.
        connection = sqlite3.connect(uri + more, uri=True, isolation_level=None, check_same_thread=False, timeout=30)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection

    try:
        return connect()
    except sqlite3.OperationalError:
        # A read-only folder, where SQLite can make no lock; nobody can write there either.
        if mode == "mode=ro" and path.is_file() and not path.with_name(path.name + "-wal").exists():
            return connect("&immutable=1")
        raise


def _unusable(path: Path, error: sqlite3.DatabaseError) -> BadInput:
    fix = "free space or make the folder writable; the same command goes on from there"
    if not isinstance(error, sqlite3.OperationalError):
        fix = f"move it away, or rescue its rows with `sqlite3 {path.name} .recover`"
    return BadInput(Problem(what=f"the ledger cannot be used: {error}", where=str(path), fix=fix))


def storable(text: str | None) -> str | None:
    """Text without what no database can hold: half characters, as a cut reply may have."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")
