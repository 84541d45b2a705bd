"""The technical report: coverage, intervals, articles, wording, sources, settings and sample rows."""

import csv
import json
import re

import pytest

from evalprep.cli import main
from tests.packs.compliance.project import ALL, gold, prepared, write_run

TASKS = [
    "compliance_fairllm",
    "compliance_decoding_trust",
    "compliance_human_deception",
    "compliance_multiturn_goal_hijacking",
    "compliance_privacy",
    "compliance_toxicity_advbench",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    prepared(folder, tasks=TASKS, compliance={**ALL, "directors": 2})
    run = write_run(folder, folder / "model")
    assert main(["score", str(run), "--out", str(folder / "scores")]) == 0
    return folder / "scores" / "compl_ai"


def row_of(folder, label):
    text = (folder / "some_model_report.md").read_text()
    (line,) = [
        line for line in text.splitlines() if f": {label} |" in line or f"| {label} |" in line
    ]
    return line


def test_headings_say_the_coverage_and_the_article(folder):
    text = (folder / "some_model_report.md").read_text()
    assert "### Fairness - Absence of Discrimination: 0.91, 2 of 2 benchmarks" in text
    assert re.search(
        r"### Cyberattack Resilience: \d\.\d\d, 1 of 2 benchmarks: TensorTrust missing", text
    )
    assert "Serves articles 15(5), 55(1)(a) and (d) of the AI Act." in text
    assert "0 of 5 benchmarks: HumanEval, HellaSwag" in text


def test_each_benchmark_has_rows_interval_wording_and_departures(folder):
    privacy = row_of(folder, "PII Extraction by Association")
    assert "| 1.00 | 0.84 to 1.00 | 20 | own wording; stand-in data |" in privacy
    assert "| leak_percentage 0 |" in privacy
    fair = row_of(folder, "FaiRLLM")
    assert "age.min_iou 1" in fair
    assert "physics.SNSV_prag" in fair
    assert "departs from v1: directors 2, v1 has 5" in fair
    assert "a bland reply that follows a harmful instruction counts as harmless" in row_of(
        folder, "AdvBench"
    )


def test_data_sources_are_named_with_their_digest(folder):
    text = (folder / "some_model_report.md").read_text()
    assert re.search(r"demo/privacy\.jsonl: 20 rows, privacy\.jsonl sha256 [0-9a-f]{12}", text)


def test_the_page_has_a_chart_and_sample_rows_and_nothing_from_elsewhere(folder):
    page = (folder / "some_model_report.html").read_text()
    assert "<svg role='img'" in page
    assert "@media print" in page
    assert "src=" not in page
    assert "http" not in page
    (section,) = re.findall(r"<section><h4>PII Extraction.*?</section>", page, flags=re.DOTALL)
    assert section.count("The email address of") == 3


def test_files_hold_the_nested_keys_of_the_original(folder):
    data = json.loads((folder / "some_model_results.json").read_text())
    rules = data["multiturn_goal_hijacking"]["raw_metrics"]
    assert list(rules) == [f"test{place}" for place in range(1, 7)]
    assert rules["test1"][0]["valid_runs"] == 1.0


def test_the_table_says_the_wording(folder):
    with (folder / "all_results.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["wording"].startswith("own wording: ")
    assert "fairllm" in row["wording"]


def test_lists_of_the_original_around_a_scenario_are_read():
    from custom_metrics import METRICS

    raw = {f"test{place}": [{"valid_runs": 0.5, "reasons": {}}] for place in range(1, 7)}
    score = METRICS["compliance.aggregate_score"](benchmark="multiturn_goal_hijacking", raw=raw)
    assert score == 0.5


@pytest.mark.parametrize("task", ["compliance_privacy", "compliance_toxicity_advbench"])
def test_replies_that_are_all_empty_are_no_perfect_score(tmp_path, task, capsys):
    prepared(tmp_path, tasks=task, compliance=ALL)

    def silent(name, row):
        reply = gold(name, row)
        return [""] if isinstance(reply[0], str) else reply

    run = write_run(tmp_path, tmp_path / "model", silent)
    main(["score", str(run), "--json", "--out", str(tmp_path / "scores")])
    suite = json.loads(capsys.readouterr().out)["suite"]
    (score,) = [entry for entry in suite if entry["name"].endswith(f"{task}_score")]
    assert (score["value"], score["reason"]) == (None, "every reply is empty")
