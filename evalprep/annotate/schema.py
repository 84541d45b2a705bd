"""The tables of the ledger and the steps that bring an older one up to date.

A step is never changed once released; a change of the tables is a further step. `user_version`
counts the steps done.
"""

from __future__ import annotations

import sqlite3

#: "evAn": marks a file as ours, as opposed to any other SQLite file.
APPLICATION_ID = 0x6576416E

STEPS = (
    """
    CREATE TABLE attempts (
        key TEXT NOT NULL,            -- hash of annotator, version, model, sampling, input and draw
        attempt INTEGER NOT NULL,     -- from 1
        annotator TEXT NOT NULL,
        version TEXT NOT NULL,
        model TEXT NOT NULL,
        sampling TEXT NOT NULL,       -- canonical JSON
        input_sha256 TEXT NOT NULL,
        draw INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN
            ('prepared', 'sent', 'received', 'refused', 'truncated', 'failed', 'expired', \
'imported')),
        reply TEXT,
        tokens_in INTEGER,
        tokens_out INTEGER,
        cost REAL,                    -- NULL: unknown
        sent_at TEXT,
        received_at TEXT,
        provider_id TEXT,             -- of the response; of the batch while it is on its way
        reason TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (key, attempt)
    ) WITHOUT ROWID;
    CREATE TABLE uses (
        key TEXT NOT NULL,
        run TEXT NOT NULL,
        task TEXT NOT NULL,
        sample_id TEXT NOT NULL,
        PRIMARY KEY (key, run, task, sample_id)
    ) WITHOUT ROWID;
    CREATE TABLE chosen (             -- whose answers the scores of a run take
        run TEXT NOT NULL,
        annotator TEXT NOT NULL,
        model TEXT NOT NULL,
        sampling TEXT NOT NULL,       -- what the user set over the annotator's own, canonical JSON
        settings TEXT NOT NULL,       -- base_url, rubric and the like, JSON
        signed_at TEXT NOT NULL,
        PRIMARY KEY (run, annotator)
    ) WITHOUT ROWID;
    CREATE TABLE batches (
        number INTEGER PRIMARY KEY,
        run TEXT NOT NULL,
        wire TEXT NOT NULL,
        base_url TEXT NOT NULL,
        model TEXT NOT NULL,
        request_sha256 TEXT NOT NULL, -- of the requests as they are sent
        inputs TEXT NOT NULL,         -- what decided them: name -> digest, JSON
        state TEXT NOT NULL CHECK (state IN ('prepared', 'submitting', 'submitted', 'in_progress', \
'completed',
            'failed', 'expired', 'cancelled', 'collected')),
        file_id TEXT,
        batch_id TEXT,
        counts TEXT NOT NULL DEFAULT '{}',
        reason TEXT NOT NULL DEFAULT '',
        prepared_at TEXT NOT NULL,
        submitted_at TEXT,
        checked_at TEXT
    );
    CREATE TABLE batch_rows (
        batch INTEGER NOT NULL,
        key TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        PRIMARY KEY (batch, key)
    ) WITHOUT ROWID;
    """,
    """
    ALTER TABLE attempts ADD COLUMN digest TEXT NOT NULL DEFAULT '';  -- of `seal`; '' before step 2
    ALTER TABLE chosen ADD COLUMN digest TEXT NOT NULL DEFAULT '';
    """,
)
VERSION = len(STEPS)


def migrate(connection: sqlite3.Connection) -> None:
    """Brings a ledger up to date, each step whole or not at all."""
    for number in range(version_of(connection), VERSION):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have been faster.
            if version_of(connection) == number:
                for statement in _statements(STEPS[number]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def version_of(connection: sqlite3.Connection) -> int:
    """The number of steps that were done."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_empty(connection: sqlite3.Connection) -> bool:
    """Returns whether a file has no tables, as a full disk or a kill while making it leaves it."""
    return int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]) == 0


def is_ours(connection: sqlite3.Connection) -> bool:
    """Returns whether a file is empty, or a ledger without code that runs by itself (triggers)."""
    if is_empty(connection):
        return True
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        return False
    kinds = {kind for (kind,) in connection.execute("SELECT type FROM sqlite_master")}
    return kinds <= {"table", "index"} and version_of(connection) > 0


def _statements(text: str) -> list[str]:
    # `executescript` would commit; the steps hold no semicolon inside a statement.
    lines = [line.partition("--")[0].rstrip() for line in text.splitlines()]
    return [statement for statement in "\n".join(lines).split(";\n") if statement.strip()]
