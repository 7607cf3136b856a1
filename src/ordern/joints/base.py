"""The base class of joint types. No algorithm names a joint type.

A joint type defines the number of its coordinates, the pose of the child (`transform`), its motion subspace
(`subspace`), and how its coordinates are stepped along a velocity (`integrate`, `difference`, `rate`, `project`,
`euler_step`). A type that may close a loop also defines its residuals (`closure`), and finds its coordinates in a
relative pose (`locate`). All methods are written over any scalar, so that a new type, in the library or in a user's own
module, works in every algorithm and in every way of running it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from ..arguments import Array
from ..errors import ModelError
from ..graph import Jet, Scalar
from ..spatial import Chain, Freedoms, Inertia, Motion, Subspace, Transform
from ..spatial.linear import Matrix3, Vector3
from .closure import Closure
from .placement import Placement

__all__ = ["Joint", "JointType"]


_UNLIMITED = 1e5
"""Limits beyond this many radians or meters count as none: files write 1e16 for them, where sines have no digits."""


class Joint(Closure, ABC):
    """A joint between a parent and its child. Subclasses are frozen dataclasses.

    The child's frame meets the joint's frame when the coordinates are neutral. A joint with an axis works in a
    frame turned by `working_frame()`, in which that axis is z; users never see that frame.
    """

    nq: ClassVar[int]
    """Number of positions."""
    nv: ClassVar[int]
    """Number of velocities."""
    angles: ClassVar[tuple[int, ...]] = ()
    """Indices of positions that are angles: `locate` finds them without full turns."""
    usual_range: ClassVar[float] = 2.0
    """The range of random positions without limits, half of it below zero."""

    @abstractmethod
    def transform(self, q: Freedoms) -> Transform | Chain:
        """Return the transform from the joint's working frame on the parent to the child's; it may be a chain."""

    @abstractmethod
    def subspace(self, q: Freedoms) -> Subspace:
        """Return the motions of the child relative to the parent, in the child's (turned) frame."""

    def bias(self, q: Freedoms, v: Freedoms) -> Motion:
        """Return the rate of `subspace`, seen from the child, times v: zero where the subspace is constant."""
        return Motion.zero()

    def gyration(self, q: Freedoms, v: Freedoms, h: Freedoms) -> Freedoms:
        """Return the force that keeps a momentum h along the freedoms constant while the joint moves at v.

        Zero where velocities are the rates of coordinates. Otherwise the directions that momenta are along move: for
        an angular velocity w in the child's axes, it is w x h. Needed for `armature`, a drive's momentum.
        """
        return Freedoms((0.0,) * self.nv)

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Return the position reached from q by moving at the constant velocity v for a unit of time."""
        return q + v

    def difference(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        """Return the constant velocity that leads from q0 to q1 in a unit of time, the short way round."""
        return q1 - q0

    def displacement(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        """Return the displacement from q0 to q1 on which a spring acts: `difference`, but with full turns.

        The force of a spring must not jump after half a turn of a joint whose coordinate counts turns.
        """
        return self.difference(q0, q1)

    def counting_turns(self) -> Joint:
        """Return the joint with the same motion for which full turns matter, as where another joint follows it."""
        return self

    def rate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Return the rate of the positions at the velocity v: v itself, unless the class has its own `integrate`.

        Then it is the derivative of `integrate(q, v t)` at t = 0, exactly; a joint may have a shorter formula for it.
        """
        if type(self).integrate is Joint.integrate:
            return v
        joint = self.with_parameters(tuple(Jet(x) for x in self.parameters))
        moving = joint.integrate(Freedoms(map(Jet, q)), Freedoms(Jet(0.0, x) for x in v))
        return Freedoms(x.rate if isinstance(x, Jet) else 0.0 for x in moving)

    def project(self, q: Freedoms) -> Freedoms:
        """Return the valid position next to numbers that are nearly one, by `integrate` without motion.

        A quaternion is made a unit again.
        """
        if type(self).integrate is Joint.integrate:
            return q
        with np.errstate(all="ignore"):  # the side of a branch that is not chosen may divide by zero
            return self.integrate(q, Freedoms((np.float64(0.0),) * self.nv))

    def euler_step(self, q: Freedoms, v: Freedoms, a: Freedoms, h: Scalar) -> tuple[Freedoms, Freedoms]:
        """Return the position and the velocity after a step of semi-implicit Euler: of length h, with dv/dt = a.

        The velocity goes first, v + h a, and the position then moves along it. Override this where v has a linear
        velocity along axes that turn with the child: a body that nothing pushes keeps its velocity along fixed axes,
        while its components along turning ones change, so that stepping these adds speed. Step such a velocity along
        the axes as they are at the start of the step, move straight along it, and return its components along the axes
        at the end. With the angular velocity w and the linear velocity u, both along the child's axes::

            w' = w + h dw/dt       y = u + h (du/dt + w x u)
            R' = R exp(h w')       x' = x + h R y                u' = exp(h w')^T y

        `Free` and `Planar` do this. Override `turning_rate` as well, which contacts need.
        """
        after = v + a * h
        return self.integrate(q, after * h), after

    @property
    def spins(self) -> bool:
        """True if the first three velocities are the angular velocity of the child relative to the parent, in its axes.

        Then semi-implicit Euler treats the gyroscopic torque of the child implicitly.
        """
        return False

    def turning_rate(self, v: Freedoms) -> Freedoms:
        """Return the rate of v along fixed axes less dv/dt: the (0, w x u) of `euler_step`; zero for most joints."""
        return Freedoms((0.0,) * self.nv)

    @property
    def turns_velocities(self) -> bool:
        """True if velocities are along axes that turn, so that the class has its own `euler_step`."""
        return type(self).euler_step is not Joint.euler_step

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the position whose `transform` leads to this pose of the child (see `Closure`), or next to it."""
        raise ModelError(self.why_not_locatable)

    @property
    def why_not_locatable(self) -> str:
        """The reason why `locate` does not find the coordinates; empty if it does."""
        if type(self).locate is not Joint.locate:
            return ""
        return f"{type(self).__name__} has no `locate(R, p)`, which finds the coordinates of a joint that closes a loop"

    def reach_margin(self, R: Matrix3, p: Vector3) -> tuple[Scalar, ...]:
        """Return numbers that are below zero if no position leads to this pose, though its residual is zero.

        They are of order one elsewhere. Most joints have no such numbers.
        """
        return ()

    def serial_parts(self) -> tuple[tuple[Joint, Placement], ...]:
        """Return the joints in series that it consists of; most joints consist of themselves alone.

        Each comes with its placement in the child's frame at the neutral position, as the parts of a `Composite`.
        """
        return ((self, Placement()),)

    def shiftable_inertia(self, inertia: Inertia) -> Inertia | None:
        """Return the part of the child's inertia, in its working frame, that acts on the parent alike in all positions.

        It must do so for every motion of the parent, as if it were fixed to the parent's side of the joint. None if
        there is no such part.
        """
        return None

    def neutral(self) -> tuple[float, ...]:
        """Return the position in which the child's frame meets the joint's."""
        return (0.0,) * self.nq

    def usual_limits(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return a range of moderate size within the limits, from which positions are drawn.

        Where a limit is missing, or beyond 1e5, the range is `usual_range` long, about zero or from the other limit.
        """
        wide, below, above = self.usual_range, lower < -_UNLIMITED, upper > _UNLIMITED
        lo = np.where(below, np.where(above, -0.5 * wide, upper - wide), lower)
        hi = np.where(above, lo + wide, upper)
        return np.maximum(lo, lower), np.minimum(hi, upper)

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return positions spread evenly over `usual_limits`."""
        low, high = self.usual_limits(lower, upper)
        return rng.uniform(low, np.where(high == low, low, high), (*shape, self.nq))  # 0 and -0 are equal

    @property
    def parameters(self) -> tuple[float, ...]:
        """The numbers that enter the formulas and differ between joints of one type (a screw's pitch ...)."""
        return ()

    def with_parameters(self, parameters: tuple[Scalar, ...]) -> Joint:
        """Return the same joint with other parameters, which may be traced scalars."""
        return self

    @property
    def kind(self) -> Hashable:
        """Joints of one kind differ only in their axis and parameters: their formulas are traced once for all.

        A class that has fields but lists no parameters has a kind for each value of its fields.
        """
        cls: Any = type(self)
        if cls.parameters is not Joint.parameters or not is_dataclass(cls):
            return type(self)
        own = tuple(getattr(self, f.name) for f in fields(cls) if f.name != "axis")
        return (type(self), own) if own else type(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("nq", "nv"):
            if not isinstance(getattr(cls, name, None), (int, property)):
                raise TypeError(f"joint class {cls.__name__} must set the class attribute {name}")


JointType = Joint
"""Another name of `Joint`: a type of joint, as opposed to the joint of a model, `ModelJoint`."""
