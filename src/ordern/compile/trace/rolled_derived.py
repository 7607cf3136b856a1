"""Trace a question about derivatives as loops: trace the question itself, and transform its program.

The gradient of forward dynamics has a text of its own; see `dynamics_gradient`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...algorithms import find
from ...algorithms.derivatives.coordinates import PUSH, InCoordinates
from ...algorithms.derivatives.derived import Derived
from ...algorithms.derivatives.dynamics_gradient import dynamics_gradient, has_dynamics_gradient
from ...model import Output, core_size, result_scalars
from .rolled_modes import Answer, Gradient, Rates, varied_kinds
from .rolled_program import Block, Clear, Loop, Memory, Place

if TYPE_CHECKING:
    from .roll import RolledTree

__all__ = ["trace_derived"]

_ACCELERATION = "a"
"""The argument in the place of the joint forces, where forward dynamics is differentiated at a known motion."""


def trace_derived(
    tree: RolledTree, derived: Derived, inputs: dict[str, Memory], options: dict[str, Any], inner: bool = False
) -> Answer:
    """Trace a derivative, given the memories of its arguments by name.

    It is the result of the program, or if it is `inner`, to be differentiated again, in arrays.
    """
    rates, dynamics = derived.mode in ("jvp", PUSH), derived.base.name == "forward_dynamics"
    at_motion = dynamics and isinstance(derived, InCoordinates)
    taken = {*(p.name for p in derived.base.inputs), *([_ACCELERATION] if at_motion else [])}
    extra = [p.name for p in derived.asked.inputs if p.name not in taken]
    if dynamics and not rates and has_dynamics_gradient(tree.model):
        return _sweep(tree, derived, inputs, inputs[extra[0]])
    before: list[Loop | Block] = []
    if at_motion:
        inputs = {**inputs, "tau": _forces(tree, inputs)}
        before, tree.program.sections = tree.program.sections, before
        tree.begin_section()
    answer = _traced(tree, derived, inputs, options)
    if rates:
        moving = dict(zip(derived.wrt, extra, strict=True))
        found = Rates(tree, derived, inputs, answer).trace(moving, inner)
    else:
        found = Gradient(tree, derived, inputs, answer).trace(inputs[extra[0]])
    tree.program.sections[:0] = before
    return found


def _forces(tree: RolledTree, inputs: dict[str, Memory]) -> Memory:
    """Trace the joint forces of a motion, from which forward dynamics gives its accelerations."""
    question, algorithm = find("inverse_dynamics")
    arguments = [
        tree.argument(p.kind, inputs[p.name]) if p.name in inputs else tree.zeros(p.kind) for p in question.inputs
    ]
    found: Memory = algorithm.function(tree, *arguments).scalars
    return found


def _sweep(tree: RolledTree, derived: Derived, inputs: dict[str, Memory], cotangent: Memory) -> Answer:
    """Trace the gradient of forward dynamics as sweeps."""
    ports = derived.base.inputs
    kinds = varied_kinds(derived)
    result = tree.new_array(sum(core_size(tree.model, kinds[x]) for x in derived.wrt))
    tree.program.result = result.number
    tree.block.steps.append(Clear(result))
    starts, start = {}, 0
    for x in derived.wrt:
        starts[x], start = start, start + core_size(tree.model, kinds[x])
    arguments = [tree.argument(p.kind, inputs[p.name]) if p.name in inputs else tree.zeros(p.kind) for p in ports]
    outputs = {x: tree.part(kinds[x], result, at) for x, at in starts.items() if kinds[x] != "motion"}
    q, qd, tau, external, v0, a0 = arguments
    weights, plain = tree.argument("v", cotangent), isinstance(derived, InCoordinates)
    known = tree.argument("v", inputs[_ACCELERATION]) if plain else None
    spin, force = dynamics_gradient(tree, q, qd, tau, weights, external, v0, a0, outputs, known, plain)
    for x, scalars in (("base_velocity", (*spin.w, 0.0, 0.0, 0.0)), ("base_acceleration", force.scalars)):
        if x in starts:
            for k, number in enumerate(scalars):
                tree.store(Place(result, starts[x] + k), number)
    return Answer(result, start, None, 0)


def _traced(tree: RolledTree, derived: Derived, inputs: dict[str, Memory], options: dict[str, Any]) -> Answer:
    """Trace the question that is differentiated, or the derivative."""
    base, algorithm = derived.base, derived.algorithm
    if isinstance(algorithm.function, Derived):
        return trace_derived(tree, algorithm.function, inputs, options, inner=True)
    accepted = algorithm.accepts(base)
    arguments = [
        tree.argument(p.kind, inputs[p.name]) if p.name in inputs else tree.zeros(p.kind)
        for p in base.inputs
        if p.name in accepted
    ]
    result = algorithm.function(tree, *arguments, **options)
    parts = result if isinstance(result, tuple) and result else (result,)
    array, written = None, 0
    if isinstance(parts[0], Output):
        array, result = parts[0].scalars, parts[1:]
        written = tree.program.arrays[array.number]
    scalars = result_scalars(result, core_size(tree.model, base.output, tree.frames) - written)
    more = tree.new_array(len(scalars)) if scalars else None
    if more is not None:
        for k, x in enumerate(scalars):
            tree.store(Place(more, k), x)
    return Answer(array, written, more, len(scalars))
