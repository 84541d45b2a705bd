"""`evalprep status` on runs of ours, on runs started by hand, and on the dead."""

import json
import subprocess
import sys
import time
from dataclasses import asdict

import psutil
import pytest

from evalprep.errors import BadInput
from evalprep.run.folder import DONE, FAILED, PENDING, RUNNING, RunFolder, State, Unit
from evalprep.run.job import Job
from evalprep.status import duration, read_status, table_text, task_lines


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 s"),
        (59, "59 s"),
        (60, "1 min"),
        (60.5, "2 min"),
        (3599, "1 hr, 0 min"),
        (5700, "1 hr, 35 min"),
        (3600, "1 hr, 0 min"),
    ],
)
def test_durations_are_rounded_up(seconds, text):
    assert duration(seconds) == text


def test_estimates_come_from_what_is_done():
    now = time.time()
    units = [
        Unit("a", "a", 10, status=DONE, seconds=20.0, score=0.5, metric="acc,none"),
        Unit("b.0000", "b", 10, whole=False, status=DONE, seconds=40.0, score=0.2),
        Unit("b.0001", "b", 30, first=10, whole=False, status=RUNNING, started=now - 5),
        Unit("c", "c", 100),
        Unit("d", "d", 5, status=FAILED, message="ValueError: no\nValueError: the last line " + "x" * 80),
    ]
    lines = {line.name: line for line in task_lines(units, {"a": "pack"})}
    assert [lines[name].status for name in "abcd"] == [DONE, RUNNING, PENDING, FAILED]
    assert (lines["a"].seconds, lines["a"].score, lines["a"].category) == (20.0, 0.5, "pack")
    assert lines["b"].estimate == pytest.approx(160.0)  # its own pace, 4 s per row
    assert lines["b"].seconds == pytest.approx(45.0, abs=2)
    assert lines["b"].progress == "1/2"
    assert lines["b"].score is None  # a part is no score
    assert lines["c"].estimate == pytest.approx(300.0)  # the pace of all, 60 s for 20 rows
    assert lines["d"].result().startswith("ValueError: the last line")
    assert lines["d"].result().endswith("...")
    assert lines["c"].runtime() == "(estimated) 5 min"


def test_shards_are_averaged_by_rows():
    units = [
        Unit("t.0", "t", 30, whole=False, status=DONE, seconds=1.0, score=1.0),
        Unit("t.1", "t", 10, first=30, whole=False, status=DONE, seconds=1.0, score=0.0),
    ]
    assert task_lines(units)[0].score == pytest.approx(0.75)


def run_folder(tmp_path, phase, pid=None):
    job = Job(
        "dummy", {}, ["one", "two"], {"output_path": str(tmp_path / "out"), "include_path": str(tmp_path / "work_dir")}
    )
    folder = RunFolder.of(job)
    folder.create(job)
    folder.save(
        State(
            phase=phase,
            pid=pid,
            units=[Unit("one", "one", 4, status=RUNNING, started=time.time()), Unit("two", "two", 4)],
        )
    )
    return folder


def test_a_dead_process_is_an_error_and_not_running(tmp_path):
    run_folder(tmp_path, "running", pid=1)
    status = read_status(tmp_path / "out")
    assert not status.alive
    assert {task.name: task.status for task in status.tasks} == {"one": FAILED, "two": PENDING}
    assert "goes on from here" in status.tasks[0].message
    assert status.tasks[0].name == "one"  # what failed comes first


def test_a_live_one_is_running(tmp_path):
    folder = run_folder(tmp_path, "running")
    with folder.lock():
        status = read_status(tmp_path / "out")
        assert status.alive
        assert {task.name: task.status for task in status.tasks} == {"one": RUNNING, "two": PENDING}
        with pytest.raises(BadInput, match="under way"), folder.lock():
            pass


def test_a_finished_unit_counts_although_the_state_does_not_know(tmp_path):
    folder = run_folder(tmp_path, "running")
    (folder.units / "one").mkdir()
    assert {task.name: task.status for task in read_status(tmp_path / "out").tasks} == {"one": DONE, "two": PENDING}


def test_results_of_a_run_by_hand(tmp_path):
    place = tmp_path / "out" / "org__model"
    place.mkdir(parents=True)
    (place / "results_2026-01-01T00-00-00.1.json").write_text(
        json.dumps(
            {
                "results": {
                    "gsm": {
                        "alias": "gsm",
                        "exact_match,strict": 0.25,
                        "exact_match,flexible": 0.5,
                        "exact_match_stderr,strict": 0.1,
                    },
                    "a_group": {"alias": "a_group", "exact_match,strict": 0.25},
                },
                "configs": {
                    "gsm": {"metadata": {"primary_metric": "exact_match", "primary_filter": "flexible", "pack": "mine"}}
                },
                "total_evaluation_time_seconds": "61.5",
            }
        )
    )
    status = read_status(tmp_path / "out")
    assert [(task.name, task.status, task.score, task.category, task.runtime()) for task in status.tasks] == [
        ("gsm", DONE, 0.5, "mine", "2 min")
    ]
    assert "✓  gsm" in table_text(status)


def test_a_live_harness_process_is_found_by_its_output_path(tmp_path):
    script = tmp_path / "lm_eval"
    script.write_text("import time\ntime.sleep(60)\n")
    words = [sys.executable, str(script), "--tasks", "one,two", "--output_path", str(tmp_path / "out")]
    process = subprocess.Popen(words)
    try:
        while not psutil.Process(process.pid).cmdline():
            time.sleep(0.01)
        status = read_status(tmp_path / "out")
        assert status.alive
        assert {task.name: task.status for task in status.tasks} == {"one": RUNNING, "two": RUNNING}
    finally:
        process.kill()
        process.wait()
    with pytest.raises(BadInput):
        read_status(tmp_path / "out")


def test_state_survives_a_writer_that_dies_in_between(tmp_path):
    folder = run_folder(tmp_path, "running")
    before = asdict(folder.state())
    (folder.path / ".state.json.half").write_text("{")  # what a killed write leaves behind
    assert asdict(folder.state()) == before
    (folder.path / "state.json").write_text("{")
    assert folder.state() == State()
    assert (folder.path / "job.json").exists()
