"""The `evalprep` command: finds the verb, runs it, turns what ends it into an exit code."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import errno
import gc
import io
import json
import os
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from evalprep import __version__
from evalprep.errors import BadInput, FileTooLarge, Problem, cannot_write, near
from evalprep.files import following_links, name_place, remove_leftovers
from evalprep.places import make_home_absolute
from evalprep.tables import Column, Kind, Table, table_lines
from evalprep.temporary import remove_folders_of_killed
from evalprep.terminal import Output, counted, guarded, outputs, progress, raw, shortened
from evalprep.verbs.options import complete, note_on_packs
from evalprep.verbs.reading import reading_results
from evalprep.verbs.registry import VERBS, module_of, parser_of

# Verbs that show their progress in a way of their own.
_OWN_SCREEN = {"run", "status", "judge"}
#: Verbs that print and write no file; and those that write one only where it is named.
_WITHOUT_FILES = {"check", "preview", "samples", "list", "status"}
_ONLY_WITH_OUT = {"gate", "leaderboard"}
EXIT_BAD_INPUT = 2
EXIT_FAULT = 70  # EX_SOFTWARE of sysexits.h; 1 would mean a regression to whoever reads the code
EXIT_UNWRITTEN = 74  # EX_IOERR of sysexits.h
EXIT_INTERRUPTED = 130
EXIT_UNREAD = 141  # as a shell writes the end by SIGPIPE
_OUTCOMES = {0, 1, 3}  # what they mean is in an output; one that is not there says nothing
# Imports and rows make very many objects and hardly any cycle: looking for cycles as often as
# Python does by default (after 700 objects) takes a third of the time of scoring 100,000 rows.
COLLECT_AFTER = (100_000, 20, 50)
_MOST_FOLDERS = 200  # that are looked into for files of killed verbs
#: What no file can be at -> what is wrong with it, and what to do.
_NO_PATHS = {
    errno.ELOOP: ("a symbolic link leads to itself", "remove the link"),
    errno.ENAMETOOLONG: ("this name is too long for a file", "give a path, or another name"),
}
# A full disk, a read-only place: neither bad input nor a fault; a traceback explains nothing.
_MACHINE_LIMITS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


def _overview() -> str:
    table = Table("", [Column("", Kind.NAME), Column("", wraps=True)], list(VERBS.items()))
    verbs = "\n".join(table_lines(table, indent="  "))
    return f"""usage: evalprep VERB [arguments]

{verbs}

`evalprep VERB --help` explains one verb."""


def main(
    argv: Sequence[str] | None = None, *, prog: str = "evalprep", verb: str | None = None
) -> int:
    """Runs one verb.

    Args:
        argv: Arguments without the program name; the process's own by default.
        prog: Name shown in usage lines.
        verb: Fixed verb, for `prepare_eval.py`; by default the first argument names it.

    Returns:
        The exit code: 0 fine, 1 regression or failed gate, 2 bad input, 3 not enough evidence, 70 a
        fault of evalprep itself, 74 output cannot be written, 130 interrupted, 141 the reader of
        the output went away.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    make_home_absolute()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal whose encoding lacks a check mark gets a question mark, not a traceback.
        sys.stdout.reconfigure(errors="replace")
    ended: SystemExit | None = None
    with outputs() as (out, errors):
        try:
            code = _answer(arguments, prog, verb)
        except SystemExit as error:  # argparse: a help text, or a wrong argument
            if not isinstance(error.code, int):
                raise
            ended, code = error, error.code
        except BrokenPipeError:
            if not out.is_unread:
                raise
            code = 0
        code = _with_outputs(code, out, errors, is_data=_prints_data(arguments, verb))
    if ended is not None and code == ended.code:
        raise ended
    return code


def _prints_data(arguments: Sequence[str], verb: str | None) -> bool:
    """Returns whether programs read standard output: JSON, or the command of a preparation."""
    return "--json" in arguments or "prepare" in (verb, *arguments[:1])


def _with_outputs(code: int, out: Output, errors: Output, *, is_data: bool) -> int:
    """Returns the exit code once all is written: 74 or 141 where something could not be.

    What was not read may be a failed gate, so that neither success nor a verdict counts. Bad input
    and a fault of evalprep stay what they are.
    """
    for stream in (out, errors):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    failed = [stream for stream in (out, errors) if stream.error is not None]
    if failed and code in _OUTCOMES:
        code = EXIT_UNREAD if failed[0].is_unread else EXIT_UNWRITTEN
        _note_on_output(out, errors, is_data=is_data)
    for stream in (out, errors):
        stream.drain()
    return code


def _note_on_output(out: Output, errors: Output, *, is_data: bool) -> None:
    """Prints one line on an output that failed where the other one still takes it."""
    if out.error is not None and errors.error is None:
        # Whoever types `| head` knows; the log of a job shows why the code is 141.
        if not (out.is_unread and errors.isatty()):
            reason = "its reader ended" if out.is_unread else out.error.strerror
            print(f"error: standard output cannot be written: {reason}", file=errors)
            errors.flush()
    elif errors.error is not None and out.error is None and not is_data:
        print(f"error: standard error cannot be written: {errors.error.strerror}", file=out)
        out.flush()


def _answer(arguments: Sequence[str], prog: str, verb: str | None) -> int:
    """Runs the verb that is fixed or that the first argument names."""
    if verb is not None:
        return _run_verb(verb, arguments, prog)
    if arguments[:1] == ["help"] and len(arguments) > 1:
        arguments = [arguments[1], "--help"]
    first = arguments[0] if arguments else ""
    if first in VERBS:
        return _run_verb(first, arguments[1:], f"{prog} {first}")
    return _answer_without_verb(first)


def _answer_without_verb(word: str) -> int:
    """Prints the overview or the version; exit code 2 unless the user asked for them."""
    if word in {"-V", "--version"}:
        print(__version__)
        return 0
    if word in {"-h", "--help", "help", ""}:
        print(_overview())
        return 0 if word else EXIT_BAD_INPUT
    suggestion = near(word, VERBS)
    hint = f"; {suggestion}" if suggestion else ""
    print(f"evalprep: unknown verb {word!r}{hint}\n\n{_overview()}", file=sys.stderr)
    return EXIT_BAD_INPUT


def _run_verb(verb: str, arguments: Sequence[str], prog: str) -> int:
    parser = parser_of(verb, prog)
    args = complete(parser.parse_args(arguments))
    if note := note_on_packs(args):
        print(note, file=sys.stderr)
    follow = getattr(args, "follow_links", False)
    gc.set_threshold(*COLLECT_AFTER)
    # Python looks for cycles among all objects before it ends, which takes a tenth of the time of a
    # preparation.
    atexit.register(gc.freeze)
    silent = verb in _OWN_SCREEN or getattr(args, "json", False) or getattr(args, "quiet", False)
    is_data = getattr(args, "json", False)
    with guarded(is_data=is_data), progress(silent=silent), following_links(allowed=follow):
        places = _places_of(args)
        for place in places:
            name_place(place, is_typed=True)
        _remove_leftovers(places)
        return _run(module_of(verb), args, writes=_writes(verb, args))


def _writes(verb: str, args: argparse.Namespace) -> bool:
    """Returns whether a verb with these arguments writes files."""
    if getattr(args, "no_write", False) or getattr(args, "dry_run", False):
        return False
    if verb in _ONLY_WITH_OUT:
        return getattr(args, "out", None) is not None
    return verb not in _WITHOUT_FILES


def _places_of(args: argparse.Namespace) -> list[str]:
    """The runs and logs that the user typed."""
    names = ("run", "other", "baseline", "reference", "dir")
    places = [getattr(args, name, None) for name in names]
    places += getattr(args, "runs", None) or []
    return [str(place) for place in places if isinstance(place, str | os.PathLike)]


def _remove_leftovers(places: Sequence[str]) -> None:
    """Removes what killed verbs left in the working directory, in some places and just below.

    Their temporary folders, too.
    """
    remove_folders_of_killed()
    for place in dict.fromkeys(map(os.path.abspath, (".", *places))):
        folder = Path(place if os.path.isdir(place) else os.path.dirname(place))  # noqa: PTH112, PTH120
        remove_leftovers(folder)
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            below = (entry for entry in entries if entry.is_dir(follow_symlinks=False))
            for entry in islice(below, _MOST_FOLDERS):
                remove_leftovers(Path(entry.path))


def _run(module: Any, args: argparse.Namespace, *, writes: bool) -> int:
    """Runs a verb and turns what ends it into an exit code and a message."""
    as_json = getattr(args, "json", False)
    raises = bool(os.environ.get("EVALPREP_TRACEBACK"))  # for the author of a pack
    try:
        with reading_results(args):
            code = module.main(args)
        sys.stdout.flush()
    except BadInput as error:
        if raises:
            raise
        return report_bad_input(error, as_json=as_json, writes=writes)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except Exception as error:
        is_unread = isinstance(error, BrokenPipeError) and _is_unread(sys.stdout)
        if raises or is_unread:
            raise
        return _report_unexpected(error, as_json=as_json)
    return int(code)


def _is_unread(stream: Any) -> bool:
    """Returns whether the reader of a standard stream went away."""
    below = raw(stream)
    return isinstance(below, Output) and below.is_unread


def report_bad_input(error: BadInput, *, as_json: bool, writes: bool = True) -> int:
    """Prints every mistake; returns exit code 2, or 74 where the machine refuses an output.

    Args:
        error: The mistakes.
        as_json: Whether they are printed as data.
        writes: Whether the verb would have written files.
    """
    code = EXIT_UNWRITTEN if isinstance(error, FileTooLarge) else EXIT_BAD_INPUT
    if as_json:
        _print_error("bad input", error.problems)
        return code
    mistakes = counted(len(error.problems), "mistake")
    unwritten = ", nothing was written" if writes else ""
    print(f"error: {mistakes}{unwritten}\n", file=sys.stderr)
    for problem in error.problems:
        print(f"- {problem}", file=sys.stderr)
    return code


def _report_unexpected(error: Exception, *, as_json: bool) -> int:
    """Prints what ended a verb unexpectedly: a limit of the machine, or a fault of evalprep."""
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        too_large = cannot_write(error, str(error.filename or ""), "raise the limit: ulimit -f")
        return report_bad_input(too_large, as_json=as_json)
    if isinstance(error, OSError) and error.errno in _NO_PATHS:
        what, fix = _NO_PATHS[error.errno]
        path = shortened(str(error.filename or ""))
        return report_bad_input(BadInput(Problem(what=what, where=path, fix=fix)), as_json=as_json)
    if isinstance(error, MemoryError):
        limit = Problem(
            what="there is not enough memory", fix="free some, or take fewer rows at a time"
        )
    elif isinstance(error, OSError) and error.errno in _MACHINE_LIMITS:
        limit = Problem(
            what=str(error.strerror),
            where=str(error.filename or ""),
            fix="free space or choose another folder",
        )
    else:
        return _report_fault(error, as_json=as_json)
    if as_json:
        _print_error("the machine's limit", [limit])
    else:
        print(f"error: {limit}", file=sys.stderr)
    return EXIT_BAD_INPUT


def _report_fault(error: Exception, *, as_json: bool) -> int:
    """Prints an exception that is a fault of evalprep, with all that its maintainers need.

    Returns exit code 70.
    """
    import traceback  # its imports are a fifth of the time of `--help`

    lines = traceback.format_exception(error)
    fault = Problem(
        what=f"this is a fault of evalprep {__version__}, not of your input: {_summary(error)}",
        fix="report it to the maintainers of evalprep with the command and the lines above; "
        "files that were complete before stay valid",
    )
    from evalprep.credentials import redacted

    if as_json:
        _print_error("fault of evalprep", [fault], traceback=redacted("".join(lines)))
    else:
        print(f"{redacted(''.join(lines))}\nerror: {fault}", file=sys.stderr)
    return EXIT_FAULT


def _summary(error: Exception) -> str:
    """The name and the first line of an exception."""
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _print_error(kind: str, problems: Sequence[Problem], **more: str) -> None:
    data = {"error": kind, "problems": [problem.as_dict() for problem in problems], **more}
    with contextlib.suppress(BrokenPipeError):  # the exit code stays
        print(json.dumps(data, indent=2))


if __name__ == "__main__":
    sys.exit(main())
