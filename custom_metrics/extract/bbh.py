# ruff: noqa: RUF001 - replies use typographic quotes, dashes and full-width marks; the patterns
# name them
r"""Answers of the BIG-Bench Hard subtasks, read and compared in the form of each subtask.

The published recipe reads `the answer is (.*?)\.` and compares without punctuation. That cuts 3.5
to 3, finds nothing where the text ends without a full stop, calls every bracket sequence equal to
every other, and scores an unreadable reply as the answer "invalid" of formal_fallacies.

Subtasks and answer forms: Suzgun et al., 2022, "Challenging BIG-Bench Tasks and Whether
Chain-of-Thought Can Solve Them", and its data files.
"""

from __future__ import annotations

import re
from typing import Literal

from custom_metrics.extract.choice import extract_choice
from custom_metrics.extract.number import extract_number
from custom_metrics.extract.numeral import same_number
from custom_metrics.extract.wording import BOX, without_end_tokens

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
_LETTERS = "ABCDEFGHIJKLMNOPQR"
"""The subtasks offer up to eighteen options."""
_PUBLISHED = "the answer is "
_MAX_ANSWER = 2000
_MAX_LINE = 400

_NEXT_QUESTION = re.compile(r"\n\s{0,4}Q: ")
_STATEMENT = re.compile(
    r"<answer>"
    r"|\banswers?\b(?:\s+to\b[^.\n]{0,60}?)?"
    r"[\"'*_”’)]{0,4}(?:\s+is\b|\s{0,2}[:：=])[ \t]{0,4}[:：]?"
    r"|\bsorted\b(?:\s+(?:list|words|order)\b)?[^.\n:]{0,20}(?:\bis\b|:)"
    r"|^[#*_ ]{0,8}(?:final\s+)?answer[*_ ]{0,8}$",
    re.IGNORECASE | re.MULTILINE,
)
_NOISE = r"[\s*_`\"'“”‘’$:(\[{]{0,12}(?:\\(?:boxed|text|textbf|[(\[])\s?\{?){0,3}"
_WORDS: dict[Kind, str] = {
    "yes_no": r"yes|no",
    "true_false": r"true|false",
    "validity": r"(?:not\s+(?:deductively\s+)?)?valid|invalid",
}
_WORD_FORMS: dict[Kind, re.Pattern[str]] = {
    kind: re.compile(rf"{_NOISE}(?:deductively\s+)?(?P<word>{words})(?![\w-])", re.IGNORECASE)
    for kind, words in _WORDS.items()
}
# "yes and no", "True or False", "valid/invalid"
_EITHER = re.compile(
    r"[\s*_`\"'”’)\]}]{0,8}(?:\bor\b|\band\b|/)\W{0,8}(?:yes|no|true|false|valid|invalid|not)\b",
    re.IGNORECASE,
)
_MATTER = r"\b(?:argument|reasoning|deduction|inference|expression|result|value)\b"
_IS = r"(?:\b(?:is|are|be|to|isn['’]t)\b|[=:])"
# Verdicts on the matter itself; an equation, or "it is true that ...", may as well be a step of a
# reasoning cut off.
_VERDICT = re.compile(
    rf"(?:{_MATTER}[^.\n]{{0,40}}?{_IS}|\A[^.\n]{{0,80}}=)\s{{0,4}}"
    rf"(?:therefore\s|thus\s)?{_NOISE}",
    re.IGNORECASE,
)
_MAX_EQUATION = 120
_BRACKETS = re.compile(r"[\s\[\](){}<>]+")
_BRACKET_RUN = re.compile(r"[\[\](){}<>](?:[ \t]{0,4}[\[\](){}<>])*")
_ESCAPED_BRACKET = re.compile(r"\\(?=[\[\](){}])")
_MARKS = " \t*_`\"'“”$"
_LIST_MARK = re.compile(r"^\s{0,8}(?:\d{1,3}[.)]|[-*•])\s+", re.MULTILINE)
_WORD_LIST = re.compile(r"[\w'’-]+(?:[ \t,;<\n]+[\w'’-]+)*[.\s]*")


def answer_kind(subtask: str | None) -> Kind:
    """Names the form in which a subtask's answers are written.

    Args:
        subtask: A BIG-Bench Hard subtask name, with or without a `bbh_` prefix; None for an unknown
            one.

    Returns:
        The form; `text` for a subtask that is not known.

    >>> answer_kind("dyck_languages"), answer_kind("tracking_shuffled_objects_five_objects")
    ('brackets', 'letter')
    """
    name = (subtask or "").lower().strip().replace(" ", "_").removeprefix("bbh_")
    if name in _KINDS:
        return _KINDS[name]
    return "letter" if name.startswith(_LETTER_SUBTASKS) else "text"


def _word(kind: Kind, tail: str) -> str | None:
    """Reads one of a subtask's words at the start of a text or behind its last equals sign."""
    line = tail.lstrip().split("\n", 1)[0]
    sentence = re.split(r"[.!?](?:\s|$)", line, maxsplit=1)[0]
    for text in (line, sentence.rsplit("=", 1)[-1]):
        word = _WORD_FORMS[kind].match(text)
        if word:
            if _EITHER.match(text, word.end()):
                return None
            return word.group("word")
    return None


def _verdict(kind: Kind, line: str, *, alone: bool) -> str | None:
    """Reads the word of a line that concludes: "Yes, she does.", "The argument is invalid.".

    A line that stands alone may also end with it: "... = False".
    """
    opening = re.match(
        rf"{_NOISE}(?P<word>{_WORDS[kind]})(?=[*_`\"'”’)\s]{{0,4}}(?:[.,;:!–—-]|$))",
        line,
        re.IGNORECASE,
    )
    if opening and not _EITHER.match(line, opening.end()):
        return opening.group("word")
    if kind == "yes_no":
        return None
    return _word_behind_subject(kind, line, alone=alone)


def _word_behind_subject(kind: Kind, line: str, *, alone: bool) -> str | None:
    """Reads the one word that a line gives as the verdict on its matter.

    An equation counts where it stands alone.
    """
    verdicts = []
    for subject in _VERDICT.finditer(line):
        if "=" in subject.group() and not alone:
            continue
        word = _WORD_FORMS[kind].match(line, subject.end())
        if word and not _EITHER.match(line, word.end()):
            verdicts.append((subject.group(), word.group("word")))
    return _agreed_verdict(kind, verdicts)


def _agreed_verdict(kind: Kind, verdicts: list[tuple[str, str]]) -> str | None:
    """Returns the word on which all verdicts of a line agree, each with its subject.

    "isn't valid" is not valid.
    """
    if len({word.lower() for _, word in verdicts}) != 1:
        return None
    subject_text, word_text = verdicts[-1]
    if not re.search(r"n['’]t\b", subject_text):
        return word_text
    if kind == "validity" and word_text.lower() == "valid":
        return "not valid"
    return None


def _brackets(tail: str) -> str | None:
    line = tail.lstrip().split("\n", 1)[0]
    formula = re.fullmatch(r"[\s*]{0,4}\\\((.{0,400})\\\)[\s*.]{0,4}", line)
    runs = _BRACKET_RUN.findall(_ESCAPED_BRACKET.sub("", formula.group(1) if formula else line))
    return max(runs, key=len) if runs else None


def _word_list(tail: str) -> str | None:
    """Reads words of one sentence or, where they stand on lines of their own, of the whole list."""
    tail = tail.lstrip(_MARKS + "\n:[(")
    first = tail.split("\n", 1)[0]
    if _LIST_MARK.match(first) or re.fullmatch(r"[\w'’-]+(?:\n[\w'’-]+)+\s*", tail):
        items = tail.split("\n\n", 1)[0]
        return (
            " ".join(line.strip(_MARKS) for line in _LIST_MARK.sub("", items).splitlines()).strip()
            or None
        )
    sentence = re.split(
        r"[.!](?:\s|$)", re.sub(r"[*_`]{1,3}(?=[.!]?(?:\s|$))", "", first), maxsplit=1
    )[0]
    return sentence.strip(_MARKS + "[]()").removesuffix(".") or None


def _read(kind: Kind, tail: str) -> str | None:
    """Reads an answer of one form from the text that follows "the answer is"."""
    if kind in _WORD_FORMS:
        return _word(kind, tail)
    if kind == "brackets":
        return _brackets(tail)
    if kind == "words":
        return _word_list(tail)
    line = tail.lstrip().split("\n", 1)[0].strip()
    sentence = (
        re.split(r"\.(?:\s|$)", line, maxsplit=1)[0].strip(_MARKS).removesuffix(".").strip(_MARKS)
    )
    return sentence or None


def _stated(kind: Kind, text: str) -> tuple[bool, str | None]:
    """Reads the last statement or box that holds an answer.

    The first value tells whether there was any statement.
    """
    tails = [
        (match.end(), text[match.end() : match.end() + _MAX_ANSWER])
        for match in _STATEMENT.finditer(text)
    ]
    tails += [
        (box.start(), re.sub(r"\\text(?:bf)?\s?\{([^{}]*)\}", r"\1", box.group("content")))
        for box in BOX.finditer(text)
    ]
    for _, tail in sorted(tails, reverse=True)[:50]:
        answer = _read(kind, tail)
        if answer is not None:
            return True, answer
    return bool(tails), None


def _unstated(kind: Kind, text: str) -> str | None:
    """Reads a reply that states nothing.

    One that begins with its verdict, ends in it, or is nothing but an answer.
    """
    if not text.strip() or kind == "text":
        return None
    if kind in _WORD_FORMS:
        return _unstated_word(kind, text)
    bare = text.strip(_MARKS + "\n")
    if kind == "words":
        bare = _LIST_MARK.sub("", bare)
        if len(bare) <= _MAX_LINE and _WORD_LIST.fullmatch(bare):
            return _word_list(text)
        return None
    is_sequence = len(bare) <= _MAX_LINE and _BRACKETS.fullmatch(_ESCAPED_BRACKET.sub("", bare))
    return _brackets(bare) if is_sequence else None


def _unstated_word(kind: Kind, text: str) -> str | None:
    """Reads the verdict of the first line, else of the last one; a list of the options has none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if sum(1 for line in lines if _LIST_MARK.match(line)) > 1:
        return None
    alone = len(lines) == 1 and len(text) <= _MAX_EQUATION
    first = lines[0][:_MAX_LINE]
    last = lines[-1][-_MAX_LINE:]
    return _verdict(kind, first, alone=alone) or _verdict(kind, last, alone=alone)


def _normal(kind: Kind, answer: str) -> str:
    """Brings an answer into the one spelling in which its form is compared."""
    text = answer.strip()
    if kind == "brackets":
        if _BRACKETS.fullmatch(text):
            return "".join(re.findall(r"[\[\](){}<>]", text))
        return text
    if kind == "letter":
        letter = re.fullmatch(r"[\s(\[*]*([A-Za-z])[\s)\]*.]*", text)
        return letter.group(1).upper() if letter else text.casefold()
    if kind == "words":
        return " ".join(re.findall(r"[\w'-]+", text.casefold().replace("’", "'")))
    folded = " ".join(text.casefold().split()).strip("\"'*`").rstrip(".")
    if kind == "validity" and re.fullmatch(r"not (?:deductively )?valid", folded):
        return "invalid"
    return folded


def extract_bbh(text: str, subtask: str | None = None) -> str | None:
    """Reads the answer of a BIG-Bench Hard reply.

    The last "answer is" or box before a further invented question counts. A reply without one
    counts where it begins or ends with a verdict ("No, ...", "The argument is valid."), or where
    the whole reply is nothing but an answer.

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
    text = without_end_tokens(_NEXT_QUESTION.split(text[:MAX_CHARS], maxsplit=1)[0])
    kind = answer_kind(subtask)
    if kind == "letter":
        letter = extract_choice(text, _LETTERS)
        return None if letter is None else f"({letter})"
    if kind == "number":
        states = _STATEMENT.search(text) or BOX.search(text)
        # Numbers of a reasoning that was cut off are no answer.
        if states or len(text.strip().splitlines()) == 1:
            return extract_number(text)
        return None
    stated, answer = _stated(kind, text)
    return answer if stated else _unstated(kind, text)


def extract_bbh_published(text: str) -> str | None:
    r"""Reads a BIG-Bench Hard reply by the published rule.

    What the first `the answer is (.*?)\.` holds.

    Equal to a search with that pattern, which takes quadratic time where the words repeat without a
    full stop: an opening without one behind it in its line has no later opening with one in that
    line either, so the line is left.

    Args:
        text: The whole reply.

    Returns:
        What stands between the words and the first full stop of the line, or None.

    >>> extract_bbh_published("So the answer is 3.5")
    '3'
    >>> extract_bbh_published("So the answer is yes") is None
    True
    """
    start = text.find(_PUBLISHED)
    while start >= 0:
        start += len(_PUBLISHED)
        line_end = text.find("\n", start)
        line_end = len(text) if line_end < 0 else line_end
        stop = text.find(".", start, line_end)
        if stop >= 0:
            return text[start:stop]
        start = text.find(_PUBLISHED, line_end)
    return None


def same_bbh(answer: str, gold: str, subtask: str | None = None) -> bool:
    """Compares an answer with the gold one in the form of its subtask.

    Brackets keep their punctuation, sorted words their order, numbers are compared by value, words
    without regard to case.

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
    reply = _normal(kind, answer)
    reference = _normal(kind, gold)
    if not reply:
        return False
    if reply == reference:
        return True
    return kind in ("number", "text") and same_number(reply, reference)


METRICS = {
    "extract.bbh": extract_bbh,
    "extract.bbh_published": extract_bbh_published,
    "extract.same_bbh": same_bbh,
}
