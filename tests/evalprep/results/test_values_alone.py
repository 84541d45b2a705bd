"""Values that a script of a user kept of lm-eval, and values of groups without samples."""

import csv
import json

import pytest

from evalprep.cli import main
from evalprep.compare import compare_runs
from evalprep.readers import decode_run
from evalprep.results import load_run, narrowed
from evalprep.score import score_run

PIQA = {"alias": "piqa", "sample_len": 200, "acc,none": 0.6, "acc_stderr,none": 0.03}
ARC = {"alias": "arc", "exact_match,strict-match": 0.25, "exact_match_stderr,strict-match": 0.02}
HEADER = {"adapter": "lora", "limit": 200, "note": {"a": 1}}
NESTED = {
    "mmlu": {"alias": "mmlu", "acc,none": 0.6, "acc_stderr,none": 0.01},
    "mmlu_humanities": {"alias": " - humanities", "acc,none": 0.55, "acc_stderr,none": 0.02},
    "mmlu_law": {"alias": "  - law", "acc,none": 0.5, "acc_stderr,none": 0.02},
    "mmlu_art": {"alias": "  - art", "acc,none": 0.6, "acc_stderr,none": 0.02},
    "mmlu_stem": {"alias": " - stem", "acc,none": 0.65, "acc_stderr,none": 0.02},
    "piqa": PIQA,
}


def write(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"piqa": PIQA, "arc": ARC}, id="the values of each task alone"),
        pytest.param({"results": {"piqa": PIQA, "arc": ARC}}, id="under results"),
        pytest.param({**HEADER, "results": {"piqa": PIQA, "arc": ARC}}, id="beside other keys"),
    ],
)
@pytest.mark.parametrize("is_file_named", [True, False])
def test_values_that_a_script_kept_are_read(tmp_path, content, is_file_named):
    file = write(tmp_path / "lora" / "eval_results.json", content)
    run = load_run(file if is_file_named else file.parent)
    assert run.model == "lora"
    assert list(run.stored) == ["piqa", "arc"]
    metric = run.stored["arc"].metrics[0]
    assert (metric.metric, metric.filter) == ("exact_match", "strict-match")
    assert (metric.value, metric.stderr, metric.direction) == (0.25, 0.02, "up")
    assert run.stored["piqa"].logged.rows.effective == 200
    assert run.stored["arc"].logged.rows.effective is None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"piqa": PIQA, "settings": {"lr": 0.1}}, id="one entry without values"),
        pytest.param({"piqa": {"acc,none": "0.6"}}, id="a text for a number"),
        pytest.param({"piqa": {"acc": 0.6}}, id="no filter"),
        pytest.param({"results": {}}, id="nothing"),
    ],
)
def test_what_may_be_something_else_is_refused(tmp_path, capsys, content):
    file = write(tmp_path / "eval_results.json", content)
    assert main(["score", str(file)]) == 2
    assert "no results that evalprep reads" in capsys.readouterr().err


def test_a_file_with_a_name_of_its_own_names_the_run(tmp_path):
    assert load_run(write(tmp_path / "lora.json", {"piqa": PIQA})).model == "lora"


@pytest.mark.parametrize(("name", "end"), [("lora", "_lora"), ("eval", "_eval"), ("results", "")])
def test_files_written_about_a_run_have_the_name_of_its_results_file(tmp_path, name, end):
    files = load_run(write(tmp_path / f"{name}.json", {"piqa": PIQA})).files
    assert files.output_name == files.stamp + end


def test_files_written_about_a_run_of_several_results_files_have_its_time_stamp_alone(tmp_path):
    arguments = {"config": {"model": "hf", "model_args": "pretrained=org/m"}}
    for task in ("piqa", "arc"):
        write(tmp_path / f"{task}.json", {"results": {task: PIQA}, **arguments})
    run = load_run(tmp_path)
    assert set(run.stored) == {"piqa", "arc"}
    assert run.files.output_name == run.files.stamp


def test_groups_show_by_the_indent_of_their_members():
    run = decode_run(NESTED, "values.json")
    assert {name: group.members for name, group in run.groups.items()} == {
        "mmlu": ("mmlu_humanities", "mmlu_stem"),
        "mmlu_humanities": ("mmlu_law", "mmlu_art"),
    }
    assert list(run.tasks) == ["mmlu_law", "mmlu_art", "mmlu_stem", "piqa"]


def test_a_group_without_samples_has_the_score_that_is_stored_for_it(tmp_path):
    run = load_run(write(tmp_path / "values.json", NESTED))
    shown = {score.task: score.value for score in score_run(run).stored}
    assert list(shown)[:2] == ["mmlu", "mmlu_humanities"]
    assert (shown["mmlu"], shown["mmlu_law"]) == (0.6, 0.5)


def compared(tmp_path, content, other, **options):
    runs = [
        load_run(write(tmp_path / name / "values.json", side))
        for name, side in (("new", content), ("old", other))
    ]
    return {item.name: item for item in compare_runs(*runs, **options).stored}


def test_groups_without_samples_are_compared(tmp_path):
    worse = {**NESTED, "mmlu": {**NESTED["mmlu"], "acc,none": 0.5}}
    conclusions = compared(tmp_path, worse, NESTED)
    assert conclusions["mmlu: acc"].verdict.startswith("worse")
    assert not conclusions["mmlu: acc"].not_comparable
    part = compared(tmp_path, worse, NESTED, tasks=["mmlu_humanities"])
    assert list(part) == ["mmlu_humanities: acc", "mmlu_law: acc", "mmlu_art: acc"]


def test_files_about_scores_without_samples_count_no_pairs(tmp_path):
    runs = [str(write(tmp_path / f"{name}.json", {"piqa": PIQA})) for name in ("new", "old")]
    page = tmp_path / "page"
    assert main(["report", *runs, "--out", str(page), "--format", "csv,md"]) == 0
    with (page / "comparisons.csv").open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    assert (line["name"], line["n"], line["gained"], line["lost"]) == ("piqa: acc", "", "", "")
    assert "| piqa: acc | - |" in (page / "report.md").read_text(encoding="utf-8")
    assert main(["export", runs[0], "--baseline", runs[1], "--to", "github"]) == 0
    (summary,) = tmp_path.rglob("summary.md")
    assert "| piqa: acc | - |" in summary.read_text(encoding="utf-8")


def test_a_group_of_other_tasks_is_not_comparable(tmp_path):
    other = {name: entry for name, entry in NESTED.items() if name != "mmlu_art"}
    conclusions = compared(tmp_path, NESTED, other)
    reason = "the group has other tasks: only the candidate's has mmlu_art"
    assert conclusions["mmlu: acc"].not_comparable == [reason]
    assert not conclusions["mmlu_law: acc"].not_comparable


@pytest.mark.parametrize(
    ("names", "groups", "tasks"),
    [
        (["piqa"], [], ["piqa"]),
        (["mmlu_humanities"], ["mmlu_humanities"], ["mmlu_law", "mmlu_art"]),
        (["mmlu_law", "mmlu_art"], ["mmlu_humanities"], ["mmlu_law", "mmlu_art"]),
        (["mmlu"], ["mmlu", "mmlu_humanities"], ["mmlu_law", "mmlu_art", "mmlu_stem"]),
        (["mmlu_law"], [], ["mmlu_law"]),
    ],
)
def test_a_part_of_a_run_has_the_groups_that_are_whole_in_it(tmp_path, names, groups, tasks):
    run = load_run(write(tmp_path / "values.json", NESTED))
    part = narrowed(run, names, None)
    assert list(part.stored_groups) == groups
    assert list(part.stored) == tasks


def test_a_policy_may_name_a_group_without_samples(tmp_path, capsys):
    worse = {**NESTED, "mmlu": {**NESTED["mmlu"], "acc,none": 0.5}}
    places = [
        str(write(tmp_path / name / "values.json", side))
        for name, side in (("new", worse), ("old", NESTED))
    ]
    policy = tmp_path / "policy.yaml"
    policy.write_text("tasks: {mmlu: {max_drop: 0.02}}\n", encoding="utf-8")
    assert main(["gate", *places, "--policy", str(policy), "--json"]) == 1
    (check,) = json.loads(capsys.readouterr().out)["checks"]
    assert (check["name"], check["status"]) == ("mmlu", "fail")


def broken_off(file):
    """A file at whose end `json.dump` met a data type of torch."""
    whole = json.dumps({"results": {"piqa": PIQA}, "config": {"model": "hf", "model_dtype": 1}})
    file.write_text(whole.removesuffix("1}}"), encoding="utf-8")
    return file


@pytest.mark.parametrize("is_file_named", [True, False])
def test_a_file_that_breaks_off_is_named_with_what_to_do(tmp_path, capsys, is_file_named):
    file = broken_off(tmp_path / "mine.json")
    assert main(["score", str(file if is_file_named else tmp_path)]) == 2
    message = capsys.readouterr().err
    assert f"{file}: " in message
    assert "damaged" in message
    assert "json.dump(..., default=str)" in message


def test_a_file_that_breaks_off_beside_whole_ones_is_noted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = {"config": {"model": "hf", "model_args": "pretrained=org/m"}}
    for task in ("piqa", "arc"):
        write(tmp_path / f"{task}.json", {"results": {task: PIQA}, **arguments})
    broken_off(tmp_path / "boolq.json")
    assert main(["score", ".", "--no_write"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "boolq.json is damaged (Expecting value" in shown
    assert "piqa acc ↑" in shown


PROGRAMS = {
    "humaneval": {"pass@1": 0.32, "pass@10": 0.39},
    "parity": {"1 bugs": {"pass@1": 0.5}, "2 bugs": {"pass@1": 0.25}},
    "conala": {"bleu": 0.3, "brevity_penalty": 0.9, "precisions": [0.1], "translation_length": 50},
    "mercury": {"Easy_pass@1": 0.6, "Easy": {"passed": 267, "failed@load": 104}},
    "studenteval": [{"group": "First", "pass1": 0.5}],
    "config": {
        "model": "org/coder",
        "temperature": 0.2,
        "n_samples": 20,
        "limit": None,
        "seed": 0,
        "use_auth_token": "hf_hidden",
        "precision": "bf16",
        "max_length_generation": 512,
    },
}


@pytest.mark.parametrize("is_file_named", [True, False])
def test_results_of_bigcode_are_stored_scores(tmp_path, is_file_named):
    file = write(tmp_path / "coder" / "evaluation_results.json", PROGRAMS)
    run = load_run(file if is_file_named else file.parent)
    assert list(run.stored) == [
        *("humaneval", "parity_1 bugs", "parity_2 bugs", "conala", "mercury")
    ]
    one, ten = run.stored["humaneval"].metrics
    assert (one.metric, one.value, one.stderr, one.direction) == ("pass@1", 0.32, None, "up")
    assert ten.metric == "pass@10"
    assert run.stored["humaneval"].logged.rows.effective is None
    (bleu,) = run.stored["conala"].metrics
    assert (bleu.metric, bleu.value, bleu.unit) == ("bleu", 0.3, "share")
    (easy,) = run.stored["mercury"].metrics
    assert (easy.metric, easy.direction) == ("Easy_pass@1", "up")
    assert run.settings.arguments["pretrained"] == "org/coder"
    assert run.settings.generation["n_samples"] == 20
    assert "hf_hidden" not in json.dumps(run.settings.as_logged)
    said = any("results files of bigcode hold scores alone" in note for note in run.notes)
    assert said is not is_file_named


SQUAD = {"exact": 30.0, "f1": 40.0, "HasAns_exact": 20.0, "best_f1": 50.07}


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param({"versions": {"squad2": 1}}, id="the versions of its tasks"),
        pytest.param({"config": {"model": "gpt2", "num_fewshot": 0}}, id="the arguments of a call"),
    ],
)
def test_scores_of_lm_eval_0_3_without_standard_errors_are_read(tmp_path, beside):
    file = write(tmp_path / "gpt2" / "squad.json", {"results": {"squad2": SQUAD}, **beside})
    run = load_run(file.parent)
    exact = run.stored["squad2"].metrics[0]
    assert (exact.metric, exact.value, exact.stderr, exact.unit) == ("exact", 30.0, None, "percent")
    assert run.stored["squad2"].logged.rows.effective is None


@pytest.mark.parametrize(
    "content",
    [
        {"results": {"squad2": SQUAD}},
        {"results": {"squad2": SQUAD}, "config": {"theme": "dark"}},
        {"humaneval": {"accuracy": 0.5}, "config": {"theme": "dark"}},
    ],
)
def test_scores_of_nobody_known_are_no_stored_scores(tmp_path, content):
    file = write(tmp_path / "eval_results.json", content)
    assert main(["score", str(file)]) == 2
