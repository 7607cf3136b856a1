"""Arguments and results of algorithms: the kinds that exist, and their array shapes for a model.

| kind | shape | what |
|---|---|---|
| q | (nq,) | positions |
| v | (nv,) | velocities, accelerations |
| f | (nv,) | joint forces |
| bodies | (n, 6) | a force (moment, force) on each body, in its own frame |
| scalar | () | one number |
| symmetric | (nv, nv) | a symmetric matrix between freedoms |
| matrix | (nv, nv) | any matrix between freedoms |
| columns | (6, nv) | a motion for each freedom |
| spans | (nv, 6) | six numbers for each freedom |
| wrenches | (n, 6) | a force (moment, force) for each body, in its own frame |
| spatial | (6, 6) | a matrix between spatial vectors |
| motion | (6,) | a motion (angular, linear) |
| v_motion | (nv + 6,) | accelerations of the joints, then a motion (angular, linear) |
| pose | (4, 4) | a homogeneous matrix |
| rows | (nc,) | a number for each row of the loops' constraints |
| row_columns | (nc, nv) | for each row a number for each freedom |
| row_wrenches | (nc, 6) | for each row a force (moment, force) |
| loop_q | (sum of nq,) | positions of the joints that close loops |
| loop_v | (sum of nv,) | velocities of, or forces along, the joints that close loops |
| closed | (nv + nc + 1,) | accelerations, multipliers, and the smallest relative pivot, negative in open states |
"""

from __future__ import annotations

import math
from typing import Any

from ..errors import TraceError
from ..graph import Scalar
from ..spatial import Pose, leaves
from .model import Model

__all__ = ["WHOLE", "check_block", "core_shape", "core_size", "result_scalars"]


def core_shape(model: Model, kind: str) -> tuple[int, ...]:
    """The array shape of a port, without batch dimensions."""
    if kind in _LOOPS:
        return _loop_shape(model, kind)
    shapes: dict[str, tuple[int, ...]] = {
        "q": (model.nq,),
        "v": (model.nv,),
        "f": (model.nv,),
        "bodies": (len(model.bodies), 6),
        "scalar": (),
        "symmetric": (model.nv, model.nv),
        "matrix": (model.nv, model.nv),
        "columns": (6, model.nv),
        "spans": (model.nv, 6),
        "wrenches": (len(model.bodies), 6),
        "spatial": (6, 6),
        "motion": (6,),
        "v_motion": (model.nv + 6,),
        "pose": (4, 4),
    }
    return shapes[kind]


WHOLE = ("rows", "loop_q", "loop_v")
"""Kinds of arguments that belong to no body: they are read whole, at the base."""
_LOOPS = ("rows", "row_columns", "row_wrenches", "loop_q", "loop_v", "closed")


def _loop_shape(model: Model, kind: str) -> tuple[int, ...]:
    table = model.loop_table
    shapes: dict[str, tuple[int, ...]] = {
        "rows": (table.nc,),
        "row_columns": (table.nc, model.nv),
        "row_wrenches": (table.nc, 6),
        "loop_q": (table.nq,),
        "loop_v": (table.nv,),
        "closed": (model.nv + table.nc + 1,),
    }
    return shapes[kind]


def core_size(model: Model, kind: str) -> int:
    """The number of scalars of a port."""
    return math.prod(core_shape(model, kind))


def result_scalars(value: Any, size: int) -> list[Scalar]:
    """The scalars of what an algorithm returned, in the order of its array, which has this size."""
    if isinstance(value, Pose):
        R, p = value.rotation, value.position
        scalars = [*R[0], p[0], *R[1], p[1], *R[2], p[2], 0.0, 0.0, 0.0, 1.0]
    elif isinstance(value, tuple):
        scalars = [x for part in value for x in (part.scalars if hasattr(part, "scalars") else leaves(part))]
    else:
        scalars = list(value.scalars) if hasattr(value, "scalars") else [value]
    if len(scalars) != size or any(x is None for x in scalars):
        raise TraceError(f"an algorithm returned {value!r}, but its result has {size} numbers; is a `return` missing?")
    return scalars


def check_block(value: Any, *lengths: int) -> None:
    """Raise unless a piece of a result has these lengths: memory is laid out for no other."""
    if len(value) != lengths[0]:
        raise TraceError(f"a joint with {lengths[0]} coordinates was given {len(value)} numbers of the result")
    if len(lengths) > 1:
        for row in value:
            check_block(row, *lengths[1:])
