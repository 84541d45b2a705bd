"""One table model (columns with a kind, rows of cells, notes) and one renderer per medium."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.tables.blocks import block_lines, column_blocks
    from evalprep.tables.csvfile import harmless, write_csv, write_rows
    from evalprep.tables.html import html_part, html_table
    from evalprep.tables.latex import latex_lines
    from evalprep.tables.lines import shortened, table_lines
    from evalprep.tables.markdown import escape, markdown_lines
    from evalprep.tables.model import (
        LEADS,
        Cell,
        Column,
        Entry,
        Kind,
        Note,
        Row,
        Table,
        Tone,
        Value,
        streamed,
        table_of,
    )
    from evalprep.tables.screen import folded, folded_notes, print_notes, print_table
    from evalprep.tables.workbook import Workbook
else:
    __getattr__ = offered(__name__)
