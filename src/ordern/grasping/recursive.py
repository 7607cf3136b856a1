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

from collections.abc import Callable
from typing import Any

import numpy as np

from ..algorithms import methods as methods_of
from ..arguments import Array
from ..errors import ArgumentError
from ..loops.dynamics import METHODS as LOOP_METHODS
from ..model import Frame
from ..rotations import rotate
from .arms import Group
from .motion import GraspMotion, motion_of
from .omega import Omega, Solved
from .state import GraspState

__all__ = [
    "RECURSIVE",
    "by_arms",
    "compliance",
    "general",
    "jacobians",
    "rccfd1",
    "rccfd2",
    "rccfd3",
    "rccfd_fd4",
    "response",
]

Solve = Callable[[Omega, list[Array], Array | None], Solved]

ANY_METHOD = "articulated-body"
"""The default forward dynamics of single arms that are trees."""


def compliance(state: GraspState) -> list[Array]:
    """Return J M^-1 J^T for each group, (..., m, 6 k, 6 k) in the world's axes, by the recursion (6.10) at every tip.

    In arms with loops, M^-1 is the inverse mass matrix of the closed arm, here and below.
    """
    found = []
    for g in state.grasp.groups:
        q = state.stacked(state.q, g)
        if g.looped:
            J = jacobians(g, q)
            found.append(_symmetric(J @ np.swapaxes(_pushed(g, q, J), -1, -2)))
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


def response(state: GraspState, g: Group, forces: Array) -> Array:
    """Return M^-1 J^T F of a group, (..., m, nv), for forces (..., m, k, 6) on the tips, in the world's axes."""
    q = state.stacked(state.q, g)
    if not g.coupled:
        return _joints(g, q, _filtered(g, q, None, forces))
    if g.looped:
        pull = (np.swapaxes(jacobians(g, q), -1, -2) @ forces.reshape(*forces.shape[:-2], -1, 1))[..., 0]
        return g.structure(q).solve(q, pull, None, 0.0)
    total = np.zeros((*q.shape[:-1], g.robot.nv))
    for a, tip in enumerate(g.tips):
        total += (g.robot.frame_response(q, tip, axes="world") @ g.base(forces[..., a, :])[..., None])[..., 0]
    return total


def _pushed(g: Group, q: Array, x: Array, method: str | None = None) -> Array:
    """Return accelerations (..., m, k, nv) of arms at rest without gravity, due to joint forces of the same shape."""
    if g.looped:
        return g.structure(q).solve(q[..., None, :], x, None, 0.0)
    return g.weightless.forward_dynamics(q[..., None, :], np.zeros((1, g.robot.nv)), x, method=method)


def _symmetric(x: Array) -> Array:
    return (x + np.swapaxes(x, -1, -2)) / 2.0


def _arm_methods(state: GraspState, given: str | None) -> list[str | None]:
    """Return the method of each group: some methods are for arms with loops, others for trees."""
    for_loops = given in LOOP_METHODS
    for_both = for_loops and any(m.name == given for m in methods_of("forward_dynamics"))
    if for_loops and not for_both and not any(g.looped for g in state.grasp.groups):
        raise ArgumentError(f"grasp: arm_method {given!r} is for arms with closed loops, and none of the arms has one")
    found: list[str | None] = []
    for g in state.grasp.groups:
        if g.looped and given is not None and not for_loops:
            name = state.grasp.arms[g.arms[0]].name
            raise ArgumentError(
                f"grasp: arm_method {given!r} is for trees, but arm {name!r} has closed loops or couplings of its own "
                f"({', '.join(list(g.robot.loop_rows)[:5])}): use one of {', '.join(LOOP_METHODS)}, or none"
            )
        usual = not given or (for_loops and not for_both)
        found.append((given if for_loops else None) if g.looped else ANY_METHOD if usual else given)
    return found


def general(
    state: GraspState, tau: tuple[Array, ...], wrench: Array | None, solve: Solve, arm_method: str | None, rcond: float
) -> GraspMotion:
    """Take the four steps with any forward dynamics of the arms, also for unit forces on the tips."""
    still = []
    free = []
    methods = _arm_methods(state, arm_method)
    for g, method in zip(state.grasp.groups, methods, strict=True):
        q, v, T = (state.stacked(x, g) for x in (state.q, state.v, tau))
        if g.looped:
            free.append(g.structure(q).acceleration(q, v, T, 0.0, method, None))
        else:
            free.append(g.robot.forward_dynamics(q, v, T, method=method))
        J = jacobians(g, q)
        still.append((J, _pushed(g, q, J, method)))  # forces on the tips, as joint forces: rows
    L = [_symmetric(J @ np.swapaxes(moved, -1, -2)) for J, moved in still]
    alpha = state.grasp._tip_accelerations(state.q, state.v, by_arms(state, free))
    solved = solve(Omega(state, L, rcond), state.rows(alpha - state.bias), -state.object_bias(wrench))
    forces = state.forces(solved.multipliers)
    both = []
    for g, method, (J, _), th in zip(state.grasp.groups, methods, still, free, strict=True):
        f = forces[..., g.contacts, :]
        pull = -(np.swapaxes(J, -1, -2) @ f.reshape(*f.shape[:-2], -1, 1))[..., 0]
        q = state.stacked(state.q, g)
        both.append(th + _pushed(g, q, pull[..., None, :], method)[..., 0, :])
    return motion_of(state, by_arms(state, both), solved, forces)


def rccfd1(
    state: GraspState, tau: tuple[Array, ...], wrench: Array | None, solve: Solve, arm_method: str | None, rcond: float
) -> GraspMotion:
    """Compute free accelerations, contact forces and corrections by recursions."""
    free = []
    for g in _simple(state):
        q, T = state.stacked(state.q, g), _bias_free(state, tau, g)
        free.append(_joints(g, q, _filtered(g, q, T, None)))  # (6.11a), (6.11b)
    alpha = state.grasp._tip_accelerations(state.q, state.v, by_arms(state, free))  # (6.11c)
    omega = Omega(state, compliance(state), rcond)  # (6.11d), (6.11e)
    solved = solve(omega, state.rows(alpha - state.bias), -state.object_bias(wrench))  # (6.11f)
    forces = state.forces(solved.multipliers)
    both = []
    for g, th in zip(state.grasp.groups, free, strict=True):
        both.append(th - response(state, g, forces[..., g.contacts, :]))  # (6.11g), (6.11i)
    return motion_of(state, by_arms(state, both), solved, forces)  # (6.11h), (6.11j)


def rccfd2(
    state: GraspState, tau: tuple[Array, ...], wrench: Array | None, solve: Solve, arm_method: str | None, rcond: float
) -> GraspMotion:
    """Compute contact forces from the innovations of joint forces, then filter both kinds of forces together."""
    given, tips = [], []
    for g in _simple(state):
        q, T = state.stacked(state.q, g), _bias_free(state, tau, g)  # (6.18a)
        given.append((q, T))
        tips.append(_tips(g, q, _filtered(g, q, T, None)))
    omega = Omega(state, compliance(state), rcond)  # (6.18b), (6.18c)
    alpha = state.gathered(tips) + _convective(state)
    solved = solve(omega, state.rows(alpha - state.bias), -state.object_bias(wrench))  # (6.18d)
    forces = state.forces(solved.multipliers)
    found = []
    for g, (q, T) in zip(state.grasp.groups, given, strict=True):
        found.append(_joints(g, q, _filtered(g, q, T, -forces[..., g.contacts, :])))  # (6.18e)
    return motion_of(state, by_arms(state, found), solved, forces)


def rccfd3(
    state: GraspState, tau: tuple[Array, ...], wrench: Array | None, solve: Solve, arm_method: str | None, rcond: float
) -> GraspMotion:
    """Evaluate the closed form (3.6a) by sweeps: accelerations due to joint forces and to contacts, separately."""
    given, tips = [], []
    for g in _simple(state):
        q = state.stacked(state.q, g)
        e = _filtered(g, q, _bias_free(state, tau, g), None)  # (6.22a), X T'
        given.append((q, e))
        tips.append(_tips(g, q, e))
    omega = Omega(state, compliance(state), rcond)  # (6.22b), (6.22c)
    one = solve(omega, state.rows(state.gathered(tips)), None)
    wanted = state.rows(state.bias - _convective(state))  # a'(C), but for the object's bias (6.22d)
    two = solve(omega, wanted, state.object_bias(wrench))
    f1, f2 = state.forces(one.multipliers), state.forces(two.multipliers)
    found = []
    for g, (q, e) in zip(state.grasp.groups, given, strict=True):
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


def rccfd_fd4(
    state: GraspState, tau: tuple[Array, ...], wrench: Array | None, solve: Solve, arm_method: str | None, rcond: float
) -> GraspMotion:
    """Compute free tips, contact forces, and joints and tips under these forces, by FD4, without T'."""
    given, tips = [], []
    for g in _simple(state):
        q, v, T = (state.stacked(x, g) for x in (state.q, state.v, tau))
        given.append((q, v, T))
        tips.append(_free_tips(g, q, v, T))
    omega = Omega(state, compliance(state), rcond)
    solved = solve(omega, state.rows(state.gathered(tips) - state.bias), -state.object_bias(wrench))
    forces = state.forces(solved.multipliers)
    joints, tips = [], []
    for g, (q, v, T) in zip(state.grasp.groups, given, strict=True):
        pushed = (q, v, T, _on_bodies(g, q, -forces[..., g.contacts, :]))
        both = g.robot.kernel("joint_and_tip_accelerations", frame=g.tips[0], axes="world", present="external")(*pushed)
        first = both[..., g.robot.nv :]
        joints.append(both[..., : g.robot.nv])
        at = {tip: _tip(g, tip, "external")(*pushed) for tip in g.tips[1:]} | {g.tips[0]: first}
        tips.append(g.tipwise(at.__getitem__))
    return motion_of(state, by_arms(state, joints), solved, forces, state.gathered(tips))


RECURSIVE = {"general": general, "rccfd1": rccfd1, "rccfd2": rccfd2, "rccfd3": rccfd3, "rccfd-fd4": rccfd_fd4}


def _simple(state: GraspState) -> tuple[Group, ...]:
    """Return the groups; raise if the recursions over joints do not apply to one."""
    for g in state.grasp.groups:
        if g.coupled:
            name = state.grasp.arms[g.arms[0]].name
            raise ArgumentError(
                f"grasp: the recursions rccfd1, rccfd2, rccfd3 and rccfd-fd4 are not for arm {name!r}: {g.coupled}; "
                "use method='general'"
            )
    return state.grasp.groups


def _turned(g: Group, L: Array) -> Array:
    """Take 6x6 matrices (..., m, 6, 6) from the base's axes to the world's."""
    return np.asarray(g.turn6 @ L @ np.swapaxes(g.turn6, -1, -2))


def jacobians(g: Group, q: Array) -> Array:
    """Return the Jacobians of all tips, (..., m, 6 k, nv), in the world's axes."""
    return np.concatenate([g.turn6 @ g.robot.jacobian(q, tip, axes="world") for tip in g.tips], axis=-2)


def _bias_free(state: GraspState, tau: tuple[Array, ...], g: Group) -> Array:
    """Return T' = T - C, (6.1a)."""
    q, v, T = (state.stacked(x, g) for x in (state.q, state.v, tau))
    return T - g.robot.bias_force(q, v)


def _filtered(g: Group, q: Array, x: Array | None, forces: Array | None) -> Array:
    """Return X (x + J^T F): filter joint forces x and forces F (..., m, k, 6) on the tips."""
    zero = np.zeros(g.robot.nv)
    e: Array | None = None
    for a, tip in enumerate(g.tips):
        if a and forces is None:
            break
        given = zero if x is None or a else x
        F = np.zeros(6) if forces is None else g.base(forces[..., a, :])
        new = g.robot.kernel("innovations", frame=tip, axes="world")(q, given, F)
        e = new if e is None else e + new
    assert e is not None
    return e


def _joints(g: Group, q: Array, e: Array) -> Array:
    """Return X^T D^-1 e."""
    return np.asarray(g.robot.kernel("joints_of_innovations")(q, e))


def _tips(g: Group, q: Array, e: Array) -> Array:
    """Return B^T psi^T H^T D^-1 e of all tips, (..., m, k, 6)."""
    return g.tipwise(lambda tip: g.robot.kernel("frame_of_innovations", frame=tip, axes="world")(q, e))


def _tip(g: Group, tip: Frame, *present: str) -> Any:
    """Return the kernel of a tip's acceleration due to joint forces, in the axes of the arm's base."""
    return g.robot.kernel("tip_acceleration", frame=tip, axes="world", present=present)


def _free_tips(g: Group, q: Array, v: Array, T: Array) -> Array:
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


def _convective(state: GraspState) -> Array:
    """Return Jdot th of all tips, (..., l, 6)."""
    zeros = tuple(np.zeros_like(v) for v in state.v)
    return state.grasp._tip_accelerations(state.q, state.v, zeros)


def by_arms(state: GraspState, parts: list[Array]) -> tuple[Array, ...]:
    """Split arrays of groups, (..., m, n) each, into arrays of arms."""
    found: list[Array] = [np.empty(0)] * len(state.grasp.arms)
    for g, part in zip(state.grasp.groups, parts, strict=True):
        for m, k in enumerate(g.arms):
            found[k] = part[..., m, :]
    return tuple(found)
