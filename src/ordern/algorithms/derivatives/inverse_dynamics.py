"""The derivatives of inverse dynamics by position, velocity and acceleration, in order n d.

All quantities are in one common frame (see `absolute`). For each freedom of joint i, with t its column of S_i, p the
parent of i, and x' the rate of x along the freedom, in the axes of the child:

    outward   psi  = v_p x t + u'                      u  = S_i qd_i
              psi' = a_p x t + v_p x (v_p x t) + (S_i qdd_i + c_i)' + (v_p + v_i) x u'
              phi' = (v_p + v_i) x t + dc_i/dqd
    inward    I, B, f of composite bodies: sums over all bodies that i carries; B as in `body_coriolis`
              Fq = I psi' + B psi,    Fv = I phi' + B t,    Fa = I t,    G = B^T t
              dtau_i/dq_i = S_i^T Fq + S'_i^T f,        dtau_i/dqd_i = S_i^T Fv,     M_ii = S_i^T Fa + armature_i
              and for each ancestor j of i:
              dtau_j/dq_i = S_j^T (Fq + t x* f),        dtau_j/dqd_i = S_j^T Fv,     M_ij = S_j^T Fa
              dtau_i/dq_j = Fa . psi'_j + G . psi_j,    dtau_i/dqd_j = Fa . phi'_j + G . S_j

A change of q_i moves all bodies that i carries as one. In axes that move along with them, velocities change by psi, and
forces by I psi' + B psi. S', u' and c' are zero unless the subspace depends on q. Gyrations of drives change with q and
qd of their own joint. The position varies in the tangent of `integrate`. Cost: order n d, where d is the depth.

Reference: Singh, Russell and Wensing 2022, Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra, the algorithm IDSVA; Carpentier and Mansard 2018.
Differs: B has 12 numbers and acts on angular velocities; subspaces may depend on q; mimic joints and moving bases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...graph import Scalar
from ...model import Base, Bodies, Field, Index, Joints, Output, Tree
from ...records import dataclass
from ...spatial import Columns, Force, Forces, Inertia, Motion, Units
from ...spatial.linear import Vector3, dot
from ..method_limits import no_fluid
from ..registry import algorithm
from .absolute import Absolute, absolute, forces, mass_matrix
from .joint_rates import GyrationRates, gyration_rates, joint_rates

__all__ = ["common_frame", "partials"]

Rows = tuple[tuple[Scalar, ...], ...]
"""A block of a matrix between freedoms, row by row."""


@algorithm(
    "inverse_dynamics_derivatives",
    "common-frame",
    paper="Singh-Russell-Wensing 2022",
    equations="IDSVA",
    order="n d",
    regroup=True,
    refuses=no_fluid,
)
def common_frame(tree: Tree, q: Joints, qd: Joints, qdd: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return dtau/dq, dtau/dqd and M for motions (q, qd, qdd) of the joints, and (v0, a0) of the base."""
    found = tree.output("matrices")
    dq, dqd, M = found.part(0, "matrix"), found.part(1, "matrix"), found.part(2, "symmetric")
    bodies = absolute(tree, q, qd, external, v0)
    composites = mass_matrix(tree, bodies, M)
    moved = forces(tree, bodies, q, qd, qdd, v0, a0)
    partials(tree, bodies, composites, moved, (q, qd, qdd), (dq, dqd))
    return found


@dataclass(frozen=True, slots=True)
class _Changes:
    """The columns psi (angular parts), psi' and phi' of a joint, and the rates of its own formulas."""

    psi: tuple[Vector3, ...]
    psi_rate: tuple[Motion, ...]
    phi_rate: tuple[Motion, ...]
    subspace: tuple[Columns, ...] | None
    gyration: GyrationRates | None


def partials(
    tree: Tree,
    bodies: Absolute,
    composites: tuple[Field[Inertia], Field[Forces]],
    moved: tuple[Field[Motion], Field[Force]],
    state: tuple[Joints, Joints, Joints],
    results: tuple[Output, Output],
    free: tuple[Output, Output] | None = None,
) -> None:
    """Set the derivatives by position and velocity: `results`; `moved` are the accelerations of parents, and forces.

    With `free`, the columns of a free joint at the base are set without their parts M psi' and M phi', and psi' and
    phi' are set in `free`: these motions of the whole robot need no solution with M.
    """
    (Ic, Fa), (above, f), (dq, dqd), S, B = composites, moved, results, bodies.S, bodies.coriolis
    changes = tree.own(_Changes)
    for i, _ in tree.outward():
        x = _changes(bodies, above[i], state, i)
        if free is not None and tree.on_base(i) and _is_free(i, state[0]):
            for E, motions in zip(free, (x.psi_rate, x.phi_rate), strict=True):
                E[i, i] = tuple(zip(*(m.scalars for m in motions), strict=True))
            none = (Motion.zero(),) * 6
            x = replace(x, psi_rate=none, phi_rate=none)
        changes[i] = x

    for i, p in tree.inward():
        x, columns = changes[i], S[i].columns
        Fv = Forces(tuple(Ic[i] @ m + B[i] @ t.angular for m, t in zip(x.phi_rate, columns, strict=True)))
        Fq = Forces(tuple(Ic[i] @ m + B[i] @ w for m, w in zip(x.psi_rate, x.psi, strict=True)))
        G = tuple(B[i].back(t) for t in columns)
        dq[i, i], dqd[i, i] = _diagonal(S[i], Fq, Fv, f[i], x)
        Fq = Fq + Forces(tuple(t.cross(f[i]) for t in columns))
        walked = tree.register((Fq, Fv, Fa[i], G))
        for j, _ in tree.ancestors(i):
            (Fq, Fv, F, G), y = walked.value, changes[j]
            dq[j, i], dqd[j, i] = _power(S[j], Fq), _power(S[j], Fv)
            dq[i, j] = _products(F, y.psi_rate, G, y.psi)
            dqd[i, j] = _products(F, y.phi_rate, G, tuple(t.angular for t in S[j].columns))
        B[p] += B[i]
        f[p] += f[i]


def _is_free(i: Index, q: Joints) -> bool:
    """Return True if a joint has all six unit motions, and its drive no inertia."""
    S = i.subspace(q[i])
    return isinstance(S, Units) and S.axes == tuple(range(6)) and not i.kind.has_armature


def _changes(bodies: Absolute, ap: Motion, state: tuple[Joints, Joints, Joints], i: Index) -> _Changes:
    """Return the columns of a joint, whose parent accelerates at ap."""
    q, qd, qdd = (x[i] for x in state)
    S, pose, vp = bodies.S[i], bodies.pose[i], bodies.above[i]
    psi = list(bodies.moving[i].columns)
    psi_rate = [ap.cross(t) + vp.cross(x) for t, x in zip(S.columns, psi, strict=True)]
    phi_rate = [x + x for x in psi]
    if len(S.columns) > 1:  # the motion S qd of the joint itself; a single column has no product with itself
        phi_rate = [x + (S @ qd).cross(t) for x, t in zip(phi_rate, S.columns, strict=True)]
    rates = joint_rates(i, i.subspace(q), q, qd, qdd)
    turned = None
    if rates is not None:
        turned = tuple(Columns(tuple(pose @ m for m in dS.columns)) for dS in rates.S)
        both = vp + bodies.v[i]
        for k, u in enumerate([pose @ m for m in rates.u]):
            psi[k] = psi[k] + u
            psi_rate[k] = psi_rate[k] + pose @ rates.a[k] + both.cross(u)
            phi_rate[k] = phi_rate[k] + pose @ rates.bias[k]
    angular = tuple(x.angular for x in psi)
    return _Changes(angular, tuple(psi_rate), tuple(phi_rate), turned, gyration_rates(i, q, qd))


def _diagonal(S: Columns, Fq: Forces, Fv: Forces, f: Force, x: _Changes) -> tuple[Rows, Rows]:
    """Return the blocks of a joint's own freedoms."""
    along, faster = [S.forces(F) for F in Fq.columns], [S.forces(F) for F in Fv.columns]
    for k in range(len(along)):
        if x.subspace is not None:
            along[k] = along[k] + x.subspace[k].forces(f)
        if x.gyration is not None:
            along[k] = along[k] + x.gyration.along[k]
            faster[k] = faster[k] + x.gyration.with_velocity[k]
    return tuple(zip(*along, strict=True)), tuple(zip(*faster, strict=True))


def _power(S: Columns, F: Forces) -> Rows:
    """Return the power of each force along each motion: a row for each motion."""
    return tuple(tuple(f.dot(t) for f in F.columns) for t in S.columns)


def _products(F: Forces, motions: Sequence[Motion], G: Sequence[Vector3], angular: Sequence[Vector3]) -> Rows:
    """Return a row for each force: its power along each motion, and the product of G with the angular part."""
    pairs = tuple(zip(motions, angular, strict=True))
    return tuple(tuple(f.dot(m) + dot(g, w) for m, w in pairs) for f, g in zip(F.columns, G, strict=True))
