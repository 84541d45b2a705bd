"""The floors of the house hold, and the check that says so notices when they do not."""

import ast
import importlib
import inspect
import shutil
from pathlib import Path

import pytest

from evalprep.surface import offered
from tests.rooms import (
    NOUNS,
    PICTURE,
    deep_imports,
    imports_of,
    longest_chain,
    picture,
    problems,
    room_imports,
)
from tests.surfaces import idle_offers


def test_a_room_imports_only_rooms_below_it():
    assert problems() == []


def test_the_picture_is_current():
    assert PICTURE.read_text(encoding="utf-8") == picture(), "python -m tests.rooms --write"


def test_few_files_stand_at_the_top(project_root):
    assert len(list((project_root / "evalprep").glob("*.py"))) <= 16


def test_the_longest_way_down_is_short():
    assert len(longest_chain(room_imports())) <= 12


@pytest.mark.parametrize(
    "planted",
    [
        "from evalprep.report import write\n",
        "def late():\n    from evalprep.prepare.preparation import prepare\n    return prepare\n",
        "import evalprep.verbs.run\n",
    ],
    ids=["at the top", "inside a function", "as a module"],
)
def test_a_planted_import_upward_is_told(project_root, tmp_path, planted):
    shutil.copytree(
        project_root / "evalprep",
        tmp_path / "evalprep",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    target = tmp_path / "evalprep/samples/table.py"
    target.write_text(target.read_text() + "\n" + planted)
    told = problems(tmp_path)
    assert any("evalprep.samples.table" in line and "above it" in line for line in told)


def test_imports_for_types_alone_count(tmp_path):
    path = tmp_path / "m.py"
    path.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from evalprep.api import x\n"
    )
    assert list(imports_of(path)) == ["evalprep.api"]


def test_a_room_imports_another_one_by_its_name():
    assert deep_imports() == []


@pytest.mark.parametrize(
    "planted",
    [
        "from evalprep.packs.plan import Plan\n",
        "def late():\n    from evalprep.packs import plan\n    import evalprep.packs.plan\n",
        "if TYPE_CHECKING:\n    from evalprep.packs.plan import Plan\n",
    ],
    ids=["at the top", "inside a function", "for types"],
)
def test_a_planted_deep_import_is_told(tmp_path, planted):
    for file, text in {"packs/plan.py": "", "check/tree.py": planted}.items():
        path = tmp_path / "evalprep" / file
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (line,) = deep_imports(tmp_path)
    assert line.startswith("evalprep.check.tree -> evalprep.packs.plan: import it from")


ROOMS = sorted({*NOUNS} - {"doors", "ground", "packapi", "export"})


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_all_that_it_offers(room):
    face = importlib.import_module(f"evalprep.{room}")
    listed = ast.parse(inspect.getsource(face))
    imports = [node for node in ast.walk(listed) if isinstance(node, ast.ImportFrom)]
    names = [alias.asname or alias.name for node in imports for alias in node.names]
    values = [getattr(face, name) for name in names]
    # A module of the same name would hide the thing once it is imported.
    hidden = [name for name in names if (Path(face.__path__[0]) / f"{name}.py").exists()]
    assert len(values) > 3
    assert hidden == []


def test_somebody_takes_what_a_room_offers():
    assert idle_offers() == []


def test_a_planted_offer_that_nobody_takes_is_named(tmp_path):
    files = {
        "packs/__init__.py": "from evalprep.packs.plan import Plan, Task, make\n",
        "check/tree.py": "from evalprep.packs import (\n    Plan,\n)\nfrom evalprep import packs\n"
        "packs.make()\n",
    }
    for name, text in files.items():
        path = tmp_path / "evalprep" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert idle_offers(tmp_path) == ["packs.Task"]


def test_what_a_room_does_not_offer_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        offered("evalprep.packs")("nothing")
