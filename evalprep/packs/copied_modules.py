"""A pack's own Python files travel with its task files.

What a YAML names with `!function`, and what that imports.

lm-eval loads `!function scorer.score` from `scorer.py` beside the YAML, by its path and without a
package: a module that imports the one beside it fails there. Such a module gets a few lines at its
    head that make its folder a package.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import warnings
from pathlib import Path

from evalprep.errors import Problem
from evalprep.files import read_text
from evalprep.places import is_file

_FUNCTION = re.compile(r"!function\s+[\"']?([\w.]+)")
_HEAD = """\
# Written at preparation: lm-eval loads this file by its path, and these lines let it \
import the modules beside it.
import pathlib as _pathlib, sys as _sys, types as _types
_folder = str(_pathlib.Path(__file__).resolve().parent)
__package__ = "tasks_in_" + _folder.encode().hex()
_sys.modules.setdefault(__package__, _types.ModuleType(__package__)).__path__ = [_folder]
# ---- as in the pack from here on
"""


def bring_modules(pack: Path, folder: Path) -> list[Problem]:
    """Copies the modules that a pack's rendered YAMLs name beside them.

    Args:
        pack: The pack's folder.
        folder: Where its task files were rendered.

    Returns:
        Functions that are named in a way that only works in one place.
    """
    problems: list[Problem] = []
    waiting: list[Path] = []
    for yaml in sorted(folder.glob("*.yaml")):
        for number, line in enumerate(read_text(yaml, own=True).splitlines(), 1):
            if line.lstrip().startswith("#"):
                continue
            for spec in _FUNCTION.findall(line):
                module = _module_of(spec, pack)
                if module is None:
                    continue
                if isinstance(module, Problem):
                    problems.append(
                        Problem(what=module.what, where=f"{yaml.name}:{number}", fix=module.fix)
                    )
                else:
                    waiting.append(module)
    done: set[Path] = set()
    while waiting:
        module = waiting.pop()
        if module in done:
            continue
        done.add(module)
        text, beside = _rendered(pack / module)
        target = folder / module
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        waiting += [path.relative_to(pack) for path in beside]
    return problems


def _module_of(spec: str, pack: Path) -> Path | Problem | None:
    """The file of a function's module, relative to the pack.

    None for one that is installed or nowhere.
    """
    parts = spec.split(".")[:-1]
    if not parts:
        return None
    file = Path(*parts).with_suffix(".py")
    if is_file(pack / file):
        return file
    # As the folders of a clone stand: found from there alone, and not where the command runs.
    clone = (
        parts[0] in {"task_templates", pack.parent.name}
        and parts[1:2] == [pack.name]
        and len(parts) > 2
    )
    if clone and is_file(pack / Path(*parts[2:]).with_suffix(".py")):
        short = spec.split(f"{pack.name}.", 1)[1]
        return Problem(
            what=f"!function {spec} is found only where lm_eval is started beside the packs",
            fix=f"write `!function {short}`: the pack's modules travel with its task files",
        )
    return None


def as_copied(module: Path) -> str:
    """Returns the text of a pack's module as `bring_modules` writes it beside the task files."""
    return _rendered(module)[0]


def _rendered(module: Path) -> tuple[str, list[Path]]:
    """A module as it stands beside the task files, and the modules beside it that it imports."""
    text = read_text(module, own=True, encoding="utf-8-sig")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text, []  # said by the check, with its line
    lines = text.splitlines(keepends=True)
    beside: list[Path] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        files = _beside(node, module.parent)
        beside += files
        if files and _is_absolute(node):
            _make_relative(node, lines, module.parent)
    if not beside:
        return text, []
    start = _first_line(tree)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return "".join([*lines[:start], _HEAD, *lines[start:]]), beside


def _is_absolute(node: ast.Import | ast.ImportFrom) -> bool:
    """Returns whether an import names its module as if the folder were on the path."""
    return isinstance(node, ast.Import) or not node.level


def _beside(node: ast.Import | ast.ImportFrom, folder: Path) -> list[Path]:
    """The files in a folder that an import statement means."""
    names = [name for name in _module_names(node) if not _is_absolute(node) or not _installed(name)]
    files = [folder / f"{name.replace('.', '/')}.py" for name in names]
    return [file for file in files if is_file(file)]


def _module_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules that an import may mean; none for one of a folder above."""
    aliases = [alias.name for alias in node.names]
    if isinstance(node, ast.Import):
        return aliases
    if node.level > 1:
        return []
    return [node.module] if node.module else aliases


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def _make_relative(node: ast.Import | ast.ImportFrom, lines: list[str], folder: Path) -> None:
    """Rewrites `import rows` and `from rows import x` of a module beside this one.

    The count of lines stays.
    """
    first = node.lineno - 1
    last = (node.end_lineno or node.lineno) - 1
    if isinstance(node, ast.ImportFrom):
        lines[first] = lines[first].replace(f"from {node.module}", f"from .{node.module}", 1)
        return
    statements = "; ".join(_import_of(alias, folder) for alias in node.names)
    indent = lines[first][: node.col_offset]
    empty_lines = ["\n"] * (last - first)
    lines[first : last + 1] = [f"{indent}{statements}\n", *empty_lines]


def _import_of(alias: ast.alias, folder: Path) -> str:
    """The statement that imports one name: of a module beside this one, or of an installed one."""
    is_beside = is_file(folder / f"{alias.name}.py") and not _installed(alias.name)
    renamed = f" as {alias.asname}" if alias.asname else ""
    return f"{'from . ' if is_beside else ''}import {alias.name}{renamed}"


def _first_line(tree: ast.Module) -> int:
    """Returns how many lines stand before the place where statements may be added.

    They are a docstring and imports from __future__.
    """
    end = 0
    for number, node in enumerate(tree.body):
        docstring = (
            number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not docstring and not future:
            break
        end = node.end_lineno or node.lineno
    return end
