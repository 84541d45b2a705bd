"""Ratings and preferences in a judge's reply.

What is ambiguous is left unread, as a guess would enter a mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from custom_metrics.judging.objects import (
    LONGEST,
    finite_number,
    json_spans,
    nested_objects,
    turned_quotes,
)

_DECORATION = r"[\s*_`'\"\[({<~=$]{0,12}"
_BOXED = r"(?:\\boxed\s?\{\s?)?"
_WORDS = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
}
_DIGITS = r"[-+]?\d{1,6}(?:\.\d{1,6})?(?!\.*\d)(?![eE][-+]?\d)"
#: A number, or a word for one that nothing follows which would make it another word's: `one of the
# best`.
_NUMBER = (
    rf"(?P<number>{_DIGITS}|(?:{'|'.join(_WORDS)})\b"
    r"(?=[\s*_`'\"\])}>$]{0,6}(?:$|[\n.,;:!(/\\]|out of\b|of (?:\d|five\b|ten\b)|stars?\b"
    r"|points?\b)))"
)
#: What may follow a rating without making it another one: `/5`, `out of 5`.
_SCALE = re.compile(
    r"[\s*_`'\"\])}>$]{0,6}(?:/|out of|of)[\s*_`]{0,3}(\d{1,6}(?!\.*\d)|five\b|ten\b)",
    re.IGNORECASE,
)
_TO_ANOTHER = (
    r"(?:-{1,2}>?|[\u2010-\u2015\u2192~,&+\u00b1]|\.{2,3}|\u2026"
    r"|/?or\b|to\b|and\b|vs\b\.?|versus\b|through\b)"
)
#: What makes it a range or a choice: `3-4`, `3 or 4`, `3 -> 4`, `3, 4`.
_RANGE = re.compile(
    rf"\s{{0,3}}{_TO_ANOTHER}\s{{0,3}}(?:\d|(?:{'|'.join(_WORDS)})\b)", re.IGNORECASE
)
_WHOLE_PERCENT = 100
_PERCENT = re.compile(r"\s?%")
#: The scale between a name and its rating: `Rating (1-5): 4`.
_ASIDE = r"(?:\s?[(\[](?P<aside>[^()\[\]\n]{0,40})[)\]])?"
_ALONE = re.compile(rf"[\s*_`'\"\[(<$]{{0,12}}{_BOXED}{_NUMBER}", re.IGNORECASE)
_END = re.compile(r"[\s*_`'\"\])}>$.!]{0,12}")


def judge_ratings(
    *, reply: str, names: Sequence[str], low: float, high: float, whole: bool = False
) -> dict[str, Any]:
    r"""Ratings in a reply, each stated once or several times alike.

    Read are JSON objects (`{"rating": 4}`, also fenced, nested, with numbers as texts) and labelled
    numbers (`Rating: 4`, `**Rating:** 3`, `Rating: [4]`, `Rating (1-5): 4`, `rating = 4/5`,
    `Rating: four`); only where there is none of these, `Rating - 4`, `The rating is 4`, a heading
    with the number below it and, for a single name, a reply that is a number in digits. What the
    texts inside a JSON object say does not count beside its own rating. Two different numbers for
    one name, a range (`3-4`), a percentage and another scale (`4/10` on one to 5) are ambiguous and
    count as unread. Where there is only one name, `rating` and `score` mean it too.

    Args:
        reply: The judge's text.
        names: What is rated.
        low: Smallest rating.
        high: Largest rating.
        whole: Ratings are whole numbers.

    Returns:
        `status` (`ok`, `incomplete`, `parse_error`, `invalid_score`), `ratings` (name -> number, or
        None unless the status is `ok`) and `reason`.

    >>> judge_ratings(reply="**Rating:** 3", names=["rating"], low=1, high=5)["ratings"]
    {'rating': 3.0}
    >>> judge_ratings(reply="Rating: 3 or 4", names=["rating"], low=1, high=5)["reason"]
    'rating is stated as a range'
    """
    text = reply[-LONGEST:]
    ratings: dict[str, float] = {}
    for name in names:
        statements = _statements(text, name, low, high, is_only=len(names) == 1)
        numbers = {stated for stated in statements if isinstance(stated, float)}
        oddities = [stated for stated in statements if isinstance(stated, str)]
        if oddities or len(numbers) > 1:
            stated = " and ".join(f"{number:g}" for number in sorted(numbers))
            reason = oddities[0] if oddities else f"is stated as {stated}"
            is_no_number = oddities == ["is no number"] and not numbers
            status = "invalid_score" if is_no_number else "parse_error"
            return _without_ratings(status, f"{name} {reason}")
        if numbers:
            ratings[name] = numbers.pop()
    # The result where no name has two ratings: some may be missing, or lie off the scale.
    missing = [name for name in names if name not in ratings]
    if missing:
        status = "incomplete" if ratings else "parse_error"
        return _without_ratings(status, f"without {', '.join(missing)}")
    off = []
    for name, number in ratings.items():
        if not low <= number <= high or (whole and number != int(number)):
            off.append(name)
    if off:
        reason = f"{', '.join(off)} not on the scale of {low:g} to {high:g}"
        return _without_ratings("invalid_score", reason)
    return {"status": "ok", "ratings": ratings, "reason": ""}


def _without_ratings(status: str, reason: str) -> dict[str, Any]:
    """The result of a reply that gives no usable rating."""
    return {"status": status, "ratings": None, "reason": reason}


def _statements(
    text: str, name: str, low: float, high: float, *, is_only: bool
) -> list[float | str]:
    """Returns what a reply states for a name, by the strictest form that it has.

    Numbers, or why one is none.
    """
    spellings = {name.lower(), "rating", "score"} if is_only else {name.lower()}
    in_objects, outside = _in_objects(text, spellings, high)
    # What labelled numbers in the text say.
    label = re.compile(
        rf"(?<![\w-])(?:{_names(spellings)})[*_`]{{0,3}}{_ASIDE}"
        rf"{_DECORATION}[:=\uff1a]{_DECORATION}{_BOXED}{_NUMBER}",
        re.IGNORECASE,
    )
    statements = [*in_objects, *_beside(label, outside, low, high)]
    if not statements:
        # What less usual forms say. A dash or `is` for the colon, a heading above the number.
        names = _names(spellings)
        label = re.compile(
            rf"(?<![\w-])(?:{names})[*_`]{{0,3}}{_ASIDE}"
            r"(?:\s[-\u2013\u2014]\s{1,3}|\sis\s{1,3}|[*_`]{0,3}\n{1,3})"
            rf"[\s*_`'\"\[(<$]{{0,6}}{_BOXED}{_NUMBER}",
            re.IGNORECASE,
        )
        statements = [*_beside(label, outside, low, high)]
    if not statements and is_only and any(character.isdigit() for character in text):
        statements = [*_alone(text, high)]
    return statements


def judge_preference(*, reply: str) -> dict[str, Any]:
    r"""Returns which of two answers a reply prefers: 1 for A, 0 for B, 0.5 for a tie.

    Read are `Verdict: A`, `Preference: [[B]]`, `{"verdict": "tie"}` and the like; two different
    verdicts are ambiguous.

    >>> judge_preference(reply="Verdict: [[B]]")["ratings"]
    {'preference': 0.0}
    """
    text = reply[-LONGEST:]
    verdicts = [*_verdicts_in_objects(text)] or _verdicts_in_words(text)
    if None in verdicts or len({*verdicts}) != 1:
        reason = "two verdicts" if verdicts else "without a verdict"
        return _without_ratings("parse_error", reason)
    return {"status": "ok", "ratings": {"preference": verdicts[0]}, "reason": ""}


def _verdicts_in_words(text: str) -> list[float | None]:
    """The labelled verdicts of a reply; None for one that is a choice between two."""
    matches = [*_VERDICT.finditer(text)] or [*_LOOSE_VERDICT.finditer(text)]
    alone = _VERDICT_ALONE.fullmatch(text.strip())
    if not matches and alone is not None:
        matches = [alone]
    return [
        None if _CHOICE.match(text, match.end()) else _VERDICTS[match["verdict"].lower()]
        for match in matches
    ]


_VERDICTS = {
    "a": 1.0,
    "b": 0.0,
    "tie": 0.5,
    "tied": 0.5,
    "draw": 0.5,
    "equal": 0.5,
    "neither": 0.5,
    "both": 0.5,
}
_VERDICT_KEYS = frozenset({"verdict", "preference", "better", "winner"})
#: `Verdict: A better reply is B` is no verdict for A: what follows a letter has to show that it
# stands for itself.
_ENDED = (
    r"(?=[*_`'\")\]}>$]{0,6}(?:\s{0,3}$|[ \t]{0,3}\n|\s{0,3}[-.,;:!(/&\u2013\u2014]|"
    r"\s{1,3}(?:is|wins|won|has|because|since|as|over|by|for|or|and)\b))"
)
_SAID = (
    rf"(?:answer |response |reply )?{_DECORATION}{_BOXED}"
    rf"(?:(?:an? )?(?P<verdict>(?:tie|tied|draw|equal|neither|both)\b|[ab]\b{_ENDED}))"
)
_VERDICT_NAMES = r"\b(?:verdict|preference|better|winner)\b"
_VERDICT = re.compile(
    rf"{_VERDICT_NAMES}{_DECORATION}[:=\uff1a]{_DECORATION}{_SAID}", re.IGNORECASE
)
#: `Verdict - A`, `preference is B`, `**Winner**` above `A`
_LOOSE_VERDICT = re.compile(
    r"\b(?:verdict|preference|winner)\b[*_`]{0,4}"
    rf"(?:\s[-\u2013\u2014]\s|\sis\s|[*_`]{{0,4}}\n{{1,3}}){_DECORATION}{_SAID}",
    re.IGNORECASE,
)
_VERDICT_ALONE = re.compile(
    r"[*_`'\"\[(]{0,4}(?:answer |response |reply )?(?P<verdict>a|b|tie)[*_`'\"\]).!]{0,4}",
    re.IGNORECASE,
)
#: Both of them after one: `A or B`, `A/B`.
_CHOICE = re.compile(
    r"[\s*_`'\")\]]{0,4}(?:/|,|&|or\b|and\b)"
    r"[\s*_`'\"(\[]{0,4}(?:answer |response |reply )?(?:a|b|tie)\b",
    re.IGNORECASE,
)


def _verdicts_in_objects(text: str) -> Iterator[float | None]:
    """Yields what JSON objects say; None for what is no verdict."""
    for _, _, whole in json_spans(text):
        for candidate in nested_objects(whole):
            for key, value in candidate.items():
                if str(key).strip().lower() in _VERDICT_KEYS:
                    yield _verdict_of(value)


def _verdict_of(value: Any) -> float | None:
    """The verdict that a value of a JSON object is; None where it is none."""
    word = str(value).strip()
    if isinstance(value, str):
        match = _VERDICT_ALONE.fullmatch(word)
        word = match["verdict"] if match else word
    return _VERDICTS.get(word.lower())


def _in_objects(text: str, spellings: set[str], high: float) -> tuple[list[float | str], str]:
    """Returns what JSON objects in the text have for a name, and the text without them."""
    spans = list(json_spans(text))
    if not spans:
        spans = list(json_spans(turned_quotes(text)))
    ratings: list[float | str] = []
    outside = []
    position = 0
    for start, end, whole in spans:
        object_ratings = [*_said_in(whole, spellings, high)]
        if object_ratings:
            ratings += object_ratings
            outside.append(text[position:start])
            position = end
    outside.append(text[position:])
    return ratings, "\n".join(outside)


def _said_in(whole: Mapping[str, Any], spellings: set[str], high: float) -> Iterator[float | str]:
    for candidate in nested_objects(whole):
        for key, value in candidate.items():
            if str(key).strip().lower() in spellings:
                rating = value
                if isinstance(value, Mapping):  # that stands for one: {"score": 4, "reason": ...}
                    names = {"score", "rating"}
                    inner = (value[name] for name in value if str(name).lower() in names)
                    rating = next(inner, None)
                yield _number(rating, high)


def _number(value: Any, high: float) -> float | str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    number = finite_number(value)
    if number is not None:
        return number
    if isinstance(value, str):
        return next(_alone(value, high), "is no number")
    return "is no number"


def _beside(label: re.Pattern[str], text: str, low: float, high: float) -> Iterator[float | str]:
    """The numbers that a label names, but those on another scale than is asked for."""
    for match in label.finditer(text):
        numbers = re.findall(r"\d{1,6}", match["aside"] or "")
        scale = [float(number) for number in numbers]
        is_other_end = bool(scale) and scale[-1] != high
        is_other_start = len(scale) == 2 and scale[0] != low
        if is_other_end or is_other_start:
            yield f"is stated on a scale to {scale[-1]:g}"
        else:
            yield _stated(text, match, high)


def _alone(text: str, high: float) -> Iterator[float | str]:
    """The number that a text consists of, with its scale perhaps."""
    match = _ALONE.match(text)
    if match is None:
        return
    scale = _SCALE.match(text, match.end())
    end = scale.end() if scale else match.end()
    if _END.fullmatch(text, end):
        yield _stated(text, match, high)


def _names(spellings: set[str]) -> str:
    return "|".join(re.escape(spelling) for spelling in sorted(spellings))


def _stated(text: str, match: re.Match[str], high: float) -> float | str:
    """The number of a match, or why what follows it leaves it open."""
    end = match.end()
    if _RANGE.match(text, end):
        return "is stated as a range"
    if high != _WHOLE_PERCENT and _PERCENT.match(text, end):
        return "is stated in per cent"
    scale = _SCALE.match(text, end)
    if scale and _value(scale[1]) != high:
        return f"is stated on a scale to {scale[1]}"
    return _value(match["number"])


def _value(text: str) -> float:
    word = _WORDS.get(text.lower())
    return float(text) if word is None else float(word)


METRICS = {"judge_ratings": judge_ratings, "judge_preference": judge_preference}
