"""Checks that sets of parameters are physically possible; errors name the body or joint, and the index of the set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..errors import ModelError
from ..model import Model
from ..model.fluid import matrix_of
from .inertias import about_centre, matrix
from .names import FIELDS, FREEDOM_FIELDS
from .record import Parameters

__all__ = ["require_inertias", "require_possible"]

_ROUNDING = 1e-3
"""The rounding that `robot.check` allows in inertias: slim and flat bodies lie on the limit, and files have few
digits."""
_ADDED = 1e-12
"""A negative eigenvalue of an added inertia of this part of the largest one is rounding."""
_POINT = 1e-12
"""Moments of inertia below this part of the mass are rounding: such a body is less than a micrometre across."""
_DIGITS = 1e-13
"""Moments about the centre of mass are known to this part of those about the origin."""
_WORSE = 1.0 + 1e-9


def require_possible(model: Model, own: Parameters, given: Parameters) -> None:
    """Raise ModelError if a set of parameters that differ from the robot's own is impossible.

    A body whose inertia is impossible in the robot itself, as measured inertias may be, may keep it, but not get a
    worse one.
    """
    for field in FIELDS:
        array, before = getattr(given, field), getattr(own, field)
        if array is before or np.array_equal(array, before):
            continue
        core = given.names.core_shape(field)
        flat = array.reshape(*array.shape[: array.ndim - len(core)], given.names.size(field))
        _refuse(given, field, flat, ~np.isfinite(flat), "parameters are finite numbers")
        if field in (*FREEDOM_FIELDS, "contact_friction"):
            _refuse(given, field, flat, flat < 0.0, f"{field.replace('_', ' ')} is not below zero")
        elif field == "inertia":
            require_inertias("body", given.names.bodies, own.inertia, given.inertia)
        elif field == "added_inertia":
            _require_added(own, given)
        elif field == "joint_numbers":
            _require_numbers(model, own, given)


def _refuse(given: Parameters, field: str, flat: Array, bad: NDArray[np.bool_], rule: str) -> None:
    """Raise if some number of a field (..., N) is bad; name the first of them."""
    if bad.any():
        *where, k = (int(x) for x in np.argwhere(bad)[0])
        label = given.labels_of(field)[k]
        raise ModelError(f"{_set(where)}{label} of {given.names.robot!r} is {flat[bad][0]:g}; {rule}")


def _set(where: Sequence[int]) -> str:
    """Return the words that name a set of parameters; no words for a single robot."""
    if not where:
        return ""
    return f"set {where[0]}: " if len(where) == 1 else f"set ({', '.join(map(str, where))}): "


def require_inertias(kind: str, names: Sequence[str], own: Array, given: Array) -> None:
    """Raise ModelError if an inertia (..., n, 10) that differs from the own one (n, 10) is impossible.

    `kind` and `names` are those of the bodies, for the message.
    """
    differs = (given != own).any(axis=-1)
    bodies = np.flatnonzero(differs.any(axis=tuple(range(differs.ndim - 1))))
    new = given[..., bodies, :]
    old, mass = np.broadcast_to(own[bodies], new.shape), new[..., 0]

    def called(where: Sequence[int], k: int) -> str:
        return f"{_set(where)}{kind} {names[bodies[k]]!r}"

    def first(bad: NDArray[np.bool_]) -> tuple[tuple[int, ...], str] | None:
        if not bad.any():
            return None
        *where, k = (int(x) for x in np.argwhere(bad)[0])
        return (*where, k), called(where, k)

    if found := first(mass < 0.0):
        raise ModelError(f"{found[1]} has mass {mass[found[0]]:g} kg; a mass is not below zero")
    if found := first((mass == 0.0) & new[..., 1:4].any(axis=-1)):
        raise ModelError(f"{found[1]} has no mass, but first moments {new[found[0]][1:4].tolist()}: they must be zero")
    doubtful = _doubtful(new)
    if not doubtful.any():
        return
    at = np.nonzero(doubtful)
    principal, before = (np.asarray(np.linalg.eigvalsh(matrix(about_centre(x[at]))), float) for x in (new, old))
    x, y, z = np.moveaxis(principal, -1, 0)
    noise = _POINT * mass[at] + _DIGITS * np.abs(new[at][..., 4:]).max(axis=-1)
    negative = (x < -_ROUNDING * np.abs(z) - noise) & (_least(principal) < _least(before) * _WORSE)
    too_large = (z > (1.0 + _ROUNDING) * (x + y) + noise) & (_ratio(principal) > _ratio(before) * _WORSE)
    for bad, rule in (
        (negative, "a moment cannot be below zero"),
        (too_large, "no body has one above the sum of the other two"),
    ):
        if bad.any():
            i = int(np.argmax(bad))
            *where, k = (int(x[i]) for x in at)
            moments = ", ".join(f"{x:.4g}" for x in principal[i])
            raise ModelError(f"{called(where, k)} has the principal moments of inertia {moments} kg m^2; {rule}")


def _doubtful(numbers: Array) -> NDArray[np.bool_]:
    """Return True for inertias that are not certainly possible: a quick test that almost all pass.

    An inertia is possible if half its trace minus itself, the second moments of the mass, is not negative.
    """
    xx, yy, zz, xy, xz, yz = np.moveaxis(about_centre(numbers), -1, 0)
    a, b, c = 0.5 * (yy + zz - xx), 0.5 * (zz + xx - yy), 0.5 * (xx + yy - zz)
    minor = a * b - xy * xy
    volume = minor * c - a * yz * yz - b * xz * xz - 2.0 * xy * xz * yz
    return np.asarray(~((a > 0.0) & (minor > 0.0) & (volume > 0.0)))


def _least(moments: Array) -> Array:
    """Return the least of principal moments (..., 3), in ascending order, relative to the largest one."""
    size = np.abs(moments).max(axis=-1)
    return moments[..., 0] / np.where(size == 0.0, 1.0, size)


def _ratio(moments: Array) -> Array:
    """Return the largest of principal moments relative to the sum of the others: one at most for a possible body."""
    x, y, z = np.moveaxis(moments, -1, 0)
    tiny = np.maximum(1e-9 * np.abs(z), np.finfo(float).tiny)
    return np.where(z > 0.0, z / np.maximum(x + y, tiny), 0.0)


def _require_added(own: Parameters, given: Parameters) -> None:
    """Raise if an added inertia that has changed is negative."""
    new = given.added_inertia
    differs = np.argwhere((new != own.added_inertia).any(axis=-1))
    for index in map(tuple, differs):
        values = np.linalg.eigvalsh(matrix_of(new[index].tolist()))
        if values[0] < -_ADDED * max(values[-1], 0.0):
            *where, k = (int(x) for x in index)
            raise ModelError(
                f"{_set(where)}body {given.names.bodies[k]!r}: an added inertia must not be negative, but has the "
                f"eigenvalue {values[0]:.3g}"
            )


def _require_numbers(model: Model, own: Parameters, given: Parameters) -> None:
    """Raise if the type of a joint does not take its numbers."""
    for name, part in given.names.places("joint_numbers"):
        new = given.joint_numbers[..., part]
        for index, numbers in _different(new, own.joint_numbers[..., part]):
            try:
                model.joint(name).type.with_parameters(numbers)
            except ModelError as e:
                raise ModelError(f"{_set(index)}joint {name!r}: {e}") from None


def _different(new: Array, old: Array) -> Iterator[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Yield each row of numbers that differs from the old one, once, with the index of its first set."""
    seen = set()
    for index in map(tuple, np.argwhere((new != old).any(axis=-1))):
        numbers = tuple(new[index].tolist())
        if numbers not in seen:
            seen.add(numbers)
            yield tuple(int(k) for k in index), numbers
