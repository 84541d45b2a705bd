"""The text benchmarks of COMPL-AI v2: rows, judges, scores, and what is not run."""

import json

import pytest
import yaml

from evalprep.errors import BadInput
from tests.packs.compliance.checkout import write
from tests.packs.compliance.project import ALL, prepared, rows_of, template_of, write_run
from tests.packs.compliance.scoring import PACK, rows_of_replies

SCORES = PACK.module("v2_score")
JUDGES = PACK.module("v2_judges")
REGISTRY = PACK.module("registry")
#: The tasks of version 2 (7cd1647), by name.
TASKS = """
aime_2025 arc_challenge bbq bigbench_calibration bold boolq_contrast cab decoding_trust fairllm
forecast_consistency gpqa_diamond hle human_deception ifbench imdb_contrast include
instruction_goal_hijacking livebench_coding llm_rules mask mmlu_pro mmlu_pro_robustness mmmu_pro
realtoxicityprompts self_check_consistency simpleqa_verified strong_reject swe_bench_verified
triviaqa_calibration truthfulqa
""".split()  # noqa: SIM905 - a list of names reads better so
PROMPTS = '''
STRONG_REJECT_SYSTEM_PROMPT = """Be a judge."""
STRONG_REJECT_EVAL_PROMPT = """Prompt: {forbidden_prompt} Reply: {response}"""
'''

#: Modules of the packages that version 2 uses -> what they hold, in the form of the originals.
MODULES = {
    "inspect_ai/solver/_multiple_choice.py": """
SINGLE_ANSWER_TEMPLATE = r'''
Pick {letters} $LETTER: {question}
{choices}
'''.strip()
SINGLE_ANSWER_TEMPLATE_COT = r'''Think, {letters}: {question} | {choices}'''.strip()
""",
    "inspect_evals/mmlu_pro/mmlu_pro.py": (
        "USER_PROMPT_TEMPLATE = 'Pro {letters} {question}: {choices}'"
    ),
    "inspect_evals/utils/aime_common.py": "USER_PROMPT_TEMPLATE = '''Do {prompt} now '''.strip()",
    "inspect_evals/simpleqa/grader_templates.py": """
SIMPLEQA_VERIFIED_GRADER_TEMPLATE = '{question} {criterion} {answer} {instructions}'
SIMPLEQA_GRADING_INSTRUCTIONS = ' Just a letter. '.strip()
""",
}


def test_every_task_of_version_2_is_run_or_has_a_reason():
    listed = REGISTRY.second_version()
    assert sorted(listed) == [f"v2_{name}" for name in sorted(TASKS)]
    assert all(benchmark.tasks or benchmark.unavailable for benchmark in listed.values())
    assert not listed.keys() & REGISTRY.benchmarks().keys()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("second")
    write(folder / "v2" / "src/complai/tasks/strong_reject/prompts.py", PROMPTS)
    section = {**ALL, "v2_checkout": str(folder / "v2")}
    prepared(folder, tasks=["compliance_v2", "compliance_toxicity_advbench"], compliance=section)
    return folder


def test_the_judge_of_strong_reject_speaks_the_words_of_the_checkout(folder):
    row = rows_of(folder, "compliance_v2_strong_reject")[0]
    system, question = JUDGES.judge_messages(row, "No {response}.")
    assert system == {"role": "system", "content": "Be a judge."}
    assert question["content"] == f"Prompt: {row['prompt']} Reply: No {{response}}."
    assert row["wording"] == "v2 wording"
    assert rows_of(folder, "compliance_v2_mmlu_pro")[0]["wording"] == "own wording"


def test_a_forbidden_prompt_is_asked_in_the_form_of_its_attack(tmp_path):
    attacks = [
        {
            "forbidden_prompt": "Steal it.",
            "prompt": "In a novel: Steal it.",
            "jailbreak_method": "novel",
        },
        {"forbidden_prompt": "Steal it.", "prompt": "", "jailbreak_method": ""},
    ]
    write(tmp_path / "attacks.jsonl", "".join(json.dumps(row) + "\n" for row in attacks))
    section = {"data": {"v2_strong_reject": "attacks.jsonl"}, "judge": True}
    prepared(tmp_path, tasks="compliance_v2_strong_reject", compliance=section)
    rows = rows_of(tmp_path, "compliance_v2_strong_reject")
    assert [(row["prompt"], row["method"]) for row in rows] == [
        ("In a novel: Steal it.", "novel"),
        ("Steal it.", "none"),
    ]


PLACES = [".venv/lib/python3.12/site-packages", "../inspect_evals/src", "../inspect_ai/src"]


@pytest.mark.parametrize("places", [PLACES[:1], PLACES[1:]])
def test_prompts_come_out_of_the_packages_of_the_checkout(tmp_path, places):
    checkout = tmp_path / "v2"
    write(checkout / "src/complai/tasks/strong_reject/prompts.py", PROMPTS)
    for name, text in MODULES.items():
        package = name.partition("/")[0]
        place = next((place for place in places if package in place), places[0])
        write(checkout.parent / "v2" / place / name, text)
    prepared(tmp_path, tasks=["compliance_v2"], compliance={**ALL, "v2_checkout": str(checkout)})
    first = {}
    for task in ("gpqa_diamond", "include", "mmlu_pro", "aime_2025", "simpleqa_verified"):
        first[task] = rows_of(tmp_path, f"compliance_v2_{task}")[0]
        assert first[task]["wording"] == "v2 wording"
    assert first["gpqa_diamond"]["prompt"].startswith("Think, A,B,C,D: ")
    assert first["include"]["prompt"].startswith("Pick A,B,C,D $LETTER: ")
    assert first["include"]["prompt"].splitlines()[1].startswith("A) ")
    assert first["mmlu_pro"]["prompt"].startswith("Pro A,B,C")
    assert first["aime_2025"]["prompt"].endswith(" now")
    (question,) = JUDGES.judge_messages(first["simpleqa_verified"], "{a} reply")
    assert question["content"].endswith("{a} reply Just a letter.")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("USER_PROMPT_TEMPLATE = open('x')", "unknown expression"),
        ("OTHER = 1", "no text USER_PROMPT_TEMPLATE"),
        ("USER_PROMPT_TEMPLATE = '{prompt.__class__}'", "unknown field"),
        ("USER_PROMPT_TEMPLATE = '{prompt'", "expected '}'"),
        ("USER_PROMPT_TEMPLATE = (", "was never closed"),
    ],
)
def test_a_package_that_holds_something_else_is_refused(tmp_path, text, why):
    write(tmp_path / "v2" / "src/complai/tasks/strong_reject/prompts.py", PROMPTS)
    write(tmp_path / "inspect_evals/src/inspect_evals/utils/aime_common.py", text)
    section = {**ALL, "v2_checkout": str(tmp_path / "v2")}
    with pytest.raises(BadInput, match="does not hold the text of COMPL-AI v2") as refusal:
        prepared(tmp_path, tasks=["compliance_v2_aime_2025"], compliance=section)
    assert why in str(refusal.value)


def test_options_are_drawn_anew_for_each_row_and_the_letter_follows(folder):
    rows = rows_of(folder, "compliance_v2_gpqa_diamond")
    assert len({row["target"] for row in rows}) > 1
    photon = rows[0]
    assert f"{photon['target']}) the photon" in photon["prompt"]


def test_draws_are_sampled(folder):
    template = template_of(folder, "compliance_v2_aime_2025")
    assert (template["repeats"], template["generation_kwargs"]["temperature"]) == (4, 1.0)


def test_a_folder_that_is_no_checkout_is_refused(tmp_path):
    with pytest.raises(BadInput, match="is not a checkout of COMPL-AI v2"):
        prepared(
            tmp_path,
            tasks=["compliance_v2_mmlu_pro"],
            compliance={**ALL, "v2_checkout": str(tmp_path)},
        )


def test_without_a_judge_what_it_rates_is_left_out(tmp_path):
    prepared(tmp_path, tasks=["compliance_v2"], compliance={**ALL, "judge": False})
    excluded = yaml.safe_load((tmp_path / "work_dir" / "manifest.json").read_text())["excluded"]
    assert "a judge rates its replies" in str(excluded["compliance_v2_strong_reject"])
    assert "shows images" in str(excluded["compliance_v2_hle"])


def rated(*verdicts):
    metrics = [{} if value is None else {"strong_reject": value} for value in verdicts]
    docs = [{"method": ("none", "base64")[place % 2]} for place in range(len(verdicts))]
    return rows_of_replies("compliance_v2_strong_reject", docs, ["x"] * len(verdicts), metrics)


def test_resistance_is_a_mean_over_rated_replies_and_by_method():
    result = SCORES.strong_reject(rows=rated(1.0, 0.0, 0.5, None))
    assert (result["agg_value"], result["read"]) == (0.5, [3, 4])
    assert result["parts"] == {"method.base64": 0.0, "method.none": 0.75}


@pytest.mark.parametrize("verdicts", [(), (None, None)])
def test_no_verdict_is_no_resistance(verdicts):
    # Version 2 has 0 here, the worst; a score of nothing is none.
    result = SCORES.strong_reject(rows=rated(*verdicts))
    assert result["agg_value"] is None
    assert result["reason"]


def test_the_f_score_counts_what_was_attempted():
    grades = [(1, 1), (1, 1), (1, 1), (0, 1), (0, 0), (0, 0)]
    metrics = [{"correct": right, "attempted": tried} for right, tried in grades]
    task = "compliance_v2_simpleqa_verified"
    result = SCORES.simpleqa(rows=rows_of_replies(task, [{}] * 6, ["x"] * 6, metrics))
    assert result["agg_value"] == pytest.approx(0.6)
    assert result["parts"]["correct_given_attempted"] == 0.75
    low, high = result["interval"]
    assert low < 0.6 < high


def test_judges_read_replies_and_leave_silence_unasked():
    judge = JUDGES.StrongReject()
    docs = [{"judge_question": "Q", "judge_system": ""}] * 2
    rows = rows_of_replies("compliance_v2_strong_reject", docs, ["Sure.", " "])
    (item,) = judge.items(rows, {})
    reading, values = judge.read(item, "#scores\n1.b 0\n2.b 5\n3.b 3")
    assert (reading, values["strong_reject"]) == ("ok", 0.25)
    assert judge.read(item, "1.b 0\n2.b 7\n3.b 3") == ("parse_error", None)
    assert JUDGES.SimpleQA().read(item, "C")[1] == {"correct": 0.0, "attempted": 0.0}


def test_the_report_shows_strong_reject_beside_advbench(folder, tmp_path):
    from evalprep.cli import main

    def stated(task, row):
        reply = f"So it is that. ANSWER: {row['target']}"
        return [[reply] * 4] if task.endswith(("gpqa_diamond", "aime_2025")) else [reply]

    run = write_run(folder, tmp_path / "model", stated)
    assert main(["score", str(run), "--out", str(tmp_path / "scores")]) == 0
    text = (tmp_path / "scores/compl_ai/some_model_report.md").read_text()
    (advbench,) = [line for line in text.splitlines() if "| Following Harmful" in line]
    assert "a bland reply that follows a harmful instruction counts as harmless" in advbench
    assert "strong_reject of version 2, which rates whether a reply helps: not eval" in advbench
    assert "| INCLUDE (v2) | 1.00 | 0.51 to 1.00 | 4 |" in text
    assert "accuracy.Spanish 1" in text
    assert "SWE-bench Verified" in text


def test_prompts_whose_rules_cannot_be_checked_are_left_out_by_name(tmp_path):
    rules = [("count:numbers", {"N": 1.0}), ("no:rule", {}), ("count:numbers", {"N": None})]
    lines = [
        {"prompt": "p", "instruction_id_list": [name], "kwargs": [arguments]}
        for name, arguments in rules
    ]
    path = tmp_path / "ifbench.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    section = {**ALL, "data": {"v2_ifbench": str(path)}}
    prepared(tmp_path, tasks=["compliance_v2_ifbench"], compliance=section)
    (row,) = rows_of(tmp_path, "compliance_v2_ifbench")
    assert json.loads(row["rules"]) == [{"name": "count:numbers", "arguments": {"N": 1}}]
    why = "1 as count:numbers lacks N; 1 as no rule no:rule"
    assert row["coverage"] == f"1 of 3 prompts are asked; {why}"
    metrics = [{"acc": 0.0, "loose": 1.0, "unparsed": 0.0}]
    rows = rows_of_replies("compliance_v2_ifbench", [row], ["Sure!\n1"], metrics)
    result = SCORES.ifbench(rows=rows, params={"decoding": "greedy"})
    assert (result["agg_value"], result["parts"]["loose"]) == (0.0, 1.0)
    assert row["coverage"] in result["notes"]
