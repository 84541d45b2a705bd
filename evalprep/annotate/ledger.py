"""The ledger: `annotations.sqlite`, one row per attempt to get an answer.

A row is kept under what decided the answer.

A row is on the disk before its request is sent and again before the answer is used, so that a crash
at any point loses no answer that was received, and sends at most those again that were on their
way.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from evalprep.annotate.schema import VERSION, is_empty, is_ours, migrate, version_of
from evalprep.annotate.seal import Seal, known_seal, own_seal
from evalprep.errors import BadInput, Problem, cannot_write
from evalprep.files import StrayLink, check_regular, check_target, is_stray

#: Statuses of an attempt that has a reply to read.
READABLE = ("received", "imported")
INTERRUPTED = "interrupted before an answer was kept"
#: SQLite names damaged parts of a schema by their bytes, which may be no text.
_DAMAGED = (sqlite3.DatabaseError, UnicodeDecodeError)
_SMALLEST = 512  # bytes of an SQLite file with a table
_ROWS = 48  # per statement; SQLite before 3.32 allows 999 variables
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
    signed: bool = field(default=False, compare=False)  # written with this user's key, or about to

    def changed(self, **values: Any) -> Attempt:
        """The same row with other values; `dataclasses.replace` takes twice as long."""
        return Attempt(**{**vars(self), **values})


@dataclass(frozen=True)
class Use:
    """The sample that an answer is about."""

    key: str
    run: str
    task: str
    sample_id: str


@dataclass(frozen=True)
class Chosen:
    """The model whose answers the scores of a run take for an annotator."""

    run: str
    annotator: str
    model: str
    sampling: str
    settings: str
    signed_at: str
    signed: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class _Table:
    """A table whose rows are signed: its columns beside the digest."""

    name: str
    columns: tuple[str, ...]

    def select(self, *, with_digest: bool) -> str:
        digest = "digest" if with_digest else "''"
        # The names of table and columns are our own.
        return f"SELECT {', '.join(self.columns)}, {digest} FROM {self.name}"  # noqa: S608

    def insert(self, rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
        """The statement that writes some rows, and its values in order."""
        columns = ", ".join((*self.columns, "digest"))
        return _insert(f"INSERT OR REPLACE INTO {self.name} ({columns})", rows)


def _insert(into: str, rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
    """One statement for several rows.

    sqlite3 gives up Python's lock at every statement, and gets it back late while another thread
    computes: a statement per row would be most of the time of a transaction.
    """
    marks = f"({', '.join('?' * len(rows[0]))})"
    values = list(chain.from_iterable(rows))
    return f"{into} VALUES {', '.join([marks] * len(rows))}", values


_ATTEMPTS = _Table("attempts", tuple(each.name for each in fields(Attempt) if each.compare))
_CHOSEN = _Table("chosen", tuple(each.name for each in fields(Chosen) if each.compare))
_WITH_DIGEST = 2  # the schema's version that added the digests


def now() -> str:
    """The time as it stands in the ledger: UTC, to the millisecond."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")


_BESIDE = ("-wal", "-shm", "-journal")


class Ledger:
    """An open ledger. Several processes may read while one writes.

    Who asks holds the lock beside it.

    Args:
        path: The file.
        write: Make it where it is absent, and bring it up to date.

    Attributes:
        seal: By which its rows are signed, and known as this user's.
        empty: Whether nothing was ever written; a file that a full disk left is taken for new.

    Raises:
        BadInput: it cannot be opened, is no ledger, is damaged, or was made by a newer evalprep.
    """

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path = path
        self._write = write
        self.seal: Seal = own_seal() if write else known_seal()
        try:
            self._connection = self._open()
            self.empty = is_empty(self._connection)
            self._signed = not self.empty and version_of(self._connection) >= _WITH_DIGEST
        except _DAMAGED as error:
            raise _unusable(path, error) from error
        except OSError as error:
            raise cannot_write(error, str(path)) from error

    def _open(self) -> sqlite3.Connection:
        if is_stray(self.path, self.path.parent):
            raise StrayLink([self.path], self.path.parent)
        with contextlib.suppress(FileNotFoundError):
            check_regular(self.path)
        # SQLite writes through links; the files beside the ledger are its own.
        endings = ("", *_BESIDE) if self._write else _BESIDE
        for ending in endings:
            check_target(self.path.with_name(self.path.name + ending), self.path.parent)
        mode = "rwc" if self._write else "ro"
        connection = _connect(self.path, f"mode={mode}")
        try:
            self._refuse(connection)
            if self._write:
                # Some network file systems cannot share memory; SQLite then keeps its old journal,
                # which is as safe.
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse(self, connection: sqlite3.Connection) -> None:
        """Raises for a file that is no ledger, or one of the future."""
        where = str(self.path)
        if not is_ours(connection):
            raise BadInput(
                Problem(
                    what="is an SQLite file, but no ledger of evalprep",
                    where=where,
                    fix="move it away",
                )
            )
        if (version := version_of(connection)) > VERSION:
            what = f"was written by a newer evalprep (schema {version})"
            raise BadInput(
                Problem(
                    what=what, where=where, allowed=f"schema up to {VERSION}", fix="update evalprep"
                )
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves one file that can be copied as it is, where nobody else has it open."""
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
        except _DAMAGED as error:
            raise _unusable(self.path, error) from error

    def put(self, attempts: Iterable[Attempt], uses: Iterable[Use] = ()) -> None:
        """Writes rows, over those of the same key and attempt."""
        with self.transaction() as connection:
            self.put_into(connection, attempts, uses)

    def put_into(
        self, connection: sqlite3.Connection, attempts: Iterable[Attempt], uses: Iterable[Use] = ()
    ) -> None:
        """Writes rows inside a transaction, signed."""
        for some in _batched(map(self._sealed, attempts)):
            connection.execute(*_ATTEMPTS.insert(some))
        for some in _batched(map(_values_of, uses)):
            connection.execute(*_insert("INSERT OR IGNORE INTO uses", some))

    def _sealed(self, row: Attempt | Chosen) -> tuple[Any, ...]:
        values = _values_of(row)[:-1]  # without `signed`
        return (*values, self.seal.digest(values))

    def _is_signed(self, row: tuple[Any, ...]) -> bool:
        return self.seal.holds(row[:-1], row[-1])

    def attempts(self, keys: Iterable[str] | None = None) -> dict[str, list[Attempt]]:
        """Attempts by key, in order; of all keys by default."""
        select, order = _ATTEMPTS.select(with_digest=self._signed), "ORDER BY key, attempt"
        if keys is None:
            return self._by_key(self.query(f"{select} {order}"))
        unique_keys = list(dict.fromkeys(keys))
        rows: list[tuple[Any, ...]] = []
        for start in range(0, len(unique_keys), _CHUNK):
            chunk = unique_keys[start : start + _CHUNK]
            marks = ", ".join("?" * len(chunk))
            rows += self.query(f"{select} WHERE key IN ({marks}) {order}", chunk)
        return self._by_key(rows)

    def _by_key(self, rows: Iterable[tuple[Any, ...]]) -> dict[str, list[Attempt]]:
        attempts: dict[str, list[Attempt]] = {}
        for row in rows:
            attempt = Attempt(*row[:-1]).changed(signed=self._is_signed(row))
            attempts.setdefault(attempt.key, []).append(attempt)
        return attempts

    def foreign(self, run: str) -> dict[str, int]:
        """Annotator -> number of its questions about a run with answers that nobody signed.

        A question that has a signed answer, too, does not count.
        """
        keys = [str(key) for (key,) in self.query("SELECT key FROM uses WHERE run = ?", [run])]
        counts: dict[str, int] = {}
        for attempts in self.attempts(keys).values():
            replies = [each for each in attempts if each.status in READABLE]
            if replies and not any(each.signed for each in replies):
                counts[replies[0].annotator] = counts.get(replies[0].annotator, 0) + 1
        for chosen in self.chosen(run).values():
            if not chosen.signed:
                counts.setdefault(chosen.annotator, 1)
        return counts

    def sign_all(self) -> int:
        """Signs every row that has no valid digest; returns the number of answers among them."""
        attempts = chain.from_iterable(self.attempts().values())
        unsigned = [attempt for attempt in attempts if not attempt.signed]
        choices = [Chosen(*row[:-1]) for row in self._chosen_rows()]
        with self.transaction() as connection:
            self.put_into(connection, unsigned)
            for batch in _batched(map(self._sealed, choices)):
                connection.execute(*_CHOSEN.insert(batch))
        answers = [attempt for attempt in unsigned if attempt.status in READABLE]
        return len(answers)

    def uses(self) -> dict[str, list[Use]]:
        """Samples by key."""
        uses_by_key: dict[str, list[Use]] = {}
        for row in self.query(
            "SELECT key, run, task, sample_id FROM uses ORDER BY key, run, task, sample_id"
        ):
            uses_by_key.setdefault(row[0], []).append(Use(*row))
        return uses_by_key

    def choose(self, chosen: Chosen) -> None:
        """Lets the scores of a run take the answers of a model from now on."""
        with self.transaction() as connection:
            connection.execute(*_CHOSEN.insert([self._sealed(chosen)]))

    def chosen(self, run: str) -> dict[str, Chosen]:
        """Annotator -> the model whose answers the scores of a run take."""
        chosen: dict[str, Chosen] = {}
        for row in sorted(row for row in self._chosen_rows() if row[0] == run):
            choice = Chosen(*row[:-1])
            chosen[choice.annotator] = replace(choice, signed=self._is_signed(row))
        return chosen

    def _chosen_rows(self) -> list[tuple[Any, ...]]:
        return self.query(_CHOSEN.select(with_digest=self._signed))

    def judges(self, run: str, annotator: str) -> list[tuple[str, str]]:
        """Models that were asked for an annotator about a run, the first one first.

        Each has its parameters.
        """
        query = (
            "SELECT attempts.model, attempts.sampling FROM attempts JOIN uses ON uses.key = "
            "attempts.key WHERE uses.run = ? AND attempts.annotator = ? GROUP BY 1, 2 ORDER BY "
            "min(attempts.sent_at)"
        )
        return [
            (str(model), str(sampling)) for model, sampling in self.query(query, [run, annotator])
        ]

    def close_interrupted(self) -> int:
        """Marks direct requests that a crash left on their way.

        The lock says that nobody waits for them.

        Returns:
            Their number.
        """
        with self.transaction() as connection:
            done = connection.execute(
                "UPDATE attempts SET status = 'failed', reason = ? WHERE status = 'sent' AND NOT "
                "EXISTS (SELECT 1 FROM batch_rows WHERE batch_rows.key = attempts.key AND "
                "batch_rows.attempt = attempts.attempt)",
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
        except _DAMAGED as error:
            raise _unusable(self.path, error) from error


def _batched(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows in groups of a size for which SQLite has enough variables."""
    remaining = iter(rows)
    while some := list(islice(remaining, _ROWS)):
        yield some


def _values_of(row: Attempt | Chosen | Use) -> tuple[Any, ...]:
    """The values of a row in the order of its columns; `astuple` would copy each."""
    return tuple(vars(row).values())


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?{mode}"

    def connect(more: str = "") -> sqlite3.Connection:
        # Autocommit: transactions are begun and ended by name. One thread at a time uses it, not
        # always the same one.
        connection = sqlite3.connect(
            uri + more, uri=True, isolation_level=None, check_same_thread=False, timeout=30
        )
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


def _unusable(path: Path, error: Exception) -> BadInput:
    fix = "free space or make the folder writable; the same command goes on from there"
    if not isinstance(error, sqlite3.OperationalError):
        fix = f"move it away, or rescue its rows with `sqlite3 {path.name} .recover`"
        if path.is_file() and path.stat().st_size < _SMALLEST:
            fix = f"delete {path.name}: it was cut off while it was made, and holds no answer"
    return BadInput(Problem(what=f"the ledger cannot be used: {error}", where=str(path), fix=fix))


def storable(text: str | None) -> str | None:
    """Text without what no database can hold: half characters, as a cut reply may have."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")
