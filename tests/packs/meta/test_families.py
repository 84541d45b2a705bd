"""Families: which data set offers which tasks, told by its name and by what it holds."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalprep.config.file import load_config
from evalprep.errors import BadInput
from evalprep.prepare.preparation import prepare
from tests.evalprep.tiny_project import meta_row

LETTERS = {letter: f"option {letter}" for letter in "ABCD"}


def data_set(folder, name, *suffixes):
    """A copy that lost its card: the names of the files say which configs there are."""
    folder = folder / name / name
    folder.mkdir(parents=True)
    rows = [
        meta_row(f"Question {letter}?", letter, "physics", letter == "A", choices=LETTERS)
        for letter in "ABCD"
    ]
    for suffix in suffixes:
        path = folder / f"Details_{suffix}_2026-01-01T00-00-00.0.parquet.gzip"
        pq.write_table(pa.Table.from_pylist(rows), path)


def tasks_of(folder, name, tasks, **keys):
    path = folder / "c.yaml"
    config = {
        "model_name": "a/b",
        "backend": "dummy",
        "evals_dataset": name,
        "tasks": tasks,
        **keys,
    }
    path.write_text(yaml.safe_dump(config))
    return list(prepare(*load_config(path), stop=False).tasks)


@pytest.mark.parametrize(
    ("name", "suffixes", "tasks", "made"),
    [
        pytest.param(
            "Llama-3.3-70B-Instruct-evals",
            ["gpqa_diamond", "mmlu_pro", "mmlu__0_shot__cot"],
            "meta_instruct, meta_mmlu_cot",
            ["meta_gpqa_diamond_cot", "meta_mmlu_pro_instruct", "meta_mmlu_cot"],
            id="3.3: GPQA Diamond, MMLU by chain of thought",
        ),
        pytest.param(
            "Llama-3.2-1B-Instruct-evals",
            ["mmlu", "gpqa"],
            "meta_instruct",
            ["meta_mmlu_instruct", "meta_gpqa"],
            id="3.2: letters directly",
        ),
        pytest.param(
            "Llama-3.1-405B-evals",
            ["bbh", "mmlu_pro"],
            "meta_pretrain",
            ["meta_bbh", "meta_mmlu_pro_pretrain"],
            id="3.1 pretrained",
        ),
        pytest.param(
            "Own-Instruct-evals",
            ["gpqa", "mmlu__0_shot__cot"],
            "meta_instruct",
            ["meta_gpqa_cot", "meta_mmlu_cot"],
            id="another instruct model: whatever there is",
        ),
    ],
)
def test_tasks_of_a_family(tmp_path, name, suffixes, tasks, made):
    data_set(tmp_path, name, *suffixes)
    assert tasks_of(tmp_path, name, tasks) == made


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ("meta_gpqa_cot", "meta_gpqa_cot is not a task of Llama 3.3 instruct data sets"),
        ("meta_pretrain", "meta_pretrain does not fit Llama-3.3-70B-Instruct-evals"),
        ("meta_math", "has no config Llama-3.3-70B-Instruct-evals__math__details"),
        ("meta_mmlu", "did you mean meta_mmlu_cot"),
    ],
)
def test_tasks_that_a_family_has_not(tmp_path, tasks, said):
    data_set(tmp_path, "Llama-3.3-70B-Instruct-evals", "gpqa_diamond", "mmlu__0_shot__cot")
    with pytest.raises(BadInput) as caught:
        tasks_of(tmp_path, "Llama-3.3-70B-Instruct-evals", tasks)
    assert said in str(caught.value)


def test_the_long_form_of_the_evals_data_set(tmp_path):
    name = "Own-Instruct-evals"
    data_set(tmp_path, name, "gpqa")
    folder = tmp_path / name
    file = next(folder.rglob("Details_*"))
    table = pq.read_table(file)
    renamed = ["verdict" if column == "is_correct" else column for column in table.column_names]
    pq.write_table(table.rename_columns(renamed), file)
    files = [
        {"split": "mine", "path": f"{name}/{file.name}"},
        {"split": "latest", "path": "none.parquet"},
    ]
    card = {"configs": [{"config_name": f"{name}__gpqa__details", "data_files": files[:1]}]}
    (folder / "README.md").write_text(f"---\n{yaml.safe_dump(card)}---\n")
    source = {"path": name, "split": "mine", "columns": {"is_correct": "verdict"}}
    assert tasks_of(tmp_path, source, "meta_instruct") == ["meta_gpqa_cot"]
    with pytest.raises(BadInput, match="each task has a config and files of its own"):
        tasks_of(tmp_path, source | {"config": "x"}, "meta_instruct")
