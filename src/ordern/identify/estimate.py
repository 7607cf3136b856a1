"""Estimates of a robot's parameters from measured motions and forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, choice, positive, real_number
from ..errors import ArgumentError, ModelError
from ..records import dataclass
from .base import BaseParameters, from_columns
from .consistent import Prior, possible_theta
from .excitation import random_rows
from .held_out import HeldOut, compared
from .identifiability import information_of, noise_of
from .least_squares import Solution, measured_of, solve
from .reduction import Motion, Row, motion_of, reduced
from .springs import known_forces

if TYPE_CHECKING:
    from ..parameters import Parameters
    from ..robot import Robot

__all__ = ["Estimate", "force_names", "identify"]

_LARGEST = 1e5
"""The largest condition number for which sums of products are used: its square leaves six digits."""


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
    smoothing: float | None = None
    """The velocity within which Coulomb friction is smoothed."""

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
        """The robot with the estimated parameters."""
        try:
            return self.measured.with_parameters(self.parameters, fold=True)
        except ModelError as error:
            if self.consistent:
                raise
            raise ModelError(
                f"the estimate is one that no robot has: {error}. Least squares alone do not keep to what bodies can "
                "have; use `identify(..., consistent=True)`"
            ) from None

    def predicted(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Return the forces of the drives in motions, with damping, friction and the robot's springs, (..., nv)."""
        robot, smoothing = self.measured, self.smoothing
        if robot.nc:
            return np.asarray(robot.actuation_regressor(q, v, a, smoothing=smoothing) @ self.theta)
        forces = robot.inverse_dynamics_regressor(q, v, a, smoothing=smoothing) @ self.theta
        springs = known_forces(robot, q, v)
        return np.asarray(forces if springs is None else forces - springs)

    def check(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike) -> HeldOut:
        """Return how well the estimate predicts forces `tau` of motions that it has not seen."""
        return compared(self.predicted(q, v, a), np.asarray(tau, float), self.noise, self._forces)

    @property
    def _forces(self) -> tuple[str, ...]:
        return force_names(self.measured)

    @property
    def report(self) -> str:
        """The estimate in words: parameters with deviations, noise of the forces, and the held-out verdict."""
        kind = "consistent estimate" if self.consistent else "weighted least squares"
        lines = [
            f"{self.base.robot!r}: {kind} of {len(self.base)} base parameters from {self.samples} samples, condition "
            f"number {self.condition:.3g}."
        ]
        before = self.base.of_theta(_part(self.measured.parameters.theta, self.measured, self.base))
        lines.append(f"{'estimate':>12} {'deviation':>12} {'before':>12}  parameter")
        for name, x, s, old in zip(self.names, self.values, self.deviations, before, strict=True):
            lines.append(f"{x:12.5g} {s:12.3g} {old:12.5g}  {name}")
        lines.append("Noise of the forces: " + ", ".join(_pairs(self._forces, self.noise)) + ".")
        if self.held_out is not None:
            lines.append(self.held_out.report)
        return "\n".join(lines)

    def __repr__(self) -> str:
        kind = "consistent" if self.consistent else "least squares"
        return (
            f"<Estimate of {self.base.robot!r}: {len(self.base)} base parameters from {self.samples} samples, {kind}, "
            f"condition {self.condition:.3g}>"
        )

    __str__ = __repr__


def identify(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    tau: ArrayLike,
    only: Sequence[str] | None = None,
    noise: ArrayLike | None = None,
    consistent: bool = False,
    prior: float = 0.01,
    smoothing: float | None = None,
    held_out: float = 0.0,
    average: int = 1,
    exact: bool = False,
) -> Estimate:
    """See `Robot.identify`."""
    if not 0.0 <= real_number(held_out) < 1.0:
        raise ArgumentError(
            f"identify: held_out is the part of the samples to hold out, from 0 up to 1, not {held_out!r}"
        )
    positive(prior, "prior")
    more: dict[str, Any] = {} if smoothing is None else {"smoothing": positive(smoothing, "smoothing", zero=True)}
    motion = motion_of(robot, "inverse_dynamics", q, v, a, tau, "identify", **more)
    springs = known_forces(robot, *motion.states[:2])
    own = robot.parameters.theta
    chosen = _chosen(robot, only)
    known = own.copy()
    known[chosen] = 0.0
    used = len(motion) - round(held_out * len(motion))
    each = _whole(average, used)
    inertial = motion.tau if springs is None else motion.tau + springs
    if only is None and not inertial.any():
        raise ArgumentError(
            "identify: all forces are zero, and parameters of zero explain them; measure the forces of the drives, or "
            "name with `only` what to estimate beside parameters that are known"
        )
    learned = Motion(motion.states, inertial, motion.more, known, each).some(slice(0, used))
    labels = robot.parameters.theta_labels
    rows = random_rows(robot, "inverse_dynamics")[:, chosen]
    base = from_columns(rows, [labels[k] for k in chosen], robot.name, "inverse_dynamics")
    given = None if noise is None else noise_of(noise, motion.tau.shape[-1], "identify") / np.sqrt(each)
    if given is None:
        _require_enough(used // each, motion.tau.shape[-1], len(base))
    factors, free = _solved(robot, learned, chosen, base, given, exact)
    theta = own.copy()
    if consistent:
        found, theta[chosen] = _consistent(base, factors, free, own[chosen], prior)
    else:
        found = _determined(free, base)
        theta[chosen] = base.theta_near(found.x, own[chosen])
    estimate = Estimate(
        base, found.x, found.covariance, found.noise * np.sqrt(each), found.condition, theta, used, consistent, None,
        robot, smoothing,
    )  # fmt: skip
    if used == len(motion):
        return estimate
    rest = motion.some(slice(used, None))
    positions, velocities, accelerations = rest.states
    return replace(estimate, held_out=estimate.check(positions, velocities, accelerations, rest.tau))


def _whole(average: int, samples: int) -> int:
    """Return how many samples are averaged."""
    if average not in range(1, samples + 1):
        raise ArgumentError(
            f"identify: average is how many of the {samples} samples are replaced by their mean, a whole number from 1 "
            f"up; not {average!r}"
        )
    return int(average)


def _require_enough(samples: int, rows: int, count: int) -> None:
    """Raise if forces leave nothing over from which their noise could be estimated."""
    if samples * rows <= count:
        raise ArgumentError(
            f"identify: {samples} samples of {rows} forces are too few for {count} base parameters and the noise of "
            "forces: take more samples, estimate fewer parameters with `only`, or give the `noise` and let a prior "
            "decide with `consistent=True`"
        )


def _solved(
    robot: Robot, motion: Motion, chosen: NDArray[np.intp], base: BaseParameters, noise: Array | None, exact: bool
) -> tuple[list[Row], Solution]:
    """Return the factors of the forces, and the least squares; by QR if sums of products would lose too many digits."""
    for how in (exact, True):
        factors = reduced(robot, "inverse_dynamics", motion, chosen[base.kept], how)
        found = solve(factors, len(base), noise)
        if how or found.condition < _LARGEST:
            break
    return factors, found


def _determined(found: Solution, base: BaseParameters) -> Solution:
    """Return the solution; raise if the motions do not determine all parameters."""
    which = [x for x, s in zip(base.names, np.diag(found.covariance), strict=True) if not np.isfinite(s)]
    if not which:
        return found
    more = f", and {len(which) - 5} more" if len(which) > 5 else ""
    raise ArgumentError(
        f"identify: these motions do not determine {len(which)} of {len(base)} base parameters: {'; '.join(which[:5])}"
        f"{more}. Move all joints in other ways (`robot.identifiability` tells), estimate fewer parameters with "
        "`only`, or let a prior decide with `consistent=True`"
    )


def _consistent(
    base: BaseParameters, rows: list[Row], free: Solution, own: Array, weight: float
) -> tuple[Solution, Array]:
    """Return the solution of a consistent estimate, and the parameters theta that were estimated."""
    guesses = np.zeros(len(own))
    guesses[base.kept] = free.x
    prior = _prior_of(base, own, guesses)
    F, z = information_of(rows, free.noise, len(base)), measured_of(rows, free.noise)
    theta = possible_theta(F @ base.matrix, z, own, prior, weight)
    return Solution(base.of_theta(theta), free.covariance, free.noise, free.condition), theta


def _prior_of(base: BaseParameters, own: Array, guesses: Array) -> Prior:
    """Return the prior of the estimated parameters: bodies whole, and drives."""
    bodies: dict[str, list[int]] = {}
    drives = []
    for k, label in enumerate(base.labels):
        owner, _, number = label.rpartition(".")
        if number.partition("[")[0] in ("armature", "damping", "joint_friction"):
            drives.append(k)
        else:
            bodies.setdefault(owner, []).append(k)
    for name, places in bodies.items():
        if len(places) != 10:
            raise ArgumentError(
                f"identify: a consistent estimate needs all ten parameters of body {name!r}, not {len(places)} of "
                "them; name the whole body in `only`"
            )
    return Prior.of(own, list(bodies.values()), drives, guesses[drives] if drives else np.zeros(0))


def _chosen(robot: Robot, only: Sequence[str] | None) -> NDArray[np.intp]:
    """Return the places in theta of what is to be estimated: labels, or all numbers of bodies and joints."""
    labels = robot.parameters.theta_labels
    if only is None:
        return np.arange(len(labels), dtype=np.intp)
    names = (only,) if isinstance(only, str) else tuple(only)
    kinds = ("inertia", "armature", "damping", "joint_friction")
    owners = {x.rpartition(".")[0] for x in labels}
    found = set[int]()
    for name in names:
        choice("body, joint, kind of parameter or label", name, (*owners, *kinds, *labels), robot.name)
        for k, label in enumerate(labels):
            owner, _, number = label.rpartition(".")
            kind = number.partition("[")[0]
            if name in (label, owner, kind if kind in kinds else "inertia"):
                found.add(k)
    if not found:
        raise ArgumentError("identify: `only` names no parameter; leave it out to estimate all")
    return np.array(sorted(found), np.intp)


def _part(theta: Array, robot: Robot, base: BaseParameters) -> Array:
    """Return the numbers of theta that base parameters are of."""
    places = {x: k for k, x in enumerate(robot.parameters.theta_labels)}
    return theta[[places[x] for x in base.labels]]


def force_names(robot: Robot) -> tuple[str, ...]:
    """Return a name for each measured force: those of the joints, with an index where one has several freedoms."""
    sizes = {c.name: c.nv for c in robot.joints if not c.mimic}
    if robot.nc:
        known = sizes | {x.loop.name: x.loop.nv for x in robot.loop_table.loops}
        sizes = {name: known[name] for name in robot.actuated}
    return tuple(f"{name}[{k}]" if n > 1 else name for name, n in sizes.items() for k in range(n))


def _pairs(names: Sequence[str], numbers: Array) -> list[str]:
    return [f"{name} {x:.3g}" for name, x in zip(names, numbers, strict=True)]
