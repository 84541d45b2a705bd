"""The other side of scores that compare with one: who it is, and whether it may stand there.

A reference is a run or a log of another model. Scores that need one go through one guard,
`refusal`: a reference of another split, of other answers or of another model gives no value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from evalprep.files import as_mapping
from evalprep.model import Lineage, architecture_of, lineage_of
from evalprep.packs import Pack
from evalprep.places import last_part, shareable_folder, without_home
from evalprep.results import Run
from evalprep.score.result import Result
from evalprep.terminal import shortlist

#: Roles of another model: the option that names it, and the key in pack.yaml.
REFERENCE, FINETUNED = "reference", "finetuned"
#: What a value was measured against: a run, the run itself, a constant of the score's own, or a
#: reference that a log had.
RUN, ITSELF, CONSTANT, LOG = "run", "itself", "constant", "log"
_OTHER_ANSWERS = 0.1  # share of the rows whose answers may differ: logs decode tokens
_SIDES = ("forget", "holdout")  # of an attack, each with rows of its own


@dataclass(frozen=True)
class Against:
    """What a value was measured against.

    Attributes:
        role: `reference` or `finetuned`.
        kind: RUN, ITSELF, CONSTANT or LOG.
        name: Its label; of a constant or of a log's own reference what is known in words.
        model, family, size: The model, as far as it is known.
        split: The split of its rows.
        rows: Its rows behind the value.
        place: Where it lies, without an absolute path of the user.
        doubt: Why it looks like a model that may not stand here; empty where it does not.
    """

    role: str = REFERENCE
    kind: str = RUN
    name: str = ""
    model: str = ""
    family: str = ""
    size: str = ""
    split: str = ""
    rows: int | None = None
    place: str = ""
    doubt: str = ""

    @classmethod
    def of_mapping(cls, stated: Any) -> Against:
        """Returns what a pack's function or a file states, without keys of a wrong kind."""
        known = as_mapping(stated)
        names = [each.name for each in fields(cls) if each.name != "rows"]
        texts = {name: str(known[name]) for name in names if isinstance(known.get(name), str)}
        rows = known.get("rows")
        return cls(**texts, rows=rows if isinstance(rows, int) else None)

    @property
    def words(self) -> str:
        """What a table shows: `retain90`, `itself`, `an AUC of 0.5`."""
        shown = "the run itself" if self.kind == ITSELF else self.name
        return f"finetuned model {shown}" if self.role == FINETUNED else shown

    @property
    def described(self) -> str:
        """The same with model, split and rows, as far as they are known."""
        rows = "" if self.rows is None else f"{self.rows} rows"
        known = filter(None, (self.family, self.size, self.split, rows))
        facts = ", ".join(known) if self.kind == RUN else ""
        return f"{self.words} ({facts})" if facts else self.words

    def to_dict(self) -> dict[str, Any]:
        """Plain data without what is not known."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}


def group_of(against: Sequence[Against]) -> tuple[str, ...]:
    """Returns what values of one column share: the kind of what they were measured against.

    The reference of its own is a reference: its values are 0 or 1 by definition.
    """
    kinds = {RUN if each.kind == ITSELF else each.kind for each in against}
    return tuple(sorted(kinds - {RUN}))


@dataclass(frozen=True)
class Identity:
    """Who a run or a log is, as far as its names, its metadata and its pack tell.

    Attributes:
        label: Its name for messages.
        model: The model as the run names it.
        lineage: Family and size of the model.
        training: `retain` for a model that never saw what is to be forgotten, `finetuned` for the
            one before unlearning; empty where nothing tells.
        splits: The splits of its rows.
        place: Folder or file, for display.
        run: The run, for comparing files; None for plain results.
    """

    label: str = ""
    model: str = ""
    lineage: Lineage = field(default_factory=Lineage)
    training: str = ""
    splits: frozenset[str] = frozenset()
    place: str = ""
    run: Run | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, run: Run, packs: Iterable[Pack] = ()) -> Identity:
        """Returns the identity of a run.

        A pack's `references.py` may have `training_of(names) -> str` and
        `split_in(names) -> str`, which read the names of models and folders.
        """
        folder = run.log or run.files.folder
        names = [run.model, *reversed(folder.parts[-3:])]
        training = ""
        splits: set[str] = set()
        for pack in packs:
            module = pack.module("references")
            training = training or _asked(module, "training_of", [run.model])
            stated = [as_mapping(task.metadata.get(pack.name)) for task in run.tasks.values()]
            splits |= {str(each["split"]) for each in stated if each.get("split")}
            if not splits and (split := _asked(module, "split_in", names)):
                splits.add(split)
        return cls(
            label=run.named or last_part(run.model),
            model=without_home(run.model),
            lineage=_lineage_of_run(run),
            training=training,
            splits=frozenset(splits),
            place=shareable_folder(folder),
            run=run,
        )

    def is_same_run(self, other: Identity) -> bool:
        """Returns whether both are read from the same files."""
        if self.run is None or other.run is None:
            return False
        if self.run.log is not None and other.run.log is not None:
            own, theirs = self.run.log, other.run.log
            return theirs in (own, own.parent) or own == theirs.parent
        return any(self.run.shares_file(other.run, name) for name in self.run.tasks)


def _lineage_of_run(run: Run) -> Lineage:
    """Family and size by the files of the model and what its back end counted, else by its name."""
    counted = run.settings.as_logged.get("model_num_parameters")
    return replace(
        lineage_of(run.model),
        architecture=architecture_of(Path(run.model)),
        parameters=counted if type(counted) is int and counted > 0 else None,
    )


def _asked(module: Any, function: str, names: Sequence[str]) -> str:
    """Returns what a function of a pack reads from names; empty without it."""
    read = getattr(module, function, None)
    return str(read(names) or "") if read is not None else ""


@dataclass(frozen=True)
class Side:
    """Another model that scores of a run compare with.

    Attributes:
        role: REFERENCE or FINETUNED.
        identity: Who it is.
        results: Its results by score.
        is_subject: It is the run itself, shown as the row of the reference: values against it are 0
            or 1 by definition.
        doubt: Why it looks like a model that may not stand there, as its pack sees its results.
    """

    role: str
    identity: Identity
    results: Mapping[str, Result] = field(default_factory=dict, repr=False)
    is_subject: bool = False
    doubt: str = ""

    def named(self, names: Sequence[str]) -> Against:
        """Returns what is kept of it beside a value that some of its scores went into."""
        known = [self.results[name] for name in names if name in self.results]
        rows = [max(_row_counts(result.returned).values(), default=0) for result in known]
        splits = [split for split in map(_split_of, known) if split]
        lineage = self.identity.lineage
        return Against(
            role=self.role,
            kind=ITSELF if self.is_subject else RUN,
            name=self.identity.label,
            model=self.identity.model,
            family=lineage.family,
            size=lineage.size,
            split=next(iter([*splits, *sorted(self.identity.splits)]), ""),
            rows=max(rows, default=0) or None,
            place=self.identity.place,
            doubt=self.doubt,
        )


def refusal(
    subject: Identity,
    results: Mapping[str, Result],
    side: Side,
    names: Iterable[str],
    other_sides: Iterable[Side] = (),
) -> str:
    """Returns why a run may not be measured against another model; empty where it may.

    The one guard of all scores with `reference` or `finetuned`.

    Args:
        subject: The run.
        results: Its results.
        side: The other model.
        names: The scores that are compared.
        other_sides: Models of other roles, which may not be the same.
    """
    if side.is_subject:
        return ""
    what = "finetuned model" if side.role == FINETUNED else "reference"
    return (
        _other_model(subject, side, what, other_sides)
        or _other_split_by_name(subject, side.identity, what)
        or _other_rows(results, side.results, names, what)
    )


def _other_model(subject: Identity, side: Side, what: str, other_sides: Iterable[Side]) -> str:
    """Returns why the model of a side is not one for its role."""
    other = side.identity
    if subject.lineage.differs_from(other.lineage):
        return (
            f"the {what} {other.label} is of another model ({other.lineage.text}) "
            f"than this run ({subject.lineage.text})"
        )
    if side.role == FINETUNED:
        is_retain = other.training == "retain"
        return f"{other.label} is a retain model, not the finetuned one" if is_retain else ""
    if subject.is_same_run(other):
        return f"the run is its own {what}"
    finetuned = [each.identity for each in other_sides if each.role == FINETUNED]
    if other.training == "finetuned" or any(each.is_same_run(other) for each in finetuned):
        return (
            f"the {what} {other.label} is the finetuned model, which knows what is to be forgotten"
        )
    return ""


def _other_split_by_name(subject: Identity, other: Identity, what: str) -> str:
    """Returns that two runs are of different splits, where names and metadata tell both."""
    if not subject.splits or not other.splits or subject.splits & other.splits:
        return ""
    return _of_other_split(", ".join(sorted(other.splits)), ", ".join(sorted(subject.splits)), what)


def _of_other_split(theirs: str, mine: str, what: str) -> str:
    return f"the {what} is of {theirs} and this run of {mine}: their rows have nothing in common"


def _other_rows(
    results: Mapping[str, Result], others: Mapping[str, Result], names: Iterable[str], what: str
) -> str:
    """Returns the first score whose rows in the reference are not those of the run, and why."""
    for name in names:
        own, other = results.get(name), others.get(name)
        if own is None or other is None:
            continue
        mine, theirs = _split_of(own), _split_of(other)
        if mine and theirs and mine != theirs:
            return _of_other_split(theirs, mine, what)
        of = "forget " if name.startswith("forget") else ""
        why = _other_rows_of_score(own.returned, other.returned, what, of)
        if why:
            return f"not comparable: {why}"
    return ""


def _split_of(result: Result) -> str:
    """The split that a result states, of its own or of its settings."""
    split = result.returned.get("split") or as_mapping(result.scored_with).get("split")
    return str(split or "")


def _other_rows_of_score(
    own: Mapping[str, Any], other: Mapping[str, Any], what: str, of: str
) -> str:
    """Returns why the rows of two results are not the same; `of` names those without sides."""
    counts, other_counts = _row_counts(own), _row_counts(other)
    for side, count in counts.items():
        others = other_counts.get(side, count)
        if others != count:
            named = f"{side} " if side else of
            return (
                f"this run has {count} {named}rows and the {what} {others}: "
                "of another split or limit"
            )
    for side in counts:
        here, there = (as_mapping(each.get(side)) if side else each for each in (own, other))
        if why := _other_answers(here, there, what, f"{side} " if side else of):
            return why
    return ""


def _row_counts(result: Mapping[str, Any]) -> dict[str, int]:
    """Side of an attack -> its rows; those of other scores under an empty name."""
    sides = {side: result[side] for side in _SIDES if isinstance(result.get(side), Mapping)}
    rows = {
        side: as_mapping(part).get("value_by_index")
        for side, part in (sides or {"": result}).items()
    }
    return {side: len(values) for side, values in rows.items() if isinstance(values, Mapping)}


def _other_answers(here: Mapping[str, Any], there: Mapping[str, Any], what: str, of: str) -> str:
    """Returns that rows ask for other answers, as the digests of both sides tell."""
    mine, theirs = as_mapping(here.get("answers")), as_mapping(there.get("answers"))
    shared = [index for index in mine if index in theirs]
    differing = [index for index in shared if mine[index] != theirs[index]]
    if len(differing) <= _OTHER_ANSWERS * len(shared):
        return ""
    return (
        f"{len(differing)} of {len(shared)} {of}rows ask for another answer in the {what} "
        f"(row {shortlist(differing, 3)})"
    )
