"""The language of a reply, detected with a fixed seed.

The detector that other code shares is not touched.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_LOADING = threading.Lock()


class _Profiles:
    """The profiles of all languages, in the place of langdetect's mapping from text to languages.

    That mapping has a row of 55 numbers for each of 88,000 pieces of text. A reply has a few
    hundred of them; their rows are made when they are asked for, with the same numbers.
    """

    def __init__(self, profiles: Sequence[Mapping[str, Any]]) -> None:
        self._profiles = [(profile["freq"], profile["n_words"]) for profile in profiles]
        self._rows: dict[str, list[float] | None] = {}

    def __contains__(self, piece: str) -> bool:
        return self._row(piece) is not None

    def __getitem__(self, piece: str) -> list[float]:
        row = self._row(piece)
        if row is None:
            raise KeyError(piece)
        return row

    def _row(self, piece: str) -> list[float] | None:
        if piece not in self._rows:
            is_known = any(piece in counts for counts, _ in self._profiles)
            self._rows[piece] = self._shares(piece) if is_known else None
        return self._rows[piece]

    def _shares(self, piece: str) -> list[float]:
        """Returns how often each language has a piece of one to three characters."""
        if not 1 <= len(piece) <= 3:
            return [0.0] * len(self._profiles)
        return [
            1.0 * counts.get(piece, 0) / sizes[len(piece) - 1] for counts, sizes in self._profiles
        ]


@functools.cache
def _load() -> Any:
    import msgspec
    from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory

    factory = DetectorFactory()
    # The detector draws starting points; with a fixed seed its verdict is a function of the text.
    factory.set_seed(0)
    # In the order in which langdetect reads them, which its sums depend on.
    paths = Path(PROFILES_DIRECTORY).iterdir()
    files = [path for path in paths if path.is_file() and not path.name.startswith(".")]
    profiles = [msgspec.json.decode(path.read_bytes()) for path in files]
    factory.langlist = [profile["name"] for profile in profiles]
    factory.word_lang_prob_map = _Profiles(profiles)
    return factory


def _factory() -> Any:
    with _LOADING:
        return _load()


@functools.lru_cache(maxsize=256)
def detect(text: str) -> str | None:
    """Names the language of a text.

    Args:
        text: Any text.

    Returns:
        A code such as `en` or `zh-cn`; None where the text has no letters to tell by.
    """
    from langdetect import LangDetectException

    detector = _factory().create()
    try:
        detector.append(text)
        return str(detector.detect())
    except LangDetectException:
        return None
