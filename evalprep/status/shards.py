"""The shards of a command: each runs in a folder of its own, beside that of the whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from evalprep.results import Unit
from evalprep.status.folder import RunFolder

_SHARD_FOLDER = re.compile(r"(?P<id>[0-9a-f]+)-(?P<shard>\d+)of(?P<shards>\d+)")


def folder_of_shard(whole: RunFolder, shard: int, shards: int) -> RunFolder:
    """Returns the folder of one shard of a command."""
    return RunFolder(whole.path.with_name(f"{whole.path.name}-{shard}of{shards}"))


def folder_of_whole(path: Path) -> RunFolder:
    """Returns the folder of a command, of its own path or that of one of its shards."""
    match = _SHARD_FOLDER.fullmatch(path.name)
    return RunFolder(path.with_name(match["id"]) if match else path)


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
        done = {
            number
            for number, folder in self.folders.items()
            if folder.state().is_done and not folder.is_running()
        }
        return [number for number in range(1, self.shards + 1) if number not in done]

    @property
    def units(self) -> list[tuple[RunFolder, Unit]]:
        """Every finished unit with the folder that holds it."""
        finished: list[tuple[RunFolder, Unit]] = []
        for _, folder in sorted(self.folders.items()):
            finished += [(folder, unit) for unit in folder.state().units if unit.is_done]
        return finished


def shard_sets(whole: RunFolder) -> list[ShardSet]:
    """Returns the sets of shards of a command, the most complete first.

    Args:
        whole: The folder of the command.
    """
    folders_of: dict[int, dict[int, RunFolder]] = {}
    for path in whole.path.parent.glob(f"{whole.path.name}-*of*"):
        match = _SHARD_FOLDER.fullmatch(path.name)
        if match:
            shards = folders_of.setdefault(int(match["shards"]), {})
            shards[int(match["shard"])] = RunFolder(path)
    sets = [ShardSet(shards, folders) for shards, folders in folders_of.items()]
    return sorted(sets, key=lambda shard_set: len(shard_set.missing))
