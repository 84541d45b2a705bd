"""The work folder's place, its files, and what a preparation that was killed has left."""

import json
import sys
from pathlib import Path

import pytest

from evalprep.config.schema import Core
from evalprep.packs.plan import Call
from evalprep.packs.prepared import MANIFEST
from evalprep.prepare.commands import invocation
from evalprep.prepare.shares import Share
from evalprep.prepare.workdir import (
    _exchange,
    building,
    carry_over,
    check_place,
    swap_in,
    tree_files,
)


def prepared(folder, **files):
    """A folder as a preparation leaves it."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / MANIFEST).write_text(json.dumps({"files": tree_files(folder)}))
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_places_that_may_be_taken(tmp_path):
    (tmp_path / "empty").mkdir()
    assert check_place(tmp_path / "absent") == []
    assert check_place(tmp_path / "empty") == []
    assert check_place(prepared(tmp_path / "ours", task="x")) == []


def test_places_that_are_somebody_elses(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/thesis.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    said = [check_place(tmp_path / name)[0].what for name in ("theirs", "file", "link")]
    assert "evalprep did not write it and does not replace it" in said[0]
    assert said[1:] == ["is not a folder"] * 2


def test_files_of_a_tree(tmp_path):
    folder = prepared(tmp_path / "w", one="1", two="2")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/x.pyc").write_text("x")
    (folder / "sub").mkdir()
    (folder / "sub" / MANIFEST).write_text("a file of that name elsewhere")
    (folder / "gone").symlink_to(tmp_path / "nowhere")
    assert list(tree_files(folder)) == ["gone", "one", f"sub/{MANIFEST}", "two"]


def test_a_new_folder_has_the_rights_of_any_other(tmp_path):
    (tmp_path / "usual").mkdir()
    with building(tmp_path / "w") as build:
        assert build.stat().st_mode == (tmp_path / "usual").stat().st_mode
        (build / "x").write_text("new")
        swap_in(build, tmp_path / "w")
    assert (tmp_path / "w/x").read_text() == "new"
    assert names(tmp_path) == ["usual", "w"]


def test_a_folder_that_was_moved_away_comes_back(tmp_path):
    prepared(tmp_path / ".w.old", task="old")
    with pytest.raises(KeyError), building(tmp_path / "w"):
        raise KeyError
    assert (tmp_path / "w/task").read_text() == "old"
    assert names(tmp_path) == ["w"]


def test_an_old_folder_beside_the_new_one_is_cleared(tmp_path):
    prepared(tmp_path / ".w.old", task="old")
    prepared(tmp_path / "w", task="new")
    (tmp_path / ".w.build-dead").mkdir()
    with pytest.raises(KeyError), building(tmp_path / "w"):
        raise KeyError
    assert (tmp_path / "w/task").read_text() == "new"
    assert names(tmp_path) == ["w"]


def test_edits_are_kept_where_what_is_generated_stays(tmp_path):
    old, new = (
        prepared(tmp_path / "w", same="a", edited="a"),
        prepared(tmp_path / "b", same="a", edited="a"),
    )
    (old / "edited").write_text("mine")
    (old / "added").write_text("mine too")
    carried = carry_over(old, new, force=False, applies=lambda _name: True)
    assert carried.notes == ["kept your file added", "kept your edit of edited"]
    assert [(new / name).read_text() for name in ("same", "edited", "added")] == [
        "a",
        "mine",
        "mine too",
    ]


@pytest.mark.parametrize(
    ("backend", "local", "offline"),
    [("hf", True, True), ("hf", False, False), ("vllm-server", True, False)],
)
def test_a_run_that_has_all_it_needs_here_asks_no_hub(backend, local, offline, tmp_path):
    core = Core(
        model_name="m",
        tasks=("a",),
        backend=backend,
        device="cpu",
        work_dir=tmp_path,
        output_path=tmp_path,
    )
    share = Share(Call(), backend, False, None, 0, ("a",))
    made = invocation(core, share, names=["a"], model="m", local_only=local)
    assert (made.env.get("HF_HUB_OFFLINE") == "1") == offline


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="one step needs Linux")
def test_folders_are_swapped_in_one_step_wherever_one_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "other"):
        Path(name).mkdir()
        Path(name, name).touch()
    assert _exchange(Path("one"), Path("other"))
    assert [path.name for path in Path("one").iterdir()] == ["other"]
    assert not _exchange(Path("one"), Path("absent"))
    assert [path.name for path in Path("one").iterdir()] == ["other"]
