"""What was meant to be asked of each task, held against what lm-eval logged.

The record of a run (`run_<id>.json` beside its results) keeps the settings and a digest of the rows
of each task as they were prepared. The work folder may have been edited before a pasted command
ran, or hold another preparation: the record says what was meant, the results file what was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from evalprep.files import as_mapping
from evalprep.packs import (
    ANY_FUNCTION,
    CLASS,
    FACT_OF_CHOICE,
    FACT_OF_SETTING,
    READ_BY,
    Manifest,
    PreparedTask,
    in_one_form,
    place_of,
)
from evalprep.readers import NONE, TaskResults, read_results
from evalprep.results.facts import asked_generation, short_value
from evalprep.results.invocations import Invocation
from evalprep.results.rowdigest import RowDigest, hashes_of_table
from evalprep.results.task import TaskRun
from evalprep.samples import SampleFile
from evalprep.terminal import shortlist

#: How the logged task stands to the prepared one; `unknown` without a record of it.
State = Literal["equal", "edited", "other rows", "missing", "unknown"]
EQUAL: State = "equal"
EDITED: State = "edited"
OTHER_ROWS: State = "other rows"
MISSING: State = "missing"
UNKNOWN_STATE: State = "unknown"
#: The fact of a question that other rows than the prepared ones are.
ROWS = "rows"
#: What lm-eval logs of a key that the YAML leaves out.
_DEFAULTS: Mapping[str, tuple[Any, ...]] = {
    "description": (None, ""),
    "target_delimiter": (None, " "),
    "fewshot_delimiter": (None, "\n\n"),
    "num_fewshot": (None, 0),
    "repeats": (None, 1),
    "output_type": (None, "", "generate_until"),
}
#: Keys of `generation_kwargs` that lm-eval fills in.
_FILLED = frozenset({"until", "do_sample", "temperature"})
#: How lm-eval logs functions without a source: `functools.partial(...)`, `<built-in ...>`.
_UNNAMED = ("functools.", "<")
#: Keys of a metric that lm-eval may fill in.
_ADDED_TO_METRICS = frozenset({"aggregation", "higher_is_better"})
#: Facts that the hashes of rows depend on.
_OF_ROWS = frozenset({"prompt", "gold", "data"})
_NAMED = 4  # settings that a sentence names


class SettingEdit(msgspec.Struct, frozen=True):
    """A setting that is not as it was prepared.

    Attributes:
        key: Its place in the task's YAML, with full stops.
        meant: As it was prepared.
        logged: As lm-eval logged it.
        fact: The fact of a question that it decides, or how the replies are read.
    """

    key: str
    meant: Any
    logged: Any
    fact: str

    def sentence(self) -> str:
        """`generation_kwargs.max_gen_toks prepared 32, logged 4`."""
        return f"{self.key} prepared {self.shown_meant}, logged {self.shown_logged}"

    @property
    def shown_meant(self) -> str:
        """The prepared value as text."""
        return _shown(self.meant)

    @property
    def shown_logged(self) -> str:
        """The logged value as text."""
        return _shown(self.logged)


def _shown(value: Any) -> str:
    return NONE if value is None else short_value(value)


class TaskMeant(msgspec.Struct, frozen=True):
    """One task of a run, as meant and as logged.

    Attributes:
        state: How the two stand to each other.
        edits: The settings that differ.
        expected: Rows that were prepared for the run; None where that is not known.
        found: Rows that were answered; None where there are none.
        digest: Of the answered rows; empty where they are the prepared ones, or not known.
    """

    state: State
    edits: tuple[SettingEdit, ...] = ()
    expected: int | None = None
    found: int | None = None
    digest: str = ""

    @property
    def has_other_rows(self) -> bool:
        """True where other rows were answered than the prepared ones."""
        return self.state == OTHER_ROWS

    def sentences(self) -> Iterator[str]:
        """Yields what is not as it was prepared."""
        if self.has_other_rows:
            yield f"other rows than prepared: expected {self.expected}, found {self.found}"
        if self.edits:
            edits = shortlist([edit.sentence() for edit in self.edits], _NAMED)
            yield f"not as prepared: {edits}"


def task_meant(entry: PreparedTask, task: TaskRun) -> TaskMeant:
    """Holds one task of a run against the record of its preparation.

    Args:
        entry: The record's entry of the task; without facts where there is none.
        task: The task, with samples.
    """
    digest = RowDigest.read(entry.row_digest)
    if digest is None and entry.settings is None:
        return TaskMeant(UNKNOWN_STATE)
    edits = tuple(edits_of(entry.settings or {}, task.logged, task))
    expected = entry.expected
    if expected is None and digest is not None:
        expected = digest.rows
    found = len(set(task.table().ids))
    digest_found = ""
    if digest is not None:
        # An edited prompt or gold answer makes other hashes of the same rows.
        is_reworded = any(edit.fact in _OF_ROWS for edit in edits)
        hashes = None if is_reworded else hashes_of_table(task.table(), digest)
        digest_found = _digest_of_others(digest, hashes, found, expected or 0)
    if digest_found:
        return TaskMeant(OTHER_ROWS, edits, expected, found, digest_found)
    return TaskMeant(EDITED if edits else EQUAL, edits, expected, found)


def asked_as_stated(entry: PreparedTask, task: str, call: Invocation) -> bool:
    """Returns whether a call asked a task as an entry of a record states it.

    How its replies were read does not count. What a call did not log was not asked so.

    Args:
        entry: The settings and the digest of rows.
        task: The task.
        call: The call, with samples of the task.
    """
    logged = read_results(call.results)[0].tasks.get(task) if call.is_written else None
    if logged is None or "output_type" not in logged.settings.as_logged:
        return False
    meant = task_meant(entry, TaskRun(task, SampleFile(call.samples[task]), logged))
    return meant.state != OTHER_ROWS and all(edit.fact in READ_BY for edit in meant.edits)


def _digest_of_others(
    digest: RowDigest, hashes: Sequence[str] | None, found: int, expected: int
) -> str:
    """The digest of answered rows, where they are not those of a digest; else empty.

    Args:
        digest: Of the prepared rows.
        hashes: Of the answered rows; None where they are not known.
        found: How many rows were answered.
        expected: Rows that the run was to answer; 0 where that is not known.
    """
    is_more = found > expected > 0
    if hashes is None:
        return f"{found} rows" if is_more else ""
    answered = RowDigest.of(hashes, prompt=digest.prompt, target=digest.target)
    is_whole = answered.rows >= digest.rows and answered.digest != digest.digest
    return answered.digest if is_more or is_whole or digest.others_in(hashes) else ""


def edits_of(
    meant: Mapping[str, Any], logged: TaskResults, task: TaskRun | None = None
) -> Iterator[SettingEdit]:
    """Yields the settings of a task that are not as they were prepared.

    Args:
        meant: The settings as they were prepared, in one form.
        logged: What the results file holds of the task.
        task: The task with its samples, whose requests name generation arguments, too.
    """
    settings = dict(in_one_form(dict(logged.settings.as_logged)))
    if not meant or "output_type" not in settings:
        return  # nothing is known of one side
    is_partial = CLASS in meant
    for key, fact in FACT_OF_SETTING.items():
        if is_partial and key not in meant:
            continue
        if key == "generation_kwargs":
            requests = {} if task is None else asked_generation(task)
            own = {**as_mapping(settings.get(key)), **requests}
            yield from _edits_of_generation(as_mapping(meant.get(key)), in_one_form(own))
        elif key == "filter_list":
            yield from _edits_of_filters(meant.get(key), settings.get(key))
        elif key == "metric_list":
            yield from _edits_of_metrics(meant.get(key), settings.get(key))
        elif not _is_as_meant(key, meant, settings):
            yield SettingEdit(key, meant.get(key), settings.get(key), fact)
    yield from _edits_of_metadata(meant, settings)


def _is_as_meant(key: str, meant: Mapping[str, Any], logged: Mapping[str, Any]) -> bool:
    value, other = meant.get(key), logged.get(key)
    defaults = _DEFAULTS.get(key, (None,))
    return _covers(value, other) or (value in defaults and other in defaults)


def _covers(meant: Any, logged: Any) -> bool:
    """Returns whether a logged value is the prepared one, with keys that lm-eval may add."""
    if isinstance(meant, Mapping) and isinstance(logged, Mapping):
        return all(_covers(value, logged.get(key)) for key, value in meant.items())
    if isinstance(meant, list) and isinstance(logged, list):
        return len(meant) == len(logged) and all(map(_covers, meant, logged))
    if meant == ANY_FUNCTION:
        return isinstance(logged, str)
    return bool(meant == logged) or _is_place_of(meant, logged)


def _is_place_of(meant: Any, logged: Any) -> bool:
    """Returns whether a logged value may be a prepared function.

    `evalprep run` logs `package.module.NAME` of a run over stored replies, and lm-eval no name of
    what is no plain function.
    """
    if not (isinstance(logged, str) and place_of(meant)):
        return False
    is_unnamed = logged.startswith(_UNNAMED) and not place_of(logged)
    return is_unnamed or logged.endswith(f".{place_of(meant)}")


def _edits_of_generation(
    meant: Mapping[str, Any], logged: Mapping[str, Any]
) -> Iterator[SettingEdit]:
    filled = _FILLED if meant else _FILLED | {"max_gen_toks"}
    for key in dict.fromkeys([*meant, *logged]):
        is_filled = key in filled and key not in meant
        if is_filled and not (meant and key == "temperature" and logged[key]):
            continue
        if meant.get(key) != logged.get(key):
            name = f"generation_kwargs.{key}"
            yield SettingEdit(name, meant.get(key), logged.get(key), "generation")


def _edits_of_filters(meant: Any, logged: Any) -> Iterator[SettingEdit]:
    steps, other = _by_name(meant), _by_name(logged)
    for name in dict.fromkeys([*steps, *other]):
        if not _covers(steps.get(name), other.get(name)):
            yield SettingEdit(
                f"filter_list.{name}",
                _steps_in_short(steps.get(name), other.get(name)),
                _steps_in_short(other.get(name), steps.get(name)),
                "filter",
            )


def _edits_of_metrics(meant: Any, logged: Any) -> Iterator[SettingEdit]:
    """Yields each metric that one side lacks, or the keys of it that differ."""
    own, other = _metrics_by_name(meant), _metrics_by_name(logged)
    for name in dict.fromkeys([*own, *other]):
        place = f"metric_list.{name}"
        if name not in own or name not in other:
            here, there = ("listed" if name in side else None for side in (own, other))
            yield SettingEdit(place, here, there, "metric")
            continue
        # lm-eval may add keys to a metric.
        for key, value in own[name].items():
            if not _covers(value, other[name].get(key)):
                yield SettingEdit(f"{place}.{key}", value, other[name].get(key), "metric")
        for key in other[name].keys() - own[name].keys() - _ADDED_TO_METRICS:
            yield SettingEdit(f"{place}.{key}", None, other[name][key], "metric")


def _metrics_by_name(metrics: Any) -> dict[str, dict[str, Any]]:
    listed = metrics if isinstance(metrics, list) else []
    return {str(entry.get("metric")): entry for entry in listed if isinstance(entry, dict)}


def _by_name(filters: Any) -> dict[str, Any]:
    listed = filters if isinstance(filters, list) else []
    return {
        str(entry.get("name")): entry.get("filter") for entry in listed if isinstance(entry, dict)
    }


def _steps_in_short(steps: Any, others: Any) -> Any:
    """The first step that differs from another filter's; None for no filter."""
    if not isinstance(steps, list):
        return steps
    opposite = others if isinstance(others, list) else []
    for at, step in enumerate(steps):
        if at >= len(opposite) or step != opposite[at]:
            shown = {key: value for key, value in step.items() if key != "function"}
            return next(iter(shown.values()), step.get("function"))
    return f"{len(steps)} steps"


def _edits_of_metadata(
    meant: Mapping[str, Any], logged: Mapping[str, Any]
) -> Iterator[SettingEdit]:
    """Yields another choice of the metric or the filter that stands for the task."""
    own, other = as_mapping(meant.get("metadata")), as_mapping(logged.get("metadata"))
    for key, fact in FACT_OF_CHOICE.items():
        if key in own and own[key] != other.get(key):
            yield SettingEdit(f"metadata.{key}", own[key], other.get(key), fact)


def tasks_meant(
    record: Manifest, tasks: Mapping[str, TaskRun], known: Mapping[str, Any]
) -> dict[str, TaskMeant]:
    """Holds every task of a run against the record of its preparation.

    Args:
        record: The record; empty without one.
        tasks: The tasks with samples.
        known: The tasks of the results file.
    """
    entries = _entries_of_tasks(record)
    meant = {
        name: task_meant(entries.get(name, PreparedTask(name)), task)
        for name, task in tasks.items()
    }
    for name, entry in entries.items():
        if name not in tasks and name not in known:
            meant[name] = TaskMeant(MISSING, expected=entry.expected)
    return meant


def _entries_of_tasks(record: Manifest) -> dict[str, PreparedTask]:
    """Task -> its entry in a record; a group of lm-eval's own tasks stands for each of these."""
    entries: dict[str, PreparedTask] = {}
    for name, entry in record.tasks.items():
        entries |= {
            leaf: PreparedTask(leaf, settings=settings) for leaf, settings in entry.leaves.items()
        }
        if not entry.leaves:
            entries[name] = entry
    return entries


def notes_on_meant(meant: Mapping[str, TaskMeant]) -> list[str]:
    """Returns a note for each task that is not as it was prepared."""
    notes = []
    for name, task in meant.items():
        notes += [f"{name}: {text}" for text in task.sentences()]
    return notes
