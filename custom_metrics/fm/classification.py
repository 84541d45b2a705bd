"""Labels out of replies, and whether they are right."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

from custom_metrics.fm.labels import MAX_CHARS, folded, reader_of

LabelMatch = Literal["fmeval", "robust"]
PatternMatch = Literal["last", "first"]
PATTERN_MATCHES: tuple[PatternMatch, ...] = ("last", "first")
LabelFunction = Callable[[str, Sequence[str]], object]
"""(reply, labels) -> the label that the reply gives, or None: fmeval's `converter_fn`."""

UNKNOWN = "unknown"
INVALID = "[invalid]"
"""Stands for the label of a reply without one: the original's is a word, which may be a label."""


def classification_label(
    *, model_output: str, valid_labels: Sequence[str], label_match: LabelMatch = "fmeval"
) -> dict[str, str]:
    """Reads the label that a reply gives; of several the first in the reply.

    `fmeval` looks for a lower-cased word between single blanks that equals a lower-cased label:
    `Positive!`, `1.`, `label:1` and labels of several words are never found. `robust` takes a reply
    that equals a label; else it looks for a label's words as whole words whatever their case and
    the punctuation around them. The label that stands first in the reply wins; where two begin at
    one word, the longer. Neither knows of negations or of a conclusion at the end: "not positive,
    so negative" is `positive`. Signs at the edge of a
    label belong to it: `A+` is not `A`, `>=50K` not `>50K`, `C++` not `C`; `10` and `1.5` are not
    `1`, but `1.0` is. A hyphen joins two words: `non-toxic` is `nontoxic`, and never `toxic`. In
    scripts without spaces between words a label is found inside a sentence.

    Args:
        model_output: Reply of the model; `robust` reads its first 100,000 characters.
        valid_labels: The labels.
        label_match: `fmeval` or `robust`.

    Returns:
        `label`: lower-cased under `fmeval`, and `unknown` without one; as given under `robust`, and
            `[invalid]`.

    Raises:
        ValueError: the rule is unknown.

    >>> classification_label(model_output="Positive!", valid_labels=["positive"])
    {'label': 'unknown'}
    >>> reply, labels = "It is Positive!", ["positive"]
    >>> classification_label(model_output=reply, valid_labels=labels, label_match="robust")
    {'label': 'positive'}
    """
    if label_match == "fmeval":
        labels = {label.lower().strip() for label in valid_labels}
        words = (word.strip() for word in model_output.lower().split(" "))
        return {"label": next((word for word in words if word in labels), UNKNOWN)}
    if label_match != "robust":
        raise ValueError(f"label_match is {label_match!r}, allowed are fmeval and robust")
    label = reader_of(tuple(valid_labels)).read(model_output)
    return {"label": INVALID if label is None else label}


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def stated_label(model_output: str, pattern: str, match: PatternMatch = "last") -> str:
    r"""Returns the part of a reply in which its label stands, empty where the pattern finds none.

    Args:
        model_output: Reply of the model; its first 100,000 characters are read.
        pattern: A regular expression. The label stands in its first group, without groups in the
            whole match.
        match: Which of several matches counts.

    >>> stated_label("<label>a</label> no, <label>b</label>", "<label>(.*?)</label>")
    'b'
    """
    last = None
    for found in _compiled(pattern).finditer(model_output[:MAX_CHARS]):
        last = found
        if match == "first":
            break
    if last is None:
        return ""
    return (last.group(1) if last.re.groups else last.group()) or ""


def label_by(
    function: LabelFunction, model_output: str, valid_labels: Sequence[str], label_match: LabelMatch
) -> str:
    """Returns the label that a function of the user reads out of a reply.

    What is none of the labels counts as no label. `robust` compares whatever the case, `fmeval`
    takes labels as they are.
    """
    label = function(model_output, valid_labels)
    text = "" if label is None else str(label)
    if label_match == "fmeval":
        return text if text in valid_labels else UNKNOWN
    return next((valid for valid in valid_labels if same_label(valid, text)), INVALID)


def true_label(target_output: str, label_match: LabelMatch) -> str:
    """Returns a target in the form in which labels of replies come.

    The original leaves it as it is and lower-cases what it compares with, so that `Positive` is
    never right there.
    """
    if label_match == "robust":
        return target_output.strip()
    return target_output


def classification_sample(
    *,
    target_output: str,
    model_output: str,
    valid_labels: Sequence[str],
    label_match: LabelMatch = "fmeval",
) -> dict[str, int]:
    """Tells whether the label of a reply is the right one.

    Args:
        target_output: The right label. `robust` compares it whatever its case; `fmeval` compares it
            as it is with a lower-cased one, and a target named `unknown` is right where no label
            was found.
        model_output: Reply of the model.
        valid_labels: The labels.
        label_match: As in `fm.classification_label`.

    Returns:
        `classification_accuracy_score`, 0 or 1; higher is better.

    Raises:
        ValueError: the rule is unknown.

    >>> classification_sample(
    ...     target_output="Positive", model_output="positive", valid_labels=["Positive"]
    ... )
    {'classification_accuracy_score': 0}
    """
    label = classification_label(
        model_output=model_output, valid_labels=valid_labels, label_match=label_match
    )["label"]
    return {"classification_accuracy_score": int(is_right(label, target_output, label_match))}


def is_right(label: str, target_output: str, label_match: LabelMatch) -> bool:
    """Returns whether the label of a reply is the right one."""
    if label_match == "robust":
        return label != INVALID and same_label(label, target_output)
    return label == target_output


def same_label(first: str, second: str) -> bool:
    """Tells whether two labels are one: no case, no white space around them, `1.0` as `1`.

    >>> same_label(" Positive", "positive"), same_label("1.0", "1")
    (True, True)
    """
    return folded(first) == folded(second)


METRICS = {
    "fm.classification_label": classification_label,
    "fm.classification_sample": classification_sample,
}
