"""Numbers that users give, as JAX arrays."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from ...errors import ArgumentError

__all__ = ["numbers"]


def numbers(x: Any, what: str) -> Any:
    """Return numbers as a JAX array; raise for None, text and other objects."""
    if x is None:
        raise ArgumentError(f"{what} is None; give an array of numbers")
    try:
        return jnp.asarray(x)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what} is not an array of numbers, but {type(x).__name__}: {str(x)[:80]}") from None
