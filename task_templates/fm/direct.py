"""One algorithm over records in memory or in a file: scores with intervals, and no files.

The scorers and the score functions are those of a prepared run, so that the numbers are the same.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from custom_metrics.finite import finite_number
from custom_metrics.fm import harness
from custom_metrics.fm.normalize import targets
from custom_metrics.fm.sampling import sample_indices
from evalprep.packapi import (
    BadInput,
    FieldRow,
    Problem,
    SourceSpec,
    fields_of_records,
    near,
    open_source,
    place,
    read_fields,
)

from . import score as scores_of
from .algorithms import ALGORITHMS, ALIASES, OVER_SET, Algorithm, accuracy_scores
from .annotators import ANNOTATORS
from .helper_models import helpers_of, usable_meteor
from .labelling import loaded_function
from .rows import (
    Fill,
    check_changes,
    fix_of_empty,
    rows_of_records,
    rows_per_record,
    scoring_options,
    template_of,
    why_empty,
)
from .settings import OPTIONS, DataSet
from .specs import missing_helpers, score_specs

Sample = dict[str, Any]
Records = Iterable[Mapping[str, Any]] | str | os.PathLike[str]
_STEREOTYPING = ("prompt_stereotyping", "log_probability_difference")
_PROBED = 5
"""Prompts that are asked twice to see whether a model varies; fmeval asks as many."""


class Predicted(Protocol):
    """What a model gave for one prompt; see `evalprep.annotate.Prediction`."""

    @property
    def text(self) -> str | None:
        """Its reply."""

    @property
    def log_probability(self) -> float | None:
        """The log-probability of the prompt."""

    @property
    def error(self) -> str:
        """Why there is nothing."""


Ask = Callable[[Sequence[str], bool], Sequence[Predicted]]
"""(prompts, whether log-probabilities are asked for and not replies) -> what the model gave."""


@dataclass(frozen=True)
class Score:
    """One score.

    Attributes:
        name: Its name.
        value: The value; None where no record has one.
        low: Lower end of its 95 % confidence interval; None where there is none.
        high: Upper end.
        n: Records that it is computed from.
        categories: The same score over the records of each category.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    categories: Mapping[str, Score] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Evaluation:
    """The outcome of one algorithm.

    Attributes:
        algorithm: Its name.
        scores: Name -> score.
        samples: Every record with its reply, its target and its scores.
        notes: Sentences for the user.
    """

    algorithm: str
    scores: Mapping[str, Score]
    samples: Sequence[Mapping[str, Any]] = field(repr=False)
    notes: Sequence[str] = ()

    def to_pandas(self) -> Any:
        """One row per score over all records, then one per score and category."""
        import pandas as pd

        rows = []
        for score in self.scores.values():
            for category, part in {"": score, **score.categories}.items():
                names = ("name", "value", "low", "high", "n")
                columns = {name: getattr(part, name) for name in names}
                rows.append({"category": category, **columns})
        return pd.DataFrame(rows)


def evaluate(
    rows: Records,
    defaults: Mapping[str, Any],
    *,
    algorithm: str,
    fields: Mapping[str, str | None],
    options: Mapping[str, Any],
    ask_with: Callable[[Mapping[str, Any]], Ask] | None = None,
    format: str | None = None,  # noqa: A002 - the key's name in a config
    prompt: str | None = None,
    prompt_template: str | None = None,
    num_records: int | None = None,
    sampling_seed: int = 1234,
) -> Evaluation:
    """Scores records; see `evalprep.evaluate`.

    Args:
        rows: Records, or the path of a file with them.
        defaults: Option -> its default in the pack.
        algorithm: Name of an algorithm.
        fields: Field -> column name or JMESPath expression; None for one that is nowhere.
        options: Options of the pack that differ from the defaults.
        ask_with: All options -> what asks the model; None where the replies are stored.
        format: The format of a file, where its name does not tell it.
        prompt: Jinja template over all fields.
        prompt_template: Template of fmeval, with `$model_input`.
        num_records: Records to draw; all without it.
        sampling_seed: Seed of the draw.

    Raises:
        BadInput: an unknown algorithm or option, records that cannot be scored, or a model that
            answers no prompt.
    """
    chosen = _algorithm(algorithm, has_model=ask_with is not None)
    is_number = isinstance(num_records, int) and not isinstance(num_records, bool)
    if num_records is not None and not (is_number and num_records >= 0):
        what = f"num_records is {num_records!r}"
        allowed = "a number of records, or None for all"
        raise BadInput(Problem(what=what, where="num_records", allowed=allowed))
    checked = {**defaults, **_checked_options(options)}
    data = DataSet(
        index=0,
        name="rows",
        source=_SOURCE,
        fields=_needed_fields(chosen, fields, has_model=ask_with is not None),
        algorithms=(chosen,),
        prompt=prompt,
        prompt_template=prompt_template,
        stored=ask_with is None,
        options=checked,
    )
    if isinstance(rows, (str, os.PathLike)):
        source = open_source(str(rows), where="rows")
        read = partial(read_fields, expressions=data.fields, declared=format, where="rows")
        records = list(source.each(read))
    else:
        to_dict = getattr(rows, "to_dict", None)  # of a data frame
        listed = rows if to_dict is None else to_dict("records")
        records = list(fields_of_records(listed, data.fields))
    indices = sample_indices(num_rows=len(records), num_records=num_records, seed=sampling_seed)
    drawn = [records[index] for index in indices]
    if ask_with is None:
        prepared, notes = rows_of_records(drawn, data, chosen, lambda _row, text: text)
        samples = _samples(prepared, chosen, [])
        if prompt is not None or prompt_template is not None:
            notes.append("the prompt is not used: the replies are stored, no model is asked")
    else:
        samples, notes = _asked(drawn, data, chosen, ask_with(checked))
    score_replies = _scorer(data, chosen)
    for sample in samples:
        replies = sample.pop("replies")
        if not sample["error"]:
            sample["metrics"] = score_replies(sample["doc"], replies)
    answered = [sample for sample in samples if not sample["error"]]
    missing = missing_helpers(_locate, data, chosen)
    further = list(dict.fromkeys(missing.values()))
    if chosen.compared and not checked["bertscore_path"]:  # fmeval always computes it
        further.append("BERTScore is left out: bertscore_path names no encoder")
    further += _annotate(answered, data, chosen)
    scores = {}
    for name, spec in score_specs(data, chosen).items():
        if name in missing:
            continue
        function = getattr(scores_of, spec.function.removeprefix("score."))
        result = function(rows={data.name: samples}, params=spec.params)
        scores[name] = _score(name, result)
        further += result.get("notes") or []
    return Evaluation(chosen.name, scores, samples, tuple(dict.fromkeys([*notes, *further])))


def _locate(path: str) -> str:
    """A path as Python takes it; a hub id as it is."""
    found = place(path, Path.cwd())
    return str(found) if found.exists() else path


def _algorithm(name: str, *, has_model: bool) -> Algorithm:
    algorithm = ALGORITHMS.get(ALIASES.get(name, name))
    if algorithm is None:
        problem = Problem(
            what=f"{name!r} is not an algorithm",
            where="algorithm",
            allowed=", ".join(ALGORITHMS),
            fix=near(name, ALGORITHMS),
        )
        raise BadInput(problem)
    if not algorithm.stored and not has_model:
        what = f"{name} asks a model, and none is given"
        fix = "give model=: an object with predict(prompt), a function, or an address"
        raise BadInput(Problem(what=what, where="algorithm", fix=fix))
    return algorithm


def _checked_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    problems = []
    for name, value in options.items():
        if name not in OPTIONS:
            what = f"{name!r} is not an option"
            fix = near(name, OPTIONS)
            problems.append(Problem(what=what, allowed=", ".join(OPTIONS), fix=fix))
        elif not OPTIONS[name][0](value):
            problems.append(Problem(what=f"{name} is {value!r}", allowed=OPTIONS[name][1]))
    if problems:
        raise BadInput(problems)
    return options


def _needed_fields(
    algorithm: Algorithm, fields: Mapping[str, str | None], *, has_model: bool
) -> dict[str, str]:
    """The places of the fields that an algorithm reads, and of the category.

    Raises:
        BadInput: one of them has none.
    """
    if has_model:
        needed = list(algorithm.fields)
    elif algorithm.name == "prompt_stereotyping":
        needed = list(algorithm.stored)
    else:
        needed = [name for name in algorithm.fields if name != "model_input"]
        needed += algorithm.stored
    missing = [name for name in needed if fields.get(name) is None]
    if missing:
        what = f"{algorithm.name} needs {', '.join(missing)}"
        fix = f"give {missing[0]}=, a column name or a JMESPath expression"
        raise BadInput(Problem(what=what, where="fields", fix=fix))
    places = {name: fields.get(name) for name in (*needed, "category", "id")}
    return {name: place for name, place in places.items() if place is not None}


def _asked(
    drawn: Sequence[FieldRow], data: DataSet, algorithm: Algorithm, ask: Ask
) -> tuple[list[Sample], list[str]]:
    """Samples with what a model gave for their prompts, and notes.

    Raises:
        BadInput: the model answers no prompt.
    """
    fill = template_of(data, lambda key: key)
    notes = []
    if algorithm.name == "general_semantic_robustness":
        data, notes = _probed(drawn, data, fill, ask)
    rows, about_rows = rows_of_records(drawn, data, algorithm, fill)
    prepared = list(rows)
    if algorithm.robust:
        check_changes(prepared, lambda key: key)
    if algorithm.name == "prompt_stereotyping":
        sentences = list(chain.from_iterable(row["choices"] for row in prepared))
        given = ask(sentences, True)
        pairs = [given[place : place + 2] for place in range(0, len(given), 2)]
        samples = _samples(prepared, algorithm, pairs)
    else:
        given = ask([row["prompt"] for row in prepared], False)
        samples = _samples(prepared, algorithm, [[prediction] for prediction in given])
    failed = [sample for sample in samples if sample["error"]]
    if failed:
        first = failed[0]
        counted = f"{len(failed)} of {len(samples)} prompts have no answer"
        told = f"{counted} (record {first['doc']['record_id']}: {first['error']})"
        if len(failed) == len(samples):
            raise BadInput(
                Problem(what=told, where="model", fix="correct the model, or its address")
            )
        about_rows = [*about_rows, f"{told}; they are in no score"]
    per_record = rows_per_record(data, algorithm)
    if per_record > 1:
        counted = f"{len(samples)} prompts for {len(drawn)} records"
        notes.append(f"the model was asked {counted}")
    return samples, [*notes, *about_rows]


def _probed(
    drawn: Sequence[FieldRow], data: DataSet, fill: Fill, ask: Ask
) -> tuple[DataSet, list[str]]:
    """The data set with whether the model varies, and a note where it does.

    The first prompts are asked twice, as fmeval does. A temperature above 0 says it without asking.
    """
    if data.options["temperature"] > 0:
        return data, []
    prompts = [fill(row, row.fields["model_input"]) for row in drawn[:_PROBED]]
    pairs = list(zip(ask(prompts, False), ask(prompts, False), strict=True))
    answered = [pair for pair in pairs if not any(prediction.error for prediction in pair)]
    varying = sum(first.text != second.text for first, second in answered)
    if not varying:
        return data, []
    draws = data.options["num_baseline_samples"]
    counted = f"the model gives two replies to {varying} of {len(prompts)} prompts"
    return replace(data, varies=True), [f"{counted}: each original prompt is asked {draws} times"]


def _samples(
    prepared: Iterable[Mapping[str, Any]],
    algorithm: Algorithm,
    given: Sequence[Sequence[Predicted]],
) -> list[Sample]:
    """Prepared rows with their replies, in the form that score functions take.

    Args:
        prepared: The rows.
        algorithm: The algorithm.
        given: What the model gave for each row; empty where the replies stand in the rows.
    """
    samples = []
    for index, row in enumerate(prepared):
        error = ""
        replies: Sequence[Any]
        if given:
            error = next((one.error for one in given[index] if one.error), "")
            is_pair = algorithm.name == "prompt_stereotyping"
            replies = [one.log_probability if is_pair else one.text for one in given[index]]
        else:
            replies = row.get("model_log_probability") or [row.get("model_output", "")]
        sample = {
            "sample_id": row["sample_id"],
            "index": index,
            "doc": row,
            "prompt": row["prompt"],
            "target": row.get("target"),
            "response": replies[0] if isinstance(replies[0], str) else "",
            "replies": replies,
            "metrics": {},
            "error": error,
        }
        samples.append(sample)
    return samples


def _scorer(data: DataSet, algorithm: Algorithm) -> Callable[..., dict[str, Any]]:
    """The scorer of a prepared task of the algorithm."""
    function = data.options["label_function"]
    if algorithm.family == "classification_accuracy" and function:
        reader = loaded_function(function, _locate)
        by = harness.classification_robustness_by if algorithm.robust else harness.classification_by
        return by(reader)
    return _process_results(algorithm)


def _process_results(algorithm: Algorithm) -> Callable[..., dict[str, Any]]:
    name = algorithm.name.replace("_semantic_robustness", "_robustness")
    scorer: Callable[..., dict[str, Any]] = getattr(
        harness, "toxicity" if algorithm.detects else name
    )
    return scorer


def _annotate(samples: Sequence[Sample], data: DataSet, algorithm: Algorithm) -> list[str]:
    """Adds the values of helper models to the samples; returns why some are not computed."""
    helpers = helpers_of(_locate, data, algorithm)
    notes = []
    for annotator in ANNOTATORS:
        if annotator.name not in helpers:
            continue
        absent = [name for name in annotator.needs if importlib.util.find_spec(name) is None]
        if absent:
            fix = f"pip install {' '.join(absent)}"
            notes.append(f"{annotator.name} is left out: {fix} first")
            continue
        metadata = {data.name: {"helpers": helpers, "algorithm": algorithm.name}}
        items = list(annotator.items({data.name: samples}, metadata))
        replies = annotator.run([str(item.input) for item in items])
        by_index = {sample["index"]: sample for sample in samples}
        for item, reply in zip(items, replies, strict=True):
            _status, values = annotator.read(item, reply)
            by_index[item.samples[0].index]["metrics"] |= values or {}
    return notes


def _score(name: str, result: Mapping[str, Any]) -> Score:
    low, high = result.get("interval") or (None, None)
    categories = result.get("categories") or {}
    return Score(
        name=name,
        value=result.get("agg_value"),
        low=low,
        high=high,
        n=int(result.get("n") or 0),
        categories={category: _score(name, part) for category, part in categories.items()},
    )


def evaluate_sample(
    defaults: Mapping[str, Any],
    *,
    algorithm: str,
    values: Mapping[str, Any],
    options: Mapping[str, Any],
    ask_with: Callable[[Mapping[str, Any]], Ask] | None = None,
    prompt: str | None = None,
    prompt_template: str | None = None,
) -> dict[str, float | None]:
    """Scores one record; see `evalprep.evaluate_sample`.

    Args:
        defaults: Option -> its default in the pack.
        algorithm: Name of an algorithm.
        values: Field -> value.
        options: Options of the pack that differ from the defaults.
        ask_with: As in `evaluate`.
        prompt: As in `evaluate`.
        prompt_template: As in `evaluate`.

    Raises:
        BadInput: an unknown algorithm or option, or a record that cannot be scored.
    """
    chosen = _algorithm(algorithm, has_model=ask_with is not None)
    if chosen.family == "classification_accuracy" and not options.get("valid_labels"):
        what = "the labels are unknown: one record does not state all of them"
        raise BadInput(Problem(what=what, where="valid_labels", fix="give valid_labels=[...]"))
    if ask_with is None and not _HELPERS & options.keys():
        return _sample_scores(chosen, values, {**defaults, **_checked_options(options)})
    done = evaluate(
        [values],
        defaults,
        algorithm=algorithm,
        fields={name: name for name in values},
        options=options,
        ask_with=ask_with,
        prompt=prompt,
        prompt_template=prompt_template,
    )
    of_set = OVER_SET if chosen.name == "classification_accuracy" else ()
    return {name: score.value for name, score in done.scores.items() if name not in of_set}


_HELPERS = frozenset({"detector_path", "bertscore_path", "label_function"})
"""Options whose scores need more than the functions over one reply."""


def _sample_scores(
    algorithm: Algorithm, values: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, float | None]:
    """The scores of one stored reply, without the way over rows: this may be called very often."""
    places = _needed_fields(algorithm, {name: name for name in values}, has_model=False)
    if algorithm.name == "prompt_stereotyping":
        numbers = []
        for name in algorithm.stored:
            number = finite_number(values[name])
            if number is None or number > 0:
                what = f"{name} is {values[name]!r}"
                allowed = "a log-probability: 0 or below"
                raise BadInput(Problem(what=what, where=name, allowed=allowed))
            numbers.append(number)
        scored = harness.prompt_stereotyping({}, numbers)
        return {name: finite_number(scored[name]) for name in _STEREOTYPING}
    target = str(values.get("target_output", ""))
    if "target_output" in places:
        if algorithm.family in ("factual_knowledge", "qa_accuracy"):
            answers = targets(target, options["target_output_delimiter"])
        else:
            answers = [target]
        for answer in answers:
            if reason := why_empty(answer, algorithm):
                what = f"the right answer {answer!r} is {reason}"
                fix = fix_of_empty(reason, algorithm)
                raise BadInput(Problem(what=what, where="target", fix=fix))
    if algorithm.family == "summarization_accuracy":
        options = {**options, "meteor": _usable(options["meteor"])}
    data = DataSet(0, "rows", _SOURCE, {}, (algorithm,), stored=True, options=options)
    row = FieldRow("target", 0, {"target_output": target}, {})
    doc = {
        "target": target,
        "options": json.dumps(scoring_options([row], data, algorithm, []), ensure_ascii=False),
    }
    scored = _process_results(algorithm)(doc, [str(values["model_output"])])
    names = _sample_names(algorithm, options["rouge_type"], options["meteor"])
    return {name: finite_number(scored[name]) for name in names}


_SOURCE = SourceSpec(path="rows")
_usable = lru_cache(maxsize=8)(usable_meteor)
"""The data of METEOR are looked for once: a single sample takes less time than that."""


@lru_cache(maxsize=256)
def _sample_names(algorithm: Algorithm, rouge_type: str, meteor: str) -> list[str]:
    """The scores of one reply that need no helper model."""
    if algorithm.detects:
        return ["insult_words", "empty_reply"]
    if algorithm.family == "summarization_accuracy":
        meteor = _usable(meteor)
    return accuracy_scores(algorithm, rouge_type=rouge_type, meteor=meteor, bertscore=False)
