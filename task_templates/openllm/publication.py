"""Published samples and headlines of one model, for `compare --published openllm:ORG/MODEL`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from custom_metrics.openllm import BENCHMARKS, LEAVES, details_repository, parse_file_name
from evalprep.packapi import (
    BadInput,
    DataFolder,
    Problem,
    Publication,
    PublishedPart,
    PublishedValue,
    Source,
    is_folder,
    on_hub,
    open_folder,
    open_source,
    place,
    source_spec,
)

from .contents import SOURCE, PublishedRow, Wanted, choose_row, read_rows
from .samples import SampleFile, newest_samples

_MATH = next(board for board in BENCHMARKS if board.name == "math")


def fetch(name: str, section: Any, *, folder: Path, where: str) -> Publication:
    """Returns what the leaderboard published of a model.

    Args:
        name: `org/model`; or a folder, or `hub:owner/name`, with its published samples.
        section: The pack's keys: `details`, `contents`, and which row of the table is meant.
        folder: Folder that relative paths refer to.
        where: Who asked, for messages.

    Raises:
        BadInput: there are no published samples.
    """
    if section.version == "v1":
        raise BadInput(
            Problem(
                what="published samples of leaderboard v1 are parquet files of another layout",
                where=where,
                fix=f"fetch {details_repository(name, 1)}, and name one of its files as BASELINE: "
                "evalprep compare RUN details_harness|<task>|<shots>_<time>.parquet",
            )
        )
    is_place = on_hub(name) or is_folder(place(name, folder))
    details = name if is_place else section.details or details_repository(name)
    spec = source_spec(details, where)
    samples = open_folder(spec.path, revision=spec.revision, folder=folder, where=where)
    files = newest_samples(samples.names)
    if not files:
        raise BadInput(
            Problem(
                what=f"no published samples of the leaderboard's tasks at {samples.location}",
                where=where,
                allowed="samples_leaderboard_<task>_<time>.json or .jsonl",
                fix="name the folder of a details repository",
            )
        )
    names = [file.name for file in files.values()]
    stamps = {file.stamp for file in files.values()}
    for file_name in samples.names:
        parts = parse_file_name(file_name)
        if parts is not None and parts.kind == "results" and parts.stamp in stamps:
            names.append(file_name)
    local = samples.fetch(names, where)
    row, without_row = _row(name, section, is_place=is_place, folder=folder)
    folders = {file.parent for file in local}
    first = local[0].parent
    title = f"published samples of {name}" if row is None else row.title
    values = {} if row is None else row.values
    return Publication(
        title=title,
        place=first if len(folders) == 1 else first.parent,
        values={score: PublishedValue(value, SOURCE, title) for score, value in values.items()},
        parts=[
            PublishedPart(board.column, f"openllm_{board.name}_raw", f"openllm_{board.name}")
            for board in BENCHMARKS
        ],
        average="openllm_average",
        rescored=[leaf.task for leaf in _MATH.leaves if leaf.task in files],
        notes=[*_notes(samples, files), *without_row],
        precision="" if row is None else row.precision,
    )


def _notes(samples: DataFolder, files: Mapping[str, SampleFile]) -> Iterator[str]:
    version = f"commit {samples.commit}" if samples.commit else "a local folder"
    yield f"published samples: {samples.location}, {version}"
    absent = [task for task in LEAVES if task not in files]
    if absent:
        yield f"without published samples: {', '.join(absent)}"
    runs = len({file.stamp for file in files.values()})
    if runs > 1:
        yield f"the newest samples of each task are of {runs} runs"


def search(query: str, section: Any, *, folder: Path) -> list[str]:
    """Returns the rows of the published table whose model's name contains a text, in one line each.

    Raises:
        BadInput: the table cannot be had.
    """
    lines = []
    for row in read_rows(_table(section, folder).rows()):
        if query.lower() in row.model.lower():
            average = row.values.get("openllm_average")
            value = "" if average is None else f", average {average:.2f}"
            lines.append(f"{row.title}{value}")
    return lines


def _table(section: Any, folder: Path) -> Source:
    where = "openllm.contents"
    spec = source_spec(section.contents, where)
    return open_source(
        spec.path, split=spec.split, revision=spec.revision, folder=folder, where=where
    )


def _row(
    name: str, section: Any, *, is_place: bool, folder: Path
) -> tuple[PublishedRow | None, list[str]]:
    """The model's row of the published table; None, and why, where it cannot be had."""
    model = section.reference if is_place else name
    if not model:
        return None, ["no published headlines: openllm.reference names the row"]
    try:
        table = _table(section, folder)
    except BadInput as error:
        return None, [f"no published headlines: {error.problems[0].what}"]
    query = Wanted(model, section.precision, section.revision, section.chat_template)
    return choose_row(read_rows(table.rows()), query, "openllm.contents"), []
