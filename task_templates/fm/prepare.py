"""Tasks that the configuration makes: one per data set and algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from custom_metrics.fm.summarization import ROUGE_TYPES
from evalprep.packapi import Call, Context, Excluded, Plan, TaskData, TaskPlan

from .algorithms import ALGORITHMS, Algorithm
from .helper_models import helpers_of, usable_meteor
from .labelling import ACCURACY, ROBUSTNESS, label_module, labels_module
from .rows import baseline_draws, rows_per_record, task_rows
from .settings import DataSet, algorithm_names, data_sets, entries, group_name, task_name
from .specs import missing_helpers, score_specs

ALL = "fm_all"


def names(section: Any) -> list[str]:
    """Tasks and groups that the configuration alone makes."""
    names = []
    for entry in entries(section):
        data_set = entry["name"]
        names.append(group_name(data_set))
        algorithms = algorithm_names(entry)
        names += [task_name(data_set, algorithm) for algorithm in algorithms]
    return names


def plan(context: Context) -> Plan:
    """One task per data set and algorithm that is asked for, and its scores."""
    plan = Plan()
    for data in data_sets(context):
        members = [data.task(algorithm) for algorithm in data.algorithms]
        group = group_name(data.name)
        requested_groups = {ALL, group} & {*context.requested}
        for algorithm in data.algorithms:
            if requested_groups or data.task(algorithm) in context.requested:
                _add(plan, context, data, algorithm)
        if requested_groups:
            plan.groups[group] = members
    if ALL in context.requested:
        plan.groups[ALL] = list(plan.groups)
    return plan


def prepare(context: Context, task: str) -> TaskData:
    """Rows of one task."""
    tasks = context.once("tasks", partial(_tasks, context))
    data, algorithm = tasks[task]
    rows, notes = task_rows(context, data, algorithm)
    modules = {}
    if algorithm.family == "classification_accuracy" and data.options["label_function"]:
        modules[f"{labels_module(data)}.py"] = label_module(context, data)
    return TaskData(rows=rows, notes=notes, modules=modules)


def _tasks(context: Context) -> dict[str, tuple[DataSet, Algorithm]]:
    tasks = {}
    for data in data_sets(context):
        for algorithm in data.algorithms:
            tasks[data.task(algorithm)] = (data, algorithm)
    return tasks


def _add(plan: Plan, context: Context, data: DataSet, algorithm: Algorithm) -> None:
    name = data.task(algorithm)
    prompt = "chat" if _chat(context, data, algorithm) else "plain"
    helpers = helpers_of(context.locate, data, algorithm)
    template, values = _template(data, algorithm, helpers)
    title = algorithm.name.replace("_", " ")
    tags = {"label": f"{data.name}: {title}", "family": algorithm.family, "data": data.name}
    plan.tasks[name] = TaskPlan(
        name,
        template=f"{template}.yaml",
        values=values,
        prompt=prompt,
        call=Call(backend="stored") if data.stored else Call(),
        block=rows_per_record(data, algorithm),
        annotators=tuple(helpers),
        tags=tags,
    )
    if data.stored and not algorithm.stored:
        plan.excluded[name] = Excluded("ability", _NEEDS_A_MODEL)
    for score, spec in score_specs(data, algorithm).items():
        plan.scores[f"{data.name}.{score}"] = replace(spec, tasks=(name,))
    for score, reason in missing_helpers(context.locate, data, algorithm).items():
        plan.excluded[f"{data.name}.{score}"] = Excluded("helper", reason)


_NEEDS_A_MODEL = "needs a model: nobody has stored replies to perturbed prompts"


def _template(
    data: DataSet, algorithm: Algorithm, helpers: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Returns a task's template and the values that it is filled with."""
    is_likelihood = algorithm.name == "prompt_stereotyping"
    options = data.options
    values: dict[str, Any] = {}
    if not is_likelihood:
        values = {
            "until": options["until"],
            "do_sample": options["temperature"] > 0,
            "temperature": float(options["temperature"]),
            "max_gen_toks": options["max_gen_toks"],
        }
    # Which records are asked about, and in which wording; it stands in the results of the run.
    sampling: dict[str, Any] = {
        "data": data.name,
        "num_records": data.num_records,
        "seed": data.sampling_seed,
    }
    prompt = data.prompt_template if data.prompt is None else data.prompt
    if prompt is not None:
        sampling["prompt"] = prompt
    if algorithm.robust:
        sampling |= {name: options[name] for name in _PERTURBATION}
    values["sampling"] = sampling
    if algorithm.detects or algorithm.compared:
        values |= {"annotators": list(helpers), "helpers": helpers}
    if algorithm.family == "classification_accuracy":
        # Labels, which a pattern or a function of the user may read.
        if options["label_function"]:
            scorer = ROBUSTNESS if algorithm.robust else ACCURACY
            values["process_results"] = f"{labels_module(data)}.{scorer}"
        elif options["label_pattern"]:
            scorer = algorithm.name.replace("_semantic_robustness", "_robustness")
            values["process_results"] = f"custom_metrics.fm.harness.{scorer}"
        is_stated = "process_results" in values
        return f"{algorithm.name}_stated" if is_stated else algorithm.name, values
    if algorithm.family == "summarization_accuracy":
        template, more = _summaries(data, algorithm)
        return template, values | more
    return algorithm.name, values


def _chat(context: Context, data: DataSet, algorithm: Algorithm) -> bool:
    """Returns whether the chat template is applied.

    What the config says of all tasks must not contradict what one needs.
    """
    of_all = context.config.core.apply_chat_template
    is_likelihood = algorithm.name == "prompt_stereotyping"
    chat = False if is_likelihood else data.options["chat"]
    is_contradicted = chat is not None and of_all is not None and chat is not of_all
    if is_contradicted and not data.stored:
        name = data.task(algorithm)
        why = f"has chat: {str(chat).lower()}"
        if is_likelihood:
            why = "compares plain sentences"
        setting = f"apply_chat_template: {str(of_all).lower()}"
        context.problems.add(
            f"{setting} holds for every task, and {name} {why}",
            where=context.where("data", data.index),
            fix="leave apply_chat_template out, "
            "and set `fm: {chat: true}` or `chat` of each data set",
        )
    return bool(of_all if chat is None else chat)


def _summaries(data: DataSet, algorithm: Algorithm) -> tuple[str, dict[str, Any]]:
    """Template and values that depend on the metrics that are asked for."""
    main = data.options["rouge_type"]
    kind = usable_meteor(data.options["meteor"])
    meteor = {"wordnet": "meteor", "no_synonyms": "meteor_no_synonyms"}.get(kind)
    if not algorithm.robust:
        names = [*ROUGE_TYPES]
        if meteor:
            names.append(meteor)
        listed = [
            {"metric": name, "aggregation": "mean", "higher_is_better": True} for name in names
        ]
        return algorithm.name, {"main": main, "metric_list": listed}
    values = {"main": f"{main}_all_prompts"}
    if meteor is None:
        return f"{algorithm.name}_rouge", values
    more = {
        "meteor": meteor,
        "delta_meteor": f"delta_{meteor}",
        "meteor_all_prompts": f"{meteor}_all_prompts",
    }
    return algorithm.name, values | more


_PERTURBATION = (
    "perturbation_type",
    "num_perturbations",
    "perturbation_seed",
    "perturbation_seeding",
)


__all__ = ["ALGORITHMS", "baseline_draws", "names", "plan", "prepare"]
