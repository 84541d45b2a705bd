"""Output of other people's code, kept away from what evalprep prints."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps lm-eval's and datasets' own messages and bars off the screen.

    What matters of them becomes findings.
    """
    names = ("lm_eval", "lm-eval", "datasets", "evalprep", "custom_metrics")
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        # Progress bars of half a dozen libraries, and what the tasks' own code prints.
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


@contextlib.contextmanager
def stdout_is_ours() -> Iterator[None]:
    """Sends to stderr what the block writes to stdout, child processes and C libraries included.

    Standard output carries our JSON, and nothing else.
    """
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # closed by the caller
        yield
        return
    try:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
