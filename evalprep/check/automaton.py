"""A regular expression as an automaton over sample characters, as far as backtracking is concerned.

Each character or class of the pattern is a state; an edge says which state may follow which, and in
how many ways the engine may get there. Characters are stood for by a few samples, so that "can
these two classes match the same character" is one operation on bit masks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from re import _constants as op  # type: ignore[attr-defined]  # typeshed knows these by their old names only
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MANY = 20
"""A repeat with this upper bound or a higher one is a loop where its copies multiply."""
MOST_STATES = 2_000
_SAMPLES = "a\x00\t\n\r \xa0\x1b!\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`z{|}~\x85é\u0661東😀"
CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}


class TooLargeError(Exception):
    """The pattern has more states than are looked at."""


@dataclass(frozen=True)
class Part:
    """A piece of a pattern.

    Attributes:
        empty: In how many ways it matches nothing, at most 2.
        sure: Whether it matches nothing without any assertion that could fail.
        first: State -> number of ways to begin there.
        last: State -> number of ways to end there.
        free: The states of `last` from which its end is reached without an assertion.
    """

    empty: int = 1
    sure: bool = True
    first: Counter[int] = field(default_factory=Counter)
    last: Counter[int] = field(default_factory=Counter)
    free: frozenset[int] = frozenset()


class Automaton:
    """States, edges and ends of one pattern.

    Args:
        pattern: The regular expression.
        flags: Flags of `re.compile`.
        copies: True writes bounded repeats as two copies, so that what their neighbours do is seen;
            False takes those with a high bound for loops, so that what happens within them is seen.

    Raises:
        re.error: The pattern is none.
        TooLargeError: It is too large to be looked at.
    """

    def __init__(self, pattern: str, flags: int = 0, *, copies: bool) -> None:
        self._copies = copies
        tree = parser.parse(pattern, flags)
        self._flags = tree.state.flags
        named = _named(tree, ignore_case=bool(self._flags & re.IGNORECASE))
        # The first that fits is shown; where `^` and `$` are about lines, only line breaks pass
        # them again and again.
        first = "\n" if self._flags & re.MULTILINE else ""
        self.samples = "".join(dict.fromkeys([*first, *_SAMPLES, *named]))
        self.classes: list[int] = []
        self.edges: list[Counter[int]] = []
        self.possessive: set[int] = set()
        self._groups: dict[int, Any] = {}
        self.whole = self._sequence(tree, self._flags)
        self.anchored, self.before = self._lead(list(tree), self._flags)

    def _lead(self, items: list[Any], flags: int) -> tuple[bool, int]:
        """Returns whether a match can begin at the start of the text alone.

        With it come the samples that may stand before the match.
        """
        before = -1
        for code, argument in items:
            if code is op.SUBPATTERN:
                anchored, mask = self._lead(list(argument[3]), flags)
                return anchored, before & mask
            if _is_start(code, argument, flags):
                return True, before
            own_mask = self._mask_before(code, argument, flags)
            if own_mask is None:
                break
            before &= own_mask
        return False, before

    def _mask_before_place(self, argument: Any, flags: int) -> int | None:
        """The same as `_mask_before`, for a place such as the beginning or a boundary of words."""
        if argument is op.AT_BEGINNING:
            return self._mask(op.LITERAL, ord("\n"), 0)
        if argument is not op.AT_BOUNDARY:
            return None
        word = self._mask(op.CATEGORY, op.CATEGORY_WORD, flags)
        only_words = all(self.classes[state] & ~word == 0 for state in self.whole.first)
        return ~word if only_words else -1

    def _mask_before(self, code: Any, argument: Any, flags: int) -> int | None:
        """The samples that may stand before an item without length.

        None for an item that has one.
        """
        if code is op.AT:
            return self._mask_before_place(argument, flags)
        if code not in {op.ASSERT, op.ASSERT_NOT} or argument[0] >= 0:
            return None
        if len(argument[1]) != 1 or argument[1][0][0] not in _CHARACTERS:
            return -1
        inner_code, inner_argument = argument[1][0]
        mask = self._mask(inner_code, inner_argument, flags)
        return mask if code is op.ASSERT else ~mask

    def _state(self, mask: int) -> Part:
        if len(self.classes) >= MOST_STATES:
            raise TooLargeError
        self.classes.append(mask)
        self.edges.append(Counter())
        state = len(self.classes) - 1
        return Part(0, False, Counter({state: 1}), Counter({state: 1}), frozenset({state}))

    def _join(self, before: Part, after: Part) -> Part:
        for state, ways in before.last.items():
            for successor, more_ways in after.first.items():
                known_ways = self.edges[state][successor]
                self.edges[state][successor] = min(2, known_ways + ways * more_ways)
        first, last = Counter(before.first), Counter(after.last)
        if before.empty:
            first.update({state: ways * before.empty for state, ways in after.first.items()})
        if after.empty:
            last.update({state: ways * after.empty for state, ways in before.last.items()})
        free_before = before.free if after.sure else frozenset()
        return Part(
            empty=min(2, before.empty * after.empty),
            sure=before.sure and after.sure,
            first=_capped(first),
            last=_capped(last),
            free=after.free | free_before,
        )

    def _either(self, parts: list[Part]) -> Part:
        first: Counter[int] = Counter()
        last: Counter[int] = Counter()
        for part in parts:
            first.update(part.first)
            last.update(part.last)
        return Part(
            min(2, sum(part.empty for part in parts)),
            any(part.sure for part in parts),
            _capped(first),
            _capped(last),
            frozenset().union(*(part.free for part in parts)),
        )

    def _sequence(self, items: Any, flags: int) -> Part:
        whole = Part()
        for code, argument in items:
            whole = self._join(whole, self._item(code, argument, flags))
        return whole

    def _group(self, code: Any, argument: Any, flags: int) -> Part:
        """The part of a group, or of a reference to one."""
        if code is op.ATOMIC_GROUP:
            return self._sequence(argument, flags)
        if code is op.GROUPREF:  # roughly: the same text again
            return self._sequence(self._groups.get(argument, []), flags)
        number, added, removed, items = argument
        if number is not None:
            self._groups[number] = items
        return self._sequence(items, (flags | added) & ~removed)

    def _item(self, code: Any, argument: Any, flags: int) -> Part:
        if code in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
            return self._repeat(code, argument, flags)
        if code in {op.ASSERT, op.ASSERT_NOT}:
            return self._assertion(argument, flags)
        if code in {op.BRANCH, op.GROUPREF_EXISTS}:
            branches = argument[1] if code is op.BRANCH else [argument[1], argument[2] or []]
            return self._either([self._sequence(branch, flags) for branch in branches])
        if code in {op.SUBPATTERN, op.ATOMIC_GROUP, op.GROUPREF}:
            return self._group(code, argument, flags)
        if code is op.AT:  # nothing follows the end
            return Part(empty=0 if _is_end(argument, flags) else 1, sure=False)
        return self._state(self._mask(code, argument, flags))

    def _assertion(self, argument: tuple[int, Any], flags: int) -> Part:
        """A look ahead reads on by itself and then goes no further.

        A look behind has a fixed length.
        """
        direction, items = argument
        if direction < 0:
            return Part(sure=False)
        ahead = self._sequence(items, flags)
        return Part(1, False, ahead.first, Counter(), frozenset())

    def _repeat(self, code: Any, argument: tuple[int, int, Any], flags: int) -> Part:
        low = int(argument[0])
        high = argument[1]
        items = argument[2]
        is_endless = high is op.MAXREPEAT or (not self._copies and int(high) >= MANY)
        states_before = len(self.classes)
        part = self._sequence(items, flags)
        if is_endless:
            # The part any number of times, at least once.
            for state, ways in part.last.items():
                for other, more in part.first.items():
                    self.edges[state][other] = min(2, self.edges[state][other] + ways * more)
            if low > 1:
                part = self._join(self._sequence(items, flags), part)
        elif int(high) > 1:
            second = self._sequence(items, flags)
            part = self._join(part, second if low > 1 else _optional(second))
        if code is op.POSSESSIVE_REPEAT:
            self.possessive.update(range(states_before, len(self.classes)))
        may_be_absent = low == 0 and int(high) > 0
        return _optional(part) if may_be_absent else part

    def _mask(self, code: Any, argument: Any, flags: int) -> int:
        return sum(
            1 << place
            for place, character in enumerate(self.samples)
            if self._matches(code, argument, character, flags)
        )

    def _matches(self, code: Any, argument: Any, character: str, flags: int) -> bool:
        if code is op.ANY:
            return bool(flags & re.DOTALL) or character != "\n"
        if code is op.CATEGORY:
            return re.match(CATEGORIES[argument], character, flags & re.ASCII) is not None
        if code is op.IN:
            negated = argument[0][0] is op.NEGATE
            items = argument[negated:]
            inside = any(self._matches(kind, value, character, flags) for kind, value in items)
            return inside != negated
        if code in {op.LITERAL, op.NOT_LITERAL}:
            return (argument in _codes(character, flags)) == (code is op.LITERAL)
        if code is op.RANGE:
            low, high = argument
            return any(low <= number <= high for number in _codes(character, flags))
        return True


_CHARACTERS = {op.IN, op.LITERAL, op.NOT_LITERAL, op.CATEGORY}


def _is_start(code: Any, argument: Any, flags: int) -> bool:
    """Returns whether an item is the start of the text.

    `^` is that of any line where there are several.
    """
    if code is not op.AT:
        return False
    if argument is op.AT_BEGINNING:
        return not flags & re.MULTILINE
    return argument is op.AT_BEGINNING_STRING


def _is_end(argument: Any, flags: int) -> bool:
    """Returns whether a place is the end of the text.

    `$` is that of any line where there are several.
    """
    if argument is op.AT_END:
        return not flags & re.MULTILINE
    return argument is op.AT_END_STRING


@lru_cache(maxsize=4096)
def _codes(character: str, flags: int) -> frozenset[int]:
    """The numbers of the characters that count as this one.

    Both cases of a letter, where case does not matter.
    """
    forms = {character}
    if flags & re.IGNORECASE:
        forms |= {character.lower(), character.upper()}
    return frozenset(ord(form) for form in forms if len(form) == 1)


def _optional(part: Part) -> Part:
    return Part(min(2, part.empty + 1), True, part.first, part.last, part.free)


def _capped(ways: Counter[int]) -> Counter[int]:
    return Counter({state: min(2, number) for state, number in ways.items()})


def _named(items: Any, *, ignore_case: bool) -> Iterator[str]:
    """The characters that a pattern names, with both ends of ranges."""
    for item in items:
        if not isinstance(item, tuple) or len(item) != 2:
            if isinstance(item, list | parser.SubPattern):
                yield from _named(item, ignore_case=ignore_case)
            continue
        code, argument = item
        if code in {op.LITERAL, op.NOT_LITERAL}:
            yield from _forms(argument, ignore_case=ignore_case)
        elif code is op.RANGE:
            for number in argument:
                yield from _forms(number, ignore_case=ignore_case)
        else:
            yield from _named(_inside(argument), ignore_case=ignore_case)


def _forms(number: int, *, ignore_case: bool) -> list[str]:
    """A character, and its other case where that does not matter."""
    character = chr(number)
    cases = [character.lower(), character.upper()] if ignore_case else []
    return [character, *(form for form in cases if len(form) == 1)]


def _inside(argument: Any) -> list[Any]:
    """The items inside an item of a pattern."""
    if isinstance(argument, parser.SubPattern):
        return list(argument)
    if isinstance(argument, list):
        return argument
    if isinstance(argument, tuple):
        parts = (_inside(part) if isinstance(part, tuple) else [part] for part in argument)
        items = chain.from_iterable(parts)
        return [item for item in items if isinstance(item, list | parser.SubPattern | tuple)]
    return []
