"""Samples on the terminal: the chosen ones, with prompt, reply, what was read, gold answer and reason."""

import json

import pytest

import evalprep
from evalprep.cli import main
from tests import PROJECT_ROOT
from tests.evalprep.results.writing import Row, write_run

LATER = "2026-03-02T09-30-00.5"
NEW, OLD = (str(PROJECT_ROOT / "tests/data/runs" / name) for name in ("new", "old"))


def printed(capsys, *words, code=0):
    assert main(["samples", *words]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_wrong_samples_are_shown_whole(capsys):
    text = printed(capsys, NEW, "--wrong", "--task", "arithmetic", "-n", "1")
    assert "=== 1: arithmetic, sample arithmetic-2\nprompt:\n  arithmetic 2?\nreply:\n  B\n" in text
    assert "answer read: B\ngold answer: A\nscore: 0 (exact_match)\n" in text
    assert "reason: the answer that was read is not the gold answer" in text
    assert "1 of 73 wrong samples (arithmetic 73), by exact_match\nnext: evalprep report" in text


def test_lost_samples_are_those_of_compare(capsys):
    text = printed(capsys, NEW, "--lost", "--baseline", OLD, "-n", "2")
    assert "reply of the baseline:\n  A\n" in text
    assert "score: 0 (exact_match), baseline 1" in text
    assert "2 of 33 lost samples (arithmetic 27, capitals 6)" in text
    assert f"next: evalprep report {NEW} --baseline {OLD}" in text
    comparison = evalprep.compare_runs(NEW, OLD)
    lost = [flip.sample_id for flip in comparison.flips() if flip.direction == "lost"]
    assert [view.sample_id for view in comparison.lost()] == lost


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lost"], "no row of the run carries a published verdict"),
        (["--unread"], "do not log which replies could not be read"),
        (["--baseline", OLD], "add --lost"),
        (["--task", "arithmetik"], "arithmetic"),
    ],
)
def test_samples_that_cannot_be_chosen(words, message, capsys):
    assert message in printed(capsys, NEW, *words, code=2)


def test_an_unread_reply_and_a_chat_prompt(tmp_path, capsys):
    prompt = json.dumps([{"role": "user", "content": "Name a letter.\nOnly one."}])
    rows = [
        Row("a", prompt=prompt, response="well", answer="[invalid]", correct=0.0),
        Row("b", response="A", answer="A", correct=1.0),
    ]
    home = str(write_run(tmp_path, {"letters": rows}))
    text = printed(capsys, home, "--unread")
    assert "prompt:\n  [user]\n  Name a letter.\n  Only one.\n" in text
    assert "reason: no answer could be read from the reply" in text
    assert "answer read: none\n" in text
    assert "1 of 1 unread sample (letters 1)" in text
    (view,) = evalprep.load_run(home).samples(which="unread")
    assert (view.sample_id, view.answer, view.score) == ("a", None, 0.0)


def test_long_texts_lose_their_middle_and_json_has_them_whole(tmp_path, capsys):
    home = str(write_run(tmp_path, {"letters": [Row("a", response="x" * 5_000, correct=0.0)]}))
    assert "3500 characters left out; --all prints them" in printed(capsys, home)
    assert "x" * 5_000 in printed(capsys, home, "--all")
    (sample,) = json.loads(printed(capsys, home, "--json"))
    assert len(sample["reply"]) == 5_000


def test_doubts_about_a_comparison_stand_beside_its_lost_samples(tmp_path, capsys):
    now = write_run(tmp_path / "now", {"t": [Row("a", 0.0, prompt="One?")]})
    before = write_run(tmp_path / "before", {"t": [Row("a", prompt="Two?")], "u": [Row("a")]})
    assert main(["samples", str(now), "--lost", "--baseline", str(before), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)[0]["sample_id"] == "a"
    assert "warning: the candidate has no u" in captured.err
    assert "warning: t: the prompt differs on 1 of 1 rows" in captured.err


def test_samples_of_one_of_several_models_are_not_shown_for_all(tmp_path, capsys):
    write_run(tmp_path, {"t": [Row("a")]}, model="org__first")
    write_run(tmp_path, {"t": [Row("a")]}, model="org__second", stamp=LATER)
    assert main(["samples", str(tmp_path)]) == 2
    assert "runs in 2 folders: org__second, org__first" in capsys.readouterr().err
    assert printed(capsys, str(tmp_path / "org__first"))


def test_messages_for_a_chat_server_are_shown_as_such(tmp_path, capsys):
    """lm-eval holds them as one text within a tuple, which it logs as a list."""
    home = write_run(tmp_path, {"letters": [Row("a", sent="SENT", response="")]})
    (samples,) = home.glob("samples_*")
    messages = json.dumps([{"role": "user", "content": "Name a letter.\nOnly one."}])
    logged = samples.read_text().replace('"SENT"', json.dumps([messages]))
    samples.write_text(logged)
    assert "prompt:\n  [user]\n  Name a letter.\n  Only one.\n" in printed(capsys, str(home))
    (view,) = evalprep.load_run(home).samples()
    assert view.prompt == messages


@pytest.mark.parametrize(
    ("reply", "answer", "reason"),
    [
        ("It is A.", "It is A.", "the whole reply was compared, and it holds more than the gold"),
        ("a, of course", "a, of course", "the whole reply was compared"),
        ("It is A.", "B", "the answer that was read is not the gold answer"),
        ("It is AB.", "It is AB.", "the answer that was read is not the gold answer"),
        ("(A)", "(A)", "the answer that was read is not the gold answer"),
    ],
)
def test_a_whole_reply_that_holds_the_gold_answer_has_a_reason_of_its_own(
    tmp_path, reply, answer, reason
):
    row = Row("a", response=reply, answer=answer, correct=0.0)
    (view,) = evalprep.load_run(write_run(tmp_path, {"t": [row]})).samples(which="wrong")
    assert view.reason.startswith(reason)


def test_a_sample_has_the_score_and_the_verdict_that_compare_counts(tmp_path, capsys):
    """A list of values counts as its mean; a verdict may be a text."""
    rows = [Row("a", [1, 0], previous="True"), Row("b", [1, 1], previous="false"), Row("c", None)]
    home = str(write_run(tmp_path, {"t": rows}))
    shown = json.loads(printed(capsys, home, "--json"))
    assert [(sample["score"], sample["published"]) for sample in shown] == [
        (0.5, True),
        (1.0, False),
        (None, None),
    ]
    frame = evalprep.samples_df(home)
    assert frame["score"].tolist()[:2] == [sample["score"] for sample in shown[:2]]
    assert frame["published"].tolist()[:2] == [sample["published"] for sample in shown[:2]]
    (lost,) = evalprep.compare_runs(home).lost()
    assert (lost.sample_id, lost.score) == ("a", 0.5)
    assert lost.reason == "the answer that was read is not the gold answer"
