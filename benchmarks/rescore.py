"""What `evalprep rescore` takes by its own choice of processes, against one process.

    python -m benchmarks.rescore [--rows 20000] [--short] [--part cheap|costly ...] [--docs PAGE]

Writes synthetic runs in lm-eval's layout and the YAML of their task into a temporary folder, and
rescores them as a user types it: without `--jobs`, and with `--jobs 1`, in turns.

- `cheap`: replies in a sentence; a regular expression finds the answer, and exact match compares
  it. One process is best, as others cost seconds of imports.
- `costly`: 15 % of the rows, with replies that end with a boxed answer, graded by algebra under two
  filters, with the scorers of other tools beside ours. One process per core is best.

The goal is for wall time: by its own choice the command must not be slower than in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.grading import ordinary
from benchmarks.measuring import Cost, Measure, Report, finish, measure

ROWS, SHORT = 20_000, 400
#: 1, and the noise between two equal commands.
GOAL = 1.1
STAMP = "2026-01-01T00-00-00.000001"
TASK = "answers"
METRICS = [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}]
TAKE_FIRST = {"function": "take_first"}
LETTER = {"function": "regex", "regex_pattern": r"answer is (\w)"}


class Function(str):
    """The path of a function, which a YAML of lm-eval has under a tag."""

    __slots__ = ()


yaml.SafeDumper.add_representer(
    Function, lambda dumper, path: dumper.represent_scalar("!function", path)
)


@dataclass(frozen=True)
class Case:
    """A kind of task.

    Attributes:
        what: What its scorer does, in words.
        rows: Yields so many pairs of target and reply.
        filters: Of its YAML, by name.
        share: Of the rows, those that are scored; some scorers take long.
        turns: How often both ways are measured; the quickest of each counts.
        scorer: Its `process_results`; empty where metrics by their names do.
    """

    what: str
    rows: Callable[[int], Iterator[tuple[str, str]]]
    filters: Mapping[str, Sequence[Mapping[str, Any]]]
    share: float = 1.0
    turns: int = 3
    scorer: str = ""


def sentences(count: int) -> Iterator[tuple[str, str]]:
    """Letters, and replies of a few sentences that end with a letter; 60 % are right."""
    source = random.Random(1)
    for at in range(count):
        target = "ABCD"[at % 4]
        answer = target if at % 5 < 3 else "ABCD"[(at + 1) % 4]
        thought = " ".join(source.choices(("mice", "sleep", "at", "day", "and", "eat"), k=60))
        yield target, f"{thought}. The answer is {answer}."


def boxed(count: int) -> Iterator[tuple[str, str]]:
    """Short answers of competition problems, and replies with a box."""
    for case in ordinary(count):
        yield str(case["gold"]), str(case["response"])


def custom(name: str) -> dict[str, Any]:
    """A step of a filter that is a function of ours."""
    return {"function": "custom", "filter_fn": Function(f"custom_metrics.harness.filters.{name}")}


CASES = {
    "cheap": Case(
        "exact match after a regular expression", sentences, {"none": [LETTER, TAKE_FIRST]}
    ),
    "costly": Case(
        "boxed answers, graded by algebra",
        boxed,
        {"strict-match": [custom("boxed"), TAKE_FIRST], "none": [custom("reply"), TAKE_FIRST]},
        share=0.15,
        turns=1,
        scorer="custom_metrics.harness.results.math",
    ),
}


def write_run(folder: Path, case: Case, count: int) -> None:
    """Writes a run, and the YAML of its task into `tasks`."""
    (folder / "run").mkdir(parents=True)
    config: dict[str, Any] = {
        "task": TASK,
        "dataset_path": "json",
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "prompt",
        "doc_to_target": "target",
        "filter_list": [
            {"name": name, "filter": list(steps)} for name, steps in case.filters.items()
        ],
        "metric_list": METRICS,
        "fewshot_config": {"sampler": "first_n", "samples": []},
        "metadata": {"version": 1.0, "primary_metric": "exact_match", "primary_filter": "none"},
    }
    if case.scorer:
        config["process_results"] = Function(case.scorer)
    (folder / "tasks").mkdir()
    (folder / "tasks" / f"{TASK}.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    samples = folder / "run" / f"samples_{TASK}_{STAMP}.jsonl"
    with samples.open("w", encoding="utf-8") as file:
        for at, (target, reply) in enumerate(case.rows(count)):
            file.write(json.dumps(_line(at, target, reply)) + "\n")
    results = {
        "results": {TASK: {"exact_match,none": 0.5}},
        "configs": {TASK: config},
        "config": {"model": "vllm", "model_args": "pretrained=org/model"},
        "model_name": "org/model",
    }
    (folder / "run" / f"results_{STAMP}.json").write_text(json.dumps(results), encoding="utf-8")


def _line(at: int, target: str, reply: str) -> dict[str, Any]:
    """A line of the samples file."""
    prompt = f"Question {at}: which one?"
    return {
        "doc_id": at,
        "doc": {"sample_id": f"r{at}", "prompt": prompt, "target": target, "subject": "algebra"},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"max_gen_toks": 1024}}},
        "resps": [[reply]],
        "filtered_resps": [reply],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": f"{at:064x}",
        "prompt_hash": f"{at:064x}",
        "target_hash": "2" * 64,
        "exact_match": float(at % 2),
    }


def rescored(folder: Path, *words: str) -> Cost:
    """What one call of the command takes."""
    shutil.rmtree(folder / "rescored", ignore_errors=True)
    command = [sys.executable, "-m", "evalprep", "rescore", "run", "--work_dir", "tasks"]
    env = {"EVALPREP_CACHE": os.fspath(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    return measure([*command, "--out", "rescored", *words], cwd=folder, env=env)


def measured(folder: Path, case: Case, rows: int) -> Measure:
    """The line of one kind of task."""
    count = round(case.share * rows)
    write_run(folder, case, count)
    turns = [(rescored(folder), rescored(folder, "--jobs", "1")) for _ in range(case.turns)]
    ours, peer = (min(side, key=lambda cost: cost.wall) for side in zip(*turns, strict=True))
    return Measure(f"{count:,} rows: {case.what}", ours, peer, "--jobs 1", goal_wall=GOAL)


def main() -> int:
    """Measure each kind of task."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--short", action="store_true", help=f"{SHORT} rows, nothing kept")
    parser.add_argument("--part", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    args = parser.parse_args()
    rows = SHORT if args.short else args.rows
    measures: list[Measure] = []
    for part in args.part:
        with tempfile.TemporaryDirectory() as folder:
            measures.append(measured(Path(folder), CASES[part], rows))
    report = Report(
        "rescore", "python -m benchmarks.rescore", measures, {"rows": rows}, ("lm_eval", "sympy")
    )
    whole = not args.short and len(args.part) == len(CASES)
    return finish(report, page=args.docs, keeps=whole)


if __name__ == "__main__":
    raise SystemExit(main())
