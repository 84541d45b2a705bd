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
    publication = pack.module("publication").fetch(  # type: ignore[union-attr]
        name, _section(pack, keys), folder=folder, where=f"--published {args.published}"
    )
    whole = _with_precision(load_run(publication.place, timestamp=EACH), publication.precision)
    shared = {task: item for task, item in whole.tasks.items() if task in run.tasks}
    published = replace(whole, tasks=shared, named=f"{name}, published")
    rescored = [task for task in publication.rescored if task in shared]
    if args.no_rescore:
        rescored = []
    again, rescore_notes = _by_todays_scorer(published, rescored, packs)
    notes = (*publication.notes, *_contradictions(published), *rescore_notes)
    return PublishedSide(replace(publication, notes=notes), again, published, pack)


def _with_precision(published: Run, precision: str) -> Run:
    """The samples with the precision of their row, where their results state no data type.

    Of a quantised model the results state the type of the weights that are not.
    """
    from msgspec import structs

    settings = published.settings
    is_type = precision in _DTYPES
    if not precision or (is_type and (settings.dtype or settings.arguments.get("dtype"))):
        return published
    stated = structs.replace(settings, arguments={**settings.arguments, "dtype": precision})
    return replace(published, logged=structs.replace(published.logged, settings=stated))


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
        here = {key: _from_here(pack, key, value) for key, value in keys.items()}
        module = pack.module("publication")
        section = _section(pack, here)
        rows[name] = module.search(query, section, folder=Path.cwd())  # type: ignore[union-attr]
    return rows


def _contradictions(published: Run) -> Iterator[str]:
    """Yields a sentence for each task with verdicts that its log-likelihoods contradict."""
    from evalprep.results import Sample, check_verdicts
    from evalprep.terminal import shortlist

    for name, task in published.tasks.items():
        checked = check_verdicts(item for item in task.samples() if isinstance(item, Sample))
        if checked.disagreeing:
            count, rows = len(checked.disagreeing), shortlist(checked.disagreeing, _NAMED)
            yield (
                f"{name}: {count} of {checked.checked} published verdicts do not follow from their "
                f"log-likelihoods: {rows}"
            )


def _able(packs: Mapping[str, Pack]) -> dict[str, Pack]:
    """The packs that can fetch published results."""
    return {name: pack for name, pack in packs.items() if pack.file_of("publication") is not None}


def _pack_and_name(text: str, packs: Mapping[str, Pack]) -> tuple[Pack, str]:
    """The pack that can fetch published results, and the name after the colon."""
    able = _able(packs)
    owner, _, name = text.partition(":")
    if owner not in able or not name:
        raise BadInput(
            Problem(
                what=f"{text!r} names no published results",
                where="--published",
                allowed=", ".join(f"{pack}:ORG/MODEL" for pack in able) or "none: no pack has any",
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
    keys = {} if prepared is None else dict(as_mapping(prepared.config.get(pack.name)))
    if keys.get("reference") != name:
        keys = {key: value for key, value in keys.items() if key == "contents"}
    folder = prepared.config_folder if prepared is not None and keys else None
    for key, value in _read_set(pack, overruled).items():
        keys[key] = _from_here(pack, key, value)
    return keys, folder or Path.cwd()


def _read_set(pack: Pack, overruled: Sequence[str]) -> dict[str, Any]:
    import yaml

    keys: dict[str, Any] = {}
    for text in overruled:
        key, equals, value = text.partition("=")
        name = key.strip().removeprefix(f"{pack.name}.")
        if not equals or name not in pack.config:
            raise BadInput(
                Problem(
                    what=f"{key.strip()!r} is no key of the pack {pack.name}",
                    where=f"--set {text}",
                    allowed=", ".join(f"{pack.name}.{known}=..." for known in pack.config),
                    fix=near(name, pack.config),
                )
            )
        keys[name] = yaml.safe_load(value)
    return keys


def _from_here(pack: Pack, key: str, value: Any) -> Any:
    """A path of the command line, which refers to the current folder."""
    is_source = "source" in pack.config[key].types and isinstance(value, str)
    place = Path(value).expanduser() if is_source else None
    return str(place.resolve()) if place is not None and place.exists() else value


def _section(pack: Pack, keys: Mapping[str, Any]) -> Any:
    from evalprep.config import read_section

    section, mistakes = read_section(pack, dict(keys))
    if section is None or mistakes:
        names = [".".join(map(str, mistake.keys)) for mistake in mistakes]
        raise BadInput(
            Problem(
                what=f"wrong value of {', '.join(names)}",
                where=f"--set, keys of the pack {pack.name}",
                allowed="; ".join(
                    f"{name}: {pack.config[name].doc}" for name in names if name in pack.config
                ),
            )
        )
    return section


@cache
def _space() -> tempfile.TemporaryDirectory[str]:
    """A folder that is gone when this process is."""
    return tempfile.TemporaryDirectory(prefix="evalprep-published-")


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
    rescored = None if side.run is side.as_published else score_run(side.run, packs)
    return reproduce(
        side.publication,
        score_run(run, packs),
        PublishedScores(verdicts, rescored),
        comparison.tasks,
        comparison.suite,
    )
