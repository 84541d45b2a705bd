"""EP735: a model whose own code has to run, which nothing allows."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from evalprep.check.finding import Findings
from evalprep.check.settings import RunSettings
from evalprep.files import read_text
from evalprep.model import own_code

#: Back ends that load the model by transformers or vLLM; servers load it by their own settings.
_LOADING = frozenset({"hf", "vllm", "vllm-vlm", "hf-multimodal", "sglang"})
#: Where the installed packages list the architectures that they bring along.
_LISTS = {
    "transformers": ("models/auto/configuration_auto.py", "models/auto/auto_mappings.py"),
    "vllm": ("transformers_utils/config.py",),
}


def check_remote_code(folder: Path, settings: RunSettings, findings: Findings) -> None:
    """Reports a model that is loaded by code beside its weights, where that is not allowed."""
    backend = settings.backend
    if backend is None or backend not in _LOADING:
        return
    if str(settings.core.model_args.get("trust_remote_code", "")).lower() in {"true", "1"}:
        return
    kind, code = own_code(folder)
    packages = ("transformers", "vllm") if backend.startswith("vllm") else ("transformers",)
    if not code or any(_brings_along(package, kind) for package in packages):
        return
    what = f"model_type {kind or 'none'} is loaded by {code}, code of {folder}"
    fix = "model_args: {trust_remote_code: true}, once you have read that file"
    findings.add("EP735", "model_name", what, fix=fix)


@cache
def _brings_along(package: str, kind: str) -> bool:
    """Returns whether an installed package loads models of a type by code of its own."""
    spec = find_spec(package)
    if not kind or spec is None or spec.origin is None:
        return False
    files = (Path(spec.origin).parent / name for name in _LISTS[package])
    return any(f'"{kind}"' in read_text(file, own=True) for file in files if file.is_file())
