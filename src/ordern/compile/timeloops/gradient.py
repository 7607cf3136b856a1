"""The loop of gradients of rollouts: reverse mode through fixed steps, a tile of trajectories at a time.

`@gradient(words)` computes, for the trajectories from `first` up to `end`, the derivatives of a weighted sum of kept
states. It steps forward and keeps the state and the accelerations of every step on a tape; then it goes back, from the
last step to the first. The tape holds a segment of the steps. If there are more, the states at the starts of segments
are kept on the first way, and each segment is stepped again before the way back through it. So the memory of a thread
is bounded, whatever the number of steps and trajectories, and a step is computed at most twice.

Reference: Griewank and Walther 2008, Evaluating Derivatives, chapter 12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...model import Model
from ..emit.builder import Builder, Value
from ..run.engine import compile_object
from .code import GRADIENT_POINTERS, GRADIENT_WORDS, LoopCode
from .derivatives import Puller
from .fixed import lanes_function
from .machine import Kernels, Numbers, Tile

__all__ = ["compile_gradient"]

Step = Callable[[Any, Tile, Tile], tuple[Tile, Tile]]
INPUTS = ("tau", "external", "goal")
"""The inputs that may change from step to step."""


def compile_gradient(
    model: Model, kernels: Kernels, step: Step, tape: Callable[[Any], Any], by_numbers: bool
) -> LoopCode:
    """Return the machine code of the loop around a step and its derivatives.

    `tape` makes the machine that records a step and goes back. The weights of positions are by their numbers, or in
    their tangent.
    """
    m = Puller(kernels, model)
    nq, nv = model.nq, model.nv
    q, v, by_q, by_v = m.tile(nq), m.tile(nv), m.tile(nq), m.tile(nv)
    weights = {"wq": m.tile(nq if by_numbers else nv), "wv": m.tile(nv)}
    q1, v1 = step(m, q, v)
    m.sequence("step")
    m.copy(v1, v)  # a position may be a velocity's tile, but not the other way round
    m.copy(q1, q)
    m.sequence("advance")
    kept = [q, v, *m.stages]
    m.replaying = list(m.stages)
    recorded = tape(m)
    q1, v1 = step(recorded, q, v)
    m.sequence("retrace")

    def weigh(at: Tile, name: str) -> None:
        """Add the weights of a kept state."""
        numbers = weights["wq"] if m.flat or by_numbers else m.pull_tangent(at, weights["wq"])
        m.sum_to([(1.0, "", by_q), (1.0, "", numbers)], by_q)
        m.sum_to([(1.0, "", by_v), (1.0, "", weights["wv"])], by_v)
        m.sequence(name)

    weigh(q1, "weigh")
    weigh(q, "weigh_first")
    recorded.weigh(q1, by_q)
    recorded.weigh(v1, by_v)
    recorded.back()
    ends = [(recorded.derivative(x), to) for x, to in ((q, by_q), (v, by_v))]
    for found, to in ends:
        m.sum_to([(1.0, "", found)], to)
    m.sequence("back")
    start, goal = m.tile(nv), m.tile(nv)
    m.sum_to([(1.0, "", m.in_tangent(q, by_q))], start)
    m.sequence("finish")
    if m.feedback:
        m.sum_to([(1.0, "", m.in_tangent(m.goal, m.collected["goal"]))], goal)
    m.sequence("finish_goal")
    m.clear(by_q, by_v, *weights.values(), m.stretched, *m.collected.values())
    m.sequence("clear")
    for name in INPUTS:
        m.clear(m.collected[name])
        m.sequence(f"clear_{name}")
    emitted = m.finish()
    tiles = {**weights, "q0": q, "v0": v, "tau": m.applied, "external": m.external, "goal": m.goal}
    tiles["parameters"] = m.parameters
    tiles |= {f"{name}_bar": m.collected[name] for name in ("tau", "external", "kp", "kd", "parameters")}
    tiles |= {"q_end": q, "v_end": v, "q0_bar": start, "v0_bar": by_v, "goal_bar": goal, "dt_bar": m.stretched}
    texts = [emitted.text, lanes_function(m.target), *_moves("tape", m, kept), *_moves("start", m, [q, v])]
    texts.append(_Gradient(m, tiles, sum(x.size for x in kept), nq + nv).text("@gradient", internal=False))
    return kernels.code(compile_object("\n".join(texts)), emitted.workspace)


def _moves(name: str, m: Puller, tiles: Sequence[Tile]) -> list[str]:
    """Return the IR texts of @{name}_out and @{name}_in: between values and memory where they follow each other."""
    found = []
    for out in (True, False):
        e, at = Numbers(m.target, arguments=("ptr %ws", "ptr %memory")), 0
        for tile in tiles:
            with e.counted(tile.size) as k:
                inside, outside = e.place(tile, k), e.arguments[1].at(at, e.vector).at(k, e.vector)
                e.store(e.load(inside if out else outside), outside if out else inside)
            at += tile.size
        found.append(e.text(f"@{name}_{'out' if out else 'in'}"))
    return found


class _Gradient(Builder):
    """Writes @gradient: tiles of trajectories, one after the other."""

    def __init__(self, m: Puller, tiles: dict[str, Tile], kept: int, start: int) -> None:
        super().__init__(("ptr %words",))
        [words] = self.arguments
        self.m, self.tiles = m, tiles
        self.word = {
            name: words.load("ptr" if name in GRADIENT_POINTERS else "i64", k) for k, name in enumerate(GRADIENT_WORDS)
        }
        self.rows = self.alloca(f"[{m.target.lanes} x ptr]")
        vector = m.target.lanes * m.target.itemsize
        self._tape_bytes, self._start_bytes = kept * vector, start * vector
        self.inputs = [name for name in INPUTS if tiles[name].size and (name != "goal" or m.feedback)]
        self._run("start")
        self.call("@splat", self.word["numbers"], self._tile(m.numbers), m.numbers.size)
        word = self.word
        with self.if_(word["first"] < word["end"]), self.counted(word["end"], word["first"], m.target.lanes) as t:
            self._trajectories(t)

    def _trajectories(self, t: Value) -> None:
        """Write the ways forward and back of a tile."""
        word, segments, length = self.word, self.word["segments"], self.word["segment"]
        self._run("clear")
        for name in ("q0", "v0", *self.inputs, *(["parameters"] if self.m.parameters.size else [])):
            self._load(name, t)
        self._store_ends(t)
        with self.if_(segments > 1), self.counted(segments - 1) as s:
            self.call("@start_out", word["workspace"], word["starts"].at(s * self._start_bytes))
            self._steps(t, s * length, length, record=False)
        with self.if_(word["steps"] > 0), self.counted(segments) as k:
            s = segments - 1 - k
            first = s * length
            with self.if_(k > 0):
                self.call("@start_in", word["workspace"], word["starts"].at(s * self._start_bytes))
            rest = word["steps"] - first
            count = (rest < length).select(rest, length)
            self._steps(t, first, count, record=True)
            with self.if_(k.equals(0)):
                self._store_ends(t)
            self._back(t, first, count)
        self._weigh(t, self.const(0), "weigh_first")
        self._run("finish")
        for name in ("q0", "v0", "kp", "kd", "dt", "parameters"):
            if self.tiles[f"{name}_bar"].size:
                self._store(name, t, self.const(0))
        for name in self.inputs:
            with self.if_(word[f"{name}_bar_step"].equals(0)):
                self._give(name, t, self.const(0))

    def _store_ends(self, t: Value) -> None:
        """Store the states that were reached."""
        for name in ("q", "v"):
            self._move("store", f"{name}_end", t, 0)

    def _steps(self, t: Value, first: Value, count: Value, record: bool) -> None:
        """Take some steps, and perhaps keep them on the tape."""
        with self.counted(count) as k:
            self.leave_unless(self.word["stop"].load("i64").equals(0))
            self._load_inputs(t, first + k)
            self._run("step")
            if record:
                self.call("@tape_out", self.word["workspace"], self.word["tape"].at(k * self._tape_bytes))
            self._run("advance")

    def _back(self, t: Value, first: Value, count: Value) -> None:
        """Go back through the steps on the tape."""
        every = self.word["every"]
        with self.counted(count) as k:
            self.leave_unless(self.word["stop"].load("i64").equals(0))
            j = count - 1 - k
            step = first + j
            self.call("@tape_in", self.word["workspace"], self.word["tape"].at(j * self._tape_bytes))
            self._load_inputs(t, step)
            self._run("retrace")
            after = step + 1
            with self.if_(self.typed("i64", f"urem i64 {after}, {every}").equals(0)):
                self._weigh(t, self.typed("i64", f"udiv i64 {after}, {every}"), "weigh")
            self._run("back")
            for name in self.inputs:
                with self.if_(self.word[f"{name}_bar_step"].differs(0)):
                    self._give(name, t, step)
                    self._run(f"clear_{name}")

    def _weigh(self, t: Value, row: Value, sequence: str) -> None:
        """Add the weights of a kept state."""
        for name in ("wq", "wv"):
            with self.if_(self.word[name].differs(self.null)):
                self._load(name, t, row * self.word[f"{name}_row"])
        self._run(sequence)

    def _give(self, name: str, t: Value, step: Value) -> None:
        """Store the derivatives by an input."""
        if name == "goal":
            self._run("finish_goal")
        self._store(name, t, step * self.word[f"{name}_bar_step"])

    def _load_inputs(self, t: Value, step: Value) -> None:
        for name in self.inputs:
            with self.if_(self.word[f"{name}_step"].differs(0)):
                self._load(name, t, step * self.word[f"{name}_step"])

    def _load(self, name: str, t: Value, shift: Value | int = 0) -> None:
        self._move("load", name, t, shift)

    def _store(self, name: str, t: Value, shift: Value) -> None:
        with self.if_(self.word[f"{name}_bar"].differs(self.null)):
            self._move("store", f"{name}_bar", t, shift)

    def _move(self, verb: str, name: str, t: Value, shift: Value | int) -> None:
        """Load or store one row of each trajectory."""
        word = self.word
        self.call("@lanes", self.rows, word[name], word[f"{name}_stride"], t, word["last"], shift)
        self.call(f"@{verb}_rows", self.rows, self._tile(self.tiles[name]), 0, self.tiles[name].size)

    def _run(self, sequence: str) -> None:
        self.call(f"@{sequence}", self.word["workspace"], self.word["datas"])

    def _tile(self, tile: Tile) -> Value:
        return self.word["workspace"].at(tile.at, self.m.target.vector)
