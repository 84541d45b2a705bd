"""The outcome of a run as JUnit XML: one suite for each task, written by the gate's writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evalprep.compare import NOT_COMPARABLE, NOT_ENOUGH, WORSE, Conclusion
from evalprep.errors import BadInput, Problem
from evalprep.export.rows import rows_of
from evalprep.export.settings import Settings
from evalprep.export.subject import Subject, Written
from evalprep.files import make_folder, write_atomically
from evalprep.gate import JUnitCase, JUnitSuite, case_of, junit_text
from evalprep.numbers import number

FILE = "junit.xml"
_TIME = "%Y-%m-%dT%H:%M:%S"
_OPEN = (NOT_COMPARABLE, NOT_ENOUGH)


def write_junit(subjects: Sequence[Subject], folder: Path, settings: Settings) -> Written:
    """Writes `junit.xml`.

    A case is a rule of the policy, where one is given; else a quantity of the comparison, else a
    score. `per_sample`: a case is a sample, and a failure is one that was right before.

    Args:
        subjects: The runs.
        folder: Where to.
        settings: `per_sample`.

    Raises:
        BadInput: cases are samples, and a run has nothing to compare them with.
    """
    if settings.per_sample:
        _check_comparisons(subjects)
    suites = [
        suite for subject in subjects for suite in _suites(subject, per_sample=settings.per_sample)
    ]
    names = ", ".join(subject.run.label for subject in subjects)
    make_folder(folder, within=folder)
    path = folder / FILE
    write_atomically(path, junit_text(f"evalprep: {names}", suites))
    return Written((path,), next_step=f"give {path} to the CI system as a test report")


def _check_comparisons(subjects: Sequence[Subject]) -> None:
    alone = [subject for subject in subjects if subject.comparison is None]
    if alone:
        raise BadInput(
            Problem(
                what="a sample fails where the baseline has it right, and no baseline is given",
                where=subject.run.label,
                fix="--baseline RUN",
            )
            for subject in alone
        )


def _suites(subject: Subject, *, per_sample: bool) -> Iterator[JUnitSuite]:
    if per_sample:
        yield from _suites_of_samples(subject)
        return
    cases_of: dict[str, list[JUnitCase]] = {}
    for name, case in _cases(subject):
        cases_of.setdefault(name, []).append(case)
    for name, cases in cases_of.items():
        yield _suite(subject, name, cases)


def _suite(subject: Subject, name: str, cases: Sequence[JUnitCase]) -> JUnitSuite:
    return JUnitSuite(f"{subject.run.label}: {name}", cases, subject.moment.strftime(_TIME))


def _cases(subject: Subject) -> Iterator[tuple[str, JUnitCase]]:
    """Suite and case of each rule, conclusion or score."""
    if subject.verdict is not None:
        for check in subject.verdict.checks:
            yield check.name.partition(": ")[0], case_of(check)
    elif subject.comparison is not None:
        for conclusion in subject.comparison.conclusions:
            yield conclusion.task, _case_of_conclusion(conclusion)
    else:
        yield from _cases_of_scores(subject)


def _case_of_conclusion(conclusion: Conclusion) -> JUnitCase:
    """A conclusion: worse is a failure, one that could not be drawn is skipped."""
    numbers = conclusion.difference
    kind = f"evalprep.{conclusion.kind}"
    baseline, candidate = number(numbers.previous), number(numbers.now)
    output = f"n={numbers.n} baseline={baseline} candidate={candidate}"
    message = conclusion.words
    if conclusion.verdict in _OPEN:
        return JUnitCase(conclusion.name, kind, "skipped", message, conclusion.verdict, output)
    if conclusion.verdict == WORSE and conclusion.decides:
        return JUnitCase(conclusion.name, kind, "failure", message, conclusion.verdict, output)
    return JUnitCase(conclusion.name, kind, output=f"{conclusion.verdict}: {message}\n{output}")


def _cases_of_scores(subject: Subject) -> Iterator[tuple[str, JUnitCase]]:
    """A case for each score, which passes where it has a value."""
    for score in subject.scores.tasks:
        yield (
            score.task,
            _case_of_score(score.metric or score.task, score.value, score.without_score),
        )
    for stored in subject.scores.stored:
        yield stored.task, _case_of_score(stored.name, stored.value, "")
    for suite in subject.scores.suite:
        yield suite.pack, _case_of_score(suite.name, suite.value, suite.reason)


def _case_of_score(name: str, value: float | None, reason: str) -> JUnitCase:
    kind = "evalprep.score"
    if value is None:
        return JUnitCase(name, kind, "skipped", reason or "no value")
    return JUnitCase(name, kind, output=f"value={number(value)}")


def _suites_of_samples(subject: Subject) -> Iterator[JUnitSuite]:
    """A suite for each task, a case for each sample; a lost verdict is a failure."""
    lost: dict[str, dict[str, str]] = {}
    for flip in subject.comparison.flips() if subject.comparison is not None else ():
        if flip.direction == "lost":
            reply = f"{flip.cause}\ngold: {flip.target}\nreply: {flip.candidate_output}"
            lost.setdefault(flip.task, {})[flip.sample_id] = reply
    for name, task in subject.run.tasks.items():
        rows = ((row.sample_id, row.scores.get(task.primary.key)) for row in rows_of(task))
        yield _suite(subject, name, [*_cases_of_samples(name, rows, lost.get(name, {}))])


def _cases_of_samples(
    task: str, rows: Iterable[tuple[str, float | None]], lost: dict[str, str]
) -> Iterator[JUnitCase]:
    for sample_id, score in rows:
        if sample_id in lost:
            yield JUnitCase(sample_id, task, "failure", lost[sample_id], "lost")
        elif score is None:
            yield JUnitCase(sample_id, task, "skipped", "the sample has no score")
        else:
            yield JUnitCase(sample_id, task)
