"""The implicit method for stiff systems: Radau IIA with three stages, of order 5, adaptive.

With y = (q, v) in the embedding and f its rates, the stages z_i = y(t + c_i h) - y(t) of a step solve

    z = h A f(t + c h, y + z),        y(t + h) = y + z_3

by simplified Newton iterations, in which the Jacobian J of f is kept as long as they converge well. In the basis of
A's eigenvectors they are one real and one complex linear system (mu / h - J) w = r, and there positions are
eliminated: what is factorised has nv rows, not nq + nv. After each step positions are projected.

Reference: Hairer and Wanner, Solving Ordinary Differential Equations II, sec. IV.8, their RADAU5.
Differs: J is found by differences in one batch of nq + nv + 1 states; the systems are solved by inverse matrices; what
is lost when a short step is added to the state is kept for the next one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..run.endings import Ending
from .dense import bend
from .integrator import Integrator, Settings, Step, StepFailedError
from .stiff import Eliminated, Field, Jacobian

if TYPE_CHECKING:
    from ..run.problem import Problem

__all__ = ["Radau"]

Array = NDArray[np.float64]

_SHORTEST, _LONGEST = 0.2, 10.0
"""By how much a step may change."""
_KEEP = 1.2
"""Below this growth the step stays as it is, and with it the inverse matrices."""
_ROUNDS = 7
_NEARLY = 1.01
"""A step that would leave less than a hundredth of itself to the end goes all the way."""


class _Method(NamedTuple):
    """The coefficients of Radau IIA with three stages, computed from the places of its nodes."""

    c: Array
    b: Array
    """Weights of the quadrature."""
    error: Array
    """Weights of the stages in the error's estimate."""
    powers: Array
    """Takes stages to the coefficients of their polynomial, in powers 1 to 3 of the part of the step."""
    real: float
    complex: complex
    """Eigenvalues of A^-1."""
    to: NDArray[Any]
    """Rows that take stages to the eigenvectors' basis: the real one, and one of the complex pair."""
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

    name: ClassVar[str] = "radau"
    order: ClassVar[int] = 5
    adaptive: ClassVar[bool] = True

    def __init__(self, problem: Problem, settings: Settings) -> None:
        super().__init__(problem, settings)
        self._field = Field(problem)
        eps = float(np.finfo(float).eps)
        self._rtol = max(settings.rtol, 10.0 * eps)
        self._newton_tolerance = max(10.0 * eps / self._rtol, min(0.03, math.sqrt(self._rtol)))
        self._M = _method()

    def start(self, t: float, q: Array, v: Array, h: float | None = None, end: float = math.inf) -> None:
        """Begin at this state."""
        self._t, self._y = float(t), np.concatenate([q, v]).astype(float)
        self._lost = np.zeros_like(self._y)  # what rounding took from the state, for the next step
        before = self._field.evaluations
        self._f = self._field.rates(np.array([self._t]), self._y[None])[0]
        bad = np.flatnonzero(~np.isfinite(self._f[self.problem.nq :]))
        if bad.size:
            name = self.problem.joint_of(int(bad[0]))
            raise StepFailedError(
                Ending.NOT_FINITE,
                self._t,
                f"the acceleration of joint {name!r} is not finite at t = {t:.9g} s",
                int(bad[0]),
            )
        self._J: Jacobian | None = None
        self._fresh = False
        self._factors: tuple[float, Eliminated, Eliminated] | None = None
        self._path: Array | None = None  # of the last step: where it began, its length, its polynomial
        self._h_before = self._error_before = 0.0
        self._h = self._limited(self._first_step(end) if h is None else float(h))
        self._new = self._field.evaluations - before

    def _limited(self, h: float) -> float:
        return h if self.settings.step is None else min(h, float(self.settings.step))

    def _size(self, x: Array, scale: Array) -> float:
        return float(np.sqrt(np.mean(np.abs(x / scale) ** 2))) if x.size else 0.0

    def _scale(self, y: Array) -> Array:
        return np.asarray(self.settings.atol + self._rtol * np.abs(y))

    def _first_step(self, end: float) -> float:
        """From the sizes of the state and its first two derivatives (Hairer et al. I, sec. II.4)."""
        span = end - self._t if end > self._t else math.inf
        y, f, scale = self._y, self._f, self._scale(self._y)
        d0, d1 = self._size(y, scale), self._size(f, scale)
        h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, span)
        while True:
            try:
                f1 = self._field.rates(np.array([self._t + h0]), (y + h0 * f)[None])[0]
                break
            except StepFailedError:  # forces are not finite there
                if self._t + 0.01 * h0 == self._t:
                    raise
                h0 *= 0.01
        most = max(d1, self._size(f1 - f, scale) / h0)
        h1 = (0.01 / most) ** 0.25 if most > 1e-15 else max(1e-6, h0 * 1e-3)
        return min(100.0 * h0, h1 if math.isfinite(h1) else h0, 0.1 * span)

    @property
    def h(self) -> float:
        """The step size that it would try next."""
        return self._h

    def step(self, end: float) -> Step:
        """One accepted step."""
        before, rejected = self._field.evaluations - self._new, 0
        planned = self._h
        bad: StepFailedError | None = None
        while True:
            left = end - self._t
            nominal, t1 = (left, end) if _NEARLY * self._h >= left else (self._h, self._t + self._h)
            h = t1 - self._t  # by the clock: the rounding of thousands of times would shift the motion
            if h < 10.0 * float(np.spacing(abs(self._t))) and h < left:
                if bad is not None:
                    raise bad.counted(rejected, self._field.evaluations - before)
                raise self._stuck(rejected, self._field.evaluations - before)
            try:
                solved, bad = self._solve(h, nominal), None
                error = math.inf if solved is None else self._error(h, solved, again=rejected > 0)
                taken = self._take(h, t1, solved, rejected, before) if solved is not None and error <= 1.0 else None
            except StepFailedError as e:  # forces that are not finite, at a stage
                solved, bad = None, e
            if solved is None:
                rejected += 1
                self._h = 0.5 * nominal
                continue
            safety = 0.9 * (2 * _ROUNDS + 1) / (2 * _ROUNDS + solved.rounds)
            if taken is None:
                rejected += 1
                self._h = nominal * max(_SHORTEST, safety * self._factor(nominal, error))
                continue
            break
        factor = min(_LONGEST, safety * self._factor(nominal, error))
        slow = solved.rounds > 2 and solved.rate > 1e-3
        if slow:
            self._J, self._factors = None, None
        elif factor < _KEEP:
            factor = 1.0
        self._h_before, self._error_before = nominal, error
        # a step cut short by the end says little about the next one
        self._h = self._limited(nominal * factor if nominal >= planned or rejected else max(nominal * factor, planned))
        return taken

    def _take(self, h: float, t1: float, solved: _Solved, rejected: int, before: int) -> Step:
        """Go on to the end of a step."""
        nq, problem, y0, f0 = self.problem.nq, self.problem, self._y, self._f
        powers = self._M.powers @ solved.z
        work = self._field.works(self._t + self._M.c * h, y0 + solved.z) @ self._M.b * h
        change = solved.z[2] + self._lost
        y1 = y0 + change
        self._lost = change - (y1 - y0)
        q1, v1 = problem.project(y1[:nq]), y1[nq:].copy()
        before_q, before_v = q1, v1
        q1, v1, projected = problem.corrected(t1, q1, v1)
        dense = np.vstack([y0, powers])
        bend(dense, np.concatenate([q1 - before_q, v1 - before_v]))
        y1 = np.concatenate([q1, v1])
        f1 = self._field.rates(np.array([t1]), y1[None])[0]
        taken = Step(
            self._t,
            t1,
            y0[:nq],
            y0[nq:],
            f0[nq:],
            q1,
            v1,
            f1[nq:],
            float(work[0]),
            float(work[1]),
            dense,
            rejected,
            self._field.evaluations - before,
            projected,
        )
        self._path = np.vstack([np.full(y0.shape, self._t), np.full(y0.shape, h), y0, powers])
        self._t, self._y, self._f, self._fresh, self._new = t1, y1, f1, False, 0
        return taken

    def _solve(self, h: float, nominal: float) -> _Solved | None:
        """The stages of a step, or None if they are not found: with a new Jacobian if the old one is to blame.

        Matrices are those of the nominal step, which stays the same while that by the clock differs by rounding.
        """
        z = self._guess(h)
        while True:
            if self._J is None:
                self._J, self._fresh, self._factors = self._field.jacobian(self._t, self._y, self._f), True, None
            try:
                if self._factors is None or self._factors[0] != nominal:
                    M, J = self._M, self._J
                    self._factors = (nominal, J.eliminate(M.real / nominal), J.eliminate(M.complex / nominal))
                found = self._iterate(h, z, self._factors[1], self._factors[2])
            except np.linalg.LinAlgError:
                found = None
            if found is not None or self._fresh:
                return found
            self._J = None

    def _guess(self, h: float) -> Array:
        """The polynomial of the last step, continued."""
        if self._path is None:
            return np.zeros((3, self._y.size))
        t, length, y, *powers = self._path
        s = (self._t + self._M.c[:, None] * h - t) / length
        return np.asarray(y + s * (powers[0] + s * (powers[1] + s * powers[2])) - self._y)

    def _iterate(self, h: float, z: Array, real: Eliminated, pair: Eliminated) -> _Solved | None:
        M, scale = self._M, self._scale(self._y)
        w0, w1 = (M.to[0] @ z).real, M.to[1] @ z
        before, rate = None, 0.0
        for k in range(_ROUNDS):
            f = self._field.rates(self._t + M.c * h, self._y + z)
            if not np.isfinite(f).all():
                return None
            d0 = real.solve((M.to[0] @ f).real - M.real / h * w0)
            d1 = pair.solve(M.to[1] @ f - M.complex / h * w1)
            size = math.sqrt((self._size(d0, scale) ** 2 + 2.0 * self._size(d1, scale) ** 2) / 3.0)
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
        """The estimated error of a step; up to 1 it is within the tolerance."""
        assert self._factors is not None
        scale = self.settings.atol + self._rtol * np.maximum(np.abs(self._y), np.abs(self._y + solved.z[2]))
        part = (self._M.error @ solved.z) / h
        found = self._factors[1].solve(self._f + part)
        error = self._size(found, scale)
        if again and error > 1.0:  # closer to the truth where the error is of fast modes that die out
            f = self._field.rates(np.array([self._t]), (self._y + found)[None])[0]
            error = self._size(self._factors[1].solve(f + part), scale)
        return error if math.isfinite(error) else math.inf

    def _factor(self, h: float, error: float) -> float:
        """By how much the step may grow, with a look at how the error has changed (Gustafsson's law)."""
        if error == 0.0:
            return _LONGEST
        plain = math.pow(error, -0.25)
        if not self._error_before:
            return plain
        return min(plain, plain * h / self._h_before * math.pow(self._error_before / error, 0.25))

    def _stuck(self, rejected: int, evaluations: int) -> StepFailedError:
        index = int(np.argmax(np.abs(self._f[self.problem.nq :]))) if self.problem.nv else None
        message = (
            f"no step after t = {self._t:.9g} s is short enough for the tolerance or the stages' equations; joint "
            f"{self.problem.joint_of(index)!r} accelerates most"
        )
        return StepFailedError(Ending.STEP_TOO_SMALL, self._t, message, index, rejected, evaluations)

    def state(self) -> dict[str, NDArray[Any]]:
        """Time, state, rates, step sizes, the Jacobian, and the polynomial of the last step."""
        numbers = [self._t, self._h, self._h_before, self._error_before, float(self._fresh), float(self._new)]
        n = self._y.size
        return {
            "numbers": np.array(numbers),
            "y": self._y,
            "lost": self._lost,
            "f": self._f,
            "J": np.zeros((0, n)) if self._J is None else self._J.matrix,
            "path": np.zeros((0, n)) if self._path is None else self._path,
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from there."""
        self._t, self._h, self._h_before, self._error_before, fresh, new = state["numbers"].tolist()
        self._fresh, self._new, self._factors = bool(fresh), int(new), None
        names = ("y", "lost", "f", "J", "path")
        self._y, self._lost, self._f, J, path = (np.array(state[k], dtype=float) for k in names)
        self._J = Jacobian(J, self.problem.nq) if J.size else None
        self._path = path if path.size else None
