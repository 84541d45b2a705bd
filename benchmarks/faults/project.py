"""The small project that the attacks are made on, and the words of each verb that writes."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
from pathlib import Path

from benchmarks.faults.commands import Command, Outcome, server
from tests.evalprep.annotate.services import Said, Service, serve
from tests.packs.science import runs as science

LIMIT_SECONDS = 60.0
FORMATS = "html,xlsx,csv,md,json"
JUDGED = {"qasper_abstractive_qa", "mup_single_document_summarization"}
#: Questions of the judge about the run `judged`, and those it has on the way at a time.
QUESTIONS, IN_FLIGHT = 24, 2


def start(words: list[str], folder: Path, *, number: int = 0, **variables: str) -> Command:
    """Starts evalprep in a folder, by the server of this number."""
    named = [judge_service().url if word == "URL" else word for word in words]
    return server(number).start(named, folder, variables)


def evalprep(
    words: list[str], folder: Path, *, limit: float = LIMIT_SECONDS, **variables: str
) -> Outcome:
    """Calls evalprep in a folder; the code is -9 where it ran past the limit."""
    return start(words, folder, **variables).outcome(limit)


def _rate(prompt: str, *_: object) -> Said:
    """A rating that depends on the prompt alone."""
    return Said(f"Rating: {hashlib.sha256(prompt.encode()).digest()[0] % 5 + 1}", wait=0.02)


_SERVICES = contextlib.ExitStack()
atexit.register(_SERVICES.close)


@functools.cache
def judge_service() -> Service:
    """The judge of the verb `judge`, on this machine for the time of this process."""
    return _SERVICES.enter_context(serve(_rate))


def problem_of(outcome: Outcome, codes: set[int]) -> str | None:
    """Why a call did not end as it should; None where it did."""
    if outcome.code == -9:
        return f"no end within {outcome.seconds:.0f} s"
    if "Traceback (most recent call last)" in outcome.text:
        return f"traceback: {outcome.text.strip()[-700:]}"
    if outcome.code not in codes:
        return f"exit code {outcome.code}: {outcome.text.strip()[-400:]}"
    return None


def write_run(folder: Path, rows: int = 10, stamp: str = "2026-03-01T10-00-00.000001") -> Path:
    """A run of one task in lm-eval's layout; returns its model folder."""
    home = folder / "org__model"
    home.mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(rows):
        doc = {
            "sample_id": f"s{number}",
            "prompt": f"Question {number}?",
            "target": "A",
            "previously_is_correct": bool(number % 2),
        }
        sample = {
            "doc_id": number,
            "doc": doc,
            "target": "A",
            "arguments": {"gen_args_0": {"arg_0": doc["prompt"], "arg_1": {"until": ["\n"]}}},
            "resps": [["A"]],
            "filtered_resps": ["A"],
            "filter": "none",
            "metrics": ["exact_match"],
            "doc_hash": f"{number:064x}",
            "prompt_hash": f"{number:064x}",
            "target_hash": f"{number:064x}",
            "exact_match": float(number % 3 == 0),
        }
        lines.append(json.dumps(sample) + "\n")
    (home / f"samples_t_{stamp}.jsonl").write_text("".join(lines), encoding="utf-8")
    results = {
        "results": {"t": {"alias": "t", "exact_match,none": 0.4, "exact_match_stderr,none": 0.1}},
        "configs": {"t": {"task": "t", "metadata": {"version": 1.0}}},
        "higher_is_better": {"t": {"exact_match": True}},
        "n-samples": {"t": {"original": rows, "effective": rows}},
        "config": {"model": "dummy", "model_args": {"pretrained": "org/model"}},
    }
    (home / f"results_{stamp}.json").write_text(json.dumps(results), encoding="utf-8")
    return home


def write_project(folder: Path) -> Path:
    """A project for the tests of faults.

    Runs, one of them for a judge, a gate policy, rows with a config, and a home folder.
    """
    (folder / "home").mkdir(parents=True)
    (folder / "home" / "bashrc").write_text("export PATH=/usr/bin\n")
    write_run(folder / "run")
    write_run(folder / "other")
    science.write_run(folder / "judged", tasks=JUDGED)
    (folder / "tasks").mkdir()
    (folder / "tasks" / "t.yaml").write_text(TASK.replace("numbers", "t"))
    (folder / "policy.yaml").write_text("defaults: {max_drop: 0.5}\n")
    rows = [{"prompt": f"{n} + 1 =", "target": str(n + 1), "sample_id": str(n)} for n in range(8)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    (folder / "eval_config.yaml").write_text(CONFIG)
    return folder


def write_ready(folder: Path, verb: str) -> Path:
    """A project in which a verb can be called: prepared where the verb runs commands."""
    write_project(folder)
    if verb == "run":
        outcome = evalprep(WRITING["prepare"], folder)
        assert outcome.code == 0, outcome.text
    return folder


TASK = """\
task: numbers
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{prompt}}"
doc_to_target: "{{target}}"
generation_kwargs: {until: ["\\n"], max_gen_toks: 8, do_sample: false, temperature: 0.0}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
metadata: {version: 1.0}
"""
CONFIG = f"""\
model_name: none
backend: dummy
tasks:
  - {TASK.strip().replace(chr(10), chr(10) + "    ")}
"""

#: Verb -> words that write results; the folders are those of `write_project`.
WRITING: dict[str, list[str]] = {
    "prepare": ["prepare", "--check=off"],
    "run": ["run"],
    "judge": [
        *("judge", "judged", "--model", "the-judge", "--base_url", "URL"),
        *("--model_args", f"num_concurrent={IN_FLIGHT}"),
    ],
    "rescore": ["rescore", "run", "--work_dir", "tasks"],
    "score": ["score", "run"],
    "compare": ["compare", "run", "other"],
    "report": ["report", "run", "--format", FORMATS],
    "leaderboard": ["leaderboard", "run", "other", "--format", FORMATS, "--out", "board"],
    "gate": ["gate", "run", "other", "--policy", "policy.yaml", "--out", "gate.json"],
}
