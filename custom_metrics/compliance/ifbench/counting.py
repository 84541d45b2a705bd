"""Rules of IFBench on counts and shares (`count:`, `ratio:`)."""

from __future__ import annotations

import re

from custom_metrics.compliance.ifbench.texts import (
    MARKS,
    bare_words,
    sentences,
    tokens,
    trimmed,
    without_marks,
)

_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_CONJUNCTIONS = frozenset(("and", "but", "for", "nor", "or", "so", "yet"))
_NAMES = """
Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander Amelia
Benjamin Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella Jacob
Scarlett Nathan Victoria Elijah Layla Nicholas Audrey David Hannah Christopher Penelope Thomas Nora
Andrew Aria Joseph Claire Ryan Stella Jonathan
""".split()  # noqa: SIM905 - a list of names reads better so
_PRONOUN_LIST = """
i me we us you he him she her it they them my mine our ours your yours his hers its their theirs
myself ourselves yourself yourselves himself herself itself themselves this that these those who
whom whose which what whoever whomever whatever whichever anybody anyone anything everybody everyone
everything nobody nothing somebody someone something each either neither both all some any none
""".split()  # noqa: SIM905
_PRONOUNS = frozenset(_PRONOUN_LIST)
_INTERROBANGS = ("?!", "!?")
_TIMES = (1, 2, 3, 5, 7)
_TOLERANCE = 2  # percentage points


def word_count_range(text: str, *, min_words: int, max_words: int) -> bool:
    """Number of words within bounds."""
    return min_words <= len(_WORD.findall(text)) <= max_words


def unique_word_count(text: str, *, N: int) -> bool:  # noqa: N803 - the data's name
    """At least N different words."""
    words = text.lower().split()
    different = {word.strip(MARKS + " ") for word in words}
    return len(different) >= N


def stop_words(text: str, *, percentage: float) -> bool:
    """At most a percentage of stop words, out of NLTK's list."""
    from nltk.corpus import stopwords

    words = _WORD.findall(text)
    if not words:
        return False
    known = frozenset(stopwords.words("english"))
    stops = sum(word.lower() in known for word in words)
    return bool(stops / len(words) * 100 <= percentage)


def _ends(text: str) -> list[int]:
    """Sentences that end with a full stop, a question mark, an exclamation mark."""
    parts = sentences(text)
    return [sum(part.endswith(mark) for part in parts) for mark in ".?!"]


def sentence_type(text: str) -> bool:
    """Twice as many sentences with a full stop as with a question mark."""
    statements, questions, _calls = _ends(text)
    return statements == 2 * questions


def sentence_balance(text: str) -> bool:
    """As many sentences of each kind."""
    return len(set(_ends(text))) == 1


def conjunctions(text: str, *, small_n: int) -> bool:
    """At least so many coordinating conjunctions; spellings count apart."""
    words = set(text.split())
    spellings = [word for word in words if trimmed(word).lower() in _CONJUNCTIONS]
    return len(spellings) >= small_n


def person_names(text: str, *, N: int) -> bool:  # noqa: N803
    """At least N of fifty given names, as whole words."""
    present = [name for name in _NAMES if re.search(rf"\b{name}\b", text)]
    return len(present) >= N


def overlap(text: str, *, reference_text: str, percentage: float) -> bool:
    """The share of the reply's trigrams of letters that a reference has, within 2 points."""
    trigrams = _trigrams(text)
    known = _trigrams(reference_text)
    if not trigrams:
        return False
    share = 100 * (len(trigrams & known) / len(trigrams))
    return percentage - _TOLERANCE <= share <= percentage + _TOLERANCE


def _trigrams(text: str) -> set[str]:
    return {text[place : place + 3] for place in range(len(text) - 2)}


def numbers(text: str, *, N: int) -> bool:  # noqa: N803
    """Exactly N numbers; punctuation in a number does not part it."""
    return len(_DIGITS.findall(without_marks(text))) == N


def punctuation(text: str) -> bool:
    """Each of six marks, besides one interrobang."""
    if not any(mark in text for mark in (*_INTERROBANGS, "\u203d")):
        return False
    rest = text
    for mark in _INTERROBANGS:
        if mark in text:
            rest = text.replace(mark, "", 1)
            break
    return set(".,!?;:") <= set(rest)


def words_japanese(text: str, *, N: int) -> bool:  # noqa: N803
    """Each N-th word holds a Japanese sign; numbers and marks are free."""
    for word in map(trimmed, text.split()[N - 1 :: N]):
        if word and not word.isdigit() and not _JAPANESE.search(word):
            return False
    return True


def pronouns(text: str, *, N: int) -> bool:  # noqa: N803
    """At least N pronouns."""
    words = tokens(text.replace("/", " ").lower())
    return sum(word in _PRONOUNS for word in words) >= N


def keywords_multiple(
    text: str, *, keyword1: str, keyword2: str, keyword3: str, keyword4: str, keyword5: str
) -> bool:
    """Five texts that occur 1, 2, 3, 5 and 7 times, in any case."""
    keywords = (keyword1, keyword2, keyword3, keyword4, keyword5)
    lower = text.lower()
    for keyword, times in zip(keywords, _TIMES, strict=True):
        if lower.count(keyword.strip().lower()) != times:
            return False
    return True


def repeats(text: str, *, small_n: int) -> bool:
    """No word more than so many times."""
    words = sorted(bare_words(text.lower()))
    places = range(small_n, len(words))
    return all(words[place] != words[place - small_n] for place in places)
