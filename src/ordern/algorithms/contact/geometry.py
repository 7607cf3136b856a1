"""Where two solids touch: the gap between them, the axes of the contact, and the forces of unit impulses on the bodies.

    sphere and plane          gap = n . c - height - r
    rim of a cylinder         0: the lowest point; 1: that of the other end; 2, 3: a third of a turn from 0
    spheres and capsules      the nearest points of two segments; a sphere is a segment of no length
    sphere and box            the nearest point of the box; from inside, that of the nearest face
    boxes, capsule and box    several points on a common plane: see `boxes`

Larger solids are several contacts: a capsule on the ground is two spheres, a box eight corners, a cylinder four points.
There are no branches but `where_less`. The axes of a contact are two along the surface, then the normal, which points
from the second solid, or the ground, to the first. Impulses act on the first body, and with the opposite sign on the
second.

Contacts with common axes are one patch: the points of one body on a plane, and those of two solids. A patch is one row
of the problem: see `plate`.

Reference: C. Ericson, Real-time collision detection, 2005, sec. 5.1, for nearest points.
"""

from __future__ import annotations

from typing import Any

from ...graph import Scalar, sqrt, where_less
from ...model import BASE, Field, Frame, Index, PlacedFrame, Tree
from ...model.contacts import Contacts, Ground, ModelContact, Solid
from ...records import dataclass
from ...spatial import Force, Pose
from ...spatial.linear import Vector3, add, cross, dot, matvec, scale, subtract, transpose
from .boxes import FAR, Axes, Manifold, boxes, capsule_and_box, completed
from .cone import larger, least, smaller
from .terrain import surface

__all__ = ["Patch", "Touch", "patches", "touches"]

_TINY = 1e-30
_SAME = 1e-20
"""Points are one where the square of their distance, in m^2, is less."""
UnitLoads = tuple[tuple[Index, tuple[Force, ...]], ...]


@dataclass(frozen=True, slots=True)
class Touch:
    """A contact at one position of the robot."""

    gap: Scalar
    """The distance between the surfaces; negative if the solids overlap."""
    loads: UnitLoads
    """For each body, the forces on it of unit impulses along the axes of the contact; of a patch, moments as well."""
    center: Vector3 = (0.0, 0.0, 0.0)
    """Of a contact with the ground: the center of its sphere, or its point, in the body."""


@dataclass(frozen=True, slots=True)
class Patch:
    """Contacts with common axes."""

    members: tuple[int, ...]
    """Their numbers among all contacts."""
    loads: UnitLoads
    """Forces of unit impulses at the first point, or the origin of the levers; of several points, and of one with
    torsional or rolling friction, moments about the axes as well."""
    levers: tuple[tuple[Scalar, Scalar], ...]
    """Of each contact, where it is along the plane."""
    gaps: tuple[Scalar, ...]
    above: tuple[Scalar, ...]
    """How far each contact is above the height at which all of them are taken, that of the lowest one."""
    overlap: Scalar
    """How far the solids overlap, whichever points are used; negative if they are apart."""


def touches(tree: Tree, P: Field[Pose], contacts: Contacts, heights: Any) -> list[Touch]:
    """Return all contacts, from the poses of bodies and the heights of the ground below the contacts."""
    found: dict[int, Touch] = {}
    for members in _groups(contacts):
        contact = contacts.pairs[members[0]]
        if not contact.meets:
            found |= {k: _touch(tree, P, contacts.pairs[k], contacts.ground, heights[k]) for k in members}
            continue
        m = _manifold(tree, P, contact)
        for k, gap, x in zip(members, m.gaps, m.points, strict=True):
            found[k] = Touch(gap, _loads(tree, P, contact, x, m.axes))
    return [found[k] for k in range(len(found))]


def patches(tree: Tree, P: Field[Pose], contacts: Contacts, heights: Any) -> list[Patch]:
    """Return all contacts, those with common axes together."""
    return [_patch(tree, P, contacts, members, heights) for members in _groups(contacts)]


def _groups(contacts: Contacts) -> list[tuple[int, ...]]:
    """Return the contacts with common axes: those of one body with a plane, and those of two solids that meet."""
    found: dict[Any, list[int]] = {}
    flat = contacts.ground is not None and not contacts.ground.uneven
    for k, contact in enumerate(contacts.pairs):
        level = flat and contact.second is None
        first = k - contact.part if contact.meets else k
        found.setdefault(("body", contact.first.body) if level else ("pair", first), []).append(k)
    return [tuple(members) for members in found.values()]


def _patch(tree: Tree, P: Field[Pose], contacts: Contacts, members: tuple[int, ...], heights: Any) -> Patch:
    contact = contacts.pairs[members[0]]
    if contact.meets:
        m = _manifold(tree, P, contact)
        above = tuple(0.5 * where_less(gap, FAR, gap - least(m.gaps), 0.0) for gap in m.gaps)
        loads = _with_moments(_loads(tree, P, contact, m.origin, m.axes))
        return Patch(members, loads, m.levers, m.gaps, above, m.overlap)
    here = [_touch(tree, P, contacts.pairs[k], contacts.ground, heights[k]) for k in members]
    loads, gaps = here[0].loads, tuple(at.gap for at in here)
    lowest = least(gaps)
    if len(members) == 1:
        if members[0] in contacts.turning:
            loads = _with_moments(loads)
        return Patch(members, loads, ((0.0, 0.0),), gaps, (0.0,), 0.0 - lowest)
    ((body, (x, y, n)),) = loads
    ex, ey = x.linear, y.linear
    by = gaps[0] - lowest  # impulses act at the height of the lowest point
    x, y = Force(subtract(x.angular, scale(by, ey)), ex), Force(add(y.angular, scale(by, ex)), ey)
    arms = [subtract(at.center, here[0].center) for at in here]
    levers = tuple((dot(arm, ex), dot(arm, ey)) for arm in arms)
    above = tuple(gap - lowest for gap in gaps)
    return Patch(members, _with_moments(((body, (x, y, n)),)), levers, gaps, above, 0.0 - lowest)


def _with_moments(loads: UnitLoads) -> UnitLoads:
    """Return forces of impulses along axes and of moments about them."""
    still = (0.0, 0.0, 0.0)
    return tuple((body, (*forces, *(Force(f.linear, still) for f in forces))) for body, forces in loads)


def _manifold(tree: Tree, P: Field[Pose], contact: ModelContact) -> Manifold:
    """Return where two solids meet that have several points."""
    assert contact.second is not None
    A, B = (_pose(tree, P, solid) for solid in (contact.first, contact.second))
    meet = boxes if contact.first.kind == "box" else capsule_and_box
    return meet(A, contact.first.size, B, contact.second.size)


def _loads(tree: Tree, P: Field[Pose], contact: ModelContact, x: Vector3, axes: Axes) -> UnitLoads:
    """Return unit forces at a point of the world, on both bodies but the base."""
    assert contact.second is not None
    first, second = (_placed(tree, solid).body for solid in (contact.first, contact.second))
    moving = [(body, sign) for body, sign in ((first, 1.0), (second, -1.0)) if body.key != BASE]
    return tuple((body, _forces(P[body], x, axes, sign)) for body, sign in moving)


def _touch(tree: Tree, P: Field[Pose], contact: ModelContact, ground: Ground | None, height: Scalar) -> Touch:
    """Return a contact of one point."""
    first = _placed(tree, contact.first)
    if contact.second is None:
        assert ground is not None
        pose = P[first.body]
        if contact.first.kind == "rim":
            at, radius = _rim(pose, first, contact.first, ground.axes[2]), 0.0
        else:
            at, radius = first.placement.r, contact.first.size[0]
        if ground.uneven:
            return _on_terrain(pose, first.body, at, radius, ground, height, contact.part)
        return _on_ground(pose, first.body, at, radius, ground.axes, height)
    A, B = (_pose(tree, P, solid) for solid in (contact.first, contact.second))
    if contact.second.kind == "box":
        x, n, gap = _sphere_box(A.position, contact.first.size[0], B, contact.second.size)
    else:
        x, n, gap = _segments(A, contact.first, B, contact.second)
    return Touch(gap, _loads(tree, P, contact, x, completed(n)))


def _pose(tree: Tree, P: Field[Pose], solid: Solid) -> Pose:
    frame = _placed(tree, solid)
    return frame.pose(P[frame.body])


def _placed(tree: Tree, solid: Solid) -> PlacedFrame:
    return tree.frame(Frame("", solid.body, solid.placement))


def _on_ground(pose: Pose, body: Index, at: Vector3, radius: float, axes: Axes, height: Scalar) -> Touch:
    """Return the contact of a sphere and a plane; its point and axes are computed in the body."""
    back = transpose(pose.rotation)
    x, y, n = (matvec(back, e) for e in axes)
    arm = subtract(at, scale(radius, n))
    gap = dot(axes[2], pose.point(at)) - (height + radius)
    return Touch(gap, ((body, (_force(arm, x), _force(arm, y), _force(arm, n))),), at)


def _on_terrain(
    pose: Pose, body: Index, at: Vector3, radius: float, ground: Ground, height: Scalar, part: int
) -> Touch:
    """Return the contact of a sphere and steps or a height field."""
    ex, ey, en = ground.axes
    centre = pose.point(at)
    gap, (nx, ny, nz) = surface(ground, (dot(ex, centre), dot(ey, centre), dot(en, centre) - height), radius, part)
    n = add(add(scale(nx, ex), scale(ny, ey)), scale(nz, en))
    t = cross(ey, n)  # steps and fields are never steep along y
    t = scale(1.0 / sqrt(dot(t, t)), t)
    return Touch(gap, ((body, _forces(pose, subtract(centre, scale(radius, n)), (t, cross(n, t), n), 1.0)),), at)


def _rim(pose: Pose, f: PlacedFrame, solid: Solid, normal: Vector3) -> Vector3:
    """Return a point on the rim of a cylinder, in the body: the lowest one, or one that belongs to it.

    Upright, all points of the end are equally low; then they are chosen by the x axis of the cylinder.
    """
    radius, length, which = solid.size
    turned = f.placement.rotation
    n = turned.apply(matvec(transpose(pose.rotation), normal))  # in the axes of the cylinder
    square = n[0] * n[0] + n[1] * n[1]
    k = 1.0 / sqrt(larger(square, 1e-16))
    x, y = where_less(square, 1e-16, 1.0, 0.0 - k * n[0]), where_less(square, 1e-16, 0.0, 0.0 - k * n[1])
    end = where_less(n[2], 0.0, 0.5, -0.5) if which != 1.0 else where_less(n[2], 0.0, -0.5, 0.5)
    if which > 1.0:
        c, s = -0.5, (0.5 if which == 2.0 else -0.5) * 3.0**0.5
        x, y = c * x - s * y, s * x + c * y
    return add(f.placement.r, turned.back((radius * x, radius * y, length * end)))


def _force(arm: Vector3, along: Vector3) -> Force:
    return Force(cross(arm, along), along)


def _forces(pose: Pose, x: Vector3, axes: Axes, sign: float) -> tuple[Force, Force, Force]:
    """Return unit forces along axes of the world at a point x of the world, on the body of a pose."""
    back = transpose(pose.rotation)
    arm = matvec(back, subtract(x, pose.position))
    a, b, c = (_force(arm, matvec(back, scale(sign, e))) for e in axes)
    return a, b, c


def _clamped(x: Scalar, most: float) -> Scalar:
    return larger(smaller(x, most), -most) if most else 0.0


def _segments(A: Pose, a: Solid, B: Pose, b: Solid) -> tuple[Vector3, Vector3, Scalar]:
    """Return the point between two spheres or capsules, the normal and the gap."""
    (ra, la), (rb, lb) = ((*s.size, 0.0)[:2] for s in (a, b))
    u, w = (transpose(pose.rotation)[2] for pose in (A, B))
    d = subtract(A.position, B.position)
    k, c, f = (dot(u, w), dot(u, d), dot(w, d)) if la or lb else (0.0, 0.0, 0.0)
    s = _clamped((k * f - c) / larger(1.0 - k * k, 1e-9), la / 2.0)
    t = _clamped(k * s + f, lb / 2.0)
    s = _clamped(k * t - c, la / 2.0)
    there = add(B.position, scale(t, w))
    d = subtract(add(A.position, scale(s, u)), there)
    square = dot(d, d)
    distance = sqrt(square + _TINY)
    over = 1.0 / distance
    x, y, z = (where_less(square, _SAME, e, over * x) for e, x in zip(_away(u, la, w, lb), d, strict=True))
    n: Vector3 = (x, y, z)
    gap = distance - (ra + rb)
    return add(there, scale(rb + 0.5 * gap, n)), n, gap


def _away(u: Vector3, la: float, w: Vector3, lb: float) -> Vector3:
    """Return the normal where two segments of these directions and lengths cross: across both."""
    if not la and not lb:
        return 0.0, 0.0, 1.0
    side = completed(u if la else w)[0]
    if not la or not lb:
        return side
    both = cross(u, w)
    square = dot(both, both)
    k = 1.0 / sqrt(larger(square, 1e-6))
    x, y, z = (where_less(square, 1e-6, e, k * c) for e, c in zip(side, both, strict=True))
    return x, y, z


def _sphere_box(c: Vector3, radius: float, B: Pose, sides: tuple[float, ...]) -> tuple[Vector3, Vector3, Scalar]:
    """Return the point between a sphere and a box, the normal and the gap."""
    half = [side / 2.0 for side in sides]
    y = matvec(transpose(B.rotation), subtract(c, B.position))
    out = tuple(x - _clamped(x, h) for x, h in zip(y, half, strict=True))
    square = dot(out, out)
    distance = sqrt(square + _TINY)
    depths = [h - where_less(x, 0.0, 0.0 - x, x) for x, h in zip(y, half, strict=True)]
    least = smaller(smaller(depths[0], depths[1]), depths[2])
    face: list[Scalar] = []
    taken: Scalar = 0.0  # 1 once a face is chosen
    for depth, x in zip(depths, y, strict=True):
        chosen = where_less(least, depth, 0.0, 1.0 - taken)
        taken = taken + chosen
        face.append(where_less(x, 0.0, 0.0 - chosen, chosen))
    n = tuple(where_less(_TINY, square, o / distance, e) for o, e in zip(out, face, strict=True))
    apart = where_less(_TINY, square, distance, 0.0 - least)
    world = matvec(B.rotation, (n[0], n[1], n[2]))
    gap = apart - radius
    return subtract(c, scale(radius + 0.5 * gap, world)), world, gap
