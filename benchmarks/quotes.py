"""What pages quote of the scripts beside this one.

A line with a command, and below it a box with what it printed.

    # the quotes of all pages, without running anything
    python -m benchmarks.quotes
    # run the commands of a page, write what they print into it
    python -m benchmarks.quotes docs/reference/measured.md

A command that reads a file or FOLDER which is not here keeps its box, and says so. A test holds the
boxes against what can be computed in seconds.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_COMMAND = r"`(python (?:-m benchmarks\.|benchmarks/)[^`\n]+)`"
QUOTE = re.compile(_COMMAND + r"[^`]*?:\n\n```text\n(.*?)```\n", re.DOTALL)


@dataclass(frozen=True)
class Quote:
    """One box of a page."""

    command: str
    printed: str
    start: int
    """Where the box begins in the page."""

    @property
    def missing(self) -> list[str]:
        """Files that the command reads and that are not here."""
        words = shlex.split(self.command)[1:]
        return [
            word
            for word in words
            if word[0].isupper() or (word.endswith(".jsonl") and not (ROOT / word).exists())
        ]


def quotes(page: str) -> list[Quote]:
    """The quotes of a page, in its order."""
    return [Quote(found[1], found[2], found.start(2)) for found in QUOTE.finditer(page)]


def renewed(page: str) -> str:
    """The page with what its commands print now."""
    for quote in reversed(
        quotes(page)
    ):  # from the end, so that places before it stay where they are
        if quote.missing:
            print(f"kept: {quote.command}: {', '.join(quote.missing)} is not here")
            continue
        print(f"running: {quote.command}", flush=True)
        command = [sys.executable, *shlex.split(quote.command)[1:]]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        page = (
            page[: quote.start]
            + done.stdout.strip("\n")
            + "\n"
            + page[quote.start + len(quote.printed) :]
        )
    return page


def main(pages: list[str]) -> None:
    """List the quotes, or renew those of the given pages."""
    for path in map(Path, pages):
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
    if not pages:
        for path in sorted((ROOT / "docs").rglob("*.md")):
            for quote in quotes(path.read_text(encoding="utf-8")):
                lines = quote.printed.count("\n")
                print(f"{path.relative_to(ROOT)}: {quote.command}: {lines} lines")


if __name__ == "__main__":
    main(sys.argv[1:])
