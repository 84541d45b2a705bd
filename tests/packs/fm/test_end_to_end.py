"""The printed command on a tiny model that always says the same, over own files; then stored replies of that run."""

import json
import os
import subprocess

import pytest

from tests import import_path, processes
from tests.loops import each
from tests.packs.fm.project import (
    FACTS,
    NEWS,
    OPEN,
    PAIRS,
    PROMPTS,
    QA,
    REVIEWS,
    with_,
    write_config,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_starts")]
SAYS = "yellow"
DATA = (
    with_(QA, algorithms=["qa_accuracy", "qa_accuracy_semantic_robustness"], num_records=6, num_perturbations=2),
    with_(FACTS, num_records=6),
    with_(NEWS, algorithms=["summarization_accuracy"], num_records=4),
    with_(REVIEWS, algorithms=["classification_accuracy", "classification_accuracy_semantic_robustness"], num_records=6,
          num_perturbations=2, valid_labels=["0", "1", "yellow"]),
    with_(OPEN, num_records=4, num_perturbations=2),
    with_(PAIRS, num_records=6),
    with_(PROMPTS, num_records=4),
)  # fmt: skip


def paste(printed, cwd):
    env = {**os.environ, **import_path()}
    command = ["sh", "-c", printed]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, check=False, cwd=cwd, env=env
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]


def evalprep(*words, cwd):
    return processes.run(*words, cwd=cwd, check=True).stdout


@pytest.fixture(scope="module")
def run(tiny_model, tmp_path_factory):
    """Folder of one preparation, run by the printed commands."""
    folder = tmp_path_factory.mktemp("fm")
    core = {
        "model_name": str(tiny_model(SAYS)), "backend": "hf", "device": "cpu", "dtype": "float32",
        "max_model_len": 512, "add_bos_token": None,
    }  # fmt: skip
    write_config(folder, *DATA, core=core, max_gen_toks=8, meteor="off", detector="off")
    paste(prepare(folder), folder)
    return folder


def prepare(folder):
    """The commands that a preparation prints."""
    words = ["--config_path", "eval_config.yaml", "--quiet"]
    return processes.run(*words, program="prepare_eval.py", cwd=folder, check=True).stdout


def scores(folder):
    return json.loads(evalprep("score", "eval_results", "--json", cwd=folder))


def test_every_algorithm_has_its_scores(run):
    found = {score["name"]: score["value"] for score in scores(run)["suite"]}
    assert found["reviews.classification_accuracy_score"] == 0.0
    assert found["qa.delta_f1_score"] == 0.0  # it always says the same
    assert found["open.word_error_rate"] == 0.0
    assert found["prompts.insult_words"] == 0.0
    assert 0 <= found["pairs.prompt_stereotyping"] <= 1
    assert found["facts.factual_knowledge"] is not None
    assert found["news.rouge2"] == 0.0
    assert all(value is not None for value in found.values())


def test_the_check_has_no_objection(run):
    """Tasks load through lm-eval, and their scorers give credit to a right reply."""
    evalprep("check", "--config_path", "eval_config.yaml", cwd=run)


def test_one_report_shows_them(run):
    evalprep("report", "eval_results", "--out", "report", cwd=run)
    page = next((run / "report").glob("*.html")).read_text(encoding="utf-8")
    assert "fm_reviews_classification_accuracy_semantic_robustness" in page


def test_stored_replies_of_that_run_give_the_same_numbers_to_the_last_bit(run, tmp_path):
    """The replies that the model gave are put into a file and scored without it."""
    (results,) = (run / "eval_results").rglob("results_*.json")
    by_model = json.loads(results.read_text(encoding="utf-8"))["results"]
    entries = []
    for entry, task in (
        (DATA[0], "fm_qa_qa_accuracy"), (DATA[1], "fm_facts_factual_knowledge"),
        (DATA[3], "fm_reviews_classification_accuracy"), (DATA[2], "fm_news_summarization_accuracy"),
    ):  # fmt: skip
        (samples,) = results.parent.glob(f"samples_{task}_2*.jsonl")
        lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
        file = tmp_path / f"{task}.jsonl"
        records = [
            {"q": line["doc"]["prompt"], "a": line["doc"]["target"], "r": line["resps"][0][0]}
            for line in lines
        ]
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
        kept = {key: value for key, value in entry.items() if key in ("name", "valid_labels")}
        algorithm = task.removeprefix(f"fm_{entry['name']}_")
        fields = {"model_input": "q", "target_output": "a", "model_output": "r"}
        entries.append(
            {
                **kept,
                "path": str(file),
                "algorithms": [algorithm],
                "fields": fields,
                "outputs": "dataset",
            }
        )
    write_config(tmp_path, *entries, meteor="off")
    paste(prepare(tmp_path), tmp_path)
    (stored,) = (tmp_path / "eval_results").rglob("results_*.json")
    for task, values in each(json.loads(stored.read_text(encoding="utf-8"))["results"].items()):
        numbers = {name: value for name, value in values.items() if "," in name}
        assert numbers == {name: by_model[task][name] for name in numbers}
        assert numbers


def test_a_limit_in_the_middle_of_a_record_is_counted(run, tmp_path):
    """By hand, past the command that was printed: three rows to a record, and a limit of five."""
    command = [
        "--model", "dummy", "--tasks", "fm_qa_qa_accuracy_semantic_robustness",
        "--include_path", str(run / "work_dir"), "--output_path", str(tmp_path), "--log_samples", "--limit", "5",
    ]  # fmt: skip
    processes.run(*command, program="lm_eval", cwd=tmp_path, check=True)
    (results,) = tmp_path.rglob("results_*.json")
    values = json.loads(results.read_text(encoding="utf-8"))["results"][
        "fm_qa_qa_accuracy_semantic_robustness"
    ]
    assert values["delta_f1_score,none"] == 0.0
    assert "f1_score,none" in values
