"""The facts in the log of a run: how far the engine is, and why it ended."""

from __future__ import annotations

import os
import re

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
    """Returns how far the engine is with the unit that runs.

    Its last progress bar, not one of the preparation before.
    """
    percents = _PERCENT.findall(_bar(folder))
    return int(percents[-1]) if percents else None


def speed(folder: RunFolder) -> str:
    """Returns how fast the engine is with the unit that runs.

    Tokens per second where it says so, else requests.
    """
    text = _bar(folder)
    if rates := _TOKENS.findall(text):
        return f"{float(rates[-1]):,.0f} tokens/s"
    if rates := _PER_ROW.findall(text):
        number, unit = float(rates[-1][0]), rates[-1][1]
        if not number:
            return ""
        rate = number if unit == b"it/s" else 1 / number
        return f"{rate:,.1f} requests/s"
    return ""


def _bar(folder: RunFolder) -> bytes:
    """The end of the log from where the engine was asked for the unit that runs.

    Empty while its prompts are built.
    """
    text = _end(folder, _FEW_BYTES)
    preparing, asking = text.rfind(b"] Building contexts"), text.rfind(b"] Running ")
    return b"" if preparing > asking else text[max(0, asking) :]


def failures(folder: RunFolder, state: State) -> list[str]:
    """Returns why a run failed.

    Its own message, those of units, and what the log says where these only point at it.
    """
    by_message: dict[str, list[str]] = {}
    for unit in state.units:
        if unit.status == FAILED and unit.message != state.message:
            by_message.setdefault(unit.message, []).append(unit.name)
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
    messages = [state.message, *(unit.message for unit in state.units)]
    if not any(_only_points(message) for message in messages):
        return []
    size = folder.log.stat().st_size if folder.log.exists() else 0
    text = _end(folder, min(size - state.log_start, _MANY_BYTES)).decode("utf-8", "replace")
    lines = [part.strip() for part in re.split(r"[\r\n]+", text) if part.strip()]
    return _errors(lines)[:_SHOWN] or _last_words(lines)[-_SHOWN:]


def _only_points(message: str) -> bool:
    """Tells whether a message only points at another one."""
    return any(pointer in message for pointer in _POINTERS)


def _errors(lines: list[str]) -> list[str]:
    """The errors that lines end with, each once."""
    matches = [match for line in lines if (match := _ERROR.match(line))]
    errors = dict.fromkeys(match[1] for match in matches)
    return [error for error in errors if not _only_points(error)]


def _last_words(lines: list[str]) -> list[str]:
    """The lines that are neither progress nor news."""
    return [line for line in lines if not _PASSING.search(line)]


def _end(folder: RunFolder, count: int) -> bytes:
    try:
        with folder.log.open("rb") as handle:
            handle.seek(max(0, handle.seek(0, os.SEEK_END) - max(0, count)))
            return handle.read()
    except OSError:
        return b""
