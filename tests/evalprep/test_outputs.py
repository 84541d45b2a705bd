"""Standard output and standard error that are closed, full, or read by nobody, through a shell.

Exit code 1 means a regression. An outcome that could not be printed is none of 0, 1 and 3.
"""

import os
import subprocess
import sys

import pytest

from tests import PROJECT_ROOT
from tests.evalprep.results.writing import Row, write_run

CONFIG = """\
model_name: none
backend: dummy
tasks:
  - task: numbers
    dataset_path: json
    dataset_kwargs: {data_files: {test: rows.jsonl}}
    test_split: test
    output_type: generate_until
    doc_to_text: "{{prompt}}"
    doc_to_target: "{{target}}"
    generation_kwargs: {until: ["\\n"], max_gen_toks: 8, do_sample: false, temperature: 0.0}
    metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
    metadata: {version: 1.0}
"""
EVALPREP = f"{sys.executable} -m evalprep"
METRICS = f"{sys.executable} -m custom_metrics"
#: Command -> its exit code where all of its output is read.
OUTCOMES = {
    f"{EVALPREP} score run --no_write": 0,
    f"{EVALPREP} compare run run --no_write": 3,  # both sides are one file
    f"{EVALPREP} gate worse run --policy policy.yaml": 1,
    f"{EVALPREP} gate run half --policy policy.yaml": 3,
    f"{EVALPREP} report run --out page": 0,
    f"{EVALPREP} leaderboard run worse": 0,
    f"{EVALPREP} samples run": 0,
    f"{EVALPREP} score run --no_write --json": 0,
    f"{EVALPREP} export run --to junit --out junit.xml": 0,
    f"{EVALPREP} status run": 0,
    f"{EVALPREP} list": 0,
    f"{EVALPREP} prepare --check off": 0,
    f"{EVALPREP} --version": 0,
    f"{EVALPREP} gate -h": 0,
    f"{sys.executable} {PROJECT_ROOT / 'prepare_eval.py'} --check off": 0,
    f"{METRICS} list": 0,
    f"{METRICS} --help": 0,
}
#: A pipe whose reader is gone before anything is printed; `call` puts its number in place of PIPE.
UNREAD = ">&PIPE"
USUAL = [f"{EVALPREP} gate worse run --policy policy.yaml", f"{METRICS} list"]
BAD_INPUT = [
    f"{EVALPREP} gate nowhere run --policy policy.yaml",
    f"{EVALPREP} score nowhere --json",
    f"{EVALPREP} nonsense",
    f"{EVALPREP} gate",
    f"{EVALPREP} prepare --config_path nowhere.yaml",
    f"{METRICS} list nonsense",
]
FULL_OR_CLOSED = (">&-", ">/dev/full", "2>&-", "2>/dev/full", ">&- 2>&-", ">/dev/full 2>/dev/full")


def of_all(commands, usual):
    """The commands as parameters; those beside the usual ones take their time in a full run."""
    marks = {True: (), False: pytest.mark.long}
    return [
        pytest.param(text, id=text.partition(" ")[2], marks=marks[text in usual])
        for text in commands
    ]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "rows.jsonl").write_text('{"prompt": "1 + 1 =", "target": "2", "sample_id": "a"}\n')
    (folder / "eval_config.yaml").write_text(CONFIG)
    (folder / "policy.yaml").write_text("defaults: {max_drop: 0.05}\n")
    for name, share in (("run", 1.0), ("worse", 0.0)):
        write_run(folder / name, {"t": [Row(f"{at}", correct=share) for at in range(60)]})
    write_run(folder / "half", {"t": [Row("0", correct=1.0), Row("1", correct=0.0)]})
    return folder


def call(project, line):
    """The exit code and the output of a line of bash, where what a shell prints counts as output."""
    state = {"EVALPREP_STATE": str(project / "state"), "EVALPREP_QUICK_CHECK": "1"}
    path = os.pathsep.join([str(PROJECT_ROOT), os.environ.get("PYTHONPATH", "")])
    reader, unread = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            ["bash", "-c", line.replace("PIPE", str(unread))],
            cwd=project,
            env={**os.environ, **state, "PYTHONPATH": path},
            pass_fds=[unread],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        os.close(unread)


@pytest.mark.parametrize("command", of_all(OUTCOMES, USUAL))
def test_results_that_cannot_be_printed_are_no_outcome(project, command):
    fine = call(project, command)
    assert fine.returncode == OUTCOMES[command], fine.stderr
    for redirection in (">&-", ">/dev/full"):
        done = call(project, f"{command} {redirection}")
        assert done.returncode == 74, redirection
        assert done.stderr.count("standard output cannot be written") == 1
        assert "Traceback" not in done.stderr
    for redirection in (">&- 2>&-", ">/dev/full 2>/dev/full", "0<&- >&- 2>&-"):
        assert call(project, f"{command} {redirection}").returncode == 74, redirection
    unread = call(project, f"{command} {UNREAD}")
    assert unread.returncode == 141
    assert unread.stderr.count("\n") <= fine.stderr.count("\n") + 1
    assert "Traceback" not in unread.stderr


@pytest.mark.parametrize("command", of_all(OUTCOMES, USUAL))
def test_notes_that_cannot_be_printed_change_no_result(project, command):
    fine = call(project, command)
    for redirection in ("2>&-", "2>/dev/full"):
        done = call(project, f"{command} {redirection}")
        assert done.returncode == (74 if fine.stderr else fine.returncode), redirection
        is_shown = bool(fine.stderr) and "--json" not in command and "prepare" not in command
        assert ("standard error cannot be written" in done.stdout) == is_shown
        assert done.stderr == ""


@pytest.mark.parametrize("command", of_all(BAD_INPUT, BAD_INPUT[:1]))
def test_bad_input_stays_bad_input(project, command):
    for redirection in ("", *FULL_OR_CLOSED, UNREAD, f"{UNREAD} 2>&PIPE"):
        done = call(project, f"{command} {redirection}")
        assert done.returncode == 2, redirection
        assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "command",
    [
        f"{EVALPREP} list > out",
        f"{EVALPREP} report run --out limited > out",
        pytest.param(
            f"{EVALPREP} leaderboard run worse --out limited > out", marks=pytest.mark.slow
        ),
        pytest.param(f"{EVALPREP} score run --out limited > out", marks=pytest.mark.slow),
        pytest.param(
            f"{EVALPREP} prepare --check off --set work_dir=limited", marks=pytest.mark.slow
        ),
    ],
)
def test_a_file_over_the_limit_of_the_shell_is_named(project, command):
    done = call(project, f"ulimit -f 0; {command}")
    assert done.returncode == 74
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_closed_output_is_not_taken_by_a_file(project):
    """The next file that a process opens would get the number of its standard output."""
    code = "import sys; from evalprep.cli import main; main(['--version']); open('first', 'w'); import os; os.write(1, b'lost')"
    assert call(project, f'{sys.executable} -c "{code}" >&-').returncode == 0
    assert (project / "first").read_bytes() == b""
