"""Saved outputs scored anew, on runs that lm-eval itself wrote with its dummy model, which says "lol" to everything."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from evalprep.cli import main
from evalprep.compare import compare_runs
from evalprep.errors import BadInput
from evalprep.rescore import RunWriter, Workers, rescore_task
from evalprep.results import load_run
from tests import processes

pytestmark = pytest.mark.slow

ROWS = 12
TASKS = ("says_lol", "choose one")


def generation_task(rows):
    return {
        "task": "says_lol",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(rows)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "prompt",
        "doc_to_target": "target",
        "generation_kwargs": {
            "do_sample": False,
            "temperature": 0.0,
            "until": ["\n"],
            "max_gen_toks": 10,
        },
        "fewshot_config": {"sampler": "first_n", "samples": []},
        "filter_list": [
            {"name": "strict-match", "filter": [regex("(never)"), {"function": "take_first"}]},
            {"name": "flexible-extract", "filter": [regex("(lol)"), {"function": "take_first"}]},
        ],
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        "metadata": {
            "version": 1.0,
            "primary_metric": "exact_match",
            "primary_filter": "flexible-extract",
        },
    }


def regex(pattern):
    return {"function": "regex", "regex_pattern": pattern}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders of a full run, a `--predict_only` run, and the task YAMLs."""
    home = tmp_path_factory.mktemp("rescore")
    rows = home / "rows.jsonl"
    with rows.open("w") as file:
        for at in range(ROWS):
            row = {
                "sample_id": f"r{at}",
                "prompt": f"Question {at}: é?",
                "target": "lol" if at % 3 else "no",
            }
            row |= {
                "previously_is_correct": bool(at % 4),
                "previous_output_prediction_text": "lol" if at % 2 else "x",
            }
            file.write(json.dumps(row) + "\n")
    tasks = home / "tasks"
    tasks.mkdir()
    generation = generation_task(rows)
    (tasks / "generation.yaml").write_text(yaml.safe_dump(generation))
    choice = {
        key: generation[key]
        for key in ("dataset_path", "dataset_kwargs", "test_split", "doc_to_text")
    }
    choice |= {
        "task": "choose one",
        "output_type": "multiple_choice",
        "doc_to_choice": ["lol", "no"],
    }
    choice |= {"doc_to_target": "target", "fewshot_config": generation["fewshot_config"]}
    choice |= {"metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}]}
    (tasks / "choice.yaml").write_text(yaml.safe_dump(choice))
    for name, flag in (("full", "--log_samples"), ("bare", "--predict_only")):
        words = ["run", "--model", "dummy", "--tasks", "says_lol,choose one", flag]
        words += ["--include_path", tasks, "--output_path", home / name]
        processes.run(*words, program="lm_eval", check=True)
    return home


@pytest.fixture(autouse=True)
def offline(runs, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(runs / "cache"))


@pytest.mark.parametrize("jobs", [None, 2], ids=["in this process", "in a pool"])
def test_an_unchanged_scorer_changes_nothing(runs, jobs):
    run = load_run(runs / "full")
    pools = []
    with Workers(jobs) as workers:
        for name in TASKS:
            result = rescore_task(run, name, workers=workers, work_dir=runs / "tasks")
            pools.append(workers.pool)
            assert (result.n, result.up, result.down, result.first_scored, result.errors) == (
                ROWS,
                0,
                0,
                0,
                {},
            )
            assert result.scorer_changed == []
            assert (
                result.now
                == result.previous
                == run.tasks[name].metric(result.metric, result.filter).value
            )
    assert len(set(pools)) == 1, "one pool for all tasks"
    assert (pools[0] is None) is (jobs is None), "a few rows are not worth a process"


def elsewhere(runs, folder, **config):
    """The full run on a machine without its work folder and its data; entries of the tasks' configuration replaced."""
    shutil.copytree(runs / "full", folder)
    (file,) = folder.rglob("results_*.json")
    text = file.read_text().replace(str(runs), "/home/somebody")
    results = json.loads(text)
    for one in results["configs"].values():
        one.update(config)
    file.write_text(json.dumps(results))
    return folder


def test_a_run_of_somebody_else_is_rescored_without_its_data(runs, tmp_path):
    run = load_run(elsewhere(runs, tmp_path / "theirs"))
    for name in TASKS:
        result = rescore_task(run, name)
        assert (result.n, result.up, result.down, result.first_scored, result.errors) == (
            ROWS,
            0,
            0,
            0,
            {},
        )
        assert result.now == result.previous
        assert "that the results file names" in result.scorer


@pytest.mark.parametrize(
    "config",
    [
        {"process_results": "def process_results(doc, results):\n    open('/tmp/owned', 'w')"},
        {"metric_list": [{"metric": "<function owned at 0x7f>"}]},
        {"metric_list": [{"metric": "somebody/metric", "hf_evaluate": True}]},
        {
            "filter_list": [
                {"name": "x", "filter": [{"function": "custom", "filter_fn": "<function f>"}]}
            ]
        },
        {"filter_list": [{"name": "x", "filter": "regex"}]},
        {"output_type": "anything"},
    ],
    ids=["results", "metric", "metric of a hub", "filter", "a filter of wrong type", "output type"],
)
def test_code_that_only_the_results_name_is_not_run(runs, tmp_path, capsys, config):
    folder = elsewhere(runs, tmp_path / "theirs", **config)
    before = {path.name for path in folder.rglob("*")}
    assert main(["rescore", str(folder)]) == 2
    said = capsys.readouterr().err
    assert "--work_dir" in said
    assert all(name in said for name in TASKS)
    assert {path.name for path in folder.rglob("*")} == before


def test_a_template_in_a_results_file_is_not_run(runs, tmp_path):
    evil = "{{ cycler.__init__.__globals__.os.system('touch " + str(tmp_path / "owned") + "') }}"
    config = {
        "doc_to_text": evil,
        "doc_to_target": evil,
        "doc_to_choice": evil,
        "description": evil,
    }
    run = load_run(elsewhere(runs, tmp_path / "theirs", **config))
    for name in TASKS:
        assert rescore_task(run, name).now == run.tasks[name].primary.value
    assert not (tmp_path / "owned").exists()


def test_what_cannot_be_rescored_is_named_and_the_rest_is_done(runs, tmp_path, capsys):
    folder = elsewhere(runs, tmp_path / "theirs")
    (file,) = folder.rglob("results_*.json")
    results = json.loads(file.read_text())
    results["configs"]["says_lol"]["process_results"] = "def process_results(doc, results): ..."
    file.write_text(json.dumps(results))
    out = tmp_path / "out"
    assert main(["rescore", str(folder), "--out", str(out)]) == 0
    assert "says_lol: not rescored: " in capsys.readouterr().out
    written = load_run(out)
    assert list(written.tasks) == ["choose one"]
    assert any("says_lol" in note and "not rescored" in note for note in written.notes)
    assert written.tasks["choose one"].logged.settings.dataset.path == "json"


def test_the_scorer_and_the_model_are_told_apart(runs):
    replay = rescore_task(load_run(runs / "full"), "says_lol", work_dir=runs / "tasks").replay
    rows = range(ROWS)
    published = [bool(at % 4) for at in rows]
    again = [
        bool(at % 3) and bool(at % 2) for at in rows
    ]  # "lol" is right, was published, and is extracted
    now = [bool(at % 3) for at in rows]
    assert replay.n == ROWS
    assert replay.agree == sum(p == r for p, r in zip(published, again, strict=True))
    differs = [(p, r) for p, r, n in zip(published, again, now, strict=True) if n != p]
    assert replay.scorer_differs == sum(p != r for p, r in differs)
    assert replay.model_differs == sum(p == r for p, r in differs)
    assert min(replay.scorer_differs, replay.model_differs, replay.milder + replay.stricter) > 0


def test_a_changed_scorer_is_named_with_every_changed_verdict(runs, tmp_path):
    task = generation_task(runs / "rows.jsonl")
    task["filter_list"][1]["filter"][0] = regex("(never)")
    (tmp_path / "generation.yaml").write_text(yaml.safe_dump(task))
    result = rescore_task(load_run(runs / "full"), "says_lol", work_dir=tmp_path)
    assert result.scorer_changed == ["filter_list"]
    assert (result.up, result.down, result.now) == (0, 8, 0.0)
    change = result.changes[0]
    assert (change.sample_id, change.before_answer, change.now_answer, change.target) == (
        "r1",
        "lol",
        "[invalid]",
        "lol",
    )


def test_a_run_that_was_never_scored_gets_the_scores_of_one_that_was(runs, tmp_path):
    bare, full = load_run(runs / "bare"), load_run(runs / "full")
    writer = RunWriter(bare, tmp_path / "rescored", tmp_path)
    results = [rescore_task(bare, name, work_dir=runs / "tasks", writer=writer) for name in TASKS]
    writer.finish({})
    assert [result.first_scored for result in results] == [ROWS, ROWS]
    assert [result.previous for result in results] == [None, None]
    written = load_run(tmp_path / "rescored")
    says = compare_runs(written, full, tasks=["says_lol"])
    assert says.tasks[0].difference.agreement == 1.0
    assert says.rows["says_lol"].identical_outputs == ROWS
    for metric in full.tasks["says_lol"].metrics:
        assert metric.metric == "exact_match"
        again = written.tasks["says_lol"].metric(metric.metric, metric.filter)
        assert (again.value, again.direction) == (metric.value, "up")
    first = next(written.tasks["says_lol"].samples("strict-match"))
    assert (first.answer, first.metrics) == ("[invalid]", {"exact_match": 0.0})


def test_a_scorer_that_fails_on_some_replies_is_reported_and_goes_on(runs, tmp_path):
    task = generation_task(runs / "rows.jsonl")
    (tmp_path / "scorer.py").write_text(
        "def score(doc, results):\n"
        "    if doc['sample_id'] == 'r1':\n"
        "        raise RuntimeError('odd reply')\n"
        "    return {'exact_match': 1.0}\n"
    )
    text = yaml.safe_dump(task) + "process_results: !function scorer.score\n"
    (tmp_path / "generation.yaml").write_text(text)
    result = rescore_task(load_run(runs / "full"), "says_lol", work_dir=tmp_path)
    assert result.errors == {"RuntimeError: odd reply": 1}
    assert result.now == 1.0
    assert "process_results" in result.scorer_changed


def test_the_command(runs, tmp_path, capsys):
    out = tmp_path / "out"
    assert (
        main(["rescore", str(runs / "bare"), "--work_dir", str(runs / "tasks"), "--out", str(out)])
        == 0
    )
    printed = capsys.readouterr().out
    assert "published replies by this scorer" in printed
    assert f"next: evalprep compare {out}" in printed
    assert main(["compare", str(out), "--no_write", "--exit-zero"]) == 0
    capsys.readouterr()
    assert (
        main(
            [
                "rescore",
                str(runs / "full"),
                "--work_dir",
                str(runs / "tasks"),
                "--tasks",
                "says_lol",
                "--no-write",
                "--json",
            ]
        )
        == 0
    )
    data = json.loads(capsys.readouterr().out)
    assert data["tasks"][0]["replay"]["n"] == ROWS
    assert "lm_eval" in data["versions"]


def test_bad_requests(runs, tmp_path, capsys):
    assert main(["rescore", str(runs / "full"), "--work_dir", str(tmp_path / "nowhere")]) == 2
    assert main(["rescore", str(runs / "full"), "--jobs", "0"]) == 2
    assert "--jobs 0\n  allowed: a whole number >= 1" in capsys.readouterr().err
    with pytest.raises(BadInput, match="there is no task of this name"):
        rescore_task(load_run(runs / "full"), "says_lol", work_dir=Path(tmp_path))
