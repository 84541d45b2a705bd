"""Results files of lm-eval, one module per generation of the layout, and those of other tools.

No other room names a key of these files.

| module | written by | what is special |
|---|---|---|
| `lighteval` | lighteval | values alone, task names with the number of examples |
| `bigcode` | the BigCode evaluation harness | values alone, tasks beside `config` |
| `lm_eval_0_2` | 0.2 and 0.3 | metrics without a filter, no samples, no settings of tasks |
| `lm_eval_0_4_0` | 0.4.0 to 0.4.2 | `metric,filter`; directions only in the settings of tasks |
| `lm_eval_0_4_3` | 0.4.3 and later | directions and numbers of rows have parts of their own |
| `lm_eval_values` | scripts around `simple_evaluate` | the values of 0.4 alone |
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalprep.credentials import without_secrets
from evalprep.files import as_mapping
from evalprep.readers import (
    bigcode,
    lighteval,
    lm_eval_0_2,
    lm_eval_0_4_0,
    lm_eval_0_4_3,
    lm_eval_values,
)
from evalprep.readers.lm_eval_0_4_3 import encode, stored_call
from evalprep.readers.logged import DamagedPart, RunResults
from evalprep.samples import JsonParts

__all__ = ["damage_of", "decode_run", "encode", "read_recognised", "read_results", "stored_call"]

_SAMPLES = "samples"
_LONGEST_REASON = 200  # characters
#: From the oldest to the newest; the last one reads what no other recognises.
GENERATIONS: tuple[
    tuple[Callable[[dict[str, Any]], bool], Callable[[dict[str, Any], str], RunResults]], ...
] = (
    (lighteval.recognises, lighteval.decode),
    (bigcode.recognises, bigcode.decode),
    (lm_eval_0_2.recognises, lm_eval_0_2.decode),
    (lm_eval_values.recognises, lm_eval_values.decode),
    (lm_eval_0_4_0.recognises, lm_eval_0_4_0.decode),
    (lm_eval_0_4_3.recognises, lm_eval_0_4_3.decode),
)


def read_results(file: Path) -> tuple[RunResults, JsonParts]:
    """Decodes a results file.

    Whoever ran it may have passed credentials, which lm-eval writes into settings and metadata;
    they are hidden.

    Returns:
        What it holds, and the samples that a whole dump of `simple_evaluate` keeps inside: a list
        for each task, which may be large.
    """
    try:
        content, samples = _split(file)
        content = as_mapping(without_secrets(content))
    except ValueError as error:
        damage = DamagedPart(file.name, "", str(error)[:_LONGEST_REASON])
        return RunResults(damage=(damage,)), JsonParts()
    return decode_run(content, file.name), samples


def _split(file: Path) -> tuple[dict[str, Any], JsonParts]:
    """The content of a results file, and the samples inside.

    Raises:
        ValueError: it is not a JSON object that can be read.
    """
    parts = JsonParts.of_file(file)
    if parts.items is not None:
        raise ValueError("list in place of an object")
    try:
        content = {key: parts.get(key) for key in parts.members if key != _SAMPLES}
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return content, parts.inner(_SAMPLES)


def read_recognised(file: Path) -> RunResults | None:
    """Decodes a file of whatever name; None where it has no layout of lm-eval's results."""
    try:
        content, _ = _split(file)
    except (OSError, ValueError):
        return None
    if not any(recognises(content) for recognises, _ in GENERATIONS):
        return None
    run = decode_run(as_mapping(without_secrets(content)), file.name)
    return run if run.tasks else None


def damage_of(file: Path) -> str:
    """Returns why a file is not a JSON object that can be read; empty for one that can."""
    try:
        _split(file)
    except (OSError, ValueError) as error:
        return str(error)[:_LONGEST_REASON]
    return ""


def decode_run(content: dict[str, Any], file: str) -> RunResults:
    """Decodes the content of a results file, whichever version wrote it.

    Args:
        content: Decoded JSON.
        file: Name of the file, for notes.
    """
    decoders = (decode for recognises, decode in GENERATIONS if recognises(content))
    return next(decoders, lm_eval_0_4_3.decode)(content, file)
