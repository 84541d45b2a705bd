"""What people read of runs: metrics in tables, options as texts, equal lines once, lines that end at words."""

import contextlib
import csv
import io
import json
import re

import pytest

import evalprep
from evalprep.cli import main
from tests.evalprep.results.writing import Row, write_run

RIGHT = [Row(f"{at}", 1.0) for at in range(4)]


def scored_by(metric):
    return [Row(f"{at}", metrics={metric: 1.0}) for at in range(4)]


@pytest.mark.parametrize("verb", ["score", "compare"])
@pytest.mark.parametrize("same", [True, False], ids=["one metric", "two metrics"])
def test_tables_name_metrics_that_differ(tmp_path, capsys, verb, same):
    tasks = {"a": RIGHT, "b": RIGHT if same else scored_by("f1")}
    home = write_run(tmp_path / "new", tasks)
    words = ["score", str(home), "--no_write"]
    if verb == "compare":
        old = write_run(tmp_path / "old", tasks, model="org__older")
        words = ["compare", str(home), str(old), "--no_write"]
    main(words)
    lines = capsys.readouterr().out.splitlines()
    (head, *_) = [line.split() for line in lines if line.split()[:1] == ["task"]]
    assert ("metric" in head) != same
    if not same:
        row = next(line.split() for line in lines if line.split()[:1] == ["b"])
        assert row[1] == "f1"


def choice_run(folder, metric):
    """A run of one row, whose options have another order by length."""
    home = write_run(folder, {"t": [Row("0", metrics={metric: 1.0})]})
    (file,) = home.glob("samples_t_*.jsonl")
    sample = json.loads(file.read_text())
    ends = (" yes", " certainly so")
    sample["arguments"] = {
        f"gen_args_{at}": {"arg_0": "Is it?", "arg_1": end} for at, end in enumerate(ends)
    }
    values = [["-2.0", "False"], ["-3.0", "False"]]
    sample |= {"resps": [[value] for value in values], "filtered_resps": values, "target": "0"}
    file.write_text(json.dumps(sample) + "\n")
    return home


@pytest.mark.parametrize(("metric", "answer"), [("acc", "yes"), ("acc_norm", "certainly so")])
def test_options_are_texts(tmp_path, capsys, metric, answer):
    home = choice_run(tmp_path, metric)
    main(["export", str(home), "--to", "csv", "--out", str(tmp_path / "out")])
    (row,) = csv.DictReader((tmp_path / "out/samples.csv").read_text().splitlines())
    assert (row["target"], row["answer"]) == ("yes", answer)
    assert row["output"] == "yes (-2.000); certainly so (-3.000)"
    capsys.readouterr()
    main(["samples", str(home)])
    assert f"answer read: {answer}\ngold answer: yes" in capsys.readouterr().out
    (row,) = evalprep.samples_df(home).to_dict("records")
    assert (row["references"], row["answer"], row["replies"]) == (("yes",), answer, (answer,))


def test_sixty_tasks_do_not_print_sixty_equal_lines(tmp_path, capsys):
    names = [f"topic_{at:02}" for at in range(60)]
    other = [Row(f"{at}", 1.0, prompt=f"Please answer question {at}.") for at in range(4)]
    changed = {"topic_07": [Row(f"{at}", 0.0) for at in range(4)]}
    reworded = dict.fromkeys(names[10:40], other)
    new = write_run(tmp_path / "new", dict.fromkeys(names, RIGHT) | changed | reworded)
    old = write_run(tmp_path / "old", dict.fromkeys(names, RIGHT), model="org__older")
    main(["compare", str(new), str(old), "--no_write"])
    out = capsys.readouterr().out
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    assert len(lines) < 45
    assert len([line for line in lines if line.startswith("topic_07")]) in {3, 4}
    assert out.count("warning: ") == 1
    assert "59 tasks" in out


def test_parts_of_sixty_tasks_are_one_note(tmp_path, capsys):
    tasks = {f"topic_{at:02}": RIGHT for at in range(60)}
    sizes = {name: {"original": 100 + at, "effective": 4} for at, name in enumerate(tasks)}
    new, old = (
        str(write_run(tmp_path / name, tasks, model=f"org__{name}", extra={"n-samples": sizes}))
        for name in ("new", "old")
    )
    (tmp_path / "policy.yaml").write_text("defaults: {max_drop: 2 points}")
    policy = ["--policy", str(tmp_path / "policy.yaml")]
    for words in (["compare", new, old, "--no_write"], ["gate", new, old, *policy]):
        main(words)
        out = " ".join(capsys.readouterr().out.split())
        assert out.count("a part of the data: 4 of ") == 1
        assert "the same for topic_01, topic_02, topic_03 and 56 more" in out


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("words", "is_whole"),
    [
        ("run --tasks nowhere/with/a/rather/long/path/to/a/file.yaml --model org/m", False),
        ("check nowhere_at_all_" + "x" * 80, True),
        ("compare RUN --baseline RUN --metric t=nothing,t=others", False),
        ("score RUN", False),
        ("samples RUN", False),
    ],
)
def test_lines_of_a_terminal_end_at_words(tmp_path, monkeypatch, words, is_whole):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    home = write_run(
        tmp_path / ("a_long_name_of_a_folder_" * 4), {"t": RIGHT, "b": scored_by("f1")}
    )
    streams = Terminal(), Terminal()
    monkeypatch.setattr("sys.stdout", streams[0])
    monkeypatch.setattr("sys.stderr", streams[1])
    with contextlib.suppress(SystemExit):
        main([word.replace("RUN", str(home)) for word in words.split()])
    monkeypatch.undo()
    text = "".join(stream.getvalue() for stream in streams)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).splitlines()
    assert lines
    long = [line for line in lines if len(line) > 80 and len(line.split()) > 2]
    assert long == [] or is_whole


@pytest.mark.parametrize(
    ("words", "is_said"),
    [
        ("check nowhere", False),
        ("samples nowhere", False),
        ("leaderboard nowhere other", False),
        ("leaderboard nowhere other --out x", True),
        ("compare nowhere --no_write", False),
        ("compare nowhere other", True),
        ("score nowhere", True),
        ("run nowhere.yaml", True),
    ],
)
def test_nothing_was_written_where_something_would_have_been(
    tmp_path, monkeypatch, capsys, words, is_said
):
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert ("nothing was written" in error) == is_said
