"""The metric of examples/fm_metric."""

import yaml

from evalprep.run.stored import load_task


def test_the_documented_metric_scores_a_reply(project_root, tmp_path):
    example = project_root / "examples" / "fm_metric"
    code = (example / "my_metrics.py").read_text(encoding="utf-8")
    text = (example / "task.yaml").read_text(encoding="utf-8")
    assert (
        len([line for line in code.splitlines() if line.strip() and not line.startswith("#")]) <= 10
    )
    (tmp_path / "my_metrics.py").write_text(code)
    (tmp_path / "task.yaml").write_text(text)
    task = load_task(tmp_path / "task.yaml")
    assert task["process_results"]({"target": "2"}, ["two words"]) == {
        "words": 2,
        "short_enough": 1.0,
    }
    assert all(str(value) == "nan" for value in task["process_results"]({}, ["x"]).values())
    declared = [one["metric"] for one in yaml.safe_load(text.partition("metric_list:")[2])]
    assert declared == ["words", "short_enough"]
