"""One line of a samples file as a typed object, and the reading of such lines."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Any

import msgspec

from evalprep.files import MAX_DEPTH, as_mapping, is_deep
from evalprep.samples.hashes import document_hash, text_hash
from evalprep.samples.sample_lines import Hashes
from evalprep.samples.schema import HASHES

# Columns that are taken as the row's own id when there is no `sample_id`, in this order.
ID_COLUMNS = ("sample_id", "id", "question_id", "uid")
# What the harness writes itself; a metric of such a name overwrites the field and cannot be told
# from it.
RESERVED = frozenset(
    (
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
        *HASHES,
    )
)
INVALID = "[invalid]"
UNKNOWN = -1  # of a flag; also the code of "no cluster" and "no subtask"
UNREADABLE = -2  # of a published verdict that is neither true nor false
# Metrics of lm-eval that exist only for all rows together: a row holds a pair (gold and predicted
# class, text and reference, log-likelihood and length), or for `perplexity` the log-likelihood,
# which points the other way.
OVER_ALL_ROWS = frozenset(
    (
        *("f1", "mcc", "brier_score", "bleu", "chrf", "chrf++", "ter", "acc_all"),
        *("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte"),
    )
)


#: What the fast decoder refuses; the tolerant reader may still take it.
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Published(msgspec.Struct, gc=False):
    previous_output_prediction_text: Any = None


_published_only = msgspec.json.Decoder(_Published)


class Damage(msgspec.Struct, frozen=True):
    """A line that could not be used: its number (from 1) and why."""

    line: int
    why: str


class Sample(msgspec.Struct, kw_only=True):
    """One document under one filter, as lm-eval logged it.

    `resps` holds per request the list of its repeats; `filtered_resps` per request what the filter
    made of them. `metrics` maps metric names to the values that `process_results` returned.

    Document and arguments are most of a line, and often nobody looks at them: those that were
    logged as JSON objects are decoded when they are first asked for, the arguments one by one.

    Attributes:
        logged_arguments: The arguments of each request by their names, not decoded yet where they
            are as they were logged.
        hashes: lm-eval's digests; empty where it logged none.
        decoded_doc, decoded_arguments: What `doc` and `arguments` give, once they were asked for.
        response: The reply as text; a list when the document had several requests or repeats.
        filtered: The reply after the filter; a list when the document had several requests.
    """

    sample_id: str
    doc_id: int
    logged_doc: msgspec.Raw | dict[str, Any]
    target: str
    logged_arguments: dict[str, Any]
    resps: list[Any]
    filtered_resps: list[Any]
    filter: str
    metrics: dict[str, Any]
    hashes: Hashes = Hashes()
    line: int = 0
    response: str | list[Any] = ""
    filtered: Any = None
    decoded_doc: dict[str, Any] | None = None
    decoded_arguments: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.response = response_of(self.resps)
        self.filtered = filtered_of(self.filtered_resps)

    @property
    def doc(self) -> dict[str, Any]:
        """The row of the data set."""
        if self.decoded_doc is None:
            self.decoded_doc = _object_in(self.logged_doc)
        return self.decoded_doc

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of each request by their names: `gen_args_0` and so on."""
        if self.decoded_arguments is None:
            self.decoded_arguments = _arguments_in(self.logged_arguments)
        return self.decoded_arguments

    @property
    def prompt(self) -> str:
        """The first request's prompt, exactly as sent; the messages of a chat as JSON."""
        return _prompt_in(_value_in(self.logged_argument("arg_0", "")))

    def is_asked_as(self, other: Sample) -> bool:
        """Returns whether another sample has the same first prompt."""
        if self.logged_arguments == other.logged_arguments:
            return True
        both = self.logged_argument("arg_0"), other.logged_argument("arg_0")
        return bool(both[0] == both[1]) or self.prompt == other.prompt

    def logged_argument(self, name: str, absent: Any = None) -> Any:
        """An argument of the first request, as it was logged."""
        first = self.logged_arguments.get("gen_args_0")
        return first.get(name, absent) if isinstance(first, dict) else absent

    @property
    def replies(self) -> list[str]:
        """Every reply that is a text, over all requests and repeats; none of a likelihood."""
        return reply_texts(self.resps)

    @property
    def is_empty(self) -> int:
        """1 where every reply is blank, 0 where one is not.

        `UNKNOWN` where replies are no texts.
        """
        return is_blank(self.resps)

    @property
    def answer(self) -> str:
        """The filtered reply as one string, for tables."""
        value = self.filtered
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    @property
    def requests(self) -> list[list[Any]]:
        """The arguments of each request, in order.

        They are prompt and continuation, or prompt and generation arguments.
        """
        requests = (request for request in self.arguments.values() if isinstance(request, dict))
        return [list(request.values()) for request in requests]

    @property
    def continuations(self) -> list[Any]:
        """The second argument of each request, as the text of a choice.

        Nothing where a request has no second argument.
        """
        requests = (each for each in self.logged_arguments.values() if isinstance(each, dict))
        arguments = [list(request.values()) for request in requests]
        if any(len(each) < 2 for each in arguments):
            return []
        try:
            return [_decoded(each[1]) for each in arguments]
        except (ValueError, RecursionError):
            return []

    @property
    def gold(self) -> str:
        """The gold answer as text; where the target is the index of a choice, that choice."""
        ends = [request[1] for request in self.requests if len(request) > 1]
        choices = [end.strip() for end in ends if isinstance(end, str)]
        index = int(self.target) if self.target.isdecimal() else -1
        # Where all continuations are equal (the choice stands in the prompt), the index alone
        # tells.
        if len(set(choices)) == len(choices) > index >= 0:
            return choices[index]
        return self.target.strip()

    @property
    def arguments_digest(self) -> str:
        """A digest of all arguments of all requests, however lm-eval spelled them.

        Empty without any.
        """
        if not self.requests:
            return ""
        return hashlib.sha256(msgspec.json.encode(self.requests, order="sorted")).hexdigest()

    @property
    def generation(self) -> Mapping[str, Any]:
        """The generation arguments of the first request; empty for likelihood requests."""
        logged = self.logged_argument("arg_1")
        if isinstance(logged, msgspec.Raw):
            return generation_in(bytes(logged))
        return as_mapping(logged)

    @property
    def previous_output(self) -> str | None:
        """The published output, where the row carries one."""
        if self.decoded_doc is None and isinstance(self.logged_doc, msgspec.Raw):
            try:
                # Without the other columns, which are most of the row.
                published = _published_only.decode(self.logged_doc)
            except UNDECODABLE:
                pass
            else:
                return _text_or_none(published.previous_output_prediction_text)
        return _text_or_none(self.doc.get("previous_output_prediction_text"))


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def response_of(resps: list[Any]) -> str | list[Any]:
    """The only reply as text; a list of all replies to several requests or of several repeats."""
    if len(resps) == 1 and isinstance(resps[0], list) and len(resps[0]) == 1:
        return resps[0][0] if isinstance(resps[0][0], str) else list(resps[0])
    flat: list[Any] = []
    for request in resps:
        flat += request if isinstance(request, list) else [request]
    return flat[0] if len(flat) == 1 and isinstance(flat[0], str) else flat


def filtered_of(filtered_resps: list[Any]) -> Any:
    """Returns what a filter made of the reply to the only request; a list for several requests."""
    return filtered_resps[0] if len(filtered_resps) == 1 else filtered_resps


def loads(raw: bytes | msgspec.Raw) -> Any:
    """Decodes one JSON value; bare NaN and Infinity, which lm-eval writes, are accepted.

    Raises:
        ValueError: not JSON.
        RecursionError: nested too deeply.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # One bad byte in a text costs that character, not the line; the fast reader passes over
        # texts as well.
        value = json.loads(bytes(raw).decode("utf-8-sig", "replace"))
    if b"\\ud" not in bytes(raw).lower():
        return value
    # Half a surrogate pair is legal JSON but no text; nothing downstream could print or write it.
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _decoded(logged: Any) -> Any:
    """A part of a line, decoded where it is as it was logged.

    Raises:
        ValueError, RecursionError: it cannot be decoded.
    """
    return loads(logged) if isinstance(logged, msgspec.Raw) else logged


def _value_in(logged: Any) -> Any:
    """A part of a line, decoded; an empty text where that cannot be done."""
    try:
        return _decoded(logged)
    except (ValueError, RecursionError):
        return ""


def _prompt_in(argument: Any) -> str:
    """The prompt that a request holds.

    lm-eval logs the messages for a chat server, which it holds as one text, as a list of that text.

    >>> _prompt_in(['[{"role": "user", "content": "Hi"}]'])
    '[{"role": "user", "content": "Hi"}]'
    """
    texts = argument if isinstance(argument, list) else [argument]
    if len(texts) == 1 and isinstance(texts[0], str):
        return texts[0]
    return json.dumps(argument, ensure_ascii=False)


def _object_in(logged: Any) -> dict[str, Any]:
    """The object that a part of a line holds; an empty one where it holds none."""
    return as_mapping(_value_in(logged))


def _arguments_in(logged: dict[str, Any]) -> dict[str, Any]:
    """The arguments of each request, decoded; none where one of them cannot be."""
    try:
        return {name: _request_in(request) for name, request in logged.items()}
    except (ValueError, RecursionError):
        return {}


def _request_in(logged: Any) -> Any:
    """A request with its arguments decoded, where it has some by their names."""
    if not isinstance(logged, dict):
        return logged
    return {name: _decoded(argument) for name, argument in logged.items()}


@lru_cache(maxsize=64)
def generation_in(logged: bytes) -> Mapping[str, Any]:
    """Decodes generation arguments as they were logged, which most rows of a task share."""
    return MappingProxyType(_object_in(msgspec.Raw(logged)))


def row_id(doc: Mapping[str, Any], doc_hash: str, doc_id: int) -> tuple[str, str]:
    """The identity of a row and the column it came from: an id column, `doc_hash` or `doc_id`."""
    for column in ID_COLUMNS:
        value = doc.get(column)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            return str(value), column
    return (doc_hash, "doc_hash") if doc_hash else (str(doc_id), "doc_id")


def why_undecodable(raw: bytes) -> str:
    """Returns why a line that `loads` refuses is not JSON."""
    if is_deep(raw):
        return "nested too deeply"
    return "not JSON" if raw.rstrip().endswith(b"}") else "cut off"


def parse(raw: bytes, line: int = 0) -> Sample | Damage:
    """Turns one line into a `Sample`, or tells why it cannot be used."""
    if is_deep(raw):
        return Damage(line, "nested too deeply")
    try:
        value = loads(raw)
    except (ValueError, RecursionError):
        return Damage(line, why_undecodable(raw))
    if not isinstance(value, dict):
        return Damage(line, f"not an object but {type(value).__name__}")
    if not isinstance(value.get("filter", "none"), str):
        return Damage(line, "`filter` is not a name; a metric of that name has overwritten it")
    if value.get("doc") is None:
        return Damage(line, "no `doc`")
    return _sample_of(value, line)


def _sample_of(value: Mapping[str, Any], line: int) -> Sample:
    """The sample of a line; parts of other types than lm-eval's count as absent."""
    doc = value["doc"]
    if not isinstance(doc, dict):
        doc = {"doc": doc}  # tasks over plain strings exist; the text is then one column
    number = value.get("doc_id")
    doc_id = number if isinstance(number, int) else -1
    arguments = _arguments(value.get("arguments"))
    hashes = _hashes_of(value, doc, arguments)
    return Sample(
        sample_id=row_id(doc, hashes.doc, doc_id)[0],
        doc_id=doc_id,
        logged_doc=doc,
        target=str(value.get("target", "")),
        logged_arguments=arguments,
        resps=_list_or_empty(value.get("resps")),
        filtered_resps=_list_or_empty(value.get("filtered_resps")),
        filter=value.get("filter", "none"),
        metrics=_metrics_of(value),
        hashes=hashes,
        line=line,
    )


def _list_or_empty(value: Any) -> list[Any]:
    return as_written(value) if isinstance(value, list) else []


def as_written(value: Any, level: int = 0) -> Any:
    """Returns replies with every number as text, the form in which lm-eval writes them.

    What lies in more than `MAX_DEPTH` levels is no reply, and becomes an empty text.

    >>> as_written([[-1.5, False], ["-1.5", "False"]])
    [['-1.5', 'False'], ['-1.5', 'False']]
    """
    if isinstance(value, list):
        if level >= MAX_DEPTH:
            return ""
        return [item if type(item) is str else as_written(item, level + 1) for item in value]
    return str(value) if isinstance(value, (bool, int, float)) else value


def _metrics_of(value: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics that a line names; else all its keys that are not lm-eval's own."""
    listed = value.get("metrics")
    names = listed if isinstance(listed, list) else value
    return {
        name: value.get(name) for name in names if isinstance(name, str) and name not in RESERVED
    }


def _hashes_of(
    value: Mapping[str, Any], doc: dict[str, Any], arguments: Mapping[str, Any]
) -> Hashes:
    """The digests of a line; those that lm-eval did not log before May 2024 are made as it does."""
    logged = (value.get(name) for name in HASHES)
    of_doc, of_prompt, of_target = (each if isinstance(each, str) else None for each in logged)
    if of_doc is None:
        of_doc = document_hash(doc) if doc else ""
    if of_prompt is None:
        prompt = as_mapping(arguments.get("gen_args_0")).get("arg_0")
        of_prompt = text_hash(prompt) if isinstance(prompt, str) else ""
    return Hashes(of_doc, of_prompt, of_target or "")


def _arguments(value: Any) -> dict[str, Any]:
    """Arguments of the requests, as mappings of named ones.

    Before June 2024 lm-eval wrote a list of lists.
    """
    if isinstance(value, dict):
        return value
    if not isinstance(value, list):
        return {}
    each = [request if isinstance(request, list) else [request] for request in value]
    return {
        f"gen_args_{at}": {f"arg_{place}": argument for place, argument in enumerate(request)}
        for at, request in enumerate(each)
    }


def reply_texts(resps: list[Any]) -> list[str]:
    """Every reply that is a text, over all requests and repeats; none of a likelihood."""
    nested = (request if isinstance(request, list) else [request] for request in resps)
    return [reply for reply in chain.from_iterable(nested) if isinstance(reply, str)]


def is_blank(resps: list[Any]) -> int:
    """1 where every reply is blank, 0 where one is not, `UNKNOWN` where replies are no texts."""
    texts = reply_texts(resps)
    return UNKNOWN if not texts else int(not any(text.strip() for text in texts))


_VERDICTS = {"true": 1, "false": 0, "1": 1, "0": 0, "1.0": 1, "0.0": 0}


def verdict_of(value: Any) -> int:
    """A published verdict as 1 or 0.

    `UNKNOWN` for none, `UNREADABLE` for what is neither true nor false.

    >>> [verdict_of(one) for one in (True, "False", 1.0, None, float("nan"), "maybe", 2)]
    [1, 0, 1, -1, -2, -2, -2]
    """
    if value is None:
        return UNKNOWN
    if isinstance(value, (str, int, float)):
        return _VERDICTS.get(str(value).strip().lower(), UNREADABLE)
    return UNREADABLE


def number_of(value: Any, metric: str = "") -> tuple[float, int]:
    """Returns a metric value as (number, weight).

    A list of numbers counts as its mean with its length as weight.

    An infinite value is (nan, 1): no mean, difference or verdict could be drawn from it. Anything
    else, None included, is (nan, 0), as is what lm-eval logs per row for a metric of
    `OVER_ALL_ROWS`.

    >>> number_of([True, False, True, True]), number_of([0, 1], "f1"), number_of(math.inf)
    ((0.75, 4), (nan, 0), (nan, 1))
    """
    if metric == "perplexity" or (metric in OVER_ALL_ROWS and isinstance(value, list)):
        return math.nan, 0
    try:
        if isinstance(value, (bool, int, float)):
            return _finite_or_nan(float(value)), 1
        if (
            isinstance(value, list)
            and value
            and all(isinstance(item, (bool, int, float)) for item in value)
        ):
            return _finite_or_nan(float(sum(value)) / len(value)), len(value)
    except OverflowError:  # an integer beyond the range of a float
        pass
    return math.nan, 0


def pair_of(value: Any, metric: str) -> tuple[float, float] | None:
    """Returns the two numbers of a row; None where it holds no pair.

    `perplexity` logs the log-likelihood alone, of one unit.

    >>> pair_of([-12.5, 4], "word_perplexity"), pair_of(-3.5, "perplexity"), pair_of([1], "f1")
    ((-12.5, 4.0), (-3.5, 1.0), None)
    """
    if metric == "perplexity" and isinstance(value, (int, float)):
        return float(value), 1.0
    if not isinstance(value, list) or len(value) != 2:
        return None
    first, second = value
    if not isinstance(first, (int, float)) or not isinstance(second, (int, float)):
        return None
    try:
        return float(first), float(second)
    except OverflowError:  # an integer beyond the range of a float
        return None


def _finite_or_nan(value: float) -> float:
    return value if math.isfinite(value) else math.nan
