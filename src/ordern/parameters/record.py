"""The parameters of a robot as a record of arrays."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, broadcast_shapes, choice, real
from ..declared import explained_methods
from ..errors import ArgumentError
from ..records import dataclass
from .inertias import TO_PINOCCHIO, about_centre, centre
from .names import FIELDS, THETA, Names

__all__ = ["Parameters"]


@explained_methods
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Parameters:
    """The numbers of a robot as arrays, for one robot or for any number of them.

    `...` stands for the leading shape: () for one robot, (4096,) for a set of parameters for each of 4096. The arrays
    may have different leading shapes, which broadcast. All joints are in the order of the model, those that follow
    others included. The arrays cannot be written to; `replace` returns a record with others.
    """

    inertia: Array
    """(..., n, 10): m, mx, my, mz, xx, yy, zz, xy, xz, yz of each body, with all that is fixed to it: mass, first
    moments and moments of inertia about the origin of the body's frame, in its axes."""
    added_inertia: Array
    """(..., n, 21): the upper half of each body's added inertia; (..., 0, 21) if no body is in a fluid."""
    armature: Array
    """(..., freedoms of all joints)."""
    damping: Array
    """(..., freedoms of all joints)."""
    joint_friction: Array
    """(..., freedoms of all joints): Coulomb friction."""
    stiffness: Array
    """(..., freedoms of all joints): stiffness of the joints' springs."""
    rest: Array
    """(..., positions of all joints): the positions in which springs exert no force."""
    joint_numbers: Array
    """(..., k): the numbers of the joint types, such as the pitch of a screw."""
    mimic_ratio: Array
    """(..., k): for each joint that follows another."""
    mimic_offset: Array
    """(..., k): for each joint that follows another."""
    joint_placement: Array
    """(..., n, 6): position and rotation vector of each joint's frame in the frame of the parent."""
    frame_placement: Array
    """(..., k, 6): position and rotation vector of each frame of `robot.frames` in the frame of its body."""
    gravity: Array
    """(..., 3)."""
    contact_friction: Array
    """(..., contacts): of the contacts of `Robot.with_contacts`."""
    names: Names = field(repr=False)
    """The names of bodies, joints and frames."""

    def __post_init__(self) -> None:
        for name in FIELDS:
            core = self.names.core_shape(name)
            given = real(getattr(self, name), f"parameter {name!r}", (..., *core))
            if given.shape[max(given.ndim - len(core), 0) :] != core:
                raise ArgumentError(
                    f"parameter {name!r} of {self.names.robot!r} has shape {given.shape}; expected (..., "
                    f"{', '.join(map(str, core))})"
                )
            if given.flags.writeable or given.base is not None:
                given = given.copy()
                given.flags.writeable = False
            object.__setattr__(self, name, given)
        _ = self.shape

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading shape of all arrays together: () for the parameters of one robot."""
        shapes = [getattr(self, x).shape[: -len(self.names.core_shape(x))] for x in FIELDS]
        return broadcast_shapes(f"parameters of {self.names.robot!r}", *shapes, names=FIELDS)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of all numbers, in the order of `flatten`: "link7.mass", "joint3.armature", "gravity.z"."""
        return self.labels_of()

    def labels_of(self, *fields: str) -> tuple[str, ...]:
        """Return the names of the numbers of some fields, such as "inertia", in the order of `flatten(*fields)`."""
        return tuple(label for x in _chosen(fields) for label in self.names.labels(x))

    def flatten(self, *fields: str) -> Array:
        """Return the numbers of some fields, by default of all, as one vector theta (..., N), in the order of `labels`.

        >>> import ordern as on
        >>> p = on.load("double-pendulum").parameters
        >>> p.flatten("inertia").shape, p.labels_of("gravity")
        ((20,), ('gravity.x', 'gravity.y', 'gravity.z'))
        """
        names = _chosen(fields)
        flat = []
        for x in names:
            array, core = getattr(self, x), self.names.core_shape(x)
            flat.append(array.reshape(*array.shape[: array.ndim - len(core)], self.names.size(x)))
        shape = np.broadcast_shapes(*(x.shape[:-1] for x in flat))
        return np.concatenate([np.broadcast_to(x, (*shape, x.shape[-1])) for x in flat], axis=-1)

    def unflatten(self, theta: ArrayLike, *fields: str) -> Parameters:
        """Return a record with the numbers of a vector theta (..., N), for the fields that `flatten` was given."""
        names = _chosen(fields)
        total = sum(map(self.names.size, names))
        given = real(theta, "theta", (..., total))
        if given.shape[-1:] != (total,):
            raise ArgumentError(f"theta has shape {given.shape}; its last dimension must be {total}")
        stop, found = 0, {}
        for x in names:
            start, stop = stop, stop + self.names.size(x)
            found[x] = given[..., start:stop].reshape(*given.shape[:-1], *self.names.core_shape(x))
        return self.replace(**found)

    def replace(self, **fields: ArrayLike) -> Parameters:
        """Return a record with other arrays in some fields; others stay as they are."""
        for name in fields:
            choice("parameter", name, FIELDS, self.names.robot, _hint(name))
        arrays: dict[str, Any] = dict(self._arrays())
        return Parameters(**(arrays | fields), names=self.names)

    def at(self, index: int | tuple[int, ...]) -> Parameters:
        """Return the parameters of one robot of a set, by its index in the leading shape."""
        given = index if isinstance(index, tuple) else (index,)
        try:
            where = tuple(map(operator.index, given))
        except TypeError:
            raise ArgumentError(
                f"the index of one set of parameters is a whole number, or a tuple of them, not {index!r}; the leading "
                f"shape is {self.shape}"
            ) from None
        if len(where) != len(self.shape):
            raise ArgumentError(
                f"index {index!r} does not fit the sets of parameters, whose leading shape is {self.shape}"
            )
        try:
            return Parameters(
                **{x: np.broadcast_to(a, self.shape + self.names.core_shape(x))[where] for x, a in self._arrays()},
                names=self.names,
            )
        except IndexError:
            raise ArgumentError(f"there is no set {index!r} of parameters; the leading shape is {self.shape}") from None

    @property
    def theta(self) -> Array:
        """(..., P): inertias, armature, damping and joint friction as one vector: regressors multiply it.

        It is `flatten("inertia", "armature", "damping", "joint_friction")`, and `unflatten` with these fields makes a
        record of such a vector.
        """
        return self.flatten(*THETA)

    @property
    def theta_labels(self) -> tuple[str, ...]:
        """The names of the numbers in `theta`, such as "link7.mass" and "joint3.damping"."""
        return self.labels_of(*THETA)

    def with_theta(self, theta: ArrayLike) -> Parameters:
        """Return a record with the numbers of a vector like `theta`, (..., P)."""
        return self.unflatten(theta, *THETA)

    @property
    def mass(self) -> Array:
        """(..., n): the masses of the bodies."""
        return self.inertia[..., 0]

    @property
    def com(self) -> Array:
        """(..., n, 3): the centres of mass, in the frames of the bodies; zero for bodies without mass."""
        return centre(self.inertia)

    @property
    def central_inertia(self) -> Array:
        """(..., n, 6): xx, yy, zz, xy, xz, yz of each body about its centre of mass."""
        return about_centre(self.inertia)

    def to_pinocchio(self) -> Array:
        """Return the inertias (..., n, 10) in Pinocchio's order: m, mx, my, mz, xx, xy, yy, xz, yz, zz.

        These are the numbers of `pin.Inertia.toDynamicParameters()`.
        """
        return self.inertia[..., TO_PINOCCHIO]

    def _arrays(self) -> Iterator[tuple[str, Array]]:
        return ((name, getattr(self, name)) for name in FIELDS)

    def __eq__(self, other: object) -> bool:
        """Return True if names and numbers are equal; leading shapes count."""
        if not isinstance(other, Parameters):
            return NotImplemented
        same = (np.array_equal(a, getattr(other, x)) for x, a in self._arrays())
        return self.names == other.names and all(same)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make the record again, from arrays that cannot be written to."""
        return Parameters, (*(array for _, array in self._arrays()), self.names)

    def __repr__(self) -> str:
        count = sum(map(self.names.size, FIELDS))
        sets = f", sets {self.shape}" if self.shape else ""
        return f"<Parameters of {self.names.robot!r}: {len(self.names.bodies)} bodies, {count} numbers{sets}>"

    def _repr_html_(self) -> str:
        """Return tables of bodies and joints, for notebooks."""
        from .notebook_table import parameters_html

        return parameters_html(self)


def _chosen(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields that were asked for, in their order; all of them by default."""
    for x in fields:
        choice("parameter", x, FIELDS, hint=_hint(x))
    return fields or FIELDS


def _hint(name: Any) -> str:
    """Return where numbers are that are no field; empty for other names."""
    if name in ("mass", "com", "central_inertia"):
        return "It is part of the field 'inertia', which has ten numbers for each body; robot.vary changes it"
    if name == "placement":
        return "There are the fields 'joint_placement' and 'frame_placement'"
    return ""
