"""What a run takes on N replicas: a model of cost, checked against real runs on one and two.

    python -m benchmarks.scale_model [--measure] [--prompts 400] [--docs docs/reference/measured.md]

With `--measure` the demo model answers the prompts on a Ray cluster of this machine, with one
replica of one core and then with two, in float32 (`evalprep run --engine ray`). From two runs on
one replica, in small and in large units, come the constants: the seconds that a model takes to
load, a unit of work beyond its prompts, and a prompt; a run of 8,000 rows on lm-eval's dummy shows
what a row costs at the end. The quickest of three runs on two replicas is then predicted, and held
against what it took. Without `--measure` the constants of the last measurement are used.

A run is cut into units. Units are handed out longest first, each to the replica that is free
first, so that

    makespan = load + the latest end of a unit + conclude + rows * merge
    efficiency = seconds of all prompts / (replicas * makespan)

A small unit spreads well but pays the fixed cost of a unit more often. The table names the unit
size with the least makespan.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from benchmarks.measuring import KEPT, ROOT, measure, write_docs
from benchmarks.scale_picture import Point, draw

NAME = "scale_model"
MODEL = ROOT / "models" / "SmolLM2-135M-Instruct"
EFFICIENCY = 0.85  # of two replicas, without loading the model
SIZES = (16, 32, 64, 125, 250, 500, 1_000, 2_000, 4_000)
#: Replicas and prompts of the plans; 10 million is a suite of many tasks with repeats.
REPLICAS = (8, 64, 1_000)
PROMPTS = (100_000, 1_000_000, 10_000_000)
MOST_UNITS = 100_000  # of a plan; smaller ones would be files by the million
PICTURE = ROOT / "docs" / "scale.svg"
GREEDY = {"until": [], "do_sample": False, "temperature": 0.0, "max_gen_toks": 8}
QUESTION = "What is {} plus {}? Answer with a number."
#: Rows of a unit in the two runs on one replica, whose difference is the fixed cost of units.
SMALL, LARGE = 25, 100
ROWS_OF_END = 8_000  # of the run that shows what a row costs at the end
REPEATS = 3  # of the run on two replicas, of which the quickest counts
SPREAD = 0.5  # of the lengths of prompts and replies: standard deviation over mean


@dataclass(frozen=True)
class Constants:
    """What one replica takes, in seconds.

    Attributes:
        load: A replica, from its start to its loaded model.
        unit: A unit beyond its prompts: lm-eval's call and the files.
        prompt: A prompt with its reply, at the batch sizes of the run.
        conclude: The end of the command: files of the whole, scores and report, of few rows.
        merge: A row at the end.
    """

    load: float
    unit: float
    prompt: float
    conclude: float
    merge: float


@dataclass(frozen=True)
class Prediction:
    """What a run is predicted to take.

    Attributes:
        replicas: Replicas.
        prompts: Prompts.
        shard_rows: Prompts of a unit.
        makespan: Seconds from the start to the results file.
        efficiency: Share of the replicas' seconds that answers prompts.
    """

    replicas: int
    prompts: int
    shard_rows: int
    makespan: float
    efficiency: float


def latest_end(costs: Sequence[float], replicas: int) -> float:
    """When the last unit ends, where the longest goes first to the replica that is free first.

    >>> latest_end([3.0, 3.0, 2.0, 2.0, 2.0], 2)
    7.0
    """
    free = [0.0] * min(replicas, max(1, len(costs)))
    for cost in sorted(costs, reverse=True):
        heapq.heapreplace(free, free[0] + cost)
    return max(free)


def predict(constants: Constants, prompts: int, replicas: int, shard_rows: int) -> Prediction:
    """The makespan of a run whose units differ in the lengths of their prompts."""
    draw = random.Random(0)
    costs = []
    for first in range(0, prompts, shard_rows):
        rows = min(shard_rows, prompts - first)
        # The mean of `rows` lengths spreads less than one length does.
        factor = max(0.1, draw.gauss(1.0, SPREAD / rows**0.5))
        costs.append(constants.unit + rows * constants.prompt * factor)
    end = constants.conclude + prompts * constants.merge
    makespan = constants.load + latest_end(costs, replicas) + end
    work = prompts * constants.prompt
    return Prediction(replicas, prompts, shard_rows, makespan, work / (replicas * makespan))


def best_plan(constants: Constants, prompts: int, replicas: int) -> Prediction:
    """The prediction with the unit size of least makespan."""
    sizes = [size for size in SIZES if prompts / size <= MOST_UNITS]
    plans = (predict(constants, prompts, replicas, size) for size in sizes)
    return min(plans, key=lambda plan: plan.makespan)


def best_plans(constants: Constants, prompts: int) -> list[Prediction]:
    """The best plan of a number of prompts for each number of replicas."""
    return [best_plan(constants, prompts, replicas) for replicas in REPLICAS]


# --- the real runs


@dataclass(frozen=True)
class Measured:
    """A real run.

    Attributes:
        replicas: Replicas.
        wall: Seconds of the command.
        load: Seconds that the model took to load.
        window: Seconds from the start of the first unit to the end of the last.
        units: Seconds of each unit.
        merge: Seconds from the end of the last unit to the end of the command.
        verdicts: Of each row, in order.
    """

    replicas: int
    wall: float
    load: float
    window: float
    units: list[float]
    merge: float
    verdicts: list[float]


def prepare(folder: Path, prompts: int, *, question: str = QUESTION, **settings: Any) -> None:
    """A prepared folder with one task of generated questions.

    Args:
        folder: Where it is made.
        prompts: The number of questions.
        question: A question, with places for two numbers.
        settings: Of the config.
    """
    folder.mkdir(exist_ok=True)
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as rows:
        for number in range(prompts):
            text = question.format(number, number % 7)
            record = {"sample_id": f"s{number}", "question": text, "answer": "7"}
            rows.write(json.dumps(record) + "\n")
    config = {
        "model_name": str(MODEL),
        "backend": "hf",
        "device": "cpu",
        "dtype": "float32",
        "max_model_len": 512,
        "batch_size": 8,
        "output_path": "out",
        "tasks": [_task(folder / "rows.jsonl")],
        **settings,
    }
    (folder / "eval_config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    measure([sys.executable, "-m", "evalprep", "prepare"], cwd=folder)


def _task(rows: Path) -> dict[str, Any]:
    return {
        "task": "sums",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(rows)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "question",
        "doc_to_target": "answer",
        "generation_kwargs": GREEDY,
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        "num_fewshot": 0,
        "metadata": {"version": 1.0, "primary_metric": "exact_match", "primary_filter": "none"},
    }  # fmt: skip


def run(folder: Path, replicas: int, shard_rows: int) -> Measured:
    """Run the prepared folder on so many replicas of one core each."""
    words = ["run", "work_dir", "--engine", "ray", "--replicas", str(replicas), "--restart"]
    one_core = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "evalprep", *words, "--shard", str(shard_rows)]
    began = time.time()
    cost = measure(command, cwd=folder, env=one_core)
    state = json.loads(next(folder.glob("out/.evalprep/runs/*/state.json")).read_text())
    starts = [unit["started"] for unit in state["units"]]
    ends = [unit["started"] + unit["seconds"] for unit in state["units"]]
    samples = max(folder.glob("out/*/samples_sums_*.jsonl"))
    rows = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    return Measured(
        replicas=replicas,
        wall=cost.wall,
        load=state["loads"],
        window=max(ends) - min(starts),
        units=[unit["seconds"] for unit in state["units"]],
        merge=began + cost.wall - max(ends),
        verdicts=[row["exact_match"] for row in sorted(rows, key=lambda row: row["doc_id"])],
    )


def constants_of(small: Measured, large: Measured, prompts: int, long_end: float) -> Constants:
    """The constants that two runs on one replica show, one in small and one in large units.

    Args:
        small: The run in small units.
        large: The run in large units.
        prompts: Their prompts.
        long_end: The seconds that the end of a run of `ROWS_OF_END` rows takes.
    """
    merge = max(0.0, (long_end - large.merge) / (ROWS_OF_END - prompts))
    more = len(small.units) - len(large.units)
    unit = max(0.0, (sum(small.units) - sum(large.units)) / more)
    return Constants(
        load=large.wall - large.window - large.merge,  # Ray, lm-eval and the model
        unit=unit,
        prompt=(sum(large.units) - unit * len(large.units)) / prompts,
        conclude=large.merge - prompts * merge,
        merge=merge,
    )


def measure_runs(prompts: int) -> dict[str, Any]:
    """Run on one and on two replicas, and hold the second against its prediction."""
    with tempfile.TemporaryDirectory(prefix="scale-") as name:
        folder = Path(name)
        prepare(folder / "model", prompts)
        small, large = (run(folder / "model", 1, size) for size in (SMALL, LARGE))
        pairs = [run(folder / "model", 2, SMALL) for _ in range(REPEATS)]
        prepare(folder / "dummy", ROWS_OF_END, model_name="dummy", backend="dummy")
        long_end = run(folder / "dummy", 1, 2_000).merge
    both = min(pairs, key=lambda pair: pair.window)
    constants = constants_of(small, large, prompts, long_end)
    return {
        "name": NAME,
        "prompts": prompts,
        "constants": asdict(constants),
        "efficiency": small.window / (2 * both.window),
        "same_verdicts": small.verdicts == both.verdicts,
        "predicted": predict(constants, prompts, 2, SMALL).makespan,
        "measured": both.wall,
        "walls": {"one, small units": small.wall, "one": large.wall, "two": both.wall},
    }


# --- the page


def table(record: dict[str, Any], plans: Sequence[Prediction]) -> list[str]:
    """The lines for docs/reference/measured.md: the check, the plans and their picture."""
    picture = "![Predicted makespan over the number of replicas](../scale.svg)"
    return [check_line(record), "", *plan_lines(plans), "", picture]


def picture(constants: Constants, plans: Sequence[Prediction]) -> str:
    """Draws plans as makespan over replicas, beside what the prompts alone would take."""
    lines: dict[int, list[Point]] = {}
    for plan in plans:
        ideal = plan.prompts * constants.prompt / plan.replicas
        lines.setdefault(plan.prompts, []).append(Point(plan.replicas, plan.makespan, ideal))
    return draw(lines)


def check_line(record: dict[str, Any]) -> str:
    """What was measured, and how far the prediction of two replicas is from it."""
    constants = Constants(**record["constants"])
    apart = record["predicted"] / record["measured"] - 1
    same = "the same" if record["same_verdicts"] else "DIFFERENT"
    return (
        f"Measured with {record['prompts']} prompts, the demo model in float32, one core per "
        f"replica: load {constants.load:.1f} s, unit {constants.unit:.2f} s, prompt "
        f"{constants.prompt:.3f} s, end {constants.conclude:.1f} s and "
        f"{constants.merge * 1000:.1f} ms a row. Two replicas: "
        f"efficiency {record['efficiency']:.2f} without the start, {same} verdicts; predicted "
        f"{record['predicted']:.0f} s, measured {record['measured']:.0f} s ({apart:+.0%})."
    )


def plan_lines(plans: Sequence[Prediction]) -> list[str]:
    """The table of some plans."""
    lines = [
        "| prompts | replicas | best `--shard` | makespan | efficiency |",
        "|---:|---:|---:|---:|---:|",
    ]
    return [*lines, *map(_plan_line, plans)]


def _plan_line(plan: Prediction) -> str:
    hours = plan.makespan / 3600
    time_needed = f"{hours:.1f} h" if hours >= 1 else f"{plan.makespan / 60:.0f} min"
    cells = (
        f"{plan.prompts:,}",
        f"{plan.replicas:,}",
        f"{plan.shard_rows:,}",
        time_needed,
        f"{plan.efficiency:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Measure, or take the last measurement; print the plans."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", action="store_true", help="run on one and two replicas now")
    parser.add_argument("--prompts", type=int, default=400)
    parser.add_argument("--docs", type=Path, help="page whose table is replaced, with its picture")
    args = parser.parse_args()
    file = KEPT.parent / "measured" / f"{NAME}.json"
    if args.measure:
        record = measure_runs(args.prompts)
        file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    record = json.loads(file.read_text(encoding="utf-8"))
    constants = Constants(**record["constants"])
    plans = list(chain.from_iterable(best_plans(constants, prompts) for prompts in PROMPTS))
    lines = table(record, plans)
    for line in lines:
        print(line)
    if args.docs:
        write_docs(args.docs, NAME, lines)
        PICTURE.write_text(picture(constants, plans), encoding="utf-8")
    return int(record["efficiency"] < EFFICIENCY or not record["same_verdicts"])


if __name__ == "__main__":
    raise SystemExit(main())
