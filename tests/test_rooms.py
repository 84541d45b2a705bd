"""The floors of the house hold, and the check that says so notices when they do not."""

import shutil

import pytest

from tests.rooms import PICTURE, imports_of, longest_chain, picture, problems, room_imports


def test_a_room_imports_only_rooms_below_it():
    assert problems() == []


def test_the_picture_is_current():
    assert PICTURE.read_text(encoding="utf-8") == picture(), "python -m tests.rooms --write"


def test_few_files_stand_at_the_top(project_root):
    assert len(list((project_root / "evalprep").glob("*.py"))) <= 12


def test_the_longest_way_down_is_short():
    assert len(longest_chain(room_imports())) <= 10


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
    shutil.copytree(project_root / "evalprep", tmp_path / "evalprep", ignore=shutil.ignore_patterns("__pycache__"))
    target = tmp_path / "evalprep/results/table.py"
    target.write_text(target.read_text() + "\n" + planted)
    told = problems(tmp_path)
    assert any("evalprep.results.table" in line and "above it" in line for line in told)


def test_imports_for_types_alone_do_not_count(tmp_path):
    path = tmp_path / "m.py"
    path.write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from evalprep.api import x\n")
    assert list(imports_of(path)) == []
