"""Matrix arithmetic in answers.

It computes sums, products, multiples, whole powers and transposes, entry by entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from custom_metrics.math.tokens import TooComplex
from custom_metrics.math.tree import Node, add

MAX_ENTRIES = 144
MAX_POWER = 8


def shape(matrix: Node) -> tuple[int, int]:
    """Returns rows and columns."""
    return len(matrix.args), len(matrix.args[0].args)


def value(node: Node) -> Node | None:
    """Returns the matrix that an expression with matrices denotes, or None when it denotes none."""
    if node.op == "matrix":
        if shape(node)[0] * shape(node)[1] <= MAX_ENTRIES:
            return node
        return None
    if not any(arg.op == "matrix" or arg.args for arg in node.args):
        return None
    if not any(item.op == "matrix" for item in node.walk()):
        return None
    operation = _OPERATIONS.get(node.op)
    if operation:
        return operation(node, [value(arg) for arg in node.args])
    return None


def from_lists(node: Node) -> Node | None:
    """Returns the matrix of rows in square brackets, `[[1, 2], [3, 4]]`; a matrix stays."""
    if node.op == "matrix":
        return node
    rows = node.args if node.value == "[]" else ()
    if (
        not all(row.op == "tuple" and row.value == "[]" for row in rows)
        or len({len(row.args) for row in rows}) != 1
    ):
        return None
    return Node("matrix", tuple(Node("row", row.args) for row in rows))


def vector(node: Node) -> tuple[Node, ...] | None:
    """Returns the entries of a tuple or of a matrix with one column, two at least; else None."""
    if node.op == "tuple" and node.value == "()":
        return node.args if len(node.args) > 1 else None
    if node.op == "matrix" and shape(node)[1] == 1 and len(node.args) > 1:
        return tuple(row.args[0] for row in node.args)
    return None


def determinant(matrix: Node) -> Node:
    """Returns the determinant of a square matrix of up to four rows, expanded along the first row.

    Raises:
        TooComplex: Not such a matrix.
    """
    if matrix.op != "matrix" or len(set(shape(matrix))) != 1 or shape(matrix)[0] > 4:
        raise TooComplex("a determinant")
    first, *rest = (row.args for row in matrix.args)
    if not rest:
        return first[0]
    # Laplace's expansion along the first row
    terms = []
    for column, entry in enumerate(first):
        minor_rows = [Node("row", row[:column] + row[column + 1 :]) for row in rest]
        minor = Node("matrix", tuple(minor_rows))
        product = Node("mul", (entry, determinant(minor)))
        terms.append(Node("neg", (product,)) if column % 2 else product)
    return add(*terms)


def _map(matrix: Node, change: Callable[[Node], Node]) -> Node:
    return _matrix([change(entry) for entry in row.args] for row in matrix.args)


def _matrix(rows: Iterable[Sequence[Node]]) -> Node:
    return Node("matrix", tuple(Node("row", tuple(entries)) for entries in rows))


def _sum(parts: list[Node | None]) -> Node | None:
    known = [part for part in parts if part is not None]
    if len(known) != len(parts) or len({shape(part) for part in known}) != 1:
        return None
    rows, columns = shape(known[0])

    def entry(row: int, column: int) -> Node:
        return add(*(part.args[row].args[column] for part in known))

    return _matrix([entry(row, column) for column in range(columns)] for row in range(rows))


def _product(factors: tuple[Node, ...], parts: list[Node | None]) -> Node | None:
    first, second = parts
    if first is None or second is None:
        matrix, scalar = (second, factors[0]) if first is None else (first, factors[1])
        if matrix is None:
            return None
        return _map(matrix, lambda entry: Node("mul", (scalar, entry)))
    rows, inner = shape(first)
    inner_of_second, columns = shape(second)
    if inner != inner_of_second:
        return None

    def entry(row: int, column: int) -> Node:
        pairs = [(first.args[row].args[k], second.args[k].args[column]) for k in range(inner)]
        return add(*(Node("mul", pair) for pair in pairs))

    return _matrix([entry(row, column) for column in range(columns)] for row in range(rows))


def _power(base: Node | None, exponent: Node) -> Node | None:
    if base is None:
        return None
    if exponent.op == "sym" and exponent.value == "T":
        columns = zip(*(row.args for row in base.args), strict=True)
        rows = [Node("row", entries) for entries in columns]
        return Node("matrix", tuple(rows))
    times = exponent.value if exponent.op == "num" else None
    if not isinstance(times, Fraction) or times not in range(1, MAX_POWER + 1):
        return None
    height, width = shape(base)
    if height == width <= 4:
        return _repeated_product(base, int(times))
    return None


def _repeated_product(base: Node, times: int) -> Node | None:
    """The power of a matrix, None where its entries grow too large."""
    power: Node | None = base
    for _ in range(times - 1):
        power = power and _product((power, base), [power, base])
        if power is not None and sum(1 for _ in power.walk()) > 20_000:
            return None
    return power


def _divided(node: Node, parts: list[Node | None]) -> Node | None:
    divisor = node.args[1]
    return parts[0] and _map(parts[0], lambda entry: Node("div", (entry, divisor)))


_OPERATIONS: dict[str, Callable[[Node, list[Node | None]], Node | None]] = {
    "add": lambda _, parts: _sum(parts),
    "neg": lambda _, parts: parts[0] and _map(parts[0], lambda entry: Node("neg", (entry,))),
    "mul": lambda node, parts: _product(node.args, parts),
    "div": _divided,
    "pow": lambda node, parts: _power(parts[0], node.args[1]),
}
