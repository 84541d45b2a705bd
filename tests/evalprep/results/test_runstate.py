"""The state that `evalprep run` records: whole or absent, whatever lies in its place."""

import json
import time

import pytest

from evalprep.results import DONE, State, Unit, read_state, runs_in, write_state
from evalprep.results.identity import Failure
from evalprep.results.record import note_failures, read_failures
from evalprep.results.runstate import recorded_states


def test_a_state_is_read_as_it_was_written(tmp_path):
    run = runs_in(tmp_path) / "7c3f9a2b1d04"
    run.mkdir(parents=True)
    units = [Unit("t", "t", 4, status=DONE, seconds=2.5, score=float("nan"), requests=4)]
    state = State(phase=DONE, units=units, scores={"t": (0.5, "acc,none")})
    write_state(run, state)
    read = read_state(run)
    assert repr(read) == repr(state)
    assert read.is_done
    assert [found.scores for found in recorded_states(tmp_path)] == [state.scores]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"units": 1}',
        '{"units": [{"name": "t", "task": "t", "rows": "4"}]}',
        '{"units": [{"name": "t"}]}',
        '{"started": "now"}',
        "[" * 100_000,
    ],
)
def test_a_state_that_is_damaged_is_none(content, tmp_path):
    (tmp_path / "state.json").write_text(content)
    assert read_state(tmp_path) is None


def test_keys_of_a_later_version_are_left_out(tmp_path):
    (tmp_path / "state.json").write_text(json.dumps({"phase": DONE, "colour": "red"}))
    assert read_state(tmp_path) == State(phase=DONE)


def test_why_tasks_failed_is_kept_until_they_finish(tmp_path):
    run, begun = "7c3f9a2b1d04", time.time()
    note_failures(tmp_path, run, {"t": "no data", "u": "no space"}, set())
    first = read_failures(tmp_path, run)
    assert first == {
        "t": Failure("no data", attempt=1, when=first["t"].when),
        "u": Failure("no space", attempt=1, when=first["t"].when),
    }
    assert begun <= first["t"].seconds <= time.time()
    note_failures(tmp_path, run, {"t": "no network"}, {"u"}, command="c1-plain", attempt=2)
    second = read_failures(tmp_path, run)
    assert second == {"t": Failure("no network", "c1-plain", 2, second["t"].when)}
    assert second["t"].seconds >= first["t"].seconds
    note_failures(tmp_path, run, {}, {"t"})
    assert read_failures(tmp_path, run) == {}


def test_failures_of_no_run_leave_no_file(tmp_path):
    note_failures(tmp_path, "", {"t": "no data"}, set())
    note_failures(tmp_path, "7c3f9a2b1d04", {}, {"t"})
    assert list(tmp_path.iterdir()) == []
