"""Find packs: a folder under `task_templates/` with a `pack.yaml` is one, there is no other registry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evalprep.errors import BadInput, Problems
from evalprep.pack import GroupSpec, Pack, TaskSpec
from evalprep.packfile import read_pack

__all__ = ["Pack", "find_packs", "find_task"]


def find_packs(template_dir: Path) -> dict[str, Pack]:
    """Load every pack under a folder, in name order.

    Raises:
        BadInput: a pack.yaml with mistakes (all of them, over all packs), or two packs that share a task name.
    """
    problems = Problems()
    packs: dict[str, Pack] = {}
    owner: dict[str, str] = {}
    for file in sorted(template_dir.glob("*/pack.yaml")):
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
