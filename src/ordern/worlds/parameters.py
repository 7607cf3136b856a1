"""Robots with parameters that are arrays of another library than NumPy: JAX tracers and tensors of PyTorch, too.

The numbers that vary are found by the same change with the present numbers in the place of the new ones. Their values
are computed here, by the functions of the library. Whether a body with such numbers is possible is not checked: a
library that compiles does not know the numbers yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import broadcast_shapes
from ..errors import ArgumentError
from ..model.parameter_fields import own_numbers
from ..model.variation import all_varied, with_values
from ..parameters.changes import JOINT_FIELDS, placed_rows
from ..records import dataclass
from .trees import with_own_values

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Arrays", "total_mass", "vary", "with_parameters"]

_UPPER = np.triu_indices(6)
_ROWS, _COLUMNS = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)


@dataclass(frozen=True, slots=True)
class Arrays:
    """The functions of an array library that changes of parameters need."""

    kind: str
    """Words for messages, such as "JAX arrays"."""
    array: Callable[[Any], Any]
    """Return numbers as an array."""
    where: Callable[[Any, Any, Any], Any]
    spread: Callable[[Any, tuple[int, ...]], Any]
    """Broadcast an array to a shape."""
    joined: Callable[[list[Any]], Any]
    """Concatenate arrays along the last axis."""
    stacked: Callable[[list[Any]], Any]
    """Stack arrays along a new last axis."""
    put: Callable[[Any, Any, Any], Any]
    """Return an array with others numbers at an index: `put(x, index, numbers)`."""


def vary(xp: Arrays, robot: Robot, changes: Mapping[str, Any], fold: bool) -> Robot:
    """Return a robot with changes by name; see `Robot.vary`."""
    _refuse(robot, "vary", fold, changes)
    own = with_own_values(robot)
    placed = _placed(xp, robot, own, changes.get("placement", {}))
    same = {what: _unchanged(xp, robot, change) for what, change in changes.items() if what != "placement"}
    if placed:
        same["placement"] = {name: _first(x.shape[-1]) for name, x in placed.items()}
    made = _made(own, same, {name: x.shape[-1] for name, x in placed.items()})
    fields = _fields(xp, robot, made)
    for name, x in placed.items():
        field, rows = placed_rows(own, name)
        for row in rows:
            whole = xp.spread(fields[field], (*x.shape[:-1], *fields[field].shape[-2:]))
            fields[field] = xp.put(whole, (..., row, slice(x.shape[-1])), x)
    of_bodies = {x: changes[x] for x in ("mass", "com", "inertia") if x in changes}
    if of_bodies:
        fields["inertia"] = _inertia(xp, robot, fields["inertia"], of_bodies)
    names = own.parameters.names
    for field in JOINT_FIELDS:
        if field in changes:
            places = {name: x.start if x.stop - x.start == 1 else x for name, x in names.places(field)}
            fields[field] = _changed(xp, field, changes[field], fields[field], (), places)
    if "added_inertia" in changes:
        places = {name: k for k, name in enumerate(names.bodies)}
        fields["added_inertia"] = _changed(
            xp, "added_inertia", changes["added_inertia"], fields["added_inertia"], (21,), places, _upper
        )
    if "gravity" in changes:
        fields["gravity"] = _value(xp, changes["gravity"], fields["gravity"])
        _require_core("gravity", fields["gravity"], (3,))
    return _with_fields(xp, made, fields)


def with_parameters(xp: Arrays, robot: Robot, parameters: Any, arrays: Mapping[str, Any], fold: bool) -> Robot:
    """Return a robot with arrays for some fields of its parameters; see `Robot.with_parameters`."""
    _refuse(robot, "with_parameters", fold, arrays)
    if parameters is not None:
        raise ArgumentError(f"with_parameters: a record has NumPy arrays; give {xp.kind} by the names of fields")
    own = with_own_values(robot)
    made = all_varied(own, tuple(arrays))
    fields = _fields(xp, robot, made)
    for field, x in arrays.items():
        core, given = fields[field].shape, xp.array(x)
        core = core[len(core) - made.variation.masks[field].ndim :]  # type: ignore[union-attr]
        _require_core(f"parameter {field!r} of {robot.name!r}", given, tuple(core))
        fields[field] = given
    return _with_fields(xp, made, fields)


def total_mass(xp: Arrays, robot: Robot) -> Any:
    """Return the mass of all moving bodies."""
    variation = robot.variation
    assert variation is not None
    if "inertia" not in variation.masks:
        return sum(b.mass for b in variation.bodies)
    return _fields(xp, robot, robot)["inertia"][..., 0].sum(-1)


def _placed(xp: Arrays, robot: Robot, own: Robot, change: Any) -> dict[str, Any]:
    """Return new positions (..., 3), or positions and rotation vectors (..., 6), of joints and frames by name.

    They have the leading shapes of the present ones, and of each other.
    """
    if not isinstance(change, Mapping):
        raise ArgumentError("placement: give a dictionary by the names of joints and frames")
    found, variation = {}, robot.variation
    for name, value in change.items():
        field, rows = placed_rows(own, name)
        varied = variation is not None and field in variation.masks
        now = _fields(xp, robot, robot)[field] if varied else xp.array(own_numbers(own, (field,))[field])
        x = _value(xp, value, now[..., rows[0], :])
        if tuple(x.shape[-1:]) not in ((3,), (6,)) or tuple(x.shape[-2:]) == (4, 4):
            raise ArgumentError(
                f"placement of {name!r} has shape {tuple(x.shape)}; with {xp.kind}, expected a position (..., 3), or a "
                "position and a rotation vector (..., 6)"
            )
        found[name] = xp.spread(x, (*np.broadcast_shapes(now.shape[:-2], x.shape[:-1]), x.shape[-1]))
    leading = np.broadcast_shapes(*(x.shape[:-1] for x in found.values()))
    return {name: xp.spread(x, (*leading, x.shape[-1])) for name, x in found.items()}


def _first(count: int) -> Callable[[Any], Any]:
    """Return a function that gives the first numbers of an array."""
    return lambda now: now[..., :count]


def _made(own: Robot, same: dict[str, Any], placed: dict[str, int]) -> Robot:
    """Return a robot with changes that leave numbers as they are; it is made once for the same names."""
    names = tuple((what, tuple(x) if isinstance(x, Mapping) else None) for what, x in same.items())
    return own._kernels.kept(("varied", names, tuple(placed.items())), lambda: own.vary(**same))


def _refuse(robot: Robot, what: str, fold: bool, given: Mapping[str, Any]) -> None:
    if "contact_friction" in given:
        raise ArgumentError(
            f"{what}: contact_friction is for NumPy arrays; contact_step of {robot.name!r} takes friction of others"
        )
    if fold:
        raise ArgumentError(f"{what}: fold=True makes numbers part of the code, so it is for NumPy arrays")


def _unchanged(xp: Arrays, robot: Robot, change: Any) -> Any:
    """Return a change that leaves numbers as they are; of the same names, so that the same numbers vary."""
    if not isinstance(change, Mapping):
        return lambda now: now
    bodies, joints = {b.name for b in robot.bodies}, {c.name for c in robot.joints}
    for name in change:
        if any(x is name or x.name == name for x in robot.links) and name not in bodies | joints:
            raise ArgumentError(
                f"vary: link {getattr(name, 'name', name)!r} was merged into a body; with {xp.kind}, vary the "
                "body, or load the robot with merge=False"
            )
    return {name: lambda now: now for name in change}


def _fields(xp: Arrays, robot: Robot, made: Robot) -> dict[str, Any]:
    """Return all numbers of the fields that vary in `made`, (*leading, *core), with the values of a robot in them."""
    variation, now = made.variation, robot.variation
    assert variation is not None
    found: dict[str, Any] = {x: xp.array(y) for x, y in own_numbers(variation, variation.masks).items()}
    if now is None:
        return found
    values = xp.array(now.values)
    for field, mask in now.masks.items():
        whole = xp.spread(found[field], (*values.shape[:-1], *mask.shape))
        found[field] = xp.put(whole, _at(mask), values[..., list(now.places(field))])
    return found


def _with_fields(xp: Arrays, made: Robot, fields: Mapping[str, Any]) -> Robot:
    """Return a robot whose numbers that vary have the values of these fields."""
    variation = made.variation
    assert variation is not None
    parts = [fields[field][_at(mask)] for field, mask in variation.masks.items()]
    try:
        leading = np.broadcast_shapes(*(x.shape[:-1] for x in parts))
    except ValueError:
        listed = ", ".join(f"{field} {x.shape[:-1]}" for field, x in zip(variation.masks, parts, strict=True))
        raise ArgumentError(
            f"the leading shapes of the parameters of {made.name!r} do not broadcast: {listed}"
        ) from None
    return with_values(made, xp.joined([xp.spread(x, (*leading, x.shape[-1])) for x in parts]))


def _at(mask: Any) -> Any:
    """Return the index of the numbers of a mask, after any leading dimensions."""
    return (..., *np.nonzero(mask))


def _value(xp: Arrays, change: Any, now: Any) -> Any:
    """Return the numbers that a change gives; of a function, what it makes of the present ones."""
    return xp.array(change(now) if callable(change) else change)


def _changed(
    xp: Arrays, what: str, change: Any, now: Any, tail: tuple[int, ...], places: Mapping[str, Any],
    read: Callable[[Any], Any] = lambda x: x,
) -> Any:  # fmt: skip
    """Return numbers (..., N, *tail) that a change makes of the present ones."""
    rank = 1 + len(tail)
    core = now.shape[now.ndim - rank :]
    if not isinstance(change, Mapping):
        found = read(_value(xp, change, now))
        try:
            shape = np.broadcast_shapes(found.shape, core)
        except ValueError:
            shape = ()
        if shape[len(shape) - rank :] != core:
            raise ArgumentError(
                f"{what} has shape {tuple(found.shape)}, which does not broadcast to (..., "
                f"{', '.join(map(str, core))}): give one for all, one for each, or a dictionary by name"
            )
        return xp.spread(found, shape)
    batches: dict[str, tuple[int, ...]] = {}
    for name, value in change.items():
        key = str(getattr(name, "name", name))
        at = places[key]
        where = (..., at, *(slice(None),) * len(tail))
        new = read(_value(xp, value, now[where]))
        own = tail if isinstance(at, int) else (at.stop - at.start,)
        if new.ndim or isinstance(at, int):
            _require_core(f"{what} of {key!r}", new, own)
        batches[repr(key)] = tuple(new.shape[: max(0, new.ndim - len(own))])
        leading = broadcast_shapes(what, tuple(now.shape[: now.ndim - rank]), *batches.values(), names=list(batches))
        now = xp.put(xp.spread(now, (*leading, *core)), where, new)
    return now


def _require_core(what: str, given: Any, core: tuple[int, ...]) -> None:
    """Raise unless the last dimensions of an array are those of one set of numbers."""
    if tuple(given.shape[max(given.ndim - len(core), 0) :]) != core:
        raise ArgumentError(f"{what} has shape {tuple(given.shape)}; expected (..., {', '.join(map(str, core))})")


def _inertia(xp: Arrays, robot: Robot, now: Any, changes: Mapping[str, Any]) -> Any:
    """Return new inertias (..., n, 10) of all bodies, as `parameters.bodies` says in words."""
    places = {b.name: k for k, b in enumerate(robot.bodies)}
    coms = np.array([b.com for b in robot.bodies]).reshape(-1, 3)
    m = now[..., 0]
    whole = xp.where(m == 0.0, 1.0, m)[..., None]
    c = xp.where(m[..., None] == 0.0, coms, now[..., 1:4] / whole)
    I = now[..., 4:] - _steiner(xp, m, xp.where(m[..., None] == 0.0, 0.0, c))
    mass = _changed(xp, "mass", changes["mass"], m, (), places) if "mass" in changes else m
    com = _changed(xp, "com", changes["com"], c, (3,), places) if "com" in changes else c
    scaled = I * xp.where(m == 0.0, 1.0, mass / whole[..., 0])[..., None]
    moments = scaled
    if "inertia" in changes:
        change = changes["inertia"]
        moments = _changed(xp, "inertia", change, xp.spread(I, scaled.shape), (6,), places, _six)
        if isinstance(change, Mapping):
            given = np.isin(list(places), [str(getattr(name, "name", name)) for name in change])
            moments = xp.where(given[:, None], moments, scaled)
    batches = {"mass": mass.shape[:-1], "com": com.shape[:-2], "inertia": moments.shape[:-2]}
    batches = {what: tuple(shape) for what, shape in batches.items() if what in changes}
    shapes = (tuple(now.shape[:-2]), *batches.values())
    leading = (*broadcast_shapes("vary", *shapes, names=list(batches)), len(robot.bodies))
    parts = (mass[..., None], mass[..., None] * com, moments + _steiner(xp, mass, com))
    return xp.joined([xp.spread(x, (*leading, x.shape[-1])) for x in parts])


def _steiner(xp: Arrays, m: Any, c: Any) -> Any:
    """Return the moments of inertia (..., 6) of point masses at places (..., 3)."""
    x, y, z = (c[..., k] for k in range(3))
    return xp.stacked([y * y + z * z, z * z + x * x, x * x + y * y, -x * y, -x * z, -y * z]) * m[..., None]


def _six(given: Any) -> Any:
    """Return moments of inertia (..., 6) from these or from symmetric matrices (..., 3, 3)."""
    return given[..., _ROWS, _COLUMNS] if given.shape[-2:] == (3, 3) else given


def _upper(given: Any) -> Any:
    """Return the 21 numbers of added inertias from these or from symmetric matrices (..., 6, 6)."""
    return given[..., _UPPER[0], _UPPER[1]] if given.shape[-2:] == (6, 6) else given
