"""Suite scores of unlearning: nodes of a graph over samples, each a thin layer over `custom_metrics.unlearning`.

Rows keep their position in the split as key, as text, so that results read back from a file meet results in memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from custom_metrics.token_logprobs import Response, parse
from custom_metrics.unlearning import bootstrap, by_row
from custom_metrics.unlearning.against_reference import ks_test
from custom_metrics.unlearning.against_reference import privleak as privacy_leakage
from custom_metrics.unlearning.against_reference import rel_diff as relative_difference
from custom_metrics.unlearning.generation import classifier_prob, generation_postprocess
from custom_metrics.unlearning.generation import rouge as rouge_scores
from custom_metrics.unlearning.membership import (
    mia_auc,
    mia_min_k_plus_plus_score,
    mia_min_k_score,
    mia_reference_score,
    mia_zlib_score,
)
from custom_metrics.unlearning.memorization import exact_memorization as exact
from custom_metrics.unlearning.memorization import extraction_strength as extraction
from custom_metrics.unlearning.probability import probability_aggregate
from custom_metrics.unlearning.probability import probability_w_options as among_options
from custom_metrics.unlearning.truth_ratio import AGGREGATORS
from custom_metrics.unlearning.truth_ratio import truth_ratio as ratio_of_losses
from custom_metrics.unlearning.utility import hm_aggregate

Row = Mapping[str, Any]
Rows = Mapping[str, Sequence[Row]]
Result = dict[str, Any]
Inputs = Mapping[str, Mapping[str, Any]]

#: Classifier of OpenUnlearning's gibberish metric; it has to be on the machine already, nothing is fetched here.
GIBBERISH_CLASSIFIER = "madhurjindal/autonlp-Gibberish-Detector-492513457"
CLEAN_LABEL = "clean"
CLASSIFIER_BATCH = 32


# Reading samples


def _key(row: Row) -> str:
    """Position of the row in its split, as text."""
    position = row["doc"].get("index")
    return str(row["index"] if position is None else position)


def _replies(row: Row) -> list[Any]:
    response = row["response"]
    return list(response) if isinstance(response, (list, tuple)) else [response]


def _responses(row: Row, role: str) -> list[Response]:
    """Responses to the row's continuations of one role, in order."""
    replies = _replies(row)
    roles = row["doc"].get("roles") or ["answer"] * len(replies)
    return [parse(reply) for reply, name in zip(replies, roles, strict=False) if name == role]


def _option(rows: Sequence[Row], name: str, default: Any) -> Any:
    scoring = rows[0]["doc"].get("scoring") if rows else None
    value = scoring.get(name) if isinstance(scoring, Mapping) else None
    return default if value is None else value


def _single(rows: Rows) -> Sequence[Row]:
    return next(iter(rows.values()), ())


def _missing(rows: Rows, expected: int = 1) -> Result | None:
    """A result without a value when a task of the score has no samples."""
    empty = [task for task, samples in rows.items() if not samples]
    if len(rows) < expected or empty:
        return {"agg_value": None, "reason": f"no samples of {', '.join(empty) or 'a task this score needs'}"}
    return None


def _tally(result: Result, responses: Iterable[Response]) -> Result:
    """Count refused and cut texts, so that no row disappears in silence."""
    refused: dict[str, int] = {}
    cut = 0
    for response in responses:
        if response.refused:
            refused[response.refused] = refused.get(response.refused, 0) + 1
        cut += bool(response.truncated)
    if refused:
        # A refused text has no scored token either; it is named once, by its cause.
        skipped = dict(result.get("skipped", {}))
        rest = skipped.pop("no_scored_token", 0) - sum(refused.values())
        result["skipped"] = skipped | refused | ({"no_scored_token": rest} if rest > 0 else {})
    if cut:
        result["notes"] = [*result.get("notes", []), f"{cut} texts were cut to the length limit"]
    return result


def _interval(result: Result, values: Sequence[float]) -> Result:
    interval = bootstrap.mean_interval(values)
    return {**result, "n": len(values), **({"interval": interval} if interval else {})}


def _by_index(result: Mapping[str, Any]) -> dict[str, Any]:
    found = result.get("value_by_index") or result.get("values_by_index") or {}
    return by_row.by_string(found)


def _column(result: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {index: row.get(name) for index, row in _by_index(result).items() if isinstance(row, Mapping)}


# Probabilities and truth ratios


def probability(*, rows: Rows, params: Mapping[str, Any], **_: Any) -> Result:
    """Length-normalised probability of the answer, the paraphrase or the wrong answers of every row, and the mean."""
    if missing := _missing(rows):
        return missing
    role = params.get("role", "answer")
    values: dict[str, dict[str, Any]] = {}
    seen: list[Response] = []
    for row in _single(rows):
        found = _responses(row, role)
        seen += found
        losses, probs = [one.avg_loss for one in found], [one.prob for one in found]
        single = role != "wrong"
        values[_key(row)] = {
            "prob": (probs[0] if probs else None) if single else probs,
            "avg_loss": (losses[0] if losses else None) if single else losses,
        }
    result = {**probability_aggregate(value_by_index=values), "value_by_index": values}
    means = [by_row.mean(by_row.entries(row["prob"])) for row in values.values()]
    return _tally(_interval(result, [value for value in means if value is not None]), seen)


def _correct_and_wrong(inputs: Inputs, column: str) -> tuple[dict[str, Any], dict[str, Any]] | Result:
    """The same column of the correct and of the wrong answers' probabilities."""
    correct = next((name for name in inputs if "_PERT_" not in name), None)
    wrong = next((name for name in inputs if "_PERT_" in name), None)
    for name in (correct, wrong):
        if name is None or not _by_index(inputs[name]):
            return {"agg_value": None, "reason": f"no rows of {name or 'a score this one needs'}"}
    assert correct is not None
    assert wrong is not None
    return _column(inputs[correct], column), _column(inputs[wrong], column)


def probability_w_options(*, inputs: Inputs, **_: Any) -> Result:
    """Probability of the correct answer among the options."""
    found = _correct_and_wrong(inputs, "prob")
    if isinstance(found, dict):
        return found
    result = among_options(correct_prob=found[0], wrong_prob=found[1])
    return _interval(result, by_row.usable(row["prob"] for row in result["value_by_index"].values()))


#: What a truth ratio says, by its aggregator.
RATIO_NOTES = {
    "closer_to_1_better": "1: wrong and right answers are equally likely; 0: the model clearly prefers one of them",
    "true_better": "1: wrong answers are impossible; 0: they are at least as likely as the right one",
    "prob_mean": "share of the right answer in the probability of right and wrong answers",
}


def truth_ratio(*, inputs: Inputs, params: Mapping[str, Any], **_: Any) -> Result:
    """Truth ratio of every row and the mean after the aggregator."""
    found = _correct_and_wrong(inputs, "avg_loss")
    if isinstance(found, dict):
        return found
    aggregator = str(params.get("aggregator"))
    result = ratio_of_losses(aggregator=aggregator, correct_avg_loss=found[0], wrong_avg_loss=found[1])
    if aggregator not in AGGREGATORS:
        return result
    ratios = by_row.usable(row["score"] for row in result["value_by_index"].values())
    result["notes"] = [RATIO_NOTES[aggregator]]
    return _interval(result, [AGGREGATORS[aggregator](ratio) for ratio in ratios])


# Generations


def rouge(*, rows: Rows, params: Mapping[str, Any], **_: Any) -> Result:
    """ROUGE of every generation against the target, or against another column; lists are averaged per row."""
    if missing := _missing(rows):
        return missing
    kind, column = params["type"], params.get("column")
    values: dict[str, dict[str, Any]] = {}
    means: list[float] = []
    for row in _single(rows):
        doc = row["doc"]
        raw = _replies(row)[0]
        text = generation_postprocess(
            raw_generation=raw if isinstance(raw, str) else "", stopwords=list(doc.get("stopwords") or ())
        )["generation"]
        reference = doc.get(column) if column else doc.get("target", row.get("target"))
        texts = [reference] if isinstance(reference, str) else list(reference or [])
        stemmer = doc.get("rouge_stemmer") is not False
        scores = [rouge_scores(ground_truth=one, generation=text, stemmer=stemmer) for one in texts]
        kept: Result = {
            name: [score[name] for score in scores] for name in ("rouge1_recall", "rougeL_f1", "rougeL_recall")
        }
        if isinstance(reference, str):
            kept = {name: entries[0] for name, entries in kept.items()}
        values[_key(row)] = {
            **kept,
            "input": doc.get("prompt", row.get("prompt")),
            "ground_truth": reference,
            "generation": text,
        }
        mean = by_row.mean(by_row.entries(kept[kind]))
        if mean is not None:
            means.append(mean)
    result: Result = {"agg_value": by_row.mean(means), "value_by_index": values}
    result = by_row.counted(result, no_reference=len(values) - len(means))
    return _interval(result, means)


def gibberish(*, inputs: Inputs, params: Mapping[str, Any], **_: Any) -> Result:
    """Mean probability that a generation is clean text, by a classifier that is already on the machine."""
    texts = _column(_only(inputs), "generation")
    if not texts:
        return {"agg_value": None, "reason": "no generations"}
    name = str(params.get("classifier", GIBBERISH_CLASSIFIER))
    if not _on_this_machine(name):
        return {"agg_value": None, "reason": f"the classifier is not on this machine: `hf download {name}`"}
    try:
        logits, labels = _classify(name, list(texts.values()), int(params["max_length"]))
    except (OSError, ImportError, ValueError) as error:
        return {"agg_value": None, "reason": f"the classifier {name} cannot be loaded: {str(error).splitlines()[0]}"}
    # Class 0 in OpenUnlearning; the classifier's own names decide where they say which class is clean text.
    clean = next((number for number, label in labels.items() if label.lower() == CLEAN_LABEL), 0)
    result = classifier_prob(logits_by_index=dict(zip(texts, logits, strict=True)), class_id=clean)
    scores = result.pop("score_by_index")
    result["value_by_index"] = {index: {"score": scores[index], "text": text} for index, text in texts.items()}
    result["notes"] = [f"classifier {name}, class {clean} ({labels.get(clean, 'unnamed')})"]
    return _interval(result, by_row.usable(scores.values()))


def _on_this_machine(name: str) -> bool:
    """Whether a model is a local folder or in the hub cache, asked without importing transformers or the network."""
    if Path(name).is_dir():
        return True
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, "config.json"), str)


def _classify(name: str, texts: list[str], max_length: int) -> tuple[list[list[float]], dict[int, str]]:
    """Logits of every text, and the classifier's class names."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=True)
    model = AutoModelForSequenceClassification.from_pretrained(name, local_files_only=True).eval()
    logits: list[list[float]] = []
    with torch.no_grad():
        for start in range(0, len(texts), CLASSIFIER_BATCH):
            batch = tokenizer(
                texts[start : start + CLASSIFIER_BATCH],
                padding=True,
                truncation=True,
                max_length=max_length,
                return_tensors="pt",
            )
            logits += model(**batch).logits.float().tolist()
    return logits, {int(number): str(label) for number, label in model.config.id2label.items()}


# Headline numbers


def _only(inputs: Inputs | None) -> Mapping[str, Any]:
    return next(iter((inputs or {}).values()), {})


def _reference(reference: Inputs | None) -> Mapping[str, Any] | None:
    """The reference run's result, None without a reference or without a value in it."""
    found = _only(reference)
    return found if found.get("agg_value") is not None or _by_index(found) else None


def _digest(reference: Inputs | None) -> dict[str, str]:
    """Which reference a result was computed against, for the fingerprints of the result files."""
    if not reference:
        return {}
    text = json.dumps(reference, sort_keys=True, default=str)
    return {"reference_sha256": hashlib.sha256(text.encode()).hexdigest()}


def forget_quality(*, inputs: Inputs, reference: Inputs | None = None, **_: Any) -> Result:
    """KS p-value of the truth ratios of this model and of the retain model."""
    own, other = _only(inputs), _reference(reference)
    own_ratios = _column(own, "score")
    if not own_ratios:
        return {"agg_value": None, "reason": own.get("reason", "no truth ratios")}
    if other is None:
        return ks_test(forget_scores=list(own_ratios.values()), retain_scores=None)
    other_ratios = _column(other, "score")
    # The same rows for both where the two logs share them, so that a shorter log compares what it has.
    shared = [index for index in own_ratios if index in other_ratios]
    if shared:
        own_ratios = {index: own_ratios[index] for index in shared}
        other_ratios = {index: other_ratios[index] for index in shared}
    result = ks_test(forget_scores=list(own_ratios.values()), retain_scores=list(other_ratios.values()))
    result |= _digest(reference)
    pairs = [
        (own_value, other_value)
        for own_value, other_value in zip(own_ratios.values(), other_ratios.values(), strict=False)
        if by_row.finite(own_value) and by_row.finite(other_value)
    ]
    interval = bootstrap.ks_interval([own for own, _ in pairs], [other for _, other in pairs])
    if interval:
        result["interval"] = interval
    if "statistic" in result:
        result["parts"] = {"ks_statistic": result["statistic"]}
    result["distributions"] = {"model": [own for own, _ in pairs], "reference": [other for _, other in pairs]}
    result["notes"] = ["p-value against a model that never saw the forget set: near 1 the two cannot be told apart"]
    return result


#: Per part of model utility: the column of its rows and what a row adds to the mean.
UTILITY_ROWS: dict[str, tuple[str, Callable[[float], float]]] = {
    "Prob": ("prob", float),
    "ROUGE": ("rougeL_recall", float),
    "Truth_Ratio": ("score", AGGREGATORS["true_better"]),
}


def model_utility(*, inputs: Inputs, **_: Any) -> Result:
    """Harmonic mean of probability, ROUGE and truth ratio on retained questions, real authors and world facts."""
    parts = {name: result.get("agg_value") for name, result in inputs.items()}
    result = {**hm_aggregate(agg_values=parts), "parts": parts}
    if result["agg_value"] is None:
        return result
    data_sets: dict[str, dict[str, dict[str, float | None]]] = {}
    for name, part in inputs.items():
        kind = next(kind for kind in UTILITY_ROWS if kind in name)
        column, added = UTILITY_ROWS[kind]
        data_sets.setdefault(name.partition("_")[0], {})[name] = {
            index: added(value) if by_row.finite(value) else None for index, value in _column(part, column).items()
        }
    interval = bootstrap.utility_interval([data_sets[name] for name in sorted(data_sets)])
    if interval:
        result["interval"] = interval
    result["notes"] = [
        "harmonic mean of nine scores on what the model should still know: one lost ability pulls it to 0"
    ]
    return result


# Memorisation


def _greedy_rows(samples: Sequence[Row]) -> tuple[list[dict[str, list[bool]]], list[str], list[Response]]:
    """Per row, whether the model's most likely token is the true one, over all scored tokens but the last."""
    tables, keys, seen = [], [], []
    for row in samples:
        response = next(iter(_responses(row, "answer")), parse(None))
        seen.append(response)
        flags = list(response.greedy[:-1])
        tables.append({"pred_ids": flags, "label_ids": [True] * len(flags)})
        keys.append(_key(row))
    return tables, keys, seen


def _memorisation(rows: Rows, metric: Callable[..., Result], **options: Any) -> Result:
    if missing := _missing(rows):
        return missing
    tables, keys, seen = _greedy_rows(_single(rows))
    result = metric(rows=tables, **options)
    result["value_by_index"] = dict(zip(keys, result["value_by_index"].values(), strict=True))
    scores = by_row.usable(row["score"] for row in result["value_by_index"].values())
    return _tally(_interval(result, scores), seen)


def exact_memorization(*, rows: Rows, **_: Any) -> Result:
    """Share of tokens that the model predicts right when fed the true text."""
    return _memorisation(rows, exact)


def extraction_strength(*, rows: Rows, **_: Any) -> Result:
    """Share of the text that the model completes by itself."""
    samples = _single(rows)
    # A refused text says nothing about the model; one that only tokenises to nothing counts 0, as upstream.
    readable = {
        task: [row for row in found if not any(one.refused for one in _responses(row, "answer"))]
        for task, found in rows.items()
    }
    strict = bool(_option(samples, "strict_extraction", default=False))
    result = _memorisation(readable, extraction, strict=strict)
    refused = len(samples) - len(_single(readable))
    return {**result, "skipped": result.get("skipped", {}) | {"too_long": refused}} if refused else result


# Membership inference


def _attack_score(attack: str, response: Response, row: Row, k: float) -> float | None:
    """Score of one text; higher means less likely seen in training."""
    if attack == "loss":
        return response.avg_loss
    if attack == "zlib":
        text = response.text if response.text is not None else str(row["doc"].get("target", ""))
        return mia_zlib_score(avg_loss=response.avg_loss, text=text)["score"]
    if attack == "gradnorm":
        return response.grad_norm
    logprobs = response.logprobs[:-1]
    if attack == "min_k":
        return mia_min_k_score(token_logprobs=logprobs, k=k, empty=None)["score"]
    mu, var = (None if moments is None else moments[:-1] for moments in (response.mu, response.var))
    return mia_min_k_plus_plus_score(token_logprobs=logprobs, mu=mu, var=var, k=k, empty=None)["score"]


def membership(*, rows: Rows, params: Mapping[str, Any], **_: Any) -> Result:
    """AUC of one attack on forgotten against holdout texts."""
    if missing := _missing(rows, expected=2):
        return missing
    attack = params["attack"]
    blocks: dict[str, dict[str, Any]] = {}
    seen: list[Response] = []
    for side, samples in zip(("forget", "holdout"), rows.values(), strict=False):
        k = float(_option(samples, "min_k", default=0.4))
        scores: dict[str, float | None] = {}
        for row in samples:
            response = next(iter(_responses(row, "answer")), parse(None))
            seen.append(response)
            scores[_key(row)] = _attack_score(attack, response, row, k)
        blocks[side] = _block(scores)
    result = _attack_result(blocks)
    if attack in {"min_k_plus_plus", "gradnorm"} and result["agg_value"] is None:
        result["reason"] = "this attack needs the hf back end: run the second command of the preparation"
    return _tally(result, seen)


def _block(scores: Mapping[str, float | None]) -> Result:
    return {
        "agg_value": by_row.mean(by_row.usable(scores.values())),
        "value_by_index": {index: {"score": score} for index, score in scores.items()},
    }


def _attack_result(blocks: Mapping[str, Mapping[str, Any]]) -> Result:
    forget, holdout = (list(_column(blocks[side], "score").values()) for side in ("forget", "holdout"))
    found = mia_auc(forget_scores=forget, holdout_scores=holdout)
    result: Result = {"agg_value": found["auc"], "auc": found["auc"], **blocks}
    result |= {name: found[name] for name in ("reason", "skipped") if name in found}
    result["n"] = len(by_row.usable(forget)) + len(by_row.usable(holdout))
    if found["auc"] is not None:
        interval = bootstrap.auc_interval(by_row.usable(forget), by_row.usable(holdout))
        if interval:
            result["interval"] = interval
    return result


def membership_reference(*, inputs: Inputs, reference: Inputs | None = None, **_: Any) -> Result:
    """AUC of the loss of this model minus the loss of the reference run's model on the same text."""
    own, other = _only(inputs), _only(reference)
    blocks: dict[str, Result] = {}
    for side in ("forget", "holdout"):
        losses, others = _column(own.get(side, {}), "score"), _column(other.get(side, {}), "score")
        if not losses or not others:
            reason = "no reference run" if reference is None else f"no {side} losses on both sides"
            return {"agg_value": None, "reason": f"{reason}: run the same tasks with the reference model"}
        scores = {
            index: mia_reference_score(target_avg_loss=loss, reference_avg_loss=others.get(index))["score"]
            for index, loss in losses.items()
        }
        blocks[side] = _block(scores)
    return _attack_result(blocks) | _digest(reference)


def privleak(*, inputs: Inputs, reference: Inputs | None = None, **_: Any) -> Result:
    """Privacy leakage of the min-k attack against the retain model."""
    result = _relative(inputs, reference, privacy_leakage)
    if result["agg_value"] is not None:
        result["notes"] = [
            "0: as a model that never saw the forget set; about -100: still remembered; positive: unlearned too far",
            *(["no retain log: compared with an AUC of 0.5"] if result["reference"] != "retain" else []),
            *(["the reference AUC is 1: the value is undefined"] if result.get("undefined") else []),
        ]
    return result


def rel_diff(*, inputs: Inputs, reference: Inputs | None = None, **_: Any) -> Result:
    """Relative difference of the min-k AUC from the retain model's."""
    return _relative(inputs, reference, relative_difference)


def _relative(inputs: Inputs, reference: Inputs | None, formula: Callable[..., Result]) -> Result:
    own, other = _only(inputs), _only(reference)
    result = formula(auc=own.get("agg_value"), retain_auc=other.get("agg_value"))
    if result["agg_value"] is None:
        return {**result, "reason": own.get("reason", result["reason"])}
    interval = _relative_interval(own, other, formula, has_reference=result["reference"] == "retain")
    return {**result, **_digest(reference), **({"interval": interval} if interval else {})}


def _relative_interval(
    own: Mapping[str, Any], other: Mapping[str, Any], formula: Callable[..., Result], *, has_reference: bool
) -> list[float] | None:
    """Percentile interval over resampled texts; the reference is resampled with them where it has its scores."""
    import numpy as np

    def aucs(result: Mapping[str, Any]) -> Any:
        forget, holdout = (
            by_row.usable(_column(result.get(side) or {}, "score").values()) for side in ("forget", "holdout")
        )
        return bootstrap.auc_resamples(forget, holdout) if len(forget) > 1 and len(holdout) > 1 else None

    mine = aucs(own)
    if mine is None:
        return None
    theirs = aucs(other) if has_reference else None
    fixed = other.get("agg_value") if has_reference else None
    references = [fixed] * len(mine) if theirs is None else theirs
    values = [formula(auc=float(auc), retain_auc=ref)["agg_value"] for auc, ref in zip(mine, references, strict=True)]
    return bootstrap.percentiles(np.asarray(values))
