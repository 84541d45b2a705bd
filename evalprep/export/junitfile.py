"""The outcome of a run as JUnit XML: one suite for each task, written by the gate's writer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evalprep.compare import NOT_COMPARABLE, NOT_ENOUGH, WORSE, Conclusion
from evalprep.errors import BadInput, Problem
from evalprep.export.rows import rows_of
from evalprep.export.settings import Settings
from evalprep.export.subject import Subject, Written
from evalprep.files import make_folder, write_atomically
from evalprep.gate import JUnitCase, JUnitSuite, case_of, junit_text
from evalprep.numbers import number
from evalprep.score import Quantity

FILE = "junit.xml"
_TIME = "%Y-%m-%dT%H:%M:%S"
_NO_BASELINE = "a sample fails where the baseline has it right, and no baseline is given"
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
    per_sample = settings.per_sample
    alone = [subject for subject in subjects if subject.comparison is None]
    if per_sample and alone:
        raise BadInput(
            [
                Problem(what=_NO_BASELINE, where=subject.run.label, fix="--baseline RUN")
                for subject in alone
            ]
        )
    suites: list[JUnitSuite] = []
    for subject in subjects:
        suites += _suites_of_samples(subject) if per_sample else _suites(subject)
    names = ", ".join(subject.run.label for subject in subjects)
    make_folder(folder, within=folder)
    path = folder / FILE
    text = junit_text(f"evalprep: {names}", suites)
    write_atomically(path, text)
    next_step = f"give {path} to the CI system as a test report"
    return Written((path,), next_step=next_step)


def _suite(subject: Subject, name: str, cases: Sequence[JUnitCase]) -> JUnitSuite:
    title = f"{subject.run.label}: {name}"
    moment = subject.moment.strftime(_TIME)
    return JUnitSuite(title, cases, moment)


def _suites(subject: Subject) -> Iterator[JUnitSuite]:
    """A suite for each task, with a case for each rule, else conclusion, else score."""
    if subject.verdict is not None:
        checks = subject.verdict.checks
        cases = [(check.name.partition(": ")[0], case_of(check)) for check in checks]
    elif subject.comparison is not None:
        conclusions = subject.comparison.conclusions
        cases = [(item.task, _case_of_conclusion(item)) for item in conclusions]
    else:
        cases = [_case_of_score(item) for item in subject.headlines]
    of_suite: dict[str, list[JUnitCase]] = {}
    for name, case in cases:
        of_suite.setdefault(name, []).append(case)
    for name, own in of_suite.items():
        yield _suite(subject, name, own)


def _case_of_conclusion(conclusion: Conclusion) -> JUnitCase:
    """A conclusion: worse is a failure, one that could not be drawn is skipped."""
    name, verdict = conclusion.name, conclusion.verdict
    kind = f"evalprep.{conclusion.kind}"
    numbers = conclusion.difference
    baseline = number(numbers.previous)
    candidate = number(numbers.now)
    output = f"n={numbers.n} baseline={baseline} candidate={candidate}"
    output = "\n".join([output, *conclusion.notes])
    message = conclusion.words
    if verdict in _OPEN:
        return JUnitCase(name, kind, "skipped", message, verdict, output)
    if verdict == WORSE and conclusion.decides:
        return JUnitCase(name, kind, "failure", message, verdict, output)
    said = f"{verdict}: {message}" if verdict else message
    return JUnitCase(name, kind, output=f"{said}\n{output}")


def _case_of_score(item: Quantity) -> tuple[str, JUnitCase]:
    """Suite and case of a score, which passes where it has a value."""
    owner, name, kind = item.owner, item.name or item.owner, "evalprep.score"
    if item.kind == "suite":
        owner, _slash, name = item.owner.partition("/")
    if item.value is None:
        return owner, JUnitCase(name, kind, "skipped", item.reason or "no value")
    parts = [f"value={number(item.value)}"]
    if item.rows:
        parts.append(f"n={item.rows}")
    if item.interval is not None:
        low, high = map(number, item.interval)
        parts.append(f"interval=[{low}, {high}]")
    return owner, JUnitCase(name, kind, output="\n".join([" ".join(parts), *item.notes]))


def _suites_of_samples(subject: Subject) -> Iterator[JUnitSuite]:
    """A suite for each task, a case for each sample; a lost verdict is a failure."""
    # Task -> sample that the baseline alone has right -> what the reader of its failure sees.
    lost: dict[str, dict[str, str]] = {}
    for flip in subject.comparison.flips() if subject.comparison else ():
        if not flip.gained:
            said = f"{flip.cause}\ngold: {flip.target}\nreply: {flip.candidate_output}"
            lost.setdefault(flip.task, {})[flip.sample_id] = said
    for name, task in subject.run.tasks.items():
        failures = lost.get(name, {})
        cases = []
        for row in rows_of(task):
            if row.sample_id in failures:
                case = JUnitCase(row.sample_id, name, "failure", failures[row.sample_id], "lost")
            elif row.scores.get(task.primary.key) is None:
                case = JUnitCase(row.sample_id, name, "skipped", "the sample has no score")
            else:
                case = JUnitCase(row.sample_id, name)
            cases.append(case)
        yield _suite(subject, name, cases)
