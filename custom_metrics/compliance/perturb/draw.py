"""Draws that are the same on every machine and Python."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

Choice = TypeVar("Choice")


def seed_of(*, seed: int, version: str, row_id: str) -> int:
    """Makes the seed of one text out of the run's seed, the change and the row.

    It is 64 bits of their SHA-256.
    """
    digest = hashlib.sha256(
        f"{seed}\x1f{version}\x1f{row_id}".encode(errors="surrogatepass")
    ).digest()
    return int.from_bytes(digest[:8], "big")


def generator(seed: int) -> random.Random:
    """Returns a generator whose `random()` is fixed by Python's documentation."""
    return random.Random(seed)  # noqa: S311 - texts are changed, nothing is kept secret


def choose(draws: random.Random, options: Sequence[Choice]) -> Choice:
    """Chooses by `random()` alone.

    How `random.choice` uses its bits is not promised between releases.
    """
    return options[min(int(draws.random() * len(options)), len(options) - 1)]
