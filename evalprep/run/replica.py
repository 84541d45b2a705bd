"""One loaded engine on a node of a cluster: it runs units of a command and hands their files back.

Nothing of this module needs the cluster: `cluster.py` makes actors of it.
"""

from __future__ import annotations

import math
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from evalprep.files import read_file
from evalprep.packs import limited
from evalprep.results import FAILED, RUNNING, Unit
from evalprep.run.engine import Engine
from evalprep.run.units import Cut, plan_units
from evalprep.run.walk import Call, open_call, run_unit
from evalprep.status import Job, RunFolder
from evalprep.temporary import OwnFolder

#: Units for each replica, so that the last ones end at nearly the same time.
_UNITS_PER_REPLICA = 4
#: Each unit is a call of lm-eval, which costs some tenths of a second whatever its size.
_SMALLEST_UNIT = 16
#: Characters of a token, and what a generated token costs in tokens of a prompt.
_CHARACTERS, _GENERATED = 4.0, 8.0
_SAMPLED_ROWS = 64


@dataclass(frozen=True)
class PlannedUnits:
    """The units of a command, as the node that loaded its tasks cut them.

    Attributes:
        units: The units as plain data, in the order of the tasks.
        costs: What each unit costs, in tokens of prompt; only their order counts.
        failures: Task -> why it could not be loaded.
    """

    units: list[dict[str, Any]]
    costs: list[float]
    failures: dict[str, str]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a unit on a node.

    Attributes:
        unit: The unit as plain data, done or failed.
        files: Path below the unit's folder -> content; empty where it failed.
        broken: Why this engine can run no further unit; empty where it can.
        log: What is worth a line in the run's log.
    """

    unit: dict[str, Any]
    files: dict[str, bytes] = field(default_factory=dict)
    broken: str = ""
    log: str = ""


def plan_on_node(
    job: dict[str, Any], shard_rows: int, earlier: list[dict[str, Any]], replicas: int
) -> PlannedUnits:
    """Cuts the tasks of a command into units.

    Args:
        job: The command as plain data.
        shard_rows: Rows of one unit at most; 0 for whole tasks.
        earlier: Units of an earlier start, as plain data.
        replicas: Engines that will share the units.
    """
    command = Job.from_dict(job)
    loaded = open_call(command, Engine()).loaded
    tasks = loaded.tasks
    limit = command.options.get("limit")
    total_rows = sum(limited(len(task.eval_docs), limit) for task in tasks.values())
    even_share = math.ceil(total_rows / (_UNITS_PER_REPLICA * replicas))
    most_rows = min(shard_rows, max(_SMALLEST_UNIT, even_share)) if shard_rows else 0
    known = [Unit(**unit) for unit in earlier if unit["task"] in tasks]
    units = plan_units(tasks, command, Cut(most_rows), known)
    costs = [unit_cost(tasks[unit.task], unit) for unit in units]
    return PlannedUnits([asdict(unit) for unit in units], costs, loaded.failures)


def unit_cost(task: Any, unit: Unit) -> float:
    """Returns what a unit costs, in tokens of prompt, from the lengths of some of its prompts.

    A generated token counts as eight of a prompt.
    """
    documents = task.eval_docs
    step = max(1, unit.rows // _SAMPLED_ROWS)
    places = range(unit.first, min(unit.first + unit.rows, len(documents)), step)
    try:
        lengths = [len(str(task.doc_to_text(documents[place]))) for place in places]
    except Exception:  # noqa: BLE001 - a task's own code; the order of units is no reason to fail
        lengths = []
    prompt = sum(lengths) / len(lengths) / _CHARACTERS if lengths else 1.0
    settings = task.get_config("generation_kwargs") or {}
    generates = task.OUTPUT_TYPE == "generate_until"
    reply = float(settings.get("max_gen_toks", 256)) if generates else 0.0
    return unit.rows * (prompt + _GENERATED * reply)


class Replica:
    """One loaded engine.

    Args:
        job: The command as plain data.
    """

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = Job.from_dict(job)
        self._engine = Engine()
        self._call: Call | None = None

    def load(self) -> float:
        """Loads the tasks and the model; the seconds that the model took."""
        self._call = open_call(self._job, self._engine)
        self._engine.load(self._call.model_class, self._call.config)
        return self._engine.seconds or 0.0

    def run(self, plain_unit: dict[str, Any]) -> Outcome:
        """Runs a unit; what fails in it is part of the outcome."""
        assert self._call is not None, "load comes first"
        unit = Unit(**plain_unit)
        unit.status = RUNNING
        unit.started = time.time()
        with OwnFolder("unit") as place:
            folder = RunFolder(Path(place))
            folder.units.mkdir()
            try:
                run_unit(folder, unit, self._call, self._engine)
            except Exception as error:  # noqa: BLE001
                # One task that fails must not cost the others.
                unit.status = FAILED
                unit.message = f"{type(error).__name__}: {error}"[:500]
                unit.seconds = time.time() - (unit.started or time.time())
                broken = self._engine.at_fault(unit.task, error)
                return Outcome(asdict(unit), broken=broken, log=traceback.format_exc())
            self._engine.served += 1
            home = folder.folder(unit)
            files = {
                path.relative_to(home).as_posix(): read_file(path, own=True)
                for path in sorted(home.rglob("*"))
                if path.is_file()
            }
        return Outcome(asdict(unit), files)
