"""Saved predictions of two models in every layout in which the original's users have them."""

import json
import shutil

STAMP = "2026-01-15T10-00-00.000000"
MODELS = ("chat-standin", "tulu-standin")


def tasks_of(model_folder):
    return {
        file.name[len("samples_") : -len(f"_{STAMP}.jsonl")]: file
        for file in model_folder.glob("samples_*")
    }


def as_given(source, out):
    shutil.copytree(source, out)


def group(source, out):
    """One call for the group, as the original's script writes it."""
    shutil.copytree(source, out / "science_adapt" / "eleuther.jsonl" / f"org__{source.name}")


def moved(source, out):
    """What the original's second script makes of it."""
    for task, file in tasks_of(source).items():
        (out / task).mkdir(parents=True)
        shutil.copyfile(file, out / task / file.name)
        shutil.copyfile(source / f"results_{STAMP}.json", out / task / "eleuther.jsonl")


def calls(source, out):
    """A call per task, each at its own time."""
    for minute, (task, file) in enumerate(tasks_of(source).items(), start=10):
        home = out / task / f"org__{source.name}"
        home.mkdir(parents=True)
        stamp = STAMP.replace("10-00-00", f"10-{minute}-00")
        shutil.copyfile(file, home / f"samples_{task}_{stamp}.jsonl")
        shutil.copyfile(source / f"results_{STAMP}.json", home / f"results_{stamp}.json")


def _former(source):
    """File name -> content, as lm-eval before 0.4.3 wrote them, results included."""
    files = {}
    for task, file in tasks_of(source).items():
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for row in rows:
            request = row["arguments"]["gen_args_0"]
            row["arguments"] = [[request["arg_0"], request["arg_1"]]]
            for name in ("filter", "metrics", "doc_hash", "prompt_hash", "target_hash", "bypass"):
                row.pop(name, None)
        files[f"pretrained__org__{source.name},dtype__float16_{task}.jsonl"] = json.dumps(
            rows, indent=2
        )
    results = json.loads((source / f"results_{STAMP}.json").read_text(encoding="utf-8"))
    results["configs"] = {task: {} for task in results["results"]}
    return files, json.dumps(results, indent=2)


def former(source, out):
    files, results = _former(source)
    out.mkdir(parents=True)
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8")
    (out / "eleuther.jsonl").write_text(results, encoding="utf-8")


def former_moved(source, out):
    files, results = _former(source)
    for task in tasks_of(source):
        (out / task).mkdir(parents=True)
        name = next(file for file in files if file.endswith(f"_{task}.jsonl"))
        (out / task / name).write_text(files[name], encoding="utf-8")
        (out / task / "eleuther.jsonl").write_text(results, encoding="utf-8")


def names_alone(source, out):
    files, _ = _former(source)
    out.mkdir(parents=True)
    for name, text in files.items():
        (out / name).write_text(text, encoding="utf-8")


LAYOUTS = (as_given, group, moved, calls, former, former_moved, names_alone)


def write(source, out, layout):
    """The predictions of both models below `out`; returns it."""
    for model in MODELS:
        layout(source / model, out / model)
    return out
