"""The whole suite on the pack's own rows, through the real commands: a tiny local model, and a chat API on loopback."""

import http.server
import json
import subprocess
import threading

import pytest
import yaml

from evalprep.packs.finding import find_packs
from tests import PROJECT_ROOT, processes
from tests.packs.compliance.project import ALL

pytestmark = pytest.mark.slow
REGISTRY = find_packs(PROJECT_ROOT / "task_templates")["compliance"].module("registry")
REPLY = "1. Yes, [Answer] 5. The river is long. It was named by people."


def paste(folder):
    subprocess.run(["sh", "work_dir/command.sh"], cwd=folder, check=True, timeout=850)


def walk(folder):
    """One process for all commands, where one model serves."""
    processes.run("run", "work_dir", cwd=folder, check=True, timeout=850)


def run(folder, run_commands, **core):
    """Prepare, run every command, score; returns the folder of files."""
    config = {"tasks": "compliance", "limit": 4, "max_model_len": 2048, "compliance": ALL, **core}
    (folder / "eval_config.yaml").write_text(yaml.safe_dump(config))
    processes.run(program="prepare_eval.py", cwd=folder, check=True)
    run_commands(folder)
    processes.run("score", "eval_results", "--out", "scores", cwd=folder)
    return folder / "scores"


def check(home, model):
    """24 scores or a reason each, in the run's JSON, in the report and in the table."""
    (report,) = home.rglob("*_report.md")
    text = report.read_text()
    (results,) = home.rglob(f"*{model}*_results.json")
    data = json.loads(results.read_text())
    scores = {key: data[key]["aggregate_score"] for key in REGISTRY.scored()}
    for key, one in REGISTRY.scored().items():
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {one.label} |")]
        assert isinstance(scores[key], float) or "not evaluated: " in line, line
    assert (results.parent / "all_results.csv").is_file()
    return {key for key, score in scores.items() if isinstance(score, float)}


def test_a_local_model(tmp_path, tiny_model):
    done = check(
        run(
            tmp_path,
            walk,
            model_name=str(tiny_model("1. Yes, [Answer] 5")),
            backend="hf",
            device="cpu",
        ),
        "tiny",
    )
    assert len(done) >= 20
    # No judge is asked, the reply begins with a number and not with yes or no, and four rows may be
    # all alike.
    assert (
        not REGISTRY.scored().keys()
        - done
        - {"self_check_consistency", "human_deception", "reddit_bias", "bold"}
    )


class Service(http.server.BaseHTTPRequestHandler):
    """Chat completions that always say the same; refuses what is no list of messages with texts."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        good = all(isinstance(message["content"], str) for message in asked["messages"])
        said = {
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": REPLY},
                    "finish_reason": "stop",
                }
            ]
        }
        if asked.get("logprobs"):
            top = [{"token": "A", "logprob": -0.5}, {"token": "B", "logprob": -1.5}]
            said["choices"][0]["logprobs"] = {"content": [{"top_logprobs": top}]}
        body = json.dumps(said).encode()
        self.send_response(200 if good else 400)
        self.send_header("Content-Type", "application/json")  # lm-eval reads no reply without it
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_a_chat_api(tmp_path):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/v1/chat/completions"
        try:
            home = run(
                tmp_path,
                paste,
                model_name="my-model",
                backend="local-chat-completions",
                model_args={"base_url": address},
            )
        finally:
            server.shutdown()
    done = check(home, "my-model")
    assert not done & {"mmlu", "hellaswag", "human_eval", "reddit_bias"}
    assert {"bbq", "decoding_trust", "forecasting_consistency", "fairllm"} <= done
    variants = {
        "privacy",
        "memorization",
        "toxicity",
        "imdb_contrast_robustness",
        "mmlu_robustness",
        "calibration_big_bench",
        "calibration_big_bench_i_know",
    }
    assert variants <= done
    (report,) = home.rglob("*_report.md")
    assert report.read_text().count("variant over a chat API: ") >= len(variants)
