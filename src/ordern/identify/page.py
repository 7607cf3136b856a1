"""The report of an estimate as a page of HTML: pictures of forces, and tables of parameters. It needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..screen.html import Markup, folded, table
from .springs import known_forces

if TYPE_CHECKING:
    from .estimate import Estimate
    from .log import Log

__all__ = ["page"]

_WIDTH, _HEIGHT, _LEFT, _FOOT = 960, 190, 64, 22
_BUCKETS = 480
"""A curve has the least and the largest number of each of so many stretches of time."""
_COLOURS = {"measured": "#9a9a9a", "predicted": "#1f5fa8", "error": "#c0392b"}
_STYLE = """body{font-family:system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#222}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}td,th{padding:.1em .6em}svg text{font-size:11px;fill:#555}
tbody tr:nth-child(even){background:#f4f4f4}"""


def page(estimate: Estimate, log: Log, notes: Sequence[str] = ()) -> str:
    """Return the page. `log` has the samples of the estimate, those that were held out at its end."""
    q, v, a, tau = log.motion
    predicted = estimate.predicted(q, v, a)
    errors = _rms(predicted - tau), _rms(_of_file(estimate, q, v, a) - tau), _rms(tau)
    name = estimate.base.robot
    parts = [
        f"<h1>Identification of {escape(name)}</h1>",
        f"<p>{len(estimate.base)} base parameters from {estimate.samples:,} samples by {escape(estimate.method)}"
        f"{', with parameters that bodies can have' if estimate.consistent else ''}; condition number "
        f"{estimate.condition:.3g}. The log has {len(log):,} samples in {log.t[-1] - log.t[0]:.4g} s.</p>",
    ]
    if estimate.held_out is not None:
        parts.append(f"<p><strong>Verdict.</strong> {escape(estimate.held_out.report)}</p>")
    parts.extend(f"<p><strong>Remark.</strong> {escape(text)}.</p>" for text in estimate.remarks)
    parts.extend(f"<p>{escape(text)}</p>" for text in (*log.notes, *notes))
    parts.append("<h2>Forces</h2>" + _legend() + _errors(estimate, *errors))
    split = log.t[estimate.samples] if estimate.samples < len(log) else None
    for k, force in enumerate(estimate._forces):
        parts.append(f"<h3>{escape(force)}</h3>{_picture(log.t, tau[:, k], predicted[:, k], split)}")
    parts.append("<h2>Base parameters</h2>" + _base(estimate))
    parts.append("<h2>All parameters</h2>" + _all(estimate))
    parts.append("<h2>What forces cannot tell</h2>" + _unknown(estimate))
    title = f"<title>Identification of {escape(name)}</title>"
    head = f'<meta charset="utf-8">{title}<style>{_STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _of_file(estimate: Estimate, q: Array, v: Array, a: Array) -> Array:
    """Return the forces that the robot had before, by its file."""
    robot, theta = estimate.measured, estimate.measured.parameters.theta
    if robot.nc:
        return np.asarray(robot.actuation_regressor(q, v, a, smoothing=estimate.smoothing) @ theta)
    forces = robot.inverse_dynamics_regressor(q, v, a, smoothing=estimate.smoothing) @ theta
    springs = known_forces(robot, q, v)
    return np.asarray(forces if springs is None else forces - springs)


def _rms(x: Array) -> Array:
    return np.asarray(np.sqrt((x**2).mean(axis=0)))


def _legend() -> str:
    words = (f'<span style="color:{colour}">&#9632; {name}</span>' for name, colour in _COLOURS.items())
    return f"<p>{' &nbsp; '.join(words)}; samples right of the dashed line were held out.</p>"


def _errors(estimate: Estimate, after: Array, before: Array, size: Array) -> str:
    rows = [
        (name, f"{s:.4g}", f"{b:.4g}", f"{x:.4g}", f"{100 * x / s if s else 0:.3g} %", f"{n:.4g}")
        for name, s, b, x, n in zip(estimate._forces, size, before, after, estimate.noise, strict=True)
    ]
    return table(("force", "rms", "error of the file", "error of the estimate", "relative", "noise"), rows)


def _picture(t: Array, measured: Array, predicted: Array, split: float | None) -> str:
    """Return measured and predicted force, and their difference, over time as SVG."""
    curves = {"measured": measured, "predicted": predicted, "error": predicted - measured}
    low = min(float(x.min()) for x in curves.values())
    high = max(float(x.max()) for x in curves.values())
    span = (high - low) or 1.0
    first, last = float(t[0]), float(t[-1])
    wide, tall = _WIDTH - _LEFT - 8, _HEIGHT - _FOOT - 6

    def across(x: Array) -> Array:
        return np.asarray(_LEFT + wide * (x - first) / ((last - first) or 1.0))

    def up(y: Array) -> Array:
        return np.asarray(6 + tall * (high - y) / span)

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" role="img">']
    for level in (low, 0.5 * (low + high), high):
        at = float(up(np.array(level)))
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{level:.3g}</text>')
    for x in np.linspace(first, last, 6):
        at = float(across(np.array(x)))
        parts.append(f'<text x="{at:.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{x:.3g} s</text>')
    for name, y in curves.items():
        some_t, some_y = _thinned(t, y)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across(some_t), up(some_y), strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{_COLOURS[name]}" stroke-width="1"/>')
    if split is not None:
        at = float(across(np.array(split)))
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="6" y2="{6 + tall}" stroke="#333" stroke-dasharray="4 3"/>')
    return "".join([*parts, "</svg>"])


def _thinned(t: Array, y: Array) -> tuple[Array, Array]:
    """Return the least and the largest number of each stretch, in the order of time."""
    if len(y) <= 2 * _BUCKETS:
        return t, y
    places: list[int] = []
    for part in np.array_split(np.arange(len(y)), _BUCKETS):
        ends = {int(part[np.argmin(y[part])]), int(part[np.argmax(y[part])])}
        places.extend(sorted(ends))
    return t[places], y[places]


def _base(estimate: Estimate) -> str:
    low, high = estimate.intervals(0.95).T
    columns = (estimate.names, estimate.before, estimate.values, estimate.deviations, low, high)
    rows = [(name, *(f"{x:.5g}" for x in numbers)) for name, *numbers in zip(*columns, strict=True)]
    said = f"<p>Known worst, in parts of their size: {escape('; '.join(estimate.weakest))}.</p>"
    shown = table(("parameter", "in the file", "estimate", "deviation", "95 % from", "to"), rows)
    return said + folded(f"{len(rows)} base parameters", shown, len(rows))


def _all(estimate: Estimate) -> str:
    p = estimate.measured.parameters
    rows = [
        (name, f"{before:.5g}", f"{after:.5g}")
        for name, before, after in zip(p.theta_labels, p.theta, estimate.theta, strict=True)
    ]
    if estimate.extra is not None:
        rows += [(x, "0", f"{y:.5g}") for x, y in zip(estimate.extra.labels, estimate.extra_values, strict=True)]
    shown = table(("parameter", "in the file", "estimate"), rows)
    why = (
        "Single parameters are determined up to the combinations above; the rest of them is as near to the file as it "
        "can be. Second moments are about the origin of the body."
    )
    return f"<p>{why}</p>" + folded(f"{len(rows)} parameters", shown, len(rows))


def _unknown(estimate: Estimate) -> Markup:
    lines = estimate.base.report.splitlines()[1:4]
    return Markup("".join(f"<p>{escape(x)}</p>" for x in lines))
