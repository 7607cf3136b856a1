"""Shift armature within a mimic group, so that every joint of the group meets some inertia by itself.

Forward dynamics treats all joints as free and then binds the mimic joints (`algorithms.binding`). A joint whose body
has no inertia cannot be free: its acceleration would be undefined. But of the inertias that joints of a group meet
along their freedoms, only the sum matters, with the squares of their ratios. So a joint without inertia gets a little
armature, which is subtracted from a joint that has some, the donor:

    sum over the joints that move together of ratio^2 armature = 0

No result for the robot changes, but for rounding. The amount must be less than the inertia that the donor meets while
all other joints yield, or the mass matrix of the free robot would not be positive; a part in 16,000 of the donor's own
inertia is, unless the bodies that carry the donor are lighter still by as much. Of its armature, and of the inertia of
its body if that is on the ground, a quarter is less, whatever yields. And the amount should not be tiny: where a body
without inertia carries others, rounding errors grow by the inverse of that part. Elsewhere they do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..joints import Placement
from ..spatial import Freedoms
from .parts import BASE, carried

if TYPE_CHECKING:
    from .parts import Body, ModelJoint

__all__ = ["lent_armature", "moving_together"]

_PART = 2.0**-14
"""The part of its inertia that a donor gives."""
_SAFE_PART = 0.25
"""The part that a donor gives of an inertia that it meets whatever the other joints do."""
_NONE = 1e-14
"""A smaller part of the mass times the square of a body's extent is rounding."""


def moving_together(joints: Sequence[ModelJoint]) -> list[list[tuple[int, float]]]:
    """Return groups of joints that move together: the index and ratio of each, the leader first."""
    groups: dict[int, list[tuple[int, float]]] = {}
    for k, c in enumerate(joints):
        if c.mimic:
            groups.setdefault(c.mimic.joint, [(c.mimic.joint, 1.0)]).append((k, c.mimic.ratio))
    return list(groups.values())


def lent_armature(bodies: Sequence[Body], joints: Sequence[ModelJoint]) -> dict[int, float]:
    """Return the change of armature of joints that move together, where one of them meets no inertia; by joint."""
    found: dict[int, float] = {}
    for group in moving_together(joints):
        if all(any(joints[k].armature) or _is_solid(bodies[k]) for k, _ in group):
            continue
        own = {k: sum(joints[k].armature) + _met(bodies, joints, k, [k]) for k, _ in group}
        needy = [(k, ratio) for k, ratio in group if not own[k]]
        if not needy:
            continue
        if len(needy) == len(group):  # each by itself has nothing, but what it carries may have
            own = {k: _met(bodies, joints, k, carried(joints, k)) for k, _ in group}
        donor, along = max(group, key=lambda member: member[1] ** 2 * own[member[0]])
        needy = [(k, ratio) for k, ratio in needy if k != donor]
        lends = max(_PART * own[donor], _SAFE_PART * _safe(bodies, joints, donor))
        if not (along and lends and needy):
            continue
        found[donor] = -lends
        for k, ratio in needy:
            # one that never moves may have anything
            found[k] = lends * along**2 / (len(needy) * ratio**2) if ratio else own[donor]
        if not any(ratio for _, ratio in needy):
            del found[donor]
    return found


def _safe(bodies: Sequence[Body], joints: Sequence[ModelJoint], k: int) -> float:
    """Return an inertia that a joint of one freedom meets at least, if all other joints yield."""
    own = _met(bodies, joints, k, [k]) if joints[k].parent == BASE else 0.0
    return max(0.0, *joints[k].armature) + own


def _is_solid(body: Body) -> bool:
    """Return True if a body resists any motion: a quick test that almost all bodies pass."""
    xx, yy, zz, xy, xz, yz = body.inertia
    flat = xx * yy - xy * xy
    return body.mass > 0.0 and xx > 0.0 and flat > 0.0 and flat * zz > xx * yz * yz + yy * xz * xz - 2.0 * xy * xz * yz


def _met(bodies: Sequence[Body], joints: Sequence[ModelJoint], k: int, moved: Iterable[int]) -> float:
    """Return the inertia of these bodies along joint k, of one freedom, with all other joints fixed at neutral."""
    Q = joints[k].type.working_frame()
    (motion,) = joints[k].type.subspace(Freedoms(joints[k].type.neutral())).columns
    w, u = Q @ np.array(motion.angular, float), Q @ np.array(motion.linear, float)
    at: dict[int, Placement] = {}
    total = 0.0
    for j in moved:
        at[j] = Placement() if j == k else at[joints[j].parent] @ joints[j].placement
        body, turned = bodies[j], at[j].R.T @ w
        I, centre = body.inertia_matrix, at[j].p + at[j].R @ np.array(body.com)
        velocity = u + np.cross(w, centre)
        here = body.mass * velocity @ velocity + turned @ I @ turned
        size = body.mass * (u @ u + w @ w * (centre @ centre)) + w @ w * np.abs(I).max()
        total += here if here > _NONE * size else 0.0
    return float(total)
