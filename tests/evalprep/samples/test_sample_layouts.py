"""Samples in every layout that lm-eval has written since 0.4.0, and shards of one task."""

import json

import pytest

from evalprep.cli import main
from evalprep.compare import compare_runs
from evalprep.errors import BadInput
from evalprep.readers.logged import RowCounts
from evalprep.results import each_run, load_run
from evalprep.samples.store import cached_table
from tests.evalprep.results.writing import STAMP, Row, write_run
from tests.evalprep.samples.test_table import assert_same

ROWS = 12
FILTERS = [{"name": "strict-match"}, {"name": "flexible-extract"}]
LATER = "2026-03-02T09-30-00.5"


def right(at, name):
    return float(at % 2 if name == "strict-match" else at % 3 > 0)


def item(at, name, *, era):
    """One logged document as versions of an era wrote it."""
    doc = {"question": f"Question {at}?", "answer": str(at)}
    request = [f"Q: Question {at}?\nA:", {"until": ["\n"]}]
    line = {"doc_id": at, "doc": doc, "target": str(at), "arguments": [request], "resps": [["x"]]}
    line["filtered_resps"] = ["x"]
    if era != "0.4.0":
        line |= {
            "doc_hash": f"{at:064x}",
            "prompt_hash": f"{at + 100:064x}",
            "target_hash": "0" * 64,
        }
    if era == "today":
        line |= {"filter": name, "metrics": ["exact_match"]}
        line["arguments"] = {"gen_args_0": {"arg_0": request[0], "arg_1": request[1]}}
    return line | {"exact_match": right(at, name)}


def items(era):
    return [item(at, one["name"], era=era) for one in FILTERS for at in range(ROWS)]


def results(**more):
    values = {f"exact_match,{one['name']}": 0.5 for one in FILTERS}
    found = {
        "results": {"arc": values | {"alias": "arc"}},
        "configs": {"arc": {"task": "arc", "filter_list": FILTERS}},
    }
    return (
        found
        | {
            "n-shot": {"arc": 5},
            "config": {"model": "hf", "model_args": "pretrained=org/m,dtype=auto"},
        }
        | more
    )


def write(folder, layout):
    """A run in one of the layouts; returns what a user would name."""
    folder.mkdir()
    old, listed = items("0.4.0"), json.dumps(items("0.4.0"), indent=2, ensure_ascii=False)
    lines = "".join(json.dumps(item) + "\n" for item in items("May 2024"))
    if layout.startswith("0.4.0"):
        name = "results.json" if layout.endswith("folder") else "mine.json"
        (folder / name).write_text(json.dumps(results()))
        (folder / "pretrained__org__m,dtype__auto_arc.jsonl").write_text(listed)
        return folder if layout.endswith("folder") else folder / name
    home = folder / "org__m"
    home.mkdir()
    inside = {"samples": {"arc": old}} if layout == "a whole dump" else {}
    (home / f"results_{STAMP}.json").write_text(json.dumps(results(**inside)))
    if layout == "May 2024":
        (home / f"samples_arc_{STAMP}.json").write_text(json.dumps(items("May 2024"), indent=2))
    elif layout == "June 2024":
        (home / f"samples_arc_{STAMP}.json").write_text(lines)
    elif layout == "0.4.3":
        (home / f"samples_arc_{STAMP}.jsonl").write_text(lines)
    return home


LAYOUTS = ("0.4.0 folder", "0.4.0 file", "May 2024", "June 2024", "0.4.3", "a whole dump")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_says_the_same(tmp_path, layout, capsys):
    run = load_run(write(tmp_path / "out", layout))
    (task,) = run.tasks.values()
    assert (run.model, task.name) == ("org/m", "arc")
    for one in FILTERS:
        table = task.table(one["name"])
        assert table.metrics["exact_match"].tolist() == [
            right(at, one["name"]) for at in range(ROWS)
        ]
        assert not table.repeated_ids.size
        rows = [ROWS - 1, 0, 3]
        read = [(sample.filter, sample.doc_id) for sample in table.read(rows)]
        assert read == [(one["name"], row) for row in rows]
    assert task.path.is_relative_to(tmp_path / "out")  # and not a copy
    first = next(task.samples())
    assert first.prompt.startswith("Q: Question 0?") or layout in {"May 2024", "June 2024", "0.4.3"}
    assert first.hashes.prompt
    for verb in (["score", "--no-write"], ["report", "--out", str(tmp_path / "page")]):
        assert (
            main(
                [
                    verb[0],
                    str(tmp_path / "out" / ("mine.json" if layout.endswith("file") else "")),
                    *verb[1:],
                ]
            )
            == 0
        )
    assert "Traceback" not in "".join(capsys.readouterr())


def test_the_file_named_after_the_model_counts_before_a_renamed_one(tmp_path):
    folder = write(tmp_path / "out", "0.4.0 folder")
    (folder / "another_arc.jsonl").write_text("[]")
    (task,) = load_run(folder).tasks.values()
    assert len(task.table(FILTERS[0]["name"])) == ROWS


@pytest.mark.parametrize("layout", ["May 2024", "June 2024", "0.4.3"])
@pytest.mark.parametrize("content", ["", "[]", "[", "\n\n", "{}\n", "[1, 2]", "\ufeff"])
def test_a_file_without_samples_has_no_rows_under_any_filter(tmp_path, layout, content):
    home = write(tmp_path / "out", layout)
    (samples,) = (path for path in home.iterdir() if "_arc" in path.name)
    samples.write_text(content)
    (task,) = load_run(home).tasks.values()
    assert [len(task.table(one["name"])) for one in FILTERS] == [0, 0]
    assert list(task.samples()) == []


@pytest.mark.parametrize("layout", ["0.4.0 folder", "May 2024"])
@pytest.mark.parametrize("place", ["within a row", "between two rows", "within a character"])
def test_the_whole_rows_of_a_list_that_breaks_off_are_read(tmp_path, layout, place, capsys):
    home = write(tmp_path / "out", layout)
    (samples,) = (path for path in home.iterdir() if "_arc" in path.name)
    raw = samples.read_bytes()
    at = raw.index(b'"doc_id": 9') + 30
    if place == "between two rows":
        at = raw.rindex(b"}", 0, at - 30) + 1
    end = "\N{SNOWMAN}".encode()[:2] if place == "within a character" else b""
    samples.write_bytes(raw[:at] + end)
    (task,) = load_run(home).tasks.values()
    table = task.table("strict-match")
    assert table.metrics["exact_match"].tolist() == [right(one, "strict-match") for one in range(9)]
    assert [one.why for one in table.damage] == ["cut off"]
    results = next(path for path in home.iterdir() if path.name.startswith("results"))
    results.write_text(json.dumps(results_with_count()))
    assert main(["score", str(home), "--no-write"]) == 0
    assert "3 of 12 expected rows are missing" in " ".join(capsys.readouterr().out.split())


def results_with_count():
    return results(**{"n-samples": {"arc": {"original": ROWS, "effective": ROWS}}})


def test_old_and_new_files_of_one_run_meet_row_by_row(tmp_path):
    old = load_run(write(tmp_path / "old", "0.4.0 folder"))
    home = write_run(tmp_path / "new", {})
    (home / f"samples_arc_{STAMP}.jsonl").write_text(
        "".join(json.dumps(item) + "\n" for item in items("today"))
    )
    new = load_run(home)
    # Documents of before May 2024 have no digest in their files; it is made as lm-eval makes it.
    lines = [
        json.loads(line) for line in (home / f"samples_arc_{STAMP}.jsonl").read_text().splitlines()
    ]
    digests = [sample.hashes.doc for sample in old.tasks["arc"].samples("strict-match")]
    for line in lines:
        line["doc_hash"] = digests[line["doc_id"]]
    (home / f"samples_arc_{STAMP}.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    (compared,) = compare_runs(new, old, filter_name="strict-match").tasks
    assert (compared.difference.n, compared.difference.agreement) == (ROWS, 1.0)


def shards(folder, first, second, **more):
    for stamp, rows in ((STAMP, first), (LATER, second)):
        counts = {"n-samples": {"t": {"original": 40, "effective": len(rows)}}}
        home = write_run(
            folder,
            {"t": [Row(f"r{at}", float(at % 2)) for at in rows]},
            stamp=stamp,
            extra=counts | more,
        )
        more = {}
    return home


def test_shards_of_a_task_are_put_together(tmp_path):
    home = shards(tmp_path, range(25), range(25, 40))
    each = load_run(home, timestamp="each")
    assert len(each.tasks["t"].table()) == 40
    assert each.notes == ["t: 2 parts of 40 rows are put together"]
    assert each.logged.tasks["t"].rows == RowCounts(original=40, effective=40)
    assert each.tasks["t"].metric("exact_match", "none").value is None
    assert len(load_run(home).tasks["t"].table()) == 15
    task = each.tasks["t"]
    streamed = [sample.sample_id for sample in task.samples()]
    assert streamed == [*task.table().ids] == [f"r{at}" for at in range(40)]
    rows = [39, 0, 24, 25]
    assert [sample.doc["sample_id"] for sample in task.table().read(rows)] == [
        f"r{at}" for at in rows
    ]
    assert_same(cached_table(task.source, "none", small=0), task.table())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalprep.samples.store.table_of", lambda *_, **__: pytest.fail("read"))
        assert_same(cached_table(task.source, "none", small=0), task.table())


@pytest.mark.parametrize(
    ("first", "second", "more"),
    [
        (range(25), range(20, 35), {}),
        (range(25), range(25, 40), {"n-shot": {"t": 5}}),
        (range(30), range(30), {}),
    ],
    ids=["the same rows", "asked in another way", "more rows than there are"],
)
def test_calls_that_are_no_shards_stay_apart(tmp_path, first, second, more):
    each = load_run(shards(tmp_path, first, second, **more), timestamp="each")
    assert len(each.tasks["t"].table()) == len(second)


def test_a_home_that_cannot_be_written_costs_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EVALPREP_CACHE", str(tmp_path / "file"))
    run = load_run(write(tmp_path / "out", "May 2024"))
    assert len(run.tasks["arc"].table("strict-match")) == ROWS


def test_other_json_files_are_no_runs(tmp_path, capsys):
    (tmp_path / "results.json").write_text('{"results": [1]}')
    assert main(["score", str(tmp_path)]) == 2
    assert main(["score", str(tmp_path / "results.json")]) == 2
    assert "Traceback" not in "".join(capsys.readouterr())


def former(folder, name, model, task, value):
    """A results file of before May 2024, as `--output_path NAME` wrote it, without samples."""
    content = results(config={"model": "hf", "model_args": f"pretrained={model}"})
    content |= {
        "results": {task: {"acc,none": value, "acc_stderr,none": 0.01, "alias": task}},
        "configs": {task: {"task": task}},
        "date": 1713518275.5,
    }
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(content))


def test_files_of_one_model_that_are_named_after_their_tasks_are_one_run(tmp_path, capsys):
    for task, value in (("arc", 0.5), ("gsm8k", 0.25), ("mmlu", 0.75)):
        former(tmp_path, f"{task}.json", "org/m", task, value)
    run = load_run(tmp_path)
    assert {name: task.metrics[0].value for name, task in run.logged.tasks.items()} == {
        "arc": 0.5,
        "gsm8k": 0.25,
        "mmlu": 0.75,
    }
    (note,) = run.files.notes
    assert f"3 results files in {tmp_path} are one run: " in note
    assert main(["leaderboard", str(tmp_path), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert {name: cell["value"] for name, cell in row["cells"].items()} == {
        "arc": 0.5,
        "gsm8k": 0.25,
        "mmlu": 0.75,
    }


@pytest.mark.parametrize("other", ["org/second", "org/first,revision=step1000"])
def test_files_of_two_models_over_different_tasks_are_not_put_together(tmp_path, other):
    former(tmp_path, "a.json", "org/first", "arc", 0.5)
    former(tmp_path, "b.json", other, "gsm8k", 0.25)
    assert [list(load_run(place).logged.tasks) for place in each_run([tmp_path])] == [
        ["arc"],
        ["gsm8k"],
    ]


def test_files_of_several_models_are_a_run_each(tmp_path, capsys):
    for model, value in (("first", 0.5), ("second", 0.25)):
        former(tmp_path, f"{model}.json", f"org/{model}", "arc", value)
    assert main(["leaderboard", str(tmp_path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["label"]: row["cells"]["arc"]["value"] for row in rows} == {
        "first": 0.5,
        "second": 0.25,
    }
    with pytest.raises(BadInput, match="neither a date in the files nor their names") as caught:
        load_run(tmp_path)
    assert all(name in str(caught.value) for name in ("first.json", "second.json"))
    assert load_run(tmp_path / "first.json").model == "org/first"
    assert main(["compare", str(tmp_path), "--no-write"]) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in ("first.json", "second.json"))
    main(["compare", str(tmp_path / "first.json"), "--no-write"])
    assert "not computed, because no task has samples to compare" in capsys.readouterr().out
