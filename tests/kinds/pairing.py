"""`pair`: rows of two sides -> index pairs with their level, and what became of the other rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalprep.samples.asked import Asked, resolved
from evalprep.samples.keys import Hashes, Keys, text_key
from evalprep.samples.pairing import AMBIGUOUS, LONE, OTHER_GOLD, Paired, PairRules, Way, pair_keys

WAYS = list(Way)


@dataclass(frozen=True)
class Listed:
    """A row in memory: what it asks, and lm-eval's digests of it."""

    asked: Asked
    doc_hash: str = ""
    prompt_hash: str = ""


class ListedKeys(Keys):
    """The keys of rows in memory."""

    def __init__(self, rows: Sequence[Listed], tool: str = "") -> None:
        self.rows, self.tool = rows, tool
        self._columns, self._is_read = {}, {}

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def asked(self, rows: Sequence[int]) -> Iterator[Asked]:
        """What some rows ask."""
        return (self.rows[row].asked for row in rows)

    def texts(self, rows: Sequence[int]) -> Iterator[tuple[str, str]]:
        """Question and prompt of some rows."""
        return ((row.question, row.prompt) for row in self.asked(rows))

    @property
    def prompt(self) -> Hashes:
        """Digests of the prompts."""
        return digests([row.prompt_hash for row in self.rows])

    @property
    def gold(self) -> Hashes:
        """Digests of the gold answers, which are not known."""
        return np.zeros(len(self), dtype=np.uint64)

    @property
    def digests(self) -> tuple[Hashes, Hashes, Hashes]:
        """Digests of documents, prompts and gold answers."""
        return digests([row.doc_hash for row in self.rows]), self.prompt, self.gold

    def was_chat(self, _row: int) -> bool | None:
        """Nothing is known of the form of a prompt."""
        return None


def digests(texts: Sequence[str]) -> Hashes:
    """A column of digests; 0 for an empty one."""
    return np.array([text_key(text) if text else 0 for text in texts], dtype=np.uint64)


@dataclass(frozen=True)
class ListedSide:
    """The rows of one side that are paired, and their numbers in the case."""

    rows: ListedKeys
    numbers: Sequence[int]


def pair(case: Mapping[str, Any]) -> dict[str, Any]:
    """Pair the rows of a case as compare pairs those of two runs."""
    rules = PairRules(
        by_position=case.get("pair_by") == "position", same_ids=bool(case.get("same_ids"))
    )
    left, right = (side_of(case, name) for name in ("left", "right"))
    return described(left, right, pair_keys(left.rows, right.rows, rules))


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
    return ListedSide(ListedKeys([rows[at] for at in numbers], tool), numbers)


def first_of_epochs(rows: Mapping[int, Listed], epochs: Mapping[int, int]) -> list[int]:
    """Choose the first repeat of each question, as readers make one row of all repeats."""
    chosen: dict[Any, int] = {}
    seen: Counter[Any] = Counter()
    for at in sorted(rows, key=lambda at: (epochs[at], at)):
        row = rows[at]
        same = (row.doc_hash, row.asked.id, row.asked.question, row.asked.target)
        seen[same, epochs[at]] += 1  # two rows of one epoch are two questions
        chosen.setdefault((same, seen[same, epochs[at]]), at)
    return sorted(chosen.values())


def asked(entry: Mapping[str, Any]) -> Listed:
    """Read a common row."""
    choices = [str(choice) for choice in entry.get("choices") or ()]
    target = entry.get("target")
    if target is None and entry.get("targets"):
        target = entry["targets"][0]
    identity, place = entry.get("id"), entry.get("doc_id")
    return Listed(
        Asked(
            id="" if identity is None else str(identity),
            place=-1 if place is None else place,
            question=entry.get("question") or "",
            choices=choices,
            target=None if target is None else resolved(str(target), choices),
            prompt=entry.get("prompt") or "",
        ),
        doc_hash=entry.get("doc_hash") or "",
        prompt_hash=entry.get("prompt_hash") or "",
    )


def described(left: ListedSide, right: ListedSide, paired: Paired) -> dict[str, Any]:
    """Name the rows by their numbers in the case."""

    def numbers(side: ListedSide, chosen: Any) -> list[int]:
        return [side.numbers[row] for row in np.flatnonzero(chosen).tolist()]

    own = [left.numbers[row] for row in paired.left.tolist()]
    partners = [right.numbers[row] for row in paired.right.tolist()]
    ways = [WAYS[way].value for way in paired.way.tolist()]
    flags = {
        "permuted": paired.choices_permuted,
        "choices_differ": paired.choices_differ,
        "prompt_differs": paired.prompt_differs,
    }
    of_flags = {
        name: [number for number, flag in zip(own, column.tolist(), strict=True) if flag]
        for name, column in flags.items()
    }
    outs = paired.left_out, paired.right_out
    return {
        "pairs": [list(pair) for pair in zip(own, partners, ways, strict=True)],
        "left_only": numbers(left, np.isin(outs[0], (LONE, OTHER_GOLD))),
        "right_only": numbers(right, np.isin(outs[1], (LONE, OTHER_GOLD))),
        "ambiguous": sum(int(np.sum(out == AMBIGUOUS)) for out in outs),
        "duplicates": int(np.sum(paired.unit >= 0)),
        "target_conflicts": int(np.sum(paired.left_out == OTHER_GOLD)),
        **of_flags,
        "loose": ways.count(Way.LOOSE.value),
        "by_level": paired.ways,
    }


KINDS = {"pair": pair}
