"""An independent oracle: every body by itself, six accelerations each, all joints and contacts as constraints.

It knows revolute and prismatic joints, free bodies, loops that are closed by hinges and balls, and contacts, from the
numbers of the models alone; nothing of the library's algorithms is used. What velocities add to the constraints is
d/dt (K(x(t)) v) along the exact motion of bodies that keep their velocities, by complex steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import ordern as on

Array = np.ndarray


def skew(w: Array) -> Array:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def turn(axis: Array, angle: float) -> Array:
    K = skew(np.asarray(axis) / np.linalg.norm(axis))
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def across(axis: Array) -> Array:
    """Two unit vectors across an axis, as rows."""
    return np.linalg.svd(np.asarray(axis, float)[None])[2][1:]


@dataclass
class Solid:
    mass: float
    inertia: Array  # about the mass centre, in the body's axes
    com: Array
    R: Array
    x: Array  # the origin
    w: Array
    u: Array  # of the origin

    @property
    def centre(self) -> Array:
        return self.x + self.R @ self.com


class Maximal:
    """Bodies of all arms, and the object at the end (if it moves)."""

    def __init__(self, grasp: on.Grasp, qs: list[Array], vs: list[Array], pose: Array, velocity: Array) -> None:
        self.solids: list[Solid] = []
        self.rows: list[Any] = []  # functions of the bodies' (R, x) to rows over all velocities
        self.drives: list[Any] = []
        self.frees: list[tuple[int, int]] = []
        self.arms: list[list[Any]] = []
        ends = []
        for arm, q, v in zip(grasp.arms, qs, vs, strict=True):
            first, driven = len(self.solids), []
            for c, b in zip(arm.robot.joints, arm.robot.bodies, strict=True):
                p = None if c.parent < 0 else first + c.parent
                R0, x0, w0, u0 = self._parent(p, arm.base)
                Rj, xj = R0 @ c.placement.R, x0 + R0 @ c.placement.p
                i = len(self.solids)
                if isinstance(c.type, on.Free):
                    w_, x_, y_, z_ = q[c.q][:4]
                    R = Rj @ _quaternion(w_, x_, y_, z_)
                    x = xj + Rj @ q[c.q][4:]
                    w, u = R @ v[c.v][:3], R @ v[c.v][3:]
                    driven.append(("free", i))
                else:
                    axis = np.array(c.type.axis) / np.linalg.norm(c.type.axis)
                    a = Rj @ axis
                    (angle,), (rate,) = q[c.q], v[c.v]
                    if isinstance(c.type, on.Revolute):
                        R, x = Rj @ turn(axis, angle), xj
                        w, u = w0 + a * rate, u0 + np.cross(w0, x - x0)
                    else:
                        R, x = Rj, xj + a * angle
                        w, u = w0, u0 + np.cross(w0, x - x0) + a * rate
                    driven.append(self._joint(p, i, c, axis, arm.base))
                self.solids.append(Solid(b.mass, b.inertia_matrix, np.array(b.com), R, x, w, u))
            for loop in arm.robot.loops:
                self.rows.append(self._loop(loop, first, arm.base))
            self.arms.append(driven)
            ends += [(first + t.body, t.placement.p, t.placement.R) for t in arm.tips]
        self.held = None
        if grasp.object is not None:
            self.held, o = len(self.solids), grasp.object
            R, x = pose[:3, :3], pose[:3, 3]
            solid = Solid(o.mass, o.inertia_matrix, np.array(o.com), R, x, velocity[:3], velocity[3:])
            self.solids.append(solid)
        self.first_contact = len(self.rows)
        for contact, end in zip(grasp.contacts, ends, strict=True):
            self.rows.append(self._contact(contact, end, pose))
        self.gravity = grasp.gravity

    def _parent(self, p: int | None, base: Any) -> tuple[Array, ...]:
        if p is None:
            return base.R, base.p, np.zeros(3), np.zeros(3)
        s = self.solids[p]
        return s.R, s.x, s.w, s.u

    # rows are over (w, u) of every body, u of its origin

    def _point(self, K: Array, i: int | None, r: Array, sign: float, D: Array) -> None:
        """Add sign D times the velocity of the point at the lever r (world axes) from body i's origin."""
        if i is not None:
            K[:, 6 * i : 6 * i + 3] += sign * D @ -skew(r)
            K[:, 6 * i + 3 : 6 * i + 6] += sign * D

    def _spin(self, K: Array, i: int | None, sign: float, D: Array) -> None:
        if i is not None:
            K[:, 6 * i : 6 * i + 3] += sign * D

    def _joint(self, p: int | None, i: int, c: Any, axis: Array, base: Any) -> Any:
        revolute = isinstance(c.type, on.Revolute)
        N = across(axis)

        def frame(X: Any) -> tuple[Array, Array]:
            R0, x0 = (base.R, base.p) if p is None else X[p]
            return R0 @ c.placement.R, x0

        def rows(X: Any, n: int) -> Array:
            Rj, x0 = frame(X)
            lin, ang = (np.eye(3), N @ Rj.T) if revolute else (N @ Rj.T, np.eye(3))
            K1, K2 = np.zeros((len(lin), n), complex), np.zeros((len(ang), n), complex)
            self._point(K1, i, np.zeros(3), 1.0, lin)
            self._point(K1, p, X[i][1] - x0, -1.0, lin)
            self._spin(K2, i, 1.0, ang)
            self._spin(K2, p, -1.0, ang)
            return np.concatenate([K1, K2])

        def drive(X: Any, n: int) -> Array:
            Rj, x0 = frame(X)
            a = (Rj @ axis)[None]
            K = np.zeros((1, n), complex)
            if revolute:
                self._spin(K, i, 1.0, a)
                self._spin(K, p, -1.0, a)
            else:
                self._point(K, i, np.zeros(3), 1.0, a)
                self._point(K, p, X[i][1] - x0, -1.0, a)
            return K

        self.rows.append(rows)
        return ("drive", drive)

    def _loop(self, loop: Any, first: int, base: Any) -> Any:
        """A joint that closes a loop: its frames' origins meet, and axes across its own do."""
        one, other = (None if k < 0 else first + k for k in (loop.parent, loop.child))
        here, there = loop.parent_placement, loop.child_placement
        bound = across(loop.type.axis) if isinstance(loop.type, on.Revolute) else np.zeros((0, 3))

        def rows(X: Any, n: int) -> Array:
            R0, _ = (base.R, base.p) if one is None else X[one]
            R1, _ = X[other]
            ang = bound @ there.R.T @ R1.T
            K1, K2 = np.zeros((3, n), complex), np.zeros((len(ang), n), complex)
            self._point(K1, other, R1 @ there.p, 1.0, np.eye(3))
            self._point(K1, one, R0 @ here.p, -1.0, np.eye(3))
            self._spin(K2, other, 1.0, ang)
            self._spin(K2, one, -1.0, ang)
            return np.concatenate([K1, K2])

        return rows

    def _contact(self, contact: Any, end: Any, pose: Array) -> Any:
        body, p_tip, _ = end
        place, C = contact.at.p, contact.at.R
        if isinstance(contact, on.contacts.Rigid):
            bound = np.eye(3)
        elif isinstance(contact, on.contacts.Hinge):
            bound = across(contact.axis)
        elif isinstance(contact, on.contacts.SoftFinger):
            bound = np.array([contact.surface.normal])
        else:
            bound = np.zeros((0, 3))

        def rows(X: Any, n: int) -> Array:
            R, _ = (pose[:3, :3], None) if self.held is None else X[self.held]
            ang = bound @ C.T @ R.T
            K1, K2 = np.zeros((3, n), complex), np.zeros((len(ang), n), complex)
            self._point(K1, self.held, R @ place, 1.0, np.eye(3))
            self._point(K1, body, X[body][0] @ p_tip, -1.0, np.eye(3))
            self._spin(K2, self.held, 1.0, ang)
            self._spin(K2, body, -1.0, ang)
            return np.concatenate([K2, K1])

        return rows

    def _evaluated(self, f: Any) -> tuple[Array, Array]:
        """Rows, and what velocities add to them, by a complex step."""
        n, h = 6 * len(self.solids), 1e-30
        V = np.concatenate([np.concatenate([s.w, s.u]) for s in self.solids])
        later = [(s.R + 1j * h * skew(s.w) @ s.R, s.x + 1j * h * s.u) for s in self.solids]
        return f([(s.R, s.x) for s in self.solids], n).real, (f(later, n) @ V).imag / h

    def _forced(self) -> tuple[Array, Array]:
        """The mass matrix of all bodies, and the forces of gravity and of what turns."""
        n = 6 * len(self.solids)
        M, F = np.zeros((n, n)), np.zeros(n)
        for i, s in enumerate(self.solids):
            c, at = s.R @ s.com, slice(6 * i, 6 * i + 6)
            T = np.block([[np.eye(3), np.zeros((3, 3))], [-skew(c), np.eye(3)]])  # to the mass centre
            I = s.R @ s.inertia @ s.R.T
            D = np.zeros((6, 6))
            D[:3, :3], D[3:, 3:] = I, s.mass * np.eye(3)
            M[at, at] = T.T @ D @ T
            bias = np.concatenate([np.cross(s.w, I @ s.w), s.mass * np.cross(s.w, np.cross(s.w, c))])
            F[at] = T.T @ (np.concatenate([np.zeros(3), s.mass * self.gravity]) - bias)
        return M, F

    def struck(self, arm: int, joint: int, restitution: float) -> list[Array]:
        """Velocities of the joints after the impact of one of them on its stop, by an impulse along it."""
        M, _ = self._forced()
        K = np.concatenate([self._evaluated(f)[0] for f in self.rows])
        S = [[self._evaluated(what)[0][0] for _, what in driven] for driven in self.arms]
        V = np.concatenate([np.concatenate([s.w, s.u]) for s in self.solids])
        whole = np.block([[M, K.T], [K, np.zeros((len(K), len(K)))]])
        unit = np.linalg.lstsq(whole, np.concatenate([S[arm][joint], np.zeros(len(K))]), rcond=1e-13)[0][: len(V)]
        p = -(1.0 + restitution) * (S[arm][joint] @ V) / (S[arm][joint] @ unit)
        return [np.array([row @ (V + p * unit) for row in own]) for own in S]

    def solve(self, taus: list[Array], wrench: Array) -> dict[str, Any]:
        n = 6 * len(self.solids)
        X = [(s.R, s.x) for s in self.solids]
        V = np.concatenate([np.concatenate([s.w, s.u]) for s in self.solids])
        evaluated = self._evaluated
        K, k = (np.concatenate(x) for x in zip(*map(evaluated, self.rows), strict=True))
        M, F = self._forced()
        if self.held is not None:
            F[6 * self.held :] += wrench
        drives = []
        for driven, tau in zip(self.arms, taus, strict=True):
            at = 0
            for kind, what in driven:
                if kind == "free":
                    R, j = self.solids[what].R, 6 * what
                    F[j : j + 3] += R @ tau[at : at + 3]
                    F[j + 3 : j + 6] += R @ tau[at + 3 : at + 6]
                    at += 6
                else:
                    S, s = evaluated(what)
                    F += S[0] * tau[at]
                    drives.append((S[0], s[0]))
                    at += 1
        c = len(K)
        whole = np.block([[M, K.T], [K, np.zeros((c, c))]])
        x = np.linalg.lstsq(whole, np.concatenate([F, -k]), rcond=1e-13)[0]
        a = x[:n]
        accelerations, used = [], iter(drives)
        for driven in self.arms:
            own = []
            for kind, what in driven:
                if kind == "free":
                    s, j = self.solids[what], 6 * what
                    own += [*(s.R.T @ a[j : j + 3]), *(s.R.T @ (a[j + 3 : j + 6] - np.cross(s.w, s.u)))]
                else:
                    S, bias = next(used)
                    own.append(float(S @ a + bias))
            accelerations.append(np.array(own))
        lam = x[n:]
        forces, at = [], sum(len(f(X, n)) for f in self.rows[: self.first_contact])
        for f in self.rows[self.first_contact :]:
            rows = f(X, n).real
            own = lam[at : at + len(rows)]
            at += len(rows)
            pull = -own @ rows  # on the object's side the rows have a plus; K^T lambda is on the left
            if self.held is None:
                forces.append(np.zeros(6))
            else:
                on_object = pull[6 * self.held : 6 * self.held + 6]
                forces.append(on_object)  # about the object's origin
        return {
            "violation": float(np.abs(K @ V).max()),
            "accelerations": accelerations,
            "object": a[6 * self.held :] if self.held is not None else np.zeros(6),
            "forces": np.array(forces),
            "rank": int(np.linalg.matrix_rank(K, tol=1e-9)) - self.joint_rank(X, n),
        }

    def joint_rank(self, X: Any, n: int) -> int:
        """How many rows of joints and loops are independent."""
        K = [f(X, n).real for f in self.rows[: self.first_contact]]
        return int(np.linalg.matrix_rank(np.concatenate(K), tol=1e-9)) if K else 0


def _quaternion(w: float, x: float, y: float, z: float) -> Array:
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
