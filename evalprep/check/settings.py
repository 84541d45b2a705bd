"""What the run will be: taken from a config, from the manifest of a work folder, or from arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.backends import Backend, find_backend
from evalprep.model.destination import Destination, destination
from evalprep.model.files import model_folder

if TYPE_CHECKING:  # pydantic would take most of the time of `evalprep check --help`
    from evalprep.config.schema import Core

CONTEXT_KEYS = ("max_model_len", "max_length")
DEFAULT_LENGTH = 256  # lm_eval.defaults.DEFAULT_MAX_GEN_TOKS


def whole_number(value: Any) -> int | None:
    """What `int` makes of a setting, as lm-eval takes it; None for anything else."""
    try:
        return None if isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        return None


@dataclass(frozen=True)
class RunSettings:
    """A run as checks look at it: the keys of a config, and what a config does not say or says in two places.

    Attributes:
        core: The config's keys; of a run that has no config of ours, what was said of it and the defaults.
        model: Model id or folder, as written; None where it is not known.
        tokenizer: Folder or id of another tokenizer.
        backend: lm-eval's name of the back end, which may be one that no config can name.
        folder: Folder that a relative model path refers to.
        max_model_len: Tokens of prompt and reply, also where `model_args` says it; None where it is not known.
        add_bos_token: Likewise.
        apply_chat_template: The run applies the chat template to every task.
        chat_tasks: Tasks that get the chat template where the run does not say so for all.
        bos_tasks: Task -> `add_bos_token` as its pack asks for it, where the config says nothing.
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
    ours: bool = False

    def changed(self, **values: Any) -> RunSettings:
        """The same with other values, by the names of the fields here or else of the config's keys.

        Raises:
            TypeError: a name that is neither.
        """
        own = {one.name for one in fields(self)}
        keys = {name: value for name, value in values.items() if name not in own}
        if unknown := set(keys) - set(type(self.core).model_fields):
            raise TypeError(f"a run has no {', '.join(sorted(unknown))}")
        here = {name: value for name, value in values.items() if name in own}
        return replace(self, **{"core": self.core.model_copy(update=keys), **here})

    def of(self, task: str) -> RunSettings:
        """The same for one task: whether it gets the chat template, and a BOS."""
        found = replace(self, apply_chat_template=True) if task in self.chat_tasks else self
        return replace(found, add_bos_token=self.bos_tasks[task]) if task in self.bos_tasks else found

    @property
    def record(self) -> Backend | None:
        """What is known of the back end; None for one that nothing is known of."""
        return find_backend(self.backend)

    @property
    def destination(self) -> Destination:
        """The machine that the run is for."""
        folder = model_folder(self.model, self.folder)
        core = self.core
        moved = bool(core.path_prefix)
        return destination(core.device, core.target, model=self.model or "", folder=folder, moved=moved)

    @property
    def splits_model(self) -> bool:
        """Whether `tensor_parallel_size` and its like are the back end's own."""
        return self.record is not None and self.record.splits_model

    @property
    def has_model(self) -> bool:
        """Whether a model is loaded or asked at all."""
        return self.record is None or not self.record.stands_in

    @property
    def reply_length(self) -> int:
        """Tokens of a reply where a task does not say: `max_gen_toks` of model_args, else 256."""
        return whole_number(self.core.model_args.get("max_gen_toks")) or DEFAULT_LENGTH

    @classmethod
    def given(cls, **values: Any) -> RunSettings:
        """Of a run without a config of ours: what is said of it, by the names that `changed` takes."""
        from evalprep.config.schema import Core

        return cls(Core.model_construct()).changed(**values)

    @classmethod
    def from_core(cls, core: Core, folder: Path) -> RunSettings:
        """The settings of a validated config."""
        extra = core.model_args
        context = next((extra[key] for key in CONTEXT_KEYS if isinstance(extra.get(key), int)), core.max_model_len)
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

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any], work_dir: Path) -> RunSettings:
        """The settings that a work folder was prepared with; a key that this version does not know is left out."""
        from evalprep.config.schema import Core
        from evalprep.packs.manifest import plan_of

        given = manifest.get("config")
        known = {
            key: value for key, value in (given if isinstance(given, dict) else {}).items() if key in Core.model_fields
        }
        known = {"model_name": "unknown", "tasks": ["unknown"], **known}
        found = cls.from_core(Core.model_validate(known), work_dir.parent)
        tasks = plan_of(manifest).tasks
        asked = {name: task.call.model_args.get("add_bos_token") for name, task in tasks.items()}
        if "add_bos_token" not in found.core.model_args:
            found = replace(found, bos_tasks={name: one for name, one in asked.items() if isinstance(one, bool)})
        if known.get("apply_chat_template") is not None:
            return found
        return replace(found, chat_tasks=frozenset(name for name, task in tasks.items() if task.prompt == "chat"))
