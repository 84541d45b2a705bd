"""What may be put beside what: the questions of every run against those of one, and pairs of runs where asked for.

All of it is what `evalprep compare` says of two runs; nothing is concluded here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from evalprep.compare import Comparison, Conclusion, compare_runs, compare_suite
from evalprep.compare.comparable import differing, reasons
from evalprep.compare.conclusion import TOLERATED_MISSING
from evalprep.leaderboard.columns import SCORE, Column, values_of
from evalprep.results import Run
from evalprep.results.facts import expected_rows, facts_of
from evalprep.score import Scores
from evalprep.terminal import shortlist


class Pairs:
    """Comparisons among some runs, each made once and when it is needed.

    Attributes:
        anchor: The run whose questions the others are held against: one of the largest group of runs that were asked
            the same, with the reference where it is among them.
    """

    def __init__(
        self, runs: Sequence[Run], scores: Sequence[Scores], references: Sequence[int], allow: Sequence[str]
    ) -> None:
        self.runs, self.scores, self.allow = runs, scores, tuple(allow)
        self._compared: dict[tuple[int, int], Comparison | None] = {}
        self._suite: dict[tuple[int, int], dict[str, Conclusion]] = {}
        self.anchor = self._find_anchor(references)

    def _find_anchor(self, references: Sequence[int]) -> int:
        asked = [_question(run, self.allow) for run in self.runs]
        # Of scores without samples nothing is known that others could be held against.
        counts = Counter(one for one in asked if one) or Counter(asked)
        most = max(counts.values())
        among = [at for at, one in enumerate(asked) if counts[one] == most]
        whole = [at for at in among if not any(self.incomplete(at, [name]) for name in self.runs[at].tasks)]
        first = whole or among
        return next((at for at in first if at in references), first[0])

    def other_question(self, at: int, tasks: Sequence[str]) -> list[str]:
        """Why a run's numbers on some tasks may not be put beside those of the anchor; empty where they may."""
        if at == self.anchor:
            return []
        run, other = self.runs[at], self.runs[self.anchor]
        shared = [name for name in tasks if name in run.tasks and name in other.tasks]
        comparison = self._pair(at, self.anchor) if shared else None
        found: dict[str, dict[str, None]] = {}
        for name in tasks:
            mine, theirs = run.known(name), other.known(name)
            if name not in shared and mine is not None and theirs is not None:
                for why in reasons(differing(run, mine, other, theirs), self.allow):
                    found.setdefault(why, {})[name] = None
        for one in comparison.tasks if comparison is not None else ():
            if one.name not in shared:
                continue
            for why in one.not_comparable or self._other_rows(at, one):
                found.setdefault(why, {})[one.name] = None
        # Named only where it is not all that the number is made of.
        return [
            why if len(names) == len(tasks) else f"{why} ({shortlist(list(names), 2)})" for why, names in found.items()
        ]

    def otherwise_made(self, at: int, column: Column, found: Mapping[str, Any]) -> list[str]:
        """Said where a score follows another rule than the yardstick's, or is a mean of other scores.

        The yardstick is the anchor, where it has the score, else the first run that has it.
        """
        if column.kind != SCORE:
            return []
        for one in (self.anchor, *range(len(self.runs))):
            other = values_of(column, self.scores[one])
            if other and other["value"] is not None:
                break
        if one == at:
            return []
        said = []
        if found["rule"] != other["rule"]:
            said.append(f"scored by another rule: {found['rule'] or 'the usual one'}")
        if found["made_from"] != other["made_from"]:
            without, more = other["made_from"] - found["made_from"], found["made_from"] - other["made_from"]
            differs = [f"{len(names)} {what}" for names, what in ((without, "fewer"), (more, "more")) if names]
            said.append(f"a mean of other scores: {' and '.join(differs)}")
        return said

    def _other_rows(self, at: int, one: Conclusion) -> list[str]:
        """Said where two whole runs do not share their rows: another split, another sample of the data."""
        mine, theirs = (len(run.tasks[one.name].table()) for run in (self.runs[at], self.runs[self.anchor]))
        if self.incomplete(at, [one.name]) or self.incomplete(self.anchor, [one.name]) or not one.difference.n:
            shared = one.difference.n
            if shared or not (mine and theirs):
                return []
        missing = max(mine, theirs) - one.difference.n
        if missing <= TOLERATED_MISSING * max(mine, theirs):
            return []
        return [
            f"other rows: {one.difference.n} of its {mine} are among the {theirs} of {self.runs[self.anchor].label}"
        ]

    def incomplete(self, at: int, tasks: Sequence[str]) -> list[str]:
        """Which of a run's tasks lack rows that they were meant to have."""
        found = []
        for name in tasks:
            task = self.runs[at].tasks.get(name)
            expected = expected_rows(self.runs[at], task) if task is not None else None
            if task is None or expected is None:
                continue
            rows = len(task.table())
            if expected - rows > TOLERATED_MISSING * expected:
                found.append(f"{rows} of {expected} rows of {name}")
        return found

    def conclusion(self, one: int, other: int, column: Column) -> Conclusion | None:
        """What is concluded of two runs in a column, the candidate first."""
        comparison = self._pair(one, other)
        if comparison is None:
            return None
        if column.kind != SCORE:
            return next((task for task in comparison.tasks if task.name == column.id), None)
        if (one, other) not in self._suite:
            both = self.scores[one], self.scores[other]
            found = compare_suite(self.runs[one], self.runs[other], {}, allow=self.allow, scores=both, tasks=comparison)
            self._suite[one, other] = {each.name: each for each in found}
        return self._suite[one, other].get(column.id)

    def _pair(self, one: int, other: int) -> Comparison | None:
        """Two runs on the tasks that both have; None where they share none."""
        if (one, other) not in self._compared:
            run, base = self.runs[one], self.runs[other]
            shared = [name for name in run.tasks if name in base.tasks]
            found = compare_runs(run, base, tasks=shared, allow=self.allow) if shared else None
            self._compared[one, other] = found
        return self._compared[one, other]


def _question(run: Run, allow: Sequence[str]) -> frozenset[tuple[str, str, str]]:
    """What a run was asked, as far as its facts tell; chat templates belong to models."""
    without = {*allow, "chat_template"}
    return frozenset(
        (name, fact, repr(known.value))
        for name, task in {**run.stored, **run.tasks}.items()
        for fact, known in facts_of(run, task).items()
        if known.kind == "question" and fact not in without
    )
