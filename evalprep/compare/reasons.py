"""The reasons that keep a word from two runs: the kinds, what each forces, and how it is worded.

Whatever depends on a reason asks for its kind; nothing reads its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import zip_longest
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from evalprep.readers import NONE
from evalprep.results import FactDifference, rows_missing, short_value
from evalprep.terminal import counted, shortlist

CANDIDATE, BASELINE = "candidate", "baseline"
_NAMED = 4  # subtasks that a sentence names


class Kind(StrEnum):
    """The kinds of reasons; those in `REFUSING` make two sides not comparable."""

    #: A fact of the question differs.
    FACT = "fact"
    #: The values are those of two metrics.
    METRIC = "metric"
    #: A side answered other rows than were prepared.
    ROWS = "rows"
    #: The question or its scorer is not as it was prepared.
    EDITED = "edited"
    #: Prompts of rows differ without a fact that says why.
    PROMPT = "prompt"
    GOLD = "gold"
    #: The requests were sent with other generation arguments.
    REQUESTS = "requests"
    #: The sides share too few of their rows: another split, another sample.
    OTHER_ROWS = "other_rows"
    #: No question is on both sides.
    NOTHING_SHARED = "nothing_shared"
    #: The sides state contrary directions of the metric.
    DIRECTION = "direction"
    #: One side counts in shares, the other in percent.
    SCALE = "scale"
    #: Equal replies have other scores.
    SCORER = "scorer"
    #: Verdicts do not follow from the log-likelihoods beside them.
    CONTRADICTED = "contradicted"
    #: Two readings of the same replies are further apart than the interval is wide.
    READINGS = "readings"
    #: The texts whose likelihood is compared differ.
    TEXTS = "texts"
    #: A group has other tasks on each side.
    MEMBERS = "members"
    #: A group is made of its tasks in another way.
    WEIGHTS = "weights"
    #: A suite score follows another scoring rule.
    RULE = "rule"
    #: A mean is made of other scores.
    PARTS = "parts"
    #: The runs were scored against different references.
    REFERENCE = "reference"

    #: More than the tolerated share of the expected rows has no pair with a score on both sides.
    MISSING_ROWS = "missing_rows"
    #: No row of a task or of a subtask has a score on both sides.
    NO_SCORED_PAIR = "no_scored_pair"
    #: No row of this task has a score of its own on either side.
    NO_ROW_SCORE = "no_row_score"
    #: No row of this task carries a published verdict: the published side does not have it.
    NO_VERDICT = "no_verdict"
    #: Too few rows of two tools met.
    FEW_PAIRED = "few_paired"
    SAME_FILE = "same_file"
    #: A side has no value.
    NO_VALUE = "no_value"
    NO_TEST = "no_test"
    #: Fewer rows than the test takes.
    FEW_ROWS = "few_rows"
    #: A value is made of the few answers that could be read.
    FEW_READ = "few_read"

    @property
    def refuses(self) -> bool:
        """True where the two sides are not comparable; else there is not enough evidence."""
        return self not in _LACKING

    @property
    def takes_rows(self) -> bool:
        """True where it takes the evidence from every score that a task has a part in."""
        return self in _OF_ROWS


_OF_ROWS = frozenset({Kind.MISSING_ROWS, Kind.NO_SCORED_PAIR, Kind.FEW_PAIRED, Kind.SAME_FILE})
_LACKING = _OF_ROWS | {
    *(Kind.NO_ROW_SCORE, Kind.NO_VERDICT, Kind.NO_VALUE, Kind.NO_TEST),
    *(Kind.FEW_ROWS, Kind.FEW_READ),
}


class Perspective(msgspec.Struct, frozen=True):
    """The names of the two sides in a sentence, and how a reason is lifted there.

    Attributes:
        candidate, baseline: As subjects.
        candidate_owns, baseline_owns: As owners.
        beside: What stands before a value of the baseline.
        both: What says whose the two values before it are.
        lifting: The sentence on what lifts a reason, with `{}` for the fact.
    """

    candidate: str = "the candidate"
    baseline: str = "the baseline"
    candidate_owns: str = "the candidate's"
    baseline_owns: str = "the baseline's"
    beside: str = "baseline"
    both: str = "(candidate / baseline)"
    lifting: str = "`--allow {}` compares anyway"

    def exchanged(self) -> Perspective:
        """The perspective from which the candidate of a reason is the baseline."""
        return replace(
            self,
            candidate=self.baseline,
            baseline=self.candidate,
            candidate_owns=self.baseline_owns,
            baseline_owns=self.candidate_owns,
            beside="candidate" if self.beside == BASELINE else self.candidate,
            both="(baseline / candidate)" if self.beside == BASELINE else self.both,
        )

    def side(self, name: str) -> str:
        """A side as a subject."""
        return self.candidate if name == CANDIDATE else self.baseline

    def owner(self, name: str) -> str:
        """A side as an owner."""
        return self.candidate_owns if name == CANDIDATE else self.baseline_owns


#: Of two runs on a command line, and of a policy.
OF_COMMAND = Perspective()
OF_POLICY = Perspective(lifting="`allow: [{}]` in the policy compares anyway")


def on_a_board(anchor: str) -> Perspective:
    """The perspective of a row that is held against the run that anchors its board."""
    return Perspective(
        candidate="it",
        baseline=anchor,
        candidate_owns="its",
        baseline_owns=f"{anchor}'s",
        beside=anchor,
        both=f"(this row / {anchor})",
    )


class Reason(msgspec.Struct, frozen=True):
    """Why two sides are not comparable, or why their numbers are not enough evidence.

    Attributes:
        kind: What it is.
        task: The task that it is about, of a quantity that is made of several.
        option: The fact that lifts it where it is allowed to differ; empty where nothing does.
        values: What its words are made of: counts, names, settings.
        said: Words of a pack or of an error; shown and never read.
        is_exchanged: Whether the candidate of its values is the baseline.
    """

    kind: Kind
    task: str = ""
    option: str = ""
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    said: str = ""
    is_exchanged: bool = False

    def __hash__(self) -> int:
        return hash((self.kind, self.task, self.option, self.said))

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, perspective: Perspective = OF_COMMAND) -> str:
        """The reason for people, with the option that lifts it."""
        words = _words(self, perspective.exchanged() if self.is_exchanged else perspective)
        if self.option:
            words += f"; {perspective.lifting.format(self.option)}"
        return f"{self.task}: {words}" if self.task else words

    def of(self, task: str) -> Reason:
        """The same reason with the name of the task that it is about."""
        return replace(self, task=task)

    def mirrored(self) -> Reason:
        """The same reason with the sides exchanged."""
        return replace(self, is_exchanged=not self.is_exchanged)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        known = {"kind": self.kind.value, "task": self.task, "option": self.option}
        words = {"values": _plain(self.values), "words": self.sentence()}
        return {name: value for name, value in (known | words).items() if value}


def _plain(value: Any) -> Any:
    """Facts as mappings, in mappings and lists."""
    match value:
        case FactDifference():
            return asdict(value)
        case Mapping():
            return {name: _plain(part) for name, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case _:
            return value


def sentences(reasons: Iterable[Reason], perspective: Perspective = OF_COMMAND) -> list[str]:
    """The sentences of some reasons, each once."""
    return list(dict.fromkeys(reason.sentence(perspective) for reason in reasons))


def unique(reasons: Iterable[Reason]) -> list[Reason]:
    """Some reasons, each once."""
    return list(dict.fromkeys(reasons))


def of_fact(item: FactDifference, **values: Any) -> Reason:
    """The reason that a fact of the question differs."""
    kind = Kind.METRIC if item.name == "metric" else Kind.FACT
    return Reason(kind, option=item.name, values={"fact": item, **values})


def _words(reason: Reason, sides: Perspective) -> str:
    """The words of a reason, without its task and its option."""
    if reason.said:
        return reason.said
    if reason.kind in {Kind.FACT, Kind.METRIC}:
        return _words_of_fact(reason.values, sides)
    if reason.kind.refuses:
        return _words_of_sides(reason, sides)
    return _words_of_lacking(reason, sides)


def _words_of_sides(reason: Reason, sides: Perspective) -> str:
    """The words where two sides do not answer one question, or were not scored alike."""
    known = reason.values
    match reason.kind:
        case Kind.ROWS:
            is_own = (known["side"] == CANDIDATE) is not reason.is_exchanged
            whose = "" if is_own else f"{sides.side(known['side'])} has "
            expected, found = known["expected"], known["found"]
            words = f"{whose}other rows than prepared: expected {expected}, found {found}"
        case Kind.OTHER_ROWS if known["shared"] == known[CANDIDATE]:
            rows = f"{known[CANDIDATE]} of the {known[BASELINE]} rows"
            words = f"{sides.candidate} has {rows} of {sides.baseline}"
        case Kind.OTHER_ROWS:
            own = f"{known['shared']} of {sides.candidate_owns} {known[CANDIDATE]}"
            words = f"other rows: {own} are among the {known[BASELINE]} of {sides.baseline}"
        case Kind.EDITED:
            words = f"not as prepared: {', '.join(known['edits'])}"
        case Kind.PROMPT:
            words = f"the prompt differs on {known['rows']} of {known['pairs']} rows"
        case Kind.GOLD:
            words = f"gold answers differ on {known['rows']} of {known['pairs']} rows"
        case Kind.REQUESTS:
            arguments = ", ".join(known["arguments"])
            words = f"the requests were sent with other arguments: {arguments} {sides.both}"
        case Kind.NOTHING_SHARED:
            words = _words_of_nothing_shared(known, sides)
        case Kind.READINGS:
            words = (
                "two readings of the same replies differ by more than the interval is wide: "
                f"{', '.join(known['readings'])}; `{known['choice']}` chooses one"
            )
        case Kind.TEXTS:
            words = "the texts of the two runs differ in length"
        case Kind.MEMBERS | Kind.WEIGHTS | Kind.RULE | Kind.PARTS | Kind.REFERENCE:
            words = _words_of_aggregates(reason, sides)
        case _:
            words = _words_of_scoring(reason, sides)
    return words


def _words_of_scoring(reason: Reason, sides: Perspective) -> str:
    """The words where a metric means something else on each side, or its scorer changed."""
    known = reason.values
    match reason.kind:
        case Kind.DIRECTION:
            better = f"{known['candidate']} {known['metric']} is better"
            other = f"{sides.baseline} {known['baseline']}"
            words = f"{sides.candidate} states that {better}, {other}"
        case Kind.SCALE if "span" in known:
            metric, span = known["metric"], known["span"]
            has = f"{sides.side(known['side'])} has {metric} from {span}"
            words = f"{has}, where it lies {known['bounds']}"
        case Kind.SCALE:
            percent, share = sides.side(known["percent"]), sides.side(known["share"])
            words = f"{percent} has {known['metric']} in percent, {share} as a share"
        case Kind.SCORER:
            replies = counted(known["equal"], "equal reply", "equal replies")
            words = f"the scorer differs on {known['flips']} of {replies}"
        case Kind.CONTRADICTED:
            whose = f"{sides.owner(known['side'])} verdicts contradict its log-likelihoods"
            words = f"{whose} on {known['rows']} of {counted(known['checked'], 'row')}"
        case _:
            words = reason.kind.value.replace("_", " ")
    return words


def _words_of_aggregates(reason: Reason, sides: Perspective) -> str:
    """The words where a group or a suite score is made of something else on each side."""
    known = reason.values
    match reason.kind:
        case Kind.MEMBERS:
            parts = [
                f"only {sides.owner(name)} has {shortlist(lone, 3)}"
                for name, lone in known["lone"].items()
                if lone
            ]
            words = f"the group has other tasks: {'; '.join(parts)}"
        case Kind.WEIGHTS if "side" in known:
            words = f"{sides.owner(known['side'])} value of the group is not a mean of its tasks"
        case Kind.WEIGHTS:
            ways = " / ".join(known["ways"])
            words = f"the groups are weighted differently: {ways}; compare their tasks"
        case Kind.RULE:
            words = f"scored by different rules: {' and '.join(known['rules'])}"
        case Kind.PARTS:
            means = f"the mean is over {counted(known['candidate'], 'score')}"
            beside = f"{sides.baseline_owns} over {known['baseline']}"
            words = f"{means}, {beside}; one side alone has {shortlist(known['lone'], _NAMED)}"
        case _:
            words = "the two runs were scored against different references"
    return words


def _words_of_lacking(reason: Reason, sides: Perspective) -> str:
    """The words where there is not enough evidence."""
    known = reason.values
    match reason.kind:
        case Kind.MISSING_ROWS:
            words = rows_missing(known["missing"], known["expected"])
            words = f"{words} ({', '.join(known['why'])})" if known.get("why") else words
        case Kind.NO_SCORED_PAIR if "task" in known:
            words = f"{sides.side(known['side'])} has no {known['task']}"
        case Kind.NO_SCORED_PAIR if "subtasks" in known:
            words = _words_of_lone_subtasks(known, sides)
        case Kind.NO_SCORED_PAIR | Kind.NO_ROW_SCORE | Kind.NO_VERDICT:
            why = f" ({', '.join(known['why'])})" if known.get("why") else ""
            words = f"no row was scored on both sides{why}"
        case Kind.FEW_PAIRED:
            paired = f"{known['paired']} of {known['smaller']} rows of the smaller side are paired"
            examples = "; ".join(f"{kind}: {', '.join(ids)}" for kind, ids in known["ids"].items())
            named = f" ({examples})" if examples else ""
            words = f"{paired}; `--pairing partial` compares them{named}"
        case Kind.SAME_FILE:
            words = "both sides are read from the same file, or from a copy of it"
        case _:
            words = reason.kind.value.replace("_", " ")
    return words


def _words_of_lone_subtasks(known: Mapping[str, Any], sides: Perspective) -> str:
    names, total = known["subtasks"], known["of"]
    side = sides.side(known["side"]) if known["side"] else "a side"
    share = 100 * len(names) / total
    weight = f" ({share:.3g} % of the weight)" if known["weighs"] else ""
    subtasks = f"{len(names)} of {counted(total, 'subtask')}{weight}"
    return f"{side} lacks {subtasks}: {shortlist(names, _NAMED)}"


def _words_of_nothing_shared(known: Mapping[str, Any], sides: Perspective) -> str:
    """The words where no question is on both sides: the counts, then what is known of it."""
    rows = f"{counted(known['candidate'], 'row')} of {sides.candidate}"
    sizes = f"{rows}, {known['baseline']} of {sides.baseline}"
    tried = "0 paired by sample id, document hash, prompt or question"
    parts = [f"no question is on both sides ({sizes}, {tried})"]
    if known["conflicts"]:
        questions = counted(known["conflicts"], "question is", "questions are")
        parts.append(f"{questions} equal with another gold answer")
    parts += [_words_of_fact({"fact": item}, sides) for item in known["facts"]]
    if known.get("positions"):
        own, base = known["positions"]
        beside = f"{sides.baseline} {base}"
        parts.append(f"{sides.candidate} has positions {own} of the data, {beside}")
    if known.get("documents"):
        parts.append(known["documents"])
    return "; ".join(parts)


def _words_of_fact(known: Mapping[str, Any], sides: Perspective) -> str:
    """The words of a fact that differs; of templates, in what they differ.

    >>> item = FactDifference("chat_template", "question", "9f2c" * 16, "none")
    >>> _words_of_fact({"fact": item}, OF_COMMAND)
    'the candidate used a chat template, the baseline none'
    >>> item = FactDifference("data", "question", ["x/a", None, None, None], ["x/b"])
    >>> _words_of_fact({"fact": item}, OF_COMMAND)
    'the data set differs: x/a, baseline x/b'
    >>> item = FactDifference("limit", "question", "12 of 120 rows", "none")
    >>> _words_of_fact({"fact": item}, OF_COMMAND)
    'the candidate has 12 of 120 rows'
    """
    item: FactDifference = known["fact"]
    values = f"{short_value(item.candidate)} / {short_value(item.baseline)}"
    match item.name:
        case "chat_template" if item.baseline == NONE:
            words = f"{sides.candidate} used a chat template, {sides.baseline} none"
        case "chat_template" if item.candidate == NONE:
            words = f"{sides.candidate} used no chat template, {sides.baseline} one"
        case "chat_template":
            words = f"the chat template differs: {values}"
        case "system":
            words = f"the system prompt differs: {values}"
        case "template_hash":
            words = f"the prompt template differs{known.get('where', '')}"
        case "data":
            data, other = _joined(item.candidate), _joined(item.baseline)
            words = f"the data set differs: {data}, {sides.beside} {other}"
        case "filter_steps":
            words = f"the steps of the filter differ: {_steps_that_differ(item)}"
        case "limit":
            limits = (sides.candidate, item.candidate), (sides.baseline, item.baseline)
            parts = [f"{side} has {limit}" for side, limit in limits if limit != NONE]
            words = ", ".join(parts)
        case _:
            words = f"{item.sentence()} {sides.both}"
    return words


def _joined(value: Any) -> str:
    """The known parts of a list as one text."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    return " ".join(str(part) for part in parts if part not in (None, ""))


def _steps_that_differ(item: FactDifference) -> str:
    """The first settings of two filters that differ, candidate and baseline.

    >>> steps = [{"function": "regex", "regex_pattern": "is ([A-Z])"}], [{"function": "take_first"}]
    >>> _steps_that_differ(FactDifference("filter_steps", "question", *steps))
    'function regex / take_first, regex_pattern is ([A-Z]) / none'
    """
    nothing: Mapping[str, Any] = {}
    for step, other in zip_longest(item.candidate, item.baseline, fillvalue=nothing):
        if step == other:
            continue
        keys = [key for key in {**step, **other} if step.get(key) != other.get(key)]
        pairs = [(key, step.get(key, NONE), other.get(key, NONE)) for key in keys]
        return ", ".join(f"{key} {short_value(a)} / {short_value(b)}" for key, a, b in pairs)
    return ""
