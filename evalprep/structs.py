"""Mappings of a YAML file as msgspec structs, with every mistake in them at once.

msgspec stops at the first mistake and names no word that was meant. Here each field is converted
by itself, so that one reading reports them all, and each with the keys that lead to it. A field's
declaration may carry a description (`msgspec.Meta`) for messages; under
`extra={"before": function}` a function that is applied to the value first; and under
`extra={"choices": values}` the values that are accepted, where `Literal` does not take them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

S = TypeVar("S", bound=msgspec.Struct)
Keys = tuple[str | int, ...]
_KINDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
    list: "a list",
    tuple: "a list",
    dict: "a mapping",
    type(None): "null",
}


class Key(NamedTuple):
    """One key that a struct takes from a mapping.

    Attributes:
        field: The attribute of the struct.
        type: Its declared type, without what is said about it.
        annotation: Its declared type with it.
        description: The value in words; empty where the declaration has none.
        before: Is applied to a value before it is converted; None where nothing is.
        required: It has no default.
        branches: The types of a union; its type alone where it is none.
        bounds: The bounds of a number, such as `>= 1`.
        choices: The values that it accepts; empty where it accepts others.
        holds_many: Its default is a list, a mapping or the like.
    """

    field: str
    type: Any
    annotation: Any
    description: str
    before: Callable[[Any], Any] | None
    required: bool
    branches: tuple[Any, ...]
    bounds: tuple[str, ...]
    choices: tuple[Any, ...]
    holds_many: bool

    @property
    def words(self) -> str:
        """The value that is accepted, in words."""
        if self.description:
            return self.description
        return ", ".join(map(str, self.choices)) or _words_of(self.type)


class Mistake(NamedTuple):
    """One mistake in a mapping.

    Attributes:
        kind: `unknown`, `missing` or `value`.
        keys: Keys and positions that lead to it.
        value: The value; None where the key is missing.
        key: The declaration of the innermost declared key; None for an unknown one.
        known: The keys that the struct takes there.
    """

    kind: Literal["unknown", "missing", "value"]
    keys: Keys
    value: Any
    key: Key | None
    known: tuple[str, ...]


@cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Returns the fields of a struct, for which msgspec evaluates each annotation anew."""
    return msgspec.structs.fields(kind)


@cache
def keys_of(kind: Any) -> dict[str, Key]:
    """Returns the keys that a struct takes from a mapping, by their names there.

    None for other types.
    """
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return {}
    return {
        member.encode_name: _key(member)
        for member in fields_of(kind)
        if not member.name.startswith("_")
    }


def _key(member: msgspec.structs.FieldInfo) -> Key:
    plain, metas = _without_metas(member.type)
    description = next((meta.description for meta in metas if meta.description), "")
    extras: dict[str, Any] = {}
    for meta in metas:
        extras |= meta.extra or {}
    default = member.default
    if member.default_factory is not msgspec.NODEFAULT:
        default = member.default_factory()
    return Key(
        field=member.name,
        type=plain,
        annotation=member.type,
        description=description or "",
        before=extras.get("before"),
        required=member.required,
        branches=tuple(_branches(plain)),
        bounds=tuple(chain.from_iterable(map(_bounds, metas))),
        choices=extras.get("choices") or tuple(_choices(plain)),
        holds_many=isinstance(default, dict | list),
    )


def _without_metas(annotation: Any) -> tuple[Any, list[msgspec.Meta]]:
    metas: list[msgspec.Meta] = []
    while get_origin(annotation) is Annotated:
        metas += [meta for meta in annotation.__metadata__ if isinstance(meta, msgspec.Meta)]
        annotation = annotation.__origin__
    return annotation, metas


def _bounds(meta: msgspec.Meta) -> Iterator[str]:
    signs = {">=": meta.ge, ">": meta.gt, "<=": meta.le, "<": meta.lt}
    for sign, bound in signs.items():
        if bound is not None:
            yield f"{sign} {bound}"


def _choices(annotation: Any) -> Iterator[Any]:
    """The words of a choice, also of a list of them."""
    plain, _ = _without_metas(annotation)
    if get_origin(plain) is Literal:
        yield from get_args(plain)
    elif get_origin(plain) in {tuple, Union, types.UnionType}:
        for inner in get_args(plain):
            yield from _choices(inner)


def _branches(annotation: Any) -> list[Any]:
    """The types of a union; a type by itself otherwise."""
    plain, _ = _without_metas(annotation)
    if get_origin(plain) in {Union, types.UnionType}:
        return [_without_metas(branch)[0] for branch in get_args(plain)]
    return [plain]


def _words_of(annotation: Any) -> str:
    kinds = []
    for branch in _branches(annotation):
        origin = get_origin(branch) or branch
        if keys_of(origin):
            origin = dict
        word = _KINDS.get(origin, "")
        if branch == tuple[str, ...]:
            word = "a list of names"
        kinds.append(word)
    return " or ".join(dict.fromkeys(filter(None, kinds)))


def read_struct(kind: type[S], content: Mapping[Any, Any]) -> tuple[S | None, list[Mistake]]:
    """Makes a struct out of a mapping.

    Args:
        kind: The struct.
        content: The mapping.

    Returns:
        The struct, made from what is right in the mapping, None where a key is missing that it
        needs; and the mistakes, one for each key at the least.
    """
    keys = keys_of(kind)
    stated = dict(content)
    for name in _changed_keys(kind) & stated.keys():
        stated[name] = _prepared(name, stated[name], keys)
    try:
        struct = converted(stated, kind)
    except msgspec.ValidationError:
        pass  # each key by itself, below
    else:
        limited = _limited_keys(kind) & stated.keys()
        if not any(_breaks_choice(name, stated[name], keys) for name in limited):
            return struct, []
    struct, mistakes = _read_by_key(kind, stated, keys)
    return struct, [_as_given(mistake, content) for mistake in mistakes]


@cache
def _changed_keys(kind: Any) -> frozenset[str]:
    """The keys of a struct whose values, or values below them, may be changed first."""
    return frozenset(
        name for name, key in keys_of(kind).items() if key.before or any(map(keys_of, key.branches))
    )


@cache
def _limited_keys(kind: Any) -> frozenset[str]:
    """The keys of a struct with choices that its type does not list."""
    return frozenset(name for name, key in keys_of(kind).items() if _is_limited(key))


def _is_limited(key: Key) -> bool:
    return bool(key.choices) and key.type is Any


def _prepared(name: Any, value: Any, keys: Mapping[str, Key]) -> Any:
    """A value after the functions that its declaration, and those of keys below it, apply first."""
    key = keys.get(name)
    if key is None:
        return value
    if key.before is not None:
        value = key.before(value)
    if isinstance(value, dict):
        for branch in key.branches:
            below = keys_of(branch)
            if below:
                return {inner: _prepared(inner, item, below) for inner, item in value.items()}
    return value


def _as_given(mistake: Mistake, content: Mapping[Any, Any]) -> Mistake:
    """A mistake with the value that the mapping holds."""
    if mistake.kind != "value" or len(mistake.keys) > 1:
        return mistake
    return mistake._replace(value=content[mistake.keys[0]])


def _read_by_key(
    kind: type[S], stated: Mapping[Any, Any], keys: Mapping[str, Key]
) -> tuple[S | None, list[Mistake]]:
    """The same as `read_struct`, key by key, for a mapping with mistakes."""
    known = tuple(keys)
    values: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    for name, key in keys.items():
        if name in stated:
            refused = _mistakes_of_key(name, stated[name], keys)
            if not refused:
                values[key.field] = converted(stated[name], key.annotation)
            mistakes += refused
        elif key.required:
            mistakes.append(Mistake("missing", (name,), None, key, known))
    mistakes += [
        Mistake("unknown", (name,), None, None, known) for name in stated if name not in keys
    ]
    needed = {key.field for key in keys.values() if key.required}
    return (kind(**values) if needed <= values.keys() else None), mistakes


def _mistakes_of_key(name: str, value: Any, keys: Mapping[str, Key]) -> list[Mistake]:
    key = keys[name]
    mistakes = list(_mistakes_in(key, key.annotation, value, (name,), tuple(keys)))
    if not mistakes and _breaks_choice(name, value, keys):
        mistakes = [Mistake("value", (name,), value, key, tuple(keys))]
    return mistakes


def _breaks_choice(name: Any, value: Any, keys: Mapping[str, Key]) -> bool:
    """Returns whether a value breaks the choices of its key, where the type does not list them."""
    key = keys[name]
    if not _is_limited(key):
        return False
    is_truth = isinstance(value, bool)
    return not any(
        value == choice and is_truth == isinstance(choice, bool) for choice in key.choices
    )


def converted(value: Any, annotation: Any) -> Any:
    """Returns a value as a declared type has it.

    Raises:
        msgspec.ValidationError: it is of another type.
    """
    return msgspec.convert(value, annotation, dec_hook=_as_path)


def _as_path(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str | Path):
        return Path(value)
    raise TypeError(f"no {kind.__name__}")


def _mistakes_in(
    key: Key, annotation: Any, value: Any, keys: Keys, known: tuple[str, ...]
) -> Iterator[Mistake]:
    """The mistakes in a value, as far inside of it as keys lead."""
    try:
        converted(value, annotation)
    except msgspec.ValidationError:
        inner = list(_mistakes_below(key, annotation, value, keys, known))
        yield from inner or [Mistake("value", keys, value, key, known)]


def _mistakes_below(
    key: Key, annotation: Any, value: Any, keys: Keys, known: tuple[str, ...]
) -> Iterator[Mistake]:
    """The mistakes in the items of a mapping or of a list of mappings."""
    for branch in _branches(annotation):
        if isinstance(value, dict) and keys_of(branch):
            _, mistakes = read_struct(branch, value)
            for mistake in mistakes:
                yield mistake._replace(keys=(*keys, *mistake.keys))
            return
        items_and_kind = _items_of(branch, value)
        if items_and_kind is None:
            continue
        items, kind = items_and_kind
        for step, item in items:
            yield from _mistakes_in(key, kind, item, (*keys, step), known)
        return


def _items_of(branch: Any, value: Any) -> tuple[list[tuple[str | int, Any]], Any] | None:
    """The items of a value with their keys or positions, and the type that each must have.

    None where the type is neither that of a mapping nor that of a list of mappings.
    """
    arguments = get_args(branch)
    if isinstance(value, dict) and get_origin(branch) is dict:
        named = [(name, item) for name, item in value.items() if isinstance(name, str)]
        return [*named], arguments[1]
    if isinstance(value, list) and get_origin(branch) is tuple and keys_of(arguments[0]):
        return [*enumerate(value)], arguments[0]
    return None


def plain_data(value: Any) -> Any:
    """Returns a struct, and whatever it holds, as JSON-ready data."""
    if isinstance(value, msgspec.Struct):
        return {name: plain_data(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    return str(value) if isinstance(value, Path) else value
