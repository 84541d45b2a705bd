"""Ratings and preferences in a judge's reply; what is ambiguous is left unread, as a guess would enter a mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from custom_metrics.judging.objects import finite_number, json_objects

#: Longer replies are cut from the front: the verdict stands at the end, and the search stays short.
_LONGEST = 200_000
_DECORATION = r"[\s*_`'\"\[({<~=]{0,12}"
_NUMBER = r"(?P<number>[-+]?\d{1,6}(?:\.\d{1,6})?)(?![\d.]*\d)"
#: What may follow a rating without making it another one: `/5`, `out of 5`.
_SCALE = re.compile(r"[\s*_`'\"\])}>]{0,6}(?:/|out of|of)[\s*_`]{0,3}(\d{1,6})(?![\d.]*\d)", re.IGNORECASE)
#: What makes it a range or a choice: `3-4`, `3 or 4`, `3 to 4`.
_RANGE = re.compile(r"\s{0,3}(?:[-\u2013\u2014]|or\b|to\b|and\b)\s{0,3}\d", re.IGNORECASE)
_SINGLE_QUOTE = re.compile(r"(?<=[{\[,:\s])'|'(?=\s{0,8}[}\],:])")


def judge_ratings(
    *,
    reply: str,
    names: Sequence[str],
    low: float,
    high: float,
    whole: bool = False,
) -> dict[str, Any]:
    r"""Ratings in a reply, each stated once or several times alike.

    Read are JSON objects (`{"rating": 4}`, also fenced, nested, with numbers as texts) and labelled numbers
    (`Rating: 4`, `**Rating:** 3`, `Rating: [4]`, `rating = 4/5`). Two different numbers for one name, a range (`3-4`)
    and another scale (`4/10` on one to 5) are ambiguous and count as unread. Where there is only one name, `rating` and
    `score` mean it too.

    Args:
        reply: The judge's text.
        names: What is rated.
        low: Smallest rating.
        high: Largest rating.
        whole: Ratings are whole numbers.

    Returns:
        `status` (`ok`, `incomplete`, `parse_error`, `invalid_score`), `ratings` (name -> number, or None unless the
        status is `ok`) and `reason`.

    >>> judge_ratings(reply="**Rating:** 3", names=["rating"], low=1, high=5)["ratings"]
    {'rating': 3.0}
    >>> judge_ratings(reply="Rating: 3 or 4", names=["rating"], low=1, high=5)["reason"]
    'rating is stated as a range'
    """
    text = reply[-_LONGEST:]
    found: dict[str, float] = {}
    missing: list[str] = []
    for name in names:
        spellings = {name.lower(), "rating", "score"} if len(names) == 1 else {name.lower()}
        stated = [*_in_objects(text, spellings), *_labelled(text, spellings, high)]
        numbers = {one for one in stated if isinstance(one, float)}
        odd = [one for one in stated if isinstance(one, str)]
        if odd or len(numbers) > 1:
            status = "invalid_score" if odd == ["is no number"] and not numbers else "parse_error"
            why = odd[0] if odd else f"is stated as {' and '.join(f'{one:g}' for one in sorted(numbers))}"
            return {"status": status, "ratings": None, "reason": f"{name} {why}"}
        if not numbers:
            missing.append(name)
            continue
        found[name] = numbers.pop()
    if missing:
        status = "incomplete" if found else "parse_error"
        return {"status": status, "ratings": None, "reason": f"without {', '.join(missing)}"}
    outside = [name for name, one in found.items() if not low <= one <= high or (whole and one != int(one))]
    if outside:
        reason = f"{', '.join(outside)} not on the scale of {low:g} to {high:g}"
        return {"status": "invalid_score", "ratings": None, "reason": reason}
    return {"status": "ok", "ratings": found, "reason": ""}


def judge_preference(*, reply: str) -> dict[str, Any]:
    r"""Which of two answers a reply prefers: 1 for A, 0 for B, 0.5 for a tie.

    Read are `Verdict: A`, `Preference: [[B]]`, `{"verdict": "tie"}` and the like; two different verdicts are ambiguous.

    >>> judge_preference(reply="Verdict: [[B]]")["ratings"]
    {'preference': 0.0}
    """
    text = reply[-_LONGEST:]
    verdicts = {_VERDICTS[one.lower()] for one in _VERDICT.findall(text)}
    if len(verdicts) != 1:
        return {"status": "parse_error", "ratings": None, "reason": "two verdicts" if verdicts else "without a verdict"}
    return {"status": "ok", "ratings": {"preference": verdicts.pop()}, "reason": ""}


_VERDICTS = {"a": 1.0, "b": 0.0, "tie": 0.5, "equal": 0.5, "neither": 0.5, "both": 0.5}
_VERDICT = re.compile(
    rf"\b(?:verdict|preference|better|winner)\b{_DECORATION}[:=]{_DECORATION}(?:answer |response |reply )?{_DECORATION}"
    r"(a|b|tie|equal|neither|both)\b",
    re.IGNORECASE,
)


def _in_objects(text: str, spellings: set[str]) -> Iterator[float | str]:
    """What JSON objects in the text say under a name."""
    for candidate in _objects(text):
        for key, value in candidate.items():
            if str(key).strip().lower() in spellings:
                inner = value
                if isinstance(value, Mapping):
                    inner = next((one for name, one in value.items() if str(name).lower() in {"score", "rating"}), None)
                number = _number(inner)
                yield "is no number" if number is None else number


def _objects(text: str) -> Iterator[dict[str, Any]]:
    whole = list(json_objects(text))
    yield from whole or json_objects(_SINGLE_QUOTE.sub('"', text))


def _number(value: Any) -> float | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return finite_number(value)


def _labelled(text: str, spellings: set[str], high: float) -> Iterator[float | str]:
    """What labelled numbers in the text say."""
    names = "|".join(re.escape(one) for one in sorted(spellings))
    label = re.compile(rf"(?<![\w-])(?:{names}){_DECORATION}[:=]{_DECORATION}{_NUMBER}", re.IGNORECASE)
    for match in label.finditer(text):
        if _RANGE.match(text, match.end()):
            yield "is stated as a range"
            continue
        scale = _SCALE.match(text, match.end())
        if scale and float(scale[1]) != high:
            yield f"is stated on a scale to {scale[1]}"
            continue
        yield float(match["number"])


METRICS = {"judge_ratings": judge_ratings, "judge_preference": judge_preference}
