"""The facts in the log of a run: how far the engine is, and why it ended."""

from __future__ import annotations

import os
import re

from evalprep.files import NotRead, open_file
from evalprep.results import FAILED, State
from evalprep.status.folder import RunFolder

_TOKENS = re.compile(rb"output: ([\d.]+) toks/s")  # of vLLM's bar
_PER_ROW = re.compile(rb"([\d.]+)(it/s|s/it)")
_PERCENT = re.compile(rb"(\d{1,3})%\|")
#: The last line of a traceback, bare or behind what vLLM's processes put before each line.
_ERROR = re.compile(
    r"^(?:\([^)]*\)\s*)?(?:(?:ERROR|CRITICAL)\s[^\]]*\]\s*)?"
    r"((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout)(?::.*|))$"
)
#: Messages that only point at another one.
_POINTERS = ("root cause above", "(above) for the root cause", "the process ended with")
_PASSING = re.compile(r"\d%\|| INFO ")  # progress and news, never the cause
_FEW_BYTES, _MANY_BYTES = 50_000, 2_000_000
_SHOWN = 3


def percent(folder: RunFolder) -> int | None:
    """Returns how far the engine is with the unit that runs, by its last progress bar.

    Bars of the preparation before do not count.
    """
    percents = _PERCENT.findall(_bar(folder))
    return int(percents[-1]) if percents else None


def speed(folder: RunFolder) -> str:
    """Returns how fast the engine is with the unit that runs.

    Tokens per second where it says so, else requests.
    """
    text = _bar(folder)
    token_rates = _TOKENS.findall(text)
    if token_rates:
        tokens = float(token_rates[-1])
        return f"{tokens:,.0f} tokens/s"
    row_rates = _PER_ROW.findall(text)
    if not row_rates:
        return ""
    shown, unit = row_rates[-1]
    number = float(shown)
    if not number:
        return ""
    rate = number if unit == b"it/s" else 1 / number
    return f"{rate:,.1f} requests/s"


def _bar(folder: RunFolder) -> bytes:
    """The end of the log from where the engine was asked for the unit that runs.

    Empty while its prompts are built.
    """
    text = _end(folder, _FEW_BYTES)
    preparing = text.rfind(b"] Building contexts")
    asking = text.rfind(b"] Running ")
    if preparing > asking:
        return b""
    return text[max(0, asking) :]


def failures(folder: RunFolder, state: State) -> list[str]:
    """Returns why a run failed.

    It joins the run's own message, those of its units, and the log's where these only point at it.
    """
    by_message: dict[str, list[str]] = {}
    for unit in state.units:
        if unit.status == FAILED and unit.message != state.message:
            names = by_message.setdefault(unit.message, [])
            names.append(unit.name)
    lines = [state.message] if state.message else []
    for message, names in by_message.items():
        others = len(names) - 1
        more = f" and {others} more" if others else ""
        lines.append(f"{names[0]}{more}: {message}")
    return lines + _causes(folder, state)


def _causes(folder: RunFolder, state: State) -> list[str]:
    """Errors of the last start in the order in which they came, or its last lines.

    None where messages suffice.
    """
    messages = [state.message]
    messages += [unit.message for unit in state.units]
    if not any(map(_only_points, messages)):
        return []
    size = folder.log.stat().st_size if folder.log.exists() else 0
    since_start = size - state.log_start
    end = _end(folder, min(since_start, _MANY_BYTES))
    lines = _lines(end.decode("utf-8", "replace"))
    return _errors(lines)[:_SHOWN] or _last_words(lines)[-_SHOWN:]


def _lines(text: str) -> list[str]:
    """The lines of a log that are not blank; a bar ends each state with a carriage return."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", text)]
    return [line for line in lines if line]


def _only_points(message: str) -> bool:
    """Returns whether a message only points at another one."""
    return any(pointer in message for pointer in _POINTERS)


def _errors(lines: list[str]) -> list[str]:
    """The errors that lines end with, each once."""
    matches = filter(None, map(_ERROR.match, lines))
    errors = dict.fromkeys(match[1] for match in matches)
    return [error for error in errors if not _only_points(error)]


def _last_words(lines: list[str]) -> list[str]:
    """The lines that are neither progress nor news."""
    return [line for line in lines if not _PASSING.search(line)]


def _end(folder: RunFolder, count: int) -> bytes:
    """The last bytes of a log, as many as there are; empty where it cannot be read."""
    try:
        with open_file(folder.log) as handle:
            size = handle.seek(0, os.SEEK_END)
            start = size - max(0, count)
            handle.seek(max(0, start))
            content: bytes = handle.read()
    except (NotRead, OSError):
        return b""
    return content
