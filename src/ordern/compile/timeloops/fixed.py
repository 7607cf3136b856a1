"""The loop of `rollout`: fixed steps, a tile of trajectories at a time.

`@rollout(words)` computes the trajectories from `first` up to `end`. Lanes past the last trajectory repeat it and store
the same numbers, so that a trajectory does not depend on its place in the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...model import Model
from ..emit.builder import Builder, Value
from ..emit.target import Target
from ..run.engine import compile_object
from .code import ROLLOUT_WORDS, Closing, LoopCode
from .contact import ContactStep
from .event_program import Watched
from .impacts import Impacts, any_lane
from .machine import Emitter, Kernels, Tile
from .projection import Projection
from .watching import Watching

__all__ = ["compile_rollout", "lanes_function"]


def compile_rollout(
    model: Model,
    kernels: Kernels,
    step: Callable[[Any, Tile, Tile], tuple[Tile, Tile]],
    closing: Closing | None = None,
    limited: Sequence[tuple[int, int]] = (),
    events: Sequence[Watched] = (),
) -> LoopCode:
    """Return the machine code of the loop around a step, a function (m, q, v) -> (q, v) over the machine m.

    A trajectory whose loops cannot be kept closed, or not in a clear way, goes on as NaN. The joints of a tree bounce
    off their stops if the places of `limited` coordinates and of their rates are given. `events` are noted, and may
    end trajectories.
    """
    m = Emitter(kernels, model, works=False)
    contact = ContactStep(m) if "contact" in kernels.requests else None
    projection = None if closing is None else Projection(m, closing)
    impacts = Impacts(m, limited) if limited else None
    q, v, before = m.tile(model.nq), m.tile(model.nv), m.tile(model.nv)
    plain = projection is None and impacts is None and contact is None
    watching = Watching(m, events, q, v, plain) if events else None
    if impacts is not None:
        m.copy(v, before)
    if watching is not None:
        watching.note_start()
    q1, v1 = step(m, q, v) if contact is None else contact(q, v)
    if projection is None:
        take_over = m.copy if watching is None else watching.take_over
        take_over(v1, v)  # a position may be a velocity's tile, but not the other way round
        take_over(q1, q)
        m.sequence("step")
    else:
        m.sequence("step")
        for found, to in zip(projection.write(q1, v1), (q, v), strict=True):
            _copy_valid(m, projection.valid, found, to)
        m.sequence("renew")
    if impacts is not None:
        impacts.write(q, v, before)
    if watching is not None:
        watching.write()
    if contact is not None:
        contact.write_clear()
    emitted = m.finish()
    parts = [
        emitted.text,
        lanes_function(m.target),
        _take(m, impacts),
        _rollout(m, (q, v), impacts, watching, contact),
    ]
    text = "\n".join(parts)
    return kernels.code(compile_object(text), emitted.workspace)


def _copy_valid(m: Emitter, valid: Tile, source: Tile, to: Tile) -> None:
    """Copy a value, or NaN in the lanes that are not valid."""
    m.function(
        to.size,
        lambda e: e.store_at(
            e.select_less(e.constant(0.5), e.once(valid), e.load_at(source), e.constant(math.nan)), to
        ),
    )


def lanes_function(target: Target) -> str:
    """Return the IR text of @lanes: the addresses of one row of each state of a tile."""
    b = Builder(("ptr %to", "ptr %base", "i64 %stride", "i64 %t", "i64 %last", "i64 %shift"))
    to, base, stride, t, last, shift = b.arguments
    row = base.at(shift)
    for lane in range(target.lanes):
        state = t + lane
        to.store(row.at((state < last).select(state, last) * stride), lane)
    return b.text("@lanes")


def _take(m: Emitter, impacts: Impacts | None) -> str:
    """Return the IR text of @take: one step, with what follows its formulas."""
    b = Builder(("ptr %ws", "ptr %datas"))
    workspace = b.arguments[0]

    def run(sequence: str) -> None:
        b.call(f"@{sequence}", *b.arguments)

    run("step")
    if m.projection is not None:
        m.projection.emit(b, run, workspace)
        run("renew")
    if impacts is not None:
        run("touch")
        with b.if_(any_lane(b, m, workspace.at(impacts.touched.at, m.target.vector))):
            run("strike")
    return b.text("@take")


def _tiles(
    m: Emitter, state: tuple[Tile, Tile], watching: Watching | None, contact: ContactStep | None
) -> dict[str, Tile]:
    """Return the places of the arrays of which a row of each trajectory is loaded or stored."""
    q, v = state
    tiles = {"q0": q, "v0": v, "q": q, "v": v, "tau": m.applied, "external": m.external, "goal": m.goal}
    tiles["parameters"] = m.parameters
    if watching is not None:
        tiles["marks"] = watching.marks
    if contact is not None:
        tiles |= {"surfaces": contact.surfaces, "pushes0": contact.stored, "pushes": contact.stored}
        tiles["certificate"] = contact.certificate
    return tiles


def _rollout(
    m: Emitter,
    state: tuple[Tile, Tile],
    impacts: Impacts | None,
    watching: Watching | None,
    contact: ContactStep | None,
) -> str:
    """Return the IR text of @rollout: tiles of trajectories, one after the other."""
    b = Builder(("ptr %words",))
    pointers = {"q0", "v0", "tau", "external", "goal", "q_out", "v_out", "workspace", "numbers", "limits", "datas"}
    pointers |= {"parameters", "marks", "begun", "surfaces", "pushes0", "pushes_out", "certificate_out", "stop"}
    word = {name: b.arguments[0].load("ptr" if name in pointers else "i64", k) for k, name in enumerate(ROLLOUT_WORDS)}
    rows, workspace, datas = b.alloca(f"[{m.target.lanes} x ptr]"), word["workspace"], word["datas"]
    tiles = _tiles(m, state, watching, contact)
    stored = ["q", "v", *(["pushes", "certificate"] if contact is not None else [])]
    forces = ["tau", *(["external"] if m.has_external else []), *(["goal"] if m.feedback else [])]

    def run(sequence: str) -> None:
        b.call(f"@{sequence}", workspace, datas)

    def move(verb: str, name: str, t: Value, shift: Value | int = 0) -> None:
        """Load or store one row of each trajectory."""
        base = word[f"{name}_out" if name in stored else name]
        b.call("@lanes", rows, base, word[f"{name}_stride"], t, word["last"], shift)
        b.call(f"@{verb}_rows", rows, workspace.at(tiles[name].at, m.target.vector), 0, tiles[name].size)

    def advance(t: Value, k: Value) -> None:
        """Take step k of this call."""
        for name in forces:
            with b.if_(word[f"{name}_step"].differs(0)):
                move("load", name, t, k * word[f"{name}_step"])
        run("take")
        if watching is not None:
            watching.emit(b, run, workspace, lambda: run("take"))

    def steps(t: Value) -> None:
        """Take the steps of a tile; none once all of its trajectories have ended."""
        with b.if_(word["steps"] > 0), b.counted(word["steps"]) as k:
            b.leave_unless(word["stop"].load("i64").equals(0))
            left, kept = b.carried(word["every"]), b.carried(0)
            if watching is not None and watching.stops:
                with b.if_(any_lane(b, m, workspace.at(watching.running.at, m.target.vector))):
                    advance(t, k)
            else:
                advance(t, k)
            rest = left.value - 1
            due = rest.equals(0)
            left.next, kept.next = due.select(word["every"], rest), kept.value + due.to("zext", "i64")
            with b.if_(due):
                for name in stored:
                    move("store", name, t, kept.next * word[f"{name}_row"])
                if contact is not None:
                    run("clear")

    run("start")
    b.call("@splat", word["numbers"], workspace.at(m.numbers.at, m.target.vector), m.numbers.size)
    if contact is not None:
        b.call("@splat", word["limits"], workspace.at(contact.bounds.at, m.target.vector), contact.bounds.size)
    if impacts is not None:
        b.call("@splat", word["limits"], workspace.at(impacts.limits.at, m.target.vector), impacts.limits.size)
    with b.if_(word["first"] < word["end"]), b.counted(word["end"], word["first"], m.target.lanes) as t:
        more = [*(["parameters"] if m.parameters.size else []), *(["marks"] if watching is not None else [])]
        if contact is not None:
            run("clear")
            run("unload")
            more += ["surfaces", "pushes0"]
        first = [name for name in stored if name != "certificate"]  # of steps before, which this call does not know
        for verb, names in (("load", ["q0", "v0", *forces, *more]), ("store", first)):
            for name in names:
                move(verb, name, t)
        if m.projection is not None:
            run("reset")
        if watching is not None:
            b.call("@splat", word["begun"], workspace.at(watching.clock.at, m.target.vector), 1)
            watching.emit_start(run)
        steps(t)
        if watching is not None:
            move("store", "marks", t)
    return b.text("@rollout", internal=False)
