"""Every verb that takes a run takes the results of another tool."""

import json

import pytest

from evalprep.cli import main
from tests.evalprep.readers.logs import (
    QUESTIONS,
    eee_record,
    inspect_sample,
    write_helm,
    write_json_log,
    write_lines,
    write_table,
)

READABLE = ("every-eval-ever", "inspect", "csv", "parquet")  # formats that are written and read


@pytest.fixture
def logs(tmp_path):
    values = (("a", "CCI"), ("b", "CIC"))
    return [
        str(
            write_json_log(
                tmp_path / f"{name}.json",
                [inspect_sample(n, value) for n, value in enumerate(verdicts)],
                model=f"org/{name}",
            )
        )
        for name, verdicts in values
    ]


def test_score(logs, capsys):
    assert main(["score", logs[0], "--no-write", "--json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["micro"]["n"] == 3
    assert task["micro"]["agg_value"] == pytest.approx(2 / 3)


def test_compare(logs, capsys):
    assert main(["compare", *logs, "--no-write"]) == 0
    shown = capsys.readouterr().out
    assert "candidate a" in shown
    assert "ice" in shown


def test_samples(logs, capsys):
    assert main(["samples", logs[0], "--wrong"]) == 0
    shown = capsys.readouterr().out
    assert "score: 0 (choice)" in shown
    assert "ANSWER: A" in shown


def test_leaderboard_and_report_take_a_folder_of_models(logs, tmp_path, capsys):
    assert main(["leaderboard", str(tmp_path)]) == 0
    assert "2 models" in capsys.readouterr().out
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert list((tmp_path / "out").rglob("*.html"))


def test_score_and_export_take_a_folder_of_models(logs, tmp_path, capsys):
    assert main(["score", str(tmp_path), "--no-write", "--json"]) == 0
    assert [scores["run"] for scores in json.loads(capsys.readouterr().out)] == ["a", "b"]
    out = str(tmp_path / "out")
    assert main(["export", str(tmp_path), "--to", "csv", "--out", out]) == 0


@pytest.mark.parametrize(
    "verb",
    [["score"], ["report"], *(["export", "--to", name] for name in READABLE)],
    ids=["score", "report", *READABLE],
)
def test_what_verbs_wrote_beside_logs_is_no_log(tmp_path, capsys, verb):
    folder = tmp_path / "logs"
    folder.mkdir()
    log = write_json_log(folder / "a.json", [inspect_sample(0), inspect_sample(1, "I")])
    assert main([*verb, str(log)]) == 0
    assert sum(entry.is_dir() for entry in folder.iterdir()) == 1
    capsys.readouterr()
    columns = ["--columns", "id=sample_id,score=choice"]
    assert main(["score", str(folder), "--no_write", "--json", *columns]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert (task["task"], task["n"]) == ("ice", 2)


@pytest.mark.parametrize("name", ["report_2026", "scores_of_may", "export_1"])
def test_a_folder_of_logs_that_is_called_like_one_of_a_verb_is_read(tmp_path, capsys, name):
    (tmp_path / name).mkdir()
    write_json_log(tmp_path / name / "a.json", [inspect_sample(0)])
    assert main(["score", str(tmp_path), "--no_write", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"][0]["n"] == 1


def test_a_pair_of_models_is_named_where_a_verb_takes_one(logs, tmp_path, capsys):
    assert main(["compare", str(tmp_path), logs[0], "--no-write"]) == 2
    shown = capsys.readouterr().err
    assert "logs of 2 models: org/a, org/b" in shown
    assert logs[0] in shown


def test_gate(logs, tmp_path, capsys):
    policy = tmp_path / "policy.yaml"
    policy.write_text("required: [ice]\ndefaults: {max_drop: 0.5}\n")
    assert main(["gate", *logs, "--policy", str(policy)]) == 3
    assert "ice (3 pairs)" in capsys.readouterr().out


def test_a_table_is_named_by_options(tmp_path, capsys):
    table = str(write_table(tmp_path / "table.csv"))
    assert main(["score", table, "--no-write"]) == 2
    assert "--columns" in capsys.readouterr().err
    named = ["--columns", "question=Frage,score=richtig"]
    assert main(["score", table, *named, "--no-write"]) == 0
    assert "next: evalprep report" in capsys.readouterr().out
    columns = tmp_path / "columns.yaml"
    columns.write_text("question: Frage\nscore: richtig\n")
    assert main(["compare", table, table, "--columns", str(columns), "--no-write"]) == 3


def test_columns_without_a_name_are_refused(tmp_path, capsys):
    table = str(write_table(tmp_path / "table.csv"))
    assert main(["score", table, "--columns", "question"]) == 2
    assert "'question' names no column" in capsys.readouterr().err


@pytest.fixture
def of_two_tools(tmp_path):
    """Records of two tasks, and a log of another tool with one of them under another name."""
    golds = ("yes", "no", "yes")
    records = [
        eee_record(
            f"q{n}",
            "acc",
            float(n != 1),
            evaluation_name="cold",
            input={"raw": QUESTIONS[n], "reference": [gold]},
        )
        for n, gold in enumerate(golds)
    ]
    records.append(eee_record("x", "acc", 1.0, evaluation_name="other"))
    samples = [inspect_sample(n, "C") for n in range(3)]
    log = write_json_log(tmp_path / "log.json", samples, model="org/a")
    return str(write_lines(tmp_path / "x_samples.jsonl", records)), str(log)


def test_a_task_is_chosen_against_a_log_that_calls_it_otherwise(of_two_tools, tmp_path, capsys):
    run, log = of_two_tools
    assert main(["compare", run, log, "--tasks", "cold", "--no-write"]) in {0, 1, 3}
    shown = capsys.readouterr().out
    assert "--tasks cold" in shown.rpartition("next:")[2]
    out = str(tmp_path / "out")
    assert main(["report", run, "--baseline", log, "--tasks", "cold", "--out", out, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [task["name"] for task in report["tasks"]] == ["cold"]
    (comparison,) = report["comparisons"]
    assert [(task["task"], task["n"]) for task in comparison["tasks"]] == [("cold", 3)]
    words = ["export", run, "--baseline", log, "--tasks", "cold", "--to", "junit", "--out", out]
    assert main(words) == 0


def test_a_gate_decides_by_the_chosen_tasks(of_two_tools, tmp_path, capsys):
    run, log = of_two_tools
    policy = tmp_path / "policy.yaml"
    policy.write_text("defaults: {max_drop: 0.9, min_n: 1}\n")
    words = ["gate", run, log, "--policy", str(policy), "--tasks", "cold", "--json"]
    assert main(words) in {0, 3}
    verdict = json.loads(capsys.readouterr().out)
    assert {check["name"].partition(" (")[0] for check in verdict["checks"]} == {"cold"}
    assert "decided by these tasks alone (--tasks): cold" in verdict["warnings"]


@pytest.mark.parametrize("verb", ["report", "gate"])
def test_a_task_that_no_side_has_is_refused(of_two_tools, tmp_path, capsys, verb):
    run, log = of_two_tools
    policy = tmp_path / "policy.yaml"
    policy.write_text("defaults: {max_drop: 0.9}\n")
    own = ["--baseline", log] if verb == "report" else [log, "--policy", str(policy)]
    assert main([verb, run, *own, "--tasks", "colt"]) == 2
    assert "did you mean cold" in capsys.readouterr().err


def test_of_several_metrics_one_must_be_named(tmp_path, capsys):
    metrics = {"acc_raw": 1, "acc_per_char": 0}
    predictions = [
        {"doc_id": n, "native_id": f"q{n}", "metrics": metrics, "label": 0} for n in range(3)
    ]
    log = str(write_lines(tmp_path / "task-000-ice-predictions.jsonl", predictions))
    assert main(["compare", log, log, "--no-write"]) == 2
    refused = capsys.readouterr().err
    assert "acc_raw, acc_per_char" in refused
    assert "--metric" in refused
    assert main(["compare", log, log, "--metric", "acc_raw", "--no-write"]) == 3
    assert main(["score", log, "--no-write"]) in {0, 3}
    assert "acc_per_char" in capsys.readouterr().out


def test_unknown_content_and_unknown_formats_are_bad_input(tmp_path, capsys):
    log = str(write_lines(tmp_path / "x.jsonl", [{"id": 1}, {"id": 2}]))
    assert main(["compare", log, log]) == 2
    assert "it looks like JSON Lines with the keys id" in capsys.readouterr().err
    assert main(["compare", log, log, "--input_format", "nothing"]) == 2
    assert "no format 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["score", "report", "samples", "leaderboard", "gate", "compare"])
def test_the_files_of_a_folder_that_is_one_log_are_read(tmp_path, capsys, verb):
    folder = str(write_helm(tmp_path, "m", [1.0, 0.0, 1.0]))
    policy = tmp_path / "policy.yaml"
    policy.write_text("defaults: {max_drop: 0.5, min_n: 1}\n")
    arguments = {
        "score": [folder, "--no_write"],
        "report": [folder, "--out", str(tmp_path / "out")],
        "gate": [folder, folder, "--policy", str(policy)],
        "compare": [folder, folder],
    }
    main([verb, *arguments.get(verb, [folder])])
    said = capsys.readouterr()
    assert "not read" not in said.out + said.err


def excerpt(path, model, values, stated):
    """A log of inspect_ai that states more samples than it holds."""
    samples = [inspect_sample(number, value) for number, value in enumerate(values)]
    header = {"results": {"total_samples": stated}, "model": model}
    log = json.loads(write_json_log(path, samples, **header).read_text())
    log["eval"]["dataset"] = {"samples": 40, "sample_ids": list(range(len(values)))}
    path.write_text(json.dumps(log))
    return str(path)


def test_rows_that_a_log_states_and_does_not_hold_are_missing(tmp_path, capsys):
    part = excerpt(tmp_path / "a.json", "org/a", "CIC", stated=40)
    whole = excerpt(tmp_path / "b.json", "org/b", "C" * 40, stated=40)
    main(["score", part, "--no_write"])
    assert "37 of 40 expected rows are missing" in " ".join(capsys.readouterr().out.split())
    assert main(["compare", part, whole]) == 3
    assert "37 of 40 expected rows are missing" in " ".join(capsys.readouterr().out.split())
    assert main(["leaderboard", part, whole]) == 0
    assert "66.7‡" in capsys.readouterr().out  # ‡ takes no part in the ranking


def test_a_log_of_a_part_of_its_data_set_is_called_one(tmp_path, capsys):
    logs = [excerpt(tmp_path / f"{n}.json", f"org/{n}", "C" * n, stated=n) for n in (3, 5)]
    assert main(["score", logs[0], "--no_write"]) == 0
    assert "3 of 40 rows" in capsys.readouterr().out
    assert main(["compare", *logs]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "the candidate has 3 of 40 rows, the baseline has 5 of 40 rows" in said


def test_epochs_are_no_missing_rows(tmp_path, capsys):
    samples = [inspect_sample(number, epoch=epoch) for number in range(3) for epoch in (1, 2)]
    path = write_json_log(tmp_path / "a.json", samples, results={"total_samples": 6})
    log = json.loads(path.read_text())
    log["eval"]["config"]["epochs"] = 2
    path.write_text(json.dumps(log))
    assert main(["score", str(path), "--no_write", "--json"]) == 0
    assert "missing" not in capsys.readouterr().out


@pytest.fixture
def suite(tmp_path):
    """Runs of two models and two tasks of HELM beside each other, as HELM writes them."""
    for model, scores in (("a", [1.0, 0.0, 1.0]), ("b", [1.0, 1.0, 1.0])):
        for task in ("ice", "snow"):
            write_helm(tmp_path / "suite", model, scores, task)
    return str(tmp_path / "suite")


def test_logs_of_a_model_among_those_of_others_are_one_run(suite, tmp_path, capsys):
    assert main(["leaderboard", suite]) == 0
    said = capsys.readouterr().out
    assert said.startswith("2 models, 2 of 2 columns")
    assert "not read" not in said
    assert main(["score", suite, "--no_write", "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)
    assert [[task["task"] for task in run["tasks"]] for run in runs] == [
        ["ice:subject=water", "snow:subject=water"]
    ] * 2
    assert main(["report", suite, "--out", str(tmp_path / "page")]) == 0
    assert main(["export", suite, "--to", "csv", "--out", str(tmp_path / "out")]) == 0


def test_the_next_command_names_the_folder_of_such_logs(suite, capsys):
    assert main(["score", suite, "--no_write"]) == 0
    assert f"next: evalprep report {suite}" in capsys.readouterr().out


def test_logs_of_inspect_in_one_folder_are_a_run_for_each_model(tmp_path, capsys):
    for model in ("org/a", "org/b"):
        for task in ("ice", "snow", "fire"):
            name = f"{model[-1]}_{task}.json"
            write_json_log(tmp_path / name, [inspect_sample(0)], model=model, task=task)
    assert main(["leaderboard", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("2 models, 3 of 3 columns")


@pytest.mark.parametrize("content", ['{"kind": "other", "folder": "x"}', "{", "[1]"])
def test_a_file_of_scores_that_score_did_not_write_stays(logs, tmp_path, content):
    out = tmp_path / "out"
    assert main(["score", *logs, "--out", str(out)]) == 0
    files = sorted(out.rglob("scores.json"))
    assert len(files) == 2
    before = files[1].read_text()
    files[0].write_text(content)
    assert main(["score", *logs, "--out", str(out)]) == 0
    assert (files[0].read_text(), files[1].read_text()) == (content, before)
    assert len(sorted(out.rglob("scores.json"))) == 3


@pytest.mark.parametrize("verb", ["leaderboard", "score"])
def test_a_log_that_cannot_be_opened_is_named_with_the_reason(logs, tmp_path, capsys, verb):
    write_json_log(tmp_path / "header.json", None, model="org/c")
    assert main([verb, str(tmp_path)]) == 0
    said = "".join(capsys.readouterr().out.split())  # a long path breaks within a word
    assert "header.json(thislogholdsnosamples" in said
    assert "passthelogwithitssamples" in said
    assert "passitbyitself" not in said
