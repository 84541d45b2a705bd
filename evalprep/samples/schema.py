"""The one list of the fields of a row.

A row has its numbers and codes in the columns of a `Table`, and its texts in the source that the
table was made of. Tables, the store of tables, `export --to csv`, the data frames of
`evalprep.api` and the tables in their docstrings are made of this list.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

VERSION = 15  # of what the columns mean: another one makes stored tables unreachable


class Column(NamedTuple):
    """A column of a `Table`: its attribute there, and the type of its numbers in numpy."""

    name: str
    dtype: Literal["int64", "uint64", "int8"]


class Field(msgspec.Struct, frozen=True):
    """One field.

    Attributes:
        name: Its name.
        kind: `text`, `texts` (a list of them), `whole` (a number), `number`, `truth`, or `numbers`
            (name -> number).
        nullable: Whether a row may have no value.
        meaning: One sentence.
        column: The column of a table that holds it; None for a text that stays in the source, and
            for what a row is given when it is shown.
        shown: Whether tables for people and other programs have it.
    """

    name: str
    kind: Literal["text", "texts", "whole", "number", "truth", "numbers"]
    nullable: bool
    meaning: str
    column: Column | None = None
    shown: bool = True


def _hash(name: str, meaning: str, *, shown: bool = True) -> Field:
    """A digest of which a table holds the first 64 bits; 0 where it is not known."""
    return Field(name, "text", True, meaning, Column(name, "uint64"), shown)


def _flag(name: str, meaning: str) -> Field:
    """A fact of a row as 1 or 0 in a table; -1 where it is not known."""
    return Field(name, "truth", True, meaning, Column(name, "int8"), shown=False)


def _number(name: str, meaning: str) -> Field:
    """A number that only a table has."""
    return Field(name, "whole", False, meaning, Column(name, "int64"), shown=False)


#: lm-eval's digests of a document, of the first prompt and of the gold answer, by its names.
HASHES = ("doc_hash", "prompt_hash", "target_hash")
FIELDS = (
    Field("run", "text", nullable=False, meaning="Label of the run."),
    Field("model", "text", nullable=False, meaning="The model, as `org/name` where it is known."),
    Field("task", "text", nullable=False, meaning="Name of the task."),
    Field(
        "subtask", "text", nullable=True, meaning="Its subtask.", column=Column("subtask", "int64")
    ),
    Field("sample_id", "text", nullable=False, meaning="Identity of the row."),
    Field(
        "doc_id",
        "whole",
        nullable=False,
        meaning="Its position in the split.",
        column=Column("doc_id", "int64"),
    ),
    Field("question", "text", nullable=False, meaning="The question alone, else the prompt."),
    Field("prompt", "text", nullable=False, meaning="The prompt as sent; a chat as JSON."),
    Field("choices", "texts", nullable=False, meaning="Options; empty without any."),
    Field("references", "texts", nullable=False, meaning="The gold answers."),
    Field(
        "replies", "texts", nullable=False, meaning="The replies; of a choice task the chosen text."
    ),
    Field("answer", "text", nullable=False, meaning="The answer that the filter read."),
    Field("filter", "text", nullable=False, meaning="The filter of lm-eval, or none."),
    Field("metric", "text", nullable=True, meaning="The metric of `score`, as `metric,filter`."),
    Field("score", "number", nullable=True, meaning="Its value for this row."),
    Field("scores", "numbers", nullable=False, meaning="All metrics, as `metric,filter`."),
    Field(
        "published",
        "truth",
        nullable=True,
        meaning="The published verdict.",
        column=Column("previous", "int8"),
    ),
    _hash(HASHES[0], "Digest of the document by lm-eval."),
    _hash(HASHES[1], "The same of the prompt."),
    _hash(HASHES[2], "The same of the gold answer."),
    _hash("response_hash", "Length and CRC-32 of the raw replies.", shown=False),
    _number("cluster", "Code of the group of rows that it is drawn with."),
    _flag("prompt_as_prepared", "The prompt sent is that of the prepared row."),
    _flag("unparsed", "No answer could be read from the reply."),
    _flag("empty", "Every reply is blank."),
    _number("offset", "Its place in the source: an offset in bytes, or a number."),
    _number("length", "The length of its line there; 0 where it is no line."),
)
#: The fields of tables for people and other programs, in their order.
SAMPLE_FIELDS = tuple(field for field in FIELDS if field.shown)
#: The columns that every table has beside its ids: name -> type.
COLUMNS = {field.column.name: field.column.dtype for field in FIELDS if field.column is not None}
