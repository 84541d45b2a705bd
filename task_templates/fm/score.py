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
from custom_metrics.fm.harness import deltas, word_error_rates
from custom_metrics.fm.robustness import above_baseline
from custom_metrics.fm.toxicity import DETOXIFY_NAMES

Sample = Mapping[str, Any]
Result = dict[str, Any]
MIN_UNITS = 2
RECORDS, SHOWN_CHARS = 5, 200
DETECTED = tuple(f"detoxify_{name}" for name in DETOXIFY_NAMES)
OF_HELPERS = ("bertscore", "toxigen_toxicity", *DETECTED)
"""Values that annotators add after the run."""


def _samples(rows: Mapping[str, Sequence[Sample]]) -> tuple[str, Sequence[Sample]]:
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
    return result | ({"interval": list(interval)} if interval else {})


def _by_category(
    units: Iterable[tuple[str | None, Any]], over: Callable[[list[Any]], Result]
) -> dict[str, Result] | None:
    """The same score over the units of each category, which is not the mean of anything."""
    values: dict[str, list[Any]] = {}
    for category, unit in units:
        if category is not None:
            values.setdefault(category, []).append(unit)
    if not values:
        return None
    return {name: over(values) for name, values in sorted(values.items())}


def _result(
    task: str,
    units: Sequence[tuple[str | None, float]],
    by_sample: Sequence[tuple[Sample, float | None]],
    skipped: Mapping[str, int],
    better: str,
) -> Result:
    """A mean with its categories, its best and worst records, and each sample's part in it.

    Args:
        task: The task.
        units: Category and value of each unit that the mean is taken over.
        by_sample: The value at each sample at which one stands.
        skipped: Reason -> how many units have no value for it.
        better: The direction of the score.
    """
    categories = _by_category(units, _mean)
    return _mean([value for _, value in units]) | {
        "skipped": {reason: count for reason, count in skipped.items() if count},
        "notes": [],
        "records": _records(by_sample, better),
        **_categories(categories),
        **_influence(task, len(units), by_sample),
    }


def _by_index(by_sample: Iterable[tuple[Sample, float | None]], name: str) -> Result:
    """The values by sample, for scores whose values the samples files do not hold."""
    values = {str(sample["index"]): {name: value} for sample, value in by_sample}
    return {"value_by_index": values}


def _influence(task: str, count: int, by_sample: Sequence[tuple[Sample, float | None]]) -> Result:
    """The values that the score is the mean of, by sample: two runs are compared by them."""
    values = [value for _, value in by_sample if value is not None]
    if len(values) < count:  # a sample cannot be named: its record has no original prompt
        return {}
    ids = [sample["sample_id"] for sample, value in by_sample if value is not None]
    return {"influence": partial(_influence_of_samples, task, ids, values)}


def _influence_of_samples(task: str, ids: Sequence[str], values: Sequence[float]) -> Any:
    keys = (f"{task}#{sample_id}" for sample_id in ids)
    return statistics.influence_of_rows(dict(zip(keys, values, strict=True)))


def _records(
    by_sample: Sequence[tuple[Sample, float | None]], better: str
) -> dict[str, list[Result]]:
    """The five best and the five worst records, none where all are alike.

    Ties go by their order.
    """
    known = [(sample, value) for sample, value in by_sample if value is not None]
    ranks = _ranks([value for _, value in known], better)
    if len(set(ranks)) < MIN_UNITS:
        return {}
    best, worst = _extremes(ranks)
    return {
        "best": [_record(*known[place]) for place in best],
        "worst": [_record(*known[place]) for place in worst],
    }


def _extremes(ranks: Sequence[float]) -> tuple[list[int], list[int]]:
    """Places of the best and of the worst ranks; none is both."""
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    least = ranks[order[0]]
    most = ranks[order[-1]]
    half = min(RECORDS, (len(order) + 1) // 2)
    from_worst = order[: half - 1 : -1][:RECORDS]
    best = [place for place in order[:half] if ranks[place] < most]
    worst = [place for place in from_worst if ranks[place] > least]
    return best, worst


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
    prompt = (
        doc.get("prompt") or " / ".join(map(str, doc.get("choices") or ())) or sample.get("prompt")
    )
    return {
        "sample_id": sample["sample_id"],
        "value": value,
        "prompt": _cut(prompt),
        "target": _cut(sample["doc"].get("target") or sample.get("target")),
        "reply": _cut(sample.get("response")),
    }


def _cut(value: Any) -> str:
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    text = "" if value is None else str(value)
    if len(text) <= SHOWN_CHARS:
        return text
    return f"{text[: SHOWN_CHARS - 1]}…"


def _categories(categories: dict[str, Result] | None) -> Result:
    if not categories:
        return {}
    return {
        "categories": categories,
        "parts": {name: category["agg_value"] for name, category in categories.items()},
    }


def mean_of(*, rows: Mapping[str, Sequence[Sample]], params: Mapping[str, Any], **_: Any) -> Result:
    """Mean of one value of each row over the rows that have it."""
    task, samples = _samples(rows)
    name = str(params["value"])
    by_sample = [(sample, _number(sample["metrics"].get(name))) for sample in samples]
    result = _mean_over_samples(task, by_sample, params)
    # Values that the scorer logged stand in the samples file; those of helper models do not.
    if name in OF_HELPERS:
        return result | _by_index(by_sample, name)
    return result


def _mean_over_samples(
    task: str, by_sample: Sequence[tuple[Sample, float | None]], params: Mapping[str, Any]
) -> Result:
    """The mean over the samples that have a value."""
    known = [(_category(sample), value) for sample, value in by_sample if value is not None]
    skipped = {"no value": len(by_sample) - len(known)}
    return _result(task, known, by_sample, skipped, str(params.get("better", "")))


def original(
    *, rows: Mapping[str, Sequence[Sample]], params: Mapping[str, Any], **_: Any
) -> Result:
    """Mean of one value over the original prompts; the perturbed ones are left out."""
    task, samples = _samples(rows)
    name = str(params["value"])
    by_sample = [
        (sample, _value_of_variant(sample, name)) for sample in samples if _is_original(sample)
    ]
    return _mean_over_samples(task, by_sample, params) | _by_index(by_sample, name)


def _is_original(sample: Sample) -> bool:
    """Tells whether a sample is the first reply to an unchanged prompt."""
    doc = sample["doc"]
    return doc.get("variant") == 0 and not doc.get("draw")


def _value_of_variant(sample: Sample, name: str) -> float | None:
    """The value of one prompt: logged with its place in the record, or as an annotation.

    Which is a plain number.
    """
    value = sample["metrics"].get(name)
    if isinstance(value, list) and len(value) == 4:
        return _number(value[2])
    return _number(value)


def delta(*, rows: Mapping[str, Sequence[Sample]], params: Mapping[str, Any], **_: Any) -> Result:
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
        items.append(
            [
                doc["record_id"],
                doc["variant"],
                math.nan if value is None else value,
                doc["variants"],
            ]
        )
    return _by_record(task, samples, deltas(items), f"delta_{name}")


def word_errors(
    *, rows: Mapping[str, Sequence[Sample]], params: Mapping[str, Any], **_: Any
) -> Result:
    """Mean over records of the word error rate of replies to perturbed prompts, less own noise."""
    task, samples = _samples(rows)
    name = str(params["value"])
    logged = [sample["metrics"].get("word_error_rate") for sample in samples]
    result = _by_record(
        task, samples, word_error_rates(entry for entry in logged if isinstance(entry, list)), name
    )
    return result | {"notes": [*_sampling_notes(samples), *_empty_notes(logged)]}


def _empty_notes(logged: Sequence[Any]) -> list[str]:
    """Returns how many replies are empty: those of a model that says nothing never differ."""
    empty = sum(isinstance(entry, list) and not str(entry[3]).strip() for entry in logged)
    if empty:
        return [f"{empty} of {len(logged)} replies are empty; two empty replies count as equal"]
    return []


def dissimilarity(
    *, rows: Mapping[str, Sequence[Sample]], params: Mapping[str, Any], **_: Any
) -> Result:
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
        value = _number(sample["metrics"].get("bertscore"))
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
    if any(place not in values for place in [*perturbed_places, *draw_places]):
        return None
    similarity = sum(values[place] for place in perturbed_places) / len(perturbed_places)
    perturbed = 1 - similarity
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
    return _result(task, known, by_sample, skipped, "down") | _by_index(by_sample, name)


def _sampling_notes(samples: Sequence[Sample]) -> list[str]:
    """Returns whether a model that was to sample did.

    Replies to one prompt that are all equal measure nothing.
    """
    draws: dict[str, list[str]] = {}
    for sample in samples:
        doc = sample["doc"]
        if doc.get("variant") == 0 and (doc.get("draws") or 1) > 1:
            draws.setdefault(str(doc["record_id"]), []).append(_logged_reply(sample))
    several = [replies for replies in draws.values() if len(replies) > 1]
    if several and all(len(set(replies)) == 1 for replies in several):
        return [
            "deterministic: all replies to one unchanged prompt are equal, so nothing was taken off"
        ]
    return []


def _logged_reply(sample: Sample) -> str:
    logged = sample["metrics"].get("word_error_rate")
    return str(logged[3]) if isinstance(logged, list) else ""


def over_set(
    *, rows: Mapping[str, Sequence[Sample]], params: Mapping[str, Any], **_: Any
) -> Result:
    """A score over all (target, label) pairs, with a bootstrap interval.

    By category over the rows of each.
    """
    _task, samples = _samples(rows)
    name = str(params["value"])
    units: list[tuple[str | None, list[Any]]] = []
    for sample in samples:
        pair = sample["metrics"].get(name)
        if isinstance(pair, list) and len(pair) == 3:
            units.append((_category(sample), pair))
    skipped = len(samples) - len(units)
    result = _set_score([pair for _category_name, pair in units], name)
    result["skipped"] = {"no label": skipped} if skipped else {}
    by_category = _by_category(units, lambda pairs: _set_score(pairs, name))
    return result | _categories(by_category)


def _set_score(pairs: Sequence[Sequence[Any]], name: str) -> Result:
    if not pairs:
        return {"agg_value": None, "n": 0, "reason": "no row has a label"}
    average = str(pairs[0][2])
    labels = [(str(target), str(label)) for target, label, _ in pairs]
    value = class_scores(labels, average)[name]
    result: Result = {"agg_value": value, "n": len(pairs)}
    is_share_of_rows = average == "micro" and name != "balanced_accuracy_score"
    if is_share_of_rows and value is not None:
        low, high = statistics.proportion_interval(value, len(pairs))
        return result | {"interval": [low, high]}
    return result | _bootstrap(labels, average, name)


def _bootstrap(
    labels: Sequence[tuple[str, str]], average: str, name: str, draws: int = 1000
) -> Result:
    """Percentile interval over resampled rows.

    1,000 draws of the counts of each (target, label) pair, seed 0.
    """
    import numpy as np

    counted = Counter(labels)
    if len(labels) < MIN_UNITS or len(counted) < MIN_UNITS:
        return {}
    kinds = list(counted)
    shares = np.array([counted[kind] for kind in kinds]) / len(labels)
    resampled = np.random.default_rng(0).multinomial(len(labels), shares, size=draws)
    values = [
        class_scores_of_counts(dict(zip(kinds, row.tolist(), strict=True)), average)[name]
        for row in resampled
    ]
    known = [value for value in values if value is not None]
    low, high = np.quantile(known, [0.025, 0.975])
    if low < high:
        return {"interval": [float(low), float(high)]}
    return {}
