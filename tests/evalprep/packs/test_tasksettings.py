"""The settings of a task file as lm-eval will log them, whatever form the file has."""

import pytest

from evalprep.packs import settings_of
from evalprep.readers.logged import TaskResults, TaskSettings
from evalprep.results import edits_of

OWN = "doc_to_text: question\noutput_type: generate_until\nmetric_list: [{metric: exact_match}]\n"


def edited(meant, logged):
    results = TaskResults(name="t", settings=TaskSettings(as_logged=logged))
    return [edit.sentence() for edit in edits_of(meant, results)]


def test_included_settings_are_those_of_the_task(tmp_path):
    (tmp_path / "base.yaml").write_text(f"{OWN}description: base\nrepeats: 3\n")
    (tmp_path / "middle.yaml").write_text("include: base.yaml\ndescription: middle\n")
    file = tmp_path / "t.yaml"
    file.write_text("task: t\ninclude: middle.yaml\nnum_fewshot: 2\n")
    settings = settings_of(file, {})
    assert (settings["description"], settings["repeats"]) == ("middle", 3)
    assert (settings["doc_to_text"], settings["num_fewshot"]) == ("question", 2)
    (tmp_path / "base.yaml").unlink()
    assert settings_of(file, {}) == {}


def test_a_file_that_includes_itself_has_no_settings(tmp_path):
    file = tmp_path / "t.yaml"
    file.write_text(f"{OWN}include: t.yaml\n")
    assert settings_of(file, {}) == {}


def test_of_a_class_what_its_file_states_of_the_question_is_compared(tmp_path):
    file = tmp_path / "t.yaml"
    file.write_text(f"{OWN}class: !function somewhere.Task\n")
    settings = settings_of(file, {})
    assert settings["class"] == "<function Task>"
    logged = {"output_type": "generate_until", "doc_to_text": "question", "doc_to_choice": ["a"]}
    assert edited(settings, logged) == []
    other = {**logged, "doc_to_text": "other"}
    assert edited(settings, other) == ["doc_to_text prepared question, logged other"]


@pytest.mark.parametrize(
    ("meant", "logged", "expected"),
    [
        ("<function score>", "def score(doc, results):\n    return {}\n", []),
        ("<function score>", "package.module.score", []),
        ("<function score>", "functools.partial(<function base at 0x7f>, 1)", []),
        ("<function>", "def other(doc):\n    return 1\n", []),
        (
            "<function score>",
            "def other(doc, results):\n    return {}\n",
            ["process_results prepared <function score>, logged <function other>"],
        ),
    ],
)
def test_a_function_is_known_by_its_name_where_lm_eval_logs_one(meant, logged, expected):
    logged_settings = {"output_type": "generate_until", "process_results": logged}
    settings = {"output_type": "generate_until", "process_results": meant}
    assert edited(settings, logged_settings) == expected


def test_defaults_of_lm_eval_are_no_edit():
    filled = {"until": ["\n\n"], "do_sample": False, "temperature": 0.0, "max_gen_toks": 256}
    logged = {"output_type": "generate_until", "generation_kwargs": filled, "repeats": 1}
    assert edited({"output_type": "generate_until"}, logged) == []
