"""Files of other tools without samples or verdicts: what they are, and what to pass instead.

| file | of |
|---|---|
| `<eval>_<model>.json` with `score` and `score:std` | simple-evals: the metrics alone |
| one of the files of a run folder | HELM, whose reader needs the folder |
| `{"0": {"origin_prompt": ..., "prediction": ...}}` | OpenCompass: predictions without verdicts |
| `{"pass@1": ...}` | scores of generated programs |
| predictions and reports without reviews, reviews before 1.0 | evalscope |
| a table, JSON Lines or a list of objects | anybody, with columns that the user names |
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalprep.numbers import finite_number
from evalprep.results.readers.jsonparts import WRITE_AGAIN
from evalprep.results.readers.tools.opening import Opening

_HELM_FILES = {
    "per_instance_stats.json",
    "scenario_state.json",
    "stats.json",
    "run_spec.json",
    "scenario.json",
    "instances.json",
    "display_predictions.json",
    "display_requests.json",
}
_DAMAGED = {"empty", "broken"}
_TABLES = {"text", "lines", "json", "parquet"}
#: Field of a row -> names that its column often has.
_USUAL_COLUMNS: Mapping[str, Sequence[str]] = {
    "score": ("score", "correct", "is_correct", "acc", "exact_match", "passed", "match", "verdict"),
    "id": ("id", "question_id", "sample_id", "uid", "task_id"),
    "question": ("question", "prompt", "input", "instruction", "query", "problem"),
    "target": ("target", "gold", "expected", "reference", "label"),
    "response": ("response", "output", "completion", "pred", "prediction", "model_output"),
}
#: Names of scores in files of nobody known, and how many levels of a file are looked at.
_SCORES = frozenset({"acc", "accuracy", "score", "f1", "em", "exact", "bleu"})
_SCORE = re.compile(r"rouge\w{0,20}|pass@\d{1,9}")
_DEPTH = 3
_OTHER_FORMAT = "--input_format names the format; of a table --columns names the columns"


class Unread(NamedTuple):
    """A file that no reader takes, and what to do."""

    what: str
    fix: str


def unread_file(opening: Opening) -> Unread:
    """Returns what a file is that no reader takes, and what to pass instead of it."""
    if opening.kind in _DAMAGED:
        return Unread(opening.describe(), WRITE_AGAIN)
    known = known_file(opening)
    if known is not None:
        return known
    fix = _columns_for(opening) or _OTHER_FORMAT
    return Unread(opening.describe(), fix)


def known_file(opening: Opening) -> Unread | None:
    """Returns what a file of a known tool is that no reader takes; None for any other file."""
    path = opening.path
    if path.name.removesuffix(".gz") in _HELM_FILES:
        return Unread("one file of a HELM run", f"pass its folder: {path.parent}")
    if opening.kind == "json" and opening.has("score", "score:std"):
        what = "the metrics of a run of simple-evals, without its samples"
        return Unread(what, "pass the file *_allresults.json of the same run")
    if _is_of_opencompass(opening):
        what = "predictions of OpenCompass, which have no verdicts"
        fix = "write them as a table with a column of scores, and pass --columns"
        return Unread(what, fix)
    if any(name.startswith("pass@") for name in opening.names):
        return Unread("pass@k values without samples", "pass the results of each sample")
    return _file_of_evalscope(opening)


def _file_of_evalscope(opening: Opening) -> Unread | None:
    if opening.kind == "lines" and opening.has("index", "model_output"):
        what = "predictions of evalscope, which have no verdicts"
        return Unread(what, "pass the reviews of the same run")
    if opening.kind == "lines" and opening.has("review_id", "raw_input", "choices"):
        columns = "score=choices.0.review.result,question=raw_input.question"
        return Unread("reviews of evalscope before 1.0", f"pass --columns {columns}")
    if opening.kind == "json" and opening.has("dataset_name", "model_name", "metrics"):
        what = "a report of evalscope, which has scores without samples"
        return Unread(what, "pass the reviews of the same run")
    return None


def holds_scores(opening: Opening) -> bool:
    """Returns whether a file of no known tool is a table with scores, or holds numbers called so.

    What evalprep wrote itself is none.
    """
    if any("evalprep" in str(text) for text in (*opening.names, opening.first.get("kind"))):
        return False
    if opening.kind == "json" and _has_score(opening.first, _DEPTH):
        return True
    return bool(_columns_for(opening))


def _has_score(values: Any, depth: int) -> bool:
    if not isinstance(values, Mapping) or not depth:
        return False
    return any(
        (_is_score(str(name)) and finite_number(value) is not None) or _has_score(value, depth - 1)
        for name, value in values.items()
    )


def _is_score(name: str) -> bool:
    """Whether a name is that of a score: `acc`, `squad_f1`, `rougeL`, `exact_match,none`."""
    words = name.partition(",")[0].replace("-", "_").rsplit("_", 2)
    is_exact = words[-2:] == ["exact", "match"]
    return is_exact or words[-1] in _SCORES or _SCORE.fullmatch(words[-1]) is not None


def _is_of_opencompass(opening: Opening) -> bool:
    sample = opening.first.get("0")
    if not isinstance(sample, Mapping):
        return False
    return "origin_prompt" in sample and "prediction" in sample


def _columns_for(opening: Opening) -> str:
    """Returns how the columns of a table could be named.

    Empty where its scores have no usual name.
    """
    if opening.kind not in _TABLES:
        return ""
    column_of = {name.lower(): name for name in sorted(opening.names)}
    named = {}
    for field, usual_names in _USUAL_COLUMNS.items():
        known = [name for name in usual_names if name in column_of]
        if known:
            named[field] = column_of[known[0]]
    if "score" not in named or not {"id", "question"} & named.keys():
        return ""
    pairs = [f"{field}={column}" for field, column in named.items()]
    option = f"--columns {shlex.quote(','.join(pairs))}"
    return f"of a table, name the columns, here perhaps: {option}"
