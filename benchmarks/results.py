"""What the commands after a run take on large samples files.

    python -m benchmarks.results [--short] [--part large|board|rows ...] [--docs PAGE]

Writes synthetic runs in lm-eval's layout into a temporary folder (1 GB at a time), and measures the
commands as a user types them, each in a process of its own, three times:

- `large`: `compare`, `score` and `report` of one run of five files of 200 MB, against one pass of
  msgspec over the same files into typed structs; and the second look, with kept columns, against
  the first.
- `board`: `leaderboard` and `report` of six runs of 20,000 rows, against the same kind of pass.
- `rows`: `compare` of a million rows, against `json.loads` per line and a data frame that gives the
  same counts, clustered error, McNemar test and subtask table.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import Cost, Measure, Report, finish, measure

STAMP = "2026-01-01T00-00-00.000001"
SUBTASKS = 5
QUESTIONS_PER_DOCUMENT = 4
#: Each command and each peer; the least CPU time counts.
REPEATS = 3
#: An exit code of 1 or 3 is a conclusion about the synthetic scores.
ENDS = (0, 1, 3)

TYPED = """
import msgspec, sys
from pathlib import Path
class Doc(msgspec.Struct):
    sample_id: str
    prompt: str
    subtask_name: str
    previously_is_correct: bool
class Request(msgspec.Struct):
    arg_0: str
class Requests(msgspec.Struct):
    gen_args_0: Request
class Line(msgspec.Struct):
    doc: Doc
    doc_id: int
    target: str
    arguments: Requests
    resps: list[list[str]]
    filtered_resps: list[str]
    filter: str
    exact_match: float
decoder, total = msgspec.json.Decoder(Line), 0.0
for path in Path(sys.argv[1]).rglob("samples_*.jsonl"):
    with path.open("rb") as file:
        for raw in file:
            total += decoder.decode(raw).exact_match
"""

PANDAS = """
import json, sys
from pathlib import Path
import pandas as pd
from scipy.stats import binomtest
rows = []
for path in Path(sys.argv[1]).rglob("samples_*.jsonl"):
    with path.open(encoding="utf-8") as file:
        for line in file:
            sample = json.loads(line)
            doc = sample["doc"]
            rows.append((doc["sample_id"], doc["subtask_name"], doc["cluster_id"],
                         float(doc["previously_is_correct"]), sample["exact_match"],
                         sample["filtered_resps"][0]))
frame = pd.DataFrame(rows, columns=["id", "subtask", "cluster", "before", "now", "answer"])
gained, lost = int((frame.now > frame.before).sum()), int((frame.now < frame.before).sum())
gap = frame.now - frame.before
sums = (gap - gap.mean()).groupby(frame.cluster).sum()
error = float(((sums**2).sum() * len(sums) / (len(sums) - 1)) ** 0.5 / len(frame))
print(len(frame), gained, lost, error, binomtest(gained, gained + lost).pvalue)
print(frame.groupby("subtask").now.mean())
"""


@dataclass(frozen=True)
class Shape:
    """What a synthetic run looks like.

    Attributes:
        tasks: Its number of samples files.
        rows: Rows of each.
        words: Words of a prompt, and about as many of a reply.
        share: Of the rows that are right.
        model: What made it.
    """

    tasks: int
    rows: int
    words: int
    share: float = 0.6
    model: str = "org/model"


def write_run(home: Path, shape: Shape) -> Path:
    """Writes a run whose texts are made of 8,000 words, so that they compress as prose does."""
    home.mkdir(parents=True)
    letters = "etaoinshrdlucmfwypvbgk"
    fixed = random.Random(1)
    words = ["".join(fixed.choices(letters, k=fixed.randint(2, 9))) for _ in range(8000)]
    names = [f"task{number}" for number in range(shape.tasks)]
    source = random.Random(shape.model)
    for name in names:
        with (home / f"samples_{name}_{STAMP}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(_lines(name, shape, source, words))
    metadata = {"primary_metric": "exact_match", "primary_filter": "none"}
    content = {
        "results": {name: {"exact_match,none": shape.share} for name in names},
        "configs": {
            name: {"task": name, "output_type": "generate_until", "metadata": metadata}
            for name in names
        },
        "config": {"model": "vllm", "model_args": f"pretrained={shape.model}"},
        "model_name": shape.model,
    }
    (home / f"results_{STAMP}.json").write_text(json.dumps(content), encoding="utf-8")
    return home


def _lines(name: str, shape: Shape, source: random.Random, words: Sequence[str]) -> Iterator[str]:
    for at in range(shape.rows):
        # Fixed patterns without common period: one verdict in eleven turned.
        before = at * 7 % 100 < 100 * shape.share
        now = before != (at % 11 == 0)
        # The prompt depends on the row alone, so that all runs of a board ask the same.
        start = at * 13 % (len(words) - shape.words)
        prompt = f"Question {at}: {' '.join(words[start : start + shape.words])}\nAnswer:"
        reply = f"{' '.join(source.choices(words, k=shape.words))}. The answer is {'ABCD'[at % 4]}."
        line = {
            "doc_id": at,
            "doc": {
                "sample_id": f"{name}-{at}",
                "prompt": prompt,
                "target": "A",
                "subtask_name": f"subtask {at % SUBTASKS}",
                "cluster_id": f"document {at // QUESTIONS_PER_DOCUMENT}",
                "previously_is_correct": before,
            },
            "target": "A",
            "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"max_gen_toks": 1024}}},
            "resps": [[reply]],
            "filtered_resps": ["A" if now else "B"],
            "filter": "none",
            "metrics": ["exact_match"],
            "doc_hash": f"{at:064x}",
            "prompt_hash": f"{at:064x}",
            "target_hash": "2" * 64,
            "exact_match": float(now),
        }
        yield json.dumps(line) + "\n"


@dataclass(frozen=True)
class Place:
    """A temporary folder with a cache of its own.

    Attributes:
        folder: Where the runs are written.
        repeats: How often each command and each peer is measured.
    """

    folder: Path
    repeats: int = REPEATS

    def python(self, code: str, *arguments: str | Path) -> Cost:
        """What a script takes."""
        command = [sys.executable, "-c", code, *map(os.fspath, arguments)]
        return measure(command, repeats=self.repeats)

    def looks(self, verb: str, *arguments: str | Path) -> tuple[Cost, Cost]:
        """What a command takes with an empty cache, and once more."""
        command = [sys.executable, "-m", "evalprep", verb, *map(os.fspath, arguments)]
        rounds = [self._two_looks(command) for _ in range(self.repeats)]
        first, second = (
            min(costs, key=lambda cost: cost.cpu) for costs in zip(*rounds, strict=True)
        )
        return first, second

    def _two_looks(self, command: Sequence[str]) -> tuple[Cost, Cost]:
        cache = self.folder / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        environment = {"EVALPREP_CACHE": os.fspath(cache)}
        first, second = (measure(command, env=environment, ends=ENDS) for _ in range(2))
        return first, second


def _both_looks(what: str, looks: tuple[Cost, Cost], peer: Cost, goal: float) -> list[Measure]:
    first, second = looks
    return [
        Measure(what, first, peer, "typed read", goal),
        Measure(f"{what}, second look", second, first, "first look", 0.33),
    ]


def _size(folder: Path) -> str:
    """The bytes of all samples below a folder, in words."""
    size = sum(path.stat().st_size for path in folder.rglob("samples_*.jsonl"))
    return f"{size / 1e9:.2f} GB"


def large(place: Place, scale: float) -> list[Measure]:
    """One run of five files."""
    run = write_run(place.folder / "large", Shape(5, round(50_000 * scale), 180))
    about = f"{_size(run)} in 5 files"
    peer = place.python(TYPED, run)
    page = place.folder / "page"
    report = place.looks("report", run, "--out", page)[0]
    return [
        *_both_looks(f"compare, {about}", place.looks("compare", run), peer, 2.0),
        *_both_looks(f"score, {about}", place.looks("score", run), peer, 2.0),
        Measure(f"report, {about}", report, peer, "typed read", 6.0),
    ]


def board(place: Place, scale: float) -> list[Measure]:
    """Six runs of the same questions."""
    folder = place.folder / "board"
    count = round(20_000 * scale)
    about = f"6 runs of {count:,} rows"
    shapes = [Shape(1, count, 180, 0.5 + at / 50, f"org/model{at}") for at in range(6)]
    runs = [write_run(folder / f"run{at}", shape) for at, shape in enumerate(shapes)]
    peer = place.python(TYPED, folder)
    page = place.folder / "page"
    shown = place.looks("leaderboard", *runs)[0]
    report = place.looks("report", *runs, "--out", page)[0]
    return [
        Measure(f"leaderboard, {about}", shown, peer, "typed read", 2.0),
        Measure(f"report, {about}", report, peer, "typed read", 5.0),
    ]


def rows(place: Place, scale: float) -> list[Measure]:
    """One file of many short rows."""
    count = round(1_000_000 * scale)
    run = write_run(place.folder / "rows", Shape(1, count, 30))
    peer = place.python(PANDAS, run)
    first = place.looks("compare", run)[0]
    return [Measure(f"compare, {count:,} rows", first, peer, "json and pandas", 0.6, most_mb=250.0)]


PARTS: dict[str, Callable[[Place, float], list[Measure]]] = {
    "large": large,
    "board": board,
    "rows": rows,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="a fiftieth of the rows")
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    args = parser.parse_args()
    scale, repeats = (0.02, 1) if args.short else (1.0, REPEATS)
    measures: list[Measure] = []
    for part in args.part:
        with tempfile.TemporaryDirectory() as folder:
            measures += PARTS[part](Place(Path(folder), repeats), scale)
    report = Report(
        "results",
        "python -m benchmarks.results",
        measures,
        {"share of the rows": scale},
        ("msgspec", "numpy", "pandas"),
    )
    whole = not args.short and len(args.part) == len(PARTS)
    return finish(report, page=args.docs, keeps=whole)


if __name__ == "__main__":
    raise SystemExit(main())
