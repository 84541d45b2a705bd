"""The prompts of a judge about answers and summaries, and the reading of its ratings.

The rubrics are in rubrics/; a rating goes from 1 to 5.

`evalprep judge` keeps answers under a hash of the judge and the prompt, and so of the prediction,
and hands the ratings back as the metric `judge_rating` of each sample: `score.judged` takes them
from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from custom_metrics.judging.reply import judge_ratings
from custom_metrics.science.judge import (
    SCALE,
    judge_sample_indices,
    mup_prompt_fields,
    qasper_prompt_fields,
)
from custom_metrics.science.rows import Row, saved_texts, score_row, task_of_row
from custom_metrics.science.tasks import TASKS as KINDS
from evalprep.packapi import BadInput, Item, Problem, RubricJudge, SampleRef, Values, read_rubric

METRIC = "judge_rating"
QA = "qasper_abstractive_qa"
SUMMARY = "mup_single_document_summarization"
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

    def items(
        self,
        rows: Mapping[str, Sequence[Sample]],
        metadata: Mapping[str, Mapping[str, Any]],  # noqa: ARG002
    ) -> Iterator[Item]:
        """Every rating that the samples of a run need.

        All answers, and a seeded sample of the summaries.
        """
        samples = [
            row
            for row in rows[self.task]
            if task_of_row(row["doc"], row["sample_id"]) in {"", self.task}
        ]
        for place in self.choose(len(samples)):
            sample = samples[place]
            fields, settled = self.fields(sample)
            reference = SampleRef.of(self.task, sample)
            prompt = self.rubric.render(fields)[0]
            fixed = {METRIC: SCALE[0]} if settled else None
            yield Item((reference,), prompt, fixed=fixed)

    def read(self, item: Item, reply: str) -> tuple[str, Values | None]:
        """Reads a reply by the rubric; of summaries the original asks for `Decision: 4`, too."""
        status, values = super().read(item, reply)
        if status == "parse_error" and self.task == SUMMARY:
            ratings = judge_ratings(
                reply=reply, names=["decision"], low=SCALE[0], high=SCALE[1], whole=True
            )
            if ratings["status"] == "ok":
                return "ok", {METRIC: ratings["ratings"]["decision"]}
        return status, values

    def imported(self, content: Any, items: Sequence[Item]) -> Any:
        """Ratings in a file of the original, in row order; other content as it is.

        Its `lm_judge.json` is such a list already. `lm_judge_reference_comparison_raw.json` has an
        object per row with the prediction that was rated, `lm_judge_raw.json` the results of a
        batch in any order.

        Raises:
            BadInput: ratings of other predictions.
        """
        prompts = {item.samples[0].index: str(item.input) for item in items}
        if isinstance(content, dict):
            return _of_objects(content, prompts)
        if (
            isinstance(content, list)
            and content
            and all(isinstance(line, dict) and "custom_id" in line for line in content)
        ):
            places = sorted(prompts)
            # Results of a batch as the judge's words, row by row.
            replies: list[str | None] = [None] * (1 + max(places, default=-1))
            for line in content:
                number = str(line["custom_id"]).rpartition("-")[2]
                if not number.isdigit() or int(number) >= len(places):
                    continue
                try:
                    choice = line["response"]["body"]["choices"][0]
                    text = choice["message"]["content"]
                except (KeyError, IndexError, TypeError):
                    continue
                if isinstance(text, str):
                    replies[places[int(number)]] = text
            return replies
        return content


def _of_objects(
    content: Mapping[str, Any], prompts: Mapping[int, str]
) -> list[float | None] | None:
    """Row -> `{"decision": 0.75, "prediction": ...}` as ratings of 1 to 5.

    None where it is something else.
    """
    is_by_row = all(key.isdigit() and isinstance(entry, dict) for key, entry in content.items())
    if not content or not is_by_row:
        return None
    low, high = SCALE
    ratings: list[float | None] = [None] * (1 + max(prompts, default=-1))
    for key, entry in content.items():
        place = int(key)
        decision = entry.get("decision")
        if place in prompts:
            prompt = prompts[place]
            prediction = str(entry.get("prediction") or "")[1:-1].strip()
            if prediction not in prompt:
                raise BadInput(
                    Problem(
                        what=f"row {place}: the rating is of another prediction",
                        where="--import_ratings",
                    )
                )
        if place < len(ratings) and isinstance(decision, (int, float)):
            # A decision is a share of the scale.
            ratings[place] = round(low + (high - low) * decision)
    return ratings


def _scored(task: str, sample: Sample) -> Row:
    texts = {name: sample[name] for name in ("doc", "target", "filtered", "response")}
    return score_row(KINDS[task], *saved_texts(**texts))


def _answer(sample: Sample) -> tuple[dict[str, str], bool]:
    """A reply without an answer is rated 1 without a call."""
    row = _scored(QA, sample)
    parts = qasper_prompt_fields(str(sample["prompt"]))
    evidence = row.ref["evidence"]
    if not isinstance(evidence, list):
        evidence = [evidence or ""]
    fields = {
        "title": parts["title"] or "not given",
        "question": parts["question"] or "not given",
        "evidence": "\n".join(map(str, evidence)),
        "reference": str(row.ref["answer"] or ""),
        "prediction": row.answer or "",
    }
    return fields, row.answer is None


def _summary(sample: Sample) -> tuple[dict[str, str], bool]:
    row = _scored(SUMMARY, sample)
    parts = mup_prompt_fields(str(sample["prompt"]))
    fields = {name: text or "not given" for name, text in parts.items()}
    return fields | {"reference": row.reference, "prediction": row.text}, False


def _few(count: int) -> Sequence[int]:
    return judge_sample_indices(count, N_SUMMARIES, SEED)


_RUBRICS = Path(__file__).parent / "rubrics"
ANNOTATORS = (
    Judge(
        name="science_answer", task=QA, rubric=read_rubric(_RUBRICS / "answer.yaml"), fields=_answer
    ),
    Judge(
        name="science_summary",
        task=SUMMARY,
        rubric=read_rubric(_RUBRICS / "summary.yaml"),
        fields=_summary,
        choose=_few,
    ),
)
PROMPT_VERSION = ANNOTATORS[0].version
