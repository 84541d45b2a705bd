"""What a judge is asked about answers and summaries (rubrics/), and how its rating of 1 to 5 is read.

`evalprep judge` keeps answers under a hash of the judge and the prompt, and so of the prediction, and hands the ratings
back as the metric `judge_rating` of each sample: `score.judged` takes them from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from custom_metrics.judging.reply import judge_ratings
from custom_metrics.science.judge import SCALE, judge_sample_indices, mup_prompt_fields, qasper_prompt_fields
from custom_metrics.science.rows import Row, saved_texts, score_row, task_of_row
from custom_metrics.science.tasks import TASKS as KINDS
from evalprep.packapi import BadInput, Item, Problem, RubricJudge, SampleRef, Values, read_rubric

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
        samples = [one for one in rows[self.task] if task_of_row(one["doc"], one["sample_id"]) in {"", self.task}]
        for place in self.choose(len(samples)):
            sample = samples[place]
            fields, settled = self.fields(sample)
            reference = SampleRef(self.task, sample["sample_id"], sample["index"])
            prompt = self.rubric.render(fields)[0]
            fixed = {METRIC: SCALE[0]} if settled else None
            yield Item((reference,), prompt, fixed=fixed, earlier=earlier(self.task, fields))

    def read(self, item: Item, reply: str) -> tuple[str, Values | None]:
        """As the rubric reads it; the original asks for summaries in the words `Decision: 4`."""
        status, values = super().read(item, reply)
        if status == "parse_error" and self.task == SUMMARY:
            found = judge_ratings(reply=reply, names=["decision"], low=SCALE[0], high=SCALE[1], whole=True)
            if found["status"] == "ok":
                return "ok", {METRIC: found["ratings"]["decision"]}
        return status, values

    def imported(self, content: Any, items: Sequence[Item]) -> Any:
        """Ratings in a file of the original, in row order; other content as it is.

        Its `lm_judge.json` is such a list already. `lm_judge_reference_comparison_raw.json` has an object per row with
        the prediction that was rated, `lm_judge_raw.json` the results of a batch in any order.

        Raises:
            BadInput: ratings of other predictions.
        """
        prompts = {item.samples[0].index: str(item.input) for item in items}
        if isinstance(content, dict):
            return _of_objects(content, prompts)
        if (
            isinstance(content, list)
            and content
            and all(isinstance(one, dict) and "custom_id" in one for one in content)
        ):
            return _of_batch(content, sorted(prompts))
        return content


def _of_objects(content: Mapping[str, Any], prompts: Mapping[int, str]) -> list[float | None] | None:
    """Row -> `{"decision": 0.75, "prediction": ...}` as ratings of 1 to 5; None where it is something else."""
    if not content or not all(key.isdigit() and isinstance(one, dict) for key, one in content.items()):
        return None
    found: list[float | None] = [None] * (1 + max(prompts, default=-1))
    for key, one in content.items():
        place, decision = int(key), one.get("decision")
        # The original cuts characters off both ends of a prediction.
        said = str(one.get("prediction") or "")[1:-1].strip()
        if place in prompts and said not in prompts[place]:
            raise BadInput(Problem(what=f"row {place}: the rating is of another prediction", where="--import_ratings"))
        if place < len(found) and isinstance(decision, (int, float)):
            found[place] = round(SCALE[0] + (SCALE[1] - SCALE[0]) * decision)
    return found


def _of_batch(content: Sequence[Mapping[str, Any]], places: Sequence[int]) -> list[str | None]:
    """Results of a batch as the judge's words, row by row: requests are numbered in the order of the rows."""
    found: list[str | None] = [None] * (1 + max(places, default=-1))
    for one in content:
        number = str(one["custom_id"]).rpartition("-")[2]
        try:
            text = one["response"]["body"]["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            continue
        if number.isdigit() and int(number) < len(places) and isinstance(text, str):
            found[places[int(number)]] = text
    return found


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
