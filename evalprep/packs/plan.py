"""The plan of a run.

Tasks, how each is called, what it waits for, what is left out, and the commands made of them.

The manifest is the JSON of these. A pack's `plan(context)` returns a `Plan`; preparation joins the
plans of all packs with lm-eval's own tasks and those written in the config.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

#: What a back end can do, and a task can need.
Ability = Literal[
    "generate",
    "plain",
    "chat",
    "system",
    "prefill",
    "loglikelihood",
    "rolling",
    "token_logprobs",
    "first_token",
    "moments",
    "gradients",
    "draws",
    "dialogue",
]
#: plain: raw text; rendered: the chat markup is in the text; chat: the template is applied at run
# time.
Prompt = Literal["plain", "rendered", "chat"]
ABILITIES: tuple[str, ...] = get_args(Ability)
#: Why something is left out: it does not exist, the back end cannot do it, a helper is missing,
# data are missing, the : user said so.
EXCLUDED_KINDS = ("unavailable", "ability", "helper", "data", "user")


@dataclass(frozen=True, kw_only=True)
class Call:
    """The arguments that lm-eval takes once per invocation, as far as a task may ask for them.

    What a task does not ask for is as in the config.

    Attributes:
        backend: Name of a back end.
        model_args: Further arguments of the back end (dtype, revision); the config's own win.
        seed: One seed, or lm-eval's four (python, numpy, torch, few-shot).
    """

    backend: str = ""
    model_args: Mapping[str, Any] = field(default_factory=dict)
    seed: int | tuple[int, ...] | None = None


@dataclass(frozen=True)
class TaskPlan:
    """One task of a plan: an own task (`template`) or one of lm-eval's (`stock`).

    Attributes:
        name: lm-eval's name; own tasks carry the pack's prefix, stock ones keep theirs.
        template: YAML of the pack.
        values: Placeholders of the template.
        stock: `task` or `group` for a member that comes with lm-eval.
        overrides: Keys of a stock member's YAML that are set (`num_fewshot`, `generation_kwargs`,
            ...).
        prompt: A `Prompt`.
        call: What the invocation must be like.
        after: Tasks whose replies its rows are made from; that is all a stage is.
        needs: Abilities of a back end; None for what its template says (a generation, a
            likelihood).
        block: Adjacent rows that belong together; a limit is rounded up to whole blocks.
        primary: Metric and filter that stand for it, None for what its metadata say; the only place
            for stock tasks.
        better: Of a stock task: `up` or `down`, and the pack that says which way is better; None
            for what lm-eval says.
        annotators: Names in the pack's `annotators.py`.
        stands_for: The name under which published files know it.
        published_prompt: A `Prompt`: the form in which the published values beside it were asked;
            empty where that is not known.
        tags: label, family, principle, requirement, category, form and the pack's own.
        local_data: Digest of the local files that lm-eval itself reads for it; empty without any.
    """

    name: str
    template: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    stock: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = "plain"
    call: Call = field(default_factory=Call)
    after: tuple[str, ...] = ()
    needs: frozenset[str] | None = None
    block: int = 1
    primary: tuple[str, str] | None = None
    better: tuple[str, str] | None = None
    annotators: tuple[str, ...] = ()
    stands_for: str = ""
    published_prompt: str = ""
    tags: Mapping[str, Any] = field(default_factory=dict)
    local_data: str = ""


@dataclass(frozen=True)
class Excluded:
    """A task, group or score that is left out.

    Attributes:
        kind: One of `EXCLUDED_KINDS`; of a run also `failed`, which no plan says.
        reason: One sentence.
        tags: As those of a task.
    """

    kind: str
    reason: str
    tags: Mapping[str, Any] = field(default_factory=dict)


#: `made_of` of a score that is itself a p-value.
P_VALUE = "none"


@dataclass(frozen=True, kw_only=True)
class ScoreSpec:
    """One suite score; the fields are the keys of `suite_scores` in pack.yaml.

    Attributes:
        name: Its name; with the pack it is unique.
        pack: The pack that declares it; filled in by the core.
        function: `micro`, `macro`, `mean`, `module.name` of the pack or of an importable module.
        tasks: Whose samples it gets.
        needs: Other scores of this run.
        reference: The same scores of a reference run.
        finetuned: Scores of the model that the subject was made from, before it was changed.
        params: Arguments of the function.
        title, note: For people.
        better: `up`, `down`, `zero`, or a word of the pack's own.
        range: Least and largest value, None where there is no bound.
        unit: What a number of it is a number of.
        rule: The scoring rule; published values stand beside a score of their own rule only.
        made_of: `rows`, `counts`, `function` or `none`: how its uncertainty is found.
        counts, value: In place of `function`, names of functions `counts(rows) -> array[n, k]`, one
            line per row of all tasks in their order, and `value(sums) -> float` of the sums of the
            columns.
        of_stored: Name of a function of the values that lm-eval stored for the tasks, used where a
            run has no samples of them.
        cluster: Column that rows of one unit share.
        on_missing: `none` (a part that is left out leaves no value) or `skip` (goes on and says "k
            of n").
        unscored: Rows without a number in the metric of their task: `left_out`, or `given` to a
            function that reads the replies or leaves such rows out itself.
        on_stated: Where a log states the score: `compute` shows what its rows give where they give
            a value, `keep` what the log states, with the computed value beside it.
        tags: The pack's own.
    """

    name: str = ""
    pack: str = ""
    function: str = ""
    tasks: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    finetuned: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    note: str = ""
    better: str = "up"
    range: tuple[float | None, float | None] = (None, None)
    unit: str = ""
    rule: str = ""
    made_of: str = ""
    counts: str = ""
    value: str = ""
    of_stored: str = ""
    cluster: str = "cluster_id"
    on_missing: str = "none"
    unscored: str = "left_out"
    on_stated: str = "compute"
    tags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """`pack/name`, which is unique everywhere.

        >>> ScoreSpec(name="total", pack="quiz", function="mean").id
        'quiz/total'
        """
        return f"{self.pack}/{self.name}"


@dataclass(frozen=True)
class PublishedValue:
    """A published value of a suite score that a pack looked up for this configuration.

    Attributes:
        value: On the scale of the score.
        source: Where it was published.
        note: What else is to be known of it.
    """

    value: float
    source: str
    note: str = ""


@dataclass
class Plan:
    """The tasks, groups and scores that exist for a configuration.

    Attributes:
        tasks: Task name -> task, in order.
        groups: Group name -> members, which are tasks, other groups and names of lm-eval's own.
        scores: Scores that the configuration makes, beside those of pack.yaml.
        excluded: Task, group or score -> why it is left out.
        published: Score -> published values beside which it is shown.
    """

    tasks: dict[str, TaskPlan] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    scores: dict[str, ScoreSpec] = field(default_factory=dict)
    excluded: dict[str, Excluded] = field(default_factory=dict)
    published: dict[str, tuple[PublishedValue, ...]] = field(default_factory=dict)

    def below(self, name: str) -> list[str]:
        """The tasks of a group and of the groups in it; a task is its own."""
        return list(dict.fromkeys(leaves(name, self.groups)))

    def depth(self, name: str) -> int:
        """Returns how many stages of tasks come before a task; 0 for one that waits for none."""
        task = self.tasks.get(name)
        return 1 + max(map(self.depth, task.after)) if task is not None and task.after else 0


@dataclass(frozen=True)
class Command:
    """One lm_eval invocation.

    Attributes:
        name: `c1-plain`, `c2-chat`, ...
        tasks: The tasks that it runs, without groups.
        argv: Its words, the program first.
        env: Variables that it needs.
        engine: Back end and its arguments; commands of one engine can share a loaded model.
        depth: How many stages come before it.
        file: Its run configuration in the work folder.
        run: Id of its run, where a preparation has several (`models:`); empty for that of the
            manifest.
        model: What its model is called there.
    """

    name: str
    tasks: tuple[str, ...]
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 0
    file: str = "run.yaml"
    run: str = ""
    model: str = ""


def asked_for(command: Command) -> list[str]:
    """The names after `--tasks`: groups that lie whole in the command, and tasks."""
    argv = command.argv
    if "--tasks" in argv[:-1]:
        return argv[argv.index("--tasks") + 1].split(",")
    return list(command.tasks)


def leaves(name: str, groups: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """The names below a group that are no groups themselves.

    A name that is none stands for itself.
    """
    if name not in groups:
        yield name
    for member in groups.get(name, ()):
        yield from leaves(member, groups)


def limited(rows: int, limit: float | None) -> int:
    """Rows that lm-eval takes under a limit: a number, or a share rounded up."""
    if limit is None:
        return rows
    return min(rows, int(limit) if limit >= 1 else math.ceil(rows * limit))


def cycle(plan: Plan) -> list[str]:
    """Tasks that wait for each other, first and last the same; empty where every chain has an end.

    >>> cycle(Plan({"a": TaskPlan("a", after=("b",)), "b": TaskPlan("b", after=("a",))}))
    ['a', 'b', 'a']
    """
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done or name not in plan.tasks:
            return []
        chain = first_cycle(plan.tasks[name].after, [*path, name])
        done.add(name)
        return chain

    def first_cycle(names: Iterable[str], path: list[str]) -> list[str]:
        for name in names:
            chain = walk(name, path)
            if chain:
                return chain
        return []

    return first_cycle(plan.tasks, [])


def closed(plan: Plan, requested: Iterable[str] = ()) -> dict[str, Excluded]:
    """The exclusions of a plan and what follows from them, in both directions of `after`.

    A task that needs an excluded one goes; a task whose replies would have served excluded ones
    alone goes too, unless the user asked for it by name.

    Args:
        plan: The plan, its own `excluded` filled.
        requested: Tasks that the user named.

    >>> plan = Plan({"ask": TaskPlan("ask"), "sure": TaskPlan("sure", after=("ask",))})
    >>> plan.excluded["sure"] = Excluded("ability", "no log-likelihoods")
    >>> closed(plan)["ask"].reason
    'its replies would serve only sure, which is left out'
    """
    named, exclusions = set(requested), dict(plan.excluded)
    changed = True
    while changed:
        changed = False
        for name, task in plan.tasks.items():
            if name in exclusions:
                continue
            consequence = _consequence(plan, name, task, exclusions, requested=name in named)
            if consequence is not None:
                exclusions[name] = consequence
                changed = True
    return exclusions


def _consequence(
    plan: Plan, name: str, task: TaskPlan, exclusions: Mapping[str, Excluded], *, requested: bool
) -> Excluded | None:
    """Returns why a task cannot or need not run, given the exclusions; None where it runs."""
    for earlier in task.after:
        if earlier in exclusions:
            cause = exclusions[earlier]
            return Excluded(cause.kind, f"needs {earlier}: {cause.reason}", task.tags)
    served = [later for later, later_task in plan.tasks.items() if name in later_task.after]
    if served and not requested and all(later in exclusions for later in served):
        reason = f"its replies would serve only {', '.join(served)}, which is left out"
        return Excluded(exclusions[served[0]].kind, reason, task.tags)
    return None


def as_json(value: Any) -> Any:
    """A dataclass of this module as JSON-ready data.

    Fields at their default are left out, sets are sorted.
    """
    if hasattr(value, "__dataclass_fields__"):
        kept = {}
        for field in fields(value):
            held = getattr(value, field.name)
            is_empty = held in (None, "", (), {}, frozenset())
            if not is_empty or field.name == "name":
                kept[field.name] = as_json(held)
        return kept
    if isinstance(value, Mapping):
        return {str(key): as_json(held) for key, held in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(value)
    return [as_json(held) for held in value] if isinstance(value, list | tuple) else value
