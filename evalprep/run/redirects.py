"""Redirects of the server that a run asks: none leads to another server.

lm-eval follows every redirect, and would score the replies of a server that nobody named. A run of
`evalprep run` ends there, as a judge does; the printed command of lm-eval follows them still.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin, urlsplit

from evalprep.errors import BadInput, Problem


class Redirected(BadInput):
    """Raised where a server sends a request on to another one."""


def stay_at_server() -> None:
    """Lets lm-eval's interfaces to servers refuse a redirect to another server, in this process."""
    from lm_eval.models import api_models

    if not isinstance(api_models.requests, _Requests):
        api_models.requests = _Requests(api_models.requests)
        api_models.ClientSession = _session_of(api_models.ClientSession)


class _Requests:
    """The library `requests`, whose `post` looks at each response before it follows it."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def post(self, url: str, **options: Any) -> Any:
        return self._library.post(url, hooks={"response": _look_at}, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)


def _look_at(response: Any, **_options: Any) -> None:
    if response.is_redirect:
        _refuse_other(response.url, response.headers["location"], response.status_code)


def _session_of(session: Any) -> Any:
    """A class of sessions of aiohttp that look at each redirect before they follow it."""
    from aiohttp import TraceConfig

    async def look_at(_session: Any, _context: Any, redirect: Any) -> None:
        response = redirect.response
        _refuse_other(str(response.url), response.headers.get("location", ""), response.status)

    def make(**options: Any) -> Any:
        trace = TraceConfig()
        trace.on_request_redirect.append(look_at)
        return session(**options, trace_configs=[trace])

    return make


def _refuse_other(url: str, place: str, status: int) -> None:
    """Refuses a redirect that leaves a server.

    Raises:
        Redirected: it leads to another scheme, host or port.
    """
    here, goal = urlsplit(url), urlsplit(urljoin(url, place))
    if (here.scheme, here.netloc) == (goal.scheme, goal.netloc):
        return
    raise Redirected(
        Problem(
            what=f"HTTP {status}: redirected to {goal.scheme}://{goal.netloc}, which is not "
            "followed: the replies would be those of another server",
            where=f"{here.scheme}://{here.netloc}",
            fix="if that is the right place, name it in model_args.base_url",
        )
    )
