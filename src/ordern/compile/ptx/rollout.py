"""Rollouts as a kernel: the whole time loop, with one trajectory a thread.

The parameters of the entry are those of `ROLLOUT_PARAMETERS`, 64 bits each: addresses, and strides in numbers. Each
trajectory has a row of positions `q0` and one of velocities `v0`, `stride` from the next trajectory's, or 0 if one row
serves all. `tau`, `external` and `goal` have a row for each step, `step` apart; 0 if one row is for all steps.
`numbers` has the step, the smoothing of friction, three numbers that are not read, and the gains kp and kd of feedback.
Arguments that the steps do not use may have the address 0.

Row 0 of a result is the first state, row k the state after k times `every` steps. Rows are `row` apart: 0 keeps only
the last state. What comes after the last multiple of `every` steps is not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...model import Model
from ..emit.builder import Value
from ..emit.target import Target
from ..pipeline import Request
from ..program import uncollected
from ..trace.layout import Layout, Operand
from .code import PtxCode
from .emitter import GLOBAL, Row, ThreadEmitter
from .entry import NAME, Frame
from .machine import assembly, thread_target
from .plan import Plan, straight_plan
from .spills import Schedule
from .step import INPUTS, Step, trace_step
from .straight import StraightWriter

__all__ = ["ROLLOUT_PARAMETERS", "ptx_rollout", "write_rollout"]

_TIMED = ("tau", "external", "goal")
ROLLOUT_PARAMETERS = (
    *("q0", "q0_stride", "v0", "v0_stride"),
    *(f"{name}{end}" for name in _TIMED for end in ("", "_stride", "_step")),
    *("numbers", "parameters", "parameters_stride"),
    *("q_out", "q_stride", "q_row", "v_out", "v_stride", "v_row"),
    *("steps", "every", "n"),
)
"""The parameters of the entry, in order."""
_POINTERS = ("q0", "v0", *_TIMED, "numbers", "parameters", "q_out", "v_out")


def ptx_rollout(
    model: Model,
    requests: Mapping[str, Request],
    step: Callable[[Any, Any, Any], tuple[Any, Any]],
    dtype: str,
    arch: str = "sm_90",
) -> PtxCode:
    """Return the loop around a step, a function (m, q, v) -> (q, v) over a machine m, as PTX.

    `requests` are the kernels of a time loop by name, as for `ordern.compile.timeloops.fixed.compile_rollout`.
    """
    ir, code = write_rollout(model, requests, step, dtype, arch)
    return replace(code, text=assembly(ir, arch))


@uncollected()
def write_rollout(
    model: Model,
    requests: Mapping[str, Request],
    step: Callable[[Any, Any, Any], tuple[Any, Any]],
    dtype: str,
    arch: str = "sm_90",
    plan: Plan | None = None,
    on_device: bool = True,
) -> tuple[str, PtxCode]:
    """Return the loop around a step as IR text, and its record without the text; see `Frame` for `on_device`."""
    target, traced = thread_target(dtype), trace_step(model, requests, step)
    work = traced.work
    plan = plan or straight_plan(work, target.itemsize, arch)
    loop = _Loop(target, traced, plan, on_device)
    loop.write()
    code = PtxCode("", NAME, plan.block, plan.block, "unrolled", len(work), registers=plan.registers)
    return loop.frame.text(plan.registers), code


class _Loop:
    """Writes the steps of one trajectory."""

    def __init__(self, target: Target, step: Step, plan: Plan, on_device: bool) -> None:
        parameters = [
            f"{GLOBAL} noalias %{name}" if name in _POINTERS else f"i64 %{name}" for name in ROLLOUT_PARAMETERS
        ]
        self.frame = Frame(target, parameters, plan.block, on_device)
        self._e: ThreadEmitter = self.frame.e
        self._step, self._plan = step, plan
        self._layout = Layout(step.inputs, Operand("out", ()), 1)

    def _named(self, name: str) -> Value:
        return self.frame.named[f"%{name}"]

    def write(self) -> None:
        """Write the whole kernel."""
        e = self._e
        trajectory = self.frame.register("ctaid") * self.frame.block + self.frame.register("tid")
        with e.if_(trajectory < self._named("n")):
            sizes = {x.name: x.size for x in self._step.inputs}
            start = {
                name: [e.load(self._row(f"{name}0", trajectory), k) for k in range(sizes[name])] for name in ("q", "v")
            }
            outs = {name: self._row(f"{name}_out", trajectory, f"{name}_stride", constant=False) for name in ("q", "v")}
            self._store(outs, start, None)
            with e.if_(self._named("steps") > 0):
                self._steps(trajectory, start, outs)

    def _row(self, name: str, trajectory: Value, stride: str = "", constant: bool = True) -> Row:
        """Return the row of a trajectory in an array."""
        offset = trajectory * self._named(stride or f"{name}_stride")
        return Row(self._e, self._named(name).at(offset, self._e.element).name, GLOBAL, constant=constant)

    def _store(self, outs: dict[str, Row], state: dict[str, list[str]], number: Value | None) -> None:
        """Store a state in a row of the results; the first one without a number."""
        for name, row in outs.items():
            to = row if number is None else row.at(number * self._named(f"{name}_row"), self._e.element)
            for k, x in enumerate(state[name]):
                self._e.store(x, to, k)

    def _steps(self, trajectory: Value, start: dict[str, list[str]], outs: dict[str, Row]) -> None:
        """Write the loop, which carries the state along in registers."""
        e, every = self._e, self._named("every")
        timed = {name: self._row(name, trajectory) for name in (*_TIMED, "parameters")}
        with e.repeat():
            k, left, stored = e.carried(0), e.carried(every), e.carried(0)
            now = {name: [e.carried(Value(e, x, e.element)) for x in xs] for name, xs in start.items()}
            rows = {
                name: row.at(k.value * self._named(f"{name}_step"), e.element) if name in _TIMED else row
                for name, row in timed.items()
            }
            rows["numbers"] = Row(e, "%numbers", GLOBAL, constant=True)
            unused = rows["numbers"]  # positions and velocities are in registers
            given = {(n, i): x.value.name for n, name in enumerate(("q", "v")) for i, x in enumerate(now[name])}
            writer = StraightWriter(
                e, self._layout, [rows.get(name, unused) for name in INPUTS], self._plan, Schedule(), None, given
            )
            e.memo = {}
            writer.write(self._step.roots, {}, self._named("n"))
            after = {
                name: [writer.operand(x) if not isinstance(x, float) else e.constant(x) for x in xs]
                for name, xs in (("q", self._step.q), ("v", self._step.v))
            }
            for name, xs in after.items():
                for carried, x in zip(now[name], xs, strict=True):
                    carried.next = Value(e, x, e.element)
            rest = left.value - 1
            due = rest.equals(0)
            left.next, stored.next = due.select(every, rest), stored.value + due.to("zext", "i64")
            with e.if_(due):
                self._store(outs, after, stored.next)
            k.next = k.value + 1
            e.leave_unless(k.next < self._named("steps"))
