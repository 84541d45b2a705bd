"""Run the prepared command with a log, a live table and resume. What is finished is never generated again."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalprep.run.folder import DONE, RunFolder, State, describe
from evalprep.run.job import Job, read_jobs
from evalprep.run.live import Show, run_job
from evalprep.status import SYMBOLS, TaskStatus, task_lines

DEFAULT_SHARD = 2_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "work_dir", nargs="?", type=Path, default=Path("work_dir"), help="the prepared folder (default: ./work_dir)"
    )
    parser.add_argument(
        "--shard_rows",
        type=int,
        default=DEFAULT_SHARD,
        metavar="N",
        help=f"cut tasks into units of N rows, 0 for whole tasks (default: {DEFAULT_SHARD})",
    )
    parser.add_argument("--restart", action="store_true", help="forget what an earlier run of this command finished")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def main(args: argparse.Namespace) -> int:
    """Run each prepared call."""
    code = 0
    outcomes = []
    for job in read_jobs(args.work_dir.resolve()):
        folder = RunFolder.of(job)
        if args.restart:
            with folder.lock():
                folder.restart()
        folder.create(job)
        if not args.json:
            _announce(job, folder)
        with _show(silent=args.json) as show:
            one = run_job(job, folder, show, shard_rows=args.shard_rows)
        state = folder.state()
        outcomes.append({"run": str(folder.path), "log": str(folder.log), **describe(state)})
        if not args.json:
            _conclude(state, folder, one)
        code = max(code, one)
        if one == 130:
            break
    if args.json:
        print(json.dumps(outcomes, indent=2))
    return code


def _announce(job: Job, folder: RunFolder) -> None:
    done = [unit for unit in folder.state().units if unit.status == DONE]
    print(f"run {job.id}: {', '.join(job.tasks)}", flush=True)
    print(f"log: {folder.log}", flush=True)
    if done:
        print(f"resumed: {len(done)} units are finished and will not be generated again", flush=True)
    copies = int(job.model_args.get("data_parallel_size", 1) or 1)
    if job.model == "vllm" and copies > 1:
        print(
            f"note: with data_parallel_size {copies} lm-eval loads the model anew for every task; "
            "to load it once, start a server (`vllm serve`) and prepare with backend: local-completions",
            flush=True,
        )


def _conclude(state: State, folder: RunFolder, code: int) -> None:
    if code == 130:
        print("interrupted; `evalprep run` goes on from here", flush=True)
    elif state.phase == "done":
        print(f"results: {state.results}\nnext: evalprep compare {Path(state.results).parent}", flush=True)
    else:
        print(f"failed: {state.message}", file=sys.stderr)
        for unit in state.units:
            if unit.status == "failed":
                print(f"  {unit.name}: {unit.message}", file=sys.stderr)
        print(f"see {folder.log}; `evalprep run` tries again what is not finished", file=sys.stderr)


@contextlib.contextmanager
def _show(*, silent: bool) -> Iterator[Show]:
    """A live table on a terminal, a line per change elsewhere."""
    if silent:
        yield lambda _state, _percent: None
    elif not sys.stdout.isatty():
        yield _Lines().show
    else:
        from rich.live import Live

        with Live(auto_refresh=False) as live:
            yield lambda state, percent: live.update(_table(state, percent), refresh=True)


class _Lines:
    """Prints what changed since the last look."""

    def __init__(self) -> None:
        self.phase = ""
        self.seen: dict[str, str] = {}

    def show(self, state: State, percent: int | None) -> None:  # noqa: ARG002 - a log has no use for every per cent
        """Print new lines."""
        if state.phase != self.phase:
            self.phase = state.phase
            print(state.phase + (f" ({state.message})" if state.message else ""), flush=True)
        for unit in state.units:
            if self.seen.get(unit.name) != unit.status and (unit.status != "pending" or unit.name in self.seen):
                score = f"  {unit.metric} {unit.score:.4f}" if unit.status == DONE and unit.score is not None else ""
                time = f"  {unit.seconds:.1f} s" if unit.seconds is not None and unit.status == DONE else ""
                print(f"{SYMBOLS[unit.status]} {unit.name}, {unit.rows} rows{time}{score}", flush=True)
            self.seen[unit.name] = unit.status


def _table(state: State, percent: int | None) -> Any:
    from rich.table import Table

    lines: list[TaskStatus] = task_lines(state.units)
    done = sum(unit.status == DONE for unit in state.units)
    progress = f", the engine is at {percent} %" if percent is not None and state.phase == "running" else ""
    table = Table(caption=f"{state.phase}, {done} of {len(state.units)} units{progress}")
    for heading in ("", "task", "runtime", "result"):
        table.add_column(heading)
    for line in lines:
        name = line.name + (f" ({line.progress})" if line.progress else "")
        table.add_row(SYMBOLS[line.status], name, line.runtime(), line.result())
    return table
