r"""Grade the boxed answer of a reply against a gold answer.

A cascade from cheap to dear: the same normal form, exact rational numbers, structure, algebra. Each
step either decides or passes on, and only the last one needs the worker process. Conventions and
bounds: docs/math-grading.md.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from custom_metrics.math import choices, compare, exact, relations, times_of_day
from custom_metrics.math.bounded import Stopped, Worker
from custom_metrics.math.exact import NotExactError, UndefinedError
from custom_metrics.math.extract import extract_boxed
from custom_metrics.math.oracle import ExactOracle
from custom_metrics.math.parse import MAX_LENGTH, NeedsAlgebraSystem, parse, spelling
from custom_metrics.math.rewrite import tidy
from custom_metrics.math.tokens import TooComplex
from custom_metrics.math.tree import SHAPES, Node
from custom_metrics.math.verdict import Method, Verdict
from custom_metrics.patterns import any_of

CPU_SECONDS = 1.0
"""CPU time that the worker may spend on one answer."""
CALCULUS_CPU_SECONDS = 3.0
"""The same for sums, integrals and limits, which the algebra system evaluates.

The CPU time of one request varies by a third with what shares the caches, so that a case near the
limit would not always get the same verdict.
"""
MEMORY_MB = 384
"""Data segment of the worker."""
MAX_CALCULUS = 400
"""Characters of an answer that the algebra system parses."""

_WORKER = Worker(cpu_seconds=CPU_SECONDS, memory_mb=MEMORY_MB)
_PLAIN = re.compile(r"[-+]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})")
_DIGITS_WITH_LETTERS = re.compile(
    r"\(?([0-9A-F]*(?:[0-9][A-F]|[A-F][0-9]|[A-F]{2})[0-9A-F]*)\)?(?:_\{?(1[1-6])\}?)?"
)

_RELATION = any_of(
    "approx simeq cong sim equiv leq? geq? neq? lesssim gtrsim propto triangleq doteq ll gg"
)
_RELATION_SIGN = re.compile(rf"(?:[=<>≈≤≥]|\\{_RELATION}(?![A-Za-z]))\s*")

FAILURE = "the grader failed"
"""Begins the reason of a verdict that hides a defect of the grader;
benchmarks/grading_robustness.py counts them."""

Decision = tuple[bool, Method, str]


def grade(gold: str, response: str, *, algebra: bool = True) -> Verdict:
    r"""Compares the last boxed answer of a reply with the gold answer.

    Args:
        gold: Content of the gold box.
        response: The whole reply.
        algebra: Allow the worker process; without it, what only algebra can decide counts as not
            equal.

    Returns:
        The verdict. The function never raises on any pair of strings.

    >>> grade(r"\frac{1}{2}", r"so $\boxed{0.5}$").method
    'number'
    >>> grade("[0,1)", r"$x \in$ \boxed{\left[0,1\right)}").correct
    True
    """
    answer = extract_boxed(response)
    if answer is None:
        why = "the reply has no complete last box"
        return Verdict(correct=False, extracted=None, method="none", why=why)
    correct, method, why = grade_answer(gold, answer, algebra=algebra)
    return Verdict(correct=correct, extracted=answer, method=method, why=why)


def grade_answer(gold: str, answer: str, *, algebra: bool = True) -> Decision:
    """Compares the contents of two boxes; see `grade`."""
    gold = gold.strip()
    answer = answer.strip()
    if not answer or not gold:
        return answer == gold, "none", "empty answer"
    if gold == answer:
        return True, "string", "same text"
    if max(len(gold), len(answer)) > MAX_LENGTH:
        return False, "string", "too long to be parsed, and the texts differ"
    if _PLAIN.fullmatch(gold) and _PLAIN.fullmatch(answer):
        return _number(Fraction(gold), Fraction(answer))
    try:
        return _decide(gold, answer, algebra)
    except Exception as error:  # noqa: BLE001 - one reply must never end the scoring of a run
        return False, "none", f"{FAILURE}: {type(error).__name__}"


def _number(gold: Fraction, answer: Fraction) -> Decision:
    if gold == answer:
        return True, "number", "equal numbers"
    return False, "number", "different numbers"


@lru_cache(maxsize=2048)
def _decide(gold: str, answer: str, algebra: bool) -> Decision:
    try:
        gold_spelling = spelling(gold)
        answer_spelling = spelling(answer)
    except TooComplex as error:
        return False, "string", f"not readable: {error}"
    if not answer_spelling:
        return False, "none", "empty answer"
    if gold_spelling == answer_spelling:
        return True, "string", "same normal form"
    return _by_notation(gold, answer) or _by_structure(gold, answer, algebra)


def _by_notation(gold: str, answer: str) -> Decision | None:
    """Decides on times of day, letters of choices and numerals with letters as digits.

    None for anything else.
    """
    same_time = times_of_day.same_time(gold, answer)
    if same_time is not None:
        reason = "the same time of day" if same_time else "different times of day"
        return same_time, "structure", reason
    if choices.same_letter(gold, answer):
        return True, "structure", "the same choice"
    if _same_letter_numeral(gold, answer):
        return True, "structure", "same numeral"
    return None


def _by_structure(gold: str, answer: str, algebra: bool) -> Decision:
    """Decides on the trees, with a comma as a mark of thousands, else as one between items."""
    decision = _parsed(gold, answer, algebra, thousands=True)
    correct, method, _ = decision
    if correct or method == "timeout":
        return decision
    if not _comma_is_ambiguous(gold, answer):
        return decision
    second_decision = _parsed(gold, answer, algebra, thousands=False)
    is_equal, *_ = second_decision
    return second_decision if is_equal else decision


def _parsed(gold: str, answer: str, algebra: bool, *, thousands: bool) -> Decision:
    try:
        gold_tree = parse(gold, thousands=thousands)
        answer_tree = parse(answer, thousands=thousands)
        sides = relations.aligned(gold_tree, answer_tree)
    except NeedsAlgebraSystem:
        if not algebra or max(len(gold), len(answer)) > MAX_CALCULUS:
            return False, "algebra", "calculus, and the texts differ"
        return _calculus(gold, answer)
    except TooComplex as error:
        reason = f"not read as mathematics ({error}), and the texts differ"
        return False, "structure", reason
    return _compared(gold, answer, sides, algebra=algebra, thousands=thousands)


def _compared(
    gold: str, answer: str, sides: tuple[Node, Node], *, algebra: bool, thousands: bool
) -> Decision:
    """Compares two trees: as rational numbers, by structure, else in the worker."""
    gold_number, answer_number = map(_rational, sides)
    if gold_number is not None and answer_number is not None:
        return _number(gold_number, answer_number)
    has_shape = any(side.op in SHAPES | {"percent", "deg", "pm"} for side in sides)
    method: Method = "structure" if has_shape else "algebra"
    try:
        same = compare.equal(*sides, ExactOracle())
    except NotExactError as error:
        if not algebra:
            return False, method, f"needs algebra: {error}"
        texts = {"gold": gold, "answer": answer}
        return _ask({"kind": "equal", **texts, "thousands": thousands})
    how = "equal" if same else "different"
    return same, method, f"{how} {_name(sides[0])}"


def _calculus(gold: str, answer: str) -> Decision:
    """Compares answers with sums, integrals or limits: of two relations each side by itself.

    math-verify takes the last side of a relation and drops the others.
    """
    relation = _relation_sides(gold)
    other = _relation_sides(answer)
    if relation is None or other is None:
        texts = {"gold": tidy(gold), "answer": tidy(answer)}
        return _ask({"kind": "math_verify", **texts}, CALCULUS_CPU_SECONDS)
    if relation.sign != other.sign:
        return False, "structure", "different relations"
    decision = grade_answer(relation.left_side, other.left_side)
    is_equal, *_ = decision
    if not is_equal:
        return decision
    return grade_answer(relation.right_side, other.right_side)


class _Relation(NamedTuple):
    """An answer that is an equation or an inequality, as texts."""

    left_side: str
    sign: str
    right_side: str


def _relation_sides(answer: str) -> _Relation | None:
    """Splits an answer at its only sign of a relation outside braces."""
    signs = []
    for match in _RELATION_SIGN.finditer(answer):
        opened = answer.count("{", 0, match.start())
        closed = answer.count("}", 0, match.start())
        if opened == closed:
            signs.append(match)
    if len(signs) != 1:
        return None
    sign = signs[0]
    left_side = answer[: sign.start()]
    right_side = answer[sign.end() :]
    return _Relation(left_side, sign.group().strip(), right_side)


def _name(node: Node) -> str:
    names = {
        "rel": "relations",
        "tuple": "tuples or intervals",
        "quantity": "values or units",
        "deg": "values or units",
        "text": "texts",
        "based": "numerals",
        "list": "lists",
        "set": "sets",
        "matrix": "matrices",
        "ratio": "ratios",
        "percent": "percentages",
        "union": "sets",
        "named": "sets",
    }
    return names.get(node.op, "expressions")


def _rational(node: Node) -> Fraction | None:
    try:
        return exact.rational(node)
    except (NotExactError, UndefinedError):
        return None


def _ask(request: dict[str, Any], cpu_seconds: float | None = None) -> Decision:
    try:
        reply = _WORKER.ask(request, cpu_seconds=cpu_seconds)
    except Stopped as stop:
        return False, "timeout", str(stop)
    is_equal = bool(reply["equal"])
    return is_equal, "algebra", str(reply["why"])


def _comma_is_ambiguous(gold: str, answer: str) -> bool:
    """Tells whether a comma groups digits on one side while the other side is a list."""
    if not any(re.search(r"\d,\d{3}(?!\d)", text) for text in (gold, answer)):
        return False
    try:
        kinds = {parse(text).op for text in (gold, answer)}
    except TooComplex:
        return False
    return bool(kinds & {"list", "tuple", "set"})


def _same_letter_numeral(gold: str, answer: str) -> bool:
    """Numerals with letters as digits: `BEE_{16}` is `BEE`, not `BEE_{15}`."""
    first = _letter_numeral(gold)
    second = _letter_numeral(answer)
    if first is None or second is None:
        return False
    if first.group(1) != second.group(1):
        return False
    bases = {first.group(2), second.group(2)} - {None}
    return len(bases) == 1


def _letter_numeral(text: str) -> re.Match[str] | None:
    """Reads a numeral with letters as digits: its digits, and its base or None."""
    numeral = spelling(text).replace('"', "").upper()
    return _DIGITS_WITH_LETTERS.fullmatch(numeral)
