"""The formats that a user asks for, checked before any work."""

from __future__ import annotations

from collections.abc import Sequence

from evalprep.errors import Problems, near


def check_formats(formats: Sequence[str], known: Sequence[str], problems: Problems) -> None:
    """Notes formats that do not exist, or that cannot be written here, before any work is done.

    Args:
        formats: Those of the user; none is a mistake as well.
        known: Those that exist.
        problems: Gets the mistakes.
    """
    for name in formats or [""]:
        if name not in known:
            problems.add(
                f"unknown format {name!r}",
                where="--format",
                allowed=", ".join(known),
                fix=near(name, known),
            )
    if "xlsx" in formats:
        try:
            import xlsxwriter  # noqa: F401
        except ImportError:
            problems.add(
                "xlsx needs the package xlsxwriter",
                where="--format",
                fix="pip install 'evalprep[report]'",
            )
