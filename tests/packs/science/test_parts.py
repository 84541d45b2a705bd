"""Parts of prediction folders through `score`, and one name per model in all that it writes."""

import csv
import json

import pytest

from evalprep.cli import main
from tests.packs.science.runs import write_run
from tests.packs.science.test_scores import seeded

TASKS = {"bioasq_list_qa", "scierc_ner", "scifact_entailment"}


@pytest.fixture
def predictions(tmp_path):
    """Predictions of three models, as the original's scripts lay them out."""
    for name in ("tulu_7b", "tulu_70b", "llama_8b"):
        write_run(tmp_path / "predictions" / name, tasks=TASKS)
    return tmp_path / "predictions"


def scores_of(capsys, *arguments):
    assert main(["score", *map(str, arguments), "--no_write", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    return data if isinstance(data, list) else [data]


def test_the_first_rows_of_each_task(predictions, capsys):
    (scores,) = scores_of(capsys, predictions / "tulu_7b", "--limit", 5)
    suite = {score["name"]: score for score in scores["suite"]}
    assert suite["science_bioasq"]["n"] == 5
    assert any("first 5 rows" in note for note in scores["notes"])


def test_the_first_rows_are_those_of_the_file(predictions, tmp_path, capsys):
    """A run whose later replies are all wrong is perfect over its first rows."""

    def reply(_task, row):
        number = int(row["_instance_id"].rsplit(":", 1)[1])
        return row["output"] if number < 3 else "[]"

    numbers = write_run(tmp_path / "spoilt", reply, tasks={"bioasq_list_qa"})
    (whole,) = scores_of(capsys, numbers)
    (part,) = scores_of(capsys, numbers, "--limit", 1)
    values = [
        next(score["value"] for score in scores["suite"] if score["name"] == "science_bioasq")
        for scores in (whole, part)
    ]
    assert values[0] < 1
    assert values[1] in {0.0, 1.0}


def test_tasks_and_models_by_pattern(predictions, capsys):
    scores = scores_of(capsys, predictions, "--models", "tulu*", "--tasks", "sci*")
    assert len(scores) == 2
    tasks = {task for of_run in scores for score in of_run["suite"] for task in score["tasks"]}
    assert "bioasq_list_qa" not in {task["task"] for of_run in scores for task in of_run["tasks"]}
    assert {"scierc_ner", "scifact_entailment"} <= tasks


def test_a_part_leaves_the_scores_of_the_whole_alone(predictions, capsys):
    folder = predictions / "tulu_7b"
    assert main(["score", str(folder)]) == 0
    (whole,) = folder.glob("scores_*")
    before = (whole / "scores.json").read_bytes()
    assert main(["score", str(folder), "--limit", "2"]) == 0
    capsys.readouterr()
    assert (whole / "scores.json").read_bytes() == before
    assert (folder / f"{whole.name}_part/scores.json").is_file()


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--tasks", "bioask*", "nothing is called 'bioask*'"),
        ("--models", "tuluu", "did you mean"),
        ("--limit", "0", "is not a whole number from 1"),
    ],
)
def test_what_nothing_matches_is_refused(predictions, capsys, option, value, reason):
    try:
        code = main(["score", str(predictions), option, value])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert reason in capsys.readouterr().err


def test_a_group_of_seeds_and_a_run_of_its_name_are_two_rows(tmp_path, capsys):
    for seed in (1, 2):
        seeded(tmp_path / f"runs/s{seed}/m{seed}", seed, model="org/tulu")
    seeded(tmp_path / "runs/other/tulu", 1, model="org/llama")
    labels = ["--label", "tulu,first,second"]
    assert main(["score", str(tmp_path / "runs"), "--out", str(tmp_path / "out"), *labels]) == 0
    capsys.readouterr()
    with (tmp_path / "out/tables/summary.tsv").open(newline="") as file:
        names = [line[0] for line in csv.reader(file, delimiter="\t")][2:]
    assert sorted(names) == ["first", "tulu"]


def test_a_model_has_one_name_in_all_outputs(tmp_path, capsys):
    """The folders of the original's script are named otherwise than the models in them."""
    for model in ("org/Chat-7B", "/data/models/tulu-2"):
        home = tmp_path / "runs" / f"mine_{model[-1]}" / "science_adapt/eleuther.jsonl/x"
        seeded(home, 1, model=model)
    names = ["Chat-7B", "tulu-2"]
    assert main(["score", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]) == 0
    headings = [line for line in capsys.readouterr().out.splitlines() if line in names]
    assert sorted(headings) == names
    assert sorted(path.name for path in (tmp_path / "out/by_model").iterdir()) == names
    assert sorted(path.parent.name for path in (tmp_path / "out").glob("*/scores.json")) == names
    with (tmp_path / "out/tables/summary.tsv").open(newline="") as file:
        assert sorted(line[0] for line in csv.reader(file, delimiter="\t") if line[0]) == names
    assert main(["leaderboard", str(tmp_path / "runs"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert sorted(row["label"] for row in rows) == names


def test_the_median_has_an_interval_of_its_own(predictions, tmp_path, capsys):
    def reply(task, row):
        number = int(row["_instance_id"].rsplit(":", 1)[1])
        spoilt = {"bioasq_list_qa": 2, "scierc_ner": 3, "scifact_entailment": 4}[task]
        return "[]" if number % spoilt == 0 else row["output"]

    (scores,) = scores_of(capsys, write_run(tmp_path / "model", reply, tasks=TASKS))
    suite = {score["name"]: score for score in scores["suite"]}
    median = suite["science_median"]
    parts = [suite[name] for name in ("science_bioasq", "science_scierc", "science_scifact")]
    assert median["low"] < median["value"] < median["high"]
    assert all((median["low"], median["high"]) != (part["low"], part["high"]) for part in parts)


def asked(folder, family):
    """A run whose tasks keep the family of their prompts."""
    home = seeded(folder, 1, model=f"org/{folder.name}")
    (file,) = home.glob("results_*")
    results = json.loads(file.read_text())
    metadata = {"pack": "science", "science": {"prompt_family": family}}
    for path in home.glob("samples_*"):
        task = path.name.removeprefix("samples_").rpartition("_")[0]
        results.setdefault("configs", {})[task] = {"task": task, "metadata": metadata}
    file.write_text(json.dumps(results))
    return home


def test_prompt_families_stand_in_groups_whose_headings_name_the_key(tmp_path, capsys):
    for name, family in (("a", "tulu"), ("b", "llama3"), ("c", "tulu")):
        asked(tmp_path / "runs" / name, family)
    assert main(["leaderboard", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "== science.prompt_family: tulu" in shown
    assert "== science.prompt_family: llama3" in shown
    assert "other question" not in shown
    assert (tmp_path / "out/science.prompt_family_llama3/leaderboard.csv").is_file()
    assert main(["leaderboard", str(tmp_path / "runs"), "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    labels = {group["heading"]: [row["label"] for row in group["rows"]] for group in groups}
    assert labels == {
        "science.prompt_family: tulu": ["a", "c"],
        "science.prompt_family: llama3": ["b"],
    }
    assert main(["leaderboard", str(tmp_path / "runs"), "--allow", "prompt", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 3
