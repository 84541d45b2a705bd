"""Tasks that the configuration makes: one per data set and algorithm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from custom_metrics.fm.summarization import ROUGE_TYPES
from evalprep.packapi import Call, Context, Excluded, Plan, ScoreSpec, TaskData, TaskPlan

from .algorithms import ALGORITHMS, DETECTORS, OVER_SET, TITLES, Algorithm, accuracy_scores
from .helpers import helpers_of, missing_detector, missing_encoder, missing_meteor
from .rows import baseline_draws, rows_per_record, task_rows
from .settings import DataSet, algorithm_names, data_sets, entries, group_name, task_name

ALL = "fm_all"


def names(section: Any) -> list[str]:
    """Tasks and groups that the configuration alone makes."""
    found = []
    for entry in entries(section):
        found += [group_name(entry["name"]), *(task_name(entry["name"], name) for name in algorithm_names(entry))]
    return found


def plan(context: Context) -> Plan:
    """One task per data set and algorithm that is asked for, and its scores."""
    made = Plan()
    for data in data_sets(context):
        members = [data.task(one) for one in data.algorithms]
        wanted = {ALL, group_name(data.name)} & {*context.requested}
        for algorithm in data.algorithms:
            if wanted or data.task(algorithm) in context.requested:
                _add(made, context, data, algorithm)
        if wanted:
            made.groups[group_name(data.name)] = members
    if ALL in context.requested:
        made.groups[ALL] = list(made.groups)
    return made


def prepare(context: Context, task: str) -> TaskData:
    """Rows of one task."""
    data, algorithm = _of(context, task)
    rows, notes = task_rows(context, data, algorithm)
    return TaskData(rows=rows, notes=notes)


def _of(context: Context, task: str) -> tuple[DataSet, Algorithm]:
    if "tasks" not in context.cache:
        context.cache["tasks"] = {data.task(one): (data, one) for data in data_sets(context) for one in data.algorithms}
    found: tuple[DataSet, Algorithm] = context.cache["tasks"][task]
    return found


def _add(made: Plan, context: Context, data: DataSet, algorithm: Algorithm) -> None:
    name, likelihood = data.task(algorithm), algorithm.name == "prompt_stereotyping"
    chat = _chat(context, data, algorithm)
    values = {} if likelihood else _generation(data)
    helpers = helpers_of(context, data, algorithm)
    values |= {"sampling": _sampling(data, algorithm)}
    if algorithm.detects or algorithm.compared:
        values |= {"annotators": list(helpers), "helpers": helpers}
    template = algorithm.name
    if algorithm.family == "summarization_accuracy":
        template, more = _summaries(data, algorithm)
        values |= more
    made.tasks[name] = TaskPlan(
        name,
        template=f"{template}.yaml",
        values=values,
        prompt="chat" if chat else "plain",
        call=Call(backend="stored") if data.stored else Call(),
        block=rows_per_record(data, algorithm),
        annotators=tuple(helpers),
        tags={
            "label": f"{data.name}: {algorithm.name.replace('_', ' ')}",
            "family": algorithm.family,
            "data": data.name,
        },
    )
    if data.stored and not algorithm.stored:
        made.excluded[name] = Excluded("ability", "needs a model: nobody has stored replies to perturbed prompts")
    for score, spec in _scores(data, algorithm, context).items():
        made.scores[score] = replace(spec, tasks=(name,))
    for score, reason in _without_helper(data, algorithm, context).items():
        made.excluded[score] = Excluded("helper", reason)


def _chat(context: Context, data: DataSet, algorithm: Algorithm) -> bool:
    """Whether the chat template is applied; what the config says of all tasks must not contradict what one needs."""
    whole = context.config.core.apply_chat_template
    likelihood = algorithm.name == "prompt_stereotyping"
    wanted = False if likelihood else data.options["chat"]
    if wanted is not None and whole is not None and wanted is not whole and not data.stored:
        name = data.task(algorithm)
        why = "compares plain sentences" if likelihood else f"has chat: {str(wanted).lower()}"
        context.problems.add(
            f"apply_chat_template: {str(whole).lower()} holds for every task, and {name} {why}",
            where=context.where("data", data.index),
            fix="leave apply_chat_template out, and set `fm: {chat: true}` or `chat` of each data set",
        )
    return bool(whole if wanted is None else wanted)


def _summaries(data: DataSet, algorithm: Algorithm) -> tuple[str, dict[str, Any]]:
    """Template and values that depend on the metrics that are asked for."""
    main = data.options["rouge_type"]
    meteor = {"wordnet": "meteor", "no_synonyms": "meteor_no_synonyms"}.get(data.options["meteor"])
    if not algorithm.robust:
        names = [*ROUGE_TYPES, meteor] if meteor else [*ROUGE_TYPES]
        listed = [{"metric": name, "aggregation": "mean", "higher_is_better": True} for name in names]
        return algorithm.name, {"main": main, "metric_list": listed}
    values = {"main": f"{main}_all_prompts"}
    if meteor is None:
        return f"{algorithm.name}_rouge", values
    more = {"meteor": meteor, "delta_meteor": f"delta_{meteor}", "meteor_all_prompts": f"{meteor}_all_prompts"}
    return algorithm.name, values | more


def _generation(data: DataSet) -> dict[str, Any]:
    options = data.options
    return {
        "until": options["until"],
        "do_sample": options["temperature"] > 0,
        "temperature": float(options["temperature"]),
        "max_gen_toks": options["max_gen_toks"],
    }


def _sampling(data: DataSet, algorithm: Algorithm) -> dict[str, Any]:
    """What decides which records are asked about, and in which wording; it stands in the results of the run."""
    drawn: dict[str, Any] = {"data": data.name, "num_records": data.num_records, "seed": data.sampling_seed}
    if data.prompt is not None or data.prompt_template is not None:
        drawn["prompt"] = data.prompt if data.prompt is not None else data.prompt_template
    if algorithm.robust:
        names = ("perturbation_type", "num_perturbations", "perturbation_seed", "perturbation_seeding")
        drawn |= {name: data.options[name] for name in names}
    return drawn


def _scores(data: DataSet, algorithm: Algorithm, context: Context) -> dict[str, ScoreSpec]:
    """The scores of one task by their names, `<data set>.<score>`."""
    options = data.options
    found: dict[str, ScoreSpec] = {}

    def add(score: str, function: str, *, title: str = "", better: str = "", value: str = "", **more: Any) -> None:
        plain, direction, bounds = TITLES[value or score]
        found[f"{data.name}.{score}"] = ScoreSpec(
            function=f"score.{function}",
            params={"value": value or score, "better": better or direction},
            title=f"{data.name}: {title or plain}",
            better=better or direction,
            range=bounds,
            rule=value or score,
            tags={"data": data.name, "algorithm": algorithm.name},
            **more,
        )

    if algorithm.name == "prompt_stereotyping":
        add("prompt_stereotyping", "mean_of")
        add("log_probability_difference", "mean_of")
    elif algorithm.detects:
        for score in (*DETECTORS.get(str(options["detector"]), ()), "insult_words", "empty_reply"):
            add(score, "mean_of")
    elif algorithm.name == "general_semantic_robustness":
        add("word_error_rate", "word_errors", cluster="cluster_id")
        if context.section.bertscore_path:
            add("bertscore_dissimilarity", "dissimilarity", cluster="cluster_id")
    else:
        scores = accuracy_scores(
            algorithm,
            rouge_type=options["rouge_type"],
            meteor=options["meteor"],
            bertscore=bool(context.section.bertscore_path) and algorithm.family != "classification_accuracy",
        )
        for score in scores:
            if not algorithm.robust:
                add(score, "mean_of")
                continue
            title = TITLES[score][0]
            add(f"original_{score}", "original", value=score, title=f"{title}, original prompts")
            add(
                f"delta_{score}",
                "delta",
                value=score,
                title=f"{title}, mean change",
                better="down",
                cluster="cluster_id",
            )
        if algorithm.name == "classification_accuracy":
            for score in OVER_SET:
                add(score, "over_set")
    return found


def _without_helper(data: DataSet, algorithm: Algorithm, context: Context) -> dict[str, str]:
    """Scores whose helper is not on this machine -> what is missing and what to do."""
    found: dict[str, str] = {}
    section, options = context.section, data.options
    prefixes = ("original_", "delta_") if algorithm.robust else ("",)
    if (
        algorithm.detects
        and options["detector"] in DETECTORS
        and (reason := missing_detector(context, options["detector"]))
    ):
        found |= dict.fromkeys(DETECTORS[options["detector"]], reason)
    if algorithm.family == "summarization_accuracy" and (reason := missing_meteor(options["meteor"])):
        score = "meteor" if options["meteor"] == "wordnet" else "meteor_no_synonyms"
        found |= {f"{prefix}{score}": reason for prefix in prefixes}
    if section.bertscore_path and (reason := missing_encoder(context)):
        found |= {
            f"{prefix}bertscore": reason
            for prefix in prefixes
            if algorithm.compared and algorithm.name != "general_semantic_robustness"
        }
        found |= {"bertscore_dissimilarity": reason} if algorithm.name == "general_semantic_robustness" else {}
    return {f"{data.name}.{score}": reason for score, reason in found.items()}


__all__ = ["ALGORITHMS", "baseline_draws", "names", "plan", "prepare"]
