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
    return ChatInterface(job) if record is not None and record.chat_only else TextInterface(job)


class TextInterface:
    """A back end that is sent text or token ids: vLLM, transformers, servers of completions."""

    def __init__(self, job: Job) -> None:
        self._job, self._args = job, job.model_args
        self.model = str(self._args.get("pretrained") or self._args.get("model") or job.model)
        self._tokenizer_name = str(self._args.get("tokenizer") or self.model)

    @cached_property
    def tokenizer(self) -> Any:
        """The model's tokenizer; None where it is not on this machine."""
        return load_tokenizer(model_folder(self._tokenizer_name))

    @property
    def template(self) -> str:
        """The source of the model's own; empty where its tokenizer is not here."""
        return str(self.tokenizer.chat_template) if self.tokenizer is not None else ""

    @cached_property
    def _renderer(self) -> Any:
        record = find_backend(self._job.model)
        if record is not None and record.stands_in:
            return chat_template(self._job.env.get(CHAT_MODEL, ""))
        if self.tokenizer is None or not self.tokenizer.chat_template:
            raise BadInput(
                Problem(
                    what=f"{self._tokenizer_name} has no tokenizer with a chat template here",
                    where=f"command {self._job.name}",
                    fix="download the tokenizer, or name its folder: model_args: {tokenizer: ...}; "
                    "or prepare with a back end of chat completions, which renders by itself",
                )
            )
        return ChatTemplate(self.tokenizer, template_variables(self._args))

    def render(self, messages: list[Message], *, add_generation_prompt: bool) -> Any:
        """The text of a chat; it remembers the messages."""
        text = _Rendered(self._renderer(messages, add_generation_prompt=add_generation_prompt))
        text.messages = tuple(dict(message) for message in messages)
        return text

    def messages_of(self, prompt: Any) -> tuple[Message, ...]:
        """The chat behind a rendered prompt."""
        return getattr(prompt, "messages", ())

    def sampling(self, request: Request) -> dict[str, Any]:
        """In the names of vllm.SamplingParams, as lm-eval's vLLM back end sets them."""
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
        before = dict(arguments)
        normal = dict(normalize_gen_kwargs(before, default_max_gen_toks=default))
        normal["until"] = handle_stop_sequences(normal.get("until"), eos or None)
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
        if len(self._whole_tokens(request)[0]) <= room:
            return {}
        return {"truncate_prompt_tokens": room, "truncation_side": "left"}

    def _beginning(self, text: str) -> tuple[str, bool]:
        """A text, and whether the engine puts the tokenizer's special tokens before it."""
        add_bos = self._args.get("add_bos_token")
        if self.tokenizer is None:
            record = find_backend(self._job.model)
            default = record is None or record.adds_bos is not False
            return text, default if add_bos is None else bool(add_bos)
        prefix = self.tokenizer.prefix(text, add_bos, self._job.model)
        if prefix and prefix != self.tokenizer.own_prefix:
            return self.tokenizer.bos + text, False
        return text, bool(prefix)

    def tokens(self, request: Request) -> tuple[list[int], int] | None:
        """As lm-eval encodes them, cut from the left where they exceed the model's length."""
        if self.tokenizer is None:
            return None
        ids, scored = self._whole_tokens(request)
        surplus = max(0, len(ids) - self._room(request)) if self._length else 0
        return ids[surplus:], max(0, scored - surplus)

    def _whole_tokens(self, request: Request) -> tuple[list[int], int]:
        """Before any cut; white space before a continuation belongs to it."""
        settings = {"add_bos_token": self._args.get("add_bos_token"), "backend": self._job.model}
        ids = self.tokenizer.encode(request.prompt + request.continuation, **settings)
        if not request.continuation:
            return ids, len(ids)
        context = request.prompt.rstrip()
        return ids, len(self.tokenizer.encode(context, **settings)) if context else min(1, len(ids))

    @property
    def _length(self) -> int:
        """Tokens of prompt and reply together; 0 where the command does not say."""
        return int(self._args.get("max_model_len") or self._args.get("max_length") or 0)

    def _room(self, request: Request) -> int:
        """Tokens that a prompt may have; the engine needs one for a reply."""
        reply = self.sampling(request)["max_tokens"] if request.generates else 1
        return max(self._length - int(reply), 1)

    def cut(self, text: str, arguments: Mapping[str, Any]) -> str:
        """Without thoughts, and up to the first stop string."""
        from lm_eval.models.utils import postprocess_generated_text

        stops = self._normal(arguments)["until"]
        return str(postprocess_generated_text(text, stops, self._args.get("think_end_token")))


class ChatInterface:
    """A back end that is sent messages; its own class in lm-eval makes the bodies."""

    def __init__(self, job: Job) -> None:
        import lm_eval.models  # noqa: F401 - fills the registry
        from lm_eval.api.registry import get_model

        self._lm = get_model(job.model).create_from_arg_obj(dict(job.model_args), {"batch_size": 1})
        self.model = str(self._lm.model)
        self.template = ""

    def render(self, messages: list[Message], *, add_generation_prompt: bool) -> Any:
        """lm-eval's wrapper of messages."""
        return self._lm.apply_chat_template(messages, add_generation_prompt=add_generation_prompt)

    def messages_of(self, prompt: Any) -> tuple[Message, ...]:
        """The messages in the wrapper."""
        return tuple(json.loads(prompt.prompt)) if hasattr(prompt, "prompt") else ()

    def sampling(self, request: Request) -> dict[str, Any]:
        """Returns what the body holds beside messages and model."""
        body = self.body(request)
        return {key: value for key, value in body.items() if key not in {"messages", "model"}}

    def body(self, request: Request) -> dict[str, Any]:
        """The body that lm-eval would post."""
        return dict(
            self._lm._create_payload(  # noqa: SLF001 - lm-eval offers it under no other name
                [dict(message) for message in request.messages],
                generate=True,
                gen_kwargs=copy.deepcopy(dict(request.arguments)),
                seed=self._lm._seed,  # noqa: SLF001
                eos=self._lm.eos_string,
            )
        )

    def tokens(self, request: Request) -> None:  # noqa: ARG002 - as the other interface
        """None: the server tokenizes."""
        return

    # The signature is the other interface's.
    def cut(self, text: str, arguments: Mapping[str, Any]) -> str:  # noqa: ARG002
        """As lm-eval reads a choice."""
        from lm_eval.models.utils import postprocess_generated_text

        think_end = getattr(self._lm, "think_end_token", None)
        return str(postprocess_generated_text(text, None, think_end))
