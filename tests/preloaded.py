"""The last module that the fork server imports: all of evalprep, which each fork would import by itself otherwise.

No fork looks for garbage among what is loaded here: it would visit, and so copy, all objects of the libraries.
"""

import gc
import importlib
import pkgutil

import evalprep

#: Modules that import lm-eval, whose libraries read the environment; and those that run a program.
LEFT_OUT = (
    "evalprep.packs.requested_tasks",
    "evalprep.run.launcher",
    "evalprep.run.rehearsal",
    "__main__",
)

for module in pkgutil.walk_packages(evalprep.__path__, "evalprep."):
    if not module.name.endswith(LEFT_OUT):
        importlib.import_module(module.name)
gc.collect()
gc.freeze()
