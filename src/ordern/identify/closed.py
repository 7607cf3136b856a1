"""Regressors of mechanisms with loops, in the space of the motions that loops allow.

Forces of the drives and of the loops together are those of the tree, and loops do no work along allowed motions N:

    B u + K^T lambda = Y theta,    K N = 0,    N^T B u = (N^T Y) theta

So u is linear in theta. With more drives than freedoms it is the u of least u^T W u, as in `actuation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.closed_loop.equations import flat
from ..algorithms.closed_loop.rank import TOLERANCE
from ..arguments import Array, choice, positive
from ..loops.consistent import Check, require_consistent, tolerance_of
from ..loops.inverse import drive_forces, drives, listed
from ..loops.kernels import asking, numbers, positive_weights
from ..loops.mobility import null_motions

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["actuation_regressor"]


def actuation_regressor(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    actuated: Sequence[str] | None = None,
    weights: ArrayLike | Mapping[str, float] | None = None,
    smoothing: ArrayLike = 0.01,
    t: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    check: Check = True,
) -> Array:
    """See `Robot.actuation_regressor`."""
    most = tolerance_of(check, q, v)
    positive(tolerance, "tolerance")
    q, v, a = numbers("q", q, robot.nq), numbers("v", v, robot.nv), numbers("a", a, robot.nv)
    if most is not None and robot.nc:
        require_consistent(robot, q, v, t, most, "actuation_regressor")
    ask: Any = asking(robot)
    Y = robot.inverse_dynamics_regressor(q, v, a, smoothing=smoothing)
    batch = Y.shape[:-2]
    n = int(np.prod(batch))
    Y, q = flat(Y, batch, n, 2), flat(q, batch, n)
    time = None if t is None else flat(np.asarray(t, float), batch, n, 0)
    K = ask("loop_jacobian", q, t=time) if robot.nc else np.zeros((n, 0, robot.nv))
    names = robot.actuated if actuated is None else listed(actuated)
    B, parts, labels = drives(robot, q, names)
    which = "one for each actuated freedom"
    W = positive_weights(weights, len(labels), lambda name: parts[choice("actuated joint", name, parts)], which)
    _, motions = null_motions(K, tolerance)
    found = np.empty((n, len(labels), Y.shape[-1]))
    for i in range(n):
        found[i], _ = drive_forces(robot, motions[i], B[i], Y[i], W, tolerance, names)
    return found.reshape(*batch, *found.shape[1:])
