"""The files of a new pack.

One task, scored in one of the common ways, on rows of one's own or on two examples.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalprep.packs import drafts
from evalprep.packs.benchmarkfile import FILE, benchmark_file, has_benchmark_file
from evalprep.packs.numbered import ONLY_LETTERS, AnswerForm

#: How replies can be scored, and in words.
KINDS = {
    "exact": "the reply is the target, but for case and punctuation",
    "choice": "the letter that the reply names",
    "number": "the final number of the reply",
    "math": "the boxed answer of the reply",
    "regex": "what a regular expression finds in the reply",
    "json": "the JSON value in the reply",
    "judge": "a language model rates the reply next to the target",
}
EXAMPLES = [
    {"question": "Question: What is the capital of France?\nAnswer:", "answer": "Paris"},
    {"question": "Question: How many legs does a spider have?\nAnswer:", "answer": "8"},
]
# Filter, scorer and metrics beside exact_match.
_SCORED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "choice": ("choice_letter", "custom_metrics.harness.results.choice", ("exact_match_macro",)),
    "number": ("final_number", "custom_metrics.harness.results.number", ()),
    "math": (
        "reply",
        "custom_metrics.harness.results.math",
        ("exact_match_macro", "original_llama", "minerva", "timeout"),
    ),
    "json": ("reply", "scorer.same_json", ()),
}


@dataclass(frozen=True)
class Questions:
    """The rows of a new pack, and the roles of their columns.

    Attributes:
        source: As in pack.yaml: a path in the pack, a hub id, or a mapping.
        prompt: A column, or a Jinja text over columns.
        target: The column with the right answer.
        columns: The columns that there are.
        options: For `choice`: the columns with the options, or the one with a list of them.
        pattern: For `regex`: the expression; its first group is the answer.
        renamed: Name in the prompt -> column, where a column's name cannot stand in a Jinja text.
        answers: For `choice`: how the right answers name options.
        id_column: The column with the ids of rows; empty without one.
    """

    source: str | Mapping[str, Any] = "data/questions.jsonl"
    prompt: str = "question"
    target: str = "answer"
    columns: Sequence[str] = field(default=("question", "answer"))
    options: Sequence[str] = ()
    pattern: str = r"(?i)answer(?: is|:)\s*(.+?)\s*(?:[.\n]|$)"
    renamed: Mapping[str, str] = field(default_factory=dict)
    answers: AnswerForm = ONLY_LETTERS
    id_column: str = ""

    @property
    def new_names(self) -> dict[str, str]:
        """New name -> column, with that of the ids."""
        ids = {"sample_id": self.id_column} if self.id_column else {}
        return {**self.renamed, **ids}

    @property
    def prompt_is_column(self) -> bool:
        """Returns whether the prompt stands in a column as it is."""
        return self.prompt in self.columns


def skeleton(name: str, kind: str, questions: Questions | None) -> dict[str, str]:
    """The files of a pack: path in its folder -> text.

    Args:
        name: The pack's name.
        kind: One of `KINDS`.
        questions: The rows; two examples by default.
    """
    rows = questions or Questions()
    coded = kind == "choice" and bool(rows.options)
    files = {
        "pack.yaml": _pack_yaml(name, kind, rows, coded=coded),
        f"{name}_qa.yaml": task_yaml(name, kind, rows, coded=coded),
        "README.md": drafts.README.format(title=_title(name)),
    }
    if has_benchmark_file(kind, rows):
        files[FILE] = benchmark_file(f"{name}_qa", _title(name), kind, rows)
    if coded:
        values = {} if rows.prompt_is_column else {"prompt": rows.prompt}
        files["prepare.py"] = drafts.CHOICE_ROWS.format(
            name=name,
            source=rows.source,
            options=list(rows.options),
            target=rows.target,
            values=values,
            renamed=rows.new_names,
            texts=rows.answers.texts,
            first=rows.answers.first,
        )
    if kind == "json":
        files["scorer.py"] = drafts.JSON_SCORER
    if kind == "judge":
        label = f"{name}_rating".replace("_", " ").capitalize()
        files["annotators.py"] = drafts.ANNOTATORS.format(name=name)
        files[f"rubrics/{name}.yaml"] = drafts.RUBRIC.format(name=name, label=label)
        files["score.py"] = drafts.RATING.format(name=name)
    if questions is None:
        files["data/questions.jsonl"] = "".join(json.dumps(row) + "\n" for row in EXAMPLES)
    return files


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _pack_yaml(name: str, kind: str, rows: Questions, *, coded: bool) -> str:
    lines = []
    if not coded:
        columns = {"target": rows.target} | (
            {"prompt": rows.prompt} if rows.prompt_is_column else {}
        )
        columns = {
            new: old for new, old in sorted({**columns, **rows.new_names}.items()) if new != old
        }
        lines.append(f"source: {_yaml(rows.source)}")
        if columns:
            lines.append(f"columns: {_yaml(columns)}")
        if not rows.prompt_is_column:
            lines.append(f"values: {_yaml({'prompt': rows.prompt})}")
    if kind == "judge":
        lines.append(f"annotators: [{name}]")
    text = drafts.PACK.format(
        name=name,
        title=_title(name),
        description=KINDS[kind],
        source="\n".join(f"    {line}" for line in lines),
    )
    text = text.replace("\n\n", "\n")
    return text + (drafts.RATED.format(name=name) if kind == "judge" else "")


def task_yaml(
    name: str, kind: str = "exact", rows: Questions | None = None, *, coded: bool = False
) -> str:
    """The template of the task."""
    rows = rows or Questions()
    column = rows.prompt if coded else "prompt"
    scored = _SCORED.get(kind)
    if scored is not None:
        function, scorer, further = scored
        scoring = drafts.FILTER.format(
            function="custom\n"
            f"        filter_fn: !function custom_metrics.harness.filters.{function}"
        )
        scoring += f"process_results: !function {scorer}\nmetric_list:\n"
        for metric in ("exact_match", *further, "unparsed", "scorer_error"):
            scoring += drafts.METRIC.format(
                metric=metric,
                aggregation=drafts.MACRO if metric.endswith("_macro") else "mean",
                up=str(metric not in {"unparsed", "scorer_error", "timeout"}).lower(),
            )
    elif kind == "regex":
        pattern = json.dumps(rows.pattern, ensure_ascii=False)
        scoring = (
            drafts.FILTER.format(
                function=f"regex\n        regex_pattern: {pattern}\n        group_select: -1"
            )
            + drafts.EXACT
        )
    else:
        scoring = drafts.EXACT
    return drafts.TASK.format(
        name=name,
        text=column if rows.prompt_is_column else "${prompt}",
        until='["\\n"]' if kind == "exact" else "[]",
        tokens={"exact": 32, "judge": 256}.get(kind, 512),
        scoring=scoring,
        filter="none" if kind in {"exact", "judge"} else "flexible-extract",
    )


def _yaml(value: Any) -> str:
    """A value on one line of YAML; a plain word stays one."""
    if (
        isinstance(value, str)
        and value
        and all(character.isalnum() or character in "_./-" for character in value)
    ):
        return value
    return json.dumps(value, ensure_ascii=False)
