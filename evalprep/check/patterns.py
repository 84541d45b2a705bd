"""Regular expressions on which the engine takes quadratic or exponential time.

Python's engine tries one way through a pattern after the other. Where the same text can be split among two loops in
many ways (`a*a*`, or a search that may begin at every character of a run), it takes quadratic time before it fails;
where a loop can go round in two ways (`(a|a)*`, `(a*)*`), exponential time. Both are properties of the automaton: Weber
and Seidl, 1991, "On the degree of ambiguity of finite automata"; their use on patterns: Wüstholz et al., 2017, "Static
detection of DoS vulnerabilities in programs that use regular expressions".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from evalprep.check.automaton import Automaton, TooLargeError

Growth = Literal["exponential", "quadratic"]
MOST_STEPS = 50_000
"""Of the search through pairs and triples of states."""
_START, _ELSEWHERE = -1, -2
"""Where a match may begin, and where what stands before forbids it."""


@dataclass(frozen=True)
class Slow:
    """How a pattern gets slow.

    Attributes:
        growth: Of the time, with the length of the text.
        text: What the text repeats.
        before: What it begins with.
    """

    growth: Growth
    text: str
    before: str = ""

    def example(self, times: int) -> str:
        """A text on which the pattern is slow."""
        return self.before + self.text * times

    def __str__(self) -> str:
        before = f"{self.before!r} followed by " if self.before else ""
        return f"{self.growth} time on {before}many {self.text!r}"


def slowness(pattern: str, flags: int = 0, *, search: bool = True, whole: bool = False) -> Slow | None:
    """Tell whether there are texts on which a pattern takes more than linear time.

    Args:
        pattern: The regular expression.
        flags: Flags of `re.compile`.
        search: The pattern may begin anywhere (`search`, `findall`, `sub`), not only at the start (`match`).
        whole: The pattern must reach the end of the text (`fullmatch`).

    Returns:
        The worst growth with a text that shows it; None where none was found. Patterns of thousands of states, back
        references and bounds of repeats are looked at only roughly.

    Raises:
        re.error: The pattern is none.

    >>> slowness(r"(a|a)*b").growth
    'exponential'
    >>> slowness(r"answer is (-?[0-9]+)") is None
    True
    """
    try:
        for copies in (False, True):
            machine = _Machine(Automaton(pattern, flags, copies=copies), search=search, whole=whole)
            found = machine.quadratic() if copies else machine.exponential()
            if found:
                return found
    except (TooLargeError, RecursionError):
        return None
    return None


class _Machine:
    """The states and edges of a pattern with the place where a search begins."""

    def __init__(self, automaton: Automaton, *, search: bool, whole: bool) -> None:
        self.samples = automaton.samples
        self.classes = {**dict(enumerate(automaton.classes)), _START: automaton.before, _ELSEWHERE: ~automaton.before}
        self.edges: dict[int, dict[int, int]] = {one: dict(to) for one, to in enumerate(automaton.edges)}
        onwards = {_START: 1, _ELSEWHERE: 1} if search and not automaton.anchored else {}
        self.edges |= {_START: dict(automaton.whole.first) | onwards, _ELSEWHERE: onwards}
        self.possessive = automaton.possessive
        # Once one of these is reached, the match has succeeded, and nothing is tried again.
        self.done = frozenset() if whole else automaton.whole.free
        self.parts = self._components()
        self.steps = MOST_STEPS

    def _components(self) -> dict[int, int]:
        """State -> its strongly connected component (Tarjan), for states on a cycle; iterative."""
        index: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        found: dict[int, int] = {}
        for root in self.edges:
            if root in index:
                continue
            work = [(root, iter(self.edges[root]))]
            index[root] = low[root] = len(index)
            stack.append(root)
            while work:
                one, following = work[-1]
                for other in following:
                    if other not in index:
                        index[other] = low[other] = len(index)
                        stack.append(other)
                        work.append((other, iter(self.edges[other])))
                        break
                    if other in stack:
                        low[one] = min(low[one], index[other])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[one])
                    if low[one] == index[one]:
                        members = stack[stack.index(one) :]
                        del stack[stack.index(one) :]
                        if len(members) > 1 or one in self.edges[one]:
                            found.update(dict.fromkeys(members, one))
        return found

    def _common(self, *states: int) -> str:
        """A character that all these states match, "" if there is none."""
        mask = -1
        for one in states:
            mask &= self.classes[one]
        mask &= (1 << len(self.samples)) - 1
        return self.samples[(mask & -mask).bit_length() - 1] if mask else ""

    def _walk(self, *sets: int) -> Iterator[tuple[int, ...]]:
        """Tuples of states that may follow a tuple, on one character."""
        tuples: list[tuple[int, tuple[int, ...]]] = [((1 << len(self.samples)) - 1, ())]
        for one in sets:
            tuples = [
                (both, (*before, other))
                for mask, before in tuples
                for other in self.edges[one]
                if (both := mask & self.classes[other])
            ]
        return (one for _, one in tuples)

    def _path(self, begin: tuple[int, ...], end: tuple[int, ...], kept: list[int | None]) -> str | None:
        """The shortest text from one tuple of states to another, each within its component where one is given."""
        seen: dict[tuple[int, ...], tuple[tuple[int, ...], str]] = {}
        waiting = deque([begin])
        while waiting and self.steps > 0:
            here = waiting.popleft()
            for there in self._walk(*here):
                self.steps -= 1
                if any(part is not None and self.parts.get(one) != part for one, part in zip(there, kept, strict=True)):
                    continue
                if there in seen or (there == begin and there != end):
                    continue
                seen[there] = (here, self._common(*there))
                if there == end:
                    text, place = "", there
                    while True:
                        place, character = seen[place]
                        text = character + text
                        if place == begin:
                            return text
                waiting.append(there)
        return None

    def _to(self, state: int) -> str:
        """A text that leads to a state."""
        return "" if state == _START else self._path((_START,), (state,), [None]) or ""

    def _succeeds(self, text: str) -> bool:
        """Whether the pattern matches before the text ends, so that nothing is tried twice."""
        here = {_START}
        for character in text:
            bit = 1 << self.samples.index(character)
            here = {other for one in here for other in self.edges[one] if self.classes[other] & bit}
            if here & self.done:
                return True
        return False

    def exponential(self) -> Slow | None:
        """A loop that can go round in two ways on the same text."""
        for one, part in self.parts.items():
            if one in {_START, _ELSEWHERE} or one in self.possessive:
                continue
            for text in self._two_ways(one, part):
                before = self._to(one)
                if not self._succeeds(before + text * 3):
                    return Slow("exponential", text, before)
        return None

    def _two_ways(self, one: int, part: int) -> Iterator[str]:
        for other, ways in self.edges[one].items():
            if ways > 1 and self.parts.get(other) == part:
                back = "" if other == one else self._path((other,), (one,), [part])
                if back is not None:
                    yield self._common(other) + back
        for left, right in self._walk(one, one):
            if left < right and {self.parts.get(left), self.parts.get(right)} == {part}:
                back = self._path((left, right), (one, one), [part, part])
                if back is not None:
                    yield self._common(left, right) + back

    def quadratic(self) -> Slow | None:
        """Two loops, one behind the other, that can share a text in many ways; the search itself is the first loop."""
        masks: dict[int, int] = {}
        for one, part in self.parts.items():
            masks[part] = masks.get(part, 0) | self.classes[one]
        for first, part in self.parts.items():
            if first in self.possessive or first == _ELSEWHERE:
                continue
            for second, other in self.parts.items():
                if second in {first, _START, _ELSEWHERE} or not masks[part] & masks[other]:
                    continue
                text = self._path((first, first, second), (first, second, second), [part, None, other])
                if text and not self._succeeds((before := self._to(first)) + text * 3):
                    return Slow("quadratic", text, before)
        return None
