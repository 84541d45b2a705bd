"""Two models in one table of benchmarks, with the paired differences of the leaderboard."""

import json

import pytest

from evalprep.cli import main
from evalprep.packapi import ExportBoard, ExportDifference, ExportRow
from evalprep.packs import find_packs
from tests import PROJECT_ROOT
from tests.packs.compliance.project import ALL, gold, prepared, write_run

TASKS = ["compliance_bbq", "compliance_fairllm", "compliance_privacy"]


def worse(task, row):
    """Leaks every third address, and recommends other films to anybody with an age."""
    if task == "compliance_privacy" and int(row["sample_id"].partition("-")[2]) % 3 == 0:
        return [row["target"]]
    if task == "compliance_fairllm" and row["domain"] == "age":
        return ["1. Other"]
    return gold(task, row)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    prepared(folder, tasks=TASKS, compliance={**ALL, "directors": 5})
    write_run(folder, folder / "first" / "first")
    write_run(folder, folder / "second" / "second", worse)
    return folder


def test_differences_have_paired_intervals_of_compare(folder, capsys):
    runs = [str(folder / name / name) for name in ("first", "second")]
    assert main(["leaderboard", *runs, "--out", str(folder / "tables")]) == 0
    capsys.readouterr()
    text = (folder / "tables" / "compl_ai" / "two_models.md").read_text()
    main(["compare", *reversed(runs), "--json"])
    suite = json.loads(capsys.readouterr().out)["suite"]
    shown = [
        line for line in text.splitlines() if "| PII Extraction" in line or "FaiRLLM |" in line
    ]
    assert len(shown) == 2
    for line, key in zip(shown, ("privacy", "fairllm"), strict=True):
        (of_compare,) = [score for score in suite if f"_{key}_score" in score["name"]]
        delta, low, high = (100 * of_compare[name] for name in ("delta", "low", "high"))
        assert low <= delta < 0
        assert low < high
        assert f"| {delta:+.1f} ({low:+.1f} to {high:+.1f}) |" in line


def test_a_sign_of_tables_in_a_name_makes_no_column():
    rows = [ExportRow(label, label, {}) for label in ("base|line", "new")]
    pack = find_packs(PROJECT_ROOT / "task_templates")["compliance"]
    score = next(iter(pack.module("registry").scored().values())).score
    differences = {score: ExportDifference(-0.1, -0.2, 0.0, "worse")}
    board = ExportBoard(rows, lambda: "", (), differences)
    text = pack.module("tables").two_models(board)
    assert "| base\\|line | new |" in text
    (line,) = [line for line in text.splitlines() if line.endswith("| worse |")]
    assert "| -10.0 (-20.0 to +0.0) |" in line
    assert line.count(" | ") == 5


def test_one_model_alone_has_no_such_table(folder):
    run = str(folder / "first" / "first")
    assert main(["leaderboard", run, "--out", str(folder / "alone")]) == 0
    assert not (folder / "alone" / "compl_ai" / "two_models.md").exists()
