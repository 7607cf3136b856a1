"""The parts of a robot that are drawn: its own shapes or, without shapes, a skeleton, in colours."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from ..arguments import Array
from ..joints import Free
from ..model import BASE, Model, Shape
from ..model.poses import body_poses
from ..records import dataclass
from .meshes import Coloured, MeshError, find_mesh, read_mesh
from .skeleton import Skeleton
from .solids import Solid, box, capsule, cylinder, ellipsoid

__all__ = ["Colour", "Looks", "Part", "colours", "shades"]

Colour = tuple[int, int, int]
HUB: Colour = (104, 112, 128)
FOOT: Colour = (128, 136, 150)
METAL: Colour = (214, 217, 222)
COLLISION: Colour = (240, 140, 60)
_HUES = ((0.0, 0.45, 0.75, 1.0), (0.475, 0.62, 0.78, 0.93))
"""Along the robot: the hue, from teal over blue and violet to rose."""

_SOLIDS: dict[str, Callable[[list[float]], Solid]] = {
    "box": box,
    "sphere": lambda size: ellipsoid(size * 3),
    "ellipsoid": ellipsoid,
    "cylinder": lambda size: cylinder(*size),
    "capsule": lambda size: capsule(*size),
}


@dataclass(frozen=True, eq=False)
class Part:
    """A piece of a body, or of the base (-1), in its frame."""

    body: int
    solid: Solid
    colour: Colour
    opacity: float = 1.0
    collision: bool = False
    rod: Array | None = None
    """The placement (4, 4) on the body of the rod of a sliding joint, whose length along z changes with the joint."""


def colours(n: int) -> list[Colour]:
    """Return a colour for each of n bodies and for the curves of their joints."""
    hues = np.interp(np.arange(n) / max(n - 1, 1), *_HUES)
    return [_bytes(colorsys.hls_to_rgb(float(hue), 0.6, 0.62)) for hue in hues]


def shades(colour: Colour, n: int) -> list[Colour]:
    """Return n shades of a colour, one for each coordinate of a joint, each darker than the one before."""
    return [_bytes([(1.0 - 0.6 * i / max(n, 2)) * x / 255 for x in colour]) for i in range(n)]


def _bytes(rgb: Sequence[float]) -> Colour:
    """Return a colour in whole numbers from 0 to 255; the given ones are from 0 to 1."""
    r, g, b = (round(255 * x) for x in rgb)
    return r, g, b


class Looks:
    """The parts of a robot, its size, and the meshes that were not found."""

    def __init__(self, model: Model) -> None:
        self.model = model
        gravity = np.array(model.gravity)
        self.up = -gravity / np.linalg.norm(gravity) + 0.0 if gravity.any() else np.array([0.0, 0.0, 1.0])
        self.colours = colours(len(model.bodies))
        self.missing: dict[str, str] = {}
        """Files of meshes that are not shown, and why."""
        self.skeleton = Skeleton(model, self.up)
        self._read: dict[tuple[str, tuple[float, ...]], list[Coloured]] = {}
        visual = [p for s in model.shapes if s.role == "visual" for p in self._parts(s)]
        solid = [p for s in model.shapes if s.role == "collision" for p in self._parts(s)]
        if not visual:  # collision shapes replace them
            palette = {BASE: FOOT, **dict(enumerate(self.colours))}
            visual, solid = [Part(p.body, p.solid, palette[p.body]) for p in solid], []
        shown = {p.body for p in visual}
        self.parts = (*visual, *solid, *self._bones(shown))
        corners = self.corners(self.model.neutral()[None])
        extent = float(np.linalg.norm(np.ptp(corners, axis=0))) if len(corners) else 0.0
        self.size = extent if extent > 1e-6 else self.skeleton.size

    def _bones(self, shown: set[int]) -> Iterator[Part]:
        """Yield the skeleton: all of it, or the bodies with mass and without a shape."""
        for solid in () if shown else self.skeleton.base():
            yield Part(BASE, solid, FOOT)
        for k, body in enumerate(self.model.bodies):
            if k in shown or (shown and body.mass <= 0.0):
                continue
            for solid in self.skeleton.solids(k):
                yield Part(k, solid, self.colours[k])
            if (hub := self.skeleton.hub(k)) is not None:
                yield Part(k, hub, HUB)
            if (rod := self.skeleton.rod(k)) is not None:
                yield Part(k, rod[0], HUB, rod=rod[1])

    def _parts(self, shape: Shape) -> Iterator[Part]:
        collision = shape.role == "collision"
        for solid, own in self._solids(shape):
            rgba = shape.color or own
            if collision:
                colour, opacity = COLLISION, 0.35
            elif rgba is None:
                colour, opacity = METAL, 1.0
            else:
                *rgb, opacity = (float(np.clip(x, 0, 1)) for x in rgba)
                colour = _bytes(rgb)
            yield Part(shape.body, solid.at(shape.placement.matrix), colour, opacity, collision)

    def _solids(self, shape: Shape) -> list[Coloured]:
        if shape.kind != "mesh":
            make = _SOLIDS.get(shape.kind)  # a plane has no solid: the ground is drawn anyway
            return [] if make is None else [(make([abs(x) for x in shape.size]), None)]
        key = (shape.file, shape.size)
        if key not in self._read and shape.file not in self.missing:
            try:
                self._read[key] = read_mesh(find_mesh(self.model, shape), shape.size)
            except MeshError as e:
                self.missing[shape.file] = str(e)
            except ImportError:
                self.missing[shape.file] = "needs trimesh: pip install 'ordern[view]'"
        return self._read.get(key, [])

    def corners(self, q: Array) -> Array:
        """Return the corners (N, 3), in the world, of boxes around all parts at positions (T, nq)."""
        poses = body_poses(self.model, q)
        found = [poses[..., :3, 3].reshape(-1, 3), np.zeros((0 if self.floats else 1, 3))]
        for part in self.parts:
            if part.rod is not None:
                continue
            low, high = part.solid.vertices.min(axis=0), part.solid.vertices.max(axis=0)
            box = np.array(list(product(*zip(low, high, strict=True))))
            if part.body == BASE:
                found.append(box)
            else:
                T = poses[:, part.body]
                found.append((box @ T[:, :3, :3].swapaxes(1, 2) + T[:, None, :3, 3]).reshape(-1, 3))
        return np.concatenate(found)

    def length(self, part: Part, poses: Array) -> float:
        """Return the length of a rod for poses of the bodies (n, 4, 4): how far its joint has moved."""
        c = self.model.joints[part.body]
        parent = np.eye(4) if c.parent == BASE else poses[c.parent]
        hinge = parent[:3, :3] @ c.placement.p + parent[:3, 3]
        assert part.rod is not None
        length = float((poses[part.body, :3, 3] - hinge) @ poses[part.body, :3, :3] @ part.rod[:3, 2])
        return length if abs(length) > 1e-6 else 1e-6

    @property
    def floats(self) -> bool:
        """True if all roots of the robot are on free joints."""
        return all(isinstance(c.type, Free) for c in self.model.joints if c.parent == BASE) and bool(self.model.joints)
