"""Run the benchmarks one after another: `python -m benchmarks [--short | --full] [NAME ...]`.

By default those that together take less than half an hour on two cores; `--full` adds the others,
and `--short` runs small inputs of those that can, keeps nothing and holds no goal. Each script
writes `benchmarks/measured/NAME.json`; `--docs` also replaces the tables of the pages that quote
it. Exit code 1 where a script failed or a goal was missed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import ROOT, marks


@dataclass(frozen=True)
class Script:
    """A benchmark that needs nothing but this checkout.

    Attributes:
        name: The module's name.
        minutes: What it takes on two quiet cores.
        short: Whether it takes `--short`.
        words: What it is called with.
    """

    name: str
    minutes: float
    short: bool = False
    words: tuple[str, ...] = ()


SCRIPTS = (
    Script("startup", 0.3, short=True),
    Script("fm_scoring", 1, short=True),
    Script("prepare_speed", 3, short=True),
    Script("results", 3, short=True),
    Script("judge_requests", 0.6, short=True),
    Script("rescore", 1.8, short=True),
    Script("grading", 5),
    Script("extraction", 1),
    Script("scorers", 3, short=True),
    Script("estimate", 4),
    Script("scale_model", 5, words=("--measure",)),
)
#: Left out of a run without `--full`.
LONG = (
    Script("shapes", 12, short=True),
    Script("profiles", 3, short=True),
    Script("conclusions", 10, words=("--pairs", "300")),
    Script("plans", 2),
    Script("judge_injection", 10),
    Script("grading_robustness", 10),
    Script("command_overhead", 14),
    Script("faults.fuzz", 60, words=("--mutants", "5000")),
)


def page_of(name: str) -> Path | None:
    """The page of the docs that holds the marks of a script."""
    first, _ = marks(name)
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return next((page for page in pages if first in page.read_text(encoding="utf-8")), None)


def run(script: Script, *, short: bool, docs: bool) -> int:
    """Run one script, and return its exit code."""
    page = page_of(script.name) if docs and not short else None
    words = [
        *script.words,
        *(["--short"] if short else []),
        *(["--docs", str(page)] if page else []),
    ]
    print(f"== {script.name}", flush=True)
    started = time.monotonic()
    command = [sys.executable, "-m", f"benchmarks.{script.name}", *words]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    print(f"{script.name}: {time.monotonic() - started:.0f} s, exit code {code}\n", flush=True)
    return code


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these scripts")
    parser.add_argument("--full", action="store_true", help="also those that take long")
    parser.add_argument("--short", action="store_true", help="small inputs, nothing kept")
    parser.add_argument("--docs", action="store_true", help="replace the tables of the docs")
    args = parser.parse_args()
    known = {script.name: script for script in (*SCRIPTS, *LONG)}
    if unknown := [name for name in args.names if name not in known]:
        parser.error(f"no such benchmark: {', '.join(unknown)}; known: {', '.join(known)}")
    scripts = [known[name] for name in args.names] or [*SCRIPTS, *(LONG if args.full else ())]
    if args.short:
        scripts = [script for script in scripts if script.short]
    codes = {script.name: run(script, short=args.short, docs=args.docs) for script in scripts}
    failed = [name for name, code in codes.items() if code > (1 if args.short else 0)]
    if failed:
        print(f"failed, or outside their goals: {', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
