"""Runs all 24 benchmarks of the compliance pack once, end to end, through a server on this machine.

    python -m benchmarks.compl_ai_run CHECKOUT [--limit 20] [--out FOLDER]
        [--docs docs/reference/measured.md]

CHECKOUT is a checkout of https://github.com/compl-ai/compl-ai at 934d3f5. A model of 1.6 MB that
answers every prompt alike stands behind an OpenAI-compatible address; `evalprep prepare`, `run`,
`judge` and `score` do the rest, and the report is opened in Chromium (or the browser that CHROMIUM
names), where one is. Human_eval, memorization and reddit_bias run in transformers, as a server
gives no unequal draws and no log-likelihood per token. Data that the checkout lacks are the pack's
small rows, and helpers are word lists: both are named. Exit code 1 where a benchmark has no score.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from benchmarks.measuring import write_docs

PROJECT = Path(__file__).resolve().parent.parent
#: Holds something that each reader of a reply can read; no token may occur twice.
SAYS = "Yes, he is great! Option 1. It took [Answer] 5"
CONTEXT = 4096  # the longest reviews of the contrast set have 2,913 of its tokens


# --- the server


class TinyServer:
    """The tiny model behind the requests that lm-eval sends.

    Attributes:
        requests: How many were answered, by path.
    """

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._torch = torch
        self._model = AutoModelForCausalLM.from_pretrained(folder).eval()
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._lock = threading.Lock()
        self.requests: dict[str, int] = {}

    def answer(self, path: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to one request."""
        with self._lock, self._torch.inference_mode():
            self.requests[path] = self.requests.get(path, 0) + 1
            if "messages" in request:
                ids = self._chat_ids(request["messages"])
                message = {"role": "assistant", "content": self._generate(ids, request)}
                return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
            prompts = self._prompts(request["prompt"])
            answer = self._score if request.get("echo") else self._complete
            choices = [answer(ids, request) for ids in prompts]
        return {"choices": [{"index": place, **choice} for place, choice in enumerate(choices)]}

    def _chat_ids(self, messages: list[dict[str, str]]) -> list[int]:
        text = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _prompts(self, prompt: Any) -> list[list[int]]:
        """The prompts of a request as lists of token ids."""
        if isinstance(prompt, str):
            return [list(self._tokenizer(prompt)["input_ids"])]
        return prompt if isinstance(prompt[0], list) else [prompt]

    def _complete(self, ids: list[int], request: Mapping[str, Any]) -> dict[str, Any]:
        return {"text": self._generate(ids, request), "finish_reason": "stop"}

    def _generate(self, ids: list[int], request: Mapping[str, Any]) -> str:
        limit = int(request.get("max_tokens") or 16)
        kept = ids[-(CONTEXT - limit) :]
        temperature = float(request.get("temperature") or 0.0)
        sampling = {"do_sample": True, "temperature": temperature} if temperature else {}
        tokens = self._torch.tensor([kept])
        output = self._model.generate(
            tokens,
            attention_mask=self._torch.ones_like(tokens),
            max_new_tokens=limit,
            **(sampling or {"do_sample": False}),
        )
        text = self._tokenizer.decode(output[0][len(kept) :], skip_special_tokens=True)
        for stop in request.get("stop") or ():
            text = text.partition(stop)[0]
        return str(text)

    def _score(self, ids: list[int], _request: Mapping[str, Any]) -> dict[str, Any]:
        """Log-likelihoods of the prompt's tokens, and one new token, as vLLM answers `echo`."""
        logits = self._model(self._torch.tensor([ids])).logits[0].log_softmax(-1)
        best = logits.argmax(-1).tolist()
        following = [*ids[1:], best[-1]]
        values = [float(logits[place, token]) for place, token in enumerate(following)]
        likeliest = [
            {str(best[place]): float(logits[place, best[place]]), str(token): values[place]}
            for place, token in enumerate(following)
        ]
        logprobs = {
            "tokens": [str(token) for token in [*ids, best[-1]]],
            "token_logprobs": [None, *values],
            "top_logprobs": [None, *likeliest],
        }
        return {"text": "", "logprobs": logprobs}


@contextmanager
def serve(model: TinyServer) -> Iterator[str]:
    """Serves until the block ends; gives the address without a path."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            body = json.dumps(model.answer(self.path, json.loads(self.rfile.read(size)))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


# --- the run


def evalprep(folder: Path, *words: str) -> float:
    """Calls evalprep in a folder; returns the seconds that it took."""
    started = time.monotonic()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1"}
    path = [str(PROJECT), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(path)
    command = [sys.executable, "-m", "evalprep", *words]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=sys.stderr)
    return time.monotonic() - started


@dataclass
class Wish:
    """The part of the suite that is run.

    Attributes:
        checkout: A checkout of COMPL-AI v1.
        limit: Rows per task.
        tasks: Names of tasks or groups.
    """

    checkout: Path
    limit: int
    tasks: str


def write_config(folder: Path, model: Path, address: str, wish: Wish) -> None:
    """Writes the configuration of the run."""
    section = {
        "v1_checkout": str(wish.checkout),
        "stand_ins": True,
        "run_code": True,
        "judge": True,
        "toxicity": "words",
        "sentiment": "words",
        "rest_backend": "hf",
    }
    config = {
        "model_name": str(model),
        "tasks": wish.tasks,
        "backend": "local-completions",
        "model_args": {"base_url": f"{address}/v1/completions"},
        "device": "cpu",
        "max_model_len": CONTEXT,
        "limit": wish.limit,
        "compliance": section,
    }
    path = folder / "eval_config.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def widen(model: Path) -> Path:
    """Gives the tiny model the context that the prompts of version 1 need; returns its folder."""
    for name, key in (
        ("config.json", "max_position_embeddings"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        path = model / name
        settings = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**settings, key: CONTEXT}), encoding="utf-8")
    return model


def run_suite(folder: Path, wish: Wish) -> dict[str, float]:
    """Runs the whole suite in a folder; returns the seconds of each step."""
    sys.path.insert(0, str(PROJECT))
    from environment.tiny_model import build

    model = widen(build(folder / "tiny-model", SAYS))
    server = TinyServer(model)
    seconds = {}
    with serve(server) as address:
        write_config(folder, model, address, wish)
        seconds["prepare"] = evalprep(folder, "prepare")
        seconds["run"] = evalprep(folder, "run", "work_dir")
        (results,) = (path.parent for path in _first_results(folder))
        judge = ("--model", "tiny", "--base_url", f"{address}/v1/chat/completions")
        seconds["judge"] = evalprep(folder, "judge", str(results), *judge)
    seconds["score"] = evalprep(folder, "score", str(results), "--out", "scores")
    requests = ", ".join(f"{count} to {path}" for path, count in sorted(server.requests.items()))
    print(f"the server answered {requests}", file=sys.stderr)
    return seconds


def _first_results(folder: Path) -> list[Path]:
    """One results file of the run, whose folder holds all of them."""
    return sorted((folder / "eval_results").glob("*/results_*.json"))[:1]


# --- the table


@dataclass
class Line:
    """One benchmark of the table."""

    key: str
    backend: str
    rows: str
    score: str
    wording: str
    data: str


def lines_of(folder: Path) -> list[Line]:
    """The benchmarks of the run, as scores and manifest have them."""
    from evalprep.packs.finding import find_packs

    pack = find_packs(PROJECT / "task_templates")["compliance"]
    scores = json.loads((folder / "scores" / "scores.json").read_text(encoding="utf-8"))
    suite = {score["name"]: score for score in scores["suite"]}
    manifest = json.loads((folder / "work_dir" / "manifest.json").read_text(encoding="utf-8"))
    engines = {
        task: command["engine"]["backend"]
        for command in manifest["commands"]
        for task in command["tasks"]
    }
    lines = []
    for key, benchmark in pack.module("registry").scored().items():
        score = suite.get(benchmark.score, {})
        notes = _notes(folder, key)
        used = sorted({engines[task] for task in benchmark.tasks if task in engines})
        value = score.get("value")
        lines.append(
            Line(
                key,
                ", ".join(used),
                str(score.get("n", "")),
                str(score.get("reason", "not run")) if value is None else f"{value:.3f}",
                next((note for note in notes if note.endswith("wording")), ""),
                "stand-in" if any("stand-in" in note for note in notes) else "checkout",
            )
        )
    return lines


def _notes(folder: Path, key: str) -> list[str]:
    """The notes of a benchmark, out of its file in the original's layout."""
    paths = (folder / "scores" / "compl_ai" / "runs").glob(f"*/*/{key}/final_results.json")
    return [
        str(note)
        for path in paths
        for note in json.loads(path.read_text(encoding="utf-8")).get("notes") or ()
    ]


def table(lines: list[Line]) -> list[str]:
    """The table in Markdown."""
    rows = ["| benchmark | back end | rows | score | wording | data |", "|---|---|---|---|---|---|"]
    for line in lines:
        cells = (line.key, line.backend, line.rows, line.score, line.wording, line.data)
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def open_report(folder: Path) -> str:
    """Opens the report in Chromium; says what it shows, and writes it as PDF beside the page."""
    from tests.evalprep.report import chromium

    (path,) = (folder / "scores" / "compl_ai").glob("*_report.html")
    if chromium.find() is None:
        return "Chromium is not on this machine: the report was not opened"
    page = chromium.Page()
    try:
        page.open(path)
        counts = {
            name: page.js(f"document.querySelectorAll({json.dumps(selector)}).length")
            for name, selector in (
                ("benchmarks", "section"),
                ("bars", "svg rect"),
                ("sample tables", ".samples"),
            )
        }
        pdf = base64.b64decode(page.send("Page.printToPDF", printBackground=True)["data"])
        path.with_suffix(".pdf").write_bytes(pdf)
        counts["pages as PDF"] = pdf.count(b"/Type /Page\n")
        shown = ", ".join(f"{count} {name}" for name, count in counts.items())
        outside = [url for url in page.requests if not url.startswith(("file:", "about:"))]
        return f"{shown}, {len(page.errors)} errors, {len(outside)} requests elsewhere"
    finally:
        page.close()


def main() -> int:
    """Runs the suite and prints its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("checkout", type=Path, help="a checkout of COMPL-AI v1")
    parser.add_argument("--limit", type=int, default=20, help="rows per task")
    parser.add_argument("--tasks", default="compliance", help="a part of the suite, for a trial")
    parser.add_argument("--out", type=Path, help="folder of the run; a temporary one without it")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.out or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        wish = Wish(arguments.checkout.resolve(), arguments.limit, arguments.tasks)
        seconds = run_suite(folder, wish)
        lines = lines_of(folder)
        report = open_report(folder)
    scored = sum(line.score[:1].isdigit() for line in lines)
    stand_ins = [line.key for line in lines if line.data == "stand-in"]
    steps = ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items())
    shown = [
        *table(lines),
        "",
        f"{scored} of {len(lines)} benchmarks have a score. Stand-ins: {', '.join(stand_ins)}.",
        f"Toxicity and sentiment are word lists. Report in Chromium: {report}.",
    ]
    print("\n".join(shown))
    print(steps, file=sys.stderr)
    if arguments.docs:
        write_docs(arguments.docs, "compl_ai_run", shown)
    return int(scored < len(lines))


if __name__ == "__main__":
    sys.exit(main())
