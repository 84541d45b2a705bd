"""English contractions and what they stand for."""

from __future__ import annotations

import functools
import re

from custom_metrics.compliance.perturb.case import match_case

#: Contraction -> expansion, in the order of the original (NL-Augmenter), which decides between
# several.
_PAIRS = """
ain't is not; aren't are not; can't cannot; can't've cannot have; could've could have;
couldn't could not; didn't did not; doesn't does not; don't do not; hadn't had not;
hasn't has not; haven't have not; he'd he would; he'd've he would have; he'll he will; he's he is;
how'd how did; how'd'y how do you; how'll how will; how's how is; I'd I would; I'll I will;
I'm I am; I've I have; i'd i would; i'll i will; i'm i am; i've i have; isn't is not;
it'd it would; it'll it will; it's it is; ma'am madam; might've might have; mightn't might not;
must've must have; mustn't must not; needn't need not; oughtn't ought not; shan't shall not;
she'd she would; she'll she will; she's she is; should've should have; shouldn't should not;
that'd that would; that's that is; there'd there would; there's there is; they'd they would;
they'll they will; they're they are; they've they have; wasn't was not; we'd we would;
we'll we will; we're we are; we've we have; weren't were not; what're what are; what's what is;
when's when is; where'd where did; where's where is; where've where have; who'll who will;
who's who is; who've who have; why's why is; won't will not; would've would have;
wouldn't would not; you'd you would; you'd've you would have; you'll you will; you're you are;
you've you have
"""


@functools.cache
def _expansions() -> dict[str, str]:
    expansions = {}
    for pair in _PAIRS.replace("\n", " ").split(";"):
        short, _, long = pair.strip().partition(" ")
        expansions[short] = long
    return expansions


@functools.cache
def _contractions() -> dict[str, str]:
    """Expansion -> contraction; the last pair wins ("is not" -> "isn't"), in the first's place."""
    return {long: short for short, long in _expansions().items()}


@functools.cache
def _pattern(*, long: bool) -> re.Pattern[str]:
    table = _contractions() if long else _expansions()
    words = "|".join(map(re.escape, table))
    # What ends a sentence is not contracted: the blank that must follow is part of the match.
    following = " " if long else ""
    return re.compile(rf"\b({words})\b{following}", re.IGNORECASE)


def _replaced(word: str, table: dict[str, str]) -> str:
    other = table.get(word, table.get(word.lower()))
    if other is None:
        return word
    return match_case(source=word, target=other)


def perturb_contraction(*, text: str) -> str:
    """Contract what can be contracted and is followed by a blank, without regard to case.

    The case is kept.

    >>> perturb_contraction(text="She is a doctor, and I am a student")
    "She's a doctor, and I'm a student"
    """
    table = _contractions()
    pattern = _pattern(long=True)
    return pattern.sub(lambda match: _replaced(match[1], table) + " ", text)


def perturb_expansion(*, text: str) -> str:
    """Expands every contraction, without regard to case; the case is kept.

    >>> perturb_expansion(text="Who's there?")
    'Who is there?'
    """
    table = _expansions()
    pattern = _pattern(long=False)
    return pattern.sub(lambda match: _replaced(match[1], table), text)


METRICS = {
    "compliance.perturb_contraction": perturb_contraction,
    "compliance.perturb_expansion": perturb_expansion,
}
