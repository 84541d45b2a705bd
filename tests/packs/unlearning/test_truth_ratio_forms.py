"""Logs made with `aggregator: prob_mean`: their truth ratios are brought into one form before they meet."""

import json

import numpy as np
import pytest
from scipy.stats import ks_2samp

from evalprep.cli import main
from tests.packs.unlearning import upstream

RATIOS = ("forget_truth_ratio", "retain_Truth_Ratio", "ra_Truth_Ratio", "wf_Truth_Ratio")


def scored(capsys, *arguments):
    capsys.readouterr()
    assert main(["score", *map(str, arguments), "--no_write", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    return {score["name"]: score for score in data["suite"]}, data["results"]


def without_losses(log):
    return {name: result for name, result in log.items() if "_Prob" not in name}


@pytest.mark.parametrize("has_losses", [True, False])
@pytest.mark.parametrize("sides", [("prob_mean", "usual"), ("usual", "prob_mean")])
def test_forget_quality_is_of_one_form_on_both_sides(tmp_path, capsys, sides, has_losses):
    same = [upstream.tofu(seed, memory=memory) for seed, memory in ((3, 0.4), (1, 0.0))]
    mixed = [
        upstream.tofu(seed, memory=memory, aggregator=aggregator)
        for (seed, memory), aggregator in zip(((3, 0.4), (1, 0.0)), sides, strict=True)
    ]
    expected = ks_2samp(*[upstream.scores_of(log, "forget_truth_ratio") for log in same]).pvalue
    if not has_losses:
        mixed = [without_losses(log) for log in mixed]
    own, retain = (
        upstream.save(tmp_path / name, log)
        for name, log in zip(("npo", "retain99"), mixed, strict=True)
    )
    suite, _ = scored(capsys, own, "--reference", retain)
    assert suite["forget_quality"]["value"] == pytest.approx(expected, rel=1e-6)


def test_all_four_truth_ratios_and_the_utility_are_of_the_usual_form(tmp_path, capsys):
    usual, other = (upstream.tofu(3, aggregator=form) for form in ("usual", "prob_mean"))
    suite, results = scored(capsys, upstream.save(tmp_path / "npo", other))
    for name in RATIOS:
        assert suite[name]["value"] == pytest.approx(usual[name]["agg_value"], rel=1e-6), name
        share = suite[f"{name}_prob_mean"]["value"]
        assert share == pytest.approx(other[name]["agg_value"], rel=1e-6), name
        result = results[f"unlearning/{name}"]
        assert result["stated"] == other[name]["agg_value"]
        assert "aggregator: prob_mean" in result["notes"][0]
    assert suite["model_utility"]["value"] == pytest.approx(upstream.utility(usual))


def test_ratios_of_an_unknown_form_are_refused(tmp_path, capsys):
    log = without_losses(upstream.tofu(3))
    log["forget_truth_ratio"]["agg_value"] = 0.123
    retain = upstream.save(tmp_path / "retain99", upstream.tofu(1))
    suite, _ = scored(capsys, upstream.save(tmp_path / "npo", log), "--reference", retain)
    for name in ("forget_truth_ratio", "forget_quality"):
        assert suite[name]["value"] is None
        assert "unknown form" in suite[name]["reason"]


def test_rows_that_do_not_follow_from_the_losses_are_computed_anew(tmp_path, capsys):
    usual, log = upstream.tofu(3), upstream.tofu(3)
    scores = np.random.default_rng(0).uniform(0, 2, 40)
    rows = {str(at): {"score": float(score)} for at, score in enumerate(scores)}
    log["forget_truth_ratio"] = {"agg_value": 0.5, "value_by_index": rows}
    suite, _ = scored(capsys, upstream.save(tmp_path / "npo", log))
    expected = usual["forget_truth_ratio"]["agg_value"]
    assert suite["forget_truth_ratio"]["value"] == pytest.approx(expected, rel=1e-6)
