"""Random strings through every public scorer of texts, and mutants of files through every verb.

    python -m benchmarks.faults.fuzz [--share 0.1] [--seed 0 ...] [--mutants 5000] [--only KIND]

Scorers: no exception, an end within two seconds of CPU time. A scorer of texts is one whose
parameters without a default are texts, lists of texts or mappings of texts, with or without numbers
beside them.

Files: exit code 0, 1, 2 or 3 and no traceback, within 60 seconds of CPU time and 2 GB. With
`--mutants` only they are made, as many for each seed, spread over the kinds of files; each is read
by a verb that is drawn.
"""

from __future__ import annotations

import argparse
import inspect
import os
import random
import shlex
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.faults import Row, main, timed
from benchmarks.faults.mutating import mutant
from benchmarks.faults.project import evalprep, problem_of
from benchmarks.faults.targets import Folders, Target, surroundings, targets
from custom_metrics import METRICS

#: Mutants of files in a run of all attacks, for a seed.
MUTANTS = 300
ENDS = {0, 1, 2, 3}
CPU_SECONDS, BYTES = 60, 2_000_000_000
#: What stands in a message where the limit of memory was met.
NO_MEMORY = "there is not enough memory"
#: Calls, spread over the scorers; each gets one to six strings.
STRINGS = 20_000
#: Functions one of whose texts is an option, and which refuse an unknown one.
OF_A_CHOICE = frozenset(
    {
        "compliance.perturb",
        "compliance.rule_broken",
        "fm.jmespath_compile",
        "fm.mime_type",
        "fm.perturb",
        "fm.prompt",
        "fm.prompt_multi",
        "fm.perturb_stream",
        "science.json_counts",
        "science.json_parse",
        # They play a model with scripted answers, and need what the script names.
        "fm.classification_accuracy_semantic_robustness",
        "fm.general_semantic_robustness",
        "fm.qa_accuracy_semantic_robustness",
    }
)
SECONDS = 2.0
PIECES = (
    *(
        "\\boxed{",
        "}",
        "{",
        "$",
        "\\frac{1}{2}",
        "(A)",
        "The answer is ",
        "**",
        "<think>",
        "</think>",
    ),
    *(
        "0",
        "1/3",
        "1,234.5",
        "-",
        "^",
        "_",
        "\\",
        "\n",
        " ",
        "\t",
        "\0",
        "\ud800",
        "é",
        "答案",
        "١٢",
    ),
    *("[[", "]]", '{"a": ', '"', "```python\n", "```", "x" * 200, "9" * 400, "((((((((", "\\left("),
)


def _string(draw: random.Random) -> str:
    """Up to eleven pieces in a row."""
    return "".join(draw.choices(PIECES, k=draw.randrange(12)))


#: Annotation of a parameter that takes texts -> a value for it.
TEXTS: dict[str, Callable[[random.Random], object]] = {
    "str": _string,
    "str | None": _string,
    "Any": _string,
    "Sequence[str]": lambda draw: [_string(draw), _string(draw)],
    "Iterable[str]": lambda draw: [_string(draw), _string(draw)],
    "Mapping[str, str]": lambda draw: {"a": _string(draw), "b": _string(draw)},
}
#: The same for what may stand beside texts.
NUMBERS: dict[str, Callable[[random.Random], object]] = {
    "int": lambda draw: draw.randrange(1, 9),
    "float": lambda draw: draw.uniform(-9.0, 9.0),
    "float | None": lambda draw: draw.uniform(-9.0, 9.0),
}


def rows(share: float, seed: int) -> list[Row]:
    """One row over all scorers of texts, and one for each kind of file."""
    return [_scorers(share, seed), *mutants(max(1, round(share * MUTANTS)), seed)]


def _scorers(share: float, seed: int) -> Row:
    """One row over all scorers of texts."""
    draw = random.Random(seed)
    every = {name: makers(function) for name, function in METRICS.items()}
    scorers = {name: parameters for name, parameters in every.items() if parameters}
    names = sorted({*scorers} - OF_A_CHOICE)
    # The first call imports libraries and reads tables, which counts to no string.
    first = {name: _call(METRICS[name], _values(scorers[name], draw), 0.0) for name in names}
    lacking = [name for name in names if "MissingDataError" in str(first[name])]
    names = [name for name in names if name not in lacking]
    with timed("random strings through public scorers") as row:
        for number in range(max(len(names), round(share * STRINGS))):
            name = names[number % len(names)]
            values = _values(scorers[name], draw)
            row.add(f"{name} {values!a}"[:200], _call(METRICS[name], values))
        row.note = (
            f"{len(names)} scorers of texts; without their data: {', '.join(lacking) or 'none'}"
        )
    return row


def makers(function: Callable[..., Any]) -> dict[str, Callable[[random.Random], object]]:
    """Parameter without a default -> what makes a value for it; empty for no scorer of texts."""
    needed = {
        parameter.name: str(parameter.annotation)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    }
    known = TEXTS | NUMBERS
    if not all(annotation in known for annotation in needed.values()):
        return {}
    if not any("str" in annotation for annotation in needed.values()):
        return {}
    return {name: known[annotation] for name, annotation in needed.items()}


def _values(
    parameters: dict[str, Callable[[random.Random], object]], draw: random.Random
) -> dict[str, object]:
    return {name: make(draw) for name, make in parameters.items()}


class _TooSlowError(BaseException):
    """Raised in a scorer that runs past its time."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise _TooSlowError


def _call(
    function: Callable[..., Any], values: dict[str, object], seconds: float = SECONDS
) -> str | None:
    """What is wrong with a call; None where nothing is. With 0 seconds it may take any time."""
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        function(**values)
    except _TooSlowError:
        return f"no end within {SECONDS:g} CPU seconds"
    except Exception as error:  # noqa: BLE001 - any exception is the finding
        return ascii(f"{type(error).__name__}: {error}"[:200])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return None


def mutants(count: int, seed: int, only: str = "") -> Iterator[Row]:
    """Yields a row for each kind of file, over a number of mutants that is spread over them."""
    kinds = {kind: every for kind, every in targets().items() if only in kind}
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        folders = Folders(Path(place).resolve())
        for number, (kind, every) in enumerate(kinds.items()):
            # The first ones are one more where the number is none of equal parts.
            own = count // len(kinds) + (number < count % len(kinds))
            if own:
                yield _of_kind(kind, every, own, seed, folders)


def _of_kind(kind: str, every: list[Target], count: int, seed: int, folders: Folders) -> Row:
    slowest, largest, ends = 0.0, 0, Counter[int]()
    with timed(f"mutants of {kind}") as row:
        for number in range(count):
            draw = random.Random(f"{seed} {kind} {number}")
            target = draw.choice(every)
            home = folders.restore(target.folder)
            words, file = _change(home, target, draw)
            line = draw.choice(target.lines)
            limits = {"FAULT_CPU_SECONDS": str(CPU_SECONDS), "FAULT_BYTES": str(BYTES)}
            variables = surroundings(home) | limits
            outcome = evalprep(shlex.split(line), home, limit=4.0 * CPU_SECONDS, **variables)
            problem = problem_of(outcome, ENDS)
            if problem is None and (outcome.memory > BYTES or NO_MEMORY in outcome.text):
                problem = f"over {BYTES:,} bytes"
            slowest = max(slowest, outcome.cpu_seconds)
            largest = max(largest, outcome.memory)
            ends[outcome.code] += 1
            case = f"{seed} {number}: {target.folder}/{file}, {words}: evalprep {line}"
            row.add(case, problem)
            if problem and os.environ.get("FUZZ_SHOW"):
                print(f"fell: {case}\n{outcome.text[-3000:]}", file=sys.stderr, flush=True)
        counts = ", ".join(f"{code}: {number}" for code, number in sorted(ends.items()))
        row.note = (
            f"exit codes {counts}; slowest {slowest:.1f} CPU s, most {largest / 1e6:.0f} MB, of "
            "which half are libraries"
        )
    return row


def _change(home: Path, target: Target, draw: random.Random) -> tuple[str, str]:
    """Changes one file of a target; returns what was done to it, and its name."""
    files = sorted({path for pattern in target.files for path in home.rglob(pattern)})
    path = draw.choice([path for path in files if path.is_file()])
    words, data = mutant(path.name, path.read_bytes(), draw)
    path.unlink()  # others may be hard links or links to the file
    path.write_bytes(data)
    return words, path.relative_to(home).as_posix()


def many(arguments: argparse.Namespace) -> int:
    """Makes mutants of some seeds and prints what became of them."""
    fell = 0
    for seed in arguments.seed:
        started, total = time.monotonic(), 0
        for row in mutants(arguments.mutants, seed, arguments.only):
            total += row.cases
            fell += len(row.fallen)
            print(
                f"seed {seed}, {row.name}: {row.held} of {row.cases} held; {row.note}", flush=True
            )
            for problem in row.fallen:
                print(f"    {problem}", flush=True)
        print(f"seed {seed}: {total} mutants in {time.monotonic() - started:.0f} s", flush=True)
    print(f"{fell} fell")
    return int(fell > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, help="only mutants of files, as many for each seed")
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--only", default="", help="part of a kind's name")
    known, _ = parser.parse_known_args()
    raise SystemExit(many(known) if known.mutants else main(rows))
