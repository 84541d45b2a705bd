"""A run and its tasks, or many runs side by side, as the `export.py` of a pack sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalprep.packs import Excluded
from evalprep.results.provenance import Provenance
from evalprep.samples import Sample, SampleFile, SampleSource


@dataclass(frozen=True)
class ExportTask:
    """One task of a run, as an `export.py` sees it.

    Attributes:
        name: Its name.
        path: Its samples file; the file or folder of the log that its samples are of.
        config: lm-eval's settings of it; empty without a results file.
        scores: What lm-eval itself computed.
        samples: Reads the samples of one filter, by default of the one that stands for the task, in
            bounded memory.
        question: A digest of how it was asked, seeds aside: the same where two runs differ in
            nothing but seeds.
        source: Where its samples are read from; by default the file.
    """

    name: str
    path: Path
    config: Mapping[str, Any]
    scores: Mapping[str, Any]
    samples: Callable[..., Iterator[Sample]] = field(repr=False)
    question: str = ""
    source: SampleSource | None = field(default=None, repr=False)

    def digest(self) -> str:
        """Returns the sha256 of its samples, as hex."""
        return (self.source or SampleFile(self.path)).digest()

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The `metadata` of its YAML."""
        metadata = self.config.get("metadata")
        return metadata if isinstance(metadata, dict) else {}


@dataclass(frozen=True)
class ExportRun:
    """One run, as an `export.py` sees it: for reading only.

    Attributes:
        label: Model and time stamp, for headings.
        model: The model as it was named, a hub id or a path.
        folder: The folder of its files.
        settings: lm-eval's own settings (`model_args`, `limit`, ...); empty without a results file.
        lm_eval_version: Which lm-eval ran it, where the results file says so.
        tasks: Task name -> task.
        excluded: Task, group or score -> why the preparation left it out.
        lines: Outermost groups, and tasks in no group -> their line in lm-eval's own table:
            `metric,filter` -> value.
        id: The run's id; of files without one their time stamp.
        seed: The seeds of training and run, as far as they are known; empty where none is.
        without_seed: The model without the seed in its name.
        name: What tells the run from those beside it in every output; empty for a run that was
            read by itself.
        provenance: Reads where its numbers come from.
    """

    label: str
    model: str
    folder: Path
    settings: Mapping[str, Any]
    lm_eval_version: str | None
    tasks: Mapping[str, ExportTask]
    excluded: Mapping[str, Excluded] = field(default_factory=dict)
    lines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    id: str = ""
    seed: str = ""
    without_seed: str = ""
    name: str = ""
    provenance: Callable[[], Provenance] = field(default=Provenance, repr=False)


@dataclass(frozen=True)
class ExportCell:
    """The value of one score in one run.

    Attributes:
        value: The number; None with a `reason`.
        reason: Why there is none.
        apart: Why the value may not be put beside those of the other rows; empty where it may.
        notes: What the score says of itself.
    """

    value: float | None = None
    reason: str = ""
    apart: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportRow:
    """One model of a table over many.

    Attributes:
        label: Its name, unlike that of any other row.
        model: The model as it was named.
        cells: Score of the pack -> cell; a score that the run does not have is absent.
        trial: The run was asked a part of the rows alone.
    """

    label: str
    model: str
    cells: Mapping[str, ExportCell]
    trial: bool = False


@dataclass(frozen=True)
class ExportDifference:
    """The paired comparison of two rows by one score.

    Attributes:
        delta: The second row's value less the first's; None where it is not known.
        low, high: Its 95 % interval; None without one.
        words: The verdict on the second row.
    """

    delta: float | None
    low: float | None
    high: float | None
    words: str


@dataclass(frozen=True)
class ExportBoard:
    """Many runs side by side, as an `export.py` sees them.

    Attributes:
        rows: The models in their order.
        page: Writes the same as a page of the leaderboard.
        notes: What holds for the whole table.
        differences: Score -> how the second of two rows differs from the first; empty of any other
            number of rows.
    """

    rows: Sequence[ExportRow]
    page: Callable[[], str] = field(repr=False)
    notes: Sequence[str] = ()
    differences: Mapping[str, ExportDifference] = field(default_factory=dict)
