"""The server that a run talks to: whether anybody is there."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from evalprep.status import Job

_PATIENCE = 5.0  # seconds for a connection


def silence(job: Job) -> str:
    """Returns why no server can be reached.

    Empty where one answers, or where the back end needs none.

    Only a connection is tried: what the server thinks of a request is lm-eval's to find out. Behind
    a proxy nothing is said, as the way there is not ours to know.
    """
    url = job.model_args.get("base_url")
    if not isinstance(url, str):
        return ""
    parts = urlsplit(url)
    try:
        host, port = parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ""
    if not host or not port or (parts.scheme in getproxies() and not proxy_bypass(host)):
        return ""
    try:
        socket.create_connection((host, port), _PATIENCE).close()
    except OSError as error:
        return f"no server answers at {host}:{port} ({error.strerror or error})"
    return ""
