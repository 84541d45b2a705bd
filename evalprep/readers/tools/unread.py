"""Files without samples or verdicts that no reader knows: what they are, and what to pass instead.

| file | of |
|---|---|
| `{"0": {"origin_prompt": ..., "prediction": ...}}` | OpenCompass: predictions without verdicts |
| `{"pass@1": ...}` | scores of generated programs |
| a table, JSON Lines or a list of objects | anybody, with columns that the user names |

What else a tool with a reader writes is told by that reader.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalprep.numbers import finite_number
from evalprep.readers.tools.opening import Opening
from evalprep.samples import WRITE_AGAIN

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


def unread_file(opening: Opening, known: Unread | None) -> Unread:
    """Returns what a file is that no reader takes, and what to pass instead of it.

    Args:
        opening: Its beginning.
        known: The same by the tool that it is of.
    """
    if opening.kind in _DAMAGED:
        return Unread(opening.describe(), WRITE_AGAIN)
    if known is not None:
        return known
    fix = _columns_for(opening) or _OTHER_FORMAT
    return Unread(opening.describe(), fix)


def file_of_no_reader(opening: Opening) -> Unread | None:
    """Returns what a file is of a tool none of whose files is read; None for any other file."""
    if _is_of_opencompass(opening):
        what = "predictions of OpenCompass, which have no verdicts"
        fix = "write them as a table with a column of scores, and pass --columns"
        return Unread(what, fix)
    if any(name.startswith("pass@") for name in opening.names):
        return Unread("pass@k values without samples", "pass the results of each sample")
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
