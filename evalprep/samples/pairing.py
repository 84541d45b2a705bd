"""The pairs of rows of two runs that are the same question, and what becomes of the other rows.

Two rows are paired where a key of both is equal. Keys are tried in order, the strongest first; a
pair that a stronger key made is final, and the rows left over go on to the next. A key that is
repeated brings rows together only where it does not matter which of them meet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from evalprep.samples.contained import contained
from evalprep.samples.keys import EMPTY, Hashes, Keys, Rows, all_of, contents, mixed
from evalprep.samples.sample import UNREADABLE
from evalprep.samples.table import Table
from evalprep.samples.tool_names import LM_EVAL

Flags = NDArray[np.bool_]
Codes = NDArray[np.int8]
_NONE = np.uint64(0)
ALONE = -1  # the unit of a pair whose key is not repeated
#: Asked of a table whose gold answers are those of no other row.
GOLD_COLUMN = "does `target` of --columns name the column of the gold answers?"
#: What became of a row: it has a partner; it stands there several times with other contents, or
#: once more letter by letter; its published verdict is neither true nor false.
PARTNER, DOUBLED, COPY, NO_VERDICT = 0, 1, 2, 3
#: Without a partner: alone, of a key that is repeated otherwise on the other side, or of a
#: question that the other side has with another gold answer.
LONE, AMBIGUOUS, OTHER_GOLD = 4, 5, 6


class Way(StrEnum):
    """What two rows of a pair have in common, in the order in which it is looked for."""

    ID = "sample id"
    DOCUMENT = "document hash"
    ASKED = "equal prompt and gold answer"
    PLACE = "position and gold answer"
    OTHER_DOCUMENT = "doc_hash"
    OTHER_PROMPT = "prompt_hash"
    DATA_ID = "id"
    QUESTION_TARGET = "question+target"
    QUESTION = "question"
    CONTAINED = "contained"
    LOOSE = "loose"
    POSITION = "position"
    PROMPT = "equal prompt"


_WAYS = list(Way)


class PairRules(msgspec.Struct, frozen=True):
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


@dataclass(frozen=True)
class Paired:
    """The rows of two sides that are the same question, whatever their scores.

    Attributes:
        sides: The keys of both sides.
        left, right: Row of each pair on both sides, in order of the left ones.
        way: Place in `Way` of what brought each pair together.
        unit: Code of the group of each pair whose key is repeated equally often on both sides,
            `ALONE` for any other. Which row of a group meets which is not known.
        left_out, right_out: What became of each row of both sides, as a code of this module.
        prompt_differs: For each pair, True where both prompts are known and are not the same.
        is_published: Whether the right side is the verdicts published for the left one.
    """

    sides: tuple[Keys, Keys]
    left: Rows
    right: Rows
    way: Codes
    unit: Rows
    left_out: Codes
    right_out: Codes
    prompt_differs: Flags
    is_published: bool = False

    @property
    def tools(self) -> tuple[str, str]:
        """Who wrote the rows of both sides."""
        return self.sides[0].tool, self.sides[1].tool

    @property
    def across_tools(self) -> bool:
        """True where the rows met by what the data set says of them, not by lm-eval's own ids."""
        return self.tools != (LM_EVAL, LM_EVAL)

    @property
    def smaller(self) -> int:
        """Rows of the smaller side."""
        return min(self.left_out.size, self.right_out.size)

    @property
    def ways(self) -> dict[str, int]:
        """Number of pairs by what brought them together, without ways that made none."""
        counts = np.bincount(self.way, minlength=len(_WAYS)).tolist()
        return {way.value: count for way, count in zip(_WAYS, counts, strict=True) if count}

    @property
    def lone(self) -> tuple[Rows, Rows]:
        """The rows of both sides that should have a partner and have none; each counts once.

        A row for which no verdict is published should have none.
        """
        if self.is_published:
            return np.flatnonzero(self.left_out == NO_VERDICT), _NO_ROWS
        return np.flatnonzero(self.left_out >= LONE), np.flatnonzero(self.right_out >= LONE)

    @property
    def has_units(self) -> bool:
        """True where a key is repeated equally often on both sides."""
        return bool(np.any(self.unit != ALONE))

    @property
    def copies(self) -> int:
        """Rows of both sides that stand there a second time, letter by letter."""
        return int(np.sum(self.left_out == COPY) + np.sum(self.right_out == COPY))

    def left_ids(self, *codes: int) -> list[str]:
        """The ids of the rows of the left side that became one of some codes."""
        return _ids(self.sides[0].table, np.isin(self.left_out, codes))

    def right_ids(self, *codes: int) -> list[str]:
        """The same of the right side."""
        return _ids(self.sides[1].table, np.isin(self.right_out, codes))

    @cached_property
    def gold_differs(self) -> Flags:
        """For each pair, True where both gold answers are known and are not the same.

        Of two tools case, blanks and final stops make no difference, and a letter is the choice
        that it names. Equal digests settle nearly every pair; the lines of the others are read.
        """
        own, other = (
            side.gold[rows] for side, rows in zip(self.sides, (self.left, self.right), strict=True)
        )
        if self.across_tools:
            suspected = (own == 0) | (own != other)
        else:
            suspected = (own != 0) & (other != 0) & (own != other)
        places = np.flatnonzero(suspected)
        name = "loose_target" if self.across_tools else "gold"
        own, other = self._keys(name, places)
        differs = np.zeros(self.left.size, dtype=np.bool_)
        differs[places] = (own != other) & (own != 0) & (other != 0)
        return differs

    @cached_property
    def choices_differ(self) -> Flags:
        """For each pair, True where both choices are known and are not the same in any order."""
        own, other = self._keys("choice_set")
        differs: Flags = (own != 0) & (other != 0) & (own != other)
        return differs

    @cached_property
    def choices_permuted(self) -> Flags:
        """For each pair, True where the choices are the same in another order."""
        own, other = self._keys("choices")
        moved: Flags = (own != 0) & (other != 0) & (own != other) & ~self.choices_differ
        return moved

    def asks_otherwise(self, rows: Rows, other_rows: Rows) -> int:
        """How many of some pairs differ in an argument of a request, or in the gold answer."""
        key = _column("arguments", "gold")
        own, other = key(self.sides[0], rows), key(self.sides[1], other_rows)
        return int(np.sum((own == 0) | (own != other)))

    def kept(self, rules: PairRules, *, any_gold: bool) -> Flags:
        """For each pair, whether it counts.

        Args:
            rules: What the user decides about pairs whose choices differ.
            any_gold: Keep pairs whose gold answers differ.
        """
        kept = np.ones(self.left.size, dtype=np.bool_)
        if self.across_tools and rules.same_choices:
            kept &= ~self.choices_differ
        return kept if any_gold else kept & ~self.gold_differs

    def doubled_in_order(self) -> tuple[Rows, Rows]:
        """The rows of ids that occur twice on a side, one by one in their order."""
        tables = [side.table for side in self.sides]
        codes = self.left_out, self.right_out
        doubled = np.concatenate(
            [
                table.id_hashes[(out == DOUBLED) | (out == COPY)]
                for table, out in zip(tables, codes, strict=True)
            ]
        )
        if not doubled.size:
            return _NO_ROWS, _NO_ROWS
        rows = [np.flatnonzero(np.isin(table.id_hashes, doubled)) for table in tables]
        keys = [_numbered(table.id_hashes[own]) for table, own in zip(tables, rows, strict=True)]
        left, right, _ = _meet((rows[0], rows[1]), (keys[0], keys[1]))
        return left, right

    def turned(self) -> Paired:
        """The same pairs with the sides exchanged."""
        order = np.argsort(self.right, kind="stable")
        return replace(
            self,
            sides=(self.sides[1], self.sides[0]),
            left=self.right[order],
            right=self.left[order],
            way=self.way[order],
            unit=self.unit[order],
            left_out=self.right_out,
            right_out=self.left_out,
            prompt_differs=self.prompt_differs[order],
        )

    def _keys(self, name: str, places: Rows | None = None) -> tuple[Hashes, Hashes]:
        """One key of both rows of the pairs, of all or at some places."""
        chosen = slice(None) if places is None else places
        left, right = self.sides
        return left.of(name, self.left[chosen]), right.of(name, self.right[chosen])


def _ids(table: Table, chosen: Flags) -> list[str]:
    return table.ids.at(np.flatnonzero(chosen))


def pair_rows(
    table: Table,
    other: Table,
    *,
    tools: tuple[str, str] = (LM_EVAL, LM_EVAL),
    rules: PairRules = BY_CONTENT,
) -> Paired:
    """Finds the rows of two tables that are the same question.

    Rows of lm-eval meet by the ids of the tables, then by the hash of the document, then by equal
    arguments and gold answer; where a side logs no prompts, by place and gold answer; at last by
    what the data set says of them, as rows of other tools do from the first.
    Two tables are matched once, whichever comes first; the match is kept with them.

    Args:
        table: Rows of a task of the run.
        other: Rows of that task of the other run.
        tools: Who wrote them.
        rules: What the user decides about pairing.
    """
    known = table.derived.get((Paired, id(other), tools, rules))
    if known is None:
        turned = other.derived.get((Paired, id(table), tools[::-1], rules))
        sides = _keys_of(table, tools[0]), _keys_of(other, tools[1])
        known = pair_keys(*sides, rules) if turned is None else turned.turned()
        table.derived[Paired, id(other), tools, rules] = known  # which keeps `other` and its id
    paired: Paired = known
    return paired


def _keys_of(table: Table, tool: str) -> Keys:
    keys: Keys = table.derived.setdefault((Keys, tool), Keys(table, tool))
    return keys


def pair_with_published(table: Table) -> Paired:
    """Pairs each row with the verdict published for it: another model's answer to the row."""
    left_out = np.where(table.previous >= 0, PARTNER, LONE).astype(np.int8)
    left_out[table.previous == UNREADABLE] = NO_VERDICT
    left_out[table.doubled()] = DOUBLED
    rows = np.flatnonzero(left_out == PARTNER)
    keys = _keys_of(table, LM_EVAL)
    return Paired(
        sides=(keys, keys),
        left=rows,
        right=rows,
        way=np.zeros(rows.size, dtype=np.int8),
        unit=np.full(rows.size, ALONE, dtype=np.int64),
        left_out=left_out,
        right_out=np.full(len(table), PARTNER, dtype=np.int8),
        prompt_differs=table.prompt_as_prepared[rows] == 0,
        is_published=True,
    )


def contrary_rows(table: Table) -> int:
    """Rows that stand twice in a table with other contents: nobody knows which of them counts."""
    doubled = np.array(table.doubled(), dtype=np.int64)
    keys = table.row_keys(table.repeated_ids)[doubled]
    return int(np.sum(~_is_equal_throughout(keys, contents(table)[doubled])))


def _is_equal_throughout(keys: Hashes, values: Hashes) -> Flags:
    """For each row, True where all rows of its key have one value."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    differs = values != values[first][group]
    equal: Flags = np.bincount(group, weights=differs, minlength=first.size)[group] == 0
    return equal


def pair_keys(left: Keys, right: Keys, rules: PairRules = BY_CONTENT) -> Paired:
    """Finds the pairs of two sides by their keys, and says why the other rows have none.

    A side has one row for all repeats of a question under one filter.
    """
    matching = _Matching(left, right)
    if (left.tool, right.tool) == (LM_EVAL, LM_EVAL):
        matching.by_ids(left.table, right.table)
        if {left.table.id_source, right.table.id_source} != {"doc_hash"}:
            matching.by_key(Way.DOCUMENT, lambda side, rows: side.digests[0][rows])
        matching.by_key(Way.ASKED, _column("arguments", "gold"))
        if not (left.prompt.any() and right.prompt.any()):
            matching.by_key(Way.PLACE, _gold_at_place)
            matching.by_place_alone()
        matching.by_content(rules)
        matching.by_key(Way.PROMPT, lambda side, rows: side.prompt[rows], only_single=True)
    else:
        matching.by_digests()
        matching.by_content(rules)
    return matching.paired()


#: The key of some rows of a side; 0 where it is not known.
_Key = Callable[[Keys, Rows], Hashes]


class _Matching:
    """The state between two keys: the pairs so far, and what became of each row."""

    def __init__(self, left: Keys, right: Keys) -> None:
        self.sides = left, right
        self.out = np.full(len(left), LONE, np.int8), np.full(len(right), LONE, np.int8)
        self._pairs: list[tuple[Rows, Rows, Codes, Rows]] = []  # left, right, way, unit
        self._units = 0
        self._unclear: list[tuple[Rows, Rows]] = []

    @property
    def free(self) -> tuple[Rows, Rows]:
        """The rows of both sides that have no partner yet."""
        left, right = self.out
        return np.flatnonzero(left >= LONE), np.flatnonzero(right >= LONE)

    def paired(self) -> Paired:
        """What was found."""
        none = _NO_ROWS, _NO_ROWS, np.zeros(0, dtype=np.int8), _NO_ROWS
        left, right, way, unit = map(np.concatenate, zip(none, *self._pairs, strict=True))
        order = np.argsort(left, kind="stable")
        left, right = left[order], right[order]
        return Paired(
            sides=self.sides,
            left=left,
            right=right,
            way=way[order],
            unit=unit[order],
            left_out=self.out[0],
            right_out=self.out[1],
            prompt_differs=_prompt_differs(self.sides, left, right),
        )

    def by_ids(self, table: Table, other: Table) -> None:
        """Pairs rows by the ids of the tables; rows of a repeated id by prompt, then by place.

        Ids of two columns tell only which lines of a side are one row.
        """
        if table.id_source != other.id_source:
            own = [side.row_keys(side.repeated_ids) for side in (table, other)]
            self._set_doubled_apart((own[0], own[1]))
            return
        way = Way.DOCUMENT if table.id_source == "doc_hash" else Way.ID
        repeated = np.union1d(table.repeated_ids, other.repeated_ids)
        keys = table.row_keys(repeated), other.row_keys(repeated)
        if not repeated.size:
            if np.array_equal(*keys):
                every_row = np.arange(len(table))
                self._take(way, every_row, every_row)
            else:
                self._take_single(way, keys)
            return
        self._set_doubled_apart(keys)
        self._take_single(way, keys)
        ids = table.id_hashes, other.id_hashes
        prompts = table.prompt_hash, other.prompt_hash
        self._take_single(
            way,
            (
                np.where(np.isin(ids[0], repeated), mixed(ids[0], prompts[0]), _NONE),
                np.where(np.isin(ids[1], repeated), mixed(ids[1], prompts[1]), _NONE),
            ),
        )
        doubled = [own[out == DOUBLED] for own, out in zip(ids, self.out, strict=True)]
        self._mark_doubled(ids, np.concatenate(doubled))

    def _take_single(self, way: Way, keys: tuple[Hashes, Hashes]) -> None:
        """Pairs free rows whose key stands once on each side, by a key of every row."""
        rows, other_rows = self.free
        left, right, _ = _meet((rows, other_rows), (keys[0][rows], keys[1][other_rows]))
        self._take(way, left, right)

    def _take(self, way: Way, left: Rows, right: Rows, *, is_unit: bool = False) -> None:
        """Makes pairs of some rows, one by one; those of one unit are known only together."""
        unit = np.full(left.size, self._units if is_unit else ALONE)
        self._units += is_unit
        code = np.full(left.size, _WAYS.index(way), dtype=np.int8)
        self._pairs.append((left, right, code, unit))
        self.out[0][left] = PARTNER
        self.out[1][right] = PARTNER

    def _set_doubled_apart(self, keys: tuple[Hashes, Hashes]) -> None:
        """Marks rows that stand there several times; of equal ones the first stays."""
        doubled = []
        for side, own, out in zip(self.sides, keys, self.out, strict=True):
            values, counts = np.unique(own, return_counts=True)
            rows = np.flatnonzero(np.isin(own, values[counts > 1]))
            is_equal = _is_equal_throughout(own[rows], contents(side.table)[rows])
            is_later = np.ones(rows.size, dtype=np.bool_)
            is_later[np.unique(own[rows], return_index=True)[1]] = False
            out[rows[is_equal & is_later]] = COPY
            doubled.append(own[rows[~is_equal]])
        self._mark_doubled(keys, np.concatenate(doubled))

    def _mark_doubled(self, keys: tuple[Hashes, Hashes], doubled: Hashes) -> None:
        """Marks the rows of some keys on both sides: nobody knows which of them counts."""
        for own, out in zip(keys, self.out, strict=True):
            out[(out >= LONE) & np.isin(own, doubled)] = DOUBLED

    def by_key(self, way: Way, key: _Key, *, only_single: bool = False) -> None:
        """Pairs rows of a key that is as frequent on both sides, in their order.

        Args:
            way: What these pairs have in common.
            key: Returns the key of rows.
            only_single: Leave rows apart whose key is repeated.
        """
        left, right, units = self._met(key)
        self._take(way, left, right)
        for rows, other_rows in units:
            if rows.size == other_rows.size and not only_single:
                self._take(way, rows, other_rows, is_unit=True)

    def by_place_alone(self) -> None:
        """Pairs rows of a log that states values by place and nothing of what was asked."""
        if any(side.table.id_source == "doc_id" for side in self.sides):
            self._level(Way.POSITION, _unsaid_at_place, checks_target=True)

    def by_digests(self) -> None:
        """Pairs rows by lm-eval's digests."""
        self._level(Way.OTHER_DOCUMENT, lambda side, rows: side.digests[0][rows])
        self._level(Way.OTHER_PROMPT, lambda side, rows: side.digests[1][rows], checks_target=True)

    def by_content(self, rules: PairRules) -> None:
        """Pairs rows by id, question and gold answer, key after key, and last by position.

        What no key brought together is alone, ambiguous, or has another gold answer.
        """
        if self._ids_are_shared(rules):
            self._level(Way.DATA_ID, _column("id"))
        self._level(Way.QUESTION_TARGET, _column("question", "target"))
        self._level(Way.QUESTION, _column("question"), lacks_target=True)
        self._by_containment()
        self._level(Way.LOOSE, _column("loose_question", "loose_target"))
        self._level(Way.LOOSE, _column("loose_question"), lacks_target=True)
        if rules.by_position:
            self._level(Way.POSITION, _column("place"))
        for unclear in self._unclear:
            left, right = (
                rows[out[rows] >= LONE] for rows, out in zip(unclear, self.out, strict=True)
            )
            if left.size and right.size:
                self.out[0][left] = AMBIGUOUS
                self.out[1][right] = AMBIGUOUS
        self._mark_other_gold()

    def _ids_are_shared(self, rules: PairRules) -> bool:
        """True where an id of the data set means the same row on both sides."""
        if not all(rows.size for rows in self.free):
            return False
        tools = {side.tool for side in self.sides}
        is_unknown_tool = "" in tools
        if len(tools) == 1 and not is_unknown_tool:
            return True
        if not rules.same_ids:
            return False
        return is_unknown_tool or not any(side.is_numbered for side in self.sides)

    def _level(
        self, way: Way, key: _Key, *, checks_target: bool = False, lacks_target: bool = False
    ) -> None:
        """Pairs rows of a key whose gold answers agree.

        Args:
            way: What these pairs have in common.
            key: Returns the key of rows.
            checks_target: Leave single rows apart whose gold answers are known and differ.
            lacks_target: Pair rows of a key only where a side lacks their gold answers.
        """
        left, right, units = self._met(key)
        if lacks_target:
            is_good = ~np.all([keys != 0 for keys in self._targets(left, right)], axis=0)
            left, right = left[is_good], right[is_good]
        elif checks_target:
            is_good = ~self._targets_differ(left, right)
            left, right = left[is_good], right[is_good]
        self._take(way, left, right)
        for rows, other_rows in units:
            targets = self._targets(rows, other_rows)
            if lacks_target and targets[0].any() and targets[1].any():
                continue
            parts = _parts_by_target((rows, other_rows), targets)
            if not parts:
                self._unclear.append((rows, other_rows))
            for part in parts:
                members, partners = map(_in_order, self.sides, part)
                self._take(way, members, partners, is_unit=members.size > 1)

    def _met(self, key: _Key) -> _Met:
        """The free rows of both sides that have a key in common."""
        left, right = self.free
        if not (left.size and right.size):
            return _NONE_MET
        return _meet((left, right), (key(self.sides[0], left), key(self.sides[1], right)))

    def _by_containment(self) -> None:
        """Pairs rows of which a side has only the prompt with the question that stands in it."""
        if not all(rows.size for rows in self.free):
            return
        prompted = [
            rows[side.of("only_prompt", rows) != 0]
            for side, rows in zip(self.sides, self.free, strict=True)
        ]
        for at, rows in enumerate(prompted):
            found = list(contained(self.sides[at], rows, self.sides[1 - at], self.free[1 - at]))
            own, other = np.array(found, dtype=np.int64).reshape(-1, 2).T
            left, right = (own, other) if at == 0 else (other, own)
            is_good = ~self._targets_differ(left, right)
            self._take(Way.CONTAINED, left[is_good], right[is_good])

    def _mark_other_gold(self) -> None:
        """Marks lone rows whose question the other side has with another gold answer."""
        lone = np.flatnonzero(self.out[0] == LONE), np.flatnonzero(self.out[1] == LONE)
        if not (lone[0].size and lone[1].size):
            return
        keys = [
            np.where(side.of("target", rows) != 0, side.of("loose_question", rows), _NONE)
            for side, rows in zip(self.sides, lone, strict=True)
        ]
        left, right, units = _meet(lone, (keys[0], keys[1]))
        self.out[0][left] = OTHER_GOLD
        self.out[1][right] = OTHER_GOLD
        for rows, other_rows in units:
            both = min(rows.size, other_rows.size)
            self.out[0][rows[:both]] = OTHER_GOLD
            self.out[1][other_rows[:both]] = OTHER_GOLD

    def _targets(self, left: Rows, right: Rows) -> tuple[Hashes, Hashes]:
        """The gold answers of some rows of both sides."""
        return self.sides[0].of("loose_target", left), self.sides[1].of("loose_target", right)

    def _targets_differ(self, left: Rows, right: Rows) -> Flags:
        """For pairs of rows, True where both gold answers are known and differ."""
        own, other = self.sides[0].digests[2][left], self.sides[1].digests[2][right]
        is_same = (own != 0) & (own == other)
        targets, other_targets = self._targets(left, right)
        is_known = (targets != 0) & (other_targets != 0)
        differs: Flags = is_known & (targets != other_targets) & ~is_same
        return differs


#: Rows that are alone with their key on both sides, pair by pair, and the rows of other keys.
_Met = tuple[Rows, Rows, list[tuple[Rows, Rows]]]
_NO_ROWS = np.zeros(0, dtype=np.int64)
_NONE_MET: _Met = (_NO_ROWS, _NO_ROWS, [])


def _meet(rows: tuple[Rows, Rows], keys: tuple[Hashes, Hashes]) -> _Met:
    """Finds the keys that some rows of both sides have in common; 0 is no key."""
    left, own, starts, ends = _grouped(rows[0], keys[0])
    right, other, other_starts, other_ends = _grouped(rows[1], keys[1])
    _, at, other_at = np.intersect1d(own, other, assume_unique=True, return_indices=True)
    starts, ends = starts[at], ends[at]
    other_starts, other_ends = other_starts[other_at], other_ends[other_at]
    is_single = (ends - starts == 1) & (other_ends - other_starts == 1)
    several = [
        (left[starts[key] : ends[key]], right[other_starts[key] : other_ends[key]])
        for key in np.flatnonzero(~is_single).tolist()
    ]
    return left[starts[is_single]], right[other_starts[is_single]], several


def _grouped(rows: Rows, keys: Hashes) -> tuple[Rows, Hashes, Rows, Rows]:
    """Rows in the order of their keys; each key, and where its rows begin and end."""
    is_known = keys != 0
    order = np.argsort(keys[is_known], kind="stable")
    values, starts = np.unique(keys[is_known][order], return_index=True)
    return rows[is_known][order], values, starts, np.append(starts[1:], order.size)


def _numbered(keys: Hashes) -> Hashes:
    """Keys with the number that each repetition of a key has."""
    order = np.argsort(keys, kind="stable")
    _, starts, group = np.unique(keys[order], return_index=True, return_inverse=True)
    number = np.zeros(keys.size, dtype=np.int64)
    number[order] = np.arange(keys.size) - starts[group]
    return mixed(keys, number)


def _column(*names: str) -> _Key:
    """A key of what rows ask; of several columns only where all are known."""
    return lambda side, rows: all_of(*(side.of(name, rows) for name in names))


def _gold_at_place(side: Keys, rows: Rows) -> Hashes:
    """The gold answer at its place in the split; 0 for one that says nothing."""
    gold = side.of("gold", rows)
    return np.where(gold == EMPTY, _NONE, mixed(gold, side.table.doc_id[rows]))


def _unsaid_at_place(side: Keys, rows: Rows) -> Hashes:
    """The place in the split; 0 for a row that has no other id and says what it asks."""
    place = (side.table.doc_id[rows] + 1).astype(np.uint64)
    if side.table.id_source != "doc_id":
        return place
    return np.where(side.of("question", rows) == 0, place, _NONE)


def _parts_by_target(
    rows: tuple[Rows, Rows], targets: tuple[Hashes, Hashes]
) -> list[tuple[Rows, Rows]]:
    """The rows of one key, split so that gold answers agree; empty where that cannot be done."""
    if rows[0].size != rows[1].size:
        return []
    own, other = targets
    known = np.unique(np.concatenate(targets))
    if not own.any() or not other.any():
        return [rows] if np.count_nonzero(known) <= 1 else []
    if not np.array_equal(np.sort(own), np.sort(other)):
        return []
    return [(rows[0][own == target], rows[1][other == target]) for target in known]


def _in_order(side: Keys, rows: Rows) -> Rows:
    """Rows that nothing tells apart, in an order that is not that of their file."""
    names = ("target", "question", "id", "place")
    document, prompt, _ = side.digests
    columns = [prompt[rows], document[rows], *(side.of(name, rows) for name in names)]
    ordered: Rows = rows[np.lexsort(columns)]
    return ordered


def _prompt_differs(sides: tuple[Keys, Keys], left: Rows, right: Rows) -> Flags:
    """For each pair, True where both prompts are logged in one form and are not the same."""
    prompts, other_prompts = sides[0].prompt[left], sides[1].prompt[right]
    differs: Flags = (prompts != other_prompts) & (prompts != 0) & (other_prompts != 0)
    first = np.flatnonzero(differs)[:1].tolist()
    forms = [
        bool(sides[0].was_chat(left[at])) == bool(sides[1].was_chat(right[at])) for at in first
    ]
    return differs if all(forms) else np.zeros_like(differs)
