"""One algorithm over records in memory or in a file: scores with intervals, and no files.

The scorers and the score functions are those of a prepared run, so that the numbers are the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from custom_metrics.fm import harness
from custom_metrics.fm.sampling import sample_indices
from evalprep.packapi import (
    BadInput,
    FieldRow,
    Problem,
    SourceSpec,
    fields_of_records,
    near,
    open_source,
    read_fields,
)

from . import score as scores_of
from .algorithms import ALGORITHMS, ALIASES, OVER_SET, TITLES, Algorithm, accuracy_scores
from .helper_models import missing_meteor, usable_meteor
from .rows import rows_of_records
from .settings import OPTIONS, DataSet

Sample = dict[str, Any]
Records = Iterable[Mapping[str, Any]] | str | os.PathLike[str]
_STEREOTYPING = ("prompt_stereotyping", "log_probability_difference")


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
            rows.append(_plain(score, ""))
            rows += [_plain(part, name) for name, part in score.categories.items()]
        return pd.DataFrame(rows)


def _plain(score: Score, category: str) -> dict[str, Any]:
    names = ("name", "value", "low", "high", "n")
    return {"category": category, **{name: getattr(score, name) for name in names}}


def evaluate(
    rows: Records,
    defaults: Mapping[str, Any],
    *,
    algorithm: str,
    fields: Mapping[str, str],
    format: str | None = None,  # noqa: A002 - the key's name in a config
    num_records: int | None = None,
    sampling_seed: int = 1234,
    options: Mapping[str, Any],
) -> Evaluation:
    """Scores records; see `evalprep.evaluate`.

    Args:
        rows: Records, or the path of a file with them.
        defaults: Option -> its default in the pack.
        algorithm: Name of an algorithm that needs no model.
        fields: Field -> column name or JMESPath expression.
        format: The format of a file, where its name does not tell it.
        num_records: Records to draw; all without it.
        sampling_seed: Seed of the draw.
        options: Options of the pack that differ from the defaults.

    Raises:
        BadInput: an unknown algorithm or option, or records that cannot be scored.
    """
    chosen = _algorithm(algorithm)
    data = DataSet(
        index=0,
        name="rows",
        source=SourceSpec(path="rows"),
        fields=fields,
        algorithms=(chosen,),
        stored=True,
        options={**defaults, **_checked_options(options)},
    )
    _refuse_missing_fields(chosen, fields)
    records = list(_records(rows, fields, format))
    indices = sample_indices(num_rows=len(records), num_records=num_records, seed=sampling_seed)
    drawn = [records[index] for index in indices]
    prepared, notes = rows_of_records(drawn, data, chosen, lambda _row, text: text)
    samples = list(_scored(prepared, chosen))
    scores = {name: _score(name, result) for name, result in _results(samples, data, chosen)}
    if chosen.family == "summarization_accuracy":
        notes += filter(None, [missing_meteor(data.options["meteor"])])
    return Evaluation(chosen.name, scores, samples, tuple(notes))


def _algorithm(name: str) -> Algorithm:
    algorithm = ALGORITHMS.get(ALIASES.get(name, name))
    without_model = [known.name for known in ALGORITHMS.values() if known.stored]
    if algorithm is None:
        problem = Problem(
            what=f"{name!r} is no algorithm",
            where="algorithm",
            allowed=", ".join(without_model),
            fix=near(name, ALGORITHMS),
        )
        raise BadInput(problem)
    if not algorithm.stored:
        what = f"{name} asks a model, which evaluate does not run"
        fix = "prepare it: `evalprep prepare`, the printed command, `evalprep score`"
        raise BadInput(Problem(what=what, where="algorithm", fix=fix))
    return algorithm


def _checked_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    problems = []
    for name, value in options.items():
        if name not in OPTIONS:
            what = f"{name!r} is no option"
            fix = near(name, OPTIONS)
            problems.append(Problem(what=what, allowed=", ".join(OPTIONS), fix=fix))
        elif not OPTIONS[name][0](value):
            problems.append(Problem(what=f"{name} is {value!r}", allowed=OPTIONS[name][1]))
    if problems:
        raise BadInput(problems)
    return options


def _refuse_missing_fields(algorithm: Algorithm, fields: Mapping[str, str]) -> None:
    needed = [name for name in (*algorithm.fields, *algorithm.stored) if name != "model_input"]
    if algorithm.name == "prompt_stereotyping":
        needed = list(algorithm.stored)
    missing = [name for name in needed if name not in fields]
    if missing:
        what = f"{algorithm.name} needs {', '.join(missing)}"
        fix = f"give {missing[0]}=, a column name or a JMESPath expression"
        raise BadInput(Problem(what=what, where="fields", fix=fix))


def _records(rows: Records, fields: Mapping[str, str], form: str | None) -> Iterator[FieldRow]:
    if isinstance(rows, (str, os.PathLike)):
        source = open_source(str(rows), where="rows")
        return source.each(lambda path: read_fields(path, fields, declared=form, where="rows"))
    to_dict = getattr(rows, "to_dict", None)  # of a data frame
    return fields_of_records(rows if to_dict is None else to_dict("records"), fields)


def _scored(prepared: Iterable[Mapping[str, Any]], algorithm: Algorithm) -> Iterator[Sample]:
    """Prepared rows with the values of their replies, in the form that score functions take."""
    name = "toxicity" if algorithm.detects else algorithm.name
    process_results: Callable[..., dict[str, Any]] = getattr(harness, name)
    for index, row in enumerate(prepared):
        reply = row.get("model_output", "")
        replies = row.get("model_log_probability") or [reply]
        yield {
            "sample_id": row["sample_id"],
            "index": index,
            "doc": row,
            "prompt": row["prompt"],
            "target": row.get("target"),
            "response": reply,
            "metrics": process_results(row, replies),
        }


def _score_names(data: DataSet, algorithm: Algorithm) -> list[str]:
    if algorithm.name == "prompt_stereotyping":
        return [*_STEREOTYPING]
    if algorithm.detects:
        return ["insult_words", "empty_reply"]
    return accuracy_scores(
        algorithm,
        rouge_type=data.options["rouge_type"],
        meteor=usable_meteor(data.options["meteor"]),
        bertscore=False,
    )


def _results(
    samples: Sequence[Sample], data: DataSet, algorithm: Algorithm
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = {data.name: samples}
    for name in _score_names(data, algorithm):
        params = {"value": name, "better": TITLES[name][1]}
        yield name, scores_of.mean_of(rows=rows, params=params)
    if algorithm.name == "classification_accuracy":
        for name in OVER_SET:
            yield name, scores_of.over_set(rows=rows, params={"value": name})


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
) -> dict[str, float | None]:
    """Scores one record; see `evalprep.evaluate_sample`.

    Args:
        defaults: Option -> its default in the pack.
        algorithm: Name of an algorithm that needs no model.
        values: Field -> value.
        options: Options of the pack that differ from the defaults.

    Raises:
        BadInput: an unknown algorithm or option, or a record that cannot be scored.
    """
    chosen = _algorithm(algorithm)
    if chosen.name == "classification_accuracy" and not options.get("valid_labels"):
        what = "one record does not tell which labels there are"
        raise BadInput(Problem(what=what, where="valid_labels", fix="give valid_labels=[...]"))
    fields = {name: name for name in values}
    done = evaluate([values], defaults, algorithm=algorithm, fields=fields, options=options)
    of_set = OVER_SET if chosen.name == "classification_accuracy" else ()
    return {name: score.value for name, score in done.scores.items() if name not in of_set}
