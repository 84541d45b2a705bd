"""`evalprep preview`: the text, the tokens and the verdicts are those of the run."""

import json
from pathlib import Path

import pytest
import yaml

from tests import processes

ROOT = Path(__file__).parents[3]
QUESTION = "<|role|>user<|/role|>\nChoose one of the options A, B, C and D.<|end|><|role|>assistant<|/role|>\n"


@pytest.fixture
def work_dir(tmp_path, tiny_model):
    data = tmp_path / "rows.jsonl"
    rows = [
        {
            "sample_id": f"s{n}",
            "question": QUESTION,
            "answer": "B",
            "input_choice_list": {"A": "1", "B": "2"},
            "previous_output_prediction_text": f"The best answer is {letter}.",
            "previously_is_correct": letter == "B",
        }
        for n, letter in enumerate("BA")
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = {
        "task": "choose",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "doc_to_text": "question",
        "doc_to_target": "answer",
        "generation_kwargs": {
            "until": ["<|end|>"],
            "do_sample": False,
            "temperature": 0.0,
            "max_gen_toks": 8,
        },
        "filter_list": [
            {
                "name": "letter",
                "filter": [
                    {"function": "regex", "regex_pattern": "answer is ([A-D])"},
                    {"function": "take_first"},
                ],
            }
        ],
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        "num_fewshot": 0,
        "fewshot_config": {"sampler": "first_n", "samples": []},
    }
    config = tmp_path / "config.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "model_name": str(tiny_model()),
                "add_bos_token": True,
                "backend": "hf",
                "device": "cpu",
                "max_model_len": 512,
                "tasks": [task],
            }
        )
    )
    run("prepare", "--config_path", config, "--quiet")
    return tmp_path / "work_dir"


def run(verb, *arguments):
    return processes.run(verb, *arguments, cwd=ROOT)


def test_everything_that_reaches_the_model_is_shown(work_dir, tiny_model):
    done = run("preview", "choose", work_dir, "-n", "2", "--json")
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)
    request = first["requests"][0]
    assert request["text"] == QUESTION
    assert first["bos_count"] == 1
    assert request["tokens"][0] == "<|begin|>"
    assert "".join(request["tokens"][1:]) == QUESTION
    assert first["stop_strings"] == ["<|end|>"]
    assert first["generation_kwargs"] == {
        "until": ["<|end|>"],
        "do_sample": False,
        "temperature": 0.0,
        "max_gen_toks": 8,
    }
    assert first["target"] == "B"
    assert first["verdicts"]["gold"]["value"] == 1.0
    assert (
        first["verdicts"]["published"]["value"],
        first["verdicts"]["published"]["published_verdict"],
    ) == (1.0, True)
    assert (
        second["verdicts"]["published"]["value"],
        second["verdicts"]["published"]["published_verdict"],
    ) == (0.0, False)


def test_the_text_form_says_the_same(work_dir):
    done = run("preview", "choose", work_dir, "--row", "s1", "--all")
    assert "row s1" in done.stdout
    assert QUESTION.strip() in done.stdout
    assert "begin-of-text tokens at the start: 1" in done.stdout
    assert "0:'<|begin|>'" in done.stdout
    assert "published verdict: wrong" in done.stdout


def folder_of(tmp_path, rows, **task):
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "tasks").mkdir()
    content = {
        "task": "shown",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(tmp_path / "rows.jsonl")}},
        "test_split": "test",
        "doc_to_text": "question",
        "doc_to_target": "answer",
        "num_fewshot": 0,
        "fewshot_config": {"sampler": "first_n", "samples": []},
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        **task,
    }
    (tmp_path / "tasks" / "shown.yaml").write_text(json.dumps(content))  # JSON is YAML
    return tmp_path / "tasks"


@pytest.mark.slow
@pytest.mark.parametrize(
    "question", ["Capital of Peru?", "Capital of Peru?\n", "Capital of Peru? "]
)
def test_scored_tokens_are_those_of_lm_eval(question, tmp_path, tiny_model):
    from lm_eval.models.vllm_causallms import VLLM
    from transformers import AutoTokenizer

    rows = [
        {
            "sample_id": "a",
            "question": question,
            "choices": ["Lima", "Santiago de Chile"],
            "answer": 0,
        }
    ]
    folder = folder_of(tmp_path, rows, output_type="multiple_choice", doc_to_choice="choices")
    done = run(
        "preview",
        "shown",
        "--include_path",
        folder,
        "--set",
        f"model_args.tokenizer={tiny_model()}",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    engine = VLLM.__new__(VLLM)  # its tokenisation alone; no engine
    engine.tokenizer = AutoTokenizer.from_pretrained(tiny_model())
    engine.custom_prefix_token_id, engine.add_bos_token = None, None
    (shown,) = json.loads(done.stdout)
    assert len(shown["requests"]) == 2
    for request, choice in zip(shown["requests"], rows[0]["choices"], strict=True):
        context, continuation = engine._encode_pair(question, f" {choice}")
        ids, start = request["token_ids"], request["scored_from"]
        assert (ids[:start], ids[start:]) == (context, continuation)


def test_lines_fit_a_terminal_and_a_context_is_shown_once(tmp_path, tiny_model, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    rows = [
        {
            "sample_id": "a",
            "question": "Choose a town:",
            "choices": ["Lima", "Oslo", "Rome"],
            "answer": 0,
        }
    ]
    folder = folder_of(tmp_path, rows, output_type="multiple_choice", doc_to_choice="choices")
    done = run(
        "preview",
        "shown",
        "--include_path",
        folder,
        "--set",
        f"model_args.tokenizer={tiny_model()}",
    )
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.count("Choose a town:") == 1
    assert done.stdout.count("(the same context)") == 2


def test_stdout_is_ours_whatever_a_task_prints(tmp_path):
    rows = [{"sample_id": "a", "question": "One?", "answer": "1"}]
    folder = folder_of(
        tmp_path,
        rows,
        generation_kwargs={"until": [], "do_sample": False, "temperature": 0.0, "max_gen_toks": 8},
    )
    task = folder / "shown.yaml"
    task.write_text(task.read_text()[:-1] + ', "process_results": !function utils.score}')
    (folder / "utils.py").write_text(
        "import os\nimport subprocess\nimport sys\n\nprint('loading')\nos.write(1, b'raw')\n"
        "subprocess.run([sys.executable, '-c', 'print(1)'])\n\n\n"
        "def score(doc, results):\n    print('scoring')\n    return {'acc': float(results[0] == doc['answer'])}\n"
    )
    assert (
        json.loads(run("preview", "shown", "--include_path", folder, "--json").stdout)[0]["task"]
        == "shown"
    )
    assert (
        json.loads(run("check", "--include_path", folder, "--json").stdout)["counts"]["error"] == 0
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "import sys\n\nsys.exit('no swipl')\n",
            "EP301 shown: importing utils.score: LeavesError: calls sys.exit",
        ),
        (
            "import package_that_nobody_has\n",
            "EP222 imports package_that_nobody_has, which is not installed",
        ),
    ],
)
def test_a_task_that_cannot_be_shown_says_why(code, said, tmp_path):
    folder = folder_of(
        tmp_path,
        [{"sample_id": "a", "question": "One?", "answer": "1"}],
        output_type="loglikelihood",
    )
    task = folder / "shown.yaml"
    task.write_text(task.read_text()[:-1] + ', "process_results": !function utils.score}')
    (folder / "utils.py").write_text(
        code + "\n\ndef score(doc, results):\n    return {'acc': 0.0}\n"
    )
    done = run("preview", "shown", "--include_path", folder)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["chose"], "did you mean choose?"), (["choose", "--row", "nobody"], "no row 'nobody'")],
)
def test_what_is_not_there_is_named(work_dir, arguments, said):
    done = run("preview", arguments[0], work_dir, *arguments[1:])
    assert done.returncode == 2
    assert said in done.stderr
