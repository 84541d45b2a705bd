"""Predictions as they lie: every layout has the same numbers, by both rules, and nothing is moved."""

import json

import pytest

from evalprep.cli import main
from evalprep.packs.finding import find_packs
from evalprep.results import each_run, load_run
from evalprep.score import export, score_run
from tests import PROJECT_ROOT
from tests.packs.science.layouts import LAYOUTS, MODELS, group, moved, write

PACKS = find_packs(PROJECT_ROOT / "task_templates")


@pytest.fixture(scope="module")
def predictions(shared):
    return shared / "vectors" / "sciriff_predictions"


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def numbers(out, model):
    """Rule and task -> the flat metrics of a model."""
    return {
        (mode, file.parent.name): json.loads(file.read_text())
        for mode in ("", "compat")
        for file in (out / mode / "by_model" / model).glob("*/metrics_flat.json")
    }


@pytest.fixture(scope="module")
def expected(predictions, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected")
    run = load_run(predictions / MODELS[0])
    export(score_run(run, PACKS), run, PACKS, out)
    return numbers(out, MODELS[0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_has_the_numbers_of_the_others(predictions, expected, tmp_path, layout):
    folder = write(predictions, tmp_path / "predictions", layout)
    before = files_below(folder)
    places = each_run([folder])
    assert len(places) == len(MODELS)
    run = load_run(places[0])
    assert not any("the newest" in note for note in run.notes)
    export(score_run(run, PACKS), run, PACKS, tmp_path / "out")
    assert numbers(tmp_path / "out", MODELS[0]) == expected
    assert len(expected) == 18
    assert files_below(folder) == before


@pytest.mark.parametrize("layout", [group, moved])
def test_a_list_of_files_is_one_run_per_model(predictions, tmp_path, layout):
    folder = write(predictions, tmp_path / "predictions", layout)
    files = sorted(folder.rglob("samples_*"))
    places = each_run(files)
    assert [len(load_run(place).tasks) for place in places] == [9, 9]
    some = each_run(files[:2])
    assert [sorted(load_run(place).tasks) for place in some] == [["bioasq_list_qa", "biored_ner"]]


def test_scores_of_a_folder_of_models(predictions, tmp_path, capsys):
    folder = write(predictions, tmp_path / "predictions", moved)
    assert main(["score", str(folder), "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "out" / "by_model").iterdir()) == sorted(MODELS)
    assert "no primary metric" not in shown
    assert "rescore" not in shown


def test_rows_of_predictions_alone_have_scores_to_compare_and_to_report(
    predictions, tmp_path, capsys
):
    folder = write(predictions, tmp_path / "predictions", group)
    chat, tulu = (str(folder / model) for model in MODELS)
    assert main(["compare", chat, tulu, "--json", "--no_write"]) in {0, 1, 3}
    found = {task["task"]: task for task in json.loads(capsys.readouterr().out)["tasks"]}
    assert len(found) == 9
    assert found["bioasq_list_qa"]["n"] == 12
    assert (
        main(
            ["report", str(folder), "--out", str(tmp_path / "report"), "--format", "csv", "--json"]
        )
        == 0
    )
    document = json.loads(capsys.readouterr().out)
    text = json.dumps(document)
    assert "row_score" in text
    run = load_run(chat)
    assert int((run.tasks["bioasq_list_qa"].table().unparsed == 1).sum()) == 4


def test_what_was_logged_stays_as_it_was_for_rescoring(predictions):
    logged = load_run(predictions / MODELS[0], as_logged=True)
    assert not any(task.primary.metric for task in logged.tasks.values())
