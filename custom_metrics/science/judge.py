"""The prompt for a judge of answers and summaries, the rows that it sees, and its reply."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from custom_metrics.science.mode import CORRECTED, is_compat

SCALE = (1, 5)
MIDDLE = 3
RULE = "-" * 40

_RATING = re.compile(r"Rating:\s*(\d+)")
_TITLE = re.compile(r"Paper title:\n(.*?)(?=\n)")
_SUMMARY_LINE = re.compile(r"(?<!\d)\d+-sentence paper summary")


def scaled(rating: float) -> float:
    """A rating of 1 to 5 as a score in [0, 1]."""
    low, high = SCALE
    return (rating - low) / (high - low)


def qa_judge_rating(response: str, mode: str = CORRECTED) -> int:
    r"""Rating of 1 to 5 from the judge's reply on an answer; the first `Rating:` counts.

    A reply without a rating, or with one outside the scale, gives 3, as the published numbers have
    it. Whoever must tell such replies apart uses `judge_rating`.

    >>> qa_judge_rating("Explanation: fine.\nRating: 4"), qa_judge_rating("Rating: 9")
    (4, 3)
    """
    is_compat(mode)
    rating = judge_rating(response)
    return MIDDLE if rating is None else rating


def judge_rating(response: str) -> int | None:
    """Rating of 1 to 5 behind the first `Rating:`, None where there is none on the scale."""
    match = _RATING.search(response)
    # More than one digit is outside the scale; converting thousands of digits would raise.
    digits = match[1].lstrip("0") if match else ""
    if len(digits) == 1 and SCALE[0] <= int(digits) <= SCALE[1]:
        return int(digits)
    return None


def summary_judge_rating(response: str, mode: str = CORRECTED) -> float | str:
    r"""Scores in [0, 1] from the judge's reply on a summary, or "error".

    The text after the first `Decision:` (without one, after `Rating:`) must be exactly one of 1 to
    5; it is scaled to (rating - 1) / 4. The original's tables then drop a score of 0, which is a
    rating of 1: see `mean_rating`.

    >>> summary_judge_rating("Explanation: fine.\nDecision: 3")
    0.5
    >>> summary_judge_rating("Decision: 3 or 4")
    'error'
    """
    is_compat(mode)
    for mark in ("Decision:", "Rating:"):
        if mark in response:
            decision = response.split(mark, 1)[1].strip()
            if decision in {"1", "2", "3", "4", "5"}:
                return scaled(int(decision))
            return "error"
    return "error"


def mean_rating(scores: list[float], mode: str = CORRECTED) -> dict[str, float | None]:
    """Number and mean of scaled ratings.

    Compat drops scores of 0, a slip of the original that raises the mean.

    Raises:
        ZeroDivisionError: in compat mode, when no score is left.

    >>> mean_rating([0.0, 1.0])["avg_rating"], mean_rating([0.0, 1.0], mode="compat")["avg_rating"]
    (0.5, 1.0)
    """
    compat = is_compat(mode)
    kept = [score for score in scores if score] if compat else scores
    mean: float | None = None
    if kept or compat:  # the original divides by zero where nothing is kept
        mean = sum(kept) / len(kept)
    return {"lm_judge_n_samples": len(kept), "avg_rating": mean}


def judge_sample_indices(
    n: int, n_samples: int = 100, seed: int = 42, mode: str = CORRECTED
) -> list[int]:
    """Returns which of `n` rows the judge of summaries sees.

    They are a seeded sample without replacement, ascending.

    >>> judge_sample_indices(5)
    [0, 1, 2, 3, 4]
    """
    is_compat(mode)
    # This draws a sample, no secret.
    return sorted(random.Random(seed).sample(range(n), min(n_samples, n)))  # noqa: S311


def mup_prompt_fields(prompt: str, mode: str = CORRECTED) -> dict[str, str | None]:
    r"""Title and body text of a paper in a summarisation prompt, None for a part without mark.

    Corrected mode cuts the body at the last `N-sentence paper summary`, whatever the number of
    digits in N; the original at the first `sentence paper summary`, minus two characters.

    >>> prompt = "Paper title:\nOn mice\n\nPaper body:\nText .\n\n12-sentence paper summary:"
    >>> mup_prompt_fields(prompt)
    {'title': 'On mice', 'body_text': 'Text .'}
    """
    compat = is_compat(mode)
    title = _TITLE.search(prompt)
    _, mark, body = prompt.partition("Paper body:")
    ends = list(_SUMMARY_LINE.finditer(body))
    if ends and not compat:
        body = body[: ends[-1].start()]
    elif "sentence paper summary" in body:
        body = body[: body.find("sentence paper summary") - 2]
    return {"title": title[1] if title else None, "body_text": body.strip() if mark else None}


def qasper_prompt_fields(prompt: str) -> dict[str, str | None]:
    r"""Title of the paper and question in a Qasper prompt.

    The title is the line after the first rule of 40 dashes. None for a part that is not there; the
    original raises.

    >>> prompt = "Paper:\n" + RULE + "\nOn mice\n\n" + RULE + "\n\nQuestion: How many?\n"
    >>> qasper_prompt_fields(prompt)
    {'title': 'On mice', 'question': 'How many?'}
    """
    lines = prompt.split("\n")
    after_rule = lines.index(RULE) + 1 if RULE in lines else len(lines)
    questions = [
        line.removeprefix("Question:").strip() for line in lines if line.startswith("Question:")
    ]
    return {
        "title": lines[after_rule] if after_rule < len(lines) else None,
        "question": questions[0] if len(questions) == 1 else None,
    }


#: Task whose rows share papers -> what reads a prompt of it, the paper's `title` among the parts.
PAPER_FIELDS: Mapping[str, Callable[[str], Mapping[str, str | None]]] = {
    "mup_single_document_summarization": mup_prompt_fields,
    "qasper_abstractive_qa": qasper_prompt_fields,
}
METRICS: dict[str, Callable[..., Any]] = {
    "science.judge_sample_indices": judge_sample_indices,
    "science.mup_prompt_fields": mup_prompt_fields,
    "science.qa_judge_rating": qa_judge_rating,
    "science.summary_judge_rating": summary_judge_rating,
}
