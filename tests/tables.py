"""Tables of hundreds of rows that are one test each: pytest spends over a millisecond on each test of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

Test = Callable[..., None]


def repr_of(*values: Any) -> str:
    """The values, as Python writes them."""
    return ", ".join(map(repr, values))


def each_row(
    names: str | tuple[str, ...], rows: Iterable[Any], *, name_of: Callable[..., str] = repr_of
) -> Callable[[Test], Callable[[], None]]:
    """Runs a test for each row, as `pytest.mark.parametrize` does, and fails with the list of all rows that fail.

    Args:
        names: The names of the parameters, or that of the only one.
        rows: Values of the parameters, at least one row; `pytest.param` names a row, and may mark it as `xfail`.
        name_of: The name of a row from its values, for rows without one.
    """
    parameters = (names,) if isinstance(names, str) else names
    table = [_row(parameters, row, name_of) for row in rows]

    def decorate(test: Test) -> Callable[[], None]:
        def test_of_all_rows() -> None:
            assert table, "nothing to look at"
            wrong = []
            for name, values, is_missed in table:
                failure = _failure(test, values)
                if is_missed and failure is None:
                    failure = "is expected to fail, and does not"
                elif is_missed:
                    failure = None
                if failure is not None:
                    wrong.append(f"{name}: {failure}")
            assert not wrong, f"{len(wrong)} of {len(table)} rows:\n" + "\n".join(wrong)

        test_of_all_rows.__name__ = test.__name__
        test_of_all_rows.__doc__ = test.__doc__
        return test_of_all_rows

    return decorate


def _row(
    parameters: tuple[str, ...], row: Any, name_of: Callable[..., str]
) -> tuple[str, dict[str, Any], bool]:
    """The name of a row, its values, and whether it is expected to fail."""
    if not isinstance(row, type(pytest.param())):
        row = pytest.param(*((row,) if len(parameters) == 1 else row))
    is_missed = any(mark.name == "xfail" for mark in row.marks)
    named = dict(zip(parameters, row.values, strict=True))
    return row.id or name_of(*row.values), named, is_missed


def _failure(test: Test, values: Mapping[str, Any]) -> str | None:
    """Why a row fails; None where it passes."""
    try:
        test(**values)
    except AssertionError as error:
        return str(error) or "AssertionError"
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - whatever it is, it is reported
        return f"{type(error).__name__}: {error}"
    return None
