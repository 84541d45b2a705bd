"""Files: replaced in one step, recognised by a digest, read where they may be broken, and locked.

A reader sees the old content of a file or the new, whatever is killed when. A folder that came from
somebody else may hold links, and no result is written through one that leaves that folder. Locks
are advisory and sit on open files, which the system gives back however a process ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import IO, Any

from evalprep.errors import BadInput, Problem

#: Lists and mappings that may lie in each other in a file that evalprep reads whole, and its bytes.
MAX_DEPTH, MAX_JSON = 100, 200_000_000
#: The name of a file that a process of a number fills, which takes its place when it is whole.
_TEMPORARY = re.compile(r"\..{1,40}\.(\d+)-[0-9a-f]{8}", re.DOTALL)
TOO_DEEP = f"it is nested in more than {MAX_DEPTH} levels"
_LEVELS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(sorted({*range(256)} - {*_LEVELS}))
_DEVICES = (Path("/dev"), Path("/dev/fd"))  # /dev/stdout is no place to rename a file to


def resolve_typed(path: Path) -> Path:
    """Follows the links of a path that the user typed.

    Her own scratch and home folders may be links.
    """
    return path if path.parent in _DEVICES else Path(os.path.realpath(path))


def leaves(path: Path, folder: Path) -> bool:
    """Returns whether a path ends outside a folder once all links of both are followed."""
    target = Path(os.path.realpath(path))
    root = Path(os.path.realpath(folder))
    return not target.is_relative_to(root)


def check_target(path: Path, within: Path) -> Path:
    """Returns the place that a result is written to, with the links below a folder followed.

    Args:
        path: The file or folder to be written; it need not exist.
        within: The folder that the user typed, or that evalprep made itself.

    Raises:
        BadInput: the path, or a folder on the way to it, is a link that leaves `within`.
    """
    target = Path(os.path.realpath(path))
    if target.is_relative_to(os.path.realpath(within)):
        return target
    raise BadInput(
        Problem(
            what=f"is not written: a symbolic link leads to {target}, outside {within}",
            where=str(path),
            fix="remove the link, or name the place yourself (see --help for the option)",
        )
    )


def check_tree(folder: Path) -> None:
    """Refuses a folder of evalprep's own in which a link leads out of it.

    Raises:
        BadInput: there is such a link.
    """
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(parent, name)
            if path.is_symlink():
                check_target(path, folder)


# Threads of a verb read, too; a context variable would be empty in them.
_follow_links = [False]
#: Place that was named -> where its links lead.
_named_places: dict[str, str] = {}


@contextlib.contextmanager
def following_links(*, allowed: bool) -> Iterator[None]:
    """Lets readers follow links that leave a run folder, which only the user's own word may do.

    The places that are named inside are forgotten at its end.
    """
    before = dict(_named_places)
    _follow_links.append(allowed)
    try:
        yield
    finally:
        _follow_links.pop()
        _named_places.clear()
        _named_places.update(before)


def name_place(path: str | os.PathLike[str], *, is_typed: bool = False) -> None:
    """Notes a file or folder that the user named: no link below it may lead out of it.

    Of a file that is the folder that it lies in, but for the file itself.

    Args:
        path: The file or folder.
        is_typed: It counts also below another place that was named; else it was found there.
    """
    if not os.path.lexists(path) or not (is_typed or _named_above(Path(path)) is None):
        return
    for place in {os.path.abspath(path), os.path.realpath(path)}:  # noqa: PTH100
        _named_places[place] = os.path.realpath(place)
        if not os.path.isdir(place):  # noqa: PTH112
            folder = os.path.dirname(place)  # noqa: PTH120
            _named_places[folder] = os.path.realpath(folder)


def _named_above(path: Path) -> Path | None:
    """The innermost place that the user named at or above a path; None without one."""
    place = os.path.abspath(path)  # noqa: PTH100
    while place not in _named_places:
        folder = os.path.dirname(place)  # noqa: PTH120
        if folder == place:
            return None
        place = folder
    return Path(place)


def is_stray(path: Path, root: Path) -> bool:
    """Returns whether a reader must not open a path below a folder, since a link leads out of it.

    Links into `blobs` of the same repository are how the hub's cache keeps every file.
    """
    return _is_stray(path, Path(os.path.realpath(path)), os.path.realpath(root))


def _is_stray(path: Path, target: Path, root: str) -> bool:
    """The same of a path and a folder whose links have been followed."""
    if _follow_links[-1] or target.is_relative_to(root):
        return False
    repositories = (
        folder.parent for folder in path.absolute().parents if folder.name == "snapshots"
    )
    return all(
        target.parent != Path(os.path.realpath(repository)) / "blobs" for repository in repositories
    )


class NotRead(BadInput):
    """Raised for a file that is not opened, since of what it is."""


class StrayLink(NotRead):
    """Raised for files of a run that are links out of the folder of the run."""

    def __init__(self, paths: Iterable[Path], root: Path) -> None:
        super().__init__(
            Problem(
                what=f"is not read: a symbolic link leads to {os.path.realpath(path)}, "
                f"outside {root}",
                where=str(path),
                fix="--follow_links reads it all the same, where you trust who made the folder",
            )
            for path in paths
        )


def open_file(path: Path, mode: str = "rb", *, own: bool = False, **options: Any) -> IO[Any]:
    """Opens a file that others may have made, for reading.

    Each reader of runs, logs and configs opens files here: a named pipe would be waited for without
    end, a device such as `/dev/zero` read without end, and a link may lead to a file of the user's
    that is none of the run.

    Args:
        path: The file.
        mode: "rb", or "r" for text.
        own: It is the user's, wherever its links lead: a model, a config, something that was kept.
        options: As for `open`.

    Raises:
        NotRead: it is not a regular file, or a link out of the place that the user named.
        OSError: it cannot be opened.
    """
    root = None if own else _named_above(path)
    target = path if root is None else _target_below(path, root)
    if root is not None and _is_stray(path, target, _named_places[str(root)]):
        raise StrayLink([path], root)
    opener = partial(_open_regular, target, follow_links=root is None)
    return open(path, mode, opener=opener, **options)


def _target_below(path: Path, root: Path) -> Path:
    """The place that the links of a path lead to, which lies at or below a named place.

    `realpath` looks at every folder from the top; the links of the named place are known.
    """
    target = _named_places[str(root)]
    if ".." in path.parts:  # behind a link it is another folder than the name says
        return Path(os.path.realpath(path))
    for part in path.absolute().parts[len(root.parts) :]:
        target = os.path.join(target, part)  # noqa: PTH118 - thousands of files are opened
        if os.path.islink(target):  # noqa: PTH114
            return Path(os.path.realpath(path))
    return Path(target)


def read_file(path: Path, *, own: bool = False) -> bytes:
    """Returns the content of a file that others may have made; raises as `open_file` does."""
    with open_file(path, own=own) as file:
        content: bytes = file.read()
    return content


def read_text(
    path: Path, *, own: bool = False, encoding: str = "utf-8", errors: str = "strict"
) -> str:
    """Returns the text of a file that others may have made.

    Raises:
        NotRead: it is not a regular file, or a link out of the place that the user named.
        OSError: it cannot be opened.
        UnicodeDecodeError: it has another encoding.
    """
    with open_file(path, "r", own=own, encoding=encoding, errors=errors) as file:
        text: str = file.read()
    return text


def read_json(path: Path, *, own: bool = False, most: int = MAX_JSON) -> Any:
    """Returns what a JSON file holds that others may have made.

    Args:
        path: The file: a manifest, a record, a state, which fit into memory.
        own: As for `open_file`.
        most: The most bytes that it may have.

    Raises:
        NotRead: it is not a regular file, or a link out of the place that the user named.
        OSError: it cannot be opened.
        ValueError: it is too large, no JSON, or nested deeper than `MAX_DEPTH`.
    """
    with open_file(path, own=own) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it is larger than {most:,} bytes")
    if is_deep(content):
        raise ValueError(TOO_DEEP)
    return json.loads(content)


def is_deep(text: bytes) -> bool:
    """Returns whether lists and mappings of a JSON text are nested in more than `MAX_DEPTH` levels.

    >>> is_deep(b"[" * 101), is_deep(b"[]" * 101), is_deep(b'["' + b"[" * 101 + b'"]')
    (True, False, False)
    """
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    # Texts may hold as many: every second piece between quotes is one.
    outside = b"".join(text.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2])
    if outside.count(b"[") + outside.count(b"{") <= MAX_DEPTH:
        return False
    brackets = outside.translate(None, _NO_BRACKETS)
    return max(accumulate(map(_LEVELS.__getitem__, brackets)), default=0) > MAX_DEPTH


def check_regular(path: Path, *, own: bool = False) -> None:
    """Refuses a file that `open_file` would not open, before a library opens it by its name.

    Raises:
        NotRead: it is not a regular file, or a link out of the place that the user named.
        OSError: it cannot be opened.
    """
    open_file(path, own=own).close()


def _open_regular(target: Path, name: str, flags: int, *, follow_links: bool) -> int:
    """Opens the file that a name stands for.

    Args:
        target: The name, or the place that its links lead to.
        name: The name.
        flags: As `open` gives them.
        follow_links: The target may be a link.

    Raises:
        NotRead: it is no regular file.
        OSError: it cannot be opened.
    """
    path = Path(name)
    flags |= os.O_NONBLOCK | os.O_NOCTTY | (0 if follow_links else os.O_NOFOLLOW)
    try:
        # To open a device may already do something; and what is opened is looked at again, as
        # somebody may put a link or a pipe in its place meanwhile.
        _refuse_special(path, target.stat().st_mode)
        descriptor = os.open(target, flags)
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from None
    try:
        _refuse_special(path, os.fstat(descriptor).st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


#: What a file may be beside a regular one -> its name in messages.
_SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def _refuse_special(path: Path, mode: int) -> None:
    """Refuses what is neither a regular file nor a folder, which the system refuses itself.

    Raises:
        NotRead: it is a pipe, a device or a socket.
    """
    if str(path) == os.devnull:  # the place of samples that a run has not
        return
    if kind := _SPECIAL.get(stat.S_IFMT(mode)):
        fix = "remove it; write what it gives into a file first"
        raise NotRead(Problem(what=f"is not read: it is {kind}, no file", where=str(path), fix=fix))


def make_folder(path: Path, *, within: Path) -> None:
    """Makes a folder with its parents, but not through a link that leaves `within`.

    Raises:
        BadInput: a link leaves `within`.
        OSError: the folder cannot be made.
    """
    check_target(path, within).mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def replace_file(path: Path, *, within: Path | None = None) -> Iterator[Path]:
    """Gives an empty file beside a path to be filled.

    It takes the path's place when the block ends well.

    Args:
        path: The file to write. `resolve_typed` goes before for a path that the user typed.
        within: The folder that no link may leave; without it the folder of the file.

    Raises:
        BadInput: a link leaves `within`.
        OSError: it could not be written; the old content is still there and nothing is left beside
            it.
    """
    if path.parent in _DEVICES:
        yield path
        return
    target = check_target(path, within or path.parent)
    temporary = temporary_beside(target)
    _clear_once(target.parent)
    held = -1
    try:
        held = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield temporary
        sync(temporary)
        temporary.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            # The system does not name the file when it is the disk that is full.
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error
        raise
    finally:
        if held >= 0:
            os.close(held)


def temporary_beside(target: Path) -> Path:
    """The path of a hidden file beside another, which `remove_leftovers` takes away after a kill.

    Nobody can plant a link under a name that is drawn now; O_EXCL would refuse it all the same.
    """
    return target.with_name(f".{target.name[:40]}.{os.getpid()}-{os.urandom(4).hex()}")


@cache
def _clear_once(folder: Path) -> None:
    remove_leftovers(folder)


def remove_leftovers(folder: Path) -> None:
    """Removes from a folder the files that killed processes were filling.

    That of a live process stays, on whichever machine it runs: it is locked until it has its name.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _TEMPORARY.fullmatch(entry.name)
            if match and entry.is_file(follow_symlinks=False) and not is_alive(int(match[1])):
                _remove_unlocked(entry.path)


def is_alive(process: int) -> bool:
    """Returns whether a process of a number runs on this machine."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it is another user's
        return True
    return True


def _remove_unlocked(path: str) -> None:
    """Removes a file that no process has locked; what cannot be locked or removed stays."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)  # noqa: PTH108 - a text, of which a folder may have many
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def open_atomically(
    path: Path, *, within: Path | None = None, errors: str = "strict", newline: str | None = None
) -> Iterator[IO[str]]:
    """Opens a text file in UTF-8 for writing that replaces the old one when the block ends well.

    Args:
        path: As for `replace_file`.
        within: As for `replace_file`.
        errors: As for `open`.
        newline: As for `open`; "" for CSV.

    Raises:
        BadInput: a link leaves `within`.
        OSError: it could not be written.
    """
    with (
        replace_file(path, within=within) as temporary,
        temporary.open("w", encoding="utf-8", errors=errors, newline=newline) as file,
    ):
        yield file


def indented_json(value: Any, *, indent: int = 2, sort_keys: bool = False) -> str:
    """Returns JSON over several lines, as `json.dumps` writes it, in a fifth of the time.

    >>> print(indented_json({"scores": [1, 0.5]}))
    {
      "scores": [
        1,
        0.5
      ]
    }
    """
    import msgspec  # few verbs write JSON

    text = json.dumps(value, ensure_ascii=False, sort_keys=sort_keys)
    try:
        return msgspec.json.format(text, indent=indent)
    except msgspec.DecodeError:  # numbers that are no JSON, such as NaN
        return json.dumps(value, ensure_ascii=False, sort_keys=sort_keys, indent=indent)


def write_atomically(
    path: Path, content: str | bytes, *, within: Path | None = None, errors: str = "strict"
) -> None:
    """Writes beside the place, brings it to the disk, renames.

    Args:
        path: As for `replace_file`.
        content: Text, written in UTF-8, or bytes.
        within: As for `replace_file`.
        errors: For characters that UTF-8 cannot hold, as for `str.encode`.

    Raises:
        BadInput: a link leaves `within`.
        OSError: it could not be written; the old content is still there and nothing is left beside
            it.
    """
    data = content.encode(errors=errors) if isinstance(content, str) else content
    with replace_file(path, within=within) as temporary:
        temporary.write_bytes(data)


def sync(path: Path) -> None:
    """Brings a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open_file(path, own=True) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()  # type: ignore[arg-type]


def text_sha256(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal; lone surrogates are encoded, too."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def unchanged_sha256(path: Path) -> str:
    """The SHA-256 of a file, read once as long as size and time of change stay.

    It is for files that are asked about often.
    """
    state = path.stat()
    return _sha256_of(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=4096)
def _sha256_of(path: Path, _size: int, _changed: int) -> str:
    return file_sha256(path)


def as_mapping(value: Any) -> dict[str, Any]:
    """A mapping out of a file that may be somebody else's; empty where it is something else."""
    return value if isinstance(value, dict) else {}


def read_object(path: Path) -> dict[str, Any]:
    """The object in a file; empty where there is none that can be read."""
    try:
        return as_mapping(read_json(path, own=True))
    except (NotRead, OSError, ValueError):
        return {}


def lock(handle: IO[Any], taken: Problem) -> None:
    """Locks an open file until it is closed, here and in every child process that inherited it.

    Args:
        handle: The file.
        taken: What to tell the user when another process has it.

    Raises:
        BadInput: another process has it, or the file system knows no locks.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BadInput(taken) from None
    except OSError as error:
        raise BadInput(
            Problem(
                what=f"cannot be locked: {error.strerror}",
                where=str(handle.name),
                fix="choose a local disk",
            )
        ) from None


def is_locked(path: Path) -> bool:
    """Returns whether some process has the file or folder locked; False where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
