"""Fixtures that several rooms share."""

from tests.evalprep.tiny_project import tiny_project  # noqa: F401
