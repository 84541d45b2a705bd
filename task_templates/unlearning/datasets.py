"""TOFU and MUSE: which rows a task asks about, where they are, and how far they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from evalprep.packapi import Context, Problems, Source, list_cell, looks_like_list

Row = dict[str, Any]

#: Rows that belong together: what is forgotten, what no model has seen, what the reference model
# was trained on.
SPLITS = {
    "forget01": {"holdout": "holdout01", "retain": "retain99"},
    "forget05": {"holdout": "holdout05", "retain": "retain95"},
    "forget10": {"holdout": "holdout10", "retain": "retain90"},
}
#: Rows of TOFU's forget splits; logs do not name theirs.
SPLIT_OF_ROWS = {40: "forget01", 200: "forget05", 400: "forget10"}
TEXT_TOKENS = 2048  # completions are scored up to here
PLAIN_TOKENS = 512  # OpenUnlearning cuts plain rows here
TOFU_REPLY = 200  # generated tokens
PARAPHRASE = "paraphrased_answer"  # column of the right answer in other words
WRONG = "perturbed_answer"  # column of the wrong answers
_WRONG_FORMS = """texts, or a list of them; in a CSV cell as ["x", "y"] or ['x', 'y']"""
MOST_NAMED = 5  # rows that a message names
MUSE_REPLY = {"knowmem": 32, "verbmem": 128}


@dataclass(frozen=True)
class Data:
    """The place of a task's rows.

    Attributes:
        suite: `tofu` or `muse`.
        config: Config of the data set.
        split: Split of the config.
        kind: `qa` (question and answer), `text` (a whole text) or `continuation` (a prompt and its
            continuation).
        perturbed: Whether rows have wrong answers; `paraphrased` whether they have a paraphrase.
        part: `forget`, `holdout` or `retain`, whose rows a config may bring.
    """

    suite: str
    config: str
    split: str
    kind: str = "qa"
    perturbed: bool = False
    paraphrased: bool = False
    part: str = ""

    @property
    def reply_tokens(self) -> int:
        """Returns how many tokens a model may generate."""
        if self.suite == "tofu":
            return TOFU_REPLY
        return MUSE_REPLY[self.config]

    def columns(self, question: str) -> list[str]:
        """Columns that the task cannot do without."""
        if self.kind == "text":
            return ["text"]
        if self.kind == "continuation":
            return ["prompt", "gt"]
        extra = ([PARAPHRASE] if self.paraphrased else []) + ([WRONG] if self.perturbed else [])
        return [question, "answer", *extra]


def split_name(split: Any) -> str:
    """Returns what a split is called: by its name in the data set, else after its file.

    >>> split_name("forget10"), split_name({"path": "mine/secrets.jsonl"})
    ('forget10', 'secrets')
    """
    text = str(split.get("path") or "") if isinstance(split, Mapping) else str(split or "")
    return PurePath(text).stem if is_own(split) else text


def is_own(split: Any) -> bool:
    """Returns whether a split is rows of the user's own.

    A mapping or a path, not a name of the data set.
    """
    return isinstance(split, Mapping) or (
        isinstance(split, str) and ("/" in split or bool(PurePath(split).suffix))
    )


def split_of_part(section: Any, part: str) -> Any:
    """Returns what the config says of one of the three splits, else what follows from TOFU's own.

    None for neither.
    """
    split = getattr(section, f"{part}_split")
    known = SPLITS.get(section.forget_split, {}) if isinstance(section.forget_split, str) else {}
    return known.get(part) if split is None else split


def data_of(task: str, section: Any) -> Data:
    """The data of one task for the splits of a config."""
    if task.startswith("tofu_"):
        part = task.split("_")[1]
        forget = split_name(section.forget_split).removesuffix("_perturbed")
        return {
            "forget": Data(
                "tofu",
                f"{forget}_perturbed",
                "train",
                perturbed=True,
                paraphrased=True,
                part="forget",
            ),
            "holdout": Data(
                "tofu", split_name(split_of_part(section, "holdout")), "train", part="holdout"
            ),
            "retain": Data(
                "tofu", "retain_perturbed", "train", perturbed=True, paraphrased=True, part="retain"
            ),
            "ra": Data("tofu", "real_authors_perturbed", "train", perturbed=True),
            "wf": Data("tofu", "world_facts_perturbed", "train", perturbed=True),
        }[part]
    if "knowmem" in task:
        return Data("muse", "knowmem", f"{task.split('_')[1]}_qa")
    if "verbmem" in task:
        return Data("muse", "verbmem", "forget", kind="continuation")
    return Data("muse", "privleak", task.split("_")[2], kind="text")


def split_of(context: Context, data: Data) -> str:
    """Returns what is forgotten: TOFU's forget split or MUSE's corpus."""
    if data.suite == "tofu":
        return split_name(context.section.forget_split)
    return str(context.section.muse_corpus)


def open_data(context: Context, data: Data, split: str | None = None) -> Source:
    """Opens one split of TOFU or MUSE."""
    section = context.section
    if data.part:
        key = f"{data.part}_split"
        own_split = getattr(section, key)
        if is_own(own_split):
            return context.open(own_split, where=context.where(key))
    if data.suite == "tofu":
        location = section.tofu
    else:
        location = section.muse or f"muse-bench/MUSE-{section.muse_corpus}"
    return context.open(
        location,
        config=data.config,
        split=split or data.split,
        revision=section.revision.get(data.suite),
        where=context.where(data.suite),
    )


def present_in(data: Data, source: Source, section: Any) -> Data:
    """Returns the data of a task as its source has them.

    Rows of the user's own need a question and an answer; a paraphrase and wrong answers may be
    absent. TOFU's own splits have all of them.
    """
    own = bool(data.part) and is_own(getattr(section, f"{data.part}_split"))
    if not own:
        return data
    return replace(
        data,
        paraphrased=data.paraphrased and source.has(PARAPHRASE),
        perturbed=data.perturbed and source.has(WRONG),
    )


def read_rows(source: Source, columns: Sequence[str]) -> list[Row]:
    """All rows of a split, with a text in each of these columns.

    Wrong answers are one text or a list of them; a cell of a flat file holds the list as JSON or as
    Python writes it.

    Raises:
        BadInput: a column is missing, or holds something else in some rows.
    """
    source.require(columns)
    rows = list(source.rows())
    if WRONG in columns:
        rows = [{**row, WRONG: list_cell(row.get(WRONG))} for row in rows]
    problems = Problems()
    for column in columns:
        bad = [
            position for position, row in enumerate(rows) if not _is_text(row.get(column), column)
        ]
        if bad:
            more = f" and {len(bad) - MOST_NAMED} more" if len(bad) > MOST_NAMED else ""
            problems.add(
                f"no text in column {column}: row {', '.join(map(str, bad[:MOST_NAMED]))}{more}, "
                "counted from 0",
                where=source.describe(),
                allowed=_WRONG_FORMS if column == WRONG else "texts",
                fix="mend or remove these rows",
            )
    problems.raise_if_any()
    return rows


def _is_text(value: Any, column: str) -> bool:
    if column != WRONG:
        return isinstance(value, str)
    if isinstance(value, str):
        return not looks_like_list(value)
    return value is None or (
        isinstance(value, list) and all(isinstance(answer, str) for answer in value)
    )


def wrong_answers(row: Mapping[str, Any]) -> list[str]:
    """The wrong answers of a row; lists may have any length."""
    answers = row.get(WRONG)
    if isinstance(answers, str):
        return [answers]
    return list(answers or [])
