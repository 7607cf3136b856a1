"""Whole convex shapes as solids of contacts: those of `Robot.with_contacts(convex=True)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ArgumentError
from ..model.contacts import Solid
from ..simulate.results.tables import library

if TYPE_CHECKING:
    from ..model import Model
    from ..model.parts import Shape

__all__ = ["ConvexSolids", "require_coal"]

_KINDS = ("box", "sphere", "capsule", "cylinder", "ellipsoid")


def require_coal() -> None:
    """Raise if coal is not there, which contacts between convex shapes need."""
    library("coal", "with_contacts: a contact between bodies with convex=True", "convex")


class ConvexSolids:
    """The shapes of a model as solids, each made once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._made: dict[int, Solid] = {}

    def of(self, shape: Shape, name: str) -> Solid:
        """Return a shape as a solid; that of a mesh is its hull. Messages use the name."""
        if id(shape) not in self._made:
            self._made[id(shape)] = self._solid(shape, name)
        return self._made[id(shape)]

    def _solid(self, shape: Shape, name: str) -> Solid:
        size = tuple(map(float, shape.size))
        if shape.kind == "mesh":
            from .hulls import hull_vertices  # most robots have none

            corners = hull_vertices(self._model, shape, name)
            return Solid(shape.body, "hull", tuple(corners.ravel().tolist()), shape.placement)
        if shape.kind not in _KINDS:
            raise ArgumentError(
                f"with_contacts: shape {name!r} is a {shape.kind}, which is not convex and bounded; with convex=True, "
                f"{', '.join(_KINDS)} and hulls of meshes can touch"
            )
        if min(size[:1] if shape.kind == "capsule" else size) <= 0.0:
            raise ArgumentError(
                f"with_contacts: shape {name!r} is a {shape.kind} of the size {size}, which has no volume"
            )
        return Solid(shape.body, shape.kind, size, shape.placement)
