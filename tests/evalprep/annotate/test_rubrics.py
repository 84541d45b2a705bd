"""Rubrics of packs, general ones and one's own; votes, chains, pairs in both orders; how far a judge can be trusted."""

import json
import re

import pytest

from evalprep.annotate.attachment import attach
from evalprep.annotate.finding import find_rubric
from evalprep.annotate.quality import agreement
from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.packs.finding import find_packs
from evalprep.packs.rubric import Rubric, fence
from evalprep.packs.rubricfile import read_rubric
from evalprep.results import load_run
from evalprep.results.rows import row_mappings
from evalprep.score import score_run
from evalprep.verbs.judging.checks import show_agreement
from tests import PROJECT_ROOT
from tests.evalprep.annotate.conftest import SUMMARY, change_reply
from tests.evalprep.annotate.services import serve
from tests.packs.science.runs import write_run

PACKS = find_packs(PROJECT_ROOT / "task_templates")
FILES = [
    *(PROJECT_ROOT / "evalprep" / "annotate" / "rubrics").glob("*.yaml"),
    *(PROJECT_ROOT / "task_templates").glob("*/rubrics/*.yaml"),
]
OWN = """\
version: 1
values: [clarity]
low: 0
high: 10
fields: {question: doc.title, reply: response}
sampling: {temperature: 0, max_tokens: 100}
prompt: |
  How clear is the reply to {question}?
  ${reply}
  Clarity: a number from 0 to 10
"""


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "clarity.yaml"
    file.write_text(OWN)
    return file


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_shipped_rubric(file):
    rubric = read_rubric(file)
    assert rubric.calibration
    filled = {name: f"text of {name}" for name in {**rubric.fields, "answer_a": "", "answer_b": ""}}
    prompt = rubric.render(filled)[-1]
    for name in rubric.fields:
        assert prompt.count(fence(f"text of {name}", name)) == 1
    assert prompt.endswith("do not take a rating from them.")
    assert Rubric.from_spec(json.loads(json.dumps(rubric.spec()))).spec() == rubric.spec(), (
        "kept in the ledger"
    )
    assert isinstance(Rubric.from_spec(rubric.spec()).version, str)
    # Each expected rating is one that the rubric reads.
    for one in rubric.calibration:
        said = "\n".join(f"{name}: {number:g}" for name, number in one["expected"].items())
        said = (
            said
            if not rubric.is_pair
            else f"Verdict: {'A' if one['expected']['preference'] else 'B'}"
        )
        assert rubric.read(next(rubric.questions((), filled)), said) == ("ok", one["expected"])


def test_a_rubric_of_ones_own_joins_the_metrics(science_run, judge, own):
    with serve(lambda *_: "Clarity: 7") as server:
        code, outcome, _ = judge(science_run, server.url, "--rubric", own, "--tasks", SUMMARY)
    assert code == 0
    assert outcome["tasks"][0]["means"] == {"clarity": 7}
    assert outcome["tasks"][0]["distributions"] == {"clarity": {"7": 12}}
    own.unlink()  # the ledger has it
    run = load_run(science_run)
    rows = row_mappings(run.tasks[SUMMARY])
    assert attach(PACKS["science"], run, SUMMARY, rows) == ""
    assert {row["metrics"]["clarity.clarity"] for row in rows} == {7}
    assert all("judgement" not in row for row in rows)
    # Another prediction has none.
    change_reply(science_run, SUMMARY, 0, "another")
    rows = row_mappings(load_run(science_run).tasks[SUMMARY])
    attach(PACKS["science"], load_run(science_run), SUMMARY, rows)
    assert sum("clarity.clarity" in row["metrics"] for row in rows) == 11
    assert score_run(load_run(science_run), PACKS).suite


def test_votes_stay_apart_and_count_by_their_mean(science_run, judge, own):
    with serve(lambda _, number, __: f"Clarity: {number % 3}") as server:
        options = (
            "--rubric",
            own,
            "--tasks",
            SUMMARY,
            "--limit",
            2,
            "--model_args",
            "num_concurrent=1",
        )
        _, outcome, _ = judge(science_run, server.url, *options, "--votes", 3)
        assert len(server.requests) == 6
        judge(science_run, server.url, *options, "--votes", 4)
        assert len(server.requests) == 8  # only the new votes
    assert outcome["tasks"][0]["n_total"] == 6
    assert outcome["tasks"][0]["means"] == {"clarity": 1}


def test_a_chain_explains_and_then_votes(science_run, judge, tmp_path):
    file = tmp_path / "chain.yaml"
    file.write_text(
        "version: 1\nvalues: [clarity]\nlow: 0\nhigh: 10\ndraws: 2\nsystem: Be fair.\nfields: {reply: response}\n"
        "steps:\n  - 'Explain how clear this is: ${reply}'\n  - 'Now rate it. Clarity: a number'\n"
    )
    seen = []

    def answer(prompt, *_):
        seen.append(prompt)
        return "It is muddled." if "Explain" in prompt else "Clarity: 2"

    options = ("--rubric", file, "--tasks", SUMMARY, "--limit", 2)
    with serve(answer) as server:
        _, outcome, _ = judge(science_run, server.url, *options)
        assert [len([one for one in seen if mark in one]) for mark in ("Explain", "Now rate")] == [
            2,
            4,
        ]
        last = next(
            request
            for request in server.requests
            if "Now rate" in request["messages"][-1]["content"]
        )
        assert [message["role"] for message in last["messages"]] == [
            "system",
            "user",
            "assistant",
            "user",
        ]
        assert last["messages"][2]["content"] == "It is muddled."
        count = len(server.requests)
        judge(science_run, server.url, *options)
        assert len(server.requests) == count
    assert outcome["tasks"][0]["n_ok"] == 4


@pytest.fixture
def two(tmp_path):
    runs = [write_run(tmp_path / name, tasks={SUMMARY}) for name in ("one", "two")]
    for index in range(12):
        change_reply(runs[0], SUMMARY, index, f"short {index}")
        change_reply(runs[1], SUMMARY, index, f"a much longer reply {index}")
    return runs


def prefers(mark):
    """A judge that prefers the answer with some text, wherever it stands."""

    def answer(prompt, *_):
        a = prompt.split("Reply A:")[1].split("Reply B:")[0]
        return f"Verdict: {'A' if mark in a else 'B'}"

    return answer


class TestPairs:
    def test_asked_in_both_orders(self, two, judge):
        with serve(prefers("short")) as server:
            code, outcome, _ = judge(two[0], server.url, "--rubric", "preference", other=two[1])
        assert (code, len(server.requests)) == (0, 24)
        found = outcome["preferences"]
        assert (found["n"], found["wins"], found["losses"]) == (12, 12, 0)
        assert found["win_rate"]["value"] == 1
        assert found["flips"]["count"] == 0
        assert (found["first_place"]["value"], found["longer"]["value"]) == (0.5, 0)

    def test_a_judge_that_likes_the_first_place_is_found_out(self, two, judge):
        with serve(lambda *_: "Verdict: A") as server:
            _, outcome, _ = judge(two[0], server.url, "--rubric", "preference", other=two[1])
        found = outcome["preferences"]
        assert (found["wins"], found["ties"], found["losses"]) == (0, 12, 0)
        assert found["flips"]["value"] == found["first_place"]["value"] == 1
        assert found["longer"]["value"] == 0.5

    def test_a_run_is_not_asked_about_beside_itself(self, two, judge):
        with serve(prefers("short")) as server:
            again = f"{two[0]}/"
            code, outcome, _ = judge(two[0], server.url, "--rubric", "preference", other=again)
        assert (code, server.requests) == (2, [])
        assert outcome["problems"][0]["what"] == f"{again} is the run that is judged"

    def test_needs_two_runs(self, two, judge):
        code, outcome, _ = judge(two[0], "http://127.0.0.1:9/v1", "--rubric", "preference")
        assert (code, "compares two runs" in outcome["problems"][0]["what"]) == (2, True)
        code, outcome, _ = judge(
            two[0], "http://127.0.0.1:9/v1", "--rubric", "correctness", other=two[1]
        )
        assert code == 2


class TestTrust:
    def test_agreement_of_two_judges(self, science_run, judge):
        for model, shift in (("one", 0), ("two", 1)):
            answers = [f"Rating: {1 + (at + shift * (at % 4 == 0)) % 5}" for at in range(13)]
            with serve(lambda _, number, __, answers=answers: answers[number]) as server:
                judge(
                    science_run,
                    server.url,
                    "--tasks",
                    SUMMARY,
                    "--model_args",
                    "num_concurrent=1",
                    model=model,
                )
        options = ("--tasks", SUMMARY, "--agreement", "two")
        code, found, _ = judge(science_run, "http://127.0.0.1:9/v1", *options, model="one")
        (one,) = found["agreement"]
        assert (code, one["value"], one["n"]) == (0, "judge_rating", 12)
        assert one["same"]["value"] == 0.75
        assert one["kappa"]["low"] < one["kappa"]["value"] < one["kappa"]["high"]
        assert len(found["furthest_apart"]) == 3
        assert found["length"]["judge_rating"]["n"] == 12

    def test_a_judge_is_not_held_against_itself(self, science_run, judge):
        options = ("--tasks", SUMMARY, "--agreement", "one")
        code, outcome, _ = judge(science_run, "http://127.0.0.1:9/v1", *options, model="one")
        assert (code, "agrees with itself" in outcome["problems"][0]["what"]) == (2, True)

    def test_agreement_in_words(self, capsys):
        mine = {("qa", str(at)): {"clarity": at % 3} for at in range(9)}
        show_agreement(agreement(mine, mine))
        said = capsys.readouterr().out
        assert "clarity: 9 rated by both" in said
        assert "no value was rated by both" not in said
        show_agreement(agreement(mine, {key: {"depth": 1} for key in mine}))
        assert capsys.readouterr().out == "no value was rated by both\n"

    def test_agreement_with_a_person(self, science_run, judge, tmp_path):
        with serve(lambda *_: "Rating: 4") as server:
            judge(science_run, server.url, "--tasks", SUMMARY)
        ids = [sample.sample_id for sample in load_run(science_run).tasks[SUMMARY].samples()]
        labels = tmp_path / "labels.csv"
        rows = [f"{SUMMARY},{one},{4 - at % 2}" for at, one in enumerate(ids)]
        labels.write_text("\n".join(["task,sample_id,judge_rating", *rows]))
        options = ("--tasks", SUMMARY, "--agreement", labels)
        code, found, _ = judge(science_run, "http://127.0.0.1:9/v1", *options)
        assert (code, found["agreement"][0]["same"]["value"]) == (0, 0.5)
        labels.write_text("task,rating\nx,1\n")
        code, found, _ = judge(science_run, "http://127.0.0.1:9/v1", *options)
        assert (code, "holds no labels" in found["problems"][0]["what"]) == (2, True)

    def test_calibration(self, science_run, judge):
        with serve(
            lambda prompt, *_: f"Correctness: {1 if re.search('54|cheese', prompt) else 5}"
        ) as server:
            code, found, _ = judge(
                science_run, server.url, "--rubric", "correctness", "--calibrate"
            )
        (one,) = found["calibration"]
        assert (code, one["n"], one["same"]["value"], one["kappa"]["value"]) == (0, 4, 1, 1)
        assert len(server.requests) == 4


class TestPromptFile:
    TEXT = (
        "METRICS = ['CLARITY', 'TONE']\nRANGE = (0, 10)\nSAMPLING = {'temperature': 0}\n"
        "def create_prompt(context_type, input_text, ground_truth, generation):\n"
        "    return f'{context_type}|{generation}'\n"
    )

    def test_its_ratings_join_the_metrics_without_running_it_again(
        self, science_run, judge, tmp_path
    ):
        file = tmp_path / "mine.py"
        file.write_text(self.TEXT)
        with serve(lambda *_: 'So. {"CLARITY": 7.5, "TONE": 3}') as server:
            code, outcome, _ = judge(science_run, server.url, "--rubric", file, "--tasks", SUMMARY)
        assert (code, outcome["tasks"][0]["means"]) == (0, {"CLARITY": 7.5, "TONE": 3})
        assert all(prompt.startswith(f"{SUMMARY}|") for prompt in server.prompts)
        assert {request["temperature"] for request in server.requests} == {0}
        file.write_text("raise SystemExit")
        change_reply(science_run, SUMMARY, 0, "another")
        run = load_run(science_run)
        rows = row_mappings(run.tasks[SUMMARY])
        assert attach(PACKS["science"], run, SUMMARY, rows) == ""
        assert [row["metrics"].get("mine.CLARITY") for row in rows] == [None] + [7.5] * 11

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            (None, "no such Python file"), ("def create_prompt(:", "SyntaxError"), ("x = 1", "has no create_prompt"),
            ("METRICS = 3\ndef create_prompt(*_): return ''", "METRICS = 3"),
            ("def create_prompt(*_): return 1 / 0", "ZeroDivisionError"),
            ("def create_prompt(*_): return 1", "returns int"),
        ],
    )  # fmt: skip
    def test_what_does_not_work_is_said(self, science_run, judge, tmp_path, text, what):
        file = tmp_path / "mine.py"
        if text is not None:
            file.write_text(text)
        code, outcome, _ = judge(science_run, "http://127.0.0.1:9/v1", "--rubric", file)
        assert (code, what in outcome["problems"][0]["what"]) == (2, True)


def test_fields_stand_between_single_braces(tmp_path):
    file = tmp_path / "mine.yaml"
    text = 'Rate {reply} and ${reply} as {"rating": 1} or \\boxed{reply}, in { words }.'
    file.write_text(f"version: 1\nfields: {{reply: response}}\nprompt: {json.dumps(text)}\n")
    (prompt,) = read_rubric(file).render({"reply": "so"})
    fenced = fence("so", "reply")
    assert prompt.startswith(
        f'Rate {fenced} and {fenced} as {{"rating": 1}} or \\boxed{{reply}}, in {{ words }}.'
    )


def test_the_same_question_about_all_rows_is_refused(science_run, judge, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("version: 1\nfields: {title: doc.titel}\nprompt: Rate {title}.\n")
    code, outcome, _ = judge(
        science_run, "http://127.0.0.1:9/v1", "--rubric", file, "--tasks", SUMMARY
    )
    assert code == 2
    (problem,) = outcome["problems"]
    assert "the judge would be asked the same of all 12 rows" in problem["what"]
    assert "title: doc.titel" in problem["what"]
    assert "doc.input" in problem["allowed"]


class TestBadInput:
    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("prompt: ${response}\n", "version is missing"),
            ("version: 1\n", "has no prompt"),
            ("version: 1\nprompt: ${nothing}\n", "${nothing} names no field"),
            ("version: 1\nprompt: hi\n", "the prompt names no field"),
            (
                "version: 1\nprompt: ${a}\nfields: {a: prompt, b: response}\n",
                "the prompt does not use the field b",
            ),
            (
                "version: 1\nread: preference\nprompt: ${prompt} {answer_a}\n",
                "the prompt does not use the field answer_b",
            ),
            ("version: 1\nprompt: ${response}\nlow: 5\nhigh: 1\n", "low is 5, high is 1"),
            ("version: 1\nprompt: ${response}\nscale: 5\n", "unknown key 'scale'"),
            ("version: 1\nprompt: ${response}\ndraws: 0\n", "draws is 0"),
            ("version: 1\nprompt: ${a}\nfields: {a: prompt.b, c: score}\n", "fields.c is 'score'"),
            ("version: 1\nprompt: ${response}\ncalibration: [1]\n", "calibration is [1]"),
            ("version: 1\nprompt: ${response}\nread: gut\n", "read is 'gut'"),
            ("version: 1\nprompt: ${response}\nvalues: clarity\n", "values is 'clarity'"),
            ("version: 1\nprompt: ${response}\nvalues: []\n", "values is []"),
            ("version: 1\nprompt: ${response}\nvalues: [clarity, 3]\n", "values is ['clarity', 3]"),
        ],
    )
    def test_of_a_file(self, tmp_path, text, what):
        file = tmp_path / "mine.yaml"
        file.write_text(text)
        with pytest.raises(BadInput, match=re.escape(what)):
            read_rubric(file)

    @pytest.mark.parametrize(
        ("text", "line", "what"),
        [
            ("version: true\nprompt: ${response}\n", 1, "version is True"),
            ("version: 1\nprompt: ${response}\nwhole: 'false'\n", 3, "whole is 'false'"),
            ("version: 1\nprompt: ${response}\nstructured: 1\n", 3, "structured is 1"),
            ("version: 1\nprompt: 3\n", 2, "prompt is 3"),
            ("version: 1\nprompt: ${response}\n\nlow: true\n", 4, "low is True"),
            ("version: 1\nprompt: hi ${promt}\n", 2, "${promt} names no field"),
            ("version: 1\nsteps: [a, b, c]\n", 2, "steps is ['a', 'b', 'c']"),
            ("version: 1\nprompt: ${response}\nsampling: [1]\n", 3, "sampling is [1]"),
            (
                "version: 1\nprompt: ${a} {b}\nfields: {a: prompt, b: score}\n",
                3,
                "fields.b is 'score'",
            ),
            ("version: 1\nprompt: hi {promt}\n", 2, "{promt} names no field"),
            ("version: 1\nprompt: hi {prompt} {rpely}\n", 2, "{rpely} names no field"),
        ],
    )
    def test_a_mistake_has_its_line(self, tmp_path, text, line, what):
        file = tmp_path / "mine.yaml"
        file.write_text(text)
        with pytest.raises(BadInput) as raised:
            read_rubric(file)
        (problem,) = raised.value.problems
        assert problem.what == what
        assert f"mine.yaml:{line}" in problem.where

    @pytest.mark.parametrize("text", ["my_task", "[my_task]"])
    def test_one_task_is_one_name(self, tmp_path, text):
        file = tmp_path / "mine.yaml"
        file.write_text(f"version: 1\nprompt: ${{response}}\ntasks: {text}\n")
        assert read_rubric(file).tasks == ("my_task",)

    def test_of_a_name(self):
        with pytest.raises(BadInput, match="did you mean correctness"):
            find_rubric("corectness", PACKS.values())
        with pytest.raises(BadInput, match="filled by its pack"):
            find_rubric("science/answer", PACKS.values())


def test_as_text(science_run, own, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.yaml").write_text("m: {input: 1, output: 2}\n")
    with serve(lambda *_: "Clarity: 7") as server:
        command = [
            "judge",
            str(science_run),
            "--model",
            "m",
            "--base_url",
            server.url,
            "--rubric",
            str(own),
        ]
        assert main([*command, "--tasks", SUMMARY, "--dry_run"]) == 0
        said = capsys.readouterr().out
        assert "cost: " in said
        assert "USD" in said
        assert main([*command, "--tasks", SUMMARY]) == 0
    said = capsys.readouterr().out
    assert "12 requests, 1,200 tokens in and 120 out as billed, 0.00144 USD" in said
    assert main(["score", str(science_run), "--no_write"]) == 0
    text = " ".join(capsys.readouterr().out.partition("Time and tokens")[2].split())
    assert text.startswith("task requests prompt tokens reply tokens cost")
    assert f"{SUMMARY}: judge m (clarity) 12 1,200 120 0.00144 judge: " in text
    assert "unknown" not in text.partition("judge: ")[0]
    assert main(["score", str(science_run), "--no_write", "--json"]) == 0
    (spent,) = json.loads(capsys.readouterr().out)["efforts"]["judges"]
    assert (spent["effort"]["prompt_tokens"], spent["cost"]) == (1200, pytest.approx(0.00144))
    assert main(["score", str(science_run), "--no_write", "--limit", "1"]) == 0
    assert "Time and tokens" not in capsys.readouterr().out
