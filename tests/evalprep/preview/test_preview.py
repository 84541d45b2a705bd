"""`evalprep preview`: the text, the tokens and the verdicts are those of the run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

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
        "generation_kwargs": {"until": ["<|end|>"], "do_sample": False, "temperature": 0.0, "max_gen_toks": 8},
        "filter_list": [
            {
                "name": "letter",
                "filter": [{"function": "regex", "regex_pattern": "answer is ([A-D])"}, {"function": "take_first"}],
            }
        ],
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        "num_fewshot": 0,
        "fewshot_config": {"sampler": "first_n", "samples": []},
    }
    config = tmp_path / "config.yaml"
    config.write_text(
        yaml.safe_dump(
            {"model_name": str(tiny_model()), "backend": "hf", "device": "cpu", "max_model_len": 512, "tasks": [task]}
        )
    )
    run("prepare", "--config_path", config, "--quiet")
    return tmp_path / "work_dir"


def run(verb, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "evalprep", verb, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


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
    assert (first["verdicts"]["published"]["value"], first["verdicts"]["published"]["published_verdict"]) == (1.0, True)
    assert (second["verdicts"]["published"]["value"], second["verdicts"]["published"]["published_verdict"]) == (
        0.0,
        False,
    )


def test_the_text_form_says_the_same(work_dir):
    done = run("preview", "choose", work_dir, "--row", "s1", "--all")
    assert "row s1" in done.stdout
    assert QUESTION.strip() in done.stdout
    assert "begin-of-text tokens at the start: 1" in done.stdout
    assert "0:'<|begin|>'" in done.stdout
    assert "published verdict: wrong" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"), [(["chose"], "did you mean choose?"), (["choose", "--row", "nobody"], "no row 'nobody'")]
)
def test_what_is_not_there_is_named(work_dir, arguments, said):
    done = run("preview", arguments[0], work_dir, *arguments[1:])
    assert done.returncode == 2
    assert said in done.stderr
