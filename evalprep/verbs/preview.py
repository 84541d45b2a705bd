"""Print the prompts of a task as the model gets them, and the scores of known replies."""

from __future__ import annotations

import argparse
import json
import shutil
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
from evalprep.prepare import Target, add_arguments, targets
from evalprep.terminal import counted

_HEAD, _TAIL = 48, 24  # tokens shown without --all
_UNREAD = 5  # unreadable files named where a task is not found
_CUT = 600  # characters of a reply shown without --all


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("task", metavar="TASK", help="a task of the config or of the folder")
    parser.add_argument(
        "-n", type=at_least_one, default=1, metavar="N", help="how many rows (default: 1)"
    )
    parser.add_argument(
        "--row", default=None, metavar="ID", help="the row with this sample_id or position"
    )
    parser.add_argument("--all", action="store_true", help="show every token and whole replies")
    parser.add_argument("--json", action="store_true", help="print as JSON, with every token")
    add_arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Print the rows."""
    previews: list[Preview] = []
    for manager in targets(args):
        with manager as target, stdout_is_ours():
            previews += _previews(target, args)
    if args.json:
        data = [preview.as_dict() for preview in previews]
        print(json.dumps(data, indent=2, ensure_ascii=False, default=str))
        return 0
    for preview in previews:
        print(_text(preview, whole=args.all))
    return 0


def _previews(target: Target, args: argparse.Namespace) -> list[Preview]:
    """The rows of the task in one target."""
    from evalprep.check import check_static

    findings = Findings()
    requested = [args.task] if args.include_path else target.requested
    static = check_static(target.roots, requested, target.settings, findings)
    of_task = [leaf for leaf in static.leaves if leaf.name == args.task]
    static.leaves = of_task or static.leaves
    done = _load(static, target.settings, findings)
    _refuse_failed(args.task, done, findings)
    return preview_task(done, target.settings, args.task, args.n, args.row)


def _refuse_failed(name: str, done: FullCheck, findings: Findings) -> None:
    """Refuse a task that is there and cannot be shown.

    Raises:
        BadInput: with the findings that say why.
    """
    shown = [task for task in done.loaded if task.name == name and task.instances]
    reasons = [finding for finding in findings.sorted() if _explains(finding, name)]
    if name not in done.static.tree.names():
        reasons += list(filter(_is_unread, findings.sorted()))[:_UNREAD]
    if reasons and not shown:
        raise BadInput([finding.as_problem() for finding in reasons])


def _explains(finding: Finding, task: str) -> bool:
    """Returns whether a finding on a task can be why it was not loaded.

    EP108 would only repeat its name.
    """
    is_reason = finding.level == "error" or finding.code == "EP302"
    return finding.task == task and is_reason and finding.code != "EP108"


def _is_unread(finding: Finding) -> bool:
    """Returns whether a finding is a file that cannot be read, which may be that of the task."""
    of_file = finding.code.startswith("EP1") and finding.code != "EP108"
    return of_file and finding.level == "error" and not finding.task


def _load(static: StaticCheck, settings: RunSettings, findings: Findings) -> FullCheck:
    """Load the task and its requests; its scorer too, without scoring all rows."""
    from evalprep.check import Scorer, build_requests, chat_template, load_tasks

    tokenizer = find_tokenizer(settings)
    loaded = load_tasks(static, settings, findings)
    for task in loaded:
        own = settings.of(task.name)
        build_requests(task, own, chat_template(tokenizer, own), findings)
    scorers = {task.name: Scorer(task) for task in loaded if task.instances and not task.own}
    return FullCheck(static, loaded, scorers, tokenizer)


def _text(preview: Preview, *, whole: bool) -> str:
    lines = [f"=== {preview.task}, row {preview.row}", ""]
    before = None
    for number, request in enumerate(preview.requests, 1):
        label = f"request {number} of {len(preview.requests)}"
        lines += _request(label, request, before, whole=whole)
        before = request
    lines += ["", f"target: {preview.target!r}"]
    if preview.bos_count is not None:
        lines.append(f"begin-of-text tokens at the start: {preview.bos_count}")
    if preview.arguments:
        lines += _generation(preview)
    for label, verdict in preview.verdicts.items():
        lines += ["", *_verdict(label, verdict, whole=whole)]
    return "\n".join([*lines, ""])


def _generation(preview: Preview) -> list[str]:
    """Returns how the reply is generated.

    Stop strings, arguments, and the tokens that there are for it.
    """
    arguments = ", ".join(f"{key}={value!r}" for key, value in preview.arguments.items())
    lines = [
        f"stop strings: {preview.stops or 'none, the end-of-text token alone'}",
        f"generation arguments: {arguments}",
    ]
    count, budget = len(preview.requests[0].tokens), preview.budget
    if count and preview.context:
        total = f"{count} prompt + {budget} reply = {count + budget}"
        lines.append(f"context: {total} of {preview.context} tokens")
    return lines


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
        return [*lines, "--- tokens: the tokenizer is not on this machine"]
    if not (repeats and scored is not None):
        lines += ["--- tokens", _tokens(request.tokens[:scored], whole=whole)]
    if scored is not None:
        count = len(request.tokens) - scored
        lines += [
            f"--- {counted(count, 'token')} scored",
            _tokens(request.tokens[scored:], whole=whole),
        ]
    return lines


def _tokens(tokens: list[tuple[int, str]], *, whole: bool) -> str:
    """Tokens with their ids in lines as wide as the terminal; a token is never broken."""
    shown = [f"{number}:{text!r}" for number, text in tokens]
    if not whole and len(shown) > _HEAD + _TAIL:
        shown = [*shown[:_HEAD], f"... {len(shown) - _HEAD - _TAIL} more ...", *shown[-_TAIL:]]
    width, lines = shutil.get_terminal_size().columns, [""]
    for token in shown:
        if lines[-1] and len(lines[-1]) + 1 + len(token) > width:
            lines.append("")
        lines[-1] += f" {token}" if lines[-1] else token
    return "\n".join(lines)


def _verdict(label: str, verdict: dict[str, Any], *, whole: bool) -> list[str]:
    reply = verdict["reply"]
    if not whole and len(reply) > _CUT:
        reply = f"{reply[:_CUT]} ... ({len(reply)} characters)"
    lines = [f"--- {label} reply", reply]
    if "error" in verdict:
        return [*lines, f"the scorer raises {verdict['error']}"]
    for name, result in verdict["filters"].items():
        metrics = ", ".join(f"{key}={_plain(value)!r}" for key, value in result["metrics"].items())
        extracted = str(result["extracted"])[:_CUT]
        lines.append(f"filter {name}: extracted {extracted!r}; {metrics}")
    if "published_verdict" in verdict:
        lines.append(f"published verdict: {'right' if verdict['published_verdict'] else 'wrong'}")
    return lines


def _plain(value: Any) -> Any:
    """A number of numpy, as lm-eval's own metrics give, as one of Python.

    Whose repr is the number alone.
    """
    return value.item() if hasattr(value, "item") else value
