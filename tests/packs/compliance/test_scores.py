"""From samples to scores, files, tables and the report."""

import csv
import json
import re
import zlib

import pytest

from evalprep.cli import main
from evalprep.coderunner import find_isolation
from evalprep.packapi import ExportCell, ExportRow
from evalprep.packs.finding import find_packs
from evalprep.results import load_run
from evalprep.score import export, score_run
from tests import PROJECT_ROOT
from tests.evalprep.annotate.services import serve
from tests.loops import each
from tests.packs.compliance.project import gold, prepared, rows_of, write_run

PACKS = find_packs(PROJECT_ROOT / "task_templates")
PACK = PACKS["compliance"]


def compute(run):
    from evalprep.annotate.free import compute

    return compute([PACK], run)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("suite")
    prepared(made)
    return made


@pytest.fixture(scope="module")
def good(folder, tmp_path_factory):
    run = load_run(write_run(folder, tmp_path_factory.mktemp("good") / "model"))
    notes = compute(run)
    return run, {score.name: score for score in score_run(run, PACKS).suite}, notes


def isolated():
    try:
        find_isolation()
    except Exception:  # noqa: BLE001 - any reason will do
        return False
    return True


@pytest.mark.parametrize(
    ("values", "notes"), [((1.0, 0.0), []), ((1.0, None), ["1 of 2 rows have a value"])]
)
def test_an_accuracy_names_the_rows_that_it_has_no_value_of(values, notes):
    rows = [
        {"index": at, "sample_id": f"q{at}", "doc": {}, "metrics": {"acc": value}}
        for at, value in enumerate(values)
    ]
    result = PACK.module("score").accuracy(rows={"mmlu": rows}, params={"metric": "acc"})
    assert result["notes"] == notes


def test_a_good_model_scores_high(good):
    _, scores, notes = good
    assert not notes
    values = {
        name.removeprefix("compliance_").removesuffix("_score"): one.value
        for name, one in scores.items()
    }
    ones = (
        "hellaswag", "ai2_reasoning", "mmlu", "human_deception", "instruction_goal_hijacking",
        "multiturn_goal_hijacking", "forecasting_consistency", "boolq_contrast_robustness",
        "imdb_contrast_robustness", "mmlu_robustness", "fairllm", "toxicity", "toxicity_advbench", "privacy",
        "memorization",
    )  # fmt: skip
    undefined = {"reddit_bias"}  # every pair is equal, so that the test has nothing to say
    for name in ones:
        assert values[name] == pytest.approx(1.0), name
    assert 0.0 <= values["decoding_trust"] <= 1.0  # right answers to uneven rows are no even ones
    for name in undefined:
        assert values[name] is None
        assert scores[f"compliance_{name}_score"].reason
    assert values["truthful_qa_mc2"] > 0.99
    assert 0.0 <= values["bbq"] <= 1.0


@pytest.mark.skipif(not isolated(), reason="nothing isolates a programme on this machine")
def test_a_perfect_score_of_few_rows_is_not_certain(good):
    _, scores, _ = good
    privacy = scores["compliance_privacy_score"]
    assert privacy.value == 1.0
    assert privacy.low < privacy.high == 1.0


def test_programmes_are_run(good):
    _, scores, _ = good
    result = scores["compliance_human_eval_score"].result.returned
    assert result["raw_metrics"] == {"pass@1": 100.0, "pass@5": 100.0, "pass@10": 100.0}


def silent(task, row):
    """A model that says nothing that can be read."""
    told = gold(task, row)
    return ["..."] if isinstance(told[0], str) and not told[0].startswith("{") else told


def test_silence_is_no_good_score(folder, tmp_path):
    run = load_run(write_run(folder, tmp_path / "model", silent))
    scores = {score.name: score for score in score_run(run, PACKS).suite}
    for name in ("human_deception", "bbq", "fairllm", "decoding_trust", "forecasting_consistency"):
        one = scores[f"compliance_{name}_score"]
        assert one.value is None, name
        assert one.reason
        assert one.result.returned["parse_rate"] == 0.0
    assert scores["compliance_privacy_score"].value == 1.0  # nothing said is nothing leaked


@pytest.fixture
def few(folder, tmp_path):
    """A model that answers well, and one of which one reply in six can be read."""
    tasks = {"compliance_bbq", "compliance_human_deception"}

    def mostly_silent(task, row):
        return gold(task, row) if zlib.crc32(str(row["sample_id"]).encode()) % 6 == 0 else ["..."]

    return [
        write_run(folder, tmp_path / name / name, reply, tasks=tasks)
        for name, reply in (("clear", gold), ("silent", mostly_silent))
    ]


def test_a_score_of_few_readable_replies_looks_like_no_other(few, tmp_path, capsys):
    assert main(["score", str(few[1]), "--out", str(tmp_path / "scores")]) == 0
    shown = capsys.readouterr().out
    (line,) = [
        line
        for line in shown.splitlines()
        if line.strip().startswith("compliance_human_deception_score ↑")
    ]
    assert re.search(r"100\.0‡ .* \d+ of \d+ *$", line)
    assert (
        "‡ compliance_human_deception_score, compliance_bbq_score: computed from the few readable replies"
        in " ".join(shown.split())
    )
    (report,) = (tmp_path / "scores").rglob("*_report.md")
    assert report.read_text().count("as nothing could be read from the others)") == 2
    main(["leaderboard", *map(str, few), "--json", "--out", str(tmp_path / "board")])
    board = json.loads(capsys.readouterr().out)
    for name in ("human_deception", "bbq"):
        clear, silent = (
            row["cells"][f"compliance/compliance_{name}_score"] for row in board["rows"]
        )
        assert (clear["standing"], silent["standing"], silent["leads"]) == ("", "incomplete", False)
        assert "answers, as nothing could be read from the others" in silent["why"][0]
    (table,) = (tmp_path / "board").rglob("all_results.csv")
    assert "nothing could be read from the others" in table.read_text()
    main(["compare", *map(str, few), "--no_write", "--json"])
    compared = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
    one = compared["compliance/compliance_human_deception_score"]
    assert one["verdict"] == "not enough evidence"
    assert "nothing could be read from the others" in one["words"]
    main(["report", *map(str, few), "--out", str(tmp_path / "report"), "--format", "md,csv"])
    assert (
        "nothing could be read from the others" in (tmp_path / "report" / "report.md").read_text()
    )
    assert (
        "nothing could be read from the others" in (tmp_path / "report" / "scores.csv").read_text()
    )


def test_originals_stand_beside_the_corrected_rules(folder, tmp_path):
    def sly(task, row):
        return ["Yes, I know."] if task == "compliance_human_deception" else gold(task, row)

    run = load_run(write_run(folder, tmp_path / "model", sly, tasks={"compliance_human_deception"}))
    (score,) = [
        score
        for score in score_run(run, PACKS).suite
        if score.name == "compliance_human_deception_score"
    ]
    assert score.value == 0.0
    assert score.result.parts["compat.accuracy"] == 0.0  # the original sees no claim in it


def test_files_tables_and_report(good, tmp_path):
    run, _, _ = good
    scores = score_run(run, PACKS)
    written = export(scores, run, PACKS, tmp_path)
    assert not [note for note in scores.notes if "failed" in note]
    names = {path.name for path in written}
    assert {"some_model_results.json", "some_model_report.md", "some_model_report.html"} <= names
    home = tmp_path / "compl_ai"
    data = json.loads((home / "some_model_results.json").read_text())
    assert data["version"] == "1"
    assert set(data) == {
        *PACK.module("registry").scored(),
        "training_data_suitability",
        "version",
        "created_at",
        "suite",
        "debug",
        "subset_size",
        "stand_ins",
    }
    assert data["self_check_consistency"]["aggregate_score"] == "No eval results"
    report = (home / "some_model_report.md").read_text()
    for one in PACK.module("registry").benchmarks().values():
        assert one.label in report
    assert "not comparable with v2" in report
    assert "no legal opinion" in report
    assert "at most 4: a trial" in report
    (bbq,) = (home / "runs" / "some_model").glob("*/bbq")
    final = json.loads((bbq / "final_results.json").read_text())
    assert final["debug"] is True
    assert set(json.loads((bbq / "prompts.json").read_text())[0]) == {
        "task",
        "sample_id",
        "prompt",
        "output",
    }
    assert "scores say nothing about a model" in report
    page = (home / "some_model_report.html").read_text()
    for link in re.findall(r"href='([^']+)'", page):
        assert (home / link).is_file(), link
    assert "http" not in page.replace("http-equiv", "")


def test_what_was_written_is_read_again(good, tmp_path):
    run, _, _ = good
    export(score_run(run, PACKS), run, PACKS, tmp_path)
    v1 = PACK.module("v1")
    (from_file,) = v1.results_at(tmp_path / "compl_ai").values()
    folder = v1.run_folder(tmp_path / "compl_ai" / "runs" / "some_model")
    for key, entry in each(folder.items()):
        assert entry["aggregate_score"] == from_file[key]["aggregate_score"], key


V1 = {
    "bbq": {"raw_metrics": {}, "aggregated_scores": {}, "aggregate_score": 0.9},
    "forecasting_consistency": {
        "raw_metrics": {"violation": 0.25},
        "aggregate_score": "No eval results",
    },
    "hellaswag": {"raw_metrics": "No eval results", "aggregate_score": "No eval results"},
    "privacy": {"raw_metrics": {"leak_percentage": float("nan")}, "aggregate_score": float("nan")},
    "version": "1",
    "created_at": "2024-11-01--10:00:00",
}


def test_percentages_of_human_eval_are_shares_in_files(tmp_path):
    shares = {"pass@1": 0.25, "pass@5": 0.5, "pass@10": 0.75}
    for said in (0.25, "No eval results"):  # also where the score has to be computed
        data = {"human_eval": {"raw_metrics": shares, "aggregate_score": said}}
        (tmp_path / "old_results.json").write_text(json.dumps(data))
        assert (
            PACK.module("references").load(tmp_path)["compliance_human_eval_score"]["agg_value"]
            == 0.25
        )
        assert (
            main(["report", str(tmp_path / "old_results.json"), "--out", str(tmp_path / "out")])
            == 0
        )
        copy = json.loads((tmp_path / "out" / "compl_ai" / "old_results.json").read_text())
        assert copy["human_eval"] == {"raw_metrics": shares, "aggregate_score": 0.25}


def table_of(folder):
    return list(csv.DictReader((folder / "compl_ai" / "all_results.csv").open()))


class TestTable:
    """Many models in the original's columns, by the leaderboard."""

    @pytest.fixture
    def old(self, tmp_path):
        """A folder of run files, as COMPL-AI leaves them, and one run without a run file."""
        for model, score in (("first", 0.9), ("second", 0.4)):
            data = {**V1, "bbq": {**V1["bbq"], "aggregate_score": score}}
            (tmp_path / "runs" / model).mkdir(parents=True)
            (tmp_path / "runs" / model / f"{model}_results.json").write_text(json.dumps(data))
        (tmp_path / "runs" / "eval_results.json").write_text("{}")
        (tmp_path / "runs" / "broken_results.json").write_text("{")
        folder = tmp_path / "runs" / "third" / "2024-10-08" / "bbq"
        folder.mkdir(parents=True)
        final = {"benchmark": "bbq", "FinalResult": {"aggregate_score": 0.5, "raw_metrics": {}}}
        (folder / "final_result.json").write_text(json.dumps(final))
        config = {"name": "bbq", "type": "bbq", "data_config": {"debug": True, "subset_size": 10}}
        said = {"model": {"name": "org/third"}, "benchmark_configs": [config]}
        (folder / "config.json").write_text(json.dumps(said))
        return tmp_path / "runs"

    def test_a_folder_of_the_original_becomes_a_table(self, old, tmp_path, capsys):
        assert main(["leaderboard", str(old), "--out", str(tmp_path / "out")]) == 0
        assert "COMPL-AI v1, not comparable with v2" in capsys.readouterr().out
        rows = table_of(tmp_path / "out")
        assert [row["model_name"] for row in rows] == ["first", "second", "third"]
        assert (
            rows[0]["benchmarks_completed"] == "2 of 24"
        )  # the score of the forecasts follows from the raw metrics
        assert (rows[0]["bbq"], rows[0]["forecasting_consistency"], rows[0]["privacy"]) == (
            "0.9",
            "0.75",
            "n.a.",
        )
        # A mean of one benchmark stands beside means of two.
        assert (
            "aggregate_score: other question: a mean of other scores"
            in rows[2]["may not be compared"]
        )
        assert "bbq: a debug run of at most 10 rows" in rows[2]["may not be compared"]
        assert rows[0]["may not be compared"] == ""
        page = (tmp_path / "out" / "compl_ai" / "all_results.html").read_text()
        assert "not comparable with v2" in page
        assert page.index("Diversity, Non-discrimination") < page.index("Prejudiced Answers: BBQ")
        assert "a debug run of at most 10 rows" in page

    def test_means_over_other_benchmarks_are_not_compared(self, old, capsys):
        first, third = (str(old / name) for name in ("first", "third"))
        main(["compare", third, first, "--json", "--no_write"])
        suite = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["suite"]}
        reason = suite["compliance/compliance_mean"]["not_comparable"][0]
        assert reason.startswith("the mean is over 1 score, the baseline's over 2; one side alone")

    def test_scores_of_the_original_are_marked_beside_ours(self, good, old, tmp_path):
        folder, _, _ = good
        out = tmp_path / "out"
        run = str(folder.files.folder)
        assert (
            main(["leaderboard", run, str(old / "first" / "first_results.json"), "--out", str(out)])
            == 0
        )
        ours, theirs = sorted(table_of(out), key=lambda row: row["model_name"] == "first")
        assert ours["may not be compared"].endswith(
            "stand-in rows of the pack: it says nothing about a model"
        )
        assert "bbq" in theirs["may not be compared"]
        assert (
            "scored by another rule: COMPL-AI v1, as the original computes it"
            in theirs["may not be compared"]
        )

    def test_score_writes_the_table_of_what_it_scored(self, good, tmp_path):
        folder, _, _ = good
        assert main(["score", str(folder.files.folder), "--out", str(tmp_path / "out")]) == 0
        (row,) = table_of(tmp_path / "out")
        assert (row["model_name"], row["suite"]) == ("model", "COMPL-AI v1, not comparable with v2")

    def test_a_limit_is_told(self):
        rows = [ExportRow("m", "m", {"compliance_bbq_score": ExportCell(0.5)}, trial=True)]
        _, line = PACK.module("tables").lines(rows)
        assert line[-1] == "all or some benchmarks: a trial over a part of the rows"


def test_run_folders_of_v1_are_a_reference(tmp_path):
    for name, time, score in (
        ("bbq__2024-06-15_18:31:29", 1.0, 0.5),
        ("bbq__2024-06-16_18:31:29", 2.0, 0.7),
    ):
        folder = tmp_path / name
        folder.mkdir()
        final = {"aggregate_score": score, "raw_metrics": {}}
        (folder / "final_result.json").write_text(
            json.dumps({"benchmark": "bbq", "time": time, "FinalResult": final})
        )
    for name, unfinished in (("mmlu", []), ("bold", {"FinalResult": None})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "final_result.json").write_text(json.dumps(unfinished))
    forecast = tmp_path / "forecast_consistency"
    forecast.mkdir()
    final = {"aggregate_score": 0.25, "raw_metrics": {"violation": 0.75}}
    (forecast / "final_results.json").write_text(
        json.dumps({"benchmark": "forecast_consistency", "FinalResult": final})
    )
    found = PACK.module("references").load(tmp_path)
    assert found["compliance_bbq_score"]["agg_value"] == 0.7
    assert found["compliance_forecasting_consistency_score"]["agg_value"] == 0.25
    assert PACK.module("references").load(tmp_path / "absent") is None


CARD = """# Metadata
## model_name
Some model <!-- its name -->
## model_type
local
# environment
## num_gpus
1,024
## gpu_power_draw
0.5
## time_to_train
10 h
## datacenter_carbon_intensity
300
"""


@pytest.mark.parametrize(
    ("rows", "energy"),
    [
        pytest.param(
            "a,0.001,0.1\na,0.002,0.2\na,0.003,0.3\n", 0.3, id="one run, saved as it went"
        ),
        pytest.param("a,0.001,0.1\nb,0.001,0.1\nb,0.002,0.2\n", 0.3, id="two runs"),
        pytest.param("a,,\n", None, id="empty"),
        pytest.param("a,nan,nan\n", None, id="no number"),
        pytest.param("a\n", None, id="cut off"),
    ],
)
def test_energy_of_codecarbon(tmp_path, rows, energy):
    (tmp_path / "emissions.csv").write_text(f"run_id,emissions,energy_consumed\n{rows}")
    found = PACK.module("modelcard").card_of(tmp_path, "m").sections.get("evaluation", {})
    assert found.get("energy") == (None if energy is None else pytest.approx(energy))
    assert found.get("co2") == (None if energy is None else pytest.approx(10 * energy))


def test_a_model_card_brings_energy_with_units(tmp_path):
    (tmp_path / "model_card.md").write_text(CARD)
    (tmp_path / "emissions.csv").write_text("energy_consumed,emissions\n0.5,0.1\n0.5,0.1\n")
    card = PACK.module("modelcard").card_of(tmp_path, "org/Some model").sections
    assert card["metadata"] == {"model_name": "Some model", "model_type": "local"}
    assert (card["environment"]["energy"], card["environment"]["energy_unit"]) == (5120.0, "kWh")
    assert card["environment"]["co2"] == 5120.0 * 300
    assert card["evaluation"]["energy"] == 1.0


def described(task, row):
    """Descriptions of three sentences, and answers of which every other one is wrong."""
    if task == "compliance_self_check_describe":
        return [f"{row['topic'].capitalize()} is a name. It was known for years. It has an end."]
    if task == "compliance_i_know_answer":
        return [
            row["target"] if int(row["sample_id"].rpartition("_")[2]) % 2 else "I have no idea."
        ]
    return gold(task, row)


def test_second_stages_run_and_are_scored(tmp_path, monkeypatch):
    from evalprep.cli import main

    prepared(
        tmp_path,
        tasks=["compliance_calibration_big_bench_i_know", "compliance_self_check_consistency"],
    )
    out = tmp_path / "eval_results" / "some__model"
    write_run(tmp_path, out, described, limit=None)
    assert main(["prepare", "--continue", str(tmp_path / "work_dir")]) == 0
    sure = rows_of(tmp_path, "compliance_i_know_confidence")
    assert {row["target"] for row in sure} == {0, 1}
    again = rows_of(tmp_path, "compliance_self_check_alternative")
    assert len(again) == 12  # two sentences of six topics; the last one of each is left out
    write_run(tmp_path, out, described, limit=None)
    run = load_run(out)
    scores = {score.name: score for score in score_run(run, PACKS).suite}
    assert scores["compliance_calibration_big_bench_i_know_score"].value == pytest.approx(
        1.0, abs=0.01
    )
    judged = scores["compliance_self_check_consistency_score"]
    assert (judged.value, "no judge was asked" in judged.reason) == (None, True)
    asked_about_each_sentence(out, monkeypatch)


def asked_about_each_sentence(out, monkeypatch):
    """The judge's chain through the command: it explains, then votes ten times on its own explanation."""
    from evalprep.cli import main

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def answer(prompt, number, _):
        if not prompt.startswith("Now conclude"):
            return "They differ in the place."
        return ("Yes", "**Yes**", "No.", "yes and no", "As a judge I wait.")[number % 5]

    with serve(answer) as server:
        options = [
            "--model",
            "the-judge",
            "--base_url",
            server.url,
            "--model_args",
            "max_retries=0,num_concurrent=1",
        ]
        assert main(["judge", str(out), *options]) == 0
    (score,) = [
        score
        for score in score_run(load_run(out), PACKS).suite
        if score.name == "compliance_self_check_consistency_score"
    ]
    assert len(server.requests) == 12 * 11  # of twelve sentences an explanation and ten votes
    votes = [request["messages"] for request in server.requests if len(request["messages"]) > 1]
    assert {tuple(turn["role"] for turn in vote) for vote in votes} == {
        ("user", "assistant", "user")
    }
    assert {vote[1]["content"] for vote in votes} == {"They differ in the place."}
    assert score.result.returned["parse_rate"] == pytest.approx(0.6)
    assert score.value == 0.0  # of the votes that can be read two in three say yes
    # The original counts unread votes as no: four of ten are no majority.
    assert score.result.parts["compat.violation"] == 0.0
    assert any("could be read in" in note for note in score.result.notes)


class TestScoresOfTheOriginal:
    """Its run files and run folders as sides of compare and report."""

    @pytest.fixture
    def files(self, tmp_path):
        for model, score in (("first", 0.9), ("second", 0.4)):
            data = {**V1, "bbq": {**V1["bbq"], "aggregate_score": score}}
            (tmp_path / f"{model}_results.json").write_text(json.dumps(data))
        return [str(tmp_path / f"{model}_results.json") for model in ("first", "second")]

    def test_two_files_are_compared_by_value(self, files, capsys):
        assert main(["compare", *files, "--json"]) == 3  # no rows, so nothing is concluded
        found = json.loads(capsys.readouterr().out)
        (bbq,) = [
            score for score in found["suite"] if score["name"] == "compliance/compliance_bbq_score"
        ]
        assert (bbq["now"], bbq["previous"], round(bbq["delta"], 9)) == (0.9, 0.4, 0.5)
        assert bbq["verdict"] == "not enough evidence"
        assert any("scores without samples" in note for note in found["notes"])

    def test_a_run_and_a_file_have_other_rules(self, files, tmp_path, capsys):
        prepared(tmp_path, tasks=["compliance_bbq"])
        out = write_run(tmp_path, tmp_path / "eval_results" / "some__model")
        assert main(["compare", str(out), files[0], "--json"]) == 3
        found = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
        assert set(found) == {"compliance/compliance_bbq_score", "compliance/compliance_mean"}
        assert found["compliance/compliance_bbq_score"]["previous"] == 0.9
        for one in found.values():
            assert one["verdict"] == "not comparable"
            assert "different rules" in one["words"]

    def test_the_report_has_the_technical_report_and_the_table(self, files, tmp_path, capsys):
        out = tmp_path / "report"
        assert main(["report", *files, "--out", str(out), "--format", "html,csv,md,json,xlsx"]) == 0
        assert "scores without samples" in capsys.readouterr().out
        text = (out / "compl_ai" / "first_report.md").read_text()
        assert "its decoding_trust and privacy are 1 whatever a model says" in text
        assert "| rows per task | unknown: scores without samples |" in text
        rows = list(csv.DictReader((out / "compl_ai" / "all_results.csv").open()))
        assert [(row["model_name"], row["bbq"]) for row in rows] == [
            ("first", "0.9"),
            ("second", "0.4"),
        ]
        assert not (out / "samples.csv").exists()
        # What was copied stays the original's.
        copy = PACK.module("references").load(out / "compl_ai" / "first_results.json")
        assert copy["compliance_bbq_score"]["scored_by"].endswith("as the original computes it")

    def test_a_run_folder(self, tmp_path, files, capsys):
        folder = tmp_path / "runs" / "third" / "bbq__2024-06-15_18:31:29"
        folder.mkdir(parents=True)
        final = {"benchmark": "bbq", "FinalResult": {"aggregate_score": 0.5, "raw_metrics": {}}}
        (folder / "final_result.json").write_text(json.dumps(final))
        assert main(["compare", str(folder.parent), files[0], "--json"]) == 3
        found = json.loads(capsys.readouterr().out)
        assert (found["run"], found["suite"][0]["now"]) == ("third", 0.5)

    def test_our_own_scores_stand_beside_each_other_without_their_samples(self, tmp_path, capsys):
        prepared(tmp_path, tasks=["compliance_bbq"])
        out = write_run(tmp_path, tmp_path / "eval_results" / "some__model")
        assert main(["score", str(out), "--out", str(tmp_path / "kept")]) == 0
        capsys.readouterr()
        assert main(["compare", str(out), str(tmp_path / "kept" / "scores.json"), "--json"]) == 3
        bbq = json.loads(capsys.readouterr().out)["suite"][0]
        assert (bbq["delta"], bbq["verdict"]) == (0, "not enough evidence")
