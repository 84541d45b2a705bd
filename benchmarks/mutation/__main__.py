"""Do the tests notice when the code is wrong?

Mistakes are planted one by one, and the tests that call the place run.

    python -m benchmarks.mutation --out mutants.jsonl [--number 200] [--seed 0]
        [--rooms results,compare]
    # the survivors of an earlier run, anew
    python -m benchmarks.mutation --out again.jsonl --again mutants.jsonl

A mutant is one change in one place of `evalprep/`, `custom_metrics/` or a pack: a comparison
turned, `and` for `or`, a number moved, True for False, a `not` taken away, a returned value
dropped. Which places is decided by the seed. First every fast test runs once, and it is noted which
functions it calls, also in the processes that it starts (`--map` keeps that). Then each mutant
meets the tests that call its function, those of its own room first, then by their length, up to
`--budget` seconds of them. It is killed when a test fails or hangs. Tests that do not pass without
any mistake are left out. The changes are made in copies of the project; no file of the checkout is
touched. By hand, not in CI.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

from benchmarks.mutation.mutants import MODULE, Mutant, found_again, mutants_of
from benchmarks.mutation.warm import ROOT, Copy, warm_up

Test = dict[str, Any]
ALL_TESTS = ("tests/evalprep", "tests/custom_metrics", "tests/packs", "tests/docs")
#: Where the tests of a package's folders lie.
MIRRORS = {
    "evalprep": "tests/evalprep",
    "custom_metrics": "tests/custom_metrics",
    "task_templates": "tests/packs",
}


def test_files(folder: str | None) -> list[str]:
    """Files of tests below a folder.

    Those of no room for "", and those of everything for None.
    """
    folders = ALL_TESTS if folder is None else (folder or "tests/evalprep",)
    pattern = "test_*.py" if folder == "" else "**/test_*.py"
    paths = [path for name in folders for path in (ROOT / name).glob(pattern)]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def mapped(copy: Copy, file: str) -> list[Test]:
    """What each test of a file calls."""
    seen = copy.log.with_name("seen")
    seen.unlink(missing_ok=True)
    copy.tested([file], 1800, seen)
    head = {"test": f"{file}::", "passed": None, "seconds": 0.0, "seen": [], "sha256": digest(file)}
    return [head, *read_lines(seen)]


def digest(file: str) -> str:
    """Of a file of tests as it is now.

    A test that was renamed since would look like one that fails.
    """
    path = ROOT / file
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def chosen_tests(mutant: Mutant, tests: list[Test], budget: float) -> list[str]:
    """The tests that may notice, in the order in which they are run."""
    room = f"{tests_of(mutant.file) or 'tests/evalprep'}/"
    function = f"{mutant.file}:{mutant.function}"

    def calls(test: Test) -> bool:
        if mutant.function == MODULE:
            return any(place.startswith(f"{mutant.file}:") for place in test["seen"])
        return function in test["seen"]

    near = [
        test for test in tests if test["passed"] and (calls(test) or test["test"].startswith(room))
    ]
    stem = Path(mutant.file).stem

    def order(test: Test) -> tuple[bool, bool, bool, float]:
        own_file = stem in Path(test["test"].split("::")[0]).stem
        return not calls(test), not test["test"].startswith(room), not own_file, test["seconds"]

    near.sort(key=order)
    chosen, used = [], 0.0
    for test in near:
        used += test["seconds"]
        if used <= budget or not chosen:
            chosen.append(test["test"])
    return chosen


def outcome(copy: Copy, drawn: Mutant, tests: list[Test], budget: float) -> dict[str, Any]:
    """Plant one mistake, run its tests, and take it out again."""
    place = found_again(drawn, copy.root)
    if place is None:
        return {**drawn.record(), "outcome": "gone"}
    mutant, source = place
    target = copy.root / mutant.file
    original, times = target.read_bytes(), target.stat()
    names = chosen_tests(mutant, tests, budget)
    if b">>>" in original:
        names.insert(0, mutant.file)  # the examples in its docstrings
    began = time.monotonic()
    target.write_text(source, encoding="utf-8")
    try:
        ending = copy.tested(names, 120 + 6 * budget) if names else "none"
    finally:
        target.write_bytes(original)
        os.utime(
            target, ns=(times.st_atime_ns, times.st_mtime_ns)
        )  # compiled files are valid again
    words = {"passed": "SURVIVED", "none": "UNTESTED", "failed": "killed", "timeout": "killed"}
    seconds = round(time.monotonic() - began, 1)
    return {**mutant.record(), "outcome": words[ending], "tests": len(names), "seconds": seconds}


def work(copy: Copy, todo: SimpleQueue[Any], done: SimpleQueue[Any]) -> None:
    """One worker with its own copy.

    Maps files of tests, or tries mutants, until there is nothing left.
    """
    while (job := todo.get()) is not None:
        kind, *arguments = job
        if kind == "map":
            copy.trace_children()
            done.put(mapped(copy, arguments[0]))
        else:
            (copy.root / "sitecustomize.py").unlink(missing_ok=True)
            done.put(outcome(copy, *arguments))


def answers(jobs: list[tuple[Any, ...]], copies: list[Copy]) -> Iterator[Any]:
    """What the workers say, as they say it."""
    if not jobs:
        return
    context = multiprocessing.get_context("fork")
    todo, done = context.SimpleQueue(), context.SimpleQueue()
    crew = [context.Process(target=work, args=(copy, todo, done)) for copy in copies]
    for worker in crew:
        worker.start()
    feed = iter(jobs)
    for _ in range(2 * len(crew)):
        todo.put(next(feed, None))
    for _ in jobs:
        yield done.get()
        todo.put(next(feed, None))
    for worker in crew:
        worker.join()


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSON Lines file; none where there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def map_tests(room: str | None, tests: list[Test], path: Path, copies: list[Copy]) -> None:
    """Note which functions the tests of a room call.

    But for those that are known already and as they were.
    """
    known = _unchanged_files(tests)
    tests[:] = [test for test in tests if test["test"].split("::")[0] in known]
    path.write_text("".join(json.dumps(test) + "\n" for test in tests))
    missing = [("map", file) for file in test_files(room) if file not in known]
    for mapped_file in answers(missing, copies):
        with path.open("a") as file:
            file.writelines(json.dumps(test) + "\n" for test in mapped_file)
        tests += mapped_file
        _print_mapped(mapped_file)


def _unchanged_files(tests: list[Test]) -> set[str]:
    """Files of tests that are as they were when they were mapped."""
    unchanged = set()
    for test in tests:
        file = test["test"].removesuffix("::")
        is_head = file != test["test"]
        if is_head and test.get("sha256") and test["sha256"] == digest(file):
            unchanged.add(file)
    return unchanged


def _print_mapped(mapped_file: list[Test]) -> None:
    spent = sum(test["seconds"] for test in mapped_file)
    print(
        f"mapped {mapped_file[0]['test']} {len(mapped_file) - 1} tests, {spent:.0f} s", flush=True
    )
    for test in mapped_file:
        if test["passed"] is False:
            print(f"left out, as it does not pass: {test['test']}", flush=True)


def unmapped_tests(rooms: Iterable[str]) -> list[Test]:
    """Every file of tests of some rooms as one test, of which nothing is known."""
    files = [file for room in rooms for file in test_files(room)]
    return [{"test": file, "passed": True, "seconds": 0.0, "seen": []} for file in files]


def drawn_mutants(args: argparse.Namespace) -> Iterable[Mutant]:
    """The mutants to try."""
    if args.again:
        fields = Mutant.__dataclass_fields__
        rows = [row for row in read_lines(args.again) if row["outcome"] not in {"killed", "gone"}]
        return [Mutant(**{name: row[name] for name in fields}) for row in rows]
    files = sorted(path for package in MIRRORS for path in (ROOT / package).rglob("*.py"))
    if args.rooms:
        rooms = args.rooms.split(",")
        files = [path for path in files if _room_of(path) in rooms]
    every = [mutant for path in files for mutant, _ in mutants_of(path, ROOT)]
    print(f"{len(every)} places in {len(files)} files, seed {args.seed}")
    return random.Random(args.seed).sample(every, min(args.number, len(every)))


def _room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[1].removesuffix(".py")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="a line per mutant; one that is there is not tried again",
    )
    parser.add_argument(
        "--map", type=Path, help="which functions each test calls; what is absent is added"
    )
    parser.add_argument("--again", type=Path, help="try the survivors of this file")
    parser.add_argument("--rooms", help="only these rooms")
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--budget", type=float, default=60, help="seconds of tests that a mutant meets at most"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--own_room",
        action="store_true",
        help="map nothing: each mutant meets all tests of its own room, and no others; a lower "
        "bound of the share that is killed, in a fraction of the time",
    )
    parser.add_argument(
        "--near", action="store_true", help="map the tests of each mutant's own room alone; quicker"
    )
    return parser


def main() -> int:
    """Maps, plants and tests.

    Writes one line per mutant as it ends, the survivors, and the share that was killed.
    """
    args = _parser().parse_args()
    warm_up()
    rows = read_lines(args.out)
    tried_before = {_place_of(row) for row in rows}
    drawn = drawn_mutants(args)
    mutants = [mutant for mutant in drawn if _place_of(mutant.record()) not in tried_before]
    with tempfile.TemporaryDirectory(prefix="evalprep-mutants-") as temporary:
        copies = [Copy(Path(temporary) / str(number)) for number in range(args.workers)]
        tests = _tests_for(mutants, copies, args)
        # In the order in which they were drawn, so that a run that is stopped is a fair sample too.
        for row in answers([("mutant", mutant, tests, args.budget) for mutant in mutants], copies):
            with args.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            rows.append(row)
            place = f"{row['file']}:{row['line']}: {row['what']}: {row['text'].strip()}"
            print(f"{len(rows):4d}  {row['outcome']:8s}  {place}", flush=True)
    tried = [row for row in rows if row["outcome"] != "gone"]
    dead = sum(row["outcome"] == "killed" for row in tried)
    print(f"{dead} of {len(tried)} killed ({dead / max(1, len(tried)):.1%})")
    return 0


def _place_of(record: dict[str, Any]) -> tuple[Any, ...]:
    """What finds the place of a mutant again."""
    return record["file"], record["text"], record["what"], record["ordinal"]


def _tests_for(mutants: list[Mutant], copies: list[Copy], args: argparse.Namespace) -> list[Test]:
    """The tests that mutants may meet, with what each calls where that is asked for."""
    rooms = sorted({tests_of(mutant.file) for mutant in mutants})
    if args.own_room:
        return unmapped_tests(rooms)
    path = args.map or args.out.with_suffix(".map")
    tests = read_lines(path)
    for room in rooms if args.near else [None, *rooms]:
        map_tests(room, tests, path, copies)
    return tests


def tests_of(file: str) -> str:
    """The folder of tests of a room, a pack or an area of metrics; empty where none is its own."""
    package, name = file.split("/")[:2]
    folder = f"{MIRRORS[package]}/{name.removesuffix('.py')}"
    return folder if (ROOT / folder).is_dir() else ""


if __name__ == "__main__":
    sys.exit(main())
