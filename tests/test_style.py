"""Rules of style that no linter knows."""

import ast
from functools import cache

import pytest

from tests import PROJECT_ROOT

FOLDERS = ("evalprep", "custom_metrics", "task_templates", "environment")
FILES = [path for folder in FOLDERS for path in sorted((PROJECT_ROOT / folder).rglob("*.py"))]


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@cache
def expressions():
    """Every conditional expression and comprehension, with its file: each is parsed once."""
    trees = [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in FILES]
    kinds = (ast.IfExp, *COMPREHENSIONS)
    return [
        (path, node) for path, tree in trees for node in ast.walk(tree) if isinstance(node, kinds)
    ]


def places(holds):
    """Where a rule is broken: file and line of each expression for which `holds` is true."""
    return [
        f"{path.relative_to(PROJECT_ROOT)}:{node.lineno}"
        for path, node in expressions()
        if holds(node)
    ]


def is_nested_conditional(node):
    inner = (part for part in ast.walk(node) if part is not node)
    return isinstance(node, ast.IfExp) and any(isinstance(part, ast.IfExp) for part in inner)


def test_no_conditional_expression_stands_in_another():
    assert places(is_nested_conditional) == []


@pytest.mark.parametrize(
    ("code", "expected"), [("a if b else c", False), ("a if b else [c if d else e]", True)]
)
def test_a_planted_conditional_in_another_is_noticed(code, expected):
    assert is_nested_conditional(ast.parse(code, mode="eval").body) == expected


def has_second_clause(node):
    """Returns whether a comprehension has more than one `for` or more than one `if`."""
    parts = node.generators if isinstance(node, COMPREHENSIONS) else []
    return len(parts) > 1 or sum(len(part.ifs) for part in parts) > 1


def test_comprehensions_have_one_for_and_one_if():
    assert places(has_second_clause) == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("[a for a in b if a]", False),
        ("[[a for a in b] for b in c]", False),
        ("[a for b in c for a in b]", True),
        ("{a: a for a in b if a if a > 1}", True),
        ("(a for b in c for a in b if a)", True),
    ],
)
def test_a_planted_comprehension_is_noticed(code, expected):
    assert has_second_clause(ast.parse(code, mode="eval").body) == expected
