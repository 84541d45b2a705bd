# ruff: noqa: RUF001 - replies use typographic quotes, dashes and full-width marks; the patterns name them
r"""The final number of a reply.

A stated answer counts, whatever numbers surround it; one that is no number ("The answer is (C).") means that there is
none, and never the last bare number before it. Without a statement the concluding sentence counts, in a reply that came
to its end and is no refusal.
"""

from __future__ import annotations

import re

from custom_metrics.extract.numeral import (
    CURRENCY,
    MAX_CHARS,
    NUMBER,
    Unclear,
    canonical_number,
    plain_fractions,
    read,
    same_number,
)
from custom_metrics.extract.sentence import (
    AND_MORE,
    MAX_SENTENCE,
    MOST_READ,
    PAIRED,
    SENTENCE_END,
    sentence_number,
    sentences_from_the_end,
)
from custom_metrics.extract.wording import (
    BOX,
    EASTERN_ANSWER,
    FOREIGN_ANSWER,
    FOREIGN_IS,
    FOREIGN_WORDS,
    OPEN_BOX,
    before_invented_question,
    is_complete,
    without_end_tokens,
)
from custom_metrics.number_names import NUMBER_NAMES

_STATED = re.compile(
    rf"####|<answer>|\banswers?\b[^.\n]{{0,60}}?(?:\bis\b|\bare\b|:|=)|\bans(?:\s?[:=]|\.\s)|\bcorrection\s?:"
    rf"|\bfinal\s+(?:result|number|total)\b[^.\n]{{0,30}}?(?:\bis\b|:|=)|\banswer\s(?:should|must)\sbe\b"
    rf"|\b{FOREIGN_ANSWER}{FOREIGN_WORDS}[*_]{{0,4}}{FOREIGN_IS}|{EASTERN_ANSWER}|^A:|^#{{1,6}}\s(?:final\s)?answer\W{{0,4}}$",
    re.IGNORECASE | re.MULTILINE,
)
_STRICT = re.compile(
    r"####\Z|<answer>\Z|A:\Z|(?:[:：=]|\b(?:is|ist|lautet|es|est))\Z|(?:答案|正解|答え)\S{0,3}\Z", re.IGNORECASE
)
_LEAD = re.compile(
    rf"(?:[\s*_:：=~≈\"'“`(\[{{…]|\.(?!\d)|\\[(\[]|\\?{CURRENCY}|\b(?:about|around|approximately|roughly|exactly|only|simply|just|now|also|"
    r"therefore|equal\s+to|indeed|actually|probably|[a-z]\s?=)(?=[\s$=]))*+",
    re.IGNORECASE,
)
# The rest of a sum stands before an equals sign, with no clause between: "144 miles - 90 miles = 54 miles".
_SUM = re.compile(r"(?:[^=,;\n]|,(?=\d)){0,120}=")
_NO_STATEMENT = re.compile(
    r"\s{0,4}(?:as\s+follows|found|obtained|given|calculated|correct|right|wrong|incorrect|reasonable|consistent|based|in\s+the|"
    r"the\s+(?:sum|difference|product|total|number|amount|same|one)\b|clear|to\b|not\b|asked|expected|required|simple|just\b|represented|"
    r"derived|determined|provided|stored|_{2,}|supposed|an?\s+(?:integer|number|string|whole|natural|positive|numeric))",
    re.IGNORECASE,
)
_NO_ANSWER = (
    r"can(?:not|['’]t)\s+(?:be\s+(?:\w+\s)?(?:answered|determined|solved|known|found|calculated|computed|said|split|done)|answer|determine|"
    r"solve|help|open|see|tell|say|provide|compute|calculate|give)|not\s+(?:enough|sufficient)\s+information|insufficient|not\s+solvable|"
    r"n/a\b|no\s+solution|does\s+not\s+exist|(?:is|are|was)\s+missing|"
    r"not\s+(?:given|specified|provided)|kann\s+man\s+nicht|unbestimmt|无法|不能|не\s+хватает"
)
_WITHOUT_VALUE = r"(?:impossible|unknown|undefined|undetermined|indeterminate|infinit)"
_REFUSAL = re.compile(
    rf"{_NO_ANSWER}|(?:\b(?:is|are|remains?)|['’]s)\s+{_WITHOUT_VALUE}"
    r"|\bsorry,?\s+(?:but|i)\b|\bas\s+an\s+ai\b|\bplease\s+(?:tell|provide|give|specify|clarify)\b",
    re.IGNORECASE,
)
_REFUSED_ANSWER = re.compile(rf"[^.\n]{{0,60}}?(?:{_NO_ANSWER}|{_WITHOUT_VALUE})", re.IGNORECASE)
# Closing words that are no conclusion, and the details that may follow one.
_CLOSING = re.compile(
    r"(?:i\s+hope|hope\s+this|let\s+me\s+know|feel\s+free|thank|please\s+note|note\b|if\s+you\s+(?:have|need)|is\s+there\s+any|"
    r"do\s+you\s+(?:have|need|want)|would\s+you|\d+\s+of\s+(?:those|these|them|which))\b",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(r"(?:so|therefore|thus|hence|in\s+conclusion|consequently)\b", re.IGNORECASE)
_BULLET_LABEL = re.compile(
    r"[-*•]\s+(?!.{0,40}\b(?:total|sum|answer|result|final|income|profit|left)\b)[A-Z][\w ]{0,30}:\s[^=\n]{1,40}\Z",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"\s?[kK]\b")
_POWER_OF_TEN = re.compile(r"\s*10\s?\^\s?\{?\s?(\d{1,3})\s?\}?\s*\Z")
_MAX_PLACES = 50
"""So many statements without a number are passed over, from the end."""
_MAX_SENTENCES = 4
"""So many sentences without a number may follow the concluding one."""


def _spelled(words: str) -> str | None:
    """Read a number in words at the start of a text, up to twenty."""
    found = re.findall(r"[a-z]+", words[:40].lower())
    if not found or found[0] not in NUMBER_NAMES or {*found[1:2]} & {"of", "hundred", *NUMBER_NAMES}:
        return None
    return str(NUMBER_NAMES.index(found[0]))


def _stated_number(tail: str) -> str | Unclear | None:
    """Read the number of the sentence that follows "the answer is".

    A number at the very start counts, unless it begins a sum; else the one that the sentence is about.

    Args:
        tail: Text that begins right after the statement.

    Returns:
        The number in canonical spelling; `unclear` for a list, a range, a formula, a time; None where there is none.

    >>> _stated_number(" 3 + 4 = 7. I checked it 2 times.")
    '7'
    >>> _stated_number(" between 12 and 15")
    'unclear'
    """
    lead = _LEAD.match(tail)
    start = lead.end() if lead else 0
    end = SENTENCE_END.search(tail, start)
    sentence = tail[: end.start() if end else start + MAX_SENTENCE].split("</answer>", maxsplit=1)[0]
    direct = NUMBER.match(sentence, start)
    if direct and not _SUM.match(sentence, direct.end()):
        value = read(sentence, direct)
        if value is not None and (AND_MORE.match(sentence, direct.end()) or PAIRED.match(sentence, direct.end())):
            return "unclear"
        if (
            value
            and value != "unclear"
            and _THOUSANDS.match(sentence, direct.end())
            and re.search(rf"{CURRENCY}\s?\Z", sentence[: direct.start()])
        ):
            return canonical_number(f"{value}e3")
        if value is not None:
            power = _POWER_OF_TEN.match(sentence[start:].rstrip(" .*$"))
            return canonical_number(f"1e{power.group(1)}") if power else value
    if _REFUSED_ANSWER.match(sentence, start):
        return "unclear"
    return sentence_number(sentence[start:]) or _spelled(sentence[start:])


def _boxed_number(content: str) -> str | Unclear | None:
    power = _POWER_OF_TEN.match(content)
    if power:
        return canonical_number(f"1e{power.group(1)}")
    values = [read(content, match) for match in NUMBER.finditer(content, content.rfind("=") + 1)]
    values = [value for value in values if value is not None]
    if not values:
        return "unclear" if re.search(r"\w", content) else None
    return values[0] if len(values) == 1 else "unclear"


def _states_something(statement: str, tail: str) -> bool:
    """Tell whether a statement without a number states an answer, and is not just about the answer."""
    line = tail.lstrip().split("\n", 1)[0]
    return bool(_STRICT.search(statement) and re.match(r"[\W_]{0,12}\w", line) and not _NO_STATEMENT.match(line))


def _stated(text: str) -> str | Unclear | None:
    boxes = list(BOX.finditer(text))
    opened = [box.start() for box in OPEN_BOX.finditer(text)]
    if opened and (not boxes or opened[-1] >= boxes[-1].end()):
        return "unclear"  # cut off within its last box
    places: list[tuple[int, re.Match[str]]] = [(box.start(), box) for box in boxes]
    places += [(statement.end(), statement) for statement in _STATED.finditer(text)]
    for position, match in sorted(places, key=lambda place: place[0], reverse=True)[:_MAX_PLACES]:
        if match.re is BOX:
            value = _boxed_number(match.group("content"))
        else:
            tail = text[position : position + MOST_READ]
            # What stands in quotes is the whole answer: {"answer": "86 glasses and 42 plates"}
            quoted = (
                re.match(r"\s?(\\?\")([^\"\n]{0,400})\1", tail)
                if match.group().rstrip()[-2:] in ('":', '" :')
                else None
            )
            if match.group() == "A:" and (len(tail.split("\n", 1)[0]) > 40 or "\n" in tail.strip()):
                continue  # the answer of a question-and-answer text, reasoning included
            tail = quoted.group(2) if quoted else tail
            value = _stated_number(tail)
            if value is None and _states_something(match.group(), tail):
                value = "unclear"
        if value is not None:
            return value
    return None


def _concluded(text: str) -> str | Unclear | None:
    """Read the concluding sentence of a reply that states nothing, unless it refuses or asks."""
    lines = [line.strip() for line in text.strip().splitlines()[-2:]]
    if len(lines) == 2 and all(_BULLET_LABEL.match(line) for line in lines):
        return None  # a list of findings without a conclusion
    sentences = [one for one in sentences_from_the_end(text, 2 * _MAX_SENTENCES) if not _CLOSING.match(one)]
    if any(_REFUSAL.search(sentence) for sentence in sentences[:2]):
        return None
    for passed, sentence in enumerate(sentences):
        if sentence.endswith(("?", "？")):
            return None
        value = sentence_number(sentence)
        if value is not None:
            return value
        if _CONCLUDES.match(sentence) or passed == _MAX_SENTENCES:
            return None
    return _spelled(text) if len(text.strip()) <= 12 else None


def extract_number(text: str, *, complete: bool | None = None) -> str | None:
    r"""Find the final number of a reply.

    The last statement ("the answer is 12", "#### 12") or box counts; where it holds no number, the reply has none.
    Without a statement the number counts that the concluding sentence is about, unless the reply was cut off, refuses
    or asks. What stands before a further question that the reply invents comes first. Units, currency signs and a full
    stop after the number do not matter. A list, a range, a time, a formula in the decisive place is not one number.

    Args:
        text: A reply without thinking traces.
        complete: Whether the reply came to its end, where the back end told; otherwise its last line shows it.

    Returns:
        The number in canonical spelling, or None.

    >>> extract_number("3 + 4 = 7, so the answer is $1,234.50. I checked it 2 times.")
    '1234.5'
    >>> extract_number("It costs 3.5.")
    '3.5'
    >>> extract_number("The answer is 10-12.") is None
    True
    >>> extract_number("We have 3 + 4 = 7. The answer is (C).") is None
    True
    """
    text = "\n" + plain_fractions(without_end_tokens(text[-MAX_CHARS:]))  # "- 5" opens a list, and no sum
    answer, whole = before_invented_question(text)
    for part in dict.fromkeys((answer, whole)):
        value = _stated(part)
        # What comes before an invented question was not cut off; bare numbers after it are not about ours.
        ended = answer is not whole or (is_complete(part) if complete is None else complete)
        if value is None and part is answer and ended:
            value = _concluded(part)
        if value is not None:
            return None if value == "unclear" else value
    return None


_LM_EVAL = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")


def as_lm_eval_compares(text: str) -> str:
    r"""Cut down a text as lm-eval's gsm8k does before it compares: no commas, dollars, nothing up to "#### ".

    >>> as_lm_eval_compares("2 + 2 = 4\n#### $1,234.")
    '1234'
    """
    text = text.replace(",", "").replace("$", "").rpartition("#### ")[2]
    return re.sub(r"\.$", "", text).lower()


def extract_number_lm_eval(text: str) -> str | None:
    """Find the number that lm-eval's rule `flexible-extract` of gsm8k takes: the last run of digits, whatever it is.

    For comparison with other people's numbers. The rule reads "The answer is (C)." as the last bare number before it,
    and a reply that was cut off as the last number that it reached.

    Args:
        text: A reply.

    Returns:
        The match without commas, dollar signs and a full stop at its end, as lm-eval compares it; None without digits.

    >>> extract_number_lm_eval("She has 12 apples and pays $1,200.")
    '1200'
    """
    found = [first or second for first, second in _LM_EVAL.findall(text)]
    return as_lm_eval_compares(found[-1].strip()) if found else None


METRICS = {
    "extract.number": extract_number,
    "extract.number_lm_eval": extract_number_lm_eval,
    "extract.same_number": same_number,
}
