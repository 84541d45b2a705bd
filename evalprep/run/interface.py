"""Requests of lm-eval as an engine gets them from a back end, without loading a model."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

from evalprep.backends import CHAT_MODEL, find_backend
from evalprep.errors import BadInput, Problem
from evalprep.model import ChatTemplate, load_tokenizer, model_folder, template_variables
from evalprep.run.rehearsal import chat_template
from evalprep.run.request import Message, Request
from evalprep.status import Job

CHAT_PATH = "/v1/chat/completions"
# Every message as it is: the prompts of raw back ends hold their chat markup already.
VERBATIM_TEMPLATE = "{{ messages[0].content }}"
DEFAULT_REPLY = 256  # lm_eval.defaults.DEFAULT_MAX_GEN_TOKS
# lm-eval's vLLM back end sends these with every generation.
_SHOWN_TOKENS = {"skip_special_tokens": False, "spaces_between_special_tokens": False}
_SCORED = {"temperature": 0.0, "max_tokens": 1, "prompt_logprobs": 1}
_GET_TOKENIZER = (
    "download the tokenizer, or name its folder: model_args: {tokenizer: ...}; "
    "or prepare with a back end of chat completions, which renders by itself"
)


class Interface(Protocol):
    """The form of one back end's requests."""

    model: str

    @property
    def template(self) -> str:
        """The chat template as lm-eval logs it."""

    def render(self, messages: list[Message], *, add_generation_prompt: bool) -> Any:
        """The prompt that lm-eval makes of a chat."""

    def messages_of(self, prompt: Any) -> tuple[Message, ...]:
        """The chat behind a prompt; empty where there is none."""

    def sampling(self, request: Request) -> dict[str, Any]:
        """The sampling parameters of a request."""

    def body(self, request: Request) -> dict[str, Any]:
        """The body of a request to a server of chat completions."""

    def tokens(self, request: Request) -> tuple[list[int], int] | None:
        """Token ids and the position of the first scored one; None without the tokenizer."""

    def cut(self, text: str, arguments: Mapping[str, Any]) -> str:
        """A reply as lm-eval's back end hands it on."""


class _Rendered(str):
    """A rendered chat that carries its messages; lm-eval passes it on as it is."""

    __slots__ = ("messages",)
    messages: tuple[Message, ...]


def interface_of(job: Job) -> Interface:
    """The interface of a command's back end."""
    record = find_backend(job.model)
    if record is not None and record.chat_only:
        return ChatInterface(job)
    return TextInterface(job)


class TextInterface:
    """A back end that is sent text or token ids: vLLM, transformers, servers of completions."""

    def __init__(self, job: Job) -> None:
        args = job.model_args
        self._job = job
        self._args = args
        self.model = str(args.get("pretrained") or args.get("model") or job.model)
        self._tokenizer_name = str(args.get("tokenizer") or self.model)

    @cached_property
    def tokenizer(self) -> Any:
        """The model's tokenizer; None where it is not on this machine."""
        folder = model_folder(self._tokenizer_name)
        return load_tokenizer(folder)

    @property
    def template(self) -> str:
        """The source of the model's own; empty where its tokenizer is not here."""
        if self.tokenizer is None:
            return ""
        return str(self.tokenizer.chat_template)

    @cached_property
    def _renderer(self) -> Any:
        record = find_backend(self._job.model)
        if record is not None and record.stands_in:
            model = self._job.env.get(CHAT_MODEL, "")
            return chat_template(model)
        if self.tokenizer is None or not self.tokenizer.chat_template:
            what = f"{self._tokenizer_name} has no tokenizer with a chat template here"
            where = f"command {self._job.name}"
            raise BadInput(Problem(what=what, where=where, fix=_GET_TOKENIZER))
        variables = template_variables(self._args)
        return ChatTemplate(self.tokenizer, variables)

    def render(self, messages: list[Message], *, add_generation_prompt: bool) -> Any:
        """The text of a chat; it remembers the messages."""
        prompt = self._renderer(messages, add_generation_prompt=add_generation_prompt)
        text = _Rendered(prompt)
        text.messages = tuple(dict(message) for message in messages)
        return text

    def messages_of(self, prompt: Any) -> tuple[Message, ...]:
        """The chat behind a rendered prompt."""
        return getattr(prompt, "messages", ())

    def sampling(self, request: Request) -> dict[str, Any]:
        """Settings by the names of vllm.SamplingParams, as lm-eval's vLLM back end sets them."""
        if not request.generates:
            return dict(_SCORED)
        normal = self._normal(request.arguments)
        stops = normal.pop("until")
        length = normal.pop("max_gen_toks")
        normal.pop("do_sample", None)
        return {**_SHOWN_TOKENS, **normal, "max_tokens": length, "stop": stops}

    def _normal(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        from lm_eval.models.utils import handle_stop_sequences, normalize_gen_kwargs

        default = int(self._args.get("max_gen_toks", DEFAULT_REPLY))
        eos = self.tokenizer.eos if self.tokenizer is not None else ""
        normalized = normalize_gen_kwargs(dict(arguments), default_max_gen_toks=default)
        normal = dict(normalized)
        stops = normal.get("until")
        normal["until"] = handle_stop_sequences(stops, eos or None)
        if "temperature" not in normal:
            normal["temperature"] = 1.0  # vLLM's default, which decides where a task names none
        return normal

    def body(self, request: Request) -> dict[str, Any]:
        """For `vllm run-batch`, which takes chats alone: the whole text as one message."""
        text, special = self._beginning(request.prompt + request.continuation)
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": text}],
            "add_special_tokens": special,
            **self.sampling(request),
            **self._truncation(request),
        }

    def _truncation(self, request: Request) -> dict[str, Any]:
        """Arguments that cut a prompt which is too long, as lm-eval does."""
        if self.tokenizer is None or not self._length:
            return {}
        room = self._room(request)
        ids, _ = self._whole_tokens(request)
        if len(ids) <= room:
            return {}
        return {"truncate_prompt_tokens": room, "truncation_side": "left"}

    def _beginning(self, text: str) -> tuple[str, bool]:
        """A text, and whether the engine puts the tokenizer's special tokens before it."""
        add_bos = self._args.get("add_bos_token")
        backend = self._job.model
        tokenizer = self.tokenizer
        if tokenizer is None:
            if add_bos is not None:
                return text, bool(add_bos)
            record = find_backend(backend)
            return text, record is None or record.adds_bos is not False
        prefix = tokenizer.prefix(text, add_bos, backend)
        if prefix and prefix != tokenizer.own_prefix:
            return tokenizer.bos + text, False
        return text, bool(prefix)

    def tokens(self, request: Request) -> tuple[list[int], int] | None:
        """The tokens as lm-eval encodes them, cut from the left to the model's length."""
        if self.tokenizer is None:
            return None
        ids, scored = self._whole_tokens(request)
        if not self._length:
            return ids, scored
        surplus = max(0, len(ids) - self._room(request))
        return ids[surplus:], max(0, scored - surplus)

    def _whole_tokens(self, request: Request) -> tuple[list[int], int]:
        """Before any cut; white space before a continuation belongs to it."""
        ids = self._encode(request.prompt + request.continuation)
        if not request.continuation:
            return ids, len(ids)
        context = request.prompt.rstrip()
        if not context:
            return ids, min(1, len(ids))
        return ids, len(self._encode(context))

    def _encode(self, text: str) -> list[int]:
        add_bos = self._args.get("add_bos_token")
        ids: list[int] = self.tokenizer.encode(text, add_bos_token=add_bos, backend=self._job.model)
        return ids

    @property
    def _length(self) -> int:
        """Tokens of prompt and reply together; 0 where the command does not say."""
        args = self._args
        length = args.get("max_model_len") or args.get("max_length")
        return int(length or 0)

    def _room(self, request: Request) -> int:
        """Tokens that a prompt may have; the engine needs one for a reply."""
        reply = 1
        if request.generates:
            reply = int(self.sampling(request)["max_tokens"])
        return max(self._length - reply, 1)

    def cut(self, text: str, arguments: Mapping[str, Any]) -> str:
        """Without thoughts, and up to the first stop string."""
        from lm_eval.models.utils import postprocess_generated_text

        stops = self._normal(arguments)["until"]
        think_end = self._args.get("think_end_token")
        return str(postprocess_generated_text(text, stops, think_end))


class ChatInterface:
    """A back end that is sent messages; its own class in lm-eval makes the bodies."""

    def __init__(self, job: Job) -> None:
        import lm_eval.models  # noqa: F401 - fills the registry
        from lm_eval.api.registry import get_model

        model_class = get_model(job.model)
        args = dict(job.model_args)
        self._lm = model_class.create_from_arg_obj(args, {"batch_size": 1})
        self.model = str(self._lm.model)
        self.template = ""

    def render(self, messages: list[Message], *, add_generation_prompt: bool) -> Any:
        """lm-eval's wrapper of messages."""
        return self._lm.apply_chat_template(messages, add_generation_prompt=add_generation_prompt)

    def messages_of(self, prompt: Any) -> tuple[Message, ...]:
        """The messages in the wrapper."""
        if not hasattr(prompt, "prompt"):
            return ()
        return tuple(json.loads(prompt.prompt))

    def sampling(self, request: Request) -> dict[str, Any]:
        """Returns what the body holds beside messages and model."""
        sampling = self.body(request)
        sampling.pop("messages", None)
        sampling.pop("model", None)
        return sampling

    def body(self, request: Request) -> dict[str, Any]:
        """The body that lm-eval would post."""
        messages = [dict(message) for message in request.messages]
        payload = self._lm._create_payload(  # noqa: SLF001 - lm-eval offers it under no other name
            messages,
            generate=True,
            gen_kwargs=copy.deepcopy(dict(request.arguments)),
            seed=self._lm._seed,  # noqa: SLF001
            eos=self._lm.eos_string,
        )
        return dict(payload)

    def tokens(self, request: Request) -> None:  # noqa: ARG002 - as the other interface
        """None: the server tokenizes."""
        return

    # The signature is the other interface's.
    def cut(self, text: str, arguments: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The reply as lm-eval reads a choice: without its thinking trace."""
        from lm_eval.models.utils import postprocess_generated_text

        think_end = getattr(self._lm, "think_end_token", None)
        return str(postprocess_generated_text(text, None, think_end))
