"""`pair`: rows of two sides -> index pairs with their level, and what became of the other rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalprep.compare.levels import Choices, Level, Pairing, PairRules, compare_choices, pair_sides
from evalprep.compare.rowkeys import AskedRow, RowKeys, resolved


class ListedRows:
    """Rows in memory as a side."""

    def __init__(self, rows: Sequence[AskedRow], tool: str = "") -> None:
        self.rows, self.tool = rows, tool
        self._keys = [row.keys() for row in rows]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def doc_hashes(self, rows: Sequence[int]) -> list[str]:
        """Digests of the documents of some rows."""
        return [self.rows[row].doc_hash for row in rows]

    def prompt_hashes(self, rows: Sequence[int]) -> list[str]:
        """Digests of the prompts of some rows."""
        return [self.rows[row].prompt_hash for row in rows]

    def target_hashes(self, rows: Sequence[int]) -> list[str]:
        """Digests of the gold answers of some rows."""
        return [self.rows[row].target_hash for row in rows]

    def keys(self, rows: Sequence[int]) -> list[RowKeys]:
        """What some rows are paired by."""
        return [self._keys[row] for row in rows]

    def texts(self, rows: Sequence[int]) -> Iterator[AskedRow]:
        """Some rows as they are."""
        return (self.rows[row] for row in rows)


@dataclass(frozen=True)
class ListedSide:
    """The rows of one side that are paired, and their numbers in the case."""

    rows: ListedRows
    numbers: Sequence[int]


def pair(case: Mapping[str, Any]) -> dict[str, Any]:
    """Pair the rows of a case as compare pairs those of two runs."""
    rules = PairRules(
        by_position=case.get("pair_by") == "position", same_ids=bool(case.get("same_ids"))
    )
    left, right = (side_of(case, name) for name in ("left", "right"))
    return described(left, right, pair_sides(left.rows, right.rows, rules))


def side_of(case: Mapping[str, Any], name: str) -> ListedSide:
    """Choose one filter, one metric and one row for all repeats of a question."""
    entries = dict(enumerate(case[name]))
    for field in ("filter", "metric"):
        kinds = [entry.get(field) for entry in entries.values()]
        chosen = case.get(f"{name}_{field}", kinds[0] if kinds else None)
        entries = {at: entry for at, entry in entries.items() if entry.get(field) == chosen}
    rows = {at: asked(entry) for at, entry in entries.items()}
    numbers = first_of_epochs(rows, {at: entry.get("epoch") or 1 for at, entry in entries.items()})
    tool = str(case.get(f"{name}_tool") or "")
    return ListedSide(ListedRows([rows[at] for at in numbers], tool), numbers)


def first_of_epochs(rows: Mapping[int, AskedRow], epochs: Mapping[int, int]) -> list[int]:
    """Choose the first repeat of each question, as readers make one row of all repeats."""
    chosen: dict[Any, int] = {}
    seen: Counter[Any] = Counter()
    for at in sorted(rows, key=lambda at: (epochs[at], at)):
        row = rows[at]
        same = (row.doc_hash, row.id, row.question, row.target)
        seen[same, epochs[at]] += 1  # two rows of one epoch are two questions
        chosen.setdefault((same, seen[same, epochs[at]]), at)
    return sorted(chosen.values())


def asked(entry: Mapping[str, Any]) -> AskedRow:
    """Read a common row."""
    choices = [str(choice) for choice in entry.get("choices") or ()]
    target = entry.get("target")
    if target is None and entry.get("targets"):
        target = entry["targets"][0]
    identity = entry.get("id")
    return AskedRow(
        doc_hash=entry.get("doc_hash") or "",
        prompt_hash=entry.get("prompt_hash") or "",
        id="" if identity is None else str(identity),
        doc_id=entry.get("doc_id"),
        question=entry.get("question") or "",
        choices=choices,
        target=None if target is None else resolved(str(target), choices),
        prompt=entry.get("prompt") or "",
    )


def described(left: ListedSide, right: ListedSide, pairing: Pairing) -> dict[str, Any]:
    """Name the rows by their numbers in the case."""
    pairs = [
        (left.numbers[row], right.numbers[other], level.value)
        for row, other, level, _ in pairing.pairs
    ]
    choices = {
        left.numbers[row]: compare_choices(
            left.rows.rows[row].choices, right.rows.rows[other].choices
        )
        for row, other, *_ in pairing.pairs
    }
    prompts = [
        left.numbers[row]
        for row, other, *_ in pairing.pairs
        if prompt_differs(left.rows.rows[row], right.rows.rows[other])
    ]
    return {
        "pairs": [list(item) for item in pairs],
        "left_only": [left.numbers[row] for row in pairing.left_only],
        "right_only": [right.numbers[row] for row in pairing.right_only],
        "ambiguous": pairing.ambiguous,
        "duplicates": pairing.duplicates,
        "target_conflicts": len(pairing.conflicts),
        "permuted": [row for row, kind in choices.items() if kind is Choices.PERMUTED],
        "choices_differ": [row for row, kind in choices.items() if kind is Choices.DIFFERENT],
        "prompt_differs": prompts,
        "loose": sum(level == Level.LOOSE for *_, level in pairs),
        "by_level": pairing.by_level(),
    }


def prompt_differs(row: AskedRow, other: AskedRow) -> bool:
    """Tell whether both prompts are known and are not the same."""
    return bool(row.prompt_hash and other.prompt_hash and row.prompt_hash != other.prompt_hash)


KINDS = {"pair": pair}
