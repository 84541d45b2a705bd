"""Seeded mutants of files: of their bytes, and of what they hold.

A mutant has one change. Of JSON and YAML that is a key that is dropped, doubled, swapped with
another, or that holds something of another type, NaN, a text that never ends or a deep list; of
tables the same of a cell or a column; of archives one of their files; of ledgers a cell or a table.
Of any file: cut off at a boundary, noise, bytes that are no UTF-8, another encoding, other ends of
lines, the beginning of gzip, depth.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

#: What takes the place of a value.
ODD = (
    *(None, True, False, 0, -1, 3, 10**400, -(2**63), 2**64, 1e308, float("nan"), float("inf")),
    *("", "x", "nan", "0", "\ud800", "\0", "a\nb", "=1+1", "../../x", "x" * 100_000, "\U0001f600"),
    *([], {}, [[]], [None], [3], ["x"], {"a": {"b": [1]}}, {"": ""}, [{"a": 1}, 2], [["x"] * 9]),
)
#: The same for a cell of a ledger.
CELLS = (None, "", "x", 3, -1, 2**62, 1e308, b"\xff\x00", "[" * 9_000, "NaN", "{}", "x" * 99_999)
AGAIN = "~again~"
DEPTHS = (90, 120, 900, 100_000)
Place = tuple[Any, Any]  # a list or a mapping, and a position or key of it


#: What a change that a format has no room for ends in.
_IMPOSSIBLE = (
    *(ValueError, TypeError, KeyError, OverflowError, RecursionError),
    *(pa.ArrowException, yaml.YAMLError),
)


def mutant(name: str, data: bytes, draw: random.Random) -> tuple[str, bytes]:
    """Returns what was done to the content of a file, in words, and the content after it."""
    change = _OF_KIND.get(_kind(name, data))
    if change is None or draw.random() < 0.3:
        change = _bytes
    try:
        return change(data, draw)
    except _IMPOSSIBLE:
        return _bytes(data, draw)


def _kind(name: str, data: bytes) -> str:
    """The ending that tells how a file is written."""
    if data[:2] == b"\x1f\x8b":
        return "gz"
    if data[:4] == b"PK\x03\x04":
        return "zip"
    ending = name.rpartition(".")[2]
    if ending == "json" and data.lstrip()[:1] == b"{" and b"}\n{" in data[:1_000_000]:
        return "jsonl"
    return ending


def places(value: Any, most: int = 4_000) -> list[Place]:
    """Every place in nested data, the outermost first."""
    found: list[Place] = []
    waiting = [value]
    while waiting and len(found) < most:
        inner = waiting.pop(0)
        keys = list(inner) if isinstance(inner, dict) else range(len(inner))
        found += [(inner, key) for key in keys]
        waiting += [
            inner[key] for key in keys if isinstance(inner[key], dict | list) and inner[key]
        ]
    return found


def change_data(value: Any, draw: random.Random) -> tuple[str, Any]:
    """Returns what was done to nested data, and the data after it."""
    every = places(value) if isinstance(value, dict | list) else []
    if not every:
        return "another value", draw.choice(ODD)
    # As often near the root as in the depths, where most places are.
    place = draw.choice(every[: draw.choice((4, 20, len(every)))])
    holder, key = place
    match draw.randrange(7):
        case 0:
            del holder[key]
            return f"without {key!r}", value
        case 1 if isinstance(holder, dict):
            holder[f"{key}{AGAIN}"] = draw.choice((holder[key], draw.choice(ODD)))
            return f"{key!r} twice", value
        case 2:
            other, name = draw.choice(every)
            holder[key], other[name] = other[name], holder[key]
            # A value swapped with one that it holds would hold itself.
            with contextlib.suppress(ValueError):
                json.dumps(value)
                return f"{key!r} swapped with {name!r}", value
            holder[key] = None
            other[name] = None
            return f"neither {key!r} nor {name!r}", value
        case 3 if isinstance(holder, dict):
            holder[draw.choice((str(key).upper(), f"{key} ", "", "x", "\ud800"))] = holder.pop(key)
            return f"{key!r} renamed", value
        case 4:
            deep: Any = 1
            for _ in range(draw.choice((90, 110, 400))):
                deep = draw.choice(([deep], {"a": deep}))
            holder[key] = deep
            return f"{key!r} deep", value
        case _:
            holder[key] = draw.choice(ODD)
            return f"{key!r} = {_short(holder[key])}", value


def _short(value: Any) -> str:
    return ascii(value)[:40]


def _text(value: Any) -> bytes:
    return json.dumps(value).replace(AGAIN, "").encode("utf-8", "surrogatepass")


def _json(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    words, value = change_data(json.loads(data), draw)
    return words, _text(value)


def _lines(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    """One line is changed, or each in the same way."""
    lines = data.splitlines()
    if not lines:
        return _bytes(data, draw)
    seed = draw.random()
    every = draw.random() < 0.5
    picked = range(len(lines)) if every else [draw.randrange(len(lines))]
    words = ""
    for at in picked:
        try:
            value = json.loads(lines[at])
        except ValueError:
            continue
        words, value = change_data(value, random.Random(seed))
        lines[at] = _text(value)
    return f"{'each line' if every else 'a line'}: {words}", b"\n".join(lines) + b"\n"


def _yaml(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    words, value = change_data(yaml.safe_load(data), draw)
    text = yaml.safe_dump(value, allow_unicode=False, sort_keys=False, width=10_000)
    return words, text.replace(AGAIN, "").encode("utf-8", "surrogatepass")


def _csv(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    lines = data.decode("utf-8", "replace").splitlines()
    at = draw.choice((0, draw.randrange(len(lines))))
    separator = ";" if ";" in lines[0] else ","
    cells = lines[at].split(separator)
    place = draw.randrange(len(cells))
    cells[place] = draw.choice(("", '"', cells[0], "x" * 200_000, "nan", "\0", "1e999", "a\rb"))
    if draw.random() < 0.3:
        cells *= draw.choice((0, 2, 50))
    lines[at] = separator.join(cells)
    return f"line {at}, cell {place}", "\n".join(lines).encode("utf-8", "surrogatepass")


def _gz(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    words, content = _lines(gzip.decompress(data), draw)
    return f"in gzip: {words}", gzip.compress(content, mtime=0)


def _zip(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    """A file of an archive is changed, dropped or there twice."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        picked, what = draw.choice(names), draw.randrange(4)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as other:
            for name in names:
                content = archive.read(name)
                if name == picked and what == 0:
                    continue
                if name == picked and what == 1:
                    with contextlib.suppress(UserWarning):
                        other.writestr(f"{name} "[:-1], content)
                if name == picked and what > 1:
                    _, content = (_bytes, _json)[what - 2](content, draw)
                other.writestr(name, content)
    return (
        f"in the archive: {picked} {('dropped', 'twice', 'bytes', 'data')[what]}",
        target.getvalue(),
    )


def _parquet(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    table = pq.read_table(io.BytesIO(data))
    name = draw.choice(table.column_names)
    at = table.column_names.index(name)
    count = table.num_rows
    match draw.randrange(7):
        case 0:
            words, changed = f"without column {name}", table.drop_columns([name])
        case 1:
            words, changed = f"column {name} twice", table.append_column(name, table.column(at))
        case 2:
            words, changed = f"column {name} null", table.set_column(at, name, pa.nulls(count))
        case 3:
            odd = draw.choice(("x", 3, 1.5, True, [1], {"a": 1}, [["x"]], b"\xff", float("nan")))
            words = f"column {name} = {_short(odd)}"
            changed = table.set_column(at, name, pa.array([odd] * count))
        case 4:
            renamed = [
                ("x" if place == at else own) for place, own in enumerate(table.column_names)
            ]
            words, changed = f"column {name} renamed", table.rename_columns(renamed)
        case 5:
            words, changed = "no rows", table.slice(0, 0)
        case _:
            rows = table.to_pylist()
            words, rows[0] = change_data(rows[0], draw)
            changed = pa.Table.from_pylist(rows)
    target = io.BytesIO()
    pq.write_table(changed, target)
    return words, target.getvalue()


def _sqlite(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    """A cell, a column or a table of a ledger is changed."""
    with tempfile.TemporaryDirectory(prefix="ledger-") as folder:
        path = Path(folder, "ledger.sqlite")
        path.write_bytes(data)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as ledger:
            every = "SELECT name FROM sqlite_master WHERE type = 'table'"
            table = draw.choice([name for (name,) in ledger.execute(every)])
            columns = [row[1] for row in ledger.execute(f'PRAGMA table_info("{table}")')]
            column = draw.choice(columns)
            which = draw.choice(("", " WHERE rowid = 1"))
            odd = draw.choice(CELLS)
            try:
                match draw.randrange(6):
                    case 0:
                        words = f"without table {table}"
                        ledger.execute(f'DROP TABLE "{table}"')
                    case 1:
                        words = f"without column {table}.{column}"
                        ledger.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
                    case 2:
                        words = f"another version of the schema: {odd!a}"[:60]
                        ledger.execute(f"PRAGMA user_version = {draw.randrange(-2, 99)}")
                    case _:
                        words = f"{table}.{column} = {_short(odd)}{which}"
                        ledger.execute(f'UPDATE "{table}" SET "{column}" = ?{which}', (odd,))
            except sqlite3.Error:
                return _bytes(data, draw)
        return words, path.read_bytes()


def _boundaries(data: bytes) -> Iterator[int]:
    """Where something ends: after a sign of JSON or YAML, a line, a beginning of a part."""
    yield from (0, 1, 2, 4, 8, 16, 100, 512, 4096, len(data) // 2, len(data) - 1, len(data) - 8)
    yield from (match.end() for match in re.finditer(rb'[{}\[\],:"\n]|PK', data[:200_000]))


def _deep(data: bytes, draw: random.Random) -> bytes:
    depth = draw.choice(DEPTHS)
    opened, closed = draw.choice(((b"[", b"]"), (b'{"a":', b"}")))
    nest = opened * depth + b"1" + closed * draw.choice((0, depth))
    at = draw.choice((0, data.find(b":") + 1, len(data)))
    return data[:at] + nest + data[at:]


def _inserted(what: bytes) -> Callable[[bytes, random.Random], bytes]:
    def insert(data: bytes, draw: random.Random) -> bytes:
        at = draw.randrange(len(data) + 1)
        return data[:at] + what + data[at:]

    return insert


def _noise(data: bytes, draw: random.Random) -> bytes:
    noisy = bytearray(data or b" ")
    for _ in range(draw.choice((1, 4, 40))):
        noisy[draw.randrange(len(noisy))] = draw.randrange(256)
    return bytes(noisy)


def _zeros(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + bytes(min(4096, len(data) - at)) + data[at + 4096 :]


def _pretty(data: bytes, _draw: random.Random) -> bytes:
    lines = []
    for line in data.splitlines():
        try:
            lines.append(json.dumps(json.loads(line), indent=2).encode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            lines.append(line)
    return b"\n".join(lines)


_CHANGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut": lambda data, draw: data[: draw.choice(list(_boundaries(data)))],
    "cut at random": lambda data, draw: data[: draw.randrange(len(data) + 1)],
    "beginning away": lambda data, draw: data[draw.choice(list(_boundaries(data))) :],
    "deep": _deep,
    "no UTF-8": _inserted(b"\xff\xfe\x80"),
    "half a surrogate": _inserted(b"\xed\xa0\x80"),
    "zero bytes": _inserted(bytes(3)),
    "Infinity": lambda data, draw: data.replace(b"0.", b"Infinity, 0.", draw.choice((1, 9))),
    "NaN": lambda data, draw: re.sub(rb"(?<=: )[0-9.]+", b"NaN", data, count=draw.choice((1, 0))),
    "many digits": lambda data, _: re.sub(rb"(?<=: )[0-9.]+", b"9" * 5000, data, count=1),
    "noise": _noise,
    "zeros": _zeros,
    "UTF-16": lambda data, _: data.decode("utf-8", "replace").encode("utf-16"),
    "UTF-8 with a mark": lambda data, _: b"\xef\xbb\xbf" + data,
    "Latin-1": lambda data, _: data + "é".encode("latin-1"),
    "CR alone": lambda data, _: data.replace(b"\n", b"\r"),
    "CR and LF": lambda data, _: data.replace(b"\n", b"\r\n"),
    "pretty": _pretty,
    "gzip's beginning": lambda data, _: b"\x1f\x8b\x08\x00" + data[4:],
    "packed": lambda data, _: gzip.compress(data, mtime=0),
    "packed and cut": lambda data, _: gzip.compress(data, mtime=0)[:-9],
    "an archive's beginning": lambda data, _: b"PK\x03\x04" + data[4:],
    "twice": lambda data, _: data + data,
    "empty": lambda _, __: b"",
    "a list": lambda data, _: b"[" + data + b"]",
    "null": lambda _, __: b"null",
}


def _bytes(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    name = draw.choice(list(_CHANGES))
    return name, _CHANGES[name](data, draw)


_OF_KIND: dict[str, Callable[[bytes, random.Random], tuple[str, bytes]]] = {
    "json": _json,
    "jsonl": _lines,
    "yaml": _yaml,
    "csv": _csv,
    "gz": _gz,
    "zip": _zip,
    "parquet": _parquet,
    "sqlite": _sqlite,
}
