"""Tokens, rows and time of a run, from requests whose sizes are known."""

from types import SimpleNamespace

import pytest

from evalprep.check import FullCheck, RunSettings
from evalprep.check.estimate import (
    CHARACTERS_PER_TOKEN,
    Estimate,
    TaskEstimate,
    estimate_tasks,
    rows_of_run,
)
from evalprep.check.loading import LoadedTask
from evalprep.check.tree import Leaf, TaskFile
from evalprep.model.tokenizer import load_tokenizer

PROMPT = "Question: which of the following is right?"


def instance(kind, *arguments, repeats=1, doc=None):
    return SimpleNamespace(request_type=kind, args=arguments, repeats=repeats, doc=doc or {})


def done_of(tmp_path, rows, tokenizer=None):
    leaf = Leaf("own", TaskFile(tmp_path / "own.yaml", {"task": "own"}), {})
    return FullCheck(None, [LoadedTask(leaf, None, dict(enumerate(rows)))], {}, tokenizer)


@pytest.mark.parametrize(
    ("rows", "limit", "used"),
    [(10, None, 10), (10, 3, 3), (10, 30, 10), (10, 0.25, 3), (10, 1.0, 1), (7, 0.5, 4)],
)
def test_limit_counts_rows_as_lm_eval_does(rows, limit, used, tmp_path):
    assert rows_of_run(rows, limit) == used
    requests = [[instance("generate_until", PROMPT, {"max_gen_toks": 10})] for _ in range(rows)]
    (task,) = estimate_tasks(done_of(tmp_path, requests), RunSettings.without_config(limit=limit))
    assert (task.requests, task.reply_tokens, task.upper_tokens) == (used, used * 10, used * 10)


def test_tokens_are_those_that_the_back_end_sends(tmp_path, tiny_model):
    tokenizer = load_tokenizer(tiny_model())
    for add_bos in (True, False):
        settings = RunSettings.without_config(backend="vllm", add_bos_token=add_bos)
        exact = len(tokenizer.encode(PROMPT, add_bos_token=add_bos, backend="vllm"))
        rows = [[instance("generate_until", PROMPT, {"max_gen_toks": 10})]] * 5
        (task,) = estimate_tasks(done_of(tmp_path, rows, tokenizer), settings)
        assert task.prompt_tokens == 5 * exact
        assert task.exact is True
    (guess,) = estimate_tasks(done_of(tmp_path, rows), settings)
    assert guess.prompt_tokens == round(5 * len(PROMPT) / CHARACTERS_PER_TOKEN)
    assert guess.exact is False


@pytest.mark.parametrize(
    ("request_", "settings", "reply", "upper", "basis"),
    [
        pytest.param(
            {"kwargs": {"max_gen_toks": 10}}, {}, 10, 10, "max_gen_toks", id="as the task says"
        ),
        pytest.param({"kwargs": {}}, {}, 256, 256, "max_gen_toks", id="lm-eval's default"),
        pytest.param(
            {"kwargs": {}},
            {"max_gen_toks": 512},
            512,
            512,
            "max_gen_toks",
            id="as the model's arguments say",
        ),
        pytest.param(
            {"kwargs": {"max_gen_toks": 10}, "repeats": 4},
            {},
            40,
            40,
            "max_gen_toks",
            id="four replies",
        ),
        # 16 characters are 4 tokens, and the end-of-text token
        pytest.param(
            {"kwargs": {"max_gen_toks": 64}, "published": "x" * 16},
            {},
            5,
            64,
            "published outputs",
            id="published",
        ),
        pytest.param(
            {"kwargs": {"max_gen_toks": 64}, "published": "x" * 16, "repeats": 4},
            {},
            20,
            256,
            "published outputs",
            id="published, four replies",
        ),
        pytest.param(
            {"kwargs": {"max_gen_toks": 3}, "published": "x" * 16},
            {},
            3,
            3,
            "published outputs",
            id="never above the bound",
        ),
    ],
)
def test_reply_tokens(request_, settings, reply, upper, basis, tmp_path):
    doc = {
        "previous_output_prediction_text": request_.get("published"),
        "previously_is_correct": True,
    }
    row = [
        instance(
            "generate_until",
            PROMPT,
            request_["kwargs"],
            repeats=request_.get("repeats", 1),
            doc=doc,
        )
    ]
    (task,) = estimate_tasks(
        done_of(tmp_path, [row]), RunSettings.without_config(model_args=settings)
    )
    assert (task.reply_tokens, task.upper_tokens, task.basis) == (reply, upper, basis)


def test_a_likelihood_reads_context_and_continuation_of_every_choice(tmp_path):
    row = [instance("loglikelihood", "x" * 8, "y" * 4) for _ in range(4)]
    (task,) = estimate_tasks(done_of(tmp_path, [row, row]), RunSettings.without_config())
    assert (task.requests, task.prompt_tokens, task.reply_tokens, task.basis) == (
        8,
        24,
        8,
        "likelihood",
    )


@pytest.mark.parametrize("name", ["meta_mmlu_pro_instruct", "mup_single_document_summarization"])
def test_the_text_fits_the_terminal(name):
    task = TaskEstimate(
        name, 12_032, 12_345_678, 1_234_567, 9_876_543, "published outputs", exact=False
    )
    basis = "measured with 8 rows of every task; a whole run batches more and is faster"
    found = Estimate([task], "the CPU", 150.0, 151.0, basis, None, ["loading the model took 8 s"])
    lines = found.text(80).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[1:5] for line in lines if "12,032" in line] == [
        ["12,032", "12,345,678", "1,234,567", "9,876,543"]
    ]
    assert name in found.text()  # nothing is cut where the width is not known
    assert "at most" not in found.text().split("time on")[1]  # about 2 min, at most 2 min
