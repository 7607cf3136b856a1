"""The papers' robots in Pinocchio, put together from the papers' numbers, and free falls of them by SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ..arguments import Array
from ..robots.planar_3r import LENGTHS, MASSES
from ..robots.stanford_arm import TABLE

__all__ = ["apart", "fall", "motion", "planar", "stanford", "torques", "yamane"]


def planar() -> Any:
    """Return the planar arm of Saha's section 6.1."""
    pin = _pinocchio()
    model, parent, at = pin.Model(), 0, np.zeros(3)
    for l, m in zip(LENGTHS, MASSES, strict=True):
        thick, long = m * 0.01**2 / 12.0, m * l**2 / 12.0
        inertia = pin.Inertia(m, np.array([l / 2.0, 0.0, 0.0]), np.diag([thick, long, long]))
        parent = _carried(model, parent, pin.JointModelRZ(), pin.SE3(np.eye(3), at), inertia)
        at = np.array([l, 0.0, 0.0])
    model.gravity.linear = np.array([0.0, -9.81, 0.0])
    return model


def stanford() -> Any:
    """Return the Stanford arm of Saha's Table 3: joints about or along Z_i, links' frames i + 1 beyond them."""
    pin = _pinocchio()
    model, parent, before = pin.Model(), 0, pin.SE3.Identity()
    rows: tuple[dict[str, Any], ...] = TABLE
    for row in rows:
        turns = row["type"] == "R"
        beyond = pin.SE3(
            pin.utils.rotate("x", math.radians(row["alpha"])), np.array([row["a"], 0.0, row["b"] if turns else 0.0])
        )
        inertia = pin.Inertia(float(row["mass"]), -np.array(row["r"], dtype=float), np.diag(row["inertia"]))
        joint = pin.JointModelRZ() if turns else pin.JointModelPZ()
        parent, before = _carried(model, parent, joint, before, inertia, beyond), beyond
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    return model


def yamane(branched: bool) -> Any:
    """Return a chain with 30 freedoms: uniform round rods of 0.2 m, 20 mm and 1 kg on spherical joints."""
    pin = _pinocchio()
    model = pin.Model()
    l, m, r = 0.2, 1.0, 0.02
    across = m * (3.0 * r**2 + l**2) / 12.0
    inertia = pin.Inertia(m, np.array([0.0, 0.0, -l / 2.0]), np.diag([across, across, m * r**2 / 2.0]))

    def hang(parent: int, x: float = 0.0, y: float = 0.0, z: float = -l) -> int:
        place = pin.SE3(np.eye(3), np.array([x, y, z]))
        return _carried(model, parent, pin.JointModelSpherical(), place, inertia)

    first = hang(0, z=0.0)
    angles = [2.0 * math.pi * k / 3.0 for k in range(3)]
    starts = [(0.05 * math.cos(angle), 0.05 * math.sin(angle)) for angle in angles] if branched else [(0.0, 0.0)]
    for x, y in starts:
        link = hang(first, x, y)
        for _ in range(2 if branched else 8):
            link = hang(link)
    return model


def _pinocchio() -> Any:
    return import_module("pinocchio")


def _carried(model: Any, parent: int, joint: Any, place: Any, inertia: Any, at: Any = None) -> int:
    """Add a joint, and a body placed `at` behind it; return the index of the joint."""
    added: int = model.addJoint(parent, joint, place, f"joint{model.njoints}")
    model.appendBodyToJoint(added, inertia, at or _pinocchio().SE3.Identity())
    return added


def apart(ours: Array, theirs: Callable[..., Array], *arguments: Any) -> str:
    """Return the largest difference from what a function returns; "not installed" if it needs a missing package."""
    try:
        return f"{np.abs(ours - theirs(*arguments)).max():.1e}"
    except ImportError:
        return "not installed"


def torques(robot: Callable[[], Any], q: Array, v: Array, a: Array) -> Array:
    """Return the joint forces of motions (N, n) by Pinocchio, for `planar` or `stanford`."""
    model, pin = robot(), _pinocchio()
    data = model.createData()
    return np.array([pin.rnea(model, data, *x) for x in zip(q, v, a, strict=True)])


def fall(robot: Callable[[], Any], q0: Array, times: Sequence[float]) -> Array:
    """Return positions (N, nq) at the times, after a release at rest."""
    return motion(robot(), q0, times)[0]


def motion(model: Any, q0: Array, times: Sequence[float], tolerance: float = 1e-12) -> tuple[Array, Array]:
    """Return positions and velocities after a release at rest, by SciPy's DOP853 around Pinocchio's accelerations.

    Positions are Pinocchio's: the real part of a quaternion comes last. Quaternions are integrated as four numbers.
    """
    from scipy.integrate import solve_ivp

    pin, data, none, nq = _pinocchio(), model.createData(), np.zeros(model.nv), model.nq
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
    """Return half of q times (v, 0), for rows (x, y, z, w) and angular velocities in the bodies' axes."""
    w, u, s = v.reshape(-1, 3), q[:, :3], q[:, 3:]
    return np.concatenate([s * w + np.cross(u, w), -(u * w).sum(axis=1, keepdims=True)], axis=1).ravel() / 2.0
