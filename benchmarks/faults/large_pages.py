"""Pages over many models, and over very many tasks: their CPU time and memory.

    python -m benchmarks.faults.large_pages [--share 0.1]

With a share there are fewer models and tasks. Twice as many may take little more than twice as
long: where the time grows with the square, a limit is passed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.faults import Row, main, timed
from benchmarks.faults.project import evalprep, problem_of
from tests.evalprep.results.writing import Row as Sample
from tests.evalprep.results.writing import write_run

MODELS, TASKS, ROWS = 200, 1_000, 20
#: CPU seconds and bytes that a verb may take.
CPU_SECONDS, BYTES = 120.0, 2_000_000_000
#: Verb -> its words, by what there are many of.
OF_MODELS = {
    "leaderboard": ["leaderboard", "models", "--out", "board", "--format", "html"],
    "report": ["report", "models", "--out", "page", "--format", "html"],
}
OF_TASKS = {
    "score": ["score", "now", "--no_write", "--json"],
    "compare": ["compare", "now", "before", "--no_write", "--json"],
    "leaderboard": ["leaderboard", "now", "before", "--out", "board", "--format", "html"],
    "report": ["report", "now", "before", "--out", "page", "--format", "html"],
}


def rows(share: float, seed: int) -> list[Row]:
    """One row for each verb, over many models and over many tasks."""
    models, tasks = max(3, round(share * MODELS)), max(3, round(share * TASKS))
    with tempfile.TemporaryDirectory(prefix="pages-") as place:
        home = Path(place)
        (home / "home").mkdir()
        for number in range(models):
            _write(home / "models", number + seed, 3, f"org__model-{number}")
        for number, name in enumerate(("now", "before")):
            _write(home / name, number + seed, tasks, f"org__model-{number}")
        many_models = [_measured(home, words, f"{models} models") for words in OF_MODELS.values()]
        many_tasks = [_measured(home, words, f"{tasks} tasks") for words in OF_TASKS.values()]
    return many_models + many_tasks


def _write(folder: Path, number: int, tasks: int, model: str) -> None:
    every = {
        f"task_{task:04d}": [
            Sample(f"{at}", correct=float((7 * at + 3 * task + number) % 10 < 6))
            for at in range(ROWS)
        ]
        for task in range(tasks)
    }
    write_run(folder, every, model=model)


def _measured(home: Path, words: list[str], size: str) -> Row:
    with timed(f"{words[0]} of {size}") as row:
        outcome = evalprep(words, home, limit=10 * CPU_SECONDS)
        problem = problem_of(outcome, {0, 3})
        if problem is None and outcome.cpu_seconds > CPU_SECONDS:
            problem = f"{outcome.cpu_seconds:.0f} CPU seconds"
        if problem is None and outcome.memory > BYTES:
            problem = f"{outcome.memory:,} bytes"
        row.add(" ".join(words), problem)
        row.note = f"{outcome.cpu_seconds:.1f} CPU s, {outcome.memory / 1e6:.0f} MB"
    return row


if __name__ == "__main__":
    raise SystemExit(main(rows))
