"""The likeliest first tokens of a reply over OpenAI's chat completions, and what calibration makes of them."""

import http.server
import json
import math
import threading
from typing import ClassVar

import pytest
from lm_eval.api.instance import Instance
from lm_eval.models.api_models import JsonChatStr
from lm_eval.models.dummy import DummyLM
from lm_eval.models.openai_completions import LocalChatCompletion

from custom_metrics.compliance.harness import calibrated_by_letters
from custom_metrics.first_token import tokens
from custom_metrics.first_token.task import REQUEST, first_token

TOP = [{"token": "B", "logprob": -0.25}, {"token": " A", "logprob": -0.1}]


class Service(http.server.BaseHTTPRequestHandler):
    """Fails once, then answers; without log-probabilities where the prompt asks for none."""

    bodies: ClassVar[list] = []

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.bodies.append(asked)
        has = asked["messages"][0]["content"] != "none"
        logprobs = {"content": [{"top_logprobs": TOP}]} if has else None
        said = {"choices": [{"index": 0, "message": {"content": "B"}, "logprobs": logprobs}]}
        body = json.dumps(said).encode()
        self.send_response(500 if len(self.bodies) == 1 else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def address():
    Service.bodies.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/chat/completions"
        server.shutdown()


def request(text):
    prompt = JsonChatStr(json.dumps([{"role": "user", "content": text}]))
    return Instance(REQUEST, {}, (prompt, {"until": [], "max_gen_toks": 5}), 0)


def test_a_service_is_asked_as_version_1_asks_it(address):
    lm = LocalChatCompletion(base_url=address, model="m", num_concurrent=2, max_retries=3)
    texts = ["which?", "none"]
    responses = first_token(lm, list(map(request, texts)), disable_tqdm=True)
    assert list(map(tokens, responses)) == [{"B": -0.25, " A": -0.1}, {}]
    body = next(body for body in Service.bodies if body["messages"][0]["content"] == "which?")
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 5)


def test_a_model_that_posts_nothing_knows_no_token():
    assert first_token(DummyLM(), [request("which?")]) == ["{}"]


@pytest.mark.parametrize(
    ("known", "confidence", "right"),
    [
        ({"A": -1.0, "B": -2.0}, 1 / (1 + math.exp(-1)), 0.0),
        ({"A": -3.0, "B": -2.0, "C": -0.1}, 1 / (1 + math.exp(-1)), 1.0),
        ({"B": -4.0}, 1 - 1e-6, 1.0),
        ({" A": -0.1, "No": -0.2}, 0.0, 0.0),
    ],
)
def test_calibration_by_letters(known, confidence, right):
    doc = {"choices": ["A, No", "B, Yes"], "target": 1}
    values = calibrated_by_letters(doc, [json.dumps(known)])
    assert values["confidence"] == pytest.approx(confidence)
    assert values["acc"] == right or not confidence
