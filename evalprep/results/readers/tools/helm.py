"""Folders of HELM runs: one folder per run, with a file of scores and a file of requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalprep.files import as_mapping
from evalprep.results.readers.compressed import damaged
from evalprep.results.readers.jsonparts import JsonParts
from evalprep.results.readers.tools.opening import Opening
from evalprep.results.readers.tools.reading import Reading, beside
from evalprep.results.readers.tools.row import Row, TaskFacts, ToolLog
from evalprep.results.readers.tools.texts import as_list, index_of, score_of, text_or_none
from evalprep.results.sample import Damage

NAME = "helm"
_STATS = "per_instance_stats.json"
_STATE = "scenario_state.json"
_SPEC = "run_spec.json"
#: Figures of the run itself, which score nothing.
_NOT_SCORES = re.compile(
    r"inference_.*|num_.*|finish_reason_.*|training_.*|batch_size|prompt_truncated|max_prob|logprob"
    r"|.*_tokens|estimated_.*"
)
_OWN_ARGUMENTS = ("method=", "model=", "model_deployment=", "data_augmentation=", "groups=")
_Key = tuple[str, int]


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
    row = _of_state(state)
    row.id = text_or_none(stats.get("instance_id"))
    row.set_values(_values(stats), (metric,))
    return row


def _values(stats: Mapping[str, Any]) -> dict[str, float | None]:
    """Metric -> mean; a statistic without a count is no verdict."""
    values: dict[str, float | None] = {}
    for item in as_list(stats.get("stats")):
        stat = as_mapping(item)
        name = as_mapping(stat.get("name"))
        metric = text_or_none(name.get("name")) or ""
        if not metric or name.get("perturbation") or _NOT_SCORES.fullmatch(metric):
            continue
        has_count = bool(stat.get("count"))
        values[metric] = score_of(stat.get("mean")) if has_count else None
    return values


def _of_state(state: Mapping[str, Any]) -> Row:
    """The texts of a request."""
    instance = as_mapping(state.get("instance"))
    mapping = as_mapping(state.get("output_mapping"))
    references = [as_mapping(item) for item in as_list(instance.get("references"))]
    request = as_mapping(state.get("request"))
    row = Row(question=_text_in(instance.get("input")))
    _set_references(row, references, is_letter_choice=bool(mapping))
    row.prompt = text_or_none(request.get("prompt"))
    if state.get("reference_index") is None:
        row.response = _completion(state)
        row.answer = _answer(row.response, mapping)
        row.answer_index = _answer_place(row, mapping)
    return row


def _set_references(
    row: Row, references: Sequence[Mapping[str, Any]], *, is_letter_choice: bool
) -> None:
    """Sets the gold answers, and the choices where the references are that.

    Without letters to choose from, references that are all correct are other wordings of one
    answer.
    """
    texts, correct = [], []
    for reference in references:
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


def _completion(state: Mapping[str, Any]) -> str | None:
    result = as_mapping(state.get("result"))
    completions = as_list(result.get("completions"))
    if not completions:
        return None
    completion = as_mapping(completions[0])
    return text_or_none(completion.get("text"))


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


def read(path: Path, _: Reading) -> ToolLog:
    """Opens the folder of a run.

    Raises:
        BadInput: a file of it is damaged.
    """
    spec = _spec_of(path)
    adapter = as_mapping(spec.get("adapter_spec"))
    task = text_or_none(spec.get("name")) or path.name.replace("-", ":", 1)
    notes: list[str] = []
    return ToolLog(
        NAME,
        _rows(path, task, notes),
        model=text_or_none(adapter.get("model")) or "",
        tasks={task: TaskFacts(_shots(adapter))},
        notes=notes,
        short_name=bare_name,
    )


def _shots(adapter: Mapping[str, Any]) -> int | None:
    shots = adapter.get("max_train_instances")
    return shots if type(shots) is int else None


def _spec_of(path: Path) -> Mapping[str, Any]:
    try:
        parts = _parts(path, _SPEC)
    except FileNotFoundError:
        return {}
    return {key: parts.get(key) for key in parts.keys}


def _parts(path: Path, name: str) -> JsonParts:
    """A file of the run, which may be packed.

    Raises:
        FileNotFoundError: it is not there.
        BadInput: it is damaged.
    """
    file = beside(path, name, f"{name}.gz")
    if file is None:
        raise FileNotFoundError(name)
    try:
        return JsonParts.of_file(file)
    except ValueError as error:
        raise damaged(file, str(error)) from error


def _rows(path: Path, task: str, notes: list[str]) -> Iterator[Row | Damage]:
    """The rows of all instances: those with a request first, then those without one."""
    scores: dict[_Key, Mapping[str, Any]] = {}
    yield from _collect_scores(path, task, scores, notes)
    requested: set[_Key] = set()
    for number, state in enumerate(_parts(path, _STATE).each("request_states")):
        if isinstance(state, Damage):
            continue  # its scores are a row all the same
        instance = as_mapping(state.get("instance"))
        key = _key(instance.get("id"), state)
        if instance.get("perturbation") or skip_reason(state) or key in requested:
            continue
        # Of an instance with a request for each choice the first one has the texts. One without
        # scores is a row without a verdict.
        requested.add(key)
        stats = scores.pop(key, {"instance_id": instance.get("id")})
        yield _placed(row_of(stats, state), path, task, number)
    for number, stats in enumerate(scores.values()):
        yield _placed(row_of(stats, {}), path, task, number)


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


def _placed(row: Row, path: Path, task: str, number: int) -> Row:
    row.task = task
    row.source = f"{path.name}:{number + 1}"
    return row


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
