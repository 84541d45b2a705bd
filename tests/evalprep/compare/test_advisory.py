"""What is worse beside the metrics that decide: compare, gate and report agree, through the command line."""

import json

import pytest

from tests.evalprep.compare.small_runs import Task, two_small_runs

RIGHT = [float(at % 2) for at in range(250)]


def likelihoods(shift):
    return [-2.0 - at % 7 / 5 - shift * (at % 4) for at in range(250)]


@pytest.fixture
def lambada(tmp_path):
    """The same answers with a worse perplexity beside them."""
    sides = [
        {"lam": Task({"acc": RIGHT, "perplexity": likelihoods(shift)}, {"perplexity": False})}
        for shift in (0.15, 0.0)
    ]
    return two_small_runs(tmp_path, *sides)


def test_compare_and_gate_agree_on_an_advisory_perplexity(tmp_path, lambada, run_verb):
    code, out = run_verb("compare", *lambada, "--no_write")
    assert code == 0
    assert "perplexity worse by 25.1 %" in out
    assert "lam: perplexity is advisory and no failure here or in a gate" in out
    policy = tmp_path / "policy.yaml"
    policy.write_text("{defaults: {max_drop: 0.02}}")
    code, out = run_verb("gate", *lambada, "--policy", policy)
    assert code == 0
    assert out.endswith("pass, but perplexity worse by 25.1 % (advisory)")
    policy.write_text("{metrics: all, defaults: {max_drop: 0.02}}")
    assert run_verb("gate", *lambada, "--policy", policy)[0] == 1


def test_a_perplexity_that_decides_fails(lambada, run_verb):
    code, out = run_verb("compare", *lambada, "--no_write", "--metric", "lam=perplexity")
    assert code == 1
    assert "is advisory" not in out


def test_the_gate_names_a_worse_mean_that_no_rule_asks_for(tmp_path, run_verb):
    before, now = [1.0] * 5 + RIGHT, [0.0] * 5 + RIGHT
    sides = [{f"t{at}": Task({"acc": values}) for at in range(6)} for values in (now, before)]
    homes = two_small_runs(tmp_path, *sides)
    assert run_verb("compare", *homes, "--no_write")[0] == 1
    policy = tmp_path / "policy.yaml"
    policy.write_text("{defaults: {max_drop: 0.02, slack: 0.1}}")
    code, out = run_verb("gate", *homes, "--policy", policy)
    assert code == 0
    assert "mean of 6 of 6 tasks worse by 2.0 points (advisory" in out


def test_a_gate_does_not_call_a_rise_of_an_error_rate_a_drop(tmp_path, run_verb):
    sides = [
        {"asr": Task({"wer": [value / 10 + at % 5 / 10 for at in range(250)]}, {"wer": False})}
        for value in (3, 0)
    ]
    homes = two_small_runs(tmp_path, *sides)
    policy = tmp_path / "policy.yaml"
    policy.write_text("{}")
    code, out = run_verb("gate", *homes, "--policy", policy)
    assert code == 1
    assert "worse (higher) by 30.0 points" in out
    assert "drop of" not in out


def test_eight_metrics_that_are_worse_are_all_named(tmp_path, run_verb):
    now, before = [0.0] * 40 + RIGHT, [1.0] * 40 + RIGHT
    names = [f"m{at}" for at in range(6)]
    sides = [
        {"t": Task({name: values[at:] + values[:at] for at, name in enumerate(names)})}
        for values in (now, before)
    ]
    data = json.loads(
        run_verb("compare", *two_small_runs(tmp_path, *sides), "--no_write", "--json")[1]
    )
    assert all(f"{name} worse by" in data["closing"][0] for name in names)


def test_score_reads_the_metric_that_the_user_names(tmp_path, run_verb):
    task = Task({"acc": RIGHT, "acc_norm": [1.0] * 250})
    home = two_small_runs(tmp_path, {"t": task}, {"t": task})[0]
    by_default = json.loads(run_verb("score", home, "--no_write", "--json")[1])
    by_choice = json.loads(
        run_verb("score", home, "--no_write", "--json", "--metric", "acc_norm")[1]
    )
    assert [data["tasks"][0]["metric"] for data in (by_default, by_choice)] == ["acc", "acc_norm"]
    code, out = run_verb("score", home, "--no_write", "--metric", "acc_nrom")
    assert code == 2
    assert "did you mean acc_norm" in out


def test_the_way_to_a_gold_answer_is_no_other_answer(tmp_path, run_verb):
    """GSM8K's gold answer holds the solution; another tool logs the number alone."""
    home = two_small_runs(
        tmp_path,
        {"gsm8k": Task({"acc": RIGHT}, gold=lambda at: f"{at} + 1000 =\n#### 1,{at:03}")},
        {"gsm8k": Task({"acc": RIGHT})},
    )[0]
    table = tmp_path / "gsm8k.csv"
    lines = [f"Question {at}?,1{at:03},{RIGHT[at]:.0f}" for at in range(250)]
    table.write_text("question,target,score\n" + "\n".join(lines) + "\n")
    columns = ("--columns", "question=question,target=target,score=score")
    code, out = run_verb("compare", home, table, "--no_write", "--json", *columns)
    data = json.loads(out)
    assert (code, data["tasks"][0]["n"]) == (0, 250)


def test_a_wrong_column_of_gold_answers_is_asked_about(tmp_path, run_verb):
    home = two_small_runs(tmp_path, {"t": Task({"acc": RIGHT})}, {"t": Task({"acc": RIGHT})})[0]
    table = tmp_path / "t.csv"
    lines = [f"Question {at}?,reply {at},{RIGHT[at]:.0f}" for at in range(250)]
    table.write_text("question,reply,score\n" + "\n".join(lines) + "\n")
    columns = ("--columns", "question=question,target=reply,score=score")
    _, out = run_verb("compare", home, table, "--no_write", *columns)
    assert "250 questions are equal with another gold answer (does `target` of --columns" in out
    assert "another split" not in out
