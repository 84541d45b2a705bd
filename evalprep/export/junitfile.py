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
        suites += _suites(subject, per_sample=per_sample)
    names = ", ".join(subject.run.label for subject in subjects)
    make_folder(folder, within=folder)
    path = folder / FILE
    text = junit_text(f"evalprep: {names}", suites)
    write_atomically(path, text)
    next_step = f"give {path} to the CI system as a test report"
    return Written((path,), next_step=next_step)


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
    title = f"{subject.run.label}: {name}"
    moment = subject.moment.strftime(_TIME)
    return JUnitSuite(title, cases, moment)


def _cases(subject: Subject) -> Iterator[tuple[str, JUnitCase]]:
    """Suite and case of each rule, conclusion or score."""
    if subject.verdict is not None:
        for check in subject.verdict.checks:
            task, _colon, _rule = check.name.partition(": ")
            yield task, case_of(check)
    elif subject.comparison is not None:
        for conclusion in subject.comparison.conclusions:
            yield conclusion.task, _case_of_conclusion(conclusion)
    else:
        yield from _cases_of_scores(subject)


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


def _cases_of_scores(subject: Subject) -> Iterator[tuple[str, JUnitCase]]:
    """A case for each score, which passes where it has a value."""
    for item in subject.headlines:
        owner, _slash, name = (
            item.owner.partition("/") if item.kind == "suite" else (item.owner,) * 3
        )
        yield owner, _case_of_score(item.name or name, item)


def _case_of_score(name: str, item: Quantity) -> JUnitCase:
    """A case with the value, its rows and its interval, and what there is to know of them."""
    kind = "evalprep.score"
    if item.value is None:
        return JUnitCase(name, kind, "skipped", item.reason or "no value")
    parts = [f"value={number(item.value)}"]
    if item.rows:
        parts.append(f"n={item.rows}")
    if item.interval is not None:
        low, high = map(number, item.interval)
        parts.append(f"interval=[{low}, {high}]")
    return JUnitCase(name, kind, output="\n".join([" ".join(parts), *item.notes]))


def _suites_of_samples(subject: Subject) -> Iterator[JUnitSuite]:
    """A suite for each task, a case for each sample; a lost verdict is a failure."""
    lost = _lost_verdicts(subject)
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


def _lost_verdicts(subject: Subject) -> dict[str, dict[str, str]]:
    """Task -> sample that the baseline alone has right -> what the reader of its failure sees."""
    lost: dict[str, dict[str, str]] = {}
    if subject.comparison is None:
        return lost
    for flip in subject.comparison.flips():
        if flip.direction == "lost":
            gold, reply = flip.target, flip.candidate_output
            samples = lost.setdefault(flip.task, {})
            samples[flip.sample_id] = f"{flip.cause}\ngold: {gold}\nreply: {reply}"
    return lost
