"""Logs of other tools as runs: scored, compared, reported and judged as if lm-eval had written them."""

import csv
import json
import math
import zipfile

import numpy as np
import pytest
from scipy.stats import ks_2samp

from evalprep.cli import main
from evalprep.results import open_run
from evalprep.score import open_reference, score_run

ROWS = 12
NAMES = ("forget", "retain", "ra", "wf")


def losses(seed, rows, low=0.1, high=2.0):
    return {
        str(row): float(value)
        for row, value in enumerate(np.random.default_rng(seed).uniform(low, high, rows))
    }


def probabilities(of):
    values = {row: {"prob": math.exp(-loss), "avg_loss": loss} for row, loss in of.items()}
    return {
        "agg_value": float(np.mean([value["prob"] for value in values.values()])),
        "value_by_index": values,
    }


def wrong(seed, rows):
    of = {
        row: [loss, loss + 0.5, loss + 0.25] for row, loss in losses(seed, rows, 1.0, 3.0).items()
    }
    values = {
        row: {"prob": [math.exp(-one) for one in found], "avg_loss": found}
        for row, found in of.items()
    }
    mean = float(np.mean([np.mean(value["prob"]) for value in values.values()]))
    return {"agg_value": mean, "value_by_index": values}


def ratios(correct, bad, name):
    found = {}
    for row, one in correct["value_by_index"].items():
        likely = math.exp(-np.mean(bad["value_by_index"][row]["avg_loss"]))
        found[row] = {"score": likely / (math.exp(-one["avg_loss"]) + 1e-10)}
    values = np.array([one["score"] for one in found.values()])
    whole = (
        np.minimum(values, 1 / (values + 1e-10)) if name == "forget" else np.maximum(0, 1 - values)
    )
    return {"agg_value": float(whole.mean()), "value_by_index": found}


def reply_mark(seed):
    """What tells the replies of two models apart, whose scores differ."""
    return f" {seed}" if seed else ""


def open_unlearning(seed=0, rows=ROWS, topic="river"):
    """TOFU_EVAL.json as OpenUnlearning writes it, over questions of our own."""
    log = {}
    for number, name in enumerate(NAMES):
        answer, bad = (
            probabilities(losses(10 * seed + number, rows)),
            wrong(10 * seed + number + 5, rows),
        )
        other = probabilities(losses(100 * seed + number, rows))
        log[f"{name}_Q_A_Prob"], log[f"{name}_Q_A_PERT_Prob"] = answer, bad
        if name in {"forget", "retain"}:
            log[f"{name}_Q_A_PARA_Prob"] = other
        correct = other if name in {"forget", "retain"} else answer
        log["forget_truth_ratio" if name == "forget" else f"{name}_Truth_Ratio"] = ratios(
            correct, bad, name
        )
        rouge = {
            row: {
                "rouge1_recall": value / 4,
                "rougeL_f1": value / 4,
                "rougeL_recall": value / 4,
                "input": f"system\n\nBe kind.user\n\nWhich {topic} is number {row}?assistant\n\n",
                "ground_truth": f"The {topic} of {name} {row}.",
                "generation": f"It is the {topic} {row}{reply_mark(seed)}.<|im_end|>",
            }
            for row, value in losses(1000 * seed + number, rows, 0.2, 4.0).items()
        }
        mean = float(np.mean([one["rougeL_recall"] for one in rouge.values()]))
        log[f"{name}_Q_A_ROUGE"] = {"agg_value": mean, "value_by_index": rouge}
    sides = {
        side: {
            "agg_value": 1.0,
            "value_by_index": {row: {"score": one} for row, one in losses(seed + at, rows).items()},
        }
        for at, side in ((50, "forget"), (60, "holdout"))
    }
    scores = [
        [one["score"] for one in sides[side]["value_by_index"].values()]
        for side in ("forget", "holdout")
    ]
    auc = float(np.mean([[float(score < other) for score in scores[0]] for other in scores[1]]))
    log["mia_min_k"] = {**sides, "auc": auc, "agg_value": auc}
    log["forget_quality"] = {"agg_value": 0.25}
    log["model_utility"] = {"agg_value": 0.5}
    log["privleak"] = {"agg_value": -3.0}
    return log


@pytest.fixture
def saved(tmp_path):
    """A function that writes a log where OpenUnlearning would, and returns its path."""

    def save(name, **settings):
        place = tmp_path / "saves" / name / "evals" / "TOFU_EVAL.json"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(open_unlearning(**settings), indent=4, sort_keys=True))
        return place

    return save


def scores_of(packs, place, reference=None):
    opened = None if reference is None else open_reference(reference, packs.values())
    run = open_run(place, packs.values())
    return {score.name: score for score in score_run(run, packs, reference=opened).suite}


def test_a_log_of_openunlearning_has_every_score_it_states_with_its_interval(packs, saved):
    place = saved("npo_forget10/checkpoint-60")
    log, run = json.loads(place.read_text()), open_run(place, packs.values())
    assert run.model == "npo_forget10/checkpoint-60"
    assert run.label == "checkpoint-60"
    found = scores_of(packs, place)
    for name in (
        "forget_Q_A_Prob",
        "ra_Q_A_PERT_Prob",
        "forget_truth_ratio",
        "wf_Truth_Ratio",
        "retain_Q_A_ROUGE",
    ):
        score = found[name]
        assert score.value == log[name]["agg_value"], name
        assert score.low < score.value < score.high, name
        assert score.n == ROWS
    assert found["mia_min_k"].low is not None
    assert found["forget_quality"].value == 0.25  # what the log states, as no reference is named
    assert "as the log states it" in found["forget_quality"].result.notes[-1]
    assert "extraction_strength" not in found


def test_headline_numbers_of_logs_are_computed_from_their_rows(packs, saved):
    own, retain = saved("unlearned", seed=1), saved("retain", seed=2)
    found = scores_of(packs, own, retain)
    logs = [json.loads(place.read_text()) for place in (own, retain)]
    columns = [
        [one["score"] for one in log["forget_truth_ratio"]["value_by_index"].values()]
        for log in logs
    ]
    assert found["forget_quality"].value == pytest.approx(ks_2samp(*columns).pvalue, rel=1e-9)
    here, there = (1 - log["mia_min_k"]["agg_value"] for log in logs)
    assert found["privleak"].value == pytest.approx(100 * (here - there) / (there + 1e-10))
    parts = [found[name].value for name in packs["unlearning"].suite_scores["model_utility"].needs]
    assert found["model_utility"].value == pytest.approx(
        len(parts) / sum(1 / part for part in parts)
    )
    assert "the log itself states 0.5" in found["model_utility"].result.notes
    assert found["forget_truth_ratio"].reference == pytest.approx(
        logs[1]["forget_truth_ratio"]["agg_value"]
    )


@pytest.mark.parametrize(
    ("other", "words"),
    [
        pytest.param(
            {"rows": 8}, "this run has 12 forget rows and the reference 8", id="another size"
        ),
        pytest.param(
            {"topic": "hill"},
            "12 of 12 forget rows ask for another answer in the reference",
            id="questions",
        ),
    ],
)
def test_a_reference_over_other_rows_is_refused_by_name(packs, saved, other, words):
    found = scores_of(packs, saved("unlearned", seed=1), saved("retain", seed=2, **other))
    for name in ("forget_quality", "privleak"):
        assert words in found[name].reason or words in str(found[name].result.notes)
    if "rows" in other:
        assert found["forget_Q_A_Prob"].reference is None


def test_summaries_and_own_scores_are_runs_without_rows(packs, saved, tmp_path):
    place = saved("unlearned")
    assert main(["score", str(place), "--out", str(tmp_path / "out")]) == 0
    log, exported = json.loads(place.read_text()), tmp_path / "out"
    summary = tmp_path / "only" / "TOFU_SUMMARY.json"
    summary.parent.mkdir()
    summary.write_bytes((exported / "TOFU_SUMMARY.json").read_bytes())
    for subject in (summary, summary.parent, exported / "scores.json", exported / "TOFU_EVAL.json"):
        found = scores_of(packs, subject)
        assert found["forget_Q_A_Prob"].value == pytest.approx(
            log["forget_Q_A_Prob"]["agg_value"]
        ), subject
        assert found["model_utility"].value is not None
    itself = scores_of(packs, exported / "TOFU_EVAL.json", exported / "TOFU_EVAL.json")
    assert itself["forget_quality"].value is None
    assert itself["forget_quality"].reason == "the run is its own reference"


def test_every_verb_takes_logs(saved, tmp_path, capsys):
    own, retain = saved("unlearned", seed=1), saved("retain", seed=2)
    assert (
        main(
            [
                "score",
                str(own),
                "--reference",
                str(retain.parent),
                "--out",
                str(tmp_path / "scored"),
            ]
        )
        == 0
    )
    assert "forget_quality" in capsys.readouterr().out
    assert main(["compare", str(own), str(retain), "--no_write", "--exit-zero", "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert {task["task"] for task in compared["tasks"]} == {
        *(f"tofu_{name}_{kind}" for name in NAMES for kind in ("gen", "lp")),
        "tofu_holdout_lp",
    }
    utility = next(
        score for score in compared["suite"] if score["name"] == "unlearning/model_utility"
    )
    assert utility["low"] < utility["delta"] < utility["high"]
    assert (
        main(
            [
                "report",
                str(own),
                str(retain),
                "--format",
                "html,csv",
                "--out",
                str(tmp_path / "page"),
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert "It is the river" in (tmp_path / "page" / "samples.csv").read_text()
    asked = [
        "judge",
        str(own),
        "--model",
        "m",
        "--base_url",
        "http://127.0.0.1:9/v1",
        "--dry_run",
        "--json",
    ]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert "Which river is number 0?" in out
    assert "Be kind" not in out
    assert "<|im_end|>" not in out


def test_published_logs_as_runs(packs, shared):
    folder = shared / "vectors" / "unlearning_data" / "tofu_published_logs"
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent")
    expected = json.loads((folder / "expected.json").read_text())
    full, retain = folder / "llama2_7b_full.parquet", folder / "llama2_7b_retain90.parquet"
    found = scores_of(packs, full, retain)
    assert found["forget_quality"].value == pytest.approx(
        expected["forget_quality_full_vs_retain90"], rel=1e-4
    )
    assert found["model_utility"].value == pytest.approx(
        expected["llama2_7b_full"]["model_utility"], abs=1e-6
    )
    assert found["model_utility"].low < found["model_utility"].value < found["model_utility"].high


def test_a_stated_forget_quality_does_not_stand_for_a_refused_one(packs, tmp_path):
    def log(name, rows, **more):
        folder = tmp_path / name
        folder.mkdir()
        ratios = {str(index): {"score": 0.5 + index / 100} for index in range(rows)}
        losses = {str(index): {"prob": 0.5, "avg_loss": 0.7} for index in range(rows)}
        content = {"forget_truth_ratio": {"agg_value": 0.6, "value_by_index": ratios}, **more}
        content |= {
            f"forget_Q_A_{one}_Prob": {"agg_value": 0.5, "value_by_index": losses}
            for one in ("PARA", "PERT")
        }
        (folder / "TOFU_EVAL.json").write_text(json.dumps(content))
        return open_run(folder, packs.values())

    stated = log("npo", 40, forget_quality={"agg_value": 0.77})
    alone, beside = (
        next(
            score
            for score in score_run(stated, packs, reference=other).suite
            if score.name == "forget_quality"
        )
        for other in (None, log("retain", 200))
    )
    assert alone.value == 0.77
    assert beside.value is None
    assert "40 forget rows and the reference 200" in beside.reason
    assert beside.result.notes == ["the log itself states 0.77, against another reference"]


def scores_json(capsys, *arguments):
    capsys.readouterr()
    assert main(["score", *map(str, arguments), "--no-write", "--json"]) == 0
    suite = json.loads(capsys.readouterr().out)
    return {score["name"]: score for score in suite["suite"]}, suite["results"]


def test_a_stated_leakage_is_shown_as_stated_without_a_reference(saved, capsys):
    """Computed against an AUC of 0.5 it is another number than the log's, by the same name."""
    own, retain = saved("unlearned", seed=1), saved("retain", seed=2)
    suite, results = scores_json(capsys, own)
    assert suite["privleak"]["value"] == -3.0
    assert (suite["privleak"]["low"], suite["privleak"]["high"]) == (None, None)
    notes = results["unlearning/privleak"]["notes"]
    assert notes == [
        "as the log states it, not computed anew: no reference; name one with --reference"
    ]
    assert main(["score", str(own), "--no-write"]) == 0
    assert "as the log states it" in " ".join(capsys.readouterr().out.split())
    against_retain, results = scores_json(capsys, own, "--reference", retain)
    areas = [json.loads(place.read_text())["mia_min_k"]["auc"] for place in (own, retain)]
    expected = 100 * ((1 - areas[0]) / (1 - areas[1]) - 1)
    assert against_retain["privleak"]["value"] == pytest.approx(expected)
    assert "notes" not in results["unlearning/privleak"]


def test_a_stated_leakage_is_marked_in_the_files_of_the_report(saved, tmp_path):
    out = tmp_path / "page"
    formats = ("--format", "html,csv,xlsx,md,json", "--out", str(out))
    assert main(["report", str(saved("unlearned", seed=1)), *formats]) == 0
    marked = "as the log states it, not computed anew"
    report = json.loads((out / "report.json").read_text())
    (score,) = [score for score in report["scores"] if score["name"] == "privleak"]
    assert (score["runs"][0]["agg_value"], score["runs"][0].get("interval")) == (-3.0, None)
    assert any(note.startswith(marked) for note in score["runs"][0]["notes"])
    with (out / "scores.csv").open(newline="") as file:
        (line,) = [row for row in csv.DictReader(file) if row["name"] == "privleak"]
    assert (line["value"], line["low"], line["high"]) == ("-3.0", "", "")
    assert marked in line["notes"]
    assert marked in (out / "report.md").read_text()
    with zipfile.ZipFile(out / "report.xlsx") as book:
        assert any(marked.encode() in book.read(name) for name in book.namelist())
