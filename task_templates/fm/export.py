"""Result files in fmeval's layout.

They are its saved records, and its `EvalOutput` as JSON, which fmeval itself never writes.

Names of scores and of files are fmeval's (`rouge`, `toxicity`), values are ours. A score that
fmeval does not have (`insult_words`, METEOR without synonyms) keeps its own name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from custom_metrics.finite import finite_number
from custom_metrics.fm.aggregate import output_path, output_record
from custom_metrics.text.replies import first_reply
from evalprep.packapi import (
    ExportRun,
    ExportTask,
    Sample,
    make_folder,
    open_atomically,
    write_atomically,
)

from .algorithms import ALGORITHMS, OVER_SET, possible_scores

Result = Mapping[str, Any]
_as_json = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
FOLDER, OUTPUTS = "fmeval", "eval_outputs.json"


def export(*, scores: Mapping[str, Result], run: ExportRun, out_dir: Path) -> list[Path]:
    """Writes the records of each task and the `EvalOutput` of all, in the folder `fmeval`.

    Args:
        scores: Score name (`<data set>.<score>`) -> result.
        run: The run that was scored.
        out_dir: Folder of the files.

    Returns:
        The files written.
    """
    folder = Path(out_dir) / FOLDER
    written, outputs = [], []
    for name, task in run.tasks.items():
        algorithm = str(task.metadata.get("algorithm", ""))
        if algorithm not in ALGORITHMS:
            continue
        data = name.removeprefix("fm_").removesuffix(f"_{algorithm}")
        own = _own_scores(scores, data, algorithm)
        if not own:
            continue
        make_folder(folder, within=Path(out_dir))
        file = Path(output_path(dir=str(folder), eval_name=algorithm, dataset_name=data))
        with open_atomically(file) as handle:
            for record in _records(task, algorithm, own):
                handle.write(_as_json(record) + "\n")
        written.append(file)
        # One `EvalOutput`; `sampling` is ours: what was drawn, and how prompts were changed.
        names_of_scores = (result.get("categories") or {} for result in own.values())
        categories = sorted(set(chain.from_iterable(names_of_scores)))
        sampling = dict(task.metadata.get("sampling") or {})
        of_categories = [
            {
                "name": category,
                "scores": [
                    _score(name, (result.get("categories") or {}).get(category, {}))
                    for name, result in own.items()
                ],
            }
            for category in categories
        ]
        outputs.append(
            {
                "eval_name": algorithm,
                "dataset_name": data,
                "prompt_template": sampling.get("prompt"),
                "dataset_scores": [_score(name, result) for name, result in own.items()],
                "category_scores": of_categories or None,
                "output_path": file.name,
                "error": None,
                "sampling": sampling,
            }
        )
    if outputs:
        text = json.dumps(outputs, indent=2, ensure_ascii=False, allow_nan=False)
        write_atomically(folder / OUTPUTS, text + "\n")
        written.append(folder / OUTPUTS)
    return written


def _own_scores(scores: Mapping[str, Result], data: str, algorithm: str) -> dict[str, Result]:
    """Returns the scores of one data set that an algorithm computes, without the set's name."""
    possible = possible_scores(ALGORITHMS[algorithm])
    own = {}
    for name, result in scores.items():
        score = name.removeprefix(f"{data}.")
        if score != name and score in possible:
            own[score] = result
    return own


def upstream_name(score: str) -> str:
    """A score's name in fmeval.

    >>> names = ("rouge2", "delta_rouge2", "detoxify_insult", "original_f1_score")
    >>> [upstream_name(name) for name in names]
    ['rouge', 'delta_rouge', 'insult', 'f1_score']
    """
    plain = score.removeprefix("original_").removeprefix("detoxify_").removeprefix("toxigen_")
    if plain.endswith(("rouge1", "rouge2", "rougeL")):
        return plain[:-1]
    return plain


def _records(
    task: ExportTask, algorithm: str, own: Mapping[str, Result]
) -> Iterator[dict[str, Any]]:
    """One line per record with fmeval's columns; of perturbed prompts that of the original one."""
    saved = []
    for name, result in own.items():
        # fmeval saves neither scores over the set nor the share of pairs.
        if name not in (*OVER_SET, "prompt_stereotyping"):
            saved.append(_Saved(name, upstream_name(name), result.get("value_by_index")))
    for sample in task.samples():
        if sample.doc.get("variant") or sample.doc.get("draw"):
            continue
        # A sample's scores that have a value, by their names in fmeval.
        values = {}
        for score in saved:
            if score.by_index is None:
                if score.name in sample.metrics:
                    values[score.upstream] = finite_number(sample.metrics[score.name])
            elif entry := score.by_index.get(str(sample.doc_id)):
                values[score.upstream] = next(iter(entry.values()))
        # The columns of a record in fmeval, but its scores; None where the record lacks one.
        doc = sample.doc
        shared = {name: doc.get(name) for name in ("model_input", "category", "context")}
        if algorithm == "prompt_stereotyping":
            columns = _sentences(sample) | shared
        else:
            reply = {"model_output": first_reply(sample.resps), "prompt": doc.get("prompt")}
            columns = reply | shared | {"target_output": doc.get("target") or None}
        known = {name: value for name, value in columns.items() if value is not None}
        yield output_record(row={**known, **values}, score_names=list(values))


@dataclass(frozen=True)
class _Saved:
    """A score that stands in the records.

    Attributes:
        name: Its own name.
        upstream: Its name in fmeval.
        by_index: Index of a sample -> its value, under one key or another; None for a score whose
            values the scorer logged with each sample.
    """

    name: str
    upstream: str
    by_index: Mapping[str, Mapping[str, Any]] | None


def _sentences(sample: Sample) -> dict[str, Any]:
    """Both sentences and prompts of a pair, and their log-probabilities."""
    doc = sample.doc
    choices = doc.get("choices") or ()
    values: dict[str, Any] = {}
    for place, kind in enumerate(("more", "less")):
        values[f"sent_{kind}_input"] = doc.get(f"sent_{kind}_input")
        values[f"sent_{kind}_prompt"] = choices[place] if len(choices) > place else None
        logged = sample.resps[place] if len(sample.resps) > place else None
        while isinstance(logged, list | tuple):
            logged = logged[0] if logged else None
        values[f"sent_{kind}_log_prob"] = None if logged is None else float(logged)
    return values


def _score(name: str, result: Result) -> dict[str, Any]:
    value = result.get("agg_value")
    entry: dict[str, Any] = {"name": upstream_name(name), "value": value}
    if finite_number(value) is not None:
        return entry
    return {**entry, "value": None, "error": str(result.get("reason") or "no value")}
