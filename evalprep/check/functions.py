"""EP221-EP223: functions named with !function, found by reading source code.

Nothing is imported or run.
"""

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
    """Each function exists where lm-eval will look for it.

    Its module can be loaded the way lm-eval loads it.
    """
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
    """Filters, metrics and aggregations that the modules of the tasks register.

    So that YAMLs may name them.
    """
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
    if beside.is_file():
        return beside, True
    return (_installed(module) if module else None), False


def _check_ref(ref: FunctionRef, leaf: Leaf, key: str, findings: Findings) -> Path | None:
    """Report a missing function; the module's file when it lies beside the YAML."""
    where, task = leaf.where(key), leaf.name
    module, _, name = ref.spec.rpartition(".")
    if not module:
        findings.add("EP221", where, f"!function {ref.spec} names no module", task=task)
        return None
    source, beside = _source(ref)
    if source is None:
        above = (
            "lm-eval does not look in folders above: move the module beside the YAML, or make it "
            "importable"
        )
        what = f"there is no module {module!r} beside the YAML or installed"
        findings.add("EP221", where, what, task=task, fix=above if ".." in module else "")
        return None
    names = top_level_names(source)
    if names is not None and name not in names:
        findings.add("EP221", where, f"{source} has no {name!r}", task=task, fix=near(name, names))
    return source if beside else None


@cache
def _installed(module: str) -> Path | None:
    """The source file of an importable module.

    Parents are not imported, only the first part is looked up.
    """
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
    """Names that a module defines.

    None where its source does not say (star imports, `globals()`, C code).
    """
    tree = _parsed(path)
    if tree is None:
        return None if path.suffix != ".py" else frozenset()
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if used & {"globals", "exec", "setattr"}:
        return None
    names: set[str] = set()
    for node in _statements(tree.body):
        names |= _bound_names(node)
    return None if {"*", "__getattr__"} & names else frozenset(names)


def _bound_names(node: ast.stmt) -> set[str]:
    """The names that one statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return _assigned_names(node)
    return set()


def _assigned_names(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names: set[str] = set()
    for target in targets:
        names |= {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
    return names


def _statements(body: list[ast.stmt], *, optional: bool = False) -> Iterator[ast.stmt]:
    """Statements that run when a module is loaded.

    Those under `if`, `try`, `with` and `for` included.

    Args:
        body: The module's statements.
        optional: Leave out what may fail: the part of a `try` whose failure is caught without
            raising again, and what type checkers alone read.
    """
    for node in body:
        yield node
        yield from _statements(_inner(node, optional=optional), optional=optional)


def _inner(node: ast.stmt, *, optional: bool) -> list[ast.stmt]:
    """The statements inside a compound statement that run when the module is loaded."""
    if isinstance(node, ast.Try):
        is_forgiven = optional and any(map(_forgives, node.handlers))
        tried = [] if is_forgiven else node.body
        handled = [statement for handler in node.handlers for statement in handler.body]
        return [*tried, *handled, *node.orelse, *node.finalbody]
    if isinstance(node, ast.If):
        is_for_types = optional and "TYPE_CHECKING" in ast.unparse(node.test)
        return node.orelse if is_for_types else [*node.body, *node.orelse]
    if isinstance(node, ast.With | ast.For | ast.While):
        return [*node.body, *getattr(node, "orelse", [])]
    return []


def _forgives(handler: ast.ExceptHandler) -> bool:
    """Returns whether a failure ends in this handler: it raises nothing."""
    return not any(isinstance(inner, ast.Raise) for inner in ast.walk(handler))


def _check_module(source: Path, leaf: Leaf, findings: Findings) -> None:
    tree = _parsed(source)
    if tree is None:
        what = "is not valid Python"
        findings.add("EP222", str(source), what, task=leaf.name, fix="mend the module")
        return
    reading = _Reading(source, leaf.name, findings, packaged=_sets_package(tree))
    for node in _statements(tree.body, optional=True):
        reading.statement(node)


def _sets_package(tree: ast.Module) -> bool:
    """Returns whether a module makes its folder a package by itself."""
    assignments = [node for node in tree.body if isinstance(node, ast.Assign)]
    return any(ast.unparse(node.targets[0]) == "__package__" for node in assignments)


@dataclass
class _Reading:
    """One pass over the statements of a module that lm-eval loads by its path.

    Attributes:
        source: The file.
        task: The task that names it.
        findings: Gets what lm-eval cannot load.
        packaged: The module makes its folder a package.
        postponed: It has `from __future__ import annotations`.
        moved: It changed `sys.path`: what is importable from there on is not known without running
            it.
    """

    source: Path
    task: str
    findings: Findings
    packaged: bool
    postponed: bool = False
    moved: bool = False

    def statement(self, node: ast.stmt) -> None:
        """Look at the next statement."""
        if isinstance(node, ast.ImportFrom):
            self._import_from(node)
        elif isinstance(node, ast.Import) and not self.moved:
            for alias in node.names:
                self._sibling(alias.name, node)
        elif isinstance(node, ast.Expr | ast.Assign | ast.AugAssign):
            self.moved |= "sys.path" in ast.unparse(node)
        elif isinstance(node, ast.ClassDef) and self.postponed:
            self._dataclass(node)

    def _report(self, node: ast.stmt, what: str, fix: str = "") -> None:
        where = f"{self.source}:{node.lineno}"
        self.findings.add("EP222", where, what, task=self.task, fix=fix)

    def _import_from(self, node: ast.ImportFrom) -> None:
        names = [alias.name for alias in node.names]
        self.postponed |= node.module == "__future__" and "annotations" in names
        if node.level and not self.packaged:
            self._report(node, "a relative import: lm-eval loads the file without a package")
        elif node.module and not node.level and not self.moved:
            self._sibling(node.module, node)
            missing = _missing_in_lm_eval(node.module, names)
            if missing:
                what = f"imports {', '.join(missing)}, which the installed lm-eval does not have"
                fix = "take the code along beside the YAML, or correct the name"
                self._report(node, what, fix)

    def _dataclass(self, node: ast.ClassDef) -> None:
        names = [ast.unparse(decorator).partition("(")[0] for decorator in node.decorator_list]
        if "dataclass" in {name.rpartition(".")[2] for name in names}:
            what = f"@dataclass {node.name} with `from __future__ import annotations`"
            self._report(node, what)

    def _sibling(self, module: str, node: ast.stmt) -> None:
        """A module that is not importable, though it may lie beside this one."""
        first = module.partition(".")[0]
        if _is_importable(first):
            return
        folder = self.source.parent
        if (folder / f"{first}.py").exists() or (folder / first / "__init__.py").exists():
            self._report(node, f"imports {first}, which lies beside it but is not importable")
        else:
            fix = f"install the package that provides {first}"
            self._report(node, f"imports {first}, which is not installed", fix)


def _is_importable(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _missing_in_lm_eval(module: str, names: list[str]) -> list[str]:
    """Names that a module imports from lm-eval, and that the installed one.

    Which is plain Python, does not have.
    """
    first, *rest = module.split(".")
    spec = importlib.util.find_spec("lm_eval") if first == "lm_eval" else None
    folders = (spec.submodule_search_locations if spec else None) or []
    return [name for base in folders for name in _missing_below(Path(base, *rest), module, names)]


def _missing_below(folder: Path, module: str, names: list[str]) -> list[str]:
    sources = (folder.with_name(f"{folder.name}.py"), folder / "__init__.py")
    source = next((path for path in sources if path.is_file()), None)
    if source is None and not folder.is_dir():
        return [module]
    known = top_level_names(source) if source is not None else frozenset()
    if known is None:
        return []
    here = known | {path.stem for path in folder.glob("*")} | {"*"}
    return [f"{module}.{name}" for name in names if name not in here]


def _check_registrations(
    source: Path, leaf: Leaf, registered: dict[str, Path], findings: Findings
) -> None:
    for kind, name, line in _registrations(source):
        earlier = registered.setdefault(f"{kind} {name}", source)
        if earlier != source:
            findings.add(
                "EP223",
                f"{source}:{line}",
                f"register_{kind}({name!r}) is also in {earlier}",
                task=leaf.name,
            )


@cache
def _registrations(source: Path) -> list[tuple[str, str, int]]:
    """(kind, name, line) of every `@register_filter("name")` and the like."""
    tree = _parsed(source)
    registrations = []
    for node in _statements(tree.body if tree is not None else []):
        for decorator in getattr(node, "decorator_list", []):
            if not isinstance(decorator, ast.Call):
                continue
            kind = ast.unparse(decorator.func).rpartition(".")[2].removeprefix("register_")
            if kind in {"filter", "metric", "aggregation"}:
                names = _texts(decorator)
                registrations += [(kind, name, decorator.lineno) for name in names]
    return registrations


def _texts(call: ast.Call) -> list[str]:
    values = [
        *call.args,
        *(keyword.value for keyword in call.keywords if keyword.arg in {"metric", "name"}),
    ]
    return [
        value.value
        for value in values
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    ]
