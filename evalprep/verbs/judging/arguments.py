"""The arguments of `evalprep judge`, checked all at once."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec

from evalprep.annotate import (
    SCHEMA,
    WIRES,
    LocalJudge,
    Price,
    PromptFile,
    Service,
    Who,
    Wire,
    find_rubric,
    local_backend,
    output_at_most,
    read_key,
    read_prices,
    travels_openly,
    uses_proxy,
)
from evalprep.backends import BACKENDS
from evalprep.errors import BadInput, Problem, Problems
from evalprep.packs import Annotator, Pack, Rubric
from evalprep.structs import read_struct

PRICES = Path("prices.yaml")
#: Values of --structured that ask for a JSON schema, whatever the rubric says.
_HELD = frozenset({"on", "ratings"})


class Requests(msgspec.Struct, frozen=True):
    """The settings of requests to a service.

    Attributes:
        num_concurrent: Requests at a time.
        max_retries: Further attempts per question without a rating.
        timeout: Seconds for one request, whatever the server does.
    """

    num_concurrent: Annotated[int, msgspec.Meta(ge=1, description="a whole number >= 1")] = 4
    max_retries: Annotated[int, msgspec.Meta(ge=0, description="a whole number >= 0")] = 5
    timeout: Annotated[float, msgspec.Meta(gt=0, description="seconds > 0")] = 120.0


@dataclass(frozen=True)
class Settings:
    """The settings of a judge: service, requests, rubric and price."""

    who: Who
    wire: Wire
    base_url: str
    key: str | None
    rubric: Rubric | PromptFile | None
    price: Price | None
    requests: Requests
    local: LocalJudge | None = None
    schema_needed: bool = False

    @property
    def warnings(self) -> list[str]:
        """Returns what the user should know before the first request."""
        if self.key is None or self.local is not None or not travels_openly(self.base_url):
            return []
        route = " and the proxy that the environment names" if uses_proxy(self.base_url) else ""
        host = urlsplit(self.base_url).netloc
        return [f"the key is sent unencrypted to {host}{route}; use https, or a tunnel"]

    @property
    def place(self) -> str:
        """Returns where the judge is, for people."""
        if self.local is not None:
            return f"here, by {self.local.backend.name}"
        return f"at {self.base_url}"

    def service(self) -> Service:
        """The service, not yet connected."""
        return Service(
            self.wire,
            self.base_url,
            self.key,
            connections=self.requests.num_concurrent,
            deadline=self.requests.timeout,
        )

    def refuse_boundless(self, annotators: Iterable[Annotator]) -> None:
        """Refuses a greatest cost where replies have no limit, as no request then has one.

        Raises:
            BadInput: an annotator sets no limit, and neither does the user.
        """
        names = [
            annotator.name
            for annotator in annotators
            if output_at_most(self.wire, self.who.sampling(annotator)) is None
        ]
        if names:
            what, fix = "--max_cost, but the replies have no limit", "--gen_kwargs max_tokens=N"
            where = ", ".join(names)
            raise BadInput(
                Problem(what=what, where=where, fix=f"{fix} (or max_completion_tokens=N)")
            )

    def where(self) -> dict[str, Any]:
        """Returns what the ledger notes beside the judge."""
        if self.local is not None:
            return {"backend": self.local.backend.name, "model_args": dict(self.local.model_args)}
        return {"api": self.wire.name, "base_url": self.base_url}


def checked(args: argparse.Namespace, packs: Mapping[str, Pack]) -> Settings:
    """The settings.

    Raises:
        BadInput: every mistake in the arguments.
    """
    problems = Problems()
    for name in ("limit", "votes"):
        value = getattr(args, name)
        if value is not None and value < 1:
            problems.add(f"--{name} {value}", allowed="a whole number >= 1")
    if args.max_cost is not None and not args.max_cost > 0:
        problems.add(f"--max_cost {args.max_cost}", allowed="a sum > 0")
    _check_names(args, problems)
    wire = WIRES[args.api]
    # With or without the path of the requests, as for the back ends of lm-eval.
    base_url = (args.base_url or wire.default_url).rstrip("/").removesuffix(wire.path)
    _check_address(base_url, problems)
    gen_kwargs, unusable = _request_parameters(args.gen_kwargs)
    problems.refuse_secrets(gen_kwargs, lambda _: "--gen_kwargs")
    allowed = "temperature=0,max_tokens=512 and the like, or a JSON object"
    for name in unusable:
        problems.add(f"--gen_kwargs: {name}", allowed=allowed)
    model_args: dict[str, Any] = {}
    for text in args.model_args:
        parameters, unusable = _request_parameters(text)
        for name in unusable:
            problems.add(
                f"--model_args: {name}",
                allowed="dtype=float32,max_length=4096 and the like, or a JSON object",
            )
        model_args |= parameters
    problems.refuse_secrets(model_args, lambda _: "--model_args")
    requests = _requests(model_args, problems, is_local=args.backend is not None)
    local = _local(args, model_args, problems) if args.backend is not None else None
    others = (args.export, args.agreement, args.import_ratings)
    asks = not args.dry_run and not args.sign and all(other is None for other in others)
    key = _key(args, wire, base_url, problems) if asks and local is None else None
    rubric = _rubric(args, packs, problems)
    _check_structured(args, local, problems)
    price = _price(args, problems)
    problems.raise_if_any()
    # A judge that is loaded here is held to a schema only where the user says so.
    who = Who(args.model or "", gen_kwargs)
    if args.structured == "off" or (local is not None and args.structured not in _HELD):
        who = who.without_schema()
    elif args.structured == "ratings":
        who = who.with_ratings_alone()
    return Settings(
        who=who,
        wire=wire,
        base_url=base_url,
        key=key,
        rubric=rubric,
        price=price,
        requests=requests,
        local=local,
        schema_needed=args.structured in _HELD,
    )


def _check_names(args: argparse.Namespace, problems: Problems) -> None:
    if args.timestamp == "each":
        allowed = "newest or one time stamp"
        problems.add("--timestamp each", allowed=allowed, fix="judge each run by itself")
    if args.model is None and args.export is None and not args.sign:
        problems.add("--model is missing", allowed="the judge's name at the service")
    for option in ("model", "key_from"):
        values = {f"--{option}": getattr(args, option)}
        problems.refuse_secrets(values, lambda keys: str(keys[0]))


def _key(args: argparse.Namespace, wire: Wire, base_url: str, problems: Problems) -> str | None:
    place = args.key_from or ""
    is_variable = place.isidentifier() and not Path(place).exists()
    file = Path(place) if place and not is_variable else None
    needed = is_variable or base_url == wire.default_url
    variable = place if is_variable else wire.key_variable
    return read_key(variable, file, problems, needed=needed, named=is_variable)


def _check_structured(
    args: argparse.Namespace, local: LocalJudge | None, problems: Problems
) -> None:
    if args.structured not in _HELD or local is None or local.backend.holds is not None:
        return
    able = [f"--backend {name}" for name, backend in BACKENDS.items() if backend.holds is not None]
    problems.add(
        f"--structured {args.structured} with --backend {args.backend}: "
        "it cannot be held to a JSON schema",
        allowed=", ".join(able),
        fix="serve the model (vllm serve) and name it by --base_url",
    )


def _rubric(
    args: argparse.Namespace, packs: Mapping[str, Pack], problems: Problems
) -> Rubric | PromptFile | None:
    """The rubric as the arguments change it; None without one, or with one that cannot be read."""
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
        if args.structured in _HELD:
            what = f"--structured {args.structured} with a Python file"
            problems.add(what, fix="write the rubric as YAML")
    elif rubric is not None:
        if args.votes is not None:
            rubric = replace(rubric, draws=args.votes)
        rubric = replace(rubric, structured=True) if args.structured in _HELD else rubric
    elif args.votes is not None:
        fix = "name a rubric; what packs ask has its own number of draws"
        problems.add("--votes without --rubric", fix=fix)
    # One run fits a rubric for single replies, two runs one that compares.
    is_pair = isinstance(rubric, Rubric) and rubric.is_pair
    if is_pair and args.other is None:
        fix = "evalprep judge RUN OTHER --rubric ..."
        problems.add(f"--rubric {args.rubric} compares two runs", fix=fix)
    if args.other is not None and not is_pair:
        what = "a second run without a rubric that compares two"
        problems.add(what, allowed="--rubric preference")
    if args.calibrate and not (isinstance(rubric, Rubric) and rubric.calibration):
        allowed = "--rubric with `calibration:` in its file"
        problems.add("--calibrate without calibration questions", allowed=allowed)
    return rubric


def _requests(model_args: dict[str, Any], problems: Problems, *, is_local: bool) -> Requests:
    """Takes what belongs to a service out of the model's arguments; the rest is for `--backend`."""
    names = Requests.__struct_fields__
    own = {name: model_args.pop(name) for name in names if name in model_args}
    requests, mistakes = read_struct(Requests, own)
    for mistake in mistakes:
        name = str(mistake.keys[0])
        allowed = mistake.key.words if mistake.key else ""
        problems.add(f"--model_args {name}={mistake.value}", allowed=allowed)
    if model_args and not is_local:
        problems.add(
            f"--model_args {', '.join(model_args)} without --backend",
            allowed=", ".join(names),
            fix="request parameters go into --gen_kwargs",
        )
    return requests or Requests()


def _local(
    args: argparse.Namespace, model_args: Mapping[str, Any], problems: Problems
) -> LocalJudge | None:
    for name in ("base_url", "batch", "max_cost", "key_from"):
        if getattr(args, name) is not None:
            problems.add(
                f"--{name} with --backend", fix="a model that is loaded here has no service"
            )
    try:
        return LocalJudge(local_backend(args.backend), args.model or "", model_args)
    except BadInput as error:
        problems.extend(error.problems)
        return None


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
        problems.add("--base_url is not an address", allowed="http://host:port/v1 or https://...")
    elif url.username or url.password or url.query:
        problems.add(
            "--base_url holds more than an address",
            fix="put the key into the environment, or into a file",
        )


def _request_parameters(text: str) -> tuple[dict[str, Any], list[str]]:
    """`K=V,...` or a JSON object as a mapping, and the names of what users may not set.

    Values are JSON where they can be, else texts.
    """
    parameters: dict[str, Any] = {}
    unusable: list[str] = []
    if text.lstrip().startswith("{"):
        try:
            parameters = json.loads(text)
        except (ValueError, RecursionError):
            return {}, ["no JSON object"]
    else:
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals:
                unusable.append(f"{name} has no value")
                continue
            parameters[name] = value
            with contextlib.suppress(ValueError):
                parameters[name] = json.loads(value)
    own = {"", "model", "messages", "system", "stream", "n", SCHEMA}
    return parameters, [*unusable, *(repr(name) for name in parameters if name in own)]
