"""eval_config.lock: which commit of each hub data set a preparation read.

A later preparation reads the same commits.

    {"org/set": {"main": "0a1b..."}}

The names are the location, and the revision that was asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from evalprep.data.hub import hub_files, is_offline
from evalprep.data.sources import Source
from evalprep.errors import BadInput, Problem
from evalprep.files import read_json

#: What is asked for where nothing is.
NEWEST = "main"
Locked = Mapping[str, Mapping[str, str]]


def _holds_texts(commits: object) -> bool:
    """Returns whether an entry of the file is revision -> commit."""
    return isinstance(commits, dict) and all(isinstance(value, str) for value in commits.values())


def read_lock(path: Path) -> Locked:
    """The commits of a lock file; none where there is no file.

    Raises:
        BadInput: the file is damaged.
    """
    try:
        data = read_json(path, own=True)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        data = None
    if not isinstance(data, dict) or not all(map(_holds_texts, data.values())):
        raise BadInput(
            Problem(
                what="is not a lock file",
                where=str(path),
                allowed='{"owner/name": {"main": "commit"}}',
                fix="remove it: the next preparation writes it anew, from what the hub has then",
            )
        )
    return data


def commit_of(locked: Locked, location: str, revision: str | None) -> str | None:
    """The commit that is locked for a revision, else the revision itself."""
    return locked.get(location, {}).get(revision or NEWEST, revision)


def lock_text(locked: Locked, sources: Iterable[Source]) -> str:
    """The lock file with what these sources read; entries for other data sets stay."""
    data = {location: dict(commits) for location, commits in locked.items()}
    for source in sources:
        if source.revision is not None:
            data.setdefault(source.location, {})[source.requested or NEWEST] = source.revision
    ordered = {location: dict(sorted(data[location].items())) for location in sorted(data)}
    return json.dumps(ordered, indent=2) + "\n"


def moved(locked: Locked, sources: Iterable[Source]) -> list[str]:
    """Sentences about branches and tags that are no longer where the lock file has them.

    Offline there are none.
    """
    sentences: dict[str, None] = {}
    for source in sources:
        revision = source.requested or NEWEST
        commit = locked.get(source.location, {}).get(revision)
        if commit is None or commit == revision or is_offline():
            continue
        try:
            now, _ = hub_files(source.location, revision, source.location)
        except BadInput:
            continue  # it is gone, and the commit that is locked was read all the same
        if now != commit:
            sentences[
                f"{source.location}: {revision} is now {now[:12]}, "
                f"the lock file keeps {commit[:12]}"
            ] = None
    return list(sentences)
