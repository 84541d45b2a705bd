"""Suite scores over sample rows: indices, skipped rows, missing tasks; and the judge contract."""

import importlib.util
import json
from pathlib import Path

import pytest
import yaml

from custom_metrics import METRICS
from custom_metrics.token_logprobs import Response
from evalprep.score import read_specs
from evalprep.score.spec import resolve
from tests.loops import each


@pytest.fixture(scope="module")
def answers(pack):
    return pack.module("answers")


@pytest.fixture(scope="module")
def generations(pack):
    return pack.module("generations")


@pytest.fixture(scope="module")
def memorization(pack):
    return pack.module("memorization")


@pytest.fixture(scope="module")
def membership(pack):
    return pack.module("membership")


@pytest.fixture(scope="module")
def leakage(pack):
    return pack.module("leakage")


ROLES = ["answer", "paraphrase", "wrong"]


def likelihood_row(index, *answers, roles=None, **doc):
    """A sample of a likelihood task with one response per answer."""
    return {
        "index": index,
        "doc": {
            "index": index,
            "roles": roles or ["answer"] * len(answers),
            "target": "text",
            **doc,
        },
        "response": [answer.dump() for answer in answers],
    }


def answer(*logprobs, greedy=None, **more):
    return Response(logprobs=list(logprobs), greedy=greedy or [False] * len(logprobs), **more)


def test_every_declared_score_has_its_function(pack):
    for spec in each(read_specs(pack).values()):
        assert callable(resolve(spec, pack))


def test_probability_keeps_rows_apart_from_positions(answers):
    rows = {"t": [likelihood_row(7, answer(-1.0, -3.0)), likelihood_row(3, answer())]}
    result = answers.probability(rows=rows, params={"role": "answer"})
    assert result["value_by_index"]["7"]["avg_loss"] == 2
    assert result["value_by_index"]["3"] == {"prob": None, "avg_loss": None}
    assert result["skipped"] == {"no_scored_token": 1}
    assert result["n"] == 1


def test_a_single_response_may_be_a_text(answers):
    row = likelihood_row(0, answer(-1.0))
    row["response"] = row["response"][0]
    assert (
        answers.probability(rows={"t": [row]}, params={"role": "answer"})["value_by_index"]["0"][
            "avg_loss"
        ]
        == 1
    )


def test_refused_and_cut_texts_are_counted(answers):
    rows = {
        "t": [
            likelihood_row(0, answer(-1.0, truncated=9)),
            likelihood_row(1, Response(refused="too_long")),
        ]
    }
    result = answers.probability(rows=rows, params={"role": "answer"})
    assert result["skipped"] == {"too_long": 1}
    assert result["notes"] == ["1 texts were cut to the length limit"]


def test_truth_ratio_with_one_row_missing_keeps_the_others(answers):
    roles = ["paraphrase", "wrong", "wrong"]
    rows = {
        "t": [
            likelihood_row(0, answer(-1.0), answer(-1.0), answer(-1.0), roles=roles),
            likelihood_row(1, answer(), answer(-1.0), answer(-1.0), roles=roles),
            likelihood_row(2, answer(-1.0), answer(-2.0), answer(-4.0), roles=roles),
        ]
    }
    inputs = {
        name: answers.probability(rows=rows, params={"role": role})
        for name, role in (
            ("forget_Q_A_PARA_Prob", "paraphrase"),
            ("forget_Q_A_PERT_Prob", "wrong"),
        )
    }
    result = answers.truth_ratio(inputs=inputs, params={"aggregator": "closer_to_1_better"})
    ratios = {index: row["score"] for index, row in result["value_by_index"].items()}
    assert ratios == {"0": pytest.approx(1), "1": None, "2": pytest.approx(0.1353, abs=1e-3)}
    assert len(result["interval"]) == 2


def test_one_row_without_a_token_takes_the_mean_with_it_where_that_is_asked_for(
    answers, membership
):
    def rows(**scoring):
        return {
            "tofu_forget_lp": [
                likelihood_row(
                    0, answer(-1.0), answer(-1.0), answer(-2.0), roles=ROLES, scoring=scoring
                ),
                likelihood_row(1, answer(), answer(), answer(-2.0), roles=ROLES, scoring=scoring),
            ]
        }

    both = {}
    for missing in (False, True):
        parts = {
            name: answers.probability(rows=rows(missing=missing), params={"role": role})
            for name, role in (
                ("forget_Q_A_PARA_Prob", "paraphrase"),
                ("forget_Q_A_PERT_Prob", "wrong"),
            )
        }
        ratio = answers.truth_ratio(inputs=parts, params={"aggregator": "true_better"})
        both[missing] = (parts["forget_Q_A_PARA_Prob"], ratio)
    ours, theirs = both[False], both[True]
    assert [one["agg_value"] for one in ours] == pytest.approx([0.36787944, 0.63212056], abs=1e-6)
    assert [one["agg_value"] for one in theirs] == [None, None]
    assert all("1 rows have no value" in one["reason"] for one in theirs)
    # The rows that have one keep it.
    assert theirs[1]["value_by_index"]["0"]["score"] == pytest.approx(
        ours[1]["value_by_index"]["0"]["score"]
    )

    sides = [
        likelihood_row(0, answer(-1.0, -2.0), scoring={"missing": True}),
        likelihood_row(1, answer()),
    ]
    found = membership.attack(rows={"forget": sides, "holdout": sides}, params={"attack": "min_k"})
    assert found["forget"]["value_by_index"]["1"] == {"score": 0.0}


def test_scores_without_samples_say_which(answers, membership):
    assert "no samples" in membership.attack(rows={"a": []}, params={"attack": "loss"})["reason"]
    assert (
        "no rows" in answers.truth_ratio(inputs={}, params={"aggregator": "true_better"})["reason"]
    )


def test_memorisation_leaves_the_last_token_out(memorization):
    rows = {"t": [likelihood_row(0, answer(-1, -1, -1, greedy=[False, True, False]))]}
    assert memorization.exact_memorization(rows=rows)["agg_value"] == 0.5
    assert memorization.extraction_strength(rows=rows)["agg_value"] == 0.5


def test_extraction_strength_reads_its_option_and_leaves_refused_rows_out(memorization):
    wrong = likelihood_row(0, answer(-1, -1, -1), scoring={"strict_extraction": True})
    refused = likelihood_row(1, Response(refused="too_long"), scoring={"strict_extraction": True})
    result = memorization.extraction_strength(rows={"t": [wrong, refused]})
    assert result["agg_value"] == 0
    assert result["skipped"]["too_long"] == 1


@pytest.mark.parametrize("attack", ["loss", "zlib", "min_k", "min_k_plus_plus", "gradnorm"])
def test_attacks_tell_seen_from_unseen(membership, attack):
    def rows(loss):
        return [
            likelihood_row(
                index,
                Response(
                    logprobs=[-loss - index / 10] * 4,
                    greedy=[False] * 4,
                    mu=[-1.0] * 4,
                    var=[1.0] * 4,
                    text="some text",
                    grad_norm=loss + index / 10,
                ),
            )
            for index in range(5)
        ]

    result = membership.attack(
        rows={"forget": rows(1.0), "holdout": rows(3.0)}, params={"attack": attack}
    )
    assert result["agg_value"] == result["auc"] == 1
    assert result["interval"] == [1, 1]
    assert list(result["forget"]["value_by_index"]) == list("01234")


def test_min_k_plus_plus_without_moments_points_to_hf(membership):
    rows = [likelihood_row(index, Response(refused="backend")) for index in range(3)]
    result = membership.attack(rows={"f": rows, "h": rows}, params={"attack": "min_k_plus_plus"})
    assert result["agg_value"] is None
    assert "hf back end" in result["reason"]
    assert result["skipped"]["backend"] == 6


@pytest.mark.parametrize("attack", ["min_k", "min_k_plus_plus", "gradnorm"])
def test_an_auc_over_too_few_texts_says_how_many_are_lost(membership, attack):
    fits = [
        likelihood_row(
            i, Response(logprobs=[-1.0, -2.0], mu=[-3.0] * 2, var=[1.0] * 2, grad_norm=1.0)
        )
        for i in "ab"
    ]
    rows = [*fits, likelihood_row("c", Response(refused="too_long"))]
    result = membership.attack(rows={"f": rows, "h": rows}, params={"attack": attack})
    assert result["agg_value"] is None
    assert result["reason"].startswith("2 of 6 rows have no score")


def test_ratios_of_a_destroyed_model_are_drawn_on_a_log_scale(pack):
    own, other = (
        {
            "agg_value": 0.5,
            "value_by_index": {str(at): {"score": score} for at, score in enumerate(scores)},
        }
        for scores in ([0.0, 1e-80, 100.0], [1.0, 10.0, 0.1])
    )
    result = pack.module("headline").forget_quality(
        inputs={"forget_truth_ratio": own}, reference={"forget_truth_ratio": other}
    )
    assert list(result["distributions"].values()) == [[-12, -12, 2], pytest.approx([0, 1, -1])]


def test_privleak_follows_its_reference(membership, leakage):
    def attack(loss):
        rows = {
            side: [likelihood_row(index, answer(*[-(base + index % 3)] * 3)) for index in range(9)]
            for side, base in (("forget", 1.0), ("holdout", loss))
        }
        return membership.attack(rows=rows, params={"attack": "min_k"})

    seen, unseen = attack(3.0), attack(1.0)
    alone = leakage.privleak(inputs={"mia_min_k": seen})
    assert alone["reference"] == "default_0.5"
    assert any("0.5" in note for note in alone["notes"])
    compared = leakage.privleak(inputs={"mia_min_k": seen}, reference={"mia_min_k": unseen})
    assert compared["reference"] == "retain"
    assert compared["agg_value"] < 0
    assert compared["interval"][0] <= compared["agg_value"] <= compared["interval"][1]
    assert (
        compared["reference_sha256"]
        != leakage.privleak(inputs={"mia_min_k": seen}, reference={"mia_min_k": seen})[
            "reference_sha256"
        ]
    )


def test_the_interval_against_a_log_pairs_the_rows_whatever_their_order(membership, leakage):
    rows = [likelihood_row(i, answer(-1.0 - i % 7, -2.0 - i % 3, -1.5)) for i in range(25)]
    own = membership.attack(rows={"f": rows[:12], "h": rows[12:]}, params={"attack": "min_k"})
    logged = {name: value for name, value in own.items() if name != "influence"}
    as_logged = json.loads(json.dumps(logged, sort_keys=True))
    assert list(as_logged["forget"]["value_by_index"])[:3] == ["0", "1", "10"]
    result = leakage.privleak(inputs={"mia_min_k": own}, reference={"mia_min_k": as_logged})
    assert result["agg_value"] == 0
    assert result["interval"] == [0, 0]


def test_reference_attack_joins_texts_by_row(membership):
    own = {
        side: {"value_by_index": {"0": {"score": 2.0}, "1": {"score": 3.0}}}
        for side in ("forget", "holdout")
    }
    other = {
        "forget": {"value_by_index": {"1": {"score": 3.0}, "0": {"score": 2.0}}},
        "holdout": {"value_by_index": {"0": {"score": 1.0}, "1": {"score": 1.0}}},
    }
    result = membership.reference_attack(inputs={"mia_loss": own}, reference={"mia_loss": other})
    assert result["auc"] == 1
    assert "reference model" in membership.reference_attack(inputs={"mia_loss": own})["reason"]


def test_rouge_against_other_columns(generations):
    row = {
        "index": 0,
        "response": " Born in Drevno.\n\nQuestion: next",
        "doc": {
            "index": 0,
            "prompt": "Where?",
            "target": "Born in Drevno",
            "stopwords": ["\n\n"],
            "perturbed_answer": ["Born in Lurn", "Never"],
        },
    }
    plain = generations.rouge(rows={"t": [row]}, params={"type": "rougeL_recall"})
    assert plain["agg_value"] == 1
    assert plain["value_by_index"]["0"]["generation"] == "Born in Drevno."
    wrong = generations.rouge(
        rows={"t": [row]}, params={"type": "rougeL_recall", "column": "perturbed_answer"}
    )
    assert wrong["agg_value"] == pytest.approx((2 / 3 + 0) / 2)


def test_gibberish_fetches_nothing(generations):
    inputs = {"r": {"value_by_index": {"0": {"generation": "text"}}}}
    result = generations.gibberish(
        inputs=inputs, params={"max_length": 32, "classifier": "no/such-classifier"}
    )
    assert result["agg_value"] is None
    assert "hf download no/such-classifier" in result["reason"]


def test_the_judge_contract_fits_the_scores_and_the_prompt(pack):
    contract = yaml.safe_load((pack.folder / "judge.yaml").read_text())
    path = Path(pack.folder / contract["prompt"])
    spec = importlib.util.spec_from_file_location("judge_prompt", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for contexts in contract["contexts"].values():
        for name, context in contexts.items():
            assert pack.suite_scores[name].tasks == (context["task"],)
            text = module.create_prompt(name, "input", "truth", "said")
            assert all(f'"{metric}": <number>' in text for metric in context["metrics"])
            reply = json.dumps(dict.fromkeys(context["metrics"], 7))
            judged = METRICS["unlearning.judge_scores"](
                metrics=context["metrics"], response=reply, range=contract["range"]
            )
            assert judged["status"] == "ok"
    assert "forget this content" in module.create_prompt("Forget_x", "", "", "")
    assert "still knows" in module.create_prompt("retain_x", "", "", "")


def test_ratings_of_0_have_the_interval_of_their_scale(pack):
    _, metrics = pack.module("judge").CONTEXTS["tofu_forget_gen"]
    ratings = dict.fromkeys(metrics, 0.0)
    judgement = {"ratings": ratings, "status": "ok", "judge": "j"}
    rows = [{"index": at, "doc": {"index": at}, "judgement": judgement} for at in range(20)]
    score = read_specs(pack)["forget_Q_A_judge"]
    result = resolve(score, pack)(rows={"tofu_forget_gen": rows})
    assert result["agg_value"] == 0
    assert result["interval"] == pytest.approx((0.0, 1.8981), abs=6e-5)
