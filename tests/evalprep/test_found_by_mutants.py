"""Damage that mutants of files found, by kind: each ends with a message and the exit code of bad input."""

import codecs
import gzip
import json
import subprocess
import sys
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalprep.annotate.seal import Seal
from evalprep.cli import main
from evalprep.files import read_json, read_object
from tests.evalprep.readers.logs import (
    SPEC,
    eval_event,
    inspect_sample,
    write_json_log,
    write_lines,
    write_table,
)
from tests.evalprep.results.writing import Row, write_run
from tests.evalprep.test_outputs import CONFIG

DEEP = "[" * 120 + "1" + "]" * 120


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "1 + 1 =", "target": "2", "sample_id": "a"}\n')
    (tmp_path / "eval_config.yaml").write_text(CONFIG)
    (tmp_path / "policy.yaml").write_text("defaults: {max_drop: 0.5}\n")
    write_run(tmp_path / "run", {"t": [Row(f"{at}", correct=at % 2) for at in range(8)]})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALPREP_QUICK_CHECK", "1")
    return tmp_path


def ended(capsys, *words):
    """The exit code of a command, and all that it printed."""
    capsys.readouterr()
    code = main([*words])
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert "fault of evalprep" not in text
    return code, text


@pytest.mark.parametrize("key", ["0.5", "null", "3", "true"])
def test_keys_of_several_kinds_in_yaml(project, capsys, key):
    config = project / "eval_config.yaml"
    config.write_text(CONFIG.replace("do_sample: false", f"do_sample: false, {key}: 1"))
    assert ended(capsys, "prepare", "--quiet", "--check", "off")[0] in {0, 2}
    (project / "policy.yaml").write_text(f"defaults: {{max_drop: 0.5, {key}: 1}}\n")
    code, text = ended(capsys, "gate", "run", "run", "--policy", "policy.yaml")
    assert code == 2
    assert "unknown key" in text


def test_a_whole_number_that_no_float_holds(project, capsys):
    (project / "policy.yaml").write_text("defaults: {max_drop: 1" + "0" * 400 + "}\n")
    code, text = ended(capsys, "gate", "run", "run", "--policy", "policy.yaml")
    assert code == 2
    assert "a whole number of 401 digits" in text
    assert "policy.yaml:1:" in text


@pytest.mark.parametrize("task", ["{a: 1}", "[x]", "3"])
def test_a_task_whose_name_is_no_text(project, capsys, task):
    config = project / "eval_config.yaml"
    config.write_text(CONFIG.replace("task: numbers", f"task: {task}"))
    assert ended(capsys, "prepare", "--quiet", "--check", "off")[0] == 2


def test_a_group_without_tasks(project, capsys):
    pack = project / "packs" / "own"
    pack.mkdir(parents=True)
    (pack / "pack.yaml").write_text("title: Own\ntasks: {}\ngroups: {own_all: {tasks: []}}\n")
    words = ["--set", "template_dir=packs", "--set", "tasks=[own_all]"]
    assert ended(capsys, "prepare", "--quiet", "--check", "off", *words)[0] == 2


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("commands", 0, "argv"), [{"a": 1}]),
        (("commands", 0, "argv"), 3),
        (("commands", 0, "tasks"), None),
        (("commands", 0, "env"), [1]),
        (("commands", 0, "depth"), "x"),
        (("tasks", "numbers", "plan", "after"), 7),
        (("tasks", "numbers", "plan", "needs"), "generate"),
        (("scores",), {"a": {"range": [1, 2, 3]}}),
    ],
)
def test_a_part_of_a_manifest_of_another_type(project, capsys, path, value):
    assert ended(capsys, "prepare", "--quiet", "--check", "off")[0] == 0
    manifest = project / "work_dir" / "manifest.json"
    content = json.loads(manifest.read_text())
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    manifest.write_text(json.dumps(content))
    code, text = ended(capsys, "status", "work_dir")
    assert code == 2
    assert "is damaged" in text
    assert "prepare again" in text


@pytest.mark.parametrize("content", [DEEP, "{" + '"a":{' * 120 + "}" * 121, '"' + "x" * 300])
def test_a_file_that_is_too_deep_too_large_or_cut(tmp_path, content):
    file = tmp_path / "state.json"
    file.write_text(content)
    assert read_object(file) == {}
    with pytest.raises(ValueError, match=r"100 levels|larger than|Unterminated"):
        read_json(file, most=200 if len(content) > 300 else 1_000)


READING = (
    ["score", "run", "--no_write"],
    ["samples", "run", "--json"],
    ["compare", "run", "run", "--no_write"],
    ["export", "run", "--to", "inspect", "--out", "log", "--force"],
)


@pytest.mark.parametrize("levels", [120, 700, 985])
@pytest.mark.parametrize("part", ['"target": "A"', '"resps": [["A"]]', '"exact_match": 1'])
def test_depth_of_samples(project, capsys, part, levels):
    samples = next((project / "run").rglob("samples_*"))
    deep = f"{part.partition(':')[0]}: [[{'[' * levels}1{']' * levels}]]"
    samples.write_text(samples.read_text().replace(part, deep))
    for words in READING:
        assert ended(capsys, *words)[0] in {0, 3}


def test_depth_of_results(project, capsys):
    results = next((project / "run").rglob("results_*"))
    results.write_text(results.read_text().replace('"config": {', f'"config": {{"x": {DEEP}, '))
    for name in ("run", str(results)):
        assert ended(capsys, "score", name, "--no_write")[0] in {0, 2, 3}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("\n", "\r"), "lines end with CR alone"),
        (
            lambda text: "\n".join(
                json.dumps(json.loads(line), indent=1) for line in text.splitlines()
            ),
            "pretty-printed",
        ),
    ],
)
def test_samples_that_are_not_one_line_each(project, capsys, change, words):
    samples = next((project / "run").rglob("samples_*"))
    samples.write_bytes(change(samples.read_text()).encode())
    for verb in (["score", "run", "--no_write"], ["compare", "run", "run", "--no_write"]):
        assert words in ended(capsys, *verb)[1]


COLUMNS = ("--columns", "question=Frage,score=richtig", "--no_write")


@pytest.mark.parametrize("header", ["Nr,Fr\rage,richtig", "Nr,richtig,richtig", "x" * 200_000])
def test_the_header_of_a_table(project, capsys, header):
    table = write_table(project / "table.csv")
    lines = table.read_text().splitlines()
    table.write_text("\n".join([header, *lines[1:]]), newline="")
    assert ended(capsys, "score", "table.csv", *COLUMNS)[0] == 2


def test_a_parquet_log_with_a_damaged_page_or_footer(project, capsys):
    rows = [{"Nr": at, "Frage": f"{at}?", "richtig": at % 2} for at in range(9)]
    file = project / "table.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file)
    whole = file.read_bytes()
    for at in (20, len(whole) // 2, len(whole) - 30):
        file.write_bytes(whole[:at] + bytes(8) + whole[at + 8 :])
        assert ended(capsys, "score", "table.parquet", *COLUMNS)[0] in {0, 2}


def test_lines_in_gzip_that_break_off(project, capsys):
    samples = next((project / "run").rglob("samples_*"))
    lines = samples.with_name("x_samples.jsonl")
    lines.write_bytes(gzip.compress(samples.read_bytes())[:-9])
    samples.write_bytes(lines.read_bytes())
    for name in ("run", str(lines)):
        assert ended(capsys, "score", name, "--no_write")[0] in {2, 3}


def test_an_archive_with_a_member_that_claims_to_be_huge(project, capsys):
    log = project / "log.eval"
    with zipfile.ZipFile(log, "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", "{}")
    content = log.read_bytes()
    log.write_bytes(
        content.replace(b"\x02\x00\x00\x00\x02\x00\x00\x00", b"\x02\x00\x00\x00" + b"\xff" * 4)
    )
    assert ended(capsys, "score", "log.eval", "--no_write")[0] == 2


def test_a_data_set_whose_name_is_too_long_for_a_file(project, capsys):
    config = project / "eval_config.yaml"
    config.write_text(CONFIG.replace("dataset_path: json", f"dataset_path: {'x' * 99_999}"))
    code, text = ended(capsys, "prepare", "--quiet", "--check", "off")
    assert code == 2
    assert "too long" in text
    assert len(text) < 5_000


@pytest.mark.parametrize("line", ["metadata: 3", "tasks: 7", "model: [1]", "model_args: x"])
def test_a_run_configuration_with_another_type(project, capsys, line):
    assert ended(capsys, "prepare", "--quiet", "--check", "off")[0] == 0
    file = project / "work_dir" / "run.yaml"
    kept = yaml.safe_load(file.read_text()) | yaml.safe_load(line)
    file.write_text(yaml.safe_dump(kept))
    code, text = ended(capsys, "status", "work_dir")
    assert code == 2
    assert "is not a run configuration" in text


def test_a_run_configuration_that_lm_eval_refuses(project, capsys):
    assert ended(capsys, "prepare", "--quiet", "--check", "off")[0] == 0
    file = project / "work_dir" / "run.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | {"seed": []}))
    code, text = ended(capsys, "prompts", "work_dir", "--out", "requests.parquet")
    assert code == 2
    assert "lm-eval refuses the settings of " in text


def test_a_table_with_two_columns_of_one_name(project, capsys):
    columns = {"prompt": ["1 + 1 ="], "target": ["2"], "sample_id": ["a"]}
    table = pa.table(columns)
    table = table.append_column("sample_id", table.column("sample_id"))
    pq.write_table(table, project / "rows.parquet")
    config = CONFIG.replace("dataset_path: json", "dataset_path: parquet")
    (project / "eval_config.yaml").write_text(config.replace("rows.jsonl", "rows.parquet"))
    code, text = ended(capsys, "check")
    assert code != 0
    assert "two columns are named sample_id" in " ".join(text.split())
    assert ended(capsys, "prepare", "--quiet", "--check", "off")[0] in {0, 2}


def test_a_cell_of_bytes_in_a_signed_row():
    seal = Seal(b"0" * 32)
    assert not seal.holds([1, b"\xff\x00"], seal.digest([1, "x"]))


def test_a_log_with_a_bad_byte_or_half_a_surrogate_pair(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    events = [SPEC]
    for at in range(4):
        events.append(eval_event(at, "sampling", {"prompt": f"Q{at}", "sampled": ["yes"]}, 2 * at))
        picked = {"correct": at % 2 == 0, "expected": "yes", "picked": "yes"}
        events.append(eval_event(at, "match", picked, 2 * at + 1))
    log = write_lines(tmp_path / "log.jsonl", events)
    whole = log.read_bytes()
    for damaged in (b"Q\\ud800", b"Q\xff"):
        log.write_bytes(whole.replace(b'"Q1"', b'"' + damaged + b'"'))
        code, text = ended(capsys, "score", "log.jsonl", "--json", "--no_write")
        assert code == 0
        assert json.loads(text)["tasks"][0]["n"] == 4
        assert ended(capsys, "samples", "log.jsonl", "--wrong")[0] == 0


def test_a_reply_of_a_pack_s_log_with_half_a_surrogate_pair(tmp_path, capsys):
    rows = {str(at): {"rouge1_recall": 0.5, "generation": "\ud800"} for at in range(3)}
    log = {"forget_Q_A_ROUGE": {"agg_value": 0.5, "value_by_index": rows}}
    (tmp_path / "TOFU_EVAL.json").write_text(json.dumps(log))
    assert ended(capsys, "score", str(tmp_path), "--no_write")[0] == 0
    assert ended(capsys, "samples", str(tmp_path))[0] in {0, 2}


def test_whole_numbers_that_64_bits_do_not_hold_in_a_log(tmp_path, capsys):
    samples = [inspect_sample(at, epoch=10**25 if at == 2 else 1) for at in range(4)]
    log = write_json_log(tmp_path / "log.json", samples)
    assert ended(capsys, "score", str(log), "--no_write")[0] == 0
    assert ended(capsys, "samples", str(log))[0] == 0
    samples = [{**inspect_sample(at), "id": 10**25 + at} for at in range(4)]
    log = write_json_log(tmp_path / "log.json", samples)
    assert ended(capsys, "score", str(log), "--no_write")[0] == 0


def test_a_task_whose_name_is_a_number(project, capsys):
    tasks = project / "mine"
    tasks.mkdir()
    text = yaml.safe_load((project / "eval_config.yaml").read_text())
    (tasks / "a.yaml").write_text("task: 7\ndataset_path: json\noutput_type: generate_until\n")
    (tasks / "b.yaml").write_text("task: b\ndataset_path: json\noutput_type: generate_until\n")
    kept = {**text, "tasks": "b", "include_path": "mine"}
    (project / "eval_config.yaml").write_text(yaml.safe_dump(kept))
    assert ended(capsys, "check")[0] in {1, 2}
    assert ended(capsys, "prepare", "--quiet")[0] == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("null", "neither a list of objects nor an object in each line"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested in more than 100 levels"),
    ],
)
def test_rows_at_which_the_reader_of_pyarrow_dies(project, capsys, content, words):
    (project / "rows.jsonl").write_text(content)
    code, text = ended(capsys, "check")
    assert code in {1, 2}
    assert words in " ".join(text.split())
    assert ended(capsys, "preview", "numbers")[0] == 2
    assert ended(capsys, "prepare", "--quiet", "--check", "off")[0] == 0
    for verb, code in (("prompts work_dir --out requests.parquet", 2), ("run work_dir", 1)):
        command = [sys.executable, "-m", "evalprep", *verb.split()]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert run.returncode == code
        assert words in run.stderr


def test_rows_behind_a_mark_of_the_byte_order(project, capsys):
    rows = (project / "rows.jsonl").read_bytes()
    (project / "rows.jsonl").write_bytes(codecs.BOM_UTF8 + rows)
    code, text = ended(capsys, "check")
    assert code == 0
    assert "1 row:" in text
