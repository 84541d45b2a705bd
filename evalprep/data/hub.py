"""Fetch files of a hub data set, or find them in the hub cache when offline; every failure says what to do."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from evalprep.errors import BadInput, Problem
from evalprep.files import write_atomically

QUIET_FILES = 2
#: Before a place in a data set of the hub, so that a misspelt path of this machine is never asked for there.
ON_HUB = "hub:"


def hub_snapshot(location: str, revision: str | None, patterns: list[str], where: str) -> Path:
    """Fetch files of a hub data set into the hub cache, or find them there when offline.

    Args:
        location: Hub id `owner/name`.
        revision: Branch, tag or commit.
        patterns: File patterns to fetch.
        where: Who asked, for messages.

    Returns:
        The snapshot folder; its name is the commit.

    Raises:
        BadInput: gated, unknown, unreachable, or not cached while offline.
    """
    from huggingface_hub import snapshot_download

    with _failures_told(location, revision, where), _bars(shown=len(patterns) > QUIET_FILES):
        return Path(snapshot_download(location, repo_type="dataset", revision=revision, allow_patterns=patterns))


def on_hub(place: Path | str) -> bool:
    """Whether a place is named as one in a data set of the hub."""
    return str(place).startswith(ON_HUB)


def logs_at(place: str, where: str) -> Path:
    """Fetch the JSON and parquet files of a folder of a hub data set, or that file.

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
                what=f"{place!r} is no folder of a data set of the hub",
                where=where,
                allowed="hub:owner/name/folder, such as hub:open-unlearning/eval/tofu_Llama-3.2-1B-Instruct_retain90",
            )
        )
    location = f"{owner}/{name}"
    found = hub_snapshot(location, None, [inside, f"{inside}/*.json", f"{inside}/*.parquet"], where) / inside
    if not found.exists():
        # Offline a snapshot is found although this part of it was never fetched.
        absent, fix = (
            (" in the hub cache, and HF_HUB_OFFLINE is set", "unset HF_HUB_OFFLINE once to fetch it")
            if is_offline()
            else ("", "see its page on the hub for its folders")
        )
        raise BadInput(Problem(what=f"{location} has no {inside}{absent}", where=where, fix=fix))
    return found


def is_offline() -> bool:
    """Whether the user asked for no call to a hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "TRUE", "ON", "YES"}


def hub_files(location: str, revision: str | None, where: str) -> tuple[str, list[str]]:
    """The commit that a revision means now, and the names of all its files.

    What the hub said of a commit is remembered, so that a later call offline finds the same files; without that,
    offline, those are all that are in the hub cache.

    Raises:
        BadInput: as for `hub_snapshot`.
    """
    if not is_offline():
        from huggingface_hub import HfApi, errors

        gone = (errors.GatedRepoError, errors.RepositoryNotFoundError, errors.RevisionNotFoundError)
        with _failures_told(location, revision, where):
            try:
                info = HfApi().repo_info(location, repo_type="dataset", revision=revision)
            except (errors.HfHubHTTPError, OSError) as error:
                if isinstance(error, gone):
                    raise
                # The hub is away; the cache may have what is needed.
            else:
                names = sorted(one.rfilename for one in info.siblings or ())
                _remember(location, str(info.sha), names)
                return str(info.sha), names
    snapshot = hub_snapshot(location, revision, ["README.md"], where)
    with contextlib.suppress(OSError, ValueError):
        return snapshot.name, list(json.loads(_listing(location, snapshot.name).read_text(encoding="utf-8")))
    return snapshot.name, sorted(
        path.relative_to(snapshot).as_posix() for path in snapshot.rglob("*") if path.is_file()
    )


def _listing(location: str, commit: str) -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "evalprep" / "hub" / location.replace("/", "--") / f"{commit}.json"


def _remember(location: str, commit: str, names: list[str]) -> None:
    file = _listing(location, commit)
    with contextlib.suppress(OSError):  # a cache that cannot be written costs a call
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(names))


@contextlib.contextmanager
def _bars(*, shown: bool) -> Iterator[None]:
    """A card and a file or two are fetched without a word."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if shown or are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


@contextlib.contextmanager
def _failures_told(location: str, revision: str | None, where: str) -> Iterator[None]:
    """Turn what huggingface_hub raises into what the user can do."""
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError:
        raise BadInput(
            Problem(
                what=f"{location} is gated",
                where=where,
                fix=f"accept its terms at its hub page and set HF_TOKEN, or give a local copy of {location}",
            )
        ) from None
    except errors.RepositoryNotFoundError:
        raise BadInput(
            Problem(
                what=f"{location} is not on the hub, or is private",
                where=where,
                fix="check the id, set HF_TOKEN, or give a local path",
            )
        ) from None
    except errors.RevisionNotFoundError:
        raise BadInput(
            Problem(what=f"{location} has no revision {revision!r}", where=where, fix="give a branch, tag or commit")
        ) from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, errors.HfHubHTTPError, OSError) as error:
        offline = is_offline()
        reason = (
            "HF_HUB_OFFLINE is set and it is not in the hub cache"
            if offline
            else f"the hub cannot be reached ({type(error).__name__})"
        )
        again = "unset HF_HUB_OFFLINE once to fetch it" if offline else "try again"
        raise BadInput(
            Problem(
                what=f"{location}: {reason}",
                where=where,
                fix=f"{again}, or give the path of a local copy of {location}",
            )
        ) from None
    except (errors.HFValidationError, ValueError):
        raise BadInput(
            Problem(what=f"{location!r} is not a hub id", where=where, allowed="owner/name, or a local path")
        ) from None
