"""Residuals, Jacobians and biases of loops: derivatives of each other, alike in every way of running, as MuJoCo's."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import ordern as on
from ordern.joints import Closure, Joint
from tests.joints.test_closures import JOINTS, OTHERS, named
from tests.tolerances import LOOP_CLOSED, LOOP_DIFFERENCE, ROUNDING

WAYS = ("interpreted", "unrolled", "rolled")
SOME: list[Closure] = [on.Fixed(), on.Revolute((1, 2, 3)), on.RollingDisc(0.3), OTHERS[0], OTHERS[5]]


def mechanism(closure: Closure, floating: bool = False, **terms: Any) -> on.Robot:
    """Two nested loops on a branching tree with many kinds of joints, one to the base, and a coupling."""
    inertia = {"mass": 1.0, "com": (0.1, 0.0, 0.5), "inertia": (0.1, 0.2, 0.3)}
    b = on.Builder("nested").body("base", **inertia)
    b.body("w", parent="base", joint=on.Revolute((1, 0, 0)), **inertia)
    b.body("a", parent="w", joint=on.Revolute((0, 1, 0)), at=(0.1, 0, 0), **inertia)
    b.body("b", parent="a", joint=on.Spherical(), at=((0, 0, 1), (0.3, 0, 0.2)), **inertia)
    b.body("b2", parent="b", joint=on.Universal(), at=(0.2, 0, 0.1), **inertia)
    b.body("c", parent="w", joint=on.Revolute((0, 1, 1)), at=(1, 0, 0), **inertia)
    b.body("d", parent="c", joint=on.Prismatic((0, 1, 1)), at=(1, 0.3, 0), **inertia)
    b.body("e", parent="d", joint=on.Revolute((0, 0, 1)), mimic=("c_joint", -2.0, 0.3), at=(0, 0, 0.2), **inertia)
    b.body("aside", parent="base", joint=on.Revolute((0, 0, 1)), **inertia)
    places = {"at": ((0.1, 0.2, 0.9), (0.1, 0.2, 0.3)), "child_at": ((0.1, 0.3, 0.2), (0.3, 0.1, 0.0))}
    b.loop("outer", closure, "b2", "e", **places, **terms)
    b.loop("inner", on.Cylindrical((0, 1, 0)), "b", "b2", **places)
    b.loop("ground", on.Spherical(), "base", "b2", **places)
    b.couple("cubic", "a_joint", "e_joint", (0.1, 0.5, 0.3, 0.2))
    b.couple("held", "aside_joint", None, (0.25,))
    return b.build(floating=floating)


def state(robot: on.Robot, shape: tuple[int, ...] = ()) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    q, v = robot.random(rng, shape), rng.normal(size=(*shape, robot.nv))
    return q, v, rng.uniform(0.0, 1.0, shape)


@pytest.mark.slow
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("closure", [*JOINTS, *OTHERS], ids=named)
def test_rate_jacobian_and_bias_are_derivatives(closure: Closure, floating: bool) -> None:
    robot = mechanism(closure, floating)
    (q, v, t), h = state(robot), 1e-6
    residuals = [robot.loop_residual(robot.integrate(q, v, s), t=t + s) for s in (-h, h)]
    rate, rows = robot.loop_rate(q, v, t=t), np.array(robot.loop_holonomic)
    size = 1.0 + abs(rate).max()
    assert_allclose((residuals[1] - residuals[0])[rows] / (2 * h), rate[rows], atol=LOOP_DIFFERENCE * size)
    assert not np.any(residuals[0][~rows])
    K = robot.loop_jacobian(q, t=t)
    assert_allclose(robot.loop_rate(q, 0 * v, t=t) + K @ v, rate, rtol=ROUNDING, atol=10 * ROUNDING * size)
    rates = [robot.loop_rate(robot.integrate(q, v, s), v, t=t + s) for s in (-h, h)]
    bias = robot.loop_bias(q, v, t=t)
    assert_allclose((rates[1] - rates[0]) / (2 * h), bias, atol=LOOP_DIFFERENCE * (1.0 + abs(bias).max()))


@pytest.mark.slow
@pytest.mark.parametrize("closure", SOME, ids=named)
def test_every_way_of_running_gives_the_same(closure: Closure) -> None:
    robot = mechanism(closure, floating=True, **({"damping": 0.3, "stiffness": 0.5} if _moves(closure) else {}))
    q, v, t = state(robot, (3, 2))
    along = np.random.default_rng(4).normal(size=(3, 2, robot.loop_table.nv))
    questions: dict[str, tuple[tuple[str, ...], tuple[Any, ...]]] = {
        "loop_residual": (("t",), (q, t)),
        "loop_rate": (("t",), (q, v, t)),
        "loop_jacobian": (("t",), (q, t)),
        "loop_bias": (("t",), (q, v, t)),
        "loop_wrenches": (("t",), (q, t)),
        "loop_coordinates": ((), (q,)),
        "loop_velocities": ((), (q, v)),
        "loop_force": ((), (q, along)),
        "loop_passive_force": ((), (q, v, np.array(0.01))),
    }
    for question, (present, arguments) in questions.items():
        found = [robot.kernel(question, present=present, way=way)(*arguments) for way in WAYS]
        assert found[0].shape[:2] == (3, 2)
        for other in found[1:]:
            assert_allclose(other, found[0], rtol=1e-10, atol=1e-11, err_msg=question)


def _moves(closure: Closure) -> bool:
    return isinstance(closure, Joint) and closure.nv > 0


@pytest.mark.slow
def test_without_a_time_it_is_zero() -> None:
    robot = mechanism(OTHERS[5])
    q, v, _ = state(robot)
    for question, arguments in (("loop_residual", (q,)), ("loop_rate", (q, v)), ("loop_bias", (q, v))):
        ask = getattr(robot, question)
        assert_allclose(ask(*arguments), ask(*arguments, t=0.0), rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.slow
def test_what_is_inward_of_a_loop_has_no_part_in_it() -> None:
    robot = mechanism(on.Fixed(), floating=True)
    q, _, _ = state(robot)
    for way in WAYS:
        K = robot.kernel("loop_jacobian", way=way)(q)
        for loop, inward in (("outer", ["root_joint", "w_joint", "aside_joint"]), ("inner", ["a_joint", "b_joint"])):
            for joint in inward:
                assert not K[robot.loop_rows[loop], robot.joint(joint).v].any()  # exactly


@pytest.mark.slow
def test_rows_of_the_jacobian_are_wrenches_on_both_bodies() -> None:
    """K = W (J of the child's frame - J of the parent's, both in the child's axes at the child's origin)."""
    robot = mechanism(on.Fixed(), floating=True)
    q, _, _ = state(robot)
    W = robot.loop_wrenches(q)
    for loop in robot.loops:
        rows = robot.loop_rows[loop.name]
        ends = [
            on.Frame("", loop.parent, loop.parent_placement),
            on.Frame("", loop.child, loop.child_placement),
        ]
        (Tp, Jp), (Tc, Jc) = ((robot.pose(q, f), robot.jacobian(q, f, axes="world")) for f in ends)
        r = Tc[:3, 3] - Tp[:3, 3]
        moved = Jp.copy()
        moved[3:] += np.cross(Jp[:3].T, r).T
        R = np.kron(np.eye(2), Tc[:3, :3].T)
        assert_allclose(robot.loop_jacobian(q)[rows], W[rows] @ R @ (Jc - moved), atol=LOOP_CLOSED * 10)
    assert not W[robot.loop_rows["cubic"]].any()


@pytest.mark.slow
@pytest.mark.parametrize("joint", [j for j in JOINTS if j.nv], ids=named)
def test_a_closed_loop_has_its_joints_coordinates(joint: Joint) -> None:
    """A body on a joint, and the same joint as a loop beside it: coordinates, velocities and forces agree."""
    b = on.Builder("pair").body("base")
    b.body("one", parent="base", joint=joint, at=((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)), mass=1.0, inertia=(1, 1, 1))
    b.loop("again", joint, "base", "one", at=((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)), damping=0.7, stiffness=0.2)
    robot = b.build()
    q, v, _ = state(robot)
    assert abs(robot.loop_residual(q)).max(initial=0.0) < LOOP_CLOSED
    assert abs(robot.loop_rate(q, v)).max(initial=0.0) < 10 * LOOP_CLOSED
    found = robot.loop_coordinates(q)
    for k in joint.angles:
        assert_allclose(math.remainder(found[k] - q[k], 2 * math.pi), 0.0, atol=LOOP_CLOSED)
    rest = [k for k in range(joint.nq) if k not in joint.angles]
    if joint.nq == joint.nv or joint.angles:
        assert_allclose(found[rest], q[rest], atol=LOOP_CLOSED)
    else:
        assert_allclose(robot.difference(q, found), 0.0, atol=1e-7)  # a quaternion has two signs
    assert_allclose(robot.loop_velocities(q, v), v, atol=10 * LOOP_CLOSED)
    along = np.random.default_rng(4).normal(size=joint.nv)
    assert_allclose(robot.loop_force(q, along), along, atol=10 * LOOP_CLOSED)
    if not joint.angles:
        spring = on.Builder.of(robot.opened())
        spring._joints.clear()  # the tree's own passive forces, with the loop's coefficients
        spring._parent_joint.clear()
        spring.joint("again", joint, "base", "one", damping=0.7, stiffness=0.2)
        wanted = spring.build().passive_force(q, v)
        assert_allclose(robot.loop_passive_force(q, v), wanted, atol=100 * LOOP_CLOSED)


def test_springs_of_angles_count_from_the_nearest_turn() -> None:
    b = on.Builder("wheel").body("base").body("w", parent="base", joint=on.Revolute(), mass=1.0, inertia=(1, 1, 1))
    robot = b.loop("spring", on.Revolute(), "base", "w", stiffness=2.0, rest=3.0).build()
    for q in (3.2, 3.2 - 2 * math.pi, 3.2 + 20 * math.pi):
        assert_allclose(robot.loop_passive_force([q], [0.0]), [-0.4], atol=LOOP_CLOSED * 100)


@pytest.mark.slow
def test_loops_are_opened_and_closed() -> None:
    robot = mechanism(on.Fixed())
    assert list(robot.loop_rows) == ["outer", "inner", "ground", "cubic", "held"]
    assert (robot.nc, robot.loop_rows["ground"]) == (15, slice(10, 13))
    some = robot.with_loops({"inner": False})
    assert list(some.loop_rows) == ["outer", "ground", "cubic", "held"]
    q, v, _ = state(robot)
    keep = np.r_[0:6, 10:15]
    assert_allclose(some.loop_jacobian(q), robot.loop_jacobian(q)[keep], atol=LOOP_CLOSED)
    assert_allclose(some.loop_bias(q, v), robot.loop_bias(q, v)[keep], atol=1e-10)
    assert list(robot.with_loops(["ground"]).loop_rows) == ["ground", "cubic", "held"]
    assert some.with_loops({"inner": True}) == robot
    opened = robot.opened()
    assert (opened.nc, opened.loop_residual(q).shape, opened.loop_jacobian(q).shape) == (0, (0,), (0, robot.nv))
    assert_allclose(opened.mass_matrix(q), robot.mass_matrix(q))
    with pytest.raises(on.UnknownNameError, match=r"outr.*outer"):
        robot.with_loops({"outr": True})
    with pytest.raises(on.ArgumentError, match=r"give a list of names, \['outer'\]"):
        robot.with_loops("outer")


def test_a_users_own_joint_closes_loops() -> None:
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Gliding(Closure):
        """The child's origin stays on the parabola z = x^2 of the parent's xz plane."""

        def closure(self, R: Any, p: Any) -> Any:
            return (p[1], p[2] - p[0] * p[0])

    robot = mechanism(Gliding())
    (q, v, _), h = state(robot), 1e-6
    residuals = [robot.loop_residual(robot.integrate(q, v, s)) for s in (-h, h)]
    assert_allclose((residuals[1] - residuals[0]) / (2 * h), robot.loop_jacobian(q) @ v, atol=LOOP_DIFFERENCE * 10)


def test_what_cannot_close_a_loop_is_named_at_once() -> None:
    skew = on.Composite((on.Revolute(), (on.Revolute((1, 0, 0)), (0, 0, 0.1)), (on.Revolute((0, 1, 0)), (0.2, 0, 0))))
    with pytest.raises(on.ModelError, match=r"loop 'outer': a Composite of 3 joints \(.*\) cannot close a loop"):
        mechanism(skew)


_MJCF = """
<mujoco><option gravity="0 0 -9.81"/><compiler angle="radian"/><worldbody>
  <body name="a" pos="0 0 1"><joint name="ja" axis="0 1 0"/><geom size="0.1" mass="1"/>
    <body name="b" pos="0.5 0.1 0"><joint name="jb" type="ball"/><geom size="0.1" mass="1"/>
      <body name="c" pos="0.5 0 0.1"><joint name="jc" axis="1 1 0"/><geom size="0.1" mass="1"/></body></body></body>
  <body name="d" pos="1 0 0"><freejoint/><geom size="0.1" mass="1"/></body>
</worldbody><equality>
  <connect name="pin" body1="c" body2="a" anchor="0.2 0.1 0.3"/>
  <weld name="glue" body1="c" body2="d" relpose="0.1 0.2 0.3 0.8 0 0.6 0" anchor="0.3 0.2 0.1"/>
  <weld name="ground" body1="b"/>
  <joint name="gear" joint1="ja" joint2="jc" polycoef="0.1 0.5 0.2 0.1 0.05"/>
</equality></mujoco>
"""


def test_constraints_are_those_of_mujoco() -> None:
    """Sizes of residuals where loops are open; where they are closed, rows of K span what MuJoCo's efc_J spans."""
    robot = on.load(_MJCF)
    model = mujoco.MjModel.from_xml_string(_MJCF)
    data = mujoco.MjData(model)
    (d,) = (c for c in robot.joints if c.name not in ("ja", "jb", "jc"))
    rows, rng = robot.loop_rows, np.random.default_rng(2)

    def asked(ja: float, jb: Any, jc: float, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions here, and K by their velocities; `data` has the same of theirs."""
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, T[:3, :3].ravel())
        data.qpos[:] = [ja, *jb, jc, *T[:3, 3], *quaternion]
        mujoco.mj_forward(model, data)
        q, turn, at = np.zeros(robot.nq), np.zeros((robot.nv, model.nv)), 0
        for name, value in (("ja", ja), ("jb", jb), ("jc", jc)):
            c = robot.joint(name)
            q[c.q] = value
            turn[c.v, at : at + c.nv] = np.eye(c.nv)
            at += c.nv
        q[d.q] = [*quaternion, *T[:3, 3]]
        # their velocities of a free body are linear in the world's axes, then angular in its own
        turn[d.v, at : at + 6] = np.block([[np.zeros((3, 3)), np.eye(3)], [T[:3, :3].T, np.zeros((3, 3))]])
        return q, robot.loop_jacobian(q) @ turn

    ball = rng.normal(size=4)
    q, mine = asked(0.3, ball / np.linalg.norm(ball), -0.4, np.eye(4))
    found = robot.loop_residual(q)
    assert_allclose(np.linalg.norm(found[rows["pin"]]), np.linalg.norm(data.efc_pos[:3]), rtol=1e-9)
    assert_allclose(np.linalg.norm(found[rows["glue"]][3:]), np.linalg.norm(data.efc_pos[3:6]), rtol=1e-9)
    assert_allclose(abs(found[rows["gear"]]), abs(data.efc_pos[15]), rtol=1e-9)
    assert _span_apart(mine[rows["gear"]], data.efc_J.reshape(-1, model.nv)[15:16]) < 1e-9

    glue = robot.loops[1]
    c_at = robot.pose(robot.neutral(), "c")
    T = c_at @ glue.parent_placement.matrix @ np.linalg.inv(glue.child_placement.matrix)
    q, mine = asked(0.0, (1.0, 0.0, 0.0, 0.0), 0.0, T)
    assert abs(robot.loop_residual(q)[:15]).max() < 1e-9
    assert abs(data.efc_pos[:15]).max() < 1e-9
    theirs = data.efc_J.reshape(-1, model.nv)
    for name, where in (("pin", slice(0, 3)), ("glue", slice(3, 9)), ("ground", slice(9, 15))):
        assert _span_apart(mine[rows[name]], theirs[where]) < 1e-9, name
        assert _span_apart(theirs[where], mine[rows[name]]) < 1e-9, name


def _span_apart(A: np.ndarray, B: np.ndarray) -> float:
    """How far the rows of B are outside of the span of the rows of A."""
    _, s, V = np.linalg.svd(A)
    V = V[: int((s > 1e-8 * s[0]).sum())]
    return float(abs(B.T - V.T @ (V @ B.T)).max())
