"""Robots as pytrees of JAX: the numbers that vary are a leaf, and all else is static.

So a robot may be an argument of functions that `jit`, `grad` and `vmap` transform. This module imports JAX only when
`register` is called, which every robot does that is made while JAX is there.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.parameter_fields import own_numbers
from ..model.variation import structure_of, with_values

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["register", "with_own_values"]


class _Static:
    """The static part of a robot: its structure, and a robot with numbers of its own to make others from."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._key: Any = robot if robot.variation is None else structure_of(robot)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Static):
            return NotImplemented
        return self._key is other._key or (type(self._key) is type(other._key) and bool(self._key == other._key))

    def __hash__(self) -> int:
        return hash(self._key)


def with_own_values(robot: Robot) -> Robot:
    """Return a varied robot whose numbers have the values from before they varied; others as they are."""
    variation = robot.variation
    if variation is None:
        return robot
    own = own_numbers(variation, variation.masks)
    return with_values(robot, np.concatenate([own[field][mask] for field, mask in variation.masks.items()]))


def _flatten(robot: Robot) -> tuple[tuple[Any, ...], _Static]:
    if robot.variation is None:
        return (), _Static(robot)
    return (robot.variation.values,), _Static(with_own_values(robot))


def _unflatten(static: _Static, leaves: Any) -> Robot:
    return with_values(static.robot, *leaves) if static.robot.variation is not None else static.robot


@cache
def register() -> None:
    """Tell JAX that robots are pytrees."""
    import jax

    from ..robot import Robot

    jax.tree_util.register_pytree_node(Robot, _flatten, _unflatten)
