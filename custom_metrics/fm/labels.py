"""Labels inside replies: words, numbers and signs, in scripts with and without spaces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

MAX_CHARS = 100_000
"""The first characters of a longer reply, which alone are searched for a label."""

Key = tuple[str, ...]

# Scripts that write no space between words, or join particles to them: each character stands alone.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
# Signs that belong to a label at whose edge they stand: A+, C#, <=50K, -1.
_SIGNS = "+-#<>=≤≥%*"
# Signs that belong to the word before them even where no label has them: C++ is not C.
_ALWAYS_AFTER = "+#"
_NUMBER = r"\d+(?:[.,]\d+)*"
_PIECE = re.compile(rf"(?P<number>{_NUMBER})(?![^\W_])|[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u2011](?=[^\W\d_])")
_WHOLE_FLOAT = re.compile(r"([+-]?\d+)\.0+")
# Prefixes that people write apart from the label that they turn round.
_PREFIXES = ("non", "un", "anti")
_BOLD = re.compile(r"\*\*|__")


def without_zeros(text: str) -> str:
    """The text, a whole number without its decimals.

    >>> without_zeros("1.0"), without_zeros("1.50"), without_zeros("v1.0")
    ('1', '1.50', 'v1.0')
    """
    whole = _WHOLE_FLOAT.fullmatch(text)
    return whole.group(1) if whole else text


def folded(text: str) -> str:
    """The text as labels are compared.

    It has no case, no blanks around it, and whole numbers without decimals.
    """
    return without_zeros(text.strip().casefold())


def edge_signs(labels: Iterable[str]) -> tuple[str, str]:
    """The signs that stand directly before and directly after the words of some label."""
    before: set[str] = set()
    after = set(_ALWAYS_AFTER)
    for label in labels:
        inner = label.strip(f" \t\n{_SIGNS}")
        if not inner:
            continue
        start = label.index(inner)
        before.update(label[:start].strip())
        after.update(label[start + len(inner) :].strip())
    return "".join(sorted(before)), "".join(sorted(after))


def pieces_of(text: str, signs: tuple[str, str]) -> Iterator[str]:
    """Words and numbers of a text, with the signs that belong to them.

    A hyphen between two letters joins them. A sign before a number belongs to it where nothing
    stands before the sign.
    """
    before, after = signs
    plain = _BOLD.sub(" ", text[:MAX_CHARS].casefold())
    plain = _HYPHEN.sub("", plain)
    end_of_last = 0
    for match in _PIECE.finditer(plain):
        start, end = match.span()
        word = match.group()
        first = start
        signed = before + ("+-" if match["number"] else "")
        while first > end_of_last and plain[first - 1] in signed:
            first -= 1
        touches = first > 0 and plain[first - 1].isalnum()
        head = "" if touches else plain[first:start]
        while end < len(plain) and plain[end] in after and not _goes_on(plain, end):
            end += 1
        tail = plain[match.end() : end]
        end_of_last = end
        yield without_zeros(f"{head}{word}{tail}")


def _goes_on(text: str, place: int) -> bool:
    """Tells whether the sign at a place is a dash or an operator before a further word."""
    following = text[place + 1 : place + 2]
    return text[place] not in _ALWAYS_AFTER and following.isalnum()


def keys_of(label: str, labels: Sequence[str], signs: tuple[str, str]) -> list[Key]:
    """The sequences of pieces that state a label.

    A label with a hyphen may also be written in two words; so may one that turns another label
    round: "non toxic" beside `toxic` and `nontoxic`.
    """
    keys = [tuple(pieces_of(label, signs)), tuple(pieces_of(_HYPHEN.sub(" ", label), signs))]
    for other in labels:
        prefix = folded(label).removesuffix(folded(other))
        if prefix in _PREFIXES:
            keys.append((prefix, *pieces_of(other, signs)))
    return list(dict.fromkeys(key for key in keys if key))


class LabelReader:
    """Reads the label that a reply gives.

    Args:
        labels: The labels, as the user wrote them.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        """Lists the labels by their first piece, the longest first."""
        self.labels = labels
        self.signs = edge_signs(label.casefold() for label in labels)
        self._by_first: dict[str, list[tuple[Key, str]]] = {}
        own = {tuple(pieces_of(label, self.signs)) for label in labels}
        for label in labels:
            for place, key in enumerate(keys_of(label, labels, self.signs)):
                if place == 0 or key not in own:
                    self._by_first.setdefault(key[0], []).append((key, label))
        for entries in self._by_first.values():
            entries.sort(key=lambda entry: -len(entry[0]))

    def read(self, reply: str) -> str | None:
        """The label that equals the reply, else the one that stands first in it.

        None without one.
        """
        bare = reply.strip()
        if bare in self.labels:
            return bare
        equal = (label for label in self.labels if folded(label) == folded(reply))
        return next(equal, None) or self._first_inside(reply)

    def _first_inside(self, reply: str) -> str | None:
        pieces = tuple(pieces_of(reply, self.signs))
        for place, piece in enumerate(pieces):
            for key, label in self._by_first.get(piece, ()):
                if pieces[place : place + len(key)] == key:
                    return label
        return None


@lru_cache(maxsize=64)
def reader_of(labels: tuple[str, ...]) -> LabelReader:
    """The reader of some labels; a task reads all its replies with one."""
    return LabelReader(labels)


def alike(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of labels that no reply can tell apart.

    >>> alike(["Yes", "yes", "no", "1", "1.0"])
    [('Yes', 'yes')]
    """
    signs = edge_signs(label.casefold() for label in labels)
    first_with: dict[Key, str] = {}
    pairs = []
    for label in dict.fromkeys(labels):
        key = tuple(pieces_of(label, signs)) or (folded(label),)
        other = first_with.get(key)
        if other is not None and without_zeros(other) != without_zeros(label):
            pairs.append((other, label))
        first_with.setdefault(key, label)
    return pairs
