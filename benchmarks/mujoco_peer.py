"""The same robot in MuJoCo: smooth dynamics by semi-implicit Euler, without contacts, limits and other constraints."""

from __future__ import annotations

from typing import Any

import ordern as on

try:
    import mujoco
except ImportError:
    mujoco = None

__all__ = ["mujoco", "mujoco_model"]


def mujoco_model(robot: on.Robot, dt: float) -> Any:
    """Return MuJoCo's model of a robot, from its MJCF text."""
    model = mujoco.MjModel.from_xml_string(robot.to_mjcf(lossy=True))
    model.opt.timestep = dt
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    off = mujoco.mjtDisableBit
    # dampers act at the velocity that a step begins with, as ours do
    for flag in (off.mjDSBL_CONTACT, off.mjDSBL_CONSTRAINT, off.mjDSBL_EULERDAMP):
        model.opt.disableflags |= int(flag)
    assert (model.nq, model.nv) == (robot.nq, robot.nv)
    return model
