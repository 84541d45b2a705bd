"""`evalprep status` on runs of ours, on runs started by hand, and on the dead."""

import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from types import SimpleNamespace
from unittest import mock

import psutil
import pytest

from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.results import DONE, FAILED, PENDING, RUNNING, State, Unit
from evalprep.status import TaskStatus, duration, manual_runs, read_status, table_lines, task_lines
from evalprep.status.folder import RunFolder
from evalprep.status.job import Job
from tests.evalprep.results.writing import Row, write_run


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
        Unit(
            "d",
            "d",
            5,
            status=FAILED,
            message="ValueError: no\nValueError: the last line " + "x" * 80,
        ),
    ]
    lines = {line.name: line for line in task_lines(units, {"a": "pack"})}
    assert [lines[name].status for name in "abcd"] == [DONE, RUNNING, PENDING, FAILED]
    assert (lines["a"].seconds, lines["a"].score, lines["a"].category) == (20.0, 0.5, "pack")
    assert lines["b"].estimate == pytest.approx(160.0)  # its own pace, 4 s per row
    assert lines["b"].seconds == pytest.approx(45.0, abs=2)
    assert lines["b"].progress == "1/2"
    assert (lines["b"].score, lines["b"].so_far) == (0.2, True)  # of the rows that are done
    assert lines["b"].result() == "0.2000 so far"
    assert lines["c"].estimate == pytest.approx(300.0)  # the pace of all, 60 s for 20 rows
    assert lines["d"].result().startswith("ValueError: the last line")
    assert lines["c"].runtime() == "(estimated) 5 min"


def test_shards_are_averaged_by_rows():
    units = [
        Unit("t.0", "t", 30, whole=False, status=DONE, seconds=1.0, score=1.0),
        Unit("t.1", "t", 10, first=30, whole=False, status=DONE, seconds=1.0, score=0.0),
    ]
    assert task_lines(units)[0].score == pytest.approx(0.75)


def run_folder(tmp_path, phase, pid=None):
    job = Job(
        "dummy",
        {},
        ["one", "two"],
        {"output_path": str(tmp_path / "out"), "include_path": str(tmp_path / "work_dir")},
    )
    folder = RunFolder.of(job)
    folder.create(job)
    folder.save(
        State(
            phase=phase,
            pid=pid,
            units=[
                Unit("one", "one", 4, status=RUNNING, started=time.time()),
                Unit("two", "two", 4),
            ],
        )
    )
    return folder


def test_refresh_prints_until_the_run_has_ended(tmp_path, monkeypatch, capsys):
    """Each table is read anew, the waits are those that were asked for, and the last one is final."""
    folder = run_folder(tmp_path, "running")
    waits = []
    with contextlib.ExitStack() as running:
        running.enter_context(folder.lock())

        def wait(seconds):
            waits.append(seconds)
            state = folder.state()
            state.units[len(waits) - 1].status = DONE
            if len(waits) == 2:
                state.phase = "done"
                running.close()
            folder.save(state)

        monkeypatch.setattr("evalprep.verbs.status.time.sleep", wait)
        assert main(["status", str(tmp_path / "out"), "--refresh", "0.5"]) == 0
    assert waits == [0.5, 0.5]
    tables = capsys.readouterr().out.split("runtime")[1:]
    assert [table.count("\n✓ ") - 1 for table in tables] == [0, 1, 2]  # one in the legend


@pytest.mark.parametrize("seconds", ["0", "5"])
def test_refresh_of_a_run_that_has_ended_prints_once(tmp_path, monkeypatch, seconds):
    run_folder(tmp_path, "done")
    monkeypatch.setattr("evalprep.verbs.status.time.sleep", lambda _: pytest.fail("it waits"))
    main(["status", str(tmp_path / "out"), "--refresh", seconds])


def test_a_dead_process_is_an_error_and_not_running(tmp_path):
    run_folder(tmp_path, "running", pid=1)
    status = read_status(tmp_path / "out")
    assert not status.alive
    assert {task.name: task.status for task in status.tasks} == {"one": FAILED, "two": PENDING}
    assert "`evalprep run` continues" in status.tasks[0].message
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
    one = Unit("one", "one", 4, status=DONE, seconds=3.0, score=0.5, metric="acc,none")
    folder.part(one).mkdir()
    folder.finish(one)
    lines = {task.name: task for task in read_status(tmp_path / "out").tasks}
    assert {name: line.status for name, line in lines.items()} == {"one": DONE, "two": PENDING}
    assert (lines["one"].score, lines["one"].seconds) == (0.5, 3.0)
    assert folder.finished(Unit("one", "one", 5)) is None  # the same name for other rows


def test_a_run_without_units_fails_too(tmp_path):
    folder = run_folder(tmp_path, "failed")
    folder.save(State(phase="failed", message="OSError: no such model", started=1.0))
    status = read_status(tmp_path / "out")
    assert status.failed
    assert status.reasons == ["OSError: no such model"]
    assert {task.name: task.status for task in status.tasks} == {"one": PENDING, "two": PENDING}
    assert main(["status", str(tmp_path / "out")]) == 1


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
                    "gsm": {
                        "metadata": {
                            "primary_metric": "exact_match",
                            "primary_filter": "flexible",
                            "pack": "mine",
                        }
                    }
                },
                "total_evaluation_time_seconds": "61.5",
            }
        )
    )
    status = read_status(tmp_path / "out")
    assert [
        (task.name, task.status, task.score, task.category, task.runtime()) for task in status.tasks
    ] == [("gsm", DONE, 0.5, "mine", "2 min")]
    assert "✓  gsm" in status.text()


def test_a_live_harness_process_is_found_by_its_output_path(tmp_path):
    script = tmp_path / "lm_eval"
    script.write_text("import time\ntime.sleep(60)\n")
    words = [
        sys.executable,
        str(script),
        "--tasks",
        "one,two",
        "--output_path",
        str(tmp_path / "out"),
    ]
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


@pytest.mark.parametrize(
    "words",
    [
        [
            "-m",
            "lm_eval",
            "run",
            "--output_path=OUT",
            "--tasks",
            "one",
            "two",
            "--model_args",
            "a=1,b=2",
        ],
        ["LM_EVAL", "-t", "one,two", "-o", "OUT", "--batch_size", "auto"],
        [
            "launch",
            "--num_processes",
            "4",
            "-m",
            "lm_eval",
            "--tasks",
            "all",
            "--include_path",
            "WORK",
            "-o",
            "OUT",
        ],
        ["LM_EVAL", "run", "--config", "run.yaml"],
        ["LM_EVAL", "run", "--config=run.yaml"],
    ],
)
def test_ways_to_call_the_harness(tmp_path, words):
    work_dir = tmp_path / "WORK"
    work_dir.mkdir()
    (work_dir / "manifest.json").write_text(
        json.dumps({"schema": 2, "groups": {"all": ["one", "some"], "some": ["two"]}})
    )
    (tmp_path / "run.yaml").write_text("output_path: OUT\ntasks: [one, two]\n")
    command = ["python", *(word.replace("LM_EVAL", "/env/bin/lm_eval") for word in words)]
    process = SimpleNamespace(
        info={"cmdline": command, "cwd": str(tmp_path), "create_time": time.time() - 9}
    )
    denied = SimpleNamespace(info={"cmdline": None, "cwd": None, "create_time": 0})
    with mock.patch("psutil.process_iter", return_value=[process, denied]):
        found = manual_runs.processes(tmp_path / "OUT")
        assert manual_runs.processes(tmp_path / "other") == {}
    assert set(found) == {"one", "two"}
    assert found["one"] == pytest.approx(9, abs=2)


def test_groups_that_contain_themselves_end():
    assert manual_runs.resolve(["a"], {"a": ["b", "x"], "b": ["a", "y"]}) == ["a", "y", "x"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"results": 5, "configs": []}',
        '{"results": {"a": 7}, "configs": {"a": 8}, "total_evaluation_time_seconds": "soon"}',
        '{"results": {"a": {"acc,none": "N/A"}}, "configs": {"a": {"metadata": [1]}}}',
    ],
)
def test_foreign_results_do_no_harm(tmp_path, content):
    (tmp_path / "results_x.json").write_text(content)
    try:
        tasks = read_status(tmp_path).tasks
    except BadInput:
        return
    assert [(task.name, task.status, task.score) for task in tasks] == [("a", DONE, None)]


def test_two_commands_of_one_preparation_are_one_table_and_older_runs_are_named(tmp_path):
    options = {"output_path": str(tmp_path / "out"), "include_path": str(tmp_path / "work_dir")}
    folders = []
    for model, data, task in (
        ("vllm", "old", "zero"),
        ("vllm", "new", "one"),
        ("hf", "new", "two"),
    ):
        job = Job(model, {}, [task], options, data=data)
        folder = RunFolder.of(job)
        folder.create(job)
        units = [Unit(task, task, 4, status=DONE, score=0.5)]
        folder.save(State(phase="done", started=float(len(folders)), units=units))
        folders.append(folder)
    status = read_status(tmp_path / "out")
    assert {task.name for task in status.tasks} == {"one", "two"}
    assert status.phase == "done, 1 of 1 units done; done, 1 of 1 units done"
    assert status.other_runs == [folders[0].path]
    assert [task.name for task in read_status(folders[0].path).tasks] == ["zero"]


@pytest.mark.parametrize("width", [50, 80, 120])
def test_the_table_fits_the_terminal(width):
    lines = [
        TaskStatus(
            "a_task_name_" * 5, FAILED, message="ValueError: " + "why " * 30, category="unlearning"
        )
    ]
    assert all(len(line) <= width for line in table_lines(lines, width))
    assert "why why" in table_lines(lines, None)[1]


def test_a_terminal_without_the_symbols_gets_others(tmp_path):
    run_folder(tmp_path, "running")
    done = subprocess.run(
        [sys.executable, "-m", "evalprep", "status", str(tmp_path / "out")],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 1
    assert b"?  one" in done.stdout
    assert b"Traceback" not in done.stderr


def test_state_survives_a_writer_that_dies_in_between(tmp_path):
    folder = run_folder(tmp_path, "running")
    before = asdict(folder.state())
    (folder.path / ".state.json.half").write_text("{")  # what a killed write leaves behind
    assert asdict(folder.state()) == before
    (folder.path / "state.json").write_text("{")
    assert folder.state() == State()
    assert (folder.path / "job.json").exists()


def test_results_by_hand_of_several_models_below_one_folder(tmp_path):
    """As `score` and `leaderboard` find them; a task of two models has two results."""
    for model, tasks in {
        "a": {"both": [Row("r")]},
        "b": {"both": [Row("r")], "own": [Row("r")]},
    }.items():
        write_run(tmp_path / "runs" / "today" / model, tasks, model=f"org__{model}")
    status = read_status(tmp_path / "runs")
    assert {line.name for line in status.tasks} == {
        *("today/a/org__a/both", "today/b/org__b/both", "own")
    }
    assert {line.name for line in read_status(tmp_path / "runs" / "today" / "a").tasks} == {"both"}


def write_settings(place, *runs):
    """Writes a run of the tasks t and u for each of some settings, an hour apart."""
    for hour, settings in enumerate(runs):
        shots = dict.fromkeys("tu", settings.get("num_fewshot", 0))
        sizes = {"original": 4, "effective": settings.get("limit", 4)}
        config = {"model": "dummy", "model_args": {"pretrained": "org/model"}}
        config["random_seed"] = settings.get("seed", 0)
        write_run(
            place,
            {task: [Row("r")] for task in settings.get("tasks", "tu")},
            stamp=f"2026-03-01T{10 + hour}-00-00.000001",
            extra={"n-shot": shots, "n-samples": dict.fromkeys("tu", sizes), "config": config},
        )


@pytest.mark.parametrize(
    ("runs", "shown"),
    [
        pytest.param([{}, {}], ["t", "u"], id="repeated"),
        pytest.param(
            [{}, {"num_fewshot": 5, "tasks": "t"}],
            ["model, 10:00:00/t", "model, 11:00:00/t", "u"],
            id="other shots of one task",
        ),
        pytest.param(
            [{"tasks": "t"}, {"tasks": "t", "limit": 2}, {"tasks": "t"}],
            ["model, 11:00:00/t", "model, 12:00:00/t"],
            id="a part of the rows between, repeated",
        ),
        pytest.param(
            [{"tasks": "t"}, {"tasks": "t", "seed": 7}],
            ["model, 10:00:00/t", "model, 11:00:00/t"],
            id="another seed",
        ),
    ],
)
def test_a_task_has_a_line_for_each_of_its_settings(tmp_path, runs, shown):
    write_settings(tmp_path, *runs)
    (home,) = tmp_path.glob("org__model")
    assert sorted(line.name for line in read_status(home).tasks) == shown
    above = [name.replace("model,", "org__model/model,") for name in shown]
    assert sorted(line.name for line in read_status(tmp_path).tasks) == above


def test_runs_with_other_settings_have_the_names_of_score_and_leaderboard(tmp_path, capsys):
    write_settings(tmp_path, {"tasks": "t"}, {"tasks": "t", "num_fewshot": 5})
    files = [str(path) for path in sorted(tmp_path.glob("*/results_*.json"))]
    assert main(["status", str(tmp_path), "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["tasks"]
    labels = [line["name"].split("/")[1] for line in lines]
    assert labels == ["model, 11:00:00", "model, 10:00:00"]
    for verb in ("score", "leaderboard"):
        assert main([verb, *files, *(["--no_write"] if verb == "score" else [])]) == 0
        out = capsys.readouterr().out
        assert all(label in out for label in labels), verb


def test_results_in_a_file_with_a_name_of_its_own(tmp_path):
    """`--output_path mine.json` writes `mine_<stamp>.json`."""
    home = write_run(tmp_path, {"t": [Row("r")]})
    (results,) = home.glob("results_*")
    results.rename(home / results.name.replace("results_", "mine_"))
    assert [line.name for line in read_status(home).tasks] == ["t"]
