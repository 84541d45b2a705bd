"""What a judge is asked about answers and summaries (rubrics/), and how its rating of 1 to 5 is read.

`evalprep judge` keeps answers under a hash of the judge and the prompt, and so of the prediction, and hands the ratings
back as the metric `judge_rating` of each sample: `score.judged` takes them from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from custom_metrics.science.judge import SCALE, judge_sample_indices, mup_prompt_fields, qasper_prompt_fields
from custom_metrics.science.rows import Row, saved_texts, score_row
from custom_metrics.science.tasks import TASKS as KINDS
from evalprep.packapi import Item, RubricJudge, SampleRef, read_rubric

from .former_judge import QA, SUMMARY, earlier

METRIC = "judge_rating"
#: The original rates a seeded sample of the summaries.
N_SUMMARIES, SEED = 100, 42

Sample = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Judge(RubricJudge):
    """Asks about the rows of one task.

    Attributes:
        name: Under what its answers are kept.
        fields: From a sample to the fields of the rubric, and whether it needs no judge.
        choose: From the number of rows to the positions that are rated.
    """

    name: str
    fields: Callable[[Sample], tuple[dict[str, str], bool]]
    choose: Callable[[int], Sequence[int]] = range

    def items(self, rows: Mapping[str, Sequence[Sample]], metadata: Mapping[str, Mapping[str, Any]]) -> Iterator[Item]:  # noqa: ARG002
        """Every rating that the samples of a run need: all answers, and a seeded sample of the summaries."""
        samples = rows[self.task]
        for place in self.choose(len(samples)):
            sample = samples[place]
            fields, settled = self.fields(sample)
            reference = SampleRef(self.task, sample["sample_id"], sample["index"])
            prompt = self.rubric.render(fields)[0]
            fixed = {METRIC: SCALE[0]} if settled else None
            yield Item((reference,), prompt, fixed=fixed, earlier=earlier(self.task, fields))


def _scored(task: str, sample: Sample) -> Row:
    texts = {name: sample[name] for name in ("doc", "target", "filtered", "response")}
    return score_row(KINDS[task], *saved_texts(**texts))


def _answer(sample: Sample) -> tuple[dict[str, str], bool]:
    """A reply without an answer is rated 1 without a call."""
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
    return fields, row.answer is None


def _summary(sample: Sample) -> tuple[dict[str, str], bool]:
    row = _scored(SUMMARY, sample)
    found = mup_prompt_fields(str(sample["prompt"]))
    fields = {name: text or "not given" for name, text in found.items()}
    return fields | {"reference": row.reference, "prediction": row.text}, False


def _few(count: int) -> Sequence[int]:
    return judge_sample_indices(count, N_SUMMARIES, SEED)


_RUBRICS = Path(__file__).parent / "rubrics"
ANNOTATORS = (
    Judge(name="science_answer", task=QA, rubric=read_rubric(_RUBRICS / "answer.yaml"), fields=_answer),
    Judge(
        name="science_summary",
        task=SUMMARY,
        rubric=read_rubric(_RUBRICS / "summary.yaml"),
        fields=_summary,
        choose=_few,
    ),
)
PROMPT_VERSION = ANNOTATORS[0].version
