"""Result files in OpenUnlearning's layout.

They are `TOFU_EVAL.json`, `TOFU_SUMMARY.json`, those of MUSE, and `LMEval_SUMMARY.json`.

Values are `{"agg_value": x, "value_by_index": {"0": {...}}}` with rows by position in the split, so
that the files serve as reference logs there and here. `meta` says what each metric was computed
from. A metric that the file already has is kept as it is while its fingerprint is the same; a
metric without a value is never kept. A file of another model, or one that this pack did not write,
is left alone: the new ones then go into a folder named after the model.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from custom_metrics import token_logprobs, unlearning
from custom_metrics.finite import strict_json
from custom_metrics.unlearning.utility import summary
from evalprep.packapi import (
    ExportRun,
    file_sha256,
    indented_json,
    last_part,
    make_folder,
    write_atomically,
)

from .harness import HARNESS, HARNESS_ROWS, harness_summary, read_object, write_rows
from .names import suite_of, upstream_name

SCHEMA = 1
#: Tasks and groups of lm-eval that OpenUnlearning evaluates, too.
ALSO = ("wmdp", "wmdp_*")

DEFAULTS = {
    "TOFU": (
        *(
            "forget_truth_ratio",
            "forget_quality",
            "forget_Q_A_Prob",
            "forget_Q_A_ROUGE",
            "model_utility",
        ),
        *("privleak", "extraction_strength"),
    ),
    "MUSE": (
        *("forget_knowmem_ROUGE", "retain_knowmem_ROUGE", "forget_verbmem_ROUGE", "privleak"),
        "extraction_strength",
    ),
}
#: Model arguments that make another model of the same name.
VARIANTS = ("revision", "peft", "lora_local_path", "delta")


def export(*, scores: Mapping[str, Mapping[str, Any]], run: ExportRun, out_dir: Path) -> list[Path]:
    """Writes the result files of the suites that the run has.

    The numbers of lm-eval's own tasks stand beside them.

    Args:
        scores: Score name -> result.
        run: The run that was scored.
        out_dir: Folder of the files.

    Returns:
        The files written.
    """
    out_dir = Path(out_dir)
    written: list[Path] = []
    for suite in DEFAULTS:
        own = {
            upstream_name(name): result
            for name, result in scores.items()
            if suite_of(name) == suite
        }
        if own:
            written += _write_suite(suite, own, run, out_dir)
    numbers = harness_summary(run)
    if numbers:
        # These files name no model, only the folder may.
        folder = next(
            place
            for place in _folders(out_dir, _model(run))
            if place != out_dir or read_object(place / HARNESS) in ({}, strict_json(numbers))
        )
        make_folder(folder, within=out_dir)
        _write(folder / HARNESS, numbers)
        written.append(folder / HARNESS)
        if write_rows(run, folder / HARNESS_ROWS):
            written.append(folder / HARNESS_ROWS)
    return written


def _write_suite(
    suite: str, results: Mapping[str, Mapping[str, Any]], run: ExportRun, out_dir: Path
) -> list[Path]:
    tasks = {name: task for name, task in run.tasks.items() if name.startswith(f"{suite.lower()}_")}
    # What decides the samples of each task: their file, the data and the prompt settings.
    facts = {
        name: {
            "samples": Path(task.path).name,
            "samples_sha256": task.digest(),
            "rule": task.metadata.get("rule"),
            "settings": dict(task.metadata.get("unlearning") or {}),
            "token_logprobs": dict(task.metadata.get("token_logprobs") or {}),
        }
        for name, task in tasks.items()
    }
    model = _model(run)
    # The first folder whose result file may be replaced, and what that file holds.
    places = (
        (place, _known(place / f"{suite}_EVAL.json", model)) for place in _folders(out_dir, model)
    )
    folder, known = next((place, content) for place, content in places if content is not None)
    content: dict[str, Any] = {}
    metrics: dict[str, Any] = {}
    for name, result in results.items():
        fingerprint = _fingerprint(name, result, model, facts)
        content[name] = _kept(name, known, fingerprint) or strict_json(
            {key: value for key, value in result.items() if key != "distributions"}
        )
        skipped = content[name].get("skipped", {})
        metrics[name] = {"fingerprint": fingerprint, "skipped": skipped}
    content["meta"] = {
        "schema": SCHEMA,
        "suite": suite,
        **model,
        "model_args": run.settings.get("model_args"),
        "lm_eval_version": run.lm_eval_version,
        "rules": _rules(),
        "tasks": facts,
        "metrics": metrics,
    }
    # The suite's usual metrics, then those that its tasks were prepared with.
    configured = dict.fromkeys(DEFAULTS[suite])
    for facts_of_task in facts.values():
        configured |= dict.fromkeys(facts_of_task["settings"].get("metrics", []))
    short = summary(logs=content, configured_metrics=list(configured))
    make_folder(folder, within=out_dir)
    files = [folder / f"{suite}_EVAL.json", folder / f"{suite}_SUMMARY.json"]
    for file, written in zip(files, (content, short), strict=True):
        _write(file, written)
    return files


def _kept(name: str, known: Mapping[str, Any], fingerprint: str) -> dict[str, Any] | None:
    """Returns a metric's earlier result where it has a value and was computed from the same."""
    metrics = known.get("meta", {}).get("metrics", {})
    result = known.get(name)
    if metrics.get(name, {}).get("fingerprint") != fingerprint or not isinstance(result, dict):
        return None
    return result if result.get("agg_value") is not None else None


def _model(run: ExportRun) -> dict[str, Any]:
    """Returns what tells one model from another.

    That is its name, and its revision and adapter where it has some.
    """
    arguments = run.settings.get("model_args")
    named = arguments if isinstance(arguments, Mapping) else {}
    return {"model": run.model, **{key: named[key] for key in VARIANTS if named.get(key)}}


def _folders(out_dir: Path, model: Mapping[str, Any]) -> Iterator[Path]:
    """Yields where the files of a model may go, the first choice first."""
    yield out_dir
    name = re.sub(r"[^\w.-]+", "_", last_part(str(model["model"]))) or "model"
    yield out_dir / name
    digest = hashlib.sha256(json.dumps(model, sort_keys=True, default=str).encode()).hexdigest()
    yield from (out_dir / f"{name}-{digest[:length]}" for length in range(8, len(digest) + 1))


def _known(file: Path, model: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns what a result file of this model holds.

    Empty where there is none, None for a file that is not to be replaced.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        meta = content["meta"]
        same = all(meta.get(key) == model.get(key) for key in ("model", *VARIANTS))
        return content if same and isinstance(meta["metrics"], dict) else None
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


@functools.cache
def _rules() -> str:
    """Digest of all that turns samples into numbers.

    Numbers of other formulas or parameters are not kept.
    """
    pack = Path(__file__).parent
    files = [pack / "pack.yaml", *sorted(pack.glob("*.py"))]
    for module in (token_logprobs, unlearning):
        files += sorted(Path(str(module.__file__)).parent.glob("*.py"))
    return hashlib.sha256("".join(map(file_sha256, files)).encode()).hexdigest()


def _fingerprint(
    name: str, result: Mapping[str, Any], model: Mapping[str, Any], facts: Mapping[str, Any]
) -> str:
    """Hash of everything a metric was computed from.

    All samples of the suite, the rules, the model, the reference; where the data lie says nothing.
    """
    basis = {
        "metric": name,
        "rules": _rules(),
        "model": model,
        "samples": {task: fact["samples_sha256"] for task, fact in facts.items()},
        "options": {
            task: [{**fact["settings"], "data": None}, fact["token_logprobs"]]
            for task, fact in facts.items()
        },
        "reference": result.get("reference_sha256"),
        "judgements": result.get("judgements_sha256"),
    }
    return hashlib.sha256(
        json.dumps(strict_json(basis), sort_keys=True, default=str).encode()
    ).hexdigest()


def _write(file: Path, content: Mapping[str, Any]) -> None:
    write_atomically(file, indented_json(content, indent=4, sort_keys=True) + "\n")
