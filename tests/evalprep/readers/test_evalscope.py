"""Reviews of evalscope, and the files beside them."""

import json

import pytest

from evalprep.cli import main
from evalprep.results import open_run
from tests.evalprep.readers.logs import evalscope_review, write_evalscope, write_lines


def reviews(count=4, wrong=1):
    return [evalscope_review(number, float(number >= wrong)) for number in range(count)]


def samples(run):
    (task,) = run.tasks.values()
    return list(task.samples("none"))


def test_a_review_is_a_row_with_its_texts(tmp_path):
    run = open_run(write_evalscope(tmp_path / "20250101_000000", "m", reviews()), ())
    assert (run.tool, run.model, list(run.tasks)) == ("evalscope", "m", ["ice"])
    task = run.tasks["ice"]
    assert (task.primary.metric, task.primary.value) == ("acc", 0.75)
    assert task.logged.num_fewshot == 2
    assert run.settings.generation["temperature"] == 0.7
    assert "hidden" not in json.dumps(run.settings.as_logged)
    first, second = samples(run)[:2]
    assert (first.metrics, second.metrics) == ({"acc": 0.0}, {"acc": 1.0})
    assert first.doc["choices"] == ["yes", "no"]
    assert (first.target, first.response, first.answer) == ("yes", "ANSWER: B", "no")
    assert first.doc["question"].endswith("Is ice cold? (0)")


def test_a_review_before_messages_takes_the_reply_from_the_score(tmp_path):
    old = [evalscope_review(number) for number in range(2)]
    for review in old:
        review["input"] = review.pop("messages")[0]["content"]
    file = write_lines(tmp_path / "ice_main.jsonl", old)
    run = open_run(file, ())
    assert samples(run)[0].response == "ANSWER: A"
    assert samples(run)[1].doc["question"].endswith("Is fire cold? (1)")


def test_the_messages_of_a_prediction_stand_in_for_those_of_its_review(tmp_path):
    rows = reviews()
    root = write_evalscope(tmp_path, "m", rows)
    for row in rows:
        row["messages"] = []
    write_lines(root / "reviews" / "m" / "ice_default.jsonl", rows[::-1])
    run = open_run(root, ())
    assert [sample.response for sample in samples(run)][-1] == "ANSWER: B"
    assert samples(run)[-1].doc["choices"] == ["yes", "no"]


def test_repeats_of_a_group_are_one_sample(tmp_path):
    rows = [evalscope_review(0, 1.0), evalscope_review(0, 0.0), evalscope_review(1, 1.0)]
    for number, row in enumerate(rows):
        row["index"] = number
    run = open_run(write_evalscope(tmp_path, "m", rows), ())
    assert [sample.metrics["acc"] for sample in samples(run)] == [0.5, 1.0]


def test_a_score_that_a_judge_failed_to_give_is_none(tmp_path):
    rows = reviews()
    rows[3]["sample_score"]["score"] |= {"status": "parse_error", "value": {}}
    run = open_run(write_evalscope(tmp_path, "m", rows), ())
    assert any("1 of 4 samples have no verdict" in note for note in run.notes)


def test_the_main_score_of_several_stands_for_the_row(tmp_path):
    rows = reviews()
    for row in rows:
        score = row["sample_score"]["score"]
        score["value"] = {"loose": 1.0, "strict": score["value"]["acc"]}
        score["main_score_name"] = "strict"
    run = open_run(write_evalscope(tmp_path, "m", rows), ())
    assert (run.tasks["ice"].primary.metric, run.tasks["ice"].primary.value) == ("strict", 0.75)


def test_subsets_of_a_data_set_are_tasks(tmp_path):
    for subset in ("EQ", "IQ"):
        write_evalscope(tmp_path, "m", reviews(), file=f"iquiz_{subset}")
    assert list(open_run(tmp_path, ()).tasks) == ["iquiz_EQ", "iquiz_IQ"]


def test_of_several_runs_of_a_data_set_the_newest_counts(tmp_path):
    for stamp, wrong in (("20250102_000000", 2), ("20250101_000000", 0)):
        write_evalscope(tmp_path / stamp, "m", reviews(wrong=wrong))
    run = open_run(tmp_path, ())
    assert run.tasks["ice"].primary.value == 0.5
    assert any("of 2 logs 20250102_000000" in note for note in run.notes)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_report_states_which_way_is_better(tmp_path, direction):
    root = write_evalscope(tmp_path, "m", reviews())
    word = {"up": "higher_is_better", "down": "lower_is_better"}[direction]
    metric = {"identity": {"name": "acc"}, "semantics": {"direction": word}}
    content = {"dataset_name": "ice", "metrics": [metric]}
    (root / "reports" / "m" / "ice.json").write_text(json.dumps(content))
    assert open_run(root, ()).tasks["ice"].primary.direction == direction


@pytest.mark.parametrize(("repeats", "missing"), [(1, 4), (2, 0)])
def test_samples_that_the_report_counts_and_the_reviews_lack_are_missing(
    tmp_path, capsys, repeats, missing
):
    root = write_evalscope(tmp_path, "m", reviews(count=4))
    path = root / "reports" / "m" / "ice.json"
    report = json.loads(path.read_text())
    subset = {"name": "default", "num": 8, "score": 0.5}
    report["metrics"][0]["categories"] = [{"name": ["default"], "subsets": [subset]}]
    path.write_text(json.dumps(report))
    with (root / "configs" / "task_config.yaml").open("a") as file:
        file.write(f"repeats: {repeats}\n")
    main(["score", str(root), "--no_write"])
    sentence = f"{missing} of 8 expected rows are missing"
    assert (sentence in " ".join(capsys.readouterr().out.split())) == (missing > 0)
