"""The examples in docstrings."""

import doctest
import importlib

from tests import PROJECT_ROOT
from tests.tables import each_row


def has_examples(source):
    lines = [line for line in source.splitlines() if line.lstrip().startswith(">>> ")]
    return any("doctest: +SKIP" not in line for line in lines)


FOLDERS = ("evalprep", "custom_metrics", "environment")
FILES = [path for folder in FOLDERS for path in sorted((PROJECT_ROOT / folder).rglob("*.py"))]
MODULES = [
    ".".join(path.relative_to(PROJECT_ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in FILES
    if has_examples(path.read_text(encoding="utf-8"))
]


@each_row("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_examples_are_found():
    assert len(MODULES) > 100
