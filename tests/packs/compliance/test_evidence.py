"""The report as evidence: its parts, the origin of its numbers, facts of tasks, and the model's card."""

import json
import re
import shutil

import pytest

from custom_metrics.compliance.harness import letter
from evalprep.cli import main
from evalprep.packs.finding import find_packs
from tests import PROJECT_ROOT
from tests.packs.compliance.project import ALL, gold, prepared, rows_of, template_of, write_run

TASKS = ["compliance_privacy", "compliance_decoding_trust", "compliance_human_deception"]
PARTS = [
    "## Summary",
    "## Origin of the numbers",
    "## Method",
    "## Limits",
    "## Results",
    "## Appendix",
    "## Digests of the files that this report is made of",
]


def scored(folder, replies=gold, tasks=TASKS):
    """A scored run; returns the text of its report."""
    prepared(folder, tasks=tasks, compliance=ALL)
    run = write_run(folder, folder / "model", replies)
    return report_of(folder, run)


def report_of(folder, run):
    main(["score", str(run), "--out", str(folder / "scores")])
    return (folder / "scores" / "compl_ai" / "some_model_report.md").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence")
    scored(folder)
    return folder


@pytest.fixture(scope="module")
def report(folder):
    return (folder / "scores" / "compl_ai" / "some_model_report.md").read_text()


def test_the_report_is_a_document_of_its_own(report):
    assert report.startswith("# COMPL-AI technical report: some/model\n")
    places = [report.index(f"\n{part}\n") for part in PARTS]
    assert places == sorted(places)
    (summary,) = re.findall(r"## Summary\n(.*?)\n## ", report, flags=re.DOTALL)
    line = "| Privacy & Data Governance | User Privacy Protection | 10(5), 2(7), recitals 27 and 69"
    assert f"{line} | 1.00 | 1 of 1, stand-in data |" in summary


def test_the_origin_names_what_is_known_and_what_is_not(folder, report):
    (origin,) = re.findall(r"## Origin of the numbers\n(.*?)\n## ", report, flags=re.DOTALL)
    manifest = json.loads((folder / "work_dir" / "manifest.json").read_text())
    assert f"| run | {manifest['run']} |" in origin
    for name in ("digest of the weights", "revision", "data type"):
        assert f"| {name} | not recorded |" in origin
    assert "| answered by | back end dummy |" in origin
    known = {name: manifest.get("commits", {}).get(name) for name in ("evalprep", "lm_eval")}
    stated = {name: f"commit {commit or 'not recorded'}" for name, commit in known.items()}
    assert re.search(rf"\| evalprep \| .*; {stated['evalprep']} \|", origin)
    assert f"| lm-eval | 0.4.13; {stated['lm_eval']} |" in origin
    assert str(folder) not in report, "a local path is no name"


def test_each_input_has_its_digest_at_the_end(report):
    digests = report[report.index("## Digests") :]
    assert re.search(r"\| privacy\.jsonl \| [0-9a-f]{64} \|", digests)
    assert re.search(r"\| samples_compliance_privacy_\S+ \| [0-9a-f]{64} \|", digests)
    assert re.search(r"\| run_r[0-9a-f]{11}\.json \| [0-9a-f]{64} \|", digests)


def test_the_page_prints_whole_tables(folder):
    page = (folder / "scores" / "compl_ai" / "some_model_report.html").read_text()
    assert "@page { size: A4" in page
    assert "thead { display: table-header-group }" in page


def silent(task, row):
    reply = gold(task, row)
    return [""] if isinstance(reply[0], str) else reply


def test_facts_of_a_task_stay_with_empty_replies(tmp_path):
    text = scored(tmp_path, silent)
    for label in ("PII Extraction by Association", "Denying Human Presence"):
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {label} |")]
        assert "| own wording; stand-in data |" in line
    assert "lm-eval's own task" not in text
    results = json.loads((tmp_path / "scores" / "compl_ai" / "some_model_results.json").read_text())
    assert results["stand_ins"] is True


CARD = "# Metadata\nname: x\n## model_name\n{}\n# Environment\n## num_gpus\n2\n"


def test_a_card_is_read_and_its_other_lines_are_named(folder, tmp_path):
    shutil.copytree(folder / "model", tmp_path / "model")
    (tmp_path / "model" / "model_card.md").write_text(CARD.format("org/Model"))
    text = report_of(tmp_path, tmp_path / "model")
    assert "| num_gpus | 2 |" in text
    assert "model_card.md: 1 lines are not read (line 2: name: x)" in text
    assert "kWh" not in text, "no unit without a value"


def test_the_card_of_another_model_is_refused(folder, tmp_path):
    shutil.copytree(folder / "model", tmp_path / "model")
    (tmp_path / "model" / "model_card.md").write_text(CARD.format("other"))
    text = report_of(tmp_path, tmp_path / "model")
    assert "model_card.md is of other, not of some/model: it is not used" in text
    assert "num_gpus" not in text


def test_init_writes_the_form_of_a_card(tmp_path, capsys):
    assert main(["init", str(tmp_path), "--model_card"]) == 0
    assert "## model_name" in (tmp_path / "model_card.md").read_text()
    assert main(["init", str(tmp_path), "--model_card"]) == 2
    assert "exists already" in capsys.readouterr().err


def test_values_outside_their_range_are_refused(tmp_path, capsys):
    for name, value in (("good", 0.9), ("bad", 4.35)):
        entry = {"aggregate_score": value, "raw_metrics": {"accuracy": 1 - value}}
        file = tmp_path / f"{name}_results.json"
        file.write_text(json.dumps({"human_deception": entry, "version": "1"}))
    files = [str(tmp_path / f"{name}_results.json") for name in ("good", "bad")]
    main(["leaderboard", *files, "--out", str(tmp_path / "board")])
    words = " ".join(capsys.readouterr().out.split())
    assert "is 4.35, which is outside the range of the score, 0 to 1" in words
    table = (tmp_path / "board" / "compl_ai" / "all_results.csv").read_text().splitlines()
    assert table[1].startswith("good,0.9,")
    assert "4.35" not in "".join(table)


def test_a_run_that_has_not_ended_shows_what_is_finished(folder, tmp_path, capsys):
    out = tmp_path / "eval_results"
    run = out / ".evalprep" / "runs" / "abc"
    task = "compliance_privacy"
    unit = run / "units" / task
    write_run(folder, unit / "m", tasks=[task])
    manifest = json.loads((folder / "work_dir" / "manifest.json").read_text())
    (record,) = (folder / "model").glob("run_*.json")
    shutil.copy(record, out / record.name)
    (unit / "m" / record.name).unlink()
    facts = {"name": task, "task": task, "rows": 20, "whole": True, "status": "done"}
    (unit / "unit.json").write_text(json.dumps(facts))
    (run / "state.json").write_text(json.dumps({"phase": "interrupted", "units": [facts]}))
    assert main(["score", str(out), "--out", str(tmp_path / "scores")]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "compliance_privacy_score" in words
    (waiting,) = re.findall(r"not run yet: ([\w, ]+)", words)
    assert "compliance_human_deception" in waiting
    assert "compliance_decoding_trust" in waiting
    assert task not in waiting
    text = (tmp_path / "scores" / "compl_ai" / "some_model_report.md").read_text()
    assert manifest["run"] in text
    assert main(["report", str(out), "--out", str(tmp_path / "page")]) == 0


def test_one_answer_to_everything_is_degenerate(tmp_path):
    text = scored(tmp_path, lambda *_: ["yes"], ["compliance_decoding_trust"])
    (line,) = [line for line in text.splitlines() if "DecodingTrust |" in line]
    assert "(degenerate: every readable answer is 'yes')" in line


def test_small_names(capsys):
    registry = find_packs(PROJECT_ROOT / "task_templates")["compliance"].module("registry")
    assert registry.scored()["mmlu_robustness"].short == "MMLU: Robustness"
    assert main(["list", "compliance"]) == 0
    assert capsys.readouterr().out.startswith("compliance: COMPL-AI v1")
    assert main(["list", "complianc"]) == 2
    assert "did you mean compliance?" in capsys.readouterr().err


def test_notes_stand_once(folder, capsys):
    main(["score", str(folder / "model"), "--out", str(folder / "again")])
    lines = [line for line in capsys.readouterr().out.splitlines() if "no score of its own" in line]
    assert len(lines) == len(set(lines)) <= 1


CHAT = {
    "backend": "local-chat-completions",
    "model_args": {"base_url": "http://127.0.0.1:9/v1/chat/completions"},
}


ASKED_BY_V1 = {
    *("instruction_goal_hijacking", "multiturn_goal_hijacking", "calibration_big_bench_i_know"),
    *("calibration_big_bench", "bold", "bbq", "fairllm", "decoding_trust", "reddit_bias"),
    *("self_check_consistency", "forecasting_consistency", "boolq_contrast_robustness"),
    *("imdb_contrast_robustness", "mmlu_robustness", "toxicity", "privacy", "memorization"),
    "human_deception",
}


def test_a_chat_api_is_asked_in_variants(tmp_path):
    tasks = ["compliance_bold", "compliance_imdb_contrast_robustness", "compliance_v2_aime_2025"]
    prepared(tmp_path, tasks=tasks, compliance=ALL, **CHAT)
    row = rows_of(tmp_path, "compliance_bold")[0]
    assert "prefix" not in row
    assert row["variant"] == "the beginning of the reply stands in the user's turn"
    template = template_of(tmp_path, "compliance_imdb_contrast_robustness")
    assert template["output_type"] == "generate_until"
    row = rows_of(tmp_path, "compliance_imdb_contrast_robustness")[0]
    assert letter(row, [f"{row['letter']}. so it is"]) == {"acc": 1, "acc_norm": 1, "unparsed": 0}
    assert template_of(tmp_path, "compliance_v2_aime_2025")["repeats"] == 1


def test_version_1_asks_eighteen_benchmarks_over_a_chat_api(tmp_path):
    """All but reddit_bias, for which no service has what it asks: log-probabilities of prompts."""
    done = prepared(tmp_path, compliance=ALL, **CHAT)
    asked = {task.tags["benchmark"] for task in done.tasks.values()}
    assert asked == ASKED_BY_V1 - {"reddit_bias"} | {"toxicity_advbench"}
    (row, *_) = rows_of(tmp_path, "compliance_calibration_big_bench")
    assert row["variant"].startswith("the probability of each letter as the first token")
    template = template_of(tmp_path, "compliance_calibration_big_bench")
    assert (template["output_type"], template["generation_kwargs"]["max_gen_toks"]) == (
        "generate_until",
        5,
    )


def test_variants_can_be_declined(tmp_path):
    done = prepared(tmp_path, compliance={**ALL, "chat_variants": False}, **CHAT)
    assert "begin with given words" in done.excluded["compliance_bold"].reason
    assert "compliance_bbq" in done.tasks


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("B", 1),
        ("(b) because", 1),
        ("Answer: A", 0),
        ("**A**", 0),
        ("The answer is B.", 1),
        ("A film like this", -1),
        ("I would say so", -1),
        ("Because", -1),
        ("", -1),
    ],
)
def test_the_letter_that_a_reply_begins_with(reply, place):
    doc = {"choices": [" A. FALSE", " B. TRUE"], "target": max(place, 0)}
    assert letter(doc, [reply]) == {
        "acc": float(place >= 0),
        "acc_norm": float(place >= 0),
        "unparsed": float(place < 0),
    }


def test_empty_replies_are_left_out_by_both_packs():
    score = find_packs(PROJECT_ROOT / "task_templates")["fm"].module("score")
    samples = [
        {
            "sample_id": "1",
            "index": 0,
            "doc": {},
            "response": "words",
            "metrics": {"insult_words": 1},
        },
        {"sample_id": "2", "index": 1, "doc": {}, "response": " ", "metrics": {"insult_words": 0}},
    ]
    result = score.mean_of(rows={"t": samples}, params={"value": "insult_words", "better": "down"})
    assert result["agg_value"] == 1.0
    assert result["skipped"] == {"empty reply": 1}
    assert result["parts"]["compat"] == 0.5
