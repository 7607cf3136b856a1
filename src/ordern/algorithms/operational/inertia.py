"""The inertia at a frame: the operational inertia (J M^-1 J^T)^-1, and its inverse.

    inward    P_i, D_i, G_i as in `articulated`, over the whole tree
    outward, on the path to the frame:
              Y' = X_i Y_p X_i^T
              Y_i = (1 - S_i G_i^T) Y' (1 - G_i S_i^T) + S_i D_i^-1 S_i^T
    at the frame, X_f Y X_f^T = J M^-1 J^T, which is 6 x 6

The matrix J M^-1 J^T always exists: it is the acceleration of the frame for a unit force on it, the rest let go. Its
inverse, by a factorisation of the 6 x 6 matrix, exists where the frame can move in all six ways. Elsewhere - fewer
than six freedoms between base and frame, or a singular position - its diagonal is not a number (see `regular`);
`movable` has the inverse among the motions that are left. The armature of drives counts; mimic joints are bound.
Cost: order n.

Reference: Rodriguez and Kreutz 1988, Part II, eqs. (6.8)-(6.10), where Y is Lambda and S^T their H.
Differs: they number links from the tip; trees.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from ...errors import ArgumentError
from ...model import Frame, Joints, PlacedFrame, Tree
from ...spatial import Chain, Transform, Turn
from ...spatial.linear import ZERO3, dot
from ..binding import Binding, follower_binding
from ..factors.articulated import Articulated, articulated
from ..factors.linear import Rows
from ..kinematics.velocity import axes_of
from ..mobility import Mobility
from ..registry import algorithm
from .regular import regular_inverse

__all__ = ["AtFrame", "at_frame", "innovations_method", "operational_inertia", "operational_inertia_inverse", "view"]

innovations_method = partial(algorithm, name="innovations", paper="Rodriguez-Kreutz 1988", regroup=True)
"""Declare a function as the method "innovations" of a question about a frame."""


class AtFrame(NamedTuple):
    """A frame's compliance J M^-1 J^T, and its parts. W is J M^-1 B, for mimic joints."""

    compliance: Rows
    X: Chain
    """The transform from the frame's body to the frame, in the chosen axes."""
    W: Rows
    binding: Binding | None


def view(tree: Tree, q: Joints, frame: PlacedFrame, axes: str) -> Chain:
    """Return the transform from a frame's body to the frame, in the chosen axes."""
    if axes == "origin":
        raise ArgumentError(
            'operational answers are about the frame\'s origin: axes must be "frame" or "world", not "origin"'
        )
    turn = () if axes == "frame" else (Transform(Turn(axes_of(tree, q, frame, axes).rotation), ZERO3),)
    return Chain((frame.placement, *turn))


def at_frame(tree: Tree, q: Joints, known: Articulated, frame: PlacedFrame, axes: str) -> AtFrame:
    """Return the compliance of a frame, given the articulated inertias."""
    X, S, G, D = known.gains
    Y = tree.field(Mobility)
    for i, p in tree.path(frame):
        Y[i] = Y[p].carried(X[i]).through(S[i], G[i], D[i])
    bound = follower_binding(tree, known.gains) if tree.couplings else None
    a = bound.responses(tree.path(frame))[1] if bound else None
    Xf = view(tree, q, frame, axes)
    Yf = Y[frame.body].carried(Xf).rows()
    if bound is None or a is None:
        return AtFrame(Yf, Xf, (), None)
    W = tuple(zip(*((Xf @ motion).scalars for motion in a[frame.body].columns), strict=True))
    LW = [bound.solve(row) for row in W]
    half = {(r, c): Yf[r][c] - dot(W[r], LW[c]) for c in range(6) for r in range(c + 1)}
    bent = tuple(tuple(half[min(r, c), max(r, c)] for c in range(6)) for r in range(6))
    return AtFrame(bent, Xf, W, bound)


@innovations_method("operational_inertia_inverse", equations="Part II (6.8)-(6.10)")
def operational_inertia_inverse(tree: Tree, q: Joints, frame: Frame, axes: str) -> Rows:
    """Return J M^-1 J^T of a frame, in its own axes or the world's."""
    return at_frame(tree, q, articulated(tree, q), tree.frame(frame), axes).compliance


@innovations_method("operational_inertia", equations="Part II (6.8)-(6.10)")
def operational_inertia(tree: Tree, q: Joints, frame: Frame, axes: str) -> Rows:
    """Return (J M^-1 J^T)^-1 of a frame, in its own axes or the world's."""
    Y = at_frame(tree, q, articulated(tree, q), tree.frame(frame), axes).compliance
    Lambda, spoilt = regular_inverse(tree, frame, Y)
    return tuple(tuple(x + spoilt if r == c else x for c, x in enumerate(row)) for r, row in enumerate(Lambda))
