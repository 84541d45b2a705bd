"""Every regular expression of the project: compiled ones, those in calls of `re`, and the filters of tasks."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import custom_metrics
import evalprep
from custom_metrics.extract.choice_patterns import Phrase
from evalprep.check.finding import Findings
from evalprep.check.tree import read_file
from evalprep.packs.finding import find_packs

ROOT = Path(__file__).parents[2]
FROM_THE_START = {"match", "fullmatch"}
USES = {"search", "findall", "finditer", "sub", "subn", "split", *FROM_THE_START}


@dataclass(frozen=True)
class Used:
    """A pattern and where it stands.

    Attributes:
        where: Module and name or line; a file of a task and its filter.
        pattern: The regular expression.
        flags: Its flags.
        uses: The functions of `re` that are called with it, as far as the source shows; empty means
            any.
    """

    where: str
    pattern: str
    flags: int = 0
    uses: frozenset[str] = frozenset()

    @property
    def search(self) -> bool:
        """Whether it may begin anywhere in a text."""
        return not self.uses or not self.uses <= FROM_THE_START

    @property
    def whole(self) -> bool:
        """Whether it has to reach the end of a text."""
        return self.uses == {"fullmatch"}


def modules() -> Iterator[ModuleType]:
    """Every module of both packages and of the packs."""
    for package in (custom_metrics, evalprep):
        for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not one.name.endswith("__main__") and not _is_script(one.name):
                yield importlib.import_module(one.name)
    for pack in find_packs().values():
        for path in sorted(pack.folder.glob("*.py")):
            module = pack.module(path.stem)
            assert module is not None
            yield module


def _is_script(name: str) -> bool:
    """Whether a module runs where it is imported, in a process of its own."""
    spec = importlib.util.find_spec(name)
    source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
    return any(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        for node in _parsed(source).body
    )


@functools.cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


@functools.cache
def _attributes_and_calls(source: str) -> list[ast.Attribute | ast.Call]:
    nodes = ast.walk(_parsed(source))
    return [node for node in nodes if isinstance(node, ast.Attribute | ast.Call)]


def _methods(sources: list[str]) -> dict[str, set[str]]:
    """Name of a compiled pattern -> the methods that are called on it anywhere."""
    found: dict[str, set[str]] = {}
    for source in sources:
        for node in _attributes_and_calls(source):
            if not isinstance(node, ast.Attribute) or node.attr not in USES:
                continue
            for name in _called(node.value):
                found.setdefault(name, set()).add(node.attr)
    return found


def _called(value: ast.expr) -> Iterator[str]:
    """Names of what a method is called on: `NAME`, `module.NAME`, `NAME[key]`, `(NAME if ... else OTHER)`."""
    if isinstance(value, ast.Subscript):
        yield from _called(value.value)
    elif isinstance(value, ast.IfExp):
        yield from _called(value.body)
        yield from _called(value.orelse)
    elif isinstance(value, ast.Name):
        yield value.id
    elif isinstance(value, ast.Attribute):
        yield value.attr


def _compiled(name: str, value: object) -> Iterator[tuple[str, re.Pattern[str]]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield name, value
    elif isinstance(value, Phrase):
        yield name, value.pattern
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _compiled(f"{name}[{key!r}]", one)
    elif isinstance(value, list | tuple | set | frozenset):
        for place, one in enumerate(value):
            yield from _compiled(f"{name}[{place}]", one)


def in_modules() -> tuple[list[Used], list[str]]:
    """All patterns of the source code, and the calls of `re` whose pattern is only known when they run."""
    found: list[Used] = []
    unknown: list[str] = []
    loaded = list(modules())
    sources = {
        module.__name__: Path(str(module.__file__)).read_text(encoding="utf-8") for module in loaded
    }
    methods = _methods(list(sources.values()))
    for module in loaded:
        source = sources[module.__name__]
        seen: set[re.Pattern[str]] = set()
        for name, value in vars(module).items():
            for where, pattern in _compiled(name, value):
                if re.search(
                    rf"^{re.escape(name)}\b", source, re.MULTILINE
                ):  # made here, not imported
                    seen.add(pattern)
                    uses = frozenset(methods.get(name, ()))
                    found.append(
                        Used(f"{module.__name__}.{where}", pattern.pattern, pattern.flags, uses)
                    )
        for node in _attributes_and_calls(source):
            if not _is_call_of_re(node):
                continue
            assert isinstance(node, ast.Call)
            where = f"{module.__name__}:{node.lineno}"
            try:
                pattern, flags = _arguments(node, vars(module))
            except Exception:  # noqa: BLE001 - names of the function around it
                unknown.append(
                    f"{module.__name__}: {ast.unparse(node.args[0]) if node.args else ast.unparse(node)}"
                )
                continue
            name = node.func.attr  # type: ignore[attr-defined]
            if isinstance(pattern, str) and name in USES:
                found.append(Used(where, pattern, flags, frozenset({name})))
            elif isinstance(pattern, str) and all(pattern != one.pattern for one in seen):
                found.append(Used(where, pattern, flags))
    return found, unknown


def _is_call_of_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in USES | {"compile"}
    )


def _arguments(node: ast.Call, names: dict[str, object]) -> tuple[object, int]:
    """Pattern and flags of a call, computed with the names of its module."""
    flags = next((keyword.value for keyword in node.keywords if keyword.arg == "flags"), None)
    if flags is None and isinstance(node.func, ast.Attribute):
        place = {"sub": 4, "subn": 4, "split": 3}.get(
            node.func.attr, 2 if node.func.attr != "compile" else 1
        )
        flags = node.args[place] if len(node.args) > place else None
    return _value(node.args[0], names), int(_value(flags, names)) if flags is not None else 0  # type: ignore[call-overload]


def _value(node: ast.expr, names: dict[str, object]) -> object:
    return eval(compile(ast.Expression(node), "<pattern>", "eval"), dict(names))  # our own source


def in_tasks() -> list[Used]:
    """The patterns of the filters of all task templates; lm-eval searches with them."""
    found: list[Used] = []
    for path in sorted((ROOT / "task_templates").rglob("*.yaml")):
        file = read_file(path, Findings())
        for node in _mappings(file.data if file else None):
            pattern = node.get("regex_pattern")
            if isinstance(pattern, str):
                found.append(
                    Used(str(path.relative_to(ROOT)), pattern, uses=frozenset({"findall"}))
                )
    return found


def _mappings(value: object) -> Iterator[dict[str, object]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _mappings(one)
