# ruff: noqa: RUF001 - replies use typographic quotes and full-width marks
r"""The letter that a reply chooses, limited to the letters that were offered.

Published recipes read the letter with one regular expression such as `best answer is ([A-Z])`. That
misses `**B**`, `(B)`, `: B` and `\boxed{B}`, and reads "Both" as B. Here a letter counts only where
it stands alone and where the text says that it is the answer. A reply that weighs several letters
without choosing one gives None: a guess by the extractor would be the extractor's answer, not the
model's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from custom_metrics.extract import choice_doubts as doubts
from custom_metrics.extract import choice_patterns as phrases
from custom_metrics.extract.wording import (
    BOX,
    before_invented_question,
    is_complete,
    squeezed,
    without_end_tokens,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

MAX_CHARS = 200_000
"""The part of a longer reply that is read: its end (its start for `prefer="first"`)."""
_MAX_LETTER_LINE = 40
_MAX_LINE = 400
_NEAR = 60
"""How far before a letter a negation or another letter counts."""

_STATEMENTS = phrases.STATEMENTS + phrases.EASTERN_STATEMENTS
_CLAIMS = phrases.CLAIMS + phrases.EASTERN_CLAIMS
Prefer = Literal["last", "first"]


def _is_word(text: str, start: int, end: int) -> bool:
    """Tells whether what looks like a letter belongs to words.

    It may be an article, a pronoun, or part of "G proteins" and "E. coli".
    """
    raw = text[start:end]
    before = text[start - 1] if start else " "
    is_bare = before.isspace() or before in ":："
    may_be_article = is_bare or before in "*_=\"'“‘«"
    if raw in "AIai" and may_be_article and doubts.WORD_AFTER.match(text, end):
        return True
    if is_bare and _begins_words(raw, text, end):
        return True
    return doubts.SPECIES.match(text, end) is not None


def _begins_words(letter: str, text: str, end: int) -> bool:
    """Tells whether a bare letter that ends there goes on as "G proteins" or "a dog" do."""
    if letter.isupper():
        return doubts.NOUN_AFTER.match(text, end) is not None
    return doubts.BLANK_THEN_MORE.match(text, end) is not None


def _text_before(text: str, start: int) -> str:
    """Returns the text in which a negation or another letter counts for what follows it."""
    return text[max(start - _NEAR, 0) : start]


def _letters(
    pattern: re.Pattern[str],
    text: str,
    offered: str,
    *,
    weak: bool = False,
    undecided: list[int] | None = None,
) -> Iterator[tuple[int, str]]:
    """Yields position and letter of each match that chooses exactly one offered letter.

    Args:
        pattern: A pattern with a group `letter`.
        text: What is searched.
        offered: The letters that count.
        weak: The pattern alone says little, so a negation before the letter or a verdict after it
            takes it back.
        undecided: Takes the positions where several letters are named.
    """
    for match in pattern.finditer(text):
        start, end = match.span("letter")
        letter = match.group("letter").upper()
        if letter not in offered or _is_word(text, start, end):
            continue
        if doubts.DENIED.search(_text_before(text, match.start())):
            continue
        if doubts.WITH_ANOTHER.match(text, end) or doubts.HEDGE.match(text, end):
            if undecided is not None:
                undecided.append(start)
        elif not _is_taken_back(text, start, end, weak=weak):
            yield start, letter


def _first_letter(pattern: re.Pattern[str], text: str, offered: str, *, weak: bool) -> str | None:
    """Returns the first letter that `_letters` finds."""
    for _, letter in _letters(pattern, text, offered, weak=weak):
        return letter
    return None


def _named_letters(pattern: re.Pattern[str], text: str) -> set[str]:
    """Collects the letters of all matches, offered or not."""
    return {match.group("letter") for match in pattern.finditer(text)}


def _sole(letters: set[str]) -> str | None:
    """Returns the letter of a set of one, and none of several."""
    if len(letters) == 1:
        return next(iter(letters))
    return None


def _is_taken_back(text: str, start: int, end: int, *, weak: bool) -> bool:
    """Tells whether second thoughts follow a letter or, where the phrase is weak, a verdict."""
    before = _text_before(text, start)
    if doubts.RETRACTED.match(text, end) or doubts.HEDGED.search(before):
        return True
    if not weak:
        return False
    return bool(doubts.REFUSED.search(before) or doubts.REJECTED.match(text, end))


def _boxed_letters(text: str, offered: str) -> Iterator[tuple[int, str]]:
    """Yields position and letter of each box that holds one.

    A box of several, or a formula, is no choice.
    """
    for box in BOX.finditer(text):
        content = box.group("content").strip()
        choice = phrases.BOXED.fullmatch(content)
        if choice is None or doubts.HEDGE.match(content, choice.end("letter")):
            continue
        before = _text_before(text, box.start())
        if phrases.OR_BOX.match(text, box.end()) or phrases.BOX_OR.search(before):
            continue  # two boxes
        letter = choice.group("letter").upper()
        if letter in offered:
            yield box.start(), letter


def _letter_of_part(text: str, offered: str, prefer: Prefer, *, complete: bool) -> str | None:
    """Reads the letter of the last (or first) statement or box, else what claims or places show."""
    undecided: list[int] = []
    letters = _stated_letters(text, offered, undecided)
    if letters and prefer == "first":
        return min(letters)[1]
    if letters:
        position, letter = max(letters)
        # Who ends with "the answer is A and C" has not chosen the A of a sentence before.
        if max(undecided, default=0) <= position:
            return letter
    if doubts.SEVERAL_RIGHT.search(text):
        return None
    # Of a reply that was cut off, what was said in favour of a letter on the way is no claim yet.
    if complete and not letters:
        claimed = _claimed(text, offered)
        if claimed:
            return claimed
    return _standing(text, offered, complete=complete)


def _stated_letters(text: str, offered: str, undecided: list[int]) -> list[tuple[int, str]]:
    """Lists position and letter of all boxes and statements.

    Args:
        text: What is searched.
        offered: The letters that count.
        undecided: Takes the positions where several letters are named.
    """
    letters = list(_boxed_letters(text, offered))
    statements = phrases.STATEMENTS if text.isascii() else _STATEMENTS
    for pattern in _possible_patterns(statements, text):
        letters.extend(_letters(pattern, text, offered, undecided=undecided))
    return letters


def _possible_patterns(
    candidates: tuple[phrases.Phrase, ...], text: str
) -> Iterator[re.Pattern[str]]:
    """Yields the patterns of the phrases that a quick test does not rule out."""
    lowered = text.lower()
    return (phrase.pattern for phrase in candidates if phrase.may_occur(text, lowered))


def _claimed(text: str, offered: str) -> str | None:
    """Reads the one letter that all claims favour."""
    claims: set[str] = set()
    candidates = phrases.CLAIMS if text.isascii() else _CLAIMS
    for pattern in _possible_patterns(candidates, text):
        for _, letter in _letters(pattern, text, offered, weak=True):
            claims.add(letter)
    return _sole(claims)


def _verdicts(text: str, offered: str) -> str | None:
    """Reads a list of verdicts on the options in which one alone is good."""
    lines = list(phrases.VERDICT_LINE.finditer(text))
    good = [line.group("letter").upper() for line in lines if line.group("good")]
    if len(good) == 1 and len(lines) > 2 and good[0] in offered:
        return good[0]
    return None


def _described(lines: list[str], offered: str) -> str | None:
    """Reads the letter that the last line, else the first, ends a description with.

    "... is best described as B.".
    """
    last = lines[-1][-_MAX_LINE:]
    candidates = [last]
    if not phrases.MARKED.search(last):
        candidates.append(lines[0][:_MAX_LINE])
    for line in candidates:
        letters: set[str] = set()
        for start, letter in _letters(phrases.DESCRIBED, line, offered):
            if _is_described(line, start):
                letters.add(letter)
        if letters:
            named = _named_letters(phrases.DESCRIBED, line)
            return _sole(letters) if len(named) == 1 else None
    return None


def _is_described(line: str, start: int) -> bool:
    """Tells whether a description ends in an option.

    A name ("vitamin C") and a denial are none.
    """
    before = _text_before(line, start)
    if doubts.NAMES.search(before) or doubts.DENIED_NEAR.search(before):
        return False
    return not doubts.REJECTED.match(line, start + 1)


def _standing(text: str, offered: str, *, complete: bool) -> str | None:
    """Reads a letter from its place: at the start, alone on a line, at the end of the last line."""
    lines = _filled_lines(text)
    if not lines:
        return None
    # A reply that repeats the options begins lines with other letters.
    is_list = _lists_options_or_parts(text)
    letter = _opening_letter(text, offered)
    if letter is not None and not is_list:
        return letter
    alone = _letters_alone(lines, offered)
    if alone:
        return _sole(alone)
    if phrases.VERDICT_LINE.match(lines[-1]):
        return _verdicts(text, offered)
    if complete:
        last_letter = _last_line_letter(lines, offered, is_list=is_list)
        return last_letter or _sole_option(text, offered)
    return None


def _filled_lines(text: str) -> list[str]:
    return [line for line in map(str.strip, text.splitlines()) if line]


def _sole_option(text: str, offered: str) -> str | None:
    """Reads the one option that a conclusion announces or sets in bold, its text included.

    "The product would be:" with "D. Skyrmion" on the next line; "closest to **A. 12.62**". None
    where other options follow on lines of their own, or where all are rejected.
    """
    for pattern in (phrases.ANNOUNCED_OPTION, phrases.BOLD_OPTION):
        options = list(_letters(pattern, text, offered, weak=True))
        if options:
            position, _ = options[-1]
            behind = text[position + 1 :]
            if phrases.OPTION_LINE.search(behind):
                return None
            if doubts.NONE_OF_THEM.search(behind):
                return None
            return _sole({letter for _, letter in options})
    return None


def _last_line_letter(lines: list[str], offered: str, *, is_list: bool) -> str | None:
    """Reads the letter that the last line concludes with, marks or describes.

    Where it has none, read that of the first line.
    """
    last = lines[-1][-_MAX_LINE:]
    return (
        _concluding_letter(last, offered, is_list=is_list)
        or _sole_marked_letter(last, offered, is_list=is_list)
        or _described(lines, offered)
        or _concluded_option(lines[0][:_MAX_LINE], offered)
    )


def _lists_options_or_parts(text: str) -> bool:
    """Tells whether a reply repeats the options, or goes through the parts of a question."""
    if phrases.OPTION_OF_PARTS.match(text):
        return False
    marks = {mark.upper() for mark in phrases.OPTION_LINE.findall(text)}
    parts = set(phrases.PART.findall(text))
    if len(marks) > 1 or len(parts) > 1:
        return True
    return phrases.ROMAN.search(text) is not None


def _opening_letter(text: str, offered: str) -> str | None:
    """Reads the letter with which a reply begins: "B. Because ..."."""
    opening = text.strip()[:_MAX_LINE]
    marks_several = len(_named_letters(phrases.MARKED, opening)) > 1
    for start, letter in _letters(phrases.OPENING, opening, offered):
        is_subject = marks_several and doubts.SUBJECT.match(opening, start + 1)
        if not is_subject and not _opens_a_part(opening, start):
            return letter
    return None


def _letters_alone(lines: list[str], offered: str) -> set[str]:
    """Collects the letters that fill a line each."""
    letters: set[str] = set()
    for line in lines:
        if len(line) <= _MAX_LETTER_LINE:
            for _, letter in _letters(phrases.WHOLE_LINE, line, offered):
                letters.add(letter)
    return letters


def _concluding_letter(last: str, offered: str, *, is_list: bool) -> str | None:
    """Reads the letter with which the last line begins or concludes."""
    if not is_list:
        for start, letter in _letters(phrases.OPENING, last, offered, weak=True):
            if not _opens_a_part(last, start):
                return letter
    concluded = _first_letter(phrases.CONCLUSION, last, offered, weak=True)
    return concluded or _concluded_option(last, offered)


def _concluded_option(line: str, offered: str) -> str | None:
    """Reads the one option that a line concludes with, its text included.

    "The stage is: D. Prophase".
    """
    options = _letters(phrases.CONCLUDED_OPTION, line, offered, weak=True)
    return _sole({letter for _, letter in options})


def _sole_marked_letter(last: str, offered: str, *, is_list: bool) -> str | None:
    """Reads the one letter that the last line sets in brackets or in bold."""
    if is_list and phrases.OPTION_LINE.match(last):
        return None
    marked = _named_letters(phrases.MARKED, last)
    if len(marked) != 1:
        return None
    return _first_letter(phrases.MARKED, last, offered, weak=True)


def _opens_a_part(text: str, start: int) -> bool:
    """Tells whether a small letter at the start marks a part of the answer.

    "(a) The work is 12 J".
    """
    if not text[start].islower():
        return False
    return doubts.PART_TEXT.match(text, start + 1) is not None


def _came_to_its_end(text: str) -> bool:
    end = text[-_NEAR:]
    if doubts.OPEN_END.search(end):
        return False
    if doubts.ENDS_IN_A_LETTER.search(end):
        return True
    if phrases.CONCLUDED_OPTION.search(end):
        return True
    return is_complete(text, short_line=True)


def _plain_text(text: str, prefer: Prefer) -> str:
    """Returns the part of a reply that is read: letters in ASCII, long runs and end tokens cut."""
    if len(text) > MAX_CHARS:
        text = text[-MAX_CHARS:] if prefer == "last" else text[:MAX_CHARS]
    if not text.isascii():
        text = text.translate(phrases.FULL_WIDTH)
    return squeezed(without_end_tokens(text))


def extract_choice(
    text: str, letters: str = "ABCD", *, prefer: Prefer = "last", complete: bool | None = None
) -> str | None:
    r"""Finds the letter that a reply gives as its answer.

    In this order: statements and boxes ("best answer is B", "Answer: (B)", `\boxed{B}`), among
    which the last (or first) wins; claims that agree ("B is correct", "I choose B"); a reply that
    begins with the letter ("B. Because ..."); the one letter that fills a line; a last line that
    begins or concludes with it ("**B. 12 m/s**", "Therefore, B."); the one marked letter of the
    last line ("... **(B)** ..."). What stands before a further question that the reply invents
    comes first.

    Args:
        text: A reply without thinking traces.
        letters: The letters that the question offers, in capitals.
        prefer: Which statement wins where a reply makes several; `first` suits base models, which
            go on and on.
        complete: Whether the reply came to its end, where the back end told; otherwise its last
            line shows it. Of a reply that was cut off only statements count.

    Returns:
        A capital letter out of `letters`, or None where the reply chooses none.

    >>> extract_choice("Both look right, but the best answer is **(B)**.")
    'B'
    >>> extract_choice("The best answer is Both") is None
    True
    >>> extract_choice("The answer is A or B.") is None
    True
    """
    answer, whole = before_invented_question(_plain_text(text, prefer))
    if answer is not whole:
        # What comes before an invented question was not cut off.
        letter = _letter_of_part(answer, letters, prefer, complete=True)
        # An instruct model may restate the question before it answers; what a base model writes
        # there is not about ours.
        if letter is not None or prefer == "first":
            return letter
    if complete is None:
        complete = _came_to_its_end(whole)
    return _letter_of_part(whole, letters, prefer, complete=complete)


def extract_direct_choice(text: str, letters: str = "ABCD") -> str | None:
    """Finds the letter of a reply whose prompt already ended in "The best answer is".

    The letter at the very start counts, whatever follows it: a reply ` B. ... that Water boils`
    means B. Only where no letter stands there, `extract_choice` reads the rest.

    Args:
        text: A reply without thinking traces.
        letters: The letters that the question offers, in capitals.

    Returns:
        A capital letter out of `letters`, or None.

    >>> extract_direct_choice(" B. That is why Water boils")
    'B'
    """
    letter = _first_letter(phrases.DIRECT, text[:_MAX_LINE], letters, weak=False)
    return letter or extract_choice(text, letters)


METRICS = {"extract.choice": extract_choice, "extract.direct_choice": extract_direct_choice}
