"""The shards of a command: where each runs, and the units of all of them in one place."""

from __future__ import annotations

import shutil

from evalprep.results import Unit
from evalprep.run.units import Cut
from evalprep.status import Job, RunFolder, ShardSet, folder_of_shard


def shard_folder(job: Job, cut: Cut) -> RunFolder:
    """The folder of the shard of a command; that of the command itself where it is whole."""
    folder = RunFolder.of(job)
    return folder if cut.is_whole else folder_of_shard(folder, cut.shard, cut.shards)


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
            # A finished unit has its name once everything is there.
            part = target.with_name(f"{target.name}.copied")
            shutil.rmtree(part, ignore_errors=True)
            shutil.copytree(folder.folder(unit), part)
            part.rename(target)
        units.append(unit)
    order = {name: number for number, name in enumerate(job.leaves)}
    state.units = sorted(units, key=lambda unit: (order.get(unit.task, len(order)), unit.first))
    whole.save(state)
    return whole
