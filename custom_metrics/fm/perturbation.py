"""Small changes to a text that leave its meaning.

They are typing errors, stray capitals, and lost and stray blanks.

Each takes a numpy generator and returns one changed text, so that the caller decides where
randomness comes from:

- `per_record`: a generator per record, from the seed and the record's id. The changes depend
  neither on the order of records nor on which others there are.
- `stream`: one generator for all records, in order. Gives the texts of fmeval run with one worker.

The draws are those of fmeval 1.2.3 with numpy's `default_rng`, equal to the last character.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.random import Generator

Seeding = Literal["per_record", "stream"]

SEED = 5
"""What fmeval uses everywhere, and cannot be told otherwise."""

NEIGHBOURS = {
    "q": "qwasedzx",
    "w": "wqesadrfcx",
    "e": "ewrsfdqazxcvgt",
    "r": "retdgfwsxcvgt",
    "t": "tryfhgedcvbnju",
    "y": "ytugjhrfvbnji",
    "u": "uyihkjtgbnmlo",
    "i": "iuojlkyhnmlp",
    "o": "oipklujm",
    "p": "plo['ik",
    "a": "aqszwxwdce",
    "s": "swxadrfv",
    "d": "decsfaqgbv",
    "f": "fdgrvwsxyhn",
    "g": "gtbfhedcyjn",
    "h": "hyngjfrvkim",
    "j": "jhknugtblom",
    "k": "kjlinyhn",
    "l": "lokmpujn",
    "z": "zaxsvde",
    "x": "xzcsdbvfrewq",
    "c": "cxvdfzswergb",
    "v": "vcfbgxdertyn",
    "b": "bvnghcftyun",
    "n": "nbmhjvgtuik",
    "m": "mnkjloik",
    " ": " ",
}
"""Key -> the keys that a finger may hit instead; it may hit the right one."""


def butter_finger(text: str, rng: Generator, *, perturbation_prob: float = 0.1) -> str:
    """Replaces letters by neighbours on a QWERTY keyboard, each with a probability; case stays."""
    changed = []
    for letter in text:
        lower = letter.lower()
        keys = NEIGHBOURS.get(lower)
        if keys is None or rng.random() > perturbation_prob:
            changed.append(letter)
            continue
        new = keys[int(rng.integers(0, len(keys)))]
        changed.append(new if lower == letter else new.upper())
    return "".join(changed)


def random_upper_case(text: str, rng: Generator, *, uppercase_fraction: float = 0.1) -> str:
    """Raises `int(length * fraction)` characters at distinct positions, capitals among them."""
    if not text:
        return ""
    count = int(len(text) * uppercase_fraction)
    positions = set(rng.choice(len(text), count, replace=False))
    return "".join(
        letter.upper() if index in positions else letter for index, letter in enumerate(text)
    )


def whitespace_add_remove(
    text: str, rng: Generator, *, add_prob: float = 0.05, remove_prob: float = 0.1
) -> str:
    """Drops white space, and puts blanks behind other characters, each by a probability."""
    changed = []
    for letter, draw in zip(text, rng.random(len(text)), strict=True):
        if letter.isspace():
            changed.append("" if draw < remove_prob else letter)
        else:
            changed.append(f"{letter} " if draw < add_prob else letter)
    return "".join(changed)


PERTURBATIONS: Mapping[str, Callable[..., str]] = {
    "butter_finger": butter_finger,
    "random_upper_case": random_upper_case,
    "whitespace_add_remove": whitespace_add_remove,
}


def record_seed(seed: int, record_id: str) -> list[int]:
    """Seed of one record's generator: the seed, and the first 64 bits of the SHA-256 of its id."""
    return [
        seed,
        int.from_bytes(
            hashlib.sha256(record_id.encode("utf-8", "surrogatepass")).digest()[:8], "big"
        ),
    ]


def _perturbation_of(
    kind: str, num_perturbations: int, probabilities: Mapping[str, float]
) -> Callable[..., str]:
    """Returns the perturbation with its probabilities.

    Raises:
        ValueError: an unknown kind, fewer than one perturbation, or no probability.
    """
    if kind not in PERTURBATIONS:
        raise ValueError(f"perturbation_type is {kind!r}, allowed are {', '.join(PERTURBATIONS)}")
    if num_perturbations < 1:
        raise ValueError(f"num_perturbations is {num_perturbations}, and 1 at least is needed")
    for name, value in probabilities.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} is {value}, and a probability is between 0 and 1")
    return functools.partial(PERTURBATIONS[kind], **probabilities)


def perturb_records(
    kind: str,
    records: Iterable[tuple[str, str]],
    *,
    seed: int = SEED,
    seeding: Seeding = "per_record",
    num_perturbations: int = 5,
    **probabilities: float,
) -> Iterator[list[str]]:
    """Yields the changed texts of each record.

    Args:
        kind: `butter_finger`, `random_upper_case` or `whitespace_add_remove`.
        records: Id and text of each record; ids decide only under `per_record`.
        seed: Seed of all.
        seeding: `per_record` or `stream`, see the head of the module.
        num_perturbations: Changed texts per record.
        probabilities: Those of the kind: `perturbation_prob`; `uppercase_fraction`; `add_prob`,
            `remove_prob`.

    Raises:
        ValueError: a kind, a number or a probability cannot be.
    """
    change = _perturbation_of(kind, num_perturbations, probabilities)
    if seeding not in ("per_record", "stream"):
        raise ValueError(f"seeding is {seeding!r}, allowed are per_record and stream")
    return _perturbed(change, records, seed, seeding, num_perturbations)


def _perturbed(
    change: Callable[..., str],
    records: Iterable[tuple[str, str]],
    seed: int,
    seeding: Seeding,
    count: int,
) -> Iterator[list[str]]:
    import numpy as np

    shared = np.random.default_rng(seed)
    for record_id, text in records:
        rng = shared if seeding == "stream" else np.random.default_rng(record_seed(seed, record_id))
        yield [change(text, rng) for _ in range(count)]


def _stream(
    kind: str, texts: Iterable[str], seed: int, count: int, **probabilities: float
) -> list[list[str]]:
    records = (("", text) for text in texts)
    return list(
        perturb_records(
            kind, records, seed=seed, seeding="stream", num_perturbations=count, **probabilities
        )
    )


def perturb(
    *, kind: str, text: str, seed: int = SEED, num_perturbations: int = 5, **probabilities: float
) -> list[str]:
    """Returns changed forms of one text, drawn one after the other from one generator.

    Args:
        kind: `butter_finger`, `random_upper_case` or `whitespace_add_remove`.
        text: Any text; a short one may stay as it is.
        seed: Seed of the generator.
        num_perturbations: How many.
        probabilities: Those of the kind, as in `perturb_records`.

    Raises:
        ValueError: a kind, a number or a probability cannot be.

    >>> text = "What is the capital of France?"
    >>> perturb(kind="random_upper_case", text=text, seed=3, num_perturbations=1)
    ['WhAt Is the capital of France?']
    """
    return _stream(kind, [text], seed, num_perturbations, **probabilities)[0]


def perturb_stream(
    *,
    kind: str,
    texts: Iterable[str],
    seed: int = SEED,
    num_perturbations: int = 5,
    **probabilities: float,
) -> list[list[str]]:
    """Returns changed forms of several texts, all drawn from one generator in order.

    Args:
        kind: As in `fm.perturb`.
        texts: Texts, in order.
        seed: Seed of the generator.
        num_perturbations: How many per text.
        probabilities: As in `fm.perturb`.

    Raises:
        ValueError: a kind, a number or a probability cannot be.
    """
    return _stream(kind, texts, seed, num_perturbations, **probabilities)


def bound(function: Callable[..., Any], **arguments: str) -> Callable[..., Any]:
    """Binds arguments of a function, which keeps its documentation."""
    partial = functools.partial(function, **arguments)
    partial.__doc__ = function.__doc__
    return partial


METRICS: dict[str, Callable[..., Any]] = {
    "fm.perturb": perturb,
    "fm.perturb_stream": perturb_stream,
    **{f"fm.perturb.{kind}": bound(perturb, kind=kind) for kind in PERTURBATIONS},
    **{f"fm.perturb_stream.{kind}": bound(perturb_stream, kind=kind) for kind in PERTURBATIONS},
}
