"""Parameters that bodies can have: least squares with an entropic prior.

A mass distribution has positive density, so the pseudo-inertia of each body is positive definite:

    J = [[S, h], [h^T, m]] > 0,       S = tr(I) / 2 - I: the second moments of the density

Armature, damping and friction are positive. The estimate minimises

    | F K theta - z |^2 / 2 + w ( sum over bodies of D(J, J0) + sum over drives of d(x, x0) )

    D(J, J0) = tr(J0^-1 J) - log det(J0^-1 J) - 4,        d(x, x0) = x / x0 - log(x / x0) - 1

F and z are the weighted factors, K the base parameters. D is the relative entropy of two mass distributions, taken for
Gaussian ones: it does not depend on frames and units, and grows without limit where J becomes singular. So the estimate
is possible whatever the noise, and parameters that forces do not determine stay near the prior J0. The problem is
convex. Newton's method follows the solution from a large weight down to w.

Reference: Wensing, Kim and Slotine 2018, Linear matrix inequalities for physically consistent inertial parameter
identification; Lee, Wensing and Park 2020, Geometric robot dynamic identification: a convex programming approach.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..records import dataclass

__all__ = ["Prior", "possible_theta", "pseudo_inertias"]

_STEPS = 200
_DECREMENT = 1e-9
"""Newton's method has converged when half the square of its decrement, relative to the weight, is below this."""
_THIN = 1e-3
"""Eigenvalues of a prior below this part of the largest are raised to it: bodies of a file may be points or rods."""


def _units() -> Array:
    """Return the pseudo-inertias (10, 4, 4) of unit parameters m, mx, my, mz, xx, yy, zz, xy, xz, yz."""
    E = np.zeros((10, 4, 4))
    E[0, 3, 3] = 1.0
    for k in range(3):
        E[1 + k, k, 3] = E[1 + k, 3, k] = 1.0
        E[4 + k, :3, :3] = 0.5 * np.eye(3)
        E[4 + k, k, k] = -0.5
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        E[7 + k, i, j] = E[7 + k, j, i] = -1.0
    return E


UNITS = _units()


def pseudo_inertias(numbers: Array) -> Array:
    """Return the pseudo-inertias (..., 4, 4) of inertias (..., 10)."""
    return np.tensordot(numbers, UNITS, 1)


@dataclass(frozen=True, slots=True)
class Prior:
    """The prior of some parameters: pseudo-inertias of bodies and sizes of drives, at places in the estimated theta."""

    bodies: NDArray[np.intp]
    """(n, 10): the places of the parameters of each body."""
    inertias: Array
    """(n, 4, 4): J0."""
    drives: NDArray[np.intp]
    """(k,): the places of armature, damping and friction."""
    sizes: Array
    """(k,): x0."""

    @classmethod
    def of(cls, theta: Array, bodies: Sequence[Sequence[int]], drives: Sequence[int], guesses: Array) -> Prior:
        """Make the prior from the robot's own parameters; drives that are zero there get the sizes of guesses."""
        places = np.array(bodies, np.intp).reshape(-1, 10)
        J = pseudo_inertias(theta[places])
        typical = J[:, 3, 3].max(initial=0.0) or 1.0
        raised = []
        for one in J:
            reach = np.sqrt(max(float(np.trace(one[:3, :3])), 0.0) / one[3, 3]) if one[3, 3] > 0.0 else 0.0
            scale = np.array([reach or 0.1] * 3 + [1.0]) * np.sqrt(one[3, 3] if one[3, 3] > 0.0 else 0.01 * typical)
            values, V = np.linalg.eigh(one / np.outer(scale, scale))
            values = np.maximum(values, _THIN * max(float(values.max()), 1.0))
            raised.append((V * values) @ V.T * np.outer(scale, scale))
        own = theta[list(drives)] if len(drives) else np.zeros(0)
        sizes = np.where(own > 0.0, own, np.maximum(np.abs(guesses), 1e-6))
        return cls(places, np.array(raised).reshape(-1, 4, 4), np.array(drives, np.intp), sizes)

    def start(self, theta: Array) -> Array:
        """Return the parameters of the prior itself."""
        found = np.array(theta, float)
        for places, J in zip(self.bodies, self.inertias, strict=True):
            S = J[:3, :3]
            I = np.trace(S) * np.eye(3) - S
            found[places] = (J[3, 3], *J[:3, 3], *I[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)])
        found[self.drives] = self.sizes
        return found

    def value(self, theta: Array) -> float:
        """Return the sum of all divergences; infinite if the parameters are not possible."""
        J, x = pseudo_inertias(theta[self.bodies]), theta[self.drives]
        if (x <= 0.0).any():
            return np.inf
        try:
            np.linalg.cholesky(J)
        except np.linalg.LinAlgError:
            return np.inf
        ratio = np.linalg.solve(self.inertias, J)
        own = np.trace(ratio, axis1=-2, axis2=-1) - np.linalg.slogdet(ratio)[1] - 4.0
        drives = x / self.sizes - np.log(x / self.sizes) - 1.0
        return float(own.sum() + drives.sum())

    def slope(self, theta: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian."""
        g, H = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
        for places, J0 in zip(self.bodies, self.inertias, strict=True):
            inverse = np.linalg.inv(pseudo_inertias(theta[places]))
            PE = inverse @ UNITS
            g[places] = np.einsum("ij,kji->k", np.linalg.inv(J0) - inverse, UNITS)
            H[np.ix_(places, places)] = np.einsum("aij,bji->ab", PE, PE)
        x = theta[self.drives]
        g[self.drives] = 1.0 / self.sizes - 1.0 / x
        H[self.drives, self.drives] = 1.0 / x**2
        return g, H


def possible_theta(A: Array, z: Array, theta: Array, prior: Prior, weight: float) -> Array:
    """Return the parameters of least | A theta - z |^2 / 2 + weight * prior; A are the weighted rows (.., P)."""
    now = prior.start(theta)
    H0 = A.T @ A
    misfit = 0.5 * float(np.sum((A @ now - z) ** 2))
    level = max(weight, misfit / max(1, len(theta)))
    while True:
        now = _newton(A, z, H0, now, prior, level)
        if level <= weight:
            return now
        level = max(weight, 0.1 * level)


def _newton(A: Array, z: Array, H0: Array, now: Array, prior: Prior, weight: float) -> Array:
    """Return the minimum for one weight, from parameters that are possible."""

    def value(theta: Array) -> float:
        return 0.5 * float(np.sum((A @ theta - z) ** 2)) + weight * prior.value(theta)

    here = value(now)
    for _ in range(_STEPS):
        g, H = prior.slope(now)
        g, H = A.T @ (A @ now - z) + weight * g, H0 + weight * H
        scale = 1.0 / np.sqrt(np.diag(H))
        step = -scale * np.linalg.solve(H * np.outer(scale, scale), scale * g)
        gain, length = float(-g @ step), 1.0
        if gain < 2.0 * _DECREMENT * weight:
            return now
        while (then := value(now + length * step)) > here - 0.1 * length * gain and length > 1e-12:
            length *= 0.5
        if length <= 1e-12:
            return now
        now, here = now + length * step, then
    return now
