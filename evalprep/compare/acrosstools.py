"""The report on rows that met across tools: how many did, and what differs between them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import asdict

from evalprep.compare.comparable import fact_reasons, gold_reasons
from evalprep.compare.pairing import Floats, Pairs
from evalprep.compare.quantities import TOLERATED_MISSING
from evalprep.compare.reasons import Kind, Reason
from evalprep.numbers import percent
from evalprep.results import FactDifference
from evalprep.samples import Metric, PairRules
from evalprep.terminal import counted, shortlist

LEAST_PAIRED = 0.9  # share of the smaller side that must be paired
_EXAMPLES = 10
POSITION_WARNING = "rows are paired by their position: nothing shows that they are one question"
_NAMED = 5  # ids that a warning names
#: Facts of the question that mean the same whatever tool wrote them.
_COMMON_FACTS = frozenset({"num_fewshot", "system", "limit"})


def common_facts(differences: Sequence[FactDifference]) -> list[FactDifference]:
    """The facts that differ, without those of the question that each tool spells its own way."""
    return [item for item in differences if item.kind != "question" or item.name in _COMMON_FACTS]


class PairedRows(msgspec.Struct, frozen=True):
    """The pairing of two tools' rows, and the differences within pairs.

    Attributes:
        tools: Who wrote the rows of the candidate and of the baseline.
        paired: Pairs, before any was left out.
        smaller: Rows of the smaller side.
        levels: Level -> pairs that it made.
        ambiguous: Rows of both sides whose key is repeated otherwise on the other side.
        target_conflicts: Questions that the sides have with different gold answers.
        prompts_differ: Pairs with different prompts; pairs where a prompt is not known do not
            count.
        permuted: Pairs with the same choices in another order.
        choices_differ: Pairs with other choices.
        template_differs: Whether one side was asked in a chat and the other with plain text.
        metrics: The metric of each side.
        shots: Few-shot examples of each side, where both are known and differ.
        examples: Kind of rows without a partner -> ids of the first ten.
    """

    tools: tuple[str, str]
    paired: int
    smaller: int
    levels: Mapping[str, int]
    ambiguous: int
    target_conflicts: int
    prompts_differ: int
    permuted: int
    choices_differ: int
    template_differs: bool
    metrics: tuple[str, str]
    shots: tuple[Any, Any] | None
    examples: Mapping[str, Sequence[str]]

    @classmethod
    def of(
        cls, pairs: Pairs, metrics: tuple[str, str], differences: Sequence[FactDifference]
    ) -> PairedRows:
        """Gathers what is known of the pairs of one task."""
        shots = [item for item in differences if item.name == "num_fewshot"]
        return cls(
            tools=pairs.tools,
            paired=pairs.paired,
            smaller=pairs.smaller,
            levels=pairs.ways,
            ambiguous=len(pairs.ambiguous),
            target_conflicts=len(pairs.conflicts),
            prompts_differ=int(pairs.prompt_differs.sum()),
            permuted=pairs.permuted,
            choices_differ=len(pairs.other_choices),
            template_differs=_template_differs(pairs),
            metrics=metrics,
            shots=(shots[0].candidate, shots[0].baseline) if shots else None,
            examples={
                kind: ids[:_EXAMPLES]
                for kind, ids in (
                    ("candidate only", pairs.extra),
                    ("baseline only", pairs.missing),
                    ("ambiguous", pairs.ambiguous),
                    ("another gold answer", pairs.conflicts),
                )
                if ids
            },
        )

    @property
    def share(self) -> float:
        """The share of the smaller side that is paired; 1.0 of no rows."""
        return self.paired / self.smaller if self.smaller else 1.0

    @property
    def notes(self) -> list[str]:
        """Sentences about the pairs, the share that is paired first."""
        return [self._headline(), *self._differences()]

    def _headline(self) -> str:
        levels = ", ".join(f"{count} by {level}" for level, count in self.levels.items())
        levels = f": {levels}" if levels else ""
        rows = f"{self.paired} of {self.smaller} of the smaller side are paired"
        share = f"{percent(self.share)} %{levels}"
        tools = " and ".join(dict.fromkeys(self.tools))
        parts = [f"rows of {tools}: {rows} ({share})"]
        if self.ambiguous:
            parts.append(f"{counted(self.ambiguous, 'row is', 'rows are')} ambiguous")
        if self.target_conflicts:
            named = counted(self.target_conflicts, "question has", "questions have")
            parts.append(f"{named} another gold answer")
        return "; ".join(parts)

    def _differences(self) -> list[str]:
        notes = []
        if self.prompts_differ:
            notes.append(f"{self.prompts_differ} of {self.paired} prompts differ")
        if self.permuted:
            notes.append(
                f"choices are in another order in {counted(self.permuted, 'pair')}; "
                "letters are compared as the texts of the choices"
            )
        if self.choices_differ:
            pairs = counted(self.choices_differ, "pair")
            notes.append(f"the choices differ in {pairs}; `--pairing same_choices` leaves them out")
        if self.template_differs:
            notes.append("one side was asked in a chat, the other with plain text")
        if self.metrics[0] != self.metrics[1]:
            metric, baseline = (name or "none" for name in self.metrics)
            notes.append(f"the metrics differ: {metric}, baseline {baseline}")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"share": self.share}


def _template_differs(pairs: Pairs) -> bool:
    """True where one side logged the messages of a chat and the other plain text."""
    if not pairs.rows.size:
        return False
    side, other = pairs.match.sides
    form, other_form = side.was_chat(int(pairs.rows[0])), other.was_chat(int(pairs.other_rows[0]))
    return form is not None and other_form is not None and form != other_form


def question_reasons_across(
    differences: Sequence[FactDifference], pairs: Pairs, allow: Collection[str]
) -> list[Reason]:
    """Returns why rows of two tools do not answer the same question.

    Prompts are no reason: each tool writes its own.
    """
    return [*fact_reasons(common_facts(differences), allow), *gold_reasons(pairs, allow)]


def metric_reasons(metrics: tuple[Metric, Metric], pairs: Pairs) -> list[Reason]:
    """Returns why values of two metrics cannot be compared; empty where they can."""
    metric, baseline = metrics
    if metric.metric == baseline.metric:
        return []
    for each, values in ((metric, pairs.now), (baseline, pairs.before)):
        if not _are_shares(values):
            differ = f"the metrics differ ({metric.name}, baseline {baseline.name})"
            no_share = f"{each.name} is not a score between 0 and 1"
            said = f"{differ}, and {no_share}; `--metric` names others"
            return [Reason(Kind.METRIC, said=said)]
    return []


def _are_shares(values: Floats) -> bool:
    """Returns whether all known values lie between 0 and 1."""
    known = values[np.isfinite(values)]
    return known.size == 0 or bool(known.min() >= 0 and known.max() <= 1)


def share_reasons(known: PairedRows, rules: PairRules) -> list[Reason]:
    """The reason where too few rows of the smaller side are paired, or scored on both sides."""
    if known.share >= LEAST_PAIRED or rules.partial:
        return []
    values = {"paired": known.paired, "smaller": known.smaller, "ids": known.examples}
    return [Reason(Kind.FEW_PAIRED, values=values)]


def conflict_warning(known: PairedRows) -> str:
    """The warning where the sides have different gold answers; empty for few of them."""
    if known.target_conflicts <= TOLERATED_MISSING * known.smaller:
        return ""
    rows = counted(known.smaller, "row")
    ids = shortlist(known.examples["another gold answer"], _NAMED)
    return (
        "the two sides disagree about the right answer of "
        f"{known.target_conflicts} of {rows}: {ids}"
    )
