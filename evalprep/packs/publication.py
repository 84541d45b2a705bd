"""Published results of a model, as the `publication.py` of a pack fetches them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalprep.packs.plan import PublishedValue


@dataclass(frozen=True)
class PublishedPart:
    """A benchmark of a publication.

    Attributes:
        title: For people.
        raw: The suite score with its raw value, 0 to 1.
        normalised: The suite score as it was published beside it.
    """

    title: str
    raw: str
    normalised: str


@dataclass(frozen=True)
class Publication:
    """The published samples of a model.

    Attributes:
        title: The model, and which of its results.
        place: Run folder or file with the published samples.
        values: Score -> published headline.
        parts: The benchmarks, in order.
        average: The suite score over all benchmarks.
        rescored: Tasks whose headline was computed by a newer scorer than their samples.
        notes: Sentences for the user.
        precision: Number format or quantisation of the model, as published (`bfloat16`, `4bit`,
            `GPTQ`); empty where that is not known.
    """

    title: str
    place: Path
    values: Mapping[str, PublishedValue]
    parts: Sequence[PublishedPart]
    average: str = ""
    rescored: Sequence[str] = ()
    notes: Sequence[str] = field(default_factory=tuple)
    precision: str = ""
