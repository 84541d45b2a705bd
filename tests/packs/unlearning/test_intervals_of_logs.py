"""Intervals of attacks: one path for logs and runs, and none that the rows do not give."""

import json

import pytest

from evalprep.cli import main
from tests.packs.unlearning import upstream

NAMED = "tofu_Llama-3.2-1B-Instruct"


def scored(capsys, *arguments):
    capsys.readouterr()
    assert main(["score", *map(str, arguments), "--no_write", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    return {score["name"]: score for score in data["suite"]}, data["results"]


def test_an_attack_that_separates_all_texts_has_an_interval_with_width(tmp_path, capsys):
    retain = upstream.tofu(1)
    full = upstream.save(tmp_path / f"{NAMED}_full", upstream.tofu(2, memory=1.0, retain=retain))
    place = upstream.save(tmp_path / f"{NAMED}_retain99", retain)
    suite, results = scored(capsys, full, "--reference", place)
    for name in ("mia_loss", "mia_zlib", "mia_min_k", "mia_min_k_plus_plus", "mia_gradnorm"):
        assert suite[name]["value"] == 1.0
        assert 0.5 < suite[name]["low"] < suite[name]["high"] == 1.0, name
    for name in ("privleak", "rel_diff"):
        assert suite[name]["low"] <= suite[name]["value"] <= suite[name]["high"], name
        assert suite[name]["low"] < suite[name]["high"], name
    assert not any(
        "same value" in note for each in results.values() for note in each.get("notes", ())
    )


def test_a_value_that_the_rows_do_not_give_has_no_interval_of_these_rows(tmp_path, capsys):
    log = upstream.tofu(2, memory=1.0)
    log["mia_min_k"] |= {"auc": 0.454, "agg_value": 0.454}
    retain = upstream.save(tmp_path / f"{NAMED}_retain99", upstream.tofu(1))
    suite, results = scored(capsys, upstream.save(tmp_path / "npo", log), "--reference", retain)
    assert suite["mia_min_k"]["value"] == 0.454
    assert results["unlearning/mia_min_k"]["notes"] == ["its rows give 1 by the formula used here"]
    for name in ("mia_min_k", "privleak", "rel_diff"):
        assert (suite[name]["low"], suite[name]["high"]) == (None, None), name


def test_a_relative_difference_to_what_can_be_zero_is_not_bounded(tmp_path, capsys):
    retain = upstream.tofu(1)
    sides = retain["mia_min_k"]
    scores = [[5.0] * 40, [1.0] * 39 + [9.0]]
    retain["mia_min_k"] = sides | upstream.attack(*map(upstream.np.array, scores))
    place = upstream.save(tmp_path / f"{NAMED}_retain99", retain)
    own = upstream.save(tmp_path / "npo", upstream.tofu(3, memory=0.4))
    suite, results = scored(capsys, own, "--reference", place)
    assert suite["rel_diff"]["value"] > 1000
    assert (suite["rel_diff"]["low"], suite["rel_diff"]["high"]) == (None, None)
    assert "not bounded above" in results["unlearning/rel_diff"]["notes"][0]


@pytest.mark.parametrize("memory", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("suite_name", ["TOFU", "MUSE"])
def test_what_is_written_reads_back_with_the_same_values_and_intervals(
    tmp_path, capsys, suite_name, memory
):
    make = {"TOFU": upstream.tofu, "MUSE": upstream.muse}[suite_name]
    retain = upstream.save(tmp_path / f"{NAMED}_retain99", make(1), suite_name)
    own = upstream.save(tmp_path / "npo", make(3, memory=memory), suite_name)
    assert (
        main(["score", str(own), "--reference", str(retain), "--out", str(tmp_path / "out")]) == 0
    )
    written = json.loads((tmp_path / "out" / "scores.json").read_text())["suite"]
    before = {score["name"]: score for score in written}
    after, _ = scored(capsys, tmp_path / "out" / f"{suite_name}_EVAL.json")
    for name, score in before.items():
        if score["value"] is not None:
            assert after[name]["value"] == pytest.approx(score["value"], rel=1e-9), name
            ends = [(each["low"], each["high"]) for each in (score, after[name])]
            assert ends[0] == pytest.approx(ends[1], nan_ok=True) or ends[0] == ends[1], name
            assert after[name]["against"] == score["against"], name
