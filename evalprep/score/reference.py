"""The run that scores compare with: a run of lm-eval, or a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from evalprep.data import logs_at, on_hub
from evalprep.errors import BadInput, Problem
from evalprep.files import StrayLink, as_mapping
from evalprep.packs import Pack, why_foreign
from evalprep.results import EACH, Run, load_run, prepared_work, read_log
from evalprep.score.result import Result
from evalprep.yamlfile import load_yaml

Results = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Remembered:
    """A reference that several runs are scored against.

    What is worked out of it is worked out once.

    Args:
        run: The reference.
        results: Pack and names of scores -> results, as far as they were asked for.
    """

    run: Run
    results: dict[tuple[str, frozenset[str]], Mapping[str, Result]] = field(
        default_factory=dict, repr=False
    )


#: What scores compare with.
Reference = Run | Remembered | Results


def open_reference(path: Path, packs: Iterable[Pack]) -> Run:
    """Opens `--reference`: a run, a log that a pack can read, or a `scores.json` of this tool.

    A log may lie in a data set of the hub: `hub:owner/name/folder`.

    Raises:
        BadInput: none of these.
    """
    if on_hub(path):
        path = logs_at(str(path), f"--reference {path}")
    if (log := read_log(path, packs, complete=False)) is not None:
        return log
    try:
        return load_run(path, timestamp=EACH)
    except StrayLink:
        raise
    except BadInput as error:
        if not path.exists():
            raise
        raise BadInput(
            Problem(
                what="neither a run nor a log of reference scores",
                where=f"--reference {path}",
                allowed="a folder that lm_eval wrote, a scores.json of `evalprep score`, "
                "a log that the pack reads, "
                "or hub:owner/name/folder with such a log",
            )
        ) from error


def references_named(runs: Iterable[Run]) -> list[str]:
    """The places that the tasks of some runs name as their reference (`metadata.reference`)."""
    tasks = chain.from_iterable(run.tasks.values() for run in runs)
    references = (task.metadata.get("reference") for task in tasks)
    return sorted({str(reference) for reference in references if reference})


def may_be_opened(place: str, runs: Iterable[Run]) -> bool:
    """True for a reference that the user's own preparation names.

    It names it for one of the runs, and the reference is here.

    A results file may come from anybody, so a place that it alone names is never opened. Whether a
    place on the hub is there, the hub tells when it is asked.
    """
    own = any(place in _own_references(run) for run in runs)
    return own and (on_hub(place) or Path(place).exists())


def _own_references(run: Run) -> frozenset[str]:
    """The references in the task files of a run's preparation, where that is the user's own."""
    prepared = prepared_work(run)
    if prepared is None or why_foreign(prepared.folder):
        return frozenset()
    names = [name for name in prepared.files if Path(name).stem in run.tasks]
    places = {_reference_in(prepared.folder / name) for name in names if name.endswith(".yaml")}
    return frozenset(places - {""})


def _reference_in(path: Path) -> str:
    """The reference that a task file names; empty where it names none or cannot be read."""
    try:
        metadata = as_mapping(load_yaml(path).data.get("metadata"))
    except BadInput:
        return ""
    return str(metadata.get("reference") or "")


def named_reference(run: Run, packs: Iterable[Pack]) -> Run | None:
    """Opens the reference that the run's tasks name (`metadata.reference`).

    What became of it goes into the run's notes.

    None, with a note, for one that is gone, that is no reference, or that is not the same for all
    tasks: a setting of another day must not cost the scores that need none. A place outside the
    run is opened only on the word of the user's own preparation, or of `--reference`.
    """
    named = references_named([run])
    if not named:
        return None
    reference = None
    if len(named) > 1:
        note = f"scored without a reference, since the tasks name several: {', '.join(named)}"
    elif named[0] not in _own_references(run):
        note = (
            f"scored without the reference that the results file names: {named[0]}: it is opened "
            "only for a run that you prepared on this machine"
        )
    elif not may_be_opened(named[0], [run]):
        note = f"scored without the reference that the tasks name, which is not here: {named[0]}"
    else:
        try:
            reference = open_reference(Path(named[0]), packs)
            note = f"reference: {named[0]}, as the tasks name it"
        except BadInput as error:
            reason = error.problems[0].what
            note = f"scored without the reference that the tasks name: {named[0]}: {reason}"
    note = f"{note}; --reference names another"
    if note not in run.notes:
        run.notes.append(note)
    return reference
