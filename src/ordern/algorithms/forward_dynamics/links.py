"""Links as free bodies, and the joints between them: shared parts of methods that solve for constraint forces.

    A_i^-1            mobility of link i by itself: the inverse of its inertia (zero for the base)
    T_i, K_Ji         T_i spans the constraint forces of joint i, T_i^T S_i = 0;  K_Ji = (S_i^T S_i)^-1 S_i^T
    f_i               = T_i n_i + K_Ji^T tau_i, the wrench through joint i; n_i is to be found
    t_i               = external_i - gyroscopic force + K_Ji^T tau_i - sum over children c of X_c^T K_Jc^T tau_c
    A_i a_i           = t_i + T_i n_i - sum over children c of X_c^T T_c n_c
    T_i^T (a_i - X_i (a_p + r_i) - c_i) + E_i n_i = 0
    qdd_i             = K_Ji (a_i - X_i (a_p + r_i) - c_i)

All a_i but the base's are eliminated from the last lines by Phi n = alpha, where Phi = T^T A^-1 T with blocks

    Phi_ii            = T_i^T (A_i^-1 + X_i A_p^-1 X_i^T) T_i + E_i
    Phi_ci            = - T_c^T X_c A_i^-1 T_i                  (c is a child of i)
    Phi_cd            = T_c^T X_c A_i^-1 X_d^T T_d              (c and d are children of i)
    alpha_i           = T_i^T (X_i (y_p + r_i) + c_i - y_i),    y_i = A_i^-1 t_i; for the base, y is its acceleration

A joint whose drive has inertia transmits the force tau - armature qdd along its freedoms. With y = armature^(1/2) qdd
as unknowns, that is a compliant constraint: T_i is longer by K_Ji^T armature^(1/2), n_i by -y, and E_i is one for these
and zero for all others. A freedom without armature may be among them: its y is zero.

Reference: Yamane and Nakamura, eqs. (8)-(21), where T_i^T is K_i, H_i,i = T_i^T and H_i,p = T_i^T X_i; Featherstone and
Orin 2000, eqs. (23)-(29).
Differs: each vector is in its own link's axes, about its joint. The base is known, not free: its mobility is zero and
gravity is its acceleration. T_i is of orthonormal forces. Drives with inertia are in neither paper, nor are links with
a singular inertia: some inertia is shifted to them across their joints (`ordern.model.shiftable_inertia`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from ...graph import Scalar, sqrt, where_less
from ...model import Answer, Base, Bodies, Field, Index, Joints, Model, Output, Tree, Values
from ...records import dataclass
from ...spatial import Chain, Force, Forces, Freedoms, Motion, Spin, Units, plus_diagonal
from ..method_limits import all_of, no_couplings, no_massless_bodies
from ..mobility import Mobility
from ..velocities import velocities

__all__ = [
    "Held",
    "Links",
    "accelerations",
    "beyond_reach",
    "beyond_reach_alone",
    "free_links",
    "has_borrowed",
    "held",
    "joint_accelerations",
    "joint_wrenches",
    "pull",
]

_Rows = tuple[tuple[Scalar, ...], ...]
Found = TypeVar("Found", bound=Answer)


@dataclass(frozen=True, slots=True)
class Held:
    """The constraint forces T of a joint with their compliance E, and forces J = K_J^T that act on one freedom each."""

    T: Forces
    J: Forces
    E: tuple[float, ...]

    def block(self, mobility: Mobility) -> _Rows:
        """Return T^T A^-1 T + E, the joint's own block of Phi for the mobility of both links."""
        return plus_diagonal(tuple(self.T.T @ a for a in (mobility @ self.T).columns), Freedoms(self.E))


def held(i: Index, q: Freedoms) -> Held:
    """Return the constraint forces of a body's joint at this position."""
    S = i.subspace(q)
    if isinstance(S, Units):
        units = [Force.of(tuple(1.0 if r == k else 0.0 for r in range(6))) for k in range(6)]
        T, J = [units[k] for k in range(6) if k not in S.axes], [units[k] for k in S.axes]
    else:
        T, J = _orthonormal([list(m.scalars) for m in S.columns])
    E = (0.0,) * len(T)
    if i.kind.has_armature:
        T += [f * sqrt(inertia) for f, inertia in zip(J, i.armature, strict=True)]
        E += (1.0,) * len(J)
    return Held(Forces(tuple(T)), Forces(tuple(J)), E)


def _orthonormal(S: list[list[Scalar]]) -> tuple[list[Force], list[Force]]:
    """Return the other columns Q_2 of the orthogonal matrix Q, and Q_1 R^-T, for columns S = Q_1 R.

    Householder's reflections. Each starts from a row of its own, one in which the column is not known to be zero.
    """
    rows = list(range(6))
    reflections: list[tuple[dict[int, Scalar], Scalar]] = []
    pivots: list[int] = []
    for k, x in enumerate(S):
        pivot = next((r for r in rows if not (isinstance(x[r], (int, float)) and x[r] == 0.0)), rows[0])
        norm = sqrt(sum((x[r] * x[r] for r in rows), 0.0))
        away = where_less(x[pivot], 0.0, -1.0, 1.0) * norm
        v = {r: x[r] + away if r == pivot else x[r] for r in rows}
        reflections.append((v, 1.0 / (away * v[pivot])))
        for column in S[k:]:
            _reflect(column, *reflections[-1])
        rows.remove(pivot)
        pivots.append(pivot)
    Q = []
    for k in (*pivots, *rows):
        unit: list[Scalar] = [1.0 if r == k else 0.0 for r in range(6)]
        for v, weight in reversed(reflections):
            _reflect(unit, v, weight)
        Q.append(Force.of(tuple(unit)))
    J = Q[: len(S)]
    for k in reversed(range(len(S))):
        for j in range(k + 1, len(S)):
            J[k] = J[k] - J[j] * S[j][pivots[k]]
        J[k] = J[k] * (1.0 / S[k][pivots[k]])
    return Q[len(S) :], J


def _reflect(x: list[Scalar], v: dict[int, Scalar], weight: Scalar) -> None:
    along = weight * sum((v[r] * x[r] for r in v), 0.0)
    for r, y in v.items():
        x[r] = x[r] - y * along


@dataclass(frozen=True, slots=True)
class Links:
    """The links as free bodies: transforms X, constraints, accelerations r and c by velocities, known forces t.

    The active force of a joint is in t already, on the link and on its parent. w are the angular velocities.
    """

    X: Values[Chain]
    held: Values[Held]
    r: Values[Motion]
    c: Values[Motion]
    t: Values[Force]
    active: Values[Force]
    w: Values[Spin]
    a0: Base

    def accelerations(self, tree: Tree) -> Field[Motion]:
        """Return a field of accelerations that holds the base's, with gravity."""
        return tree.field(Motion, base=tree.base_acceleration + self.a0[tree.base])

    def apart(self, i: Index, parent: Motion, child: Motion) -> Freedoms:
        """Return the acceleration that is missing between a link and its parent, along the joint's constraints."""
        return self.held[i].T.T @ (self.X[i] @ (parent + self.r[i]) + self.c[i] - child)


def free_links(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Links:
    """Return the links, for these positions, velocities, forces and this motion of the base."""
    w = tree.field(Spin, base=Spin(v0[tree.base].angular))
    X, joint, r, c, active, t = *(tree.own() for _ in range(5)), tree.field(Force)
    for i, p in tree.outward():
        X[i], _, w[i], r[i], c[i], b = velocities(i, q[i], qd[i], w[p])
        joint[i] = held(i, q[i])
        active[i] = joint[i].J @ (tau[i] - i.gyration(q[i], qd[i]))
        t[i] = external[i] - b + active[i]
        t[p] = t[p] - X[i].T @ active[i]
    return Links(X, joint, r, c, t, active, w, a0)


def accelerations(tree: Tree, links: Links, n: Joints) -> Field[Motion]:
    """Return the accelerations of the links by the known forces t and the constraint forces n."""
    a, f = links.accelerations(tree), tree.field(Force)
    for i, p in tree.outward():
        force = links.held[i].T @ n[i]
        f[i] = links.t[i] + force
        f[p] = f[p] - links.X[i].T @ force
    for i, _ in tree.outward():
        a[i] = Mobility.of(i.inertia) @ f[i]
    return a


def joint_accelerations(tree: Tree, links: Links, a: Values[Motion], qdd: Found) -> Found:
    """Fill in the joint accelerations, from the accelerations of the links."""
    for i, p in tree.outward():
        qdd[i] = links.held[i].J.T @ (a[i] - links.X[i] @ (a[p] + links.r[i]) - links.c[i])
    return qdd


def pull(tree: Tree, links: Links, F: Field[Forces], columns: Callable[[Index], Iterable[Freedoms]]) -> None:
    """Add to F the forces of joints along their freedoms, `columns(body)`: on each link, and opposite on its parent."""
    for i, p in tree.outward():
        f = Forces(tuple(links.held[i].J @ column for column in columns(i)))
        F[i] += f
        F[p] += Forces(tuple(-x for x in (links.X[i].T @ f).columns))


def joint_wrenches(tree: Tree, links: Links, n: Joints, a: Values[Motion] | None = None) -> Output:
    """Return the wrench through each joint, of its constraint force and its own force.

    Of links that have borrowed inertia it takes their accelerations a.
    """
    f = tree.output("wrenches")
    for i, _ in tree.outward():
        wrench = links.held[i].T @ n[i] + links.active[i]
        borrowed = i.borrowed
        if borrowed is not None and a is not None:
            wrench = wrench - borrowed @ a[i] - links.w[i].gyroscopic(borrowed)
        f[i] = wrench
    return f


def has_borrowed(tree: Tree) -> bool:
    """Return True if links have borrowed inertia, which joint wrenches must not include."""
    return any(kind.borrowed is not None for kind in tree.model.tables.kinds)


def _no_redundant_joints(model: Model) -> str:
    rng, t = np.random.default_rng(0), model.tables
    for number, kind in enumerate(t.kinds):
        joint, ends = kind.joint, np.full(kind.joint.nq, np.inf)
        S = joint.subspace(Freedoms(joint.random(rng, (), -ends, ends).tolist()))
        if not isinstance(S, Units) and np.linalg.matrix_rank([m.scalars for m in S.columns]) < joint.nv:
            name = model.joints[int(np.argmax(t.kind == number))].name
            return f"it is for joints whose freedoms are independent motions, and those of {name!r} are not"
    return ""


def _no_lent_armature(model: Model) -> str:
    t = model.tables
    for k, number in enumerate(t.kind):
        if (t.rows[k, t.kinds[number].term(0)] < 0.0).any():
            name = model.joints[k].name
            return f"joints that move with {name!r} meet no inertia of their own, and it cannot shift armature to them"
    return ""


beyond_reach_alone = all_of(no_massless_bodies, _no_redundant_joints, _no_lent_armature)
"""The limits of methods for constraint forces that handle mimic joints."""
beyond_reach = all_of(no_couplings, beyond_reach_alone)
"""The limits of all other methods for constraint forces."""
