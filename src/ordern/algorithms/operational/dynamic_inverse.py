"""The response of joints to forces at a frame, M^-1 J^T, and the dynamically consistent inverse of its Jacobian.

The columns of M^-1 J^T are the joint accelerations that unit forces on the frame cause. The columns of the inverse,
M^-1 J^T Lambda with Lambda = (J M^-1 J^T)^-1, give the frame a unit acceleration with the least effort: the forces
Lambda cause them. In both cases forces F act on the frame and are carried to the joints:

    outward   Y at the frame as in `inertia`,    F = 1 or Y^-1
    inward, on the path from the frame:
              p_f = F,    p_p = X_i^T (1 - G_i S_i^T) p_i                       p = psi B F
    outward, over the whole tree:
              a' = X_i a_p,    out_i = D_i^-1 S_i^T p_i - G_i^T a',    a_i = a' + S_i out_i

All of p, a and out have six columns. Where Lambda does not exist, the first column of the result is not a number.
Mimic joints are bound by forces -L^-1 W^T F (see `binding`), which are known at the frame. Cost: order n.

Reference: Rodriguez and Kreutz 1988, Part II, eqs. (6.4), (6.5), (6.10): M^-1 J^T = (1 - H psi K)^* D^-1 H psi B.
Differs: they number links from the tip; trees. The minus sign of (6.5) is that of their force, which the frame exerts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...model import Frame, Joints, Output, Tree
from ...spatial import Columns, Force, Forces, Freedoms
from ...spatial.linear import dot
from ..factors.articulated import articulated
from ..factors.linear import transposed
from ..field_types import Loads, Motions, Numbers, cleared
from .inertia import at_frame, innovations_method
from .regular import regular_inverse

__all__ = ["dynamic_inverse", "frame_response"]

_UNITS = tuple(tuple(1.0 if r == c else 0.0 for c in range(6)) for r in range(6))


@innovations_method("frame_response", equations="Part II (6.4), (6.5)")
def frame_response(tree: Tree, q: Joints, frame: Frame, axes: str) -> Output:
    """Return M^-1 J^T of a frame, for forces in its own axes or the world's."""
    return _carried(tree, q, frame, axes, lambda compliance: (_UNITS, None))


@innovations_method("dynamic_inverse", equations="Part II (6.4), (6.5), (6.10)")
def dynamic_inverse(tree: Tree, q: Joints, frame: Frame, axes: str) -> Output:
    """Return M^-1 J^T (J M^-1 J^T)^-1 of a frame, in its own axes or the world's."""
    return _carried(tree, q, frame, axes, lambda compliance: regular_inverse(tree, frame, compliance))


def _carried(tree: Tree, q: Joints, frame: Frame, axes: str, forces: Callable[[Any], Any]) -> Output:
    """Return the joint accelerations of forces on a frame; the forces may depend on its compliance."""
    f, m = tree.frame(frame), tree.couplings
    known = articulated(tree, q)
    X, S, _, G, D = known
    p, a = cleared(tree, Loads(6)), tree.field(Motions(6))
    binding = tree.field(Numbers(6 * m))  # the force on each mimic joint, for each column
    doubt = tree.field(Numbers(1))  # 0 if the forces exist, and not a number otherwise
    out = tree.output("spans")

    found = at_frame(tree, q, known, f, axes)
    F, spoilt = forces(found.compliance)
    if spoilt is not None:
        doubt[tree.base] = Freedoms((spoilt,))
    if found.binding:
        pulled = [[dot([row[k] for row in found.W], column) for k in range(m)] for column in F]
        binding[tree.base] = Freedoms(-x for e in pulled for x in found.binding.solve(e))
    p[f.body] = Forces(tuple(found.X.T @ Force.of(column) for column in F))

    for i, parent in tree.path_inward(f):
        p[parent] = X[i].T @ Forces(tuple(force - G[i] @ (S[i].T @ force) for force in p[i].columns))

    for i, parent in tree.outward():
        loads = [S[i].T @ force for force in p[i].columns]
        if found.binding:
            binding[i] = binding[parent]
            for column in range(6):
                for k, b in enumerate(found.binding.w[i]):
                    loads[column] = loads[column] + b * binding[i][m * column + k]
        a_ = [X[i] @ motion for motion in a[parent].columns]
        y = [D[i].solve(load) - G[i].T @ motion for load, motion in zip(loads, a_, strict=True)]
        a[i] = Columns(tuple(motion + S[i] @ x for motion, x in zip(a_, y, strict=True)))
        if spoilt is not None:
            doubt[i] = doubt[parent]
            y[0] = Freedoms(number + doubt[i][0] for number in y[0])
        if not i.kind.follows:
            out[i] = transposed(tuple(y), len(i.armature))
    return out
