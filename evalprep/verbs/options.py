"""The options that choose a run, defined once for all verbs, and next steps that repeat them."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from evalprep.packs import Pack
    from evalprep.results import NamedMetric, Run
    from evalprep.samples import PairRules
    from evalprep.score import OtherModels, ReferenceChoice

from evalprep.places import CONFIG, WORK_DIR, exists
from evalprep.readers import metric_and_filter
from evalprep.terminal import print_step, shortlist
from evalprep.verbs.habits import in_our_words, with_underscores

NEWEST = "newest"
_NAMED = 6  # runs that a message names
_TIMESTAMPS = (
    "which run of a folder: newest (with files of other tasks that the same model wrote before), "
    "each (the newest samples of every task), the beginning of a time stamp (that file, or that "
    "try of a command), or the id of a run; of several places, for those that have it"
)

#: Option -> arguments of `add_argument`; hyphens in place of underscores are accepted, too.
OPTIONS: dict[str, dict[str, Any]] = {
    "timestamp": {"default": NEWEST, "metavar": "STAMP", "help": _TIMESTAMPS},
    "baseline_timestamp": {
        "rare": True,
        "default": "",
        "metavar": "STAMP",
        "help": "which run of the baseline's folder, as --timestamp (default: what --timestamp "
        "says, where the baseline has it)",
    },
    "label": {
        "action": "extend",
        "default": [],
        "metavar": "LIST",
        "help": "display names of the runs in their order, with commas, the baseline last",
    },
    "metric": {
        "action": "extend",
        "default": [],
        "metavar": "LIST",
        "help": "metrics to read, with commas, each [TASK=]METRIC[@FILTER], or @FILTER alone "
        "for all tasks (default: each task's primary one)",
    },
    "cluster": {
        "rare": True,
        "metavar": "FIELD",
        "help": "field of the data set's rows; rows with one value count as one document",
    },
    "reference": {
        "rare": True,
        "action": "extend",
        "default": [],
        "metavar": "LIST",
        "help": "run, scores.json or foreign log that scores compare with; one per model as "
        "PATTERN=PATH with commas ('*3.2-1B*=logs/retain90'), or a folder in which each model's "
        "is found",
    },
    "finetuned": {
        "rare": True,
        "action": "extend",
        "default": [],
        "metavar": "LIST",
        "help": "run or log of the model before unlearning, by which scores are divided; one per "
        "model or a folder, as for --reference",
    },
    "rule": {
        "rare": True,
        "default": "",
        "metavar": "NAME",
        "help": "read scores by this rule of their packs, e.g. original",
    },
    "allow": {
        "action": "extend",
        "default": [],
        "metavar": "LIST",
        "help": "accept a difference in these settings, with commas, e.g. num_fewshot",
    },
    "candidate": {
        "default": "",
        "metavar": "RUN",
        "help": "the run, by its label or place, that alone is judged; the others are described "
        "without words (default: all are judged together)",
    },
    "tasks": {
        "action": "extend",
        "metavar": "LIST",
        "help": "task or group names with commas (default: all)",
    },
    "input_format": {
        "rare": True,
        "action": "extend",
        "default": [],
        "metavar": "LIST",
        "help": "format of another tool's results (default: found by their content); after a "
        "comma strict_verdicts (inspect_ai: partial credit and no answer are no verdict) or "
        "last_event (OpenAI evals: the last of several match events counts)",
    },
    "columns": {
        "rare": True,
        "action": "extend",
        "default": [],
        "metavar": "LIST",
        "help": "columns of a table of results, with commas, e.g. question=Frage,score=correct; "
        "or a YAML file of them",
    },
    "pairing": {
        "rare": True,
        "action": "extend",
        "default": [],
        "metavar": "LIST",
        "help": "which rows of two tools are one question, with commas: same_ids (the ids are "
        "those of one data set), same_choices (leave out pairs whose choices differ), position "
        "(pair what is left over by its position), partial (compare although few are paired)",
    },
    "accept_ledger": {
        "rare": True,
        "action": "store_true",
        "help": "take verdicts from a ledger of another machine as your own",
    },
    "template_dir": {
        "action": "extend",
        "metavar": "LIST",
        "help": "folders of your packs, with commas (default: template_dir of ./eval_config.yaml, "
        "where you prepared it)",
    },
}
#: Options that state how results of other tools are read.
READING = ("input_format", "columns")
#: Options that choose runs; a next step repeats those that both verbs accept.
_CHOOSING = (
    *("baseline_timestamp", "metric", "cluster", "reference", "finetuned", "rule", "label"),
    *("allow", "timestamp", "accept_ledger", "template_dir"),
)
ACCEPTED: dict[str, frozenset[str]] = {
    "compare": frozenset((*_CHOOSING, "tasks", *READING, "pairing")),
    "report": frozenset((*_CHOOSING, "tasks", *READING, "pairing")),
    "gate": frozenset(
        (
            *("timestamp", "baseline_timestamp", "label", "accept_ledger", "template_dir"),
            *("tasks", *READING, "pairing"),
        )
    ),
    "leaderboard": frozenset((*_CHOOSING, *READING)) - {"baseline_timestamp"},
    "samples": frozenset(("timestamp", "tasks", "template_dir", *READING)),
    "score": frozenset(
        (
            *("timestamp", "label", "reference", "finetuned", "rule", "cluster"),
            "accept_ledger",
            *("template_dir", "tasks", *READING),
        )
    ),
    "rescore": frozenset({"timestamp", "tasks", "template_dir"}),
    "judge": frozenset(("timestamp", "tasks", "template_dir", *READING)),
}


def timestamps_of_sides(
    places: Sequence[str | os.PathLike[str]], baseline: str | None, args: argparse.Namespace
) -> list[str]:
    """Returns which run of each place the options choose, the baseline last where there is one.

    Args:
        places: The places without the baseline.
        baseline: The place of the baseline; None or empty without one.
        args: With `timestamp` and `baseline_timestamp`.
    """
    from evalprep.results import timestamp_of_each

    if not baseline:
        return timestamp_of_each(places, args.timestamp)
    if args.baseline_timestamp:
        return [*timestamp_of_each(places, args.timestamp), args.baseline_timestamp]
    return timestamp_of_each([*places, baseline], args.timestamp)


def names_of(text: str) -> list[str]:
    """Returns the names in a list with commas.

    >>> names_of("a, b,")
    ['a', 'b']
    """
    names = [part.strip() for part in text.split(",")]
    return [name for name in names if name]


def _metrics_of(text: str) -> list[NamedMetric]:
    """Reads `[TASK=]METRIC[@FILTER]`, several with commas.

    >>> _metrics_of("gsm8k=exact_match@strict-match")
    [NamedMetric(metric='exact_match', task='gsm8k', filter='strict-match')]
    """
    from evalprep.results import NamedMetric

    metrics = []
    for each in names_of(text):
        task, _, metric = each.rpartition("=")
        name, filter_name = metric_and_filter(metric)
        if not name and (task or not filter_name):
            raise argparse.ArgumentTypeError(f"{each!r} names no metric: [TASK=]METRIC[@FILTER]")
        metrics.append(NamedMetric(name, task, filter_name))
    return metrics


def _paths_of(text: str) -> list[Path]:
    return [Path(name) for name in names_of(text)]


def _references_of(text: str) -> list[ReferenceChoice]:
    """Reads `PATH` or `PATTERN=PATH`, several with commas; a path may have a comma in its name."""
    from evalprep.score import ReferenceChoice

    texts = [text] if exists(Path(text)) else names_of(text)
    return [ReferenceChoice.parse(each) for each in texts]


OPTIONS["metric"]["type"] = _metrics_of
OPTIONS["reference"]["type"] = OPTIONS["finetuned"]["type"] = _references_of
OPTIONS["template_dir"]["type"] = _paths_of
for _name in ("tasks", "label", "allow", "columns", "input_format", "pairing"):
    OPTIONS[_name]["type"] = names_of


def references_of(
    args: argparse.Namespace, packs: Mapping[str, Pack], runs: Sequence[Run] = ()
) -> OtherModels:
    """Opens what `--reference` and `--finetuned` name; the packs of the runs read logs.

    Raises:
        BadInput: a place that is neither a run nor a log, nor a folder of several.
    """
    from evalprep.score import FINETUNED, REFERENCE, OtherModels, open_references, packs_of

    owners: dict[str, Pack] = {}
    for run in runs:
        owners |= {pack.name: pack for pack in packs_of(run, packs)}
    readers = [*(owners or packs).values()]
    return OtherModels(
        open_references(args.reference, REFERENCE, readers),
        open_references(args.finetuned, FINETUNED, readers),
    )


def metric_choices(args: argparse.Namespace) -> list[NamedMetric]:
    """Returns the metrics that `--metric` names; `@FILTER` alone is that of all others."""
    filters = [choice.filter for choice in args.metric if not choice.metric]
    choices = [choice for choice in args.metric if choice.metric]
    if not filters:
        return choices
    from evalprep.results import NamedMetric

    choices = choices or [NamedMetric()]
    return [replace(choice, filter=choice.filter or filters[-1]) for choice in choices]


def pair_rules(args: argparse.Namespace) -> PairRules:
    """Returns what the user decides about which rows of two runs are one question.

    Raises:
        BadInput: `--pairing` names something else.
    """
    from evalprep.samples import PairRules

    refuse_unknown_words("--pairing", args.pairing, _PAIRING)
    return PairRules(**{_PAIRING[word]: True for word in args.pairing})


#: Word of `--pairing` -> attribute of `PairRules`.
_PAIRING = {
    "same_ids": "same_ids",
    "same_choices": "same_choices",
    "position": "by_position",
    "partial": "partial",
}


def refuse_unknown_words(option: str, words: Iterable[str], known: Collection[str]) -> None:
    """Refuses words of a list option that mean nothing.

    Raises:
        BadInput: with every such word, and the nearest one that means something.
    """
    from evalprep.errors import Problems, near

    problems = Problems()
    for word in words:
        if word not in known:
            allowed = ", ".join(known)
            problems.add(f"unknown: {word!r}", where=option, allowed=allowed, fix=near(word, known))
    problems.raise_if_any()


class Parser(argparse.ArgumentParser):
    """A parser that shows options with underscores, as lm-eval does, and accepts hyphens.

    `-h` prints the options that most users need, `--help` all of them. `RARE` options and those of
    argument groups are left out of the short help.
    """

    def __init__(self, **settings: Any) -> None:
        # A cut option would become whichever begins so: --baseline a time stamp.
        super().__init__(**settings, add_help=False, allow_abbrev=False)
        self._short: list[argparse.Action] = []
        self.add_argument("-h", action=_ShortHelp, help="print the usual options")
        self.add_argument("--help", action="help", help="print all options")

    def add_argument(self, *names: str, rare: bool = False, **settings: Any) -> argparse.Action:
        """Adds an argument; option names may be written either way.

        Args:
            names: Its names.
            rare: Leave it out of the short help.
            settings: As for `argparse`.
        """
        action = super().add_argument(*map(with_underscores, names), **settings)
        if not rare:
            self._short.append(action)
        return action

    def show_in_short_help(self, *actions: argparse.Action) -> None:
        """Puts options of an argument group into the short help."""
        self._short += actions

    @property
    def short_options(self) -> list[argparse.Action]:
        """The options of the short help."""
        return [action for action in self._short if action.option_strings]

    def format_short_help(self) -> str:
        """Returns the help without rare options."""
        formatter = self._get_formatter()
        places = [_place_form(action) for action in self._short if not action.option_strings]
        formatter.add_usage(" ".join([self.prog, "[options]", *places]), [], [])
        formatter.add_text((self.description or "").strip().partition("\n\n")[0])
        formatter.start_section("options")
        formatter.add_arguments(self._short)
        formatter.end_section()
        formatter.add_text(f"`{self.prog} --help` prints all options.")
        return formatter.format_help()

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> argparse.Namespace:
        """Reads arguments; an option that the verb lacks ends with the nearest one that it has."""
        known, unknown = self.parse_known_args(args, namespace)
        if unknown:
            from evalprep.errors import near

            name = unknown[0].partition("=")[0]
            options = self._option_string_actions
            if name.startswith("-"):
                suggestion = _as_setting(unknown[0], args or (), options) or near(name, options)
            else:
                names_config = name.endswith((".yaml", ".yml")) and "--config_path" in options
                suggestion = f"did you mean --config_path {name}?" if names_config else ""
            hint = f"; {suggestion}" if suggestion else ""
            self.error(f"unknown: {shlex.join(unknown)}{hint}")
        return known

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Reads one value; a number that is none is refused without Python's words."""
        if action.type not in (int, float):
            return super()._get_value(action, arg_string)
        try:
            return action.type(arg_string)
        except ValueError:
            kind = "whole number" if action.type is int else "number"
            share = _share(arg_string) if action.type is float else ""
            raise argparse.ArgumentError(action, f"{arg_string!r} is not a {kind}{share}") from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuses a value that is none of the choices, with the nearest one."""
        if action.choices is None or value in action.choices:
            return
        from evalprep.errors import near

        choices = [str(choice) for choice in action.choices]
        suggestion = near(str(value), choices)
        hint = f"; {suggestion}" if suggestion else ""
        raise argparse.ArgumentError(action, f"{value!r} is none of {', '.join(choices)}{hint}")

    def error(self, message: str) -> NoReturn:
        """Ends with a message and the place of the options, without the whole usage."""
        message = message.replace("the following arguments are required: ", "missing: ")
        self.exit(2, f"error: {message}\n`{self.prog} -h` prints the usual options.\n")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Reads arguments; option names up to a bare `--` may be written either way."""
        known = self._option_string_actions
        words = None if args is None else list(in_our_words(args, known))
        return super().parse_known_args(words, namespace)


#: Option of lm_eval -> the key of the config with another name.
_KEY_OF_OPTION = {
    "model": "model_name",
    "trust_remote_code": "model_args.trust_remote_code",
    "use_cache": "",  # what is finished is never generated again
}


def _as_setting(option: str, words: Sequence[str], options: Collection[str]) -> str:
    """Returns how an option of lm_eval is written that is a key of the config; else empty.

    Args:
        option: The option, with its value behind `=` where it was written so.
        words: The command line, in which the value may follow.
        options: Those of the verb.
    """
    from evalprep.config import CORE_KEYS

    name, equals, value = with_underscores(option).partition("=")
    name = name.lstrip("-")
    key = _KEY_OF_OPTION.get(name, name)
    if "--set" not in options or key.partition(".")[0] not in CORE_KEYS:
        return ""
    if not equals:
        spelled = [with_underscores(word) for word in words]
        following = spelled[spelled.index(with_underscores(option)) + 1 :] or ["true"]
        value = "true" if following[0].startswith("-") else following[0]
    # `--model_args a=1,b=2` sets keys within a key.
    is_pairs = "=" in value and key in {"model_args", "gen_kwargs"}
    settings = [f"{key}.{pair}" for pair in value.split(",")] if is_pairs else [f"{key}={value}"]
    return f"write {' '.join(f'--set {shlex.quote(setting)}' for setting in settings)}"


def _share(text: str) -> str:
    """Returns how a percentage is written as a share; empty where the text is none.

    >>> _share("2%"), _share("two")
    ('; write 0.02', '')
    """
    try:
        return f"; write {float(text.removesuffix('%')) / 100:g}" if text.endswith("%") else ""
    except ValueError:
        return ""


def _place_form(action: argparse.Action) -> str:
    """A positional argument as a usage line shows it."""
    name = str(action.metavar or action.dest)
    forms = {"?": f"[{name}]", "+": f"{name} [{name} ...]", "*": f"[{name} ...]"}
    return forms.get(str(action.nargs), name)


class _ShortHelp(argparse.Action):
    """Prints the short help and ends."""

    def __init__(self, option_strings: Sequence[str], **settings: Any) -> None:
        nowhere = {"dest": argparse.SUPPRESS, "default": argparse.SUPPRESS}
        super().__init__(option_strings, nargs=0, **{**settings, **nowhere})

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(parser.format_short_help() if isinstance(parser, Parser) else parser.format_help())
        parser.exit()


def add_options(parser: Parser, *names: str, **helps: str) -> None:
    """Adds options that choose runs.

    Args:
        parser: Gets them.
        names: Keys of `OPTIONS`.
        helps: Option -> help text in place of the usual one.
    """
    for name in names:
        settings = OPTIONS[name]
        if name in helps:
            settings = {**settings, "help": helps[name]}
        parser.add_argument(f"--{name}", **settings)
        if name == "template_dir":
            parser.set_defaults(uses_packs=True)


def add_work_dir(parser: Parser, meaning: str) -> None:
    """Adds the prepared folder as the argument of a verb."""
    parser.add_argument(
        "work_dir",
        nargs="?",
        type=Path,
        default=WORK_DIR,
        metavar="WORK_DIR",
        help=f"{meaning} (default: ./work_dir)",
    )


def next_words(verb: str, places: Sequence[object], args: argparse.Namespace) -> list[str]:
    """Returns the words of another verb for the same runs.

    Args:
        verb: The verb.
        places: Its positional arguments and the options that only it has, in order.
        args: The arguments of this verb; whatever chose the runs is repeated.
    """
    words = ["evalprep", verb]
    for place in places:
        words += map(str, getattr(place, "arguments", (place,)))  # several files may be one run
    for name, settings in OPTIONS.items():
        is_default = name == "template_dir" and getattr(args, "own_template_dir", None)
        if name in ACCEPTED[verb] and not is_default:
            destination = settings.get("dest", name)
            words += _words_of(name, getattr(args, destination, None))
    if getattr(args, "follow_links", False):
        words.append("--follow_links")
    return words


def print_next(verb: str, places: Sequence[object], args: argparse.Namespace) -> None:
    """Prints the command line of the next step, unless this verb is a step of another one."""
    if not getattr(args, "is_step", False):
        print_step(next_words(verb, places, args))


def _words_of(name: str, value: Any) -> list[str]:
    if not value or value == OPTIONS[name].get("default"):
        return []
    if value is True:
        return [f"--{name}"]
    values = value if isinstance(value, list) else [value]
    return [f"--{name}", ",".join(map(str, values))]


def complete(args: argparse.Namespace) -> argparse.Namespace:
    """Fills in the packs that the config in the current folder names.

    A pack is code, and a folder may come from somebody else: only a config that this user prepared
    brings its packs along. `unnamed_packs` are those that it does not, for `note_on_packs`.
    """
    args.own_template_dir, args.unnamed_packs = [], []
    if getattr(args, "uses_packs", False) and not args.template_dir:
        folders = folders_of_config()
        own = _prepared_ones(folders)
        args.template_dir = args.own_template_dir = own or None
        args.unnamed_packs = [folder for folder in folders if folder not in own]
    return args


def configured_packs() -> list[Path]:
    """Returns the folders of packs of the config of this folder, where the user prepared it.

    A config with mistakes names none: verbs after the run do not depend on it.
    """
    return _prepared_ones(folders_of_config())


def note_on_packs(args: argparse.Namespace) -> str:
    """Returns a sentence on packs that a stranger's config names; empty without any."""
    if not args.unnamed_packs:
        return ""
    from evalprep.packs import holds_packs
    from evalprep.places import nearby

    names = [nearby(folder) for folder in args.unnamed_packs if holds_packs(folder)]
    if not names:
        return ""
    option = f"--template_dir {shlex.quote(','.join(names))}"
    return (
        f"note: packs in {', '.join(names)} are not used, because you did not prepare "
        f"{CONFIG} here; look at their code, then add {option}"
    )


def folders_of_config(config: Path = CONFIG) -> list[Path]:
    """Returns the folders that `template_dir` of a config names and that exist."""
    if not config.is_file():
        return []
    from evalprep.errors import BadInput
    from evalprep.places import place
    from evalprep.yamlfile import load_yaml

    try:
        source = load_yaml(config)
    except BadInput:
        return []
    named = source.data.get("template_dir")
    names = named if isinstance(named, list) else [named]
    folders = [place(name, source.folder) for name in names if isinstance(name, str)]
    return [folder.resolve() for folder in folders if folder.is_dir()]


def _prepared_ones(folders: list[Path]) -> list[Path]:
    """Those of the config's folders of packs that the user prepared from."""
    if not folders:
        return []
    from evalprep.packs import own_packs

    return own_packs(CONFIG, folders)


def add_baseline(parser: Parser, description: str) -> None:
    """Adds the run to compare against: the second place, or an option as in other verbs."""
    parser.add_argument("other", metavar="BASELINE", nargs="?", help=description)
    parser.add_argument(
        "--baseline", dest="named_baseline", metavar="RUN", rare=True, help="the same as BASELINE"
    )


def take_baseline(args: argparse.Namespace) -> None:
    """Puts a baseline that was named by the option into its place.

    Raises:
        BadInput: there are two.
    """
    if args.named_baseline is not None:
        refuse_second_baseline(args, args.named_baseline, where="--baseline")
        args.other = args.named_baseline


def label_of_named(named: str, runs: Sequence[Run], option: str) -> str:
    """Returns the label of the run that an option names by its label or its place.

    Args:
        named: What the user wrote; empty where nothing.
        runs: The runs that may be named, with their labels.
        option: The option.

    Raises:
        BadInput: no run, or several, have this label or lie at this place.
    """
    from evalprep.errors import BadInput, Problem, near

    labels = [run.label for run in runs]
    if not named or named in labels:
        return named
    place = Path(named).resolve()
    # A run lies at its files, and in the folders around them.
    at_place = []
    for run in runs:
        files = [run.files.folder, run.log, run.files.results, *run.files.samples.values()]
        known = [Path(file).resolve() for file in files if file]
        if any(place in {file, *file.parents} for file in known):
            at_place.append(run.label)
    if len(at_place) == 1:
        return at_place[0]
    what = f"no run {named!r}"
    if at_place:
        what = f"{len(at_place)} runs lie at {named}; give the label of one"
    allowed = shortlist(at_place or labels, _NAMED)
    fix = near(named, labels) if labels else "name two runs or more"
    raise BadInput(Problem(what=what, where=option, allowed=allowed, fix=fix))


def refuse_second_baseline(args: argparse.Namespace, named: str, *, where: str) -> None:
    """Refuses a baseline in its place beside one that an option names.

    Raises:
        BadInput: there are two.
    """
    from evalprep.errors import BadInput, Problem

    if args.other is not None:
        what = f"two baselines: {args.other} and {named}"
        raise BadInput(Problem(what=what, where=where, fix="leave one of them out"))
