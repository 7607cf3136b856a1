"""Armstrong's forward dynamics for joints with one freedom, and others: constraint moments are left open, then closed.

Armstrong's relations (47) need the whole moment N in a joint, which is given only in a spherical joint. In a hinge with
the axis h, two components n of N are constraint moments: N = h (T - J th'') + U n, where U spans the plane normal to h,
and J is the armature. They are kept as unknowns, and found from the constraints of the hinge. W and V are the
accelerations w' and v' that a body would have if its joint were locked; P, z and L are as in `armstrong`.

    inward    Gamma = [P_11 + J h h^T]^-1,        L = -P_12
              w'    = Omega_w v' + Gamma J h h^T W + Upsilon_w + Gamma U n                      (47), with n open
                      Omega_w = Gamma L,          Upsilon_w = Gamma [h T - z_N]                 (48)
              n     = [U^T Gamma U]^-1 U^T [W - Omega_w v' - Gamma J h h^T W - Upsilon_w],      from U^T (w' - W) = 0
              N     = h (T - J h^T (w' - W)) + U n,         F = P_22 v' - L^T w' + z_F          (49)
              where the joint slides:    v' = V + s th'',   s^T F = T - J th''
              (N; F) = A (W; V) + f_0:   P_p += phi A phi^T,     z_p += phi (f_0 + A a)
    outward   W and V from the parent's w' and v'; then th'', w' and v' from the relations

Joints may turn about some of their axes and slide along others: revolute, prismatic, cylindrical, planar, spherical,
free. For a spherical joint there are no n, and this is `armstrong`, with armature. Where nothing turns, all of N is
open, U = 1: then w' is W, and no Gamma is needed. All of N is open, too, where turning and sliding are one freedom, as
in a helical joint, or axes are not normal to each other: w' = W + H th'', and th'' follows from T = H^T N + s^T F.

Jain calls the extension to one freedom "involved and awkward, because the force decomposition from the 3-dof joints
case is carried over": a matrix of 3 x 3 is inverted and then one of 2 x 2, where `articulated_body` divides by one
number. Cost: order n.

Reference: Armstrong 1979, appendix, as mentioned in Jain 1991 after (49), who does not give the equations; these follow
from (47)-(49) with N open. Featherstone and Orin 2000, sec. 2, name the method for spherical joints.
Differs: in body axes. Terms of velocity enter where they arise, as in `armstrong`. Trees, armatures, joints that slide,
and a base that is moved. P_11 must be regular: every body needs an inertia about all axes.
"""

from __future__ import annotations

from ...graph import Scalar
from ...model import Base, Bodies, Joints, Output, Tree
from ...records import dataclass
from ...spatial import ArticulatedInertia, Factor, Force, Freedoms, Motion, Subspace, Units
from ...spatial.linear import dot
from ..method_limits import all_of, no_couplings, no_massless_bodies
from ..registry import algorithm
from ..velocities import base_motion, velocities

__all__ = ["Relations", "armstrong_general"]

Row = Freedoms
_Rows = tuple[tuple[Scalar, ...], ...]
_W, _V, _ONE = range(3), range(3, 6), 6
"""A row has a number for each component of W, one for each of V, and one that multiplies nothing."""


@dataclass(frozen=True, slots=True)
class Relations:
    """Linear functions of (W, V, 1) of a body, as rows of seven numbers."""

    joint: tuple[Row, ...]
    """th''"""
    motion: tuple[Row, ...]
    """(w', v')"""
    force: tuple[Row, ...]
    """(N, F)"""

    @property
    def felt(self) -> tuple[ArticulatedInertia, Force]:
        """The force by W and V, as an inertia, and the rest."""
        A = {(r, c): self.force[r][c] for r in range(6) for c in range(r, 6)}
        return ArticulatedInertia.of_upper(A), Force.of(tuple(row[_ONE] for row in self.force))


def relations(P: ArticulatedInertia, z: Force, S: Subspace, T: Freedoms, J: Freedoms) -> Relations:
    """Return the relations of a body with the motions S of its joint, the forces T along them and the armature J."""
    rows, bias = P.rows(), z.scalars
    if not isinstance(S, Units):
        return _all_open(rows, bias, S, T, J)
    axes = S.axes
    given, inertia = dict(zip(axes, T, strict=True)), dict(zip(axes, J, strict=True))
    w, moments = _turning(rows, bias, given, inertia)
    v = [_unit(k) for k in _V]
    forces = [_combined(rows[3 + k], [*w, *v], bias[3 + k]) for k in range(3)]
    slides = [a for a in axes if a >= 3]
    D = Factor.of(tuple(tuple(forces[a - 3][b] + (inertia[a] if a == b else 0.0) for b in slides) for a in slides))
    asked = [_constant(given[a]) - forces[a - 3] for a in slides]
    slid = _solved(D, asked)

    def with_slides(row: Row) -> Row:
        """Return the same row with v' = V + s th'' in place of V."""
        return sum((x * row[a] for a, x in zip(slides, slid, strict=True)), row)

    w, moments, forces, v = ([with_slides(row) for row in x] for x in (w, moments, forces, v))
    turned = {a: w[a] - _unit(a) for a in axes if a < 3}
    found = {**turned, **dict(zip(slides, slid, strict=True))}
    return Relations(tuple(found[a] for a in axes), (*w, *v), (*moments, *forces))


def _all_open(rows: _Rows, bias: tuple[Scalar, ...], S: Subspace, T: Freedoms, J: Freedoms) -> Relations:
    """Return the relations of a joint whose freedoms are not unit motions: all of N is open."""
    columns = [m.scalars for m in S.columns]
    locked = [_unit(k) for k in range(6)]
    force = [_combined(rows[k], locked, bias[k]) for k in range(6)]
    pulls = [tuple(dot(row, m) for row in rows) for m in columns]  # P S
    D = tuple(tuple(dot(m, f) + (J[r] if r == c else 0.0) for c, f in enumerate(pulls)) for r, m in enumerate(columns))
    asked = [_constant(t) - _combined(m, force, 0.0) for t, m in zip(T, columns, strict=True)]
    joint = _solved(Factor.of(D), asked)

    def moved(rows: list[Row], by: list[tuple[Scalar, ...]]) -> tuple[Row, ...]:
        return tuple(sum((x * y[k] for x, y in zip(joint, by, strict=True)), row) for k, row in enumerate(rows))

    return Relations(tuple(joint), moved(locked, columns), moved(force, pulls))


def _turning(
    rows: _Rows, bias: tuple[Scalar, ...], given: dict[int, Scalar], inertia: dict[int, Scalar]
) -> tuple[list[Row], list[Row]]:
    """Return w' and N by W and v': Armstrong's (47), (48), from which the constraint moments n are eliminated."""
    turns, U = [k for k in range(3) if k in given], [k for k in range(3) if k not in given]
    if not turns:
        w = [_unit(k) for k in _W]
        return w, [_combined(rows[k], [*w, *(_unit(c) for c in _V)], bias[k]) for k in range(3)]
    Gamma = Factor.of(tuple(tuple(rows[r][c] + (inertia.get(r, 0.0) if r == c else 0.0) for c in range(3)) for r in _W))
    sides = []
    for k in range(3):
        moved = tuple(inertia.get(k, 0.0) if c == k else 0.0 for c in _W)
        sides.append(Freedoms((*moved, *(-rows[k][c] for c in _V), given.get(k, 0.0) - bias[k])))
    loose = _solved(Gamma, sides)  # Gamma J h h^T, Omega_w and Upsilon_w
    responses = [Gamma.solve(tuple(1.0 if r == k else 0.0 for r in range(3))) for k in U]  # Gamma U
    held = Factor.of(tuple(tuple(column[r] for column in responses) for r in U))
    n = _solved(held, [_unit(k) - loose[k] for k in U])
    w = [sum((x * g[k] for g, x in zip(responses, n, strict=True)), loose[k]) for k in range(3)]
    w = [_unit(k) if k in U else w[k] for k in range(3)]
    moments = dict(zip(U, n, strict=True))
    for k in turns:
        moments[k] = _constant(given[k]) + (w[k] - _unit(k)) * -inertia[k]
    return w, [moments[k] for k in range(3)]


def _unit(k: int) -> Row:
    return Freedoms(1.0 if c == k else 0.0 for c in range(7))


def _constant(x: Scalar) -> Row:
    return Freedoms((0.0,) * 6 + (x,))


def _combined(weights: tuple[Scalar, ...], rows: list[Row], bias: Scalar) -> Row:
    """Return a combination of rows, and a constant."""
    return sum((row * weight for weight, row in zip(weights, rows, strict=True)), _constant(bias))


def _solved(A: Factor, rows: list[Row]) -> list[Row]:
    """Return A^-1 times a matrix with these rows."""
    columns = [A.solve(tuple(column)) for column in zip(*rows, strict=True)]
    return [Freedoms(row) for row in zip(*columns, strict=True)] if rows else []


@algorithm(
    "forward_dynamics",
    "armstrong-general",
    paper="Armstrong 1979, appendix, as in Jain 1991",
    equations="Jain (47)-(49), with N open",
    refuses=all_of(no_couplings, no_massless_bodies),
    borrows=True,
)
def armstrong_general(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint accelerations qdd for position q, velocity qd, joint forces tau and external forces."""
    w, a = base_motion(tree, v0, a0)
    P, z = tree.field(ArticulatedInertia), tree.field(Force)
    X, S, r, c, of = (tree.own() for _ in range(5))
    qdd = tree.output("v")

    for i, p in tree.outward():
        X[i], S[i], w[i], r[i], c[i], b = velocities(i, q[i], qd[i], w[p])
        P[i], z[i] = i.inertia.articulated(), b - external[i]

    for i, p in tree.inward():
        of[i] = relations(P[i], z[i], S[i], tau[i] - i.gyration(q[i], qd[i]), i.armature)
        A, f0 = of[i].felt
        moved = X[i].T @ A @ X[i]
        P[p] += moved
        z[p] += X[i].T @ (f0 + A @ c[i]) + moved @ r[i]

    for i, p in tree.outward():
        locked = (*(X[i] @ (a[p] + r[i]) + c[i]).scalars, 1.0)
        qdd[i] = Freedoms(dot(row, locked) for row in of[i].joint)
        a[i] = Motion.of(tuple(dot(row, locked) for row in of[i].motion))
    return qdd
