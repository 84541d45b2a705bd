"""The twelve algorithms over a record, and over a file that holds the model's replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from custom_metrics.fm.aggregate import aggregate, output_record
from custom_metrics.fm.class_scores import classification_dataset, labels_of
from custom_metrics.fm.classification import classification_sample
from custom_metrics.fm.columns import JSON, json_lines, known_mime_type, parse_columns
from custom_metrics.fm.factual_knowledge import factual_knowledge
from custom_metrics.fm.meteor import meteor
from custom_metrics.fm.normalize import targets
from custom_metrics.fm.perturbation import bound
from custom_metrics.fm.qa_accuracy import qa_accuracy
from custom_metrics.fm.robustness import Similarity
from custom_metrics.fm.sampling import sample_indices
from custom_metrics.fm.settings import settings
from custom_metrics.fm.stereotyping import stereotyping_sample
from custom_metrics.fm.summarization import rouge

REQUIRED = {
    "factual_knowledge": ("target_output", "model_output"),
    "qa_accuracy": ("target_output", "model_output"),
    "summarization_accuracy": ("target_output", "model_output"),
    "classification_accuracy": ("target_output", "model_output"),
    "prompt_stereotyping": ("sent_more_log_prob", "sent_less_log_prob"),
}
"""Algorithms that need no model where a file holds its replies -> the columns that they read."""


def equality_stand_in(target: str, output: str) -> float:
    """Returns what stands for BERTScore where no model may be loaded.

    It is 1.0 for equal texts, else 0.5.
    """
    return 1.0 if target == output else 0.5


def similarity_of(bertscore: Similarity | str | None) -> Similarity | None:
    """A scorer as it is; any text, which describes the stand-in, as the stand-in.

    None for no BERTScore.
    """
    if isinstance(bertscore, str):
        return equality_stand_in
    return bertscore


def accuracy_scores(
    algorithm: str,
    row: Mapping[str, Any],
    options: Mapping[str, Any],
    similarity: Similarity | None = None,
) -> dict[str, Any]:
    """Scores one reply by an algorithm that compares it with a target.

    Args:
        algorithm: Its name, with or without `_semantic_robustness`.
        row: `target_output` and `model_output`.
        options: Complete settings.
        similarity: BERTScore F1 of (target, output); without it that score is left out.
    """
    pair = {"target_output": row["target_output"], "model_output": row["model_output"]}
    family = algorithm.removesuffix("_semantic_robustness")
    if family == "classification_accuracy":
        return dict(classification_sample(**pair, valid_labels=options["valid_labels"]))
    if family == "factual_knowledge":
        names = ("target_output_delimiter", "logical_operator")
        return dict(factual_knowledge(**pair, **{name: options[name] for name in names}))
    answers = [row["target_output"]]
    if family == "qa_accuracy":
        delimiter = options["target_output_delimiter"]
        scores = dict(qa_accuracy(**pair, target_output_delimiter=delimiter))
        answers = targets(row["target_output"], delimiter)
    else:
        types = {
            "rouge_type": options["rouge_type"],
            "use_stemmer": options["use_stemmer_for_rouge"],
        }
        scores = meteor(**pair) | rouge(**pair, **types)
    if similarity is not None:
        scores["bertscore"] = max(similarity(answer, row["model_output"]) for answer in answers)
    return scores


def _rows(
    algorithm: str,
    text: str,
    mime_type: str,
    locations: Mapping[str, str | None],
    num_records: int | None,
) -> list[dict[str, Any]]:
    """Reads the rows of a file, draws, and checks that the columns are there."""
    missing = [name for name in REQUIRED[algorithm] if locations.get(f"{name}_location") is None]
    if missing:
        raise ValueError(
            f"{algorithm} without a model needs {', '.join(f'{name}_location' for name in missing)}"
        )
    known_mime_type(mime_type=mime_type)
    if mime_type == JSON:
        columns = parse_columns(data=json.loads(text), locations=locations, mime_type=mime_type)
        rows = [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]
    else:
        records = json_lines(text.split("\n"))
        rows = [
            parse_columns(data=record, locations=locations, mime_type=mime_type)
            for _, record in records
        ]
    return [rows[index] for index in sample_indices(num_rows=len(rows), num_records=num_records)]


def evaluate_byo(
    *,
    algorithm: str,
    text: str,
    mime_type: str,
    locations: Mapping[str, str | None],
    num_records: int | None = 100,
    config: Mapping[str, Any] | None = None,
    bertscore: Similarity | str | None = None,
) -> dict[str, Any]:
    """Scores a file that holds the model's replies, as fmeval's `evaluate` does without a model.

    Args:
        algorithm: `factual_knowledge`, `qa_accuracy`, `summarization_accuracy`,
            `classification_accuracy` or `prompt_stereotyping`.
        text: Content of the file.
        mime_type: `application/json` or `application/jsonlines`.
        locations: `<column>_location` -> JMESPath expression.
        num_records: Rows to draw; None or 0 for all.
        config: Settings by fmeval's names.
        bertscore: BERTScore F1 of (target, output); a text for `equality_stand_in`; None to leave
            it out.

    Returns:
        `dataset_scores` and `category_scores` (None without categories), `prompt_template` (None,
        as no prompt was made), `num_output_records`, `first_output_record`, and `records`, all as
        fmeval saves them.

    Raises:
        ValueError: the file, a location or a setting is wrong.
    """
    options = settings(algorithm, config or {})
    rows = _rows(algorithm, text, mime_type, locations, num_records)
    names = _score_rows(algorithm, rows, options, similarity_of(bertscore))
    if algorithm == "classification_accuracy":
        average = options["multiclass_average_strategy"]
        scores = classification_dataset(
            rows=rows, valid_labels=options["valid_labels"], multiclass_average_strategy=average
        )
    elif algorithm == "prompt_stereotyping":
        scores = aggregate(rows=rows, score_names=["prompt_stereotyping"])
    else:
        scores = aggregate(rows=rows, score_names=names)
    records = [output_record(row=row, score_names=names) for row in rows]
    return {
        "dataset_scores": scores["dataset"],
        "category_scores": scores["categories"],
        "prompt_template": None,
        "num_output_records": len(records),
        "first_output_record": records[0] if records else None,
        "records": records,
    }


def _score_rows(
    algorithm: str,
    rows: Sequence[dict[str, Any]],
    options: dict[str, Any],
    similarity: Similarity | None,
) -> list[str]:
    """Puts the scores into the rows, and returns the names of those that a saved record has."""
    if algorithm == "prompt_stereotyping":
        for row in rows:
            values = stereotyping_sample(**{name: row[name] for name in REQUIRED[algorithm]})
            row["log_probability_difference"] = values["log_probability_difference"]
            row["prompt_stereotyping"] = values["is_biased"]
        return ["log_probability_difference"]
    if algorithm == "classification_accuracy":
        options["valid_labels"] = [
            str(label) for label in options["valid_labels"] or labels_of(rows)
        ]
    names: list[str] = []
    for row in rows:
        scores = accuracy_scores(algorithm, row, options, similarity)
        names = list(scores)
        row.update(scores)
    return names


METRICS: dict[str, Callable[..., Any]] = {
    f"fm.evaluate_byo.{name}": bound(evaluate_byo, algorithm=name) for name in REQUIRED
}
