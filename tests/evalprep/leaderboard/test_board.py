"""The leaderboard: which rows and columns, what is marked, what may not be put beside what, every file."""

import csv
import itertools
import json
import re
import statistics
import zipfile
from dataclasses import replace

import pytest

from evalprep.cli import main
from evalprep.compare import Conclusion, Difference, Kind, Reason
from evalprep.compare.best import leaders
from evalprep.leaderboard import build_board
from evalprep.leaderboard.board import Board, Row
from evalprep.leaderboard.columns import TASK, Cell, Column, Columns
from evalprep.leaderboard.picture import Axis
from evalprep.leaderboard.screen import spark, text
from evalprep.leaderboard.steps import Place, place_in
from evalprep.packs.finding import find_packs
from evalprep.results import each_run, label_runs, load_run
from evalprep.score import score_run
from evalprep.verbs.leaderboard import in_natural_order
from tests.evalprep.leaderboard.runs import PACK, ROWS, make_pack, rows, write, write_all
from tests.evalprep.results.writing import Row as Sample
from tests.evalprep.results.writing import write_run


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaderboard")
    make_pack(folder)
    write_all(folder)
    return folder


@pytest.fixture(scope="module")
def command(home):
    results = home / "eval_results"
    return [
        *("leaderboard", str(results), "--reference", str(results / "saves__retain90")),
        *("--template_dir", str(home / "packs")),
    ]


@pytest.fixture(scope="module")
def data(command, home):
    out = home / "out"
    assert main([*command, "--out", str(out), "--format", "html,csv,md,xlsx,json"]) == 0
    return json.loads((out / "leaderboard.json").read_text())


def by_label(data):
    return {row["label"]: row for row in data["rows"]}


def test_every_run_of_a_folder_is_a_row_in_natural_order(data):
    labels = [row["label"].rpartition("/")[2] for row in data["rows"]]
    steps = [f"checkpoint-{step}" for step in (2, 10, 20, 50, 100)]
    assert labels == ["retain90", "cut", *steps, "limited", *steps]
    assert [row["reference"] for row in data["rows"]].count(True) == 1


def test_the_headline_is_the_packs(data):
    assert data["shown"] == ["toy/secrets_recited", "toy/kept", "toy/balance"]
    assert {"known", "secret"} <= {column["id"] for column in data["columns"]}


def test_steps_come_from_the_paths(data):
    row = by_label(data)["npo/checkpoint-50"]
    assert (row["trajectory"], row["step"]) == ("/saves/npo", 50)


def test_a_part_of_the_data_and_missing_rows_are_marked_and_do_not_lead(data):
    limited, cut = (by_label(data)[f"saves/{name}"]["cells"] for name in ("limited", "cut"))
    assert {limited[name]["standing"] for name in data["shown"]} == {"other question"}
    assert "it has 12 of 120 rows" in limited["toy/kept"]["why"][0]
    assert (cut["toy/kept"]["standing"], cut["toy/kept"]["why"]) == (
        "incomplete",
        ["80 of 120 rows of known"],
    )
    assert cut["toy/secrets_recited"]["standing"] == ""
    assert cut["toy/balance"]["standing"] == "incomplete"
    assert not any(cell["leads"] for cell in limited.values())
    assert not cut["toy/kept"]["leads"]


def test_the_best_value_and_what_is_not_shown_to_be_worse_lead(data):
    kept = {label: row["cells"]["toy/kept"]["leads"] for label, row in by_label(data).items()}
    assert kept["npo/checkpoint-2"]
    assert not kept["ga/checkpoint-100"]
    assert not kept["saves/retain90"]  # a yardstick, whatever its value
    secret = {label: row["cells"]["toy/secrets_recited"] for label, row in by_label(data).items()}
    leading = {label for label, cell in secret.items() if cell["leads"]}
    assert "ga/checkpoint-100" in leading
    assert not leading & {"saves/cut", "ga/checkpoint-2", "npo/checkpoint-2"}
    assert "no direction" in data["unmarked"]["toy/balance"]


def test_the_terminal_has_80_columns(command, capsys):
    assert main(command) == 0
    shown = capsys.readouterr().out
    table, _, _ = shown.partition("\nnext: ")  # a command to be typed stands on one line
    assert max(map(len, table.splitlines())) <= 80
    assert "(reference)" in shown
    assert "† saves/limited: it has 12 of 120 rows" in " ".join(shown.split())
    assert "‡ saves/cut: 80 of 120 rows of known" in shown
    assert "npo, steps 2 to 100" in shown


def test_the_terminal_shows_shares_in_percent_and_the_files_keep_them(command, data, capsys):
    value = by_label(data)["saves/retain90"]["cells"]["toy/kept"]["value"]
    assert 0 < value < 1
    assert main([*command, "--scores", "kept,balance"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heading = next(line for line in lines if line.startswith("model"))
    reference = next(line for line in lines if line.startswith("saves/retain90")).split()
    assert heading.split()[1:4] == ["kept", "%", "↑"]
    assert f"{100 * value:.1f}" in reference
    units = {column["id"]: column["unit"] for column in data["columns"]}
    assert (units["toy/kept"], units["toy/balance"]) == ("share", "")


def test_sorting_puts_the_best_first_and_what_does_not_compete_last(command, capsys):
    assert main([*command, "--sort", "secrets_recited", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["rows"]
    assert found[0]["reference"]
    assert found[1]["label"] == "ga/checkpoint-100"
    assert found[-1]["label"] == "saves/limited"
    values = [row["cells"]["toy/secrets_recited"]["value"] for row in found[1:-1]]
    assert values == sorted(values)


def test_columns_may_be_chosen(command, capsys):
    assert main([*command, "--scores", "k*,secret", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shown"] == ["toy/kept", "known", "secret"]
    assert main([*command, "--scores", "keept", "--json"]) == 2
    problem = json.loads(capsys.readouterr().out)["problems"][0]
    assert "keept" in problem["what"]
    assert "kept" in problem["fix"]


def test_what_is_allowed_to_differ_is_not_marked(command, capsys):
    assert main([*command, "--allow", "limit", "--json"]) == 0
    limited = by_label(json.loads(capsys.readouterr().out))["saves/limited"]["cells"]
    assert not any("limit" in why for cell in limited.values() for why in cell["why"])
    assert main([*command, "--allow", "nonsense"]) == 2


def test_csv_has_a_line_per_model_and_a_line_per_cell(data, home):
    wide = list(csv.DictReader((home / "out" / "leaderboard.csv").open()))
    assert [row["label"] for row in wide] == [row["label"] for row in data["rows"]]
    assert float(wide[2]["toy/kept"]) == data["rows"][2]["cells"]["toy/kept"]["value"]
    assert (
        "other question"
        in next(row for row in wide if row["label"] == "saves/limited")["may not be compared"]
    )
    lines = list(csv.DictReader((home / "out" / "leaderboard_long.csv").open()))
    assert len(lines) == len(data["rows"]) * len(data["columns"])
    assert {line["leads"] for line in lines} == {"yes", ""}


def test_the_spreadsheet_holds_numbers_and_a_picture(data, home):
    with zipfile.ZipFile(home / "out" / "leaderboard.xlsx") as book:
        names = book.namelist()
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert "xl/charts/chart1.xml" in names
    assert repr(data["rows"][2]["cells"]["toy/kept"]["value"]) in sheet


def test_markdown_and_page_say_the_same(data, home):
    markdown, page = ((home / "out" / f"leaderboard.{kind}").read_text() for kind in ("md", "html"))
    for said in ("it has 12 of 120 rows", "80 of 120 rows of known", "excluded from the ranking"):
        assert said in markdown
        assert said in page
    scores, _, pairs = markdown.partition("Pairs that differ")
    assert sum(line.startswith("|") for line in scores.splitlines()) == len(data["rows"]) + 2
    assert sum(line.startswith("|") for line in pairs.splitlines()) == len(data["pairs"]) + 2
    assert "<svg" in page
    curve = page.partition("kept over steps")[2].partition("</svg>")[0]
    assert curve.count("<polyline") == 2  # one training each
    assert "http" not in page.replace("http-equiv", "")
    assert " style=" not in page  # the page's own policy would refuse it


def test_equal_runs_give_equal_files(command, home, tmp_path, data):
    assert main([*command, "--out", str(tmp_path)]) == 0
    for name in ("leaderboard.csv", "leaderboard_long.csv", "leaderboard.md", "leaderboard.html"):
        assert (tmp_path / name).read_text() == (home / "out" / name).read_text()


def test_names_that_would_be_markup_or_formulas_are_text(home, tmp_path):
    place = write(tmp_path, "/saves/=1+1|<script>x", rows(0.5, 1), rows(0.5, 2))
    command = [
        "leaderboard",
        str(place),
        str(home / "eval_results" / "saves__cut"),
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*command, "--template_dir", str(home / "packs")]) == 0
    assert "<script>x" not in (tmp_path / "out" / "leaderboard.html").read_text()
    wide = list(csv.DictReader((tmp_path / "out" / "leaderboard.csv").open()))
    assert wide[0]["label"].startswith("'=")


def test_a_run_named_twice_is_one_row(home, command, capsys):
    assert (
        main([command[0], str(home / "eval_results" / "saves__cut"), *command[1:], "--json"]) == 0
    )
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 13


def test_runs_without_packs_have_their_tasks_as_columns(home, capsys):
    assert main(["leaderboard", str(home / "eval_results"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["shown"] == ["known", "secret"]
    assert any(row["cells"]["known"]["leads"] for row in found["rows"])


def test_a_group_is_a_column_where_it_has_a_task_that_no_other_column_shows(tmp_path, capsys):
    members = {"family": ["known", "secret"], "alias": ["known", "secret"]}
    values = {name: {"alias": name, "exact_match,none": 0.5} for name in members}
    tasks = {"known": rows(0.8, 1), "secret": rows(0.6, 2)}
    for model in ("a", "b"):
        write_run(tmp_path, tasks, model=model, extra={"groups": values, "group_subtasks": members})
    assert main(["leaderboard", str(tmp_path), "--json"]) == 0
    board = json.loads(capsys.readouterr().out)
    assert {"family", "alias"} <= {column["id"] for column in board["columns"]}
    assert len(board["shown"]) == 1


def test_runs_without_samples_are_rows_that_nothing_leads(tmp_path, capsys):
    for at, model in enumerate(("/a", "/b", "/c")):
        home = write(
            tmp_path / model.strip("/"), model, rows(0.2 + 0.2 * at, at), rows(0.5, 3), at=at
        )
        results = next(home.glob("results_*"))
        content = json.loads(results.read_text())
        content["results"]["known"] |= {
            "exact_match,none": 0.2 + 0.2 * at,
            "exact_match_stderr,none": 0.01,
        }
        if model == "/c":
            content["n-shot"] = {"known": 5}
            content["configs"]["known"]["num_fewshot"] = 5
            content["results"].pop("secret")
            content["configs"].pop("secret")
        else:
            content["n-shot"] = {"known": 0}
        results.write_text(json.dumps(content))
        for samples in home.glob("samples_*"):
            samples.unlink()
    assert main(["leaderboard", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    cells = {row["label"]: row["cells"]["known"] for row in found["rows"]}
    assert {label: round(cell["value"], 2) for label, cell in cells.items()} == {
        "a": 0.2,
        "b": 0.4,
        "c": 0.6,
    }
    assert cells["b"]["notes"] == ["as the results file has it, without samples"]
    assert not any(cell["leads"] for cell in cells.values())
    assert [cells[one]["standing"] for one in "abc"] == ["", "", "other question"]
    assert found["unmarked"]["known"] == "there is no paired test of it"


def test_runs_of_one_model_and_time_have_one_order(tmp_path):
    for name in ("b-10", "b-2", "a"):
        write(tmp_path / name, "/same", rows(0.5, 1), rows(0.5, 3))
    runs = [load_run(tmp_path / name) for name in ("b-10", "b-2", "a")]
    orders = []
    for shuffled in itertools.permutations(runs):
        folders = [run.files.folder.parts for run in in_natural_order(list(shuffled))]
        orders.append([parts[len(tmp_path.parts)] for parts in folders])
    assert orders[0][0] == "a"
    assert orders[0][-1] == "b-10"
    assert orders.count(orders[0]) == len(orders)


def test_runs_over_other_rows_are_of_another_question(tmp_path):
    from tests.evalprep.results.writing import Row

    other = [Row(f"x{at}", 1.0) for at in range(ROWS)]
    for model, known in (("/a", rows(0.5, 1)), ("/b", rows(0.6, 2)), ("/c", other)):
        write(tmp_path, model, known, rows(0.5, 3))
    runs = [load_run(one) for one in each_run([tmp_path])]
    runs = label_runs(runs)
    board = build_board(runs, [score_run(run) for run in runs], {})
    assert [row.cells["known"].standing for row in board.rows] == ["", "", "other question"]
    assert "120 rows of it, 120 of a, 0 paired" in board.rows[2].cells["known"].why[0]
    assert [row.cells["secret"].standing for row in board.rows] == ["", "", ""]


def test_seeds_of_one_model_are_one_row(tmp_path, capsys):
    for seed, share in ((1, 0.4), (2, 0.5), (3, 0.6)):
        write(tmp_path, f"/saves/npo-seed{seed}", rows(share, 1), rows(0.5, 2))
    write(tmp_path, "/saves/other", rows(0.5, 1), rows(0.5, 2))
    assert main(["leaderboard", str(tmp_path), "--json", "--out", str(tmp_path / "out")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["label"], row["seeds"]) for row in found["rows"]] == [
        ("npo (3 seeds)", 3),
        ("other", 1),
    ]
    assert main(["leaderboard", str(tmp_path), "--json", "--each-seed"]) == 0
    each = json.loads(capsys.readouterr().out)["rows"]
    values = [row["cells"]["known"]["value"] for row in each if "npo" in row["label"]]
    cell = found["rows"][0]["cells"]["known"]
    assert cell["value"] == pytest.approx(statistics.fmean(values))
    assert cell["sd"] == pytest.approx(statistics.stdev(values))
    assert cell["low"] is None
    assert "several seeds" in found["unmarked"]["known"]
    assert "(sd " in (tmp_path / "out" / "leaderboard.md").read_text()


def test_seeds_that_change_nothing_are_no_measure_of_noise(tmp_path, capsys):
    for seed in (1, 2):
        write(tmp_path, f"/saves/npo-seed{seed}", rows(0.4, 1), rows(0.5, 2))
    sentence = "every seed has the same values"
    assert main(["leaderboard", str(tmp_path)]) == 0
    assert sentence in capsys.readouterr().out
    write(tmp_path, "/saves/npo-seed3", rows(0.6, 1), rows(0.5, 2))
    assert main(["leaderboard", str(tmp_path)]) == 0
    assert sentence not in capsys.readouterr().out


def test_nothing_there_and_nothing_scored(tmp_path, capsys):
    assert main(["leaderboard", str(tmp_path / "nowhere"), "--json"]) == 2
    assert main(["leaderboard", str(tmp_path), "--format", "pdf", "--json"]) == 2
    capsys.readouterr()


def test_a_pack_that_shows_an_unknown_score_is_refused(tmp_path, capsys):
    folder = make_pack(tmp_path)
    (folder / "toy" / "pack.yaml").write_text(
        json.dumps({**PACK, "leaderboard": {"columns": ["keept"]}})
    )
    assert main(["list", "--template_dir", str(folder), "--json"]) == 2
    assert "keept" in capsys.readouterr().out
    assert find_packs()["unlearning"].leaderboard.pictures


@pytest.mark.parametrize(
    ("model", "revision", "expected"),
    [
        ("/saves/npo/checkpoint-50", "", ("/saves/npo", 50)),
        ("/saves/npo/checkpoint-50/", "", ("/saves/npo", 50)),
        ("org/pythia-160m", "step3000", ("org/pythia-160m", 3000)),
        ("org/olmo", "stage1-step1000-tokens5B", ("org/olmo@stage1", 1000)),
        ("/m/global_step200/hf", "", ("/m/hf", 200)),
        ("/m/epoch_3", "", ("/m", 3)),
        ("/m/ft_epoch5_lr1e-05_phi_full", "", ("/m/ft_epoch5_lr1e-05_phi_full", None)),
        ("org/npo_lr1e-05_epoch10", "", ("org/npo_lr1e-05_epoch10", None)),
        ("/m/npo_lr1e-05_epoch10/checkpoint-60", "", ("/m/npo_lr1e-05_epoch10", 60)),
        ("/m/retain90", "", ("/m/retain90", None)),
        ("/m/stepford-7b", "", ("/m/stepford-7b", None)),
        ("C:\\m\\checkpoint-7", "", ("C:/m", 7)),
        ("", "", ("", None)),
    ],
)
def test_places_in_a_training(model, revision, expected):
    place = place_in(model, revision)
    assert (place.trajectory, place.step) == expected


def test_sparks():
    assert spark([1.0, 1.0]) == "▁▁"
    assert spark([]) == ""
    assert spark([None, 0.0, 1.0]) == "·▁█"


def test_a_long_training_is_drawn_to_its_end(tmp_path):
    """Twelve checkpoints that rise, in fewer places than that: the last bar is the last checkpoint's."""
    runs = []
    for step in range(1, 13):
        place = write(
            tmp_path, f"/m/checkpoint-{step}", rows(0.08 * step, 1), rows(0.08 * step, 1), at=step
        )
        runs.append(load_run(place))
    runs = label_runs(runs)
    board = build_board(runs, [score_run(run) for run in runs], {})
    narrow, wide = (re.findall("[▁-█]{3,}", text(board, width)) for width in (30, 80))
    assert {len(bars) for bars in narrow} == {8}
    assert {len(bars) for bars in wide} == {12}
    assert all(bars[0] == "▁" and bars[-1] == "█" for bars in [*narrow, *wide])


def test_what_is_best_at_zero_is_sorted_by_its_distance(tmp_path, capsys):
    folder = make_pack(tmp_path)
    for model, known, secret in (("over", 0.9, 0.5), ("under", 0.2, 0.4), ("near", 0.5, 0.6)):
        write(tmp_path / "out", f"/{model}", rows(known, 1), rows(secret, 1))
    options = ["--template_dir", str(folder), "--sort", "balance", "--json"]
    assert main(["leaderboard", str(tmp_path / "out"), *options]) == 0
    found = json.loads(capsys.readouterr().out)["rows"]
    assert [row["label"].rpartition("/")[2] for row in found] == ["near", "under", "over"]


@pytest.mark.parametrize(
    ("axis", "ticks"),
    [
        (Axis(0, 5, 0, 1), [0, 1, 2, 3, 4, 5]),
        (Axis(0, 6, 0, 1), [0, 2, 4, 6]),
        (Axis(-0.3, 1.9, 0, 1), [0, 0.5, 1, 1.5]),
        (Axis(-2.5, 0, 0, 1, log=True), [0.01, 0.1, 1]),
        (Axis(-20, 0, 0, 1, log=True), [1e-20, 1e-16, 1e-12, 1e-8, 1e-4, 1]),
    ],
)
def test_ticks_are_round_and_few(axis, ticks):
    assert axis.ticks() == pytest.approx(ticks)


def concluded(p, **more):
    item = Difference(
        n=100,
        previous=0.5,
        now=0.6,
        binary=True,
        higher_is_better=True,
        range=1.0,
        p=p,
        evidence=object(),
    )
    return Conclusion("x", "task", item, **more)


def test_leaders_are_the_best_and_all_that_are_not_shown_to_be_worse():
    def found(values, *conclusions):
        return leaders(values, lambda *pair: conclusions[pair[1] - 1], higher_is_better=True)

    values = {0: 0.9, 1: 0.8, 2: 0.1}
    # p is that of the family of all pairs
    assert found(values, concluded(0.06), concluded(0.001)).keys == {0, 1}
    assert found(values, concluded(0.5), concluded(0.5)).reason.startswith("no run is shown")
    assert found(values, None, None).reason == "there is no paired test of it"
    hidden = found(values, concluded(0.0, reasons=[Reason(Kind.FEW_ROWS, said="few rows")]))
    assert (hidden.keys, hidden.reason) == (frozenset(), "few rows")
    assert found({}).reason == "no run has a comparable value"


def test_long_names_and_one_run_fit(tmp_path):
    place = write(tmp_path, "/" + "long-" * 40 + "name", rows(0.5, 1), rows(0.5, 2))
    runs = [load_run(place)]
    runs = label_runs(runs)
    shown = text(build_board(runs, [score_run(runs[0])], {}), 80)
    assert max(map(len, shown.splitlines())) <= 80


class TestManyColumns:
    """Forty models by thirty scores are seven tables of forty lines: nobody reads on."""

    NAMES = tuple(f"benchmark_{number:02}" for number in range(30))

    def board(self, models, **more):
        columns = [Column(name, name, name, TASK) for name in self.NAMES]
        cells = {name: Cell(value=0.5, leads=name == "benchmark_29") for name in self.NAMES}
        rows = [
            Row(f"model-{at}", "m", "f", "r", False, Place("m", None), cells)
            for at in range(models)
        ]
        unmarked = dict.fromkeys(self.NAMES[:-1], "why not")
        return Board(Columns(columns, columns, **more), rows, "model-0", unmarked)

    def test_the_first_ones_are_shown(self):
        lines = text(self.board(40), 80).splitlines()
        assert len(lines) < 110
        assert lines[0] == "40 models, 10 of 30 columns (--scores '*' shows all)"
        assert max(map(len, lines)) <= 80
        # What is said below is of what is shown.
        assert "* the best value" not in "\n".join(lines)
        assert "benchmark_10" not in " ".join(lines)

    def test_few_rows_leave_room_for_all(self):
        lines = text(self.board(8), 80).splitlines()
        assert lines[0] == "8 models, 30 of 30 columns (--scores shows others)"

    def test_all_that_was_asked_for_by_name(self):
        lines = text(self.board(40, named=True), 80).splitlines()
        assert lines[0] == "40 models, 30 of 30 columns (--scores shows others)"
        assert len(lines) > 200

    def test_that_by_which_they_are_sorted(self):
        board = replace(self.board(40), sort="benchmark_29")
        assert "* the best value" in text(board, 80)

    def test_one_table_however_many_rows(self):
        assert text(self.board(300), 80).splitlines()[0].startswith("300 models, 5 of 30 columns")


@pytest.mark.parametrize(("count", "is_said"), [(7, True), (6, False)])
def test_a_table_states_which_pairs_were_tested(tmp_path, capsys, count, is_said):
    """Of two good and many bad rows the second good one is not held against the bad ones."""
    for number in range(count):
        values = [float(number < 2 or at % 2) for at in range(60)]
        samples = [Sample(str(at), value) for at, value in enumerate(values)]
        write_run(tmp_path / "runs", {"t": samples}, model=f"org__m{number}")
    out = tmp_path / "out"
    command = ["leaderboard", str(tmp_path / "runs"), "--out", str(out), "--format", "md,json,xlsx"]
    assert main(command) == 0
    markdown = (out / "leaderboard.md").read_text(encoding="utf-8")
    for text_of_people in (capsys.readouterr().out, markdown):
        assert ("only pairs with the best one are tested" in text_of_people) is is_said
    assert "Columns with % are in percent." in markdown
    assert json.loads((out / "leaderboard.json").read_text())["only_with_best"] is is_said
    with zipfile.ZipFile(out / "leaderboard.xlsx") as book:
        texts = b"".join(book.read(name) for name in book.namelist())
    assert b"in percent" not in texts  # the cells hold shares as they are
