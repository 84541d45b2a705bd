"""Write eval_config.yaml, requirements.txt and a quick start, for an evalprep without a clone.

JSON schemas of eval_config.yaml, pack.yaml and policy.yaml go into `schemas/`: an editor with the
YAML language server completes keys and marks mistakes by them. The first line of a file names its
schema: `# yaml-language-server: $schema=schemas/policy.schema.json`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from evalprep.errors import BadInput, Problem
from evalprep.files import read_text, write_atomically
from evalprep.places import CONFIG
from evalprep.terminal import print_json

DEMO_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
SLOW_LIMIT = 2  # the first look at the demo takes minutes, not an hour
_CONFIG = """\
{schema}
# Relative paths start at this file's folder. docs/config.md explains every key; the keys of a pack
# (`evalprep list packs`) stand in a section of its name.

model_name: {model}   # a hub id or a local folder
tasks: meta_instruct   # task, group or pack names with commas: `evalprep list`; lm-eval's own, too
backend: {backend}   # vllm, hf, or a server: vllm-server, local-completions, local-chat-completions
limit: {limit}   # samples of each task: a number, a share below 1, or null for all
output_path: eval_results   # where results go

# The data of the demo. Leave these lines out for other models and tasks.
evals_dataset: demo/SmolLM2-135M-Instruct-evals   # published verdicts, or those of your model
ground_truth: {{ifeval: demo/ground_truth/ifeval, math: demo/ground_truth/math}}
max_model_len: 1024   # prompt plus longest reply, in tokens
"""
_REQUIREMENTS = """\
# pip install -r requirements.txt
{words}{requirement}
"""
_SLOW = f"""\
On a CPU the hf back end takes
minutes for a batch, so it asks {SLOW_LIMIT} rows of each task; `--set limit=null` asks all of them.
"""
# What pip fetches on a machine without a GPU is told where it is written.
_WITHOUT_GPU = {
    "hf": """\
# On Linux the usual torch is a CUDA build of several GB. Without a GPU, before the above:
# pip install torch --index-url https://download.pytorch.org/whl/cpu
""",
    "vllm": """\
# This is the CUDA build of vLLM: install it on a machine with an NVIDIA GPU.
# Without one: evalprep init --backend hf
""",
}
_QUICK_START = """\
# Quick start

```sh
pip install -r requirements.txt
evalprep run                # prepares eval_config.yaml, runs, scores, compares, reports
```

Or step by step, with lm-eval's own command in the middle:

```sh
evalprep prepare            # reads eval_config.yaml, writes work_dir/, prints the lm_eval command
sh work_dir/command.sh      # the same command; or paste it
evalprep compare eval_results
evalprep report eval_results
```

As written, eval_config.yaml runs the demo: a small model on a small data set. {slow}`evalprep list`
shows what else there is.

Your own questions, from a spreadsheet saved as CSV:

```sh
evalprep new-pack mine --template_dir packs --data my.csv \\
  --prompt 'Question: {{question}}' --target answer
evalprep run --tasks mine --set template_dir=packs
```

`evalprep VERB --help` explains each verb.
"""


_CARD = "model_card.md"
_CONFIG_SCHEMA = "schemas/eval_config.schema.json"
PACK_SCHEMA = "schemas/pack.schema.json"
_POLICY_SCHEMA = "schemas/policy.schema.json"


def schema_line(place: str) -> str:
    """Returns the first line of a YAML file, by which an editor finds its schema."""
    return f"# yaml-language-server: $schema={place}"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add(
        "folder",
        nargs="?",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where to write (default: here)",
    )
    add(
        "--model",
        metavar="NAME",
        default=DEMO_MODEL,
        help=f"a hub id or a local folder (default: {DEMO_MODEL})",
    )
    add(
        "--backend",
        choices=tuple(_WITHOUT_GPU),
        help="what runs the model (default: vllm on a GPU or where it is installed, else hf)",
    )
    add(
        "--model_card",
        action="store_true",
        help="write the form of a model's card for the reports of packs, and nothing else",
    )
    add(
        "--schemas",
        action="store_true",
        help="write the JSON schemas anew, with the keys of your packs, and nothing else",
    )
    add("--json", action="store_true", help="print the result as JSON")


def main(args: argparse.Namespace) -> int:
    """Write the files, or none of them."""
    if args.model_card:
        return _write_card(args)
    if args.schemas:
        texts = _schemas(args.folder / CONFIG)
        for name, text in texts.items():
            (args.folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(args.folder / name, text)
        written = [str(args.folder / name) for name in texts]
        if args.json:
            print_json({"written": written})
        else:
            print("\n".join(f"wrote {path}" for path in written))
        return 0
    from evalprep.backends import HF
    from evalprep.model import gpu_names, suited_backend

    suited, reason = suited_backend()
    backend = args.backend or suited.name
    has_gpu = bool(gpu_names())
    slow = backend == HF.name and not has_gpu
    # Name -> text of what is written.
    words = "" if has_gpu else _WITHOUT_GPU[backend]
    # The five keys that a first config needs, and those of the demo's data.
    limit = str(SLOW_LIMIT) if slow else "null"
    files = {
        CONFIG.name: _CONFIG.format(
            schema=schema_line(_CONFIG_SCHEMA),
            model=json.dumps(args.model, ensure_ascii=False),
            backend=backend,
            limit=limit,
        ),
        "requirements.txt": _REQUIREMENTS.format(requirement=_requirement(backend), words=words),
        "QUICKSTART.md": _QUICK_START.format(slow=_SLOW if slow else ""),
        **_schemas(CONFIG),
    }
    _refuse_taken(args.folder, files)
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (args.folder / name).parent.mkdir(exist_ok=True)
        write_atomically(args.folder / name, text)
    written = [str(args.folder / name) for name in files]
    config_option = "" if args.folder == Path() else f" {written[0]}"
    next_step = f"evalprep run{config_option}"
    if args.json:
        print_json({"written": written, "backend": backend, "next": next_step})
        return 0
    for path in written:
        print(f"wrote {path}")
    if slow:
        print(f"limit: {SLOW_LIMIT} rows of each task, for a first look")
    print(f"backend: {backend}, {'' if backend == suited.name else 'though '}{reason}")
    print(f"next: {next_step}")
    return 0


def _write_card(args: argparse.Namespace) -> int:
    """Writes the form that a pack has for the card of a model."""
    from evalprep.packs import find_packs

    forms = [pack.folder / _CARD for pack in find_packs(()).values()]
    form = next(path for path in forms if path.is_file())
    _refuse_taken(args.folder, [_CARD])
    args.folder.mkdir(parents=True, exist_ok=True)
    path = args.folder / _CARD
    write_atomically(path, read_text(form))
    if args.json:
        print_json({"written": [str(path)]})
    else:
        print(f"wrote {path}")
        print("next: fill it in, put it beside the results, then evalprep score RUN")
    return 0


def _schemas(config: Path) -> dict[str, str]:
    """Name -> text of the schemas, with the packs that a config names where there is one."""
    from evalprep.config import config_schema
    from evalprep.gate import policy_schema
    from evalprep.packs import find_packs, pack_schema
    from evalprep.verbs.options import folders_of_config

    packs = find_packs(folders_of_config(config))
    schemas = {
        _CONFIG_SCHEMA: config_schema(packs, _CONFIG_SCHEMA),
        PACK_SCHEMA: pack_schema(PACK_SCHEMA),
        _POLICY_SCHEMA: policy_schema(_POLICY_SCHEMA),
    }
    return {name: json.dumps(schema, indent=1) + "\n" for name, schema in schemas.items()}


def _requirement(extra: str) -> str:
    """The line by which pip installs this evalprep with a back end.

    One that was installed from a wheel, a folder or a repository is named by that place, as no
    index may have it.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    from evalprep import __version__

    with contextlib.suppress(PackageNotFoundError):
        origin = json.loads(distribution("evalprep").read_text("direct_url.json") or "{}")
        url = str(origin.get("url", ""))
        if source := origin.get("vcs_info"):
            url = f"{source['vcs']}+{url}@{source['commit_id']}"
        if origin.get("dir_info", {}).get("editable"):
            return f"-e {url}[{extra}]"
        if url:
            return f"evalprep[{extra}] @ {url}"
    return f"evalprep[{extra}]=={__version__}"


def _refuse_taken(folder: Path, names: Iterable[str]) -> None:
    """Refuses a folder that holds one of the files already.

    Raises:
        BadInput: it does, or it is a file itself.
    """
    fix = "name another folder: evalprep init DIR"
    paths = [str(folder / name) for name in names if (folder / name).exists()]
    if paths:
        raise BadInput([Problem(what="exists already", where=path, fix=fix) for path in paths])
    if folder.exists() and not folder.is_dir():
        raise BadInput(Problem(what="is not a folder", where=str(folder), fix=fix))
