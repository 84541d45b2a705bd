"""A run of a work folder that was edited after its preparation, from the preparation to the verbs after the run."""

import json
import shutil
import subprocess
import time
from datetime import UTC, datetime

import pytest
import yaml

from evalprep.cli import main
from evalprep.results import load_run, run_calls
from tests import processes
from tests.evalprep.results.writing import Row, write_run

ROWS = "id,country,capital\n" + "".join(f"{at},Land {at},A\n" for at in range(6))
SENTENCE = "files differ from those that were prepared: capitals/capitals_qa.yaml edited"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a prepared task of six questions that lm-eval's dummy will answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "capitals.csv").write_text(ROWS)
    template = ("--template_dir", "packs", "--data", "capitals.csv")
    question = ("--prompt", "What is the capital of {country}?", "--target", "capital")
    assert main(["new-pack", "capitals", *template, *question]) == 0
    config = {"model_name": "dummy", "backend": "dummy", "template_dir": "packs"}
    (tmp_path / "eval_config.yaml").write_text(json.dumps(config | {"tasks": "capitals"}))
    assert main(["prepare"]) == 0
    return tmp_path


def edit(project):
    path = project / "work_dir" / "capitals" / "capitals_qa.yaml"
    path.write_text(path.read_text().replace("What is the capital", "Name the capital"))


def records(project):
    paths = (project / "eval_results").glob("run_*.json")
    return {path.stem.removeprefix("run_"): json.loads(path.read_text()) for path in paths}


def said(capsys, *words):
    capsys.readouterr()
    main([str(word) for word in words])
    streams = capsys.readouterr()
    return " ".join((streams.out + streams.err).split())


def test_an_edited_run_has_a_record_of_its_own_that_names_the_edit(project, capsys):
    (prepared_as,) = records(project)
    edit(project)
    assert main(["run"]) == 0
    (edited,) = set(records(project)) - {prepared_as}
    record = records(project)[edited]
    unedited = records(project)[prepared_as]
    assert record.pop("edited") == {
        "prepared_as": prepared_as,
        "files": [{"name": "capitals/capitals_qa.yaml", "kind": "edited"}],
    }
    asked = record["tasks"]["capitals_qa"].pop("settings")["doc_to_text"]
    assert asked != unedited["tasks"]["capitals_qa"].pop("settings")["doc_to_text"]
    assert record == unedited | {"run": edited}
    policy = project / "policy.yaml"
    policy.write_text("defaults: {max_drop: 2%}")
    run = "eval_results"
    for words in (
        ("score", run, "--no_write"),
        ("compare", run, run, "--no_write"),
        ("gate", run, run, "--policy", policy),
        ("report", run, "--out", "page"),
        ("rescore", run),
    ):
        out = said(capsys, *words)
        if words[0] != "rescore":
            assert f"run {edited}: {SENTENCE}" in out, words[0]
    (rescored,) = project.glob("eval_results/*/rescored_*")
    assert SENTENCE in said(capsys, "score", rescored, "--no_write")
    assert SENTENCE in (project / "page" / "report.html").read_text()


@pytest.mark.slow
def test_an_edit_that_a_second_preparation_keeps_stays_marked(project, capsys):
    edit(project)
    assert main(["prepare"]) == 0
    run(project)
    marked = [record for record in records(project).values() if "edited" in record]
    assert len(marked) == 1
    assert SENTENCE in said(capsys, "score", "eval_results", "--no_write")


@pytest.mark.slow
def test_an_unedited_run_is_not_marked(project, capsys):
    run(project)
    (record,) = records(project).values()
    assert "edited" not in record
    assert "files differ" not in said(capsys, "score", "eval_results", "--no_write")


def edit_reading(project):
    path = project / "work_dir" / "capitals" / "capitals_qa.yaml"
    path.write_text(path.read_text().replace("ignore_case: true", "ignore_case: false"))


def test_an_edit_of_the_reading_after_the_results_is_named(project, capsys):
    paste(project)
    edit_reading(project)
    place = "metric_list.exact_match.ignore_case"
    sentence = f"read as logged, and not by the work folder as it stands: {place} logged true, now"
    for words in (("score", "eval_results"), ("compare", "eval_results", "eval_results")):
        assert sentence in said(capsys, *words, "--no_write"), words
    assert "not as prepared" not in said(capsys, "score", "eval_results", "--no_write")


def test_a_later_record_never_takes_an_edited_reading_for_the_prepared_one(project, capsys):
    (run,) = records(project)
    edit_reading(project)
    assert main(["prepare"]) == 0  # keeps the edit, and writes the record anew
    assert list(records(project)) == [run]
    paste(project)
    sentence = "not as prepared: metric_list.exact_match.ignore_case prepared true, logged false"
    assert sentence in said(capsys, "score", "eval_results", "--no_write")
    assert main(["run", "work_dir"]) == 0
    assert sentence in said(capsys, "score", "eval_results", "--no_write")


@pytest.mark.slow
def test_edited_data_leave_the_number_of_rows_open(project):
    import pyarrow.parquet as pq

    path = project / "work_dir" / "capitals" / "data" / "capitals_qa.parquet"
    pq.write_table(pq.read_table(path).slice(0, 4), path)
    run(project)
    (record,) = [record for record in records(project).values() if "edited" in record]
    assert record["tasks"]["capitals_qa"]["expected"] is None
    assert record["edited"]["files"][0]["name"] == "capitals/data/capitals_qa.parquet"


@pytest.fixture
def two_commands(project):
    """The project with a second task, whose seed takes a command of its own."""
    template = ("--template_dir", "packs", "--data", "capitals.csv")
    question = ("--prompt", "Which river runs through {country}?", "--target", "capital")
    assert main(["new-pack", "rivers", *template, *question]) == 0
    pack = project / "packs" / "rivers" / "pack.yaml"
    pack.write_text(
        pack.read_text().replace("    description:", "    call: {seed: 7}\n    description:")
    )
    config = {"model_name": "dummy", "backend": "dummy", "template_dir": "packs"}
    (project / "eval_config.yaml").write_text(json.dumps(config | {"tasks": "capitals, rivers"}))
    shutil.rmtree(project / "eval_results")
    assert main(["prepare"]) == 0
    return project


def reword(project, verb):
    """Gives the question of one task another verb, and lets a moment go by on both sides."""
    path = project / "work_dir" / "capitals" / "capitals_qa.yaml"
    time.sleep(0.05)
    old = next(
        word for word in ("What is", "Name", "State") if f"{word} the capital" in path.read_text()
    )
    path.write_text(path.read_text().replace(f"{old} the capital", f"{verb} the capital"))
    time.sleep(0.05)


def paste(project, rows=6):
    """Writes the results of the first command as a pasted call does, with the id of the preparation."""
    counts = {"capitals_qa": {"original": 6, "effective": rows}}
    manifest = json.loads((project / "work_dir" / "manifest.json").read_text())
    metadata = {"version": 1.0, "run": manifest["run"], "command": "c1-plain"}
    file = project / "work_dir" / "capitals" / "capitals_qa.yaml"
    stated = yaml.safe_load(file.read_text())
    logged = stated | {"metadata": stated["metadata"] | metadata}
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")
    write_run(
        project / "eval_results",
        {"capitals_qa": [Row(str(at)) for at in range(rows)]},
        stamp=stamp,
        metadata=metadata,
        extra={
            "config": {"model": "dummy", "model_args": {}},
            "configs": {"capitals_qa": logged},
            "n-samples": counts,
        },
    )
    for samples in project.glob(f"eval_results/*/samples_*_{stamp}.jsonl"):
        samples.write_text(samples.read_text().replace('"max_gen_toks": 100', '"max_gen_toks": 32'))


def run(project):
    processes.run("run", cwd=project, check=True)


def left(capsys):
    """What `status --left` prints of each command, with its exit code."""
    answers = {}
    for name in ("c1-plain", "c2-plain"):
        capsys.readouterr()
        code = main(["status", "--left", name])
        answers[name] = (code, capsys.readouterr().out.split())
    return answers


ALL_DONE = {"c1-plain": (0, []), "c2-plain": (0, [])}
EDITED_IS_LEFT = {"c1-plain": (1, ["capitals_qa"]), "c2-plain": (0, [])}


@pytest.mark.slow
@pytest.mark.parametrize("way", [run, paste])
def test_results_after_an_edit_count_whichever_way_they_were_made(two_commands, capsys, way):
    run(two_commands)
    assert left(capsys) == ALL_DONE
    reword(two_commands, "Name")
    assert left(capsys) == EDITED_IS_LEFT
    way(two_commands)
    assert left(capsys) == ALL_DONE
    capsys.readouterr()
    assert main(["status", "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["tasks"]
    assert {line["name"]: line["status"] for line in lines} == {
        "capitals_qa": "done",
        "rivers_qa": "done",
    }


@pytest.mark.slow
@pytest.mark.parametrize("way", [run, paste])
def test_a_second_edit_takes_results_out_and_its_return_brings_them_back(two_commands, capsys, way):
    run(two_commands)
    reword(two_commands, "Name")
    way(two_commands)
    reword(two_commands, "State")
    assert left(capsys) == EDITED_IS_LEFT
    reword(two_commands, "What is")
    assert left(capsys) == ALL_DONE


@pytest.mark.slow
def test_results_of_run_count_again_where_a_second_edit_is_taken_back(two_commands, capsys):
    reword(two_commands, "Name")
    run(two_commands)
    reword(two_commands, "State")
    assert left(capsys)["c1-plain"] == (1, ["capitals_qa"])
    reword(two_commands, "Name")
    assert left(capsys) == ALL_DONE


@pytest.mark.slow
def test_command_sh_skips_what_run_did_after_an_edit(two_commands):
    reword(two_commands, "Name")
    run(two_commands)
    script = subprocess.run(
        ["sh", "work_dir/command.sh"], check=False, capture_output=True, text=True
    )
    assert script.stdout.splitlines() == ["c1-plain: done already", "c2-plain: done already"]


@pytest.mark.slow
def test_a_run_that_is_done_is_concluded_though_another_one_is_newer(project, capsys):
    (prepared_as,) = records(project)
    run(project)
    reword(project, "Name")
    run(project)
    (edited,) = set(records(project)) - {prepared_as}
    note = f"the newest, {edited}, is used (--timestamp chooses another: {prepared_as})"
    assert note in said(capsys, "score", "eval_results", "--no_write")
    reword(project, "What is")
    words = said(capsys, "run")
    assert edited not in words
    assert f"--timestamp {prepared_as}" in words.partition("next: ")[2]
    (stamp,) = {call.stamp for call in run_calls(project / "eval_results", prepared_as)}
    assert f"scores_{stamp}/scores.json" in words
    assert f"report_{stamp}/report.html" in words


@pytest.mark.slow
def test_the_id_of_a_run_chooses_all_its_commands(two_commands, capsys):
    (prepared_as,) = records(two_commands)
    run(two_commands)
    reword(two_commands, "Name")
    run(two_commands)
    capsys.readouterr()
    assert main(["score", "eval_results", "--timestamp", prepared_as, "--no_write"]) == 0
    captured = capsys.readouterr()
    assert "capitals_qa" in captured.out
    assert "rivers_qa" in captured.out
    assert "files differ" not in captured.out + captured.err
    words = said(capsys, "score", "eval_results", "--timestamp", "r00000000000")
    assert "no results of the run r00000000000" in words
    assert prepared_as in words


@pytest.mark.slow
def test_results_of_an_edit_that_was_prepared_do_not_count_once_it_is_taken_back(
    two_commands, capsys
):
    (unedited,) = records(two_commands)
    run(two_commands)
    reword(two_commands, "Name")
    assert main(["prepare"]) == 0
    assert "kept your edit" in capsys.readouterr().err
    paste(two_commands)
    assert left(capsys)["c1-plain"] == (0, [])
    reword(two_commands, "State")
    assert left(capsys)["c1-plain"] == (1, ["capitals_qa"])
    reword(two_commands, "Name")
    assert left(capsys)["c1-plain"] == (0, [])
    shutil.rmtree(two_commands / "eval_results")
    paste(two_commands)
    reword(two_commands, "What is")
    assert left(capsys)["c1-plain"] == (1, ["capitals_qa"])
    run(two_commands)
    assert left(capsys) == ALL_DONE
    assert "edited" not in records(two_commands)[unedited]


@pytest.mark.slow
def test_the_record_of_an_edited_run_stays_when_the_edit_is_taken_back(project, capsys):
    (unedited,) = records(project)
    reword(project, "Name")
    assert main(["prepare"]) == 0
    (edited,) = set(records(project)) - {unedited}
    kept = records(project)[edited]
    assert kept["edited"]["files"]
    (project / "eval_results" / f"run_{unedited}.json").unlink()
    reword(project, "What is")
    run(project)
    assert records(project)[edited] == kept
    assert "edited" not in records(project)[unedited]


def test_the_table_of_status_counts_what_its_list_of_tasks_counts(project, capsys):
    """A try of the pasted command with a limit is not the whole."""
    paste(project, rows=2)
    capsys.readouterr()
    assert main(["status"]) == 0
    out = capsys.readouterr().out
    assert "capitals_qa has results of 2 of 6 rows" in out
    assert "not started" in out
    assert main(["status", "--left", "c1-plain"]) == 1
    paste(project)
    paste(project, rows=2)
    capsys.readouterr()
    assert main(["status"]) == 0
    out = capsys.readouterr().out
    assert "done, started by hand" in out
    assert "has results of" not in out
    assert main(["status", "--left", "c1-plain"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("names_primary", [True, False])
def test_a_filter_that_was_added_after_the_run_is_read_after_rescore(
    project, capsys, names_primary
):
    run(project)
    path = project / "work_dir" / "capitals" / "capitals_qa.yaml"
    first = [{"function": "take_first"}]
    filters = [{"name": "first", "filter": first}, {"name": "word", "filter": first}]
    text = path.read_text() + f"filter_list: {json.dumps(filters)}\n"
    if names_primary:
        text = text.replace("primary_filter: none", "primary_filter: word")
    path.write_text(text)
    name = "word" if names_primary else "first"
    assert f"capitals_qa: exact_match ({name}), 6" in said(capsys, "rescore", "eval_results")
    (rescored,) = project.glob("eval_results/*/rescored_*")
    assert load_run(rescored).tasks["capitals_qa"].primary.filter == name
    words = said(capsys, "score", rescored, "--no_write")
    assert "capitals_qa 6 0.0" in words
    assert "missing" not in words
