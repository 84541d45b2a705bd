"""Each number of a run has one value, one number of rows and one interval, in every output.

Ten runs go through every verb and every format. A value of the results file that the rows
contradict is named in each, in the same words.
"""

import csv
import json
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from unittest.mock import MagicMock
from xml.etree import ElementTree as ET

import pytest
import yaml

from evalprep.cli import main
from evalprep.score.quantity import IN_RESULTS_FILE
from tests.evalprep.compare.small_runs import LATER, Task, write_small_run
from tests.loops import each

RIGHT = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
GRADED = [0.3, 0.5, 0.2, 0.7, 0.4, 0.9, 0.6, 0.1, 0.8, 0.5]
LOSSES = [2.5, 3.5, 1.25, 2.0, 4.0, 3.0, 2.75, 1.5, 2.25, 3.25]


@dataclass(frozen=True)
class Case:
    """One run, and what is to be said of it everywhere.

    `value` over `n` rows; `stored` is what the results file has over `expected` rows where that is
    another value, and `sentence` names it.
    """

    task: Task
    value: float
    n: int = 10
    expected: int = 10
    stored: float | None = None
    sentence: str = ""
    notes: tuple[str, ...] = ()
    kept: int | None = None
    doubled: bool = False
    samples: bool = True
    percent: bool = True
    has_interval: bool = True


STATED = "lm-eval itself reports {} for acc"
CASES = {
    "clean": Case(Task({"acc": RIGHT}), 0.4),
    "rows lost": Case(
        Task({"acc": RIGHT}),
        4 / 7,
        n=7,
        stored=0.4,
        kept=7,
        sentence=f"{STATED.format('0.4000')} over 10 rows; the samples file has 7 of them",
        notes=("3 of 10 expected rows are missing",),
    ),
    "another stored value": Case(
        Task({"acc": RIGHT}, stored={"acc,none": 0.9, "acc_stderr,none": 0.1}),
        0.4,
        stored=0.9,
        sentence=f"{STATED.format('0.9000')}, not the mean over rows",
    ),
    "a rounded stored value": Case(
        Task({"acc": RIGHT[:7]}, stored={"acc,none": 0.5714}), 4 / 7, n=7, expected=7
    ),
    "rows without a score": Case(
        Task({"acc": [*RIGHT[:5], *[None] * 5]}),
        0.6,
        n=5,
        notes=("5 of 10 rows have no score and are left out",),
    ),
    "rows with a text as score": Case(
        Task({"acc": ["nan", "n/a", *RIGHT[:8]]}, stored={"acc,none": 0.5}),
        0.5,
        n=8,
        notes=("2 of 10 rows have no score and are left out",),
    ),
    "rows without a score that are stored as wrong": Case(
        Task({"acc": [*RIGHT[:5], *[None] * 5]}, stored={"acc,none": 0.3}),
        0.6,
        n=5,
        stored=0.3,
        sentence=f"{STATED.format('0.3000')}, not the mean over the 5 rows with a score",
        notes=("5 of 10 rows have no score and are left out",),
    ),
    "doubled lines": Case(
        Task({"acc": RIGHT}),
        5 / 11,
        n=11,
        stored=0.4,
        doubled=True,
        sentence=f"{STATED.format('0.4000')}, not the mean over rows",
    ),
    "limited": Case(Task({"acc": RIGHT}, original=40), 0.4, notes=("10 of 40 rows",)),
    "stored alone": Case(Task({"acc": RIGHT}), 0.4, samples=False, has_interval=False),
    "graded": Case(Task({"rouge": GRADED}), 0.5),
    "down": Case(Task({"loss": LOSSES}, {"loss": False}), 2.6, percent=False),
    "percent": Case(Task({"acc": [100 * value for value in RIGHT]}), 40.0, percent=False),
}
#: Where rows and results file disagree, or rows are not what they are expected to be.
NAMED = [name for name, case in CASES.items() if case.sentence]


def write(folder, case):
    home = Path(write_small_run(folder, {"t": case.task}))
    (samples,) = home.glob("samples_*")
    lines = samples.read_text().splitlines(keepends=True)
    if case.doubled:
        lines.append(lines[0])
    samples.write_text("".join(lines[: case.kept]))
    if not case.samples:
        samples.unlink()
    return home


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("values")
    return {name: write(folder / name.replace(" ", "-"), case) for name, case in CASES.items()}


@pytest.fixture(autouse=True)
def trackers(monkeypatch):
    """Packages of trackers that take everything."""
    mlflow = MagicMock()
    mlflow.exceptions.MlflowException = RuntimeError
    for name, module in (("mlflow", mlflow), ("mlflow.entities", mlflow), ("wandb", MagicMock())):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def run_verb(*words):
    """Exit code and everything that a verb prints."""
    out, errors = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        code = main([str(word) for word in words])
    return code, out.getvalue(), errors.getvalue()


@dataclass
class Shown:
    """One number as an output has it; None for what the output has no place for."""

    value: float | None
    n: int | None = None
    interval: tuple[float, float] | None = None


@dataclass
class Said:
    """An output: its first number, the stored one beside it, and all of its text."""

    own: Shown
    stored: Shown | None
    text: str


# --- the outputs


def exported(home, place, name, *words):
    code, out, errors = run_verb("export", home, "--to", name, "--out", place, *words)
    assert code == 0, errors
    return out


def of_records(home, place):
    exported(home, place, "eee", "--set", "model_id=org/model")
    (path,) = [path for path in place.rglob("*.json") if "samples" not in path.name]
    shown, text = {}, path.read_text()
    for result in json.loads(text)["evaluation_results"]:
        details = result["score_details"]
        uncertainty = details["uncertainty"]
        interval = uncertainty.get("confidence_interval")
        ends = interval and (interval["lower"], interval["upper"])
        shown[result["evaluation_result_id"]] = Shown(
            details["score"], uncertainty.get("num_samples"), ends
        )
    own, *others = shown.values()
    assert [*shown][1:] == [f"{next(iter(shown))},results_file"] * len(others)
    return Said(own, others[0] if others else None, text)


def of_logs(home, place):
    exported(home, place, "inspect", "--set", "log_format=json")
    (path,) = place.glob("*.json")
    results = json.loads(path.read_text())["results"]
    (score,) = results["scores"]
    mean, stored = score["metrics"]["mean"], score["metrics"].get(IN_RESULTS_FILE)
    assert mean["metadata"]["n"] == score["scored_samples"]
    shown = [
        Shown(entry["value"], entry["metadata"]["n"], entry["metadata"].get("interval"))
        for entry in (mean, stored)
        if entry
    ]
    return Said(shown[0], shown[1] if stored else None, json.dumps(results))


def of_card(home, place):
    exported(home, place, "model-card")
    (model,) = yaml.safe_load((place / "model-index.yaml").read_text())["model-index"]
    (result,) = model["results"]
    own, *others = result["metrics"]
    rows = re.search(r"(\d+) of \d+ rows", own["name"])
    text = json.dumps(model)
    stored = Shown(others[0]["value"]) if others else None
    assert all(IN_RESULTS_FILE in other["name"] for other in others)
    return Said(Shown(own["value"], int(rows[1]) if rows else None), stored, text)


def of_hub(home, place, *words):
    chosen = ("--set", "dataset=org/data", "--set", "task=x", "--set", "unit=fraction")
    exported(home, place, "hub", *chosen, *words)
    text = (place / ".eval_results" / "x.yaml").read_text()
    (entry,) = yaml.safe_load(text)
    return Said(Shown(entry["value"]), None, entry.get("notes", ""))


def of_junit(home, place):
    exported(home, place, "junit")
    shown = []
    for case in ET.parse(place / "junit.xml").getroot().iter("testcase"):
        first = case.find("system-out").text.splitlines()[0]
        value = float(re.search(r"value=(\S+)", first)[1])
        ends = re.search(r"interval=\[(.*), (.*)\]", first)
        interval = (float(ends[1]), float(ends[2])) if ends else None
        shown.append(Shown(value, int(re.search(r"n=(\d+)", first)[1]), interval))
    text = (place / "junit.xml").read_text()
    return Said(shown[0], shown[1] if len(shown) > 1 else None, text)


def of_summary(home, place):
    exported(home, place, "github")
    text = (place / "summary.md").read_text()
    lines = [line.split("|") for line in text.replace("\\", "").splitlines() if line[:3] == "| t"]
    shown = []
    for _, _, _, rows, value, interval, _ in lines:
        ends = [float(end) for end in re.findall(r"-?[\d.]+", interval)]
        shown.append(Shown(float(value), int(rows.split()[0]), tuple(ends) or None))
    return Said(shown[0], shown[1] if len(shown) > 1 else None, text.replace("\\", ""))


def of_tracker(name):
    def read(home, place):
        exported(home, place, name)
        tracked = json.loads((place / "1" / "run.json").read_text())
        shown = []
        for score in tracked["scores"]:
            ends = None if score["low"] is None else (score["low"], score["high"])
            shown.append(Shown(score["value"], score["n"], ends))
            assert score["value"] in tracked["metrics"].values(), score["name"]
        assert len(tracked["metrics"]) == len(shown)
        table = list(csv.DictReader((place / "1" / "artifacts" / "quantities.csv").open()))
        assert [float(row["value"]) for row in table] == [item.value for item in shown]
        text = json.dumps(tracked)
        return Said(shown[0], shown[1] if len(shown) > 1 else None, text)

    return read


def of_csv(verb):
    def read(home, place):
        if verb == "export":
            exported(home, place, "csv")
        else:
            assert run_verb("report", home, "--out", place, "--format", "csv")[0] == 0
        lines = list(csv.DictReader((place / "scores.csv").open()))
        shown = []
        for line in lines:
            ends = (float(line["low"]), float(line["high"])) if line["low"] else None
            shown.append(Shown(float(line["value"]), int(line["n"]), ends))
        text = (place / "scores.csv").read_text()
        return Said(shown[0], shown[1] if len(shown) > 1 else None, text)

    return read


def of_markdown(home, place):
    exported(home, place, "markdown")
    text = (place / "report.md").read_text().replace("\\", "")
    line = next(line for line in text.splitlines() if line.startswith("| t |"))
    cells = [cell.strip() for cell in line.split("|")[2:]]
    if "acc" in cells[0]:  # the table of scores without samples names the metric
        cells = cells[1:]
    numbers = [float(part) for part in re.findall(r"-?[\d.]+", cells[1])]
    interval = (numbers[1], numbers[2]) if len(numbers) == 3 else None
    return Said(Shown(numbers[0], int(cells[0]), interval), None, text)


def of_score(home, _):
    code, out, errors = run_verb("score", home, "--no_write", "--json")
    assert code == 0, errors
    scores = json.loads(out)
    if not scores["tasks"]:
        (stored,) = scores["stored"]
        return Said(Shown(stored["value"], stored["n"], stored["interval"]), None, out)
    (task,) = scores["tasks"]
    assert task["n"] == task["micro"]["n"]
    stated = task["stated"]
    return Said(
        Shown(task["micro"]["agg_value"], task["n"], task["micro"].get("interval")),
        Shown(stated["value"], stated["n"]) if stated else None,
        out,
    )


def of_report(home, place):
    assert run_verb("report", home, "--out", place, "--format", "json")[0] == 0
    text = (place / "report.json").read_text()
    document = json.loads(text)
    if not document["tasks"]:
        ((stored,),) = [entry["runs"] for entry in document["stored"]]
        return Said(Shown(stored["value"], stored["n"]), None, text)
    ((run,),) = [task["runs"] for task in document["tasks"]]
    score, stated = run["score"], run["stated"]
    (logged,) = run["metrics"]
    if stated:
        assert (logged["value"], logged["n"], logged["interval"]) == (
            stated["value"],
            stated["n"],
            None,
        )
    interval = None if score["low"] is None else (score["low"], score["high"])
    shown = Shown(score["value"], score["n"], interval)
    return Said(shown, Shown(stated["value"], stated["n"]) if stated else None, text)


def of_board(home, _):
    code, out, errors = run_verb("leaderboard", home, "--json")
    assert code == 0, errors
    ((cell,),) = [row["cells"].values() for row in json.loads(out)["rows"]]
    interval = None if cell["low"] is None else (cell["low"], cell["high"])
    return Said(Shown(cell["value"], cell["n"], interval), None, out)


OUTPUTS = {
    "every-eval-ever": of_records,
    "inspect": of_logs,
    "model-card": of_card,
    "junit": of_junit,
    "github": of_summary,
    "mlflow": of_tracker("mlflow"),
    "wandb": of_tracker("wandb"),
    "csv": of_csv("export"),
    "markdown": of_markdown,
    "score --json": of_score,
    "report csv": of_csv("report"),
    "report json": of_report,
    "leaderboard --json": of_board,
}
#: Outputs that write shares in percent, and of how many digits their numbers are.
IN_PERCENT = {"model-card", "github", "markdown"}
ROUNDED = {"junit": 1e-3, "github": 1e-3, "markdown": 1e-3, "model-card": 1e-4}


def close(value, output, case):
    in_percent = output in IN_PERCENT and case.percent
    scale = 100.0 if in_percent else 1.0
    return pytest.approx(scale * value, abs=scale * ROUNDED.get(output, 1e-9) * 10, rel=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_each_output_has_the_same_value_rows_and_interval(runs, tmp_path, name):
    case, home = CASES[name], runs[name]
    interval = of_score(home, None).own.interval
    assert (interval is not None) is case.has_interval
    wrong = []
    for output, read in OUTPUTS.items():
        if output == "inspect" and not case.samples:
            continue
        said = read(home, tmp_path / output.replace(" ", "-"))
        try:
            check(case, output, said, interval)
        except AssertionError as error:
            wrong.append(f"{output}: {error}")
    assert not wrong, "\n\n".join(wrong)


def check(case, output, said, interval):
    assert said.own.value == close(case.value, output, case)
    assert said.own.n in (case.n, None)
    if said.own.interval is not None:
        assert [*said.own.interval] == [close(end, output, case) for end in interval]
    assert case.sentence in said.text
    assert all(note in said.text for note in case.notes if output not in SHORT_NOTES)
    has_place = output not in {"markdown", "leaderboard --json"}
    if case.stored is not None and has_place:
        assert said.stored.value == close(case.stored, output, case)
        assert said.stored.n in (case.expected, None)
        assert said.stored.interval is None
    else:
        assert said.stored is None


#: The card has `7 of 10 rows` alone.
SHORT_NOTES = {"model-card"}


@pytest.fixture(scope="module")
def baselines(tmp_path_factory):
    """The same replies of another run, all of its rows here."""
    folder = tmp_path_factory.mktemp("baselines")
    tasks = {name: Task(case.task.metrics, case.task.directions) for name, case in CASES.items()}
    return {
        name: write_small_run(folder / name.replace(" ", "-"), {"t": task}, stamp=LATER)
        for name, task in tasks.items()
    }


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.samples])
def test_compare_and_gate_have_the_value_and_the_words_of_score(runs, baselines, tmp_path, name):
    case, sides = CASES[name], (runs[name], baselines[name])
    _, out, errors = run_verb("compare", *sides, "--json")
    assert out, errors
    (task,) = json.loads(out)["tasks"]
    if not case.doubled:  # a row of the baseline meets one of the two
        assert (task["now"], task["n"]) == (pytest.approx(case.value), case.n)
    assert (f"candidate: {case.sentence}" in task["notes"]) is bool(case.sentence)
    (tmp_path / "policy.yaml").write_text("{defaults: {max_drop: 0.5}}")
    _, out, errors = run_verb("gate", *sides, "--policy", tmp_path / "policy.yaml", "--json")
    notes = json.loads(out)["notes"]
    assert (f"t: candidate: {case.sentence}" in notes) is bool(case.sentence)
    _, out, _ = run_verb("compare", *reversed(sides), "--json")
    (task,) = json.loads(out)["tasks"]
    assert (f"baseline: {case.sentence}" in task["notes"]) is bool(case.sentence)


@pytest.mark.parametrize("name", NAMED)
def test_each_format_with_a_comparison_names_the_stored_value(runs, baselines, tmp_path, name):
    case = CASES[name]
    for output in ("github", "junit", "csv", "markdown", "mlflow"):
        place = tmp_path / output
        out = exported(runs[name], place, output, "--baseline", baselines[name])
        files = [path for path in place.rglob("*") if path.suffix not in {".sqlite", ".png"}]
        texts = [path.read_text() for path in files if path.is_file()]
        assert any(case.sentence in text.replace("\\", "") for text in texts), output
        assert case.sentence in out, output


@pytest.mark.parametrize("name", NAMED)
def test_an_entry_of_one_value_is_chosen_by_the_user(runs, tmp_path, name):
    case = CASES[name]
    words = ("--set", "dataset=org/data", "--set", "task=x", "--set", "unit=fraction")
    code, out, errors = run_verb("export", runs[name], "--to", "hub", "--out", tmp_path, *words)
    assert (code, out) == (2, "")
    assert f"t: {case.sentence}; one entry holds one value" in errors
    assert "--set value=rows" in errors
    assert "--set value=stored" in errors
    assert not list(tmp_path.iterdir())
    said = of_hub(runs[name], tmp_path / "rows", "--set", "value=rows")
    assert said.own.value == pytest.approx(case.value, abs=1e-4)
    assert case.sentence in said.text
    said = of_hub(runs[name], tmp_path / "stored", "--set", "value=stored")
    assert said.own.value == case.stored
    assert IN_RESULTS_FILE in said.text
    assert f"the mean over rows is {case.value:.4f}" in said.text


def test_an_entry_of_one_value_needs_no_choice_where_there_is_one(runs, tmp_path):
    for name in each(CASES.keys() - set(NAMED)):
        said = of_hub(runs[name], tmp_path / name)
        assert said.own.value == pytest.approx(CASES[name].value, abs=1e-4)


def test_a_metric_beside_the_primary_one_is_of_its_rows(tmp_path):
    tasks = {"t": Task({"acc": RIGHT, "acc_norm": RIGHT}, stored={"acc_norm,none": 0.9})}
    home = write_small_run(tmp_path / "run", tasks)
    base = write_small_run(tmp_path / "base", {"t": Task(tasks["t"].metrics)}, stamp=LATER)
    sentence = "lm-eval itself reports 0.9000 for acc_norm, not the mean over rows"
    _, out, _ = run_verb("score", home, "--no_write")
    assert f"t: {sentence}" in out
    _, out, _ = run_verb("score", home, "--no_write", "--json")
    ((further,),) = [task["further"] for task in json.loads(out)["tasks"]]
    _, out, _ = run_verb("leaderboard", home, base, "--json")
    board = json.loads(out)
    cell = board["rows"][0]["cells"]["t: acc_norm"]
    _, out, _ = run_verb("compare", home, base, "--json")
    (item,) = json.loads(out)["further"]
    assert further["value"] == cell["value"] == item["now"] == 0.4
    assert further["n"] == cell["n"] == item["n"] == 10
    assert further["interval"] == [cell["low"], cell["high"]]
    assert further["stated"]["sentence"] == sentence
    assert cell["notes"] == [sentence]
    assert f"candidate: {sentence}" in item["notes"]
    assert any(sentence in note for note in board["notes"])
    exported(home, tmp_path / "eee", "eee", "--set", "model_id=org/model")
    (path,) = [path for path in (tmp_path / "eee").rglob("*.json") if "samples" not in path.name]
    scores = {
        result["evaluation_result_id"]: (
            result["score_details"]["score"],
            "confidence_interval" in result["score_details"]["uncertainty"],
        )
        for result in json.loads(path.read_text())["evaluation_results"]
    }
    assert scores == {
        "t/acc,none": (0.4, True),
        "t/acc_norm,none": (0.4, True),
        "t/acc_norm,none,results_file": (0.9, False),
    }


def test_a_group_that_is_stored_otherwise_is_named(tmp_path):
    tasks = {name: Task({"acc": RIGHT}) for name in ("t", "u")}
    groups = {"both": {"acc,none": 0.7, "alias": "both"}}
    more = {"groups": groups, "group_subtasks": {"both": ["t", "u"]}}
    home = write_small_run(tmp_path / "run", tasks, **more)
    sentence = "lm-eval itself reports 0.7000 for acc, not the mean over rows"
    _, out, _ = run_verb("score", home, "--no_write", "--json")
    (group,) = json.loads(out)["groups"]
    assert group["stated"]["sentence"] == sentence
    assert f"both: {sentence}" in exported(
        home, tmp_path / "eee", "eee", "--set", "model_id=org/model", "--set", "samples=no"
    )
    (path,) = (tmp_path / "eee").rglob("*.json")
    results = json.loads(path.read_text())["evaluation_results"]
    scores = {
        result["evaluation_result_id"]: (
            result["score_details"]["score"],
            result["score_details"]["uncertainty"].get("num_samples"),
            "confidence_interval" in result["score_details"]["uncertainty"],
        )
        for result in results
        if result["evaluation_name"] == "both"
    }
    assert scores == {
        "both/acc,none": (0.4, 20, True),
        "both/acc,none,results_file": (0.7, 20, False),
    }


def test_a_value_over_all_rows_keeps_the_number_of_its_own_rows(tmp_path):
    likelihoods = [[-10.0 - at, 7] for at in range(10)]
    task = Task({"word_perplexity": likelihoods}, stored={"word_perplexity,none": 17.5})
    home = write(tmp_path / "run", Case(task, 17.5, kept=7))
    sentence = "lm-eval itself reports 17.5 for word_perplexity over 10 rows; the samples file has 7 of them"
    _, out, _ = run_verb("score", home, "--no_write")
    assert f"t: {sentence}" in " ".join(out.split())
    _, out, _ = run_verb("score", home, "--no_write", "--json")
    (scored,) = json.loads(out)["tasks"]
    assert (scored["n"], scored["rows"], scored["micro"]["n"]) == (10, 7, 10)
    said = of_records(home, tmp_path / "eee")
    assert (said.own, said.stored) == (Shown(17.5, 10), None)
    assert sentence in said.text


def test_a_report_and_a_tracker_list_the_same_numbers(tmp_path):
    """Each quantity of `score`, also of metrics that do not stand for their task."""
    metrics = {"acc": [1.0, 0.0] * 20, "acc_norm": [1.0, 1.0, 0.0, 0.0] * 10}
    home = write_small_run(tmp_path / "out", {"t": Task(metrics), "u": Task(metrics)})
    assert run_verb("report", home, "--out", tmp_path / "page", "--format", "csv")[0] == 0
    exported(home, tmp_path / "tracker", "wandb")
    files = ("page/scores.csv", "tracker/1/artifacts/quantities.csv")
    of_report, of_tracker = (list(csv.DictReader((tmp_path / file).open())) for file in files)
    assert [row["kind"] for row in of_report] == ["task", "metric"] * 2
    names = [f"{row['name']}/{row['metric']}" for row in of_report]
    assert names == [row["name"] for row in of_tracker]
    shared = set(of_report[0]) & set(of_tracker[0]) - {"name"}
    assert shared >= {"source", "n", "expected", "value", "low", "high", "stderr", "notes"}
    for ours, theirs in zip(of_report, of_tracker, strict=True):
        assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}
