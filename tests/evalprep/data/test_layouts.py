"""Rows of any repository are those of `datasets.load_dataset`, or both refuse; locally and from a hub."""

import json
import os
import subprocess
import sys

import pytest

from evalprep.data.layout import READABLE, is_known_ending
from tests import PROJECT_ROOT
from tests.evalprep.data import layouts
from tests.evalprep.data.mirror import hub


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("layouts")
    layouts.write(place)
    return place


def compared(place, home, env=None):
    done = subprocess.run(
        [sys.executable, "-m", "tests.evalprep.data.compare_layouts", str(place)],
        cwd=PROJECT_ROOT,
        env={**os.environ, "HF_DATASETS_CACHE": str(home / "datasets"), **(env or {})},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def differences(found):
    for one in found:
        refused = [isinstance(one[reader], str) for reader in ("theirs", "ours")]
        if any(refused):
            if not all(refused):
                yield one["layout"], one["question"], one["theirs"], one["ours"]
        elif one["ours"] != one["theirs"]:
            yield one["layout"], one["question"], one["theirs"], one["ours"]


def test_there_are_enough_layouts():
    assert len(layouts.LAYOUTS) >= 40


@pytest.mark.slow  # forty data sets in `datasets`
def test_local_folders(folder, tmp_path):
    said = compared(folder, tmp_path)
    assert list(differences(said["found"])) == []
    assert said["seconds"]["ours"] < said["seconds"]["theirs"]


@pytest.mark.slow
def test_from_a_hub(folder, tmp_path):
    with hub(folder, tmp_path) as (_, env):
        said = compared("hub", tmp_path, env)
    assert list(differences(said["found"])) == []
    assert said["seconds"]["ours"] < said["seconds"]["theirs"]


def test_endings_are_those_of_the_installed_library():
    from datasets.packaged_modules import _ALL_ALLOWED_EXTENSIONS, _EXTENSION_TO_MODULE

    assert {one for one in _ALL_ALLOWED_EXTENSIONS if not is_known_ending(one[1:])} == set()
    assert {ending: _EXTENSION_TO_MODULE[f".{ending}"][0] for ending in READABLE} == READABLE
