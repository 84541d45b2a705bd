"""A PEP 517 backend in the standard library: a wheel with metadata and no modules."""

from __future__ import annotations

import hashlib
import tomllib
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path


def build_wheel(
    wheel_directory: str,
    config_settings: dict[str, str] | None = None,  # noqa: ARG001 - PEP 517 fixes the signature
    metadata_directory: str | None = None,  # noqa: ARG001 - PEP 517 fixes the signature
) -> str:
    """Write the wheel that `pyproject.toml` names and return its file name."""
    project = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text())["project"]
    stem = f"{project['name']}-{project['version']}"
    contents = {
        "METADATA": (
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        ),
        "WHEEL": (
            "Wheel-Version: 1.0\nGenerator: metadata_wheel\n"
            "Root-Is-Purelib: true\nTag: py3-none-any\n"
        ),
    }
    rows = []
    file_name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / file_name, "w") as wheel:
        for name, text in contents.items():
            path = f"{stem}.dist-info/{name}"
            wheel.writestr(path, text)
            digest = urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            rows.append(f"{path},sha256={digest},{len(text.encode())}\n")
        record = f"{stem}.dist-info/RECORD"
        wheel.writestr(record, "".join(rows) + f"{record},,\n")
    return file_name
