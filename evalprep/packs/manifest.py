"""work_dir/manifest.json: what was prepared from what, with which versions, and what is to be run.

It never holds a secret.

The plan in it is the JSON of `evalprep.packs.plan`. The keys of `manifest.json`:

- `schema`: 2.
- `run`: `r` and 11 digits, a hash of what makes requests and gold answers and of who answers;
  every task's metadata carries it.
- `model`, `folder`, `config`, `versions`, `packs`, `created`: what was asked for, where relative
  paths start, packages, folders of the packs.
- `sources`: location, config, split, revision, rows and sha256 of each file.
- `tasks`: `{task: {pack, yaml, data, rows, expected, join, previous, made_from, plan}}`.
- `groups`, `scores`, `excluded`: members; scores that the config makes, by `pack/name`; what is
  left out, with kind and reason.
- `published`: `pack/score` -> `[{value, source, note}]`, published values that a pack looked up.
- `commands`: `{name, tasks, argv, env, engine, depth, file}` in the order in which they run.
- `files`: path -> sha256 as generated, to notice edits.
- `shelf`: edited files that this preparation does not need -> sha256 of what they were edited
  from; they are in `.shelf/`.
- `fingerprints`: path of a model or adapter -> digest of its configuration, its tokenizer and, per
  weight file, the size and 64 pieces of 64 KiB; absent for a model that is not on this machine.

`<output_path>/run_<id>.json` has a part of these keys, and:

- `tasks.<task>.settings`: what the task's YAML and the config state of prompts, gold answers,
  generation, filters and metrics, each function as `<function NAME>`.
- `tasks.<task>.row_digest`: `{rows, digest, least, prompt, target}`, a digest of ids, published
  verdicts and, where they are columns, prompts and gold answers; absent where these were edited.
- `commands[].asked`: keys of the run configuration that decide requests or who answers.
- `replies`: `{first, files: [{path, sha256}]}` where another engine answered.
- `prepared_as`: id of the prepared run, beside `replies`.
- `work_dir`: the way from the output folder to the work folder.

`failed_<id>.json` is `{run, tasks: {task: {command, try, when, reason}}}`.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from evalprep.credentials import without_secrets
from evalprep.errors import BadInput, Problem
from evalprep.files import as_mapping, read_object_within, write_atomically
from evalprep.numbers import finite_number
from evalprep.packs.plan import (
    Command,
    Excluded,
    Plan,
    PublishedValue,
    ScoreSpec,
    TaskPlan,
    as_json,
)

_Part = TypeVar("_Part")
MANIFEST = "manifest.json"
SCHEMA = 2
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
    fingerprints: Mapping[str, str],
) -> dict[str, Any]:
    """Put the manifest together; only `created` differs between two equal preparations."""
    return {
        "schema": SCHEMA,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "run": run,
        "model": model,
        **({"models": models} if len(models) > 1 else {}),
        **({"fingerprints": dict(fingerprints)} if fingerprints else {}),
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
    return data if data.get("schema") == SCHEMA else None


def commands_of(manifest: Mapping[str, Any]) -> list[Command]:
    """The commands of a manifest, in the order in which they run."""
    return [
        _typed(Command, {"name": "", "tasks": (), "argv": (), **command}, "a command")
        for command in _commands_in(manifest)
    ]


def _commands_in(manifest: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The entries of a manifest's commands that are mappings; others are damaged."""
    listed = manifest.get("commands")
    entries = listed if isinstance(listed, list) else []
    return [entry for entry in entries if isinstance(entry, Mapping)]


def plan_of(manifest: Mapping[str, Any]) -> Plan:
    """The plan of a manifest, or of its copy beside the results."""
    tasks = as_mapping(manifest.get("tasks"))
    return Plan(
        tasks={name: _task_from(name, as_mapping(facts)) for name, facts in tasks.items()},
        groups={
            name: [str(member) for member in members]
            for name, members in _entries(manifest, "groups", list)
        },
        scores={
            name: _typed(ScoreSpec, score, f"the score {name}")
            for name, score in _entries(manifest, "scores", Mapping)
        },
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
    plan = {**as_mapping(facts.get("plan")), "name": name}
    return _typed(TaskPlan, {**plan, "call": plan.get("call") or {}}, f"the plan of task {name}")


def _typed(kind: type[_Part], data: Mapping[str, Any], part: str) -> _Part:
    """A part of a manifest; keys of a later version are left out.

    Raises:
        BadInput: it has other types than evalprep writes.
    """
    import msgspec  # what is suited to a machine is read without packages

    try:
        return msgspec.convert(data, kind)
    except ValueError as error:
        raise BadInput(
            Problem(
                what=f"{part} is damaged: {error}",
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


def records_of(manifest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Run id -> what is kept of it beside the results as `run_<id>.json`.

    What was meant to be run.
    """
    records = {}
    for model in models_of(manifest):
        own = [
            line for line in _commands_in(manifest) if line.get("run", model["run"]) == model["run"]
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
        "fingerprints",
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
        for command in _commands_in(manifest)
    ]
    return slim
