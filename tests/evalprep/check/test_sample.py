"""Large tasks: what is the same in all rows is looked at in some, what may differ in all."""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalprep.check import Findings, RunSettings, check_full
from evalprep.check import sample as sampling
from evalprep.check.sample import TaskRows
from tests import processes

TASK = {
    "task": "big",
    "dataset_path": "parquet",
    "test_split": "test",
    "output_type": "generate_until",
    "doc_to_text": "prompt",
    "doc_to_target": "target",
    "num_fewshot": 0,
    "generation_kwargs": {"do_sample": False, "temperature": 0, "until": ["\n"], "max_gen_toks": 8},
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    "metadata": {"version": 1},
}


@pytest.fixture(autouse=True)
def a_small_sample(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 20)


@pytest.fixture
def folder(tmp_path):
    """A function that writes a task of 300 rows, some of them changed."""

    def write(changes=None, **keys):
        rows = [{"sample_id": f"r{n}", "prompt": f"Q{n}?", "target": f"a{n}"} for n in range(300)]
        for number, change in (changes or {}).items():
            rows[number] |= change
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet", row_group_size=70)
        data = {"dataset_kwargs": {"data_files": {"test": str(tmp_path / "rows.parquet")}}}
        (tmp_path / "big.yaml").write_text(yaml.safe_dump({**TASK, **data, **keys}))
        return tmp_path

    return write


def check(folder, tiny_model, **options):
    findings = Findings()
    settings = RunSettings.without_config(
        backend="vllm", device="cpu", model=str(tiny_model()), max_model_len=128
    )
    done = check_full([folder], None, settings, findings, **options)
    return done, {finding.code: finding.what for finding in findings.sorted()}


def test_some_rows_are_built_and_the_number_is_stated(folder, tiny_model):
    done, _ = check(folder(), tiny_model)
    (task,) = done.loaded
    assert len(task.instances) == 20
    assert done.samples[0].startswith("big: 20 of 300 rows built and scored")
    # The rows are spread over the file, and the prompts are those of the file.
    names = [task.row_name(number) for number in task.instances]
    assert (names[0], names[-1]) == ("r0", "r299")
    assert all(task.prompt(n) == f"Q{name[1:]}?" for n, name in enumerate(names))


@pytest.mark.parametrize("stated", ["part*.parquet", ["part0.parquet", "part1.parquet"]])
def test_rows_in_several_files_are_those_of_one(stated, folder, tiny_model):
    place = folder({123: {"prompt": "<|im_start|>user"}})
    one, said_of_one = check(place, tiny_model)
    table = pq.read_table(place / "rows.parquet")
    pq.write_table(table[:130], place / "part0.parquet", row_group_size=70)
    pq.write_table(table[130:], place / "part1.parquet", row_group_size=70)
    (place / "rows.parquet").unlink()
    paths = [str(place / name) for name in stated] if isinstance(stated, list) else None
    data = {"dataset_kwargs": {"data_files": {"test": paths or str(place / stated)}}}
    (place / "big.yaml").write_text(yaml.safe_dump({**TASK, **data}))
    several, said_of_several = check(place, tiny_model)
    assert said_of_several == said_of_one
    assert several.samples == one.samples
    (first,), (second,) = one.loaded, several.loaded
    assert [second.row_name(n) for n in second.instances] == [
        first.row_name(n) for n in first.instances
    ]
    assert list(map(second.prompt, second.instances)) == list(map(first.prompt, first.instances))


def test_every_row_is_built_where_that_is_asked_for(folder, tiny_model):
    done, _ = check(folder(), tiny_model, every_row=True)
    assert (len(done.loaded[0].instances), done.samples) == (300, [])


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"prompt": "word " * 400}, "EP604", "1 of 300 prompts"),
        ({"prompt": "<|im_start|>user"}, "EP608", "1 row: r123"),
        ({"prompt": "  "}, "EP404", "1 row: r123"),
        ({"sample_id": "r7"}, "EP403", "1 row: r7"),
    ],
    ids=["length", "markup", "empty", "ids"],
)
@pytest.mark.parametrize("every_row", [False, True])
def test_what_may_differ_in_each_row_is_found_in_all(
    change, code, words, every_row, folder, tiny_model
):
    _, findings = check(folder({123: change}), tiny_model, every_row=every_row)
    assert words in findings[code]


@pytest.mark.parametrize(
    "keys",
    [
        {"description": "Answer.\n"},
        {"num_fewshot": 2},
        {"output_type": "loglikelihood"},
        {"doc_to_text": "target", "gen_prefix": "So"},
    ],
    ids=["description", "shots", "likelihood", "prefix"],
)
def test_prompts_that_are_no_column_are_all_built(keys, folder, tiny_model):
    done, _ = check(folder(**keys), tiny_model)
    assert (len(done.loaded[0].instances), done.samples) == (300, [])


TEMPLATE = {"doc_to_text": "{{prompt}} Answer:"}
CHOICES = {
    "output_type": "multiple_choice",
    "doc_to_text": "{{prompt}}\nAnswer:",
    "doc_to_choice": "{{[sample_id, target]}}",
    "doc_to_target": "{{sample_id[-1]|int % 2}}",
    "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
}


@pytest.mark.parametrize("keys", [TEMPLATE, CHOICES], ids=["template", "choices"])
def test_prompts_of_templates_are_built_in_part(keys, folder, tiny_model):
    place = folder(**keys)
    sampled, said = check(place, tiny_model)
    whole, said_of_all = check(place, tiny_model, every_row=True)
    assert len(sampled.loaded[0].instances) == 20
    assert sampled.samples[0].startswith("big: 20 of 300 rows built and scored")
    assert (len(whole.loaded[0].instances), whole.samples) == (300, [])
    assert said == said_of_all


@pytest.mark.parametrize(
    ("keys", "change", "code", "words", "built"),
    [
        (TEMPLATE, {"prompt": "word " * 400}, "EP604", "1 of 300 prompts", 20),
        (TEMPLATE, {"prompt": "<|im_start|>user"}, "EP608", "1 row: r123", 20),
        (TEMPLATE, {"prompt": "Q7?", "target": "a7"}, "EP414", "1 row: r123", 300),
        (CHOICES, {"prompt": "word " * 400}, "EP604", "1 of 300 prompts", 20),
        (CHOICES, {"target": "r123"}, "EP416", "1 row: r123", 300),
        (CHOICES, {"target": " a"}, "EP612", "1 row: r123", 300),
        (
            {"doc_to_text": "{{prompt}} {{1 // (prompt|length - 2)}}"},
            {"prompt": "Q?"},
            "EP304",
            "row 123",
            0,
        ),
    ],
    ids=["length", "markup", "repeated", "choices", "twice", "blanks", "error"],
)
def test_what_templates_make_of_each_row_is_looked_at_in_all(
    keys, change, code, words, built, folder, tiny_model
):
    """Where a row has what only its requests tell, all rows are built, as without a sample."""
    place = folder({123: change}, **keys)
    done, findings = check(place, tiny_model)
    assert words in findings[code]
    assert len(done.loaded[0].instances) == built
    if built != 20:
        _, of_all = check(place, tiny_model, every_row=True)
        assert findings == of_all


def test_positions_lie_in_blocks_over_the_whole_file(monkeypatch, tmp_path):
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 1_000)
    positions = TaskRows(tmp_path, "test", 120_000, "prompt").positions
    assert len(positions) == len(set(positions)) == 1_000
    assert (positions[0], positions[99], positions[-1]) == (0, 99, 119_999)
    assert TaskRows(tmp_path, "test", 1_000, "prompt").positions == list(range(1_000))


def test_the_verb_looks_at_every_row_with_full(folder):
    arguments = ["--include_path", folder(), "--tasks", "big", "--json"]
    done = processes.run("check", *arguments, "--depth", "full")
    assert json.loads(done.stdout)["samples"] == []
    refused = processes.run("check", *arguments, "--depth", "full", "--limit", "3")
    assert refused.returncode == 2
    assert "--limit for the first ones" in refused.stdout


def test_rows_are_those_that_datasets_gives(tmp_path):
    import datasets

    rows = [{"a": n, "b": [f"t{n}"], "c": {"d": None, "e": 0.5}} for n in range(450)]
    table = pa.Table.from_pylist(rows)
    ours, theirs = sampling.Rows(table), datasets.Dataset(table)
    assert list(ours) == list(theirs) == rows
    assert (len(ours), ours[3], ours[-1]) == (len(theirs), theirs[3], theirs[-1])
    assert list(ours.features) == list(theirs.features)
    ours[0]["b"].append("changed")
    assert ours[0] == rows[0]
    with pytest.raises(IndexError):
        ours[450]


@pytest.mark.parametrize(
    ("keys", "is_imported"),
    [
        ({}, False),
        ({"num_fewshot": 2, "fewshot_split": "test"}, False),
        ({"process_docs": "!function code.small"}, True),
    ],
    ids=["plain", "shots", "code that gets the data set"],
)
def test_datasets_is_imported_for_code_that_gets_the_data_set(
    keys, is_imported, folder, tiny_model, tmp_path
):
    (tmp_path / "code.py").write_text("def small(data):\n    return data.select(range(5))\n")
    path = folder(**keys) / "big.yaml"
    path.write_text(path.read_text().replace("'!function code.small'", "!function code.small"))
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from evalprep.check import Findings, RunSettings, check_full\n"
        f"settings = RunSettings.without_config(backend='vllm', device='cpu', model={str(tiny_model())!r})\n"
        "findings = Findings()\n"
        f"done = check_full([Path({str(tmp_path)!r})], None, settings, findings)\n"
        "print([f.code for f in findings.sorted() if f.level == 'error'], len(done.loaded))\n"
        "print('datasets.arrow_dataset' in sys.modules, 'pandas' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[] 1", f"{is_imported} {is_imported}"]
