"""Steps with contacts as kernels for GPUs: the text gives the ordinary steps, and NVIDIA's assembler takes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.compile.ptx import ptx_code, ptx_rollout, straight
from ordern.errors import CompileError
from ordern.simulate.integrators.native import contact_requests
from tests.compile.ptx_tools import assemble, rollout_here, run_here
from tests.contact.overlaps import Solid
from tests.contact.robots import block, floating, hopper
from tests.contact.test_boxes import BAR, BOX, CUBE, random_positions
from tests.contact.test_steps import H, arguments
from tests.tolerances import INVERSION, ROUNDING, SINGLE, assert_close

COUNT, STEPS = 40, 6
FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


def walker(sweeps: int = 4, limits: bool = True) -> on.Robot:
    ground = on.Ground(0.5, restitution=0.2)
    return hopper().with_contacts(ground, points={"foot": 0.02}, sweeps=sweeps, limits=limits)


@pytest.mark.parametrize(("dtype", "sweeps"), [("float64", 4), ("float32", 4), ("float64", 2)])
def test_a_step_is_the_ordinary_one(dtype: str, sweeps: int) -> None:
    """Two sweeps are straight-line code, four a loop."""
    robot = walker(sweeps)
    kernel = robot.kernel("contact_step")
    given = [np.asarray(x, dtype) for x in arguments(robot, COUNT)]
    rows = [x if len(x.shape) > 1 else x.reshape(1, -1) for x in given]
    found, _ = run_here(kernel.request, dtype, rows)
    assert_close(found, kernel(*given), SINGLE if dtype == "float32" else ROUNDING)


def _same_rollout(
    robot: on.Robot, q: Any, v: Any, dtype: str, settings: dict[str, Any], arrays: dict[str, Any]
) -> None:
    """Compare the kernel of a rollout, with more arguments by name, with the rollout with the same settings.

    Both solve for the same impulses, but not always with the same rows: stops may be left out where they do nothing.
    """
    contacts, nv = robot.contacts, robot.nv
    assert contacts is not None
    expected = robot.rollout(q.astype(dtype), v.astype(dtype), steps=STEPS, dt=H, every=2, **settings)
    assert expected.contacts is not None
    surface = [[c.friction, c.restitution, 0.0] for c in contacts.pairs]
    own = {
        **{"q0": q, "v0": v, "tau": np.zeros((1, 1, nv)), "numbers": np.r_[H, 0.01, 0.0, 0.0, 1.0, np.zeros(3 * nv)]},
        "pushes0": np.zeros((len(q), expected.contacts.pushes.shape[-1])),
        "surfaces": np.reshape(surface, (1, -1)),
        "limits": np.concatenate([robot.lower, robot.upper]),
    }
    given = {name: np.ascontiguousarray(x, dtype) for name, x in (own | arrays).items()}
    found = rollout_here(robot, "semi-implicit-euler", given, STEPS, 2)
    known = expected.q, expected.v, expected.contacts.pushes, expected.contacts.certificates
    assert (expected.contact_impulses != 0.0).any()
    for x, y in zip(found, known, strict=True):
        assert_close(x, y, 10 * SINGLE if dtype == "float32" else INVERSION)


@pytest.mark.parametrize(("dtype", "limits"), [("float64", True), ("float64", False), ("float32", True)])
def test_rollouts_are_the_ordinary_ones(dtype: str, limits: bool) -> None:
    """Friction, heights, impulses at the start and feedback are those of each trajectory."""
    robot, rng = walker(12, limits), np.random.default_rng(1)
    q, v = (np.asarray(x, dtype) for x in arguments(robot, COUNT)[:2])
    kp, kd = (np.r_[np.zeros(6), x, x] for x in (50.0, 1.0))
    mu, height = rng.uniform(0.2, 1.0, (COUNT, 1)), 0.01 * rng.standard_normal((COUNT, 1))
    impulses = 0.01 * rng.uniform(size=(COUNT, 1, 3))
    tau = rng.standard_normal((COUNT, STEPS, 8)).astype(dtype)
    settings = {"contact_friction": mu, "ground_height": height, "contact_impulses": impulses, "tau": tau}
    pushes = np.concatenate([impulses[:, 0], np.zeros((COUNT, 8 if limits else 0))], axis=1)
    arrays = {
        "surfaces": np.concatenate([mu, np.full_like(mu, 0.2), height], axis=1),
        "numbers": np.r_[H, 0.01, 0.0, 0.0, 1.0, kp, kd + H * kp],
        **{"pushes0": pushes, "tau": tau, "goal": q[:1, None]},
    }
    _same_rollout(robot, q, v, dtype, {**settings, "feedback": (kp, kd, q[0])}, arrays)


@pytest.mark.slow
def test_flat_feet() -> None:
    """A box on its corners: one plate, whose steps of Newton's method are part of the loop."""
    robot, rng = block().with_contacts(on.Ground(0.5)), np.random.default_rng(0)
    q = robot.integrate(np.array([1, 0, 0, 0, 0, 0, 0.05]), 0.02 * rng.standard_normal((COUNT, 6)))
    _same_rollout(robot, q, rng.standard_normal((COUNT, 6)), "float64", {}, {})


@pytest.mark.slow
def test_limits_and_dry_friction_of_joints() -> None:
    plain, rng = hopper(), np.random.default_rng(0)
    joints = tuple(replace(c, friction=(0.4,)) if c.type.nv == 1 else c for c in plain.joints)
    robot = on.Robot.of(replace(plain, joints=joints)).with_contacts(on.Ground(0.5), points={"foot": 0.02}, sweeps=40)
    q = np.tile([1, 0, 0, 0, 0, 0, 0.4, 0.2, -0.3], (COUNT, 1))
    q[::3, 7:] = 1.499, -1.499
    _same_rollout(robot, q, rng.standard_normal((COUNT, 8)), "float64", {}, {})


@pytest.mark.slow
@pytest.mark.parametrize("upper", [CUBE, BAR], ids=["box", "capsule"])
def test_boxes_that_meet(upper: Solid) -> None:
    robot = floating([BOX, upper]).with_contacts(pairs=[("0", "1")], sweeps=4)
    q = random_positions(COUNT, 0.15)
    _same_rollout(robot, q, np.random.default_rng(0).standard_normal((COUNT, 12)), "float64", {}, {})


def test_steps_that_are_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(straight, "_LONGEST", 1000)
    robot = walker()
    with pytest.raises(CompileError, match=r"a step of 'hopper' with contacts has .* operations"):
        ptx_code(robot.kernel("contact_step").request, "float64")
    with pytest.raises(CompileError, match="leave out contacts, or compute on the processor"):
        ptx_rollout(robot, contact_requests(robot, False, False), lambda m, q, v: (q, v), "float64")


@pytest.mark.slow
@pytest.mark.needs("nvidia.cuda_nvcc")
@pytest.mark.parametrize(("dtype", "spilled", "size"), [("float32", 2200, 167_000), ("float64", 7500, 240_000)])
def test_registers_of_a_walking_robot(tmp_path: Path, dtype: str, spilled: int, size: int) -> None:
    robot = on.load("quadruped").with_contacts(on.Ground(0.8), points=FEET, sweeps=5)
    step = ptx_code(robot.kernel("contact_step").request, dtype)
    loop = ptx_rollout(robot, contact_requests(robot, False, False), lambda m, q, v: (q, v), dtype)
    for code in (step, loop):
        found = assemble(code.text, tmp_path)
        assert found.registers <= 255 and found.spilled <= spilled and found.size <= size, found
    ten = on.load("quadruped").with_contacts(on.Ground(0.8), points=FEET, sweeps=10)
    longer = ptx_code(ten.kernel("contact_step").request, dtype)
    assert abs(len(longer.text) - len(step.text)) < 100 and longer.operations > step.operations


def test_steps_on_height_fields_with_moments() -> None:
    rng = np.random.default_rng(4)
    field = on.Ground(0.5, heights=0.02 * rng.random((5, 4)), size=(2.0, 2.0), torsional=0.01, rolling=0.01)
    robot = hopper().with_contacts(field, points={"foot": 0.02}, sweeps=4)
    given = [np.asarray(x) for x in arguments(robot, COUNT)]
    given[7] = np.concatenate([given[7], np.zeros((COUNT, 1, 3))], axis=1)  # moments
    found, _ = run_here(
        robot.kernel("contact_step").request, "float64", [x if x.ndim > 1 else x.reshape(1, -1) for x in given]
    )
    expected = robot.kernel("contact_step")(*given)
    assert (expected[:, 20:23] != 0.0).any()
    assert_close(found, expected, INVERSION)
    long = hopper().with_contacts(on.Ground(heights=np.zeros((40, 40)), size=(1, 1)), points=["foot"])
    with pytest.raises(CompileError, match=r"a table of 1,600 numbers, such as a height field, is too long"):
        ptx_code(long.kernel("contact_step").request, "float64")
