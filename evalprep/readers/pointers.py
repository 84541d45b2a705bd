"""Small files that stand for large ones which were not fetched.

A clone has them where its store was left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, product
from pathlib import Path

import msgspec

from evalprep.files import NotRead, read_file

_WITHOUT = "without what was logged"
_LARGEST = 1_024  # bytes: the specification of Git LFS allows no larger pointer


class Store(msgspec.Struct, frozen=True):
    """The store in which a large file lies instead.

    Attributes:
        name: What it is called, for people.
        begins: What its pointers begin with.
        fetch: The command that brings the files.
    """

    name: str
    begins: bytes
    fetch: str


STORES = (
    Store("Git LFS", b"version https://git-lfs.github.com/spec/", "git lfs pull"),
    Store("git-annex", b"/annex/objects/", "git annex get"),
)


def store_of(file: Path) -> Store | None:
    """The store that has what belongs in a file's place; None for a file that is itself."""
    try:
        if file.stat().st_size > _LARGEST:
            return None
        begin = read_file(file)
    except (NotRead, OSError):
        return None
    return next((store for store in STORES if begin.startswith(store.begins)), None)


def pointers_below(
    folder: Path, names: Iterable[str] = ("samples_*", "results_*"), depth: int = 3
) -> list[Path]:
    """Files of runs that are only pointers, in a folder and those below it."""
    places = ["*/" * level for level in range(depth)]
    patterns = [f"{place}{name}" for name, place in product(names, places)]
    files = set(chain.from_iterable(folder.glob(pattern) for pattern in patterns))
    return sorted(path for path in files if store_of(path))


def what_and_fix(pointers: Sequence[Path]) -> tuple[str, str]:
    """Returns what is to be said of pointers, at least one, and what fetches the files."""
    store = store_of(pointers[0]) or STORES[0]
    subject = f"{pointers[0].name} is a pointer"
    if len(pointers) > 1:
        subject = f"{len(pointers)} files are pointers"
    return f"{subject} of {store.name}, {_WITHOUT}", f"{store.fetch} fetches the files"


def notes_on_pointers(notes: Iterable[str]) -> list[str]:
    """Returns those of a run's notes that say which files were not fetched."""
    return [note for note in notes if _WITHOUT in note]
