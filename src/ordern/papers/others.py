"""The papers' robots in Pinocchio, put together from the papers' numbers, and free falls of them by SciPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..robots.planar_3r import LENGTHS, MASSES
from ..robots.stanford_arm import TABLE

__all__ = ["fall", "planar", "stanford", "yamane"]

Array = NDArray[np.float64]


def planar() -> Any:
    """The planar arm of Saha's section 6.1."""
    pin: Any = import_module("pinocchio")

    model, parent = pin.Model(), 0
    at = pin.SE3.Identity()
    for k, (l, m) in enumerate(zip(LENGTHS, MASSES, strict=True), 1):
        parent = model.addJoint(parent, pin.JointModelRZ(), at, f"joint{k}")
        thick, long = m * 0.01**2 / 12.0, m * l**2 / 12.0
        inertia = pin.Inertia(m, np.array([l / 2.0, 0.0, 0.0]), np.diag([thick, long, long]))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
        at = pin.SE3(np.eye(3), np.array([l, 0.0, 0.0]))
    model.gravity.linear = np.array([0.0, -9.81, 0.0])
    return model


def stanford() -> Any:
    """The Stanford arm of Saha's Table 3: joints about or along Z_i, links' frames i + 1 beyond them."""
    pin: Any = import_module("pinocchio")

    model, parent = pin.Model(), 0
    before = pin.SE3.Identity()
    rows: tuple[dict[str, Any], ...] = TABLE
    for k, row in enumerate(rows, 1):
        kind = pin.JointModelRZ() if row["type"] == "R" else pin.JointModelPZ()
        parent = model.addJoint(parent, kind, before, f"joint{k}")
        b = row["b"] if row["type"] == "R" else 0.0
        alpha = math.radians(row["alpha"])
        before = pin.SE3(pin.utils.rotate("x", alpha), np.array([row["a"], 0.0, b]))
        inertia = pin.Inertia(float(row["mass"]), -np.array(row["r"], dtype=float), np.diag(row["inertia"]))
        model.appendBodyToJoint(parent, inertia, before)
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    return model


def yamane(branched: bool) -> Any:
    """The chains with 30 freedoms: uniform round rods of 0.2 m, 20 mm and 1 kg on spherical joints."""
    pin: Any = import_module("pinocchio")

    model = pin.Model()
    l, m, r = 0.2, 1.0, 0.02
    across = m * (3.0 * r**2 + l**2) / 12.0
    inertia = pin.Inertia(m, np.array([0.0, 0.0, -l / 2.0]), np.diag([across, across, m * r**2 / 2.0]))

    def hang(parent: int, at: Sequence[float]) -> int:
        place = pin.SE3(np.eye(3), np.array(at, dtype=float))
        joint: int = model.addJoint(parent, pin.JointModelSpherical(), place, f"joint{model.njoints}")
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        return joint

    last = hang(0, (0.0, 0.0, 0.0))
    if not branched:
        for _ in range(9):
            last = hang(last, (0.0, 0.0, -l))
        return model
    for k in range(3):
        angle = 2.0 * math.pi * k / 3.0
        link = hang(last, (0.05 * math.cos(angle), 0.05 * math.sin(angle), -l))
        for _ in range(2):
            link = hang(link, (0.0, 0.0, -l))
    return model


def fall(model: Any, q0: Array, times: Sequence[float], tolerance: float = 1e-12) -> tuple[Array, Array]:
    """Positions and velocities at the times, let go at rest: SciPy's DOP853 around Pinocchio's accelerations.

    Positions are Pinocchio's: the real part of a quaternion comes last. Quaternions are integrated as four numbers.
    """
    pin: Any = import_module("pinocchio")
    from scipy.integrate import solve_ivp

    data, none, nq = model.createData(), np.zeros(model.nv), model.nq
    spherical = nq != model.nv

    def rate(_: float, y: Array) -> Array:
        q, v = y[:nq], y[nq:]
        if spherical:
            q = q.reshape(-1, 4) / np.linalg.norm(q.reshape(-1, 4), axis=1)[:, None]
        a = pin.aba(model, data, q.ravel(), v, none)
        return np.concatenate([_quaternion_rates(q, v) if spherical else v, a])

    y0 = np.concatenate([q0, none])
    found = solve_ivp(rate, (0.0, times[-1]), y0, "DOP853", t_eval=times, rtol=tolerance, atol=tolerance).y.T
    return found[:, :nq], found[:, nq:]


def _quaternion_rates(q: Array, v: Array) -> Array:
    """Half of q times (v, 0), for rows (x, y, z, w) and angular velocities in the bodies' axes."""
    w, u, s = v.reshape(-1, 3), q[:, :3], q[:, 3:]
    return np.concatenate([s * w + np.cross(u, w), -(u * w).sum(axis=1, keepdims=True)], axis=1).ravel() / 2.0
