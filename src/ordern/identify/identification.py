"""From measured motions and forces to an estimate: the steps of `Robot.identify`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, choice, positive, real_number
from ..errors import ArgumentError
from ..records import dataclass
from .base import BaseParameters
from .consistent import Prior, possible_theta
from .estimate import Estimate, force_names
from .excitation import SMOOTHING
from .friction import Extra, base_of, extra_of
from .identifiability import information_of, noise_of
from .inequalities import feasible_theta
from .instruments import instrumental
from .least_squares import Solution, measured_of, solve
from .reduction import Motion, Row, motion_of, reduced
from .remarks import remarks_on
from .robust import huber
from .springs import known_forces

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["identify", "prior_of"]

_LARGEST = 1e5
"""The largest condition number for which sums of products are used: its square leaves six digits."""
_STRIBECK = (0.01, 0.02, 0.035, 0.06, 0.1, 0.15, 0.22, 0.33, 0.5)
"""The velocities that a search for Stribeck friction tries, in parts of the root mean square of the joint's."""


def identify(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    tau: ArrayLike,
    only: Sequence[str] | None = None,
    noise: ArrayLike | None = None,
    consistent: bool | str = False,
    prior: float = 0.01,
    smoothing: float = SMOOTHING,
    held_out: float = 0.0,
    average: int = 1,
    exact: bool = False,
    robust: bool = False,
    instruments: Sequence[ArrayLike] | None = None,
    offsets: bool = False,
    stribeck: ArrayLike | str | None = None,
) -> Estimate:
    """See `Robot.identify`."""
    if not 0.0 <= real_number(held_out) < 1.0:
        raise ArgumentError(
            f"identify: held_out is the part of the samples to hold out, from 0 up to 1, not {held_out!r}"
        )
    positive(prior, "prior")
    if isinstance(consistent, str):
        choice("way to be consistent", consistent, ("entropy", "lmi"))
    if instruments is not None and (robust or consistent):
        raise ArgumentError("identify: instruments go with plain estimates only, without robust and consistent")
    more: dict[str, Any] = {"smoothing": positive(smoothing, "smoothing", zero=True)}
    motion = motion_of(robot, "inverse_dynamics", q, v, a, tau, "identify", **more)
    used = len(motion) - round(held_out * len(motion))
    task = _Task(robot, motion, used, _whole(average, used), only, exact, robust, noise)
    if isinstance(stribeck, str):
        choice("stribeck", stribeck, ("search",))
        stribeck = task.best_stribeck(offsets)
    extra = extra_of(robot, force_names(robot), offsets, stribeck)
    chosen, base, learned, factors, free, method = task.solved(extra)
    if instruments is not None:
        reference = _reference(robot, instruments, learned, len(motion), used, more)
        given = task.given
        free = instrumental(robot, learned, reference, chosen[base.kept], factors, given)
        method = "instrumental variables"
    own = np.concatenate([robot.parameters.theta, np.zeros(0 if extra is None else len(extra.labels))])
    theta = own.copy()
    if consistent:
        found, theta[chosen] = _consistent(base, factors, free, own[chosen], None if consistent == "lmi" else prior)
        method += ", with matrix inequalities" if consistent == "lmi" else ", with an entropic prior"
    else:
        found = _determined(free, base)
        theta[chosen] = base.theta_near(found.x, own[chosen])
    count = len(robot.parameters.theta)
    estimate = Estimate(
        base, found.x, found.covariance, found.noise * np.sqrt(task.each), found.condition, theta[:count], used,
        bool(consistent), None, robot, smoothing, method, extra, theta[count:],
    )  # fmt: skip
    estimate = replace(estimate, remarks=remarks_on(estimate, motion))
    if used == len(motion):
        return estimate
    rest = motion.some(slice(used, None))
    positions, velocities, accelerations = rest.states
    return replace(estimate, held_out=estimate.check(positions, velocities, accelerations, rest.tau))


@dataclass(frozen=True, slots=True)
class _Task:
    """The data and the settings of one call of `identify`."""

    robot: Robot
    motion: Motion
    used: int
    """How many samples are used; the others are held out."""
    each: int
    """How many samples become one mean."""
    only: Sequence[str] | None
    exact: bool
    robust: bool
    noise: ArrayLike | None

    @property
    def given(self) -> Array | None:
        """The noise of means, if it is given."""
        rows = self.motion.tau.shape[-1]
        return None if self.noise is None else noise_of(self.noise, rows, "identify") / np.sqrt(self.each)

    def solved(self, extra: Extra | None) -> tuple[NDArray[np.intp], BaseParameters, Motion, list[Row], Solution, str]:
        """Return what is estimated, its base parameters, the samples, their factors, the estimate, and its name."""
        robot, motion = self.robot, self.motion
        own, count = robot.parameters.theta, 0 if extra is None else len(extra.labels)
        chosen = np.concatenate([_chosen(robot, self.only), np.arange(len(own), len(own) + count)])
        known = np.concatenate([own, np.zeros(count)])
        known[chosen] = 0.0
        springs = known_forces(robot, *motion.states[:2])
        inertial = motion.tau if springs is None else motion.tau + springs
        if self.only is None and not inertial.any():
            raise ArgumentError(
                "identify: all forces are zero, and parameters of zero explain them; measure the forces of the drives, "
                "or name with `only` what to estimate beside parameters that are known"
            )
        learned = Motion(motion.states, inertial, motion.more, known, self.each, extra).some(slice(0, self.used))
        base = base_of(robot, chosen, extra)
        given = self.given
        if given is None:
            _require_enough(self.used // self.each, motion.tau.shape[-1], len(base))
        factors, free = _solved(robot, learned, chosen, base, given, self.exact)
        if not self.robust:
            return chosen, base, learned, factors, free, "weighted least squares"
        first = factors, _determined(free, base)
        factors, free = huber(robot, learned, chosen[base.kept], first, self.exact)
        return chosen, base, learned, factors, free, "re-weighted least squares (Huber)"

    def best_stribeck(self, offsets: bool) -> Array:
        """Return the velocity of Stribeck friction that leaves least of each joint force, of some that are tried.

        A joint force has its own Stribeck column only, so that all joints try a velocity at once. The velocities are
        parts of the typical velocity of the joint.
        """
        v = self.motion.states[1]
        typical = np.sqrt((v**2).mean(axis=0))
        typical = np.where(typical > 0.0, typical, 1.0)
        names, best, least = force_names(self.robot), typical, np.full(len(typical), np.inf)
        plain = replace(self, robust=False)
        for part in _STRIBECK:
            solved = plain.solved(extra_of(self.robot, names, offsets, part * typical))
            factors, free = solved[3], solved[4]
            left = np.array([row.squares(free.x) for row in factors])
            best, least = np.where(left < least, part * typical, best), np.minimum(left, least)
        return np.asarray(best)


def _reference(
    robot: Robot, instruments: Sequence[ArrayLike], learned: Motion, total: int, used: int, more: dict[str, Any]
) -> Motion:
    """Return the samples of the reference motion, which are as many as those that were measured."""
    if len(instruments) != 3:
        raise ArgumentError(f"identify: instruments are the reference motion (q, v, a), not {len(instruments)} arrays")
    q, v, a = instruments
    found = motion_of(robot, "inverse_dynamics", q, v, a, None, "instruments", **more)
    if len(found) != total:
        raise ArgumentError(f"identify: instruments have {len(found)} samples; expected {total}, as the motion")
    return replace(found, average=learned.average, extra=learned.extra).some(slice(0, used))


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
    base: BaseParameters, rows: list[Row], free: Solution, own: Array, weight: float | None
) -> tuple[Solution, Array]:
    """Return the solution of a consistent estimate, and the parameters theta: by a prior of this weight, or None."""
    guesses = np.zeros(len(own))
    guesses[base.kept] = free.x
    prior = prior_of(base, own, guesses)
    F, z = information_of(rows, free.noise, len(base)), measured_of(rows, free.noise)
    A = F @ base.matrix
    theta = feasible_theta(A, z, own, prior) if weight is None else possible_theta(A, z, own, prior, weight)
    return Solution(base.of_theta(theta), free.covariance, free.noise, free.condition), theta


def prior_of(base: BaseParameters, own: Array, guesses: Array) -> Prior:
    """Return the prior of the estimated parameters: bodies whole, and drives."""
    bodies: dict[str, list[int]] = {}
    drives = []
    for k, label in enumerate(base.labels):
        owner, _, number = label.rpartition(".")
        if number.partition("[")[0] in ("armature", "damping", "joint_friction"):
            drives.append(k)
        elif number in ("offset", "stribeck"):
            continue  # of any size and sign: without a prior
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
