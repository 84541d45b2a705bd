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
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from evalprep.check.finding import Findings
from evalprep.check.imports import is_importable
from evalprep.check.tree import FunctionRef, Leaf
from evalprep.errors import near
from evalprep.files import read_text


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
        for key, ref in refs_by_key(leaf):
            source = _check_ref(ref, leaf, key, findings)
            if source is None or source in local:
                continue
            local.add(source)
            _check_module(source, leaf, findings)
            for kind, name, line in _registrations(source):
                earlier = registered.setdefault(f"{kind} {name}", source)
                if earlier != source:
                    where = f"{source}:{line}"
                    what = f"register_{kind}({name!r}) is also in {earlier}"
                    findings.add("EP223", where, what, task=leaf.name)


def refs_by_key(leaf: Leaf) -> Iterator[tuple[str, FunctionRef]]:
    """Yields every !function of a task, with the key below which it stands."""
    for key, value in leaf.config.items():
        for ref in function_refs(value):
            yield key, ref


def registered_names(leaves: list[Leaf]) -> Registered:
    """Filters, metrics and aggregations that the modules of the tasks register.

    Task files may name them.
    """
    names = Registered(set(), set(), set())
    sources: set[Path] = set()
    for leaf in leaves:
        for ref in function_refs(leaf.config):
            source, _ = _source(ref)
            if source is not None:
                sources.add(source)
    for source in sources:
        for registration in _registrations(source):
            kind: set[str] = getattr(names, f"{registration.kind}s")
            kind.add(registration.name)
    return names


@cache
def _source(ref: FunctionRef) -> tuple[Path | None, bool]:
    """The file of a function's module, and whether it lies beside the YAML."""
    module = ref.spec.rpartition(".")[0]
    relative = module.replace(".", "/")
    beside = (ref.folder / f"{relative}.py").resolve()
    if beside.is_file():
        return beside, True
    return _installed(module) if module else None, False


def _check_ref(ref: FunctionRef, leaf: Leaf, key: str, findings: Findings) -> Path | None:
    """Reports a missing function; the module's file when it lies beside the YAML."""
    module, _, name = ref.spec.rpartition(".")
    if not module:
        what = f"!function {ref.spec} names no module"
        findings.add_at("EP221", leaf, key, what)
        return None
    source, is_beside = _source(ref)
    if source is None:
        what = f"there is no module {module!r} beside the YAML or installed"
        fix = _MODULE_ABOVE if ".." in module else ""
        findings.add_at("EP221", leaf, key, what, fix=fix)
        return None
    names = top_level_names(source)
    if names is not None and name not in names:
        what = f"{source} has no {name!r}"
        findings.add_at("EP221", leaf, key, what, fix=near(name, names))
    return source if is_beside else None


_MODULE_ABOVE = (
    "lm-eval does not look in folders above: move the module beside the YAML, or make it importable"
)


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
        source = _source_at(Path(base, *rest))
        if source is not None:
            return source
    return None


def _source_at(stem: Path) -> Path | None:
    """The source file of the module or package of this path without suffix."""
    for path in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def _parsed(path: Path) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in texts of other people's modules
            return ast.parse(read_text(path, own=True))
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
    return names_of_module(tree)


def names_of_module(tree: ast.Module) -> frozenset[str] | None:
    """Names that the source of a module defines; None where it does not tell."""
    if _names_in(tree) & {"globals", "exec", "setattr"}:
        return None
    names: set[str] = set()
    for node in _statements(tree.body):
        names |= _bound_names(node)
    if names & {"*", "__getattr__"}:
        return None
    return frozenset(names)


def _names_in(tree: ast.AST) -> set[str]:
    """Every name that a part of a source reads or binds."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _bound_names(node: ast.stmt) -> set[str]:
    """The names that one statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        imported = [alias.asname or alias.name for alias in node.names]
        return {name.partition(".")[0] for name in imported}
    if isinstance(node, ast.Assign):
        return set().union(*map(_names_in, node.targets))
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        return _names_in(node.target)
    return set()


def _statements(body: list[ast.stmt], *, optional: bool = False) -> Iterator[ast.stmt]:
    """Statements that run when a module is loaded.

    Those under `if`, `try`, `with` and `for` are included.

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
    if isinstance(node, ast.Try | ast.TryStar):
        # The statements of all parts of a `try`, but for what may fail where that is optional.
        is_forgiven = optional and any(map(_forgives, node.handlers))
        statements = [] if is_forgiven else list(node.body)
        for handler in node.handlers:
            statements += handler.body
        return [*statements, *node.orelse, *node.finalbody]
    if isinstance(node, ast.Match):
        return list(chain.from_iterable(case.body for case in node.cases))
    if isinstance(node, ast.If):
        if optional and "TYPE_CHECKING" in ast.unparse(node.test):
            return node.orelse
        return [*node.body, *node.orelse]
    if isinstance(node, ast.With | ast.For | ast.While):
        return [*node.body, *getattr(node, "orelse", [])]
    return []


def _forgives(handler: ast.ExceptHandler) -> bool:
    """Returns whether a failure ends in this handler: it raises nothing."""
    return not any(isinstance(inner, ast.Raise) for inner in ast.walk(handler))


def _check_module(source: Path, leaf: Leaf, findings: Findings) -> None:
    tree = _parsed(source)
    if tree is None:
        where, what = _unparsed(source)
        findings.add("EP222", where, what, task=leaf.name, fix="correct the module")
        return
    # The module may make its folder a package by itself.
    assigned = [ast.unparse(node.targets[0]) for node in tree.body if isinstance(node, ast.Assign)]
    reading = _Reading(source, leaf.name, findings, packaged="__package__" in assigned)
    for node in _statements(tree.body, optional=True):
        reading.statement(node)


def _unparsed(source: Path) -> tuple[str, str]:
    """Where and why a module is not Python that can be read."""
    try:
        ast.parse(read_text(source, own=True))
    except SyntaxError as error:
        code = f", at `{error.text.strip()}`" if error.text else ""
        return f"{source}:{error.lineno}", f"is not valid Python: {error.msg}{code}"
    except (OSError, ValueError) as error:
        return str(source), f"is not valid Python: {error}"
    return str(source), "is not valid Python"


@dataclass
class _Reading:
    """One pass over the statements of a module that lm-eval loads by its path.

    Attributes:
        source: The file.
        task: The task that names it.
        findings: Gets what lm-eval cannot load.
        packaged: The module makes its folder a package.
        postponed: It has `from __future__ import annotations`.
        changes_path: It changed `sys.path`: what can be imported from there on is not known
            without running it.
    """

    source: Path
    task: str
    findings: Findings
    packaged: bool
    postponed: bool = False
    changes_path: bool = False

    def statement(self, node: ast.stmt) -> None:
        """Looks for what lm-eval cannot load in the next statement of the module."""
        if isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            self.postponed |= node.module == "__future__" and "annotations" in names
            if node.level and not self.packaged:
                what = "a relative import: lm-eval loads the file without a package"
                self._report(node, what)
            elif node.module and not node.level and not self.changes_path:
                self._sibling(node.module, node)
                missing = _missing_in_lm_eval(node.module, names)
                if missing:
                    absent = ", ".join(missing)
                    what = f"imports {absent}, which the installed lm-eval does not have"
                    fix = "take the code along beside the YAML, or correct the name"
                    self._report(node, what, fix)
        elif isinstance(node, ast.Import) and not self.changes_path:
            for alias in node.names:
                self._sibling(alias.name, node)
        elif isinstance(node, ast.Expr | ast.Assign | ast.AugAssign):
            names_path = "sys.path" in ast.unparse(node)
            self.changes_path = self.changes_path or names_path
        elif isinstance(node, ast.ClassDef) and self.postponed:
            decorators = [ast.unparse(item).partition("(")[0] for item in node.decorator_list]
            if any(name.rpartition(".")[2] == "dataclass" for name in decorators):
                what = f"@dataclass {node.name} with `from __future__ import annotations`"
                self._report(node, what)

    def _report(self, node: ast.stmt, what: str, fix: str = "") -> None:
        where = f"{self.source}:{node.lineno}"
        self.findings.add("EP222", where, what, task=self.task, fix=fix)

    def _sibling(self, module: str, node: ast.stmt) -> None:
        """A module that is not importable, though it may lie beside this one."""
        first = module.partition(".")[0]
        if is_importable(first):
            return
        folder = self.source.parent
        module_file = folder / f"{first}.py"
        package_file = folder / first / "__init__.py"
        if module_file.exists() or package_file.exists():
            what = f"imports {first}, which lies beside it but is not importable"
            self._report(node, what)
        else:
            what = f"imports {first}, which is not installed"
            fix = f"install the package that provides {first}"
            self._report(node, what, fix)


def _missing_in_lm_eval(module: str, names: list[str]) -> list[str]:
    """Names that a module imports from lm-eval, and that the installed one does not have.

    Its source is plain Python, in which names can be looked up.
    """
    first, *rest = module.split(".")
    spec = importlib.util.find_spec("lm_eval") if first == "lm_eval" else None
    missing: list[str] = []
    for base in (spec.submodule_search_locations if spec is not None else None) or []:
        folder = Path(base, *rest)
        source = _source_at(folder)
        if source is None and not folder.is_dir():
            missing.append(module)
            continue
        defined = top_level_names(source) if source is not None else frozenset()
        if defined is not None:
            known = {*defined, *(path.stem for path in folder.glob("*")), "*"}
            missing += [f"{module}.{name}" for name in names if name not in known]
    return missing


class _Registration(NamedTuple):
    """A `@register_filter("name")` or the like: `filter`, `metric` or `aggregation`."""

    kind: str
    name: str
    line: int


@cache
def _registrations(source: Path) -> list[_Registration]:
    """Everything that a module adds to lm-eval's registries."""
    tree = _parsed(source)
    if tree is None:
        return []
    registrations = []
    for node in _statements(tree.body):
        for decorator in getattr(node, "decorator_list", []):
            if isinstance(decorator, ast.Call):
                registrations += _registered_by(decorator)
    return registrations


def _registered_by(call: ast.Call) -> list[_Registration]:
    """Returns what a decorator registers."""
    function = ast.unparse(call.func).rpartition(".")[2]
    kind = function.removeprefix("register_")
    if kind not in {"filter", "metric", "aggregation"}:
        return []
    keywords = [keyword for keyword in call.keywords if keyword.arg in {"metric", "name"}]
    arguments = [*call.args, *(keyword.value for keyword in keywords)]
    names = [node.value for node in arguments if isinstance(node, ast.Constant)]
    return [_Registration(kind, name, call.lineno) for name in names if isinstance(name, str)]
