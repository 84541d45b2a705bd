"""What scoring 100,000 stored answers costs: the three commands against a bare loop.

    python -m benchmarks.fm_scoring [--rows 100000] [--short] [--docs docs/reference/measured.md]

Answers are generated: short ones as in question answering, a third of them right, a third near, a
third wrong, and some targets with several right answers. They go through `prepare`,
`run --replies=rows` and `score`, each a process of its own. The peer is a loop in one process that
calls the same scorer for each row and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.measuring import Cost, Measure, Report, finish, measure
from custom_metrics.fm.aggregate import aggregate
from custom_metrics.fm.factual_knowledge import factual_knowledge
from custom_metrics.fm.qa_accuracy import NAMES, qa_accuracy

TEXT = (
    "the river Danube flows through Vienna and Budapest into Black Sea in 1912 by a captain's "
    "ship near Lisbon"
)
WORDS = TEXT.split()
NAMES_OF_PLACES = ["Danube", "Vienna", "Budapest", "Lisbon", "Black Sea"]
Row = dict[str, str]


def made_rows(count: int, seed: int = 0) -> list[Row]:
    rng = random.Random(seed)
    rows = []
    for index in range(count):
        words = [rng.choice(NAMES_OF_PLACES), *rng.choices(WORDS, k=rng.randint(0, 5))]
        answer = " ".join(words)
        reply = (answer, f"It is {answer}, I think.", " ".join(rng.choices(WORDS, k=8)))[index % 3]
        target = answer if index % 4 else f"{answer}<OR>{rng.choice(NAMES_OF_PLACES)}"
        rows.append({"target_output": target, "model_output": reply, "category": f"c{index % 7}"})
    return rows


def score_rows(score: Callable[..., dict[str, float]], rows: list[Row]) -> None:
    """Score each row and take the means, as a loop of one's own would."""
    scored = []
    for row in rows:
        scores = score(target_output=row["target_output"], model_output=row["model_output"])
        scored.append({"category": row["category"], **scores})
    aggregate(rows=scored, score_names=[name for name in scored[0] if name != "category"])


CONFIG = """\
model_name: model_a
tasks: fm_all
data:
  - name: qa
    path: replies.jsonl
    fields: {model_input: question, target_output: answer, model_output: reply, category: topic}
    algorithms: [qa_accuracy]
    outputs: dataset
"""
COMMANDS = {
    "prepare": ["prepare", "--config", "eval_config.yaml"],
    "run": ["run", "--replies=rows", "work_dir"],
    "score": ["score", "eval_results"],
}


PEERS = {"qa_accuracy": qa_accuracy, "factual_knowledge": factual_knowledge}


def write_inputs(folder: Path, rows: list[Row]) -> None:
    """The config and the stored answers, as a user has them."""
    (folder / "eval_config.yaml").write_text(CONFIG)
    with (folder / "replies.jsonl").open("w") as file:
        for number, row in enumerate(rows):
            record = {
                "question": f"Where is place number {number}, and who went there?",
                "answer": row["target_output"],
                "reply": row["model_output"],
                "topic": row["category"],
            }
            file.write(json.dumps(record) + "\n")


def measure_commands(rows: list[Row]) -> dict[str, Cost]:
    """What each command takes over stored replies."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder, rows)
        return {
            command: measure([sys.executable, "-m", "evalprep", *words], cwd=folder)
            for command, words in COMMANDS.items()
        }


def measure_loop(algorithm: str, rows: int) -> Cost:
    """What a bare loop over the same scorer takes, in a process of its own."""
    words = ["-m", "benchmarks.fm_scoring", "--rows", str(rows), "--loop", algorithm]
    return measure([sys.executable, *words])


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--short", action="store_true", help="2,000 rows, nothing kept")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    parser.add_argument("--loop", choices=sorted(PEERS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    count = 2_000 if arguments.short else arguments.rows
    rows = made_rows(count)
    if arguments.loop:
        score_rows(PEERS[arguments.loop], rows)
        return 0
    loop = measure_loop("qa_accuracy", count)
    costs = measure_commands(rows)
    whole = Cost(
        cpu=sum(cost.cpu for cost in costs.values()),
        wall=sum(cost.wall for cost in costs.values()),
        peak_mb=max(cost.peak_mb for cost in costs.values()),
    )
    against = f"bare loop, {len(NAMES)} scores"
    measures = [Measure(f"`{name}`", cost, loop, against) for name, cost in costs.items()]
    # The goal is for the full number of rows.
    limits = {} if arguments.short else {"most_cpu": 15.0, "most_mb": 300.0}
    measures.append(Measure("all three", whole, loop, against, **limits))
    report = Report(
        "fm_scoring", "python -m benchmarks.fm_scoring", measures, {"rows": count}, ("msgspec",)
    )
    return finish(report, page=arguments.docs, keeps=not arguments.short)


if __name__ == "__main__":
    raise SystemExit(main())
