"""CPU seconds of a start: until help, a config error or a misspelt task is on the screen.

    python -m benchmarks.startup [--repeats 9] [--short] [--docs docs/reference/measured.md]

Each command runs in fresh processes, next to a bare interpreter; the smallest of the repeats
counts, because a busy machine only ever adds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import ROOT, Measure, Report, finish, measure

LIMITS = {"--help": 0.12, "config error": 0.25, "misspelt task": 0.4}
SCRIPT = str(ROOT / "prepare_eval.py")


def configs(folder: Path) -> dict[str, Path]:
    """Two configs that end with a message: a key that does not exist, and a task that does not."""
    texts = {
        "config error": "no_such_key: x\n",
        "misspelt task": "model_name: models/any\ntasks: meta_gsm8\n",
    }
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.yaml" for name in texts}


def main() -> int:
    """Measure and print one line per command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--short", action="store_true", help="two repeats, nothing kept")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    args = parser.parse_args()
    repeats = 2 if args.short else args.repeats
    bare = measure([sys.executable, "-c", "pass"], repeats=repeats)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands: dict[str, list[str]] = {"--help": [SCRIPT, "--help"]}
        for kind, config in configs(folder).items():
            commands[kind] = [SCRIPT, "--config_path", str(config)]
        measures = []
        for kind, words in commands.items():
            ends = (0,) if kind == "--help" else (2,)
            cost = measure([sys.executable, *words], cwd=folder, repeats=repeats, ends=ends)
            measures.append(Measure(kind, cost, bare, "python -c pass", most_cpu=LIMITS[kind]))
    report = Report("startup", "python -m benchmarks.startup", measures, {"repeats": repeats})
    return finish(report, page=args.docs, keeps=not args.short)


if __name__ == "__main__":
    raise SystemExit(main())
