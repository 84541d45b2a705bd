"""Results of a run that was scored without a model.

The facts that only the processes with the model knew are added to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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


def with_model_of(content: dict[str, Any], unit: Mapping[str, Any]) -> None:
    """Adds to a results file what lm-eval knows of a loaded model.

    It is read from the file of a process that loaded the model.
    """
    of_unit = unit.get("config", {})
    of_model = {key: of_unit[key] for key in _OF_MODEL if key in of_unit}
    content["config"] = {**of_unit, **content["config"], **of_model}


def with_process_of(content: dict[str, Any], units: Sequence[Mapping[str, Any]]) -> None:
    """Adds to a results file the facts of the first process, and the time that all of them took."""
    content.update({key: units[0][key] for key in _OF_PROCESS if key in units[0]})
    seconds = sum(float(unit.get("total_evaluation_time_seconds") or 0) for unit in units)
    content["total_evaluation_time_seconds"] = str(seconds)
