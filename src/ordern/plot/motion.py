"""A motion as a figure: `result.plot("q", "tau", "energy")`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ArgumentError, unknown_name
from ..model import Frame
from ..simulate.results.result import Result
from ..simulate.results.series import names
from .curves import chosen, curves, ends, smooth, tracking
from .panels import TIME, Panel, energy, lines, name_events, pairs
from .paths import flat_paths, phase, solid_paths
from .style import INK, WIDTH, figure, finished

__all__ = ["PANELS", "motion"]

PANELS = {
    "q": "positions",
    "v": "velocities",
    "a": "accelerations",
    "tau": "joint forces",
    "tracking": "positions and desired positions, of a motion with a controller",
    "q_error": "desired less actual positions",
    "v_error": "desired less actual velocities",
    "energy": "kinetic, potential and total energy, and the error of their balance",
    "momentum": "about the world's origin, angular and linear",
    "central_momentum": "about the mass centre, angular and linear",
    "phase": "velocities against positions",
    "tip": "paths of frames, in the planes of the world's axes",
    "tip-3d": "paths of frames, in space",
}
"""Names with their own panels; all series of a motion can be drawn, too."""

_TITLES = {
    **{"q": "Position", "v": "Velocity", "a": "Acceleration", "tau": "Joint force"},
    **{"q_reference": "Desired position", "v_reference": "Desired velocity"},
    **{"q_error": "Position error", "v_error": "Velocity error", "pose_error": "Pose error"},
}
_MOST_PATHS = 7
Frames = str | Frame | Iterable[str | Frame] | None


def motion(
    result: Result,
    *what: str,
    joints: str | Iterable[str] | None = None,
    frames: Frames = None,
    title: str | None = None,
    width: float = WIDTH,
    save: str | os.PathLike[str] | None = None,
) -> Any:
    """Draw panels of a motion, one below the other; panels over time share one axis.

    `what` are names of `PANELS` and of series ("q.shoulder", "position.tool.z", "work"); by default positions,
    velocities, joint forces unless they are zero, and energies. `joints` are the joints to draw, by default all.
    `frames` are the frames whose paths are drawn, by default the ends of the robot. `width` is in inches. `save` writes
    .png, .svg or .pdf.

    Curves include the motion between the samples; the energy error is drawn at the samples only.

    >>> import ordern as on
    >>> figure = on.load("double-pendulum").simulate([1.0, 0.5], until=2.0).plot("q", "energy")
    >>> len(figure.axes)
    3
    """
    if not isinstance(result, Result):
        raise ArgumentError(f"plot: a motion is a Result, such as `robot.simulate` returns, not {_named(result)}")
    if len(result) < 2:
        raise ArgumentError(f"plot: a motion with {len(result)} samples is not a curve; at least 2 are needed")
    if not 1.0 <= width <= 100.0:
        raise ArgumentError(f"plot: width is in inches, between 1 and 100; given {width!r}")
    forces = ("tau",) if np.nan_to_num(result.tau).any() else ()
    picked, fine = chosen(result.robot, joints), smooth(result)
    panels: list[Panel] = []
    for name in what or ("q", "v", *forces, "energy"):
        panels += _panels(name, fine, result, picked, frames)
    made, first = _composed(panels, width)
    if first is not None:
        name_events(first, result)
    return finished(made, save, result.robot.name if title is None else title)


def _named(given: Any) -> str:
    """Return the words for something that is not a motion, and what to do with it."""
    if not isinstance(given, np.ndarray):
        return f"a {type(given).__name__}"
    if given.dtype == object:
        return f"an array {given.shape} of them; plot one, or several with `ordern.plot.compare`"
    return (
        f"an array {given.shape}; `ordern.plot.mechanism(robot, q)` draws a position, and `Result(robot, t, q, v, a, "
        "tau)` makes a motion of arrays"
    )


def _panels(name: str, fine: Result, given: Result, joints: frozenset[str] | None, frames: Frames) -> list[Panel]:
    if name == "energy":
        return [energy(fine, given)]
    if name == "tracking":
        return pairs(fine, *tracking(fine, joints), "Position and reference")
    if name == "phase":
        return [phase(fine, curves(fine, "q", joints), curves(fine, "v", joints))]
    if name in ("tip", "tip-3d"):
        return [(flat_paths if name == "tip" else solid_paths)(fine, _frames(fine, frames))]
    try:
        found = curves(fine, name, joints)
    except LookupError:
        if any(name.startswith(f"{kind}.") for kind in ("position", "velocity", "pose")):
            raise  # of a frame, which is named
        raise unknown_name("plot", name, dict.fromkeys([*PANELS, *names(given)])) from None
    if name not in ("momentum", "central_momentum"):
        return lines(fine, found, _TITLES.get(name, name))
    about = "" if name == "momentum" else " about the mass centre"
    panels: list[Panel] = []
    for kind in ("angular", "linear"):
        own = [replace(c, name=c.name[-1]) for c in found if c.name.startswith(kind)]
        panels += lines(fine, own, f"{kind.capitalize()} momentum{about}")
    return panels


def _frames(result: Result, frames: Frames) -> list[str]:
    robot = result.robot
    if frames is not None:
        wanted = [frames] if isinstance(frames, (str, Frame)) else list(frames)
        if not wanted:
            raise ArgumentError("plot: frames is empty; name one, or leave it out")
        return [robot.frame(f).name for f in wanted]
    found = ends(robot)
    if not found:
        raise ArgumentError(f"plot: {robot.name!r} has no frame that moves; add one by Builder.frame")
    return found[:_MOST_PATHS]


def _composed(panels: Sequence[Panel], width: float) -> tuple[Any, Any]:
    """Return all panels in one figure, and the first axes over time."""
    heights = [p.height * p.rows for p in panels]
    made = figure(width, sum(heights) + 0.35 + 0.12 * sum(p.rows for p in panels))
    grid = made.add_gridspec(len(panels), 1, height_ratios=heights)
    first: Any = None
    for k, p in enumerate(panels):
        last = k + 1 == len(panels) or not panels[k + 1].over_time or panels[k + 1].columns > 1
        cells = grid[k].subgridspec(p.rows, p.columns) if p.count > 1 else None
        axes = []
        for n in range(p.count):
            options: dict[str, Any] = {"sharex": first} if p.over_time else {}
            place = grid[k] if cells is None else cells[n // p.columns, n % p.columns]
            axes.append(made.add_subplot(place, **({"projection": "3d"} if p.solid else options)))
            if p.over_time:
                first = first or axes[-1]
        p.draw(*axes)
        if p.over_time:
            _label_time(axes, p, last)
    return made, first


def _label_time(axes: Sequence[Any], panel: Panel, last: bool) -> None:
    """Write the time below the lowest axes of each column, and its name below the lowest panel."""
    for n, ax in enumerate(axes):
        lowest = n + panel.columns >= panel.count
        ax.margins(x=0.0)
        ax.tick_params(labelbottom=lowest and (last or panel.columns > 1))
        if lowest and (last or panel.columns > 1):
            ax.set_xlabel(TIME, fontsize=8.5, color=INK)
