"""Data of NLTK: whether a file or folder is there and NLTK opens it, without any network call."""

from __future__ import annotations

import functools
from pathlib import Path


def can_open(place: str) -> bool:
    """Tells whether NLTK finds and opens some data.

    NLTK finds files that it refuses to open, such as the hard links of a package manager.

    Args:
        place: As NLTK names it, e.g. `tokenizers/punkt_tab/english/`; of a folder its first file is
            opened.
    """
    import nltk

    return _can_open(place, tuple(str(path) for path in nltk.data.path))


@functools.lru_cache(maxsize=64)
def _can_open(place: str, search_path: tuple[str, ...]) -> bool:
    import nltk

    try:
        pointer = nltk.data.find(place, paths=list(search_path))
        folder = Path(str(pointer))
        if folder.is_dir():
            first = min(file.name for file in folder.iterdir() if file.is_file())
            pointer = pointer.join(first)
        if isinstance(pointer, nltk.data.FileSystemPathPointer):  # of an archive NLTK read the list
            pointer.open().close()
    except (LookupError, OSError, ValueError):  # ValueError: a folder without files
        return False
    return True
