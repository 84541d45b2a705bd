"""Texts of gated data sets, which no export holds unless the user says so.

A task is gated where the metadata of its YAML says `gated: true`, where its data are those of a set
in `gated_datasets.yaml`, or where its name is that of a task over such a set and its metadata do
not say `gated: false`. Question, choices, prompt and reply are replaced by their sha256 before any
format sees them; scores, hashes, ids, letters and numbers stay.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from evalprep.results import Run, TaskRun, matches
from evalprep.samples import ID_COLUMNS, INVALID, ChangedSamples, Sample

_FILE = Path(__file__).with_name("gated_datasets.yaml")
_LABEL = re.compile(r"\s*\(?[A-Z]\)?\s*")
_DIGEST = re.compile(r"[0-9a-f]{16,64}")
#: Columns of a row that name it and hold nothing of its question.
_NAMES = frozenset({*ID_COLUMNS, "subtask_name", "cluster_id", "document_id", "passage_id"})


@dataclass(frozen=True)
class GatedDataset:
    """A data set whose examples may not be published.

    Attributes:
        dataset: Its id on the hub.
        tasks: Patterns of task names.
    """

    dataset: str
    tasks: tuple[str, ...]

    def holds(self, task: TaskRun) -> bool:
        """Returns whether a task asks questions of it, as far as its files tell."""
        if task.logged.settings.dataset.path.casefold() == self.dataset.casefold():
            return True
        is_free = task.metadata.get("gated") is False
        name = task.name.casefold()
        return not is_free and matches([name], self.tasks)


@lru_cache(maxsize=1)
def gated_datasets() -> tuple[GatedDataset, ...]:
    """The known gated data sets."""
    from evalprep.yamltext import yaml_value

    entries = yaml_value(_FILE.read_text(encoding="utf-8"))
    return tuple(GatedDataset(entry["dataset"], tuple(entry["tasks"])) for entry in entries)


def is_gated(task: TaskRun) -> bool:
    """Returns whether the texts of a task may not be published."""
    if task.metadata.get("gated") is True:
        return True
    return any(dataset.holds(task) for dataset in gated_datasets())


def without_gated_texts(run: Run) -> Run:
    """Returns a run whose gated tasks hold digests in place of texts."""
    tasks = dict(run.tasks)
    for name, task in run.tasks.items():
        if is_gated(task):
            source = ChangedSamples(task.source, _hidden_sample)
            tasks[name] = dataclasses.replace(task, source=source, _tables={})
    return dataclasses.replace(run, tasks=tasks)


def _hidden_sample(sample: Sample) -> Sample:
    """A sample with digests in place of texts; its ids stay."""
    doc = {name: value if name in _NAMES else _hidden(value) for name, value in sample.doc.items()}
    return Sample(
        sample_id=sample.sample_id,
        doc_id=sample.doc_id,
        logged_doc=doc,
        target=_shown(sample.target),
        logged_arguments={name: _request(value) for name, value in sample.arguments.items()},
        resps=_shown(sample.resps),
        filtered_resps=_shown(sample.filtered_resps),
        filter=sample.filter,
        metrics={name: _shown(value) for name, value in sample.metrics.items()},
        hashes=sample.hashes,
    )


def digest(text: str) -> str:
    """Returns what stands in the place of a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _hidden(value: Any) -> Any:
    """A value with a digest in place of every text."""
    if isinstance(value, str):
        return value if _DIGEST.fullmatch(value) else digest(value)
    if isinstance(value, Mapping):
        return {key: _hidden(item) for key, item in value.items()}
    return [_hidden(item) for item in value] if isinstance(value, list) else value


def _request(value: Any) -> Any:
    """A request: its prompt and continuation hidden, its generation arguments as they are."""
    if not isinstance(value, Mapping):
        return _hidden(value)
    hidden = {}
    for name, argument in value.items():
        if isinstance(argument, Mapping):
            hidden[name] = argument
        elif isinstance(argument, list):
            # A chat counts as one text, as its digest is that of the whole.
            hidden[name] = _shown(msgspec.json.encode(argument).decode())
        else:
            hidden[name] = _shown(argument)
    return hidden


def _shown(value: Any) -> Any:
    """A value with a digest in place of every text that is more than a letter or a number."""
    if isinstance(value, str):
        return value if _says_nothing(value) else digest(value)
    if isinstance(value, Mapping):
        return {key: _shown(item) for key, item in value.items()}
    return [_shown(item) for item in value] if isinstance(value, list) else value


def _says_nothing(text: str) -> bool:
    """Returns whether a text is a letter, a number or a verdict, and nothing of a question."""
    if text in {"", INVALID, "True", "False"} or _LABEL.fullmatch(text):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True
