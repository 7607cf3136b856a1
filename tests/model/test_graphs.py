"""Names of joints, loops and couplings; couplings that are active or not."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ordern as on

Y = on.Revolute((0, 1, 0))
BAR: dict[str, Any] = {"mass": 1.0, "com": (0.2, 0, 0), "inertia": (0.01, 0.02, 0.03)}


def arm() -> on.Builder:
    b = on.Builder("arm").body("base").body("a", parent="base", joint=Y, joint_name="one", where="arm.txt:1", **BAR)
    return b.body("b", parent="a", joint=Y, joint_name="two", at=(0.4, 0, 0), **BAR)


def pinned(name: str = "pin", **more: Any) -> on.Builder:
    return arm().loop(name, Y, "base", "b", **more)


TWICE: list[tuple[Any, str]] = [
    (lambda: pinned("one", where="f:9"), r"f:9: loop 'one' has the name of the joint 'one' \(arm.txt:1\)"),
    (lambda: arm().couple("two", "two", "one"), r"coupling 'two' has the name of the joint 'two'; .* another"),
    (lambda: arm().connect("two", Y, "base", "b"), "joint 'two' exists already; every joint needs"),
    (lambda: pinned(where="f:3").loop("pin", Y, "base", "b"), r"loop 'pin' exists already \(f:3\)"),
    (lambda: pinned().couple("pin", "two", "one"), "coupling 'pin' has the name of the loop 'pin'"),
    (lambda: arm().couple("x", "two", "one").loop("x", Y, "base", "b"), "loop 'x' has the name of the coupling 'x'"),
    (lambda: arm().couple("x", "two", "one").couple("x", "two", "one"), "coupling 'x' exists already"),
    (lambda: pinned().body("c", parent="b", joint=Y, joint_name="pin"), "joint 'pin' has the name of the loop"),
    (lambda: arm().connect("x", Y, "base", "b").loop("x", Y, "base", "b"), "loop 'x' has the name of the joint 'x'"),
]


@pytest.mark.parametrize(("add", "words"), TWICE)
def test_names_are_of_one_thing(add: Any, words: str) -> None:
    with pytest.raises(on.ModelError, match=words):
        add()


def test_a_floating_root_takes_a_name_that_is_free() -> None:
    b = arm().loop("root_joint", on.Distance(0.5), "base", "b", at=(0, 0, 1), child_at=(0, 0, 0))
    robot = b.build(floating=True)
    assert [c.name for c in robot.joints] == ["base_root_joint", "one", "two"]


MJCF = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="a"><joint name="left" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/>
    <body name="b" pos="0.4 0 0"><joint name="right" axis="0 1 0"/><geom size="0.1"/></body></body>
</worldbody><equality>
  <connect name="left" body1="b" anchor="0.1 0 0"/>
  <joint name="right" joint1="left" joint2="right" polycoef="0 2 0 0 0"/>
  <joint joint1="left" polycoef="0.1 0 0 0 0" active="false"/>
  <weld name="equality3" body1="a" body2="b" active="false"/>
</equality></mujoco>"""


def test_equalities_of_a_file_may_have_names_of_joints() -> None:
    robot = on.load(MJCF)
    assert [x.name for x in robot.loops] == ["left_", "equality3"]
    assert [x.name for x in robot.couplings] == ["right_", "equality3_"]
    notes = [str(n) for n in robot.notes]
    assert any("renamed, because a joint has the name of the equality: 'left_', 'right_'" in n for n in notes)
    assert [x.active for x in robot.constraints] == [True, False, True, False]
    assert any("not active, and so a coupling that is open: equality 'equality3_'" in n for n in notes)
    again = on.load(robot.to_mjcf())
    assert [(x.name, x.active) for x in again.constraints] == [(x.name, x.active) for x in robot.constraints]


@pytest.mark.slow
def test_a_coupling_that_is_not_active_binds_nothing() -> None:
    free, bound = (arm().couple("gear", "two", "one", (0.0, -2.0), active=on_).build() for on_ in (False, True))
    assert (free.nc, bound.nc) == (0, 1)
    assert free.loop_rows == {}
    q, v, tau = np.array([0.3, -0.6]), np.array([0.5, -1.0]), np.array([1.0, 2.0])
    tree = arm().build()
    assert np.array_equal(free.forward_dynamics(q, v, tau), tree.forward_dynamics(q, v, tau))
    a = bound.forward_dynamics(q, v, tau)
    assert abs(a[1] + 2.0 * a[0]) < 1e-12
    # by hand: with (1, -2) the one direction that is left, its inertia and its force
    d, M, C = np.array([1.0, -2.0]), tree.mass_matrix(q), tree.bias_force(q, v)
    assert abs(a[0] - d @ (tau - C) / (d @ M @ d)) < 1e-12
    for robot, other in ((free, bound), (bound, free)):
        switched = robot.with_loops({"gear": other is bound})
        assert switched == other
        assert np.array_equal(switched.forward_dynamics(q, v, tau), other.forward_dynamics(q, v, tau))
    assert (bound.with_loops([]).nc, free.with_loops(["gear"]).nc) == (1, 1)  # a list is that of loops to be closed
    assert bound.builder().build().couplings == bound.couplings
    assert free.builder().build().couplings == free.couplings
    assert pickle.loads(pickle.dumps(free)) == free
    assert free.closed_dynamics(q, v, tau).coupling_forces == {}
    with pytest.raises(on.ModelError, match=r"here.txt: coupling 'gear': active must be True or False, not 1"):
        arm().couple("gear", "two", "one", where="here.txt", active=1)  # type: ignore[arg-type]
    result = free.simulate(q, v, until=0.1)
    assert result.report.ok
    off = result.loop_residuals["gear"][:, 0]  # how far it is from binding, as for loops that are open
    assert np.allclose(off, result.q[:, 1] + 2.0 * result.q[:, 0])
    assert np.abs(off).max() > 0.1


@pytest.mark.parametrize(
    ("other", "coefficients", "message"),
    [
        ("one", 2.0, "'gear': its coefficients must be a list of numbers"),
        ("two", (0.0, 1.0), "'gear': joint 'two' cannot be bound to itself"),
        (None, (0.3, 1.0), "'gear': without another joint there is c0 only"),
    ],
)
def test_couplings_that_make_no_sense(other: str | None, coefficients: object, message: str) -> None:
    with pytest.raises(on.ModelError, match=message):
        arm().couple("gear", "two", other, coefficients)  # type: ignore[arg-type]


def test_what_cannot_close_a_loop_is_told_at_once() -> None:
    skew = on.Composite(
        ((on.Revolute((1, 0, 0)), (0, 0, 0.1)), (on.Revolute((0, 1, 0)), (0.2, 0, 0)), on.Revolute((0, 0.6, 0.8)))
    )
    builder = on.Builder("open").body("ground")
    for k in range(2):
        builder.body(f"b{k}", parent="ground", joint=on.Revolute((0, 0, 1)), at=(k, 0, 0), mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(on.ModelError, match="loop 'skew'"):
        builder.loop("skew", skew, "b0", "b1")
    with pytest.raises(on.ModelError, match="a tuple of parts"):
        on.Composite(on.Revolute((0, 0, 1)))  # type: ignore[arg-type]
