"""work_dir/manifest.json: what was prepared from what, with which versions, and what is to be run.

It never holds a secret.

The plan in it is the JSON of `evalprep.packs.plan`. The keys of `manifest.json`:

- `schema`: 2.
- `run`: `r` and 11 digits, a hash of what makes requests and gold answers and of who answers;
  every task's metadata carries it.
- `model`, `folder`, `config`, `versions`, `packs`, `created`: what was asked for, where relative
  paths start, packages, folders of the packs.
- `commits`: those of evalprep and lm-eval, where they are installed from a checkout or repository.
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
import hashlib
import json
import math
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from evalprep.credentials import without_secrets
from evalprep.errors import BadInput, Problem
from evalprep.files import NotRead, as_mapping, is_stray, read_json, write_atomically
from evalprep.numbers import finite_number
from evalprep.packs.commits import commits, installed_version
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
    known = {name: installed_version(name) for name in _PACKAGES}
    python = ".".join(map(str, sys.version_info[:3]))
    return {"python": python, **{name: version for name, version in known.items() if version}}


def made_manifest(
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
) -> Manifest:
    """Put the manifest together; only `created` differs between two equal preparations."""
    content = {
        "schema": SCHEMA,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "run": run,
        "model": model,
        **({"models": models} if len(models) > 1 else {}),
        **({"fingerprints": dict(fingerprints)} if fingerprints else {}),
        "folder": folder,
        "versions": versions(),
        **({"commits": known} if (known := commits()) else {}),
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
    return Manifest(content)


EditKind = Literal["edited", "added", "removed"]
#: Part of a manifest -> what it is, in its file.
_PARTS: Mapping[str, tuple[type, str]] = {
    **dict.fromkeys(("run", "model", "created", "folder", "work_dir"), (str, "text")),
    **dict.fromkeys(
        ("config", "versions", "packs", "tasks", "groups", "scores"), (dict, "mapping")
    ),
    **dict.fromkeys(("excluded", "published", "files", "shelf", "edits"), (dict, "mapping")),
    **dict.fromkeys(("fingerprints", "replies", "edited", "commits"), (dict, "mapping")),
    **dict.fromkeys(("sources", "commands", "models"), (list, "list")),
}


@dataclass(frozen=True)
class Edit:
    """One file of a work folder that is not as it was prepared.

    Attributes:
        name: Its path below the folder, with forward slashes.
        kind: `edited`, `added`, or `removed`.
    """

    name: str
    kind: EditKind


class PreparedTask(msgspec.Struct, frozen=True):
    """The prepared files and facts of one task.

    Attributes:
        name: Its name.
        pack: The pack that it belongs to; empty for a task of lm-eval or of the config.
        rows: Rows of its data; None where they are not made yet or not known.
        expected: Rows that the run will have under the limit; None where that is not known.
        data: Its data file, or the folder of several, below the work folder; empty where it has
            none of its own.
        yaml: Its task file below the folder; empty where it has none of its own.
        made_from: Digest of the earlier replies that its rows were made from; empty without any.
        settings: What its file and the config state of it; None where nothing was kept.
        row_digest: The digest of its rows, as `RowDigest.read` takes it; empty without one.
        leaves: Task of lm-eval in this group -> its settings.
    """

    name: str
    pack: str = ""
    rows: int | None = None
    expected: int | None = None
    data: str = ""
    yaml: str = ""
    made_from: str = ""
    settings: Mapping[str, Any] | None = None
    row_digest: Mapping[str, Any] = msgspec.field(default_factory=dict)
    leaves: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)


class PreparedModel(msgspec.Struct, frozen=True):
    """One model of a preparation.

    Attributes:
        label: What it is called beside other models; empty for a sole one.
        model: Model id or folder.
        revision: Its revision; None where the configuration names none.
        model_args: Arguments of its own.
        run: Id of its run; empty where runs had none yet.
    """

    label: str
    model: str
    revision: Any
    model_args: Mapping[str, Any]
    run: str


class KeptFile(msgspec.Struct, frozen=True):
    """A file that a manifest names.

    Attributes:
        name: Its name or path.
        sha256: Its digest; empty where none was kept.
    """

    name: str
    sha256: str


class PreparedSource(msgspec.Struct, frozen=True):
    """One data set or file that rows were made from.

    Attributes:
        location: Hub id or path.
        config: Its configuration; empty for none.
        split: Its split; empty for none.
        revision: Its commit; empty where its files say which data they are.
        rows: Rows that were read; None where that is not known.
        files: Its files.
    """

    location: str
    config: str = ""
    split: str = ""
    revision: str = ""
    rows: int | None = None
    files: tuple[KeptFile, ...] = ()


class GivenReplies(msgspec.Struct, frozen=True):
    """The replies of another engine that a run was made of.

    Attributes:
        first: Digest of the replies that it began with.
        files: Its files.
        empty: Reason -> empty replies that came with it.
    """

    first: str = ""
    files: tuple[KeptFile, ...] = ()
    empty: Mapping[str, int] = msgspec.field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What was prepared: `manifest.json`, or what is kept of it beside the results of a run.

    Its file may be somebody else's, or damaged: each part is read into its type here, and what has
    another type counts as absent and stands in `damage`. The file has at most `MAX_JSON` bytes and
    `MAX_DEPTH` levels, and is a regular one.

    Attributes:
        unread: Why there is a file that cannot be read; empty where it can, or where none is.
    """

    _content: Mapping[str, Any] = field(default_factory=dict)
    unread: str = ""

    def __bool__(self) -> bool:
        """Whether there is one that can be read."""
        return bool(self._content)

    @cached_property
    def damage(self) -> tuple[str, ...]:
        """The parts that are not of their type, in words; what the file itself lacks, too."""
        wrong = [
            f"{key} is not a {word}"
            for key, (kind, word) in _PARTS.items()
            if self._content.get(key) is not None and not isinstance(self._content[key], kind)
        ]
        for part in ("tasks", "packs", "scores", "excluded"):
            entries = as_mapping(self._content.get(part))
            names = [name for name, entry in entries.items() if not isinstance(entry, dict)]
            wrong += [f"{part}.{name} is not a mapping" for name in names]
        return (*([self.unread] if self.unread else []), *wrong)

    @property
    def is_of_schema(self) -> bool:
        """Whether it is a manifest of this version of evalprep."""
        return bool(self._content.get("schema") == SCHEMA)

    @property
    def run(self) -> str:
        """Id of the run; of several models, of the first."""
        return str(self._content.get("run") or "")

    @property
    def model(self) -> str:
        """Id or folder of the model; of several, of the first. Empty where none is named."""
        return str(self._content.get("model") or "")

    @property
    def created(self) -> str:
        """Returns when it was prepared, in ISO format; empty where that is not known."""
        return str(self._content.get("created") or "")

    @property
    def folder(self) -> str:
        """Folder of the configuration; empty where it is not known."""
        return str(self._content.get("folder") or "")

    @property
    def work_dir(self) -> str:
        """The way from the output folder to the work folder; empty where it is not known."""
        return str(self._content.get("work_dir") or "")

    @property
    def prepared_as(self) -> str:
        """Id of the run that was prepared, of one that another engine answered; else empty."""
        return str(self._content.get("prepared_as") or "")

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration that it was prepared with, without secrets."""
        return as_mapping(self._content.get("config"))

    @cached_property
    def plan(self) -> Plan:
        """The plan of the run.

        Raises:
            BadInput: a part of it has other types than evalprep writes.
        """
        manifest = self._content
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

    @cached_property
    def commands(self) -> list[Command]:
        """The commands, in the order in which they run.

        Raises:
            BadInput: one has other types than evalprep writes.
        """
        return [
            _typed(Command, {"name": "", "tasks": (), "argv": (), **entry}, "a command")
            for entry in _commands_in(self._content)
        ]

    @cached_property
    def asked(self) -> Mapping[str, Mapping[str, Any]]:
        """Command -> the keys of its run configuration that decide requests or who answers."""
        entries = _commands_in(self._content)
        return {str(entry.get("name")): as_mapping(entry.get("asked")) for entry in entries}

    @cached_property
    def models(self) -> list[PreparedModel]:
        """The models, in the order of the configuration."""
        listed = [entry for entry in _listed(self._content, "models") if isinstance(entry, dict)]
        if not listed:
            revision = self.config.get("model_revision")
            return [PreparedModel("", self.model, revision, {}, self.run)]
        return [
            PreparedModel(
                label=str(entry.get("label") or ""),
                model=str(entry.get("model") or ""),
                revision=entry.get("revision"),
                model_args=as_mapping(entry.get("model_args")),
                run=str(entry.get("run") or ""),
            )
            for entry in listed
        ]

    @property
    def fingerprints(self) -> Mapping[str, str]:
        """Path of a model, as the commands name it -> its fingerprint at preparation."""
        return _texts(self._content, "fingerprints")

    @cached_property
    def sources(self) -> list[PreparedSource]:
        """The data sets and files that were read."""
        return [_source(as_mapping(entry)) for entry in _listed(self._content, "sources")]

    @cached_property
    def tasks(self) -> dict[str, PreparedTask]:
        """Task -> what was made of it."""
        entries = as_mapping(self._content.get("tasks"))
        return {name: _task(name, as_mapping(entry)) for name, entry in entries.items()}

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of programs at preparation."""
        return _texts(self._content, "versions")

    @property
    def commits(self) -> Mapping[str, str]:
        """Package -> commit that it was installed from, where that was known at preparation."""
        return _texts(self._content, "commits")

    @property
    def pack_folders(self) -> Mapping[str, Path]:
        """Pack -> its folder on the machine that runs the commands, as far as it is named."""
        return {name: Path(folder) for name, folder in self._of_packs("folder").items()}

    @property
    def pack_digests(self) -> Mapping[str, str]:
        """Pack -> digest of its files at preparation, of the packs of which it was kept."""
        return self._of_packs("digest")

    def _of_packs(self, key: str) -> dict[str, str]:
        packs = as_mapping(self._content.get("packs"))
        facts = {name: as_mapping(entry).get(key) for name, entry in packs.items()}
        return {name: text for name, text in facts.items() if isinstance(text, str)}

    @property
    def has_files(self) -> bool:
        """Whether it lists the files of a work folder, which makes that folder evalprep's."""
        return isinstance(self._content.get("files"), dict)

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Path below the folder -> digest of each file as it was prepared."""
        return _texts(self._content, "files")

    @cached_property
    def shelf(self) -> Mapping[str, str]:
        """Edited files that the preparation did not ask for.

        File -> digest of what it was edited from.
        """
        return _texts(self._content, "shelf")

    @cached_property
    def kept_edits(self) -> Mapping[str, str]:
        """Edited file that the preparation kept -> its digest."""
        return _texts(self._content, "edits")

    @cached_property
    def replies(self) -> GivenReplies:
        """The replies of another engine that answered; without a digest where none did."""
        entry = as_mapping(self._content.get("replies"))
        counts = as_mapping(entry.get("empty"))
        return GivenReplies(
            first=str(entry.get("first") or ""),
            files=tuple(_files_in(entry, "path")),
            empty={name: count for name, count in counts.items() if type(count) is int},
        )

    @property
    def edited_from(self) -> str:
        """Id of the run as it was prepared, of a run of edited files; else empty."""
        return str(as_mapping(self._content.get("edited")).get("prepared_as") or "")

    @cached_property
    def edits(self) -> tuple[Edit, ...] | None:
        """The files that were edited before the run; None for a run of the prepared files."""
        files = as_mapping(self._content.get("edited")).get("files")
        if not isinstance(files, list):
            return None
        entries = [as_mapping(entry) for entry in files]
        return tuple(Edit(str(entry.get("name")), _kind(entry.get("kind"))) for entry in entries)

    def text(self, indent: int = 2) -> str:
        """Returns the text of its file."""
        return json.dumps(self._content, indent=indent, ensure_ascii=False) + "\n"

    def digest(self) -> str:
        """Returns the SHA-256 of what it holds, in whatever order."""
        text = json.dumps(self._content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

    def without_secrets(self) -> Manifest:
        """Returns it without what looks like a credential."""
        return Manifest(without_secrets(self._content))

    def with_parts(self, **parts: Any) -> Manifest:
        """Returns it with other top-level parts, as JSON has them."""
        return Manifest({**self._content, **parts})

    def with_tasks(
        self,
        changed: Mapping[str, Mapping[str, Any]],
        dropped: Mapping[str, Collection[str]] | None = None,
    ) -> Manifest:
        """Returns it with other facts of some tasks.

        Args:
            changed: Task -> its facts that differ, as JSON has them.
            dropped: Task -> its facts that are no more.
        """
        tasks = dict(as_mapping(self._content.get("tasks")))
        for name, facts in changed.items():
            gone = (dropped or {}).get(name, ())
            entry = {**as_mapping(tasks.get(name)), **facts}
            tasks[name] = {key: value for key, value in entry.items() if key not in gone}
        return self.with_parts(tasks=tasks)

    def with_commands(self, changed: Mapping[str, Mapping[str, Any]]) -> Manifest:
        """Returns it with other facts of some commands, by their names."""
        commands = [
            {**entry, **changed.get(str(entry.get("name")), {})}
            for entry in _commands_in(self._content)
        ]
        return self.with_parts(commands=commands)

    def without_tasks(self, excluded: Mapping[str, Excluded]) -> Manifest:
        """Returns it without some tasks, which are left out for the reasons that are given."""
        tasks = as_mapping(self._content.get("tasks"))
        reasons = {
            name: {"kind": exclusion.kind, "reason": exclusion.reason}
            for name, exclusion in excluded.items()
        }
        return self.with_parts(
            tasks={name: entry for name, entry in tasks.items() if name not in excluded},
            excluded={**as_mapping(self._content.get("excluded")), **reasons},
        )

    def records(self) -> dict[str, Manifest]:
        """Returns run id -> what is kept of it beside the results as `run_<id>.json`.

        It is what was meant to be run.
        """
        records = {}
        for model in self.models:
            own = [
                entry
                for entry in _commands_in(self._content)
                if entry.get("run", model.run) == model.run
            ]
            parts = {**self._content, "run": model.run, "model": model.model, "commands": own}
            records[model.run] = _record_of(parts)
        return records


def read_manifest(work_dir: Path) -> Manifest | None:
    """The manifest of a work folder, None where there is none that we can read."""
    manifest = _read(work_dir / MANIFEST, work_dir)
    return manifest if manifest.is_of_schema else None


def listed_files(work_dir: Path) -> dict[str, str] | None:
    """Path -> digest of each file that a preparation of any version wrote into a folder.

    None without a manifest that lists files.
    """
    manifest = _read(work_dir / MANIFEST, work_dir)
    return dict(manifest.files) if manifest.has_files else None


def read_record(folder: Path, run: str) -> Manifest:
    """What is kept of a run in an output folder, as `run_<id>.json`; empty without it."""
    record = _read(record_path(folder, run), folder)
    return record if record.run == run or record.unread else Manifest()


def records_in(folder: Path) -> list[Manifest]:
    """Returns what is kept of each run in an output folder, in order of their names."""
    return [_read(path, folder) for path in sorted(folder.glob("run_*.json"))]


def record_path(folder: Path, run: str) -> Path:
    """The place of what is kept of a run in an output folder."""
    return folder / f"run_{run}.json"


def _read(path: Path, root: Path) -> Manifest:
    """Reads one file; nothing is read through a link out of its folder."""
    if is_stray(path, root):
        return Manifest()
    try:
        content = read_json(path, own=True)
    except (FileNotFoundError, NotADirectoryError):
        return Manifest()
    except (json.JSONDecodeError, UnicodeDecodeError):
        return Manifest(unread="it is not JSON, or was cut off")
    except (NotRead, OSError, ValueError, RecursionError) as error:
        return Manifest(unread=f"it cannot be read ({error})")
    return (
        Manifest(content) if isinstance(content, dict) else Manifest(unread="it is not a mapping")
    )


def keep_records(output_path: Path, records: Mapping[str, Manifest]) -> None:
    """Keeps what was meant to be run beside the results.

    It is read from there when the work folder has become that of another run.
    """
    with contextlib.suppress(OSError):  # the results may go to a place that is not there yet
        output_path.mkdir(parents=True, exist_ok=True)
        for run, record in records.items():
            write_atomically(record_path(output_path, run), record.text(indent=1))


def _record_of(parts: Mapping[str, Any]) -> Manifest:
    keys = (
        *("schema", "run", "model", "fingerprints", "tasks", "groups", "scores", "excluded"),
        *("published", "packs", "sources", "versions", "commits"),
    )
    slim = {key: parts[key] for key in keys if key in parts}
    slim["commands"] = [
        {key: command.get(key) for key in ("name", "tasks", "depth")}
        for command in _commands_in(parts)
    ]
    return Manifest(slim)


def _listed(content: Mapping[str, Any], key: str) -> list[Any]:
    """A part that is a list; empty where it is something else."""
    listed = content.get(key)
    return listed if isinstance(listed, list) else []


def _texts(content: Mapping[str, Any], key: str) -> dict[str, str]:
    """A part that maps names to texts; entries of other types are damaged."""
    entries = as_mapping(content.get(key)).items()
    return {name: str(text) for name, text in entries if not isinstance(text, dict | list)}


def _commands_in(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The entries of the commands that are mappings; others are damaged."""
    return [entry for entry in _listed(content, "commands") if isinstance(entry, Mapping)]


def _task(name: str, entry: Mapping[str, Any]) -> PreparedTask:
    rows, expected, settings = entry.get("rows"), entry.get("expected"), entry.get("settings")
    leaves = as_mapping(entry.get("leaves"))
    return PreparedTask(
        name=name,
        pack=str(entry.get("pack") or ""),
        rows=rows if type(rows) is int else None,
        expected=expected if type(expected) is int else None,
        data=str(entry.get("data") or ""),
        yaml=str(entry.get("yaml") or ""),
        made_from=str(entry.get("made_from") or ""),
        settings=settings if isinstance(settings, dict) else None,
        row_digest=as_mapping(entry.get("row_digest")),
        leaves={leaf: as_mapping(own) for leaf, own in leaves.items()},
    )


def _source(entry: Mapping[str, Any]) -> PreparedSource:
    rows = entry.get("rows")
    return PreparedSource(
        location=str(entry.get("location") or ""),
        config=str(entry.get("config") or ""),
        split=str(entry.get("split") or ""),
        revision=str(entry.get("revision") or ""),
        rows=rows if type(rows) is int else None,
        files=tuple(_files_in(entry, "name")),
    )


def _files_in(entry: Mapping[str, Any], name: str) -> Iterator[KeptFile]:
    """The files that an entry lists, whose names stand under a key."""
    for facts in map(as_mapping, _listed(entry, "files")):
        yield KeptFile(str(facts.get(name) or ""), str(facts.get("sha256") or ""))


def _kind(text: Any) -> EditKind:
    """The kind of an edit; of a later version's kind the plainest."""
    return text if text in {"added", "removed"} else "edited"


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
