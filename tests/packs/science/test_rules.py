"""Tables by one rule: rows and suite scores, in every verb, chosen in one place."""

import json

import pytest

from evalprep.cli import main
from evalprep.packs.finding import find_packs
from evalprep.results import by_rule, load_run
from tests import PROJECT_ROOT
from tests.packs.science.runs import exact, write_run

PACKS = find_packs(PROJECT_ROOT / "task_templates")
TASKS = {"bioasq_list_qa", "scierc_ner"}


def behind_a_bracket(task, row):
    """A list behind a closing bracket, which the original does not find."""
    return f"1] {row['output']}" if task == "bioasq_list_qa" else exact(task, row)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A candidate that the rules score differently, and a baseline that they score alike."""
    folder = tmp_path_factory.mktemp("rules")
    return [
        str(write_run(folder / "candidate", behind_a_bracket, tasks=TASKS)),
        str(write_run(folder / "baseline", exact, tasks=TASKS)),
    ]


def compared(capsys, *arguments):
    code = main(["compare", *arguments, "--json", "--no_write"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("rule", "mean", "suffix"), [("corrected", 1, ""), ("original", 0, "_compat")]
)
def test_compare_reads_rows_and_suite_scores_by_the_rule(runs, capsys, rule, mean, suffix):
    code, found = compared(capsys, *runs, "--rule", rule)
    bioasq = next(task for task in found["tasks"] if task["task"] == "bioasq_list_qa")
    suite = {score["name"]: score for score in found["suite"]}
    assert (code, found["rule"], bioasq["now"], bioasq["previous"]) == (1 - mean, rule, mean, 1)
    assert suite[f"science/science_bioasq{suffix}"]["now"] == mean
    assert all(name.endswith("_compat") == bool(suffix) for name in suite)


def test_without_a_rule_rows_are_corrected_and_each_rule_is_a_family_of_tests(runs, capsys):
    _, both = compared(capsys, *runs)
    _, alone = compared(capsys, *runs, "--rule", "original")
    adjusted = [
        {score["name"]: score["p_holm"] for score in found["suite"]} for found in (both, alone)
    ]
    assert both["rule"] == ""
    assert next(task for task in both["tasks"] if task["task"] == "bioasq_list_qa")["now"] == 1
    # The scores of the other rule are a family of their own; alone they decide with the tasks.
    assert adjusted[0].keys() > adjusted[1].keys()
    assert all(adjusted[0][name] <= p for name, p in adjusted[1].items())


def test_report_leaderboard_score_and_gate_follow_the_same_rule(runs, tmp_path, capsys):
    report = [
        "report",
        runs[0],
        "--baseline",
        runs[1],
        "--out",
        str(tmp_path / "report"),
        "--format",
        "md",
        "--json",
    ]
    assert main([*report, "--rule", "original"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert any("by the rule 'original'" in note for note in document["runs"][0]["notes"])
    assert {comparison["rule"] for comparison in document["comparisons"]} == {"original"}
    assert main(["leaderboard", *runs, "--rule", "original", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["cells"]["science/science_bioasq_compat"]["value"] for row in rows] == [0, 1]
    assert not any(name == "science/science_bioasq" for row in rows for name in row["cells"])
    assert (
        main(["score", runs[0], "--rule", "original", "--json", "--out", str(tmp_path / "scores")])
        == 0
    )
    shown = json.loads(capsys.readouterr().out)
    kept = json.loads((tmp_path / "scores" / "scores.json").read_text())
    assert {score["rule"] for score in shown["suite"]} == {"original"}
    assert {score["rule"] for score in kept["suite"]} == {"", "original"}  # files hold every rule
    assert (
        next(task for task in shown["tasks"] if task["task"] == "bioasq_list_qa")["micro"][
            "agg_value"
        ]
        == 0
    )
    policy = tmp_path / "policy.yaml"
    policy.write_text("rule: original\ndefaults: {max_drop: 0.02, min_n: 10}\n")
    assert main(["gate", *runs, "--policy", str(policy), "--json"]) == 3  # 12 rows are few
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["rule"] == "original"
    assert {check["name"]: check["now"] for check in verdict["checks"]} == {
        "bioasq_list_qa": 0,
        "scierc_ner": 1,
    }


def test_two_runs_with_the_same_replies_are_two_rows(tmp_path, capsys):
    runs = [
        str(write_run(tmp_path / name / "model", exact, tasks={"scierc_ner"}))
        for name in ("seed1", "seed2")
    ]
    assert main(["leaderboard", *runs, runs[0], "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 2


def test_rows_on_which_the_original_stops_have_no_number_and_are_named(tmp_path, capsys):
    def reply(task, row):
        return '{"Task": null}' if row["_instance_id"].endswith(":0") else exact(task, row)

    runs = [
        str(write_run(tmp_path / name, one, tasks={"scierc_ner"}))
        for name, one in (("a", reply), ("b", exact))
    ]
    code, found = compared(capsys, *runs, "--rule", "original")
    task = found["tasks"][0]
    assert (code, task["n"], task["counts"]["unscored"]) == (3, 11, 1)
    assert task["verdict"] == "not enough evidence"


def test_runs_that_logged_another_rule_alone_are_scored_anew(tmp_path):
    folder = write_run(
        tmp_path / "run", behind_a_bracket, tasks=TASKS, metrics=lambda *_: {"row_score": 1.0}
    )
    run = by_rule([load_run(folder)], "original", PACKS)[0]
    assert {
        name: float(task.table().metrics["row_score_compat"].mean())
        for name, task in run.tasks.items()
    } == {"bioasq_list_qa": 0, "scierc_ner": 1}


def test_an_unknown_rule_is_refused_before_anything_is_written(runs, tmp_path, capsys):
    for arguments in (
        ["compare", *runs],
        ["report", *runs],
        ["leaderboard", *runs],
        ["score", runs[0]],
    ):
        assert main([*arguments, "--rule", "originl"]) == 2
        said = capsys.readouterr().err
        assert "corrected, original" in said
        assert "original" in said.partition("fix")[2]
    policy = tmp_path / "policy.yaml"
    policy.write_text("rule: paper\n")
    assert main(["gate", *runs, "--policy", str(policy)]) == 2
    assert "(rule)" in capsys.readouterr().err
