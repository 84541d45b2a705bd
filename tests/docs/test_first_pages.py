"""The commands of the README and of the first pages, typed in an empty folder; a stand-in takes the engine's place."""

import json
import re
import shlex

import pytest
import yaml

from evalprep.cli import main
from evalprep.status.job import read_jobs
from tests import PROJECT_ROOT
from tests.evalprep.check.test_stock import TASKS as STOCK_ROWS
from tests.evalprep.results.writing import Row, write_run
from tests.loops import each

DOCS = PROJECT_ROOT / "docs"
PAGES = {
    name: DOCS / f"{name}.md" for name in ("existing-results", "lm-eval-tasks", "servers", "index")
}
PAGES["README"] = PROJECT_ROOT / "README.md"
BLOCK = re.compile(r"(?:`([^`\n]+)`:\n\n)?```(\w+)\n(.*?)```", re.DOTALL)
OWN_TASK = """\
task: mine
dataset_path: json
dataset_kwargs: {data_files: {test: data/arc_easy.jsonl}}
test_split: test
doc_to_text: question
doc_to_target: answerKey
generation_kwargs: {do_sample: false, temperature: 0, until: []}
"""
NOT_OURS = {"make", "pip", "."}


def steps(text):
    """Files and command lines in the order of a page."""
    for file, language, block in BLOCK.findall(text):
        if file:
            yield file, block
        elif language == "sh":
            yield from (("", line.partition("  #")[0]) for line in block.splitlines())


def blocks_of(name):
    """The steps of a page; of the README those after the recipe, which `make demo` types."""
    text = PAGES[name].read_text(encoding="utf-8")
    return list(steps(text))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with what the pages take for granted: models, data, runs, a policy."""

    def generate(commands):
        for job in read_jobs(commands.work_dir):
            home = write_run(job.output_path, dict.fromkeys(job.leaves, ROWS))
            (results,) = home.glob("results_*.json")
            commands.outcomes.append({"results": str(results)})
        return 0

    monkeypatch.setattr("evalprep.verbs.running.commands.Commands.all", generate)
    monkeypatch.chdir(tmp_path)
    for name in ("results", "other_results", "new", "old"):
        write_run(tmp_path / name, {"hellaswag": ROWS})
    (tmp_path / "policy.yaml").write_text("defaults: {max_drop: 2%}\n")
    (tmp_path / "data/hellaswag").mkdir(parents=True)
    for path, file in (
        ("data/hellaswag/validation.jsonl", "hellaswag/hellaswag.yaml"),
        ("data/arc_easy.jsonl", "arc/arc_easy.yaml"),
    ):
        lines = [json.dumps(row) + "\n" for row in STOCK_ROWS[file]]
        (tmp_path / path).write_text("".join(lines))
    (tmp_path / "mytasks").mkdir()
    (tmp_path / "mytasks/a.yaml").write_text(OWN_TASK)
    (tmp_path / "mytasks/group.yaml").write_text("group: my_group\ntask: [mine]\n")
    return tmp_path


ROWS = [Row(str(at), correct=float(at % 3 > 0)) for at in range(30)]


def without_engine(words):
    """A command line, with lm-eval's dummy in place of a model that is not here."""
    is_run = "run" in words and "--model" in words
    return [*words, "--backend", "dummy"] if is_run else words


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page(name, folder, capsys):
    for file, text in each(blocks_of(name)):
        if file:
            write(folder / file, text)
            continue
        words = [word for word in shlex.split(text) if "=" not in word or not word.isupper()]
        words = [word for word in words if not re.fullmatch(r"[A-Z_]+=\S+", word)]
        if not words or words[0] in NOT_OURS:
            continue
        assert words[0] == "evalprep", text
        code = main(without_engine(words[1:]))
        assert code in {0, 1, 3}, (text, capsys.readouterr())
        assert "Traceback" not in capsys.readouterr().err


def write(path, text):
    if path.name == "eval_config.yaml":
        config = yaml.safe_load(text)
        config.setdefault("backend", "dummy")
        text = yaml.safe_dump(config)
    path.write_text(text)


def test_the_python_of_existing_results(folder, capsys):
    text = PAGES["existing-results"].read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {}
    exec(code, names)
    assert len(names["lost"]) == 0
    assert "answer that was read" in capsys.readouterr().out


def test_what_the_page_of_samples_shows(capsys, monkeypatch):
    monkeypatch.chdir(PROJECT_ROOT)
    page = (DOCS / "commands/samples.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```\n(.*?)```", page, re.DOTALL)
    assert (
        main(["samples", "tests/data/runs/new", "--wrong", "--tasks", "arithmetic", "-n", "1"]) == 0
    )
    assert shown in capsys.readouterr().out
