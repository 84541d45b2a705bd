"""Tasks that the configuration makes: one per data set and algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from custom_metrics.fm.summarization import ROUGE_TYPES
from evalprep.packapi import Call, Context, Excluded, Plan, ScoreSpec, TaskData, TaskPlan

from .algorithms import ALGORITHMS, DETECTORS, OVER_SET, TITLES, Algorithm, accuracy_scores
from .helper_models import (
    helpers_of,
    missing_detector,
    missing_encoder,
    missing_meteor,
    usable_meteor,
)
from .rows import baseline_draws, rows_per_record, task_rows
from .settings import DataSet, algorithm_names, data_sets, entries, group_name, task_name

Specs = dict[str, ScoreSpec]
Reasons = dict[str, str]  # name of a score -> what is missing, and what to do
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
    data, algorithm = _of(context, task)
    rows, notes = task_rows(context, data, algorithm)
    return TaskData(rows=rows, notes=notes)


def _of(context: Context, task: str) -> tuple[DataSet, Algorithm]:
    if "tasks" not in context.cache:
        tasks: dict[str, tuple[DataSet, Algorithm]] = {}
        for data in data_sets(context):
            for algorithm in data.algorithms:
                tasks[data.task(algorithm)] = (data, algorithm)
        context.cache["tasks"] = tasks
    entry: tuple[DataSet, Algorithm] = context.cache["tasks"][task]
    return entry


def _add(plan: Plan, context: Context, data: DataSet, algorithm: Algorithm) -> None:
    name = data.task(algorithm)
    prompt = "chat" if _chat(context, data, algorithm) else "plain"
    helpers = helpers_of(context, data, algorithm)
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
    for score, spec in _scores(data, algorithm, context).items():
        plan.scores[score] = replace(spec, tasks=(name,))
    for score, reason in _without_helper(data, algorithm, context).items():
        plan.excluded[score] = Excluded("helper", reason)


_NEEDS_A_MODEL = "needs a model: nobody has stored replies to perturbed prompts"


def _template(
    data: DataSet, algorithm: Algorithm, helpers: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Returns a task's template and the values that it is filled with."""
    is_likelihood = algorithm.name == "prompt_stereotyping"
    values = {} if is_likelihood else _generation(data)
    values["sampling"] = _sampling(data, algorithm)
    if algorithm.detects or algorithm.compared:
        values |= {"annotators": list(helpers), "helpers": helpers}
    if algorithm.family != "summarization_accuracy":
        return algorithm.name, values
    template, more = _summaries(data, algorithm)
    return template, values | more


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
        listed = [_listed(name) for name in names]
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


def _listed(metric: str) -> dict[str, Any]:
    """A metric as a task lists it."""
    return {"metric": metric, "aggregation": "mean", "higher_is_better": True}


def _generation(data: DataSet) -> dict[str, Any]:
    options = data.options
    return {
        "until": options["until"],
        "do_sample": options["temperature"] > 0,
        "temperature": float(options["temperature"]),
        "max_gen_toks": options["max_gen_toks"],
    }


def _sampling(data: DataSet, algorithm: Algorithm) -> dict[str, Any]:
    """Returns the settings that decide which records are asked about, and in which wording.

    They stand in the results of the run.
    """
    drawn: dict[str, Any] = {
        "data": data.name,
        "num_records": data.num_records,
        "seed": data.sampling_seed,
    }
    prompt = data.prompt_template if data.prompt is None else data.prompt
    if prompt is not None:
        drawn["prompt"] = prompt
    if algorithm.robust:
        for name in _PERTURBATION:
            drawn[name] = data.options[name]
    return drawn


_PERTURBATION = (
    "perturbation_type",
    "num_perturbations",
    "perturbation_seed",
    "perturbation_seeding",
)


def _scores(data: DataSet, algorithm: Algorithm, context: Context) -> Specs:
    """The scores of one task by their names, `<data set>.<score>`."""
    specs = _score_specs(data, algorithm, context)
    return {f"{data.name}.{name}": spec for name, spec in specs.items()}


def _score_specs(data: DataSet, algorithm: Algorithm, context: Context) -> Specs:
    """The scores of one task by their names without the data set's."""
    if algorithm.name == "prompt_stereotyping":
        names = ["prompt_stereotyping", "log_probability_difference"]
        return {name: _spec(data, algorithm, name, "mean_of") for name in names}
    if algorithm.detects:
        detector = str(data.options["detector"])
        rated = DETECTORS.get(detector, ())
        names = [*rated, "insult_words", "empty_reply"]
        return {name: _spec(data, algorithm, name, "mean_of") for name in names}
    if algorithm.name == "general_semantic_robustness":
        functions = {"word_error_rate": "word_errors"}
        if context.section.bertscore_path:
            functions["bertscore_dissimilarity"] = "dissimilarity"
        specs = {}
        for name, function in functions.items():
            spec = _spec(data, algorithm, name, function)
            specs[name] = replace(spec, cluster="cluster_id")
        return specs
    return _accuracy_specs(data, algorithm, context)


def _accuracy_specs(data: DataSet, algorithm: Algorithm, context: Context) -> Specs:
    """The scores that compare a reply with its target, of perturbed prompts their change."""
    is_text = algorithm.family != "classification_accuracy"
    names = accuracy_scores(
        algorithm,
        rouge_type=data.options["rouge_type"],
        meteor=data.options["meteor"],
        bertscore=bool(context.section.bertscore_path) and is_text,
    )
    specs: Specs = {}
    for name in names:
        if algorithm.robust:
            specs |= _robustness_specs(data, algorithm, name)
        else:
            specs[name] = _spec(data, algorithm, name, "mean_of")
    if algorithm.name == "classification_accuracy":
        for name in OVER_SET:
            specs[name] = _spec(data, algorithm, name, "over_set")
    return specs


def _robustness_specs(data: DataSet, algorithm: Algorithm, value: str) -> Specs:
    """A score of the original prompts, and how it changes where they are perturbed."""
    plain, _direction, _bounds = TITLES[value]
    title = f"{plain}, original prompts"
    original = _spec(data, algorithm, value, "original", title=title)
    title = f"{plain}, mean change"
    change = _spec(data, algorithm, value, "delta", title=title, better="down")
    change = replace(change, cluster="cluster_id")
    return {f"original_{value}": original, f"delta_{value}": change}


def _spec(
    data: DataSet,
    algorithm: Algorithm,
    value: str,
    function: str,
    *,
    title: str = "",
    better: str = "",
) -> ScoreSpec:
    """A score that a function of the pack makes of a value of each reply.

    Args:
        data: The data set.
        algorithm: The algorithm that computes the value.
        value: The value, whose title and direction are the score's own but for what follows.
        function: The function in `score.py`.
        title: A title of its own.
        better: A direction of its own.
    """
    plain, direction, bounds = TITLES[value]
    return ScoreSpec(
        function=f"score.{function}",
        params={"value": value, "better": better or direction},
        title=f"{data.name}: {title or plain}",
        better=better or direction,
        range=bounds,
        rule=value,
        tags={"data": data.name, "algorithm": algorithm.name},
    )


def _without_helper(data: DataSet, algorithm: Algorithm, context: Context) -> Reasons:
    """Scores whose helper is not on this machine -> what is missing and what to do."""
    reasons = {
        **_without_detector(data, algorithm, context),
        **_without_meteor(data, algorithm),
        **_without_encoder(algorithm, context),
    }
    return {f"{data.name}.{score}": reason for score, reason in reasons.items()}


def _without_detector(data: DataSet, algorithm: Algorithm, context: Context) -> Reasons:
    """The ratings of a toxicity detector whose weights are missing -> the reason."""
    detector = data.options["detector"]
    if not algorithm.detects or detector not in DETECTORS:
        return {}
    reason = missing_detector(context, detector)
    return dict.fromkeys(DETECTORS[detector], reason) if reason else {}


def _without_meteor(data: DataSet, algorithm: Algorithm) -> Reasons:
    """METEOR's scores where the data of NLTK are missing -> the reason."""
    if algorithm.family != "summarization_accuracy":
        return {}
    kind = data.options["meteor"]
    score = "meteor" if kind == "wordnet" else "meteor_no_synonyms"
    reason = missing_meteor(kind)
    if reason:
        return dict.fromkeys(_variants(algorithm, score), reason)
    return {}


def _without_encoder(algorithm: Algorithm, context: Context) -> Reasons:
    """BERTScore's scores where its weights are missing -> the reason."""
    if not context.section.bertscore_path:
        return {}
    scores = []
    if algorithm.name == "general_semantic_robustness":
        scores = ["bertscore_dissimilarity"]
    elif algorithm.compared:
        scores = _variants(algorithm, "bertscore")
    reason = missing_encoder(context)
    return dict.fromkeys(scores, reason) if reason else {}


def _variants(algorithm: Algorithm, score: str) -> list[str]:
    """The names under which a score of replies stands in the results."""
    if algorithm.robust:
        return [f"original_{score}", f"delta_{score}"]
    return [score]


__all__ = ["ALGORITHMS", "baseline_draws", "names", "plan", "prepare"]
