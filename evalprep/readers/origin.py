"""The origin of a results file of lm-eval: when, with what and on which machine it was made."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from evalprep.files import as_mapping, read_object
from evalprep.numbers import finite_number

_GPUS = re.compile(r"^GPU models and configuration:[ \t]*(\S.*)$", re.MULTILINE)
_CPU = re.compile(r"^Model name:[ \t]*(\S.*)$", re.MULTILINE)
_UNKNOWN = ("Could not collect", "N/A", "No CUDA")


class Origin(msgspec.Struct, frozen=True):
    """What a results file says of the call that wrote it.

    Attributes:
        seconds: The time that it took.
        lm_eval: Version of lm-eval.
        commit: Commit of the folder in which it was started.
        hardware: GPUs, else the processor.
        is_of_replies: Whether replies of another engine were scored.
    """

    seconds: float | None
    lm_eval: str
    commit: str
    hardware: str
    is_of_replies: bool


def scored_by(results: Path) -> Origin:
    """Reads the origin of a results file; what it does not say is empty."""
    content = read_object(results)
    return Origin(
        seconds=finite_number(content.get("total_evaluation_time_seconds")),
        lm_eval=str(content.get("lm_eval_version") or ""),
        commit=str(content.get("git_hash") or ""),
        hardware=_hardware(str(content.get("pretty_env_info"))),
        is_of_replies="replies" in as_mapping(content.get("config")),
    )


def _hardware(environment: str) -> str:
    """The GPUs, else the processor, in torch's description of a machine; empty without."""
    for pattern in (_GPUS, _CPU):
        match = pattern.search(environment)
        if match is not None and not match[1].startswith(_UNKNOWN):
            return match[1].strip()
    return ""
