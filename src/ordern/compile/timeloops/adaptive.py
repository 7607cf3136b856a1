"""The loop of `simulate`: steps of one state whose length is controlled by their error.

`@advance(words)` steps from t to t_end, or until its buffers are full, or until no step is short enough. The state is
in all lanes alike; lane 0 decides. The step, its error and the law of the next step's length are texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ...model import Model
from ...records import dataclass
from ..emit.builder import Builder, Value
from ..emit.nodes import TextEmitter
from ..run.engine import compile_object
from .code import ADVANCE_POINTERS, ADVANCE_WORDS, STATUSES, Closing, LoopCode
from .holding import Holding
from .law_emit import LawEmitter
from .law_program import Program
from .machine import Emitter, Kernels, Tile
from .projection import Projection

__all__ = ["SCALARS", "Texts", "compile_advance"]

SCALARS = ("t", "t_end", "h", "h_max", "t_force", "most", "limit", "period")
"""Numbers that are read and written: the time, the end, the next step, the longest step, the time at which the force
is `tau`, and the factor by which the next step may grow. A sampled law goes on past the end to the limit, and is
computed at multiples of its period."""
_SHORTENED, _SHORTER = 4, 0.25
"""Steps that are not clear are shortened this often in a call, and by this factor."""
_COUNTS = ("steps", "rejected", "evaluations", "status", "sample")
"""Integers that are read and written; `sample` is the number of the next sample."""


@dataclass(frozen=True)
class Texts:
    """The functions to compile; their points are triples (q, v, w) of the machine's values."""

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
    """(q, v, w) -> a point."""
    evaluations: tuple[int, int, int]
    """Evaluations of the dynamics in an attempt, in its finish, and in dense output."""
    growth: float
    """The factor by which a step may grow, unless one was just rejected."""
    nearly: float
    """A step is stretched by up to this factor to reach the end."""


def compile_advance(
    model: Model,
    kernels: Kernels,
    texts: Texts,
    closure: Closing | None = None,
    holds: bool = False,
    law: Program | None = None,
) -> LoopCode:
    """Return the machine code of the loop; if it `holds`, joints may rest on stops."""
    m = Emitter(kernels, model, True)
    projection = None if closure is None else Projection(m, closure)
    if holds:
        Holding(m)
    if law is not None:
        LawEmitter(m, law)
    y = texts.point(m.tile(model.nq), m.tile(model.nv), m.tile(2))
    k = texts.first(m, y)
    m.sequence("first")
    tried = texts.attempt(m, y, k)
    error, factor, most = m.tile(1), m.tile(1), m.tile(1)
    if texts.law is not None:
        m.scalar_function([*tried.squares, most], [error, factor], lambda x: texts.law(x[:-1], x[-1]))  # type: ignore[misc]
    m.sequence("attempt")
    found = tried.end
    projects = closure is not None and closure.projects
    if projection is not None and projects:
        tried = replace(tried, end=texts.point(*projection.write(found.q, found.v), found.w))
    rates = texts.finish(m, tried)
    m.sequence("finish")
    coefficients = texts.dense(m, y, rates)
    m.sequence("dense")
    if projects and not texts.evaluations[1]:  # the last rates are those before the projection
        rates = [m.slope(1.0, tried.end.q, tried.end.v)]
        m.sequence("slope")
    if not m.flat:
        m.copy(rates[-1].q, k.q)
    m.copy(rates[-1].v, k.v)
    m.copy(rates[-1].w, k.w)
    for part, to in ((tried.end.q, y.q), (tried.end.v, y.v), (tried.end.w, y.w)):
        m.copy(part, to)
    m.sequence("renew")
    if m.law is not None and m.law.sampled:
        m.copy(y.q, m.q)
        m.copy(y.v, m.v)
        m.copy(m.law.compute(0.0), m.applied)
        m.sequence("sample")
    emitted = m.finish()
    places = {
        **{"y_q": y.q, "y_v": y.v, "y_w": y.w, "k_v": k.v, "end_q": tried.end.q, "end_v": tried.end.v},
        **{"end_w": tried.end.w, "open_q": found.q, "open_v": found.v, "rate_v": rates[-1].v},
        **{"error": error, "factor": factor, "most": most},
        **{"external": m.external, "external_slant": m.external_slant, "parameters": m.parameters},
        **{"tau": m.applied, "slant": m.slanted, "numbers": m.numbers, "h": m.h, "since": m.since},
    }
    if projection is not None:
        places |= {"valid": projection.valid, "step_start": projection.clock}
    if m.holding is not None:
        places["held"] = m.holding.list
    if m.law is not None:
        places |= {"law": m.law.parameters, "demands": m.law.memory, "clock": m.law.clock, "until": m.law.until}
        places["drive"] = m.applied if m.law.sampled else m.law.result
        if m.law.program.checked:
            places["valid"] = m.law.valid
    main = _Advance(m, texts, places, [(c.q, c.v, c.w) for c in coefficients])
    main.write()
    text = "\n".join([emitted.text, _set_function(m), main.text("@advance", internal=False)])
    return kernels.code(compile_object(text), emitted.workspace)


class _Advance(Builder):
    """Writes @advance: attempts of steps, until the end is reached, the buffers are full, or steps are too short."""

    def __init__(
        self, m: Emitter, texts: Texts, places: dict[str, Tile], coefficients: list[tuple[Tile, Tile, Tile]]
    ) -> None:
        super().__init__(("ptr %words",))
        [words] = self.arguments
        self.m, self.texts, self.places, self.coefficients = m, texts, places, coefficients
        self.words = {
            name: words.load("ptr" if name in ADVANCE_POINTERS else "i64", n) for n, name in enumerate(ADVANCE_WORDS)
        }
        self.scalars = {name: self.words["scalars"].at(n, "double") for n, name in enumerate(SCALARS)}
        self.counts = {name: self.words["counts"].at(n, "i64") for n, name in enumerate(_COUNTS)}
        self._shortened = self.alloca("i64")
        """The number of times that a step was shortened because it was not clear."""

    def write(self) -> None:
        """Write the loop."""
        attempt, finish, _ = self.texts.evaluations
        self._start()
        self._shortened.store(self.const(0))
        h_max = self._scalar("h_max")
        with self.repeat():
            t, n, h = self._scalar("t"), self.counts["steps"].load("i64"), self._scalar("h")
            self._sample(t, n)
            t_end = self._scalar("t_end")
            self._stop_if(t >= t_end, "end")
            self._stop_if(n >= self.words["capacity"], "full")
            last = t + h * self.texts.nearly >= t_end
            length = last.select(t_end - t, h)
            self._stop_if(~((t + length * 0.1).differs(t) | last), "too-small")
            self._set(most=self._scalar("most"), h=length, since=t - self._scalar("t_force"))
            self._set_clock(t, t_end)
            self._run("attempt", attempt)
            self._retry_unless_clear()
            factor = self._judged(length)
            self._close()
            self._run("finish", finish)
            self._retry_unless_clear()
            t1 = last.select(t_end, t + length)
            self._store_step(n, t1)
            self._run("renew")
            self.scalars["t"].store(t1)
            self._count("steps", 1)
            self._plan(h, h_max, length, length * factor)

    def _start(self) -> None:
        """Set up the workspace, and evaluate the rates at the start."""
        self._run("start")
        given = {"y_q": "q", "y_v": "v"} | {name: name for name in ("numbers", "tau", "slant")}
        if self.m.parameters.size:
            given["parameters"] = "parameters"
        if self.m.has_external:
            given |= {name: name for name in ("external", "external_slant")}
        if self.m.holding is not None:
            given["held"] = "held"
        if self.m.law is not None:
            given |= {name: name for name in ("law", "demands") if self.places[name].size}
        for name, source in given.items():
            self.call("@splat", self.words[source], self._tile(name), self.places[name].size)
        for k in range(self.places["y_w"].size):
            self.call("@set", self._tile("y_w").at(k, self.m.target.vector), self.const(0.0, "double"))
        self._set(since=self._scalar("t") - self._scalar("t_force"))
        self._set_clock(self._scalar("t"), self._scalar("t_end"))
        self._reset()
        self._run("first", 1)
        if "valid" in self.places:
            self._stop_if(self._is_unclear, "unclear")
        self._extract("a0", "k_v")

    def _sample(self, t: Value, n: Value) -> None:
        """Compute the forces of a sampled law if a sample is due, and go on to the next one."""
        if self.m.law is None or not self.m.law.sampled:
            return
        limit, before = self._scalar("limit"), self._scalar("t_end")
        with self.if_((t >= before) & (before < limit) & (n < self.words["capacity"])):
            following = self.counts["sample"].load("i64") + 1
            end = following.to("sitofp", "double") * self._scalar("period")
            end = (end < limit).select(end, limit)
            self._set_clock(t, end)
            self._run("sample")
            if "valid" in self.places:  # Python takes a sample that is not clear
                self._stop_if(self._is_unclear, "end")
            self.scalars["t_end"].store(end)
            self.counts["sample"].store(following)
            self._run("first", 1)

    def _reset(self) -> None:
        """Mark all solutions as clear."""
        if self.m.projection is not None:
            self._run("reset")
        elif "valid" in self.places:
            self._set(valid=1.0)

    def _set_clock(self, t: Value, t_end: Value) -> None:
        """Set the time at which a step begins, and when the forces may jump."""
        if self.m.law is not None:
            self._set(clock=t, until=t_end)
        if self.m.projection is not None:
            self._set(step_start=t)

    def _set(self, **numbers: Value | float) -> None:
        """Write single numbers."""
        for name, x in numbers.items():
            self.call("@set", self._tile(name), x if isinstance(x, Value) else self.const(x, "double"))

    def _judged(self, length: Value) -> Value:
        """Try again with a shorter step if the error is too large; otherwise return by how much the step may grow."""
        if self.texts.law is None:
            return self.const(1.0, "double")
        factor = self._tile("factor").load("double")
        with self.if_(~(self._tile("error").load("double") <= 1.0)):
            self.scalars["h"].store(length * factor)
            self.scalars["most"].store(self.const(1.0, "double"))
            self._count("rejected", 1)
            self.again()
        return factor

    def _close(self) -> None:
        """Project the end of an accepted step onto closed loops."""
        if self.m.projection is not None and self.m.projection.terms.projects:
            self.m.projection.emit(self, self._run, self.words["workspace"])
            self._retry_unless_clear()

    @property
    def _is_unclear(self) -> Value:
        """Test whether some solution of the constraints, or of a control law, was not clear."""
        return ~(self._tile("valid").load("double") > 0.5)

    def _retry_unless_clear(self) -> None:
        """Try a shorter step if a solution was not clear, as its stages may lead past a singular position.

        After some of these, or with fixed steps, stop before the step.
        """
        if "valid" not in self.places:
            return
        with self.if_(self._is_unclear):
            done = self._shortened.load("i64")
            self._stop_if(done >= (_SHORTENED if self.texts.law else 0), "unclear")
            self._shortened.store(done + 1)
            self.scalars["h"].store(self._scalar("h") * _SHORTER)
            self.scalars["most"].store(self.const(1.0, "double"))
            self._count("rejected", 1)
            self._reset()
            self.again()

    def _store_step(self, n: Value, t1: Value) -> None:
        """Write the end of an accepted step to row n of the buffers, and its dense output if that is wanted."""
        words, nq, nv = self.words, self.m.model.nq, self.m.model.nv
        if self.m.law is not None:  # dense output may compute the law elsewhere
            self.call("@extract", words["tau_out"].at(n * nv, "double"), self._tile("drive"), nv)
        with self.if_(words["dense_out"].differs(self.null)):
            self._run("dense", self.texts.evaluations[2])
            width = nq + nv + 2
            row = words["dense_out"].at(n * ((len(self.coefficients) + 1) * width), "double")
            for k, parts in enumerate(self.coefficients, 1):
                at = k * width
                for part in parts:
                    self.call("@extract", row.at(at, "double"), self._address(part), part.size)
                    at += part.size
        if self.m.law is not None:
            self._retry_unless_clear()
        with self.if_(words["a_start_out"].differs(self.null)):
            self.call("@extract", words["a_start_out"].at(n * nv, "double"), self._tile("k_v"), nv)
        words["t_out"].store(t1, n)
        stored = {"q": "end_q", "v": "end_v", "w": "end_w", "a": "rate_v"}
        if self.m.projection is not None and self.m.projection.terms.projects:
            stored |= {"open_q": "open_q", "open_v": "open_v"}
            if not self.texts.evaluations[1]:
                self._run("slope", 1)
                self._retry_unless_clear()
        for name, tile in stored.items():
            size = self.places[tile].size
            self.call("@extract", words[f"{name}_out"].at(n * size, "double"), self._tile(tile), size)
        words["rejected_out"].store(self.counts["rejected"].load("i64"), n)

    def _plan(self, h: Value, h_max: Value, length: Value, grown: Value) -> None:
        """Set the next step: one that was cut short at the end says nothing against the length that was planned."""
        longer = (grown > h).select(grown, h)
        following = (length < h).select(longer, grown)
        self.scalars["h"].store((following > h_max).select(h_max, following))
        self.scalars["most"].store(self.const(self.texts.growth, "double"))

    def _stop_if(self, test: Value, status: str) -> None:
        with self.if_(test):
            self.counts["status"].store(self.const(STATUSES.index(status)))
            if status == "too-small":
                self._extract("tried_q", "open_q")
                self._extract("tried_v", "open_v")
            if "demands" in self.places and self.places["demands"].size:
                self._extract("demands", "demands")
            self.ret()

    def _run(self, sequence: str, evaluations: int = 0) -> None:
        """Call a sequence of the machine, and count its evaluations of the dynamics."""
        self.call(f"@{sequence}", self.words["workspace"], self.words["datas"])
        if evaluations:
            self._count("evaluations", evaluations)

    def _count(self, name: str, by: int) -> None:
        self.counts[name].store(self.counts[name].load("i64") + by)

    def _scalar(self, name: str) -> Value:
        return self.scalars[name].load("double")

    def _extract(self, to: str, name: str) -> None:
        self.call("@extract", self.words[to], self._tile(name), self.places[name].size)

    def _tile(self, name: str) -> Value:
        return self._address(self.places[name])

    def _address(self, tile: Tile) -> Value:
        return self.words["workspace"].at(tile.at, self.m.target.vector)


def _set_function(m: Emitter) -> str:
    """@set: one number into all lanes."""
    e = TextEmitter(m.target, arguments=("ptr %tile", "double %x"))
    tile, x = e.arguments
    e.store(e.splat(x), tile)
    return e.text("@set")
