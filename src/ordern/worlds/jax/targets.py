"""Handlers that XLA knows, by names that say what they compute.

A name has a digest of everything that the code depends on, as the cache on disk has: a function that JAX stored or
exported calls the same code in another process, once the robot's function was called or `register` has named it there.
XLA cannot forget a handler, so the code of each robot, question and data type stays in memory, once, until the process
ends.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import jax

from ...compile.pipeline import request_key
from ...compile.run.cache import cache_key
from ...errors import ArgumentError
from ...forking import COMPILING
from ..operators import Operator
from .handler import MOST_INPUTS, handler

__all__ = ["handlers", "target"]

_known: dict[str, Any] = {}
"""The objects that the handlers need, by their names."""
_numbers = itertools.count(1)


def handlers() -> tuple[str, ...]:
    """Return the names of all functions of robots that JAX knows so far, for `jax.export`.

    A function is known when it was called, or lowered (`jax.jit(f).lower(...)`), for a data type.
    """
    return tuple(_known)


def target(operator: Operator, dtype: str, threads: int | None) -> str:
    """Return the name of the handler of an operator, which is registered on first use."""
    names: dict[Any, str] = operator.__dict__.setdefault("_jax_targets", {})
    found = names.get((dtype, threads))
    if found is None:
        with COMPILING:
            found = names[dtype, threads] = _registered(operator, dtype, threads)
    return found


def _registered(operator: Operator, dtype: str, threads: int | None) -> str:
    machine = operator.machine(dtype)
    key = request_key(operator.request, dtype, None)
    digest = f"in_this_process_{next(_numbers)}" if key is None else cache_key(key)[:32]
    words = re.sub(r"[^a-z0-9]+", "_", operator.name[:60]).strip("_")
    name = f"ordern_{words}_{dtype}_{digest}" + ("" if threads is None else f"_threads_{threads}")
    if name in _known:
        return name
    shapes = [x.shape for x in operator.inputs]
    if operator.numbers is not None:
        places = machine.code.numbers
        shapes[-1:] = [] if places == () else [(operator.numbers.count if places is None else len(places),)]
    if len(shapes) > MOST_INPUTS:
        raise ArgumentError(f"{operator.name}: it has {len(shapes)} inputs; JAX takes at most {MOST_INPUTS}")
    address, kept = handler(machine, shapes, operator.output, threads)
    import ctypes

    function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform="cpu")
    _known[name] = kept
    return name
