"""What values were measured against: one reference per model, one guard, and columns by it."""

import json

import pytest

from evalprep.cli import main
from tests.loops import each
from tests.packs.unlearning import upstream

BASES = ("Llama-3.2-1B-Instruct", "Llama-2-7b-chat-hf")
COMPARING = ("forget_quality", "privleak", "rel_diff", "privacy_aggregate", "overall_aggregate")


@pytest.fixture
def saves(tmp_path):
    """Two base models, each with a retain model, a finetuned one and an unlearned one."""
    folder = tmp_path / "saves"
    for at, base in enumerate(BASES):
        retain = upstream.tofu(10 * at + 1)
        upstream.save(folder / "eval" / f"tofu_{base}_retain99", retain)
        full = upstream.tofu(10 * at + 2, memory=1.0, retain=retain)
        upstream.save(folder / "eval" / f"tofu_{base}_full" / "evals_forget01", full)
        npo = upstream.tofu(10 * at + 3, memory=0.4, retain=retain)
        upstream.save(folder / "unlearn" / f"tofu_{base}_forget01_NPO" / "evals", npo)
    return folder


def subject(saves, base=BASES[0]):
    return saves / "unlearn" / f"tofu_{base}_forget01_NPO" / "evals"


def retain_of(saves, base=BASES[0]):
    return saves / "eval" / f"tofu_{base}_retain99"


def scored(capsys, *arguments):
    capsys.readouterr()
    assert main(["score", *map(str, arguments), "--no_write", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    return {score["name"]: score for score in data["suite"]}, data


def board_of(capsys, *arguments):
    capsys.readouterr()
    assert main(["leaderboard", *map(str, arguments), "--json"]) == 0
    board = json.loads(capsys.readouterr().out)
    return {row["label"].partition(",")[0]: row for row in board["rows"]}, board


def test_a_value_says_what_it_was_measured_against(saves, capsys):
    suite, _ = scored(capsys, subject(saves), "--reference", retain_of(saves))
    own = json.loads((subject(saves) / "TOFU_EVAL.json").read_text())
    retain = json.loads((retain_of(saves) / "TOFU_EVAL.json").read_text())
    expected = upstream.privleak(own["mia_min_k"]["auc"], retain["mia_min_k"]["auc"])
    assert suite["privleak"]["value"] == pytest.approx(expected)
    (against,) = suite["privleak"]["against"]
    assert against["name"] == f"tofu_{BASES[0]}_retain99"
    assert (against["family"], against["size"], against["split"], against["rows"]) == (
        *("llama-3.2", "1b"),
        "forget01",
        40,
    )
    assert suite["model_utility"]["against"] == []
    # What is made of a compared value was compared, too.
    (of_overall,) = suite["overall_aggregate"]["against"]
    assert (suite["overall_aggregate"]["value"] > 0, of_overall["name"]) == (True, against["name"])
    assert (
        main(["score", str(subject(saves)), "--no_write", "--reference", str(retain_of(saves))])
        == 0
    )
    said = " ".join(capsys.readouterr().out.split())
    assert f"measured against tofu_{BASES[0]}_retain99 (llama-3.2, 1b, forget01, 40 rows)" in said


def test_without_a_reference_the_constant_is_named(tmp_path, saves, capsys):
    log = upstream.tofu(5, memory=0.4)
    del log["privleak"]
    suite, _ = scored(capsys, upstream.save(tmp_path / "npo", log))
    assert suite["rel_diff"]["against"][0]["name"] == "an AUC of 0.5"


@pytest.mark.parametrize("way", ["patterns", "folder"])
def test_each_model_has_the_reference_of_its_own(saves, capsys, way):
    named = ",".join(f"*{base}*={retain_of(saves, base)}" for base in BASES)
    reference = named if way == "patterns" else str(saves / "eval")
    rows, board = board_of(
        capsys, saves / "unlearn", "--reference", reference, "--scores", "privleak"
    )
    assert board["shown"] == ["unlearning/privleak"]
    for base in BASES:
        cell = rows[f"tofu_{base}_forget01_NPO"]["cells"]["unlearning/privleak"]
        (against,) = cell["against"]
        assert against["model"] == f"tofu_{base}_retain99"
        assert rows[f"tofu_{base}_retain99"]["reference"]
        own, retain = (
            json.loads((place / "TOFU_EVAL.json").read_text())["mia_min_k"]["auc"]
            for place in (subject(saves, base), retain_of(saves, base))
        )
        assert cell["value"] == pytest.approx(upstream.privleak(own, retain))
        of_itself = rows[f"tofu_{base}_retain99"]["cells"]["unlearning/privleak"]
        assert of_itself["against"][0]["kind"] == "itself"


def test_values_against_other_things_stand_in_columns_of_their_own(saves, capsys):
    """Without a reference a log states its value against its retain model, another one against 0.5."""
    npo = subject(saves)
    rows, board = board_of(capsys, npo, retain_of(saves), "--scores", "privleak")
    assert len(board["shown"]) == 2
    filled = {
        label: [name for name in board["shown"] if row["cells"][name]["value"] is not None]
        for label, row in rows.items()
    }
    assert all(len(names) == 1 for names in filled.values())
    assert len({names[0] for names in filled.values()}) == 2
    assert main(["leaderboard", str(npo), str(retain_of(saves)), "--scores", "privleak"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "against an AUC of 0.5" in said
    assert "against a reference with an AUC of" in said


@pytest.mark.parametrize(
    ("other", "words"),
    [
        pytest.param({"rows": 200}, "forget05", id="another split"),
        pytest.param({"rows": 33}, "this run has 40 forget rows and the", id="another limit"),
        pytest.param({"topic": "hill"}, "ask for another answer", id="other answers"),
    ],
)
def test_one_guard_refuses_other_rows_for_every_score(saves, tmp_path, capsys, other, words):
    place = upstream.save(tmp_path / f"tofu_{BASES[0]}_retain", upstream.tofu(1, **other))
    suite, _ = scored(capsys, subject(saves), "--reference", place)
    for name in COMPARING:
        assert suite[name]["value"] is None, name
        assert suite[name]["against"] == [], name
    for name in COMPARING[:-1]:
        assert words in suite[name]["reason"], name


@pytest.mark.parametrize(
    ("place", "words"),
    [
        pytest.param("eval/tofu_Llama-2-7b-chat-hf_retain99", "of another model", id="family"),
        pytest.param(
            "eval/tofu_Llama-3.2-1B-Instruct_full/evals_forget01",
            "is the finetuned model",
            id="the finetuned model",
        ),
        pytest.param(
            "unlearn/tofu_Llama-3.2-1B-Instruct_forget01_NPO/evals",
            "the run is its own reference",
            id="the subject",
        ),
    ],
)
def test_one_guard_refuses_other_models_for_every_score(saves, capsys, place, words):
    suite, _ = scored(capsys, subject(saves), "--reference", saves / place)
    for name in COMPARING[:-1]:
        assert (suite[name]["value"], words in suite[name]["reason"]) == (None, True), name
    assert suite["overall_aggregate"]["value"] is None


def test_a_reference_of_another_size_is_refused(saves, tmp_path, capsys):
    place = upstream.save(tmp_path / "tofu_Llama-3.2-3B-Instruct_retain99", upstream.tofu(1))
    suite, _ = scored(capsys, subject(saves), "--reference", place)
    for name in each(COMPARING[:-1]):
        assert "(llama-3.2 3b) than this run (llama-3.2 1b)" in suite[name]["reason"], name


def test_a_reference_that_looks_like_the_subject_is_named(saves, tmp_path, capsys):
    place = upstream.save(tmp_path / "checkpoint-9", upstream.tofu(9, memory=0.5))
    suite, _ = scored(capsys, subject(saves), "--reference", place)
    assert "an AUC above 0.9" in suite["privleak"]["against"][0]["doubt"]
    arguments = [str(subject(saves)), "--reference", str(place), "--scores", "privleak"]
    assert main(["leaderboard", *arguments]) == 0
    assert "looks like a model that saw the forget set" in " ".join(capsys.readouterr().out.split())


def test_several_references_that_fit_are_refused_by_name(saves, capsys):
    upstream.save(saves / "eval" / f"tofu_{BASES[0]}_retain99_again", upstream.tofu(4))
    capsys.readouterr()
    assert main(["score", str(subject(saves)), "--reference", str(saves / "eval")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "several logs fit" in said
    assert "PATTERN=PATH" in said


def test_a_folder_without_a_fitting_reference_says_what_it_looked_for(saves, tmp_path, capsys):
    other = upstream.save(tmp_path / "tofu_Llama-3.2-3B-Instruct_forget01_NPO", upstream.tofu(3))
    suite, data = scored(capsys, other, "--reference", saves / "eval")
    assert suite["privacy_aggregate"]["value"] is None
    assert any("holds none for" in note and "llama-3.2 3b" in note for note in data["notes"])


def test_what_a_log_states_of_another_reference_model_stands(saves, tmp_path, capsys):
    log = upstream.tofu(3, memory=0.4)
    log["mia_reference"] = {**log["mia_loss"], "auc": 0.454, "agg_value": 0.454}
    place = upstream.save(tmp_path / f"tofu_{BASES[0]}_forget01_NPO", log)
    suite, data = scored(capsys, place, "--reference", retain_of(saves))
    assert suite["mia_reference"]["value"] == 0.454
    (against,) = suite["mia_reference"]["against"]
    assert against["kind"] == "log"
    note = data["results"]["unlearning/mia_reference"]["notes"][-1]
    assert "as the log states it" in note
    assert f"against tofu_{BASES[0]}_retain99 it is" in note
    # A value that is computed anew names the log's own.
    assert data["results"]["unlearning/privleak"]["stated"] == log["privleak"]["agg_value"]
