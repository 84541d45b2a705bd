"""Ratings as 0.1.0 kept them: `judge_<stamp>/ratings.jsonl` and `judge.json`, read as rows of the ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalprep.annotate.answers import Who
from evalprep.annotate.ledger import Attempt, storable
from evalprep.files import read_object

_STATUS = {
    "ok": "imported", "incomplete": "imported", "parse_error": "imported", "invalid_score": "imported",
    "refused": "refused", "truncated": "truncated",
}  # fmt: skip


class Former:
    """The ratings beside one run.

    Args:
        folder: The folder of the run.
        stamp: Its time stamp.

    Attributes:
        who: The judge whose ratings counted; None where there are none.
        settings: Where it was asked.
        damaged: Lines that could not be used.
    """

    def __init__(self, folder: Path, stamp: str) -> None:
        self.folder = folder / f"judge_{stamp}"
        self.who: Who | None = None
        self.settings: dict[str, Any] = {}
        self.damaged = 0
        self._lines: dict[str, Mapping[str, Any]] = {}
        signature = read_object(self.folder / "judge.json")
        if isinstance(signature.get("model"), str) and isinstance(signature.get("gen_kwargs"), dict):
            self.who = Who(signature["model"], signature["gen_kwargs"])
            self.settings = {"base_url": str(signature.get("base_url", ""))}
        path = self.folder / "ratings.jsonl"
        if path.is_file():
            with path.open("rb") as file:
                for line in file:
                    self._take(line)

    def _take(self, raw: bytes) -> None:
        try:
            line = json.loads(raw)
            key, status = line["key"], line["status"]
        except (ValueError, KeyError, TypeError, RecursionError):
            self.damaged += 1
            return
        if not isinstance(key, str) or status not in _STATUS:
            self.damaged += 1
        elif isinstance(line.get("reply"), str):  # ratings without a call have none, and are made anew
            self._lines[key] = line

    def __bool__(self) -> bool:
        return bool(self._lines)

    def attempt(self, old_key: str, row: Attempt) -> Attempt | None:
        """What was kept under a key of 0.1.0.

        Args:
            old_key: The key.
            row: The row of the ledger that it becomes, without its answer.
        """
        from dataclasses import replace

        line = self._lines.get(old_key)
        if line is None:
            return None
        reason = line.get("reason")
        return replace(
            row,
            status=_STATUS[line["status"]],
            reply=storable(line["reply"]),
            reason=storable(reason) or "" if isinstance(reason, str) else "",
        )


def former_judge(model: str, sampling: Mapping[str, Any]) -> str:
    """How 0.1.0 named a judge in its keys."""
    return json.dumps([model, dict(sampling)], sort_keys=True)
