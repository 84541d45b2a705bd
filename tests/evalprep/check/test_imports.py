"""Imports that are put off, or left out."""

import subprocess
import sys

import pytest


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "large"
    folder.mkdir()
    (folder / "__init__.py").write_text("print('loaded')\nfrom large.part import value\n")
    (folder / "part.py").write_text("import large\nvalue = 3\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:.")


@pytest.mark.parametrize(
    "use", ["large.value", "__import__('large.part').part.value", "vars()['from_it']()"]
)
def test_a_postponed_package_is_loaded_at_its_first_use(package, use):
    code = (
        "from evalprep.check.imports import postpone\n"
        "postpone('large', 'not_installed_anywhere')\n"
        "import large, large\n"
        "def from_it():\n    from large import value\n    return value\n"
        f"print('imported')\nprint({use})\nprint(large.value)\n"
    )
    assert run(code).split() == ["imported", "loaded", "3", "3"]


def test_what_is_imported_already_is_left_alone(package):
    code = (
        "import large, sys\nfrom evalprep.check.imports import absent, postpone\n"
        "postpone('large')\n"
        "with absent('large', 'wave'):\n"
        "    import large\n"
        "    try: import wave\n    except ImportError: print('absent')\n"
        "import wave\nprint(type(large).__name__, sys.modules['wave'] is wave)\n"
    )
    assert run(code).split() == ["loaded", "absent", "module", "True"]


def test_a_package_that_fails_fails_at_each_use(package, tmp_path):
    (tmp_path / "large" / "part.py").write_text("raise ValueError('broken')\n")
    code = (
        "import sys\nfrom evalprep.check.imports import postpone\n"
        "postpone('large')\nimport large\n"
        "try: large.value\nexcept ValueError as error: print(error)\n"
        "try: import large\nexcept ValueError as error: print(error)\n"
    )
    assert run(code).split() == ["loaded", "broken", "loaded", "broken"]
