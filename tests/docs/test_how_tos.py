"""The how-tos: their files are written and their commands typed, part by part, each in an empty folder."""

import re
import shlex
import subprocess

import pytest
import yaml

from evalprep.cli import main
from tests import PROJECT_ROOT
from tests.evalprep.results.writing import Row, write_run
from tests.loops import each
from tests.packs.meta.test_families import data_set

PAGE = (PROJECT_ROOT / "docs" / "how-tos.md").read_text(encoding="utf-8")
PARTS = {int(part.partition(".")[0]): part for part in PAGE.split("\n## ")[1:]}
BLOCK = re.compile(r"(?:`([^`\n]+)`:\n\n)?```(\w+)\n(.*?)```", re.DOTALL)
# What a part promises, beside that every command ends well.
SAID = {
    2: ["config hard, split test, hard.csv, 2 rows"],
    3: ["kept your edit of capitals/capitals_qa.yaml"],
    4: ["--tasks geography"],
    5: ["prepared 2 tasks"],
    6: ["prepared 1 task for 2 models", "lost"],
}


def config(text):
    """A config of the page, answered by lm-eval's dummy where it asks for no back end or machine of its own."""
    content = yaml.safe_load(text)
    stand_in = {} if {"backend", "target", "device"} & set(content) else {"backend": "dummy"}
    return yaml.safe_dump({**content, **stand_in})


def steps(part):
    """Files and command lines in the order of the page."""
    for file, language, text in BLOCK.findall(part):
        if file:
            yield file, config(text) if file == "eval_config.yaml" else text
        elif language == "sh":
            yield from (("", line) for line in text.splitlines())


@pytest.fixture
def start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("evalprep.model.destinations.gpu_names", tuple)
    data_set(tmp_path / "data", "Llama-3.2-1B-Instruct-evals", "gpqa", "mmlu")
    (tmp_path / "models/model").mkdir(parents=True)
    (tmp_path / "models/model/config.json").write_text("{}")
    return tmp_path


def test_the_parts_are_numbered():
    assert list(PARTS) == list(range(1, 7))


@pytest.mark.parametrize("number", PARTS)
def test_a_part(number, start, capsys, monkeypatch):
    if number == 1:
        monkeypatch.delenv("EVALPREP_QUICK_CHECK")  # it says that the preparation tries the scorer
    said, ran = "", False
    for file, text in each(steps(PARTS[number])):
        if file:
            (start / file).parent.mkdir(parents=True, exist_ok=True)
            (start / file).write_text(text, encoding="utf-8")
            continue
        words = shlex.split(text)
        if words[0] == "sed":
            subprocess.run(words, check=True)
        elif words[0] == "sh":
            assert (start / words[1]).is_file()
            ran = True  # what follows wants a run: the slow test has one
        elif words[1] == "compare" and number == 6:
            for name, right in (("1000", 1.0), ("2000", 0.0)):
                rows = [Row(str(at), correct=right) for at in range(30)]
                arguments = {"pretrained": f"org/model-step-{name}"}
                write_run(
                    start / f"eval_results/org__model-step-{name}",
                    {"capitals_qa": rows},
                    model_args=arguments,
                )
            assert main(words[1:]) in {0, 1}
        elif not ran:
            assert (
                main([word for word in words if word not in {"evalprep", "HF_HUB_OFFLINE=1"}]) == 0
            ), capsys.readouterr()
        captured = capsys.readouterr()
        said += captured.out + captured.err
    for words in SAID.get(number, []):
        assert words in said
