"""Progress on a terminal: only of what takes long, gone before the answer is printed; nothing elsewhere."""

import io
import time
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from evalprep import terminal
from evalprep.cli import main
from evalprep.terminal import progress, status_line, tracked
from tests.evalprep.results.writing import Row, write_run


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(terminal, "_LOOK", 0.0)
    return Terminal()


def test_a_long_loop_says_rows_rate_and_time_left(screen, monkeypatch):
    monkeypatch.setattr(terminal, "_SHORT", 0.0)
    with redirect_stderr(screen), progress():
        for _ in tracked(range(50), "task \x1b[2J", 100):
            time.sleep(0.02)
        shown = screen.getvalue()
        assert "of 100 rows" in shown
        assert "s left" in shown
        assert "\\u001b[2J" in shown
        with status_line() as say:
            say("loading tasks")
    assert "loading tasks" in screen.getvalue()


def test_a_short_loop_says_nothing(screen):
    with redirect_stderr(screen), progress():
        assert sum(tracked([1, 2, 3], "x")) == 6
    assert screen.getvalue() == ""


def test_nothing_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(terminal, "_SHORT", 0.0)
    with progress(), status_line() as say:
        say("x")
        assert sum(tracked([1, 2, 3], "x")) == 6
    assert capsys.readouterr() == ("", "")


def test_a_leaderboard_says_what_it_does(screen, monkeypatch, tmp_path):
    monkeypatch.setattr(terminal, "_SHORT", 0.0)
    places = [str(tmp_path / name) for name in "abc"]
    for at, place in enumerate(places):
        write_run(
            Path(place), {"t": [Row(f"{row}", float(row % (at + 2) > 0)) for row in range(40)]}
        )
    with redirect_stderr(screen):
        assert main(["leaderboard", *places]) == 0
    for words in ("places read", "of 3 places", "runs scored", "runs compared", "pairs compared"):
        assert words in screen.getvalue(), words
