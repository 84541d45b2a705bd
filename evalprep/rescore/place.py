"""Where the scorer of a task may come from: only from code that the user named, prepared, or installed.

A results file names places too, and holds the text of functions. Anybody may have written it, so that neither is run:
what it tells is used where it is data alone, the names of lm-eval's own metrics and filters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalprep.packs.own import why_foreign
from evalprep.packs.pack import Pack
from evalprep.places import is_file
from evalprep.results import Run, Sample, TaskRun
from evalprep.results.record import prepared_folder

FOLDER, PACK, STOCK, RESULTS = "folder", "pack", "stock", "results"


@dataclass(frozen=True)
class ScorerPlace:
    """One way to load a task's scorer.

    Args:
        task: The task's name.
        kind: `folder` of task YAMLs, `pack` template, `stock` (lm-eval's own task), or `results` (its configuration).
        path: The folder or the template; for `stock` the YAML where it is known.
        config: The task's configuration in the results file.
        values: Placeholder -> value, for a template.
        first: A sample of the task; its row stands for the data set, which is not needed.
    """

    task: str
    kind: str
    path: Path | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    first: Sample | None = None

    @property
    def title(self) -> str:
        """What the scorer is called, for people."""
        return {
            FOLDER: f"the task's YAML in {self.path}",
            PACK: f"the installed pack's {self.path.name if self.path else 'template'}",
            STOCK: "lm-eval's own task of this name, as it is installed",
            RESULTS: "lm-eval's metrics and filters that the results file names",
        }[self.kind]


def find_places(
    run: Run, task: TaskRun, work_dir: Path | None, packs: Mapping[str, Pack]
) -> tuple[list[ScorerPlace], list[str]]:
    """The places that a task's scorer may come from, the likeliest first, and why others are not among them."""
    found: list[ScorerPlace] = []
    refused: list[str] = []
    prepared = work_dir or prepared_folder(run)
    if prepared is not None and prepared.is_dir():
        if reason := "" if work_dir is not None else why_foreign(prepared):
            refused.append(_unnamed(prepared, reason))
        else:
            found.append(ScorerPlace(task.name, FOLDER, prepared.resolve()))
    source = _source(task)
    stock = _stock_file(source)
    if source is not None and stock is None and is_file(source) and not refused:
        refused.append(_unnamed(source.parent, "only the results file names it"))
    found += _of_pack(task, packs) if work_dir is None else ()
    # A task of another place is no task of lm-eval that has its name; who names a folder wants its scorer.
    if stock is not None or (source is None and work_dir is None):
        found.append(ScorerPlace(task.name, STOCK, stock))
    if work_dir is None:
        found.append(ScorerPlace(task.name, RESULTS))
        if not task.metadata.get("pack"):  # a task that has the name of a pack's, and cannot be scored otherwise
            owners = [pack for pack in packs.values() if task.name in pack.tasks]
            found += [place for pack in owners for place in _of_template(task, pack)]
    first = next(task.samples(), None)
    return [replace(one, config=dict(task.config), first=first) for one in found], refused


def _unnamed(folder: Path, reason: str) -> str:
    return f"it would run code of {folder}, and {reason}: look at what lies there, then name it: --work_dir {folder}"


def _source(task: TaskRun) -> Path | None:
    source = task.metadata.get("config_source")
    return Path(source) if isinstance(source, str) and "\0" not in source else None


def _stock_file(source: Path | None) -> Path | None:
    """The file of lm-eval's own tasks, as it is installed here, that a file of another machine is."""
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


def _of_template(task: TaskRun, pack: Pack) -> Iterator[ScorerPlace]:
    spec = pack.tasks.get(pack.canonical(task.name) or task.name)
    planned = task.planned
    template = (planned.template if planned is not None else "") or (spec.template if spec is not None else "")
    path = (pack.folder / template).resolve()
    if template and path.is_file() and path.is_relative_to(pack.folder.resolve()):
        values = {**(spec.values if spec is not None else {}), **(planned.values if planned is not None else {})}
        yield ScorerPlace(task.name, PACK, path, values=values)
