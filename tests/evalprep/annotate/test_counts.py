"""What judging is counted by, bodies that arrive damaged, and lines that are too long."""

import gzip
import io
import json
from dataclasses import replace

import pytest

from evalprep.annotate.answers import Who, questions_of
from evalprep.annotate.collection import chosen_tasks
from evalprep.annotate.ledger import Ledger
from evalprep.annotate.place import FILE
from evalprep.annotate.prices import Budget, Price
from evalprep.annotate.providers.batches import BATCHES, read_lines
from evalprep.annotate.providers.body import BODY_LIMIT
from evalprep.annotate.tallies import tally
from evalprep.packs.finding import find_packs
from evalprep.results import load_run
from tests import PROJECT_ROOT
from tests.evalprep.annotate.plain import Plain, questions, rows
from tests.evalprep.annotate.services import Said, openai_reply, serve
from tests.evalprep.annotate.test_asking import ask
from tests.evalprep.results.writing import Row, write_run

NOW = {"Retry-After": "0"}


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("evalprep.annotate.asking.FIRST_WAIT", 0.01)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / FILE, write=True) as opened:
        yield opened


class Spared(Plain):
    """Asks about no reply to the first question, which has its rating anyway."""

    def items(self, rows, metadata):
        first, *others = super().items(rows, metadata)
        yield replace(first, fixed={"rating": 2})
        yield from others


def test_ratings_without_a_request_are_told_apart(ledger):
    annotator = Spared()
    asked = questions_of(annotator, annotator.items(rows(4), {}), Who("m", {}), ledger.attempts)
    with serve(lambda prompt, *_: "none" if "answer 3" in str(prompt) else "Rating: 4") as server:
        ask(ledger, server.url, [one for one in asked if one.item.fixed is None], retries=0)
    counted = tally("quiz", asked)
    assert (counted.n_total, counted.n_ok, counted.n_fixed) == (4, 3, 1)
    assert counted.means == {"rating": pytest.approx(10 / 3)}
    assert counted.distributions == {"rating": {"2": 1, "4": 2}}
    assert counted.reasons == {"parse_error": 1}


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        (lambda body: body[:20] + b"\xff" * 8 + body[28:], "damaged"),
        (lambda body: body[:-12], "cut"),
    ],
    ids=["damaged", "cut"],
)
def test_a_spoilt_body_is_asked_for_again(ledger, spoilt, reason):
    packed = gzip.compress(
        json.dumps(
            openai_reply(
                Said("Rating: 5" + " " * 2_000), {"model": "m", "path": "", "messages": []}
            )
        ).encode()
    )
    headers = {"Content-Encoding": "gzip", **NOW}
    bodies = [Said(body=spoilt(packed), headers=headers), Said(body=packed, headers=headers)]
    asked = questions(ledger, 1)
    with serve(lambda *_: bodies.pop(0) if len(bodies) > 1 else bodies[0]) as server:
        budget = Budget(None, Price(input=1.0, output=10.0))
        told = ask(ledger, server.url, asked, retries=2, budget=budget)
        assert len(server.requests) == 2
    assert budget.spent > told.cost > 0, "the service may bill the spoilt answer too"
    assert asked[0].judgement().values == {"rating": 5}
    first, *_ = asked[0].attempts
    assert reason in (first.reason or "")


def test_a_line_that_is_too_long_costs_that_line_alone():
    long = b'{"x": "' + b"a" * (2 * BODY_LIMIT + 7) + b'"}\n'
    lines = [b'{"a": 1}\n', long, b"\n", b"no json\n", b'{"b": 2}']
    assert list(read_lines(io.BytesIO(b"".join(lines)))) == [{"a": 1}, None, None, {"b": 2}]


@pytest.mark.parametrize(
    ("api", "requests", "size"),
    [("openai", 50_000, 200_000_000), ("anthropic", 100_000, 256_000_000)],
)
def test_a_batch_stays_below_what_the_provider_takes(api, requests, size):
    """As their documentation said in 2026; a batch beyond it is refused as a whole."""
    assert 0 < BATCHES[api].most <= requests
    assert 2**24 < BATCHES[api].largest <= size


def test_tasks_are_chosen_by_their_short_names_too(tmp_path):
    packs = find_packs(PROJECT_ROOT / "task_templates")
    name, alias = next(
        (task.name, task.aliases[0]) for task in packs["science"].tasks.values() if task.aliases
    )
    run = load_run(write_run(tmp_path, {name: [Row("1")], "other": [Row("1")]}))
    assert chosen_tasks(run, packs, [alias]) == [name]
    assert chosen_tasks(run, packs, None) == [name, "other"]
