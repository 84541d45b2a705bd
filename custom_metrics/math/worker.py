"""The worker process: algebra, and the scorers of other tools, under limits of CPU time and memory.

Reads one JSON request per line and writes one JSON reply per line. The kernel ends the process when
a request has used its CPU time: `ITIMER_PROF` with the default action interrupts C code too, and
nothing has to be cleaned up.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from custom_metrics.math import compare, relations
from custom_metrics.math.exact import NotExactError
from custom_metrics.math.oracle import FullOracle
from custom_metrics.math.parse import parse

Answer = dict[str, Any]


def _equal(request: Answer) -> Answer:
    sides = relations.aligned(
        *(parse(request[key], thousands=request["thousands"]) for key in ("gold", "answer"))
    )
    try:
        return {
            "equal": compare.equal(sides[0], sides[1], FullOracle()),
            "why": "evaluated with many digits",
        }
    except NotExactError as error:
        return {"equal": False, "why": f"could not be shown equal: {error}"}


def _load_math_verify() -> None:
    import math_verify  # noqa: F401


def _math_verify(request: Answer) -> Answer:
    """Decides calculus by math-verify.

    Its rounding, its clock and its comparison of unparsed text are left out.
    """
    from math_verify import LatexExtractionConfig, parse, verify
    from sympy import Integral

    sides = []
    for key in ("gold", "answer"):
        parsed = parse(f"${request[key]}$", [LatexExtractionConfig()], parsing_timeout=None)
        if not parsed or isinstance(parsed[0], str):
            return {"equal": False, "why": "not read by the algebra system"}
        side = parsed[0]
        # Infinite sums are evaluated faster than their digits; of integrals the digits are faster.
        sides.append(side.doit() if hasattr(side, "doit") and not side.has(Integral) else side)
    equal = verify(
        sides[0], sides[1], float_rounding=30, numeric_precision=40, timeout_seconds=None
    )
    return {"equal": bool(equal), "why": "simplified by math-verify and sympy"}


def _load_originals() -> None:
    from custom_metrics.math import original_scorers

    original_scorers.load()


def _original(request: Answer) -> Answer:
    from custom_metrics.math import original_scorers

    return original_scorers.score(request["scorer"], request["gold"], request["answer"])


_KINDS: dict[str, tuple[Callable[[], None] | None, Callable[[Answer], Answer]]] = {
    "equal": (None, _equal),
    "math_verify": (_load_math_verify, _math_verify),
    "original": (_load_originals, _original),
}


def _limit_memory(megabytes: int) -> None:
    try:
        import resource
    except ImportError:  # no such limit on this system
        return
    limit = megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _is_full(megabytes: int) -> bool:
    """Returns whether most of the memory is in use now.

    Not `ru_maxrss`: a process inherits that peak from the one that started it, so a worker of a
    large process (the harness with a model in memory) would look full from its first request on.
    """
    try:
        import resource

        resident = int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize()
    except (ImportError, OSError, IndexError, ValueError):
        return (
            False  # no such reading on this system; the memory limit still holds where there is one
        )
    return resident > megabytes * 2**20 * 0.7


def _set_timer(seconds: float) -> None:
    if hasattr(signal, "ITIMER_PROF"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def main() -> None:
    """Serve until the standard input ends."""
    memory = int(sys.argv[1])
    _limit_memory(memory)
    sys.setrecursionlimit(6_000)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not look like a reply
    for line in sys.stdin:
        request = json.loads(line)
        load, work = _KINDS[request["kind"]]
        if load is not None:
            load()  # imports are not part of the case
        _set_timer(request["cpu_seconds"])
        try:
            reply = work(request)
        except (Exception, RecursionError) as error:  # noqa: BLE001
            # A case must never end the worker.
            reply = {"equal": False, "why": f"{type(error).__name__} in the algebra system"}
        _set_timer(0)
        if _is_full(memory):
            reply["leaving"] = True  # a full cache must not decide the next case
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
