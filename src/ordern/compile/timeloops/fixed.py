"""The loop of `rollout`: fixed steps, a tile of trajectories at a time.

`@rollout(words)` computes the trajectories from `first` up to `end`. Lanes past the last trajectory repeat it and store
the same numbers, so that a trajectory does not depend on its place in the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...model import Model
from ..emit.builder import Builder, Value
from ..emit.target import Target
from ..run.engine import compile_object
from .code import ROLLOUT_WORDS, LoopCode
from .machine import Emitter, Kernels, Tile

__all__ = ["compile_rollout"]


def compile_rollout(model: Model, kernels: Kernels, step: Callable[[Any, Tile, Tile], tuple[Tile, Tile]]) -> LoopCode:
    """Return the machine code of the loop around a step, a function (m, q, v) -> (q, v) over the machine m."""
    m = Emitter(kernels, model, works=False)
    q, v = m.tile(model.nq), m.tile(model.nv)
    q1, v1 = step(m, q, v)
    m.copy(v1, v)  # a position may be a velocity's tile, but not the other way round
    m.copy(q1, q)
    m.sequence("step")
    emitted = m.finish()
    text = "\n".join([emitted.text, _lanes(m.target), _rollout(m, q, v)])
    return kernels.code(compile_object(text), emitted.workspace)


def _lanes(target: Target) -> str:
    """Return the IR text of @lanes: the addresses of one row of each state of a tile."""
    b = Builder(("ptr %to", "ptr %base", "i64 %stride", "i64 %t", "i64 %last", "i64 %shift"))
    to, base, stride, t, last, shift = b.arguments
    row = base.at(shift)
    for lane in range(target.lanes):
        state = t + lane
        to.store(row.at((state < last).select(state, last) * stride), lane)
    return b.text("@lanes")


def _rollout(m: Emitter, q: Tile, v: Tile) -> str:
    """Return the IR text of @rollout: tiles of trajectories, one after the other."""
    b = Builder(("ptr %words",))
    pointers = {"q0", "v0", "tau", "external", "goal", "q_out", "v_out", "workspace", "numbers", "datas"}
    word = {name: b.arguments[0].load("ptr" if name in pointers else "i64", k) for k, name in enumerate(ROLLOUT_WORDS)}
    rows, workspace, datas = b.alloca(f"[{m.target.lanes} x ptr]"), word["workspace"], word["datas"]
    tiles = {"q0": q, "v0": v, "q": q, "v": v, "tau": m.applied, "external": m.external, "goal": m.goal}
    forces = ["tau", *(["external"] if m.has_external else []), *(["goal"] if m.feedback else [])]

    def move(verb: str, name: str, t: Value, shift: Value | int = 0) -> None:
        """Load or store one row of each trajectory."""
        base = word[f"{name}_out" if verb == "store" else name]
        b.call("@lanes", rows, base, word[f"{name}_stride"], t, word["last"], shift)
        b.call(f"@{verb}_rows", rows, workspace.at(tiles[name].at, m.target.vector), 0, tiles[name].size)

    def steps(t: Value) -> None:
        """Take the steps of a tile."""
        with b.if_(word["steps"] > 0), b.counted(word["steps"]) as k:
            left, stored = b.carried(word["every"]), b.carried(0)
            for name in forces:
                with b.if_(word[f"{name}_step"].differs(0)):
                    move("load", name, t, k * word[f"{name}_step"])
            b.call("@step", workspace, datas)
            rest = left.value - 1
            due = rest.equals(0)
            left.next, stored.next = due.select(word["every"], rest), stored.value + due.to("zext", "i64")
            with b.if_(due):
                for name in ("q", "v"):
                    move("store", name, t, stored.next * word[f"{name}_row"])

    b.call("@start", workspace, datas)
    b.call("@splat", word["numbers"], workspace.at(m.numbers.at, m.target.vector), m.numbers.size)
    with b.if_(word["first"] < word["end"]), b.counted(word["end"], word["first"], m.target.lanes) as t:
        for verb, names in (("load", ["q0", "v0", *forces]), ("store", ["q", "v"])):
            for name in names:
                move(verb, name, t)
        steps(t)
    return b.text("@rollout", internal=False)
