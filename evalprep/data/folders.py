"""Folders of this machine, and data sets of the hub, whose files are fetched by their names."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalprep.data.hub import ON_HUB, hub_files, hub_snapshot
from evalprep.errors import BadInput, Problem
from evalprep.places import is_file, is_folder, place

MAX_ENTRIES = 20_000  # looked through in a second; a data set without a card has a few files


@dataclass(frozen=True)
class DataFolder:
    """The names of the files in a folder.

    Attributes:
        location: As it was named.
        names: Paths of its files below it.
        commit: Commit of a hub data set; None for a folder of this machine.
        root: The folder on this machine; None on the hub.
        revision: Branch, tag or commit that was asked for.
    """

    location: str
    names: tuple[str, ...]
    commit: str | None = None
    root: Path | None = None
    revision: str | None = None

    def root_with(self, names: Sequence[str], where: str) -> Path:
        """Returns the folder on this machine; of the hub, the one in its cache with these files.

        Raises:
            BadInput: the data set changed while it was read.
            HubFailure: as for `hub_snapshot`.
        """
        if self.root is not None:
            return self.root
        # By the name of the revision: that is how the cache knows it again when there is no hub.
        patterns = [glob.escape(name) for name in dict.fromkeys(names)]
        root = hub_snapshot(self.location, self.revision, patterns, where)
        if root.name != self.commit:
            what = f"{self.location} changed while it was read"
            raise BadInput(Problem(what=what, where=where, fix="run it again"))
        return root

    def fetch(self, names: Sequence[str], where: str) -> list[Path]:
        """Returns the files on this machine; those of the hub are fetched into its cache.

        Raises:
            BadInput: the data set changed while it was read.
            HubFailure: as for `hub_snapshot`.
        """
        root = self.root_with(names, where)
        return [root / name for name in names]


def open_folder(
    location: str, *, revision: str | None = None, folder: Path | None = None, where: str
) -> DataFolder:
    """Lists the files of a folder or of a data set of the hub.

    Args:
        location: A local folder (relative to `folder`), a hub id, or `hub:owner/name`.
        revision: Branch, tag or commit of a hub data set.
        folder: Folder that a relative path refers to; the current one by default.
        where: Who asked, for messages.

    Raises:
        BadInput: nothing there, or as for `hub_files`.
    """
    path = place(location, folder or Path.cwd())
    if not location.startswith(ON_HUB) and is_folder(path):
        return local_folder(location, path, where)
    name = location.removeprefix(ON_HUB)
    if name.count("/") != 1:
        raise BadInput(
            Problem(
                what=f"no folder at {location}",
                where=where,
                allowed="a local folder, or a hub id like owner/name",
            )
        )
    return hub_folder(name, revision, where)


def hub_folder(name: str, revision: str | None, where: str) -> DataFolder:
    """Lists the files of a data set of the hub.

    Raises:
        BadInput: as for `hub_files`.
    """
    commit, names = hub_files(name, revision, where)
    return DataFolder(name, tuple(names), commit, revision=revision)


def local_folder(location: str, folder: Path, where: str) -> DataFolder:
    """Lists every file below a folder of this machine.

    A home folder or a whole disk given by mistake is refused.

    Raises:
        BadInput: more than `MAX_ENTRIES` files and folders.
    """
    paths: list[str] = []
    root, count = folder.resolve(), 0
    for base, folders, names in os.walk(root, followlinks=False):
        count += len(folders) + len(names)
        if count > MAX_ENTRIES:
            raise BadInput(
                Problem(
                    what=f"{root} holds more than {MAX_ENTRIES} files and folders",
                    where=where,
                    allowed="a data file, or the folder of one data set",
                )
            )
        inside = Path(base).relative_to(root)
        paths += [(inside / name).as_posix() for name in names if is_file(Path(base, name))]
    return DataFolder(location, tuple(sorted(paths)), root=root)
