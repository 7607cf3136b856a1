"""A robot in one position as a drawing: bodies as bars and plates, joints as rings, those of loops in colour."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError
from ..joints import Free, Prismatic
from ..model import BASE, Model, Placement
from ..model.poses import body_poses
from .style import COLOURS, FAINT, INK, WIDTH, dress, figure, matplotlib, solid

__all__ = ["mechanism"]

Array = NDArray[np.float64]

_LOOP = "#D55E00"
_BARS = tuple(c for c in COLOURS if c != _LOOP)
_NEAR = 1e-9
_MOST_NAMES = 7


def mechanism(robot: Model, q: ArrayLike | None = None, *, title: str = "", names: bool | None = None) -> Any:
    """Draw a robot at the position q, neutral unless given.

    A body is drawn between its joints, those that close loops, and its frames. Rings are joints, squares slide,
    triangles stand on the ground, and what is orange closes a loop. A robot in a plane is drawn in it, others in space.
    `names` are those of the bodies, by default where there are few.
    """
    numbers = robot.neutral() if q is None else np.asarray(q, float)
    if numbers.shape != (robot.nq,):
        raise ArgumentError(f"a drawing is of one position q with {robot.nq} numbers, not of shape {numbers.shape}")
    drawing = _Drawing(robot, numbers)
    plane = drawing.plane()
    fig = figure(0.62 * WIDTH, 0.5 * WIDTH if plane else 0.62 * WIDTH)
    axes = _flat_axes(fig, plane) if plane else _solid_axes(fig, drawing.points())
    pen: Any = _Flat(plane) if plane else _Solid()
    drawing.draw(axes, pen, len(robot.bodies) <= _MOST_NAMES if names is None else names)
    if title:
        axes.set_title(title, loc="left", fontsize=8.5, fontweight="bold", color=INK)
    return fig


class _Drawing:
    """The points of a drawing."""

    def __init__(self, robot: Model, q: Array) -> None:
        self.robot = robot
        self._poses = body_poses(robot, np.asarray(q, float))
        self.on = {k: self._on(k) for k in range(BASE, len(robot.bodies))}

    def at(self, body: int, place: Placement) -> Array:
        """Return a point of a body in the world."""
        return place.p if body == BASE else self._poses[body, :3, :3] @ place.p + self._poses[body, :3, 3]

    def origin(self, k: int) -> Array:
        return np.asarray(self._poses[k, :3, 3])

    def hinge(self, k: int) -> Array:
        """Return the position of body k's joint on its parent."""
        c = self.robot.joints[k]
        return self.at(c.parent, c.placement)

    def _on(self, k: int) -> Array:
        """Return the joints, loops and frames of a body."""
        m = self.robot
        found = [] if k == BASE or isinstance(m.joints[k].type, Free) else [self.origin(k)]
        found += [self.at(k, c.placement) for c in m.joints if c.parent == k and not isinstance(c.type, Free)]
        for loop in m.loops:
            sides = ((loop.parent, loop.parent_placement), (loop.child, loop.child_placement))
            found += [self.at(k, place) for body, place in sides if body == k]
        if k != BASE:
            found += [self.at(k, f.placement) for f in m.frames if f.body == k]
            if len(_different(found)) == 1 and not isinstance(m.joints[k].type, Prismatic):
                found.append(2.0 * (self._poses[k, :3, :3] @ m.bodies[k].com) + self.origin(k))
        return _different(found)

    def points(self) -> Array:
        """Return all points."""
        return np.concatenate([p for p in self.on.values() if len(p)])

    def plane(self) -> tuple[int, int] | None:
        """Return the two world axes whose plane contains all points, or None."""
        spread = np.ptp(self.points(), axis=0)
        flat = [axis for axis in (1, 2, 0) if spread[axis] <= _NEAR * max(float(spread.max()), _NEAR)]
        return ((1, 2), (0, 2), (0, 1))[flat[0]] if flat else None

    def draw(self, axes: Any, pen: Any, names: bool) -> None:
        m = self.robot
        ground = self.on[BASE]
        pen.ground(axes, ground)
        for k, body in enumerate(m.bodies):
            colour, points = _BARS[k % len(_BARS)], self.on[k]
            if isinstance(m.joints[k].type, Prismatic):
                style = ":" if m.joints[k].parent == BASE else "-"
                pen.line(axes, np.stack([self.hinge(k), self.origin(k)]), colour, 1.6, style)
            corners = _hull(points)
            if len(corners) == 2:
                pen.line(axes, corners, colour, 4.0, "-")
            elif len(corners) > 2:
                pen.plate(axes, corners, colour, 0.3)
            if names and len(points):
                pen.text(axes, points.mean(axis=0), body.name, colour)
        for k, c in enumerate(m.joints):
            if isinstance(c.type, Free):
                continue
            slides = isinstance(c.type, Prismatic)
            pen.mark(axes, self.origin(k) if slides else self.hinge(k), "s" if slides else "o", INK, "white")
        for loop in m.loops:
            here = self.at(loop.child, loop.child_placement)
            pen.mark(axes, here, "o", _LOOP, "#ffd9bd")


class _Flat:
    """Draws in a plane."""

    def __init__(self, plane: tuple[int, int]) -> None:
        self._plane = list(plane)

    def line(self, axes: Any, points: Array, colour: str, width: float, style: str) -> None:
        axes.plot(*points[:, self._plane].T, style, color=colour, linewidth=width, solid_capstyle="round", alpha=0.85)

    def ground(self, axes: Any, points: Array) -> None:
        self.mark(axes, points, "^", FAINT, "#dcdce2", 11.0, zorder=1.5)

    def plate(self, axes: Any, points: Array, colour: str, alpha: float) -> None:
        corners = points[:, self._plane]
        axes.fill(*corners.T, facecolor=colour, alpha=alpha, edgecolor="none")
        axes.fill(*corners.T, facecolor="none", edgecolor=colour, linewidth=1.6, joinstyle="round")

    def mark(
        self, axes: Any, points: Array, marker: str, edge: str, face: str, size: float = 6.0, zorder: float = 4.0
    ) -> None:
        look = {"markersize": size, "markeredgecolor": edge, "markerfacecolor": face, "markeredgewidth": 1.1}
        axes.plot(*np.atleast_2d(points)[:, self._plane].T, marker, zorder=zorder, **look)

    def text(self, axes: Any, point: Array, text: str, colour: str) -> None:
        place = {"xytext": (4, 5), "textcoords": "offset points", "fontsize": 7.0, "color": colour, "zorder": 5}
        axes.annotate(text, tuple(point[self._plane]), path_effects=_halo(), **place)


class _Solid:
    """Draws in space."""

    def line(self, axes: Any, points: Array, colour: str, width: float, style: str) -> None:
        axes.plot(*points.T, style, color=colour, linewidth=0.75 * width, solid_capstyle="round", alpha=0.9)

    def ground(self, axes: Any, points: Array) -> None:
        if len(corners := _hull(points)) > 2:
            self.plate(axes, corners, FAINT, 0.12)
        self.mark(axes, points, "^", FAINT, FAINT, 3.5)

    def plate(self, axes: Any, points: Array, colour: str, alpha: float) -> None:
        art = import_module("mpl_toolkits.mplot3d.art3d")
        axes.add_collection3d(art.Poly3DCollection([points], facecolor=colour, alpha=alpha, edgecolor="none"))
        axes.plot(*np.concatenate([points, points[:1]]).T, color=colour, linewidth=1.4)

    def mark(self, axes: Any, points: Array, marker: str, edge: str, face: str, size: float = 5.0) -> None:
        look = {"markersize": min(size, 4.5), "markeredgecolor": edge, "markerfacecolor": face, "markeredgewidth": 1.0}
        axes.plot(*np.atleast_2d(points).T, marker, **look)

    def text(self, axes: Any, point: Array, text: str, colour: str) -> None:
        axes.text(*point, f" {text}", fontsize=7.0, color=colour, path_effects=_halo())


def _halo() -> list[Any]:
    """Return an effect with white around letters, for names on bars."""
    return [matplotlib("patheffects").withStroke(linewidth=2.0, foreground="white")]


def _different(points: list[Array]) -> Array:
    """Return points without duplicates."""
    found: list[Array] = []
    for p in points:
        if all(float(np.abs(p - x).max()) > _NEAR for x in found):
            found.append(p)
    return np.array(found) if found else np.zeros((0, 3))


def _hull(points: Array) -> Array:
    """Return the corners of the convex hull of points, in order, in the plane that fits them best."""
    if len(points) < 3:
        return points
    centred = points - points.mean(axis=0)
    axes, size = np.linalg.svd(centred)[2][:2], float(np.abs(centred).max())
    flat = centred @ axes.T
    order = np.lexsort((flat[:, 1], flat[:, 0])).tolist()

    def half(indices: list[int]) -> list[int]:
        kept: list[int] = []
        for k in indices:
            while len(kept) > 1:
                (a, b), (c, d) = flat[kept[-1]] - flat[kept[-2]], flat[k] - flat[kept[-2]]
                if a * d - b * c > 1e-6 * size**2:
                    break
                kept.pop()
            kept.append(k)
        return kept[:-1]

    return np.asarray(points[half(order) + half(order[::-1])])


def _flat_axes(fig: Any, plane: tuple[int, int]) -> Any:
    axes = fig.add_subplot()
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.12)
    x, y = ("xyz"[k] for k in plane)
    dress(axes, "", f"{x}, m", f"{y}, m")
    axes.tick_params(labelcolor=FAINT)
    axes.locator_params(nbins=5)
    return axes


def _solid_axes(fig: Any, points: Array) -> Any:
    axes = fig.add_subplot(projection="3d")
    low, high = points.min(axis=0), points.max(axis=0)
    half = np.maximum(0.52 * (high - low), 0.12 * float((high - low).max()))
    for name, middle, reach in zip("xyz", 0.5 * (low + high), half, strict=True):
        getattr(axes, f"set_{name}lim")(middle - reach, middle + reach)
    axes.set_box_aspect(tuple(half))
    axes.view_init(elev=20, azim=-62)
    axes.locator_params(nbins=4)
    axes.tick_params(labelsize=6.5, labelcolor=FAINT, color=FAINT, pad=-1)
    solid(axes, "#fbfbfc", "#e8e8ee", {"fontsize": 7.5, "color": FAINT})
    return axes
