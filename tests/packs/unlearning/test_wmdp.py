"""WMDP in this pack's suite: a lower score is the better one in every view; without the pack it is lm-eval's way."""

import json
import shutil

import pytest

from evalprep.cli import main
from evalprep.config.file import load_config
from evalprep.packs.manifest import read_manifest
from evalprep.prepare.preparation import prepare
from tests.evalprep.results.writing import Row, write_run
from tests.packs.unlearning.conftest import write_config

NAMES = ("wmdp_bio", "wmdp_chem", "wmdp_cyber")
SAID = "lower is better for wmdp_bio: as the pack unlearning states; lm-eval does not"


def rows(right):
    return [Row(f"r{at}", metrics={"acc": float(at < right)}) for at in range(60)]


@pytest.fixture(scope="module")
def suite(tmp_path_factory, tiny_model):
    """A preparation of the suite, and the record of it that results carry."""
    folder = tmp_path_factory.mktemp("suite")
    preparation = prepare(*load_config(write_config(folder, tiny_model(), tasks=["unlearn_wmdp"])))
    (record,) = (folder / "eval_results").glob("run_*.json")
    return preparation, record


@pytest.fixture
def runs(suite, tmp_path):
    """A model that kept what it was to forget and one that lost it, with the record and without."""
    record = suite[1]
    run = record.stem.removeprefix("run_")
    for name, right in (("kept", 48), ("lost", 15)):
        folder = tmp_path / "with" / name
        home = write_run(
            folder,
            {"wmdp_bio": rows(right)},
            model=f"org__{name}",
            metadata={"version": 1.0, "run": run},
        )
        shutil.copy(record, home.parent)
        write_run(tmp_path / "without" / name, {"wmdp_bio": rows(right)}, model=f"org__{name}")
    return tmp_path


def said(capsys, *argv):
    capsys.readouterr()
    code = main([*map(str, argv), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_plan_of_the_suite_says_so(suite):
    preparation, _ = suite
    planned = read_manifest(preparation.work_dir).plan.tasks
    assert {name: one.better for name, one in planned.items()} == {
        **dict.fromkeys(NAMES, ("down", "unlearning")),
        "mmlu": None,
    }
    assert any(
        "lower is better for wmdp_bio, wmdp_chem, wmdp_cyber" in note for note in preparation.notes
    )


@pytest.mark.parametrize("beside", [[], ["tofu_wf_gen"]])
def test_only_beside_tasks_of_the_pack(prepared, beside):
    preparation = prepared(tasks=["wmdp", *beside])
    plan = read_manifest(preparation.work_dir).plan.tasks["wmdp"]
    assert plan.better == (("down", "unlearning") if beside else None)


@pytest.mark.parametrize(
    ("folders", "leader", "arrow"),
    [
        pytest.param(("with", "with"), "lost", "down", id="suite"),
        pytest.param(("without", "without"), "kept", "up", id="lm-eval alone"),
        pytest.param(("with", "without"), "lost", "down", id="first says it"),
        pytest.param(("without", "with"), "lost", "down", id="last says it"),
    ],
)
def test_arrow_star_and_sorting(runs, capsys, folders, leader, arrow):
    places = [runs / folder / name for folder, name in zip(folders, ("kept", "lost"), strict=True)]
    _, board = said(capsys, "leaderboard", *places, "--sort", "wmdp_bio")
    assert [column["better"] for column in board["columns"]] == [arrow]
    leading = [row["label"] for row in board["rows"] if row["cells"]["wmdp_bio"]["leads"]]
    assert leading == [leader]
    assert board["rows"][0]["label"] == leader
    assert (SAID in board["notes"]) == (arrow == "down")


@pytest.mark.parametrize(
    ("folders", "verdict"),
    [
        (("with", "with"), "worse"),
        (("without", "without"), "better"),
        (("with", "without"), "worse"),
        (("without", "with"), "worse"),
    ],
)
def test_what_is_worse(runs, capsys, folders, verdict):
    """The model that kept everything, held against the one that forgot."""
    one, two = (
        runs / folder / name for folder, name in zip(folders, ("kept", "lost"), strict=True)
    )
    code, comparison = said(capsys, "compare", one, two, "--no_write")
    assert [task["verdict"] for task in comparison["tasks"]] == [verdict]
    assert code == (verdict == "worse")
    is_noted = any(SAID in note for note in comparison["notes"])
    assert is_noted == (verdict == "worse")
    _, again = said(
        capsys,
        "compare",
        one,
        two,
        "--no_write",
        "--timestamp",
        "2026",
        "--baseline-timestamp",
        "2026",
    )
    assert [task["verdict"] for task in again["tasks"]] == [verdict]
    (runs / "policy.yaml").write_text("{defaults: {max_drop: 0.01, min_n: 10}}")
    code, gate = said(capsys, "gate", one, two, "--policy", runs / "policy.yaml")
    assert gate["status"] == ("fail" if verdict == "worse" else "pass")
    _, report = said(capsys, "report", one, two, "--out", runs / "report")
    direction = "up" if verdict == "better" else "down"
    assert [task["direction"] for task in report["tasks"]] == [direction]
    assert [task["one_is_right"] for task in report["tasks"]] == [True]


def test_scores_without_samples_go_the_same_way(runs, capsys):
    for samples in runs.rglob("samples_*.jsonl"):
        samples.unlink()
    for folder, verdict in (("with", "worse"), ("without", "better")):
        for name, value in (("kept", 0.8), ("lost", 0.25)):
            (results,) = (runs / folder / name).rglob("results_*.json")
            content = json.loads(results.read_text())
            content["results"]["wmdp_bio"] = {"acc,none": value, "acc_stderr,none": 0.02}
            results.write_text(json.dumps(content))
        one, two = runs / folder / "kept", runs / folder / "lost"
        _, comparison = said(capsys, "compare", one, two)
        assert [item["verdict"] for item in comparison["stored"]] == [verdict]
        _, board = said(capsys, "leaderboard", one, two)
        assert [column["better"] for column in board["columns"]] == [
            "down" if verdict == "worse" else "up"
        ]


def test_the_group_of_lm_eval_points_as_its_tasks_do(prepared, tmp_path, capsys):
    preparation = prepared(tasks=["tofu_wf_gen", "wmdp"])
    run = read_manifest(preparation.work_dir).run
    extra = {
        "group_subtasks": {"wmdp": ["wmdp_bio", "wmdp_chem"]},
        "groups": {"wmdp": {"acc,none": 0.5}},
    }
    home = write_run(
        tmp_path / "eval_results",
        {"wmdp_bio": rows(30), "wmdp_chem": rows(20)},
        metadata={"version": 1.0, "run": run},
        extra=extra,
    )
    _, board = said(capsys, "leaderboard", home, "--scores", "*")
    assert {column["id"]: column["better"] for column in board["columns"]} == dict.fromkeys(
        ("wmdp", "wmdp_bio", "wmdp_chem"), "down"
    )


def test_forgetting_and_keeping_are_not_pooled(suite, tmp_path, capsys):
    run = suite[1].stem.removeprefix("run_")
    tasks = {"wmdp_bio": rows(30), "mmlu_anatomy": rows(20)}
    extra = {"group_subtasks": {"unlearn_wmdp": [*tasks]}}
    home = write_run(tmp_path / "runs", tasks, metadata={"version": 1.0, "run": run}, extra=extra)
    shutil.copy(suite[1], home.parent)
    _, scores = said(capsys, "score", home, "--no-write")
    (group,) = scores["groups"]
    assert group["micro"]["agg_value"] is None
    assert "higher is better for some of its tasks and lower for others" in group["micro"]["reason"]


def test_files_of_openunlearning_go_the_same_way(tmp_path, capsys):
    for name, value in (("rmu", 0.28), ("full", 0.45)):
        (tmp_path / name).mkdir()
        content = {
            "wmdp_cyber/acc": value,
            "wmdp_cyber/acc_stderr": 0.01,
            "mmlu/acc": 0.58,
            "mmlu/acc_stderr": 0.004,
        }
        (tmp_path / name / "LMEval_SUMMARY.json").write_text(json.dumps(content))
    _, board = said(
        capsys, "leaderboard", tmp_path / "rmu", tmp_path / "full", "--sort", "wmdp_cyber"
    )
    assert {column["id"]: column["better"] for column in board["columns"]} == {
        "wmdp_cyber": "down",
        "mmlu": "up",
    }
    assert board["rows"][0]["label"] == "rmu"
    assert any("lower is better for wmdp_cyber" in note for note in board["notes"])
