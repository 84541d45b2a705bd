"""Accuracy, false accepts and CPU time of boxed-answer graders, side by side.

    python benchmarks/grading.py [--labelled FILE.jsonl] [--json FILE] [--load]

Two sets: `ordinary`, 1,000 generated replies with short answers of which 70 % equal the gold answer
literally; and `hard`, the labelled pairs of the test suite. With `--labelled` the rows `{gold,
response, expected}` of FILE are graded instead, for each `source` in them and together; rows with
`firm` false, on which people would differ, are left out. Every grader runs in a fresh process; CPU
time is user plus system of that process and its children, without imports, but with the start of
our worker. `slowest` is the CPU time of one reply, caller and running worker together. `unparsed`
are the replies in which a grader finds no answer. `--load` grades 1,000 answers with the machine
idle and with every core busy, and compares the verdicts.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import io
import json
import logging
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

Case = dict[str, object]
Grader = Callable[[str, str], tuple[bool, bool | None]]
"""Gold answer and reply -> right or not, and whether no answer was found (None where that is
not known)."""
COUNTS = ("right", "false_accepts", "false_rejects", "unparsed", "raised")
HEAD = (
    *("right", "false acc.", "false rej.", "unparsed", "raised"),
    *("CPU s/1000", "x ours", "slowest"),
)
GRADERS = ("ours", "math-verify", "lm-eval minerva", "lm-eval leaderboard")
TEMPLATE = (
    "We work through the problem step by step.\n\nTherefore, the final answer is: ${}$. I hope "
    "it is correct."
)


def ordinary(count: int = 1_000, seed: int = 0) -> list[Case]:
    """Short answers as in competition problems; 70 % literal, 15 % rewritten, 15 % wrong."""
    rng = random.Random(seed)
    found: list[Case] = []
    for index in range(count):
        a, b, c = rng.randint(2, 99), rng.randint(2, 30), rng.choice([2, 3, 5, 7])
        gold, rewritten, wrong = rng.choice(
            [
                (str(a), f"{a}.0", str(a + 1)),
                (
                    rf"\frac{{{a}}}{{{b}}}",
                    rf"\dfrac{{{2 * a}}}{{{2 * b}}}",
                    rf"\frac{{{a + 1}}}{{{b}}}",
                ),
                (rf"{a}\sqrt{{{c}}}", rf"\sqrt{{{a * a * c}}}", rf"{a + 1}\sqrt{{{c}}}"),
                (rf"({a},{b})", rf"\left({a}, {b}\right)", rf"({b},{a + 1})"),
                (rf"{a}\pi", rf"\pi \cdot {a}", rf"{b + 100}\pi"),
                (rf"x^2+{a}x", rf"x(x+{a})", rf"x^2-{a}x"),
                (str(a * 1000), f"{a},000", str(a * 100)),
                (rf"{a}^\circ", rf"{a}^{{\circ}}", rf"{a + 1}^\circ"),
            ]
        )
        share = index % 20
        answer = gold if share < 14 else rewritten if share < 17 else wrong
        found.append(
            {
                "gold": gold,
                "response": TEMPLATE.format(rf"\boxed{{{answer}}}"),
                "expected": share < 17,
            }
        )
    return found


def hard() -> list[Case]:
    """The tables of the tests, each answer in a box.

    Without those that a box changes, such as `5}`.
    """
    from custom_metrics.math import extract_boxed
    from tests.custom_metrics.math.cases import CASES
    from tests.custom_metrics.math.causes import CAUSES

    pairs = [pair for cases in (CASES | CAUSES).values() for pair in cases]
    found: list[Case] = []
    for gold, answer, expected in pairs:
        response = TEMPLATE.format(rf"\boxed{{{answer}}}")
        if extract_boxed(response) == answer.strip():
            found.append({"gold": gold, "response": response, "expected": expected})
    return found


def labelled(path: Path) -> list[Case]:
    """The rows of a file on which people would agree."""
    rows: list[Case] = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [row for row in rows if row.get("firm", True)]


def ours() -> tuple[Grader, Callable[[], float], Callable[[], None]]:
    """Our grader, the CPU time of its worker without its start, and what closes it."""
    from custom_metrics.math import grade
    from custom_metrics.math.grade import _WORKER

    spent = [0.0]
    ask = _WORKER.ask

    def worker_cpu() -> float:
        running = 0.0
        if _WORKER.pid is not None:
            with contextlib.suppress(psutil.Error):  # it has ended meanwhile
                running = sum(psutil.Process(_WORKER.pid).cpu_times()[:2])
        return running + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])

    def timed(request: dict[str, object], **limits: float | None) -> dict[str, object]:
        if _WORKER.pid is None:
            ask({"kind": "equal", "gold": "e", "answer": "e+1", "thousands": True})
        before = worker_cpu()
        try:
            return ask(request, **limits)
        finally:
            spent[0] += worker_cpu() - before

    def judge(gold: str, response: str) -> tuple[bool, bool | None]:
        verdict = grade(gold, response)
        return verdict.correct, not verdict.extracted

    _WORKER.ask = timed  # type: ignore[method-assign]
    return judge, lambda: spent[0], _WORKER.close


def grader(name: str) -> tuple[Grader, Callable[[], float], Callable[[], None]]:
    """Import one grader; returns it, the CPU time of its worker so far, and what closes it."""
    if name == "ours":
        return ours()
    if name == "math-verify":
        from math_verify import parse, verify

        def judge(gold: str, response: str) -> tuple[bool, bool | None]:
            found = parse(response)
            return bool(verify(parse(f"${gold}$"), found)), not found

        return judge, float, lambda: None
    from custom_metrics.math import original_scorers

    original_scorers.load()
    scorer = name.split()[1]

    def score(gold: str, response: str) -> tuple[bool, bool | None]:
        return bool(original_scorers.score(scorer, gold, response)["equal"]), None

    return score, float, lambda: None


def measure(name: str, cases: list[Case]) -> dict[str, object]:
    """Grade all cases in this process and measure."""
    import custom_metrics.math  # noqa: F401 - imports do not count

    before = _cpu()
    judge, worker_cpu, close = grader(name)
    if name != "ours":
        before = _cpu()  # theirs are imported here; our worker's start counts
    logging.disable(logging.CRITICAL)
    verdicts: list[bool] = []
    unparsed: list[bool | None] = []
    slowest, raised = 0.0, 0
    for case in cases:
        started = time.process_time() + worker_cpu()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                verdict, missing = judge(str(case["gold"]), str(case["response"]))
        except Exception:  # noqa: BLE001
            # The graders of others may raise; that is part of the result.
            raised += 1
            verdict, missing = False, None
        verdicts.append(verdict)
        unparsed.append(missing)
        slowest = max(slowest, time.process_time() + worker_cpu() - started)
    close()
    spent = _cpu() - before
    return {
        "grader": name,
        **counts(cases, verdicts, unparsed),
        "raised": raised,
        "cpu_s_per_1000": round(spent / len(cases) * 1000, 3),
        "slowest_cpu_s": round(slowest, 2),
        "sources": {
            source: counts(
                *zip(
                    *(
                        (c, v, u)
                        for c, v, u in zip(cases, verdicts, unparsed, strict=True)
                        if c.get("source") == source
                    ),
                    strict=True,
                )
            )
            for source in dict.fromkeys(str(case["source"]) for case in cases if "source" in case)
        },
        "verdicts": verdicts,
    }


def counts(
    cases: Sequence[Case], verdicts: Sequence[bool], unparsed: Sequence[bool | None]
) -> dict[str, object]:
    """Right and wrong verdicts, and replies without an answer where the grader says so."""
    pairs = list(zip(verdicts, (bool(case["expected"]) for case in cases), strict=True))
    return {
        "cases": len(cases),
        "right": sum(verdict == expected for verdict, expected in pairs),
        "false_accepts": sum(verdict and not expected for verdict, expected in pairs),
        "false_rejects": sum(expected and not verdict for verdict, expected in pairs),
        "unparsed": None if None in unparsed else sum(map(bool, unparsed)),
    }


def _cpu() -> float:
    return sum(
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )


def in_fresh_process(name: str, which: str, path: Path | None) -> dict[str, object]:
    """Run `measure` in a process of its own."""
    arguments = [sys.executable, __file__, "--one", name, "--set", which]
    if path is not None:
        arguments += ["--labelled", str(path)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextlib.contextmanager
def every_core_busy() -> Iterator[None]:
    """Keep all cores busy meanwhile."""
    spinning = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def load_changes(path: Path | None) -> int:
    """Number of verdicts that differ between an idle and a busy machine, over 1,000 answers."""
    idle = in_fresh_process("ours", "load", path)["verdicts"]
    with every_core_busy():
        busy = in_fresh_process("ours", "load", path)["verdicts"]
    assert isinstance(idle, list)
    assert isinstance(busy, list)
    return sum(one != other for one, other in zip(idle, busy, strict=True))


def cases_of(which: str, path: Path | None) -> list[Case]:
    """The named set."""
    if which == "ordinary":
        return ordinary()
    found = hard() if path is None else labelled(path)
    return (found + ordinary(1_000, seed=1))[:1_000] if which == "load" else found


def print_table(rows: list[dict[str, object]], title: str) -> None:
    """Print one set as a table with ratios to ours."""
    from evalprep.tables import Column, Kind, Table, table_lines

    ours = float(str(rows[0]["cpu_s_per_1000"]))
    print(f"\n{title}: {rows[0]['cases']} cases")
    columns = [Column("grader", Kind.NAME), *(Column(name, Kind.MEASURE) for name in HEAD)]
    table = Table("", columns)
    for row in rows:
        spent = float(str(row["cpu_s_per_1000"]))
        row["ratio"] = round(spent / ours, 1)
        counts = [row[key] for key in COUNTS]
        cells = [*counts, f"{spent:.2f}", row["ratio"], row["slowest_cpu_s"]]
        table.add(str(row["grader"]), *("-" if cell is None else str(cell) for cell in cells))
    print("\n".join(table_lines(table)))
    for row in rows:
        for source, found in dict(row["sources"]).items():  # type: ignore[call-overload]
            share = f"{100 * int(found['right']) / int(found['cases']):.2f} %"
            print(
                f"{row['grader']:22}{source}: {found['right']} of {found['cases']} right "
                f"({share}), "
                f"{found['false_accepts']} false accepts, {found['false_rejects']} false rejects"
            )


def main() -> None:
    """Run all graders and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--labelled", type=Path, help="JSON lines with gold, response, expected")
    parser.add_argument("--json", type=Path, help="write the result here too")
    parser.add_argument(
        "--load", action="store_true", help="also compare verdicts on an idle and a busy machine"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--set", default="ordinary", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one, cases_of(args.set, args.labelled))))
        return
    names = ("lm-eval", "math-verify", "sympy", "antlr4-python3-runtime", "mpmath")
    result: dict[str, object] = {
        "versions": {name: importlib.metadata.version(name) for name in names}
        | {"python": sys.version.split()[0]},
        "machine": {"cores": os.cpu_count()},
    }
    print(
        "versions:",
        ", ".join(f"{name} {version}" for name, version in dict(result["versions"]).items()),
    )  # type: ignore[call-overload]
    for which in ("ordinary", "hard") if args.labelled is None else ("labelled",):
        rows = [in_fresh_process(name, which, args.labelled) for name in GRADERS]
        print_table(rows, which if args.labelled is None else args.labelled.name)
        result[which] = [
            {key: value for key, value in row.items() if key != "verdicts"} for row in rows
        ]
    if args.load:
        result["verdicts_changed_by_load"] = load_changes(args.labelled)
        print(f"\nverdicts changed by load: {result['verdicts_changed_by_load']} of 1000")
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
