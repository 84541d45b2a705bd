"""Mistakes in what the user gave us, said so that the user can mend them.

Every check collects `Problem`s and raises one `BadInput` with all of them, so that a config with
five mistakes costs one run and not five.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake: what is wrong, where, what is allowed there, how to mend it.

    Args:
        what: One sentence naming the offending value.
        where: File, line, key, row or argument.
        allowed: What would be accepted; empty where `fix` says it all.
        fix: The next thing to do.
    """

    what: str
    where: str = ""
    allowed: str = ""
    fix: str = ""

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.allowed:
            lines.append(f"  allowed: {self.allowed}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        from evalprep.credentials import redacted  # 20 patterns, which `--help` does not need

        # A message repeats what it was given: values of settings, lines of files, answers of
        # servers.
        return redacted("\n".join(lines))

    def as_dict(self) -> dict[str, str]:
        """The same as data, for `--json`."""
        from evalprep.credentials import redacted

        texts = {"what": self.what, "where": self.where, "allowed": self.allowed, "fix": self.fix}
        return {key: redacted(text) for key, text in texts.items()}


# It reads as what it says: the input is bad, nothing in the tool failed.
class BadInput(Exception):  # noqa: N818
    """Raised with every mistake that was found; the command line prints them and exits with 2."""

    def __init__(self, problems: Iterable[Problem] | Problem) -> None:
        # Several tasks may meet one mistake, such as a split that the data lack.
        self.problems = (
            [problems] if isinstance(problems, Problem) else list(dict.fromkeys(problems))
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))


class FileTooLarge(BadInput):
    """Raised where a file would pass the limit of the shell (`ulimit -f`) or of the file system."""


def cannot_write(
    error: OSError, where: str, fix: str = "free space or name another place"
) -> BadInput:
    """Returns the error for a place that the user named and that cannot be written to."""
    problem = Problem(what=f"cannot write: {error.strerror}", where=where, fix=fix)
    return FileTooLarge(problem) if error.errno == errno.EFBIG else BadInput(problem)


@dataclass
class Problems:
    """A growing list of mistakes that is raised once."""

    found: list[Problem] = field(default_factory=list)

    def add(self, what: str, *, where: str = "", allowed: str = "", fix: str = "") -> None:
        """Note one mistake and go on looking."""
        self.found.append(Problem(what=what, where=where, allowed=allowed, fix=fix))

    def extend(self, problems: Iterable[Problem]) -> None:
        """Note several mistakes."""
        self.found.extend(problems)

    def refuse_secrets(self, data: Any, where: Callable[[tuple[str | int, ...]], str]) -> None:
        """Note everything in nested data that looks like a credential, without its value.

        Command lines are public on their machine, and lm-eval writes its arguments into results.

        Args:
            data: Settings as they were given.
            where: Says for a path of keys where the user wrote it.
        """
        from evalprep.credentials import secret_paths, variable_for

        for path in secret_paths(data):
            name = ".".join(map(str, path))
            variable = variable_for(name, _value_at(data, path))
            self.add(
                f"{name} looks like a credential, which would end up in files, logs or on the "
                "command line",
                where=where(path),
                fix=f"remove it and set the environment variable instead ({variable})",
            )

    def raise_if_any(self) -> None:
        """Raise `BadInput` with everything noted so far.

        Raises:
            BadInput: at least one mistake was noted.
        """
        if self.found:
            raise BadInput(self.found)


def _value_at(data: Any, path: Iterable[str | int]) -> Any:
    for key in path:
        data = data[key]
    return data


#: Two names of 200,000 letters take minutes to compare, and nobody typed them.
_LONGEST_NAME = 200


def near(name: str, known: Iterable[str], *, limit: int = 3) -> str:
    """Name the known words that look like `name`, in whatever case, for "did you mean".

    >>> near("meta_gqpa", ["meta_gpqa", "meta_math"])
    'did you mean meta_gpqa or meta_math?'
    >>> near("HF", ["vllm", "hf"])
    'did you mean hf?'
    """
    if len(name) > _LONGEST_NAME:
        return ""
    words: dict[str, str] = {}
    for word in known:
        if word != name and len(word) <= _LONGEST_NAME:
            words.setdefault(word.lower(), word)
    close = difflib.get_close_matches(name.lower(), list(words), n=limit, cutoff=0.6)
    return f"did you mean {' or '.join(words[word] for word in close)}?" if close else ""
