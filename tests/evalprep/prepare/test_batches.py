"""A pack outside of the project whose rows are record batches, from `prepare` to `preview`."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalprep.cli import main
from tests import PROJECT_ROOT
from tests.evalprep.prepare.test_broken_packs import PACK, TASK

PAGE = PROJECT_ROOT / "docs" / "writing-a-pack.md"
QUESTIONS = [{"question": f"What is {n} + 1?"} for n in range(40)] + [{"question": "What is it?"}]
SOLUTIONS = [{"problem": f"What  is {n} + 1?\n", "solution": str(n + 1)} for n in range(3)] + [
    {"problem": f"What is {n} + 1?", "solution": str(n + 1)} for n in range(39, 2, -1)
]
BY_ROWS = """
from evalprep.packapi import Context, GroundTruth, JoinReport, TaskData, join, named_rows


def prepare(context: Context, task: str) -> TaskData:
    questions = context.open("data/questions.parquet", columns={"prompt": "question"})
    solutions = GroundTruth(context.open("data/solutions.parquet"), key="problem")
    report = JoinReport()
    texts = lambda row: [row["question"]]
    pairs = join(questions.rows(), solutions, texts=texts, report=report)
    rows = ({**row, "target": match["solution"]} for row, match in pairs)
    return TaskData(rows=named_rows(rows), join=report)
"""


def from_page():
    """The example of the page on writing packs."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    (block,) = [block for block in blocks if "join_columns" in block]
    return block


@pytest.fixture
def project(tmp_path):
    data = tmp_path / "packs" / "mine" / "data"
    data.mkdir(parents=True)
    for name, rows in (("questions", QUESTIONS), ("solutions", SOLUTIONS)):
        pq.write_table(pa.Table.from_pylist(rows), data / f"{name}.parquet", row_group_size=9)
        (data / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (data.parent / "qa.yaml").write_text(TASK)
    (data.parent / "pack.yaml").write_text(
        yaml.safe_dump(PACK | {"tasks": {"mine_qa": {"template": "qa.yaml"}}})
    )
    config = {
        "model_name": "dummy",
        "backend": "dummy",
        "tasks": ["mine_qa"],
        "template_dir": "packs",
    }
    (tmp_path / "eval_config.yaml").write_text(yaml.safe_dump(config))
    return tmp_path


def prepared(project, code):
    """The bytes of the rows and what the manifest has of the join."""
    (project / "packs" / "mine" / "prepare.py").write_text(code)
    config = str(project / "eval_config.yaml")
    assert main(["prepare", "--quiet", "--force", "--config_path", config]) == 0
    work_dir = project / "work_dir"
    task = json.loads((work_dir / "manifest.json").read_text())["tasks"]["mine_qa"]
    return (work_dir / task["data"]).read_bytes(), task["join"], task["rows"]


def test_the_example_of_the_page_from_prepare_to_preview(project, capsys):
    first = prepared(project, from_page())
    data, join, rows = first
    assert prepared(project, from_page()) == first
    assert (rows, join["exact"], join["normalised"], join["unmatched"]) == (40, 37, 3, 1)
    table = pq.read_table(pa.BufferReader(data))
    assert [int(row["target"]) for row in table.to_pylist()] == list(range(1, 41))
    work_dir = str(project / "work_dir")
    assert main(["check", work_dir]) == 0
    capsys.readouterr()
    assert main(["preview", "mine_qa", work_dir, "--row", "39"]) == 0
    assert "What is 39 + 1?" in capsys.readouterr().out


def test_mappings_and_other_files_give_the_same_bytes(project):
    in_columns = prepared(project, from_page())
    assert prepared(project, BY_ROWS) == in_columns
    assert prepared(project, from_page().replace(".parquet", ".jsonl")) == in_columns


def test_a_pack_without_code_reads_parquet_in_columns(project):
    """And gets the rows and ids that it gets of JSON Lines."""
    pack = project / "packs" / "mine"

    def rows_of(ending):
        columns = {"prompt": "problem", "target": "solution"}
        task = {"template": "qa.yaml", "source": f"data/solutions.{ending}", "columns": columns}
        (pack / "pack.yaml").write_text(yaml.safe_dump(PACK | {"tasks": {"mine_qa": task}}))
        return prepared(project, "")

    assert rows_of("parquet") == rows_of("jsonl")


def test_a_join_of_another_column_is_one_message(project, capsys):
    code = from_page().replace('text="question"', 'text="qestion"')
    (project / "packs" / "mine" / "prepare.py").write_text(code)
    assert main(["prepare", "--quiet", "--config_path", str(project / "eval_config.yaml")]) == 2
    printed = capsys.readouterr().err
    assert "lacks the column qestion" in printed
    assert "did you mean question?" in printed
    assert "Traceback" not in printed
