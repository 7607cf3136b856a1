"""Methods of robots that read their parameters, or give robots with other ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ..kernel.elsewhere import delegate
from ..model import Model
from .keywords import names_keywords

if TYPE_CHECKING:
    from ..robot import Robot
    from .random_sets import Spread
    from .record import Parameters
    from .rows import Change

__all__ = ["ParameterMethods"]


class ParameterMethods(Model):
    """The numbers of a robot as a record, and robots with other numbers."""

    @cached_property
    def parameters(self) -> Parameters:
        """The numbers of this robot: inertias, terms of joints, placements, gravity; see `Parameters`."""
        from .numbers import parameters_of

        return parameters_of(self)

    @property
    def mass(self) -> Any:
        """The mass of all moving bodies: a number, or an array of the leading shape of the parameters."""
        elsewhere = delegate("mass", self, {})
        if elsewhere is not None:
            return elsewhere(self)
        if not self.batch_shape:
            return super().mass
        return np.broadcast_to(self.parameters.mass.sum(axis=-1), self.batch_shape).copy()

    @names_keywords
    def with_parameters(
        self, parameters: Parameters | None = None, *, fold: bool = False, inertia: ArrayLike | None = None,
        added_inertia: ArrayLike | None = None, armature: ArrayLike | None = None, damping: ArrayLike | None = None,
        joint_friction: ArrayLike | None = None, stiffness: ArrayLike | None = None, rest: ArrayLike | None = None,
        joint_numbers: ArrayLike | None = None, mimic_ratio: ArrayLike | None = None,
        mimic_offset: ArrayLike | None = None, joint_placement: ArrayLike | None = None,
        frame_placement: ArrayLike | None = None, gravity: ArrayLike | None = None,
        contact_friction: ArrayLike | None = None,
    ) -> Robot:  # fmt: skip
        """Return this robot with other parameters: a record, or arrays for some of its fields, or both.

        Arrays have the shapes of the fields of `Parameters`, with any leading shape; all functions of the robot
        broadcast over it. The fields that are given, and those of the record that differ from this robot's, become
        inputs of the compiled functions, so that other numbers do not compile them again. With `fold`, the robot is
        an ordinary one with these numbers, without a leading shape. Sets that no robot can have are an error, which
        names the body or joint and the index of the set.

        >>> import ordern as on
        >>> robot = on.load("double-pendulum")
        >>> moon = robot.with_parameters(gravity=(0, 0, -1.62), fold=True)
        >>> moon.gravity
        (0.0, 0.0, -1.62)
        """
        from .robots import with_parameters

        fields = {
            **{"inertia": inertia, "added_inertia": added_inertia, "armature": armature, "damping": damping},
            **{"joint_friction": joint_friction, "stiffness": stiffness, "rest": rest, "gravity": gravity},
            **{"joint_numbers": joint_numbers, "mimic_ratio": mimic_ratio, "mimic_offset": mimic_offset},
            **{"joint_placement": joint_placement, "frame_placement": frame_placement},
            "contact_friction": contact_friction,
        }
        return with_parameters(cast("Robot", self), parameters, fields, fold)

    @names_keywords
    def vary(
        self, *, mass: Change | None = None, com: Change | None = None, inertia: Change | None = None,
        added_inertia: Change | None = None, armature: Change | None = None, damping: Change | None = None,
        joint_friction: Change | None = None, stiffness: Change | None = None, rest: Change | None = None,
        joint_numbers: Change | None = None, mimic_ratio: Change | None = None, mimic_offset: Change | None = None,
        placement: Mapping[str, Any] | None = None, gravity: Change | None = None,
        contact_friction: Change | None = None, fold: bool = False,
    ) -> Robot:  # fmt: skip
        """Return this robot with other numbers of some bodies, links, joints or frames.

        Each change is a dictionary by name, or numbers for all: one for all, or one for each body, or freedom of a
        joint, in the last dimension. A function in the place of numbers is called with the present ones. Arrays of any
        leading shape give a robot whose functions broadcast over it.

        A `mass` leaves the centre of mass of its body where it is, and multiplies the inertia about it as the mass. A
        centre of mass `com` (..., 3) leaves the inertia about it as it is. An `inertia`, (..., 6) as xx, yy, zz, xy,
        xz, yz or (..., 3, 3), is about the centre of mass, in the axes of the body. The name of a body stands for the
        body with all that is fixed to it, as in `robot.body(name)`; the name of a link that was merged, or a link of
        `robot.links`, stands for this link alone.

        `placement` has positions (..., 3), positions with rotation vectors (..., 6), or poses (..., 4, 4), of joints in
        the frame of the parent and of frames in the frame of the body. `contact_friction` is that of contacts, by their
        names in `robot.contacts.pairs`. Other changes are those of the fields of `Parameters`. Only the numbers that
        are named become inputs of the compiled functions. `fold` is as in `with_parameters`.

        >>> import ordern as on
        >>> arm = on.load("puma560")
        >>> heavy = arm.vary(mass={"hand": lambda m: m + 0.5}, joint_friction=0.1, fold=True)
        >>> round(heavy.mass - arm.mass, 12)
        0.5
        """
        from .robots import vary

        changes = {
            **{"mass": mass, "com": com, "inertia": inertia, "added_inertia": added_inertia, "armature": armature},
            **{"damping": damping, "joint_friction": joint_friction, "stiffness": stiffness, "rest": rest},
            **{"joint_numbers": joint_numbers, "mimic_ratio": mimic_ratio, "mimic_offset": mimic_offset},
            **{"placement": placement, "gravity": gravity, "contact_friction": contact_friction},
        }
        return vary(cast("Robot", self), changes, fold)

    @names_keywords
    def randomise(
        self, rng: np.random.Generator | int | None = None, shape: int | tuple[int, ...] = (), *,
        mass: Spread | None = None, com: Spread | None = None, inertia: Spread | None = None,
        armature: Spread | None = None, damping: Spread | None = None, joint_friction: Spread | None = None,
        stiffness: Spread | None = None, placement: Any = None, gravity: float | None = None,
        contact_friction: Spread | None = None, fold: bool = False,
    ) -> Robot:  # fmt: skip
        """Return robots with random parameters around those of this one, for a leading shape of sets.

        Each number is a standard deviation, for all bodies or joints, or a dictionary by name. Masses, `armature`,
        `damping`, `joint_friction` and `stiffness` of joints, and the `contact_friction` of contacts, are multiplied by
        log-normal factors: 0.1 stands for about 10 %, the median is this robot's own, and zeros stay zero. `com` shifts
        centres of mass by normal numbers in metres. `inertia` stretches and shears the mass of each body about its
        centre by log-normal factors, so that the inertia of a possible body stays possible; impossible inertias, such
        as measured ones, and those of motions in a plane, are only scaled. `placement` shifts joints, in metres, or
        shifts and turns them, (metres, radians). `gravity` is in m/s^2. The same `rng` or seed gives the same robots.

        >>> import ordern as on
        >>> one, same = (on.load("puma560").randomise(7, mass=0.1, com=0.01, fold=True) for _ in range(2))
        >>> one == same
        True
        """
        from .robots import randomise

        spreads = {
            **{"mass": mass, "com": com, "inertia": inertia, "armature": armature, "damping": damping},
            **{"joint_friction": joint_friction, "stiffness": stiffness, "placement": placement, "gravity": gravity},
            "contact_friction": contact_friction,
        }
        return randomise(cast("Robot", self), rng, shape, spreads, fold)

    def folded(self, index: int | tuple[int, ...] = ()) -> Robot:
        """Return an ordinary robot with the numbers of one set of parameters, by its index in the leading shape."""
        from .robots import folded

        return folded(cast("Robot", self), index)
