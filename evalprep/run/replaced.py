"""Commands whose preparation another one has replaced in the same work folder."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.files import NotRead, as_mapping, read_file
from evalprep.packs import load_prepared
from evalprep.status import runs_now
from evalprep.yamltext import NotYaml, yaml_value


def stop_replaced() -> None:
    """Ends this process with exit code 2 where its words are a replaced command."""
    try:
        refuse_replaced(sys.argv[1:])
    except BadInput as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def refuse_replaced(words: Sequence[str]) -> None:
    """Refuses a command of lm_eval whose run is not that of the work folder that it names.

    Args:
        words: The words behind the program.

    Raises:
        BadInput: the work folder is one of ours, and holds another run.
    """
    options = _options(words)
    run = str(options["metadata"].get("run") or "")
    folder = Path(str(options["include_path"] or ""))
    prepared = load_prepared(folder) if run and options["include_path"] else None
    if prepared is None or not prepared.run:
        return
    own = {model.run for model in prepared.models}
    if run in own or run in runs_now(prepared).values():
        return
    raise BadInput(
        Problem(
            what=f"this command is of run {run}, and {folder} has been prepared for run "
            f"{', '.join(sorted(own))} since, whose tasks it would measure",
            where=f"--metadata run={run}",
            fix=f"start the command in {folder / 'command.sh'}, or prepare the other run again",
        )
    )


def _options(words: Sequence[str]) -> dict[str, Any]:
    """The metadata and the work folder of a command; those of its run configuration come first."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", "-C")
    parser.add_argument("--include_path")
    parser.add_argument("--metadata", nargs="*", default=[])
    known, _ = parser.parse_known_args(list(words))
    try:
        text = read_file(Path(known.config)).decode("utf-8") if known.config else ""
        configured = as_mapping(yaml_value(text))
    except (NotRead, OSError, UnicodeDecodeError, NotYaml):
        configured = {}
    # What stands after `--metadata`: `k=v,k=v`, or JSON.
    pairs: dict[str, Any] = {}
    for word in known.metadata:
        try:
            pairs |= as_mapping(json.loads(word))
        except ValueError:
            parts = [part.partition("=") for part in word.split(",")]
            pairs |= {key: value for key, _, value in parts}
    return {
        "metadata": as_mapping(configured.get("metadata")) | pairs,
        "include_path": known.include_path or configured.get("include_path"),
    }
