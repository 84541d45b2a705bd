"""A finding about a file that was generated or copied names the file that the user wrote."""

import json

import pytest

from evalprep.cli import main

CONFIG = "model_name: gpt2\nbackend: dummy\ntasks: dates_all\ntemplate_dir: packs\n"
INLINE = """\
model_name: gpt2
backend: dummy
tasks:
  - task: mine
    dataset_path: json
    dataset_kwargs: {data_files: {test: FOLDER/rows.jsonl}}
    test_split: test
    doc_to_text: q
    doc_to_target: a
    metric_list:
      - {metric: exact_match, aggregation: meen, higher_is_better: true}
"""


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    """A folder with a pack of one's own and a config that asks for it."""
    monkeypatch.chdir(tmp_path)
    rows = [{"q": f"Which year was {year}?", "a": str(year)} for year in (1914, 1918, 1945)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "eval_config.yaml").write_text(CONFIG)
    words = [
        "--data",
        "rows.jsonl",
        "--prompt",
        "{q}",
        "--target",
        "a",
        "--kind",
        "json",
        "--out",
        "packs",
    ]
    assert main(["new-pack", "dates", *words]) == 0, capsys.readouterr().err
    capsys.readouterr()
    return tmp_path


def change(file, old, new):
    """Replaces a text, and returns the number of its line."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    return text[: text.index(old)].count("\n") + 1


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("scorer.py", "import json\n", "import jsonn\n", "imports jsonn"),
        ("scorer.py", "def same_json(", "def same_json((", "at `def same_json((doc, results):`"),
        ("dates_qa.yaml", "metric_list:", "metric_lists:", "unknown key 'metric_lists'"),
    ],
)
@pytest.mark.parametrize("verb", ["prepare", "check"])
def test_a_file_of_a_pack_is_named(project, capsys, verb, file, old, new, told):
    path = project / "packs" / "dates" / file
    number = change(path, old, new)
    assert main([verb]) == 2
    said = " ".join("".join(capsys.readouterr()).split())
    assert f"{path}:{number}" in said
    assert told in said
    assert ".build-" not in said
    assert "evalprep-check-" not in said


@pytest.mark.slow
def test_the_line_at_which_a_scorer_fails_is_named(project, capsys):
    path = project / "packs" / "dates" / "scorer.py"
    old = "    value, status = extract_json(str(reply))\n"
    number = change(path, old, f"{old}    value = 1 / 0\n")
    assert main(["check"]) == 2
    said = " ".join("".join(capsys.readouterr()).split())
    assert f"{path}:{number + 1}: dates_qa: ZeroDivisionError" in said
    assert "at `value = 1 / 0`" in said
    assert not (project / "work_dir").exists()


def test_a_task_of_the_config_is_named(project, capsys):
    config = project / "inline.yaml"
    config.write_text(INLINE.replace("FOLDER", str(project)))
    assert main(["prepare", "--config_path", str(config)]) == 2
    assert "inline.yaml:10 (tasks.0.metric_list): EP209" in capsys.readouterr().err
