"""The runs and logs that scores compare with: one for all runs, or one for each model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from evalprep.data import logs_at, on_hub
from evalprep.errors import BadInput, Problem
from evalprep.files import StrayLink, as_mapping
from evalprep.model import Lineage, lineage_of
from evalprep.packs import Pack, why_foreign
from evalprep.places import exists, last_part
from evalprep.results import EACH, Run, each_place, load_run, prepared_work, read_log
from evalprep.score.against import REFERENCE, Identity
from evalprep.score.result import Result
from evalprep.terminal import shortlist
from evalprep.yamlfile import load_yaml

Results = Mapping[str, Mapping[str, Any]]


class ReferenceChoice(msgspec.Struct, frozen=True):
    """A value of `--reference` or `--finetuned`: a place, for all models or for those of a pattern.

    The place may be a folder of several runs or logs, of which each model gets its own.
    """

    place: Path
    pattern: str = ""

    @classmethod
    def parse(cls, text: str) -> ReferenceChoice:
        """Reads `PATH` or `PATTERN=PATH`.

        >>> ReferenceChoice.parse("*3.2-1B*=saves/eval/retain90")
        ReferenceChoice(place=PosixPath('saves/eval/retain90'), pattern='*3.2-1B*')
        """
        pattern, equals, place = text.partition("=")
        if not equals or exists(Path(text)):
            return cls(Path(text))
        return cls(Path(place), pattern)

    def __str__(self) -> str:
        return f"{self.pattern}={self.place}" if self.pattern else str(self.place)


@dataclass(frozen=True)
class Remembered:
    """A reference that several runs are scored against.

    What is worked out of it is worked out once.

    Args:
        run: The reference.
        results: Pack and names of scores -> results, as far as they were asked for.
    """

    run: Run
    results: dict[tuple[str, frozenset[str]], Mapping[str, Result]] = field(
        default_factory=dict, repr=False
    )


def open_reference(path: Path, packs: Iterable[Pack], option: str = "--reference") -> Run:
    """Opens a reference: a run, a log that a pack can read, or a `scores.json` of this tool.

    A log may lie in a data set of the hub: `hub:owner/name/folder`.

    Raises:
        BadInput: none of these.
    """
    if on_hub(path):
        path = logs_at(str(path), f"{option} {path}")
    if (log := read_log(path, packs, complete=False)) is not None:
        return log
    try:
        return load_run(path, timestamp=EACH)
    except StrayLink:
        raise
    except BadInput as error:
        if not path.exists():
            raise
        raise BadInput(
            Problem(
                what="neither a run nor a log of reference scores",
                where=f"{option} {path}",
                allowed="a folder that lm_eval wrote, a scores.json of `evalprep score`, "
                "a log that the pack reads, "
                "or hub:owner/name/folder with such a log",
            )
        ) from error


class _Candidate(msgspec.Struct, frozen=True):
    """A run or log in a folder of several, which is opened when its names fit."""

    place: Path
    label: str
    lineage: Lineage
    training: str


class References:
    """The other models that a user names by one option, one for each model.

    Args:
        choices: What the option names.
        role: REFERENCE or FINETUNED.
        packs: The packs that read logs.

    Raises:
        BadInput: a place that is neither a run nor a log, nor a folder of several.
    """

    def __init__(
        self, choices: Sequence[ReferenceChoice], role: str, packs: Iterable[Pack]
    ) -> None:
        self.role = role
        self.option = f"--{role}"
        self._packs = list(packs)
        self._opened: dict[Path, Remembered] = {}
        self._several: dict[Path, list[_Candidate]] = {}
        # Patterns come first: what has none is for all others.
        self._choices = sorted(choices, key=lambda choice: not choice.pattern)
        for choice in self._choices:
            candidates = self._candidates(choice.place)
            if candidates:
                self._several[choice.place] = candidates
            elif choice.place not in self._opened:
                self._open(choice.place)

    def of(self, run: Run) -> Remembered | None:
        """Returns the reference of a run; None where none of them is for it.

        Raises:
            BadInput: several in a folder fit.
        """
        choice = self._choice_for(run)
        if choice is None:
            return None
        if choice.place not in self._several:
            return self._open(choice.place)
        fitting = self._fitting(run, self._several[choice.place])
        if len(fitting) > 1:
            named = shortlist([candidate.label for candidate, _ in fitting], 4)
            raise BadInput(
                Problem(
                    what=f"several logs fit {run.label}: {named}",
                    where=f"{self.option} {choice.place}",
                    fix=f"name one: {self.option} 'PATTERN=PATH'",
                )
            )
        return fitting[0][1] if fitting else None

    def notes_on(self, run: Run) -> list[str]:
        """Returns a note where none of the references is for a run."""
        choice = self._choice_for(run)
        if choice is None:
            return [f"no pattern of {self.option} fits {run.label}: scored without"]
        if choice.place in self._several and self.of(run) is None:
            identity = Identity.of(run, self._packs)
            known = [identity.lineage.text, *sorted(identity.splits)]
            wanted = ", ".join(filter(None, known)) or run.model
            return [f"{self.option} {choice.place} holds none for {run.label} ({wanted})"]
        return []

    def runs_of(self, runs: Iterable[Run]) -> list[Run]:
        """The references of some runs, each once, in the order of the runs."""
        references = [reference.run for run in runs if (reference := self.of(run)) is not None]
        return list({id(reference): reference for reference in references}.values())

    def _choice_for(self, run: Run) -> ReferenceChoice | None:
        folder = run.log or run.files.folder
        names = [run.model, last_part(run.model), run.label, run.named, folder.name, str(folder)]
        for choice in self._choices:
            if not choice.pattern or any(fnmatchcase(name, choice.pattern) for name in names):
                return choice
        return None

    def _candidates(self, place: Path) -> list[_Candidate]:
        """The runs and logs in a folder of several; empty for a place that is one."""
        if not place.is_dir():
            return []
        log = read_log(place, self._packs, complete=False)
        if log is not None:
            self._opened[place] = Remembered(log)
            return []
        named = each_place([place], self._packs)
        places = [Path(each) for each in named if isinstance(each, str | os.PathLike)]
        if len(places) < 2:
            return []
        return [self._candidate(each) for each in places]

    def _candidate(self, place: Path) -> _Candidate:
        names = list(reversed(place.absolute().parts[-4:]))
        training = ""
        for pack in self._packs:
            read = getattr(pack.module("references"), "training_of", None)
            training = training or (str(read(names) or "") if read is not None else "")
        return _Candidate(place, "/".join(place.parts[-2:]), lineage_of("/".join(names)), training)

    def _fitting(
        self, run: Run, candidates: Sequence[_Candidate]
    ) -> list[tuple[_Candidate, Remembered]]:
        """The candidates of a folder that are of the run's model and split, opened."""
        identity = Identity.of(run, self._packs)
        wanted = "retain" if self.role == REFERENCE else "finetuned"
        named = [candidate for candidate in candidates if candidate.training == wanted]
        if not named and self.role == REFERENCE:
            named = [candidate for candidate in candidates if not candidate.training]
        fitting = []
        for candidate in named:
            if candidate.lineage.differs_from(identity.lineage):
                continue
            opened = self._open(candidate.place)
            other = Identity.of(opened.run, self._packs)
            is_other_split = identity.splits and other.splits and not identity.splits & other.splits
            if other.lineage.differs_from(identity.lineage) or is_other_split:
                continue
            is_itself = candidate.training != wanted and identity.is_same_run(other)
            if not is_itself:
                fitting.append((candidate, opened))
        return fitting

    def _open(self, place: Path) -> Remembered:
        if place not in self._opened:
            self._opened[place] = Remembered(open_reference(place, self._packs, self.option))
        return self._opened[place]


def open_references(
    choices: Sequence[ReferenceChoice], role: str, packs: Iterable[Pack]
) -> References | None:
    """Opens what an option names; None where it names nothing.

    Raises:
        BadInput: a place that is neither a run nor a log, nor a folder of several.
    """
    return References(choices, role, packs) if choices else None


#: Another model that scores of a run compare with.
Other = Run | Remembered | Results
#: The same, or one for each of several runs.
Reference = Other | References


class ScoredAgainst(msgspec.Struct, frozen=True):
    """What the scores of a run were held against.

    Attributes:
        reference, finetuned: The other models; None without one.
        is_reference: The run may be measured against itself.
    """

    reference: Other | None = None
    finetuned: Other | None = None
    is_reference: bool = False


class OtherModels(msgspec.Struct, frozen=True):
    """What the options of a verb name: references, and the finetuned models."""

    reference: References | None = None
    finetuned: References | None = None


def references_named(runs: Iterable[Run]) -> list[str]:
    """The places that the tasks of some runs name as their reference (`metadata.reference`)."""
    tasks = chain.from_iterable(run.tasks.values() for run in runs)
    references = (task.metadata.get("reference") for task in tasks)
    return sorted({str(reference) for reference in references if reference})


def may_be_opened(place: str, runs: Iterable[Run]) -> bool:
    """True for a reference that the user's own preparation names.

    It names it for one of the runs, and the reference is here.

    A results file may come from anybody, so a place that it alone names is never opened. Whether a
    place on the hub is there, the hub tells when it is asked.
    """
    own = any(place in _own_references(run) for run in runs)
    return own and (on_hub(place) or Path(place).exists())


def _own_references(run: Run) -> frozenset[str]:
    """The references in the task files of a run's preparation, where that is the user's own."""
    prepared = prepared_work(run)
    if prepared is None or why_foreign(prepared.folder):
        return frozenset()
    names = [name for name in prepared.files if Path(name).stem in run.tasks]
    places = {_reference_in(prepared.folder / name) for name in names if name.endswith(".yaml")}
    return frozenset(places - {""})


def _reference_in(path: Path) -> str:
    """The reference that a task file names; empty where it names none or cannot be read."""
    try:
        metadata = as_mapping(load_yaml(path).data.get("metadata"))
    except BadInput:
        return ""
    return str(metadata.get("reference") or "")


def named_reference(run: Run, packs: Iterable[Pack]) -> tuple[Run | None, str]:
    """Opens the reference that the run's tasks name (`metadata.reference`), with what became of it.

    None, with a note, for one that is gone, that is no reference, or that is not the same for all
    tasks: a setting of another day must not cost the scores that need none. A place outside the
    run is opened only on the word of the user's own preparation, or of `--reference`.
    """
    named = references_named([run])
    if not named:
        return None, ""
    reference = None
    if len(named) > 1:
        note = f"scored without a reference, since the tasks name several: {', '.join(named)}"
    elif named[0] not in _own_references(run):
        note = (
            f"scored without the reference that the results file names: {named[0]}: it is opened "
            "only for a run that you prepared on this machine"
        )
    elif not may_be_opened(named[0], [run]):
        note = f"scored without the reference that the tasks name, which is not here: {named[0]}"
    else:
        try:
            reference = open_reference(Path(named[0]), packs)
            note = f"reference: {named[0]}, as the tasks name it"
        except BadInput as error:
            reason = error.problems[0].what
            note = f"scored without the reference that the tasks name: {named[0]}: {reason}"
    return reference, f"{note}; --reference names another"
