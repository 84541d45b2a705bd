"""Facts that a sample's reply itself shows.

They are its text, whether an answer was found in it, and whether it was cut off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evalprep.readers import CallSettings
from evalprep.samples import INVALID, PARSE_RATES, UNKNOWN, Sample, generation_in

if TYPE_CHECKING:
    from evalprep.results.run import Run
    from evalprep.samples import Table

# As the harness ranks them.
_LENGTH_KEYS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
# A budget this small is spent on purpose (one letter, ten tokens); running into it means nothing by
# itself.
_SHORT_BUDGET = 64
_CHARACTERS_PER_TOKEN = 2.5  # low for any text: a reply below this is not at its limit
_SENTENCE_ENDS = frozenset(".!?)]}$\"'`|>*")

#: Share of the answers below which a score that is made of the readable ones says little of the
# model.
LEAST_READ = 0.5
CountTokens = Callable[[str], int]


@cache
def token_counter(model: str) -> CountTokens | None:
    """A token counter from the model's own tokenizer when it lies on this disk, else None."""
    file = Path(model) / "tokenizer.json"
    if not file.is_file():
        return None
    try:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(file))
    except Exception:  # noqa: BLE001
        # Not installed, or a tokenizer of a newer format: estimate instead.
        return None
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def few_read(result: Mapping[str, Any]) -> str:
    """A remark on a score made of the few answers that could be read; empty for any other.

    Args:
        result: The score's; `read` holds how many answers it is made of, and of how many.

    >>> few_read({"agg_value": 1.0, "read": [1, 4]})
    'made of 1 of 4 answers, as nothing could be read from the others'
    >>> few_read({"agg_value": 1.0, "read": [3, 4]})
    ''
    """
    readable, every = result.get("read") or (0, 0)
    if readable >= LEAST_READ * every:
        return ""
    return f"made of {readable} of {every} answers, as nothing could be read from the others"


def has_reply(sample: Sample) -> bool:
    """Returns whether a reply was logged; a log of verdicts alone has none."""
    return sample.response != []


def text_of(sample: Sample) -> str:
    """The reply as one text; empty where none was logged."""
    if not has_reply(sample):
        return ""
    response = sample.response
    return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)


def extraction_failed(sample: Sample) -> bool:
    """Returns whether nothing could be extracted from the reply."""
    is_marked = sample.filtered in (INVALID, [INVALID])
    return is_marked or 1 in map(sample.metrics.get, PARSE_RATES)


def knows_parsing(table: Table) -> bool:
    """Returns whether a task logs at all which replies nothing could be read from.

    Where it does not, their number is not known, and not 0.

    It does where it logs a parse rate of its own, or where the filter extracts something.
    """
    own = any(name in table.metrics for name in PARSE_RATES)
    return own or table.filter != "none" or bool((table.unparsed == 1).any())


def limit_of_reply(sample: Sample, default: int | None = None) -> int | None:
    """Tokens that a reply could have: as the request says, else the back end's default.

    None where neither is known.
    """
    logged = sample.logged_argument("arg_1")
    if isinstance(logged, msgspec.Raw):
        named = _logged_limit(bytes(logged))
    else:
        named = _named_limit(sample.generation)
    return default if named is None else named


@lru_cache(maxsize=64)
def _logged_limit(logged: bytes) -> int | None:
    """That of generation arguments as they were logged, which most rows of a task share."""
    return _named_limit(generation_in(logged))


def _named_limit(generation: Mapping[str, Any]) -> int | None:
    """The limit that generation arguments name; None where they name none."""
    limits = map(generation.get, _LENGTH_KEYS)
    return next((limit for limit in limits if isinstance(limit, int)), None)


def default_limit(settings: CallSettings) -> int | None:
    """The token limit of requests that name none.

    It is `max_gen_toks` of the model, else that of the back end.
    """
    for key in _LENGTH_KEYS:
        if str(settings.arguments.get(key, "")).isdigit():
            return int(settings.arguments[key])
    from evalprep.backends import find_backend

    record = find_backend(settings.backend)
    return None if record is None else record.reply_tokens


def truncated(
    sample: Sample, count: CountTokens | None = None, default: int | None = None
) -> bool | None:
    """Returns whether a reply ended at its token limit; None where that cannot be known.

    The harness logs no finish reason. A task's own metric `truncated` decides where there is one;
    else the token count, where the model's tokenizer is at hand. Without it, a reply of fewer bytes
    than allowed tokens was not cut, JSON that does not close was, and so was a reply of at least
    2.5 characters per allowed token that stops inside a sentence; one that ends a sentence was not.
    What is left is not known.
    """
    return _ended_at(limit_of_reply(sample, default), sample, count)


def _ended_at(limit: int | None, sample: Sample, count: CountTokens | None) -> bool | None:
    """Returns whether a reply ended at this limit of tokens: see `truncated`."""
    own = sample.metrics.get("truncated")
    if own is not None:
        return bool(own == 1)
    text = sample.response
    if not isinstance(text, str):
        return None
    if limit is None:
        return True if _open_json(text) else None
    if limit < _SHORT_BUDGET and not extraction_failed(sample):
        return False
    return _reaches(text, limit, count)


def _reaches(text: str, limit: int, count: CountTokens | None) -> bool | None:
    """Returns whether a reply is as long as its limit of tokens.

    None where that cannot be known.
    """
    if count is not None:
        # Decoding and encoding again may merge a few tokens.
        return bool(count(text) >= limit * 0.98 - 1)
    if len(text) < limit and len(text.encode("utf-8", "replace")) < limit:
        return False  # a token has at least one byte
    if _open_json(text):
        return True
    if text.rstrip()[-1:] in _SENTENCE_ENDS:
        return False
    return True if len(text) >= _CHARACTERS_PER_TOKEN * limit else None


@dataclass(frozen=True)
class Replier:
    """Whoever wrote the replies of a run, as far as that decides whether they were cut off.

    Attributes:
        model: Its name; its tokenizer counts where it lies on this disk.
        settings: Those of the call.
    """

    model: str = ""
    settings: CallSettings = field(default_factory=CallSettings)

    @classmethod
    def of(cls, run: Run) -> Replier:
        """That of a run."""
        return cls(run.model, run.settings)

    @cached_property
    def limit(self) -> int | None:
        """Tokens of a reply whose request names no limit; None where that is not known."""
        return default_limit(self.settings)

    def cut(self, sample: Sample) -> bool | None:
        """Returns whether a reply ended at its limit.

        None where that cannot be known: see `truncated`.
        """
        named = limit_of_reply(sample)
        return _ended_at(self.limit if named is None else named, sample, self._count)

    @cached_property
    def _count(self) -> CountTokens | None:
        return token_counter(self.model) if self.model else None


def _open_json(text: str) -> bool:
    """Returns whether a reply begins as JSON and does not close."""
    start = text.lstrip()
    if not start.startswith(("{", "[")):
        return False
    start = start.rstrip()
    return not start.endswith(("}", "]", "```")) and len(start) > 1


def at_one_length(lengths: Sequence[int], ended: Sequence[int]) -> int:
    """Replies that end inside a sentence at about the same, greatest length.

    A limit that no file names.

    At least five, and a twentieth of all, within a tenth of the longest reply, most replies of that
    length among them.
    """
    longest = max(lengths, default=UNKNOWN)
    if longest < _SHORT_BUDGET:
        return 0
    replies = zip(lengths, ended, strict=True)
    near = [end for length, end in replies if length >= 0.9 * longest]
    cut = near.count(False)
    fewest = max(5, (len(lengths) - lengths.count(UNKNOWN)) / 20)
    return cut if cut >= fewest and cut > len(near) / 2 else 0


def ends_a_sentence(text: str) -> bool:
    """Returns whether a reply ends as a whole one does."""
    last = text.rstrip()[-1:]
    return not last or last in _SENTENCE_ENDS
