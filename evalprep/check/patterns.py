"""Regular expressions on which the engine takes quadratic or exponential time.

Python's engine tries one way through a pattern after the other. Where the same text can be split
among two loops in many ways (`a*a*`, or a search that may begin at every character of a run), it
takes quadratic time before it fails; where a loop can go round in two ways (`(a|a)*`, `(a*)*`),
exponential time. Both are properties of the automaton: Weber and Seidl, 1991, "On the degree of
ambiguity of finite automata"; their use on patterns: Wüstholz et al., 2017, "Static detection of
DoS vulnerabilities in programs that use regular expressions".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from evalprep.check.automaton import Automaton, TooLargeError

Growth = Literal["exponential", "quadratic"]
MOST_STEPS = 50_000
"""The limit on steps of the search through pairs and triples of states."""
_START, _ELSEWHERE = -1, -2
"""Where a match may begin, and where what stands before forbids it."""


@dataclass(frozen=True)
class Slow:
    """The way in which a pattern gets slow.

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


# Tasks of one benchmark share their patterns.
@lru_cache(maxsize=1024)
def slowness(
    pattern: str, flags: int = 0, *, search: bool = True, whole: bool = False
) -> Slow | None:
    """Returns whether there are texts on which a pattern takes more than linear time.

    Args:
        pattern: The regular expression.
        flags: Flags of `re.compile`.
        search: The pattern may begin anywhere (`search`, `findall`, `sub`), not only at the start
            (`match`).
        whole: The pattern must reach the end of the text (`fullmatch`).

    Returns:
        The worst growth with a text that shows it; None where none was found. Patterns of thousands
        of states, back references and bounds of repeats are looked at only roughly.

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
            slow = machine.quadratic() if copies else machine.exponential()
            if slow:
                return slow
    except (TooLargeError, RecursionError):
        return None
    return None


class _Machine:
    """The states and edges of a pattern with the place where a search begins."""

    def __init__(self, automaton: Automaton, *, search: bool, whole: bool) -> None:
        self.samples = automaton.samples
        self.classes = {
            **dict(enumerate(automaton.classes)),
            _START: automaton.before,
            _ELSEWHERE: ~automaton.before,
        }
        self.edges: dict[int, dict[int, int]] = {
            state: dict(to) for state, to in enumerate(automaton.edges)
        }
        onwards = {_START: 1, _ELSEWHERE: 1} if search and not automaton.anchored else {}
        self.edges |= {_START: dict(automaton.whole.first) | onwards, _ELSEWHERE: onwards}
        self.possessive = automaton.possessive
        # Once one of these is reached, the match has succeeded, and nothing is tried again.
        self.done = frozenset() if whole else automaton.whole.free
        self.parts = _Components(self.edges).on_cycles
        self.steps = MOST_STEPS

    def _common(self, *states: int) -> str:
        """A character that all these states match, "" if there is none."""
        mask = -1
        for state in states:
            mask &= self.classes[state]
        mask &= (1 << len(self.samples)) - 1
        return self.samples[(mask & -mask).bit_length() - 1] if mask else ""

    def _walk(self, *sets: int) -> Iterator[tuple[int, ...]]:
        """Tuples of states that may follow a tuple, on one character."""
        tuples: list[tuple[int, tuple[int, ...]]] = [((1 << len(self.samples)) - 1, ())]
        for state in sets:
            longer: list[tuple[int, tuple[int, ...]]] = []
            for mask, before in tuples:
                for other in self.edges[state]:
                    common = mask & self.classes[other]
                    if common:
                        longer.append((common, (*before, other)))
            tuples = longer
        return (state for _, state in tuples)

    def _path(
        self, begin: tuple[int, ...], end: tuple[int, ...], kept: list[int | None]
    ) -> str | None:
        """The shortest text from one tuple of states to another.

        Each within its component where one is given.
        """
        origin: dict[tuple[int, ...], tuple[tuple[int, ...], str]] = {}
        waiting = deque([begin])
        while waiting and self.steps > 0:
            here = waiting.popleft()
            for following in self._walk(*here):
                self.steps -= 1
                known = following in origin or (following == begin and following != end)
                if known or not self._stays(following, kept):
                    continue
                origin[following] = (here, self._common(*following))
                if following == end:
                    # The text of a path, read back from its end.
                    characters = []
                    place = end
                    while True:
                        place, character = origin[place]
                        characters.append(character)
                        if place == begin:
                            return "".join(reversed(characters))
                waiting.append(following)
        return None

    def _stays(self, states: tuple[int, ...], kept: list[int | None]) -> bool:
        """Returns whether each state lies in the component that is given for it."""
        pairs = zip(states, kept, strict=True)
        return all(part is None or self.parts.get(state) == part for state, part in pairs)

    def _to(self, state: int) -> str:
        """A text that leads to a state."""
        return "" if state == _START else self._path((_START,), (state,), [None]) or ""

    def _succeeds(self, text: str) -> bool:
        """Returns whether the pattern matches before the text ends.

        The search ends with such a match, so that nothing is tried twice.
        """
        here = {_START}
        for character in text:
            bit = 1 << self.samples.index(character)
            reached: set[int] = set()
            for state in here:
                reached.update(self.edges[state])
            here = {state for state in reached if self.classes[state] & bit}
            if here & self.done:
                return True
        return False

    def exponential(self) -> Slow | None:
        """A loop that can go round in two ways on the same text."""
        for state, part in self.parts.items():
            if state in {_START, _ELSEWHERE} or state in self.possessive:
                continue
            for text in self._two_ways(state, part):
                before = self._to(state)
                if not self._succeeds(before + text * 3):
                    return Slow("exponential", text, before)
        return None

    def _two_ways(self, state: int, part: int) -> Iterator[str]:
        for other, ways in self.edges[state].items():
            if ways < 2 or self.parts.get(other) != part:
                continue
            way_back = "" if other == state else self._path((other,), (state,), [part])
            if way_back is not None:
                yield self._common(other) + way_back
        for left, right in self._walk(state, state):
            parts_of_both = {self.parts.get(left), self.parts.get(right)}
            if left >= right or parts_of_both != {part}:
                continue
            way_back = self._path((left, right), (state, state), [part, part])
            if way_back is not None:
                yield self._common(left, right) + way_back

    def quadratic(self) -> Slow | None:
        """Two loops, one behind the other, that can share a text in many ways.

        The search itself is the first loop.
        """
        masks: dict[int, int] = {}
        for state, part in self.parts.items():
            masks[part] = masks.get(part, 0) | self.classes[state]
        for first, part in self.parts.items():
            if first in self.possessive or first == _ELSEWHERE:
                continue
            for second, other in self.parts.items():
                if second in {first, _START, _ELSEWHERE} or not masks[part] & masks[other]:
                    continue
                text = self._path(
                    (first, first, second), (first, second, second), [part, None, other]
                )
                if not text:
                    continue
                before = self._to(first)
                if not self._succeeds(before + text * 3):
                    return Slow("quadratic", text, before)
        return None


class _Components:
    """Strongly connected components of a graph, by Tarjan's algorithm without recursion.

    R. Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972).
    """

    def __init__(self, edges: Mapping[int, Mapping[int, int]]) -> None:
        self.edges = edges
        self.on_cycles: dict[int, int] = {}
        self._index: dict[int, int] = {}
        self._low: dict[int, int] = {}
        self._stack: list[int] = []
        for root in edges:
            if root not in self._index:
                self._search(root)

    def _search(self, root: int) -> None:
        work = [self._visit(root)]
        while work:
            state, following = work[-1]
            new = self._next_new(state, following)
            if new is not None:
                work.append(self._visit(new))
                continue
            work.pop()
            if work:
                above = work[-1][0]
                self._low[above] = min(self._low[above], self._low[state])
            if self._low[state] == self._index[state]:
                # Take a component off the stack, and keep it where it has a cycle.
                start = self._stack.index(state)
                members = self._stack[start:]
                del self._stack[start:]
                if len(members) > 1 or state in self.edges[state]:
                    self.on_cycles.update(dict.fromkeys(members, state))

    def _visit(self, state: int) -> tuple[int, Iterator[int]]:
        self._index[state] = self._low[state] = len(self._index)
        self._stack.append(state)
        return state, iter(self.edges[state])

    def _next_new(self, state: int, following: Iterator[int]) -> int | None:
        """The next state that was not visited; None where there is none left."""
        for other in following:
            if other not in self._index:
                return other
            if other in self._stack:
                self._low[state] = min(self._low[state], self._index[other])
        return None
