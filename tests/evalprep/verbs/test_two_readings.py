"""Two filters of one task that read the same replies differently, through every verb that reads them."""

import json

import pytest

from evalprep.cli import main
from tests.evalprep.choice_project import LETTERS, TASK, Project
from tests.evalprep.results.writing import Row, write_run

THOUGHTS = "most replies end inside an unfinished thought (16 of 16 looked at)"
TWO = "two readings of the same replies differ by more than the interval is wide"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


def asked(capsys, *words):
    """The exit code of a verb, and its output on one line."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    streams = capsys.readouterr()
    return code, " ".join((streams.out + streams.err).split())


def thought(at):
    """A reply that never leaves its thought, in which the right letter stands."""
    return f"<think> So the best answer is {LETTERS[at % 4]}. But perhaps"


def policy(project, rule=""):
    path = project.folder / "policy.yaml"
    tasks = f", tasks: {{{TASK}: {rule}}}" if rule else ""
    path.write_text(f"{{defaults: {{max_drop: 0.01, slack: 0.5, min_n: 5}}{tasks}}}")
    return path


def test_unfinished_thoughts_are_not_comparable_until_a_reading_is_chosen(project, capsys):
    home = project.answer(project.prepare(), thought)
    code, out = asked(capsys, "compare", home, "--no_write")
    assert code == 3
    assert "better" not in out
    assert out.index(THOUGHTS) < out.index("Verdicts")
    values = "exact_match (strict-match) is 100.0, exact_match (flexible-extract) 0.0"
    assert f"{TWO}: {values}; `--metric @strict-match` chooses one" in out
    code, out = asked(capsys, "compare", home, "--no_write", "--metric", "@strict-match")
    assert code == 0
    assert "exact_match (strict-match) better" in out
    assert THOUGHTS in out
    code, out = asked(capsys, "compare", home, "--no_write", "--metric", "exact_match")
    assert (code, TWO in out) == (3, True)
    code, out = asked(capsys, "compare", home, "--no_write", "--metric", "@flexible-extract")
    assert "not comparable" not in out
    code, out = asked(capsys, "gate", home, "--policy", policy(project))
    assert code == 3
    assert TWO in out
    chosen = policy(project, "{filter: flexible-extract}")
    assert TWO not in asked(capsys, "gate", home, "--policy", chosen)[1]


def test_every_verb_names_its_reading_and_the_thoughts(project, capsys):
    home = project.answer(project.prepare(), thought)
    reading = "exact_match (flexible-extract)"
    for words in (
        ("score", home, "--no_write"),
        ("samples", home, "--wrong"),
        ("rescore", home, "--no_write"),
        ("compare", home, "--no_write"),
        ("compare", home, home, "--no_write"),
    ):
        _, out = asked(capsys, *words)
        assert reading in out, words
        assert THOUGHTS in out, words
    _, out = asked(capsys, "samples", home, "--wrong")
    assert f"5 of 16 wrong samples ({TASK} 16), by {reading}" in out
    _, out = asked(capsys, "rescore", home, "--no_write")
    assert "before 0.0000, now 0.0000" in out
    assert "by strict-match: before 1.0000, now 1.0000" in out
    assert THOUGHTS in asked(capsys, "leaderboard", home)[1]


def test_two_runs_of_thoughts_whose_filters_contradict_each_other(project, capsys):
    run = project.prepare()
    home = project.answer(run, thought, out="candidate")
    before = project.answer(run, out="baseline")
    code, out = asked(capsys, "compare", home, before, "--no_write")
    assert code == 3
    assert TWO in out
    chosen = ("--metric", "@flexible-extract")
    assert asked(capsys, "compare", home, before, "--no_write", *chosen)[0] in {0, 1}


def test_a_filter_broken_after_the_run(project, capsys):
    home = project.answer(project.prepare())
    project.edit(("best answer is ([A-Z])", "no such words ([A-Z])"))
    _, out = asked(capsys, "rescore", home, "--out", "again")
    assert "before 0.1875, now 0.1875; 0 up, 0 down" in out
    assert "by strict-match: before 0.1875, now 0.0000; 0 up, 3 down" in out
    _, out = asked(capsys, "compare", "again", home, "--no_write")
    assert "both sides are read by exact_match (flexible-extract)" in out
    said = "the scorer differs on 3 of 16 equal replies"
    assert said in out
    code, out = asked(capsys, "compare", "again", "--no_write")
    assert code == 0
    assert "exact_match (published rule)" in out
    assert "exact_match (strict-match, edited) is 0.0" in out


def test_a_renamed_filter_is_named_by_rescore(project, capsys):
    home = project.answer(project.prepare())
    project.edit(("name: strict-match", "name: by-the-book"))
    _, out = asked(capsys, "rescore", home, "--no_write")
    assert "by by-the-book: not in the run, now 0.1875" in out
    assert "by strict-match: before 0.1875, not a filter of the task now" in out


def test_reply_limits_that_only_the_requests_name_are_settings(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [Row(str(at), float(at % 2)) for at in range(30)]
    homes = [write_run(tmp_path / name, {"t": rows}) for name in ("short", "long")]
    (samples,) = homes[1].glob("samples_*")
    samples.write_text(samples.read_text().replace('"max_gen_toks": 100', '"max_gen_toks": 2048'))
    code, out = asked(capsys, "compare", *homes, "--no_write")
    assert code == 3
    assert "generation max_gen_toks 100 / 2048" in out
    assert asked(capsys, "compare", *homes, "--no_write", "--allow", "generation")[0] == 0
    _, out = asked(capsys, "compare", *homes, "--no_write", "--json")
    assert json.loads(out[: out.rindex("}") + 1])["tasks"][0]["verdict"] == "not comparable"
