"""Scores of a classification over a whole set: balanced accuracy, precision, recall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from custom_metrics.fm.classification import (
    LabelMatch,
    classification_label,
    is_right,
    same_label,
    true_label,
)

Average = Literal["micro", "macro", "weighted"]
AVERAGES: tuple[Average, ...] = ("micro", "macro", "weighted")
NAMES = (
    "classification_accuracy_score",
    "balanced_accuracy_score",
    "precision_score",
    "recall_score",
)


def class_scores(
    pairs: Iterable[tuple[str, str]], average: str = "micro"
) -> dict[str, float | None]:
    """Compares true and predicted labels over a set, as scikit-learn does.

    Balanced accuracy is the mean recall over the classes that occur among the targets. Precision
    and recall are averaged over all classes that occur anywhere, "no label found" among them: by
    counts (`micro`, which equals accuracy here), alike (`macro`) or by their number of targets
    (`weighted`). A class that was never predicted has precision 0, one that is no target has recall
    0.

    Args:
        pairs: Target and predicted label of each row.
        average: `micro`, `macro` or `weighted`.

    Returns:
        `balanced_accuracy_score`, `precision_score` and `recall_score` in [0, 1]; None for no rows;
        higher is better.

    Raises:
        ValueError: the average is another. `binary` and `samples` do not fit labels that are texts,
            and an array per class is no score.

    >>> class_scores([("a", "a"), ("a", "b"), ("b", "b")])["balanced_accuracy_score"]
    0.75
    """
    return class_scores_of_counts(Counter(pairs), average)


def class_scores_of_counts(
    counted: Mapping[tuple[str, str], int], average: str = "micro"
) -> dict[str, float | None]:
    """`class_scores` of pairs that are given by their numbers, as a bootstrap draws them."""
    if average not in AVERAGES:
        raise ValueError(
            f"multiclass_average_strategy is {average!r}, "
            f"allowed for labels are {', '.join(AVERAGES)}"
        )
    counted = {pair: number for pair, number in counted.items() if number}
    if not counted:
        return dict.fromkeys(NAMES[1:])
    of_target, of_predicted, hits = _counts_by_label(counted)
    recalls = [hits[label] / number for label, number in of_target.items()]
    balanced = sum(recalls) / len(recalls)
    if average == "micro":
        # Every row has one target and one prediction: precision and recall are the share right.
        precision = recall = hits.total() / of_target.total()
    else:
        classes = sorted(of_target | of_predicted)
        weights = {label: of_target[label] if average == "weighted" else 1 for label in classes}
        precision = _averaged(hits, of_predicted, weights)
        recall = _averaged(hits, of_target, weights)
    values = (balanced, precision, recall)
    return dict(zip(NAMES[1:], values, strict=True))


def _averaged(
    hits: Mapping[str, int], counts: Mapping[str, int], weights: Mapping[str, int]
) -> float:
    """The weighted mean over labels of the share of hits; 0 for a label without rows."""
    shares = (hits[label] / counts[label] if counts[label] else 0.0 for label in weights)
    products = (weight * share for weight, share in zip(weights.values(), shares, strict=True))
    return sum(products) / sum(weights.values())


def _counts_by_label(
    counted: Mapping[tuple[str, str], int],
) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """The rows by target, by prediction, and the rows of a target that are predicted right."""
    of_target: Counter[str] = Counter()
    of_predicted: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for (target, predicted), number in counted.items():
        of_target[target] += number
        of_predicted[predicted] += number
        if target == predicted:
            hits[target] += number
    return of_target, of_predicted, hits


def labels_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Distinct targets in their order: the labels where nobody names them."""
    return list(dict.fromkeys(str(row["target_output"]) for row in rows))


def label_pair(target_output: str, label: str, rule: LabelMatch) -> tuple[str, str]:
    """Target and predicted label of a row, in one spelling where `robust` takes them for one."""
    target = true_label(target_output, rule)
    return target, target if rule == "robust" and same_label(label, target) else label


def classification_dataset(
    *,
    rows: Sequence[Mapping[str, Any]],
    valid_labels: Sequence[str] | None = None,
    multiclass_average_strategy: str = "micro",
    label_match: LabelMatch = "fmeval",
) -> dict[str, Any]:
    """Scores a classification over a set and over each of its categories.

    A category's scores are computed on its rows, not averaged.

    Args:
        rows: Mappings with `target_output`, `model_output`, and `category` where there are any.
        valid_labels: The labels; without them the distinct targets.
        multiclass_average_strategy: As in `class_scores`.
        label_match: As in `fm.classification_label`.

    Returns:
        `dataset`: name -> value in [0, 1], higher is better; `categories`: category -> the same, or
            None.

    Raises:
        ValueError: the average or the rule is unknown.
    """
    labels = [str(label) for label in (valid_labels or labels_of(rows))]
    scored = []
    for row in rows:
        target = str(row["target_output"])
        output = str(row["model_output"])
        predicted = classification_label(
            model_output=output, valid_labels=labels, label_match=label_match
        )["label"]
        right = int(is_right(predicted, target, label_match))
        pair = label_pair(target, predicted, label_match)
        scored.append((row.get("category"), right, pair))
    names = dict.fromkeys(category for category, _, _ in scored if category is not None)
    categories = {}
    for name in names:
        of_category = [score for score in scored if score[0] == name]
        categories[str(name)] = _scores_over(of_category, multiclass_average_strategy)
    dataset = _scores_over(scored, multiclass_average_strategy)
    return {"dataset": dataset, "categories": categories or None}


def _scores_over(
    scored: Sequence[tuple[Any, int, tuple[str, str]]], average: str
) -> dict[str, float | None]:
    """Accuracy and class scores of rows, each its category, its accuracy and its labels."""
    accuracy = sum(right for _, right, _ in scored) / len(scored) if scored else None
    return {NAMES[0]: accuracy, **class_scores((pair for _, _, pair in scored), average)}


METRICS = {"fm.classification_dataset": classification_dataset}
