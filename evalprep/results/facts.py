"""The known facts of each task of a run, each with its source.

A fact that is absent is unknown.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from evalprep.packs import in_one_form
from evalprep.readers import NONE, CallSettings, Dataset, TaskSettings
from evalprep.results.run import Run
from evalprep.results.task import TaskRun
from evalprep.samples import LM_EVAL, STATED_WITHOUT_BOX, Table, text_hash
from evalprep.terminal import counted, shortlist

#: subject: what is compared; manner: another way to ask the same; question: what was asked;
# counts: rows.
KINDS: Mapping[str, tuple[str, ...]] = {
    "subject": ("model", "revision", "adapter"),
    "manner": ("backend", "backend_args", "dtype", "batch_size", "seed", "versions"),
    "question": (
        "num_fewshot",
        "prompt",
        "chat_template",
        "system",
        "multiturn",
        "generation",
        "draws",
        "filter",
        "filter_steps",
        "metric",
        "rule",
        "task_version",
        "template_hash",
        "data",
        "limit",
        "form",
        "prompt_hash",
    ),
    "counts": ("rows_expected", "rows_scored"),
}
KIND_OF: dict[str, str] = {}
for _kind, _names in KINDS.items():
    KIND_OF |= dict.fromkeys(_names, _kind)
_NAMED = 4  # settings or rows that a sentence names
_ID_CHARACTERS = 16  # of a digest that stands for a row
_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")
_FUNCTION = ("def ", "@")  # how the source of a function begins

_NAMES_OF_MODEL = ("pretrained", "model", "path", "engine")
_ADAPTERS = ("peft", "lora_local_path", "adapter", "delta")
_SEEDS = ("random", "numpy", "torch", "fewshot")
#: Loaders of local files: such a name says nothing of the data.
_PATHS = ("json", "parquet", "csv", "text", "arrow")


class Fact(msgspec.Struct, frozen=True):
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
    facts = {}
    for name, value, source in _all(run, task):
        if value is not None:
            facts[name] = Fact(value, source, KIND_OF[name])
    return facts


def _all(run: Run, task: TaskRun) -> Iterator[tuple[str, Any, str]]:
    call = run.call_of(task.name)
    arguments = call.arguments
    logged, settings = task.logged, task.logged.settings
    in_results = [
        ("model", run.model if run.logged.read else None),
        ("revision", arguments.get("revision")),
        ("adapter", next(filter(None, map(arguments.get, _ADAPTERS)), None)),
        ("backend", call.backend),
        ("backend_args", _other_arguments(arguments)),
        ("dtype", _dtype(arguments.get("dtype"), call.dtype)),
        ("batch_size", call.batch_size),
        ("seed", [call.seeds.get(use) for use in _SEEDS] if call.seeds else None),
        ("versions", dict(call.versions) or None),
        ("num_fewshot", logged.num_fewshot),
        ("chat_template", _chat_template(call)),
        ("system", call.system),
        ("multiturn", call.multiturn),
        ("generation", _generation(task, call)),
        ("draws", settings.repeats),
        ("rule", task.metadata.get("rule")),
        ("task_version", logged.version),
        ("template_hash", _hash_of_template(settings.template)),
        ("data", _data(settings.dataset)),
        ("limit", limit_of(task)),
        ("form", task.metadata.get("form")),
        ("rows_expected", expected_rows(run, task)),
    ]
    for name, value in in_results:
        yield name, value, "results"
    primary = task.primary
    yield "metric", primary.metric or None, "samples"
    yield "filter", primary.filter if primary.metric else None, "samples"
    yield "filter_steps", filter_steps(settings, primary.filter), "results"


def _chat_template(call: CallSettings) -> str | None:
    """The chat template of a call; not known where a chat interface applies that of its model."""
    if call.chat_template != NONE:
        return call.chat_template
    from evalprep.backends import find_backend

    record = find_backend(call.backend)
    return None if record is not None and record.chat_only else NONE


def _dtype(requested: Any, reported: str | None) -> str | None:
    """The data type that was asked for, without one or with `auto` that of the weights.

    >>> _dtype("auto", "torch.bfloat16"), _dtype("float32", "torch.bfloat16"), _dtype("auto", None)
    ('bfloat16', 'float32', 'auto')
    """
    is_left_open = requested in (None, "", "auto")
    chosen = reported if reported and is_left_open else requested
    if not chosen:
        return None
    return str(chosen).removeprefix("torch.")


def _other_arguments(arguments: Mapping[str, Any]) -> dict[str, str] | None:
    """The arguments of the model that are no facts of their own; None without any."""
    known = {*_NAMES_OF_MODEL, *_ADAPTERS, "revision", "dtype"}
    names = sorted(name for name in arguments if name not in known)
    return {name: str(arguments[name]) for name in names} or None


def asked_generation(task: TaskRun) -> Mapping[str, Any]:
    """The generation arguments of a task's first request; empty where its lines name none."""
    first = task.first_sample
    return {} if first is None else first.generation


def filter_steps(settings: TaskSettings, filter_name: str) -> list[Any] | None:
    """Returns the steps of a filter as they were logged, in one form.

    None where they are not known.
    """
    listed = settings.as_logged.get("filter_list")
    entries = listed if isinstance(listed, list) else []
    for entry in entries:
        if isinstance(entry, dict) and entry.get("name") == filter_name:
            return list(in_one_form(entry.get("filter") or []))
    return None


def _generation(task: TaskRun, call: CallSettings) -> dict[str, Any] | None:
    """The generation arguments of a task: what the requests name, else the settings of the call."""
    settings = task.logged.settings
    if settings.output_type not in ("", "generate_until"):
        return None
    generation = {**settings.generation, **call.generation, **asked_generation(task)}
    return dict(sorted(generation.items())) or None


def _data(dataset: Dataset) -> list[str | None] | None:
    """Name, configuration, split and revision of a data set.

    None for local files, whose rows speak for themselves.
    """
    if not dataset.path or dataset.path in _PATHS:
        return None
    return [dataset.path, dataset.name, dataset.split, dataset.revision]


def expected_rows(run: Run, task: TaskRun) -> int | None:
    """Rows that the run was to answer: as its results file says, else as it was prepared.

    None where neither tells.
    """
    effective = task.logged.rows.effective
    if effective is not None:
        return effective
    return run.expected.get(task.name)


def rows_missing(missing: int, expected: int) -> str:
    """The sentence for a run that lacks rows."""
    return f"{missing} of {expected} expected rows are missing"


def incomplete(run: Run) -> list[str]:
    """A sentence for each task that has fewer rows with a score than the run was to answer."""
    sentences = []
    for task in run.tasks.values():
        expected = expected_rows(run, task)
        rows = len(task.table())
        unscored = _unscored(task)
        if expected is not None and rows - unscored < expected:
            sentence = rows_missing(expected - rows + unscored, expected)
            without = f" ({counted(unscored, 'row')} without a score)" if unscored else ""
            sentences.append(f"{task.name}: {sentence}{without}")
    return sentences


def _unscored(task: TaskRun) -> int:
    """Rows of a task that have no number although the metric of the task is one of rows."""
    if task.primary.kind != "rows":
        return 0
    return int(np.sum(~np.isfinite(task.values(task.primary))))


def odd_verdicts(run: Run) -> list[str]:
    """A sentence for each task whose logged verdicts do not follow from its log-likelihoods.

    Runs that this tool recorded are not looked at: nothing came between lm-eval and their lines.
    """
    if run.record is not None or run.tool != LM_EVAL:
        return []
    sentences = []
    for task in run.tasks.values():
        outcome = task.verdict_check
        if not outcome.disagreeing:
            continue
        what = "the logged verdict does not follow from the log-likelihoods"
        share = f"{len(outcome.disagreeing)} of {counted(outcome.checked, 'row')}"
        ids = [row_id[:_ID_CHARACTERS] for row_id in outcome.disagreeing]
        sentences.append(f"{task.name}: {what} in {share}: {shortlist(ids, _NAMED)}")
    return sentences


def answers_without_box(run: Run) -> list[str]:
    """A sentence for each task with answers outside of a box.

    Its replies state an answer without the box that was asked for.
    """
    sentences = []
    for task in run.tasks.values():
        stated, rows = _stated_rows_of(task)
        if stated:
            # A row of several replies has the mean of their values.
            is_of_several = (task.logged.settings.repeats or 1) > 1
            subject = "samples have a reply that states" if is_of_several else "replies state"
            sentences.append(f"{task.name}: {stated} of {rows} {subject} an answer without a box")
    return sentences


def _stated_rows_of(task: TaskRun) -> tuple[int, int]:
    """Returns the rows whose reply states an answer without a box, and all rows with a value.

    Both are of the filter with the most such rows: a filter that reads boxes alone counts none.
    """
    primary_table = task.table()
    counts = [(0, 0)]
    if STATED_WITHOUT_BOX in primary_table.metrics:
        tables = (task.table(filter_name) for filter_name in primary_table.filters)
        counts += [_stated_rows(table) for table in tables]
    return max(counts)


def _stated_rows(table: Table) -> tuple[int, int]:
    """The rows whose reply states an answer without a box.

    The second value is all rows with a value; both are of one filter.
    """
    values = table.metrics.get(STATED_WITHOUT_BOX)
    if values is None:
        return 0, 0
    stated = int(np.sum(values > 0))
    known = int(np.sum(np.isfinite(values)))
    return stated, known


def limit_of(task: TaskRun) -> str | None:
    """`8 of 68 rows` for a run over a part of the data.

    `none` for a run over all of the data, None where that is not known.
    """
    rows = task.logged.rows
    if rows.effective is None or rows.original is None:
        return None
    if rows.effective < rows.original:
        return f"{rows.effective} of {rows.original} rows"
    return NONE


def part_of(task: TaskRun) -> str:
    """`8 of 68 rows` for a run over a part of the data; empty for all of it, and where unknown."""
    limit = limit_of(task)
    return "" if limit in {None, NONE} else str(limit)


def parts_of_data(run: Run) -> list[str]:
    """A sentence on the tasks that a run answered a part of; none for a run over all of the data.

    The whole data of a task is what its results file states.
    """
    parts = []
    for name, task in run.known_tasks.items():
        part = part_of(task)
        if part:
            parts.append(f"{name} {part}")
    return [f"a part of the data: {shortlist(parts, _NAMED)}"] if parts else []


def without_addresses(text: str) -> str:
    """A logged configuration without places in memory.

    Functions inside lists and mappings are logged with theirs.

    >>> without_addresses("<function samples at 0x7f3a>")
    '<function samples>'
    """
    return _ADDRESS.sub("", text)


def without_formatting(value: Any) -> Any:
    r"""A logged setting in which the source of a function has one form.

    Releases of lm-eval format their tasks' code anew: blanks, quotes and comments change nothing.

    >>> without_formatting('def text(doc):\n    return f"{doc[0]+1}."  # from one')
    "def text(doc):\n    return f'{doc[0] + 1}.'"
    >>> without_formatting("def of the word {{word}}")
    'def of the word {{word}}'
    """
    if not isinstance(value, str) or not value.lstrip().startswith(_FUNCTION):
        return value
    try:
        return ast.unparse(ast.parse(textwrap.dedent(value)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return value


def _hash_of_template(template: Mapping[str, Any]) -> str | None:
    if not template:
        return None
    parts = {key: without_formatting(value) for key, value in template.items()}
    logged = json.dumps(parts, sort_keys=True, default=str, ensure_ascii=False)
    return text_hash(without_addresses(logged))[:16]


_HEXADECIMAL = re.compile("[0-9a-f]+")
_LENGTHS_OF_HASHES = (16, 32, 40, 64)
_HASH_CHARACTERS = 8  # of a hash that a sentence repeats
_LONG = 60  # characters of a value that one repeats


class FactDifference(msgspec.Struct, frozen=True):
    """A fact that is not the same on two sides; a side is None where it is unknown there."""

    name: str
    kind: str
    candidate: Any
    baseline: Any

    @property
    def known(self) -> bool:
        """Returns whether both sides are known."""
        return self.candidate is not None and self.baseline is not None

    def sentence(self) -> str:
        """`num_fewshot 5 / 0`; of settings by name those that differ.

        Long values by their beginning.

        >>> sampled, greedy = {"top_p": 1, "do_sample": True}, {"top_p": 1}
        >>> FactDifference("generation", "question", sampled, greedy).sentence()
        'generation do_sample true / none'
        """
        ours, theirs = self.candidate, self.baseline
        if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
            return f"{self.name} {short_value(ours)} / {short_value(theirs)}"
        differences = []
        for key in dict.fromkeys([*ours, *theirs]):
            value, other = ours.get(key, NONE), theirs.get(key, NONE)
            if value != other:
                differences.append(f"{key} {short_value(value)} / {short_value(other)}")
        return f"{self.name} {shortlist(differences, _NAMED)}"


def short_value(value: Any) -> str:
    """Returns a value as a sentence repeats it: the beginning of a hash or of a long text.

    >>> short_value(None), short_value(["a"]), short_value("0123456789abcdef")
    ('unknown', '["a"]', '01234567')
    """
    if value is None:
        return "unknown"
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    if len(text) in _LENGTHS_OF_HASHES and _HEXADECIMAL.fullmatch(text):
        return text[:_HASH_CHARACTERS]
    if len(text) <= _LONG:
        return text
    return f"{text[: _LONG - 3]}..."


def facts_that_differ(
    candidate: Mapping[str, Fact], baseline: Mapping[str, Fact]
) -> list[FactDifference]:
    """The facts that two sides do not share, in the order of `KINDS`; counts are left out."""
    differences = []
    for name, kind in KIND_OF.items():
        value = _value_of(candidate, name)
        baseline_value = _value_of(baseline, name)
        if kind != "counts" and value != baseline_value:
            differences.append(FactDifference(name, kind, value, baseline_value))
    different_models = any(difference.name == "model" for difference in differences)
    if not different_models:
        return differences
    return [_of_subject(difference) for difference in differences]


def _value_of(facts: Mapping[str, Fact], name: str) -> Any:
    """The value of a fact; None where it is unknown."""
    fact = facts.get(name)
    return None if fact is None else fact.value


def _of_subject(difference: FactDifference) -> FactDifference:
    """Marks a difference in chat template as part of the subject, where both runs apply one.

    Two models bring two templates.
    """
    templates = difference.candidate, difference.baseline
    are_applied = difference.known and NONE not in templates
    if difference.name != "chat_template" or not are_applied:
        return difference
    return FactDifference(difference.name, "subject", *templates)
