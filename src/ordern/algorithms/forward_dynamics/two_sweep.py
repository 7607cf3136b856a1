"""Forward dynamics of Rodriguez and Kreutz in two sweeps: the filter runs before any velocity is known.

FD1 to FD4 begin with a sweep outward for the velocities, of which the filter's forces are made. The angular velocity w
of a link enters these forces as a polynomial of second degree. So the filter can carry, in place of a force z, its ten
coefficients:

    z_i(w_i) = c + sum of l_k w_k + sum of s_jk w_j w_k,        w_i = phi^T w_p + h th'_i

    inward    P, D, G;    z_i(w_i) = b_i(w_i) + what the children have added
              e_i(w_i)  = T_i - H z_i(w_i),     nu_i(w_i) = D_i^-1 e_i(w_i)                          (5.14), (5.16)
              y_i(w_i)  = z_i(w_i) + G_i e_i(w_i) + (1 - G_i H) P_i c_i(w_i)
              z_p(w_p) += phi y_i(phi^T w_p + h th'_i) + phi (1 - G_i H) P_i phi^T r_i(w_p)
    outward   w_i = phi^T w_p + h th'_i
              th''_i = nu_i(w_i) - L_i^T lambda_p - G_i^T a_i                                        (5.17)
              lambda_i = psi^T lambda_p + H^T nu_i(w_i) + (1 - G_i H)^T a_i

r_i and c_i are the two parts of a_i = phi^T r_i + c_i, centripetal and Coriolis: r_i is of second degree in w_p, c_i of
first degree in w_i, and b_i is of second degree in w_i. Inserting w_i = phi^T w_p + h th'_i turns the ten coefficients
and shifts them. The first loop of the code sets the terms of each link by itself. Nothing passes from link to link, so
it is not a sweep.

Cost: order n, with 557 multiplications and 590 additions for each further joint of a general arm, where FD4's three
sweeps take 204 and 224. The paper says that a method of two sweeps comes "at the expense of much greater algorithmic
complexity". In return the filter does not wait for velocities.

Reference: Rodriguez and Kreutz 1988, part I, the remark after (5.17), which gives no equations; these are FD4's,
(5.13)-(5.17), with polynomials for numbers. Symbols are in `rodriguez_kreutz`.
Differs: in body axes. lambda of the base is the acceleration that stands for gravity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...model import Answer, Base, Bodies, Index, Joints, Tree
from ...records import dataclass
from ...spatial import ArticulatedInertia, Chain, Force, Freedoms, Motion, Products, Spin, Subspace
from ...spatial.linear import IDENTITY3, ZERO3, Symmetric3, Vector3, add, cross, subtract
from ..inverse_dynamics.newton_euler_vector import turned_back
from ..velocities import base_motion, velocities
from .rodriguez_kreutz import Links, declare, riccati

__all__ = ["Quadratic", "sweeps"]

_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
_UNITS = tuple(Products(tuple(1.0 if k == n else 0.0 for k in range(6))) for n in range(6))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Quadratic:
    """A polynomial of second degree in an angular velocity, whose coefficients are forces, motions or numbers."""

    terms: tuple[Any, ...]
    """The coefficients of 1, x, y, z, xx, xy, xz, yy, yz, zz."""

    @classmethod
    def zero(cls) -> Quadratic:
        """Return the polynomial that is zero."""
        return cls((Force.zero(),) * 10)

    def __add__(self, other: Quadratic) -> Quadratic:
        return Quadratic(tuple(x + y for x, y in zip(self.terms, other.terms, strict=True)))

    def of(self, function: Callable[[Any], Any]) -> Quadratic:
        """Return a linear function of it: of every coefficient."""
        return Quadratic(tuple(map(function, self.terms)))

    def plus(self, constant: Any) -> Quadratic:
        """Return the same and a constant."""
        return Quadratic((self.terms[0] + constant, *self.terms[1:]))

    def at(self, w: Vector3) -> Any:
        """Return the value at an angular velocity."""
        total, *terms = self.terms
        for term, x in zip(terms, (*w, *Spin(w).products.values), strict=True):
            total = total + term * x
        return total

    def inserted(self, X: Chain, own: Vector3) -> Quadratic:
        """Return this polynomial of forces at X w + own, as a polynomial in the parent's angular velocity w."""
        shifted, square = list(self.terms[1:4]), self.terms[4:]
        for (j, k), two in zip(_PAIRS, square, strict=True):
            shifted[j] = shifted[j] + two * own[k]
            shifted[k] = shifted[k] + two * own[j]
        lines = [turned_back(X, line) for line in zip(*(f.scalars for f in shifted), strict=True)]
        squares = [_turned_square(X, square) for square in zip(*(f.scalars for f in square), strict=True)]
        turned = (Force.of(tuple(row)) for rows in (lines, squares) for row in zip(*rows, strict=True))
        return Quadratic((self.at(own), *turned))


def _turned_square(X: Chain, square: Any) -> Symmetric3:
    """Convert coefficients of products of X w to products of w; off the diagonal they are twice a matrix's."""
    xx, xy, xz, yy, yz, zz = square
    A: Symmetric3 = (xx, 0.5 * xy, 0.5 * xz, yy, 0.5 * yz, zz)
    for factor in reversed(X.factors):
        A = factor.rotation.back_symmetric(A)
    return (A[0], A[1] + A[1], A[2] + A[2], A[3], A[4] + A[4], A[5])


def gyroscopic(i: Index, external: Force) -> Quadratic:
    """Return b_i, less the external force, in the link's own angular velocity."""
    return Quadratic((-external, *(Force.zero(),) * 3, *(one.gyroscopic(i.inertia) for one in _UNITS)))


def centripetal(X: Chain) -> Quadratic:
    """Return r_i, in the parent's angular velocity."""
    return Quadratic((*(Motion.zero(),) * 4, *(Motion(ZERO3, one.centripetal(X.origin)) for one in _UNITS)))


def coriolis(i: Index, q: Freedoms, qd: Freedoms, vJ: Motion) -> Quadratic:
    """Return c_i, in the link's own angular velocity."""
    wJ, uJ = vJ.angular, vJ.linear
    constant = Motion(ZERO3, subtract(ZERO3, cross(wJ, uJ))) + i.bias(q, qd)
    line = (Motion(cross(e, wJ), add(cross(e, uJ), cross(e, uJ))) for e in IDENTITY3)
    return Quadratic((constant, *line, *(Motion.zero(),) * 6))


def _against(S: Subspace) -> Callable[[Force], Freedoms]:
    return lambda f: -(S.T @ f)


def sweeps(tree: Tree, qdd: Answer, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Links:
    """Sweep twice, and fill in qdd."""
    w, lam = base_motion(tree, v0, a0)
    P, z = tree.field(ArticulatedInertia), tree.field(Quadratic)
    X, S, G, D, nu = (tree.own() for _ in range(5))

    for i, _ in tree.outward():
        P[i], z[i] = i.inertia.articulated(), gyroscopic(i, external[i])

    for i, p in tree.inward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        vJ = S[i] @ qd[i]
        G[i], D[i], through = riccati(i, p, P, X[i], S[i])
        e = z[i].of(_against(S[i])).plus(tau[i] - i.gyration(q[i], qd[i]))
        nu[i] = e.of(D[i].solve)
        y = z[i] + e.of(G[i].__matmul__) + coriolis(i, q[i], qd[i], vJ).of(through.__matmul__)
        moved = X[i].T @ through @ X[i]
        z[p] += y.inserted(X[i], vJ.angular).of(X[i].T.__matmul__) + centripetal(X[i]).of(moved.__matmul__)

    for i, p in tree.outward():
        _, _, w[i], r, c, _ = velocities(i, q[i], qd[i], w[p])
        a_ = X[i] @ (lam[p] + r) + c
        qdd[i] = nu[i].at(w[i].w) - G[i].T @ a_
        lam[i] = a_ + S[i] @ qdd[i]
    return Links(X, S, P, G, D, z, nu, w, lam)


declare(
    "two-sweep",
    sweeps,
    forward_dynamics="two sweeps: remark after (5.17)",
    link_accelerations="two sweeps: remark after (5.17)",
    tip_acceleration="two sweeps: remark after (5.17), (4.23)",
)
