"""The leaderboard as one HTML file with its style and a small script inside.

Which asks the network for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from evalprep import __version__
from evalprep.leaderboard.board import SIGNS, Board, Cell, Row
from evalprep.leaderboard.columns import Column
from evalprep.leaderboard.page.sections import heat_map, region
from evalprep.leaderboard.picture import colours, curves, scatter
from evalprep.leaderboard.tables import pair_table, run_table, sayings
from evalprep.leaderboard.values import heading_of, signs_of, value_text
from evalprep.report import policy, style
from evalprep.results import SHARE
from evalprep.tables import html_table
from evalprep.terminal import counted

_FOLDER = Path(__file__).parent
_SHADES = 9
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
    if map_ := heat_map(board, _cell):
        yield "<h2>By section</h2>\n"
        yield _MAP_LEAD
        yield map_
    yield "<h2>Scores</h2>\n"
    yield _table(board, board.columns.shown, "shown")
    yield _sentences(board)
    if board.pairs:
        yield "<h2>Pairs that differ</h2>\n"
        yield _pairs(board)
    yield from _scatters(board)
    yield from _curves(board)
    yield from _all_columns(board)
    yield "<h2>Runs</h2>\n"
    yield _runs(board)
    yield f'<p class="quiet small">Written by evalprep {__version__}.</p>\n'


def _sentences(board: Board) -> str:
    """Returns what belongs below the table of scores."""
    texts = sayings(board, "Small figures below a value")
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
        yield _table(board, columns, "all")
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


def _pairs(board: Board) -> str:
    """The pairs of rows that differ."""
    return region("pairs", html_table(pair_table(board)))


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


_SIGN = re.compile(r"([/_-])(?=\w)")
#: Id of a table -> its name for screen readers.
_LABELS = {"shown": "table of scores", "all": "table of all scores"}


def _table(board: Board, columns: list[Column], name: str) -> str:
    steps = any(row.place.step is not None for row in board.rows)
    heads = [_head("model", "", "", 0)]
    if steps:
        heads.append(_head("step", "", "", 1))
    for at, column in enumerate(columns, start=len(heads)):
        hint = _hint(column)
        heads.append(_head(column.name, signs_of(column), hint, at))
    scales = {column.id: _scale(board, column) for column in columns}
    rows = [_row(row, columns, scales, steps=steps) for row in board.rows]
    head = f"<thead><tr>{''.join(heads)}</tr></thead>"
    body = f"<tbody>{''.join(rows)}</tbody>"
    table = f'<table class="board" id="{name}">{head}{body}</table>'
    return region(_LABELS[name], table)


_Scale = tuple[float, float] | None


def _row(row: Row, columns: Sequence[Column], scales: Mapping[str, _Scale], *, steps: bool) -> str:
    label = _breakable(row.label)
    if row.reference:
        label += ' <span class="quiet">(reference)</span>'
    cells = [f'<th scope="row">{label}</th>']
    if steps:
        step = "" if row.place.step is None else str(row.place.step)
        cells.append(f'<td data-v="{step}">{step}</td>')
    for column in columns:
        cell = row.cells[column.id]
        cells.append(_cell(cell, scales[column.id], column))
    start = '<tr class="reference">' if row.reference else "<tr>"
    return f"{start}{''.join(cells)}</tr>"


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


def _breakable(name: str) -> str:
    """A name that may break behind its signs, and not inside its words."""
    return _SIGN.sub(r"\1<wbr>", escape(name))


def _head(name: str, arrow: str, hint: str, at: int) -> str:
    shown = _breakable(name)
    arrow = f" <span>{arrow}</span>" if arrow else ""
    title = f' title="{escape(hint, quote=True)}"' if hint else ""
    button = f'<button type="button" data-at="{at}">{shown}{arrow}</button>'
    return f'<th scope="col"{title} aria-sort="none">{button}</th>'


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


def _cell(cell: Cell, scale: _Scale, column: Column) -> str:
    """A value with its sign and its interval; hovering shows all that is known."""
    details = "\n".join(_details(cell, column))
    title = escape(details, quote=True)
    classes = " ".join(_classes(cell, scale))
    number = "" if cell.value is None else repr(cell.value)
    attributes = f'class="{classes}" data-v="{number}" title="{title}"'
    return f"<td {attributes}>{_shown(cell, column)}</td>"


def _shown(cell: Cell, column: Column) -> str:
    """A value with its sign; below it the interval and the deviation over seeds."""
    if cell.value is None:
        return '<span class="v">-</span>'
    sign = SIGNS.get(cell.standing, "")
    shown = f'<span class="v">{value_text(cell.value, column)}</span>{sign}'
    interval = _interval(cell, column)
    if interval:
        shown += f'<span class="bounds">{interval}</span>'
    if cell.sd is not None:
        deviation = value_text(cell.sd, column)
        shown += f'<span class="bounds">sd {deviation}</span>'
    return shown


def _interval(cell: Cell, column: Column) -> str:
    """The interval of a value in words; empty without one."""
    if cell.low is None or cell.high is None:
        return ""
    low = value_text(cell.low, column)
    high = value_text(cell.high, column)
    return f"{low} to {high}"


def _details(cell: Cell, column: Column) -> list[str]:
    """All that is known of a cell."""
    unit = " %" if column.unit == SHARE else ""
    details = []
    if cell.value is None:
        details.append(cell.reason or "no value")
    else:
        value = value_text(cell.value, column)
        details.append(f"{column.name} {value}{unit}")
    interval = _interval(cell, column)
    if interval:
        details.append(f"95 % interval {interval}{unit}")
    if cell.n:
        details.append(f"{cell.n} rows")
    return [*details, *cell.why, *cell.notes]


def _classes(cell: Cell, scale: _Scale) -> list[str]:
    """Returns how a cell looks: marked or leading, and its shade."""
    if cell.standing:
        return ["other"]
    names = ["leads"] if cell.leads else []
    if cell.value is not None and scale is not None:
        worst, best = scale
        share = (cell.value - worst) / (best - worst)
        within = min(max(share, 0.0), 1.0)
        names.append(f"shade{round(within * _SHADES)}")
    return names


def _runs(board: Board) -> str:
    """The run behind each row, with its notes."""
    return region("runs", html_table(run_table(board)))
