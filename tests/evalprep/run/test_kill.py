"""Killed at ten points, a run loses no finished unit, makes none twice, and ends with the right numbers.

A run whose worker alone is killed starts another one and goes on with the other units.
"""

import json
import os
import signal
from pathlib import Path

import psutil
import pytest

from evalprep.results import DONE, FAILED, RUNNING
from evalprep.run.plain_data import restored
from evalprep.run.responses import ResponseFile
from evalprep.status.folder import RunFolder
from evalprep.status.job import read_jobs

from .conftest import HANG, ROWS, task

UNITS = 12  # three tasks of 24 rows, six rows each


def kill(process, state, *, whom):
    """SIGKILL: nobody gets to say goodbye. The worker must also end when only its parent is killed."""
    if whom in {"parent", "both"}:
        process.kill()
    if whom in {"worker", "both"} and state.pid:
        with_pid = psutil.pid_exists(state.pid)
        if with_pid:
            os.kill(state.pid, signal.SIGKILL)
    if whom == "worker":
        return
    process.wait(60)
    if state.pid and psutil.pid_exists(state.pid):
        psutil.Process(state.pid).wait(60)


def fingerprint(project):
    """Unit -> when and what it answered."""
    files = {name: project.run.units / name / "responses.msgpack" for name in project.done()}
    return {name: (path.stat().st_mtime_ns, path.read_bytes()) for name, path in files.items()}


def after(count):
    return lambda state: sum(unit.status == DONE for unit in state.units) >= count


def set_scorer(one, task_name, source):
    """Give a prepared task another scorer, behind the back of the check; the scorer's file."""
    work_dir = one.folder / "work_dir"
    yaml_file = next(work_dir.rglob(f"{task_name}.yaml"))
    yaml_file.write_text(yaml_file.read_text() + "\nprocess_results: !function own_scorer.score\n")
    code = yaml_file.with_name("own_scorer.py")
    code.write_text(source)
    one.run = RunFolder.of(read_jobs(work_dir)[0])
    return code


def slow_scorer(seconds):
    """A scorer that takes so long for a row that a signal meets a run that is still under way."""
    return (
        f"import time\n\ndef score(doc, results):\n    time.sleep({seconds})\n"
        "    return {'exact_match': float(results[0] == doc['answer'])}\n"
    )


POINTS = [
    ("while starting", lambda state: state.phase == "starting" and state.pid, "both"),
    (
        "before the first unit ends",
        lambda state: any(unit.status == "running" for unit in state.units),
        "both",
    ),
    ("after 1 unit", after(1), "parent"),
    ("after 2 units", after(2), "worker"),
    ("after 4 units", after(4), "both"),
    ("after 5 units", after(5), "parent"),
    ("after 7 units", after(7), "worker"),
    ("after 9 units", after(9), "both"),
    ("after 11 units", after(11), "both"),
    ("while merging", lambda state: state.phase == "merging", "both"),
]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_kills_lose_nothing_and_count_nothing_twice(project):
    one = project()
    for name in ("first_text", "last_text"):
        set_scorer(one, name, slow_scorer(0.03))
    known = {}
    earlier_pid = None
    for label, ready, whom in POINTS:
        process = one.start()
        started = one.wait(
            lambda state, ready=ready, pid=earlier_pid: (
                state.pid not in {None, pid} and ready(state)
            ),
            process,
        )
        assert started, f"{label}: the run ended first: {process.printed()}"
        state = one.run.state()
        earlier_pid = state.pid
        kill(process, state, whom=whom)
        if whom == "worker":
            lost = {unit.name for unit in state.units if unit.status == RUNNING}
            assert one.wait(lambda state, pid=earlier_pid: state.pid not in {None, pid}, process), (
                label
            )
            assert lost <= one.done() | {
                unit.name for unit in one.run.state().units if unit.status == FAILED
            }
            earlier_pid = one.run.state().pid
            kill(process, one.run.state(), whom="both")
        now = fingerprint(one)
        assert known.items() <= now.items(), f"{label}: a finished unit changed"
        known = now
    process = one.start()
    out, _ = process.communicate(timeout=HANG)
    assert process.returncode == 0, out
    assert "resumed: 12 of 12 parts were finished before" in out
    assert known.items() <= fingerprint(one).items()
    assert len(known) == UNITS
    configs = json.loads(Path(one.run.state().results).read_text())["configs"].values()
    assert {config["metadata"]["try"] for config in configs} == {1}

    samples = one.samples()
    assert sorted(samples) == ["first_text", "last_text", "then_choice"]
    for lines in samples.values():
        assert [line["doc"]["sample_id"] for line in lines] == [f"s{n}" for n in range(ROWS)]
        assert [line["doc_id"] for line in lines] == list(range(ROWS))
    # The dummy model's log-likelihoods are random: equal numbers prove that each was asked for
    # once.
    answers = {
        key: value
        for name in known
        for key, value in ResponseFile(one.run.units / name).known.items()
    }
    for line in samples["then_choice"]:
        for number, response in enumerate(line["resps"]):
            saved = restored(
                answers["loglikelihood", "then_choice", line["doc_id"], number, 0].response
            )
            assert response == [[str(saved[0]), str(saved[1])]]
    assert len(answers) == ROWS * (1 + 3 + 1)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_tiny_model_scores_as_known_after_a_kill(project, tiny_model, tmp_path):
    data = tmp_path / "rows.jsonl"
    answer = "The best answer is B."
    one = project(
        [
            task("one", data, doc_to_target=answer),
            task("two", data, doc_to_target="The best answer is C."),
        ],
        model_name=str(tiny_model(answer)),
        backend="hf",
        device="cpu",
        dtype="float32",
        max_model_len=512,
        add_bos_token=False,
    )
    process = one.start()
    assert one.wait(after(3), process), process.printed()
    kill(process, one.run.state(), whom="both")
    known = fingerprint(one)
    process = one.start()
    out, _ = process.communicate(timeout=HANG)
    assert process.returncode == 0, out
    assert known.items() <= fingerprint(one).items()
    scores = {
        name: [line["exact_match"] for line in lines] for name, lines in one.samples().items()
    }
    assert scores == {"one": [1.0] * ROWS, "two": [0.0] * ROWS}


@pytest.mark.slow
def test_ctrl_c_ends_every_process_and_can_be_resumed(project, tmp_path):
    data = tmp_path / "rows.jsonl"
    one = project([task("first", data), task("slow", data)])
    code = set_scorer(one, "slow", slow_scorer(60))
    process = one.start()
    assert one.wait(after(4), process)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=HANG)
    assert process.returncode == 130, out
    assert "goes on from here" in out
    _, alive = psutil.wait_procs(children, timeout=HANG)
    assert not alive
    assert one.run.state().phase == "interrupted"
    assert not one.run.is_running()
    code.write_text(slow_scorer(0))
    process = one.start()
    out, _ = process.communicate(timeout=HANG)
    assert process.returncode == 0, out
    assert one.run.state().phase == "done"


@pytest.mark.slow
def test_a_failing_scorer_costs_neither_the_other_tasks_nor_the_responses(project, tmp_path):
    data = tmp_path / "rows.jsonl"
    one = project([task("good", data), task("bad", data)])
    # As a row that nobody foresaw would do it.
    code = set_scorer(one, "bad", "def score(doc, results):\n    raise ValueError('unforeseen')\n")
    process = one.start()
    out, _ = process.communicate(timeout=HANG)
    assert process.returncode == 1
    assert "unforeseen" in out
    assert {name.partition(".")[0] for name in one.done()} == {"good"}
    saved = sorted(one.run.units.glob("bad.*.part/responses.msgpack"))
    before = [(path.stat().st_mtime_ns, path.read_bytes()) for path in saved]
    assert len(saved) == 4
    code.write_text(
        "def score(doc, results):\n    return {'exact_match': float(results[0] == doc['answer'])}\n"
    )
    process = one.start()
    out, _ = process.communicate(timeout=HANG)
    assert process.returncode == 0, out
    after_mending = sorted(one.run.units.glob("bad.*/responses.msgpack"))
    assert [(path.stat().st_mtime_ns, path.read_bytes()) for path in after_mending] == before
    assert Path(one.run.state().results).is_file()
    # What the first start took for the replies of "bad" is not known; the scoring alone is no time.
    assert {unit.task: unit.seconds is None for unit in one.run.state().units} == {
        "good": False,
        "bad": True,
    }
    scored = one.command("score", str(tmp_path / "out"), "--no_write", "--json", check=True)
    efforts = json.loads(scored.stdout)["efforts"]["tasks"]
    assert [efforts[name]["requests"] for name in ("good", "bad")] == [24, 24]
    assert efforts["bad"]["seconds"] is None
