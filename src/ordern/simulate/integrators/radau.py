"""The implicit method for stiff systems: Radau IIA with three stages, of order 5, adaptive.

With y = (q, v) in the embedding and f its rates, the stages z_i = y(t + c_i h) - y(t) of a step solve

    z = h A f(t + c h, y + z),        y(t + h) = y + z_3

by simplified Newton iterations, in which the Jacobian J of f is kept as long as they converge well. In the basis of
A's eigenvectors they are one real and one complex linear system (mu / h - J) w = r, and there positions are
eliminated: the factorised matrices have nv rows, not nq + nv. After each step positions are projected.

Reference: Hairer and Wanner, Solving Ordinary Differential Equations II, sec. IV.8, their RADAU5.
Differs: J is found by differences in one batch of nq + nv + 1 states; the systems are solved by inverse matrices; the
rounding error of adding a short step to the state is kept for the next step.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Array
from .dense import bend
from .explicit import first_step, require_finite, too_small
from .integrator import Integrator, Settings, Step, StepFailedError
from .rk_step import Point
from .step_control import GROWTH, NEARLY, SHRINKAGE
from .stiff import Eliminated, Field, Jacobian

if TYPE_CHECKING:
    from ..run.problem import Problem

__all__ = ["Radau"]


_KEEP = 1.2
"""Below this growth the step and the inverse matrices stay as they are."""
_ROUNDS = 7
_UNSOLVED = ", or the equations of the stages have no solution"


class _Method(NamedTuple):
    """The coefficients of Radau IIA with three stages, computed from its nodes."""

    c: Array
    b: Array
    """Weights of the quadrature."""
    error: Array
    """Weights of the stages in the error estimate."""
    powers: Array
    """Maps stages to the coefficients of their polynomial, in powers 1 to 3 of the part of the step."""
    real: float
    complex: complex
    """Eigenvalues of A^-1."""
    to: NDArray[Any]
    """Rows that map stages to the basis of eigenvectors: the real one, and one of the complex pair."""
    back: NDArray[Any]


def _method() -> _Method:
    r = math.sqrt(6.0)
    c = np.array([(4.0 - r) / 10.0, (4.0 + r) / 10.0, 1.0])
    k = np.arange(1, 4)
    V = c[:, None] ** (k - 1)
    A = (c[:, None] ** k / k) @ np.linalg.inv(V)  # collocation: exact for quadratic rates
    values, vectors = np.linalg.eig(np.linalg.inv(A))
    one, two = int(np.argmin(np.abs(values.imag))), int(np.argmin(values.imag))
    order = [one, two, 3 - one - two]
    to, back = np.linalg.inv(vectors[:, order])[:2], vectors[:, order][:, :2]
    turn = back[2, 0] / abs(back[2, 0])  # the real pair as real numbers
    to[0], back[:, 0] = to[0] * turn, back[:, 0] / turn
    error = np.array([-13.0 - 7.0 * r, -13.0 + 7.0 * r, -1.0]) / 3.0
    return _Method(c, A[2], error, np.linalg.inv(c[:, None] ** k), float(values[one].real), values[two], to, back)


class _Solved(NamedTuple):
    """Stages that Newton's iteration found."""

    z: Array
    rounds: int
    rate: float


class Radau(Integrator):
    """Implicit: for stiff springs and dampers, where explicit steps would have to be very short."""

    saved = ("_t", "h", "_h_before", "_error_before", "_fresh", "_new", "_y", "_lost", "_f", "_J", "_path")

    def __init__(self, problem: Problem, settings: Settings) -> None:
        least = 10.0 * float(np.finfo(float).eps)
        rtol = max(settings.rtol, least)
        super().__init__(problem, replace(settings, rtol=rtol))
        self._field = Field(problem)
        self._newton_tolerance = max(least / rtol, min(0.03, math.sqrt(rtol)))
        self._M = _method()

    def start(self, t: float, q: Array, v: Array, h: float | None = None, end: float = math.inf) -> None:
        """Begin at this state."""
        nq, problem = self.problem.nq, self.problem
        self._t, self._y = float(t), np.concatenate([q, v]).astype(float)
        self._lost = np.zeros_like(self._y)  # the part of the state that rounding removed, for the next step
        before = problem.evaluations
        self._f = self._field.rates(np.array([self._t]), self._y[None])[0]
        require_finite(problem, self._t, self._f[nq:], "acceleration")
        self._J = self._path = np.zeros((0, self._y.size))  # the Jacobian and the last polynomial; empty if unknown
        self._fresh = False
        self._factors: tuple[float, Eliminated, Eliminated] | None = None
        self._h_before = self._error_before = 0.0
        if h is None:
            y, k = (Point(x[:nq], x[nq:], np.zeros(2)) for x in (self._y, self._f))
            h = first_step(problem, self.settings, 4, self._t, y, k, end)
        self.h = min(h, self.settings.longest)
        self._new = problem.evaluations - before

    def step(self, end: float) -> Step:
        """Take one step."""
        before, rejected, planned = self.problem.evaluations - self._new, 0, self.h
        taken = solved = bad = None
        while solved is None or taken is None:
            left = end - self._t
            nominal, t1 = (left, end) if NEARLY * self.h >= left else (self.h, self._t + self.h)
            h = t1 - self._t  # as rounded: otherwise the rounding of thousands of times would shift the motion
            if h < 10.0 * float(np.spacing(abs(self._t))) and h < left:
                failure = bad or too_small(self.problem, self._t, self._f[self.problem.nq :], hint=_UNSOLVED)
                raise failure.counted(rejected, self.problem.evaluations - before)
            try:
                solved, bad = self._solve(h, nominal), None
                error = math.inf if solved is None else self._error(h, solved, again=rejected > 0)
                if solved is not None and error <= 1.0:
                    taken = self._take(h, t1, solved, rejected, before)
            except StepFailedError as e:  # forces that are not finite, at a stage
                solved, bad = None, e
            if solved is None:
                rejected, self.h = rejected + 1, 0.5 * nominal
                continue
            safety = 0.9 * (2 * _ROUNDS + 1) / (2 * _ROUNDS + solved.rounds)
            factor = safety * self._factor(nominal, error)
            if taken is None:
                rejected, self.h = rejected + 1, nominal * max(SHRINKAGE, factor)
        factor = min(GROWTH, factor)
        if solved.rounds > 2 and solved.rate > 1e-3:  # slow: the Jacobian is old
            self._J, self._factors = self._J[:0], None
        elif factor < _KEEP:
            factor = 1.0
        self._h_before, self._error_before = nominal, error
        # a step cut short by the end says little about the next one
        following = nominal * factor if nominal >= planned or rejected else max(nominal * factor, planned)
        self.h = min(following, self.settings.longest)
        return taken

    def _take(self, h: float, t1: float, solved: _Solved, rejected: int, before: int) -> Step:
        """Go on to the end of a step."""
        nq, problem, y0, f0 = self.problem.nq, self.problem, self._y, self._f
        powers = self._M.powers @ solved.z
        works = self._field.works(self._t + self._M.c * h, y0 + solved.z) @ self._M.b * h
        work, dissipated = works.tolist()
        change = solved.z[2] + self._lost
        y1 = y0 + change
        lost = change - (y1 - y0)
        q1, v1 = problem.project(y1[:nq]), y1[nq:].copy()
        before_q, before_v = q1, v1
        q1, v1, projected = problem.corrected(t1, q1, v1)
        dense = np.vstack([y0, powers])
        bend(dense, np.concatenate([q1 - before_q, v1 - before_v]))
        y1 = np.concatenate([q1, v1])
        f1 = self._field.rates(np.array([t1]), y1[None])[0]
        ends = (y0[:nq], y0[nq:], f0[nq:], q1, v1, f1[nq:])
        count = problem.evaluations - before
        taken = Step(self._t, t1, *ends, work, dissipated, dense, rejected, count, projected)
        self._path = np.vstack([np.full(y0.shape, self._t), np.full(y0.shape, h), y0, powers])
        self._t, self._y, self._f, self._fresh, self._new, self._lost = t1, y1, f1, False, 0, lost
        return taken

    def _solve(self, h: float, nominal: float) -> _Solved | None:
        """Return the stages of a step, or None if they are not found with a new Jacobian either.

        The matrices belong to the nominal step, which stays the same while the rounded step h varies.
        """
        z = self._guess(h)
        while True:
            if not len(self._J):
                self._J, self._fresh, self._factors = self._field.jacobian(self._t, self._y, self._f).matrix, True, None
            try:
                if self._factors is None or self._factors[0] != nominal:
                    M, J = self._M, Jacobian(self._J, self.problem.nq)
                    self._factors = (nominal, J.eliminate(M.real / nominal), J.eliminate(M.complex / nominal))
                found = self._iterate(h, z, self._factors[1], self._factors[2])
            except np.linalg.LinAlgError:
                found = None
            if found is not None or self._fresh:
                return found
            self._J = self._J[:0]

    def _guess(self, h: float) -> Array:
        """Return the stages that the polynomial of the last step predicts."""
        if not len(self._path):
            return np.zeros((3, self._y.size))
        t, length, y, *powers = self._path
        s = (self._t + self._M.c[:, None] * h - t) / length
        return np.asarray(y + s * (powers[0] + s * (powers[1] + s * powers[2])) - self._y)

    def _iterate(self, h: float, z: Array, real: Eliminated, pair: Eliminated) -> _Solved | None:
        M, scale = self._M, self.settings.atol + self.settings.rtol * np.abs(self._y)
        w0, w1 = (M.to[0] @ z).real, M.to[1] @ z
        before, rate = None, 0.0
        for k in range(_ROUNDS):
            f = self._field.rates(self._t + M.c * h, self._y + z)
            if not np.isfinite(f).all():
                return None
            d0 = real.solve((M.to[0] @ f).real - M.real / h * w0)
            d1 = pair.solve(M.to[1] @ f - M.complex / h * w1)
            size = math.sqrt((_size(d0, scale) ** 2 + 2.0 * _size(d1, scale) ** 2) / 3.0)
            if before:
                rate = size / before
                if rate >= 1.0 or rate ** (_ROUNDS - k) / (1.0 - rate) * size > self._newton_tolerance:
                    return None
            w0, w1 = w0 + d0, w1 + d1
            z = M.back[:, :1].real * w0 + 2.0 * (M.back[:, 1:] * w1).real
            if size == 0.0 or (before and rate / (1.0 - rate) * size < self._newton_tolerance):
                return _Solved(z, k + 1, rate)
            before = size
        return None

    def _error(self, h: float, solved: _Solved, again: bool) -> float:
        """Return the estimated error of a step; up to 1 it is within the tolerance."""
        assert self._factors is not None
        scale = self.settings.atol + self.settings.rtol * np.maximum(np.abs(self._y), np.abs(self._y + solved.z[2]))
        part = (self._M.error @ solved.z) / h
        found = self._factors[1].solve(self._f + part)
        error = _size(found, scale)
        if again and error > 1.0:  # closer to the truth where the error is of fast modes that die out
            f = self._field.rates(np.array([self._t]), (self._y + found)[None])[0]
            error = _size(self._factors[1].solve(f + part), scale)
        return error if math.isfinite(error) else math.inf

    def _factor(self, h: float, error: float) -> float:
        """Return the factor by which the step may grow, from this error and the last one (Gustafsson's law)."""
        if error == 0.0:
            return GROWTH
        plain = math.pow(error, -0.25)
        if not self._error_before:
            return plain
        return min(plain, plain * h / self._h_before * math.pow(self._error_before / error, 0.25))

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from the arrays that `state` returned."""
        super().restore(state)
        self._factors = None


def _size(x: NDArray[Any], scale: Array) -> float:
    return float(np.sqrt(np.mean(np.abs(x / scale) ** 2))) if x.size else 0.0
