"""SIGKILL at random moments.

Each file is the complete old or the complete new one, each row is there once.

    python -m benchmarks.faults.kills [--share 0.1] [--seed 0]

A killed judge pays for no request twice beyond those in flight. In half of the cases the children
of a command are killed with it. The verb `run`, which starts engines, is in `run_kills`.
"""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
import tempfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.faults import Row, main, timed
from benchmarks.faults.commands import Outcome
from benchmarks.faults.project import (
    CONFIG,
    IN_FLIGHT,
    JUDGED,
    QUESTIONS,
    WRITING,
    evalprep,
    judge_service,
    problem_of,
    start,
    write_project,
    write_ready,
)
from evalprep.annotate.ledger import Ledger
from evalprep.annotate.place import FILE

KILLS = 100
#: Kills of one project before the verb must come to its end, and a fresh project follows.
IN_A_ROW = 5
FINE = {0, 1, 3}
END_SECONDS = 600.0
ORPHAN_SECONDS = 90.0
_NUMBERS = re.compile(rb"[0-9a-f]{6,}|[0-9]+")
_TEXTS = {".json", ".jsonl", ".csv", ".md", ".html", ".yaml", ".sh"}


@dataclass
class Subject:
    """A verb to be killed: its project, how long it takes, and how its complete files end."""

    verb: str
    project: Path
    config: str = CONFIG
    seconds: float = 0.0
    endings: dict[bytes, set[bytes]] = field(default_factory=dict)

    def renew(self) -> None:
        """Makes a fresh project in the place of the old one."""
        shutil.rmtree(self.project, ignore_errors=True)
        if self.config == CONFIG:
            write_ready(self.project, self.verb)
            return
        write_project(self.project)
        (self.project / "eval_config.yaml").write_text(self.config)
        prepared = evalprep(WRITING["prepare"], self.project)
        assert prepared.code == 0, prepared.text

    def learn(self) -> None:
        """Calls the verb twice, unharmed.

        Keeps the shorter time and the endings of its files.
        """
        self.renew()
        times = []
        for _ in range(2):
            self._learn_endings()
            outcome = evalprep(WRITING[self.verb], self.project, limit=END_SECONDS)
            assert outcome.code in FINE, outcome.text
            times.append(outcome.seconds)
        self._learn_endings()
        self.seconds = max(times) if self.verb in {"run", "judge"} else min(times)

    def _learn_endings(self) -> None:
        for path in files_below(self.project):
            if path.suffix in _TEXTS:
                name, ending = self._name_and_ending(path)
                self.endings.setdefault(name, set()).add(ending)

    def _name_and_ending(self, path: Path) -> tuple[bytes, bytes]:
        name = str(path.relative_to(self.project)).encode()
        # Cut once more afterwards: numbers are of different lengths.
        ending = _NUMBERS.sub(b"0", path.read_bytes()[-96:])[-12:]
        return _NUMBERS.sub(b"0", name), ending

    def damage(self) -> str | None:
        """The first file that is not whole; None without one."""
        if problem := damage_below(self.project):
            return problem
        for path in files_below(self.project):
            name, ending = self._name_and_ending(path)
            if name in self.endings and ending not in self.endings[name]:
                return f"{path.relative_to(self.project)} ends with {ending!r}"
        return None


def rows(share: float, seed: int) -> list[Row]:
    """One row per verb: kills after which all files were whole.

    The verb came to its end again after each.
    """
    verbs = [verb for verb in WRITING if verb != "run"]
    return [kill(verb, CONFIG, part(KILLS, share), seed) for verb in verbs]


def part(count: int, share: float) -> int:
    """A part of some kills, at least one."""
    return max(1, round(share * count))


def kill(verb: str, config: str, kills: int, seed: int, engine: str = "") -> Row:
    """Kills a verb some times at random moments."""
    draw = random.Random(f"{seed} {verb} {engine}")
    name = f"SIGKILL during {verb}" + (f", {engine}" if engine else "")
    with timed(name) as row, tempfile.TemporaryDirectory(prefix="kills-") as place:
        subject = Subject(verb, Path(place, "project"), config)
        subject.learn()
        subject.renew()
        paid = requests()
        for number in range(kills):
            moment = subject.seconds * draw.uniform(0.0, 1.05)
            command = start(WRITING[verb], subject.project)
            command.ended(moment)
            command.kill(children=draw.random() < 0.5)
            command.outcome(END_SECONDS)
            alive = command.deserted(ORPHAN_SECONDS)
            problem = "its children go on" if alive else subject.damage()
            row.add(f"kill {number} after {moment:.2f} s", problem)
            if number % IN_A_ROW == IN_A_ROW - 1 or number == kills - 1:
                problem = _end(subject, number % IN_A_ROW + 1, paid)
                row.add(f"to its end after kill {number}", problem)
                subject.renew()
                paid = requests()
        row.note = f"{kills} kills within {subject.seconds:.1f} s, each {IN_A_ROW} to the end"
    return row


def requests() -> int:
    """Requests that the judge has answered."""
    return len(judge_service().requests)


def _end(subject: Subject, kills: int, paid: int) -> str | None:
    """What is wrong with the verb's end after some kills; None where nothing is."""
    outcome = _call_when_free(subject)
    if problem := problem_of(outcome, FINE) or subject.damage():
        return problem
    if subject.verb == "judge":
        return _judge_problem(subject.project, kills, requests() - paid)
    if subject.verb == "run":
        return _run_problem(subject.project)
    return None


def _call_when_free(subject: Subject) -> Outcome:
    """Calls the verb; again while the worker of a killed run, which has its own session, ends."""
    until = time.monotonic() + ORPHAN_SECONDS
    while True:
        outcome = evalprep(WRITING[subject.verb], subject.project, limit=END_SECONDS)
        if "under way in another process" not in outcome.text or time.monotonic() > until:
            return outcome
        time.sleep(0.5)


def _judge_problem(project: Path, kills: int, sent: int) -> str | None:
    with Ledger(project / "judged" / FILE) as ledger:
        statuses = [row.status for several in ledger.attempts().values() for row in several]
    answers = statuses.count("received")
    if answers != QUESTIONS:
        return f"{answers} answers to {QUESTIONS} questions about {len(JUDGED)} tasks"
    if sent > QUESTIONS + kills * IN_FLIGHT:
        return f"{sent} requests for {QUESTIONS} questions and {kills} kills"
    return None


def _run_problem(project: Path) -> str | None:
    results = project / "eval_results"
    samples = [path for path in files_below(results) if path.name.startswith("samples_")]
    lines = [path.read_text().splitlines() for path in samples]
    if [len(line) for line in lines] == [8]:
        return None
    return f"samples of {[len(line) for line in lines]} rows; expected one file of 8"


def files_below(project: Path) -> list[Path]:
    """The files of a project that a reader sees: none in a hidden folder."""
    files = []
    for path in sorted(project.rglob("*")):
        parts = path.relative_to(project).parts
        hidden = any(part.startswith(".") for part in parts) or parts[0] == "home"
        if path.is_file() and not hidden and path.name != "output.txt":
            files.append(path)
    return files


def damage_below(project: Path) -> str | None:
    """The first file that is neither whole nor hidden; None without one."""
    for path in files_below(project):
        if problem := _damage_of(path):
            return f"{path.relative_to(project)} {problem}"
    return None


def _damage_of(path: Path) -> str:
    try:
        match path.suffix:
            case ".json":
                json.loads(path.read_text())
            case ".jsonl":
                return _damage_of_rows([json.loads(line) for line in path.open()])
            case ".csv":
                with path.open(newline="") as file:
                    widths = {len(line) for line in csv.reader(file)}
                return "has rows of different widths" if len(widths) > 1 else ""
            case ".xlsx":
                with zipfile.ZipFile(path) as book:
                    return "is damaged" if book.testzip() else ""
            case ".html":
                return "" if path.read_text().rstrip().endswith("</html>") else "ends early"
    except (ValueError, zipfile.BadZipFile) as error:
        return f"cannot be read: {error}"
    return ""


def _damage_of_rows(lines: list[dict[str, object]]) -> str:
    numbers = [line["doc_id"] for line in lines if "doc_id" in line]
    return "has a row twice" if len({*numbers}) < len(numbers) else ""


if __name__ == "__main__":
    raise SystemExit(main(rows))
