"""The books of a run's loops: how far they were open, limits of their joints, singular positions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import Array
from ..integrators.dense import evaluate
from ..results.report import Violation
from ..run.saved import Saved
from .loop_report import LoopReport, Singularity

if TYPE_CHECKING:
    from ..run.chunk import Chunk
    from ..run.run import Run

__all__ = ["LoopBooks"]


_SINGULAR = 1e-5
"""A position is singular where the smallest singular value is below this part of what it was at its largest. It is
looked for on polynomials, which are no more accurate than some orders below."""
_DIP = 0.5
"""A step is searched if the smallest singular value at its ends is below this part of the largest one so far."""
_LOOKS, _ROUNDS = 9, 8
_FLAT = 0.3
"""A step in which the smallest singular value varies by less than this is not searched further: next to a singular
position, one of nine looks is nearer to zero."""
_MOST = 100
_BEYOND = 1e-9


class LoopBooks(Saved):
    """Collects the figures of a `LoopReport`, and notes joints of loops at their limits."""

    saved = (
        *("violation", "rate", "between", "projected", "projected_most", "lost", "switches", "largest", "begins"),
        *("worst", "fastest", "passed", "_beyond", "_last"),
    )

    def __init__(self, run: Run) -> None:
        self.run, self.problem = run, run.problem
        self.violation = self.rate = self.between = self.projected = self.projected_most = self.lost = 0.0
        self.worst = self.fastest = ""
        self.switches = 0
        self.passed = np.zeros((0, 4))
        """Times, ranks, usual ranks and smallest singular values of singular positions."""
        self.largest, self.begins = 0.0, math.inf
        """The smallest singular value: the largest so far, and that at the start."""
        self._last = np.zeros(0)
        """The smallest singular values at the ends of the last step and of the one before, if there are any."""
        self._names = [x.name for x in run.robot.loops]
        self._beyond = np.tile([math.nan, 0.0, math.nan], (len(self._names), 1))
        """For each loop: when its joint went beyond a limit first, the farthest, and when that was."""

    @property
    def singular(self) -> list[Singularity]:
        """The singular positions so far."""
        return [Singularity(t, int(rank), int(usual), least) for t, rank, usual, least in self.passed.tolist()]

    def start(self, t: float, q: Array, v: Array) -> None:
        """Start here, or continue from here with other loops."""
        now = self.problem.usual
        self.largest, self._last = 0.0, np.zeros(0)
        self._see(np.array([t]), q[None], v[None])
        if now.nc:
            here = float(now.smallest(q[None], t)[0])
            self.largest = self.begins = here
            if here < 1e-7 * (size := float(now.sigma(q, t)[0])):
                self.largest = 0.1 * size
                self._found(t, q, here)

    def add_projected(self, gained: float) -> None:
        """Book the energy that a projection added."""
        self.projected += gained
        self.projected_most += abs(gained)

    def see(self, chunk: Chunk) -> None:
        """Book steps."""
        if not len(chunk):
            return
        now = self.problem.usual
        parts = chunk.projected
        self.projected += float(np.sum(parts))
        self.projected_most += float(np.abs(parts).sum())
        self._see(chunk.t, chunk.q, chunk.v)
        if not now.nc or not np.isfinite(chunk.q).all():
            return
        if chunk.dense.shape[1]:
            middle = evaluate(chunk.dense, np.full(len(chunk), 0.5))[:, : self.problem.nq]
            half = 0.5 * (chunk.edges[1:] + chunk.edges[:-1])
            self.between = max(self.between, float(np.abs(now.residual(self.problem.project(middle), half)).max()))
        self._dips(chunk, self.run.band.inside)

    def _see(self, t: Array, q: Array, v: Array) -> None:
        now = self.problem.usual
        self._limits(t, q)
        if not now.nc:
            return
        for rows, value, who in ((now.residual(q, t), "violation", "worst"), (now.rate(q, v, t), "rate", "fastest")):
            size = np.abs(rows)
            most = float(size.max())
            if most > getattr(self, value) or not getattr(self, who):
                setattr(self, value, max(most, getattr(self, value)))
                setattr(self, who, now.worst(rows[int(size.max(axis=1).argmax())])[0])

    # ---- singular positions

    def _dips(self, chunk: Chunk, inside: bool) -> None:
        """Look for singular positions in steps next to which singular values are small."""
        now, edges = self.problem.usual, chunk.edges
        values = now.smallest(chunk.q, chunk.t)
        self.largest = max(self.largest, float(values.max()))
        last, before_last = self._last if len(self._last) else (self.begins, math.inf)
        small = np.concatenate([[last], values])
        for k in range(len(chunk)):
            if inside:
                self._search(float(edges[k]), float(edges[k + 1]), chunk.dense[k])
                continue
            low = min(small[k], small[k + 1])
            before = small[k - 1] if k else before_last
            after = small[k + 2] if k + 2 < len(small) else math.inf
            if low <= before and low <= after and low < _DIP * self.largest:
                self._search(float(edges[k]), float(edges[k + 1]), chunk.dense[k])
        self._last = small[:-3:-1].copy()

    def _search(self, t0: float, t1: float, dense: Array) -> None:
        """Find the minimum of the smallest singular value within a step."""
        if not len(dense):
            return
        now, nq = self.problem.usual, self.problem.nq
        low, high = 0.0, 1.0
        for _ in range(_ROUNDS):
            s = np.linspace(low, high, _LOOKS)
            q = self.problem.project(np.ascontiguousarray(evaluate(dense[None], s)[:, :nq]))
            values = now.smallest(q, t0 + s * (t1 - t0))
            at = int(values.argmin())
            if values[at] > _FLAT * values.max():
                break
            low, high = s[max(0, at - 1)], s[min(len(s) - 1, at + 1)]
        if values[at] < _SINGULAR * self.largest:
            self._found(float(t0 + s[at] * (t1 - t0)), q[at], float(values[at]))

    def _found(self, t: float, q: Array, smallest: float) -> None:
        now = self.problem.usual
        if len(self.passed) >= _MOST or (np.abs(self.passed[-3:, 0] - t) <= 1e-5 * max(1.0, abs(t))).any():
            return
        sigma = now.sigma(q, t)
        usual = self.largest
        rank = int((sigma[: now.rank] > 10.0 * max(_SINGULAR * usual, smallest)).sum())
        self.passed = np.concatenate([self.passed, [[t, rank, now.rank, smallest / usual]]])

    # ---- limits of joints that close loops

    def _limits(self, t: Array, q: Array) -> None:
        robot = self.problem.usual.robot
        along = self.problem.turns.along(robot, q)
        for x in robot.loop_table.loops:
            at = along.get(x.loop.name)
            if at is None:
                continue
            beyond = np.maximum(np.array(x.loop.lower) - at, at - np.array(x.loop.upper)).max(axis=1)
            out = np.flatnonzero(beyond > _BEYOND)
            if out.size:
                seen = self._beyond[self._names.index(x.loop.name)]
                most = int(beyond.argmax())
                if math.isnan(seen[0]):
                    seen[0] = t[out[0]]
                if beyond[most] > seen[1]:
                    seen[1:] = beyond[most], t[most]
        self.problem.turns.go(along)

    def _violations(self) -> list[Violation]:
        return [
            Violation(name, -1, *x) for name, x in zip(self._names, self._beyond.tolist(), strict=True) if x[1] > 0.0
        ]

    # ---- the end, checkpoints

    def report(self) -> dict[str, Any]:
        """Return the report of the loops, and the joints that close loops and went beyond their limits."""
        return {"loops": self._report(), "violations": self._violations()}

    def _report(self) -> LoopReport:
        now = self.problem.usual
        return LoopReport(
            drift=self.problem.drift,
            violation=self.violation,
            worst=self.worst,
            rate=self.rate,
            fastest=self.fastest,
            between=self.between,
            projected=self.projected,
            projected_most=self.projected_most,
            switches=self.switches,
            lost=self.lost,
            rank=now.rank,
            constraints=now.nc,
            singular=tuple(self.singular),
            of=self.problem.mechanism.of,
        )
