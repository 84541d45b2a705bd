"""The record of a work folder: typed facts of its manifest, and what was edited in it since."""

import json

import pytest

from evalprep.errors import BadInput
from evalprep.files import file_sha256
from evalprep.packs import PublishedValue
from evalprep.packs.prepared import Edit, load_prepared, prepared_above, require_prepared


@pytest.fixture
def work_dir(tmp_path):
    """Two tasks of one pack, one of them with data."""
    folder = tmp_path / "work_dir"
    (folder / "rx").mkdir(parents=True)
    for name in ("rx/rx_a.yaml", "rx/rx_b.yaml", "rx/own.py", "rx/rx_a.parquet"):
        (folder / name).write_text(f"# {name}\n")
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    manifest = {
        "schema": 2,
        "run": "r0123456789a",
        "model": "org/m",
        "config": {"output_path": "out"},
        "tasks": {
            "rx_a": {"pack": "rx", "rows": 3, "expected": 2, "data": "rx/rx_a.parquet"},
            "rx_b": {"pack": "rx", "rows": None},
        },
        "packs": {"rx": {"folder": "/packs/rx"}},
        "published": {"rx/total": [{"value": 0.5, "source": "a paper", "note": "5 shots"}]},
        "files": {name: file_sha256(folder / name) for name in names},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_facts(work_dir):
    prepared = load_prepared(work_dir)
    assert (prepared.run, str(prepared.output_path)) == ("r0123456789a", "out")
    assert prepared.tasks["rx_a"].expected == 2
    assert prepared.tasks["rx_b"].rows is None
    assert str(prepared.pack_folders["rx"]) == "/packs/rx"
    published = PublishedValue(value=0.5, source="a paper", note="5 shots")
    assert prepared.plan.published == {"rx/total": (published,)}
    assert prepared.task_file("rx_b") == work_dir / "rx" / "rx_b.yaml"
    assert prepared.task_file("gone") is None
    assert prepared_above(work_dir / "rx" / "rx_a.parquet", levels=4).folder == work_dir


def test_edits(work_dir):
    prepared = load_prepared(work_dir)
    assert prepared.edits(code_only=False) == []
    (work_dir / "rx" / "rx_a.yaml").write_text("edited\n")
    (work_dir / "rx" / "more.yaml").write_text("added\n")
    (work_dir / "rx" / "own.py").unlink()
    (work_dir / "rx" / "rx_a.parquet").write_text("other rows\n")
    (work_dir / ".shelf").mkdir()
    (work_dir / ".shelf" / "old.yaml").write_text("waits\n")
    code = [Edit("rx/more.yaml", "added"), Edit("rx/own.py", "removed")]
    assert prepared.edits() == [*code, Edit("rx/rx_a.yaml", "edited")]
    assert Edit("rx/rx_a.parquet", "edited") in prepared.edits(code_only=False)


def test_no_manifest(tmp_path):
    assert load_prepared(tmp_path) is None
    with pytest.raises(BadInput, match="manifest"):
        require_prepared(tmp_path)
