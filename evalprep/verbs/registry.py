"""The verbs: their names, one line about each, their parsers, and calling one from another.

Modules of verbs are imported only when their verb is used, which keeps `evalprep --help` free of
heavy imports.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import textwrap
from collections.abc import Sequence
from types import ModuleType

from evalprep.verbs.options import READING, Parser, add_options, complete

#: Verb -> one line for the overview.
VERBS = {
    "prepare": "read eval_config.yaml, write work_dir, print the lm_eval command",
    "list": "packs, tasks, metrics and suite scores",
    "check": "find, without a GPU, what would spoil the run",
    "preview": "the exact prompts, tokens, stop strings and targets of a task",
    "prompts": "the exact requests of all tasks in a file, for any engine",
    "run": "prepare, run, score, compare and report in one command",
    "launch": "job files for Slurm and Kubernetes, shard by shard",
    "merge": "the shards of a run put together",
    "status": "table of tasks of a running or finished run",
    "score": "suite scores of a run, next to the published ones",
    "rescore": "score saved samples anew, without the model",
    "compare": "a run against the published verdicts or another run",
    "gate": "regression gate for CI",
    "samples": "print samples: all, wrong, lost or unread ones",
    "leaderboard": "many runs in one table: checkpoints, methods, models",
    "report": "offline HTML page, spreadsheet, CSV, Markdown",
    "export": "runs in the formats of other tools and sites",
    "judge": "LLM judge over saved generations",
    "new-pack": "write a task pack, also on rows of your own",
    "init": "an eval_config.yaml and a quick start in an empty folder",
    "completion": "completion of verbs, options and their values in bash and zsh",
}
# Verbs that read run folders, which may come from somebody else.
READ_RUNS = frozenset(
    (
        *("score", "rescore", "compare", "gate", "samples", "leaderboard", "report", "judge"),
        *("status", "export"),
    )
)

#: Verbs that read results of other tools.
READ_TOOLS = frozenset(
    ("score", "compare", "gate", "samples", "judge", "leaderboard", "report", "export")
)


def module_of(verb: str) -> ModuleType:
    """Returns the module of a verb."""
    return importlib.import_module(f"evalprep.verbs.{verb.replace('-', '_')}")


def parser_of(verb: str, prog: str = "") -> Parser:
    """Returns the parser of a verb.

    Args:
        verb: Its name.
        prog: Name shown in usage lines; `evalprep VERB` by default.
    """
    module = module_of(verb)
    parser = Parser(
        prog=prog or f"evalprep {verb}",
        description=_paragraphs(module.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.configure(parser)
    if verb in READ_RUNS:
        parser.add_argument(
            "--follow_links",
            action="store_true",
            rare=True,
            help="read links that leave the run folder",
        )
    if verb in READ_TOOLS:
        add_options(parser, *READING)
    return parser


def _paragraphs(text: str) -> str:
    """The paragraphs of a docstring in the lines of a terminal; one with indents stays as it is."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        part if "\n " in part else textwrap.fill(part, _WIDTH, break_on_hyphens=False)
        for part in paragraphs
    )


#: Characters of a line of help.
_WIDTH = 78


def call_verb(verb: str, words: Sequence[object], *, is_compared: bool = False) -> int:
    """Runs a verb as a step of another one, without its `next:` line, and returns its exit code.

    Args:
        verb: The verb.
        words: Its arguments.
        is_compared: Another step is `compare`, whose notes on the tasks are not repeated.
    """
    parser = parser_of(verb)
    args = complete(parser.parse_args([str(word) for word in words]))
    args.is_step, args.is_compared = True, is_compared
    return int(module_of(verb).main(args))
