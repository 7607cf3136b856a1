"""Arguments and results of algorithms: the kinds that exist, and their array shapes for a model.

| kind | shape | what |
|---|---|---|
| q | (nq,) | positions |
| v | (nv,) | velocities, accelerations, joint forces |
| bodies | (n, 6) | a force (moment, force) on each body, in its own frame |
| scalar | () | one number |
| symmetric | (nv, nv) | a symmetric matrix between freedoms |
| columns | (6, nv) | a motion for each freedom |
| motion | (6,) | a motion (angular, linear) |
| pose | (4, 4) | a homogeneous matrix |
"""

from __future__ import annotations

import math
from typing import Any

from ..graph import Scalar
from ..spatial import Motion, Pose
from .model import Model

__all__ = ["core_shape", "core_size", "result_scalars"]


def core_shape(model: Model, kind: str) -> tuple[int, ...]:
    """The array shape of a port, without batch dimensions."""
    shapes: dict[str, tuple[int, ...]] = {
        "q": (model.nq,),
        "v": (model.nv,),
        "bodies": (len(model.bodies), 6),
        "scalar": (),
        "symmetric": (model.nv, model.nv),
        "columns": (6, model.nv),
        "motion": (6,),
        "pose": (4, 4),
    }
    return shapes[kind]


def core_size(model: Model, kind: str) -> int:
    """The number of scalars of a port."""
    return math.prod(core_shape(model, kind))


def result_scalars(value: Any) -> list[Scalar]:
    """The scalars of what an algorithm returned, in the order of its array."""
    if isinstance(value, Motion):
        return list(value.scalars)
    if isinstance(value, Pose):
        R, p = value.rotation, value.position
        return [*R[0], p[0], *R[1], p[1], *R[2], p[2], 0.0, 0.0, 0.0, 1.0]
    if hasattr(value, "scalars"):
        return list(value.scalars)
    return [value]
