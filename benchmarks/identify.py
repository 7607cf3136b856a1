"""Identification of an arm of 7 joints: regressors, and least squares of many samples, against a loop over Pinocchio.

The loop computes Pinocchio's regressor sample by sample, adds columns of friction, and sums products of the base
columns: sample by sample, as scripts do it in bounded memory, or in blocks of 500 samples, which is faster.
"""

from __future__ import annotations

import numpy as np

from ordern.parameters.inertias import TO_PINOCCHIO

from .harness import Figures, benchmark, difference, race, ratio, settings
from .peer import pin
from .robots import load, load_peer

Array = np.ndarray


def _motions(count: int) -> tuple[Array, ...]:
    arm, rng = load("panda7"), np.random.default_rng(0)
    q, v, a = arm.random(rng, (count,)), rng.normal(size=(count, arm.nv)), rng.normal(size=(count, arm.nv))
    return q, v, a, arm.inverse_dynamics(q, v, a) + rng.normal(size=(count, arm.nv))


@benchmark("panda7.inverse_dynamics_regressor.batch")
def regressor() -> Figures:
    arm, (q, v, a, _) = load("panda7"), _motions(512)
    out = np.empty((len(q), arm.nv, len(arm.parameters.theta)))
    contestants = {"ours": lambda: arm.inverse_dynamics_regressor(q, v, a, threads=1, out=out)}
    peer = load_peer("panda7")
    if peer is not None:
        contestants["theirs"] = lambda: [
            pin.computeJointTorqueRegressor(peer.model, peer.data, q[k], v[k], a[k]) for k in range(len(q))
        ]
    times = race(contestants)
    yield "ns_per_state", 1e9 * times["ours"].min() / len(q)
    if peer is not None:
        yield "vs_pinocchio_python", ratio(times["theirs"], times["ours"])


@benchmark("panda7.identify")
def identify() -> Figures:
    arm = load("panda7")
    q, v, a, tau = _motions(100_000 if settings.quick else 1_000_000)
    few = 2_000
    contestants = {"ours": lambda: arm.identify(q, v, a, tau), "means": lambda: arm.identify(q, v, a, tau, average=10)}
    peer = load_peer("panda7")
    if peer is not None:
        base = arm.base_parameters()
        some = q[:few], v[:few], a[:few], tau[:few]
        contestants["loop"] = lambda: _looped(peer, base.kept, 1, *some)
        contestants["blocks"] = lambda: _looped(peer, base.kept, 500, *some)
        found = contestants["blocks"]()
        ours = arm.identify(q[:few], v[:few], a[:few], tau[:few], noise=1.0).values
        yield "difference", difference(ours, found)
    rounds, settings.rounds = settings.rounds, 3  # each takes seconds
    times = race(contestants)
    settings.rounds = rounds
    yield "samples", len(q)
    yield "seconds", float(times["ours"].min())
    yield "ns_per_sample", 1e9 * times["ours"].min() / len(q)
    yield "means_of_10.ns_per_sample", 1e9 * times["means"].min() / len(q)
    if peer is not None:
        for name in ("loop", "blocks"):
            yield f"vs_pinocchio_{name}", ratio(times[name] / few, times["ours"] / len(q))


def _looped(peer: object, kept: Array, block: int, q: Array, v: Array, a: Array, tau: Array) -> Array:
    """Return least squares of the base parameters from Pinocchio's regressors, summed in blocks of samples."""
    model, data, nv = peer.model, peer.data, v.shape[-1]
    back = np.argsort(np.concatenate([10 * k + np.array(TO_PINOCCHIO) for k in range(nv)]))
    G, b = np.zeros((len(kept), len(kept))), np.zeros(len(kept))
    for start in range(0, len(q), block):
        some = range(start, min(start + block, len(q)))
        Y = np.zeros((len(some), nv, 13 * nv))
        for n, k in enumerate(some):
            Y[n, :, : 10 * nv] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
        rows = slice(some.start, some.stop)
        Y[..., : 10 * nv] = Y[..., back]
        for number, x in enumerate((a, v, np.sign(v))):
            Y[:, range(nv), range((10 + number) * nv, (11 + number) * nv)] = x[rows]
        flat = Y[..., kept].reshape(-1, len(kept))
        G += flat.T @ flat
        b += flat.T @ tau[rows].ravel()
    return np.linalg.solve(G, b)
