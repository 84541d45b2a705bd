"""EP6: the prompts as the model gets them: begin-of-text, length, chat markup, stop strings."""

from __future__ import annotations

import re
from collections.abc import Mapping

from evalprep.check.data import listed
from evalprep.check.finding import Findings
from evalprep.check.generation import reply_length, stop_strings
from evalprep.check.loading import LoadedTask
from evalprep.check.replies import gold_texts, published_reply
from evalprep.check.scorer import Scorer
from evalprep.check.scoring import CREDIT
from evalprep.check.settings import RunSettings
from evalprep.model.tokenizer import Tokenizer

# Turn markers of common chat formats, each a single special token in the vocabulary of its own family.
MARKUP = re.compile(
    r"<\|(?:start_header_id|end_header_id|eot_id|im_start|im_end|begin_of_text|start_of_role|user|assistant|system|turn_end"
    r"|header_start|header_end|eot)\|>|<(?:start|end)_of_turn>"
)
#: A chat prompt that ends in the opening of the model's turn.
_TURN_OPENED = re.compile(rf"(?:{MARKUP.pattern})(?:assistant|model)?\Z")
_TWO_BREAKS = ("<|end_header_id|>", "<|header_end|>")  # what Llama 3 and 4 write between header and text
_SPECIAL_LOOK = re.compile(r"<\|[^|<>]+\|>|<(?:start|end)_of_turn>|</s>")
LONGEST = 3
_LEAVE_PLAIN = (
    "leave it so to compare with others who ask this way; apply_chat_template: true asks the model as a chat does, and "
    "its scores are other ones"
)
TOLERANCE = 2  # a published reply that was cut at the same budget may take a token or two more when it is read again


def check_prompts(loaded: LoadedTask, settings: RunSettings, tokenizer: Tokenizer | None, findings: Findings) -> None:
    """Everything about the prompts of one task; what needs the tokenizer only when it is there."""
    if not loaded.instances:
        return
    _check_markup(loaded, settings, tokenizer, findings)
    if tokenizer is not None:
        _check_begin(loaded, settings, tokenizer, findings)
        _check_length(loaded, settings, tokenizer, findings)
        _check_budget(loaded, settings, tokenizer, findings)


def _raw_prompts(loaded: LoadedTask) -> dict[int, str]:
    """Prompts before any chat template."""
    found = {}
    for number, requests in loaded.instances.items():
        try:
            text = loaded.task.doc_to_text(requests[0].doc)
        except Exception:  # noqa: BLE001, S112 - reported where requests are built
            continue
        if isinstance(text, str):
            found[number] = text
    return found


def _check_markup(loaded: LoadedTask, settings: RunSettings, tokenizer: Tokenizer | None, findings: Findings) -> None:
    where, task = loaded.leaf.where("doc_to_text"), loaded.name
    own = (tokenizer.special - {tokenizer.eos, ""}) if tokenizer is not None else frozenset()
    marked, foreign = [], {}
    for number, text in _raw_prompts(loaded).items():
        found = set(MARKUP.findall(text))
        if found or any(token in text for token in own):
            marked.append(loaded.row_name(number))
        if tokenizer is not None and (unknown := sorted(one for one in found if not tokenizer.knows(one))):
            foreign[loaded.row_name(number)] = unknown
    if settings.apply_chat_template and marked:
        findings.add("EP606", where, f"{task}: chat markup in {listed(marked, len(marked))}", task=task)
    if foreign:
        tokens = sorted({token for found in foreign.values() for token in found})
        findings.add("EP608", where, f"{task}: {', '.join(tokens)} in {listed(foreign, len(foreign))}", task=task)
    if (
        tokenizer is not None
        and tokenizer.chat_template
        and not marked
        and not settings.apply_chat_template
        and settings.core.apply_chat_template is not False  # asked for as it is
        and loaded.generates
    ):
        said, fix = f"{task}: plain prompts", ""
        if loaded.leaf.metadata.get("pack"):
            said, fix = f"{said}, as its pack asks", _LEAVE_PLAIN
        findings.add("EP607", where, said, task=task, fix=fix)


def leading_bos(ids: list[int], tokenizer: Tokenizer) -> int:
    """Begin-of-text tokens at the start of a prompt; white space between them does not end the start."""
    count = 0
    for one in ids[:8]:
        if one == tokenizer.bos_id:
            count += 1
        elif tokenizer.encoder.decode([one], skip_special_tokens=False).strip():
            break
    return count


def _check_begin(loaded: LoadedTask, settings: RunSettings, tokenizer: Tokenizer, findings: Findings) -> None:
    if tokenizer.bos_id is None:
        return
    double, none = [], []
    for number in loaded.instances:
        prompt = loaded.prompt(number)
        head = tokenizer.encode(prompt[:200], add_bos_token=settings.add_bos_token, backend=settings.backend)
        count = leading_bos(head, tokenizer)
        if count > 1:
            double.append(loaded.row_name(number))
        elif count == 0 and prompt:
            none.append(loaded.row_name(number))
    where, task = loaded.leaf.where("doc_to_text"), loaded.name
    if double:
        findings.add(
            "EP602",
            where,
            f"{task}: {tokenizer.bos} more than once at the start of {listed(double, len(double))}",
            task=task,
        )
    if none and tokenizer.bos_id in tokenizer.own_prefix and loaded.name not in settings.bos_tasks:
        findings.add("EP603", where, f"{task}: no {tokenizer.bos} in {listed(none, len(none))}", task=task)


def _check_length(loaded: LoadedTask, settings: RunSettings, tokenizer: Tokenizer, findings: Findings) -> None:
    context = settings.max_model_len
    if context is None:
        return
    texts, room = {}, {}
    for number, requests in loaded.instances.items():
        arguments = requests[0].args
        if requests[0].request_type == "generate_until":
            kwargs = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], dict) else {}
            texts[number], room[number] = arguments[0], context - reply_length(kwargs, settings.reply_length)
        elif requests[0].request_type == "loglikelihood":
            texts[number] = max((f"{request.args[0]}{request.args[1]}" for request in requests), key=len)
            room[number] = context - 1
    # A token is at least one byte, so that most prompts need no counting.
    suspects = [
        number for number, text in texts.items() if isinstance(text, str) and len(text.encode()) + 2 > room[number] > 0
    ]
    if not suspects:
        return
    counts = tokenizer.lengths(
        [texts[number] for number in suspects], add_bos_token=settings.add_bos_token, backend=settings.backend
    )
    over = sorted(
        ((count, number) for count, number in zip(counts, suspects, strict=True) if count > room[number]), reverse=True
    )
    if over:
        longest = ", ".join(f"{loaded.row_name(number)} ({count} tokens)" for count, number in over[:LONGEST])
        reply = context - room[over[0][1]]
        findings.add(
            "EP604",
            loaded.leaf.where("generation_kwargs"),
            f"{loaded.name}: {len(over)} of {len(texts)} prompts and {reply} "
            f"tokens for the reply are more than max_model_len {context}; longest: {longest}",
            task=loaded.name,
        )


def _check_budget(loaded: LoadedTask, settings: RunSettings, tokenizer: Tokenizer, findings: Findings) -> None:
    """Right replies that max_gen_toks would cut: the gold answer where replies are compared with it, published ones."""
    compared = loaded.leaf.config.get("process_results") is None
    replies, budget = {}, {}
    for number, requests in loaded.instances.items():
        arguments, doc = requests[0].args, requests[0].doc
        if requests[0].request_type != "generate_until" or not isinstance(doc, Mapping):
            continue
        kwargs = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], dict) else {}
        limit = reply_length(kwargs, settings.reply_length)
        golds = gold_texts(loaded.task, doc) if compared else []
        published = published_reply(doc)
        texts = [min(golds, key=len)] if golds else []
        texts += [published[0]] if published is not None and published[1] else []
        longest = max(texts, key=len, default="")
        if len(longest.encode()) > limit:  # a token is at least one byte
            replies[number], budget[number] = longest, limit
    counts = tokenizer.lengths(list(replies.values()), add_bos_token=False) if replies else []
    over = [
        (count, number) for count, number in zip(counts, replies, strict=True) if count > budget[number] + TOLERANCE
    ]
    if over:
        longest_count, worst = max(over)
        findings.add(
            "EP613",
            loaded.leaf.where("generation_kwargs"),
            f"{loaded.name}: {len(over)} of {len(loaded.instances)} rows; longest: {loaded.row_name(worst)} "
            f"({longest_count} tokens, max_gen_toks {budget[worst]})",
            task=loaded.name,
        )


def check_stops(loaded: LoadedTask, tokenizer: Tokenizer | None, scorer: Scorer | None, findings: Findings) -> None:
    """Stop strings that never act, that white space triggers, and that cut right replies."""
    if not loaded.instances or loaded.leaf.output_type != "generate_until":
        return
    where, task = loaded.leaf.where("generation_kwargs"), loaded.name
    first = next(iter(loaded.instances.values()))[0].args
    stops = stop_strings(first[1]) if len(first) > 1 and isinstance(first[1], dict) else []
    for stop in stops:
        shorter = next((other for other in stops if other != stop and other in stop), None)
        if shorter is not None:
            findings.add(
                "EP609", where, f"{task}: {stop!r} holds the stop string {shorter!r}, which acts first", task=task
            )
        elif tokenizer is not None and _SPECIAL_LOOK.fullmatch(stop) and not tokenizer.knows(stop):
            findings.add("EP609", where, f"{task}: {stop!r} is no token of this model", task=task)
        if not stop.strip() and any(_begins_reply(stop, loaded.prompt(one)) for one in list(loaded.instances)[:20]):
            findings.add("EP611", where, f"{task}: {stop!r}, and the prompts end with a turn marker", task=task)
    if stops and loaded.generates:
        cut = [loaded.row_name(number) for number in loaded.instances if _is_cut(loaded, number, stops, scorer)]
        if cut:
            findings.add("EP610", where, f"{task}: {listed(cut, len(cut))}", task=task)


def _begins_reply(stop: str, prompt: str) -> bool:
    r"""Whether a chat prompt leaves it to the model to write the template's white space, and that holds this string.

    >>> [_begins_reply(stop, "<|im_start|>assistant") for stop in ("\n", "\n\n")]
    [True, False]
    """
    if _TURN_OPENED.search(prompt) is None:
        return False
    # Templates write one line break there; models without one may still begin with a blank.
    return len(stop) == 1 or (stop == "\n\n" and prompt.endswith(_TWO_BREAKS))


def _is_cut(loaded: LoadedTask, number: int, stops: list[str], scorer: Scorer | None) -> bool:
    """Whether a stop string lies in the gold answer, or takes the credit from a published right reply."""
    doc = loaded.instances[number][0].doc
    if any(stop in gold for gold in gold_texts(loaded.task, doc) for stop in stops):
        return True
    published = published_reply(doc) if isinstance(doc, Mapping) else None
    if scorer is None or published is None or not published[1]:
        return False
    text = published[0]
    short = min((text.partition(stop)[0] for stop in stops), key=len)
    if short == text:
        return False
    try:
        whole, part = (
            scorer.score(number, [one], "published").value(scorer.metric, scorer.filter) for one in (text, short)
        )
    except Exception:  # noqa: BLE001 - reported where replies are scored
        return False
    return (whole or 0.0) >= CREDIT > (part or 0.0)
