"""Right or wrong of multiple-choice rows, derived anew from their stored log-likelihoods."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalprep.results.sample import Sample


class MultipleChoiceVerdicts(NamedTuple):
    """The two verdicts of a multiple-choice row, 1.0 or 0.0 each."""

    acc: float
    acc_norm: float


@dataclass(frozen=True)
class VerdictCheck:
    """The result of a look at the multiple-choice rows of a file.

    Attributes:
        checked: Rows whose logged verdicts could be held against their log-likelihoods.
        disagreeing: Ids of the rows whose logged `acc` or `acc_norm` is another.
    """

    checked: int = 0
    disagreeing: list[str] = field(default_factory=list)


def multiple_choice_verdicts(
    likelihoods: Sequence[float | str], choices: Sequence[str], gold: int | Sequence[int]
) -> MultipleChoiceVerdicts:
    """Returns `acc` and `acc_norm` of a row, as lm-eval computes them.

    `acc` takes the first maximum of the log-likelihoods, `acc_norm` that of the log-likelihoods
    over the number of characters of the choice without its leading blank.

    Args:
        likelihoods: Log-likelihood of each choice, as a number or as the text of one.
        choices: Texts of the choices.
        gold: Index of the right choice, or of all right ones.

    >>> multiple_choice_verdicts(["-4.0", "-4.5"], ["no", "not at all"], 1)
    MultipleChoiceVerdicts(acc=0.0, acc_norm=1.0)
    """
    return _verdicts(likelihoods, [choice.removeprefix(" ") for choice in choices], gold)


def _verdicts(
    likelihoods: Sequence[float | str], choices: Sequence[str], gold: int | Sequence[int]
) -> MultipleChoiceVerdicts:
    values = [float(value) for value in likelihoods]
    by_length = [_over(value, len(choice)) for value, choice in zip(values, choices, strict=True)]
    right = {gold} if isinstance(gold, int) else set(gold)
    return MultipleChoiceVerdicts(
        float(_first_maximum(values) in right), float(_first_maximum(by_length) in right)
    )


def _over(value: float, length: int) -> float:
    """A quotient as numpy has it: over zero infinite, or not a number."""
    if length:
        return value / length
    return math.nan if value == 0 or math.isnan(value) else math.copysign(math.inf, value)


def _first_maximum(values: Sequence[float]) -> int:
    """The place of the first maximum as numpy has it: not a number counts as the largest."""
    if not math.isnan(sum(values)):  # as of opposite infinities, too
        return values.index(max(values))
    unreadable = next((place for place, value in enumerate(values) if math.isnan(value)), None)
    return values.index(max(values)) if unreadable is None else unreadable


def check_verdicts(samples: Iterable[Sample]) -> VerdictCheck:
    """Holds the logged `acc` and `acc_norm` of multiple-choice rows against their likelihoods.

    Rows of another form, without these metrics or without a readable gold answer are passed over.
    """
    checked, disagreeing = 0, []
    for sample in samples:
        agrees = verdicts_agree(sample)
        checked += agrees is not None
        if agrees is False:
            disagreeing.append(sample.sample_id)
    return VerdictCheck(checked, disagreeing)


def verdicts_agree(sample: Sample) -> bool | None:
    """True where the logged verdicts follow from the stored log-likelihoods; None if unknown."""
    return _agree(_multiple_choice(sample), sample.metrics)


def _agree(row: _MultipleChoice | None, metrics: Mapping[str, Any]) -> bool | None:
    if row is None:
        return None
    logged = _logged_verdicts(metrics, row)
    if not logged:
        return None
    if _has_values(multiple_choice_verdicts(*row), logged):
        return True
    # A task without a delimiter counts the blank that its choices begin with; nothing in the line
    # tells which of the two it is.
    return _has_values(_verdicts(*row), logged)


def choice_margin(sample: Sample) -> float | None:
    """Returns by how much the best choice leads the second best, per character of the choice.

    The unit is nats of the log-likelihood over the length, as `acc_norm` compares them. None for a
    row of another form, or without a gold answer among its choices.
    """
    row = _multiple_choice(sample)
    if row is None or not all(row.choices):
        return None
    scaled = (
        likelihood / len(choice.removeprefix(" ") or choice)
        for choice, likelihood in zip(row.choices, row.likelihoods, strict=True)
    )
    best, second, *_ = sorted(scaled, reverse=True)
    return best - second


_VERDICTS = ("acc", "acc_norm")


class _MultipleChoice(NamedTuple):
    """A row whose choices were scored by their log-likelihoods."""

    likelihoods: list[float]
    choices: list[str]
    gold: int


def _multiple_choice(sample: Sample) -> _MultipleChoice | None:
    """The choices of a row with their log-likelihoods; None for a row of another form."""
    if len(sample.resps) < 2:  # one request is no choice
        return None
    continuations = _continuations_of_question(sample)
    replies = sample.resps[: len(continuations)]
    choices = [continuation for continuation in continuations if isinstance(continuation, str)]
    likelihoods = [value for value in map(_likelihood_of, replies) if value is not None]
    if len(choices) < 2 or not len(choices) == len(continuations) == len(likelihoods):
        return None
    gold = _gold_index(sample.target, choices)
    return None if gold is None else _MultipleChoice(likelihoods, choices, gold)


def _continuations_of_question(sample: Sample) -> list[Any]:
    """What the requests for the choices of a row ask for; nothing for a row of another form.

    For `acc_mutual_info` lm-eval asks for each choice once more, without the question; these
    requests stand behind the others.
    """
    continuations = sample.continuations
    if len(continuations) != len(sample.resps):
        return []
    half = len(continuations) // 2
    halves = continuations[:half], continuations[half:]
    is_twice = "acc_mutual_info" in sample.metrics and halves[0] == halves[1]
    return continuations[:half] if is_twice else continuations


def _likelihood_of(replies: object) -> float | None:
    """The log-likelihood of one request, `[["-1.5", "False"]]` or with numbers."""
    reply = replies
    while isinstance(reply, list) and reply and isinstance(reply[0], list):
        reply = reply[0]
    if not isinstance(reply, list) or len(reply) != 2:
        return None
    try:
        return float(reply[0])
    except (TypeError, ValueError):
        return None


def _gold_index(target: str, choices: Sequence[str]) -> int | None:
    """The place of the gold answer among the choices, of which it is the index or the text."""
    texts = [choice.strip() for choice in choices]
    answer = target.strip()
    places = {place for place, text in enumerate(texts) if text == answer}
    if answer.isdecimal() and int(answer) < len(texts):
        places.add(int(answer))
    return places.pop() if len(places) == 1 else None


def _has_values(verdicts: MultipleChoiceVerdicts, logged: Mapping[str, float]) -> bool:
    return all(getattr(verdicts, name) == value for name, value in logged.items())


def _logged_verdicts(metrics: Mapping[str, Any], row: _MultipleChoice) -> dict[str, float]:
    """The logged verdicts that the stored choices can tell."""
    names = [*_VERDICTS]
    if len(set(row.choices)) == 1:  # the choices stand in the prompts; their lengths are unknown
        names.remove("acc_norm")
    values = {name: metrics.get(name) for name in names}
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, (bool, int, float)) and value in (0, 1)
    }
