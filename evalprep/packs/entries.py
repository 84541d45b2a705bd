"""The entries that pack.yaml may hold.

The classes are its schema, and what the rest of the house reads.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from evalprep.packs.plan import Ability, Call, Prompt, TaskPlan
from evalprep.structs import Schema, any_of, document, nullable, plain_data, schema_of

Type = Literal["str", "int", "float", "bool", "path", "source", "list", "map", "any"]
Names = tuple[str, ...]
Number = int | float
Map = dict[str, Any]


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _with_path(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


OneOrMore = Annotated[Names, Meta(extra={"before": _listed, "also": (str,)})]


class ConfigKey(Struct, frozen=True, forbid_unknown_fields=True):
    """One key that a pack adds to eval_config.yaml.

    Attributes:
        type: `str`, `int`, `float`, `bool`, `path`, `source` (a path, a hub id or the mapping of
            a source), `list`, `map`, `any`, or a list of these.
        default: Its value where the config has none.
        required: Whether the config must have it.
        choices: Accepted values.
        min, max: Smallest and largest accepted value.
        top_level: Whether it is also accepted outside of the pack's section.
        doc: One line for `evalprep list` and for messages.
    """

    types: Annotated[tuple[Type, ...], Meta(extra={"before": _listed, "also": (Type,)})] = field(
        default=("str",), name="type"
    )
    default: Any = None
    required: bool = False
    choices: Annotated[tuple[Any, ...], Meta(description="a list")] = ()
    minimum: Annotated[Number | None, Meta(description="a number")] = field(
        default=None, name="min"
    )
    maximum: Annotated[Number | None, Meta(description="a number")] = field(
        default=None, name="max"
    )
    top_level: bool = False
    doc: str = ""
    name: str = ""


class SourceSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """The place of rows: a local file or folder, or a data set of the hub.

    Config, split and revision mean what they mean to `datasets.load_dataset`.

    Attributes:
        path: Local path or hub id.
        config: Configuration (subset) of the data set.
        split: Split; needed where there are several.
        revision: Branch, tag or commit of a hub data set.
        columns: New column name -> name in the source.
        data_files: Files of the data set: a pattern, a list, or a mapping from splits to these.
        data_dir: Folder inside the data set.
    """

    path: str
    config: str | None = None
    split: str | None = None
    revision: str | None = None
    columns: Annotated[dict[str, str], Meta(description="{prompt: question}")] = field(
        default_factory=dict
    )
    data_files: Annotated[
        str | list[str] | dict[str, str | list[str]] | None,
        Meta(description="a file pattern, a list of them, or a mapping from splits to them"),
    ] = None
    data_dir: str | None = None

    def changed(self, **fields: Any) -> SourceSpec:
        """Returns the same with other values, which are not validated."""
        return msgspec.structs.replace(self, **fields)


class CallEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """The lm_eval call that a task needs; what is left out is as the config has it.

    Attributes:
        backend: Name of a back end.
        model_args: Further arguments of the back end (dtype, revision); those of the config win.
        seed: One seed, or lm-eval's four (python, numpy, torch, few-shot).
    """

    backend: str = ""
    model_args: Annotated[Map, Meta(description="{dtype: float32}")] = field(default_factory=dict)
    seed: Annotated[
        int | tuple[int, int, int, int] | None,
        Meta(description="a number, or lm-eval's four: python, numpy, torch, few-shot"),
    ] = None


class TaskSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """One task of a pack: an own one, made from a template, or one that comes with lm-eval.

    Attributes:
        name: Its name for lm-eval.
        template: YAML of the pack, with placeholders.
        source: Where the rows are, for packs without `prepare.py`.
        columns: New column name -> name in the source.
        aliases: Further names for the config's `tasks`.
        description: One line for `evalprep list`.
        values: Placeholders of the template.
        stock: `task` or `group`: it comes with lm-eval.
        overrides: Keys of a stock member's YAML that are set.
        prompt: `plain` text, `rendered` chat text, or `chat` where the template is applied at run
            time.
        call: What the lm_eval call must be like.
        after: Tasks whose replies its rows are made from.
        needs: Abilities that a back end must have; by default what the template says.
        block: Adjacent rows that belong together under a limit.
        primary: Metric and filter that stand for it, by default what its metadata say.
        annotators: Names in the pack's `annotators.py`.
        stands_for: The name under which published files know it.
        tags: Whatever `evalprep list --by` and the scores may group by.
        unavailable: Why it cannot be run by anyone.
    """

    name: str = ""
    template: str = ""
    source: Annotated[
        SourceSpec | None,
        Meta(
            description="a path, a hub id, or {path: owner/name, split: test}",
            extra={"before": _with_path, "also": (str,)},
        ),
    ] = None
    columns: Annotated[dict[str, str], Meta(description="{prompt: question}")] = field(
        default_factory=dict
    )
    aliases: Names = ()
    description: str = ""
    values: Map = field(default_factory=dict)
    stock: Annotated[Literal["", "task", "group"], Meta(description="task or group")] = ""
    overrides: Annotated[Map, Meta(description="{num_fewshot: 5}")] = field(default_factory=dict)
    prompt: Prompt = "plain"
    call: Annotated[CallEntry, Meta(description="{backend: hf}")] = CallEntry()
    after: Names = ()
    needs: tuple[Ability, ...] | None = None
    block: Annotated[int, Meta(ge=1, description="a whole number, 1 or more")] = 1
    primary: Annotated[
        tuple[str, str] | None, Meta(description="[metric, filter], as in [acc, none]")
    ] = None
    annotators: Names = ()
    stands_for: str = ""
    tags: Map = field(default_factory=dict)
    unavailable: Annotated[str, Meta(description="one sentence: why nobody can run it")] = ""

    def plan(self) -> TaskPlan:
        """The task as a plan has it."""
        return TaskPlan(
            self.name,
            self.template,
            values=self.values,
            stock=self.stock,
            overrides=self.overrides,
            prompt=self.prompt,
            call=Call(
                backend=self.call.backend, model_args=self.call.model_args, seed=self.call.seed
            ),
            after=self.after,
            needs=None if self.needs is None else frozenset(self.needs),
            block=self.block,
            primary=self.primary,
            annotators=self.annotators,
            stands_for=self.stands_for,
            tags=self.tags,
        )


class GroupSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A named set of tasks, of other groups, and of lm-eval's own names.

    Attributes:
        tasks: Tasks, other groups and names of lm-eval. `group: [a, b]` is short for `group:
            {tasks: [a, b]}`.
        aliases: Further names for the config's `tasks`.
        description: One line for `evalprep list`.
    """

    tasks: Names
    aliases: Names = ()
    description: str = ""
    name: str = ""


class ScoreEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One suite score.

    Attributes:
        function: `micro`, `macro` (over `subtask_name`), `mean` (of `needs`), or `module.name` of
            the pack or of an importable module.
        task, tasks: Tasks whose samples it gets.
        needs: Other scores of this run.
        reference: The same scores of a reference run.
        finetuned: Scores of the model before unlearning.
        params: Arguments of the function.
        title, note, unit: Text for people.
        better: `up`, `down`, `zero`, or a word of the pack's own.
        range: `[least, largest]`, null for no bound.
        rule: The scoring rule; published values stand beside scores of their own rule only.
        made_of: `rows`, `counts`, `function` or `none`: how its uncertainty is computed. `none`
            is for a score that is itself a p-value.
        counts, value: In place of `function`: names of `counts(rows) -> array[n, k]`, one line
            per row of all tasks in their order, and `value(sums)`.
        of_stored: Function `(tasks, params)` of the values that lm-eval stored (task ->
            `StoredTask`), for a run without samples.
        cluster: Column that rows of one unit share.
        on_missing: `none`: a missing part leaves no value. `skip`: the score is computed and
            states how many parts it has.
        unscored: Rows without a number in the metric of their task: `left_out`, or `given` to a
            function that reads the replies.
        on_stated: `compute` shows a log's score as its rows give it, `keep` as the log states it.
        tags: The pack's own. `principle`, `family`, `category` and `requirement` are the headings
            of heat maps.
    """

    function: str = ""
    task: OneOrMore = ()
    tasks: OneOrMore = ()
    needs: OneOrMore = ()
    reference: OneOrMore = ()
    finetuned: OneOrMore = ()
    params: Map = field(default_factory=dict)
    title: str = ""
    note: str = ""
    better: str = "up"
    range: Annotated[
        tuple[Number | None, Number | None], Meta(description="[least, largest], null for no bound")
    ] = (None, None)
    unit: str = ""
    rule: str = ""
    made_of: Annotated[
        Literal["", "rows", "counts", "function", "none"],
        Meta(description="rows, counts, function or none"),
    ] = ""
    counts: str = ""
    value: str = ""
    of_stored: str = ""
    cluster: str = "cluster_id"
    on_missing: Literal["none", "skip"] = "none"
    unscored: Literal["left_out", "given"] = "left_out"
    on_stated: Literal["compute", "keep"] = "compute"
    tags: Map = field(default_factory=dict)
    name: str = ""


class BoardEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """The suite scores of a pack that `evalprep leaderboard` shows where nothing else is asked for.

    Attributes:
        columns: Scores, in order; by default all that have a direction.
        pictures: Pairs of scores that are drawn against each other: across, up.
        note: One sentence that every table with a score of the pack says.
        tables: Name of a table -> its scores, in order; by the first one its rows are sorted.
        group_by: Setting in the metadata of the pack's tasks: runs with different values of it
            stand in tables of their own.
    """

    columns: OneOrMore = ()
    pictures: Annotated[tuple[tuple[str, str], ...], Meta(description="[[across, up]]")] = ()
    note: str = ""
    tables: Annotated[dict[str, OneOrMore], Meta(description="{paper: [score, ...]}")] = field(
        default_factory=dict
    )
    group_by: str = ""


class PackEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of pack.yaml.

    The entries below `config`, `tasks`, `groups` and `suite_scores` are read one by one.

    Attributes:
        name: The folder's name; may be left out.
        title, description: Text for `evalprep list` and the report.
        config: Keys that the pack adds to eval_config.yaml.
        tasks, groups, suite_scores: The entries below.
        published: YAML file of the pack with published scores and their sources.
        default_tasks: Tasks of a config that names none.
        replaces: Names of template folders of the original that the pack stands for: a config of
            the original whose `template_dir` names one is read, with a note.
        extends: A pack that this one adds to with its `config`, `tasks`, `groups`,
            `suite_scores`, `better` and `leaderboard`. Templates and modules of that pack can be
            used as if they were in the folder; `prepare.py` makes the rows of the own tasks.
        conclusion: Suite scores that a comparison of two runs concludes on, for a pack whose
            tasks may not be averaged; `[]` for none. Without the key the mean over tasks counts.
        better: `{wmdp_bio: down}`: the better direction of lm-eval's own tasks beside those of
            the pack.
        rules: Scoring rules that a run may be read by (`--rule NAME`): rule -> metric of each row
            that holds its score.
        leaderboard: What `evalprep leaderboard` shows of its scores.
    """

    name: str = ""
    title: str = ""
    description: str = ""
    config: Annotated[dict[Any, Any], Meta(description="a mapping")] = field(default_factory=dict)
    tasks: Annotated[dict[Any, Any], Meta(description="a mapping")] = field(default_factory=dict)
    groups: Annotated[dict[Any, Any], Meta(description="a mapping")] = field(default_factory=dict)
    suite_scores: Annotated[dict[Any, Any], Meta(description="a mapping")] = field(
        default_factory=dict
    )
    published: str = ""
    default_tasks: Names = ()
    replaces: Names = ()
    extends: str = ""
    conclusion: Annotated[Names | None, Meta(description="[score, ...], or [] for none")] = None
    better: Annotated[
        dict[str, Literal["up", "down"]],
        Meta(description="{wmdp_bio: down}: tasks of lm-eval with `up` or `down`"),
    ] = field(default_factory=dict)
    rules: Annotated[
        dict[str, str], Meta(description="{corrected: row_score, original: row_score_compat}")
    ] = field(default_factory=dict)
    leaderboard: Annotated[
        BoardEntry,
        Meta(description="{columns: [score, ...], pictures: [[across, up]], note: a sentence}"),
    ] = field(default_factory=BoardEntry)


def pack_schema(file: str) -> Schema:
    """Returns the JSON schema of pack.yaml.

    Args:
        file: Name of the schema's own file.
    """
    schema = nullable(schema_of(PackEntry))
    kinds: tuple[type[Struct], ...] = (ConfigKey, TaskSpec, GroupSpec, ScoreEntry)
    for key, kind in zip(("config", "tasks", "groups", "suite_scores"), kinds, strict=True):
        entry = nullable(schema_of(kind, without=["name"]))
        if kind is GroupSpec:
            entry = any_of([entry, entry["properties"]["tasks"]["anyOf"][0]])
        schema["properties"][key] |= {
            "anyOf": [{"type": "object", "additionalProperties": entry}, {"type": "null"}]
        }
    return document("A pack of evalprep", file, schema)


def shown(entry: Struct) -> dict[str, Any]:
    """Returns what an entry says, without the fields at their default.

    >>> shown(ScoreEntry("micro", task=("capitals_qa",)))
    {'function': 'micro', 'task': ['capitals_qa']}
    """
    data: dict[str, Any] = {}
    for member in msgspec.structs.fields(entry):
        value = getattr(entry, member.name)
        default = member.default
        if member.default_factory is not msgspec.NODEFAULT:
            default = member.default_factory()
        if value == default:
            continue
        data[member.name] = shown(value) if isinstance(value, Struct) else plain_data(value)
    return data
