"""A task of a run as a log of inspect_ai, which `inspect view` shows and `read_eval_log` reads.

Source: logs of inspect_ai 0.3.285. A `.eval` is a zip archive of JSON files, here deflated, which
every version reads; a `.json` is one object. Both are written without inspect_ai.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from custom_metrics.statistics import mean_stderr
from evalprep import __version__
from evalprep.credentials import without_secrets
from evalprep.export.rows import row_metrics, rows_of
from evalprep.export.settings import Settings
from evalprep.export.subject import Subject, Written
from evalprep.files import make_folder, open_atomically, replace_file
from evalprep.packs import ChatMessage
from evalprep.results import SampleView, TaskRun, expected_rows
from evalprep.samples import Metric
from evalprep.score import IN_RESULTS_FILE, Quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = "inspect"
_VERSION = 2
_PUBLISHED = "published"
_VERDICTS = {1.0: "C", 0.0: "I"}
_ID_LENGTH = 22
# Of every file of an archive: a time of writing would make two exports differ.
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")  # an id names a file of the archive
Part = dict[str, Any]


def write_logs(subjects: Sequence[Subject], folder: Path, settings: Settings) -> Written:
    """Writes a log for each task with samples; of several runs below a folder for each.

    Args:
        subjects: The runs.
        folder: Where to.
        settings: `log_format`.
    """
    files = []
    notes = []
    for subject in subjects:
        for task in subject.run.tasks.values():
            log = _Log.of(subject, task)
            files.append(log.write(folder, settings.log_format))
            if log.published_unknown:
                notes.append(
                    f"{task.name}: {log.published_unknown} of {log.count} samples have no "
                    "published verdict and no score by the scorer `published`"
                )
    return Written(tuple(files), tuple(notes), next_step=f"inspect view --log-dir {folder}")


@dataclass(frozen=True)
class _Scorer:
    """One scorer of a log: a metric, or the published verdict.

    Attributes:
        name: Its name in the log.
        values: Value of each sample that has one.
        items: The number of a metric as `score` has it, and what the results file has where that is
            another one; empty for the published verdict.
        binary: Every value is 0 or 1.
    """

    name: str
    values: tuple[float, ...]
    items: Sequence[Quantity] = ()

    @property
    def binary(self) -> bool:
        return all(value in _VERDICTS for value in self.values)

    def shown(self, value: float) -> str | float:
        """A value as inspect_ai writes it: C or I for right or wrong, else the number."""
        return _VERDICTS[value] if self.binary else value

    def summary(self) -> Part:
        """Its entry among the results."""
        return {
            "name": self.name,
            "scorer": self.name,
            "scored_samples": len(self.values),
            "metrics": {entry["name"]: entry for entry in self._metrics()},
        }

    def _metrics(self) -> Iterator[Part]:
        """Yields the mean with its standard error, and the stored value where that is another."""
        if not self.items:
            values = np.array(self.values)
            yield {"name": "mean", "value": float(values.mean())}
            if values.size > 1:
                yield {"name": "stderr", "value": float(mean_stderr(values))}
        for item in self.items:
            known = {"n": item.n, "expected": item.expected, "interval": item.interval}
            metadata: Part = {name: value for name, value in known.items() if value is not None}
            if item.notes:
                metadata["notes"] = [*item.notes]
            name = IN_RESULTS_FILE if item.beside else "mean"
            yield {"name": name, "value": item.value, "metadata": metadata}
            if item.stderr is not None and not item.beside:
                yield {"name": "stderr", "value": item.stderr}


#: What the summary of a sample holds.
_SUMMARY = ("id", "epoch", "input", "target", "scores")


@dataclass(frozen=True)
class _Log:
    """The log of one task.

    Attributes:
        subject: Its run.
        task: The task.
        metrics: Those that samples have numbers of.
        scorers: Scorer's name -> scorer, those without a value left out.
        ids: Ids of the samples, in order; a repeated one with its number.
        published_unknown: Samples without a published verdict, where others have one.
    """

    subject: Subject
    task: TaskRun
    metrics: Sequence[Metric]
    scorers: dict[str, _Scorer]
    ids: list[str]
    published_unknown: int

    @classmethod
    def of(cls, subject: Subject, task: TaskRun) -> _Log:
        """Reads the columns of a task, which is all that the head of its log needs."""
        metrics = row_metrics(task)
        names = scorer_names(metrics)
        columns: dict[str, NDArray[np.float64]] = {}
        for metric in metrics:
            column = task.values(metric)
            columns[names[metric.key]] = column[np.isfinite(column)]
        published = task.table().previous
        is_known = published >= 0
        columns[_PUBLISHED] = published[is_known].astype(np.float64)
        items_of = _items_of(subject, task, names)
        scorers = {
            name: _Scorer(name, tuple(column.tolist()), items_of.get(name, ()))
            for name, column in columns.items()
            if column.size
        }
        unknown = int((~is_known).sum()) if _PUBLISHED in scorers else 0
        ids = numbered([_CONTROL.sub("_", sample_id) for sample_id in task.table().ids])
        return cls(subject, task, metrics, scorers, ids, unknown)

    @property
    def count(self) -> int:
        """Its samples."""
        return len(self.ids)

    @property
    def log_id(self) -> str:
        """An id of the form that inspect_ai uses, the same at every export."""
        return self._id("log")

    def _id(self, part: str) -> str:
        return self.subject.fixed_id(FORMAT, self.task.name, part).replace("-", "")[:_ID_LENGTH]

    def write(self, folder: Path, log_format: str) -> Path:
        """Writes the log; returns its file."""
        created = self.subject.moment.strftime("%Y-%m-%dT%H-%M-%S+00-00")
        name = f"{created}_{_file_part(self.task.name)}_{self.log_id}.{log_format}"
        make_folder(folder, within=folder)
        path = folder / name
        if log_format == "json":
            self._write_json(path)
        else:
            self._write_archive(path)
        return path

    def _write_json(self, path: Path) -> None:
        """Writes one object, its samples one after the other."""
        head = _dump(self.head())
        with open_atomically(path) as file:
            file.write(head.removesuffix("}") + ', "samples": [')
            for number, sample in enumerate(self.samples()):
                file.write(("," if number else "") + "\n" + _dump(sample))
            file.write("\n]}\n")

    def _write_archive(self, path: Path) -> None:
        summaries = []
        with ExitStack() as stack:
            temporary = stack.enter_context(replace_file(path))
            archive = stack.enter_context(zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED))
            head = self.head()
            start = {name: head[name] for name in ("version", "eval", "plan")}
            _add(archive, "_journal/start.json", start)
            for sample in self.samples():
                _add(archive, f"samples/{sample['id']}_epoch_1.json", sample)
                summary = {name: sample[name] for name in _SUMMARY}
                summaries.append({**summary, "completed": True})
            _add(archive, "summaries.json", summaries)
            _add(archive, "header.json", head)

    def head(self) -> Part:
        """Everything but the samples."""
        run = self.subject.run
        start = self.subject.moment
        end = self.subject.moment_after(run.settings.seconds)
        return {
            "version": _VERSION,
            "status": "success",
            "eval": self._spec(),
            "plan": {"name": "lm_eval", "steps": [], "config": {}},
            "results": {
                "total_samples": max(self.count, expected_rows(run, self.task) or 0),
                "completed_samples": self.count,
                "scores": [scorer.summary() for scorer in self.scorers.values()],
            },
            "stats": {
                "started_at": start.isoformat(timespec="seconds"),
                "completed_at": end.isoformat(timespec="seconds"),
                "model_usage": {},
            },
        }

    def _spec(self) -> Part:
        run, settings = self.subject.run, self.task.logged.settings
        arguments = {name: str(value) for name, value in run.arguments.items()}
        dataset = {
            "name": settings.dataset.path or self.task.name,
            "samples": self.count,
            "sample_ids": self.ids,
        }
        return {
            "eval_id": self._id("eval"),
            "run_id": self.subject.fixed_id(FORMAT, "run").replace("-", "")[:_ID_LENGTH],
            "created": self.subject.moment.isoformat(timespec="seconds"),
            "task": self.task.name,
            "task_id": self._id("task"),
            "task_version": 0,
            "dataset": dataset,
            "model": f"{run.settings.backend or 'lm_eval'}/{self.subject.model_id}",
            "model_args": without_secrets(arguments),
            "config": {"epochs": 1},
            "packages": {"evalprep": __version__, "lm_eval": run.settings.lm_eval_version},
            "metadata": {
                "evalprep_run": run.id,
                "primary_metric": scorer_names(self.metrics).get(self.task.primary.key),
            },
        }

    def samples(self) -> Iterator[Part]:
        """Yields the samples in the order of the file."""
        for sample_id, row in zip(self.ids, rows_of(self.task), strict=True):
            yield self._sample(sample_id, row)

    def _sample(self, sample_id: str, row: SampleView) -> Part:
        completion = row.replies[0] if row.replies else ""
        turns = [*row.messages, ChatMessage("assistant", completion)]
        metadata: Part = {
            **row.hashes,
            "sample_id": row.sample_id,
            "doc_id": row.doc_id,
            "filter": row.sample.filter,
        }
        if row.subtask:
            metadata["subtask"] = row.subtask
        sample: Part = {
            "id": sample_id,
            "epoch": 1,
            "input": row.question,
            "target": row.references[0] if len(row.references) == 1 else [*row.references],
            "messages": [{"role": turn.role, "content": turn.text} for turn in turns],
            "output": {
                "model": self.subject.model_id,
                "choices": [
                    {"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}
                    for text in row.replies
                ],
                "completion": completion,
            },
            "scores": dict(self._sample_scores(row)),
            "metadata": metadata,
        }
        if row.choices:
            sample["choices"] = [*row.choices]
        return sample

    def _sample_scores(self, row: SampleView) -> Iterator[tuple[str, Part]]:
        """Name and score of each scorer that has a value of the sample."""
        names = scorer_names(self.metrics)
        for metric in self.metrics:
            name, value = names[metric.key], row.scores.get(metric.key)
            if value is not None and name in self.scorers:
                yield name, {"value": self.scorers[name].shown(value), "answer": row.filtered}
        if row.published is not None and _PUBLISHED in self.scorers:
            verdict = float(row.published)
            yield _PUBLISHED, {"value": self.scorers[_PUBLISHED].shown(verdict)}


def _items_of(
    subject: Subject, task: TaskRun, names: Mapping[str, str]
) -> dict[str, list[Quantity]]:
    """Scorer -> its numbers as `score` has them."""
    items: dict[str, list[Quantity]] = {}
    for item in subject.quantities_of.get(task.name, ()):
        if item.key in names and item.value is not None:
            items.setdefault(names[item.key], []).append(item)
    # A value that is stored alone is not the mean of the samples.
    return {name: own for name, own in items.items() if own[0].source == "rows"}


def scorer_names(metrics: Sequence[Metric]) -> dict[str, str]:
    """Returns `metric,filter` -> name of its scorer.

    The first of a name is called by the metric alone, the others have their filter after a dot.

    >>> scorer_names([Metric(metric="em", filter="strict"), Metric(metric="em", filter="loose")])
    {'em,strict': 'em', 'em,loose': 'em.loose'}
    """
    names: dict[str, str] = {}
    for metric in metrics:
        is_free = metric.metric not in {*names.values(), _PUBLISHED}
        names[metric.key] = metric.metric if is_free else f"{metric.metric}.{metric.filter}"
    return names


def numbered(ids: Sequence[str]) -> list[str]:
    """Returns ids of which none stands twice: the second one of a name gets `-2`.

    >>> numbered(["a", "b", "a"])
    ['a', 'b', 'a-2']
    """
    numbers: Counter[str] = Counter()
    names: dict[str, None] = {}
    for sample_id in ids:
        name = sample_id
        while name in names:
            numbers[sample_id] += 1
            name = f"{sample_id}-{numbers[sample_id] + 1}"
        names[name] = None
    return [*names]


def _file_part(text: str) -> str:
    """A text as a part of a file's name: the viewer splits names at underscores."""
    return "".join(letter if letter.isalnum() or letter in "-.=" else "-" for letter in text)[:120]


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def _add(archive: zipfile.ZipFile, name: str, value: Any) -> None:
    """Adds a file without a time and with fixed rights, so that two archives are the same."""
    entry = zipfile.ZipInfo(name, _FIRST_DAY)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    archive.writestr(entry, _dump(value))
