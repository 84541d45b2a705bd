"""Scores and result files from saved samples of any lm-eval run."""

import csv
import json
import shutil
import statistics
import subprocess
import sys
import zipfile

import pytest

from custom_metrics.science.judge import judge_sample_indices
from custom_metrics.science.tasks import SUMMARY_COLUMNS, TASKS
from evalprep.cli import main
from evalprep.packs.finding import find_packs
from evalprep.results import load_run
from evalprep.results.rows import row_mappings
from evalprep.score import export, score_run
from tests import PROJECT_ROOT
from tests.packs.science.runs import STAMP, demo_rows, exact, write_run

PACKS = find_packs(PROJECT_ROOT / "task_templates")
JUDGED = {
    ("mup_single_document_summarization", "lm_judge_reference"),
    ("qasper_abstractive_qa", "lm_judge_answer"),
}
COLUMNS = [column for column in SUMMARY_COLUMNS if column not in JUDGED]


def scored(folder, out, **kwargs):
    """Suite results of a run, with its files written."""
    run = load_run(folder, **kwargs)
    scores = score_run(run, PACKS)
    export(scores, run, PACKS, out)
    return {score.name: score.result.returned for score in scores.suite}


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t"))


def summary(out):
    """Model -> (task alias, metric) -> cell."""
    aliases, metrics, *lines = table(out / "tables" / "summary.tsv")
    return {
        line[0]: dict(zip(zip(aliases[1:], metrics[1:], strict=True), line[1:], strict=True))
        for line in lines
    }


def test_exact_replies_score_100(tmp_path):
    results = scored(write_run(tmp_path / "runs" / "oracle"), tmp_path / "out")
    row = summary(tmp_path / "out")["oracle"]
    for task, metric in COLUMNS:
        assert float(row[TASKS[task].alias, metric]) == pytest.approx(100)
    assert float(row["mean", ""]) == pytest.approx(100)
    assert row["columns", ""] == "9"
    assert results["science_mean"]["agg_value"] == pytest.approx(1)
    compat = {
        name: result["parts"].get("compat.json_parsed", 1)
        for name, result in results.items()
        if "by_metric" in result
    }
    assert compat == dict.fromkeys(compat, 1)
    assert len(compat) == len(TASKS)
    # Null comparators match each other in corrected mode alone.
    parts = results["science_evidence_inference"]["parts"]
    assert parts["compat.all_overlap_f1"] < parts["compat.all_exact_f1"] == 1


def test_both_stand_in_models(shared, tmp_path):
    """Outputs with every fault seen in practice: no exception, every cell filled or named as missing."""
    folder = shared / "vectors" / "sciriff_predictions"
    before = sorted(path.name for path in folder.rglob("*"))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "evalprep",
            "score",
            *map(str, sorted(folder.glob("*-standin"))),
            "--out",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=PROJECT_ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder.rglob("*")) == before
    rows = summary(tmp_path)
    assert list(rows) == ["chat-standin", "tulu-standin"]
    missing = {tuple(line[:3]) for line in table(tmp_path / "tables" / "missing.tsv")[1:]}
    for model, row in rows.items():
        for task, metric in SUMMARY_COLUMNS:
            cell = row[TASKS[task].alias, metric]
            assert (cell == "missing") == ((model, task, metric) in missing)
            assert cell == "missing" or 0 < float(cell) < 100
    assert {(task, metric) for _, task, metric in missing} == JUDGED
    for task in TASKS:
        header, *lines = table(tmp_path / "tables" / f"{task}.tsv")
        assert [line[0] for line in lines] == list(rows)
        assert "" not in [cell for line in lines for cell in line], header


def test_result_files_of_one_task(tmp_path):
    def reply(task, row):
        return "I cannot tell." if row["_instance_id"].endswith(":3") else exact(task, row) + "</s>"

    results = scored(
        write_run(tmp_path / "model", reply, tasks={"scifact_entailment"}), tmp_path / "out"
    )
    folder = tmp_path / "out" / "by_model" / "model" / "scifact_entailment"
    metrics = json.loads((folder / "metrics.json").read_text())
    flat = json.loads((folder / "metrics_flat.json").read_text())
    assert metrics["json_counts"] == {
        "valid_json": 11,
        "null_json": 0,
        "extract_success": 0,
        "extract_failure": 1,
        "frac_success": 11 / 12,
    }
    assert flat["valid_json_label_f1"] == metrics["results"]["valid_json"]["f1"]["label"]["f1"] == 1
    assert flat["all_label_f1"] == results["science_scifact"]["agg_value"] < 1
    assert (
        json.loads((folder / "metrics_summary.json").read_text())["f1_label"]
        == flat["all_label_f1"]
    )
    assert metrics["source"]["rows"] == 12
    assert len(metrics["source"]["sha256"]) == 64
    raw = [json.loads(line) for line in (folder / "raw_predictions.jsonl").read_text().splitlines()]
    sources = demo_rows()["scifact_entailment"]
    assert [line["ref"] for line in raw] == [row["output"] for row in sources]
    assert [line["prompt"] for line in raw] == [row["input"] for row in sources]
    assert {line["status"] for line in raw} == {"valid_json", "extract_failure"}
    assert not any("</s>" in line["pred"] for line in raw)
    # The file holds the number itself, the table in percent with nothing cut off.
    assert (
        float(summary(tmp_path / "out")["model"]["scifact", "f1_label"])
        == 100 * flat["all_label_f1"]
    )


def test_models_share_one_table_in_the_papers_order(tmp_path):
    for name in ("tulu_70", "tulu_7", "llama"):
        scored(write_run(tmp_path / name, tasks={"scierc_ner"}), tmp_path / "out")
    assert list(summary(tmp_path / "out")) == ["llama", "tulu_7", "tulu_70"]


def test_runs_of_one_model_do_not_overwrite_each_other(tmp_path):
    right = write_run(tmp_path / "first" / "model", tasks={"scierc_ner"})
    wrong = write_run(tmp_path / "second" / "model", lambda *_: "nothing", tasks={"scierc_ner"})
    for folder in (right, wrong, right, wrong):
        scored(folder, tmp_path / "out")
    cells = {name: row["scierc", "f1"] for name, row in summary(tmp_path / "out").items()}
    assert {name: float(cell) for name, cell in cells.items()} == {"model": 100, "second__model": 0}
    assert main(["score", str(right), str(wrong), "--out", str(tmp_path / "both")]) == 0
    assert len(list((tmp_path / "both").glob("*/scores.json"))) == 2
    assert not list((tmp_path / "both").glob("*.json"))
    # A copy of predictions is the same run.
    scored(shutil.copytree(right, tmp_path / "third" / "model"), tmp_path / "out")
    assert summary(tmp_path / "out").keys() == cells.keys()


def test_a_rescored_run_has_the_name_of_its_model(tmp_path):
    folder = write_run(
        tmp_path / "somewhere" / "rescored_2026-02-01T08-00-00.000000", tasks={"scierc_ner"}
    )
    results = {"model_name": "/models/tulu-7b/", "configs": {}, "results": {}}
    (folder / f"results_{STAMP}.json").write_text(json.dumps(results), encoding="utf-8")
    scored(folder, tmp_path / "out")
    assert list(summary(tmp_path / "out")) == ["tulu-7b"]


def test_absent_tasks_are_named(tmp_path):
    results = scored(write_run(tmp_path / "model", tasks={"scierc_ner"}), tmp_path / "out")
    assert results["science_mean"]["over"] == ["science_scierc"]
    assert "science_bioasq" in results["science_mean"]["notes"][0]
    lines = table(tmp_path / "out" / "tables" / "missing.tsv")[1:]
    assert [line[1:] for line in lines] == [
        [task, "all", "no samples"] for task in TASKS if task != "scierc_ner"
    ]


def test_a_task_without_a_single_sample_is_missing_and_not_0(tmp_path):
    folder = write_run(tmp_path / "model", tasks={"scierc_ner", "bioasq_list_qa"})
    next(folder.glob("samples_bioasq*")).write_text("")
    assert scored(folder, tmp_path / "out")["science_bioasq"]["agg_value"] is None
    assert summary(tmp_path / "out")["model"]["bioasq", "f1"] == "missing"
    assert ["model", "bioasq_list_qa", "all", "no samples"] in table(
        tmp_path / "out" / "tables" / "missing.tsv"
    )


def test_odd_rows_are_said(tmp_path):
    folder = write_run(tmp_path / "model", tasks={"scierc_ner"})
    file = next(folder.glob("samples_*"))
    lines = file.read_text().splitlines()
    lines[0] = lines[0].replace("scierc_ner:validation:", "biored_ner:validation:")
    lines[1] = lines[1].replace("scierc_ner:validation:", "scierc_ner:test:")
    file.write_text("\n".join([*lines, lines[2], lines[3]]) + "\n")
    assert scored(folder, tmp_path / "out")["science_scierc"]["notes"][1:] == [
        "2 of 13 rows are there more than once, and each counts",
        "1 rows are of the split test; published ones: validation",
        "1 of 14 rows are of another task and left out: biored_ner",
    ]


def test_the_rows_of_another_task_are_no_answers(tmp_path):
    folder = write_run(tmp_path / "model", tasks={"scierc_ner", "bioasq_list_qa"})
    shutil.copyfile(next(folder.glob("samples_bioasq*")), next(folder.glob("samples_scierc*")))
    found = scored(folder, tmp_path / "out")
    assert found["science_scierc"]["agg_value"] is None
    assert (
        found["science_scierc"]["reason"]
        == "12 of 12 rows are of another task and left out: bioasq_list_qa"
    )
    assert found["science_scierc_compat"]["agg_value"] is None
    assert summary(tmp_path / "out")["model"]["scierc", "f1"] == "missing"


def test_means_over_other_columns_are_not_compared(tmp_path, capsys):
    whole = write_run(tmp_path / "whole", tasks={"scierc_ner", "bioasq_list_qa"})
    part = write_run(tmp_path / "part", tasks={"scierc_ner"})
    main(["compare", str(part), str(whole), "--json", "--no_write"])
    found = {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}
    # Both sides are computed over the task that both have, and the one that is lacking is named.
    mean = found["science/science_mean"]
    assert (mean["verdict"], mean["delta"]) == ("not enough evidence", 0.0)
    assert "the candidate has no bioasq_list_qa" in mean["words"]
    assert not found["science/science_scierc"]["reasons"]
    out = tmp_path / "board"
    main(["leaderboard", str(whole), str(part), "--out", str(out), "--json"])
    capsys.readouterr()
    assert "other question: a mean of other scores: 1 fewer" in (
        (out / "leaderboard.csv").read_text()
    )


def test_a_task_without_samples_is_missed_by_name(tmp_path):
    folder = seeded(tmp_path / "model", 1)
    next(folder.glob("samples_scierc*")).unlink()
    assert any(note.startswith("no samples file of scierc_ner") for note in load_run(folder).notes)


def test_the_newest_run_counts_and_is_said(tmp_path):
    write_run(
        tmp_path / "model",
        lambda *_: "nothing",
        stamp="2026-01-01T00-00-00.000000",
        tasks={"scierc_ner"},
    )
    write_run(tmp_path / "model", tasks={"scierc_ner"})
    run = load_run(tmp_path / "model")
    assert any("the newest" in note for note in run.notes)
    assert scored(tmp_path / "model", tmp_path / "out")["science_scierc"]["agg_value"] == 1
    older = scored(tmp_path / "model", tmp_path / "out", timestamp="2026-01-01")
    assert older["science_scierc"]["agg_value"] == 0


def test_what_stops_the_original_is_scored_and_said(tmp_path):
    def reply(task, row):
        return '{"Task": null}' if row["_instance_id"].endswith(":0") else exact(task, row)

    result = scored(write_run(tmp_path / "model", reply, tasks={"scierc_ner"}), tmp_path / "out")[
        "science_scierc"
    ]
    assert 0.8 < result["agg_value"] < 1
    rate = "JSON could be used in 12 of 12 replies: 12 valid_json, 0 null_json, 0 extract_success, 0 extract_failure"
    assert result["notes"][0] == rate
    assert "the original programme stops on these replies with TypeError" in result["notes"][2]
    assert not any(key.startswith("compat.") for key in result["parts"])


def test_the_two_modes_stand_side_by_side(tmp_path):
    def reply(_, row):
        return f"1] {row['output']}"

    parts = scored(
        write_run(tmp_path / "model", reply, tasks={"bioasq_list_qa"}), tmp_path / "out"
    )["science_bioasq"]["parts"]
    assert (parts["all_f1"], parts["compat.all_f1"]) == (1, 0)
    assert (parts["json_parsed"], parts["compat.json_parsed"]) == (1, 0)
    # What the original does not report is no number of the original.
    assert {"bleu_canonical", "all_frac_parsed_predictions"} <= parts.keys()
    assert not {"compat.bleu_canonical", "compat.all_frac_parsed_predictions"} & parts.keys()


def test_references_survive_a_template_that_broke_them(tmp_path):
    folder = write_run(tmp_path / "model", tasks={"bioasq_list_qa"})
    file = next(folder.glob("samples_*"))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        line["target"] = str(
            json.loads(line["target"])
        )  # what `doc_to_target: "{{output}}"` leaves
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert scored(folder, tmp_path / "out")["science_bioasq"]["agg_value"] == 1


def test_ratings_of_a_judge_fill_their_columns(tmp_path):
    def rate(task, row):
        number = int(row["_instance_id"].rpartition(":")[2])
        return (
            {"judge_rating": None if number == 0 else 1 + number % 5}
            if "mup" in task
            else {"bypass": 999}
        )

    out = tmp_path / "out"
    results = scored(write_run(tmp_path / "model", metrics=rate), out)
    ratings = [1 + number % 5 for number in range(1, 12)]
    expected = (sum(ratings) / 11 - 1) / 4
    assert results["science_mup_judge"]["agg_value"] == pytest.approx(expected)
    assert results["science_mup_judge"]["skipped"] == {"unreadable judgement": 1}
    assert (
        results["science_qasper_judge"]["reason"]
        == "no judge has rated it: `evalprep judge RUN --model NAME`"
    )
    metrics = json.loads(
        (out / "by_model/model/mup_single_document_summarization/metrics.json").read_text()
    )
    found = metrics["lm_judge"]["reference_comparison"]
    assert found == {"lm_judge_n_samples": 11, "avg_rating": pytest.approx(expected)}
    assert float(summary(out)["model"]["mup", "lm_judge_reference"]) == pytest.approx(
        100 * expected
    )


def test_spreadsheet_holds_tables_and_unparsable_replies(tmp_path):
    hostile = '=HYPERLINK("http://x") [broken'
    scored(
        write_run(tmp_path / "model", lambda *_: hostile, tasks={"bioasq_list_qa"}),
        tmp_path / "out",
    )
    with zipfile.ZipFile(tmp_path / "out" / "tables" / "tables.xlsx") as book:
        names = book.read("xl/workbook.xml").decode()
        sheets = "".join(
            book.read(name).decode() for name in book.namelist() if "worksheets/" in name
        )
    assert all(
        f'name="{name}"' in names for name in ("summary", "bioasq_list_qa", "missing", "unparsable")
    )
    assert "=HYPERLINK" in sheets  # as a text
    assert "<f>" not in sheets  # no cell is a formula


QA, SUMMARY = "qasper_abstractive_qa", "mup_single_document_summarization"


class TestJudgeItems:
    """What a judge is asked; how answers are kept is tested with `evalprep judge`."""

    def items(self, folder):
        run = load_run(folder)
        judges = {one.task: one for one in PACKS["science"].module("annotators").ANNOTATORS}
        return {
            task: list(judges[task].items({task: row_mappings(run.tasks[task])}, {}))
            for task in (QA, SUMMARY)
        }

    def test_fields_and_fixed_ratings(self, tmp_path):
        def reply(task, row):
            return "null" if row["_instance_id"].endswith(":1") else exact(task, row)

        found = self.items(write_run(tmp_path / "model", reply, tasks={QA, SUMMARY}))
        ids = [row["_instance_id"] for row in demo_rows()[QA]]
        fixed = [
            {"judge_rating": 1} if ids[one.samples[0].index].endswith(":1") else None
            for one in found[QA]
        ]
        assert [one.fixed for one in found[QA]] == fixed
        assert [one.samples[0].index for one in found[SUMMARY]] == judge_sample_indices(12, 100)
        assert all("not given" not in one.input for several in found.values() for one in several)

    def test_a_changed_prediction_changes_the_question(self, tmp_path):
        one, again, other = (
            self.items(write_run(tmp_path / name, answer, tasks={QA, SUMMARY}))[QA][0]
            for name, answer in (
                ("one", exact),
                ("again", exact),
                ("other", lambda *_: '{"answer": "x"}'),
            )
        )
        assert one.input == again.input != other.input

    def test_replies(self):
        judge = PACKS["science"].module("annotators").ANNOTATORS[0]
        assert judge.read(None, "Explanation: close.\nRating: 4") == ("ok", {"judge_rating": 4})
        assert judge.read(None, "Rating: 9") == ("invalid_score", None)
        assert judge.read(None, "four") == ("parse_error", None)

    def test_no_answer_needs_no_judge_and_an_empty_answer_does(self, tmp_path):
        none = self.items(write_run(tmp_path / "none", lambda *_: "null", tasks={QA, SUMMARY}))[QA][
            0
        ]
        empty = self.items(
            write_run(tmp_path / "empty", lambda *_: '{"answer": ""}', tasks={QA, SUMMARY})
        )[QA][0]
        assert none.input == empty.input
        assert (none.fixed, empty.fixed) == ({"judge_rating": 1}, None)


def seeded(folder, seed, reply=exact, model="org/tulu", stamp=STAMP):
    """A run with a results file that names its seed."""
    write_run(folder, reply, tasks={"scierc_ner", "scifact_entailment"}, stamp=stamp)
    config = {"model": "hf", "model_args": {"pretrained": model, "seed": seed}}
    names = ("scierc_ner", "scifact_entailment")
    content = {
        "config": config,
        "configs": {name: {} for name in names},
        "results": {name: {} for name in names},
    }
    (folder / f"results_{stamp}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_seeds_of_one_model_are_one_row_with_their_deviation(tmp_path):
    def spoil(count):
        return lambda task, row: (
            "no" if int(row["_instance_id"].rpartition(":")[2]) < count else exact(task, row)
        )

    out = tmp_path / "out"
    folders = [seeded(tmp_path / f"s{at}" / "tulu", at, spoil(at)) for at in (1, 2, 3)]
    folders.append(
        seeded(tmp_path / "s1" / "tulu", 4, spoil(4), stamp="2026-02-02T08-00-00.000000")
    )
    other = seeded(tmp_path / "other" / "llama", 1, model="org/llama")
    for folder in (*folders[:3], other):
        scored(folder, out, timestamp="2026-02-01")
    scored(folders[3], out)  # in the folder of the first, a day later
    singles = [
        json.loads((out / "by_model" / name / "scierc_ner" / "metrics_summary.json").read_text())[
            "f1"
        ]
        for name in ("tulu", "s2__tulu", "s3__tulu", "tulu__2026-02-02T08-00-00.000000")
    ]
    aliases, metrics, *lines = table(out / "tables" / "summary.tsv")
    rows = {line[0]: line for line in lines}
    assert set(rows) == {"tulu", "llama"}
    at, seeds = aliases.index("scierc"), aliases.index("seeds")
    deviation = list(zip(aliases, metrics, strict=True)).index(("scierc", "f1 sd"))
    assert float(rows["tulu"][at]) == pytest.approx(100 * statistics.fmean(singles))
    assert float(rows["tulu"][deviation]) == pytest.approx(100 * statistics.stdev(singles))
    assert (rows["tulu"][seeds], rows["llama"][seeds], rows["llama"][deviation]) == ("4", "1", "")
    runs = {line[0]: line[1:4] for line in table(out / "tables" / "runs.tsv")[1:]}
    assert runs["s2__tulu"] == ["tulu", "2", str(folders[1])]
    header, *cells = table(out / "tables" / "scierc_ner.tsv")
    tulu = next(dict(zip(header, line, strict=True)) for line in cells if line[0] == "tulu")
    assert float(tulu["all_typed_f1_sd"]) == pytest.approx(statistics.stdev(singles))


def test_two_seeds_are_enough_for_a_deviation(tmp_path):
    out = tmp_path / "out"
    first = seeded(tmp_path / "s1" / "tulu", 1)
    second = seeded(tmp_path / "s2" / "tulu", 2, reply=lambda *_: "no")
    for folder in (first, second):
        scored(folder, out, timestamp="2026-02-01")
    header, tulu = table(out / "tables" / "scierc_ner.tsv")
    cells = dict(zip(header, tulu, strict=True))
    assert cells["seeds"] == "2"
    assert float(cells["all_typed_f1_sd"]) == pytest.approx(statistics.stdev([0, 1]))


def test_every_table_is_made_by_both_rules(tmp_path):
    def reply(task, row):
        return f"1] {row['output']}" if task == "bioasq_list_qa" else exact(task, row)

    out = tmp_path / "out"
    results = scored(write_run(tmp_path / "model", reply), out)
    tables = {
        mode: sorted(path.name for path in (out / mode / "tables").iterdir())
        for mode in ("", "compat")
    }
    assert [name for name in tables[""] if name != "rules.tsv"] == tables["compat"]
    assert results["science_bioasq"]["agg_value"] == 1
    assert results["science_bioasq_compat"]["agg_value"] == 0
    assert [one["rule"] for one in results["science_bioasq"]["rules"]] == ["json_search"]
    moves = "each rule alone moves the original's value by points: json_search +100.00"
    assert moves in results["science_bioasq"]["notes"]
    cells = [summary(out / mode)["model"]["bioasq", "f1"] for mode in ("", "compat")]
    assert list(map(float, cells)) == [100, 0]
    content = json.loads((out / "compat/by_model/model/bioasq_list_qa/metrics.json").read_text())
    assert (content["source"]["mode"], content["json_counts"]["extract_failure"]) == ("compat", 12)
    assert "extra" not in content
    moved = [
        line[2:4]
        for line in table(out / "tables" / "rules.tsv")[1:]
        if line[1] == "evidence_inference"
    ]
    assert moved == [["f1_substring", "null_comparator"], ["f1_overlap", "null_comparator"]]


def test_where_the_original_stops_its_table_says_so(tmp_path):
    def reply(task, row):
        return '{"Task": null}' if row["_instance_id"].endswith(":0") else exact(task, row)

    out = tmp_path / "out"
    scored(write_run(tmp_path / "model", exact, tasks={"scierc_ner"}), out)
    scored(write_run(tmp_path / "model", reply, tasks={"scierc_ner"}), out)
    assert summary(out / "compat")["model"]["scierc", "f1"] == "missing"
    reasons = {line[1]: line[3] for line in table(out / "compat" / "tables" / "missing.tsv")[1:]}
    assert reasons["scierc_ner"].startswith("the original stops with TypeError")
    rules = [line[3:] for line in table(out / "tables" / "rules.tsv")[1:]]
    assert rules == [["faulty_part", "", "", "corrected", "yes"]]


def test_the_judges_column_shares_its_papers_with_the_others(tmp_path):
    """A judge that rates as the evidence is scored adds nothing: the mean of both is as wide as one of them."""

    def reply(task, row):
        return "null" if int(row["_instance_id"].rpartition(":")[2]) % 2 else exact(task, row)

    def rate(_, row):
        return {"judge_rating": 1 if int(row["_instance_id"].rpartition(":")[2]) % 2 else 5}

    run = write_run(tmp_path / "model", reply, tasks={"qasper_abstractive_qa"}, metrics=rate)
    found = {score.name: score for score in score_run(load_run(run), PACKS).suite}
    judge, evidence, mean = (
        found[f"science_{name}"] for name in ("qasper_judge", "qasper_evidence", "mean")
    )
    assert judge.value == mean.value == pytest.approx(evidence.value)
    assert [mean.low, mean.high] == pytest.approx([evidence.low, evidence.high])
    judge_units = judge.result.influence().units
    assert judge_units.keys() == evidence.result.influence().units.keys()


def test_the_mean_counts_rows_and_not_columns(tmp_path):
    results = scored(
        write_run(tmp_path / "model", tasks={"scierc_ner", "bioasq_list_qa"}), tmp_path / "out"
    )
    assert [results[f"science_{name}"]["n"] for name in ("mean", "median", "mean_compat")] == [
        24,
        24,
        24,
    ]


class TestKeptByTheOriginal:
    """Its judge's files, taken over as kept ratings."""

    @pytest.fixture
    def run(self, tmp_path):
        folder = tmp_path / "deep" / "er" / "still" / "model"  # no ledger of another run lies above
        return write_run(
            folder, tasks={"qasper_abstractive_qa", "mup_single_document_summarization"}
        )

    def take_over(self, run, task, content):
        file = run.parent / "kept.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        arguments = ["--model", "gpt-4o-2024-08-06", "--tasks", task, "--import_ratings", str(file)]
        return main(["judge", str(run), *arguments])

    def test_ratings_of_answers(self, run, tmp_path):
        ratings = [1 + place % 5 for place in range(12)]
        assert self.take_over(run, "qasper_abstractive_qa", ratings) == 0
        assert (run / "annotations.sqlite").is_file()
        results = scored(run, tmp_path / "out")
        mean = (statistics.fmean(ratings) - 1) / 4
        assert results["science_qasper_judge"]["agg_value"] == pytest.approx(mean)
        assert results["science_qasper_judge_compat"]["agg_value"] == pytest.approx(mean)
        median = results["science_qasper_judge_median"]
        assert median["agg_value"] == pytest.approx((statistics.median(ratings) - 1) / 4)
        for one in (results["science_qasper_judge"], median):
            low, high = one["interval"]
            assert low <= one["agg_value"] <= high

    def test_ratings_of_rows_without_an_answer_count_as_the_original_takes_them(self, tmp_path):
        """Its batch mode rates these rows, too, and its rule takes the file as it is."""

        def reply(_task, row):
            return row["output"] if int(row["_instance_id"].rpartition(":")[2]) % 3 else "No idea."

        folder = tmp_path / "deep" / "er" / "still" / "model"
        run = write_run(folder, reply, tasks={"qasper_abstractive_qa"})
        rows = demo_rows()["qasper_abstractive_qa"]
        ratings = [2 + place % 4 for place in range(len(rows))]
        assert self.take_over(run, "qasper_abstractive_qa", ratings) == 0
        results = scored(run, tmp_path / "out")
        theirs, ours = (results[f"science_qasper_judge{end}"] for end in ("_compat", ""))
        assert (theirs["n"], theirs["agg_value"]) == (
            len(rows),
            pytest.approx((statistics.fmean(ratings) - 1) / 4),
        )
        answered = [reply("", row) != "No idea." for row in rows]
        kept = [
            rating if is_answer else 1 for rating, is_answer in zip(ratings, answered, strict=True)
        ]
        assert ours["agg_value"] == pytest.approx((statistics.fmean(kept) - 1) / 4)

    def test_words_of_a_batch_are_read_by_both_rules(self, run, tmp_path):
        words = ["Explanation: x\nRating: 5", "**Rating:** 5", "Rating: 3 or 4", *["Rating: 1"] * 9]
        lines = [
            {
                "custom_id": f"task-{place}",
                "response": {"body": {"choices": [{"message": {"content": text}}]}},
            }
            for place, text in enumerate(words)
        ]
        assert self.take_over(run, "qasper_abstractive_qa", lines[::-1]) == 0
        results = scored(run, tmp_path / "out")
        ours, theirs = results["science_qasper_judge"], results["science_qasper_judge_compat"]
        assert (ours["n"], ours["agg_value"]) == (11, pytest.approx(2 / 11))
        assert ours["skipped"] == {"parse_error": 1}
        # The original takes 3 where it cannot read, and the first number of two.
        assert (theirs["n"], theirs["agg_value"]) == (12, pytest.approx((1 + 0.5 + 0.5) / 12))

    def test_objects_of_summaries_with_their_predictions(self, run, tmp_path, capsys):
        rows = demo_rows()["mup_single_document_summarization"]
        content = {
            str(place): {
                "prediction": row["output"].strip("</s>"),
                "decision": 0.0 if place else 0.75,
            }
            for place, row in enumerate(rows)
        }
        assert self.take_over(run, "mup_single_document_summarization", content) == 0
        results = scored(run, tmp_path / "out")
        assert results["science_mup_judge"]["agg_value"] == pytest.approx(0.75 / 12)
        theirs = results["science_mup_judge_compat"]
        assert (theirs["n"], theirs["agg_value"]) == (1, 0.75)
        assert theirs["notes"] == ["the original drops 11 ratings of 1"]
        content["3"]["prediction"] = "Another summary."
        assert self.take_over(run, "mup_single_document_summarization", content) == 2
        assert "row 3: the rating is of another prediction" in capsys.readouterr().err

    def test_ratings_of_other_rows_and_second_ratings_are_told(self, run, capsys):
        assert self.take_over(run, "qasper_abstractive_qa", [3] * 13) == 2
        assert "holds 13 ratings, the run has 12 rows" in capsys.readouterr().err
        assert self.take_over(run, "qasper_abstractive_qa", [3] * 12) == 0
        assert "12 ratings taken over;" in capsys.readouterr().out
        assert self.take_over(run, "qasper_abstractive_qa", [4] * 12) == 3
        assert (
            "0 ratings taken over (beside them 12 rows rated before and kept)"
            in capsys.readouterr().out
        )

    def test_a_mean_alone_is_refused(self, run):
        assert self.take_over(run, "mup_single_document_summarization", {"avg_rating": 0.4}) == 2


def test_published_values_stand_beside_the_originals_rule_alone(tmp_path):
    folder = seeded(tmp_path / "model", 1, model="meta-llama/Meta-Llama-3-8B-Instruct")
    suite = {score.name: score for score in score_run(load_run(folder), PACKS).suite}
    assert [one.value for one in suite["science_scierc_compat"].published] == pytest.approx(
        [0.254, 0.132]
    )
    assert not suite["science_scierc"].published
    assert not suite["science_scierc"].withheld
