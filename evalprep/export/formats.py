"""The formats that a run is exported in, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalprep.export.every_eval_ever.record import write_records
from evalprep.export.hub import write_results
from evalprep.export.inspectlog import write_logs
from evalprep.export.junitfile import write_junit
from evalprep.export.modelcard import write_cards
from evalprep.export.reportfiles import write_markdown, write_tables
from evalprep.export.samplestable import write_samples
from evalprep.export.settings import Settings
from evalprep.export.stepsummary import write_summary
from evalprep.export.subject import Subject, Written
from evalprep.export.tracking import write_tracked

Writer = Callable[[Sequence[Subject], Path, Settings], Written]


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes:
        name: Its name on the command line.
        about: What is written.
        write: Writes it.
        aliases: Other names of it.
        compares: It shows how a run compares with another one or with published verdicts.
        repository: Kind of the repository on the hub that takes it; empty where none does.
        tracker: It is logged to a tracker of experiments.
        of_samples: It holds samples alone, and nothing of a run that logged none.
    """

    name: str
    about: str
    write: Writer
    aliases: tuple[str, ...] = ()
    compares: bool = False
    repository: str = ""
    tracker: bool = False
    of_samples: bool = False

    @property
    def can_be_sent(self) -> bool:
        """Returns whether it can leave this machine."""
        return bool(self.repository) or self.tracker


FORMATS = (
    Format(
        "every-eval-ever",
        "records and samples, schema 0.3.0",
        write_records,
        aliases=("eee",),
        repository="dataset",
    ),
    Format("inspect", "logs of inspect_ai", write_logs, of_samples=True),
    Format(
        "hub",
        ".eval_results of the model page",
        write_results,
        aliases=("hf-eval-results",),
        repository="model",
    ),
    Format(
        "model-card",
        "model-index of the model card",
        write_cards,
        aliases=("model-index",),
        repository="model",
    ),
    Format("mlflow", "a run of MLflow", write_tracked, compares=True, tracker=True),
    Format("wandb", "a run of Weights & Biases", write_tracked, compares=True, tracker=True),
    Format("github", "step summary of GitHub Actions", write_summary, compares=True),
    Format("junit", "JUnit XML", write_junit, compares=True),
    Format("markdown", "the report's numbers", write_markdown, aliases=("md",), compares=True),
    Format("csv", "scores, comparisons and samples", write_tables, compares=True),
    Format("parquet", "one row for each sample", write_samples, of_samples=True),
)
BY_NAME: dict[str, Format] = {}
for _format in FORMATS:
    BY_NAME |= dict.fromkeys((_format.name, *_format.aliases), _format)
