# ruff: noqa: RUF001 - replies use typographic marks and other scripts; the patterns name them
"""The number that a sentence is about: "Thus 12 cookies go to each of the 5 friends" says 12."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from custom_metrics.extract.numeral import CURRENCY, NUMBER, Unclear, is_one_value, read
from custom_metrics.patterns import any_of

MAX_SENTENCE = 400
MOST_READ = 4 * MAX_SENTENCE
"""Characters of a line without a full stop that are read at all."""
_ABBREVIATED = "".join(
    rf"(?<!\b{word})"
    for word in ("i\\.e", "e\\.g", "Mr", "Mrs", "Dr", "No", "vs", "approx", "etc", "oz", "lb")
)
_CLOSING = r"[\"'”’)*_\]}`$]{0,4}"
SENTENCE_END = re.compile(
    rf"{_ABBREVIATED}[.!?]{{1,3}}(?={_CLOSING}(?:\s(?!\s?=)|\Z))"
    r"|[。！？।]|\n"
)
_LIST_MARK = re.compile(r"[\s>#]{0,8}(?:\d{1,3}[.)](?=\s)|[-*•](?=\s))?\s{0,4}")
# "= -5", "is -5", "roughly -5": a sign of the number, and no operator.
_NO_SIGN = (
    r"(?<!\A)(?<!\A\s)(?<!\b(?:is|be)\s)(?<!\b(?:are|was)\s)"
    r"(?<!ly\s)(?<![:=≈]\s)"
)
_OPERATOR = rf"(?:{_NO_SIGN}[-−+*/×÷x]\s?\$?|\b(?:times|of)\s)"
# "3 * 4 boxes, or", "(3 * 4) or"
_FORMULA_OR = rf"{_OPERATOR}\d[\d.,]{{0,12}}(?:\s[a-z]{{1,12}})?,?\s+or\b|\),?\s+or\b"
_RESULTS_IN = any_of(
    r"so therefore thus hence meaning leaving leaves? giving gives? to\s+get we\s+get",
    r"resulting\s+in results\s+in (?<!to\s)makes? making equals? equal\s+to comes?\s+to",
    r"amounts?\s+to",
    r"totall?ing (?:which|that|this)\s+(?:is|means) (?:a|the)\s+(?:grand\s+)?total\s+of",
    r"for\s+a\s+total\s+of i\.e\.,?",
)
# What the number of the sentence comes behind, where a sentence has several: the last of these with
# a number after it.
_RESULT = re.compile(rf"[=≈]|{_FORMULA_OR}|\b{_RESULTS_IN}(?!\w)", re.IGNORECASE)
_VERB_OF_VALUE = any_of(
    r"is are was were (?:would|will|should|must)\s+be equals (?:comes|amounts)\s+(?:out\s+)?to"
)
_ADVERB = any_of(
    r"now then thus therefore also about around approximately roughly exactly only just equal\s+to"
)
_AMOUNT_AHEAD = rf"(?=(?:[-−–]\s?)?{CURRENCY}?\s?(?:[-−–]\s?)?\.?\d)"
# "The ratio of the sales in 2004 to those in 2007 is 1": what the subject counts or dates is no
# answer, where a number follows the verb at once.
_VALUE_BEHIND_VERB = re.compile(
    rf"\b{_VERB_OF_VALUE}(?:\s{_ADVERB})?(?:\s?[:=≈])?"
    rf"\s[\s*_(\\~≈]{{0,6}}{_AMOUNT_AHEAD}",
    re.IGNORECASE,
)
_OF_WHAT = any_of(
    "total sum average mean amount cost price profit distance height length width weight area",
    "volume value loss gain score speed rate balance number maximum minimum bill income salary",
    "discount change percentage capacity age perimeter temperature increase decrease difference",
    "probability chance ratio revenue savings earnings raise reduction",
)
# "a total of about $"
_MEASURED = re.compile(
    rf"\b{_OF_WHAT}\s(?:[a-z]{{3,9}}\s)?of\s"
    rf"(?:about\s|only\s)?{CURRENCY}?\s?\Z",
    re.IGNORECASE,
)
_BEFORE_BACKGROUND = any_of(
    "after in on for within per all over every each during between than of among through since",
    "until before with from at by the these those this his its their our my your first last next",
    "other if when because",
    "steps? questions? parts? days? weeks? months? years? grades? rooms? problems? chapters?",
    "equations? level phase figure table aged?",
)
_DETERMINER = any_of("the all each these those his her their its about another only")
# What a number in the background stands behind: "in 2010", "for the 16 glasses", "all 54 sacks",
# "step 3".
_BACKGROUND = re.compile(
    rf"(?:\b{_BEFORE_BACKGROUND}\s{{1,2}}"
    rf"(?:{_DETERMINER}\s)?{CURRENCY}?\s?)\Z",
    re.IGNORECASE,
)
_SUBORDINATES = any_of(
    r"since as because if when given\s+that after for in on over with at by of from to\s+[a-z]+"
)
# "Since each of the 5 friends gets 3, "
_SUBORDINATE = re.compile(rf"[\s*_]{{0,4}}{_SUBORDINATES}\b[^,\n]{{1,160}},\s", re.IGNORECASE)
_BRACKETED = re.compile(r"\W{0,8}?[\[{](?P<items>[^\[\]{}:]{1,400})[\]}]")
_LIST_SEPARATOR = re.compile(r"[,;](?!\d{3}(?!\d))")
_OR_ELSE = (
    r"(?:,?\s?\bor\b|\(\s?(?:or|i\.e\.,?|=|≈)?"
    r"|,?\s?i\.e\.,?|\\text\s?\{\s?,?\s?or\s?\})"
)
# Between "14.4%" and "0.144": "% or ", " (", ", i.e., "
_ANOTHER_FORM = re.compile(
    rf"\s?(?P<percent>\\?%)?[\s*$)\\]{{0,4}}"
    rf"{_OR_ELSE}[\s*$(\\]{{0,4}}[-−–]?",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"\s?(?:\\?%|percent\b)")
_ADJECTIVE = re.compile(r"-[A-Za-z]")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
# What makes the number before it part of a formula: "12 boxes + ", " * (", "- 3", "/ 4", " in 5"
_OPERAND = re.compile(
    r"\s?(?:%|[A-Za-z]{1,12})?\s?"
    r"(?:[+×÷]|\*\s?[\w$(]|\\times|\\cdot|\\div|[-−–]\s?[$€£]?\d|/\s?\d)|\sin\s\d"
)
_AND_OR = any_of("and or to oder ou o или أو")
_JOINED = rf"(?:,|\b{_AND_OR}\b|或|または|[+×*÷]|\s-\s|\\times|\\cdot)"
_UNIT = any_of("hours? h feet foot ft pounds? lbs? years? weeks? days? minutes? dollars?")
# ", 15", " or $15"; " hours and 20 m", the minutes of "3 hours and 20 minutes"
AND_MORE = re.compile(
    rf"[^\w\n]{{0,4}}{_JOINED}\s?{CURRENCY}?\d"
    rf"|\s?{_UNIT}(?:,|\s+and)?\s+\d+\s?[a-z]",
    re.IGNORECASE,
)
_JOINED_BEFORE = r"(?:,|\band\b|\bor\b|\bto\b|[+×*÷])"
_MORE_AND = re.compile(rf"\d[^\w\n]{{0,4}}{_JOINED_BEFORE}\s?{CURRENCY}?\Z", re.IGNORECASE)
_BLANK_AND_WORD = r"(?:\s[^\W\d_][\w'’-]*)"
# "341 pencils and 297 crayons": two answers, with no verb between them.
PAIRED = re.compile(
    rf"{_BLANK_AND_WORD}{{1,3}}"
    rf"(?:,?\s(?:and|or)\s{CURRENCY}?\d"
    rf"|,\s{CURRENCY}?\d[\d.,]{{0,20}}\s[a-z]{{3,20}}\W{{0,4}}\Z)"
)
_PAIR = re.compile(
    rf"{_BLANK_AND_WORD}{{1,4}},?\s(?:and|or|but)\s"
    rf"(?:also\s|only\s)?{CURRENCY}?\Z"
)
_LISTED = re.compile(rf"{_BLANK_AND_WORD}{{1,4}},\s{CURRENCY}?\Z")
_LEFT = re.compile(
    r"\b(?:left|remaining|in\s+total|altogether|in\s+all)\b(?!\s+over)", re.IGNORECASE
)
_VERBS = any_of("is are was has have will would needs? gets? makes? can had went costs? spends?")
_VERB = re.compile(rf"\s{_VERBS}\s", re.IGNORECASE)
_ENGLISH_WORDS = any_of(
    "the of is are has have had will to for and in that he she they it there we"
)
_ENGLISH = re.compile(rf"\b{_ENGLISH_WORDS}\b", re.IGNORECASE)
_ASIDE = re.compile(r"(?<![-−+*/×÷=]\s)(?<![-−+*/×÷=])\([^()\n]{0,200}\)(?!\s?[-−+*/×÷=]\s?[\d(])")


def sentences_from_the_end(text: str, most: int) -> Iterator[str]:
    """Yields the last sentences of a text, the very last one first, without list marks.

    Args:
        text: A reply.
        most: How many at most.
    """
    end = len(text)
    count = 0
    while end > 0 and count < most:
        start = text.rfind("\n", 0, end) + 1
        line = text[max(start, end - MOST_READ) : end]
        for sentence in reversed(_sentences(line)):
            if re.search(r"\w", sentence):
                count += 1
                yield sentence.strip()
                if count == most:
                    return
        end = start - 1


def _sentences(line: str) -> list[str]:
    """Splits a line without its list mark behind each end of a sentence."""
    mark = _LIST_MARK.match(line)
    begin = mark.end() if mark else 0
    sentences = []
    for stop in SENTENCE_END.finditer(line, begin):
        sentences.append(line[begin : stop.end()])
        begin = stop.end()
    sentences.append(line[begin:])
    return sentences


def _is_background(text: str, match: re.Match[str]) -> bool:
    start, end = match.span()
    if _ADJECTIVE.match(text, end) or _ORDINAL.match(text, end):
        return True
    before = text[max(start - 40, 0) : start]
    if not _BACKGROUND.search(before):
        return False
    return _MEASURED.search(before) is None


def _behind_the_result(sentence: str) -> int:
    """Finds where the part of a sentence begins that follows its last sign of a result.

    A number stands behind that sign.
    """
    numbers = [match.start() for match in NUMBER.finditer(sentence)]
    last_number = numbers[-1] if numbers else 0
    signs = [sign.end() for sign in _RESULT.finditer(sentence) if sign.end() <= last_number]
    verbs = [verb.end() for verb in _VALUE_BEHIND_VERB.finditer(sentence)]
    start = max(signs + verbs, default=0)
    while start < len(sentence) and sentence[start] in " ,":
        start += 1
    opening = _SUBORDINATE.match(sentence, start)
    if opening and opening.end() <= last_number:
        return opening.end()
    return start


class _Numeral(NamedTuple):
    """A number of a sentence.

    Attributes:
        match: Where it stands.
        value: Its canonical spelling, or that it is part of something larger.
        following: The words between it and the next number.
    """

    match: re.Match[str]
    value: str | Unclear
    following: str


def sentence_number(sentence: str) -> str | Unclear | None:
    """Reads the number that a sentence is about.

    What follows the last "=", "so", "which is" counts, or a verb with a number right behind it;
    there the first number that is not in the background ("in 2010", "for the 16 glasses", "all 54
    sacks").

    Args:
        sentence: One sentence; of a very long one the last `MOST_READ` characters.

    Returns:
        The number in canonical spelling; `unclear` for several, or for one that is part of a sum;
        None without one.

    >>> sentence_number("Kylar needs to pay $64 for the 16 glasses.")
    '64'
    >>> sentence_number("The number of blocks with 36 houses is 3.")
    '3'
    >>> sentence_number("Faye has 341 pencils and 297 crayons in total.")
    'unclear'
    """
    sentence = sentence[-MOST_READ:].replace("**", "").replace("__", "")
    if is_list(sentence):
        return "unclear"
    without = _ASIDE.sub(" ", sentence)
    text = without if NUMBER.search(without) else sentence
    numerals = _numerals(text, _behind_the_result(text))
    if not numerals:
        return None
    place = _place_of_answer(text, numerals)
    match, value, _ = numerals[place]
    if is_repeated_in_another_form(text, match, value):
        return value
    start, end = match.span()
    if _OPERAND.match(text, end) or AND_MORE.match(text, end):
        return "unclear"
    if _MORE_AND.search(text[max(start - 24, 0) : start]):
        return _form_before(text, match) or "unclear"
    return "unclear" if _is_one_of_several(numerals, place) else value


def is_list(text: str) -> bool:
    """Tells whether a text begins with several numbers in square or curly brackets.

    >>> is_list("['$1,910 thousand', '$14,740 thousand']"), is_list("[12]")
    (True, False)
    """
    content = _BRACKETED.match(text)
    if content is None:
        return False
    items = _LIST_SEPARATOR.split(content.group("items"))
    return sum(1 for item in items if re.search(r"\d", item)) > 1


def is_repeated_in_another_form(text: str, match: re.Match[str], value: str) -> bool:
    """Tells whether another form of a value follows it: "0.144 or 14.4%", "1/4 (0.25)"."""
    joint = _ANOTHER_FORM.match(text, match.end())
    other = NUMBER.match(text, joint.end()) if joint else None
    if joint is None or other is None:
        return False
    other_value = read(text, other)
    if other_value is None:
        return False
    has_percent = bool(joint["percent"])
    other_has_percent = _PERCENT.match(text, other.end()) is not None
    percent = (has_percent, other_has_percent)
    return is_one_value(value, other_value, percent=percent)


def _form_before(text: str, match: re.Match[str]) -> str | None:
    """Returns the value before a number where the number is another form of it.

    In "1/4 or 0.25" it is 1/4.
    """
    numbers = list(NUMBER.finditer(text, 0, match.start()))
    if not numbers:
        return None
    before = numbers[-1]
    value = read(text, before)
    if value is None or not is_repeated_in_another_form(text, before, value):
        return None
    return value


def _numerals(text: str, start: int) -> list[_Numeral]:
    """Lists the numbers of a sentence from a place on.

    Those in the background only where there are no others.
    """
    numerals = []
    for match in NUMBER.finditer(text, start):
        value = read(text, match)
        if value is not None:
            numerals.append((match, value))
    # Numbers of the background count only where there are no others.
    in_front = [pair for pair in numerals if not _is_background(text, pair[0])]
    counted = in_front or numerals
    ends = [match.start() for match, _ in counted[1:]]
    ends.append(len(text))
    return [
        _Numeral(match, value, text[match.end() : end])
        for (match, value), end in zip(counted, ends, strict=False)
    ]


def _place_of_answer(text: str, numerals: list[_Numeral]) -> int:
    """Chooses the number that is left or in total.

    Without one, choose the first number, in languages that put the verb last the last.
    """
    places = range(len(numerals))
    remaining = [place for place in places if _LEFT.search(numerals[place].following)]
    if len(remaining) == 1:
        return remaining[0]
    if "=" in text or _ENGLISH.search(text):
        return 0
    return len(numerals) - 1


def _is_one_of_several(numerals: list[_Numeral], place: int) -> bool:
    """Tells whether the number stands in a list without a verb: "341 pencils and 297 crayons"."""
    paired = []
    listed = []
    for numeral in numerals[:-1]:
        words = numeral.following
        is_joint = len(words) <= 60 and not _VERB.search(words)
        paired.append(is_joint and bool(_PAIR.fullmatch(words)))
        listed.append(is_joint and bool(_LISTED.fullmatch(words)))
    if any(paired[max(place - 1, 0) : place + 1]):
        return True
    return listed[:1] == [True] and any(paired)
