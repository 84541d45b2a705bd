"""lm-eval without the index of its own tasks: the same names and the same files."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests import import_path

from .conftest import task
from .test_replies import samples_of


@pytest.mark.slow
@pytest.mark.usefixtures("quick_starts")
def test_the_printed_line_gives_the_files_of_the_pasted_command(project, tmp_path):
    made = project([task(name, "rows.jsonl") for name in ("first_text", "last_text")])
    words = ["prepare", "--config_path", str(made.config_file)]
    said = made.command(*words, check=True)
    quick = re.search(r"10 s faster:\s+(.*)", said.stderr)[1]
    script = tmp_path / "work_dir/command.sh"
    assert "evalprep.run.launcher --model" in script.read_text()
    printed = said.stdout.strip()
    samples = []
    for number, line in enumerate([quick, shlex.join(["sh", str(script)]), printed]):
        environment = os.environ | import_path()
        subprocess.run(["sh", "-c", line], check=True, capture_output=True, env=environment)
        samples.append(samples_of(tmp_path / "out"))
        Path(tmp_path / "out").rename(tmp_path / f"out{number}")
    assert samples[0] == samples[1] == samples[2]
    assert set(samples[0]) == {"samples_first_text", "samples_last_text"}
