"""Every folder of tests/data/broken holds one mistake; the check names it by its code and finds no other error."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from evalprep.check import CODES, Findings, RunSettings, check_full, check_static

BROKEN = Path(__file__).parents[2] / "data" / "broken"
CASES = sorted(path.name for path in BROKEN.iterdir())
# A mistake that is also another one.
ALSO = {
    "unsafe_code": {"EP301"},
    "yaml_syntax": {"EP119"},
    "include_missing": {"EP119"},
    "include_cycle": {"EP119"},
    "neither_task_nor_group": {"EP119"},
    "ifeval_without_punkt": {"EP502", "EP503", "EP504"},
    "answer_becomes_a_list": {"EP502"},
    "keys_vary": {"EP508"},
    "model_path": {"EP702"},
}


def prepare(name, tmp_path, tiny_model):
    folder = tmp_path / name
    shutil.copytree(BROKEN / name, folder)
    expect = json.loads((folder / "expect.json").read_text())
    (folder / "expect.json").unlink()
    for path in [*folder.glob("*.y*ml"), *folder.glob("*.py")]:
        path.write_text(path.read_text().replace("@HERE@", str(folder)))
    given = {
        key: tiny_model() if value == "@MODEL@" else value
        for key, value in expect.get("settings", {}).items()
    }
    given = {key: str(value) if key == "model" else value for key, value in given.items()}
    return (
        folder,
        expect,
        RunSettings.without_config(**{"backend": "vllm", "device": "cpu", **given}),
    )


@pytest.fixture(autouse=True)
def a_machine_without_nltk_data(monkeypatch):
    monkeypatch.setattr("evalprep.check.machine.punkt_tab", lambda: None)
    monkeypatch.setattr("evalprep.check.scorer.BOUND_SECONDS", 0.5)
    monkeypatch.setattr("evalprep.check.scorer.SLOW_SECONDS", 0.2)
    monkeypatch.setattr("evalprep.check.scoring.SLOW_SECONDS", 0.2)
    monkeypatch.setattr("evalprep.check.requests.BUILDING_SECONDS", 0.5)
    monkeypatch.setattr("evalprep.check.loading.IMPORT_SECONDS", 1.0)
    monkeypatch.setattr("evalprep.check.loading.LOADING_SECONDS", 2.0)


@pytest.mark.parametrize("name", CASES)
def test_each_mistake_is_found_by_its_code(name, tmp_path, tiny_model):
    folder, expect, settings = prepare(name, tmp_path, tiny_model)
    findings = Findings()
    if expect["from_files_alone"]:
        check_static([folder], expect.get("tasks"), settings, findings)
    else:
        check_full([folder], expect.get("tasks"), settings, findings)
    found = {one.code for one in findings.sorted()}
    errors = {one.code for one in findings.sorted() if one.level == "error"}
    if expect["code"]:
        assert expect["code"] in found, [str(one) for one in findings.sorted()]
    if not expect["code"]:
        assert not [one for one in findings.sorted() if one.level != "note"], [
            str(one) for one in findings.sorted()
        ]
    assert errors <= {expect["code"], *ALSO.get(name, set())}, [
        str(one) for one in findings.sorted()
    ]


def test_there_are_enough_and_each_names_its_code():
    codes = {json.loads((BROKEN / name / "expect.json").read_text())["code"] for name in CASES} - {
        ""
    }
    assert codes <= set(CODES)
    assert len(codes) >= 100


def test_a_good_task_has_no_finding(tmp_path, tiny_model):
    folder, _, settings = prepare("good", tmp_path, tiny_model)
    findings = Findings()
    check_full([folder], None, replace(settings, model=str(tiny_model())), findings)
    assert [one.code for one in findings.sorted()] == ["EP607"]


@pytest.mark.parametrize(
    ("name", "code", "backend", "is_mistake"),
    [
        ("argument_unknown_to_vllm", "EP204", None, True),
        ("argument_unknown_to_vllm", "EP204", "hf", False),
        ("five_stops", "EP616", "azure-openai-chat-completions", True),
        ("five_stops", "EP616", "vllm", False),
    ],
)
def test_what_one_back_end_leaves_out_another_takes(
    name, code, backend, is_mistake, tmp_path, tiny_model
):
    folder, _, _ = prepare(name, tmp_path, tiny_model)
    findings = Findings()
    settings = RunSettings.without_config(backend=backend, device="cpu")
    check_static([folder], None, settings, findings)
    assert (code in {finding.code for finding in findings.sorted()}) is is_mistake


def test_a_column_in_single_braces_is_told_how_lm_eval_reads_columns(tmp_path, tiny_model):
    folder, _, settings = prepare("word_as_prompt", tmp_path, tiny_model)
    task = folder / "task.yaml"
    lines = task.read_text().splitlines()
    asks = [
        'doc_to_text: "Q: {question}"' if line.startswith("doc_to_text") else line for line in lines
    ]
    task.write_text("\n".join(asks))
    findings = Findings()
    check_full([folder], None, settings, findings)
    (found,) = [one for one in findings.sorted() if one.code == "EP303"]
    assert found.fix.startswith("write 'Q: {{question}}': lm-eval reads columns")
