"""Contradictions between the sides, missing metrics and scores at their floor, through the command line."""

import json
from pathlib import Path

import pytest

from tests.evalprep.compare.small_runs import Task, two_small_runs, verdicts

EQUAL = [float(at % 2) for at in range(300)]
WIDE = "{defaults: {max_drop: 0.05, slack: 0.1}}"


@pytest.fixture
def gate(tmp_path, run_verb):
    def run(homes, policy=WIDE, *options):
        path = tmp_path / "policy.yaml"
        path.write_text(policy, encoding="utf-8")
        return run_verb("gate", *homes, "--policy", path, *options)

    return run


def compare(run_verb, homes, *options):
    return run_verb("compare", *homes, "--no_write", *options)


def errors(direction):
    return Task({"err": [0.3] * 200 + [0.5] * 100}, {"err": direction})


def test_sides_that_state_contrary_directions_are_not_comparable(tmp_path, gate, run_verb):
    other = Task({"err": [0.2] * 200 + [0.5] * 100}, {"err": True})
    homes = two_small_runs(tmp_path, {"a": errors(False)}, {"a": other})
    code, out = compare(run_verb, homes)
    assert code == 3
    reason = "the candidate states that lower err is better, the baseline higher"
    assert f"{reason}; `--allow direction` compares anyway" in out
    assert "err worse by 6.7 points" in compare(run_verb, homes, "--allow", "direction")[1]
    code, out = gate(homes)
    assert code == 3
    assert f"{reason}; `allow: [direction]` in the policy compares anyway" in out


def test_a_direction_that_one_side_states_holds_for_both(tmp_path, run_verb):
    other = Task({"err": [0.2] * 200 + [0.5] * 100}, {"err": False})
    homes = two_small_runs(tmp_path, {"a": errors(None)}, {"a": other})
    assert "err worse by 6.7 points" in compare(run_verb, homes)[1]


def test_a_secondary_metric_of_contrary_directions_is_neither_better_nor_worse(tmp_path, run_verb):
    def task(shift, direction):
        return Task({"acc": EQUAL, "err": [0.2 + shift] * 299 + [0.5]}, {"err": direction})

    homes = two_small_runs(tmp_path, {"a": task(0.1, False)}, {"a": task(0.0, True)})
    out = compare(run_verb, homes)[1]
    assert "err worse" not in out
    assert "err better" not in out


@pytest.mark.parametrize("metric", ["acc", "my_score"])
def test_percent_on_one_side_and_shares_on_the_other_are_not_comparable(tmp_path, run_verb, metric):
    homes = two_small_runs(
        tmp_path,
        {"a": Task({metric: [100.0 * value for value in EQUAL]})},
        {"a": Task({metric: EQUAL})},
    )
    code, out = compare(run_verb, homes)
    assert code == 3
    assert "`--allow scale` compares anyway" in out
    assert "better by" not in out


def test_graded_percent_against_shares_is_not_comparable(tmp_path, run_verb):
    shares = [0.2 + at / 600 for at in range(300)]
    homes = two_small_runs(
        tmp_path,
        {"a": Task({"rouge": [95.0 * share for share in shares]})},
        {"a": Task({"rouge": shares})},
    )
    code, out = compare(run_verb, homes)
    assert code == 3
    assert "the candidate has rouge in percent, the baseline as a share" in out


def test_a_metric_that_the_candidate_lacks_is_named(tmp_path, gate, run_verb):
    homes = two_small_runs(
        tmp_path,
        {"a": Task({"acc": EQUAL}), "b": Task({"acc": EQUAL})},
        {"a": Task({"acc": EQUAL, "acc_norm": EQUAL}), "b": Task({"acc": EQUAL})},
    )
    out = compare(run_verb, homes)[1]
    assert "warning: the candidate has no acc_norm of a" in out
    assert "Not enough evidence: the candidate has no acc_norm of a" in out
    code, out = gate(homes)
    assert code == 0
    assert out.endswith("pass, but the candidate has no acc_norm of a")


def test_a_filter_that_the_baseline_lacks_is_named(tmp_path, run_verb):
    homes = two_small_runs(
        tmp_path,
        {"a": Task({"em@flex": EQUAL, "em@strict-match": EQUAL})},
        {"a": Task({"em@flex": EQUAL})},
    )
    data = json.loads(compare(run_verb, homes, "--json")[1])
    assert data["extra_metrics"] == ["the baseline has no em (strict-match) of a"]
    assert data["missing_metrics"] == []


def test_the_closing_names_both_metrics_of_a_task_among_several(tmp_path, run_verb):
    lost = [1.0] * 40 + verdicts(260)
    homes = two_small_runs(
        tmp_path,
        {"a": Task({"acc": EQUAL, "acc_norm": verdicts(300, lost=40)}), "b": Task({"acc": EQUAL})},
        {"a": Task({"acc": EQUAL, "acc_norm": lost}), "b": Task({"acc": EQUAL})},
    )
    out = compare(run_verb, homes)[1]
    assert "a: acc_norm worse by 13.3 points; no difference shown in a: acc, b" in out


def test_a_pass_of_a_task_at_its_floor_says_so(tmp_path, gate):
    task = Task({"acc": [0.0] * 300}, response="")
    code, out = gate(two_small_runs(tmp_path, {"a": task}, {"a": task}))
    assert code == 0
    assert "note: a: candidate: 300 of 300 replies are empty" in out
    sentence = "0 of 300 right on both sides: this task cannot show a drop"
    assert out.endswith(f"pass, but a: {sentence}")


@pytest.mark.parametrize(
    ("now", "before", "direction", "sentence"),
    [
        ([0.0] * 299 + [1.0], [0.0] * 300, True, "0 of 300 right in the baseline"),
        ([1.0] * 300, [1.0] * 300, False, "the worst score on both sides"),
    ],
)
def test_a_baseline_at_its_floor_is_named(tmp_path, run_verb, now, before, direction, sentence):
    homes = two_small_runs(
        tmp_path,
        {"a": Task({"err": now}, {"err": direction})},
        {"a": Task({"err": before}, {"err": direction})},
    )
    assert f"{sentence}: this task cannot show a drop" in compare(run_verb, homes)[1]


def test_the_gate_shows_limits_documents_and_rows_left_out(tmp_path, gate):
    def task(gold="A"):
        return Task(
            {"acc": EQUAL},
            original=1000,
            doc=lambda at: {"document_id": at // 25},
            gold=lambda at: gold if at < 2 else "A",
        )

    out = gate(two_small_runs(tmp_path, {"a": task("B")}, {"a": task()}))[1]
    assert "note: a: a part of the data: 300 of 1000 rows" in out
    assert "300 rows share 12 values of document_id; each value counts as one document" in out
    assert "2 rows with another gold answer are left out" in out


def test_hashes_of_rows_are_shown_with_8_characters(tmp_path, run_verb):
    broken = Task({"acc": [None] * 5 + EQUAL[5:]})
    homes = two_small_runs(tmp_path, {"a": broken}, {"a": Task({"acc": EQUAL})})
    out = compare(run_verb, homes)[1]
    ids = out.partition("left out: ")[2].split(" a: ")[0].split(", ")
    assert [len(name) for name in ids[:4]] == [8] * 4


def test_every_row_changed_alike_comes_first_in_the_closing_line(tmp_path, gate, run_verb):
    homes = two_small_runs(
        tmp_path, {"a": Task({"f": [0.3] * 300})}, {"a": Task({"f": [0.4] * 300})}
    )
    sentence = "every one of 300 rows changed by -10.0 points: f worse by 10.0 points"
    assert sentence in compare(run_verb, homes)[1].lower()


def test_without_an_interval_the_gate_gives_the_reason(tmp_path, gate):
    homes = two_small_runs(
        tmp_path, {"a": Task({"reward": [-3.0] * 300})}, {"a": Task({"reward": [4.0] * 300})}
    )
    code, out = gate(homes)
    assert code == 3
    assert "a (300 pairs): every one of 300 rows changed by -7; without bounds" in out


def without_samples(home):
    """The same run with standard errors and without its samples."""
    (results,) = Path(home).glob("results_*.json")
    content = json.loads(results.read_text())
    for values in content["results"].values():
        for key in list(values):
            metric, _, filter_name = key.partition(",")
            values[f"{metric}_stderr,{filter_name}"] = 0.02
    results.write_text(json.dumps(content))
    for samples in Path(home).glob("samples_*"):
        samples.unlink()


@pytest.fixture
def stored_homes(tmp_path):
    lost = [0.0] * 100 + EQUAL[100:]
    homes = two_small_runs(
        tmp_path,
        {"a": Task({"acc": EQUAL, "acc_norm": lost})},
        {"a": Task({"acc": EQUAL, "acc_norm": EQUAL})},
    )
    for home in homes:
        without_samples(home)
    return homes


def test_stored_metrics_beside_the_first_are_advisory(run_verb, stored_homes):
    code, out = compare(run_verb, stored_homes)
    assert code == 0
    assert "acc_norm worse by 16.7 points; no difference shown in acc" in out
    assert "overall: not computed, because scores without samples are not paired" in out


def test_stored_acc_and_acc_norm_both_are_columns(run_verb, stored_homes):
    code, out = run_verb("leaderboard", *stored_homes, "--json")
    assert code == 0
    cells = [row["cells"]["a: acc_norm"]["value"] for row in json.loads(out)["rows"]]
    assert [round(value, 3) for value in cells] == [0.333, 0.5]
