"""A rollout with one trajectory a thread: its state stays in registers."""

from __future__ import annotations

from ..emit.builder import Value
from ..emit.target import Target
from ..trace.layout import Layout, Operand
from .emitter import GLOBAL, Row, ThreadEmitter
from .entry import Frame
from .plan import Plan
from .rollout_parameters import TIMED, declared
from .spills import Schedule
from .step import INPUTS, Step
from .straight import StraightWriter, write_stages

__all__ = ["ThreadLoop"]


class ThreadLoop:
    """Writes the steps of one trajectory."""

    def __init__(self, target: Target, step: Step, plan: Plan, on_device: bool) -> None:
        self.frame = Frame(target, declared(), plan.block, on_device)
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
            state = self._step.state
            start = {
                name: [e.load(self._row(f"{name}0", trajectory), k) for k in range(len(xs))]
                for name, xs in state.items()
                if name != "certificate"
            }
            start |= {"certificate": [e.constant(0.0)] * len(state["certificate"])} if "certificate" in state else {}
            outs = {name: self._row(f"{name}_out", trajectory, f"{name}_stride", constant=False) for name in state}
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
        timed = {name: self._row(name, trajectory) for name in (*TIMED, "parameters", "surfaces")}
        with e.repeat():
            k, left, stored = e.carried(0), e.carried(every), e.carried(0)
            now = {name: [e.carried(Value(e, x, e.element)) for x in xs] for name, xs in start.items()}
            rows = {
                name: row.at(k.value * self._named(f"{name}_step"), e.element) if name in TIMED else row
                for name, row in timed.items()
            }
            rows |= {name: Row(e, f"%{name}", GLOBAL, constant=True) for name in ("numbers", "limits")}
            unused = rows["numbers"]  # the state is in registers
            given = {(INPUTS.index(name), i): x.value.name for name, xs in now.items() for i, x in enumerate(xs)}
            writer = StraightWriter(
                e, self._layout, [rows.get(name, unused) for name in INPUTS], self._plan, Schedule(), None, given
            )
            e.memo = {}
            write_stages(e, writer, self._step.code, {}, self._named("n"))
            after = {name: [writer.scalar(x) for x in xs] for name, xs in self._step.state.items()}
            rest = left.value - 1
            due = rest.equals(0)
            for name, xs in after.items():
                for carried, x in zip(now[name], xs, strict=True):
                    found = Value(e, x, e.element)
                    carried.next = due.select(e.const(0.0, e.element), found) if name == "certificate" else found
            left.next, stored.next = due.select(every, rest), stored.value + due.to("zext", "i64")
            with e.if_(due):
                self._store(outs, after, stored.next)
            k.next = k.value + 1
            e.leave_unless(k.next < self._named("steps"))
