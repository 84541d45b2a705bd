"""Two runs with what is concluded of them: the words together, as every medium shows them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evalprep.compare.closing import closing_lines
from evalprep.compare.conclusion import (
    BETTER,
    DIFFERENT,
    EQUIVALENT,
    NO_DIFFERENCE,
    NOT_COMPARABLE,
    NOT_ENOUGH,
    WORSE,
    Conclusion,
)
from evalprep.compare.flips import Flip
from evalprep.compare.limit import Limit
from evalprep.compare.quantities import SECONDARY, TwoRuns
from evalprep.compare.warnings import lacking
from evalprep.results import SampleView
from evalprep.terminal import shortlist

PUBLISHED = "published verdicts"
_NAMED = 4  # quantities, tasks or metrics that a sentence names


@dataclass(frozen=True, kw_only=True)
class Comparison(TwoRuns[Conclusion]):
    """The whole comparison.

    `to_dict` gives it as plain data, `flips` streams the changed samples with their texts.

    Attributes:
        candidates: Candidates of the page whose words hold together.
        described: True of a candidate that is not judged, as another one was named for that.
    """

    candidates: int = 1
    described: bool = False

    @property
    def pairs(self) -> int:
        """Pairs over all tasks."""
        return sum(task.difference.n for task in self.tasks)

    @property
    def conclusions(self) -> list[Conclusion]:
        """Everything that is concluded, the tasks first."""
        return [*self.of_tasks, *self.suite, *self.together]

    @property
    def advisory(self) -> list[Conclusion]:
        """Metrics beside those that decide which are better, worse or changed.

        Copies of another metric are left out.
        """
        reported = {item.duplicate_of for item in self.conclusions if item.decides}
        lines = []
        for item in (*self.metrics, *self.further, *self.stored):
            if item.decides or not item.shown or item.duplicate_of in reported - {""}:
                continue
            reported.add(item.duplicate_of)
            lines.append(item)
        return lines

    @property
    def worse(self) -> list[str]:
        """Names of what is worse; what does not decide is advisory and left out, as in a gate."""
        return [item.name for item in self.conclusions if item.decides and item.verdict == WORSE]

    @property
    def lacks_evidence(self) -> bool:
        """True where the candidate lacks tasks, or what decides lacks rows that it was to have."""
        if self.missing_tasks:
            return True
        return any(
            item.decides and any(reason.kind.takes_rows for reason in item.reasons)
            for item in self.conclusions
        )

    @property
    def headline(self) -> str:
        """The worst word of what decides; empty of a candidate that is described."""
        if self.described:
            return ""
        decided = [item for item in self.conclusions if item.decides and item is not self.pooled]
        words = {item.verdict for item in decided}
        of_tasks = {item.verdict for item in decided if item.kind not in {"suite", "overall"}}
        if WORSE in words:
            return WORSE
        if NOT_COMPARABLE in of_tasks:
            return NOT_COMPARABLE
        if self.lacks_evidence or not self.concluded:
            return NOT_ENOUGH
        shown = [word for word in (DIFFERENT, BETTER) if word in words]
        if shown:
            return shown[0]
        return NO_DIFFERENCE if NO_DIFFERENCE in words else EQUIVALENT

    @property
    def exit_sentence(self) -> str:
        """Returns why something that is worse does not count.

        Empty where it counts, or nothing is worse.

        A gate decides by the same metrics, so that the two agree.
        """
        names = [item.name for item in self.advisory if item.verdict == WORSE]
        if not names or self.worse:
            return ""
        verb = "is" if len(names) == 1 else "are"
        return (
            f"{shortlist(names, _NAMED)} {verb} advisory and no failure here or in a gate; "
            "a gate's policy decides by it with `metrics: all`"
        )

    @property
    def concluded(self) -> bool:
        """True where anything could be said at all."""
        # Of advisory metrics a task may log one for each rule: they alone conclude nothing.
        advisory = {SECONDARY, "stored"}
        weighty = [item for item in self.conclusions if item.decides or item.kind not in advisory]
        return any(item.counts for item in weighty)

    @property
    def closing(self) -> list[str]:
        """Returns what was decided, worst first, in at most three lines."""
        of_tasks = {item.duplicate_of for item in self.tasks}
        further = [
            item
            for item in (*self.metrics, *self.further)
            if item.decides and item.duplicate_of not in of_tasks
        ]
        tasks = [lacking("candidate", self.missing_tasks)] if self.missing_tasks else []
        return closing_lines(
            [*self.tasks, *self.stored, *self.suite, *further],
            self.advisory,
            self.overall,
            missing=[*tasks, *self.missing_metrics[:_NAMED]],
        )

    @property
    def remarks(self) -> list[str]:
        """The notes of all quantities, each once with the names that it holds for."""
        names_of: dict[str, list[str]] = {}
        for item in (*self.of_tasks, *self.suite):
            for note in item.notes:
                names_of.setdefault(note, []).append(item.name)
        notes = [f"{shortlist(names, _NAMED)}: {note}" for note, names in names_of.items()]
        if self.described:
            notes.insert(0, "described without words: another candidate is judged (--candidate)")
        elif self.candidates > 1:
            notes.insert(
                0,
                f"the words hold over {self.candidates} candidates together, and may be weaker "
                "than those of `compare` on two runs",
            )
        return notes

    def flips(self) -> Iterator[Flip]:
        """Every changed sample of every task, with its texts."""
        for rows in self.rows.values():
            yield from rows.flips()

    def lost(self) -> Iterator[SampleView]:
        """Every sample that the baseline got right and the candidate did not, with its texts."""
        for rows in self.rows.values():
            yield from rows.lost()

    def to_dict(self) -> dict[str, Any]:
        """Everything but the texts of flips.

        NaN and infinity as None, so that it is strict JSON.
        """
        plain = dict(vars(self))
        del plain["rows"]
        for name in ("metrics", "further", "stored", "suite"):
            plain[name] = [item.to_dict() for item in plain[name]]
        plain["tasks"] = self._plain_tasks()
        for name in ("overall", "pooled", "reproduction"):
            part = plain[name]
            plain[name] = None if part is None else part.to_dict()
        if isinstance(self.margin, Limit):
            plain["margin"] = str(self.margin) if self.margin.unit else self.margin.value
        plain["closing"] = self.closing
        plain["headline"] = self.headline
        plain["exit_sentence"] = self.exit_sentence
        plain["remarks"] = self.remarks
        return dict(_strict(plain))

    def to_pandas(self) -> Any:
        """One row per task as a data frame."""
        import pandas as pd

        rows = [
            {name: value for name, value in task.items() if not isinstance(value, (list, dict))}
            for task in self._plain_tasks()
        ]
        return pd.DataFrame(rows)

    def _plain_tasks(self) -> list[dict[str, Any]]:
        """The tasks with what is said of their rows, as plain data."""
        return [self.rows[task.name].to_dict() | task.to_dict() for task in self.tasks]

    def _repr_html_(self) -> str:
        """The tables, notes and closing lines, as a notebook shows them."""
        from evalprep.compare.screen import html_of

        return html_of(self)

    def flips_to_pandas(self) -> Any:
        """One row per changed sample as a data frame, texts included."""
        import pandas as pd

        return pd.DataFrame([flip.to_dict() for flip in self.flips()])


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
