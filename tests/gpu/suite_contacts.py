"""Steps and rollouts with contacts on the GPU of this machine, compared with those of its processor: `./dev gpu`."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np

import ordern as on
from ordern import gpu

__all__ = ["contacts"]

FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
DT = 2e-3
LIMITS = {"float64": (1e-14, 1e-10), "float32": (1e-5, 1e-2)}
"""The largest error of a step at 99 % of the states, and at all, relative to the largest number. Where a contact is
about to stick or slip, the solver decides by the last digits, and its iterations end at another residual."""
FALLS = {"float64": 1e-9, "float32": 1e-3}
"""The largest difference of positions after some steps, in m and rad, at 99 % of the trajectories."""


def walker(sweeps: int = 10, limits: bool = False) -> tuple[on.Robot, Any]:
    """Return a quadruped with its feet on the ground, and its position."""
    robot = on.load("quadruped").with_contacts(on.Ground(0.8), points=FEET, sweeps=sweeps, limits=limits)
    return robot, np.array(on.robots.positions("quadruped")["stand"])


def hopper() -> tuple[on.Robot, Any]:
    """Return a leg with limits in its joints and a foot that bounces, and its position."""
    builder = on.Builder("hopper")
    builder.body("trunk", mass=5.0, inertia=(0.1, 0.1, 0.1))
    limits = {"lower": -0.35, "upper": 0.25, "damping": 0.5, "armature": 0.01}
    for k, name in enumerate(("thigh", "shin")):
        builder.body(name, mass=1.0 - 0.5 * k, com=(0.0, 0.0, -0.1), inertia=(0.01, 0.01, 0.002))
        at = (0.0, 0.0, -0.2 * k)
        builder.joint(f"joint {k}", on.Revolute((0.0, 1.0, 0.0)), ("trunk", "thigh")[k], name, at=at, **limits)
    builder.frame("foot", "shin", (0.0, 0.0, -0.2))
    ground = on.Ground(0.5, restitution=0.3)
    robot = builder.build(floating=True).with_contacts(ground, points={"foot": 0.02}, sweeps=50)
    return robot, np.array([1, 0, 0, 0, 0, 0, 0.41, 0.2, -0.3])


def block() -> tuple[on.Robot, Any]:
    """Return a box on its corners, which are one plate, and its position."""
    builder = on.Builder("block")
    builder.body("block", mass=2.0, inertia=(0.008, 0.008, 0.013))
    builder.shape("block", "box", (0.2, 0.2, 0.1), role="collision")
    return builder.build(floating=True).with_contacts(on.Ground(0.5)), np.array([1, 0, 0, 0, 0, 0, 0.05])


def _given(robot: on.Robot, q: Any, dtype: str, count: int) -> list[Any]:
    """Return the arguments of steps near a position, some in contact."""
    rng, nv, contacts = np.random.default_rng(5), robot.nv, robot.contacts
    assert contacts is not None
    q = robot.integrate(q, 0.03 * rng.standard_normal((count, nv)))
    v, tau = rng.standard_normal((2, count, nv))
    pairs = contacts.pairs
    surfaces = np.array([[c.friction, c.restitution, 0.0] for c in pairs]) * rng.uniform(0.5, 1.0, (count, 1, 1))
    impulses = np.abs(0.01 * rng.standard_normal((count, len(pairs), 3)))
    limits = np.zeros(nv), robot.lower, robot.upper
    given = [q, v, tau, np.full(count, DT), *limits, impulses, np.zeros((count, nv)), surfaces]
    return [np.asarray(x, dtype) for x in given]


def _steps(name: str, robot: on.Robot, q: Any, dtype: str) -> float:
    """Compare single steps; return the error at 99 % of the states."""
    kernel, given = robot.kernel("contact_step"), _given(robot, q, dtype, 515)
    there = kernel.on("cuda")
    found, expected = there(*given), kernel(*given)
    turned = there(*(x[::-1] if len(x) == 515 else x for x in given))[::-1]
    assert np.array_equal(turned, found), (name, dtype, "depends on the place in the batch")
    assert np.isfinite(found).all(), (name, dtype)
    errors = np.abs(found - expected).max(-1) / np.abs(expected).max()
    usual, most = np.percentile(errors, 99), errors.max()
    assert usual <= LIMITS[dtype][0] and most <= LIMITS[dtype][1], (name, dtype, usual, most)
    return float(usual)


def _falls(name: str, robot: on.Robot, q: Any, dtype: str) -> float:
    """Compare rollouts with friction and heights of their own; return the difference at 99 % of the trajectories."""
    rng = np.random.default_rng(1)
    starts = [x.astype(dtype) for x in _given(robot, q, "float64", 200)[:2]]
    settings: dict[str, Any] = {
        "steps": 30, "dt": DT, "every": 5, "contact_friction": rng.uniform(0.2, 1.0, (200, 1)),
        "ground_height": 0.01 * rng.standard_normal((200, 1)),
    }  # fmt: skip
    expected = robot.rollout(*starts, **settings)
    found = robot.rollout(*starts, **settings, device="cuda")
    apart = float(np.percentile(np.abs(found.q - expected.q).max((-2, -1)), 99))
    assert apart <= FALLS[dtype], (name, dtype, apart)
    assert (expected.contact_impulses != 0.0).any()
    push = np.abs(found.contact_impulses - expected.contact_impulses).max((-3, -2, -1))
    assert np.percentile(push, 90) <= 1e3 * FALLS[dtype], (name, dtype, np.percentile(push, 90))
    residual = [np.percentile(x.certificate.residual, 90) for x in (found, expected)]
    assert abs(residual[0] - residual[1]) <= LIMITS[dtype][0] + 0.5 * residual[1], (name, dtype, residual)
    last = found.contact_impulses[:, -1]
    further = [robot.rollout(found.q[:, -1], found.v[:, -1], steps=2, dt=DT, contact_impulses=last, device=x).q
               for x in ("cpu", "cuda")]  # fmt: skip
    assert np.percentile(np.abs(further[0] - further[1]).max((-2, -1)), 99) <= FALLS[dtype], (name, dtype)
    return apart


def _libraries(robot: on.Robot, q: Any) -> list[str]:
    """Compare arrays on the GPU: of `on.gpu`, PyTorch and CuPy."""
    q0, v0 = _given(robot, q, "float64", 100)[:2]
    expected, told = robot.rollout(q0, v0, steps=5, dt=DT), ["ordern.gpu"]
    there: Any = robot.rollout(gpu.array(q0), gpu.array(v0), steps=5, dt=DT)
    assert np.abs(there.q.numpy() - expected.q).max() < 1e-8
    assert np.abs(there.contact_impulses.numpy() - expected.contact_impulses).max() < 1e-6
    given = _given(robot, q, "float64", 100)
    step = robot.kernel("contact_step")
    if find_spec("torch"):
        import torch

        if torch.cuda.is_available():
            tensors = [torch.as_tensor(x, device="cuda") for x in given]
            answer = step.on("cuda")(*tensors)
            assert np.abs(answer.cpu().numpy() - step(*given)).max() < 1e-7
            some = robot.contact_step(*tensors[:3], DT, impulses=tensors[7])
            known = robot.contact_step(*given[:3], DT, impulses=given[7])
            assert some.q.is_cuda and np.abs(some.v.cpu().numpy() - known.v).max() < 1e-8
            told.append("torch")
    if find_spec("cupy"):
        import cupy

        there = robot.rollout(cupy.asarray(q0), cupy.asarray(v0), steps=5, dt=DT, contact_friction=0.5)
        low = robot.rollout(q0, v0, steps=5, dt=DT, contact_friction=0.5)
        assert np.abs(there.q.get() - low.q).max() < 1e-8
        again = robot.rollout(cupy.asarray(q0), cupy.asarray(v0), steps=5, dt=DT,
                              contact_impulses=there.contact_impulses[:, -1])  # fmt: skip
        assert cupy.isfinite(again.q).all()
        told.append("cupy")
    return told


def contacts() -> str:
    """Compare steps and rollouts with contacts, and measure 100 steps of 65,536 quadrupeds."""
    cases = {"quadruped": walker(), "hopper": hopper(), "block": block()}
    told = []
    for dtype in ("float64", "float32"):
        steps = max(_steps(name, *case, dtype) for name, case in cases.items())
        falls = max(_falls(name, *case, dtype) for name, case in cases.items())
        told.append(f"{dtype}: steps agree to {steps:.0e}, 30 steps to {falls:.0e}")
    robot, q = cases["quadruped"]
    masses = np.linspace(0.8, 1.2, 100)[:, None] * [body.mass for body in robot.bodies]
    many, (q0, v0) = robot.vary(mass=masses), _given(robot, q, "float64", 100)[:2]
    found, expected = (many.rollout(q0, v0, steps=10, dt=DT, device=x).q for x in ("cuda", "cpu"))
    assert np.percentile(np.abs(found - expected).max((-2, -1)), 99) <= FALLS["float64"]
    told.append("arrays of " + ", ".join(_libraries(robot, q)))
    quick, _ = walker(sweeps=5)
    for dtype in ("float32", "float64"):
        starts = [gpu.array(x.astype(dtype)) for x in _given(robot, q, "float64", 1 << 16)[:2]]
        quick.rollout(*starts, steps=100, dt=DT, every=100).q.numpy()  # type: ignore[arg-type, attr-defined]
        begun = time.perf_counter()
        quick.rollout(*starts, steps=100, dt=DT, every=100).q.numpy()  # type: ignore[arg-type, attr-defined]
        rate = 100 * (1 << 16) / (time.perf_counter() - begun)
        told.append(f"quadruped, 5 sweeps, {rate / 1e6:.0f} M steps/s {dtype}")
    return "; ".join(told)
