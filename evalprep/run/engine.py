"""A loaded model that outlives the command that it was loaded for."""

from __future__ import annotations

import gc
import json
import time
from typing import Any

from evalprep.backends import find_backend, keep_copies
from evalprep.run.redirects import Redirected, stay_at_server
from evalprep.run.rehearsal import give_template
from evalprep.status import Job

#: What commands of one engine may differ in, as it reaches lm-eval with each call and never the
# model's object. : Whatever else somebody wrote into a run.yaml parts them.
_PER_CALL = frozenset(
    {
        "apply_chat_template",
        "confirm_run_unsafe_code",
        "fewshot_as_multiturn",
        "gen_kwargs",
        "include_path",
        "limit",
        "log_samples",
        "metadata",
        "num_fewshot",
        "output_path",
        "seed",
        "show_config",
        "system_instruction",
    }
)


def engine_key(job: Job) -> str:
    """The same for commands that one loaded model can serve.

    Back end, its arguments, batches, device and variables.
    """
    options = {key: value for key, value in job.options.items() if key not in _PER_CALL}
    return json.dumps([job.model, job.model_args, options, job.env], sort_keys=True, default=str)


class Engine:
    """The model of one process, as it was loaded, for one command after the other.

    Attributes:
        lm: lm-eval's object; None before the first unit that needs it.
        seconds: Time that loading took; None where the current command found it loaded.
        served: Units that it has finished, of any command.
        broken: Why nothing can come from it any more; empty while it may.
        dead: It ended under its work, and may be loaded anew.
        sources: Files that hold its replies, where another engine made them.
    """

    def __init__(self) -> None:
        self.lm: Any = None
        self.seconds: float | None = None
        self.served = 0
        self.broken = ""
        self.dead = False
        self.sources: tuple[str, ...] = ()
        self._arguments: Any = None
        self._fresh: dict[str, Any] = {}
        self._strikes: list[tuple[str, str]] = []
        self._unanswered: Exception | None = None

    @property
    def loaded(self) -> bool:
        """Returns whether the next command finds a model."""
        return self.lm is not None

    def model_class(self, config: Any) -> Any:
        """lm-eval's class for the back end of a command.

        Its import must come before tasks are loaded: some add methods to the classes imported by
        then.
        """
        import lm_eval.models  # noqa: F401 - fills the registry
        from lm_eval.api.registry import get_model

        stay_at_server()
        return keep_copies(get_model(config.model))

    def load(self, model_class: Any, config: Any) -> Any:
        """Makes the model as lm-eval does for this command."""
        started = time.time()
        lm = model_class.create_from_arg_obj(
            config.model_args,
            {
                "batch_size": config.batch_size,
                "max_batch_size": config.max_batch_size,
                "device": config.device,
            },
        )
        record = find_backend(config.model)
        if record is not None and record.stands_in:
            give_template(lm)
        self.lm = lm
        self.seconds = time.time() - started
        self._arguments = config.model_args
        self._fresh = {name: _own(value) for name, value in vars(lm).items()}
        return lm

    def turn_to(self, config: Any, _job: Job | None = None) -> None:
        """Brings the model back to how it was loaded, for the next command.

        Where that cannot be done, the model is dropped.
        """
        self.seconds = None
        record = find_backend(config.model)
        if self.lm is None:
            return
        if record is None or record.forgets is None:
            self.lm = None
            self._fresh = {}
            gc.collect()
            return
        vars(self.lm).clear()
        vars(self.lm).update({name: _own(value) for name, value in self._fresh.items()})
        record.forgets(self.lm)
        # Making it may have taken keys out of the arguments, which lm-eval then writes into the
        # results without them.
        here = config.model_args
        config.metadata = {
            key: self._arguments[key] if key in here and value is here[key] else value
            for key, value in config.metadata.items()
        }
        config.model_args = self._arguments

    def unanswered(self, error: Exception) -> None:
        """Takes note of an error that came out of the model, not of a task or its scorer."""
        self._unanswered = error

    def at_fault(self, task: str, error: Exception) -> str:
        """Returns why nothing can come from the engine any more after a task failed.

        Empty where it may be the task's fault.

        It is the engine's where it says so, where the server sends requests elsewhere, and where
        the first two tasks that ask it get no answer for one reason.
        """
        if "EngineDeadError" in {type(error).__name__, type(error.__cause__).__name__}:
            self.broken = "the engine has ended"
            self.dead = True
        elif isinstance(error, Redirected):
            self.broken = str(error.problems[0])
        elif error is self._unanswered and not self.served:
            reason = f"{type(error).__name__}: {error}"
            self._strikes.append(
                (task, "".join(letter for letter in reason if not letter.isdigit()))
            )
            if (
                len({name for name, _ in self._strikes}) > 1
                and len({what for _, what in self._strikes}) == 1
            ):
                self.broken = f"no task gets an answer: {reason}"[:500]
        return self.broken


def _own(value: Any) -> Any:
    """A copy of what is changed in place."""
    return value.copy() if isinstance(value, dict | list | set) else value
