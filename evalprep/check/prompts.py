"""EP6: the prompts as the model gets them: begin-of-text, length, chat markup, stop strings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from custom_metrics.patterns import any_of
from evalprep.check.bound import TimeBoundError, cpu_bound
from evalprep.check.data import BATCH_ROWS, LISTED, listed
from evalprep.check.finding import Findings
from evalprep.check.generation import arguments_of, reply_limit, stop_strings
from evalprep.check.loading import LoadedTask
from evalprep.check.replies import gold_texts, published_reply
from evalprep.check.requests import BUILDING_SECONDS, are_choices_odd
from evalprep.check.sample import TaskRows
from evalprep.check.scorer import Scorer
from evalprep.check.scoring import CREDIT
from evalprep.check.settings import RunSettings
from evalprep.check.silence import quiet
from evalprep.model import Tokenizer

_TOKEN = any_of(
    "start_header_id end_header_id eot_id im_start im_end begin_of_text start_of_role",
    "user assistant system turn_end header_start header_end eot",
)
# Turn markers of common chat formats, each a single special token in the vocabulary of its own
# family.
MARKUP = re.compile(rf"<\|{_TOKEN}\|>|<(?:start|end)_of_turn>")
#: A chat prompt that ends in the opening of the model's turn.
_TURN_OPENED = re.compile(rf"(?:{MARKUP.pattern})(?:assistant|model)?\Z")
# Behind these Llama 3 and 4 write two line breaks, between header and text.
_TWO_BREAKS = ("<|end_header_id|>", "<|header_end|>")
_SPECIAL_LOOK = re.compile(r"<\|[^|<>]+\|>|<(?:start|end)_of_turn>|</s>")
LONGEST = 3
#: Characters at the start of a prompt in which begin-of-text tokens are looked for, and how many
#: such starts are remembered.
HEAD, MOST_HEADS = 40, 100_000
_ORDINARY = "A"
#: Marks a finding on plain prompts that a pack asks for.
ASKED_BY_PACK = "as its pack asks"
_LEAVE_PLAIN = (
    "leave it so to compare with others who ask this way; apply_chat_template: true asks the "
    "model as a chat does, which gives other scores"
)
# A published reply that was cut at the same budget may take a token or two more when it is read
# again.
TOLERANCE = 2


class UnlikeSampleError(Exception):
    """A row outside the sample may have something that a look at the sample cannot tell."""


def check_prompts(
    loaded: LoadedTask, settings: RunSettings, tokenizer: Tokenizer | None, findings: Findings
) -> None:
    """Everything about the prompts of one task; what needs the tokenizer only when it is there.

    Raises:
        UnlikeSampleError: the requests of every row must be built to tell.
    """
    if not loaded.instances:
        return
    scan = _Scan(loaded, settings, tokenizer)
    for batch in _batches(loaded, settings):
        scan.add(batch)
    scan.report(findings)
    if tokenizer is not None:
        _check_budget(loaded, settings, tokenizer, findings)


@dataclass(frozen=True)
class _Batch:
    """Some rows of a task.

    Attributes:
        names: How messages call them.
        raw: Their prompts before any chat template; None where a row has no text.
        sent: The text that the first request of each sends.
        longest: The longest text that is sent for each; None for requests of another kind.
        rooms: The tokens that there are for that text; None where the context is not known.
    """

    names: list[str]
    raw: Sequence[str | None]
    sent: list[str]
    longest: Sequence[str | None]
    rooms: list[int | None]


def _batches(loaded: LoadedTask, settings: RunSettings) -> Iterator[_Batch]:
    """All rows of a task: those that were built, or the whole file where they are a sample."""
    if loaded.rows is None or not loaded.rows.is_sample:
        numbers = list(loaded.instances)
        for begin in range(0, len(numbers), BATCH_ROWS):
            part = numbers[begin : begin + BATCH_ROWS]
            rows = [loaded.instances[number] for number in part]
            yield _Batch(
                names=[loaded.row_name(number) for number in part],
                raw=[_raw_prompt(loaded, requests[0].doc) for requests in rows],
                sent=[loaded.prompt(number) for number in part],
                longest=[_longest_text(requests) for requests in rows],
                rooms=[_room(requests[0], settings) for requests in rows],
            )
        return
    first = next(iter(loaded.instances.values()))[0]
    room = _room(first, settings)
    if loaded.rows.rendered:
        yield from _rendered(loaded, loaded.rows, room)
        return
    for names, prompts in loaded.rows.prompts():
        rooms = [room] * len(names)
        yield _Batch(names, raw=prompts, sent=prompts, longest=prompts, rooms=rooms)


def _rendered(loaded: LoadedTask, rows: TaskRows, room: int | None) -> Iterator[_Batch]:
    """All rows of a task by the templates of its prompt, its choices and its gold answer.

    Raises:
        UnlikeSampleError: a template fails, a prompt is empty or no text, a question is repeated,
            or something is wrong with choices.
    """
    # What is sent must be the texts of the template, and not all of them one.
    texts = [_raw_prompt(loaded, requests[0].doc) for requests in loaded.instances.values()]
    sent = list(map(loaded.prompt, loaded.instances))
    if loaded.own or sent != texts or len(set(texts)) == 1:
        raise UnlikeSampleError
    questions: set[int] = set()
    count = 0
    for names, docs in rows.docs():
        with quiet():
            try:
                with cpu_bound(BUILDING_SECONDS):
                    prompts = [loaded.task.doc_to_text(doc) for doc in docs]
                    targets = [loaded.task.doc_to_target(doc) for doc in docs]
                    longest = _with_choices(loaded, docs, prompts)
            except (TimeBoundError, Exception) as error:
                raise UnlikeSampleError from error
        are_texts = all(isinstance(text, str) and text.strip() for text in prompts)
        kinds = {isinstance(target, list) for target in targets}
        if not are_texts or len(kinds) > 1:
            raise UnlikeSampleError
        asked = zip(longest, map(str, targets), strict=True)
        questions.update(map(hash, asked))
        count += len(names)
        if len(questions) < count:
            raise UnlikeSampleError
        rooms = [room] * len(names)
        yield _Batch(names, raw=prompts, sent=prompts, longest=longest, rooms=rooms)


def _with_choices(
    loaded: LoadedTask, docs: Sequence[dict[str, Any]], prompts: Sequence[str]
) -> list[str]:
    """The longest text that is sent for each row.

    Raises:
        UnlikeSampleError: something is wrong with choices.
    """
    if loaded.leaf.output_type != "multiple_choice":
        return list(prompts)
    metadata = (loaded.name, 0, 1)
    instances = {
        number: loaded.task.construct_requests(doc=doc, ctx=prompt, metadata=metadata)
        for number, (doc, prompt) in enumerate(zip(docs, prompts, strict=True))
    }
    part = replace(loaded, instances=instances, rows=None)
    if are_choices_odd(part):
        raise UnlikeSampleError
    return [_longest_text(requests) or "" for requests in instances.values()]


def _raw_prompt(loaded: LoadedTask, doc: Any) -> str | None:
    """The prompt of a row before any chat template; None where it has no text."""
    try:
        text = loaded.task.doc_to_text(doc)
    except Exception:  # noqa: BLE001 - reported where requests are built
        return None
    return text if isinstance(text, str) else None


def _longest_text(requests: Sequence[Any]) -> str | None:
    """The longest text that is sent for a row; None for requests of another kind."""
    kind = requests[0].request_type
    if kind == "generate_until":
        text = requests[0].args[0]
        return text if isinstance(text, str) else None
    if kind == "loglikelihood":
        texts = (f"{request.args[0]}{request.args[1]}" for request in requests)
        return max(texts, key=len)
    return None


def _room(request: Any, settings: RunSettings) -> int | None:
    """Tokens of the context for the text of a request; None where its length is not known."""
    context = settings.max_model_len
    if context is None:
        return None
    if request.request_type != "generate_until":
        return context - 1
    return context - reply_limit(request, settings)


class _Rows:
    """Counts rows, and keeps the names of the first."""

    def __init__(self) -> None:
        self.count = 0
        self.names: list[str] = []

    def add(self, name: str) -> None:
        """Counts a row."""
        self.count += 1
        if self.count <= LISTED:
            self.names.append(name)

    def __str__(self) -> str:
        return listed(self.names, count=self.count)


class _LongPrompt(NamedTuple):
    """A prompt that leaves no place for the reply: its row, its tokens, and those allowed."""

    name: str
    tokens: int
    room: int

    @property
    def excess(self) -> int:
        """The tokens by which prompt and reply exceed the context."""
        return self.tokens - self.room


class _Scan:
    """Collects what is wrong with the prompts of one task, a batch of rows at a time."""

    def __init__(
        self, loaded: LoadedTask, settings: RunSettings, tokenizer: Tokenizer | None
    ) -> None:
        self._loaded = loaded
        self._settings = settings
        self._tokenizer = tokenizer
        # Rows with chat markup, with markup that is not a token of this model, with several
        # begin-of-text tokens, and with none.
        self._marked = _Rows()
        self._foreign = _Rows()
        self._double = _Rows()
        self._none = _Rows()
        self._unknown: set[str] = set()
        self._starts: dict[str, int] = {}
        self._texts = self._over = 0
        # The lengths that the replies to prompts that are too long may have.
        self._replies: set[int] = set()
        self._longest: list[_LongPrompt] = []

    def add(self, batch: _Batch) -> None:
        """Look at some rows."""
        texts = list(filter(None, batch.raw))
        if _has_markup("\n".join(texts), self._tokenizer):  # else no row has any
            for name, text in zip(batch.names, batch.raw, strict=True):
                if text is not None:
                    self._look_for_markup(name, text)
        if self._tokenizer is not None:
            self._look_at_begin(batch, self._tokenizer)
            self._look_at_length(batch, self._tokenizer)

    def report(self, findings: Findings) -> None:
        """Turn what was collected into findings."""
        loaded = self._loaded

        def report(code: str, what: str, key: str = "doc_to_text") -> None:
            loaded.report(findings, code, key, what)

        if self._settings.apply_chat_template and self._marked.count:
            report("EP606", f"chat markup in {self._marked}")
        tokenizer = self._tokenizer
        if tokenizer is None:
            return
        if self._foreign.count:
            marks = ", ".join(sorted(self._unknown))
            report("EP608", f"{marks} in {self._foreign}")
        # Plain prompts for a model with a chat template, unless the config asks for them.
        settings = self._settings
        is_open = settings.core.apply_chat_template is not False and loaded.generates
        is_plain = not self._marked.count and not settings.apply_chat_template
        if tokenizer.chat_template and is_plain and is_open:
            what, fix = "plain prompts", ""
            if loaded.leaf.metadata.get("pack"):
                what, fix = f"{what}, {ASKED_BY_PACK}", _LEAVE_PLAIN
            loaded.report(findings, "EP607", "doc_to_text", what, fix=fix)
        bos = tokenizer.bos
        if self._double.count:
            what = f"{bos} more than once at the start of {self._double}"
            report("EP602", what)
        lacks_bos = self._none.count and tokenizer.bos_id in tokenizer.own_prefix
        if lacks_bos and loaded.name not in self._settings.bos_tasks:
            report("EP603", f"no {bos} in {self._none}")
        if self._over:
            # How many prompts are too long, and those that exceed the context by most.
            longest = ", ".join(map(self._sizes, self._longest))
            shortest, most = min(self._replies), max(self._replies)
            reply = str(most) if shortest == most else f"{shortest} to {most}"
            sizes = f"{self._over} of {self._texts} prompts and {reply} tokens for the reply"
            what = f"{sizes} are more than max_model_len {self._context}; longest: {longest}"
            report("EP604", what, "generation_kwargs")

    def _look_for_markup(self, name: str, text: str) -> None:
        """Marks of a chat in a prompt, and those among them that are no tokens of this model."""
        tokenizer = self._tokenizer
        if _has_markup(text, tokenizer):
            self._marked.add(name)
        if tokenizer is None or "<" not in text:
            return
        marks = set(MARKUP.findall(text))
        unknown = {mark for mark in marks if not tokenizer.knows(mark)}
        if unknown:
            self._foreign.add(name)
            self._unknown |= unknown

    def _look_at_begin(self, batch: _Batch, tokenizer: Tokenizer) -> None:
        """Counts begin-of-text tokens at the start of each prompt."""
        if tokenizer.bos_id is None:
            return
        length = max(HEAD, 3 * len(tokenizer.bos))
        # Where a text does not spell the token, it alone decides nothing: one stands for all.
        heads = [
            head if tokenizer.bos in head or not head.strip() else _ORDINARY
            for head in (text[:length] for text in batch.sent)
        ]
        # Note the begin-of-text tokens of each start; of equal starts one is encoded.
        if len(self._starts) > MOST_HEADS:
            self._starts.clear()
        fresh = [head for head in dict.fromkeys(heads) if head not in self._starts]
        encoded = tokenizer.encode_all(fresh, **self._settings.encoding)
        for head, ids in zip(fresh, encoded, strict=True):
            self._starts[head] = leading_bos(ids, tokenizer)
        for name, head in zip(batch.names, heads, strict=True):
            count = self._starts[head]
            if count > 1:
                self._double.add(name)
            elif count == 0 and head:
                self._none.add(name)

    def _look_at_length(self, batch: _Batch, tokenizer: Tokenizer) -> None:
        """Prompts that leave no place for the reply."""
        suspects: list[tuple[str, int]] = []
        texts: list[str] = []
        for name, text, room in zip(batch.names, batch.longest, batch.rooms, strict=True):
            if text is None or room is None:
                continue
            self._texts += 1
            # A token is at least one byte, so that most prompts need no counting.
            most_tokens = len(text.encode(errors="replace")) + 2
            if most_tokens > room > 0:
                suspects.append((name, room))
                texts.append(text)
        counts = tokenizer.lengths(texts, **self._settings.encoding)
        for (name, room), count in zip(suspects, counts, strict=True):
            if count > room:
                self._over += 1
                self._replies.add(self._context - room)
                self._longest.append(_LongPrompt(name, count, room))
        self._longest.sort(key=lambda prompt: prompt.excess, reverse=True)
        del self._longest[LONGEST:]

    @property
    def _context(self) -> int:
        return self._settings.max_model_len or 0

    def _sizes(self, prompt: _LongPrompt) -> str:
        """A row and its tokens; with those of the reply where they are not the same for all."""
        if len(self._replies) == 1:
            return f"{prompt.name} ({prompt.tokens} tokens)"
        reply = self._context - prompt.room
        return f"{prompt.name} ({prompt.tokens} tokens and {reply} for the reply)"


def _has_markup(text: str, tokenizer: Tokenizer | None) -> bool:
    """Returns whether a prompt holds marks of a chat.

    They are those of common formats, or special tokens of this model.
    """
    if MARKUP.search(text):
        return True
    if tokenizer is None:
        return False
    own_marks = tokenizer.special - {tokenizer.eos, ""}
    return any(mark in text for mark in own_marks)


def leading_bos(ids: list[int], tokenizer: Tokenizer) -> int:
    """Begin-of-text tokens at the start of a prompt.

    White space between them does not end the start.
    """
    count = 0
    for token in ids[:8]:
        if token == tokenizer.bos_id:
            count += 1
            continue
        text = tokenizer.encoder.decode([token], skip_special_tokens=False)
        if text.strip():
            break
    return count


def _published_right(doc: Mapping[str, Any]) -> str | None:
    """The published reply of a row; None where there is none, or where it is wrong."""
    published = published_reply(doc)
    if published is None:
        return None
    reply, is_right = published
    return reply if is_right else None


def _check_budget(
    loaded: LoadedTask, settings: RunSettings, tokenizer: Tokenizer, findings: Findings
) -> None:
    """Right replies that max_gen_toks would cut."""
    replies: dict[int, str] = {}
    budget: dict[int, int] = {}
    for number, requests in loaded.instances.items():
        request = requests[0]
        doc = request.doc
        if request.request_type != "generate_until" or not isinstance(doc, Mapping):
            continue
        limit = reply_limit(request, settings)
        # The longest reply of a row that is known to be right; empty where none is known. Known
        # are the gold answer, where replies are compared with it, and a right published reply.
        texts = []
        is_compared = loaded.leaf.config.get("process_results") is None
        golds = gold_texts(loaded.task, doc) if is_compared else []
        if golds:
            texts.append(min(golds, key=len))
        published = _published_right(doc)
        if published is not None:
            texts.append(published)
        reply = max(texts, key=len, default="")
        if len(reply.encode()) > limit:  # a token is at least one byte
            replies[number], budget[number] = reply, limit
    if not replies:
        return
    counts = tokenizer.lengths(list(replies.values()), add_bos_token=False)
    over = []
    for number, count in zip(replies, counts, strict=True):
        if count > budget[number] + TOLERANCE:
            over.append((count, number))
    if over:
        count, worst = max(over)
        share = f"{len(over)} of {len(loaded.instances)} rows"
        row = loaded.row_name(worst)
        longest = f"{row} ({count} tokens, max_gen_toks {budget[worst]})"
        what = f"{share}; longest: {longest}"
        loaded.report(findings, "EP613", "generation_kwargs", what)


def check_stops(
    loaded: LoadedTask, tokenizer: Tokenizer | None, scorer: Scorer | None, findings: Findings
) -> None:
    """Stop strings that never act, that white space triggers, and that cut right replies."""
    if not loaded.instances or loaded.leaf.output_type != "generate_until":
        return
    first = next(iter(loaded.instances.values()))[0]
    stops = stop_strings(arguments_of(first))
    for stop in stops:
        # One stop string that never acts, or that the first blank of a reply triggers.
        reason = _never_acts(stop, stops, tokenizer)
        if reason:
            loaded.report(findings, "EP609", "generation_kwargs", f"{stop!r} {reason}")
        if stop.strip():
            continue
        first_rows = list(loaded.instances)[:20]
        prompts = [loaded.prompt(number) for number in first_rows]
        if any(_begins_reply(stop, prompt) for prompt in prompts):
            what = f"{stop!r}, and the prompts end with a turn marker"
            loaded.report(findings, "EP611", "generation_kwargs", what)
    if not stops or not loaded.generates:
        return
    cut = [number for number in loaded.instances if _is_cut(loaded, number, stops, scorer)]
    if cut:
        names = [loaded.row_name(number) for number in cut]
        loaded.report(findings, "EP610", "generation_kwargs", listed(names))


def _never_acts(stop: str, stops: list[str], tokenizer: Tokenizer | None) -> str:
    """Returns why a stop string has no effect, to stand behind it; empty where it has one."""
    for other in stops:
        if other != stop and other in stop:
            return f"holds the stop string {other!r}, which acts first"
    if tokenizer is None or not _SPECIAL_LOOK.fullmatch(stop):
        return ""
    return "" if tokenizer.knows(stop) else "is not a token of this model"


def _begins_reply(stop: str, prompt: str) -> bool:
    r"""Returns whether replies to a chat prompt begin with a stop string.

    They do where the model writes the template's white space, and that holds the string.

    >>> [_begins_reply(stop, "<|im_start|>assistant") for stop in ("\n", "\n\n")]
    [True, False]
    """
    if _TURN_OPENED.search(prompt) is None:
        return False
    # Templates write one line break there; models without one may still begin with a blank.
    if len(stop) == 1:
        return True
    return stop == "\n\n" and prompt.endswith(_TWO_BREAKS)


def _is_cut(loaded: LoadedTask, number: int, stops: list[str], scorer: Scorer | None) -> bool:
    """Returns whether a stop string lies in the gold answer.

    One that takes the credit from a published right reply counts, too.
    """
    doc = loaded.instances[number][0].doc
    golds = "\0".join(gold_texts(loaded.task, doc))
    if any(stop in golds for stop in stops):
        return True
    reply = _published_right(doc) if isinstance(doc, Mapping) else None
    if scorer is None or reply is None:
        return False
    short = min((reply.partition(stop)[0] for stop in stops), key=len)
    try:
        whole = _credit(scorer, number, reply)
        return short != reply and whole >= CREDIT > _credit(scorer, number, short)
    except Exception:  # noqa: BLE001 - reported where replies are scored
        return False


def _credit(scorer: Scorer, number: int, reply: str) -> float:
    """The primary metric of one reply; 0 where the scorer gives none."""
    verdict = scorer.score(number, [reply], "published")
    return verdict.value(scorer.metric, scorer.filter) or 0.0
