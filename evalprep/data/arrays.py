"""Arrow arrays of plain Python values, made without pandas.

`pa.array` imports pandas to see whether its values are one of pandas' types, 0.3 s of CPU: as much
as preparing a small task. Here texts, numbers, booleans, and lists and mappings of them become the
same arrays; other values, and mixtures, are left to `pa.array`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, cast

from evalprep.errors import BadInput, Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

MOST_BYTES = 2**31 - 1
"""Bytes of text, and values of lists, that an array of 32-bit offsets can hold."""
ARROW_ERRORS = (ValueError, TypeError, OverflowError, NotImplementedError)
"""Arrow's own errors are subclasses of these."""


def array_of(values: Sequence[Any], kind: pa.DataType | None = None) -> pa.Array:
    """Returns `pa.array(values, type=kind)`; an array of that type, or of any for None, as it is.

    Raises:
        ValueError, TypeError, OverflowError: as `pa.array` does.
    """
    import pyarrow as pa

    if isinstance(values, pa.Array):
        if kind in {None, values.type}:
            return values
        values = values.to_pylist()
    plain = None if "pandas" in sys.modules else _plain(values)
    if plain is not None and kind is not None and plain.type != kind:
        plain = pa.nulls(len(values), kind) if pa.types.is_null(plain.type) else None
    return pa.array(values, type=kind, from_pandas=False) if plain is None else plain


def flat_type(kind: pa.DataType) -> pa.DataType | None:
    """Returns the type that `array_of` gives to the values of an array of a type.

    None where it depends on the values, or where they hold others.
    """
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(kind):
        return flat_type(kind.value_type)
    of_values = (
        (types.is_string, pa.string),
        (types.is_large_string, pa.string),
        (types.is_boolean, pa.bool_),
        (lambda kind: types.is_integer(kind) and kind != pa.uint64(), pa.int64),
        (types.is_floating, pa.float64),
        (types.is_null, pa.null),
    )
    return next((to_type() for fits, to_type in of_values if fits(kind)), None)


def column_array(
    name: str, values: Sequence[Any], *, of: str, place: Callable[[int], str]
) -> pa.Array:
    """Returns the values of a column as an array.

    Args:
        name: The column.
        values: Its values.
        of: What has the column, for messages.
        place: How messages name the row of a value.

    Raises:
        BadInput: a value that Arrow cannot hold, or values that no common type holds.
    """
    try:
        return array_of(values)
    except ARROW_ERRORS as error:
        raise BadInput(unstorable(name, values, None, error, of=of, place=place)) from None


def unstorable(
    name: str,
    values: Sequence[Any],
    kind: pa.DataType | None,
    error: Exception,
    *,
    of: str,
    place: Callable[[int], str],
) -> Problem:
    """Returns the problem of values that make no column.

    It names the value that cannot be stored; where each can be, the values are of several types.

    Args:
        name: The column.
        values: Its values.
        kind: The type that it has to have.
        error: What Arrow says of all values.
        of: What has the column.
        place: How messages name the row of a value.
    """
    import pyarrow as pa

    allowed = "text without lone surrogates, numbers below 2^63" if kind is None else str(kind)
    for number, value in enumerate(values):
        try:
            pa.array([value], type=kind)
        except ARROW_ERRORS as cause:
            return Problem(
                what=f"column {name!r} of {of} cannot hold {str(value)[:80]!r}: {cause}",
                where=place(number),
                allowed=allowed,
                fix="correct the data, or the pack's prepare.py",
            )
    return Problem(
        what=f"column {name!r} of {of} mixes types: {error}",
        where=of,
        fix="make the column one type in the data, or in the pack's prepare.py",
    )


def large_texts(texts: Sequence[str]) -> pa.Array:
    """Returns texts without nulls as an array of 64-bit offsets.

    Raises:
        UnicodeEncodeError: a text holds half of a surrogate pair.
    """
    import numpy as np
    import pyarrow as pa

    data, parts = _encoded(texts)
    buffers = [None, _offsets(parts, np.int64), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(texts), buffers)


def hashes_of(texts: Sequence[str | None]) -> np.ndarray:
    """Returns the hash of each text or null; it is another one in another process."""
    import numpy as np

    return np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))


def whole_numbers(values: Any) -> pa.Array:
    """Returns a numpy array of 64-bit whole numbers as an array of Arrow."""
    import numpy as np
    import pyarrow as pa

    whole = np.ascontiguousarray(values, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(whole), [None, pa.py_buffer(whole)])


def flags(values: Any) -> pa.Array:
    """Returns a numpy array of booleans as an array of Arrow."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])


def _plain(values: Sequence[Any]) -> pa.Array | None:
    """An array of values of one plain type and nulls; None for anything else."""
    import pyarrow as pa

    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pa.nulls(len(values))
    if len(kinds) > 1 or not kinds <= _MAKERS.keys():
        return None
    return _MAKERS[kinds.pop()](values)


def _texts(values: Sequence[str | None]) -> pa.Array | None:
    import numpy as np
    import pyarrow as pa

    validity = _validity(values)
    texts = [text or "" for text in values] if validity is not None else cast("list[str]", values)
    try:
        data, parts = _encoded(texts)
    except UnicodeEncodeError:
        return None
    if len(data) > MOST_BYTES:
        return None
    buffers = [validity, _offsets(parts, np.int32), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _encoded(texts: Sequence[str]) -> tuple[bytes, Sequence[str] | Sequence[bytes]]:
    """Texts as one run of bytes, and parts that have their lengths in bytes."""
    whole = "".join(texts)
    if whole.isascii():
        return whole.encode(), texts
    encoded = [text.encode() for text in texts]
    return b"".join(encoded), encoded


def _booleans(values: Sequence[bool | None]) -> pa.Array:
    import pyarrow as pa

    bits = _bits([bool(value) for value in values])
    return pa.Array.from_buffers(pa.bool_(), len(values), [_validity(values), bits])


def _integers(values: Sequence[int | None]) -> pa.Array | None:
    import numpy as np
    import pyarrow as pa

    try:
        whole = np.array([value or 0 for value in values], dtype=np.int64)
    except OverflowError:
        return None
    buffers = [_validity(values), pa.py_buffer(whole)]
    return pa.Array.from_buffers(pa.int64(), len(values), buffers)


def _floats(values: Sequence[float | None]) -> pa.Array:
    import numpy as np
    import pyarrow as pa

    real = np.array([0.0 if value is None else value for value in values], dtype=np.float64)
    buffers = [_validity(values), pa.py_buffer(real)]
    return pa.Array.from_buffers(pa.float64(), len(values), buffers)


def _lists(values: Sequence[list[Any] | None]) -> pa.Array | None:
    import numpy as np
    import pyarrow as pa

    lists = [value or [] for value in values]
    inner = list(chain.from_iterable(lists))
    items = _plain(inner) if len(inner) <= MOST_BYTES else None
    if items is None:
        return None
    buffers = [_validity(values), _offsets(lists, np.int32)]
    return pa.Array.from_buffers(pa.list_(items.type), len(values), buffers, children=[items])


def _structs(values: Sequence[dict[Any, Any] | None]) -> pa.Array | None:
    import pyarrow as pa

    mappings = [value or {} for value in values]
    names = dict.fromkeys(chain.from_iterable(mappings))
    if set(map(type, names)) != {str}:
        return None
    columns = []
    for name in names:
        column = _plain([mapping.get(name) for mapping in mappings])
        if column is None:
            return None
        columns.append(column)
    kind = pa.struct(list(zip(names, (column.type for column in columns), strict=True)))
    return pa.Array.from_buffers(kind, len(values), [_validity(values)], children=columns)


_MAKERS: dict[type, Callable[[Sequence[Any]], pa.Array | None]] = {
    str: _texts,
    bool: _booleans,
    int: _integers,
    float: _floats,
    list: _lists,
    dict: _structs,
}


def _validity(values: Sequence[Any]) -> pa.Buffer | None:
    """The bits that mark which values are no nulls; None where none is null."""
    if type(None) not in set(map(type, values)):
        return None
    return _bits([value is not None for value in values])


def _bits(values: Sequence[bool]) -> pa.Buffer:
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.packbits(np.array(values, dtype=bool), bitorder="little"))


def _offsets(parts: Sequence[Sequence[Any]], size: type) -> pa.Buffer:
    """Returns where each part begins, and where the last ends."""
    import numpy as np
    import pyarrow as pa

    ends = accumulate(map(len, parts), initial=0)
    return pa.py_buffer(np.fromiter(ends, dtype=size, count=len(parts) + 1))
