# ruff: noqa: RUF001 - replies use typographic marks and other scripts; the patterns name them
"""Wording that several extractors look for.

How replies announce an answer, and where an answer has ended.
"""

from __future__ import annotations

import re

from custom_metrics.patterns import any_of

FOREIGN_ANSWER = any_of(
    r"antwort lösung richtig (?:korrekte|richtige)\s+option",  # German
    "réponse",  # French
    r"respuesta opción\s+correcta alternativa\s+correc?t[ao]",  # Spanish, Portuguese
    "risposta resposta",  # Italian, Portuguese
    "ответ",  # Russian
    "antwoord odpowiedź",  # Dutch, Polish
    r"jawaban cevap đáp\s+án",  # Indonesian, Turkish, Vietnamese
    "उत्तर উত্তর คำตอบ",  # Hindi, Bengali, Thai
    r"الإجابة الجواب الناتج الخيار\s+الصحيح",  # Arabic
)
"""The noun "answer" in languages that put blanks between words."""
_FOREIGN_NEGATION = any_of("no nicht non não не pas keine? không", "ليست ليس")
# Up to three words between noun and verb ("la respuesta correcta es"), none of them a negation.
FOREIGN_WORDS = rf"(?:ที่ถูกต้อง|\s{{1,2}}(?!{_FOREIGN_NEGATION}\s)[^\W\d_]{{2,14}}(?=\s)){{0,3}}"
# A dash, or "is" with blanks around it.
_FOREIGN_VERB = any_of(
    "[–—-]",
    "ist lautet est es sería è é is to",  # German, French, Spanish, Italian, Portuguese, Polish
    "adalah là",  # Indonesian, Vietnamese
    "هي هو",  # Arabic
)
FOREIGN_IS = rf"(?:\s{{0,2}}(?:[:：=]|คือ)|\s{{1,2}}{_FOREIGN_VERB}(?:\s?:|(?=\s)))"
_EASTERN_NOUN = any_of("答案 正解 答え 回答 解答 정답 답변")
_EASTERN_PARTICLE = any_of("은 는 이 は", "应该 应当 应")  # topic markers; "should" in Chinese
_EASTERN_IS = any_of("是 为 為 选 選 [:：=]")
EASTERN_ANSWER = rf"{_EASTERN_NOUN}】?\s?{_EASTERN_PARTICLE}?{_EASTERN_IS}{{0,2}}"
"""The same in languages without blanks, its verb included."""

FOREIGN_ANSWER_STEMS = (
    "antwort",
    "lösung",
    "richtig",
    "korrekte",
    "réponse",
    "respuesta",
    "opción",
    "alternativa",
    "risposta",
    "resposta",
    "ответ",
    "antwoord",
    "odpowied",
    "jawaban",
    "cevap",
    "đáp",
    "उत्तर",
    "উত্তর",
    "คำตอบ",
    "الإجابة",
    "الجواب",
    "الناتج",
    "الخيار",
    "答案",
    "正解",
    "答え",
    "回答",
    "解答",
    "정답",
    "답변",
)


def names_answer_abroad(lowered: str) -> bool:
    """Tells whether a text in lower case has the noun "answer" in another language than English.

    A quick test that rules most texts out, before slower patterns look for a statement.

    >>> names_answer_abroad("die antwort ist 3"), names_answer_abroad("the answer is 3")
    (True, False)
    """
    return any(noun in lowered for noun in FOREIGN_ANSWER_STEMS)


_END_TOKEN = re.compile(r"</s>|<(?:end_of_turn|eos|EOS|EOS_TOKEN|eo[ae])>|<[|｜][\w▁]{1,30}[|｜]>")
_LONGEST_TOKEN = 40
INVENTED_QUESTION = re.compile(
    r"\n\s{0,4}(?:\*\*)?(?:Q|Question|Problem|Exercise)(?:\s{1,2}\d{1,3})?(?:\*\*)?\s?[:.]"
)
"""Where a base model, having answered, goes on with a question of its own."""

_GIVEN = re.compile(r"[\s#*]{0,12}(?:Given|Restat|Let\s+me\s+restate|I\s+restate)", re.IGNORECASE)
_FINAL_ANSWER = re.compile(r"\banswer\b[\s*]{0,4}(?:\bis\b|:)", re.IGNORECASE)

_BOX_START = r"\\(?:boxed|fbox)\s{0,4}\{"
_INNER_BRACES = r"\{[^{}]{0,100}\}"
_OUTER_BRACES = r"\{(?:[^{}]|" + _INNER_BRACES + r"){0,200}\}"
BOX = re.compile(_BOX_START + r"(?P<content>(?:[^{}]|" + _OUTER_BRACES + r"){0,200})\}")
"""A box of LaTeX with its content, braces in it up to two levels deep."""
OPEN_BOX = re.compile(_BOX_START)
"""The beginning of a box, whose end may lack."""


# A sentence mark with what may close behind it, or a closing bracket, fence or mark of emphasis.
_SENTENCE_CLOSED = re.compile(r"(?:[.!?…。！？।؟｡]|[)\]}>|」』】）`*$✓✔✅☑\"”’])\Z")
_OPEN_NUMBER = re.compile(r"\d\s?(?:[+*×÷·]|\s[-−–]|\\(?:times|cdot|div))\s{0,2}\$?\d{0,20}\.\Z")
_OPEN_PRODUCT = re.compile(r"[\d)%]\s\*\Z|[\d)%]\s?[-−–+×÷/]\s?\$\Z")
_EQUALS = any_of(r"is are gives equals comes\s+to")
_AMOUNT = r"(?:\\?\$|[€£¥₹*_-]){0,4}\d+(?:[.,]\d+){0,9}(?:\s?/\s?\d+)?"
# Words behind a number that are no unit of it.
_CONTINUES = any_of(
    "and or but so that which who if when because since to of by per for with in from",
    "the an? has have been is are",
)
_WORD_OF_UNIT = r"[^\W\d_][\w'’/²³-]{0,20}"
_UNITS = (
    rf"(?:(?:\s?[%°/]|\s?(?!{_CONTINUES}\b){_WORD_OF_UNIT}){{0,6}}"
    # "3 bolts of fabric"
    rf"|\s(?!{_CONTINUES}\b){_WORD_OF_UNIT}\sof\s(?!{_CONTINUES}\b){_WORD_OF_UNIT})"
)
# A line of its own that ends in a result: "Total: 255 miles", "= 255 miles", "12. 35 + 70 = 105".
_RESULT_LINE = re.compile(rf"(?:[=≈:：]|\b{_EQUALS})\s{{0,3}}{_AMOUNT}{_UNITS}\Z")
_UNIT_RATE = re.compile(r"(?<![\d.])\d{1,9}\s[a-z]{2,12}\s?=\s?\d{1,9}\s?/\s?\d{1,9}\Z")
_ALONE = re.compile(r"[\W_]{0,12}\d[\d.,]{0,30}(?:\s?[^\W\d_]{1,12}){0,2}[\W_]{0,8}")
# "4. Thursday" begins an entry of a list.
_LISTED_WORD = re.compile(r"\d{1,3}[.)]\s+[^\W\d_]")
_SENTENCE_WITHIN = re.compile(r"[^\W\d](?<!\b[A-J])[.!?]\s+[A-Z]|\d[.!?]\s+[A-Z][a-z]")
_MAX_SHORT = 60
_MAX_RESULT_LINE = 240
_EXPECTS_MORE = any_of(
    "[Tt]he a an of to by is are and or for with in from than that which so as at per bring"
)
_UNFINISHED = re.compile(rf"(?:[-+*/=×÷·,(\[{{:$]|\b{_EXPECTS_MORE})\s*\Z")


def without_end_tokens(text: str) -> str:
    """Cuts marks of the end of a turn from the end of a text.

    Back ends leave them there, some by the dozen.

    >>> without_end_tokens("B.</s></s> <|im_end|>")
    'B.'
    """
    end = len(text)
    while True:
        while end and text[end - 1].isspace():
            end -= 1
        start = text.rfind("<", max(end - _LONGEST_TOKEN, 0), end)
        if start == -1 or not _END_TOKEN.fullmatch(text, start, end):
            return text[:end]
        end = start


def is_complete(text: str, *, short_line: bool = False) -> bool:
    """Tells whether a reply came to its end, as far as its last line shows.

    Models are cut off at their token limit.

    Complete is a reply that ends with a sentence mark or a closing bracket, one whose last line is
    a result ("= 255 miles"), and one that is nothing but a short line. A back end's own word on why
    it stopped is better where there is one.

    Args:
        text: A reply without thinking traces and end tokens.
        short_line: A short last line counts as an end, as in lists and headings.

    Returns:
        False where the end is open.

    >>> is_complete("So 3 boxes are left."), is_complete("So 3 boxes are"), is_complete("Total: 7")
    (True, False, True)
    """
    text = text.strip()
    line = text[text.rfind("\n") + 1 :][-_MAX_RESULT_LINE:].strip()
    is_open_object = text.startswith("{") and line[-1:] not in ("}", "`")
    if is_open_object or _UNIT_RATE.search(line):
        return False  # "1 day = 1/3", of what?
    if _SENTENCE_CLOSED.search(line):
        ends_in_formula = _OPEN_NUMBER.search(line) or _OPEN_PRODUCT.search(line)
        return not ends_in_formula
    is_only_line = "\n" not in text
    may_be_short = short_line or is_only_line
    if may_be_short and len(line) <= _MAX_SHORT:
        return _is_whole_short_line(line)
    return not is_only_line and _is_result(line)


def _is_whole_short_line(line: str) -> bool:
    return not _UNFINISHED.search(line) and not _SENTENCE_WITHIN.search(line, 4)


def _is_result(line: str) -> bool:
    """Tells whether a line holds a number alone, or ends in a result of its own."""
    if len(line) >= _MAX_RESULT_LINE:
        return False
    if _ALONE.fullmatch(line) and not _LISTED_WORD.match(line) and not line.endswith(":"):
        return True
    return bool(_RESULT_LINE.search(line)) and not _SENTENCE_WITHIN.search(line, 4)


_RUN = re.compile(r"((.)\2{63})\2+", re.DOTALL)
_BLANKS = re.compile(r"(?<!\s)(\s{16})(\s{32,})(?!\s)")


def squeezed(text: str) -> str:
    r"""Cuts runs of one character to 64 and longer runs of blanks to their ends.

    No answer hides in their middle.

    Patterns that look some characters ahead from each character of a run take that many steps for
    each; a reply that repeats a newline to its token limit is read in a tenth of the time.

    >>> (squeezed("a" * 99) == "a" * 64,
    ... squeezed("x" + " \t" * 99 + "\nB") == "x" + " \t" * 8 + "\t " * 7 + "\t\nB")
    (True, True)
    """

    def shorter(match: re.Match[str]) -> str:
        start, rest = match.groups()
        has_line_break = "\n" in rest[:-16]
        line_break = "\n" if has_line_break else ""
        return start + line_break + rest[-16:]

    return _BLANKS.sub(shorter, _RUN.sub(r"\1", text))


def is_restated(before: str, whole: str) -> bool:
    r"""Tells whether the question that follows is the asked one, restated by the model.

    A heading in bold ("**Question:**"), or "Given" before it, and a box or a final answer behind
    it.

    Args:
        before: What stands before the question.
        whole: The whole reply.

    >>> given = "\n**Given:** 3 boxes"
    >>> is_restated(given, given + "\n**Question:** 3 * 4?\nAnswer: 12")
    True
    """
    after = whole[len(before) :]
    is_heading = after.lstrip().startswith("**") or _GIVEN.match(before)
    if not is_heading:
        return False
    answer = OPEN_BOX.search(after) or _FINAL_ANSWER.search(after)
    return answer is not None


def before_invented_question(text: str) -> tuple[str, str]:
    r"""Splits off what follows the first invented question.

    Args:
        text: A reply.

    Returns:
        The part before the question, and the whole text; both the same where nothing was invented.

    >>> before_invented_question("5\n\nQuestion: 2 + 2?\nAnswer: 4")
    ('5', '5\n\nQuestion: 2 + 2?\nAnswer: 4')
    """
    invented = INVENTED_QUESTION.search(text)
    if invented is None:
        return text, text
    return text[: invented.start()], text
