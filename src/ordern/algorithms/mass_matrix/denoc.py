"""The mass matrix by Saha's composite masses: spatial vectors about mass centres.

B_ij takes a twist of body j to body i as if all joints between were rigid; p_i are the twists of joint i. Both are
about the mass centres C_i, C_j.

    inward    Mc_p += B_ip^T Mc_i B_ip,     Mc_i = diag(I_i, m_i 1) at first                     (23b)
              i_ii = p_i^T Mc_i p_i + armature_i
              i_ij = p_i^T Mc_i B_ij p_j    for each ancestor j of i                             (24)

All other blocks are zero. p_i^T Mc_i is taken inward by B_ij = B_ik B_kj, (14), step by step. Cost: order n d, where d
is the depth of the tree.

Reference: Saha 1999, eqs. (13), (15), (23), (24).
Differs: each body's vectors are in its own axes. The composite mass Mc_i is about C_i, the mass centre of body i, not
that of the composite.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ...spatial import Inertia, plus_diagonal
from ..inverse_dynamics.denoc import Point, about_centre, between_centres, mass_centre
from ..registry import algorithm

__all__ = ["denoc"]


@algorithm("mass_matrix", "denoc", paper="Saha 1999", equations="(23), (24)", order="n d")
def denoc(tree: Tree, q: Joints) -> Output:
    """Return the mass matrix, Saha's generalized inertia matrix, for position q."""
    C, Mc = tree.field(Point), tree.field(Inertia)
    B, p = tree.own(), tree.own()
    GIM = tree.output("symmetric")

    for i, parent in tree.outward():
        C[i], Mc[i] = mass_centre(i.inertia)
        B[i] = between_centres(i.transform(q[i]), C[parent], C[i])
        p[i] = about_centre(C[i], i.subspace(q[i]))

    for i, parent in tree.inward():
        Mc[parent] += B[i].T @ Mc[i] @ B[i]
        momentum = p[i].under(Mc[i])
        GIM[i, i] = plus_diagonal(p[i].T @ momentum, i.armature)
        carried = tree.register(B[i].T @ momentum)
        for j, _ in tree.ancestors(i):
            GIM[i, j] = p[j].T @ carried.value
            carried.value = B[j].T @ carried.value
    return GIM
