"""Requests and responses as plain data, so that reading them back can run no code.

Text, numbers, lists and mappings are kept as they are; what msgpack does not tell apart or cannot hold is wrapped in a
mapping with the key `$`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalprep.errors import BadInput, Problem

_MARK = "$"
_CHAT = "JsonChatStr"  # a tuple of lm-eval's that it hashes as a text: the prompt of an interface that has chat alone
_LARGEST = 2**63
_FIRST_FILE = "responses.pickle"
"""What release 0.1.0 kept. Reading a pickle runs the code in it, so nothing does."""


class CannotKeepError(TypeError):
    """A response holds an object that is no plain data."""


def plain(value: Any, *, whole: bool = True) -> Any:
    """A value as msgpack holds it.

    Args:
        value: Texts, numbers, None, bytes, and lists, tuples and mappings of them; scalars of numpy count as numbers.
        whole: False lets a digest stand for any other object (an image among the arguments of a request).

    Raises:
        CannotKeepError: it holds something else.

    >>> plain(("Capital of Peru?", {"until": ["."]}))
    {'$': 'tuple', 'of': ['Capital of Peru?', {'until': ['.']}]}
    """
    if value is None or isinstance(value, (bool, float, bytes)):
        return value
    if isinstance(value, str):
        return str(value) if _encodes(value) else _wrapped("text", value.encode("utf-8", "surrogatepass"))
    if isinstance(value, int):
        return int(value) if -_LARGEST <= value < _LARGEST else _wrapped("int", hex(value))
    if type(value).__name__ == _CHAT:
        return _wrapped("chat", plain(value.prompt))
    if isinstance(value, tuple):
        return _wrapped("tuple", [plain(one, whole=whole) for one in value])
    if isinstance(value, list):
        return [plain(one, whole=whole) for one in value]
    if isinstance(value, Mapping):
        items = [(plain(key, whole=whole), plain(one, whole=whole)) for key, one in value.items()]
        if all(isinstance(key, str) and key != _MARK for key, _ in items):
            return dict(items)
        return _wrapped("mapping", [list(item) for item in items])
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return plain(value.item(), whole=whole)
    if whole:
        raise CannotKeepError(f"an object of type {type(value).__module__}.{type(value).__qualname__}")
    content = value.tobytes() if hasattr(value, "tobytes") else repr(value).encode("utf-8", "surrogatepass")
    return _wrapped("other", [type(value).__qualname__, hashlib.sha256(content).hexdigest()])


def restored(value: Any) -> Any:
    """What `plain` was given; ValueError where something stands for another object.

    >>> restored(plain((-0.5, True)))
    (-0.5, True)
    """
    if isinstance(value, list):
        return [restored(one) for one in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(_MARK)
    if kind is None:
        return {key: restored(one) for key, one in value.items()}
    content = value["of"]
    if kind == "tuple":
        return tuple(restored(one) for one in content)
    if kind == "chat":
        from lm_eval.models.api_models import JsonChatStr

        return JsonChatStr(restored(content))
    if kind == "mapping":
        return {restored(key): restored(one) for key, one in content}
    if kind == "text":
        return content.decode("utf-8", "surrogatepass")
    if kind == "int":
        return int(content, 16)
    raise ValueError(f"only a digest of the {kind} was kept")


def _wrapped(kind: str, content: Any) -> dict[str, Any]:
    return {_MARK: kind, "of": content}


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse_pickles(folder: Path) -> None:
    """Refuse a folder with replies of release 0.1.0.

    Raises:
        BadInput: there are such, in it or in a folder below.
    """
    found = sorted(folder.rglob(_FIRST_FILE)) if folder.is_dir() else []
    if found:
        raise BadInput(
            Problem(
                what="replies kept by release 0.1.0 are pickles, which may run code when they are read",
                where=str(found[0]),
                fix="`evalprep run --restart` generates anew; or finish the run with release 0.1.0",
            )
        )
