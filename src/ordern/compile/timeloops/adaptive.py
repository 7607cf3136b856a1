"""The loop of `simulate`: steps of one state whose length is controlled by their error.

`@advance(words)` steps from t to t_end, or until its buffers are full, or until no step is short enough. The state is
in all lanes alike; lane 0 decides. The step, its error and the law of the next step's length are texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...graph import Graph, live
from ...model import Model
from ...records import dataclass
from ..emit.nodes import TextEmitter, literal
from ..run.engine import compile_object
from .code import ADVANCE_POINTERS, ADVANCE_WORDS, LoopCode
from .machine import Emitter, Kernels, Tile

__all__ = ["SCALARS", "Texts", "compile_advance"]

SCALARS = ("t", "t_end", "h", "h_max", "t_force", "most")
"""Numbers that are read and written: the time, where to stop, the next step, its limit, the time at which the force
was `tau`, and by how much the next step may grow."""


@dataclass(frozen=True)
class Texts:
    """What is compiled: functions over the machine, whose points are triples (q, v, w) of values."""

    first: Callable[[Any, Any], Any]
    """(m, y) -> the rates at y."""
    attempt: Callable[[Any, Any, Any], Any]
    """(m, y, rates) -> an attempt: .end, .squares."""
    finish: Callable[[Any, Any], Sequence[Any]]
    """(m, attempt) -> the rates of all stages, the last at the end."""
    dense: Callable[[Any, Any, Sequence[Any]], Sequence[Any]]
    """(m, y, rates of all stages) -> coefficients of dense output."""
    law: Callable[[Sequence[Any], Any], tuple[Any, Any]] | None
    """(mean squares of errors, most) -> (error, factor), over any scalar. None for a fixed step."""
    point: Callable[[Tile, Tile, Tile], Any]
    """Makes a point."""
    evaluations: tuple[int, int, int]
    """Of an attempt, of its finish, of dense output."""
    growth: float
    """By how much a step may grow at most, unless one was just rejected."""
    nearly: float
    """A step of up to so many times its planned length goes to the end."""


def compile_advance(model: Model, kernels: Kernels, texts: Texts) -> LoopCode:
    """Machine code of the loop."""
    m = Emitter(kernels, model, works=True)
    y = texts.point(m.tile(model.nq), m.tile(model.nv), m.tile(2))
    k = texts.first(m, y)
    m.sequence("first")
    tried = texts.attempt(m, y, k)
    error, factor, most = m.tile(1), m.tile(1), m.tile(1)
    if texts.law is not None:
        _scalar_function(m, [*tried.squares, most], [error, factor], lambda x: texts.law(x[:-1], x[-1]))  # type: ignore[misc]
    m.sequence("attempt")
    rates = texts.finish(m, tried)
    m.sequence("finish")
    coefficients = texts.dense(m, y, rates)
    m.sequence("dense")
    if not m.flat:
        m.copy(rates[-1].q, k.q)
    m.copy(rates[-1].v, k.v)
    m.copy(rates[-1].w, k.w)
    for part, to in ((tried.end.q, y.q), (tried.end.v, y.v), (tried.end.w, y.w)):
        m.copy(part, to)
    m.sequence("renew")
    emitted = m.finish()
    places = {
        **{"y_q": y.q, "y_v": y.v, "y_w": y.w, "k_v": k.v, "end_q": tried.end.q, "end_v": tried.end.v},
        **{"end_w": tried.end.w, "rate_v": rates[-1].v, "error": error, "factor": factor, "most": most},
        **{"tau": m.applied, "slant": m.slanted, "numbers": m.numbers, "h": m.h, "since": m.since},
    }
    main = _advance(m, texts, places, [(c.q, c.v, c.w) for c in coefficients])
    text = "\n".join([emitted.text, main])
    return kernels.code(compile_object(text), emitted.workspace)


def _scalar_function(
    m: Emitter, inputs: Sequence[Tile], outputs: Sequence[Tile], function: Callable[[list[Any]], Sequence[Any]]
) -> None:
    """A function of single numbers, traced and lowered as kernels are."""
    graph, e = Graph("law"), TextEmitter(m.target)
    leaves = [graph.leaf(k) for k in range(len(inputs))]
    roots = [graph.lift(x) for x in function(list(leaves))]
    names: dict[int, str] = {}
    for node in live(roots):
        if node.op == "leaf":
            names[node.index] = e.load("%ws", inputs[node.data].at)
        elif node.op == "constant":
            names[node.index] = e.constant(node.data)
        else:
            names[node.index] = e.lower(node, [names[a.index] for a in node.args])
    for root, to in zip(roots, outputs, strict=True):
        e.store(names[root.index], "%ws", to.at)
    text = "\n".join(["define internal void @law(ptr %ws) #0 {", *e.lines, "  ret void", "}"])
    m.raw(text, "call void @law(ptr %ws)")


def _advance(m: Emitter, texts: Texts, places: dict[str, Tile], coefficients: list[tuple[Tile, Tile, Tile]]) -> str:
    vector, nq, nv = m.target.vector, m.model.nq, m.model.nv

    def number(x: float) -> str:
        return literal(x, m.target)

    lines = [_set_function(m), "define void @advance(ptr %words) #0 {", "entry:"]
    for n, name in enumerate(ADVANCE_WORDS):
        kind = "ptr" if name in ADVANCE_POINTERS else "i64"
        lines += [
            f"  %{name}_at = getelementptr i64, ptr %words, i64 {n}",
            f"  %{name} = load {kind}, ptr %{name}_at",
        ]
    lines += [f"  %{name}_p = getelementptr double, ptr %scalars, i64 {n}" for n, name in enumerate(SCALARS)]
    lines += [
        f"  %{name}_p = getelementptr i64, ptr %counts, i64 {n}"
        for n, name in enumerate(("steps", "rejected", "evaluations", "status"))
    ]
    lines += [
        f"  %{name}_tile = getelementptr {vector}, ptr %workspace, i64 {tile.at}" for name, tile in places.items()
    ]

    def splat(source: str, name: str) -> str:
        return f"  call void @splat(ptr %{source}, ptr %{name}_tile, i64 {places[name].size})"

    def extract(to: str, name: str) -> str:
        return f"  call void @extract(ptr %{to}, ptr %{name}_tile, i64 {places[name].size})"

    def row(to: str, base: str, width: int) -> list[str]:
        return [
            f"  %{to}_n = mul i64 %n, {width}",
            f"  %{to} = getelementptr double, ptr %{base}, i64 %{to}_n",
        ]

    def counted(name: str, by: int, tag: str) -> list[str]:
        return [
            f"  %{name}_{tag} = load i64, ptr %{name}_p",
            f"  %{name}_{tag}_more = add i64 %{name}_{tag}, {by}",
            f"  store i64 %{name}_{tag}_more, ptr %{name}_p",
        ]

    attempt, finish, dense = texts.evaluations
    lines += [
        "  call void @start(ptr %workspace, ptr %datas)",
        splat("numbers", "numbers"),
        *(splat(name, f"y_{name}") for name in ("q", "v")),
        *(splat(name, name) for name in ("tau", "slant")),
        f"  call void @set(ptr %y_w_tile, double {number(0.0)})",
        f"  %y_w1_tile = getelementptr {vector}, ptr %y_w_tile, i64 1",
        f"  call void @set(ptr %y_w1_tile, double {number(0.0)})",
        "  %t_force = load double, ptr %t_force_p",
        "  %t0 = load double, ptr %t_p",
        "  %since0 = fsub double %t0, %t_force",
        "  call void @set(ptr %since_tile, double %since0)",
        "  call void @first(ptr %workspace, ptr %datas)",
        extract("a0", "k_v"),
        *counted("evaluations", 1, "first"),
        "  %t_end = load double, ptr %t_end_p",
        "  %h_max = load double, ptr %h_max_p",
        "  br label %loop",
        "loop:",
        "  %t = load double, ptr %t_p",
        "  %n = load i64, ptr %steps_p",
        "  %there = fcmp oge double %t, %t_end",
        "  br i1 %there, label %at_end, label %room",
        "room:",
        "  %full = icmp sge i64 %n, %capacity",
        "  br i1 %full, label %at_full, label %plan",
        "plan:",
        "  %h = load double, ptr %h_p",
        f"  %h_nearly = fmul double %h, {number(texts.nearly)}",
        "  %t_nearly = fadd double %t, %h_nearly",
        "  %last = fcmp oge double %t_nearly, %t_end",
        "  %remaining = fsub double %t_end, %t",
        "  %try = select i1 %last, double %remaining, double %h",
        f"  %tenth = fmul double %try, {number(0.1)}",
        "  %t_tenth = fadd double %t, %tenth",
        "  %moves = fcmp one double %t_tenth, %t",
        "  %fine = or i1 %moves, %last",
        "  br i1 %fine, label %attempt, label %at_stuck",
        "attempt:",
        "  %most = load double, ptr %most_p",
        "  call void @set(ptr %most_tile, double %most)",
        "  call void @set(ptr %h_tile, double %try)",
        "  %since = fsub double %t, %t_force",
        "  call void @set(ptr %since_tile, double %since)",
        "  call void @attempt(ptr %workspace, ptr %datas)",
        *counted("evaluations", attempt, "attempt"),
    ]
    if texts.law is None:
        lines += [f"  %factor = fadd double {number(0.0)}, {number(1.0)}", "  br label %accept"]
    else:
        lines += [
            "  %error = load double, ptr %error_tile",
            "  %factor = load double, ptr %factor_tile",
            f"  %good = fcmp ole double %error, {number(1.0)}",
            "  br i1 %good, label %accept, label %reject",
            "reject:",
            "  %shorter = fmul double %try, %factor",
            "  store double %shorter, ptr %h_p",
            f"  store double {number(1.0)}, ptr %most_p",
            *counted("rejected", 1, "reject"),
            "  br label %loop",
        ]
    width = nq + nv + 2
    lines += [
        "accept:",
        "  %t_plus = fadd double %t, %try",
        "  %t1 = select i1 %last, double %t_end, double %t_plus",
        "  call void @finish(ptr %workspace, ptr %datas)",
        *counted("evaluations", finish, "finish"),
        "  %wanted = icmp ne ptr %dense_out, null",
        "  br i1 %wanted, label %dense, label %store",
        "dense:",
        "  call void @dense(ptr %workspace, ptr %datas)",
        *counted("evaluations", dense, "dense"),
        *row("dense_row", "dense_out", (len(coefficients) + 1) * width),
    ]
    for c, parts in enumerate(coefficients):
        at = (c + 1) * width
        for p, part in enumerate(parts):
            lines += [
                f"  %c{c}_{p} = getelementptr double, ptr %dense_row, i64 {at}",
                f"  %c{c}_{p}_tile = getelementptr {vector}, ptr %workspace, i64 {part.at}",
                f"  call void @extract(ptr %c{c}_{p}, ptr %c{c}_{p}_tile, i64 {part.size})",
            ]
            at += part.size
    lines += [
        "  br label %store",
        "store:",
        *row("t_row", "t_out", 1),
        *row("q_row", "q_out", nq),
        *row("v_row", "v_out", nv),
        *row("a_row", "a_out", nv),
        *row("w_row", "w_out", 2),
        "  store double %t1, ptr %t_row",
        *(extract(f"{x}_row", f"end_{x}") for x in ("q", "v", "w")),
        extract("a_row", "rate_v"),
        "  %rejected_n = load i64, ptr %rejected_p",
        "  %rejected_row = getelementptr i64, ptr %rejected_out, i64 %n",
        "  store i64 %rejected_n, ptr %rejected_row",
        "  call void @renew(ptr %workspace, ptr %datas)",
        "  store double %t1, ptr %t_p",
        *counted("steps", 1, "store"),
        "  %grown = fmul double %try, %factor",
        "  %longer = fcmp ogt double %grown, %h",
        "  %kept = select i1 %longer, double %grown, double %h",
        "  %cut = fcmp olt double %try, %h",
        "  %next = select i1 %cut, double %kept, double %grown",
        "  %over = fcmp ogt double %next, %h_max",
        "  %next_h = select i1 %over, double %h_max, double %next",
        "  store double %next_h, ptr %h_p",
        f"  store double {number(texts.growth)}, ptr %most_p",
        "  br label %loop",
    ]
    for status, label in enumerate(("at_end", "at_full", "at_stuck")):
        lines += [f"{label}:", f"  store i64 {status}, ptr %status_p"]
        if label == "at_stuck":
            lines += [extract("tried_q", "end_q"), extract("tried_v", "end_v")]
        lines.append("  ret void")
    return "\n".join([*lines, "}"])


def _set_function(m: Emitter) -> str:
    """@set: one number into all lanes."""
    e = TextEmitter(m.target)
    e.store(e.splat("%x"), "%tile", 0)
    return "\n".join(["define internal void @set(ptr %tile, double %x) #0 {", *e.lines, "  ret void", "}"])
