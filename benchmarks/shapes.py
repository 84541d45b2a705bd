"""What commands take on the samples that users bring: stock rows of lm-eval, without an id column.

    python -m benchmarks.shapes [--short] [--part stock replies board pages tasks ...] [--docs PAGE]

Each command is measured as a user types it, in a process of its own, in turns with the script that
a user would write for the same figures with typed structs of msgspec; in each round one of each,
and of each the round with the least CPU time.

- `stock`: `compare` of two runs of narrow rows with short replies, once and once more.
- `choice`: `compare` of two runs of multiple choice.
- `replies`: `compare` of two runs of long replies.
- `score`: `score` of one run.
- `board`: `gate`, `samples --lost` of two runs and `leaderboard` of six.
- `pages`: `report` of two runs.
- `tasks`: `compare` of two runs of 100 short tasks.
- `million`: `compare` and `report` of two runs of a million rows, for their memory; only where
  `--part` names it.
- `own`: `prepare` of rows of one's own, of which a template or choices make the prompts, beside the
  same without the check.
- `prompts`: `prompts` of such rows, beside lm-eval's own building of the requests.
- `start`: `command.sh`, which starts lm-eval by our launcher, beside the printed line; two
  rows with the dummy model, so that both mostly start.

`--part` leaves the kept figures of the other parts as they are. The last three parts need the demo
model (`make setup`), whose tokenizer counts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measuring import ROOT, Cost, Measure, Report, finish, measure

STAMP = "2026-01-01T00-00-00.000001"
MODEL = ROOT / "models" / "SmolLM2-135M-Instruct"
ROUNDS = 3
_TURNED = 0.1  # of the verdicts of each model
#: An exit code of 1 or 3 is a conclusion about the synthetic scores.
ENDS = (0, 1, 3)

_TYPED = """
import msgspec, sys
from pathlib import Path
class Line(msgspec.Struct):
    doc_hash: str
    doc_id: int
    filter: str
    METRIC: float
decoder = msgspec.json.Decoder(Line)
def scores(folder):
    found = {}
    for path in sorted(Path(folder).glob("samples_*.jsonl")):
        task = path.name.rpartition("_")[0]
        with path.open("rb") as file:
            for raw in file:
                line = decoder.decode(raw)
                found[task, line.doc_hash] = line.METRIC
    return found
"""

#: Both scores, the counts of changed rows and McNemar's test of each later run against the first.
_COMPARE = """
from math import comb
first, *others = [scores(folder) for folder in sys.argv[1:]]
for other in others:
    both = first.keys() & other.keys()
    gained = sum(other[key] > first[key] for key in both)
    lost = sum(other[key] < first[key] for key in both)
    n, k = gained + lost, min(gained, lost)
    gap = [other[key] - first[key] for key in both]
    mean = sum(gap) / len(gap)
    error = (sum((value - mean) ** 2 for value in gap) / (len(gap) - 1) / len(gap)) ** 0.5
    print(sum(first.values()) / len(first), sum(other.values()) / len(other), gained, lost, error)
"""

_SCORE = """
found = scores(sys.argv[1])
mean = sum(found.values()) / len(found)
print(mean, (mean * (1 - mean) / len(found)) ** 0.5)
"""

#: A page with both scores and a table of the first 50,000 rows, as ours.
_PAGE = """
import html, json
first, second = sys.argv[1:3]
texts, tables = {}, [scores(first), scores(second)]
shown = list(tables[0])[:50_000]
wanted, rows = set(shown), {}
for folder in (first, second):
    for path in sorted(Path(folder).glob("samples_*.jsonl")):
        task = path.name.rpartition("_")[0]
        with path.open("rb") as file:
            for raw in file:
                if (task, decoder.decode(raw).doc_hash) in wanted:
                    row = json.loads(raw)
                    rows.setdefault((task, row["doc_hash"]), []).append(row)
cells = [
    "".join(f"<td>{html.escape(json.dumps(row[name]))}</td>" for row in rows[key]
            for name in ("arguments", "resps", "target"))
    for key in shown
]
table = "".join(f"<tr>{line}</tr>" for line in cells)
means = [sum(found.values()) / len(found) for found in tables]
Path(sys.argv[3]).write_text(f"<html><p>{means}</p><table>{table}</table></html>")
"""


@dataclass(frozen=True)
class Shape:
    """What a synthetic run looks like.

    Attributes:
        tasks: Its number of samples files.
        rows: Rows of each.
        words: Words of a reply; 0 for a task of multiple choice.
        share: Of the rows that are right.
        model: What made it.
    """

    tasks: int
    rows: int
    words: int = 0
    share: float = 0.6
    model: str = "org/model"

    @property
    def metric(self) -> str:
        """The metric of each row."""
        return "exact_match" if self.words else "acc"


def write_run(home: Path, shape: Shape) -> Path:
    """Writes a run in lm-eval's layout whose rows have no id column."""
    home.mkdir(parents=True)
    fixed = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(fixed.choices(letters, k=fixed.randint(2, 9))) for _ in range(8000)]
    names = [f"task{number}" for number in range(shape.tasks)]
    source = random.Random(shape.model)
    write = _reply_line if shape.words else _choice_line
    means = {}
    for name in names:
        right = 0.0
        with (home / f"samples_{name}_{STAMP}.jsonl").open("w", encoding="utf-8") as file:
            for at in range(shape.rows):
                line = write(at, shape, source, words)
                right += line[shape.metric]
                file.write(f"{json.dumps(line)}\n")
        means[name] = right / shape.rows
    output_type = "generate_until" if shape.words else "multiple_choice"
    metadata = {"primary_metric": shape.metric, "primary_filter": "none"}
    content = {
        "results": {name: {f"{shape.metric},none": mean} for name, mean in means.items()},
        "configs": {
            name: {"task": name, "output_type": output_type, "metadata": metadata} for name in names
        },
        "config": {"model": "vllm", "model_args": f"pretrained={shape.model}"},
        "model_name": shape.model,
    }
    (home / f"results_{STAMP}.json").write_text(json.dumps(content), encoding="utf-8")
    return home


def _common(at: int) -> dict[str, Any]:
    return {
        "doc_id": at,
        "filter": "none",
        "doc_hash": _digest(f"document {at}"),
        "prompt_hash": _digest(f"prompt {at}"),
        "target_hash": _digest(str(at % 4)),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _is_right(at: int, shape: Shape, source: random.Random) -> bool:
    """The verdict on a row: most rows are as hard for one model as for another."""
    return (at * 7 % 100 < 100 * shape.share) != (source.random() < _TURNED)


def _choice_line(
    at: int, shape: Shape, source: random.Random, words: Sequence[str]
) -> dict[str, Any]:
    question = f"Question {at}: {' '.join(words[at % 7000 : at % 7000 + 8])}?"
    choices = [words[(at + step) % 8000] for step in range(4)]
    is_right = _is_right(at, shape, source)
    likely = (at if is_right else at + 1) % 4
    logprobs = [
        (f"{-source.uniform(2, 4) - 3 * (place != likely):.6f}", "False") for place in range(4)
    ]
    prompt = f"{question}\nAnswer:"
    return {
        **_common(at),
        "doc": {"question": question, "choices": choices, "answer": at % 4},
        "target": str(at % 4),
        "arguments": {
            f"gen_args_{place}": {"arg_0": prompt, "arg_1": f" {choice}"}
            for place, choice in enumerate(choices)
        },
        "resps": [[list(pair)] for pair in logprobs],
        "filtered_resps": [list(pair) for pair in logprobs],
        "metrics": ["acc"],
        "acc": float(is_right),
    }


def _reply_line(
    at: int, shape: Shape, source: random.Random, words: Sequence[str]
) -> dict[str, Any]:
    question = f"Question {at}: {' '.join(words[at % 7000 : at % 7000 + 12])}?"
    prompt = f"{question}\nAnswer:"
    is_right = _is_right(at, shape, source)
    reply = f"{' '.join(source.choices(words, k=shape.words))}. The answer is {'ABCD'[at % 4]}."
    return {
        **_common(at),
        "doc": {"question": question, "answer": "A"},
        "target": "A",
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"max_gen_toks": 1024}}},
        "resps": [[reply]],
        "filtered_resps": ["A" if is_right else "B"],
        "metrics": ["exact_match"],
        "exact_match": float(is_right),
    }


@dataclass(frozen=True)
class Place:
    """A temporary folder with a cache of its own.

    Attributes:
        folder: Where runs are written.
        rounds: How often each command and each peer is measured.
    """

    folder: Path
    rounds: int = ROUNDS

    def runs(self, name: str, count: int, shape: Shape) -> list[Path]:
        """Writes runs of the same questions by different models."""
        made = []
        for at in range(count):
            own = Shape(shape.tasks, shape.rows, shape.words, 0.6 + at / 50, f"org/model{at}")
            made.append(write_run(self.folder / f"{name}{at}", own))
        return made

    def turns(
        self, words: Sequence[str | Path], peer: Sequence[str | Path]
    ) -> tuple[Cost, Cost, Cost]:
        """What a command takes with an empty cache, once more, and what its peer takes."""
        costs = [self._turn(words, peer) for _ in range(self.rounds)]
        first, second, other = (
            min(column, key=lambda cost: cost.cpu) for column in zip(*costs, strict=True)
        )
        return first, second, other

    def pair(
        self,
        folder: Path,
        words: Sequence[str],
        others: Sequence[str] = (),
        *,
        code: Sequence[str] = (),
    ) -> tuple[Cost, Cost]:
        """What a command takes in a folder, and another one there, or a script."""
        ours = [sys.executable, "-m", "evalprep"]
        theirs = [*ours, *others] if others else [sys.executable, "-c", *code]
        environment = {"HF_HUB_OFFLINE": "1"}
        turns = [
            [measure(command, cwd=folder, env=environment) for command in ([*ours, *words], theirs)]
            for _ in range(self.rounds)
        ]
        first, second = (
            min(costs, key=lambda cost: cost.cpu) for costs in zip(*turns, strict=True)
        )
        return first, second

    def _turn(self, words: Sequence[str | Path], peer: Sequence[str | Path]) -> list[Cost]:
        cache = self.folder / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        environment = {"EVALPREP_CACHE": os.fspath(cache)}
        ours = [sys.executable, "-m", "evalprep", *map(os.fspath, words)]
        theirs = [sys.executable, "-c", *map(os.fspath, peer)]
        looks = [measure(ours, env=environment, ends=ENDS, cwd=self.folder) for _ in range(2)]
        return [*looks, measure(theirs, cwd=self.folder)]


def _script(body: str, shape: Shape) -> str:
    return _TYPED.replace("METRIC", shape.metric) + body


def _about(runs: Sequence[Path], shape: Shape) -> str:
    files = [path for run in runs for path in run.glob("samples_*.jsonl")]
    size = sum(path.stat().st_size for path in files)
    tasks = f"{shape.tasks} tasks of " if shape.tasks > 1 else ""
    return f"{len(runs)} x {tasks}{shape.rows:,} rows, {size / 1e6:.0f} MB"


def _compared(place: Place, name: str, shape: Shape) -> tuple[str, Cost, Cost, Cost]:
    """What two runs are; `compare` of them, the second look at them, and the peer's."""
    runs = place.runs(name, 2, shape)
    words = ["compare", runs[1], "--baseline", runs[0]]
    return _about(runs, shape), *place.turns(words, [_script(_COMPARE, shape), *runs])


def stock(place: Place, scale: float) -> Iterator[Measure]:
    """Narrow rows of short replies."""
    shape = Shape(1, round(200_000 * scale), 3)
    about, first, second, peer = _compared(place, "stock", shape)
    yield Measure(f"compare {about}", first, peer, "typed read", 1.6)
    yield Measure(f"compare {about}, second look", second, peer, "typed read", 1.0)


def choice(place: Place, scale: float) -> Iterator[Measure]:
    """Rows of multiple choice, whose verdicts are held against their log-likelihoods."""
    shape = Shape(1, round(50_000 * scale))
    about, first, second, peer = _compared(place, "choice", shape)
    yield Measure(f"compare multiple choice {about}", first, peer, "typed read", 5.0)
    yield Measure(f"compare multiple choice {about}, second look", second, peer, "typed read", 5.0)


def replies(place: Place, scale: float) -> Iterator[Measure]:
    """Long replies."""
    shape = Shape(1, round(20_000 * scale), 1000)
    about, first, _, peer = _compared(place, "replies", shape)
    yield Measure(f"compare {about}", first, peer, "typed read", 1.4)


def score(place: Place, scale: float) -> Iterator[Measure]:
    """The scores of one run."""
    shape = Shape(1, round(100_000 * scale), 3)
    runs = place.runs("score", 1, shape)
    first, _, peer = place.turns(["score", *runs], [_script(_SCORE, shape), *runs])
    yield Measure(f"score {_about(runs, shape)}", first, peer, "typed read", 1.5)


def board(place: Place, scale: float) -> Iterator[Measure]:
    """Decisions and tables."""
    shape = Shape(1, round(20_000 * scale), 3)
    runs = place.runs("board", 6, shape)
    pair = _script(_COMPARE, shape)
    two = _about(runs[:2], shape)
    policy = place.folder / "gate.yaml"
    policy.write_text("tasks: {task0: {max_drop: 0.02}}\n", encoding="utf-8")
    lines = [
        (f"gate {two}", ["gate", runs[1], "--baseline", runs[0], "--policy", policy], runs[:2]),
        (f"samples --lost {two}", ["samples", runs[1], "--baseline", runs[0], "--lost"], runs[:2]),
        (f"leaderboard {_about(runs, shape)}", ["leaderboard", *runs], runs),
    ]
    for what, words, given in lines:
        first, _, peer = place.turns(words, [pair, *given])
        yield Measure(what, first, peer, "typed read", 2.0)


def pages(place: Place, scale: float) -> Iterator[Measure]:
    """A page about two runs."""
    shape = Shape(1, round(100_000 * scale), 3)
    runs = place.runs("pages", 2, shape)
    words = ["report", runs[1], "--baseline", runs[0], "--out", place.folder / "page"]
    first, _, peer = place.turns(words, [_script(_PAGE, shape), *runs, place.folder / "peer.html"])
    yield Measure(f"report {_about(runs, shape)}", first, peer, "typed read and HTML", 2.0)


def tasks(place: Place, scale: float) -> Iterator[Measure]:
    """Many short tasks."""
    shape = Shape(100, max(20, round(500 * scale)), 3)
    about, first, _, peer = _compared(place, "tasks", shape)
    yield Measure(f"compare {about}", first, peer, "typed read", 2.0)


def million(place: Place, scale: float) -> Iterator[Measure]:
    """Memory of very long tasks."""
    shape = Shape(1, round(1_000_000 * scale), 3)
    runs = place.runs("million", 2, shape)
    once = Place(place.folder, 1)
    lines = [
        ("compare", ["compare", runs[1], "--baseline", runs[0]], 300.0),
        (
            "report",
            ["report", runs[1], "--baseline", runs[0], "--out", place.folder / "page"],
            400.0,
        ),
    ]
    for verb, words, most in lines:
        first, _, peer = once.turns(words, [_script(_COMPARE, shape), *runs])
        yield Measure(f"{verb} {_about(runs, shape)}", first, peer, "typed read", most_mb=most)


_BUILD = """
import sys
from lm_eval.tasks import TaskManager
manager = TaskManager(include_path=sys.argv[1], include_defaults=False)
task = manager.load(["quiz_qa"])["tasks"]["quiz_qa"]
task.set_config(key="num_fewshot", value=0)
task.build_all_requests(limit=None, rank=0, world_size=1)
print(len(task.instances))
"""


def write_own(folder: Path, count: int) -> None:
    """Writes packs on rows of one's own: `quiz` with a template prompt, `choice` with choices."""
    source = random.Random(1)
    words = [f"w{number}" for number in range(5000)]
    folder.mkdir(parents=True)
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count):
            row = {
                "id": f"q{number}",
                "question": f"Question {number}: {' '.join(source.choices(words, k=20))}?",
                "answer": str(number),
                "choices": [f"{source.choice(words)} {place}" for place in range(4)],
                "gold": number % 4,
            }
            file.write(f"{json.dumps(row)}\n")
    shown = "Answer in one word.\n{question}\nAnswer:"
    common = ["--data", "rows.jsonl", "--prompt", shown, "--out", "packs"]
    _evalprep(folder, "new-pack", "quiz", *common, "--target", "answer", "--kind", "exact")
    choices = ["--target", "gold", "--kind", "choice", "--choices", "choices"]
    _evalprep(folder, "new-pack", "choice", *common, *choices)


def _evalprep(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "evalprep", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, check=False, cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout


def own_words(folder: Path, pack: str, **more: object) -> list[str]:
    """The words that prepare a pack; the config stands in a file of the pack's name."""
    config = {
        "model_name": str(MODEL),
        "tasks": f"{pack}_all",
        "template_dir": "packs",
        "max_model_len": 2048,
        **more,
    }
    path = folder / f"{pack}.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")
    return ["prepare", "--config_path", path.name, "--force"]


def own(place: Place, scale: float) -> Iterator[Measure]:
    """Preparation of rows of one's own."""
    for count, goal, most in ((20_000, 1.2, 250.0), (120_000, 1.5, 250.0)):
        rows = round(count * scale)
        folder = place.folder / f"own{count}"
        write_own(folder, rows)
        for pack in ("quiz", "choice"):
            words = own_words(folder, pack)
            checked, plain = place.pair(folder, words, [*words, "--check=off"])
            what = f"prepare {rows:,} own rows ({pack})"
            yield Measure(what, checked, plain, "without the check", goal, most_mb=most)


def prompts(place: Place, scale: float) -> Iterator[Measure]:
    """Requests for other engines."""
    rows = round(20_000 * scale)
    folder = place.folder / "prompts"
    write_own(folder, rows)
    _evalprep(folder, *own_words(folder, "quiz"), "--check=off")
    ours, peer = place.pair(
        folder, ["prompts", "work_dir", "--out", "requests.parquet"], code=[_BUILD, "work_dir"]
    )
    yield Measure(f"prompts of {rows:,} own rows", ours, peer, "lm-eval's own building", 2.0)


def start(place: Place, scale: float) -> Iterator[Measure]:
    """Starts of lm-eval."""
    folder = place.folder / "start"
    write_own(folder, max(50, round(200 * scale)))
    words = own_words(folder, "quiz", backend="dummy", limit=2)
    printed = _evalprep(folder, *words, "--check=off").strip().splitlines()[-1]
    environment = {"HF_HUB_OFFLINE": "1"}
    turns = [
        [
            measure(["sh", *given], cwd=folder, env=environment)
            for given in (["work_dir/command.sh"], ["-c", printed])
        ]
        for _ in range(min(place.rounds, 2))
    ]
    ours, peer = (min(costs, key=lambda cost: cost.cpu) for costs in zip(*turns, strict=True))
    yield Measure("command.sh, 2 rows, dummy model", ours, peer, "printed lm_eval line", 0.5)


PARTS: dict[str, Callable[[Place, float], Iterator[Measure]]] = {
    "stock": stock,
    "choice": choice,
    "replies": replies,
    "score": score,
    "board": board,
    "pages": pages,
    "tasks": tasks,
    "million": million,
    "own": own,
    "prompts": prompts,
    "start": start,
}
#: Parts that need the demo model.
_WITH_MODEL = {"own", "prompts", "start"}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="a fiftieth of the rows")
    usual = [part for part in PARTS if part != "million"]
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=usual)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    args = parser.parse_args()
    scale, rounds = (0.02, 1) if args.short else (1.0, args.rounds)
    measures: list[Measure] = []
    for part in args.part:
        if part in _WITH_MODEL and not MODEL.is_dir():
            print(f"{part}: left out, as {MODEL} is not there; `make setup` fetches it")
            continue
        with tempfile.TemporaryDirectory() as folder:
            measures += PARTS[part](Place(Path(folder), rounds), scale)
    report = Report(
        "shapes",
        "python -m benchmarks.shapes",
        measures,
        {"share of the rows": scale, "rounds": rounds},
        ("msgspec", "numpy", "lm_eval"),
    )
    is_part = set(args.part) < set(usual) or "million" in args.part
    return finish(report, page=args.docs, keeps=not args.short, is_part=is_part)


if __name__ == "__main__":
    raise SystemExit(main())
