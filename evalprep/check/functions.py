"""EP221-EP223: functions named with !function, found by reading source code; nothing is imported or run."""

from __future__ import annotations

import ast
import importlib.util
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evalprep.check.finding import Findings
from evalprep.check.tree import FunctionRef, Leaf
from evalprep.errors import near


@dataclass(frozen=True)
class Registered:
    """Names that modules of the tasks add to lm-eval's registries."""

    filters: set[str]
    metrics: set[str]
    aggregations: set[str]


def function_refs(value: Any) -> Iterator[FunctionRef]:
    """Every !function below a value."""
    if isinstance(value, FunctionRef):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from function_refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from function_refs(item)


def check_functions(leaves: list[Leaf], findings: Findings) -> None:
    """Each function exists where lm-eval will look for it, and its module can be loaded the way lm-eval loads it."""
    registered: dict[str, Path] = {}
    local: set[Path] = set()
    for leaf in leaves:
        for key, value in leaf.config.items():
            for ref in function_refs(value):
                source = _check_ref(ref, leaf, key, findings)
                if source is not None and source not in local:
                    local.add(source)
                    _check_module(source, leaf, findings)
                    _check_registrations(source, leaf, registered, findings)


def registered_names(leaves: list[Leaf]) -> Registered:
    """Filters, metrics and aggregations that the modules of the tasks register, so that YAMLs may name them."""
    names = Registered(set(), set(), set())
    sources = {_source(ref)[0] for leaf in leaves for ref in function_refs(leaf.config)}
    for source in sources:
        for kind, name, _ in _registrations(source) if source is not None else []:
            getattr(names, f"{kind}s").add(name)
    return names


@cache
def _source(ref: FunctionRef) -> tuple[Path | None, bool]:
    """The file of a function's module, and whether it lies beside the YAML."""
    module = ref.spec.rpartition(".")[0]
    beside = (ref.folder / f"{module.replace('.', '/')}.py").resolve()
    return (beside, True) if beside.is_file() else (_installed(module) if module else None, False)


def _check_ref(ref: FunctionRef, leaf: Leaf, key: str, findings: Findings) -> Path | None:
    """Report a missing function; the module's file when it lies beside the YAML."""
    where, task = leaf.where(key), leaf.name
    module, _, name = ref.spec.rpartition(".")
    if not module:
        findings.add("EP221", where, f"!function {ref.spec} names no module", task=task)
        return None
    source, beside = _source(ref)
    if source is None:
        above = "lm-eval does not look in folders above: move the module beside the YAML, or make it importable"
        what = f"there is no module {module!r} beside the YAML or installed"
        findings.add("EP221", where, what, task=task, fix=above if ".." in module else "")
        return None
    names = top_level_names(source)
    if names is not None and name not in names:
        findings.add("EP221", where, f"{source} has no {name!r}", task=task, fix=near(name, names))
    return source if beside else None


@cache
def _installed(module: str) -> Path | None:
    """The source file of an importable module. Parents are not imported, only the first part is looked up."""
    first, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(first)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin else None
    for base in spec.submodule_search_locations or []:
        stem = Path(base, *rest)
        for candidate in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None


@cache
def _parsed(path: Path) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in texts of other people's modules
            return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None


@cache
def top_level_names(path: Path) -> frozenset[str] | None:
    """Names that a module defines; None where its source does not say (star imports, `globals()`, C code)."""
    tree = _parsed(path)
    if tree is None:
        return None if path.suffix != ".py" else frozenset()
    if any(isinstance(node, ast.Name) and node.id in {"globals", "exec", "setattr"} for node in ast.walk(tree)):
        return None
    names: set[str] = set()
    for node in _statements(tree.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
    return None if {"*", "__getattr__"} & names else frozenset(names)


def _statements(body: list[ast.stmt], *, optional: bool = False) -> Iterator[ast.stmt]:
    """Statements that run when a module is loaded, those under `if`, `try`, `with` and `for` included.

    Args:
        body: The module's statements.
        optional: Leave out what may fail: the part of a `try` whose failure is caught without raising again, and
            what type checkers alone read.
    """
    for node in body:
        yield node
        if isinstance(node, ast.Try):
            forgiving = any(
                not any(isinstance(inner, ast.Raise) for inner in ast.walk(handler)) for handler in node.handlers
            )
            if not (optional and forgiving):
                yield from _statements(node.body, optional=optional)
            for handler in node.handlers:
                yield from _statements(handler.body, optional=optional)
            yield from _statements([*node.orelse, *node.finalbody], optional=optional)
        elif isinstance(node, ast.If):
            if not (optional and "TYPE_CHECKING" in ast.unparse(node.test)):
                yield from _statements(node.body, optional=optional)
            yield from _statements(node.orelse, optional=optional)
        elif isinstance(node, ast.With | ast.For | ast.While):
            yield from _statements([*node.body, *getattr(node, "orelse", [])], optional=optional)


def _check_module(source: Path, leaf: Leaf, findings: Findings) -> None:
    tree = _parsed(source)
    task = leaf.name
    if tree is None:
        findings.add("EP222", str(source), "is not valid Python", task=task, fix="mend the module")
        return
    postponed = moved = False
    packaged = any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__package__" for node in tree.body)
    for node in _statements(tree.body, optional=True):
        if isinstance(node, ast.ImportFrom):
            postponed |= node.module == "__future__" and any(alias.name == "annotations" for alias in node.names)
            if node.level and not packaged:
                findings.add(
                    "EP222",
                    f"{source}:{node.lineno}",
                    "a relative import: lm-eval loads the file without a package",
                    task=task,
                )
            elif node.module and not node.level and not moved:
                _sibling(node.module, node.lineno, source, task, findings)
                _of_lm_eval(
                    node.module, [alias.name for alias in node.names], f"{source}:{node.lineno}", task, findings
                )
        elif isinstance(node, ast.Import) and not moved:
            for alias in node.names:
                _sibling(alias.name, node.lineno, source, task, findings)
        elif isinstance(node, ast.Expr | ast.Assign | ast.AugAssign):
            moved |= "sys.path" in ast.unparse(node)  # what is importable from here on is not known without running it
        elif isinstance(node, ast.ClassDef) and postponed:
            decorators = {ast.unparse(one).partition("(")[0].rpartition(".")[2] for one in node.decorator_list}
            if "dataclass" in decorators:
                findings.add(
                    "EP222",
                    f"{source}:{node.lineno}",
                    f"@dataclass {node.name} with `from __future__ import annotations`",
                    task=task,
                )


def _sibling(module: str, line: int, source: Path, task: str, findings: Findings) -> None:
    first = module.partition(".")[0]
    beside = source.with_name(f"{first}.py").exists() or (source.parent / first / "__init__.py").exists()
    try:
        found = importlib.util.find_spec(first) is not None
    except (ImportError, ValueError):
        found = False
    if found:
        return
    if beside:
        findings.add(
            "EP222", f"{source}:{line}", f"imports {first}, which lies beside it but is not importable", task=task
        )
    else:
        findings.add(
            "EP222",
            f"{source}:{line}",
            f"imports {first}, which is not installed",
            task=task,
            fix=f"install the package that provides {first}",
        )


def _of_lm_eval(module: str, names: list[str], where: str, task: str, findings: Findings) -> None:
    """Tasks that came with another lm-eval import what this one, which is plain Python, does not have."""
    first, *rest = module.split(".")
    spec = importlib.util.find_spec("lm_eval") if first == "lm_eval" else None
    for base in (spec.submodule_search_locations if spec else None) or []:
        folder = Path(base, *rest)
        source = next(
            (one for one in (folder.with_name(f"{folder.name}.py"), folder / "__init__.py") if one.is_file()), None
        )
        known = top_level_names(source) if source is not None else frozenset()
        if not folder.is_dir() and source is None:
            lacks = [module]
        elif known is None:
            lacks = []
        else:
            files = {one.stem for one in folder.glob("*")}
            lacks = [f"{module}.{name}" for name in names if name != "*" and name not in known | files]
        if lacks:
            what = f"imports {', '.join(lacks)}, which the installed lm-eval does not have"
            findings.add(
                "EP222", where, what, task=task, fix="take the code along beside the YAML, or correct the name"
            )


def _check_registrations(source: Path, leaf: Leaf, registered: dict[str, Path], findings: Findings) -> None:
    for kind, name, line in _registrations(source):
        earlier = registered.setdefault(f"{kind} {name}", source)
        if earlier != source:
            findings.add("EP223", f"{source}:{line}", f"register_{kind}({name!r}) is also in {earlier}", task=leaf.name)


@cache
def _registrations(source: Path) -> list[tuple[str, str, int]]:
    """(kind, name, line) of every `@register_filter("name")` and the like."""
    tree = _parsed(source)
    found = []
    for node in _statements(tree.body if tree is not None else []):
        for decorator in getattr(node, "decorator_list", []):
            if not isinstance(decorator, ast.Call):
                continue
            kind = ast.unparse(decorator.func).rpartition(".")[2].removeprefix("register_")
            if kind in {"filter", "metric", "aggregation"}:
                found += [(kind, name, decorator.lineno) for name in _texts(decorator)]
    return found


def _texts(call: ast.Call) -> list[str]:
    values = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in {"metric", "name"})]
    return [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]
