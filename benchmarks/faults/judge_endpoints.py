"""Judges that answer badly.

`evalprep judge` ends in time, with its exit code, without a traceback and without the key.

python -m benchmarks.faults.judge_endpoints [--share 0.1] [--seed 0]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from benchmarks.faults import Row, chosen, main, timed
from evalprep.annotate.place import FILE
from tests import PROJECT_ROOT
from tests.evalprep.annotate.services import Said, serve
from tests.packs.science.runs import write_run

TASK = "qasper_abstractive_qa"
KEY = "sk-endpoint-0123456789abcdefghijkl"
SECONDS = 60.0
_CODES = {0, 2, 3}


def chat(**message: object) -> bytes:
    """A completion with an odd message."""
    return body(
        [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}]
    )


def body(choices: object, **more: object) -> bytes:
    """A completion with odd choices, or with odd facts beside them."""
    return json.dumps({"id": "chat-1", "choices": choices, **more}).encode()


def rated(**more: object) -> bytes:
    """A good completion with odd facts beside it."""
    message = {"role": "assistant", "content": "Rating: 3"}
    return body([{"index": 0, "message": message, "finish_reason": "stop"}], **more)


_STATUSES = (
    400,
    401,
    402,
    403,
    404,
    405,
    408,
    409,
    413,
    422,
    429,
    451,
    500,
    502,
    503,
    504,
    529,
    599,
)
_GZIP = zlib.compressobj(9, zlib.DEFLATED, 31)
_BOMB = _GZIP.compress(bytes(200 << 20)) + _GZIP.flush()

#: Name -> what the service answers.
ENDPOINTS: dict[str, Said] = {
    **{f"status {status}": Said("no", status=status) for status in _STATUSES},
    "redirected to another host": Said(status=302, headers={"Location": "http://192.0.2.1/v1"}),
    "redirected in a circle": Said(status=307, headers={"Location": "/v1/chat/completions"}),
    "redirected to a file": Said(status=308, headers={"Location": "file:///etc/passwd"}),
    "empty": Said(body=b""),
    "cut JSON": Said(body=b'{"choices": ['),
    "null": Said(body=b"null"),
    "a list": Said(body=b"[]"),
    "bytes that are no text": Said(body=b"\xff\xfe\x00"),
    "HTML": Said(body=b"<html>login</html>"),
    "deep nesting": Said(body=b"[" * 100_000),
    "no choices": Said(body=body([])),
    "choices are a number": Said(body=body(7)),
    "choices are null": Said(body=body(None)),
    "a choice is a text": Said(body=body(["x"])),
    "content is a number": Said(body=chat(content=5)),
    "content is a list": Said(body=chat(content=[{"type": "text", "text": "Rating: 3"}])),
    "content is missing": Said(body=chat()),
    "content is empty": Said(body=chat(content="")),
    "content of 5 MB": Said("x" * (5 << 20)),
    "content of control characters": Said("\x1b[2J\x07\x00 Rating: 3"),
    "content repeats the key": Said(f"your key is {KEY}. Rating: 3"),
    "an error repeats the key": Said(f"wrong key {KEY}", status=400),
    "half characters": Said(body=chat(content="\ud800 Rating: 3")),
    "negative usage": Said(body=rated(usage={"prompt_tokens": -5, "completion_tokens": -1})),
    "usage of 400 digits": Said(body=rated(usage={"prompt_tokens": 10**400})),
    "usage is a text": Said(body=rated(usage="many")),
    "id is a mapping": Said(body=rated(id={"a": 1})),
    "NaN": Said(body=b'{"choices": NaN}'),
    "cut body": Said("Rating: 3", cut=True),
    "hangs up": Said(hang_up=True),
    "drips": Said("Rating: 3", drip=0.5),
    "endless": Said("Rating: 3", endless=300 << 20),
    "silent": Said("Rating: 3", wait=5.0),
    "compressed bomb": Said(body=_BOMB, headers={"Content-Encoding": "gzip"}),
    "wrong encoding": Said(body=b"no gzip", headers={"Content-Encoding": "gzip"}),
    "waits for ever": Said(status=429, headers={"Retry-After": "999999999"}),
    "waits for a word": Said(status=429, headers={"Retry-After": "soon"}),
    "waits a negative time": Said(status=503, headers={"Retry-After": "-5"}),
    "a refusal": Said(None, refusal="I will not."),
    "cut by length": Said("Rating:", finish_reason="length"),
    "an unknown end": Said("Rating: 3", finish_reason="because"),
}


def answer_of(said: Said) -> Callable[..., Said]:
    """The service's answer to every request."""
    return lambda *_: said


def problem_of(run: Path, said: Said) -> str | None:
    """What is wrong with the end of the command at such a service; None where nothing is."""
    environment = os.environ | {"NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": KEY}
    environment["PYTHONPATH"] = str(PROJECT_ROOT)
    with serve(answer_of(said)) as server:
        command = [sys.executable, "-m", "evalprep", "judge", str(run), "--model", "judge"]
        command += [
            "--base_url",
            server.url,
            "--limit",
            "2",
            "--model_args",
            "max_retries=1,timeout=2",
        ]
        started = time.monotonic()
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"not ended after {SECONDS:.0f} s"
    seconds = time.monotonic() - started
    output = done.stdout + done.stderr
    kept = b"".join(path.read_bytes() for path in run.glob(f"{FILE}*"))
    if done.returncode not in _CODES:
        return f"exit code {done.returncode} after {seconds:.0f} s: {output[-200:]!r}"
    if b"Traceback" in output:
        return f"a traceback: {output[-200:]!r}"
    if KEY.encode() in output or KEY.encode() in kept:
        return "the key was shown or kept"
    return None


def rows(share: float, seed: int) -> list[Row]:
    """One row: every endpoint, each with a run of its own."""
    with timed("Broken judge endpoints") as row, tempfile.TemporaryDirectory() as folder:
        for number, (name, said) in enumerate(chosen(list(ENDPOINTS.items()), share, seed)):
            run = write_run(Path(folder) / str(number), tasks={TASK})
            row.add(name, problem_of(run, said))
    return [row]


if __name__ == "__main__":
    raise SystemExit(main(rows))
