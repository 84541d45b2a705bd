"""The cheap half of the check: everything that can be known from files alone, in milliseconds.

It runs at the end of every preparation. Nothing is imported that a task names, lm-eval neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.check.data import check_data_files, check_rows
from evalprep.check.files import check_files, spare_stock
from evalprep.check.finding import Finding, Findings
from evalprep.check.functions import check_functions, registered_names
from evalprep.check.generation import check_generation
from evalprep.check.groups import check_groups
from evalprep.check.machine import check_machine
from evalprep.check.metrics import check_keys, check_metrics
from evalprep.check.selection import files_behind, select_leaves
from evalprep.check.settings import RunSettings
from evalprep.check.tree import Leaf, Tree, read_tree
from evalprep.packs.manifest import plan_of, read_manifest
from evalprep.packs.stock import stock_names

if TYPE_CHECKING:
    from evalprep.config.schema import Config


@dataclass
class StaticCheck:
    """What the cheap half saw.

    Attributes:
        tree: The include paths.
        leaves: The tasks that will run.
        rows: Task -> number of rows, where the data are local parquet files.
        requested: The names that were asked for and exist.
    """

    tree: Tree
    leaves: list[Leaf]
    rows: dict[str, int]
    requested: list[str]


def check_static(
    roots: Sequence[Path],
    requested: Sequence[str] | None,
    settings: RunSettings,
    findings: Findings,
    *,
    moved: tuple[Path, Path] | None = None,
    asked: Sequence[str] | None = None,
) -> StaticCheck:
    """Check task files, settings, data files, machine and command.

    Args:
        roots: Include paths.
        requested: Names for `--tasks`; None for everything that is not only a part of a group.
        settings: The run.
        findings: Gets what is found.
        moved: (final folder, folder in which its content lies now), during a preparation.
        asked: Names that the user asked for, where `requested` does not tell.
    """
    stock = stock_names()
    asked = requested if asked is None else asked
    tree = read_tree(roots, findings)
    named = requested is not None
    only_stock = asked is not None and all(name in stock for name in asked)
    check_files(tree, findings, stock, may_be_empty=only_stock)
    if requested is None:
        groups = [name for name, file in tree.index.items() if file.kind == "group"]
        # Each for itself: that several groups share a task matters only when they are asked for together.
        for group in groups:
            select_leaves(tree, [group], findings, stock)
        requested = [name for name in tree.index if name not in groups]
    check_groups(tree, findings, stock)
    leaves = select_leaves(tree, requested, findings, stock)
    if named:
        _spare_others(tree, requested, findings)
    registered = registered_names(leaves)
    rows: dict[str, int] = {}
    data_bytes = 0
    later = waiting_tasks(roots)
    for leaf in leaves:
        if leaf.name in later:
            findings.add("EP124", leaf.where(), f"waits for {', '.join(later[leaf.name])}", task=leaf.name)
    leaves = [leaf for leaf in leaves if leaf.name not in later]
    for leaf in leaves:
        check_keys(leaf, findings)
        check_generation(leaf, settings, findings)
        check_metrics(leaf, findings, registered)
        files = check_data_files(leaf, findings, lambda path: _relocate(path, moved))
        if files and leaf.config.get("dataset_path") in {"parquet", "json"}:
            # A task that the config holds inline has data of the user's own, which need no sample ids.
            ours = settings.ours and "pack" in (leaf.config.get("metadata") or {})
            rows[leaf.name] = check_rows(leaf, files, findings, ours=ours)
        data_bytes += sum(path.stat().st_size for path in files)
    check_functions(leaves, findings)
    check_machine(leaves, settings, findings, data_bytes=data_bytes)
    check_helpers(roots, findings)
    spare_stock(findings)
    known = [name for name in requested if name in tree.index or name in tree.tags]
    return StaticCheck(tree, leaves, rows, known)


#: What makes lm-eval skip a file, or read it otherwise than meant: nothing to whoever does not ask for it.
_OF_FILES = {"EP101", "EP103", "EP104", "EP118", "EP123", "EP125"}


def _spare_others(tree: Tree, requested: Sequence[str], findings: Findings) -> None:
    """Mistakes in files that nobody asked for are notes, once everything that was asked for has been found."""
    if any(one.code in {"EP108", "EP110"} for one in findings.sorted()):
        return  # what is missing may be in one of them
    used = {str(path) for path in files_behind(tree, requested)}

    def spared(one: Finding) -> bool:
        path = one.where.partition(" (")[0].partition(".yaml:")[0].removesuffix(".yaml") + ".yaml"
        return one.code in _OF_FILES and path not in used

    for one in findings.take(spared):
        findings.add("EP127", one.where, f"{one.code} {one.what}")


def check_helpers(roots: Sequence[Path], findings: Findings) -> None:
    """Tell, once per reason, which scores and tasks of prepared folders lack a helper model or its data."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for root in roots:
        manifest = read_manifest(root)
        for name, one in plan_of(manifest).excluded.items() if manifest is not None else ():
            if one.kind == "helper":
                lacking.setdefault((str(root), one.reason), []).append(name)
    for (folder, reason), names in lacking.items():
        findings.add("EP709", folder, f"{', '.join(names)}: {reason}")


def waiting_tasks(roots: Sequence[Path]) -> dict[str, tuple[str, ...]]:
    """Tasks of prepared folders whose data are not made yet, with the tasks whose replies they wait for."""
    manifests = [manifest for root in roots if (manifest := read_manifest(root)) is not None]
    return {
        name: task.after
        for manifest in manifests
        for name, task in plan_of(manifest).tasks.items()
        if task.after and manifest["tasks"][name].get("rows") is None
    }


def _relocate(path: Path, moved: tuple[Path, Path] | None) -> Path:
    if moved is not None and path.is_relative_to(moved[0]):
        return moved[1] / path.relative_to(moved[0])
    return path


def check_tree(tree: Path, config: Config, requested: Sequence[str] | None = None) -> list[Finding]:
    """Check a tree that was just built for a configuration, before it is swapped in.

    Args:
        tree: The built folder; its YAMLs name data under `config.core.work_dir`.
        config: The configuration.
        requested: What the commands ask for; None for all that is in the folder.

    Returns:
        Findings, errors first; paths in them are those after the swap.
    """
    findings = Findings()
    folder = config.folder
    settings = RunSettings.from_core(config.core, folder)
    names = [name for name in config.core.tasks if isinstance(name, str)]
    moved = (Path(config.core.there(config.core.work_dir)), tree)
    done = check_static([tree], requested, settings, findings, moved=moved, asked=names)
    stock = stock_names()
    for name in names:
        if name in stock and name not in done.tree.index:
            findings.add("EP117", name, "comes with lm-eval", task=name)
    return [_final(one, tree.resolve(), config.core.work_dir) for one in findings.sorted()]


def _final(finding: Finding, built: Path, final: Path) -> Finding:
    """The same finding with paths below the work folder."""
    return Finding(
        code=finding.code,
        task=finding.task,
        fix=finding.fix.replace(str(built), str(final)),
        where=finding.where.replace(str(built), str(final)),
        what=finding.what.replace(str(built), str(final)),
    )
