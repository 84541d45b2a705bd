"""Right or wrong of multiple-choice rows, derived anew from their stored log-likelihoods."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice, repeat
from operator import eq
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from evalprep.samples.sample import UNDECODABLE, Sample, parse


class MultipleChoiceVerdicts(NamedTuple):
    """The two verdicts of a multiple-choice row, 1.0 or 0.0 each."""

    acc: float
    acc_norm: float


class VerdictCheck(msgspec.Struct, frozen=True):
    """The result of a look at the multiple-choice rows of a file.

    Attributes:
        checked: Rows whose logged verdicts could be held against their log-likelihoods.
        disagreeing: Ids of the rows whose logged `acc` or `acc_norm` is another.
    """

    checked: int = 0
    disagreeing: list[str] = msgspec.field(default_factory=list)


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


def check_lines(lines: Iterable[bytes], filter_name: str) -> VerdictCheck:
    """`check_verdicts` of the lines of a samples file under one filter.

    Of lines as lm-eval writes them only what the check looks at is decoded, many at once. Those in
    another form, and those that seem to disagree, are read whole.
    """
    checked, disagreeing = 0, []
    remaining = iter(lines)
    while some := list(islice(remaining, _AT_ONCE)):
        decoded = _decoded(some)
        places = [
            place
            for place, line in enumerate(decoded)
            if line is not None and line.filter == filter_name
        ]
        agreements = dict(zip(places, _agreements([decoded[at] for at in places]), strict=True))
        checked += [*agreements.values()].count(True)
        items = (
            parse(raw)
            for place, raw in enumerate(some)
            if decoded[place] is None or agreements.get(place) is False
        )
        rest = check_verdicts(
            item for item in items if isinstance(item, Sample) and item.filter == filter_name
        )
        checked += rest.checked
        disagreeing += rest.disagreeing
    return VerdictCheck(checked, disagreeing)


def _decoded(some: Sequence[bytes]) -> list[Any]:
    """The parts of lines that the check looks at; None of lines in another form."""
    # With a brace at both ends of each line the decoder finds one value per line.
    if all(raw.startswith(b"{") and raw.endswith(b"}\n") for raw in some):
        try:
            lines = _lines.decode_lines(b"".join(some))
        except UNDECODABLE:
            lines = []
        if len(lines) == len(some):
            return [line if line.is_usual else None for line in lines]
    return list(map(_decoded_line, some))


def _decoded_line(raw: bytes) -> _Line | None:
    try:
        line = _lines.decode(raw)
    except UNDECODABLE:
        return None
    return line if line.is_usual else None


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


class _Choice(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The request for one choice."""

    arg_0: msgspec.Raw
    arg_1: str


class _Line(msgspec.Struct, gc=False):
    """The parts of a line of multiple choice as lm-eval writes it."""

    doc: msgspec.Raw
    arguments: dict[str, _Choice]
    resps: list[list[tuple[float, str]]]
    target: str
    metrics: tuple[str, ...]
    filter: str = "none"
    acc: Any = None
    acc_norm: Any = None

    @property
    def is_usual(self) -> bool:
        """Returns whether the line holds a row whose requests are one for each choice."""
        return self.doc != _NULL and "acc_mutual_info" not in self.metrics

    @property
    def logged(self) -> dict[str, Any]:
        """The verdicts that the line names."""
        return {name: getattr(self, name) for name in _VERDICTS if name in self.metrics}


_NULL = msgspec.Raw(b"null")
_AT_ONCE = 256  # lines
_LONG = 10  # digits
_VERDICTS = ("acc", "acc_norm")
_lines = msgspec.json.Decoder(_Line, strict=False)  # lm-eval logs a number as its text


def _row_of(line: _Line) -> _MultipleChoice | None:
    """The choices of a line with their log-likelihoods; None for a row of another form."""
    resps, requests = line.resps, line.arguments.values()
    if len(resps) < 2 or len(requests) != len(resps):
        return None
    if not all(resps):  # a request without a reply
        return None
    likelihoods = [repeats[0][0] for repeats in resps]
    choices = [request.arg_1 for request in requests]
    gold = _gold_index(line.target, choices)
    return None if gold is None else _MultipleChoice(likelihoods, choices, gold)


def _agreements(lines: Sequence[_Line]) -> list[bool | None]:
    """Whether the logged verdicts of each line follow; None where that is unknown."""
    alike = _alike(lines)
    if alike is None:
        return [_agree(_row_of(line), line.logged) for line in lines]
    known, gold = alike.gold()
    agrees = alike.agree(gold)
    return [
        bool(agree) if is_known else None for agree, is_known in zip(agrees, known, strict=True)
    ]


def _alike(lines: Sequence[_Line]) -> _Rows | None:
    """Lines with equally many choices and plain verdicts, as those of a task are; else None."""
    if not lines:
        return None
    first = lines[0]
    width = len(first.resps)
    replies = [line.resps for line in lines]
    arguments = [line.arguments for line in lines]
    logged = {name: [getattr(line, name) for line in lines] for name in first.logged}
    verdicts = list(chain.from_iterable(logged.values()))
    is_plain = {*map(type, verdicts)} == {float} and {0.0, 1.0}.issuperset(verdicts)
    has_names = all(line.metrics == first.metrics for line in lines)
    sizes = {width, *map(len, replies), *map(len, arguments)}
    are_alike = len(sizes) == 1 and has_names and all(chain.from_iterable(replies))
    if width < 2 or not is_plain or not are_alike:
        return None
    requests = chain.from_iterable(map(dict.values, arguments))
    choices = [request.arg_1 for request in requests]
    columns = [choices[place::width] for place in range(width)]
    has_equal = [list(map(eq, columns[0], column)) for column in columns[1:]]
    if np.all(has_equal, axis=0).any():
        return None  # the choices stand in the prompts
    likelihoods = [repeats[0][0] for repeats in chain.from_iterable(replies)]
    return _Rows(
        np.array(likelihoods).reshape(-1, width),
        choices,
        [line.target.strip() for line in lines],
        {name: np.array(column) for name, column in logged.items()},
    )


class _Rows(msgspec.Struct, frozen=True):
    """Rows with equally many choices.

    Attributes:
        likelihoods: A row each, with the log-likelihoods of its choices.
        choices: The texts of all choices, row after row.
        answers: The gold answer of each row.
        logged: `acc` and `acc_norm` as logged, of those that are.
    """

    likelihoods: NDArray[np.float64]
    choices: list[str]
    answers: list[str]
    logged: Mapping[str, NDArray[np.float64]]

    def gold(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Where the gold answer is one of the choices, and which: see `_gold_index`."""
        width = self.likelihoods.shape[1]
        answers = chain.from_iterable(repeat(answer, width) for answer in self.answers)
        texts = map(str.strip, self.choices)
        is_gold = np.fromiter(map(eq, texts, answers), dtype=bool).reshape(-1, width)
        number_of = {answer: _number_in(answer) for answer in set(self.answers)}
        places = np.array([number_of[answer] for answer in self.answers])
        is_gold |= np.arange(width) == places[:, None]
        return is_gold.sum(axis=1) == 1, is_gold.argmax(axis=1)

    def agree(self, gold: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the logged verdicts follow, with or without the blank before a choice."""
        # numpy takes the first maximum, and what is no number as the largest, as lm-eval does.
        agrees = np.ones(len(gold), dtype=bool)
        if "acc" in self.logged:
            agrees &= (self.likelihoods.argmax(axis=1) == gold) == self.logged["acc"]
        if "acc_norm" not in self.logged:
            return agrees
        whole = np.fromiter(map(len, self.choices), dtype=np.int64)
        blanks = np.fromiter((text[:1] == " " for text in self.choices), dtype=np.int64)
        follows = np.zeros(len(gold), dtype=bool)
        for lengths in (whole - blanks, whole):
            with np.errstate(divide="ignore", invalid="ignore"):
                scaled = self.likelihoods / lengths.reshape(self.likelihoods.shape)
            follows |= (scaled.argmax(axis=1) == gold) == self.logged["acc_norm"]
        agrees &= follows
        return agrees


class _MultipleChoice(NamedTuple):
    """A row whose choices were scored by their log-likelihoods."""

    likelihoods: list[float]
    choices: list[str]
    gold: int


def _multiple_choice(sample: Sample) -> _MultipleChoice | None:
    """The choices of a row with their log-likelihoods; None for a row of another form."""
    if len(sample.resps) < 2:  # one request is no choice
        return None
    choices = sample.continuations
    if len(choices) != len(sample.resps):
        return None
    half = len(choices) // 2
    if "acc_mutual_info" in sample.metrics and choices[:half] == choices[half:]:
        del choices[half:]  # lm-eval asks for each choice once more, without the question
    likelihoods = [_likelihood_of(replies) for replies in sample.resps[: len(choices)]]
    if len(choices) < 2 or not all(isinstance(choice, str) for choice in choices):
        return None
    known = [value for value in likelihoods if value is not None]
    gold = _gold_index(sample.target, choices)
    if gold is None or len(known) < len(choices):
        return None
    return _MultipleChoice(known, choices, gold)


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
    number = _number_in(answer)
    if 0 <= number < len(texts):
        places.add(number)
    return places.pop() if len(places) == 1 else None


def _number_in(answer: str) -> int:
    """The whole number that an answer is; -1 for another text, or one too long for a place."""
    return int(answer) if answer.isdecimal() and len(answer) < _LONG else -1


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
