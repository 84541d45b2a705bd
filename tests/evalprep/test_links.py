"""Links in a received run folder: nothing is written through one that leaves the folder, by any verb."""

import contextlib
import shutil
from pathlib import Path

import pytest

from evalprep.annotate.ledger import Ledger
from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.files import open_atomically, resolve_typed, write_atomically
from evalprep.status.folder import RunFolder
from tests import processes
from tests.evalprep.annotate.services import Said, serve
from tests.evalprep.results.writing import Row, write_run
from tests.loops import each
from tests.packs.science import runs as science

CONFIG = """\
model_name: none
backend: dummy
tasks:
  - task: numbers
    dataset_path: json
    dataset_kwargs: {data_files: {test: rows.jsonl}}
    test_split: test
    output_type: generate_until
    doc_to_text: "{{prompt}}"
    doc_to_target: "{{target}}"
    generation_kwargs: {until: ["\\n"], max_gen_toks: 8, do_sample: false, temperature: 0.0}
    metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
    metadata: {version: 1.0}
"""
MINE = "export PATH=/usr/bin\n"
VERBS = [
    ["compare", "RUN"],
    ["compare", "RUN", "OTHER"],
    ["score", "RUN"],
    ["score", "RUN", "--out", "RUN/here"],
    ["report", "RUN", "--format", "html,xlsx,csv,md,json"],
    ["report", "RUN", "--format", "html,xlsx,csv,md,json", "--out", "RUN/here"],
    ["leaderboard", "RUN", "--format", "html,xlsx,csv,md,json", "--out", "RUN/here"],
]


def write_project(folder: Path) -> Path:
    """A received run and one of one's own beside it, and a file that nobody else may change."""
    rows = [Row("$(touch hacked)", 1, False), Row("b", 0, True), Row("c", 1, True)]
    write_run(folder / "run", {"t": rows})
    write_run(folder / "other", {"t": rows[::-1]})
    (folder / "home").mkdir()
    (folder / "home" / "bashrc").write_text(MINE)
    return folder


def call(words: list[str], folder: Path) -> int:
    """The exit code of a command line about the runs of a project."""
    named = {"RUN": str(folder / "run"), "OTHER": str(folder / "other")}
    texts = [word.replace("RUN", named["RUN"]) if "RUN" in word else word for word in words]
    return main([named.get(text, text) for text in texts])


def paths_below(folder: Path) -> set[Path]:
    """Every file and folder of a run, relative to it."""
    return {path.relative_to(folder) for path in folder.rglob("*")}


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_no_output_name_is_written_through_a_link(tmp_path, capsys, words):
    clean = write_project(tmp_path / "clean")
    before = paths_below(clean / "run")
    call(words, clean)
    outputs = sorted(paths_below(clean / "run") - before)
    assert outputs, "the verb wrote nothing into the run"
    typed = Path("here")  # the place that the user typed may be a link
    for number, output in enumerate(output for output in outputs if output != typed):
        project = write_project(tmp_path / str(number))
        link = project / "run" / output
        link.parent.mkdir(parents=True, exist_ok=True)
        target = project / "home" / ("bashrc" if (clean / "run" / output).is_file() else "")
        link.symlink_to(target)
        capsys.readouterr()
        refused = call(words, project)
        error = capsys.readouterr().err
        assert (project / "home" / "bashrc").read_text() == MINE, output
        assert [path.name for path in (project / "home").iterdir()] == ["bashrc"], output
        assert refused == 2, output
        assert str(output.name) in error
        assert "symbolic link" in error


def test_the_folder_of_rescored_samples_is_no_link(tmp_path, capsys):
    project = write_project(tmp_path)
    stamp = next((project / "run").rglob("samples_*")).stem.rpartition("_t_")[2]
    folder = next((project / "run").rglob("samples_*")).parent
    (folder / f"rescored_{stamp}").symlink_to(project / "home")
    assert call(["rescore", "RUN"], project) == 2
    assert "symbolic link" in capsys.readouterr().err
    assert [path.name for path in (project / "home").iterdir()] == ["bashrc"]


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_a_ledger_is_no_link(tmp_path, ending):
    (tmp_path / "run").mkdir()
    (tmp_path / "bashrc").write_text(MINE)
    (tmp_path / "run" / f"annotations.sqlite{ending}").symlink_to(tmp_path / "bashrc")
    with pytest.raises(BadInput, match="symbolic link"):
        Ledger(tmp_path / "run" / "annotations.sqlite", write=True)
    assert (tmp_path / "bashrc").read_text() == MINE


@pytest.mark.parametrize(
    "name", [".evalprep", ".evalprep/runs/c1/lock", ".evalprep/runs/c1/log.txt"]
)
def test_the_folder_of_a_running_command_holds_no_link(tmp_path, name):
    link = tmp_path / "results" / name
    link.parent.mkdir(parents=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "bashrc").write_text(MINE)
    link.symlink_to(tmp_path / "home" / ("" if name == ".evalprep" else "bashrc"))
    folder = RunFolder(tmp_path / "results" / ".evalprep" / "runs" / "c1")
    with pytest.raises(BadInput, match="symbolic link"), folder.lock():
        pass
    assert (tmp_path / "home" / "bashrc").read_text() == MINE
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["bashrc"]


def test_scratch_links_and_typed_links_work(tmp_path, capsys):
    project = write_project(tmp_path / "disk")
    (tmp_path / "scratch").symlink_to(project)
    (tmp_path / "flips.csv").symlink_to(project / "home" / "flips.csv")
    flips = ["--out", str(tmp_path / "flips.csv")]
    assert call(["compare", "RUN", "OTHER"], tmp_path / "scratch") != 2
    assert call(["score", "RUN"], tmp_path / "scratch") != 2
    assert call(["compare", "RUN", "OTHER", *flips], tmp_path / "scratch") != 2
    assert (project / "home" / "flips.csv").is_file()
    assert (tmp_path / "flips.csv").is_symlink()


def test_a_device_is_written_to(capfd):
    write_atomically(resolve_typed(Path("/dev/stdout")), "outcome\n")
    assert "outcome" in capfd.readouterr().out


def test_a_link_that_stays_in_the_folder_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_atomically(tmp_path / "link", "text")
    assert (tmp_path / "file").read_text() == "text"


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    (tmp_path / "file").write_text("old")
    with contextlib.suppress(KeyboardInterrupt), open_atomically(tmp_path / "file") as handle:
        handle.write("new")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


# Rescoring reads the index of lm-eval's own tasks.
RESCORE = pytest.param("rescore", marks=pytest.mark.slow)
READERS = ["score", "compare", "report", RESCORE, "gate", "leaderboard"]


def words_of(verb: str, project: Path, *more: str) -> list[str]:
    """The words of a verb that reads a run, with what it needs to write nowhere else."""
    (project / "policy.yaml").write_text("defaults: {max_drop: 0.5}\n")
    needed = {
        "gate": ["OTHER", "--policy", str(project / "policy.yaml")],
        "rescore": ["--no-write"],
    }
    return [verb, "RUN", *needed.get(verb, []), *more]


def link_samples(project: Path) -> Path:
    """Puts a link to a file outside the run in the place of its samples."""
    samples = next((project / "run").rglob("samples_*"))
    secret = samples.rename(project / "home" / "private.jsonl")
    samples.symlink_to(secret)
    return samples


@pytest.mark.parametrize("verb", READERS)
def test_a_linked_samples_file_is_read_only_on_the_users_word(tmp_path, capsys, verb):
    project = write_project(tmp_path)
    link = link_samples(project)
    assert call(words_of(verb, project), project) == 2
    error = capsys.readouterr().err
    assert str(link) in error
    assert "--follow_links" in error
    call(words_of(verb, project, "--follow_links"), project)
    assert "symbolic link" not in capsys.readouterr().err


def test_a_linked_results_file_or_folder_is_not_read(tmp_path, capsys):
    project = write_project(tmp_path)
    model = next((project / "run").iterdir())
    moved = model.rename(project / "home" / "model")
    model.symlink_to(moved)
    assert call(["score", "RUN"], project) == 2
    assert "--follow_links" in capsys.readouterr().err
    results = next(moved.glob("results_*"))
    model.unlink()
    model.mkdir()
    (model / results.name).symlink_to(results)
    assert call(["score", "RUN"], project) == 2
    assert str(model / results.name) in capsys.readouterr().err
    assert call(["score", "RUN", "--reference", "OTHER"], project) == 2


def test_links_of_the_hub_cache_and_links_that_stay_inside_are_read(tmp_path, capsys):
    project = write_project(tmp_path)
    snapshot = tmp_path / "datasets--o--n" / "snapshots" / "c0ffee" / "model"
    blobs = tmp_path / "datasets--o--n" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, file in enumerate(sorted((project / "run").rglob("*.json*"))):
        file.rename(blobs / str(number))
        (snapshot / file.name).symlink_to(blobs / str(number))
    assert main(["score", str(snapshot.parent), "--out", str(tmp_path / "scores")]) == 0
    (blobs / "0").rename(project / "home" / "private")
    (blobs / "0").symlink_to(project / "home" / "private")
    assert main(["score", str(snapshot.parent), "--out", str(tmp_path / "scores")]) == 2
    samples = next((project / "other").rglob("samples_*"))
    samples.rename(project / "other" / "kept.txt")
    samples.symlink_to(project / "other" / "kept.txt")
    assert main(["score", str(project / "other"), "--no-write"]) != 2


def test_a_reference_behind_a_link_names_the_link(tmp_path, capsys):
    project = write_project(tmp_path)
    link = link_samples(project)
    (project / "run").rename(project / "reference")
    assert main(["score", str(project / "other"), "--reference", str(project / "reference")]) == 2
    assert link.name in capsys.readouterr().err


def write_preparable(folder: Path) -> Path:
    """A project with rows, a config with one task, and a file that nobody else may change."""
    (folder / "home").mkdir(parents=True)
    (folder / "home" / "bashrc").write_text(MINE)
    rows = '{"prompt": "1 + 1 =", "target": "2", "sample_id": "a"}\n'
    (folder / "rows.jsonl").write_text(rows)
    (folder / "eval_config.yaml").write_text(CONFIG)
    return folder


BEFORE_RUN = {
    "prepare": ["prepare", "--check=off", "--quiet"],
    "new-pack": [
        *("new-pack", "mine", "--data", "rows.jsonl", "--prompt", "prompt", "--target", "target"),
        *("--template_dir", "packs"),
    ],
}


@pytest.mark.parametrize("verb", BEFORE_RUN)
def test_what_is_written_before_a_run_goes_through_no_link(tmp_path, capsys, monkeypatch, verb):
    clean = write_preparable(tmp_path / "clean")
    before = paths_below(clean)
    monkeypatch.chdir(clean)
    assert main(BEFORE_RUN[verb]) == 0
    # A folder that the config or an option names may be a link of the user's own.
    outputs = [path for path in sorted(paths_below(clean) - before) if len(path.parts) > 1]
    for output in each(outputs):
        plant_and_call(tmp_path, monkeypatch, verb, output)
    capsys.readouterr()


def plant_and_call(tmp_path, monkeypatch, verb, output):
    """Calls a verb where one of its outputs is a link that leaves the project's output folder."""
    project = write_preparable(tmp_path / f"{verb}-{str(output).replace('/', '-')}")
    link = project / output
    link.parent.mkdir(parents=True, exist_ok=True)
    is_file = (tmp_path / "clean" / output).is_file()
    link.symlink_to(project / "home" / ("bashrc" if is_file else ""))
    monkeypatch.chdir(project)
    assert main(BEFORE_RUN[verb]) in {0, 2}
    assert (project / "home" / "bashrc").read_text() == MINE
    assert [path.name for path in (project / "home").iterdir()] == ["bashrc"]


def test_a_judge_writes_through_no_link(tmp_path, capsys):
    judged = science.write_run(tmp_path / "judged", tasks={"qasper_abstractive_qa"})
    (tmp_path / "bashrc").write_text(MINE)
    words = [
        "judge",
        str(judged),
        "--model",
        "m",
        "--model_args",
        "num_concurrent=1",
        "--limit",
        "1",
    ]
    with serve(lambda *_: Said("Rating: 3")) as server:
        assert main([*words, "--base_url", server.url]) == 0
        outputs = [path.name for path in judged.iterdir() if path.name.startswith("annotations")]
        assert outputs
        for name in outputs:
            (judged / name).unlink()
            (judged / name).symlink_to(tmp_path / "bashrc")
            requests = len(server.requests)
            assert main([*words, "--base_url", server.url]) == 2
            assert (tmp_path / "bashrc").read_text() == MINE
            assert len(server.requests) == requests, "an answer was paid that cannot be kept"
    assert "symbolic link" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_writes_through_no_link(tmp_path, capsys, monkeypatch):
    clean = write_preparable(tmp_path / "clean")
    monkeypatch.chdir(clean)
    assert main(BEFORE_RUN["prepare"]) == 0
    shutil.copytree(clean, tmp_path / "before", symlinks=True)
    assert processes.run("run").returncode == 0
    results = next((clean / "eval_results").glob("*/results_*")).parent
    shutil.rmtree(clean)
    shutil.copytree(tmp_path / "before", clean)
    monkeypatch.chdir(clean)  # the former folder of this name is gone
    link = clean / "eval_results" / results.name
    link.symlink_to(clean / "home")
    refused = processes.run("run")
    assert refused.returncode == 1
    assert "symbolic link" in refused.stdout + refused.stderr
    assert [path.name for path in (clean / "home").iterdir()] == ["bashrc"]
    capsys.readouterr()
