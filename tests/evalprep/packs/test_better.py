"""`better:` of pack.yaml: lm-eval's tasks that a pack reads in another direction."""

import pytest

from evalprep.errors import Problems
from evalprep.packs.file import read_pack


def read(folder, better):
    folder = folder / "toy"
    folder.mkdir()
    (folder / "own.yaml").write_text("task: ${task}\n")
    text = f"tasks: {{own: {{template: own.yaml}}}}\ngroups: {{all_own: [own]}}\nbetter: {better}\n"
    (folder / "pack.yaml").write_text(text)
    problems = Problems()
    return read_pack(folder / "pack.yaml", problems), [problem.what for problem in problems.found]


def test_names_of_lm_eval(tmp_path):
    pack, problems = read(tmp_path, "{wmdp_bio: down, arc_easy: up}")
    assert pack.better == {"wmdp_bio": "down", "arc_easy": "up"}
    assert not problems


@pytest.mark.parametrize(
    ("better", "said"),
    [
        ("{own: down}", "own is a task or group of this pack"),
        ("{all_own: down}", "all_own is a task or group of this pack"),
        ("{wmdp_bio: zero}", "better.wmdp_bio is 'zero'"),
        ("[wmdp_bio]", "better is"),
    ],
)
def test_what_is_refused(tmp_path, better, said):
    _, problems = read(tmp_path, better)
    assert len(problems) == 1
    assert said in problems[0]


def test_unknown_names_are_told_where_lm_eval_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr("evalprep.packs.file.is_remembered", lambda: True)
    monkeypatch.setattr("evalprep.packs.file.stock_names", lambda: frozenset({"wmdp_bio"}))
    _, problems = read(tmp_path, "{wmdp_boi: down}")
    assert "'wmdp_boi' is not a task or group" in problems[0]


def test_packs_are_read_where_there_is_no_lm_eval(tmp_path, monkeypatch):
    monkeypatch.setattr("evalprep.packs.file.is_remembered", lambda: False)
    monkeypatch.setattr("evalprep.packs.file.stock_names", frozenset)
    _, problems = read(tmp_path, "{wmdp_bio: down}")
    assert not problems
