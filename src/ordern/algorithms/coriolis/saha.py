"""Saha's matrix of convective inertia terms: C(q, v) with C v the Coriolis and centrifugal forces.

Twists and wrenches are about mass centres. B_ij takes a twist of body j to body i as if the joints between were rigid,
p_i are the twists of joint i, Omega_i turns both halves of a twist, M'_i = diag(w_i x I_i, 0) is (8), and a dot is a
derivative by time: of B_ij = [[1, 0], [c_ij x, 1]] it is [[0, 0], [(v_j - v_i) x, 0]].

    inward    Mc_i = M_i + sum over children c of  B_ci^T Mc_c B_ci                           (23b)
              K_i  = M'_i + sum over children c of B_ci^T (Mc_c B'_ci + K_c)                  (28)
              c_ii = p_i^T (Mc_i p'_i + K_i p_i),     p'_i = Omega_i p_i + p*_i               (26)
              for each ancestor j of i:
              c_ij = p_i^T (Mc_i (B_ij p'_j + B'_ij p_j) + K_i p_j)                           (29)
              c_ji = p_j^T B_ij^T (Mc_i p'_i + K_i p_i)

All other blocks are zero. The last two lines are walked inward, from i to the base: columns are forces, carried by B^T;
rows are forces and, for their products with B' and K, moments. Cost: order n d, where d is the depth of the tree.

To c_ii is added the matrix of the drive's gyration, which is skew-symmetric and zero for most joints. With Saha's M'_i,
dM/dt - 2 C is skew-symmetric, but C is not the matrix of Christoffel's symbols, unless every body turns about one or
two directions only. Velocities that are no coordinates' rates (of spherical, free and planar joints: they are
components in the body's axes) make no difference: dM/dt is then that along the motion.

Reference: Saha 1999, eqs. (8), (13), (15), (23), (25)-(29).
Differs: K_i is the sum of the paper's H and M' of composites, (28), which always stand together. (27)-(29) have
misprints: the B of (28) is B', and the last H of (29) is H_(j+1,j). Each vector is in the axes of its body. Trees have
sums over children. p*_i is the rate of p_i in the axes of body i: zero for Saha's joints, but not for a universal
joint.
"""

from __future__ import annotations

from collections.abc import Callable

from ...graph import Scalar
from ...model import Joints, Output, Tree
from ...records import dataclass
from ...spatial import Chain, Force, Forces, Inertia, Motion
from ...spatial.angular import AngularMatrix
from ...spatial.linear import ZERO3, Matrix3, Vector3, add, cross, dot, full, matmul, negative, scale, skew
from ..inverse_dynamics.denoc import Point, about_centre, between_centres, mass_centre, omega
from ..registry import algorithm
from .rates import subspace_rates

__all__ = ["Row", "convective_matrix", "saha"]


@algorithm("coriolis_matrix", "saha", paper="Saha 1999", equations="(8), (23), (25)-(29)", order="n d")
def saha(tree: Tree, q: Joints, qd: Joints) -> Output:
    """Return the matrix C for position q and velocity qd, with the mass rate (8) as Saha defines it."""
    return convective_matrix(tree, q, qd, lambda w, I: matmul(skew(w), full(I.I)))


def convective_matrix(tree: Tree, q: Joints, qd: Joints, mass_rate: Callable[[Vector3, Inertia], Matrix3]) -> Output:
    """Return the matrix C, with this function of angular velocity and inertia about the mass centre for (8)."""
    centre, w, Mc, K = tree.field(Point), tree.field(Point), tree.field(Inertia), tree.field(AngularMatrix)
    B, apart, p, p_rate = (tree.own() for _ in range(4))
    C = tree.output("matrix")

    for i, j in tree.outward():
        centre[i], Mc[i] = mass_centre(i.inertia)
        B[i] = between_centres(i.transform(q[i]), centre[j], centre[i])
        p[i] = about_centre(centre[i], i.subspace(q[i]))
        turned, own = B[i] @ Motion(w[j], ZERO3), p[i] @ qd[i]
        w[i] = add(turned.angular, own.angular)
        apart[i] = add(turned.linear, own.linear)  # v_i - v_j
        seen = about_centre(centre[i], subspace_rates(i, q[i], qd[i]))
        p_rate[i] = tuple(omega(w[i], t) + r for t, r in zip(p[i].columns, seen.columns, strict=True))
        K[i] = AngularMatrix(mass_rate(w[i], Mc[i]), ZERO3)

    for i, j in tree.inward():
        Mc[j] += B[i].T @ Mc[i] @ B[i]
        K[j] += _carried(K[i] + _of_rate(Mc[i], apart[i]), B[i])
        moving = tuple(zip(p[i].columns, p_rate[i], strict=True))
        force = Forces(tuple(Mc[i] @ r + K[i] @ t.angular for t, r in moving))
        drive = zip(p[i].columns, i.gyration_matrix(q[i], qd[i]), strict=True)
        C[i, i] = tuple(tuple(f.dot(t) + g for f, g in zip(force.columns, row, strict=True)) for t, row in drive)
        column = tree.register(B[i].T @ force)
        for k, _ in tree.ancestors(i):
            C[k, i] = tuple(tuple(f.dot(t) for f in column.value.columns) for t in p[k].columns)
            column.value = B[k].T @ column.value
        row = tree.register(tuple(Row(Mc[i] @ t, K[i].back(t)).carried(B[i], apart[i]) for t, _ in moving))
        for k, _ in tree.ancestors(i):
            moves = tuple(zip(p[k].columns, p_rate[k], strict=True))
            C[i, k] = tuple(tuple(x.along(t, r) for t, r in moves) for x in row.value)
            row.value = tuple(x.carried(B[k], apart[k]) for x in row.value)
    return C


def _of_rate(Mc: Inertia, apart: Vector3) -> AngularMatrix:
    """Return Mc B', for a body whose mass centre moves away from its parent's at this velocity."""
    return AngularMatrix(matmul(skew(Mc.h), skew(negative(apart))), scale(-Mc.m, apart))


def _carried(K: AngularMatrix, B: Chain) -> AngularMatrix:
    """Return B^T K B, at the parent."""
    for X in reversed(B.factors):
        u = X.rotation.back(K.u)
        K = AngularMatrix(X.rotation.back_matrix(K.A), u) + AngularMatrix(matmul(skew(X.r), skew(u)), ZERO3)
    return K


@dataclass(frozen=True, slots=True)
class Row:
    """A row of C on its way to the base: p_i^T Mc_i B_ij, and the first half of p_i^T (Mc_i B'_ij + K_i)."""

    force: Force
    moment: Vector3

    def along(self, p: Motion, p_rate: Motion) -> Scalar:
        """Return the entry for a column of p_j."""
        return self.force.dot(p_rate) + dot(self.moment, p.angular)

    def carried(self, B: Chain, apart: Vector3) -> Row:
        """Return the same at the parent, from which the body's mass centre moves away at this velocity."""
        turning = Force(add(self.moment, cross(apart, self.force.linear)), ZERO3)
        return Row(B.T @ self.force, (B.T @ turning).angular)
