"""Write the skeleton of a task pack that renders, checks and runs as it is."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path

from evalprep.errors import BadInput, Problem

PACK = """\
# One task on rows of your own. docs/writing-a-pack.md explains every key.
name: {name}
title: {title}
description: What this pack measures, in one sentence.
tasks:
  {name}_qa:
    template: {name}_qa.yaml
    source: data/questions.jsonl          # or a hub id: {{path: owner/name, split: test}}
    columns: {{prompt: question, target: answer}}
    description: Short answers, exact match
groups:
  {name}_all: {{tasks: [{name}_qa]}}
suite_scores:
  {name}_micro: {{function: micro, tasks: [{name}_qa], title: Share of right answers, range: [0, 1], better: up}}
"""
TEMPLATE = """\
# ${{name}} is filled at preparation; everything else is a plain lm-eval task.
task: ${{task}}
dataset_path: parquet
dataset_kwargs:
  data_files:
    test: ${{data_file}}
test_split: test
output_type: generate_until
doc_to_text: prompt
doc_to_target: target
generation_kwargs:
  until: ["\\n"]
  do_sample: false
  temperature: 0.0
  max_gen_toks: 32
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    ignore_punctuation: true
num_fewshot: 0
fewshot_config: {{sampler: first_n, samples: []}}
metadata:
  version: 1.0
  pack: {name}
  primary_metric: exact_match
  primary_filter: none
"""
ROWS = [
    {"question": "Question: What is the capital of France?\nAnswer:", "answer": "Paris"},
    {"question": "Question: How many legs does a spider have?\nAnswer:", "answer": "8"},
]
README = """\
# {title}

What it measures, where the data come from and under which licence, and what a good score is.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("name", help="lower-case letters, digits and _")
    parser.add_argument("--template_dir", type=Path, default=None, help="folder of the packs")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def main(args: argparse.Namespace) -> int:
    """Write the folder."""
    from evalprep.config.schema import Core
    from evalprep.packs.finding import TEMPLATES

    templates: Path = (args.template_dir or TEMPLATES).resolve()
    folder = templates / args.name
    if not re.fullmatch(r"[a-z][a-z0-9_]*", args.name) or args.name in Core.model_fields:
        raise BadInput(
            Problem(
                what=f"{args.name!r} is no pack name",
                where="NAME",
                allowed="lower-case letters, digits and _, and no key of eval_config.yaml",
            )
        )
    if folder.exists():
        raise BadInput(Problem(what="exists already", where=str(folder), fix="choose another name"))
    words = {"name": args.name, "title": args.name.replace("_", " ").capitalize()}
    (folder / "data").mkdir(parents=True)
    (folder / "pack.yaml").write_text(PACK.format(**words), encoding="utf-8")
    (folder / f"{args.name}_qa.yaml").write_text(TEMPLATE.format(**words), encoding="utf-8")
    (folder / "README.md").write_text(README.format(**words), encoding="utf-8")
    (folder / "data" / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    program = ["python", "prepare_eval.py"] if Path("prepare_eval.py").is_file() else ["evalprep", "prepare"]
    command = [*program, "--set", f"tasks={args.name}_all"]
    if templates != TEMPLATES:
        command += ["--set", f"template_dir={json.dumps(str(templates))}"]
    if args.json:
        print(json.dumps({"folder": str(folder), "next": command}, indent=2))
    else:
        print(f"wrote {folder}\nnext: {shlex.join(command)}")
    return 0
