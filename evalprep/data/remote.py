"""Data at an address (`s3://`, `gs://`, ...) through fsspec, copied here once per version.

An `hf://` address is a data set of the hub, which `hub` reads and pins by its commit; every other
file stands in the manifest with its digest, as local ones do.
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from evalprep.errors import BadInput, Problem
from evalprep.files import replace_file
from evalprep.places import user_cache

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]{0,30})://", re.IGNORECASE)
_HUB = re.compile(
    r"hf://datasets/(?P<name>[^/@]+/[^/@]+)(?:@(?P<revision>[^/]+))?(?:/(?P<file>.+))?"
)
#: What brings fsspec to an address.
PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        "s3": "s3fs",
        "s3a": "s3fs",
        "gs": "gcsfs",
        "gcs": "gcsfs",
        "az": "adlfs",
        "abfs": "adlfs",
        "abfss": "adlfs",
        "http": "fsspec[http]",
        "https": "fsspec[http]",
    }
)


class HubAddress(NamedTuple):
    """A data set of the hub, as an `hf://` address names it."""

    name: str
    revision: str | None
    file: str | None


def protocol_of(location: str) -> str | None:
    """The protocol of an address; None for a path or hub id.

    >>> protocol_of("s3://bucket/a.jsonl"), protocol_of("owner/name")
    ('s3', None)
    """
    match = _ADDRESS.match(location)
    return match.group(1).lower() if match else None


def hub_address(location: str) -> HubAddress | None:
    """The data set that an `hf://datasets/` address names; None for another address.

    >>> hub_address("hf://datasets/org/set@v1/a/b.jsonl")
    HubAddress(name='org/set', revision='v1', file='a/b.jsonl')
    """
    match = _HUB.fullmatch(location.rstrip("/"))
    return HubAddress(**match.groupdict()) if match else None


def local_copy(address: str, where: str) -> Path:
    """A copy of the file or folder at an address.

    It is fetched where its version is not here yet.

    Raises:
        BadInput: a package for the address is missing, or nothing can be had there.
    """
    system, path = _file_system(address, where)
    try:
        names = system.find(path) if system.isdir(path) else [path]
        versions = [str(system.ukey(name)) for name in names]
        text = "\n".join([address, *versions])
        folder = user_cache() / "data" / hashlib.sha256(text.encode()).hexdigest()[:32]
        for name in names:
            target = folder / _relative(name, path)
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                with replace_file(target) as temporary:
                    system.get_file(name, str(temporary))
    except Exception as error:  # noqa: BLE001 - each kind of storage raises errors of its own
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        what = f"{address} cannot be read: {reason}"
        fix = "check the address and the credentials of this machine for it, or give a local copy"
        raise BadInput(Problem(what=what, where=where, fix=fix)) from None
    return folder if names != [path] else folder / _relative(path, path)


def _file_system(address: str, where: str) -> tuple[Any, str]:
    protocol = protocol_of(address) or ""
    package = PACKAGES.get(protocol, f"the fsspec package for {protocol}://")
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        what = f"{address} needs fsspec, which is not installed"
        packages = " ".join(dict.fromkeys(["fsspec", PACKAGES.get(protocol, "fsspec")]))
        fix = f"pip install {packages}, or give a local copy"
        raise BadInput(Problem(what=what, where=where, fix=fix)) from None
    try:
        system, path = fsspec.core.url_to_fs(address)
    except ImportError:
        what = f"{address} needs {package}, which is not installed"
        fix = f"pip install {package}, or give a local copy"
        raise BadInput(Problem(what=what, where=where, fix=fix)) from None
    except ValueError as error:
        raise BadInput(Problem(what=f"{address}: {error}", where=where)) from None
    return system, path


def _relative(name: str, path: str) -> str:
    """The place of a file below the folder that was asked for; of a file alone its name."""
    if name == path:
        return PurePosixPath(name).name
    return name.removeprefix(path).lstrip("/")
