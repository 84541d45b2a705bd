import inspect
import json
import os
import re
import subprocess
import sys

import pytest

import custom_metrics.__main__ as listing
from custom_metrics import METRICS
from tests.tables import each_row

OURS = [name for name in METRICS if name.startswith(("extract.", "text.", "ifeval."))]


def test_finds_every_table_of_the_package():
    assert {"extract.choice", "text.rouge_scores", "ifeval.check", "math_equal"} <= set(METRICS)
    assert list(METRICS) == sorted(METRICS)
    assert len(METRICS) == len(set(METRICS))


@each_row("name", METRICS)
def test_every_metric_says_what_it_does(name):
    function = METRICS[name]
    assert callable(function)
    described = listing.describe(name, function)
    assert described["summary"], name
    parameters = inspect.signature(function).parameters.values()
    assert all(parameter.kind is not inspect.Parameter.POSITIONAL_ONLY for parameter in parameters)


def test_unknown_name_is_a_key_error():
    with pytest.raises(KeyError):
        METRICS["no.such"]


def test_list_names_signature_range_and_direction(capsys):
    assert listing.main(["list", "text.rouge"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("text.rouge_scores(prediction, reference, types=")
    assert "range [0, 1]" in printed
    assert "higher is better" in printed


def test_list_as_data(capsys):
    assert listing.main(["list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(METRICS)
    assert set(rows[0]) == {"name", "signature", "summary", "range", "better"}


def test_list_of_nothing_is_bad_input(capsys):
    assert listing.main(["list", "no.such", "--json"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, "no.such" in printed.err) == ("", True)


def test_list_into_a_closed_pipe_is_quiet(project_root):
    reader, unread = os.pipe()
    os.close(reader)
    with os.fdopen(unread, "w") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "custom_metrics", "list"],
            cwd=project_root,
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_scorers_load_without_the_heavy_packages(project_root):
    """A harness worker imports what its task names; torch and lm-eval come only where a function needs them."""
    code = (
        "import sys, custom_metrics.harness.filters, custom_metrics.harness.results, custom_metrics.ifeval, "
        "custom_metrics.text.rouge, custom_metrics.text.bleu, custom_metrics.extract.json_values; "
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project_root, capture_output=True, text=True, check=True
    )
    heavy = {
        "torch",
        "datasets",
        "pandas",
        "pyarrow",
        "scipy",
        "sympy",
        "lm_eval",
        "nltk",
        "sacrebleu",
        "json_repair",
    }
    assert not heavy & set(re.split(r"\s+", done.stdout))


def test_the_list_is_the_same_in_each_process(project_root, monkeypatch):
    listed = []
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        words = [sys.executable, "-m", "custom_metrics", "list"]
        done = subprocess.run(words, cwd=project_root, capture_output=True, text=True, check=True)
        listed.append(done.stdout)
    assert listed[0] == listed[1]
    assert "agreement_interval(a, b, statistic=cohen_kappa, confidence=0.95" in listed[0]
    assert "fm.insult_words(text, words=...)" in listed[0]
