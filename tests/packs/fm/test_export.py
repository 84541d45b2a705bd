"""A run's scores in fmeval's layout: what it saves, what it returns, and what of both comes back."""

import contextlib
import io
import json
import math

import pytest

from evalprep.cli import main
from evalprep.packs.finding import find_packs
from tests import PROJECT_ROOT
from tests.loops import each
from tests.packs.fm.project import FACTS, NEWS, PAIRS, PROMPTS, QA, REVIEWS, prepared, stored

ENTRIES = (QA, FACTS, REVIEWS, NEWS, PROMPTS, PAIRS)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Folder of a scored run over the demo data, and its suite scores by name."""
    folder = tmp_path_factory.mktemp("fm")

    out = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()):
        prepared(folder, *(stored(one) for one in ENTRIES), meteor="off", detector="off")
        assert main(["run", "--replies=rows", str(folder / "work_dir")]) == 0
    with contextlib.redirect_stdout(out):
        assert main(["score", str(folder / "eval_results"), "--json"]) == 0
    return folder, {score["name"]: score["value"] for score in json.loads(out.getvalue())["suite"]}


def exported(folder):
    (found,) = folder.rglob("eval_outputs.json")
    return found.parent


def test_a_saved_record_is_fmevals(run):
    lines = (
        (PROJECT_ROOT / "tests" / "data" / "vectors" / "fm.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    expected = {
        row["metric"].rpartition(".")[2]: row["expected"].get("first_output_record")
        for row in map(json.loads, lines)
        if row["metric"].startswith("fm.evaluate_byo.")
    }
    file = exported(run[0]) / "prompt_stereotyping_pairs.jsonl"
    ours = json.loads(file.read_text(encoding="utf-8").splitlines()[0])
    theirs = expected["prompt_stereotyping"]
    assert [score["name"] for score in ours["scores"]] == [
        score["name"] for score in theirs["scores"]
    ]
    assert set(theirs) <= set(ours)
    ours = json.loads(
        (exported(run[0]) / "qa_accuracy_qa.jsonl").read_text(encoding="utf-8").splitlines()[0]
    )
    assert list(ours) == [
        "model_input",
        "prompt",
        "model_output",
        "target_output",
        "category",
        "scores",
    ]
    assert (ours["model_output"], ours["target_output"]) == ("yellow", "yellow")
    assert ours["scores"][0] == {"name": "f1_score", "value": 1.0}


def test_what_is_written_reads_back_as_the_scores_of_the_run(run):
    folder, suite = run
    back = find_packs()["fm"].module("references").load(exported(folder))
    renamed = {"news.rouge2": "news.rouge"}
    for name, value in each(suite.items()):
        assert back[renamed.get(name, name)]["agg_value"] == pytest.approx(value, abs=1e-12), name


def test_outputs_name_categories_sampling_and_what_is_missing(run):
    outputs = json.loads((exported(run[0]) / "eval_outputs.json").read_text(encoding="utf-8"))
    by_name = {one["eval_name"]: one for one in outputs}
    assert set(by_name) == {"qa_accuracy", "factual_knowledge", "classification_accuracy", "summarization_accuracy",
                            "toxicity", "prompt_stereotyping"}  # fmt: skip
    for one in outputs:
        names = [score["name"] for score in one["dataset_scores"]]
        assert all(
            [score["name"] for score in each["scores"]] == names for each in one["category_scores"]
        )
        assert one["sampling"]["seed"] == 1234
        assert all(
            score["value"] is None or math.isfinite(score["value"])
            for score in one["dataset_scores"]
        )
    saved = (
        (exported(run[0]) / "classification_accuracy_reviews.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    assert [score["name"] for score in json.loads(saved[0])["scores"]] == [
        "classification_accuracy_score"
    ]
