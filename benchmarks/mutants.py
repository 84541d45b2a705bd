"""Do the tests notice when the code is wrong? Mistakes are planted one by one, and the tests of that room are run.

    python benchmarks/mutants.py [--rooms results,compare] [--number 20] [--seed 0] [--json out.json]

A mutant is one change in one place of `evalprep/`: a comparison turned, `and` for `or`, a number moved, True for
False, a `not` taken away, a returned value dropped. Which places is decided by the seed. A mutant is killed when a test
fails, the code cannot be imported, or the tests take longer than they may. The changes are made in a copy of the
project; no file of the checkout is touched. By hand, not in CI: each mutant costs a run of its room's fast tests.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_SECONDS = 600
_TURNED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_TURNED |= {ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}


def changed(node: ast.AST) -> str:
    """Plant a mistake into a node and say which; empty where it takes none."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _TURNED:
        node.ops[0] = _TURNED[type(node.ops[0])]()
        return "comparison turned"
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return "and/or exchanged"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node.op = ast.UAdd()
        node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
        return "`not` taken away"
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        node.value = not node.value
        return "True/False exchanged"
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        node.value = node.value + 1
        return "number moved by one"
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        node.value = ast.Constant(None)
        return "None returned"
    return ""


def places(path: Path) -> Iterator[int]:
    """Positions, in the order of a walk, of the nodes that take a mistake."""
    for number, node in enumerate(ast.walk(ast.parse(path.read_text(encoding="utf-8")))):
        if changed(node):
            yield number


def planted(path: Path, position: int) -> tuple[str, str]:
    """The source with a mistake at a position, and what it is."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    node = list(ast.walk(tree))[position]
    line = getattr(node, "lineno", 0)
    what = changed(node)
    return ast.unparse(ast.fix_missing_locations(tree)), f"{path.relative_to(ROOT)}:{line}: {what}"


def killed(copy: Path, tests: Path) -> bool:
    """Whether the fast tests of a room fail in a copy of the project."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow and not browser", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}
    shared = ROOT.parent / "shared"
    environment.setdefault("EVALPREP_SHARED", str(shared))
    try:
        done = subprocess.run(
            [*command, str(tests)],
            cwd=copy,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main() -> int:
    """Plant, test, print one line per survivor and the share that was killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rooms = sorted(path.parent.name for path in (ROOT / "evalprep").glob("*/__init__.py"))
    parser.add_argument("--rooms", default=",".join(one for one in rooms if (ROOT / "tests/evalprep" / one).is_dir()))
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    files = [path for room in args.rooms.split(",") for path in sorted((ROOT / "evalprep" / room).glob("*.py"))]
    every = [(path, position) for path in files for position in places(path)]
    chosen = random.Random(args.seed).sample(every, min(args.number, len(every)))
    survivors = []
    with tempfile.TemporaryDirectory(prefix="evalprep-mutants-") as temporary:
        copy = Path(temporary) / "project"
        ignored = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "work_dir*", "eval_results", "models")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for number, (path, position) in enumerate(chosen, 1):
            target = copy / path.relative_to(ROOT)
            source, what = planted(path, position)
            original = target.read_text(encoding="utf-8")
            target.write_text(source, encoding="utf-8")
            dead = killed(copy, copy / "tests/evalprep" / path.parent.name)
            target.write_text(original, encoding="utf-8")
            print(f"{number:4d} of {len(chosen)}  {'killed  ' if dead else 'SURVIVED'}  {what}", flush=True)
            survivors += [] if dead else [what]
    share = 1 - len(survivors) / len(chosen)
    print(
        f"{len(chosen) - len(survivors)} of {len(chosen)} killed ({share:.0%}), seed {args.seed}, {len(every)} places"
    )
    if args.json:
        args.json.write_text(json.dumps({"seed": args.seed, "mutants": len(chosen), "survivors": survivors}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
