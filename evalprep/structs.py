"""Mappings of a YAML file as msgspec structs, with every mistake in them at once.

msgspec stops at the first mistake and names no word that was meant. Here each field is converted
by itself, so that one reading reports them all, and each with the keys that lead to it. A field's
declaration may carry a description (`msgspec.Meta`) for messages; under
`extra={"before": function}` a function that is applied to the value first; under
`extra={"also": types}` the types that it, or the file's reader, makes the declared one of; and
under `extra={"choices": values}` the values that are accepted, where `Literal` does not take them.

The same declarations make JSON schemas, which accept what a reader accepts of one key; what keys
demand of each other (`model_name` or `models`) is left to the reader.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    frozenset: "a list",
    dict: "a mapping",
    Mapping: "a mapping",
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
        also: Types of values that are turned into the declared one.
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
    also: tuple[Any, ...]
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
    plain, metas = without_metas(member.type)
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
        also=extras.get("also", ()),
        required=member.required,
        branches=tuple(branches_of(plain)),
        bounds=tuple(chain.from_iterable(map(_bounds, metas))),
        choices=extras.get("choices") or tuple(_choices(plain)),
        holds_many=isinstance(default, dict | list),
    )


def without_metas(annotation: Any) -> tuple[Any, list[msgspec.Meta]]:
    """Returns a declared type by itself, and what is said about it."""
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
    plain, _ = without_metas(annotation)
    if get_origin(plain) is Literal:
        yield from get_args(plain)
    elif get_origin(plain) in {tuple, Union, types.UnionType}:
        for inner in get_args(plain):
            yield from _choices(inner)


def branches_of(annotation: Any) -> list[Any]:
    """Returns the types of a union; a type by itself otherwise."""
    plain, _ = without_metas(annotation)
    if get_origin(plain) in {Union, types.UnionType}:
        return [without_metas(branch)[0] for branch in get_args(plain)]
    return [plain]


def _words_of(annotation: Any) -> str:
    kinds = []
    for branch in branches_of(annotation):
        origin = get_origin(branch) or branch
        if keys_of(origin):
            origin = dict
        word = _KINDS.get(origin, "")
        if branch in {tuple[str, ...], frozenset[str]}:
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


def misfit(value: Any, annotation: Any) -> str:
    """Returns what a declared type accepts, in words; empty where it accepts the value."""
    try:
        converted(value, annotation)
    except msgspec.ValidationError:
        return _words_of(annotation)
    return ""


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
    for branch in branches_of(annotation):
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


# --- JSON schemas for editors

Schema = dict[str, Any]

#: What yaml-language-server reads.
DRAFT = "http://json-schema.org/draft-07/schema#"
_TYPES: dict[Any, Schema] = {
    str: {"type": "string"},
    Path: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    type(None): {"type": "null"},
    Any: {},
}


def meanings(kind: type) -> dict[str, str]:
    """Returns name -> text of the `Attributes:` section of a class.

    Names that share a line are one key, as they are written there.
    """
    section = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2]
    entries = re.split(r"\n(?=    \S)", section.split("\n\n")[0].rstrip())
    pairs = (entry.strip().partition(": ") for entry in entries if entry.strip())
    return {names: " ".join(text.split()) for names, _, text in pairs}


def schema_of(kind: type[msgspec.Struct], *, without: Iterable[str] = ()) -> Schema:
    """Returns the schema of the mapping that a struct is read from.

    Args:
        kind: The struct.
        without: Keys that are not the file's to give.
    """
    explained: dict[str, str] = {}
    for names, text in meanings(kind).items():
        explained |= dict.fromkeys(names.split(", "), text)
    hidden = set(without)
    properties = {}
    for name, key in keys_of(kind).items():
        if name in hidden:
            continue
        accepted = [_of_type(key.annotation), *map(_of_type, key.also)]
        if key.holds_many:  # every line below the key is commented out
            accepted.append(_TYPES[type(None)])
        text = explained.get(name) or key.description
        properties[name] = {**any_of(accepted), **({"description": text} if text else {})}
    needed = [name for name, key in keys_of(kind).items() if key.required and name not in hidden]
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": needed} if needed else schema


def any_of(schemas: Iterable[Schema]) -> Schema:
    """Returns a schema that accepts what one of some schemas accepts."""
    different: list[Schema] = []
    for schema in schemas:
        different += [schema] if schema not in different else []
    return different[0] if len(different) == 1 else {"anyOf": different}


def document(title: str, file: str, schema: Schema) -> Schema:
    """Returns the schema of a whole file, with what an editor shows about it.

    Args:
        title: What the file is.
        file: Name of the schema's own file, for the line that names it.
        schema: That of the file's mapping.
    """
    line = f"First line of the file: # yaml-language-server: $schema=PATH/{file}"
    return {"$schema": DRAFT, "title": title, "description": line, **schema}


def nullable(schema: Schema) -> Schema:
    """Returns the schema of a mapping whose every key may be null, which counts as not given."""
    null = _TYPES[type(None)]
    properties: Mapping[str, Schema] = schema["properties"]
    optional = {}
    for name, each in properties.items():
        about = {"description": each["description"]} if "description" in each else {}
        bare = {key: value for key, value in each.items() if key != "description"}
        optional[name] = {**any_of([*bare.get("anyOf", [bare]), null]), **about}
    return {**schema, "properties": optional}


def _of_type(annotation: Any) -> Schema:
    """The schema of a declared type, with the bounds that are declared with it."""
    plain, metas = without_metas(annotation)
    schema = _of_plain(plain)
    for meta in metas:
        # What a declaration adds to the schema of its type.
        size = "Items" if schema.get("type") == "array" else "Length"
        bounds = {
            "minimum": meta.ge,
            "exclusiveMinimum": meta.gt,
            "maximum": meta.le,
            "exclusiveMaximum": meta.lt,
            f"min{size}": meta.min_length,
            f"max{size}": meta.max_length,
            # What ends a text for Python ends a line for the expressions of editors.
            "pattern": meta.pattern.replace(r"\Z", "$") if meta.pattern else None,
        }
        schema = {**schema, **{name: value for name, value in bounds.items() if value is not None}}
        if choices := (meta.extra or {}).get("choices"):
            schema = {"enum": list(choices)}
    return schema


def _of_plain(plain: Any) -> Schema:
    """The schema of a type without what is said about it."""
    arguments = get_args(plain)
    if len(branches_of(plain)) > 1:
        return any_of(map(_of_type, arguments))
    if keys_of(plain):
        return schema_of(plain)
    kind = get_origin(plain) or plain
    if kind is Literal:
        return {"enum": list(arguments)}
    if kind is dict and arguments:
        return {"type": "object", "additionalProperties": _of_type(arguments[1])}
    if kind not in {list, tuple}:
        return dict(_TYPES[kind])
    items = [argument for argument in arguments if argument is not Ellipsis]
    schema: Schema = {"type": "array", "items": any_of(map(_of_type, items))}
    if kind is tuple and items == list(arguments):
        schema |= {"minItems": len(items), "maxItems": len(items)}
    return schema
