"""One number has one interval: a suite score that is the mean of a task's rows has that task's, in every output."""

import csv
import json
import zipfile

import pytest

from custom_metrics.science.harness import process_results
from evalprep.cli import main
from tests.evalprep.compare.small_runs import Task, two_small_runs, verdicts
from tests.loops import each
from tests.packs.fm.project import QA, prepared, with_
from tests.packs.science.runs import write_run
from tests.packs.unlearning.test_logs import open_unlearning

ROWS = 120
RIGHT = [float(at % 3 > 0) for at in range(ROWS)]
FEWER = [0.0] * 14 + RIGHT[14:]
GRADED = [0.3 + at % 7 / 20 for at in range(ROWS)]
SHIFTED = [0.3 + at % 11 / 20 for at in range(ROWS)]


def small(columns, **more):
    """A function that writes two runs: task -> metric, values of the candidate and of the baseline."""

    def write(folder):
        sides = [
            {
                task: Task({metric: values[side]}, **more)
                for task, (metric, *values) in columns.items()
            }
            for side in (0, 1)
        ]
        return two_small_runs(folder, *sides)

    return write


def logs(folder):
    homes = []
    for name, seed in (("unlearned", 1), ("retain", 2)):
        place = folder / name / "evals" / "TOFU_EVAL.json"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(open_unlearning(seed=seed)))
        homes.append(place)
    return homes


def stored_answers(folder):
    """Two runs of the pack fm over the stored replies of its demo data."""
    homes = []
    for replies in ("model_b", "model_a"):
        place = folder / replies
        place.mkdir()
        fields = {"model_output": f"responses.{replies}.text"}
        prepared(place, with_(QA, outputs="dataset", fields=fields))
        main(["run", "--replies=rows", str(place / "work_dir")])
        homes.append(place / "eval_results")
    return homes


def summaries(folder):
    """Two runs of the pack science, each with every third reply cut short."""

    def reply(odd, row):
        number = int(row["_instance_id"].rpartition(":")[2])
        text = row["output"]
        return text[: len(text) // 3] if number % 3 == odd else text

    def write(name, odd):
        def rows(_, row):
            document = row | {"target": row["output"]}
            return {"row_score": process_results(document, [reply(odd, row)])["row_score"]}

        return write_run(folder / name / "model", lambda _, row: reply(odd, row), metrics=rows)

    return [write("now", 0), write("before", 1)]


#: Pack -> runs, and the suite scores that are a mean over rows of a task.
PACKS = {
    "meta": (
        small(
            {
                "meta_gpqa": ("exact_match", FEWER, RIGHT),
                "meta_gpqa_cot": ("exact_match", RIGHT, FEWER),
            }
        ),
        {"gpqa": "meta_gpqa", "gpqa_cot": "meta_gpqa_cot"},
    ),
    "openllm": (
        small({"leaderboard_mmlu_pro": ("acc", FEWER, RIGHT)}),
        {"openllm_mmlu_pro_raw": "leaderboard_mmlu_pro"},
    ),
    "compliance": (
        small(
            {
                "compliance_mmlu_rows": ("acc", FEWER, RIGHT),
                "compliance_truthful_qa_mc2_rows": ("acc", GRADED, SHIFTED),
            }
        ),
        {
            "compliance_mmlu_score": "compliance_mmlu_rows",
            "compliance_truthful_qa_mc2_score": "compliance_truthful_qa_mc2_rows",
        },
    ),
    "fm": (stored_answers, {"qa.f1_score": "fm_qa_qa_accuracy"}),
    "science": (summaries, {"science_mup": "mup_single_document_summarization"}),
    "unlearning": (
        logs,
        {
            "forget_Q_A_Prob": "tofu_forget_lp",
            "forget_Q_A_ROUGE": "tofu_forget_gen",
            "wf_Q_A_ROUGE": "tofu_wf_gen",
        },
    ),
}


@pytest.fixture(scope="module", params=PACKS)
def outputs(request, tmp_path_factory):
    """What score, compare and report print and write for two runs of one pack."""
    from contextlib import redirect_stdout
    from io import StringIO

    def run(*arguments):
        out = StringIO()
        with redirect_stdout(out):
            main([*map(str, arguments)])
        return out.getvalue()

    folder = tmp_path_factory.mktemp(request.param)
    write, pairs = PACKS[request.param]
    now, before = write(folder)
    page, policy = folder / "page", folder / "policy.yaml"
    compared = json.loads(run("compare", now, before, "--no_write", "--json"))
    tested = [score["name"] for score in compared["suite"] if score["low"] is not None]
    rules = {name: {"max_drop": 0.01, "min_n": 1} for name in tested}
    policy.write_text(json.dumps({"tasks": {}, "suite": rules}))
    run("report", now, "--baseline", before, "--out", page, "--format", "html,csv,xlsx,md,json")
    return {
        "pack": request.param,
        "pairs": pairs,
        "score": json.loads(run("score", now, "--no-write", "--json")),
        "score text": run("score", now, "--no-write"),
        "compare": compared,
        "gate": json.loads(run("gate", now, before, "--policy", policy, "--json")),
        "board": json.loads(run("leaderboard", now, before, "--scores", "*", "--json")),
        "compare text": run("compare", now, before, "--no_write"),
        "page": page,
    }


def share(item, unit="", sign="", value="value"):
    """A value with its interval as people read it."""
    middle, low, high = (f"{100 * item[key]:{sign}.1f}" for key in (value, "low", "high"))
    return f"{middle} [{low}, {high}]{unit}"


def assert_shown_twice(text, needle):
    """Hold that a text shows a number with its interval for the task and for the score."""
    assert " ".join(text.replace("\\", "").split()).count(needle) >= 2, needle


def test_score_gives_both_one_interval(outputs):
    tasks = {task["task"]: task["micro"] for task in outputs["score"]["tasks"]}
    suite = {score["name"]: score for score in outputs["score"]["suite"]}
    for name, task in each(outputs["pairs"].items()):
        assert suite[name]["value"] == pytest.approx(tasks[task]["agg_value"], abs=1e-12)
        assert [suite[name]["low"], suite[name]["high"]] == pytest.approx(tasks[task]["interval"])
        assert_shown_twice(outputs["score text"], share(suite[name]))


def test_compare_gives_both_one_difference(outputs):
    tasks = {task["name"]: task for task in outputs["compare"]["tasks"]}
    suite = {score["name"]: score for score in outputs["compare"]["suite"]}
    for name, task in each(outputs["pairs"].items()):
        score, same = suite[f"{outputs['pack']}/{name}"], tasks[task]
        keys = ("delta", "low", "high", "p", "n", "now", "previous")
        assert [score[key] for key in keys] == pytest.approx([same[key] for key in keys])
        assert (score["test"], score["made_of"]) == (same["test"], "rows")
        assert_shown_twice(outputs["compare text"], share(score, sign="+", value="delta"))


def test_the_gate_reads_the_differences_of_compare(outputs):
    checks = {check["name"]: check for check in outputs["gate"]["checks"]}
    tested = [score for score in outputs["compare"]["suite"] if score["low"] is not None]
    keys = ("n", "now", "previous", "low", "high", "test")
    assert len(checks) == len(tested)
    for score in each(tested):
        assert [checks[score["name"]][key] for key in keys] == [score[key] for key in keys]


def test_the_leaderboard_has_the_intervals_and_verdicts_of_the_others(outputs):
    board, pack = outputs["board"], outputs["pack"]
    scores = {f"{pack}/{score['name']}": score for score in outputs["score"]["suite"]}
    pairs = {pair["column"]: pair for pair in board["pairs"]}
    cells = board["rows"][0]["cells"]
    compared = {score["name"]: score for score in outputs["compare"]["suite"]}
    columns = [name for name in scores if name in cells and name in compared]
    for name in each(columns):
        keys = ("value", "low", "high", "n")
        assert [cells[name][key] for key in keys] == [scores[name][key] for key in keys]
        shown = compared[name]["verdict"] in {"better", "worse"}
        if name in pairs:
            ends = ("delta", "low", "high", "verdict")
            assert [pairs[name][key] for key in ends] == [compared[name][key] for key in ends]
        assert shown or name not in pairs


@pytest.fixture
def run_verb(capsys):
    """Runs a verb, and gives its exit code and what it printed."""

    def run(*arguments):
        capsys.readouterr()
        code = main([*map(str, arguments)])
        return code, capsys.readouterr().out

    return run


@pytest.fixture
def documents(tmp_path):
    """Two runs of three packs whose rows share books."""

    def tasks(values):
        names = {"leaderboard_mmlu_pro": "acc", "compliance_mmlu_rows": "acc"}
        names |= {"meta_gpqa": "exact_match"}
        return {
            name: Task({metric: values}, doc=lambda at: {"book": at // 10})
            for name, metric in names.items()
        }

    lost = verdicts(ROWS, lost=20)
    return two_small_runs(tmp_path, tasks(lost), tasks([1.0] * 20 + verdicts(ROWS - 20)))


MEANS = {
    "openllm/openllm_mmlu_pro_raw": "leaderboard_mmlu_pro",
    "compliance/compliance_mmlu_score": "compliance_mmlu_rows",
    "meta/gpqa": "meta_gpqa",
}


def test_scores_over_rows_that_share_documents_have_the_tasks_interval(run_verb, documents):
    out = run_verb("score", documents[0], "--no_write", "--cluster", "book", "--json")[1]
    data = json.loads(out)
    tasks = {task["task"]: task["micro"]["interval"] for task in data["tasks"]}
    suite = {f"{score['pack']}/{score['name']}": score for score in data["suite"]}
    for name, task in MEANS.items():
        assert [suite[name]["low"], suite[name]["high"]] == pytest.approx(tasks[task])


def test_their_differences_are_over_documents_too(run_verb, documents):
    out = run_verb("compare", *documents, "--no_write", "--cluster", "book", "--json")[1]
    data = json.loads(out)
    tasks = {task["name"]: task for task in data["tasks"]}
    suite = {score["name"]: score for score in data["suite"]}
    keys = ("delta", "low", "high", "clusters", "verdict", "test")
    for name, task in MEANS.items():
        assert [suite[name][key] for key in keys] == [
            pytest.approx(tasks[task][key]) if key in {"delta", "low", "high"} else tasks[task][key]
            for key in keys
        ]
    # A score on another scale: the raw share less the chance of one in ten, over nine tenths.
    scaled, raw = suite["openllm/openllm_mmlu_pro"], tasks["leaderboard_mmlu_pro"]
    assert scaled["clusters"] == 12
    assert scaled["delta"] == pytest.approx(raw["delta"] * 100 / 0.9)
    assert scaled["low"] < 0 < scaled["high"]


def test_the_files_of_the_report_give_both_one_interval(outputs):
    page = outputs["page"]
    rows = list(csv.DictReader((page / "scores.csv").open()))
    rows += csv.DictReader((page / "comparisons.csv").open())
    # A task's own line comes before those of its further metrics.
    places = [(row.get("run") or "pair", row["name"].rpartition("/")[2]) for row in rows]
    lines = dict(zip(reversed(places), reversed(rows), strict=True))
    report = json.loads((page / "report.json").read_text())
    tasks = {task["name"]: task["runs"] for task in report["tasks"]}
    scores = {score["name"]: score["runs"] for score in report["scores"]}
    labels = [run["label"] for run in report["runs"]]
    with zipfile.ZipFile(page / "report.xlsx") as book:
        sheets = "".join(book.read(name).decode() for name in book.namelist() if "sheet" in name)
    for name, task in each(outputs["pairs"].items()):
        for label in [*labels, "pair"]:
            ends = [
                [float(lines[label, key][end]) for end in ("low", "high")] for key in (name, task)
            ]
            assert ends[0] == pytest.approx(ends[1])
            assert all(f"{end:.15g}"[:10] in sheets for end in ends[0])
        for number in range(len(labels)):
            own = tasks[task][number]["score"]
            assert scores[name][number]["interval"] == pytest.approx([own["low"], own["high"]])


def test_the_texts_of_the_report_give_both_one_interval(outputs):
    page = outputs["page"]
    markdown = (page / "report.md").read_text()
    report = json.loads((page / "report.json").read_text())
    (comparison,), (shown,) = report["comparisons"], report["shown"]["comparisons"]
    on_page = {
        item["name"].rpartition("/")[2]: [texts.get(key) for key in ("delta", "low", "high")]
        for part in ("tasks", "suite")
        for item, texts in zip(comparison[part], shown[part], strict=True)
    }
    tasks = {item["name"]: item for item in comparison["tasks"]}
    scores = {task["name"]: task["runs"] for task in report["tasks"]}
    for name, task in each(outputs["pairs"].items()):
        assert on_page[name] == on_page[task]
        assert_shown_twice(markdown, share(scores[task][0]["score"]))
        assert_shown_twice(markdown, share(tasks[task], " points", sign="+", value="delta"))
