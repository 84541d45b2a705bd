"""Paths as a config or a command line writes them.

`~` for the home folder, else relative to a folder that is known.

`pathlib` raises where a path cannot exist (a name of 300 letters, an unknown `~user`); a text that
a user wrote may be anything, so here such a path is one at which there is nothing.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shlex
import shutil
from pathlib import Path
from tempfile import mkdtemp

#: The config and the prepared folder that verbs look for in the current folder.
CONFIG = Path("eval_config.yaml")
WORK_DIR = Path("work_dir")


def place(text: str | Path, folder: Path) -> Path:
    """The absolute path that a text means; `~user` stays as it is where there is no such user."""
    # Path.expanduser raises for an unknown user.
    return folder / os.path.expanduser(text)  # noqa: PTH111


def last_part(text: str) -> str:
    """The last part of a path or of a hub id: a model's name without its owner and folders.

    >>> last_part("org/model"), last_part("/data/model/"), last_part("model")
    ('model', 'model', 'model')
    """
    return text.rstrip("/").rpartition("/")[2]


def exists(path: Path) -> bool:
    """Returns whether there is anything; False also for a path that cannot be."""
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises for a name that is too long


def is_folder(path: Path) -> bool:
    """Returns whether there is a folder; False also for a path that cannot be."""
    return os.path.isdir(path)  # noqa: PTH112 - as above


def is_file(path: Path) -> bool:
    """Returns whether there is a file; False also for a path that cannot be."""
    return os.path.isfile(path)  # noqa: PTH113 - as above


def flaw(path: Path) -> str | None:
    """Returns why a folder cannot be made or filled at a path; None where it can.

    The path itself need not exist; what counts then is the first thing above it that does.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # said below, for the part of the path that it is about
    except OSError as error:
        return error.strerror
    candidates = (path, *path.parents)
    existing = next(candidate for candidate in candidates if exists(candidate))
    if not is_folder(existing):
        return f"{existing} is not a folder"
    if not os.access(existing, os.W_OK | os.X_OK):
        return f"{existing} is not writable"
    return None


def nearby(path: Path | str) -> str:
    """A path relative to the working directory where it lies in it; elsewhere absolute."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links
    here = Path.cwd()
    if whole.is_relative_to(here):
        return str(whole.relative_to(here))
    return str(whole)


def typed(path: Path | str) -> str:
    """A path as one types it in a shell, quoted where that is needed.

    Relative in the working directory; elsewhere absolute, with `~` for the user's home folder.
    """
    text = without_home(nearby(path))
    if not text.startswith("~/"):
        return shlex.quote(text)
    # A shell takes a quoted tilde for a name.
    return f"~/{shlex.quote(text[2:])}"


_PARTS = 2  # of a folder that lies neither in the working directory nor at home


def without_home(path: str) -> str:
    """A path with `~` for the user's home folder; every other text as it is."""
    home = str(Path.home())
    is_inside = path == home or path.startswith((f"{home}/", f"{home}\\"))
    if not is_inside or _home_is_root():
        return path
    return f"~{path[len(home) :]}"


def _home_is_root() -> bool:
    """Returns whether the home folder is `/`, in which every path lies."""
    return Path.home() == Path("/")


def shareable_folder(folder: Path) -> str:
    """A folder without what lies above the working directory or the user's home folder.

    Elsewhere its last two parts: pages are shared, and no reader has the author's disk.
    """
    whole = str(folder)
    if not folder.is_absolute():
        return whole
    here = Path.cwd()
    if folder.is_relative_to(here):
        return str(folder.relative_to(here))
    in_home = without_home(whole)
    if in_home != whole:
        return in_home
    last_parts = folder.parts[-_PARTS:]
    return str(Path("…", *last_parts))


def shareable_text(text: str) -> str:
    """A text without the paths of the working directory and of the user's home folder.

    >>> shareable_text(f"--include_path {Path.cwd()}/work_dir")
    '--include_path work_dir'
    """
    short = _cut(text, Path.cwd(), "")
    return _cut(short, Path.home(), "~/")


def _cut(text: str, folder: Path, short: str) -> str:
    """A text with another beginning for the paths inside a folder."""
    if folder == Path("/"):
        return text
    return text.replace(f"{folder}/", short)


def user_cache() -> Path:
    """The folder for what can be made anew.

    It is `$EVALPREP_CACHE`, `$XDG_CACHE_HOME/evalprep` or `~/.cache/evalprep`.
    """
    chosen = os.environ.get("EVALPREP_CACHE")
    if chosen:
        return Path(chosen)
    return caches() / "evalprep"


def caches() -> Path:
    """The folder in which programs keep their caches: `$XDG_CACHE_HOME`, else `~/.cache`."""
    return user_folder("XDG_CACHE_HOME", ".cache")


def user_folder(variable: str, below_home: str) -> Path:
    """The folder that a variable of the XDG names, else one below the user's home folder.

    A relative one counts as none, as the specification says: it would be made wherever she stands.
    """
    chosen = os.environ.get(variable, "")
    return Path(chosen) if os.path.isabs(chosen) else Path.home() / below_home  # noqa: PTH117


def make_home_absolute() -> None:
    """Replaces a relative HOME of this process, and of those that it starts, by the user's own.

    Each library that keeps a cache would make it wherever she stands.
    """
    home = os.environ.get("HOME")
    if home is None or os.path.isabs(home):  # noqa: PTH117
        return
    try:
        os.environ["HOME"] = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a container that does not know its user
        os.environ["HOME"] = mkdtemp(prefix=f"evalprep-home-{os.getpid()}-")
        atexit.register(shutil.rmtree, os.environ["HOME"], ignore_errors=True)
