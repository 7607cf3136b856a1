"""Inertia and forces of the object, about the origin C of its frame, in the world's axes.

    M(C) = [[I_C, m p~], [-m p~, m 1]],    b(C) = (w x I_C w; m w x (w x p))

with p from C to the mass centre and I_C the inertia about C. Gravity pulls with (p x m g; m g).

Reference: Rodriguez and Kreutz 1988, Part II, eq. (2.4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError, ModelError
from ..model import Body, ModelBuilder
from ..rotations import skew
from .products import times, transposed

__all__ = ["bias_force", "held_body", "spatial_inertia"]


def held_body(given: Any) -> Body | None:
    """Return the object as a body with a regular inertia; None for an object that does not move."""
    if given is None:
        return None
    if isinstance(given, Body):
        body = given
    else:
        try:
            mass, com, inertia = (None,) if isinstance(given, str) else tuple(given)
        except (TypeError, ValueError):
            raise ArgumentError(
                "grasp: the object must be a Body, (mass, com, inertia), or None for one that does not move, "
                f"not {given!r}"
            ) from None
        try:
            built = ModelBuilder().body("object", mass=mass, com=com, inertia=inertia).build(floating=True)
        except ModelError as e:
            raise ArgumentError(f"grasp: the object cannot be a body: {e}") from None
        (body,) = built.bodies
    smallest = float(np.linalg.eigvalsh(body.inertia_matrix)[0])
    if not body.mass > 0.0 or not smallest > 0.0:
        raise ArgumentError(
            f"grasp: the object {body.name!r} needs a mass and an inertia above zero in all directions, not "
            f"{body.mass:g} kg and {body.inertia}; an object that does not move is None"
        )
    return body


def spatial_inertia(body: Body, R: Array) -> Array:
    """Return M(C), (..., 6, 6), for rotations R of the object."""
    c = np.array(body.com)
    I = body.inertia_matrix + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    p = skew(body.mass * (R @ c))
    M = np.empty((*R.shape[:-2], 6, 6))
    M[..., :3, :3] = R @ I @ transposed(R)
    M[..., :3, 3:], M[..., 3:, :3] = p, -p
    M[..., 3:, 3:] = body.mass * np.eye(3)
    return M


def bias_force(body: Body, R: Array, w: Array, M: Array, gravity: Array) -> Array:
    """Return b(C) minus the wrench of gravity, (..., 6), at the angular velocities w."""
    p = R @ np.array(body.com)
    force = body.mass * (np.cross(w, np.cross(w, p)) - gravity)
    moment = np.cross(w, times(M[..., :3, :3], w)) - np.cross(p, body.mass * gravity)
    return np.concatenate([moment, force], axis=-1)
