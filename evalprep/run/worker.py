"""The process that holds the model: `python -m evalprep.run.worker RUN_FOLDER`, started by `evalprep run`.

Stdin is a pipe from the process that started it; when that one is gone, however it ended, this one ends too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from evalprep.backends import find_backend
from evalprep.packs.manifest import versions
from evalprep.results.primary import primary_score
from evalprep.run.harness import configuration, evaluate, save
from evalprep.run.server import silence
from evalprep.run.units import plan_units
from evalprep.status.folder import DONE, FAILED, PENDING, RUNNING, RunFolder, State, Unit
from evalprep.status.job import Job


def main() -> int:
    """Work through the units."""
    folder = RunFolder(Path(sys.argv[1]))
    shard_rows = int(sys.argv[2])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    state = folder.state()
    state.phase, state.pid, state.started, state.message = "starting", os.getpid(), time.time(), ""
    state.log_start = folder.log.stat().st_size
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
    # The group is this process and what the engine started; engines do not all notice that we are gone.
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _end(folder: RunFolder, state: State, phase: str, message: str) -> None:
    """Say how the worker ended; a unit that was merely stopped waits for the next start."""
    state.phase, state.message = phase, message[:2000]
    for unit in state.units:
        if unit.status == RUNNING:
            unit.status, unit.message = (FAILED, message[:500]) if message else (PENDING, "")
    with contextlib.suppress(OSError):  # a full disk; the process that follows us says so
        folder.save(state)


def _work(folder: RunFolder, state: State, shard_rows: int) -> int:
    from lm_eval.utils import setup_logging

    setup_logging()
    job = folder.job()
    config = configuration(job)
    # As in lm-eval, before the tasks: some give methods to the model classes that they find imported.
    model_class = _model_class(config)
    manager = _manager(config, job)
    loaded = manager.load(list(config.tasks))
    state.units = plan_units(loaded["tasks"], job, shard_rows, state.units)
    _take_over(folder, state)
    folder.save(state)
    lm: Any = None
    for unit in state.units:
        if unit.status == DONE:
            continue
        if lm is None:
            lm = _load_model(model_class, config, folder, state)
        state.phase, unit.status, unit.started = "running", RUNNING, time.time()
        folder.save(state)
        try:
            _run_unit(folder, config, unit, loaded["tasks"][unit.task], manager, lm)
        except Exception as error:  # noqa: BLE001 - one task that fails must not cost the others
            traceback.print_exc()
            unit.status, unit.message = FAILED, f"{type(error).__name__}: {error}"[:500]
            unit.seconds = time.time() - unit.started
            state.message = _end_of_all(error, job)
            if state.message:
                break
        folder.save(state)
    if left := len(state.units) - state.count(DONE):
        state.phase = "failed"
        state.message = ": ".join(filter(None, [f"{left} of {len(state.units)} units are not finished", state.message]))
        folder.save(state)
        return 1
    from evalprep.run.merge import merge_units, publish, scores

    state.phase = "merging"
    folder.save(state)
    merge_units(folder, config, state.units, _manager(config, job))
    state.scores = scores(folder)
    state.results = str(publish(folder, job))
    state.phase = "done"
    folder.save(state)
    return 0


def _manager(config: Any, job: Job) -> Any:
    from lm_eval.tasks import TaskManager

    return TaskManager(include_path=config.include_path, include_defaults=job.defaults, metadata=config.metadata)


def _take_over(folder: RunFolder, state: State) -> None:
    """Find what earlier starts finished; a unit whose responses cannot be read any more is made anew."""
    from evalprep.run.responses import ResponseFile

    for number, unit in enumerate(state.units):
        done = folder.finished(unit)
        if done is not None and ResponseFile(folder.folder(unit)).known:
            state.units[number] = done
        else:
            folder.discard(unit)
            state.units[number] = Unit(unit.name, unit.task, unit.rows, unit.first, whole=unit.whole)
    state.notes = []
    now = versions()
    for name in now:
        others = {unit.versions[name] for unit in state.units if unit.versions.get(name, now[name]) != now[name]}
        if others:
            state.notes.append(f"some units were made with {name} {', '.join(sorted(others))}, not {now[name]}")


def _end_of_all(error: Exception, job: Job) -> str:
    """Why no further unit can succeed either; empty where one may."""
    if type(error).__name__ == "EngineDeadError":
        return "the engine has ended"
    return silence(job)


def _model_class(config: Any) -> Any:
    import lm_eval.models  # noqa: F401 - fills the registry
    from lm_eval.api.registry import get_model

    return get_model(config.model)


def _load_model(model_class: Any, config: Any, folder: RunFolder, state: State) -> Any:
    state.phase = "loading"
    folder.save(state)
    started = time.time()
    lm = model_class.create_from_arg_obj(
        config.model_args,
        {"batch_size": config.batch_size, "max_batch_size": config.max_batch_size, "device": config.device},
    )
    record = find_backend(config.model)
    if record is not None and record.stands_in and not config.apply_chat_template:
        lm.__dict__["tokenizer"] = None  # lm-eval would try to download one after every unit, only to note its name
    state.loads = time.time() - started
    return lm


def _run_unit(folder: RunFolder, config: Any, unit: Unit, task: Any, manager: Any, lm: Any) -> None:
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
        if unit.whole and config.limit is None
        # A range: lm-eval asks for every row of the task whether it is among them.
        else {"samples": {unit.task: range(unit.first, unit.first + unit.rows)}}
    )
    try:
        # Standard errors by resampling cost minutes and are wanted for the whole alone.
        results = evaluate(config, lm, [task], manager, tracker, bootstrap_iters=0, **rows)
    finally:
        undo()
    parts = (results.get(part, {}).get(unit.task) for part in ("results", "configs", "higher_is_better"))
    unit.score, unit.metric = primary_score(*parts)
    save(tracker, results, samples=True)
    unit.status, unit.seconds, unit.versions = DONE, time.time() - (unit.started or time.time()), versions()
    folder.finish(unit)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Engines keep threads and processes that may hold up a normal exit; everything of ours is on disk.
    os._exit(code)
