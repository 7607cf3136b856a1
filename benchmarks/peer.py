"""Pinocchio on the same robot and the same states.

Ours: a free joint has q = (quaternion w x y z, position), v = (angular, linear); a continuous joint has its angle.
Pinocchio: position first, quaternion x y z w, v = (linear, angular); a continuous joint has (cos, sin).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

import ordern as on

try:
    import pinocchio as pin
except ImportError:  # there is none for Windows
    pin = None

Array = np.ndarray
FUNCTIONS = {"forward_dynamics": "aba", "inverse_dynamics": "rnea", "mass_matrix": "crba"}


class Peer:
    """A robot of ours as a model of Pinocchio's, with working memory for one thread."""

    def __init__(self, robot: on.Robot, model: Any) -> None:
        self.robot, self.model = robot, model
        self.pool = pin.ModelPool(model, 1)
        self.data = self.pool.getData(0)  # a second one would need gigabytes for long chains
        self.converter = on.convert(robot, model)
        assert len(robot.joints) == model.njoints - 1 and robot.nv == model.nv

    @classmethod
    def of_urdf(cls, robot: on.Robot, text: str, floating: bool) -> Peer:
        """Build the model from the URDF text of our robot."""
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        return cls(robot, pin.buildModelFromXML(text, *root))

    @classmethod
    def of_robot(cls, robot: on.Robot) -> Peer:
        """Joint by joint; revolute joints must turn about z, which is what Pinocchio is fastest at."""
        types = {on.Revolute: pin.JointModelRZ, on.Spherical: pin.JointModelSpherical}
        model = pin.Model()
        model.gravity.linear = np.array(robot.gravity)
        for c, b in zip(robot.joints, robot.bodies, strict=True):
            at = pin.SE3(c.placement.R, c.placement.p)
            k = model.addJoint(c.parent + 1, types[type(c.type)](), at, c.name)
            model.appendBodyToJoint(k, pin.Inertia(b.mass, np.array(b.com), b.inertia_matrix), pin.SE3.Identity())
        return cls(robot, model)

    def positions(self, q: Array) -> Array:
        """Return our positions (..., nq) as Pinocchio's."""
        return self.converter.to_peer(q)

    @cached_property
    def order(self) -> Array:
        """Return, for each of our velocities, its index in Pinocchio's."""
        numbers = np.arange(self.robot.nv, dtype=float)
        return np.argsort(self.converter.to_peer(self.robot.neutral(), numbers)[1])

    def velocities(self, v: Array) -> Array:
        """Return our velocities, accelerations or joint forces (..., nv) as Pinocchio's."""
        out = np.empty(v.shape)
        out[..., self.order] = v
        return out

    def convert(self, state: tuple[Array, ...]) -> tuple[Array, ...]:
        """Return the arguments of a question, positions first, as Pinocchio's."""
        q, *rest = state
        return (self.positions(q), *map(self.velocities, rest))

    def batch(self, question: str, state: tuple[Array, ...]) -> tuple[Callable[[], object], Array]:
        """Return a call that runs in C++ alone, one thread, and the array (N, nv), in our order, that it has filled."""
        function = getattr(pin, f"{FUNCTIONS[question]}InParallel")
        arguments = [a.T for a in self.convert(state)]  # one state per column
        out = np.empty_like(arguments[1])
        pool = self.pool
        function(1, pool, *arguments, out)
        return lambda: function(1, pool, *arguments, out), out.T[:, self.order]

    def call(self, question: str, state: tuple[Array, ...]) -> tuple[str, dict[str, Any]]:
        """Return the statement that computes one state per call from Python, and the values of its names."""
        arguments = {f"x{k}": a for k, a in enumerate(self.convert(state))}
        statement = f"pin.{FUNCTIONS[question]}(model, data, {', '.join(arguments)})"
        return statement, {"pin": pin, "model": self.model, "data": self.data, **arguments}

    def mass_matrix(self, q: Array) -> Array:
        """Return the answer for one of our states, in our order."""
        M = pin.crba(self.model, self.data, self.positions(q))
        return M[np.ix_(self.order, self.order)]
