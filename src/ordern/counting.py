"""Costs of algorithms: exact numbers of operations, for one robot or for general link parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .algorithms import find
from .algorithms.method_limits import require_tree
from .declared import explained
from .errors import ArgumentError
from .graph import Counts, Node, depth
from .kernel import PieceCount, PieceCounts
from .model import BASE, Model, Placement
from .robot import Robot

__all__ = ["PieceCount", "PieceCounts", "count", "critical_path", "generic"]


@explained
def count(
    robot: Model,
    question: str,
    method: str | None = None,
    *,
    general: bool = False,
    present: tuple[str, ...] = (),
    **options: Any,
) -> Counts | PieceCounts:
    """Count the multiplications, additions, divisions and other operations of a method for one state, exactly.

    As the compiler makes them for this robot: products with 0 and 1 are gone, constants folded, common terms shared.
    With `general`, for a robot with the same joints in the same tree whose link parameters are all general, as papers
    count; what depends on these parameters alone is computed once, and not counted. Sines and cosines are among
    `other`.

    A method that iterates, or is made of other functions of the robot (`on.methods` has `pieces` for it), has a
    `PieceCounts` instead: each function that it computes, with its operations, how often it is computed once and in
    each step, and the sums `once` and `each_step`. How many steps there are depends on the state; `steps` is that of a
    random one.

    >>> import ordern as on
    >>> on.count(on.load("puma560"), "inverse_dynamics", general=True).multiplications < 150 * 6 - 48  # Luh et al. 1980
    True
    >>> found = on.count(on.load("puma560"), "forward_dynamics", "conjugate-gradient")
    >>> found.each_step == on.count(on.load("puma560"), "mass_matrix_product")
    True
    """
    require_tree(robot, question)
    counted = generic(robot) if general else Robot.of(robot)
    return counted.kernel(question, method, way="unrolled", present=present, **options).counts()


def critical_path(robot: Model, question: str, method: str | None = None, **options: Any) -> int:
    """Return the length of the longest chain of dependent operations: the time with any number of processors."""
    from .compile.program import straight_line

    require_tree(robot, question)
    if find(question, method)[1].pieces:
        raise ArgumentError(
            f"critical_path: {question} by the method {method!r} is NumPy code around other functions; take the "
            "path of each of those that `on.count` lists"
        )
    kernel = Robot.of(robot).kernel(question, method, way="unrolled", **options)
    return depth([x for x in straight_line(kernel.request) if isinstance(x, Node)])


def generic(robot: Model) -> Robot:
    """Return a robot with the same joints in the same tree, in which no link parameter is special.

    Frames are placed as Denavit and Hartenberg do, as far as a tree allows: each joint is shifted along z and x of its
    parent and turned about x. The first joint is at the base's origin, its axis vertical. Drives have no inertia.
    """
    rng = np.random.default_rng(0)
    joints, bodies = [], []
    for c, b in zip(robot.joints, robot.bodies, strict=True):
        axis = {"axis": (0.0, 0.0, 1.0)} if _has_axis(c.type) else {}
        twist, (along, off) = rng.uniform(0.3, 1.2), rng.uniform(0.3, 1.2, 2)
        s, k = np.sin(twist), np.cos(twist)
        at = Placement.of([[1, 0, 0], [0, k, -s], [0, s, k]], [along, 0.0, off])
        joint: Any = c.type
        none = (0.0,) * c.type.nv
        here = Placement() if c.parent == BASE else at
        still = replace(c, armature=none, damping=none, friction=none, stiffness=none)
        joints.append(replace(still, type=replace(joint, **axis), placement=here))
        points, weights = rng.normal(size=(8, 3)), rng.uniform(0.5, 1.5, 8)
        # Plain sums, which round alike on every processor: products of matrices do not, and counts depend on last bits.
        com = (weights[:, None] * points).sum(axis=0) / weights.sum()
        d = points - com
        spread = (d**2).sum(1)[:, None, None] * np.eye(3) - d[:, :, None] * d[:, None, :]
        I = (weights[:, None, None] * spread).sum(axis=0)
        six = tuple(float(I[r, s]) for r, s in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        x, y, z = com.tolist()
        bodies.append(replace(b, mass=float(weights.sum()), com=(x, y, z), inertia=six))
    plain = {**robot.__getstate__(), "joints": tuple(joints), "bodies": tuple(bodies), "snap": 0.0}
    return Robot(**plain)


def _has_axis(joint: object) -> bool:
    """Return True if a joint has one axis, in any direction: frames are chosen with z along it."""
    return hasattr(joint, "axis") and not hasattr(joint, "axis2")
