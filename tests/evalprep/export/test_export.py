"""`evalprep export`: every format through the command line, and what none of them holds."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from xml.etree import ElementTree as ET

import pytest
import yaml

from evalprep.cli import main
from evalprep.export import check_file, cut_summary
from evalprep.readers import sample_hash
from tests import PROJECT_ROOT
from tests.evalprep.leaderboard import runs as board_runs
from tests.evalprep.readers.logs import inspect_sample, write_json_log
from tests.evalprep.report.runs import HOSTILE, capitals, hostile, line, summaries, write_run
from tests.evalprep.results.writing import Row
from tests.evalprep.results.writing import write_run as write_small_run

FILES = (
    "every-eval-ever",
    "inspect",
    "model-card",
    "github",
    "junit",
    "markdown",
    "csv",
    "parquet",
)
SECRET = "sk-secret"  # of `write_run`
URL = "https://example.org/run"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs: right-or-wrong rows with published verdicts, hostile texts, graded rows."""
    place = tmp_path_factory.mktemp("runs")
    for name, wrong in (("a", 9), ("b", 2)):
        tasks = {
            "capitals": capitals(60, wrong=wrong, unread=3),
            "hostile": hostile(),
            "summaries": summaries(12),
        }
        write_run(place / name, tasks, model=f"org/model-{name}")
    return place


@pytest.fixture(scope="module")
def gated(tmp_path_factory):
    """A run over a task whose name is that of a gated data set; its texts."""
    rows = []
    for number in range(4):
        doc = {
            "Record ID": f"rec{number}",
            "Question": f"Which particle number {number} decays into two muons?",
            "choices": [f"the boson called {number}{letter}" for letter in "abcd"],
            "prompt": f"What is the correct answer: Which particle number {number} decays?\n(A) ...",
            "target": "(A)",
            "previously_is_correct": True,
            "note": f"a comment on number {number}",
        }
        answer = "(A)" if number % 2 else "(B)"
        rows.append(
            line(
                number,
                doc,
                f"I think of boson {number} {answer}",
                answer,
                "none",
                exact_match=float(number % 2),
            )
        )
    place = tmp_path_factory.mktemp("gated")
    write_run(place, {"my_gpqa_diamond": iter(rows)}, model="org/model-g")
    texts = ["decays", "boson", "comment", "I think", "What is the correct", "particle", "muons"]
    return place, texts


def quiz(rows):
    """Right-or-wrong rows of one filter: the first is wrong."""
    for number in range(rows):
        doc = {"sample_id": f"q{number}", "prompt": f"Is {number} even?", "target": "yes"}
        answer = "yes" if number else "no"
        yield line(number, doc, answer, answer, "none", exact_match=float(number > 0))


def export(out, *words, code=0):
    assert main(["export", *map(str, words), "--out", str(out)]) == code
    return sorted(path for path in out.rglob("*") if path.is_file()) if out.exists() else []


def said(capsys):
    return capsys.readouterr()


@pytest.mark.parametrize("name", FILES)
def test_two_exports_are_the_same_and_hold_no_credential(runs, tmp_path, name, monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    first = export(tmp_path / "one", runs / "a", "--baseline", runs / "b", "--to", name)
    second = export(tmp_path / "two", runs / "a", "--baseline", runs / "b", "--to", name)
    assert [path.relative_to(tmp_path / "one") for path in first] == [
        path.relative_to(tmp_path / "two") for path in second
    ]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name
        assert SECRET.encode() not in unpacked(one)


def unpacked(path):
    """The bytes of a file; of an archive those of its members."""
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            return b"".join(archive.read(name) for name in archive.namelist())
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return json.dumps(pq.ParquetFile(path).read().to_pylist(), default=str).encode()
    return path.read_bytes()


@pytest.mark.parametrize("name", [*FILES, "mlflow", "wandb"])
def test_no_export_holds_a_text_of_a_gated_data_set(gated, tmp_path, name, monkeypatch, capsys):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    place, texts = gated
    words = [place, "--to", name, *(["--dry_run"] if name in {"mlflow", "wandb"} else [])]
    files = export(tmp_path / "out", *words)
    printed = said(capsys).out
    assert "my_gpqa_diamond: texts are replaced by their sha256" in printed
    held = b"".join(map(unpacked, files)) + printed.encode()
    assert [text for text in texts if text.encode() in held] == []


def test_the_flag_keeps_gated_texts(gated, tmp_path):
    place, _ = gated
    files = export(tmp_path, place, "--to", "parquet", "--with-gated-text")
    assert b"two muons" in unpacked(files[0])


def test_gated_rows_keep_what_pairs_and_scores_them(gated, tmp_path):
    import pyarrow.parquet as pq

    place, _ = gated
    (hidden,) = export(tmp_path / "one", place, "--to", "parquet")
    (plain,) = export(tmp_path / "two", place, "--to", "parquet", "--with_gated_text")
    rows, others = (pq.ParquetFile(path).read().to_pylist() for path in (hidden, plain))
    for name in (
        "sample_id",
        "doc_id",
        "score",
        "published",
        "doc_hash",
        "prompt_hash",
        "target_hash",
    ):
        assert [row[name] for row in rows] == [row[name] for row in others], name
    assert rows[0]["references"] == ["(A)"]
    question = others[0]["question"].encode()
    assert rows[0]["question"] == hashlib.sha256(question).hexdigest()


def test_metadata_gate_a_task_and_free_one_by_name(runs, tmp_path, capsys):
    for name, value in (("towns", True), ("my_gpqa", False)):
        place = tmp_path / name
        write_run(place, {name: quiz(5)}, model="org/m")
        results = next(place.rglob("results_*.json"))
        content = json.loads(results.read_text())
        content["configs"][name]["metadata"]["gated"] = value
        results.write_text(json.dumps(content))
        export(tmp_path / f"{name}-out", place, "--to", "parquet")
        assert ("texts are replaced" in said(capsys).out) is value


# --- Every Eval Ever


def test_records_obey_every_rule_and_their_digests_are_right(runs, tmp_path):
    files = export(tmp_path, runs / "a", "--to", "eee", "--set", "organization=lab")
    assert [check_file(path) for path in files] == [[] for _ in files]
    records = [path for path in files if path.suffix == ".json"]
    assert {path.parts[-4] for path in records} == {"capitals", "hostile", "summaries"}
    for path in records:
        record = json.loads(path.read_text())
        detail = record["detailed_evaluation_results"]
        samples = tmp_path / detail["file_path"]
        assert detail["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()
        assert record["source_metadata"]["source_organization_name"] == "lab"
        assert record["evaluation_timestamp"] == record["retrieved_timestamp"] == "1767323045"


def test_a_suite_score_has_its_direction_and_its_standard_error(tmp_path):
    packs = board_runs.make_pack(tmp_path)
    rows = board_runs.rows(0.8, 1)
    run = board_runs.write(tmp_path / "runs", "org/model", rows, rows)
    options = ("--template_dir", packs, "--set", "samples=no")
    (path,) = export(tmp_path / "out", run, "--to", "eee", *options)
    results = json.loads(path.read_text())["evaluation_results"]
    by_name = {result["evaluation_name"]: result for result in results}
    directions = {
        name: result["metric_config"]["lower_is_better"] for name, result in by_name.items()
    }
    assert (directions["kept"], directions["secrets_recited"]) == (False, True)
    score = by_name["kept"]["score_details"]
    share, count = score["score"], board_runs.ROWS
    expected = (share * (1 - share) / (count - 1)) ** 0.5
    assert score["uncertainty"]["standard_error"]["value"] == pytest.approx(expected)


def test_each_sample_carries_its_hashes(runs, tmp_path):
    export(tmp_path, runs / "a", "--to", "eee", "--tasks", "capitals")
    (path,) = tmp_path.rglob("*_samples.jsonl")
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    assert len(lines) == 60
    assert all(
        set(item["metadata"]) >= {"doc_hash", "prompt_hash", "target_hash"} for item in lines
    )
    first = lines[0]["input"]
    assert lines[0]["sample_hash"] == sample_hash(first["raw"], first["reference"])


def test_one_record_without_samples(runs, tmp_path):
    files = export(tmp_path, runs / "a", "--to", "eee", "--set", "samples=no")
    assert len(files) == 1
    assert check_file(files[0]) == []
    assert len(json.loads(files[0].read_text())["evaluation_results"]) == 3


def test_a_model_of_a_folder_needs_an_id(tmp_path, capsys):
    write_run(tmp_path / "run", {"capitals": capitals(5, wrong=0, unread=0)}, model="/models/mine")
    assert export(tmp_path / "out", tmp_path / "run", "--to", "eee", code=2) == []
    assert "--set model_id=ORG/NAME" in said(capsys).err
    files = export(tmp_path / "out", tmp_path / "run", "--to", "eee", "--set", "model_id=lab/mine")
    assert {path.parts[-3:-1] for path in files} == {("lab", "mine")}


@pytest.mark.parametrize(
    ("dataset", "kind"),
    [("json", "other"), ("./rows", "other"), ("/data/rows", "other"), ("org/rows", "hf_dataset")],
)
def test_only_a_data_set_of_the_hub_is_the_source_of_a_record(tmp_path, dataset, kind):
    write_run(tmp_path / "run", {"capitals": capitals(3, wrong=0, unread=0)}, model="o/m")
    (path,) = (tmp_path / "run").rglob("results_*.json")
    content = json.loads(path.read_text())
    content["configs"]["capitals"]["dataset_path"] = dataset
    path.write_text(json.dumps(content))
    files = export(tmp_path / "out", tmp_path / "run", "--to", "eee", "--set", "samples=no")
    (result, *_) = json.loads(files[0].read_text())["evaluation_results"]
    assert result["source_data"]["source_type"] == kind


def test_rows_without_a_score_are_counted_and_not_written(tmp_path):
    rows = list(capitals(6, wrong=0, unread=0))
    for row in rows:
        if row["doc_id"] == 2:
            row["exact_match"] = None
    write_run(
        tmp_path / "run",
        {"capitals": (row for row in rows if row["exact_match"] is not None)},
        model="o/m",
    )
    path = next((tmp_path / "run").rglob("samples_*"))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = export(tmp_path / "out", tmp_path / "run", "--to", "eee")
    record = json.loads(next(path for path in files if path.suffix == ".json").read_text())
    detail = record["detailed_evaluation_results"]
    assert detail["total_rows"] == 5
    assert detail["additional_details"] == {"unscored": "1"}


# --- inspect_ai


@pytest.mark.parametrize("log_format", ["eval", "json"])
def test_logs_hold_every_sample_and_the_published_verdict(runs, tmp_path, log_format):
    files = export(tmp_path, runs / "a", "--to", "inspect", "--set", f"log_format={log_format}")
    assert len(files) == 3
    log = read_log(next(path for path in files if "capitals" in path.name))
    means = {score["name"]: score["metrics"]["mean"]["value"] for score in log["results"]["scores"]}
    assert means == {"exact_match": 48 / 60, "published": 48 / 60}
    assert len(log["samples"]) == log["results"]["total_samples"] == 60
    sample = log["samples"][0]
    assert sample["scores"]["exact_match"]["value"] == "I"
    assert sample["scores"]["published"] == {"value": "I"}
    assert sample["output"]["model"] == "org/model-a"
    assert len(sample["metadata"]["doc_hash"]) == 64


def read_log(path):
    if path.suffix == ".json":
        return json.loads(path.read_text())
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith("samples/")]
        samples = [json.loads(archive.read(name)) for name in names]
        return json.loads(archive.read("header.json")) | {"samples": samples}


# --- model page and card


def test_an_entry_of_the_hub_survives_its_own_reader(runs, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    words = ["--tasks", "capitals", "--set", "dataset=lab/capitals", "--set", "task=main"]
    (path,) = export(tmp_path, runs / "a", "--to", "hub", *words, "--set", f"url={URL}")
    assert path.relative_to(tmp_path).as_posix() == ".eval_results/main.yaml"
    content = yaml.safe_load(path.read_text())
    entries = hub.parse_eval_result_entries(content)
    assert hub.eval_result_entries_to_yaml(entries) == content
    assert (entries[0].value, entries[0].date) == (80.0, "2026-01-02")


def test_every_missing_part_of_an_entry_is_named(runs, tmp_path, capsys):
    assert export(tmp_path / "out", runs / "a", "--to", "hf-eval-results", code=2) == []
    text = said(capsys).err
    for part in ("--set dataset", "--set task", "the run has 3"):
        assert part in text


def test_tasks_without_samples_are_counted_and_one_of_them_is_an_entry(tmp_path, capsys):
    home = write_run(tmp_path / "run", {"one": quiz(5), "two": quiz(5)}, model="o/m")
    for file in home.glob("samples_*"):
        file.unlink()
    words = [tmp_path / "run", "--to", "hub", "--set", "dataset=a/b", "--set", "task=t"]
    assert export(tmp_path / "out", *words, code=2) == []
    message = said(capsys).err
    assert "the run has 2" in message
    assert "one, two" in message
    (path,) = export(tmp_path / "out", *words, "--tasks", "two")
    assert yaml.safe_load(path.read_text())[0]["value"] == 80.0


def test_a_variant_of_a_benchmark_is_refused_unless_forced(tmp_path, capsys):
    write_run(tmp_path / "run", {"leaderboard_quiz": quiz(5)}, model="o/m")
    words = [tmp_path / "run", "--to", "hub", "--set", "dataset=a/b", "--set", "task=t"]
    assert export(tmp_path / "out", *words, code=2) == []
    assert "--force" in said(capsys).err
    (path,) = export(tmp_path / "out", *words, "--force")
    assert "variant" in yaml.safe_load(path.read_text())[0]["notes"]


def test_a_card_survives_the_hubs_own_reader(runs, tmp_path):
    cards = pytest.importorskip("huggingface_hub.repocard_data")
    (path,) = export(tmp_path, runs / "a", "--to", "model-index", "--set", f"url={URL}")
    index = yaml.safe_load(path.read_text())["model-index"]
    name, results = cards.model_index_to_eval_results(index)
    assert name == "org/model-a"
    assert {result.dataset_name for result in results} == {"capitals", "hostile", "summaries"}
    assert cards.eval_results_to_model_index(name, results) == index


CARD = """---
license: apache-2.0   # as the base model
model-index:
- name: org/model-a
  results:
  - task: {type: text-generation}
    dataset: {name: Other, type: other}
    metrics:
    - {type: acc, value: 1.0}
    source: {url: https://elsewhere.example}
# after the index
tags: [a,   b]
---
# Model

model-index: not this one
"""


def test_a_card_keeps_everything_but_our_results(runs, tmp_path):
    card = tmp_path / "README.md"
    card.write_text(CARD)
    words = [runs / "a", "--to", "model-card", "--set", f"url={URL}", "--set", f"readme={card}"]
    export(tmp_path / "out", *words)
    once = card.read_text()
    export(tmp_path / "out", *words)
    assert card.read_text() == once
    head, _, tail = CARD.partition("model-index:\n")
    assert once.startswith(head)
    assert once.endswith(tail[tail.index("# after the index") :])
    (model,) = yaml.safe_load(once.split("---")[1])["model-index"]
    assert [result["source"]["url"] for result in model["results"]].count(URL) == 3
    assert len(model["results"]) == 4


def test_a_dry_run_leaves_the_card_alone(runs, tmp_path):
    card = tmp_path / "README.md"
    card.write_text(CARD)
    words = [runs / "a", "--to", "model-card", "--set", f"url={URL}", "--set", f"readme={card}"]
    assert export(tmp_path / "out", *words, "--dry_run") == []
    assert card.read_text() == CARD


def test_a_run_may_not_name_a_leaderboard_as_its_source(runs, tmp_path, capsys):
    board = "https://huggingface.co/spaces/open-llm-leaderboard/open_llm_leaderboard"
    export(tmp_path / "out", runs / "a", "--to", "model-card", "--set", f"url={board}", code=2)
    assert "may not name a leaderboard" in said(capsys).err


# --- CI


def test_junit_counts_its_cases_and_holds_hostile_texts(runs, tmp_path):
    words = [runs / "a", "--baseline", runs / "b", "--to", "junit", "--set", "per_sample=yes"]
    (path,) = export(tmp_path, *words)
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    for element in (root, *root):
        cases = element.findall(".//testcase")
        assert int(element.get("tests")) == len(cases)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.get(name)) == sum(case.find(tag) is not None for case in cases)
        assert all(len(case.findall("*")) <= 2 for case in cases)
    assert int(root.get("failures")) > 0
    assert {suite.get("timestamp") for suite in root} == {"2026-01-02T03:04:05"}
    names = {case.get("name") for case in root.iter("testcase")}
    assert any(name.startswith("script </script>") for name in names)


def test_junit_names_the_score_of_a_task_by_its_metric(tmp_path):
    place = tmp_path / "run"
    write_run(place, {"quiz": quiz(4)}, model="o/m")
    (path,) = export(tmp_path / "out", place, "--to", "junit")
    (suite,) = ET.fromstring(path.read_text(encoding="utf-8"))
    cases = [(case.get("name"), case.findtext("system-out")) for case in suite]
    assert (suite.get("name"), cases) == (
        "m: quiz",
        [("exact_match", "value=0.7500 n=4 interval=[0.3006, 0.9544]")],
    )


def test_junit_follows_a_policy(runs, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("defaults: {max_drop: 0.01, min_n: 5}\nallow: [prompt]\n")
    words = [runs / "a", "--baseline", runs / "b", "--to", "junit", "--policy", policy]
    (path,) = export(tmp_path / "out", *words)
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    kinds = {case.get("classname") for case in root.iter("testcase")}
    assert kinds == {"evalprep.gate.task"}


def test_the_table_beside_a_verdict_is_measured_as_the_gate_does(runs, tmp_path, capsys):
    policy = tmp_path / "policy.yaml"
    policy.write_text("confidence: 0.8\ndefaults: {max_drop: 0.5}\n")
    words = [str(runs / "a"), "--baseline", str(runs / "b"), "--policy", str(policy)]
    (path,) = export(tmp_path / "out", *words, "--to", "github")
    capsys.readouterr()
    main(["gate", *words, "--json"])
    check = next(one for one in json.loads(said(capsys).out)["checks"] if one["name"] == "capitals")
    ends = f"[{100 * check['low']:+.1f}, {100 * check['high']:+.1f}]"
    assert f"{ends} points" in path.read_text()


def test_cases_of_samples_need_something_to_compare_with(runs, tmp_path, capsys):
    place = tmp_path / "run"
    write_run(place, {"summaries": summaries(5)}, model="o/m")
    export(tmp_path / "out", place, "--to", "junit", "--set", "per_sample=yes", code=2)
    assert "--baseline" in said(capsys).err


def test_the_summary_is_added_to_that_of_the_step(runs, tmp_path, monkeypatch):
    place = tmp_path / "step.md"
    place.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    export(tmp_path / "out", runs / "a", "--baseline", runs / "b", "--to", "github")
    text = place.read_text()
    assert text.startswith("before\n## model-a\n")
    assert "| capitals | 60 |" in text
    assert "<details>" in text


@pytest.mark.parametrize("size", [999_999, 1_000_001, 5_000_000])
def test_a_large_summary_is_cut_at_the_end_of_a_line(size):
    text = "<details>\n" + ("ü" * 49 + "\n") * (size // 99)
    written = cut_summary(text)
    assert len(written.encode()) <= 1_000_000
    cut = len(text.encode()) > 1_000_000
    assert written.endswith("truncated, see the report\n") is cut
    if cut:
        assert written.count("<details>") == written.count("</details>")


def test_a_step_that_is_full_gets_no_more(runs, tmp_path, monkeypatch):
    place = tmp_path / "step.md"
    place.write_text("x" * 999_990)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(place))
    export(tmp_path / "out", runs / "a", "--to", "github")
    assert len(place.read_bytes()) <= 1_000_000


# --- tables


def test_csv_is_the_reports_own(runs, tmp_path):
    export(tmp_path / "one", runs / "a", "--to", "csv")
    assert main(["report", str(runs / "a"), "--format", "csv", "--out", str(tmp_path / "two")]) == 0
    for name in ("scores.csv", "samples.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_parquet_has_a_row_for_each_sample(runs, tmp_path):
    import pyarrow.parquet as pq

    (path,) = export(tmp_path, runs / "a", runs / "b", "--to", "parquet")
    rows = pq.ParquetFile(path).read().to_pylist()
    assert len(rows) == 2 * (60 + len(HOSTILE) + 12)
    capital = next(row for row in rows if row["task"] == "capitals")
    assert capital["metric"] == "exact_match,flexible-extract"
    assert dict(capital["scores"])[capital["metric"]] == capital["score"] == 0.0
    assert all(row["doc_hash"] for row in rows)


def test_rows_have_their_scores_by_every_filter(tmp_path):
    import pyarrow.parquet as pq

    rows = [Row("a", 1.0), Row("b", 0.0)]
    write_small_run(tmp_path / "run", {"t": rows}, filters=("strict", "flexible"))
    (path,) = export(tmp_path / "out", tmp_path / "run", "--to", "parquet")
    scores = [dict(row["scores"]) for row in pq.ParquetFile(path).read().to_pylist()]
    assert scores == [
        {"exact_match,strict": value, "exact_match,flexible": value} for value in (1.0, 0.0)
    ]


@pytest.mark.parametrize("name", ["inspect", "parquet"])
def test_a_format_of_samples_refuses_a_run_of_values(tmp_path, capsys, name):
    path = tmp_path / "results_2026-01-02T03-04-05.000000.json"
    path.write_text(json.dumps({"results": {"quiz": {"acc": 0.5, "acc_stderr": 0.1}}}))
    assert export(tmp_path / "out", path, "--to", name, code=2) == []
    assert f"{name} holds samples, and the run has values alone" in said(capsys).err
    assert len(export(tmp_path / "out", path, "--to", "eee", "--set", "model_id=lab/m")) == 1


@pytest.mark.parametrize(
    ("created", "expected"),
    [("2026-02-03T04:05:06+00:00", "2026-02-03T04-05-06"), (None, "2025-01-01T00-00-00")],
)
def test_a_log_of_another_tool_keeps_its_date(tmp_path, created, expected):
    log = write_json_log(tmp_path / "log.json", [inspect_sample(0)])
    content = json.loads(log.read_text())
    content["eval"]["created"] = created
    log.write_text(json.dumps(content))
    os.utime(log, (1735689600, 1735689600))
    (path,) = export(tmp_path / "out", log, "--to", "inspect")
    assert path.name.startswith(expected)


# --- sending


def test_nothing_is_sent_that_was_not_shown(runs, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    words = [runs / "a", "--to", "eee"]
    assert export(tmp_path / "out", *words, "--dry_run") == []
    shown = said(capsys).out
    digest = re.search(r"--upload (\w{12})", shown)[1]
    assert "would send: 6 files" in shown
    assert export(tmp_path / "out", *words, "--upload", code=2) == []
    assert "--dry_run" in said(capsys).err
    assert export(tmp_path / "out", *words, "--upload", "0" * 12, code=2) == []
    assert "has changed" in said(capsys).err
    assert export(tmp_path / "out", *words, "--upload", digest, code=2) == []
    assert "HF_TOKEN" in said(capsys).err


def test_an_upload_opens_a_pull_request_with_the_token_of_the_environment(
    runs, tmp_path, capsys, monkeypatch
):
    hub = pytest.importorskip("huggingface_hub")
    calls = []

    class Api:
        def __init__(self, token):
            calls.append(token)

        def create_commit(self, repository, operations, **settings):
            calls.append((repository, [one.path_in_repo for one in operations], settings))
            return type("Commit", (), {"pr_url": "https://hub.example/pr/1"})

    monkeypatch.setattr(hub, "HfApi", Api)
    monkeypatch.setenv("HF_TOKEN", "hf_" + "x" * 30)
    words = [runs / "a", "--to", "model-card", "--set", f"url={URL}", "--set", "repo=org/model-a"]
    export(tmp_path / "out", *words, "--dry_run")
    digest = re.search(r"--upload (\w{12})", said(capsys).out)[1]
    export(tmp_path / "out", *words, "--upload", digest)
    printed = said(capsys).out
    assert "https://hub.example/pr/1" in printed
    assert "hf_x" not in printed
    assert calls[0] == "hf_" + "x" * 30
    assert calls[1][:2] == ("org/model-a", ["model-index.yaml"])
    assert calls[1][2]["create_pr"] is True


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--to", "inspct"], "did you mean inspect"),
        (["--to", "junit", "--upload"], "sent nowhere"),
        (["--to", "eee", "--set", "colection=x"], "unknown key 'colection'"),
        (["--to", "eee", "--set", "relationship=friend"], "first_party, third_party"),
        (["--to", "junit", "--set", "per_sample"], "has no value"),
        (["--to", "mlflow", "--set", "tracking_uri=https://t.example"], "mlflow"),
    ],
)
def test_mistakes_are_named_before_anything_is_written(runs, tmp_path, capsys, words, sentence):
    assert export(tmp_path / "out", runs / "a", *words, code=2) == []
    assert sentence in said(capsys).err


def test_links_are_not_written_through(runs, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "data").symlink_to(tmp_path)
    assert main(["export", str(runs / "a"), "--to", "eee", "--out", str(tmp_path / "out")]) == 2
    assert "a symbolic link leads to" in said(capsys).err


WITHOUT_PACKAGES = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in {"torch", "mlflow", "wandb", "inspect_ai", "pandas"}:
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
from evalprep.cli import main

for name in sys.argv[3:]:
    assert main(["export", sys.argv[1], "--to", name, "--out", sys.argv[2]]) == 0, name
"""


def test_files_are_written_without_the_packages_of_others(runs, tmp_path):
    """Neither trackers nor pandas nor an engine is imported for a format that writes files."""
    words = [sys.executable, "-c", WITHOUT_PACKAGES, str(runs / "a"), str(tmp_path), *FILES]
    done = subprocess.run(words, capture_output=True, text=True, cwd=PROJECT_ROOT, check=False)
    assert done.returncode == 0, done.stderr
