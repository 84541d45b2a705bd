"""The prepared command as data: what work_dir/run.yaml and the manifest say."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from evalprep.errors import BadInput, Problem
from evalprep.files import as_mapping, read_file, unchanged_sha256
from evalprep.packs import (
    MANIFEST,
    Command,
    Prepared,
    content_of,
    keep_records,
    records_of_work,
    require_prepared,
)
from evalprep.status.run_ids import runs_now
from evalprep.yamltext import NotYaml, sorted_json, yaml_value


@dataclass(frozen=True)
class Job:
    """One lm_eval call.

    Attributes:
        model: Back end.
        model_args: Its arguments.
        tasks: Names for `--tasks`.
        options: Further keys of lm-eval's run configuration.
        env: Variables that the call needs.
        data: Digest of what the prepared files ask; another preparation is another run.
        name: Name of the command.
        depth: How many stages come before it.
        leaves: The tasks that it runs, without groups.
        label: What its model is called, where a preparation has several.
        reading: Digest of the task files and the code beside them as they are, scorers included.
    """

    model: str
    model_args: dict[str, Any]
    tasks: list[str]
    options: dict[str, Any]
    env: dict[str, str] = field(default_factory=dict)
    data: str = ""
    name: str = ""
    depth: int = 0
    leaves: tuple[str, ...] = ()
    label: str = ""
    reading: str = ""

    @property
    def id(self) -> str:
        """Names the run folder: the same for the same command of the same run.

        The id of the run covers what the command asks and whom; batches, devices and the port of a
        local server are not in it, nor is the try.
        """
        facts: list[Any] = [self.run, self.metadata.get("command"), self.tasks, self.data]
        if not self.run:
            facts = [self.model, self.model_args, self.tasks, self.options, self.data]
        text = sorted_json(facts)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def metadata(self) -> dict[str, Any]:
        """The entries that lm-eval writes into the metadata of each task."""
        return as_mapping(self.options.get("metadata"))

    @property
    def run(self) -> str:
        """Id of the run that it is of."""
        return str(self.metadata.get("run", ""))

    @property
    def output_path(self) -> Path:
        """Returns where lm-eval writes."""
        return Path(str(self.options["output_path"]))

    @property
    def include_path(self) -> str:
        """The prepared work folder."""
        return str(self.options["include_path"])

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "model": self.model,
            "model_args": self.model_args,
            "tasks": self.tasks,
            "options": self.options,
            "env": self.env,
            "data": self.data,
            "name": self.name,
            "depth": self.depth,
            "leaves": list(self.leaves),
            "label": self.label,
            "reading": self.reading,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Job:
        """The inverse of `as_dict`; keys of a later version are left out.

        Raises:
            ValueError: it is no job.
        """
        job = msgspec.convert(data, cls)
        for key in ("output_path", "include_path"):
            if not isinstance(job.options.get(key), str):
                raise ValueError(f"options.{key} is not a valid path")  # noqa: TRY004 - about a file
        if not isinstance(job.options.get("metadata") or {}, dict):
            raise ValueError("options.metadata is not a mapping")  # noqa: TRY004 - as above
        return job


def located(job: Job, output: Path) -> Job:
    """Returns a command as it would be if its results went to another output folder.

    Of a copied project that is the folder of the copy, beside the work folder of the copy.
    """
    if job.output_path == output:
        return job
    way = os.path.relpath(job.include_path, job.output_path)
    work_dir = (output / way).resolve()
    beside = str(work_dir) if (work_dir / MANIFEST).is_file() else job.include_path
    options = {**job.options, "output_path": str(output), "include_path": beside}
    return replace(job, options=options)


#: Keys of lm-eval's run configuration that only make sense for one call over everything. We never
# write them.
_WHOLE_ONLY = (
    "samples",
    "use_cache",
    "cache_requests",
    "check_integrity",
    "write_out",
    "predict_only",
)


class _Stated(msgspec.Struct):
    """The keys that a run configuration needs, with their types."""

    model: str
    model_args: dict[str, Any]
    tasks: list[str]
    output_path: str
    include_path: str
    metadata: dict[str, Any] | None


def _run_configuration(path: Path) -> tuple[Any, dict[str, Any], Any, dict[str, Any]]:
    """Model, its arguments, tasks and the other keys of a command's run configuration.

    Raises:
        BadInput: there is none, or one without a key that it needs.
    """
    try:
        data = yaml_value(read_file(path).decode("utf-8"))
        model = data.pop("model")
        arguments = data.pop("model_args") or {}
        tasks = data.pop("tasks")
        stated = {"model": model, "model_args": arguments, "tasks": tasks}
        msgspec.convert({"metadata": None, **data, **stated}, _Stated)
    except FileNotFoundError:
        raise BadInput(
            Problem(what="does not exist", where=str(path), fix="prepare again")
        ) from None
    except (OSError, ValueError, NotYaml, KeyError, AttributeError, TypeError) as error:
        raise BadInput(
            Problem(
                what=f"is not a run configuration: {error!r}", where=str(path), fix="prepare again"
            )
        ) from None
    return model, arguments, tasks, data


def read_jobs(work_dir: Path, replies: str = "") -> list[Job]:
    """The calls that a work folder was prepared for: the main one, then those for other back ends.

    Args:
        work_dir: The folder.
        replies: Digest of the files with replies of another engine, whose run it is then; empty
            where the back end answers.

    Raises:
        BadInput: no prepared folder, or a run.yaml that is not one, or wants what a run in units
            cannot give.
    """
    prepared = require_prepared(work_dir)
    runs = runs_now(prepared, replies)
    # The digest of the task files and the code beside them, as they are now.
    digests = {
        path.relative_to(prepared.folder).as_posix(): unchanged_sha256(path)
        for path in sorted(prepared.folder.rglob("*"))
        if path.suffix in {".yaml", ".py"} and path.parent != prepared.folder and path.is_file()
    }
    reading = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()
    return [_job_of(command, prepared, runs, reading) for command in prepared.commands]


def refuse_moved(work_dir: Path) -> None:
    """Refuses to run a folder whose commands name another one: lm-eval would read that.

    Raises:
        BadInput: the folder was renamed, copied, or prepared for another machine.
    """
    prepared = require_prepared(work_dir)
    if prepared.is_moved:
        raise BadInput(
            Problem(
                what=f"was prepared as {prepared.named_folder}; its task files and commands name "
                "that folder",
                where=str(work_dir),
                fix="prepare it again from its config: evalprep prepare --config_path FILE",
            )
        )


def _job_of(command: Command, prepared: Prepared, runs: Mapping[str, str], reading: str) -> Job:
    """The call that a command makes; its run is the one that the files as they are now make up."""
    path = prepared.folder / command.file
    model, arguments, tasks, options = _run_configuration(path)
    if foreign := [key for key in _WHOLE_ONLY if options.get(key)]:
        raise BadInput(
            Problem(
                what=f"{', '.join(foreign)}: `evalprep run` cannot do that",
                where=str(path),
                fix="paste the command, or take the keys out",
            )
        )
    if run := runs.get(command.run or prepared.run, ""):
        options["metadata"] = {**(options.get("metadata") or {}), "run": run}
    # The digest of what the files of the command ask, as they are now. It leaves out data of later
    # stages, and what reads replies: a scorer can be changed and the run resumed, since a response
    # is only used again for the very same request.
    plan = prepared.plan
    later = {name for name in plan.tasks if plan.depth(name) > command.depth}
    inputs = content_of(prepared.folder, prepared.named_folder, without=later)
    text = json.dumps(inputs, sort_keys=True)
    return Job(
        model,
        arguments,
        tasks,
        options,
        env=dict(command.env),
        data=hashlib.sha256(text.encode()).hexdigest(),
        name=command.name,
        depth=command.depth,
        leaves=command.tasks,
        label=command.model,
        reading=reading,
    )


def keep_edited_runs(work_dir: Path) -> None:
    """Keeps, beside its results, the record of each run that was edited since it was prepared.

    The preparation keeps that of the unedited run there, too.
    """
    prepared = require_prepared(work_dir)
    runs = runs_now(prepared)
    if prepared.output_path is not None and any(now != run for run, now in runs.items()):
        keep_records(prepared.output_path, records_of_work(prepared, runs))
