"""A comparison and a leaderboard for papers: LaTeX with booktabs, and a drawing of the differences."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from evalprep.cli import main
from evalprep.tables import Column, Kind, Table, latex_lines
from evalprep.tables.latex import escape_latex
from tests.evalprep.results.writing import Row, write_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs: far apart in one task, alike in another."""
    home = tmp_path_factory.mktemp("runs")
    for name, shares, seed in (("one", (0.9, 0.52), 1), ("two", (0.5, 0.5), 2)):
        rng = np.random.default_rng(seed)
        tasks = {}
        for task, share in zip(("arc_easy", "boolq"), shares, strict=True):
            verdicts = (float(rng.random() < share) for _ in range(150))
            tasks[task] = [
                Row(str(number), metrics={"acc": verdict})
                for number, verdict in enumerate(verdicts)
            ]
        write_run(home / name, tasks, model=f"org__{name}")
    return [str(home / "one"), str(home / "two")]


def line_of(text, name):
    (line,) = [line for line in text.splitlines() if line.startswith(name)]
    return line


def test_a_table_with_the_better_side_in_bold_where_it_is_shown(runs, capsys):
    assert main(["compare", *runs, "--to", "latex"]) == 0
    text = capsys.readouterr().out
    assert text.index("\\toprule") < text.index("\\midrule") < text.index("\\bottomrule")
    shown = line_of(text, "arc\\_easy")
    assert shown.count("\\textbf") == 1
    assert "150 & \\textbf{" in shown
    assert "[+" in shown
    open_one = line_of(text, "boolq")
    assert "\\textbf" not in open_one
    assert "$-$" in open_one
    assert main(["compare", *reversed(runs), "--to", "latex"]) == 1
    turned = line_of(capsys.readouterr().out, "arc\\_easy")
    before, _, behind = turned.partition("\\textbf")
    assert before.count("&") == 3  # n, candidate, then the baseline
    assert behind


def test_the_differences_are_drawn(runs, capsys):
    assert main(["compare", *runs, "--to", "svg"]) == 0
    drawing = ET.fromstring(capsys.readouterr().out)
    space = "{http://www.w3.org/2000/svg}"
    titles = [title.text for title in drawing.iterfind(f"{space}g/{space}title")]
    assert [title.partition(":")[0] for title in titles] == [
        "arc_easy",
        "boolq",
        "mean of 2 of 2 tasks",
    ]
    for group in drawing.iterfind(f"{space}g"):
        line, circle = group.find(f"{space}line"), group.find(f"{space}circle")
        low, middle, high = (
            float(part) for part in (line.get("x1"), circle.get("cx"), line.get("x2"))
        )
        assert 0 < low < middle < high < 620


def test_nothing_is_written_beside_the_runs(runs, tmp_path, capsys):
    assert main(["compare", *runs, "--to", "latex", "--out", str(tmp_path / "flips.csv")]) == 0
    assert (tmp_path / "flips.csv").is_file()
    assert "flips.csv" not in capsys.readouterr().out


def test_a_leaderboard_with_intervals(runs, capsys):
    assert main(["leaderboard", *runs, "--to", "latex"]) == 0
    text = capsys.readouterr().out
    heads = line_of(text, "model &").split(" & ")
    best = line_of(text, "one &").split(" & ")
    worse = line_of(text, "two &")
    assert "arc\\_easy" in heads[1]
    assert best[1].startswith("\\textbf{")
    assert "{\\footnotesize [" in best[1]
    assert "\\textbf" not in best[2] + worse


def test_signs_of_latex_are_escaped():
    assert escape_latex("a_b 5% {x} \\ -1.5 co-op †") == (
        r"a\_b 5\% \{x\} \textbackslash{} $-$1.5 co-op \textdagger{}"
    )
    table = Table("", [Column("name", Kind.NAME), Column("n", Kind.COUNT)])
    table.add_heading("first & second")
    table.add("a", 3)
    lines = list(latex_lines(table))
    assert lines[0] == r"\begin{tabular}{lr}"
    assert r"\multicolumn{2}{l}{\emph{first \& second}} \\" in lines
    assert r"a & 3 \\" in lines
