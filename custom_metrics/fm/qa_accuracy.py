"""Accuracy of short answers: exact and quasi-exact match, and the overlap of words."""

from __future__ import annotations

from typing import Literal

from custom_metrics.fm.normalize import OR_DELIMITER, normalize, targets
from custom_metrics.text.words import with_blanks

WordTokenizer = Literal["unicode", "fmeval"]
WORD_TOKENIZERS: tuple[WordTokenizer, ...] = ("unicode", "fmeval")

NAMES = (
    "f1_score",
    "exact_match_score",
    "quasi_exact_match_score",
    "precision_over_words",
    "recall_over_words",
)


def _overlap(output: frozenset[str], target: frozenset[str]) -> tuple[float, float, float]:
    """Precision, recall and F1 of two sets of words; 0 where one of them is empty."""
    shared = len(output & target)
    if not shared:
        return 0.0, 0.0, 0.0
    precision = shared / len(output)
    recall = shared / len(target)
    return precision, recall, 2 * precision * recall / (precision + recall)


def words_prf(
    *, target_output: str, model_output: str, normalize_text: bool = False, strip_text: bool = False
) -> dict[str, float]:
    """Compares two texts by their distinct words.

    `precision = |O & T| / |O|`, `recall = |O & T| / |T|`, `f1 = 2 p r / (p + r)` over the sets of
    words of output and target; 0 where either is empty, so two empty texts do not agree here.

    Args:
        target_output: One right answer.
        model_output: Reply of the model.
        normalize_text: Whether `fm.normalize` comes first.
        strip_text: Whether white space at the ends goes.

    Returns:
        `precision`, `recall` and `f1` in [0, 1]; higher is better.

    >>> words_prf(target_output="cat, dog", model_output="cat dog")
    {'precision': 0.5, 'recall': 0.5, 'f1': 0.5}
    """
    pair = [model_output, target_output]
    if strip_text:
        pair = [text.strip() for text in pair]
    if normalize_text:
        pair = [normalize(text=text) for text in pair]
    output, target = (frozenset(text.split()) for text in pair)
    precision, recall, f1 = _overlap(output, target)
    return {"precision": precision, "recall": recall, "f1": f1}


def _words_of(normal: str, tokenizer: WordTokenizer) -> frozenset[str]:
    """Distinct words of a normalised text."""
    return frozenset((with_blanks(normal) if tokenizer == "unicode" else normal).split())


def qa_accuracy(
    *,
    target_output: str,
    model_output: str,
    target_output_delimiter: str | None = OR_DELIMITER,
    word_tokenizer: WordTokenizer = "fmeval",
) -> dict[str, float]:
    """Scores a short answer against one or several right ones.

    Each score is the best over the right answers.

    `exact_match_score` compares stripped texts as they are, `quasi_exact_match_score` after
    `fm.normalize`; `precision_over_words`, `recall_over_words` and `f1_score` are those of
    `fm.words_prf` over normalised texts. As the best is taken for each score alone, precision and
    recall may come from different answers.

    Args:
        target_output: Right answers joined by the delimiter.
        model_output: Reply of the model.
        target_output_delimiter: What joins the answers; None for a single one.
        word_tokenizer: `fmeval` splits words at blanks alone; `unicode` takes each character of a
            script without blanks for a word.

    Returns:
        Five values in [0, 1]; higher is better.

    Raises:
        ValueError: the delimiter is empty.

    >>> reply = "the tallest is Everest"
    >>> qa_accuracy(target_output="Mount Everest<OR>Everest", model_output=reply)["f1_score"]
    0.5
    """
    stripped = model_output.strip()
    normal = normalize(text=stripped)
    output = _words_of(normal, word_tokenizer)
    exact = quasi = precision = recall = f1 = 0.0
    for answer in targets(target_output, target_output_delimiter):
        answer_stripped = answer.strip()
        answer_normal = normalize(text=answer_stripped)
        exact = max(exact, float(stripped == answer_stripped))
        quasi = max(quasi, float(normal == answer_normal))
        of_answer = _overlap(output, _words_of(answer_normal, word_tokenizer))
        precision = max(precision, of_answer[0])
        recall = max(recall, of_answer[1])
        f1 = max(f1, of_answer[2])
    return dict(zip(NAMES, (f1, exact, quasi, precision, recall), strict=True))


METRICS = {"fm.qa_accuracy": qa_accuracy, "fm.words_prf": words_prf}
