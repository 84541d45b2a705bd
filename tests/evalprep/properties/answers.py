"""What each verb says of a pair of runs: the verbs of the command line, run in this process, as data."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree.ElementTree import Element, parse

import pytest

from evalprep.cli import main
from tests.evalprep.properties.pairs import Pair, write_pair

#: In place of the packs that ship: none of them knows a task of a pair, and to read them takes a fifth of the time.
NO_PACKS = Path(__file__).parent / "no_packs"
LISTS = ("tasks", "metrics", "further", "stored", "suite")
LABELS = "candidate-run,baseline-run"


def run(*arguments: Any) -> tuple[int, Any]:
    """The exit code of a command, and what it prints with --json."""
    out, err = StringIO(), StringIO()
    shipped = mock.patch("evalprep.packs.finding.TEMPLATES", NO_PACKS)
    with redirect_stdout(out), redirect_stderr(err), shipped:
        code = main([*map(str, arguments), "--json"])
    assert code != 70, err.getvalue()
    return code, json.loads(out.getvalue()) if out.getvalue().strip() else err.getvalue()


@dataclass
class Answers:
    """The answers of the verbs about a candidate and a baseline; each verb runs once, when it is asked for."""

    now: str
    before: str
    packs: Path
    folder: Path

    @property
    def homes(self) -> tuple[str, str]:
        return self.now, self.before

    @property
    def options(self) -> tuple[Any, ...]:
        return "--template_dir", self.packs, "--label", LABELS

    @cached_property
    def compare(self) -> tuple[int, Any]:
        return run("compare", *self.homes, "--no_write", *self.options)

    @cached_property
    def quantities(self) -> dict[str, dict[str, Any]]:
        """Kind and name -> conclusion of compare."""
        return quantities_of(self.compare[1])

    @cached_property
    def gate(self) -> tuple[int, Any]:
        scores = json.loads((self.packs / "drawn" / "pack.yaml").read_text())["suite_scores"]
        policy = {
            "metrics": "all",
            "defaults": {"max_drop": 0.0, "min_n": 1},
            "overall": {"max_drop": 0.0, "min_n": 1},
            "suite": {name: {"max_drop": 0.0, "min_n": 1} for name in scores},
        }
        path = self.folder / "policy.yaml"
        path.write_text(json.dumps(policy), encoding="utf-8")
        return run("gate", *self.homes, "--policy", path, *self.options)

    @cached_property
    def checks(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Kind and name -> check."""
        code, verdict = self.gate
        assert code != 2, verdict
        return {(check["kind"], check["name"]): check for check in verdict["checks"]}

    @cached_property
    def board(self) -> Any:
        return run("leaderboard", *self.homes, *self.options)[1]

    @cached_property
    def cells(self) -> list[dict[str, dict[str, Any]]]:
        """The cells of the candidate and of the baseline by column."""
        rows = {row["label"]: row["cells"] for row in self.board["rows"]}
        return [rows[label] for label in LABELS.split(",")]

    @cached_property
    def report(self) -> Any:
        out = self.folder / "report"
        run(
            "report",
            self.now,
            "--baseline",
            self.before,
            "--out",
            out,
            "--format",
            "json",
            *self.options,
        )
        return json.loads((out / "report.json").read_text())

    @cached_property
    def exported(self) -> dict[str, Element]:
        """Kind and name -> test case of JUnit XML."""
        out = self.folder / "exported"
        code, said = run(
            *("export", self.now, "--baseline", self.before, "--to", "junit", "--out", out),
            *self.options,
        )
        assert code == 0, said
        cases = parse(out / "junit.xml").iter("testcase")
        return {
            f"{case.get('classname').removeprefix('evalprep.')} {case.get('name')}": case
            for case in cases
        }

    @cached_property
    def scores(self) -> list[Any]:
        return [
            run("score", home, "--no_write", "--template_dir", self.packs)[1] for home in self.homes
        ]

    def own_values(self, place: int) -> dict[tuple[str, str], tuple[float | None, int | None]]:
        """Kind and name -> value and rows, as `score` has them of one side."""
        scores = self.scores[place]
        tasks = {
            ("task", task["task"]): (task["micro"]["agg_value"], task["micro"].get("n"))
            for task in scores["tasks"]
        }
        suite = {
            ("suite", f"{score['pack']}/{score['name']}"): (score["value"], score["n"])
            for score in scores["suite"]
        }
        return tasks | suite


@contextmanager
def answers_about(*pairs: Pair) -> Iterator[list[Answers]]:
    """The answers about some pairs, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        every = []
        for place, pair in enumerate(pairs):
            folder = Path(name) / str(place)
            folder.mkdir()
            every.append(Answers(*write_pair(folder, pair), folder))
        yield every


def check(pair: Pair, breaks: Iterator[str]) -> None:
    """Fail with what was done to the pair, where a property breaks."""
    found = list(breaks)
    if found:
        pytest.fail("\n".join([f"{pair.history}: {len(found)} breaks", *found[:20]]))


def quantities_of(comparison: Any) -> dict[str, dict[str, Any]]:
    """Kind and name -> conclusion."""
    found = {f"{item['kind']} {item['name']}": item for name in LISTS for item in comparison[name]}
    together = (comparison["overall"], comparison["pooled"])
    return found | {f"overall {item['name']}": item for item in together if item is not None}
