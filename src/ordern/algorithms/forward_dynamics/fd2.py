"""Forward dynamics FD2 of Rodriguez and Kreutz: bias moments first, then the accelerations of links and joints.

    alpha = psi^T H^T D^-1 (1 - H Psi L) T' + phi^T a,    T' = T - H phi [M phi^T a + b]      (5.5), (5.6)

    outward   V, a, b;    zeta_i = phi^T zeta_p + a_i
    inward    f_i = M zeta_i + b_i + sum of phi f of the children,    T'_i = T_i - H f_i;     P, D, G
    inward    e_i = T'_i - H z_i,    nu_i = D_i^-1 e_i,    z_p += phi (z_i + G_i e_i)          (4.19), (4.20)
    outward   th''_i = nu_i - L_i^T lambda_p,              lambda_i = psi^T lambda_p + H^T nu_i
              alpha_i = lambda_i + zeta_i                                                      (4.21b), (4.22b)

It is FD1 with the links' accelerations. Straight-line code for the joint accelerations alone leaves these out, and
equals FD1's. Cost: order n.

Reference: Rodriguez and Kreutz 1988, part I, eqs. (5.4)-(5.7), (4.19), (4.20), (4.21b)-(4.23); symbols in
`rodriguez_kreutz`. The identity (1 - H Psi L) H phi = H psi (5.4) leads from (4.18) to (5.6).
Differs: in body axes. The paper makes zeta once more in the last sweep; here it is kept from the first. alpha includes
gravity as an acceleration of the base, as in the paper, and `link_accelerations` subtracts it.
"""

from __future__ import annotations

from ...model import Answer, Input, Tree
from ...spatial import Motion
from .fd1 import sweeps as fd1
from .rodriguez_kreutz import Links, declare

__all__ = ["sweeps"]


def sweeps(tree: Tree, qdd: Answer, *inputs: Input) -> Links:
    """Sweep as FD1 does, with the links' accelerations in the last sweep, and fill in qdd."""
    return fd1(tree, qdd, *inputs, alpha=tree.field(Motion))


declare(
    "fd2",
    sweeps,
    forward_dynamics="FD2: (5.5), (5.6) as (4.4)-(4.7), (4.19), (4.20), (4.21b), (4.22b)",
    link_accelerations="FD2: (5.5), (5.6)",
    tip_acceleration="FD2: (5.5)-(5.7), (4.23)",
    joint_and_tip_accelerations="FD2: (4.21b), (4.22b), (5.5)-(5.7), (4.23)",
)
