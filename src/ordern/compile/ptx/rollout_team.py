"""A rollout in which the warps of a block share 32 trajectories: their states stay in shared memory.

In each step, warps compute their parts of the next state, phase by phase, and store it beside the state. When all are
done, it takes the place of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...graph import Scalar
from ..emit.builder import Value
from ..emit.target import Target
from ..trace.layout import Layout, Operand
from .emitter import GLOBAL, Row
from .limbs import Division
from .plan import Plan
from .rollout_parameters import TIMED, declared
from .spills import Slots
from .step import INPUTS, Step
from .team import Rows, Team

__all__ = ["TeamLoop", "areas_of"]

_AREAS = ("q", "v", *TIMED, "parameters", "q_next", "v_next")
"""The areas of shared memory."""


def areas_of(step: Step) -> list[Operand]:
    """Return the areas of shared memory that the states and arguments of a step take."""
    sizes = {x.name: x.size for x in step.inputs}
    sizes |= {"q_next": sizes["q"], "v_next": sizes["v"]}
    return [Operand(name, (sizes[name],)) for name in _AREAS]


class TeamLoop:
    """Writes the steps of 32 trajectories."""

    def __init__(
        self, target: Target, step: Step, division: Division, plan: Plan, asynchronous: bool, on_device: bool
    ) -> None:
        areas = areas_of(step)
        self.frame = Team(target, declared(), areas, division, plan, asynchronous, on_device)
        self._step, self._plan, self._e = step, plan, self.frame.e
        self._given = {x.name for x in areas if x.size}

    def _named(self, name: str) -> Value:
        return self.frame.named[f"%{name}"]

    def _rows(self, name: str, stride: str, shift: Value | None = None) -> Rows:
        """Return the rows of the trajectories in an array, from a number on."""
        first = self._named(name)
        return Rows(first if shift is None else first.at(shift, self._e.element), self._named(stride))

    def _copy_in(self, name: str, source: str, shift: Value | None = None) -> None:
        self.frame.copy_in(_AREAS.index(name), self._rows(source, f"{source}_stride", shift))

    def _store(self, shift: Callable[[str], Value | None]) -> None:
        """Store the state in rows of the results."""
        for name in ("q", "v"):
            self.frame.copy_out(_AREAS.index(name), self._rows(f"{name}_out", f"{name}_stride", shift(name)))

    def write(self) -> None:
        """Write the whole kernel."""
        for name in ("q", "v"):
            self._copy_in(name, f"{name}0")
        for name in (*TIMED, "parameters"):
            if name in self._given:
                self._copy_in(name, name)
        self.frame.copied()
        self._store(lambda name: None)
        with self._e.if_(self._named("steps") > 0):
            self._steps()

    def _steps(self) -> None:
        """Write the loop."""
        e, team, every = self._e, self.frame, self._named("every")
        with e.repeat():
            k, left, stored = e.carried(0), e.carried(every), e.carried(0)
            for name in TIMED:
                if name in self._given:
                    with e.if_(self._named(f"{name}_step").differs(0)):
                        self._copy_in(name, name, k.value * self._named(f"{name}_step"))
            team.copied()
            team.work(Layout(self._step.inputs, Operand("out", ()), 1), self._inputs, self._results, self._plan)
            team.wait()
            for name in ("q", "v"):
                team.move(_AREAS.index(f"{name}_next"), _AREAS.index(name))
            rest = left.value - 1
            due = rest.equals(0)
            left.next, stored.next = due.select(every, rest), stored.value + due.to("zext", "i64")
            with e.if_(due):
                team.wait()
                number = stored.next
                self._store(lambda name: number * self._named(f"{name}_row"))
            k.next = k.value + 1
            e.leave_unless(k.next < self._named("steps"))

    def _inputs(self) -> list[Slots | Row]:
        """Return the rows of the arguments of a step; `numbers` are the same for all trajectories."""
        numbers = Row(self._e, "%numbers", GLOBAL, constant=True)
        return [self.frame.row(_AREAS.index(name)) if name in _AREAS else numbers for name in INPUTS]

    def _results(self) -> Iterable[tuple[Slots, int, Scalar]]:
        """Return the numbers of the next state, and their places."""
        for name, xs in (("q_next", self._step.q), ("v_next", self._step.v)):
            row = self.frame.row(_AREAS.index(name))
            yield from ((row, k, x) for k, x in enumerate(xs))
