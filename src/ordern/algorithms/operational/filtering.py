"""The factors of M^-1 and of J M^-1, one at a time, for the dynamics of arms that hold an object together.

With X = 1 - H psi K (the papers' I - H Psi L), M^-1 = X^T D^-1 X, and J = B^T phi^T H^T of a frame,

    innovations             e = X (x + J^T F) = x - H psi (K x - B F)
              inward        z_f = -B F,    e_i = x_i - S_i^T z_i,    z_p += X_i^T (z_i + G_i e_i)
    frame_of_innovations    J M^-1 x = B^T psi^T H^T D^-1 e
              outward, on the path to the frame:
                            a' = X_i a_p,    y_i = D_i^-1 e_i - G_i^T a',    a_i = a' + S_i y_i
    joints_of_innovations   M^-1 x = X^T D^-1 e
              outward       the same over the whole tree; y is the result

`innovations` filters joint forces x and a force F = (moment, force) on the frame, from the tips to the base, in one
sweep; the other two smooth them, back to the tips. Axes are the frame's own or the world's. Cost: order n.

Reference: Rodriguez and Kreutz 1988, Part II, eqs. (6.4), (6.5), (6.12), (6.15)-(6.17), with the factors that are lost
in print: (6.5a) has D^-1 H psi B f, and (6.18e) the transpose of its first factor.
Differs: they number links from the tip; trees; F is the force on the frame, theirs the force that the frame exerts.
"""

from __future__ import annotations

from functools import partial

from ...model import Base, Frame, Joints, Output, Tree
from ...spatial import Force, Motion
from ..factors.articulated import articulated
from ..field_types import cleared
from ..method_limits import no_filling_in
from ..registry import Port, algorithm, question
from .inertia import view

__all__ = ["frame_of_innovations", "innovations", "joints_of_innovations"]

_q, _e = Port("q", "q"), Port("e", "f")
_x, _force = Port("x", "f"), Port("force", "motion")
question("innovations", (_q, _x, _force), "f", "filter", options=("frame", "axes"), needs_inertia=True)
question("frame_of_innovations", (_q, _e), "motion", "smoother", options=("frame", "axes"), needs_inertia=True)
question("joints_of_innovations", (_q, _e), "v", "smoother", needs_inertia=True)


_factor = partial(algorithm, paper="Rodriguez-Kreutz 1988", refuses=no_filling_in)


@_factor("innovations", "filter", equations="Part II (6.4), (6.5), (6.15)-(6.17)")
def innovations(tree: Tree, q: Joints, x: Joints, force: Base, frame: Frame, axes: str) -> Output:
    """Return the innovations of joint forces and a force on a frame, from the tips: X (x + J^T F)."""
    f = tree.frame(frame)
    known = articulated(tree, q)
    z, e = cleared(tree, Force), tree.output("f")
    load = tree.field(Force)
    for i, _ in tree.path(f):
        load[i] = Force.of(force[i].scalars)
    z[f.body] = -(view(tree, q, f, axes).T @ load[f.body])
    for i, p in tree.inward():
        e[i] = known.innovation(i, p, x[i], z)
    return e


@_factor("frame_of_innovations", "smoother", equations="Part II (6.12), (6.13)")
def frame_of_innovations(tree: Tree, q: Joints, e: Joints, frame: Frame, axes: str) -> Motion:
    """Return the acceleration J M^-1 x of a frame by joint forces x, from their innovations e."""
    f = tree.frame(frame)
    known = articulated(tree, q)
    alpha = tree.field(Motion)
    for i, p in tree.path(f):
        alpha[i], _ = known.smoothed(i, known.D[i].solve(e[i]), alpha[p])
    return view(tree, q, f, axes) @ alpha[f.body]


@_factor("joints_of_innovations", "smoother", equations="Part II (6.4d)-(6.4f), (6.17)")
def joints_of_innovations(tree: Tree, q: Joints, e: Joints) -> Output:
    """Return the joint accelerations M^-1 x by joint forces x, from their innovations e."""
    known = articulated(tree, q)
    alpha, y = tree.field(Motion), tree.output("v")
    for i, p in tree.outward():
        alpha[i], y[i] = known.smoothed(i, known.D[i].solve(e[i]), alpha[p])
    return y
