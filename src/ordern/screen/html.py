"""Tables and titles in HTML, for notebooks. All text is escaped; styles are inline, since some readers drop others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["Markup", "folded", "printed", "sparkline", "table", "titled"]

_MOST_OPEN = 24
"""Longer tables are folded."""
_SIDES = ("text-align:left;padding:0 0.6em", "text-align:right;white-space:nowrap;padding:0 0.6em")


class Markup(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


def _cell(x: object) -> str:
    return x if isinstance(x, Markup) else escape(str(x))


def table(head: Sequence[object], rows: Iterable[Sequence[object]], left: int = 1) -> Markup:
    """Return a table. Its first columns, `left` in number, are aligned to the left, the others to the right."""

    def line(cells: Sequence[object], tag: str) -> str:
        return "".join(f'<{tag} style="{_SIDES[k >= left]}">{_cell(x)}</{tag}>' for k, x in enumerate(cells))

    top = f"<thead><tr>{line(head, 'th')}</tr></thead>" if head else ""
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return Markup(f'<table style="font-variant-numeric:tabular-nums">{top}<tbody>{body}</tbody></table>')


def folded(label: str, content: Markup, rows: int) -> Markup:
    """Return content that the reader opens by a click if it has many rows."""
    if rows <= _MOST_OPEN:
        return content
    return Markup(f"<details><summary>{escape(label)}</summary>{content}</details>")


def titled(title: str, *parts: object) -> Markup:
    """Return a title and what is below it; plain strings become paragraphs."""
    below = (x if isinstance(x, Markup) else f"<p>{escape(str(x))}</p>" for x in parts)
    return Markup(f"<div><strong>{escape(title)}</strong>{''.join(below)}</div>")


def printed(thing: object) -> Markup:
    """Return the text that `print` shows of an object."""
    return Markup(f"<pre>{escape(str(thing))}</pre>")


def sparkline(t: Sequence[float], y: Sequence[float], width: int = 120, height: int = 22) -> Markup:
    """Return a small curve of numbers over time, as an SVG picture; breaks where numbers are not finite."""
    known = [v for v in y if math.isfinite(v)]
    if len(known) < 2:
        return Markup("")
    low, high, start, span = min(known), max(known), t[0], (t[-1] - t[0]) or 1.0
    seen = high - low > 1e-6 * max(abs(low), abs(high))  # a range that the numbers beside it show
    scale = (height - 4) / (high - low) if seen else 0.0
    path, pen = [], "M"
    for at, v in zip(t, y, strict=True):
        if not math.isfinite(v):
            pen = "M"
            continue
        up = (v - low) * scale if scale else (height - 4) / 2
        path.append(f"{pen}{(at - start) / span * (width - 2) + 1:.1f} {height - 2 - up:.1f}")
        pen = "L"
    return Markup(
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" aria-hidden="true">'
        f'<path d="{"".join(path)}" fill="none" stroke="#0072B2" stroke-width="1.3"/></svg>'
    )
