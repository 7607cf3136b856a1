"""Questions about derivatives of other questions: their names, arguments, results, and the method that answers them.

The name of such a question says all: "jvp forward_dynamics by q tau" has the arguments of `forward_dynamics` and then
tangents of q and tau; its result is the rate of the answer along them. "vjp forward_dynamics by q tau" has the
arguments and a cotangent of the answer; its result has the derivatives of the answer, weighted by the cotangent and
summed, by q and then by tau. "jacobian forward_dynamics by q v" has the matrix of derivatives by q, row by row, and
then that by v. "hessian forward_dynamics by q v" has the arguments and a cotangent, and the second derivatives of the
weighted sum by each pair of arguments (see `hessian`). Derivatives have derivatives: "jvp vjp gravity_force by q by q"
has the products of a Hessian.

A position varies in the tangent of `integrate`: its tangent is a velocity, and has nv numbers. The tangent of a pose is
the velocity of the frame in its own axes. The tangent of all else is an array of the same shape.

The name may have fields of parameters as well, such as "inertia" or "gravity" (see `ordern.model.parameter_fields`),
for robots in which all numbers of these fields vary.

A derivative is computed on the graph of the method, traced for one robot: by forward mode, by reverse mode for vjp.
Those of forward dynamics come from the derivatives of inverse dynamics: see `implicit`. Its gradient, and matrices of
both, have texts of their own: see `dynamics_gradient` and `analytic`. Iterations of solvers are not differentiated, but
the equations that they solve: see `roots`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import Any

from ...errors import ArgumentError, unknown_name
from ...graph import Graph, Node, Scalar, live
from ...graph.derive import evaluate, reverse
from ...joints import Joint
from ...model import ConcreteTree, Input, Model, core_size, result_scalars
from ...model.parameter_fields import FIELDS
from ...spatial import Freedoms
from ..configuration.step import velocity_of_rate
from ..registry import Algorithm, Port, Question, find, find_question
from .analytic import analytic, has_text
from .dynamics_gradient import has_dynamics_gradient, swept_gradient
from .hessian import Varied, hessian, joints_of_freedoms, pairs_of
from .implicit import ImplicitDynamics
from .roots import Roots

__all__ = [
    "MODES",
    "derived_name",
    "derived_question",
    "find_derived",
    "find_differentiable",
    "new_name",
    "tangent_kind",
    "way_of_differentiation",
    "word",
]

MODES = ("jvp", "vjp", "jacobian", "hessian")
_TANGENTS = {"q": "v", "pose": "motion", "poses": "motions", "body_poses": "body_motions", "loop_q": "loop_v"}
"""The kinds of tangents, where they differ from the kinds themselves."""
_IMPLICIT = ("forward_dynamics",)
"""Questions whose derivatives come from the equation that defines the answer."""
_CLOSED = ("closed_dynamics",)
"""Questions about robots with loops, which `loops.derivatives` differentiates likewise."""
_SOLVED = ("contact_step", "joint_step")
"""Questions whose methods hand the equations of their solution to `Tree.root`; see `roots`."""
_SIMPLE = (0.0, 1.0, -1.0)
"""Numbers that every type of number has exactly, and that simplify a graph."""
_BY = " by "
_METHODS: dict[tuple[str, Algorithm], Algorithm] = {}
"""The methods of derivatives, by the name of the question and the method of its base."""


def tangent_kind(kind: str) -> str:
    """Return the kind of a tangent or cotangent of a kind."""
    return _TANGENTS.get(kind, kind)


def way_of_differentiation(algorithm: Algorithm) -> str:
    """Return how a method is differentiated: "analytic", "implicit" or "graph"; empty if it has no derivatives."""
    if algorithm.pieces:
        return ""
    if has_text(algorithm.question, algorithm.name):
        return "analytic"
    return "implicit" if algorithm.question in (*_IMPLICIT, *_CLOSED, *_SOLVED) else "graph"


def derived_name(mode: str, question: str, wrt: Sequence[str]) -> str:
    """Return the name of a question about derivatives of another question by some of its arguments."""
    return f"{mode} {question}{_BY}{' '.join(wrt)}"


def derived_question(name: str) -> Question | None:
    """Return the question of a name; None if the name is not that of a derivative."""
    mode, _, rest = name.partition(" ")
    if mode not in MODES or _BY not in rest:
        return None
    base_name, _, names = rest.rpartition(_BY)
    return _derived(name, mode, find_question(base_name), tuple(names.split(" ")))


@lru_cache(maxsize=4096)
def _derived(name: str, mode: str, base: Question, wrt: tuple[str, ...]) -> Question:
    """Return the question about derivatives of another one."""
    base_name = base.name
    inputs = {p.name: p for p in base.inputs} | {field: Port(field, field) for field in FIELDS}
    for x in wrt:
        if x not in inputs:
            raise unknown_name("argument", x, inputs, base_name)
    varied = [
        replace(inputs[x], name=new_name(f"{x}_tangent", inputs), kind=tangent_kind(inputs[x].kind), optional=False)
        for x in wrt
    ]
    out = tangent_kind(base.output)
    kinds = " ".join(word(p.kind) for p in varied)
    if mode == "jvp":
        extra, output = varied, out
    elif mode == "hessian":
        tangents = {x: p.kind for x, p in zip(wrt, varied, strict=True)}
        tables = (f"(table {word(tangents[x])} {word(tangents[y])})" for x, y in pairs_of(base_name, wrt))
        extra, output = [Port(new_name("cotangent", inputs), out)], f"flat {' '.join(tables)}"
    elif mode == "vjp":
        extra, output = [Port(new_name("cotangent", inputs), out)], f"flat {kinds}"
    else:
        extra, output = [], f"table {word(out)} {kinds}"
    # tangents come before optional arguments, which may be missing
    required = [p for p in base.inputs if not p.optional or p.name in wrt]
    needed = [replace(p, optional=False) for p in required]
    optional = [p for p in base.inputs if p not in required]
    return replace(base, name=name, inputs=(*needed, *extra, *optional), output=output)


def word(kind: str) -> str:
    """Return the name of a kind as one word of another name."""
    return f"({kind})" if " " in kind else kind


def new_name(name: str, taken: Container[str]) -> str:
    """Return a name that no argument has: the derivative of a derivative has two tangents of one argument."""
    return name if name not in taken else next(x for k in count(2) if (x := f"{name}{k}") not in taken)


def find_differentiable(name: str, method: str | None) -> tuple[Question, Algorithm]:
    """Return a question and a method of it that has derivatives."""
    base, algorithm = find(name, method)
    if algorithm.pieces:
        raise ArgumentError(
            f"{name} by the method {algorithm.name!r} has no derivatives: it is NumPy code around other functions"
        )
    return base, algorithm


def find_derived(name: str, method: str | None) -> tuple[Question, Algorithm] | None:
    """Return a question about derivatives, and the method that answers it; None if the name is not that of one."""
    asked = derived_question(name)
    if asked is None:
        return None
    mode, _, rest = name.partition(" ")
    base_name, _, names = rest.rpartition(_BY)
    base, algorithm = find_differentiable(base_name, method)
    known = _METHODS.get((name, algorithm))
    if known is None:  # tables of kernels know methods by their identity
        text = Derived(mode, base, algorithm, tuple(names.split(" ")), asked)
        sweeps = algorithm.sweeps and mode in ("jvp", "vjp") and not text.by_parameters
        known = replace(algorithm, question=name, function=text, sweeps=sweeps, alias_of="")
        _METHODS[name, algorithm] = known
    return asked, known


class Derived:
    """The text of a derivative: it traces the text of the base question, and differentiates the graph."""

    def __init__(self, mode: str, base: Question, algorithm: Algorithm, wrt: tuple[str, ...], asked: Question) -> None:
        self.mode, self.base, self.algorithm, self.wrt, self.asked = mode, base, algorithm, wrt, asked
        inner = getattr(algorithm.function, "by_parameters", False)
        self.by_parameters = inner or any(x in FIELDS for x in wrt)
        """True if it differentiates by numbers of the robot, which are then values of the tree."""
        # the code of the text enters the keys of the cache
        self.__wrapped__ = algorithm.function
        self.__signature__ = None

    def __call__(self, tree: ConcreteTree, *inputs: Input, **options: Any) -> Any:
        """Return the scalars of the result."""
        given = [list(x.scalars) if x.given else None for x in inputs]
        flat = [x for scalars in given if scalars is not None for x in scalars] or list(tree.values or ())
        if all(isinstance(x, Node) for x in flat):
            return Freedoms(self._differentiated(tree, given, flat[0].graph if flat else Graph("derived"), options))
        known = tree.model.__dict__.setdefault("_derived", {})
        key = (self, tuple(x is None for x in given), tree.number is None, tuple(sorted(options.items())))
        if key not in known:
            graph = Graph("derived")
            given_ones = (*given, tree.values)
            leaves = [
                None if x is None else [graph.leaf((k, n)) for n in range(len(x))] for k, x in enumerate(given_ones)
            ]
            constant = None
            if tree.number is not None:  # the graph would compute with constants in double precision
                constant = lambda x: x if x in _SIMPLE else graph.leaf(("constant", x))  # noqa: E731
            regroup = self.algorithm.regroup and constant is None
            own = ConcreteTree(tree.model, constant, regroup=regroup, values=leaves[-1])
            own.frames = tree.frames
            known[key] = leaves, self._differentiated(own, leaves[:-1], graph, options)
        leaves, results = known[key]
        values = {
            leaf.index: x
            for some, xs in zip(leaves, (*given, tree.values), strict=True)
            if xs
            for leaf, x in zip(some, xs, strict=True)
        }
        if tree.number is not None:
            nodes = live(x for x in results if isinstance(x, Node))
            values |= {x.index: tree.number(x.data[1]) for x in nodes if x.op == "leaf" and x.data[0] == "constant"}
        return Freedoms(evaluate(results, values))

    def _differentiated(
        self, tree: ConcreteTree, given: list[Any], graph: Graph, options: dict[str, Any]
    ) -> list[Scalar]:
        """Return the nodes of the result, from the nodes of the arguments; None for an argument that is not given."""
        by_name = dict(zip((p.name for p in self.asked.inputs), given, strict=True)) | self._parameters(tree)
        ports = [p for p in self.base.inputs if p.name in self.algorithm.accepts(self.base)]
        arguments = [
            tree.zeros(p.kind) if by_name.get(p.name) is None else tree.input(p.kind, by_name[p.name]) for p in ports
        ]
        if self.mode == "hessian":
            return self._hessian(tree, by_name, given, graph, options)
        if self.mode == "jacobian":
            whole = analytic(tree.model, self.base.name, self.algorithm.name)
            if whole is not None and set(self.wrt) <= set(whole.arguments):
                return whole.blocks(tree, arguments, self.wrt)
        kinds = {p.name: p.kind for p in self.base.inputs}
        if self._has_sweeps(tree.model):
            tangents = {x: tangent_kind(kinds[x]) for x in self.wrt}
            return swept_gradient(tree, arguments, by_name[self._added("cotangent")], tangents)
        roots = Roots(graph, self.base.name)
        results = self._traced(tree, arguments, options, roots)
        maps = {x: _Positions(tree, by_name[x]) for x in self.wrt if kinds.get(x) == "q"}
        if self.base.name in _IMPLICIT:
            return self._implicit(ImplicitDynamics(tree, by_name, results, graph), by_name, maps, graph)
        ends = _Ends(tree, self.base.output, results)
        if self.mode == "vjp":
            weights = ends.transposed(by_name[self._added("cotangent")], graph)
            found = self._gradient(by_name, maps, lambda leaves: roots.reverse(results, weights, leaves), graph)
        elif self.mode == "jvp":
            rates = {k: x for one in self._tangents(by_name, maps).values() for k, x in one.items()}
            found = ends.tangents(roots.forward(results, rates))
        else:
            columns = [ends.tangents(roots.forward(results, rates)) for rates in self._units(by_name, maps)]
            found = self._by_rows(columns, by_name, maps)
        return roots.at_solution(found)

    def _traced(
        self, tree: ConcreteTree, arguments: Sequence[Any], options: dict[str, Any], roots: Roots
    ) -> list[Scalar]:
        """Return the scalars of the answer; those that a solver finds are leaves of `roots`."""
        if " " not in self.base.name:  # derivatives of derivatives go through the iterations
            tree.differentiating = roots.record
        try:
            found = self.algorithm.function(tree, *arguments, **options)
        finally:
            tree.differentiating = None
        return result_scalars(found, core_size(tree.model, self.base.output, tree.frames))

    def _has_sweeps(self, model: Model) -> bool:
        """Return True if this is a gradient of forward dynamics that has a text of its own."""
        usual = self.base.name in _IMPLICIT and self.algorithm is find(self.base.name)[1]
        return self.mode == "vjp" and usual and not self.by_parameters and has_dynamics_gradient(model)

    def _parameters(self, tree: ConcreteTree) -> dict[str, list[Scalar]]:
        """Return the numbers of the robot by which it differentiates, by field."""
        variation, values = tree.model.variation, tree.values
        if variation is None or values is None:
            return {}
        fields = (x for x in self.wrt if x in FIELDS)
        return {field: [values[k] for k in variation.places(field)] for field in fields}

    def _hessian(
        self, tree: ConcreteTree, by_name: dict[str, Any], given: list[Any], graph: Graph, options: dict[str, Any]
    ) -> list[Scalar]:
        """Return the second derivatives of the weighted sum, from the nodes of its gradient."""
        vjp = Derived("vjp", self.base, self.algorithm, self.wrt, self.asked)
        kinds = {p.name: p.kind for p in self.base.inputs}
        maps = {x: _Positions(tree, by_name[x]) for x in self.wrt if kinds.get(x) == "q"}
        gradient, parts = iter(vjp._differentiated(tree, given, graph, options)), []
        for x in self.wrt:
            rows = [next(gradient) for _ in range(self._size(x, by_name, maps))]
            joints = joints_of_freedoms(tree.model) if kinds.get(x) in ("q", "v", "f") else None
            parts.append(Varied(x, rows, self._units(by_name, maps, (x,)), joints))
        return hessian(parts, pairs_of(self.base.name, self.wrt))

    def _implicit(
        self, dynamics: ImplicitDynamics, by_name: dict[str, Any], maps: dict[str, _Positions], graph: Graph
    ) -> list[Scalar]:
        """Return the same for forward dynamics, from the derivatives of inverse dynamics."""
        others = tuple(x for x in self.wrt if x != "tau")
        if self.mode == "vjp":
            forces: list[Scalar] = []

            def gradient(leaves: Sequence[Node]) -> list[Scalar]:
                found, mu = dynamics.gradient(by_name[self._added("cotangent")], leaves)
                forces.extend(mu)
                return found

            parts = self._gradient(by_name, maps, gradient, graph, others)
            if "tau" not in self.wrt:
                return parts
            before = sum(self._size(x, by_name, maps) for x in self.wrt[: self.wrt.index("tau")])
            return [*parts[:before], *forces, *parts[before:]]
        if self.mode == "jvp":
            tangents = self._tangents(by_name, maps, others)
            rates = {k: x for one in tangents.values() for k, x in one.items()}
            return dynamics.rates(rates, by_name.get(self._added("tau_tangent")))
        units: list[dict[int, Scalar] | None] = []
        for x in self.wrt:
            units += [None] if x == "tau" else self._units(by_name, maps, (x,))
        return self._by_rows(dynamics.columns(units), by_name, maps)

    def _by_rows(
        self, columns: list[list[Scalar]], by_name: dict[str, Any], maps: dict[str, _Positions]
    ) -> list[Scalar]:
        """Return the scalars of columns row by row, for one argument after the other."""
        found: list[Scalar] = []
        start = 0
        for x in self.wrt:
            stop = start + self._size(x, by_name, maps)
            found += [x for row in zip(*columns[start:stop], strict=True) for x in row]
            start = stop
        return found

    def _size(self, name: str, by_name: dict[str, Any], maps: dict[str, _Positions]) -> int:
        """Return the number of scalars of an argument's tangent."""
        return maps[name].inputs if name in maps else len(by_name[name])

    def _gradient(
        self,
        by_name: dict[str, Any],
        maps: dict[str, _Positions],
        of: Callable[[Sequence[Node]], list[Scalar]],
        graph: Graph,
        wrt: tuple[str, ...] | None = None,
    ) -> list[Scalar]:
        """Return the cotangents of arguments, one after the other, from a function that differentiates by leaves."""
        names = self.wrt if wrt is None else wrt
        bars = iter(of([leaf for x in names for leaf in by_name[x]]))
        found: list[Scalar] = []
        for x in names:
            bar = [next(bars) for _ in by_name[x]]
            found += maps[x].transposed(bar, graph) if x in maps else bar
        return found

    def _tangents(
        self, by_name: dict[str, Any], maps: dict[str, _Positions], wrt: tuple[str, ...] | None = None
    ) -> dict[str, dict[int, Scalar]]:
        """Return the rates of the leaves of each argument along its given tangent."""
        return {
            x: _rates(by_name[x], by_name[self._added(f"{x}_tangent")], maps.get(x))
            for x in (self.wrt if wrt is None else wrt)
        }

    def _added(self, name: str) -> str:
        """Return the name of an argument that the derivative adds to those of the base question."""
        return new_name(name, [p.name for p in self.base.inputs])

    def _units(
        self, by_name: dict[str, Any], maps: dict[str, _Positions], wrt: tuple[str, ...] | None = None
    ) -> list[dict[int, Scalar]]:
        """Return the rates of the leaves for each unit tangent of each argument."""
        found = []
        for x in self.wrt if wrt is None else wrt:
            count = self._size(x, by_name, maps)
            for k in range(count):
                unit = [1.0 if n == k else 0.0 for n in range(count)]
                found.append(_rates(by_name[x], unit, maps.get(x)))
        return found


def _rates(leaves: Sequence[Node], tangent: Sequence[Scalar], positions: _Positions | None) -> dict[int, Scalar]:
    """Return the rates of leaves along a tangent, by the index of their nodes."""
    moving = tangent if positions is None else positions.apply(tangent)
    return {leaf.index: rate for leaf, rate in zip(leaves, moving, strict=True)}


class _Linear:
    """A linear map of scalars, whose transpose reverse mode gives."""

    inputs: int

    def apply(self, x: Sequence[Scalar], /) -> list[Scalar]:
        """Return the results for these scalars."""
        raise NotImplementedError

    def transposed(self, weights: Sequence[Scalar], graph: Graph) -> list[Scalar]:
        """Return the product of the transpose with weights of the results."""
        dummies = [graph.leaf(("linear", k)) for k in range(self.inputs)]
        return reverse(self.apply(dummies), weights, dummies)


class _Positions(_Linear):
    """The rates of positions at velocities: q varies along `integrate`."""

    def __init__(self, tree: ConcreteTree, q: Sequence[Scalar]) -> None:
        self._tree, self._q, self.inputs = tree, q, tree.model.nv

    def apply(self, v: Sequence[Scalar], /) -> list[Scalar]:
        """Return the rates at a velocity."""
        found: list[Scalar] = [0.0] * len(self._q)
        for k, c in enumerate(self._tree.model.joints):
            if c.mimic is None:
                joint = self._tree.index(k).joint
                found[c.q] = joint.rate(Freedoms(self._q[c.q]), Freedoms(v[c.v]))
        return found


class _Ends(_Linear):
    """The tangents of results from their rates."""

    def __init__(self, tree: ConcreteTree, kind: str, results: Sequence[Scalar]) -> None:
        self._tree, self._kind, self._results, self.inputs = tree, kind, results, len(results)

    def apply(self, x: Sequence[Scalar], /) -> list[Scalar]:
        """Return the tangents of rates."""
        return self.tangents(x)

    def transposed(self, weights: Sequence[Scalar], graph: Graph) -> list[Scalar]:
        """Return the weights of the rates."""
        return list(weights) if self._kind not in _TANGENTS else super().transposed(weights, graph)

    def tangents(self, rates: Sequence[Scalar]) -> list[Scalar]:
        """Return the tangents of rates."""
        y = self._results
        if self._kind in ("pose", "poses", "body_poses"):
            starts = range(0, len(y), 16)
            return [x for k in starts for x in _pose_tangent(y[k : k + 16], rates[k : k + 16])]
        if self._kind == "q":
            found: list[Scalar] = [0.0] * self._tree.model.nv
            for k, c in enumerate(self._tree.model.joints):
                if c.mimic is None:
                    found[c.v] = velocity_of_rate(self._tree.index(k).joint, y[c.q], rates[c.q])
            return found
        if self._kind == "loop_q":
            table = self._tree.model.loop_table
            joints = [(loop.type, loop.q) for loop in table.loops if loop.q.stop > loop.q.start]
            parts = [velocity_of_rate(joint, y[q], rates[q]) for joint, q in joints if isinstance(joint, Joint)]
            return [x for part in parts for x in part]
        return list(rates)


def _pose_tangent(y: Sequence[Scalar], rates: Sequence[Scalar]) -> list[Scalar]:
    """Return the velocity, in its own axes, of a frame whose homogeneous matrix has these numbers and rates."""
    R = [[y[4 * r + c] for c in range(3)] for r in range(3)]
    dR = [[rates[4 * r + c] for c in range(3)] for r in range(3)]
    W = [[sum(R[k][a] * dR[k][b] for k in range(3)) for b in range(3)] for a in range(3)]  # R^T dR
    linear = [sum(R[k][a] * rates[4 * k + 3] for k in range(3)) for a in range(3)]
    return [0.5 * (W[2][1] - W[1][2]), 0.5 * (W[0][2] - W[2][0]), 0.5 * (W[1][0] - W[0][1]), *linear]
