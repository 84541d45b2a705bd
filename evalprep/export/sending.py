"""Uploads: shown first, and sent only where the user repeats their digest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalprep.credentials import redacted
from evalprep.errors import BadInput, Problem
from evalprep.files import file_sha256

_DIGITS = 12


@dataclass(frozen=True)
class Parcel:
    """Files and where they would go.

    Attributes:
        folder: The folder that the files lie in.
        files: The files.
        destination: Repository or server.
        variable: The environment variable that opens it; empty where none has to be set.
    """

    folder: Path
    files: Sequence[Path]
    destination: str
    variable: str

    @property
    def entries(self) -> list[tuple[str, int, str]]:
        """Path below the folder, bytes and sha256 of each file."""
        return [
            (path.relative_to(self.folder).as_posix(), path.stat().st_size, file_sha256(path))
            for path in self.files
        ]

    @property
    def digest(self) -> str:
        """Returns what the user repeats to send exactly these files to exactly this place."""
        text = repr((self.destination, sorted(self.entries)))
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]

    def check(self, confirmed: str) -> None:
        """Refuses to send what has not been shown, and what nothing opens.

        Raises:
            BadInput: another digest, or no credential in the environment.
        """
        if confirmed != self.digest:
            what = "nothing was shown yet" if not confirmed else "what would be sent has changed"
            raise BadInput(
                Problem(
                    what=f"{what}, so nothing is sent",
                    where="--upload",
                    fix="run the command with --dry_run, then with the digest that it prints",
                )
            )
        if self.variable and not os.environ.get(self.variable):
            raise BadInput(
                Problem(
                    what=f"the environment has no {self.variable}",
                    where=f"--upload to {redacted(self.destination)}",
                    fix=f"export {self.variable}=..., which is neither printed nor stored",
                )
            )


def send_to_hub(parcel: Parcel, repository: str, kind: str) -> str:
    """Opens a pull request on the hub with the files of a parcel; returns a sentence.

    Args:
        parcel: The files.
        repository: `org/name`.
        kind: `model` or `dataset`.

    Raises:
        BadInput: the hub refuses.
    """
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    operations: list[Any] = [
        CommitOperationAdd(path_in_repo=name, path_or_fileobj=str(parcel.folder / name))
        for name, _, _ in parcel.entries
    ]
    api = HfApi(token=os.environ[parcel.variable])
    try:
        commit = api.create_commit(
            repository,
            operations,
            commit_message="Add evaluation results",
            repo_type=kind,
            create_pr=True,
        )
    except (HfHubHTTPError, OSError) as error:
        problem = Problem(what=f"the hub refuses: {redacted(str(error))[:300]}", where=repository)
        raise BadInput(problem) from error
    return f"sent to {repository}: {commit.pr_url}"
