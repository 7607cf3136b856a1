"""External forces by names of bodies or frames, as JAX arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...errors import ArgumentError
from ...kernel.arguments import broadcast_named
from ...model import BASE, Model
from ...model.parameter_sets import varies_place

__all__ = ["external_forces"]


def external_forces(model: Model, external: Mapping[str, Any]) -> Any:
    """Return forces (moment, force), each in its frame, as one array (..., n, 6), each in the frame of its body."""
    shapes: dict[str, tuple[int, ...]] = {}
    placed: list[tuple[int, Any]] = []
    for name, wrench in external.items():
        frame, w = model.frame(name), jnp.asarray(wrench)
        if w.shape[-1:] != (6,):
            raise ArgumentError(
                f"external: the force on {name!r} has shape {w.shape}; its last dimension must be 6 (moment, force)"
            )
        if varies_place(model, frame):
            raise ArgumentError(
                f"external: the placement of {name!r} varies, and forces by name are for fixed frames in JAX; give an "
                "array (..., n, 6) of the forces on all bodies, each in its own frame"
            )
        shapes[name] = w.shape[:-1]
        if frame.body != BASE:  # the base takes any force
            R, p = (np.asarray(x, w.dtype) for x in (frame.placement.R, frame.placement.p))
            force = w[..., 3:] @ R.T
            moment = w[..., :3] @ R.T + jnp.cross(p, force)
            placed.append((frame.body, jnp.concatenate([moment, force], axis=-1)))
    batch = broadcast_named("external: the batch shapes of the forces", shapes)
    total = jnp.zeros((*batch, len(model.bodies), 6), jnp.result_type(jnp.float16, *(w for _, w in placed)))
    for body, w in placed:
        total = total.at[..., body, :].add(w)
    return total
