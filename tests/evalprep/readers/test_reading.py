"""What is made of the rows of other tools: verdicts, repeats, damage, ids, metrics."""

import json
import subprocess
import sys
import tracemalloc
import zipfile

import pytest

from evalprep.errors import BadInput
from evalprep.readers.tools import Reading, ToolLog, reading_as
from evalprep.results import open_run
from evalprep.results.tool_runs import _names
from evalprep.samples import compressed
from tests import PROJECT_ROOT
from tests.evalprep.readers.logs import (
    SPEC,
    eee_record,
    eval_event,
    inspect_sample,
    write_eval,
    write_json_log,
    write_lines,
    write_table,
)

COLUMNS = {"question": "Frage", "score": "richtig"}


def _samples(run, task=None):
    (name,) = [task] if task else run.tasks
    return list(run.tasks[name].samples("none"))


def _refused(path, reading=None):
    with pytest.raises(BadInput) as refused, reading_as(reading or Reading()):
        open_run(path, ())
    return str(refused.value)


@pytest.mark.parametrize("value", [[1, 0], {}, "unsure", "nan", None, float("nan")])
def test_an_unknown_verdict_is_none_and_counted(value, tmp_path):
    samples = [inspect_sample(0, "C"), inspect_sample(1, value)]
    run = open_run(write_json_log(tmp_path / "log.json", samples), ())
    assert [sample.metrics["choice"] for sample in _samples(run)] == [1.0, None]
    assert run.tasks["ice"].primary.value == 1.0
    assert any("1 of 2 samples have no verdict (1 unscored)" in note for note in run.notes)


def test_partial_credit_counts_unless_verdicts_are_strict(tmp_path):
    log = write_json_log(tmp_path / "log.json", [inspect_sample(0, "P"), inspect_sample(1, "N")])
    assert [sample.metrics["choice"] for sample in _samples(open_run(log, ()))] == [0.5, 0.0]
    with reading_as(Reading(strict_verdicts=True)):
        samples = _samples(open_run(log, ()))
    assert [sample.metrics["choice"] for sample in samples] == [None, None]


def test_errors_of_samples_are_counted_apart(tmp_path):
    failed = inspect_sample(1, error={"message": "boom"}) | {"scores": None}
    run = open_run(write_eval(tmp_path / "log.eval", [inspect_sample(0), failed]), ())
    assert any("1 of 2 samples have no verdict (1 error)" in note for note in run.notes)


def test_letters_become_the_texts_of_choices(tmp_path):
    log = write_json_log(tmp_path / "log.json", [inspect_sample(1, "I")])
    (sample,) = _samples(open_run(log, ()))
    assert (sample.target, sample.answer) == ("no", "yes")
    assert sample.doc["target_label"] == "B"
    assert sample.response == "ANSWER: A"
    assert json.loads(sample.prompt)[0]["role"] == "user"


def test_the_keys_of_a_value_are_metrics(tmp_path):
    scores = {"grade": {"value": {"style": 0.5, "facts": 1}}}
    log = write_json_log(tmp_path / "log.json", [inspect_sample(0) | {"scores": scores}])
    task = open_run(log, ()).tasks["ice"]
    assert task.undecided == ("grade.style", "grade.facts")
    assert "name the one that counts with --metric" in task.without_score


def test_repeats_are_one_sample_with_the_mean(tmp_path):
    samples = [inspect_sample(n, v, epoch=e) for n, v, e in ((0, "C", 1), (1, "C", 1), (0, "I", 2))]
    run = open_run(write_eval(tmp_path / "log.eval", samples), ())
    assert [sample.metrics["choice"] for sample in _samples(run)] == [0.5, 1.0]
    assert any("1 rows are repeats; the mean counts" in note for note in run.notes)


def test_repeats_are_reduced_as_the_log_says(tmp_path):
    samples = [inspect_sample(0, "C"), inspect_sample(0, "I", epoch=2)]
    path = write_json_log(tmp_path / "log.json", samples)
    log = json.loads(path.read_text())
    log["eval"]["config"]["epochs_reducer"] = ["max"]
    path.write_text(json.dumps(log))
    assert _samples(open_run(path, ()))[0].metrics["choice"] == 1.0


def test_a_crashed_log_keeps_its_samples(tmp_path):
    run = open_run(write_eval(tmp_path / "log.eval", [inspect_sample(0)], finished=False), ())
    assert len(_samples(run)) == 1
    assert "the run did not finish; 1 samples were kept" in run.notes[0]


def test_attachments_stand_in_their_places(tmp_path):
    sample = inspect_sample(0) | {
        "input": "attachment://abc",
        "attachments": {"abc": "a long question"},
    }
    (read,) = _samples(open_run(write_json_log(tmp_path / "log.json", [sample]), ()))
    assert read.doc["question"] == "a long question"


def test_a_log_without_samples_is_refused(tmp_path):
    assert "this log holds no samples" in _refused(write_json_log(tmp_path / "log.json", None))


def test_of_retries_the_newest_finished_one_counts(tmp_path):
    write_json_log(tmp_path / "a.json", [inspect_sample(0, "C")])
    write_json_log(tmp_path / "b.json", [inspect_sample(0, "I")], status="error")
    run = open_run(tmp_path, ())
    assert run.tasks["ice"].primary.value == 1.0
    assert any("of 2 logs a.json is used" in note for note in run.notes)


def test_without_the_package_a_zstd_log_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(BadInput, match="zstandard"):
        compressed._unpacked(b"", 0, "log.eval")


def test_a_member_packed_with_zstd_is_unpacked(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    text = b'{"a": 1}' * 100
    raw = zstandard.compress(text[:400]) + zstandard.compress(text[400:])  # two frames
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.json", raw)
    # Written as stored; the method and the size of the text are those of a zstd member.
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("x.json")
        info.compress_type, info.file_size = 93, len(text)
        assert compressed.read_member(archive, "x.json") == text


def test_damaged_rows_are_named_by_their_lines(tmp_path):
    events = [SPEC, eval_event(0, "match", {"correct": True}), '{"run_id": "r", "sam', "[1]"]
    run = open_run(write_lines(tmp_path / "log.jsonl", events), ())
    assert len(_samples(run)) == 1
    assert any(
        "2 rows could not be read (line 3: cut off, line 4: not an object but list)" in note
        for note in run.notes
    )


def test_events_of_a_sample_are_put_together_in_their_order(tmp_path):
    events = [
        SPEC,
        eval_event(1, "match", {"correct": False, "expected": "no", "picked": "yes"}, 4),
        eval_event(0, "metrics", {"accuracy": 0.5}, 3),
        eval_event(1, "sampling", {"prompt": "late", "sampled": ["yes"]}, 2),
        eval_event(1, "sampling", {"prompt": "early", "sampled": ["?"]}, 1),
        eval_event(2, "error", {"message": "boom"}, 5),
    ]
    run = open_run(write_lines(tmp_path / "log.jsonl", events), ())
    by_index = {sample.doc["index"]: sample for sample in _samples(run)}
    assert by_index[1].prompt == "late"
    assert by_index[1].metrics["match"] == 0.0
    assert by_index[0].metrics["accuracy"] == 0.5
    assert by_index[2].doc["status"] == "error"
    assert all(sample.doc["id"] is None for sample in by_index.values())
    assert "log.jsonl: the run did not finish" in run.notes


def test_several_match_events_need_a_choice(tmp_path):
    matches = [eval_event(0, "match", {"correct": value}, at) for at, value in enumerate((1, 0))]
    log = write_lines(tmp_path / "log.jsonl", [SPEC, *matches])
    message = _refused(log)
    assert "sample ice.dev.0 has 2 match events" in message
    assert "--input_format last_event" in message
    with reading_as(Reading(last_event=True)):
        assert _samples(open_run(log, ()))[0].metrics["match"] == 0.0


def test_the_metrics_of_an_instance_are_one_sample(tmp_path):
    hashes = {"metadata": {"doc_hash": "d" * 64}}
    records = [eee_record("7", metric, score, **hashes) for metric, score in (("a", 1), ("b", 0))]
    run = open_run(write_lines(tmp_path / "x_samples.jsonl", records), ())
    (sample,) = _samples(run)
    assert sample.metrics == {"a": 1.0, "b": 0.0}
    assert sample.hashes.doc == "d" * 64
    assert (sample.doc["id"], sample.doc["index"]) == (None, 7)
    assert run.model == "org/m"


def test_a_record_opens_the_instances_beside_it(tmp_path):
    write_lines(tmp_path / "x_samples.jsonl", [eee_record("q1", "loss", 2.0)])
    config = {"lower_is_better": True}
    result = {"evaluation_name": "ice", "evaluation_result_id": "loss", "metric_config": config}
    record = {"schema_version": "0.3.0", "evaluation_results": [result]}
    (tmp_path / "x.json").write_text(json.dumps(record))
    task = open_run(tmp_path / "x.json", ()).tasks["ice"]
    assert (task.primary.metric, task.primary.direction) == ("loss", "down")
    assert open_run(tmp_path, ()).tasks["ice"].logged.rows.effective == 1


def test_predictions_of_olmes_take_texts_from_the_requests(tmp_path):
    prediction = {"doc_id": 0, "native_id": "q0", "label": 1, "metrics": {"acc_raw": 1}}
    doc = {"query": "Is fire cold?", "choices": ["yes", "no"]}
    request = {"doc_id": 0, "native_id": "q0", "doc": doc, "request": {"context": "Q: fire\nA:"}}
    log = write_lines(tmp_path / "task-000-ice-predictions.jsonl", [prediction])
    write_lines(tmp_path / "task-000-ice-requests.jsonl", [request | {"idx": n} for n in (0, 1)])
    (sample,) = _samples(open_run(log, ()))
    assert (sample.doc["question"], sample.target, sample.prompt) == (
        "Is fire cold?",
        "no",
        "Q: fire\nA:",
    )
    assert sample.doc["id"] == "q0"


def test_the_primary_metric_of_olmes_is_that_of_its_task(tmp_path):
    metrics = {"acc_raw": 1, "acc_uncond": 0}
    prediction = {"doc_id": 0, "native_id": "q0", "label": 1, "metrics": metrics}
    log = write_lines(tmp_path / "task-000-ice-predictions.jsonl", [prediction])
    assert open_run(log, ()).tasks["ice"].undecided == ("acc_raw", "acc_uncond")
    config = {"task_config": {"primary_metric": "acc_uncond", "num_shots": 5}}
    (tmp_path / "task-000-ice-metrics.json").write_text(json.dumps(config))
    task = open_run(log, ()).tasks["ice"]
    assert (task.primary.metric, task.logged.num_fewshot) == ("acc_uncond", 5)


def test_questions_of_simple_evals_that_come_again_are_repeats(tmp_path):
    html = "<p>Correct Answer: {}</p><p>Extracted Answer: A</p><p>Score: {}</p>"
    asked = "Answer the following multiple choice question. Think.\n\nCold?\n\nA) {}\nB) {}"
    chats = [
        [{"role": "user", "content": asked.format(*pair)}, {"role": "assistant", "content": "A"}]
        for pair in (("ice", "fire"), ("fire", "ice"))
    ]
    pages = [html.format("A", 1.0), html.format("B", 0.0)]
    content = {"score": 0.5, "metrics": {}, "htmls": pages, "convos": chats}
    path = tmp_path / "gpqa_gpt-4o_20250101_000000_allresults.json"
    path.write_text(json.dumps(content))
    run = open_run(path, ())
    (sample,) = _samples(run)
    assert (run.model, sample.target, sample.metrics) == ("gpt-4o", "ice", {"score": 0.5})
    assert sample.doc["question"] == "Cold?"


def test_an_escaped_page_of_simple_evals_is_read_as_text(tmp_path):
    page = "<p>Correct Answer: a &lt; b</p><p>Extracted Answer: a &lt; b</p><p>Score: 1.0</p>"
    content = {"score": 1, "htmls": [page], "convos": [[{"role": "user", "content": "?"}]]}
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    assert _samples(open_run(path, ()))[0].target == "a < b"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"question": "Fragen", "score": "richtig"}, "no column 'Fragen'"),
        ({"question": "Frage", "verdict": "richtig"}, "'verdict' is not a field of a row"),
        ({"question": "Frage"}, "a table needs a column of scores"),
        ({"score": "richtig"}, "one that names its rows"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, message, tmp_path):
    table = write_table(tmp_path / "table.csv")
    assert message in _refused(table, Reading(columns=columns))


def test_a_decimal_comma_is_refused_with_its_row(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("Frage;richtig\nA?;1\nB?;0,5\n")
    message = _refused(path, Reading(columns=COLUMNS))
    assert "row 2 has a decimal comma: '0,5'" in message


def test_scores_that_are_no_verdicts_and_beyond_a_proportion(tmp_path):
    rows = [{"Frage": f"Q{n}", "richtig": score} for n, score in enumerate(("TRUE", "", "7"))]
    with reading_as(Reading(columns=COLUMNS)):
        run = open_run(write_table(tmp_path / "table.csv", rows), ())
    assert [sample.metrics["richtig"] for sample in _samples(run)] == [1.0, None, 7.0]
    assert any("1 scores are not between 0 and 1" in note for note in run.notes)
    assert any("1 of 3 samples have no verdict" in note for note in run.notes)


def test_a_short_row_of_a_table_is_damaged(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('Frage,richtig\n"A\n?",1\nB?\n')
    with reading_as(Reading(columns=COLUMNS)):
        run = open_run(path, ())
    assert _samples(run)[0].doc["question"] == "A\n?"
    assert any("line 4: 1 cells in place of 2" in note for note in run.notes)


def test_unknown_content_is_described(tmp_path):
    message = _refused(write_lines(tmp_path / "x.jsonl", [{"id": 1, "output": "a"}] * 2))
    assert "it looks like JSON Lines with the keys id, output" in message
    assert "--columns names the columns" in message


def test_two_formats_in_a_folder_are_ambiguous(tmp_path):
    write_json_log(tmp_path / "log.json", [inspect_sample(0)])
    write_lines(tmp_path / "x_samples.jsonl", [eee_record("7", "a", 1)])
    message = _refused(tmp_path)
    assert "inspect (log.json)" in message
    assert "every-eval-ever (x_samples.jsonl)" in message
    with reading_as(Reading(format="inspect")):
        assert open_run(tmp_path, ()).tool == "inspect"


def test_a_format_that_does_not_fit_is_refused(tmp_path):
    log = write_json_log(tmp_path / "log.json", [inspect_sample(0)])
    assert "no log of the format olmes" in _refused(log, Reading(format="olmes"))
    assert "no format 'inspct'" in _refused(log, Reading(format="inspct"))


def test_logs_of_several_models_are_refused(tmp_path):
    write_json_log(tmp_path / "a.json", [inspect_sample(0)], model="org/a")
    write_json_log(tmp_path / "b.json", [inspect_sample(0)], model="org/b")
    assert "logs of 2 models: org/a, org/b" in _refused(tmp_path)


def test_a_pointer_is_named(tmp_path):
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 42807696\n"
    path = tmp_path / "details_demo|0_2026-01-02T03-04-05.678901.parquet"
    path.write_text(pointer)
    for place in (path, tmp_path):
        assert "is a pointer of Git LFS" in _refused(place)


@pytest.mark.parametrize("name", ["results.json", "samples.jsonl", "table.csv"])
def test_an_empty_file_is_named(tmp_path, name):
    path = tmp_path / name
    path.write_text("")
    assert "it looks like an empty file\n" in _refused(path)


def test_a_json_file_that_was_cut_off_is_named(tmp_path):
    path = tmp_path / "results.json"
    path.write_text('{"results": {"t": {"acc,none": 0.')
    message = _refused(path)
    assert "it looks like a JSON file that is damaged or was cut off\n" in message
    assert "fix: copy it again, or write it again" in message


def test_a_damaged_archive_is_named(tmp_path):
    path = write_eval(tmp_path / "log.eval", [inspect_sample(0)])
    path.write_bytes(path.read_bytes()[:200])
    assert "it looks like a zip archive" in _refused(path)


def test_a_link_that_leaves_the_folder_is_not_followed(tmp_path):
    secret = write_json_log(tmp_path / "secret.json", [inspect_sample(0)])
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "log.json").symlink_to(secret)
    assert "is not read: a symbolic link leads to" in _refused(folder)
    write_lines(tmp_path / "other.jsonl", [eee_record("q", "acc", 1)])
    (folder / "log.json").unlink()
    (folder / "x_samples.jsonl").symlink_to(tmp_path / "other.jsonl")
    record = {"schema_version": "0.3.0", "evaluation_results": []}
    (folder / "x.json").write_text(json.dumps(record))
    assert "is not read: a symbolic link leads to" in _refused(folder / "x.json")


def test_rows_are_streamed(tmp_path):
    text = "a long prompt " * 1_000
    records = (eee_record(f"q{n}", "acc", n % 2, input={"raw": text}) for n in range(500))
    log = write_lines(tmp_path / "x_samples.jsonl", records)
    assert log.stat().st_size > 6_000_000
    tracemalloc.start()
    try:
        assert open_run(log, ()).tasks["ice"].logged.rows.effective == 500
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_the_place_of_a_row_in_its_source_is_kept(tmp_path):
    run = open_run(write_eval(tmp_path / "log.eval", [inspect_sample(n) for n in (10, 2)]), ())
    assert [sample.doc["source"] for sample in _samples(run)] == ["log.eval:1", "log.eval:2"]
    assert [sample.doc["id"] for sample in _samples(run)] == ["2", "10"]


@pytest.mark.parametrize(("value", "expected"), [("C", 1.0), ("I", 0.0), ("G:50", None)])
def test_a_log_before_version_2_has_one_scorer_whose_name_stands_in_its_results(
    tmp_path, value, expected
):
    sample = inspect_sample(0)
    sample["score"] = {"value": value, "answer": sample.pop("scores")["choice"]["answer"]}
    results = {"scorer": {"name": "lab/facts", "params": {}}, "metrics": {}}
    log = write_json_log(tmp_path / "log.json", [sample], results=results)
    (row,) = _samples(open_run(log, ()))
    assert row.metrics == {"facts": expected}
    assert row.answer == "yes"


@pytest.mark.parametrize(
    ("name", "content", "what", "fix"),
    [
        (
            "gpqa_gpt-4o.json",
            {"chars": 1.0, "score": 0.5, "score:std": 0.5},
            "the metrics of a run of simple-evals",
            "_allresults.json",
        ),
        ("stats.json", [{"name": {"name": "em"}}], "one file of a HELM run", "pass its folder"),
        (
            "gsm8k.json",
            {"0": {"origin_prompt": "Q", "prediction": "A", "gold": "B"}},
            "predictions of OpenCompass",
            "--columns",
        ),
        ("he.json", {"pass@1": 0.1}, "pass@k values without samples", "each sample"),
        (
            "rows.json",
            [{"Question": "Q", "is_correct": True, "gold": "x"}],
            "a JSON file with the keys Question, gold, is_correct",
            "--columns score=is_correct,question=Question,target=gold",
        ),
        ("names.json", ["a", "b"], "it looks like a JSON file", "--input_format"),
    ],
)
def test_a_file_without_samples_is_named_with_what_to_pass(tmp_path, name, content, what, fix):
    path = tmp_path / name
    path.write_text(json.dumps(content))
    message = _refused(path)
    assert what in message
    assert fix in message


def test_the_results_of_lighteval_are_values_of_its_tasks(tmp_path):
    content = {
        "config_general": {"model_name": "lab/model", "start_time": 7455098.6},
        "results": {
            "mmlu:anatomy|5": {"acc": 0.5, "acc_stderr": 0.1},
            "mmlu:_average|5": {"acc": 0.5},
            "aime25|0": {"pass@k:k=1&n=1": 0.75},
            "all": {"acc": 0.5, "acc_stderr": 0.1},
        },
        "versions": {"aime25|0": 2},
    }
    path = tmp_path / "results_2026-05-11T07-33-49.106520.json"
    path.write_text(json.dumps(content))
    run = open_run(path, ())
    assert run.model == "lab/model"
    assert list(run.stored) == ["mmlu:anatomy|5", "aime25|0"]
    assert run.stored["aime25|0"].logged.num_fewshot == 0
    assert run.stored["aime25|0"].logged.version == 2
    assert run.stored["mmlu:anatomy|5"].headline.value == 0.5


@pytest.mark.parametrize(
    ("short_names", "expected"),
    [
        pytest.param({"a/x": "x", "b/y": "y"}, ["x", "y"], id="of their own"),
        pytest.param({"a/x": "x", "b/x": "x", "c/y": "y"}, ["a/x", "b/x", "y"], id="shared"),
        pytest.param(
            {"a/x": "x", "b/x": "x", "c/a/x": "a/x"},
            ["a/x", "b/x", "c/a/x"],
            id="a source that is the short name of another",
        ),
    ],
)
def test_no_two_tasks_have_one_name(short_names, expected):
    log = ToolLog("inspect", iter(()), short_name=short_names.__getitem__)
    assert list(_names(short_names, log).values()) == expected


@pytest.mark.parametrize("module", ["formats", "finding", "opening"])
def test_formats_are_found_whichever_module_is_imported_first(module):
    code = (
        f"import evalprep.readers.tools.{module}; "
        "from evalprep.readers.tools import FORMATS; print(len(FORMATS))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=PROJECT_ROOT
    )
    assert done.stderr == ""
    assert int(done.stdout) > 10
