"""A server that sends requests on to another one gets no further answer, and none of that one is scored."""

import asyncio
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evalprep.run.redirects import Redirected, stay_at_server

from .conftest import HANG
from .server import Completions, completions
from .test_server import against  # noqa: F401 - a fixture


class Handler(BaseHTTPRequestHandler):
    """Sends each request on, once; what comes then gets an answer."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        place = self.server.goal if self.path != "/again" else ""
        self.send_response(307 if place else 200)
        if place:
            self.send_header("location", place)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@contextmanager
def sending_to(goal):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.goal = goal
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/completions"
    server.shutdown()
    server.server_close()


@pytest.fixture
def interfaces(monkeypatch):
    """The module of lm-eval's interfaces to servers, which is as it was after the test."""
    from lm_eval.models import api_models

    for name in ("requests", "ClientSession"):
        monkeypatch.setattr(api_models, name, getattr(api_models, name))
    stay_at_server()
    return api_models


def post(interfaces, url, kind):
    async def posted():
        async with interfaces.ClientSession() as session, session.post(url, json={}) as response:
            return response.status

    if kind == "one at a time":
        return interfaces.requests.post(url, json={}, timeout=9).status_code
    return asyncio.run(posted())


@pytest.mark.parametrize("kind", ["one at a time", "several at a time"])
def test_another_server_is_refused_and_another_place_of_the_same_is_asked(interfaces, kind):
    other = Completions()
    refused = pytest.raises(Redirected, match="which is not followed")
    with completions(other) as goal, sending_to(goal) as url, refused:
        post(interfaces, url, kind)
    assert other.prompts == []
    with sending_to("/again") as url:
        assert post(interfaces, url, kind) == 200


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_run_ends_where_its_server_sends_it_elsewhere(against):  # noqa: F811
    other = Completions()
    with completions(other) as goal, sending_to(goal) as url:
        one = against(url)
        out, _ = one.start().communicate(timeout=HANG)
    assert "which is not followed" in out
    assert "model_args.base_url" in out
    assert other.prompts == []
    assert one.run.state().count("done") == 0
