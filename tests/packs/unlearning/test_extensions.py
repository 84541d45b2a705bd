"""Packs outside of the clone that extend this one: the examples of examples/packs, and mistakes."""

import json

import pyarrow.parquet as pq
import pytest
import yaml

from custom_metrics.token_logprobs import Response
from evalprep.cli import main
from tests.evalprep.results.writing import Row, write_run
from tests.loops import each
from tests.packs.unlearning.conftest import own_packs, write_config


@pytest.fixture
def packs_folder(tmp_path):
    return own_packs(tmp_path / "my_packs")


@pytest.fixture
def prepared_rows(tmp_path, tiny_model, packs_folder, capsys):
    """A function from tasks to the rows of each, prepared through the command line."""

    def prepare(*tasks, **section):
        config = write_config(
            tmp_path,
            tiny_model(),
            tasks=list(tasks),
            template_dir="my_packs",
            unlearning={"prompts": "plain", **section},
        )
        assert main(["prepare", "--config_path", str(config)]) == 0, capsys.readouterr().err
        files = (tmp_path / "work_dir/unlearning/data").glob("*.parquet")
        return {file.stem: pq.read_table(file).to_pylist() for file in files}

    return prepare


def test_recall_asks_behind_a_prefix(prepared_rows):
    rows = prepared_rows("unlearn_recall", recall_prefix="Unseen. ")
    assert {*rows} == {
        f"{part}_{side}_lp" for part in ("tofu", "recall") for side in ("forget", "holdout")
    }
    for alone, behind in each(zip(rows["tofu_forget_lp"], rows["recall_forget_lp"], strict=True)):
        assert behind["prompt"] == f"Unseen. {alone['prompt']}"
        assert behind["continuations"] == alone["continuations"]


def write_likelihoods(folder, losses):
    """A run of likelihood tasks: task -> losses of its rows."""
    tasks = {
        task: [Row(f"r{at}", doc={"index": at, "roles": ["answer"]}) for at in range(len(values))]
        for task, values in losses.items()
    }
    home = write_run(folder, tasks, metadata={"pack": "unlearning"})
    for task, values in losses.items():
        (file,) = home.glob(f"samples_{task}_*")
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line, loss in zip(lines, values, strict=True):
            reply = Response(logprobs=[-loss], greedy=[False]).dump()
            line |= {"resps": [[reply]], "filtered_resps": [reply]}
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return home


LOSSES = {
    "tofu_forget_lp": [1.0, 2.0, 4.0],
    "tofu_holdout_lp": [2.0, 2.0, 2.0],
    "recall_forget_lp": [2.0, 4.0, 8.0],  # the prefix costs a known text twice its loss
    "recall_holdout_lp": [2.2, 2.2, 2.2],
}


def scores_of(home, packs_folder, capsys):
    options = ["--template_dir", str(packs_folder), "--no-write", "--json"]
    assert main(["score", str(home), *options]) == 0
    return {score["name"]: score for score in json.loads(capsys.readouterr().out)["suite"]}


def test_an_attack_from_outside_stands_among_the_pack_s_own(tmp_path, packs_folder, capsys):
    suite = scores_of(write_likelihoods(tmp_path / "out", LOSSES), packs_folder, capsys)
    assert suite["mia_recall"]["value"] == 1
    assert suite["mia_recall"]["pack"] == "unlearning"
    assert suite["mia_recall"]["n"] == 6
    assert suite["mia_loss"]["value"] == pytest.approx((1 + 0.5 + 0) / 3)


def test_rwku_asks_in_the_model_s_style(prepared_rows, tmp_path):
    rows = prepared_rows("unlearn_rwku")
    assert [row["prompt"] for row in rows["rwku_forget_qa_gen"]] == [
        "Question: Which novel did Ada Bell write?\nAnswer: ",
        "Question: Where was Ada Bell born?\nAnswer: ",
    ]
    task = (tmp_path / "work_dir/unlearning/rwku_neighbor_qa_gen.yaml").read_text()
    assert "- metric: rougeL_recall\n    aggregation: mean\n    higher_is_better: true" in task


def test_rwku_is_scored_by_the_pack_s_functions(tmp_path, packs_folder, capsys):
    def replies(*texts):
        doc = {"target": "The Glass Ferry"}
        return [Row(f"r{at}", doc=doc, response=text) for at, text in enumerate(texts)]

    tasks = {
        "rwku_forget_fb_gen": replies("Glass"),
        "rwku_forget_qa_gen": replies("The Glass Ferry", "no"),
        "rwku_neighbor_qa_gen": replies("the glass ferry"),
    }
    home = write_run(tmp_path / "out", tasks, metadata={"pack": "unlearning"})
    suite = scores_of(home, packs_folder, capsys)
    assert suite["rwku_forget_fb"]["value"] == pytest.approx(1 / 3)
    assert suite["rwku_forget_qa"]["value"] == pytest.approx(1 / 2)
    assert suite["rwku_forget"]["value"] == pytest.approx(5 / 12)
    assert suite["rwku_neighbor_qa"]["value"] == 1
    options = ["--template_dir", str(packs_folder), "--json"]
    assert main(["leaderboard", str(home), *options]) == 0
    shown = json.loads(capsys.readouterr().out)["shown"]
    assert shown == ["unlearning/rwku_forget", "unlearning/rwku_neighbor_qa"]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"extends": "unlerning"}, "did you mean unlearning?"),
        ({"suite_scores": {"mia_loss": {"function": "micro"}}}, "has a 'mia_loss' already"),
        ({"tasks": {"tofu_ra_lp": {"template": "likelihood.yaml"}}}, "'tofu_ra_lp' is also a task"),
        ({"default_tasks": ["tofu_ra_lp"]}, "default_tasks of a pack that extends unlearning"),
        ({"suite_scores": {"a": {"function": "mean", "needs": ["mia_los"]}}}, "mia_loss"),
        ({"tasks": {"a": {"template": "likelyhood.yaml"}}}, "does not exist"),
    ],
)
def test_mistakes_of_an_extension(tmp_path, capsys, entry, reason):
    folder = tmp_path / "my_packs/added"
    folder.mkdir(parents=True)
    (folder / "pack.yaml").write_text(yaml.safe_dump({"extends": "unlearning"} | entry))
    assert main(["list", "--template_dir", str(tmp_path / "my_packs")]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())
