"""Saha's U D U^T of the mass matrix: reverse Gaussian elimination, done on the bodies instead of on the matrix.

Eliminating freedoms from the last one to the first leaves of the mass matrix, at each step, the mass matrix of fewer
bodies with other inertias. So the elements of the factors come from a recursion over bodies:

    inward    psi^_k = M^_k p_k,    m^_k = p_k^T psi^_k + armature_k,    psi_k = psi^_k m^_k^-1           (47), (48)
              M^_kk = M^_k - psi^_k psi_k^T,    M^_i = M_i + sum over children k of B_ki^T M^_kk B_ki     (50)
    for each body k and each ancestor i:
              U_ik = alpha_ik = p_i^T psi_ik,    psi_ik = B_ki^T psi_k                                    (46), (48)
    U_kk = 1,    D_k = m^_k                                                                               (54), (55)

Everything is about the bodies' centres of mass: M_i = diag(I_i, m_i 1), p_i is the joint's motion as C_i sees it, and
B_ki takes a motion from C_i to C_k. Cost: order n d for U, order n for D.

Reference: Saha 1999, appendix B, eqs. (46)-(50) and (54), (55); misprinted there are M^_i in (49), which is the
composite M~_i, and the last product of (50), which is psi^_k psi_k^T.
Differs: each vector is in the axes of its body, not of an inertial frame. Trees, and joints with several freedoms, for
which m^ is a matrix. A body without mass has its frame's origin for a centre.
"""

from __future__ import annotations

from ...model import Field, Joints, Output, Tree
from ...spatial import ArticulatedInertia, Chain, Columns, Forces, eliminate
from ..inverse_dynamics.denoc import Point, about_centre, between_centres, mass_centre
from ..method_limits import no_filling_in
from ..registry import algorithm
from .innovations import factor, pivots

__all__ = ["udu_factor", "udu_pivots"]


def _eliminated(tree: Tree, q: Joints) -> tuple[Field[Chain], Field[Columns], Field[ArticulatedInertia], Field[Forces]]:
    """Return the transforms B and motions p of the mass centres, the inertias M^ and the columns psi."""
    C, M = tree.field(Point), tree.field(ArticulatedInertia)
    B, p, psi = tree.own(), tree.own(), tree.own()

    for i, parent in tree.outward():
        C[i], own = mass_centre(i.inertia)
        B[i] = between_centres(i.transform(q[i]), C[parent], C[i])
        p[i] = about_centre(C[i], i.subspace(q[i]))
        M[i] = own.articulated()

    for i, parent in tree.inward():
        psi[i], _, Mkk = eliminate(M[i], p[i], i.armature)
        M[parent] += B[i].T @ Mkk @ B[i]
    return B, p, M, psi


@algorithm(
    "mass_matrix_factor", "udu", paper="Saha 1999", equations="(46)-(50), (55)", order="n d", refuses=no_filling_in
)
def udu_factor(tree: Tree, q: Joints) -> Output:
    """Return the factor U for position q."""
    B, p, _, psi = _eliminated(tree, q)
    return factor(tree, B, p, psi)


@algorithm("mass_matrix_pivots", "udu", paper="Saha 1999", equations="(47), (50), (54)", refuses=no_filling_in)
def udu_pivots(tree: Tree, q: Joints) -> Output:
    """Return the block-diagonal matrix D for position q."""
    _, p, M, _ = _eliminated(tree, q)
    return pivots(tree, p, M)
