"""Find packs: a folder under `task_templates/` with a `pack.yaml` is one, there is no other registry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evalprep.errors import BadInput, Problem, Problems
from evalprep.packs.entries import GroupSpec, TaskSpec
from evalprep.packs.file import read_pack
from evalprep.packs.pack import Pack
from evalprep.places import is_folder

TEMPLATES = Path(__file__).resolve().parents[2] / "task_templates"  # the packs of the project


def find_packs(template_dir: Path | None = None, *, where: str = "--template_dir") -> dict[str, Pack]:
    """Load every pack under a folder, in name order.

    Args:
        template_dir: The folder; the project's own by default.
        where: What named the folder, for messages.

    Raises:
        BadInput: no such folder, or no pack in it; a pack.yaml with mistakes (all of them, over all packs), or two
            packs that share a task name.
    """
    template_dir = template_dir or TEMPLATES
    files = sorted(template_dir.glob("*/pack.yaml")) if is_folder(template_dir) else []
    if not files:
        raise BadInput(
            Problem(
                what=f"template_dir {template_dir} {'holds no pack' if is_folder(template_dir) else 'is not a folder'}",
                where=where,
                allowed="a folder with one sub-folder per pack, each with a pack.yaml",
                fix="leave it out for the packs of the project",
            )
        )
    problems = Problems()
    packs: dict[str, Pack] = {}
    owner: dict[str, str] = {}
    for file in files:
        try:
            pack = read_pack(file, problems)
        except BadInput as error:
            problems.extend(error.problems)
            continue
        packs[pack.name] = pack
        specs: list[TaskSpec | GroupSpec] = [*pack.groups.values(), *pack.tasks.values()]
        for name in (name for spec in specs for name in (spec.name, *spec.aliases)):
            if name in owner:
                problems.add(
                    f"{name!r} is also a task, group or alias of the pack {owner[name]}",
                    where=str(file),
                    fix="give it another name; a prefix with the pack's name is the habit",
                )
            owner[name] = pack.name
    problems.raise_if_any()
    return packs


def find_task(packs: Mapping[str, Pack], name: str) -> tuple[Pack, str] | None:
    """The pack that a task, group or alias belongs to, and its canonical name."""
    for pack in packs.values():
        canonical = pack.canonical(name)
        if canonical is not None:
            return pack, canonical
    return None
