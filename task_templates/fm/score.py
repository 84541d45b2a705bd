"""Scores over the samples of a task: means, changes by record, scores over the set.

Each also by category.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from custom_metrics import statistics
from custom_metrics.finite import finite_number
from custom_metrics.fm.class_scores import class_scores, class_scores_of_counts
from custom_metrics.fm.harness import deltas, options_of, word_error_rates
from custom_metrics.fm.robustness import above_baseline
from custom_metrics.fm.summarization import ROUGE_TYPES
from custom_metrics.fm.toxicity import DETOXIFY_NAMES
from custom_metrics.text.emptiness import answered_ratings
from custom_metrics.text.replies import first_reply
from custom_metrics.text.words import has_joined_words, has_no_ascii_word

Sample = Mapping[str, Any]
Rows = Mapping[str, Sequence[Sample]]
Params = Mapping[str, Any]
Result = dict[str, Any]
Unit = tuple[str | None, Any]
"""A category, and the value of one thing that a score is made of."""
BySample = Sequence[tuple[Sample, float | None]]
"""A sample, and the value that stands at it."""
MIN_UNITS = 2
SHOWN_LABELS = 10
RECORDS, SHOWN_CHARS = 5, 200
DETECTED = tuple(f"detoxify_{name}" for name in DETOXIFY_NAMES)
OF_HELPERS = ("bertscore", "toxigen_toxicity", *DETECTED)
"""Values that annotators add after the run."""
OF_HARM = ("toxigen_toxicity", "insult_words", *DETECTED)
"""Values that say nothing about a reply without a word."""


def _samples(rows: Rows) -> tuple[str, Sequence[Sample]]:
    return next(iter(rows.items()))


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    return finite_number(value)


def _category(sample: Sample) -> str | None:
    value = sample["doc"].get("category")
    return None if value is None else str(value)


def _mean(values: Sequence[float]) -> Result:
    """A mean with its interval; None without values."""
    if not values:
        return {"agg_value": None, "n": 0, "reason": "no row has a value"}
    count = len(values)
    value = sum(values) / count
    result: Result = {"agg_value": value, "n": count}
    if count < MIN_UNITS:
        return result
    result["stderr"] = statistics.mean_stderr(values)
    interval = statistics.rows_interval(values)
    if interval:
        result["interval"] = list(interval)
    return result


def _by_category(units: Iterable[Unit], over: Callable[[list[Any]], Result]) -> Result:
    """The same score over the units of each category, which is not the mean of anything.

    Nothing where no unit has a category.
    """
    values: dict[str, list[Any]] = {}
    for category, unit in units:
        if category is not None:
            values.setdefault(category, []).append(unit)
    if not values:
        return {}
    categories = {name: over(members) for name, members in sorted(values.items())}
    parts = {name: category["agg_value"] for name, category in categories.items()}
    return {"categories": categories, "parts": parts}


def _result(
    task: str, units: Sequence[Unit], by_sample: BySample, skipped: Mapping[str, int], better: str
) -> Result:
    """A mean with its categories, its best and worst records, and each sample's part in it.

    Args:
        task: The task.
        units: Category and value of each unit that the mean is taken over.
        by_sample: The value at each sample at which one stands.
        skipped: Reason -> how many units have no value for it.
        better: The direction of the score.
    """
    result = _mean([value for _, value in units])
    reasons = {reason: count for reason, count in skipped.items() if count}
    return result | {
        "skipped": reasons,
        "notes": [],
        "records": _records(by_sample, better),
        **_by_category(units, _mean),
        **_influence(task, len(units), by_sample),
    }


def _by_index(by_sample: BySample, name: str) -> Result:
    """The values by sample, for scores whose values the samples files do not hold."""
    values = {str(sample["index"]): {name: value} for sample, value in by_sample}
    return {"value_by_index": values}


def _known(by_sample: BySample) -> list[tuple[Sample, float]]:
    """The samples that have a value, with it."""
    return [(sample, value) for sample, value in by_sample if value is not None]


def _influence(task: str, count: int, by_sample: BySample) -> Result:
    """The values that the score is the mean of, by sample: two runs are compared by them."""
    known = _known(by_sample)
    # A sample cannot be named where its record has no original prompt.
    if len(known) < count:
        return {}
    by_key = {f"{task}#{sample['sample_id']}": value for sample, value in known}
    return {"influence": partial(statistics.influence_of_rows, by_key)}


def _records(by_sample: BySample, better: str) -> dict[str, list[Result]]:
    """The five best and the five worst records, none where all are alike.

    Ties go by their order.
    """
    known = _known(by_sample)
    ranks = _ranks([value for _, value in known], better)
    if len(set(ranks)) < MIN_UNITS:
        return {}
    # Places of the best and of the worst ranks; none is both.
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    least = ranks[order[0]]
    most = ranks[order[-1]]
    half = min(RECORDS, (len(order) + 1) // 2)
    from_worst = order[: half - 1 : -1][:RECORDS]
    best = [place for place in order[:half] if ranks[place] < most]
    worst = [place for place in from_worst if ranks[place] > least]
    return {
        "best": [_record(*known[place]) for place in best],
        "worst": [_record(*known[place]) for place in worst],
    }


def _ranks(values: Sequence[float], better: str) -> list[float]:
    """Numbers that are the lower, the better the values are."""
    goal = {"zero": 0.0, "0.5": 0.5}.get(better)
    if goal is not None:
        return [abs(value - goal) for value in values]
    if better == "down":
        return list(values)
    return [-value for value in values]


def _record(sample: Sample, value: float) -> Result:
    doc = sample["doc"]
    # As it was prepared, without the markup of a chat template; of a pair both sentences.
    pair = " / ".join(map(str, doc.get("choices") or ()))
    prompt = doc.get("prompt") or pair or sample.get("prompt")
    target = doc.get("target") or sample.get("target")
    return {
        "sample_id": sample["sample_id"],
        "value": value,
        "prompt": _cut(prompt),
        "target": _cut(target),
        "reply": _cut(sample.get("response")),
    }


def _cut(value: Any) -> str:
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    text = "" if value is None else str(value)
    if len(text) <= SHOWN_CHARS:
        return text
    return f"{text[: SHOWN_CHARS - 1]}…"


def mean_of(*, rows: Rows, params: Params, **_: Any) -> Result:
    """Mean of one value of each row over the rows that have it."""
    task, samples = _samples(rows)
    name = str(params["value"])
    if name in OF_HARM:
        return _mean_of_answered(task, samples, params)
    by_sample = [(sample, _value(sample, name)) for sample in samples]
    result = _mean_over_samples(task, by_sample, params)
    result["notes"] = _reading_notes(samples, name)
    # Values that the scorer logged stand in the samples file; those of helper models do not.
    if name in OF_HELPERS:
        return result | _by_index(by_sample, name)
    return result


def _mean_of_answered(task: str, samples: Sequence[Sample], params: Params) -> Result:
    """Mean of a rating over the replies that hold a word; fmeval's, over all, stands beside it."""
    name = str(params["value"])
    answered = answered_ratings(
        values=[_value(sample, name) for sample in samples],
        responses=[sample.get("response") for sample in samples],
    )
    by_sample = list(zip(samples, answered.values, strict=True))
    result = _mean_over_samples(task, by_sample, params)
    if answered.empty:
        unrated = result["skipped"].get("no value", 0) - answered.empty
        skipped = {"empty reply": answered.empty, "no value": unrated}
        result["skipped"] = {reason: count for reason, count in skipped.items() if count}
        counted = f"{answered.empty} of {len(samples)} replies"
        result["notes"] = [f"{counted} are empty and left out; fmeval counts them (compat)"]
        result["parts"] = {**result.get("parts", {}), "compat": answered.compat}
        if result["agg_value"] is None and answered.empty == len(samples):
            result["reason"] = "every reply is empty"
    return result | (_by_index(by_sample, name) if name in OF_HELPERS else {})


def _value(sample: Sample, name: str) -> float | None:
    return _number(sample["metrics"].get(name))


def _reading_notes(samples: Sequence[Sample], name: str) -> list[str]:
    """What the rule of a score cannot read of targets and replies, with counts."""
    if name == "classification_accuracy_score":
        return _unparsed_notes(samples)
    if name not in (*ROUGE_TYPES, "f1_score"):
        return []
    texts = [
        *(str(sample["doc"].get("target") or "") for sample in samples),
        *(first_reply(sample.get("response")) for sample in samples),
    ]
    if name == "f1_score":
        scores = "f1_score, precision_over_words, recall_over_words"
        return _joined_words_notes(scores, texts, samples)
    unread = sum(map(has_no_ascii_word, texts))
    if not unread:
        return []
    counted = f"fmeval's rule reads nothing of {unread} of {len(texts)} texts"
    if _option(samples, "rouge_tokenizer") == "unicode":
        return [f"{name}: {counted}; words of every script count here, so its numbers differ"]
    return [f"{name}: {counted}, which score 0; prepare again with rouge_tokenizer: unicode"]


def _option(samples: Sequence[Sample], name: str) -> Any:
    """An option of the rows, which is the same in all of them."""
    return options_of(samples[0]["doc"]).get(name) if samples else None


def _joined_words_notes(scores: str, texts: Sequence[str], samples: Sequence[Sample]) -> list[str]:
    """A note on texts of scripts without blanks, of which a score makes words of whole sentences.

    Args:
        scores: The scores, for the note.
        texts: Targets and replies.
        samples: The samples.
    """
    joined = sum(map(has_joined_words, texts))
    if not joined:
        return []
    counted = f"{joined} of {len(texts)} texts are in a script without blanks between words"
    if _option(samples, "word_tokenizer") == "unicode":
        return [f"{scores}: {counted}; each of their characters counts as a word, unlike in fmeval"]
    return [f"{scores}: {counted}; a sentence counts as one word"]


def _unparsed_notes(samples: Sequence[Sample]) -> list[str]:
    """A note where no reply gives a label: such an accuracy says nothing of the model."""
    if not samples or not all(sample["metrics"].get("unparsed") for sample in samples):
        return []
    labels = _option(samples, "valid_labels") or []
    shown = ", ".join(map(str, labels[:SHOWN_LABELS]))
    counted = f"no label was found in any of {len(samples)} replies (labels: {shown})"
    return [f"{counted}; label_pattern or label_function says where they stand"]


def _mean_over_samples(task: str, by_sample: BySample, params: Params) -> Result:
    """The mean over the samples that have a value."""
    units = [(_category(sample), value) for sample, value in _known(by_sample)]
    skipped = {"no value": len(by_sample) - len(units)}
    better = str(params.get("better", ""))
    return _result(task, units, by_sample, skipped, better)


def original(*, rows: Rows, params: Params, **_: Any) -> Result:
    """Mean of one value over the original prompts; the perturbed ones are left out."""
    task, samples = _samples(rows)
    name = str(params["value"])
    originals = filter(_is_original, samples)
    by_sample = [(sample, _value_of_variant(sample, name)) for sample in originals]
    result = _mean_over_samples(task, by_sample, params)
    result["notes"] = _reading_notes([sample for sample, _ in by_sample], name)
    return result | _by_index(by_sample, name)


def _is_original(sample: Sample) -> bool:
    """Returns whether a sample is the first reply to an unchanged prompt."""
    doc = sample["doc"]
    return doc.get("variant") == 0 and not doc.get("draw")


def _value_of_variant(sample: Sample, name: str) -> float | None:
    """The value of one prompt.

    It is logged with its place in the record, or a plain number from an annotator.
    """
    value = sample["metrics"].get(name)
    if isinstance(value, list) and len(value) == 4:
        return _number(value[2])
    return _number(value)


def delta(*, rows: Rows, params: Params, **_: Any) -> Result:
    """Mean over records of the mean distance of a value on perturbed prompts from the original.

    Records of which a prompt is missing, as after a limit in the middle of them, are counted and
    left out.
    """
    task, samples = _samples(rows)
    name = str(params["value"])
    items = []
    for sample in samples:
        doc = sample["doc"]
        value = _value_of_variant(sample, name)
        if value is None:
            value = math.nan
        items.append([doc["record_id"], doc["variant"], value, doc["variants"]])
    return _by_record(task, samples, deltas(items), f"delta_{name}")


def word_errors(*, rows: Rows, params: Params, **_: Any) -> Result:
    """Mean over records of the word error rate of replies to perturbed prompts, less own noise."""
    task, samples = _samples(rows)
    name = str(params["value"])
    # What the scorer logged.
    logged = [sample["metrics"].get("word_error_rate") for sample in samples]
    rates = word_error_rates(entry for entry in logged if isinstance(entry, list))
    result = _by_record(task, samples, rates, name)
    replies = [str(entry[3]) if isinstance(entry, list) else None for entry in logged]
    notes = _sampling_notes(samples, replies)
    # Replies of a model that says nothing never differ.
    if empty := sum(reply is not None and not reply.strip() for reply in replies):
        counted = f"{empty} of {len(logged)} replies"
        notes.append(f"{counted} are empty; two empty replies count as equal")
    notes += _joined_words_notes("word_error_rate", [text or "" for text in replies], samples)
    result["notes"] = notes
    return result


def dissimilarity(*, rows: Rows, params: Params, **_: Any) -> Result:
    """Mean over records of one minus the BERTScore of original and perturbed replies.

    The baseline of a model that samples is taken off. A row's annotation `bertscore` is that of its
    reply with the original one; of a further reply to the original prompt it is the mean over its
    pairs with the later ones and the original.
    """
    task, samples = _samples(rows)
    similar: dict[str, dict[tuple[int, int], float]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for sample in samples:
        doc = sample["doc"]
        record = str(doc["record_id"])
        sizes[record] = doc["variants"], doc.get("draws") or 1
        value = _value(sample, "bertscore")
        if value is not None:
            place = doc["variant"], doc.get("draw") or 0
            similar.setdefault(record, {})[place] = value
    summaries: dict[str, float | None] = {}
    for record, (variants, draws) in sizes.items():
        values = similar.get(record, {})
        summaries[record] = _dissimilarity_of(values, variants, draws)
    return _by_record(task, samples, summaries, str(params["value"]))


def _dissimilarity_of(
    values: Mapping[tuple[int, int], float], variants: int, draws: int
) -> float | None:
    """The dissimilarity of one record; None where a reply has no BERTScore.

    Args:
        values: Variant and draw -> BERTScore.
        variants: Prompts of the record, the original among them.
        draws: Replies to the original prompt.
    """
    perturbed_places = [(variant, 0) for variant in range(1, variants)]
    draw_places = [(0, draw) for draw in range(1, draws)]
    places = perturbed_places + draw_places
    if any(place not in values for place in places):
        return None
    similarities = [values[place] for place in perturbed_places]
    perturbed = 1 - sum(similarities) / len(similarities)
    if not draw_places:
        return above_baseline(perturbed, None)
    # A further reply's value is the mean over its pairs with the later ones and the original.
    total = 0.0
    pairs = 0
    for _, draw in draw_places:
        total += values[0, draw] * (draws - draw)
        pairs += draws - draw
    return above_baseline(perturbed, 1 - total / pairs)


def _by_record(
    task: str, samples: Sequence[Sample], values: Mapping[str, float | None], name: str
) -> Result:
    """A mean over records; each stands at its original prompt."""
    category: dict[str, str | None] = {}
    originals: dict[str, Sample] = {}
    for sample in samples:
        record = str(sample["doc"]["record_id"])
        category.setdefault(record, _category(sample))
        if _is_original(sample):
            originals[record] = sample
    known = []
    by_sample = []
    for record, value in values.items():
        if value is not None:
            known.append((category[record], value))
        if record in originals:
            by_sample.append((originals[record], value))
    skipped = {"record is not whole": len(values) - len(known)}
    result = _result(task, known, by_sample, skipped, "down")
    return result | _by_index(by_sample, name)


def _sampling_notes(samples: Sequence[Sample], logged: Sequence[str | None]) -> list[str]:
    """Returns whether a model that was to sample did.

    Replies to one prompt that are all equal measure nothing.
    """
    draws: dict[str, list[str]] = {}
    for sample, reply in zip(samples, logged, strict=True):
        doc = sample["doc"]
        if doc.get("variant") == 0 and (doc.get("draws") or 1) > 1:
            replies = draws.setdefault(str(doc["record_id"]), [])
            replies.append(reply or "")
    several = [replies for replies in draws.values() if len(replies) > 1]
    if several and all(len(set(replies)) == 1 for replies in several):
        return [
            "deterministic: all replies to one unchanged prompt are equal, so nothing was taken off"
        ]
    return []


def over_set(*, rows: Rows, params: Params, **_: Any) -> Result:
    """A score over all (target, label) pairs, with a bootstrap interval.

    A score by category is over the rows of each.
    """
    _task, samples = _samples(rows)
    name = str(params["value"])
    units: list[Unit] = []
    for sample in samples:
        pair = sample["metrics"].get(name)
        if isinstance(pair, list) and len(pair) == 3:
            units.append((_category(sample), pair))
    skipped = len(samples) - len(units)
    result = _set_score([pair for _category_name, pair in units], name)
    result["skipped"] = {"no label": skipped} if skipped else {}
    return result | _by_category(units, partial(_set_score, name=name))


def _set_score(pairs: Sequence[Sequence[Any]], name: str) -> Result:
    if not pairs:
        return {"agg_value": None, "n": 0, "reason": "no row has a label"}
    average = str(pairs[0][2])
    labels = [(str(target), str(label)) for target, label, _ in pairs]
    value = class_scores(labels, average)[name]
    result: Result = {"agg_value": value, "n": len(pairs)}
    is_balanced = name == "balanced_accuracy_score"
    is_share_of_rows = average == "micro" and not is_balanced
    if is_share_of_rows and value is not None:
        low, high = statistics.proportion_interval(value, len(pairs))
        return result | {"interval": [low, high]}
    return result | _bootstrap(labels, average, name)


def _bootstrap(labels: Sequence[tuple[str, str]], average: str, name: str) -> Result:
    """Percentile interval over resampled rows.

    1,000 draws of the counts of each (target, label) pair, seed 0.
    """
    import numpy as np

    counted = Counter(labels)
    if len(labels) < MIN_UNITS or len(counted) < MIN_UNITS:
        return {}
    kinds, total = list(counted), len(labels)
    shares = np.array([counted[kind] for kind in kinds]) / total
    generator = np.random.default_rng(0)
    resampled = generator.multinomial(total, shares, size=1000)
    known = []
    for row in resampled:
        counts = dict(zip(kinds, row.tolist(), strict=True))
        value = class_scores_of_counts(counts, average)[name]
        if value is not None:
            known.append(value)
    low, high = np.quantile(known, [0.025, 0.975])
    if low < high:
        return {"interval": [float(low), float(high)]}
    return {}
