"""Answers as JAX arrays, also inside `jit`, `vmap`, `grad` and all other transformations.

A call of a robot's function with JAX arrays calls the same machine code as one with NumPy arrays, through the foreign
function interface of XLA. `primitive` has the rules by which JAX transforms it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ...errors import ArgumentError
from ...kernel.arguments import Arguments
from ..operators import Operator, operator_of
from ..trees import register
from .external import external_forces
from .numbers import numbers
from .primitive import call
from .targets import handlers

if TYPE_CHECKING:
    from ...kernel import Kernel

__all__ = ["answer", "delegate", "handlers"]

register()


def answer(kernel: Kernel, arguments: Sequence[Any], out: Any, threads: int | None) -> Any:
    """Return the answer of a kernel as a JAX array."""
    if out is not None:
        raise ArgumentError(
            f"{kernel.question.name}: `out` is for NumPy arrays; JAX arrays are not written to, so leave it out"
        )
    checks = kernel.runner.arguments
    checks.require_count(arguments)
    checks.require_threads(threads)
    given = [jnp.asarray(x) if isinstance(x, (list, tuple)) else x for x in arguments]
    variation = kernel.model.variation
    if variation is not None:
        given.append(variation.values)
    try:
        return _function(operator_of(kernel), checks, threads)(*given)
    except TypeError:  # JAX refuses text, and other objects, before it traces
        for port, x in zip(checks.ports, given, strict=False):
            if not isinstance(x, Mapping):
                numbers(x, f"{checks.question}: argument {port.name!r}")
        raise


def delegate(name: str) -> Callable[..., Any] | None:
    """Return the function that stands for a method of robots, or None."""
    from .closed import accelerations, closed_dynamics
    from .parameters import total_mass, vary, with_parameters
    from .rollout import rollout

    found: dict[str, Callable[..., Any]] = {
        **{"forward_dynamics": accelerations, "closed_dynamics": closed_dynamics, "rollout": rollout},
        **{"vary": vary, "with_parameters": with_parameters, "mass": total_mass},
        "external_forces": external_forces,
    }
    return found.get(name)


def _function(operator: Operator, checks: Arguments, threads: int | None) -> Callable[..., Any]:
    """Return the operator as a function that JAX compiles, so that a call outside of others is quick.

    Its last argument are the values that vary of a robot that has such. Shapes and names are checked while JAX traces.
    """
    made: dict[Any, Callable[..., Any]] = operator.__dict__.setdefault("_jax_functions", {})
    if threads not in made:

        def function(*given: Any) -> Any:
            arrays = [_array(checks, x, k) for k, x in enumerate(given[: len(checks.ports)])]
            values = [jnp.asarray(x) for x in given[len(checks.ports) :]]
            checks.require_fit([*arrays, *values], None)
            dtype = _precision([*arrays, *values])
            if operator.numbers is not None:
                values = [operator.numbers.of(x.astype(dtype), lambda a: jnp.asarray(a, dtype), jnp) for x in values]
            return call(operator, [x.astype(dtype) for x in (*arrays, *values)], threads)

        made[threads] = jax.jit(function, inline=True)
    return made[threads]


def _precision(arrays: Sequence[Any]) -> Any:
    """Return the data type to compute in: JAX's own for whole numbers, and at least single."""
    floats = [x for x in arrays if jnp.issubdtype(x.dtype, jnp.floating)]
    return jnp.result_type(*floats, jnp.float32) if floats else jnp.result_type(float)


def _array(checks: Arguments, x: Any, place: int) -> Any:
    """Return an argument as an array of real numbers."""
    port = checks.ports[place]
    if port.kind == "bodies" and isinstance(x, Mapping):
        return external_forces(checks.model, x)
    array = numbers(x, f"{checks.question}: argument {port.name!r}")
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise ArgumentError(f"{checks.question}: argument {port.name!r} has data type {array.dtype}; give real numbers")
    return array
