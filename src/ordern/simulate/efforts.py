"""The forces of feedback within the effort limits of joints: one rule for all steps and array libraries.

With `effort="clip"` the force of each joint, kp (target - q) - kd v, is within its effort limit. An effort limit of
zero, which many files write where they know none, is none. Other forces, such as `tau`, are as they are given.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array, choice

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["EFFORTS", "clipped", "effort_limits", "has_efforts"]

EFFORTS = ("clip", "ignore")
"""What becomes of forces of feedback beyond an effort limit."""


def effort_limits(robot: Robot, effort: str = "clip") -> Array:
    """Return the largest forces of feedback, (nv,); infinite where there is no limit."""
    choice("effort", effort, EFFORTS, "rollout")
    limits = [x if x > 0.0 else math.inf for c in robot.independent for x in c.effort_limit]
    return np.array(limits) if effort == "clip" else np.full(robot.nv, math.inf)


def has_efforts(robot: Robot) -> bool:
    """Return True if a joint has an effort limit, so that steps need them."""
    return any(0.0 < x < math.inf for c in robot.independent for x in c.effort_limit)


def clipped(force: Any, limits: Array) -> Any:
    """Return forces of feedback within their limits, for arrays of any library; `limits` is an array of NumPy."""
    if not np.isfinite(limits).any():
        return force
    most = force.new_tensor(limits) if hasattr(force, "new_tensor") else limits.astype(force.dtype)
    return force.clip(-most, most)
