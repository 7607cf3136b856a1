"""Output error: parameters with which simulations by the measured forces follow the measured positions.

The log is cut into stretches of some steps. Each is simulated from its first state with the measured forces, in steps
x' = f(x, tau) of semi-implicit Euler. A change of theta acts like a change - Y theta of the forces, so that the
sensitivities S of the states x follow exactly from the matrices A, B of each step (`linearise`):

    S' = A S - B Y

The first state of each stretch is not known exactly either: its sensitivities, which begin as the identity, are
projected out. Gauss and Newton's method finds theta, with the entropic prior of `consistent`, so that every robot on
the way can be simulated. Unlike the errors of forces, which need accelerations, this needs positions only, and noise in
them does not bias it; noise in the forces does instead.

Reference: Ljung 1999, System identification, section 7.4; Brunot and others 2018, for closed loops of robots.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array, positive
from ..errors import ArgumentError
from .consistent import possible_theta
from .identifiability import Spectrum

if TYPE_CHECKING:
    from ..robot import Robot
    from .estimate import Estimate
    from .log import Log

__all__ = ["by_simulation"]

_METHOD = "plain-euler"
"""The steps of simulations: smooth ones, as friction that sticks does not depend on its coefficient."""

_STEPS = 20
_SETTLED = 1e-2
"""The parameters have settled when none changes by more than this part of its deviation."""


def by_simulation(estimate: Estimate, log: Log, horizon: float, prior: float) -> Estimate:
    """See `Estimate.by_simulation`."""
    from .identification import prior_of

    robot, base = estimate.measured, estimate.base
    _require(estimate, log)
    dt = 1.0 / log.rate
    count = max(2, round(positive(horizon, "horizon") / dt))
    stretches = (len(log) - 1) // count
    if not stretches:
        raise ArgumentError(
            f"by_simulation: the log of {len(log)} samples is shorter than the horizon of {horizon:g} s"
        )
    smoothing = estimate.smoothing
    labels = list(robot.parameters.theta_labels)
    places = np.array([labels.index(x) for x in base.labels], np.intp)
    own, theta = robot.parameters.theta[places], estimate.theta.copy()
    whole = prior_of(base, own, theta[places])
    run = _Run(log, count, stretches, dt, smoothing, places[base.kept])
    r, J = run.errors(robot, theta)
    for _ in range(_STEPS):
        s = np.sqrt((r**2).mean(axis=(0, 1)))
        F = (J / s[:, None]).reshape(-1, len(base))
        seen = Spectrum.of(np.asarray(np.linalg.qr(F, mode="r")))
        Q, R = np.linalg.qr(F)
        now = base.of_theta(theta[places])
        z = R @ now - Q.T @ (r / s).ravel()
        wanted = theta.copy()
        wanted[places] = possible_theta(R @ base.matrix, z, own, whole, prior)
        moved = np.abs(base.of_theta(wanted[places]) - now) / np.sqrt(np.diag(seen.covariance))
        theta, r, J, better = _descended(run, robot, theta, wanted, (r, J), s)
        if not better or np.max(moved) < _SETTLED:
            break
    noise = np.sqrt((r**2).mean(axis=(0, 1)))
    return replace(
        estimate, values=base.of_theta(theta[places]), covariance=seen.covariance, condition=seen.condition,
        theta=theta, samples=count * stretches, consistent=True, held_out=None,
        method=f"output errors of simulations of {count * dt:.3g} s (positions off by {noise.max():.2g})",
    )  # fmt: skip


def _require(estimate: Estimate, log: Log) -> None:
    robot = estimate.measured
    if robot.nc or estimate.extra is not None:
        raise ArgumentError("by_simulation: it is for trees, and for estimates without offsets and Stribeck friction")
    if any(c.type.nq != c.type.nv for c in robot.joints):
        raise ArgumentError("by_simulation: the positions of all joints must be plain numbers")
    if log.tau is None or log.v is None:
        raise ArgumentError("by_simulation: the log needs forces, and velocities to begin with: `log.filtered()`")
    steps = np.diff(log.t)
    if np.ptp(steps) > 1e-3 * steps.mean():
        raise ArgumentError("by_simulation: the times of the log must have equal steps: `log.filtered()`")


def _descended(
    run: _Run, robot: Robot, theta: Array, wanted: Array, here: tuple[Array, Array], s: Array
) -> tuple[Array, Array, Array, bool]:
    """Return parameters on the way to those wanted that make errors smaller, with these; False if there are none."""
    before = float(((here[0] / s) ** 2).sum())
    for part in (1.0, 0.5, 0.25, 0.1, 0.02):
        tried = theta + part * (wanted - theta)
        r, J = run.errors(robot, tried)
        if np.isfinite(r).all() and float(((r / s) ** 2).sum()) < before:
            return tried, r, J, True
    return theta, *here, False


class _Run:
    """Simulations of all stretches of a log at once."""

    def __init__(self, log: Log, count: int, stretches: int, dt: float, smoothing: float, kept: Any) -> None:
        assert log.v is not None and log.tau is not None
        self.count, self.dt, self.smoothing, self.kept = count, dt, smoothing, kept
        used = count * stretches
        self.tau = log.tau[:used].reshape(stretches, count, -1)
        self.q0, self.v0 = log.q[:used:count], log.v[:used:count]
        self.there = log.q[1 : used + 1].reshape(stretches, count, -1)

    def errors(self, robot: Robot, theta: Array) -> tuple[Array, Array]:
        """Return errors and derivatives by base parameters, without what other first states could explain."""
        r, J = self.simulated(robot, theta)
        count = len(self.kept)
        flat = J.reshape(len(r), -1, J.shape[-1])
        Q = np.linalg.qr(flat[..., count:])[0]
        both = np.concatenate([flat[..., :count], r.reshape(len(r), -1, 1)], axis=-1)
        both = both - Q @ (Q.swapaxes(-1, -2) @ both)
        return both[..., -1].reshape(r.shape), both[..., :-1].reshape(*r.shape, count)

    def simulated(self, robot: Robot, theta: Array) -> tuple[Array, Array]:
        """Return simulated less measured positions (stretches, steps, nv), and their derivatives.

        These are by base parameters, then by the first position and velocity of each stretch.
        """
        model = robot.with_parameters(robot.parameters.with_theta(theta))
        q, v, _ = model.rollout(self.q0, self.v0, self.tau, dt=self.dt, smoothing=self.smoothing, method=_METHOD)
        n, count = robot.nv, len(self.kept)
        S = np.zeros((len(q), 2 * n, count + 2 * n))
        S[:, :, count:] = np.eye(2 * n)
        J = np.empty((len(q), self.count, n, count + 2 * n))
        for k in range(self.count):
            states = q[:, k], v[:, k], self.tau[:, k]
            step = model.linearise(*states, dt=self.dt, smoothing=self.smoothing, method=_METHOD)
            a = (v[:, k + 1] - v[:, k]) / self.dt
            Y = robot.inverse_dynamics_regressor(q[:, k], v[:, k], a, smoothing=self.smoothing)[..., self.kept]
            S = step.A @ S
            S[:, :, :count] -= step.B @ Y
            J[:, k] = S[:, :n]
        return q[:, 1:] - self.there, J
