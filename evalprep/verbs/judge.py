"""Let a judge rate the saved generations of a run, through any OpenAI-compatible chat endpoint.

Answers are kept beside the run as they come; the same command goes on where the last one stopped, and asks nothing
twice. The key is taken from the environment (OPENAI_API_KEY, or the variable that --api_key_env names), never from
the command line. `evalprep score RUN` uses the ratings.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evalprep.annotate import Asked, Endpoint, Judge, Judgement, RatingsFile, Stopped

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add = parser.add_argument
    add("run", metavar="RUN", help="output folder, model folder, results_*.json or samples_*.jsonl")
    add("--model", required=True, metavar="NAME", help="the judge, as the endpoint calls it")
    add("--base_url", default=OPENAI_URL, metavar="URL", help=f"endpoint without /chat/completions ({OPENAI_URL})")
    add("--api_key_env", metavar="NAME", help=f"environment variable with the key (default: {KEY_VARIABLE})")
    add("--tasks", nargs="+", metavar="TASK", help="task or group names (default: all that a judge is asked about)")
    add("--limit", type=int, metavar="N", help="only the first N questions of each task")
    add("--gen_kwargs", default="", metavar="K=V,...", help="request parameters; K=null leaves out one of the pack's")
    add("--num_concurrent", type=int, default=4, metavar="N", help="requests at a time (4)")
    add("--max_retries", type=int, default=5, metavar="N", help="further attempts per question without a rating (5)")
    add("--timeout", type=float, default=120.0, metavar="SECONDS", help="for one request (120)")
    add("--ask_again", action="store_true", help="also ask again where a kept reply has no rating")
    add("--dry_run", action="store_true", help="print number of calls, characters and the first prompt; ask nothing")
    add("--timestamp", default="newest", help="newest or the beginning of a time stamp")
    add("--template_dir", type=Path, help="folder of the packs (default: task_templates)")
    add("--json", action="store_true", help="print the outcome as JSON")


def main(args: argparse.Namespace) -> int:
    """Ask, keep, count."""
    from evalprep.annotate import Endpoint, Judge, RatingsFile, collect, judge_folder
    from evalprep.annotate.screen import plan, show_plan
    from evalprep.packs.finding import find_packs
    from evalprep.results import load_run

    gen_kwargs, key = _checked(args)
    packs = find_packs(args.template_dir)
    run = load_run(args.run, timestamp=args.timestamp)
    judge = Judge(args.model, gen_kwargs)
    questions = collect(run, packs, judge, tasks=args.tasks, limit=args.limit)
    ratings = RatingsFile(judge_folder(run.files))
    if not args.json:
        print(f"{run.label}\njudge {judge.model} at {args.base_url}")
        if ratings.damaged:
            print(f"{ratings.damaged} damaged lines in {ratings.path} were passed over")
    if args.dry_run:
        planned = plan(questions, _waiting(questions, ratings, again=args.ask_again))
        if args.json:
            print(json.dumps(planned, indent=2, ensure_ascii=False))
        else:
            show_plan(planned, args.max_retries)
        return 0
    endpoint = Endpoint(args.model, args.base_url, key, timeout=args.timeout)
    judgements, requests, stopped = _ask(args, endpoint, judge, questions, ratings)
    return _report(args, questions, judgements, requests, stopped, ratings)


def _checked(args: argparse.Namespace) -> tuple[dict[str, Any], str | None]:
    """Request parameters and the key.

    Raises:
        BadInput: every mistake in the arguments.
    """
    import os
    from urllib.parse import urlsplit

    from evalprep.errors import Problems

    problems = Problems()
    for name, least in (("limit", 1), ("num_concurrent", 1), ("max_retries", 0)):
        value = getattr(args, name)
        if value is not None and value < least:
            problems.add(f"--{name} {value}", allowed=f"a whole number >= {least}")
    if not args.timeout > 0:
        problems.add(f"--timeout {args.timeout}", allowed="seconds > 0")
    if args.timestamp == "each":
        problems.add("--timestamp each", allowed="newest or one time stamp", fix="judge each run by itself")
    # What may hold a secret is not repeated in the message.
    try:
        url = urlsplit(args.base_url)
        usable = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:  # a bracket without its pair, a port that is no number
        usable, url = False, urlsplit("")
    if not usable:
        problems.add("--base_url is no address", allowed="http://host:port/v1 or https://...")
    elif url.username or url.password or url.query:
        problems.add("--base_url holds more than an address", fix=f"put the key into {KEY_VARIABLE}")
    gen_kwargs, unusable = _request_parameters(args.gen_kwargs)
    for name in unusable:
        problems.add(f"--gen_kwargs: {name}", allowed="temperature=0,max_tokens=512 and the like, or a JSON object")
    key = os.environ.get(args.api_key_env or KEY_VARIABLE) or None
    if key is None and not args.dry_run and (args.api_key_env or args.base_url == OPENAI_URL):
        name = "the variable that --api_key_env names" if args.api_key_env else KEY_VARIABLE
        problems.add(f"{name} is not set in the environment", fix="export it; a key is never given as an argument")
    problems.raise_if_any()
    return gen_kwargs, key


def _request_parameters(text: str) -> tuple[dict[str, Any], list[str]]:
    """`K=V,...` or a JSON object as a mapping, and the names of what is none of the user's to set."""
    import contextlib

    from evalprep.credentials import is_secret

    found: dict[str, Any] = {}
    unusable: list[str] = []
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except ValueError:
            return {}, ["no JSON object"]
    else:
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals:
                unusable.append(f"{name} has no value")
                continue
            found[name] = value
            with contextlib.suppress(ValueError):
                found[name] = json.loads(value)
    own = {"", "model", "messages", "stream", "n"}
    unusable += [repr(name) for name, value in found.items() if name in own or is_secret(name, value)]
    return found, unusable


def _waiting(questions: Mapping[str, Sequence[Asked]], ratings: RatingsFile, *, again: bool) -> list[Asked]:
    """What is to be asked; equal prompts are one question.

    Args:
        questions: All questions by task.
        ratings: What is known.
        again: Also what has a reply without a rating.
    """
    waiting = {asked.key: asked for several in questions.values() for asked in several}
    for one, known in ratings.known.items():
        if known.status == "ok" or not again:
            waiting.pop(one, None)
    return list(waiting.values())


def _ask(
    args: argparse.Namespace,
    endpoint: Endpoint,
    judge: Judge,
    questions: Mapping[str, Sequence[Asked]],
    ratings: RatingsFile,
) -> tuple[dict[str, Judgement], int, Stopped | None]:
    """Ask everything that waits and keep the answers.

    Returns:
        All judgements by key, the number of requests, and why asking was given up.
    """
    from evalprep.annotate import Pool, Stopped
    from evalprep.annotate.screen import Progress

    unanswered: dict[str, Judgement] = {}
    requests = 0
    stopped: Stopped | None = None
    with ratings.adding(judge, args.base_url, [one for several in questions.values() for one in several]) as add:
        waiting = _waiting(questions, ratings, again=args.ask_again)
        pool = Pool(endpoint, waiting, size=args.num_concurrent, retries=args.max_retries)
        progress = Progress(len(pool))

        def take(asked: Asked, judgement: Judgement) -> None:
            nonlocal requests
            requests += judgement.attempts
            progress.step(rated=judgement.status == "ok")
            if judgement.status == "missing":
                unanswered[asked.key] = judgement
            else:
                add(asked, judgement)

        try:
            for outcome in pool:
                take(*outcome)
        except Stopped as error:
            stopped = error
        finally:  # also after Ctrl-C: what was paid for is kept
            for outcome in pool.finished():
                take(*outcome)
            progress.end()
    return {**ratings.known, **unanswered}, requests, stopped


def _report(
    args: argparse.Namespace,
    questions: Mapping[str, Sequence[Asked]],
    judgements: Mapping[str, Judgement],
    requests: int,
    stopped: Stopped | None,
    ratings: RatingsFile,
) -> int:
    import sys

    from evalprep.annotate import tally
    from evalprep.annotate.screen import show

    tallies = [tally(name, asked, judgements) for name, asked in questions.items()]
    if args.json:
        data = {
            "judge": args.model,
            "requests": requests,
            "tasks": [one.to_dict() for one in tallies],
            "stopped": str(stopped) if stopped else None,
            "ratings": str(ratings.path),
        }
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        show(tallies)
        print(f"{requests} requests; ratings: {ratings.path}" if ratings.known else f"{requests} requests")
        if any(one.n_ok for one in tallies):
            print(f"next: evalprep score {args.run}")
    if stopped:
        print(f"stopped: {stopped}\n  fix: mend that; the same command goes on from here", file=sys.stderr)
        return 2 if stopped.refused else 3
    return 0 if any(one.n_ok for one in tallies) else 3
