"""A service on this machine that speaks both wire formats, and misbehaves as a test tells it to."""

import json
import re
import threading
import time
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what Anthropic takes


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
    cut: bool = False  # the body ends before its announced length
    drip: float = 0.0  # seconds between bytes
    endless: int = 0  # bytes of blanks after the body
    usage: bool = True
    wait: float = 0.0

    def payload(self, request):
        if self.body is not None:
            return self.body
        if self.status != 200:
            return json.dumps(
                {"error": {"message": self.text or "no", "type": "x", "code": self.code}}
            ).encode()
        return json.dumps(
            openai_reply(self, request) if "/chat" in request["path"] else anthropic_reply(self)
        ).encode()


def openai_reply(said, request):
    message = {"role": "assistant", "content": said.text, "refusal": said.refusal}
    choice = {"index": 0, "message": message, "finish_reason": said.finish_reason}
    answer = {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [choice],
    }
    return answer | (
        {"usage": {"prompt_tokens": 100, "completion_tokens": 10}} if said.usage else {}
    )


def anthropic_reply(said):
    ended = {"stop": "end_turn", "length": "max_tokens"}.get(said.finish_reason, said.finish_reason)
    content = [] if said.text is None else [{"type": "text", "text": said.text}]
    usage = {"usage": {"input_tokens": 100, "output_tokens": 10}} if said.usage else {}
    stop = "refusal" if said.refusal else ended
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": stop,
        **usage,
    }


@dataclass
class Service:
    """A running service: its address, what it was sent, and its batches."""

    url: str
    requests: list = field(default_factory=list)
    headers: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    batches: dict = field(default_factory=dict)
    fails: dict = field(default_factory=dict)  # path -> `Said`s that come first
    calls: list = field(default_factory=list)
    state: str = "in_progress"  # of batches
    results: dict = field(default_factory=dict)  # batch id -> lines, or what comes of `answer`
    declines: Said | None = None  # said to a request with a JSON schema

    @property
    def structured(self):
        """The requests with a JSON schema."""
        return [request for request in self.requests if has_schema(request)]

    @property
    def prompts(self):
        return [request["messages"][-1]["content"] for request in self.requests]

    @property
    def authorizations(self):
        return [header["Authorization"] for header in self.headers]


def has_schema(request):
    return "response_format" in request or "output_config" in request


@contextmanager
def serve(answer):
    """Serve `answer(prompt, number, authorization)`, a `Said` or a text, until the block ends."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            with lock:
                here.calls.append(f"POST {self.path}")
            if self.planned():
                return
            if self.path in {"/v1/chat/completions", "/v1/messages"}:
                self.complete(json.loads(raw))
            elif self.path == "/v1/files":
                boundary = self.headers["Content-Type"].split("boundary=")[1].encode()
                content = (
                    raw.split(b"--" + boundary)[-2].split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
                )
                with lock:
                    identity = f"file-{len(here.files)}"
                    here.files[identity] = content
                self.give({"id": identity})
            elif self.path == "/v1/batches":
                sent = json.loads(raw)
                lines = [
                    json.loads(line) for line in here.files[sent["input_file_id"]].splitlines()
                ]
                requests = [
                    (line["custom_id"], line["body"] | {"path": line["url"]}) for line in lines
                ]
                self.give({"id": self.new_batch(requests, sent.get("metadata"))})
            elif self.path == "/v1/messages/batches":
                sent = [
                    (request["custom_id"], request["params"] | {"path": "/v1/messages"})
                    for request in json.loads(raw)["requests"]
                ]
                if all(_CUSTOM_ID.fullmatch(name) for name, _ in sent) and len(dict(sent)) == len(
                    sent
                ):
                    self.give({"id": self.new_batch(sent, None)})
                else:
                    self.send(Said("custom_id: String should match pattern", status=400), {})
            elif self.path.endswith("/cancel"):
                here.state = "cancelled"
                self.give({})
            else:
                self.send(Said("nothing here", status=404), {})

        def do_GET(self):
            with lock:
                here.calls.append(f"GET {self.path}")
            if self.planned():
                return
            path = self.path.split("?")[0]
            if path in {"/v1/batches", "/v1/messages/batches"}:
                self.give({"data": [self.described(batch) for batch in here.batches]})
            elif path.endswith(("/content", "/results")):
                self.raw(self.lines(path.split("/")[-2]))
            else:
                self.give(self.described(path.split("/")[-1]))

        def planned(self):
            waiting = here.fails.get(self.path.split("?")[0])
            if not waiting:
                return False
            said = waiting.pop(0)
            if said is None:
                return False
            self.send(said, {"path": self.path, "model": "m"})
            return True

        def new_batch(self, requests, metadata):
            with lock:
                identity = f"batch_{len(here.batches)}"
                here.batches[identity] = {"requests": requests, "metadata": metadata}
            return identity

        def described(self, identity):
            batch = here.batches[identity]
            count = len(batch["requests"])
            if "messages" in self.path:
                done = here.state != "in_progress"
                names = (
                    ("succeeded" if here.state == "completed" else "expired")
                    if done
                    else "processing"
                )
                status = "ended" if done else "in_progress"
                created = {"created_at": "9999-01-01T00:00:00Z"}
                return {
                    "id": identity,
                    "processing_status": status,
                    "request_counts": {names: count},
                    **created,
                }
            files = (
                {"output_file_id": identity}
                if here.state in {"completed", "expired", "cancelled"}
                else {}
            )
            counts = {"total": count}
            errors = (
                {"errors": {"data": [{"message": "too many tokens queued"}]}}
                if here.state == "failed"
                else {}
            )
            said = {
                "id": identity,
                "status": here.state,
                "request_counts": counts,
                "metadata": batch["metadata"],
            }
            return {**said, **files, **errors}

        def lines(self, identity):
            if identity in here.results:
                return here.results[identity]
            lines = []
            for number, (key, body) in enumerate(here.batches[identity]["requests"], 1):
                said = answer(body["messages"][-1]["content"], number, None)
                said = here.declines if here.declines and has_schema(body) else said
                said = Said(said) if isinstance(said, str) else said
                lines.append(self.line(key, said, body))
            return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

        def line(self, key, said, body):
            if "messages" in body["path"]:
                if said.status != 200:
                    return {
                        "custom_id": key,
                        "result": {"type": "errored", "error": {"message": said.text}},
                    }
                return {
                    "custom_id": key,
                    "result": {"type": "succeeded", "message": anthropic_reply(said)},
                }
            inner = (
                openai_reply(said, body)
                if said.status == 200
                else {"error": {"message": said.text}}
            )
            return {
                "custom_id": key,
                "response": {"status_code": said.status, "body": inner},
                "error": None,
            }

        def complete(self, request):
            with lock:
                here.requests.append(request)
                here.headers.append(dict(self.headers))
                number = len(here.requests)
            key = self.headers["Authorization"] or self.headers["x-api-key"]
            declined = here.declines is not None and has_schema(request)
            said = (
                here.declines
                if declined
                else answer(request["messages"][-1]["content"], number, key)
            )
            self.send(Said(said) if isinstance(said, str) else said, {**request, "path": self.path})

        def give(self, data):
            self.raw(json.dumps(data).encode())

        def raw(self, content):
            self.send(Said(body=content), {})

        def send(self, said, request):
            if said.wait:
                time.sleep(said.wait)
            if said.hang_up:
                self.close_connection = True
                return
            content = said.payload(request)
            try:
                self.send_response(said.status)
                for name, value in {"Content-Type": "application/json", **said.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content) + said.endless + 10 * said.cut))
                self.end_headers()
                if said.drip:
                    for byte in content:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        time.sleep(said.drip)
                else:
                    self.wfile.write(content)
                blanks = b" " * 2**20
                for _ in range(said.endless // len(blanks)):
                    self.wfile.write(blanks)
                self.wfile.write(b" " * (said.endless % len(blanks)))
                self.close_connection = self.close_connection or said.cut
            except OSError:
                self.close_connection = (
                    True  # the client has gone, as after a timeout or an interruption
                )

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_):
            pass  # connections that clients drop

    server = Server(("127.0.0.1", 0), Handler)
    here = Service(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()


def bomb(size):
    """A reply of `size` blanks, packed a thousand times smaller."""
    packer = zlib.compressobj(1, wbits=31)
    packed = b"".join(packer.compress(b" " * 2**20) for _ in range(size // 2**20)) + packer.flush()
    return Said(body=packed, headers={"Content-Encoding": "gzip"})
