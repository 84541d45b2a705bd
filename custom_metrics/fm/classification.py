"""Labels out of replies, and whether they are right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

LabelMatch = Literal["fmeval", "robust"]

UNKNOWN = "unknown"
INVALID = "[invalid]"
"""What a reply without a label counts as: in the original a word, which a label may be too; here nothing that may."""

MAX_CHARS = 100_000
"""Only so much of a reply is searched for a label."""

_WORD = re.compile(r"\w+")
_SIGNED_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*")


def _first_word(model_output: str, valid_labels: Sequence[str]) -> str:
    """Return the first word between blanks that equals a label, both lower-cased and stripped."""
    labels = {label.lower().strip() for label in valid_labels}
    words = (word.strip() for word in model_output.lower().split(" "))
    return next((word for word in words if word in labels), UNKNOWN)


def label_key(label: str) -> tuple[str, ...]:
    """Words of a label or a reply in the form that `robust` compares: folded case, numbers whole, no punctuation.

    >>> label_key("Sci/Tech: -1.5")
    ('sci', 'tech', '-1.5')
    """
    return tuple(text for text, _start in _pieces(label))


def _pieces(text: str) -> list[tuple[str, int]]:
    """Words and numbers of a text with their places; a sign belongs to a number that nothing stands before."""
    folded = text[:MAX_CHARS].casefold()
    pieces, position = [], 0
    while position < len(folded):
        signed = folded[position] in "+-" and not (position and (folded[position - 1].isalnum()))
        found = _SIGNED_NUMBER.match(folded, position) if signed or folded[position].isdecimal() else None
        found = found or _WORD.match(folded, position)
        if found is None:
            position += 1
            continue
        pieces.append((found.group(), found.start()))
        position = found.end()
    return pieces


def _first_whole(model_output: str, valid_labels: Sequence[str]) -> str:
    """Return the label that stands first as whole words; of two at one place the longer one."""
    keys = sorted({label: label_key(label) for label in valid_labels}.items(), key=lambda item: -len(item[1]))
    by_first: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for label, key in keys:
        if key:
            by_first.setdefault(key[0], []).append((label, key))
    words = label_key(model_output)
    for index, word in enumerate(words):
        for label, key in by_first.get(word, ()):
            if words[index : index + len(key)] == key:
                return label
    bare = model_output.strip().casefold()  # labels without a word in them, such as "+" and "-"
    return next((label for label in valid_labels if label.strip().casefold() == bare), INVALID)


def classification_label(
    *, model_output: str, valid_labels: Sequence[str], label_match: LabelMatch = "fmeval"
) -> dict[str, str]:
    """Read the label that a reply gives; of several the first in the reply.

    `fmeval` looks for a lower-cased word between single blanks that equals a lower-cased label: `Positive!`, `1.`,
    `label:1` and labels of several words are never found. `robust` looks for a label's words as whole words whatever
    their case and the punctuation around them; `10` and `1.5` are not `1`, and the longest label wins at one place.

    Args:
        model_output: Reply of the model; `robust` reads its first 100,000 characters.
        valid_labels: The labels.
        label_match: `fmeval` or `robust`.

    Returns:
        `label`: lower-cased under `fmeval`, and `unknown` without one; as given under `robust`, and `[invalid]`.

    Raises:
        ValueError: the rule is unknown.

    >>> classification_label(model_output="Positive!", valid_labels=["positive"])
    {'label': 'unknown'}
    >>> classification_label(model_output="It is Positive!", valid_labels=["positive"], label_match="robust")
    {'label': 'positive'}
    """
    if label_match == "fmeval":
        return {"label": _first_word(model_output, valid_labels)}
    if label_match != "robust":
        raise ValueError(f"label_match is {label_match!r}, allowed are fmeval and robust")
    return {"label": _first_whole(model_output, valid_labels)}


def true_label(target_output: str, label_match: LabelMatch) -> str:
    """Return a target in the form in which labels of replies come.

    The original leaves it as it is and lower-cases what it compares with, so that `Positive` is never right there.
    """
    return target_output.strip() if label_match == "robust" else target_output


def classification_sample(
    *, target_output: str, model_output: str, valid_labels: Sequence[str], label_match: LabelMatch = "fmeval"
) -> dict[str, int]:
    """Tell whether the label of a reply is the right one.

    Args:
        target_output: The right label. `robust` compares it whatever its case; `fmeval` compares it as it is with a
            lower-cased one, and a target named `unknown` is right where no label was found.
        model_output: Reply of the model.
        valid_labels: The labels.
        label_match: As in `fm.classification_label`.

    Returns:
        `classification_accuracy_score`, 0 or 1; higher is better.

    Raises:
        ValueError: the rule is unknown.

    >>> classification_sample(target_output="Positive", model_output="positive", valid_labels=["Positive"])
    {'classification_accuracy_score': 0}
    """
    label = classification_label(model_output=model_output, valid_labels=valid_labels, label_match=label_match)["label"]
    if label_match == "robust":
        same = label != INVALID and same_label(label, target_output)
        return {"classification_accuracy_score": int(same)}
    return {"classification_accuracy_score": int(label == target_output)}


def same_label(first: str, second: str) -> bool:
    """Tell whether two labels are one, whatever their case and the white space around them.

    >>> same_label(" Positive", "positive")
    True
    """
    return first.strip().casefold() == second.strip().casefold()


METRICS = {"fm.classification_label": classification_label, "fm.classification_sample": classification_sample}
