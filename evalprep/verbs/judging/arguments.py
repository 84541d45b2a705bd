"""The arguments of `evalprep judge`, checked all at once."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evalprep.annotate.answers import SCHEMA, Who
from evalprep.annotate.finding import find_rubric
from evalprep.annotate.local import LocalJudge, local_backend
from evalprep.annotate.prices import Price, output_at_most, read_prices
from evalprep.annotate.promptfile import PromptFile
from evalprep.annotate.providers.secret import read_key
from evalprep.annotate.providers.service import WIRES, Service
from evalprep.annotate.providers.wire import Wire
from evalprep.backends import BACKENDS
from evalprep.credentials import is_secret
from evalprep.errors import BadInput, Problem, Problems
from evalprep.packs.annotator import Annotator
from evalprep.packs.pack import Pack
from evalprep.packs.rubric import Rubric

PRICES = Path("prices.yaml")
#: Values of --structured that ask for a JSON schema, whatever the rubric says.
_HELD = frozenset({"on", "ratings"})


@dataclass(frozen=True)
class Settings:
    """Who is asked, how, by which rubric, and at which price."""

    who: Who
    wire: Wire
    base_url: str
    key: str | None
    rubric: Rubric | PromptFile | None
    price: Price | None
    connections: int
    deadline: float
    local: LocalJudge | None = None
    schema_needed: bool = False

    @property
    def place(self) -> str:
        """Where the judge is, for people."""
        return f"here, by {self.local.backend.name}" if self.local is not None else f"at {self.base_url}"

    def service(self) -> Service:
        """The service, not yet connected."""
        return Service(self.wire, self.base_url, self.key, connections=self.connections, deadline=self.deadline)

    def refuse_boundless(self, annotators: Iterable[Annotator]) -> None:
        """Refuse a greatest cost where replies have no limit, as no request then has one.

        Raises:
            BadInput: an annotator sets no limit, and neither does the user.
        """
        free = [one.name for one in annotators if output_at_most(self.wire, self.who.sampling(one)) is None]
        if free:
            raise BadInput(
                Problem(
                    what="--max_cost, but the replies have no limit",
                    where=", ".join(free),
                    fix="--gen_kwargs max_tokens=N (or max_completion_tokens=N)",
                )
            )

    def where(self) -> dict[str, Any]:
        """What the ledger notes beside the judge."""
        if self.local is not None:
            return {"backend": self.local.backend.name, "model_args": dict(self.local.model_args)}
        return {"api": self.wire.name, "base_url": self.base_url}


def checked(args: argparse.Namespace, packs: Mapping[str, Pack]) -> Settings:
    """The settings.

    Raises:
        BadInput: every mistake in the arguments.
    """
    problems = Problems()
    for name, least in (("limit", 1), ("num_concurrent", 1), ("max_retries", 0), ("votes", 1)):
        value = getattr(args, name)
        if value is not None and value < least:
            problems.add(f"--{name} {value}", allowed=f"a whole number >= {least}")
    if not args.timeout > 0:
        problems.add(f"--timeout {args.timeout}", allowed="seconds > 0")
    if args.max_cost is not None and not args.max_cost > 0:
        problems.add(f"--max_cost {args.max_cost}", allowed="a sum > 0")
    if args.timestamp == "each":
        problems.add("--timestamp each", allowed="newest or one time stamp", fix="judge each run by itself")
    asks_nothing = any(one is not None for one in (args.export, args.agreement, args.import_ratings))
    if args.model is None and args.export is None:
        problems.add("--model is missing", allowed="the judge's name at the service")
    wire = WIRES[args.api]
    base_url = args.base_url or wire.default_url
    _check_address(base_url, problems)
    gen_kwargs, unusable = _request_parameters(args.gen_kwargs)
    for name in unusable:
        problems.add(f"--gen_kwargs: {name}", allowed="temperature=0,max_tokens=512 and the like, or a JSON object")
    key = None
    local = _local(args, problems) if args.backend is not None else None
    if args.backend is None and args.model_args:
        problems.add("--model_args without --backend", fix="request parameters go into --gen_kwargs")
    if not args.dry_run and not asks_nothing and local is None:
        needed = bool(args.api_key_env) or base_url == wire.default_url
        variable = args.api_key_env or wire.key_variable
        key = read_key(variable, args.api_key_file, problems, needed=needed, named=bool(args.api_key_env))
    rubric = _rubric(args, packs, problems)
    who = Who(args.model or "", gen_kwargs)
    if args.structured == "off" or (local is not None and args.structured not in _HELD):
        who = who.without_schema()
    elif args.structured == "ratings":
        who = who.with_ratings_alone()
    if args.structured in _HELD and local is not None and local.backend.holds is None:
        problems.add(
            f"--structured {args.structured} with --backend {args.backend}: it cannot be held to a JSON schema",
            allowed=", ".join(f"--backend {one.name}" for one in BACKENDS.values() if one.holds is not None),
            fix="serve the model (vllm serve) and name it by --base_url",
        )
    price = _price(args, problems)
    problems.raise_if_any()
    return Settings(
        who, wire, base_url, key, rubric, price, args.num_concurrent, args.timeout, local, args.structured in _HELD
    )


def _rubric(args: argparse.Namespace, packs: Mapping[str, Pack], problems: Problems) -> Rubric | PromptFile | None:
    rubric: Rubric | PromptFile | None = None
    if args.rubric is not None:
        try:
            rubric = find_rubric(args.rubric, packs.values())
        except BadInput as error:
            problems.extend(error.problems)
            return None
        if isinstance(rubric, PromptFile):
            if args.votes is not None:
                problems.add("--votes with a Python file", fix="write the rubric as YAML, with draws")
        elif args.votes is not None:
            rubric = replace(rubric, draws=args.votes)
        if isinstance(rubric, Rubric) and args.structured in _HELD:
            rubric = replace(rubric, structured=True)
        elif args.structured in _HELD:
            problems.add(f"--structured {args.structured} with a Python file", fix="write the rubric as YAML")
        if _is_pair(rubric) and args.other is None:
            problems.add(f"--rubric {args.rubric} compares two runs", fix="evalprep judge RUN OTHER --rubric ...")
    elif args.votes is not None:
        problems.add("--votes without --rubric", fix="name a rubric; what packs ask has its own number of draws")
    if args.other is not None and not _is_pair(rubric):
        problems.add("a second run without a rubric that compares two", allowed="--rubric preference")
    if args.calibrate and not (isinstance(rubric, Rubric) and rubric.calibration):
        problems.add("--calibrate without calibration questions", allowed="--rubric with `calibration:` in its file")
    return rubric


def _local(args: argparse.Namespace, problems: Problems) -> LocalJudge | None:
    for name in ("base_url", "batch", "max_cost", "api_key_env", "api_key_file"):
        if getattr(args, name) is not None:
            problems.add(f"--{name} with --backend", fix="a model that is loaded here has no service")
    model_args, unusable = _request_parameters(args.model_args)
    for name in unusable:
        problems.add(f"--model_args: {name}", allowed="dtype=float32,max_length=4096 and the like, or a JSON object")
    try:
        return LocalJudge(local_backend(args.backend), args.model or "", model_args)
    except BadInput as error:
        problems.extend(error.problems)
        return None


def _is_pair(rubric: Rubric | PromptFile | None) -> bool:
    return isinstance(rubric, Rubric) and rubric.is_pair


def _price(args: argparse.Namespace, problems: Problems) -> Price | None:
    file = args.prices or (PRICES if PRICES.is_file() else None)
    prices: dict[str, Price] = {}
    if file is not None:
        try:
            prices = read_prices(file)
        except BadInput as error:
            problems.extend(error.problems)
            return None
    price = prices.get(args.model or "")
    if args.max_cost is not None and price is None:
        problems.add(
            f"--max_cost, but the price of {args.model} is unknown",
            allowed="--prices FILE with `MODEL: {input: 0.4, output: 1.6}` per million tokens",
        )
    return price


def _check_address(base_url: str, problems: Problems) -> None:
    # What may hold a secret is not repeated in the message.
    try:
        url = urlsplit(base_url)
        usable = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:  # a bracket without its pair, a port that is no number
        usable, url = False, urlsplit("")
    if not usable:
        problems.add("--base_url is no address", allowed="http://host:port/v1 or https://...")
    elif url.username or url.password or url.query:
        problems.add("--base_url holds more than an address", fix="put the key into the environment, or into a file")


def _request_parameters(text: str) -> tuple[dict[str, Any], list[str]]:
    """`K=V,...` or a JSON object as a mapping, and the names of what is none of the user's to set."""
    found: dict[str, Any] = {}
    unusable: list[str] = []
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
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
    own = {"", "model", "messages", "system", "stream", "n", SCHEMA}
    unusable += [repr(name) for name, value in found.items() if name in own or is_secret(name, value)]
    return found, unusable
