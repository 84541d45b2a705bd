"""Results files of every generation of lm-eval, and damaged ones: the same structs, damage named once."""

import json

import pytest

from evalprep.cli import main
from evalprep.readers.head import read_head
from evalprep.readers.logged import RowCounts
from evalprep.readers.results_file import decode_run, encode
from evalprep.results import load_run
from tests.evalprep.results.writing import STAMP, Row, write_run


def of_2023(acc):
    """A file in the layout of the evaluations that were published beside the Pythia models."""
    return {
        "results": {
            "lambada_openai": {"ppl": 10.5, "ppl_stderr": 0.3, "acc": acc, "acc_stderr": 0.007},
            "piqa": {"acc": 0.7, "acc_stderr": 0.01, "acc_norm": 0.71, "acc_norm_stderr": 0.01},
        },
        "versions": {"lambada_openai": 0, "piqa": 0},
        "config": {"model": "hf-causal", "model_args": "pretrained=org/m", "num_fewshot": 5},
    }


def of_0_4(**parts):
    return {
        "results": {"t": {"alias": "t", "acc,none": 0.5, "acc_stderr,none": "N/A"}},
        "configs": {"t": {"task": "t", "num_fewshot": 3, "metadata": {"version": 1.0}}},
        "config": {"model": "hf", "model_args": {"pretrained": "org/m"}},
    } | parts


def test_the_generation_without_filters():
    run = decode_run(of_2023(0.5), "a.json")
    assert list(run.tasks) == ["lambada_openai", "piqa"]
    ppl, acc = run.tasks["lambada_openai"].metrics
    assert (ppl.name, ppl.value, ppl.stderr, ppl.direction) == ("ppl", 10.5, 0.3, "down")
    assert (acc.name, acc.value, acc.direction, acc.unit) == ("acc", 0.5, "up", "share")
    assert run.tasks["piqa"].num_fewshot == 5
    assert run.settings.arguments == {"pretrained": "org/m"}


def test_runs_of_that_generation_are_scored_and_compared_as_stored_scores(tmp_path, capsys):
    for name, acc in (("step1000.json", 0.5), ("step2000.json", 0.6)):
        (tmp_path / name).write_text(json.dumps(of_2023(acc)))
    assert main(["score", str(tmp_path / "step2000.json"), "--no-write"]) in {0, 3}
    assert "60.0" in capsys.readouterr().out
    files = [str(tmp_path / "step2000.json"), str(tmp_path / "step1000.json")]
    assert main(["compare", *files, "--exit-zero"]) == 0
    printed = capsys.readouterr().out
    assert "acc_norm" in printed
    assert "no task in common" not in printed


@pytest.mark.parametrize(
    ("metric", "direction", "unit"),
    [
        *((name, "up", "share") for name in ("mc1", "mc2", "multiple_choice_grade")),
        ("exact_str_match", "up", "share"),
        ("pct_stereotype", "down", "share"),
        ("likelihood_difference", "down", ""),
        ("a_score_of_their_own", "unknown", ""),
    ],
)
def test_metrics_of_that_generation_have_the_direction_of_its_code(metric, direction, unit):
    content = {"results": {"t": {metric: 0.4, f"{metric}_stderr": 0.01}}, "config": {}}
    (read,) = decode_run(content, "t.json").tasks["t"].metrics
    assert (read.direction, read.unit) == (direction, unit)


def test_truthfulqa_of_that_generation_is_read_as_its_leaderboard_reads_it(tmp_path, capsys):
    for name, mc2 in (("now", 0.3), ("before", 0.6)):
        entry = {"mc1": 0.4, "mc1_stderr": 0.02, "mc2": mc2, "mc2_stderr": 0.02}
        content = {"results": {"truthfulqa_mc": entry}, "config": {}}
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    runs = [str(tmp_path / f"{name}.json") for name in ("now", "before")]
    assert main(["compare", *runs, "--no_write"]) == 3
    printed = " ".join(capsys.readouterr().out.split())
    assert "mc2 30.0 % 60.0 % -30.0 points - not enough evidence" in printed


@pytest.mark.parametrize(
    ("model", "shown"),
    [("hf", "cuda:0"), ("vllm", None), ("local-chat-completions", None), ("dummy", None)],
)
def test_the_device_is_shown_where_the_engine_takes_it(model, shown):
    run = decode_run(of_0_4(config={"model": model, "device": "cuda:0"}), "a.json")
    facts = {name: value for _, name, value in run.settings.shown}
    assert facts.get("device") == shown


def test_the_generation_without_directions_and_rows():
    run = decode_run(of_0_4(), "a.json")
    task = run.tasks["t"]
    assert (task.metrics[0].direction, task.rows, task.num_fewshot) == ("up", RowCounts(), 3)
    listed = decode_run(of_0_4(configs={"t": {"metadata": [{"version": 2.0}, {"pack": "p"}]}}), "a")
    assert listed.tasks["t"].settings.metadata == {"version": 2.0, "pack": "p"}
    assert listed.damage == ()


def test_the_generation_of_today_survives_a_copy():
    parts = {
        "higher_is_better": {"t": {"acc": True}},
        "n-samples": {"t": {"original": 9, "effective": 4}},
        "group_subtasks": {"g": ["t"], "t": []},
        "groups": {"g": {"acc,none": 0.25}},
        "pretty_env_info": "kept",
    }
    run = decode_run(of_0_4(**parts), "a.json")
    assert run.members("g") == ("t",)
    assert run.groups["g"].metrics[0].value == 0.25
    again = decode_run(encode(run), "a.json")
    assert again.tasks["t"] == run.tasks["t"]
    assert (again.members("g"), again.other) == (run.members("g"), run.other)


@pytest.mark.parametrize(
    ("parts", "damaged"),
    [
        ({"results": [1]}, "results"),
        ({"results": {"t": 1, "u": {"acc,none": 1.0}}}, "results of t"),
        ({"n-samples": {"t": {"effective": "many"}}}, "n-samples of t"),
        ({"n-samples": {"t": {"effective": -1}}}, "n-samples of t"),
        ({"higher_is_better": {"t": {"acc": "yes"}}}, "higher_is_better of t"),
        ({"configs": {"t": {"repeats": "twice"}}}, "settings of t.repeats"),
    ],
)
def test_a_damaged_part_costs_that_part_alone(parts, damaged):
    run = decode_run(of_0_4(**parts), "results_x.json")
    assert [part.part for part in run.damage] == [damaged]
    (sentence,) = [part.sentence() for part in run.damage]
    assert sentence.startswith(f"results_x.json: {damaged} is damaged (")
    assert "array" not in sentence, "words of a decoder"
    assert "t" in run.tasks or damaged == "results"


def test_damage_is_noted_once(tmp_path):
    home = write_run(tmp_path, {"t": [Row("a")]}, extra={"n-samples": {"t": 3}})
    notes = load_run(home).notes
    assert sum("n-samples of t is damaged" in note for note in notes) == 1


def test_a_bare_nan_does_not_cost_the_id_of_the_run(tmp_path):
    home = write_run(tmp_path, {"t": [Row("a")]}, metadata={"run": "r0123456789a"})
    file = home / f"results_{STAMP}.json"
    file.write_text(file.read_text().replace("0.5", "NaN"))
    assert read_head(file).run == "r0123456789a"


@pytest.mark.parametrize(
    ("value", "unit", "bounds"),
    [(0.68, "share", (0.0, 1.0)), (68.0, "", None), (1.0, "share", (0.0, 1.0)), (-2.0, "", None)],
)
def test_a_value_beyond_the_range_of_its_metric_is_on_another_scale(value, unit, bounds):
    run = decode_run(of_0_4(results={"t": {"f1,none": value}}), "a.json")
    (f1,) = run.tasks["t"].metrics
    assert (f1.value, f1.unit, f1.range) == (value, unit, bounds)
