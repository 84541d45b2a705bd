"""Words for the terminal: one look for every verb, and no control characters but our own.

Data sets and models write anything, also the characters on which a terminal acts: it would clear
the screen, show a right answer where a wrong one stands, or fill the clipboard. What verbs print
goes through `guarded`, tables and bars through `console`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shlex
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, TypeVar

Item = TypeVar("Item")
# Seconds: what is over before is shown no progress; between two looks at the clock.
_SHORT, _LOOK = (2.0, 0.2)
# Control characters but for newline and tab, and those that change the direction or the lines of a
# text.
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


# What a line of a log asks the runner of GitHub, Gitea or Azure to do: `::error::...` at its
# beginning, `##[error]` and `##vso[...]` anywhere.
_COMMANDS = (re.compile(r"(?m)^[^\S\n]*:(?=:)"), re.compile(r"#(?=#(?:\[|vso\[))"))
_RUNNERS = ("CI", "GITHUB_ACTIONS", "TF_BUILD")


def visible(text: str) -> str:
    r"""A text with every character that a terminal acts on written out, as JSON writes it.

    In CI that holds for the first character of a command to the runner, too.

    >>> visible("\x1b[2Jdone")
    '\\u001b[2Jdone'
    """
    text = _ACTING.sub(_written_out, text)
    if any(name in os.environ for name in _RUNNERS):
        for command in _COMMANDS:
            text = command.sub(_written_out, text)
    return text


def _written_out(match: re.Match[str]) -> str:
    """The last character of a match as JSON writes it, behind what is before it."""
    return f"{match[0][:-1]}\\u{ord(match[0][-1]):04x}"


class Output:
    """Standard output or standard error, which may be closed, full, or read by nobody.

    A verb is not ended by a message that cannot be printed: its verdict and its files count. So a
    write that fails is kept as `error`, and what follows is dropped; only a reader that went away,
    such as `head`, ends a verb whose outcome nobody waits for.
    """

    def __init__(self, stream: IO[str] | None, *, is_result: bool) -> None:
        """Wraps a stream.

        Args:
            stream: The stream; None where it was closed before the program began.
            is_result: It is standard output: a reader that went away ends the verb.
        """
        self.stream = open(os.devnull, "w", encoding="utf-8") if stream is None else stream  # noqa: PTH123, SIM115
        self.error: OSError | None = None
        self._is_closed = stream is None
        self._is_result = is_result

    def write(self, text: str) -> int:
        """Writes a text, or keeps why it cannot.

        Raises:
            BrokenPipeError: nobody reads the results any more.
        """
        if self._is_closed and text:
            self._keep(OSError(errno.EBADF, "it is closed"))
        if self.error is None:
            try:
                return self.stream.write(text)
            except OSError as error:
                self._keep(error)
        self._end_without_reader()
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes each of them."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Writes what is still in the buffer, or keeps why it cannot be.

        Raises:
            BrokenPipeError: nobody reads the results any more.
        """
        if self.error is None:
            try:
                self.stream.flush()
            except OSError as error:
                self._keep(error)
        self._end_without_reader()

    @property
    def is_unread(self) -> bool:
        """Whether the reader of the stream went away."""
        return isinstance(self.error, BrokenPipeError)

    def drain(self) -> None:
        """Sends the buffer of a failed stream nowhere, before Python tries again."""
        with contextlib.suppress(OSError, ValueError):
            self.stream.flush()
        if self.error is None:
            return
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
            self.stream.flush()

    def _keep(self, error: OSError) -> None:
        self.error = self.error or error

    def _end_without_reader(self) -> None:
        if self._is_result and self.is_unread:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def outputs() -> Iterator[tuple[Output, Output]]:
    """Gives standard output and standard error, in their places for as long as a program runs."""
    _occupy_closed()
    before = sys.stdout, sys.stderr
    out, errors = Output(sys.stdout, is_result=True), Output(sys.stderr, is_result=False)
    sys.stdout, sys.stderr = out, errors
    try:
        yield out, errors
    finally:
        sys.stdout, sys.stderr = before


def _occupy_closed() -> None:
    """Opens nothing in the place of each closed standard stream.

    Else the next file that is opened becomes the standard output of every child process.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number


class Guarded:
    """A text stream that writes `visible` texts, on a terminal in lines that end at words.

    Everything else is the stream's own.
    """

    def __init__(self, stream: IO[str], width: int | None = None) -> None:
        self.stream = stream
        self._width = width

    def write(self, text: str) -> int:
        """Writes the text made visible."""
        return self.stream.write(_within(visible(text), self._width))

    def writelines(self, lines: Sequence[str]) -> None:
        """Writes each of them."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _within(text: str, width: int | None) -> str:
    """A text with each line that a terminal would cut inside a word wrapped before it."""
    if width is None or len(text) <= width:
        return text
    return "\n".join(_wrapped(line, width) for line in text.split("\n"))


def _wrapped(line: str, width: int) -> str:
    r"""One line as several, each but the first with the indent of the first and two spaces more.

    A word that is longer than a line stays whole.

    >>> _wrapped("- a long note", 8)
    '- a long\n  note'
    """
    if len(line) <= width or " " not in line.strip():
        return line
    indent = line[: len(line) - len(line.lstrip())] + "  "
    lines = textwrap.wrap(
        line,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return "\n".join(lines)


def command_text(words: str, stream: Any, before: str = "") -> str:
    """A command as one types it; on a terminal in lines that a shell reads as one.

    Args:
        words: The command, quoted for a shell.
        stream: Where it is printed.
        before: What stands before it on its first line, such as `next: `.
    """
    width = line_width(stream)
    if width is None or len(before) + len(words) <= width:
        return before + words
    lines, current = [], before
    for word in _WORDS.findall(words):
        is_first = current in (before, _CONTINUED)
        if not is_first and len(current) + 1 + len(word) > width - 2:
            lines.append(current)
            current, is_first = _CONTINUED, True
        current += word if is_first else f" {word}"
    return " \\\n".join([*lines, current])


#: The words of a command, with what is in quotes, and the indent of its further lines.
_WORDS = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
_CONTINUED = "    "


def print_json(data: Any, default: Callable[[Any], Any] | None = None) -> None:
    """Prints what `--json` asks for, letters of all scripts as they are."""
    print(json.dumps(data, indent=2, ensure_ascii=False, default=default))


def print_step(words: Sequence[object]) -> None:
    """Prints a command line as the step that comes next, quoted for a shell."""
    line = shlex.join(map(str, words))
    print(command_text(line, sys.stdout, "next: "), flush=True)


@contextlib.contextmanager
def guarded(*, is_data: bool = False) -> Iterator[None]:
    """Guards standard output and standard error for as long as a verb runs.

    Args:
        is_data: Standard output gets JSON, whose lines stay whole.
    """
    out, errors = sys.stdout, sys.stderr
    width = None if is_data else line_width(out)
    sys.stdout, sys.stderr = Guarded(raw(out), width), Guarded(raw(errors), line_width(errors))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, errors


def raw(stream: Any) -> Any:
    """The stream below, for our own control characters.

    A bar that is drawn again, a screen that is cleared.
    """
    return stream.stream if isinstance(stream, Guarded) else stream


def line_width(stream: Any) -> int | None:
    """Returns the characters in a line of a terminal; None for a file, where lines stay whole."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def console(file: Any = None, **options: Any) -> Any:
    """A console of rich whose own control characters reach the terminal; texts are made visible."""
    from rich.console import Console
    from rich.segment import Segment

    class Screen(Console):
        def render(self, renderable: Any, options: Any = None) -> Any:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(visible(segment.text), segment.style)

    return Screen(file=raw(file or sys.stdout), **options)


_boards: list[Any] = []  # the one that is shown now, if any


@contextlib.contextmanager
def progress(*, silent: bool = False) -> Iterator[None]:
    """Shows on a terminal how far every `tracked` loop inside is: rows, rate and time left.

    Elsewhere it shows nothing.

    What is over within two seconds shows nothing.
    """
    if silent or _boards or not sys.stderr.isatty():
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
    board = Progress(
        *columns,
        console=console(sys.stderr),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        refresh_per_second=5,
    )
    _boards.append(board)
    try:
        yield
    finally:
        _boards.remove(board)
        board.stop()


class _Line:
    """One line of the board, shown once its loop has taken long enough to be worth reading."""

    def __init__(self, board: Any) -> None:
        self.board, self.begun, self.looked = board, time.monotonic(), 0.0
        self.task: Any = None

    def due(self) -> bool:
        """Returns whether it is time to write.

        The loop is a long one, and the last look is a while ago.
        """
        now = time.monotonic()
        if now - self.begun < _SHORT or now - self.looked < _LOOK:
            return False
        self.looked = now
        return True

    def write(self, text: str) -> None:
        """Shows a text."""
        if self.task is None:
            self.board.start()
            self.task = self.board.add_task(visible(text))
        self.board.update(self.task, description=visible(text))

    def end(self) -> None:
        """Takes the line away, and with the last one the board.

        What a verb prints must not stand on its place.
        """
        if self.task is not None:
            self.board.remove_task(self.task)
        if not self.board.tasks:
            self.board.stop()


def tracked(
    items: Iterable[Item],
    what: str,
    total: int | Callable[[], int | None] | None = None,
    *,
    rows: Callable[[Item], int] = lambda _: 1,
    unit: str = "rows",
) -> Iterator[Item]:
    """Passes items on; where `progress` is shown, their rows are counted there.

    Args:
        items: Rows, blocks of rows, tasks.
        what: What is being done.
        total: How many rows there will be, or a function that tells, which is called where progress
            is shown; None where nobody knows.
        rows: How many rows an item is.
        unit: The name of several of them.
    """
    if not _boards:
        yield from items
        return
    line, count = _Line(_boards[-1]), 0
    if callable(total):
        total = total()
    try:
        for item in items:
            yield item
            count += rows(item)
            if line.due():
                line.write(f"{what}: {_pace(count, total, time.monotonic() - line.begun, unit)}")
    finally:
        line.end()


def _pace(count: int, total: int | None, seconds: float, unit: str = "rows") -> str:
    """Rows, rate and time left.

    >>> _pace(500, 2000, 5.0), _pace(500, None, 5.0), _pace(2, 4, 6.0, "runs")
    ('500 of 2,000 rows, 100/s, 15 s left', '500 rows, 100/s', '2 of 4 runs, 3 s each, 6 s left')
    """
    rate = count / max(seconds, 1e-9)
    of = f" of {total:,}" if total is not None and total >= count else ""
    time_left = (
        f", {(total - count) / max(rate, 1e-9):,.0f} s left" if of and total is not None else ""
    )
    pace = f"{rate:,.0f}/s" if rate >= 1.0 else f"{1.0 / max(rate, 1e-9):,.0f} s each"
    return f"{count:,}{of} {unit}, {pace}{time_left}"


@contextlib.contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """A function that says on the board what is being done."""
    if not _boards:
        yield lambda _: None
        return
    line = _Line(_boards[-1])
    try:
        yield line.write
    finally:
        line.end()


def shortened(text: str, most: int = 200) -> str:
    """A text that fits into a message: its beginning, where it is longer.

    >>> shortened("abcdef", 3)
    'abc...'
    """
    return text if len(text) <= most else f"{text[:most]}..."


def shortlist(names: Sequence[str], most: int = 3) -> str:
    """Names for a message, all of a few and the first of many.

    >>> shortlist(["a", "b"]), shortlist(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def grouped(names: Sequence[str], most: int = 8) -> str:
    """All names where they are few; else families of names with how many each has.

    A family shares its first parts between underscores: as many parts as leave at most `most`
    families. Many names without a family are shortened to the first ones.

    >>> grouped(["arc", "bbh_a"])
    'arc, bbh_a'
    >>> grouped(["bbh_a", "bbh_b", "bbh_c", "mmlu_pro"], most=3)
    'bbh_* (3), mmlu_pro'
    >>> grouped(["arc", "boolq", "copa"], most=2)
    'arc, boolq and 1 more'
    """
    if len(names) <= most:
        return ", ".join(names)
    families: list[str] = []
    for parts in range(1, 1 + max(name.count("_") for name in names)):
        finer = _families(names, parts)
        if len(finer) > most:
            break
        families = finer
    return ", ".join(families) or shortlist(names, most)


def _families(names: Sequence[str], parts: int) -> list[str]:
    """`bbh_* (3)` for the names that share their first parts; a lone name as it is."""
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault("_".join(name.split("_")[:parts]), []).append(name)
    return [
        own[0] if len(own) == 1 else f"{family}_* ({len(own)})" for family, own in members.items()
    ]


def counted(count: int, noun: str, several: str = "") -> str:
    """A count with its noun.

    >>> counted(1, "row"), counted(0, "row"), counted(2, "id occurs", "ids occur")
    ('1 row', '0 rows', '2 ids occur')
    """
    return f"{count} {noun if count == 1 else several or noun + 's'}"
