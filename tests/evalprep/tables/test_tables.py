"""One table in every medium: the same cells, whole names, raw values for programs, no formulas."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalprep.tables import (
    Cell,
    Column,
    Kind,
    Note,
    Table,
    Tone,
    Workbook,
    block_lines,
    column_blocks,
    harmless,
    html_table,
    markdown_lines,
    print_table,
    table_lines,
    table_of,
    write_csv,
)
from evalprep.tables.csvfile import csv_lines
from evalprep.tables.workbook import sheet_name
from evalprep.terminal import console
from tests.evalprep.report.test_files import sheets


def _table(names=("arc_easy", "mmlu_[x]")) -> Table:
    columns = [
        Column("task", Kind.NAME),
        Column("n", Kind.COUNT),
        Column("score", Kind.PERCENT, arrow="↑"),
        Column("difference", Kind.POINTS),
        Column("p", Kind.PROBABILITY),
        Column("verdict", Kind.TEXT),
    ]
    table = Table("Scores, in percent", columns, notes=[Note("p is adjusted", Tone.QUIET)])
    for name in names:
        score = Cell(0.8125, detail="[0.7, 0.9]", tone=Tone.LEADING, note="of 16 rows")
        table.add(name, 16, score, -0.0125, 1e-9, "=worse")
    table.add("mean", None, None, None, None, "")
    return table


def _printed(table: Table, width: int) -> list[str]:
    out = io.StringIO()
    print_table(console(out, width=width), table)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_a_terminal_shows_texts_and_absent_numbers():
    lines = _printed(_table(), 120)
    assert lines[0] == "Scores, in percent"
    row = next(line for line in lines if "mmlu_[x]" in line)
    assert row.split() == ["mmlu_[x]", "16", "81.2", "[0.7,", "0.9]", "-1.2", "<1e-4", "=worse"]
    assert next(line for line in lines if "mean" in line).split() == ["mean", "-", "-", "-", "-"]
    assert lines[-1] == "p is adjusted"


@pytest.mark.parametrize("length", [4, 40, 70])
def test_names_stay_whole_at_80_columns(length):
    names = [f"{at}" + "n" * (length - 1) for at in range(3)]
    lines = _printed(_table(names), 80)
    assert all(len(line) <= 80 for line in lines)
    assert all(any(name in line for line in lines) for name in names)
    cells = "16  81.2 [0.7, 0.9]        -1.2  <1e-4  =worse"
    assert sum(" ".join(cells.split()) in " ".join(line.split()) for line in lines) == 3
    assert lines[0] == "Scores, in percent"


def test_markdown_escapes_cells_and_aligns_by_kind():
    lines = list(markdown_lines(_table()))
    assert lines[0] == "## Scores, in percent"
    assert lines[2] == "| task | n | score ↑ | difference | p | verdict |"
    assert lines[3] == "| --- | ---: | ---: | ---: | ---: | --- |"
    assert lines[5] == "| mmlu\\_\\[x\\] | 16 | **81.2** [0.7, 0.9] | -1.2 | \\<1e-4 | =worse |"
    assert "- p is adjusted" in lines


def test_csv_writes_raw_values_and_no_formula(tmp_path):
    path = tmp_path / "t.csv"
    assert write_csv(_table(["=1+1", " @x"]), path) == 3
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["task", "n", "score", "difference", "p", "verdict"]
    assert rows[1] == ["'=1+1", "16", "0.8125", "-0.0125", "1e-09", "'=worse"]
    assert rows[2][0] == "' @x"
    assert rows[3] == ["mean", "", "", "", "", ""]


CELLS = st.one_of(
    *(st.text('a,"\r\n =é\ud800\x00', max_size=6), st.none(), st.booleans()),
    *(st.integers(), st.floats()),
)


@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=6))
def test_lines_are_those_of_the_standard_library(rows):
    expected = io.StringIO(newline="")
    csv.writer(expected).writerows([[harmless(cell) for cell in cells] for cells in rows])
    assert "".join(csv_lines(rows)) == expected.getvalue()


def test_a_workbook_holds_numbers_as_numbers_and_texts_as_texts(tmp_path):
    path = tmp_path / "t.xlsx"
    with Workbook(path) as book:
        book.add(_table(["=1+1"]))
        book.add(_table(["long" * 20_000]))
    read = sheets(path)  # asserts that there is no formula and no link
    assert list(read) == ["Scores, in percent", "Scores, in percent (2)"]
    first, second = read.values()
    assert first[1]["A"] == "=1+1"
    assert first[1]["C"] == 0.8125
    assert first[-1]["A"] == "p is adjusted"
    assert len(second[1]["A"]) <= 32_767
    with zipfile.ZipFile(path) as book:
        assert b"of 16 rows" in book.read("xl/comments1.xml")


def test_a_workbook_that_fails_leaves_the_old_one(tmp_path):
    path = tmp_path / "t.xlsx"
    path.write_text("old")
    broken = Table("Broken", [Column("n", Kind.COUNT)], (1 / number for number in (1, 0)))
    with pytest.raises(TypeError), Workbook(path) as book:
        book.add(broken)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "used", "expected"),
    [
        pytest.param("plain", set(), "plain", id="plain"),
        pytest.param("a/b:c[d]*?\\", set(), "a_b_c_d____", id="forbidden characters"),
        pytest.param("x" * 40, set(), "x" * 31, id="long"),
        pytest.param("X" * 40, {"x" * 31}, "X" * 27 + " (2)", id="long and taken, case ignored"),
        pytest.param("History", set(), "History (2)", id="reserved"),
        pytest.param("", set(), "task", id="empty"),
    ],
)
def test_sheet_names(name, used, expected):
    assert sheet_name(name, used) == expected


def test_an_iterator_is_read_once(tmp_path):
    rows = ([f"s{at}", at / 10] for at in range(3))
    table = Table("Samples", [Column("id", Kind.NAME), Column("score", Kind.NUMBER)], rows)
    assert write_csv(table, tmp_path / "s.csv") == 3


def test_html_escapes_texts_and_heads_rows_by_their_names():
    columns = [Column("model", Kind.NAME), Column("a < b"), Column("n", Kind.COUNT)]
    table = Table("", columns, [("<i>", "first\nsecond & last", 3), ("b", None, None)])
    assert html_table(table) == (
        '<table><thead><tr><th scope="col">model</th><th scope="col">a &lt; b</th>'
        '<th scope="col">n</th></tr></thead><tbody>'
        '<tr><th scope="row">&lt;i&gt;</th><td>first<br>second &amp; last</td><td>3</td></tr>'
        '<tr><th scope="row">b</th><td></td><td>-</td></tr></tbody></table>'
    )


def _list() -> Table:
    columns = [Column("", Kind.NAME), Column("", wraps=True)]
    table = Table("", columns)
    table.add_heading("[family: chat]")
    table.add("arc", "questions of school science, with four choices each")
    table.add("mmlu_pro", "first line\nsecond line")
    return table


def test_a_list_has_no_head_and_its_sentences_wrap():
    assert table_lines(_list(), 40, indent="  ") == [
        "  [family: chat]",
        "  arc       questions of school science,",
        "            with four choices each",
        "  mmlu_pro  first line",
        "            second line",
    ]
    assert (
        table_lines(_list())[1] == "arc       questions of school science, with four choices each"
    )


def test_headings_between_rows_are_no_values(tmp_path):
    assert write_csv(_list(), tmp_path / "t.csv") == 2
    assert "| **\\[family: chat\\]** |  |" in list(markdown_lines(_list()))
    assert html_table(_list()).startswith(
        '<table><tbody><tr class="level1"><th scope="rowgroup" colspan="2">[family: chat]</th></tr>'
    )
    assert any(line.endswith("[family: chat]") for line in _printed(_list(), 80))


@pytest.mark.parametrize("width", [30, 40, 60])
def test_lines_are_cut_where_columns_allow(width):
    columns = [Column("task", least=8), Column("n", Kind.COUNT), Column("why", least=6)]
    table = Table("", columns, [("a_task_of_a_family", 12345, "some words and more words")])
    head, line = table_lines(table, width)
    assert len(line) <= width
    assert line.split("  ")[0][-4:] == "mily"
    assert "12345" in line
    assert head.index("n  ") + 1 == line.index("12345") + 5


def test_a_column_that_gives_everything_away_is_empty():
    table = Table("", [Column("task"), Column("family", least=0)], [("a" * 10, "b" * 10)])
    assert table_lines(table, 12) == ["task", "a" * 10]


def _wide() -> Table:
    columns = [Column("model", Kind.NAME)]
    columns += [Column(f"benchmark_{at}", Kind.PERCENT, "% ↑") for at in range(9)]
    table = Table("", columns)
    table.add("base", *(Cell(at / 10, mark="*") for at in range(9)))
    table.add("new/" + "n" * 90, *(at / 10 for at in range(8)), None)
    return table


def test_a_wide_table_is_several_that_fit():
    parts = column_blocks(_wide(), 80)
    assert [name for part in parts for name in part.names[1:]] == _wide().names[1:]
    lines = [block_lines(part, 80) for part in parts]
    assert max(len(line) for part in lines for line in part) <= 80
    assert lines[0][1].split()[0] == "model"
    base, new = lines[0][-2:]
    # Digits stand below digits, with the sign or without.
    assert base.index("10.0*") == new.index("10.0")
    assert lines[-1][-1].endswith("-")


def _declared(items) -> Table:
    columns = [
        Column("name", Kind.NAME, cell=lambda item: Cell(item["name"], detail="(base)")),
        Column("score", Kind.NUMBER, "↑", unit="%", cell=lambda item: item["score"]),
        Column("published", Kind.NUMBER, cell=lambda item: item.get("published"), optional=True),
    ]
    return table_of("Scores", columns, items, tone=lambda item: item.get("tone", Tone.PLAIN))


def test_a_table_has_the_cells_that_its_columns_declare(tmp_path):
    leading = {"name": "a", "score": Cell(0.5, "50.0", "[40.0, 60.0]", Tone.LEADING)}
    table = _declared([leading, {"name": "b", "score": 0.25, "tone": Tone.REFERENCE}])
    assert [row.tone for row in table.lines()] == [Tone.PLAIN, Tone.REFERENCE]
    # People read the unit; raw values do not have it, and nobody reads a column without values.
    assert next(line for line in markdown_lines(table) if "name" in line) == "| name | score % ↑ |"
    write_csv(table, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().split() == ["name,score", "a,0.5", "b,0.25"]
    assert _declared([{"name": "a", "score": 1, "published": 0.0}]).names[-1] == "published"


def test_blocks_mark_leading_values_and_keep_the_details_of_names():
    leading = {"name": "a", "score": Cell(0.5, "50.0", "[40.0, 60.0]", Tone.LEADING)}
    (block,) = column_blocks(_declared([leading]), 80)
    assert block_lines(block, 80)[-1].split() == ["a", "(base)", "50.0*"]


def test_html_has_the_tones_shades_and_raw_values_of_cells():
    columns = [Column("model", Kind.NAME), Column("f_1", Kind.PERCENT, "↑", note="higher")]
    table = Table("", columns)
    cell = Cell(0.5, detail="0.4 to 0.6", tone=Tone.EXCLUDED, note="few rows", mark="†", shade=1.2)
    table.add(Cell("a/b", detail="(reference)"), cell, tone=Tone.REFERENCE)
    assert html_table(table, name="scores", style="board", sortable=True) == (
        '<table class="board sortable" id="scores"><thead><tr>'
        '<th scope="col" aria-sort="none"><button type="button">model</button></th>'
        '<th scope="col" title="higher" aria-sort="none">'
        '<button type="button">f_<wbr>1 <span>↑</span></button></th></tr></thead><tbody>'
        '<tr class="reference"><th scope="row"><span class="v">a/<wbr>b</span>'
        ' <span class="aside">(reference)</span></th>'
        '<td class="other shade9" data-v="0.5" title="few rows"><span class="v">50.0</span>†'
        ' <span class="aside">0.4 to 0.6</span></td></tr></tbody></table>'
    )


def _under_headings() -> Table:
    columns = [Column(""), Column("f1", Kind.NUMBER, over="bioasq", digits=2)]
    columns.append(Column("em", Kind.NUMBER, over="bioasq"))
    return Table("Summary", columns, [("a", 0.123456, 1)])


def test_headings_above_the_names_have_a_line_of_their_own_in_files(tmp_path):
    assert write_csv(_under_headings(), tmp_path / "t.tsv") == 1
    text = (tmp_path / "t.tsv").read_text()
    assert text == "\tbioasq\tbioasq\n\tf1\tem\na\t0.123456\t1\n"
    assert next(markdown_lines(_under_headings(), heading="##")) == "## Summary"
    assert "|  | bioasq f1 | bioasq em |" in list(markdown_lines(_under_headings()))
    assert table_lines(_under_headings())[0] == "   bioasq f1  bioasq em"


def test_a_workbook_shows_decimals_and_holds_all(tmp_path):
    path = tmp_path / "t.xlsx"
    with Workbook(path) as book:
        book.add(_under_headings())
    assert sheets(path)["Summary"][2]["B"] == 0.123456
    with zipfile.ZipFile(path) as book:
        styles = book.read("xl/styles.xml")
    assert b'formatCode="0.00"' in styles


def test_a_long_heading_has_three_lines_and_a_name_as_a_whole():
    columns = [Column("model", Kind.NAME)]
    names = (
        "gsm8k: exact_match",
        "leaderboard_math_counting_and_prob_hard: prompt_level_strict_acc",
    )
    columns += [Column(name, Kind.PERCENT) for name in names]
    table = Table("", columns, [("base", 0.5, 0.5)])
    head = block_lines(table, 80)[:3]
    assert [line.split()[-2:] for line in head[1:]] == [
        ["gsm8k:", "counting_and_prob_hard:"],
        ["exact_match", "prompt_level_strict_acc"],
    ]
