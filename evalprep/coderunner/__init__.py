"""Programmes written by a model, run where they can do no harm: the one exception to "nothing is executed".

A programme runs in a process of its own: no network, no other process, no file but Python's own and an empty folder in
memory, no right to start anything, limits on CPU time, memory and files. What protects is found and tried out
(`Isolation.find`) before anything runs, and where nothing does, nothing runs. Verdicts rest on CPU time and on what the
programme does, never on the clock: a slow machine changes no score.
"""

from evalprep.coderunner.isolation import Isolation, NoIsolation
from evalprep.coderunner.limits import Limits
from evalprep.coderunner.outcome import Outcome, Status
from evalprep.coderunner.runner import find_isolation, run

__all__ = ["Isolation", "Limits", "NoIsolation", "Outcome", "Status", "find_isolation", "run"]
