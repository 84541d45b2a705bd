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
from evalprep.leaderboard.page.sections import heat_map
from evalprep.leaderboard.picture import colours, curves, scatter
from evalprep.leaderboard.tables import pair_table, run_table, sayings
from evalprep.leaderboard.values import heading_of, signs_of, value_text
from evalprep.report import policy, style
from evalprep.score import SHARE
from evalprep.tables import html_table
from evalprep.terminal import counted

_FOLDER = Path(__file__).parent
_SHADES = 9


def render(board: Board) -> str:
    """The whole page: the table, pictures, curves over steps, every column, what has to be said."""
    css = style() + (_FOLDER / "board.css").read_text(encoding="utf-8")
    code = (_FOLDER / "board.js").read_text(encoding="utf-8")
    title = f"Leaderboard of {counted(len(board.rows), 'model')}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        f'content="{escape(policy(code, css), quote=True)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<title>{title}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{css}</style>\n</head>\n<body>\n"
        '<header id="top"><div><p class="kind">evalprep leaderboard</p>'
        f"<h1>{title}</h1></div></header>\n"
        f'<main id="main">\n{"".join(_sections(board))}</main>\n'
        f"<script>{code}</script>\n</body>\n</html>\n"
    )


def _sections(board: Board) -> Iterator[str]:
    if map_ := heat_map(board, _cell):
        yield "<h2>By section</h2>\n"
        yield (
            '<p class="lead">Darker is nearer to the best value that a score can have; '
            "marked cells stay pale.</p>\n"
        )
        yield map_
    yield "<h2>Scores</h2>\n"
    yield _table(board, board.columns.shown, "shown")
    sentences = sayings(board, "Small figures below a value")
    yield f'<ul class="notes">{"".join(f"<li>{escape(text)}</li>" for text in sentences)}</ul>\n'
    if board.pairs:
        yield "<h2>Pairs that differ</h2>\n" + _pairs(board)
    for across, up in board.columns.pictures:
        if drawing := scatter(board, across, up):
            yield f"<h2>{escape(up.title)} against {escape(across.title)}</h2>\n"
            yield f'<div class="drawing">{drawing}</div>\n{_key(board)}'
    yield from _curves(board)
    if len(board.columns.all) > len(board.columns.shown):
        table = _table(board, board.columns.all, "all")
        summary = f"<summary>All {len(board.columns.all)} columns</summary>"
        yield f"<details>{summary}\n{table}</details>\n"
    yield "<h2>Runs</h2>\n" + _runs(board)
    yield f'<p class="quiet small">Written by evalprep {__version__}.</p>\n'


def _curves(board: Board) -> Iterator[str]:
    """The shown columns over the steps of trainings, where there are any."""
    drawings = [(column, curves(board, column)) for column in board.columns.shown]
    drawn = [(column, drawing) for column, drawing in drawings if drawing]
    if not drawn:
        return
    yield "<h2>Over the steps</h2>\n"
    yield (
        '<p class="lead">A line per training, bars for 95 % intervals of single values, '
        "dashed: reference.</p>\n"
    )
    yield '<div class="curves">'
    for column, drawing in drawn:
        yield f"<figure><figcaption>{escape(heading_of(column))}</figcaption>{drawing}</figure>"
    yield f"</div>\n{_key(board)}"


def _pairs(board: Board) -> str:
    """The pairs of rows that differ."""
    content = html_table(pair_table(board))
    return f'<div class="wide" tabindex="0" role="region" aria-label="pairs">{content}</div>\n'


def _key(board: Board) -> str:
    """Returns which colour is which training."""
    names = colours(board)
    several = [name for name in names if name in board.trajectories()]
    if not several:
        return ""
    dot = (
        '<svg width="14" height="14" aria-hidden="true">'
        '<circle class="point c{}" cx="7" cy="7" r="5"/></svg>'
    )
    items = "".join(f"<li>{dot.format(names[name])}{escape(name)}</li>" for name in several)
    return f'<ul class="key">{items}</ul>\n'


_SIGN = re.compile(r"([/_-])(?=\w)")
#: Id of a table -> its name for screen readers.
_LABELS = {"shown": "table of scores", "all": "table of all scores"}


def _table(board: Board, columns: list[Column], name: str) -> str:
    steps = any(row.place.step is not None for row in board.rows)
    heads = [_head("model", "", "", 0)]
    if steps:
        heads.append(_head("step", "", "", 1))
    for at, column in enumerate(columns, start=len(heads)):
        heads.append(_head(column.name, signs_of(column), _hint(column), at))
    scales = {column.id: _scale(board, column) for column in columns}
    body = "".join(_row(row, columns, scales, steps=steps) for row in board.rows)
    label = _LABELS[name]
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="board" id="{name}">'
        f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{body}</tbody></table></div>\n"
    )


_Scale = tuple[float, float] | None


def _row(row: Row, columns: Sequence[Column], scales: Mapping[str, _Scale], *, steps: bool) -> str:
    label = _breakable(row.label)
    if row.reference:
        label += ' <span class="quiet">(reference)</span>'
    cells = [f'<th scope="row">{label}</th>']
    if steps:
        step = "" if row.place.step is None else str(row.place.step)
        cells.append(f'<td data-v="{step}">{step}</td>')
    cells += [_cell(row.cells[column.id], scales[column.id], column) for column in columns]
    start = '<tr class="reference">' if row.reference else "<tr>"
    return f"{start}{''.join(cells)}</tr>"


def _hint(column: Column) -> str:
    ways = {"up": "higher is better", "down": "lower is better", "zero": "nearer to 0 is better"}
    ways["reference"] = "nearer to the reference is better"
    return ". ".join(filter(None, [column.title, ways.get(column.better, ""), column.note]))


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
    cells = [row.cells[column.id] for row in board.rows if not row.reference]
    values = [cell.value for cell in cells if cell.value is not None and not cell.standing]
    if len(set(values)) < 2:
        return None
    return (min(values), max(values)) if column.better == "up" else (max(values), min(values))


def _cell(cell: Cell, scale: _Scale, column: Column) -> str:
    """A value with its sign and its interval; hovering shows all that is known."""
    title = escape("\n".join(_details(cell, column)), quote=True)
    classes = " ".join(_classes(cell, scale))
    if cell.value is None:
        return f'<td class="{classes}" data-v="" title="{title}"><span class="v">-</span></td>'
    sign = SIGNS.get(cell.standing, "")
    shown = f'<span class="v">{value_text(cell.value, column)}</span>{sign}'
    interval = _interval(cell, column)
    if interval:
        shown += f'<span class="bounds">{interval}</span>'
    if cell.sd is not None:
        shown += f'<span class="bounds">sd {value_text(cell.sd, column)}</span>'
    return f'<td class="{classes}" data-v="{cell.value!r}" title="{title}">{shown}</td>'


def _interval(cell: Cell, column: Column) -> str:
    """The interval of a value in words; empty without one."""
    if cell.low is None or cell.high is None:
        return ""
    return f"{value_text(cell.low, column)} to {value_text(cell.high, column)}"


def _details(cell: Cell, column: Column) -> list[str]:
    """All that is known of a cell."""
    unit = " %" if column.unit == SHARE else ""
    details = []
    if cell.value is None:
        details.append(cell.reason or "no value")
    else:
        details.append(f"{column.name} {value_text(cell.value, column)}{unit}")
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
        share = min(max((cell.value - worst) / (best - worst), 0.0), 1.0)
        names.append(f"shade{round(share * _SHADES)}")
    return names


def _runs(board: Board) -> str:
    """The run behind each row, with its notes."""
    content = html_table(run_table(board))
    return f'<div class="wide" tabindex="0" role="region" aria-label="runs">{content}</div>\n'
