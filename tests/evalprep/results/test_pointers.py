"""Clones without the large files: pointers stand where samples and results would be."""

import json

import pytest

from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.results import load_run
from tests.evalprep.results.writing import STAMP, Row, write_run

POINTERS = {
    "Git LFS": f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 42807696\n",
    "git-annex": f"/annex/objects/SHA256E-s42807696--{'a' * 64}.jsonl\n",
}


@pytest.mark.parametrize("store", POINTERS)
def test_stored_scores_stand_where_samples_were_not_fetched(store, tmp_path, capsys):
    folder = write_run(tmp_path, {"first": [Row("a"), Row("b")], "second": [Row("a")]})
    for path in folder.rglob("samples_*"):
        path.write_text(POINTERS[store])
    run = load_run(tmp_path)
    assert not run.tasks
    assert any(f"2 files are pointers of {store}" in note for note in run.notes), run.notes
    assert main(["score", str(tmp_path), "--no-write"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "without samples" in shown
    assert "damaged" not in shown


def test_one_file_that_was_fetched_is_read(tmp_path):
    folder = write_run(tmp_path, {"first": [Row("a"), Row("b")], "second": [Row("a")]})
    next(folder.rglob("samples_second_*")).write_text(POINTERS["Git LFS"])
    run = load_run(tmp_path)
    assert list(run.tasks) == ["first"]
    assert any(
        note.startswith(f"no samples of second: samples_second_{STAMP}.jsonl is a pointer")
        for note in run.notes
    )


def test_nothing_but_pointers_is_said_to_be_so(tmp_path):
    folder = write_run(tmp_path, {"first": [Row("a")]})
    for path in [*folder.rglob("samples_*"), *folder.rglob("results_*")]:
        path.write_text(POINTERS["Git LFS"])
    with pytest.raises(BadInput, match="2 files are pointers of Git LFS"):
        load_run(tmp_path)
    with pytest.raises(BadInput, match="is a pointer of Git LFS"):
        load_run(next(folder.rglob("results_*")))


def test_remarks_that_many_tasks_share_are_folded(tmp_path, capsys):
    rows = {f"task_{number}": [Row(f"r{at}") for at in range(number + 1)] for number in range(8)}
    folder = write_run(tmp_path, rows)
    for path in folder.rglob("samples_*"):
        with path.open("a") as file:
            file.write("{cut\n")
    assert main(["score", str(tmp_path), "--no-write"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("left out") == 1
    assert "the same for task_1, task_2, task_3 and 4 more" in " ".join(shown.split())


def test_a_group_of_which_a_part_has_samples_is_not_pooled(tmp_path, capsys):
    folder = write_run(
        tmp_path, {name: [Row("a"), Row("b", 0.0)] for name in ("one", "two", "three")}
    )
    results = next(folder.rglob("results_*"))
    content = json.loads(results.read_text())
    content["group_subtasks"] = {"all": ["one", "two", "three"]}
    content["groups"] = {"all": {"exact_match,none": 0.25}}
    results.write_text(json.dumps(content))
    next(folder.rglob("samples_three_*")).unlink()
    assert main(["score", str(tmp_path), "--no-write"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "all: 2 of its 3 tasks have samples, and are not pooled; lm-eval reports exact_match 0.2500"
        in shown
    )


def test_no_flips_file_is_left_where_nothing_was_paired(tmp_path, capsys):
    for name in ("now", "before"):
        for path in write_run(tmp_path / name, {"t": [Row("a")]}, model=name).rglob("samples_*"):
            path.unlink()
    assert main(["compare", str(tmp_path / "now"), str(tmp_path / "before")]) in {0, 1, 3}
    assert not list(tmp_path.rglob("flips_*"))
    assert "no file of changed samples" in capsys.readouterr().out


#: Each verb that reads runs; the side that was not fetched, and the exit code where its samples
#: alone are missing.
VERBS = (
    ("score RUN --no_write", "RUN", 0),
    ("report RUN --out x", "RUN", 0),
    ("leaderboard RUN OTHER", "RUN", 0),
    ("leaderboard RUN OTHER", "OTHER", 0),
    ("compare RUN OTHER", "RUN", 3),
    ("compare RUN OTHER", "OTHER", 3),
    ("gate RUN OTHER --policy policy.yaml", "RUN", 3),
    ("gate RUN OTHER --policy policy.yaml", "OTHER", 3),
    ("rescore RUN", "RUN", 2),
    ("samples RUN", "RUN", 2),
    ("samples RUN --wrong", "RUN", 2),
)


@pytest.mark.parametrize("files", ["*", "samples_*"])
@pytest.mark.parametrize(("words", "side", "code"), VERBS)
def test_every_verb_explains_pointers_once(tmp_path, monkeypatch, capsys, words, side, code, files):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text("defaults: {max_drop: 2%}\n")
    for name in ("RUN", "OTHER"):
        rows = {"first": [Row("a"), Row("b")], "second": [Row("a")]}
        folder = write_run(tmp_path / name, rows, model=name)
        for path in folder.glob(files) if name == side else ():
            path.write_text(POINTERS["Git LFS"])
    assert main(words.split()) == (2 if files == "*" else code)
    printed = capsys.readouterr()
    text = " ".join((printed.out + printed.err).split())
    assert text.count("pointers of Git LFS") == 1, text
    assert "git lfs pull fetches the files" in text


@pytest.mark.parametrize("verb", ["status", "judge"])
def test_results_that_were_not_fetched_are_explained_by_verbs_that_read_no_samples(
    tmp_path, capsys, verb
):
    folder = write_run(tmp_path / "run", {"first": [Row("a")], "second": [Row("a")]})
    for path in folder.glob("*"):
        path.write_text(POINTERS["Git LFS"])
    options = ["--out", str(tmp_path / "answers.jsonl")] if verb == "judge" else []
    assert main([verb, str(tmp_path / "run"), *options]) == 2
    assert "git lfs pull fetches the files" in " ".join(capsys.readouterr().err.split())
