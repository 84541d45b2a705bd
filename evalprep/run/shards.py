"""The shards of a command: each runs in a folder of its own, and all of them make the whole."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from evalprep.results import Unit
from evalprep.run.units import Cut
from evalprep.status import Job, RunFolder

_SHARD_FOLDER = re.compile(r"(?P<id>[0-9a-f]+)-(?P<shard>\d+)of(?P<shards>\d+)")


def shard_folder(job: Job, cut: Cut) -> RunFolder:
    """The folder of the shard of a command; that of the command itself where it is whole."""
    folder = RunFolder.of(job)
    if cut.is_whole:
        return folder
    return RunFolder(folder.path.with_name(f"{job.id}-{cut.shard}of{cut.shards}"))


@dataclass(frozen=True)
class ShardSet:
    """The shards into which a command was cut at one time.

    Attributes:
        shards: Into how many.
        folders: Number of the shard -> its folder, of those that were started.
    """

    shards: int
    folders: dict[int, RunFolder]

    @property
    def missing(self) -> list[int]:
        """The shards that are not done."""
        done = {number for number, folder in self.folders.items() if _is_done(folder)}
        return [number for number in range(1, self.shards + 1) if number not in done]

    @property
    def units(self) -> list[tuple[RunFolder, Unit]]:
        """Every finished unit with the folder that holds it."""
        finished: list[tuple[RunFolder, Unit]] = []
        for _, folder in sorted(self.folders.items()):
            finished += [(folder, unit) for unit in folder.state().units if unit.is_done]
        return finished


def _is_done(folder: RunFolder) -> bool:
    return folder.state().is_done and not folder.is_running()


def shard_sets(job: Job) -> list[ShardSet]:
    """The sets of shards of a command, the most complete first."""
    place = RunFolder.of(job).path.parent
    folders_of: dict[int, dict[int, RunFolder]] = {}
    for path in place.glob(f"{job.id}-*of*"):
        match = _SHARD_FOLDER.fullmatch(path.name)
        if match:
            shards = folders_of.setdefault(int(match["shards"]), {})
            shards[int(match["shard"])] = RunFolder(path)
    sets = [ShardSet(shards, folders) for shards, folders in folders_of.items()]
    return sorted(sets, key=lambda shard_set: len(shard_set.missing))


def gather_shards(job: Job, shard_set: ShardSet) -> RunFolder:
    """Puts the finished units of shards into the folder of the whole command.

    A unit that is there already stays.
    """
    whole = RunFolder.of(job)
    whole.create(job)
    state = whole.state()
    units: list[Unit] = []
    for folder, unit in shard_set.units:
        target = whole.folder(unit)
        if not target.is_dir():
            _copy(folder.folder(unit), target)
        units.append(unit)
    order = {name: number for number, name in enumerate(job.leaves)}
    state.units = sorted(units, key=lambda unit: (order.get(unit.task, len(order)), unit.first))
    whole.save(state)
    return whole


def _copy(source: Path, target: Path) -> None:
    """Copies a finished unit; it has its name once everything is there."""
    part = target.with_name(f"{target.name}.copied")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(source, part)
    part.rename(target)
