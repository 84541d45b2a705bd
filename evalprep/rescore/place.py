"""The places from which the scorer of a task may come.

Only code that the user named, prepared or installed is run.

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
from evalprep.results import Run, TaskRun, prepared_work
from evalprep.samples import Sample

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
        template = self.path.name if self.path else "template"
        titles = {
            FOLDER: f"the task's YAML in {self.path}",
            PACK: f"the installed pack's {template}",
            STOCK: "lm-eval's own task of this name, as it is installed",
            RESULTS: "lm-eval's metrics and filters that the results file names",
        }
        return titles[self.kind]


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
    named = task.metadata.get("config_source")
    source = Path(named) if isinstance(named, str) and "\0" not in named else None
    stock = _stock_file(source)
    unused: list[str] = []
    places: list[ScorerPlace] = []
    if work_dir is not None:
        if work_dir.is_dir():
            places.append(ScorerPlace(task.name, FOLDER, work_dir.resolve()))
    else:
        prepared = prepared_work(run)
        if prepared is not None:
            places.append(_of_preparation(prepared, task.name))
        elif stock is None and source is not None and is_file(source):
            unused.append(_unnamed(source.parent, "only the results file names it"))
        pack = packs.get(str(task.metadata.get("pack")))
        if pack is not None:
            places += _of_template(task, pack)
    # A task of another place is no task of lm-eval that has its name; who names a folder wants its
    # scorer.
    if stock is not None or (source is None and work_dir is None):
        places.append(ScorerPlace(task.name, STOCK, stock))
    if work_dir is None:
        places.append(ScorerPlace(task.name, RESULTS))
        if not task.metadata.get("pack"):  # a pack may have a task of this name
            for namesake in packs.values():
                places += _of_template(task, namesake) if task.name in namesake.tasks else ()
    first = next(task.samples(), None)
    config = dict(task.logged.settings.as_logged)
    with_sample = [replace(place, config=config, first=first) for place in places]
    return ScorerPlaces(with_sample, unused)


def _of_preparation(prepared: Prepared, task: str) -> ScorerPlace:
    """The work folder that a run was prepared in, as it stands.

    Raises:
        BadInput: its code may not be run, or its pack has changed since.
    """
    folder = prepared.folder
    where = f"task {task}"
    reason = why_foreign(folder)
    if reason:
        what = f"cannot be rescored: {_unnamed(folder, reason)}"
        raise BadInput(Problem(what=what, where=where, fix=_look_and_name(folder)))
    change = change_of_pack(prepared, task)
    if change:
        outdated = f"{folder} still has what was prepared from it"
        what = f"cannot be rescored: {change}, and {outdated}"
        as_it_is = f"score with the folder as it is: --work_dir {folder}"
        fix = f"run `evalprep prepare` first; or {as_it_is}"
        raise BadInput(Problem(what=what, where=where, fix=fix))
    is_binding = prepared.task_file(task) is not None
    return ScorerPlace(task, FOLDER, folder.resolve(), binding=is_binding)


def _look_and_name(folder: Path) -> str:
    """Returns how the user allows code of a folder."""
    return f"look at what lies there, then name it: --work_dir {folder}"


def _unnamed(folder: Path, reason: str) -> str:
    return f"it would run code of {folder}, and {reason}: {_look_and_name(folder)}"


def _stock_file(source: Path | None) -> Path | None:
    """The file of lm-eval's own tasks.

    As it is installed here, that a file of another machine is.
    """
    import lm_eval

    parts = source.parts if source is not None else ()
    for at in range(len(parts) - 2, 0, -1):
        below = parts[at:]
        if parts[at - 1 : at + 1] == ("lm_eval", "tasks") and ".." not in below:
            package = Path(str(lm_eval.__file__)).resolve().parent
            installed = package.joinpath(*below)
            return installed if installed.is_file() else None
    return None


def _of_template(task: TaskRun, pack: Pack) -> Iterator[ScorerPlace]:
    """The template of a task in a pack: the run's own record of it goes before the pack's."""
    spec = pack.tasks.get(pack.canonical(task.name) or task.name)
    template = ""
    values: dict[str, Any] = {}
    for record in (spec, task.planned):
        if record is not None:
            template = record.template or template
            values |= record.values
    if not template:
        return
    path = (pack.folder / template).resolve()
    if path.is_file() and path.is_relative_to(pack.folder.resolve()):
        yield ScorerPlace(task.name, PACK, path, values=values)
