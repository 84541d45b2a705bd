"""The levels at which a row of one side is the same question as a row of the other.

Keys are tried in order, the strongest first. A pair that a stronger key made is final, and the rows
left over go on to the next. A key that is repeated brings rows together only where it does not
matter which of them meet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from evalprep.compare.rowkeys import NO_DIGEST, AskedRow, Digest, RowKeys, are_positions, normalise

ALONE = -1  # the group of a pair whose key is not repeated
_TAIL = 8  # characters of a question's end that are looked up in a prompt


class Level(StrEnum):
    """The part that two rows of a pair have in common, the strongest first."""

    DOC_HASH = "doc_hash"
    PROMPT_HASH = "prompt_hash"
    ID = "id"
    QUESTION_TARGET = "question+target"
    QUESTION = "question"
    CONTAINED = "contained"
    LOOSE = "loose"
    POSITION = "position"


@dataclass(frozen=True)
class PairRules:
    """The user's decisions about pairing.

    Attributes:
        by_position: Whether rows that nothing else brings together meet by their position.
        same_ids: Whether the ids of both sides come from one data set.
        partial: Whether few pairs are enough for a conclusion.
        same_choices: Whether pairs of other tools' rows are left out where the choices differ.
    """

    by_position: bool = False
    same_ids: bool = False
    partial: bool = False
    same_choices: bool = False


#: The rules where the user decides nothing.
BY_CONTENT = PairRules()


class Side(Protocol):
    """The rows of one side, each by its number."""

    @property
    def tool(self) -> str:
        """Returns who wrote the rows; empty where that is not known."""

    def __len__(self) -> int:
        """Returns how many rows there are."""

    def doc_hashes(self, rows: Sequence[int]) -> Sequence[Hashable]:
        """Digest of the document of some rows; a false value where it is not known."""

    def prompt_hashes(self, rows: Sequence[int]) -> Sequence[Hashable]:
        """Digest of the prompt of some rows; a false value where it is not known."""

    def target_hashes(self, rows: Sequence[int]) -> Sequence[Hashable]:
        """Digest of the gold answer of some rows; a false value where it is not known."""

    def keys(self, rows: Sequence[int]) -> Sequence[RowKeys]:
        """Returns what some rows are paired by beside their digests."""

    def texts(self, rows: Sequence[int]) -> Iterator[AskedRow]:
        """Question and prompt of some rows."""


@dataclass
class Pairing:
    """Rows of two sides that are the same question.

    Attributes:
        pairs: Row, row of the other side, level, and the group of pairs that share a repeated key
            (`ALONE` for none), in order of the rows.
        left_only, right_only: Rows without a partner that no key was ambiguous about.
        left_ambiguous, right_ambiguous: Rows of keys that are repeated otherwise on the other side.
        conflicts: Rows without a partner of which the other side has the question with another
            gold answer.
    """

    pairs: list[tuple[int, int, Level, int]] = field(default_factory=list)
    left_only: list[int] = field(default_factory=list)
    right_only: list[int] = field(default_factory=list)
    left_ambiguous: list[int] = field(default_factory=list)
    right_ambiguous: list[int] = field(default_factory=list)
    conflicts: list[tuple[int, int]] = field(default_factory=list)

    @property
    def ambiguous(self) -> int:
        """Returns how many rows of both sides are left out as their key is repeated."""
        return len(self.left_ambiguous) + len(self.right_ambiguous)

    @property
    def duplicates(self) -> int:
        """Returns how many pairs share their key with another pair."""
        return sum(group != ALONE for *_, group in self.pairs)

    def by_level(self) -> dict[str, int]:
        """Returns how many pairs each level made, without levels that made none."""
        counts = {level.value: 0 for level in Level}
        for _, _, level, _ in self.pairs:
            counts[level.value] += 1
        return {name: count for name, count in counts.items() if count}


def pair_sides(left: Side, right: Side, rules: PairRules = BY_CONTENT) -> Pairing:
    """Finds the pairs of two sides, and says why the other rows have none.

    A side has one row for all repeats of a question under one filter.
    """
    search = _Search(left, right, rules, range(len(left)), range(len(right)))
    search.pair_by_digests()
    search.pair_by_content()
    return search.finished()


def pair_rest(
    left: Side, right: Side, rules: PairRules, rows: Iterable[int], other_rows: Iterable[int]
) -> Pairing:
    """Finds pairs among some rows of two sides by what the data set says of them."""
    search = _Search(left, right, rules, rows, other_rows)
    search.pair_by_content()
    return search.finished()


_Keys = Callable[[Side, Sequence[int]], Sequence[Hashable]]


class _Search:
    """The state between two levels: the pairs so far, and the rows that are free."""

    def __init__(
        self,
        left: Side,
        right: Side,
        rules: PairRules,
        rows: Iterable[int],
        other_rows: Iterable[int],
    ) -> None:
        self.left = left
        self.right = right
        self.rules = rules
        self.pairing = Pairing()
        self.free = dict.fromkeys(rows)
        self.other_free = dict.fromkeys(other_rows)
        self._groups = 0
        self._unclear: list[tuple[list[int], list[int]]] = []

    def pair_by_digests(self) -> None:
        """Pairs rows by lm-eval's digests."""
        self._level(Level.DOC_HASH, _doc_hashes)
        self._level(Level.PROMPT_HASH, _prompt_hashes, checks_target=True)

    def pair_by_content(self) -> None:
        """Pairs rows by id, question and target, level after level, and last by position."""
        if self._ids_are_shared():
            self._level(Level.ID, _keys_of(lambda row: row.id))
        self._level(Level.QUESTION_TARGET, _keys_of(_question_and_target))
        self._level(Level.QUESTION, _keys_of(lambda row: row.question), lacks_target=True)
        self._by_containment()
        self._level(Level.LOOSE, _keys_of(_loose_question_and_target))
        self._level(Level.LOOSE, _keys_of(lambda row: row.loose_question), lacks_target=True)
        if self.rules.by_position:
            self._level(Level.POSITION, _keys_of(_position))

    def finished(self) -> Pairing:
        """The pairs, and what became of all other rows."""
        result = self.pairing
        for rows, other_rows in self._unclear:
            members = [row for row in rows if row in self.free]
            partners = [row for row in other_rows if row in self.other_free]
            if members and partners:
                result.left_ambiguous += members
                result.right_ambiguous += partners
        result.left_ambiguous = sorted(set(result.left_ambiguous))
        result.right_ambiguous = sorted(set(result.right_ambiguous))
        result.left_only = sorted(self.free.keys() - set(result.left_ambiguous))
        result.right_only = sorted(self.other_free.keys() - set(result.right_ambiguous))
        result.conflicts = self._conflicts()
        result.pairs.sort()
        return result

    def _ids_are_shared(self) -> bool:
        """True where an id means the same row on both sides."""
        if not (self.free and self.other_free):
            return False
        tool, other_tool = self.left.tool, self.right.tool
        is_unknown_tool = "" in (tool, other_tool)
        if tool == other_tool and not is_unknown_tool:
            return True
        if not self.rules.same_ids:
            return False
        if is_unknown_tool:
            return True
        return not (_are_numbered(self.left) or _are_numbered(self.right))

    def _level(
        self, level: Level, keys: _Keys, *, checks_target: bool = False, lacks_target: bool = False
    ) -> None:
        """Pairs free rows of equal keys.

        Args:
            level: The level of these pairs.
            keys: Returns the key of each row; one that is false pairs with nothing.
            checks_target: Leave rows apart whose gold answers are known and differ.
            lacks_target: Pair rows of a key only where a side lacks their gold answers.
        """
        if not (self.free and self.other_free):
            return
        groups = self._grouped(self.left, keys, self.free)
        other_groups = self._grouped(self.right, keys, self.other_free)
        for key, rows in groups.items():
            other_rows = other_groups.get(key)
            if not other_rows:
                continue
            if lacks_target and not self._lacks_target(rows, other_rows):
                continue
            is_single = len(rows) == len(other_rows) == 1
            if checks_target and is_single and self._targets_differ(rows[0], other_rows[0]):
                continue
            self._pair_group(level, rows, other_rows)

    def _grouped(
        self, side: Side, keys: _Keys, free: Mapping[int, None]
    ) -> dict[Hashable, list[int]]:
        rows = list(free)
        groups: defaultdict[Hashable, list[int]] = defaultdict(list)
        for row, key in zip(rows, keys(side, rows), strict=True):
            if key:
                groups[key].append(row)
        return groups

    def _lacks_target(self, rows: Sequence[int], other_rows: Sequence[int]) -> bool:
        if not any(keys.target for keys in self.left.keys(rows)):
            return True
        return not any(keys.target for keys in self.right.keys(other_rows))

    def _targets_differ(self, row: int, other_row: int) -> bool:
        digest = self.left.target_hashes([row])[0]
        other_digest = self.right.target_hashes([other_row])[0]
        if digest and other_digest and digest == other_digest:
            return False
        target = self.left.keys([row])[0].loose_target
        other_target = self.right.keys([other_row])[0].loose_target
        if not target or not other_target:
            return False
        return target != other_target

    def _pair_group(self, level: Level, rows: list[int], other_rows: list[int]) -> None:
        """Pairs the rows of one key, if they are equally many and their gold answers agree."""
        parts = _parts_by_target(self.left, rows, self.right, other_rows)
        if not parts:
            self._unclear.append((rows, other_rows))
        for members, partners in parts:
            self._pair_in_order(level, members, partners)

    def _pair_in_order(self, level: Level, rows: list[int], other_rows: list[int]) -> None:
        """Pairs rows that nothing tells apart in order of their position."""
        group = ALONE
        if len(rows) > 1:
            group = self._groups
            self._groups += 1
            rows = sorted(rows, key=lambda row: _order(self.left, row))
            other_rows = sorted(other_rows, key=lambda row: _order(self.right, row))
        for row, other_row in zip(rows, other_rows, strict=True):
            self.pairing.pairs.append((row, other_row, level, group))
            del self.free[row], self.other_free[other_row]

    def _by_containment(self) -> None:
        """Pairs rows of which a side has only the prompt with the question that stands in it."""
        prompted = _with_prompt_only(self.left, self.free)
        other_prompted = _with_prompt_only(self.right, self.other_free)
        contained = list(_contained(self.left, prompted, self.right, self.other_free))
        for row, other_row in contained:
            self._pair_contained(row, other_row)
        contained = list(_contained(self.right, other_prompted, self.left, self.free))
        for other_row, row in contained:
            self._pair_contained(row, other_row)

    def _pair_contained(self, row: int, other_row: int) -> None:
        if not self._targets_differ(row, other_row):
            self._pair_in_order(Level.CONTAINED, [row], [other_row])

    def _conflicts(self) -> list[tuple[int, int]]:
        """Rows without a partner whose question the other side has with another gold answer."""
        if not (self.free and self.other_free):
            return []
        keys = _keys_of(_loose_question_with_target)
        groups = self._grouped(self.left, keys, self.free)
        other_groups = self._grouped(self.right, keys, self.other_free)
        unclear = set(self.pairing.left_ambiguous)
        other_unclear = set(self.pairing.right_ambiguous)
        conflicts: list[tuple[int, int]] = []
        for key, rows in groups.items():
            other_rows = other_groups.get(key, [])
            members = [row for row in rows if row not in unclear]
            partners = [row for row in other_rows if row not in other_unclear]
            conflicts += zip(members, partners, strict=False)
        return sorted(conflicts)


def _are_numbered(side: Side) -> bool:
    """Returns whether the ids of a side are the positions of its rows."""
    ids = [keys.id for keys in side.keys(range(len(side)))]
    return are_positions([row_id for row_id in ids if row_id])


def _with_prompt_only(side: Side, free: Iterable[int]) -> list[int]:
    """The rows of which a side has no question apart from the prompt."""
    rows = list(free)
    keys_of_rows = zip(rows, side.keys(rows), strict=True)
    return [row for row, keys in keys_of_rows if keys.only_prompt]


def _doc_hashes(side: Side, rows: Sequence[int]) -> Sequence[Hashable]:
    return side.doc_hashes(rows)


def _prompt_hashes(side: Side, rows: Sequence[int]) -> Sequence[Hashable]:
    return side.prompt_hashes(rows)


def _keys_of(key: Callable[[RowKeys], Hashable]) -> _Keys:
    return lambda side, rows: [key(keys) for keys in side.keys(rows)]


def _question_and_target(row: RowKeys) -> Hashable:
    both = row.question, row.target
    return both if all(both) else None


def _loose_question_and_target(row: RowKeys) -> Hashable:
    both = row.loose_question, row.loose_target
    return both if all(both) else None


def _loose_question_with_target(row: RowKeys) -> Hashable:
    """The question of a row whose gold answer is known."""
    return row.loose_question if row.target else NO_DIGEST


def _position(row: RowKeys) -> Hashable:
    if row.doc_id is None or row.doc_id < 0:
        return None
    return (row.doc_id,)


def _parts_by_target(
    left: Side, rows: list[int], right: Side, other_rows: list[int]
) -> list[tuple[list[int], list[int]]]:
    """The rows of one key, split so that gold answers agree; empty where that cannot be done."""
    if len(rows) != len(other_rows):
        return []
    if len(rows) == 1:
        return [(rows, other_rows)]
    groups = _by_target(left, rows)
    other_groups = _by_target(right, other_rows)
    targets, other_targets = groups.keys(), other_groups.keys()
    no_target = {NO_DIGEST}
    if no_target in (targets, other_targets):
        known = (targets | other_targets) - no_target
        return [(rows, other_rows)] if len(known) <= 1 else []
    if targets != other_targets:
        return []
    parts = []
    for target, members in groups.items():
        partners = other_groups[target]
        if len(members) != len(partners):
            return []
        parts.append((members, partners))
    return parts


def _by_target(side: Side, rows: Sequence[int]) -> dict[Digest, list[int]]:
    groups: defaultdict[Digest, list[int]] = defaultdict(list)
    for row, keys in zip(rows, side.keys(rows), strict=True):
        groups[keys.loose_target].append(row)
    return dict(groups)


def _order(side: Side, row: int) -> tuple[int, str, Digest, Digest, str]:
    """An order of rows that does not depend on their place in the file."""
    keys = side.keys([row])[0]
    position = -1 if keys.doc_id is None else keys.doc_id
    doc_hash = side.doc_hashes([row])[0]
    prompt_hash = side.prompt_hashes([row])[0]
    digests = f"{doc_hash} {prompt_hash}"
    return position, keys.id, keys.question, keys.target, digests


def _contained(
    side: Side, prompted: Sequence[int], other: Side, candidates: Iterable[int]
) -> Iterator[tuple[int, int]]:
    """Yields rows with a prompt, and the row whose question is the last one in that prompt.

    A question that several rows hold, and a row that several prompts end in, pair with nothing.
    """
    if not prompted:
        return
    index = _QuestionIndex(other, candidates)
    prompts_of: defaultdict[int, list[int]] = defaultdict(list)
    for row, texts in zip(prompted, side.texts(prompted), strict=True):
        prompt = normalise(texts.prompt)
        other_row = index.last_in(prompt)
        if other_row is not None:
            prompts_of[other_row].append(row)
    for other_row, rows in prompts_of.items():
        if len(rows) == 1:
            yield rows[0], other_row


class _QuestionIndex:
    """Questions by their last characters, to find the last one in a prompt."""

    def __init__(self, side: Side, rows: Iterable[int]) -> None:
        candidates = list(rows)
        with_question = []
        for row, keys in zip(candidates, side.keys(candidates), strict=True):
            if not keys.only_prompt:
                with_question.append(row)
        self._rows: defaultdict[str, list[int]] = defaultdict(list)
        for row, texts in zip(with_question, side.texts(with_question), strict=True):
            question = normalise(texts.question)
            if question:
                self._rows[question].append(row)
        self._by_tail: defaultdict[str, list[str]] = defaultdict(list)
        for question in self._rows:
            tail = question[-_TAIL:]
            self._by_tail[tail].append(question)
        lengths = {len(tail) for tail in self._by_tail}
        self._lengths = sorted(lengths, reverse=True)

    def last_in(self, prompt: str) -> int | None:
        """Returns the row of the question that ends last in a prompt; None without exactly one."""
        for end in range(len(prompt), 0, -1):
            questions = self._ending_at(prompt, end)
            if not questions:
                continue
            rows = self._rows[questions[0]]
            is_single = len(questions) == len(rows) == 1
            return rows[0] if is_single else None
        return None

    def _ending_at(self, prompt: str, end: int) -> list[str]:
        """The questions that end at a place of a prompt."""
        questions: list[str] = []
        for length in self._lengths:
            start = max(0, end - length)
            tail = prompt[start:end]
            candidates = self._by_tail.get(tail, ())
            questions += [text for text in candidates if prompt.endswith(text, 0, end)]
        return questions


class Choices(StrEnum):
    """The difference between the choices of two rows of a pair."""

    SAME = "same"
    PERMUTED = "permuted"
    DIFFERENT = "different"


def compare_choices(choices: Sequence[str], other_choices: Sequence[str]) -> Choices:
    """Returns how two lists of choices differ; one that is not known differs in nothing.

    >>> compare_choices(["3", "4"], ["4", "3"]), compare_choices(["3", "4"], ["3", "5"]).value
    (<Choices.PERMUTED: 'permuted'>, 'different')
    """
    texts = [normalise(choice) for choice in choices]
    other_texts = [normalise(choice) for choice in other_choices]
    if not texts or not other_texts or texts == other_texts:
        return Choices.SAME
    if sorted(texts) == sorted(other_texts):
        return Choices.PERMUTED
    return Choices.DIFFERENT
