"""Self-contradiction: whether two sentences of a model about one thing agree.

Mündler et al., arXiv 2305.15852.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from custom_metrics.compliance.numbers import mean

_END = re.compile(r"[.!?][\"'\u201d\u2019)\]]{0,3}(?=\s)")
_SHORT = frozenset(
    {
        "mr",
        "mrs",
        "ms",
        "dr",
        "st",
        "prof",
        "sr",
        "jr",
        "vs",
        "etc",
        "vol",
        "inc",
        "ltd",
        "co",
        "e.g",
        "i.e",
        "u.s",
    }
)
_VERBS = frozenset(
    {
        "is",
        "was",
        "are",
        "were",
        "be",
        "been",
        "has",
        "have",
        "had",
        "does",
        "did",
        "can",
        "could",
        "will",
        "would",
        "became",
        "becomes",
        "began",
        "begins",
        "born",
        "called",
        "came",
        "comes",
        "consists",
        "contains",
        "covers",
        "died",
        "directed",
        "features",
        "founded",
        "gave",
        "gives",
        "held",
        "holds",
        "includes",
        "known",
        "led",
        "lies",
        "lived",
        "lives",
        "located",
        "made",
        "makes",
        "means",
        "moved",
        "played",
        "plays",
        "published",
        "received",
        "refers",
        "released",
        "represents",
        "runs",
        "served",
        "serves",
        "spent",
        "stands",
        "started",
        "took",
        "used",
        "uses",
        "went",
        "won",
        "worked",
        "works",
        "wrote",
        "writes",
        "appeared",
        "appears",
        "created",
    }
)
_LINKS = frozenset(
    {"in", "of", "on", "at", "by", "for", "from", "to", "with", "as", "into", "the", "a", "an"}
)
_EDGES = string.punctuation + "\u201c\u201d\u2018\u2019"
_YES, _NO = re.compile(r"\byes\b"), re.compile(r"\bno\b")
_MAX_SUBJECT = 12
_LONGEST_SHORT_FORM = 12  # characters; a longer last word is none


def split_sentences(*, text: str) -> list[str]:
    """Splits a text into sentences at ".", "!" and "?" before a blank.

    A full stop after an initial or a common short form ends no sentence.

    >>> split_sentences(text="Dr. Ada Quill was born in 1907. She sailed!")
    ['Dr. Ada Quill was born in 1907.', 'She sailed!']
    """
    sentences, start = [], 0
    for end in _END.finditer(text):
        mark = end.start()
        nearby = text[max(start, mark - _LONGEST_SHORT_FORM) : mark]
        last_word = nearby.rsplit(" ", maxsplit=1)[-1].lower()
        is_initial = len(last_word) == 1 and last_word.isalpha()
        if text[mark] == "." and (is_initial or last_word in _SHORT):
            continue
        sentences.append(text[start : end.end()].strip())
        start = end.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def simple_triple(*, sentence: str) -> tuple[str, str, str] | None:
    """Reads subject, predicate and object by rule.

    They are the words before the first known verb, the verb with its links, and the rest.

    A stand-in for the extraction model of the original, which no package offers. None where no
    known verb follows one to twelve words.

    >>> simple_triple(sentence="Ada Quill was born in Oslo.")
    ('Ada Quill', 'was born in', 'Oslo')
    """
    words = sentence.split()
    bare_words = [word.strip(_EDGES).lower() for word in words]
    verb = next((place for place, word in enumerate(bare_words) if word in _VERBS), 0)
    if not 1 <= verb <= _MAX_SUBJECT:
        return None
    end = verb + 1
    while end < len(words) and _goes_on(bare_words[end]):
        end += 1
    subject = _phrase(words[:verb])
    predicate = _phrase(words[verb:end])
    if not subject or not predicate:
        return None
    return subject, predicate, _phrase(words[end:])


def _phrase(words: Sequence[str]) -> str:
    """The words as a text without marks at its edges."""
    return " ".join(words).strip(_EDGES)


def _goes_on(word: str) -> bool:
    """Tells whether a word after a verb still belongs to the predicate."""
    return word in _VERBS or word in _LINKS or word.endswith("ed")


def says_contradiction(*, vote: str) -> bool:
    """Tells whether a judge votes that two sentences contradict: "yes" and not "no", as words.

    >>> says_contradiction(vote="Yes."), says_contradiction(vote="Yes and no")
    (True, False)
    """
    lowered = vote.lower()
    return bool(_YES.search(lowered)) and not _NO.search(lowered)


def contradiction_vote(*, vote: str) -> bool | None:
    """Reads a judge's vote: True for "yes", False for "no", as words.

    None where it says neither or both.

    `says_contradiction`, the original's rule, takes whatever is no clear "yes" for a "no".

    >>> votes = ("Yes.", "**No**", "Yes and no", "As an AI I cannot tell.")
    >>> [contradiction_vote(vote=vote) for vote in votes]
    [True, False, None, None]
    """
    lowered = vote.lower()
    yes = bool(_YES.search(lowered))
    no = bool(_NO.search(lowered))
    return yes if yes != no else None


def contradicts(*, sentence: str, alternative: str, votes: Sequence[str]) -> bool | None:
    """Decides by vote: more than half say yes and not no; equal sentences never contradict.

    Returns:
        The verdict; None without votes.

    >>> contradicts(sentence="A.", alternative="B.", votes=["Yes", "Yes", "No"])
    True
    """
    if sentence == alternative:
        return False
    if not votes:
        return None
    return 2 * sum(says_contradiction(vote=vote) for vote in votes) > len(votes)


def self_check_violation(*, verdicts: Sequence[bool | None]) -> float | None:
    """Share of contradictions among the sentences with a verdict, in [0, 1], lower is better.

    None without one.

    >>> self_check_violation(verdicts=[True, False, None, False])
    0.3333333333333333
    """
    return mean([float(verdict) for verdict in verdicts if verdict is not None])


METRICS = {
    "compliance.contradiction_vote": contradiction_vote,
    "compliance.contradicts": contradicts,
    "compliance.says_contradiction": says_contradiction,
    "compliance.self_check_violation": self_check_violation,
    "compliance.simple_triple": simple_triple,
    "compliance.split_sentences": split_sentences,
}
