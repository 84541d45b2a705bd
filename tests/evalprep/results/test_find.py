"""Every way to name a run, and what happens when there are several."""

import shlex

import pytest

from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.results import find_run, load_run
from tests.evalprep.results.writing import STAMP, Row, write_run

LATER = "2026-03-02T09-30-00.5"


@pytest.mark.parametrize(
    "model", ["org__model", ".__m", "a b"], ids=["plain", "hidden folder", "blank in the name"]
)
@pytest.mark.parametrize(
    "where",
    [
        lambda home: home.parent,
        lambda home: home.parent.parent,
        lambda home: home,
        lambda home: home / f"results_{STAMP}.json",
    ],
    ids=["output folder", "folder above", "model folder", "results file"],
)
def test_every_way_to_name_a_run(tmp_path, model, where):
    home = write_run(tmp_path / "out", {"t": [Row("a")], "group::t two": [Row("a")]}, model=model)
    found = find_run(where(home))
    assert (found.folder, found.stamp) == (home, STAMP)
    assert list(found.samples) == ["group::t two", "t"]


def test_a_samples_file_is_a_run_of_one_task(tmp_path):
    home = write_run(tmp_path, {"t": [Row("a")], "u": [Row("a")]})
    run = load_run(home / f"samples_t_{STAMP}.jsonl")
    assert list(run.tasks) == ["t"]
    assert run.tasks["t"].primary.metric == "exact_match"
    assert run.notes == []


def test_the_newest_run_is_taken_and_said_so(tmp_path):
    write_run(tmp_path, {"t": [Row("a")], "u": [Row("a")]})
    write_run(tmp_path, {"t": [Row("a"), Row("b")]}, stamp=LATER)
    newest = load_run(tmp_path)
    assert (newest.files.stamp, list(newest.tasks)) == (LATER, ["t"])
    assert any("2 runs" in note and LATER in note for note in newest.notes)
    assert list(load_run(tmp_path, timestamp="2026-03-01").tasks) == ["t", "u"]
    each = load_run(tmp_path, timestamp="each")
    assert {name: len(task.table()) for name, task in each.tasks.items()} == {"t": 2, "u": 1}


@pytest.mark.parametrize(("model", "is_said"), [("org/b", True), ("mirror/a", False)])
def test_other_models_in_the_folder_of_a_run_are_named(tmp_path, model, is_said):
    for name, stamp in (("org/a", LATER), (model, STAMP)):
        write_run(tmp_path, {"t": [Row("a")]}, stamp=stamp, model_args={"pretrained": name})
    notes = [note for note in load_run(tmp_path).notes if "also holds runs of" in note]
    assert [note.endswith("b: name their results files to read them") for note in notes] == [
        True
    ] * is_said
    assert load_run(tmp_path, timestamp=STAMP).notes == []


def test_the_newest_of_each_task_is_no_run_of_several_models(tmp_path):
    for task, model, stamp in (("t", "org/a", STAMP), ("u", "org/b", LATER)):
        write_run(tmp_path, {task: [Row("a")]}, stamp=stamp, model_args={"pretrained": model})
    assert list(load_run(tmp_path).tasks) == ["u"]
    with pytest.raises(BadInput, match="are of 2 models: a, b") as caught:
        load_run(tmp_path, timestamp="each")
    assert f"results_{LATER}.json" in str(caught.value)


def test_one_model_in_two_places_is_one_model(tmp_path):
    for task, model, stamp in (("t", "/scratch/a", STAMP), ("u", "/home/me/a/", LATER)):
        write_run(tmp_path, {task: [Row("a")]}, stamp=stamp, model_args={"pretrained": model})
    assert list(load_run(tmp_path, timestamp="each").tasks) == ["t", "u"]


@pytest.mark.parametrize("timestamp", ["newest", "each"])
def test_a_file_with_a_name_of_a_person_beside_those_of_lm_eval_is_named(tmp_path, timestamp):
    home = write_run(tmp_path, {"t": [Row("a")]})
    text = (home / f"results_{STAMP}.json").read_text()
    (home / "best.json").write_text(text)
    (home / "settings.json").write_text("{}")
    (note,) = load_run(tmp_path, timestamp=timestamp).notes
    assert "also holds best.json, without a time stamp in the name: not read here" in note
    assert load_run(home / "best.json").notes == []
    assert load_run(home / f"results_{STAMP}.json").notes == []


def test_each_task_keeps_what_the_results_file_of_its_own_time_stamp_says(tmp_path):
    groups = {"group_subtasks": {"g": ["t", "u"]}, "groups": {"g": {}}}
    first, later = ({"version": 1.0, "primary_metric": name} for name in ("second", "exact_match"))
    both = {"exact_match": 1, "second": 0}
    write_run(
        tmp_path,
        {"t": [Row("a", metrics=both)], "u": [Row("a", metrics=both)]},
        metadata=first,
        extra=groups,
    )
    home = write_run(tmp_path, {"t": [Row("a", metrics=both)]}, stamp=LATER, metadata=later)
    each = load_run(tmp_path, timestamp="each")
    assert {name: task.primary.metric for name, task in each.tasks.items()} == {
        "t": "exact_match",
        "u": "second",
    }
    assert all(task.primary.declared for task in each.tasks.values())
    assert each.group("g") == ["t", "u"]
    assert each.files.results == home / f"results_{LATER}.json"
    assert each.notes == []
    (home / f"results_{STAMP}.json").write_text("{")
    damaged = load_run(tmp_path, timestamp="each")
    assert [STAMP in note for note in damaged.notes] == [True]
    assert damaged.tasks["t"].primary.declared


def test_a_lone_results_file_does_not_hide_the_samples_before_it(tmp_path):
    home = write_run(tmp_path, {"t": [Row("a")]})
    (home / f"results_{LATER}.json").write_text("{}")
    assert find_run(tmp_path).stamp == STAMP


def test_output_path_with_a_json_name(tmp_path):
    home = write_run(tmp_path, {"t": [Row("a")]})
    (home / f"results_{STAMP}.json").rename(home / f"mine_{STAMP}.json")
    found = find_run(home)
    assert found.results == home / f"mine_{STAMP}.json"
    assert list(found.samples) == ["t"]


@pytest.mark.parametrize(
    ("later_task", "expected"),
    [
        pytest.param("u", ["of_t.json", "of_u.json"], id="each has the tasks of one run"),
        pytest.param("t", [None, None], id="both have the tasks of both runs"),
    ],
)
def test_renamed_results_files_go_to_the_samples_of_their_own_run(tmp_path, later_task, expected):
    home = write_run(tmp_path, {"t": [Row("a")]})
    write_run(tmp_path, {later_task: [Row("a")]}, stamp=LATER)
    (home / f"results_{STAMP}.json").rename(home / "of_t.json")
    (home / f"results_{LATER}.json").rename(home / "of_u.json")
    runs = [find_run(home, timestamp=stamp) for stamp in (STAMP, LATER)]
    assert [run.results and run.results.name for run in runs] == expected


def test_none_of_several_models_is_taken_for_all(tmp_path):
    write_run(tmp_path, {"t": [Row("a")]}, model="old")
    write_run(tmp_path, {"t": [Row("a")]}, model="new", stamp=LATER)
    with pytest.raises(BadInput) as caught:
        find_run(tmp_path)
    problem = caught.value.problems[0]
    assert problem.what == "runs in 2 folders: new, old"
    assert problem.fix.endswith(str(tmp_path / "new"))
    assert find_run(tmp_path / "old").folder.name == "old"


@pytest.mark.parametrize("name", ["nowhere", "empty", "other.json"])
def test_no_run_is_bad_input(tmp_path, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(BadInput) as caught:
        find_run(tmp_path / name)
    assert caught.value.problems[0].where.endswith(name)


@pytest.mark.parametrize("stamp", ["2026-03", "1999"], ids=["ambiguous", "unknown"])
def test_a_stamp_that_does_not_name_one_run(tmp_path, stamp):
    write_run(tmp_path, {"t": [Row("a")]})
    write_run(tmp_path, {"t": [Row("a")]}, stamp=LATER)
    with pytest.raises(BadInput) as caught:
        find_run(tmp_path, timestamp=stamp)
    assert LATER in caught.value.problems[0].fix


def test_missing_pieces_are_notes(tmp_path):
    home = write_run(tmp_path, {"t": [Row("a")], "u": [Row("a")]})
    (home / f"samples_u_{STAMP}.jsonl").unlink()
    assert any("no samples file of u" in note for note in load_run(tmp_path).notes)
    (home / f"results_{STAMP}.json").write_text('{"results": {"t"')
    run = load_run(tmp_path)
    assert any("damaged" in note for note in run.notes)
    assert run.tasks["t"].primary.metric == "exact_match"
    (home / f"results_{STAMP}.json").unlink()
    assert any("no results file" in note for note in load_run(tmp_path).notes)


def test_groups_resolve_to_tasks(tmp_path):
    children = {"outer": ["inner", "t"], "inner": ["u"], "loop": ["loop"]}
    write_run(tmp_path, {"t": [Row("a")], "u": [Row("a")]}, extra={"group_subtasks": children})
    run = load_run(tmp_path)
    assert sorted(run.group("outer")) == ["t", "u"]
    assert run.group("loop") == run.group("unknown") == []
    assert sorted(run.select(["outer"])) == ["t", "u"]
    with pytest.raises(BadInput, match="no samples of task 'x'"):
        run.select(["x"])


def test_compressed_samples_are_named(tmp_path):
    home = write_run(tmp_path, {"one": [Row("a")], "two": [Row("a")]})
    next(home.glob("samples_two_*")).rename(home / f"samples_two_{STAMP}.jsonl.gz")
    run = load_run(home)
    assert list(run.tasks) == ["one"]
    assert (
        f"compressed samples are not read, unpack them first: samples_two_{STAMP}.jsonl.gz"
        in run.notes
    )
    assert not any("no samples file" in note for note in run.notes)


@pytest.mark.parametrize("second", ["{{question}}", "{{question}} Please."])
def test_calls_of_one_run_with_different_templates_are_named(tmp_path, second):
    """A pasted command keeps the id of its preparation when a task file is edited."""
    metadata = {"version": 1.0, "run": "r0", "command": "c1"}
    for stamp, template in ((STAMP, "{{question}}"), (LATER, second)):
        entry = {"task": "t", "metadata": metadata, "doc_to_text": template}
        counts = {"t": {"original": 2, "effective": 2}}
        rows = [Row("a"), Row("b")]
        extra = {"configs": {"t": entry}, "n-samples": counts}
        write_run(tmp_path, {"t": rows}, stamp=stamp, extra=extra)
    notes = [note for note in load_run(tmp_path).notes if "templates" in note]
    named = f"results_{LATER}.json counts, not results_{STAMP}.json"
    expected = [] if second == "{{question}}" else [named]
    assert [note.partition("; ")[2] for note in notes] == expected


def test_the_next_command_names_each_of_several_files(tmp_path, capsys):
    write_run(tmp_path, {"t": [Row("1", 1), Row("2", 0)], "u": [Row("1", 1), Row("2", 1)]})
    files = sorted(map(str, tmp_path.rglob("samples_*.jsonl")))
    assert len(files) == 2
    assert main(["score", *files, "--no_write"]) == 0
    command = capsys.readouterr().out.rpartition("next: evalprep ")[2]
    assert shlex.split(command) == ["report", *files]
