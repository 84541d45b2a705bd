"""The pace at which a service is asked.

Waits between attempts, and one wait for all where it says that it has had enough.
"""

from __future__ import annotations

import asyncio
import random
import time

#: Seconds between attempts; doubled each time, and varied by up to a quarter.
FIRST_WAIT, LONGEST_WAIT = (1.0, 60.0)
#: A service that asks for more than this is left alone.
LONGEST_ASKED = 600.0


def backoff(attempt: int) -> float:
    """Seconds before attempt `attempt` + 1, from 1.

    Doubled each time, and varied against marching in step.
    """
    wait = min(FIRST_WAIT * 2.0 ** min(attempt - 1, 30), LONGEST_WAIT)
    return wait * random.uniform(0.75, 1.25)  # noqa: S311 - spreads load


class Pace:
    """Shared by all requests to one service."""

    def __init__(self) -> None:
        self._not_before = 0.0

    def hold(self, seconds: float) -> None:
        """Let nobody ask for so long."""
        self._not_before = max(self._not_before, time.monotonic() + seconds)

    async def turn(self) -> None:
        """Wait until asking is allowed."""
        while (wait := self._not_before - time.monotonic()) > 0:  # noqa: ASYNC110 - a time, not an event
            # Not all at the same moment.
            await asyncio.sleep(wait + random.uniform(0, min(0.25 * wait, 1.0)))  # noqa: S311 - spreads load
