"""Requests and responses as plain data, so that reading them back can run no code.

Text, numbers, lists and mappings are kept as they are; what msgpack does not tell apart or cannot
hold is wrapped in a mapping with the key `$`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

_MARK = "$"
# A tuple of lm-eval's that it hashes as a text: the prompt of an interface for chats alone.
_CHAT = "JsonChatStr"
_LARGEST = 2**63


class CannotKeepError(TypeError):
    """A response holds an object that is no plain data."""


def plain(value: Any, *, whole: bool = True) -> Any:
    """A value as msgpack holds it.

    Args:
        value: Texts, numbers, None, bytes, and lists, tuples and mappings of them; scalars of numpy
            count as numbers.
        whole: False lets a digest stand for any other object (an image among the arguments of a
            request).

    Raises:
        CannotKeepError: it holds something else.

    >>> plain(("Capital of Peru?", {"until": ["."]}))
    {'$': 'tuple', 'of': ['Capital of Peru?', {'until': ['.']}]}
    """
    if value is None or isinstance(value, (bool, float, bytes)):
        return value
    if isinstance(value, str):
        return _plain_text(value)
    if isinstance(value, int):
        return int(value) if -_LARGEST <= value < _LARGEST else _wrapped("int", hex(value))
    if isinstance(value, (tuple, list, Mapping)):
        return _plain_collection(value, whole=whole)
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return plain(value.item(), whole=whole)
    if whole:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise CannotKeepError(f"an object of type {kind}")
    # Digest of an object that is no plain data, by its bytes or else by its written form.
    if hasattr(value, "tobytes"):
        content = value.tobytes()
    else:
        content = repr(value).encode("utf-8", "surrogatepass")
    return _wrapped("other", [type(value).__qualname__, hashlib.sha256(content).hexdigest()])


def _plain_text(text: str) -> Any:
    """A text as it is, or as bytes where it holds lone surrogates, which UTF-8 cannot write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _wrapped("text", text.encode("utf-8", "surrogatepass"))
    return str(text)


def _plain_collection(value: Any, *, whole: bool) -> Any:
    if type(value).__name__ == _CHAT:
        return _wrapped("chat", plain(value.prompt))
    if not isinstance(value, Mapping):
        items = [plain(item, whole=whole) for item in value]
        return _wrapped("tuple", items) if isinstance(value, tuple) else items
    pairs = [(plain(key, whole=whole), plain(item, whole=whole)) for key, item in value.items()]
    if all(isinstance(key, str) and key != _MARK for key, _ in pairs):
        return dict(pairs)
    return _wrapped("mapping", [list(pair) for pair in pairs])


def restored(value: Any) -> Any:
    """The value that `plain` got; ValueError where something stands for another object.

    >>> restored(plain((-0.5, True)))
    (-0.5, True)
    """
    if isinstance(value, list):
        return [restored(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(_MARK)
    if kind is None:
        return {key: restored(item) for key, item in value.items()}
    if kind not in _RESTORE:
        raise ValueError(f"only a digest of the {kind} was kept")
    return _RESTORE[kind](value["of"])


def _chat(content: Any) -> Any:
    from lm_eval.models.api_models import JsonChatStr

    return JsonChatStr(restored(content))


_RESTORE: dict[str, Callable[[Any], Any]] = {
    "tuple": lambda content: tuple(map(restored, content)),
    "chat": _chat,
    "mapping": lambda content: {restored(key): restored(item) for key, item in content},
    "text": lambda content: content.decode("utf-8", "surrogatepass"),
    "int": lambda content: int(content, 16),
}


def _wrapped(kind: str, content: Any) -> dict[str, Any]:
    return {_MARK: kind, "of": content}
