"""Logs of others: rows without numbers, other splits, and folders that stay as they are."""

import json
import math

import pytest

from evalprep.cli import main
from tests.packs.unlearning import upstream


def scored(capsys, *arguments):
    capsys.readouterr()
    assert main(["score", *map(str, arguments), "--no_write", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    return {score["name"]: score for score in data["suite"]}, data["results"]


def with_nan(log, *names):
    """The log with NaN in the first row of some scores, and for their values, as upstream has it."""
    for name in names:
        row = log[name]["value_by_index"]["0"]
        log[name]["value_by_index"]["0"] = dict.fromkeys(row, math.nan)
        log[name]["agg_value"] = math.nan
    return log


def test_rows_without_a_number_are_left_out_of_every_score_and_counted(tmp_path, capsys):
    names = ("forget_Q_A_Prob", "extraction_strength", "retain_Q_A_Prob")
    whole, log = upstream.tofu(3), with_nan(upstream.tofu(3), *names)
    suite, results = scored(capsys, upstream.save(tmp_path / "npo", log))
    for name, column in zip(names, ("prob", "score", "prob"), strict=True):
        rows = list(whole[name]["value_by_index"].values())[1:]
        expected = sum(row[column] for row in rows) / len(rows)
        assert suite[name]["value"] == pytest.approx(expected), name
        assert results[f"unlearning/{name}"]["skipped"] == {"not_a_number": 1}, name
    assert suite["model_utility"]["value"] is not None


def test_a_value_that_is_no_number_without_rows_has_a_reason(tmp_path, capsys):
    log = {"forget_Q_A_Prob": {"agg_value": math.nan}, "model_utility": {"agg_value": 0.5}}
    suite, _ = scored(capsys, upstream.save(tmp_path / "npo", log))
    assert suite["forget_Q_A_Prob"]["value"] is None
    assert "states no number (NaN)" in suite["forget_Q_A_Prob"]["reason"]


def test_logs_of_two_splits_are_not_comparable_by_the_names_of_the_splits(tmp_path, capsys):
    places = [
        upstream.save(tmp_path / name, upstream.tofu(seed, rows=rows))
        for seed, (name, rows) in enumerate((("npo", 40), ("rmu", 200)))
    ]
    before = [sorted(place.iterdir()) for place in places]
    main(["compare", *map(str, places)])
    said = " ".join(capsys.readouterr().out.split())
    assert "the data set differs: TOFU forget01, baseline TOFU forget05" in said
    assert "lacks" not in said
    assert [sorted(place.iterdir()) for place in places] == before
    assert "--out FILE writes them" in said


def test_changed_samples_of_logs_are_written_where_the_user_says(tmp_path, capsys):
    places = [upstream.save(tmp_path / name, upstream.tofu(seed)) for seed, name in enumerate("ab")]
    out = tmp_path / "flips.csv"
    main(["compare", *map(str, places), "--out", str(out)])
    assert out.is_file()


def _with_positions_of_pandas(part):
    """The part of a log with positions as pandas writes them, on both sides of an attack too."""
    if not isinstance(part, dict):
        return part
    if "value_by_index" not in part:
        return {key: _with_positions_of_pandas(value) for key, value in part.items()}
    rows = {f"{position}.0": row for position, row in part["value_by_index"].items()}
    return {**part, "value_by_index": rows}


def test_positions_with_a_fraction_are_those_without(tmp_path, capsys):
    log, retain = upstream.tofu(3), upstream.save(tmp_path / "retain99", upstream.tofu(1))
    suites = []
    for name, content in (("npo", log), ("pandas", _with_positions_of_pandas(log))):
        place = upstream.save(tmp_path / name, content)
        suites.append(scored(capsys, place, "--reference", retain)[0])
    plain, fractions = suites
    assert plain.keys() == fractions.keys()
    for name, score in plain.items():
        for key in ("value", "low", "high", "n"):
            assert fractions[name][key] == score[key], name
    main(["compare", str(tmp_path / "npo"), str(tmp_path / "pandas"), "--json"])
    tasks = json.loads(capsys.readouterr().out)["tasks"]
    assert {task["name"]: task["n"] for task in tasks}["tofu_forget_gen"] == 40


def test_rows_without_a_known_value_are_named(tmp_path, capsys):
    log = upstream.tofu(3)
    log["own_score"] = {"agg_value": 0.5, "value_by_index": {"0": {"logit": 1.0}}}
    suite, results = scored(capsys, upstream.save(tmp_path / "npo", log))
    assert suite["own_score"]["value"] == 0.5
    (note,) = results["unlearning/own_score"]["notes"]
    assert "no value of a name that is known here" in note


def test_rows_of_one_model_are_told_apart_where_names_are_cut(tmp_path, capsys):
    model = tmp_path / "saves" / "eval" / "tofu_Llama-3.2-1B-Instruct_full"
    for rows, split in ((40, "forget01"), (20, "forget05")):
        upstream.save(model / f"evals_{split}", upstream.tofu(3, rows=rows))
    assert main(["leaderboard", str(model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for split in ("forget01", "forget05"):
        assert any(line.startswith("tofu_") and f"evals_{split} " in line for line in lines), split


def test_what_logs_state_is_not_computed_again_for_each_pair(tmp_path, capsys, monkeypatch):
    def again(*_):
        raise AssertionError("the scores of a log were computed again")

    monkeypatch.setattr("evalprep.compare.shared_scores.score_suite", again)
    for seed, rows in enumerate((40, 20)):
        upstream.save(tmp_path / f"model{seed}", upstream.tofu(seed, rows=rows))
    assert main(["leaderboard", str(tmp_path)]) == 0
    assert "model_utility" in capsys.readouterr().out.replace("\n", "")
