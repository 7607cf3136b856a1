"""Shared parts of the forward dynamics of Rodriguez and Kreutz, fd1 to fd4.

Their operators, for link i with parent p, in the link's own axes:

    phi^T(p, i) = X_i,    H^T = S_i,    phi(p, i) = X_i^T,    L_i = phi(p, i) G_i,    psi(p, i) = phi(p, i) - L_i H_i

The velocities, and the accelerations and forces that they cause (2.19), (2.23), (2.25):

    V_i = phi^T V_p + H^T th'_i,    a_i = acceleration,    b_i = force on link i, by velocities alone

The inertias P of articulated links, the gains G and the innovations' weights D (4.4)-(4.6), (5.12), tips first:

    D_i = H P_i H^T + armature,     G_i = P_i H^T D_i^-1,     P_p += phi (P_i - G_i H P_i) phi^T,     P_i begins as M_i

A filter of the joint moments (4.19), (4.20), tips first, and a smoother of its residuals (4.22), base first:

    e_i = T_i - H z_i,    nu_i = D_i^-1 e_i,    z_p += psi z_i + L_i T_i = phi (z_i + G_i e_i)
    th''_i = nu_i - L_i^T lambda_p,             lambda_i = psi^T lambda_p + H^T nu_i = phi^T lambda_p + H^T th''_i

Each of the four algorithms is its own sequence of these. They have the joint accelerations in common. The accelerations
of the links are another question, `link_accelerations`, and the acceleration of a point on a link, the tip, is a third,
`tip_acceleration`. It needs no further sweep: `joint_and_tip_accelerations` has both in one answer.

    alpha(0) = phi^T(1, 0) alpha(1) + a(0),    a(0) = (0; w x (w x l)),    l from the link's origin to the tip    (4.23)

A mobile base (their appendix B) is a first link with a free joint: H^T = 1. They take the rates of its velocity in an
inertial frame, and then a is zero there. The free joint's are rates in the link's own axes, so that a is (0, w x v),
and comes out as for any other joint.

Reference: Rodriguez and Kreutz 1988, part I, sec. 2 to 5 and appendix B.
Differs: they number links from the tip; all their vectors are in the axes of one inertial frame, whose phi only moves
the point. Their tip force f(0) is minus an external force, of which every link may have one, and is in b_i here. They
put gravity into a (3.21); here it is the base's acceleration, which is the same for all that follows. The armature is
not in the paper: identities with D = H P H^T do not hold with it, but the four methods do not need them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...model import Field, Frame, Index, Input, Joints, Output, Tree
from ...records import dataclass
from ...spatial import ArticulatedInertia, Chain, Factor, Force, Forces, Freedoms, Motion, Spin, Subspace, eliminate
from ..binding import bind_followers, free_accelerations
from ..method_limits import no_couplings
from ..operational.inertia import view
from ..registry import algorithm, find_question, question

__all__ = ["Links", "declare", "riccati", "smoothed"]

_INPUTS = find_question("forward_dynamics").inputs
question("link_accelerations", _INPUTS, "wrenches", "fd4", needs_inertia=True)
question("tip_acceleration", _INPUTS, "motion", "fd4", options=("frame", "axes"), needs_inertia=True)
question("joint_and_tip_accelerations", _INPUTS, "v_motion", "fd4", options=("frame", "axes"), needs_inertia=True)


@dataclass(frozen=True)
class Links:
    """Results of the sweeps on each link.

    alpha is its acceleration, and zeta its acceleration without joint accelerations, both with gravity.
    """

    X: Field[Chain]
    S: Field[Subspace]
    P: Field[ArticulatedInertia]
    G: Field[Forces]
    D: Field[Factor]
    z: Field[Any]
    nu: Field[Any]
    w: Field[Spin]
    alpha: Any = None
    zeta: Any = None


Sweeps = Callable[..., Links]
"""The sweeps of a method: sweeps(tree, qdd, *inputs) fills in qdd."""


def riccati(
    i: Index, p: Index, P: Field[ArticulatedInertia], X: Chain, S: Subspace
) -> tuple[Forces, Factor, ArticulatedInertia]:
    """Step from P_i to P_p: return the gain G_i, D_i, and (1 - G H) P, the part that passes through the joint."""
    G, D, through = eliminate(P[i], S, i.armature)
    P[p] += X.T @ through @ X
    return G, D, through


def smoothed(X: Chain, S: Subspace, G: Forces, nu: Freedoms, lam: Motion) -> tuple[Freedoms, Motion]:
    """Return a step of the smoother (4.22): th''_i and lambda_i of the parent's lambda."""
    moved = X @ lam
    qdd = nu - G.T @ moved
    return qdd, moved + S @ qdd


def joint_accelerations(sweeps: Sweeps, tree: Tree, *inputs: Input) -> Output:
    """Return the joint accelerations that sweeps(tree, qdd, *inputs) fills in."""
    qdd = free_accelerations(tree)
    k = sweeps(tree, qdd, *inputs)
    return bind_followers(tree, (k.X, k.S, k.G, k.D), qdd)


def link_accelerations(sweeps: Sweeps, tree: Tree, *inputs: Input) -> Output:
    """Return the links' accelerations alpha, in each link's axes, at its origin, without gravity."""
    k = sweeps(tree, tree.own(), *inputs)
    g = tree.field(Motion, base=tree.base_acceleration)
    out = tree.output("wrenches")
    for i, p in tree.outward():
        g[i] = k.X[i] @ g[p]
        true = k.alpha[i] - g[i]
        out[i] = Force(true.angular, true.linear)
    return out


def tip_acceleration(sweeps: Sweeps, tree: Tree, q: Joints, *inputs: Input, frame: Frame, axes: str) -> Motion:
    """Return the acceleration alpha(0) of a frame (4.23), in its own axes or the world's, without gravity."""
    return _at_tip(tree, sweeps(tree, tree.own(), q, *inputs), q, frame, axes)


def joint_and_tip_accelerations(
    sweeps: Sweeps, tree: Tree, q: Joints, *inputs: Input, frame: Frame, axes: str
) -> tuple[Output, Motion]:
    """Return the joint accelerations and the acceleration of a frame, by the same sweeps."""
    qdd = tree.output("v")
    return qdd, _at_tip(tree, sweeps(tree, qdd, q, *inputs), q, frame, axes)


def _at_tip(tree: Tree, k: Links, q: Joints, frame: Frame, axes: str) -> Motion:
    f = tree.frame(frame)
    g = tree.field(Motion, base=tree.base_acceleration)
    for i, p in tree.path(f):
        g[i] = k.X[i] @ g[p]
    X = view(tree, q, f, axes)
    true: Motion = k.alpha[f.body] - g[f.body]
    return X @ (true + f.placement.centripetal(k.w[f.body]))


_ANSWERS: dict[str, Callable[..., Any]] = {
    "forward_dynamics": joint_accelerations,
    "link_accelerations": link_accelerations,
    "tip_acceleration": tip_acceleration,
    "joint_and_tip_accelerations": joint_and_tip_accelerations,
}


def declare(name: str, sweeps: Sweeps, **equations: str) -> None:
    """Declare a method of several questions by its sweeps; `equations` has the equations of each question."""
    for asked, text in equations.items():
        refuses = None if asked == "forward_dynamics" else no_couplings
        declared = algorithm(asked, name, paper="Rodriguez-Kreutz 1988", equations=text, refuses=refuses)
        declared(_method(_ANSWERS[asked], sweeps))


def _method(answer: Callable[..., Any], sweeps: Sweeps) -> Callable[..., Any]:
    def method(tree: Tree, *inputs: Any, **options: Any) -> Any:
        return answer(sweeps, tree, *inputs, **options)

    return method
