"""One call of lm-eval with the settings of the prepared command, and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalprep.run.job import Job


def evaluate(job: Job, lm: Any, tasks: list[Any], manager: Any, tracker: Any, **changes: Any) -> dict[str, Any]:
    """Call lm-eval with the settings of the command."""
    from lm_eval import simple_evaluate

    options = job.options
    seeds = options.get("seed") or [0, 1234, 1234, 1234]
    multiturn = options.get("fewshot_as_multiturn")
    template = options.get("apply_chat_template") or False
    result = simple_evaluate(
        model=lm,
        model_args=dict(job.model_args),
        tasks=tasks,
        task_manager=manager,
        evaluation_tracker=tracker,
        batch_size=options.get("batch_size", 1),
        device=options.get("device"),
        num_fewshot=options.get("num_fewshot"),
        system_instruction=options.get("system_instruction"),
        apply_chat_template=template,
        fewshot_as_multiturn=(True if template else None) if multiturn is None else str(multiturn).lower() == "true",
        gen_kwargs=options.get("gen_kwargs"),
        log_samples=True,
        random_seed=seeds[0],
        numpy_random_seed=seeds[1],
        torch_random_seed=seeds[2],
        fewshot_random_seed=seeds[3],
        metadata=dict(job.model_args),
        confirm_run_unsafe_code=bool(options.get("confirm_run_unsafe_code")),
        **changes,
    )
    result["config"].update({"model": job.model, "limit": options.get("limit")})
    tracker.general_config_tracker.model_source = job.model
    return dict(result)


def save(tracker: Any, results: dict[str, Any], *, samples: bool) -> None:
    """Write lm-eval's files.

    Raises:
        OSError: a file is not there or not whole; lm-eval itself only logs that.
    """
    from lm_eval.utils import handle_non_serializable

    lines = results.pop("samples")
    json.dumps(results, default=handle_non_serializable)
    tracker.save_results_aggregated(results=results, samples=lines if samples else None)
    folder = Path(tracker.output_path) / str(tracker.general_config_tracker.model_name_sanitized)
    if not (folder / f"results_{tracker.date_id}.json").is_file():
        raise OSError("lm-eval could not write the results file")
    for task, rows in lines.items() if samples else ():
        count = len(rows)
        tracker.save_results_samples(task_name=task, samples=rows)
        with (folder / f"samples_{task}_{tracker.date_id}.jsonl").open("rb") as handle:
            if sum(1 for _ in handle) != count:
                raise OSError(f"lm-eval could not write all samples of {task}")
