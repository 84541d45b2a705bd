"""Finds packs: the folders under `task_templates/` with a `pack.yaml`.

There is no other registry. A pack with `extends: NAME` adds to the pack of that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from evalprep.errors import BadInput, Problems
from evalprep.packs.entries import GroupSpec, TaskSpec
from evalprep.packs.file import read_pack
from evalprep.packs.pack import Pack
from evalprep.places import exists, is_file, is_folder

_ROOT = Path(__file__).resolve().parents[2]
# In a clone what ships stands at its top; a wheel brings it along, below the code.
_SHIPPED = _ROOT if (_ROOT / "task_templates").is_dir() else _ROOT / "evalprep" / "shipped"
#: The packs of the project, and the config that runs the demo.
TEMPLATES = _SHIPPED / "task_templates"
#: Keys of pack.yaml that only the extended pack may have.
_OF_BASE = ("published_file", "rules", "default_tasks", "conclusion", "replaces")


def find_packs(
    template_dir: Path | Iterable[Path] | None = None, *, where: str = "--template_dir"
) -> dict[str, Pack]:
    """Loads the packs of the project and every pack under further folders.

    In this order and by name.

    Args:
        template_dir: Folders of packs, or of one pack each.
        where: What named the folders, for messages.

    Raises:
        BadInput: no such folder, or no pack in it; a pack.yaml with mistakes (all of them, over all
            packs), or two packs that share their name or that of a task.
    """
    folders = [template_dir] if isinstance(template_dir, Path) else list(template_dir or ())
    problems = Problems()
    files, empty = _all_pack_files(folders)
    packs: dict[str, Pack] = {}
    owners: dict[str, Pack] = {}
    for file in files:
        try:
            pack = read_pack(file, problems, packs)
        except BadInput as error:
            problems.extend(error.problems)
            continue
        if pack.name in packs:
            problems.add(
                f"there are two packs {pack.name!r}: {packs[pack.name].folder} and {pack.folder}",
                where=where,
                fix="rename one of the two folders",
            )
            continue
        # A name of a task or group that another pack, or another entry, has.
        specs: list[TaskSpec | GroupSpec] = [*pack.groups.values(), *pack.tasks.values()]
        for name in chain.from_iterable((spec.name, *spec.aliases) for spec in specs):
            if name in owners:
                owner = owners[name]
                problems.add(
                    f"{name!r} is also a task, group or alias of the pack {owner.name} in "
                    f"{owner.folder}",
                    where=str(pack.folder / "pack.yaml"),
                    fix="give it another name; a prefix with the pack's name is the habit",
                )
            owners[name] = pack
        if pack.extends not in packs:
            packs[pack.name] = pack
        else:
            extend(packs[pack.extends], pack, problems)
    replaced = set(chain.from_iterable(pack.replaces for pack in packs.values()))
    _refuse_without_packs([folder for folder in empty if folder.name not in replaced], where)
    problems.raise_if_any()
    return packs


def _all_pack_files(folders: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """The pack.yaml files of the project and of further folders, and the folders that hold none."""
    files = dict.fromkeys(_pack_files(TEMPLATES))
    empty = []
    for folder in folders:
        further = _pack_files(folder)
        files |= dict.fromkeys(file.resolve() for file in further)
        if not further:
            empty.append(folder)
    return list(files), empty


def _refuse_without_packs(folders: Iterable[Path], where: str) -> None:
    """Refuses template folders that hold no pack.

    Raises:
        BadInput: there is one.
    """
    problems = Problems()
    for folder in folders:
        problems.add(
            f"template_dir {folder} {'holds no pack' if is_folder(folder) else 'is not a folder'}",
            where=where,
            allowed="a folder with one sub-folder per pack, each with a pack.yaml",
            fix="leave it out for the packs of the project; a folder of lm-eval task files is an "
            f"include_path: include_path: {folder.name}",
        )
    problems.raise_if_any()


def holds_packs(folder: Path) -> bool:
    """Returns whether a folder is a pack or has packs in it."""
    return bool(_pack_files(folder))


def _pack_files(folder: Path) -> list[Path]:
    """The pack.yaml of each pack in a folder, or of the folder itself."""
    if is_file(folder / "pack.yaml"):
        return [folder / "pack.yaml"]
    return sorted(folder.glob("*/pack.yaml")) if is_folder(folder) else []


def find_task(packs: Mapping[str, Pack], name: str) -> tuple[Pack, str] | None:
    """The pack that a task, group or alias belongs to, and its canonical name."""
    for pack in packs.values():
        canonical = pack.canonical(name)
        if canonical is not None:
            return pack, canonical
    return None


def on_demand(template_dir: Path | Iterable[Path] | None = None) -> Iterator[Pack]:
    """The packs of `find_packs` one after the other.

    Nothing is read, and no mistake told, before one is asked for.
    """
    yield from find_packs(template_dir).values()


def extend(base: Pack, extension: Pack, problems: Problems) -> None:
    """Adds the keys, tasks, groups and scores of an extension to the pack that it names.

    Args:
        base: The extended pack; changed in place.
        extension: The pack that adds to it.
        problems: Gets names that both have, and keys that are the extended pack's.
    """
    where = str(extension.folder / "pack.yaml")
    for key in _OF_BASE:
        if getattr(extension, key):
            problems.add(
                f"{key.removesuffix('_file')} of a pack that extends {base.name}",
                where=where,
                allowed="config, tasks, groups, suite_scores, better, leaderboard",
            )
    for kind in ("config", "suite_scores"):
        own = getattr(base, kind)
        added = getattr(extension, kind)
        for name in {*own} & {*added}:
            problems.add(
                f"{base.name} has a {name!r} already", where=where, fix="give it another name"
            )
    base.config = {**base.config, **extension.config}
    base.groups = {**base.groups, **extension.groups}
    base.suite_scores = {**base.suite_scores, **extension.suite_scores}
    base.better = {**base.better, **extension.better}
    for name, task in extension.tasks.items():
        base.tasks[name] = _with_own_files(task, extension.folder)
    base.leaderboard = replace(
        base.leaderboard,
        columns=(*base.leaderboard.columns, *extension.leaderboard.columns),
        pictures=(*base.leaderboard.pictures, *extension.leaderboard.pictures),
        tables={**base.leaderboard.tables, **extension.leaderboard.tables},
    )
    extension.base_folder = base.folder
    base.extensions = (*base.extensions, extension)


def _with_own_files(task: TaskSpec, folder: Path) -> TaskSpec:
    """A task with its template and its rows by absolute paths, where they lie in the folder."""
    template, source = folder / task.template, task.source
    if task.template and template.is_file():
        task = replace(task, template=str(template))
    if source is not None and exists(folder / source.path):
        task = replace(task, source=replace(source, path=str(folder / source.path)))
    return task
