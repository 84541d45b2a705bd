"""The reproduction of a model's published numbers, benchmark by benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evalprep.compare.comparison import Comparison
from evalprep.compare.conclusion import Conclusion
from evalprep.compare.task import PairedTask
from evalprep.packs import Publication, PublishedPart
from evalprep.score import Scores, SuiteScore
from evalprep.terminal import counted, shortlist

#: A raw value this near to the published one is reproduced.
TOLERANCE = 0.005
_NAMED = 3


@dataclass(frozen=True)
class PublishedScores:
    """The scores of the published samples.

    Attributes:
        verdicts: By the published verdicts.
        rescored: By today's scorer; None where nothing was scored anew.
    """

    verdicts: Scores
    rescored: Scores | None = None


@dataclass(frozen=True)
class ReproducedBenchmark:
    """One benchmark of a run beside the published one; raw values are from 0 to 1.

    Attributes:
        title: For people.
        n: Samples that both sides have.
        published_raw, published: The headline, raw and normalised; None where it is not known.
        verdict_mean: Raw value of the published verdicts.
        rescored_mean: Raw value of the published replies by today's scorer; None where it is not
            another one.
        raw, normalised: Values of the run.
        gained, lost: Samples that the run alone, and that the published run alone has right.
        prompts_differ: Samples that were asked with another prompt.
        low, high: Paired interval of the difference to the published samples.
        reasons: Why the numbers are not comparable.
    """

    title: str
    n: int
    published_raw: float | None
    published: float | None
    verdict_mean: float | None
    rescored_mean: float | None
    raw: float | None
    normalised: float | None
    gained: int
    lost: int
    prompts_differ: int
    low: float | None = None
    high: float | None = None
    reasons: Sequence[str] = ()

    @property
    def agreement(self) -> float | None:
        """Share of samples with the same verdict, 0 to 1."""
        return 1 - (self.gained + self.lost) / self.n if self.n else None

    @property
    def difference(self) -> float | None:
        """The run's raw value minus the published headline, else minus that of the samples."""
        published = (self.published_raw, self.rescored_mean, self.verdict_mean)
        base = next((value for value in published if value is not None), None)
        return None if base is None or self.raw is None else self.raw - base

    @property
    def is_near(self) -> bool | None:
        """Returns whether the difference is within the tolerance; None where it is not known."""
        return None if self.difference is None else abs(self.difference) <= TOLERANCE

    @property
    def contains_zero(self) -> bool | None:
        """Returns whether the paired interval contains 0; None without an interval."""
        if self.low is None or self.high is None:
            return None
        return self.low <= 0 <= self.high

    @property
    def reproduced(self) -> bool | None:
        """Returns whether one of the two holds.

        None where neither is known, and where the numbers are not comparable.
        """
        if self.reasons:
            return None
        facts = [fact for fact in (self.is_near, self.contains_zero) if fact is not None]
        return any(facts) if facts else None

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        computed = ("agreement", "difference", "is_near", "contains_zero", "reproduced")
        plain = {**vars(self), "reasons": list(self.reasons)}
        return plain | {name: getattr(self, name) for name in computed}


@dataclass(frozen=True)
class Reproduction:
    """A run beside the published results of a model.

    Attributes:
        title: What was published.
        benchmarks: One entry each, in order.
        published_average, average: The headline over all benchmarks, and the run's.
        notes: Where the published results are from.
    """

    title: str
    benchmarks: list[ReproducedBenchmark]
    published_average: float | None = None
    average: float | None = None
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        """Plain data."""
        return {**vars(self), "benchmarks": [item.to_dict() for item in self.benchmarks]}


def reproduce(
    publication: Publication, now: Scores, published: PublishedScores, comparison: Comparison
) -> Reproduction:
    """Puts each benchmark of a run beside the published one.

    Args:
        publication: What was published.
        now: The scores of the run.
        published: Those of the published samples.
        comparison: What is concluded of both.
    """
    scores = _ScoresByName.of(now, published)
    task_by_name = {task.name: task for task in comparison.tasks}
    conclusion_by_name = {item.name.rpartition("/")[2]: item for item in comparison.suite}
    benchmarks = []
    for part in publication.parts:
        score = scores.run.get(part.raw)
        if score is not None:
            tasks = [task_by_name[name] for name in score.tasks if name in task_by_name]
            conclusion = conclusion_by_name.get(part.raw)
            rows = [comparison.rows[task.name] for task in tasks]
            benchmarks.append(_benchmark(part, publication, scores, tasks, rows, conclusion))
    return Reproduction(
        publication.title,
        benchmarks,
        _published_value(publication, publication.average),
        _value(scores.run, publication.average),
        list(publication.notes),
    )


@dataclass(frozen=True)
class _ScoresByName:
    """Suite scores by name: of the run, and of the published replies.

    Attributes:
        run: Of the run.
        verdicts: By the published verdicts.
        rescored: By today's scorer; empty where nothing was scored anew.
    """

    run: Mapping[str, SuiteScore]
    verdicts: Mapping[str, SuiteScore]
    rescored: Mapping[str, SuiteScore]

    @classmethod
    def of(cls, now: Scores, published: PublishedScores) -> _ScoresByName:
        rescored = _by_name(published.rescored) if published.rescored else {}
        return cls(_by_name(now), _by_name(published.verdicts), rescored)


def _by_name(scores: Scores) -> dict[str, SuiteScore]:
    return {score.name: score for score in scores.suite}


def _benchmark(
    part: PublishedPart,
    publication: Publication,
    scores: _ScoresByName,
    tasks: Sequence[Conclusion],
    rows: Sequence[PairedTask],
    conclusion: Conclusion | None,
) -> ReproducedBenchmark:
    """The values of a benchmark on both sides, and what its paired samples say.

    Args:
        part: The benchmark.
        publication: What was published.
        scores: Of both sides.
        tasks: Its tasks, compared.
        rows: The rows of each.
        conclusion: Of its score; None where it was not compared.
    """
    score = scores.run[part.raw]
    has_newer_scorer = any(task in publication.rescored for task in score.tasks)
    pairs = [task.pairs for task in rows]
    return ReproducedBenchmark(
        title=part.title,
        n=sum(len(one.now) for one in pairs),
        published_raw=_published_value(publication, part.raw),
        published=_published_value(publication, part.normalised),
        verdict_mean=_value(scores.verdicts, part.raw),
        rescored_mean=_value(scores.rescored, part.raw) if has_newer_scorer else None,
        raw=_value(scores.run, part.raw),
        normalised=_value(scores.run, part.normalised),
        gained=sum(int(np.sum(one.now > one.before)) for one in pairs),
        lost=sum(int(np.sum(one.now < one.before)) for one in pairs),
        prompts_differ=sum(int(one.prompt_differs.sum()) for one in pairs),
        low=None if conclusion is None else conclusion.difference.low,
        high=None if conclusion is None else conclusion.difference.high,
        reasons=[
            *([score.reason] if score.value is None else ()),
            *_reasons_of_tasks(tasks),
            *(remark for remark in score.remarks if remark.startswith("partial")),
        ],
    )


def _published_value(publication: Publication, name: str) -> float | None:
    entry = publication.values.get(name)
    return None if entry is None else entry.value


def _value(scores: Mapping[str, SuiteScore], name: str) -> float | None:
    return scores[name].value if name in scores else None


def _reasons_of_tasks(tasks: Sequence[Conclusion]) -> list[str]:
    """Why tasks are not comparable; a reason that holds for several is given once."""
    tasks_by_reason: dict[str, list[str]] = {}
    for task in tasks:
        for reason in task.not_comparable:
            tasks_by_reason.setdefault(reason, []).append(task.name)
    return [f"{shortlist(names, _NAMED)}: {reason}" for reason, names in tasks_by_reason.items()]


def sentence(item: ReproducedBenchmark) -> str:
    """Returns whether a benchmark is reproduced, with both facts, and why it may not be."""
    unknown = "not comparable with the headline" if item.reasons else "not known"
    words = {True: "reproduced", False: "not reproduced", None: unknown}[item.reproduced]
    return "; ".join([f"{item.title}: {words}", *_facts(item), *item.reasons])


def _facts(item: ReproducedBenchmark) -> Iterator[str]:
    """Yields what the words about a benchmark rest on."""
    if item.difference is not None:
        yield f"raw differs by {100 * item.difference:+.2f} points"
    if item.low is not None and item.high is not None:
        verb = "contains" if item.contains_zero else "does not contain"
        yield f"the paired interval [{100 * item.low:+.2f}, {100 * item.high:+.2f}] {verb} 0"
    if item.rescored_mean is not None and item.verdict_mean is not None:
        yield (
            f"the published replies give {100 * item.verdict_mean:.2f} by their published verdicts "
            f"and {100 * item.rescored_mean:.2f} by today's scorer"
        )
    if item.prompts_differ:
        yield f"{counted(item.prompts_differ, 'prompt')} of {item.n} are other ones"
