"""The unit of a score comes from its name, the scorer of its task or its rows, and not from the size of the value."""

import json

import pytest

from evalprep.results import load_run
from tests.evalprep.results.writing import Row, write_run

CODE = {"task": "t", "output_type": "generate_until"}  # a class of its own lists no metrics


def run_of(tmp_path, values, config=CODE, rows=None):
    """A run with the values of one task; without samples unless rows are given."""
    keys = {f"{name},none": value for name, value in values.items()}
    extra = {"results": {"t": keys}, "configs": {"t": config}}
    home = write_run(tmp_path, {"t": rows or [Row("a")]}, extra=extra)
    if rows is None:
        (samples,) = home.glob("samples_*")
        samples.unlink()
    return home


def metric_of(tmp_path, name, values, config=CODE):
    task = load_run(run_of(tmp_path, values, config)).known("t")
    return task.metric(name, "none")


@pytest.mark.parametrize("value", [0.4, 68.0])
@pytest.mark.parametrize("name", ["exact", "f1"])
def test_scores_of_squad_2_are_in_percent_whatever_their_size(tmp_path, name, value):
    metric = metric_of(tmp_path, name, {"exact": value, "f1": value, "HasAns_f1": value})
    assert (metric.unit, metric.range) == ("percent", (0.0, 100.0))


@pytest.mark.parametrize(
    ("name", "config", "unit"),
    [
        ("f1", CODE, ""),  # SCROLLS computes it in percent
        ("em", CODE, ""),
        ("exact_match", CODE, "share"),  # lm-eval's own for a task that generates
        ("f1", CODE | {"metric_list": [{"metric": "f1", "aggregation": "mean"}]}, "share"),
        ("acc", CODE | {"output_type": "multiple_choice"}, "share"),
        ("prompt_level_strict_acc", CODE | {"metric_list": [{"metric": "x"}]}, "share"),
        ("my_score", CODE | {"metric_list": [{"metric": "my_score"}]}, ""),
    ],
)
def test_the_unit_of_a_small_value_without_samples(tmp_path, name, config, unit):
    assert metric_of(tmp_path, name, {name: 0.4}, config).unit == unit


def test_a_small_percentage_is_shown_as_it_is_by_every_verb(tmp_path, run_verb):
    values = {"exact": 0.4, "f1": 0.6}
    now = run_of(tmp_path / "now", values)
    before = run_of(tmp_path / "before", {"exact": 0.9, "f1": 0.7})
    texts = [
        run_verb("score", now, "--no_write")[1],
        run_verb("compare", now, before, "--no_write")[1],
        run_verb("leaderboard", now, before, "--out", tmp_path / "board")[1],
    ]
    assert len(texts) == 3
    for text in texts:
        assert "40.0" not in text
        assert "60.0" not in text
        assert "0.4" in text


def test_rows_between_0_and_1_show_a_share(tmp_path, run_verb):
    rows = [Row(f"r{at}", metrics={"my_score": at / 4}) for at in range(5)]
    config = CODE | {"metric_list": [{"metric": "my_score", "aggregation": "mean"}]}
    home = run_of(tmp_path, {"my_score": 0.5}, config, rows)
    code, out = run_verb("score", home, "--no_write", "--json")
    assert code == 0
    (task,) = json.loads(out)["tasks"]
    assert task["unit"] == "share"
