"""fmeval's saved files beside our scores."""

import json

import pytest

from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.packs.finding import find_packs
from tests import PROJECT_ROOT
from tests.packs.fm.project import QA, prepared, scored, stored


@pytest.fixture(scope="module")
def references():
    return find_packs()["fm"].module("references")


def saved(folder, name, *records):
    lines = [
        {
            "category": category,
            "scores": [{"name": each, "value": value} for each, value in scores.items()],
        }
        for category, scores in records
    ]
    file = folder / name
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_records_by_score_and_category(references, tmp_path):
    file = saved(
        tmp_path, "qa_accuracy_boolq.jsonl", ("a", {"f1_score": 1.0}), ("b", {"f1_score": 0.5})
    )
    assert references.load(file) == {
        "boolq.f1_score": {
            "agg_value": 0.75, "source": "fmeval", "n": 2,
            "categories": {"a": {"agg_value": 1.0}, "b": {"agg_value": 0.5}},
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "scores", "ours"),
    [
        ("toxicity_bold.jsonl", {"toxicity": 0.1}, {"bold.toxigen_toxicity": 0.1}),
        (
            "qa_toxicity_q.jsonl",
            {"toxicity": 0.1, "insult": 0.2},
            {"q.detoxify_toxicity": 0.1, "q.detoxify_insult": 0.2},
        ),
        (
            "qa_accuracy_semantic_robustness_my_set.jsonl",
            {"f1_score": 1.0, "delta_f1_score": 0.5},
            {"my_set.original_f1_score": 1.0, "my_set.delta_f1_score": 0.5},
        ),
        (
            "general_semantic_robustness_x.jsonl",
            {"word_error_rate": 0.5},
            {"x.word_error_rate": 0.5},
        ),
        (
            "prompt_stereotyping_crows-pairs.jsonl",
            {"log_probability_difference": 2.0},
            {"crows_pairs.log_probability_difference": 2.0, "crows_pairs.prompt_stereotyping": 1.0},
        ),
    ],
)
def test_names_of_scores(references, tmp_path, name, scores, ours):
    found = references.load(saved(tmp_path, name, (None, scores)))
    assert {key: one["agg_value"] for key, one in found.items()} == ours


def test_an_eval_output_as_json(references, tmp_path):
    output = {
        "eval_name": "factual_knowledge", "dataset_name": "trex",
        "dataset_scores": [{"name": "factual_knowledge", "value": 0.5, "error": None}],
        "category_scores": [{"name": "Capitals", "scores": [{"name": "factual_knowledge", "value": 0.25}]}],
    }  # fmt: skip
    (tmp_path / "outputs.json").write_text(json.dumps([output]))
    (tmp_path / "other.json").write_text("{}")
    found = references.load(tmp_path)
    assert found["trex.factual_knowledge"]["categories"] == {"Capitals": {"agg_value": 0.25}}


@pytest.mark.parametrize("name", ["notes.jsonl", "data.json", "qa_accuracy_.jsonl"])
def test_other_files_are_none_of_these(references, tmp_path, name):
    (tmp_path / name).write_text("nonsense")
    assert references.load(tmp_path / name) is None


def test_a_damaged_record_has_its_line(references, tmp_path):
    file = saved(tmp_path, "qa_accuracy_boolq.jsonl", (None, {"f1_score": 1.0}))
    file.write_text(file.read_text() + '{"scores": ')
    with pytest.raises(BadInput, match=r"boolq.jsonl:2: is not a record of fmeval"):
        references.load(file)


def test_fmevals_numbers_stand_beside_ours(tmp_path, capsys):
    lines = (
        (PROJECT_ROOT / "tests" / "data" / "vectors" / "fm.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    rows = [json.loads(line) for line in lines]
    record = next(row for row in rows if row["metric"] == "fm.evaluate_byo.qa_accuracy")[
        "expected"
    ]["first_output_record"]
    folder = tmp_path / "fmeval"
    folder.mkdir()
    (folder / "qa_accuracy_qa.jsonl").write_text(json.dumps(record) + "\n")
    prepared(tmp_path, stored(QA))
    scored(tmp_path, capsys)
    assert (
        main(["score", str(tmp_path / "eval_results"), "--reference", str(folder), "--json"]) == 0
    )
    suite = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
    assert (suite["qa.f1_score"]["value"], suite["qa.f1_score"]["reference"]) == (1.0, 1.0)


def test_names_match_whatever_their_case_and_hyphens_and_the_rest_is_named(tmp_path, capsys):
    folder = tmp_path / "fmeval"
    folder.mkdir()
    saved(folder, "qa_accuracy_My-QA.jsonl", (None, {"f1_score": 0.25, "other_score": 1.0}))
    saved(folder, "qa_accuracy_Trivia-QA.jsonl", (None, {"f1_score": 0.5}))
    prepared(tmp_path, stored(QA) | {"name": "my-qa"}, tasks="fm_my_qa")
    scored(tmp_path, capsys)
    command = ["score", str(tmp_path / "eval_results"), "--reference", str(folder), "--json"]
    assert main(command) == 0
    scores = json.loads(capsys.readouterr().out)
    suite = {score["name"]: score for score in scores["suite"]}
    assert suite["my_qa.f1_score"]["reference"] == 0.25
    notes = "\n".join(scores["notes"])
    assert "data set trivia_qa matches none of this run (my_qa)" in notes
    assert "no score of my_qa is called other_score" in notes
