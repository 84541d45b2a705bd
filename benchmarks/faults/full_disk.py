"""A disk that is full at the k-th write, for every k.

A case holds where a message with an exit code comes, and no file is damaged.

    python -m benchmarks.faults.full_disk [--share 0.1] [--seed 0]

After it the same command, with space again, comes to its end; a judge is asked nothing twice. The
judge is also tried on small file systems in memory, which takes the right to mount in a user name
space: SQLite meets another full disk there than at a failed write.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.faults import Row, chosen, main, timed
from benchmarks.faults.commands import environment, shim
from benchmarks.faults.kills import FINE, damage_below, requests
from benchmarks.faults.project import (
    IN_FLIGHT,
    QUESTIONS,
    WRITING,
    evalprep,
    judge_service,
    problem_of,
    write_project,
    write_ready,
)
from evalprep.annotate.ledger import Ledger
from evalprep.annotate.place import FILE

ENDS = {0, 1, 2, 3}
#: Sizes of the judge's disk in KB beyond the run's own files.
DISKS = list(range(40, 1400, 40))
_MOUNT = 'mount -t tmpfs -o size=$1k disk $2 && cp -r $3/. $2 && shift 3 && exec "$@"'
#: Every how many writes of `run` one is tried: each starts an engine.
RUN_STEP = 4


def rows(share: float, seed: int) -> list[Row]:
    """One row per verb; none where there is no C compiler."""
    if shim() is None:
        return [Row("full disk", note="not run: no C compiler")]
    return [*(_fill(verb, share, seed) for verb in WRITING), _small_disks(share, seed)]


def _fill(verb: str, share: float, seed: int) -> Row:
    with timed(f"full disk during {verb}") as row, tempfile.TemporaryDirectory() as place:
        project, counter = Path(place, "project"), Path(place, "count")
        faults = {"FAULT_FOLDER": str(project), "FAULT_COUNT": str(counter)}
        if verb == "run":  # its worker is a process of its own
            faults["LD_PRELOAD"] = str(shim())
        _reset(project, counter, verb)
        evalprep(WRITING[verb], project, **faults)
        (writes,) = struct.unpack("l", counter.read_bytes())
        step = RUN_STEP if verb == "run" else 1
        for write in chosen(range(1, writes + 1, step), share, seed):
            row.add(f"write {write}", _problem_at(verb, write, project, counter, faults))
        row.note = f"{writes} writes" + (f", each {step}th tried" if step > 1 else "")
    return row


def _reset(project: Path, counter: Path, verb: str) -> None:
    shutil.rmtree(project, ignore_errors=True)
    write_ready(project, verb)
    counter.write_bytes(bytes(8))


def _problem_at(
    verb: str, write: int, project: Path, counter: Path, faults: dict[str, str]
) -> str | None:
    _reset(project, counter, verb)
    paid = requests()
    outcome = evalprep(WRITING[verb], project, **faults, FAULT_AT=str(write))
    if problem := problem_of(outcome, ENDS) or damage_below(project):
        return problem
    again = evalprep(WRITING[verb], project)
    if problem := problem_of(again, FINE) or damage_below(project):
        return f"with space again: {problem}"
    # The space of an answer is reserved before its request; the shim fails a write there too.
    sent = requests() - paid
    bound = QUESTIONS + IN_FLIGHT
    return f"{sent} requests for {QUESTIONS} questions" if sent > bound else None


def _may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    probe = ["unshare", "-rm", "mount", "-t", "tmpfs", "disk", "/mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def _small_disks(share: float, seed: int) -> Row:
    with timed("small disk under the judge's ledger") as row:
        for size in chosen(DISKS, share, seed) if _may_mount() else []:
            with tempfile.TemporaryDirectory() as place:
                row.add(f"{size} KB free", _problem_on_disk(Path(place), size))
    row.note = "" if row.cases else "not run: this user may not mount"
    return row


def _problem_on_disk(place: Path, size: int) -> str | None:
    """What is wrong after a judge on a small disk, and one with more space."""
    paid = requests()
    project, disk = write_project(place / "project"), place / "disk"
    disk.mkdir()
    run = project / "judged"
    files = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    kilobytes = (files >> 10) + 16 * 4 + size
    words = [judge_service().url if word == "URL" else word for word in WRITING["judge"]]
    judge = " ".join([sys.executable, "-m", "evalprep", *words]).replace("judged", str(disk))
    steps = f"{judge}; cp {disk}/{FILE}* {run}/ 2>/dev/null; true"
    mount = ["unshare", "-rm", "sh", "-c", _MOUNT, "sh", str(kilobytes), str(disk), str(run)]
    done = subprocess.run(
        [*mount, "sh", "-c", steps],
        env=environment(project / "home"),
        capture_output=True,
        check=False,
    )
    if b"Traceback" in done.stderr:
        return f"a traceback: {done.stderr[-200:]!r}"
    if problem := problem_of(evalprep(WRITING["judge"], project), FINE):
        return f"with more space: {problem}"
    if requests() - paid > QUESTIONS:
        return f"{requests() - paid} requests for {QUESTIONS} questions"
    with Ledger(run / FILE) as ledger:
        statuses = [row.status for several in ledger.attempts().values() for row in several]
    return None if statuses.count("received") == QUESTIONS else "answers are missing"


if __name__ == "__main__":
    raise SystemExit(main(rows))
