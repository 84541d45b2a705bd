"""Results of a run that was scored without a model.

The facts that only the processes with the model knew are added to them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalprep.files import as_mapping, read_json, write_atomically

_OF_PROCESS = (
    "pretty_env_info",
    "git_hash",
    "model_source",
    "max_length",
    "eot_token_id",
    "chat_template",
    "chat_template_sha",
    "tokenizer_pad_token",
    "tokenizer_eos_token",
    "tokenizer_bos_token",
    "transformers_version",
    "system_instruction",
    "system_instruction_sha",
)
_OF_MODEL = ("batch_sizes", "model_num_parameters", "model_dtype", "model_revision", "model_sha")


def with_model_of(content: dict[str, Any], unit: Path) -> None:
    """Adds to results what lm-eval knows of a loaded model.

    Args:
        content: What lm-eval returned without a model.
        unit: The results file of a process that loaded the model.
    """
    of_unit = _content(unit).get("config", {})
    of_model = {key: of_unit[key] for key in _OF_MODEL if key in of_unit}
    content["config"] = {**of_unit, **content["config"], **of_model}


def add_processes(file: Path, units: Sequence[Path]) -> None:
    """Adds to a results file the facts of the first process, and the time that all of them took.

    Args:
        file: The results file.
        units: The results files of the processes.
    """
    content = _content(file)
    of_units = list(map(_content, units))
    content |= {key: of_units[0][key] for key in _OF_PROCESS if key in of_units[0]}
    seconds = sum(float(unit.get("total_evaluation_time_seconds") or 0) for unit in of_units)
    content["total_evaluation_time_seconds"] = str(seconds)
    write_atomically(file, json.dumps(content, indent=2, ensure_ascii=False))


def _content(file: Path) -> dict[str, Any]:
    return as_mapping(read_json(file))
