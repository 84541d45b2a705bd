"""Published verdicts are held against the pack's own rule, whatever filters the work folder has."""

import json

import pytest

from evalprep.cli import main
from tests.evalprep.choice_project import LETTERS, TASK, Project

PATTERN = "best answer is ([A-Z])"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


def asked(capsys, *words):
    """The exit code and the output of a verb."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    streams = capsys.readouterr()
    return code, streams.out, " ".join((streams.out + streams.err).split())


def published(capsys, home):
    """The comparison with the published verdicts, as data and on the terminal."""
    code, out, _ = asked(capsys, "compare", home, "--no_write", "--json")
    data = json.loads(out)
    return code, data, data["tasks"][0], asked(capsys, "compare", home, "--no_write")[2]


def with_more(at):
    """A right letter in the reply's first words, which an edited pattern reads."""
    return f"First {LETTERS[at % 4]}. So the best answer is {LETTERS[(at + (at >= 3)) % 4]}."


EDITS = {
    "a looser pattern": [(PATTERN, "First ([A-Z])")],
    "a broken pattern": [(PATTERN, "no such words ([A-Z])")],
    "renamed": [("name: strict-match", "name: by-the-book")],
    "renamed and edited": [("name: strict-match", "name: by-the-book"), (PATTERN, "First ([A-Z])")],
    "another one takes its name": [
        ("name: strict-match", "name: loose"),
        ("name: flexible-extract", "name: strict-match"),
        ("primary_filter: flexible-extract", "primary_filter: strict-match"),
    ],
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_or_renamed_filter_leaves_the_published_rule_alone(project, capsys, edit):
    run = project.prepare()
    project.edit(*EDITS[edit])
    home = project.answer(run, with_more)
    code, _, task, said = published(capsys, home)
    assert (task["previous"], task["now"], task["gained"], task["lost"]) == (0.1875, 0.1875, 0, 0)
    assert task["filter"] == "published rule"
    assert "no filter of the run is the published rule" in said
    assert code == 0
    assert "same verdict on all 16 rows" in said


def test_the_edited_filter_is_shown_beside_it_under_its_own_name(project, capsys):
    run = project.prepare()
    project.edit(*EDITS["a looser pattern"])
    home = project.answer(run, with_more)
    _, _, _, said = published(capsys, home)
    assert "exact_match (strict-match, edited) is 100.0" in said
    chosen = ("compare", home, "--no_write", "--json", "--metric", "@strict-match")
    code, out, _ = asked(capsys, *chosen)
    assert code == 3
    assert "filter_list.strict-match prepared" in out
    code, out, _ = asked(capsys, *chosen, "--allow", "filter")
    task = json.loads(out)["tasks"][0]
    assert (code, task["filter"], task["now"]) == (0, "strict-match", 1.0)
    code, out, _ = asked(capsys, "compare", home, "--no_write", "--metric", "@flexible-extract")
    assert code == 0


def test_a_filter_as_prepared_is_the_published_rule(project, capsys):
    home = project.answer(project.prepare())
    code, _, task, said = published(capsys, home)
    assert (code, task["filter"], task["gained"], task["lost"]) == (0, "strict-match", 0, 0)
    assert "edited" not in said


def test_metadata_of_the_work_folder_do_not_name_the_rule(project, capsys):
    run = project.prepare()
    project.edit(
        ("  primary_filter: flexible-extract", "  published_filter: loose"),
        ("name: flexible-extract", "name: loose"),
        ("custom_metrics.harness.filters.choice_letter", "custom_metrics.harness.filters.reply"),
    )
    _, _, task, said = published(capsys, project.answer(run))
    assert (task["filter"], task["now"]) == ("strict-match", 0.1875)
    assert "exact_match (loose, edited) is 0.0" in said


def test_an_edited_scorer_leaves_it_alone(project, capsys):
    run = project.prepare()
    (project.work_dir / "meta" / "mine.py").write_text(
        "def choice(doc, results):\n    return {'exact_match': 1.0}\n"
    )
    project.edit(("!function custom_metrics.harness.results.choice", "!function mine.choice"))
    home = project.answer(run)
    _, _, task, _ = published(capsys, home)
    assert (task["now"], task["filter"]) == (0.1875, "published rule")


def test_gate_and_report_follow_the_same_rule(project, capsys):
    run = project.prepare()
    project.edit(*EDITS["a broken pattern"])
    home = project.answer(run)
    (project.folder / "policy.yaml").write_text("{defaults: {max_drop: 0.01, slack: 0.5}}")
    _, out, _ = asked(capsys, "gate", home, "--policy", "policy.yaml", "--json")
    check = json.loads(out)["checks"][0]
    assert (check["previous"], check["now"]) == (0.1875, 0.1875)
    asked(capsys, "report", home, "--out", "page", "--format", "json")
    comparison = json.loads((project.folder / "page" / "report.json").read_text())["comparisons"]
    assert comparison[0]["tasks"][0]["delta"] == 0
    assert TASK in out
