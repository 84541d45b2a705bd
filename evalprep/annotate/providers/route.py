"""The way of a request to a service: encrypted or open, and through which proxy."""

from __future__ import annotations

import urllib.request
from urllib.parse import urlsplit

from evalprep.hosts import is_this_machine


def travels_openly(url: str) -> bool:
    """Returns whether a request leaves this machine unencrypted."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_this_machine(parts.hostname or "")


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address; none is used for this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy is None or is_this_machine(host) or urllib.request.proxy_bypass(host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def uses_proxy(url: str) -> bool:
    """Returns whether the environment names a proxy for an address."""
    return proxy_for(url) is not None
