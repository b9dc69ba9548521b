"""Figures as people read them: text for a terminal, tables and bars for a notebook."""
from __future__ import annotations

from html import escape
from typing import Any, Mapping, Optional, Sequence

from ._request import value_text


def seconds(value: float) -> str:
    """Three digits, as the command line has them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}" if value / size < 1000 else f"{value / size:,.0f} {unit}"
    return f"{value * 1e6:.3g} us"


def gibibytes(value: float) -> str:
    return f"{value / 2 ** 30:.3g} GiB" if value < 1000 * 2 ** 30 else f"{value / 2 ** 30:,.0f} GiB"


def count(value: float) -> str:
    for size, unit in ((1e12, " T"), (1e9, " B"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def plan_words(plan: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={value_text(key, value)}" for key, value in plan.items())


def text_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side; the last is as wide as it is, to the left, those before it to the right."""
    widths = [max(len(row[i]) for row in (titles, *rows)) for i in range(len(titles))]
    return "\n".join("  " + "  ".join(
        cell if i == len(row) - 1 else cell.rjust(widths[i]) for i, cell in enumerate(row))
        for row in (titles, *rows))


_CELL = "padding:2px 10px;text-align:right;white-space:nowrap"


def html_bar(share: float) -> str:
    """A bar whose length is a share of the widest."""
    width = max(0.0, min(1.0, share)) * 120
    return (f'<div style="width:{width:.0f}px;height:0.8em;background:#4c78a8;display:inline-block"'
            f' role="img" aria-label="{100 * share:.0f} %"></div>')


def html_table(head: str, titles: Sequence[str], rows: Sequence[Sequence[str]],
               bars: Optional[Sequence[float]] = None) -> str:
    """A table under a line of words; with a bar for each row, relative to the largest."""
    most = max(bars or [1], default=1) or 1
    out = [f"<div><p>{escape(head)}</p><table><thead><tr>"]
    out += [f'<th style="{_CELL}" scope="col">{escape(title)}</th>' for title in titles]
    out.append("<th></th></tr></thead><tbody>" if bars else "</tr></thead><tbody>")
    for i, row in enumerate(rows):
        cells = [f'<td style="{_CELL}{";text-align:left" if c == len(row) - 1 else ""}">{escape(cell)}</td>'
                 for c, cell in enumerate(row)]
        if bars:
            cells.append(f'<td style="text-align:left">{html_bar(bars[i] / most)}</td>')
        out.append("<tr>" + "".join(cells) + "</tr>")
    return "".join(out) + "</tbody></table></div>"
