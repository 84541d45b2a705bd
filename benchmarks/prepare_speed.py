"""CPU seconds and memory of preparations and joins, beside what one would write in their place.

    python -m benchmarks.prepare_speed [--fast] [--rows 120000] [--pairs 1000000] [--docs PAGE]

The peers: for a preparation, a script with `datasets` and pandas that joins and writes the
same data sets (the recipe's way), or a plain copy of the columns that a task needs through Arrow;
for a join, by rows and in columns, pandas and, where it is installed, DuckDB. The data: the small
Llama-3.1-8B-Instruct fixture in the folder that EVALPREP_SHARED names, else the demo's; and
authored rows. Without the demo model (`make setup`) no tokenizer counts.
"""

from __future__ import annotations

import argparse
import filecmp
import hashlib
import importlib.util
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import yaml

from benchmarks.measuring import ROOT, Cost, Measure, Report, finish, measure

Made = TypeVar("Made")
SHARED = Path(os.environ.get("EVALPREP_SHARED", ROOT.parent / "shared"))
FIXTURE = SHARED / "vectors" / "meta_evals"
DEMO = ROOT / "task_templates" / "meta" / "demo"
EVALS = "Llama-3.1-8B-Instruct-evals"
PACKAGES = ("pyarrow", "pandas", "datasets", "lm_eval", "duckdb")
_DEMO_MODEL = ROOT / "models" / "SmolLM2-135M-Instruct"
MODEL = str(_DEMO_MODEL) if _DEMO_MODEL.is_dir() else f"HuggingFaceTB/{_DEMO_MODEL.name}"
BLOCK = 10_000

RECIPE = """
import json, sys
import pandas
from datasets import load_dataset
evals, name, kind_of_math, ifeval, math, out = sys.argv[1:]
def details(kind):
    return load_dataset(evals, name=f"{name}__{kind}__details", split="latest").to_pandas()
def joined(left, on, truth, split, right, file):
    truth = load_dataset(truth, split=split).to_pandas()
    whole = left.merge(truth, left_on=on, right_on=right, how="left")
    whole.to_parquet(f"{out}/{file}.parquet")
rows = details("ifeval__strict")
rows["question"] = [json.loads(text)["dialog"][0]["body"] for text in rows["input_question"]]
joined(rows, "question", ifeval, "train", "prompt", "ifeval")
joined(details(kind_of_math), "input_question", math, "test", "problem", kind_of_math)
for kind in ("gpqa", "mmlu_pro"):
    details(kind).to_parquet(f"{out}/{kind}.parquet")
"""
COPY = """
import sys
import pyarrow.parquet as pq
columns = ["input_final_prompts", "input_correct_responses", "is_correct", "input_question",
    "input_question_hash", "input_final_prompts_hash", "output_prediction_text", "subtask_name"]
pq.write_table(pq.read_table(sys.argv[1], columns=columns), sys.argv[2], compression="zstd")
"""
DUCKDB = """
import sys
import duckdb
left, right, out = sys.argv[1:]
duckdb.execute(f"copy (select l.*, r.solution, r.level from '{left}' l left join '{right}' r "
    f"on l.question = r.problem) to '{out}' (format parquet, compression zstd)")
"""
PANDAS = """
import sys
import pandas
left, right, out = sys.argv[1:]
pandas.read_parquet(left).merge(pandas.read_parquet(right), left_on="question",
    right_on="problem", how="left").to_parquet(out, compression="zstd")
"""
JOIN = """
import gc, sys
from pathlib import Path
from evalprep.cli import COLLECT_AFTER
from evalprep.packapi import GroundTruth, JoinReport, join
from evalprep.data import open_source, write_rows
gc.set_threshold(*COLLECT_AFTER)  # as every command does
left, right, out = sys.argv[1:]
report = JoinReport()
truth = GroundTruth(open_source(right), "problem")
pairs = join(
    open_source(left).rows(), truth, texts=lambda row: [row["question"]], report=report
)
rows = (
    {"sample_id": row["id"], **row, "solution": match["solution"], "level": match["level"]}
    for row, match in pairs
)
write_rows(rows, Path(out), task="joined")
"""
JOIN_COLUMNS = """
import gc, sys
from pathlib import Path
from evalprep.cli import COLLECT_AFTER
from evalprep.packapi import GroundTruth, JoinReport, join_columns
from evalprep.data import open_source, write_rows
gc.set_threshold(*COLLECT_AFTER)  # as every command does
left, right, out = sys.argv[1:]
report = JoinReport()
truth = GroundTruth(open_source(right), "problem")
rows = open_source(left, columns={"sample_id": "id"})
take = {"solution": "solution", "level": "level"}
joined = join_columns(rows, truth, text="question", take=take, report=report)
write_rows(joined, Path(out), task="joined")
"""


ENVIRONMENT = {"HF_HUB_OFFLINE": "1"}


def cost(arguments: Sequence[str], folder: Path, repeats: int = 1) -> Cost:
    """What Python takes with arguments in a folder, without caches of earlier runs."""
    environment = {**ENVIRONMENT, "HF_DATASETS_CACHE": str(folder / "datasets")}
    return measure([sys.executable, *arguments], cwd=folder, env=environment, repeats=repeats)


def prepare(folder: Path, config: Mapping[str, object], *arguments: str) -> list[str]:
    """Writes a config; returns the arguments that prepare it."""
    path = folder / "eval_config.yaml"
    path.write_text(yaml.safe_dump(dict(config)), encoding="utf-8")
    return [str(ROOT / "prepare_eval.py"), "--config_path", str(path), "--force", *arguments]


def apart(make: Callable[..., Made], *arguments: object) -> Made:
    """Makes data in a process of its own.

    The most memory that this process ever had counts for each command that it starts.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(make, *arguments).result()


def fixture_lines(folder: Path, repeats: int) -> Iterator[Measure]:
    """Preparation of a small data set of four tasks: mostly what starting costs."""
    is_here = FIXTURE.is_dir()
    name = "8B fixture" if is_here else "demo in place of the 8B fixture"
    evals = FIXTURE / EVALS if is_here else DEMO / "SmolLM2-135M-Instruct-evals"
    ifeval, math = ("instruction-following-eval", "MATH") if is_here else ("ifeval", "math")
    truth = (FIXTURE if is_here else DEMO) / "ground_truth"
    config = {
        "model_name": MODEL,
        "evals_dataset": str(evals),
        "tasks": "meta_instruct",
        "max_model_len": 8192,
        "ground_truth": {"ifeval": str(truth / ifeval), "math": str(truth / math)},
        "meta": {"max_unmatched": 0.2},
    }
    kind = "math_hard" if is_here else "math"
    recipe = [str(evals), evals.name, kind, *map(str, (truth / ifeval, truth / math, folder))]
    peer = cost(["-c", RECIPE, *recipe], folder, repeats)
    checked = cost(prepare(folder, config), folder, repeats)
    yield Measure(f"prepare the {name}", checked, peer, "datasets and pandas", goal=1.0)
    plain = cost(prepare(folder, config, "--check=off"), folder, repeats)
    yield Measure("the same, --check=off", plain, peer, "datasets and pandas")


def large_lines(folder: Path, count: int) -> Iterator[Measure]:
    """Preparation of one task of many rows, with prompts of four thousand characters."""
    evals = apart(large_evals, folder, count)
    config = {
        "model_name": MODEL,
        "evals_dataset": str(evals),
        "tasks": "meta_mmlu_pro_instruct",
        "max_model_len": 8192,
    }
    (data,) = evals.glob("*.parquet")
    peer = cost(["-c", COPY, str(data), str(folder / "copy.parquet")], folder)
    checked = cost(prepare(folder, config), folder)
    what = f"prepare {count:,} rows"
    yield Measure(what, checked, peer, "column copy", goal=4.0, most_mb=400)
    plain = cost(prepare(folder, config, "--check=off"), folder)
    yield Measure(f"{what}, --check=off", plain, peer, "column copy")


def large_evals(folder: Path, count: int) -> Path:
    """An authored data set in the layout of Meta's, with one config of so many rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    evals = folder / EVALS
    evals.mkdir()
    name, file = f"{EVALS}__mmlu_pro__details", "Details_mmlu_pro_2024-07-22T22-35-31.parquet"
    files = [{"split": "latest", "path": [file]}]
    card = {"configs": [{"config_name": name, "data_files": files}]}
    (evals / "README.md").write_text(f"---\n{yaml.safe_dump(card)}---\n", encoding="utf-8")
    writer = None
    for first in range(0, count, BLOCK):
        table = pa.Table.from_pylist([_row(n) for n in range(first, min(first + BLOCK, count))])
        writer = writer or pq.ParquetWriter(evals / file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    return evals


def _row(number: int) -> dict[str, object]:
    """One published row: shots of its subject, its question, a reply."""
    subject = number % 14
    shots = "\n\n".join(
        f"Given the following question of subject {subject} and candidate answers, choose the best "
        f"answer. Question: {_words(subject * 100 + shot, 120)}? The best answer is A"
        for shot in range(5)
    )
    gold, question = "ABCDEFGHIJ"[number % 10], f"Number {number}: {_words(number, 30)}?"
    prompt = (
        f"<|start_header_id|>user<|end_header_id|>\n\n{shots}\n\n{question}<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )
    reply = f"{_words(number + 1, 60)}. The best answer is {gold}."
    return {
        "task_name": "mmlu_pro",
        "subtask_name": f"subject {subject}",
        "input_question": question,
        "input_choice_list": {letter: f"choice {letter}" for letter in "ABCDEFGHIJ"},
        "input_final_prompts": [prompt],
        "input_correct_responses": [gold],
        "output_prediction_text": [reply],
        "output_parsed_answer": gold,
        "is_correct": True,
        "input_question_hash": hashlib.sha256(question.encode()).hexdigest(),
        "input_final_prompts_hash": [hashlib.sha256(prompt.encode()).hexdigest()],
    }


def _words(seed: int, count: int) -> str:
    choices = random.Random(seed).choices
    return " ".join(map(str, choices(range(1_000, 100_000), k=count)))


def join_lines(folder: Path, count: int, repeats: int) -> Iterator[Measure]:
    """So many rows joined with as many in another order, from file to file.

    By rows and in columns, which give the same file.
    """
    left, right = apart(_pairs, folder, count)
    files = [str(left), str(right), str(folder / "joined.parquet")]
    in_columns_files = [*files[:2], str(folder / "in_columns.parquet")]
    by_rows = cost(["-c", JOIN, *files], folder, repeats)
    in_columns = cost(["-c", JOIN_COLUMNS, *in_columns_files], folder, repeats)
    if not filecmp.cmp(files[-1], in_columns_files[-1], shallow=False):
        raise RuntimeError("the join in columns wrote another file than the join by rows")
    what = f"join {count:,} x {count:,}"
    peer = cost(["-c", PANDAS, *files], folder, repeats)
    yield Measure(what, by_rows, peer, "pandas", most_mb=400)
    yield Measure(f"{what}, in columns", in_columns, peer, "pandas", most_mb=400)
    if importlib.util.find_spec("duckdb"):
        peer = cost(["-c", DUCKDB, *files], folder, repeats)
        yield Measure("the same join", by_rows, peer, "duckdb", goal=1.5, most_mb=400)
        same = "the same join, in columns"
        yield Measure(same, in_columns, peer, "duckdb", goal=1.5, most_mb=400)


def _pairs(folder: Path, count: int) -> tuple[Path, Path]:
    """Files with questions, and with their solutions in another order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    left, right = folder / "left.parquet", folder / "right.parquet"
    order = list(range(count))
    random.Random(1).shuffle(order)
    writers: list[pq.ParquetWriter] = []
    for first in range(0, count, BLOCK):
        numbers = range(first, min(first + BLOCK, count))
        texts = [f"Question {n}: {_words(n, 14)}?" for n in numbers]
        prompts = [f"Answer this. {text}" for text in texts]
        rows = {"id": [str(n) for n in numbers], "question": texts, "prompt": prompts}
        others = order[first : first + BLOCK]
        truth = {
            "problem": [f"Question {n}: {_words(n, 14)}?" for n in others],
            "solution": [f"The answer is \\boxed{{{n}}}" for n in others],
            "level": [n % 5 for n in others],
        }
        tables = [pa.table(rows), pa.table(truth)]
        if not writers:
            places = zip((left, right), tables, strict=True)
            writers = [pq.ParquetWriter(path, table.schema) for path, table in places]
        for writer, table in zip(writers, tables, strict=True):
            writer.write_table(table)
    for writer in writers:
        writer.close()
    return left, right


def main() -> int:
    """Measure and print one line per command and peer."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=120_000, help="of the large task")
    parser.add_argument(
        "--pairs", type=int, default=1_000_000, help="rows of each side of the join"
    )
    parser.add_argument("--repeats", type=int, default=3, help="of small preparations and joins")
    parser.add_argument(
        "--fast", "--short", action="store_true", help="4,000 rows, 50,000 pairs, nothing kept"
    )
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    args = parser.parse_args()
    rows, pairs, repeats = (
        (4_000, 50_000, 1) if args.fast else (args.rows, args.pairs, args.repeats)
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measures = [
            *fixture_lines(folder, repeats),
            *large_lines(folder, rows),
            *join_lines(folder, pairs, repeats),
        ]
    sizes = {"rows": rows, "pairs": pairs, "repeats": repeats}
    packages = [package for package in PACKAGES if importlib.util.find_spec(package)]
    command = "python -m benchmarks.prepare_speed"
    report = Report("prepare_speed", command, measures, sizes, packages)
    return finish(report, page=args.docs, keeps=not args.fast)


if __name__ == "__main__":
    raise SystemExit(main())
