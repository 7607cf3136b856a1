"""`Robot.with_contacts`: which solids can touch, from given points or from the collision shapes of the file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import whole_number
from ..errors import ArgumentError, unknown_name
from ..joints import Placement
from ..model.contacts import Contacts, Ground, ModelContact, Solid, coefficient
from ..model.parts import BASE, Shape

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["chosen_contacts"]

_ROUND = ("sphere", "capsule")
_USUAL = 1.0
"""The friction of surfaces of a file that does not say it; it is MuJoCo's."""


def chosen_contacts(
    model: Model, ground: Ground | None, points: Any, bodies: Iterable[str] | None, pairs: Iterable[Sequence[str]],
    self_collision: bool, friction: float | None, restitution: float | None, limits: bool, sweeps: int,
) -> Contacts:  # fmt: skip
    """Return the contacts of `Robot.with_contacts`; raise if something cannot touch."""
    if ground is not None and not isinstance(ground, Ground):
        raise ArgumentError(f"with_contacts: ground must be on.Ground(friction, ...) or None, not {ground!r}")
    pairs = list(pairs)
    given = ground is not None
    if ground is None and not pairs and not self_collision:
        ground = _plane(model)
    if ground is None and (points is not None or bodies is not None):
        raise ArgumentError("with_contacts: points and bodies touch the ground, but there is none; give on.Ground(...)")
    if model.nc:
        loops = ", ".join(list(model.loop_rows)[:5])
        raise ArgumentError(f"with_contacts: {model.name!r} has loops or couplings ({loops}); contacts are for trees")
    follower = next((c.name for c in model.joints if c.mimic is not None), None)
    if follower is not None:
        raise ArgumentError(
            f"with_contacts: joint {follower!r} of {model.name!r} follows another (mimic), which steps with contacts "
            "do not handle; lock it with robot.lock"
        )
    surface = [coefficient(1.0 if x is None else x, f"with_contacts: {what}", most) for x, what, most in (
        (friction, "friction", math.inf), (restitution, "restitution", 1.0))]  # fmt: skip
    found = [] if ground is None else _on_ground(model, ground, points, bodies, given)
    between = [*_pairs(model, pairs), *(_all_pairs(model) if self_collision else [])]
    mu = 0.8 if friction is None else surface[0]
    e = 0.0 if restitution is None else surface[1]
    found += [ModelContact(name, a, b, mu, e) for name, a, b in between]
    if not found:
        raise ArgumentError(
            f"with_contacts: nothing of {model.name!r} can touch; give on.Ground(...), or pairs of bodies"
        )
    limited = tuple(_limited(model)) if limits else ()
    return Contacts(ground, tuple(found), limited, whole_number(sweeps, "with_contacts: `sweeps`", 1))


def _limited(model: Model) -> Iterable[int]:
    """Return the bodies whose joints have one coordinate with limits."""
    for k, c in enumerate(model.joints):
        if c.mimic is None and (c.type.nq, c.type.nv) == (1, 1) and np.isfinite([*c.lower, *c.upper]).any():
            yield k


# the ground --------------------------------------------------------------------------------------------------------


def _plane(model: Model) -> Ground | None:
    """Return the ground of the file: the first plane that is fixed to the base, with the friction of its surface."""
    for shape in _collision_shapes(model, {BASE}):
        if shape.kind == "plane":
            at = shape.placement
            x, y, z = at.rotation[2::3]
            mu = _USUAL if shape.friction is None else shape.friction
            return Ground(mu, normal=(x, y, z), height=float(np.dot((x, y, z), at.position)))
    return None


def _on_ground(
    model: Model, ground: Ground, points: Any, bodies: Iterable[str] | None, given: bool
) -> list[ModelContact]:
    """Return all contacts with the ground; that of a file has the larger friction of both surfaces, as in MuJoCo."""
    spheres = [] if points is None else [(*point, 0.0) for point in _given_points(model, points)]
    if points is None or bodies is not None:
        spheres += _shapes_on_ground(model, bodies)
    names = _distinct(name for name, _, _ in spheres)
    return [
        ModelContact(name, solid, None, ground.friction if given else max(ground.friction, mu), ground.restitution)
        for name, (_, solid, mu) in zip(names, spheres, strict=True)
    ]


def _given_points(model: Model, points: Any) -> Iterable[tuple[str, Solid]]:
    """Return spheres at frames: by names, by (name, radius), or as a dictionary of radii."""
    if isinstance(points, (str, bytes)) or not isinstance(points, Iterable):
        raise ArgumentError(f"with_contacts: points must be a list of frames, not {points!r}")
    for point in points.items() if isinstance(points, Mapping) else points:
        name, radius = point if isinstance(point, (tuple, list)) and len(point) == 2 else (point, 0.0)
        frame = model.frame(name)
        if frame.body == BASE:
            raise ArgumentError(f"with_contacts: frame {frame.name!r} is fixed to the base, which does not move")
        size = coefficient(radius, f"with_contacts: the radius of {frame.name!r}")
        yield frame.name, Solid(frame.body, "sphere", (size,), Placement(position=frame.placement.position))


def _shapes_on_ground(model: Model, bodies: Iterable[str] | None) -> list[tuple[str, Solid, float]]:
    """Return the spheres and corners of the collision shapes of bodies, and their friction; by default of all."""
    chosen = set(range(len(model.bodies))) if bodies is None else {_body(model, name) for name in bodies}
    found: list[tuple[str, Solid, float]] = []
    for shape in _collision_shapes(model, chosen):
        mu = _USUAL if shape.friction is None else shape.friction
        found += [(*sphere, mu) for sphere in _spheres(model, shape)]
    if not found:
        listed = "its bodies" if bodies is None else ", ".join(map(repr, bodies))
        raise ArgumentError(
            f"with_contacts: no collision shapes of {listed} in {model.name!r}; give points=[...], frames with radii"
        )
    return found


def _spheres(model: Model, shape: Shape) -> list[tuple[str, Solid]]:
    """Return the spheres that stand for a shape on the ground."""
    name = _name(model, shape)
    if shape.kind in _ROUND:
        radius, length = (*shape.size, 0.0)[:2]
        ends = (0.0,) if shape.kind == "sphere" else (-0.5 * length, 0.5 * length)
        places = [(0.0, 0.0, z) for z in ends]
    elif shape.kind == "box":
        radius = 0.0
        x, y, z = (side / 2.0 for side in shape.size)
        places = [(a * x, b * y, c * z) for a, b, c in product((-1.0, 1.0), repeat=3)]
    else:
        raise _cannot(name, shape.kind, "the ground", "give points=[...], frames with radii, in its place")
    at = shape.placement
    return [(name, Solid(shape.body, "sphere", (radius,), at @ Placement(position=p))) for p in places]


# pairs of bodies ---------------------------------------------------------------------------------------------------


def _pairs(model: Model, pairs: Iterable[Sequence[str]]) -> list[tuple[str, Solid, Solid]]:
    found = []
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise ArgumentError(f"with_contacts: pairs has two names of bodies each, not {pair!r}")
        first, second = (_body(model, name) for name in pair)
        if first == second:
            raise ArgumentError(f"with_contacts: a body does not touch itself, but a pair is {tuple(pair)!r}")
        here = _between(model, first, second)
        if not here:
            raise ArgumentError(
                f"with_contacts: {pair[0]!r} and {pair[1]!r} cannot touch: both need collision shapes, one must move"
            )
        found += here
    return found


def _all_pairs(model: Model) -> list[tuple[str, Solid, Solid]]:
    """Return all pairs of shapes on bodies that no joint connects."""
    parents = [c.parent for c in model.joints]
    found = []
    for a in range(len(model.bodies)):
        for b in range(a):
            if parents[a] != b:
                found += _between(model, a, b)
    return found


def _between(model: Model, first: int, second: int) -> list[tuple[str, Solid, Solid]]:
    """Return the contacts between all collision shapes of two bodies."""
    if first == second == BASE:
        return []
    found: list[tuple[str, Solid, Solid]] = []
    for a, b in product(_collision_shapes(model, {first}), _collision_shapes(model, {second})):
        name = f"{_name(model, a)} - {_name(model, b)}"
        if a.kind in _ROUND and b.kind in _ROUND:
            contacts = [(_solid(a), _solid(b))]
        elif "box" in (a.kind, b.kind) and {a.kind, b.kind} <= {*_ROUND, "box"}:
            contacts = [(s, _solid(b)) for _, s in _spheres(model, a)] if b.kind == "box" else []
            contacts += [(s, _solid(a)) for _, s in _spheres(model, b)] if a.kind == "box" else []
        else:
            kind = next(s.kind for s in (a, b) if s.kind not in (*_ROUND, "box"))
            raise _cannot(name, kind, "another body", "spheres, capsules and boxes can")
        found += [(name, *pair) for pair in contacts]
    return [(name, a, b) for name, (_, a, b) in zip(_distinct(n for n, _, _ in found), found, strict=True)]


def _solid(shape: Shape) -> Solid:
    return Solid(shape.body, shape.kind, tuple(map(float, shape.size)), shape.placement)


def _collision_shapes(model: Model, bodies: set[int]) -> list[Shape]:
    return [s for s in model.shapes if s.role == "collision" and s.body in bodies]


def _cannot(name: str, kind: str, other: str, advice: str) -> ArgumentError:
    return ArgumentError(f"with_contacts: shape {name!r} is a {kind}, which cannot touch {other}: {advice}")


def _body(model: Model, name: str) -> int:
    if name == model.base:
        return BASE
    for k, body in enumerate(model.bodies):
        if body.name == name:
            return k
    raise unknown_name("body", name, (model.base, *(b.name for b in model.bodies)), model.name)


def _name(model: Model, shape: Shape) -> str:
    owner = model.base if shape.body == BASE else model.bodies[shape.body].name
    return shape.name or owner


def _distinct(names: Iterable[str]) -> list[str]:
    """Return names, with numbers behind those that occur several times."""
    listed = list(names)
    counts: dict[str, int] = {}
    found = []
    for name in listed:
        counts[name] = counts.get(name, 0) + 1
        found.append(f"{name}.{counts[name]}" if listed.count(name) > 1 else name)
    return found
