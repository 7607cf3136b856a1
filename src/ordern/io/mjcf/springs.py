"""Springs and dampers of joints that are given by a time constant and a damping ratio (`springdamper`)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...model import Model, ModelBuilder
from ..attributes import vector
from .bodies import Drives, reference
from .nodes import Part
from .tree import Tree

__all__ = ["set_springs"]

_LEAST = 1e-15
"""The least divisor, as in MuJoCo."""


def set_springs(builder: ModelBuilder, tree: Tree, drives: Drives) -> None:
    """Set stiffness and damping of the joints that have a `springdamper`, as MuJoCo does.

    The joint then oscillates with this time constant t and damping ratio d, if it moves alone from the position of the
    file: the stiffness is m / (t d)^2 and the damping 2 m / t, with m = n / (sum of the diagonal entries of the inverse
    mass matrix that belong to the joint's n freedoms).
    """
    parts = {part.name: part for body in tree.bodies for part in body.joints}
    given = {name: vector(part.element, "springdamper", 2, f"joint {name!r}", ()) for name, part in parts.items()}
    given = {name: pair for name, pair in given.items() if pair and min(pair) > 0.0}
    if not given:
        return
    weights = _weights(builder.build(), parts)
    for name, (t, d) in given.items():
        m = len(weights[name]) / max(_LEAST, float(weights[name].sum()))
        damping = 2.0 * m / max(_LEAST, t) + drives.get(name, {}).get("damping", 0.0)
        builder.set_terms(name, stiffness=m / max(_LEAST, (t * d) ** 2), damping=damping)


def _weights(model: Model, parts: Mapping[str, Part]) -> dict[str, np.ndarray]:
    """Return the diagonal of the inverse mass matrix in the position of the file, by joint."""
    from ...kernel import Kernel  # only these few files need it

    q = model.neutral()
    for c in model.joints:
        if c.type.nq == 1 and c.name in parts:
            q[c.q] = reference(parts[c.name], f"joint {c.name!r}")
        elif c.type.nq == 7:
            q[c.q] = c.rest
    inverse = np.linalg.inv(Kernel(model, "mass_matrix", way="interpreted")(q)).diagonal()
    return {c.name: inverse[c.v] for c in model.joints}
