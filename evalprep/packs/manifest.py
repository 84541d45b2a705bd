"""work_dir/manifest.json: what was prepared from what, with which versions, and what is to be run.

It never holds a secret.

The plan in it is the JSON of `evalprep.packs.plan`. Manifests of schema 1 (release 0.1.0) are read
as if they were of schema 2, with a run of one command per back end and no run id.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalprep.credentials import without_secrets
from evalprep.errors import BadInput, Problem
from evalprep.files import as_mapping, read_object_within, unchanged_sha256, write_atomically
from evalprep.numbers import finite_number
from evalprep.packs.datafiles import task_of
from evalprep.packs.plan import (
    Command,
    Excluded,
    Plan,
    PublishedValue,
    ScoreSpec,
    TaskPlan,
    as_json,
    command_from,
    leaves,
    task_from,
)

MANIFEST = "manifest.json"
SCHEMA = 2
#: Keys of the config that are part of the question, beside the task files.
QUESTION_KEYS = (
    "model_revision",
    "num_fewshot",
    "apply_chat_template",
    "system_instruction",
    "fewshot_as_multiturn",
    "gen_kwargs",
)
#: Folder of the groups that a command asks for where lm-eval's own tasks have settings of their
# own.
STOCK_GROUPS = "_groups"
# What decides the numbers of a run: the harness, the engine, the scorers and what they parse with.
_PACKAGES = (
    "evalprep",
    "lm_eval",
    "vllm",
    "torch",
    "transformers",
    "datasets",
    "pyarrow",
    "math-verify",
    "sympy",
    "antlr4-python3-runtime",
    "rouge-score",
    "rouge-score-rs",
    "sacrebleu",
    "nltk",
    "langdetect",
)


def versions() -> dict[str, str]:
    """Installed versions of everything that decides numbers; absent packages are left out."""
    from importlib.metadata import PackageNotFoundError, version

    installed = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in _PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def manifest_data(
    *,
    run: str,
    model: str,
    folder: str,
    config: dict[str, Any],
    sources: list[dict[str, Any]],
    tasks: Mapping[str, dict[str, Any]],
    plan: Plan,
    commands: list[Command],
    files: dict[str, str],
    shelf: dict[str, str],
    edits: dict[str, str],
    packs: dict[str, Any],
    notes: list[str],
    models: list[dict[str, Any]],
) -> dict[str, Any]:
    """Put the manifest together; only `created` differs between two equal preparations."""
    return {
        "schema": SCHEMA,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "run": run,
        "model": model,
        **({"models": models} if len(models) > 1 else {}),
        "folder": folder,
        "versions": versions(),
        "config": without_secrets(config),
        "packs": packs,
        "sources": sources,
        "tasks": {
            name: {**tasks.get(name, {}), "plan": as_json(task)}
            for name, task in plan.tasks.items()
        },
        "groups": plan.groups,
        "scores": {score.id: as_json(score) for score in plan.scores.values()},
        "excluded": {name: as_json(exclusion) for name, exclusion in plan.excluded.items()},
        **({"published": as_json(plan.published)} if plan.published else {}),
        "commands": [as_json(command) for command in commands],
        "notes": notes,
        "files": files,
        "shelf": shelf,
        **({"edits": edits} if edits else {}),
    }


def read_manifest(work_dir: Path) -> dict[str, Any] | None:
    """The manifest of a work folder, None where there is none that we can read."""
    data = read_object_within(work_dir / MANIFEST, work_dir)
    if data.get("schema") == 1:
        return _from_first(data)
    return data if data.get("schema") == SCHEMA else None


def _command_from_first(
    number: int, command: Mapping[str, Any], groups: Mapping[str, Any]
) -> Command:
    """A command of schema 1, which had one for each back end."""
    argv = [str(word) for word in command.get("argv") or []]
    backend = _after(argv, "--model")
    tasks: dict[str, None] = {}
    for name in filter(None, _after(argv, "--tasks").split(",")):
        tasks |= dict.fromkeys(leaves(name, groups))
    return Command(
        name=f"c{number + 1}-plain",
        tasks=tuple(tasks),
        argv=tuple(argv),
        env=command.get("env") or {},
        engine={"backend": backend},
        file="run.yaml" if number == 0 else f"run-{backend}.yaml",
    )


def _from_first(data: dict[str, Any]) -> dict[str, Any]:
    """A manifest of schema 1 with the keys of schema 2."""
    commands = []
    old_commands = [data.get("command"), *(data.get("further_commands") or [])]
    groups = as_mapping(data.get("groups"))
    stated = [command for command in old_commands if isinstance(command, dict)]
    for number, command in enumerate(stated):
        commands.append(as_json(_command_from_first(number, command, groups)))
    config = as_mapping(data.get("config"))
    return {
        **data,
        "schema": SCHEMA,
        "run": "",
        "model": str(config.get("model_name", "")),
        "groups": groups,
        "scores": {},
        "excluded": {},
        "commands": commands,
    }


def _after(argv: list[str], option: str) -> str:
    return argv[argv.index(option) + 1] if option in argv[:-1] else ""


def commands_of(manifest: Mapping[str, Any]) -> list[Command]:
    """The commands of a manifest, in the order in which they run."""
    listed = manifest.get("commands")
    if not isinstance(listed, list):
        return []
    return [command_from(command) for command in listed if isinstance(command, Mapping)]


def plan_of(manifest: Mapping[str, Any]) -> Plan:
    """The plan of a manifest, or of its copy beside the results.

    Tasks of schema 1 have their names alone.
    """
    tasks = as_mapping(manifest.get("tasks"))
    return Plan(
        tasks={name: _task_from(name, as_mapping(facts)) for name, facts in tasks.items()},
        groups={
            name: [str(member) for member in members]
            for name, members in _entries(manifest, "groups", list)
        },
        scores={name: _score_from(score) for name, score in _entries(manifest, "scores", Mapping)},
        excluded={
            name: _excluded_from(exclusion)
            for name, exclusion in _entries(manifest, "excluded", Mapping)
        },
        published={
            name: tuple(_published_from(value) for value in values)
            for name, values in _entries(manifest, "published", list)
        },
    )


def _entries(manifest: Mapping[str, Any], key: str, kind: type) -> Iterator[tuple[str, Any]]:
    """The entries of a part of a manifest that are of a type; others are damaged."""
    for name, entry in as_mapping(manifest.get(key)).items():
        if isinstance(entry, kind):
            yield name, entry


def _task_from(name: str, facts: Mapping[str, Any]) -> TaskPlan:
    try:
        return task_from({**as_mapping(facts.get("plan")), "name": name})
    except (TypeError, ValueError) as error:
        raise BadInput(
            Problem(
                what=f"the plan of task {name} is damaged: {error}",
                where="manifest.json, or its copy beside the results",
                fix="prepare again",
            )
        ) from None


def _excluded_from(data: Mapping[str, Any]) -> Excluded:
    return Excluded(
        str(data.get("kind", "")), str(data.get("reason", "")), as_mapping(data.get("tags"))
    )


def _published_from(data: Any) -> PublishedValue:
    fields = as_mapping(data)
    value = finite_number(fields.get("value"))
    return PublishedValue(
        value=math.nan if value is None else value,
        source=str(fields.get("source") or ""),
        note=str(fields.get("note") or ""),
    )


def _score_from(data: Mapping[str, Any]) -> ScoreSpec:
    known = {key: value for key, value in data.items() if key in ScoreSpec.__dataclass_fields__}
    for key in ("tasks", "needs", "reference", "finetuned", "range"):
        if isinstance(known.get(key), list):
            known[key] = tuple(known[key])
    return ScoreSpec(**{"function": "", **known})


def models_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The models of a preparation: `label`, `model`, `revision`, `model_args` of its own, `run`."""
    models = manifest.get("models")
    if isinstance(models, list) and models:
        return [entry for entry in models if isinstance(entry, dict)]
    revision = as_mapping(manifest.get("config")).get("model_revision")
    model = str(manifest.get("model", ""))
    run = str(manifest.get("run", ""))
    return [{"label": "", "model": model, "revision": revision, "model_args": {}, "run": run}]


def pack_folders_of(manifest: Mapping[str, Any]) -> dict[str, Path]:
    """Pack -> its folder on the machine that runs the commands, as far as a manifest names it."""
    packs = as_mapping(manifest.get("packs"))
    folders = {name: as_mapping(facts).get("folder") for name, facts in packs.items()}
    return {name: Path(folder) for name, folder in folders.items() if isinstance(folder, str)}


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """The text of a manifest as its file has it."""
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def subject_of(model: str, own_args: Mapping[str, Any]) -> str:
    """The text that `run_id` takes for the model: two adapters of one model are two."""
    return (
        f"{model} {json.dumps(dict(own_args), sort_keys=True, default=str)}" if own_args else model
    )


def run_id(model: str, config: Mapping[str, Any], plan: Plan, folder: Path, work_dir: Path) -> str:
    """Returns the name of a run: `r` and 11 hexadecimal digits.

    They are a digest of everything that decides its prompts and scores.

    The model and its revision, what the config says of prompts and generation for all tasks, the
    plan, and task files and data of the first stage, without the folder that they lie in: another
    preparation of the same has the same id, an edit of a task another one. How the question is
    asked (engine, dtype, limit) is not in it.

    Args:
        model: Model id or absolute folder; see `subject_of`.
        config: The core keys of the configuration.
        plan: The plan.
        folder: Where the task files lie now.
        work_dir: The folder that they name.
    """
    content = _content_of_first_stage(plan, folder, work_dir)
    kept = Plan(plan.tasks, plan.groups, plan.scores, {})
    question = [config.get(key) for key in QUESTION_KEYS]
    facts = json.dumps([model, question, as_json(kept), content], sort_keys=True, default=str)
    return "r" + hashlib.sha256(facts.encode()).hexdigest()[:11]


def _content_of_first_stage(plan: Plan, folder: Path, work_dir: Path) -> dict[str, str]:
    """Path -> digest of the task files and data of the first stage."""
    later = {name for name, task in plan.tasks.items() if task.after}
    # These hold run configurations, the manifest, and groups that the plan tells.
    told_elsewhere = {folder, folder / STOCK_GROUPS}
    content: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.parent in told_elsewhere or task_of(name) in later or not path.is_file():
            continue
        if path.suffix == ".parquet":
            content[name] = unchanged_sha256(path)
        elif path.suffix == ".yaml":
            text = path.read_bytes().replace(str(work_dir).encode(), b"")
            content[name] = hashlib.sha256(text).hexdigest()
    return content


def records_of(manifest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Run id -> what is kept of it beside the results as `run_<id>.json`.

    What was meant to be run.
    """
    records = {}
    for model in models_of(manifest):
        own = [
            line
            for line in manifest.get("commands") or []
            if line.get("run", model["run"]) == model["run"]
        ]
        records[model["run"]] = _record_of(
            {**manifest, "run": model["run"], "model": model["model"], "commands": own}
        )
    return records


def keep_records(output_path: Path, records: Mapping[str, Mapping[str, Any]]) -> None:
    """Keeps what was meant to be run beside the results.

    It is read from there when the work folder has become that of another run.
    """
    with contextlib.suppress(OSError):  # the results may go to a place that is not there yet
        output_path.mkdir(parents=True, exist_ok=True)
        for run, record in records.items():
            text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
            write_atomically(output_path / f"run_{run}.json", text)


def _record_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    keys = (
        "schema",
        "run",
        "model",
        "tasks",
        "groups",
        "scores",
        "excluded",
        "published",
        "packs",
        "sources",
        "versions",
    )
    slim = {key: manifest[key] for key in keys if key in manifest}
    slim["commands"] = [
        {key: command.get(key) for key in ("name", "tasks", "depth")}
        for command in manifest.get("commands") or []
    ]
    return slim
