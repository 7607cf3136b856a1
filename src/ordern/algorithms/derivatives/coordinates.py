"""Derivatives of questions by the numbers of their arguments, for the steps of integrators and for array libraries.

The steps of Runge-Kutta methods work on the numbers of q as they are stored: within a step, quaternions leave their
unit length. Array libraries that differentiate know numbers only. So these derivatives are by the numbers, and not in
the tangent of `integrate`:

    "push integrate by q v"    takes q, v, dt and rates of q and v; its result is the rate of the answer
    "pull integrate by q v"    takes q, v, dt and a weight for each number of the answer; its result has the
                               derivatives of the weighted sum by q and then by v

The name "numbers" stands for the numbers of a varied robot, as the code reads them (`ordern.model.varied_rows`).
Derivatives have derivatives: "push pull pose by q by q weights" takes rates of q and of the weights, too.

Those of forward dynamics take the accelerations in the place of the forces tau: who asks for them knows them already,
and they are all that the derivatives need (see `implicit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ...errors import unknown_name
from ...graph import Graph, Scalar
from ...model import ConcreteTree, core_size
from ..registry import Algorithm, Port, Question, find, find_question
from .derived import Derived, find_differentiable, new_name, word
from .dynamics_gradient import has_dynamics_gradient, swept_gradient
from .implicit import ImplicitDynamics
from .roots import Roots

__all__ = [
    "NUMBERS",
    "PULL",
    "PUSH",
    "InCoordinates",
    "added_inputs",
    "coordinate_question",
    "find_in_coordinates",
    "pull_name",
    "push_name",
]

PUSH, PULL, NUMBERS = "push", "pull", "numbers"
_DYNAMICS, _ACCELERATION = "forward_dynamics", "a"
_BY = " by "
_METHODS: dict[tuple[str, Algorithm], Algorithm] = {}


def push_name(question: str, wrt: Sequence[str]) -> str:
    """Return the name of the question about rates of an answer."""
    return f"{PUSH} {question}{_BY}{' '.join(wrt)}"


def pull_name(question: str, wrt: Sequence[str]) -> str:
    """Return the name of the question about derivatives of a weighted answer."""
    return f"{PULL} {question}{_BY}{' '.join(wrt)}"


def coordinate_question(name: str) -> Question:
    """Return the question of a name that begins with "push" or "pull"."""
    base = name.partition(" ")[2].rpartition(_BY)[0]
    return _question(name, find_question(base), find(base)[1].regroup)


def added_inputs(name: str) -> list[str]:
    """Return the names of the arguments that a derivative adds: a rate for each argument that varies, or weights."""
    base = find_question(name.partition(" ")[2].rpartition(_BY)[0])
    taken = {*(p.name for p in base.inputs), *([_ACCELERATION] if base.name == _DYNAMICS else [])}
    return [p.name for p in coordinate_question(name).inputs if p.name not in taken]


@lru_cache(maxsize=1024)
def _question(name: str, base: Question, regroup: bool) -> Question:
    mode, _, rest = name.partition(" ")
    wrt = rest.rpartition(_BY)[2].split(" ")
    inputs = {p.name: p for p in base.inputs}
    inputs[NUMBERS] = Port(NUMBERS, "regrouped_numbers" if regroup else "numbers")
    for x in wrt:
        if x not in inputs:
            raise unknown_name("argument", x, inputs, base.name)
    required = [p for p in base.inputs if not p.optional or p.name in wrt]
    needed = [replace(p, optional=False) for p in required]
    if base.name == _DYNAMICS:
        needed = [Port(_ACCELERATION, "v") if p.name == "tau" else p for p in needed]
    if mode == PUSH:
        extra, output = [Port(new_name(f"{x}_rate", inputs), inputs[x].kind) for x in wrt], base.output
    else:
        kinds = " ".join(word(inputs[x].kind) for x in wrt)
        extra, output = [Port(new_name("weights", inputs), base.output)], f"flat {kinds}"
    optional = [p for p in base.inputs if p not in required]
    return replace(base, name=name, inputs=(*needed, *extra, *optional), output=output)


def find_in_coordinates(name: str, method: str | None) -> tuple[Question, Algorithm]:
    """Return the question of a name that begins with "push" or "pull", and the method that answers it."""
    mode, _, rest = name.partition(" ")
    base_name, _, names = rest.rpartition(_BY)
    base, algorithm = find_differentiable(base_name, method)
    asked = _question(name, base, algorithm.regroup)
    known = _METHODS.get((name, algorithm))
    if known is None:  # tables of kernels know methods by their identity
        text = InCoordinates(mode, base, algorithm, tuple(names.split(" ")), asked)
        sweeps = algorithm.sweeps and NUMBERS not in text.wrt
        known = replace(algorithm, question=name, function=text, sweeps=sweeps, alias_of="")
        _METHODS[name, algorithm] = known
    return asked, known


class InCoordinates(Derived):
    """The text of a derivative by the numbers of arguments."""

    def _differentiated(
        self, tree: ConcreteTree, given: list[Any], graph: Graph, options: dict[str, Any]
    ) -> list[Scalar]:
        """Return the nodes of the result, from the nodes of the arguments."""
        by_name = dict(zip((p.name for p in self.asked.inputs), given, strict=True))
        if NUMBERS in self.wrt:
            kind = "regrouped_numbers" if self.algorithm.regroup else "numbers"
            by_name[NUMBERS] = [tree.entry(k) for k in range(core_size(tree.model, kind))]
        rates = {
            leaf.index: rate
            for x in self.wrt
            if x in by_name and self.mode == PUSH
            for leaf, rate in zip(by_name[x], by_name[self._added(f"{x}_rate")], strict=True)
        }
        leaves = [leaf for x in self.wrt if x in by_name for leaf in by_name[x]]
        if self.base.name == _DYNAMICS:
            if self.mode == PULL and {*self.wrt} <= {"q", "v", "tau"} and has_dynamics_gradient(tree.model):
                kinds = {p.name: p.kind for p in self.base.inputs}
                arguments = [
                    tree.input(p.kind, by_name[p.name]) if by_name.get(p.name) else tree.zeros(p.kind)
                    for p in self.base.inputs
                ]
                weights, varied = by_name[self._added("weights")], {x: kinds[x] for x in self.wrt}
                return swept_gradient(tree, arguments, weights, varied, accelerations=by_name[_ACCELERATION])
            return self._dynamics(
                ImplicitDynamics(tree, by_name, by_name[_ACCELERATION], graph), by_name, rates, leaves
            )
        ports = [p for p in self.base.inputs if p.name in self.algorithm.accepts(self.base)]
        arguments = [
            tree.zeros(p.kind) if by_name.get(p.name) is None else tree.input(p.kind, by_name[p.name]) for p in ports
        ]
        roots = Roots(graph, self.base.name)
        results = self._traced(tree, arguments, options, roots)
        if self.mode == PUSH:
            return roots.at_solution(roots.forward(results, rates))
        return roots.at_solution(roots.reverse(results, by_name[self._added("weights")], leaves))

    def _dynamics(
        self, dynamics: ImplicitDynamics, by_name: dict[str, Any], rates: dict[int, Scalar], leaves: list[Any]
    ) -> list[Scalar]:
        """Return the nodes of the derivatives of forward dynamics; the joint forces are not among the leaves."""
        if self.mode == PUSH:
            return dynamics.rates(rates, by_name.get(self._added("tau_rate")))
        found, forces = dynamics.gradient(by_name[self._added("weights")], leaves)
        if "tau" not in self.wrt:
            return found
        before = sum(len(by_name[x]) for x in self.wrt[: self.wrt.index("tau")])
        return [*found[:before], *forces, *found[before:]]
