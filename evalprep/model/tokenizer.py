"""A model's tokenizer without transformers.

Loading takes 0.1 s instead of 6 s, the token ids are the same.

lm-eval 0.4.13 encodes a prompt like this (models/vllm_causallms.py, models/huggingface.py): a text
that begins with the begin-of-text token gets no special tokens; any other gets them when
`add_bos_token` is true, does not when it is false, and gets what the tokenizer does by itself when
it is unset. `ChatTemplate` applies a chat template to messages as these back ends do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from evalprep.backends import find_backend
from evalprep.files import read_object, read_text


def _text(value: Any) -> str:
    """A special token as text; tokenizer_config.json has it plain or as a mapping."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else ""


@dataclass
class Tokenizer:
    """One tokenizer.

    Attributes:
        folder: Where its files lie.
        encoder: The `tokenizers.Tokenizer`.
        bos, eos: Text of the begin-of-text and end-of-text tokens, empty when there is none.
        chat_template: Jinja source, empty when there is none.
    """

    folder: Path
    encoder: Any
    bos: str
    eos: str
    chat_template: str
    settings: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def bos_id(self) -> int | None:
        """Id of the begin-of-text token."""
        return self.encoder.token_to_id(self.bos) if self.bos else None

    @cached_property
    def own_prefix(self) -> list[int]:
        """The token ids that the tokenizer puts before a text by itself.

        tokenizer.json alone decides: transformers 5.19 reads `add_bos_token` of
        tokenizer_config.json and does nothing with it.
        """
        ids = self.encoder.encode("x", add_special_tokens=True).ids
        body = self.encoder.encode("x", add_special_tokens=False).ids
        starts = range(len(ids) - len(body) + 1)
        start = next((at for at in starts if ids[at : at + len(body)] == body), 0)
        return list(ids[:start])

    @cached_property
    def special(self) -> frozenset[str]:
        """Texts of the special tokens."""
        return frozenset(
            token.content
            for token in self.encoder.get_added_tokens_decoder().values()
            if token.special
        )

    def knows(self, text: str) -> bool:
        """Returns whether a text is one token."""
        return self.encoder.token_to_id(text) is not None

    def prefix(self, text: str, add_bos_token: bool | None, backend: str | None) -> list[int]:
        """The tokens that a back end puts before a text."""
        if self.bos and text.startswith(self.bos):
            return []
        if add_bos_token is None:
            record = find_backend(backend)
            # Some send token ids made without special tokens unless told otherwise.
            return [] if record is not None and record.adds_bos is False else self.own_prefix
        if not add_bos_token or self.bos_id is None:
            return []
        return self.own_prefix or [self.bos_id]

    def encode(
        self, text: str, *, add_bos_token: bool | None = None, backend: str | None = None
    ) -> list[int]:
        """The token ids that a back end sends for a prompt."""
        return self.prefix(text, add_bos_token, backend) + list(
            self.encoder.encode(text, add_special_tokens=False).ids
        )

    def encode_all(
        self, texts: Sequence[str], *, add_bos_token: bool | None = None, backend: str | None = None
    ) -> list[list[int]]:
        """The token ids that a back end sends for each prompt."""
        encoded = self.encoder.encode_batch_fast(list(texts), add_special_tokens=False)
        return [
            self.prefix(text, add_bos_token, backend) + list(encoding.ids)
            for encoding, text in zip(encoded, texts, strict=True)
        ]

    def lengths(
        self, texts: Sequence[str], *, add_bos_token: bool | None = None, backend: str | None = None
    ) -> list[int]:
        """Number of tokens of each prompt."""
        encoded = self.encoder.encode_batch_fast(list(texts), add_special_tokens=False)
        return [
            len(encoding.ids) + len(self.prefix(text, add_bos_token, backend))
            for encoding, text in zip(encoded, texts, strict=True)
        ]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Each id as readable text; special tokens as they are written."""
        return [str(self.encoder.decode([token_id], skip_special_tokens=False)) for token_id in ids]

    def render_chat(
        self,
        messages: list[dict[str, str]],
        *,
        add_generation_prompt: bool = True,
        variables: Mapping[str, Any] | None = None,
    ) -> str:
        """Applies the chat template in a sandbox, as transformers does.

        The values and the sandbox are those of its utils/chat_template_utils.py.

        Args:
            messages: Roles and contents.
            add_generation_prompt: End with the beginning of an assistant's turn; else the last
                message stays open, so that the model continues it (`continue_final_message`).
            variables: Further variables of the template.

        Raises:
            ValueError: there is no template, or it refuses the messages.
        """
        import jinja2

        if not self.chat_template:
            raise ValueError("the tokenizer has no chat template")
        messages = [dict(message) for message in messages]
        if not add_generation_prompt:
            messages[-1]["content"] += _OPEN_END
        values: dict[str, Any] = {"tools": None, "documents": None}
        for key in ("unk_token", "pad_token"):
            text = _text(self.settings.get(key))
            if text:
                values[key] = text
        values |= variables or {}
        values |= {
            "messages": messages,
            "add_generation_prompt": add_generation_prompt,
            "bos_token": self.bos,
            "eos_token": self.eos,
        }
        try:
            rendered = str(self._template.render(values))
        except jinja2.exceptions.TemplateError as error:
            raise ValueError(f"the chat template refuses the messages: {error}") from None
        return rendered if add_generation_prompt else _without_open_end(rendered)

    @cached_property
    def _template(self) -> Any:
        import jinja2
        from jinja2.ext import Extension
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        class Generation(Extension):
            """`{% generation %}` marks what a training would learn; it adds nothing to the text."""

            tags = {"generation"}  # noqa: RUF012 - as in jinja2

            def parse(self, parser: Any) -> Any:
                next(parser.stream)
                return parser.parse_statements(("name:endgeneration",), drop_needle=True)

        def refuse(message: str) -> None:
            raise jinja2.exceptions.TemplateError(message)

        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"]
        )
        environment.filters["tojson"] = _to_json
        environment.globals.update(raise_exception=refuse, strftime_now=_today)
        return environment.from_string(self.chat_template)


# What transformers puts behind a message that is to be continued, and cuts off again with all that
# follows.
_OPEN_END = "CONTINUE_FINAL_MESSAGE_TAG "


def _to_json(value: Any, ensure_ascii: bool = False, **options: Any) -> str:
    """Jinja's own filter writes HTML entities."""
    return json.dumps(value, ensure_ascii=ensure_ascii, **options)


def _today(form: str) -> str:
    from datetime import datetime

    return datetime.now().astimezone().strftime(form)


def load_tokenizer(folder: Path | None) -> Tokenizer | None:
    """Reads a tokenizer; None when the folder is absent or holds no tokenizer.json."""
    if folder is None or not (folder / "tokenizer.json").is_file():
        return None
    from tokenizers import Tokenizer as Encoder

    try:
        encoder = Encoder.from_file(str(folder / "tokenizer.json"))
    except Exception:  # noqa: BLE001 - the library raises plain Exception on a damaged file
        return None
    encoder.no_truncation()
    encoder.no_padding()
    settings = read_object(folder / "tokenizer_config.json")
    template = settings.get("chat_template")
    if isinstance(template, list):  # several named templates
        template = next(
            (
                named_template.get("template")
                for named_template in template
                if named_template.get("name") == "default"
            ),
            "",
        )
    beside = folder / "chat_template.jinja"
    if beside.is_file():
        template = read_text(beside, own=True)
    return Tokenizer(
        folder=folder,
        encoder=encoder,
        bos=_text(settings.get("bos_token")),
        eos=_text(settings.get("eos_token")),
        chat_template=template if isinstance(template, str) else "",
        settings=settings,
    )


def _without_open_end(rendered: str) -> str:
    """A rendered chat without the mark at the end of its last message, which goes on there."""
    head, marker, _ = rendered.rpartition(_OPEN_END.strip())
    if not marker:
        raise ValueError(
            "the chat template drops the end of the last message, so that it cannot be continued"
        )
    return head if rendered.startswith(_OPEN_END, len(head)) else head.rstrip()


class ChatTemplate:
    """Renders messages as lm-eval's back ends do.

    Without the tokenizer they are joined plainly, and nothing counted.

    A template that refuses the messages gets them once more without the system message
    (models/vllm_causallms.py, models/huggingface.py); `dropped` then becomes true.
    """

    def __init__(self, tokenizer: Tokenizer | None, variables: Mapping[str, Any]) -> None:
        self.tokenizer = tokenizer if tokenizer is not None and tokenizer.chat_template else None
        self.variables = variables
        self.dropped = False

    def __call__(
        self, messages: list[dict[str, str]], *, add_generation_prompt: bool = True
    ) -> str:
        """The text that the model reads.

        Raises:
            ValueError: the template refuses the messages without a system message, too.
        """
        if self.tokenizer is None:
            return "\n".join(str(message["content"]) for message in messages)
        others = [message for message in messages if message["role"] != "system"]
        try:
            return self.tokenizer.render_chat(
                messages, add_generation_prompt=add_generation_prompt, variables=self.variables
            )
        except ValueError:
            if len(others) == len(messages):
                raise
        self.dropped = True
        return self.tokenizer.render_chat(
            others, add_generation_prompt=add_generation_prompt, variables=self.variables
        )


def template_variables(model_args: Mapping[str, Any]) -> dict[str, Any]:
    """The variables that lm-eval passes to a template.

    They are those of chat_template_args, but enable_thinking always comes from model_args itself.
    """
    arguments = model_args.get("chat_template_args")
    variables = dict(arguments) if isinstance(arguments, Mapping) else {}
    variables["enable_thinking"] = model_args.get("enable_thinking")
    return variables
