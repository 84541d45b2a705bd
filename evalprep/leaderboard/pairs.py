"""The pairs of rows that may be compared.

The questions of every run against those of one, and pairs of runs where asked for.

All of it is what `evalprep compare` says of two runs; nothing is concluded here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations

import msgspec
import numpy as np

from evalprep.compare import (
    BASELINE,
    CANDIDATE,
    TOLERATED_MISSING,
    Conclusion,
    Kind,
    PairedTask,
    Quantities,
    Reason,
    Settings,
    add_suite,
    conclude_pairs,
    differing,
    fact_reasons,
    measure,
    mirrored,
    on_a_board,
    tasks_without_mean,
)
from evalprep.leaderboard.columns import GROUP, SCORE, Cell, Column, values_of
from evalprep.packs import Pack
from evalprep.results import Run, TaskRun, expected_rows, facts_of
from evalprep.samples import contrary_rows
from evalprep.score import Scores, partial_rows
from evalprep.terminal import shortlist, tracked

_NAMED_TASKS = 4  # tasks that a reason names


class Judged(msgspec.Struct, frozen=True):
    """The pairs of rows that carry words; all of them where neither side is named.

    Attributes:
        candidate: Label of the run that is named beforehand.
        baseline: Label of the run that each other one is compared with.
    """

    candidate: str = ""
    baseline: str = ""

    def pair(self, label: str, other: str) -> tuple[str, str] | None:
        """Returns the candidate and the baseline of two rows; None for a pair without a word."""
        for candidate, baseline in ((label, other), (other, label)):
            of_candidate = self.candidate in {"", candidate}
            if of_candidate and self.baseline in {"", baseline}:
                return candidate, baseline
        return None

    @property
    def sentence(self) -> str:
        """The pairs in words; empty where they are all of a table."""
        names = {"--candidate": self.candidate, "--baseline": self.baseline}
        options = [option for option, label in names.items() if label]
        labels = [label for label in names.values() if label]
        pairs = "the pair" if len(labels) > 1 else "pairs"
        return f"{pairs} with {' and '.join(labels)} alone ({', '.join(options)})" if labels else ""


class Pairs:
    """Comparisons among some runs, each made once and when it is needed.

    Attributes:
        anchor: The run whose questions the others are held against: one of the largest group of
            runs that were asked the same, with the reference where it is among them. A run over a
            part of the rows only where no run covers all of them.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        scores: Sequence[Scores],
        references: Sequence[int],
        allow: Sequence[str],
        packs: Mapping[str, Pack] | None = None,
        cluster: str = "",
        judged: Judged | None = None,
    ) -> None:
        self.judged = judged or Judged()
        self.runs = runs
        self.scores = scores
        self.allow = tuple(allow)
        self._packs = packs or {}
        self._without_mean = tasks_without_mean(runs, self._packs)
        self._settings = Settings(allow=tuple(allow), cluster=cluster)
        self._measured: dict[tuple[int, int], Quantities | None] = {}
        self._concluded: dict[tuple[int, int], dict[tuple[bool, str], Conclusion]] = {}
        # Group -> its tasks in the order of the runs, over all runs.
        self._group_tasks: dict[str, dict[str, None]] = {}
        for group in chain.from_iterable(run_scores.groups for run_scores in scores):
            self._group_tasks.setdefault(group.group, {}).update(dict.fromkeys(group.tasks))
        self.anchor = self._find_anchor(references)

    def _find_anchor(self, references: Sequence[int]) -> int:
        # The run over a part of the rows is marked, however many such runs there are.
        runs = list(enumerate(self.runs))
        over_all_rows = [at for at, run in runs if not partial_rows(run, run.tasks)]
        every_place = list(range(len(self.runs)))
        places = self._of_most_asked(over_all_rows or every_place)
        sound = [at for at in places if self._is_sound(at)]
        candidates = sound or places
        for at in candidates:
            if at in references:
                return at
        tasks = [run.tasks.values() for run in self.runs]
        return max(candidates, key=lambda at: sum(len(task.table()) for task in tasks[at]))

    def _of_most_asked(self, places: Sequence[int]) -> list[int]:
        """The runs among some that were asked the most frequent questions."""
        question_of = {at: _question(self.runs[at], self.allow) for at in places}
        questions = list(question_of.values())
        # Of scores without samples nothing is known that others could be held against.
        known = [question for question in questions if question]
        counts = Counter(known or questions)
        most = max(counts.values())
        return [at for at in places if counts[question_of[at]] == most]

    def _is_sound(self, at: int) -> bool:
        """True for a run with all of its rows, each with a score inside its metric's range."""
        tasks = self.runs[at].tasks
        if self.incomplete(at, list(tasks)):
            return False
        for task in tasks.values():
            values = task.table().metrics.get(task.primary.metric)
            if values is not None and task.primary.range is not None:
                low, high = task.primary.range
                if np.any(values < low) or np.any(values > high):
                    return False
        return True

    def other_question(self, at: int, tasks: Sequence[str]) -> list[str]:
        """Returns why a run's numbers on some tasks may not be put beside those of the anchor.

        Empty where they may.
        """
        if at == self.anchor:
            return []
        perspective = on_a_board(self.runs[self.anchor].label)
        tasks_by_reason: dict[str, dict[str, None]] = {}
        for name, reason in self._other_questions_of(at, tasks):
            tasks_by_reason.setdefault(reason.sentence(perspective), {})[name] = None
        sentences = []
        for sentence, names in tasks_by_reason.items():
            where = f" ({shortlist(list(names), 2)})" if len(names) < len(tasks) else ""
            sentences.append(f"{sentence}{where}")
        return sentences

    def _other_questions_of(self, at: int, tasks: Sequence[str]) -> Iterator[tuple[str, Reason]]:
        """Task by task why a run was not asked what the anchor was."""
        run = self.runs[at]
        anchor = self.runs[self.anchor]
        sampled = [name for name in tasks if name in run.tasks and name in anchor.tasks]
        for name in tasks:
            task = run.known(name)
            yardstick = anchor.known(name)
            if name in sampled or task is None or yardstick is None:
                continue
            differences = differing(run, task, anchor, yardstick)
            for reason in fact_reasons(differences, self.allow):
                yield name, reason
        measured = self._pair(at, self.anchor) if sampled else None
        if measured is None:
            return
        for paired in measured.tasks:
            if paired.name in sampled:
                rows = measured.rows[paired.name]
                for reason in paired.refusals or self._other_rows(at, rows):
                    yield paired.name, reason

    def otherwise_made(self, at: int, column: Column, values: Cell) -> list[str]:
        """Returns why a score is not made as the yardstick is.

        It follows another rule, or is a mean of other scores.

        The yardstick is the anchor, where it has the score, else the first run that has it.
        """
        if column.kind != SCORE:
            return []
        yardstick, other = self._yardstick(column)
        if yardstick == at or other is None:
            return []
        why = []
        if values.rule != other.rule:
            rule = values.rule or "the usual one"
            why.append(f"scored by another rule: {rule}")
        counts = []
        if fewer := other.over - values.over:
            counts.append(f"{len(fewer)} fewer")
        if more := values.over - other.over:
            counts.append(f"{len(more)} more")
        if counts:
            why.append(f"a mean of other scores: {' and '.join(counts)}")
        return why

    def _yardstick(self, column: Column) -> tuple[int, Cell | None]:
        """The anchor, where it has the score, else the first run that has it, with its values."""
        for place in (self.anchor, *range(len(self.runs))):
            values = values_of(column, self.scores[place])
            if values is not None and values.value is not None:
                return place, values
        return self.anchor, None

    def _other_rows(self, at: int, rows: PairedTask) -> list[Reason]:
        """The reason where two whole runs do not share their rows, as of another split."""
        name = rows.task
        anchor = self.runs[self.anchor]
        own = self.runs[at].tasks[name].table().id_count
        of_anchor = anchor.tasks[name].table().id_count
        if not own or not of_anchor:
            return []
        shared = rows.pairs.paired
        is_part = self.incomplete(at, [name]) or self.incomplete(self.anchor, [name])
        if is_part and shared:
            return []
        most = max(own, of_anchor)
        if most - shared <= TOLERATED_MISSING * most:
            return []
        known = {CANDIDATE: own, BASELINE: of_anchor, "shared": shared}
        return [Reason(Kind.OTHER_ROWS, values=known)]

    def fewer_tasks(self, at: int, column: Column, tasks: Sequence[str]) -> list[str]:
        """The reason where a value covers fewer tasks than the same value of other runs.

        A group's covers fewer than the group has over all runs; a suite score may go on without
        tasks that the run lacks.
        """
        if column.kind == SCORE:
            run = self.runs[at]
            unknown = [] if run.stated else [name for name in tasks if run.known(name) is None]
            in_others = set(chain.from_iterable(other.tasks for other in self.runs))
            lacking = [name for name in unknown if name in in_others]
            return [f"it has no samples of {shortlist(lacking, _NAMED_TASKS)}"] if lacking else []
        if column.kind != GROUP:
            return []
        all_tasks = self._group_tasks[column.id]
        absent = [name for name in all_tasks if name not in tasks]
        if not absent:
            return []
        covered = f"{len(tasks)} of {len(all_tasks)} tasks"
        names = shortlist(absent, _NAMED_TASKS)
        return [f"group {column.id} covers {covered}, without {names}"]

    def incomplete(self, at: int, tasks: Sequence[str]) -> list[str]:
        """Returns which of a run's tasks lack rows or scores of their rows.

        Lacking are rows that a task was meant to have.
        """
        run = self.runs[at]
        shortfalls = []
        for name in tasks:
            task = run.tasks.get(name)
            if task is None:
                continue
            rows = len(task.table())
            expected = expected_rows(run, task) or rows
            if expected - rows > TOLERATED_MISSING * expected:
                shortfalls.append(f"{rows} of {expected} rows of {name}")
            doubled = contrary_rows(task.table())
            if doubled > TOLERATED_MISSING * rows:
                shortfalls.append(f"{doubled} of {rows} rows of {name} occur more than once")
            in_runs = (other.tasks[name].table() for other in self.runs if name in other.tasks)
            if not rows and any(map(len, in_runs)):
                shortfalls.append(f"no row of {name}")
            unscored = rows if self._lost_its_metric(name, task) else _unscored_rows(task)
            if unscored > TOLERATED_MISSING * rows:
                shortfalls.append(f"{unscored} of {rows} rows of {name} have no score")
        return shortfalls

    def _lost_its_metric(self, name: str, task: TaskRun) -> bool:
        """True where no row of a run's task has a number, and rows of another run have one."""
        if task.primary.metric:
            return False
        others = (run.tasks[name] for run in self.runs if name in run.tasks)
        return any(other.primary.metric for other in others)

    def conclusion(self, candidate: int, baseline: int, column: Column) -> Conclusion | None:
        """Returns what is concluded of two runs in a column, the candidate first."""
        key = column.kind == SCORE, column.id
        if (candidate, baseline) in self._concluded:
            return self._concluded[candidate, baseline].get(key)
        exchanged = self._concluded.get((baseline, candidate), {}).get(key)
        return None if exchanged is None else mirrored(exchanged)

    def conclude(self, needed: Iterable[tuple[int, int]]) -> None:
        """Concludes the pairs that a table needs: one family over all pairs of its runs."""
        orders: dict[tuple[int, int], None] = {}
        for pair in needed:
            # Two runs are measured once; the other order is mirrored.
            turned = pair[::-1]
            orders[turned if turned in self._measured or turned in orders else pair] = None
        compared: dict[tuple[int, int], Quantities] = {}
        for pair in tracked(orders, "pairs compared", len(orders), unit="pairs"):
            measured = self._pair(*pair)
            if measured is not None:
                candidate, baseline = pair
                compared[pair] = add_suite(
                    measured,
                    self.runs[candidate],
                    self.runs[baseline],
                    self._packs,
                    self._settings,
                    scores=(self.scores[candidate], self.scores[baseline]),
                )
        comparisons = conclude_pairs(list(compared.values()), self.size)
        for pair, comparison in zip(compared, comparisons, strict=True):
            # The first conclusion of each name counts.
            of_tasks = [*comparison.tasks, *comparison.further, *comparison.metrics]
            by_name = {(True, item.name): item for item in reversed(comparison.suite)}
            by_name |= {(False, item.name): item for item in reversed(of_tasks)}
            self._concluded[pair] = by_name

    @property
    def size(self) -> int:
        """The number of pairs that carry words, whatever columns they share."""
        labels = [run.label for run in self.runs]
        return sum(self.judged.pair(*pair) is not None for pair in combinations(labels, 2))

    def _pair(self, candidate: int, baseline: int) -> Quantities | None:
        """Two runs by their tasks, where they share one; else None."""
        pair = candidate, baseline
        if pair not in self._measured:
            run = self.runs[candidate]
            base = self.runs[baseline]
            measured = None
            if any(name in base.tasks for name in run.tasks):
                measured = measure(
                    run,
                    base,
                    self._packs,
                    self._settings,
                    without_mean=self._without_mean,
                    with_suite=False,
                )
            self._measured[pair] = measured
        return self._measured[pair]


def _unscored_rows(task: TaskRun) -> int:
    """Rows without a finite score in the primary metric, where that is one of rows."""
    metric = task.primary
    if metric.kind != "rows":
        return 0
    return int(np.sum(~np.isfinite(task.values(metric))))


def _question(run: Run, allow: Sequence[str]) -> frozenset[tuple[str, str, str]]:
    """Returns what a run was asked, as far as its facts tell; chat templates belong to models."""
    without = {*allow, "chat_template"}
    facts = set()
    for name, task in {**run.stored, **run.tasks}.items():
        for fact, known in facts_of(run, task).items():
            is_asked = known.kind == "question"
            if is_asked and fact not in without:
                facts.add((name, fact, repr(known.value)))
    return frozenset(facts)
