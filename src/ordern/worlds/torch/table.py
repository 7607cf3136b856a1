"""The operators as PyTorch knows them: keys by which its own operators find them, and plans of derivatives."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakValueDictionary, ref

from ...algorithms.derivatives.coordinates import coordinate_question, pull_name
from ...compile.run.numpy_api import fast_calls_work
from ...errors import ArgumentError
from ...kernel.fast_path import add_fallback
from ...records import dataclass
from ..operators import Derivative, Operator
from .native import Native

__all__ = ["Plan", "keep", "key_of", "needs_answer", "operator_of", "plan", "single"]

_BY_KEY: WeakValueDictionary[str, Any] = WeakValueDictionary()
_KEPT: dict[str, Any] = {}
"""Operators of compiled graphs, which have only their keys."""


def key_of(operator: Operator | Native) -> str:
    """Return the key of an operator.

    It is random: PyTorch keeps compiled graphs on disk, and in another process the same key would be another operator.
    """
    key: str | None = operator.__dict__.get("_torch_key")
    if key is None:
        fresh = f"{operator.name} of {operator.robot} {secrets.token_hex(8)}"
        _BY_KEY[fresh] = operator  # first, since another thread may use the key as soon as it is there
        key = operator.__dict__.setdefault("_torch_key", fresh)
    return key


def operator_of(key: str) -> Any:
    """Return the operator of a key."""
    found = _BY_KEY.get(key)
    if found is None:
        raise ArgumentError(
            f"the operator {key!r} is not one of this process: a compiled graph came from another process, or its "
            "robot is gone; compile the function again where it is used"
        )
    return found


def keep(key: str) -> Any:
    """Return the operator of a key, and keep it: a graph is being made in which the key will be."""
    return _KEPT.setdefault(key, operator_of(key))


def single(operator: Operator) -> Callable[..., Any]:
    """Return the function of an operator for plain arrays of doubles, which is quick for one state."""
    found: Callable[..., Any] | None = operator.__dict__.get("_torch_single")
    if found is None:
        found = operator.__dict__["_torch_single"] = _emitted(operator)
    return found


def _emitted(operator: Operator) -> Callable[..., Any]:
    if operator.numbers is not None or not operator.is_compiled or not fast_calls_work():
        return operator
    key = add_fallback(operator, operator.name, partial(_general, ref(operator)))
    return operator.machine("float64").function(operator, key, operator.name, "")


def _general(operator: Any, *arrays: Any) -> Any:
    """Compute everything that the function for one state does not."""
    return operator()(*arrays)


@dataclass(frozen=True, slots=True)
class Plan:
    """How to call a derivative of an operator, and how to take its answer apart."""

    operator: Derivative
    order: tuple[int, ...]
    """The places of its inputs among the inputs of the base, its answer, and the inputs that it adds."""
    sizes: tuple[int, ...]
    """How many numbers of a pull belong to each input by which it differentiates."""
    shapes: tuple[tuple[int, ...], ...]


def plan(operator: Operator, mode: str, varied: tuple[bool, ...]) -> Plan:
    """Return the plan of the "push" or "pull" by some inputs; True for those that vary."""
    known: dict[Any, Plan] = operator.__dict__.setdefault("_torch_plans", {})
    found = known.get((mode, varied))
    if found is None:
        ports = [port for port, varies in zip(operator.inputs, varied, strict=True) if varies]
        derivative: Derivative = getattr(operator, mode)(*(port.name for port in ports))
        count = len(varied)
        added = range(count + 1, count + 1 + len(derivative.added))
        order = tuple(derivative.arguments(range(count), count, added))
        shapes = tuple(port.shape for port in ports)
        found = known[mode, varied] = Plan(derivative, order, tuple(map(math.prod, shapes)), shapes)
    return found


def needs_answer(operator: Operator) -> bool:
    """Return True if derivatives of an operator take its answer in the place of an input (see `Derivative`)."""
    found: bool | None = operator.__dict__.get("_torch_needs_answer")
    if found is None:
        asked = operator.request.question
        inputs = {p.name for p in asked.inputs}
        pull = coordinate_question(pull_name(asked.name, (asked.inputs[0].name,)))
        added = [p for p in pull.inputs if p.name not in inputs]
        found = operator.__dict__["_torch_needs_answer"] = len(added) > 1  # besides the weights
    return found
