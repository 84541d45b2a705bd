"""What stands in the repository for other services: the GitHub Action, workflows, forms, the image."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from tests import PROJECT_ROOT
from tests.evalprep.results.writing import Row, write_run

ACTION = yaml.safe_load((PROJECT_ROOT / "action.yml").read_text(encoding="utf-8"))
FILES = [
    PROJECT_ROOT / "action.yml",
    *sorted((PROJECT_ROOT / ".github").rglob("*.yml")),
    *sorted((PROJECT_ROOT / "examples/ci").glob("*.yml")),
]
FAKE = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in
    gate*) exit {code} ;;
    export*) echo table > "$RUNNER_TEMP/evalprep/summary.md" ;;
    api*--paginate*) printf '{comments}' ;;
esac
"""


def step(name):
    return next(each for each in ACTION["runs"]["steps"] if each.get("name") == name)


class Job:
    """A job of GitHub in a folder, whose programs are fakes."""

    def __init__(self, folder, *, code=0, comments=""):
        self.folder = folder
        self.calls = folder / "calls"
        self.output = folder / "output"
        (folder / "bin").mkdir()
        for name in ("evalprep", "gh"):
            path = folder / "bin" / name
            path.write_text(FAKE.format(code=code, comments=comments))
            path.chmod(0o755)

    def run(self, name, **env):
        """Runs the script of a step as GitHub does, and returns its exit code."""
        known = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "CALLS": str(self.calls),
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.folder / "step_summary.md"),
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name)["run"]]
        done = subprocess.run(
            command,
            check=False,
            cwd=self.folder,
            env={**known, **env},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "Traceback" not in done.stderr
        return done.returncode

    def outputs(self):
        return dict(line.split("=", 1) for line in self.output.read_text().splitlines())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_for_github_are_yaml_and_pinned(file):
    text = file.read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    assert isinstance(content, dict)
    used = re.findall(r"uses: (\S+)", text)
    assert [name for name in used if not re.search(r"@[0-9a-f]{40}$|^OWNER/evalprep@v", name)] == []
    assert "secrets." not in text
    assert not re.search(r"pypi\.org|ghcr\.io|docker\.io", text)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_value_of_a_pull_request_stands_inside_a_script(file):
    """`${{ }}` in a script is text of its program, which the author of a pull request could write."""
    scripts = re.findall(r"(?m)^( *)(?:- )?run: ((?:.*)(?:\n(?:\1  .*)?)*)", file.read_text())
    assert [text for _, text in scripts if "${{" in text] == []
    assert bool(scripts) == ("run:" in file.read_text())


def test_the_inputs_of_the_example_are_those_of_the_action():
    example = yaml.safe_load((PROJECT_ROOT / "examples/ci/gate.yml").read_text())
    steps = example["jobs"]["gate"]["steps"]
    given = next(each["with"] for each in steps if "with" in each)
    assert given.keys() <= ACTION["inputs"].keys()
    needed = {name for name, each in ACTION["inputs"].items() if each.get("required")}
    assert needed <= given.keys()


@pytest.mark.parametrize(("code", "ended"), [(0, 0), (1, 0), (3, 0), (2, 2), (70, 70)])
def test_the_gate_states_its_outcome(tmp_path, code, ended):
    job = Job(tmp_path, code=code)
    places = {"CANDIDATE": "new results", "BASELINE": "old", "POLICY": "policy.yaml"}
    assert job.run("Gate", **places) == ended
    assert job.outputs()["code"] == str(code)
    calls = job.calls.read_text().splitlines()
    assert calls[0].endswith("-- new results old")
    if ended == 0:
        assert "--baseline old" in calls[1]
        assert (tmp_path / "evalprep/summary.md").read_text() == "table\n"


def test_without_a_baseline_the_published_verdicts_count(tmp_path):
    job = Job(tmp_path)
    assert job.run("Gate", CANDIDATE="new", BASELINE="", POLICY="p.yaml") == 0
    assert "--baseline" not in job.calls.read_text()


@pytest.mark.parametrize(
    ("comments", "call"),
    [
        ("", "api repos/o/r/issues/7/comments"),
        ("41\\n42\\n", "api --method PATCH repos/o/r/issues/comments/41"),
    ],
    ids=["first", "again"],
)
def test_a_pull_request_has_one_comment(tmp_path, comments, call):
    job = Job(tmp_path, comments=comments)
    (tmp_path / "evalprep").mkdir()
    summary = tmp_path / "summary.md"
    summary.write_text("| task |\n" * 9_000 + "</details>\n")
    assert job.run("Comment", SUMMARY=str(summary), NUMBER="7", GH_REPO="o/r", GH_TOKEN="") == 0
    assert job.calls.read_text().splitlines()[-1].startswith(call)
    body = (tmp_path / "evalprep/comment.md").read_text()
    assert body.startswith("<!-- evalprep gate -->\n| task |\n")
    assert body.endswith("| task |\n</details>\n")
    assert len(body) < 65_536


@pytest.mark.parametrize(
    ("code", "unclear", "ended"), [(0, "fail", 0), (1, "pass", 1), (3, "fail", 3), (3, "pass", 0)]
)
def test_the_job_ends_as_the_gate_decides(tmp_path, code, unclear, ended):
    assert Job(tmp_path).run("Decide", CODE=str(code), UNCLEAR=unclear) == ended


@pytest.mark.slow
def test_the_action_gates_two_folders(tmp_path):
    job = Job(tmp_path)
    program = tmp_path / "bin/evalprep"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={PROJECT_ROOT} exec {sys.executable} -m evalprep "$@"\n'
    )
    rows = [Row(f"q{at}", correct=1.0) for at in range(200)]
    write_run(tmp_path / "old", {"t": rows})
    write_run(tmp_path / "new", {"t": [Row(row.sample_id, correct=0.0) for row in rows]})
    (tmp_path / "policy.yaml").write_text("defaults: {max_drop: 0.02}\n")
    assert job.run("Gate", CANDIDATE="new", BASELINE="old", POLICY="policy.yaml") == 0
    outputs = job.outputs()
    assert outputs["code"] == "1"
    assert "fail" in json.dumps(json.loads((tmp_path / outputs["decision"]).read_text()))
    summary = (tmp_path / outputs["summary"]).read_text()
    assert "| t |" in summary
    assert summary in (tmp_path / "step_summary.md").read_text()


def test_the_image_takes_what_is_there():
    text = (PROJECT_ROOT / "Dockerfile").read_text()
    assert re.findall(r"(?m)^FROM \S+ AS (\w+)$", text) == ["base", "cpu", "gpu"]
    copied = [words.split()[:-1] for words in re.findall(r"(?m)^COPY (.*)$", text)]
    names = [name for words in copied for name in words]
    ignored = (PROJECT_ROOT / ".dockerignore").read_text().splitlines()
    assert all((PROJECT_ROOT / name).exists() for name in names)
    assert {f"!{name}" for name in names} == {line for line in ignored if line[0] == "!"}
    extras = re.findall(r"\.\[([\w,]+)\]", text)
    project = (PROJECT_ROOT / "pyproject.toml").read_text()
    assert all(f"\n{name} = [" in project for words in extras for name in words.split(","))
