"""Lines into columns: ids, verdicts, damage, odd values, and the same answer from both readers and the store."""

import contextlib
import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalprep.results import load_run
from evalprep.samples import Damage, Sample, Table, read_samples, read_table
from evalprep.samples.columns import _blank_flag
from evalprep.samples.docs import codes_of_field
from evalprep.samples.sample import UNKNOWN, is_blank, number_of
from evalprep.samples.sources import ChangedSamples, SampleFile
from evalprep.samples.store import cached_table
from tests.effort import examples
from tests.evalprep.results.writing import STAMP, Row, line, write_run


def lines_file(tmp_path, lines):
    path = tmp_path / f"samples_t_{STAMP}.jsonl"
    path.write_bytes(b"".join(text if isinstance(text, bytes) else text.encode() for text in lines))
    return path


def test_columns(tmp_path):
    rows = [
        Row("a", 1.0, previous=True, cluster="d1", subtask="x"),
        Row("b", 0.0, previous=False, cluster="d1", subtask="y", answer="[invalid]"),
        Row("c", True, subtask="x", sent="another prompt", published="A"),
    ]
    table = load_run(write_run(tmp_path, {"t": rows})).tasks["t"].table()
    assert [*table.ids] == ["a", "b", "c"]
    assert table.metrics["exact_match"].tolist() == [1, 0, 1]
    assert table.previous.tolist() == [1, 0, -1]
    assert table.unparsed.tolist() == [0, 1, 0]
    assert table.prompt_as_prepared.tolist() == [1, 1, 0]
    assert (table.subtasks, table.subtask.tolist()) == (["x", "y"], [0, 1, 0])
    assert (table.clusters, table.cluster.tolist()) == (["d1"], [0, 0, -1])
    assert [sample.sample_id for sample in table.read([2, 0])] == ["c", "a"]
    assert next(table.read([2])).previous_output == "A"


GOOD = line(Row("good"), 0) + "\n"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"\n", "blank"),
        (b"[1, 2]\n", "not an object but list"),
        (b"null\n", "not an object but NoneType"),
        (GOOD[:80].encode() + b"\n", "cut off"),
        (b"{'single': 1}\n", "not JSON"),
        (b"\xff\xfe{}\n", "not JSON"),
        (b'{"filter": "none", "metrics": ["m"], "m": 1}\n', "no `doc`"),
        (b'{"doc": {}, "filter": 3, "metrics": ["filter"]}\n', "`filter` is not a name"),
        (b"[" * 100_000 + b"\n", "nested too deeply"),
    ],
    ids=[
        "blank",
        "list",
        "null",
        "truncated",
        "not json",
        "not utf-8",
        "no doc",
        "filter overwritten",
        "deep",
    ],
)
def test_a_damaged_line_is_named_and_costs_only_itself(tmp_path, bad, why):
    path = lines_file(tmp_path, [GOOD, bad, line(Row("after"), 1)])
    table = read_table(path, "none")
    assert [*table.ids] == ["good", "after"]
    assert [(damage.line, damage.why.startswith(why)) for damage in table.damage] == [(2, True)]
    streamed = list(read_samples(path))
    assert [type(item) for item in streamed] == [Sample, Damage, Sample]


def test_values_that_no_column_can_hold(tmp_path):
    text = line(Row("a", response="SURROGATE"), 0).replace(
        "SURROGATE", "half \\ud83d pair \\ud83d\\ude00"
    )
    path = lines_file(tmp_path, [text.replace('"doc_id": 0', '"doc_id": 1' + "0" * 30) + "\n"])
    table = read_table(path, "none")
    assert table.doc_id.tolist() == [-1]
    assert next(table.read([0])).response == "half ? pair \N{GRINNING FACE}"


def test_an_empty_file_has_no_rows(tmp_path):
    table = read_table(lines_file(tmp_path, []), "none")
    assert (len(table), table.damage, table.metrics) == (0, [], {})


@pytest.mark.parametrize(
    ("value", "number", "weight"),
    [
        ("NaN", None, None),
        ("Infinity", None, None),
        ("true", 1.0, None),
        ("null", None, None),
        ('"0.5"', None, None),
        ("[true, false, true, true]", 0.75, 4),
        ("[]", None, 0),
        ('{"a": 1}', None, None),
        ("1" + "0" * 400, None, None),
    ],
    ids=[
        "nan",
        "infinity",
        "bool",
        "null",
        "text",
        "list",
        "empty list",
        "mapping",
        "beyond float",
    ],
)
def test_metric_values(tmp_path, value, number, weight):
    text = line(Row("a", correct=12345), 0).replace("12345", value)
    table = read_table(lines_file(tmp_path, [text + "\n"]), "none")
    found = table.metrics["exact_match"][0]
    assert np.isnan(found) if number is None else found == number
    if weight is not None:
        assert table.weights["exact_match"].tolist() == [weight]


def test_lines_with_other_metrics_line_up(tmp_path):
    rows = [{"a": 1.0}, {"b": 2.0, "odd name,": 5}, {"a": 3.0, "b": 4.0}]
    lines = [line(Row(str(at), metrics=metrics), at) + "\n" for at, metrics in enumerate(rows)]
    table = read_table(lines_file(tmp_path, lines), "none")
    assert table.metrics["a"].tolist() == pytest.approx([1, np.nan, 3], nan_ok=True)
    assert table.metrics["b"].tolist() == pytest.approx([np.nan, 2, 4], nan_ok=True)
    assert table.metrics["odd name,"].tolist() == pytest.approx([np.nan, 5, np.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("docs", "ids", "source"),
    [
        ([{"sample_id": 7}, {"sample_id": "x"}], ["7", "x"], "sample_id"),
        ([{"id": "p"}, {"id": "q"}], ["p", "q"], "id"),
        ([{"question_id": 1}, {"question_id": 2}], ["1", "2"], "question_id"),
        ([{"id": "p", "q": 1}, {"id": "p", "q": 2}], None, "doc_hash"),
        ([{"q": 1}, {"q": 2}], None, "doc_hash"),
        ([{"id": None, "q": 1}, {"id": "", "q": 2}], None, "doc_hash"),
    ],
    ids=["sample_id", "id", "question_id", "id repeats", "no id column", "empty ids"],
)
def test_row_identity(tmp_path, docs, ids, source):
    lines = []
    for at, doc in enumerate(docs):
        content = json.loads(line(Row("unused"), at))
        content |= {"doc": doc, "doc_hash": f"hash{at}"}
        lines.append(json.dumps(content) + "\n")
    table = read_table(lines_file(tmp_path, lines), "none")
    assert table.id_source == source
    assert [*table.ids] == (ids or ["hash0", "hash1"])


def test_hashes_of_any_length_keep_their_first_bits(tmp_path):
    # Together they are as long as two digests of sha256.
    hashes = ["ab" * 31, "12" + "cd" * 32]
    lines = []
    for number, digest in enumerate(hashes):
        content = json.loads(line(Row(str(number)), number))
        lines.append(json.dumps(content | {"doc_hash": digest}) + "\n")
    table = read_table(lines_file(tmp_path, lines), "none")
    assert table.doc_hash.tolist() == [int(digest[:16], 16) for digest in hashes]


def test_filters_are_kept_apart_and_the_declared_one_is_primary(tmp_path):
    declared = {"primary_metric": "exact_match", "primary_filter": "flexible-extract"}
    filters = ("strict-match", "flexible-extract")
    home = write_run(tmp_path, {"t": [Row("a"), Row("b")]}, metadata=declared, filters=filters)
    task = load_run(home).tasks["t"]
    assert (task.primary.metric, task.primary.filter, task.primary.declared) == (
        *declared.values(),
        True,
    )
    assert task.table().filters == {"strict-match": 2, "flexible-extract": 2}
    assert [sample.filter for sample in task.samples("strict-match")] == ["strict-match"] * 2


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({"unparsed": 0.0, "acc_norm": 1.0, "acc": 0.0}, "acc"),
        ({"inst": [1, 0], "own": 0.5}, "inst"),
        ({"f1": [1, 0], "own": 0.5}, "own"),
        ({"perplexity": -3.5}, ""),
        ({"own": {"a": 1}, "other": 0.5}, "other"),
        ({"bypass": None}, ""),
    ],
    ids=[
        "usual before others",
        "lists of numbers count",
        "pairs do not",
        "log-likelihoods do not",
        "mappings do not",
        "predict only",
    ],
)
def test_the_guess_of_a_primary_metric(tmp_path, metrics, expected):
    task = load_run(write_run(tmp_path, {"t": [Row("a", metrics=metrics)]})).tasks["t"]
    assert (task.primary.metric, task.primary.declared) == (expected, False)


def kept_task(tmp_path, monkeypatch):
    """A task with every kind of column, whose table is kept in groups of 8 rows."""
    rows = [
        Row(f"r{at}", at % 2, previous=bool(at % 3), cluster=f"d{at // 2}", subtask="é")
        for at in range(20)
    ]
    rows.append(Row("list", metrics={"exact_match": [1, 0]}))
    rows.append(Row("pair", metrics={"word_perplexity": [-3.5, 4]}))
    task = load_run(write_run(tmp_path, {"t": rows})).tasks["t"]
    with task.path.open("a") as file:
        file.write("{broken\n")
    monkeypatch.setenv("EVALPREP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("evalprep.samples.store._AT_ONCE", 8)
    return task


def assert_same(table, other):
    for field in dataclasses.fields(Table):
        np.testing.assert_equal(getattr(table, field.name), getattr(other, field.name), field.name)


def entry_in(tmp_path):
    (entry,) = (tmp_path / "cache").iterdir()
    return entry


def test_the_store_gives_the_same_table_without_texts_to_its_owner_alone(tmp_path, monkeypatch):
    task = kept_task(tmp_path, monkeypatch)
    plain = read_table(task.path, "none")
    assert_same(cached_table(SampleFile(task.path), "none", small=0), plain)
    entry = entry_in(tmp_path)
    assert entry.stat().st_mode & 0o777 == 0o600
    kept = pq.read_table(entry)
    assert {"ids", "doc_id", "offset", "metric exact_match"} <= {*kept.column_names}
    for text in ("Question", "answer of the model"):
        assert text.encode() not in entry.read_bytes()
    monkeypatch.setattr("evalprep.samples.store.table_of", lambda *_, **__: pytest.fail("read"))
    assert_same(cached_table(SampleFile(task.path), "none", small=0), plain)


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"no table",
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw.replace(b"r7", b"x7", 1),
        lambda raw: raw.replace(b"offset", b"onset_"),
    ],
    ids=["foreign", "cut off", "another byte", "another column"],
)
def test_a_damaged_entry_is_written_anew(tmp_path, monkeypatch, damage):
    task = kept_task(tmp_path, monkeypatch)
    plain = cached_table(SampleFile(task.path), "none", small=0)
    entry = entry_in(tmp_path)
    content = entry.read_bytes()
    entry.write_bytes(damage(content))
    assert_same(cached_table(SampleFile(task.path), "none", small=0), plain)
    assert entry.read_bytes() == content


def test_a_parquet_file_of_other_columns_is_no_entry(tmp_path, monkeypatch):
    task = kept_task(tmp_path, monkeypatch)
    plain = cached_table(SampleFile(task.path), "none", small=0)
    entry = entry_in(tmp_path)
    content, whole = entry.read_bytes(), pq.read_table(entry)
    for other in (
        whole.drop_columns(["offset"]),
        whole.set_column(1, whole.schema.names[1], whole["offset"].cast(pa.float64())),
        whole.replace_schema_metadata({}),
        whole.replace_schema_metadata({"table": "{}"}),
    ):
        pq.write_table(other, entry)
        assert_same(cached_table(SampleFile(task.path), "none", small=0), plain)
        assert entry.read_bytes() == content


def test_several_processes_write_one_entry(tmp_path, monkeypatch):
    task = kept_task(tmp_path, monkeypatch)
    code = "import sys; from pathlib import Path\n"
    code += "from evalprep.samples import SampleFile, cached_table\n"
    code += "print(len(cached_table(SampleFile(Path(sys.argv[1])), 'none', small=0)))"
    words = [sys.executable, "-c", code, str(task.path)]
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
            for _ in range(3)
        ]
        assert {writer.communicate()[0] for writer in writers} == {"22\n"}
    monkeypatch.setattr("evalprep.samples.store.table_of", lambda *_, **__: pytest.fail("read"))
    assert len(cached_table(SampleFile(task.path), "none", small=0)) == len(
        pq.read_table(entry_in(tmp_path))
    )


def test_values_that_a_function_computes_are_kept_without_texts(tmp_path, monkeypatch):
    path = lines_file(tmp_path, [GOOD, line(Row("after"), 1) + "\n"])
    monkeypatch.setenv("EVALPREP_CACHE", str(tmp_path / "cache"))
    computed = []

    def under_rule(sample):
        computed.append(sample.sample_id)
        if sample.sample_id == "after":
            return None
        values = {"filter": "rule", "filtered_resps": ["an answer"], "metrics": {"own": 0.5}}
        return msgspec.structs.replace(sample, **values)

    source = ChangedSamples(SampleFile(path), under_rule, "version 1")
    table = cached_table(source, "rule")
    for sample in (*(item for _, item in source.placed()), *table.read([0])):
        assert (sample.sample_id, sample.filtered) == ("good", "an answer")
        assert sample.metrics == {"own": 0.5}
    assert computed == ["good", "after"]
    assert b"an answer" not in entry_in(tmp_path).read_bytes()
    elsewhere = ChangedSamples(SampleFile(path), pytest.fail, "version 1")
    assert cached_table(elsewhere, "rule").metrics["own"].tolist() == [0.5]
    mended = ChangedSamples(SampleFile(path), lambda sample: sample, "version 2")
    assert [*cached_table(mended, "none").ids] == ["good", "after"]


def test_a_run_that_is_not_large_is_read_without_pyarrow(tmp_path):
    home = write_run(tmp_path, {"t": [Row("a", 1.0), Row("b", 0.0)]})
    code = "import sys; from evalprep.cli import main; code = main(sys.argv[1:])\n"
    code += "assert code == 0; print([name for name in sys.modules if 'pyarrow' in name])"
    words = [sys.executable, "-c", code, "score", str(home), "--no-write"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_changed_file_is_another_entry_and_an_unusable_folder_no_error(tmp_path, monkeypatch):
    path = lines_file(tmp_path, [GOOD])
    monkeypatch.setenv("EVALPREP_CACHE", str(tmp_path / "cache"))
    assert len(cached_table(SampleFile(path), "none", small=0)) == 1
    path.write_text(GOOD + line(Row("second"), 1) + "\n")
    assert len(cached_table(SampleFile(path), "none", small=0)) == 2
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("EVALPREP_CACHE", str(tmp_path / "file"))
    assert len(cached_table(SampleFile(path), "none", small=0)) == 2


def test_small_files_of_a_large_run_are_kept_and_found_by_place_and_time(tmp_path, monkeypatch):
    """Five files of 200 MB are one run; a digest of each would take as long as reading it."""
    rows = [Row("a"), Row("b")]
    run = load_run(write_run(tmp_path / "run", {"t": rows, "u": rows}))
    folder = tmp_path / "cache"
    monkeypatch.setenv("EVALPREP_CACHE", str(folder))
    path = run.tasks["t"].path
    cached_table(SampleFile(path), "none", small=path.stat().st_size + 1)
    assert len(list(folder.glob("*.parquet"))) == 1
    monkeypatch.setattr("evalprep.samples.store.table_of", lambda *_, **__: pytest.fail("read"))
    assert [*cached_table(SampleFile(path), "none", small=0).ids] == ["a", "b"]
    monkeypatch.undo()
    monkeypatch.setenv("EVALPREP_CACHE", str(folder))
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"a"', b'"c"'))  # of the same size
    assert [*cached_table(SampleFile(path), "none", small=0).ids] == ["c", "b"]


texts = st.text(max_size=30)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(texts, texts, st.booleans(), st.floats(allow_nan=True)), max_size=8),
    st.booleans(),
)
def test_the_fast_reader_agrees_with_the_tolerant_one(tmp_path_factory, rows, with_nan):
    folder = tmp_path_factory.mktemp("lines")
    lines = [
        line(Row(f"{at}{name}", value, previous=previous, response=text, prompt=text), at) + "\n"
        for at, (name, text, previous, value) in enumerate(rows)
    ]
    if with_nan:  # sends lines through the tolerant reader
        lines = [text.replace('"filter"', '"other": NaN, "filter"') for text in lines]
    path = folder / f"samples_t_{STAMP}.jsonl"
    path.write_bytes("".join(lines).encode("utf-8", "surrogatepass"))
    table = read_table(path, "none")
    samples = [item for item in read_samples(path) if isinstance(item, Sample)]
    assert [*table.ids] == [sample.sample_id for sample in samples]
    assert [sample.response for sample in table.read(range(len(table)))] == [row[1] for row in rows]
    assert table.previous.tolist() == [int(row[2]) for row in rows]
    np.testing.assert_array_equal(
        table.metrics.get("exact_match", np.empty(0)), [number_of(row[3])[0] for row in rows]
    )


# VmHWM, not ru_maxrss: a process inherits the latter from the one that started it, so growth would
# not show.
_MEASURE = """
import sys
from pathlib import Path
from evalprep.samples import read_table

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024

before = peak()
table = read_table(Path(sys.argv[1]), "none")
print(len(table), peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_two_hundred_megabytes_are_read_in_less_than_a_hundred(tmp_path):
    path = tmp_path / f"samples_t_{STAMP}.jsonl"
    template = line(Row("row-0", response="x" * 600, prompt="y" * 600), 0) + "\n"
    rows = 200_000_000 // len(template) + 1
    with path.open("w") as file:
        file.writelines(template.replace("row-0", f"row-{at}") for at in range(rows))
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    path.unlink()
    count, grown = map(int, done.stdout.split())
    assert count == rows
    assert 0 < grown < 100_000_000


def test_a_metric_is_found_where_the_first_rows_hold_null(tmp_path):
    values = [None] * 7 + [1.0, 0.0, 0.5]
    rows = [Row(f"{at}", metrics={"graded": value}) for at, value in enumerate(values)]
    task = load_run(write_run(tmp_path, {"t": rows})).tasks["t"]
    assert (task.primary.metric, task.primary.kind) == ("graded", "rows")
    assert np.isfinite(task.values(task.primary)).tolist() == [False] * 7 + [True] * 3


def test_pairs_of_metrics_over_all_rows(tmp_path):
    metrics = {
        "word_perplexity": [-20.0, 4],
        "perplexity": -2.0,
        "f1": [1, 0],
        "bleu": ["gold", "reply"],
        "own": {"hits": 1},
    }
    rows = [Row("a", metrics=metrics), Row("b", metrics=metrics | {"f1": [0, 0]})]
    task = load_run(write_run(tmp_path, {"t": rows})).tasks["t"]
    kinds = {metric.metric: metric.kind for metric in task.metrics}
    assert kinds == {
        "word_perplexity": "counts",
        "perplexity": "counts",
        "f1": "counts",
        "bleu": "counts",
        "own": "function",
    }
    assert task.primary.metric == ""
    assert task.headline.metric == "own"  # its name is none of lm-eval's metrics over all rows
    pairs = task.table("none").pairs
    assert sorted(pairs) == ["f1", "perplexity", "word_perplexity"]
    assert [side.tolist() for side in pairs["word_perplexity"]] == [[-20.0, -20.0], [4.0, 4.0]]
    assert pairs["perplexity"][1].tolist() == [1.0, 1.0]
    assert pairs["f1"][0].tolist() == [1.0, 0.0]
    samples = task.table("none").read(range(2))
    assert [sample.metrics["bleu"] for sample in samples] == [["gold", "reply"]] * 2


def test_the_values_decide_what_a_metric_is_not_its_name(tmp_path):
    rows = [Row("a", metrics={"f1": 0.5}), Row("b", metrics={"f1": 1.0})]
    task = load_run(write_run(tmp_path, {"t": rows})).tasks["t"]
    assert (task.primary.metric, task.primary.kind) == ("f1", "rows")
    assert task.values(task.primary).tolist() == [0.5, 1.0]


def test_documents_that_rows_share(tmp_path):
    rows = [
        Row(f"{at}", doc={"document_id": f"d{at // 2}", "story_id": at, "page": at % 3})
        for at in range(6)
    ]
    task = load_run(write_run(tmp_path, {"t": rows})).tasks["t"]
    assert sorted(task.table().documents) == ["document_id"]  # each story is of one row alone
    table = task.table()
    assert table.documents["document_id"].tolist() == [0, 0, 1, 1, 2, 2]
    for name, codes in {"page": [0, 1, 2, 0, 1, 2], "gone": [-1] * 6}.items():
        assert codes_of_field(table, name)[1].tolist() == codes


def test_empty_replies(tmp_path):
    rows = [Row("a", response=""), Row("b", response=" \n"), Row("c", response="x")]
    task = load_run(write_run(tmp_path, {"t": rows})).tasks["t"]
    assert task.table().empty.tolist() == [1, 1, 0]


def likelihood(at, target, arguments, **more):
    """A line of a multiple-choice task."""
    fields = {"doc_id": at, "doc": {"sample_id": f"{at}"}, "target": target, "filter": "none"}
    fields |= {"arguments": arguments, "resps": [[["-1.0", "False"]]], "metrics": ["acc"]}
    return json.dumps(fields | {"filtered_resps": [["-1.0", "False"]], "acc": 1.0} | more) + "\n"


def test_gold_answers_and_arguments_of_other_spellings(tmp_path):
    named = {f"gen_args_{at}": {"arg_0": "Q?", "arg_1": f" {end}"} for at, end in enumerate("xyz")}
    listed = [["Q?", f" {end}"] for end in "xyz"]
    alike = {f"gen_args_{at}": {"arg_0": f"Q {at}", "arg_1": " so"} for at in range(3)}
    lines = [likelihood(0, "2", named), likelihood(1, "z", listed), likelihood(2, "2", alike)]
    path = lines_file(tmp_path, lines)
    samples = list(read_samples(path))
    assert [sample.gold for sample in samples] == ["z", "z", "2"]
    table = read_table(path, "none")
    assert table.empty.tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("resps", "flag"),
    [
        ([["  \n"]], 1),
        ([["", " "], [""]], 1),
        ([["", "x"]], 0),
        ([[[-1.0, True]]], UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_blank_replies_are_told_from_the_reply_alone(resps, flag):
    assert is_blank(resps) == flag
    assert _blank_flag(json.dumps(resps).encode()) == flag
