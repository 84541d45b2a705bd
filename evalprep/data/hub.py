"""Fetch files of a hub data set, or find them in the hub cache when offline; every failure says what to do."""

from __future__ import annotations

import os
from pathlib import Path

from evalprep.errors import BadInput, Problem


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
    from huggingface_hub import errors, snapshot_download

    try:
        return Path(snapshot_download(location, repo_type="dataset", revision=revision, allow_patterns=patterns))
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
        offline = os.environ.get("HF_HUB_OFFLINE") in {"1", "true", "True", "TRUE", "ON", "YES"}
        reason = (
            "HF_HUB_OFFLINE is set and it is not in the hub cache"
            if offline
            else f"the hub cannot be reached ({type(error).__name__})"
        )
        raise BadInput(
            Problem(
                what=f"{location}: {reason}",
                where=where,
                fix=f"unset HF_HUB_OFFLINE once to fetch it, or give the path of a local copy of {location}",
            )
        ) from None
    except (errors.HFValidationError, ValueError):
        raise BadInput(
            Problem(what=f"{location!r} is not a hub id", where=where, allowed="owner/name, or a local path")
        ) from None
