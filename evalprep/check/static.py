"""The cheap half of the check: everything that can be known from files alone, in milliseconds.

It runs at the end of every preparation. Nothing is imported that a task names, lm-eval neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evalprep.check.codes import CODES
from evalprep.check.data import check_data_files, check_rows
from evalprep.check.files import check_files, is_stock, spare_stock, yaml_of
from evalprep.check.finding import Finding, Findings
from evalprep.check.functions import check_functions, registered_names
from evalprep.check.generation import check_generation
from evalprep.check.groups import check_groups
from evalprep.check.machine import check_machine
from evalprep.check.metrics import check_keys, check_metrics
from evalprep.check.selection import files_behind, is_known, select_leaves
from evalprep.check.settings import RunSettings
from evalprep.check.tree import Leaf, Tree, read_tree
from evalprep.packs import Prepared, load_prepared, stock_names

if TYPE_CHECKING:
    from evalprep.config import Config


@dataclass
class StaticCheck:
    """The result of the cheap half.

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
    user_names: Sequence[str] | None = None,
) -> StaticCheck:
    """Checks task files, settings, data files, machine and command.

    Args:
        roots: Include paths.
        requested: Names for `--tasks`; None for everything that is not only a part of a group.
        settings: The run.
        findings: Gets what is found.
        moved: (final folder, folder in which its content lies now), during a preparation.
        user_names: Names that the user asked for, where `requested` does not tell.
    """
    stock = stock_names()
    if user_names is None:
        user_names = requested
    tree = read_tree(roots, findings)
    only_stock = user_names is not None and all(name in stock for name in user_names)
    check_files(tree, findings, stock, may_be_empty=only_stock)
    names = requested
    if names is None:
        # Every name of a folder that is no group.
        groups = [name for name, file in tree.index.items() if file.kind == "group"]
        # Each for itself: that several groups share a task matters only when they are asked for
        # together.
        for group in groups:
            select_leaves(tree, [group], findings)
        names = [name for name in tree.index if name not in groups]
    check_groups(tree, findings)
    selected = select_leaves(tree, names, findings)
    if requested is not None:
        _spare_others(tree, names, findings)
    # The tasks whose data are there; the others wait for replies of an earlier stage.
    waiting = waiting_tasks(roots)
    leaves = []
    for leaf in selected:
        earlier_tasks = waiting.get(leaf.name)
        if earlier_tasks is None:
            leaves.append(leaf)
        else:
            what = f"waits for {', '.join(earlier_tasks)}"
            findings.add_at("EP124", leaf, "", what)
    rows, data_bytes = _check_leaves(leaves, settings, findings, moved)
    check_functions(leaves, findings)
    check_machine(leaves, settings, findings, data_bytes=data_bytes)
    check_helpers(roots, findings)
    spare_stock(findings, named=all(map(is_stock, tree.roots)))
    if settings.ours:
        # Advice on memory at run time is for authors of packs with large data.
        others = {leaf.name for leaf in leaves if not _is_of_pack(leaf)}

        def is_spared(finding: Finding) -> bool:
            return finding.code == "EP212" and finding.task in others

        findings.take(is_spared)
    known = [name for name in names if is_known(tree, name)]
    return StaticCheck(tree, leaves, rows, known)


def _check_leaves(
    leaves: list[Leaf], settings: RunSettings, findings: Findings, moved: tuple[Path, Path] | None
) -> tuple[dict[str, int], int]:
    """Checks each task with its data files; returns the rows of each task and the bytes of all."""
    registered = registered_names(leaves)
    rows: dict[str, int] = {}
    data_bytes = 0

    def relocate(path: Path) -> Path:
        # The path at which a file lies now, during a preparation in the built folder.
        if moved is None:
            return path
        final, built = moved
        if not path.is_relative_to(final):
            return path
        return built / path.relative_to(final)

    for leaf in leaves:
        check_keys(leaf, findings)
        check_generation(leaf, settings, findings)
        check_metrics(leaf, findings, registered)
        files = check_data_files(leaf, findings, relocate)
        if files and leaf.config.get("dataset_path") in {"parquet", "json"}:
            ours = settings.ours and _is_of_pack(leaf)
            rows[leaf.name] = check_rows(leaf, files, findings, ours=ours)
        data_bytes += sum(path.stat().st_size for path in files)
    return rows, data_bytes


def _is_of_pack(leaf: Leaf) -> bool:
    """Returns whether a pack made the task.

    One that the config holds is the user's own, as any lm-eval task.
    """
    return "pack" in leaf.metadata


def _spare_others(tree: Tree, requested: Sequence[str], findings: Findings) -> None:
    """Turns mistakes in files that were not asked for into notes.

    Once everything that was asked for has been found.
    """
    if any(finding.code in {"EP108", "EP110"} for finding in findings.sorted()):
        return  # what is missing may be in one of them
    used = {str(path) for path in files_behind(tree, requested)}

    def is_spared(finding: Finding) -> bool:
        return CODES[finding.code].of_file and yaml_of(finding) not in used

    for finding in findings.take(is_spared):
        what = f"{finding.code} {finding.what}"
        findings.add("EP127", finding.where, what)


def _prepared(roots: Sequence[Path]) -> dict[Path, Prepared]:
    """The prepared folders among the include paths."""
    folders = {}
    for root in roots:
        prepared = load_prepared(root)
        if prepared is not None:
            folders[root] = prepared
    return folders


def check_helpers(roots: Sequence[Path], findings: Findings) -> None:
    """Reports, once per reason, scores and tasks that lack a helper model or its data.

    They are those of prepared folders.
    """
    for root, prepared in _prepared(roots).items():
        names_by_reason: dict[str, list[str]] = {}
        for name, entry in prepared.plan.excluded.items():
            if entry.kind == "helper":
                names = names_by_reason.setdefault(entry.reason, [])
                names.append(name)
        for reason, names in names_by_reason.items():
            what = f"{', '.join(names)}: {reason}"
            findings.add("EP709", str(root), what)


def waiting_tasks(roots: Sequence[Path]) -> dict[str, tuple[str, ...]]:
    """Task of prepared folders whose data are not made yet -> the tasks whose replies it needs."""
    waiting = {}
    for prepared in _prepared(roots).values():
        for name, task in prepared.plan.tasks.items():
            if task.after and prepared.tasks[name].rows is None:
                waiting[name] = task.after
    return waiting


def check_tree(tree: Path, config: Config, requested: Sequence[str] | None = None) -> list[Finding]:
    """Checks a tree that was just built for a configuration, before it is swapped in.

    Args:
        tree: The built folder; its YAMLs name data under `config.core.work_dir`.
        config: The configuration.
        requested: What the commands ask for; None for all that is in the folder.

    Returns:
        Findings, errors first; paths in them are those after the swap.
    """
    core = config.core
    findings = Findings()
    settings = RunSettings.from_core(core, config.folder)
    names = [name for name in core.tasks if isinstance(name, str)]
    final_folder = Path(core.on_run_machine(core.work_dir))
    check_static(
        [tree], requested, settings, findings, moved=(final_folder, tree), user_names=names
    )
    built, final = str(tree.resolve()), str(core.work_dir)
    return [finding.moved(built, final) for finding in findings.sorted()]
