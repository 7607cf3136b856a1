"""Pinocchio and ordern side by side on one robot, and answers to compare.

Ours: a free joint has q = (quaternion w x y z, position), v = (angular, linear); a continuous joint has its angle.
Pinocchio: position first, quaternion x y z w, v = (linear, angular); a continuous joint has (cos, sin).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pinocchio as pin

import ordern as on
from tests.robots import ROBOTS

Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """A robot of example-robot-data, on the ground or floating."""

    name: str
    file: str
    floating: bool = False
    way: str | None = None
    """How the suite runs its functions: loops compile faster than straight-line code for many joints."""
    ill_posed: bool = False
    """Whether the accelerations are hardly defined: bodies without inertia hang on joints that they lie on."""


CASES = [
    Case("panda", "panda_description/urdf/panda.urdf"),
    Case("ur5", "ur_description/urdf/ur5_robot.urdf"),
    Case("kinova", "kinova_description/robots/kinova.urdf", way="interpreted"),
    Case("xarm7", "xarm_description/urdf/xarm7.urdf", way="interpreted"),
    Case("allegro-hand", "allegro_hand_description/urdf/allegro_right_hand.urdf", way="interpreted"),
    Case("tiago", "tiago_description/robots/tiago.urdf", way="rolled"),
    Case("baxter", "baxter_description/urdf/baxter.urdf", way="interpreted"),
    Case("double-pendulum", "double_pendulum_description/urdf/double_pendulum_continuous.urdf"),
    Case("anymal-b", "anymal_b_simple_description/robots/anymal.urdf", floating=True),
    Case("solo12", "solo_description/robots/solo12.urdf", floating=True),
    Case("hyq", "hyq_description/robots/hyq_no_sensors.urdf", floating=True, way="interpreted"),
    Case("icub", "icub_description/robots/icub.urdf", floating=True, way="interpreted", ill_posed=True),
    Case("romeo", "romeo_description/urdf/romeo_small.urdf", floating=True, way="interpreted"),
    Case("talos", "talos_data/robots/talos_reduced.urdf", floating=True, way="rolled"),
    Case("talos-full", "talos_data/robots/talos_full_v2.urdf", floating=True, way="interpreted"),
    Case("iris", "iris_description/robots/iris_simple.urdf", floating=True, way="interpreted"),
]


@dataclass
class States:
    """Random positions, velocities, accelerations, forces: everything a question may need."""

    q: Array
    q1: Array
    v: Array
    a: Array
    tau: Array
    external: Array

    def __len__(self) -> int:
        return len(self.q)


@dataclass
class Pair:
    """One robot in both libraries."""

    case: Case
    snap: float | None = 0.0
    """As in `on.load`, or None for its default; at 0 both libraries have the very same placements."""
    way: str | None = None
    """How our functions run, as in `Robot.kernel`."""
    robot: on.Robot = field(init=False)
    model: Any = field(init=False)

    def __post_init__(self) -> None:
        path = ROBOTS / self.case.file
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", on.ModelWarning)  # what is not read
            snap = {} if self.snap is None else {"snap": self.snap}
            self.robot = on.load(path, floating=self.case.floating, **snap)
        root = (pin.JointModelFreeFlyer(),) if self.case.floating else ()
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.data = self.model.createData()
        self.converter = on.convert(self.robot, self.model)

    @cached_property
    def joints(self) -> list[tuple[Any, Any]]:
        """Our joints, each with Pinocchio's of the same name; all of both."""
        found = []
        for c in self.robot.joints:
            assert self.model.existJointName(c.name), c.name
            found.append((c, self.model.joints[self.model.getJointId(c.name)]))
        assert len(found) == self.model.njoints - 1
        return found

    @property
    def coupled(self) -> bool:
        """Whether some joints follow others: in Pinocchio they are free, and E makes them follow."""
        return any(c.mimic for c in self.robot.joints)

    def positions(self, q: Array) -> Array:
        """Our positions as Pinocchio's."""
        return self.converter.to_peer(q)

    def velocities(self, v: Array) -> Array:
        """Our velocities or accelerations (last dimension) as Pinocchio's."""
        return v @ self.E.T

    def from_velocities(self, v: Array) -> Array:
        """Pinocchio's velocities or accelerations (last dimension) as ours."""
        return v @ self.free

    def from_forces(self, f: Array) -> Array:
        """Pinocchio's joint forces (last dimension), or what stands beside velocities in a product, as ours."""
        return f @ self.E

    @cached_property
    def E(self) -> Array:
        """Pinocchio's velocities per unit of each of ours; they do not depend on the position."""
        return self.converter.velocity_matrix(self.robot.neutral())

    @cached_property
    def free(self) -> Array:
        """E without the joints that follow others."""
        found = self.E.copy()
        for ours, theirs in self.joints:
            if ours.mimic:
                found[theirs.idx_v] = 0.0
        return found

    def frames(self, count: int) -> list[str]:
        """Frames to look at: the deepest first, those behind a fixed joint before those of bodies."""
        depth = [0] * len(self.robot.bodies)
        for k, c in enumerate(self.robot.joints):
            depth[k] = 1 + (depth[c.parent] if c.parent >= 0 else 0)
        links = [f for f in self.robot.frames if f.body >= 0 and self.model.existFrame(f.name, pin.FrameType.BODY)]
        links.sort(key=lambda f: (f.placement == on.Placement(), -depth[f.body]))
        return [f.name for f in links[:count]]

    def states(self, count: int, seed: int = 0) -> States:
        """Random states."""
        rng = np.random.default_rng(seed)
        n, nv = len(self.robot.bodies), self.robot.nv
        return States(
            q=self.robot.random(rng, count),
            q1=self.robot.random(rng, count),
            v=rng.uniform(-2, 2, (count, nv)),
            a=rng.uniform(-2, 2, (count, nv)),
            tau=rng.uniform(-10, 10, (count, nv)),
            external=rng.uniform(-10, 10, (count, n, 6)),
        )

    def forces(self, external: Array) -> Any:
        """External forces of one state as Pinocchio's."""
        found = pin.StdVec_Force()
        for _ in range(self.model.njoints):
            found.append(pin.Force.Zero())
        for (_, theirs), six in zip(self.joints, external, strict=True):
            found[theirs.id] = pin.Force(six[3:], six[:3])
        return found

    def ask(self, question: str, *arguments: Any, external: Array | None = None, **options: Any) -> Array:
        """Our answer: by the public function, or by the way of running asked for."""
        if self.way is None:
            extra = {} if external is None else {"external": external}
            return getattr(self.robot, question)(*arguments, **extra, **options)
        present = () if external is None else ("external",)
        kernel = self.robot.kernel(question, present=present, way=self.way, **options)
        return kernel(*arguments, *(() if external is None else (external,)))

    def answers(self, s: States, frames: list[str]) -> Iterator[tuple[str, Array, Array]]:
        """What was asked, our answers and Pinocchio's, in our convention."""
        yield from self._dynamics(s)
        yield from self._energies(s)
        yield from self._steps(s)
        yield from self.centroidal(s)
        for frame in frames:
            yield from self.kinematics(s, frame)

    def each(self, s: States, function: Callable[..., Any]) -> Array:
        """Pinocchio, state by state, on (q, v, a, tau, k)."""
        q, (v, a) = self.positions(s.q), map(self.velocities, (s.v, s.a))
        tau = s.tau @ self.free.T
        return np.array([np.array(function(q[k], v[k], a[k], tau[k], k)) for k in range(len(s))])

    def _dynamics(self, s: States) -> Iterator[tuple[str, Array, Array]]:
        yield from self.inverse(s)
        yield from self.forward(s)
        m, d = self.model, self.data
        theirs = self.each(s, lambda q, v, a, tau, k: pin.nonLinearEffects(m, d, q, v))
        yield "bias_force", self.ask("bias_force", s.q, s.v), self.from_forces(theirs)
        ext = [self.forces(x) for x in s.external]
        theirs = self.each(s, lambda q, v, a, tau, k: pin.rnea(m, d, q, v, 0 * a, ext[k]))
        mine = self.ask("bias_force", s.q, s.v, external=s.external)
        yield "bias_force, external", mine, self.from_forces(theirs)
        theirs = self.each(s, lambda q, v, a, tau, k: pin.computeGeneralizedGravity(m, d, q))
        yield "gravity_force", self.ask("gravity_force", s.q), self.from_forces(theirs)
        yield "mass_matrix", self.ask("mass_matrix", s.q), self.masses(s)
        damping, friction = (np.array([x for c in self.robot.joints for x in t(c)]) for t in _PASSIVE)
        full = s.v @ self._ours.T
        theirs = -(damping * full + friction * full / np.hypot(full, 0.1)) @ self._ours
        yield "passive_force", self.ask("passive_force", s.q, s.v, 0.1), theirs

    @cached_property
    def _ours(self) -> Array:
        """The velocities of all our joints, in our order, for a unit of each that is free."""
        rows = []
        for c in self.robot.joints:
            block = np.zeros((c.type.nv, self.robot.nv))
            block[:, c.v] = np.eye(c.type.nv) * (c.mimic.ratio if c.mimic else 1.0)
            rows.append(block)
        return np.concatenate(rows)

    def masses(self, s: States) -> Array:
        """Pinocchio's mass matrices."""
        theirs = self.each(s, lambda q, v, a, tau, k: _symmetric(pin.crba(self.model, self.data, q)))
        return self.E.T @ theirs @ self.E

    def inverse(self, s: States) -> Iterator[tuple[str, Array, Array]]:
        """Inverse dynamics, without and with external forces."""
        m, d, ext = self.model, self.data, [self.forces(x) for x in s.external]
        theirs = self.each(s, lambda q, v, a, tau, k: pin.rnea(m, d, q, v, a))
        yield "inverse_dynamics", self.ask("inverse_dynamics", s.q, s.v, s.a), self.from_forces(theirs)
        theirs = self.each(s, lambda q, v, a, tau, k: pin.rnea(m, d, q, v, a, ext[k]))
        mine = self.ask("inverse_dynamics", s.q, s.v, s.a, external=s.external)
        yield "inverse_dynamics, external", mine, self.from_forces(theirs)

    def forward(self, s: States) -> Iterator[tuple[str, Array, Array]]:
        """Forward dynamics, without and with external forces."""
        m, d, ext = self.model, self.data, [self.forces(x) for x in s.external]
        if self.coupled:  # Pinocchio's aba has no mimic joints
            M, still = self.masses(s), [pin.Force.Zero() for _ in range(m.njoints)]

            def accelerations(forces: Callable[[int], Any]) -> Array:
                bias = self.from_forces(self.each(s, lambda q, v, a, tau, k: pin.rnea(m, d, q, v, 0 * a, forces(k))))
                return np.linalg.solve(M, (s.tau - bias)[..., None])[..., 0]

            theirs, pushed = accelerations(lambda k: still), accelerations(lambda k: ext[k])
        else:
            theirs = self.from_velocities(self.each(s, lambda q, v, a, tau, k: pin.aba(m, d, q, v, tau)))
            pushed = self.from_velocities(self.each(s, lambda q, v, a, tau, k: pin.aba(m, d, q, v, tau, ext[k])))
        yield "forward_dynamics", self.ask("forward_dynamics", s.q, s.v, s.tau), theirs
        yield "forward_dynamics, external", self.ask("forward_dynamics", s.q, s.v, s.tau, external=s.external), pushed

    def _energies(self, s: States) -> Iterator[tuple[str, Array, Array]]:
        ask, m, d = self.ask, self.model, self.data
        theirs = self.each(s, lambda q, v, a, tau, k: pin.computeKineticEnergy(m, d, q, v))
        yield "kinetic_energy", ask("kinetic_energy", s.q, s.v), theirs
        theirs = self.each(s, lambda q, v, a, tau, k: pin.computePotentialEnergy(m, d, q))
        yield "potential_energy", ask("potential_energy", s.q), theirs

    def _steps(self, s: States) -> Iterator[tuple[str, Array, Array]]:
        ask, m = self.ask, self.model
        theirs = self.each(s, lambda q, v, a, tau, k: pin.integrate(m, q, 0.7 * v))
        mine = self.positions(ask("integrate", s.q, s.v, 0.7))
        for _, joint in self.joints:
            if joint.nq == 7:  # a quaternion and its negative are one rotation
                w = slice(joint.idx_q + 3, joint.idx_q + 7)
                theirs[:, w] *= np.sign((theirs[:, w] * mine[:, w]).sum(axis=1, keepdims=True))
        yield "integrate", mine, theirs
        there = self.positions(s.q1)
        theirs = self.each(s, lambda q, v, a, tau, k: pin.difference(m, q, there[k]))
        mine = self.velocities(ask("difference", s.q, s.q1))
        for _, joint in self.joints:
            if joint.nq == 2:  # Pinocchio takes the short way round, we count turns
                at = joint.idx_v
                mine[:, at] -= 2 * np.pi * np.round((mine[:, at] - theirs[:, at]) / (2 * np.pi))
        yield "difference", mine, theirs

    def kinematics(self, s: States, frame: str) -> Iterator[tuple[str, Array, Array]]:
        """The pose of a frame, and all that is known of its motion."""
        ask, m, d = self.ask, self.model, self.data
        f = m.getFrameId(frame, pin.FrameType.BODY)

        def at(q: Array, v: Array, a: Array) -> None:
            pin.forwardKinematics(m, d, q, v, a)
            pin.updateFramePlacement(m, d, f)

        def pose(q: Array, v: Array, a: Array, *_: Any) -> Array:
            at(q, v, a)
            return d.oMf[f].homogeneous

        yield "pose", ask("pose", s.q, frame=frame), self.each(s, pose)
        for axes, reference in _AXES.items():

            def velocity(q: Array, v: Array, a: Array, *_: Any, reference: Any = reference) -> Array:
                at(q, v, a)
                return _six(pin.getFrameVelocity(m, d, f, reference))

            def spatial(q: Array, v: Array, a: Array, *_: Any, reference: Any = reference) -> Array:
                at(q, v, a)
                return _six(pin.getFrameAcceleration(m, d, f, reference))

            def classical(q: Array, v: Array, a: Array, *_: Any, reference: Any = reference) -> Array:
                at(q, v, a)
                return _six(pin.getFrameClassicalAcceleration(m, d, f, reference))

            def jacobian(q: Array, *_: Any, reference: Any = reference) -> Array:
                J = pin.computeFrameJacobian(m, d, q, f, reference)
                return J[[3, 4, 5, 0, 1, 2]]

            yield f"velocity, {axes} axes", ask("velocity", s.q, s.v, frame=frame, axes=axes), self.each(s, velocity)
            for kind, function in (("classical", classical), ("spatial", spatial)):
                mine = ask("acceleration", s.q, s.v, s.a, frame=frame, axes=axes, kind=kind)
                yield f"acceleration, {kind}, {axes} axes", mine, self.each(s, function)
            J, theirs = ask("jacobian", s.q, frame=frame, axes=axes), self.from_forces(self.each(s, jacobian))
            yield f"jacobian, {axes} axes", J, theirs

            def jacobian_rate(q: Array, v: Array, *_: Any, reference: Any = reference) -> Array:
                pin.computeJointJacobiansTimeVariation(m, d, q, v)
                J = pin.getFrameJacobianTimeVariation(m, d, f, reference)
                return J[[3, 4, 5, 0, 1, 2]]

            # with the Jacobian, since the rate of a single body's is zero
            theirs = theirs + self.from_forces(self.each(s, jacobian_rate))
            mine = J + ask("jacobian_rate", s.q, s.v, frame=frame, axes=axes)
            yield f"jacobian_rate, {axes} axes", mine, theirs

    def centroidal(self, s: States) -> Iterator[tuple[str, Array, Array]]:
        """The centre of mass, and the centroidal momentum."""
        m, d, whole = self.model, self.data, on.Frame("world", -1)

        def ask(question: str, *arguments: Array) -> Array:
            return self.robot.kernel(question, way=self.way, frame=whole)(*arguments)

        def com(q: Array, v: Array, a: Array, *_: Any) -> Array:
            pin.centerOfMass(m, d, q, v, a)
            return np.stack([d.com[0], d.vcom[0], d.acom[0]])

        theirs = self.each(s, com)
        yield "com", ask("com", s.q), theirs[:, 0]
        yield "com_velocity", ask("com_velocity", s.q, s.v), theirs[:, 1]
        yield "com_acceleration", ask("com_acceleration", s.q, s.v, s.a), theirs[:, 2]
        theirs = self.each(s, lambda q, *_: pin.jacobianCenterOfMass(m, d, q))
        yield "com_jacobian", ask("com_jacobian", s.q), self.from_forces(theirs)

        def maps(q: Array, v: Array, *_: Any) -> Array:
            pin.dccrba(m, d, q, v)  # the angular half of computeCentroidalMapTimeVariation lacks a term
            return np.stack([d.Ag, d.dAg])[:, [3, 4, 5, 0, 1, 2]]

        theirs = self.from_forces(self.each(s, maps))
        yield "centroidal_map", ask("centroidal_map", s.q), theirs[:, 0]
        yield "centroidal_map_rate", ask("centroidal_map_rate", s.q, s.v), theirs[:, 1]
        theirs = self.each(s, lambda q, v, *_: _six(pin.computeCentroidalMomentum(m, d, q, v)))
        yield "centroidal_momentum", ask("centroidal_momentum", s.q, s.v), theirs


_AXES = {"frame": pin.LOCAL, "world": pin.LOCAL_WORLD_ALIGNED, "origin": pin.WORLD}
_PASSIVE = (lambda c: c.damping, lambda c: c.friction)


def _six(m: Any) -> Array:
    return np.concatenate([m.angular, m.linear])


def _symmetric(M: Array) -> Array:
    """From the upper half, the only one that crba promises to fill."""
    return np.triu(M) + np.triu(M, 1).T


def relative_errors(mine: Array, theirs: Array) -> Array:
    """For each state: the largest difference, relative to the largest entry of the peer's answer."""
    apart, size = _sizes(mine, theirs)
    return apart / size


def typical_errors(mine: Array, theirs: Array) -> Array:
    """For each state: the largest difference, relative to the peer's answer or to a typical answer."""
    apart, size = _sizes(mine, theirs)
    return apart / np.maximum(size, np.median(size))


def _sizes(mine: Array, theirs: Array) -> tuple[Array, Array]:
    assert mine.shape == theirs.shape, (mine.shape, theirs.shape)
    axes = tuple(range(1, mine.ndim))
    size = np.abs(theirs).max(axis=axes)
    return np.abs(mine - theirs).max(axis=axes), np.where(size > 0.0, size, 1.0)
