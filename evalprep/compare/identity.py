"""The match of a model and published data, as far as their names tell.

Verdicts published for one model say nothing about scoring or preparation when another one is run,
so a difference in size or type (pretrained or instruction-tuned) is said before any number.
"""

from __future__ import annotations

import re
from pathlib import Path

from evalprep.places import last_part
from evalprep.results import Run, prepared_work

_SIZE = re.compile(
    r"(?<![\dA-Za-z.])(?:(?P<experts>\d+)x)?(?P<number>\d+(?:\.\d+)?)(?P<unit>[BbMm])(?![A-Za-z\d])"
)
_TUNED = re.compile(r"(?<![a-z])(?:instruct|chat|it|sft|dpo|rlhf)(?![a-z])", re.IGNORECASE)


def parameters(name: str) -> float | None:
    """Number of parameters that a model or data set name states.

    >>> parameters("meta-llama/Llama-3.1-8B-Instruct-evals"), parameters("SmolLM2-135M")
    (8000000000.0, 135000000.0)
    >>> parameters("gpt-4") is None
    True
    """
    match = _SIZE.search(name.replace("_", "-"))
    if match is None:
        return None
    scale = 1e9 if match["unit"] in "Bb" else 1e6
    return float(match["number"]) * scale * int(match["experts"] or 1)


def instruction_tuned(name: str) -> bool:
    """Returns whether a name says instruction-tuned.

    >>> names = ("Llama-3.2-1B-Instruct", "gemma-2-2b-it", "Llama-3.2-1B")
    >>> [instruction_tuned(name) for name in names]
    [True, True, False]
    """
    return bool(_TUNED.search(name.replace("_", "-")))


def mismatch(model: str, published: str) -> list[str]:
    """Returns how the model of a run differs from that of published data, by their names.

    >>> mismatch("Llama-3.2-1B", "Llama-3.2-3B-evals")
    ['size: 1B run, 3B published']
    """
    size = parameters(model)
    published_size = parameters(published)
    # A name without a size says nothing about its type either ("model", "checkpoint-500").
    if size is None or published_size is None:
        return []
    differs = []
    if size != published_size:
        differs.append(f"size: {_in_words(size)} run, {_in_words(published_size)} published")
    is_tuned = instruction_tuned(model)
    if is_tuned != instruction_tuned(published):
        # Of the other the name does not say that it is not.
        tuned = "run" if is_tuned else "published"
        differs.append(f"type: by their names only the {tuned} one is instruction-tuned")
    return differs


def _in_words(count: float) -> str:
    return f"{count / 1e9:g}B" if count >= 1e9 else f"{count / 1e6:g}M"


def published_source(run: Run) -> str:
    """Name of the data set that the published verdicts come from, as the manifest has it.

    Empty when unknown.
    """
    prepared = prepared_work(run)
    sources = [] if prepared is None else prepared.sources
    names = [Path(source.location).name for source in sources]
    return next((name for name in names if parameters(name) is not None), "")


def warnings_for(run: Run) -> list[str]:
    """Warnings about comparing this run with the verdicts published in its data."""
    source = published_source(run)
    differs = mismatch(last_part(run.model), source) if source else []
    if not differs:
        return []
    return [f"the published verdicts are those of another model ({source}): {'; '.join(differs)}"]
