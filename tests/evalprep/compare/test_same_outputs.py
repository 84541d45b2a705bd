"""A run against itself, or against a copy, is no proof that nothing got worse."""

import json
import shutil
from dataclasses import replace

import pytest
from msgspec import structs

from evalprep.compare import compare_runs
from evalprep.results import load_run
from tests.evalprep.results.writing import STAMP, Row, write_run
from tests.loops import each

LATER = "2026-03-02T09-30-00.5"
SAME_FILE = "both sides are read from the same file, or from a copy of it"
SAME_RUN = "candidate and baseline are the same run"


def rows(count=40, reply="The answer is {}"):
    return [Row(f"r{at}", float(at % 3 > 0), response=reply.format(at)) for at in range(count)]


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text("defaults: {max_drop: 0.3, slack: 0.3}\n")
    return path


def other_names_of(home, folder):
    """Further ways to name the run in a folder."""
    (folder / "link").symlink_to(home)
    return [home, home.parent, folder / "link", next(home.glob("results_*.json"))]


def test_gate_never_passes_a_run_that_is_its_own_baseline(tmp_path, policy, run_verb):
    home = write_run(tmp_path / "run", {"t": rows(), "u": rows()})
    for other in each(other_names_of(home, tmp_path)):
        code, text = run_verb("gate", home, other, "--policy", policy)
        assert code == 3, text
        assert f"warning: {SAME_RUN}" in text
        assert SAME_FILE in text


def test_compare_concludes_nothing_of_a_run_with_itself(tmp_path, run_verb):
    home = write_run(tmp_path / "run", {"t": rows(), "u": rows()})
    code, text = run_verb("compare", home, home, "--no_write")
    assert code == 3
    assert SAME_RUN in text
    assert "No difference shown" not in text


def test_one_task_of_both_sides_from_one_file_keeps_its_verdict_alone(tmp_path):
    home = write_run(tmp_path / "run", {"t": rows(), "u": rows()})
    write_run(tmp_path / "run", {"u": rows()}, stamp=LATER)
    candidate, baseline = load_run(home, timestamp="each"), load_run(home, timestamp=STAMP)
    comparison = compare_runs(candidate, baseline)
    not_enough = {task.name: task.not_enough for task in comparison.tasks}
    assert not_enough == {"t": [SAME_FILE], "u": []}
    assert SAME_RUN not in comparison.warnings


def test_two_models_of_one_file_are_two_sides(tmp_path):
    home = write_run(tmp_path / "run", {"t": rows()})
    candidate, baseline = load_run(home), load_run(home)
    settings = structs.replace(baseline.settings, arguments={"pretrained": "org/other"})
    baseline = replace(baseline, logged=structs.replace(baseline.logged, settings=settings))
    assert compare_runs(candidate, baseline).tasks[0].not_enough == []


def test_a_copy_of_a_run_is_named_and_another_run_is_not(tmp_path):
    home = write_run(tmp_path / "run", {"t": rows()})
    shutil.copytree(home, tmp_path / "copy")
    other = write_run(tmp_path / "other", {"t": rows(reply="It is {}")})
    sentence = "all 40 compared replies are the same to the letter"
    assert sentence in compare_runs(load_run(home), load_run(tmp_path / "copy")).notes
    assert sentence not in compare_runs(load_run(home), load_run(other)).notes


def test_gate_never_passes_a_copy_of_its_baseline(tmp_path, policy, run_verb):
    call = {"date": 1767225600.5, "total_evaluation_time_seconds": "812.25"}
    home = write_run(tmp_path / "run", {"t": rows()}, extra=call)
    copy = shutil.copytree(home, tmp_path / "copy")
    code, text = run_verb("gate", copy, home, "--policy", policy)
    assert code == 3, text
    assert SAME_FILE in text
    again = write_run(tmp_path / "again", {"t": rows()}, extra={**call, "date": 1767312000.5})
    assert run_verb("gate", again, home, "--policy", policy)[0] == 0
    graded = write_run(tmp_path / "graded", {"t": [Row("r1", 1.0), *rows()[1:]]}, extra=call)
    assert SAME_FILE not in run_verb("gate", graded, home, "--policy", policy)[1]


def test_equal_replies_of_two_models_are_a_warning(tmp_path, policy, run_verb):
    first = write_run(tmp_path / "first", {"t": rows()})
    second = write_run(tmp_path / "second", {"t": rows()}, model="org__second")
    _, text = run_verb("gate", first, second, "--policy", policy)
    assert "although the models are org/model and org/second" in text
    few = write_run(tmp_path / "few", {"t": rows(5)}, model="org__few")
    _, text = run_verb("gate", few, first, "--policy", policy)
    assert "to the letter" not in text


def test_rescored_replies_are_the_same_without_a_word(tmp_path):
    home = write_run(tmp_path / "run", {"t": rows()})
    rescored = {"rescored": {"from": str(home), "stamp": STAMP}}
    again = write_run(tmp_path / "again", {"t": rows()}, extra=rescored)
    run, other = load_run(again), load_run(home)
    assert run.rescored_from == (home, STAMP)
    assert "to the letter" not in " ".join(compare_runs(run, other).notes)


@pytest.mark.parametrize("verb", ["score", "report", "leaderboard"])
def test_a_run_that_is_named_twice_counts_once(tmp_path, verb, run_verb):
    home = write_run(tmp_path / "run", {"t": rows()})
    (tmp_path / "link").symlink_to(home)
    code, text = run_verb(verb, home, home, tmp_path / "link", "--out", tmp_path / "out")
    assert code == 0, text
    assert "(2)" not in text
    written = [path.read_text() for path in (tmp_path / "out").rglob("*.csv")]
    assert not any("(2)" in content for content in written)
    for path in (tmp_path / "out").rglob("scores.json"):
        assert isinstance(json.loads(path.read_text()), dict)


def test_a_model_by_another_path_is_the_same_model(tmp_path):
    first = write_run(tmp_path / "first", {"t": rows()}, model_args={"pretrained": "org/model"})
    second = write_run(tmp_path / "second", {"t": rows()}, model_args={"pretrained": "/m/model/"})
    comparison = compare_runs(load_run(first), load_run(second))
    assert "all 40 compared replies are the same to the letter" in comparison.notes
    assert comparison.warnings == []
