"""Words replaced after a table: misspellings, dialect, synonyms."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from custom_metrics.compliance.perturb.case import match_case
from custom_metrics.compliance.perturb.draw import choose, generator

Table = Mapping[str, Sequence[str]]

#: Small tables of our own, for runs without the original's. The full ones: Wikipedia's list of
# common misspellings, the : SAE-to-AAVE map of VALUE (Ziems et al. 2022), WordNet's synonyms.
MISSPELLINGS: Table = {
    "accommodate": ["accomodate"],
    "achieve": ["acheive"],
    "across": ["accross"],
    "argument": ["arguement"],
    "available": ["availible"],
    "because": ["becuase"],
    "before": ["befor"],
    "beginning": ["begining"],
    "believe": ["beleive"],
    "between": ["betwen"],
    "definitely": ["definately", "definitly"],
    "different": ["diffrent"],
    "environment": ["enviroment"],
    "example": ["exemple"],
    "existence": ["existance"],
    "following": ["folowing"],
    "foreign": ["foriegn"],
    "government": ["goverment"],
    "group": ["gruop"],
    "important": ["importent"],
    "independent": ["independant"],
    "knowledge": ["knowlege"],
    "necessary": ["neccessary", "necesary"],
    "occurred": ["occured"],
    "people": ["peopel"],
    "piece": ["peice"],
    "possible": ["posible"],
    "probably": ["probaly"],
    "receive": ["recieve"],
    "separate": ["seperate"],
    "statement": ["statment"],
    "successful": ["succesful"],
    "their": ["thier"],
    "through": ["thru"],
    "until": ["untill"],
    "which": ["wich", "whcih"],
    "world": ["wrold"],
    "would": ["woudl"],
    "writing": ["writting"],
}
DIALECT: Table = {
    "about": ["bout"],
    "asking": ["askin"],
    "because": ["cuz", "cause"],
    "brother": ["brotha"],
    "doing": ["doin"],
    "going": ["goin"],
    "isn't": ["ain't"],
    "making": ["makin"],
    "mother": ["mutha"],
    "nothing": ["nuthin"],
    "something": ["sumthin"],
    "that": ["dat"],
    "the": ["da"],
    "them": ["dem"],
    "there": ["dere"],
    "these": ["dese"],
    "they": ["dey"],
    "this": ["dis"],
    "those": ["dose"],
    "with": ["wit"],
    "working": ["workin"],
}
SYNONYMS: Table = {
    "answer": ["reply", "response"],
    "begin": ["start", "commence"],
    "best": ["finest"],
    "big": ["large"],
    "cause": ["bring about", "produce"],
    "city": ["town"],
    "country": ["nation", "land"],
    "describe": ["depict"],
    "difficult": ["hard"],
    "find": ["discover", "locate"],
    "goal": ["aim"],
    "help": ["aid", "assist"],
    "important": ["significant"],
    "increase": ["growth", "rise"],
    "large": ["big"],
    "main": ["chief", "principal"],
    "make": ["create", "produce"],
    "method": ["procedure"],
    "need": ["require"],
    "often": ["frequently"],
    "part": ["portion"],
    "person": ["individual"],
    "place": ["spot"],
    "quick": ["fast", "rapid"],
    "reason": ["ground"],
    "result": ["outcome"],
    "show": ["display", "demonstrate"],
    "small": ["little"],
    "study": ["examination"],
    "use": ["employ", "apply"],
    "visible": ["seeable"],
    "way": ["manner"],
    "work": ["labour"],
}


def _replaced(
    text: str, pattern: str, seed: int, options: Callable[[str], Sequence[str]], flags: int = 0
) -> str:
    """Replaces the first group of every match by a chosen option in the case of the word."""
    draws = generator(seed)

    def other(match: re.Match[str]) -> str:
        word = match[1]
        choices = options(word)
        if not choices:
            return match[0]
        return match[0].replace(word, match_case(source=word, target=str(choose(draws, choices))))

    return re.sub(pattern, other, text, flags=flags)


def _words(table: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in table if word)


def perturb_misspelling(*, text: str, seed: int = 0, table: Table | None = None) -> str:
    """Misspell every word of a table, as whole words in the table's spelling; the case is kept.

    Args:
        text: The text.
        seed: Decides between several misspellings.
        table: Word -> misspellings; a small table of our own if absent.

    >>> perturb_misspelling(text="An elephant.", table={"elephant": ["elphant"]})
    'An elphant.'
    """
    known = MISSPELLINGS if table is None else table
    # Words are looked up; only what is none (`a lot`, `didn't`) has to stand in the pattern.
    phrases = _words(word for word in known if not word.isalnum())
    pattern = rf"\b({phrases}|\w+)\b" if phrases else r"\b(\w+)\b"
    return _replaced(text, pattern, seed, lambda word: known.get(word, ())) if known else text


def perturb_dialect(*, text: str, seed: int = 0, table: Table | None = None) -> str:
    """Replaces words by their forms in another dialect of English; the case is kept.

    A word counts where a character that is neither letter, digit nor hyphen stands on both sides,
    so that one at the very start or end of the text stays, as in the original.

    Args:
        text: The text.
        seed: Decides between several forms.
        table: Word in lower case -> forms; a small table of our own if absent.

    >>> perturb_dialect(text="Come with me", table={"with": ["wit"]})
    'Come wit me'
    """
    known = DIALECT if table is None else table
    words, pattern = _words(known), r"[^\w-]({})[^\w-]"
    options = lambda word: known.get(word.lower(), ())  # noqa: E731 - read twice, meant once
    return _replaced(text, pattern.format(words), seed, options, re.IGNORECASE) if words else text


def perturb_synonym(*, text: str, seed: int = 0, table: Table | None = None) -> str:
    """Replaces words by synonyms; the case is kept.

    The original tags parts of speech and asks WordNet; here a word is looked up in lower case as
    it is written, else in its base form by WordNet's rules of detachment (morphy(7WN)).

    Args:
        text: The text.
        seed: Decides between several synonyms.
        table: Word in lower case -> synonyms; a small table of our own if absent.

    >>> perturb_synonym(text="A big house", table={"big": ["large"]})
    'A large house'
    """
    known = SYNONYMS if table is None else table
    options = functools.partial(_synonyms, known)
    return _replaced(text, r"\b([^\W\d_]+)\b", seed, options)


#: Ending of an inflected word -> ending of its base form.
_DETACHMENT = (
    ("ches", "ch"), ("shes", "sh"), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ies", "y"),
    ("men", "man"), ("s", ""), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"),
    ("ing", ""), ("er", ""), ("est", ""), ("er", "e"), ("est", "e"),
)  # fmt: skip


def _synonyms(table: Table, word: str) -> Sequence[str]:
    """Synonyms of a word, or of the first base form that the table has."""
    lowered = word.lower()
    if lowered in table:
        return table[lowered]
    for ending, base in _DETACHMENT:
        form = lowered.removesuffix(ending) + base
        if lowered.endswith(ending) and form in table:
            return [synonym for synonym in table[form] if synonym != lowered]
    return ()


METRICS = {
    "compliance.perturb_dialect": perturb_dialect,
    "compliance.perturb_misspelling": perturb_misspelling,
    "compliance.perturb_synonym": perturb_synonym,
}
