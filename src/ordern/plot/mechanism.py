"""A robot in one position as a drawing: bodies are bars and plates, joints are rings, joints of loops are orange."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array
from ..joints import Free, Prismatic
from ..model import BASE, Model, Placement
from ..model.poses import body_poses
from .style import COLOURS, FAINT, INK, WIDTH, art3d, dress, figure, matplotlib, set_title, solid

__all__ = ["mechanism"]

_LOOP = "#D55E00"
_BARS = tuple(c for c in COLOURS if c != _LOOP)
_NEAR = 1e-9
_MOST_NAMES = 7


def mechanism(robot: Model, q: ArrayLike | None = None, *, title: str = "", names: bool | None = None) -> Any:
    """Draw a robot at the position q, neutral unless given.

    A body is drawn between its joints, its frames, and the joints that close loops. Rings are joints, squares are
    sliding joints, triangles are points of the ground, and orange joints close loops. A robot whose points are in a
    plane is drawn in it, others in space. `names` writes the names of the bodies, by default if they are few.
    """
    drawing = _Drawing(robot, robot.neutral() if q is None else array(q, (robot.nq,), "mechanism: q"))
    plane = drawing.plane()
    fig = figure(0.62 * WIDTH, 0.5 * WIDTH if plane else 0.62 * WIDTH)
    axes = _flat_axes(fig, plane) if plane else _solid_axes(fig, drawing.points())
    drawing.draw(_Pen(axes, plane), len(robot.bodies) <= _MOST_NAMES if names is None else names)
    set_title(axes, title)
    return fig


class _Drawing:
    """The points of a drawing."""

    def __init__(self, robot: Model, q: Array) -> None:
        self.robot = robot
        self._poses = body_poses(robot, q)
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

    def draw(self, pen: _Pen, names: bool) -> None:
        m = self.robot
        pen.ground(self.on[BASE])
        for k, body in enumerate(m.bodies):
            colour, points = _BARS[k % len(_BARS)], self.on[k]
            if isinstance(m.joints[k].type, Prismatic):
                style = ":" if m.joints[k].parent == BASE else "-"
                pen.line(np.stack([self.hinge(k), self.origin(k)]), colour, 1.6, style)
            corners = _hull(points)
            if len(corners) == 2:
                pen.line(corners, colour, 4.0, "-")
            elif len(corners) > 2:
                pen.plate(corners, colour, 0.3)
            if names and len(points):
                pen.text(points.mean(axis=0), body.name, colour)
        for k, c in enumerate(m.joints):
            if isinstance(c.type, Free):
                continue
            slides = isinstance(c.type, Prismatic)
            pen.mark(self.origin(k) if slides else self.hinge(k), "s" if slides else "o", INK, "white")
        for loop in m.loops:
            pen.mark(self.at(loop.child, loop.child_placement), "o", _LOOP, "#ffd9bd")


class _Pen:
    """Draws points of space on axes of a plane, given by two of the world's axes, or on axes in space."""

    def __init__(self, axes: Any, plane: tuple[int, int] | None) -> None:
        self.axes, self.flat, self._columns = axes, plane is not None, list(plane or (0, 1, 2))

    def plot(self, points: Array, style: str, **look: Any) -> None:
        self.axes.plot(*np.atleast_2d(points)[:, self._columns].T, style, **look)

    def line(self, points: Array, colour: str, width: float, style: str) -> None:
        look = {"linewidth": width, "alpha": 0.85} if self.flat else {"linewidth": 0.75 * width, "alpha": 0.9}
        self.plot(points, style, color=colour, solid_capstyle="round", **look)

    def ground(self, points: Array) -> None:
        if not self.flat and len(corners := _hull(points)) > 2:
            self.plate(corners, FAINT, 0.12)
        face, size = ("#dcdce2", 11.0) if self.flat else (FAINT, 3.5)
        self.mark(points, "^", FAINT, face, size, zorder=1.5)

    def plate(self, corners: Array, colour: str, alpha: float) -> None:
        if self.flat:
            around = corners[:, self._columns].T
            self.axes.fill(*around, facecolor=colour, alpha=alpha, edgecolor="none")
            self.axes.fill(*around, facecolor="none", edgecolor=colour, linewidth=1.6, joinstyle="round")
        else:
            plate = art3d().Poly3DCollection([corners], facecolor=colour, alpha=alpha, edgecolor="none")
            self.axes.add_collection3d(plate)
            self.plot(np.concatenate([corners, corners[:1]]), "-", color=colour, linewidth=1.4)

    def mark(
        self, points: Array, marker: str, edge: str, face: str, size: float | None = None, zorder: float = 4.0
    ) -> None:
        look = {"markeredgecolor": edge, "markerfacecolor": face, "markeredgewidth": 1.1 if self.flat else 1.0}
        self.plot(points, marker, markersize=size or (6.0 if self.flat else 4.5), zorder=zorder, **look)

    def text(self, point: Array, text: str, colour: str) -> None:
        halo = [matplotlib("patheffects").withStroke(linewidth=2.0, foreground="white")]  # for names on bars
        look = {"fontsize": 7.0, "color": colour, "path_effects": halo}
        if self.flat:
            place = {"xytext": (4, 5), "textcoords": "offset points", "zorder": 5}
            self.axes.annotate(text, tuple(point[self._columns]), **place, **look)
        else:
            self.axes.text(*point, f" {text}", **look)


def _different(points: list[Array]) -> Array:
    """Return points without duplicates."""
    found = np.reshape(points, (-1, 3))
    _, first = np.unique(np.round(found / _NEAR), axis=0, return_index=True)
    return np.asarray(found[np.sort(first)])


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
