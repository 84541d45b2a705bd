"""EP1: the folder as a whole, before any task in it is looked at."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Collection
from functools import cache
from pathlib import Path

from evalprep.check.codes import CODES
from evalprep.check.finding import Finding, Findings
from evalprep.check.tree import Tree, yaml_files
from evalprep.files import as_mapping

#: Sample logs in a folder, or in one of its folders.
_SAMPLE_FILES = ("samples_*.jsonl", "*/samples_*.jsonl")


def check_files(
    tree: Tree, findings: Findings, stock: Collection[str], *, may_be_empty: bool
) -> None:
    """Names, suffixes and foreign things below the include paths.

    None need lie there for tasks of lm-eval's own.
    """
    for root in tree.roots:
        _check_root(root, findings)
    if not tree.index and not findings.has_errors() and not may_be_empty:
        where = ", ".join(map(str, tree.roots))
        findings.add("EP119", where, "no task in it")
    if all(map(is_stock, tree.roots)):
        stock = frozenset()  # lm-eval's own tasks bear their own names
    for name, file in tree.index.items():
        # A pack may give one of lm-eval's tasks other rows on purpose, under its known name.
        is_meant = as_mapping(file.data.get("metadata")).get("replaces_stock") is True
        if name in stock and not is_meant:
            key = "group" if file.kind == "group" else "task"
            findings.add_at("EP105", file, key, f"{name!r} is also a name of lm-eval's own")
        if "task_list" in file.data:
            findings.add_at("EP113", file, "task_list", "its entries will not exist")
    for tag in tree.tags:
        _check_tag(tag, tree, findings, stock)


def _check_root(root: Path, findings: Findings) -> None:
    if not root.is_dir():
        findings.add("EP119", str(root), "is not a folder")
        return
    for path in yaml_files(root, ".yml"):
        findings.add("EP102", str(path), "lm-eval will not read it")
    # lm-eval would parse the thousands of files of an environment or of results at each start.
    children = [child for child in root.iterdir() if child.is_dir()]
    for folder in (root, *children):
        if (folder / "pyvenv.cfg").exists():
            findings.add("EP112", str(folder), "is a Python environment")
        elif any(any(folder.glob(pattern)) for pattern in _SAMPLE_FILES):
            findings.add("EP112", str(folder), "holds results of a run")
    if "/lm_eval/tasks/" in f"{root.as_posix()}/" and not is_stock(root):
        findings.add("EP115", str(root), "lies below a folder lm_eval/tasks")


def _check_tag(tag: str, tree: Tree, findings: Findings, stock: Collection[str]) -> None:
    """A tag that is also the name of a task, here or among lm-eval's own."""
    # A task that is tagged with its own name loses nothing.
    tasks = tree.tags[tag]
    others = [name for name in tasks if name != tag]
    namesake = tree.index.get(tag)
    if namesake is not None and others:
        task, code = others[0], "EP106"
        what = f"the tag {tag!r} is also the name of {namesake.path}"
    elif namesake is None and tag in stock:
        task, code = tasks[0], "EP105"
        what = f"the tag {tag!r} is also a name of lm-eval's own"
    else:
        return
    where = tree.index[task].where("tag")
    findings.add(code, where, what, task=task)


@cache
def stock_folder() -> Path | None:
    """The folder of the installed lm-eval, None without one."""
    spec = importlib.util.find_spec("lm_eval")
    if spec is None or not spec.origin:
        return None
    return Path(spec.origin).resolve().parent


def is_stock(path: Path) -> bool:
    """Returns whether a file or folder belongs to the installed lm-eval."""
    folder = stock_folder()
    return folder is not None and path.is_relative_to(folder)


def spare_stock(findings: Findings, *, named: bool) -> None:
    """Takes back advice to the authors of lm-eval's own files, which its users cannot follow.

    Args:
        findings: What was found.
        named: The user asked for the folder of lm-eval itself: one note for each of its files.
    """
    folder = f"{stock_folder()}{os.sep}"
    spared: dict[tuple[str, str], set[str]] = {}

    def is_for_authors(finding: Finding) -> bool:
        return CODES[finding.code].for_authors and finding.where.startswith(folder)

    for finding in findings.take(is_for_authors):
        file_and_task = (yaml_of(finding), finding.task)
        codes = spared.setdefault(file_and_task, set())
        codes.add(finding.code)
    for (path, task), codes in spared.items() if named else ():
        shown = ", ".join(sorted(codes))
        what = f"has what would be {shown} elsewhere"
        findings.add("EP120", path, what, task=task)


def yaml_of(finding: Finding) -> str:
    """The path of the YAML that a finding is about, without its line and key."""
    place = finding.where.partition(" (")[0].partition(".yaml:")[0]
    return f"{place.removesuffix('.yaml')}.yaml"
