"""Two pairs of runs through compare, gate, leaderboard and report: every output has the same numbers and verdicts."""

import csv
import json
import math
import zipfile
from html import unescape

import pytest

from evalprep.cli import main
from tests.evalprep.compare.small_runs import LATER, STAMP, Task, verdicts, write_small_run
from tests.loops import each

ALIKE = [float(at % 2) for at in range(300)]
POLICY = "{metrics: all, defaults: {max_drop: 0.02, slack: 0.1}}"
#: Quantity of compare -> column of the leaderboard.
COLUMNS = {
    "worse": "worse",
    "graded": "graded",
    "even": "even",
    "words: acc_norm": "words: acc_norm",
}


def perplexity(likelihoods):
    return math.exp(-sum(row[0] for row in likelihoods) / sum(row[1] for row in likelihoods))


def tasks(*, candidate):
    """A task that is worse, a graded one, an even one with another metric that is worse, and a perplexity."""
    first = verdicts(300, lost=40) if candidate else [1.0] * 40 + verdicts(260)
    shift = 0.05 if candidate else 0.0
    graded = [0.3 + at % 7 / 20 + shift * (at % 3) for at in range(300)]
    likelihoods = [[-100.0 - shift * (40 + at % 9), 20] for at in range(300)]
    return {
        "worse": Task({"acc": first}),
        "graded": Task({"rouge": graded}),
        "even": Task({"acc": ALIKE}),
        "words": Task({"acc": ALIKE, "acc_norm": first}),
        "text": Task(
            {"word_perplexity": likelihoods},
            {"word_perplexity": False},
            stored={"word_perplexity,none": perplexity(likelihoods)},
        ),
    }


def mixed_tasks(*, candidate):
    """A group, tasks of one side alone, a loss, points out of 100, a metric without a direction."""
    first = verdicts(300, lost=40) if candidate else [1.0] * 40 + verdicts(260)
    shift = 1.0 if candidate else 0.0
    losses = [2 + at % 7 / 5 + shift * (at % 3) / 5 for at in range(300)]
    points = [40 + at % 21 - 3 * shift * (at % 2) for at in range(300)]
    lengths = [30 + at % 5 + 4 * shift * (at % 2) for at in range(300)]
    return {
        "family_worse": Task({"acc": first}),
        "family_even": Task({"acc": ALIKE}),
        "loss": Task({"loss": losses}, {"loss": False}),
        "points": Task({"f1": points}),
        "lengths": Task({"length": lengths}, {"length": None}),
        "words": Task({"acc": ALIKE, "acc_norm": first}),
        ("fresh" if candidate else "absent"): Task({"acc": ALIKE}),
    }


MIXED_COLUMNS = {
    "family_worse": "family_worse",
    "family_even": "family_even",
    "loss": "loss",
    "points": "points",
    "lengths": "lengths",
    "words: acc_norm": "words: acc_norm",
}


def group_of(run):
    """What a results file says of the group `family`, where a run has its tasks."""
    members = [name for name in run if name.startswith("family_")]
    values = [value for name in members for value in run[name].metrics["acc"]]
    if not values:
        return {}
    group = {"acc,none": sum(values) / len(values), "alias": "family"}
    return {"groups": {"family": group}, "group_subtasks": {"family": members}}


PAIRS = {"one scale": (tasks, COLUMNS), "mixed": (mixed_tasks, MIXED_COLUMNS)}


@pytest.fixture(scope="module", params=PAIRS)
def outputs(request, tmp_path_factory):
    """Every output of the four verbs for a pair of runs."""
    from contextlib import redirect_stdout
    from io import StringIO

    folder = tmp_path_factory.mktemp("pair")
    tasks_of, columns = PAIRS[request.param]
    now, before = tasks_of(candidate=True), tasks_of(candidate=False)
    homes = [
        write_small_run(folder / "now", now, stamp=LATER, **group_of(now)),
        write_small_run(folder / "before", before, stamp=STAMP, **group_of(before)),
    ]
    (folder / "policy.yaml").write_text(POLICY)

    def run(*arguments):
        out = StringIO()
        with redirect_stdout(out):
            main([*map(str, arguments), "--label", "now,before"])
        return out.getvalue()

    def run_alone(*arguments):
        out = StringIO()
        with redirect_stdout(out):
            main([*map(str, arguments)])
        return out.getvalue()

    report = ("report", homes[0], "--baseline", homes[1], "--out", folder / "report")
    run(*report, "--format", "html,csv,xlsx,md,json")
    board = ("leaderboard", *homes, "--out", folder / "board", "--format", "html,csv,md,xlsx,json")
    gate = ("gate", *homes, "--policy", folder / "policy.yaml")
    return {
        "compare": json.loads(run("compare", *homes, "--no_write", "--json")),
        "compare text": run("compare", *homes, "--no_write"),
        "gate": json.loads(run(*gate, "--json")),
        "gate text": run(*gate),
        "board": json.loads(run(*board, "--json")),
        "board text": run("leaderboard", *homes),
        "score": [json.loads(run_alone("score", home, "--json", "--no_write")) for home in homes],
        "columns": columns,
        "pair": request.param,
        "report": json.loads((folder / "report" / "report.json").read_text()),
        "folder": folder,
    }


@pytest.fixture(scope="module")
def quantities(outputs):
    """What compare concludes: name -> conclusion."""
    data = outputs["compare"]
    lists = ("tasks", "metrics", "further", "stored", "suite")
    found = {item["name"]: item for name in lists for item in data[name]}
    return found | {data["overall"]["name"]: data["overall"]}


def assert_all(items, holds):
    """Hold each item against a condition, and name those for which it does not hold."""
    assert [item for item in each(items) if not holds(item)] == []


KEYS = ("n", "now", "previous", "delta", "low", "high", "p", "p_holm", "verdict", "words", "mde")


KINDS = {
    "one scale": {
        "verdict": {"better", "worse", "no difference shown"},
        "unit": {"ratio", "points"},
    },
    "mixed": {"verdict": {"different", "worse", "no difference shown"}, "unit": {"", "points"}},
}


def test_there_is_something_of_every_kind(outputs, quantities):
    for key, kinds in KINDS[outputs["pair"]].items():
        assert {item[key] for item in quantities.values()} >= kinds
    assert any(not item["decides"] for item in quantities.values())


def test_the_report_as_data_has_every_number(outputs, quantities):
    (comparison,) = outputs["report"]["comparisons"]
    lists = ("tasks", "metrics", "further", "stored", "suite")
    found = {item["name"]: item for name in lists for item in comparison[name]}
    found |= {comparison["overall"]["name"]: comparison["overall"]}
    assert set(found) == set(quantities)
    assert_all(
        quantities,
        lambda name: (
            {key: found[name][key] for key in KEYS} == {key: quantities[name][key] for key in KEYS}
        ),
    )
    assert comparison["closing"] == outputs["compare"]["closing"]
    assert comparison["remarks"] == outputs["compare"]["remarks"]


def test_the_csv_and_the_spreadsheet_have_every_number(outputs, quantities):
    folder = outputs["folder"] / "report"
    lines = {line["name"]: line for line in csv.DictReader((folder / "comparisons.csv").open())}
    headings = {"candidate": "now", "baseline": "previous", "difference": "delta"}
    headings |= {"detectable": "mde", **{key: key for key in ("n", "low", "high", "p", "p_holm")}}

    def same(name):
        return all(
            lines[name][heading]
            == ("" if quantities[name][key] is None else str(quantities[name][key]))
            for heading, key in headings.items()
        )

    missing = {name for name, line in lines.items() if line["kind"] == "missing"}
    assert missing == ({"absent", "fresh"} if outputs["pair"] == "mixed" else set())
    assert set(lines) - missing == set(quantities)
    assert_all(quantities, same)
    assert_all(quantities, lambda name: lines[name]["verdict"] == quantities[name]["verdict"])
    with zipfile.ZipFile(folder / "report.xlsx") as book:
        sheets = "".join(book.read(name).decode() for name in book.namelist() if "sheet" in name)
    deltas = [item["delta"] for item in quantities.values() if item["delta"]]
    assert_all(deltas, lambda delta: f"{delta:.15g}"[:12] in sheets)


def shown_texts(item):
    """Difference and interval as people read them."""
    from evalprep.compare.units import Unit

    unit = Unit(item["unit"], item["binary"])
    return [unit.change(item[key]) for key in ("delta", "low", "high")]


def test_markdown_page_and_terminal_show_the_same_texts(outputs, quantities):
    folder = outputs["folder"] / "report"
    markdown = (folder / "report.md").read_text().replace("\\", "")
    shown = outputs["report"]["shown"]["comparisons"][0]
    lists = ("tasks", "metrics", "further", "stored", "suite")
    (comparison,) = outputs["report"]["comparisons"]
    page = {
        item["name"]: texts
        for name in lists
        for item, texts in zip(comparison[name], shown[name], strict=True)
    }

    def same(name):
        item = quantities[name]
        delta, low, high = shown_texts(item)
        starts = f"| {name} |", f"| {item['verdict']} |"
        lines = [line for line in markdown.splitlines() if line.startswith(starts[0])]
        in_markdown = any(
            f"{delta} [{low}, {high}]" in line and starts[1] in line for line in lines
        )
        on_page = [
            page[name][key].replace("\N{MINUS SIGN}", "-") for key in ("delta", "low", "high")
        ]
        return in_markdown and [text.lstrip("+") for text in on_page] == [
            text.lstrip("+") for text in (delta, low, high)
        ]

    assert_all([name for name in quantities if name in page], same)
    text = " ".join(outputs["compare text"].split())
    of_tables = [name for name, item in quantities.items() if item["kind"] in {"task", "metric"}]
    assert_all(of_tables, lambda name: "{} [{}, {}]".format(*shown_texts(quantities[name])) in text)
    assert_all(outputs["compare"]["closing"], lambda line: line in text)
    assert_all(outputs["compare"]["closing"], lambda line: line in markdown)
    html = unescape((folder / "report.html").read_text())
    assert_all(
        outputs["compare"]["closing"], lambda line: json.dumps(line)[1:-1] in html or line in html
    )


def test_the_gate_has_the_numbers_of_compare(outputs, quantities):
    checks = {check["name"]: check for check in outputs["gate"]["checks"]}
    of_tasks = {name for name in quantities if not name.startswith("mean of")}
    lacking = {"absent"} if outputs["pair"] == "mixed" else set()
    # The task's own line has the perplexity.
    assert set(checks) - lacking == of_tasks - {"text: word_perplexity"}

    def same(name):
        check, item = checks[name], quantities[name]
        return all(check[key] == item[key] for key in ("n", "now", "previous", "low", "high"))

    assert_all(set(checks) - lacking, same)
    failed = {name for name, check in checks.items() if check["status"] == "fail"}
    worse = {name for name, item in quantities.items() if item["verdict"] == "worse"}
    assert failed <= worse


def test_the_leaderboard_agrees_on_values_verdicts_and_intervals(outputs, quantities):
    board = outputs["board"]
    cells = {row["label"]: row["cells"] for row in board["rows"]}
    pairs = {pair["column"]: pair for pair in board["pairs"]}

    def same(name):
        item, column = quantities[name], outputs["columns"][name]
        values = [cells[label][column]["value"] for label in ("now", "before")]
        is_shown = item["verdict"] in {"better", "worse"}
        if values != pytest.approx([item["now"], item["previous"]]) or is_shown != (
            column in pairs
        ):
            return False
        keys = ("verdict", "delta", "low", "high")
        return not is_shown or all(pairs[column][key] == item[key] for key in keys)

    columns = outputs["columns"]
    assert_all(columns, same)
    stars = {column for column in columns.values() if cells["before"][column]["leads"]}
    assert stars == {name for name in columns if quantities[name]["verdict"] == "worse"}


def test_the_leaderboard_names_the_pairs_of_columns_that_it_does_not_show(outputs):
    board = outputs["board"]
    hidden = {pair["column"] for pair in board["pairs"]} - set(board["shown"])
    assert hidden == ({"family_worse"} if outputs["pair"] == "mixed" else set())
    text = " ".join(outputs["board text"].split())
    assert ("also in columns that are not shown: family_worse" in text) == bool(hidden)


@pytest.mark.parametrize(("at", "key"), [(0, "now"), (1, "previous")])
def test_the_scores_are_the_values_that_the_others_compare(outputs, quantities, at, key):
    values = {task["task"]: task["micro"]["agg_value"] for task in outputs["score"][at]["tasks"]}
    named = [name for name, item in quantities.items() if item["kind"] == "task"]
    known = [name for name in named if values.get(name) is not None]
    assert_all(known, lambda name: values[name] == pytest.approx(quantities[name][key]))


@pytest.mark.parametrize("outputs", ["mixed"], indirect=True)
def test_what_one_side_lacks_is_named_in_every_output(outputs):
    folder = outputs["folder"]
    lacks = "the candidate has no absent"
    assert lacks in outputs["compare"]["closing"][-1]
    assert lacks in " ".join(outputs["gate text"].split())
    gate = {check["name"]: check["status"] for check in outputs["gate"]["checks"]}
    assert gate["absent"] == "not enough evidence"
    assert lacks in (folder / "report" / "report.md").read_text()
    assert lacks in unescape((folder / "report" / "report.html").read_text())
    assert "absent: acc of now" in " ".join(outputs["board text"].split())


@pytest.mark.parametrize("outputs", ["mixed"], indirect=True)
def test_the_groups_have_the_same_values_everywhere(outputs):
    cells = {row["label"]: row["cells"]["family"] for row in outputs["board"]["rows"]}
    (group,) = outputs["report"]["groups"]
    for at, label in enumerate(("now", "before")):
        pooled = outputs["score"][at]["groups"][0]["micro"]
        assert cells[label]["value"] == pooled["agg_value"]
        assert [cells[label]["low"], cells[label]["high"]] == pooled["interval"]
        assert group["runs"][at]["micro"]["agg_value"] == pooled["agg_value"]


def test_every_text_of_the_leaderboard_shows_the_pairs_alike(outputs):
    folder = outputs["folder"] / "board"
    markdown = (folder / "leaderboard.md").read_text().replace("\\", "")
    html = unescape((folder / "leaderboard.html").read_text())
    pairs = outputs["board"]["pairs"]
    assert pairs
    texts = [pair["text"] for pair in pairs]
    assert_all(texts, lambda text: text in markdown)
    assert_all(texts, lambda text: text in html)
    compared = " ".join(outputs["compare text"].split())
    in_compare = [text.removeprefix("ratio ").removesuffix(" points") for text in texts]
    assert_all(in_compare, lambda text: text in compared)
