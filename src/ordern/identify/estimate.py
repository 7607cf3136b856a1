"""Estimates of a robot's parameters from measured motions and forces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, real_number
from ..declared import explained_methods
from ..errors import ArgumentError, ModelError
from ..records import dataclass
from .base import BaseParameters
from .excitation import SMOOTHING
from .friction import Extra
from .held_out import HeldOut, compared
from .identifiability import information_of
from .near import possible_near
from .reduction import motion_of, reduced
from .springs import known_forces

if TYPE_CHECKING:
    from ..parameters import Parameters
    from ..robot import Robot
    from .log import Log

__all__ = ["Estimate", "force_names"]

_WEAK = 5
"""How many of the least known parameters a report names."""


@explained_methods
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate:
    """Parameters of a robot that were estimated from measured motions, with their uncertainty."""

    base: BaseParameters
    """The base parameters of what was estimated."""
    values: Array
    """(B,): the base parameters."""
    covariance: Array
    """(B, B): their covariance, by the noise of the forces."""
    noise: Array
    """(rows,): the standard deviation of the noise of each force, in one sample."""
    condition: float
    """The condition number of the weighted regressor, with columns of unit length."""
    theta: Array
    """(P,): all parameters. What forces do not determine is as in the robot, or as near to it as is possible."""
    samples: int
    """The number of samples."""
    consistent: bool
    """True if bodies can have these parameters, by construction."""
    held_out: HeldOut | None
    """The comparison with samples that were held out; None if there are none."""
    measured: Robot = field(repr=False)
    """The robot whose motions were measured, with the parameters that it had."""
    smoothing: float = SMOOTHING
    """The velocity within which Coulomb friction is smoothed."""
    method: str = "weighted least squares"
    """How the parameters were found, in words."""
    extra: Extra | None = field(default=None, repr=False)
    """Offsets and Stribeck friction of the joints, if they were estimated."""
    extra_values: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    """(E,): their forces, in the order of `extra.labels`."""
    remarks: tuple[str, ...] = ()
    """What is doubtful: signs, columns and units of the measurements, negative numbers, a poor fit. Empty if all is
    plausible."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the base parameters."""
        return self.base.names

    @property
    def deviations(self) -> Array:
        """(B,): the standard deviations of the base parameters."""
        return np.sqrt(np.diag(self.covariance))

    def intervals(self, level: float = 0.95) -> Array:
        """Return confidence intervals (B, 2) of the base parameters, lower and upper ends, for normal noise."""
        if not 0.0 < real_number(level) < 1.0:
            raise ArgumentError(f"intervals: the level is a number between 0 and 1, such as 0.95, not {level!r}")
        reach = NormalDist().inv_cdf(0.5 + 0.5 * level) * self.deviations
        return np.stack([self.values - reach, self.values + reach], axis=-1)

    @property
    def parameters(self) -> Parameters:
        """The parameters of the robot, with the estimated numbers in them."""
        return self.measured.parameters.with_theta(self.theta)

    @property
    def robot(self) -> Robot:
        """The robot with the estimated parameters.

        Forces leave combinations of parameters open, so that least squares may find a `theta` that no robot has, such
        as a negative mass. Then these are parameters that bodies can have, with the same base parameters within their
        deviations. If there are none, it is an error.
        """
        try:
            return self.measured.with_parameters(self.parameters, fold=True)
        except ModelError as error:
            if self.consistent:
                raise
            theta = possible_near(self)
            if theta is not None:
                return self.measured.with_parameters(self.measured.parameters.with_theta(theta), fold=True)
            doubts = "".join(f" Remark: {x}." for x in self.remarks)
            raise ModelError(
                f"the estimate is one that no robot has: {error}. No bodies have its base parameters, within their "
                f"deviations; check the measurements, or use `identify(..., consistent=True)`.{doubts}"
            ) from None

    def predicted(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the forces of the drives in motions, with damping, friction and the robot's springs, (..., nv)."""
        robot, smoothing = self.measured, self.smoothing
        if robot.nc:
            return np.asarray(robot.actuation_regressor(q, v, a, smoothing=smoothing) @ self.theta)
        forces = robot.inverse_dynamics_regressor(q, v, a, smoothing=smoothing) @ self.theta
        if self.extra is not None:
            given = np.broadcast_to(np.asarray(v, float), forces.shape)
            more = self.extra.columns(given.reshape(-1, robot.nv)) @ self.extra_values
            forces = forces + more.reshape(forces.shape)
        springs = known_forces(robot, q, v)
        return np.asarray(forces if springs is None else forces - springs)

    def check(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike) -> HeldOut:
        """Return how well the estimate predicts forces `tau` of motions that it has not seen."""
        return compared(self.predicted(q, v, a), np.asarray(tau, float), self.noise, self._forces)

    def deviations_with(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the deviations (B,) that the estimate would have with the forces of further motions, (N, ...).

        Compare motions by it before you measure one: the best of them lowers the largest deviations most.
        """
        robot = self.measured
        motion = motion_of(robot, "inverse_dynamics", q, v, a, None, "deviations_with", smoothing=self.smoothing)
        if self.extra is not None:
            motion = replace(motion, extra=self.extra)
        labels = [*robot.parameters.theta_labels, *(self.extra.labels if self.extra is not None else ())]
        columns = np.array([labels.index(self.base.labels[k]) for k in self.base.kept], np.intp)
        F = information_of(reduced(robot, "inverse_dynamics", motion, columns, True), self.noise, len(self.base))
        known = np.isfinite(self.deviations)
        own = np.zeros((len(known), len(known)))
        own[np.ix_(known, known)] = np.linalg.inv(self.covariance[np.ix_(known, known)])
        return np.asarray(np.sqrt(np.diag(np.linalg.pinv(own + F.T @ F, rcond=1e-14, hermitian=True))))

    def by_simulation(self, log: Log, horizon: float = 0.1, prior: float = 0.01) -> Estimate:
        """Return an estimate by output errors: simulations by the measured forces follow the measured positions.

        Simulations begin anew every `horizon` seconds. This estimate is the start; `prior` is as in `identify`, and the
        result is consistent. The log needs equal steps, forces, and velocities to begin with. Deviations are for noise
        in the positions. Noise in the forces disturbs it: use it for good torque sensors and coarse encoders.
        """
        from .output_error import by_simulation

        return by_simulation(self, log, horizon, prior)

    @property
    def weakest(self) -> tuple[str, ...]:
        """The base parameters that are known worst, in multiples of what they contribute; five at most.

        Those that are not determined come first, then those whose deviation is the largest part of their own size.
        """
        sizes = np.maximum(np.abs(self.values), 1e-300)
        order = np.argsort(-(self.deviations / sizes), kind="stable")
        return tuple(self.names[k] for k in order[:_WEAK])

    @property
    def _forces(self) -> tuple[str, ...]:
        return force_names(self.measured)

    @property
    def before(self) -> Array:
        """(B,): the base parameters of the robot as it was."""
        theta = self.measured.parameters.theta
        places = {x: k for k, x in enumerate(self.measured.parameters.theta_labels)}
        return self.base.of_theta(np.array([theta[places[x]] if x in places else 0.0 for x in self.base.labels]))

    @property
    def report(self) -> str:
        """The estimate in words: parameters with deviations, noise of the forces, and the held-out verdict."""
        kind = "consistent estimate" if self.consistent else "estimate"
        lines = [
            f"{self.base.robot!r}: {kind}, by {self.method}, of {len(self.base)} base parameters from {self.samples} "
            f"samples, condition number {self.condition:.3g}."
        ]
        before = self.before
        lines.append(f"{'estimate':>12} {'deviation':>12} {'before':>12}  parameter")
        for name, x, s, old in zip(self.names, self.values, self.deviations, before, strict=True):
            lines.append(f"{x:12.5g} {s:12.3g} {old:12.5g}  {name}")
        lines.append("Noise of the forces: " + ", ".join(_pairs(self._forces, self.noise)) + ".")
        lines.append(
            f"Known worst, in parts of their size: {'; '.join(self.weakest)}. Motions that excite them help most."
        )
        if self.held_out is not None:
            lines.append(self.held_out.report)
        lines += [f"Remark: {x}." for x in self.remarks]
        return "\n".join(lines)

    def save_report(self, path: str | os.PathLike[str], log: Log, notes: Sequence[str] = ()) -> None:
        """Write a page of HTML: measured and predicted forces of a log, parameters with intervals, and the verdict.

        `log` has the samples of the estimate, with those that were held out at its end. `notes` are further sentences.
        """
        from ..io.writing import replacing
        from .page import page

        text = page(self, log, (notes,) if isinstance(notes, str) else notes)
        with replacing(path) as file:
            file.write(text.encode())

    def __repr__(self) -> str:
        kind = "consistent" if self.consistent else "least squares"
        doubts = f", {len(self.remarks)} remarks: see `report`" if self.remarks else ""
        return (
            f"<Estimate of {self.base.robot!r}: {len(self.base)} base parameters from {self.samples} samples, {kind}, "
            f"condition {self.condition:.3g}{doubts}>"
        )

    __str__ = __repr__


def force_names(robot: Robot) -> tuple[str, ...]:
    """Return a name for each measured force: those of the joints, with an index where one has several freedoms."""
    sizes = {c.name: c.nv for c in robot.joints if not c.mimic}
    if robot.nc:
        known = sizes | {x.loop.name: x.loop.nv for x in robot.loop_table.loops}
        sizes = {name: known[name] for name in robot.actuated}
    return tuple(f"{name}[{k}]" if n > 1 else name for name, n in sizes.items() for k in range(n))


def _pairs(names: Sequence[str], numbers: Array) -> list[str]:
    return [f"{name} {x:.3g}" for name, x in zip(names, numbers, strict=True)]
