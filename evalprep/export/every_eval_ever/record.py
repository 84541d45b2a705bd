"""A run as records of Every Eval Ever: one for each task with its samples, one for the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evalprep import __version__
from evalprep.backends import find_backend
from evalprep.credentials import redacted, without_secrets
from evalprep.export.every_eval_ever import naming, schema
from evalprep.export.every_eval_ever.validation import check_file
from evalprep.export.rows import row_metrics, rows_of
from evalprep.export.settings import UNKNOWN, Settings
from evalprep.export.subject import Subject, Written, need_organization
from evalprep.files import file_sha256, make_folder, open_atomically, write_atomically
from evalprep.numbers import finite_number
from evalprep.readers import sample_hash
from evalprep.results import SampleView, TaskRun
from evalprep.samples import SHARE, Metric
from evalprep.score import IN_RESULTS_FILE, Quantity, SuiteScore, of_suite_score

FORMAT = "every-eval-ever"
_LIBRARY = "lm_eval"
#: lm-eval's names of loaders of local files: they name no data set.
_LOADERS = frozenset({"json", "parquet", "csv", "text", "arrow", "pandas"})
_HOSTED = ("openai-", "anthropic-", "watsonx")
#: lm-eval's models behind an address, of which we have no record.
_SERVED = frozenset({"gguf", "nemo_lm"})
_MAX_TOKENS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
_LEVEL = 0.95
#: How an uncertainty was found, by what its value is made of.
_METHODS: Mapping[str, str | None] = {
    "rows": "evalprep, mean over rows",
    "results file": "as lm-eval logged it",
    "suite": None,
}
_EXACT = 1e-9  # what rounding may add to a mean at the end of its range
_LOOKED_AT = (
    1000  # lines of a samples file that are held against their schema: one writer, one form
)
Part = dict[str, Any]


def write_records(subjects: Sequence[Subject], folder: Path, settings: Settings) -> Written:
    """Writes the records of runs below `data`, and holds each file against the rules.

    Args:
        subjects: The runs.
        folder: The folder that gets `data`.
        settings: `samples`, and how the result names itself.

    Raises:
        BadInput: a model id names no organisation.
    """
    need_organization(subjects)
    files: list[Path] = []
    for subject in subjects:
        files += _Writer(subject, folder, settings).write()
    notes: list[str] = []
    for file in files:
        findings = check_file(file, most=_LOOKED_AT)
        notes += [f"{file.name}: {finding.where}: {finding.what}" for finding in findings]
    places = " ".join(dict.fromkeys(str(file.parent / "*.json*") for file in files))
    return Written(tuple(files), tuple(notes), next_step=f"every_eval_ever validate {places}")


@dataclass(frozen=True)
class _Place:
    """The place of a record, and its name.

    Attributes:
        collection: The collection, as the record names it.
        path: Place of the record below the folder of `data`.
        evaluation_id: Its id, which each of its samples repeats.
    """

    collection: str
    path: str
    evaluation_id: str


@dataclass(frozen=True)
class _Writer:
    """Writes the records of one run."""

    subject: Subject
    folder: Path
    settings: Settings

    def write(self) -> Iterator[Path]:
        """Writes every record; yields the files."""
        run = self.subject.run
        together: list[Part] = []
        for name, task in run.tasks.items():
            results = list(_results_of_task(self.subject, task))
            if not results:
                continue
            if self.settings.samples is False:
                together += results
            else:
                yield from self._write_with_samples(name, task, results)
        together += self._without_samples()
        if together:
            yield self._write_record(self._place("evalprep", "run"), together)

    def _without_samples(self) -> Iterator[Part]:
        """Stored scores of tasks without samples, groups of lm-eval, and suite scores."""
        run = self.subject.run
        for task in run.stored.values():
            yield from _results_of_task(self.subject, task)
        for name, group in run.group_values.items():
            if name not in run.known_tasks:
                source = _source_other(group.name)
                for item in _own_quantities(self.subject, group):
                    yield from _result_of_metric(source, group, item)
        for score in self.subject.scores.suite:
            yield from _result_of_suite(score)

    def _place(self, collection: str, part: str) -> _Place:
        chosen = self.settings.collection or collection
        identity = naming.Identity(self.subject.model_id)
        organization, model = identity.folders or (UNKNOWN, UNKNOWN)
        name = self.subject.fixed_id(FORMAT, part)
        place = f"{naming.ROOT}/{naming.portable(chosen)}/{organization}/{model}/{name}.json"
        model_name = self.subject.model_id.replace("/", "_")
        return _Place(chosen, place, f"{chosen}/{model_name}/{self.subject.epoch}")

    def _write_with_samples(self, name: str, task: TaskRun, results: list[Part]) -> Iterator[Path]:
        """Writes the samples of a task, then its record, which holds their digest."""
        place = self._place(name, name)
        samples = naming.samples_beside(place.path)
        path = self.folder / samples
        make_folder(path.parent, within=self.folder)
        count, unscored = self._write_lines(path, task, place)
        detail = _known(
            format="jsonl",
            file_path=samples,
            hash_algorithm="sha256",
            checksum=file_sha256(path),
            total_rows=count,
            additional_details={"unscored": str(unscored)},
        )
        if count == 0:  # a record may not name samples without a line
            path.unlink()
            yield self._write_record(place, results)
            return
        yield self._write_record(place, results, detail)
        yield path

    def _write_lines(self, path: Path, task: TaskRun, place: _Place) -> tuple[int, int]:
        """Writes one line for each sample and metric; returns lines, and values left out."""
        metrics = row_metrics(task)
        count = unscored = 0
        with open_atomically(path, within=self.folder) as file:
            for row in rows_of(task):
                for metric in metrics:
                    score = row.scores.get(metric.key)
                    if score is None:
                        unscored += 1
                        continue
                    line = _line(self.subject, row, metric, score, place)
                    # Line breaks of Unicode would end a line for the package's own reader.
                    file.write(json.dumps(line, ensure_ascii=True) + "\n")
                    count += 1
        return count, unscored

    def _write_record(self, place: _Place, results: list[Part], detail: Part | None = None) -> Path:
        record = _known(
            schema_version=schema.VERSION,
            evaluation_id=place.evaluation_id,
            evaluation_timestamp=self.subject.epoch,
            retrieved_timestamp=self.subject.epoch,
            source_metadata=_known(
                source_name="evalprep",
                source_type="evaluation_run",
                source_organization_name=self.settings.organization,
                evaluator_relationship=self.settings.relationship,
            ),
            eval_library=_known(
                name=_LIBRARY,
                version=self.subject.run.settings.lm_eval_version or UNKNOWN,
                additional_details={"evalprep_version": __version__},
            ),
            model_info=_model_info(self.subject, self.settings),
            evaluation_results=results,
            detailed_evaluation_results=detail,
        )
        path = self.folder / place.path
        make_folder(path.parent, within=self.folder)
        write_atomically(path, json.dumps(record, indent=2) + "\n", within=self.folder)
        return path


# --- parts of a record


def _known(**fields: Any) -> Part:
    """A part of a record: the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _model_info(subject: Subject, settings: Settings) -> Part:
    call = subject.run.settings
    details = {
        "deployment_type": _deployment(call.backend or ""),
        "model_availability": settings.availability,
        "dtype": subject.run.arguments.get("dtype") or call.dtype,
        "revision": subject.run.arguments.get("revision"),
    }
    return _known(
        name=subject.model_id,
        id=subject.model_id,
        developer=subject.model_id.partition("/")[0],
        inference_engine=_known(name=call.backend or UNKNOWN, version=call.engine_version or None),
        additional_details=_texts(details),
    )


def _deployment(backend: str) -> Literal["self_deployed", "externally_managed", "unknown"]:
    """Returns who ran the model; a server at an address may be anybody's."""
    if backend.startswith(_HOSTED):
        return "externally_managed"
    record = find_backend(backend)
    is_served = backend in _SERVED or (record is not None and record.posts_to != "")
    return "unknown" if not backend or is_served else "self_deployed"


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Known values as texts, without credentials."""
    known = {name: value for name, value in values.items() if value not in (None, "", {}, [])}
    return {
        name: value if isinstance(value, str) else json.dumps(value, default=str)
        for name, value in without_secrets(known).items()
    }


def _source_other(name: str) -> Part:
    return _known(dataset_name=name, source_type="other")


def _source(task: TaskRun) -> Part:
    """The data set of a task; of local files nothing but the task's name is worth telling."""
    dataset, rows = task.logged.settings.dataset, task.logged.rows
    is_local = dataset.path in _LOADERS or dataset.path.startswith((".", "/", "~"))
    if not dataset.path or is_local:
        return _source_other(task.name)
    details = {"config": dataset.name, "revision": dataset.revision}
    return _known(
        dataset_name=dataset.path,
        source_type="hf_dataset",
        hf_repo=dataset.path,
        hf_split=dataset.split,
        samples_number=rows.original,
        additional_details=_texts(details) or None,
    )


def _results_of_task(subject: Subject, task: TaskRun) -> Iterator[Part]:
    """A result for each number of a task; a stored value beside that of the rows is one more."""
    source = _source(task)
    for item in _own_quantities(subject, task):
        for result in _result_of_metric(source, task, item):
            yield {**result, "generation_config": _generation(subject, task)}


def _own_quantities(subject: Subject, task: TaskRun) -> Iterator[Quantity]:
    """The numbers of a task or group, in the order of its metrics."""
    order = {metric.key: place for place, metric in enumerate(task.metrics)}
    own = [item for item in subject.quantities_of.get(task.name, ()) if item.key]
    yield from sorted(own, key=lambda item: order.get(item.key, len(order)))


def _result_of_metric(source: Any, task: TaskRun, item: Quantity) -> Iterator[Part]:
    """The result of a number of a task or a group; none without a finite value."""
    score = finite_number(item.value)
    metric = task.metric(item.metric, item.filter)
    if score is None or not metric.is_score:
        return
    details = {"direction": item.direction, "filter": item.filter}
    if item.beside:
        details["source"] = IN_RESULTS_FILE
    config = _known(
        metric_id=metric.metric,
        metric_name=item.name,
        metric_kind=metric.metric,
        metric_unit="proportion" if item.is_share else metric.unit or None,
        lower_is_better=item.direction == "down",
        **_bounds(metric.range, score),
        additional_details=details,
    )
    yield _known(
        evaluation_result_id=item.id,
        evaluation_name=item.owner,
        source_data=source,
        metric_config=config,
        score_details=_score_details(item, score, metric.range),
    )


def _score_details(item: Quantity, score: float, bounds: tuple[float, float] | None) -> Part:
    """A score with its uncertainty, its rows, and what there is to know of them."""
    expected = None if item.expected == item.n else item.expected
    details = {"expected_samples": expected, "notes": "; ".join(item.notes)}
    return _known(
        score=_inside(score, bounds),
        details=_texts(details) or None,
        uncertainty=_uncertainty(item),
    )


def _bounds(bounds: tuple[float | None, float | None] | None, score: float) -> Part:
    """The bounds of a metric, where they are known and hold the score."""
    low, high = bounds or (None, None)
    if low is None or high is None or not low <= _inside(score, (low, high)) <= high:
        return {}
    return {"score_type": "continuous", "min_score": low, "max_score": high}


def _inside(score: float, bounds: tuple[float, float] | None) -> float:
    """A score without what rounding added at the end of its range."""
    if bounds is None:
        return score
    clipped = min(max(score, bounds[0]), bounds[1])
    return clipped if abs(clipped - score) <= _EXACT else score


def _uncertainty(item: Quantity) -> Part:
    """Standard error and interval of a number, as far as it has them, and its number of rows."""
    method = _METHODS[item.source]
    parts: Part = {}
    error = finite_number(item.stderr)
    if error is not None:
        parts["standard_error"] = _known(value=error, method=method)
    if item.interval is not None:
        low, high = map(float, item.interval)
        parts["confidence_interval"] = _known(
            lower=low, upper=high, confidence_level=_LEVEL, method=method
        )
    return _known(**parts, num_samples=item.n)


def _generation(subject: Subject, task: TaskRun) -> Part:
    call, settings = subject.run.settings, task.logged.settings
    generation = {**settings.generation, **call.generation}
    limits = (generation.get(key) for key in _MAX_TOKENS)
    limit = next((value for value in limits if type(value) is int and value > 0), None)
    template = settings.template.get("doc_to_text")
    known = {"temperature", "top_p", "top_k", *_MAX_TOKENS}
    details = {
        **{key: value for key, value in generation.items() if key not in known},
        "num_fewshot": task.logged.num_fewshot,
        "seeds": dict(call.seeds),
        "chat_template": call.chat_template,
        "system_instruction": call.system,
        "batch_size": call.batch_size,
        "limit": call.limit,
        "task_version": task.logged.version,
        "model_args": dict(subject.run.arguments),
    }
    return _known(
        generation_args=_known(
            temperature=finite_number(generation.get("temperature")),
            top_p=finite_number(generation.get("top_p")),
            top_k=finite_number(generation.get("top_k")),
            max_tokens=limit,
            prompt_template=redacted(template) if isinstance(template, str) else None,
        ),
        additional_details=_texts(details),
    )


def _result_of_suite(score: SuiteScore) -> Iterator[Part]:
    """The result of a suite score; none without a value."""
    item = of_suite_score(score)
    value = finite_number(item.value)
    if value is None:
        return
    low, high = score.range
    bounds = None if low is None or high is None else (low, high)
    config = _known(
        metric_id=str(score.tags.get("metric_id") or f"{score.pack}.{score.name}"),
        metric_name=score.title or score.name,
        metric_unit=_unit_of_suite(score),
        lower_is_better=score.better == "down",
        **_bounds(bounds, value),
        additional_details=_texts({"rule": score.rule, "pack": score.pack}),
    )
    yield _known(
        evaluation_result_id=score.id,
        evaluation_name=score.name,
        source_data=_source_other(score.id),
        metric_config=config,
        score_details=_score_details(item, value, bounds),
    )


def _unit_of_suite(score: SuiteScore) -> str | None:
    """The unit of a suite score; None where nothing says it."""
    if score.unit == SHARE:
        return "proportion"
    if unit := score.tags.get("unit"):
        return str(unit)
    return "points" if score.range == (0.0, 100.0) else None


# --- samples


def _line(subject: Subject, row: SampleView, metric: Metric, score: float, place: _Place) -> Part:
    details = {
        **row.hashes,
        "filter": metric.filter,
        "subtask": row.subtask,
        "published": {True: "true", False: "false", None: ""}[row.published],
    }
    return _known(
        schema_version=schema.VERSION,
        evaluation_id=place.evaluation_id,
        model_id=subject.model_id,
        evaluation_name=row.task,
        evaluation_result_id=f"{row.task}/{metric.key}",
        sample_id=row.sample_id,
        sample_hash=sample_hash(row.question, row.references),
        interaction_type="single_turn",
        input=_known(
            raw=row.question,
            formatted=row.prompt,
            reference=[*row.references],
            choices=[*row.choices] or None,
        ),
        output=_known(raw=[*row.replies]),
        answer_attribution=[
            _known(
                turn_idx=0,
                source="output.raw",
                extracted_value=row.filtered,
                extraction_method=row.sample.filter,
                is_terminal=True,
            )
        ],
        evaluation=_known(score=score, is_correct=_is_correct(metric, score)),
        metadata={name: value for name, value in details.items() if value},
    )


def _is_correct(metric: Metric, score: float) -> bool:
    """A sample is right where it has the whole score; of a metric to be low, its least value."""
    if metric.direction == "down" and metric.range is not None:
        return score <= metric.range[0]
    return score >= 1
