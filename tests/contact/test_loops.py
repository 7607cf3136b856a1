"""Loops, couplings and mimic joints in steps with contacts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.robots import ROBOTS

Y = (0.0, 1.0, 0.0)


def gripper(mimic: bool) -> on.Robot:
    """Return a free palm with two fingers; the second follows the first, as a mimic joint or by a coupling."""
    builder = on.Builder("gripper")
    builder.body("palm", mass=1.0, inertia=(0.01,) * 3)
    for name, mass in (("left", 0.2), ("right", 0.3)):
        builder.body(name, mass=mass, inertia=(1e-3,) * 3, com=(0.01, 0.0, 0.02))
        builder.shape(name, "sphere", (0.02,), role="collision")
    along = on.Prismatic((1.0, 0.0, 0.0))
    builder.joint("a", along, "palm", "left", lower=-0.1, upper=0.1, damping=0.3, stiffness=20.0)
    follows = {"mimic": ("a", -1.5, 0.05)} if mimic else {}
    builder.joint("b", along, "palm", "right", damping=0.2, **follows)
    if not mimic:
        builder.couple("both", "b", "a", (0.05, -1.5))
    return builder.build(floating=True).with_contacts(on.Ground(0.5), sweeps=30)


def bars(closure: on.Joint) -> tuple[on.Robot, np.ndarray]:
    """Return a four-bar in a plane that slides in it, with feet at two corners, and a closed position."""
    builder = on.Builder("bars")
    length = (0.4, 0.3, 0.4, 0.3)
    builder.body("world")
    builder.body("slide", mass=0.1)
    for k in range(4):
        builder.body(f"bar {k}", mass=1.0 + 0.2 * k, com=(0.5 * length[k], 0.0, 0.0), inertia=(0.002, 0.015, 0.015))
    builder.joint("x", on.Prismatic((1.0, 0.0, 0.0)), "world", "slide")
    builder.joint("z", on.Prismatic((0.0, 0.0, 1.0)), "slide", "bar 0")
    for k in range(3):
        hinge = {"at": (length[k], 0.0, 0.0), "damping": 0.02, "lower": -3.0, "upper": 0.0}
        builder.joint(f"hinge {k}", on.Revolute(Y), f"bar {k}", f"bar {k + 1}", **hinge)
    builder.loop("last", closure, "bar 3", "bar 0", at=(0.3, 0.0, 0.0))
    builder.frame("left", "bar 0")
    builder.frame("right", "bar 1", (0.3, 0.0, 0.0))
    robot = builder.build()
    q = np.array([0.0, 0.1, *(-0.5 * np.pi + np.array([0.3, -0.3, 0.3]))])
    return robot, robot.assemble(q, keep=("x", "z", "hinge 0")).q


@pytest.mark.parametrize("feedback", [False, True])
def test_a_mimic_joint_moves_like_a_coupling(feedback: bool) -> None:
    runs = []
    for mimic in (True, False):
        robot = gripper(mimic)
        q, v = robot.neutral(), np.zeros(robot.nv)
        q[6], v[0], v[6] = 0.3, 0.3, 0.2
        kp, kd = np.zeros((2, robot.nv))
        kp[6], kd[6] = 50.0, 2.0
        if not mimic:
            q[8], v[7] = 0.05, -0.3
        given = {"feedback": (kp, kd, q)} if feedback else {}
        runs.append(robot.rollout(q, v, steps=400, dt=1e-3, **given))
    np.testing.assert_allclose(runs[0].q, runs[1].q[:, :8], atol=1e-12)
    np.testing.assert_allclose(runs[0].contact_impulses, runs[1].contact_impulses, atol=1e-11)
    np.testing.assert_allclose(runs[1].q[:, 8], 0.05 - 1.5 * runs[1].q[:, 7], atol=1e-14)
    assert (runs[0].contact_impulses[..., 2] > 0.0).any()


def test_impulses_of_a_step_are_those_of_contacts_and_loops() -> None:
    """(M + h d) (v' - v) - h (tau - bias - d v) - J^T p is a combination of rows of K: dense, by other functions."""
    robot, q = bars(on.Spherical())
    walker = robot.with_contacts(on.Ground(0.6), points=["left", "right"], sweeps=40)
    rng, h = np.random.default_rng(0), 1e-3
    q[1] = -min(robot.pose(q, name)[2, 3] - q[1] for name in ("left", "right")) + 1e-5
    v = robot.project_velocity(q, rng.standard_normal(robot.nv))
    v[1] = -0.5
    tau = rng.standard_normal(robot.nv)
    step = walker.contact_step(q, v, tau + robot.passive_force(q, v), h)
    assert step.residual < 1e-9 and (step.impulses[:, 2] > 0.0).any()
    M, K, d = robot.mass_matrix(q), robot.loop_jacobian(q), np.array([0.0, 0.0, 0.02, 0.02, 0.02])
    J = robot.jacobians(q, ["left", "right"], "world")[:, 3:]
    left = (M + h * np.diag(d)) @ (step.v - v) - h * (tau - robot.bias_force(q, v) - d * v)
    left -= np.einsum("kij,ki->j", J, step.impulses)
    multipliers, *_ = np.linalg.lstsq(K.T, left, rcond=None)
    np.testing.assert_allclose(K.T @ multipliers, left, atol=1e-12)
    assert np.abs(multipliers).max() > 1e-3


@pytest.mark.parametrize("closure", [on.Spherical(), on.Revolute(Y)], ids=["ball", "hinge"])
def test_a_frame_of_bars_folds_onto_the_ground(closure: on.Joint) -> None:
    """In the plane, one row of a ball is redundant, and three of a hinge."""
    robot, q = bars(closure)
    walker = robot.with_contacts(on.Ground(0.6), points=["left", "right"], sweeps=40)
    run = walker.rollout(q, np.zeros(robot.nv), steps=1500, dt=1e-3)
    assert np.abs(robot.loop_residual(run.q)).max() < 1e-10
    assert np.abs(robot.loop_rate(run.q, run.v)).max() < 1e-8
    assert run.uncertified.mean() < 0.01 and not run.uncertified[-100:].any()
    assert np.abs(run.v[-1]).max() < 1e-3
    weight = run.contact_impulses[-1, :, 2].sum() / 1e-3 / 9.81
    np.testing.assert_allclose(weight, robot.mass - 0.1, rtol=1e-6)  # the slide hangs on the world


def test_open_loops_and_rows_that_contradict_are_told() -> None:
    robot, q = bars(on.Spherical())
    walker = robot.with_contacts(on.Ground(), points=["left"])
    q[2] += 1e-3
    with pytest.raises(on.InconsistentStateError, match="the start has loop 'last' open by"):
        walker.rollout(q, np.zeros(robot.nv), steps=1, dt=1e-3)
    q[2] += 0.5
    assert walker.contact_step(q, np.zeros(robot.nv)).penetration > 1e-3
    with pytest.raises(on.ArgumentError, match="contact_forces: 'bars' has loops"):
        walker.contact_forces(q)


def test_loops_with_mimic_joints_are_refused() -> None:
    builder = gripper(True).builder()
    builder.couple("more", "a", None, (0.1,))
    with pytest.raises(on.ArgumentError, match="'gripper' has loops or couplings, and joint 'b' follows another"):
        builder.build().with_contacts(on.Ground())


# Cassie -------------------------------------------------------------------------------------------------------------

FEET = tuple(f"{side}-{end}" for side in ("left", "right") for end in ("heel", "toe"))
MOTORS = ("roll-op", "yaw-op", "pitch-op", "knee-op", "foot-op")
SPRINGS = ("knee-shin-joint", "tarsus-spring-joint")


def cassie(folder: Path) -> tuple[on.Robot, np.ndarray]:
    """Return Cassie with points at the ends of its feet, and a position with bent knees and its mass above them.

    In the file, the rods end in hinges, which their loops strain as soon as the knees bend; here they end in balls.
    """
    text = (ROBOTS / "cassie_description/robots/cassie_v2.sdf").read_text()
    file = folder / "cassie.sdf"
    file.write_text(re.sub(r'(achilles-spring-joint" type=)"revolute"', r'\1"ball"', text))
    loaded = on.load(file, floating=True)
    builder = loaded.builder()
    for shape in loaded.shapes:
        owner = loaded.bodies[shape.body].name
        if shape.kind == "cylinder" and owner.endswith("foot"):
            axis, at = np.array(shape.placement.rotation[2::3]), np.array(shape.placement.position)
            for end, sign in (("heel", 0.09), ("toe", -0.09)):
                builder.frame(f"{owner[:-5]}-{end}", owner, tuple(at + sign * axis))
    robot = builder.build()
    q = robot.neutral()
    angles = {"pitch-op": 0.56231564, "knee-op": -0.6, "foot-op": -1.66487714, "shin-tarsus-joint": 0.6}
    for name, angle in angles.items():
        for side in ("left", "right"):
            q[robot.joint(f"{side}-{name}").q] = angle
    keep = [f"{side}-{name}" for side in ("left", "right") for name in (*MOTORS, *SPRINGS)]
    q = robot.assemble(q, keep=("root_joint", *keep), tolerance=1e-7).q
    q[6] -= min(robot.pose(q, foot)[2, 3] for foot in FEET) - 0.0168 - 0.03
    return robot, q


@pytest.mark.slow
@pytest.mark.needs("example_robot_data")
@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
def test_cassie_drops_onto_its_feet_and_stands(tmp_path: Path) -> None:
    robot, q = cassie(tmp_path)
    walker = robot.with_contacts(on.Ground(0.8), points=dict.fromkeys(FEET, 0.0168), sweeps=20, limits=False)
    at = {name: robot.joint(name).v for name in (f"{s}-{m}" for s in ("left", "right") for m in MOTORS)}
    kp, kd = np.zeros((2, robot.nv))
    for name, v in at.items():
        kp[v], kd[v] = (0.0, 2.0) if name.endswith("foot-op") else (1500.0, 30.0)

    def balance(q: Any, v: Any) -> Any:
        """Push with the feet where the mass is ahead of them, and with one knee where it is beside."""
        off = robot.com(q) - robot.poses(q, list(FEET))[..., :3, 3].mean(axis=-2)
        rate, tau = robot.com_velocity(q, v), np.zeros_like(v)
        ahead, beside = np.clip(500.0 * off[..., 0] + 120.0 * rate[..., 0], -14.0, 14.0), off[..., 1] + rate[..., 1] / 6
        for side, sign in (("left", 1.0), ("right", -1.0)):
            tau[..., at[f"{side}-foot-op"]] = -ahead[..., None]
            tau[..., at[f"{side}-knee-op"]] = sign * 1200.0 * beside[..., None]
        return tau

    run = walker.rollout(q, np.zeros(robot.nv), steps=8000, dt=5e-4, feedback=(kp, kd, q), policy=balance, hold=4)
    assert np.abs(robot.loop_residual(run.q)).max() < 5e-8  # of the file's digits: the redundant row of a flat four-bar
    assert np.abs(robot.loop_residual(run.q))[:, :6].max() < 1e-10
    assert np.percentile(run.certificate.residual, 99) <= 1e-7 and run.uncertified.mean() < 2e-3  # by Newton's method
    assert run.certificate.penetration.max() < 1e-4
    assert run.q[-1, 6] > 0.88 and np.abs(run.v[-1]).max() < 0.2
    np.testing.assert_allclose(run.contact_impulses[-1, :, 2].sum() / 5e-4 / 9.81, robot.mass, rtol=0.02)
