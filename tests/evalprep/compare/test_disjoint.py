"""Two runs of one task without a common question: the reason is named, and a limit is none that was not set."""

import pytest

from tests.evalprep.compare.small_runs import Task, two_small_runs, verdicts

ACC = {"acc": verdicts(40)}


def other_data(acc, **more):
    return Task(
        acc,
        prompt=lambda at: f"Other question {at}?",
        doc=lambda at: {"question": f"Other question {at}?"},
        gold=lambda at: f"gold {at % 3}",
        **more,
    )


@pytest.fixture
def said(run_verb, tmp_path):
    """Exit code and what `compare` and `gate` say of two runs of one task, each on one line."""
    policy = tmp_path / "policy.yaml"
    policy.write_text("defaults: {max_drop: 0.02}", encoding="utf-8")

    def run(now, before, *options):
        homes = two_small_runs(tmp_path, {"t": now}, {"t": before})
        texts = []
        for verb, further in (("compare", ["--no_write"]), ("gate", ["--policy", policy])):
            code, out = run_verb(verb, *homes, *further, *options)
            assert code == 3
            texts.append(" ".join(out.split()))
        return texts

    return run


def test_other_questions_are_the_reason_and_not_a_limit(said):
    outs = said(Task(ACC), other_data({"acc": verdicts(30)}))
    assert len(outs) == 2
    for out in outs:
        assert "no question is on both sides (40 rows of the candidate, 30 of the baseline" in out
        assert "0 paired by sample id, document hash, prompt or question" in out
        assert "the documents at 30 equal positions differ" in out
        assert "--allow" not in out
        assert "of 40 rows" not in out


def test_a_limit_is_named_where_it_was_set_and_not_as_what_can_be_allowed(said):
    outs = said(Task(ACC, original=400), other_data(ACC))
    assert len(outs) == 2
    for out in outs:
        assert "no question is on both sides" in out
        assert "the candidate has 40 of 400 rows" in out
        assert "allow limit" not in out


def test_allowing_the_limit_does_not_make_other_questions_comparable(run_verb, tmp_path):
    homes = two_small_runs(tmp_path, {"t": Task(ACC, original=400)}, {"t": other_data(ACC)})
    code, out = run_verb("compare", *homes, "--no_write", "--allow", "limit")
    assert code == 3
    assert "Not comparable on t: no question is on both sides" in " ".join(out.split())


def test_another_data_set_is_named(said):
    before = other_data(ACC, config={"dataset_path": "x/new"})
    outs = said(Task(ACC, config={"dataset_path": "x/old"}), before)
    assert len(outs) == 2
    for out in outs:
        assert "the data set differs: x/old, baseline x/new" in out


def test_equal_gold_answers_hint_at_another_form_of_the_questions(said):
    gold = [f"gold {at % 3}" for at in range(40)].__getitem__
    before = Task(
        ACC,
        prompt=lambda at: f"Reworded {at}",
        doc=lambda at: {"question": f"Reworded {at}"},
        gold=gold,
    )
    outs = said(Task(ACC, gold=gold), before)
    assert len(outs) == 2
    for out in outs:
        assert "the gold answers at 40 equal positions are the same" in out
        assert "perhaps the same questions in another form" in out


def test_a_common_row_leaves_the_limit_as_the_reason(said):
    outs = said(Task(ACC, original=400), Task({"acc": verdicts(50)}))
    assert len(outs) == 2
    for out in outs:
        assert "the candidate has 40 of 400 rows" in out
        assert "no question is on both sides" not in out


def test_a_leaderboard_marks_the_run_with_other_questions(run_verb, tmp_path):
    homes = two_small_runs(tmp_path, {"t": Task(ACC)}, {"t": other_data(ACC)})
    _, out = run_verb("leaderboard", *homes, "--out", tmp_path / "board")
    assert "no question is on both sides" in " ".join(out.split())


def test_a_suite_mean_of_other_questions_is_not_compared(said):
    compared, _ = said(Task(ACC), other_data(ACC))
    assert "overall: not computed, because t is not comparable" in compared
    assert "No difference shown" not in compared
