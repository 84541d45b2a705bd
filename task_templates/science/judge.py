"""What a judge is asked about answers and summaries, and how its rating of 1 to 5 is read.

`questions` turns saved samples into prompts, `Question.read` reads a reply. `evalprep judge` keeps ratings under
`Question.key`, which changes with the judge, the prompt and so with the prediction, and hands them back as the metric
`judge_rating` of each sample: `score.judged` takes them from there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from custom_metrics.science.judge import (
    SCALE,
    judge_rating,
    judge_sample_indices,
    mup_prompt_fields,
    qasper_prompt_fields,
)
from custom_metrics.science.rows import Row, saved_texts, score_row
from custom_metrics.science.tasks import TASKS as KINDS

QA, SUMMARY = "qasper_abstractive_qa", "mup_single_document_summarization"
TASKS = (QA, SUMMARY)
PROMPT_VERSION = "science-1"
METRIC = "judge_rating"

_HEAD = """\
You compare what a model wrote with what an expert wrote, and rate how much of the expert's content is in it.

5: everything important in the expert's text is there
3: part of it is there, or it is there with mistakes
1: it is wrong, or about something else

Content beyond the expert's text costs nothing. 2 and 4 lie between.
"""
_TAIL = """
Reply in two lines and nothing after them:
Explanation: one sentence
Rating: a whole number from 1 to 5
"""
_FORMS = {
    QA: """
A question about a paper was answered.

Title of the paper: {title}

What the expert's answer rests on:
{evidence}

Question: {question}

Expert's answer: {reference}

Model's answer: {prediction}
""",
    SUMMARY: """
A paper was summarised.

Title of the paper: {title}

Text of the paper:
{body_text}

Expert's summary: {reference}

Model's summary: {prediction}
""",
}


@dataclass(frozen=True)
class Question:
    """One rating to ask for.

    Attributes:
        task: The task.
        sample_id: The sample.
        index: Its position in the split.
        fields: What the prompt is filled with.
        fixed: The rating of a reply without an answer, 1; None where the judge is asked.
    """

    task: str
    sample_id: str
    index: int
    fields: Mapping[str, str]
    fixed: Mapping[str, int] | None = None

    @property
    def prompt(self) -> str:
        """The message to the judge."""
        return _HEAD + _FORMS[self.task].format(**self.fields) + _TAIL

    def key(self, judge: str) -> str:
        """Under what a rating by this judge is kept."""
        # A reply without an answer and an empty answer have one prompt, and not one rating.
        text = f"{judge}\n{PROMPT_VERSION}\n{self.fixed}\n{self.prompt}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def read(self, reply: str) -> tuple[str, dict[str, int] | None]:
        """Status of a reply, and its rating where the status is `ok`."""
        rating = judge_rating(reply)
        if rating is None:
            return "invalid_score" if "Rating:" in reply else "parse_error", None
        return "ok", {METRIC: rating}


def questions(
    *, rows: Mapping[str, Sequence[Mapping[str, Any]]], n_summaries: int = 100, seed: int = 42, **_: Any
) -> Iterator[Question]:
    """Every rating that the samples of a run need: all answers, and a seeded sample of the summaries.

    Args:
        rows: Task -> row mappings, as score functions get them.
        n_summaries: Number of summaries; the original rates 100.
        seed: Seed of the sample.
    """
    for sample in rows.get(QA, ()):
        yield _on_answer(sample)
    summaries = rows.get(SUMMARY, ())
    for place in judge_sample_indices(len(summaries), n_summaries, seed):
        yield _on_summary(summaries[place])


def _scored(task: str, sample: Mapping[str, Any]) -> Row:
    texts = {name: sample[name] for name in ("doc", "target", "filtered", "response")}
    return score_row(KINDS[task], *saved_texts(**texts))


def _on_answer(sample: Mapping[str, Any]) -> Question:
    row = _scored(QA, sample)
    found = qasper_prompt_fields(str(sample["prompt"]))
    evidence = row.ref["evidence"] if isinstance(row.ref["evidence"], list) else [row.ref["evidence"] or ""]
    fields = {
        "title": found["title"] or "not given",
        "question": found["question"] or "not given",
        "evidence": "\n".join(map(str, evidence)),
        "reference": str(row.ref["answer"] or ""),
        "prediction": row.answer or "",
    }
    fixed = {METRIC: SCALE[0]} if row.answer is None else None
    return Question(QA, sample["sample_id"], sample["index"], fields, fixed)


def _on_summary(sample: Mapping[str, Any]) -> Question:
    row = _scored(SUMMARY, sample)
    found = mup_prompt_fields(str(sample["prompt"]))
    fields = {name: text or "not given" for name, text in found.items()}
    fields |= {"reference": row.reference, "prediction": row.text}
    return Question(SUMMARY, sample["sample_id"], sample["index"], fields)
