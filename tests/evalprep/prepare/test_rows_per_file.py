"""`rows_per_file`: prepared data in several files, which every verb takes as it takes one."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalprep.packs import load_prepared
from evalprep.prepare.stages import continue_stages
from tests import PROJECT_ROOT, processes
from tests.loops import each
from tests.packs.fm.project import QA, scored, stored, write_config

CONFIG = {
    "model_name": "dummy",
    "backend": "dummy",
    "tasks": ["proof_answer", "proof_sure", "proof_blocks"],
    "apply_chat_template": False,
    "template_dir": "packs",
    "output_path": "results",
    "proof": {"stock_data": "none.jsonl"},
    "limit": 4,
}
FILES = {"proof_answer": 2, "proof_sure": 2, "proof_blocks": 3}


class Project:
    """A prepared folder of two stages; one task has blocks of three rows and a limit of four."""

    def __init__(self, folder, **keys):
        shutil.copytree(PROJECT_ROOT / "tests/data/packs/proof", folder / "packs/proof")
        self.config = folder / "eval_config.yaml"
        self.config.write_text(yaml.safe_dump({**CONFIG, **keys}))
        self.folder, self.work_dir = folder, folder / "work_dir"
        self.prepare()

    def prepare(self, *arguments, code=0):
        return self.evalprep("prepare", *arguments, code=code)

    def evalprep(self, *arguments, code=0):
        done = processes.run(*map(str, arguments), cwd=self.folder, timeout=400)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def data(self):
        """Task -> its data files."""
        prepared = load_prepared(self.work_dir)
        return {name: prepared.data_files(name).files() for name in prepared.tasks}

    def samples(self):
        """Task -> its sample lines."""
        lines = {}
        for path in sorted((self.folder / "results").glob("*/samples_*.jsonl")):
            task = path.name.removeprefix("samples_").rpartition("_")[0]
            lines[task] = [json.loads(line) for line in path.read_text().splitlines()]
        return lines

    def results(self):
        """Task -> its numbers."""
        numbers = {}
        for path in (self.folder / "results").glob("*/results_*.json"):
            numbers |= json.loads(path.read_text())["results"]
        return numbers

    def stray(self):
        """What no preparation should leave in a work folder."""
        leftovers = [*self.work_dir.rglob("*.part*"), *self.work_dir.rglob("*.old")]
        return [path for path in leftovers if path.suffix != ".parquet"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A project with one file for each task, and one with files of three rows, both run."""
    projects = [
        Project(tmp_path_factory.mktemp("one")),
        Project(tmp_path_factory.mktemp("several"), rows_per_file=3),
    ]
    for project in projects:
        project.evalprep("run", "work_dir")
    return projects


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, rows_per_file=3)


@pytest.mark.slow
def test_files_of_bounded_rows(runs):
    _, several = runs
    data = several.data()
    assert {name: len(files) for name, files in data.items()} == FILES
    sizes = [pq.read_metadata(file).num_rows for file in data["proof_blocks"]]
    assert sizes == [3, 3, 1]
    assert not several.stray()
    for task, files in each(data.items()):
        text = (several.work_dir / f"proof/{task}.yaml").read_text()
        stated = yaml.load(text, yaml.BaseLoader)["dataset_kwargs"]["data_files"]["test"]
        pattern = str(files[0].with_name("*-of-*.parquet"))
        assert stated == ([pattern] if task == "proof_sure" else list(map(str, files)))


@pytest.mark.slow
def test_the_run_is_that_of_one_file(runs):
    one, several = runs
    assert {name: len(lines) for name, lines in one.samples().items()} == {
        "proof_answer": 4,
        "proof_blocks": 6,  # whole blocks
        "proof_sure": 4,
    }
    assert several.samples() == one.samples()
    assert several.results() == one.results()


@pytest.mark.slow
def test_every_verb_says_the_same(runs):
    words = [
        ("status", "--left", "c2-plain", "work_dir"),
        ("preview", "proof_blocks", "--row", "5"),
        ("preview", "proof_blocks", "--row", "proof_blocks-6"),
        ("preview", "proof_sure", "--include_path", "work_dir", "--row", "proof_answer-3"),
        ("prepare", "--continue", "work_dir"),
    ]
    for arguments in each(words):
        one, several = (project.evalprep(*arguments) for project in runs)
        places = [str(project.folder) for project in runs]
        assert several.replace(places[1], places[0]) == one
    for project in runs:
        assert "unchanged, 4 rows" in project.evalprep("prepare", "--continue", "work_dir")
        checked = project.evalprep("check", "--include_path", "work_dir")
        assert "3 tasks, 15 rows: 0 errors" in checked


@pytest.mark.slow
def test_requests_and_replies_are_the_same(tmp_path):
    tables, samples = [], []
    for name, size in (("one", None), ("several", 3)):
        project = Project(tmp_path / name, rows_per_file=size, tasks=["proof_blocks"])
        project.evalprep("prompts", "work_dir", "--out", "requests.parquet")
        tables.append(pq.read_table(project.folder / "requests.parquet"))
        replies = pa.table({"id": tables[-1]["id"], "text": ["yes"] * 6})
        pq.write_table(replies, project.folder / "replies.parquet")
        project.evalprep("run", "work_dir", "--replies", "replies.parquet")
        samples.append(project.samples())
    assert tables[0].to_pylist() == tables[1].to_pylist()
    assert samples[0] == samples[1]
    assert [line["own_score"] for line in samples[1]["proof_blocks"]] == [1.0] * 6


@pytest.mark.slow
def test_rescored_and_compared_with_one_file(runs):
    one, several = runs
    for project in runs:
        done = project.evalprep("rescore", "results", "--work_dir", "work_dir")
        assert "before 0.5000, now 0.5000; 0 up, 0 down" in done
    done = several.evalprep("compare", "results", one.folder / "results")
    assert "No difference shown in the mean of 3 of 3 tasks: +0.0 points" in done


@pytest.mark.slow
def test_shards_of_a_run_are_put_together(runs, tmp_path):
    one, _ = runs
    project = Project(tmp_path, rows_per_file=3, tasks=["proof_blocks"])
    for number in (1, 2):
        project.evalprep("run", "work_dir", "--shard", f"{number}/2", "--shard", "2")
    project.evalprep("merge", "work_dir")
    assert project.samples()["proof_blocks"] == one.samples()["proof_blocks"]


def test_an_edit_of_one_file_is_an_edit(project):
    prepared = load_prepared(project.work_dir)
    file = project.data()["proof_blocks"][1]
    table = pq.read_table(file)
    pq.write_table(table.set_column(2, "target", pa.array(["x"] * len(table))), file)
    name = file.relative_to(project.work_dir).as_posix()
    assert [edit.name for edit in prepared.edits(code_only=False)] == [name]
    assert prepared.edited_files("proof_blocks") == [name]
    assert not prepared.edited_files("proof_answer")
    assert f"kept your edit of {name}" in project.prepare()
    assert load_prepared(project.work_dir).run != prepared.run
    project.prepare("--set", "rows_per_file=4", "--force")
    assert [len(files) for files in project.data().values()] == [1, 0, 2]


def test_no_former_file_stays(project):
    def names():
        return sorted(path.name for path in project.work_dir.rglob("*.parquet"))

    project.prepare("--set", "rows_per_file=4", "--force")
    numbered = ["00000-of-00001", "00000-of-00002", "00001-of-00002"]
    assert names() == [f"{number}.parquet" for number in numbered]
    project.prepare("--set", "rows_per_file=null")
    assert names() == ["proof_answer.parquet", "proof_blocks.parquet"]
    assert not project.stray()


def test_a_missing_file_is_named_before_the_run(project):
    project.data()["proof_blocks"][2].unlink()
    said = project.evalprep("check", "--include_path", "work_dir", code=2)
    assert "proof_blocks/00002-of-00003.parquet does not exist" in " ".join(said.split())


def test_a_file_that_cannot_be_read_is_named(project):
    project.data()["proof_blocks"][2].write_bytes(b"no parquet")
    said = project.evalprep("check", "--include_path", "work_dir", code=2)
    assert "00002-of-00003.parquet" in said
    assert "not a parquet file" in " ".join(said.split())


@pytest.mark.slow
def test_a_later_stage_is_made_anew(runs):
    """Where a file is missing, and where files of other rows are left."""
    _, several = runs
    folder = several.work_dir
    data = load_prepared(folder).data_files("proof_sure")
    before = {file.name: file.read_bytes() for file in data.files()}
    for name in each(sorted(before)):
        (data.path / name).unlink()
        (stage,) = continue_stages(folder)
        assert (stage.state, stage.rows) == ("made", 4)
        assert {file.name: file.read_bytes() for file in data.files()} == before
    extra = data.path / "00009-of-00010.parquet"
    shutil.copy(data.files()[0], extra)
    (stage,) = continue_stages(folder)
    assert stage.state == "made"
    assert {path.name for path in data.path.iterdir()} == set(before)
    kept = [name for name in load_prepared(folder).files if "proof_sure/" in name]
    assert sorted(kept) == [f"proof/data/proof_sure/{name}" for name in sorted(before)]
    assert not several.stray()


def test_stored_replies(tmp_path, capsys):
    scores = []
    for name, size in (("one", None), ("several", 4)):
        folder = tmp_path / name
        folder.mkdir()
        core = {"backend": "stored", "output_path": "eval_results", "rows_per_file": size}
        path = write_config(folder, stored(QA), core=core)
        processes.run("prepare", "--config_path", str(path), cwd=folder, check=True)
        scores.append(scored(folder, capsys))
    files = load_prepared(tmp_path / "several/work_dir").data_files("fm_qa_qa_accuracy").files()
    assert len(files) > 1
    assert scores[1]["tasks"] == scores[0]["tasks"]


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "true", "[3]"])
def test_no_such_number(value, project):
    before = (project.work_dir / "manifest.json").read_bytes()
    said = project.prepare("--set", f"rows_per_file={value}", code=2)
    assert "rows_per_file" in said
    assert "a number >= 1, the most rows of one file of prepared data" in said
    assert (project.work_dir / "manifest.json").read_bytes() == before
