"""The questions for a judge of generations: judge.yaml has the contexts, rubrics/ the wording."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from custom_metrics.unlearning.judge import judge_scores
from evalprep.packapi import (
    BadInput,
    Item,
    RubricJudge,
    SampleRef,
    Values,
    read_rubric,
    without_control,
)

from .generations import generated
from .judge import CONTEXTS, RANGE, SAMPLING, broken_prompt, load_prompt
from .judge_prompt import create_prompt
from .question import question_in
from .results import by_index
from .samples import Row


class _Texts(NamedTuple):
    """The texts of a row that a judge sees."""

    question: str
    reference: str
    generation: str


def _texts_of(row: Row) -> _Texts:
    """The texts of a row; a judge of the same family would take headers of turns for its own."""
    doc = row["doc"]
    sent = doc.get("prompt", row.get("prompt")) or ""
    question = doc.get("question") or question_in(str(sent))
    reference = doc.get("target", row.get("target")) or ""
    return _Texts(
        without_control(str(question)),
        without_control(str(reference)),
        without_control(generated(row)),
    )


def prompt_texts(task: str, row: Row) -> tuple[str, str, str, str] | None:
    """OpenUnlearning's context, and the texts of a row without the words of the chat template.

    None for a task of likelihoods, which has no generation.
    """
    if task not in CONTEXTS:
        return None
    texts = _texts_of(row)
    return CONTEXTS[task][0], texts.question, texts.reference, texts.generation


@dataclass(frozen=True, kw_only=True)
class Judge(RubricJudge):
    """Asks about the generations of one context.

    Attributes:
        context: Its name.
    """

    context: str

    @property
    def name(self) -> str:
        """The annotator's name, under which its answers are kept."""
        return f"unlearning_{self.context}"

    @property
    def sampling(self) -> Mapping[str, Any]:
        """The sampling settings of the original."""
        return SAMPLING

    def items(
        self, rows: Mapping[str, Sequence[Row]], metadata: Mapping[str, Mapping[str, Any]]
    ) -> Iterator[Item]:
        """One question per generation, in order.

        Raises:
            BadInput: a prompt file of the user's is missing or fails.
        """
        file = (metadata.get(self.task, {}).get("unlearning") or {}).get("judge_prompt")
        make = load_prompt(Path(file), prepared=True) if file else create_prompt
        for row in rows[self.task]:
            texts = _texts_of(row)
            try:
                prompt = make(self.context, texts.question, texts.reference, texts.generation)
            except Exception as error:
                what = f"create_prompt fails: {type(error).__name__}: {error}"
                raise BadInput(broken_prompt(file, what)) from error
            if not isinstance(prompt, str):
                what = f"create_prompt returns {type(prompt).__name__}"
                raise BadInput(broken_prompt(file, what))
            if not file:
                prompt = self.rubric.render(
                    {
                        "input": texts.question,
                        "reference": texts.reference,
                        "answer": texts.generation,
                    }
                )[0]
            sample = SampleRef.of(self.task, row)
            yield Item((sample,), prompt)

    def read(self, item: Item, reply: str) -> tuple[str, Values | None]:  # noqa: ARG002
        """Status of a reply, and its ratings where the status is `ok`."""
        scores = judge_scores(metrics=self.rubric.names, response=reply, range=RANGE)
        return scores["status"], scores["scores"]

    def imported(self, content: Any, items: Sequence[Item]) -> Any:
        """Ratings in OpenUnlearning's own file, in row order; other content as it is.

        `LLM_Judge_evaluation_batch_extracted.json` has `context -> value_by_index -> scores`. Where
        it could not read a reply, a score is -1000000 or null: such a row has no rating.
        """
        rows = by_index(content.get(self.context)) if isinstance(content, Mapping) else {}
        if not rows:
            return content
        ratings: list[Any] = [None] * (
            1 + max((item.samples[0].index for item in items), default=-1)
        )
        for index, row in rows.items():
            scores = row.get("scores") if isinstance(row, Mapping) else None
            if not index.isdecimal() or int(index) >= len(ratings):
                continue
            if isinstance(scores, Mapping) and self._is_rating(scores):
                ratings[int(index)] = dict(scores)
        return ratings

    def _is_rating(self, scores: Mapping[str, Any]) -> bool:
        """Returns whether the scores of a row are all there and within their range."""
        read = judge_scores(
            metrics=self.rubric.names, response=json.dumps(dict(scores)), range=RANGE
        )
        return read["status"] == "ok"


_RUBRICS = {
    name: read_rubric(Path(__file__).parent / "rubrics" / f"{name}.yaml")
    for name in ("forget", "retain")
}
ANNOTATORS = tuple(
    Judge(
        task=task,
        context=context,
        rubric=_RUBRICS["forget" if "forget" in context.lower() else "retain"],
    )
    for task, (context, _) in CONTEXTS.items()
)
