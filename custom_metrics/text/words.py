"""Words of texts in any script, and what simpler rules for words cannot read."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_ASCII_WORD = re.compile(r"[a-z0-9]", re.IGNORECASE | re.ASCII)
# Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese write no blanks between words.
_UNSPACED = (
    "\u0e00-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17df\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_LETTER, _MARK, _NUMBER = "LMN"


def unicode_words(text: str) -> list[str]:
    """Words of a text in any script, for comparing texts by their words.

    A word is a run of letters, marks and numbers of the case-folded text in the form NFC. In
    scripts without blanks between words each character is a word of its own, with its marks. Of an
    ASCII text these are the runs of `[a-z0-9]` of the lower-cased text.

    >>> unicode_words("Schöne Grüße: naïve co-op")
    ['schöne', 'grüsse', 'naïve', 'co', 'op']
    >>> unicode_words("Das ist 北京")
    ['das', 'ist', '北', '京']
    """
    words: list[str] = []
    plain = unicodedata.normalize("NFC", text.casefold())
    kinds = [unicodedata.category(character)[0] for character in plain]
    start: int | None = None
    for place, (character, kind) in enumerate(zip(plain, kinds, strict=True)):
        if kind == _MARK and start is not None:
            continue
        is_word = kind in (_LETTER, _NUMBER)
        stands_alone = _IS_UNSPACED.match(character) is not None
        follows_one = start is not None and _IS_UNSPACED.match(plain[start]) is not None
        if start is not None and (not is_word or stands_alone or follows_one):
            words.append(plain[start:place])
            start = None
        if is_word and start is None:
            start = place
    if start is not None:
        words.append(plain[start:])
    return words


def with_blanks(text: str) -> str:
    """The text with a blank on both sides of each character of a script without blanks.

    Rules that split words at blanks then take these characters, with their marks, for words. Other
    texts stay as they are.

    >>> with_blanks("首都 is Bern"), with_blanks("the capital")
    (' 首  都  is Bern', 'the capital')
    """
    if text.isascii():
        return text
    parts: list[str] = []
    is_open = False
    for character in text:
        stands_alone = _IS_UNSPACED.match(character) is not None
        is_mark = unicodedata.category(character)[0] == _MARK
        if is_open and not is_mark:
            parts.append(" ")
            is_open = False
        if stands_alone and not is_mark:
            parts.append(" ")
            is_open = True
        parts.append(character)
    return "".join([*parts, " "] if is_open else parts)


def has_no_ascii_word(text: str) -> bool:
    """Returns whether a text has words, and none with an ASCII letter or digit.

    >>> has_no_ascii_word("Αθήνα"), has_no_ascii_word("Zürich"), has_no_ascii_word("...")
    (True, False, False)
    """
    return _ASCII_WORD.search(text) is None and any(map(str.isalnum, text))


def has_joined_words(text: str) -> bool:
    """Returns whether a text holds two adjacent characters of a script without blanks.

    Where words are split at blanks, a whole sentence of such a text counts as one word.

    >>> has_joined_words("首都是北京"), has_joined_words("Seoul is 서울")
    (True, False)
    """
    if text.isascii():
        return False
    found = [_IS_UNSPACED.match(character) is not None for character in text]
    return any(first and second for first, second in pairwise(found))
