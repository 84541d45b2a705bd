"""METEOR over NLTK's tokens, with WordNet and without it."""

from __future__ import annotations

import functools
import io
import itertools
import os
import re
import warnings
from itertools import product
from pathlib import Path
from typing import Any

from custom_metrics.nltk_data import can_open

MAX_CHARS = 200_000
"""The rest of a longer text is left out: splitting it into sentences takes seconds."""

MAX_ENDS = 1_500
"""So is what follows so many full stops, question and exclamation marks: each costs 0.3 ms."""
_END = re.compile(r"[.!?]")

FETCH_COMMAND = "python -m nltk.downloader wordnet punkt_tab"
WORDNET_HINT = (
    f"METEOR needs WordNet and punkt_tab of NLTK: run `{FETCH_COMMAND}` where there is a network, "
    "or set NLTK_DATA to a folder that has them; meteor_no_synonyms needs punkt_tab alone"
)
PLACES = ("/usr/share/wordnet", "/usr/local/share/wordnet")
"""Where Debian and others put the files of WordNet itself; WNSEARCHDIR names another folder."""
_WORDNET_FILES = tuple(
    f"{kind}.{part}" for part, kind in product(("noun", "verb", "adj", "adv"), ("data", "index"))
)
_LEXICOGRAPHER_FILES = 45


class MissingDataError(LookupError):
    """Data that a score needs are not on this machine; `needs` names them as NLTK does."""

    def __init__(self, needs: tuple[str, ...]) -> None:
        self.needs = needs
        super().__init__(WORDNET_HINT)


class _NoSynonyms:
    """Stands where NLTK wants WordNet, and knows no word."""

    def synsets(self, word: str) -> list[Any]:  # noqa: ARG002 - the signature is NLTK's
        return []


def missing_data(*, synonyms: bool) -> tuple[str, ...]:
    """Returns what METEOR needs and this machine lacks, as NLTK names it.

    Args:
        synonyms: With WordNet, or without it.
    """
    absent = [] if _nltk_has("tokenizers/punkt_tab") else ["punkt_tab"]
    if synonyms and not _nltk_has("corpora/wordnet") and _database_folder() is None:
        absent.insert(0, "wordnet")
    return tuple(absent)


def _nltk_has(name: str) -> bool:
    return can_open(name) or can_open(f"{name}.zip")


def _database_folder() -> Path | None:
    """The folder with WordNet's own files; None where there is none."""
    named = os.environ.get("WNSEARCHDIR")
    for place in [*filter(None, [named]), *PLACES]:
        if all((Path(place) / name).is_file() for name in _WORDNET_FILES):
            return Path(place)
    return None


@functools.cache
def _wordnet() -> Any:
    """WordNet from disk: NLTK's copy, else that of the system.

    Raises:
        LookupError: it is not there. NLTK itself would say how to download it.
    """
    if _nltk_has("corpora/wordnet"):
        from nltk.corpus import wordnet

        wordnet.ensure_loaded()
        return wordnet
    folder = _database_folder()
    if folder is None:
        raise LookupError("corpora/wordnet")
    return _database(folder)


def _database(folder: Path) -> Any:
    """WordNet out of its own files.

    As a package of the system installs them, `lexnames` and `index.sense` are missing. NLTK wants
    both; METEOR reads neither, so that names by number stand for the first.
    """
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    if str(folder) not in nltk.data.path:  # NLTK opens files below these folders alone
        nltk.data.path.append(str(folder))

    class Database(WordNetCorpusReader):  # type: ignore[misc]  # NLTK has no types
        def open(self, file: str) -> Any:
            if (folder / file).is_file():
                return super().open(file)
            lines = (f"{number} lexname{number} 0\n" for number in range(_LEXICOGRAPHER_FILES))
            return io.StringIO("".join(lines) if file == "lexnames" else "")

        def map_wn(self, version: str = "wordnet") -> None:
            """Nothing: translations of other versions of WordNet need `index.sense`."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no multilingual WordNet
        return Database(str(folder), None)


def _bounded(text: str) -> str:
    end = next(itertools.islice(_END.finditer(text), MAX_ENDS, None), None)
    return text[: min(end.start() if end else len(text), MAX_CHARS)]


def _score(
    target_output: str, model_output: str, wordnet: Any, alpha: float, beta: float, gamma: float
) -> float:
    from nltk import word_tokenize
    from nltk.translate.meteor_score import single_meteor_score

    reference = word_tokenize(_bounded(target_output))
    hypothesis = word_tokenize(_bounded(model_output))
    return float(
        single_meteor_score(
            reference, hypothesis, wordnet=wordnet, alpha=alpha, beta=beta, gamma=gamma
        )
    )


def meteor(
    *,
    target_output: str,
    model_output: str,
    alpha: float = 0.9,
    beta: float = 3.0,
    gamma: float = 0.5,
) -> dict[str, float]:
    """METEOR of one summary: words matched by form, then stem, then synonym.

    A broken order is penalised.

    With m matches, precision `P = m / |output|` and recall `R = m / |target|`:
    `score = (1 - gamma * (chunks / m) ** beta) * P R / (alpha P + (1 - alpha) R)`; 0 without a
    match (Lavie and Agarwal, 2007). The same text twice is not 1, since one chunk of m words still
    costs `gamma / m ** beta`: a text of one word scores 0.5. Reference implementation: NLTK 3.10
    with WordNet 3.0, which this calls.

    Args:
        target_output: Reference summary; what follows the 200,000th character is left out.
        model_output: Summary of the model; the same.
        alpha: Weight of precision.
        beta: Exponent of the penalty.
        gamma: Weight of the penalty.

    Returns:
        `meteor` in [0, 1]; higher is better.

    Raises:
        MissingDataError: WordNet or punkt_tab is not on this machine. Nothing is downloaded.
    """
    try:
        return {"meteor": _score(target_output, model_output, _wordnet(), alpha, beta, gamma)}
    except LookupError as error:
        raise MissingDataError(("wordnet", "punkt_tab")) from error


def meteor_no_synonyms(
    *,
    target_output: str,
    model_output: str,
    alpha: float = 0.9,
    beta: float = 3.0,
    gamma: float = 0.5,
) -> dict[str, float]:
    """METEOR without its third stage, for machines without WordNet.

    Words match by form and stem alone.

    Not comparable with `fm.meteor`: report it under its own name.

    Args:
        target_output: Reference summary.
        model_output: Summary of the model.
        alpha: As in `fm.meteor`.
        beta: As in `fm.meteor`.
        gamma: As in `fm.meteor`.

    Returns:
        `meteor` in [0, 1]; higher is better.

    Raises:
        MissingDataError: punkt_tab is not on this machine. Nothing is downloaded.
    """
    try:
        return {"meteor": _score(target_output, model_output, _NoSynonyms(), alpha, beta, gamma)}
    except LookupError as error:
        raise MissingDataError(("punkt_tab",)) from error


METRICS = {"fm.meteor": meteor, "fm.meteor_no_synonyms": meteor_no_synonyms}
