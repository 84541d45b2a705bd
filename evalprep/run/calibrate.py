"""Measure how long a few prompts of every task take on the real engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from evalprep.errors import BadInput, Problem
from evalprep.run.holder import Holder
from evalprep.run.live import INTERRUPTED, run_job
from evalprep.run.units import Cut
from evalprep.status import RunFolder, failures, read_jobs
from evalprep.temporary import OwnFolder


@dataclass
class Measured:
    """A measurement, scaled to the whole run.

    Attributes:
        seconds: Time of all rows at the measured pace; a full run batches more prompts at once and
            takes less.
        basis: How it was measured.
        notes: Sentences for the user.
    """

    seconds: float
    basis: str
    notes: list[str] = field(default_factory=list)


def calibrated(work_dir: Path, rows: int, all_rows: Mapping[str, int]) -> Measured:
    """Runs the first rows of every task; nothing is written beside the user's results.

    Args:
        work_dir: A prepared folder.
        rows: Rows of every task.
        all_rows: Task -> rows of the whole run.

    Raises:
        BadInput: the engine could not do it; its errors are in the message.
    """
    seconds, load, notes = 0.0, 0.0, []
    with OwnFolder("calibrate") as temporary, Holder() as holder:
        for job in read_jobs(work_dir):
            short = replace(job, options={**job.options, "output_path": temporary, "limit": rows})
            folder = RunFolder.of(short)
            folder.create(short)
            code, _ = run_job(short, folder, lambda *_: None, cut=Cut(0), holder=holder)
            if code == INTERRUPTED:
                raise KeyboardInterrupt
            state = folder.state()
            if not state.is_done:
                raise BadInput(
                    Problem(
                        what="\n  ".join(["the calibration run failed:", *failures(folder, state)]),
                        where="--calibrate",
                    )
                )
            load += state.loads or 0.0
            for unit in state.units:
                seconds += (unit.seconds or 0.0) / unit.rows * all_rows.get(unit.task, unit.rows)
    notes.append(f"loading the model took {load:.0f} s, which is not in the time above")
    return Measured(
        seconds,
        f"measured with {rows} rows of every task; a whole run batches more and is faster",
        notes,
    )
