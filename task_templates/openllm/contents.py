"""The leaderboard's published table: one row for each evaluated model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from custom_metrics.openllm import AVERAGE, BENCHMARKS
from evalprep.packapi import BadInput, Problem, near

SOURCE = "Open LLM Leaderboard v2, published table"
_LISTED = 10  # rows that a message lists
_SHA = 8  # characters of a commit that a message shows
_TRUE = frozenset(("true", "1", "yes"))


@dataclass(frozen=True)
class PublishedRow:
    """One row of the published table.

    Attributes:
        model: `org/name`.
        precision: As published: bfloat16, float16, 4bit.
        revision: Commit of the model; empty where it is not known.
        chat_template: Whether the chat template was applied.
        values: Score of this pack -> published value, on the scale of the score.
        flags: What else the table says: flagged, merged, mixture of experts.
    """

    model: str
    precision: str
    revision: str
    chat_template: bool
    values: Mapping[str, float]
    flags: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The row in one line."""
        sha = self.revision[:_SHA] or "unknown"
        template = "yes" if self.chat_template else "no"
        flags = f", {', '.join(self.flags)}" if self.flags else ""
        settings = f"precision {self.precision}, revision {sha}, chat template {template}"
        return f"{self.model}: {settings}{flags}"


@dataclass(frozen=True)
class Wanted:
    """The row of the table that is meant; None leaves a column open."""

    model: str
    precision: str | None = None
    revision: str | None = None
    chat_template: bool | None = None

    def fits(self, row: PublishedRow) -> bool:
        """Returns whether a row of the model is one of those that are meant."""
        return (
            (self.precision is None or row.precision.lower() == self.precision.lower())
            and (self.revision is None or row.revision.startswith(self.revision))
            and (self.chat_template is None or row.chat_template == self.chat_template)
        )


def read_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[PublishedRow]:
    """Yields the rows of a `contents` table; those without a model's name are passed over."""
    for row in rows:
        cells = {re.sub(r"[^ -~]", "", name).strip().lower(): value for name, value in row.items()}
        if model := str(cells.get("fullname") or ""):
            yield PublishedRow(
                model=model,
                precision=str(cells.get("precision") or ""),
                revision=str(cells.get("model sha") or ""),
                chat_template=_is_true(cells.get("chat template")),
                values=dict(_values(cells)),
                flags=tuple(
                    name for name in ("flagged", "merged", "moe") if _is_true(cells.get(name))
                ),
            )


def _is_true(value: Any) -> bool:
    return str(value).strip().lower() in _TRUE


def _values(cells: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    columns = {f"openllm_{board.name}_raw": board.raw_column for board in BENCHMARKS}
    columns |= {f"openllm_{board.name}": board.column for board in BENCHMARKS}
    columns["openllm_average"] = AVERAGE
    for score, column in columns.items():
        try:
            yield score, float(cells[column.lower()])
        except (KeyError, TypeError, ValueError):
            continue


def choose_row(rows: Iterable[PublishedRow], query: Wanted, where: str) -> PublishedRow:
    """Returns the one row that is meant.

    Raises:
        BadInput: no row fits, or several do; then they are listed.
    """
    every = list(rows)
    of_model = [row for row in every if row.model.lower() == query.model.lower()]
    fitting = [row for row in of_model if query.fits(row)]
    if len(fitting) == 1:
        return fitting[0]
    if not of_model:
        closest = near(query.model, [row.model for row in every])
        raise BadInput(
            Problem(
                what=f"the published table has no row of {query.model} among its {len(every)}",
                where=where,
                fix=closest
                or "take the model's full name, org/name; `evalprep list --published` searches",
            )
        )
    rows = fitting or of_model
    shown = [row.title.partition(": ")[2] for row in rows[:_LISTED]]
    more = [f"{len(rows) - _LISTED} more"] if len(rows) > _LISTED else []
    raise BadInput(
        Problem(
            what=f"{len(fitting) or 'none'} of the {len(of_model)} published rows of "
            f"{of_model[0].model} {'fit' if fitting else 'fits'}",
            where=where,
            allowed="; ".join([*shown, *more]),
            fix="name one by openllm.precision, openllm.revision or openllm.chat_template",
        )
    )
