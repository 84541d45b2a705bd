"""Options of a call of lm-eval that are not those of the command that was prepared.

A pasted command keeps its run id whatever was typed behind it. What was prepared is what
`packs.asked_of_call` gives of the command, and what was typed is held against all of it that a
results file logs: limit, back end and its arguments, seeds, generation settings, system text and
chat template. Shots stand in the settings of each task, which `results.meant` compares.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from evalprep.credentials import without_secrets
from evalprep.files import as_mapping
from evalprep.packs import Command, Manifest, decisive_arguments
from evalprep.readers import NONE, CallSettings
from evalprep.results.identity import backend_name

#: The seeds of a call, in the order of `--seed`.
_SEEDS = ("random", "numpy", "torch", "fewshot")
#: Arguments of a back end that name the model, which a preparation may leave to the back end.
_MODEL = ("pretrained", "model")
_OTHER_TEXT = "another text"


class TypedOption(msgspec.Struct, frozen=True):
    """An option of a pasted command that is not as it was prepared.

    Attributes:
        name: The option.
        meant: Its prepared value as text; `none` without one.
        logged: Its value in the results file.
    """

    name: str
    meant: str
    logged: str

    @property
    def sentence(self) -> str:
        """What was typed: `limit 5 in place of none`."""
        return f"{self.name} {self.logged} in place of {self.meant}"


def sentence_of(options: Iterable[TypedOption]) -> str:
    """Returns what was typed: `limit 5 in place of none, seed 7 in place of 42`."""
    return ", ".join(option.sentence for option in options)


def typed_options(
    settings: CallSettings, command: str, record: Manifest
) -> tuple[TypedOption, ...]:
    """Returns the options of a call that are not those of the command that was prepared.

    What the results file or the record does not state is not compared.

    Args:
        settings: The settings of the call as logged.
        command: Name of the command.
        record: The plan of the run; empty without one.
    """
    commands = {item.name: item for item in record.commands}
    if command not in commands:
        return ()
    asked = record.asked.get(command) or _asked_before(commands[command])
    return options_other_than(settings, asked, record.model)


def _asked_before(command: Command) -> dict[str, Any]:
    """What a command asks, of a record of a former release, which knew the limit and the engine."""
    words = command.argv
    limit = words[words.index("--limit") + 1] if "--limit" in words[:-1] else None
    model_args = as_mapping(command.engine.get("model_args"))
    return {"limit": limit, "model_args": decisive_arguments(model_args)}


def options_other_than(
    settings: CallSettings, asked: Mapping[str, Any], model: str
) -> tuple[TypedOption, ...]:
    """Returns the options of a call that are not those that were asked for.

    Args:
        settings: The settings of the call as logged.
        asked: What `packs.asked_of_call` gives of a run configuration.
        model: The prepared model.
    """
    if not settings.as_logged or not asked:
        return ()
    pairs = [("limit", asked.get("limit"), settings.limit)]
    if not settings.stored_replies:
        pairs += _arguments(asked, settings, model)
        # A record of a former release knew nothing of the rest.
        pairs += _of_the_call(asked, settings) if "model" in asked else []
    texts = [(name, _as_text(meant), _as_text(logged)) for name, meant, logged in pairs]
    return tuple(TypedOption(*texts_of) for texts_of in texts if texts_of[1] != texts_of[2])


def _arguments(
    asked: Mapping[str, Any], settings: CallSettings, model: str
) -> Iterator[tuple[str, Any, Any]]:
    """Yields the decisive arguments of the back end, as far as the results file lists them."""
    # Older releases of lm-eval log a text, which cannot always be taken apart.
    is_whole = isinstance(settings.as_logged.get("model_args"), Mapping)
    meant = as_mapping(without_secrets(as_mapping(asked.get("model_args"))))
    logged = without_secrets(decisive_arguments(settings.arguments))
    for name in dict.fromkeys([*meant, *logged] if is_whole else meant.keys() & logged.keys()):
        is_model = name in _MODEL and name not in meant and logged[name] == model
        if not is_model:
            yield name, meant.get(name), logged.get(name)


def _of_the_call(
    asked: Mapping[str, Any], settings: CallSettings
) -> Iterator[tuple[str, Any, Any]]:
    """Yields what else a results file logs of the whole call."""
    if settings.backend is not None:
        yield "model", backend_name(str(asked["model"])), backend_name(settings.backend)
    generation = as_mapping(asked.get("gen_kwargs"))
    for key in dict.fromkeys([*generation, *settings.generation]):
        yield f"gen_kwargs.{key}", generation.get(key), settings.generation.get(key)
    seeds = [settings.seeds.get(use) for use in _SEEDS]
    if "seed" in asked and None not in seeds:
        yield "seed", _seed_text(_four(asked["seed"])), _seed_text(seeds)
    system = asked.get("system_instruction")
    if settings.system is not None and settings.system not in _known_as(system):
        logged = settings.system if settings.system == NONE else _OTHER_TEXT
        yield "system_instruction", system, logged
    is_without = settings.chat_template in {None, NONE}
    if not asked.get("apply_chat_template") and not is_without:
        yield "apply_chat_template", None, True


def _known_as(text: Any) -> set[str]:
    """The forms in which lm-eval logs a system text: itself, or its hash."""
    if not text:
        return {NONE}
    return {str(text), hashlib.sha256(str(text).encode()).hexdigest()}


def _four(seed: Any) -> list[Any]:
    """The four seeds that `--seed` sets."""
    listed = seed.split(",") if isinstance(seed, str) else seed
    values = list(listed) if isinstance(listed, Sequence) else [listed]
    return values * len(_SEEDS) if len(values) == 1 else values


def _seed_text(seeds: Sequence[Any]) -> str:
    texts = [_as_text(seed) for seed in seeds]
    return texts[0] if len(set(texts)) == 1 else ",".join(texts)


def _as_text(value: Any) -> str:
    """A value as it is compared: 5 and 5.0 are one, and so are words as YAML and Python have them.

    >>> _as_text(5.0), _as_text(True), _as_text("true"), _as_text(None)
    ('5', 'true', 'true', 'none')
    """
    text = str(value)
    if value in (None, "") or text.lower() in {"none", "null"}:
        return NONE
    if text.lower() in {"true", "false"}:
        return text.lower()
    try:
        return f"{float(text):.12g}"
    except ValueError:
        return text
