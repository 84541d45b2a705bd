"""Config and packs -> work_dir: selection, task files, rendering, the work folder, commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.prepare.build import Preparation
    from evalprep.prepare.commands import own_line
    from evalprep.prepare.freshness import changes_since
    from evalprep.prepare.preparation import prepare
    from evalprep.prepare.selection import refuse_unknown_tasks
    from evalprep.prepare.stages import continue_stages
    from evalprep.prepare.target import Target, add_arguments, config_target, targets
else:
    __getattr__ = offered(__name__)
