"""Folders with files of each kind that evalprep reads, and the commands that read them."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.faults.grammar import PACK, RUBRIC
from benchmarks.faults.project import CONFIG, TASK, evalprep, write_run
from tests.oracle.folder import Folder
from tests.oracle.folders import all_folders

#: A judge that is asked nothing.
_JUDGE = "--model m --base_url http://127.0.0.1:9/v1 --dry_run --json"
_RUN = "run_*.json"


@dataclass(frozen=True)
class Target:
    """Files of one kind in some folder.

    Attributes:
        folder: The folder, which is the present one.
        files: Patterns of the files below it that are changed.
        lines: Command lines that read them.
    """

    folder: str
    files: tuple[str, ...]
    lines: tuple[str, ...]


def _prepared(home: Path) -> None:
    """A config of two tasks, a pack, rows in three formats, and what `prepare` and `run` made."""
    rows = [
        {"prompt": f"{at} + 1 =", "target": str(at + 1), "sample_id": str(at)} for at in range(8)
    ]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, home / "rows.parquet")
    lines = [f'{{"prompt": "{at} + 1 =", "target": "{at + 1}"}}\n' for at in range(8)]
    (home / "rows.jsonl").write_text("".join(lines))
    (home / "packs" / "own").mkdir(parents=True)
    (home / "packs" / "own" / "pack.yaml").write_text(PACK)
    (home / "packs" / "own" / "rows.jsonl").write_text("".join(lines))
    (home / "packs" / "own" / "own.yaml").write_text(TASK.replace("task: numbers", "task: own_qa"))
    second = TASK.replace("numbers", "second").replace("data_files: {test: rows.jsonl}", _PARQUET)
    inline = second.replace("dataset_path: json", "dataset_path: parquet")
    config = f"{CONFIG}  - {inline.strip().replace(chr(10), chr(10) + '    ')}\n"
    (home / "eval_config.yaml").write_text(config)
    for words in (["prepare", "--check", "off"], ["run", "work_dir"]):
        outcome = evalprep(words, home, limit=300.0, **surroundings(home))
        if outcome.code:
            raise RuntimeError(f"{words}: {outcome.text}")
    run = next(home.rglob(_RUN))
    failed = run.with_name(run.name.replace("run_", "failed_"))
    why = '{"command": "c1-plain", "try": 1, "when": "2026-01-01T00:00:00+00:00", "reason": "x"}'
    failed.write_text(f'{{"tasks": {{"second": {why}}}}}')


_PARQUET = "data_files: {test: rows.parquet}"


def _judged(home: Path) -> None:
    """Two runs with a policy and a rubric."""
    write_run(home / "now")
    write_run(home / "before")
    rubric = RUBRIC.replace("qasper_abstractive_qa", "t")
    places = "fields: {question: doc.prompt, prediction: response}"
    (home / "rubric.yaml").write_text(rubric.replace("fields: [question, prediction]", places))
    policy = "defaults: {max_drop: 0.5, min_n: 5}\nmissing: 0.01\nconfidence: 0.95\n"
    tasks = "tasks:\n  t: {max_drop: 0.2, metric: exact_match}\n"
    (home / "policy.yaml").write_text(policy + tasks)


_OWN = {"prepared": Folder("", _prepared, ()), "judged": Folder("", _judged, ())}
_RESULTS = ("results_*.json", "samples_*", "*.json")
#: Folders of the oracle with runs of lm-eval, and those with logs of each tool.
_RUNS = (
    *("two-runs", "run-ids", "groups", "filters", "subtasks", "documents", "shards", "published"),
    *("several-replies", "packed", "graded", "perplexity", "whole-metrics", "six-models"),
    *("lm-eval-0-2", "lm-eval-0-4-3", "lm-eval-0-4-0-folder", "nested-values", "stored-alone"),
)
_LOGS = (
    *("inspect-json", "inspect-epochs", "helm", "lighteval", "lighteval-old", "leaderboard-v1"),
    *("olmes", "olmes-packed", "olmo-eval", "openai-evals", "simple-evals", "every-eval-ever"),
    *("table", "table-parquet", "unlearning-logs", "openllm-board"),
)
_MADE = (
    *("check work_dir --depth static", "check work_dir", "status work_dir --json", "status"),
    *("prepare --check off --quiet", "prepare --continue", "preview numbers work_dir --json"),
    *("prompts work_dir --out requests.parquet", "launch work_dir --slurm --out jobs"),
    *("score eval_results --json --no_write", "compare eval_results eval_results --no_write"),
    *(
        "rescore eval_results --work_dir work_dir --out again",
        "status eval_results",
        "samples eval_results --json",
    ),
    "report eval_results --out page --format md",
)


def targets() -> dict[str, list[Target]]:
    """Kind of file -> where such files lie."""
    every = all_folders()
    runs = [Target(name, _RESULTS, _with_more(every[name].calls)) for name in _RUNS]
    logs = [Target(name, ("*",), every[name].calls) for name in _LOGS]
    judge = "judge now --rubric rubric.yaml"
    gates = (
        "gate now before --policy policy.yaml --json",
        "gate now before --policy policy.yaml --junit gate.xml",
        "export now --baseline before --policy policy.yaml --to github --out written",
    )
    packs = (
        "list --template_dir packs --json",
        "prepare --check off --quiet --set template_dir=packs --set tasks=[own_all]",
        "check --set template_dir=packs --set tasks=[own_all]",
        "score eval_results --template_dir packs --no_write --json",
    )
    ledger = (
        "score now/model --accept_ledger --no_write --json",
        "score now/model --no_write",
        "compare now/model before/model --accept_ledger --no_write --json",
        "report now/model before/model --accept_ledger --out page --format md",
        f"judge now/model {_JUDGE}",
        "leaderboard now/model before/model --accept_ledger --json",
    )
    return {
        "results and samples": runs,
        "logs of other tools": logs,
        "manifests and records": [
            Target("prepared", ("manifest.json", "run*.yaml", "lock*.json"), _MADE),
            Target("prepared", (_RUN, "failed_*.json", "job.json", "state.json"), _MADE),
            Target("prepared", ("unit.json", "results_*.json", "samples_*"), _MADE),
        ],
        "configs": [Target("prepared", ("eval_config.yaml",), ("check", *_MADE[4:7]))],
        "packs": [Target("prepared", ("packs/own/*.yaml", "packs/own/rows.jsonl"), packs)],
        "policies": [Target("judged", ("policy.yaml",), gates)],
        "rubrics": [Target("judged", ("rubric.yaml",), (f"{judge} {_JUDGE}",))],
        "ledgers": [Target("science-judged", ("annotations.sqlite",), ledger)],
        "data": [Target("prepared", ("*.parquet", "rows.jsonl"), ("check", *_MADE[:7]))],
    }


def _with_more(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The command lines with those of the verbs that the oracle does not ask."""
    run = lines[0].split()[1]
    return (*lines, f"status {run}", f"rescore {run} --out again --jobs 1", f"judge {run} {_JUDGE}")


def surroundings(home: Path) -> dict[str, str]:
    """What a command's environment holds beside that of every attack: one home for all folders."""
    user = home.parent / "user"
    names = ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
    return {
        **dict.fromkeys(names, str(user)),
        "EVALPREP_STATE": str(user / "state"),
        "EVALPREP_CACHE": str(user / "cache"),
        "EVALPREP_QUICK_CHECK": "1",
        "FAULT_OUTPUT": "../output.txt",
    }


class Folders:
    """The folders of the targets as they are without a change, each made when it is first asked."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.home = place / "here"
        (place / "user").mkdir()

    def restore(self, name: str) -> Path:
        """Puts a folder into its place, without what was done to it; returns the place."""
        kept = self._place / "kept" / name
        shutil.rmtree(self.home, ignore_errors=True)
        if not kept.exists():
            self.home.mkdir()
            self._build({**all_folders(), **_OWN}[name].build)
            shutil.copytree(self.home, kept, symlinks=True)
            shutil.rmtree(self.home)
        shutil.copytree(kept, self.home, symlinks=True)
        return self.home

    def _build(self, build: Callable[[Path], None]) -> None:
        with _standing_in(self.home), contextlib.redirect_stdout(io.StringIO()):
            build(self.home)


@contextlib.contextmanager
def _standing_in(home: Path) -> Iterator[None]:
    before, place = dict(os.environ), Path.cwd()
    os.environ.update(surroundings(home))
    os.chdir(home)
    try:
        yield
    finally:
        os.chdir(place)
        os.environ.clear()
        os.environ.update(before)
