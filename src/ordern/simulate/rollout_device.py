"""Rollouts on a GPU: the loop that `rollout` runs there in the place of machine code of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..compile.timeloops.code import varied_forms
from ..errors import ArgumentError
from ..gpu.device import Device, find_device
from ..gpu.rollout import DeviceLoop
from ..kernel.bound import bound
from .integrators.native import loop_kind, step_requests
from .integrators.rk_step import fixed_step
from .integrators.tableaus import tableau

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["device_loop", "device_parameters"]


def device_loop(
    robot: Robot, method: str, dynamics: str | None, dtype: np.dtype[Any], given: frozenset[str], device: str | Device
) -> DeviceLoop:
    """Return the loop of a robot on a device; `given` has the names of the arguments over time. It is made once."""
    found = find_device(device)
    feedback, external = "goal" in given, "external" in given

    def make() -> DeviceLoop:
        steps = tableau(method)
        requests = step_requests(robot, steps, dynamics, feedback, external)
        if not all(r.algorithm.sweeps or not r.algorithm.pieces for r in requests.values()):
            raise ArgumentError(f"rollout: the dynamics {dynamics!r} of {robot.name!r} are not one piece of code")
        kind = loop_kind("rollout", method)
        return DeviceLoop(robot, requests, lambda m, q, v: fixed_step(m, steps, q, v), kind, dtype, found)

    key = ("rollout on a device", found, method, dynamics, dtype.name, feedback, external)
    return robot._kernels.shared(key, make)


def device_parameters(
    robot: Robot, method: str, dynamics: str | None, dtype: np.dtype[Any], given: frozenset[str]
) -> AnyArray:
    """Return the numbers (*leading, n) of a varied robot as the loop reads them; without any for other robots."""
    numbers = bound(robot)
    if numbers is None:
        return np.zeros(0, dtype)
    requests = step_requests(robot, tableau(method), dynamics, "goal" in given, "external" in given)
    parts = [numbers.form(*form, None, dtype) for form, size in varied_forms(requests, ()).items() if size]
    return np.concatenate([*parts, np.zeros((*numbers.shape, 0), dtype)], axis=-1)
