"""Robots with parameters that are JAX arrays: tracers, too."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp

from .. import parameters
from ..parameters import Arrays

__all__ = ["total_mass", "vary", "with_parameters"]


def _put(x: Any, index: Any, numbers: Any) -> Any:
    return x.astype(jnp.result_type(x, numbers)).at[index].set(numbers)


_ARRAYS = Arrays(
    "JAX arrays",
    jnp.asarray,
    jnp.where,
    jnp.broadcast_to,
    lambda parts: jnp.concatenate([x.astype(jnp.result_type(*parts, jnp.float32)) for x in parts], axis=-1),
    lambda parts: jnp.stack(parts, axis=-1),
    _put,
)
vary = partial(parameters.vary, _ARRAYS)
with_parameters = partial(parameters.with_parameters, _ARRAYS)
total_mass = partial(parameters.total_mass, _ARRAYS)
