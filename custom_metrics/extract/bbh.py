# ruff: noqa: RUF001 - replies use typographic quotes, dashes and full-width marks; the patterns name them
r"""Answers of the BIG-Bench Hard subtasks, each read and compared in the form that its subtask asks for.

The published recipe reads `the answer is (.*?)\.` and compares without punctuation. That cuts 3.5 to 3, finds nothing
where the text ends without a full stop, calls every bracket sequence equal to every other, and scores an unreadable
reply as the answer "invalid" of formal_fallacies.

Subtasks and answer forms: Suzgun et al., 2022, "Challenging BIG-Bench Tasks and Whether Chain-of-Thought Can Solve
Them", and its data files.
"""

from __future__ import annotations

import re
from typing import Literal

from custom_metrics.extract.number import canonical_number, extract_number, same_number
from custom_metrics.number_names import NUMBER_NAMES

Kind = Literal["yes_no", "true_false", "validity", "letter", "number", "brackets", "words", "text"]

_KINDS: dict[str, Kind] = {
    "boolean_expressions": "true_false",
    "causal_judgement": "yes_no",
    "dyck_languages": "brackets",
    "formal_fallacies": "validity",
    "multistep_arithmetic_two": "number",
    "navigate": "yes_no",
    "object_counting": "number",
    "sports_understanding": "yes_no",
    "web_of_lies": "yes_no",
    "word_sorting": "words",
}
_LETTER_SUBTASKS = (
    "date_understanding",
    "disambiguation_qa",
    "geometric_shapes",
    "hyperbaton",
    "logical_deduction",
    "movie_recommendation",
    "penguins_in_a_table",
    "reasoning_about_colored_objects",
    "ruin_names",
    "salient_translation_error_detection",
    "snarks",
    "temporal_sequences",
    "tracking_shuffled_objects",
)
MAX_CHARS = 200_000
_NEXT_QUESTION = re.compile(r"\n\s{0,4}Q: ")
_STATEMENT = re.compile(r"\banswer(?:\s+is\b|\s{0,2}[:：=])[ \t]{0,4}[:：]?", re.IGNORECASE)
_NOISE = r"[\s*_`\"'“”‘’$:({\[]{0,12}(?:\\(?:boxed|text|textbf)\s?\{){0,3}"
_WORD_FORMS: dict[Kind, re.Pattern[str]] = {
    "yes_no": re.compile(rf"{_NOISE}(yes|no)\b", re.IGNORECASE),
    "true_false": re.compile(rf"{_NOISE}(true|false)\b", re.IGNORECASE),
    "validity": re.compile(
        rf"{_NOISE}(?:deductively\s+)?((?:not\s+(?:deductively\s+)?)?valid|invalid)\b", re.IGNORECASE
    ),
    "letter": re.compile(rf"{_NOISE}(?:(?:option|choice)\s)?{_NOISE}([A-Z])(?![^\W_]|['’]\w)"),
}
_BRACKETS = re.compile(r"[\s\[\](){}<>]+")
_BRACKET_RUN = re.compile(r"[\[\](){}<>](?:[ \t]{0,4}[\[\](){}<>])*")


def answer_kind(subtask: str | None) -> Kind:
    """Name the form in which a subtask's answers are written.

    Args:
        subtask: A BIG-Bench Hard subtask name, with or without a `bbh_` prefix; None for an unknown one.

    Returns:
        The form; `text` for a subtask that is not known.

    >>> answer_kind("dyck_languages"), answer_kind("tracking_shuffled_objects_five_objects")
    ('brackets', 'letter')
    """
    name = (subtask or "").lower().strip().replace(" ", "_").removeprefix("bbh_")
    if name in _KINDS:
        return _KINDS[name]
    return "letter" if name.startswith(_LETTER_SUBTASKS) else "text"


def _read(kind: Kind, tail: str) -> str | None:
    """Read an answer of one form from the text that follows "the answer is"."""
    if kind in _WORD_FORMS:
        found = _WORD_FORMS[kind].match(tail)
        return None if found is None else found.group(1)
    line = tail.lstrip().split("\n", 1)[0].strip()
    if kind == "number":
        first = line.rsplit("=", 1)[-1].strip(" *_`$\"'\\(")
        word = re.match(r"[a-z]+", first.lower())
        if word and word.group() in NUMBER_NAMES:
            return str(NUMBER_NAMES.index(word.group()))
        sentence = re.split(r"[.!?](?:\s|$)", first, maxsplit=1)[0]
        number = re.match(r"[-+\u2212]?\s?\$?\d[\d,]*(?:\.\d+)?", sentence)
        return canonical_number(number.group().rstrip(",")) if number else extract_number(sentence)
    if kind == "brackets":
        runs = _BRACKET_RUN.findall(line)
        return max(runs, key=len) if runs else None
    sentence = line if kind == "words" else re.split(r"\.(?:\s|$)", line, maxsplit=1)[0]
    sentence = sentence.strip(" \t*_`\"'“”").removesuffix(".").strip(" \t*_`\"'“”")
    return sentence or None


def _normal(kind: Kind, answer: str) -> str:
    """Bring an answer into the one spelling in which its form is compared."""
    text = answer.strip()
    if kind == "brackets":
        return "".join(re.findall(r"[\[\](){}<>]", text)) if _BRACKETS.fullmatch(text) else text
    if kind == "letter":
        letter = re.fullmatch(r"[\s(\[*]*([A-Za-z])[\s)\]*.]*", text)
        return letter.group(1).upper() if letter else text.casefold()
    if kind == "words":
        return " ".join(re.findall(r"[^\s,;]+", text.casefold().rstrip(".")))
    folded = " ".join(text.casefold().split()).strip("\"'*`").rstrip(".")
    if kind == "validity" and re.fullmatch(r"not (?:deductively )?valid", folded):
        return "invalid"
    return folded


def extract_bbh(text: str, subtask: str | None = None) -> str | None:
    """Read the answer of a BIG-Bench Hard reply.

    The last "answer is" before a further invented question counts; a reply without one counts only where the whole
    reply has the form of an answer.

    Args:
        text: A reply without thinking traces.
        subtask: The subtask, which decides the form of the answer.

    Returns:
        The answer as a text that `same_bbh` compares, or None.

    >>> extract_bbh("So the answer is 3.5", "multistep_arithmetic_two")
    '3.5'
    >>> extract_bbh("So the answer is ] ) }.", "dyck_languages")
    '] ) }'
    """
    text = _NEXT_QUESTION.split(text[:MAX_CHARS], maxsplit=1)[0]
    kind = answer_kind(subtask)
    statements = list(_STATEMENT.finditer(text))
    for statement in reversed(statements[-50:]):
        answer = _read(kind, text[statement.end() : statement.end() + 2000])
        if answer is not None:
            return f"({answer})" if kind == "letter" else answer
    bare = text.strip().strip("*`\"'").strip()
    if statements or not bare or len(bare) > 400 or "\n" in bare or kind == "text":
        return None
    shapes = {
        "yes_no": r"(?:yes|no)\W*",
        "true_false": r"(?:true|false)\W*",
        "validity": r"(?:valid|invalid)\W*",
        "letter": r"\(?[A-Z]\)?\W*",
        "number": r"[-+\u2212]?[\d,]*\.?\d+\.?",
        "brackets": r"[\s\[\](){}<>]+",
        "words": r"[\w'-]+(?:[ ,]+[\w'-]+)*\.?",
    }
    if not re.fullmatch(shapes[kind], bare, re.IGNORECASE if kind != "letter" else 0):
        return None
    answer = _read(kind, bare)
    return f"({answer})" if answer is not None and kind == "letter" else answer


def same_bbh(answer: str, gold: str, subtask: str | None = None) -> bool:
    """Compare an answer with the gold one in the form of its subtask.

    Brackets keep their punctuation, sorted words their order, numbers are compared by value, words without regard to
    case.

    Args:
        answer: What was extracted; `[invalid]` is never right.
        gold: The published answer.
        subtask: The subtask, which decides the form.

    Returns:
        Whether they agree.

    >>> same_bbh("> > ]", "] ) }", "dyck_languages")
    False
    >>> same_bbh("[invalid]", "invalid", "formal_fallacies")
    False
    """
    if answer == "[invalid]":
        return False
    kind = answer_kind(subtask)
    left, right = _normal(kind, answer), _normal(kind, gold)
    if not left:
        return False
    return left == right or (kind in ("number", "text") and same_number(left, right))


METRICS = {"extract.bbh": extract_bbh, "extract.same_bbh": same_bbh}
