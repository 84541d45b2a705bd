"""The files of a new pack: one task, scored in one of the common ways, on rows of one's own or on two examples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
_PACK = """\
# One task on rows of your own. docs/writing-a-pack.md explains every key.
name: {name}
title: {title}
description: What this pack measures, in one sentence.
tasks:
  {name}_qa:
    template: {name}_qa.yaml
{source}
    description: {description}
groups:
  {name}_all: {{tasks: [{name}_qa]}}
suite_scores:
  {name}_micro: {{function: micro, tasks: [{name}_qa], title: Share of right answers, range: [0, 1], better: up}}
"""
_RATED = """\
  {name}_rating: {{function: score.rating, tasks: [{name}_qa], title: Mean rating of the judge, range: [1, 5]}}
"""
_TASK = """\
# ${{name}} is filled at preparation; everything else is a plain lm-eval task.
task: ${{task}}
dataset_path: parquet
dataset_kwargs:
  data_files:
    test: ${{data_file}}
test_split: test
output_type: generate_until
doc_to_text: {text}
doc_to_target: target
generation_kwargs:
  until: {until}
  do_sample: false
  temperature: 0.0
  max_gen_toks: {tokens}
{scoring}num_fewshot: 0
fewshot_config: {{sampler: first_n, samples: []}}
metadata:
  version: 1.0
  pack: {name}
  primary_metric: exact_match
  primary_filter: {filter}
"""
_METRIC = """\
  - metric: {metric}
    aggregation: {aggregation}
    higher_is_better: {up}
"""
_EXACT = """\
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    ignore_punctuation: true
"""
_FILTER = """\
filter_list:
  - name: flexible-extract
    filter:
      - function: {function}
      - function: take_first
"""
_MACRO = "!function custom_metrics.harness.aggregations.macro_mean"
# Filter, scorer and metrics beside exact_match.
_SCORED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "choice": ("choice_letter", "custom_metrics.harness.results.choice", ("exact_match_macro",)),
    "number": ("final_number", "custom_metrics.harness.results.number", ()),
    "math": (
        "reply", "custom_metrics.harness.results.math", ("exact_match_macro", "original_llama", "minerva", "timeout"),
    ),
    "json": ("reply", "scorer.same_json", ()),
}  # fmt: skip
_JSON_SCORER = '''\
"""The scorer of this pack: it travels with the task file, and is the place for rules of your own."""

import json

from custom_metrics.extract.json_values import extract_json


def same_json(doc, results):
    """Whether the JSON value in the reply is the target's: 1 or 0; `unparsed` where there is none."""
    reply = results[0][0] if isinstance(results[0], list) else results[0]
    value, status = extract_json(str(reply))
    try:
        target = json.loads(doc["target"]) if isinstance(doc["target"], str) else doc["target"]
    except ValueError:
        return {"exact_match": 0.0, "unparsed": 0.0, "scorer_error": 1.0}
    unread = float(status == "failed")
    return {"exact_match": float(not unread and value == target), "unparsed": unread, "scorer_error": 0.0}
'''
_CHOICE_ROWS = '''\
"""Rows of {name}: the options of each question as a list, and the letter of the right one."""

from evalprep.packapi import BadInput, Context, Problem, TaskData

SOURCE = {source!r}
OPTIONS = {options!r}  # columns, or one column that holds a list
TARGET = {target!r}  # its cells hold a letter, the text of the right option, or its number
FIRST = {first!r}  # the number of the first option; None where the cells hold no numbers of options
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def prepare(context: Context, task: str) -> TaskData:
    """Every row, with `choices` and `target`."""
    source = context.open(SOURCE, columns={renamed!r})
    source.require([*OPTIONS, TARGET])
    rows = ({{"sample_id": str(number), **one}} for number, one in enumerate(source.rows(), 1))
    return TaskData(rows=map(_with_letter, rows), values={values!r})


def _with_letter(row):
    cells = row[OPTIONS[0]] if len(OPTIONS) == 1 else [row[name] for name in OPTIONS]
    choices = [str(cell) for cell in cells or () if cell is not None]
    target = str(row[TARGET]).strip()
    letters = LETTERS[: len(choices)]
    if FIRST is not None and target.isdecimal() and 0 <= int(target) - FIRST < len(choices):
        target = letters[int(target) - FIRST]
    elif target in choices:
        target = letters[choices.index(target)]
    if target not in list(letters):
        raise BadInput(
            Problem(
                what=f"{{TARGET}} is {{target!r}}",
                where=f"row {{row['sample_id']}}",
                allowed=f"a letter of {{letters}}, or the text of an option: {{', '.join(choices)}}",
            )
        )
    listed = "\\n".join(f"{{letter}}. {{choice}}" for letter, choice in zip(letters, choices, strict=True))
    return {{**row, "choices": choices, "listed": listed, "target": target}}
'''
_ANNOTATORS = '''\
"""A judge rates replies next to the target; rubrics/{name}.yaml says how."""

from pathlib import Path

from evalprep.packapi import read_rubric

ANNOTATORS = (read_rubric(Path(__file__).parent / "rubrics" / "{name}.yaml"),)
'''
_RUBRIC = """\
version: "1"
title: Reply next to the target
tasks: [{name}_qa]
values: [{name}_rating]
low: 1
high: 5
fields: {{prompt: prompt, target: target, response: response}}
sampling: {{temperature: 0, max_tokens: 512}}
prompt: |
  You compare the reply of a language model with the answer of an expert.

  5: all that the expert says is there
  3: part of it is there, or it is there with mistakes
  1: it is wrong, or about something else

  Question:
  ${{prompt}}

  Expert:
  ${{target}}

  Reply:
  ${{response}}

  Answer in two lines and nothing after them:
  Explanation: one sentence
  {label}: a whole number from 1 to 5
calibration:
  - fields: {{prompt: Name the capital of France., target: Paris, response: The capital of France is Paris.}}
    expected: {{{name}_rating: 5}}
  - fields: {{prompt: Name the capital of France., target: Paris, response: I like cheese.}}
    expected: {{{name}_rating: 1}}
"""
_RATING = '''\
"""The judge's ratings as a suite score."""

from statistics import fmean


def rating(*, rows, **_):
    """Mean over the rows that a judge has rated."""
    ((task, samples),) = rows.items()
    known = [one["metrics"].get("{name}_rating") for one in samples]
    known = [float(value) for value in known if isinstance(value, (int, float))]
    if not known:
        return {{"agg_value": None, "reason": "no judge has rated it: `evalprep judge RUN --model NAME`"}}
    return {{"agg_value": fmean(known), "n": len(known)}}
'''
_README = """\
# {title}

What it measures, where the data come from and under which licence, and what a good score is.
"""


@dataclass(frozen=True)
class Questions:
    """Where the rows of a new pack are, and what in them is what.

    Attributes:
        source: As in pack.yaml: a path in the pack, a hub id, or a mapping.
        prompt: A column, or a Jinja text over columns.
        target: The column with the right answer.
        columns: The columns that there are.
        options: For `choice`: the columns with the options, or the one with a list of them.
        pattern: For `regex`: the expression; its first group is the answer.
        renamed: Name in the prompt -> column, where a column's name cannot stand in a Jinja text.
        first: For `choice`: the number of the first option, where the right answers are numbers of options.
    """

    source: str | Mapping[str, Any] = "data/questions.jsonl"
    prompt: str = "question"
    target: str = "answer"
    columns: Sequence[str] = field(default=("question", "answer"))
    options: Sequence[str] = ()
    pattern: str = r"(?i)answer(?: is|:)\s*(.+?)\s*(?:[.\n]|$)"
    renamed: Mapping[str, str] = field(default_factory=dict)
    first: int | None = None

    @property
    def prompt_is_column(self) -> bool:
        """Whether the prompt stands in a column as it is."""
        return self.prompt in self.columns


def skeleton(name: str, kind: str = "exact", given: Questions | None = None) -> dict[str, str]:
    """The files of a pack: path in its folder -> text.

    Args:
        name: The pack's name.
        kind: One of `KINDS`.
        given: The rows; two examples by default.
    """
    rows = given or Questions()
    coded = kind == "choice" and bool(rows.options)
    files = {
        "pack.yaml": _pack_yaml(name, kind, rows, coded=coded),
        f"{name}_qa.yaml": task_yaml(name, kind, rows, coded=coded),
        "README.md": _README.format(title=_title(name)),
    }
    if coded:
        values = {} if rows.prompt_is_column else {"prompt": rows.prompt}
        files["prepare.py"] = _CHOICE_ROWS.format(
            name=name,
            source=rows.source,
            options=list(rows.options),
            target=rows.target,
            values=values,
            renamed=dict(rows.renamed),
            first=rows.first,
        )
    if kind == "json":
        files["scorer.py"] = _JSON_SCORER
    if kind == "judge":
        label = f"{name}_rating".replace("_", " ").capitalize()
        files["annotators.py"] = _ANNOTATORS.format(name=name)
        files[f"rubrics/{name}.yaml"] = _RUBRIC.format(name=name, label=label)
        files["score.py"] = _RATING.format(name=name)
    if given is None:
        files["data/questions.jsonl"] = "".join(json.dumps(row) + "\n" for row in EXAMPLES)
    return files


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _pack_yaml(name: str, kind: str, rows: Questions, *, coded: bool) -> str:
    lines = []
    if not coded:
        columns = {"target": rows.target} | ({"prompt": rows.prompt} if rows.prompt_is_column else {})
        columns = {new: old for new, old in sorted({**columns, **rows.renamed}.items()) if new != old}
        lines.append(f"source: {_yaml(rows.source)}")
        lines += [f"columns: {_yaml(columns)}"] if columns else []
        lines += [] if rows.prompt_is_column else [f"values: {_yaml({'prompt': rows.prompt})}"]
    if kind == "judge":
        lines.append(f"annotators: [{name}]")
    text = _PACK.format(
        name=name, title=_title(name), description=KINDS[kind], source="\n".join(f"    {line}" for line in lines)
    )
    text = text.replace("\n\n", "\n")
    return text + (_RATED.format(name=name) if kind == "judge" else "")


def task_yaml(name: str, kind: str = "exact", rows: Questions | None = None, *, coded: bool = False) -> str:
    """The template of the task."""
    rows = rows or Questions()
    column = rows.prompt if coded else "prompt"
    scored = _SCORED.get(kind)
    if scored is not None:
        function, scorer, further = scored
        scoring = _FILTER.format(
            function=f"custom\n        filter_fn: !function custom_metrics.harness.filters.{function}"
        )
        scoring += f"process_results: !function {scorer}\nmetric_list:\n"
        for metric in ("exact_match", *further, "unparsed", "scorer_error"):
            scoring += _METRIC.format(
                metric=metric,
                aggregation=_MACRO if metric.endswith("_macro") else "mean",
                up=str(metric not in {"unparsed", "scorer_error", "timeout"}).lower(),
            )
    elif kind == "regex":
        pattern = json.dumps(rows.pattern, ensure_ascii=False)
        scoring = _FILTER.format(function=f"regex\n        regex_pattern: {pattern}\n        group_select: -1") + _EXACT
    else:
        scoring = _EXACT
    return _TASK.format(
        name=name,
        text=column if rows.prompt_is_column else "${prompt}",
        until='["\\n"]' if kind == "exact" else "[]",
        tokens={"exact": 32, "judge": 256}.get(kind, 512),
        scoring=scoring,
        filter="none" if kind in {"exact", "judge"} else "flexible-extract",
    )


def _yaml(value: Any) -> str:
    """A value on one line of YAML; a plain word stays one."""
    if isinstance(value, str) and value and all(one.isalnum() or one in "_./-" for one in value):
        return value
    return json.dumps(value, ensure_ascii=False)
