"""The stand-in data, a folder for configs, and the two runs that the slow tests share."""

import shutil
from pathlib import Path

import pytest
import yaml

from evalprep.config.file import load_config
from evalprep.packs.finding import find_packs
from evalprep.prepare.preparation import prepare
from tests import processes

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests" / "data" / "unlearning"
LIMIT = 6


@pytest.fixture(scope="session")
def packs():
    return find_packs(ROOT / "task_templates")


@pytest.fixture(scope="session")
def pack(packs):
    return packs["unlearning"]


def write_config(folder, model, *, unlearning=None, **core):
    """An eval_config.yaml on the stand-in data."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        **({"model_name": str(model)} if model is not None else {}),
        "tasks": ["unlearn_tofu"],
        "device": "cpu",
        "dtype": "float32",
        "max_model_len": 2048,
        **core,
        "unlearning": {
            "tofu": str(DATA / "tofu"),
            "muse": str(DATA / "muse_news"),
            **(unlearning or {}),
        },
    }
    path = folder / "eval_config.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture
def prepared(tmp_path, tiny_model):
    """A function that prepares a config and returns the preparation."""

    def make(unlearning=None, **core):
        config, packs = load_config(
            write_config(tmp_path, tiny_model(), unlearning=unlearning, **core)
        )
        return prepare(config, packs)

    return make


def start(command, log):
    """Run one prepared command to its end."""
    words, env = command.argv[1:], dict(command.env)
    done = processes.run(*words, program="lm_eval", env=env, timeout=800)
    log.write_text(done.stdout + done.stderr)
    assert done.returncode == 0, log.read_text()[-3000:]


# The same texts through lm-eval's own loglikelihood, to hold our sums against. The prompt ends in
# no blank, so that the harness scores the same tokens.
def stock_task(work_dir):
    return {
        "task": "stock_verbmem",
        "dataset_path": "parquet",
        "dataset_kwargs": {
            "data_files": {
                "test": str(work_dir / "unlearning" / "data" / "muse_verbmem_lp.parquet")
            }
        },
        "test_split": "test",
        "output_type": "loglikelihood",
        "doc_to_text": "prompt",
        "doc_to_target": "{{continuations[0]}}",
        # Its default metrics include exp(-mean), which overflows on a random model.
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
        "fewshot_config": {"sampler": "first_n", "samples": []},
        "metadata": {"version": 1.0},
    }


def own_packs(folder):
    """The folders of examples/packs: extensions of the pack, and a benchmark."""
    shutil.copytree(ROOT / "examples" / "packs", folder, dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def run_of(tmp_path_factory, tiny_model):
    """A function from a back end to the folder of its finished run over TOFU, MUSE and, on hf, the hf-only tasks."""
    finished = {}

    def run(backend):
        if backend not in finished:
            folder = tmp_path_factory.mktemp(f"unlearning-{backend}")
            path = write_config(
                folder,
                tiny_model(),
                tasks=[
                    "unlearn_tofu",
                    "unlearn_muse",
                    "secrets_lp",
                    stock_task(folder / "work_dir"),
                ],
                backend=backend,
                limit=LIMIT,
                gen_kwargs={"max_gen_toks": 24},
                batch_size=64 if backend == "hf" else "auto",
                template_dir=str(own_packs(folder / "packs")),
                unlearning={"metrics": ["mia_min_k_plus_plus", "mia_gradnorm"]},
            )
            config, packs = load_config(path)
            preparation = prepare(config, packs)
            assert len(preparation.commands) == (1 if backend == "hf" else 2)
            start(preparation.commands[0], folder / "log.txt")
            finished[backend] = folder / "eval_results"
        return finished[backend]

    return run
