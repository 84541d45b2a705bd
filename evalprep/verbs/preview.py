"""Print the prompts of a task as the model gets them, and the scores of known replies."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalprep.check import (
    Finding,
    Findings,
    FullCheck,
    Preview,
    Request,
    RunSettings,
    StaticCheck,
    find_tokenizer,
    preview_task,
    stdout_is_ours,
)
from evalprep.errors import BadInput
from evalprep.numbers import at_least_one
from evalprep.prepare import add_arguments, targets
from evalprep.terminal import counted, print_json

_HEAD, _TAIL = 48, 24  # tokens shown without --all
_UNREAD = 5  # unreadable files named where a task is not found
_CUT = 600  # characters of a reply shown without --all


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    add = parser.add_argument
    add("task", metavar="TASK", help="a task of the config or of the folder")
    add("-n", type=at_least_one, default=1, metavar="N", help="how many rows (default: 1)")
    add("--row", default=None, metavar="ID", help="the row with this sample_id or position")
    add("--all", action="store_true", help="show every token and whole replies")
    add("--json", action="store_true", help="print as JSON, with every token")
    add_arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Prints the rows."""
    place = Path(args.task)
    if args.work_dir is not None and place.exists() and not args.work_dir.exists():
        args.task, args.work_dir = str(args.work_dir), place
    previews: list[Preview] = []
    for manager in targets(args):
        with manager as target, stdout_is_ours():
            from evalprep.check import check_static

            # The rows of the task in one target.
            findings = Findings()
            requested = [args.task] if args.include_path else target.requested
            settings = target.settings
            static = check_static(target.roots, requested, settings, findings)
            leaves_of_task = [leaf for leaf in static.leaves if leaf.name == args.task]
            if leaves_of_task:
                static.leaves = leaves_of_task
            check = _load(static, settings, findings)
            _refuse_failed(args.task, check, target.final(findings))
            previews += preview_task(check, settings, args.task, args.n, args.row)
    if args.json:
        data = [preview.as_dict() for preview in previews]
        print_json(data, default=str)
        return 0
    for preview in previews:
        lines = [f"=== {preview.task}, row {preview.row}", ""]
        before = None
        for number, request in enumerate(preview.requests, 1):
            label = f"request {number} of {len(preview.requests)}"
            lines += _request(label, request, before, whole=args.all)
            before = request
        lines += ["", f"target: {preview.target!r}"]
        if preview.bos_count is not None:
            lines.append(f"begin-of-text tokens at the start: {preview.bos_count}")
        if preview.arguments:
            lines += _generation(preview)
        for label, verdict in preview.verdicts.items():
            lines += ["", *_verdict(label, verdict, whole=args.all)]
        print("\n".join([*lines, ""]))
    return 0


def _refuse_failed(name: str, check: FullCheck, findings: Sequence[Finding]) -> None:
    """Refuses a task that is there and cannot be shown.

    Raises:
        BadInput: with the findings that say why.
    """
    shown = [task for task in check.loaded if task.name == name and task.instances]
    # EP108 would only repeat the name of the task.
    others = [finding for finding in findings if finding.code != "EP108"]
    reasons = [
        finding
        for finding in others
        if finding.task == name and (finding.level == "error" or finding.code == "EP302")
    ]
    if name not in check.static.tree.names():
        # It may be in a file that cannot be read.
        errors = [finding for finding in others if finding.level == "error" and not finding.task]
        reasons += [finding for finding in errors if finding.code.startswith("EP1")][:_UNREAD]
    if reasons and not shown:
        raise BadInput([finding.as_problem() for finding in reasons])


def _load(static: StaticCheck, settings: RunSettings, findings: Findings) -> FullCheck:
    """Loads the task and its requests; its scorer too, without scoring all rows."""
    from evalprep.check import Scorer, build_requests, chat_template, load_tasks

    tokenizer = find_tokenizer(settings)
    loaded = load_tasks(static, settings, findings)
    for task in loaded:
        own_settings = settings.of(task.name)
        template = chat_template(tokenizer, own_settings)
        build_requests(task, own_settings, template, findings)
    scorers = {}
    for task in loaded:
        if task.instances and not task.own:
            scorers[task.name] = Scorer(task)
    return FullCheck(static, loaded, scorers, tokenizer)


def _generation(preview: Preview) -> list[str]:
    """Returns how the reply is generated.

    Stop strings, arguments, and the tokens that there are for it.
    """
    stops = preview.stops or "none, the end-of-text token alone"
    arguments = _assignments(preview.arguments)
    lines = [f"stop strings: {stops}", f"generation arguments: {', '.join(arguments)}"]
    prompt, reply = len(preview.requests[0].tokens), preview.budget
    if prompt and preview.context:
        total = f"{prompt} prompt + {reply} reply = {prompt + reply}"
        lines.append(f"context: {total} of {preview.context} tokens")
    return lines


def _request(label: str, request: Request, before: Request | None, *, whole: bool) -> list[str]:
    """One request; a context that the one before had is not shown again."""
    tokens, scored = request.tokens, request.scored
    head = f"--- {label}: {request.kind}, {len(request.text)} characters"
    if tokens:
        head += f", {len(tokens)} tokens"
    context = _context(request)
    continuation = request.text[request.context :]
    repeats = False
    if before is not None and not whole:
        repeats = context == _context(before)
    lines = [head, "(the same context)" if repeats else context]
    if continuation:
        lines.append(f"--- continuation\n{continuation!r}")
    if not tokens:
        return [*lines, "--- tokens: the tokenizer is not on this machine"]
    if not repeats or scored is None:
        lines += ["--- tokens", _tokens(tokens[:scored], whole=whole)]
    if scored is not None:
        title = f"--- {counted(len(tokens) - scored, 'token')} scored"
        lines += [title, _tokens(tokens[scored:], whole=whole)]
    return lines


def _context(request: Request) -> str:
    return request.text[: request.context]


def _tokens(tokens: list[tuple[int, str]], *, whole: bool) -> str:
    """Tokens with their ids in lines as wide as the terminal; a token is never broken."""
    shown = [f"{number}:{text!r}" for number, text in tokens]
    hidden = len(shown) - _HEAD - _TAIL
    if hidden > 0 and not whole:
        shown = [*shown[:_HEAD], f"... {hidden} more ...", *shown[-_TAIL:]]
    width = shutil.get_terminal_size().columns
    lines = [""]
    for token in shown:
        line = f"{lines[-1]} {token}" if lines[-1] else token
        if lines[-1] and len(line) > width:
            lines.append(token)
        else:
            lines[-1] = line
    return "\n".join(lines)


def _verdict(label: str, verdict: dict[str, Any], *, whole: bool) -> list[str]:
    reply = verdict["reply"]
    if not whole and len(reply) > _CUT:
        reply = f"{reply[:_CUT]} ... ({len(reply)} characters)"
    lines = [f"--- {label} reply", reply]
    if "error" in verdict:
        return [*lines, f"the scorer raises {verdict['error']}"]
    for name, result in verdict["filters"].items():
        metrics = {
            key: value.item() if hasattr(value, "item") else value
            for key, value in result["metrics"].items()
        }
        values = ", ".join(_assignments(metrics))
        extracted = str(result["extracted"])[:_CUT]
        lines.append(f"filter {name}: extracted {extracted!r}; {values}")
    if "published_verdict" in verdict:
        published = "right" if verdict["published_verdict"] else "wrong"
        lines.append(f"published verdict: {published}")
    return lines


def _assignments(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value!r}" for name, value in values.items()]
