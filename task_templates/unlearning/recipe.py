"""The configuration of OpenUnlearning that a model is asked by (recipes.yaml).

A config can change it; the changes are listed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from evalprep.packapi import BadInput, Context, Problem, near, read_object

RULE = "openunlearning"  # of published values, and of runs that follow a configuration
AUTO, OWN = "auto", "own"
#: The choice of `openunlearning` about rows without a value.
MISSING = "missing"
_CONTENT = yaml.safe_load(Path(__file__).with_name("recipes.yaml").read_text(encoding="utf-8"))
CONFIGURATIONS: dict[str, dict[str, Any]] = _CONTENT["configurations"]
#: Models that people take for one of these, and that OpenUnlearning has no configuration for.
UNPUBLISHED: dict[str, dict[str, Any]] = _CONTENT["unpublished"]
#: Keys whose other values make another score.
_SCORING = {
    "question_key": "question",
    "min_k": 0.4,
    "gradient_norm": 2,
    "rouge_stemmer": True,
    "cut_reference": False,
    "strict_extraction": False,
}
#: The keys of a config that a recipe sets.
KEYS = ("prompts", "system_prompt", "template_arguments", "plain_tags", "openunlearning")


@dataclass(frozen=True)
class Choices:
    """The user's choices for the questions of a run.

    Attributes:
        prompts, system_prompt, template_arguments, plain_tags, openunlearning: As the keys of the
        config.
        recipe: The configuration of OpenUnlearning; empty without one.
        why: How it was found.
        changed: Keys that the config sets otherwise than it.
        without_recipe: The model, where it is known that OpenUnlearning has no recipe for it.
        has_scores: OpenUnlearning published scores of models with this recipe.
    """

    prompts: str
    system_prompt: str
    template_arguments: Mapping[str, Any]
    plain_tags: Mapping[str, str]
    openunlearning: list[str]
    recipe: str = ""
    why: str = ""
    changed: tuple[str, ...] = field(default=())
    without_recipe: str = ""
    has_scores: bool = True

    @property
    def rule(self) -> str | None:
        """The rule of the published values, where nothing of the recipe is changed."""
        return RULE if self.recipe and not self.changed else None

    @property
    def sentence(self) -> str:
        """Returns what is said at preparation."""
        if not self.recipe:
            reason = ""
            if self.without_recipe:
                reason = f"OpenUnlearning has published none for {self.without_recipe}; "
            return (
                f"recipe: {reason}the pack's own choices; published values of OpenUnlearning are "
                "not shown beside them"
            )
        words = f"recipe: OpenUnlearning's {self.recipe} ({self.why})"
        if self.changed:
            return (
                f"{words}, but for {', '.join(self.changed)}: published values are not "
                "shown beside it"
            )
        if self.has_scores:
            return words
        return f"{words}; no scores are published for it"


def choices_of(context: Context) -> Choices:
    """The choices of this run, made once.

    Raises:
        BadInput: `recipe: openunlearning` for a model that none of its configurations is for.
    """
    return context.once("choices", partial(_choose, context))


def _choose(context: Context) -> Choices:
    section = context.section
    own = {key: getattr(section, key) for key in KEYS}
    requested = str(section.recipe)
    name, why = "", ""
    if requested in CONFIGURATIONS:
        name, why = requested, "as named"
    elif requested in {AUTO, RULE}:
        name, why = recognised(context)
    if not name and requested not in {AUTO, OWN}:
        known = [RULE, AUTO, OWN, *CONFIGURATIONS]
        what, fix = f"unknown recipe {requested!r}", near(requested, known)
        if requested == RULE:
            what = f"no configuration of OpenUnlearning is for {context.config.core.model_name}"
            fix = "name the one that it was trained with"
        where = context.where("recipe")
        raise BadInput(Problem(what=what, where=where, allowed=", ".join(known), fix=fix))
    if not name:
        return Choices(**own, without_recipe=unpublished(context) if requested == AUTO else "")
    style = CONFIGURATIONS[name]["style"]
    # The style keys that the config sets itself.
    source = context.config.source.at(context.pack.name)
    set_here = {key: own[key] for key in KEYS if key in source and own[key] != AUTO}
    # Where lm-eval applies the chat template, prompts already differ from the recipe's.
    if context.config.core.apply_chat_template:
        set_here = {"prompts": "harness", **set_here}
    models = (str(entry["model"]) for entry in context.pack.published["scores"])
    # MUSE's models are Llama-2-7b without its name.
    other_name = "MUSE-" if name == "Llama-2-7b-hf" else name
    return Choices(
        **{**own, **style, **set_here},
        recipe=name,
        why=why,
        changed=tuple(_changes(section, style, set_here)),
        has_scores=any(name in model or other_name in model for model in models),
    )


def _changes(section: Any, style: Mapping[str, Any], set_here: Mapping[str, Any]) -> Iterator[str]:
    """Yields the keys of the config that differ from the recipe."""
    for key, value in set_here.items():
        # What rows without a value do, no recipe says.
        prompted = [item for item in value if item != MISSING] if key == RULE else value
        if prompted != style.get(key, prompted):
            yield key
    for key, usual in _SCORING.items():
        if getattr(section, key) != usual:
            yield key


@dataclass(frozen=True)
class _Files:
    """The files of the run's model that tell what it is.

    Attributes:
        config: Its config.json; empty without one.
        template: Its chat template; empty without one.
    """

    config: Mapping[str, Any]
    template: str

    @property
    def kind(self) -> str | None:
        """The architecture; None where it is not known."""
        return self.config.get("model_type")

    @classmethod
    def of(cls, context: Context) -> _Files:
        """Reads the files, as far as the model lies here."""
        folder = Path(context.locate(str(context.config.core.model_name)))
        template = read_object(folder / "tokenizer_config.json").get("chat_template")
        text_file = folder / "chat_template.jinja"
        if not template and text_file.is_file():
            template = text_file.read_text(encoding="utf-8", errors="replace")
        text = json.dumps(template, ensure_ascii=False) if template else ""
        return cls(read_object(folder / "config.json"), text)


def recognised(context: Context) -> tuple[str, str]:
    """The configuration for the run's model and how it was found, by its name, then by its shape.

    Empty for none.
    """
    model = str(context.config.core.model_name)
    files = _Files.of(context)
    origin = str(files.config.get("_name_or_path") or "")
    # The folder first, then the place that it was trained from; a folder may be named
    # checkpoint-60.
    for text, why in ((model, "by its name"), (origin, "by the model it was made from")):
        name = _by_name(text, files.kind, CONFIGURATIONS)
        if name:
            return name, why
    # Another model of the same shape is no reason to take it for one that has a recipe.
    if unpublished(context):
        return "", ""
    name = _by_shape(files, CONFIGURATIONS)
    if name:
        return (name, "by its architecture and shape")
    return ("", "")


def unpublished(context: Context) -> str:
    """The model's own name, where it is known that no recipe is published for it."""
    files = _Files.of(context)
    texts = (str(context.config.core.model_name), str(files.config.get("_name_or_path") or ""))
    names = (_by_name(text, files.kind, UNPUBLISHED) for text in texts)
    return next(filter(None, names), "") or _by_shape(files, UNPUBLISHED)


def _by_name(text: str, kind: str | None, models: Mapping[str, Mapping[str, Any]]) -> str:
    """The model that a name or path means; empty for none.

    The last three parts count, the last one first.
    """
    parts = re.sub(r"[_.]", "-", text.lower()).rstrip("/").split("/")
    for part in reversed(parts[-3:]):
        for name, model in models.items():
            fits = kind in (None, model["type"])
            if fits and any(re.search(pattern, part) for pattern in model["names"]):
                return name
    return ""


def _by_shape(files: _Files, models: Mapping[str, Mapping[str, Any]]) -> str:
    """The model of that architecture and shape, chat template included; empty for none."""
    for name, model in models.items():
        if files.kind != model["type"] or "shape" not in model:
            continue
        has_shape = model["shape"].items() <= files.config.items()
        has_template = bool(files.template)
        is_chat_known = model.get("chat", has_template) == has_template
        is_template_known = model.get("template", "") in files.template
        if has_shape and is_chat_known and is_template_known:
            return name
    return ""
