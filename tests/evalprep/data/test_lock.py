"""eval_config.lock and the long form of a source, from a hub on 127.0.0.1."""

import json

import pytest
import yaml

from evalprep.data.lock import commit_of, lock_text, moved, read_lock
from evalprep.data.sources import Source
from evalprep.errors import BadInput
from evalprep.packs.skeletons import task_yaml
from tests import PROJECT_ROOT, processes
from tests.evalprep.data.mirror import COMMIT, hub


@pytest.fixture
def project(tmp_path):
    """A pack whose source the config names, and a data set with two configs on a hub."""
    pack, data = tmp_path / "packs/quiz", tmp_path / "hub/some-set"
    pack.mkdir(parents=True)
    data.mkdir(parents=True)
    (data / "a.csv").write_text("question,answer\\n1 + 1?,2\\n".replace("\\n", "\n"))
    (data / "README.md").write_text(
        "---\nconfigs:\n- {config_name: a, data_files: a.csv}\n- {config_name: b, data_files: b.csv}\n---\n"
    )
    (pack / "pack.yaml").write_text(
        yaml.safe_dump(
            {"tasks": {"quiz_qa": {"template": "t.yaml"}}, "config": {"data": {"type": "source"}}}
        )
    )
    (pack / "t.yaml").write_text(task_yaml("quiz"))
    (pack / "prepare.py").write_text(
        "from evalprep.packapi import TaskData\n\n\ndef prepare(context, task):\n"
        "    rows = context.open(context.section.data, where=context.where('data')).rows(['prompt', 'target'])\n"
        "    return TaskData({'sample_id': str(n), **row} for n, row in enumerate(rows))\n"
    )
    source = {
        "path": "org/some-set",
        "config": "a",
        "columns": {"prompt": "question", "target": "answer"},
    }
    write(tmp_path, quiz={"data": source})
    return tmp_path


def write(folder, **changes):
    path = folder / "eval_config.yaml"
    content = {
        "model_name": "a/b",
        "backend": "dummy",
        "tasks": "quiz_qa",
        "template_dir": "packs",
        "lock": True,
    }
    if path.exists():
        content = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**content, **changes}))


def prepared(folder, env):
    config = folder / "eval_config.yaml"
    return processes.run("prepare", "--config_path", config, cwd=PROJECT_ROOT, env=env)


def test_the_long_form_and_the_lock(project):
    with hub(project / "hub", project) as (handler, env):
        done = prepared(project, env)
        assert done.returncode == 0, done.stderr
        lock = project / "eval_config.lock"
        assert json.loads(lock.read_text()) == {"org/some-set": {"main": COMMIT}}
        rows = json.loads((project / "work_dir/manifest.json").read_text())["sources"]
        assert [(row["config"], row["split"], row["revision"]) for row in rows] == [
            ("a", "train", COMMIT)
        ]
        # Another commit is locked: it is asked for, and the branch has moved away from it.
        lock.write_text(
            json.dumps({"org/some-set": {"main": "d" * 40}, "org/other": {"main": "e" * 40}})
        )
        handler.log.clear()
        done = prepared(project, env)
        assert any("d" * 40 in path for path in handler.log)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            {"path": "org/some-set"},
            ["has several configs, and none is the default", "allowed: a, b"],
        ),
        ({"path": "org/some-set", "config": "b"}, ["the file b.csv is not there"]),
        ({"path": "org/some-set", "confg": "a"}, ["unknown key", "confg", "config"]),
        ({"config": "a"}, ["path"]),
    ],
)
def test_mistakes_in_a_source(project, data, said):
    write(project, quiz={"data": data}, lock=False)
    with hub(project / "hub", project) as (_, env):
        done = prepared(project, env)
    assert done.returncode == 2
    for part in said:
        assert part in done.stderr
    assert not (project / "eval_config.lock").exists()


def test_what_a_lock_says(tmp_path, monkeypatch):
    monkeypatch.setattr("evalprep.data.lock.is_offline", lambda: False)
    monkeypatch.setattr("evalprep.data.lock.hub_files", lambda *_: ("f" * 40, []))
    source = Source("org/x", [], revision="a" * 40)
    text = lock_text({"org/y": {"v1": "b" * 40}}, [source, Source("local", [])])
    path = tmp_path / "x.lock"
    path.write_text(text)
    locked = read_lock(path)
    assert locked == {"org/x": {"main": "a" * 40}, "org/y": {"v1": "b" * 40}}
    assert commit_of(locked, "org/x", None) == "a" * 40
    assert commit_of(locked, "org/x", "v2") == "v2"
    assert moved(locked, [source]) == [
        "org/x: main is now ffffffffffff, the lock file keeps aaaaaaaaaaaa"
    ]
    assert read_lock(tmp_path / "none.lock") == {}
    path.write_text("[]")
    with pytest.raises(BadInput, match="is not a lock file"):
        read_lock(path)


def test_what_was_read_is_said(project):
    with hub(project / "hub", project) as (_, env):
        done = prepared(project, env)
    assert (
        f"read org/some-set at {COMMIT[:12]}: config a, split train, a.csv, 1 row" in done.stderr
    ), done.stderr
