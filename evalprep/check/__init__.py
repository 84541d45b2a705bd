"""Findings about what would spoil a run, before any model is loaded.

`evalprep.check.codes` lists every finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.check.annotators import check_annotators
    from evalprep.check.chat import chat_template
    from evalprep.check.codes import CODES, LEVELS, markdown
    from evalprep.check.estimate import Estimate, estimate_run
    from evalprep.check.finding import Finding, Findings
    from evalprep.check.folds import WIDTH, fold, more_like, paragraph
    from evalprep.check.full import FullCheck, check_full, find_tokenizer
    from evalprep.check.functions import function_refs, names_of_module
    from evalprep.check.generation import is_sampling
    from evalprep.check.loading import load_tasks
    from evalprep.check.preview import Preview, Request, preview_task
    from evalprep.check.prompts import ASKED_BY_PACK
    from evalprep.check.requests import build_requests
    from evalprep.check.scorer import Scorer
    from evalprep.check.selection import files_behind, kind_of, names_behind, tasks_behind
    from evalprep.check.settings import CONTEXT_KEYS, RunSettings
    from evalprep.check.silence import quiet, stdout_is_ours
    from evalprep.check.static import StaticCheck, check_static, check_tree
    from evalprep.check.tree import (
        REPEATED,
        FunctionRef,
        TaskFile,
        Tree,
        add_files,
        filter_steps,
        keeps_first,
        read_tree,
        yaml_files,
        yaml_mapping,
    )
else:
    __getattr__ = offered(__name__)
