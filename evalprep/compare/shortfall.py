"""The reasons why the numbers of two runs do not carry a verdict, each with its kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Lack(StrEnum):
    """The kinds of what a quantity lacks; whatever depends on a reason asks for its kind."""

    #: More than the tolerated share of the expected rows has no pair with a score on both sides.
    MISSING_ROWS = "missing_rows"
    #: No row of a task or of a subtask has a score on both sides.
    NO_SCORED_PAIR = "no_scored_pair"
    #: Rows of this task have no score of their own on either side.
    NO_ROW_SCORE = "no_row_score"
    #: No row of this task carries a published verdict: the published side does not have it.
    NO_VERDICT = "no_verdict"
    #: Too few rows of two tools met.
    FEW_PAIRED = "few_paired"
    SAME_FILE = "same_file"
    #: A side has no value.
    NO_VALUE = "no_value"
    NO_TEST = "no_test"
    #: Fewer rows than the test takes.
    FEW_ROWS = "few_rows"
    #: A value is made of the few answers that could be read.
    FEW_READ = "few_read"


#: What takes the evidence from every score that a task has a part in.
OF_ROWS = frozenset({Lack.MISSING_ROWS, Lack.NO_SCORED_PAIR, Lack.FEW_PAIRED, Lack.SAME_FILE})


@dataclass(frozen=True)
class Shortfall:
    """One reason why there is not enough evidence.

    Attributes:
        kind: What is lacking.
        text: The reason for people; nothing reads it.
    """

    kind: Lack
    text: str

    def __str__(self) -> str:
        return self.text

    def of(self, name: str) -> Shortfall:
        """The same reason with the name of the task that it is about."""
        return Shortfall(self.kind, f"{name}: {self.text}")


def sentences(shortfalls: Iterable[Shortfall]) -> list[str]:
    """The texts of some reasons, each once."""
    return list(dict.fromkeys(map(str, shortfalls)))
