"""ROUGE, fast and in bounded memory, equal to Google's `rouge-score`.

`rouge-score-rs` computes the same numbers some hundred times faster, but its table for the longest
common subsequence takes 4 bytes per pair of tokens: two texts of 100,000 words make it ask for 40
GB and abort the whole process. Above `MAX_TABLE_CELLS` the subsequence is therefore found here with
bit vectors, which gives the same result, the choice among equally long subsequences included
(rougeLsum depends on it).
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from custom_metrics.text.words import unicode_words

RougeType = Literal["rouge1", "rouge2", "rougeL", "rougeLsum"]
Tokenizer = Literal["ascii", "unicode"]
Scores = dict[str, dict[str, float]]

ROUGE_TYPES: tuple[RougeType, ...] = ("rouge1", "rouge2", "rougeL", "rougeLsum")
MAX_TABLE_CELLS = 25_000_000
MAX_WORDS = 20_000
MAX_LINES = 3_000
"""The limits of a scored text: its first words, and its first lines that hold any."""

_WORD = re.compile(r"[a-z0-9]+")


@functools.cache
def _scorer(types: tuple[str, ...], stemmer: bool) -> Any:
    from rouge_score_rs import RougeScorer

    return RougeScorer(list(types), use_stemmer=stemmer)


@functools.cache
def _tokenizer(stemmer: bool) -> Any:
    from rouge_score_rs.tokenizers import DefaultTokenizer

    return DefaultTokenizer(stemmer)


def _shorten(text: str) -> str:
    """Bounds a text; lines without a word go too.

    rougeLsum compares every pair of lines, and such lines for nothing.
    """
    if text.count("\n") >= MAX_LINES:
        worded = (line for line in text.lower().split("\n") if _WORD.search(line))
        text = "\n".join(itertools.islice(worded, MAX_LINES))
    if len(text) < 2 * MAX_WORDS:  # a word and its blank take two characters at least
        return text
    text = text.lower()
    for count, word in enumerate(_WORD.finditer(text), start=1):
        if count == MAX_WORDS:
            return text[: word.end()]
    return text


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> list[int]:
    """Positions in `first` of one longest common subsequence, the one that `rouge_score` picks.

    The length comes from the bit-parallel recurrence of Hyyrö (2004), "Bit-parallel LCS-length
    computation revisited": bit j of row i is 0 where the length grows from column j to j+1. The
    rows are kept and walked back by the reference's rule: go left only where that is strictly
    longer than going up. Needs `len(first) * len(second)` bits.

    >>> common_subsequence(["a", "b", "c"], ["a", "c"])
    [0, 2]
    """
    width = len(second)
    full = (1 << width) - 1
    # Bit j of a word's mask is 1 where the second text has the word at place j.
    masks: dict[str, int] = {}
    for place, word in enumerate(second):
        masks[word] = masks.get(word, 0) | 1 << place
    rows = [full]
    for word in first:
        row = rows[-1]
        mask = masks.get(word, 0)
        rows.append((row + (row & mask) | row & ~mask) & full if mask else row)
    chosen: list[int] = []
    line = len(first)
    column = width
    length = width - rows[-1].bit_count()
    while line and column:
        if first[line - 1] == second[column - 1]:
            chosen.append(line - 1)
            line -= 1
            column -= 1
            length -= 1
            continue
        grows_here = not rows[line] >> (column - 1) & 1
        up_to_column = rows[line - 1] & (1 << column) - 1
        above = column - up_to_column.bit_count()
        if not grows_here and above < length:
            column -= 1
        else:
            line -= 1
            length = above
    return chosen[::-1]


def _ratios(hits: int, predicted: int, expected: int) -> dict[str, float]:
    precision = hits / max(predicted, 1)
    recall = hits / max(expected, 1)
    total = precision + recall
    return {
        "precision": precision,
        "recall": recall,
        "fmeasure": 2 * precision * recall / total if total > 0 else 0.0,
    }


def _long_summary(prediction: str, reference: str, stemmer: bool) -> dict[str, float]:
    """Computes rougeLsum with bit vectors.

    It takes the union over predicted lines, each word counted once per occurrence.
    """
    tokenize = _tokenizer(stemmer).tokenize
    predicted_lines = [tokenize(line) for line in prediction.split("\n") if line]
    reference_lines = [tokenize(line) for line in reference.split("\n") if line]
    predicted_words = Counter(itertools.chain.from_iterable(predicted_lines))
    reference_words = Counter(itertools.chain.from_iterable(reference_lines))
    predicted = predicted_words.total()
    expected = reference_words.total()
    hits = 0
    for line in reference_lines:
        # The words of the line in a common subsequence with any candidate, in order.
        positions: set[int] = set()
        for candidate in predicted_lines:
            positions.update(common_subsequence(line, candidate))
        for word in [line[position] for position in sorted(positions)]:
            # What is left of a word on both sides: each occurrence counts once.
            if predicted_words[word] > 0 and reference_words[word] > 0:
                hits += 1
                predicted_words[word] -= 1
                reference_words[word] -= 1
    return _ratios(hits, predicted, expected)


def _long(prediction: str, reference: str, types: tuple[str, ...], stemmer: bool) -> Scores:
    tokenize = _tokenizer(stemmer).tokenize
    scores: Scores = {}
    for name in types:
        if name == "rougeL":
            ours = tokenize(prediction)
            theirs = tokenize(reference)
            scores[name] = _ratios(len(common_subsequence(theirs, ours)), len(ours), len(theirs))
        elif name == "rougeLsum" and _widest(prediction) * _widest(reference) > 4 * MAX_TABLE_CELLS:
            scores[name] = _long_summary(prediction, reference, stemmer)
        else:
            scores |= _short(prediction, reference, (name,), stemmer)
    return scores


def _widest(text: str) -> int:
    return max(map(len, text.split("\n")))


def _short(prediction: str, reference: str, types: tuple[str, ...], stemmer: bool) -> Scores:
    scores = _scorer(types, stemmer).score(reference, prediction)
    return {
        name: {
            "precision": float(score.precision),
            "recall": float(score.recall),
            "fmeasure": float(score.fmeasure),
        }
        for name, score in scores.items()
    }


def _as_ascii(text: str, ids: dict[str, str], *, stemmer: bool) -> str:
    """The text with its words, lines apart, each written as an ASCII word that stands for it.

    Args:
        text: The text.
        ids: Word -> what stands for it; gets the words that it lacks.
        stemmer: Whether ASCII words are stemmed first.
    """
    lines = []
    count = 0
    for line in text.split("\n"):
        words = unicode_words(line)[: MAX_WORDS - count]
        count += len(words)
        if stemmer:
            stems = (_tokenizer(stemmer).tokenize(word) if word.isascii() else () for word in words)
            words = [stem[0] if stem else word for stem, word in zip(stems, words, strict=True)]
        lines.append(" ".join(ids.setdefault(word, f"w{len(ids)}") for word in words))
        if count >= MAX_WORDS:
            break
    return "\n".join(lines)


def rouge_scores(
    *,
    prediction: str,
    reference: str,
    types: Sequence[str] = ROUGE_TYPES,
    stemmer: bool = False,
    tokenizer: Tokenizer = "ascii",
) -> Scores:
    r"""Compares a text with its reference by ROUGE.

    Tokens are runs of `[a-z0-9]` of the lower-cased text, so texts in other scripts score 0 even
    against themselves; `unicode` takes the words of `text.words.unicode_words` instead, which are
    the same in ASCII texts. rouge1 and rouge2 count shared n-grams; rougeL takes the longest common
    subsequence of all words; rougeLsum the union of those of each pair of lines (Lin, 2004, "ROUGE:
    A Package for Automatic Evaluation of Summaries"). Reference implementation: `rouge-score`
    0.1.2, equal to 1e-12.

    Args:
        prediction: Text of the model; what follows the 20,000th word or the 3,000th line is left
            out.
        reference: Reference text; the same.
        types: Which of `rouge1` to `rouge9`, `rougeL`, `rougeLsum`.
        stemmer: Whether words of more than three letters are stemmed (Porter, ASCII words only).
        tokenizer: `ascii`, as the reference implementation, or `unicode`.

    Returns:
        For each type `precision`, `recall` and `fmeasure` in [0, 1]; higher is better.

    Raises:
        ValueError: a type is unknown.

    >>> prediction, reference = "the cat sat", "the cat sat down"
    >>> scores = rouge_scores(prediction=prediction, reference=reference, types=["rougeL"])
    >>> scores["rougeL"]["precision"], scores["rougeL"]["recall"]
    (1.0, 0.75)
    """
    if tokenizer == "unicode" and not (prediction.isascii() and reference.isascii()):
        ids: dict[str, str] = {}
        prediction = _as_ascii(prediction, ids, stemmer=stemmer)
        reference = _as_ascii(reference, ids, stemmer=stemmer)
        stemmer = False
    prediction = _shorten(prediction)
    reference = _shorten(reference)
    # A token and what separates it take two characters at least, so this bounds the table without
    # tokenising.
    small = (len(prediction) + 1) * (len(reference) + 1) <= 4 * MAX_TABLE_CELLS
    return (_short if small else _long)(prediction, reference, tuple(types), stemmer)


METRICS = {"text.rouge_scores": rouge_scores}
