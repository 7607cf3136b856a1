"""Solids for a robot without shapes: tubes between its joints, hubs at its joints, solids with its inertias."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise

import numpy as np

from ..arguments import Array
from ..joints import Free, Joint, Prismatic, RollingDisc, Spherical
from ..model import BASE, Body, Model, Placement
from ..model.poses import body_poses, joint_motions
from ..records import dataclass
from ..rotations import pose as pose_of
from .solids import Solid, along, capsule, cylinder, ellipsoid, round_box

__all__ = ["Axis", "Skeleton", "axis_of", "equivalent"]

_LOOSE = (Free, Spherical, RollingDisc)


@dataclass(frozen=True)
class Axis:
    """The axis of a joint: a point on it, its direction, and whether the joint turns about it or slides along it."""

    point: Array
    direction: Array
    turns: bool

    @property
    def placement(self) -> Array:
        """A pose at the point whose z is along the axis."""
        return along(self.point - self.direction, self.point + self.direction)


def axis_of(joint: Joint) -> Axis | None:
    """Return the axis of a joint with one freedom, in its child's frame."""
    if joint.nv != 1:
        return None
    twist = joint_motions(joint, np.array(joint.neutral()))[:, 0]
    w, v = twist[:3], twist[3:]
    if np.linalg.norm(w) > 1e-9:
        return Axis(np.cross(w, v) / (w @ w), w / np.linalg.norm(w), True)
    return Axis(np.zeros(3), v / np.linalg.norm(v), False) if np.linalg.norm(v) > 1e-9 else None


def equivalent(body: Body) -> tuple[Array, Array] | None:
    """Return the sides of the uniform box with a body's mass and inertia, and its 4x4 placement in the body's frame."""
    if body.mass <= 0.0:
        return None
    moments, axes = np.linalg.eigh(body.inertia_matrix)
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    squares = 6.0 * (moments.sum() - 2.0 * moments) / body.mass
    if squares.max() <= 0.0:
        return None
    sides = np.sqrt(np.maximum(squares, 0.0))
    return np.maximum(sides, 0.05 * sides.max()), pose_of(axes, np.array(body.com))


def _by_body(placed: Iterable[tuple[int, Placement]]) -> dict[int, list[Array]]:
    """Return the positions of placements by body."""
    found: dict[int, list[Array]] = {}
    for body, placement in placed:
        found.setdefault(body, []).append(placement.p)
    return found


class Skeleton:
    """Tubes, hubs and solids of a robot, by body."""

    def __init__(self, model: Model, up: Array) -> None:
        self._model = model
        self._up = up
        self._children = _by_body((c.parent, c.placement) for c in model.joints)
        self._frames = _by_body((f.body, f.placement) for f in model.frames)
        sides = [((x.parent, x.parent_placement), (x.child, x.child_placement)) for x in model.loops]
        self._tied = _by_body(chain.from_iterable(sides))
        self._ends = [self._ends_of(k) for k in range(len(model.bodies))]
        self.size = self._size()
        lengths = [x for ends in self._ends for p in ends if (x := float(np.linalg.norm(p))) > 1e-4 * self.size]
        typical = float(np.median(lengths)) if lengths else self.size
        self.radius = min(0.035 * self.size, 0.2 * typical)
        self._carried = np.array([b.mass for b in model.bodies])  # by each joint
        for k, c in reversed(list(enumerate(model.joints))):
            if c.parent != BASE:
                self._carried[c.parent] += self._carried[k]

    def _ends_of(self, k: int) -> list[Array]:
        """Return the end points of a body, in its frame: joints of children and loops, or frames fixed to it."""

        def away(points: Iterable[Array]) -> list[Array]:
            return [p for p in points if np.linalg.norm(p) > 1e-6]

        ends = self._children.get(k, []) + away(self._tied.get(k, ()))
        opposite = 2.0 * np.array(self._model.bodies[k].com)
        axis = axis_of(self._model.joints[k].type)
        if axis is not None and not axis.turns and np.linalg.norm(np.cross(axis.direction, opposite)) < 1e-6:
            opposite = np.maximum(opposite @ axis.direction, 0.0) * axis.direction  # behind it is the rod of its joint
        return ends or away(self._frames.get(k, ())) or away([opposite])

    def _size(self) -> float:
        points = [np.zeros(3)]
        for k, pose in enumerate(body_poses(self._model, np.array([self._model.neutral()]))[0]):
            points += [pose[:3, 3], *(pose[:3, :3] @ p + pose[:3, 3] for p in self._ends[k])]
        extent = float(np.linalg.norm(np.ptp(np.array(points), axis=0)))
        if extent > 1e-6:
            return extent
        boxes = [found[0].max() for b in self._model.bodies if (found := equivalent(b)) is not None]
        return float(2.0 * max(boxes)) if boxes else 1.0

    def thickness(self, k: int) -> float:
        """Return the radius of a body's tubes: tubes that carry more are thicker."""
        whole = float(self._carried.max(initial=0.0))
        share = self._carried[k] / whole if whole > 0.0 else 1.0
        return self.radius * float(np.clip(1.15 * share ** (1 / 3), 0.55, 1.15))

    def tubes(self, k: int) -> list[Solid]:
        """Return tubes between a body's joint and its ends, along the joint's axis first, as arms are built."""
        r, joint = self.thickness(k), self._model.joints[k].type
        axis = axis_of(joint)
        found = []
        for end in self._ends[k]:
            path = [np.zeros(3), end]
            if axis is not None:
                corner = (end @ axis.direction) * axis.direction
                if min(np.linalg.norm(corner), np.linalg.norm(end - corner)) > 1.2 * r:
                    path.insert(1, corner)
            for a, b in pairwise(path):
                if np.linalg.norm(b - a) > 0.3 * r:
                    found.append(capsule(r, float(np.linalg.norm(b - a))).at(along(a, b)))
        return found + self._sleeves(k)

    def _sleeves(self, k: int) -> list[Solid]:
        """Return the tubes of a body in which its children slide, with its mass centre in the middle."""
        com, found = np.array(self._model.bodies[k].com), []
        for c in self._model.joints:
            axis = axis_of(c.type) if c.parent == k and isinstance(c.type, Prismatic) else None
            if axis is not None:
                direction = c.placement.R @ axis.direction
                length = min(2.0 * float((com - c.placement.p) @ direction), self.size)
                if length > self.thickness(k):
                    start = c.placement.p
                    found.append(cylinder(self.thickness(k), length).at(along(start, start + length * direction)))
        return found

    def rod(self, k: int) -> tuple[Solid, Array] | None:
        """Return the rod of a sliding joint, one metre long, and its 4x4 placement in the body's frame.

        The rod reaches from the body back to the place of its joint on the parent: it is as long as the joint has
        moved, so that a telescopic leg is whole in every position.
        """
        joint = self._model.joints[k].type
        axis = axis_of(joint) if isinstance(joint, Prismatic) else None
        if axis is None:
            return None
        placement = pose_of(along(np.zeros(3), axis.direction)[:3, :3], np.zeros(3))
        return cylinder(0.6 * self.thickness(k), 1.0).at(pose_of(np.eye(3), (0.0, 0.0, -0.5))), placement

    def mass_solid(self, k: int) -> Solid | None:
        """Return a box, or a disc, with the body's inertia, for bodies without tubes."""
        body = self._model.bodies[k]
        found = equivalent(body)
        if found is None or found[0].max() > 2.0 * self.size:
            return None
        sides, T = found
        if len(self._model.bodies) > 1:  # a tool is drawn small
            sides = sides * min(1.0, 0.16 * self.size / float(sides.max()))
        small, middle, large = np.linalg.eigvalsh(body.inertia_matrix)
        if abs(small - middle) < 0.01 * large and large > 1.2 * middle:  # a disc about its third axis
            radius = float(np.sqrt(2.0 * large / body.mass))
            height = float(np.sqrt(max(12.0 * middle / body.mass - 3.0 * radius**2, 0.0)))
            return cylinder(radius, max(height, 0.08 * radius), 0.05 * radius).at(T)
        return round_box(sides, 0.08 * float(sides.max())).at(T)

    def solids(self, k: int) -> list[Solid]:
        """Return all solids of a body but its hub."""
        tubes = self.tubes(k)
        leaf = k not in self._children
        loose = leaf and isinstance(self._model.joints[k].type, _LOOSE) and len(self._model.bodies) == 1
        solid = self.mass_solid(k) if loose or (leaf and not tubes) else None
        if not leaf and not tubes:  # axes that meet, as in a wrist
            solid = ellipsoid([1.45 * self.thickness(k)] * 3)
        return tubes + ([solid] if solid is not None else [])

    def hub(self, k: int) -> Solid | None:
        """Return the solid of the joint that carries a body."""
        joint, r = self._model.joints[k].type, self.thickness(k)
        if isinstance(joint, (Free, RollingDisc)) or not joint.nv:
            return None
        axis = axis_of(joint)
        if axis is None:
            return ellipsoid([1.3 * r] * 3)
        turning, sliding = cylinder(1.35 * r, 2.9 * r, 0.25 * r), round_box((2.5 * r, 2.5 * r, 2.9 * r), 0.3 * r)
        return (turning if axis.turns else sliding).at(axis.placement)

    def tips(self) -> list[tuple[int, Array]]:
        """Return the bodies without children, farthest out first, and their end points in their own frames."""
        depth: list[int] = []
        for c in self._model.joints:
            depth.append(0 if c.parent == BASE else depth[c.parent] + 1)
        leaves = sorted((k for k in range(len(depth)) if k not in self._children), key=lambda k: -depth[k])
        return [(k, max(self._ends[k], key=lambda p: float(p @ p), default=np.zeros(3))) for k in leaves]

    def base(self) -> list[Solid]:
        """Return a foot, and the solids from it to the first joints."""
        roots = [c for c in self._model.joints if c.parent == BASE]
        feet = [c.placement.p for c in roots if not isinstance(c.type, (Free, RollingDisc))]
        if not feet:
            return []
        r = 1.15 * self.radius
        foot = cylinder(2.4 * r, 0.8 * r, 0.2 * r).at(along(-self._up, self._up))
        far = [(p, float(np.linalg.norm(p))) for p in feet if np.linalg.norm(p) > 0.5 * r]
        return [foot, *(cylinder(1.25 * r, length).at(along(np.zeros(3), p)) for p, length in far)]
