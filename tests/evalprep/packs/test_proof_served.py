"""Stock members with shots of their own beside chat tasks, on a server and on an interface that has chat alone."""

import http.server
import json
import os
import shlex
import subprocess
import threading

import pytest

from evalprep.model.tokenizer import load_tokenizer
from evalprep.packs.manifest import read_manifest
from tests.evalprep.run.server import Completions, completions

from .test_proof import evalprep, project  # noqa: F401 - the pack as a fixture

WANTED = ["proof_all"]
REPLY = "yes it is."


class Chat(http.server.BaseHTTPRequestHandler):
    """Chat completions that always say the same."""

    def do_POST(self):
        json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": REPLY}
        body = json.dumps(
            {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def chat_api():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chat) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/chat/completions"
        server.shutdown()


def pasted(line, folder):
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_on_a_server_and_on_a_chat_interface(project, tiny_model, chat_api, tmp_path):  # noqa: F811
    model = tiny_model(REPLY)
    begin = load_tokenizer(model).bos_id
    here = Completions()
    with completions(here) as url:
        folder = project(
            model,
            backend="vllm-server",
            tasks=["proof_blocks", "arc_easy"],
            model_args={"base_url": url},
        )
        prepared = json.loads(evalprep(folder, "prepare", "--json"))
        (note,) = [note for note in prepared["notes"] if "server must be running" in note]
        # Words before it set what vLLM reads from the environment, on a machine without a GPU.
        served = shlex.split(note.partition(": ")[2].partition("vllm serve ")[2])
        assert served[:1] == [str(model)]
        assert served[served.index("--port") + 1] == url.split(":")[2].split("/")[0]
        commands = {
            command.tasks: command for command in read_manifest(folder / "work_dir").commands
        }
        assert sorted(commands) == [("arc_easy",), ("proof_blocks",)]
        arguments = {tasks: dict(one.engine["model_args"]) for tasks, one in commands.items()}
        assert arguments["arc_easy",]["add_bos_token"] is False, "its tokenizer writes none"
        assert arguments["proof_blocks",]["add_bos_token"] is False, "the chat template writes it"
        for line in prepared["commands"]:
            pasted(line, tmp_path)
    assert len(here.prompts) == 6 + 4 * 2, "whole blocks, and both choices of each row"
    # This tokenizer writes none by itself, so that one can only be the chat template's, and a
    # second one lm-eval's.
    assert sorted(tokens.count(begin) for tokens in here.prompts) == [0] * 8 + [1] * 6
    told = json.loads(evalprep(folder, "score", "results", "--template_dir", "packs", "--json"))
    assert {task["task"]: (task["metric"], task["micro"]["n"]) for task in told["tasks"]} == {
        "arc_easy": ("acc_norm", 4),
        "proof_blocks": ("own_score", 6),
    }
    (results,) = [
        one
        for path in (folder / "results").glob("*/results_*.json")
        if "arc_easy" in (one := json.loads(path.read_text()))["results"]
    ]
    assert results["n-shot"]["arc_easy"] == 2, "the settings of the pack reached lm-eval's own task"

    settings = [
        f"model_args={{base_url: '{chat_api}'}}",
        "tasks=[proof_all]",
        "backend=local-chat-completions",
    ]
    settings += ["work_dir=chat_work", "output_path=chat_results", "model_name=a-model"]
    words = [word for one in settings for word in ("--set", one)]
    prepared = json.loads(evalprep(folder, "prepare", "--json", *words))
    assert set(prepared["excluded"]) == {"arc_easy", "proof_sure", "proof_answer", "proof_gone"}
    assert "log-likelihoods" in prepared["excluded"]["arc_easy"]["reason"]
    (line,) = prepared["commands"]
    pasted(line, tmp_path)
    told = json.loads(
        evalprep(folder, "score", "chat_results", "--template_dir", "packs", "--json")
    )
    assert {task["task"]: task["micro"]["agg_value"] for task in told["tasks"]} == {
        "proof_blocks": 1.0
    }
    # The same chat, here as messages and there as the text that the model's template makes of them.
    compared = json.loads(
        evalprep(
            folder,
            *("compare", "chat_results", "results", "--json", "--template_dir", "packs"),
            code=3,  # the candidate lacks a task
        )
    )
    assert [task["name"] for task in compared["tasks"]] == ["proof_blocks"]
    assert compared["missing_tasks"] == ["arc_easy"]
