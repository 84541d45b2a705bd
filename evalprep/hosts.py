"""Addresses of machines."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit, urlunsplit


def is_this_machine(host: str) -> bool:
    """Tells if a host is this machine by its name or address.

    >>> is_this_machine("localhost"), is_this_machine("127.0.0.2"), is_this_machine("10.0.0.1")
    (True, True, False)
    """
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def without_own_port(url: str) -> str:
    """Returns an address; of this machine without the port, which each start of a server chooses.

    >>> without_own_port("http://127.0.0.1:8000/v1"), without_own_port("http://10.0.0.1:8000/v1")
    ('http://localhost/v1', 'http://10.0.0.1:8000/v1')
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return url
    if not is_this_machine(host):
        return url
    return urlunsplit(parts._replace(netloc="localhost"))
