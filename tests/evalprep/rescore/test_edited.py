"""A work folder that its owner edited: rescoring reads it as it stands, or says which command comes first."""

import json

import pyarrow.parquet as pq
import pytest
import yaml

from evalprep.cli import main
from evalprep.numbers import number
from evalprep.yamltext import Loader, compose
from tests.evalprep.results.writing import STAMP, Row, write_run

ROWS = "country,capital\nFrance,Paris\nPeru,Lima\nKenya,Nairobi\n"
CONFIG = "model_name: org/model\ntasks: rx_all\ntemplate_dir: packs\nbackend: dummy\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a data set and a config, where the caches of other preparations are out of reach."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALPREP_STATE", str(tmp_path / "state"))
    (tmp_path / "capitals.csv").write_text(ROWS)
    (tmp_path / "eval_config.yaml").write_text(CONFIG)
    return tmp_path


def prepared_run(project, *options, reply="The answer is {}."):
    """A pack of one's own, prepared, and a run of it whose replies name the right answer."""
    data = ["--data", "capitals.csv", "--prompt", "Capital of {country}?", "--target", "capital"]
    assert main(["new-pack", "rx", "--template_dir", "packs", *data, *options]) == 0
    assert main(["prepare", "--quiet"]) == 0
    data_file = project / "work_dir" / "rx" / "data" / "rx_qa.parquet"
    rows = []
    for at, row in enumerate(pq.read_table(data_file).to_pylist()):
        text = reply.format(row["target"])
        rows.append(Row(f"{at}", 1.0, response=text, answer=text, doc=row))
    task = project / "work_dir" / "rx" / "rx_qa.yaml"
    config, _ = compose(task.read_text(), Loader, {"!function": lambda _, node: str(node.value)})
    filters = [entry["name"] for entry in config.get("filter_list", [{"name": "none"}])]
    home = write_run(project / "eval_results", {"rx_qa": rows}, filters=filters)
    results = home / f"results_{STAMP}.json"
    content = json.loads(results.read_text())
    content["configs"]["rx_qa"] = config
    results.write_text(json.dumps(content))
    return task


def rescored(capsys, *options):
    capsys.readouterr()
    code = main(["rescore", "eval_results", "--no_write", "--json", *options])
    printed = capsys.readouterr()
    return code, json.loads(printed.out)["tasks"][0]["now"] if code == 0 else printed.out


def test_an_edited_pattern_counts(project, capsys):
    task = prepared_run(project, "--kind", "regex", "--pattern", "is ([A-Z][a-z]+)")
    assert rescored(capsys) == (0, 1.0)
    task.write_text(task.read_text().replace("is ([A-Z][a-z]+)", "never ([A-Z]+)"))
    assert rescored(capsys) == (0, 0.0)
    capsys.readouterr()
    assert main(["rescore", "eval_results", "--no_write"]) == 0
    printed = capsys.readouterr().out
    assert f"scored by the task's YAML in {project / 'work_dir'}" in printed
    assert "changed since the run" in printed


def test_without_writing_the_scores_are_those_of_a_rescored_run(project, capsys):
    """BLEU has no value of a row: lm-eval computes it over all rows."""
    task = prepared_run(project, "--kind", "exact")
    settings = yaml.safe_load(task.read_text())
    settings["metric_list"] = [{"metric": "bleu", "aggregation": "bleu", "higher_is_better": True}]
    settings["metadata"] |= {"primary_metric": "bleu"}
    task.write_text(yaml.safe_dump(settings))
    (results,) = project.glob("eval_results/*/results_*.json")
    content = json.loads(results.read_text())
    content["configs"]["rx_qa"] = settings
    content["results"]["rx_qa"] = {"bleu,none": 12.5}
    content["higher_is_better"]["rx_qa"] = {"bleu": True}
    results.write_text(json.dumps(content))
    (samples,) = project.glob("eval_results/*/samples_*.jsonl")
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    pairs = [
        line | {"bleu": [line["target"], line["filtered_resps"][0]], "metrics": ["bleu"]}
        for line in lines
    ]
    samples.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    before = sorted(project.rglob("*"))
    _, alone = rescored(capsys)
    assert sorted(project.rglob("*")) == before
    assert alone is not None
    assert main(["rescore", "eval_results", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["tasks"][0]
    assert written["over_all_rows"]
    assert written["now"] == alone
    main(["rescore", "eval_results", "--no_write"])
    assert f"before 12.5, now {number(alone)}; computed over all rows" in capsys.readouterr().out
    (file,) = project.glob("eval_results/*/rescored_*/results_*.json")
    assert json.loads(file.read_text())["results"]["rx_qa"]["bleu,none"] == alone


def test_an_edit_that_cannot_be_loaded_is_no_reason_for_another_scorer(project, capsys):
    task = prepared_run(project, "--kind", "regex", "--pattern", "is ([A-Z][a-z]+)")
    task.write_text(task.read_text() + "process_results: !function gone.score\n")
    code, said = rescored(capsys, "--template_dir", "packs")
    assert code == 2
    assert "gone" in said


def test_an_edited_scorer_of_the_pack_names_the_command_that_comes_first(project, capsys):
    prepared_run(project, "--kind", "json", reply='{{"answer": "{}"}}')
    scorer = project / "packs" / "rx" / "scorer.py"
    never = scorer.read_text().replace("def ", "# changed\ndef ", 1)
    scorer.write_text(never)
    code, said = rescored(capsys)
    assert code == 2
    assert f"{scorer} was changed after the preparation" in said
    assert "`evalprep prepare`" in said
    assert rescored(capsys, "--work_dir", "work_dir")[0] == 0
    assert main(["prepare", "--quiet"]) == 0
    assert rescored(capsys)[0] == 0


def test_a_scorer_that_imports_its_neighbour_is_not_taken_for_edited(project, capsys):
    task = prepared_run(project, "--kind", "json", reply='{{"answer": "{}"}}')
    (project / "packs" / "rx" / "words.py").write_text("VALUE = 1\n")
    scorer = project / "packs" / "rx" / "scorer.py"
    scorer.write_text(
        scorer.read_text().replace("\nimport ", "\nfrom words import VALUE\nimport ", 1)
    )
    assert main(["prepare", "--quiet"]) == 0
    assert "from .words" in (task.parent / "scorer.py").read_text()
    assert rescored(capsys)[0] == 0


def test_an_edited_template_of_the_pack_names_the_command_that_comes_first(project, capsys):
    task = prepared_run(project, "--kind", "regex", "--pattern", "is ([A-Z][a-z]+)")
    template = project / "packs" / "rx" / "rx_qa.yaml"
    template.write_text(template.read_text().replace("is ([A-Z][a-z]+)", "never ([A-Z]+)"))
    code, said = rescored(capsys)
    assert code == 2
    assert "filter_list of" in said
    assert main(["prepare", "--quiet"]) == 0
    assert rescored(capsys) == (0, 0.0)
    # An edit of the task file itself is newer than any template.
    task.write_text(task.read_text().replace("never ([A-Z]+)", "is ([A-Z][a-z]+)"))
    assert rescored(capsys) == (0, 1.0)


def test_a_folder_that_may_not_be_used_is_refused_with_the_reason(project, capsys, monkeypatch):
    prepared_run(project, "--kind", "regex", "--pattern", "is ([A-Z][a-z]+)")
    monkeypatch.setenv("EVALPREP_STATE", str(project / "of_another_user"))
    code, said = rescored(capsys, "--template_dir", "packs")
    assert code == 2
    assert "was not prepared by you on this machine" in said
    assert f"--work_dir {project / 'work_dir'}" in said
    assert rescored(capsys, "--work_dir", "work_dir") == (0, 1.0)
