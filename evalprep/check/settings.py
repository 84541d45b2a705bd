"""The settings of a run.

Taken from a config, from the manifest of a work folder, or from arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from evalprep.backends import STORED, Backend, find_backend
from evalprep.model import Destination, destination, model_folder
from evalprep.numbers import whole_number

if TYPE_CHECKING:  # keeps `evalprep check --help` short
    from evalprep.config import Core
    from evalprep.packs import Plan, Prepared

CONTEXT_KEYS = ("max_model_len", "max_length")
DEFAULT_LENGTH = 256  # lm_eval.defaults.DEFAULT_MAX_GEN_TOKS


class Encoding(TypedDict):
    """Arguments of `evalprep.model.tokenizer.Tokenizer.encode` and `lengths`."""

    add_bos_token: bool | None
    backend: str | None


@dataclass(frozen=True)
class RunSettings:
    """A run as checks look at it.

    The keys of a config, and what a config does not say or says in two places.

    Attributes:
        core: The config's keys; of a run that has no config of ours, what was said of it and the
            defaults.
        model: Model id or folder, as written; None where it is not known.
        tokenizer: Folder or id of another tokenizer.
        backend: lm-eval's name of the back end, which may be one that no config can name.
        folder: Folder that a relative model path refers to.
        max_model_len: Tokens of prompt and reply, also where `model_args` says it; None where it is
            not known.
        add_bos_token: Likewise.
        apply_chat_template: The run applies the chat template to every task.
        chat_tasks: Tasks that get the chat template where the run does not say so for all.
        bos_tasks: Task -> `add_bos_token` as its pack asks for it, where the config says nothing.
        other_prompt_tasks: Tasks whose published values were asked in the other form, with the
            template or without, than the config asks for.
        stored_tasks: Tasks whose replies stand in their rows, so that nothing is sent to a model.
        ours: The tasks were prepared by this tool, so that rows must have sample ids.
    """

    core: Core
    model: str | None = None
    tokenizer: str | None = None
    backend: str | None = None
    folder: Path = field(default_factory=Path.cwd)
    max_model_len: int | None = None
    add_bos_token: bool | None = None
    apply_chat_template: bool = False
    chat_tasks: frozenset[str] = frozenset()
    bos_tasks: Mapping[str, bool] = field(default_factory=dict)
    other_prompt_tasks: tuple[str, ...] = ()
    stored_tasks: frozenset[str] = frozenset()
    ours: bool = False

    def changed(self, **values: Any) -> RunSettings:
        """The same with other values, by the names of the fields here or else of the config's keys.

        Raises:
            TypeError: a name that is neither.
        """
        own = {member.name for member in fields(self)}
        keys = {name: value for name, value in values.items() if name not in own}
        if unknown := set(keys) - set(type(self.core).__struct_fields__):
            raise TypeError(f"a run has no {', '.join(sorted(unknown))}")
        here = {name: value for name, value in values.items() if name in own}
        return replace(self, **{"core": self.core.changed(**keys), **here})

    def of(self, task: str) -> RunSettings:
        """The same for one task: whether it gets the chat template, and a BOS."""
        chat = self.apply_chat_template or task in self.chat_tasks
        bos = self.bos_tasks.get(task, self.add_bos_token)
        if chat and self._server_adds_bos:
            bos = False  # a rendered template has written its own
        return replace(self, apply_chat_template=chat, add_bos_token=bos)

    @property
    def _server_adds_bos(self) -> bool:
        """Our command tells the server back end of lm-eval whether a BOS goes before the text."""
        return self.ours and self.record is not None and self.record.sends_token_ids

    @property
    def encoding(self) -> Encoding:
        """Returns how the back end makes token ids of a prompt: arguments of `Tokenizer.encode`."""
        # Our commands write the tokenizer's own way out where a back end takes an absent argument
        # for false.
        return {
            "add_bos_token": self.add_bos_token,
            "backend": None if self._server_adds_bos else self.backend,
        }

    @property
    def record(self) -> Backend | None:
        """The record of the back end; None for one that is not known."""
        return find_backend(self.backend)

    @property
    def destination(self) -> Destination:
        """The machine that the run is for."""
        folder = model_folder(self.model, self.folder)
        core = self.core
        return destination(
            core.device,
            core.target,
            model=self.model or "",
            folder=folder,
            moved=bool(core.path_prefix),
            copies=core.data_parallel_size if self.splits_model else None,
        )

    @property
    def splits_model(self) -> bool:
        """Returns whether `tensor_parallel_size` and its like are the back end's own."""
        return self.record is not None and self.record.splits_model

    @property
    def has_model(self) -> bool:
        """Returns whether a model is loaded or asked at all."""
        return self.record is None or not self.record.stands_in

    @property
    def reply_length(self) -> int:
        """Tokens of a reply where a task does not say: `max_gen_toks` of model_args, else 256."""
        return whole_number(self.core.model_args.get("max_gen_toks")) or DEFAULT_LENGTH

    @classmethod
    def without_config(cls, **values: Any) -> RunSettings:
        """The settings of a run without a config of ours, by the names that `changed` takes."""
        from evalprep.config import Core

        return cls(Core(model_name="", tasks=())).changed(**values)

    @classmethod
    def from_core(cls, core: Core, folder: Path) -> RunSettings:
        """The settings of a validated config."""
        extra = core.model_args
        context = next(
            (extra[key] for key in CONTEXT_KEYS if isinstance(extra.get(key), int)),
            core.max_model_len,
        )
        return cls(
            core,
            model=core.model_name,
            tokenizer=extra.get("tokenizer"),
            backend=core.backend,
            folder=folder,
            max_model_len=context,
            add_bos_token=extra.get("add_bos_token", core.add_bos_token),
            apply_chat_template=bool(core.apply_chat_template),
            ours=True,
        )

    def with_plan(self, plan: Plan) -> RunSettings:
        """The same with what the tasks of a plan ask for, where the config leaves it to them."""
        tasks = plan.tasks
        stored = frozenset(name for name, task in tasks.items() if task.call.backend == STORED)
        settings = replace(self, stored_tasks=stored)
        if "add_bos_token" not in self.core.model_args:
            own = {name: task.call.model_args.get("add_bos_token") for name, task in tasks.items()}
            bos_tasks = {name: bos for name, bos in own.items() if isinstance(bos, bool)}
            settings = replace(settings, bos_tasks=bos_tasks)
        template = self.core.apply_chat_template
        if template is None:
            chat = frozenset(name for name, task in tasks.items() if task.prompt == "chat")
            return replace(settings, chat_tasks=chat)
        other_form = "plain" if template else "chat"
        other = tuple(name for name, task in tasks.items() if task.published_prompt == other_form)
        return replace(settings, other_prompt_tasks=other)

    @classmethod
    def from_prepared(cls, prepared: Prepared) -> RunSettings:
        """The settings that a work folder was prepared with.

        A key that this version does not know is left out.
        """
        from evalprep.config import CORE_KEYS, read_core

        known = {key: value for key, value in prepared.config.items() if key in CORE_KEYS}
        core, _ = read_core({"model_name": "unknown", "tasks": ["unknown"], **known})
        assert core is not None
        folder = prepared.config_folder
        if folder is None or not folder.is_dir():  # of another machine
            folder = prepared.folder.parent
        return cls.from_core(core, folder).with_plan(prepared.plan)
