"""JSON schemas of YAML files, for editors, made from the structs that read these files.

Draft 7, which yaml-language-server reads. A schema accepts what the reader accepts of one key;
what keys demand of each other (`model_name` or `models`) is left to the reader.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from evalprep.structs import branches_of, keys_of, without_metas

Schema = dict[str, Any]

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
        schema = {**schema, **_bounds_of(meta, schema)}
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


def _bounds_of(meta: msgspec.Meta, schema: Schema) -> Schema:
    """What a declaration adds to the schema of its type."""
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
    return {name: value for name, value in bounds.items() if value is not None}
