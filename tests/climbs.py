"""How often the way of a value climbs back up: a measure of whether data goes down through the modules.

    python -m tests.rooms --climbs    # the ways below
    python -m tests.rooms --climbs evalprep/prepare/preparation.py:prepare:config

The value is followed from a parameter of a function: as it is, as an attribute or entry of it, under
a local name for one of these, and into the functions of evalprep that get it as an argument. What a
call returns is a new value. A function that hands the value to a module on a lower floor and then,
once that has returned, to another one, makes the value climb once. Methods of the value itself are
no such calls. Floors are those of the rooms; inside a room a module stands above those that it
imports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.rooms import FLOORS, PACKAGE, imports_of, room_of

#: The values whose ways are held: a config, and the joined plan by which rows are written.
WAYS = (
    "evalprep/prepare/preparation.py:prepare:config",
    "evalprep/prepare/preparation.py:_joined:config",
    "evalprep/prepare/build.py:build_folder:joined",
    "evalprep/prepare/taskfiles.py:write_tasks:joined",
)
Floor = tuple[int, int]
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Handing:
    """One call that gets the value: where it stands, and the function that is called."""

    caller: str
    line: int
    callee: str

    def __str__(self) -> str:
        return f"{self.caller}:{self.line} -> {self.callee}"


@dataclass
class Way:
    """The way of a value through the package.

    Attributes:
        root: Folder of the package.
        climbs: The calls to which the value climbed back up.
        functions: Functions that it went through.
    """

    root: Path
    climbs: list[Handing] = field(default_factory=list)
    functions: set[tuple[str, str, str]] = field(default_factory=set)

    def follow(self, module: str, function: str, parameter: str) -> None:
        """Follow the value through one function and those that get it."""
        if (module, function, parameter) in self.functions:
            return
        self.functions.add((module, function, parameter))
        definition = _functions(self.root, module).get(function)
        if definition is None:
            return
        handed_down = 0
        for call, names in _calls_with(definition, {parameter}):
            callee = self._callee(module, call)
            if callee is None:
                continue
            target, name = callee
            if floor_of(self.root, target) > floor_of(self.root, module):
                handed_down += 1
                if handed_down > 1:
                    handing = Handing(f"{module}.{function}", call.lineno, f"{target}.{name}")
                    self.climbs.append(handing)
            for inner in _parameters(_functions(self.root, target).get(name), call, names):
                self.follow(target, name, inner)

    def _callee(self, module: str, call: ast.Call) -> tuple[str, str] | None:
        """Module and name of the function of the package that is called; None for any other."""
        known = _names(self.root, module)
        if isinstance(call.func, ast.Name):
            return known.get(call.func.id)
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            owner = known.get(call.func.value.id)
            if owner is not None and _path(self.root, ".".join(filter(None, owner))).is_file():
                return ".".join(filter(None, owner)), call.func.attr
        return None


def climbs(root: Path, target: str) -> list[Handing]:
    """The climbs of the value that `FILE:FUNCTION:PARAMETER` names.

    Raises:
        SystemExit: there is no such parameter.
    """
    file, _, rest = target.partition(":")
    function, _, parameter = rest.partition(":")
    module = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    definition = _functions(root, module).get(function) if _path(root, module).is_file() else None
    if definition is None or parameter not in {argument.arg for argument in _arguments(definition)}:
        raise SystemExit(f"{target}: no such parameter; write FILE:FUNCTION:PARAMETER")
    way = Way(root)
    way.follow(module, function, parameter)
    return way.climbs


def _path(root: Path, module: str) -> Path:
    path = root / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _tree(root: Path, module: str) -> ast.Module:
    path = _path(root, module)
    return ast.parse(path.read_text(encoding="utf-8") if path.is_file() else "")


@cache
def _functions(root: Path, module: str) -> dict[str, _Function]:
    return {node.name: node for node in _tree(root, module).body if isinstance(node, _Function)}


@cache
def _names(root: Path, module: str) -> dict[str, tuple[str, str]]:
    """Name in a module -> module and name in the package that it stands for; faces of rooms are looked through."""
    names = {name: (module, name) for name in _functions(root, module)}
    for node in ast.walk(_tree(root, module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            for alias in node.names:
                owner = _owner(root, str(node.module), alias.name)
                names[alias.asname or alias.name] = owner
    return names


def _owner(root: Path, module: str, name: str) -> tuple[str, str]:
    if _path(root, module).name != "__init__.py" or name in _functions(root, module):
        return module, name
    if _path(root, f"{module}.{name}").is_file():
        return f"{module}.{name}", ""
    return _names(root, module).get(name, (module, name))


def floor_of(root: Path, module: str) -> Floor:
    """The floor of a module, counted from the roof: that of its room, then its place in the room."""
    floors = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    return floors[room_of(module)], -_height(root, module)


@cache
def _height(root: Path, module: str) -> int:
    """How many modules of its own room stand below a module, in the longest chain of imports."""
    path = _path(root, module)
    if not path.is_file() or path.name == "__init__.py":
        return 0
    own = {name for name in imports_of(path) if room_of(name) == room_of(module)} - {module}
    return max((1 + _height(root, name) for name in own if _path(root, name).is_file()), default=0)


def _arguments(definition: _Function) -> list[ast.arg]:
    arguments = definition.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _calls_with(definition: _Function, names: set[str]) -> Iterator[tuple[ast.Call, set[str]]]:
    """The calls of a function that get the value, in order, each with the names that the value has there."""
    names = set(names)
    nodes = sorted(
        (node for node in ast.walk(definition) if hasattr(node, "lineno")),
        key=lambda node: (node.lineno, node.col_offset),
    )
    for node in nodes:
        if isinstance(node, ast.Assign) and _is_value(node.value, names):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.For) and _is_value(node.iter, names):
            names |= {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
        if isinstance(node, ast.Call) and any(_is_value(one, names) for one in _given(node)):
            yield node, names


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_value(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is the value, or an attribute, entry or listing of it."""
    while True:
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value  # joined.plan.tasks.items()
        else:
            return isinstance(node, ast.Name) and node.id in names


def _parameters(definition: _Function | None, call: ast.Call, names: set[str]) -> list[str]:
    """The parameters of a function that get the value in a call."""
    if definition is None:
        return []
    arguments = _arguments(definition)
    pairs = zip(arguments, call.args, strict=False)
    by_place = [argument.arg for argument, node in pairs if _is_value(node, names)]
    by_name = [
        keyword.arg for keyword in call.keywords if keyword.arg and _is_value(keyword.value, names)
    ]
    return [*by_place, *by_name]
