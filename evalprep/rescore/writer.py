"""Rescored samples in lm-eval's own layout, so that every verb reads them like a run."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from msgspec import structs

from evalprep.errors import BadInput, Problem
from evalprep.files import (
    as_mapping,
    make_folder,
    replace_file,
    temporary_beside,
    text_sha256,
    write_atomically,
)
from evalprep.readers import SCORER_KEYS, Rescored, RowCounts, TaskResults, TaskSettings, encode
from evalprep.rescore.scorer import Outcome
from evalprep.rescore.values import MetricValues, filters_of
from evalprep.results import Run, TaskRun
from evalprep.samples import Metric, Sample, results_name, sample_line, samples_name


class RunWriter:
    """Writes rescored samples in lm-eval's own layout, so that every verb reads them like a run."""

    def __init__(self, run: Run, folder: Path, within: Path) -> None:
        self.run = run
        self.folder = folder
        # As lm-eval names its files.
        self.stamp = datetime.now().isoformat().replace(":", "-")  # noqa: DTZ005
        self.tasks: dict[str, TaskResults] = {}
        try:
            make_folder(folder, within=within)
        except OSError as error:
            raise BadInput(
                Problem(
                    what=f"cannot write: {error.strerror}",
                    where=str(folder),
                    fix="name another place with --out",
                )
            ) from error

    def write(
        self, known: TaskRun, task: Any, pairs: Iterator[tuple[Sample, Outcome]]
    ) -> tuple[Metric, ...]:
        """Writes the samples of a task as another task of lm-eval scores them.

        Returns:
            The scores over all rows, which are kept for the results file.
        """
        parts = _FilterParts(self.folder, self.stamp, MetricValues(filters_of(task)))
        with parts:
            for sample, outcome in pairs:
                parts.add(sample, outcome)
        parts.join(self.folder / samples_name(known.name, self.stamp))
        original, rows = known.logged.rows.original, parts.values.rows
        results = structs.replace(
            known.logged,
            metrics=parts.values.metrics(task),
            settings=TaskSettings(as_logged=_config(known, task)),
            rows=RowCounts(rows if original is None else original, rows),
        )
        self.tasks[known.name] = results
        return results.metrics

    def discard(self) -> None:
        """Takes back the folder, where nothing was written into it."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def finish(self, left_out: Mapping[str, str]) -> None:
        """Writes the results file: the run's own, with the new scores in it.

        Args:
            left_out: Task -> why it could not be rescored.
        """
        # Answers of judges are kept under the run that made the replies, however often these were
        # scored.
        folder, stamp = self.run.rescored_from or (
            self.run.files.folder.resolve(),
            self.run.files.stamp,
        )
        results = structs.replace(
            self.run.logged,
            tasks=self.tasks,
            rescored=Rescored(folder, stamp, self.run.files.run, dict(left_out)),
        )
        text = json.dumps(encode(results), indent=2, default=str, ensure_ascii=False)
        write_atomically(self.folder / results_name(self.stamp), text)


class _FilterParts:
    """The lines of a task, one file for each filter until all are written.

    Attributes:
        values: The values of the rows so far.
    """

    def __init__(self, folder: Path, stamp: str, values: MetricValues) -> None:
        self.values = values
        self.paths = [
            temporary_beside(folder / f"{stamp}_{at}") for at in range(len(values.filters))
        ]
        self._files: list[TextIO] = []

    def __enter__(self) -> None:
        self._files = [
            path.open("w", encoding="utf-8", errors="surrogatepass") for path in self.paths
        ]

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        for file in self._files:
            file.close()
        if error is not None:
            for path in self.paths:
                path.unlink(missing_ok=True)

    def add(self, sample: Sample, outcome: Outcome) -> None:
        """Adds a sample under every filter."""
        self.values.add(outcome)
        for file, filter_name in zip(self._files, self.values.filters, strict=True):
            metrics = outcome.metrics.get(filter_name, {})
            file.write(_line(sample, outcome, filter_name, metrics))

    def join(self, target: Path) -> None:
        """Makes one file of all, filter after filter, as lm-eval does."""
        with replace_file(target) as whole, whole.open("wb") as joined:
            for path in self.paths:
                with path.open("rb") as part:
                    shutil.copyfileobj(part, joined)
                path.unlink()


def _config(known: TaskRun, task: Any) -> dict[str, Any]:
    """The configuration of the run with the scorer of today in it.

    The id is the run's own and is not carried over.
    """
    logged, fresh = known.logged.settings, task.dump_config()
    own = {"run", "command"}
    if logged.metadata.get("primary_filter") not in (None, *filters_of(task)):
        own |= {"primary_metric", "primary_filter"}  # of a scorer that the task had then
    of_run = {key: value for key, value in logged.metadata.items() if key not in own}
    metadata = {**as_mapping(fresh.get("metadata")), **of_run}
    metadata = {key: value for key, value in metadata.items() if key not in {"run", "command"}}
    scorer = {key: fresh[key] for key in SCORER_KEYS if key in fresh}
    parts = scorer if logged.as_logged else fresh
    return {**logged.as_logged, **parts, "metadata": metadata}


def _line(sample: Sample, outcome: Outcome, filter_name: str, metrics: dict[str, Any]) -> str:
    gold = text_sha256(sample.target)
    fields = sample_line(
        doc_id=sample.doc_id,
        doc=sample.doc,
        target=sample.target,
        arguments=sample.arguments,
        replies=sample.resps,
        filtered=_as_logged(outcome.filtered.get(filter_name, [])),
        filter_name=filter_name,
        metrics=metrics,
        hashes=sample.hashes._replace(target=gold),
    )
    if outcome.error:
        fields["error"] = outcome.error
    return json.dumps(fields | metrics, default=_plain, ensure_ascii=False) + "\n"


def _as_logged(value: Any) -> Any:
    """Nested lists with every leaf as text, as the harness logs filtered replies."""
    return [_as_logged(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()  # numpy scalars
    return list(value) if isinstance(value, (set, frozenset, tuple)) else str(value)
