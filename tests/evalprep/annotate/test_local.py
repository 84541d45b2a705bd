"""A judge that lm-eval loads on this machine."""

import json
from dataclasses import replace

import pytest

from evalprep.annotate.ledger import Ledger
from evalprep.annotate.local import LocalJudge
from evalprep.annotate.place import FILE
from evalprep.annotate.providers.wire import Request
from evalprep.backends import BACKENDS
from evalprep.cli import main
from tests import processes
from tests.evalprep.annotate.conftest import SUMMARY


def ask(capsys, folder, *more):
    capsys.readouterr()
    code = main(["judge", str(folder), "--tasks", SUMMARY, "--json", *map(str, more)])
    return code, json.loads(capsys.readouterr().out)


def test_every_reply_is_kept(science_run, capsys):
    """lm-eval's dummy says `lol` to everything."""
    options = ("--backend", "dummy", "--model", "dummy")
    code, outcome = ask(capsys, science_run, *options)
    assert (code, outcome["requests"], outcome["tasks"][0]["reasons"]) == (
        3,
        12,
        {"parse_error": 12},
    )
    assert ask(capsys, science_run, *options)[1]["requests"] == 0
    assert ask(capsys, science_run, *options, "--ask_again")[1]["requests"] == 12
    with Ledger(science_run / FILE) as ledger:
        rows = [one for several in ledger.attempts().values() for one in several]
    assert {(row.status, row.reply, row.tokens_in) for row in rows} == {("received", "lol", None)}


class Engine:
    """Takes requests as lm-eval's models do, and keeps their arguments."""

    def apply_chat_template(self, messages):
        return messages[0]["content"]

    def generate_until(self, instances, *, disable_tqdm):
        assert disable_tqdm
        self.asked = [instance.args for instance in instances]
        return ["4" for _ in instances]


@pytest.mark.parametrize(("temperature", "is_sampled"), [(0, False), (0.7, True)])
def test_what_a_loaded_model_is_given(temperature, is_sampled):
    engine, schema = Engine(), {"type": "object"}
    backend = replace(BACKENDS["hf"], holds=lambda form: {"form": form})
    judge = LocalJudge(backend, "m", _loaded=engine)
    messages = [{"role": "user", "content": "Rate it."}]
    requests = [Request("m", messages), Request("m", messages, schema=schema)]
    assert judge.replies(requests, {"temperature": temperature, "stop": "."}) == ["4", "4"]
    sampling = {
        "until": ["."],
        "max_gen_toks": 512,
        "do_sample": is_sampled,
        "temperature": temperature,
    }
    assert engine.asked == [("Rate it.", sampling), ("Rate it.", sampling | {"form": schema})]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--backend", "nope"], "--backend nope"),
        (["--backend", "hf", "--base_url", "http://127.0.0.1:9/v1"], "--base_url with --backend"),
        (["--backend", "hf", "--batch"], "--batch with --backend"),
        (["--model_args", "dtype=float32"], "--model_args dtype without --backend"),
        (["--backend", "dummy", "--gen_kwargs", "seed=1"], "takes no seed"),
        (["--backend", "hf", "--structured", "on"], "cannot be held to a JSON schema"),
        (["--backend", "dummy", "--structured", "ratings"], "cannot be held to a JSON schema"),
    ],
)
def test_what_does_not_go_together(science_run, capsys, options, what):
    code, outcome = ask(capsys, science_run, "--model", "m", *options)
    assert code == 2
    assert any(what in problem["what"] for problem in outcome["problems"])


@pytest.mark.slow
def test_a_real_model(science_run, capsys, tiny_model):
    model = tiny_model("Rating: 4")
    options = ("--backend", "hf", "--model", model, "--model_args", "dtype=float32,device=cpu")
    code, outcome = ask(capsys, science_run, *options, "--gen_kwargs", "max_tokens=16")
    assert (code, outcome["tasks"][0]["means"]) == (0, {"judge_rating": 4})
    code, outcome = ask(capsys, science_run, "--backend", "hf", "--model", science_run)
    assert (code, "cannot be loaded" in outcome["problems"][0]["what"]) == (2, True)


@pytest.mark.slow
def test_a_real_model_of_vllm_is_held_to_the_schema(science_run, tiny_model):
    """It would say something else, and cannot."""
    pytest.importorskip("vllm")
    settings = (
        "dtype=float32",
        "max_model_len=2048",
        "enforce_eager=True",
        "gpu_memory_utilization=0.2",
    )
    command = [
        *("judge", science_run, "--tasks", SUMMARY, "--limit", "3"),
        *("--backend", "vllm", "--model", str(tiny_model("No idea")), "--structured", "ratings"),
        *(
            "--model_args",
            ",".join([*settings, "distributed_executor_backend=uni"]),
            "--gen_kwargs",
            "max_tokens=32",
        ),
    ]
    environment = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    processes.run(*command, env=environment, timeout=500, check=True)
    with Ledger(science_run / FILE) as ledger:
        rows = [one for several in ledger.attempts().values() for one in several]
    assert len(rows) == 3
    assert all(1 <= rating <= 5 for row in rows for rating in json.loads(row.reply).values())
