"""Lists of packs: names aligned, sentences that fit a terminal, whole lines in a file."""

import pytest

from evalprep.cli import main
from evalprep.verbs import list as verb


@pytest.fixture
def at_80_columns(monkeypatch):
    monkeypatch.setattr(verb, "line_width", lambda _stream: 80)


def test_tasks_stand_below_the_value_of_their_tag(capsys):
    assert main(["list", "--by", "principle"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heading = lines.index("  [principle: Transparency]")
    task = lines[heading + 1]
    assert task.startswith("  compliance_")
    names = [line for line in lines if line.startswith("  compliance_")]
    assert len({len(name) - len(name[2:].partition("  ")[2].lstrip()) for name in names}) == 1


@pytest.mark.usefixtures("at_80_columns")
@pytest.mark.parametrize("what", ["tasks", "scores", "metrics"])
def test_a_list_fits_a_terminal(what, capsys):
    assert main(["list", what]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if line.startswith("  ")) <= 80
