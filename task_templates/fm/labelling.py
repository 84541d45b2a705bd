"""A function of the user that reads labels, named as `file.py:name`."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalprep.packapi import BadInput, Context, Problem, UserModule, near

from .settings import DataSet

_ADDED = """


# ---- added at preparation: the scorers of the tasks, with the function above
from custom_metrics.fm.harness import classification_by, classification_robustness_by  # noqa: E402

evalprep_accuracy = classification_by({name})
evalprep_robustness = classification_robustness_by({name})
"""
ACCURACY, ROBUSTNESS = "evalprep_accuracy", "evalprep_robustness"


def labels_module(data: DataSet) -> str:
    """Name of the module beside the tasks that holds the function of a data set."""
    return f"labels_{data.name}"


def label_module(context: Context, data: DataSet) -> UserModule:
    """That module: the user's file, then the scorers that use the function.

    Raises:
        BadInput: there is no such file or function.
    """
    named = data.options["label_function"]
    where = context.where("data", data.index, "label_function")
    file, name = file_and_name(named, context.locate, where)
    return UserModule(file, _ADDED.format(name=name))


def file_and_name(named: str, locate: Callable[[str], str], where: str) -> tuple[Path, str]:
    """The file and the name of a function.

    Raises:
        BadInput: the file is missing or not Python, or has no such function.
    """
    path, _, name = named.rpartition(":")
    file = Path(locate(path))
    if not file.is_file():
        raise BadInput(Problem(what=f"there is no file {path}", where=where, fix=_FIX))
    try:
        tree = ast.parse(file.read_text(encoding="utf-8-sig"))
    except SyntaxError as error:
        place = f"{file}:{error.lineno}"
        what = f"is not Python that can be read: {error.msg}"
        raise BadInput(Problem(what=what, where=place, fix="correct the line")) from None
    except ValueError as error:
        raise BadInput(Problem(what=f"is not Python: {error}", where=str(file))) from None
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if name not in functions:
        what = f"{path} has no function {name}"
        allowed = ", ".join(functions) or "a function (reply, labels) that returns a label"
        problem = Problem(what=what, where=where, allowed=allowed, fix=near(name, functions))
        raise BadInput(problem)
    return file, name


_FIX = "write file.py:name, the file relative to the config"


def loaded_function(named: Any, locate: Callable[[str], str]) -> Callable[..., Any]:
    """The function itself, of its name or as it is.

    Raises:
        BadInput: see `file_and_name`; or the file cannot be imported.
    """
    if not isinstance(named, str):
        function: Callable[..., Any] = named
        return function
    file, name = file_and_name(named, locate, "label_function")
    spec = importlib.util.spec_from_file_location(f"_evalprep_labels_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        function = getattr(module, name)
    except Exception as error:  # the user's file may fail in any way
        what = f"cannot be imported: {error!r}"
        raise BadInput(Problem(what=what, where=str(file), fix="correct the file")) from error
    return function
