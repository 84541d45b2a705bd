"""The interface for a pack's `prepare.py`: the only part of evalprep that packs import.

A pack with work of its own has `prepare.py` with

    def prepare(context: Context, task: str) -> TaskData: ...

and, where the tasks depend on the data, also

    def plan(context: Context) -> Plan: ...

A pack whose tasks are named by the config tells these names before any plan is made:

    def names(section) -> list[str]: ...

A pack without `prepare.py` gets its rows from `source:` in pack.yaml as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.backends import Backend
    from evalprep.coderunner import Limits, Programme, find_isolation
    from evalprep.coderunner import run as run_programme
    from evalprep.data import (
        OF_MODEL,
        DataFolder,
        FieldRow,
        GroundTruth,
        JoinReport,
        Repeats,
        Source,
        config_names,
        fields_of_records,
        join,
        join_columns,
        kind_of,
        list_cell,
        looks_like_list,
        named_rows,
        on_hub,
        open_folder,
        open_source,
        read_fields,
    )
    from evalprep.errors import BadInput, Problem, Problems, near
    from evalprep.files import (
        file_sha256,
        indented_json,
        make_folder,
        open_atomically,
        open_file,
        read_file,
        read_object,
        replace_file,
        write_atomically,
    )
    from evalprep.model import model_folder
    from evalprep.packapi.context import Context, Previous, TaskData, UserModule
    from evalprep.packs import (
        NOT_ASKED,
        Call,
        Excluded,
        Item,
        Log,
        LoggedRow,
        LoggedTask,
        Plan,
        Publication,
        PublishedPart,
        PublishedValue,
        Rubric,
        RubricJudge,
        SampleRef,
        ScoreSpec,
        SourceSpec,
        StoredTask,
        TaskPlan,
        TaskSpec,
        Value,
        Values,
        as_jinja,
        is_jinja,
        is_own_file,
        read_rubric,
        remember_file,
        source_spec,
        unknown_names,
        with_places,
        without_control,
    )
    from evalprep.places import is_folder, last_part, place
    from evalprep.results import (
        AnnotatorOrigin,
        CommandOrigin,
        Digest,
        ExportBoard,
        ExportCell,
        ExportDifference,
        ExportRow,
        ExportRun,
        ExportTask,
        Provenance,
        SourceOrigin,
        few_read,
    )
    from evalprep.samples import Sample, document_hash
    from evalprep.tables import (
        Column,
        Kind,
        Table,
        Workbook,
        html_table,
        markdown_lines,
        write_csv,
        write_rows,
    )
    from evalprep.tables import escape as escape_markdown
else:
    __getattr__ = offered(__name__)
