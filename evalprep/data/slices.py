"""Parts of splits as `datasets` writes them.

Examples are `train[:100]`, `test[10%:-5%]` and `train+validation[:50]`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from evalprep.errors import BadInput, Problem, near

_LOW = r"(?P<low>-?[\d_]+)(?P<low_percent>%)?"
_HIGH = r"(?P<high>-?[\d_]+)(?P<high_percent>%)?"
# train, train[:100], test[10%:20%](closest)
_PART = re.compile(
    rf"(?P<split>\w+(?:\.\w+)*)(?:\[(?:{_LOW})?:(?:{_HIGH})?\])?(?:\((?P<rounding>[^)]*)\))?"
)
CLOSEST, WHOLE_PERCENTS = "closest", "pct1_dropremainder"
ALL = "all"
ALLOWED = "a split, or parts of splits: train[:100], test[10%:20%], train[-50:], train+test"


@dataclass(frozen=True)
class Part:
    """Some rows of a split, from one boundary to another.

    Attributes:
        split: The split.
        low: First boundary; None is its beginning, and a negative one counts from its end.
        high: The boundary behind the last row; None is its end.
        rounding: How boundaries in percent become rows; empty where they are numbers of rows.
    """

    split: str
    low: int | None = None
    high: int | None = None
    rounding: str = ""

    @property
    def whole(self) -> bool:
        """Returns whether it is all of the split."""
        return self.low is None and self.high is None

    @property
    def needs_count(self) -> bool:
        """Returns whether the boundaries depend on how many rows the split has."""
        return bool(self.rounding) or (self.low or 0) < 0 or (self.high or 0) < 0

    def bounds(self, count: int) -> tuple[int, int | None]:
        """First row, and the row behind the last one, None for the end.

        Args:
            count: Rows of the split; of no matter where `needs_count` says no.

        Raises:
            ValueError: it ends before it begins (`datasets` gives none, or by an oversight the
                wrong rows), or whole percents are asked of less than 100 rows, which are none.

        >>> Part("train", 10, -20, rounding="closest").bounds(33)
        (3, 26)
        """
        low = 0 if self.low is None else self._rows(self.low, count)
        low = max(low + count, 0) if low < 0 else low
        if self.high is None:
            return low, None
        high = self._rows(self.high, count)
        high = max(high + count, 0) if high < 0 else high
        if high < low:
            raise ValueError(
                f"the part of {self.split} would begin behind row {low} and end behind row {high}"
            )
        return low, high

    def _rows(self, boundary: int, count: int) -> int:
        if self.rounding == WHOLE_PERCENTS:
            if count < 100:
                raise ValueError(
                    f"({WHOLE_PERCENTS}) needs a split of 100 rows or more, and {self.split} has "
                    f"{count}"
                )
            return boundary * (count // 100)
        return round(boundary * count / 100.0) if self.rounding else min(boundary, sys.maxsize)


def parts_of(text: str, splits: Sequence[str], where: str) -> list[Part]:
    """The parts that a text asks for, in the order in which their rows come.

    Args:
        text: The name of a split, `all`, or parts of splits with `+` between them.
        splits: The splits that there are.
        where: Who asked, for messages.

    Raises:
        BadInput: no such split, or a text that `datasets` refuses, too.
    """
    if text in splits:
        return [Part(text)]
    if text == ALL:
        return [Part(split) for split in splits]
    try:
        # Blanks are beside a plus alone; a pattern that looks for them would take quadratic time on
        # many.
        terms = text.split("+")
        terms[:-1] = [term.rstrip() for term in terms[:-1]]
        terms[1:] = [term.lstrip() for term in terms[1:]]
        parts = [_part(term) for term in terms]
    except ValueError as error:
        raise BadInput(
            Problem(what=f"{text!r} is not a valid split: {error}", where=where, allowed=ALLOWED)
        ) from None
    if parts[0].rounding and {part.rounding for part in parts} - {"", parts[0].rounding}:
        raise BadInput(
            Problem(
                what=f"{text!r} rounds percents in two ways",
                where=where,
                allowed="one way in a sum",
            )
        )
    for part in parts:
        if part.split not in splits:
            raise BadInput(
                Problem(
                    what=f"has no split {part.split!r}",
                    where=where,
                    allowed=", ".join(splits),
                    fix=near(part.split, splits) or "name one with split",
                )
            )
    return parts


def _part(text: str) -> Part:
    match = _PART.fullmatch(text)
    if not text:
        raise ValueError("a name is missing beside the +")
    if match is None:
        raise ValueError(f"{text!r} is neither a name nor a part")
    percent = bool(match["low_percent"] or match["high_percent"])
    rounding = match["rounding"]
    if rounding is not None:
        if not percent:
            raise ValueError("a way of rounding is for percents")
        if rounding not in {CLOSEST, WHOLE_PERCENTS}:
            raise ValueError(f"there are two ways of rounding, ({CLOSEST}) and ({WHOLE_PERCENTS})")
    low, high = _bound(match["low"]), _bound(match["high"])
    if not percent:
        return Part(match["split"], low, high, "")
    if max(abs(low or 0), abs(high or 0)) > 100:
        raise ValueError("a percentage lies between -100 and 100")
    return Part(match["split"], low, high, rounding or CLOSEST)


def _bound(digits: str | None) -> int | None:
    return int(digits) if digits else None
