"""The published results of a model as the baseline of a comparison: `--published PACK:NAME`."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.errors import BadInput, Problem, near
from evalprep.files import as_mapping
from evalprep.temporary import OwnFolder

if TYPE_CHECKING:
    from evalprep.compare import Comparison, Reproduction
    from evalprep.packs import Pack, Publication
    from evalprep.results import Run


_NAMED = 3  # rows that a sentence names
_DTYPES = ("bfloat16", "float16", "float32")


@dataclass(frozen=True)
class PublishedSide:
    """Published samples as a run.

    Attributes:
        publication: What was published.
        run: The samples; by today's scorer, where the headline was computed by a newer one.
        as_published: The samples with their published verdicts.
        pack: The pack that fetched them.
    """

    publication: Publication
    run: Run
    as_published: Run
    pack: Pack


def open_published(args: argparse.Namespace, run: Run, packs: Mapping[str, Pack]) -> PublishedSide:
    """Fetches the published samples that `--published` names.

    Raises:
        BadInput: no such pack, or it has no published samples of that name.
    """
    from evalprep.results import EACH, load_run

    pack, name = _pack_and_name(args.published, packs)
    keys, folder = _keys(pack, name, run, args.set)
    module = pack.module("publication")
    section = _section(pack, keys)
    where = f"--published {args.published}"
    publication = module.fetch(name, section, folder=folder, where=where)  # type: ignore[union-attr]
    logged = load_run(publication.place, timestamp=EACH)
    whole = _with_precision(logged, publication.precision)
    shared = {key: task for key, task in whole.tasks.items() if key in run.tasks}
    published = replace(whole, tasks=shared, named=f"{name}, published")
    rescored = []
    if not args.no_rescore:
        rescored = [task for task in publication.rescored if task in shared]
    again, rescore_notes = _by_todays_scorer(published, rescored, packs)
    notes = (*publication.notes, *_contradictions(published), *rescore_notes)
    publication = replace(publication, notes=notes)
    return PublishedSide(publication, again, published, pack)


def _with_precision(published: Run, precision: str) -> Run:
    """The samples with the precision of their row, where their results state no data type.

    The results of a quantised model state the type of the weights that are not quantised.
    """
    from msgspec import structs

    settings = published.settings
    stated_type = settings.dtype or settings.arguments.get("dtype")
    is_known = precision in _DTYPES and stated_type
    if not precision or is_known:
        return published
    arguments = {**settings.arguments, "dtype": precision}
    settings = structs.replace(settings, arguments=arguments)
    logged = structs.replace(published.logged, settings=settings)
    calls = {}
    for task, call in published.calls.items():
        calls[task] = structs.replace(call, arguments={**call.arguments, "dtype": precision})
    return replace(published, logged=logged, calls=calls)


def search_published(
    query: str, overruled: Sequence[str], packs: Mapping[str, Pack]
) -> dict[str, list[str]]:
    """Returns pack -> published rows whose names contain a text.

    Raises:
        BadInput: a table of published results cannot be had, or a key is unknown.
    """
    rows = {}
    for name, pack in _able(packs).items():
        keys = _read_set(pack, overruled)
        section = _section(pack, keys)
        module = pack.module("publication")
        rows[name] = module.search(query, section, folder=Path.cwd())  # type: ignore[union-attr]
    return rows


def _contradictions(published: Run) -> Iterator[str]:
    """Yields a sentence for each task with verdicts that its log-likelihoods contradict."""
    from evalprep.samples import Sample, check_verdicts
    from evalprep.terminal import shortlist

    for name, task in published.tasks.items():
        samples = (row for row in task.samples() if isinstance(row, Sample))
        checked = check_verdicts(samples)
        disagreeing = checked.disagreeing
        if disagreeing:
            counted = f"{len(disagreeing)} of {checked.checked} published verdicts"
            rows = shortlist(disagreeing, _NAMED)
            yield f"{name}: {counted} do not follow from their log-likelihoods: {rows}"


def _able(packs: Mapping[str, Pack]) -> dict[str, Pack]:
    """The packs that can fetch published results."""
    return {name: pack for name, pack in packs.items() if pack.file_of("publication") is not None}


def _pack_and_name(text: str, packs: Mapping[str, Pack]) -> tuple[Pack, str]:
    """The pack that can fetch published results, and the name after the colon."""
    able = _able(packs)
    owner, _, name = text.partition(":")
    if owner not in able or not name:
        names = ", ".join(f"{pack}:ORG/MODEL" for pack in able)
        raise BadInput(
            Problem(
                what=f"{text!r} names no published results",
                where="--published",
                allowed=names or "none: no pack has any",
                fix=near(owner, able),
            )
        )
    return able[owner], name


def _keys(pack: Pack, name: str, run: Run, overruled: Sequence[str]) -> tuple[dict[str, Any], Path]:
    """The pack's keys: of the config that the run was prepared with, then those of `--set`.

    Samples that the config names are those of its reference alone.
    """
    from evalprep.results import prepared_work

    prepared = prepared_work(run)
    keys: dict[str, Any] = {}
    if prepared is not None:
        keys = dict(as_mapping(prepared.config.get(pack.name)))
    if keys.get("reference") != name:
        keys = {key: value for key, value in keys.items() if key == "contents"}
    folder = prepared.config_folder if prepared is not None and keys else None
    keys |= _read_set(pack, overruled)
    return keys, folder or Path.cwd()


def _read_set(pack: Pack, overruled: Sequence[str]) -> dict[str, Any]:
    """The keys that `--set` names; paths among them refer to the current folder."""
    from evalprep.config import read_setting

    values: dict[str, Any] = {}
    for text in overruled:
        keys, value = read_setting(text)
        name = ".".join(keys).removeprefix(f"{pack.name}.")
        if name not in pack.config:
            allowed = [f"{pack.name}.{known}=..." for known in pack.config]
            raise BadInput(
                Problem(
                    what=f"the pack {pack.name} has no key {'.'.join(keys)!r}",
                    where=f"--set {text}",
                    allowed=", ".join(allowed),
                    fix=near(name, pack.config),
                )
            )
        if "source" in pack.config[name].types and isinstance(value, str):
            place = Path(value).expanduser()
            value = str(place.resolve()) if place.exists() else value
        values[name] = value
    return values


def _section(pack: Pack, keys: Mapping[str, Any]) -> Any:
    from evalprep.config import read_section

    section, mistakes = read_section(pack, dict(keys))
    if section is None or mistakes:
        names = [".".join(map(str, mistake.keys)) for mistake in mistakes]
        known = [name for name in names if name in pack.config]
        allowed = [f"{name}: {pack.config[name].doc}" for name in known]
        raise BadInput(
            Problem(
                what=f"wrong value of {', '.join(names)}",
                where=f"--set, keys of the pack {pack.name}",
                allowed="; ".join(allowed),
            )
        )
    return section


@cache
def _space() -> OwnFolder:
    """A folder that is gone when this process is."""
    return OwnFolder("published")


def _by_todays_scorer(
    published: Run, tasks: Sequence[str], packs: Mapping[str, Pack]
) -> tuple[Run, list[str]]:
    """The published samples with some tasks scored anew, and why others could not be."""
    from evalprep.rescore import RunWriter, rescore_task
    from evalprep.results import load_run

    if not tasks:
        return published, []
    folder = Path(tempfile.mkdtemp(dir=_space().name))
    writer = RunWriter(published, folder, folder)
    left_out: dict[str, str] = {}
    with contextlib.redirect_stdout(sys.stderr):  # scorers may print
        for task in tasks:
            try:
                rescore_task(published, task, packs=packs, writer=writer)
            except BadInput as error:
                left_out[task] = error.problems[0].what
    if len(left_out) == len(tasks):
        reason = next(iter(left_out.values()))
        return published, [f"compared by the published verdicts: {reason}"]
    writer.finish(left_out)
    again = load_run(folder)
    return replace(published, tasks={**published.tasks, **again.tasks}), []


def add_reproduction(
    comparison: Comparison, run: Run, side: PublishedSide, packs: Mapping[str, Pack]
) -> Reproduction:
    """Puts each benchmark of the run beside the published one."""
    from evalprep.compare import PublishedScores, reproduce
    from evalprep.score import score_run

    verdicts = score_run(side.as_published, packs)
    rescored = None
    if side.run.tasks is not side.as_published.tasks:
        rescored = score_run(side.run, packs)
    return reproduce(
        side.publication, score_run(run, packs), PublishedScores(verdicts, rescored), comparison
    )
