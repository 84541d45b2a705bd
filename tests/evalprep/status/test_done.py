"""When a command counts as done: results of its run hold all its rows, from the engine that it asks for."""

import json
import os
import time

import pytest
import yaml

from evalprep.cli import main
from evalprep.packs.manifest import read_manifest
from evalprep.packs.prepared import content_digest
from evalprep.status.done import is_done
from tests.evalprep.results.writing import Row, write_run

ENGINE = {"pretrained": "org/m", "dtype": "float32", "max_length": 512, "add_bos_token": True}


@pytest.fixture
def prepared(tmp_path):
    """A work folder of one command over four rows, and a function that writes results of its run."""
    work = tmp_path / "work_dir"
    work.mkdir()
    command = {
        "name": "c1-plain",
        "tasks": ["t"],
        "argv": [],
        "engine": {"backend": "hf", "model_args": ENGINE},
    }
    manifest = {
        "schema": 2,
        "run": "r0",
        "config": {"output_path": str(tmp_path / "out")},
        "tasks": {"t": {"expected": 4, "plan": {"name": "t"}}},
        "commands": [command],
    }
    (work / "manifest.json").write_text(json.dumps(manifest))

    def results(rows=4, run="r0", arguments=ENGINE, settings=None):
        metadata = {"version": 1.0, "run": run, "command": "c1-plain"}
        samples = [Row(str(n)) for n in range(rows)]
        extra = {
            "n-samples": {"t": {"original": 4, "effective": rows}},
            "config": {"model": "hf", "model_args": arguments},
        }
        if settings is not None:
            extra["configs"] = {"t": {"task": "t", "metadata": metadata, **settings}}
        write_run(tmp_path / "out", {"t": samples}, metadata=metadata, extra=extra)

    return work, results


def test_without_results_it_is_not(prepared):
    assert not is_done(prepared[0], "c1-plain")


def test_the_exit_code_says_it(prepared, capsys):
    """command.sh asks by it whether a command is still to be run."""
    work, results = prepared
    assert main(["status", "--left", "c1-plain", str(work)]) == 1
    results()
    assert main(["status", "--left", "c1-plain", str(work)]) == 0
    assert capsys.readouterr().out.split("\n") == ["t", ""]


@pytest.mark.parametrize(
    ("schema", "read"), [(1, False), (2, True), (3, False), ("2", False), (None, False)]
)
def test_manifests_of_this_form_are_read_and_others_are_not(prepared, schema, read):
    work, _ = prepared
    file = work / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema": schema}))
    assert (read_manifest(work) is not None) is read


@pytest.mark.parametrize(
    ("change", "done"),
    [
        ({}, True),
        ({"rows": 3}, False),
        ({"run": "r1"}, False),
        ({"arguments": ENGINE | {"max_length": "512", "add_bos_token": "True"}}, True),
        ({"arguments": ENGINE | {"dtype": "bfloat16"}}, False),
        ({"arguments": "pretrained=org/m"}, True),
    ],
    ids=[
        "all rows",
        "a row is missing",
        "another run",
        "written as texts",
        "another data type",
        "not listed",
    ],
)
def test_results_of_the_run_with_all_rows(prepared, change, done):
    work, results = prepared
    results(**change)
    assert is_done(work, "c1-plain") is done


@pytest.fixture
def edited(prepared):
    """A work folder with a task file of its own, and a function that edits its files."""
    work, results = prepared
    (work / "p").mkdir()
    call = {"model": "hf", "model_args": ENGINE, "tasks": ["t"], "include_path": str(work)}
    call |= {"output_path": str(work.parent / "out"), "metadata": {"run": "r0"}}
    (work / "run.yaml").write_text(json.dumps(call))
    files = {}
    for name in ("t", "other", "shared"):
        (work / "p" / f"{name}.yaml").write_text(f"task: {name}\n{yaml.safe_dump(SETTINGS)}")
        files[f"p/{name}.yaml"] = content_digest(work / "p" / f"{name}.yaml")
    manifest = json.loads((work / "manifest.json").read_text())
    tasks = {
        name: {"expected": 4, "plan": {"name": name}, "yaml": f"p/{name}.yaml"}
        for name in ("t", "other")
    }
    (work / "manifest.json").write_text(json.dumps(manifest | {"tasks": tasks, "files": files}))

    def edit(name, more):
        path = work / "p" / f"{name}.yaml"
        path.write_text(path.read_text() + more)

    return work, results, edit


#: As the lines of `writing` show it.
SETTINGS = {
    "output_type": "generate_until",
    "generation_kwargs": {"until": ["\n"], "max_gen_toks": 100},
}
REPEATS = "repeats: 2\n"


@pytest.mark.parametrize("seconds", [-60, 60])
@pytest.mark.parametrize(
    ("name", "more", "logged", "done"),
    [
        pytest.param("t", REPEATS, {}, False, id="asked as before the edit"),
        pytest.param("t", REPEATS, {"repeats": 2}, True, id="asked as edited"),
        pytest.param("t", REPEATS, None, False, id="settings not logged"),
        pytest.param("t", "class: !function a.Task\n", {}, False, id="a class"),
        pytest.param("t", "include: shared.yaml\n", {}, True, id="includes what it states"),
        pytest.param("t", "", {}, True, id="touched"),
        pytest.param("other", REPEATS, {}, True, id="another task"),
        pytest.param("shared", REPEATS, {}, True, id="a file that it does not include"),
    ],
)
def test_results_count_where_they_were_asked_as_the_files_stand(
    edited, name, more, logged, done, seconds, capsys
):
    """The times of files decide nothing: a copy or a clone changes them."""
    work, results, edit = edited
    is_logged = logged is not None
    results(settings={**SETTINGS, **logged} if is_logged else None)
    edit(name, more)
    for path in work.rglob("*.yaml"):
        os.utime(path, (time.time() + seconds,) * 2)
    assert is_done(work, "c1-plain") is done
    assert main(["status", str(work)]) == 0
    assert ("t was edited after its last results" in capsys.readouterr().out) is not done


def test_a_removed_task_file_is_an_edit(edited):
    work, results, _ = edited
    results()
    (work / "p/t.yaml").unlink()
    assert not is_done(work, "c1-plain")


def move_results(home, target):
    """Gives the results file of a model's folder another name; returns its path."""
    (results,) = home.glob("results_*.json")
    target.parent.mkdir(exist_ok=True)
    return results.rename(target)


def names_of_lines(out):
    return sorted(line.split()[1] for line in out.splitlines() if line.startswith("✓  "))


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        (["llama.json", "mistral.json"], ["llama/t", "mistral/t"]),
        (["results.json", "results_5shot.json"], ["results/t", "results_5shot/t"]),
        (
            ["results_2026-03-01T10-00-00.json", "results_2026-03-02T10-00-00.json"],
            ["one/t", "two/t"],
        ),
        (["only.json"], ["t"]),
    ],
    ids=["two models", "two settings", "named by lm-eval", "alone"],
)
def test_a_flat_folder_of_results_has_a_line_for_each_run(tmp_path, capsys, files, shown):
    flat = tmp_path / "flat"
    for model, file in zip(("one", "two"), files, strict=False):
        home = write_run(
            tmp_path / model, {"t": [Row("a")]}, model_args={"pretrained": f"org/{model}"}
        )
        move_results(home, flat / file)
    assert main(["status", str(flat)]) == 0
    assert names_of_lines(capsys.readouterr().out) == shown


def test_files_of_one_model_over_different_tasks_need_no_name_in_front(tmp_path, capsys):
    for name in ("t", "u"):
        home = write_run(tmp_path / name, {name: [Row("a")]}, model_args=ENGINE)
        move_results(home, tmp_path / "flat" / f"{name}.json")
    assert main(["status", str(tmp_path / "flat")]) == 0
    assert names_of_lines(capsys.readouterr().out) == ["t", "u"]
