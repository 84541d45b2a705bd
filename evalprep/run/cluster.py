"""The units of a command on a Ray cluster: actors that each hold one loaded engine.

Ray places the actors, carries units and files, and says which nodes died; here stands only which
unit comes next. Units are handed out longest first. The unit of a node that dies goes back to the
queue, and Ray is asked for another actor. Files come back through Ray, so that only the prepared
folder and the model need to lie at the same path on every node.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from evalprep.backends import sizes_of_arguments
from evalprep.errors import BadInput, Problem
from evalprep.results import FAILED, PENDING, RUNNING, State, Unit
from evalprep.run.live import Show
from evalprep.run.replica import Outcome, PlannedUnits, Replica, plan_on_node
from evalprep.status import Job, RunFolder

POLL_SECONDS = 0.5
#: Engines that may end under one unit before it counts as failed.
_ATTEMPTS = 4
#: Engines that may fail to load, or may die while they load, one after the other, before the
#: command is given up.
_LOADS, _LOST_LOADS = 2, 10
_LOOPBACK = "127.0.0.1"
_REACH_SECONDS = 10.0
#: Variables of the user that nodes get as well; none of them holds a secret.
_CARRIED = ("HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_ENDPOINT", "EVALPREP_STATE")


@dataclass(frozen=True)
class Cluster:
    """The cluster on which a command runs.

    Attributes:
        address: Of the cluster's head, or `auto`; empty for one that is started on this machine.
        replicas: Engines at once; 0 for as many as the cluster has room for.
        shard_rows: Rows of one unit at most; 0 for whole tasks.
    """

    address: str = ""
    replicas: int = 0
    shard_rows: int = 0


@dataclass
class _Member:
    """An actor, and what it is at.

    Attributes:
        actor: Ray's handle.
        work: What Ray will hold when it is through; None while it is idle.
        unit: The unit that it runs; None while it loads, and while it is idle.
    """

    actor: Any
    work: Any
    unit: Unit | None = None


@dataclass
class _Progress:
    """The progress of a dispatch.

    Attributes:
        state: The state of the command.
        queue: Units that wait, the next one last.
        attempts: Name of a unit -> engines that ended under it.
        failed_loads: Engines that could not be loaded since the last that could.
        broken: Why no engine can be had; empty where one may.
    """

    state: State
    queue: list[Unit]
    attempts: dict[str, int] = field(default_factory=dict)
    failed_loads: int = 0
    broken: str = ""

    @property
    def goes_on(self) -> bool:
        """Returns whether a unit waits or runs, and an engine may be had for it."""
        return not self.broken and any(
            unit.status in {PENDING, RUNNING} for unit in self.state.units
        )

    def replace(self, unit: Unit) -> None:
        """Puts a unit in the place of the one of its name."""
        names = [known.name for known in self.state.units]
        self.state.units[names.index(unit.name)] = unit


def run_on_ray(cluster: Cluster) -> Callable[[Job, RunFolder, Show, Callable[[], bool]], None]:
    """Returns what runs the units of a command on a cluster, for `run_job`."""

    def run(job: Job, folder: RunFolder, show: Show, stopped: Callable[[], bool]) -> None:
        with _connected(cluster):
            _Dispatch(cluster, job, folder, show).run(stopped)

    return run


@contextlib.contextmanager
def _connected(cluster: Cluster) -> Iterator[None]:
    """A connection to the cluster, or a cluster of this machine.

    Raises:
        BadInput: Ray is not installed, or nothing answers at the address.
    """
    alone = not cluster.address or (cluster.address.rpartition(":")[0] in {_LOOPBACK, "localhost"})
    if alone:  # else Ray puts the address of a network card in the place of 127.0.0.1
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise BadInput(
            Problem(
                what="--engine ray needs the package ray",
                where="--engine",
                fix="pip install 'evalprep[vllm]', or pip install ray",
            )
        ) from None
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if not cluster.address:
        settings["include_dashboard"] = False
    if alone:
        settings["_node_ip_address"] = _LOOPBACK
    try:
        if ":" in cluster.address:
            # Is there a head? Ray itself tries for minutes.
            host, _, port = cluster.address.rpartition(":")
            with socket.create_connection((host, int(port)), timeout=_REACH_SECONDS):
                pass
        ray.init(address=cluster.address or "local", **settings)
    except (OSError, RuntimeError, ValueError) as error:
        raise BadInput(
            Problem(
                what=f"no Ray cluster answers: {str(error).splitlines()[0]}",
                where=f"--address {cluster.address}",
                fix="start one with `ray start --head`, and give its address (host:6379) or auto",
            )
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


class _Dispatch:
    """One command on its way through a cluster."""

    def __init__(self, cluster: Cluster, job: Job, folder: RunFolder, show: Show) -> None:
        import ray

        self._ray = ray
        self._cluster = cluster
        self._folder = folder
        self._job = job
        self._show = show
        self._needs = _needs(job, ray.cluster_resources())
        self._size = cluster.replicas or _room(ray.cluster_resources(), self._needs)
        if not self._size:
            raise _no_room(self._needs, ray.cluster_resources())
        self._members: list[_Member] = []

    def run(self, stopped: Callable[[], bool]) -> None:
        """Runs unfinished units, and keeps what comes of each in the run's folder."""
        progress = self._plan()
        self._note(f"{len(progress.queue)} units wait for {self._size} engines on Ray")
        for _ in range(min(self._size, len(progress.queue))):
            self._add_member()
        try:
            while progress.goes_on and not stopped():
                self._step(progress)
        finally:
            for member in self._members:
                self._ray.kill(member.actor)
        progress.state.message = progress.broken
        self._folder.save(progress.state)

    def _options(self) -> dict[str, Any]:
        carried = {name: os.environ[name] for name in _CARRIED if name in os.environ}
        variables = {**carried, **self._job.env, "TOKENIZERS_PARALLELISM": "false"}
        return {"runtime_env": {"env_vars": variables}, **self._needs}

    def _plan(self) -> _Progress:
        """Cuts the command into units, on a node, and finds those that are finished."""
        state = self._folder.state()
        earlier = [asdict(unit) for unit in state.units]
        plan = self._ray.remote(plan_on_node).options(**{**self._options(), "num_gpus": 0})
        planned: PlannedUnits = self._ray.get(
            plan.remote(self._job.as_dict(), self._cluster.shard_rows, earlier, self._size)
        )
        costs = {}
        state.units = []
        for plain_unit, cost in zip(planned.units, planned.costs, strict=True):
            unit = Unit(**plain_unit)
            unit = self._folder.finished(unit) or unit
            state.units.append(unit)
            costs[unit.name] = cost
        for name, reason in planned.failures.items():
            state.units.append(Unit(name, name, 0, status=FAILED, message=reason))
        state.phase = "loading"
        self._folder.save(state)
        waiting = [unit for unit in state.units if unit.status == PENDING]
        return _Progress(state, sorted(waiting, key=lambda unit: costs[unit.name]))

    def _add_member(self) -> None:
        actor = self._ray.remote(Replica).options(**self._options()).remote(self._job.as_dict())
        self._members.append(_Member(actor, actor.load.remote()))

    def _step(self, progress: _Progress) -> None:
        """Hands out units, and takes in what has come since."""
        for member in self._members:
            if member.work is None and progress.queue:
                unit = progress.queue.pop()
                unit.status = RUNNING
                progress.state.phase = "running"
                member.unit = unit
                member.work = member.actor.run.remote(asdict(unit))
        working = {member.work: member for member in self._members if member.work is not None}
        ready, _ = self._ray.wait([*working], num_returns=1, timeout=POLL_SECONDS)
        for work in ready:
            self._take(working[work], progress)
        if ready:
            self._folder.save(progress.state)
        self._show(progress.state, None, "")

    def _take(self, member: _Member, progress: _Progress) -> None:
        """Takes in what an actor has come to: a loaded engine, a unit, or its end."""
        from ray.exceptions import RayError, RayTaskError

        try:
            outcome = self._ray.get(member.work)
        except RayTaskError as error:  # code of ours failed; what a unit raises is its outcome
            self._lose(member, progress, error, loads=_LOADS)
        except RayError as error:  # its node or its process is gone, or what it had made
            self._note(f"an engine has ended ({type(error).__name__}); Ray is asked for another")
            self._lose(member, progress, error, loads=_LOST_LOADS)
        else:
            member.work = None
            if isinstance(outcome, Outcome):
                self._keep(outcome, progress)
                member.unit = None
                if outcome.broken:
                    self._lose(member, progress, RuntimeError(outcome.broken), loads=_LOADS)
            else:
                progress.failed_loads = 0
                progress.state.loads = float(outcome)

    def _keep(self, outcome: Outcome, progress: _Progress) -> None:
        """Writes the files of a unit, which are whole under their final name only."""
        unit = Unit(**outcome.unit)
        if outcome.log:
            self._note(outcome.log)
        if unit.is_done:
            part = self._folder.part(unit)
            shutil.rmtree(part, ignore_errors=True)
            for name, content in outcome.files.items():
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                (part / name).write_bytes(content)  # `finish` brings them to the disk
            self._folder.discard(unit)
            self._folder.finish(unit)
        progress.replace(unit)

    def _lose(self, member: _Member, progress: _Progress, error: Exception, *, loads: int) -> None:
        """Puts another actor in the place of one that is gone, and its unit back to the queue.

        Args:
            member: The one that is gone.
            progress: Where the command is.
            error: How it ended.
            loads: Engines in a row that may end so without having been of use.
        """
        self._members.remove(member)
        with contextlib.suppress(Exception):  # it may be dead already
            self._ray.kill(member.actor)
        if member.unit is not None:
            # A unit goes back to the queue, unless its engines ended too often.
            unit = member.unit
            deaths = progress.attempts.get(unit.name, 0) + 1
            progress.attempts[unit.name] = deaths
            if deaths < _ATTEMPTS:
                unit.status = PENDING
                progress.queue.append(unit)
            else:
                unit.status = FAILED
                unit.message = f"{deaths} engines ended while they ran it"
        else:
            progress.failed_loads += 1
            if progress.failed_loads >= loads:
                progress.broken = f"no engine could be loaded: {_reason(error)}"
                return
        self._add_member()

    def _note(self, text: str) -> None:
        """Writes a line into the run's log."""
        with contextlib.suppress(OSError), self._folder.log.open("a", encoding="utf-8") as log:
            log.write(f"{text.rstrip()}\n")


def _needs(job: Job, resources: dict[str, float]) -> dict[str, float]:
    """The resources of one engine: a core, and as many GPUs as the model is split over."""
    on_gpu = "GPU" in resources and job.options.get("device") != "cpu"
    gpus = sizes_of_arguments(job.model_args).gpus_per_copy if on_gpu else 0
    return {"num_cpus": 1, "num_gpus": gpus}


def _room(resources: dict[str, float], needs: dict[str, float]) -> int:
    """Returns how many engines the cluster has room for."""
    names = {"num_cpus": "CPU", "num_gpus": "GPU"}
    counts = [
        int(resources.get(names[need], 0) // amount) for need, amount in needs.items() if amount
    ]
    return min(counts)


def _no_room(needs: dict[str, float], resources: dict[str, float]) -> BadInput:
    return BadInput(
        Problem(
            what=f"the cluster has no room for one engine: it needs {needs['num_cpus']:g} CPU and "
            f"{needs['num_gpus']:g} GPU",
            where="--engine ray",
            allowed=f"{resources.get('CPU', 0):g} CPU, {resources.get('GPU', 0):g} GPU",
            fix="add nodes (`ray start --address HEAD`), or lower tensor_parallel_size",
        )
    )


def _reason(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip()[:500] if lines else type(error).__name__
