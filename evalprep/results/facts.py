"""What is known of each task of a run, and where it is known from: its facts. Absent means unknown."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalprep.files import as_mapping
from evalprep.results.invocations import model_arguments
from evalprep.results.run import Run
from evalprep.results.task import TaskRun
from evalprep.terminal import shortlist

#: subject: what is compared; manner: another way to ask the same; question: what was asked; counts: rows.
KINDS: Mapping[str, tuple[str, ...]] = {
    "subject": ("model", "revision", "adapter"),
    "manner": ("backend", "backend_args", "dtype", "batch_size", "seed", "versions"),
    "question": (
        *("num_fewshot", "prompt", "chat_template", "system", "multiturn", "generation", "draws", "filter", "metric"),
        *("rule", "task_version", "template_hash", "data", "limit", "form", "prompt_hash"),
    ),
    "counts": ("rows_expected", "rows_scored"),
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names}
_NAMED = 4  # settings that a sentence names
_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")
NONE = "none"  # known to be absent, which is not unknown

_NAMES_OF_MODEL = ("pretrained", "model", "path", "engine")
_ADAPTERS = ("peft", "lora_local_path", "adapter", "delta")
_SEEDS = ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")
# What makes a prompt of a row and an answer of a reply.
_TEMPLATE = (
    *("doc_to_text", "doc_to_target", "doc_to_choice", "description", "target_delimiter", "fewshot_delimiter"),
    *("gen_prefix", "output_type", "fewshot_config"),
)
_PATHS = ("json", "parquet", "csv", "text", "arrow")  # loaders of local files: the name says nothing of the data


@dataclass(frozen=True)
class Fact:
    """One thing that is known.

    Args:
        value: Plain data that compares by equality; `none` for what is known to be absent.
        source: `results`, `record`, `samples` or `files`.
        kind: One of `KINDS`.
    """

    value: Any
    source: str
    kind: str


def facts_of(run: Run, task: TaskRun) -> dict[str, Fact]:
    """Every fact of one task."""
    found = {name: (value, source) for name, value, source in _all(run, task) if value is not None}
    return {name: Fact(value, source, KIND_OF[name]) for name, (value, source) in found.items()}


def shared_facts(run: Run) -> dict[str, Fact]:
    """The facts that are equal in all tasks of a run."""
    each = [facts_of(run, task) for task in run.tasks.values()]
    return {name: fact for name, fact in each[0].items() if all(one.get(name) == fact for one in each)} if each else {}


def _all(run: Run, task: TaskRun) -> Iterator[tuple[str, Any, str]]:
    results, task_config = run.results, task.config
    config = as_mapping(results.get("config"))
    arguments = run.arguments
    in_results = [
        ("model", run.model if results else None),
        ("revision", arguments.get("revision")),
        ("adapter", next((arguments[name] for name in _ADAPTERS if arguments.get(name)), None)),
        ("backend", config.get("model")),
        ("backend_args", _other_arguments(arguments)),
        ("dtype", arguments.get("dtype") or config.get("model_dtype")),
        ("batch_size", config.get("batch_size")),
        ("seed", [config.get(name) for name in _SEEDS] if any(name in config for name in _SEEDS) else None),
        ("versions", _versions(results)),
        ("num_fewshot", _shots(results, task)),
        ("chat_template", _known(results, "chat_template_sha", "chat_template")),
        ("system", _known(results, "system_instruction_sha", "system_instruction")),
        ("multiturn", results.get("fewshot_as_multiturn")),
        ("generation", _generation(task_config, config)),
        ("draws", task_config.get("repeats")),
        ("rule", task.metadata.get("rule")),
        ("task_version", as_mapping(results.get("versions")).get(task.name)),
        ("template_hash", _hash({key: task_config.get(key) for key in _TEMPLATE}) if task_config else None),
        ("data", _data(task_config)),
        ("limit", limit_of(run, task)),
        ("form", task.metadata.get("form")),
        ("rows_expected", expected_rows(run, task)),
    ]
    yield from ((name, value, "results") for name, value in in_results)
    primary = task.primary
    yield "metric", primary.metric or None, "samples"
    yield "filter", primary.filter if primary.metric else None, "samples"


def _other_arguments(arguments: Mapping[str, Any]) -> dict[str, str] | None:
    known = {*_NAMES_OF_MODEL, *_ADAPTERS, "revision", "dtype"}
    return {name: str(value) for name, value in sorted(arguments.items()) if name not in known} or None


def _versions(results: Mapping[str, Any]) -> dict[str, str] | None:
    names = ("lm_eval_version", "transformers_version", "vllm_version", "git_hash")
    return {name: str(results[name]) for name in names if results.get(name)} or None


def _shots(results: Mapping[str, Any], task: TaskRun) -> Any:
    shots = as_mapping(results.get("n-shot")).get(task.name)
    return shots if shots is not None else task.config.get("num_fewshot")


def _known(results: Mapping[str, Any], *names: str) -> Any:
    """The first of some entries that has a value; `none` where they are there and empty; None where they are not."""
    values = [results[name] for name in names if name in results]
    return next((value for value in values if value), NONE if values else None)


def _generation(task_config: Mapping[str, Any], config: Mapping[str, Any]) -> Any:
    if task_config.get("output_type") not in (None, "generate_until"):
        return None
    own, given = as_mapping(task_config.get("generation_kwargs")), config.get("gen_kwargs")
    given = given if isinstance(given, Mapping) else model_arguments(given)
    return dict(sorted({**own, **given}.items())) or None


def _data(task_config: Mapping[str, Any]) -> Any:
    """Name, configuration, split and revision of a data set; None for local files, whose rows speak for themselves."""
    path = task_config.get("dataset_path")
    if not isinstance(path, str) or path in _PATHS:
        return None
    kwargs = as_mapping(task_config.get("dataset_kwargs"))
    split = task_config.get("test_split") or task_config.get("validation_split")
    return [path, task_config.get("dataset_name"), split, kwargs.get("revision")]


def _count(run: Run, task: TaskRun, name: str) -> int | None:
    counts = as_mapping(as_mapping(run.results.get("n-samples")).get(task.name))
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def expected_rows(run: Run, task: TaskRun) -> int | None:
    """Rows that the run was to answer: as its results file says, else as it was prepared; None where neither tells."""
    effective = _count(run, task, "effective")
    return effective if effective is not None else run.expected.get(task.name)


def rows_missing(missing: int, expected: int) -> str:
    """The sentence for a run that lacks rows."""
    return f"{missing} of {expected} expected rows are missing"


def incomplete(run: Run) -> list[str]:
    """A sentence for each task that has fewer rows than the run was to answer."""
    found = []
    for task in run.tasks.values():
        expected, have = expected_rows(run, task), len(task.table())
        if expected is not None and have < expected:
            found.append(f"{task.name}: {rows_missing(expected - have, expected)}")
    return found


def limit_of(run: Run, task: TaskRun) -> Any:
    """`8 of 68 rows` for a run over a part of the data, `none` for one over all, None where that is not known."""
    effective, original = _count(run, task, "effective"), _count(run, task, "original")
    if effective is None or original is None:
        return None
    return f"{effective} of {original} rows" if effective < original else NONE


def without_addresses(text: str) -> str:
    """A logged configuration without places in memory: functions inside lists and mappings are logged with theirs.

    >>> without_addresses("<function samples at 0x7f3a>")
    '<function samples>'
    """
    return _ADDRESS.sub("", text)


def _hash(value: Any) -> str:
    text = without_addresses(json.dumps(value, sort_keys=True, default=str, ensure_ascii=False))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True)
class FactDifference:
    """A fact that is not the same on two sides; a side is None where it is unknown there."""

    name: str
    kind: str
    candidate: Any
    baseline: Any

    @property
    def known(self) -> bool:
        """Whether both sides are known."""
        return self.candidate is not None and self.baseline is not None

    def sentence(self) -> str:
        """`num_fewshot 5 / 0`; of settings by name those that differ; long values by their beginning.

        >>> FactDifference("generation", "question", {"top_p": 1, "do_sample": True}, {"top_p": 1}).sentence()
        'generation do_sample true / none'
        """
        ours, theirs = self.candidate, self.baseline
        if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
            return f"{self.name} {_short(ours)} / {_short(theirs)}"
        pairs = [(key, ours.get(key, NONE), theirs.get(key, NONE)) for key in dict.fromkeys([*ours, *theirs])]
        said = [f"{key} {_short(one)} / {_short(other)}" for key, one, other in pairs if one != other]
        return f"{self.name} {shortlist(said, _NAMED)}"


def _short(value: Any) -> str:
    if value is None:
        return "unknown"
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def facts_that_differ(
    candidate: Mapping[str, Fact],
    baseline: Mapping[str, Fact],
    kinds: Iterable[str] = ("question", "manner", "subject"),
) -> list[FactDifference]:
    """The facts of some kinds that two sides do not share, in the order of `KINDS`."""
    wanted = set(kinds)
    found = []
    for name, kind in KIND_OF.items():
        here, there = candidate.get(name), baseline.get(name)
        values = (here.value if here else None, there.value if there else None)
        if kind in wanted and values[0] != values[1]:
            found.append(FactDifference(name, kind, *values))
    different_models = any(one.name == "model" for one in found)
    return [_of_subject(one) if different_models else one for one in found]


def _of_subject(one: FactDifference) -> FactDifference:
    """Two models bring two chat templates: where both were applied, that is a part of what is compared."""
    if one.name == "chat_template" and one.known and NONE not in (one.candidate, one.baseline):
        return FactDifference(one.name, "subject", one.candidate, one.baseline)
    return one
