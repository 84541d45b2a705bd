"""The ledger: whatever stops the program or lies in its place, what was written is there and nothing else is hurt."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalprep.annotate.ledger import Attempt, Chosen, Ledger, Use
from evalprep.annotate.place import FILE, find_ledger, ledger_place
from evalprep.annotate.schema import STEPS, VERSION
from evalprep.errors import BadInput
from tests import PROJECT_ROOT
from tests.effort import examples


def attempt(key="k", number=1, status="received", **more):
    return Attempt(key, number, "judge", "1", "m", "{}", "0" * 64, 0, status, **more)


def test_what_is_put_is_found(tmp_path):
    path = tmp_path / FILE
    with Ledger(path, write=True) as ledger:
        ledger.put(
            [attempt(reply="Rating: 4", tokens_in=3, cost=0.5)], [Use("k", "run", "quiz", "q1")]
        )
        ledger.put([attempt("other", status="sent")])
        ledger.choose(Chosen("run", "judge", "m", "{}", "{}", "now"))
    with Ledger(path) as ledger:
        assert ledger.attempts(["k", "absent"]) == {
            "k": [attempt(reply="Rating: 4", tokens_in=3, cost=0.5)]
        }
        assert list(ledger.attempts()) == ["k", "other"]
        assert ledger.uses() == {"k": [Use("k", "run", "quiz", "q1")]}
        assert ledger.chosen("run")["judge"].model == "m"
        assert ledger.chosen("another") == {}
    assert [path.name for path in tmp_path.iterdir()] == [FILE]  # one file that can be copied


def test_more_keys_than_a_query_takes(tmp_path):
    with Ledger(tmp_path / FILE, write=True) as ledger:
        ledger.put(attempt(f"k{at}") for at in range(1_700))
        assert len(ledger.attempts(f"k{at}" for at in range(1_800))) == 1_700


@settings(max_examples=examples(25))
@given(st.text(), st.integers(0, 10**9), st.floats(0, 1e9))
def test_any_text_comes_back(tmp_path_factory, text, tokens, cost):
    from evalprep.annotate.ledger import storable

    row = attempt(reply=storable(text), reason=storable(text), tokens_in=tokens, cost=cost)
    with Ledger(tmp_path_factory.mktemp("ledger") / FILE, write=True) as ledger:
        ledger.put([row])
        assert ledger.attempts() == {"k": [row]}


def test_half_characters_are_written_out():
    from evalprep.annotate.ledger import storable

    assert storable("a\ud800b") == "a\\ud800b"


def test_requests_that_a_crash_left_on_their_way_are_closed_but_not_those_of_a_batch(tmp_path):
    with Ledger(tmp_path / FILE, write=True) as ledger:
        ledger.put([attempt("a", status="sent"), attempt("b", status="sent"), attempt("c")])
        with ledger.transaction() as connection:
            connection.execute("INSERT INTO batch_rows VALUES (1, 'b', 1)")
        assert ledger.close_interrupted() == 1
        assert [ledger.attempts()[key][0].status for key in "abc"] == ["failed", "sent", "received"]


@pytest.mark.parametrize("height", range(5))
def test_it_is_found_in_the_run_or_up_to_three_above(tmp_path, height):
    run = tmp_path / "a" / "b" / "c" / "d" / "run"
    run.mkdir(parents=True)
    place = [run, *run.parents][height] / FILE
    Ledger(place, write=True).close()
    assert find_ledger([run]) == (place if height <= 3 else None)


def test_the_nearest_counts_and_a_new_one_goes_where_the_folders_meet(tmp_path):
    folders = [tmp_path / "runs" / name for name in ("m1", "m2")]
    for folder in folders:
        folder.mkdir(parents=True)
    assert ledger_place(folders) == tmp_path / "runs" / FILE
    Ledger(tmp_path / FILE, write=True).close()
    assert ledger_place(folders) == tmp_path / FILE
    Ledger(folders[1] / FILE, write=True).close()
    assert ledger_place(folders) == folders[1] / FILE


class TestForeign:
    def test_no_ledger(self, tmp_path):
        path = tmp_path / FILE
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE attempts (key)")
        before = path.read_bytes()
        with pytest.raises(BadInput, match="no ledger of evalprep"):
            Ledger(path, write=True)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("content", [b"x" * 5_000, b"SQLite format 3\0" + b"\1" * 5_000])
    def test_no_database(self, tmp_path, content):
        path = tmp_path / FILE
        path.write_bytes(content)
        for write in (False, True):
            with pytest.raises(BadInput, match="cannot be used"):
                Ledger(path, write=write)
        assert path.read_bytes() == content

    def test_of_the_future(self, tmp_path):
        path = tmp_path / FILE
        Ledger(path, write=True).close()
        with sqlite3.connect(path) as connection:
            connection.execute(f"PRAGMA user_version = {VERSION + 1}")
        with pytest.raises(BadInput, match="newer evalprep"):
            Ledger(path)

    def test_with_a_trigger(self, tmp_path):
        path = tmp_path / FILE
        Ledger(path, write=True).close()
        with sqlite3.connect(path) as connection:
            connection.execute(
                "CREATE TRIGGER t AFTER INSERT ON uses BEGIN DELETE FROM attempts; END"
            )
        with pytest.raises(BadInput, match="no ledger"):
            Ledger(path)

    def test_absent(self, tmp_path):
        with pytest.raises(BadInput, match="cannot be used"):
            Ledger(tmp_path / FILE)
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_cannot_be_written(self, tmp_path):
        if os.geteuid() == 0:
            pytest.skip("root may write everywhere")
        Ledger(tmp_path / FILE, write=True).close()
        tmp_path.chmod(0o500)
        try:
            with Ledger(tmp_path / FILE) as ledger:
                assert ledger.attempts() == {}
        finally:
            tmp_path.chmod(0o700)


def test_every_step_alone_is_whole(tmp_path):
    """A crash inside a step leaves the state before it."""
    assert len(STEPS) == VERSION
    path = tmp_path / FILE
    connection = sqlite3.connect(path, isolation_level=None)
    connection.set_authorizer(
        lambda action, name, *_: (
            sqlite3.SQLITE_DENY
            if action == sqlite3.SQLITE_CREATE_TABLE and name == "batches"
            else sqlite3.SQLITE_OK
        )
    )
    from evalprep.annotate.schema import migrate

    with pytest.raises(sqlite3.DatabaseError):
        migrate(connection)
    connection.close()
    with Ledger(path, write=True) as ledger:
        ledger.put([attempt()])


def test_a_killed_writer_loses_nothing_that_it_reported(tmp_path):
    program = f"""
import sys
from evalprep.annotate.ledger import Ledger
from evalprep.annotate.writer import Writer
from tests.evalprep.annotate.test_ledger import attempt
from pathlib import Path
with Writer(Ledger(Path({str(tmp_path / FILE)!r}), write=True)) as writer:
    for at in range(10**6):
        writer.put(attempt(f"k{{at}}")).result()
        print(at, flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=PROJECT_ROOT, text=True,
        env=os.environ | {"PYTHONPATH": str(PROJECT_ROOT)},
    )  # fmt: skip
    for _ in range(50):
        reported = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    for line in process.stdout:
        reported = int(line) if line.endswith("\n") else reported
    process.wait()
    with Ledger(tmp_path / FILE) as ledger:
        assert {f"k{at}" for at in range(reported + 1)} <= set(ledger.attempts())


def test_the_root_of_a_disk_holds_no_ledger(tmp_path):
    shared = [tmp_path / "a", tmp_path / "b"]
    assert ledger_place(shared) == tmp_path.resolve() / FILE
    assert (
        ledger_place([Path("/nowhere-a/run"), Path("/nowhere-b/run")])
        == Path("/nowhere-a/run") / FILE
    )
