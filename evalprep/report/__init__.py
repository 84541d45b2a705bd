"""A run, or several side by side, as one offline page, a spreadsheet, CSV or Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.report.document import Report, build_report, build_scores_report
    from evalprep.report.formats import check_formats
    from evalprep.report.judgements import Judgements, judgements_of
    from evalprep.report.page import policy, style
    from evalprep.report.text import plain
    from evalprep.report.write import FORMATS, write_report
else:
    __getattr__ = offered(__name__)
