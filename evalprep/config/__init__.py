"""eval_config.yaml -> Config.

Every mistake told at once, with file, line, key and what is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.config.adapters import adapters_in
    from evalprep.config.file import load_config, read_setting
    from evalprep.config.models import core_of, natural, short_names
    from evalprep.config.schema import (
        CORE_KEYS,
        Config,
        Core,
        config_schema,
        read_core,
        read_section,
        section_for,
    )
else:
    __getattr__ = offered(__name__)
