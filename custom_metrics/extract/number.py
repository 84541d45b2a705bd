# ruff: noqa: RUF001 - replies use typographic quotes, dashes and full-width marks; the patterns
# name them
r"""The final number of a reply.

A stated answer counts, whatever numbers surround it; one that is no number ("The answer is (C).")
means that there is none, and never the last bare number before it. Without a statement the
concluding sentence counts, in a reply that came to its end and is no refusal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from custom_metrics.extract.numeral import (
    CURRENCY,
    MAX_CHARS,
    NUMBER,
    Unclear,
    canonical_number,
    plain_numerals,
    read,
    same_number,
)
from custom_metrics.extract.sentence import (
    AND_MORE,
    MAX_SENTENCE,
    MOST_READ,
    PAIRED,
    SENTENCE_END,
    is_list,
    is_repeated_in_another_form,
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
    is_restated,
    names_answer_abroad,
    without_end_tokens,
)
from custom_metrics.number_names import (
    CHINESE_NUMERAL,
    FOREIGN_NUMBER_NAMES,
    NUMBER_NAMES,
    chinese_number,
)
from custom_metrics.patterns import any_of

_CHINESE = re.compile(rf"[\s*:：「]{{0,6}}({CHINESE_NUMERAL})(?=[\s。、，,.*」]|です|である|だ|\Z)")

# "#### 12", "The answer is 12", "Ans: 12", "The final total of all boxes: 12", "A: 12"
_STATED = re.compile(
    r"####|<answer>"
    r"|\banswers?\b[^.\n]{0,60}?(?:\bis\b|\bare\b|:|=)|\bans(?:\s?[:=]|\.\s)|\bcorrection\s?:"
    r"|\bfinal\s+(?:result|number|total)\b[^.\n]{0,30}?(?:\bis\b|:|=)"
    r"|\banswer\s(?:should|must)\sbe\b"
    r"|^A:|^#{1,6}\s(?:final\s)?answer\W{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
_STATED_ABROAD = re.compile(
    rf"\b{FOREIGN_ANSWER}{FOREIGN_WORDS}[*_]{{0,4}}{FOREIGN_IS}"
    rf"|{EASTERN_ANSWER}",
    re.IGNORECASE,
)
# "The answer should be a numeric value, which is": the clause is about something else.
_RELATIVE_CLAUSE = re.compile(r",\s(?:which|that|who)\s(?:is|are)\Z", re.IGNORECASE)
_STRICT = re.compile(
    r"####\Z|<answer>\Z|A:\Z"
    r"|(?:[:：=]|\b(?:is|ist|lautet|es|est))\Z"
    r"|(?:答案|正解|答え)\S{0,3}\Z",
    re.IGNORECASE,
)
_LEAD_WORD = any_of(
    "about around approximately roughly exactly only simply just now also",
    r"therefore equal\s+to indeed actually probably [a-z]\s?=",
)
# What may stand before the number of an answer: " **$", " about ", " x = "
_LEAD_MARK = r"[\s*_:：=~≈\"'“`(\[{…]"
_LEAD = re.compile(
    rf"(?:{_LEAD_MARK}|\.(?!\d)|\\[(\[]|\\?{CURRENCY}"
    rf"|\b{_LEAD_WORD}(?=[\s$=]))*+",
    re.IGNORECASE,
)
# The rest of a sum stands before an equals sign, with no clause between: "144 miles - 90 miles = 54
# miles".
_SUM = re.compile(r"(?:[^=,;\n]|,(?=\d)){0,120}=")
_JUDGED = any_of(
    r"as\s+follows found obtained given calculated correct right wrong incorrect reasonable",
    r"consistent based in\s+the what\b",
    r"the\s+(?:value|result|answer|sum|difference|product|total|number|amount|same|one)\b",
    r"clear to\b not\b asked expected required simple just\b represented",
    r"derived determined provided stored _{2,} supposed",
    r"an?\s+(?:integer|number|string|whole|natural|positive|numeric|approx|estimate|rounded)",
)
# Behind "the answer is": " as follows", " the sum of both", " an integer"
_NO_STATEMENT = re.compile(rf"\s{{0,4}}{_JUDGED}", re.IGNORECASE)
_BE_SOLVED = any_of("answered determined solved known found calculated computed said split done")
_CANNOT = any_of(
    rf"be\s+(?:\w+\s)?{_BE_SOLVED} answer determine solve help open see tell say provide compute",
    "calculate give",
)
_NO_ANSWER = (
    rf"can(?:not|['’]t)\s+{_CANNOT} not\s+(?:enough|sufficient)\s+information insufficient",
    r"not\s+solvable n/a\b no\s+solution does\s+not\s+exist (?:is|are|was)\s+missing",
    r"not\s+(?:given|specified|provided)",
    r"kann\s+man\s+nicht unbestimmt",  # German
    r"无法 不能 не\s+хватает",  # Chinese, Russian
)
_WITHOUT_VALUE = r"(?:impossible|unknown|undefined|undetermined|indeterminate|infinit)"
_REFUSES = any_of(
    *_NO_ANSWER,
    rf"(?:\b(?:is|are|remains?)|['’]s)\s+{_WITHOUT_VALUE}",
    r"\bsorry,?\s+(?:but|i)\b \bas\s+an\s+ai\b \bplease\s+(?:tell|provide|give|specify|clarify)\b",
)
# "There is not enough information", "Sorry, but", "Please provide the price."
_REFUSAL = re.compile(_REFUSES, re.IGNORECASE)
_NO_VALUE = any_of(*_NO_ANSWER, _WITHOUT_VALUE)
_REFUSED_ANSWER = re.compile(rf"[^.\n]{{0,60}}?{_NO_VALUE}", re.IGNORECASE)
_BLANK_WITHIN = re.compile(
    r"_{3,}|(?:\\\\?_\s?){2,}|\\underline\s?\{\s?\\(?:hspace|qquad|quad|phantom)|[(\[]\s{1,9}[)\]]"
)
_STEP = any_of(
    r"find calculate compute determine (?:figure|work)\s+out solve convert consider look\s+at",
    r"(?:add|subtract|multiply|divide)\b[^.\n]{0,80}(?:\d[^.\n]{0,40}\d|\b(?:this|that|it)\b)",
)
_WE = r"(?:we|you|i|let['’]s|let\s+us)"
_MUST = r"(?:\s(?:can|could|must|should|will|would|need|needs|have|now|then|first|also|to)){0,4}"
# "Next, we need to find the cost of 5 shirts": a step that is announced and not done.
_ANNOUNCED = re.compile(
    rf"(?:(?:now|next|then|first|second|finally|so|therefore|lastly),?\s|to\b[^,\n]{{1,160}},\s)?"
    rf"{_WE}{_MUST}\s{_STEP}\b(?!\s(?:that|an?\stotal)\b)"
    # "Step 2: Find 40% of 30.", "To get the answer, multiply 24 by 3"
    rf"|(?:step\s\d{{1,2}}\s?[:.)-]\s?)?(?:find|calculate|compute|determine)\s"
    rf"|to\b[^,\n]{{1,160}},\s{_STEP}\b",
    re.IGNORECASE,
)
_RESULT_OF_STEP = re.compile(
    rf"[=≈:]\s?[*$]{{0,3}}{CURRENCY}?\s?[-−]?\.?\d|\b(?:get|gives?|is)\s\W{{0,4}}\d"
)
_GIVEN = any_of(
    r"the\s+(?:problem|question)\s+(?:says|states|asks|tells|gives|wants)",
    r"we\s+are\s+(?:given|told)",
    r"the\s+(?:problem|question)\s+is\s+asking the\s+(?:problem|question)(?:\s+is)?\s?:",
    r"let\s+me\s+re-?read",
    r"it\s+is\s+given let(?:['’]s|\s+us)\s+start\s+over",
)
# "The problem says that ...": a paragraph that begins the problem anew.
_RESTATES = re.compile(
    rf"[\s*]{{0,6}}(?:(?:so|okay|ok|wait|hmm|now|well|first)\W{{1,4}}){{0,2}}{_GIVEN}(?!\w)",
    re.IGNORECASE,
)
_PERIOD = any_of("minutes? hours? days? weeks? months? years? seconds? dozen")
# "There are 60 minutes in an hour.": a fact, and nothing that follows from the problem.
_UNIT_FACT = re.compile(
    rf"there\s+are\s+(?:about\s)?\d{{1,4}}\s{_PERIOD}\s(?:in|per)\s(?:an?|one|each|every)\s{_PERIOD}\W*\Z",
    re.IGNORECASE,
)
# "He works 8 hours a day, 5 days a week.": what is given, each for another unit.
_RATE = r"\d[\d.,]{0,12}\s[a-z]{2,12}\s(?:an?|per|each|every)\s[a-z]{2,12}"
_RATES = re.compile(
    rf"(?:{_RATE}(?:,\s(?:and\s)?|\sand\s)){{1,4}}{_RATE}\W{{0,6}}\Z", re.IGNORECASE
)
# "12 - 8 = ? more", "12 - 8 = x": the right side is not known.
_WITHOUT_RIGHT_SIDE = re.compile(
    r"\d\s?(?:[-−+*/×÷]|\\times|\\cdot|\\div)\s?\$?\d[\d.,]*\)?\s?=\s?\$?(?:[?_]|[a-z]\b(?!\s?=)|\W{0,6}\Z)"
)
# "2x + 5 = 15", "x + 5 = 15": an equation that is not solved.
_UNSOLVED = re.compile(
    r"(?<![\w.])(?:\d+[a-z]\s?[-+]\s?\d[\d.]*|\d+[xyzn](?:\s?[-+]\s?\d[\d.]*)?|[xyzn]\s?[-+]\s?\d[\d.]*)\s?=\s?\d[\d.,]*\W{0,6}\Z"
)
# "Solve for t: 16t = 80", "x + (x + 1) + (x + 2) = 72"
_TO_BE_SOLVED = re.compile(
    r"(?:\bsolve\s(?:for\s[a-z]\b|the\s(?:equation|system))[^.=\n]{0,60}"
    r"|(?<!\w)[a-z]\s?[-+]\s?\([^=\n]{1,60}\)\s?)=\s?\d[\d.,]*\W{0,6}\Z",
    re.IGNORECASE,
)
# "3 pens cost $6, find the cost of 10 pens."
_TASK = re.compile(r",\s(?:find|calculate|determine|compute)\s[^=\n]{1,120}\Z", re.IGNORECASE)
_OPEN = (
    *(_BLANK_WITHIN, _WITHOUT_RIGHT_SIDE, _UNSOLVED, _UNIT_FACT, _RATES),
    *(_TO_BE_SOLVED, _TASK),
)
_COMPUTED = re.compile(r"\d\s?(?:[-−+*/×÷]|\\times|\\div)[^=\n]{1,60}=\s?\W{0,3}\d")
# "a = 12" on a line of its own
_ASSIGNED = re.compile(
    r"[-*•\s$]{0,6}(?P<name>[A-Za-z](?:_\{?\w{1,8}\}?)?)\s?=\s?-?\d[\d.,]*\W{0,4}\Z"
)
_CLOSES = any_of(
    r"(?:let\s+me|let['’]s|to|we\s+can)\s+(?:double[- ])?(?:check|verify)",
    r"i\s+hope hope\s+this let\s+me\s+know feel\s+free thank please\s+note note\b",
    r"if\s+you\s+(?:have|need) is\s+there\s+any do\s+you\s+(?:have|need|want) would\s+you",
    r"\d+\s+of\s+(?:those|these|them|which)",
)
# Closing words that are no conclusion, and the details that may follow one.
_CLOSING = re.compile(rf"{_CLOSES}\b", re.IGNORECASE)
_CONCLUDES = re.compile(
    r"(?:so|therefore|thus|hence|in\s+conclusion|consequently)\b", re.IGNORECASE
)
_TOTAL = any_of("total sum answer result final income profit left")
# "- Cost of the apples: $12"
_BULLET_LABEL = re.compile(
    rf"[-*•]\s+(?!.{{0,40}}\b{_TOTAL}\b)"
    r"[A-Z][\w ]{0,30}:\s[^=\n]{1,40}\Z",
    re.IGNORECASE,
)
# "Pages read on Monday: 45"
_LABEL = re.compile(r"(?!step\b)[A-Z][\w ]{2,40}:\s[^=\n]{1,30}\Z", re.IGNORECASE)
_RESULT_LABEL = any_of(
    "difference average mean remaining altogether overall needed required each per change"
)
_OF_TOTAL = re.compile(rf"[^:]{{0,60}}\b(?:{_TOTAL}|{_RESULT_LABEL})\b", re.IGNORECASE)
_NAMED_VALUE = re.compile(r"[-*•\s$]{0,6}[A-Za-z][\w ]{0,20}\s?=\s?[^=\n]{1,40}\Z")
# "We have:", "Given:"
_HEAD_OF_GIVEN = re.compile(
    r"[\s*#]{0,6}(?:given|we\s+(?:have|know)|known|let)\b.{0,40}:\W{0,4}\Z", re.IGNORECASE
)
_MINUS = re.compile(rf"[-−–]\s?{CURRENCY}?\s?(?=\.?\d)")
_THOUSANDS = re.compile(r"\s?[kK]\b")
_POWER_OF_TEN = re.compile(r"\s*10\s?\^\s?\{?\s?(\d{1,3})\s?\}?\s*\Z")
_QUOTED = re.compile(r"\s?(\\?\")([^\"\n]{0,400})\1")
_LABEL_OF_JSON = re.compile(r"\"\s?:\Z")
# `ans = acceleration(t)`, `answer = a + b`: code, and no statement.
_CODE = re.compile(r"\s{0,4}[A-Za-z_][\w.]*\s?(?:[(\[]|[-+*/%]|\Z|\n)")
_CODE_LINE = re.compile(r"[A-Za-z_][\w.]*\s?=\s?[A-Za-z_][\w.]*\([A-Za-z_\"'\[]")
_FILL_IN = r"(?:\s?(?:insert|your|the|final|numeric(?:al)?|correct)){0,3}"
_VALUE_IN_BRACKETS = (
    rf"[\[{{<(]+{_FILL_IN}\s?(?:answer|number|value|result)\b"
    r"[^\]}>)\n]{0,40}[\]}>)]"
)
# A place in a template that the reply did not fill: "[number]", "<your answer>", "____".
_BLANK = re.compile(
    rf"[\s*:$]{{0,8}}(?:{_VALUE_IN_BRACKETS}|_{{2,}}|\.{{4,}}|\\_\\_)", re.IGNORECASE
)
# "The answer is 8!" is a factorial; behind it a further sentence makes it an exclamation, and so
# does a number whose factorial nobody would ask for.
_FACTORIAL = re.compile(r"\d{1,2}!(?:[\s.*$)\\]{0,6}\Z|[ \t.*$)\\]{0,6}\n|\s?[=+*/×])")
# "The answer is $\\boxed", cut off before the brace: it states nothing.
_CUT_OFF_BOX = re.compile(r"[^.!?\n]{0,80}\\(?:b|bo|box\w{0,2}|fbox)\s?\Z")
_MAX_PLACES = 50
"""So many statements without a number are passed over, from the end; repeated lines count once."""
_MAX_REPEATED = 2_000
"""So many statements are looked at, from the end, repeated ones included."""
_MAX_SPELLED = 12
"""Characters of a reply that is nothing but a number in words."""
_MAX_SENTENCES = 4
"""So many sentences without a number may follow the concluding one."""


def _spelled(words: str) -> str | None:
    """Reads a number in words at the start of a text, up to twenty, or a Chinese numeral."""
    numeral = _CHINESE.match(words)
    if numeral:
        value = chinese_number(numeral.group(1))
        return None if value is None else str(value)
    first, *following = re.findall(r"[^\W\d_]+", words[:40].lower()) or [""]
    if first in FOREIGN_NUMBER_NAMES:
        return str(FOREIGN_NUMBER_NAMES[first])
    if first not in NUMBER_NAMES:
        return None
    # "one of", "two hundred"
    if following and following[0] in ("of", "hundred", *NUMBER_NAMES):
        return None
    return str(NUMBER_NAMES.index(first))


def _stated_number(tail: str) -> str | Unclear | None:
    """Reads the number of the sentence that follows "the answer is".

    A number at the very start counts, unless it begins a sum; else the one that the sentence is
    about.

    Args:
        tail: Text that begins right after the statement.

    Returns:
        The number in canonical spelling; `unclear` for a list, a range, a formula, a time; None
        where there is none.

    >>> _stated_number(" 3 + 4 = 7. I checked it 2 times.")
    '7'
    >>> _stated_number(" between 12 and 15")
    'unclear'
    """
    lead = _LEAD.match(tail)
    start = lead.end() if lead else 0
    sentence_end = SENTENCE_END.search(tail, start)
    end = sentence_end.start() if sentence_end else start + MAX_SENTENCE
    sentence = tail[:end].partition("</answer>")[0]
    blank = _BLANK.match(sentence)
    if blank:
        place = _behind_the_blank(sentence, blank)
        if place is None:
            return None
        start = place
    if is_list(sentence):
        return "unclear"
    value = _number_at_the_start(sentence, start)
    if value is not None:
        return "unclear" if _FACTORIAL.match(tail, start) else value
    if _REFUSED_ANSWER.match(sentence, start):
        return "unclear"
    words = sentence[start:]
    return sentence_number(words) or _spelled(words)


def _behind_the_blank(sentence: str, blank: re.Match[str]) -> int | None:
    """Returns where the number stands that follows a template's blank: "{final answer} 10.48"."""
    if "answer" not in blank.group().lower():
        return None
    lead = _LEAD.match(sentence, blank.end())
    start = lead.end() if lead else blank.end()
    return start if NUMBER.match(sentence, start) else None


def _number_at_the_start(sentence: str, start: int) -> str | Unclear | None:
    """Reads the number with which an answer begins.

    A power of ten or a k for thousand may stand behind it. None where a sum begins.
    """
    sign = _MINUS.match(sentence, start)
    number = NUMBER.match(sentence, sign.end() if sign else start)
    if number is None or _SUM.match(sentence, number.end()):
        return None
    power = _power_of_ten(sentence[number.start() :].rstrip(" .*$"))
    if power is not None:
        return power
    value = read(sentence, number)
    if value is None or value == "unclear":
        return value
    return _sole_value(sentence, number, value)


def _sole_value(sentence: str, number: re.Match[str], value: str) -> str | Unclear | None:
    """Returns the value of a number, `unclear` where another number is joined to it."""
    if is_repeated_in_another_form(sentence, number, value):
        return value
    if AND_MORE.match(sentence, number.end()) or PAIRED.match(sentence, number.end()):
        return "unclear"
    is_price = re.search(rf"{CURRENCY}\s?\Z", sentence[: number.start()])
    if is_price and _THOUSANDS.match(sentence, number.end()):
        return canonical_number(f"{value}e3")
    return value


def _power_of_ten(text: str) -> str | None:
    """Reads a text that is nothing but a power of ten."""
    power = _POWER_OF_TEN.match(text)
    if power is None:
        return None
    return canonical_number(f"1e{power.group(1)}")


def _boxed_number(content: str) -> str | Unclear | None:
    power = _power_of_ten(content)
    if power is not None:
        return power
    right_side = content.rfind("=") + 1
    known: list[tuple[re.Match[str], str | Unclear]] = []
    for match in NUMBER.finditer(content, right_side):
        value = read(content, match)
        if value is not None:
            known.append((match, value))
    if not known:
        return "unclear" if re.search(r"\w", content) else None
    first_match, first = known[0]
    if len(known) == 1:
        return first
    if len(known) == 2 and is_repeated_in_another_form(content, first_match, first):
        return first
    return "unclear"


def _states_something(statement: str, tail: str) -> bool:
    """Tells whether a statement without a number states an answer.

    A sentence that is just about the answer does not.
    """
    line = tail.lstrip().split("\n", 1)[0]
    is_code = statement.endswith("=") and _CODE.match(line)
    if is_code or _RELATIVE_CLAUSE.search(statement):
        return False
    if not _STRICT.search(statement) or _NO_STATEMENT.match(line):
        return False
    return re.match(r"[\W_]{0,12}\w", line) is not None


def _number_of_statement(statement: str, tail: str) -> str | Unclear | None:
    """Reads what follows "the answer is"; `unclear` where it states something that is no number."""
    first_line = tail.split("\n", 1)[0]
    is_long = len(first_line) > 40 or "\n" in tail.strip()
    if statement == "A:" and is_long:
        return None  # the answer of a question-and-answer text, reasoning included
    if _LABEL_OF_JSON.search(statement):
        # What stands in quotes is the whole answer: {"answer": "86 glasses and 42 plates"}
        quoted = _QUOTED.match(tail)
        tail = quoted.group(2) if quoted else tail
    value = _stated_number(tail)
    if value is None and _states_something(statement, tail):
        return "unclear"
    return value


def _stated(text: str) -> str | Unclear | None:
    """Reads the last statement or box that holds an answer.

    What an unfinished box begins must agree with it.
    """
    cut_off = _CUT_OFF_BOX.search(text, max(len(text) - 90, 0))
    if cut_off:
        text = text[: cut_off.start()]
    boxes = list(BOX.finditer(text))
    openings = list(OPEN_BOX.finditer(text))
    end_of_boxes = boxes[-1].end() if boxes else 0
    if not openings or openings[-1].start() < end_of_boxes:
        return next(_values_from_the_end(text, boxes), None)
    # The reply was cut off within its last box, which may have taken the statement back.
    opening = openings[-1]
    content = text[opening.end() : opening.end() + MAX_SENTENCE]
    unfinished = content.strip(" $\\")
    value = next(_values_from_the_end(text[: opening.start()], boxes), None)
    if value and value.startswith(unfinished):
        return value
    return "unclear"


def _values_from_the_end(text: str, boxes: list[re.Match[str]]) -> Iterator[str | Unclear]:
    """Yields the values of boxes and statements, the last one first."""
    places = [(box.start(), box) for box in boxes]
    places += [(match.end(), match) for match in _STATED.finditer(text)]
    if names_answer_abroad(text.lower()):
        places += [(match.end(), match) for match in _STATED_ABROAD.finditer(text)]
    places.sort(key=lambda place: place[0], reverse=True)
    lines_read: set[str] = set()
    for position, match in places[:_MAX_REPEATED]:
        if match.re is BOX:
            value = _boxed_number(match.group("content"))
        else:
            tail = text[position : position + MOST_READ]
            line = match.group() + tail.partition("\n")[0]
            if line in lines_read:
                continue  # a loop: "This answer is correct." again and again
            lines_read.add(line)
            value = _number_of_statement(match.group(), tail)
        if value is not None:
            yield value
        elif len(lines_read) > _MAX_PLACES:
            return


def _concluded(text: str) -> str | Unclear | None:
    """Reads the concluding sentence of a reply that states nothing, unless it refuses or asks."""
    last_line = text.rstrip().rpartition("\n")[2]
    is_problem = _RESTATES.match(last_line) and not _COMPUTED.search(last_line)
    if is_problem or _ends_in_list_of_findings(text):
        return None
    sentences = _sentences_before_closing(text)
    if any(map(_REFUSAL.search, sentences[:2])):
        return None
    for sentence in sentences[: _MAX_SENTENCES + 1]:
        if _concludes_nothing(sentence):
            return None
        value = sentence_number(sentence)
        if value is not None or _CONCLUDES.match(sentence):
            return value
    is_short = len(text.strip()) <= _MAX_SPELLED
    if is_short and len(sentences) <= _MAX_SENTENCES:
        return _spelled(text)
    return None


def _sentences_before_closing(text: str) -> list[str]:
    """The last sentences, the last one first, without polite closings."""
    last_sentences = sentences_from_the_end(text, 2 * _MAX_SENTENCES)
    return [sentence for sentence in last_sentences if not _CLOSING.match(sentence)]


def _concludes_nothing(sentence: str) -> bool:
    """Tells whether a sentence asks, leaves a blank, announces a step, or is code or unsolved."""
    if sentence.endswith(("?", "？")) or _CODE_LINE.match(sentence):
        return True
    if _ANNOUNCED.match(sentence) and not _RESULT_OF_STEP.search(sentence):
        return True
    return any(pattern.search(sentence) for pattern in _OPEN)


def _ends_in_list_of_findings(text: str) -> bool:
    """Tells whether a reply ends in values that it lists, and in none that it concludes.

    The last two lines are bullets with labels or values of two variables, or the last three lines
    have labels, or all lines behind "Given:" name a value.
    """
    all_lines = [line.strip() for line in text.strip().splitlines()]
    labels = all_lines[-3:]
    is_total = any(_OF_TOTAL.match(line) for line in labels[1:])
    if len(labels) == 3 and all(map(_LABEL.match, labels)) and not is_total:
        return True
    behind = list(takewhile(_NAMED_VALUE.match, reversed(all_lines)))
    heads = all_lines[: -len(behind)][-1:]
    if behind and any(map(_HEAD_OF_GIVEN.match, heads)):
        return True
    lines = all_lines[-2:]
    if len(lines) == 2 and all(_BULLET_LABEL.match(line) for line in lines):
        return True
    assigned = [match["name"] for match in map(_ASSIGNED.match, lines) if match]
    return len(set(assigned)) == 2


def extract_number(text: str, *, complete: bool | None = None) -> str | None:
    r"""Finds the final number of a reply.

    The last statement ("the answer is 12", "#### 12") or box counts; where it holds no number, the
    reply has none. Without a statement the number counts that the concluding sentence is about,
    unless the reply was cut off, refuses or asks. What stands before a further question that the
    reply invents comes first. Units, currency signs and a full stop after the number do not matter.
    A list, a range, a time, a formula in the decisive place is not one number.

    Args:
        text: A reply without thinking traces.
        complete: Whether the reply came to its end, where the back end told; otherwise its last
            line shows it.

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
    # The line break before the text: "- 5" opens a list, and no sum.
    text = "\n" + plain_numerals(without_end_tokens(text[-MAX_CHARS:]))
    before, whole = before_invented_question(text)
    if before is whole:
        value = _stated(whole)
        ended = is_complete(whole) if complete is None else complete
        if value is None and ended:
            value = _concluded(whole)
    else:
        value = _before_invented_question(before, whole)
    return None if value == "unclear" else value


def _before_invented_question(before: str, whole: str) -> str | Unclear | None:
    """Reads the number of a reply that goes on with an invented question.

    What stands before that question was not cut off. Bare numbers after it are not about ours.
    """
    value = _stated(before)
    if not value and is_restated(before, whole):
        value = _stated(whole)
    return value or _concluded(before) or _stated(whole)


_LM_EVAL = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")


def as_lm_eval_compares(text: str) -> str:
    r"""Cuts down a text as lm-eval's gsm8k does before it compares.

    Commas, dollars and everything up to "#### " go.

    >>> as_lm_eval_compares("2 + 2 = 4\n#### $1,234.")
    '1234'
    """
    text = text.replace(",", "").replace("$", "").rpartition("#### ")[2]
    return re.sub(r"\.$", "", text).lower()


def extract_number_lm_eval(text: str) -> str | None:
    """Finds the number that lm-eval's rule `flexible-extract` of gsm8k takes.

    The last run of digits, whatever it is.

    For comparison with other people's numbers. The rule reads "The answer is (C)." as the last bare
    number before it, and a reply that was cut off as the last number that it reached.

    Args:
        text: A reply.

    Returns:
        The match without commas, dollar signs and a full stop at its end, as lm-eval compares it;
        None without digits.

    >>> extract_number_lm_eval("She has 12 apples and pays $1,200.")
    '1200'
    """
    runs = [first or second for first, second in _LM_EVAL.findall(text)]
    if not runs:
        return None
    return as_lm_eval_compares(runs[-1].strip())


METRICS = {
    "extract.number": extract_number,
    "extract.number_lm_eval": extract_number_lm_eval,
    "extract.same_number": same_number,
}
