"""The documents that rows share, found by the values of their fields.

Rows of one document are not independent: 300 questions on 12 texts count as 12 units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from custom_metrics.statistics import equal_groups_p
from evalprep.compare.pairing import Pairs
from evalprep.numbers import p_value
from evalprep.samples import UNKNOWN, Paired, Rows, Table, codes_of_field, docs_of
from evalprep.yamlfile import load_yaml

Codes = NDArray[np.int64]

#: The value of `--cluster` and of a policy's `cluster` for rows that are independent.
NONE = "none"
_FEWEST_GROUPS = 8
_LARGEST_SHARE = 0.5  # of the rows, that one document may hold
_LEAST_SHARED = 0.5  # of the rows, that share a document with another one
_LONG = 200  # letters of a text that is taken for a document
_LOOKED_AT = 200  # rows in which fields with shared values are looked for
_ALPHA = 0.05
#: Fields that sort rows into kinds: for the question "this mix of kinds" rows are independent.
STRATA = frozenset(
    (
        *("subject", "level", "category", "language", "type", "split", "source"),
        *("subtask_name", "subtask", "subset", "topic", "domain", "difficulty"),
    )
)
_OWN = frozenset({"sample_id", "cluster_id", "previously_is_correct"})


class Field(msgspec.Struct, frozen=True):
    """The values of one field, as a code for each row of a table; -1 for rows without one."""

    name: str
    codes: Codes

    @property
    def groups(self) -> int:
        """The number of different values."""
        return int(np.unique(self.codes[self.codes != UNKNOWN]).size)


class Documents(msgspec.Struct, frozen=True):
    """What the rows of a table that met those of another one share.

    Attributes:
        found: The field that names their documents; None where no field does by itself.
        others: Fields of which it is not known whether they name documents.
    """

    found: Field | None = None
    others: tuple[Field, ...] = ()


def documents_of(match: Paired) -> Documents:
    """The documents of the rows that met, as far as their values tell.

    Rows of one side alone and lines that stand there twice say nothing of documents, and a row's
    value is that of both sides, so that both orders of two runs find the same ones.
    """
    if match.left.size < _FEWEST_GROUPS:
        return Documents()
    table = match.sides[0].table
    known: tuple[Paired, Documents] | None = table.derived.get(Documents)
    if known is None or known[0] is not match:
        known = match, _found(match)
        table.derived[Documents] = known
    return known[1]


def _found(match: Paired) -> Documents:
    places = zip(match.sides, (match.left, match.right), strict=True)
    tables = {id(side.table): (side.table, rows) for side, rows in places}
    prompts = [table.prompt_hash[rows] for table, rows in tables.values()]
    docs = [table.doc_hash[rows] for table, rows in tables.values()]
    if np.array_equal(docs[0], docs[-1]) and docs[0].any():  # the same rows on both sides
        tables = dict(list(tables.items())[:1])
    of_sides = [_shared_fields(table, rows.tolist()) for table, rows in tables.values()]
    names = sorted(set(chain.from_iterable(of_sides)))
    fields = {name: [side[name] for side in of_sides if name in side] for name in names}

    def found(name: str, codes: Codes) -> Field:
        """A field of the candidate's table, of whose rows those that met have a code."""
        of_table = np.full(len(match.sides[0]), UNKNOWN, dtype=np.int64)
        of_table[match.left] = codes
        return Field(name, of_table)

    for name in known_fields():
        codes = _together(list(map(_codes, fields.get(name, ()))))
        if _is_document(codes, fewest=2):
            return Documents(found(name, codes))
    candidates = {name: [_codes(_long(column)) for column in fields[name]] for name in names}
    known = [column for column in prompts if column.any()]
    if all(map(_has_equal, known)):
        candidates["prompt"] = [_codes(column.tolist()) for column in known]
    for name, sides in candidates.items():
        codes = _together(sides)
        if _is_document(codes, fewest=_FEWEST_GROUPS):
            return Documents(found(name, codes))
    others = []
    for name, columns in fields.items():
        codes = _together(list(map(_codes, columns)))
        if _is_document(codes, fewest=_FEWEST_GROUPS):
            others.append(found(name, codes))
    return Documents(None, tuple(others))


def _has_equal(hashes: NDArray[np.uint64]) -> bool:
    """True where two rows have one hash."""
    ordered = np.sort(hashes)
    return bool(np.any(ordered[1:] == ordered[:-1]))


def _together(sides: Sequence[Codes]) -> Codes:
    """One code for each pair of rows, of what its sides say; -1 where none says anything.

    Of no side none.
    """
    if not sides:
        return np.zeros(0, dtype=np.int64)
    whole = sides[0]
    for codes in sides[1:]:
        if np.array_equal(whole, codes):
            continue
        is_unknown = (whole == UNKNOWN) & (codes == UNKNOWN)
        width = int(codes.max(initial=0)) + 2
        _, both = np.unique((whole + 1) * width + codes + 1, return_inverse=True)
        whole = np.where(is_unknown, UNKNOWN, both)
    return whole


def _long(values: Sequence[Any]) -> list[str | None]:
    """Those of some values that are long texts."""
    return [value if isinstance(value, str) and len(value) >= _LONG else None for value in values]


@cache
def known_fields() -> tuple[str, ...]:
    """The names of fields that are documents, as lm-eval's tasks have them."""
    return tuple(load_yaml(Path(__file__).parent / "document_fields.yaml").data)


def _shared_fields(table: Table, rows: Sequence[int]) -> dict[str, list[Any]]:
    """The values of those fields of which the first of some rows share some.

    All rows are read only where there are such fields.
    """
    size = len(rows)
    first = list(docs_of(table, rows[:_LOOKED_AT]))
    names = dict.fromkeys(chain.from_iterable(first))
    without = _OWN | STRATA
    shared = [name for name in names if name not in without and _is_shared(first, name)]
    if not shared:
        return {}
    spread = np.linspace(0, size - 1, min(size, _LOOKED_AT)).astype(int).tolist()
    docs = list(docs_of(table, [rows[place] for place in spread]))
    # A field of few values, such as the letter of the gold answer, is none of documents.
    shared = [name for name in shared if name in known_fields() or _has_several(docs, name)]
    if not shared:
        return {}
    columns: dict[str, list[Any]] = {name: [] for name in shared}
    for doc in docs_of(table, rows):
        for name, column in columns.items():
            column.append(doc.get(name))
    return columns


def _is_shared(docs: Sequence[Mapping[str, Any]], name: str) -> bool:
    """True where a quarter of some rows share the value of a field."""
    counts = Counter(key for key in (_key(doc.get(name)) for doc in docs) if key is not None)
    return 4 * sum(count for count in counts.values() if count > 1) >= len(docs)


def _has_several(docs: Sequence[Mapping[str, Any]], name: str) -> bool:
    """True where a field has as many values as there have to be documents."""
    values = {_key(doc.get(name)) for doc in docs} - {None}
    return len(values) >= _FEWEST_GROUPS


def _key(value: Any) -> Hashable | None:
    """A text or a whole number as a value that rows may share; None for all others."""
    if isinstance(value, bool) or value == "":
        return None
    return value if isinstance(value, (str, int)) else None


def _codes(values: Sequence[Any]) -> Codes:
    code_of: dict[Hashable, int] = {}
    keys = map(_key, values)
    codes = [UNKNOWN if key is None else code_of.setdefault(key, len(code_of)) for key in keys]
    return np.array(codes, dtype=np.int64)


def _is_document(codes: Codes, *, fewest: int) -> bool:
    """True where the values of a field may be documents: several, none too large, most shared."""
    sizes = np.bincount(codes[codes != UNKNOWN])
    if sizes.size < fewest:
        return False
    shared = int(sizes[sizes > 1].sum())
    is_small = int(sizes.max()) <= _LARGEST_SHARE * codes.size
    return is_small and shared >= _LEAST_SHARED * codes.size


def note_on_found(match: Paired, cluster: str) -> list[str]:
    """Which field names the documents of rows by itself; nothing where the user or plan does."""
    found = None if _are_named(match, cluster) else documents_of(match).found
    if found is None:
        return []
    rows = f"{match.left.size} rows share {found.groups} values of {found.name}"
    return [f"{rows}; each value counts as one document; `--cluster {NONE}` lifts it"]


def unsettled_fields(pairs: Pairs, cluster: str) -> list[tuple[Field, float]]:
    """The fields by whose values the differences vary, each with its p (F test).

    Args:
        pairs: The scored pairs.
        cluster: What the user says of documents; with any, nothing is open.
    """
    if _are_named(pairs.match, cluster) or not pairs.rows.size:
        return []
    others = documents_of(pairs.match).others
    with np.errstate(over="ignore", invalid="ignore"):
        gap = pairs.now - pairs.before
    if not np.all(np.isfinite(gap)):
        return []
    found = []
    for field in others:
        codes = field.codes[pairs.rows]
        known = codes != UNKNOWN
        p = equal_groups_p(gap[known], codes[known])
        if p < _ALPHA / len(others):
            found.append((field, p))
    return found


def note_on_unsettled(fields: Sequence[tuple[Field, float]]) -> list[str]:
    """What to do about fields by whose values the differences vary."""
    return [
        f"the differences vary by {field.name} ({field.groups} values, F test, {p_value(p)}): "
        f"`--cluster {field.name}` counts each value as one document, `--cluster {NONE}` states "
        "that rows are independent"
        for field, p in fields
    ]


def row_units(pairs: Pairs, cluster: str = "") -> Codes | None:
    """The document of each pair: by a field of its row, else by `cluster_id`.

    None for independent rows.

    Rows of one key that is repeated equally often on both sides are one document: which of them
    meet is not known.
    """
    codes = document_codes(pairs.match, pairs.rows, pairs.other_rows, cluster)
    if pairs.repeats is None:
        return codes
    if codes is None:
        return pairs.repeats
    # A repeated row without a document gets a code that no document has.
    group = pairs.repeats + int(codes.max(initial=0)) + 1
    return np.where((codes == UNKNOWN) & (pairs.repeats != UNKNOWN), group, codes)


def document_codes(match: Paired, rows: Rows, other_rows: Rows, cluster: str = "") -> Codes | None:
    """The document of some of the rows that met; None where rows have none.

    By a field that the user names, else by `cluster_id`, else by a field that is found; by what
    both sides say of it, or the only one that has it.

    Args:
        match: The rows that met.
        rows: Some of the candidate's.
        other_rows: Those of the baseline that they met.
        cluster: What the user says of documents.
    """
    if cluster == NONE:
        return None
    sides = [*zip((side.table for side in match.sides), (rows, other_rows), strict=True)]
    if cluster:
        return _together([_named_codes(table, cluster)[places] for table, places in sides])
    named = [table.cluster[places] for table, places in sides if table.clusters]
    if named:
        return _together(named)
    found = documents_of(match).found
    return None if found is None else found.codes[rows]


def _are_named(match: Paired, cluster: str) -> bool:
    """True where the user or the plan of a side says which rows are one document."""
    return bool(cluster) or any(side.table.clusters for side in match.sides)


def _named_codes(table: Table, name: str) -> Codes:
    """A code for each different value of a field that the user names; -1 for none."""
    known = table.documents.get(name)
    return codes_of_field(table, name)[1] if known is None else known
