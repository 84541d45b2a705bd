"""The units of one command, one after the other, and the files of the whole at the end."""

from __future__ import annotations

import random
import shutil
import time
import traceback
from dataclasses import dataclass
from typing import Any

from evalprep.data import is_offline
from evalprep.errors import BadInput, Problem
from evalprep.files import as_mapping
from evalprep.model import model_folder
from evalprep.packs import versions
from evalprep.readers import decode_run
from evalprep.results import DONE, FAILED, RUNNING, State, Unit, primary_score
from evalprep.run.engine import Engine
from evalprep.run.harness import configuration, evaluate, save
from evalprep.run.kinds import RepliesMissingError
from evalprep.run.merge import merge_units, publish, scores
from evalprep.run.server import silence
from evalprep.run.tasks import Loaded, load_tasks, manager_of
from evalprep.run.units import Cut, plan_units
from evalprep.status import Job, RunFolder


@dataclass(frozen=True)
class Call:
    """The call that lm-eval makes of a command before a model is loaded.

    Attributes:
        config: Its reading of the command.
        model_class: The class of the model; None where nothing is to be generated.
        manager: Its manager of tasks.
        loaded: The tasks, and those that could not be loaded.
    """

    config: Any
    model_class: Any
    manager: Any
    loaded: Loaded


def open_call(job: Job, engine: Engine, *, generates: bool = True) -> Call:
    """Loads the tasks of a command, and brings the engine to its settings.

    Args:
        job: The command.
        engine: What holds the model.
        generates: False where only files are written, which needs no package of an engine.
    """
    from lm_eval.utils import setup_logging

    setup_logging()
    config = configuration(job)
    engine.turn_to(config, job)
    model_class = engine.model_class(config) if generates else None
    manager = manager_of(config)
    import numpy as np
    from lm_eval.utils import set_torch_seed

    # lm-eval seeds before it loads tasks: some shuffle their rows, and an earlier command has
    # drawn numbers before.
    for seed, sow in zip(
        config.seed or (), (random.seed, np.random.seed, set_torch_seed), strict=False
    ):
        if seed is not None:
            sow(seed)
    return Call(config, model_class, manager, load_tasks(manager, job))


class Walk:
    """One command on its way through its units.

    Args:
        folder: Its run folder.
        state: As it was left.
        engine: What holds the model.
        cut: Rows of one unit, and the shard.
    """

    def __init__(self, folder: RunFolder, state: State, engine: Engine, cut: Cut) -> None:
        self.folder = folder
        self.state = state
        self.engine = engine
        self.cut = cut
        self.job = folder.job()

    def work(self, *, merge_only: bool) -> int:
        """Runs what is not finished, but where told not to, and writes the files.

        0 when all is done, else 1.
        """
        call = open_call(self.job, self.engine, generates=not merge_only)
        self._plan(call.loaded)
        if not merge_only:
            for unit in self.state.units:
                if unit.status in {DONE, FAILED}:
                    continue
                if not self._run(unit, call):
                    break
                self._save()
        return self._finish(call.config, call.loaded)

    def _save(self) -> None:
        self.folder.save(self.state)

    def _plan(self, loaded: Loaded) -> None:
        """Cuts what could be loaded into units; what could not is a unit that failed."""
        known = [unit for unit in self.state.units if unit.task in loaded.tasks]
        self.state.units = plan_units(loaded.tasks, self.job, self.cut, known)
        _take_over(self.folder, self.state)
        for name, reason in loaded.failures.items():
            self.state.units.append(Unit(name, name, 0, status=FAILED, message=reason))
        self._save()

    def _run(self, unit: Unit, call: Call) -> bool:
        """Runs one unit; False where no further one can succeed."""
        state, engine = self.state, self.engine
        if not engine.loaded:
            state.phase = "loading"
            self._save()
            try:
                engine.load(call.model_class, call.config)
            except Exception as error:
                problem = _absent_model(call.config.model_args)
                if problem is not None:
                    engine.broken = problem.what
                    raise BadInput(problem) from error
                engine.broken = f"{type(error).__name__}: {error}"[:2000]
                raise
        elif state.phase == "starting":
            print("the model is loaded already, by an earlier command of this run", flush=True)
        state.loads = engine.seconds
        state.phase = "running"
        unit.status = RUNNING
        unit.started = time.time()
        self._save()
        try:
            run_unit(self.folder, unit, call, engine)
        except Exception as error:  # noqa: BLE001 - one task that fails must not cost the others
            traceback.print_exc()
            unit.status = FAILED
            unit.message = _reason(error)
            unit.seconds = time.time() - unit.started
            # Replies in files need no server.
            absent = "" if self.engine.sources else silence(self.job)
            self.engine.broken = absent or self.engine.at_fault(unit.task, error)
            state.message = self.engine.broken
            return not state.message
        engine.served += 1
        return True

    def _finish(self, config: Any, loaded: Loaded) -> int:
        state, folder = self.state, self.folder
        message = state.message
        unfinished = len(state.units) - state.count(DONE)
        names = loaded.whole(state.units) if unfinished else None
        if self.engine.dead or not self.cut.is_whole:
            names = []  # another start goes on, or the other shards
        if names is None or names:
            state.phase = "merging"
            self._save()
            merged = merge_units(folder, self.job, config, state.units, names)
            state.scores = scores(merged)
            state.results = str(publish(merged, self.job))
        state.phase = "failed" if unfinished else "done"
        state.message = ""
        if unfinished:
            reason = f"{unfinished} of {len(state.units)} units are not finished"
            state.message = ": ".join(filter(None, [reason, message]))
        self._save()
        return int(bool(unfinished))


def _absent_model(model_args: Any) -> Problem | None:
    """Returns why a model could not be loaded that is in no folder and not in the hub's cache."""
    name = str(as_mapping(model_args).get("pretrained") or "")
    if not name or model_folder(name) is not None:
        return None
    local = "name a local folder"
    if is_offline():
        what = f"the model {name} is not in the hub cache, and HF_HUB_OFFLINE is set"
        return Problem(what=what, fix=f"unset HF_HUB_OFFLINE once to fetch it, or {local}")
    what = f"the model {name} is not in the hub cache, and could not be fetched from the hub"
    fix = f"check the id, the network and HF_TOKEN (hf download {name}), or {local}"
    return Problem(what=what, fix=fix)


def _reason(error: Exception) -> str:
    """Returns why a unit failed: replies that are missing in words, anything else with its name."""
    named = f"{type(error).__name__}: {error}"
    return (str(error) if isinstance(error, RepliesMissingError) else named)[:500]


def _take_over(folder: RunFolder, state: State) -> None:
    """Finds what earlier starts finished.

    A unit whose responses cannot be read any more is made anew.

    What failed since `evalprep run` was started stays so: its process is another one since, and the
    model loaded anew.
    """
    from evalprep.run.responses import ResponseFile

    for number, unit in enumerate(state.units):
        done = folder.finished(unit)
        if done is not None and ResponseFile(folder.folder(unit)).known:
            state.units[number] = done
        elif unit.status != FAILED:
            folder.discard(unit)
            state.units[number] = Unit(
                unit.name, unit.task, unit.rows, unit.first, whole=unit.whole
            )
    state.notes = []
    now = versions()
    for name in now:
        others = {
            unit.versions[name]
            for unit in state.units
            if unit.versions.get(name, now[name]) != now[name]
        }
        if others:
            state.notes.append(
                f"some units were made with {name} {', '.join(sorted(others))}, not {now[name]}"
            )


def run_unit(folder: RunFolder, unit: Unit, call: Call, engine: Engine) -> None:
    """Asks the model about the rows of a unit, scores them, and puts its files into the folder."""
    from lm_eval.loggers import EvaluationTracker

    from evalprep.run.responses import ResponseFile, record

    part = folder.part(unit)
    part.mkdir(exist_ok=True)
    for leftover in part.iterdir():
        if leftover.is_dir():
            shutil.rmtree(leftover)  # files of a scoring that did not end; the responses stay
    tracker = EvaluationTracker(output_path=str(part))
    responses = ResponseFile(part)
    is_resumed = bool(responses.known)
    undo = record(engine.lm, responses, unit.first, engine.unanswered)
    rows = (
        {}
        if unit.whole and call.config.limit is None
        # A range: lm-eval asks for every row of the task whether it is among them.
        else {"samples": {unit.task: range(unit.first, unit.first + unit.rows)}}
    )
    tasks = [call.loaded.tasks[unit.task]]
    try:
        # Standard errors by resampling cost minutes and are wanted for the whole alone.
        results = evaluate(
            call.config, engine.lm, tasks, call.manager, tracker, bootstrap_iters=0, **rows
        )
    finally:
        undo()
    unit.score, unit.metric = primary_score(decode_run(results, unit.task).tasks[unit.task])
    if engine.sources:
        results["config"]["replies"] = list(engine.sources)
    save(tracker, results, samples=True)
    unit.status = DONE
    unit.versions = versions()
    unit.requests = len(responses.known)
    # The time of an earlier start that made some of the replies is not known.
    unit.seconds = None if is_resumed else time.time() - (unit.started or time.time())
    folder.finish(unit)
