"""Scores over all rows: computed from the rows as lm-eval computes them, and which way is better."""

import numpy as np
import pytest
from lm_eval.api import metrics as harness

from custom_metrics.harness.aggregations import macro_mean
from evalprep.cli import main
from evalprep.compare.reasons import Kind, sentences
from evalprep.compare.settings import Settings
from evalprep.compare.sides import OVER_ALL_ROWS, Sides, paired_metric
from evalprep.compare.whole import measure_whole
from evalprep.results import load_run
from tests.evalprep.results.writing import Row, write_run

ROWS = 60
REFERENCES = [
    "the cat sat on the mat today",
    "a dog ran far away from home",
    "it rains in the north of Spain",
]


def values(seed):
    """What lm-eval logs per row for each metric, for a run that is wrong on every fifth row or so."""
    rng = np.random.default_rng(seed)
    wrong = rng.random(ROWS) < 0.2
    rows = []
    for at in range(ROWS):
        gold = at % 2
        said = 1 - gold if wrong[at] else gold
        shares = [0.75, 0.25] if said == 0 else [0.125, 0.875]
        references = [REFERENCES[at % 3], REFERENCES[at % 3].upper()][: 1 + at % 2]
        reply = (
            REFERENCES[(at + 1) % 3] + " indeed"
            if wrong[at]
            else REFERENCES[at % 3] + "!" * (at % 4 == 0)
        )
        log = -float(rng.integers(20, 60))
        words, size = at % 3 + 5, at % 3 + 25  # the same texts in both runs
        pairs = {"f1": [gold, said], "mcc": [gold, said], "brier_score": [gold, shares]}
        pairs |= {name: [references, reply] for name in ("bleu", "chrf", "chrf++", "ter")}
        pairs |= {
            "word_perplexity": [log, words],
            "byte_perplexity": [log, size],
            "bits_per_byte": [log, size],
        }
        rows.append(pairs | {"perplexity": log / 10})
    return rows


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two runs of one task, and the rows of both."""
    every = [values(0), values(1)]
    loaded = []
    for at, rows in enumerate(every):
        lines = [Row(str(number), metrics=row) for number, row in enumerate(rows)]
        loaded.append(load_run(write_run(tmp_path_factory.mktemp(f"run{at}"), {"all": lines})))
    return loaded, every


def measured(run, other, metric):
    """What is measured of the only task of two runs by a metric over all of its rows."""
    (name,) = run.tasks
    sides = Sides.of(run, other, name)
    settings = Settings()
    paired = paired_metric(sides, sides.task.metric(metric, "none"), settings, by_own=False)
    return measure_whole(paired, settings)


AGGREGATION = {
    "f1": harness.f1_score,
    "mcc": harness.matthews_corrcoef,
    "brier_score": harness.brier_score,
    "bleu": harness.bleu,
    "chrf": harness.chrf,
    "chrf++": harness.chrfpp,
    "ter": harness.ter,
    "perplexity": harness.perplexity,
    "word_perplexity": harness.weighted_perplexity,
    "byte_perplexity": harness.weighted_perplexity,
    "bits_per_byte": harness.bits_per_byte,
}


def test_every_metric_over_all_rows_is_known(two):
    task = two[0][0].tasks["all"]
    assert {metric.metric for metric in task.metrics if metric.kind in OVER_ALL_ROWS} == set(
        AGGREGATION
    )


@pytest.mark.parametrize("metric", AGGREGATION)
def test_both_scores_are_those_of_lm_eval(metric, two):
    runs, every = two
    found = measured(*runs, metric)
    assert not found.reasons
    expected = [AGGREGATION[metric]([row[metric] for row in rows]) for rows in every]
    assert [found.difference.now, found.difference.previous] == pytest.approx(expected, rel=1e-9)
    assert found.difference.low < found.difference.delta < found.difference.high


@pytest.mark.parametrize("metric", AGGREGATION)
def test_a_run_with_fewer_mistakes_is_better(metric, two):
    now, previous = two[0]
    item = measured(now, previous, metric).difference
    back = measured(previous, now, metric).difference
    lower = metric in {"brier_score", "ter", "bits_per_byte"} or "perplexity" in metric
    assert item.higher_is_better is not lower
    assert (item.delta > 0) is (item.now > item.previous)
    assert back.delta == pytest.approx(-item.delta)


def test_labels_that_f1_does_not_know_leave_the_difference_open(tmp_path):
    rows = [Row(str(at), metrics={"f1": [at % 3, at % 3]}) for at in range(30)]
    run = load_run(write_run(tmp_path, {"three": rows}))
    found = measured(run, run, "f1")
    assert found.difference.delta is None
    assert "labels beyond 0 and 1" in sentences(found.reasons)[0]


def test_texts_of_another_length_are_another_question(tmp_path, two):
    now = two[0][0]
    rows = [Row(str(at), metrics={"word_perplexity": [-30.0, 9]}) for at in range(ROWS)]
    other = load_run(write_run(tmp_path, {"all": rows}))
    found = measured(now, other, "word_perplexity")
    assert [reason.kind for reason in found.reasons] == [Kind.TEXTS]


def subtasks(folder, shares, *, aggregation=None):
    """A run whose rows hold their subtask and whether they are right."""
    rng = np.random.default_rng(len(str(folder)))
    rows = []
    pairs = []
    for name, share in shares.items():
        for number in range(ROWS if name == "many" else 20):
            pair = [name, float(rng.random() < share)]
            pairs.append(pair)
            rows.append(Row(f"{name}{number}", metrics={"acc": pair[1], "acc_macro": pair}))
    value = macro_mean(pairs) if aggregation is None else aggregation
    accuracy = sum(right for _, right in pairs) / len(pairs)
    values = {"acc,none": accuracy, "acc_macro,none": value}
    extra = {"results": {"subjects": values}}
    return load_run(write_run(folder, {"subjects": rows}, extra=extra))


def test_a_macro_over_subtasks_is_decided(tmp_path):
    now = subtasks(tmp_path / "a", {"many": 0.9, "few": 0.9})
    before = subtasks(tmp_path / "before", {"many": 0.3, "few": 0.3})
    found = measured(now, before, "acc_macro")
    assert not found.reasons
    item = found.difference
    assert item.delta == pytest.approx(item.now - item.previous)
    assert 0 < item.low < item.delta < item.high
    assert (item.in_points, item.range) == (True, 1.0)


def test_another_rule_over_subtasks_stays_open(tmp_path):
    now = subtasks(tmp_path / "a", {"many": 0.9, "few": 0.9}, aggregation=0.123)
    before = subtasks(tmp_path / "before", {"many": 0.3, "few": 0.3})
    found = measured(now, before, "acc_macro")
    assert "what the rows of acc_macro add to it is not known" in sentences(found.reasons)[0]


def test_a_gate_over_all_metrics_can_pass(tmp_path, capsys):
    subtasks(tmp_path / "now", {"many": 0.9, "few": 0.9})
    subtasks(tmp_path / "before", {"many": 0.3, "few": 0.3})
    policy = tmp_path / "policy.yaml"
    policy.write_text("metrics: all\ndefaults: {max_drop: 0.1}\n")
    runs = [str(tmp_path / name) for name in ("now", "before")]
    code = main(["gate", *runs, "--policy", str(policy), "--json"])
    said = capsys.readouterr().out
    assert "acc_macro" in said
    assert code == 0, said
