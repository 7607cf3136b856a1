"""The numbers of bodies in a fluid as entries of their rows, in the axes of the working frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..joints import Placement
from ..records import dataclass
from .fluid import Drag, EllipsoidDrag, in_frame, matrix_of

if TYPE_CHECKING:
    from .parts import Body

__all__ = ["FluidColumns", "fluid_rows"]

_UPPER = np.triu_indices(6)
_ADDED, _DISPLACED, _DRAG, _ELLIPSOID = 21, 4, 12 + 12, 12 + 16


@dataclass(frozen=True, slots=True)
class FluidColumns:
    """The entries of rows for a fluid: the same for all bodies of a model."""

    start: int
    inertial: bool
    """True if some body has added inertia, or displaces fluid."""
    drags: int
    """The largest number of `Drag`s of a body. Bodies with fewer have some that are zero."""
    ellipsoids: int
    """The largest number of `EllipsoidDrag`s of a body."""

    @property
    def added(self) -> slice:
        """The 21 numbers of the added inertia."""
        return slice(self.start, self.start + _ADDED)

    @property
    def displaced(self) -> slice:
        """The mass of the displaced fluid, and its first moments."""
        return slice(self.added.stop, self.added.stop + _DISPLACED)

    def drag(self, k: int) -> slice:
        """The axes and origin of a drag's frame, linear and quadratic coefficients."""
        start = self.displaced.stop + k * _DRAG
        return slice(start, start + _DRAG)

    def ellipsoid(self, k: int) -> slice:
        """The axes and origin of an ellipsoid's frame, its semi-axes, the fluid, coefficients, virtual masses."""
        start = self.drag(self.drags).start + k * _ELLIPSOID
        return slice(start, start + _ELLIPSOID)


def fluid_rows(bodies: Sequence[Body], Q: Array, start: int) -> tuple[FluidColumns | None, Array]:
    """Return where the entries are, and the entries of all bodies; Q turns working axes to the bodies' own."""
    drags = [[d for d in b.drags if isinstance(d, Drag)] for b in bodies]
    ellipsoids = [[d for d in b.drags if isinstance(d, EllipsoidDrag)] for b in bodies]
    inertial = any(b.added_inertia or b.displaced for b in bodies)
    most = [max(map(len, x), default=0) for x in (drags, ellipsoids)]
    if not (inertial or any(most)):
        return None, np.zeros((len(bodies), 0))
    columns = FluidColumns(start, inertial, *most)
    rows = np.zeros((len(bodies), columns.ellipsoid(most[1]).start - start))
    for row, body, turn, own, solid in zip(rows, bodies, Q, drags, ellipsoids, strict=True):
        working = Placement(tuple(turn.T.ravel().tolist()))
        if body.added_inertia:
            row[columns.added.start - start : columns.added.stop - start] = in_frame(
                matrix_of(body.added_inertia), working
            )[_UPPER]
        if body.displaced:
            mass, *centre = body.displaced
            row[columns.displaced.start - start : columns.displaced.stop - start] = (mass, *(mass * turn.T @ centre))
        entries: list[tuple[slice, Drag | EllipsoidDrag, tuple[float, ...]]]
        entries = [(columns.drag(k), d, (*d.linear, *d.quadratic)) for k, d in enumerate(own)]
        entries += [(columns.ellipsoid(k), d, _numbers(d)) for k, d in enumerate(solid)]
        for where, d, numbers in entries:
            at = working @ d.at
            row[where.start - start : where.stop - start] = (*at.R.T.ravel(), *at.p, *numbers)
    return columns, rows


def _numbers(d: EllipsoidDrag) -> tuple[float, ...]:
    coefficients = (d.blunt, d.slender, d.angular, d.kutta, d.magnus)
    return (*d.semi_axes, d.density, d.viscosity, *coefficients, *d.virtual_mass, *d.virtual_inertia)
