"""The cost of asking, as far as the user has stated prices.

Prices are never guessed, and an unknown cost is not 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalprep.annotate.providers.wire import Answer, Request, Wire
from evalprep.errors import BadInput, Problem, Problems, near
from evalprep.files import read_text
from evalprep.packs import Message
from evalprep.yamltext import NotYaml, yaml_value

_MILLION = 1_000_000
_KEYS = {"input", "output", "batch", "currency"}
#: Tokens that a chat format adds around one message, at most.
_AROUND = 16
#: Room for a service's own words about a JSON schema.
_SCHEMA_WORDS = 500


@dataclass(frozen=True)
class Price:
    """Price of a model, per million tokens.

    Attributes:
        input: Of tokens that are sent.
        output: Of tokens that come back.
        batch: Share of the price that a batch pays.
        currency: As the user writes it.
    """

    input: float
    output: float
    batch: float = 1.0
    currency: str = "USD"

    def of(self, tokens_in: int, tokens_out: int, *, batch: bool = False) -> float:
        """Cost of one exchange."""
        return (
            (tokens_in * self.input + tokens_out * self.output)
            / _MILLION
            * (self.batch if batch else 1.0)
        )

    def of_answer(self, answer: Answer, *, batch: bool = False) -> float | None:
        """Cost of an answer; None where the service did not say how many tokens it took."""
        if answer.tokens_in is None or answer.tokens_out is None:
            return None
        return self.of(answer.tokens_in, answer.tokens_out, batch=batch)


def tokens_at_most(request: Request) -> int:
    """An upper bound on the tokens of a request, whatever the tokenizer of bytes.

    It counts one token per byte, and what a chat format adds.

    Services tell the model of a JSON schema in words of their own.
    """
    messages = (
        sum(
            len(message["content"].encode("utf-8", "replace")) + _AROUND
            for message in request.messages
        )
        + _AROUND
    )
    schema = (
        0 if request.schema is None else 2 * len(json.dumps(dict(request.schema))) + _SCHEMA_WORDS
    )
    return messages + schema


def tokens_about(messages: Sequence[Message]) -> int:
    """About so many tokens: a quarter of the characters, the rule of thumb for English prose."""
    return sum(len(message["content"]) for message in messages) // 4 + _AROUND


def output_at_most(wire: Wire, sampling: Mapping[str, Any]) -> int | None:
    """The limit of a reply that a request sets; None without one."""
    for name in wire.output_limit:
        value = sampling.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def read_prices(file: Path) -> dict[str, Price]:
    """Prices by model, from a YAML file.

    It holds `MODEL: {input: 0.4, output: 1.6, batch: 0.5, currency: USD}`, or such a mapping under
    `prices:`.

    Raises:
        BadInput: every mistake in it.
    """
    try:
        data = yaml_value(read_text(file, own=True, encoding="utf-8-sig"))
    except OSError as error:
        raise BadInput(
            Problem(what=f"cannot be read: {error.strerror}", where=str(file))
        ) from error
    except (NotYaml, UnicodeDecodeError) as error:
        raise BadInput(
            Problem(
                what=f"is not valid YAML: {' '.join(str(error).split())[:200]}", where=str(file)
            )
        ) from error
    if isinstance(data, Mapping) and isinstance(data.get("prices"), Mapping):
        data = data["prices"]
    if not isinstance(data, Mapping):
        raise BadInput(
            Problem(
                what="holds no prices",
                where=str(file),
                allowed="MODEL: {input: 0.4, output: 1.6} per million tokens",
            )
        )
    problems = Problems()
    prices = {
        str(model): _price(entry, f"{file}, {model}", problems) for model, entry in data.items()
    }
    problems.raise_if_any()
    return {model: price for model, price in prices.items() if price is not None}


def _check_keys(data: Mapping[Any, Any], where: str, problems: Problems) -> None:
    for name in data:
        if name not in _KEYS:
            problems.add(
                f"unknown key {name!r}",
                where=where,
                allowed=", ".join(sorted(_KEYS)),
                fix=near(str(name), _KEYS),
            )
    for name in ("input", "output"):
        if name not in data:
            problems.add(f"{name} is missing", where=where)


def _price(data: Any, where: str, problems: Problems) -> Price | None:
    if not isinstance(data, Mapping):
        problems.add(
            "is not a price", where=where, allowed="{input: 0.4, output: 1.6} per million tokens"
        )
        return None
    _check_keys(data, where, problems)
    numbers = {name: data[name] for name in ("input", "output", "batch") if name in data}
    for name, value in numbers.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (is_number and 0 <= value < float("inf")):
            problems.add(f"{name}: {value!r}", where=where, allowed="a number >= 0")
            return None
    if not {"input", "output"} <= set(numbers):
        return None
    return Price(
        **{name: float(value) for name, value in numbers.items()},
        currency=str(data.get("currency", "USD")),
    )


class Budget:
    """A limit that is kept: a request is sent only where it fits even if it takes all that it may.

    Args:
        limit: The most that may be spent.
        price: Of the model.
    """

    def __init__(self, limit: float | None, price: Price | None) -> None:
        self.limit = limit
        self.price = price
        self.spent = 0.0
        self._reserved: list[float] = []

    @property
    def on_its_way(self) -> bool:
        """Returns whether something is set aside for requests that have no answer yet."""
        return bool(self._reserved)

    def reserve(self, tokens_in: int, tokens_out: int) -> float | None:
        """Sets aside what a request may cost at most.

        Returns:
            The sum; None where it does not fit any more.
        """
        if self.price is None:
            return 0.0
        worst = self.price.of(tokens_in, tokens_out)
        if self.limit is not None and self.spent + sum(self._reserved) + worst > self.limit:
            return None
        self._reserved.append(worst)
        return worst

    def settle(self, reserved: float, cost: float | None) -> None:
        """Counts what a request cost; all that was set aside where that is unknown."""
        if self.price is not None:
            self._reserved.remove(reserved)
        self.spent += reserved if cost is None else cost
