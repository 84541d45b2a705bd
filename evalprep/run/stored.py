"""The back end `stored`: replies stand in the prepared rows, and the tasks' own scorers read them.

No model, no lm-eval. What is written has lm-eval's names and layout, with its formulas for means
and their errors, so that everything that reads a run reads this one.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import yaml

from evalprep.backends import LOGPROBS, OUTPUT
from evalprep.data import OF_MODEL, parquet_count, parquet_rows
from evalprep.errors import BadInput, Problem
from evalprep.files import make_folder, open_atomically, read_text, text_sha256, write_atomically
from evalprep.numbers import finite_number
from evalprep.packs import installed_version, limited, stated_files
from evalprep.readers import (
    RowCounts,
    RunResults,
    TaskResults,
    TaskSettings,
    direction_of,
    encode,
    stored_call,
)
from evalprep.samples import (
    Hashes,
    Metric,
    requests_as_logged,
    results_name,
    sample_line,
    samples_name,
)

FILTER = "none"
_FLAT = frozenset((str, int, float, bool, type(None)))
# A row of a table cannot hold itself, so that the search for circles is spared.
_encoder = partial(json.JSONEncoder, ensure_ascii=False, check_circular=False, default=str)
_as_json = _encoder().encode
_as_items_on_lines = _encoder(separators=(",\n  ", ": ")).encode
_UNSAFE = re.compile(r"[\"<>:/|\\?*\[\]]+")  # as lm-eval makes a folder's name out of a model's
_KINDS = ("generate_until", "multiple_choice", "loglikelihood")


class _Loader(yaml.SafeLoader):
    """Reads a task YAML with its functions."""

    folder: Path


def _function(loader: _Loader, node: yaml.Node) -> Any:
    # A scalar by its tag.
    module, _, name = str(loader.construct_scalar(node)).rpartition(".")  # type: ignore[arg-type]
    beside = loader.folder / f"{module}.py"
    if not beside.is_file():
        return getattr(importlib.import_module(module), name)
    spec = importlib.util.spec_from_file_location(f"_evalprep_task_{module}", beside)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return getattr(loaded, name)


_Loader.add_constructor("!function", _function)


def load_task(path: Path) -> dict[str, Any]:
    """A task YAML, functions loaded.

    Raises:
        BadInput: it cannot be loaded, or asks for more than a scorer over stored replies.
    """
    try:
        loader = _Loader(read_text(path, own=True))
        loader.folder = path.parent
        task = loader.get_single_data()
    except Exception as error:  # a module of the task may fail in any way
        raise BadInput(
            Problem(
                what=f"cannot be loaded: {type(error).__name__}: {error}",
                where=str(path),
                fix="prepare again",
            )
        ) from error
    if (
        not callable(task.get("process_results"))
        or task.get("filter_list")
        or task.get("output_type") not in _KINDS
    ):
        raise BadInput(
            Problem(
                what="stored replies cannot be scored by this task",
                where=str(path),
                allowed=f"output_type {', '.join(_KINDS)}, process_results, and no filters",
                fix="run it with a model",
            )
        )
    return dict(task)


def stored_reply(task: Mapping[str, Any], row: Mapping[str, Any], where: str) -> list[Any]:
    """The values that a model would have given for a row.

    Raises:
        BadInput: the row has nothing of the kind.
    """
    if task["output_type"] == "generate_until":
        if isinstance(row.get(OUTPUT), str):
            return [row[OUTPUT]]
    else:
        values = row.get(LOGPROBS)
        values = values if isinstance(values, list) else [values]
        if all(isinstance(value, (int, float)) for value in values):
            return [(float(value), False) for value in values]
    column = OUTPUT if task["output_type"] == "generate_until" else LOGPROBS
    raise BadInput(
        Problem(
            what=f"row {row.get('sample_id')} has no {column}",
            where=where,
            fix="give the field, or run a model",
        )
    )


def own_row(row: dict[str, Any], label: str) -> dict[str, Any]:
    """A row with the replies of one model, where it holds those of several.

    Args:
        row: The prepared row.
        label: Name of the model in commands; empty where there is one.
    """
    if not label:
        return row
    own = {}
    for name, value in row.items():
        field, _, model = name.partition(OF_MODEL)
        if not model:
            own[name] = value
        elif model == label:
            own[field] = value
    return own


def _doc_text(doc: Mapping[str, Any]) -> str:
    """A row as lm-eval writes it for `doc_hash`: JSON with an indent of 2.

    The indent makes Python's encoder slow. A row without nested values needs none: its line breaks
    stand between items only.

    >>> _doc_text({"a": "x", "b": None}) == json.dumps({"a": "x", "b": None}, indent=2)
    True
    """
    if not doc or not _FLAT.issuperset(map(type, doc.values())):
        return json.dumps(doc, indent=2, default=str, ensure_ascii=False)
    return "{\n  " + _as_items_on_lines(doc)[1:-1] + "\n}"


def _requests(
    task: Mapping[str, Any], row: Mapping[str, Any], prompt: Any
) -> dict[str, dict[str, Any]]:
    """The requests that would have been sent, as lm-eval logs them."""
    if task["output_type"] == "generate_until":
        return requests_as_logged([(prompt, dict(task.get("generation_kwargs") or {}))])
    choices = row.get(str(task.get("doc_to_choice"))) or [row.get(str(task.get("doc_to_target")))]
    return requests_as_logged((prompt, choice) for choice in choices)


def _lines(
    task: Mapping[str, Any],
    rows: Iterator[tuple[int, dict[str, Any]]],
    values: dict[str, list[Any]],
    where: str,
) -> Iterator[str]:
    """Scores row by row; `values` collects each metric's values."""
    for number, row in rows:
        replies = stored_reply(task, row, where)
        metrics = dict(task["process_results"](dict(row), list(replies)))
        for name, value in metrics.items():
            values.setdefault(name, []).append(value)
        logged = [
            reply if isinstance(reply, str) else [str(part) for part in reply] for reply in replies
        ]
        target = str(row.get(str(task.get("doc_to_target")), task.get("doc_to_target")))
        prompt = row.get(str(task.get("doc_to_text"))) or ""
        line = sample_line(
            doc_id=number,
            doc=row,
            target=target,
            arguments=_requests(task, row, prompt),
            replies=[[reply] for reply in logged],
            filtered=logged,
            filter_name=FILTER,
            metrics=metrics,
            hashes=Hashes(
                text_sha256(_doc_text(row)), text_sha256(str(prompt)), text_sha256(target)
            ),
        )
        yield _as_json(line | metrics)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _mean_stderr(values: Sequence[float]) -> float:
    centre = _mean(values)
    return math.sqrt(
        sum((value - centre) ** 2 for value in values) / (len(values) - 1)
    ) / math.sqrt(len(values))


def aggregated(
    metric_list: Sequence[Mapping[str, Any]], values: Mapping[str, Sequence[Any]]
) -> tuple[Metric, ...]:
    """Returns the metrics of a task as its YAML declares them; means where it declares nothing."""
    declared = {str(entry["metric"]): entry for entry in metric_list}
    metrics = []
    for name, of_rows in values.items():
        entry = declared.get(name, {})
        function: Callable[[Sequence[Any]], Any] | str = entry.get("aggregation", "mean")
        is_mean = function == "mean"
        # The only text is "mean".
        whole = _mean(of_rows) if is_mean else function(of_rows)  # type: ignore[operator]
        number = finite_number(whole)
        metrics.append(
            Metric(
                metric=name,
                filter=FILTER,
                value=number,
                stderr=_mean_stderr(of_rows) if is_mean and len(of_rows) > 1 else None,
                direction=direction_of(entry.get("higher_is_better", True)),
                text="" if number is not None else str(whole),
            )
        )
    return tuple(metrics)


def score_stored(
    files: Mapping[str, Path],
    *,
    output_path: Path,
    model: str,
    metadata: Mapping[str, Any],
    limit: float | None = None,
    label: str = "",
) -> Path:
    """Scores the stored replies of some tasks and writes a run.

    Args:
        files: Task -> its prepared YAML.
        output_path: Folder of all results; the run goes into `stored__<model>` below it.
        model: Whose replies they are.
        metadata: Put into the metadata of every task, as `--metadata` would.
        limit: Rows of each task, or a share of them.
        label: Name of the model in commands, where rows hold the replies of several.

    Returns:
        The results file.

    Raises:
        BadInput: a task or a row cannot be scored; nothing of this run is left then.
    """
    # lm-eval names its files by local time.
    stamp = datetime.now().isoformat().replace(":", "-")  # noqa: DTZ005
    name = f"stored__{_UNSAFE.sub('__', model)}"
    folder = output_path / name
    make_folder(folder, within=output_path)
    tasks: dict[str, TaskResults] = {}
    written: list[Path] = []
    try:
        for task_name, path in files.items():
            task = load_task(path)
            sources = _data_files(task, path)
            samples = folder / samples_name(task_name, stamp)
            written.append(samples)
            values: dict[str, list[Any]] = {}
            count = _write_samples(task, sources, samples, values, limit, label)
            task["metadata"] = {**(task.get("metadata") or {}), **metadata}
            tasks[task_name] = TaskResults(
                name=task_name,
                metrics=aggregated(task.get("metric_list") or [], values),
                settings=TaskSettings(as_logged=json.loads(json.dumps(task, default=_named))),
                version=task["metadata"].get("version"),
                num_fewshot=0,
                rows=RowCounts(*count),
            )
    except BaseException:
        for leftover in written:
            leftover.unlink(missing_ok=True)
        raise
    call = stored_call(
        model=model,
        folder=name,
        limit=limit,
        started=datetime.now().timestamp(),  # noqa: DTZ005 - seconds since the epoch
        evalprep_version=installed_version("evalprep") or None,
    )
    data = encode(RunResults(tasks=tasks, other=call))
    results = folder / results_name(stamp)
    write_atomically(results, json.dumps(data, indent=2, ensure_ascii=False))
    return results


def _data_files(task: Mapping[str, Any], path: Path) -> Sequence[Path]:
    """The files with the rows of a task, in order; `path` is that of its YAML.

    Raises:
        BadInput: there are none yet.
    """
    files = stated_files(next(iter(task["dataset_kwargs"]["data_files"].values())))
    if not files:
        what = "names data that are not made yet"
        raise BadInput(Problem(what=what, where=str(path), fix="run `evalprep prepare --continue`"))
    return files


def _named(value: Any) -> str:
    """A function as `module.name`; anything else as text."""
    return f"{value.__module__}.{value.__qualname__}" if callable(value) else str(value)


def _write_samples(
    task: Mapping[str, Any],
    sources: Sequence[Path],
    samples: Path,
    values: dict[str, list[Any]],
    limit: float | None,
    label: str,
) -> tuple[int, int]:
    total = sum(map(parquet_count, sources))
    row_count = limited(total, limit)
    rows_of_all = chain.from_iterable(parquet_rows(source, None) for source in sources)
    chosen = islice(rows_of_all, row_count)
    rows = ((number, own_row(row, label)) for number, row in enumerate(chosen))
    with open_atomically(samples, errors="surrogatepass") as handle:
        for line in _lines(task, rows, values, str(sources[0])):
            handle.write(line + "\n")
    return total, row_count
