"""Files of other tools without samples or verdicts: what they are, and what to pass instead.

| file | of |
|---|---|
| `<eval>_<model>.json` with `score` and `score:std` | simple-evals: the metrics alone |
| one of the files of a run folder | HELM, whose reader needs the folder |
| `{"0": {"origin_prompt": ..., "prediction": ...}}` | OpenCompass: predictions without verdicts |
| `{"pass@1": ...}` | scores of generated programs |
| a table, JSON Lines or a list of objects | anybody, with columns that the user names |
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

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
_OTHER_FORMAT = "--input_format names the format; of a table --columns names the columns"


class Unread(NamedTuple):
    """A file that no reader takes, and what to do."""

    what: str
    fix: str


def unread_file(opening: Opening) -> Unread:
    """Returns what a file is that no reader takes, and what to pass instead of it."""
    path = opening.path
    if opening.kind in _DAMAGED:
        return Unread(opening.describe(), WRITE_AGAIN)
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
    fix = _columns_for(opening) or _OTHER_FORMAT
    return Unread(opening.describe(), fix)


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
