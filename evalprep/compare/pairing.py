"""The pairing of samples of two runs that answer the same question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from evalprep.compare.levels import (
    ALONE,
    BY_CONTENT,
    Choices,
    Pairing,
    PairRules,
    pair_rest,
    pair_sides,
)
from evalprep.compare.questions import (
    Flags,
    RowPairs,
    choices_of_pairs,
    gold_differs,
    in_other_form,
    position_keys,
    question_keys,
    texts_differ,
)
from evalprep.compare.tablerows import TableRows
from evalprep.results import LM_EVAL, UNKNOWN, UNREADABLE, RowKey, Table

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

_NO_SCORES = (np.zeros(0), np.zeros(0))

BY_ID = "sample id"
BY_DOCUMENT = "document hash"
BY_QUESTION = "equal prompt and gold answer"
BY_PROMPT = "equal prompt"
BY_POSITION = "position and gold answer"


@dataclass
class RowMatch:
    """Rows of two tables that are the same question, whatever their scores.

    Attributes:
        rows, other_rows: Row of each pair in the two tables.
        repeats: Code of the group of each pair whose key is repeated equally often on both sides,
            -1 for a pair of its own. Which row of a group meets which is not known.
        missing: Ids of the other table without a partner.
        extra: Ids of the table without a partner.
        duplicates: Ids of rows that occur twice on a side (same id, same prompt, same place).
        ways: Number of pairs by the way in which they were found.
        ambiguous: Ids of rows of both sides that have no partner as their key is repeated
            otherwise on the other side.
        conflicts: Ids of rows without a partner of which the other side has the question with
            another gold answer.
        copies, other_copies: Rows of the two tables that stand there a second time, letter by
            letter; they count once.
    """

    rows: Rows
    other_rows: Rows
    repeats: Rows
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    ways: dict[str, int] = field(default_factory=dict)
    ambiguous: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    copies: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    other_copies: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass
class Pairs:
    """Rows that were scored on both sides.

    Args:
        rows: Row of each pair in the run.
        other_rows: Row of each pair in the other run; the same rows when the other side is the
            published verdict.
        now: Scores of the run.
        before: Scores of the other side.
        prompt_differs: Whether the two sides saw different prompts; False where that cannot be
            known.
        missing: Ids of the other side that the run lacks.
        extra: Ids of the run that the other side lacks (against published verdicts: rows without
            one).
        duplicates: Ids of rows that occur twice on a side (same id, same prompt, same place):
            nobody knows which line is the run's, so that they are left out.
        unscored: Ids of pairs that were left out as one side has no number.
        unreadable: Ids of rows that were left out as their published verdict is neither true nor
            false.
        other_gold: Ids of pairs whose gold answers differ.
        half_scored: Scores of the candidate in pairs where the baseline has none, and the reverse.
        unpaired: Scores of rows without a partner, of the candidate and of the baseline; NaN where
            a row has none.
        repeats: Code of the group of each pair with a repeated key, -1 for a pair of its own.
        ways: Number of pairs by the way in which they were found.
        paired: Rows that met, before any was left out.
        ambiguous, conflicts: As in `RowMatch`.
        permuted: How many pairs have the same choices in another order.
        other_choices: Ids of pairs whose choices are not the same.
        smaller: Rows of the smaller side; 0 against published verdicts.
        copies: Rows of either side that stand there a second time and count once.
        tools: Who wrote the rows of the run and of the other side.
    """

    rows: Rows
    other_rows: Rows
    now: Floats
    before: Floats
    prompt_differs: Flags
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    unscored: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    other_gold: list[str] = field(default_factory=list)
    half_scored: tuple[Floats, Floats] = _NO_SCORES
    unpaired: tuple[Floats, Floats] = _NO_SCORES
    repeats: Rows | None = None
    ways: dict[str, int] = field(default_factory=dict)
    paired: int = 0
    ambiguous: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    permuted: int = 0
    other_choices: list[str] = field(default_factory=list)
    smaller: int = 0
    copies: int = 0
    tools: tuple[str, str] = (LM_EVAL, LM_EVAL)

    @property
    def across_tools(self) -> bool:
        """True where the rows met by what the data set says of them, not by lm-eval's own ids."""
        return self.tools != (LM_EVAL, LM_EVAL)

    @property
    def share(self) -> float:
        """The share of the smaller side that met a row of the other; 1.0 of no rows."""
        if not self.smaller:
            return 1.0
        return self.paired / self.smaller

    def keep(self, mask: Flags) -> Pairs:
        """The pairs where `mask` holds; the lists of ids stay."""
        if mask.all():
            return self
        repeats = None if self.repeats is None else self.repeats[mask]
        return replace(
            self,
            rows=self.rows[mask],
            other_rows=self.other_rows[mask],
            now=self.now[mask],
            before=self.before[mask],
            prompt_differs=self.prompt_differs[mask],
            repeats=repeats,
        )


def _scored(pairs: Pairs, ids: list[str]) -> Pairs:
    known = np.isfinite(pairs.now) & np.isfinite(pairs.before)
    unscored = [ids[row] for row in pairs.rows[~known]]
    sides = (pairs.now[~known], pairs.before[~known])
    half_scored = (_finite(sides[0]), _finite(sides[1]))
    return replace(pairs.keep(known), unscored=unscored, half_scored=half_scored)


def _finite(values: Floats) -> Floats:
    finite: Floats = values[np.isfinite(values)]
    return finite


def with_published(table: Table, values: Floats) -> Pairs:
    """Pairs each row with the verdict published for it.

    Rows that occur twice and unreadable verdicts are left out.
    """
    doubled = table.doubled()
    alone = np.ones(len(table), dtype=bool)
    alone[doubled] = False
    has_verdict = table.previous >= 0
    rows = np.flatnonzero(has_verdict & alone).astype(np.int64)
    unknown = np.flatnonzero(table.previous == UNKNOWN)
    unreadable = np.flatnonzero(table.previous == UNREADABLE)
    pairs = Pairs(
        rows=rows,
        other_rows=rows,
        now=values[rows],
        before=table.previous[rows].astype(np.float64),
        prompt_differs=table.prompt_as_prepared[rows] == 0,
        extra=_ids_of(table, unknown),
        duplicates=_names(table, doubled),
        unreadable=_ids_of(table, unreadable),
        unpaired=(values[unreadable], np.zeros(0)),
        paired=int(rows.size),
    )
    return _scored(pairs, table.ids)


@dataclass(frozen=True)
class ScoredRows:
    """One side of a task: its rows, a score for each, and who wrote them."""

    table: Table
    values: Floats
    tool: str = LM_EVAL


def with_run(
    side: ScoredRows, other: ScoredRows, rules: PairRules = BY_CONTENT, *, any_gold: bool = False
) -> Pairs:
    """Pairs the rows of two runs; pairs with other gold answers are left out, unless `any_gold`.

    Args:
        side: Rows of the run.
        other: Rows of the other run.
        rules: What the user decides about pairing.
        any_gold: Keep pairs whose gold answers differ.
    """
    table = side.table
    tools = side.tool, other.tool
    match = match_rows(table, other.table, tools=tools, rules=rules)
    rows, other_rows = match.rows, match.other_rows
    row_pairs = RowPairs(table, other.table, rows, other_rows)
    has_repeats = bool(np.any(match.repeats >= 0))
    pairs = Pairs(
        rows=rows,
        other_rows=other_rows,
        now=side.values[rows],
        before=other.values[other_rows],
        prompt_differs=_prompt_differs(row_pairs),
        missing=match.missing,
        extra=match.extra,
        duplicates=match.duplicates,
        repeats=match.repeats if has_repeats else None,
        ways=match.ways,
        paired=int(rows.size),
        ambiguous=match.ambiguous,
        conflicts=match.conflicts,
        smaller=min(len(table), len(other.table)),
        copies=int(match.copies.size + match.other_copies.size),
        tools=tools,
        unpaired=(
            side.values[_own_left_over(table, match)],
            other.values[_other_left_over(other.table, match)],
        ),
    )
    kept = np.ones(rows.size, dtype=np.bool_)
    if pairs.across_tools:
        has_same_choices = _same_choices(pairs, row_pairs)
        if rules.same_choices:
            kept = has_same_choices
        other_gold = texts_differ(row_pairs)
    else:
        other_gold = gold_differs(row_pairs)
    pairs.other_gold = _ids_of(table, rows[other_gold])
    if not any_gold:
        kept &= ~other_gold
    return _scored(pairs.keep(kept), table.ids)


def _same_choices(pairs: Pairs, row_pairs: RowPairs) -> Flags:
    """For each pair, False where the choices of its two rows differ; the counts are noted."""
    kinds = choices_of_pairs(row_pairs)
    pairs.permuted = kinds.count(Choices.PERMUTED)
    differs = np.array([kind is Choices.DIFFERENT for kind in kinds], dtype=np.bool_)
    pairs.other_choices = _ids_of(row_pairs.table, pairs.rows[differs])
    return ~differs


def _prompt_differs(pairs: RowPairs) -> Flags:
    """For each pair, True where both prompts are logged in one form and are not the same."""
    hashes = pairs.table.prompt_hash[pairs.rows]
    other_hashes = pairs.other.prompt_hash[pairs.other_rows]
    both_logged = (hashes != 0) & (other_hashes != 0)
    differs: Flags = (hashes != other_hashes) & both_logged
    first_place = np.flatnonzero(differs)[:1]
    if first_place.size and in_other_form(pairs.at(first_place)):
        return np.zeros_like(differs)
    return differs


def match_rows(
    table: Table,
    other: Table,
    *,
    tools: tuple[str, str] = (LM_EVAL, LM_EVAL),
    rules: PairRules = BY_CONTENT,
) -> RowMatch:
    """Finds the rows of two tables that are the same question.

    Rows of lm-eval meet by the ids of the tables, then by the hash of the document, then by equal
    arguments and gold answer; where a side logs no prompts, by place and gold answer; at last by
    what the data set says of them, as rows of other tools do from the first (`levels`).
    A pair that an earlier way found is final, and the rows left over go on to the next.
    Two tables are matched once; the match is kept with the first.

    Args:
        table: Rows of a task of the run.
        other: Rows of that task of the other run.
        tools: Who wrote them.
        rules: What the user decides about pairing.
    """
    key = id(other), tools, rules
    if key not in table.derived:
        match = _matched(table, other, tools, rules)
        table.derived[key] = other, match  # keeps the other table, so that its id stays its own
    known: RowMatch = table.derived[key][1]
    return known


def _matched(table: Table, other: Table, tools: tuple[str, str], rules: PairRules) -> RowMatch:
    sides = TableRows(table, tools[0]), TableRows(other, tools[1])
    if tools != (LM_EVAL, LM_EVAL):
        match = _nothing_matched(table, other)
        pairing = pair_sides(*sides, rules)
        _add_pairing(match, pairing, table, other)
        return match
    match = _match_by_id(table, other)
    for way, keys in _further_ways(table, other):
        if match.missing and match.extra:
            _match_left_over(match, table, other, way, keys)
    if match.missing and match.extra:
        rows = _own_left_over(table, match).tolist()
        other_rows = _other_left_over(other, match).tolist()
        pairing = pair_rest(*sides, rules, rows, other_rows)
        _add_pairing(match, pairing, table, other)
    if match.missing and match.extra:
        _match_left_over(match, table, other, BY_PROMPT, _prompt_keys)
    match.ways = {way: count for way, count in match.ways.items() if count}
    return match


def _nothing_matched(table: Table, other: Table) -> RowMatch:
    none = np.zeros(0, dtype=np.int64)
    return RowMatch(none, none, none, missing=list(other.ids), extra=list(table.ids))


def _add_pairing(match: RowMatch, pairing: Pairing, table: Table, other: Table) -> None:
    """Takes over what the levels found among the rows that had no partner."""
    match.ambiguous = _ids_of(table, pairing.left_ambiguous)
    match.ambiguous += _ids_of(other, pairing.right_ambiguous)
    rows_of_conflicts = [row for row, _ in pairing.conflicts]
    match.conflicts = _ids_of(table, rows_of_conflicts)
    first_group = _next_group(match)
    pairs = []
    for row, other_row, _level, group in pairing.pairs:
        code = UNKNOWN if group == ALONE else group + first_group
        pairs.append((row, other_row, code))
    _take_pairs(match, pairs, table, other)
    match.ways |= pairing.by_level()


def _next_group(match: RowMatch) -> int:
    """The first code that no group of repeated rows has yet."""
    return int(match.repeats.max(initial=UNKNOWN)) + 1


def _ids_of(table: Table, rows: Iterable[int]) -> list[str]:
    return [table.ids[row] for row in rows]


_Keys = Callable[[Table, Rows], Sequence[Hashable]]


def _further_ways(table: Table, other: Table) -> list[tuple[str, _Keys]]:
    """The ways for rows that their ids did not bring together."""
    ways: list[tuple[str, _Keys]] = []
    if table.id_source != "doc_hash":
        ways.append((BY_DOCUMENT, _document_keys))
    ways.append((BY_QUESTION, question_keys))
    has_prompts = table.prompt_hash.any() and other.prompt_hash.any()
    if not has_prompts:
        ways.append((BY_POSITION, position_keys))
    return ways


def _prompt_keys(table: Table, rows: Rows) -> list[int]:
    """The digest of the prompt of some rows, whose gold answers may differ; 0 for none."""
    keys: list[int] = table.prompt_hash[rows].tolist()
    return keys


def _document_keys(table: Table, rows: Rows) -> list[str]:
    keys = []
    for sample in table.read(rows):
        key = sample.doc.get("published_doc_hash") or sample.doc_hash
        keys.append(str(key))
    return keys


def _match_left_over(match: RowMatch, table: Table, other: Table, way: str, keys: _Keys) -> None:
    """Brings rows without a partner together by another key; repeated keys as groups."""
    rows = _own_left_over(table, match)
    other_rows = _other_left_over(other, match)
    groups = _group_by(keys(table, rows), rows)
    other_groups = _group_by(keys(other, other_rows), other_rows)
    next_group = _next_group(match)
    pairs: list[tuple[int, int, int]] = []
    for key, members in groups.items():
        partners = other_groups.get(key, [])
        if len(partners) != len(members) or (way == BY_PROMPT and len(members) > 1):
            continue
        code = UNKNOWN
        if len(members) > 1:
            code = next_group
            next_group += 1
        for row, other_row in zip(members, partners, strict=True):
            pairs.append((row, other_row, code))
    _take_pairs(match, pairs, table, other)
    match.ways[way] = len(pairs)


def _take_pairs(
    match: RowMatch, pairs: Sequence[tuple[int, int, int]], table: Table, other: Table
) -> None:
    """Adds pairs of rows, each with the code of its group, in order of the rows."""
    if not pairs:
        return
    further = np.array(pairs, dtype=np.int64).reshape(-1, 3)
    known = np.column_stack([match.rows, match.other_rows, match.repeats])
    together = np.concatenate([known, further])
    order = np.argsort(together[:, 0], kind="stable")
    columns = np.ascontiguousarray(together[order].T)
    match.rows, match.other_rows, match.repeats = columns
    rows_left = _own_left_over(table, match)
    other_rows_left = _other_left_over(other, match)
    match.extra = _ids_of(table, rows_left)
    match.missing = _ids_of(other, other_rows_left)


def _own_left_over(table: Table, match: RowMatch) -> Rows:
    """The rows of the first table without a partner."""
    return _left_over(table, match.rows, match.duplicates, match.copies)


def _other_left_over(other: Table, match: RowMatch) -> Rows:
    """The rows of the second table without a partner."""
    return _left_over(other, match.other_rows, match.duplicates, match.other_copies)


def _left_over(table: Table, matched: Rows, duplicates: Sequence[str], copies: Rows) -> Rows:
    """The rows that have no partner yet and do not occur twice."""
    free = np.ones(len(table), dtype=bool)
    free[matched] = False
    free[copies] = False
    if duplicates:
        doubled = set(duplicates)
        free &= np.array([row_id not in doubled for row_id in table.ids], dtype=bool)
    return np.flatnonzero(free).astype(np.int64)


def _group_by(keys: Sequence[Hashable], rows: Rows) -> dict[Hashable, list[int]]:
    """Rows by key; rows without one are left out."""
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for key, row in zip(keys, rows.tolist(), strict=True):
        if key:
            groups[key].append(row)
    return dict(groups)


def _match_by_id(table: Table, other: Table) -> RowMatch:
    """Pairs rows by the ids of the tables."""
    repeated = {*table.duplicates(), *other.duplicates()}
    if repeated:
        return _match_repeated(table, other, repeated)
    return _match_unique(table, other)


def _match_unique(table: Table, other: Table) -> RowMatch:
    """Pairs rows by id where no id is repeated."""
    if table.ids == other.ids:
        every_row = np.arange(len(table), dtype=np.int64)
        return _match_of(table, every_row, every_row, missing=[], extra=[])
    row_of_id = {row_id: row for row, row_id in enumerate(other.ids)}
    partner_rows = [row_of_id.pop(row_id, UNKNOWN) for row_id in table.ids]
    missing = list(row_of_id)
    partners = np.array(partner_rows, dtype=np.int64)
    is_paired = partners != UNKNOWN
    rows = np.flatnonzero(is_paired).astype(np.int64)
    extra = _ids_of(table, np.flatnonzero(~is_paired).tolist())
    return _match_of(table, rows, partners[rows], missing=missing, extra=extra)


def _match_repeated(table: Table, other: Table, repeated: set[str]) -> RowMatch:
    """Pairs rows by id; rows of a repeated id by prompt, then by their place in the split."""
    keys = table.rows_by_key(repeated)
    other_keys = other.rows_by_key(repeated)
    copies, other_copies = _without_copies(table, keys), _without_copies(other, other_keys)
    every_key = {**keys, **other_keys}
    doubled = [key for key in every_key if _is_doubled(key, keys, other_keys)]
    for key in doubled:
        keys.pop(key, None)
        other_keys.pop(key, None)
    shared = [key for key in keys if key in other_keys]
    pairs = [_take_pair(keys, key, other_keys, key) for key in shared]
    pairs += _pairs_by_prompt(keys, other_keys)
    columns = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    rows, other_rows = columns[:, 0], columns[:, 1]
    missing = _ids_of_keys(other_keys)
    extra = _ids_of_keys(keys)
    match = _match_of(table, rows, other_rows, missing=missing, extra=extra)
    match.duplicates = list(dict.fromkeys(_ids_of_keys(doubled)))
    match.copies, match.other_copies = copies, other_copies
    return match


def _without_copies(table: Table, keys: _RowsByKey) -> Rows:
    """Leaves one of several equal rows to a key, and returns the others."""
    copies: list[int] = []
    for key, rows in keys.items():
        if len(rows) > 1 and _are_equal(table, rows):
            copies += rows[1:]
            keys[key] = rows[:1]
    return np.array(copies, dtype=np.int64)


def _are_equal(table: Table, rows: Sequence[int]) -> bool:
    """True where some rows have one document, reply, gold answer and set of scores."""
    hashes = (table.doc_hash, table.response_hash, table.target_hash)
    if any(np.unique(column[rows]).size > 1 for column in hashes):
        return False
    scores = (column[rows] for column in table.metrics.values())
    return all(np.unique(column).size == 1 for column in scores)


def contrary_rows(table: Table) -> int:
    """Rows that stand twice in a table with other contents: nobody knows which of them counts."""
    repeated = set(table.duplicates())
    groups = table.rows_by_key(repeated) if repeated else {}
    doubled = (rows for rows in groups.values() if len(rows) > 1)
    return sum(len(rows) for rows in doubled if not _are_equal(table, rows))


_RowsByKey = dict[RowKey, list[int]]


def _take_pair(
    keys: _RowsByKey, key: RowKey, other_keys: _RowsByKey, other_key: RowKey
) -> tuple[int, int]:
    """The only row of a key on each side, which leaves its mapping."""
    row = keys.pop(key)[0]
    other_row = other_keys.pop(other_key)[0]
    return row, other_row


def _ids_of_keys(keys: Iterable[RowKey]) -> list[str]:
    return [row_id for row_id, _prompt, _place in keys]


def _match_of(
    table: Table, rows: Rows, other_rows: Rows, *, missing: list[str], extra: list[str]
) -> RowMatch:
    """The match of rows that met by their ids."""
    way = BY_DOCUMENT if table.id_source == "doc_hash" else BY_ID
    alone = np.full(rows.size, UNKNOWN, dtype=np.int64)
    return RowMatch(rows, other_rows, alone, missing, extra, ways={way: int(rows.size)})


def _is_doubled(key: RowKey, keys: _RowsByKey, other_keys: _RowsByKey) -> bool:
    rows = keys.get(key, ())
    other_rows = other_keys.get(key, ())
    return len(rows) > 1 or len(other_rows) > 1


def _pairs_by_prompt(keys: _RowsByKey, other_keys: _RowsByKey) -> list[tuple[int, int]]:
    """Pairs of rows of a repeated id whose prompt occurs once on each side.

    They leave both mappings.
    """
    by_prompt = _by_prompt(keys)
    other_by_prompt = _by_prompt(other_keys)
    pairs = []
    for prompt, candidates in by_prompt.items():
        partners = other_by_prompt.get(prompt, [])
        if len(candidates) == len(partners) == 1:
            pair = _take_pair(keys, candidates[0], other_keys, partners[0])
            pairs.append(pair)
    return pairs


def _by_prompt(keys: _RowsByKey) -> dict[tuple[str, int], list[RowKey]]:
    groups: defaultdict[tuple[str, int], list[RowKey]] = defaultdict(list)
    for key in keys:
        groups[key[:2]].append(key)
    return dict(groups)


def _names(table: Table, rows: list[int]) -> list[str]:
    return list(dict.fromkeys(table.ids[row] for row in rows))
