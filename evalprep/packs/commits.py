"""The versions of installed packages, and the commits of evalprep and lm-eval where git has one."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

_PACKAGES = ("evalprep", "lm_eval")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST = 10_000_000  # bytes of a file of git


def installed_version(package: str) -> str:
    """Returns the version of an installed package; empty where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def commits() -> dict[str, str]:
    """Returns package -> commit that it was installed from; without those of a package index."""
    known = {name: _of_checkout(name) or _of_repository(name) for name in _PACKAGES}
    return {name: commit for name, commit in known.items() if commit}


def _of_checkout(package: str) -> str:
    """The commit of the checkout whose top folder holds a package; empty for another place.

    Git itself may not be installed, so its files are read.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return ""
    with suppress(OSError, UnicodeDecodeError):
        return commit_of(Path(spec.origin).resolve().parent.parent)
    return ""


def commit_of(checkout: Path) -> str:
    """Returns the commit that a checkout stands at; empty where that cannot be told.

    Raises:
        OSError, UnicodeDecodeError: a file of git cannot be read.
    """
    folder = checkout / ".git"
    if folder.is_file():  # of a worktree
        folder = checkout / _text(folder).removeprefix("gitdir:").strip()
    if not folder.is_dir():
        return ""
    head = _text(folder / "HEAD").strip()
    if _COMMIT.fullmatch(head):
        return head
    reference = head.removeprefix("ref:").strip()
    common = folder / "commondir"
    shared = folder / _text(common).strip() if common.is_file() else folder
    for place in (folder / reference, shared / reference):
        if place.is_file() and _COMMIT.fullmatch(commit := _text(place).strip()):
            return commit
    packed = shared / "packed-refs"
    lines = _text(packed).splitlines() if packed.is_file() else []
    found = (line.partition(" ")[0] for line in lines if line.endswith(f" {reference}"))
    return next((commit for commit in found if _COMMIT.fullmatch(commit)), "")


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MOST).decode("utf-8")


def _of_repository(package: str) -> str:
    """The commit that pip installed a package at; empty where it came from elsewhere."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        stated = json.loads(distribution(package).read_text("direct_url.json") or "{}")
        commit = stated["vcs_info"]["commit_id"]
    except (PackageNotFoundError, ValueError, KeyError, TypeError):
        return ""
    return commit if isinstance(commit, str) and _COMMIT.fullmatch(commit) else ""
