"""Denavit-Hartenberg tables against the product of their matrices, and against dynamics made from that product."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ordern as on
from ordern.io.dh import DHRow, Rows, dh_builder, initial_position
from tests.tolerances import ROUNDING, assert_close

QUICK = settings(deadline=None, derandomize=True, max_examples=60)
CONVENTIONS = ("standard", "modified")

sizes = st.one_of(st.sampled_from([0.0, 0.3, -0.2]), st.floats(-1.0, 1.0))
# Entries near 1e-12 become zero on purpose, in axes and in placements: six decimals keep clear of that.
angles = st.one_of(
    st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi]), st.floats(-3.0, 3.0).map(lambda x: round(x, 6))
)
types = st.sampled_from(["revolute", "R", "prismatic", "P", "fixed", "F"])


@st.composite
def rows(draw: st.DrawFn) -> DHRow:
    kind = draw(types)
    inertia = np.diag(draw(st.tuples(*[st.floats(0.01, 0.2)] * 3))) + 0.2 * np.eye(3)
    inertia[0, 1] = inertia[1, 0] = draw(st.floats(-0.1, 0.1))
    return DHRow(
        type=kind,
        a=draw(sizes),
        alpha=draw(angles),
        d=0.0 if kind[0] in "pP" else draw(sizes),
        theta=0.0 if kind[0] in "rR" else draw(angles),
        offset=0.0 if kind[0] in "fF" else draw(angles),
        mass=draw(st.floats(0.1, 3.0)),
        com=draw(st.tuples(sizes, sizes, sizes)),
        inertia=inertia,
    )


tables = st.lists(rows(), min_size=1, max_size=6)


def robot_of(table: Rows, snap: float = 1e-11, **options: Any) -> on.Robot:
    return on.Robot.of(dh_builder(table, **options).build(snap=snap))


def exactly(x: Any) -> Any:
    """The same numbers in a type that is interpreted: nothing is compiled for a robot that is asked once."""
    return np.asarray(x, np.longdouble)


def turn(axis: int, angle: float) -> np.ndarray:
    T, (j, k) = np.eye(4), ((1, 2), (2, 0), (0, 1))[axis]
    T[j, j] = T[k, k] = np.cos(angle)
    T[k, j] = np.sin(angle)
    T[j, k] = -np.sin(angle)
    return T


def shift(axis: int, distance: float) -> np.ndarray:
    T = np.eye(4)
    T[axis, 3] = distance
    return T


def matrices(table: list[DHRow], q: np.ndarray, convention: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each row: the frame whose z is the joint's axis, and the frame of the link."""
    found, T, k = [], np.eye(4), 0
    for row in table:
        theta, d = row.theta, row.d
        if row.type[0] in "rR":
            theta, k = q[k] + row.offset, k + 1
        elif row.type[0] in "pP":
            d, k = q[k] + row.offset, k + 1
        if convention == "standard":
            axis = T
            T = T @ turn(2, theta) @ shift(2, d) @ shift(0, row.a) @ turn(0, row.alpha)
        else:
            T = T @ turn(0, row.alpha) @ shift(0, row.a) @ turn(2, theta) @ shift(2, d)
            axis = T
        found.append((axis, T))
    return found


def dynamics(table: list[DHRow], q: np.ndarray, convention: str) -> tuple[np.ndarray, np.ndarray]:
    """Mass matrix and gravity load from the Jacobians of the mass centres."""
    frames = matrices(table, q, convention)
    moving = [
        (frame[0], row.type[0] in "rR") for frame, row in zip(frames, table, strict=True) if row.type[0] not in "fF"
    ]
    M, load = np.zeros((len(q), len(q))), np.zeros(len(q))
    joints = 0
    for row, (_, T) in zip(table, frames, strict=True):
        joints += row.type[0] not in "fF"
        c, R = (T @ [*row.com, 1.0])[:3], T[:3, :3]
        Jv, Jw = np.zeros((2, 3, len(q)))
        for k, (axis, turns) in enumerate(moving[:joints]):
            z, o = axis[:3, 2], axis[:3, 3]
            Jv[:, k] = np.cross(z, c - o) if turns else z
            Jw[:, k] = z if turns else 0.0
        M += row.mass * Jv.T @ Jv + Jw.T @ R @ row.inertia @ R.T @ Jw
        load += row.mass * 9.81 * Jv[2]
    return M, load


@pytest.mark.slow
@pytest.mark.parametrize("convention", CONVENTIONS)
@QUICK
@given(tables, st.randoms(use_true_random=False))
def test_pose_is_the_product_of_the_matrices(convention: str, table: list[DHRow], random: Any) -> None:
    robot = robot_of(table, snap=0.0, convention=convention)
    q = np.array([random.uniform(-2, 2) for _ in range(robot.nq)])
    for k, (_, T) in enumerate(matrices(table, q, convention), 1):
        assert_close(robot.pose(exactly(q), f"link{k}").astype(float), T, ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("convention", CONVENTIONS)
@QUICK
@given(tables, st.randoms(use_true_random=False))
def test_dynamics_of_the_table(convention: str, table: list[DHRow], random: Any) -> None:
    robot = robot_of(table, snap=0.0, convention=convention)
    q, a = np.array([[random.uniform(-2, 2) for _ in range(robot.nq)] for _ in range(2)])
    M, load = dynamics(table, q, convention)
    assert_close(robot.inverse_dynamics(exactly(q), exactly(0 * q), exactly(a)).astype(float), M @ a + load, ROUNDING)
    assert robot.nv == sum(row.type[0] not in "fF" for row in table)


def test_compiled_robot_from_a_table() -> None:
    table = [
        DHRow(a=0.1, alpha=0.3, d=0.4, offset=0.2, mass=1, com=(0.1, 0, 0), inertia=np.diag([0.1, 0.1, 0.1])),
        DHRow(type="P", a=0.2, alpha=-0.5, theta=1.0, mass=2, com=(0, 0.1, 0), inertia=np.diag([0.1, 0.2, 0.2])),
    ]
    robot, q = robot_of(table), np.array([0.7, -0.3])
    assert_close(robot.pose(q, "link2"), matrices(table, q, "standard")[-1][1], ROUNDING)
    M, load = dynamics(table, q, "standard")
    assert_close(robot.mass_matrix(q), M, ROUNDING)
    assert_close(robot.gravity_force(q), load, ROUNDING)


def test_bodies_are_as_in_the_table_where_the_axis_meets_the_origin() -> None:
    table = [
        {"alpha": -90, "b": 0.2, "mass": 9, "r": (0, -0.1, 0), "inertia": (0.01, 0.02, 0.01)},
        {"type": "P", "a": 0.4, "alpha": 30, "mass": 1, "com": (1, 2, 3)},
    ]
    robot = robot_of(table, degrees=True)
    assert [b.name for b in robot.bodies] == ["link1", "link2"]
    assert [c.name for c in robot.joints] == ["joint1", "joint2"]
    assert robot.body("link1").com == (0.0, 0.1, 0.0)
    assert robot.body("link1").inertia == (0.01, 0.02, 0.01, 0.0, 0.0, 0.0)
    assert robot.body("link2").com == (1.0, 2.0, 3.0)
    assert robot.frame("link2").placement == on.Placement()


def test_link_beside_its_axis() -> None:
    robot = robot_of([{"a": 0.5, "mass": 2, "com": (-0.5, 0, 0), "name": "arm", "joint_name": "hinge", "upper": 1.0}])
    (body,), (joint,) = robot.bodies, robot.joints
    assert (body.name, joint.name, joint.upper) == ("arm_axis", "hinge", (1.0,))
    assert isinstance(joint.type, on.Revolute)
    assert body.com == (0.0, 0.0, 0.0)
    assert robot.frame("arm").placement.position == (0.5, 0.0, 0.0)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_degrees(convention: str) -> None:
    radians = [
        DHRow(alpha=np.pi / 2, a=0.1, offset=-np.pi / 3, lower=-1.0, upper=2.0, velocity_limit=3.0, initial=0.5),
        DHRow(type="prismatic", theta=np.pi / 6, offset=0.25, lower=-1.0, upper=2.0, velocity_limit=3.0, initial=0.5),
    ]
    turned = [
        replace(
            radians[0],
            **{k: float(np.rad2deg(getattr(radians[0], k))) for k in ("alpha", "offset", "lower", "upper", "initial")},
            velocity_limit=float(np.rad2deg(3.0)),
        ),
        replace(radians[1], theta=30.0),
    ]
    one, other = robot_of(radians, convention=convention), robot_of(turned, convention=convention, degrees=True)
    q = exactly([0.3, 0.4])
    assert_close(one.pose(q, "link2").astype(float), other.pose(q, "link2").astype(float), ROUNDING)
    for a, b in zip(one.joints, other.joints, strict=True):
        assert_close([*a.lower, *a.upper, *a.velocity_limit], [*b.lower, *b.upper, *b.velocity_limit], ROUNDING)
    assert_close(initial_position(radians), [0.5, 0.5], 0.0)
    assert_close(initial_position(turned, degrees=True), [0.5, 0.5], ROUNDING)


def test_right_angles_are_exact() -> None:
    robot = robot_of([{"alpha": 90, "d": 1}, {"alpha": -90, "a": 1}, {"type": "P", "theta": 180}], degrees=True)
    entries = np.abs([x for row in robot.tables.rows for x in row[:9]])
    assert set(entries.tolist()) <= {0.0, 1.0}


def test_initial_values_are_no_offsets() -> None:
    table = [{"initial": 90}, {"type": "fixed", "a": 1}, {"type": "P", "initial": 0.2}, {}]
    assert_close(initial_position(table, degrees=True), [np.pi / 2, 0.2, 0.0], 0.0)
    robot = robot_of(table, degrees=True)
    assert robot.nq == 3
    assert_close(robot.pose(exactly(np.zeros(3)), "link2").astype(float), shift(0, 1.0), 0.0)


def test_limits_and_coefficients() -> None:
    row = DHRow(
        lower=-1, upper=np.inf, velocity_limit=2, effort_limit=3, damping=0.4, friction=0.5, armature=0.6, a=0.1
    )
    for convention in CONVENTIONS:
        (joint,) = robot_of([row], convention=convention).joints
        assert (joint.lower, joint.upper) == ((-1.0,), (np.inf,))
        assert (joint.velocity_limit, joint.effort_limit) == ((2.0,), (3.0,))
        assert (joint.damping, joint.friction, joint.armature) == ((0.4,), (0.5,), (0.6,))


def test_rows_of_a_typed_table() -> None:
    columns = ("a", "alpha", "b", "mass")
    listed = [(0.1, 0.2, 0.3, 1.0), (0.4, 0.5, 0.6, 2.0)]
    mapped = [dict(zip(columns, row, strict=True)) for row in listed]
    expected = robot_of([DHRow(a=0.1, alpha=0.2, d=0.3, mass=1.0), DHRow(a=0.4, alpha=0.5, d=0.6, mass=2.0)])
    for table in (mapped, iter(mapped)):
        assert robot_of(table) == expected
    for table in (listed, np.array(listed)):
        assert robot_of(table, columns=columns) == expected


def test_inertia_about_the_origin() -> None:
    c, m, I = np.array([0.1, -0.2, 0.3]), 2.0, np.array([[0.3, 0.02, 0], [0.02, 0.4, 0.01], [0, 0.01, 0.5]])
    about_origin = I + m * (c @ c * np.eye(3) - np.outer(c, c))
    robot = robot_of([{"mass": m, "com": c, "inertia": about_origin}], inertia_at="origin", convention="modified")
    assert_close(robot.bodies[0].inertia_matrix, I, ROUNDING)
    with pytest.raises(on.ModelError, match=r"^row 1: inertia about the mass centre is negative"):
        robot_of([{"mass": m, "com": c, "inertia": (0.01, 0.01, 0.01)}], inertia_at="origin")


def test_base_and_tool() -> None:
    base, tool = on.Placement.xyz_rpy((1, 2, 3), (0.1, 0.2, 0.3)), on.Placement.xyz_rpy((0, 0, 0.5), (0, 0.4, 0))
    table = [DHRow(a=0.1, alpha=0.2), DHRow(type="P", a=0.3)]
    robot, q = robot_of(table, base=base, tool=tool), np.array([0.4, 0.5])
    expected = base.matrix @ matrices(table, q, "standard")[-1][1] @ tool.matrix
    assert_close(robot.pose(exactly(q), "tool").astype(float), expected, ROUNDING)
    assert_close(robot.pose(exactly(q), "base").astype(float), base.matrix, ROUNDING)


def test_name_gravity_and_floating_base() -> None:
    builder = dh_builder([{"mass": 1, "inertia": (1, 1, 1)}], name="arm", gravity=(0, -9.81, 0))
    model = builder.build()
    assert (model.name, model.gravity, model.base) == ("arm", (0.0, -9.81, 0.0), "base")
    assert builder.build(floating=True).nv == 7


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ([], {}, "a Denavit-Hartenberg table needs at least one row"),
        ([{}, {"alfa": 1}], {}, "row 2: unknown field 'alfa'. Did you mean 'alpha'? Known: type, a, alpha"),
        ([{}, {"a": "a2"}], {}, "row 2: a must be a finite number, not 'a2'"),
        ([{"theta": "theta1"}], {}, "row 1: theta must be a finite number, not 'theta1'"),
        ([{"alpha": np.nan}], {}, "row 1: alpha must be a finite number, not nan"),
        ([{"a": np.inf}], {}, "row 1: a must be a finite number, not inf"),
        ([{"a": True}], {}, "row 1: a must be a finite number, not True"),
        ([{"lower": np.nan}], {}, "row 1: lower must be a number, not nan"),
        ([{"lower": 1, "upper": 0}], {}, "row 1: joint 'joint1': its lower limit 1 is above its upper limit 0"),
        ([{"type": "helical"}], {}, "row 1: unknown joint type 'helical'. Known: revolute, prismatic, fixed, R, P, F."),
        ([{"type": 0}], {}, "row 1: unknown joint type 0."),
        ([{"b": 1, "d": 1}], {}, "row 1: d is given twice, as 'd' too"),
        (
            [{}, {"theta": 90}],
            {"degrees": True},
            "row 2: theta is the variable of a revolute joint, but 90 is given for it: write offset=90 if theta is q "
            "plus 90, or initial=90 if 90 is where a motion begins",
        ),
        ([{"type": "P", "b": 0.5}], {}, "row 1: d is the variable of a prismatic joint, but 0.5 is given for it"),
        ([{"type": "F", "offset": 0.5}], {}, "row 1: offset is given, but a fixed row does not move"),
        ([{"type": "F", "armature": 0.5}], {}, "row 1: armature is given, but a fixed row does not move"),
        ([{"com": (0, 0, 1), "r": (0, 0, -1)}], {}, "row 1: com and r say the same thing (com = -r): give one of them"),
        ([{"com": (0, 1)}], {}, "row 1: com must be 3 finite numbers, not (0, 1)"),
        ([{"r": 0.5}], {}, "row 1: r must be 3 finite numbers, not 0.5; the distance along z that Khalil calls r is d"),
        ([{"r": (0, 0, 1)}], {"convention": "modified"}, "row 1: r belongs to the standard convention; give com"),
        ([{"mass": -1}], {}, "row 1: body 'link1' has mass -1; a mass is a finite number, not below zero"),
        ([{"inertia": (1, 2)}], {}, "row 1: body 'link1': inertia must be 3 principal values"),
        ([{"inertia": (1, 2)}], {"inertia_at": "origin"}, "row 1: body 'link1': inertia must be 3 principal values"),
        ([{"name": "x"}, {"name": "x"}], {}, "row 2: body 'x' exists already"),
        (
            [(0, 0, 0, 0)],
            {},
            "row 1: must be a DHRow or a mapping such as {'a': 0.4, 'alpha': 0, 'd': 0}, or a sequence",
        ),
        (["R"], {"columns": "a"}, "row 1: must be a DHRow or a mapping"),
        ([(0, 0, 0)], {"columns": ("a", "d")}, "row 1: has 3 entries, but there are 2 columns"),
        ([(0, 0)], {"columns": ("a", "mas")}, "row 1: unknown field 'mas'. Did you mean 'mass'?"),
    ],
)
def test_errors_name_row_and_field(table: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(on.ModelError) as caught:
        dh_builder(table, **options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("option", ["convention", "inertia_at"])
def test_unknown_options(option: str) -> None:
    with pytest.raises(on.UnknownNameError, match=f"unknown {option} 'craig'. Known: "):
        dh_builder([{}], **{option: "craig"})
