"""Replies of another engine, and the run that they make or continue.

Who answered is told by what the replies are. Files that add replies continue the run of the first
files; a changed reply, or fewer of them, are another run, so that no score mixes two engines.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path

import msgspec

from evalprep.files import (
    NotRead,
    file_sha256,
    make_folder,
    read_file,
    unchanged_sha256,
    write_atomically,
)
from evalprep.packs import (
    Excluded,
    Manifest,
    Prepared,
    TaskPlan,
    keep_records,
    records_in,
    records_of_work,
)
from evalprep.run.kinds import beyond_files, reason_beyond
from evalprep.run.replies import Reply, files_of, read_replies
from evalprep.status import runs_now

_INDEX = ".evalprep/replies"
_DIGITS = 8  # bytes that stand for a reply


@dataclass(frozen=True)
class ReplyFile:
    """A file with replies.

    Attributes:
        path: Where it lay.
        sha256: Digest of its bytes.
    """

    path: str
    sha256: str


@dataclass(frozen=True)
class ReplySet:
    """Replies that the user gave, as a part of a run.

    Attributes:
        first: Digest of the replies that the run began with, which its id covers; empty without
            any.
        places: The files and folders to read: those of an earlier call that are not repeated, then
            those of this one.
        replies: Id of a request -> its reply, of this call.
        known: Id of a request -> what stands for its reply, of the whole run.
        files: All files of the run.
    """

    first: str = ""
    places: tuple[Path, ...] = ()
    replies: Mapping[str, Reply] = field(default_factory=dict)
    known: Mapping[str, bytes] = field(default_factory=dict)
    files: tuple[ReplyFile, ...] = ()

    def keep(self, prepared: Prepared) -> None:
        """Keeps beside the results which run the replies are of, and what they are."""
        if not self.first or prepared.output_path is None:
            return
        runs = runs_now(prepared, self.first)
        reasons = Counter(reply.reason for reply in self.replies.values() if reply.reason)
        answers = {
            "first": self.first,
            "files": [asdict(file) for file in self.files],
            **({"empty": dict(reasons)} if reasons else {}),
        }
        records = records_of_work(prepared, runs)
        for before, now in runs.items():
            record = without_unanswerable(records[now])
            records[now] = record.with_parts(prepared_as=before, replies=answers)
        keep_records(prepared.output_path, records)
        index = msgspec.msgpack.encode(dict(self.known))
        for run in records:
            place = _index(prepared.output_path, run)
            make_folder(place.parent, within=prepared.output_path)
            write_atomically(place, index)


def given_replies(places: Sequence[Path], prepared: Prepared) -> ReplySet:
    """Returns replies with the run that they continue, or else begin.

    Args:
        places: Files with replies, and folders of such files.
        prepared: The work folder whose requests they answer.

    Raises:
        BadInput: a file that cannot be read.
    """
    if not places:
        return ReplySet()
    replies = read_replies(places)
    own = {name: _digest_of(reply) for name, reply in replies.items() if not reply.failure}
    files = tuple(ReplyFile(str(path.resolve()), file_sha256(path)) for path in files_of(places))
    earlier = _continued(own, files, prepared)
    if earlier is None:
        first = _digest_of_all(own)
        return ReplySet(first, tuple(places), replies, own, files)
    digests = {file.sha256 for file in files}
    others = tuple(file for file in earlier.files if file.sha256 not in digests)
    repeated = earlier.known.keys() <= own.keys()
    still_there = [] if repeated else [Path(file.path) for file in others if _is_there(file)]
    return ReplySet(
        earlier.first, (*still_there, *places), replies, {**earlier.known, **own}, (*others, *files)
    )


def unanswerable(tasks: Mapping[str, TaskPlan]) -> dict[str, str]:
    """Returns the tasks that no file of replies can answer, with the reasons.

    Args:
        tasks: The tasks of a plan.
    """
    needed = {name: beyond_files(task.needs) for name, task in tasks.items()}
    return {name: reason_beyond(words) for name, words in needed.items() if words}


def without_unanswerable(record: Manifest) -> Manifest:
    """The record of a run without the tasks that its files cannot answer: these are left out."""
    reasons = unanswerable(record.plan.tasks)
    return record.without_tasks(
        {name: Excluded("ability", reason) for name, reason in reasons.items()}
    )


def reply_runs(prepared: Prepared) -> list[str]:
    """Returns the ids of the runs of a work folder that another engine answered, oldest first."""
    return list(chain.from_iterable(earlier.runs for earlier in _earlier_runs(prepared)))


@dataclass(frozen=True)
class _Earlier:
    """An earlier run of replies to the requests of a work folder.

    Attributes:
        first: Digest of the replies that it began with.
        files: Its files.
        output: The output folder.
        runs: Its ids, one for each model.
    """

    first: str
    files: tuple[ReplyFile, ...]
    output: Path
    runs: tuple[str, ...]

    @cached_property
    def known(self) -> dict[str, bytes]:
        """Id of a request -> what stands for its reply; empty where that was deleted."""
        known: dict[str, bytes] = {}
        for run in self.runs:
            try:
                content = read_file(_index(self.output, run))
                known |= msgspec.msgpack.decode(content, type=dict[str, bytes])
            except (NotRead, OSError, msgspec.MsgspecError):
                continue
        return known

    def goes_on_with(self, replies: Mapping[str, bytes], files: Iterable[ReplyFile]) -> bool:
        """Returns whether replies are those of this run, or add to them."""
        if not self.known:
            return {file.sha256 for file in self.files} <= {file.sha256 for file in files}
        shared = replies.keys() & self.known.keys()
        if any(replies[name] != self.known[name] for name in shared):
            return False
        # Fewer replies are a run of their own, in which the others are missing.
        return len(shared) < len(replies) or len(shared) == len(self.known)


def _continued(
    replies: Mapping[str, bytes], files: Sequence[ReplyFile], prepared: Prepared
) -> _Earlier | None:
    """The earlier run that some replies belong to; None where they begin one.

    Of several that with most of these replies: another engine may have answered other requests.
    """
    first = _digest_of_all(replies)
    fitting = [
        earlier
        for earlier in _earlier_runs(prepared)
        if earlier.first == first or earlier.goes_on_with(replies, files)
    ]

    def overlap(earlier: _Earlier) -> tuple[int, bool]:
        return len(earlier.known.keys() & replies.keys()), earlier.first == first

    return max(fitting, key=overlap, default=None)


def _earlier_runs(prepared: Prepared) -> Iterator[_Earlier]:
    """Yields the earlier runs of replies to the very requests of a work folder."""
    output = prepared.output_path
    if output is None or not output.is_dir():
        return
    records = records_in(output)
    answers = [record.replies for record in records if record.replies.first]
    kept = {record.run for record in records}
    for first in dict.fromkeys(answer.first for answer in answers):
        runs = tuple(run for run in runs_now(prepared, first).values() if run in kept)
        listed = chain.from_iterable(answer.files for answer in answers if answer.first == first)
        if runs:
            files = tuple(ReplyFile(file.name, file.sha256) for file in listed)
            yield _Earlier(first, files, output, runs)


def _is_there(file: ReplyFile) -> bool:
    try:
        return unchanged_sha256(Path(file.path)) == file.sha256
    except OSError:
        return False


def _index(output: Path, run: str) -> Path:
    return output / _INDEX / f"{run}.msgpack"


def _digest_of(reply: Reply) -> bytes:
    facts = asdict(reply)
    del facts["reason"]  # it says why there is no text, and is no part of an answer
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_DIGITS]


def _digest_of_all(replies: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(replies):
        digest.update(name.encode("utf-8", "surrogatepass") + b"\0" + replies[name])
    return digest.hexdigest()
