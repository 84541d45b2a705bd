"""Where the time goes of those commands of `benchmarks.shapes` that miss a goal.

    python -m benchmarks.profiles [--short] [--docs docs/reference/measured.md]

Each command runs once under cProfile. The time of a function of Python or of a library counts for
the module of ours that calls it, directly or through others; what imports of modules take is one
line. cProfile slows Python code more than compiled code, so that the shares are rough.
"""

from __future__ import annotations

import argparse
import os
import pstats
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring import ROOT, write_docs
from benchmarks.shapes import ENDS, MODEL, Place, Shape, own_words, write_own

_PROFILED = """
import cProfile, sys
from evalprep.cli import main
profile = cProfile.Profile()
try:
    profile.runcall(main, sys.argv[2:])
finally:
    profile.dump_stats(sys.argv[1])
"""
_IMPORTS = "imports"
_SHOWN = 5  # modules of a command
_ROUNDS = 60  # calls from ours down to the function whose time is handed up
Function = tuple[str, int, str]


def module_of(function: Function) -> str:
    """The module of ours that a function is in, `imports`, or empty for others."""
    file, _, name = function
    if name == "<module>" or file.startswith("<frozen importlib"):
        return _IMPORTS
    path = Path(file)
    for package in ("evalprep", "custom_metrics", "task_templates"):
        if path.is_relative_to(ROOT / package):
            return path.relative_to(ROOT).with_suffix("").as_posix().removeprefix("evalprep/")
    return ""


def shares(stats: Mapping[Function, Any]) -> Counter[str]:
    """Share of the time of each module, and of the imports."""
    waiting = {function: entry[2] for function, entry in stats.items()}
    found: Counter[str] = Counter()
    for _ in range(_ROUNDS):
        handed: Counter[Function] = Counter()
        for function, seconds in waiting.items():
            module = module_of(function)
            callers = stats[function][4]
            whole = sum(call[3] for call in callers.values())
            if module or not whole:
                found[module or "other"] += seconds
                continue
            for caller, call in callers.items():
                handed[caller] += seconds * call[3] / whole
        waiting = dict(handed)
    whole = sum(found.values())
    return Counter({name: seconds / whole for name, seconds in found.items()})


def profile(folder: Path, words: Sequence[str | Path]) -> Counter[str]:
    """The shares of a command in a folder, with an empty cache."""
    file = folder / "profile"
    command = [sys.executable, "-c", _PROFILED, file, *words]
    cache = tempfile.mkdtemp(dir=folder)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "EVALPREP_CACHE": cache,
    }
    done = subprocess.run(
        list(map(os.fspath, command)), cwd=folder, env=environment, capture_output=True, check=False
    )
    if done.returncode not in ENDS:
        raise RuntimeError(done.stderr.decode(errors="replace")[-2000:])
    return shares(pstats.Stats(str(file)).stats)  # type: ignore[attr-defined]


def commands(place: Place, scale: float) -> Iterator[tuple[str, Path, Sequence[str | Path]]]:
    """The name of each command, the folder that it runs in, and its words."""
    folder = place.folder
    shapes = {
        "replies": Shape(1, round(20_000 * scale), 1000),
        "choice": Shape(1, round(50_000 * scale)),
        "tasks": Shape(100, max(20, round(500 * scale)), 3),
        "board": Shape(1, round(20_000 * scale), 3),
    }
    runs = {name: place.runs(name, 2, shape) for name, shape in shapes.items()}
    named = {"replies": "long replies", "choice": "multiple choice", "tasks": "100 tasks"}
    for name, text in named.items():
        first, second = runs[name]
        yield f"`compare`, {text}", folder, ["compare", second, "--baseline", first]
    (alone,) = place.runs("score", 1, Shape(1, round(100_000 * scale), 3))
    yield "`score`", folder, ["score", alone]
    first, second = runs["board"]
    policy = folder / "gate.yaml"
    policy.write_text("tasks: {task0: {max_drop: 0.02}}\n", encoding="utf-8")
    yield "`gate`", folder, ["gate", second, "--baseline", first, "--policy", policy]
    yield "`samples --lost`", folder, ["samples", second, "--baseline", first, "--lost"]
    if MODEL.is_dir():
        own = folder / "own"
        write_own(own, round(20_000 * scale))
        yield "`prepare`, own rows", own, own_words(own, "quiz")


def main() -> int:
    """Profiles each command and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="a fiftieth of the rows")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    args = parser.parse_args()
    lines = ["| command | % of the time |", "|---|---|"]
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        for what, folder, words in commands(place, 0.02 if args.short else 1.0):
            largest = profile(folder, words).most_common(_SHOWN)
            cells = ", ".join(f"{module} {100 * share:.0f}" for module, share in largest)
            lines.append(f"| {what} | {cells} |")
            print(lines[-1], flush=True)
    if args.docs is not None:
        write_docs(args.docs, "profiles", lines)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
