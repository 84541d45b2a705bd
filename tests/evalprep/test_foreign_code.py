"""Nothing that a stranger's folder holds or names is imported, unpickled or run, whatever verb looks at it."""

import json
import os
import pickle
import py_compile
import shutil
from pathlib import Path

import pytest
import yaml

from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.packs.ownership import is_own_file, remember_file, remember_folder, why_foreign
from evalprep.packs.plan import ScoreSpec
from evalprep.packs.prepared import content_digest
from evalprep.rescore.place import FOLDER, find_places
from evalprep.results import load_run
from tests.evalprep.results.writing import STAMP, Row, write_run

ROWS = [Row("a", previous=1.0, published="A"), Row("b", correct=0.0, previous=1.0)]
VERBS = {
    "rescore": [],
    "compare": [],
    "score": [],
    "report": ["--out", "page"],
    "gate": ["OTHER", "--policy", "policy.yaml"],
    "judge": ["--model", "judge", "--base_url", "http://127.0.0.1:9/v1", "--dry_run"],
    "status": [],
}


class Planted:
    """What a stranger would put into a pickle."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return (open, (self.marker, "w"))


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "it_ran"


@pytest.fixture
def stranger(tmp_path, marker):
    """A run folder, a work folder and a cache of somebody else, with code wherever a file can name or hold some."""
    work = tmp_path / "theirs" / "work_dir"
    (work / "meta").mkdir(parents=True)
    code = f"open({str(marker)!r}, 'w').write('ran')\ndef create_prompt(*args): return 'x'\ncontinue_rows = print\n"
    for name in ("evil.py", "utils.py", "prepare.py", "score.py", "__init__.py"):
        (work / name).write_text(code)
    (work / "pack.yaml").write_text("name: theirs\ntasks: {t: {template: t.yaml}}\n")
    touch = f"{{{{ cycler.__init__.__globals__.os.system('touch {marker}') }}}}"
    (work / "t.yaml").write_text(
        "task: t\ndataset_path: json\ntest_split: test\noutput_type: generate_until\n"
        f"doc_to_text: {json.dumps(touch)}\n"
        "doc_to_target: target\nprocess_results: !function evil.boom\n"
        f"dataset_kwargs: {{data_files: {{test: {work / 'meta' / 'rows.jsonl'}}}}}\n"
    )
    (work / "meta" / "rows.jsonl").write_text('{"target": "A", "prompt": "x"}\n')
    (work / "manifest.json").write_text(
        json.dumps(
            {
                "schema": 2,
                "run": "r0123456789a",
                "model": "org/model",
                "config": {"output_path": str(tmp_path / "run")},
                "packs": {"theirs": {"folder": str(work)}, "unlearning": {"folder": str(work)}},
                "tasks": {
                    "t": {
                        "pack": "theirs",
                        "plan": {"name": "t", "template": "t.yaml"},
                        "data": "meta/rows.jsonl",
                    },
                    "late": {
                        "pack": "theirs",
                        "plan": {"name": "late", "after": ["t"]},
                        "data": "meta/late.parquet",
                    },
                },
                "groups": {},
                "scores": {
                    "unlearning/s": {"name": "s", "pack": "unlearning", "function": "evil.boom"}
                },
                "excluded": {},
                "commands": [],
                "files": {},
            }
        )
    )
    metadata = {
        "version": 1.0, "run": "r0123456789a", "pack": "unlearning", "config_source": str(work / "t.yaml"),
        "unlearning": {"suite": "tofu", "judge_prompt": str(work / "evil.py")}, "reference": str(work),
    }  # fmt: skip
    home = write_run(tmp_path / "run", {"t": ROWS}, metadata=metadata)
    results = json.loads((home / f"results_{STAMP}.json").read_text())
    results["configs"]["t"]["dataset_kwargs"] = {
        "data_files": {"test": str(work / "meta" / "rows.jsonl")}
    }
    (home / f"results_{STAMP}.json").write_text(json.dumps(results))
    for name in ("responses.pickle", "cache.pkl", "run_r0123456789a.json"):
        (home / name).write_bytes(pickle.dumps(Planted(marker)))
    shutil.copy(work / "manifest.json", home / "run_r0123456789a.json")
    for name in ("evil.py", "utils.py", "conftest.py", "sitecustomize.py"):
        (home / name).write_text(code)
    return home


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_runs_what_a_strangers_folder_holds(
    stranger, marker, tmp_path, monkeypatch, capsys, verb
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text("defaults: {max_drop: 0.5}\n")
    words = [str(stranger) if word == "OTHER" else word for word in VERBS[verb]]
    main([verb, str(stranger), *words])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert not marker.exists(), f"{said.out}\n{said.err}"


def test_rescore_asks_for_the_folder_by_name(stranger, marker, tmp_path, capsys):
    assert main(["rescore", str(stranger)]) == 2
    said = capsys.readouterr().err
    assert "was not prepared by you on this machine" in said
    assert f"--work_dir {tmp_path / 'theirs' / 'work_dir'}" in said
    assert not marker.exists()


def test_rescore_does_not_follow_the_source_of_a_task_either(stranger, marker, tmp_path, capsys):
    (tmp_path / "theirs" / "work_dir" / "manifest.json").unlink()
    assert main(["rescore", str(stranger)]) == 2
    assert "only the results file names it" in capsys.readouterr().err
    assert not marker.exists()


def test_a_later_stage_of_a_strangers_work_folder_is_not_made(stranger, marker, tmp_path, capsys):
    assert stranger.is_dir()
    main(["prepare", "--continue", str(tmp_path / "theirs" / "work_dir")])
    assert "Traceback" not in capsys.readouterr().err
    assert not marker.exists()


def test_a_prepared_folder_is_ones_own_in_its_place(tiny_project, tmp_path, monkeypatch):
    assert main(["prepare", "--quiet", "--config_path", str(tiny_project)]) == 0
    work = tiny_project.parent / yaml.safe_load(tiny_project.read_text()).get(
        "work_dir", "work_dir"
    )
    assert why_foreign(work) == ""
    edited = next(path for path in work.rglob("*.yaml") if path.parent != work)
    edited.write_text(edited.read_text() + "\n")
    (work / "added.py").write_text("")
    assert why_foreign(work) == "", "edits of her own folder are hers"
    manifest = (work / "manifest.json").read_text()
    (work / "manifest.json").write_text(manifest.replace("{", "{ ", 1))
    assert "not the one of your last preparation" in why_foreign(work)
    assert main(["prepare", "--quiet", "--config_path", str(tiny_project)]) == 0
    monkeypatch.setenv("EVALPREP_STATE", str(tmp_path / "of_another_user"))
    assert "not prepared by you" in why_foreign(work)


def test_a_copy_is_ones_own_while_it_runs_what_was_prepared(tiny_project, tmp_path):
    assert main(["prepare", "--quiet", "--config_path", str(tiny_project)]) == 0
    copied = shutil.copytree(tiny_project.parent / "work_dir", tmp_path / "copied")
    assert why_foreign(copied) == ""
    task_file = next(path for path in copied.rglob("*.yaml") if path.parent != copied)
    prepared = task_file.read_text()
    for name in ("added.py", "added.pyc", "added.abi3.so"):
        added = task_file.parent / name
        added.parent.mkdir(exist_ok=True)
        added.write_text("")
        assert "not prepared by you" in why_foreign(copied), name
        added.unlink()
    task_file.write_text(f"{prepared}\n")
    assert "not prepared by you" in why_foreign(copied)
    task_file.write_text(prepared)
    assert why_foreign(copied) == ""
    manifest = (copied / "manifest.json").read_text()
    (copied / "manifest.json").write_text(manifest.replace("{", "{ ", 1))
    assert "not prepared by you" in why_foreign(copied)


def test_compiled_code_makes_a_copy_foreign_where_python_would_run_it(tiny_project, tmp_path):
    """A plain copy has new times, so that Python makes the compiled files anew."""
    work = tiny_project.parent / "work_dir"
    assert main(["prepare", "--quiet", "--config_path", str(tiny_project)]) == 0
    manifest = work / "manifest.json"
    source = work / "meta" / "own.py"
    source.write_text("VALUE = 1\n")
    content = json.loads(manifest.read_text())
    content["files"]["meta/own.py"] = content_digest(source)
    manifest.write_text(json.dumps(content))
    remember_folder(work)
    compiled = Path(py_compile.compile(str(source)))
    kept = shutil.copytree(work, tmp_path / "kept times")  # as `cp -a` copies
    assert "not prepared by you" in why_foreign(kept)
    os.utime(kept / "meta" / "own.py", (1, 1))
    assert why_foreign(kept) == ""
    cached = kept / compiled.relative_to(work)
    py_compile.compile(
        str(kept / "meta" / "own.py"),
        cfile=str(cached),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    assert "not prepared by you" in why_foreign(kept)


def test_ones_own_folder_is_found_without_being_named(tmp_path):
    work = tmp_path / "work_dir"
    (work / "pack").mkdir(parents=True)
    (work / "manifest.json").write_text(json.dumps({"schema": 2, "files": {}}))
    remember_folder(work)
    home = write_run(tmp_path / "run", {"t": ROWS})
    results = json.loads((home / f"results_{STAMP}.json").read_text())
    results["configs"]["t"]["dataset_kwargs"] = {
        "data_files": {"test": str(work / "pack" / "t.parquet")}
    }
    (home / f"results_{STAMP}.json").write_text(json.dumps(results))
    run = load_run(home)
    first = find_places(run, run.tasks["t"], None, {}).places[0]
    assert (first.kind, first.path) == (FOLDER, work)
    (work / "manifest.json").write_text(json.dumps({"schema": 2, "files": {}, "edited": True}))
    with pytest.raises(BadInput, match="not the one of your last preparation"):
        find_places(run, run.tasks["t"], None, {})


def test_a_file_of_code_is_known_by_its_content(tmp_path):
    file = tmp_path / "prompt.py"
    file.write_text("x = 1\n")
    assert not is_own_file(file)
    remember_file(file)
    assert is_own_file(file)
    file.write_text("x = 2\n")
    assert not is_own_file(file)


def test_a_score_of_a_run_imports_no_module_that_the_pack_does_not_name():
    from evalprep.packs.finding import find_packs
    from evalprep.score.spec import resolve

    pack = find_packs()["unlearning"]
    with pytest.raises(BadInput, match="not imported"):
        resolve(ScoreSpec(name="s", pack="unlearning", function="antigravity.geohash"), pack)
    assert callable(
        resolve(
            ScoreSpec(name="s", pack="unlearning", function="custom_metrics.ifeval.headline"), pack
        )
    )
