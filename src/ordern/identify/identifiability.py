"""How well given motions determine the parameters of a robot, before any force is measured.

With independent noise of standard deviation s_r in force r, least squares has the covariance

    C = (sum over r of R_r^T R_r / s_r^2)^-1

whatever the forces are: no unbiased estimate has smaller deviations (Cramer and Rao). The condition number is that of
the weighted regressor with columns of unit length: by how much errors of the regressor itself can grow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, choice, positive, real
from ..declared import explained_methods
from ..errors import ArgumentError
from ..records import dataclass
from .base import BaseParameters
from .excitation import REGRESSORS, SMOOTHING, base_parameters
from .reduction import Row, motion_of, reduced

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Identifiability", "Spectrum", "identifiability", "information_of", "noise_of"]

_BLIND = 1e-7
"""Directions whose singular value, with columns of unit length, is below this part of the largest are not excited."""
_WEAK = 0.1
"""A deviation above this part of the parameter counts as weak."""


@explained_methods
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Identifiability:
    """The base parameters of a robot that given motions determine, and how well."""

    base: BaseParameters
    """The base parameters."""
    samples: int
    """The number of samples."""
    condition: float
    """The condition number of the weighted regressor, with columns of unit length; infinite if some are not excited."""
    deviations: Array
    """(B,): the standard deviation of each base parameter; infinite if the motions do not excite it."""
    values: Array
    """(B,): the base parameters of the robot as it is."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the base parameters."""
        return self.base.names

    @property
    def relative(self) -> Array:
        """(B,): the deviations, divided by the sizes of the parameters as they are; infinite where these are zero."""
        sizes = np.abs(self.values)
        return np.where(sizes > 0.0, self.deviations / np.where(sizes > 0.0, sizes, 1.0), np.inf)

    @property
    def unexcited(self) -> tuple[str, ...]:
        """The base parameters that these motions do not determine, though other motions can."""
        return tuple(x for x, s in zip(self.names, self.deviations, strict=True) if not np.isfinite(s))

    @property
    def weak(self) -> tuple[str, ...]:
        """The base parameters whose deviation is above a tenth of their size, the worst first."""
        finite = np.isfinite(self.deviations)
        order = [k for k in np.argsort(-self.relative) if finite[k] and self.relative[k] > _WEAK]
        return tuple(self.names[k] for k in order)

    @property
    def report(self) -> str:
        """How well each parameter is determined, in words."""
        lines = [
            f"{self.base.robot!r}, {self.base.of}: {self.samples} samples, {len(self.base)} base parameters, condition "
            f"number {self.condition:.3g}."
        ]
        if self.unexcited:
            lines.append(f"These motions do not determine {len(self.unexcited)} of them: {'; '.join(self.unexcited)}.")
        lines.append(f"{'value':>12} {'deviation':>12} {'relative':>9}  parameter")
        for name, x, s, part in zip(self.names, self.values, self.deviations, self.relative, strict=True):
            share = f"{100 * part:.3g} %" if np.isfinite(part) else "-"
            lines.append(f"{x:12.5g} {s:12.3g} {share:>9}  {name}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        missing = f", {len(self.unexcited)} not excited" if self.unexcited else ""
        return (
            f"<Identifiability of {self.base.robot!r}: {len(self.base)} base parameters from {self.samples} samples, "
            f"condition {self.condition:.3g}{missing}>"
        )

    __str__ = __repr__


def identifiability(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    noise: ArrayLike = 1.0,
    of: str = "inverse_dynamics",
    smoothing: ArrayLike = SMOOTHING,
    base: BaseParameters | None = None,
) -> Identifiability:
    """See `Robot.identifiability`."""
    choice("regressor", of, REGRESSORS)
    found = base_parameters(robot, of) if base is None else base
    more = {"smoothing": smoothing} if of == "inverse_dynamics" else {}
    motion = motion_of(robot, of, q, v, a, None, "identifiability", **more)
    rows = reduced(robot, of, motion, found.kept, exact=True)
    seen = Spectrum.of(information_of(rows, noise_of(noise, len(rows), "identifiability"), len(found)))
    values = found.of_theta(robot.parameters.theta)
    return Identifiability(found, len(motion), seen.condition, np.sqrt(np.diag(seen.covariance)), values)


def noise_of(noise: ArrayLike, rows: int, what: str) -> Array:
    """Return the standard deviation of the noise of each force."""
    given = real(noise, "noise", (rows,))
    if given.shape not in ((), (rows,)):
        raise ArgumentError(f"{what}: noise has shape {given.shape}; expected one number, or {rows}")
    for x in given.flat:
        positive(x, "noise")
    return np.broadcast_to(given, (rows,))


def information_of(rows: list[Row], noise: Array, count: int) -> Array:
    """Return the weighted rows (.., count) whose products are the inverse of the covariance, without the forces."""
    parts = []
    for row, s in zip(rows, noise, strict=True):
        wide = np.zeros((len(row.factor), count))
        wide[:, row.columns] = row.factor[:, :-1] / s
        parts.append(wide)
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True)
class Spectrum:
    """The singular values of weighted rows, with columns of unit length."""

    U: Array
    s: Array
    Vt: Array
    lengths: Array
    """The lengths of the columns; 1 for columns that are zero."""
    zero: NDArray[np.bool_]
    """The columns that are zero."""

    @classmethod
    def of(cls, F: Array) -> Spectrum:
        """Decompose weighted rows."""
        lengths = np.linalg.norm(F, axis=0)
        zero = lengths == 0.0
        lengths = np.where(zero, 1.0, lengths)
        return cls(*np.linalg.svd(F / lengths, full_matrices=False), lengths, zero)

    @property
    def blind(self) -> NDArray[np.bool_]:
        """The directions that are not excited."""
        return np.asarray(self.s <= _BLIND * self.s.max(initial=0.0))

    @property
    def inverse(self) -> Array:
        """The inverse singular values, zero for directions that are not excited."""
        return np.asarray(np.where(self.blind, 0.0, 1.0 / np.where(self.s > 0.0, self.s, 1.0)))

    @property
    def condition(self) -> float:
        """The condition number; infinite if some directions are not excited."""
        return np.inf if self.blind.any() or not len(self.s) else float(self.s.max() / self.s.min())

    @property
    def covariance(self) -> Array:
        """The covariance of the parameters; the variance of those that are not determined is infinite."""
        C = (self.Vt.T * self.inverse**2) @ self.Vt / np.outer(self.lengths, self.lengths)
        # a parameter that takes part in a direction without excitation is not determined
        unknown = (np.abs(self.Vt[self.blind]) > _BLIND).any(axis=0) | self.zero
        C[unknown, unknown] = np.inf
        return np.asarray(C)
