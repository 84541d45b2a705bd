"""Scores of generated texts: ROUGE against references, and whether they are language at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from custom_metrics.unlearning import by_row
from custom_metrics.unlearning import generation as formulas
from evalprep.packapi import model_folder

from .results import Inputs, Result, column, data_set, no_value, only, with_mean_interval
from .samples import Row, Rows, missing, position, replies, single

ROUGE_KEPT = ("rouge1_recall", "rougeL_f1", "rougeL_recall")
#: Classifier of OpenUnlearning's gibberish metric; it has to be on the machine already, nothing is
# fetched here.
GIBBERISH_CLASSIFIER = "madhurjindal/autonlp-Gibberish-Detector-492513457"
CLEAN_LABEL = "clean"
CLASSIFIER_BATCH = 32


def rouge(*, rows: Rows, params: Mapping[str, Any], **_: Any) -> Result:
    """ROUGE of every generation against the target, or against another column.

    Lists are averaged per row.
    """
    if empty := missing(rows):
        return empty
    reference = params.get("column")
    values: dict[str, Any] = {}
    means: dict[str, float | None] = {}
    for row in single(rows):
        index = position(row)
        scores = _rouge_row(row, reference)
        values[index] = scores
        means[index] = by_row.mean(by_row.entries(scores[params["type"]]))
    known = by_row.usable(means.values())
    without_reference = len(values) - len(known)
    result: Result = {"agg_value": by_row.mean(known)}
    result["value_by_index"] = values
    result = by_row.counted(result, no_reference=without_reference)
    if not known and reference:
        result["reason"] = f"no row has {reference}"
    return with_mean_interval(result, means, data_set(rows))


def generated(row: Row) -> str:
    """The generation of a row as it is scored: cut at the row's stop words."""
    reply = next(iter(replies(row)), "")
    scored = formulas.generation_postprocess(
        raw_generation=reply if isinstance(reply, str) else "",
        stopwords=list(row["doc"].get("stopwords") or ()),
    )
    return str(scored["generation"])


def _rouge_row(row: Row, name: str | None) -> Result:
    """One generation with its scores.

    A number each, or a list for a column of several references.
    """
    doc = row["doc"]
    generation = generated(row)
    truth = doc.get(name) if name else doc.get("target", row.get("target"))
    is_single = isinstance(truth, str)
    references = [truth] if is_single else truth or []
    stemmer = doc.get("rouge_stemmer") is not False
    scores = [
        formulas.rouge(ground_truth=reference, generation=generation, stemmer=stemmer)
        for reference in references
        if isinstance(reference, str)
    ]
    kept: Result = {}
    for kind in ROUGE_KEPT:
        values = [score[kind] for score in scores]
        kept[kind] = values[0] if is_single else values
    return {
        **kept,
        "input": doc.get("prompt", row.get("prompt")),
        "ground_truth": truth,
        "generation": generation,
    }


def gibberish(*, inputs: Inputs, params: Mapping[str, Any], **_: Any) -> Result:
    """Mean probability that a generation is clean text.

    The classifier that gives it must be on the machine.
    """
    texts = column(only(inputs), "generation")
    if not texts:
        return no_value("no generations")
    name = str(params.get("classifier", GIBBERISH_CLASSIFIER))
    if model_folder(name) is None:
        return no_value(f"the classifier is not on this machine: `hf download {name}`")
    try:
        max_length = int(params["max_length"])
        logits, labels = _classify(name, list(texts.values()), max_length)
    except (OSError, ImportError, ValueError) as error:
        cause = str(error).splitlines()[0]
        return no_value(f"the classifier {name} cannot be loaded: {cause}")
    # Class 0 in OpenUnlearning; the classifier's own names decide where they say which class it is.
    clean = next((number for number, label in labels.items() if label.lower() == CLEAN_LABEL), 0)
    logits_by_index = dict(zip(texts, logits, strict=True))
    result = formulas.classifier_prob(logits_by_index=logits_by_index, class_id=clean)
    scores = result.pop("score_by_index")
    values = {}
    for index, text in texts.items():
        values[index] = {"score": scores[index], "text": text}
    result["value_by_index"] = values
    label = labels.get(clean, "unnamed")
    result["notes"] = [f"classifier {name}, class {clean} ({label})"]
    return with_mean_interval(result, scores, data_set(inputs))


def _classify(
    name: str, texts: list[str], max_length: int
) -> tuple[list[list[float]], dict[int, str]]:
    """Logits of every text, and the classifier's class names."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    # Nothing of a model folder is executed or unpickled.
    local = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = AutoTokenizer.from_pretrained(name, **local)
    model_class = AutoModelForSequenceClassification
    model = model_class.from_pretrained(name, use_safetensors=True, **local)
    model = model.eval()
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
    names = model.config.id2label
    labels = {int(number): str(label) for number, label in names.items()}
    return logits, labels
