"""The loop of sensitivities of rollouts: forward mode through fixed steps, a tile of trajectories at a time.

`@sensitivity(words)` steps the trajectories from `first` up to `end`, and with them the rates of their states along one
direction, in which their starts, forces and the step change. It stores the rates of kept states: those of positions in
their tangent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...model import Model
from ..emit.builder import Builder, Value
from ..run.engine import compile_object
from .code import SENSITIVITY_POINTERS, SENSITIVITY_WORDS, LoopCode
from .derivatives import Pusher
from .fixed import lanes_function
from .machine import Kernels, Tile

__all__ = ["compile_sensitivity"]

_INPUTS = ("tau", "external", "goal")


def compile_sensitivity(
    model: Model, kernels: Kernels, step: Callable[[Any, Any, Any], Any], moving: Callable[[Any], Any]
) -> LoopCode:
    """Return the machine code of the loop around a step; `moving` makes the machine that carries rates along."""
    m = Pusher(kernels, model)
    nq, nv = model.nq, model.nv
    q, v, q_rate, v_rate = m.tile(nq), m.tile(nv), m.tile(nq), m.tile(nv)
    tangent, goal = m.tile(nv), m.tile(nv)
    m.sum_to([(1.0, "", m.as_numbers(q, tangent))], q_rate)
    m.sequence("begin")
    if m.feedback:
        m.sum_to([(1.0, "", m.as_numbers(m.goal, goal))], m.rates["goal"])
    m.sequence("begin_goal")
    (q1, dq1), (v1, dv1) = step(moving(m), (q, q_rate), (v, v_rate))
    for found, to in ((v1, v), (q1, q), (dv1, v_rate), (dq1, q_rate)):
        m.copy(found, to)
    m.sequence("step")
    m.sum_to([(1.0, "", m.as_tangent(q, q_rate))], tangent)
    m.sequence("show")
    m.clear(tangent, v_rate, goal, m.stretched, *m.rates.values())
    m.sequence("clear")
    emitted = m.finish()
    tiles = {"q0": q, "v0": v, "tau": m.applied, "external": m.external, "goal": m.goal}
    tiles["parameters"] = m.parameters
    tiles |= {f"{name}_rate": m.rates[name] for name in ("tau", "external", "kp", "kd", "parameters")}
    tiles |= {"q0_rate": tangent, "v0_rate": v_rate, "goal_rate": goal, "dt_rate": m.stretched}
    tiles |= {"dq_out": tangent, "dv_out": v_rate, "q_end": q, "v_end": v}
    main = _Sensitivity(m, tiles).text("@sensitivity", internal=False)
    return kernels.code(compile_object("\n".join([emitted.text, lanes_function(m.target), main])), emitted.workspace)


class _Sensitivity(Builder):
    """Writes @sensitivity: tiles of trajectories, one after the other."""

    def __init__(self, m: Pusher, tiles: dict[str, Tile]) -> None:
        super().__init__(("ptr %words",))
        [words] = self.arguments
        self.m, self.tiles = m, tiles
        self.word = word = {
            name: words.load("ptr" if name in SENSITIVITY_POINTERS else "i64", k)
            for k, name in enumerate(SENSITIVITY_WORDS)
        }
        self.rows = self.alloca(f"[{m.target.lanes} x ptr]")
        self.inputs = [name for name in _INPUTS if tiles[name].size and (name != "goal" or m.feedback)]
        self._run("start")
        numbers = word["workspace"].at(m.numbers.at, m.target.vector)
        self.call("@splat", word["numbers"], numbers, m.numbers.size)
        with self.if_(word["first"] < word["end"]), self.counted(word["end"], word["first"], m.target.lanes) as t:
            self._trajectories(t)

    def _trajectories(self, t: Value) -> None:
        """Write the steps of a tile."""
        word = self.word
        self._run("clear")
        varied = ["parameters"] if self.m.parameters.size else []
        for name in ("q0", "v0", *self.inputs, *varied):
            self._move("load", name, t)
        rates = ["q0", "v0", "dt", *self.inputs, *varied, *(("kp", "kd") if self.m.feedback else ())]
        for name in rates:
            self._load_rate(name, t)
        self._run("begin")
        self._run("begin_goal")
        self._show(t, self.const(0))
        with self.if_(word["steps"] > 0), self.counted(word["steps"]) as k:
            self.leave_unless(word["stop"].load("i64").equals(0))
            left, stored = self.carried(word["every"]), self.carried(0)
            for name in self.inputs:
                with self.if_(word[f"{name}_step"].differs(0)):
                    self._move("load", name, t, k * word[f"{name}_step"])
                with self.if_(word[f"{name}_rate_step"].differs(0)):
                    self._load_rate(name, t, k * word[f"{name}_rate_step"])
            self._run("begin_goal")
            self._run("step")
            rest = left.value - 1
            due = rest.equals(0)
            left.next, stored.next = due.select(word["every"], rest), stored.value + due.to("zext", "i64")
            with self.if_(due):
                self._show(t, stored.next)
        for name in ("q", "v"):
            self._move("store", f"{name}_end", t)

    def _show(self, t: Value, row: Value) -> None:
        """Store the rates of a state."""
        self._run("show")
        for name in ("dq", "dv"):
            self._move("store", f"{name}_out", t, row * self.word[f"{name}_row"])

    def _load_rate(self, name: str, t: Value, shift: Value | int = 0) -> None:
        """Load the rate of an argument, unless it is zero."""
        with self.if_(self.word[f"{name}_rate"].differs(self.null)):
            self._move("load", f"{name}_rate", t, shift)

    def _move(self, verb: str, name: str, t: Value, shift: Value | int = 0) -> None:
        """Load or store one row of each trajectory."""
        word, tile = self.word, self.tiles[name]
        self.call("@lanes", self.rows, word[name], word[f"{name}_stride"], t, word["last"], shift)
        place = word["workspace"].at(tile.at, self.m.target.vector)
        self.call(f"@{verb}_rows", self.rows, place, 0, tile.size)

    def _run(self, sequence: str) -> None:
        self.call(f"@{sequence}", self.word["workspace"], self.word["datas"])
