"""Derivatives of the dynamics of a grasp, by the state of arms and object, joint forces, and the wrench on the object.

Arms and object are one robot whose contacts are loops: a contact forbids some velocities of the object relative to the
tip, in axes that are fixed to the object. So `ordern.loops.derivatives` differentiates accelerations and multipliers,
and only axes are left: those of the robot's free joint are the object's own, those of a grasp are the world's. With R
the object's rotation, x a tangent of its pose with the rotation x_w, and alpha its acceleration,

    velocity in its axes  R^T V:      change  R^T dV + (R^T V) x x_w            so for the wrench
    alpha = R (a + (0, w x u)):       change  R (da + d(0, w x u)) + (R x_w) x alpha
    f     = (axes of the contact) E lambda:   change  (axes) E dlambda + (R x_w) x f
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import Array, names_of
from ..errors import ArgumentError, unknown_name
from ..joints import Closure
from ..model import BASE, Loop
from ..records import dataclass
from ..robot import Robot
from ..rotations import skew
from .as_one_robot import moved, to_whole
from .products import transposed
from .state import GraspState

if TYPE_CHECKING:
    from ..joints import Placement
    from ..spatial import Motion
    from .contacts import Contact
    from .mechanism import Grasp

__all__ = ["GraspDerivatives", "GraspRates", "HeldTogether", "closed_robot"]

_ARGUMENTS = ("q", "v", "tau", "pose", "velocity", "wrench")


@dataclass(frozen=True)
class HeldTogether(Closure):
    """A contact as the closure of a loop: it forbids velocities of the object relative to the tip."""

    bound: tuple[tuple[float, ...], ...]
    """E^T: for each row six numbers (angular, linear) in the contact's axes on the object."""

    def closure(self, R: Any, p: Any) -> tuple[Any, ...]:
        """Return no residuals: positions follow from velocities that are kept."""
        return ()

    def slip(self, R: Any, p: Any, V: Motion) -> tuple[Any, ...]:
        """Return the forbidden velocities."""
        along = (*V.angular, *V.linear)
        return tuple(sum((c * x for c, x in zip(row, along, strict=True) if c), 0.0) for row in self.bound)


def closed_robot(grasp: Grasp) -> Robot:
    """Return arms and object as one robot, closed by the contacts."""
    whole, loops, first = grasp.robot, [], 0
    for arm in grasp.arms:
        for tip, contact in zip(arm.tips, grasp.contacts[arm.contacts], strict=True):
            if contact.bound.shape[1]:
                held = HeldTogether(tuple(tuple(row) for row in contact.bound.T.tolist()))
                child = (
                    (BASE, grasp.stands @ contact.at) if grasp.object is None else (len(whole.bodies) - 1, contact.at)
                )
                loops.append(Loop(contact.name, held, *moved(arm, first, tip.body, tip.placement), *child))
        first += len(arm.robot.bodies)
    return Robot.of(replace(whole, loops=(*loops, *whole.loops)))


def _place(grasp: Grasp, contact: Contact) -> tuple[int, Placement]:
    """Return the body of a contact's frame on the object, and its placement there."""
    if grasp.object is None:
        return BASE, grasp.stands @ contact.at
    return len(grasp.robot.bodies) - 1, contact.at


class GraspRates(NamedTuple):
    """Changes of the answers of a grasp, or derivatives of them: then with the dimension of the argument at the end."""

    accelerations: Array
    """(..., nv): of the joint accelerations, arm after arm."""
    object_acceleration: Array
    """(..., 6): of the object's acceleration, in the world's axes."""
    forces: Array
    """(..., l, 6): of the contact forces on the object, in the world's axes."""


class GraspDerivatives:
    """The dynamics of a grasp at states and forces, and their changes."""

    def __init__(self, state: GraspState, tau: Array, wrench: Array | None) -> None:
        """Prepare for a state, joint forces (..., nv) and a wrench (..., 6) of the same batch shape, or None."""
        self.state, self.grasp, self.given = state, state.grasp, wrench is not None
        grasp, robot = state.grasp, state.grasp.closed_robot
        self.robot, self.free = robot, grasp.object is not None
        q, v = to_whole(state)
        self.wrench = np.zeros((*state.shape, 6)) if wrench is None else wrench
        force = tau
        self.turn = np.zeros((*state.shape, 6, 6))
        """From the object's axes to the world's."""
        self.turn[..., :3, :3] = self.turn[..., 3:, 3:] = state.R
        if self.free:
            self.back = transposed(self.turn)
            force = np.concatenate([tau, (self.back @ self.wrench[..., None])[..., 0]], axis=-1)
        self.arguments = {"q": q, "v": v, "tau": force}
        motion = robot.closed_dynamics(q, v, force, check=False)
        self.alpha = np.zeros((*state.shape, 6))
        if self.free:
            a, own = motion.a[..., grasp.nv :], v[..., grasp.nv :]
            whole = a + np.concatenate([np.zeros_like(a[..., :3]), np.cross(own[..., :3], own[..., 3:])], axis=-1)
            self.alpha = (self.turn @ whole[..., None])[..., 0]
        self.E = self._contact_axes()
        self.f = (self.E @ motion.multipliers[..., : self.E.shape[-1], None])[..., 0]

    def _contact_axes(self) -> Array:
        """Return the matrix (..., 6 l, rows) from multipliers of contacts to all contact forces."""
        grasp, at = self.grasp, 0
        rows = [c.bound.shape[1] for c in grasp.contacts]
        E = np.zeros((*self.state.shape, 6 * len(rows), sum(rows)))
        for i, (c, n) in enumerate(zip(grasp.contacts, rows, strict=True)):
            R = self.state.axes[..., i, :, :]
            E[..., 6 * i : 6 * i + 3, at : at + n] = R @ c.bound[:3]
            E[..., 6 * i + 3 : 6 * i + 6, at : at + n] = R @ c.bound[3:]
            at += n
        return E

    # linear maps: from changes of the arguments to those of the whole robot, and from its answers to those of the grasp

    def _inward(self, name: str) -> dict[str, Array]:
        """Return the matrices from an argument's change to those of q, v and tau of the whole robot."""
        grasp, n = self.grasp, self.robot.nv
        arms, held = np.eye(n)[:, : grasp.nv], np.eye(n)[:, grasp.nv :]
        if name in ("q", "v", "tau"):
            return {name: np.broadcast_to(arms, (*self.state.shape, *arms.shape))}
        if name == "velocity":
            return {"v": held @ self.back}
        if name == "wrench":
            return {"tau": held @ self.back}
        velocity = (self.back @ self.state.velocity[..., None])[..., 0]
        wrench = (self.back @ self.wrench[..., None])[..., 0]
        return {
            "q": np.broadcast_to(held, (*self.state.shape, *held.shape)),
            "v": held @ _turned(velocity),
            "tau": held @ _turned(wrench),
        }

    def _outward(self) -> tuple[Array, Array, Array]:
        """Return matrices to all answers (nv + 6 + 6 l): from (da, dlambda), from dv, and from a turn in world axes."""
        grasp, n, shape = self.grasp, self.robot.nv, self.state.shape
        l, nv, rows = len(grasp.contacts), grasp.nv, self.E.shape[-1]
        size = nv + 6 + 6 * l
        answer, moving, turn = np.zeros((*shape, size, n + self.robot.nc)), np.zeros((*shape, size, n)), None
        answer[..., range(nv), range(nv)] = 1.0
        answer[..., nv + 6 :, n : n + rows] = self.E
        turn = np.zeros((*shape, size, 3))
        if self.free:
            answer[..., nv : nv + 6, nv:n] = self.turn
            own = self.arguments["v"][..., nv:]
            more = np.zeros((*shape, 6, 6))
            more[..., 3:, :3], more[..., 3:, 3:] = -skew(own[..., 3:]), skew(own[..., :3])
            moving[..., nv : nv + 6, nv:] = self.turn @ more
            vectors = np.concatenate([self.alpha, self.f], axis=-1).reshape(*shape, -1, 3)
            turn[..., nv:, :] = -skew(vectors).reshape(*shape, -1, 3)
        return answer, moving, turn

    # products and matrices

    def jvp(self, tangents: Mapping[str, Array]) -> GraspRates:
        """Return the changes of the answers along changes of arguments."""
        inward = {x: self._inward(x) for x in tangents}
        whole: dict[str, Array] = {}
        for x, maps in inward.items():
            for y, matrix in maps.items():
                part = (matrix @ np.asarray(tangents[x], float)[..., None])[..., 0]
                whole[y] = whole[y] + part if y in whole else part
        rate = self.robot.jvp("closed_dynamics", self.arguments, whole, check=False)
        answer, moving, turn = self._outward()
        total = answer @ rate[..., None]
        if "v" in whole:
            total = total + moving @ whole["v"][..., None]
        if "pose" in tangents:
            total = total + turn @ (self.turn[..., :3, :3] @ np.asarray(tangents["pose"], float)[..., :3, None])
        return self._split(total[..., 0])

    def matrices(self, names: Sequence[str]) -> Any:
        """Return the derivatives by arguments: a named tuple of `GraspRates`."""
        inward = {x: self._inward(x) for x in names}
        needed = sorted({y for maps in inward.values() for y in maps}, key=list(self.arguments).index)
        d = self.robot.derivatives.closed_dynamics(**self.arguments, wrt=needed, check=False)._asdict()
        answer, moving, turn = self._outward()
        found = {}
        for x, maps in inward.items():
            total = sum(answer @ d[y] @ matrix for y, matrix in maps.items())
            if "v" in maps:
                total = total + moving @ maps["v"]
            if x == "pose":
                total[..., :3] += turn @ self.turn[..., :3, :3]
            found[x] = self._split(total, 1)
        return _named("GraspDerivative", tuple(names))(**found)

    def vjp(self, weights: Array, names: Sequence[str]) -> Any:
        """Return the gradients of the sum of weights (..., nv + 6 + 6 l) times answers, by arguments."""
        answer, moving, turn = self._outward()
        w = weights[..., None]
        inward = {x: self._inward(x) for x in names}
        needed = sorted({y for maps in inward.values() for y in maps}, key=list(self.arguments).index)
        back = (transposed(answer) @ w)[..., 0]
        whole = self.robot.vjp("closed_dynamics", self.arguments, back, wrt=needed, check=False)._asdict()
        if "v" in whole:
            whole["v"] = whole["v"] + (transposed(moving) @ w)[..., 0]
        found = {}
        for x, maps in inward.items():
            total = sum((transposed(matrix) @ whole[y][..., None])[..., 0] for y, matrix in maps.items())
            if x == "pose":
                total[..., :3] += (transposed(turn @ self.turn[..., :3, :3]) @ w)[..., 0]
            found[x] = total
        return _named("GraspGradient", tuple(names))(**found)

    def varied(self, wrt: str | Sequence[str] | None) -> tuple[str, ...]:
        """Return the names of the arguments that vary: by default all of the state, the forces, and a given wrench."""
        possible = _ARGUMENTS if self.free else _ARGUMENTS[:3]
        usual = tuple(x for x in possible if x != "wrench" or self.given)
        names = usual if wrt is None else names_of(wrt, f"derivatives of {self.grasp.name!r}: `wrt`")
        for x in names:
            if x in _ARGUMENTS and x not in possible:
                raise ArgumentError(f"derivatives of {self.grasp.name!r}: its object does not move, so {x!r} is fixed")
            if x not in possible:
                raise unknown_name("argument in `wrt`", x, possible, self.grasp.name)
        return tuple(x for x in possible if x in names)

    def _split(self, x: Array, core: int = 0) -> GraspRates:
        """Return answers by name, from (..., nv + 6 + 6 l) or, with a core, (..., nv + 6 + 6 l, k)."""
        nv, l = self.grasp.nv, len(self.grasp.contacts)
        parts = np.split(x, (nv, nv + 6), axis=-1 - core)
        forces = parts[2].reshape(*self.state.shape, l, 6, *x.shape[x.ndim - core :])
        return GraspRates(parts[0], parts[1], forces)


def _turned(x: Array) -> Array:
    """Return the matrix (..., 6, 6) of the change of two vectors x (..., 6) in axes that turn: x x (rotation)."""
    out = np.zeros((*x.shape[:-1], 6, 6))
    out[..., :3, :3], out[..., 3:, :3] = skew(x[..., :3]), skew(x[..., 3:])
    return out


def _named(title: str, names: tuple[str, ...]) -> Any:
    return namedtuple(title, names)
