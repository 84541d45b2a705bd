"""Fetch files of a hub data set, or find them in the hub cache when offline.

Every failure says what to do.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from evalprep.errors import BadInput, Problem
from evalprep.files import read_json, write_atomically
from evalprep.places import caches

QUIET_FILES = 2
#: Before a place in a data set of the hub, so that a misspelt path of this machine is never asked
# for there.
ON_HUB = "hub:"


class HubFailure(BadInput):
    """Raised where a data set of the hub can be had neither from there nor from the cache.

    Attributes:
        location: Hub id of the data set.
    """

    def __init__(self, location: str, problem: Problem) -> None:
        super().__init__(problem)
        self.location = location


def hub_snapshot(location: str, revision: str | None, patterns: list[str], where: str) -> Path:
    """Fetches files of a hub data set into the hub cache, or finds them there when offline.

    Args:
        location: Hub id `owner/name`.
        revision: Branch, tag or commit.
        patterns: File patterns to fetch.
        where: Who asked, for messages.

    Returns:
        The snapshot folder; its name is the commit.

    Raises:
        BadInput: no hub id.
        HubFailure: gated, unknown, unreachable, or not cached while offline.
    """
    from huggingface_hub import snapshot_download

    with _translate_failures(location, revision, where), _bars(shown=len(patterns) > QUIET_FILES):
        folder = snapshot_download(
            location, repo_type="dataset", revision=revision, allow_patterns=patterns
        )
    return Path(folder)


def on_hub(place: Path | str) -> bool:
    """Returns whether a place is named as one in a data set of the hub."""
    return str(place).startswith(ON_HUB)


def logs_at(place: str, where: str) -> Path:
    """Fetches the JSON and parquet files of a folder of a hub data set, or that file.

    Args:
        place: `hub:owner/name/folder`, or a file in place of the folder.
        where: Who asked, for messages.

    Returns:
        The folder or file in the hub cache.

    Raises:
        BadInput: no such place, or as for `hub_snapshot`.
    """
    owner, _, rest = place.removeprefix(ON_HUB).partition("/")
    name, _, inside = rest.partition("/")
    if not inside or {"", ".", ".."} & set(inside.split("/")) or set(inside) & set("*?["):
        raise BadInput(
            Problem(
                what=f"{place!r} is not a folder of a data set of the hub",
                where=where,
                allowed="hub:owner/name/folder, such as "
                "hub:open-unlearning/eval/tofu_Llama-3.2-1B-Instruct_retain90",
            )
        )
    location = f"{owner}/{name}"
    patterns = [inside, f"{inside}/*.json", f"{inside}/*.parquet"]
    logs = hub_snapshot(location, None, patterns, where) / inside
    if not logs.exists():
        # Offline a snapshot is found although this part of it was never fetched.
        absent = ""
        fix = "see its page on the hub for its folders"
        if is_offline():
            absent = " in the hub cache, and HF_HUB_OFFLINE is set"
            fix = "unset HF_HUB_OFFLINE once to fetch it"
        raise BadInput(Problem(what=f"{location} has no {inside}{absent}", where=where, fix=fix))
    return logs


def is_offline() -> bool:
    """Returns whether the user asked for no call to a hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "TRUE", "ON", "YES"}


def hub_files(location: str, revision: str | None, where: str) -> tuple[str, list[str]]:
    """The commit that a revision means now, and the names of all its files.

    What the hub says of a commit is remembered, so that a later call offline finds the same files;
    without that, offline, those are all that are in the hub cache.

    Raises:
        BadInput: no hub id.
        HubFailure: as for `hub_snapshot`.
    """
    listed = None if is_offline() else _ask_for_files(location, revision, where)
    if listed is not None:
        file = _listing(location, listed[0])
        with contextlib.suppress(OSError):  # a cache that cannot be written costs a call
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, json.dumps(listed[1]))
        return listed
    # The hub is away; the cache may have what is needed.
    snapshot = hub_snapshot(location, revision, ["README.md"], where)
    with contextlib.suppress(OSError, ValueError):
        return snapshot.name, list(read_json(_listing(location, snapshot.name), own=True))
    names = (path.relative_to(snapshot) for path in snapshot.rglob("*") if path.is_file())
    return snapshot.name, sorted(name.as_posix() for name in names)


def _ask_for_files(location: str, revision: str | None, where: str) -> tuple[str, list[str]] | None:
    """The commit and the files of a data set as the hub lists them; None where the hub is away.

    Raises:
        HubFailure: the hub answers that there is no such thing for this user.
    """
    from huggingface_hub import HfApi, errors

    refusals = (errors.GatedRepoError, errors.RepositoryNotFoundError, errors.RevisionNotFoundError)
    with _translate_failures(location, revision, where):
        try:
            info = HfApi().repo_info(location, repo_type="dataset", revision=revision)
        except _transport_failures() as error:
            if isinstance(error, refusals):
                raise
            return None
    return str(info.sha), sorted(sibling.rfilename for sibling in info.siblings or ())


def _listing(location: str, commit: str) -> Path:
    return caches() / "evalprep" / "hub" / location.replace("/", "--") / f"{commit}.json"


@contextlib.contextmanager
def _bars(*, shown: bool) -> Iterator[None]:
    """A card and a file or two are fetched without a word."""
    from huggingface_hub.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    if shown or are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


def _transport_failures() -> tuple[type[Exception], ...]:
    """Returns the errors of a call to the hub that fails on the way, whatever client is installed.

    huggingface_hub 0.x asks through requests, 1.x through httpx, 2.x through httpx2; errors of the
    latter two are no OSError. `HfHubHTTPError` derives from the HTTP error of the client in use.
    """
    from huggingface_hub import errors

    own = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    transport = [kind for kind in own if issubclass(kind, Exception)]
    clients = [kind for kind in errors.HfHubHTTPError.__mro__ if kind.__name__ == "HTTPError"]
    return tuple({*transport, *clients, OSError} - {errors.HFValidationError})


@contextlib.contextmanager
def _translate_failures(location: str, revision: str | None, where: str) -> Iterator[None]:
    """Turns what huggingface_hub raises into what the user can do.

    Raises:
        BadInput: `location` is no hub id.
        HubFailure: anything else.
    """
    from huggingface_hub import errors

    failures: tuple[type[Exception], ...] = (*_transport_failures(), ValueError)
    try:
        yield
    except errors.HFValidationError:
        raise BadInput(
            Problem(
                what=f"{location!r} is not a hub id",
                where=where,
                allowed="owner/name, or a local path",
            )
        ) from None
    except failures as error:
        what, fix = _explain(error, location, revision)
        raise HubFailure(location, Problem(what=what, where=where, fix=fix)) from None


def hub_problem(error: BaseException, location: str) -> Problem | None:
    """The failed call to the hub behind an error of another library, and what the user can do.

    None where no call to the hub failed.
    """
    from huggingface_hub import errors

    kinds = (errors.HfHubHTTPError, errors.OfflineModeIsEnabled, ConnectionError)
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, (*kinds, errors.LocalEntryNotFoundError)):
        cause = cause.__cause__ or cause.__context__
    if not isinstance(cause, Exception):
        return None
    what, fix = _explain(cause, location, None)
    return Problem(what=what, fix=fix)


def _explain(error: Exception, location: str, revision: str | None) -> tuple[str, str]:
    """Returns why a call to the hub failed, and the fix."""
    from huggingface_hub import errors, get_token

    local = f"give the path of a local copy of {location}"
    match error:
        case errors.GatedRepoError():
            with_token = ", and the account of your token has no access" if get_token() else ""
            way = "with that account" if with_token else "and set HF_TOKEN"
            page = f"https://huggingface.co/datasets/{location}"
            return (
                f"{location} is gated{with_token}",
                f"accept its terms at {page} {way}, or {local}",
            )
        case errors.RepositoryNotFoundError():
            what = f"{location} is not on the hub, or is private"
            return what, "check the id, set HF_TOKEN, or give a local path"
        case errors.RevisionNotFoundError():
            return f"{location} has no revision {revision!r}", "give a branch, tag or commit"
    cached = _cache_state(location, revision)
    if is_offline():
        what = f"{location}: HF_HUB_OFFLINE is set, and {cached}"
        return what, f"unset HF_HUB_OFFLINE once to fetch it, or {local}"
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"the hub answered {status} for {location}; {cached}", f"try again, or {local}"
    what = f"could not reach the hub for {location} ({type(error).__name__}); {cached}"
    return what, f"try again, or {local}"


def _cache_state(location: str, revision: str | None) -> str:
    """Returns whether the cache has something of a data set, in words."""
    from huggingface_hub import snapshot_download

    failures: tuple[type[Exception], ...] = (*_transport_failures(), ValueError)
    try:
        folder = Path(
            snapshot_download(
                location, repo_type="dataset", revision=revision, local_files_only=True
            )
        )
    except failures:
        return "it is not in the hub cache"
    return f"the hub cache has only a part of its commit {folder.name[:12]}"
