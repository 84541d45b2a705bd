"""The scores of one run are one object as JSON, those of several a list in their order."""

import json
import os

import pytest

from evalprep.cli import main
from tests.evalprep.results.writing import Row, write_run


def test_one_and_several(tmp_path, capsys):
    homes = [
        str(write_run(tmp_path / str(n), {"t": [Row("1", n), Row("2", n)]}, model=f"org__m{n}"))
        for n in (0, 1)
    ]
    assert main(["score", homes[0], "--no-write", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "org/m0"
    assert main(["score", *homes, "--no-write", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["model"], one["tasks"][0]["micro"]["agg_value"]) for one in told] == [
        ("org/m0", 0),
        ("org/m1", 1),
    ]


def checkpoints_copied_at_once(folder):
    """Results of three checkpoints as lm-eval 0.2 wrote them, with one time of writing."""
    for step, acc in (("step0", 0.25), ("step8", 0.5), ("step16", 0.75)):
        arguments = f"pretrained=org/m,revision={step}"
        content = {
            "results": {"piqa": {"acc": acc, "acc_stderr": 0.01}},
            "config": {"model": "hf-causal", "model_args": arguments, "num_fewshot": 0},
        }
        file = folder / f"m_{step}.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        os.utime(file, (1_700_000_000, 1_700_000_000))


@pytest.mark.parametrize(
    ("verb", "files", "places"),
    [
        (["score"], "scores.json", 3),
        (["export", "--to", "every-eval-ever", "--out", "out"], "*-*-*.json", 1),
    ],
)
def test_each_file_of_a_folder_keeps_what_is_written_of_it(
    tmp_path, monkeypatch, verb, files, places
):
    monkeypatch.chdir(tmp_path)
    checkpoints_copied_at_once(tmp_path)
    runs = sorted(map(str, tmp_path.glob("m_*.json")))
    assert main([*verb, *runs]) == 0
    written = list(tmp_path.rglob(files))
    assert len(written) == 3
    assert len({file.parent for file in written}) == places
    texts = [file.read_text(encoding="utf-8") for file in written]
    assert len(set(texts)) == 3
