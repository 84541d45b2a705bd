"""Tables of memorisation, privacy and utility of each method over its seeds.

`aggregates` is evalprep's own; `paper` divides by the finetuned model, after the paper.
"""

import json
from statistics import harmonic_mean

import pytest

from evalprep.cli import main

AGGREGATES = [
    "overall_aggregate",
    "memorization_aggregate",
    "privacy_aggregate",
    "utility_aggregate",
]
ATTACKS = ("mia_loss", "mia_zlib", "mia_min_k", "mia_min_k_plus_plus")
RETAIN = {
    "extraction_strength": 0.06,
    "exact_memorization": 0.6,
    "forget_Q_A_PARA_Prob": 0.1,
    "forget_truth_ratio_prob_mean": 0.4,
    "model_utility": 0.6,
    "forget_Q_A_gibberish": 0.9,
    **dict.fromkeys(ATTACKS, 0.4),
}


def write_log(folder, **values):
    folder.mkdir(parents=True)
    log = {name: {"agg_value": value} for name, value in (RETAIN | values).items()}
    (folder / "TOFU_EVAL.json").write_text(json.dumps(log))
    return folder


@pytest.fixture
def saves(tmp_path):
    write_log(tmp_path / "saves/npo-seed1/evals", model_utility=0.5)
    write_log(tmp_path / "saves/npo-seed2/evals", model_utility=0.3)
    write_log(tmp_path / "saves/full/evals", **dict.fromkeys(ATTACKS, 1.0))
    write_log(tmp_path / "saves/rmu/evals", mia_loss=0.7, extraction_strength=0.5)
    return tmp_path / "saves"


def rows_of(saves, capsys, *options):
    retain = write_log(saves.parent / "retain90")
    arguments = [
        str(saves),
        "--scores",
        "aggregates",
        "--reference",
        str(retain),
        "--json",
        *options,
    ]
    assert main(["leaderboard", *arguments]) == 0
    board = json.loads(capsys.readouterr().out)
    assert board["shown"] == [f"unlearning/{name}" for name in AGGREGATES]
    return {row["label"]: row for row in board["rows"]}


def values(row):
    return [row["cells"][f"unlearning/{name}"]["value"] for name in AGGREGATES]


def test_the_table_of_aggregates(saves, capsys):
    rows = rows_of(saves, capsys)
    memorization = harmonic_mean([1 - 0.06, 1 - 0.6, 1 - 0.1, 1 - 0.4])
    retain = harmonic_mean([memorization, 1, harmonic_mean([0.6, 0.9])])
    assert rows["retain90"]["reference"]
    assert values(rows["retain90"])[:3] == pytest.approx([retain, memorization, 1])
    # An attack that separates perfectly is as far from 0.4 as it can be.
    assert values(rows["full"])[2] == 0
    privacy = harmonic_mean([1 - 0.3 / 0.6, 1, 1, 1])
    assert values(rows["rmu"])[2] == pytest.approx(privacy)
    assert [*rows][-1] == "full"


def test_seeds_are_one_row_with_their_spread(saves, capsys):
    row = rows_of(saves, capsys)["npo (2 seeds)"]
    assert row["cells"]["unlearning/utility_aggregate"]["sd"] > 0


def test_each_seed_has_a_row_where_that_is_asked_for(saves, capsys):
    npo = rows_of(saves, capsys, "--each_seed")
    utilities = [values(npo[f"npo-seed{seed}"])[3] for seed in (1, 2)]
    assert utilities == pytest.approx([harmonic_mean([0.5, 0.9]), harmonic_mean([0.3, 0.9])])


def test_parts_that_are_not_there_are_named(tmp_path, capsys):
    folder = write_log(
        tmp_path / "npo", mia_min_k_plus_plus=None, forget_Q_A_gibberish=None, model_utility=0.5
    )
    retain = write_log(tmp_path / "retain90")
    arguments = ["score", str(folder), "--reference", str(retain), "--no-write", "--json"]
    assert main(arguments) == 0
    suite = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
    assert suite["utility_aggregate"]["value"] == 0.5
    assert suite["privacy_aggregate"]["value"] == 1
    assert main([word for word in arguments if word != "--json"]) == 0
    assert "without mia_min_k_plus_plus" in capsys.readouterr().out


AFTER_PAPER = [
    "overall_after_paper",
    "memorization_after_paper",
    "privacy_aggregate",
    "utility_after_paper",
]
MEMORIES = tuple(name for name in RETAIN if name not in ATTACKS)[:4]
FULL = {
    "extraction_strength": 0.7,
    "exact_memorization": 0.97,
    "forget_Q_A_PARA_Prob": 0.2,
    "forget_truth_ratio_prob_mean": 0.7,
    "model_utility": 0.8,
    **dict.fromkeys(ATTACKS, 0.99),
}


def after_paper(saves, capsys, *options):
    arguments = [str(saves), "--scores", "paper", "--json", *map(str, options)]
    assert main(["leaderboard", *arguments]) == 0
    board = json.loads(capsys.readouterr().out)
    assert board["shown"] == [f"unlearning/{name}" for name in AFTER_PAPER]
    rows = {row["label"].partition(",")[0]: row["cells"] for row in board["rows"]}
    return {
        label: [cells[f"unlearning/{name}"] for name in AFTER_PAPER]
        for label, cells in rows.items()
    }


@pytest.fixture
def of_two_models(tmp_path):
    """Two base models whose finetuned models memorised to a different degree."""
    for base, firmness in (("Llama-3.2-1B", 1.0), ("Llama-2-7b", 0.9)):
        write_log(tmp_path / f"eval/tofu_{base}_retain90")
        full = {name: FULL[name] * firmness for name in FULL}
        write_log(tmp_path / f"eval/tofu_{base}_full/evals", **full)
        write_log(tmp_path / f"saves/tofu_{base}_NPO/evals", extraction_strength=0.3)
    return tmp_path


def test_the_table_after_the_paper_divides_by_the_finetuned_model(of_two_models, capsys):
    logs = of_two_models / "eval"
    rows = after_paper(of_two_models / "saves", capsys, "--reference", logs, "--finetuned", logs)
    for base, firmness in (("Llama-3.2-1B", 1.0), ("Llama-2-7b", 0.9)):
        for label, changed in (
            (f"tofu_{base}_NPO", {"extraction_strength": 0.3}),
            (f"tofu_{base}_retain90", {}),
        ):
            own = RETAIN | changed
            memorization = harmonic_mean(
                [1 - own[name] / (FULL[name] * firmness) for name in MEMORIES]
            )
            utility = harmonic_mean([0.6 / (0.8 * firmness), 1.0])
            overall = harmonic_mean([memorization, 1, utility])
            assert [cell["value"] for cell in rows[label]] == pytest.approx(
                [overall, memorization, 1, utility]
            )
        finetuned = {each["model"] for each in rows[f"tofu_{base}_NPO"][1]["against"]}
        assert finetuned == {f"tofu_{base}_full"}


def test_the_finetuned_model_itself_has_removed_nothing(of_two_models, capsys):
    logs = of_two_models / "eval"
    full = logs / "tofu_Llama-3.2-1B_full"
    rows = after_paper(full, capsys, "--reference", logs, "--finetuned", logs)
    overall, memorization, privacy, utility = rows["tofu_Llama-3.2-1B_full"]
    assert (overall["value"], memorization["value"], utility["value"]) == (0, 0, 1)
    assert privacy["value"] == pytest.approx(1 - 0.59 / 0.6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param([], "name one with --finetuned", id="without"),
        pytest.param(
            ["--finetuned", "retain"], "is a retain model, not the finetuned", id="retain"
        ),
        pytest.param(["--finetuned", "other"], "of another model", id="another size"),
    ],
)
def test_no_value_without_the_finetuned_model(of_two_models, capsys, options, words):
    logs = of_two_models / "eval"
    places = {
        "retain": logs / "tofu_Llama-3.2-1B_retain90",
        "other": logs / "tofu_Llama-2-7b_full/evals",
    }
    named = [str(places.get(word, word)) for word in options]
    subject = of_two_models / "saves/tofu_Llama-3.2-1B_NPO/evals"
    assert main(["score", str(subject), "--no_write", "--json", *named]) == 0
    suite = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
    for name in ("memorization_after_paper", "utility_after_paper"):
        assert (suite[name]["value"], words in suite[name]["reason"]) == (None, True)


def test_no_headline_bears_a_published_name_without_a_published_row(pack):
    """A shown score has published rows by its name, or its title says whose number it is."""
    published = {entry["score"] for entry in pack.published["scores"]}
    tables = pack.leaderboard.tables.values()
    shown = [name for table in tables for name in table]
    assert "memorization_after_paper" in shown
    for name in shown:
        title = pack.suite_scores[name].title
        assert name in published or "after the paper" in title or "evalprep's own" in title, name


def test_an_unknown_table_names_those_there_are(tmp_path, capsys):
    write_log(tmp_path / "npo")
    assert main(["leaderboard", str(tmp_path / "npo"), "--scores", "papr"]) == 2
    assert "did you mean paper?" in capsys.readouterr().err
