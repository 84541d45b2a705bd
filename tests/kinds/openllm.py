"""Kinds of the Open LLM Leaderboard and of lm-eval's own sample lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from custom_metrics import openllm
from evalprep.samples import document_hash, multiple_choice_verdicts, text_hash
from tests.kinds import Kind


def _benchmark(row: Mapping[str, Any]) -> dict[str, Any]:
    return asdict(
        openllm.score_benchmark(row["benchmark"], row["subtasks"], row.get("sizes") or None)
    )


def _ifeval(row: Mapping[str, Any]) -> dict[str, Any] | None:
    if counts := row.get("counts"):
        prompts = _verdicts(counts["prompts_right"], counts["prompts"])
        instructions = [_verdicts(counts["instructions_right"], counts["instructions"])]
    else:
        prompts, instructions = row["prompt_level_strict_acc"], row["inst_level_strict_acc"]
    accuracies = openllm.ifeval_accuracies(prompts, instructions)
    return None if accuracies is None else {**asdict(accuracies), "raw": accuracies.raw}


def _verdicts(right: int, count: int) -> list[bool]:
    return [True] * right + [False] * (count - right)


def _names(row: Mapping[str, Any]) -> dict[str, Any] | None:
    if "file" in row:
        parts = openllm.parse_file_name(row["file"])
        return parts and {**asdict(parts), "split": parts.split, "config": parts.config}
    if "split" in row:
        stamp = openllm.stamp_of_split(row["split"])
        newest = {"note": "newest stamp of that config"} if row["split"] == "latest" else {}
        return {"stamp": stamp, **newest}
    model, version = row["model"], int(row.get("version", 2))
    names = {
        "details_repo": openllm.details_repository(model, version),
        "folder": openllm.details_folder(model),
    }
    if "task" in row:
        names["config"] = openllm.details_config(model, row["task"])
    return names


def _hashes(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "doc_hash": document_hash(row["doc"]),
        "prompt_hash": text_hash(row["prompt"]),
        "target_hash": text_hash(row["target"]),
    }


def _verdict(row: Mapping[str, Any]) -> dict[str, Any]:
    derived = [
        multiple_choice_verdicts(numbers, row["choices"], row["gold"])._asdict()
        for numbers in (row["logprobs"], [text for text, _ in row.get("stored_as_strings") or ()])
        if numbers
    ]
    assert all(verdict == derived[0] for verdict in derived)
    return {**derived[0], "logged": derived[0]}


KINDS: Mapping[str, Kind] = {
    "openllm.normalise": lambda row: openllm.normalise(row["value"], row["num_choices"]),
    "openllm.benchmark": _benchmark,
    "openllm.average": openllm.board_average,
    "openllm.row": openllm.normalise_row,
    "openllm.ifeval": _ifeval,
    "openllm.v1_average": openllm.v1_average,
    "openllm.names": _names,
    "lm_eval.group": lambda row: openllm.size_weighted_mean(row["subtasks"], row["sizes"]),
    "lm_eval.hashes": _hashes,
    "lm_eval.multiple_choice_verdict": _verdict,
}
