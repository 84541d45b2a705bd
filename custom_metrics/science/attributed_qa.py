"""Token F1 of answers and of their evidence (qasper_abstractive_qa)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from custom_metrics.science.fact_checking_f1 import given_sentences, readable_sentences
from custom_metrics.science.mode import CORRECTED, is_compat
from custom_metrics.science.normalize import (
    FAULTY,
    MENDED,
    Counts,
    add,
    flatten,
    parse_shares,
    token_f1,
)


def answer_text(answer: Any, mode: str = CORRECTED) -> str | None:
    """The answer as text.

    A string as it is, a list flattened and joined by blanks, an object as Python writes it. None
    where there is no answer. A number or a truth value is its JSON text in corrected mode; the
    original raises.

    >>> answer_text(6), answer_text(True), answer_text(["a", ["b", 2]])
    ('6', 'true', 'a b 2')
    """
    compat = is_compat(mode, "faulty_part")
    if answer is None or isinstance(answer, str):
        return answer
    try:
        if isinstance(answer, list):
            return " ".join(str(part) for part in flatten(answer))
        if isinstance(answer, dict):
            return str(answer)
    except RecursionError:  # nested deeper than the interpreter can write
        if compat:
            raise
        return None
    if compat:
        # The original raises a bare Exception; the name of the class is what callers compare.
        raise Exception("Unexpected answer type")  # noqa: TRY002 - see above
    return json.dumps(answer)


def predicted_answer(pred: Any, mode: str = CORRECTED) -> str | None:
    """The answer that a parsed reply gives, as text; None without one."""
    return answer_text(pred.get("answer") if isinstance(pred, dict) else None, mode)


def _predicted_evidence(pred: Any, mode: str) -> tuple[str | None, Counts]:
    sentences, faults = given_sentences(
        pred.get("evidence") if isinstance(pred, dict) else None, mode
    )
    return None if sentences is None else " ".join(sentences), faults


def _answer_faults(pred: Any, answer: str | None, mode: str) -> Counts:
    """Counts of answers of the wrong type, by whether they could be read all the same."""
    if is_compat(mode, "faulty_part"):
        return {}
    stated = pred.get("answer") if isinstance(pred, dict) else pred
    if stated is None or (
        isinstance(pred, dict) and isinstance(stated, (str, list, dict)) and answer is not None
    ):
        return {}
    return {MENDED: 1} if answer is not None else {FAULTY: 1}


def qa_counts(pred: Any, ref: Any, mode: str = CORRECTED) -> Counts:
    """Counts of one row.

    Answer and evidence F1, whether each was given, whether the answer was a string.
    """
    answer = predicted_answer(pred, mode)
    evidence, faults = _predicted_evidence(pred, mode)
    add(faults, _answer_faults(pred, answer, mode))
    if is_compat(mode, "reference"):
        ref_answer = ref["answer"]
        ref_evidence = ref["evidence"]
    else:
        ref_answer = answer_text(ref["answer"]) or ""
        ref_evidence = readable_sentences(ref["evidence"]) or []
    was_string = answer is not None and isinstance(pred["answer"], str)
    return {
        "rows": 1,
        "answer_f1": 0 if answer is None else token_f1(answer, ref_answer),
        "answer_yes": int(answer is not None),
        "answer_no": int(answer is None),
        "answer_entry_is_str_yes": int(was_string),
        "answer_entry_is_str_no": int(answer is not None and not was_string),
        "evidence_f1": 0 if evidence is None else token_f1(evidence, " ".join(ref_evidence)),
        "evidence_yes": int(evidence is not None),
        "evidence_no": int(evidence is None),
        **faults,
    }


def qa_result(counts: Mapping[str, float], mode: str = CORRECTED) -> dict[str, Any]:
    """The result of `attributed_qa` from summed `qa_counts`."""
    compat = is_compat(mode, "empty_corpus")

    def mean(part: str, rows: str) -> float | None:
        n = counts.get(rows, 0)
        if n:
            return counts[f"{part}_f1"] / n
        return math.nan if compat else None

    return {
        "scores": {
            "f1_answer_parsed": mean("answer", "answer_yes"),
            "f1_answer_all": mean("answer", "rows"),
            "f1_evidence_parsed": mean("evidence", "evidence_yes"),
            "f1_evidence_all": mean("evidence", "rows"),
        },
        "answer_parse": {
            part: parse_shares(counts, part)
            for part in ("answer", "evidence", "answer_entry_is_str")
        },
    }


def attributed_qa(instances: Iterable[Mapping[str, Any]], mode: str = CORRECTED) -> dict[str, Any]:
    """Mean token F1 of answers and evidence over rows, in [0, 1], higher is better.

    `*_all` gives 0 to rows without an answer (or evidence), `*_parsed` leaves them out and is None
    (NaN in compat mode) when no row is left. An empty evidence list counts as given, with score 0.
    ROUGE and the judge are computed elsewhere.

    Args:
        instances: Rows with `pred` and `ref`: objects with `answer` and `evidence`.
        mode: "corrected" takes evidence given as one string as one paragraph; "compat" splits it
            into characters.

    Returns:
        `{"scores": {"f1_answer_parsed", "f1_answer_all", "f1_evidence_parsed", "f1_evidence_all"},
        "answer_parse": {"answer", "evidence", "answer_entry_is_str": {"yes", "no",
        "frac_success"}}}`.
    """
    total: Counts = {}
    for instance in instances:
        add(total, qa_counts(instance["pred"], instance["ref"], mode))
    return qa_result(total, mode)


METRICS: dict[str, Callable[..., Any]] = {"science.attributed_qa": attributed_qa}
