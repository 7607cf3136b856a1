"""Accelerations that keep loops closed and pull them back where they are open: for compiled loops over time.

As in `multipliers`, with Baumgarte's terms in the constraints,

    K a + k + 2 alpha dr/dt + alpha^2 r = 0

so that the residuals r of steps that are not exact die out with the time constant 1 / alpha. Constraints that depend on
others are left out. Nearly dependent constraints are not decided by a second test, as in `closed_dynamics`.

Reference: J. Baumgarte, Stabilization of constraints and integrals of motion in dynamical systems, 1972; Featherstone
and Orin 2000, sec. 3.4, eq. (21).
"""

from __future__ import annotations

from ...model import Joints, Number, Output, Tree
from ..configuration.passive import frictionless_force, passive_force
from ..configuration.step import by_freedom
from ..forward_dynamics.articulated_body import articulated_body
from ..registry import Port, algorithm, question
from .constraints import loop_bias, loop_rate, loop_residual
from .joints import loop_passive_force
from .multipliers import DROP, by_multipliers, constrained

__all__ = ["all_passive_force", "stabilised", "step_passive_force"]

_q, _v, _tau, _smoothing = Port("q", "q"), Port("v", "v"), Port("tau", "f"), Port("smoothing", "scalar")
question("stabilised_dynamics", (_q, _v, _tau), "v", "multipliers", options=("alpha",), needs_inertia=True, loops=True)
question("all_passive_force", (_q, _v, _smoothing), "f", "joint-by-joint", loops=True)
question("step_passive_force", (_q, _v, _smoothing), "f", "joint-by-joint", loops=True)


@by_multipliers("stabilised_dynamics", paper="Featherstone-Orin 2000, Baumgarte 1972")
def stabilised(tree: Tree, q: Joints, qd: Joints, tau: Joints, alpha: float) -> Output:
    """Return joint accelerations."""
    bodies, motion, t = (tree.zeros(kind) for kind in ("bodies", "motion", "scalar"))
    qdd0 = articulated_body(tree, q, qd, tau, bodies, motion, motion)
    r, rate, k = loop_residual(tree, q, t), loop_rate(tree, q, qd, t), loop_bias(tree, q, qd, t)
    c = [-(z + 2.0 * alpha * y + alpha * alpha * x) for x, y, z in zip(r, rate, k, strict=True)]
    qdd, _, _ = constrained(tree, q, qdd0, c, t, DROP)
    return qdd


@algorithm("all_passive_force", "joint-by-joint", paper="Featherstone-Orin 2000", equations="(19)", sweeps=False)
def all_passive_force(tree: Tree, q: Joints, qd: Joints, smoothing: Number) -> Output:
    """Return forces of dampers, friction and springs in the joints of the tree and in the joints that close loops."""
    tree_joints, loop_joints = (f(tree, q, qd, smoothing) for f in (passive_force, loop_passive_force))
    return by_freedom(tree, "f", lambda d: tree_joints[d] + loop_joints[d])


@algorithm("step_passive_force", "joint-by-joint", paper="Featherstone-Orin 2000", equations="(19)", sweeps=False)
def step_passive_force(tree: Tree, q: Joints, qd: Joints, smoothing: Number) -> Output:
    """Return the same but for dry friction of the tree's joints, for which steps with contacts solve."""
    own = frictionless_force(tree, q, qd)
    if not any(x.is_passive for x in tree.model.loops if x.active):
        return own
    loop_joints = loop_passive_force(tree, q, qd, smoothing)
    return by_freedom(tree, "f", lambda d: own[d] + loop_joints[d])
