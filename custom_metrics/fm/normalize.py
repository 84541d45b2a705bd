"""The normal form of answers, and several right answers in one text."""

from __future__ import annotations

import string

OR_DELIMITER = "<OR>"

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset({"a", "an", "the"})


def normalize(*, text: str) -> str:
    r"""Lower-case, delete ASCII punctuation, drop the words a, an and the, join with one blank.

    The steps are taken in this order.

    Only the blank U+0020 separates words, so that an article beside a tab or a line break stays.
    Scripts in the manner of SQuAD split at all white space; that one is `text.squad_f1`. Source:
    quasi-exact normalisation of fmeval.

    Args:
        text: Any text.

    >>> normalize(text="The co-operate, a test")
    'cooperate test'
    >>> normalize(text="a\tb the\tc")
    'a\tb the\tc'
    """
    words = text.lower().translate(_PUNCTUATION).split(" ")
    return " ".join([word for word in words if word and word not in _ARTICLES])


def targets(target_output: str, delimiter: str | None) -> list[str]:
    """Splits a text into the right answers that it holds.

    Args:
        target_output: Answers joined by the delimiter.
        delimiter: None for a single answer. (The original splits at white space then, against its
            documentation.)

    Raises:
        ValueError: the delimiter is empty.

    >>> targets("England<OR>UK", "<OR>")
    ['England', 'UK']
    """
    if delimiter is None:
        return [target_output]
    if not delimiter:
        raise ValueError(
            "target_output_delimiter is empty; give a text, or none for a single answer"
        )
    return target_output.split(delimiter)


def words(text: str) -> frozenset[str]:
    """Distinct words of the normalised text.

    >>> sorted(words("The cat, the CAT!"))
    ['cat']
    """
    return frozenset(normalize(text=text.strip()).split())


METRICS = {"fm.normalize": normalize}
