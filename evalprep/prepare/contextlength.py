"""The context of a run, `max_model_len`, where the config leaves it open.

The user's word counts before the context of the model, the model's before the usual one. The
context of a model is known where its config.json is on this machine.
"""

from __future__ import annotations

from evalprep.backends import BACKENDS
from evalprep.check import CONTEXT_KEYS
from evalprep.config import Config, Core, core_of
from evalprep.model import context_of, model_folder


def with_known_context(config: Config) -> tuple[Config, list[str]]:
    """Returns a config whose `max_model_len` fits its models, and a note where that is shorter.

    Of several models the shortest context counts for all of them: they are asked the same.
    """
    core = config.core
    if core.states("max_model_len") or BACKENDS[core.backend].stands_in:
        return config, []
    models = [core_of(core, entry) for entry in core.models] or [core]
    contexts = {model.model_name: _context(model, config) for model in models}
    known = {name: tokens for name, tokens in contexts.items() if tokens is not None}
    name = min(known, key=known.__getitem__, default="")
    if not name or known[name] >= core.max_model_len:
        return config, []
    note = (
        f"max_model_len is {known[name]}, the context of {name} (without the key it is "
        f"{core.max_model_len} at most)"
    )
    return config.with_defaults(max_model_len=known[name]), [note]


def _context(model: Core, config: Config) -> int | None:
    """The context of a model in tokens; None where nothing shows it, or the user states another."""
    if any(key in model.model_args for key in CONTEXT_KEYS):
        return None
    folder = model_folder(model.model_name, config.folder)
    return None if folder is None else context_of(folder)
