"""A model under examination, with the quantities that several checks use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..arguments import Array
from ..io.solids import SOLIDS
from ..joints import Cylindrical, Fixed, Helical, Joint, Prismatic, Revolute
from ..model import BASE, Model, Shape
from .geometry import Solid, solid_of

__all__ = ["Subject"]


class Subject:
    """A model, and quantities derived from it on first use."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @cached_property
    def moved(self) -> list[bool]:
        """For each body, True if a joint moves it."""
        found: list[bool] = []
        for c in self.model.joints:
            found.append(c.type.nv > 0 or (c.parent != BASE and found[c.parent]))
        return found

    @cached_property
    def rigid(self) -> dict[int, list[int]]:
        """Bodies that move as one, by the first of them, which a joint with freedoms carries."""
        group: dict[int, list[int]] = {}
        first: list[int] = []
        for k, c in enumerate(self.model.joints):
            head = k if c.type.nv or c.parent == BASE else first[c.parent]
            first.append(head)
            group.setdefault(head, []).append(k)
        return group

    @cached_property
    def turning(self) -> list[Array | None]:
        """The only axis about which each body can turn, in its own axes: zero if it cannot turn, None if several."""
        found: list[Array | None] = []
        for c in self.model.joints:
            above = np.zeros(3) if c.parent == BASE else found[c.parent]
            own = _axis(c.type)
            if above is None or own is None:
                found.append(None)
                continue
            above = c.placement.R.T @ above
            parallel = np.linalg.norm(np.cross(above, own)) < 1e-9
            found.append((own if own.any() else above) if parallel else None)
        return found

    def plane(self, k: int) -> bool:
        """Return True if a body has a moment of inertia about one axis only, and turns about no other."""
        axis, (least, middle, most) = self.turning[k], self.principal[k]
        if axis is None or not axis.any() or not most > 0.0 or not max(abs(least), abs(middle)) <= 1e-9 * most:
            return False
        return bool(np.abs(self.model.bodies[k].inertia_matrix @ axis - most * axis).max() <= 1e-9 * most)

    @cached_property
    def shapes(self) -> list[list[Shape]]:
        """The shapes of each body, and last those of the base."""
        found: list[list[Shape]] = [[] for _ in range(BASE, len(self.model.bodies))]
        for shape in self.model.shapes:
            found[shape.body].append(shape)
        return found

    def solid(self, body: int) -> Solid | None:
        """Return the solid of a body's visual shapes, or of its collision shapes; None if some shapes are meshes."""
        for role in ("visual", "collision"):
            shapes = [s for s in self.shapes[body] if s.role == role]
            if shapes and all(s.kind in SOLIDS for s in shapes):
                return solid_of(shapes)
        return None

    def span(self, body: int, point: Sequence[float]) -> float:
        """Return the distance from a point of a body to the farthest of its joints, those of its children included."""
        at = np.asarray(point)
        places = [np.zeros(3), *(self.model.joints[k].placement.p for k in self.children[body])]
        return max(float(np.linalg.norm(p - at)) for p in places)

    def scale(self, body: int) -> float:
        """Estimate the size of a body of unknown shape, from the distances of its joints, frames and centre of mass."""
        c, b = self.model.joints[body], self.model.bodies[body]
        places = [np.array(f.placement.p) for f in self.model.frames if f.body == body]
        places += [self.model.joints[k].placement.p for k in self.children[body]]
        places += [np.zeros(3), np.array(b.com), c.placement.p]
        return max(float(np.linalg.norm(p)) for p in places)

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of each body, and last those of the base."""
        found: list[list[int]] = [[] for _ in range(BASE, len(self.model.bodies))]
        for k, c in enumerate(self.model.joints):
            found[c.parent].append(k)
        return found

    @cached_property
    def reach(self) -> float:
        """The approximate reach of the robot from its base, along joints and their travel, to the ends of shapes."""
        far = [0.0] * len(self.model.bodies)
        most = 0.0
        for k, c in enumerate(self.model.joints):
            far[k] = (far[c.parent] if c.parent != BASE else 0.0) + float(np.linalg.norm(c.placement.p))
            size = max((solid_of([s]).radius for s in self.shapes[k] if s.kind in SOLIDS), default=0.0)
            most = max(most, far[k] + size)
        for f in self.model.frames:
            if f.body != BASE:
                most = max(most, far[f.body] + float(np.linalg.norm(f.placement.p)))
        return most

    @cached_property
    def principal(self) -> list[Array]:
        """The principal moments of inertia of each body, ascending; zero for a point mass, up to rounding."""
        found = []
        for b in self.model.bodies:
            moments = np.linalg.eigvalsh(b.inertia_matrix)
            size = float(np.abs(moments).max())
            point = size < 1e-12 * b.mass  # less than a micrometre across
            found.append(np.where(point, 0.0, moments))
        return found


def _axis(joint: Joint) -> Array | None:
    """Return the axis about which a joint turns; zero if it does not turn, None if there are several or it is other."""
    if isinstance(joint, (Fixed, Prismatic)):
        return np.zeros(3)
    return np.array(joint.axis, float) if isinstance(joint, (Cylindrical, Helical, Revolute)) else None
