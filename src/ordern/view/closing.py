"""Sliders of robots with loops: a slider moves as far as loops and limits allow, and the other joints follow.

A served page asks `Closing`. A page in a file has no Python: it gets the closures of the loops as JavaScript, traced
from the same functions that the dynamics use, and solves them itself (`closing.js`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..graph import Graph, Node, live
from ..model import BASE
from ..robots import known, positions
from .charts import Charts

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Closing", "closed_near", "closed_start", "closures", "is_closed", "loop_data"]

_OPEN = 1e-6
"""Loops that are open by more, in m and rad, are shown as they are."""
_RESTARTS = 20
_STEPS, _FINEST = 40, 2000
"""A slider moves over its range in many steps, so that the mechanism stays on its branch; in finer steps at an end."""
_SYMBOLS = {
    "add": "({}+{})",
    "sub": "({}-{})",
    "mul": "({}*{})",
    "div": "({}/{})",
    "neg": "(-{})",
    "sqrt": "Math.sqrt({})",
    "sin": "Math.sin({})",
    "cos": "Math.cos({})",
    "atan2": "Math.atan2({},{})",
    "where_less": "({}<{}?{}:{})",
}
"""Operations of the scalar graph in JavaScript."""


def is_closed(robot: Robot, q: Array) -> bool:
    """Return whether all loops and couplings are closed at a position."""
    return bool(np.abs(robot.loop_residual(q)).max(initial=0.0) <= _OPEN)


def closed_start(robot: Robot, q: Array) -> Array:
    """Return a closed position within the limits: the known one of a bundled mechanism, or the one next to q."""
    usual = positions(robot.name).get("assembled") if known(robot.name) else None
    if usual is not None and np.shape(usual) == (robot.nq,):
        at = np.array(usual, float)
        if is_closed(robot, at) and (at >= robot.lower).all() and (at <= robot.upper).all():
            return at
    return closed_near(robot, q)


def closed_near(robot: Robot, q: Array) -> Array:
    """Return the closed position next to q; q itself, if there is none within the limits."""
    if is_closed(robot, q):
        return q
    found = robot.assemble(q, restarts=_RESTARTS, check=False)
    return np.asarray(found.q) if found.ok else q


class Closing:
    """Moves sliders of a robot, and keeps its loops closed."""

    def __init__(self, robot: Robot, charts: Charts) -> None:
        self._robot, self._charts = robot, charts
        self._names = [robot.joints[chart.joint].name for chart in charts.charts for _ in chart.sliders]

    def moved(self, q: Array, k: int, value: float) -> Array:
        """Return the position after slider k has moved towards a value, as far as possible."""
        values = self._charts.values(q)
        here, slider = float(values[k]), self._charts.sliders[k]
        if not self._robot.nc or not is_closed(self._robot, q):
            values[k] = value
            return self._charts.position(values)
        step = math.copysign((slider.upper - slider.lower) / _STEPS, value - here)
        while here != value and abs(step) > (slider.upper - slider.lower) / _FINEST:
            values = self._charts.values(q)
            values[k] = value if abs(value - here) <= abs(step) else here + step
            found = self._robot.assemble(self._charts.position(values), keep=[self._names[k]], check=False)
            if found.ok:
                q, here = np.asarray(found.q), float(values[k])
            else:
                step /= 2.0  # up to where the loops hold it
        return q


def loop_data(robot: Robot, charts: Charts) -> dict[str, Any]:
    """Return the frames of loops, couplings, and limits of sliders, for a page."""

    def end(frame: Any) -> dict[str, Any]:
        body = frame.body if frame.body != BASE else None
        return {"body": body, "at": frame.placement.matrix[:3].ravel().tolist()}

    couplings = [
        {
            "joint": charts.starts[x.joint],
            "other": charts.starts[x.other] if x.other >= 0 else None,
            "coefficients": list(x.coefficients),
        }
        for x in robot.couplings
        if x.active
    ]
    return {
        "loops": [{"parent": end(x.parent.frame), "child": end(x.child.frame)} for x in robot.loop_table.loops],
        "couplings": couplings,
        "limits": [_limits(robot, charts, k) for k in range(len(charts.sliders))],
    }


def _limits(robot: Robot, charts: Charts, k: int) -> list[float | None]:
    """Return the limits of a slider's coordinate, None where there is none."""
    chart = max((c for c in charts.charts if charts.starts[c.joint] <= k), key=lambda c: charts.starts[c.joint])
    c, at = robot.joints[chart.joint], k - charts.starts[chart.joint]
    if len(chart.sliders) != c.nq:
        return [None, None]
    return [x if math.isfinite(x) else None for x in (c.lower[at], c.upper[at])]


def closures(robot: Robot) -> str:
    """Return a list of functions in JavaScript, one for each loop: from the child's pose in the parent's to residuals.

    A pose is twelve numbers, the rows of a 3x4 matrix. Loops that are driven by time are at time zero.
    """
    return f"[{','.join(_closure(x.type) for x in robot.loop_table.loops)}]"


def _closure(closure: Any) -> str:
    graph = Graph("a closure on a page")
    T = [[graph.leaf(f"T[{4 * i + j}]") for j in range(4)] for i in range(3)]
    R, p = tuple(tuple(row[:3]) for row in T), tuple(row[3] for row in T)
    rows = closure.closure(R, p, 0.0) if closure.timed else closure.closure(R, p)
    nodes = live([x for x in rows if isinstance(x, Node)])
    lines = [f"const n{n.index}={_text(n)};" for n in nodes if n.op not in ("leaf", "constant")]
    found = ",".join(_name(x) if isinstance(x, Node) else repr(float(x)) for x in rows)
    return f"(T)=>{{{''.join(lines)}return[{found}];}}"


def _name(node: Node) -> str:
    if node.op == "leaf":
        return str(node.data)
    return f"({float(node.data)!r})" if node.op == "constant" else f"n{node.index}"


def _text(node: Node) -> str:
    return _SYMBOLS[node.op].format(*map(_name, node.args))
