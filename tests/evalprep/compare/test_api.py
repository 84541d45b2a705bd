"""The notebook API: paths and runs alike, data frames out, nothing imported before it is used."""

import subprocess
import sys

import pytest

import evalprep
from evalprep.errors import BadInput
from tests.evalprep.results.writing import Row, write_run

ROWS = [
    Row("a", 1.0, True, subtask="x"),
    Row("b", 0.0, True, subtask="y"),
    Row("c", 1.0, False, subtask="y"),
]


def test_frames(tmp_path):
    home = write_run(tmp_path, {"t": ROWS})
    run = evalprep.load_run(home)
    samples = evalprep.samples_df(run)
    assert samples[["task", "sample_id", "score"]].to_numpy().tolist() == [
        ["t", "a", 1.0], ["t", "b", 0.0], ["t", "c", 1.0],
    ]  # fmt: skip
    frame = evalprep.compare_runs(run).to_pandas()
    assert frame.loc[0, ["task", "n", "gained", "lost"]].tolist() == ["t", 3, 1, 1]
    assert list(evalprep.compare_runs(str(home)).flips_to_pandas()["sample_id"]) == ["b", "c"]
    other = write_run(tmp_path / "other", {"t": ROWS})
    assert evalprep.compare_runs(other, run, tasks=["t"]).overall.verdict == "no difference shown"


def test_scores(tmp_path):
    pack = tmp_path / "packs" / "toy"
    pack.mkdir(parents=True)
    (pack / "pack.yaml").write_text(
        "name: toy\nsuite_scores: {all: {function: macro, tasks: [t]}}\n"
    )
    home = write_run(tmp_path / "out", {"t": ROWS})
    for reference in (None, home, evalprep.load_run(home)):
        scores = evalprep.score_run(home, reference=reference, template_dir=tmp_path / "packs")
        assert scores.to_pandas()[["name", "value"]].to_numpy().tolist() == [["all", 0.75]]


def test_a_wrong_path_is_bad_input(tmp_path):
    with pytest.raises(BadInput):
        evalprep.load_run(tmp_path)


def test_unknown_names_are_attribute_errors():
    assert {"load_run", "compare_runs", "score_run"} <= set(dir(evalprep))
    with pytest.raises(AttributeError, match="no attribute 'load_runs'"):
        _ = evalprep.load_runs


@pytest.mark.parametrize(
    "code",
    [
        "import evalprep",
        "from evalprep.cli import main; main(['compare', '--nonsense'])",
        "from evalprep.cli import main; main(['gate', '--nonsense'])",
        "from evalprep.cli import main; main(['score', '--nonsense'])",
        "from evalprep.cli import main; main(['rescore', '--nonsense'])",
    ],
    ids=["import", "compare", "gate", "score", "rescore"],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code):
    heavy = (
        "numpy",
        "msgspec",
        "rich",
        "yaml",
        "pandas",
        "pyarrow",
        "scipy",
        "torch",
        "lm_eval",
        "datasets",
    )
    check = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint([n for n in {heavy} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


#: What no verb needs for a small run of lm-eval that nothing was asked about.
UNUSED = (
    *("pandas", "pyarrow", "scipy", "torch", "lm_eval", "datasets", "email", "asyncio", "sqlite3"),
    *("evalprep.annotate.ledger", "evalprep.readers.tools.formats", "evalprep.backends"),
    *("evalprep.packapi.context", "xlsxwriter"),
)


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        ("compare --no_write", ("evalprep.score.suite",)),
        ("score", ("evalprep.leaderboard.building", "evalprep.compare.comparison")),
        ("samples", ("evalprep.score.suite",)),
        ("leaderboard", ("evalprep.report.browser",)),
        ("report --out page", ("evalprep.leaderboard.building",)),
    ],
)
def test_a_look_at_a_small_run_loads_nothing_that_it_does_not_use(tmp_path, words, unused):
    home = write_run(tmp_path, {"t": ROWS})
    code = (
        "import sys\nfrom evalprep.cli import main\n"
        f"main([*{words.split()!r}, {str(home)!r}])\n"
        f"print([name for name in {(*UNUSED, *unused)!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == "[]"
