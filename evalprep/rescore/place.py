"""The places from which the scorer of a task may come.

Only from code that the user named, prepared, or installed.

A results file names places too, and holds the text of functions. Anybody may have written it, so
that neither is run: what it states is used where it is data alone, the names of lm-eval's own
metrics and filters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.packs import Pack, Prepared, why_foreign
from evalprep.places import is_file
from evalprep.rescore.outdated import change_of_pack
from evalprep.results import Run, Sample, TaskRun, prepared_work

FOLDER, PACK, STOCK, RESULTS = "folder", "pack", "stock", "results"


@dataclass(frozen=True)
class ScorerPlace:
    """One way to load a task's scorer.

    Attributes:
        task: The task's name.
        kind: `folder` of task YAMLs, `pack` template, `stock` (lm-eval's own task), or `results`
            (its configuration).
        path: The folder or the template; for `stock` the YAML where it is known.
        config: The task's configuration in the results file.
        values: Placeholder -> value, for a template.
        first: A sample of the task; its row stands for the data set, which is not needed.
        binding: Whether a scorer that cannot be loaded here ends the search: another one would
            hide the user's own edit.
    """

    task: str
    kind: str
    path: Path | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    first: Sample | None = None
    binding: bool = False

    @property
    def title(self) -> str:
        """The name of the scorer, for people."""
        return {
            FOLDER: f"the task's YAML in {self.path}",
            PACK: f"the installed pack's {self.path.name if self.path else 'template'}",
            STOCK: "lm-eval's own task of this name, as it is installed",
            RESULTS: "lm-eval's metrics and filters that the results file names",
        }[self.kind]


@dataclass(frozen=True)
class ScorerPlaces:
    """The places that a task's scorer may come from, the likeliest first.

    Attributes:
        places: The places.
        unused: Why files that the results file names are not among them.
    """

    places: list[ScorerPlace]
    unused: list[str] = field(default_factory=list)


def find_places(
    run: Run, task: TaskRun, work_dir: Path | None, packs: Mapping[str, Pack]
) -> ScorerPlaces:
    """Finds the places that a task's scorer may come from.

    Args:
        run: The run.
        task: One of its tasks.
        work_dir: The folder that the user named; then nothing but lm-eval's own tasks is looked
            for elsewhere.
        packs: Installed packs.

    Raises:
        BadInput: the run was prepared in a folder that is here and may not be used.
    """
    source = _source(task)
    stock = _stock_file(source)
    unused: list[str] = []
    if work_dir is not None:
        places = _of_work_dir(work_dir, task.name)
    else:
        prepared = prepared_work(run)
        places = [] if prepared is None else [_of_preparation(prepared, task.name)]
        if not places and stock is None:
            unused = _folder_without_leave(source)
        places += _of_pack(task, packs)
    # A task of another place is no task of lm-eval that has its name; who names a folder wants its
    # scorer.
    if stock is not None or (source is None and work_dir is None):
        places.append(ScorerPlace(task.name, STOCK, stock))
    if work_dir is None:
        places += [ScorerPlace(task.name, RESULTS), *_of_namesakes(task, packs)]
    first = next(task.samples(), None)
    config = dict(task.logged.settings.as_logged)
    return ScorerPlaces([replace(place, config=config, first=first) for place in places], unused)


def _of_work_dir(work_dir: Path, task: str) -> list[ScorerPlace]:
    """The folder that the user named, where it is one."""
    return [ScorerPlace(task, FOLDER, work_dir.resolve())] if work_dir.is_dir() else []


def _folder_without_leave(source: Path | None) -> list[str]:
    """Returns why the folder of a task's file is not used, where the file is here."""
    if source is None or not is_file(source):
        return []
    return [_unnamed(source.parent, "only the results file names it")]


def _of_preparation(prepared: Prepared, task: str) -> ScorerPlace:
    """The work folder that a run was prepared in, as it stands.

    Raises:
        BadInput: its code may not be run, or its pack has changed since.
    """
    folder = prepared.folder
    if reason := why_foreign(folder):
        what = f"cannot be rescored: {_unnamed(folder, reason)}"
        fix = f"look at what lies there, then name it: --work_dir {folder}"
        raise BadInput(Problem(what=what, where=f"task {task}", fix=fix))
    if change := change_of_pack(prepared, task):
        what = f"cannot be rescored: {change}, and {folder} still has what was prepared from it"
        fix = (
            f"run `evalprep prepare` first; or score with the folder as it is: --work_dir {folder}"
        )
        raise BadInput(Problem(what=what, where=f"task {task}", fix=fix))
    binding = prepared.task_file(task) is not None
    return ScorerPlace(task, FOLDER, folder.resolve(), binding=binding)


def _unnamed(folder: Path, reason: str) -> str:
    return (
        f"it would run code of {folder}, and {reason}: look at what lies there, "
        f"then name it: --work_dir {folder}"
    )


def _source(task: TaskRun) -> Path | None:
    source = task.metadata.get("config_source")
    return Path(source) if isinstance(source, str) and "\0" not in source else None


def _stock_file(source: Path | None) -> Path | None:
    """The file of lm-eval's own tasks.

    As it is installed here, that a file of another machine is.
    """
    import lm_eval

    parts = source.parts if source is not None else ()
    for at in range(len(parts) - 2, 0, -1):
        if parts[at - 1 : at + 1] == ("lm_eval", "tasks") and ".." not in parts[at:]:
            here = Path(str(lm_eval.__file__)).resolve().parent.joinpath(*parts[at:])
            return here if here.is_file() else None
    return None


def _of_pack(task: TaskRun, packs: Mapping[str, Pack]) -> Iterator[ScorerPlace]:
    """The template of an installed pack that the task was made from."""
    pack = packs.get(str(task.metadata.get("pack")))
    if pack is not None:
        yield from _of_template(task, pack)


def _of_namesakes(task: TaskRun, packs: Mapping[str, Pack]) -> Iterator[ScorerPlace]:
    """The templates of packs that have a task of this name.

    For a task that says nothing of its pack.
    """
    if task.metadata.get("pack"):
        return
    for pack in packs.values():
        if task.name in pack.tasks:
            yield from _of_template(task, pack)


def _of_template(task: TaskRun, pack: Pack) -> Iterator[ScorerPlace]:
    spec = pack.tasks.get(pack.canonical(task.name) or task.name)
    planned = task.planned
    template = (planned.template if planned is not None else "") or (
        spec.template if spec is not None else ""
    )
    path = (pack.folder / template).resolve()
    if template and path.is_file() and path.is_relative_to(pack.folder.resolve()):
        values = {
            **(spec.values if spec is not None else {}),
            **(planned.values if planned is not None else {}),
        }
        yield ScorerPlace(task.name, PACK, path, values=values)
