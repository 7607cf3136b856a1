"""The loop of `rollout`: fixed steps, a tile of trajectories at a time.

`@rollout(words)` computes the trajectories from `first` up to `end`. Lanes past the last trajectory repeat it and store
the same numbers, so that a trajectory does not depend on its place in the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...model import Model
from ..emit.target import Target
from ..run.engine import compile_object
from .code import ROLLOUT_WORDS, LoopCode
from .machine import Emitter, Kernels, Tile

__all__ = ["compile_rollout"]


def compile_rollout(model: Model, kernels: Kernels, step: Callable[[Any, Tile, Tile], tuple[Tile, Tile]]) -> LoopCode:
    """Machine code of the loop around a step, which is a text over the machine: (m, q, v) -> (q, v)."""
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
    """@lanes: the addresses of one row of each state of a tile."""
    lines = ["define internal void @lanes(ptr %to, ptr %base, i64 %stride, i64 %t, i64 %last, i64 %shift) #0 {"]
    lines.append("  %row = getelementptr i8, ptr %base, i64 %shift")
    for lane in range(target.lanes):
        lines += [
            f"  %s{lane} = add i64 %t, {lane}",
            f"  %in{lane} = icmp slt i64 %s{lane}, %last",
            f"  %i{lane} = select i1 %in{lane}, i64 %s{lane}, i64 %last",
            f"  %x{lane} = mul i64 %i{lane}, %stride",
            f"  %p{lane} = getelementptr i8, ptr %row, i64 %x{lane}",
            f"  %y{lane} = getelementptr ptr, ptr %to, i64 {lane}",
            f"  store ptr %p{lane}, ptr %y{lane}",
        ]
    return "\n".join([*lines, "  ret void", "}"])


def _rollout(m: Emitter, q: Tile, v: Tile) -> str:
    vector, lanes = m.target.vector, m.target.lanes
    pointers = {"q0", "v0", "tau", "goal", "q_out", "v_out", "workspace", "numbers", "datas"}
    lines = ["define void @rollout(ptr %words) #0 {", "entry:", f"  %rows = alloca [{lanes} x ptr], align 16"]
    for k, name in enumerate(ROLLOUT_WORDS):
        lines += [
            f"  %{name}_at = getelementptr i64, ptr %words, i64 {k}",
            f"  %{name} = load {'ptr' if name in pointers else 'i64'}, ptr %{name}_at",
        ]
    places = {"q": q, "v": v, "tau": m.applied, "goal": m.goal, "numbers": m.numbers}
    lines += [
        f"  %{name}_tile = getelementptr {vector}, ptr %workspace, i64 {tile.at}" for name, tile in places.items()
    ]

    def move(verb: str, base: str, stride: str, shift: str, name: str) -> list[str]:
        return [
            f"  call void @lanes(ptr %rows, ptr %{base}, i64 %{stride}, i64 %t, i64 %last, i64 {shift})",
            f"  call void @{verb}_rows(ptr %rows, ptr %{name}_tile, i64 0, i64 {places[name].size})",
        ]

    lines += [
        "  call void @start(ptr %workspace, ptr %datas)",
        f"  call void @splat(ptr %numbers, ptr %numbers_tile, i64 {m.numbers.size})",
        "  %some = icmp slt i64 %first, %end",
        "  br i1 %some, label %tile, label %done",
        "tile:",
        "  %t = phi i64 [ %first, %entry ], [ %t_next, %tile_end ]",
        *move("load", "q0", "q0_stride", "0", "q"),
        *move("load", "v0", "v0_stride", "0", "v"),
        *move("store", "q_out", "q_stride", "0", "q"),
        *move("store", "v_out", "v_stride", "0", "v"),
        *move("load", "tau", "tau_stride", "0", "tau"),
    ]
    if m.feedback:
        lines += move("load", "goal", "goal_stride", "0", "goal")
    lines += [
        "  %moving = icmp sgt i64 %steps, 0",
        "  br i1 %moving, label %step, label %tile_end",
        "step:",
        "  %k = phi i64 [ 0, %tile ], [ %k_next, %stepped ]",
        "  %left = phi i64 [ %every, %tile ], [ %left_then, %stepped ]",
        "  %stored = phi i64 [ 0, %tile ], [ %stored_then, %stepped ]",
        "  %tau_varies = icmp ne i64 %tau_step, 0",
        "  br i1 %tau_varies, label %read_tau, label %tau_read",
        "read_tau:",
        "  %tau_shift = mul i64 %k, %tau_step",
        *move("load", "tau", "tau_stride", "%tau_shift", "tau"),
        "  br label %tau_read",
        "tau_read:",
    ]
    if m.feedback:
        lines += [
            "  %goal_varies = icmp ne i64 %goal_step, 0",
            "  br i1 %goal_varies, label %read_goal, label %goal_read",
            "read_goal:",
            "  %goal_shift = mul i64 %k, %goal_step",
            *move("load", "goal", "goal_stride", "%goal_shift", "goal"),
            "  br label %goal_read",
            "goal_read:",
        ]
    lines += [
        "  call void @step(ptr %workspace, ptr %datas)",
        "  %k_next = add i64 %k, 1",
        "  %left_now = sub i64 %left, 1",
        "  %due = icmp eq i64 %left_now, 0",
        "  br i1 %due, label %store, label %stepped",
        "store:",
        "  %stored_now = add i64 %stored, 1",
        "  %q_shift = mul i64 %stored_now, %q_row",
        "  %v_shift = mul i64 %stored_now, %v_row",
        *move("store", "q_out", "q_stride", "%q_shift", "q"),
        *move("store", "v_out", "v_stride", "%v_shift", "v"),
        "  br label %stepped",
        "stepped:",
        f"  %left_then = phi i64 [ %left_now, {'%goal_read' if m.feedback else '%tau_read'} ], [ %every, %store ]",
        f"  %stored_then = phi i64 [ %stored, {'%goal_read' if m.feedback else '%tau_read'} ], [ %stored_now, %store ]",
        "  %more = icmp slt i64 %k_next, %steps",
        "  br i1 %more, label %step, label %tile_end",
        "tile_end:",
        f"  %t_next = add i64 %t, {lanes}",
        "  %t_more = icmp slt i64 %t_next, %end",
        "  br i1 %t_more, label %tile, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)
