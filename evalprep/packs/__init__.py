"""pack.yaml -> Pack: finding packs, what a plan is made of, and the manifest.

The manifest is the plan as JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.packs.annotator import (
        NOT_ASKED,
        OUTCOMES,
        Annotator,
        Item,
        Message,
        SampleRef,
        Value,
        Values,
        runs_code,
        runs_here,
    )
    from evalprep.packs.asked import (
        Answerer,
        asked_of_call,
        content_of,
        decisive_arguments,
        first_stage,
        run_id,
    )
    from evalprep.packs.chats import ChatMessage, is_chat, messages_of, readable_prompt
    from evalprep.packs.commits import installed_version
    from evalprep.packs.copied_modules import as_copied, bring_modules
    from evalprep.packs.datafiles import (
        DataFiles,
        file_names,
        matching_files,
        stated_files,
        task_of,
    )
    from evalprep.packs.editedwork import edited_work_of, records_of_work
    from evalprep.packs.entries import ConfigKey, SourceSpec, TaskSpec, pack_schema, shown
    from evalprep.packs.file import read_pack
    from evalprep.packs.finding import TEMPLATES, find_packs, find_task, holds_packs, on_demand
    from evalprep.packs.json_rows import json_table
    from evalprep.packs.log import Log, LoggedRow, LoggedTask, StoredTask
    from evalprep.packs.manifest import (
        MANIFEST,
        STOCK_GROUPS,
        Manifest,
        PreparedSource,
        PreparedTask,
        keep_records,
        listed_files,
        made_manifest,
        read_manifest,
        read_record,
        record_path,
        records_in,
        versions,
    )
    from evalprep.packs.mistakes import source_spec
    from evalprep.packs.numbered import ONLY_LETTERS, AnswerForm, answer_form
    from evalprep.packs.ownership import (
        is_own_file,
        own_packs,
        remember_config,
        remember_file,
        remember_folder,
        state_folder,
        why_foreign,
    )
    from evalprep.packs.pack import Pack
    from evalprep.packs.placeholders import as_jinja, is_jinja, named_in, unknown_names, with_places
    from evalprep.packs.plan import (
        ABILITIES,
        EXCLUDED_KINDS,
        P_VALUE,
        Call,
        Command,
        Excluded,
        Plan,
        Prompt,
        PublishedValue,
        ScoreSpec,
        TaskPlan,
        as_json,
        asked_for,
        closed,
        cycle,
        leaves,
        limited,
    )
    from evalprep.packs.prepared import (
        SHELF,
        Prepared,
        content_digest,
        load_prepared,
        prepared_above,
        require_prepared,
    )
    from evalprep.packs.publication import Publication, PublishedPart
    from evalprep.packs.requested_tasks import RequestedTasks
    from evalprep.packs.rubric import PREFERENCE, Rubric, RubricJudge, text_at
    from evalprep.packs.rubricfile import read_rubric
    from evalprep.packs.skeletons import Questions, skeleton
    from evalprep.packs.stock import (
        is_remembered,
        member_names,
        stock_file,
        stock_names,
        stock_tagged,
    )
    from evalprep.packs.tasksettings import (
        ANY_FUNCTION,
        CLASS,
        FACT_OF_CHOICE,
        FACT_OF_SETTING,
        READ_BY,
        in_one_form,
        place_of,
        settings_of,
        settings_of_task,
        template_settings,
    )
    from evalprep.packs.turns import asked_in, without_control
else:
    __getattr__ = offered(__name__)
