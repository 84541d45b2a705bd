"""Folders in which it is a question which files are the run, and what each verb prints of them."""

import json

from evalprep.cli import main
from evalprep.results.rowdigest import RowDigest, _row_hash
from evalprep.samples.sample import UNKNOWN
from tests.evalprep.results.writing import Row, line

MODEL = {"pretrained": "org/m", "dtype": "bfloat16"}
RUN, OTHER_RUN = "r00000000001", "r00000000002"
FIRST, SECOND, THIRD = (f"2026-03-0{day}T10-00-00.000001" for day in (1, 2, 3))
DATES = {FIRST: 1772359200.0, SECOND: 1772445600.0, THIRD: 1772532000.0}
ROWS = 40
#: What lm-eval logs of a task whose replies it compares with the target.
SETTINGS = {
    "output_type": "generate_until",
    "doc_to_text": "{{prompt}}",
    "doc_to_target": "{{target}}",
    "generation_kwargs": {"until": ["\n"], "max_gen_toks": 100},
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
}


def rows(right, *, count=ROWS, reply="new words"):
    """Rows of which the first ones are right; the reply shows which call they are from."""
    return [Row(f"q{at}", float(at < right), response=reply) for at in range(count)]


def write_call(
    home, stamp, tasks, *, args=None, date=True, name="", entry=None, call=None, settings=None
):
    """Writes the results file of a call, and the samples of its tasks.

    Args:
        home: The model's folder.
        stamp: Its time stamp.
        tasks: Task -> rows; None for a task without samples, with a stored score of 0.5.
        args: Arguments of the back end.
        date: Whether the results file states its date.
        name: Name of the results file, where a person gave it.
        entry: Metadata of each task: run, command, try.
        call: More settings of the call.
        settings: More settings of each task.
    """
    home.mkdir(parents=True, exist_ok=True)
    metadata = {"version": 1.0, **(entry or {})}
    results = {
        "results": {},
        "configs": {
            task: {"task": task, "metadata": metadata, **SETTINGS, **(settings or {})}
            for task in tasks
        },
        "higher_is_better": {task: {"exact_match": True} for task in tasks},
        "n-samples": {},
        "config": {"model": "hf", "model_args": args or MODEL, **(call or {})},
    }
    if date:
        results["date"] = DATES[stamp]
    for task, task_rows in tasks.items():
        value = 0.5 if task_rows is None else sum(row.correct for row in task_rows) / len(task_rows)
        results["results"][task] = {"exact_match,none": value, "exact_match_stderr,none": 0.01}
        count = len(task_rows or range(ROWS))
        results["n-samples"][task] = {"original": ROWS, "effective": count}
        if task_rows is not None:
            most = results["configs"][task]["generation_kwargs"]["max_gen_toks"]
            lines = [line(row, at, max_gen_toks=most) + "\n" for at, row in enumerate(task_rows)]
            (home / f"samples_{task}_{stamp}.jsonl").write_text("".join(lines))
    (home / (name or f"results_{stamp}.json")).write_text(json.dumps(results))


def write_record(output, run, tasks, *, settings=None, row_ids=None, asked=None):
    """Writes what was prepared: one command with some tasks.

    Args:
        output: The output folder.
        run: Id of the run.
        tasks: Its tasks.
        settings: Settings of each task, where the record holds some.
        row_ids: Ids of the prepared rows, where the record holds a digest of them.
        asked: What the command asks, where the record holds it.
    """
    entry = {"expected": ROWS, "plan": {}}
    if settings is not None:
        entry["settings"] = {**SETTINGS, **settings}
    if row_ids is not None:
        hashes = [_row_hash(sample_id, UNKNOWN, 0, 0) for sample_id in row_ids]
        entry["row_digest"] = RowDigest.of(hashes, prompt=False, target=False).to_dict()
    plans = dict.fromkeys(tasks, entry)
    command = {
        "name": "c1-plain",
        "tasks": tasks,
        "argv": ["lm_eval"],
        "engine": {"model_args": MODEL},
        **({"asked": asked} if asked is not None else {}),
    }
    record = {"schema": 2, "run": run, "tasks": plans, "commands": [command]}
    (output / f"run_{run}.json").write_text(json.dumps(record))


def marked(run, attempt=None):
    """The metadata of a call of a run."""
    number = {} if attempt is None else {"try": attempt}
    return {"run": run, "command": "c1-plain", **number}


def say(capsys, *words):
    """Returns the exit code of a verb and what it prints, blanks as one."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    streams = capsys.readouterr()
    return code, " ".join(f"{streams.out} {streams.err}".split())


VERBS = (
    *("score", "compare", "gate", "report", "leaderboard"),
    *("samples", "rescore", "status", "export"),
)


def words_of(verb, run, baseline, out):
    """The command line of a verb over a run, beside a baseline where the verb takes one."""
    policy = out / "policy.yaml"
    policy.write_text("defaults: {max_drop: 2%, slack: 0.2}\n")
    return {
        "score": ("score", run, "--no_write"),
        "compare": ("compare", run, baseline, "--no_write"),
        "gate": ("gate", run, baseline, "--policy", policy),
        "report": ("report", run, "--out", out / "page", "--format", "md"),
        "leaderboard": ("leaderboard", run),
        "samples": ("samples", run, "-n", "200"),
        "rescore": ("rescore", run, "--no_write"),
        "status": ("status", run),
        "export": ("export", run, "--to", "every-eval-ever", "--out", out / "export"),
    }[verb]


def said_by(verb, run, baseline, out, capsys):
    """Returns the exit code of a verb, and what it says and writes of a run."""
    out.mkdir(exist_ok=True)
    code, text = say(capsys, *words_of(verb, run, baseline, out))
    files = [*(out / "page").glob("*.md"), *(out / "export").rglob("*.json*")]
    return code, " ".join(" ".join([text, *(file.read_text() for file in sorted(files))]).split())
