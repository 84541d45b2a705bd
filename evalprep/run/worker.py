"""The process that holds the model: `python -m evalprep.run.worker RUN_FOLDER`, started by `evalprep run`.

Stdin is a pipe from the process that started it; when that one is gone, however it ended, this one ends too.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from evalprep.run.folder import DONE, FAILED, RUNNING, RunFolder, State, Unit
from evalprep.run.harness import evaluate, save
from evalprep.run.job import Job
from evalprep.run.units import plan_units

_log = logging.getLogger("evalprep.run")


def main() -> int:
    """Work through the units."""
    folder = RunFolder(Path(sys.argv[1]))
    shard_rows = int(sys.argv[2])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    state = folder.state()
    state.phase, state.pid, state.started, state.message = "starting", os.getpid(), time.time(), ""
    folder.save(state)
    try:
        return _work(folder, state, shard_rows)
    except KeyboardInterrupt:
        _end(folder, state, "interrupted", "")
        return 130
    except BaseException as error:  # noqa: BLE001 - whatever ends the worker is what the state must say
        traceback.print_exc()
        _end(folder, state, "failed", f"{type(error).__name__}: {error}")
        return 1


def _end_with_parent() -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stdin.buffer.read()
    os._exit(130)


def _end(folder: RunFolder, state: State, phase: str, message: str) -> None:
    state.phase, state.message = phase, message[:2000]
    for unit in state.units:
        if unit.status == RUNNING:
            unit.status, unit.message = FAILED, message[:500] or phase
    folder.save(state)


def _work(folder: RunFolder, state: State, shard_rows: int) -> int:
    from lm_eval.tasks import TaskManager
    from lm_eval.utils import setup_logging

    setup_logging()
    job = folder.job()
    manager = TaskManager(
        include_path=job.include_path, include_defaults=_needs_defaults(job), metadata=dict(job.model_args)
    )
    loaded = manager.load(list(job.tasks))
    state.units = plan_units(loaded["tasks"], job, shard_rows, state.units)
    for unit in state.units:
        if folder.is_done(unit):
            unit.status = DONE
    folder.save(state)
    lm: Any = None
    for unit in state.units:
        if unit.status == DONE:
            continue
        if lm is None:
            lm = _load_model(job, folder, state)
        state.phase, unit.status, unit.started, unit.message = "running", RUNNING, time.time(), ""
        folder.save(state)
        try:
            _run_unit(folder, job, unit, loaded["tasks"][unit.task], manager, lm)
            unit.status = DONE
        except Exception as error:  # noqa: BLE001 - one task that fails must not cost the others
            traceback.print_exc()
            unit.status, unit.message = FAILED, f"{type(error).__name__}: {error}"[:500]
        unit.seconds = time.time() - (unit.started or time.time())
        folder.save(state)
    failed = [unit for unit in state.units if unit.status != DONE]
    if failed:
        state.phase, state.message = "failed", f"{len(failed)} units failed, see {folder.log}"
        folder.save(state)
        return 1
    from evalprep.run.merge import merge_units, publish

    state.phase = "merging"
    folder.save(state)
    merge_units(
        folder,
        job,
        state.units,
        TaskManager(
            include_path=job.include_path, include_defaults=_needs_defaults(job), metadata=dict(job.model_args)
        ),
    )
    state.results = str(publish(folder, job))
    state.phase = "done"
    folder.save(state)
    return 0


def _needs_defaults(job: Job) -> bool:
    """Whether some task comes with lm-eval; reading its 14,000 files takes 10 s of CPU and is left out otherwise."""
    from evalprep.check import Findings
    from evalprep.check.tree import read_tree

    tree = read_tree([Path(job.include_path)], Findings())
    return any(name not in tree.index and name not in tree.tags for name in job.tasks)


def _load_model(job: Job, folder: RunFolder, state: State) -> Any:
    import lm_eval.models  # noqa: F401 - fills the registry
    from lm_eval.api.registry import get_model

    state.phase = "loading"
    folder.save(state)
    started = time.time()
    options = {
        "batch_size": job.options.get("batch_size", 1),
        "max_batch_size": None,
        "device": job.options.get("device"),
    }
    lm = get_model(job.model).create_from_arg_obj(dict(job.model_args), options)
    if job.model == "dummy" and not job.options.get("apply_chat_template"):
        lm.__dict__["tokenizer"] = None  # lm-eval would try to download one after every unit, only to note its name
    state.loads = time.time() - started
    return lm


def _run_unit(folder: RunFolder, job: Job, unit: Unit, task: Any, manager: Any, lm: Any) -> None:
    from lm_eval.loggers import EvaluationTracker

    from evalprep.run.responses import ResponseFile, record

    part = folder.part(unit)
    part.mkdir(exist_ok=True)
    for leftover in part.iterdir():
        if leftover.is_dir():
            shutil.rmtree(leftover)  # files of a scoring that did not end; the responses stay
    tracker = EvaluationTracker(output_path=str(part))
    undo = record(lm, ResponseFile(part), unit.first)
    rows = (
        {}
        if unit.whole and "limit" not in job.options
        else {"samples": {unit.task: list(range(unit.first, unit.first + unit.rows))}}
    )
    try:
        results = evaluate(job, lm, [task], manager, tracker, **rows)
    finally:
        undo()
    unit.score, unit.metric = _primary(results, unit.task)
    save(tracker, results, samples=True)
    folder.finish(unit)


def _primary(results: dict[str, Any], task: str) -> tuple[float | None, str]:
    """The task's own primary metric, else the first that lm-eval reports."""
    scores = {
        key: value
        for key, value in results.get("results", {}).get(task, {}).items()
        if "," in key and "_stderr" not in key and isinstance(value, int | float)
    }
    metadata = results.get("configs", {}).get(task, {}).get("metadata") or {}
    wanted = f"{metadata.get('primary_metric')},{metadata.get('primary_filter')}"
    key = wanted if wanted in scores else next(iter(scores), "")
    return (float(scores[key]), key) if key else (None, "")


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Engines keep threads and processes that may hold up a normal exit; everything of ours is on disk.
    os._exit(code)
