"""What findings say, and what settings of a run do to tasks of other people."""

import json

import pytest

from evalprep.check import Findings, RunSettings, check_static
from evalprep.check.codes import CODES
from evalprep.check.files import is_stock, stock_folder
from evalprep.check.finding import Finding
from evalprep.check.folds import fold, paragraph
from evalprep.check.generation import check_generation
from evalprep.check.loading import load_tasks
from evalprep.check.memory import Memory
from evalprep.check.requests import build_requests
from evalprep.check.selection import select_leaves
from evalprep.check.tree import Leaf, TaskFile, read_tree

from .choice_task import CHOICE, choice_rows

GIB = 2**30


def told(code, **changes):
    return Finding(
        **{"code": code, "where": "", "what": "it is so", "fix": "", "task": "", **changes}
    )


def test_a_fix_of_its_own_stands_alone():
    (own,) = fold([told("EP704", fix="do this instead")])
    text = paragraph(own)
    assert "do this instead" in text
    assert CODES["EP704"].fix not in text
    (usual,) = fold([told("EP704", fix=CODES["EP704"].fix)])
    assert paragraph(usual).count("fix: ") == 1


def test_a_note_without_a_fix_offers_none():
    (one,) = fold([told("EP714")])
    assert not CODES["EP714"].fix
    assert "fix:" not in paragraph(one)


def test_memory_in_words():
    known = Memory(15 * GIB, 128 * 1024, GIB, 70 * GIB, 400_000, True)
    said = "memory: weights 15.00 GiB, cache 128.0 KiB per token, 1.00 GiB for the longest request"
    assert known.text() == f"{said}; 70.0 GiB to use, room for 400,000 tokens of cache"
    assert Memory(15 * GIB, 128 * 1024, GIB, None, None, None).text() == said


def test_only_what_lies_in_lm_eval_is_its_own(tmp_path):
    assert is_stock(stock_folder() / "tasks/arc/arc_easy.yaml")
    assert not is_stock(tmp_path / "arc_easy.yaml")


def generation(tmp_path, given, **settings):
    leaf = Leaf(
        "own",
        TaskFile(tmp_path / "own.yaml", {}),
        {"output_type": "generate_until", "generation_kwargs": given},
    )
    findings = Findings()
    check_generation(leaf, RunSettings.without_config(backend="vllm", **settings), findings)
    return {one.code for one in findings.sorted()}


def test_generation_arguments_that_are_no_mapping(tmp_path):
    assert generation(tmp_path, "greedy") == {"EP216"}
    assert "EP203" in generation(tmp_path, None)
    assert not {"EP203", "EP216"} & generation(
        tmp_path, None, gen_kwargs={"temperature": 0.0, "do_sample": False}
    )


TASK = f"task: own\n{CHOICE}num_fewshot: 0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "rows_one.json").write_text(json.dumps(choice_rows(3)))
    (tmp_path / "own.yaml").write_text(TASK.format(file=tmp_path / "rows_one.json"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_generation_arguments_of_the_run_are_no_matter_of_a_choice(folder):
    findings, settings = (
        Findings(),
        RunSettings.without_config(backend="vllm", gen_kwargs={"temperature": 0.6}),
    )
    static = check_static([folder], ["own"], settings, findings)
    (loaded,) = load_tasks(static, settings, findings)
    build_requests(loaded, settings, None, findings, None)
    assert len(loaded.instances) == 3
    assert not [one for one in findings.sorted() if one.level == "error"]


@pytest.mark.parametrize(
    ("pattern", "missing"), [("rows_*.json", False), ("rows_[ab]ne.json", True), ("row.json", True)]
)
def test_files_by_pattern(folder, pattern, missing):
    (folder / "own.yaml").write_text(TASK.format(file=f'"{folder / pattern}"'))
    findings = Findings()
    check_static([folder], ["own"], RunSettings.without_config(), findings)
    assert ("EP215" in {one.code for one in findings.sorted()}) == missing


def test_what_a_group_says_of_a_group_in_it_holds_for_its_tasks(folder):
    (folder / "inner.yaml").write_text("group: inner\ntask: [own]\n")
    (folder / "outer.yaml").write_text("group: outer\ntask: [{group: inner, num_fewshot: 2}]\n")
    (leaf,) = select_leaves(read_tree([folder], Findings()), ["outer"], Findings())
    assert leaf.config["num_fewshot"] == 2
