"""Panels: parts of a figure, each with rows of axes and a function that draws on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..records import dataclass
from .curves import Curve, balance
from .style import COLOURS, FAINT, INK, curve, dress, legend

if TYPE_CHECKING:
    from ..simulate.results.result import Result

__all__ = ["MOST_AXES", "TIME", "Panel", "energy", "lines", "name_events", "pairs"]

TIME = "time, s"
MOST_LINES = len(COLOURS)
"""Most curves in one pair of axes; more are drawn in separate axes."""
MOST_AXES = 48
"""Most small axes in a panel; more curves are rows of an image."""
_MARKED = 200
"""Most events that are marked; more would hide the curves."""
_APART = 0.025
"""The least distance of two named events, as a part of the motion; closer names would overlap."""


@dataclass(frozen=True, slots=True)
class Panel:
    """`count` axes in `columns` columns, each of this height in inches, and the function that draws on them."""

    draw: Callable[..., None]
    count: int = 1
    columns: int = 1
    height: float = 1.75
    over_time: bool = True
    """True if the axes share the time with other panels."""
    solid: bool = False
    """True for axes in space."""

    @property
    def rows(self) -> int:
        """Rows of axes."""
        return -(-self.count // self.columns)


def lines(result: Result, what: Sequence[Curve], title: str) -> list[Panel]:
    """Return panels of curves over time, one for each unit, in the order of the units."""
    units = list(dict.fromkeys(c.unit for c in what))
    panels = []
    for unit in units:
        own = [c for c in what if c.unit == unit]
        many = len({c.group for c in own})
        make = _together if len(own) <= MOST_LINES else _apart if many <= MOST_AXES else _rows
        panels.append(make(result, own, title if len(units) == 1 or not unit else f"{title}, {unit}", unit))
    return panels


def pairs(result: Result, actual: Sequence[Curve], desired: Sequence[Curve], title: str) -> list[Panel]:
    """Return panels of curves over time, each with a desired one, dashed in the same colour; one for each unit."""
    units = list(dict.fromkeys(c.unit for c in actual))
    panels = []
    for unit in units:
        own = [pair for pair in zip(actual, desired, strict=True) if pair[0].unit == unit]
        named = title if len(units) == 1 or not unit else f"{title}, {unit}"
        if len(own) <= MOST_LINES:
            panels.append(_overlaid(result, own, named, unit))
            continue
        each = [Curve(x.name, unit, x.values, x.name, p) for c in own for x, p in zip(c, _PAIR, strict=True)]
        make = _apart if len(own) <= MOST_AXES else _rows
        panels.append(make(result, each, named, unit))
    return panels


_PAIR = ("actual", "reference")
_DASHED = {"linestyle": (0, (3.0, 2.0)), "linewidth": 0.9}


def _overlaid(result: Result, what: Sequence[tuple[Curve, Curve]], title: str, unit: str) -> Panel:
    def draw(ax: Any) -> None:
        handles = _plotted(ax, result.t, {c.name: c.values for c, _ in what})
        for k, (_, wanted) in enumerate(what):
            ax.plot(result.t, wanted.values, label="_reference", **curve(k) | _DASHED)
        handles += ax.plot([], [], label="reference", color=INK, **_DASHED)
        dress(ax, title, y=unit)
        mark_events(ax, result)
        legend(ax, handles)

    return Panel(draw)


def _plotted(ax: Any, t: Array, series: Mapping[str, Array], **look: Any) -> list[Any]:
    """Draw series by name against time; return the handles of a legend."""
    return [ax.plot(t, x, label=name, **curve(k) | look)[0] for k, (name, x) in enumerate(series.items())]


def _together(result: Result, what: Sequence[Curve], title: str, unit: str) -> Panel:
    def draw(ax: Any) -> None:
        handles = _plotted(ax, result.t, {c.name: c.values for c in what})
        dress(ax, title, y=unit)
        mark_events(ax, result)
        legend(ax, handles)

    return Panel(draw)


def _apart(result: Result, what: Sequence[Curve], title: str, unit: str) -> Panel:
    """Return small axes side by side, one for each joint, all with the same scale."""
    groups = [(name, list(own)) for name, own in groupby(what, key=lambda c: c.group)]
    columns = 3 if len(groups) <= 12 else 4

    def draw(*axes: Any) -> None:
        everything = np.concatenate([c.values[np.isfinite(c.values)] for c in what])
        low, high = everything.min(initial=0.0), everything.max(initial=0.0)
        room = 0.06 * (high - low) or 1.0
        for k, (ax, (name, own)) in enumerate(zip(axes, groups, strict=True)):
            handles = _plotted(ax, result.t, {c.part: c.values for c in own}, linewidth=1.0)
            dress(ax, title if k == 0 else "", y=unit if k % columns == 0 else "")
            ax.set_ylim(low - room, high + 4.0 * room)
            ax.tick_params(labelleft=k % columns == 0)
            ax.text(0.03, 0.96, name, transform=ax.transAxes, fontsize=6.5, color=INK, va="top")
            mark_events(ax, result)
            if k == min(columns, len(groups)) - 1 and len(own) > 1:
                legend(ax, handles)

    return Panel(draw, len(groups), columns, 0.95)


def _rows(result: Result, what: Sequence[Curve], title: str, unit: str) -> Panel:
    """Return an image with a row for each curve."""

    def draw(ax: Any) -> None:
        image = np.stack([c.values for c in what])
        most = float(np.abs(image[np.isfinite(image)]).max(initial=0.0)) or 1.0
        edges = np.concatenate([result.t[:1], 0.5 * (result.t[1:] + result.t[:-1]), result.t[-1:]])
        shown = ax.pcolormesh(
            edges, np.arange(len(what) + 1), image, cmap="RdBu_r", vmin=-most, vmax=most, rasterized=True
        )
        dress(ax, title, y=f"coordinates 0 to {len(what) - 1}")
        ax.grid(False)
        ax.invert_yaxis()
        bar = ax.figure.colorbar(shown, ax=ax, pad=0.01, label=unit)
        bar.ax.tick_params(labelsize=7)
        mark_events(ax, result)

    return Panel(draw, height=min(0.6 + 0.03 * len(what), 4.5))


def energy(result: Result, at_samples: Result) -> Panel:
    """Return a panel with kinetic, potential and total energy, and the energy error on a second scale."""

    def draw(ax: Any) -> None:
        named = {"kinetic": result.kinetic, "potential": result.potential, "total": result.energy}
        handles = _plotted(ax, result.t, named)
        handles[-1].set_color(INK)
        dress(ax, "Energy", y="J")
        mark_events(ax, result)
        error = balance(at_samples)
        other = ax.twinx()
        most = float(np.abs(error[np.isfinite(error)]).max(initial=0.0)) or 1e-15
        power = math.floor(math.log10(most))
        other.plot(at_samples.t, error / 10.0**power, color=COLOURS[3], linewidth=0.9, alpha=0.9)
        dress(other, y=f"balance error, $10^{{{power}}}$ J")
        other.grid(False)
        other.spines["left"].set_visible(False)
        other.spines["right"].set(visible=True, color=COLOURS[3])
        other.tick_params(labelcolor=COLOURS[3], color=COLOURS[3])
        other.yaxis.label.set_color(COLOURS[3])
        other.set_ylim(*(1.15 * most / 10.0**power * np.array([-1.0, 1.0])))
        legend(ax, handles)

    return Panel(draw, height=1.9)


def mark_events(ax: Any, result: Result) -> None:
    """Draw thin lines at the times of events."""
    times = sorted({e.time for e in result.events})
    for time in times if len(times) <= _MARKED else ():
        ax.axvline(time, color=FAINT, linewidth=0.6, linestyle=(0, (1, 1.5)), zorder=0.5)


def name_events(ax: Any, result: Result) -> None:
    """Write the names of events beside their lines, if there is room."""
    last = -math.inf
    for time, group in groupby(result.events, key=lambda e: e.time):
        if time - last < _APART * result.duration:
            continue
        last = time
        names = ", ".join(dict.fromkeys(e.name for e in group))
        place = {"xycoords": ("data", "axes fraction"), "ha": "right", "va": "bottom", "annotation_clip": True}
        ax.annotate(names, (time, 0.02), rotation=90, fontsize=5.5, color=FAINT, **place)
