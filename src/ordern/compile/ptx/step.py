"""One step of a rollout as a graph: the machine that traces an integrator's step.

The step is any text over the operations of a machine (`ordern.simulate.integrators.rk_step`). Here, values are lists of
scalars of one graph, and a kernel is the text of its algorithm, run on them. So all operations of a step are one graph,
from positions, velocities and forces to the next positions and velocities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...errors import CompileError
from ...graph import Graph, Node, Scalar, live, where_less
from ...model import ConcreteTree, Model, core_size, result_scalars
from ...model.contacts import CERTIFICATE
from ...records import dataclass
from ..pipeline import Request, layout_of
from ..timeloops.code import varied_form, varied_forms
from ..timeloops.contact import certifies
from ..timeloops.machine import is_flat
from ..trace.layout import Operand
from ..trace.repeats import RepeatedCode, RepeatingTree, Section, repeats

__all__ = ["INPUTS", "STATE", "Step", "contact_sizes", "trace_step"]

STATE = ("q", "v", "pushes", "stops", "certificate")
"""What a step changes. The impulses of contacts (`pushes`) and of stops, and the certificate, are of robots with
contacts."""
INPUTS = ("q", "v", "tau", "external", "goal", "numbers", "parameters", "surfaces", "limits", *STATE[2:])
"""The arguments of a step. A leaf of its graph is the number of an argument, and a place in it."""
_Q, _V, _TAU, _EXTERNAL, _GOAL, _NUMBERS, _PARAMETERS, _SURFACES, _LIMITS, _PUSHES, _STOPS, _CERTIFICATE = range(
    len(INPUTS)
)
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
    pushes: list[Scalar]
    stops: list[Scalar]
    """Empty if no joint has limits."""
    certificate: list[Scalar]
    """The largest residual and penetration, and the sum of works, with those of the steps before."""
    repeated: RepeatedCode
    """The iterations of a solver."""

    @property
    def state(self) -> dict[str, list[Scalar]]:
        """All that a step changes, by name."""
        return {name: getattr(self, name) for name in STATE if getattr(self, name)}

    @property
    def code(self) -> RepeatedCode:
        """The next state as code with iterations."""
        return replace(self.repeated, results=[x for xs in self.state.values() for x in xs])

    @property
    def roots(self) -> list[Node]:
        """The nodes of the next state, and of iterations."""
        return self.code.roots

    @property
    def work(self) -> list[Node]:
        """The operations, in order."""
        return [node for node in live(self.roots) if node.args]


def trace_step(model: Model, requests: Mapping[str, Request], step: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Step:
    """Trace a step, a function (m, q, v) -> (q, v) over the machine m, with the kernels of a time loop by name."""
    tracer = _Tracer(model, requests)
    state = tracer.leaves(_Q, model.nq), tracer.leaves(_V, model.nv)
    if "contact" in requests:
        q, v, pushes, stops, certificate = tracer.contact(*state)
        if not certifies(model, requests):
            return Step(tracer.inputs(), q, v, [], [], [], tracer.code)
        return Step(tracer.inputs(), q, v, pushes, stops, certificate, tracer.code)
    q, v = map(list, step(tracer, *state))
    return Step(tracer.inputs(), q, v, [], [], [], tracer.code)


def contact_sizes(model: Model) -> tuple[int, int]:
    """Return the impulses of contacts, and those that are stored: of stops as well, if joints have limits."""
    assert model.contacts is not None
    rows = core_size(model, "contact_impulses")
    return rows, rows + model.nv if model.has_stops else rows


class _Tracer:
    """The machine whose values are lists of scalars."""

    def __init__(self, model: Model, requests: Mapping[str, Request]) -> None:
        self._model, self._requests, self._graph = model, requests, Graph("step")
        self._flat, self._forms = is_flat(model), varied_forms(requests, ())
        self.code = RepeatedCode([], [], [], [Section()])
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
            "numbers": _GAINS + 3 * nv,
            "parameters": sum(self._forms.values()),
        }
        if certifies(self._model, asked):
            rows, stored = contact_sizes(self._model)
            sizes |= {"pushes": rows, "stops": stored - rows, "certificate": len(CERTIFICATE)}
            sizes |= {"surfaces": core_size(self._model, "surfaces"), "limits": 2 * nq}
        return tuple(Operand(name, (sizes.get(name, 0),)) for name in INPUTS)

    # operations of a step ------------------------------------------------------------------------------------------

    def acceleration(self, node: float, q: Values, v: Values) -> Values:
        """Return dv/dt at a stage; within a step, forces are constant."""
        force, servo = self._forces(q, v)
        if servo:
            force = _sum(force, [_within(u, most) for u, most in zip(servo, self._efforts, strict=True)])
        return self._kernel("dynamics", q, v, force)[: self._model.nv]

    @property
    def _efforts(self) -> Values:
        """The limits of the forces of feedback."""
        return self._numbers(_GAINS + 2 * self._model.nv, self._model.nv)

    def _forces(self, q: Values, v: Values) -> tuple[Values, Values]:
        """Return the joint forces at a state, and those of feedback without their limits."""
        nv, asked = self._model.nv, self._requests
        force: Values = self.leaves(_TAU, nv)
        servo: Values = []
        if "external_force" in asked:
            external = self.leaves(_EXTERNAL, 6 * len(self._model.bodies))
            force = _sum(force, self._kernel("external_force", q, external))
        if "difference" in asked:
            stiffness, damping = self._numbers(_GAINS, nv), self._numbers(_GAINS + nv, nv)
            apart = self._kernel("difference", q, self.leaves(_GOAL, self._model.nq))
            servo = [k * x - d * speed for k, x, d, speed in zip(stiffness, apart, damping, v, strict=True)]
        if "passive" in asked:
            force = _sum(force, self._kernel("passive", q, v, [self._smoothing]))
        return force, servo

    def contact(self, q: Values, v: Values) -> list[list[Scalar]]:
        """Take a step with contacts, and return all that it changes; see `ordern.compile.timeloops.contact`."""
        nq, nv = self._model.nq, self._model.nv
        rows, stored = contact_sizes(self._model)
        limits, drag = self.leaves(_LIMITS, 2 * nq), self._numbers(_GAINS + nv, nv)
        stops: Values = self.leaves(_STOPS, nv) if stored > rows else [0.0] * nv
        force, servo = self._forces(q, v)
        contacts: tuple[Values, ...] = (stops,)
        if rows:
            contacts = self.leaves(_PUSHES, rows), stops, self.leaves(_SURFACES, core_size(self._model, "surfaces"))
        fed: tuple[Values, ...] = ()
        if "servo" in self._requests["contact"].present:
            fed = servo, self._efforts
        elif servo:
            force = _sum(force, servo)
        given = (force, [self._h], drag, limits[:nq], limits[nq:])
        found = iter(self._kernel("contact", q, v, *given, *contacts, *fed))
        state = [[next(found) for _ in range(n)] for n in (nq, nv, rows, nv)]
        last = self.leaves(_CERTIFICATE, len(CERTIFICATE))
        certificate = [
            old + next(found) if name == "work" else _larger(next(found), old)
            for name, old in zip(CERTIFICATE, last, strict=True)
        ]
        return [*state[:3], state[3] if stored > rows else [], certificate]

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
        return q if self._flat else self._kernel("normalize", q)

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
        kind = RepeatingTree if repeats(request) else ConcreteTree
        tree: ConcreteTree = kind(request.model, regroup=request.algorithm.regroup, **self._varied(request))
        if isinstance(tree, RepeatingTree):
            tree.graph, tree.code, tree.branches = self._graph, self.code, False
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


def _larger(new: Scalar, last: Scalar) -> Scalar:
    """Return the larger of two numbers; a new one that is NaN."""
    return where_less(new, last, last, new)


def _within(x: Scalar, most: Scalar) -> Scalar:
    """Return a number within limits."""
    x = where_less(most, x, most, x)
    return where_less(x, 0.0 - most, 0.0 - most, x)


def _sum(x: Values, y: Values) -> list[Scalar]:
    return [a + b for a, b in zip(x, y, strict=True)]
