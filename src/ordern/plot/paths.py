"""Panels that are not over time: phase portraits, and the paths of frames in a plane and in space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError
from .curves import Curve
from .panels import MOST_AXES, Panel
from .style import COLOURS, FAINT, INK, art3d, curve, dress, legend, map_of, matplotlib, set_title, solid

if TYPE_CHECKING:
    from ..simulate.results.result import Result

__all__ = ["flat_paths", "phase", "solid_paths"]

_AXES = "xyz"
_TIMES = "viridis_r"


def phase(result: Result, q: Sequence[Curve], v: Sequence[Curve]) -> Panel:
    """Return a panel of velocities against positions, for coordinates whose rates are velocities."""
    rates = {c.name: c for c in v}
    pairs = [(c, rates[c.name]) for c in q if c.name in rates and c.unit != "quaternion"]
    if not pairs:
        raise ArgumentError("plot: no joint has a phase portrait: its velocities must be rates of its positions")
    if len(pairs) > MOST_AXES:
        raise ArgumentError(f"plot: {len(pairs)} phase portraits are too many to read; choose some by joints=[...]")
    columns = min(len(pairs), 3 if len(pairs) <= 6 else 4)

    def draw(*axes: Any) -> None:
        for ax, (position, velocity) in zip(axes, pairs, strict=True):
            _in_time(ax, result.t, np.stack([position.values, velocity.values], axis=1))
            dress(ax, position.name, position.unit, velocity.unit)
            ax.locator_params(nbins=4)
            ax.ticklabel_format(style="sci", scilimits=(-2, 4), useMathText=True)

    return Panel(draw, len(pairs), columns, 2.1 if columns < 4 else 1.7, over_time=False)


def flat_paths(result: Result, frames: Sequence[str]) -> Panel:
    """Return a panel with paths of frames in the planes of the world's axes, or in the only plane they stay in."""
    paths = {frame: result.position(frame) for frame in frames}
    moving = _extent(paths) > 1e-9 * max(float(_extent(paths).max()), 1e-9)
    planes = [(i, j) for i, j in combinations(range(3), 2) if moving[i] or moving[j]]
    if moving.sum() == 2:
        planes = [(i, j) for i, j in planes if moving[i] and moving[j]]
    planes = planes or [(0, 2)]

    def draw(*axes: Any) -> None:
        for k, (ax, (i, j)) in enumerate(zip(axes, planes, strict=True)):
            handles = _draw_paths(ax, result.t, {name: p[:, [i, j]] for name, p in paths.items()})
            dress(ax, _title(frames) if k == 0 else "", f"{_AXES[i]}, m", f"{_AXES[j]}, m")
            ax.set_aspect("equal", adjustable="datalim")
            if k + 1 == len(axes) and len(frames) > 1:
                legend(ax, handles, above=False)

    count = len(planes)
    return Panel(draw, count, count, 2.5 if count > 1 else 3.6, over_time=False)


def solid_paths(result: Result, frames: Sequence[str]) -> Panel:
    """Return a panel with paths of frames in space, and their shadows."""
    paths = {frame: result.position(frame) for frame in frames}

    def draw(ax: Any) -> None:
        everything = np.concatenate(list(paths.values()))
        middle = 0.5 * (everything.max(axis=0) + everything.min(axis=0))
        half = 0.55 * float(_extent(paths).max()) or 0.5
        floor = middle[2] - half
        for name, p in paths.items():
            ax.plot(p[:, 0], p[:, 1], np.full(len(p), floor), color="#c9c9d2", linewidth=0.8, label=f"_{name}")
        handles = _draw_paths(ax, result.t, paths)
        ax.set(**{f"{a}lim": (m - half, m + half) for a, m in zip(_AXES, middle, strict=True)})
        ax.locator_params(nbins=5)
        ax.set_box_aspect((1, 1, 1))
        ax.view_init(elev=18, azim=-58)
        solid(ax, "#f9f9fa", "#e0e0e6", {"fontsize": 8.5, "color": INK})
        ax.tick_params(labelsize=7, labelcolor=INK, color=FAINT)
        set_title(ax, _title(frames))
        if len(frames) > 1:
            legend(ax, handles, above=False)

    return Panel(draw, height=4.4, over_time=False, solid=True)


def _title(frames: Sequence[str]) -> str:
    return f"Path of {frames[0]}" if len(frames) == 1 else "Paths"


def _extent(paths: Mapping[str, Array]) -> Array:
    return np.asarray(np.ptp(np.concatenate(list(paths.values())), axis=0))


def _draw_paths(ax: Any, t: Array, paths: Mapping[str, Array]) -> list[Any]:
    """Draw one path with the time as its colour, or several with a colour each; return the handles of a legend."""
    if len(paths) == 1:
        _in_time(ax, t, next(iter(paths.values())))
        return []
    handles = []
    for k, (name, p) in enumerate(paths.items()):
        handles += ax.plot(*p.T, label=name, **curve(k))
        ax.plot(*p[-1:].T, "o", color=COLOURS[k % len(COLOURS)], markersize=3.5)
    return handles


def _in_time(ax: Any, t: Array, points: Array) -> None:
    """Draw a path, paler at its start, with a ring at the start and a dot at the end."""
    colours = map_of(_TIMES)
    share = (t - t[0]) / (t[-1] - t[0] or 1.0)
    pieces = np.stack([points[:-1], points[1:]], axis=1)
    flat = points.shape[1] == 2
    collection = matplotlib("collections").LineCollection if flat else art3d().Line3DCollection
    ax.add_collection(
        collection(pieces, colors=colours(0.08 + 0.92 * share[1:]), linewidths=1.3, capstyle="round"), autolim=True
    )
    ax.plot(*points[:1].T, "o", markersize=5, markerfacecolor="white", markeredgecolor=colours(0.25))
    ax.plot(*points[-1:].T, "o", markersize=5, color=colours(1.0))
    if flat:
        ax.autoscale_view()
