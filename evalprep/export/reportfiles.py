"""The report's Markdown and CSV, with texts of gated data sets replaced."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from evalprep.export.settings import Settings
from evalprep.export.subject import Subject, Written
from evalprep.report import Report, build_report, write_report


def write_markdown(subjects: Sequence[Subject], folder: Path, settings: Settings) -> Written:
    """Writes `report.md`: the numbers, and no text of a sample."""
    del settings
    return _write(subjects, folder, "md")


def write_tables(subjects: Sequence[Subject], folder: Path, settings: Settings) -> Written:
    """Writes `scores.csv`, `samples.csv` and tables of comparisons."""
    del settings
    return _write(subjects, folder, "csv")


def _write(subjects: Sequence[Subject], folder: Path, kind: str) -> Written:
    return Written(tuple(write_report(report_of(subjects), folder, (kind,))))


def report_of(subjects: Sequence[Subject]) -> Report:
    """The report of runs, with the run that they are compared with as the last one.

    Its time is that of the newest run, so that two exports are the same. It has no notes of judges,
    which may quote a text.
    """
    created = max(subject.moment for subject in subjects)
    baseline = subjects[0].baseline
    sides = [*subjects]
    if baseline is not None:
        sides.append(baseline)
    packs = chain.from_iterable(side.packs for side in sides)
    last = None if baseline is None else len(subjects)
    measured = {
        (place, last): subject.measured
        for place, subject in enumerate(subjects)
        if subject.measured is not None
    }
    return build_report(
        [side.run for side in sides],
        scores=[side.scores for side in sides],
        packs={pack.name: pack for pack in packs},
        measured=measured,
        created=created.isoformat(timespec="seconds"),
    )
