"""Changes of letters and blanks: typos, spaces, fillers, lower case."""

from __future__ import annotations

import re

from custom_metrics.compliance.perturb.draw import choose, generator

#: Neighbours on an English keyboard, as HELM lists them.
_NEIGHBOURS = {
    "q": "was",
    "w": "qesad",
    "e": "wsdfr",
    "r": "edfgt",
    "t": "rfghy",
    "y": "tghju",
    "u": "yhjki",
    "i": "ujklo",
    "o": "iklp",
    "p": "ol",
    "a": "qwsz",
    "s": "weadzx",
    "d": "erfcxs",
    "f": "rtgvcd",
    "g": "tyhbvf",
    "h": "yujnbg",
    "j": "uikmnh",
    "k": "iolmj",
    "l": "opk",
    "z": "asx",
    "x": "sdcz",
    "c": "dfvx",
    "v": "fgbc",
    "b": "ghnv",
    "n": "hjmb",
    "m": "jkn",
}
#: Hedges (Kovatchev et al. 2021), then fillers (Laserna et al. 2014).
FILLERS = (
    "maybe",
    "perhaps",
    "probably",
    "possibly",
    "most likely",
    "uhm",
    "umm",
    "ahh",
    "err",
    "actually",
    "obviously",
    "naturally",
    "like",
    "you know",
)
_BLANKS = re.compile(r" +")


def perturb_lowercase(*, text: str) -> str:
    """Lower-cases a text.

    >>> perturb_lowercase(text="The QUICK Brown")
    'the quick brown'
    """
    return text.lower()


def perturb_typos(*, text: str, seed: int, probability: float = 0.1) -> str:
    """Replaces each letter a to z with a given probability by a neighbour on the keyboard.

    The case is kept.
    """
    draws = generator(seed)
    letters = []
    for letter in text:
        near = _NEIGHBOURS.get(letter.lower())
        if near is None or draws.random() >= probability:
            letters.append(letter)
        else:
            typed = choose(draws, near)
            letters.append(typed.upper() if letter.isupper() else typed)
    return "".join(letters)


def perturb_spaces(*, text: str, seed: int, max_spaces: int = 3) -> str:
    """Replaces each run of blanks by 0 to `max_spaces` blanks, so that words may merge."""
    draws = generator(seed)
    return _BLANKS.sub(
        lambda _: " " * min(int(draws.random() * (max_spaces + 1)), max_spaces), text
    )


def perturb_spaces_fixed(*, text: str, max_spaces: int = 3) -> str:
    """Replaces each blank by `max_spaces` blanks.

    >>> perturb_spaces_fixed(text="a b", max_spaces=3)
    'a   b'
    """
    return text.replace(" ", " " * max(max_spaces, 0))


def perturb_filler_words(*, text: str, seed: int, probability: float = 0.3) -> str:
    """Puts a hedge or filler before each word but the first, with a given probability.

    Words are what blanks part.
    """
    draws = generator(seed)
    words: list[str] = []
    for place, word in enumerate(text.split(" ")):
        if place and draws.random() <= probability:
            words.append(choose(draws, FILLERS))
        words.append(word)
    return " ".join(words)


METRICS = {
    "compliance.perturb_filler_words": perturb_filler_words,
    "compliance.perturb_lowercase": perturb_lowercase,
    "compliance.perturb_spaces": perturb_spaces,
    "compliance.perturb_spaces_fixed": perturb_spaces_fixed,
    "compliance.perturb_typos": perturb_typos,
}
