r"""Times of day: `4:30 \text{ p.m.}`, `9 AM`, `16:30`, and the remains of one, `4:30p..`."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_LENGTH = 60
"""Characters of an answer that may be a time of day."""
HALF_DAY = 12 * 3600

_LAYOUT = re.compile(
    r"\\(?:text(?:bf|rm|it|sf)?|mathrm|mbox|left|right|quad|[,;:! ])|[{}$~\s]|(?<=:)\\!|at(?=\d)"
)
_HALF = r"[ap]\.?m\.{0,2}|[ap]\.{1,2}|noon|midnight|morning|afternoon|evening"
# "3:45p.m.", "12noon", "7o'clockinthemorning": blanks are gone
_TIME = re.compile(
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::(?P<second>\d{2}))?"
    rf"(?:o'?clock)?(?:inthe)?(?P<half>{_HALF})?\.?"
)
_MARK = re.compile(r"(?<![a-z])[ap](?:m(?![a-z])|\.)|noon|midnight|morning|afternoon|evening")
"""A mark as it is written; `10 a m` is a product."""
_WORDS = {"noon": "12:00p.m.", "midnight": "12:00a.m."}


class Time(NamedTuple):
    """A time of day.

    Attributes:
        seconds: Since midnight.
        half: `a` or `p` as marked, empty without a mark.
    """

    seconds: int
    half: str


def time_of_day(answer: str) -> Time | None:
    r"""Reads an answer as a time of day, or returns None.

    >>> time_of_day(r"4:30 \text{ p.m.}") == time_of_day("4:30PM"), time_of_day("4 apples")
    (True, None)
    """
    if len(answer) > MAX_LENGTH:
        return None
    plain = _LAYOUT.sub("", answer).casefold()
    match = _TIME.fullmatch(_WORDS.get(plain.rstrip("."), plain))
    if match is None:
        return None
    half = match["half"] or ""
    if not _is_mark(half, match["minute"], answer):
        return None
    return _time(int(match["hour"]), int(match["minute"] or 0), int(match["second"] or 0), half)


def _is_mark(half: str, minute: str | None, answer: str) -> bool:
    """Tells whether a mark of half a day is written as one; an absent mark is."""
    if half and not _MARK.search(answer.casefold()):
        return False
    is_cut_off = half.startswith(("a.", "p.")) and "m" not in half
    return not is_cut_off or minute is not None  # `4p.` is no time


def _time(hour: int, minute: int, second: int, half: str) -> Time | None:
    """A time of day by its parts and the mark of its half.

    None where the clock has no such time.
    """
    if hour > 23 or minute > 59 or second > 59:
        return None
    if not half:
        return Time(hour * 3600 + minute * 60 + second, half)
    if not 1 <= hour <= 12:
        return None
    is_late = half in {"noon", "afternoon", "evening"} or half.startswith("p")
    seconds = (hour % 12) * 3600 + minute * 60 + second
    return Time(seconds, "ap"[is_late])


def same_time(gold: str, answer: str) -> bool | None:
    """Compares two times of day.

    None when they are not both such, one at least with its half of the day.

    A missing mark is accepted as a missing unit is; `16:30` is another notation and is not
    converted.
    """
    if ":" not in gold + answer and "m" not in (gold + answer).casefold():
        return None
    gold_time = time_of_day(gold)
    answer_time = time_of_day(answer)
    if gold_time is None or answer_time is None:
        return None
    if gold_time.half and answer_time.half:
        return gold_time == answer_time
    if gold_time.half:
        return _is_same_clock(gold_time, answer_time)
    if answer_time.half:
        return _is_same_clock(answer_time, gold_time)
    return None


def _is_same_clock(marked: Time, plain: Time) -> bool:
    """Tells whether a clock of 12 hours shows both times alike, one without a mark."""
    is_after_midnight = marked.seconds < 3600
    shown = marked.seconds + (HALF_DAY if is_after_midnight else 0)
    return plain.seconds == shown
