"""The leaderboard as one HTML file with its style and a small script inside.

The page asks the network for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from evalprep import __version__, tables
from evalprep.leaderboard.board import SIGNS, Board, Cell
from evalprep.leaderboard.columns import Column
from evalprep.leaderboard.page.sections import heat_map
from evalprep.leaderboard.picture import colours, curves, scatter
from evalprep.leaderboard.tables import details_of, interval_text, pair_table, run_table, sayings
from evalprep.leaderboard.values import heading_of, signs_of, value_text
from evalprep.report import policy, style
from evalprep.tables import Entry, Kind, Table, Tone, html_table
from evalprep.terminal import counted

_FOLDER = Path(__file__).parent
_META = {
    "viewport": "width=device-width, initial-scale=1",
    "color-scheme": "light dark",
    "referrer": "no-referrer",
}
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
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        *_metadata(policy(code, css)),
        f"<title>{title}</title>",
        '<link rel="icon" href="data:,">',
        f"<style>{css}</style>",
        "</head>",
        "<body>",
        _header(title),
        '<main id="main">',
        f"{content}</main>",
        f"<script>{code}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _metadata(security_policy: str) -> Iterator[str]:
    """Yields what the head of the page says of it to browsers."""
    yield '<meta charset="utf-8">'
    policy_text = escape(security_policy, quote=True)
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy_text}">'
    for name, content in _META.items():
        yield f'<meta name="{name}" content="{content}">'


def _header(title: str) -> str:
    kind = '<p class="kind">evalprep leaderboard</p>'
    return f'<header id="top"><div>{kind}<h1>{title}</h1></div></header>'


def _sections(board: Board) -> Iterator[str]:
    sections = heat_map(board, _cell)
    if sections is not None:
        yield f"<h2>{sections.title}</h2>\n"
        yield _MAP_LEAD
        yield _region(sections, "sections", style="board")
    scores = _score_table(board, board.columns.shown)
    yield f"<h2>{scores.title}</h2>\n"
    yield _region(scores, "shown", style="board", sortable=True)
    yield _sentences(board)
    if board.pairs:
        yield "<h2>Pairs that differ</h2>\n"
        yield _region(pair_table(board), "pairs")
    yield from _scatters(board)
    yield from _curves(board)
    yield from _all_columns(board)
    yield "<h2>Runs</h2>\n"
    yield _region(run_table(board), "runs")
    yield f'<p class="quiet small">Written by evalprep {__version__}.</p>\n'


def _sentences(board: Board) -> str:
    """Returns what belongs below the table of scores."""
    texts = [*sayings(board, "Small figures below a value")]
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


def _all_columns(board: Board) -> Iterator[str]:
    """The table of all columns, folded, where some of them are not shown."""
    columns = board.columns.all
    if len(columns) > len(board.columns.shown):
        yield f"<details><summary>All {len(columns)} columns</summary>\n"
        yield _region(_score_table(board, columns), "all", style="board", sortable=True)
        yield "</details>\n"


def _curves(board: Board) -> Iterator[str]:
    """The shown columns over the steps of trainings, where there are any."""
    figures = []
    for column in board.columns.shown:
        drawing = curves(board, column)
        if drawing:
            caption = f"<figcaption>{escape(heading_of(column))}</figcaption>"
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
            items.append(f"<li>{_dot(colour)}{escape(name)}</li>")
    if not items:
        return ""
    return f'<ul class="key">{"".join(items)}</ul>\n'


def _dot(colour: int) -> str:
    circle = f'<circle class="point c{colour}" cx="7" cy="7" r="5"/>'
    return f'<svg width="14" height="14" aria-hidden="true">{circle}</svg>'


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


def _score_table(board: Board, columns: Sequence[Column]) -> Table:
    """A row per model, each value shaded from the worst to the best of its column."""
    has_steps = any(row.place.step is not None for row in board.rows)
    heads = [tables.Column("model", Kind.NAME)]
    if has_steps:
        heads.append(tables.Column("step", Kind.COUNT))
    for column in columns:
        arrow, note = signs_of(column), _hint(column)
        heads.append(tables.Column(column.name, Kind.NUMBER, arrow, note=note))
    scales = {column.id: _scale(board, column) for column in columns}
    table = Table("Scores", heads)
    for row in board.rows:
        detail = "(reference)" if row.reference else ""
        entries: list[Entry] = [tables.Cell(row.label, detail=detail)]
        if has_steps:
            entries.append(row.place.step)
        entries += [_cell(row.cells[column.id], scales[column.id], column) for column in columns]
        tone = Tone.REFERENCE if row.reference else Tone.PLAIN
        table.add(*entries, tone=tone)
    return table


_DIRECTIONS = {
    "up": "higher is better",
    "down": "lower is better",
    "zero": "nearer to 0 is better",
    "reference": "nearer to the reference is better",
}


def _hint(column: Column) -> str:
    direction = _DIRECTIONS.get(column.better, "")
    parts = [column.title, direction, column.note]
    return ". ".join(filter(None, parts))


_Scale = tuple[float, float] | None


def _scale(board: Board, column: Column) -> _Scale:
    """Between what a cell is shaded: the worst and the best of the values that may be compared."""
    if column.better not in {"up", "down"} or column.p_value:
        return None
    values = _ranked_values(board, column)
    if len(set(values)) < 2:
        return None
    least, most = min(values), max(values)
    return (least, most) if column.better == "up" else (most, least)


def _ranked_values(board: Board, column: Column) -> list[float]:
    """The values of a column that may be compared, without the reference's."""
    cells = [row.cells[column.id] for row in board.rows if not row.reference]
    ranked = [cell for cell in cells if not cell.standing]
    return [cell.value for cell in ranked if cell.value is not None]


def _cell(cell: Cell, scale: _Scale, column: Column) -> tables.Cell:
    """A value with its sign and its interval; hovering shows all that is known."""
    note = "\n".join(details_of(cell, column))
    if cell.value is None:
        return tables.Cell(tone=_tone(cell), note=note)
    return tables.Cell(
        cell.value,
        value_text(cell.value, column),
        detail="\n".join(_spread(cell, column)),
        tone=_tone(cell),
        note=note,
        mark=SIGNS.get(cell.standing, ""),
        shade=_shade(cell.value, scale) if not cell.standing else None,
    )


def _tone(cell: Cell) -> Tone:
    if cell.standing:
        return Tone.EXCLUDED
    return Tone.LEADING if cell.leads else Tone.PLAIN


def _shade(value: float, scale: _Scale) -> float | None:
    """Returns where a value stands between the worst (0) and the best (1)."""
    if scale is None:
        return None
    worst, best = scale
    return (value - worst) / (best - worst)


def _spread(cell: Cell, column: Column) -> Iterator[str]:
    """The interval and the deviation over seeds, where they are known."""
    interval = interval_text(cell, column)
    if interval:
        yield interval
    if cell.sd is not None:
        yield f"(sd {value_text(cell.sd, column)})"
