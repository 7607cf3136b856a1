"""Joints that rest on stops in time loops: forces of the stops make their accelerations zero.

With Y_k the response of all joints to a unit force on held joint k,

    Y_k <- Y_k - Y_i Y_k[i] / Y_i[i]    for all i before k,        x <- x - Y_k x[k] / Y_k[k]

which is the elimination of the held joints from M, row by row. Where loops leave a held joint no freedom, the lanes are
marked as not valid.
"""

from __future__ import annotations

from ..emit.builder import Value
from .code import MOST_HELD
from .machine import Emitter, Numbers, Tile

__all__ = ["Holding"]

_LOCKED = 1e-9
"""A joint whose response is below this part of the response without the other stops cannot move."""


class Holding:
    """Writes `@hold`, which changes accelerations, or corrections of a state, so that held joints do not move.

    The state is in all lanes alike.
    """

    def __init__(self, m: Emitter) -> None:
        """Reserve memory, and write the functions."""
        self.m, self._nv, m.holding = m, m.model.nv, self
        self.list = m.tile(1 + MOST_HELD)
        """The number of held joints, and their places in v."""
        self._x, self._unit = m.tile(self._nv), m.tile(self._nv)
        self._responses = m.tile(MOST_HELD * self._nv)
        self._kernel = "mass_matrix_solve" if m.projection is None else "closed_solve"
        if m.projection is None:
            m.arguments[self._kernel] = (m.q, self._unit)
        else:
            m.projection.push(self._unit)
        m.kernel(self._kernel)
        if m.projection is not None:
            m.projection.check(self._kernel, signed=not m.projection.terms.left_out)
        m.sequence("respond")
        m.include(self._hold())

    def apply(self, x: Tile) -> None:
        """Change accelerations or a correction, at the position of the machine."""
        self.m.copy(x, self._x)
        self.m.call("@hold")
        self.m.copy(self._x, x)

    def _hold(self) -> str:
        """Return the IR text of @hold."""
        m, vector = self.m, self.m.target.vector
        e = Numbers(m.target, arguments=("ptr %ws", "ptr %datas"))

        def joint(k: Value) -> Value:
            return e.place(self.list, k + 1).load(m.target.element).to("fptosi", "i64")

        def subtract(x: Value, y: Value, j: Value) -> None:
            """Subtract the part of y from x that makes number j of it zero."""
            part = e.binary("fdiv", e.load(x.at(j, vector)), e.load(y.at(j, vector)))
            with e.counted(self._nv) as d:
                to = x.at(d, vector)
                e.store(e.binary("fsub", e.load(to), e.binary("fmul", part, e.load(y.at(d, vector)))), to)

        count = e.place(self.list).load(m.target.element).to("fptosi", "i64")
        with e.if_(count > 0):
            with e.counted(count) as k:
                j, y = joint(k), e.place(self._responses, k * self._nv)
                unit = e.place(self._unit, j)
                e.store(e.constant(1.0), unit)
                e.call("@respond", *e.arguments)
                e.store(e.constant(0.0), unit)
                with e.counted(self._nv) as d:
                    e.store(e.load(e.place(m.results[self._kernel], d)), y.at(d, vector))
                whole = e.load(y.at(j, vector))
                with e.if_(k > 0), e.counted(k) as i:
                    subtract(y, e.place(self._responses, i * self._nv), joint(i))
                if m.projection is not None:
                    valid = e.place(m.projection.valid)
                    least = e.binary("fmul", e.constant(_LOCKED), whole)
                    e.store(e.select_less(least, e.load(y.at(j, vector)), e.load(valid), e.constant(0.0)), valid)
                subtract(e.place(self._x), y, j)
            with e.counted(count) as k:
                e.store(e.constant(0.0), e.place(self._x, joint(k)))
        return e.text("@hold")
