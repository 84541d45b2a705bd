"""One rule for what counts as a number, held against numbers that no float can hold, through the command line."""

import json
import math

import pytest

from evalprep.cli import main
from evalprep.numbers import finite_number
from tests.evalprep.results.writing import Row, write_run

HUGE = 10**400


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3.0),
        (-0.5, -0.5),
        (True, None),
        ("3", None),
        (None, None),
        (math.nan, None),
        (-math.inf, None),
        (HUGE, None),
        ([1], None),
    ],
)
def test_finite_number(value, expected):
    assert finite_number(value) == expected


@pytest.mark.parametrize("verb", ["score", "compare", "report", "leaderboard", "gate"])
@pytest.mark.parametrize("with_samples", [True, False])
def test_a_huge_integer_in_a_results_file_is_no_value_and_no_crash(tmp_path, verb, with_samples):
    rows = [Row("a", 1, True), Row("b", 0, True)]
    for side in ("run", "other"):
        home = write_run(tmp_path / side, {"t": rows})
        results = next(home.glob("results_*"))
        content = json.loads(results.read_text())
        content["results"]["t"] = {"exact_match,none": HUGE, "exact_match_stderr,none": HUGE}
        results.write_text(json.dumps(content))
        if not with_samples:
            next(home.glob("samples_*")).unlink()
    (tmp_path / "policy.yaml").write_text("defaults: {max_drop: 0.5}\n")
    others = [] if verb in {"score", "report"} else [str(tmp_path / "other")]
    policy = ["--policy", str(tmp_path / "policy.yaml")] if verb == "gate" else []
    assert main([verb, str(tmp_path / "run"), *others, *policy]) in {0, 1, 2, 3}


@pytest.mark.parametrize("value", ["1" + 399 * "0", "1e400", ".inf", ".nan", "true"])
def test_a_limit_that_is_no_finite_number_is_a_mistake_in_the_policy(tmp_path, capsys, value):
    run = write_run(tmp_path / "run", {"t": [Row("a", 1, True), Row("b", 0, True)]})
    (tmp_path / "policy.yaml").write_text(f"defaults: {{max_drop: {value}}}\n")
    code = main(["gate", str(run), str(run), "--policy", str(tmp_path / "policy.yaml")])
    assert code == 2
    error = capsys.readouterr().err
    assert "max_drop" in error or "1:22: is not valid YAML: a whole number of 400 digits" in error
    assert len(error) < 2_000
