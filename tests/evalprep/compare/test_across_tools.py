"""A run of lm-eval held against logs of another tool on the same questions, through the command line."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalprep.cli import main
from evalprep.report.align import align
from evalprep.results import open_run
from evalprep.samples import UNKNOWN
from tests.evalprep.compare.small_runs import Task, write_small_run

CHOICES = ("red", "green", "blue", "white")


def question(at):
    return f"Which colour has thing {at} of the {at % 7}. box?"


def lm_eval_run(folder, scores, *, gold=lambda at: CHOICES[at % 4], doc=lambda _: {}, **task):
    """A run whose rows hold question, choices and an id of their own."""
    rows = Task(
        {"acc": scores},
        gold=gold,
        prompt=lambda at: f"Q: {question(at)}\nA:",
        doc=lambda at: (
            {"question": question(at), "choices": list(CHOICES), "sample_id": f"ours-{at}"}
            | doc(at)
        ),
        **task,
    )
    return write_small_run(folder, {"colours": rows})


def inspect_log(path, samples, *, task="colours", model="openai/other"):
    """A log of inspect_ai with one scorer, as inspect_ai 0.3 writes it, without what nobody reads."""
    log = {
        "version": 2,
        "status": "success",
        "eval": {
            "created": "2026-03-01T10:00:00+00:00",
            "task": task,
            "dataset": {"name": "colours", "samples": len(samples)},
            "model": model,
            "config": {},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": len(samples), "scores": []},
        "stats": {},
        "samples": samples,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(log), encoding="utf-8")
    return path


def sample(at, *, right=True, identity=None, **fields):
    """One sample of that log: letters for choices, positions for ids."""
    letter = "ABCD"[at % 4]
    return {
        "id": at + 1 if identity is None else identity,
        "epoch": 1,
        "input": question(at),
        "choices": list(CHOICES),
        "target": letter,
        "messages": [{"role": "user", "content": f"Answer the question.\n{question(at)}"}],
        "output": {"model": "other", "choices": [], "completion": f"ANSWER: {letter}"},
        "scores": {"choice": {"value": "C" if right else "I", "answer": letter}},
        "metadata": {},
    } | fields


@pytest.fixture
def run_verb(capsys):
    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out + err

    return run


@pytest.fixture
def compared(run_verb):
    def compare(*arguments):
        code, out = run_verb("compare", *arguments, "--json", "--no_write")
        return code, json.loads(out)

    return compare


@pytest.fixture
def ours(tmp_path):
    return lm_eval_run(tmp_path / "ours", [float(at % 3 > 0) for at in range(60)])


def test_the_same_questions_are_paired_whatever_their_order_ids_and_letters(
    tmp_path, ours, compared
):
    samples = [sample(at, right=at % 3 > 0) for at in range(60)]
    log = inspect_log(tmp_path / "logs/log.json", samples[::-1])
    code, data = compared(ours, log)
    (task,) = data["tasks"]
    pairing = task["pairing"]
    assert code == 0
    assert (task["n"], task["gained"], task["lost"]) == (60, 0, 0)
    assert (pairing["share"], pairing["levels"]) == (1.0, {"question+target": 60})
    assert pairing["tools"] == ["lm-eval", "inspect"]
    assert task["not_comparable"] == []


def test_what_is_paired_stands_in_compare_gate_and_report(tmp_path, ours, run_verb):
    samples = [sample(at, right=at % 3 > 0) for at in range(57)]
    samples[0] |= {"target": "D"}
    log = inspect_log(tmp_path / "logs/log.json", samples)
    policy = tmp_path / "policy.yaml"
    policy.write_text("defaults: {max_drop: 0.05, slack: 0.1}\n", encoding="utf-8")
    expected = r"56 of 57 of the smaller side are paired .*1 question has another gold answer"
    code, shown = run_verb("compare", ours, log, "--no_write")
    assert code == 0
    assert re.search(expected, " ".join(shown.split()))
    code, shown = run_verb("gate", ours, log, "--policy", policy)
    assert code == 0
    assert re.search(expected, " ".join(shown.split()))
    code, shown = run_verb(
        "report", ours, log, "--out", tmp_path / "report", "--format", "html,md,json"
    )
    assert code == 0
    for name in ("report.md", "report.json"):
        assert re.search(expected, (tmp_path / "report" / name).read_text(encoding="utf-8"))


def test_few_pairs_are_not_enough_evidence(tmp_path, ours, compared, run_verb):
    foreign = [sample(at, input=f"What is {at} plus {at}?", target="A") for at in range(6)]
    log = inspect_log(tmp_path / "logs/log.json", [*map(sample, range(44)), *foreign])
    code, data = compared(ours, log)
    (task,) = data["tasks"]
    assert (code, task["verdict"]) == (3, "not enough evidence")
    assert "44 of 50 rows of the smaller side are paired" in task["words"]
    assert len(task["pairing"]["examples"]["candidate only"]) == 10
    assert len(task["pairing"]["examples"]["baseline only"]) == 6
    code, data = compared(ours, log, "--pairing", "partial")
    assert (code, data["tasks"][0]["n"]) == (1, 44)
    _, shown = run_verb("compare", ours, log, "--pairing", "partial", "--no_write")
    assert "next: evalprep report" in shown
    assert "--pairing partial" in shown.partition("next: ")[2]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"input": "What is 7 plus 8?"}, "another task: "),
        ({"input": "Which colour has thing 99 of the box?"}, "another split of the data: "),
        ({"target": "nothing of that"}, "60 questions are equal with another gold answer"),
    ],
)
def test_no_pair_is_an_error_with_the_reason(tmp_path, ours, run_verb, fields, reason):
    log = inspect_log(tmp_path / "logs/log.json", [sample(at, **fields) for at in range(60)])
    code, shown = run_verb("compare", ours, log, "--no_write")
    assert code == 2
    assert reason in " ".join(shown.split())


def test_positions_pair_only_where_the_user_asks(tmp_path, ours, compared, run_verb):
    samples = [sample(at, input=f"Thing {at}?", identity=at) for at in range(60)]
    log = inspect_log(tmp_path / "logs/log.json", samples)
    for options in ((), ("--pairing", "same_ids")):
        code, _ = run_verb("compare", ours, log, "--no_write", *options)
        assert code == 2
    code, data = compared(ours, log, "--pairing", "position")
    assert data["tasks"][0]["pairing"]["levels"] == {"position": 60}
    assert "paired by their position" in data["warnings"][0]


def test_ids_of_one_data_set_pair_where_the_user_says_so(tmp_path, ours, compared):
    samples = [sample(at, input=f"Thing {at}?", identity=f"ours-{at}") for at in range(60)]
    log = inspect_log(tmp_path / "logs/log.json", samples[::-1])
    _, data = compared(ours, log, "--pairing", "same_ids")
    assert data["tasks"][0]["pairing"]["levels"] == {"id": 60}


def test_choices_are_compared_as_texts(tmp_path, ours, compared, run_verb):
    turned = [*CHOICES[1:], CHOICES[0]]
    samples = [sample(at) for at in range(60)]
    for at in range(30):
        samples[at] |= {"choices": turned, "target": "DABC"[at % 4]}
    for at in range(30, 36):
        samples[at] |= {"choices": [*CHOICES, "black"]}
    log = inspect_log(tmp_path / "logs/log.json", samples)
    _, data = compared(ours, log)
    pairing = data["tasks"][0]["pairing"]
    assert (pairing["paired"], pairing["permuted"], pairing["choices_differ"]) == (60, 30, 6)
    _, data = compared(ours, log, "--pairing", "same_choices")
    assert data["tasks"][0]["n"] == 54


def test_a_repeated_question_is_one_unit_or_ambiguous(tmp_path, compared):
    def twin(at):
        return {"question": question(at // 2), "sample_id": f"ours-{at}"}

    ours = lm_eval_run(tmp_path / "ours", [1.0] * 40, gold=lambda _: "red", doc=twin)
    twins = [sample(at // 2, target="A", identity=at) for at in range(40)]
    _, data = compared(ours, inspect_log(tmp_path / "a/log.json", twins))
    task = data["tasks"][0]
    assert (task["n"], task["clusters"]) == (40, 20)
    _, data = compared(ours, inspect_log(tmp_path / "b/log.json", twins[1:]))
    pairing = data["tasks"][0]["pairing"]
    assert (pairing["paired"], pairing["ambiguous"]) == (38, 3)


def test_another_name_of_the_only_task_is_said(tmp_path, ours, compared):
    log = inspect_log(tmp_path / "logs/log.json", list(map(sample, range(60))), task="paint")
    _, data = compared(ours, log)
    assert "task paint of the baseline is compared with colours" in data["notes"]
    assert (data["missing_tasks"], data["extra_tasks"]) == ([], [])


def test_the_chosen_task_is_compared_with_the_only_one_of_another_name(tmp_path, compared, capsys):
    def rows(name):
        return Task(
            {"acc": [1.0] * 60},
            gold=lambda at: CHOICES[at % 4],
            doc=lambda at: {"question": f"{name}: {question(at)}", "choices": list(CHOICES)},
        )

    ours = write_small_run(tmp_path / "ours", {"colours": rows(""), "shapes": rows("shape")})
    log = inspect_log(tmp_path / "logs/log.json", list(map(sample, range(60))), task="paint")
    _, data = compared(ours, log, "--tasks", "colours", "--pairing", "position")
    assert "task paint of the baseline is compared with colours" in data["notes"]
    assert [task["name"] for task in data["tasks"]] == ["colours"]
    assert main(["compare", str(ours), str(log), "--no_write"]) == 2
    printed = " ".join(capsys.readouterr().err.split())
    assert "if paint is one of the candidate's tasks under another name" in printed
    assert "--tasks NAME" in printed


def lighteval_details(folder, questions, golds):
    """Details of a multiple-choice task as lighteval 0.13 writes them: letters are scored."""
    letters = "ABCD"
    listed = "\n".join(f"{letter}. {text}" for letter, text in zip(letters, CHOICES, strict=True))
    records = [
        {
            "doc": {
                "query": f"Question: {text}\n{listed}\nAnswer:",
                "choices": [f" {letter}" for letter in letters],
                "gold_index": gold,
                "original_query": None,
                "id": str(number),
                "task_name": "colours|0",
            },
            "metric": {"acc": int(gold == 0)},
            "model_response": {"input": None, "text": [], "logprobs": [-1.0, -2.0, -3.0, -4.0]},
        }
        for number, (text, gold) in enumerate(zip(questions, golds, strict=True))
    ]
    folder.mkdir(parents=True)
    path = folder / "details_colours|0_2026-11-23T11-28-51.060815.parquet"
    pq.write_table(pa.Table.from_pylist(records), path)
    return path


def test_choices_scored_as_letters_are_read_from_the_question(tmp_path, ours, compared):
    order = sorted(range(60), key=lambda at: at * 7 % 60)
    path = lighteval_details(
        tmp_path / "details", [question(at) for at in order], [at % 4 for at in order]
    )
    _, data = compared(ours, path)
    pairing = data["tasks"][0]["pairing"]
    assert pairing["paired"] == 60
    assert pairing["levels"] == {"contained": 60}


def test_two_runs_of_lm_eval_with_other_ids_meet_by_question_and_gold_answer(tmp_path, compared):
    other = lm_eval_run(
        tmp_path / "other", [1.0] * 60, doc=lambda at: {"sample_id": f"theirs-{at}", "level": "new"}
    )
    home = lm_eval_run(tmp_path / "ours", [1.0] * 60)
    path = next(iter((tmp_path / "other/org__model").glob("samples_*")))
    text = path.read_text(encoding="utf-8").replace('"Q: ', '"Question: ')
    path.write_text(text, encoding="utf-8")
    _, data = compared(home, other)
    assert data["tasks"][0]["n"] == 60
    assert data["tasks"][0]["ways"] == {"question+target": 60}


def test_a_page_shows_both_replies_to_a_question_in_one_row(tmp_path, ours):
    samples = [sample(at) for at in range(59)]
    log = inspect_log(tmp_path / "logs/log.json", samples[::-1])
    rows = align("colours", [open_run(ours, ()), open_run(log, ())])
    assert len(rows.ids) == 60
    assert list(rows.replies[1].rows) == [*range(58, -1, -1), UNKNOWN]


def verdicts(path, model):
    """A table of verdicts and answers without prompts and replies; every fifth row is wrong."""
    wrong = [at % 5 == model for at in range(40)]
    rows = [
        f"{at},{'no' if wrong[at] else 'yes'},A,{'B' if wrong[at] else 'A'}" for at in range(40)
    ]
    path.write_text("id,right,gold,read\n" + "\n".join(rows), encoding="utf-8")
    return path


COLUMNS = ("--columns", "id=id,score=right,target=gold,answer=read")


def test_replies_that_were_not_logged_are_not_the_same(tmp_path, run_verb):
    files = [verdicts(tmp_path / f"m{model}.csv", model) for model in (0, 1)]
    _, out = run_verb("compare", *files, *COLUMNS, "--no_write")
    assert "table: 16 changed samples: answer differs (16)" in out
    assert "rows of table: 40 of 40 of the smaller side are paired" in " ".join(out.split())
    assert "same to the letter" not in out


def test_samples_without_a_logged_reply_are_shown_as_such(tmp_path, run_verb):
    files = [verdicts(tmp_path / f"m{model}.csv", model) for model in (0, 1)]
    pair = (files[0], "--baseline", files[1], *COLUMNS)
    _, out = run_verb("samples", *pair, "--lost", "-n", "1")
    assert "reply: not logged" in out
    assert "reply of the baseline" not in out
    page = tmp_path / "page"
    run_verb("report", *pair, "--out", page, "--format", "html,csv")
    assert "[]" not in (page / "samples.csv").read_text(encoding="utf-8")


def test_a_side_without_a_metric_is_named(tmp_path, run_verb):
    scored = inspect_log(tmp_path / "scored.json", [sample(at) for at in range(30)])
    unscored = inspect_log(tmp_path / "unscored.json", [sample(at, scores={}) for at in range(30)])
    _, out = run_verb("compare", unscored, scored, "--no_write")
    assert "the metrics differ: none, baseline choice" in out
