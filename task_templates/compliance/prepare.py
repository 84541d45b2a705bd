"""The tasks of the suite for a configuration, their rows, and the rows of second stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from custom_metrics.compliance.consistency import simple_triple, split_sentences
from custom_metrics.compliance.perturb import VERSIONS
from evalprep.packapi import BadInput, Context, Excluded, Plan, ScoreSpec, TaskData, TaskPlan

from . import choices, dialogues, replies, v2
from .checkout import checkout_of
from .datasets import absent_files, check_names, first_problem, is_local, missing, stands_in
from .detectors import RATED, absent_helper, sentiment_name, toxicity_name
from .outcome import DEPARTURES, STAND_IN, VARIANT, WORDING, Sample, reply_in
from .registry import STOCK as PUBLIC
from .variants import VARIANTS, take_variants, variant_of
from .wording import Words, words
from .wordtables import TABLED, word_table

Row = dict[str, Any]
Rows = Callable[[Context], list[Row]]


_VERSIONS = {
    f"compliance_mmlu_robustness_{version.replace('-', '_')}": version for version in VERSIONS
}
_MMLU = ("mmlu", "mmlu_shots")
#: Task -> data sets behind it, and its rows. Tasks of a second stage have none yet.
TASKS: dict[str, tuple[tuple[str, ...], Rows]] = {
    "compliance_human_eval": (("human_eval",), replies.human_eval),
    "compliance_hellaswag_rows": (("hellaswag", "hellaswag_shots"), choices.hellaswag),
    "compliance_ai2_reasoning_rows": (
        ("ai2_reasoning", "ai2_reasoning_shots"),
        choices.ai2_reasoning,
    ),
    "compliance_truthful_qa_mc2_rows": (("truthful_qa_mc2",), choices.truthful_qa),
    "compliance_mmlu_rows": (_MMLU, choices.mmlu),
    "compliance_i_know_answer": (("calibration_big_bench_i_know",), replies.i_know),
    "compliance_calibration_big_bench": (("calibration_big_bench",), choices.big_bench),
    "compliance_human_deception": (("human_deception",), replies.human_deception),
    "compliance_instruction_goal_hijacking": (
        ("instruction_goal_hijacking",),
        replies.goal_hijacking,
    ),
    "compliance_multiturn_goal_hijacking": (("multiturn_goal_hijacking",), dialogues.multiturn),
    "compliance_self_check_describe": (("self_check_consistency",), replies.self_check),
    "compliance_forecasting_consistency": (("forecast_consistency",), dialogues.forecast),
    "compliance_boolq_contrast_robustness": (("boolq_contrast",), choices.boolq),
    "compliance_imdb_contrast_robustness": (("imdb_contrast",), choices.imdb),
    **{
        task: (_MMLU, partial(choices.mmlu_version, version=version))
        for task, version in _VERSIONS.items()
    },
    "compliance_reddit_bias": (("reddit_bias",), choices.reddit_bias),
    "compliance_bold": (("bold",), replies.bold),
    "compliance_bbq": (("bbq",), replies.bbq),
    "compliance_fairllm": (("fairllm", "fairllm_attributes"), replies.fairllm),
    "compliance_decoding_trust": (("decoding_trust",), replies.decoding_trust),
    "compliance_toxicity_harmful": (("toxicity_harmful_strings",), replies.harmful_strings),
    "compliance_toxicity_harmless": (("toxicity_realtoxicityprompts",), replies.harmless_prompts),
    "compliance_toxicity_advbench": (("toxicity_advbench",), replies.advbench),
    "compliance_privacy": (("privacy",), replies.privacy),
    "compliance_memorization": (("memorization",), replies.memorization),
    **v2.TASKS,
}
#: Tasks with a system turn -> its text.
SYSTEM_TURNS = {
    "compliance_fairllm": "fairllm_system",
    "compliance_decoding_trust": "decoding_trust_system",
}


def _stock(name: str, shots: int, metric: str, *, stock: str = "task") -> TaskPlan:
    """A task of lm-eval, its number of shots and the metric that counts."""
    return TaskPlan(name, stock=stock, overrides={"num_fewshot": shots}, primary=(metric, "none"))


#: Own task for rows of one's own -> lm-eval's task for the public data, its shots, its metric.
STOCK: dict[str, TaskPlan] = {
    "compliance_hellaswag_rows": _stock("hellaswag", 10, "acc_norm"),
    "compliance_ai2_reasoning_rows": _stock("arc_challenge", 25, "acc_norm"),
    "compliance_truthful_qa_mc2_rows": _stock("truthfulqa_mc2", 0, "acc"),
    "compliance_mmlu_rows": _stock("mmlu", 5, "acc", stock="group"),
}


def plan(context: Context) -> Plan:
    """Takes lm-eval's own tasks where the public data serve.

    Leaves out what cannot run, with the reason.
    """
    check_names(context)
    try:
        checkout_of(context)
        checkout_of(context, "v2")
    except BadInput as error:
        context.problems.extend(error.problems)
        return Plan()
    stock = {}
    for own, task in STOCK.items():
        data_set, *_shots = _data_sets(own)
        if not is_local(context, data_set):
            stock[own] = task

    # The plan of the pack, with lm-eval's tasks by name where they replace own tasks.
    def name_in_plan(name: str) -> str:
        return stock[name].name if name in stock else name

    groups = {}
    for name, group in context.pack.groups.items():
        groups[name] = [name_in_plan(member) for member in group.tasks]
    requested = [name_in_plan(name) for name in context.requested]
    plan = context.plan_of(requested, groups)
    _take_stock(context, plan, stock)
    take_variants(context, plan)
    for name, task in plan.tasks.items():
        if name in plan.excluded:
            continue
        rest, needs = context.section.rest_backend, task.needs or frozenset()
        if rest and needs - context.backend.abilities:
            plan.tasks[name] = replace(task, call=replace(task.call, backend=rest))
        exclusion = _exclusion(context, name)
        if exclusion is not None:
            kind, reason = exclusion
            plan.excluded[name] = Excluded(kind, reason, dict(task.tags))
    return plan


def _take_stock(context: Context, plan: Plan, stock: Mapping[str, TaskPlan]) -> None:
    """Puts lm-eval's tasks into a plan, with tags and scores of the own tasks that they replace."""
    for own, task in stock.items():
        if task.name in plan.tasks:
            tags = dict(context.pack.tasks[own].tags)
            needs = frozenset({"loglikelihood"})
            plan.tasks[task.name] = replace(task, tags=tags, needs=needs)
            # The score that reads the own task reads lm-eval's, in runs of this preparation.
            scores = context.pack.suite_scores.items()
            name, score = next(
                (name, score) for name, score in scores if own in (*score.task, *score.tasks)
            )
            fields = {key: getattr(score, key) for key in _COPIED}
            plan.scores[name] = ScoreSpec(tasks=PUBLIC[own], **fields)


#: What a score of lm-eval's task has in common with that of the own task.
_COPIED = ("function", "params", "title", "note", "better", "range", "rule", "made_of", "tags")
_ASK_A_JUDGE = "set compliance.judge: true and ask `evalprep judge` after the run"


def _exclusion(context: Context, task: str) -> tuple[str, str] | None:
    """Kind and reason where a task cannot be made."""
    section = context.section
    if task == "compliance_human_eval" and not section.run_code:
        return "user", "running model-written programmes is off; set compliance.run_code: true"
    if task == "compliance_self_check_alternative" and not section.judge:
        return "helper", f"it needs a judge: {_ASK_A_JUDGE}"
    if task in v2.JUDGED and not section.judge:
        return "helper", f"a judge rates its replies: {_ASK_A_JUDGE}"
    if reason := absent_helper(context, task):
        return "helper", reason
    version = _VERSIONS.get(task)
    if version in TABLED:
        try:
            reason = word_table(context, str(version)).reason
        except BadInput as error:
            # A wrong file that the user named is a mistake of the config.
            context.problems.extend(error.problems)
            reason = first_problem(error)
        if reason:
            return "data", reason
    parts = _data_sets(task)
    reasons = [missing(context, part) for part in parts]
    if parts and not any(reasons):
        reasons = [_unreadable_rows(context, task, parts)]
    return next((("data", reason) for reason in reasons if reason), None)


def _data_sets(task: str) -> Sequence[str]:
    """The data sets behind a task; none of a second stage."""
    if task not in TASKS:
        return ()
    data_sets, _rows_of_task = TASKS[task]
    return data_sets


def _unreadable_rows(context: Context, task: str, parts: Sequence[str]) -> str:
    """Returns why the rows of a task cannot be made of its data; empty where they can.

    Wrong data that the user named are a mistake of the config.
    """
    is_named_by_user = any(part in context.section.data for part in parts)
    try:
        return "" if _rows(context, task) else "its data set has no usable rows"
    except BadInput as error:
        where = error.problems[0].where
        is_of_checkout = where == context.where("v1_checkout")
        if is_named_by_user or is_of_checkout:
            context.problems.extend(error.problems)
        return f"its data cannot be read: {first_problem(error)}"
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        names = ", ".join(parts)
        cause = f"{type(error).__name__}: {error}"
        reason = f"rows of {names} are not as expected: {cause}"
        if is_named_by_user:
            fix = "see the columns in docs/packs/compliance.md"
            context.problems.add(reason, where=context.where("data"), fix=fix)
        return reason


def _rows(context: Context, task: str) -> list[Row]:
    _data_sets_of_task, rows_of = TASKS[task]
    return context.once(f"task {task}", partial(rows_of, context))


def prepare(context: Context, task: str) -> TaskData:
    """Rows of one task."""
    rows = _rows(context, task)
    if task in RATED:
        section = context.section
        names = {"detector": toxicity_name(section.toxicity)}
        if task == "compliance_bold":
            names["rater"] = sentiment_name(section.sentiment)
        rows = [row | names for row in rows]
    variant = variant_of(context, task)
    if variant is not None:
        rows = [variant.row(row) | {VARIANT: variant.name} for row in rows]
    # Every row carries what a reader has to know, since a results folder travels alone.
    facts = _row_facts(context, task)
    rows = [row | facts for row in rows]
    # Values of the placeholders of a task's template: its system turn.
    key = SYSTEM_TURNS.get(task)
    values = {} if key is None else {"system": replies.system_turn(context, key)}
    return TaskData(rows=rows, values=values, notes=_notes(context, task))


def _row_facts(context: Context, task: str) -> Row:
    """The wording of a row, and whether it is one of the pack's own small ones."""
    stand_in = {STAND_IN: True} if _stands_in(context, task) else {}
    if task in v2.TASKS:
        return {WORDING: v2.wording(context, task), **stand_in}
    # The settings of a task that differ from those of version 1; empty where none does.
    settings = []
    for name, (usual, tasks) in _V1_SETTINGS.items():
        value = getattr(context.section, name)
        if task in tasks and value != usual:
            settings.append(f"{name} {value}, v1 has {usual}")
    if task == "compliance_privacy":
        settings.append("greedy replies, v1 samples at temperature 0.2")
    return {WORDING: words(context).name, DEPARTURES: "; ".join(settings), **stand_in}


_BOOLQ = "compliance_boolq_contrast_robustness"
#: Setting -> version 1's value, and the tasks that it decides.
_V1_SETTINGS: dict[str, tuple[int, tuple[str, ...]]] = {
    "directors": (5, ("compliance_fairllm",)),
    "contrasts": (1, (_BOOLQ,)),
    "robustness_rows": (500, tuple(_VERSIONS)),
    "seed": (36, (*_VERSIONS, "compliance_memorization", _BOOLQ)),
}


def _stands_in(context: Context, task: str) -> bool:
    """Returns whether rows of a task are the pack's own small ones."""
    return any(stands_in(context, part) for part in _data_sets(task))


def _notes(context: Context, task: str) -> list[str]:
    """Returns what a reader of the scores should know about the rows."""
    notes = []
    if _stands_in(context, task) and context.is_first("stand-ins"):
        notes.append(f"compliance: {_STAND_INS}")
    if task == "compliance_bbq":
        notes += replies.bbq_notes(context)
    variant = variant_of(context, task)
    if variant is not None and context.is_first(variant.name):
        notes.append(f"compliance: {task}: variant over a chat API: {variant.name}")
    for part in _data_sets(task):
        if absent := absent_files(context, part):
            reason = f"the checkout of v1 lacks {absent}; the rest is used"
            notes.append(f"compliance: {part}: {reason}")
    if task in SYSTEM_TURNS and context.refuses_system():
        notes.append(f"compliance: {task}: {_NO_SYSTEM_ROLE}")
    version = _VERSIONS.get(task)
    if version in TABLED:
        table = word_table(context, str(version))
        origin = f"{version} from {table.source}"
        notes.append(f"compliance: mmlu_robustness takes its {origin}")
    return notes


_STAND_INS = "small stand-in rows of the pack are used; scores say nothing about a model"
_NO_SYSTEM_ROLE = (
    "the model's chat template has no system role, so that turn stands before the user's"
)


def continue_rows(
    context: Context, task: str, before: Mapping[str, Sequence[Sample]]
) -> Iterator[dict[str, Any]]:
    """Rows of a second stage, made from the replies of the first."""
    if task == "compliance_i_know_confidence":
        for row in _confidence(words(context), before["compliance_i_know_answer"]):
            # It is asked in the variant that the first stage was asked in.
            if VARIANT in row:
                variant = VARIANTS[task]
                yield variant.row(row) | {VARIANT: variant.name}
            else:
                yield row
    elif task == "compliance_self_check_alternative":
        described = before["compliance_self_check_describe"]
        rows = list(_alternatives(context, described))
        # A stage without any row would stop the other stages; such a row is asked about nothing and
        # scores nothing.
        yield from rows or [_nothing_to_ask(described[0])]


def _kept_facts(doc: Mapping[str, Any]) -> Row:
    """Returns what rows of a second stage keep of the first."""
    facts = (WORDING, DEPARTURES, STAND_IN, VARIANT)
    return {name: doc[name] for name in facts if name in doc}


def _confidence(texts: Words, rows: Sequence[Sample]) -> Iterator[Row]:
    """Question, own answer, and whether it was right: No or Yes; the target is what it was."""
    for row in rows:
        doc, metrics = row["doc"], row["metrics"]
        answer = reply_in(row)
        asked_anew = f"{doc['prompt']} {answer}"
        yield {
            "sample_id": row["sample_id"],
            "prompt": f"{asked_anew}\n{texts.fill('i_know')}\nAnswer:\n",
            "choices": ["No", "Yes"],
            "target": int(metrics["acc"] == 1.0),
            "target_v1": int(metrics["acc_v1"] == 1.0),
            "answered": bool(answer.strip()),
            **_kept_facts(doc),
        }


def _alternatives(context: Context, rows: Sequence[Sample]) -> Iterator[Row]:
    """One row per sentence with a triple, without the last sentence of a text.

    Its prompt has the subject and the predicate of the triple, to be completed anew.
    """
    shots = dialogues.gap_shots(context)
    for row in rows:
        topic, before = row["doc"]["topic"], ""
        sentences = split_sentences(text=reply_in(row).strip())
        for place, sentence in enumerate(sentences[:-1] or sentences):
            triple = simple_triple(sentence=sentence)
            if triple is None:
                continue
            subject, predicate, _object = triple
            prompt = dialogues.gap(context, topic, before, subject, predicate)
            asked = {
                "before": before,
                "sentence": sentence,
                "explain": dialogues.explain(context, topic, before, sentence),
                "has_triple": True,
            }
            yield _alternative(row, str(place), prompt, asked, shots)
            before += sentence


def _nothing_to_ask(row: Sample) -> Row:
    """The row of a run whose descriptions hold no sentence that the rule can read."""
    prompt = f"Write one sentence about {row['doc']['topic']}."
    asked = {"before": "", "sentence": "", "explain": "", "has_triple": False}
    return _alternative(row, "none", prompt, asked)


def _alternative(row: Sample, name: str, prompt: str, asked: Row, shots: Sequence[Row] = ()) -> Row:
    """A row about a description; `asked` names the sentence that the reply may contradict."""
    doc = row["doc"]
    return {
        "sample_id": f"{row['sample_id']}-{name}",
        "messages": [*shots, {"role": "user", "content": prompt}],
        "prompt": prompt,
        "target": "",
        "topic": doc["topic"],
        **asked,
        "cluster_id": row["sample_id"],
        **_kept_facts(doc),
    }
