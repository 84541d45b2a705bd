"""The form in which a column of right answers names options: texts, or letters and numbers.

Decided once for the whole column: a text such as `A` may be a letter of another option.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class AnswerForm:
    """The form in which the cells of a column name the right option.

    Attributes:
        texts: True where they hold texts of options, False where they hold letters or numbers.
        first: The number of the first option, 0 or 1; None where no cell holds a number of one.
    """

    texts: bool
    first: int | None = None


#: Letters of options, and no numbers.
ONLY_LETTERS = AnswerForm(texts=False)


def answer_form(golds: Sequence[str], options: Sequence[Sequence[str]]) -> AnswerForm:
    """Returns how the right answers name options.

    Args:
        golds: The right answers.
        options: The options of the same rows.

    Raises:
        ValueError: a column that can be read in two ways or in none, with the reason.

    >>> answer_form(["A", "B"], [["red", "blue"]] * 2)
    AnswerForm(texts=False, first=None)
    >>> answer_form(["red", "blue"], [["red", "blue"]] * 2)
    AnswerForm(texts=True, first=None)
    """
    first = first_number(golds, options)
    rows = list(zip(golds, options, strict=True))
    texts = [list(row).index(gold) if gold in row else None for gold, row in rows]
    places = [_place_of_letter(gold, row, first) for gold, row in rows]
    if None not in texts and (None in places or texts == places):
        return AnswerForm(texts=True)
    if None in places:
        # The first row that the reading of most rows does not fit.
        reading, name = (
            (texts, "text") if texts.count(None) < places.count(None) else (places, "letter")
        )
        row = reading.index(None)
        kept = len(reading) - reading.count(None)
        gold, options = rows[row]
        raise ValueError(
            f"holds the {name} of an option in {kept} of {len(rows)} rows; row {row + 1} holds "
            f"{gold!r}, and its options are {', '.join(options)}"
        )
    if None not in texts:
        raise ValueError(_both(rows, texts, places))
    return AnswerForm(texts=False, first=first)


def _place_of_letter(gold: str, options: Sequence[str], first: int | None) -> int | None:
    """The place of an option by its letter, or by its number where these count from `first`."""
    if gold.isdecimal():
        place = -1 if first is None else int(gold) - first
    else:
        place = LETTERS.find(gold) if len(gold) == 1 else -1
    return place if 0 <= place < len(options) else None


_Rows = Sequence[tuple[str, Sequence[str]]]
_Places = Sequence[int | None]


def _both(rows: _Rows, texts: _Places, places: _Places) -> str:
    """The first row in which the two readings name two options."""
    pairs = zip(texts, places, strict=True)
    row = next(at for at, (text, place) in enumerate(pairs) if text != place)
    gold, options = rows[row]
    by_letter = options[places[row] or 0]
    return (
        f"can be read in two ways: {gold!r} in row {row + 1} is the letter of the option "
        f"{by_letter!r} and the text of the option {gold!r}"
    )


def first_number(golds: Sequence[str], options: Sequence[Sequence[str]]) -> int | None:
    """The number of the first option: 0 or 1.

    None where the answers are letters or texts of options.

    Numbers that are texts of options in every row are texts.

    Args:
        golds: The right answers; those that are no numbers (letters among them) tell nothing.
        options: The options of the same rows.

    Raises:
        ValueError: numbers that fit both ways, or neither.

    >>> first_number(["0", "3"], [["a", "b", "c", "d"]] * 2)
    0
    >>> first_number(["2", "4"], [["1", "2", "3", "4"]] * 2)
    """
    numbered = [
        (int(gold), row, gold in row)
        for gold, row in zip(golds, options, strict=True)
        if gold.isdecimal()
    ]
    if all(is_text for _, _, is_text in numbered):
        return None
    fits = [
        first for first in (0, 1) if all(0 <= gold - first < len(row) for gold, row, _ in numbered)
    ]
    if len(fits) == 1:
        return fits[0]
    if not fits:
        raise ValueError("holds numbers that are neither options nor numbers of options")
    raise ValueError(
        "holds numbers of options, and nothing tells whether they count from 0 or from 1"
    )
