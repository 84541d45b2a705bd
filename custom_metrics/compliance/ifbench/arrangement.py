"""Rules of IFBench on sentences and layout (`sentence:`, `format:`, `ratio:sentence_words`)."""

from __future__ import annotations

import re
import string
from itertools import pairwise

from custom_metrics.compliance.ifbench.texts import (
    MARKS,
    bare_words,
    sentences,
    tokens,
    trimmed,
    without_marks,
)

_PAIRS = {")": "(", "]": "[", "}": "{"}
_DEPTH = 5
_QUOTE_DEPTH = 3
_LEAST = 2
_LETTERED = re.compile(r"\W{0,20}[aA]\W{0,20}[bB]\W{0,20}[cC]")


def alliteration_increment(text: str) -> bool:
    """Each sentence has more words that begin like a neighbour than the one before."""
    before = -1
    for sentence in sentences(text):
        words = [word.lstrip(MARKS + " ") for word in sentence.lower().split()]
        count, in_run = 0, False
        for first, second in pairwise(filter(None, words)):
            is_alike = first[0] == second[0]
            count += is_alike * (1 if in_run else 2)
            in_run = is_alike
        if count <= before:
            return False
        before = count
    return True


def keyword_in_sentence(text: str, *, word: str, N: int) -> bool:  # noqa: N803 - the data's name
    """The N-th sentence holds a word, in any case."""
    parts = sentences(text)
    if len(parts) < N:
        return False
    return bool(re.search(rf"\b{re.escape(word)}\b", parts[int(N - 1)], re.IGNORECASE))


def increment(text: str, *, small_n: int) -> bool:
    """Each sentence has exactly so many more words than the one before."""
    lengths = [len(bare_words(sentence)) for sentence in sentences(text)]
    return bool(lengths) and all(second - first == small_n for first, second in pairwise(lengths))


def sentence_words(text: str) -> bool:
    """Three sentences of equal length in characters."""
    lengths = [len(sentence.strip()) for sentence in sentences(text)]
    return len(lengths) == 3 and len(set(lengths)) == 1


def parentheses(text: str) -> bool:
    """Brackets of three kinds, five deep, of which the innermost closes."""
    stack: list[str] = []
    deepest = 0
    for sign in text:
        if sign in "([{":
            stack.append(sign)
            deepest = max(deepest, len(stack))
        elif sign in _PAIRS:
            if not stack or stack[-1] != _PAIRS[sign]:
                stack, deepest = [], 0
                continue
            stack.pop()
            if deepest >= _DEPTH:
                return True
    return False


def quotes(text: str) -> bool:
    """Single and double quotes in turn, three deep, all closed again."""
    stack: list[str] = []
    deepest = 0
    for sign in text:
        if stack and sign == stack[-1]:
            stack.pop()
            if deepest - len(stack) >= _QUOTE_DEPTH:
                return True
        elif sign in "\"'":
            stack.append(sign)
            deepest = max(deepest, len(stack))
    return False


def options(text: str, *, options: str) -> bool:
    """The reply is one of the options; lettered ones must be met exactly."""
    separator = next((mark for mark in ("/", "or") if mark in options), ",")
    named = [option.strip() for option in options.split(separator)]
    if _LETTERED.match(options):
        return text in named
    return trimmed(text).lower() in {trimmed(option).lower() for option in named}


def emoji_ends(text: str) -> bool:
    """An emoji ends each sentence, or begins the next, as the package emoji knows them."""
    from emoji import is_emoji

    parts = [without_marks(sentence).strip() for sentence in sentences(text)]
    for place, part in enumerate(parts):
        if not part:
            return False
        follows = parts[place + 1][:1] if place + 1 < len(parts) else ""
        if not any(map(is_emoji, (*part[-2:], follows))):
            return False
    return True


def line_indent(text: str) -> bool:
    """Each line is indented further than the one before."""
    lines = _without_blank_lines(text.split("\n"))
    depths = [len(line) - len(line.lstrip(" ")) for line in lines]
    return all(first < second for first, second in pairwise(depths))


def _without_blank_lines(lines: list[str]) -> list[str]:
    """Lines without empty ones, as the original removes them.

    It removes from the list that it walks over: the line after a removed one is not looked at, and
    of equal empty lines the first goes.
    """
    kept = list(lines)
    place = 0
    while place < len(kept):
        if not kept[place].strip():
            kept.remove(kept[place])
        place += 1
    return kept


def quote_unquote(text: str) -> bool:
    """No quotation follows another, and none ends the reply."""
    joined = "".join(text.replace("'\"'", "").split())
    core = joined.strip(string.digits + MARKS.replace('"', ""))
    return '""' not in joined and not core.endswith('"')


def separated_list(text: str, *, sep: str) -> bool:
    """A mark of lists at least twice."""
    return text.count(sep) >= _LEAST


def thesis(text: str) -> bool:
    """Something in italics of HTML, and something after it."""
    start = _first_place(text, "<i>", "<em>")
    if start < 0:
        return False
    rest = text[start:]
    end = _first_place(rest, "</i>", "</em>")
    if end < 0:
        return False
    # Both tags are cut as if they were `<i>` and `</i>`, as in the original.
    in_italics = rest[len("<i>") : end].strip()
    behind = rest[end + len("</i>") :].strip()
    return in_italics != "" and behind != ""


def _first_place(text: str, tag: str, other_tag: str) -> int:
    """The first place of a tag; where the text has none, that of the other tag; -1 without both."""
    place = text.find(tag)
    return place if place >= 0 else text.find(other_tag)


def sub_bullets(text: str) -> bool:
    """A dash after each asterisk, before the next."""
    return all("-" in part for part in text.split("*")[1:])


def some_bullets(text: str) -> bool:
    """Two sentences, then nothing but bullets, two at least."""
    count_before = bullets = 0
    is_list = False
    for line in text.split("\n"):
        if line.strip().startswith("*"):
            is_list = True
            bullets += 1
            if count_before < _LEAST:
                return False
        elif is_list:
            return False
        else:
            parts = sentences(line.strip())
            count_before += len(parts)
            is_list = not parts  # an empty line ends the sentences, as in the original
    return bullets >= _LEAST


def title_case(text: str) -> bool:
    """No word in lower case, and none that only begins so."""
    for word in tokens(text):
        if not word[0].isalpha() or not word[0].islower():
            continue
        rest = word[1:]
        if not rest or rest.isupper() or rest.islower():
            return False
    return True


def output_template(text: str) -> bool:
    """Three headings."""
    return all(head in text for head in ("My Answer:", "My Conclusion:", "Future Outlook:"))


def no_whitespace(text: str) -> bool:
    """No blank of any kind."""
    return not any(sign.isspace() for sign in text)
