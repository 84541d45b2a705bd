"""The leaderboard as one HTML file with its style and a small script inside.

The page asks the network for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from evalprep import __version__
from evalprep.leaderboard.board import Board
from evalprep.leaderboard.columns import Column
from evalprep.leaderboard.page.sections import heat_map
from evalprep.leaderboard.picture import colours, curves, scatter
from evalprep.leaderboard.tables import pair_table, run_table, sayings, score_table
from evalprep.report import policy, style
from evalprep.tables import Table, html_table
from evalprep.terminal import counted

_FOLDER = Path(__file__).parent
_META = {
    "viewport": "width=device-width, initial-scale=1",
    "color-scheme": "light dark",
    "referrer": "no-referrer",
}
_KIND = '<p class="kind">evalprep leaderboard</p>'
_MAP_LEAD = (
    '<p class="lead">Darker is nearer to the best value that a score can have; '
    "marked cells stay pale.</p>\n"
)
_CURVES_LEAD = (
    '<p class="lead">A line per training, bars for 95 % intervals of single values, '
    "dashed: reference.</p>\n"
)


def render(board: Board) -> str:
    """The whole page: the table, pictures, curves over steps, every column, what has to be said."""
    css = style() + (_FOLDER / "board.css").read_text(encoding="utf-8")
    code = (_FOLDER / "board.js").read_text(encoding="utf-8")
    title = f"Leaderboard of {counted(len(board.rows), 'model')}"
    content = "".join(_sections(board))
    policy_text = escape(policy(code, css), quote=True)
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy_text}">',
        *(f'<meta name="{name}" content="{value}">' for name, value in _META.items()),
        f"<title>{title}</title>",
        '<link rel="icon" href="data:,">',
        f"<style>{css}</style>",
        "</head>",
        "<body>",
        f'<header id="top"><div>{_KIND}<h1>{title}</h1></div></header>',
        '<main id="main">',
        f"{content}</main>",
        f"<script>{code}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _sections(board: Board) -> Iterator[str]:
    sections = heat_map(board)
    if sections is not None:
        yield f"<h2>{sections.title}</h2>\n"
        yield _MAP_LEAD
        yield _region(sections, "sections", style="board")
    yield "<h2>Scores</h2>\n"
    yield _region(_score_table(board, board.columns.shown), "shown", style="board", sortable=True)
    yield _sentences(board)
    if board.pairs:
        yield "<h2>Pairs that differ</h2>\n"
        yield _region(pair_table(board), "pairs")
    yield from _scatters(board)
    yield from _curves(board)
    columns = board.columns.all
    if len(columns) > len(board.columns.shown):
        yield f"<details><summary>All {len(columns)} columns</summary>\n"
        yield _region(_score_table(board, columns), "all", style="board", sortable=True)
        yield "</details>\n"
    yield "<h2>Runs</h2>\n"
    yield _region(run_table(board), "runs")
    yield f'<p class="quiet small">Written by evalprep {__version__}.</p>\n'


def _sentences(board: Board) -> str:
    """Returns what belongs below the table of scores."""
    figures = "Small figures below a value"
    texts = sayings(board, intervals=figures, in_percent=True, with_hidden=True)
    if len(board.rows) > 1:
        texts.append(
            "Shades run from the worst to the best value of a column, whether or not a difference "
            "is shown."
        )
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="notes">{items}</ul>\n'


def _scatters(board: Board) -> Iterator[str]:
    """The pictures that the packs name."""
    for across, up in board.columns.pictures:
        drawing = scatter(board, across, up)
        if drawing:
            title = f"{escape(up.title)} against {escape(across.title)}"
            yield f"<h2>{title}</h2>\n"
            yield f'<div class="drawing">{drawing}</div>\n'
            yield _key(board)


def _score_table(board: Board, columns: Sequence[Column]) -> Table:
    has_steps = any(row.place.step is not None for row in board.rows)
    return score_table(board, columns, with_steps=has_steps)


def _curves(board: Board) -> Iterator[str]:
    """The shown columns over the steps of trainings, where there are any."""
    figures = []
    for column in board.columns.shown:
        drawing = curves(board, column)
        if drawing:
            caption = f"<figcaption>{escape(column.full_heading)}</figcaption>"
            figures.append(f"<figure>{caption}{drawing}</figure>")
    if not figures:
        return
    yield "<h2>Over the steps</h2>\n"
    yield _CURVES_LEAD
    yield f'<div class="curves">{"".join(figures)}</div>\n'
    yield _key(board)


def _key(board: Board) -> str:
    """Returns which colour is which training."""
    trajectories = board.trajectories()
    items = []
    for name, colour in colours(board).items():
        if name in trajectories:
            circle = f'<circle class="point c{colour}" cx="7" cy="7" r="5"/>'
            dot = f'<svg width="14" height="14" aria-hidden="true">{circle}</svg>'
            items.append(f"<li>{dot}{escape(name)}</li>")
    if not items:
        return ""
    return f'<ul class="key">{"".join(items)}</ul>\n'


#: Id of a table -> its name for screen readers.
_LABELS = {
    "sections": "heat map",
    "shown": "table of scores",
    "all": "table of all scores",
    "pairs": "pairs",
    "runs": "runs",
}


def _region(table: Table, name: str, *, style: str = "", sortable: bool = False) -> str:
    """A table in a box of its own, which scrolls where the table is wider than the page.

    Args:
        table: The table.
        name: Its id.
        style: Its class.
        sortable: A click on a heading sorts by it.
    """
    start = f'<div class="wide" tabindex="0" role="region" aria-label="{_LABELS[name]}">'
    return f"{start}{html_table(table, name=name, style=style, sortable=sortable)}</div>\n"
