"""A run in shards: every unit in one of them, and merged the files of the plain run."""

import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evalprep.errors import BadInput
from evalprep.run.units import Cut, plan_units
from evalprep.status import Job
from evalprep.verbs.run import DEFAULT_UNIT, read_cut

from .conftest import task


class Task:
    """What planning asks lm-eval's object."""

    def __init__(self, rows, shots=0):
        self.eval_docs, self._shots = range(rows), shots

    def get_config(self, key):
        return self._shots if key == "num_fewshot" else None


JOB = Job("dummy", {}, ["a"], {})
SIZES = st.lists(st.integers(1, 3_000), min_size=1, max_size=6)


@given(SIZES, st.integers(1, 9), st.sampled_from([0, 7, 500, DEFAULT_UNIT]))
def test_every_row_is_in_one_shard_and_no_shard_has_much_more(sizes, shards, rows):
    tasks = {f"t{number}": Task(size) for number, size in enumerate(sizes)}
    parts = [plan_units(tasks, JOB, Cut(rows, k, shards), []) for k in range(1, shards + 1)]
    seen = [(unit.task, row) for part in parts for unit in part for row in unit_rows(unit)]
    assert len(seen) == len(set(seen)) == sum(sizes)
    loads = [sum(unit.rows for unit in part) for part in parts]
    largest = max(unit.rows for part in parts for unit in part)
    assert max(loads) - min(loads) <= largest


def unit_rows(unit):
    return range(unit.first, unit.first + unit.rows)


def test_a_task_with_drawn_examples_stays_whole():
    tasks = {"drawn": Task(100, shots=3), "other": Task(100)}
    parts = [plan_units(tasks, JOB, Cut(0, k, 4), []) for k in range(1, 5)]
    drawn = [unit for part in parts for unit in part if unit.task == "drawn"]
    assert [(unit.rows, unit.whole) for unit in drawn] == [(100, True)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], Cut(DEFAULT_UNIT)),
        (["500"], Cut(500)),
        (["2/8"], Cut(DEFAULT_UNIT, 2, 8)),
        (["2/8", "0"], Cut(0, 2, 8)),
    ],
)
def test_what_shard_means(words, expected):
    assert read_cut(words) == expected


@pytest.mark.parametrize("word", ["0/4", "5/4", "a/4", "1/", "-1", "1.5"])
def test_no_such_shard(word):
    with pytest.raises(BadInput, match="K/N with K from 1 to N"):
        read_cut([word])


PASSING = {"date", "total_evaluation_time_seconds", "pretty_env_info", "git_hash", "config"}


def files_of(folder):
    """Command -> results without the facts of the process; task and command -> sample lines."""
    results, samples = {}, {}
    for path in folder.glob("*/results_*.json"):
        data = json.loads(path.read_text())
        stamp = path.stem.removeprefix("results_")
        name = next(iter(data["configs"].values()))["metadata"]["command"]
        results[name] = {
            key: value
            for key, value in data.items()
            if key not in PASSING and not key.startswith("model_name")
        }
        for lines in path.parent.glob(f"samples_*_{stamp}.jsonl"):
            samples[name, re.sub(r"_\d{4}-.*", "", lines.name)] = lines.read_text()
    return results, samples


NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


def numbers(text):
    return [float(number) for number in NUMBER.findall(text)]


def in_shards(made, work_dir, shards):
    """Runs every shard, the last one first, and merges them."""
    for number in range(shards, 0, -1):
        made.command("run", work_dir, "--shard", f"{number}/{shards}", check=True)
    return made.command("merge", work_dir, check=True)


def plain_files(made, tmp_path):
    made.command("run", str(tmp_path / "work_dir"), check=True)
    plain = files_of(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "plain")
    return plain


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["dummy", "hf"])
def test_four_shards_give_the_files_of_the_plain_run(backend, project, tiny_model, tmp_path):
    model = {"model_name": "dummy"}
    if backend == "hf":
        model = {"model_name": str(tiny_model()), "device": "cpu", "max_model_len": 256}
    # The dummy's log-likelihoods are random.
    texts = [task(name, "rows.jsonl") for name in ("first_text", "last_text")]
    made = project(texts if backend == "dummy" else None, backend=backend, **model)
    plain = plain_files(made, tmp_path)
    work_dir = str(tmp_path / "work_dir")
    made.command("run", work_dir, "--shard", "4/4", check=True)
    early = made.command("merge", work_dir)
    assert early.returncode == 1
    assert "shards 1, 2, 3 of 4 are not finished" in early.stderr
    done = in_shards(made, work_dir, 4)
    assert "results: " in done.stdout
    results, samples = files_of(tmp_path / "out")
    assert results == plain[0]
    assert samples.keys() == plain[1].keys()
    for name, text in samples.items():
        # The last digits of a log-likelihood depend on which requests share a padded batch.
        assert NUMBER.sub("N", text) == NUMBER.sub("N", plain[1][name])
        assert numbers(text) == pytest.approx(numbers(plain[1][name]), abs=1e-3)
    again = made.command("run", work_dir, "--shard", "1/4", check=True)
    assert "done already" in again.stdout


@pytest.mark.slow
def test_stages_run_in_shards_one_after_the_other(project, tmp_path):
    import shutil

    from tests import PROJECT_ROOT

    shutil.copytree(PROJECT_ROOT / "tests/data/packs/proof", tmp_path / "packs/proof")
    made = project([task("unused", "rows.jsonl")])
    config = {
        "model_name": "m",
        "backend": "dummy",
        "tasks": ["proof_answer", "proof_sure"],
        "template_dir": "packs",
        "work_dir": "work_dir",
        "output_path": "out",
        "proof": {"stock_data": "none.jsonl"},
    }
    made.config_file.write_text(yaml.safe_dump(config))
    made.command("prepare", "--quiet", "--config_path", str(made.config_file), check=True)
    work_dir = str(tmp_path / "work_dir")
    first = in_shards(made, work_dir, 2)
    assert "next: the shards again, now for proof_sure" in first.stdout
    second = in_shards(made, work_dir, 2)
    assert "next: evalprep run" in second.stdout
    results, _ = files_of(tmp_path / "out")
    assert {task for data in results.values() for task in data["results"]} >= {
        "proof_answer",
        "proof_sure",
    }
