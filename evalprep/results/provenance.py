"""The origin of a run's numbers, for documents that somebody files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from evalprep.files import file_sha256
from evalprep.packs import PreparedSource
from evalprep.readers import scored_by
from evalprep.results.invocations import Invocation
from evalprep.results.record import record_file, record_of
from evalprep.results.run import Run


@dataclass(frozen=True)
class Digest:
    """A file that a run read or wrote.

    Attributes:
        name: Its path or name.
        sha256: Digest of its bytes; empty where none is recorded.
    """

    name: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class CommandOrigin:
    """One call of the harness.

    Attributes:
        name: Name of the command; empty of one that was typed by hand.
        tasks: Its tasks.
        started: Seconds since the epoch; None where that is not known.
        seconds: How long it took; None where that is not known.
        attempt: Number of the try that counts; None where its files state none.
        lm_eval: Version of lm-eval.
        engine: Version of the package that ran the model.
        commit: Commit of the folder in which it was started.
        hardware: Processors that its results file names.
    """

    name: str
    tasks: tuple[str, ...]
    started: float | None
    seconds: float | None
    attempt: int | None
    lm_eval: str
    engine: str
    commit: str
    hardware: str


@dataclass(frozen=True, kw_only=True)
class SourceOrigin:
    """A data set or file that the preparation read.

    Attributes:
        location: Hub id or path.
        config, split: Its parts; empty without.
        revision: Commit of the hub; empty without.
        rows: Rows that were read; None where that is not known.
        files: Its files.
    """

    location: str
    config: str
    split: str
    revision: str
    rows: int | None
    files: tuple[Digest, ...]


@dataclass(frozen=True, kw_only=True)
class AnnotatorOrigin:
    """A judge or detector that rated replies.

    Attributes:
        name: Its name in the pack.
        version: Version of what it asks.
        model: The model or word list behind it; empty without.
    """

    name: str
    version: str
    model: str


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """All that the files of a run say of where its numbers come from. Empty is not recorded.

    Attributes:
        model: The model as it was named when the run was prepared.
        revision: Its revision.
        weights: Digest of its files.
        dtype: Data type of the weights.
        backend: lm-eval's name of the back end that the prompts were made for.
        endpoint: Host of a server.
        replies: Files with the replies, where another engine answered.
        empty: Reason of an engine for empty replies -> how many it gave.
        seeds: Seed by what it is for.
        limit: Rows of each task; None for all.
        run: The run's id.
        versions: Versions of programs at preparation.
        commits: Program -> the commit that it was installed from, where that was known then.
        commands: The calls, oldest first.
        sources: Data sets and files that the preparation read.
        annotators: Judges and detectors.
        files: The files that were read for this document.
    """

    model: str = ""
    revision: str = ""
    weights: str = ""
    dtype: str = ""
    backend: str = ""
    endpoint: str = ""
    replies: tuple[Digest, ...] = ()
    empty: Mapping[str, int] = field(default_factory=dict)
    seeds: Mapping[str, Any] = field(default_factory=dict)
    limit: float | None = None
    run: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    commits: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[CommandOrigin, ...] = ()
    sources: tuple[SourceOrigin, ...] = ()
    annotators: tuple[AnnotatorOrigin, ...] = ()
    files: tuple[Digest, ...] = ()


def provenance_of(run: Run, annotators: Sequence[AnnotatorOrigin]) -> Provenance:
    """Returns what the files of a run say of where its numbers come from.

    Args:
        run: The run.
        annotators: The judges and detectors that rated its replies.
    """
    record = record_of(run.files.folder, run.files.run)
    answerer = run.identity.answered_by
    meant = record.models[0]
    model = meant.model or run.model
    arguments = {**meant.model_args, **run.arguments}
    return Provenance(
        model=model,
        revision=str(arguments.get("revision") or meant.revision or ""),
        weights=record.fingerprints.get(model, ""),
        dtype=str(run.settings.dtype or arguments.get("dtype") or ""),
        backend="" if answerer is None else answerer.backend,
        endpoint="" if answerer is None else _host_of(answerer.base_url),
        replies=tuple(Digest(file.name, file.sha256) for file in record.replies.files),
        empty=record.replies.empty,
        seeds=run.settings.seeds,
        limit=run.settings.limit,
        run=run.files.run,
        versions=record.versions,
        commits=record.commits,
        commands=tuple(map(_command, run.files.invocations)),
        sources=tuple(map(_source, record.sources)),
        annotators=tuple(annotators),
        files=tuple(_files(run)),
    )


def _host_of(url: str) -> str:
    """The host in an address; empty without one."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _command(call: Invocation) -> CommandOrigin:
    settings = call.settings
    scored = scored_by(call.results)
    return CommandOrigin(
        name=call.command,
        tasks=call.tasks,
        started=settings.started,
        seconds=scored.seconds,
        attempt=call.attempt,
        lm_eval=scored.lm_eval,
        engine=settings.engine_version,
        commit=scored.commit,
        # The machine that scored replies of another engine is not the one that made them.
        hardware="" if scored.is_of_replies else scored.hardware,
    )


def _source(source: PreparedSource) -> SourceOrigin:
    return SourceOrigin(
        location=source.location,
        config=source.config,
        split=source.split,
        revision=source.revision,
        rows=source.rows,
        files=tuple(Digest(file.name, file.sha256) for file in source.files),
    )


def _files(run: Run) -> Iterator[Digest]:
    """The plan, results and samples that a document about the run is made of."""
    plan = record_file(run.files.folder, run.files.run)
    results = [call.results for call in run.files.invocations if call.is_written]
    if run.log is not None:
        samples = [run.log]
    else:
        samples = [run.files.samples.get(name, task.path) for name, task in run.tasks.items()]
    for path in dict.fromkeys(chain([plan] if plan else [], results, samples)):
        if path.is_file():
            yield Digest(path.name, file_sha256(path))
