"""A digest of the rows of a task, by which answered rows are known as the prepared ones.

A row is its id, its published verdict, and, where a column of the data is the prompt or the gold
answer, the hashes that lm-eval logs of them. A digest of all rows tells equal data; the least
hashes tell for a part of the rows whether they are among the prepared ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from evalprep.files import as_mapping
from evalprep.samples import UNKNOWN, Table, text_hash, verdict_of

_LEAST = 128  # row hashes that a digest keeps
_CHARACTERS = 8  # of a row's hash
_ID, _PROMPT, _VERDICT = "sample_id", "prompt", "previously_is_correct"
_AT_ONCE = 4096  # rows that are read at once


class RowDigest(msgspec.Struct, frozen=True):
    """The digest of a set of rows.

    Attributes:
        rows: How many they are.
        digest: Of all of them.
        least: The least row hashes, in order; all of them where there are few.
        prompt, target: Whether the prompt and the gold answer are part of a row.
    """

    rows: int
    digest: str
    least: tuple[str, ...]
    prompt: bool = False
    target: bool = False

    @classmethod
    def of(cls, hashes: Iterable[str], *, prompt: bool, target: bool) -> RowDigest:
        """The digest of rows with these hashes, in any order."""
        ordered = sorted(hashes)
        digest = hashlib.sha256("".join(ordered).encode()).hexdigest()[:16]
        return cls(len(ordered), digest, tuple(ordered[:_LEAST]), prompt, target)

    @classmethod
    def read(cls, content: Any) -> RowDigest | None:
        """The digest that a record keeps; None without one."""
        fields = as_mapping(content)
        rows, digest, least = fields.get("rows"), fields.get("digest"), fields.get("least")
        if type(rows) is not int or not isinstance(digest, str) or not isinstance(least, str):
            return None
        prompt, target = bool(fields.get("prompt")), bool(fields.get("target"))
        return cls(rows, digest, tuple(least.split()), prompt, target)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as a record keeps it."""
        return {
            "rows": self.rows,
            "digest": self.digest,
            "least": " ".join(self.least),
            "prompt": self.prompt,
            "target": self.target,
        }

    def others_in(self, hashes: Iterable[str]) -> int:
        """Returns how many of some row hashes are known to be of other rows.

        Of more rows than a digest keeps hashes of, those beyond the kept ones are not known.
        """
        kept = set(self.least)
        highest = self.least[-1] if len(self.least) < self.rows else "g"
        return sum(row not in kept for row in hashes if row <= highest)


def digest_of_data(path: Path, settings: Mapping[str, Any]) -> RowDigest | None:
    """Returns the digest of the rows of a task in its parquet file, or in a folder of several.

    Args:
        path: The file or folder.
        settings: The task's settings, which name the columns of prompt and gold answer.

    Returns:
        None where the rows have no ids, or the task makes others of them.

    Raises:
        BadInput: a file is absent, or none of parquet.
    """
    from evalprep.data import open_parquet, parquet_schema  # readers of answered rows need neither

    paths = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    names = set(parquet_schema(paths[0]).names) if paths else set()
    is_made_otherwise = settings.get("process_docs") or settings.get("class")
    if _ID not in names or is_made_otherwise:
        return None
    # What the answered rows tell of their own prompt is whether it is the column of this name.
    prompt = _column(settings.get("doc_to_text"), {_PROMPT} & names)
    target = _column(settings.get("doc_to_target"), names)
    columns = [name for name in dict.fromkeys((_ID, _VERDICT, prompt, target)) if name in names]
    hashes: list[str] = []
    for part in paths:
        with open_parquet(part) as file:
            for batch in file.iter_batches(columns=columns, batch_size=_AT_ONCE):
                rows = {name: batch.column(name).to_pylist() for name in columns}
                hashes += _hashes_of_rows(rows, prompt, target)
    return RowDigest.of(hashes, prompt=bool(prompt), target=bool(target))


def _column(setting: Any, names: set[str]) -> str:
    """The column that a setting names; empty for a template or a function."""
    return setting if isinstance(setting, str) and setting in names else ""


def _hashes_of_rows(
    columns: Mapping[str, Sequence[Any]], prompt: str, target: str
) -> Iterator[str]:
    ids = columns[_ID]
    verdicts = map(verdict_of, columns.get(_VERDICT) or repeat(None))
    prompts = (_first_bits(text_hash(text)) for text in columns.get(prompt, ()))
    targets = (_first_bits(text_hash(gold)) for gold in columns.get(target, ()))
    asked, gold = (prompts if prompt else repeat(0)), (targets if target else repeat(0))
    return map(_row_hash, map(str, ids), verdicts, asked, gold)


def hashes_of_table(table: Table, digest: RowDigest) -> list[str] | None:
    """Returns the hashes of answered rows, as a digest has them.

    None where the lines do not hold what it takes.
    """
    if table.id_source != _ID:
        return None
    asked, gold = table.prompt_hash, table.target_hash
    has_prompts = asked.all() and (table.prompt_as_prepared == 1).all()
    if (digest.prompt and not has_prompts) or (digest.target and not gold.all()):
        return None
    zeros = np.zeros(len(table), dtype=np.uint64)
    columns = (
        table.ids,
        table.previous.tolist(),
        (asked if digest.prompt else zeros).tolist(),
        (gold if digest.target else zeros).tolist(),
    )
    return list(dict.fromkeys(_row_hash(*row) for row in zip(*columns, strict=True)))


def _row_hash(sample_id: str, verdict: int, prompt: int, target: int) -> str:
    known = verdict if verdict in {0, 1} else UNKNOWN
    text = f"{sample_id}\0{known}\0{prompt}\0{target}"
    return text_hash(text)[:_CHARACTERS]


def _first_bits(digest: str) -> int:
    """The first 64 bits of a hexadecimal digest."""
    return int(digest[:16], 16)
