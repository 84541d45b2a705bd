"""Rows in the order in which they came, few at a time on a quick disk and all at once on a slow one."""

import threading
from types import SimpleNamespace

import pytest

from evalprep.annotate import writer as writing
from evalprep.annotate.writer import Writer
from evalprep.errors import BadInput, Problem
from tests.evalprep.annotate.test_ledger import attempt

ROWS = 100


class Disk:
    """Stands in for a ledger: holds the first transaction up, and takes so many seconds for each."""

    def __init__(self, folder, clock, seconds):
        self.path, self.clock, self.seconds = folder / "ledger", clock, seconds
        self.free = threading.Event()
        self.transactions = []

    def put(self, attempts, _uses):
        self.free.wait()
        self.clock.now += self.seconds
        self.transactions.append([row.key for row in attempts])


@pytest.mark.parametrize(("seconds", "rest"), [(0.001, [24, 24, 24, 24, 3]), (0.5, [99])])
def test_a_transaction_has_few_rows_where_the_disk_is_quick(tmp_path, monkeypatch, seconds, rest):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(writing, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    disk = Disk(tmp_path, clock, seconds)
    with Writer(disk) as writer:
        first = writer.put(attempt("k0"))
        while not writer._rows.empty():  # until the thread has taken the row
            pass
        others = [writer.put(attempt(f"k{at}")) for at in range(1, ROWS)]
        assert not any(row.done() for row in (first, *others))
        disk.free.set()
    assert all(row.done() for row in (first, *others))
    assert [len(keys) for keys in disk.transactions] == [1, *rest]
    assert [key for keys in disk.transactions for key in keys] == [f"k{at}" for at in range(ROWS)]


class FullDisk:
    """Stands in for a ledger whose first transaction finds no space."""

    def __init__(self, folder):
        self.path = folder / "ledger"
        self.is_full = True
        self.keys = []

    def put(self, attempts, _uses):
        if self.is_full:
            self.is_full = False
            raise BadInput(Problem(what="database or disk is full"))
        self.keys += [row.key for row in attempts]


def test_after_a_full_disk_answers_are_written_and_no_request_begins(tmp_path):
    disk = FullDisk(tmp_path)
    writer = Writer(disk)
    rows = [attempt("first", status="sent"), attempt("paid"), attempt("next", status="sent")]

    def write():
        with writer:
            return [writer.put(row).exception(timeout=10) for row in rows]

    with pytest.raises(BadInput, match="disk is full"):
        write()
    assert disk.keys == ["paid"]
