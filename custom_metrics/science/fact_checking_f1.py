"""F1 of verdicts and evidence (scifact_entailment)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from custom_metrics.science.mode import CORRECTED, is_compat
from custom_metrics.science.normalize import (
    FAULTY,
    MENDED,
    Counts,
    add,
    flatten,
    parse_shares,
    precision_recall_f1,
    tokens,
)

_PARTS = {"label": "label", "evidence_sent": "sentence", "evidence_tok": "token"}


def readable_sentences(evidence: Any) -> list[str] | None:
    """Sentences that a prediction gives as evidence, None where it gives nothing usable.

    One string is one sentence. A list is flattened and keeps its strings; a list of other things
    only, a number or an object is no evidence.

    >>> [readable_sentences(evidence) for evidence in ("Mice lived.", [["a"], 3], [3], [])]
    [['Mice lived.'], ['a'], None, []]
    """
    if isinstance(evidence, str):
        return [evidence]
    if not isinstance(evidence, list):
        return None
    leaves = flatten(evidence)
    sentences = [leaf for leaf in leaves if isinstance(leaf, str)]
    return sentences if sentences or not leaves else None


def given_sentences(evidence: Any, mode: str) -> tuple[list[Any] | None, Counts]:
    """Sentences of a prediction's evidence under a mode, and how many parts were faulty.

    None in place of the sentences where there is no evidence.

    Raises:
        TypeError: the original's rule for a part that cannot be iterated.
    """
    counts: Counts = {FAULTY: 0, MENDED: 0}
    if evidence is None:
        return None, counts
    if isinstance(evidence, str):
        if is_compat(mode, "lone_text"):
            return list(evidence), counts
        return [evidence], counts | {MENDED: 1}
    if is_compat(mode, "faulty_part"):
        return flatten(evidence), counts
    sentences = readable_sentences(evidence)
    leaves = flatten(evidence) if isinstance(evidence, list) else [evidence]
    faulty = len(leaves) - len(sentences or [])
    return sentences, counts | {FAULTY: faulty}


def _overlap(prefix: str, pred: Iterable[str], ref: Iterable[str]) -> Counts:
    ours = Counter(pred)
    theirs = Counter(ref)
    return {
        f"{prefix}_correct": (ours & theirs).total(),
        f"{prefix}_preds": ours.total(),
        f"{prefix}_refs": theirs.total(),
    }


def _prediction(pred: Any, mode: str) -> tuple[Any, list[str], Counts]:
    """Verdict, sentences, and what could be read."""
    verdict = pred.get("verdict")
    sentences, faults = given_sentences(pred.get("evidence"), mode)
    read: Counts = {
        "verdict_yes": int(verdict is not None),
        "verdict_no": int(verdict is None),
        "evidence_yes": int(sentences is not None),
        "evidence_no": int(sentences is None),
    }
    return "NEI" if verdict is None else verdict, sentences or [], read | faults


def fact_counts(pred: Any, ref: Any, mode: str = CORRECTED) -> Counts:
    """Counts of one row, and what of it could be read.

    They are `label_*`, `sentence_*` and `token_*` for `correct`, `preds` and `refs`.
    """
    if isinstance(pred, dict):
        verdict, sentences, counts = _prediction(pred, mode)
    elif is_compat(mode, "not_an_object"):
        return {"not_dict": 1}  # the original leaves the row out, references included
    else:
        verdict = "NEI"
        sentences = []
        counts = {"not_dict": 1, FAULTY: 1}
    ref_verdict = ref["verdict"]
    ref_sentences = ref["evidence"]
    if not is_compat(mode, "reference"):
        ref_sentences = readable_sentences(ref_sentences) or []
    counts["label_refs"] = int(ref_verdict != "NEI")
    counts["label_preds"] = int(verdict != "NEI")
    counts["label_correct"] = int(ref_verdict != "NEI" and verdict == ref_verdict)
    counts |= _overlap(
        "sentence",
        {sentence.strip().lower() for sentence in sentences},
        {sentence.strip().lower() for sentence in ref_sentences},
    )
    counts |= _overlap("token", tokens(" ".join(sentences)), tokens(" ".join(ref_sentences)))
    return counts


def fact_result(counts: Mapping[str, float]) -> dict[str, Any]:
    """The result of `fact_checking_f1` from summed `fact_counts`."""

    def f1(part: str) -> dict[str, Any]:
        correct, preds, refs = (
            counts.get(f"{part}_{count}", 0) for count in ("correct", "preds", "refs")
        )
        return precision_recall_f1(correct, preds, refs)

    return {
        "f1": {name: f1(part) for name, part in _PARTS.items()},
        "answer_parse": {
            "correct_verdict": parse_shares(counts, "verdict"),
            "correct_evidence": parse_shares(counts, "evidence"),
            "not_dict": counts.get("not_dict", 0),
        },
    }


def fact_checking_f1(
    instances: Iterable[Mapping[str, Any]], mode: str = CORRECTED
) -> dict[str, Any]:
    """Micro F1 of verdict, evidence sentences and evidence tokens, in [0, 1], higher is better.

    The label F1 leaves "NEI" out on both sides; verdicts are compared exactly. Sentences are sets
    (stripped, lower-cased), tokens multisets over all sentences of a row. In corrected mode a
    prediction that is no object counts as "NEI" without evidence; the original drops such rows,
    references included, which raises recall.

    Args:
        instances: Rows with `pred` and `ref`: objects with `verdict` and `evidence`.
        mode: "corrected" or "compat".

    Returns:
        `{"f1": {"label", "evidence_sent", "evidence_tok"}, "answer_parse": {"correct_verdict",
        "correct_evidence", "not_dict"}}`.
    """
    total: Counts = {}
    for instance in instances:
        add(total, fact_counts(instance["pred"], instance["ref"], mode))
    return fact_result(total)


METRICS: dict[str, Callable[..., Any]] = {"science.fact_checking_f1": fact_checking_f1}
