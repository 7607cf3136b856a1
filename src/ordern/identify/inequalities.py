"""Parameters that bodies can have, by linear matrix inequalities: least squares without a prior where data decide.

    minimise  | A theta - z |^2 / 2 + w | (theta - theta0) / scale |^2 / 2
    such that  J_b(theta) - e J0_b >= 0 for each body,    x - e x0 >= 0 for each drive

J are the pseudo-inertias of the bodies, J0 those of the prior, and e = 1e-3 keeps the result away from bodies without
extent. The small weight w = 1e-6 decides on what forces do not determine. Unlike the entropic prior of `consistent`,
inequalities that are not active change nothing. Clarabel solves this conic problem.

Reference: Sousa and Cortesao 2014, Physical feasibility of robot base inertial parameter identification: a linear
matrix inequality approach; Wensing, Kim and Slotine 2018, as in `consistent`.
"""

from __future__ import annotations

import numpy as np

from ..arguments import Array
from ..errors import OrdernError
from ..simulate.results.tables import library
from .consistent import UNITS, Prior

__all__ = ["feasible_theta"]

_LEAST = 1e-3
_WEIGHT = 1e-6
_PLACES = [(i, j) for j in range(4) for i in range(j + 1)]
"""The upper triangle, column by column, as Clarabel has it."""


def feasible_theta(A: Array, z: Array, theta: Array, prior: Prior) -> Array:
    """Return the parameters of least squares that keep the inequalities; A are the weighted rows (.., P)."""
    clarabel = library("clarabel", "a consistent estimate by inequalities", "lmi")
    sparse = library("scipy.sparse", "a consistent estimate by inequalities", "identify")
    start = prior.start(theta)
    scale = _sizes(start, prior)
    F = A * scale
    P = F.T @ F
    ridge = _WEIGHT * max(1.0, float(np.diag(P).max()) * 1e-6)
    P[np.diag_indices_from(P)] += ridge
    slope = -(F.T @ z) - ridge * start / scale
    rows, bounds, cones = _cones(prior, scale, len(theta), clarabel)
    size = 1.0 / max(float(np.abs(np.diag(P)).max()), 1e-300)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(P * size)), slope * size, sparse.csc_matrix(rows), bounds, cones, settings
    )
    found = solver.solve()
    if "Solved" not in str(found.status):
        raise OrdernError(f"identify: Clarabel found no estimate that keeps the inequalities: {found.status}")
    return np.asarray(np.array(found.x) * scale)


def _sizes(start: Array, prior: Prior) -> Array:
    """Return the size of each parameter, from the prior: those of a body by its mass and its reach."""
    scale = np.ones(len(start))
    for places, J in zip(prior.bodies, prior.inertias, strict=True):
        m, reach = J[3, 3], np.sqrt(np.trace(J[:3, :3]) / J[3, 3])
        scale[places] = m * np.array([1.0] + [reach] * 3 + [reach**2] * 6)
    scale[prior.drives] = prior.sizes
    return scale


def _cones(prior: Prior, scale: Array, count: int, clarabel: object) -> tuple[Array, Array, list[object]]:
    """Return the rows and bounds of b - A x, which lies in the cones: matrices of the bodies, then drives."""
    rows, bounds, cones = [], [], []
    weights = np.array([1.0 if i == j else np.sqrt(2.0) for i, j in _PLACES])
    for places, J0 in zip(prior.bodies, prior.inertias, strict=True):
        units = np.array([1.0 / np.sqrt(max(J0[k, k], 1e-300)) for k in range(4)])  # all of a similar size
        both = np.outer(units, units)
        own = np.zeros((10, count))
        for k, place in enumerate(places):
            own[:, place] = [
                -w * (UNITS[k] * both)[i, j] * scale[place] for w, (i, j) in zip(weights, _PLACES, strict=True)
            ]
        rows.append(own)
        bounds.append(np.array([-_LEAST * w * (J0 * both)[i, j] for w, (i, j) in zip(weights, _PLACES, strict=True)]))
        cones.append(clarabel.PSDTriangleConeT(4))  # type: ignore[attr-defined]
    if len(prior.drives):
        own = np.zeros((len(prior.drives), count))
        own[np.arange(len(prior.drives)), prior.drives] = -1.0
        rows.append(own)
        bounds.append(np.full(len(prior.drives), -_LEAST))
        cones.append(clarabel.NonnegativeConeT(len(prior.drives)))  # type: ignore[attr-defined]
    return np.concatenate(rows), np.concatenate(bounds), cones
