"""Forward dynamics by conjugate gradients: M qdd = T - C solved by products with M, which is never formed.

    T'  = T - C                                                    bias force by Newton-Euler, (22)
    qdd_0 = 0,   r_0 = T',   p_0 = 0
    for k = 1, 2, ...   until  |r| <= tolerance |T'|
        z   = L^-1 r_{k-1}
        g_k = z_{k-1}^T r_{k-1} / z_{k-2}^T r_{k-2}                (30), g_1 = 0
        p_k = z_{k-1} + g_k p_{k-1}
        s_k = z_{k-1}^T r_{k-1} / p_k^T M p_k
        qdd_k = qdd_{k-1} + s_k p_k,      r_k = r_{k-1} - s_k M p_k

M p is inverse dynamics at rest without gravity, in order n. L is 1 for `conjugate-gradient`; for
`conjugate-gradient-preconditioned` it is H R H*, the blocks on the diagonal of the mass matrix: each joint's own
freedoms, under its composite inertia R. These come from the recursion (25) for R, in order n, once for each state
(`mass_matrix_diagonal_product`); the mass matrix is not formed. Cost: order n for each step. In exact arithmetic there
are as many steps as freedoms at most; with rounding about twice as many, and more where the mass matrix has a large
condition number.

States of a batch are iterated together, each until it has converged. A state that has not converged after `most` steps
keeps its last iterate, which is finite, and whose error in the norm of M has fallen with every step.
`Solution.converged` of `solve` reports it, and so does `Robot.forward_dynamics_report`; the methods, which use the
defaults of `solve`, raise a `ConvergenceError` where the residual is above 1e-10 (1e-3 in single precision).

The error of qdd is larger than the residual by up to the condition number of M, 1e4 on arms with thirty joints. The
residual of the iteration goes on falling when rounding has long stopped the error, so a tolerance near the unit of
rounding is always reached, and takes a tenth more steps than 1e-12. It is the default, for answers like others'.

Reference: Jain 1991, sec. 4, eqs. (22), (30); Walker and Orin 1982, method 4, for L = 1; Fijany and Scheid 1989 for the
diagonal.
Differs: g is printed as z^T z / r^T r, which is right only for L = 1; with it the iteration does not end after N steps.
Jain ends after n steps, but rounding takes more. The terms between a mimic joint and its
leader are left out of L.
"""

from __future__ import annotations

import math
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConvergenceError
from ...records import dataclass
from ..composed import Array, Ask, model_of
from ..composed import steps as steps_of
from ..factors.linear import symmetric_inverse
from ..registry import algorithm

__all__ = ["PRECONDITIONED", "Solution", "solve"]

PRECONDITIONED = {"conjugate-gradient": False, "conjugate-gradient-preconditioned": True}
"""The methods, and whether they use a preconditioner."""
_TOLERANCE = 50.0
"""The tolerance in units of rounding."""
_FAR, _FAILED = 1e4, 1e-3
"""An iteration has failed if its residual is above so many tolerances, 1e-10 in double precision, or this number."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Accelerations, and how the iteration went for each state."""

    acceleration: Array
    steps: Array
    """The number of steps."""
    residual: Array
    """The norm of r relative to that of T - C, as the iteration has it; rounding adds 1e-16 times the norm of M qdd."""
    converged: Array
    """True if the residual is within the tolerance."""


def solve(
    robot: Any,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external: ArrayLike | None = None,
    base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None,
    *,
    precondition: bool = True,
    tolerance: float | None = None,
    most: int | None = None,
) -> Solution:
    """Return joint accelerations by conjugate gradients, for one state or a batch.

    `robot` is a robot, or the function `ask` of a method. The iteration of a state ends when the residual
    is `tolerance` times its first value, 1e-14 in double precision unless given, or after `most` steps, 100 + 20 nv.
    """
    ask: Ask = robot if callable(robot) else robot._kernels.ask
    more = {"external": external, "base_velocity": base_velocity, "base_acceleration": base_acceleration}
    T = np.asarray(tau) - ask("bias_force", q, v, **more)  # T - C has the shape of the whole batch
    (*batch, nv), nq = T.shape, np.shape(q)[-1]
    states = math.prod(batch)
    T, q = T.reshape(states, nv), np.broadcast_to(q, (*batch, nq)).reshape(states, nq)
    most = 100 + 20 * nv if most is None else most
    tolerance = _TOLERANCE * _unit(T) if tolerance is None else tolerance
    blocks = _diagonal(ask, q, T.dtype) if precondition else []

    qdd, r, p = np.zeros_like(T), T.copy(), np.zeros_like(T)
    rr = size = _dot(T, T)
    zr, steps = np.ones_like(rr), np.zeros(states, int)
    for k in steps_of(ask, most):
        on = np.flatnonzero((rr > tolerance * tolerance * size).astype(bool))
        if not on.size:
            break
        z = _preconditioned(blocks, r, on)
        before, zr[on] = zr[on], _dot(z, r[on])
        p[on] = z + (zr[on] / before if k else 0.0 * before)[:, None] * p[on]
        Mp = ask("mass_matrix_product", q[on], p[on])
        s = _ratio(zr[on], _dot(p[on], Mp))[:, None]
        qdd[on] += s * p[on]
        r[on] -= s * Mp
        steps[on] += 1
        rr = _dot(r, r)
    qdd += (rr - rr)[:, None]  # a state with NaN or infinity in it has no answer, and the iteration has not begun
    residual = _ratio(rr, size) ** 0.5
    return Solution(
        qdd.reshape(*batch, nv),
        steps.reshape(batch),
        residual.reshape(batch),
        (rr <= tolerance * tolerance * size).astype(bool).reshape(batch),
    )


def _dot(x: Array, y: Array) -> Array:
    """Return the inner product of each state; of any kind of number, where einsum takes only NumPy's."""
    return np.asarray((x * y).sum(axis=-1))


def _ratio(a: Array, b: Array) -> Array:
    """Return the quotient a / b; zero for 0 / 0, which occurs in a state that has converged."""
    none = (b == 0).astype(bool)
    return np.where(none, a - a, a / np.where(none, b - b + 1, b))


def _unit(T: Array) -> float:
    """Return the rounding unit; of double precision, for numbers that are not NumPy's."""
    return float(np.finfo(T.dtype if T.dtype.kind == "f" else np.float64).eps)


def _diagonal(ask: Ask, q: Array, dtype: Any) -> list[tuple[Array, Array]]:
    """Return the inverse of H R H*, for joints with the same number n of freedoms together.

    For each n, the freedoms of these joints (joints, n) and the inverted blocks (states, joints, n, n).

    Products with a one at the same freedom of every joint have a column of all blocks.
    """
    freedoms = [c.v for c in model_of(ask).joints if c.mimic is None and c.nv]
    nv = sum(v.stop - v.start for v in freedoms)
    columns = []
    for k in range(max((v.stop - v.start for v in freedoms), default=0)):
        x = np.zeros(nv, dtype)
        x[[v.start + k for v in freedoms if k < v.stop - v.start]] = 1
        columns.append(ask("mass_matrix_diagonal_product", q, x))
    found = []
    for n in sorted({v.stop - v.start for v in freedoms}):
        at = np.array([range(v.start, v.stop) for v in freedoms if v.stop - v.start == n])
        blocks = symmetric_inverse(tuple(tuple(columns[c][:, at[:, r]] for c in range(n)) for r in range(n)))
        found.append((at, np.stack([np.stack(row, axis=-1) for row in blocks], axis=-2)))
    return found


def _preconditioned(blocks: list[tuple[Array, Array]], r: Array, on: Array) -> Array:
    """Return L^-1 r, for the states that have not converged."""
    z, left = np.empty_like(r[on]), r[on]
    if not blocks:
        return left
    for at, inverted in blocks:
        z[:, at] = (inverted[on] * left[:, at][:, :, None, :]).sum(axis=-1)
    return z


def _require_converged(found: Solution, name: str) -> None:
    """Raise if the iteration of some state is far from its tolerance; one with NaN or infinity in it has no answer."""
    limit = min(_FAR * _TOLERANCE * _unit(found.acceleration), _FAILED)
    failed = np.asarray((found.residual > limit).astype(bool) & (found.residual < math.inf).astype(bool))
    if failed.any():
        worst, steps = float(np.max(found.residual[failed])), int(np.max(found.steps[failed]))
        where = f"{int(failed.sum())} of {failed.size} states" if failed.ndim else "the state"
        raise ConvergenceError(
            f"forward_dynamics: {name!r} has not converged in {where} after {steps} steps (residual {worst:.2g}); the "
            "mass matrix is ill-conditioned. Use 'articulated-body', or `forward_dynamics_report`, which returns the "
            "last iterate"
        )


def _declare(name: str, paper: str, equations: str) -> None:
    precondition = PRECONDITIONED[name]

    @algorithm("forward_dynamics", name, paper=paper, equations=equations, order="n^2", pieces=True)
    @wraps(solve)
    def method(ask: Ask, *given: Any, **named: Any) -> Array:
        found = solve(ask, *given, **named, precondition=precondition)
        _require_converged(found, name)
        return found.acceleration


_declare("conjugate-gradient", "Walker-Orin 1982, method 4, as in Jain 1991", "Jain (22), (30) with Lambda = 1")
_declare(
    "conjugate-gradient-preconditioned",
    "Fijany-Scheid 1989, as in Jain 1991",
    "Jain (22), (25), (30) with Lambda = H R H*",
)
