"""Lines of a samples file with the few fields that a table needs.

The decoder (msgspec) skips the others without building them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from json.encoder import encode_basestring
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import astuple

from evalprep.files import is_deep
from evalprep.samples.sample import (
    ID_COLUMNS,
    RESERVED,
    UNDECODABLE,
    UNKNOWN,
    Damage,
    Sample,
    parse,
    row_id,
)
from evalprep.samples.sample_lines import Hashes
from evalprep.samples.schema import HASHES

ABSENT = msgspec.Raw(b"")
_OPENING = ord("{")


class Head(
    msgspec.Struct,
    gc=False,
    rename={
        "subtask": "subtask_name",
        "cluster": "cluster_id",
        "previous": "previously_is_correct",
    },
):
    """The parts of a row that a table needs, by the names of its columns where it has one."""

    sample_id: Any = None
    id: Any = None
    question_id: Any = None
    uid: Any = None
    subtask: Any = None
    cluster: Any = None
    document_id: Any = None
    passage_id: Any = None
    context_id: Any = None
    story_id: Any = None
    previous: Any = None
    prompt: msgspec.Raw = ABSENT


_IN_HEAD = Head.__struct_encode_fields__  # the prompt is the last one


_identified = msgspec.json.Decoder(
    msgspec.defstruct("Identified", [(name, Any, None) for name in ID_COLUMNS], gc=False)
)


class _Request(msgspec.Struct, gc=False, frozen=True):
    arg_0: msgspec.Raw = ABSENT


class _Requests(msgspec.Struct, gc=False, frozen=True):
    gen_args_0: _Request = _Request()


#: Columns of a row that name the document which it is about, of which there may be several rows.
DOCUMENT_COLUMNS = ("document_id", "passage_id", "context_id", "story_id")


class _Part(NamedTuple):
    """A part of a line, as tables take it and as samples do.

    Attributes:
        name: Its key.
        counted: Its type for a table.
        read: Its type for a sample.
        absent: What stands for it in a table where a line lacks it; `NODEFAULT` where lines have to
            have it.
        unread: The same for a sample; a line without it is read by the tolerant reader.
    """

    name: str
    counted: Any
    read: Any
    absent: Any = msgspec.NODEFAULT
    unread: Any = msgspec.NODEFAULT


_text = str | list[str]
_PARTS = (
    _Part("doc", Head, msgspec.Raw),
    _Part("doc_id", int, int, UNKNOWN, UNKNOWN),
    _Part(HASHES[0], str, str, ""),
    _Part(HASHES[1], str, str, ""),
    _Part(HASHES[2], str, str, "", ""),
    _Part("arguments", _Requests, dict[str, dict[str, msgspec.Raw]], _Requests()),
    _Part("resps", msgspec.Raw, list[list[_text]], ABSENT),
    _Part("filtered_resps", msgspec.Raw, list[_text], ABSENT),
    _Part("filter", str, str, "none", "none"),
    _Part("metrics", msgspec.Raw, tuple[str, ...], ABSENT),
)
FIELDS = tuple(part.name for part in _PARTS)
_OF_TABLES = [(part.name, part.counted, part.absent) for part in _PARTS]
# A struct has its fields without a default first.
_OF_SAMPLES = sorted(
    [*((part.name, part.read, part.unread) for part in _PARTS), ("target", Any, "")],
    key=lambda field: field[2] is not msgspec.NODEFAULT,
)
Columns = Sequence[tuple[Any, ...]]
"""Each field of some lines, in order: `FIELDS`, then the metrics of their layout."""
_names = msgspec.json.Decoder(tuple[str, ...])
_hashes = attrgetter(*HASHES)


class _Never:
    """A decoder that leaves every line to the tolerant reader."""

    def decode(self, _: bytes | memoryview) -> Any:
        raise msgspec.DecodeError("read by the tolerant reader")

    decode_lines = decode


class _Decoding:
    """The decoder of lines that log the same metrics.

    Attributes:
        names: The metrics that have a value, in order; `line_type` has an attribute for each, after
            the given fields.
        decoder: For one line, or with `decode_lines` for several.
    """

    def __init__(self, fields: Sequence[Any], logged: tuple[str, ...]) -> None:
        self.names = tuple(dict.fromkeys(name for name in logged if name not in RESERVED))
        # Attributes of our own naming: metrics may be called anything.
        self._renamed = {f"metric_{at}": name for at, name in enumerate(self.names)}
        fields = [*fields, *((attribute, Any, None) for attribute in self._renamed)]
        self.line_type: Any
        self.decoder: msgspec.json.Decoder[Any] | _Never
        try:
            self.line_type = msgspec.defstruct("Line", fields, rename=self._renamed, gc=False)
            self.decoder = msgspec.json.Decoder(self.line_type)
        except ValueError:  # a name with quotes, which msgspec cannot have as a key
            self.line_type = msgspec.defstruct("Line", fields, gc=False)
            self.decoder = _Never()

    def metrics_of(self, line: Any) -> dict[str, Any]:
        """Returns the metrics of a line with their values."""
        return {name: getattr(line, attribute) for attribute, name in self._renamed.items()}


@lru_cache(maxsize=64)
def layout_of(logged: tuple[str, ...]) -> Layout:
    """Returns the layout of lines that log some metrics: one for all tasks that log the same."""
    return Layout(logged)


class Layout(_Decoding):
    """Lines that log the same metrics, with the fields of a table.

    Attributes:
        logged: The names that their field `metrics` lists.
    """

    def __init__(self, logged: tuple[str, ...]) -> None:
        super().__init__(_OF_TABLES, logged)
        self.logged = logged

    def line(self, sample: Sample) -> Any:
        """The sample as the fast decoder would have given it.

        It is for samples of other sources, and for lines that only the tolerant reader could
        decode.
        """
        in_head: list[Any] = list(map(sample.doc.get, _IN_HEAD))
        prompt = in_head.pop()
        in_head.append(_raw(prompt) if isinstance(prompt, str) else ABSENT)
        head = Head(*in_head)
        metrics = sample.metrics
        return self.line_type(
            head,
            sample.doc_id,
            *sample.hashes,
            _Requests(),  # the digest tells as well whether the prompt is the prepared one
            _raw(sample.resps),
            _raw(sample.filtered_resps),
            sample.filter,
            ABSENT,  # the layout has the names of the metrics
            *map(metrics.get, self.names),
        )


def names_in(metrics: msgspec.Raw) -> tuple[str, ...]:
    """Returns the names that a field `metrics` lists; none without the field.

    Raises:
        DecodeError, UnicodeDecodeError: it is no list of texts.
    """
    return _names.decode(metrics) if metrics else ()


def columns_of(lines: Iterable[Any]) -> Columns:
    """Returns each field of some structs of one type; nothing for none."""
    return list(zip(*map(astuple, lines), strict=True))


def _raw(value: Any) -> msgspec.Raw:
    """A value as lm-eval writes it; an only text in lists, as nearly all replies are, at once."""
    text, level = value, 0
    while type(text) is list and len(text) == 1:
        text, level = text[0], level + 1
    if type(text) is str:
        logged = f"{'[' * level}{encode_basestring(text)}{']' * level}"
    else:
        logged = json.dumps(value, ensure_ascii=False)
    return msgspec.Raw(logged.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=64)
def _decoding_of(logged: tuple[str, ...]) -> _Decoding:
    """The decoder of samples that log some metrics, which many reads share."""
    return _Decoding(_OF_SAMPLES, logged)


def _id_of(line: Any) -> str:
    """The id of the row of a line."""
    doc = dict(zip(ID_COLUMNS, astuple(_identified.decode(line.doc)), strict=True))
    return row_id(doc, _hashes(line)[0], line.doc_id)[0]


class SampleReader:
    """Turns lines of one file into samples, documents and arguments left as they were logged.

    Most lines of a file log the same metrics; lines in other layouts go to the tolerant reader.
    """

    def __init__(self) -> None:
        self._logged: tuple[str, ...] = ()
        self._decoding = _decoding_of(())

    def read(self, raw: bytes | memoryview, number: int = 0) -> Sample | Damage:
        """Returns the sample of a line, or why the line cannot be used.

        Args:
            raw: The line.
            number: Its number; 0 where it was read before, and the id of its row is known.
        """
        try:
            line = None if number and is_deep(bytes(raw)) else self._decode(raw)
        except UNDECODABLE:
            line = None
        # The document is left as it is; lm-eval writes an object.
        if line is None or memoryview(line.doc)[0] != _OPENING:
            return parse(bytes(raw), number)
        return Sample(
            sample_id=_id_of(line) if number else "",
            line=number,
            doc_id=line.doc_id,
            logged_doc=line.doc,
            target=str(line.target),
            logged_arguments=line.arguments,
            resps=line.resps,
            filtered_resps=line.filtered_resps,
            filter=line.filter,
            metrics=self._decoding.metrics_of(line),
            hashes=Hashes._make(_hashes(line)),
        )

    def _decode(self, raw: bytes | memoryview) -> Any:
        line = self._decoding.decoder.decode(raw)
        if line.metrics != self._logged:
            self._logged = line.metrics
            self._decoding = _decoding_of(line.metrics)
            line = self._decoding.decoder.decode(raw)
        return line
