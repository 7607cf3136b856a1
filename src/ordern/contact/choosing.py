"""`Robot.with_contacts`: which solids can touch, from given points or from the collision shapes of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import whole_number
from ..errors import ArgumentError, unknown_name
from ..io.remarks import some
from ..io.warnings import warn
from ..joints import Placement
from ..model.contact_terms import Friction, friction_of
from ..model.contacts import MEETING, Contacts, Ground, ModelContact, Solid, coefficient, limited_joints
from ..model.parts import BASE, Shape
from .convex import ConvexSolids, require_coal
from .rules import FileRules

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["chosen_contacts"]

_ROUND = ("sphere", "capsule")
_CLOSED = (*_ROUND, "box", "cylinder")
"""Shapes that touch the ground in closed form."""
_GROUNDS = ("plane", "hfield")
"""Shapes of the base that are the ground."""
Between = tuple[str, Solid, Solid, Friction | None]
"""The name of a contact, its solids, and the coefficients of friction that its file gives."""


def chosen_contacts(
    model: Model, ground: Ground | None, points: Any, bodies: Iterable[str] | None, pairs: Iterable[Sequence[str]],
    self_collision: bool, friction: float | None, restitution: float | None, limits: bool, sweeps: int,
    convex: bool = False, scene: bool | None = None,
) -> Contacts:  # fmt: skip
    """Return the contacts of `Robot.with_contacts`; raise if something cannot touch."""
    if ground is not None and not isinstance(ground, Ground):
        raise ArgumentError(f"with_contacts: ground must be on.Ground(friction, ...) or None, not {ground!r}")
    pairs = list(pairs)
    plane = _plane(model) if ground is None and not pairs else None
    if plane is not None:
        ground = _ground_of(plane)
    scenic = bool(_static(model)) and (bool(scene) or (scene is None and points is None))
    if ground is None and (points is not None or bodies is not None) and not scenic:
        raise ArgumentError("with_contacts: points and bodies touch the ground, but there is none; give on.Ground(...)")
    if isinstance(bodies, (str, bytes)) or (bodies is not None and not (bodies := list(bodies))):
        raise ArgumentError(f"with_contacts: bodies must be a list of names, and not empty, not {bodies!r}")
    for name, x in (("limits", limits), ("convex", convex), ("scene", scene)):
        if not isinstance(x, (bool, np.bool_)) and not (name == "scene" and x is None):
            raise ArgumentError(f"with_contacts: {name} must be True or False, not {x!r}")
    _require_steps(model)
    own = _given_friction(friction, restitution)
    rules, solids = FileRules(model), ConvexSolids(model) if convex else None
    found = [] if ground is None else _on_ground(model, ground, points, bodies, plane, rules, solids, own)
    between = [*_pairs(model, pairs, rules, solids), *(_all_pairs(model, rules, solids) if self_collision else [])]
    if scene or (scene is None and (self_collision or (points is None and not pairs))):
        on_points = points if scene else None
        chosen = None if self_collision else bodies if bodies is not None or points is None else []
        between += _on_scene(model, on_points, chosen, rules, solids, {x[1:3] for x in between})
    elif scene is None:
        _warn_of_scene(model, between)
    if not self_collision and not pairs and points is None and bodies is None:
        _warn_of_bodies(model, rules)
    if convex and between:
        require_coal()
    unused = not between and plane is None and ground is not None and ground.friction is not None
    if unused and not (friction is None and restitution is None):
        raise ArgumentError(
            "with_contacts: friction= and restitution= apply to contacts between bodies and to the ground of a file; "
            "for your own ground, give on.Ground(friction, restitution=...)"
        )
    found += _numbered(_contact(name, a, b, own(mu), convex) for name, a, b, mu in between)
    if not found:
        why = " by the rules of its file" if plane else ": there are no points" if ground is not None else ""
        advice = "give frames in points=[...], or" if ground is not None and not plane else "give on.Ground(...), or"
        raise ArgumentError(f"with_contacts: nothing of {model.name!r} can touch{why}; {advice} pairs of bodies")
    limited = limited_joints(model) if limits else ()
    return Contacts(ground, tuple(found), limited, whole_number(sweeps, "with_contacts: `sweeps`", 1))


def _given_friction(friction: float | None, restitution: float | None) -> Callable[[Friction | None], Friction]:
    """Return the coefficients of contacts between bodies, from those of their shapes, if the file has some."""
    mu = 0.8 if friction is None else coefficient(friction, "with_contacts: friction")
    e = 0.0 if restitution is None else coefficient(restitution, "with_contacts: restitution", 1.0)

    def own(found: Friction | None) -> Friction:
        if found is None:
            return Friction(mu, restitution=e)
        found = found if friction is None else Friction(mu, restitution=found.restitution)
        return found if restitution is None else replace(found, restitution=e)

    return own


def _contact(name: str, first: Solid, second: Solid | None, mu: Friction, convex: bool = False) -> ModelContact:
    if convex and (mu.torsional or mu.rolling):
        raise ArgumentError(
            f"with_contacts: contact {name!r} has torsional or rolling friction, which contacts of convex shapes have "
            "not: give friction=..., or a ground without them"
        )
    return ModelContact(name, first, second, mu.sliding, mu.restitution, mu.torsional, mu.rolling, convex=convex)


def _numbered(contacts: Iterable[ModelContact]) -> Iterable[ModelContact]:
    """Number the points at which two solids meet."""
    part, last = 0, None
    for c in contacts:
        part = part + 1 if last is not None and c.meets and (c.first, c.second) == (last.first, last.second) else 0
        last = replace(c, part=part % MEETING[c.first.kind, c.second.kind]) if c.meets and c.second else c
        yield last


def _require_steps(model: Model) -> None:
    """Raise if the loops and mimic joints of a robot are not for steps with contacts."""
    timed = next((x.loop.name for x in model.loop_table.loops if x.type.timed), None)
    if timed is not None:
        raise ArgumentError(
            f"with_contacts: loop {timed!r} of {model.name!r} is driven by time; robot.simulate supports such loops"
        )
    follower = next((c.name for c in model.joints if c.mimic is not None), None)
    if model.nc and follower is not None:
        raise ArgumentError(
            f"with_contacts: {model.name!r} has loops or couplings, and joint {follower!r} follows another (mimic): "
            "steps with contacts handle one of both; couple it with builder.couple, or lock it with robot.lock"
        )


# the ground --------------------------------------------------------------------------------------------------------


def _plane(model: Model) -> Shape | None:
    """Return the plane or height field of the file that is fixed to the base; raise if there are several."""
    planes = [shape for shape in _collision_shapes(model, {BASE}) if shape.kind in _GROUNDS]
    if len(planes) > 1:
        raise ArgumentError(
            f"with_contacts: {model.name!r} has {len(planes)} planes or height fields, and there is one ground: give "
            "on.Ground(...)"
        )
    return planes[0] if planes else None


def _ground_of(plane: Shape) -> Ground:
    """Return a plane of the file as the ground."""
    at = plane.placement
    x, y, z = at.rotation[2::3]
    mu = friction_of(plane.friction, plane.contact)
    height = float(np.dot((x, y, z), at.position))
    flat = Ground(mu.sliding, mu.restitution, (x, y, z), height, mu.torsional, mu.rolling)
    if plane.kind == "plane":
        return flat
    axes = np.array(flat.axes)
    if not np.allclose(axes.T, at.R, rtol=0.0, atol=1e-9):
        raise ArgumentError(
            f"with_contacts: the height field {plane.name!r} is turned about its normal; give on.Ground(heights=...)"
        )
    centre, (a, b) = axes[:2] @ at.p, plane.size
    return replace(flat, heights=plane.heights, size=(a, b), centre=(float(centre[0]), float(centre[1])))


def _on_ground(
    model: Model, ground: Ground, points: Any, bodies: Iterable[str] | None, plane: Shape | None, rules: FileRules,
    solids: ConvexSolids | None, own: Callable[[Friction | None], Friction],
) -> list[ModelContact]:  # fmt: skip
    """Return all contacts with the ground; with the plane of a file, they follow the rules of the file.

    Coefficients of the file pass through `own`, which has those given to `with_contacts`.
    """
    given = _friction_of_ground(ground)
    spheres: list[tuple[str, Solid, Friction]] = []
    if points is not None:
        if given is None:
            raise ArgumentError("with_contacts: points have no friction of a file; give on.Ground(friction=...)")
        given = given if plane is None else own(given)
        spheres += [(*point, given) for point in _given_points(model, points)]
    if points is None or bodies is not None:
        for shape in _shapes_on_ground(model, bodies, plane, rules):
            if plane is None:
                mu = given or own(friction_of(shape.friction, shape.contact))
            else:
                mu = own(rules.friction(shape, plane))
            if solids is not None and shape.kind not in _CLOSED and not ground.uneven:
                spheres.append((_name(model, shape), solids.of(shape, _name(model, shape)), mu))
            else:
                spheres += [(*sphere, mu) for sphere in _spheres(model, shape, hulls=bodies is not None)]
    names = _distinct(name for name, _, _ in spheres)
    whole = ("ellipsoid", "hull")
    found = [
        _contact(name, solid, None, mu, solid.kind in whole)
        for name, (_, solid, mu) in zip(names, spheres, strict=True)
    ]
    edges = [replace(c, name=f"{c.name} edge", part=1) for c in found] if ground.steps else []
    return found + edges


def _friction_of_ground(ground: Ground) -> Friction | None:
    """Return the coefficients of the ground; None if those of each shape count."""
    if ground.friction is None:
        return None
    return Friction(ground.friction, ground.torsional, ground.rolling, ground.restitution)


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


def _shapes_on_ground(model: Model, bodies: Iterable[str] | None, plane: Shape | None, rules: FileRules) -> list[Shape]:
    """Return the collision shapes of bodies, by default of all, that may touch the ground."""
    chosen = set(range(len(model.bodies))) if bodies is None else {_body(model, name) for name in bodies}
    shapes = _collision_shapes(model, chosen)
    if not shapes:
        listed = "its bodies" if bodies is None else ", ".join(map(repr, bodies))
        raise ArgumentError(
            f"with_contacts: no collision shapes of {listed} in {model.name!r}; give points=[...], frames with radii"
        )
    return [shape for shape in shapes if plane is None or rules.touch(shape, plane, asked=bodies is not None)]


def _spheres(model: Model, shape: Shape, *, hulls: bool = False) -> list[tuple[str, Solid]]:
    """Return the spheres and points that stand for a shape on the ground; meshes have some if `hulls` are allowed."""
    name = _name(model, shape)
    if shape.kind in _ROUND:
        radius, length = (*shape.size, 0.0)[:2]
        ends = (0.0,) if shape.kind == "sphere" else (-0.5 * length, 0.5 * length)
        places = [(0.0, 0.0, z) for z in ends]
    elif shape.kind == "box":
        radius = 0.0
        x, y, z = (side / 2.0 for side in shape.size)
        places = [(a * x, b * y, c * z) for a, b, c in product((-1.0, 1.0), repeat=3)]
    elif shape.kind == "cylinder":
        radius, length = map(float, shape.size)
        return [(name, Solid(shape.body, "rim", (radius, length, float(k)), shape.placement)) for k in range(4)]
    elif shape.kind == "mesh" and hulls:
        from .hulls import hull_corners  # most robots have none

        radius, places = 0.0, [(x, y, z) for x, y, z in hull_corners(model, shape, name).tolist()]
    else:
        advice = "name its body in bodies=[...] for the corners of its hull, or " if shape.kind == "mesh" else ""
        whole = "" if shape.kind in _GROUNDS else '; simulate(contacts="compliant") has it whole, with convex=True'
        in_place = f"{advice}give points=[...], frames with radii, in its place{whole}"
        raise _cannot(name, shape.kind, "the ground", in_place)
    at = shape.placement
    return [(name, Solid(shape.body, "sphere", (radius,), at @ Placement(position=p))) for p in places]


# pairs of bodies ---------------------------------------------------------------------------------------------------


def _pairs(
    model: Model, pairs: Iterable[Sequence[str]], rules: FileRules, solids: ConvexSolids | None
) -> list[Between]:
    found = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ArgumentError(f"with_contacts: pairs has two names of bodies each, not {pair!r}")
        first, second = (_body(model, name) for name in pair)
        if first == second:
            raise ArgumentError(f"with_contacts: a body does not touch itself, but a pair is {tuple(pair)!r}")
        here = _between(model, first, second, rules, solids, asked=True)
        if not here:
            raise ArgumentError(
                f"with_contacts: {pair[0]!r} and {pair[1]!r} cannot touch: both need collision shapes whose bits "
                "(contype, conaffinity) agree, and one must move"
            )
        found += here
    return found


def _all_pairs(model: Model, rules: FileRules, solids: ConvexSolids | None) -> list[Between]:
    """Return all pairs of shapes of moving bodies that touch by the rules of the file."""
    both = [(a, b) for a in range(len(model.bodies)) for b in range(a)]
    return [pair for a, b in both for pair in _between(model, a, b, rules, solids)]


def _between(
    model: Model, first: int, second: int, rules: FileRules, solids: ConvexSolids | None, *, asked: bool = False,
    otherwise: str = "",
) -> list[Between]:  # fmt: skip
    """Return the contacts between the collision shapes of two bodies; errors end with what to do `otherwise`."""
    if first == second == BASE:
        return []
    found: list[Between] = []
    for a, b in product(_collision_shapes(model, {first}), _collision_shapes(model, {second})):
        if not rules.touch(a, b, asked=asked) or (not asked and {a.kind, b.kind} & set(_GROUNDS)):
            continue
        name = f"{_name(model, a)} - {_name(model, b)}"
        if solids is not None:
            contacts = [(solids.of(a, _name(model, a)), solids.of(b, _name(model, b)))]
        elif a.kind in _ROUND and b.kind in _ROUND:
            contacts = [(_solid(a), _solid(b))]
        elif "box" in (a.kind, b.kind) and {a.kind, b.kind} <= {*_ROUND, "box"}:
            round_first = (a, b) if b.kind == "box" else (b, a)
            contacts = [(_solid(round_first[0]), _solid(round_first[1]))]
            contacts *= MEETING.get((round_first[0].kind, "box"), 1)
        else:
            one, other = (a, b) if a.kind not in (*_ROUND, "box") else (b, a)
            advice = "" if one.kind in _GROUNDS else "; with convex=True, all convex shapes and hulls of meshes can"
            what = f"shape {_name(model, other)!r} of another body"
            raise _cannot(_name(model, one), one.kind, what, f"spheres, capsules and boxes can{advice}{otherwise}")
        known = any(x is not None for s in (a, b) for x in (s.friction, s.contact)) or rules.pair(a, b)
        mu = rules.friction(a, b) if known or model.contact_rules is not None else None
        found += [(name, *pair, mu) for pair in contacts]
    return [(name, a, b, mu) for name, (_, a, b, mu) in zip(_distinct(x[0] for x in found), found, strict=True)]


# static geometry ---------------------------------------------------------------------------------------------------


def _on_scene(
    model: Model, points: Any, bodies: Iterable[str] | None, rules: FileRules, solids: ConvexSolids | None,
    taken: set[tuple[Solid, Solid | None]],
) -> list[Between]:  # fmt: skip
    """Return the contacts with static geometry: the shapes on the base, but for planes and height fields.

    Points touch all of it; shapes of `bodies`, by default of all, touch it by the rules of the file. Pairs that were
    `taken` before are left out.
    """
    found: list[Between] = []
    if points is not None:
        given = list(_given_points(model, points))
        touched = [x for shape in _static(model) for point in given for x in _point_on(model, *point, shape)]
        found += [(name, *x[1:]) for name, x in zip(_distinct(x[0] for x in touched), touched, strict=True)]
    chosen = range(len(model.bodies)) if bodies is None else [_body(model, name) for name in bodies]
    for k in dict.fromkeys(chosen):
        found += _between(model, k, BASE, rules, solids, otherwise=_WITHOUT)
    found = [x for x in found if x[1:3] not in taken]
    if len(found) > _MOST:
        raise ArgumentError(
            f"with_contacts: {model.name!r} has {len(found)} contacts with {len(_static(model))} static shapes; code "
            f"for more than {_MOST} would take minutes to compile: name the bodies that touch in "
            f"bodies=[...], make stairs on.Ground(steps=...) and terrain on.Ground(heights=...){_WITHOUT}"
        )
    return found


_MOST = 256
"""Contacts with static geometry; 90 of them take about 12 s to compile."""
_WITHOUT = "; or give scene=False, so that nothing touches the static shapes"


def _static(model: Model) -> list[Shape]:
    return [s for s in _collision_shapes(model, {BASE}) if s.kind not in _GROUNDS]


def _point_on(model: Model, name: str, point: Solid, shape: Shape) -> Iterable[Between]:
    """Return the contact of a point or sphere with a static shape; none with the base that its own joint connects."""
    joint = model.joints[point.body]
    if model.contact_rules is None and joint.parent == BASE and joint.type.nv < 6:
        return
    if shape.kind not in (*_ROUND, "box"):
        advice = f"spheres, capsules and boxes can{_WITHOUT}"
        raise _cannot(_name(model, shape), shape.kind, f"point {name!r}", advice)
    known = shape.friction is not None or shape.contact is not None or model.contact_rules is not None
    mu = friction_of(shape.friction, shape.contact) if known else None
    yield f"{name} - {_name(model, shape)}", point, _solid(shape), mu


def _warn_of_scene(model: Model, between: Sequence[Between]) -> None:
    """Warn if the static geometry of a scene touches nothing, though nobody said that it should not."""
    met = {solid for _, a, b, _ in between for solid in (a, b)}
    missed = [_name(model, s) for s in _static(model) if _solid(s) not in met]
    if missed and model.contact_rules is not None:
        warn(
            f"with_contacts: the points and pairs of {model.name!r} pass through {len(missed)} static shapes of its "
            f"file ({some([repr(x) for x in missed], 3)}): give scene=True so that they touch, or scene=False"
        )


def _warn_of_bodies(model: Model, rules: FileRules) -> None:
    """Warn if bodies that no joints connect pass through each other, though nobody said that they should."""
    roots: list[int] = []
    for k, c in enumerate(model.joints):
        roots.append(k if c.parent == BASE else roots[c.parent])
    if roots.count(0) == len(roots):
        return
    shapes = _collision_shapes(model, set(range(len(model.bodies))))
    missed = dict.fromkeys(
        f"{model.bodies[a.body].name} - {model.bodies[b.body].name}"
        for a, b in combinations(shapes, 2)
        if roots[a.body] != roots[b.body] and rules.touch(a, b)
    )
    if missed:
        warn(
            f"with_contacts: bodies of {model.name!r} that no joints connect pass through each other "
            f"({some(list(missed), 3)}): give self_collision=True, or pairs=[...] of bodies that touch"
        )


def _solid(shape: Shape) -> Solid:
    return Solid(shape.body, shape.kind, tuple(map(float, shape.size)), shape.placement)


def _collision_shapes(model: Model, bodies: set[int]) -> list[Shape]:
    return [s for s in model.shapes if s.role == "collision" and s.body in bodies]


def _cannot(name: str, kind: str, other: str, advice: str) -> ArgumentError:
    article = "an" if kind[0] in "aeiou" else "a"
    return ArgumentError(f"with_contacts: shape {name!r} is {article} {kind}, which cannot touch {other}: {advice}")


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
