"""`evalprep check` from the command line: shipped packs, the preparation, and what it costs."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests import processes

ROOT = Path(__file__).parents[3]
FIXTURES = {
    "Llama-3.1-8B-Instruct": "meta_instruct",
    "Llama-3.1-8B": "meta_pretrain",
    "Llama-3.2-3B-Instruct": "meta_instruct",
    "Llama-3.2-3B": "meta_mmlu_pretrain",
}


def command(verb, *arguments, cwd=ROOT):
    return processes.run(verb, *arguments, cwd=cwd)


def measured(*arguments):
    """A command in a process of its own, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "evalprep", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def meta_config(folder, shared, model, **changes):
    data = shared / "vectors" / "meta_evals"
    config = {
        "model_name": f"meta-llama/{model}",
        "evals_dataset": str(data / f"{model}-evals"),
        "tasks": FIXTURES[model],
        "ground_truth": {
            "ifeval": str(data / "ground_truth" / "instruction-following-eval"),
            "math": str(data / "ground_truth" / "MATH"),
        },
        "work_dir": "work_dir",
        "output_path": "out",
        **changes,
    }
    path = folder / f"{model}.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.mark.parametrize(
    "model",
    [
        name if at == 0 else pytest.param(name, marks=pytest.mark.slow)
        for at, name in enumerate(FIXTURES)
    ],
)
def test_the_meta_pack_has_no_error_and_no_warning(model, tmp_path, shared, tiny_model):
    config = meta_config(tmp_path, shared, model)
    done, seconds = measured(
        "check", "--config", config, "--set", f"model_args.tokenizer={tiny_model()}", "--json"
    )
    report = json.loads(done.stdout)
    assert done.returncode == 0
    # The stand-in for the tokenizer does not know Llama's markup; everything else must be right.
    codes = {
        finding["code"]
        for finding in report["findings"]
        if finding["level"] in {"error", "warning"}
    } - {"EP604", "EP608"}
    assert codes == set(), [finding for finding in report["findings"] if finding["code"] in codes]
    assert sum(report["tasks"].values()) > 50
    assert not (tmp_path / "work_dir").exists()
    assert seconds < 20  # 2 to 5 s on an idle machine; benchmarks/ hold the exact number


@pytest.mark.parametrize("config", ["eval_config.yaml"])
def test_the_shipped_config_has_no_error_and_no_warning(config, tmp_path):
    done = command(
        "check",
        "--config",
        ROOT / config,
        "--set",
        f"work_dir={tmp_path}/work",
        "--set",
        f"output_path={tmp_path}/out",
        "--set",
        "backend=dummy",
        "--json",
    )
    report = json.loads(done.stdout)
    assert report["counts"]["error"] == report["counts"]["warning"] == 0, report["findings"]


def test_the_science_pack_has_no_error_and_no_warning(tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "model_name": "dummy",
                "backend": "dummy",
                "tasks": "science_adapt",
                "science": {"dataset": str(ROOT / "task_templates" / "science" / "demo")},
            }
        )
    )
    done = command("check", "--config", config, "--json")
    report = json.loads(done.stdout)
    assert report["counts"]["error"] == report["counts"]["warning"] == 0, report["findings"]
    assert len(report["tasks"]) == 9


def bad_config(folder):
    data = folder / "rows.jsonl"
    data.write_text('{"sample_id": "a", "question": "One?", "answer": "1"}\n')
    task = {
        "task": "own",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "doc_to_text": "question",
        "doc_to_target": "answer",
        "generation_kwargs": {"until": [], "max_gen_toks": 8},
        "num_fewshot": 0,
        "fewshot_config": {"sampler": "first_n", "samples": []},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump({"model_name": "dummy", "backend": "dummy", "tasks": [task]}))
    return path, task


def test_an_error_stops_the_preparation_before_anything_is_written(tmp_path):
    config, _ = bad_config(tmp_path)
    done = command("prepare", "--config_path", config)
    assert done.returncode == 2
    assert "EP201" in done.stderr
    assert "temperature" in done.stderr
    assert done.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".")) == [
        "config.yaml",
        "rows.jsonl",
    ]


def test_a_warning_is_printed_beside_the_command(tmp_path):
    config, task = bad_config(tmp_path)
    task["generation_kwargs"] = {"until": [], "do_sample": False, "temperature": 0.0}
    config.write_text(yaml.safe_dump({"model_name": "dummy", "backend": "dummy", "tasks": [task]}))
    done = command("prepare", "--config_path", config)
    assert done.returncode == 0
    assert "EP206" in done.stderr
    assert str(tmp_path / "work_dir") in done.stderr
    assert ".work_dir.build" not in done.stderr
    assert "lm_eval" in done.stdout


def test_prepare_check_looks_at_everything_and_writes_nothing(tmp_path):
    config, task = bad_config(tmp_path)
    task["generation_kwargs"] = {
        "until": [],
        "do_sample": False,
        "temperature": 0.0,
        "max_gen_toks": 8,
    }
    task["filter_list"] = [
        {
            "name": "digits",
            "filter": [
                {"function": "regex", "regex_pattern": "Result: (x+)"},
                {"function": "take_first"},
            ],
        }
    ]
    config.write_text(yaml.safe_dump({"model_name": "dummy", "backend": "dummy", "tasks": [task]}))
    done = command("prepare", "--config_path", config, "--check")
    assert done.returncode == 2
    assert "EP502" in done.stderr
    assert not (tmp_path / "work_dir").exists()


def test_a_prepared_folder_can_be_checked_again(tmp_path):
    config, task = bad_config(tmp_path)
    task["generation_kwargs"] = {
        "until": [],
        "do_sample": False,
        "temperature": 0.0,
        "max_gen_toks": 8,
    }
    config.write_text(yaml.safe_dump({"model_name": "dummy", "backend": "dummy", "tasks": [task]}))
    command("prepare", "--config_path", config)
    done = command("check", tmp_path / "work_dir")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors" in done.stdout
    edited = tmp_path / "work_dir" / "inline" / "own.yaml"
    edited.write_text(edited.read_text().replace("temperature: 0.0", "temperature: 0.5"))
    done = command("check", tmp_path / "work_dir", "--depth", "static")
    assert "EP205" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--depth", "static", "--estimate"], "--estimate needs the tasks loaded"),
        (["--depth", "static", "--limit", "2"], "--limit needs the tasks loaded"),
        (["--calibrate", "2"], "only a prepared work folder or a config can be run"),
        (["--limit", "0"], "is not a whole number from 1"),
        (["--set", "max_model_len=-1"], "a whole number >= 1"),
        (["--include_path", "nowhere"], "is not a folder"),
    ],
)
def test_arguments_without_effect_are_refused(arguments, said, tmp_path):
    done = command("check", "--include_path", tmp_path, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_notes_of_one_kind_are_counted(tmp_path):
    config, task = bad_config(tmp_path)
    task["generation_kwargs"] = {"until": [], "do_sample": False, "max_gen_toks": 8}
    tasks = [{**task, "task": f"own_{number}"} for number in range(6)]
    config.write_text(yaml.safe_dump({"model_name": "dummy", "backend": "dummy", "tasks": tasks}))
    done = command("check", "--config_path", config)
    assert done.stdout.count("note EP231: 6 tasks: ") == 1
    assert "(and 5 more like it)" in " ".join(done.stdout.split())
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if "/" not in line)


def test_a_thousand_tasks_with_one_mistake_are_one_paragraph(tmp_path):
    folder = tmp_path / "tasks"
    folder.mkdir()
    for number in range(1_000):
        text = f"group: [old]\ntask: capital_{number}\ndataset_path: nowhere/capitals\noutput_type: generate_until\n"
        (folder / f"{number}.yaml").write_text(text)
    done = command("check", "--depth", "static", "--include_path", folder)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) < 20
    assert done.stdout.startswith("error EP125: 1000 tasks: A task file has")


def test_json_says_what_a_code_means_and_what_to_do(tmp_path):
    (tmp_path / "task.yaml").write_text(
        "task: capital\ndataset_path: nowhere/capitals\ntest_split: test\n"
    )
    done = command("check", "--depth", "static", "--json", "--include_path", tmp_path)
    assert all(
        finding["meaning"] and finding["fix"] for finding in json.loads(done.stdout)["findings"]
    )


def test_house_style_is_for_our_own_folders_or_on_request(tmp_path):
    (tmp_path / "task.yaml").write_text(
        "task: capital\ndataset_path: nowhere/capitals\ntest_split: test\n"
    )
    plain = command("check", "--depth", "static", "--include_path", tmp_path)
    styled = command("check", "--depth", "static", "--house-style", "--include_path", tmp_path)
    assert "EP212" not in plain.stdout
    assert "EP212" in styled.stdout


def test_lm_evals_own_tasks_get_notes_not_advice_to_their_author(tmp_path):
    from evalprep.check.files import stock_folder

    done = command(
        "check",
        "--depth",
        "static",
        "--json",
        "--include_path",
        stock_folder() / "tasks" / "arithmetic",
    )
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert {finding["code"] for finding in report["findings"]} == {"EP120"}
    assert len(report["tasks"]) == 10


def test_explain():
    done = command("check", "--explain", "ep201")
    assert done.returncode == 0
    assert "temperature" in done.stdout
    assert command("check", "--explain", "EP000").returncode == 2
