"""Programmes written by a model, run where they can do no harm.

The one exception to "nothing is executed".

A programme and the test of its data set run in two processes, each in a room of its own: no
network, no other process, no file but Python's own, its packages and an empty folder in memory, no
right to start anything, limits on CPU time, memory and files. The programme's process gets
arguments and returns plain data; the test's process holds the expected values and the verdict. What
protects is looked for and tried out (`find_isolation`) before anything runs, and where nothing
does, nothing runs. Verdicts rest on CPU time and on what the programme does, never on the clock: a
slow machine changes no score.
"""

from evalprep.coderunner.isolation import Isolation, NoIsolation
from evalprep.coderunner.programme import Limits, Programme
from evalprep.coderunner.runner import find_isolation, run

__all__ = ["Isolation", "Limits", "NoIsolation", "Programme", "find_isolation", "run"]
