"""The `evalprep` command: finds the verb, hands over, turns mistakes into exit codes."""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import json
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from evalprep import __version__
from evalprep.errors import BadInput
from evalprep.terminal import counted, guarded, progress

# Verb -> one line for the overview. The modules themselves are imported only when their verb is used, which keeps
# `evalprep --help` free of heavy imports.
VERBS = {
    "prepare": "read eval_config.yaml, write work_dir, print the lm_eval command",
    "list": "packs, tasks, metrics and suite scores",
    "check": "find, without a GPU, what would spoil the run",
    "preview": "the exact prompts, tokens, stop strings and targets of a task",
    "run": "run the prepared command with a log, a live table and resume",
    "status": "table of tasks of a running or finished run",
    "score": "suite scores of a run, next to the published ones",
    "rescore": "score saved samples anew, without the model",
    "compare": "a run against the published verdicts or another run",
    "gate": "regression gate for CI",
    "leaderboard": "many runs in one table: checkpoints, methods, models",
    "report": "offline HTML page, spreadsheet, CSV, Markdown",
    "judge": "LLM judge over saved generations",
    "new-pack": "write a task pack, also on rows of your own",
    "init": "an eval_config.yaml and a quick start in an empty folder",
}

# Verbs that show in their own way how far they are.
_OWN_SCREEN = {"run", "status", "judge"}


def _module(verb: str) -> ModuleType:
    return importlib.import_module(f"evalprep.verbs.{verb.replace('-', '_')}")


def _overview() -> str:
    width = max(len(verb) for verb in VERBS)
    lines = ["usage: evalprep VERB [arguments]", ""]
    lines += [f"  {verb:<{width}}  {line}" for verb, line in VERBS.items()]
    lines += ["", "`evalprep VERB --help` explains one verb."]
    return "\n".join(lines)


def report_bad_input(error: BadInput, *, as_json: bool) -> int:
    """Print every mistake and return exit code 2."""
    if as_json:
        print(
            json.dumps({"error": "bad input", "problems": [problem.as_dict() for problem in error.problems]}, indent=2)
        )
        return 2
    print(f"error: {counted(len(error.problems), 'mistake')}, nothing was written\n", file=sys.stderr)
    for problem in error.problems:
        print(f"- {problem}", file=sys.stderr)
    return 2


def main(argv: Sequence[str] | None = None, *, prog: str = "evalprep", verb: str | None = None) -> int:
    """Run one verb.

    Args:
        argv: Arguments without the program name; the process's own by default.
        prog: Name shown in usage lines.
        verb: Fixed verb, for `prepare_eval.py`; by default the first argument names it.

    Returns:
        The exit code: 0 fine, 1 regression or failed gate, 2 bad input, 3 not enough evidence, 130 interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no ✓ gets a question mark, not a traceback
    if verb is None:
        if not arguments or arguments[0] in {"-h", "--help", "help"}:
            print(_overview())
            return 0 if arguments else 2
        if arguments[0] in {"-V", "--version"}:
            print(__version__)
            return 0
        verb = arguments.pop(0)
        if verb not in VERBS:
            print(f"evalprep: unknown verb {verb!r}\n\n{_overview()}", file=sys.stderr)
            return 2
        prog = f"{prog} {verb}"
    module = _module(verb)
    parser = argparse.ArgumentParser(
        prog=prog, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    module.configure(parser)
    args = parser.parse_args(arguments)
    silent = verb in _OWN_SCREEN or getattr(args, "json", False) or getattr(args, "quiet", False)
    with guarded(), progress(silent=silent):
        return _run(module, args)


def _run(module: Any, args: argparse.Namespace) -> int:
    """Run a verb, and say what ended it."""
    try:
        code = module.main(args)
        sys.stdout.flush()
    except BadInput as error:
        if os.environ.get("EVALPREP_TRACEBACK"):
            raise  # for whoever writes a pack: its own line alone may not explain the failure
        return report_bad_input(error, as_json=getattr(args, "json", False))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except MemoryError:
        print("error: there is not enough memory\n  fix: free some, or take fewer rows at a time", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader (head, less) went away; that is not our failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # A full disk, a read-only place: not a fault of the program, and nothing that a traceback explains.
        if error.errno not in {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}:
            raise
        place = f"{error.filename}: " if error.filename else ""
        print(f"error: {place}{error.strerror}\n  fix: free space or choose another folder", file=sys.stderr)
        return 2
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
