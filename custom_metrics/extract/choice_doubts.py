# ruff: noqa: RUF001 - replies use typographic quotes, dashes, full-width marks and other scripts;
# the patterns name them
"""Words that take a letter back, or make it a word.

They are the other half of the vocabulary of `custom_metrics.extract.choice`.
"""

from __future__ import annotations

import re

from custom_metrics.extract.choice_patterns import CLOSE, ENGLISH_LABEL, OPEN
from custom_metrics.patterns import any_of

_ROMAN = r"(?:[A-Z]|I{2,3}|I?V|VI{1,3}|IX)(?![^\W_]|['’]\w)"
_AND_OR = any_of("or and oder und ou et o y e или и")
_MAYBE = any_of("maybe perhaps possibly also even")
_JOIN = any_of(
    rf"、 \b{_AND_OR}\b(?:\s+{_MAYBE})? / & \+",
    r"或 和 または 또는 أو",
    r",(?:\s{0,2}(?:or|and)\b)? (?<=[)\]])(?=[(\[])",
)
# "or it could be"
_OR_MAY_BE = rf"{CLOSE}{{0,8}},?\s+or\s+(?:it\s+)?(?:could|might|may)\s+be\b"
# The pronoun: "A, and I think".
_PRONOUN = r"I\s+(?!and\b|or\b)[a-z]{2}"
_ANOTHER_LETTER = (
    rf"{CLOSE}{{0,8}}(?:\((?:or|and)\b|{_JOIN})\s{{0,4}}"
    rf"(?:{ENGLISH_LABEL})?{OPEN}{{0,16}}(?!{_PRONOUN}){_ROMAN}"
)
_PREDICATE = any_of(
    "is are was has have can cannot does do would fails? uses? gives? says? ignores? assumes?"
)
_LETTERS_TO_THE_END = r"(?:\s{1,3}(?:[-*•]\s)?\(?[A-Z]\)?){1,25}[\s.]*\Z"
_LINE_OF_LETTERS = r"(?:[ \t]+[A-Z]){1,25}[ \t.]*\n"
# "A or B", "A/C", "A, B and D", "(A)(B)", "A B C": no choice was made. "B, and A is wrong" is one:
# a verb follows.
HEDGE = re.compile(
    rf"{_OR_MAY_BE}|{_ANOTHER_LETTER}(?!{CLOSE}{{1,6}}{_PREDICATE}\b)"
    rf"|{_LETTERS_TO_THE_END}|{_LINE_OF_LETTERS}"
)
_OR_BEFORE = any_of("or and nor oder und ou et")
# The same seen from the last of the letters: "A, B or" stands before it.
HEDGED = re.compile(
    rf"(?<![^\W_])[A-Z]{CLOSE}{{0,4}}(?:,?\s*\b{_OR_BEFORE}\b|[/&,])\s*"
    rf"(?:{ENGLISH_LABEL})?\s{{0,2}}\Z"
)
_SETS_ASIDE = any_of(
    r"not or never cannot neither nor except unlike without than instead\s+of against",
    "about at out consider(?:ing)? check(?:ing)? examine evaluate eliminat(?:e|es|ed|ing)",
    "exclude[sd]? excluding reject(?:s|ed|ing)? discard(?:s|ed)? analy[sz]e wrong see",
)
# "rather than (", "We can eliminate options"
REFUSED = re.compile(rf"(?:\b{_SETS_ASIDE}|n['’]t)\b[^.!?\n,;]{{0,24}}\Z", re.IGNORECASE)
"""What stands before a letter that is named without being chosen."""
_DENIES = (
    r"\bcan(?:not|['’]t)\s+\w+"
    r"|\b(?:do|did|does)(?:n['’]t|\s+not)\s+(?:think|believe|mean)"
    r"|\bunlikely|\bimpossible|\bdoubt"
)
_SAY = any_of("say think argue believe guess claim")
_ONE_MIGHT_SAY = (
    r"(?<!\bI\s)(?<!\bwe\s)\b(?:might|may|could|would)\s+"
    rf"(?:be\s+tempted\s+to\s+)?{_SAY}"
)
_SUPPOSES = r"\bwhether|\bif|\bsuppose|\bassum(?:e|ing)"
# "I doubt that", "One might be tempted to say that", "If"
DENIED = re.compile(
    rf"(?:{_DENIES}|{_ONE_MIGHT_SAY}|{_SUPPOSES})\b[^.!?\n,;:]{{0,25}}\Z", re.IGNORECASE
)
"""What stands before a statement that is denied, or made for the sake of argument."""
_VERB = any_of(r"is are was seems? looks? must\s+be can cannot does would")
_REJECTION = any_of(
    r"wrong incorrect false not\b out\b eliminated excluded invalid fails?\b",
    r"(?:be|been)\s+(?:eliminated|excluded|ruled|rejected) (?:is|does|was)n['’]t ruled",
)
# ") is clearly wrong", ": incorrect", " can be ruled out", " isn't"
REJECTED = re.compile(
    rf"{CLOSE}{{0,8}}[:,–—-]?\s(?:{_VERB}\s+)?"
    rf"(?:(?:clearly|also|therefore|definitely)\s+)?{_REJECTION}",
    re.IGNORECASE,
)
# "B, no", "B ... wait"; not "B, no doubt"
_SECOND_THOUGHT = (
    r"[,;…–—-]\s{0,3}(?:no|wait|hmm|sorry|scratch\s+that)\b"
    r"(?!\s+(?:doubt|other|need|change|effect|difference))"
)
# "(B) No, because ..." and "C. No effect" are texts of options; "B. No, wait" is none.
_CORRECTS = any_of(r"wait sorry that i\b hold actually scratch it\b this [A-Z]\b(?!\s)")
_NO = rf"no\b(?=[,.:;!…–—-]{{0,2}}\s{{1,2}}{_CORRECTS}|\s[a-z]?\Z)"
_RECONSIDERS = rf"\s{{0,3}}(?:{_NO}|wait|hmm|sorry|scratch\s+that)\b"
RETRACTED = re.compile(rf"{CLOSE}{{0,4}}(?:\?|{_SECOND_THOUGHT}|{_RECONSIDERS})", re.IGNORECASE)
"""What follows a letter that is named without being chosen: a verdict against it, a question
mark, second thoughts."""

# "Answer: A triangle has ..." and "The answer is G proteins" hold words, "Answer: A because ..."
# holds a letter.
_GOES_ON = (
    "because since as and or for due given which is with based but by if when while",
    "the this that these it they we he she",
)
_GOES_ON_LONGER = (
    *_GOES_ON,
    "not are was were has have would can could cannot must should does do from in on to at here",
    "rather instead where although though however after then thus therefore only correct right",
    "so i you there according over best also again indeed will",
    "ist sind est es são richtig korrekt correcta?e? corretta correta",
    "represents describes states explains says matches fits seems makes gives shows satisfies",
    "works remains",
)
WORD_AFTER = re.compile(rf"[*_]{{0,3}}[ \t]+(?!{any_of(*_GOES_ON)}\b)[a-z]")
NOUN_AFTER = re.compile(rf"[ \t]+(?!{any_of(*_GOES_ON_LONGER)}\b)[a-z]{{2}}")
BLANK_THEN_MORE = re.compile(r"[ \t]+\S")
_SPECIES_NAME = any_of(
    "coli pylori elegans melanogaster subtilis difficile botulinum albicans perfringens tetani",
    "anthracis cereus thaliana gondii faecalis influenzae vulgaris sapiens baumannii",
)
# Behind the letter of a genus: E. coli
SPECIES = re.compile(rf"\.\s{_SPECIES_NAME}\b")
_NO_REASON = r"(?!because|since|as\b|while|whereas|not\b|rather)"
_CONTRASTS = any_of("because since while whereas not than unlike but with contradicts? as")
# "(H) Rods and (G) Cones", "(G) for the first part and (H) for the second": two options with their
# texts.
WITH_ANOTHER = re.compile(
    rf"\s?[).\]}}*]{{1,4}}\s{_NO_REASON}"
    rf"(?:(?!\b{_CONTRASTS}\b)[^.\n()]){{1,60}}?"
    r"(?:\b(?:and|or)|,)\s(?:also,?\s)?(?:the\s)?(?:option\s)?"
    r"(?:\([A-J]\)\s?|[A-J][.)]\s)[A-Za-z\d]"
)
_RIGHT = (
    r"(?:also\s|both\s|all\s|equally\s)?"
    r"(?:correct|right|true|valid)\b(?!\s(?:that|for|but|only))"
)
_FIRST = r"(?<![^\W_])[A-J][)*]{0,3}"
_SECOND = rf"(?:{ENGLISH_LABEL})?[(*]{{0,3}}[A-J][)*]{{0,3}}"
# "(B) is correct and (C) is correct", "both A and D are right": no choice was made.
SEVERAL_RIGHT = re.compile(
    rf"{_FIRST}\s(?:is|are)\s{_RIGHT}[^.\n]{{0,12}}"
    rf"\b(?:and|so\sis)\s{_SECOND}(?:\s(?:is|are)\s{_RIGHT}|[.\s]{{0,3}}$)"
    rf"|{_FIRST},?\sand\s{_SECOND}\sare\s{_RIGHT}",
    re.MULTILINE,
)
_LETTERED = any_of(
    "vitamin hepatitis type group class grade plan point company firm theorem schedule section",
    "part figure table case event set matrix language variable person student team planet city",
    "town line angle side patient factor compound element gas substance defendant plaintiff party",
    "phase state node vertex station school bank country letter note key scale blood",
)
# "The best-known vitamin is C.": the letter names a thing of its kind.
NAMES = re.compile(
    rf"\b{_LETTERED}\b[^.\n]{{0,12}}"
    r"\b(?:is|are|was|of|in|by|as)\s{1,2}[(*\"']{0,3}\Z",
    re.IGNORECASE,
)
# Behind a small letter, a sentence: "(a) The work is 12 J", but neither "b) 12 m/s" nor "b) is
# right".
PART_TEXT = re.compile(r"[).:]{1,2}\s(?!is\b|because|since|as\b)(?:[\w'’]+\s){3}")
_NEGATION = r"(?:\bcannot|\bcan['’]t|\bnot|\bnever|n['’]t|\bneither|\bnor)"
DENIED_NEAR = re.compile(rf"{_NEGATION}\s(?:\w{{1,10}}\s)?[(*\"']{{0,3}}\Z", re.IGNORECASE)
OPEN_END = re.compile(
    r"\b(?:and|or|while|whereas|but|for|if)\s"
    r"(?:option\s|choice\s|statement\s)?\(?[A-J]\)?\s*\Z"
)
_CONCLUDES = any_of("→ ⇒ [-=]> [Ss]o [Tt]hus [Tt]herefore [Hh]ence [Aa]nswer:?")
# "It floats. Therefore, (B)"
ENDS_IN_A_LETTER = re.compile(
    rf"[.!?)]\s{{1,3}}{_CONCLUDES}[\s,:]{{1,3}}\(?[A-J][)\]*]{{0,3}}\s*\Z"
)
# "Option (A) holds for gases": the start of a discussion, where other options follow.
SUBJECT = re.compile(rf"{CLOSE}{{0,4}}\s(?!because\b|since\b|due\b|as\b|for\b)[a-z]")
# "None of the options is right": what stood before is no choice.
NONE_OF_THEM = re.compile(
    r"\b(?:none\s+of|not\s+among|not\s+(?:listed\s+)?in|no\s+option\s+(?:in|among))\s+"
    r"(?:(?:the|these|those|your)\s+)?(?:\w+\s+){0,2}"
    r"(?:options?|choices|answers?)\b",
    re.IGNORECASE,
)
