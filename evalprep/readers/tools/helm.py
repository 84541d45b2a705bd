"""Folders of HELM runs: one folder per run, with a file of scores and a file of requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalprep.files import as_mapping
from evalprep.readers.tools.columns import Column, Columns, at, each_row
from evalprep.readers.tools.opening import Opening
from evalprep.readers.tools.reading import Reader, Reading, beside
from evalprep.readers.tools.row import Row, TaskFacts, ToolLog
from evalprep.readers.tools.texts import (
    as_list,
    index_of,
    mappings_in,
    score_of,
    text_or_none,
    whole_or_none,
)
from evalprep.readers.tools.unread import Unread
from evalprep.samples import Damage, JsonParts, damaged

NAME = "helm"
_STATS = "per_instance_stats.json"
_STATE = "scenario_state.json"
_SPEC = "run_spec.json"
_FILES = {
    *(_STATS, _STATE, _SPEC, "stats.json", "scenario.json", "instances.json"),
    *("display_predictions.json", "display_requests.json"),
}
#: Figures of the run itself, which score nothing.
_NOT_SCORES = re.compile(
    r"inference_.*|num_.*|finish_reason_.*|training_.*|batch_size|prompt_truncated|max_prob|logprob"
    r"|.*_tokens|estimated_.*"
)
_OWN_ARGUMENTS = ("method=", "model=", "model_deployment=", "data_augmentation=", "groups=")
_Key = tuple[str, int]
_Instance = tuple[int, Mapping[str, Any], Mapping[str, Any]]


def recognises(opening: Opening) -> bool:
    """Returns whether a folder is that of a HELM run."""
    if opening.kind != "folder":
        return False
    for name in (_STATS, _STATE):
        packed = f"{name}.gz"
        if name not in opening.names and packed not in opening.names:
            return False
    return True


def skip_reason(stats: Mapping[str, Any]) -> str:
    """Returns why the scores of an instance are left out; empty where they count."""
    if stats.get("perturbation"):
        return "perturbed instance"
    trial = stats.get("train_trial_index")
    if isinstance(trial, int) and trial > 0:
        return f"train trial {trial}"
    return ""


def row_of(stats: Mapping[str, Any], state: Mapping[str, Any], metric: str = "") -> Row:
    """Returns the row of an instance.

    Args:
        stats: Its entry in `per_instance_stats.json`.
        state: Its request in `scenario_state.json`; empty where it has none.
        metric: The metric that stands for the row; its first by default.
    """
    row = COLUMNS.row({"stats": stats, "state": state})
    row.set_values(_values(stats), (metric,))
    mapping = as_mapping(state.get("output_mapping"))
    _set_references(row, at(state, "instance.references"), is_letter_choice=bool(mapping))
    if state.get("reference_index") is None:
        row.response = text_or_none(at(state, "result.completions.0.text"))
        row.answer = _answer(row.response, mapping)
        row.answer_index = _answer_place(row, mapping)
    return row


def _values(stats: Mapping[str, Any]) -> dict[str, float | None]:
    """Metric -> mean; a statistic without a count is no verdict."""
    values: dict[str, float | None] = {}
    for stat in mappings_in(stats.get("stats")):
        metric = text_or_none(at(stat, "name.name")) or ""
        if not metric or at(stat, "name.perturbation") or _NOT_SCORES.fullmatch(metric):
            continue
        values[metric] = score_of(stat.get("mean")) if stat.get("count") else None
    return values


def _set_references(row: Row, references: Any, *, is_letter_choice: bool) -> None:
    """Sets choices and gold answers.

    Without letters to choose from, references that are all correct are other wordings of one
    answer.
    """
    texts, correct = [], []
    for reference in map(as_mapping, as_list(references)):
        text = _text_in(reference.get("output")) or ""
        texts.append(text)
        if "correct" in as_list(reference.get("tags")):
            correct.append(text)
    row.set_targets(correct)
    are_choices = is_letter_choice or len(correct) < len(texts)
    if texts and are_choices:
        row.choices = texts
        row.target_index = texts.index(correct[0]) if correct else None


def _text_in(value: Any) -> str | None:
    """A text, which older versions wrote as it is and later ones as an object."""
    text = value.get("text") if isinstance(value, Mapping) else value
    return text_or_none(text)


def _answer(response: str | None, mapping: Mapping[str, Any]) -> str | None:
    """The reply without blanks; a letter of the mapping as its choice."""
    if response is None:
        return None
    word = response.strip()
    if word in mapping:
        return text_or_none(mapping[word])
    return word


def _answer_place(row: Row, mapping: Mapping[str, Any]) -> int | None:
    """The place of the answer among the choices; None of a letter that the prompt did not offer."""
    if mapping and row.answer not in mapping.values():
        return None
    return index_of(row.answer, row.choices)


COLUMNS = Columns(
    Column("id", "stats.instance_id"),
    Column("question", "state.instance.input", _text_in),
    Column("prompt", "state.request.prompt"),
)


def read(path: Path, _: Reading) -> ToolLog:
    """Opens the folder of a run.

    Raises:
        BadInput: a file of it is damaged.
    """
    spec = _parts(path, _SPEC)
    adapter = spec.get("adapter_spec")
    task = text_or_none(spec.get("name")) or path.name.replace("-", ":", 1)
    notes: list[str] = []

    def row_of_instance(instance: _Instance) -> Row:
        number, stats, state = instance
        row = row_of(stats, state)
        row.source = f"{path.name}:{number}"
        return row

    return ToolLog(
        NAME,
        each_row(path.name, _instances(path, task, notes), row_of_instance, task),
        model=text_or_none(at(adapter, "model")) or "",
        tasks={task: TaskFacts(whole_or_none(at(adapter, "max_train_instances")))},
        notes=notes,
        short_name=bare_name,
        may_measure_harm=True,
    )


def _parts(path: Path, name: str) -> JsonParts:
    """A file of the run, which may be packed; without parts where it is not there.

    Raises:
        BadInput: it is damaged.
    """
    file = beside(path, name, f"{name}.gz")
    if file is None:
        return JsonParts()
    try:
        return JsonParts.of_file(file)
    except ValueError as error:
        raise damaged(file, str(error)) from error


def _instances(path: Path, task: str, notes: list[str]) -> Iterator[_Instance | Damage]:
    """Yields place, scores and request of each instance: those with a request come first."""
    scores: dict[_Key, Mapping[str, Any]] = {}
    yield from _collect_scores(path, task, scores, notes)
    requested: set[_Key] = set()
    states = _parts(path, _STATE).each("request_states")
    for number, state in enumerate(states, start=1):
        if isinstance(state, Damage):
            continue  # its scores are a row all the same
        instance = as_mapping(state.get("instance"))
        key = _key(instance.get("id"), state)
        if instance.get("perturbation") or skip_reason(state) or key in requested:
            continue
        # Of an instance with a request for each choice the first one has the texts. One without
        # scores is a row without a verdict.
        requested.add(key)
        yield number, scores.pop(key, {"instance_id": instance.get("id")}), state
    for number, stats in enumerate(scores.values(), start=1):
        yield number, stats, {}


def _collect_scores(
    path: Path, task: str, scores: dict[_Key, Mapping[str, Any]], notes: list[str]
) -> Iterator[Damage]:
    """Puts the scores of each instance that counts into `scores`; yields what cannot be read."""
    skipped: dict[str, int] = {}
    for stats in _parts(path, _STATS).each_item():
        if isinstance(stats, Damage):
            yield stats
            continue
        reason = skip_reason(stats)
        if reason:
            kind = "train trials above 0" if reason.startswith("train") else f"{reason}s"
            skipped[kind] = skipped.get(kind, 0) + 1
            continue
        key = _key(stats.get("instance_id"), stats)
        scores[key] = stats
    notes += [f"{task}: {count} {kind} are left out" for kind, count in skipped.items()]


def _key(instance_id: Any, entry: Mapping[str, Any]) -> _Key:
    trial = entry.get("train_trial_index")
    if not isinstance(trial, int):
        trial = 0
    return str(instance_id), trial


def bare_name(task: str) -> str:
    """Returns a run's name without what only states how and which model it asked.

    >>> bare_name("mmlu:subject=philosophy,method=multiple_choice_joint,model=openai_gpt2")
    'mmlu:subject=philosophy'
    """
    scenario, _, arguments = task.partition(":")
    parts = [part for part in arguments.split(",") if part]
    kept = [part for part in parts if not part.startswith(_OWN_ARGUMENTS)]
    if not kept:
        return scenario
    return f"{scenario}:{','.join(kept)}"


def file_of_a_run(opening: Opening) -> Unread | None:
    """Returns what one file of a run is."""
    if opening.path.name.removesuffix(".gz") in _FILES:
        return Unread("one file of a HELM run", f"pass its folder: {opening.path.parent}")
    return None


READERS = (Reader(NAME, recognises, read, unread=file_of_a_run),)
