"""What the run will be: taken from a config, from the manifest of a work folder, or from arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalprep.backends import Backend, find_backend

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
    """The part of a run's settings that checks look at; None where it is not known.

    Attributes:
        model: Model id or folder, as written.
        tokenizer: Folder or id of another tokenizer.
        backend: lm-eval's name of the back end.
        folder: Folder that a relative model path refers to.
        chat_tasks: Tasks that get the chat template where the run does not say so for all.
        ours: The tasks were prepared by this tool, so that rows must have sample ids.
    """

    model: str | None = None
    tokenizer: str | None = None
    backend: str | None = None
    folder: Path = field(default_factory=Path.cwd)
    device: str = "auto"
    tensor_parallel_size: int = 1
    data_parallel_size: int = 1
    gpu_memory_utilization: float = 0.9
    max_model_len: int | None = None
    dtype: str = "auto"
    batch_size: Any = "auto"
    add_bos_token: bool | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    gen_kwargs: Mapping[str, Any] = field(default_factory=dict)
    apply_chat_template: bool = False
    system_instruction: str | None = None
    fewshot_as_multiturn: bool | None = None
    num_fewshot: int | None = None
    limit: float | None = None
    log_samples: bool = True
    output_path: Path | None = None
    chat_tasks: frozenset[str] = frozenset()
    ours: bool = False

    def of(self, task: str) -> RunSettings:
        """The same for one task: whether it gets the chat template."""
        return replace(self, apply_chat_template=True) if task in self.chat_tasks else self

    @property
    def record(self) -> Backend | None:
        """What is known of the back end; None for one that nothing is known of."""
        return find_backend(self.backend)

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
        return whole_number(self.model_args.get("max_gen_toks")) or DEFAULT_LENGTH

    @classmethod
    def from_core(cls, core: Core, folder: Path) -> RunSettings:
        """The settings of a validated config."""
        extra = dict(core.model_args)
        context = next((extra[key] for key in CONTEXT_KEYS if isinstance(extra.get(key), int)), core.max_model_len)
        return cls(
            model=core.model_name,
            tokenizer=extra.get("tokenizer"),
            backend=core.backend,
            folder=folder,
            device=core.device,
            tensor_parallel_size=core.tensor_parallel_size,
            data_parallel_size=core.data_parallel_size,
            gpu_memory_utilization=core.gpu_memory_utilization,
            max_model_len=context,
            dtype=core.dtype,
            batch_size=core.batch_size,
            add_bos_token=extra.get("add_bos_token", core.add_bos_token),
            model_args=extra,
            gen_kwargs=dict(core.gen_kwargs),
            apply_chat_template=bool(core.apply_chat_template),
            system_instruction=core.system_instruction,
            fewshot_as_multiturn=core.fewshot_as_multiturn,
            num_fewshot=core.num_fewshot,
            limit=core.limit,
            log_samples=core.log_samples,
            output_path=core.output_path,
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
        if known.get("apply_chat_template") is not None:
            return found
        tasks = plan_of(manifest).tasks
        return replace(found, chat_tasks=frozenset(name for name, task in tasks.items() if task.prompt == "chat"))
