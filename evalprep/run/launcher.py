"""lm_eval without the index of its own 14,000 task files, which costs 10 to 15 s of CPU.

    python -m evalprep.run.launcher run --config work_dir/run.yaml

takes the words of an `lm_eval` command and gives the same files. A command of a preparation that
another one has replaced is refused: it would measure the tasks of the other under its own run id.
"""

from __future__ import annotations

import sys

import lm_eval.tasks
from lm_eval.api import registry

from evalprep.backends import keep_copies
from evalprep.packs import RequestedTasks
from evalprep.run.replaced import stop_replaced


def main() -> None:
    """Runs lm-eval on the words of the command line."""
    from lm_eval.__main__ import cli_evaluate

    stop_replaced()
    lm_eval.tasks.TaskManager = RequestedTasks
    get_model = registry.get_model
    registry.get_model = lambda name: keep_copies(get_model(name))
    sys.argv[0] = "lm_eval"
    cli_evaluate()


if __name__ == "__main__":
    main()
