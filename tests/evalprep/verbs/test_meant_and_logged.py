"""What was prepared is held against what lm-eval logged, and every verb names the same difference."""

import json
import shutil

import pytest

from evalprep.cli import main
from evalprep.results import load_run
from tests.evalprep.choice_project import LETTERS, TASK, Project, stated

PATTERN = "best answer is ([A-Z])"


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


def gate(capsys, project, *places, rule="{max_drop: 0.01, slack: 0.9, min_n: 5}", allow=()):
    policy = project.folder / "policy.yaml"
    policy.write_text(json.dumps({"allow": list(allow)})[:-1] + f", defaults: {rule}}}")
    return asked(capsys, "gate", *places, "--policy", policy)


def each_verb(home, project):
    """The verbs that name what is not as prepared as a note."""
    return (
        ("score", home, "--no_write"),
        ("report", home, "--out", "page"),
        ("samples", home),
        ("leaderboard", home),
        ("rescore", home, "--no_write"),
        ("status", project.results),
        ("compare", home, "--no_write"),
    )


# Edit of the task file -> what is said, and the option that lifts it.
EDITS = {
    "reply limit": (
        ("max_gen_toks: 1024", "max_gen_toks: 4"),
        "generation_kwargs.max_gen_toks prepared 1024, logged 4",
        "generation",
    ),
    "stop strings": (
        ("until: []", 'until: ["\\n"]'),
        'generation_kwargs.until prepared [], logged ["\\n"]',
        "generation",
    ),
    "another generation argument": (
        ("  temperature: 0.0", "  top_p: 0.5\n  temperature: 0.0"),
        "generation_kwargs.top_p prepared none, logged 0.5",
        "generation",
    ),
    "the prompt": (
        ("doc_to_text: prompt", 'doc_to_text: "{{prompt}} Be brief."'),
        "doc_to_text prepared prompt, logged {{prompt}} Be brief.",
        "prompt",
    ),
    "a description": (
        ("num_fewshot: 0", 'num_fewshot: 0\ndescription: "Be brief. "'),
        "description prepared none, logged Be brief.",
        "prompt",
    ),
    "the gold answer": (
        ("doc_to_target: target", "doc_to_target: previous_parsed_answer"),
        "doc_to_target prepared target, logged previous_parsed_answer",
        "gold",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_question_is_not_comparable_with_published_verdicts(project, capsys, edit):
    change, said, fact = EDITS[edit]
    run = project.prepare()
    project.edit(change)
    home = project.answer(run)
    assert load_run(home).meant[TASK].state == "edited"
    code, out = asked(capsys, "compare", home, "--no_write")
    assert code == 3
    assert said in out
    assert f"`--allow {fact}` compares anyway" in out
    allowed = ("--allow", fact, "--allow", "rows", "--allow", "prompt")
    code, out = asked(capsys, "compare", home, "--no_write", *allowed)
    assert "not comparable" not in out.lower()
    assert said in out
    code, out = gate(capsys, project, home)
    assert code == 3
    assert said in out
    code, out = gate(capsys, project, home, allow=[fact, "rows", "prompt"])
    assert "not comparable" not in out


def test_each_verb_names_an_edit(project, capsys):
    change, said, _ = EDITS["reply limit"]
    run = project.prepare()
    project.edit(change)
    home = project.answer(run)
    for words in each_verb(home, project):
        _, out = asked(capsys, *words)
        assert f"{TASK}: not as prepared: {said}" in out, words[0]
    assert said in (project.folder / "page" / "report.html").read_text()


def test_two_runs_are_compared_as_they_were_asked(project, capsys):
    run = project.prepare()
    project.edit(EDITS["reply limit"][0])
    first = project.answer(run, out="first")
    again = project.answer(run, out="again")
    code, out = asked(capsys, "compare", first, again, "--no_write")
    assert code == 0
    project.edit(("max_gen_toks: 4", "max_gen_toks: 1024"))
    whole = project.answer(run, out="whole")
    code, out = asked(capsys, "compare", first, whole, "--no_write")
    assert code == 3
    assert "generation max_gen_toks 4 / 1024" in out
    assert asked(capsys, "compare", first, whole, "--no_write", "--allow", "generation")[0] == 0
    assert gate(capsys, project, first, whole)[0] == 3


def test_an_edited_filter_decides_between_two_runs_and_not_against_published_verdicts(
    project, capsys
):
    run = project.prepare()
    before = project.answer(run, out="before")
    project.edit(
        (
            "custom_metrics.harness.filters.choice_letter",
            "custom_metrics.harness.filters.direct_letter",
        )
    )
    home = project.answer(run)
    code, out = asked(capsys, "compare", home, before, "--no_write")
    assert code == 3
    assert "the steps of the filter differ: filter_fn" in out
    lifted = ("--allow", "filter_steps")
    assert asked(capsys, "compare", home, before, "--no_write", *lifted)[0] in {0, 1}
    code, out = asked(capsys, "compare", home, "--no_write")
    assert code == 0
    assert f"{TASK}: not as prepared: filter_list.flexible-extract" in out


def test_a_command_pasted_after_another_preparation(project, capsys):
    first = project.prepare()
    before = project.answer(first, out="before")
    project.write_data("Other-Instruct-evals", 37, 30)
    assert project.prepare() != first
    home = project.answer(first, lambda at: stated(LETTERS[at % 4]))
    said = "other rows than prepared: expected 16, found 37"
    for words in each_verb(home, project):
        _, out = asked(capsys, *words)
        assert f"{TASK}: {said}" in out, words[0]
    code, out = asked(capsys, "compare", home, "--no_write")
    assert code == 3
    assert f"{said}; `--allow rows` compares anyway" in out
    assert "worse by" not in out
    assert gate(capsys, project, home)[0] == 3
    code, out = asked(capsys, "compare", home, "--no_write", "--allow", "rows")
    assert code != 3
    code, out = asked(capsys, "compare", home, before, "--no_write")
    assert code == 3
    assert said in out
    assert gate(capsys, project, home, before)[0] == 3
    assert asked(capsys, "compare", home, home, "--no_write")[1].count("`--allow rows`") == 0


@pytest.mark.parametrize("rows", [16, 9])
def test_other_rows_are_known_by_their_content(project, capsys, rows):
    first = project.prepare()
    project.write_data("Other-Instruct-evals", rows, 2)
    project.prepare()
    home = project.answer(first)
    said = f"other rows than prepared: expected 16, found {rows}"
    assert next(load_run(home).meant[TASK].sentences(), "") == said
    assert asked(capsys, "compare", home, "--no_write")[0] == 3


def test_rows_of_other_verdicts_are_other_rows(project):
    first = project.prepare()
    shutil.rmtree(project.folder / "data")
    project.write_data("Tiny-Instruct-evals", 16, 12)
    project.prepare()
    assert load_run(project.answer(first)).meant[TASK].state == "other rows"


def test_missing_rows_are_not_other_rows(project, capsys):
    home = project.answer(project.prepare())
    (samples,) = home.glob("samples_*")
    lines = samples.read_text().splitlines()
    samples.write_text("".join(f"{line}\n" for line in lines if json.loads(line)["doc_id"] < 10))
    assert load_run(home).meant[TASK].state == "equal"
    code, out = asked(capsys, "compare", home, "--no_write")
    assert code == 3
    assert "6 of 16 expected rows are missing" in out
    assert "other rows" not in out


def test_a_run_without_a_record_is_unknown(project, capsys):
    run = project.prepare()
    project.edit(EDITS["reply limit"][0])
    home = project.answer(run, out="elsewhere")
    assert load_run(home).meant[TASK].state == "unknown"
    assert asked(capsys, "compare", home, "--no_write")[0] == 0


def test_an_edit_taken_back_is_none_though_the_folder_is_edited_now(project, capsys):
    home = project.answer(project.prepare())
    project.edit(EDITS["reply limit"][0])
    code, out = asked(capsys, "compare", home, "--no_write")
    assert code == 0
    assert "not as prepared" not in out


def test_what_is_kept_of_a_task_does_not_depend_on_the_place(
    project, tmp_path_factory, monkeypatch
):
    project.prepare()
    entry = json.loads((project.work_dir / "manifest.json").read_text())["tasks"][TASK]
    other = tmp_path_factory.mktemp("other")
    monkeypatch.chdir(other)
    twin = Project(other)
    twin.prepare()
    again = json.loads((twin.work_dir / "manifest.json").read_text())["tasks"][TASK]
    assert (entry["settings"], entry["row_digest"]) == (again["settings"], again["row_digest"])
    assert str(project.folder) not in json.dumps(entry["settings"])
    assert PATTERN in json.dumps(entry["settings"])
