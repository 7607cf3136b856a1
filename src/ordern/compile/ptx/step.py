"""One step of a rollout as a graph: the machine that traces an integrator's step.

The step is any text over the operations of a machine (`ordern.simulate.integrators.rk_step`). Here, values are lists of
scalars of one graph, and a kernel is the text of its algorithm, run on them. So all operations of a step are one graph,
from positions, velocities and forces to the next positions and velocities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import CompileError
from ...graph import Graph, Node, Scalar, live
from ...model import ConcreteTree, Model, result_scalars
from ...records import dataclass
from ..pipeline import Request, layout_of
from ..timeloops.code import varied_form, varied_forms
from ..timeloops.machine import is_flat
from ..trace.layout import Operand

__all__ = ["INPUTS", "Step", "trace_step"]

INPUTS = ("q", "v", "tau", "external", "goal", "numbers", "parameters")
"""The arguments of a step. A leaf of its graph is the number of an argument, and a place in it."""
_Q, _V, _TAU, _EXTERNAL, _GOAL, _NUMBERS, _PARAMETERS = range(len(INPUTS))
_H, _SMOOTHING, _GAINS = 0, 1, 5
"""Places in `numbers`: the step, the smoothing of friction, and the first of the gains."""

Values = Sequence[Scalar]


@dataclass(frozen=True, slots=True)
class Step:
    """The graph of a step."""

    inputs: tuple[Operand, ...]
    """In the order of `INPUTS`; those that are not given have no numbers."""
    q: list[Scalar]
    v: list[Scalar]

    @property
    def roots(self) -> list[Node]:
        """The nodes of the next state."""
        return [x for x in (*self.q, *self.v) if isinstance(x, Node)]

    @property
    def work(self) -> list[Node]:
        """The operations, in order."""
        return [node for node in live(self.roots) if node.args]


def trace_step(model: Model, requests: Mapping[str, Request], step: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Step:
    """Trace a step, a function (m, q, v) -> (q, v) over the machine m, with the kernels of a time loop by name."""
    tracer = _Tracer(model, requests)
    q, v = step(tracer, tracer.leaves(_Q, model.nq), tracer.leaves(_V, model.nv))
    return Step(tracer.inputs(), list(q), list(v))


class _Tracer:
    """The machine whose values are lists of scalars."""

    def __init__(self, model: Model, requests: Mapping[str, Request]) -> None:
        self._model, self._requests, self._graph = model, requests, Graph("step")
        self._flat, self._forms = is_flat(model), varied_forms(requests, ())
        [self._h], [self._smoothing] = self._numbers(_H, 1), self._numbers(_SMOOTHING, 1)

    def leaves(self, which: int, size: int, start: int = 0) -> list[Node]:
        """Return numbers of an argument."""
        return [self._graph.leaf((which, start + n)) for n in range(size)]

    def _numbers(self, start: int, size: int) -> list[Node]:
        return self.leaves(_NUMBERS, size, start)

    def inputs(self) -> tuple[Operand, ...]:
        """Return the arguments."""
        nq, nv, asked = self._model.nq, self._model.nv, self._requests
        sizes = {
            "q": nq,
            "v": nv,
            "tau": nv,
            "external": 6 * len(self._model.bodies) if "external_force" in asked else 0,
            "goal": nq if "difference" in asked else 0,
            "numbers": _GAINS + 2 * nv,
            "parameters": sum(self._forms.values()),
        }
        return tuple(Operand(name, (sizes[name],)) for name in INPUTS)

    # operations of a step ------------------------------------------------------------------------------------------

    def acceleration(self, node: float, q: Values, v: Values) -> Values:
        """Return dv/dt at a stage; within a step, forces are constant."""
        nv, asked = self._model.nv, self._requests
        force: Values = self.leaves(_TAU, nv)
        if "external_force" in asked:
            external = self.leaves(_EXTERNAL, 6 * len(self._model.bodies))
            force = _sum(force, self._kernel("external_force", q, external))
        if "difference" in asked:
            stiffness, damping = self._numbers(_GAINS, nv), self._numbers(_GAINS + nv, nv)
            apart = self._kernel("difference", q, self.leaves(_GOAL, self._model.nq))
            pulls = [k * x - d * speed for k, x, d, speed in zip(stiffness, apart, damping, v, strict=True)]
            force = _sum(force, pulls)
        if "passive" in asked:
            force = _sum(force, self._kernel("passive", q, v, [self._smoothing]))
        return self._kernel("dynamics", q, v, force)[:nv]

    def rate(self, q: Values, v: Values) -> Values:
        """Return dq/dt."""
        return v if self._flat else self._kernel("rate", q, v)

    def euler(self, q: Values, v: Values, a: Values) -> tuple[Values, Values]:
        """Take a step of semi-implicit Euler, by the joints if one of them has its own step."""
        if "integrate" in self._requests:
            after = self.add(v, ((1.0, a),))
            return self._kernel("integrate", q, after, [self._h]), after
        both = (self._kernel(name, q, v, a, [self._h]) for name in ("euler_position", "euler_velocity"))
        return next(both), next(both)

    def project(self, q: Values) -> Values:
        """Return positions with quaternions of unit length."""
        return q if self._flat else self._kernel("project", q)

    def add(self, x: Values | None, terms: Sequence[tuple[float, Values]]) -> Values:
        """Return x plus a weighted sum times the step."""
        (c, k), *rest = terms
        total = [c * y for y in k]
        for c, k in rest:
            total = [s + c * y for s, y in zip(total, k, strict=True)]
        steps = [self._h * s for s in total]
        return steps if x is None else _sum(x, steps)

    def _kernel(self, name: str, *given: Values) -> list[Scalar]:
        """Return what the text of a kernel makes of values."""
        request = self._requests[name]
        if not request.algorithm.sweeps and request.algorithm.pieces:
            raise CompileError(f"{request.question.name} by {request.algorithm.name!r} is no text: it has no kernel")
        tree = ConcreteTree(request.model, regroup=request.algorithm.regroup, **self._varied(request))
        tree.frames = request.frames
        arguments = iter(given)
        inputs = [
            tree.input(kind, list(next(arguments))) if is_given else tree.zeros(kind)
            for kind, is_given in request.slots
        ]
        size = layout_of(request, 1).output.size
        return result_scalars(request.algorithm.function(tree, *inputs, **dict(request.options)), size)

    def _varied(self, request: Request) -> dict[str, Any]:
        """Return the argument of a tree with leaves for the numbers that vary; none if all numbers are fixed."""
        form, start = varied_form(request, "unrolled"), 0
        if form is None:
            return {}
        for other, size in self._forms.items():
            if other == form:
                break
            start += size
        return {"entry": lambda n: self._graph.leaf((_PARAMETERS, start + n))}


def _sum(x: Values, y: Values) -> list[Scalar]:
    return [a + b for a, b in zip(x, y, strict=True)]
