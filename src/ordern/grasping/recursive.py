"""Forward dynamics of a grasp, arm by arm: free accelerations, contact forces, corrections.

    general (4.9)      1  free accelerations M th_f = T - C,  alpha_f = J th_f + Jdot th
                       2  Omega f = alpha_f + A M(C)^-1 b(C) - a(C)
                       3  corrections by contact forces, M Dth = -J^T f      4  th = th_f + Dth
    rccfd1 (6.11)      the same by recursions: X = 1 - H psi K,  th_f = X^T D^-1 X T',  Dth = -X^T D^-1 H psi B f
    rccfd2 (6.18)      f = Omega^-1 {B^T psi^T H^T D^-1 X T' - a'(C)},  th = X^T D^-1 {T' - H psi (K T' + B f)}
    rccfd3 (6.22)      th1 = X^T {D^-1 - D^-1 H psi B Omega^-1 B^T psi^T H^T D^-1} X T',
                       th2 = X^T D^-1 H psi B Omega^-1 a'(C),  th = th1 + th2
    rccfd-fd4          without T':  alpha_f(0) by the sweeps of FD4 (5.13)-(5.17), (4.23);  Omega f as in `general`;
                       th and alpha(0) by FD4 again, with f in its filter, z(1) = phi(1,0) f(0) + b(1), in one sweep

with T' = T - C and a'(C) = a(C) - A M(C)^-1 b(C) - Jdot th. All need J M^-1 J^T: `general` by forward dynamics of unit
forces, the others by the recursion (6.10). Cost: order n of all joints, and order l or l^3 by how Omega is solved.
For arms with closed loops, use `general`: their forward dynamics is that of the closed arm, and M^-1 becomes
M^-1 - M^-1 K^T (K M^-1 K^T)^+ K M^-1, with K the Jacobian of their loops.

Reference: Rodriguez and Kreutz 1988, Part II, eqs. (4.9), (6.10), (6.11), (6.18), (6.22), read with their errata: the
minus sign and the H in (6.11g), alpha(0) in (6.11j), the transpose in (6.18e), and all of (6.22d)-(6.22h). `rccfd-fd4`
is the variation of the remark after (6.22), which "relaxes the need for the a priori determination of the bias-free
moments T'" and finds "the tip acceleration in the same iteration which produces the joint accelerations"; its equations
are those of Part I.
Differs: contacts with free rotations constrain only the rows E, so that f = E lambda in Omega's equation; arms may have
several tips, whose forces are added.
"""

from __future__ import annotations

import numpy as np

from ..algorithms import methods as methods_of
from ..arguments import Array
from ..errors import ArgumentError
from ..kernel import Kernel
from ..loops.dynamics import METHODS as LOOP_METHODS
from ..model import Frame
from ..rotations import rotate
from .arms import Group
from .motion import GraspMotion, Inputs, motion_of
from .omega import Omega, Solved
from .products import symmetric, transposed
from .state import GraspState

__all__ = ["RECURSIVE", "by_arms", "compliance", "jacobians", "response"]

ANY_METHOD = "articulated-body"
"""The default forward dynamics of single arms that are trees."""


def compliance(state: GraspState) -> list[Array]:
    """Return J M^-1 J^T for each group, (..., m, 6 k, 6 k) in the world's axes, by the recursion (6.10) at every tip.

    In arms with loops, M^-1 is the inverse mass matrix of the closed arm, here and below.
    """
    found = []
    for g, q in state.positions:
        if g.looped:
            J = jacobians(g, q)
            found.append(symmetric(J @ transposed(_pushed(g, q, J))))
            continue
        k = len(g.tips)
        L = np.empty((*q.shape[:-1], k, 6, k, 6))
        for a, tip in enumerate(g.tips):
            L[..., a, :, a, :] = _turned(g, g.robot.operational_inertia_inverse(q, tip, axes="world"))
            if a:
                M = g.robot.frame_response(q, tip, axes="world")
                for b in range(a):
                    J = g.robot.jacobian(q, g.tips[b], axes="world")
                    L[..., b, :, a, :] = _turned(g, J @ M)
                    L[..., a, :, b, :] = np.swapaxes(L[..., b, :, a, :], -1, -2)
        found.append(L.reshape(*q.shape[:-1], 6 * k, 6 * k))
    return found


def response(g: Group, q: Array, forces: Array) -> Array:
    """Return M^-1 J^T F of a group, (..., m, nv), for forces (..., m, k, 6) on the tips, in the world's axes."""
    if not g.coupled:
        return _joints(g, q, _filtered(g, q, None, forces))
    if g.looped:
        return g.structure(q).solve(q, _at_joints(jacobians(g, q), forces), None, 0.0)
    total = np.zeros((*q.shape[:-1], g.robot.nv))
    for a, tip in enumerate(g.tips):
        total += (g.robot.frame_response(q, tip, axes="world") @ g.base(forces[..., a, :])[..., None])[..., 0]
    return total


def _at_joints(J: Array, forces: Array) -> Array:
    """Return J^T F, (..., m, nv), for forces (..., m, k, 6) on the tips."""
    flat = forces.reshape(*forces.shape[:-2], -1, 1)
    return np.asarray((transposed(J) @ flat)[..., 0])


def _pushed(g: Group, q: Array, x: Array, method: str | None = None) -> Array:
    """Return accelerations (..., m, k, nv) of arms at rest without gravity, due to joint forces of the same shape."""
    if g.looped:
        return g.structure(q).solve(q[..., None, :], x, None, 0.0)
    return g.weightless.forward_dynamics(q[..., None, :], np.zeros((1, g.robot.nv)), x, method=method)


def _arm_methods(state: GraspState, given: str | None) -> list[str | None]:
    """Return the method of each group: some methods are for arms with loops, others for trees."""
    groups = state.grasp.groups
    for_loops = given in LOOP_METHODS
    for_trees = not for_loops or any(m.name == given for m in methods_of("forward_dynamics"))
    looped = next((g for g in groups if g.looped), None)
    if not for_trees and looped is None:
        raise ArgumentError(f"grasp: arm_method {given!r} is for arms with closed loops, and no arm has one")
    if looped is not None and given is not None and not for_loops:
        raise ArgumentError(
            f"grasp: arm_method {given!r} is for trees, but arm {state.grasp.arms[looped.arms[0]].name!r}: "
            f"{looped.coupled}: use one of {', '.join(LOOP_METHODS)}, or no arm_method"
        )
    tree_method = given if given and for_trees else ANY_METHOD
    return [given if g.looped else tree_method for g in groups]


def general(given: Inputs) -> GraspMotion:
    """Take the four steps with any forward dynamics of the arms, also for unit forces on the tips."""
    state = given.state
    methods = _arm_methods(state, given.arm_method)
    free, J, L = [], [], []
    for (g, q, v, T), method in zip(given.groups, methods, strict=True):
        if g.looped:
            free.append(g.structure(q).acceleration(q, v, T, 0.0, method, None))
        else:
            free.append(g.robot.forward_dynamics(q, v, T, method=method))
        J.append(jacobians(g, q))
        L.append(symmetric(J[-1] @ transposed(_pushed(g, q, J[-1], method))))
    alpha = state.grasp._tip_accelerations(state.q, state.v, by_arms(state, free))
    solved, forces, on_tips = given.contact_forces(Omega(state, L, given.rcond), alpha)
    both = []
    for (g, q), method, own, F, th in zip(state.positions, methods, J, on_tips, free, strict=True):
        pull = -_at_joints(own, F)
        both.append(th + _pushed(g, q, pull[..., None, :], method)[..., 0, :])
    return motion_of(state, by_arms(state, both), solved, forces)


def rccfd1(given: Inputs) -> GraspMotion:
    """Compute free accelerations, contact forces and corrections by recursions."""
    state = given.state
    free = [_joints(g, q, _filtered(g, q, T, None)) for g, q, T in _bias_free(given)]  # (6.11a), (6.11b)
    alpha = state.grasp._tip_accelerations(state.q, state.v, by_arms(state, free))  # (6.11c)
    omega = Omega(state, compliance(state), given.rcond)  # (6.11d), (6.11e)
    solved, forces, on_tips = given.contact_forces(omega, alpha)  # (6.11f)
    all_three = zip(state.positions, on_tips, free, strict=True)
    both = [th - response(g, q, F) for (g, q), F, th in all_three]  # (6.11g), (6.11i)
    return motion_of(state, by_arms(state, both), solved, forces)  # (6.11h), (6.11j)


def rccfd2(given: Inputs) -> GraspMotion:
    """Compute contact forces from the innovations of joint forces, then filter both kinds of forces together."""
    state = given.state
    groups = _bias_free(given)  # (6.18a)
    tips = [_tips(g, q, _filtered(g, q, T, None)) for g, q, T in groups]
    omega = Omega(state, compliance(state), given.rcond)  # (6.18b), (6.18c)
    solved, forces, on_tips = given.contact_forces(omega, state.gathered(tips) + state.convective)  # (6.18d)
    both = zip(groups, on_tips, strict=True)
    found = [_joints(g, q, _filtered(g, q, T, -F)) for (g, q, T), F in both]  # (6.18e)
    return motion_of(state, by_arms(state, found), solved, forces)


def rccfd3(given: Inputs) -> GraspMotion:
    """Evaluate the closed form (3.6a) by sweeps: accelerations due to joint forces and to contacts, separately."""
    state = given.state
    innovations = [_filtered(g, q, T, None) for g, q, T in _bias_free(given)]  # (6.22a), X T'
    tips = [_tips(g, q, e) for (g, q), e in zip(state.positions, innovations, strict=True)]
    omega = Omega(state, compliance(state), given.rcond)  # (6.22b), (6.22c)
    one = given.solve(omega, state.rows(state.gathered(tips)), None)
    wanted = state.rows(state.bias - state.convective)  # a'(C), but for the object's bias (6.22d)
    two = given.solve(omega, wanted, state.object_bias(given.wrench))
    f1, f2 = state.forces(one.multipliers), state.forces(two.multipliers)
    found = []
    for (g, q), e in zip(state.positions, innovations, strict=True):
        th1 = _joints(g, q, e + _filtered(g, q, None, -f1[..., g.contacts, :]))  # (6.22f)
        th2 = _joints(g, q, _filtered(g, q, None, f2[..., g.contacts, :]))  # (6.22e)
        found.append(th1 + th2)
    solved = Solved(
        [x - y for x, y in zip(one.multipliers, two.multipliers, strict=True)],
        one.acceleration - two.acceleration,
        one.rank,
        np.maximum(one.residual, two.residual),
    )
    return motion_of(state, by_arms(state, found), solved, f1 - f2)


def rccfd_fd4(given: Inputs) -> GraspMotion:
    """Compute free tips, contact forces, and joints and tips under these forces, by FD4, without T'."""
    state = given.state
    _require_trees(state)
    tips = [_tip_accelerations(g, q, v, T) for g, q, v, T in given.groups]
    omega = Omega(state, compliance(state), given.rcond)
    solved, forces, on_tips = given.contact_forces(omega, state.gathered(tips))
    joints, tips = [], []
    for (g, q, v, T), F in zip(given.groups, on_tips, strict=True):
        pushed = (q, v, T, _on_bodies(g, q, -F))
        both = g.robot.kernel("joint_and_tip_accelerations", frame=g.tips[0], axes="world", present="external")(*pushed)
        first = both[..., g.robot.nv :]
        joints.append(both[..., : g.robot.nv])
        at = {tip: _tip(g, tip, "external")(*pushed) for tip in g.tips[1:]} | {g.tips[0]: first}
        tips.append(g.tipwise(at.__getitem__))
    return motion_of(state, by_arms(state, joints), solved, forces, state.gathered(tips))


RECURSIVE = {"general": general, "rccfd1": rccfd1, "rccfd2": rccfd2, "rccfd3": rccfd3, "rccfd-fd4": rccfd_fd4}


def _require_trees(state: GraspState) -> None:
    """Raise, with the name of an arm, if the recursions over joints do not apply to it."""
    for g in state.grasp.groups:
        if g.coupled:
            raise ArgumentError(
                "grasp: the recursions rccfd1, rccfd2, rccfd3 and rccfd-fd4 are not for arm "
                f"{state.grasp.arms[g.arms[0]].name!r}: {g.coupled}; use method='general'"
            )


def _bias_free(given: Inputs) -> list[tuple[Group, Array, Array]]:
    """Return each group, with the positions of its arms and T' = T - C, (6.1a)."""
    _require_trees(given.state)
    return [(g, q, T - g.robot.bias_force(q, v)) for g, q, v, T in given.groups]


def _turned(g: Group, L: Array) -> Array:
    """Take 6x6 matrices (..., m, 6, 6) from the base's axes to the world's."""
    return np.asarray(g.turn6 @ L @ transposed(g.turn6))


def jacobians(g: Group, q: Array) -> Array:
    """Return the Jacobians of all tips, (..., m, 6 k, nv), in the world's axes."""
    return np.concatenate([g.turn6 @ g.robot.jacobian(q, tip, axes="world") for tip in g.tips], axis=-2)


def _filtered(g: Group, q: Array, x: Array | None, forces: Array | None) -> Array:
    """Return X (x + J^T F): filter joint forces x and forces F (..., m, k, 6) on the tips."""
    total = np.zeros((*q.shape[:-1], g.robot.nv))
    for a, tip in enumerate(g.tips if forces is not None else g.tips[:1]):
        joints = np.zeros(g.robot.nv) if x is None or a else x
        F = np.zeros(6) if forces is None else g.base(forces[..., a, :])
        total += g.robot.kernel("innovations", frame=tip, axes="world")(q, joints, F)
    return total


def _joints(g: Group, q: Array, e: Array) -> Array:
    """Return X^T D^-1 e."""
    return np.asarray(g.robot.kernel("joints_of_innovations")(q, e))


def _tips(g: Group, q: Array, e: Array) -> Array:
    """Return B^T psi^T H^T D^-1 e of all tips, (..., m, k, 6)."""
    return g.tipwise(lambda tip: g.robot.kernel("frame_of_innovations", frame=tip, axes="world")(q, e))


def _tip(g: Group, tip: Frame, *present: str) -> Kernel:
    """Return the kernel of a tip's acceleration due to joint forces, in the axes of the arm's base."""
    return g.robot.kernel("tip_acceleration", frame=tip, axes="world", present=present)


def _tip_accelerations(g: Group, q: Array, v: Array, T: Array) -> Array:
    """Return alpha_f(0) of all tips, (..., m, k, 6), by (4.23)."""
    return g.tipwise(lambda tip: _tip(g, tip)(q, v, T))


def _on_bodies(g: Group, q: Array, forces: Array) -> Array:
    """Convert forces (..., m, k, 6) on the tips, in world axes, to forces on bodies, in body axes, (..., m, n, 6)."""
    found = np.zeros((*q.shape[:-1], len(g.robot.bodies), 6))
    for a, tip in enumerate(g.tips):
        to_tip = np.swapaxes(g.robot.pose(q, tip)[..., :3, :3], -1, -2)
        F = rotate(tip.placement.R @ to_tip, g.base(forces[..., a, :]))
        found[..., tip.body, :] += F
        found[..., tip.body, :3] += np.cross(tip.placement.p, F[..., 3:])
    return found


def by_arms(state: GraspState, parts: list[Array]) -> tuple[Array, ...]:
    """Split arrays of groups, (..., m, n) each, into arrays of arms."""
    found: list[Array] = [np.empty(0)] * len(state.grasp.arms)
    for g, part in zip(state.grasp.groups, parts, strict=True):
        for m, k in enumerate(g.arms):
            found[k] = part[..., m, :]
    return tuple(found)
