"""Where two solids touch: the gap between them, the axes of the contact, and the forces of unit impulses on the bodies.

    sphere and plane          gap = n . c - height - r
    rim of a cylinder         0: the lowest point; 1: that of the other end; 2, 3: a third of a turn from 0
    spheres and capsules      the nearest points of two segments; a sphere is a segment of no length
    sphere and box            the nearest point of the box; from inside, that of the nearest face

Larger solids are several contacts: a capsule on the ground is two spheres, a box eight corners, a cylinder four points.
There are no branches but `where_less`. The axes of a contact are two along the surface, then the normal, which points
from the second solid, or the ground, to the first. Impulses act on the first body, and with the opposite sign on the
second.

Reference: C. Ericson, Real-time collision detection, 2005, sec. 5.1, for nearest points.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Scalar, sqrt, where_less
from ...model import BASE, Field, Frame, Index, PlacedFrame, Tree
from ...model.contacts import Ground, ModelContact, Solid
from ...records import dataclass
from ...spatial import Force, Pose
from ...spatial.linear import Vector3, add, cross, dot, matvec, scale, subtract, transpose
from .cone import larger, smaller
from .terrain import surface

__all__ = ["Touch", "plate", "touch", "with_moments"]

_TINY = 1e-30
Axes = tuple[Vector3, Vector3, Vector3]


@dataclass(frozen=True, slots=True)
class Touch:
    """A contact at one position of the robot."""

    gap: Scalar
    """The distance between the surfaces; negative if the solids overlap."""
    loads: tuple[tuple[Index, tuple[Force, ...]], ...]
    """For each body, the forces on it of unit impulses along the axes of the contact; of a plate, moments as well."""
    centre: Vector3 = (0.0, 0.0, 0.0)
    """Of a contact with the ground: the centre of its sphere, or its point, in the body."""


def touch(tree: Tree, P: Field[Pose], contact: ModelContact, ground: Ground | None, height: Scalar) -> Touch:
    """Return a contact, from the poses of bodies and the height of the ground below the contact."""
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
    second = _placed(tree, contact.second)
    A, B = (f.pose(P[f.body]) for f in (first, second))
    if contact.second.kind == "box":
        x, n, gap = _sphere_box(A.position, contact.first.size[0], B, contact.second.size)
    else:
        x, n, gap = _segments(A, contact.first, B, contact.second)
    axes = _completed(n)
    moving = [(f, s) for f, s in ((first, 1.0), (second, -1.0)) if f.body.key != BASE]
    return Touch(gap, tuple((f.body, _forces(P[f.body], x, axes, s)) for f, s in moving))


def plate(touches: Sequence[Touch]) -> tuple[Touch, list[tuple[Scalar, Scalar]]]:
    """Return contacts of one body with the ground as one of six numbers, and where they are from the first, level.

    The numbers are the impulse at the first point, taken at the height of the lowest, and the moment about it.
    """
    lowest = touches[0].gap
    for other in touches[1:]:
        lowest = smaller(lowest, other.gap)
    ((body, (x, y, n)),) = touches[0].loads
    ex, ey, en = (f.linear for f in (x, y, n))
    by = touches[0].gap - lowest
    x, y = Force(subtract(x.angular, scale(by, ey)), ex), Force(add(y.angular, scale(by, ex)), ey)
    moments = (Force(e, (0.0, 0.0, 0.0)) for e in (ex, ey, en))
    arms = [subtract(other.centre, touches[0].centre) for other in touches]
    return Touch(lowest, ((body, (x, y, n, *moments)),)), [(dot(arm, ex), dot(arm, ey)) for arm in arms]


def with_moments(at: Touch) -> Touch:
    """Return a contact with six numbers: its impulse, and the moment about its axes."""
    still = (0.0, 0.0, 0.0)
    return Touch(
        at.gap, tuple((body, (*forces, *(Force(f.linear, still) for f in forces))) for body, forces in at.loads)
    )


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
    u, w = (tuple(row[2] for row in pose.rotation) for pose in (A, B))
    d = subtract(A.position, B.position)
    k, c, f = (dot(u, w), dot(u, d), dot(w, d)) if la or lb else (0.0, 0.0, 0.0)
    s = _clamped((k * f - c) / larger(1.0 - k * k, 1e-9), la / 2.0)
    t = _clamped(k * s + f, lb / 2.0)
    s = _clamped(k * t - c, la / 2.0)
    there = add(B.position, scale(t, w))
    d = subtract(add(A.position, scale(s, u)), there)
    distance = sqrt(dot(d, d) + _TINY)
    n = scale(1.0 / distance, d)
    gap = distance - (ra + rb)
    return add(there, scale(rb + 0.5 * gap, n)), n, gap


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


def _completed(n: Vector3) -> Axes:
    """Return two directions across n, and n."""
    steep = n[0] * n[0]
    x, y = where_less(steep, 0.5, 1.0, 0.0), where_less(steep, 0.5, 0.0, 1.0)
    t = cross((x, y, 0.0), n)
    t = scale(1.0 / sqrt(dot(t, t)), t)
    return t, cross(n, t), n
