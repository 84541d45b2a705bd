"""Blocks of ordinary lines and lines one by one give the same table, whatever stands between them."""

import json
import math
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalprep.cli import main
from evalprep.samples import Sample, read_samples, read_table
from tests.effort import examples
from tests.evalprep.results.writing import Row, line, write_run

KINDS = {
    "ordinary": lambda at: line(Row(f"r{at}", float(at % 2), bool(at % 3)), at) + "\n",
    "other filter": lambda at: line(Row(f"r{at}"), at, filter_name="other") + "\n",
    "other metrics": lambda at: (
        line(Row(f"r{at}", metrics={"acc": 1.0, "unparsed": 1.0}), at) + "\n"
    ),
    "not a number": lambda at: line(Row(f"r{at}", math.nan), at) + "\n",
    "carriage return": lambda at: line(Row(f"r{at}"), at) + "\r\n",
    "blank": lambda _: "\n",
    "two in one": lambda at: line(Row(f"r{at}"), at) + line(Row(f"s{at}"), at) + "\n",
    "over two lines": lambda at: line(Row(f"r{at}"), at).replace(', "doc":', ',\n"doc":', 1) + "\n",
    "over two lines at a brace": lambda at: (
        line(Row(f"r{at}"), at).replace('"doc": {', '"doc":\n{', 1) + "\n"
    ),
    "cut": lambda at: line(Row(f"r{at}"), at)[:90] + "\n",
    "another prompt": lambda at: line(Row(f"r{at}", sent="Something else?"), at) + "\n",
    "escaped prompt": lambda at: (
        json.dumps(json.loads(line(Row(f"r{at}", prompt="Où?"), at))) + "\n"
    ),
    "no metrics": lambda at: line(Row(f"r{at}", metrics={}), at) + "\n",
    "metrics not listed": lambda at: (
        line(Row(f"r{at}", metrics={f"metric{at % 2}": 1.0}), at).replace(
            f'"metrics": ["metric{at % 2}"], ', "", 1
        )
        + "\n"
    ),
    "metrics listed in other spelling": lambda at: (
        line(Row(f"r{at}"), at).replace('"metrics": [', '"metrics": [ ', 1) + "\n"
    ),
}


@settings(max_examples=examples(150), deadline=None)
@given(
    kinds=st.lists(st.sampled_from(sorted(KINDS)), max_size=40),
    block=st.sampled_from([1, 700, 3_000, 2**18]),
    ended=st.booleans(),
)
@example(
    kinds=["over two lines at a brace", "two in one"], block=2**18, ended=True
)  # as many values as lines
@example(kinds=["metrics not listed"] * 2, block=1, ended=True)  # not the metrics of the first
def test_a_table_holds_what_reading_line_by_line_gives(tmp_path_factory, kinds, block, ended):
    path = tmp_path_factory.getbasetemp() / "samples_t_2026-03-01T10-00-00.000001.jsonl"
    text = "".join(KINDS[kind](at) for at, kind in enumerate(kinds))
    path.write_bytes((text if ended else text.removesuffix("\n")).encode())
    every = list(read_samples(path))
    samples = [one for one in every if isinstance(one, Sample)]
    wanted = [sample for sample in samples if sample.filter == "none"]
    with mock.patch("evalprep.samples.scan._BLOCK", block):  # few lines then make many blocks
        table = read_table(path, "none")
    assert [*table.ids] == [one.sample_id for one in wanted]
    assert [(one.line, one.why) for one in table.damage] == [
        (one.line, one.why) for one in every if not isinstance(one, Sample)
    ]
    assert table.filters == {
        name: sum(sample.filter == name for sample in samples)
        for name in {s.filter for s in samples}
    }
    for row, one in zip(table.read(range(len(table))), wanted, strict=True):
        assert (row.resps, row.metrics.keys(), row.prompt) == (
            one.resps,
            one.metrics.keys(),
            one.prompt,
        )
    assert table.prompt_as_prepared.tolist() == [
        int(one.prompt == one.doc["prompt"]) for one in wanted
    ]
    assert table.metrics.keys() == set().union(*(one.metrics for one in wanted))
    for name, values in table.metrics.items():
        expected = [one.metrics.get(name) for one in wanted]
        assert [None if math.isnan(value) else value for value in values] == [
            None if value is None or math.isnan(value) else value for value in expected
        ]


CLUSTERS = [5, "5", True, 1, "True", 1.0, ["a"], "['a']", None, 1, True, 0, False, {"b": 1}, 5]


@settings(max_examples=examples(100), deadline=None)
@given(clusters=st.lists(st.sampled_from(CLUSTERS), min_size=1, max_size=30))
@example(clusters=[True, 1, ["a"], 1, True])
@example(clusters=[1, True, ["a"]])
def test_clusters_of_several_kinds_do_not_depend_on_where_a_block_ends(tmp_path_factory, clusters):
    rows = [line(Row(f"r{at}", cluster=value), at) for at, value in enumerate(clusters)]
    path = tmp_path_factory.mktemp("run") / "samples_t_2026-03-01T10-00-00.000001.jsonl"
    path.write_text("".join(f"{text}\n" for text in rows))
    texts = [None if value is None else str(value) for value in clusters]
    for block in (1, 700, 3_000, 2**18):
        with mock.patch("evalprep.samples.scan._BLOCK", block):
            table = read_table(path, "none")
        names = [None if code < 0 else table.clusters[code] for code in table.cluster]
        assert names == texts


@pytest.mark.parametrize("lines", [1, 40])
@pytest.mark.parametrize(("levels", "rows"), [(99, 1), (100, 0), (400, 0), (5000, 0)])
def test_lines_are_nested_in_a_hundred_levels_at_most(tmp_path, capsys, lines, levels, rows):
    write_run(tmp_path, {"t": [Row(f"{at}", correct=1) for at in range(lines)]})
    (file,) = tmp_path.rglob("samples_t_*")
    first, *others = file.read_text().splitlines(keepends=True)
    # Brackets in a text are no levels.
    deep = "[" * levels + '"[[[{{{' + "{" * 200 + '"' + "]" * levels
    file.write_text(first.rstrip()[:-1] + f', "extra": {deep}}}\n' + "".join(others))
    assert main(["score", str(tmp_path), "--no_write", "--json"]) == (0 if rows or others else 3)
    said = capsys.readouterr()
    assert ("nested too deeply" in said.out + said.err) is not bool(rows)
    table = read_table(file, "none")
    assert len(table) == len(others) + rows
