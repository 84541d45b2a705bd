"""Stored replies: scored without a model, equal to fmeval's values, read like any run."""

import json

import pytest

from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.run.stored import score_stored
from tests import PROJECT_ROOT
from tests.packs.fm.project import (
    DEMO,
    FACTS,
    NEWS,
    PAIRS,
    PROMPTS,
    QA,
    REPLIES,
    REVIEWS,
    prepared,
    rows_of,
    scored,
    stored,
    write_config,
)

VECTORS = PROJECT_ROOT / "tests" / "data" / "vectors" / "fm.jsonl"
# Algorithm -> entry, in the settings that the vectors were made with.
ENTRIES = {
    "factual_knowledge": stored(FACTS, num_records=12),
    "qa_accuracy": stored(QA, num_records=100),
    "classification_accuracy": stored(REVIEWS, num_records=100, label_match="fmeval"),
    "prompt_stereotyping": stored(PAIRS, num_records=100),
}


def expected(algorithm):
    lines = (json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines())
    return next(
        line["expected"] for line in lines if line["metric"] == f"fm.evaluate_byo.{algorithm}"
    )


@pytest.mark.parametrize("algorithm", ENTRIES)
def test_scores_and_categories_are_those_of_fmeval(tmp_path, capsys, algorithm):
    entry, values = ENTRIES[algorithm], expected(algorithm)
    prepared(tmp_path, entry)
    found = scored(tmp_path, capsys)["results"]
    for score, value in values["dataset_scores"].items():
        if score == "bertscore":
            continue
        result = found[f"fm/{entry['name']}.{score}"]
        assert result["agg_value"] == pytest.approx(value, abs=1e-6)
        categories = {name: one["agg_value"] for name, one in result["categories"].items()}
        assert categories == pytest.approx(
            {name: one[score] for name, one in values["category_scores"].items()}, abs=1e-6
        )
    records = rows_of(tmp_path, f"fm_{entry['name']}_{algorithm}")
    assert len(records) == values["num_output_records"]
    first = values["first_output_record"]
    assert records[0]["category"] == first["category"]
    if "model_output" in first:
        assert (records[0]["model_output"], records[0]["target"]) == (
            first["model_output"],
            first["target_output"],
        )


def test_samples_of_lm_eval_are_stored_replies_too(tmp_path, capsys):
    """As logged by any run of lm-eval, found by expressions into their lines."""
    source = [
        json.loads(line) for line in (DEMO / "qa.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    lines = [
        {
            "doc_id": at,
            "doc": one,
            "target": one["answer"],
            "resps": [[one["responses"]["model_b"]["text"]]],
        }
        for at, one in enumerate(source)
    ]
    file = tmp_path / "samples_other_2026-01-01T00-00-00.000000.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    fields = {"model_input": "doc.question", "target_output": "target", "category": "doc.topic",
              "model_output": "resps[0][0]"}  # fmt: skip
    prepared(tmp_path, {**stored(QA), "path": str(file), "fields": fields})
    found = scored(tmp_path, capsys)["results"]
    values = expected("qa_accuracy")["dataset_scores"]
    assert {
        name: found[f"fm/qa.{name}"]["agg_value"] for name in values if name != "bertscore"
    } == pytest.approx(
        {name: value for name, value in values.items() if name != "bertscore"}, abs=1e-6
    )


def test_several_tasks_are_one_run(tmp_path, capsys):
    prepared(tmp_path, stored(QA), stored(REVIEWS, algorithms=["classification_accuracy", "toxicity"]), stored(PROMPTS),
             stored(NEWS), meteor="no_synonyms", detector="off")  # fmt: skip
    scores = scored(tmp_path, capsys)
    assert scores["model"] == "model_a"
    assert len(scores["tasks"]) == 5
    assert scores["groups"] == []
    assert scores["results"]["fm/prompts.insult_words"]["n"] == 20


def test_a_run_of_stored_replies_can_be_compared_and_reported(tmp_path, capsys):
    entry = stored(QA)
    other = {**entry, "fields": {**entry["fields"], "model_output": "responses.model_a.text"}}
    for name, one in (("a", other), ("b", entry)):
        folder = tmp_path / name
        folder.mkdir()
        prepared(folder, one)
        assert main(["run", "--replies=rows", str(folder / "work_dir")]) == 0
    runs = [str(tmp_path / name / "eval_results") for name in "ab"]
    assert main(["compare", *runs]) in (0, 1, 3)
    assert main(["report", runs[0], "--out", str(tmp_path / "report")]) == 0
    capsys.readouterr()
    page = next((tmp_path / "report").glob("*.html"))
    assert "fm_qa_qa_accuracy" in page.read_text(encoding="utf-8")


def test_a_row_without_a_reply_leaves_nothing_behind(tmp_path):
    prepared(tmp_path, QA)
    yaml_file = tmp_path / "work_dir" / "fm" / "fm_qa_qa_accuracy.yaml"
    with pytest.raises(BadInput, match="row r1 has no model_output"):
        score_stored(
            {"fm_qa_qa_accuracy": yaml_file}, output_path=tmp_path / "out", model="m", metadata={}
        )
    assert not list((tmp_path / "out").rglob("*.json*"))


def test_tasks_that_need_filters_are_refused(tmp_path):
    file = tmp_path / "task.yaml"
    file.write_text("task: t\noutput_type: generate_until\nfilter_list: [{name: x}]\n")
    with pytest.raises(BadInput, match="stored replies cannot be scored by this task"):
        score_stored({"t": file}, output_path=tmp_path, model="m", metadata={})


def test_scoring_stored_replies_needs_no_lm_eval(tmp_path, project_root):
    import subprocess
    import sys

    prepared(tmp_path, stored(QA))
    code = (
        "import sys\nfrom evalprep.cli import main\n"
        f"assert main(['run', '--replies=rows', {str(tmp_path / 'work_dir')!r}]) == 0\n"
        "print(*sorted({'lm_eval', 'torch', 'transformers', 'vllm'} & {name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project_root, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == ""


def test_without_wordnet_one_finding_gives_the_command(tmp_path, capsys, monkeypatch):
    import nltk

    from custom_metrics.fm import meteor

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(meteor, "PLACES", ())
    config = write_config(tmp_path, stored(NEWS))
    assert main(["prepare", "--config", str(config)]) == 0
    printed = " ".join(capsys.readouterr().err.split())
    assert "python -m nltk.downloader wordnet punkt_tab" in printed
    assert "EP709" in printed
    assert "EP510" not in printed
    assert "EP601" not in printed  # no model is asked, so that no tokenizer is either
    results = scored(tmp_path, capsys)["results"]
    assert results["fm/news.rouge2"]["n"] == 20
    assert "nltk.downloader" in results["fm/news.meteor"]["reason"]


MODELS = {"core": {"model_name": None, "models": ["org/model_a", "org/model_b"]}}


def test_outputs_of_two_models_are_two_runs(tmp_path, capsys):
    fields = {"org/model_a": "responses.model_a.text", "model_b": "responses.model_b.text"}
    config = write_config(tmp_path, {**QA, "outputs": fields}, **MODELS)
    assert main(["prepare", "--config", str(config)]) == 0
    assert capsys.readouterr().out.count("run --replies rows") == 1
    assert main(["run", "--replies=rows", str(tmp_path / "work_dir")]) == 0
    runs = [tmp_path / "eval_results" / f"stored__model_{name}" for name in "ab"]
    capsys.readouterr()
    values = [scores_at(run, capsys)["results"]["fm/qa.f1_score"]["agg_value"] for run in runs]
    expected_b = expected("qa_accuracy")["dataset_scores"]["f1_score"]
    assert values[1] == pytest.approx(expected_b, abs=1e-6)
    assert values[0] != values[1]
    assert main(["compare", *map(str, runs)]) in (0, 1, 3)
    doc = json.loads(next(runs[0].glob("samples_*")).read_text().splitlines()[0])["doc"]
    assert not [name for name in doc if "@" in name]


def test_log_probabilities_of_two_models(tmp_path, capsys):
    fields = REPLIES["pairs"]
    outputs = {"model_a": fields, "model_b": {**fields, "sent_more_log_prob": "scores.less"}}
    config = write_config(tmp_path, {**PAIRS, "outputs": outputs}, **MODELS)
    assert main(["prepare", "--config", str(config)]) == 0
    assert main(["run", "--replies=rows", str(tmp_path / "work_dir")]) == 0
    capsys.readouterr()
    scores = scores_at(tmp_path / "eval_results" / "stored__model_b", capsys)["results"]
    assert scores["fm/pairs.log_probability_difference"]["agg_value"] == 0.0


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        ("dataset", "one reply per record for 2 models"),
        ({"model_a": "response"}, "outputs has no field for the model org/model_b"),
    ],
)
def test_a_model_without_replies_is_refused(tmp_path, capsys, outputs, reason):
    entry = {**stored(QA), "outputs": outputs}
    config = write_config(tmp_path, entry, **MODELS)
    assert main(["prepare", "--config", str(config)]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())


def scores_at(run, capsys):
    assert main(["score", str(run), "--json"]) == 0
    return json.loads(capsys.readouterr().out)
