"""Forward dynamics with the decoupled natural orthogonal complement: I = U D U^T by recursion, at mass centres.

    outward    t_i   = B_ip t_p + p_i qd_i                              (12); its rate at qdd = 0:
               xi_i  = B_ip xi_p + B'_ip t_p + Om_i p_i qd_i            sec. 5.1, with gravity in xi_0, (32)
               gam_i = M_i xi_i + M'_i t_i - w_i                        (7), (8)
    inward     phi_i = tau_i - p_i^T gam_i,        gam_p += B_ip^T gam_i
               psi^_i = M^_i p_i,                  m^_i = p_i^T psi^_i,    psi_i = psi^_i / m^_i      (47), (48)
               M^_ii = M^_i - psi^_i psi_i^T,      M^_p += B_ip^T M^_ii B_ip                          (50)
               tau^_i = phi_i - p_i^T eta_i+,      tau~_i = tau^_i / m^_i                             (34)
               eta_i = psi_i tau^_i + eta_i+,      eta_p+ += B_ip^T eta_i                             (35)
    outward    mu_i- = B_ip mu_p,                  qdd_i = tau~_i - psi_i^T mu_i-                     (36)
               mu_i = p_i qdd_i + mu_i-                                                               (37)

I is the mass matrix, eliminated from the last body to the first; its entries of U, p_i^T psi_ik, (46), are not formed.
Twists, wrenches and inertias are about the mass centre C_i, where M_i = diag(I_i, m_i 1): B_ip carries them from C_p to
C_i, and p_i is the motion of C_i for unit joint rates. Cost: order n.

Reference: Saha 1999, sec. 5.2, eqs. (33)-(37), and appendix B, eqs. (47)-(50), with misprints put right: psi_{i+1} in
(35) is multiplied by tau^_{i+1}, and the product in (50) is psi^_k psi_k^T.
Differs: for trees, where sums run over children, and joints with several freedoms, where p_i has a column for each and
m^_i is a matrix. In the axes of each body instead of inertial ones, so that B_ip turns as well. With armature in m^_i.
Of t_i only the angular half w_i is needed, since B'_ip t_p = (0, w_p x (w_p x c) + w_p x u), where c leads from C_p to
C_i and u is the velocity that the joint gives C_i; joints whose p_i changes in body i, such as universal ones, have a
bias. A body without mass has its frame's origin for a centre. Mimic joints are bound by `binding`.
"""

from __future__ import annotations

from ...model import Base, Bodies, Joints, Output, Tree
from ...spatial import ArticulatedInertia, Chain, Force, Identity, Motion, Transform, eliminate
from ...spatial.linear import ZERO3, Vector3, negative, subtract
from ..binding import bind_followers, free_accelerations
from ..inverse_dynamics.denoc import Point, about_centre, mass_centre
from ..registry import algorithm
from ..velocities import base_motion

__all__ = ["denoc"]


@algorithm("forward_dynamics", "denoc", paper="Saha 1999", equations="sec. 5.2, (33)-(37); appendix B, (47)-(50)")
def denoc(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return joint accelerations by the recursive U D U^T decomposition of the mass matrix."""
    w, xi = base_motion(tree, v0, a0)
    C, gamma, eta, mu = tree.field(Point), tree.field(Force), tree.field(Force), tree.field(Motion)
    M = tree.field(ArticulatedInertia)
    B, P, psi, m, tau_ = (tree.own() for _ in range(5))
    qdd = free_accelerations(tree)

    for i, p in tree.outward():
        C[i], Mi = mass_centre(i.inertia)
        to_centre, from_centre = Transform(Identity(), C[i]), Transform(Identity(), negative(C[i]))
        B[i] = _between(C[p], i.transform(q[i]), C[i])
        P[i] = about_centre(C[i], i.subspace(q[i]))
        rate = P[i] @ qd[i]
        w[i] = B[i] @ w[p] + rate
        turning = w[i].coriolis(rate) + to_centre @ i.bias(q[i], qd[i])
        xi[i] = B[i] @ (xi[p] + B[i].centripetal(w[p])) + turning
        gamma[i] = Mi @ xi[i] + w[i].gyroscopic(Mi) - from_centre.T @ external[i]
        M[i], eta[i] = Mi.articulated(), Force.zero()

    for i, p in tree.inward():
        phi = tau[i] - P[i].T @ gamma[i] - i.gyration(q[i], qd[i])
        gamma[p] += B[i].T @ gamma[i]
        psi[i], m[i], Mii = eliminate(M[i], P[i], i.armature)
        M[p] += B[i].T @ Mii @ B[i]
        tau_hat = phi - P[i].T @ eta[i]
        tau_[i] = m[i].solve(tau_hat)
        eta[p] += B[i].T @ (psi[i] @ tau_hat + eta[i])

    for i, p in tree.outward():
        before = B[i] @ mu[p]
        qdd[i] = tau_[i] - psi[i].T @ before
        mu[i] = P[i] @ qdd[i] + before
    return bind_followers(tree, (B, P, psi, m), qdd)


def _between(start: Vector3, X: Chain, end: Vector3) -> Chain:
    """Return the transform between the mass centres of parent and body: a shift, then the rotations of X."""
    c = Chain((*X.factors, Transform(Identity(), end))).origin
    return Chain((Transform(Identity(), subtract(c, start)), *(Transform(x.rotation, ZERO3) for x in X.factors)))
