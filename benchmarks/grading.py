"""Accuracy, false accepts and CPU time of boxed-answer graders, side by side.

    python benchmarks/grading.py [--labelled FILE.jsonl] [--json FILE] [--load]

Two sets: `ordinary`, 1,000 generated replies with short answers of which 70 % equal the gold answer literally; and
`hard`, the labelled pairs of the test suite, or the rows `{gold, response, expected}` of FILE. Every grader runs in a
fresh process; CPU time is user plus system of that process and its children, without imports, but with the start of our
worker. `--load` grades 1,000 answers with the machine idle and with every core busy, and compares the verdicts.
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
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

Case = dict[str, object]
Grader = Callable[[str, str], bool]
GRADERS = ("ours", "math-verify", "lm-eval minerva", "lm-eval leaderboard")
TEMPLATE = "We work through the problem step by step.\n\nTherefore, the final answer is: ${}$. I hope it is correct."


def ordinary(count: int = 1_000, seed: int = 0) -> list[Case]:
    """Short answers as in competition problems; 70 % literal, 15 % rewritten, 15 % wrong."""
    rng = random.Random(seed)
    found: list[Case] = []
    for index in range(count):
        a, b, c = rng.randint(2, 99), rng.randint(2, 30), rng.choice([2, 3, 5, 7])
        gold, rewritten, wrong = rng.choice(
            [
                (str(a), f"{a}.0", str(a + 1)),
                (rf"\frac{{{a}}}{{{b}}}", rf"\dfrac{{{2 * a}}}{{{2 * b}}}", rf"\frac{{{a + 1}}}{{{b}}}"),
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
        found.append({"gold": gold, "response": TEMPLATE.format(rf"\boxed{{{answer}}}"), "expected": share < 17})
    return found


def hard(path: Path | None) -> list[Case]:
    """Labelled cases: the rows of a file, else the tables of the tests."""
    if path is not None:
        return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    from tests.custom_metrics.math.cases import CASES

    return [
        {"gold": gold, "response": TEMPLATE.format(rf"\boxed{{{answer}}}"), "expected": expected}
        for cases in CASES.values()
        for gold, answer, expected in cases
    ]


def grader(name: str) -> tuple[Grader, Callable[[], None]]:
    """Import one grader; returns it and what closes it."""
    if name == "ours":
        from custom_metrics.math import grade
        from custom_metrics.math.grade import _WORKER

        return lambda gold, response: grade(gold, response).correct, _WORKER.close
    if name == "math-verify":
        from math_verify import parse, verify

        return lambda gold, response: bool(verify(parse(f"${gold}$"), parse(response))), lambda: None
    from custom_metrics.math import original_scorers

    original_scorers.load()
    scorer = name.split()[1]
    return lambda gold, response: bool(original_scorers.score(scorer, gold, response)["equal"]), lambda: None


def measure(name: str, cases: list[Case]) -> dict[str, object]:
    """Grade all cases in this process and measure."""
    judge, close = grader(name)
    logging.disable(logging.CRITICAL)
    verdicts, slowest, raised = [], 0.0, 0
    before = _cpu()
    for case in cases:
        started = time.process_time()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                verdicts.append(judge(str(case["gold"]), str(case["response"])))
        except Exception:  # noqa: BLE001 - the graders of others may raise; that is part of the result
            raised += 1
            verdicts.append(False)
        slowest = max(slowest, time.process_time() - started)
    close()
    spent = _cpu() - before
    pairs = list(zip(verdicts, (bool(case["expected"]) for case in cases), strict=True))
    return {
        "grader": name,
        "cases": len(cases),
        "right": sum(verdict == expected for verdict, expected in pairs),
        "false_accepts": sum(verdict and not expected for verdict, expected in pairs),
        "false_rejects": sum(expected and not verdict for verdict, expected in pairs),
        "raised": raised,
        "cpu_s_per_1000": round(spent / len(cases) * 1000, 3),
        "slowest_cpu_s": round(slowest, 2),
        "verdicts": verdicts,
    }


def _cpu() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def in_fresh_process(name: str, which: str, labelled: Path | None) -> dict[str, object]:
    """Run `measure` in a process of its own."""
    arguments = [sys.executable, __file__, "--one", name, "--set", which]
    if labelled is not None:
        arguments += ["--labelled", str(labelled)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextlib.contextmanager
def every_core_busy() -> Iterator[None]:
    """Keep all cores busy meanwhile."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def load_changes(labelled: Path | None) -> int:
    """Number of verdicts that differ between an idle and a busy machine, over 1,000 answers."""
    idle = in_fresh_process("ours", "load", labelled)["verdicts"]
    with every_core_busy():
        busy = in_fresh_process("ours", "load", labelled)["verdicts"]
    assert isinstance(idle, list)
    assert isinstance(busy, list)
    return sum(one != other for one, other in zip(idle, busy, strict=True))


def cases_of(which: str, labelled: Path | None) -> list[Case]:
    """The named set."""
    if which == "ordinary":
        return ordinary()
    found = hard(labelled)
    return (found + ordinary(1_000, seed=1))[:1_000] if which == "load" else found


def table(rows: list[dict[str, object]], title: str) -> None:
    """Print one set as a table with ratios to ours."""
    ours = float(str(rows[0]["cpu_s_per_1000"]))
    print(f"\n{title}: {rows[0]['cases']} cases")
    head = ("right", "false acc.", "false rej.", "raised", "CPU s/1000", "x ours", "slowest")
    print(
        "grader".ljust(22)
        + "".join(name.rjust(width) for name, width in zip(head, (7, 11, 11, 8, 12, 8, 9), strict=True))
    )
    for row in rows:
        spent = float(str(row["cpu_s_per_1000"]))
        row["ratio"] = round(spent / ours, 1)
        print(
            f"{row['grader']:22}{row['right']:>7}{row['false_accepts']:>11}{row['false_rejects']:>11}{row['raised']:>8}"
            f"{spent:>12.2f}{row['ratio']:>8}{row['slowest_cpu_s']:>9}"
        )


def main() -> None:
    """Run all graders and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--labelled", type=Path, help="JSON lines with gold, response, expected")
    parser.add_argument("--json", type=Path, help="write the result here too")
    parser.add_argument("--load", action="store_true", help="also compare verdicts on an idle and a busy machine")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--set", default="ordinary", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one, cases_of(args.set, args.labelled))))
        return
    names = ("lm-eval", "math-verify", "sympy", "antlr4-python3-runtime", "mpmath")
    result: dict[str, object] = {
        "versions": {name: importlib.metadata.version(name) for name in names} | {"python": sys.version.split()[0]},
        "machine": {"cores": os.cpu_count()},
    }
    print("versions:", ", ".join(f"{name} {version}" for name, version in dict(result["versions"]).items()))  # type: ignore[call-overload]
    for which in ("ordinary", "hard"):
        rows = [in_fresh_process(name, which, args.labelled) for name in GRADERS]
        table(rows, which)
        result[which] = [{key: value for key, value in row.items() if key != "verdicts"} for row in rows]
    if args.load:
        result["verdicts_changed_by_load"] = load_changes(args.labelled)
        print(f"\nverdicts changed by load: {result['verdicts_changed_by_load']} of 1000")
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
