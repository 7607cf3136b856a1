"""The Delassus matrix J M^-1 J^T of several frames: their accelerations by unit forces on each of them.

With F_i the unit forces on the frames that body i carries, taken to the body,

    inward    C_i = S_i^T F_i,    F_p += X_i^T F_i

are the columns of J^T, and `binding` finds C^T M^-1 C in one more sweep. The diagonal blocks are those of
`operational_inertia_inverse`. With mimic joints, their columns B are bound in the same sweep, and the matrix is

    C^T M^-1 C - C^T M^-1 B (B^T M^-1 B)^-1 B^T M^-1 C

Points have the three directions of forces only. Cost: order n m^2 for m rows.

Reference: Rodriguez and Kreutz 1988, Part II, sec. 6, for one frame; Carpentier, Budhiraja and Mansard 2021 for the use
of the matrix in contacts.
"""

from __future__ import annotations

from functools import partial

from ...errors import ArgumentError
from ...model import Frame, Joints, Tree
from ...spatial import Chain, Factor, Force, Forces, Transform, Turn
from ...spatial.linear import ZERO3, dot
from ..binding import Binding, follower_columns
from ..factors.articulated import articulated
from ..factors.linear import Rows
from ..field_types import Loads, cleared
from ..kinematics.pose import path_poses
from ..registry import algorithm

__all__ = ["delassus_matrix", "point_delassus_matrix"]

_UNITS = tuple(Force.of(tuple(1.0 if r == c else 0.0 for c in range(6))) for r in range(6))
_method = partial(algorithm, name="innovations", equations="C^T M^-1 C", order="n m^2", regroup=True)


@_method("delassus_matrix")
def delassus_matrix(tree: Tree, q: Joints, frames: tuple[Frame, ...], axes: str) -> Rows:
    """Return J M^-1 J^T, with six rows (angular, linear) for each frame."""
    return _matrix(tree, q, frames, axes, _UNITS)


@_method("point_delassus_matrix")
def point_delassus_matrix(tree: Tree, q: Joints, frames: tuple[Frame, ...], axes: str) -> Rows:
    """Return J M^-1 J^T, with three rows for the origin of each frame."""
    return _matrix(tree, q, frames, axes, _UNITS[3:])


def _matrix(tree: Tree, q: Joints, frames: tuple[Frame, ...], axes: str, units: tuple[Force, ...]) -> Rows:
    if axes == "origin":
        raise ArgumentError('forces act at the frames: axes must be "frame" or "world", not "origin"')
    known, m = articulated(tree, q), len(units) * len(frames)
    P = path_poses(tree, q, None)
    F, C = cleared(tree, Loads(m)), tree.own()
    for k, f in enumerate(map(tree.frame, frames)):
        turn = () if axes == "frame" else (Transform(Turn(f.pose(P[f.body]).rotation), ZERO3),)
        before, after = k * len(units), (len(frames) - k - 1) * len(units)
        own = Chain((f.placement, *turn)).T @ Forces(units)
        F[f.body] += Forces(((Force.zero(),) * before) + own.columns + ((Force.zero(),) * after))
    for i, p in tree.inward():
        C[i] = tuple(known.S[i].T @ force for force in F[i].columns)
        F[p] += known.X[i].T @ F[i]
    bound = Binding.of(tree, known.gains, m + tree.couplings, lambda i: (*C[i], *follower_columns(i)))
    return _without_followers(bound.rows, m)


def _without_followers(L: Rows, m: int) -> Rows:
    """Return the first m rows and columns of a matrix, from which the others are eliminated."""
    if len(L) == m:
        return L
    factor = Factor.of(tuple(row[m:] for row in L[m:]))
    solved = [factor.solve(row[m:]) for row in L[:m]]
    half = {(r, c): L[r][c] - dot(L[r][m:], solved[c]) for r in range(m) for c in range(r + 1)}
    return tuple(tuple(half[max(r, c), min(r, c)] for c in range(m)) for r in range(m))
