"""All that is known of answers about a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from evalprep.annotate.answers import Question, Who, questions_of
from evalprep.annotate.ledger import Attempt, Chosen, Ledger
from evalprep.annotate.place import ledger_of
from evalprep.packs import Annotator, Item
from evalprep.results import Run


def open_filled(place: Path) -> Ledger | None:
    """Opens a ledger for reading; None for one in which nothing was ever written.

    Raises:
        BadInput: it cannot be read.
    """
    ledger = Ledger(place)
    if ledger.empty:
        ledger.close()
        return None
    return ledger


class Kept:
    """The kept answers; use it as a context.

    Args:
        run: The run.
        stamp: Time stamp of the samples in question, by which the ledger knows the run.
        ledger: An open one; found by the run's place otherwise.
    """

    def __init__(self, run: Run, stamp: str, ledger: Ledger | None = None) -> None:
        self.stamp = stamp
        self._own = ledger is None
        place = ledger_of(run) if ledger is None else None
        if place is not None:
            ledger = open_filled(place)
        self.ledger = ledger
        self._chosen = {} if ledger is None else ledger.chosen(stamp)
        before = run.rescored_from
        if before is not None and ledger is not None and not self._chosen:
            self.stamp = before[1]
            self._chosen = ledger.chosen(before[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own and self.ledger is not None:
            self.ledger.close()

    def __bool__(self) -> bool:
        """Returns whether anything may be known at all."""
        return self.ledger is not None

    def who(self, annotator: Annotator) -> Who | None:
        """The model whose answers count for an annotator; None where none was asked."""
        chosen = self._chosen.get(annotator.name)
        if chosen is not None:
            return Who(chosen.model, json.loads(chosen.sampling))
        if not annotator.paid:
            return Who(str(getattr(annotator, "model", "")))
        return None

    def chosen(self) -> Mapping[str, Chosen]:
        """Annotator -> the model whose answers count."""
        return self._chosen

    def judges(self, annotator: str) -> list[tuple[str, dict[str, Any]]]:
        """Everybody who was asked for an annotator about this run: model and parameters."""
        if self.ledger is None:
            return []
        return [
            (model, json.loads(sampling))
            for model, sampling in self.ledger.judges(self.stamp, annotator)
        ]

    def attempts(self, keys: Iterable[str]) -> dict[str, list[Attempt]]:
        """Attempts by key."""
        return {} if self.ledger is None else self.ledger.attempts(keys)

    def questions(
        self,
        annotator: Annotator,
        who: Who,
        rows: Mapping[str, Sequence[Mapping[str, Any]]],
        metadata: Mapping[str, Mapping[str, Any]],
    ) -> list[Question]:
        """The questions about some rows, with what is known of them."""
        return self.known(annotator, annotator.items(rows, metadata), who)

    def known(self, annotator: Annotator, items: Iterable[Item], who: Who) -> list[Question]:
        """Items as questions, with what is known of them."""
        return questions_of(annotator, items, who, self.attempts)
