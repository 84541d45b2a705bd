"""One call of lm-eval with the settings of the prepared command, and its files."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.samples import results_name, samples_name
from evalprep.status import Job


def configuration(job: Job) -> Any:
    """lm-eval's own reading of the command.

    Defaults, seeds and chat settings as `lm_eval run --config` has them.

    Raises:
        BadInput: lm-eval refuses a setting, as after an edit of the run configuration.
    """
    from lm_eval.config.evaluate_config import EvaluatorConfig

    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as handle:
        json.dump(
            {"model": job.model, "model_args": job.model_args, "tasks": job.tasks, **job.options},
            handle,
        )
        handle.flush()
        try:
            return EvaluatorConfig.from_config(handle.name)
        except (ValueError, TypeError) as error:
            raise BadInput(
                Problem(
                    what=f"lm-eval refuses the settings of {job.name or 'the command'}: {error}",
                    where="its run configuration (run*.yaml of the work folder)",
                    fix="take back the edit, or prepare again",
                )
            ) from error


def evaluate(
    config: Any, lm: Any, tasks: list[Any], manager: Any, tracker: Any, **changes: Any
) -> dict[str, Any]:
    """Calls lm-eval with the settings of the command.

    Args:
        config: What `configuration` gave.
        lm: The model.
        tasks: Names, or lm-eval's task objects.
        manager: lm-eval's task manager.
        tracker: lm-eval's object that writes the files.
        changes: Arguments of `simple_evaluate` beside those of the command.
    """
    from lm_eval import simple_evaluate

    _keep_description_of_environment()
    result = simple_evaluate(
        model=lm,
        model_args=config.model_args,
        tasks=tasks,
        task_manager=manager,
        evaluation_tracker=tracker,
        batch_size=config.batch_size,
        max_batch_size=config.max_batch_size,
        device=config.device,
        num_fewshot=config.num_fewshot,
        system_instruction=config.system_instruction,
        apply_chat_template=config.apply_chat_template,
        fewshot_as_multiturn=config.fewshot_as_multiturn,
        gen_kwargs=config.gen_kwargs,
        log_samples=True,
        random_seed=config.seed[0] if config.seed else None,
        numpy_random_seed=config.seed[1] if config.seed else None,
        torch_random_seed=config.seed[2] if config.seed else None,
        fewshot_random_seed=config.seed[3] if config.seed else None,
        metadata=config.metadata,
        confirm_run_unsafe_code=config.confirm_run_unsafe_code,
        **changes,
    )
    # It was given an object, and notes its class and the limit of this call.
    result["config"].update({"model": config.model, "limit": config.limit})
    tracker.general_config_tracker.model_source = config.model
    return dict(result)


@functools.cache
def _keep_description_of_environment() -> None:
    """Makes torch describe the environment once in this process, and keep the description.

    lm-eval asks for it in every call. Each description starts pip and a dozen other programs, which
    takes a second or two, and it is the same for the whole process.
    """
    try:
        from torch.utils import collect_env
    except ImportError:
        return
    collect_env.get_pretty_env_info = functools.cache(collect_env.get_pretty_env_info)


def save(tracker: Any, results: dict[str, Any], *, samples: bool) -> None:
    """Writes lm-eval's files.

    Raises:
        OSError: a file is not there or not whole; lm-eval itself only logs that.
    """
    from lm_eval.utils import handle_non_serializable

    lines = results.pop("samples")
    json.dumps(results, default=handle_non_serializable)
    tracker.save_results_aggregated(results=results, samples=lines if samples else None)
    folder = Path(tracker.output_path) / str(tracker.general_config_tracker.model_name_sanitized)
    if not (folder / results_name(tracker.date_id)).is_file():
        raise OSError("lm-eval could not write the results file")
    if not samples:
        return
    for task, rows in lines.items():
        count = len(rows)
        tracker.save_results_samples(task_name=task, samples=rows)
        with (folder / samples_name(task, tracker.date_id)).open("rb") as handle:
            if sum(1 for _ in handle) != count:
                raise OSError(f"lm-eval could not write all samples of {task}")
