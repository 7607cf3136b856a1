"""Trajectories of robots with loops: leading joints move as in a motion of the tree; the others keep loops closed.

Between two closed positions, a motion of the tree opens the loops. So only the motion of the leading joints is taken
from it. The other joints are followed from the start in small steps, each predicted from the step before and corrected
by Newton's method. The steps are stored: between them, Newton's method starts from the nearest one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError, LoopError
from ..loops.kernels import require_closed
from .arguments import freedom_name
from .closing import Closing, closings
from .trajectory import Motion, Trajectory

__all__ = ["Closed", "closed"]

_STEPS, _FINEST = 48, 1e-7
"""The number of steps at first, and the shortest step, in parts of the duration."""
_FAR = 0.03
"""The largest correction by Newton's method, in rad and m; a larger one may lead to another assembly."""
_ARRIVED = 1e-6
"""The largest distance from a given position that counts as reaching it."""


class Closed(Trajectory):
    """The motion of a robot with loops whose leading joints move as in a motion of the tree."""

    def __init__(self, tree: Trajectory, closing: Closing, t: Array, steps: Motion) -> None:
        self.tree, self.closing, self.t, self.steps = tree, closing, t, steps
        self.space, self.duration, self.breaks = tree.space, tree.duration, tree.breaks

    def _motion(self, t: Array, left: bool) -> Motion:
        k = np.searchsorted(0.5 * (self.t[1:] + self.t[:-1]), t)  # the nearest step
        guess = _ahead(self.tree, Motion(*(x[k] for x in self.steps)), t - self.t[k])
        return self.closing.motion(guess, self.tree._motion(t, left), t)


def closed(tree: Trajectory, times: Sequence[float], points: Sequence[Array], names: Sequence[str]) -> Trajectory:
    """Return the motion of the tree with its loops closed at every time; `names` name the points in errors."""
    robot = tree.robot
    if not robot.nc:
        return tree
    for t, q, name in zip(times, points, names, strict=True):
        require_closed(robot, name, q, t if robot.loop_table.timed else None)
    at, q = np.array(times, float), np.stack([*points])
    far = np.abs(np.diff(q, axis=0)).sum(axis=0)
    way = np.zeros(robot.nv)
    for c in robot.independent:
        if c.type.nq == c.type.nv:
            way[c.v] = far[c.q]
    why: ArgumentError | LoopError | None = None
    for closing in closings(robot, q, at, way if way.any() else None):
        try:
            return Closed(tree, closing, *_followed(tree, closing, at, q, names))
        except (ArgumentError, LoopError) as e:
            why = why or e
    raise why or LoopError(
        f"no joints of {robot.name!r} determine the motion of the others at {names[0]}, which is a singular position; "
        "start from another one"
    )


def _followed(
    tree: Trajectory, closing: Closing, times: Array, points: Array, names: Sequence[str]
) -> tuple[Array, Motion]:
    """Return times, and the motion at them, from the first point to the last."""
    grid = np.union1d(np.linspace(0.0, tree.duration, _STEPS + 1), np.concatenate([times, tree.breaks]))
    now = _at(tree, closing, 0.0, points[0])
    if now is None:
        raise LoopError(closing.complaint(points[0], 0.0))
    found, at = [now], [0.0]
    todo = list(grid[:0:-1])
    while todo:
        step = todo[-1] - at[-1]
        guess = _ahead(tree, Motion(*(x[None] for x in found[-1])), np.array([step]))[0]
        after = _at(tree, closing, todo[-1], guess)
        if after is None:
            if step < _FINEST * tree.duration:
                raise LoopError(closing.complaint(guess, todo[-1]))
            todo.append(at[-1] + 0.5 * step)
            continue
        found.append(after)
        at.append(float(todo.pop()))
        for k in np.flatnonzero(times == at[-1]):
            _arrived(tree, after.q, points[k], names[int(k)])
    return np.array(at), Motion(*(np.stack(x) for x in zip(*found, strict=True)))


def _at(tree: Trajectory, closing: Closing, t: float, guess: Array) -> Motion | None:
    """Return the motion at one time, near a guess; None if the guess was not near enough."""
    time = np.array([t])
    wanted = tree._motion(time, False)
    q, off = closing.position(guess[None], wanted.q, time)
    moved = np.abs(tree.space.difference(guess[None], q)[:, closing.follows]).max(initial=0.0)
    if not off[0] <= 1e-10 or not moved <= _FAR or not closing.regular(q, time)[0]:
        return None
    v, a = closing.rates(q, wanted.v, wanted.a, time)
    return Motion(q[0], v[0], a[0])


def _ahead(tree: Trajectory, at: Motion, dt: Array) -> Array:
    """Predict positions a little later from velocity and acceleration."""
    h = dt[:, None]
    return tree.space.integrate(at.q, h * (at.v + 0.5 * h * at.a))


def _arrived(tree: Trajectory, q: Array, point: Array, name: str) -> None:
    """Raise unless a motion reaches its point: a robot may have several assemblies."""
    apart = tree.space.difference(q, point)
    worst = int(np.argmax(np.abs(apart)))
    if abs(apart[worst]) <= _ARRIVED:
        return
    robot = tree.robot
    turns = apart[worst] / (2.0 * np.pi)
    hint = (
        f"by full turns ({turns:+.0f}); let {name} count them"
        if abs(turns - round(turns)) < _ARRIVED and round(turns)
        else "which is another way to assemble the robot: no motion of the leading joints leads there; put a position "
        "between the two, or lead by other joints (`robot.with_actuated`)"
    )
    raise LoopError(
        f"the motion that keeps the loops of {robot.name!r} closed does not arrive at {name}: joint "
        f"{freedom_name(robot, worst)!r} would be off by {apart[worst]:.3g}, {hint}"
    )
