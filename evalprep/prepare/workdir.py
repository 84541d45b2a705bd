"""The work folder: built beside its place and swapped in at once.

Edits that the user made in it are never lost.

A kill at any moment leaves the old folder or the new one. On Linux the swap is one system call
(renameat2 with RENAME_EXCHANGE); elsewhere it is two renames, and the next preparation repairs a
kill between them.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import glob
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from evalprep.errors import BadInput, Problem, Problems
from evalprep.files import check_target, file_sha256, is_locked, lock, sync
from evalprep.packs import MANIFEST, SHELF, STOCK_GROUPS, listed_files, read_manifest

_EXCHANGE = 2  # RENAME_EXCHANGE of linux/fs.h
_AT_FDCWD = -100


def tree_files(folder: Path) -> dict[str, str]:
    """Relative path -> SHA-256 of every file below a folder, in path order.

    The manifest itself is left out.
    """
    paths = sorted(
        path
        for path in folder.rglob("*")
        if (path.is_file() or path.is_symlink())
        and "__pycache__" not in path.parts
        and path != folder / MANIFEST
    )
    return {path.relative_to(folder).as_posix(): _digest(path) for path in paths}


def _digest(path: Path) -> str:
    """The digest of a file's bytes; of a link to a folder or to nothing, of its target."""
    if path.is_file():
        return file_sha256(path)
    return hashlib.sha256(os.fsencode(path.readlink())).hexdigest()


def check_place(work_dir: Path) -> list[Problem]:
    """Refuse a folder that is not ours to replace."""
    if not work_dir.exists() and not work_dir.is_symlink():
        return []
    fix = "choose another work_dir"
    if work_dir.is_symlink() or not work_dir.is_dir():
        what, fix = "is not a folder", f"remove it or {fix}"
    elif listed_files(work_dir) is None and any(work_dir.iterdir()):
        what = "holds files but no manifest: evalprep did not write it and does not replace it"
        fix = f"{fix}, or move its content away"
    elif not os.access(work_dir.parent, os.W_OK | os.X_OK):
        what = f"{work_dir.parent} is not writable"
    else:
        return []
    return [Problem(what=what, where=str(work_dir), fix=fix)]


@contextlib.contextmanager
def building(work_dir: Path) -> Iterator[Path]:
    """Give an empty folder beside `work_dir`; it is removed again unless `swap_in` took it.

    A lock beside the work folder keeps two preparations of it apart, whatever their environment;
    build folders whose owner is gone are cleared.

    Raises:
        BadInput: another preparation of this folder is under way, or the place cannot be written.
    """
    try:
        work_dir.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_make(work_dir.parent, work_dir, error) from None
    with _locked(work_dir):
        _repair(work_dir)
        try:
            build = Path(tempfile.mkdtemp(prefix=f".{work_dir.name}.build-", dir=work_dir.parent))
            build.chmod(0o777 & ~_umask())
            owner = os.open(build, os.O_RDONLY)
        except OSError as error:
            raise _cannot_make(work_dir.parent, work_dir, error) from None
        try:
            with contextlib.suppress(
                OSError
            ):  # a file system without locks has the lock beside it alone
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield build
        finally:
            shutil.rmtree(build, ignore_errors=True)
            os.close(owner)


def _cannot_make(folder: Path, work_dir: Path, error: OSError) -> BadInput:
    what = f"{folder} cannot be written: {error.strerror}"
    return BadInput(Problem(what=what, where=str(work_dir), fix="choose another work_dir"))


def _umask() -> int:
    """The mask for new files, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def _locked(work_dir: Path) -> Iterator[None]:
    """Hold the lock of a work folder: a file beside it, removed again by whoever holds it.

    Raises:
        BadInput: another preparation holds it, or it cannot be made.
    """
    path = work_dir.parent / f".{work_dir.name}.lock"
    taken = Problem(
        what="another preparation of this folder is under way",
        where=str(work_dir),
        fix="wait for it, or choose another work_dir",
    )
    while True:
        try:
            handle = check_target(path, within=path.parent).open("wb")
        except OSError as error:
            raise _cannot_make(path.parent, work_dir, error) from None
        with handle:
            lock(handle, taken)
            # Whoever held it may have removed the file since it was opened; then this lock is on
            # nothing.
            if not _is_at(handle, path):
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _is_at(handle: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _repair(work_dir: Path) -> None:
    """Clear what a killed preparation left.

    An unfinished build, or the old folder that was about to be replaced.
    """
    old = work_dir.parent / f".{work_dir.name}.old"
    if old.exists() and not work_dir.exists():
        old.rename(work_dir)
    shutil.rmtree(old, ignore_errors=True)
    for build in work_dir.parent.glob(f".{glob.escape(work_dir.name)}.build-*"):
        if build.is_dir() and not build.is_symlink() and not is_locked(build):
            shutil.rmtree(build, ignore_errors=True)


def swap_in(build: Path, work_dir: Path) -> None:
    """Put the built folder in place of `work_dir`, all of it on the disk before."""
    for path in [*build.rglob("*"), build]:
        if not path.is_symlink():
            sync(path)
    _swap(build, work_dir)
    sync(work_dir.parent)


def _swap(build: Path, work_dir: Path) -> None:
    if not work_dir.exists():
        build.rename(work_dir)
        return
    if _exchange(build, work_dir):
        return  # `build` is the old folder now, and is removed by `building`
    old = work_dir.parent / f".{work_dir.name}.old"
    shutil.rmtree(old, ignore_errors=True)  # of an exchange that was cut short
    work_dir.rename(old)
    build.rename(work_dir)
    shutil.rmtree(old, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two folders in one step; False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return bool(
        renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _EXCHANGE) == 0
    )


def put_in_place(part: Path, target: Path) -> None:
    """Put a file or a folder in place of what is at a path, if anything is.

    A kill at any moment leaves the old one, the new one or, where the system cannot exchange two
    folders in one step, none.
    """
    if part.is_file():
        part.replace(target)
        return
    _swap(part, target)
    shutil.rmtree(part, ignore_errors=True)


def of_commands(name: str) -> bool:
    """Returns whether a file decides how tasks are called.

    Run configurations and command.sh do; they do not decide what a task is.
    """
    return "/" not in name or name.startswith(f"{STOCK_GROUPS}/")


@dataclass
class Carried:
    """The outcome for the user's own files.

    Attributes:
        notes: One sentence per file.
        shelf: Edited files that this preparation does not ask for -> digest of what they were
            edited from.
        edits: Edited files in the new tree -> their digest.
    """

    notes: list[str] = field(default_factory=list)
    shelf: dict[str, str] = field(default_factory=dict)
    edits: dict[str, str] = field(default_factory=dict)


def carry_over(
    work_dir: Path, build: Path, *, force: bool, applies: Callable[[str], bool]
) -> Carried:
    """Bring the user's own work from the old folder into the new one.

    A file that the user edited is kept when the template behind it would still generate what it
    generated then. When both changed, that is a conflict: an error, or with `force` the new file
    plus the old one as `<name>.yours`. Files that the user added are kept. An edited file that this
    preparation does not ask for goes on the shelf, out of lm-eval's sight, and comes back when it
    is asked for again.

    Args:
        work_dir: The folder as it is now.
        build: The new tree.
        force: Replace conflicting files.
        applies: Tells by its path below the folder whether this is about a file.

    Returns:
        What was kept, set aside or brought back.

    Raises:
        BadInput: conflicts, without `force`.
    """
    before = listed_files(work_dir)
    carried = Carried()
    if before is None:
        return carried
    moving = _Moving(work_dir, build, before, carried, force=force)
    for name, digest in tree_files(work_dir).items():
        if applies(name) and not name.startswith(f"{SHELF}/"):
            moving.file(name, digest)
    manifest = read_manifest(work_dir)
    for name, origin in ({} if manifest is None else dict(manifest.shelf)).items():
        if applies(name):
            moving.shelved(name, origin)
    moving.problems.raise_if_any()
    return carried


@dataclass
class _Moving:
    """The way of the user's files from the old folder into the new one.

    Attributes:
        work_dir: The old folder.
        build: The new one.
        before: Path below the old folder -> digest of what was generated there.
        carried: What became of each file.
        force: Replace conflicting files.
        problems: The conflicts.
    """

    work_dir: Path
    build: Path
    before: dict[str, str]
    carried: Carried
    force: bool
    problems: Problems = field(default_factory=Problems)

    def file(self, name: str, digest: str) -> None:
        """Bring over one file of the old folder, if it is not as it was generated."""
        old = self.work_dir / name
        new = self.build / name
        origin = self.before.get(name)
        exists = new.exists()
        if origin == digest or (exists and _digest(new) == digest):
            return
        if origin is None and not exists:
            self._keep(old, new, f"kept your file {name}")
        elif origin is None:
            self._set_aside(old, new, name)
        elif not exists:
            note = f"your edit of {name} is kept until it is asked for again"
            self._keep(old, _shelved(self.build, name), note)
            self.carried.shelf[name] = origin
        elif origin == _digest(new):
            self._keep(old, new, f"kept your edit of {name}")
            self.carried.edits[name] = digest
        else:
            self._resolve(old, new, name)

    def shelved(self, name: str, origin: str) -> None:
        """Bring over one file of the shelf; an edit that is asked for again comes back."""
        old, new = _shelved(self.work_dir, name), self.build / name
        if name in self.carried.shelf or not old.exists():
            return
        if not new.exists():
            _copy(old, _shelved(self.build, name))
            self.carried.shelf[name] = origin
        elif _digest(new) == origin:
            self._keep(old, new, f"brought back your edit of {name}")
            self.carried.edits[name] = _digest(new)
        else:
            self._resolve(old, new, name)

    def _keep(self, old: Path, new: Path, note: str) -> None:
        _copy(old, new)
        self.carried.notes.append(note)

    def _set_aside(self, old: Path, new: Path, name: str) -> None:
        note = f"your version of {name} is now {name}.yours"
        self._keep(old, new.with_name(f"{new.name}.yours"), note)

    def _resolve(self, old: Path, new: Path, name: str) -> None:
        """A conflict: what the edit was made from has changed too."""
        if self.force:
            self._set_aside(old, new, name)
        else:
            self.problems.add(
                "was edited by hand, and what it is generated from changed too",
                where=str(old),
                fix="--force writes the new one and keeps yours as <name>.yours; or prepare into "
                "another work_dir",
            )


def _shelved(folder: Path, name: str) -> Path:
    """Returns where an edited file waits; without the ending by which lm-eval would find it."""
    return folder / SHELF / f"{name}.kept"


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_file():
        shutil.copy2(source, target)
    else:
        target.symlink_to(source.readlink())
