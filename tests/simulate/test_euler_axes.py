"""Semi-implicit Euler with joints whose velocities are along axes that turn: linear velocities keep to fixed axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import ordern as on
from ordern.compile import program
from ordern.graph import cos, sin
from ordern.simulate.integrators.native import FixedLoop
from ordern.simulate.integrators.tableaus import TABLEAUS
from ordern.spatial import About, Freedoms, Subspace, Transform, Units
from tests.random_models import random_robot, random_state
from tests.robots import ROBOTS
from tests.tolerances import EXACT, ORDER, ROUNDING, assert_close

Array = NDArray[np.float64]
BOX = np.diag([0.02, 0.05, 0.04])
H = 4e-3
EXPLICIT = {"dynamics": "articulated-body"}
"""Makes rollouts take the plain step, without implicit gyroscopic torques: as in `simulate` and MuJoCo's Euler."""


def thrown(com: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> on.Robot:
    """A body that floats where there is no gravity."""
    builder = on.Builder("thrown", gravity=(0.0, 0.0, 0.0)).body("world")
    return builder.body("body", parent="world", joint=on.Free(), mass=2.0, com=com, inertia=BOX).build()


TUMBLING = np.array([1.2, 1.2, 1.1, 1.0, 0.5, -0.3])
"""It turns at 2 rad/s."""


def turned(q: Array) -> Rotation:
    """The rotation of a free joint."""
    return Rotation.from_quat(np.roll(q[..., :4], -1, axis=-1))


@pytest.mark.slow
def test_a_tumbling_body_keeps_its_momentum() -> None:
    """Ten seconds of 4 ms: its velocity along fixed axes stays, and it flies a straight line."""
    body = thrown()
    found = body.rollout(body.neutral(), TUMBLING, steps=2500, dt=H, **EXPLICIT)
    assert_close(turned(found.q).apply(found.v[:, 3:]), np.tile(TUMBLING[3:], (2501, 1)), 1000 * EXACT)
    assert_close(found.q[:, 4:], found.t[:, None] * TUMBLING[3:], 1000 * EXACT)
    for force in (None, lambda t, q, v: np.zeros(6)):  # machine code, and steps from Python
        result = body.simulate(
            body.neutral(), TUMBLING, force, until=1.0, method="semi-implicit-euler", step=H, dense=False
        )
        assert result.report.native is (force is None)
        assert_close(result.q, found.q[:251], 100 * EXACT)
        assert_close(result.v, found.v[:251], 100 * EXACT)


def to_mujoco(q: Array, v: Array) -> tuple[Array, Array]:
    """Of a robot on a free joint: the position comes first there, and linear velocities are along the world's axes."""
    return (
        np.concatenate([q[4:7], q[:4], q[7:]]),
        np.concatenate([turned(q).apply(v[3:6]), v[:3], v[6:]]),
    )


QUADRUPED = ROBOTS / "solo_description/robots/solo12.urdf"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quadruped", "random"])
def test_a_step_is_mujocos(name: str) -> None:
    """In motion, under forces, for several states and steps of several lengths."""
    if name == "random":
        robot = random_robot(8, n=8, joints=(on.Revolute, on.Prismatic, on.Spherical), floating=True)
    else:
        robot = on.load(QUADRUPED, floating=True)
    model = mujoco.MjModel.from_xml_string(robot.to_mjcf())
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT) | int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    data = mujoco.MjData(model)
    q, v, tau = random_state(robot, 2, (5,))
    for h in (1e-3, 4e-3, 0.02):
        model.opt.timestep = h
        found = robot.rollout(q, v, tau, steps=1, dt=h, **EXPLICIT)
        for k in range(5):
            mujoco.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = to_mujoco(q[k], v[k])
            turn = turned(q[k])
            data.qfrc_applied[:] = np.concatenate([turn.apply(tau[k, 3:6]), tau[k, :3], tau[k, 6:]])
            mujoco.mj_step(model, data)
            wanted_q, wanted_v = to_mujoco(found.q[k, 1], found.v[k, 1])
            if wanted_q[3:7] @ data.qpos[3:7] < 0.0:
                wanted_q[3:7] *= -1.0
            assert_close(wanted_q, data.qpos, ROUNDING)
            assert_close(wanted_v, data.qvel, ROUNDING)


@dataclass(frozen=True)
class Sledge(on.Joint):
    """One's own joint: a plane, like `Planar`, whose turn comes last among its coordinates."""

    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3

    def transform(self, q: Freedoms) -> Transform:
        return Transform(About(2, cos(q[2]), sin(q[2])), (q[0], q[1], 0.0))

    def subspace(self, q: Freedoms) -> Subspace:
        return Units((3, 4, 2))

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        angle, x, y = on.Planar().integrate(Freedoms((q[2], q[0], q[1])), Freedoms((v[2], v[0], v[1])))
        return Freedoms((x, y, angle))

    def euler_step(self, q: Freedoms, v: Freedoms, a: Freedoms, h: Any) -> tuple[Freedoms, Freedoms]:
        w = v[2] + h * a[2]
        x, y = v[0] + h * (a[0] - v[2] * v[1]), v[1] + h * (a[1] + v[2] * v[0])
        c, s, dc, ds = cos(q[2]), sin(q[2]), cos(h * w), sin(h * w)
        moved = (q[0] + h * (c * x - s * y), q[1] + h * (s * x + c * y), q[2] + h * w)
        return Freedoms(moved), Freedoms((dc * x + ds * y, dc * y - ds * x, w))


def reference(joint: on.Joint, q: Array, v: Array, a: Array, h: float) -> tuple[Array, Array]:
    """One step of a joint, by matrices: the velocity of the origin, along the joint's own axes on the parent."""
    if isinstance(joint, on.Free):
        R, w1 = turned(q).as_matrix(), v[:3] + h * a[:3]
        along = R @ v[3:] + h * (R @ a[3:] + np.cross(R @ v[:3], R @ v[3:]))
        after = Rotation.from_matrix(R) * Rotation.from_rotvec(h * w1)
        quaternion = np.roll(after.as_quat(), 1)
        quaternion *= math.copysign(1.0, float(quaternion @ q[:4]))
        return np.concatenate([quaternion, q[4:] + h * along]), np.concatenate([w1, after.inv().apply(along)])
    if isinstance(joint, (on.Planar, Sledge)):
        order = [0, 1, 2] if isinstance(joint, on.Planar) else [2, 0, 1]
        (angle, *x), (w, *u), (dw, *du) = q[order], v[order], a[order]
        z = np.array([0.0, 0.0, 1.0])
        R = Rotation.from_rotvec(angle * z).as_matrix()
        u3, du3 = np.array([*u, 0.0]), np.array([*du, 0.0])
        w1 = w + h * dw
        along = R @ u3 + h * (R @ du3 + np.cross(w * z, R @ u3))
        seen = Rotation.from_rotvec((angle + h * w1) * z).as_matrix().T @ along
        q1, v1 = np.empty(3), np.empty(3)
        q1[order], v1[order] = [angle + h * w1, *(np.array(x) + h * along[:2])], [w1, *seen[:2]]
        return q1, v1
    if isinstance(joint, on.Composite):
        parts = []
        for part, _ in joint.parts:
            parts.append(reference(part, q[: part.nq], v[: part.nv], a[: part.nv], h))
            q, v, a = q[part.nq :], v[part.nv :], a[part.nv :]
        found_q, found_v = zip(*parts, strict=True)
        return np.concatenate(found_q), np.concatenate(found_v)
    if isinstance(joint, on.Spherical):
        w1 = v + h * a
        quaternion = np.roll((turned(q) * Rotation.from_rotvec(h * w1)).as_quat(), 1)
        return quaternion * math.copysign(1.0, float(quaternion @ q)), w1
    assert joint.nq == joint.nv == 1
    return q + h * (v + h * a), v + h * a


def deep() -> on.Robot:
    """Joints of every kind whose axes turn, none of them at the root, and composites of them."""
    cart = on.Composite((on.Revolute((1, 0, 0)), (on.Planar((0, 1, 0)), (0.1, 0, 0.2))))
    loose = on.Composite(((on.Free(), ((0, 0.1, 0), (0.2, 0, 0.4))),))
    builder = on.Builder("deep").body("world")
    builder.body("arm", parent="world", joint=on.Revolute((0, 1, 0)), mass=1.0, com=(0.3, 0, 0), inertia=BOX)
    builder.body("free", parent="arm", joint=on.Free(), at=((0.5, 0, 0), (0.3, 0.1, 0)), mass=0.7, inertia=BOX)
    builder.body(
        "plate", parent="free", joint=on.Planar((0.6, 0, 0.8)), at=(0, 0.2, 0), mass=0.4, com=(0, 0.1, 0.1), inertia=BOX
    )
    builder.body("sledge", parent="free", joint=Sledge(), at=(0.1, 0, 0), mass=0.5, com=(0.1, 0, 0), inertia=BOX)
    builder.body("cart", parent="plate", joint=cart, at=(0, 0, 0.3), mass=0.3, com=(0.05, 0, 0.1), inertia=BOX)
    builder.body("loose", parent="arm", joint=loose, at=(0, 0, 0.3), mass=0.6, com=(0, 0.1, 0), inertia=BOX)
    builder.body("ball", parent="cart", joint=on.Spherical(), at=(0, 0, 0.1), mass=0.2, com=(0.1, 0, 0.1), inertia=BOX)
    for name, parent in (("upper", "loose"), ("lower", "upper"), ("hand", "lower"), ("finger", "hand")):
        builder.body(name, parent=parent, joint=on.Revolute((1, 0, 0)), at=(0, 0, 0.1), mass=0.2, inertia=BOX)
    return builder.build()


def test_a_joint_steps_as_matrices_do() -> None:
    """The formulas by themselves, on numbers."""
    rng = np.random.default_rng(3)
    for c in deep().joints:
        q = c.type.random(rng, (), np.array(c.lower), np.array(c.upper))
        v, a = rng.normal(size=(2, c.nv))
        found = c.type.euler_step(*(Freedoms(x.tolist()) for x in (q, v, a)), 0.05)
        for got, wanted in zip(found, reference(c.type, q, v, a, 0.05), strict=True):
            assert_close(np.array(got), wanted, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["unrolled", "rolled"])
def test_joints_anywhere_in_the_tree(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a step by matrices, joint by joint; as straight-line code and as loops, and from Python."""
    robot = deep()
    if way == "rolled":
        monkeypatch.setenv("ORDERN_CACHE", "off")
        monkeypatch.setattr(program, "UNROLL_LIMIT", 0)
        loop = FixedLoop.of(robot, "semi-implicit-euler", None, "float64", False)
        assert {"dynamics", "euler_position", "euler_velocity"} <= set(loop.rolled)
    q, v, tau = random_state(robot, 4, (3,))
    found = robot.rollout(q, v, tau, steps=1, dt=0.01, **EXPLICIT)
    a = robot.forward_dynamics(q, v, tau)
    for k in range(3):
        step = robot.simulate(
            q[k], v[k], lambda t, q, v, k=k: tau[k], until=0.01, method="semi-implicit-euler", step=0.01
        )
        assert not step.report.native
        for c in robot.joints:
            wanted_q, wanted_v = reference(c.type, q[k, c.q], v[k, c.v], a[k, c.v], 0.01)
            for got in ((found.q[k, 1], found.v[k, 1]), (step.q[-1], step.v[-1])):
                assert_close(got[0][c.q], wanted_q, ROUNDING)
                assert_close(got[1][c.v], wanted_v, ROUNDING)


def test_joints_say_whether_their_axes_turn() -> None:
    assert on.Free().turns_velocities
    assert on.Planar().turns_velocities
    assert Sledge().turns_velocities
    assert on.Composite((on.Revolute((0, 0, 1)), on.Planar())).turns_velocities
    assert not on.Composite((on.Revolute((0, 0, 1)), on.Spherical())).turns_velocities
    for joint in (on.Revolute((0, 0, 1)), on.Spherical(), on.Cylindrical((0, 0, 1)), on.RollingDisc(1.0)):
        assert not joint.turns_velocities


OFF_CENTRE = (0.1, 0.05, -0.1)


def momentum_error(method: str, steps: int) -> float:
    """How far the linear momentum of a body that tumbles about a point off its mass centre is wrong after 2 s."""
    body = thrown(OFF_CENTRE)
    if method == "variational":
        result = body.simulate(body.neutral(), TUMBLING, until=2.0, step=2.0 / steps, method=method)
        q, v = result.q[-1], result.v[-1]
    else:
        found = body.rollout(body.neutral(), TUMBLING, steps=steps, dt=2.0 / steps, method=method, every=steps)
        q, v = found.q[-1], found.v[-1]
    start = TUMBLING[3:] + np.cross(TUMBLING[:3], OFF_CENTRE)
    return float(np.abs(turned(q).apply(v[3:] + np.cross(v[:3], OFF_CENTRE)) - start).max())


@pytest.mark.slow
@pytest.mark.parametrize("method", TABLEAUS.values(), ids=lambda t: t.name)
def test_momentum_converges_with_the_order(method: Any) -> None:
    steps = {1: 40, 4: 40, 5: 20, 8: 10}[method.order]
    rough, fine = momentum_error(method.name, steps), momentum_error(method.name, 2 * steps)
    assert abs(math.log2(rough / fine) - method.order) < ORDER


@pytest.mark.slow
def test_the_variational_method_keeps_momentum() -> None:
    assert momentum_error("variational", 40) < 40 * EXACT
