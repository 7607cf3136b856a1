"""Compliant contacts of convex shapes: the law of `algorithms/contact/compliant.py`, shared among points.

    F = K D^(3/2),   f_i = w_i F max(1 - c u_i, 0),   friction at each point by its own velocity

D is the averaged depth, w_i the parts of the points, u_i their normal velocities: see `averaging`. Since dD/dt is minus
the sum of w_i u_i, the springs have a potential, 2/5 K D^(5/2), and dampers and friction take energy. This holds up to
1e-4 of the normal force along the surface, the angle of the average: D depends on where the borders of faces are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....arguments import Array
from ....model import BASE, Frame
from ....model.contacts import Solid
from ....records import dataclass
from .pairs import ConvexPair, Patch, Pose

if TYPE_CHECKING:
    from ....robot import Robot

__all__ = ["ConvexContacts"]

_KEPT = 64
"""The number of positions whose patches are kept."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The patches of all contacts at one position, and the rows of their points."""

    patches: tuple[Patch, ...]
    rows: tuple[Array, ...]
    """For each contact (m, 3, nv): velocities of its points, of the first shape from the second, along its axes."""


@dataclass(frozen=True, slots=True)
class _Law:
    """The law of one contact at one state."""

    u: Array
    """The velocities of its points, (m, 3)."""
    f: Array
    """The forces at its points, (m, 3)."""
    push: float
    """K D^(3/2)."""
    damping: Array
    """max(1 - c u_i, 0), (m,)."""


class ConvexContacts:
    """The convex contacts of a robot, as forces of the state."""

    def __init__(self, robot: Robot, which: Sequence[int], surfaces: Array, softness: Array) -> None:
        """Prepare the contacts at these places of `robot.contacts.pairs`; surfaces and softness are of all contacts."""
        contacts = robot.contacts
        assert contacts is not None
        self.robot, self.which = robot, tuple(which)
        self._contacts = [contacts.pairs[k] for k in which]
        self._pairs = [ConvexPair(c, contacts.ground) for c in self._contacts]
        self._mu, self._heights = surfaces[list(which), 0], surfaces[list(which), 2]
        self._softness = softness[list(which)]
        solids = [s for c in self._contacts for s in (c.first, c.second) if s is not None]
        moving = sorted({s.body for s in solids} - {BASE})
        self._at = {body: k for k, body in enumerate(moving)}
        self._frames = [Frame(f"body {k}", k) for k in moving]
        self._placed = {s: (np.array(s.placement.R, float), np.array(s.placement.p, float)) for s in solids}
        self._places: OrderedDict[bytes, _Place] = OrderedDict()

    def motion(self, q: Array, v: Array) -> Array:
        """Return the mean velocity of the points of each contact and its gap, (..., contacts, 4)."""
        return self._over(q, v, lambda place, k, law, at: np.array([*(place.patches[k].w @ law.u), -at.depth]))

    def forces(self, q: Array, v: Array) -> Array:
        """Return the force of each contact along its axes, (..., contacts, 3)."""
        return self._over(q, v, lambda place, k, law, at: law.f.sum(axis=0))

    def joint_force(self, q: Array, v: Array) -> Array:
        """Return the joint forces of all contacts, (..., nv)."""
        found = self._over(q, v, lambda place, k, law, at: np.einsum("mi,mij->j", law.f, place.rows[k]))
        return np.asarray(found.sum(axis=-2))

    def jacobian(self, q: Array, v: Array) -> Array:
        """Return derivatives of the joint forces by the numbers of q and v, (nv, nq + nv), at one state.

        Depths, parts and velocities change; points and axes move with the bodies. What is left out, the change of the
        axes, is small beside the stiffness of the contacts: the matrix is for Newton's method.
        """
        nv = self.robot.nv
        by_q, by_v = np.zeros((nv, nv)), np.zeros((nv, nv))
        place = self._place(q)
        for k, (patch, J) in enumerate(zip(place.patches, place.rows, strict=True)):
            if patch.depth <= 0.0:
                continue
            law, (K, c, s) = self._law(k, patch, J, v), self._softness[k]
            N, w = J[:, 2], patch.w
            stiff = patch.S * law.push + np.outer(w, w) * (1.5 * K * np.sqrt(patch.depth))
            normal_q = -(law.damping[:, None] * stiff) @ N
            normal_v = -(w * law.push * c * (law.damping > 0.0))[:, None] * N
            u = law.u[:, :2]
            r = np.sqrt((u * u).sum(axis=1) + s * s)
            turned = np.eye(2) / r[:, None, None] - np.einsum("mi,mj->mij", u, u) / r[:, None, None] ** 3
            slide = -self._mu[k] * u / r[:, None]
            for total, normal in ((by_q, normal_q), (by_v, normal_v)):
                total += np.einsum("mi,mj->ij", N, normal)
                total += np.einsum("mai,ma,mj->ij", J[:, :2], slide, normal)
            weak = -self._mu[k] * law.f[:, 2]
            by_v += np.einsum("m,mai,mab,mbj->ij", weak, J[:, :2], turned, J[:, :2])
        rate = self.robot.position_rate(q, np.eye(nv))  # rows are the rates of q by single velocities
        return np.concatenate([by_q @ np.linalg.pinv(rate.T), by_v], axis=1)

    # ---- single states

    def _over(self, q: Array, v: Array, of: Callable[[_Place, int, _Law, Patch], Array]) -> Array:
        """Return a function of each contact at each state."""
        n, batch = len(self._pairs), q.shape[:-1]
        found = []
        for x, y in zip(q.reshape(-1, q.shape[-1]), v.reshape(-1, v.shape[-1]), strict=True):
            place = self._place(x)
            for k, patch in enumerate(place.patches):
                found.append(of(place, k, self._law(k, patch, place.rows[k], y), patch))
        return np.array(found).reshape(*batch, n, -1) if found else np.zeros((*batch, n, 4))

    def _law(self, k: int, patch: Patch, J: Array, v: Array) -> _Law:
        """Return velocities and forces of a contact."""
        u = J @ v
        K, c, s = self._softness[k]
        if patch.depth <= 0.0:
            return _Law(u, np.zeros_like(u), 0.0, np.zeros(len(u)))
        push = float(K * patch.depth**1.5)
        damping = np.maximum(1.0 - c * u[:, 2], 0.0)
        normal = patch.w * push * damping
        slide = -self._mu[k] * normal / np.sqrt(u[:, 0] ** 2 + u[:, 1] ** 2 + s * s)
        return _Law(u, np.stack([slide * u[:, 0], slide * u[:, 1], normal], axis=1), push, damping)

    def _place(self, q: Array) -> _Place:
        """Return the patches at a position, which are kept for other velocities and other questions."""
        key = q.tobytes()
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = self._found(np.ascontiguousarray(q))
            if len(self._places) > _KEPT:
                self._places.popitem(last=False)
        return found

    def _found(self, q: Array) -> _Place:
        T = self.robot.poses(q, self._frames)
        J = self.robot.jacobians(q, self._frames, "world")
        patches, rows = [], []
        for pair, c, height in zip(self._pairs, self._contacts, self._heights, strict=True):
            other = None if c.second is None else self._pose(c.second, T)
            patch = pair.patch(self._pose(c.first, T), other, float(height))
            moves = np.zeros((len(patch.w), 3, self.robot.nv))
            for solid, side in ((c.first, 1.0), (c.second, -1.0)):
                if solid is not None and solid.body != BASE:
                    k = self._at[solid.body]
                    arm = patch.points - T[k, :3, 3]
                    # along an axis e: e . (v + w x arm) = e . v - e . (arm x w)
                    moves += side * (patch.axes @ (J[k, 3:] - _crossing(arm) @ J[k, :3]))
            patches.append(patch)
            rows.append(moves)
        return _Place(tuple(patches), tuple(rows))

    def _pose(self, solid: Solid, T: Array) -> Pose:
        R, p = self._placed[solid]
        if solid.body == BASE:
            return R, p
        body = T[self._at[solid.body]]
        return body[:3, :3] @ R, body[:3, :3] @ p + body[:3, 3]


def _crossing(arm: Array) -> Array:
    """Return the matrices (m, 3, 3) of the products arm x."""
    found = np.zeros((len(arm), 3, 3))
    found[:, 2, 1] = arm[:, 0]
    found[:, 0, 2] = arm[:, 1]
    found[:, 1, 0] = arm[:, 2]
    return np.asarray(found - np.swapaxes(found, 1, 2))
