"""The origin of a run's numbers in the words of the report; what no file states is not recorded."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evalprep.packapi import Digest, Provenance

NOT_RECORDED = "not recorded"
_SHOWN_FILES = 3  # of a source; the list of digests has all


def facts(origin: Provenance, helpers: Sequence[str], rows: str) -> dict[str, str]:
    """Name -> text, in the order of the report.

    Args:
        origin: What the run's files state.
        helpers: What rated replies, as the rows name it.
        rows: Rows of each task, in words.
    """
    newest = origin.commands[-1] if origin.commands else None
    known = [command for command in origin.commands if command.attempt is not None]
    by_name = {command.name: command.attempt for command in known}
    prepared = origin.versions.get("evalprep", NOT_RECORDED)
    lm_eval = _joined([command.lm_eval for command in origin.commands])
    annotators = []
    for annotator in origin.annotators:
        model = f" ({annotator.model})" if annotator.model else ""
        annotators.append(f"{annotator.name} version {annotator.version}{model}")
    entries = {
        "model": model_name(origin.model),
        "revision": origin.revision,
        "digest of the weights": origin.weights,
        "data type": origin.dtype,
        "answered by": _answered_by(origin),
        "run": origin.run,
        "how often it was tried": ", ".join(
            f"{name} {attempt}" for name, attempt in by_name.items()
        ),
        "seeds": ", ".join(f"{name} {seed}" for name, seed in origin.seeds.items()),
        "rows per task": rows,
        "evalprep": f"{prepared} prepared, {_here()} scored; {_commit(origin, 'evalprep')}",
        "lm-eval": f"{lm_eval or NOT_RECORDED}; {_commit(origin, 'lm_eval')}",
        "commit of the folder it was started in": _joined([one.commit for one in origin.commands]),
        "engine": "" if newest is None or origin.replies else newest.engine,
        "judges and detectors": ", ".join([*annotators, *helpers]),
        "report written": _moment(dt.datetime.now(tz=dt.UTC).timestamp()),
    }
    return {name: text or NOT_RECORDED for name, text in entries.items()}


def _commit(origin: Provenance, package: str) -> str:
    """The commit of a package when the run was prepared."""
    return f"commit {origin.commits.get(package) or NOT_RECORDED}"


def model_name(model: str) -> str:
    """A model's id; of a folder its last part.

    >>> model_name("/models/tiny"), model_name("org/tiny")
    ('tiny', 'org/tiny')
    """
    is_folder = model.startswith((".", "/", "~")) or "\\" in model
    return last_part(model) if is_folder else model


def last_part(model: str) -> str:
    """The last part of a model's path or hub id."""
    return model.replace("\\", "/").rstrip("/").rpartition("/")[2]


def subtitle(origin: Provenance) -> str:
    """The run, its first and last day, and when the report was written."""
    moments = [command.started for command in origin.commands if command.started]
    days = sorted({_moment(moment)[:10] for moment in moments})
    when = " to ".join(dict.fromkeys([days[0], days[-1]])) if days else f"date {NOT_RECORDED}"
    today = _moment(dt.datetime.now(tz=dt.UTC).timestamp())
    return f"Run {origin.run or NOT_RECORDED}, {when}. Report of {today}, by evalprep {_here()}."


def command_rows(origin: Provenance) -> list[tuple[str, ...]]:
    """One line for each call: its name and the facts that the report has columns for."""
    rows = []
    for command in origin.commands:
        started = NOT_RECORDED if command.started is None else _moment(command.started)
        seconds = NOT_RECORDED if command.seconds is None else f"{command.seconds:.0f} s"
        attempt = NOT_RECORDED if command.attempt is None else str(command.attempt)
        row = (command.name or "typed by hand", started, seconds, attempt, str(len(command.tasks)))
        rows.append((*row, command.lm_eval or NOT_RECORDED, command.hardware or NOT_RECORDED))
    return rows


def source_texts(origin: Provenance) -> list[str]:
    """What the preparation read: place, part, revision, rows, and the digests of its files."""
    texts = []
    for source in origin.sources:
        parts = {"config": source.config, "split": source.split, "revision": source.revision}
        stated = [f"{name} {text}" for name, text in parts.items() if text]
        if source.rows:
            stated.append(f"{source.rows} rows")
        shown = source.files[:_SHOWN_FILES]
        stated += [f"{file.name} sha256 {file.sha256[:12] or NOT_RECORDED}" for file in shown]
        if len(source.files) > _SHOWN_FILES:
            stated.append(f"{len(source.files) - _SHOWN_FILES} more files")
        # A hub id as it is; of a path the last two parts, as the machine's folders mean nothing.
        path = Path(source.location)
        place = "/".join(path.parts[-2:]) if path.is_absolute() else source.location
        texts.append(f"{place}: {', '.join(stated)}")
    return texts


def digests(origin: Provenance) -> list[tuple[str, str]]:
    """Every input of the report with its SHA-256: plan, results, samples, replies and data."""
    listed: list[Digest] = [*origin.files, *origin.replies]
    for source in origin.sources:
        listed += source.files
    rows = [(Path(file.name).name, file.sha256 or NOT_RECORDED) for file in listed]
    return list(dict.fromkeys(rows))


def _answered_by(origin: Provenance) -> str:
    """Who answered: files of another engine, a server, or a back end here."""
    if origin.replies:
        files = ", ".join(f"{Path(file.name).name}" for file in origin.replies)
        engine = f"its prompts were written for the back end {origin.backend or NOT_RECORDED}"
        reasons = [f"{count} empty replies: {reason}" for reason, count in origin.empty.items()]
        return "; ".join(
            [f"another engine, {NOT_RECORDED}, by the files {files}", engine, *reasons]
        )
    if origin.endpoint:
        return f"a server at {origin.endpoint}, back end {origin.backend}"
    return f"back end {origin.backend}" if origin.backend else ""


def _here() -> str:
    try:
        return version("evalprep")
    except PackageNotFoundError:
        return NOT_RECORDED


def _joined(texts: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, texts)))


def _moment(seconds: float) -> str:
    moment = dt.datetime.fromtimestamp(seconds, tz=dt.UTC)
    return moment.strftime("%Y-%m-%d %H:%M UTC")
