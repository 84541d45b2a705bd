"""Prompts for another engine, and its replies scored by lm-eval."""

import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from operator import itemgetter
from pathlib import Path
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalprep.cli import main
from evalprep.errors import BadInput
from evalprep.run.replies import Reply, likelihood_of, read_replies
from evalprep.status import Job
from evalprep.verbs.running.asking import next_words
from tests import PROJECT_ROOT, import_path

from .conftest import HANG, make_project, task
from .server import Completions, completions

BODY = {"choices": [{"message": {"content": "42"}, "finish_reason": "stop"}]}
SCORED = [None, {"7": {"logprob": -1.5, "rank": 2}, "9": {"logprob": -0.5, "rank": 1}}]
FORMS = [
    pytest.param({"id": "q1", "text": "42"}, Reply("42"), id="a text"),
    pytest.param({"id": "q1", "text": ""}, Reply(""), id="an empty text"),
    pytest.param({"id": "q1", "generated_text": "42"}, Reply("42"), id="Ray's LLM processor"),
    pytest.param({"custom_id": "q1", "text": "42"}, Reply("42"), id="custom_id"),
    pytest.param(
        {"id": "q1", "text": "a", "loglikelihood": math.nan, "is_greedy": False},
        Reply("a"),
        id="not a number beside a text",
    ),
    pytest.param(
        {"id": "q1", "loglikelihood": -1, "is_greedy": True},
        Reply(None, -1.0, True),
        id="a log-likelihood",
    ),
    pytest.param(
        {"custom_id": "q1", "response": {"status_code": 200, "body": BODY}, "error": None},
        Reply("42"),
        id="OpenAI batch output",
    ),
    pytest.param(
        {"custom_id": "q1", "response": {"body": {"choices": [{"text": "42"}]}}, "error": None},
        Reply("42"),
        id="a batch of completions",
    ),
    pytest.param(
        {"custom_id": "q1", "response": {"body": {**BODY, "prompt_logprobs": SCORED}}},
        Reply("42", token_logprobs=(None, {7: -1.5, 9: -0.5})),
        id="vllm run-batch with log-probabilities",
    ),
    pytest.param(
        {"custom_id": "q1", "response": {"status_code": 400}, "error": {"message": "too long"}},
        Reply(failure="too long"),
        id="a failed request",
    ),
    pytest.param(
        {"custom_id": "q1", "response": {"status_code": 429, "body": None}, "error": None},
        Reply(failure="status 429"),
        id="a failed request without words",
    ),
    pytest.param(
        {
            "custom_id": "q1",
            "response": {
                "body": {
                    "choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]
                }
            },
        },
        Reply("", reason="content_filter"),
        id="words that a filter withheld",
    ),
    pytest.param(
        {
            "custom_id": "q1",
            "result": {
                "type": "succeeded",
                "message": {"content": [{"type": "text", "text": "a"}]},
            },
        },
        Reply("a"),
        id="Anthropic",
    ),
    pytest.param(
        {"custom_id": "q1", "result": {"type": "expired"}},
        Reply(failure="expired"),
        id="an expired request of Anthropic",
    ),
]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(("row", "expected"), FORMS)
def test_a_reply_in_every_known_form(row, expected, tmp_path):
    assert read_replies([lines(tmp_path / "replies.jsonl", [row])]) == {"q1": expected}


def test_parts_in_any_order_and_a_reply_in_place_of_a_failure(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(pa.table({"id": ["q3", "q4"], "text": ["c", None]}), folder / "b.parquet")
    lines(folder / "a.jsonl", [{"id": "q2", "text": "b"}, {"id": "q1", "text": "old"}])
    failed = {"custom_id": "q2", "response": {"status_code": 500}, "error": "down"}
    later = lines(tmp_path / "later.jsonl", [{"id": "q1", "text": "a"}, failed])
    replies = read_replies([folder, later])
    assert {number: reply.text for number, reply in replies.items()} == {
        "q1": "a",
        "q2": "b",
        "q3": "c",
        "q4": None,
    }
    assert replies["q4"].failure == "the row has no text"


def test_a_table_without_ids_is_refused_with_its_columns(tmp_path):
    pq.write_table(pa.table({"idx": ["q1"], "answer": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(BadInput) as raised:
        read_replies([tmp_path / "a.parquet"])
    (problem,) = raised.value.problems
    assert problem.what == "has no column id; its columns: idx, answer"
    assert problem.fix == "did you mean idx?"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"id": "q1", "text": "a"}\n{"id": "q2", "te', "line 2 is not JSON"),
        ('{"id": "q1", "txt": "a"}', "row 1 has no text; its fields: id, txt"),
        ('{"text": "a"}', "has no id"),
        ('{"id": "q1", "text": 5}', "its text is 5"),
        ('["q1", "a"]', "is not a reply"),
        ('{"custom_id": "q1", "response": {"body": {}}}', "has no choices"),
    ],
)
def test_files_that_hold_no_replies_are_all_named(content, words, tmp_path):
    broken, absent = tmp_path / "broken.jsonl", tmp_path / "absent.jsonl"
    broken.write_text(content)
    with pytest.raises(BadInput) as raised:
        read_replies([broken, absent])
    text = str(raised.value)
    assert words in text
    assert f"{absent}: is not there" in text


def test_a_likelihood_is_read_as_lm_eval_reads_it():
    steps = (None, {7: -1.5, 9: -0.5}, {4: -0.25})
    assert likelihood_of(Reply("", token_logprobs=steps), [1, 7, 4], 1) == (-1.75, False)
    assert likelihood_of(Reply("", token_logprobs=steps), [1, 7, 4], 2) == (-0.25, True)
    for tokens in ([1, 7], [1, 8, 4]):
        with pytest.raises(ValueError, match="scored"):
            likelihood_of(Reply("", token_logprobs=steps), tokens, 1)


def test_options_that_contradict_each_other(tmp_path, capsys):
    replies = lines(tmp_path / "replies.jsonl", [{"id": "q1", "text": "a"}])
    assert main(["run", str(tmp_path), "--missing_to", "m.jsonl"]) == 2
    assert "--missing_to needs --replies" in capsys.readouterr().err
    both = ["--replies", str(replies), "--missing_to", str(replies)]
    assert main(["run", str(tmp_path), *both]) == 2
    assert "would be overwritten" in capsys.readouterr().err


def asked(path):
    return pq.read_table(path).to_pylist()


def answer(row):
    """`lol` to every question, and the second option of every choice."""
    if row["kind"] == "generate_until":
        return {"id": row["id"], "text": "lol"}
    value = -0.5 if row["continuation"].strip() == "no" else -2.0
    return {"id": row["id"], "loglikelihood": value, "is_greedy": value > -1}


@pytest.mark.slow
def test_replies_in_parts_are_scored_and_missing_ones_asked_for_again(project, tmp_path):
    made = project(limit=20)
    work_dir, requests = str(tmp_path / "work_dir"), tmp_path / "requests.parquet"
    out = made.command("prompts", work_dir, "--out", str(requests), check=True).stdout
    assert "100 requests of 3 tasks" in out
    rows = asked(requests)
    assert len({row["id"] for row in rows}) == len(rows) == 100
    assert json.loads(rows[0]["sampling"])["max_tokens"] == 16
    replies = [answer(row) for row in rows]
    failed = {"custom_id": replies[0]["id"], "response": {"status_code": 500}, "error": "no room"}
    first = lines(tmp_path / "first.jsonl", [*replies[:0:-1][:-1], failed])
    missing = tmp_path / "missing.parquet"
    part = made.command("run", work_dir, "--replies", str(first), "--missing_to", str(missing))
    assert part.returncode == 1, part.stdout + part.stderr
    assert (
        "2 of 20 replies are missing (of s0, s1); the engine's reason for some: no room"
        in part.stderr
    )
    again = asked(missing)
    assert again == rows[:2]
    second = lines(tmp_path / "second.jsonl", [answer(row) for row in again])
    whole = ["--replies", f"{first},{second}", "--missing_to", str(missing)]
    done = made.command("run", work_dir, *whole, check=True)
    assert "no reply is missing" in done.stderr
    kept = "done before from the same replies, which are not scored again"
    assert kept in done.stderr
    assert kept not in part.stderr
    scores = made.newest().scores
    assert {name: score for name, (score, _) in scores.items()} == {
        "first_text": 0.75,
        "last_text": 0.75,
        "then_choice": 0.35,
    }
    results = json.loads(Path(made.newest().results).read_text())
    assert results["config"]["replies"]
    assert {len(rows) for rows in made.samples().values()} == {20}


def samples_of(folder):
    """Task -> sample lines of the one run in a folder."""
    return {
        re.sub(r"_\d{4}-.*", "", path.name): [json.loads(line) for line in path.open()]
        for path in folder.glob("*/samples_*.jsonl")
    }


@pytest.mark.slow
def test_a_batch_for_a_provider_holds_the_bodies_that_lm_eval_posts(project, tmp_path):
    here = Completions()
    with completions(here) as url:
        address = url.replace("/completions", "/chat/completions")
        made = project(
            [task("texts", "rows.jsonl")],
            model_name="my-model",
            backend="local-chat-completions",
            apply_chat_template=True,
            system_instruction="Be short.",
            model_args={"base_url": address},
        )
        made.command("run", str(tmp_path / "work_dir"), check=True)
    file = tmp_path / "requests.jsonl"
    words = ["prompts", str(tmp_path / "work_dir"), "--to", "openai-batch", "--out", str(file)]
    made.command(*words, check=True)
    batch = [json.loads(line) for line in file.open()]
    assert {line["url"] for line in batch} == {"/v1/chat/completions"}
    assert sorted(map(json.dumps, here.bodies)) == sorted(
        json.dumps(line["body"]) for line in batch
    )


@pytest.fixture(scope="module")
def plain_run(tiny_model, tmp_path_factory):
    """A prepared folder for the tiny model with chats, and the samples of its plain run."""
    folder = tmp_path_factory.mktemp("plain")
    made = make_project(
        folder,
        model_name=str(tiny_model("The best answer is B.")),
        backend="vllm",
        device="cpu",
        dtype="float32",
        max_model_len=256,
        apply_chat_template=True,
    )
    made.command("run", str(folder / "work_dir"), check=True)
    return made, samples_of(folder / "out")


@pytest.fixture
def tiny_run(plain_run):
    """The same, without the results of an earlier run."""
    made, _ = plain_run
    shutil.rmtree(made.folder / "out")
    return plain_run


def call(words, folder, **variables):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "VLLM_CPU_KVCACHE_SPACE": "1"} | variables
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done


@pytest.mark.long  # another engine's whole start, for a reader of replies that other tests have
def test_vllm_run_batch_gives_the_samples_of_the_plain_run(tiny_run, tmp_path):
    pytest.importorskip("vllm", reason="no vLLM in this environment")
    made, plain = tiny_run
    file = str(tmp_path / "requests.jsonl")
    words = ["prompts", str(made.folder / "work_dir"), "--to", "openai-batch", "--out", file]
    out = made.command(*words, check=True).stdout
    printed = next(line for line in out.splitlines() if line.startswith("next: vllm run-batch"))
    call(["sh", "-c", printed.removeprefix("next: ")], tmp_path)
    replies = str(tmp_path / "requests-replies.jsonl")
    made.command("run", str(made.folder / "work_dir"), "--replies", replies, check=True)
    assert samples_of(made.folder / "out") == plain


@pytest.mark.long  # another engine's whole start, for a reader of replies that other tests have
def test_the_ray_example_gives_the_samples_of_the_plain_run(tiny_run, tmp_path):
    pytest.importorskip("ray", reason="no Ray in this environment")
    made, plain = tiny_run
    script = str(PROJECT_ROOT / "examples/ray_answers.py")
    requests = str(tmp_path / "requests.parquet")
    made.command("prompts", str(made.folder / "work_dir"), "--out", requests, check=True)
    engine = {
        "dtype": "float32",
        "max_model_len": 256,
        "enforce_eager": True,
        "gpu_memory_utilization": 0.2,
        "distributed_executor_backend": "uni",
    }
    call(
        [sys.executable, script, requests, str(tmp_path / "replies")],
        tmp_path,
        ENGINE=json.dumps(engine),
        GPUS="0",
        RAY_ADDRESS="local",
        RAY_USAGE_STATS_ENABLED="0",
        VLLM_ENABLE_V1_MULTIPROCESSING="0",
    )
    replies = str(tmp_path / "replies")
    made.command("run", str(made.folder / "work_dir"), "--replies", replies, check=True)
    assert samples_of(made.folder / "out") == plain


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def started(line, port, log):
    """A server that answers `/health`, started by a printed line; stopped at the end."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with log.open("wb") as output:
        server = subprocess.Popen(
            ["sh", "-c", f"exec env {line}"],
            env=os.environ | {"PATH": path},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + HANG
        while time.monotonic() < end:
            assert server.poll() is None, log.read_text()[-3000:]
            with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                break
            time.sleep(0.2)
        yield
    finally:
        server.terminate()
        server.wait(60)
        with suppress(ProcessLookupError):  # an engine that outlived its server
            os.killpg(server.pid, signal.SIGKILL)


def verdict_of(line):
    """A row's prompt and score, and the reply that was scored where the model wrote one."""
    if "exact_match" in line:
        return line["doc_id"], line["prompt_hash"], line["exact_match"], line["filtered_resps"]
    return line["doc_id"], line["prompt_hash"], line["acc"]


def verdicts_of(samples):
    """Task -> the verdicts of its rows, in order."""
    return {
        name: sorted(map(verdict_of, lines), key=itemgetter(0)) for name, lines in samples.items()
    }


@pytest.mark.slow
def test_the_printed_server_gives_the_verdicts_of_the_plain_run(plain_run, tmp_path, monkeypatch):
    """One load answers a generation, a log-likelihood, and a second run."""
    pytest.importorskip("vllm", reason="no vLLM in this environment")
    made, plain = plain_run
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    port = free_port()
    config = made.config | {
        "backend": "vllm-server",
        "model_args": {"base_url": f"http://127.0.0.1:{port}/v1/completions"},
    }
    tasks = [entry for entry in config.pop("tasks") if entry["task"] != "last_text"]
    served = make_project(tmp_path, tasks, **config)
    words = ["prepare", "--config_path", str(served.config_file)]
    printed = served.command(*words, check=True).stderr
    line = re.search(r"must be running first: (.*)", printed)[1]
    command = re.search(r"10 s faster:\s+(.*)", printed)[1]
    work_dir = str(tmp_path / "work_dir")
    with started(line, port, tmp_path / "server.log"):
        call(["sh", "-c", command], tmp_path, **import_path())
        pasted = samples_of(tmp_path / "out")
        (tmp_path / "out").rename(tmp_path / "pasted")
        served.command("run", work_dir, check=True)
    expected = verdicts_of(plain)
    del expected["samples_last_text"]
    assert verdicts_of(pasted) == expected
    assert verdicts_of(samples_of(tmp_path / "out")) == expected


def test_rows_without_stored_replies_are_a_mistake_and_not_a_silent_end(project):
    made = project()
    ended = made.command("run", str(made.folder / "work_dir"), "--replies", "rows")
    assert ended.returncode == 2
    assert "no task has stored replies in its rows" in ended.stderr


@pytest.mark.parametrize(
    ("model_type", "model_args", "names_vllm"),
    [
        ("vllm", {"pretrained": "org/m"}, True),
        ("local-completions", {"model": "org/m"}, True),
        ("local-chat-completions", {"model": "org/m"}, False),
        ("dummy", {}, False),
    ],
)
def test_the_next_command_names_an_engine_that_can_load_the_model(
    model_type, model_args, names_vllm, tmp_path
):
    job = Job(name="c1", model=model_type, model_args=model_args, tasks=["t"], options={})
    words = list(next_words([job], tmp_path / "r.jsonl", "openai-batch", tmp_path))
    assert ("run-batch" in words[0]) == names_vllm
    assert words[-1][:2] == ["evalprep", "run"]
    assert not any("None" in command for command in words)
