"""Groups over unequal sets of tasks and runs over a part of the rows: which of them is marked."""

import json

import pytest

from evalprep.cli import main
from tests.evalprep.leaderboard.runs import ROWS, rows, write
from tests.evalprep.results.writing import Row, write_run


def write_group(home, model, *tasks):
    """One run of the group `exam` over some of its tasks."""
    return write_run(
        home,
        {task: rows(0.6, at) for at, task in enumerate(tasks)},
        model=model,
        extra={"group_subtasks": {"exam": list(tasks)}, "groups": {"exam": {"alias": "exam"}}},
    )


def cells_of(capsys, column, *arguments):
    assert main(["leaderboard", *map(str, arguments), "--json"]) == 0
    board = json.loads(capsys.readouterr().out)
    return {row["label"]: row["cells"][column] for row in board["rows"]}


@pytest.mark.parametrize("order", [("part", "whole"), ("whole", "part")])
def test_a_group_over_fewer_tasks_is_marked_and_names_them(tmp_path, capsys, order):
    folders = {
        "part": write_group(tmp_path, "part", "art", "law"),
        "whole": write_group(tmp_path, "whole", "art", "law", "math"),
    }
    cells = cells_of(capsys, "exam", *(folders[name] for name in order))
    assert cells["part"]["tasks"] == ["art", "law"]
    assert cells["whole"]["tasks"] == ["art", "law", "math"]
    assert (cells["part"]["standing"], cells["whole"]["standing"]) == ("incomplete", "")
    assert cells["part"]["why"] == ["group exam covers 2 of 3 tasks, without math"]


def test_the_footnote_in_the_terminal_names_the_missing_task(tmp_path, capsys):
    write_group(tmp_path, "part", "art", "law")
    write_group(tmp_path, "whole", "art", "law", "math")
    assert main(["leaderboard", str(tmp_path), "--scores", "exam"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "‡ part: group exam covers 2 of 3 tasks, without math" in shown


def test_groups_over_overlapping_tasks_are_both_marked(tmp_path, capsys):
    folders = [write_group(tmp_path, "a", "art", "law"), write_group(tmp_path, "b", "law", "math")]
    cells = cells_of(capsys, "exam", *folders)
    assert {label: cell["why"] for label, cell in cells.items()} == {
        "a": ["group exam covers 2 of 3 tasks, without math"],
        "b": ["group exam covers 2 of 3 tasks, without art"],
    }


@pytest.mark.parametrize("order", [("few", "fewer", "full"), ("full", "few", "fewer")])
def test_runs_with_a_limit_are_marked_and_the_full_run_is_not(tmp_path, capsys, order):
    folders = {
        "few": write(tmp_path, "/few", rows(0.9, 1, 50), rows(0.5, 2, 50), asked=50),
        "fewer": write(tmp_path, "/fewer", rows(0.8, 3, 50), rows(0.5, 4, 50), asked=50),
        "full": write(tmp_path, "/full", rows(0.5, 5), rows(0.5, 6)),
    }
    cells = cells_of(capsys, "known", *(folders[name] for name in order))
    assert {label: cell["standing"] for label, cell in cells.items()} == {
        "few": "other question",
        "fewer": "other question",
        "full": "",
    }
    assert f"it has 50 of {ROWS} rows" in cells["few"]["why"][0]


def test_runs_that_were_chosen_from_several_in_their_folder_are_named(tmp_path, capsys):
    for model in ("a", "b"):
        write_run(tmp_path, {"first": rows(0.6, 1)}, model=model)
        write_run(tmp_path, {"first": rows(0.6, 2)}, model=model, stamp="2026-03-02T09-30-00.5")

    def notes(*arguments):
        assert main(["leaderboard", *map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)["notes"]

    (note,) = notes(tmp_path / "a")
    assert note.startswith(f"a: 2 runs in {tmp_path / 'a'}: the newest, 2026-03-02T09-30-00.5,")
    (note,) = notes(tmp_path)
    assert note.startswith("a, b: the newest of several runs in the folder (--timestamp")
    assert notes(tmp_path, "--timestamp", "each") == []


def test_a_task_of_a_shown_group_has_no_column_for_its_second_metric_either(tmp_path, capsys):
    both = [Row(f"r{at}", metrics={"acc": 1.0, "acc_norm": 0.0}) for at in range(20)]
    extra = {"group_subtasks": {"exam": ["art", "law"]}, "groups": {"exam": {"alias": "exam"}}}
    write_run(tmp_path, {"art": both, "law": both, "alone": both}, extra=extra)
    assert main(["leaderboard", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "1 model, 3 of 7 columns" in printed
    assert "art" not in printed
    assert main(["leaderboard", str(tmp_path), "--scores", "*"]) == 0
    assert "art: acc_norm" in " ".join(capsys.readouterr().out.split())


def test_a_results_file_that_was_not_read_is_named_beside_a_choice_of_runs(tmp_path, capsys):
    """Notes on the choice of two runs are joined; what else a folder holds is another note."""
    homes = []
    for model in ("a", "b"):
        for stamp in ("2026-01-01T10-00-00.5", "2026-02-01T10-00-00.5"):
            home = write_run(tmp_path, {"t": [Row("1")]}, stamp=stamp, model=model)
        homes.append(str(home))
    named = {"results": {"t": {"acc,none": 0.5, "acc_stderr,none": 0.1}}}
    (tmp_path / "a" / "mine.json").write_text(json.dumps(named), encoding="utf-8")
    assert main(["leaderboard", *homes, "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert sum("the newest of several runs" in note for note in notes) == 1
    (unread,) = [note for note in notes if "mine.json" in note]
    assert unread.startswith("a: ")
