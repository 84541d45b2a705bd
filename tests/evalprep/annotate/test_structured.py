"""Replies held to a JSON schema where the service can, and otherwise asked for without one, which is said."""

import json

import pytest

from evalprep.annotate.ledger import Ledger
from evalprep.annotate.place import FILE
from evalprep.packs.rubric import Rubric
from evalprep.packs.rubricfile import read_rubric
from tests import PROJECT_ROOT
from tests.evalprep.annotate.conftest import SUMMARY, lines
from tests.evalprep.annotate.services import Said, has_schema, serve
from tests.packs.science.runs import write_run

BOTH = pytest.mark.parametrize("api", ["openai", "anthropic"])
DECLINED = [
    (
        400,
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    ),
    (400, "output_config: Extra inputs are not permitted"),
    (422, "[{'type': 'extra_forbidden', 'loc': ['body', 'response_format']}]"),
    (404, "No endpoints found that support the requested parameters: structured outputs"),
]
ONE = ("--tasks", SUMMARY, "--model_args", "num_concurrent=1")


def rated(*_):
    return json.dumps({"explanation": "Rating: 1 would be unfair.", "judge_rating": 4})


def chosen(folder):
    with Ledger(folder / FILE) as ledger:
        return {
            name: json.loads(one.sampling)
            for name, one in ledger.chosen(ledger.query("SELECT run FROM uses")[0][0]).items()
        }


@BOTH
def test_the_schema_of_the_rubric_is_sent(science_run, judge, api):
    with serve(rated) as server:
        code, outcome, _ = judge(science_run, server.url, "--api", api, *ONE)
        assert (code, outcome["json_schema"], outcome["tasks"][0]["n_ok"]) == (0, "sent", 12)
        sent = server.structured[0]
        form = (
            sent["response_format"]["json_schema"]
            if api == "openai"
            else sent["output_config"]["format"]
        )
        assert list(form["schema"]["properties"]) == ["explanation", "judge_rating"]
        assert form["schema"]["properties"]["judge_rating"]["enum"] == [1, 2, 3, 4, 5]
        assert "json_schema" not in sent
        count = len(server.requests)
        judge(science_run, server.url, "--api", api, *ONE)
        assert len(server.requests) == count == len(server.structured)


@BOTH
@pytest.mark.parametrize(
    ("status", "text"), DECLINED, ids=["openai", "anthropic", "fastapi", "router"]
)
def test_a_service_without_it_is_asked_without_it(science_run, judge, api, status, text):
    with serve(lambda *_: "Rating: 4") as server:
        server.declines = Said(text, status=status)
        code, outcome, _ = judge(science_run, server.url, "--api", api, *ONE)
        assert (code, outcome["tasks"][0]["n_ok"]) == (0, 12)
        assert text[:20] in outcome["json_schema"]
        # One request was declined, and each question was answered once.
        assert (len(server.structured), len(server.requests)) == (1, 13)
        # The ledger tells answers to the two ways of asking apart, and scores take these.
        assert all("json_schema" not in json.loads(line.sampling) for line in lines(science_run))
        assert chosen(science_run) == {"science_summary": {"json_schema": None}}
        # Nothing is asked again, neither with nor without.
        code, outcome, _ = judge(science_run, server.url, "--api", api, *ONE)
        assert (code, outcome["requests"], outcome["tasks"][0]["n_ok"]) == (0, 0, 12)
        assert len(server.requests) == 13


def test_with_many_on_their_way_nothing_is_answered_twice(science_run, judge):
    with serve(lambda *_: "Rating: 4") as server:
        server.declines = Said(DECLINED[0][1], status=400)
        code, outcome, _ = judge(
            science_run, server.url, "--tasks", SUMMARY, "--model_args", "num_concurrent=8"
        )
    assert (code, outcome["tasks"][0]["n_ok"]) == (0, 12)
    assert len(server.requests) - len(server.structured) == 12


def test_a_server_that_breaks_down_over_it_is_asked_without_it(science_run, judge):
    with serve(lambda *_: "Rating: 4") as server:
        server.declines = Said("", status=500)
        code, outcome, _ = judge(science_run, server.url, *ONE)
    assert (code, outcome["tasks"][0]["n_ok"], len(server.structured)) == (0, 12, 2)
    assert "HTTP 500" in outcome["json_schema"]


def test_a_server_that_breaks_down_over_everything_is_given_up(science_run, judge):
    with serve(lambda *_: Said("", status=500)) as server:
        code, outcome, error = judge(science_run, server.url, *ONE, "--model_args", "max_retries=1")
    assert code == 3
    assert "10 questions in a row" in outcome["stopped"]
    assert "HTTP 500" in error


def test_once_it_was_answered_another_way_of_asking_is_not_mixed_in(science_run, judge):
    with serve(rated) as server:
        judge(science_run, server.url, *ONE, "--limit", 3)
        server.declines = Said(DECLINED[0][1], status=400)
        _, outcome, _ = judge(science_run, server.url, *ONE)
    assert outcome["tasks"][0]["n_ok"] == 3
    assert len(server.requests) == len(server.structured)
    assert "takes no JSON schema" in next(iter(outcome["tasks"][0]["details"]))


def test_what_was_answered_without_a_schema_goes_on_without_it(science_run, judge):
    with serve(lambda *_: "Rating: 4") as server:
        judge(science_run, server.url, *ONE, "--limit", 3, "--structured", "off")
        _, outcome, _ = judge(science_run, server.url, *ONE)
    assert outcome["json_schema"] == "it has answered without one"
    assert outcome["tasks"][0]["n_ok"] == 12
    assert (len(server.requests), server.structured) == (12, [])


def test_what_is_answered_on_its_way_is_not_asked_for_twice(science_run, judge):
    """The first request is declined at once while the others, sent beside it, are answered later."""

    def answer(_, number, __):
        return Said(DECLINED[0][1], status=400) if number == 1 else Said(rated(), wait=0.3)

    with serve(answer) as server:
        code, outcome, _ = judge(
            science_run, server.url, "--tasks", SUMMARY, "--model_args", "num_concurrent=4"
        )
    assert (code, outcome["tasks"][0]["n_ok"], outcome["json_schema"]) == (0, 12, "sent")
    assert len(server.requests) == len(server.structured) == 13


def test_on_and_off(science_run, judge):
    with serve(lambda *_: "Rating: 4") as server:
        server.declines = Said(DECLINED[0][1], status=400)
        code, outcome, _ = judge(science_run, server.url, *ONE, "--structured", "on")
        assert (code, len(server.requests)) == (2, 1)
        assert "takes no JSON schema" in outcome["stopped"]
        code, outcome, _ = judge(science_run, server.url, *ONE, "--structured", "off")
        assert (code, outcome["json_schema"], len(server.requests)) == (0, "none", 13)
    assert len(server.structured) == 1


def test_ratings_alone(science_run, judge):
    options = (*ONE, "--structured", "ratings")
    with serve(lambda *_: '{"judge_rating": 3}') as server:
        _, outcome, _ = judge(science_run, server.url, *options)
        again = judge(science_run, server.url, *options)[1]
    assert (outcome["tasks"][0]["n_ok"], again["requests"]) == (12, 0)
    assert list(server.requests[0]["response_format"]["json_schema"]["schema"]["properties"]) == [
        "judge_rating"
    ]
    assert chosen(science_run) == {"science_summary": {"json_schema": "ratings"}}


def test_a_form_of_the_users_own_goes_first(science_run, judge):
    form = json.dumps({"response_format": {"type": "json_object"}})
    with serve(rated) as server:
        judge(science_run, server.url, *ONE, "--gen_kwargs", form)
    assert {request["response_format"]["type"] for request in server.requests} == {"json_object"}


@BOTH
def test_a_batch_goes_on_without_it(science_run, judge, api):
    options = ("--api", api, "--tasks", SUMMARY, "--batch")
    with serve(lambda *_: "Rating: 4") as server:
        server.declines = Said(DECLINED[0][1], status=400)
        judge(science_run, server.url, *options)
        server.state = "completed"
        judge(science_run, server.url, *options)
        judge(science_run, server.url, *options)
        judge(science_run, server.url, *options)
        code, outcome, _ = judge(science_run, server.url, "--api", api, "--tasks", SUMMARY)
    sent = [
        [has_schema(body) for _, body in batch["requests"]] for batch in server.batches.values()
    ]
    assert sent == [[True] * 12, [False] * 12]
    assert (code, outcome["requests"], outcome["tasks"][0]["n_ok"]) == (0, 0, 12)


def test_a_step_before_the_last_is_free_text(science_run, judge, tmp_path):
    file = tmp_path / "chain.yaml"
    file.write_text(
        "version: 1\nvalues: [clarity]\nlow: 0\nhigh: 10\nstructured: true\nfields: {reply: response}\n"
        "steps:\n  - 'Explain how clear this is: ${reply}'\n  - 'Now rate it. Clarity: a number'\n"
    )
    with serve(
        lambda prompt, *_: "Muddled." if "Explain" in prompt else '{"clarity": 2}'
    ) as server:
        _, outcome, _ = judge(science_run, server.url, "--rubric", file, *ONE, "--limit", 2)
        again = judge(science_run, server.url, "--rubric", file, *ONE, "--limit", 2)[1]
    assert outcome["tasks"][0]["n_ok"] == again["tasks"][0]["n_ok"] == 2
    assert again["requests"] == 0
    assert [has_schema(request) for request in server.requests] == [False, False, True, True]


def test_a_pair_is_asked_for_its_verdict(tmp_path, judge):
    runs = [write_run(tmp_path / name, tasks={SUMMARY}) for name in ("one", "two")]
    with serve(lambda *_: '{"explanation": "Both are alike.", "verdict": "tie"}') as server:
        code, outcome, _ = judge(runs[0], server.url, "--rubric", "preference", *ONE, other=runs[1])
    assert (code, outcome["preferences"]["ties"]) == (0, 12)
    shape = server.requests[0]["response_format"]["json_schema"]["schema"]["properties"]
    assert shape["verdict"]["enum"] == ["A", "B", "tie"]


def test_answers_to_rows_of_other_ids_are_held_against_each_other(tmp_path, judge):
    runs = [write_run(tmp_path / name, tasks={SUMMARY}) for name in ("one", "two")]
    (samples,) = runs[1].rglob("samples_*.jsonl")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    for row in rows:
        row["doc"]["sample_id"] = f"another {row['doc_id']}"
        row["doc_hash"] = "0" * 64
    samples.write_text("".join(f"{json.dumps(row)}\n" for row in reversed(rows)))
    with serve(lambda *_: '{"explanation": "Both are alike.", "verdict": "tie"}') as server:
        _, outcome, _ = judge(runs[0], server.url, "--rubric", "preference", *ONE, other=runs[1])
    assert outcome["preferences"]["ties"] == len(rows)


def test_scales():
    rubric = read_rubric(PROJECT_ROOT / "evalprep" / "annotate" / "rubrics" / "correctness.yaml")
    assert rubric.schema["properties"]["correctness"]["enum"] == [1, 2, 3, 4, 5]
    fine = Rubric("x", "1", (), {}, ("x",), 0, 1, whole=False, structured=True)
    assert fine.schema["properties"]["x"] == {"type": "number"}
    wide = Rubric("x", "1", (), {}, ("x",), 0, 1000, structured=True)
    assert wide.schema["properties"]["x"] == {"type": "integer"}


def test_parameters_that_a_model_does_without_end_the_call_with_what_to_say(science_run, judge):
    text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    with serve(lambda *_: Said(text, status=400, code="unsupported_parameter")) as server:
        code, outcome, _ = judge(science_run, server.url, *ONE)
    assert (code, len(server.requests)) == (2, 1)
    assert "--gen_kwargs max_tokens=null,max_completion_tokens=N" in outcome["stopped"]
