"""Show the prompts of a task as the model gets them, and what the scorer would say of known replies."""

from __future__ import annotations

import argparse
import json
import shutil
from typing import Any

from evalprep.check import Findings, FullCheck, RunSettings, StaticCheck
from evalprep.check.full import find_tokenizer
from evalprep.check.preview import Preview, Request, preview_task
from evalprep.check.quiet import stdout_is_ours
from evalprep.errors import BadInput
from evalprep.prepare.target import add_arguments, at_least_one, targets
from evalprep.terminal import counted

_HEAD, _TAIL = 48, 24  # tokens shown without --all
_UNREAD = 5  # unreadable files named where a task is not found
_CUT = 600  # characters of a reply shown without --all


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("task", help="a task of the config or of the folder")
    parser.add_argument("-n", type=at_least_one, default=1, metavar="N", help="how many rows (default: 1)")
    parser.add_argument("--row", default=None, metavar="ID", help="the row with this sample_id or position")
    parser.add_argument("--all", action="store_true", help="show every token and whole replies")
    parser.add_argument("--json", action="store_true", help="print as JSON, with every token")
    add_arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Print the rows."""
    from evalprep.check.static import check_static

    previews: list[Preview] = []
    for manager in targets(args):
        with manager as target, stdout_is_ours():
            findings = Findings()
            static = check_static(
                target.roots, [args.task] if args.include_path else target.requested, target.settings, findings
            )
            static.leaves = [leaf for leaf in static.leaves if leaf.name == args.task] or static.leaves
            done = _load(static, target.settings, findings)
            _refuse_failed(args.task, done, findings)
            previews += preview_task(done, target.settings, args.task, args.n, args.row)
    if args.json:
        print(json.dumps([preview.as_dict() for preview in previews], indent=2, ensure_ascii=False, default=str))
    else:
        for preview in previews:
            print(_text(preview, whole=args.all))
    return 0


def _refuse_failed(name: str, done: FullCheck, findings: Findings) -> None:
    """A task that is there and cannot be shown.

    Raises:
        BadInput: with the findings that say why.
    """
    if any(task.name == name and task.instances for task in done.loaded):
        return
    told = [one for one in findings.sorted() if one.code != "EP108"]
    of_task = [one for one in told if one.task == name]
    reasons = [one for one in of_task if one.level == "error" or one.code == "EP302"]
    if name not in done.static.tree.names():  # its file may be one that cannot be read
        unread = [one for one in told if one.code.startswith("EP1") and one.level == "error" and not one.task]
        reasons += unread[:_UNREAD]
    if reasons:
        raise BadInput([one.as_problem() for one in reasons])


def _load(static: StaticCheck, settings: RunSettings, findings: Findings) -> FullCheck:
    """Load the task and its requests; its scorer too, without scoring all rows."""
    from evalprep.check.chat import chat_template
    from evalprep.check.loading import load_tasks
    from evalprep.check.requests import build_requests
    from evalprep.check.scorer import Scorer

    tokenizer = find_tokenizer(settings)
    loaded = load_tasks(static, settings, findings)
    for task in loaded:
        build_requests(task, settings, chat_template(tokenizer, settings), findings)
    scorers = {task.name: Scorer(task) for task in loaded if task.instances and not task.own}
    return FullCheck(static, loaded, scorers, tokenizer)


def _text(preview: Preview, *, whole: bool) -> str:
    lines = [f"=== {preview.task}, row {preview.row}", ""]
    for number, request in enumerate(preview.requests):
        before = preview.requests[number - 1] if number else None
        lines += _request(f"request {number + 1} of {len(preview.requests)}", request, before, whole=whole)
    lines += ["", f"target: {preview.target!r}"]
    if preview.bos_count is not None:
        lines.append(f"begin-of-text tokens at the start: {preview.bos_count}")
    if preview.arguments:
        count, budget = len(preview.requests[0].tokens), preview.budget
        lines += [
            f"stop strings: {preview.stops or 'none, the end-of-text token alone'}",
            "generation arguments: " + ", ".join(f"{key}={value!r}" for key, value in preview.arguments.items()),
        ]
        if count and preview.context:
            lines.append(f"context: {count} prompt + {budget} reply = {count + budget} of {preview.context} tokens")
    for label, verdict in preview.verdicts.items():
        lines += ["", *_verdict(label, verdict, whole=whole)]
    return "\n".join([*lines, ""])


def _request(label: str, request: Request, before: Request | None, *, whole: bool) -> list[str]:
    """One request; a context that the one before had is not shown again."""
    head = f"--- {label}: {request.kind}, {len(request.text)} characters"
    lines = [head + (f", {len(request.tokens)} tokens" if request.tokens else "")]
    context, continuation = request.text[: request.context], request.text[request.context :]
    repeats = not whole and before is not None and context == before.text[: before.context]
    scored = request.scored
    lines.append("(the same context)" if repeats else context)
    if continuation:
        lines.append(f"--- continuation\n{continuation!r}")
    if not request.tokens:
        return [*lines, "--- tokens: the tokenizer is not here"]
    if not (repeats and scored is not None):
        lines += ["--- tokens", _tokens(request.tokens[:scored], whole=whole)]
    if scored is not None:
        count = len(request.tokens) - scored
        lines += [f"--- {counted(count, 'token')} scored", _tokens(request.tokens[scored:], whole=whole)]
    return lines


def _tokens(tokens: list[tuple[int, str]], *, whole: bool) -> str:
    """Tokens with their ids in lines as wide as the terminal; a token is never broken."""
    shown = [f"{number}:{text!r}" for number, text in tokens]
    if not whole and len(shown) > _HEAD + _TAIL:
        shown = [*shown[:_HEAD], f"... {len(shown) - _HEAD - _TAIL} more ...", *shown[-_TAIL:]]
    width, lines = shutil.get_terminal_size().columns, [""]
    for one in shown:
        if lines[-1] and len(lines[-1]) + 1 + len(one) > width:
            lines.append("")
        lines[-1] += f" {one}" if lines[-1] else one
    return "\n".join(lines)


def _verdict(label: str, verdict: dict[str, Any], *, whole: bool) -> list[str]:
    reply = (
        verdict["reply"]
        if whole or len(verdict["reply"]) <= _CUT
        else f"{verdict['reply'][:_CUT]} ... ({len(verdict['reply'])} characters)"
    )
    lines = [f"--- {label} reply", reply]
    if "error" in verdict:
        return [*lines, f"the scorer raises {verdict['error']}"]
    for name, found in verdict["filters"].items():
        # lm-eval's own metrics are numbers of numpy, whose repr says so.
        plain = {key: value.item() if hasattr(value, "item") else value for key, value in found["metrics"].items()}
        metrics = ", ".join(f"{key}={value!r}" for key, value in plain.items())
        lines.append(f"filter {name}: extracted {str(found['extracted'])[:_CUT]!r}; {metrics}")
    if "published_verdict" in verdict:
        lines.append(f"published verdict: {'right' if verdict['published_verdict'] else 'wrong'}")
    return lines
