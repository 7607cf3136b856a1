"""Keys of code that is not the library's own: algorithms and joints that users write.

A key has everything that a function can see (see `content`). If a function can see something that cannot be written
down, such as a module of the user's or an open file, or reads a file, the environment or the command line, there is no
key, and its code is not stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ...graph.ops import OPS, OUR_OPS
from ...joints import Closure
from ...model.ports import AXES, OUR_AXES, OUR_KINDS, PORT_KINDS
from .content import Definition, Unknown

if TYPE_CHECKING:
    from ...model import Model

__all__ = ["own_code", "own_function", "own_joints", "own_rows"]


def _is_ours(x: Any) -> bool:
    """Return True if a function or class is the library's own, whatever `functools.wraps` wrote into it."""
    module = x.__globals__.get("__name__") if isinstance(x, FunctionType) else x.__module__
    return str(module).startswith("ordern.")


def own_code(*things: Any) -> str | None:
    """Return a digest of functions, classes or objects, the same in all processes; None if one of them has no key."""
    try:
        return Definition().digest(*things)
    except Unknown:
        return None


def own_function(function: Callable[..., Any]) -> str | None:
    """Return a digest of a function and those that it wraps: empty if all are ours, None if it cannot be known."""
    chain: list[Any] = [function]
    while hasattr(chain[-1], "__wrapped__") and len(chain) < _MOST_WRAPPED:
        chain.append(chain[-1].__wrapped__)
    own = [f for f in chain if not _is_ours(f)]
    return own_code(*own) if own else ""


_MOST_WRAPPED = 100
"""Decorators of one function; more are a cycle."""


def own_joints(model: Model) -> str | None:
    """Return a digest of the joints that are not the library's own: empty without any, None if it cannot be known."""
    joints = (*(kind.joint for kind in model.tables.kinds), *(loop.type for loop in model.loops))
    own = [joint for joint in joints if not _all_ours(joint)]
    return own_code(*own) if own else ""


def own_rows() -> str | None:
    """Return a digest of rows of tables that are not the library's: empty without any, None if it cannot be known."""
    tables: tuple[tuple[Any, Any], ...] = ((PORT_KINDS, OUR_KINDS), (AXES, OUR_AXES), (OPS, OUR_OPS))
    own = [[name, row] for table, ours in tables for name, row in table.items() if ours.get(name) is not row]
    return own_code(own) if own else ""


def _all_ours(x: Any) -> bool:
    """Return True if a joint, and all joints that it is made of, are the library's own."""
    if isinstance(x, tuple):
        return all(map(_all_ours, x))
    if not isinstance(x, Closure):
        return True
    of: Any = x
    parts = (getattr(x, f.name) for f in fields(of)) if is_dataclass(of) else ()
    return _is_ours(type(x)) and all(map(_all_ours, parts))
