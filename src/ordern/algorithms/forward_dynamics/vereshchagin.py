"""Vereshchagin's forward dynamics: Gauss' principle of least constraint, by dynamic programming.

Of all accelerations that the joints allow, the true ones make least of

    Z = sum over bodies of 1/2 (a_i - I_i^-1 F_i)^T I_i (a_i - I_i^-1 F_i)
      + sum over joints of 1/2 qdd_i^T armature_i qdd_i - Q_i^T qdd_i,        a_i = A_i (a_p + r_i) + c_i + B_i qdd_i

where F_i is the external less the gyroscopic force, Q_i the joint forces and r_i, c_i accelerations by velocities
alone. Let Z_i(a_i) be the least that body i and all that it carries can come to, when the body's acceleration is a_i.
By Bellman's principle only the joint of a child stands between the two functions,

    Z_p(a_p) = own part of p + sum over children i of min over qdd_i of
               { Z_i(A_i (a_p + r_i) + c_i + B_i qdd_i) + 1/2 qdd_i^T armature_i qdd_i - Q_i^T qdd_i }

and all are quadratic: Z_i(a) = 1/2 a^T P_i a + R_i^T a + constant. With a' = A_i (a_p + r_i) + c_i, the least is at

    D_i qdd_i = u_i - B_i^T P_i a',        D_i = B_i^T P_i B_i + armature_i,        u_i = Q_i - B_i^T R_i

and is again a quadratic form, in which a' is then put in terms of a_p:

    inward    matrix  P_i - G_i B_i^T P_i,    vector  R_i + G_i u_i,    constant less by 1/2 u_i^T D_i^-1 u_i,
              G_i = P_i B_i D_i^-1
    outward   qdd_i = D_i^-1 u_i - G_i^T a',  a_i = a' + B_i qdd_i

A tree takes no more than adding the forms of the children. The constants have no part in the accelerations and are left
out. I^-1 F is only in the constants, too: bodies may have no mass. Cost: order n.

Reference: Vereshchagin 1974, as in Jain 1991, sec. 5 and table 1 (P, R, A, B, Q): P_i is the articulated inertia, and
R_i the force pA of `articulated_body`.
Differs: Jain has the principle and the symbols only; the stages are derived here. Vereshchagin has chains of joints
with one freedom. Mimic joints are bound at the end, by `binding`.
"""

from __future__ import annotations

from ...model import Answer, Base, Bodies, Field, Input, Joints, Output, Tree
from ...records import dataclass
from ...spatial import ArticulatedInertia, Chain, Factor, Force, Forces, Freedoms, Motion, Subspace, eliminate
from ..binding import bind_followers, free_accelerations
from ..registry import algorithm
from ..velocities import base_motion, velocities

__all__ = ["Form", "vereshchagin"]


@dataclass(frozen=True, slots=True)
class Form:
    """The function 1/2 a^T P a + R^T a of an acceleration a."""

    P: ArticulatedInertia
    R: Force

    @classmethod
    def zero(cls) -> Form:
        """Return the function that is zero."""
        return cls(ArticulatedInertia.zero(), Force.zero())

    def __add__(self, other: Form) -> Form:
        return Form(self.P + other.P, self.R + other.R)

    def ahead(self, c: Motion) -> Form:
        """Return the same as a function of x, where a = x + c."""
        return Form(self.P, self.R + self.P @ c)

    def before(self, A: Chain) -> Form:
        """Return the same as a function of x, where a = A x."""
        return Form(A.T @ self.P @ A, A.T @ self.R)

    def least(self, B: Subspace, Q: Freedoms, armature: Freedoms) -> tuple[Form, Forces, Factor, Freedoms]:
        """Minimise (this form at x + B y) + 1/2 y^T armature y - Q^T y over y: return the form in x, G, D and u.

        The minimum is at y = D^-1 u - G^T x.
        """
        G, D, P = eliminate(self.P, B, armature)
        u = Q - B.T @ self.R
        return Form(P, self.R + G @ u), G, D, u


@dataclass(frozen=True)
class Stages:
    """Results of the sweeps on each body: Z is the cost-to-go."""

    Z: Field[Form]
    A: Field[Chain]
    B: Field[Subspace]
    G: Field[Forces]
    D: Field[Factor]


@algorithm(
    "forward_dynamics", "vereshchagin", paper="Vereshchagin 1974, as in Jain 1991", equations="Jain sec. 5 and table 1"
)
def vereshchagin(tree: Tree, *inputs: Input) -> Output:
    """Return joint accelerations qdd for position q, velocity qd, joint forces tau and external forces."""
    qdd = free_accelerations(tree)
    k = sweeps(tree, qdd, *inputs)
    return bind_followers(tree, (k.A, k.B, k.G, k.D), qdd)


def sweeps(tree: Tree, qdd: Answer, q: Joints, qd: Joints, Q: Joints, external: Bodies, v0: Base, a0: Base) -> Stages:
    """Return the three sweeps, which fill in qdd."""
    w, a = base_motion(tree, v0, a0)
    Z = tree.field(Form)
    A, B, r, c, G, D, u = (tree.own() for _ in range(7))

    for i, p in tree.outward():
        A[i], B[i], w[i], r[i], c[i], gyroscopic = velocities(i, q[i], qd[i], w[p])
        Z[i] = Form(i.inertia.articulated(), gyroscopic - external[i])

    for i, p in tree.inward():
        least, G[i], D[i], u[i] = Z[i].least(B[i], Q[i] - i.gyration(q[i], qd[i]), i.armature)
        Z[p] += least.ahead(c[i]).before(A[i]).ahead(r[i])

    for i, p in tree.outward():
        a_ = A[i] @ (a[p] + r[i]) + c[i]
        qdd[i] = D[i].solve(u[i]) - G[i].T @ a_
        a[i] = a_ + B[i] @ qdd[i]
    return Stages(Z, A, B, G, D)
