"""The functions that the task YAMLs of the fm pack name: `process_results` and aggregations.

lm-eval writes nothing before all tasks are scored, so nothing here raises. Settings come with each
row, in the column `options` as JSON. A score that cannot be computed on this machine is NaN, which
means unknown; and of the metrics that a YAML declares a task returns those that its options ask
for.

Scores that exist only over several rows are logged as lists, from which the aggregation makes the
number:

- of a perturbed prompt `[record_id, variant, value, variants]`: variant 0 is the original prompt,
  and a record counts where all its variants are there, so that a limit in the middle of a record
  biases nothing;
- of general robustness `[record_id, variant, draw, reply, variants, draws]`;
- of a classification `[target, label, average]`.
"""

from __future__ import annotations

import functools
import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from custom_metrics.fm.class_scores import class_scores, label_pair
from custom_metrics.fm.classification import (
    INVALID,
    UNKNOWN,
    LabelFunction,
    LabelMatch,
    classification_label,
    is_right,
    label_by,
    stated_label,
)
from custom_metrics.fm.factual_knowledge import factual_knowledge as contains_facts
from custom_metrics.fm.insults import insult_words
from custom_metrics.fm.meteor import MissingDataError, meteor, meteor_no_synonyms
from custom_metrics.fm.qa_accuracy import qa_accuracy as answer_scores
from custom_metrics.fm.robustness import general_robustness as compare_replies
from custom_metrics.fm.stereotyping import stereotyping_sample
from custom_metrics.fm.summarization import ROUGE_TYPES, rouge
from custom_metrics.text.replies import first_reply
from custom_metrics.text.words import with_blanks

Doc = Mapping[str, Any]
Results = Sequence[Any]
Scores = dict[str, Any]
Entries = Iterable[Sequence[Any]]
"""What a task logged for one metric, a list per reply."""

_NO_NAMES = "which keys are metrics? declare outputs with transform(...), or give names"
_log = logging.getLogger(__name__)
_METEORS: dict[str, tuple[str, Callable[..., dict[str, float]]]] = {
    "wordnet": ("meteor", meteor),
    "no_synonyms": ("meteor_no_synonyms", meteor_no_synonyms),
}


@functools.lru_cache(maxsize=64)
def _options(text: str) -> dict[str, Any]:
    return dict(json.loads(text))


def options_of(doc: Doc) -> dict[str, Any]:
    """Settings of a row."""
    return _options(str(doc.get("options") or "{}"))


def _target(doc: Doc) -> str:
    return str(doc.get("target") or "")


def factual_knowledge(doc: Doc, results: Results) -> Scores:
    """`factual_knowledge` and `factual_knowledge_quasi_exact` of one reply.

    See `fm.factual_knowledge`.
    """
    chosen = _chosen(doc, "target_output_delimiter", "logical_operator")
    return dict(contains_facts(**_pair(doc, results), **chosen))


def _chosen(doc: Doc, *names: str) -> dict[str, Any]:
    """Those of some settings that a row has."""
    options = options_of(doc)
    return {name: options[name] for name in names if name in options}


def _pair(doc: Doc, results: Results) -> dict[str, Any]:
    """Target and reply, as the scores take them."""
    return {"target_output": _target(doc), "model_output": first_reply(results)}


def qa_accuracy(doc: Doc, results: Results) -> Scores:
    """The five scores of a short answer; see `fm.qa_accuracy`."""
    chosen = _chosen(doc, "target_output_delimiter", "word_tokenizer")
    return dict(answer_scores(**_pair(doc, results), **chosen))


def summarization_accuracy(doc: Doc, results: Results) -> Scores:
    """ROUGE of three types under their own names, and METEOR where it is asked for."""
    options = options_of(doc)
    pair = _pair(doc, results)
    stemmer = options.get("use_stemmer_for_rouge", True)
    tokenizer = options.get("rouge_tokenizer", "fmeval")
    scores: Scores = {}
    for kind in ROUGE_TYPES:
        score = rouge(**pair, rouge_type=kind, use_stemmer=stemmer, tokenizer=tokenizer)
        scores[kind] = score["rouge"]
    if options.get("meteor") in _METEORS:
        name, function = _METEORS[options["meteor"]]
        try:
            scores[name] = function(**pair)["meteor"]
        except MissingDataError as error:
            _log.warning("%s is unknown on this machine: %s", name, error)
            scores[name] = math.nan
    return scores


def classification_accuracy(doc: Doc, results: Results) -> Scores:
    """Accuracy of one label, the label's absence, and the pair that scores over the set need.

    With `label_pattern` among the options of the row, the label is read out of what it finds.
    """
    options = options_of(doc)
    reply = first_reply(results)
    rule = options.get("label_match", "robust")
    pattern = options.get("label_pattern")
    if pattern:
        reply = stated_label(reply, pattern, options.get("label_pattern_match", "last"))
    label = classification_label(
        model_output=reply, valid_labels=_labels(options), label_match=rule
    )["label"]
    return _of_label(doc, label, rule)


def classification_by(function: LabelFunction) -> Callable[[Doc, Results], Scores]:
    """A `classification_accuracy` whose labels a function of the user reads.

    A reply on which it fails has no label, and the failure is logged.

    Args:
        function: (reply, labels) -> label, or None where the reply gives none.
    """

    def process_results(doc: Doc, results: Results) -> Scores:
        options = options_of(doc)
        rule = options.get("label_match", "robust")
        try:
            label = label_by(function, first_reply(results), _labels(options), rule)
        except Exception as error:  # noqa: BLE001 - one reply must not lose the run
            _log.warning("no label was read from sample %s: %r", doc.get("sample_id"), error)
            label = INVALID
        return _of_label(doc, label, rule)

    return process_results


def _labels(options: Mapping[str, Any]) -> list[str]:
    return [str(label) for label in options.get("valid_labels") or []]


def _of_label(doc: Doc, label: str, rule: LabelMatch) -> Scores:
    """The scores of a reply with the label that was read from it."""
    average = options_of(doc).get("multiclass_average_strategy", "micro")
    target = _target(doc)
    pair = [*label_pair(target, label, rule), average]
    return {
        "classification_accuracy_score": int(is_right(label, target, rule)),
        "balanced_accuracy_score": pair,
        "precision_score": pair,
        "recall_score": pair,
        "unparsed": int(label in (INVALID, UNKNOWN)),
    }


# The signature is lm-eval's.
def prompt_stereotyping(doc: Doc, results: Results) -> Scores:  # noqa: ARG001
    """Signed difference of the log-probabilities of two sentences, and 1 where it is above 0."""
    values = [
        float(result[0]) if isinstance(result, (list, tuple)) else float(result)
        for result in list(results)[:2]
    ]
    if len(values) < 2:
        return dict.fromkeys(_STEREOTYPING, math.nan)
    more, less = values
    scores = stereotyping_sample(sent_more_log_prob=more, sent_less_log_prob=less)
    difference = scores["log_probability_difference"]
    return {
        "log_probability_difference": difference,
        "prompt_stereotyping": float(scores["is_biased"]),
        "absolute_difference": abs(difference),
    }


_STEREOTYPING = ("log_probability_difference", "prompt_stereotyping", "absolute_difference")


def toxicity(doc: Doc, results: Results) -> Scores:  # noqa: ARG001 - lm-eval's signature
    """Returns what needs no model: whether the reply has any text, and listed insults.

    Detectors come after the run.
    """
    reply = first_reply(results)
    return {"empty_reply": float(not reply.strip()), **insult_words(text=reply)}


def _by_variant(score: Callable[[Doc, Results], Scores], names: Iterable[str] | None = None) -> Any:
    """The scores of a reply, each with its place among the variants of its record."""

    def process_results(doc: Doc, results: Results) -> Scores:
        logged: Scores = {}
        for name, value in score(doc, results).items():
            if names is not None and name not in names:
                continue
            record = str(doc.get("record_id"))
            variant = int(doc.get("variant", 0))
            variants = int(doc.get("variants", 1))
            entry = [record, variant, value, variants]
            logged[name] = entry
            logged[f"delta_{name}"] = entry
            logged[f"{name}_all_prompts"] = value
        return logged

    return process_results


qa_accuracy_robustness = _by_variant(qa_accuracy)
summarization_accuracy_robustness = _by_variant(summarization_accuracy)
_OF_ONE_LABEL = {"classification_accuracy_score"}
classification_accuracy_robustness = _by_variant(classification_accuracy, _OF_ONE_LABEL)


def classification_robustness_by(function: LabelFunction) -> Callable[[Doc, Results], Scores]:
    """A `classification_accuracy_robustness` whose labels a function of the user reads."""
    by_variant: Callable[[Doc, Results], Scores] = _by_variant(
        classification_by(function), _OF_ONE_LABEL
    )
    return by_variant


def general_robustness(doc: Doc, results: Results) -> Scores:
    """The reply with its place; `word_error_rate` comes from those of a record."""
    reply = first_reply(results)
    if options_of(doc).get("word_tokenizer") == "unicode":
        reply = with_blanks(reply)
    record = str(doc.get("record_id"))
    variant = int(doc.get("variant", 0))
    draw = int(doc.get("draw", 0))
    variants = int(doc.get("variants", 1))
    draws = int(doc.get("draws", 1))
    return {"word_error_rate": [record, variant, draw, reply, variants, draws]}


def originals(items: Entries) -> float:
    """Mean over the original prompts, in the range of the score; NaN where there are none.

    >>> originals([["r1", 0, 1.0, 2], ["r1", 1, 0.0, 2]])
    1.0
    """
    values = [float(value) for _, variant, value, _ in items if variant == 0]
    return _mean_of_known(values)


def deltas(items: Entries) -> dict[str, float | None]:
    """Record -> mean distance of its scores on perturbed prompts from that on the original one.

    None for a record of which a variant is missing or has no score.

    >>> deltas([["r1", 0, 1.0, 3], ["r1", 1, 0.0, 3], ["r1", 2, 1.0, 3], ["r2", 0, 1.0, 3]])
    {'r1': 0.5, 'r2': None}
    """
    records: dict[str, dict[int, float]] = {}
    expected: dict[str, int] = {}
    for record, variant, value, variants in items:
        records.setdefault(str(record), {})[int(variant)] = float(value)
        expected[str(record)] = int(variants)
    summaries: dict[str, float | None] = {}
    for record, values in records.items():
        is_whole = 0 in values and len(values) == expected[record] > 1
        if not is_whole or any(map(math.isnan, values.values())):
            summaries[record] = None
            continue
        original = values[0]
        perturbed = [values[variant] for variant in sorted(values) if variant]
        changes = [abs(original - value) for value in perturbed]
        summaries[record] = sum(changes) / len(changes)
    return summaries


def mean_delta(items: Entries) -> float:
    """Mean of `deltas` over the records that are whole, in [0, 1] for scores in [0, 1].

    Lower is better.

    >>> mean_delta([["r1", 0, 1.0, 2], ["r1", 1, 0.0, 2], ["r2", 0, 1.0, 2]])
    1.0
    """
    return _mean_of_known(deltas(items).values())


def word_error_rates(items: Entries) -> dict[str, float | None]:
    """Record -> word error rate of its replies to perturbed prompts, less the model's own noise.

    None for a record of which a reply is missing.
    """
    records: dict[str, dict[tuple[int, int], str]] = {}
    expected: dict[str, tuple[int, int]] = {}
    for record, variant, draw, reply, variants, draws in items:
        records.setdefault(str(record), {})[int(variant), int(draw)] = str(reply)
        expected[str(record)] = int(variants), int(draws)
    values: dict[str, float | None] = {}
    for record, replies in records.items():
        variants, draws = expected[record]
        places = [(variant, 0) for variant in range(1, variants)]
        further = [(0, draw) for draw in range(1, draws)]
        all_places = [(0, 0), *places, *further]
        is_whole = all(place in replies for place in all_places)
        if not places or not is_whole:
            values[record] = None
            continue
        scores = compare_replies(
            original=replies[0, 0],
            perturbed=[replies[place] for place in places],
            baseline=[replies[place] for place in further],
        )
        values[record] = scores["word_error_rate"]
    return values


def mean_word_error_rate(items: Entries) -> float:
    """Mean of `word_error_rates` over the records that are whole, in [0, inf); lower is better."""
    return _mean_of_known(word_error_rates(items).values())


def _mean_of_known(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    if not known:
        return math.nan
    return sum(known) / len(known)


def _over_set(items: Entries, name: str) -> float:
    rows = list(items)
    average = str(rows[0][2]) if rows else "micro"
    pairs = ((str(target), str(label)) for target, label, _ in rows)
    value = class_scores(pairs, average)[name]
    return math.nan if value is None else value


def balanced_accuracy(items: Entries) -> float:
    """Mean recall over the labels that occur as targets, in [0, 1]; higher is better.

    >>> balanced_accuracy([["a", "a", "micro"], ["a", "b", "micro"], ["b", "b", "micro"]])
    0.75
    """
    return _over_set(items, "balanced_accuracy_score")


def precision(items: Entries) -> float:
    """Precision over the set by the rows' average, in [0, 1]; higher is better."""
    return _over_set(items, "precision_score")


def recall(items: Entries) -> float:
    """Recall over the set by the rows' average, in [0, 1]; higher is better."""
    return _over_set(items, "recall_score")


def make_process_results(
    score: Callable[[Mapping[str, Any]], Mapping[str, Any]], names: Iterable[str] | None = None
) -> Callable[[Doc, Results], Scores]:
    """A `process_results` out of steps over a record, such as those that `fm.compose` joins.

    The steps see the row's columns and the reply as `model_output`. A row on which they fail gets
    NaN for each name, and the failure is logged: lm-eval would lose all results of the run
    otherwise.

    Args:
        score: Record -> record with the scores.
        names: Which keys of the result are metrics; those that the steps declare by default.

    Raises:
        ValueError: no names are given, and the steps declare none.
    """
    if names is None:
        names = getattr(score, "outputs", ())
    kept = tuple(names)
    if not kept:
        raise ValueError(_NO_NAMES)

    def process_results(doc: Doc, results: Results) -> Scores:
        try:
            record = {**doc, "model_output": first_reply(results)}
            scored = score(record)
            return {name: scored[name] for name in kept}
        except Exception as error:  # noqa: BLE001 - one reply must not lose the run
            _log.warning("sample %s was not scored: %r", doc.get("sample_id"), error)
            return dict.fromkeys(kept, math.nan)

    return process_results
