"""A chat-completions endpoint on this machine, whose replies a test chooses."""

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Said:
    """One reply: a completion with this text, or, with a status or a body, something else."""

    text: str | None = None
    finish_reason: str = "stop"
    refusal: str | None = None
    status: int = 200
    code: str | None = None
    body: bytes | None = None
    headers: dict = field(default_factory=dict)
    hang_up: bool = False

    def payload(self, request):
        if self.body is not None:
            return self.body
        if self.status != 200:
            return json.dumps({"error": {"message": self.text or "no", "type": "x", "code": self.code}}).encode()
        message = {"role": "assistant", "content": self.text, "refusal": self.refusal}
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": request["model"], "choices": [choice]}
        return json.dumps(answer).encode()


@dataclass
class Chat:
    """A running endpoint: its address and what it was sent."""

    url: str
    requests: list = field(default_factory=list)
    authorizations: list = field(default_factory=list)

    @property
    def prompts(self):
        return [request["messages"][0]["content"] for request in self.requests]


@contextmanager
def chat(answer):
    """Serve `answer(prompt, number, authorization)`, a `Said` or a text, until the block ends."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                here.requests.append(request)
                here.authorizations.append(self.headers["Authorization"])
                number = len(here.requests)
            assert self.path == "/v1/chat/completions"
            said = answer(request["messages"][0]["content"], number, self.headers["Authorization"])
            said = Said(said) if isinstance(said, str) else said
            if said.hang_up:
                self.close_connection = True
                return
            content = said.payload(request)
            try:
                self.send_response(said.status)
                for name, value in {"Content-Type": "application/json", **said.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                pass  # the client has gone, as after a timeout or an interruption

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    here = Chat(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
