"""The files of fmeval: its saved records and its `EvalOutput` as JSON.

They are read as results by the names of our scores.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from custom_metrics.fm.aggregate import aggregate
from custom_metrics.fm.toxicity import DETOXIFY_NAMES
from evalprep.packapi import BadInput, Problem, open_file, read_file

from .algorithms import ALGORITHMS, DETECTORS
from .settings import normal_name

Result = dict[str, Any]


def load(path: Path | str) -> dict[str, Result] | None:
    """Results by score name, out of a file of fmeval or a folder with such files.

    None for anything else.

    Accepted: records that `save=True` wrote (`<eval_name>_<dataset_name>.jsonl`), and JSON files
    with an `EvalOutput` or a list of them. The name of a data set must be that of the entry under
    `data:`; capitals and hyphens make no difference (`normal_name`).

    Raises:
        BadInput: a file that begins like one of these, and is damaged.
    """
    path = Path(path)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    results: dict[str, Result] = {}
    for file in files:
        if file.suffix == ".jsonl" and file.is_file():
            results |= _records(file) or {}
        elif file.suffix == ".json" and file.is_file():
            results |= _outputs(file) or {}
    return results or None


def notes_on_unmatched(stated: Iterable[str], own: Iterable[str]) -> list[str]:
    """Returns a note for each data set and score of a reference that stands beside nothing.

    Args:
        stated: Names of the reference's scores, `<data set>.<score>`.
        own: Names of the run's scores.
    """
    own_names = set(own)
    own_sets = sorted({name.partition(".")[0] for name in own_names})
    unmatched: dict[str, list[str]] = {}
    for name in stated:
        data, _, score = name.partition(".")
        if name not in own_names:
            unmatched.setdefault(data, []).append(score)
    notes = []
    for data, scores in unmatched.items():
        if data in own_sets:
            notes.append(f"reference: no score of {data} is called {', '.join(scores)}")
            continue
        shown = ", ".join(own_sets)
        what = f"reference: data set {data} matches none of this run ({shown})"
        notes.append(f"{what}; name the entry under data: {data}")
    return notes


def split_name(stem: str) -> tuple[str, str] | None:
    """Algorithm and data set out of the name of a file of records; the longest algorithm that fits.

    >>> split_name("qa_accuracy_semantic_robustness_boolq")
    ('qa_accuracy_semantic_robustness', 'boolq')
    """
    fitting = [
        name for name in ALGORITHMS if stem.startswith(f"{name}_") and len(stem) > len(name) + 1
    ]
    name = max(fitting, key=len, default="")
    return (name, stem[len(name) + 1 :]) if name else None


def own_names(algorithm: str, names: Sequence[str]) -> dict[str, str]:
    """Maps the names of fmeval's scores to ours.

    `rouge` stays, as it does not say of which type it is.
    """
    kind = ALGORITHMS[algorithm]
    if kind.detects and list(names) == ["toxicity"]:
        return {"toxicity": DETECTORS["toxigen"][0]}
    ours = {}
    for name in names:
        ours[name] = name
        if kind.detects and name in DETOXIFY_NAMES:
            ours[name] = f"detoxify_{name}"
        elif kind.robust and kind.family != "general" and not name.startswith("delta_"):
            ours[name] = f"original_{name}"
    return ours


def _lines(file: Path) -> Iterator[Mapping[str, Any]]:
    with open_file(file, "r", encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                scores = {str(score["name"]): score.get("value") for score in record["scores"]}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BadInput(
                    Problem(
                        what=f"is not a record of fmeval: {error!r}",
                        where=f"{file}:{number}",
                        fix="copy it again",
                    )
                ) from None
            yield {"category": record.get("category"), **scores}


def _records(file: Path) -> dict[str, Result] | None:
    parts = split_name(file.stem)
    if parts is None:
        return None
    algorithm = parts[0]
    data = normal_name(parts[1])
    rows = list(_lines(file))
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    if "category" in names:
        names.remove("category")
    if algorithm == "prompt_stereotyping" and names == ["log_probability_difference"]:
        # It saves the difference alone, and reports the share of differences above 0.
        (difference,) = names
        known = [row for row in rows if row[difference] is not None]
        rows = [{**row, "prompt_stereotyping": float(row[difference] > 0)} for row in known]
        names.append("prompt_stereotyping")
    means = aggregate(rows=rows, score_names=names)
    by_category = means["categories"] or {}
    ours = own_names(algorithm, names)
    results = {}
    for name in names:
        categories = {category: values[name] for category, values in by_category.items()}
        results[f"{data}.{ours[name]}"] = _result(means["dataset"][name], categories, len(rows))
    return results


def _outputs(file: Path) -> dict[str, Result] | None:
    try:
        content = json.loads(read_file(file).decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    several = content if isinstance(content, list) else [content]
    results: dict[str, Result] = {}
    for record in several:
        is_output = isinstance(record, Mapping) and record.get("eval_name") in ALGORITHMS
        if is_output and record.get("dataset_scores"):
            results |= _results_of_output(record)
    return results or None


def _results_of_output(record: Mapping[str, Any]) -> dict[str, Result]:
    scores = _values_by_name(record["dataset_scores"])
    by_category = {}
    for category in record.get("category_scores") or []:
        by_category[str(category["name"])] = _values_by_name(category["scores"])
    ours = own_names(record["eval_name"], list(scores))
    data = normal_name(str(record.get("dataset_name")))
    results = {}
    for name, value in scores.items():
        categories = {category: values.get(name) for category, values in by_category.items()}
        results[f"{data}.{ours[name]}"] = _result(value, categories, None)
    return results


def _values_by_name(scores: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {str(score["name"]): score.get("value") for score in scores}


def _result(value: Any, categories: Mapping[str, Any], count: int | None) -> Result:
    result: Result = {"agg_value": value, "source": "fmeval"}
    if count is not None:
        result["n"] = count
    if categories:
        result["categories"] = {name: {"agg_value": value} for name, value in categories.items()}
    return result
