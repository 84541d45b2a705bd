"""Ratings beside a run: `judge_<stamp>/ratings.jsonl`, one line per answer, and `judge.json`, whose they are.

A line is on the disk before the next answer is counted, so whatever stops the program costs no paid answer twice. A
line that is cut or not ours is passed over.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from evalprep.annotate.question import STATUSES, Asked, Judge, Judgement
from evalprep.errors import BadInput, Problem
from evalprep.files import lock, write_atomically
from evalprep.results import RunFiles

SCHEMA = 1


def judge_folder(files: RunFiles) -> Path:
    """Where the ratings of a run are kept."""
    return files.folder / f"judge_{files.stamp}"


class RatingsFile:
    """The ratings of one run, of all judges that were asked.

    Attributes:
        known: Key -> judgement, the last line of a key counts.
        damaged: Lines that could not be used.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "ratings.jsonl"
        self._read()

    def _read(self) -> None:
        self.known: dict[str, Judgement] = {}
        self.damaged = 0
        if self.path.is_file():
            with self.path.open("rb") as file:
                for line in file:
                    self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            key, judgement = _judgement(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.damaged += 1
        else:
            self.known[key] = judgement

    @contextlib.contextmanager
    def adding(self, judge: Judge, base_url: str, questions: Collection[Asked]) -> Iterator[Callable[..., None]]:
        """Open for new answers of a judge; nobody else may add to the file meanwhile.

        The judge signs with its first rating, an earlier one of these questions or a new one, so that one that never
        gives any does not displace another's ratings. A file that never got a line is removed, and the folder with it.

        Args:
            judge: Whose answers they are.
            base_url: Where it is asked.
            questions: All of them, the known ones too.

        Returns:
            A function of `Asked` and `Judgement` that keeps an answer; when it returns, the answer is on the disk.

        Raises:
            BadInput: the place cannot be written, or another process has it open.
        """
        with self._opened() as file:
            self._read()  # another process may have added to it since
            free = all(one.question.fixed is not None for one in questions)
            signed = False

            def note(judgement: Judgement | None) -> None:
                nonlocal signed
                if not signed and judgement is not None and judgement.status == "ok" and (judgement.attempts or free):
                    self._sign(judge, base_url)
                    signed = True

            def add(asked: Asked, judgement: Judgement) -> None:
                file.write(_line(asked, judge, judgement))
                file.flush()
                os.fsync(file.fileno())
                self.known[asked.key] = judgement
                note(judgement)

            for asked in questions:
                note(self.known.get(asked.key))
            yield add

    @contextlib.contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = self.path.open("ab")
        except OSError as error:
            raise BadInput(
                Problem(
                    what=f"cannot write: {error.strerror}", where=str(self.folder), fix="free space or make it writable"
                )
            ) from error
        with file:
            taken = Problem(
                what="another `evalprep judge` is asking about this run",
                where=str(self.path),
                fix="wait for its end, or stop it; its answers are kept",
            )
            lock(file, taken)
            try:
                if file.tell() and not _ends_with_newline(self.path):
                    file.write(b"\n")
                yield file
            finally:
                if file.tell() == 0:
                    self.path.unlink(missing_ok=True)
                    with contextlib.suppress(OSError):  # holds something else
                        self.folder.rmdir()

    def _sign(self, judge: Judge, base_url: str) -> None:
        """Say that scores take the ratings of this judge from now on."""
        content = {"schema": SCHEMA, "model": judge.model, "gen_kwargs": dict(judge.gen_kwargs), "base_url": base_url}
        write_atomically(self.folder / "judge.json", json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def _line(asked: Asked, judge: Judge, judgement: Judgement) -> bytes:
    question = asked.question
    line = {
        "key": asked.key,
        "judge": judge.model,
        "task": question.task,
        "sample_id": question.sample_id,
        "index": question.index,
        "status": judgement.status,
        "ratings": judgement.ratings and dict(judgement.ratings),
        "reply": judgement.reply,
        "reason": judgement.reason,
        "attempts": judgement.attempts,
    }
    return (json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def signed_judge(folder: Path) -> Judge | None:
    """The judge whose ratings scores take; None where none has been asked."""
    try:
        content = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
        return Judge(str(content["model"]), dict(content["gen_kwargs"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _judgement(line: Mapping[str, Any]) -> tuple[str, Judgement]:
    """Key and judgement of a line.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: not a line of ours.
    """
    status, ratings = line["status"], line["ratings"]
    if status not in STATUSES or (status == "ok") != isinstance(ratings, dict) or not isinstance(line["key"], str):
        raise ValueError(status)
    if ratings is not None:
        ratings = {str(name): _number(value) for name, value in ratings.items()}
    return line["key"], Judgement(status, ratings, line.get("reply"), str(line["reason"]), int(line["attempts"]))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(value)
    return value


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
