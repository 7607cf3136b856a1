"""The Coriolis matrix of Christoffel's symbols, by Saha's recursion with one term changed.

    M'_i = diag(w_i x I_i - (1/2) tr(I_i) w_i x, 0)      instead of (8),  M'_i = diag(w_i x I_i, 0)

and all else as in `saha`, (23)-(29). The change is skew-symmetric and gives no force along w_i itself, so that C v
remains the same and dM/dt - 2 C remains skew-symmetric; and with it C is the matrix with

    c_ij = sum over k of (1/2) (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) v_k

if velocities are the rates of coordinates, as for revolute, prismatic, helical, cylindrical and universal joints and
composites of them. The velocities of spherical, free and planar joints and of a rolling disc are not rates of
coordinates. C is then defined by the recursion: C v is the force, and dM/dt - 2 C is skew-symmetric, with dM/dt along
the motion. Cost: order n d, where d is the depth of the tree.

Reference: Saha 1999, eqs. (8), (23)-(29).
Differs: the term in tr(I) is not in the paper. Saha's own matrix is this one plus the sum over bodies of
(1/2) tr(I_k) Jw_k^T (w_k x) Jw_k, where Jw_k is the angular half of the body's Jacobian.
"""

from __future__ import annotations

from ...model import Joints, Output, Tree
from ...spatial import Inertia
from ...spatial.linear import Matrix3, Vector3, matmul, skew
from ..registry import algorithm
from .saha import convective_matrix

__all__ = ["christoffel"]


@algorithm(
    "coriolis_matrix",
    "christoffel",
    paper="Saha 1999, with one term changed",
    equations="(8) with w x I - (1/2) tr(I) w x; (23), (25)-(29)",
    order="n d",
)
def christoffel(tree: Tree, q: Joints, qd: Joints) -> Output:
    """Return the matrix C for position q and velocity qd."""
    return convective_matrix(tree, q, qd, _mass_rate)


def _mass_rate(w: Vector3, inertia: Inertia) -> Matrix3:
    xx, xy, xz, yy, yz, zz = inertia.I
    half = 0.5 * (xx + yy + zz)
    return matmul(skew(w), ((xx - half, xy, xz), (xy, yy - half, yz), (xz, yz, zz - half)))
